//! Directories of which all files are as the index has them, and which contribute no list entries: known to be so again
//! when neither they nor the index, the settings and the rules have changed since the last snapshot.

use super::Visit;
use crate::worktree::snapshot::cache;
use crate::worktree::snapshot::memory::UnchangedDirectory;
use crate::worktree::snapshot::walk::WalkMode;

impl Visit<'_, '_> {
    /// A digest of the rules that hold in the directory.
    pub(super) fn rules(&self) -> u64 {
        let (ground, task) = (self.ground, self.task);
        cache::digest((
            ground.ignore.digest(&self.ignore),
            self.attributes.digest(),
            task.excluded,
            task.mode == WalkMode::Whole,
        ))
    }

    /// Takes the directory as it was, if it is plain and nothing changed, and gives what is known of it.
    pub(super) fn as_unchanged_directory(&mut self) -> Option<UnchangedDirectory> {
        let (plain, seen) = self.ground.look?.plain(&self.path)?;
        let is_known = |fingerprint| self.ground.cache.knows(fingerprint);
        if plain.rules != self.rules || !plain.fingerprint.is_none_or(is_known) {
            return None;
        }
        self.seen = Some(seen);
        if plain.has_directories {
            for group in self.groups() {
                if !group.below.is_empty() {
                    self.directory(&group, &self.full_path(group.name));
                }
            }
        }
        Some(plain)
    }

    /// Notes of a directory that was looked through that it is plain.
    pub(super) fn note_plain(&mut self, fingerprint: Option<u64>) {
        let index_has_them = self
            .below
            .iter()
            .all(|below| !below.entries.is_empty() && below.mode == WalkMode::Whole);
        let is_plain = self.changes.is_empty()
            && self.candidates.is_empty()
            && index_has_them
            && self.found.noted() == self.noted_before
            && self.rules() == self.rules;
        let has_directories = !self.below.is_empty();
        if let (true, Some(seen)) = (is_plain, &mut self.seen) {
            seen.set_plain(UnchangedDirectory {
                rules: self.rules,
                fingerprint,
                has_directories,
            });
        }
    }
}
