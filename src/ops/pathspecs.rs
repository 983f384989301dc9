//! Pathspecs as commands take them, and the refusal of one that nothing matches: as in git it is a mistake in typing
//! far more often than meant, and "nothing to do" would hide that.

use super::{Error, Scene, compose::CurrentSnapshot, target_state::TargetState};
use crate::{
    model::{list::Lists, path::RepoPath},
    os::os_string,
    store::{
        ObjectId, Repository,
        pathspec::{PathFilter, UnmatchedPathspecs},
    },
};

/// The filter that pathspecs make, as they were typed in a directory below the root; `None` without any.
pub(super) fn filter(scene: &Scene<'_>, specs: &[RepoPath], directory: &RepoPath) -> Result<Option<PathFilter>, Error> {
    if specs.is_empty() {
        return Ok(None);
    }
    let directory = std::path::PathBuf::from(os_string(directory.as_bytes()));
    let specs: Vec<_> = specs.iter().map(RepoPath::as_bytes).collect();
    Ok(Some(PathFilter::new(scene.repo, &specs, &directory)?))
}

/// Refuses pathspecs that match nothing in the present or in what the files are to become, index and lists included,
/// nor in further trees.
pub(super) fn require(
    repo: &Repository,
    filter: &PathFilter,
    present: &CurrentSnapshot,
    goal: &TargetState,
    more: &[ObjectId],
) -> Result<(), Error> {
    let mut unmatched = filter.unmatched();
    let snapshot = present.snapshot.as_ref();
    for lists in snapshot.iter().map(|snapshot| &snapshot.lists).chain([&goal.lists]) {
        listed(&mut unmatched, lists);
    }
    let present = snapshot
        .iter()
        .flat_map(|snapshot| [snapshot.tree, snapshot.index_tree]);
    for tree in present.chain([goal.tree, goal.index]).chain(more.iter().copied()) {
        unmatched.tree(repo, tree)?;
    }
    refuse(&unmatched, "file")
}

/// Looks at the paths that are in lists only.
pub(super) fn listed(unmatched: &mut UnmatchedPathspecs, lists: &Lists) {
    for skipped in &lists.skipped {
        unmatched.path(&skipped.path);
        unmatched.directory(&skipped.path);
    }
    for path in &lists.empty_dirs {
        unmatched.directory(path);
    }
    let conflicts = lists.conflicts.iter().map(|conflict| &conflict.path);
    let held = lists.held.iter().map(|held| &held.path);
    for path in lists.intent_to_add.iter().chain(conflicts).chain(held) {
        unmatched.path(path);
    }
}

/// The refusal of the first that matches nothing.
pub(super) fn refuse(unmatched: &UnmatchedPathspecs, what: &'static str) -> Result<(), Error> {
    match unmatched.first() {
        None => Ok(()),
        Some(spec) => Err(Error::NoMatch {
            spec: spec.clone(),
            what,
        }),
    }
}
