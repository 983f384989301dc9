//! A look at everything that the last snapshot saw, on a few threads: which folders still have the names they had, and
//! what the system says of their files now.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Around, Asked, Folder, Place, Plain, Seen, Stamp, names};
use crate::os::dir::{Dir, Meta, Names};
use crate::worktree::snapshot::cache::checksum;

/// Folders that a thread takes at once.
const BATCH: usize = 8;

/// What was found. The walk takes it folder by folder.
pub(in crate::worktree::snapshot) struct Look<'a> {
    seen: &'a Seen,
    /// By the positions of the folders.
    found: Vec<Mutex<Found>>,
    /// Whether everything in all folders is as it was.
    same: bool,
}

/// What was found of one folder.
enum Found {
    /// Its names are not as they were, or it was taken already.
    Nothing,
    /// What is said of the files that the snapshot asked for.
    Names(Vec<Meta>),
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
                same: false,
            };
        };
        let work = || {
            let mut asked = Asked::default();
            loop {
                let start = next.fetch_add(BATCH, Ordering::Relaxed);
                let end = self.folders.len().min(start + BATCH);
                if start >= end {
                    return;
                }
                for (place, found) in self.folders[start..end].iter().zip(&found[start..end]) {
                    let metas = self.look_at(&root, place, device);
                    let is_same = metas.as_ref().is_some_and(|metas| {
                        asked.0.clear();
                        for meta in metas {
                            asked.add(meta);
                        }
                        place.asked == Some(asked.digest())
                    });
                    if !is_same {
                        same.store(false, Ordering::Relaxed);
                    }
                    let plain = place.plain.filter(|_| is_around && is_same);
                    *found.lock().unwrap_or_else(PoisonError::into_inner) = match (plain, metas) {
                        (Some(plain), _) => Found::Plain(plain),
                        (None, Some(metas)) => Found::Names(metas),
                        (None, None) => Found::Nothing,
                    };
                }
            }
        };
        std::thread::scope(|scope| {
            let helpers = threads.min(self.folders.len() / (2 * BATCH)).saturating_sub(1);
            for _ in 0..helpers {
                // Without them, where the system allows no more, it takes longer.
                if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            work();
        });
        Look {
            seen: self,
            found,
            same: same.into_inner(),
        }
    }

    /// What the system says of the files of a folder, if it has the names that it had.
    fn look_at(&self, root: &Dir, place: &Place, device: u64) -> Option<Vec<Meta>> {
        let bytes = &self.bytes[place.names.clone()];
        if place.stamp.dev != device || checksum(bytes) != place.sum {
            return None;
        }
        let path = self.bytes[place.path.clone()].strip_suffix(b"/").unwrap_or(b".");
        let dir = root.folder(path).ok()?;
        if Stamp::of(&dir.meta().ok()?) != place.stamp {
            return None;
        }
        let asked = names(bytes).filter(|(_, _, asked)| *asked);
        let same = |kind| move |meta: &Meta| meta.kind == kind && meta.dev == device;
        asked
            .map(|(name, kind, _)| dir.stat_c(name).ok().filter(same(kind)))
            .collect()
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
        let Found::Names(metas) = std::mem::replace(&mut *self.lock(at), Found::Nothing) else {
            return None;
        };
        let mut metas = metas.into_iter();
        let all = || names(&self.seen.bytes[self.seen.folders[at].names.clone()]);
        into.fill(all().map(|(name, kind, _)| (name.to_bytes(), kind)));
        Some(
            all()
                .map(|(_, _, asked)| asked.then(|| metas.next()).flatten())
                .collect(),
        )
    }
}
