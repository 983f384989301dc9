//! The trees of index and working tree, from the index and what the walk found to differ.
//!
//! Only directories in which something differs are built; of all others the index knows the tree since git wrote it last
//! (its cache-tree extension), or it is built from the entries once for both trees.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gix::bstr::ByteSlice;
use gix::index::entry::{Mode, Stage};
use gix::index::extension::Tree as Cached;

use super::Error;
use super::deferred::Results;
use super::entries::{DIRECTORY, Entries};
use super::index::{EntryExt, GitIndex, Group};
use super::reachable::{Listing, TreeLookup};
use super::walk::{PathState, ScannedDirectory};
use crate::os;
use crate::store::objects::Writer;
use crate::store::{Kind, ObjectId, Repository};

/// Directories that a thread builds at once.
const BATCH: usize = 16;

/// Tree entry of a directory: mode and id, or none.
type TreeEntry = Option<(u16, ObjectId)>;

/// Builds the trees of a snapshot.
pub(super) struct Builder<'a> {
    repo: &'a Repository,
    reachable: TreeLookup<'a>,
    writer: &'a Writer,
    index: &'a GitIndex,
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
        index: &'a GitIndex,
        left_out: &'a [usize],
    ) -> Self {
        Self {
            repo,
            reachable: TreeLookup::new(repo, roots),
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

    /// The tree of the files, and those of the directories of taken files by their numbers. `folders` are sorted by their
    /// numbers, which are their positions.
    pub(super) fn work(
        &mut self,
        directories: &[ScannedDirectory],
        results: Results<'_>,
        threads: usize,
    ) -> Result<(ObjectId, HashMap<u32, ObjectId>), Error> {
        let in_index = self.whole_index()?;
        let mut taken = HashMap::new();
        let tree = self.of_work_tree(directories, results, in_index, threads, &mut taken)?;
        Ok((tree.map_or_else(|| self.empty(), Ok)?, taken))
    }

    fn empty(&self) -> Result<ObjectId, Error> {
        Ok(self.writer.write(Kind::Tree, b"")?)
    }

    fn whole_index(&mut self) -> Result<Option<ObjectId>, Error> {
        let roots = self.reachable.roots().to_vec();
        self.of_index(self.index.all(), 0, self.index.state().tree(), &roots)
    }

    /// The tree of a directory as the index has it; `None` when there is nothing in it. `held` are the trees that refs have
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
                let index = self.index;
                for group in index.groups(range, prefix) {
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
    fn add_group<'b>(
        &mut self,
        group: &Group<'b>,
        prefix: usize,
        cached: Option<&Cached>,
        listing: &Listing,
        entries: &mut Entries<'b>,
    ) -> Result<(), Error> {
        if !group.below.is_empty() {
            let below = self.of_index(
                group.below.clone(),
                prefix + group.name.len() + 1,
                child(cached, group.name),
                listing.of(group.name),
            )?;
            if let Some(id) = below {
                entries.add(group.name, DIRECTORY, id);
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
            if !entry.is_gitlink() && !entry.is_directory() && !listing.of(group.name).contains(&entry.id) {
                self.loose_ends.push(at);
            }
            let mode = if entry.mode == Mode::DIR {
                DIRECTORY
            } else {
                u16::try_from(entry.mode.bits()).unwrap_or_default()
            };
            entries.add(group.name, mode, entry.id);
        }
        Ok(())
    }

    /// The tree of the whole working tree, given that of the index.
    fn of_work_tree(
        &mut self,
        directories: &[ScannedDirectory],
        results: Results<'_>,
        in_index: Option<ObjectId>,
        threads: usize,
        taken: &mut HashMap<u32, ObjectId>,
    ) -> Result<Option<ObjectId>, Error> {
        let mut touched = vec![false; directories.len()];
        let mut below = HashMap::<u32, Vec<u32>>::new();
        // A directory has a larger number than the one above it.
        for directory in directories.iter().rev() {
            let at = directory.id as usize;
            touched[at] |= !directory.changes.is_empty() || !directory.read.is_empty();
            if touched[at] && at != 0 {
                touched[directory.parent as usize] = true;
                below.entry(directory.parent).or_default().push(directory.id);
            }
        }
        if !touched.first().copied().unwrap_or(false) {
            return Ok(in_index);
        }
        let lowest: Vec<&ScannedDirectory> = directories
            .iter()
            .filter(|directory| touched[directory.id as usize] && !below.contains_key(&directory.id))
            .collect();
        let mut built = self.lowest(directories, &lowest, results, threads)?;
        let mut note = |directory: &ScannedDirectory, tree: TreeEntry| {
            if let (Some(_), Some((_, id))) = (&directory.taken, tree) {
                taken.insert(directory.id, id);
            }
        };
        for directory in lowest {
            note(directory, built.get(&directory.id).copied().flatten());
        }
        let above = |directory: &&ScannedDirectory| touched[directory.id as usize] && below.contains_key(&directory.id);
        for directory in directories.iter().rev().filter(above) {
            let inside = below[&directory.id]
                .iter()
                .map(|id| (&*directories[*id as usize].name, built.remove(id).flatten()))
                .collect();
            let tree = self.directory(directories, directory, results, inside)?;
            note(directory, tree);
            built.insert(directory.id, tree);
        }
        Ok(built.remove(&0).flatten().map(|(_, id)| id))
    }

    /// Tree entries of the touched directories without touched subdirectories, by number: all of them can be built in
    /// parallel.
    fn lowest(
        &mut self,
        directories: &[ScannedDirectory],
        lowest: &[&ScannedDirectory],
        results: Results<'_>,
        threads: usize,
    ) -> Result<HashMap<u32, TreeEntry>, Error> {
        let next = AtomicUsize::new(0);
        let work = |builder: &mut Builder<'_>| -> Result<Vec<(u32, TreeEntry)>, Error> {
            let mut built = Vec::new();
            loop {
                let start = next.fetch_add(BATCH, Ordering::Relaxed);
                let Some(rest) = lowest.get(start..).filter(|rest| !rest.is_empty()) else {
                    return Ok(built);
                };
                for directory in &rest[..rest.len().min(BATCH)] {
                    let tree = builder.directory(directories, directory, results, BTreeMap::new())?;
                    built.push((directory.id, tree));
                }
            }
        };
        let helpers = threads.min(lowest.len() / (2 * BATCH)).saturating_sub(1);
        std::thread::scope(|scope| {
            let helpers: Vec<_> = (0..helpers)
                // Without them, where the system allows no more, it takes longer.
                .map_while(|_| {
                    let repo = self.repo.clone().into_sync();
                    let (roots, writer, index, left_out) =
                        (self.reachable.roots(), self.writer, self.index, self.left_out);
                    let work = &work;
                    os::spawn_worker(scope, move || {
                        let repo = repo.to_thread_local();
                        work(&mut Builder::new(&repo, roots, writer, index, left_out))
                    })
                })
                .collect();
            let mut built: HashMap<_, _> = work(self)?.into_iter().collect();
            for helper in helpers {
                match helper.join() {
                    Ok(other) => built.extend(other?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok(built)
        })
    }

    /// Tree entry of a directory in its parent. `inside` are the touched directories in it.
    fn directory<'b>(
        &mut self,
        directories: &'b [ScannedDirectory],
        directory: &'b ScannedDirectory,
        results: Results<'b>,
        mut inside: BTreeMap<&'b [u8], TreeEntry>,
    ) -> Result<TreeEntry, Error> {
        let mut gone = Vec::<&[u8]>::new();
        let seen = directory.changes.iter().map(|change| (&*change.name, change.what));
        for (name, what) in seen.chain(directory.read.iter().map(|at| results.change(*at))) {
            match what {
                // The directory itself is an entry: one that is known with all that is in it.
                PathState::Put { mode, id } if name.is_empty() => return Ok(Some((mode, id))),
                PathState::Put { mode, id } => {
                    inside.insert(name, Some((mode, id)));
                }
                PathState::Gone => gone.push(name),
            }
        }
        gone.sort_unstable();
        let path = path_of(directories, directory);
        let prefix = if path.is_empty() { 0 } else { path.len() + 1 };
        let cached = path
            .split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty())
            .fold(self.index.state().tree(), child);
        let groups = self.index.groups(directory.entries.clone(), prefix);
        // What the refs hold in it matters only for the directories that are as the index has them.
        let listing = if groups
            .iter()
            .any(|group| !group.below.is_empty() && !inside.contains_key(group.name))
        {
            self.reachable.directory(&path)
        } else {
            Rc::new(Listing::closed(self.reachable.trees(&path)))
        };
        let mut entries = Entries::default();
        for group in groups {
            if let Some(changed) = inside.remove(group.name) {
                if let Some((mode, id)) = changed {
                    entries.add(group.name, mode, id);
                }
            } else if gone.binary_search(&group.name).is_err() {
                self.add_group(&group, prefix, cached, &listing, &mut entries)?;
            }
        }
        self.writer.trust(listing.trees.iter().copied());
        for (name, added) in inside {
            if let Some((mode, id)) = added {
                entries.add(name, mode, id);
            }
        }
        Ok(entries.write(self.writer)?.map(|id| (DIRECTORY, id)))
    }
}

/// The path of a directory without a slash at its end.
pub(super) fn path_of(directories: &[ScannedDirectory], directory: &ScannedDirectory) -> Vec<u8> {
    let mut names = Vec::new();
    let mut at = directory;
    while at.id != at.parent {
        names.push(&*at.name);
        at = &directories[at.parent as usize];
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
