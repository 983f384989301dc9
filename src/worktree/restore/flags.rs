//! The flags of index entries that say how git treats the file on disk: skip-worktree and assume-unchanged.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use gix::index::entry::Flags;

use super::Error;
use super::disk::directories_above;
use crate::model::list::{IndexFlags, Lists, Source};
use crate::model::path::RepoPath;
use crate::store::Repository;
use crate::worktree::snapshot::index::{EntryExt, GitIndex};

/// The paths that have each flag.
#[derive(Debug, Default)]
pub(super) struct Flagged {
    /// git takes the file on disk for what the index has.
    pub skip_worktree: BTreeSet<RepoPath>,
    /// git does not look at the file on disk.
    pub assume_unchanged: BTreeSet<RepoPath>,
}

impl Flagged {
    /// The flags of these paths in an index. A path below a directory that a sparse index has as one entry is flagged as
    /// git would flag it.
    pub(super) fn of(repo: &Repository, index: Option<&Path>, paths: &[RepoPath]) -> Result<Self, Error> {
        let index = GitIndex::read(repo, index)?;
        let state = index.state();
        let mut flags = HashMap::<&[u8], (bool, bool)>::new();
        for entry in state.entries() {
            let of_entry = (
                entry.is_skip_worktree() || entry.is_directory(),
                entry.flags.contains(Flags::ASSUME_VALID),
            );
            if of_entry != (false, false) {
                flags.insert(entry.path(state), of_entry);
            }
        }
        let mut flagged = Self::default();
        if flags.is_empty() {
            return Ok(flagged);
        }
        for path in paths {
            let bytes = path.as_bytes();
            let (skips, assumes) = flags.get(bytes).copied().unwrap_or_default();
            let is_in_entry =
                || directories_above(bytes).any(|directory| flags.contains_key(&[directory, b"/"].concat()[..]));
            if skips || is_in_entry() {
                flagged.skip_worktree.insert(path.clone());
            }
            if assumes {
                flagged.assume_unchanged.insert(path.clone());
            }
        }
        Ok(flagged)
    }

    /// Adds the flags that these paths have in another state. A path that this state left out of the working tree is not
    /// flagged where it is on the disk now. If the state is `exact`, other flags of what is on the disk go.
    pub(super) fn take_over(&mut self, repo: &Repository, paths: &[RepoPath], then: &Lists, is_exact: bool) {
        for path in paths {
            let origin = then.origin_of(path.as_bytes());
            let flags = origin.map(|origin| origin.flags).unwrap_or_default();
            let is_left_out = origin.is_some_and(|origin| origin.source == Source::Index);
            if flags.skip_worktree && !(is_left_out && is_on_disk(repo, path)) {
                self.skip_worktree.insert(path.clone());
            } else if is_exact && !flags.skip_worktree && is_on_disk(repo, path) {
                self.skip_worktree.remove(path);
            }
            if flags.assume_unchanged {
                self.assume_unchanged.insert(path.clone());
            } else if is_exact {
                self.assume_unchanged.remove(path);
            }
        }
    }
}

/// The paths with flags that another state has and this one lacks, where the flag is a person's: those of a sparse checkout
/// follow from its patterns.
pub(super) fn lacking<'a>(now: &'a Lists, then: &'a Lists) -> impl Iterator<Item = &'a RepoPath> {
    let is_lacking = |path: &RepoPath, wanted: IndexFlags| {
        let has = now.origin_of(path.as_bytes());
        let has = has.map(|origin| origin.flags).unwrap_or_default();
        wanted.skip_worktree && !has.skip_worktree || wanted.assume_unchanged && !has.assume_unchanged
    };
    then.origin
        .iter()
        .filter(|origin| origin.source != Source::Index && !origin.path.as_bytes().ends_with(b"/"))
        .filter(move |origin| is_lacking(&origin.path, origin.flags))
        .map(|origin| &origin.path)
}

fn is_on_disk(repo: &Repository, path: &RepoPath) -> bool {
    let name = gix::path::from_byte_slice(path.as_bytes()).ok();
    let file = repo.workdir().zip(name).map(|(root, name)| root.join(name));
    file.is_some_and(|file| file.symlink_metadata().is_ok())
}
