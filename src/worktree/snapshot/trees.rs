//! The trees of index and work tree, from the index and what the walk found to differ.
//!
//! Only folders in which something differs are built; of all others the index knows the tree since git wrote it last
//! (its cache-tree extension), or it is built from the entries once for both trees.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use gix::bstr::ByteSlice;
use gix::index::entry::{Mode, Stage};
use gix::index::extension::Tree as Cached;

use super::Error;
use super::index::{EntryExt, Group, Index};
use super::reachable::{Listing, Reachable};
use super::settle::Results;
use super::walk::{Folder, What};
use crate::store::objects::Writer;
use crate::store::{Kind, ObjectId, Repository};

const FOLDER: u16 = 0o40_000;

/// Builds the trees of a snapshot.
pub(super) struct Builder<'a> {
    reachable: Reachable<'a>,
    writer: &'a Writer,
    index: &'a Index,
    left_out: &'a [usize],
    /// Trees of the index by their stretch of entries and the length of their path.
    known: HashMap<(usize, usize, usize), Option<ObjectId>>,
    /// Entries of the index whose blobs no ref is known to hold.
    loose_ends: Vec<usize>,
}

impl<'a> Builder<'a> {
    /// Without the index entries `left_out`, which are sorted. `roots` are trees that refs hold.
    pub(super) fn new(
        repo: &'a Repository,
        roots: &'a [ObjectId],
        writer: &'a Writer,
        index: &'a Index,
        left_out: &'a [usize],
    ) -> Self {
        Self {
            reachable: Reachable::new(repo, roots),
            writer,
            index,
            left_out,
            known: HashMap::new(),
            loose_ends: Vec::new(),
        }
    }

    /// The tree of the index, and the entries whose blobs have to be stored for it because no ref is known to hold
    /// them: what is staged, as a rule.
    pub(super) fn index(&mut self) -> Result<(ObjectId, Vec<usize>), Error> {
        let id = self.whole_index()?;
        let id = id.map_or_else(|| self.empty(), Ok)?;
        Ok((id, std::mem::take(&mut self.loose_ends)))
    }

    /// The tree of the files. `folders` are sorted by their numbers, which are their positions.
    pub(super) fn work(&mut self, folders: &[Folder], results: Results<'_>) -> Result<ObjectId, Error> {
        let in_index = self.whole_index()?;
        self.of_work_tree(folders, results, in_index)?
            .map_or_else(|| self.empty(), Ok)
    }

    fn empty(&self) -> Result<ObjectId, Error> {
        Ok(self.writer.write(Kind::Tree, b"")?)
    }

    fn whole_index(&mut self) -> Result<Option<ObjectId>, Error> {
        let roots = self.reachable.roots().to_vec();
        self.of_index(self.index.all(), 0, self.index.state().tree(), &roots)
    }

    /// The tree of a folder as the index has it; `None` when there is nothing in it. `held` are the trees that refs have
    /// there.
    fn of_index(
        &mut self,
        range: Range<usize>,
        prefix: usize,
        cached: Option<&Cached>,
        held: &[ObjectId],
    ) -> Result<Option<ObjectId>, Error> {
        if range.is_empty() {
            return Ok(None);
        }
        let key = (range.start, range.end, prefix);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let first_left_out = self.left_out.partition_point(|at| *at < range.start);
        let whole = self.left_out.get(first_left_out).is_none_or(|at| *at >= range.end);
        let id = match cached {
            Some(cached) if whole && is_valid(cached, &range) && held.contains(&cached.id) => Some(cached.id),
            _ => {
                let listing = self.reachable.listing(held);
                let mut entries = Entries::default();
                for group in self.index.groups(range, prefix) {
                    self.add_group(&group, prefix, cached, &listing, &mut entries)?;
                }
                self.writer.trust(listing.trees);
                entries.write(self.writer)?
            }
        };
        self.known.insert(key, id);
        Ok(id)
    }

    /// A name as the index has it.
    fn add_group(
        &mut self,
        group: &Group<'_>,
        prefix: usize,
        cached: Option<&Cached>,
        listing: &Listing,
        entries: &mut Entries,
    ) -> Result<(), Error> {
        if !group.below.is_empty() {
            let below = self.of_index(
                group.below.clone(),
                prefix + group.name.len() + 1,
                child(cached, group.name),
                listing.of(group.name),
            )?;
            if let Some(id) = below {
                entries.add(group.name, FOLDER, id);
                return Ok(());
            }
        }
        // An unmerged path takes our side, else theirs, else what both come from.
        let rank = |stage| match stage {
            Stage::Unconflicted => 0,
            Stage::Ours => 1,
            Stage::Theirs => 2,
            Stage::Base => 3,
        };
        let entries_of_name = group
            .files
            .clone()
            .filter(|at| self.left_out.binary_search(at).is_err());
        let best = entries_of_name
            .map(|at| (at, self.index.entry(at)))
            .min_by_key(|(_, entry)| rank(entry.stage()));
        if let Some((at, entry)) = best
            && !entry.is_intent_to_add()
        {
            if !entry.is_gitlink() && !entry.is_folder() && !listing.of(group.name).contains(&entry.id) {
                self.loose_ends.push(at);
            }
            let mode = if entry.mode == Mode::DIR {
                FOLDER
            } else {
                u16::try_from(entry.mode.bits()).unwrap_or_default()
            };
            entries.add(group.name, mode, entry.id);
        }
        Ok(())
    }

    /// The tree of the whole work tree, given that of the index.
    fn of_work_tree(
        &mut self,
        folders: &[Folder],
        results: Results<'_>,
        in_index: Option<ObjectId>,
    ) -> Result<Option<ObjectId>, Error> {
        let mut touched = vec![false; folders.len()];
        let mut below = HashMap::<u32, Vec<u32>>::new();
        // A folder has a larger number than the one above it.
        for folder in folders.iter().rev() {
            let at = folder.id as usize;
            touched[at] |= !folder.changes.is_empty() || !folder.read.is_empty();
            if touched[at] && at != 0 {
                touched[folder.parent as usize] = true;
                below.entry(folder.parent).or_default().push(folder.id);
            }
        }
        if !touched.first().copied().unwrap_or(false) {
            return Ok(in_index);
        }
        let mut built = HashMap::<u32, Option<(u16, ObjectId)>>::new();
        for folder in folders.iter().rev().filter(|folder| touched[folder.id as usize]) {
            let mut inside = BTreeMap::<&[u8], Option<(u16, ObjectId)>>::new();
            for id in below.remove(&folder.id).unwrap_or_default() {
                inside.insert(&folders[id as usize].name, built.remove(&id).flatten());
            }
            let tree = self.folder(folders, folder, results, inside)?;
            built.insert(folder.id, tree);
        }
        Ok(built.remove(&0).flatten().map(|(_, id)| id))
    }

    /// What stands for a folder in the tree above it. `inside` are the touched folders in it.
    fn folder<'b>(
        &mut self,
        folders: &'b [Folder],
        folder: &'b Folder,
        results: Results<'b>,
        mut inside: BTreeMap<&'b [u8], Option<(u16, ObjectId)>>,
    ) -> Result<Option<(u16, ObjectId)>, Error> {
        let mut gone = Vec::<&[u8]>::new();
        let seen = folder.changes.iter().map(|change| (&*change.name, change.what));
        for (name, what) in seen.chain(folder.read.iter().map(|at| results.change(*at))) {
            match what {
                // The folder itself is an entry: a repository.
                What::Put { mode, id } if name.is_empty() => return Ok(Some((mode, id))),
                What::Put { mode, id } => {
                    inside.insert(name, Some((mode, id)));
                }
                What::Gone => gone.push(name),
            }
        }
        gone.sort_unstable();
        let path = path_of(folders, folder);
        let prefix = if path.is_empty() { 0 } else { path.len() + 1 };
        let cached = path
            .split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty())
            .fold(self.index.state().tree(), child);
        let listing = self.reachable.folder(&path);
        let mut entries = Entries::default();
        for group in self.index.groups(folder.entries.clone(), prefix) {
            if let Some(changed) = inside.remove(group.name) {
                if let Some((mode, id)) = changed {
                    entries.add(group.name, mode, id);
                }
            } else if gone.binary_search(&group.name).is_err() {
                self.add_group(&group, prefix, cached, &listing, &mut entries)?;
            }
        }
        self.writer.trust(listing.trees);
        for (name, added) in inside {
            if let Some((mode, id)) = added {
                entries.add(name, mode, id);
            }
        }
        Ok(entries.write(self.writer)?.map(|id| (FOLDER, id)))
    }
}

/// The path of a folder without a slash at its end.
pub(super) fn path_of(folders: &[Folder], folder: &Folder) -> Vec<u8> {
    let mut names = Vec::new();
    let mut at = folder;
    while at.id != at.parent {
        names.push(&*at.name);
        at = &folders[at.parent as usize];
    }
    names.reverse();
    names.join(&b'/')
}

/// Whether what git noted of a tree is about these entries.
fn is_valid(cached: &Cached, range: &Range<usize>) -> bool {
    cached.num_entries.is_some_and(|count| count as usize == range.len())
}

fn child<'a>(cached: Option<&'a Cached>, name: &[u8]) -> Option<&'a Cached> {
    let children = &cached?.children;
    let at = children
        .binary_search_by(|child| child.name.as_bytes().cmp(name))
        .ok()?;
    children.get(at)
}

/// Entries of a tree in the making.
#[derive(Default)]
struct Entries {
    list: Vec<(Vec<u8>, u16, ObjectId)>,
}

impl Entries {
    fn add(&mut self, name: &[u8], mode: u16, id: ObjectId) {
        self.list.push((name.to_vec(), mode, id));
    }

    /// Writes the tree; `None` if it would be empty, since git stores no empty folders.
    fn write(mut self, writer: &Writer) -> Result<Option<ObjectId>, Error> {
        if self.list.is_empty() {
            return Ok(None);
        }
        // git sorts folders as if a slash ended their names.
        for (name, mode, _) in &mut self.list {
            if *mode == FOLDER {
                name.push(b'/');
            }
        }
        self.list.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut tree = Vec::with_capacity(self.list.len() * 48);
        for (name, mode, id) in &self.list {
            let name = if *mode == FOLDER { &name[..name.len() - 1] } else { name };
            tree.extend_from_slice(format!("{mode:o} ").as_bytes());
            tree.extend_from_slice(name);
            tree.push(0);
            tree.extend_from_slice(id.as_bytes());
        }
        Ok(Some(writer.write(Kind::Tree, &tree)?))
    }
}
