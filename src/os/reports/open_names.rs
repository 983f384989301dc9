//! Which files are open, by their names.
//!
//! An open file keeps its place when it is moved: what is reported of it then has the new name. The counts are as good as
//! the reports: two opens of one file with nothing between them can be reported as one (`doubts`).

use std::collections::HashMap;

/// The most files of which it is known that they left a directory and not yet where to.
const MOVING: usize = 4096;

/// A file, by the number of its directory and its name there.
pub(super) type FileName = (usize, Box<[u8]>);

/// How often each file was opened and not closed yet.
#[derive(Debug, Default)]
pub(super) struct OpenNames {
    counts: HashMap<FileName, u32>,
    /// How many files are open in each directory that has one.
    directories: HashMap<usize, usize>,
    /// Files on the way from one name to another, by the number that connects both reports.
    moving: HashMap<u32, MovingFile>,
    /// Directories whose last report about a name was that a file came there from another name.
    arrivals: HashMap<usize, Arrival>,
}

#[derive(Debug)]
struct MovingFile {
    count: u32,
    source: FileName,
    /// If this may be the second half of an exchange: where the other file came from, and how often this one was open.
    exchange: Option<(FileName, u32)>,
}

#[derive(Debug)]
struct Arrival {
    name: Box<[u8]>,
    source: FileName,
    /// How often the file was open that had this name before.
    displaced: u32,
}

impl OpenNames {
    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Whether a file is open in this directory.
    pub(super) fn has_any(&self, directory: usize) -> bool {
        self.directories.contains_key(&directory)
    }

    fn count(&self, file: &FileName) -> u32 {
        self.counts.get(file).copied().unwrap_or(0)
    }

    fn set(&mut self, file: FileName, now: u32) {
        let (directory, before) = (file.0, self.count(&file));
        if now == 0 {
            self.counts.remove(&file);
        } else {
            self.counts.insert(file, now);
        }
        let files = self.directories.entry(directory).or_default();
        *files += usize::from(now > 0);
        *files -= usize::from(before > 0);
        if *files == 0 {
            self.directories.remove(&directory);
        }
    }

    pub(super) fn opened(&mut self, file: FileName) {
        let before = self.count(&file);
        self.set(file, before.saturating_add(1));
    }

    pub(super) fn closed(&mut self, file: FileName) {
        let before = self.count(&file);
        self.set(file, before.saturating_sub(1));
    }

    pub(super) fn created(&mut self, file: &FileName) {
        self.arrivals.remove(&file.0);
    }

    /// Whether the file was open: it is now without this name.
    pub(super) fn deleted(&mut self, file: FileName) -> bool {
        self.arrivals.remove(&file.0);
        let was_open = self.count(&file) > 0;
        self.set(file, 0);
        was_open
    }

    pub(super) fn left(&mut self, file: FileName, cookie: u32) {
        let arrival = self.arrivals.remove(&file.0);
        let exchange = arrival
            .filter(|arrival| arrival.name == file.1)
            .map(|arrival| (arrival.source, arrival.displaced));
        if self.moving.len() >= MOVING {
            self.moving.clear();
        }
        let moving = MovingFile {
            count: self.count(&file),
            source: file.clone(),
            exchange,
        };
        self.set(file, 0);
        self.moving.insert(cookie, moving);
    }

    /// Gives whether the file that had this name before was open.
    ///
    /// An exchange of two names is reported as two moves one after the other, and both directories are locked meanwhile. The
    /// same is reported of a file that is moved there and back again. `exists` says whether there is a file of a name now:
    /// without one it was moved back, or exchanged and the other file is gone; the larger count is that of the one that is left.
    pub(super) fn came(&mut self, file: FileName, cookie: u32, exists: impl FnOnce(&FileName) -> bool) -> bool {
        let displaced = self.count(&file);
        let Some(moving) = self.moving.remove(&cookie) else {
            self.arrivals.remove(&file.0);
            self.set(file, 0);
            return displaced > 0;
        };
        let mut count = moving.count;
        if let Some((_, then)) = moving.exchange.filter(|(first, _)| *first == file) {
            if exists(&moving.source) {
                self.set(moving.source.clone(), moving.count);
                count = then;
            } else {
                count = count.max(then);
            }
        }
        let arrival = Arrival {
            name: file.1.clone(),
            source: moving.source,
            displaced,
        };
        self.arrivals.insert(file.0, arrival);
        self.set(file, count);
        displaced > 0
    }

    /// Forgets a directory that is not watched any more.
    pub(super) fn forget(&mut self, directory: usize) {
        self.arrivals.remove(&directory);
        if self.directories.remove(&directory).is_some() {
            self.counts.retain(|(of, _), _| *of != directory);
        }
    }
}
