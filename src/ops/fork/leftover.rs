//! The working tree of a fork that was undone: it stays, with or without work that no checkpoint holds.

use std::path::Path;

use super::{super::Error, super::Scene, super::compose, list, remove, submodules};
use crate::{
    model::id::Oid,
    store::{
        self,
        checkpoint::{self, Checkpoint, object_id, oid},
        objects::Writer,
        session, tree,
    },
};

/// A working tree that stays although the fork that it was made for was undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkLeftover {
    /// Its directory.
    pub path: String,
    /// Its branch.
    pub branch: String,
    /// The session that the fork had made, where that is known and no other one took its place.
    pub session: Option<String>,
    /// Whether something in it is in no checkpoint, or could not be compared with one.
    pub is_changed: bool,
}

/// Looks at the working trees that stayed, each with its branch. `refs` are those that the undo moved: name, what it was
/// and what it is.
pub fn look(
    scene: &Scene<'_>,
    stays: &[(String, String)],
    refs: &[(String, Option<Oid>, Option<Oid>)],
) -> Vec<ForkLeftover> {
    if stays.is_empty() {
        return Vec::new();
    }
    let places = list::places(scene);
    let forks = refs.iter().filter_map(|(name, from, _)| {
        let tip = checkpoint::load(scene.repo, object_id(from.as_ref()?)).ok()?;
        let place = places.get(&tip.document.session.id)?.canonicalize().ok()?;
        Some((name.strip_prefix(session::PREFIX)?.to_owned(), tip, place))
    });
    let forks: Vec<_> = forks.collect();
    let look = |(path, branch): &(String, String)| {
        let place = Path::new(path).canonicalize().ok();
        let fork = forks.iter().find(|(.., other)| Some(other) == place.as_ref());
        ForkLeftover {
            path: path.clone(),
            branch: branch.clone(),
            session: fork.map(|(name, ..)| name.clone()),
            // What cannot be read may hold anything.
            is_changed: !fork.is_some_and(|(_, tip, _)| holds_only(scene, Path::new(path), tip).unwrap_or(false)),
        }
    };
    stays.iter().map(look).collect()
}

/// Whether a working tree is as a checkpoint has it, but for ignored files that this working tree has as well.
fn holds_only(scene: &Scene<'_>, path: &Path, tip: &Checkpoint) -> Result<bool, Error> {
    let Some(saved) = &tip.document.snapshot else {
        return Ok(false);
    };
    let here = store::work_tree(scene.repo)?;
    let repo = store::open_beside(path)?;
    let there = Scene {
        repo: &repo,
        session: None,
        index: None,
        ..*scene
    };
    let writer = Writer::memory(&repo);
    let present = compose::present(&there, &writer, true, &[])?;
    let Some(now) = &present.snapshot else {
        return Ok(false);
    };
    let head = present.facts.head.clone();
    // A fork that keeps the changes out of the index has the index of its commit.
    let of_head = tree::tree_of(&repo, head.as_ref().map(object_id))?;
    let is_index_known = oid(now.index_tree) == saved.index || now.index_tree == of_head;
    Ok(head == tip.document.git.head
        && oid(now.tree) == saved.tree
        && is_index_known
        && now.lists.skipped.is_empty()
        && remove::ignored(&there, path, here)?.is_empty()
        && submodules::at_risk(path, here)?.is_empty())
}
