//! A look at everything that the last snapshot saw, on a few threads: which directories still have the names they had, and
//! the stat data of their files now. Where the watcher reports which directories had changes, only at those, and at others
//! when the walk asks for the stat data of their files.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{
    CachedDirectory, DirectorySlot, DirectoryStamp, MemoryRest, SnapshotInputs, SnapshotMemory, UnchangedDirectory,
    names, stat_encoding,
};
use crate::os;
use crate::os::dir::{Dir, DirNames, Meta};
use crate::worktree::snapshot::cache::checksum;

/// Directories that are worth a thread.
const MANY: usize = 16;

/// Result of the comparison, which the walk consumes directory by directory.
pub(in crate::worktree::snapshot) struct CacheScan<'a> {
    seen: &'a MemoryRest,
    /// The working tree and its device.
    root: Option<(Dir, u64)>,
    is_around: bool,
    /// By the positions of the directories.
    found: Vec<Mutex<DirectoryState>>,
    /// Stat data, by thread.
    listed: Vec<Vec<u8>>,
    /// Whether everything in all directories is as it was.
    same: bool,
}

/// State of one directory against the memory.
enum DirectoryState {
    /// Its names are not as they were, or it was taken already.
    Nothing,
    /// Location of the stat data of the files that the snapshot requested: the number of a thread, and a position in
    /// its stat data.
    Names(usize, Range<usize>),
    /// It is plain, and everything is as it was.
    Plain(UnchangedDirectory),
    /// Nothing happened in it, as the watcher says; it was not looked at.
    Unreported,
}

impl SnapshotMemory {
    /// Looks at everything with up to `threads` threads. `device` is the one on which directories can be believed. With
    /// `reported`, sorted, only at the directories with these positions: all others are known to be as they were.
    pub(in crate::worktree::snapshot) fn look(
        &self,
        root: &Path,
        device: Option<u64>,
        around: Option<&SnapshotInputs>,
        (reported, threads): (Option<&[u32]>, usize),
    ) -> CacheScan<'_> {
        let seen = self.rest();
        let is_around = around.is_some_and(|around| self.is_around(around));
        // The record of a directory on another device is never used, watched or not.
        let is_unreported = |at: u32, place: &DirectorySlot| {
            reported.is_some_and(|reported| reported.binary_search(&at).is_err())
                && place.asked.is_some()
                && device == Some(place.stamp.dev)
        };
        let found: Vec<_> = (0..)
            .zip(&seen.directories)
            .map(|(at, place)| {
                if is_unreported(at, place) {
                    DirectoryState::Unreported
                } else {
                    DirectoryState::Nothing
                }
            })
            .map(Mutex::new)
            .collect();
        let mut look = CacheScan {
            seen,
            root: device.and_then(|device| Some((Dir::open(root).ok()?, device))),
            is_around,
            found,
            listed: Vec::new(),
            same: false,
        };
        if look.root.is_some() && !seen.directories.is_empty() {
            (look.listed, look.same) = look.compare(threads);
        }
        look
    }
}

impl MemoryRest {
    /// Appends the stat data of a directory's files to `listed`, if its names are unchanged.
    fn look_at(&self, root: &Dir, place: &DirectorySlot, device: u64, listed: &mut Vec<u8>) -> Option<()> {
        let bytes = &self.bytes[place.names.clone()];
        if place.stamp.dev != device || checksum(bytes) != place.sum {
            return None;
        }
        let path = self.bytes[place.path.clone()].strip_suffix(b"/").unwrap_or(b".");
        let dir = root.directory_for_stat(path).ok()?;
        if DirectoryStamp::of(&dir.meta().ok()?) != place.stamp {
            return None;
        }
        for (name, kind, _) in names(bytes).filter(|(_, _, asked)| *asked) {
            let meta = dir.stat_c(name).ok()?;
            if meta.kind != kind || meta.dev != device {
                return None;
            }
            stat_encoding::put(&meta, listed);
        }
        Some(())
    }
}

impl CacheScan<'_> {
    /// Compares all directories that had reports: what is said of their files, by thread, and whether all are the same.
    fn compare(&self, threads: usize) -> (Vec<Vec<u8>>, bool) {
        let Some((root, device)) = &self.root else {
            return (Vec::new(), false);
        };
        let (same, next) = (AtomicBool::new(true), AtomicUsize::new(0));
        let places: Vec<_> = self.seen.directories.iter().zip(&self.found).collect();
        let places: Vec<_> = places
            .into_iter()
            .filter(|(_, found)| !matches!(*lock(found), DirectoryState::Unreported))
            .collect();
        let work = |number: usize| {
            let mut listed = Vec::new();
            // One by one: the last of a batch of large ones would be waited for.
            while let Some((place, found)) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                let start = listed.len();
                let has_names = self.seen.look_at(root, place, *device, &mut listed).is_some();
                let is_same = has_names && place.asked == Some(checksum(&listed[start..]));
                if !is_same {
                    same.store(false, Ordering::Relaxed);
                }
                let plain = place.plain.filter(|_| self.is_around && is_same);
                if !has_names || plain.is_some() {
                    listed.truncate(start);
                }
                *lock(found) = match plain {
                    Some(plain) => DirectoryState::Plain(plain),
                    None if has_names => DirectoryState::Names(number, start..listed.len()),
                    None => DirectoryState::Nothing,
                };
            }
            listed
        };
        let listed = std::thread::scope(|scope| {
            let threads = threads.min(places.len() / MANY);
            let helpers: Vec<_> = (1..threads)
                // Without them, where the system allows no more, it takes longer.
                .map_while(|number| os::spawn_worker(scope, move || work(number)))
                .collect();
            let mut listed = vec![work(0)];
            for helper in helpers {
                listed.push(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            listed
        });
        (listed, same.into_inner())
    }

    /// Whether everything in all directories is as it was.
    pub(in crate::worktree::snapshot) fn is_same(&self) -> bool {
        self.same
    }

    /// Record of the directory at this path, which ends with a slash, if its content equals the index and it is
    /// unchanged; and its next cache record.
    pub(in crate::worktree::snapshot) fn plain(&self, path: &[u8]) -> Option<(UnchangedDirectory, CachedDirectory)> {
        let at = self.find(path)?;
        let place = &self.seen.directories[at];
        let plain = match *self.lock(at) {
            DirectoryState::Plain(plain) => plain,
            DirectoryState::Unreported => place.plain.filter(|_| self.is_around)?,
            _ => return None,
        };
        let directory = CachedDirectory {
            stamp: place.stamp,
            names: self.seen.bytes[place.names.clone()].to_vec(),
            sum: place.sum,
            asked: place.asked,
            plain: place.plain,
        };
        Some((plain, directory))
    }

    fn find(&self, path: &[u8]) -> Option<usize> {
        let (bytes, directories) = (&self.seen.bytes, &self.seen.directories);
        directories
            .binary_search_by(|place| bytes[place.path.clone()].cmp(path))
            .ok()
    }

    fn lock(&self, at: usize) -> MutexGuard<'_, DirectoryState> {
        lock(&self.found[at])
    }

    /// Fills `names` with those of the directory of this path, which has a slash at the end, and gives what is said of
    /// them; of each directory once. `None` if that is not known.
    pub(in crate::worktree::snapshot) fn take(&self, path: &[u8], into: &mut DirNames) -> Option<Vec<Option<Meta>>> {
        let at = self.find(path)?;
        let place = &self.seen.directories[at];
        let state = std::mem::replace(&mut *self.lock(at), DirectoryState::Nothing);
        let mut looked = Vec::new();
        let listed = match state {
            DirectoryState::Names(thread, range) => &self.listed[thread][range],
            DirectoryState::Unreported => {
                let (root, device) = self.root.as_ref()?;
                self.seen.look_at(root, place, *device, &mut looked)?;
                &looked
            }
            _ => return None,
        };
        let mut listed = listed.as_chunks().0.iter();
        let all = || names(&self.seen.bytes[place.names.clone()]);
        into.fill(all().map(|(name, kind, _)| (name.to_bytes(), kind)));
        let meta = |kind| move |listed| stat_encoding::meta(listed, kind, place.stamp.dev);
        let metas = all().map(|(_, kind, asked)| asked.then(|| listed.next()).flatten().map(meta(kind)));
        Some(metas.collect())
    }
}

fn lock(found: &Mutex<DirectoryState>) -> MutexGuard<'_, DirectoryState> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}
