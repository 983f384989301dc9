//! A look at everything that the last snapshot saw, on a few threads: which folders still have the names they had, and
//! what the system says of their files now.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Around, Folder, Place, Plain, Seen, Stamp, names, told};
use crate::os;
use crate::os::dir::{Dir, Meta, Names};
use crate::worktree::snapshot::cache::checksum;

/// Folders that are worth a thread.
const MANY: usize = 16;

/// What was found. The walk takes it folder by folder.
pub(in crate::worktree::snapshot) struct Look<'a> {
    seen: &'a Seen,
    /// By the positions of the folders.
    found: Vec<Mutex<Found>>,
    /// What the system said, by the numbers of the threads.
    told: Vec<Vec<u8>>,
    /// Whether everything in all folders is as it was.
    same: bool,
}

/// What was found of one folder.
enum Found {
    /// Its names are not as they were, or it was taken already.
    Nothing,
    /// Where it stands what was said of the files that the snapshot asked for: the number of a thread, and a place in
    /// what that was told.
    Names(usize, Range<usize>),
    /// It is plain, and everything is as it was.
    Plain(Plain),
}

impl Seen {
    /// Looks at everything with up to `threads` threads. `device` is the one on which folders can be believed.
    pub(in crate::worktree::snapshot) fn look(
        &self,
        root: &Path,
        device: Option<u64>,
        around: Option<&Around>,
        threads: usize,
    ) -> Look<'_> {
        let found: Vec<_> = self.folders.iter().map(|_| Mutex::new(Found::Nothing)).collect();
        let is_around = around.is_some_and(|around| self.is_around(around));
        let (same, next) = (AtomicBool::new(!self.folders.is_empty()), AtomicUsize::new(0));
        let (Some(device), Ok(root)) = (device, Dir::open(root)) else {
            return Look {
                seen: self,
                found,
                told: Vec::new(),
                same: false,
            };
        };
        let places: Vec<_> = self.folders.iter().zip(&found).collect();
        let work = |number: usize| {
            let mut told = Vec::new();
            // One by one: the last of a batch of large ones would be waited for.
            while let Some((place, found)) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                let start = told.len();
                let has_names = self.look_at(&root, place, device, &mut told).is_some();
                let is_same = has_names && place.asked == Some(checksum(&told[start..]));
                if !is_same {
                    same.store(false, Ordering::Relaxed);
                }
                let plain = place.plain.filter(|_| is_around && is_same);
                if !has_names || plain.is_some() {
                    told.truncate(start);
                }
                *found.lock().unwrap_or_else(PoisonError::into_inner) = match plain {
                    Some(plain) => Found::Plain(plain),
                    None if has_names => Found::Names(number, start..told.len()),
                    None => Found::Nothing,
                };
            }
            told
        };
        let told = std::thread::scope(|scope| {
            let threads = threads.min(self.folders.len() / MANY);
            let helpers: Vec<_> = (1..threads)
                // Without them, where the system allows no more, it takes longer.
                .map_while(|number| os::beside(scope, move || work(number)))
                .collect();
            let mut told = vec![work(0)];
            for helper in helpers {
                told.push(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            told
        });
        Look {
            seen: self,
            found,
            told,
            same: same.into_inner(),
        }
    }

    /// Adds to `told` what the system says of the files of a folder, if it has the names that it had.
    fn look_at(&self, root: &Dir, place: &Place, device: u64, told: &mut Vec<u8>) -> Option<()> {
        let bytes = &self.bytes[place.names.clone()];
        if place.stamp.dev != device || checksum(bytes) != place.sum {
            return None;
        }
        let path = self.bytes[place.path.clone()].strip_suffix(b"/").unwrap_or(b".");
        let dir = root.folder(path).ok()?;
        if Stamp::of(&dir.meta().ok()?) != place.stamp {
            return None;
        }
        for (name, kind, _) in names(bytes).filter(|(_, _, asked)| *asked) {
            let meta = dir.stat_c(name).ok()?;
            if meta.kind != kind || meta.dev != device {
                return None;
            }
            told::put(&meta, told);
        }
        Some(())
    }
}

impl Look<'_> {
    /// Whether everything in all folders is as it was.
    pub(in crate::worktree::snapshot) fn is_same(&self) -> bool {
        self.same
    }

    /// What is known of the folder of this path, which has a slash at the end, if it is plain and as it was; and what may
    /// be kept of it again.
    pub(in crate::worktree::snapshot) fn plain(&self, path: &[u8]) -> Option<(Plain, Folder)> {
        let at = self.find(path)?;
        let Found::Plain(plain) = *self.lock(at) else {
            return None;
        };
        let place = &self.seen.folders[at];
        let folder = Folder {
            stamp: place.stamp,
            names: self.seen.bytes[place.names.clone()].to_vec(),
            sum: place.sum,
            asked: place.asked,
            plain: place.plain,
        };
        Some((plain, folder))
    }

    fn find(&self, path: &[u8]) -> Option<usize> {
        let (bytes, folders) = (&self.seen.bytes, &self.seen.folders);
        folders
            .binary_search_by(|place| bytes[place.path.clone()].cmp(path))
            .ok()
    }

    fn lock(&self, at: usize) -> MutexGuard<'_, Found> {
        self.found[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills `names` with those of the folder of this path, which has a slash at the end, and gives what is said of
    /// them; of each folder once. `None` if that is not known.
    pub(in crate::worktree::snapshot) fn take(&self, path: &[u8], into: &mut Names) -> Option<Vec<Option<Meta>>> {
        let at = self.find(path)?;
        let Found::Names(thread, range) = std::mem::replace(&mut *self.lock(at), Found::Nothing) else {
            return None;
        };
        let mut told = self.told[thread][range].as_chunks().0.iter();
        let place = &self.seen.folders[at];
        let all = || names(&self.seen.bytes[place.names.clone()]);
        into.fill(all().map(|(name, kind, _)| (name.to_bytes(), kind)));
        let meta = |kind| move |told| told::meta(told, kind, place.stamp.dev);
        let metas = all().map(|(_, kind, asked)| asked.then(|| told.next()).flatten().map(meta(kind)));
        Some(metas.collect())
    }
}
