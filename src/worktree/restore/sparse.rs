//! Which paths of the index are not checked out.

use std::collections::HashSet;
use std::path::Path;

use gix::index::entry::Mode;

use super::Error;
use crate::store::Repository;
use crate::worktree::snapshot::index::{EntryExt, GitIndex};

/// Whether the working tree is a sparse checkout.
pub fn is_sparse(repo: &Repository) -> bool {
    repo.config_snapshot().boolean("core.sparseCheckout") == Some(true)
}

/// The paths that sparse checkout leaves out, as far as the index names them one by one. The flag alone does not show:
/// people set it by hand, to keep local settings out of commits.
pub(super) fn left_out(repo: &Repository, index: Option<&Path>) -> Result<HashSet<Vec<u8>>, Error> {
    if !is_sparse(repo) {
        return Ok(HashSet::new());
    }
    let index = GitIndex::read(repo, index)?;
    let state = index.state();
    let skipped = state
        .entries()
        .iter()
        .filter(|entry| entry.is_skip_worktree() || entry.mode == Mode::DIR);
    Ok(skipped.map(|entry| entry.path(state).to_vec()).collect())
}
