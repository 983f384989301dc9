//! The files of rules in a directory: `.gitignore` and `.gitattributes`.

use std::io;
use std::sync::Arc;

use super::Visit;
use crate::os::dir::{Dir, DirNames, FileKind};
use crate::worktree::snapshot::attributes::Attributes;
use crate::worktree::snapshot::index::EntryExt;
use crate::worktree::snapshot::{attributes, ignore};

impl Visit<'_, '_> {
    pub(super) fn read_ignore(&mut self, dir: &Dir, names: &DirNames) {
        let content = if names.find(b".gitignore").is_some() {
            read_small(dir, b".gitignore", ignore::MAX_SIZE)
        } else {
            self.not_checked_out(b".gitignore")
        };
        if let Some(content) = content {
            self.ignore = self.ground.ignore.add(&self.ignore, &self.path, &content);
        }
    }

    pub(super) fn read_attributes(&mut self, dir: &Dir, listed: bool) {
        let content = listed
            .then(|| read_small(dir, b".gitattributes", attributes::MAX_SIZE))
            .flatten();
        let is_on_disk = content.is_some();
        if let Some(content) = content.or_else(|| self.not_checked_out(b".gitattributes")) {
            let added = if is_on_disk && !self.keeps_attributes(content.len() as u64) {
                Attributes::add_unkept(&self.attributes, &self.path, &content)
            } else {
                self.attributes.add(&self.path, &content)
            };
            self.attributes = Arc::new(added);
        }
    }

    /// Whether the `.gitattributes` on the disk is in the checkpoint: tracked, or neither ignored nor left out.
    fn keeps_attributes(&self, size: u64) -> bool {
        let path = self.full_path(b".gitattributes");
        let ground = self.ground;
        if !self.task.entries.is_empty() && ground.index.find(&path, self.task.entries.clone()).is_some() {
            return true;
        }
        !(ground.rules.tracked_only
            || ground.rules.is_too_large(size)
            || self.is_ignored(&path, false)
            || self.is_excluded(&path, false))
    }

    /// The content of a file of rules that the index has and a sparse checkout leaves out.
    pub(super) fn not_checked_out(&self, name: &[u8]) -> Option<Vec<u8>> {
        if self.task.entries.is_empty() {
            return None;
        }
        let at = self
            .ground
            .index
            .find(&self.full_path(name), self.task.entries.clone())?;
        let entry = self.ground.index.entry(at);
        if !entry.is_skip_worktree() {
            return None;
        }
        // In a partial clone it may be elsewhere; then more is captured than need be, never less.
        let blob = self.repo.try_find_object(entry.id).ok().flatten()?;
        Some(blob.detach().data)
    }
}

/// A file of rules, unless it is a link, too large or cannot be read, all of which git takes for none.
fn read_small(dir: &Dir, name: &[u8], max_size: u64) -> Option<Vec<u8>> {
    let mut file = dir.file(name).ok()?;
    let meta = crate::os::dir::file_meta(&file).ok()?;
    if meta.kind != FileKind::File || meta.size > max_size {
        return None;
    }
    let mut content = Vec::new();
    io::Read::read_to_end(&mut file, &mut content).ok()?;
    Some(content)
}
