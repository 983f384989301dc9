//! What the trees that refs hold have at a path: HEAD's, and those of the session's previous checkpoint.
//!
//! Only an object that is found there is sure to stay. One that merely lies in the repository, because the index named
//! it or an earlier attempt stored it, may be thrown away by a `git repack -ad` that looked at the refs before ours
//! moved; so a snapshot writes it again. Folders are read as they are asked for, and the last one is remembered.

use std::collections::HashMap;

use gix::objs::TreeRefIter;

use crate::store::{ObjectId, Repository};

/// The trees, asked for one path after the other.
pub(super) struct Reachable<'a> {
    repo: &'a Repository,
    roots: &'a [ObjectId],
    /// The folder asked for last, by its path without a slash at the end.
    folder: Option<(Vec<u8>, Listing)>,
}

/// What the trees have in one folder.
#[derive(Default)]
pub(super) struct Listing {
    /// The trees of the folder itself, each once.
    pub trees: Vec<ObjectId>,
    names: HashMap<Vec<u8>, Vec<ObjectId>>,
}

impl<'a> Reachable<'a> {
    pub(super) fn new(repo: &'a Repository, roots: &'a [ObjectId]) -> Self {
        Self {
            repo,
            roots,
            folder: None,
        }
    }

    pub(super) fn roots(&self) -> &'a [ObjectId] {
        self.roots
    }

    /// What stands at a path in any of the trees.
    pub(super) fn at(&mut self, path: &[u8]) -> &[ObjectId] {
        let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b""[..], path),
        };
        if self.folder.as_ref().is_none_or(|(known, _)| known != folder) {
            self.folder = Some((folder.to_vec(), self.folder(folder)));
        }
        self.folder.as_ref().map_or(&[], |(_, listing)| listing.of(name))
    }

    /// A folder by its path, without a slash at its end.
    pub(super) fn folder(&self, path: &[u8]) -> Listing {
        let mut trees = self.roots.to_vec();
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let mut below = Vec::new();
            for tree in &trees {
                self.entries(*tree, |entry, id| {
                    if entry == name && !below.contains(&id) {
                        below.push(id);
                    }
                });
            }
            trees = below;
        }
        self.listing(&trees)
    }

    /// What trees of one folder hold.
    pub(super) fn listing(&self, trees: &[ObjectId]) -> Listing {
        let mut listing = Listing::default();
        for tree in trees {
            if listing.trees.contains(tree) {
                continue;
            }
            listing.trees.push(*tree);
            let names = &mut listing.names;
            self.entries(*tree, |name, id| match names.get_mut(name) {
                Some(ids) if ids.contains(&id) => {}
                Some(ids) => ids.push(id),
                None => {
                    names.insert(name.to_vec(), vec![id]);
                }
            });
        }
        listing
    }

    /// A tree that cannot be read, or is none, vouches for nothing.
    fn entries(&self, tree: ObjectId, mut each: impl FnMut(&[u8], ObjectId)) {
        let Ok(Some(object)) = self.repo.try_find_object(tree) else {
            return;
        };
        if object.kind != gix::objs::Kind::Tree {
            return;
        }
        for entry in TreeRefIter::from_bytes(&object.data, self.repo.object_hash()).map_while(Result::ok) {
            each(entry.filename, entry.oid.to_owned());
        }
    }
}

impl Listing {
    /// What stands under a name in any of the trees.
    pub(super) fn of(&self, name: &[u8]) -> &[ObjectId] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }
}
