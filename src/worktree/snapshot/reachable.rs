//! Objects at a path in trees that refs hold: HEAD's, and those of the session's previous checkpoint.
//!
//! Only an object that is found there is sure to stay. One that merely lies in the repository, because the index named
//! it or an earlier attempt stored it, may be thrown away by a `git repack -ad` that looked at the refs before ours
//! moved; so a snapshot writes it again. Directories are read as they are asked for, and those
//! on the way to the last one are remembered.

use std::rc::Rc;

use gix::objs::TreeRefIter;

use crate::store::{ObjectId, Repository};

/// The trees, asked for one path after the other.
pub(super) struct TreeLookup<'a> {
    repo: &'a Repository,
    roots: &'a [ObjectId],
    /// The directories on the way to the one asked for last, the root first, each with its name. What comes in the order of
    /// the paths reads each directory once.
    way: Vec<(Vec<u8>, Rc<Listing>)>,
}

/// Entries of the trees in one directory.
#[derive(Default)]
pub(super) struct Listing {
    /// The trees of the directory itself, each once.
    pub trees: Vec<ObjectId>,
    names: Vec<u8>,
    /// Where in `names` each name begins and ends, in the order of the names. One is there as often as it has ids.
    spans: Vec<(u32, u32)>,
    /// Objects by name.
    ids: Vec<ObjectId>,
}

impl<'a> TreeLookup<'a> {
    pub(super) fn new(repo: &'a Repository, roots: &'a [ObjectId]) -> Self {
        Self {
            repo,
            roots,
            way: Vec::new(),
        }
    }

    pub(super) fn roots(&self) -> &'a [ObjectId] {
        self.roots
    }

    /// Objects at a path in any of the trees.
    pub(super) fn at(&mut self, path: &[u8]) -> &[ObjectId] {
        let (directory, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b""[..], path),
        };
        let depth = self.reach(directory);
        self.way[depth].1.of(name)
    }

    /// The trees of a directory, given its path without a slash at its end.
    pub(super) fn trees(&mut self, path: &[u8]) -> Vec<ObjectId> {
        if path.is_empty() {
            self.roots.to_vec()
        } else {
            self.at(path).to_vec()
        }
    }

    /// A directory by its path, without a slash at its end.
    pub(super) fn directory(&mut self, path: &[u8]) -> Rc<Listing> {
        let depth = self.reach(path);
        Rc::clone(&self.way[depth].1)
    }

    /// Reads the directories on the way that are not known from the last time. Gives the position of the last one.
    fn reach(&mut self, path: &[u8]) -> usize {
        if self.way.is_empty() {
            self.way.push((Vec::new(), Rc::new(self.listing(self.roots))));
        }
        let mut depth = 0;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            depth += 1;
            if self.way.get(depth).is_some_and(|(known, _)| known == name) {
                continue;
            }
            self.way.truncate(depth);
            let listing = self.listing(self.way[depth - 1].1.of(name));
            self.way.push((name.to_vec(), Rc::new(listing)));
        }
        depth
    }

    /// Lists the entries of trees of one directory.
    pub(super) fn listing(&self, trees: &[ObjectId]) -> Listing {
        let mut listing = Listing::default();
        let mut found = Vec::new();
        for tree in trees {
            if listing.trees.contains(tree) {
                continue;
            }
            listing.trees.push(*tree);
            let names = &mut listing.names;
            self.entries(*tree, |name, id| {
                let start = names.len();
                names.extend_from_slice(name);
                found.push((position(start), position(names.len()), id));
            });
        }
        let name = |(start, end, _): &(u32, u32, ObjectId)| &listing.names[*start as usize..*end as usize];
        // The names of one tree are almost in this order: git sorts directories as if a slash ended their names.
        found.sort_by(|a, b| name(a).cmp(name(b)).then(a.2.cmp(&b.2)));
        found.dedup_by(|a, b| a.2 == b.2 && name(a) == name(b));
        (listing.spans, listing.ids) = found.into_iter().map(|(start, end, id)| ((start, end), id)).unzip();
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
    /// The trees of a directory and nothing of what is in them.
    pub(super) fn closed(trees: Vec<ObjectId>) -> Self {
        Self {
            trees,
            ..Self::default()
        }
    }

    /// Objects with a name in any of the trees.
    pub(super) fn of(&self, name: &[u8]) -> &[ObjectId] {
        let at = |(start, end): &(u32, u32)| &self.names[*start as usize..*end as usize];
        let start = self.spans.partition_point(|span| at(span) < name);
        let count = self.spans[start..].iter().take_while(|span| at(span) == name).count();
        &self.ids[start..start + count]
    }
}

fn position(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("the names of the trees of one directory are below 4 GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_ids_of_all_trees_and_no_others() {
        let id = |byte: u8| ObjectId::from_bytes_or_panic(&[byte; 20]);
        let names = b"abbc".to_vec();
        let listing = Listing {
            trees: vec![id(9)],
            names,
            spans: vec![(0, 1), (1, 2), (2, 3), (3, 4)],
            ids: vec![id(1), id(2), id(3), id(4)],
        };
        assert_eq!(listing.of(b"a"), [id(1)]);
        assert_eq!(listing.of(b"b"), [id(2), id(3)]);
        assert_eq!(listing.of(b"c"), [id(4)]);
        assert!(listing.of(b"bb").is_empty());
        assert!(listing.of(b"").is_empty());
        assert!(Listing::closed(vec![id(9)]).of(b"a").is_empty());
    }
}
