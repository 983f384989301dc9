//! Every object below a tree, read and hashed.
//!
//! Not git's connectivity check: contents are inflated and compared with their ids, so that a flipped bit is found
//! whether the object is loose or packed.

use std::collections::HashSet;

use super::{Kind, ObjectId, Repository};
use crate::model::path::RepoPath;

/// What became of an object.
pub enum Visit {
    /// It is there and is what its id says.
    Whole,
    /// It is not here, and a partial clone does not have to have it.
    Promised,
    /// It is missing or damaged.
    Bad {
        /// Where it stands in the tree; empty for the tree itself.
        path: RepoPath,
        /// The object.
        id: ObjectId,
        /// What is wrong.
        problem: Problem,
    },
}

/// What is wrong with an object.
pub enum Problem {
    /// It is not there.
    Missing,
    /// It cannot be read, or is something else.
    Corrupt(String),
}

/// Visits a tree and everything below it, except what is in `seen`; whole objects are added to it. Gitlinks are left
/// out: their commits are in other repositories.
pub fn objects(repo: &Repository, tree: ObjectId, seen: &mut HashSet<ObjectId>, visit: &mut dyn FnMut(Visit)) {
    let promisor = is_partial_clone(repo);
    let mut pending = vec![(Vec::new(), tree, Kind::Tree)];
    while let Some((path, id, kind)) = pending.pop() {
        if seen.contains(&id) {
            continue;
        }
        match read(repo, id, kind) {
            Ok(data) => {
                seen.insert(id);
                visit(Visit::Whole);
                if kind == Kind::Tree {
                    match gix::objs::TreeRef::from_bytes(&data, repo.object_hash()) {
                        Ok(tree) => push_entries(&mut pending, &path, &tree),
                        Err(error) => visit(bad(path, id, Problem::Corrupt(error.to_string()))),
                    }
                }
            }
            Err(Problem::Missing) if promisor && kind == Kind::Blob => visit(Visit::Promised),
            Err(problem) => visit(bad(path, id, problem)),
        }
    }
}

fn bad(path: Vec<u8>, id: ObjectId, problem: Problem) -> Visit {
    Visit::Bad {
        path: RepoPath::new(path),
        id,
        problem,
    }
}

fn push_entries(pending: &mut Vec<(Vec<u8>, ObjectId, Kind)>, path: &[u8], tree: &gix::objs::TreeRef<'_>) {
    for entry in tree.entries.iter().rev() {
        let kind = match () {
            () if entry.mode.is_commit() => continue,
            () if entry.mode.is_tree() => Kind::Tree,
            () => Kind::Blob,
        };
        let mut below = path.to_vec();
        if !below.is_empty() {
            below.push(b'/');
        }
        below.extend_from_slice(entry.filename);
        pending.push((below, entry.oid.to_owned(), kind));
    }
}

fn read(repo: &Repository, id: ObjectId, kind: Kind) -> Result<Vec<u8>, Problem> {
    let object = match repo.try_find_object(id) {
        Ok(Some(object)) => object,
        Ok(None) => return Err(Problem::Missing),
        Err(error) => return Err(Problem::Corrupt(error.to_string())),
    };
    if object.kind != kind {
        return Err(Problem::Corrupt(format!("it is a {}, not a {kind}", object.kind)));
    }
    match gix::objs::compute_hash(repo.object_hash(), kind, &object.data) {
        Ok(found) if found == id => Ok(object.detach().data),
        Ok(_) => Err(Problem::Corrupt("its bytes have another id".to_owned())),
        Err(_) => Err(Problem::Corrupt("its bytes are part of a collision attack".to_owned())),
    }
}

/// Whether objects may be absent because a remote promised to have them.
pub fn is_partial_clone(repo: &Repository) -> bool {
    let config = repo.config_snapshot();
    config.string("extensions.partialClone").is_some()
        || repo.remote_names().iter().any(|name| {
            config
                .boolean(format!("remote.{name}.promisor").as_str())
                .unwrap_or(false)
        })
}
