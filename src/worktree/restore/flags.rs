//! The flags of index entries that say how git treats the file on disk: skip-worktree and assume-unchanged.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use gix::index::entry::Flags;

use super::Error;
use super::disk::directories_above;
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
}
