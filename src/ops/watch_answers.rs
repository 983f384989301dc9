//! Answers of a watcher to the snapshots of other processes: in which directories something was reported since the files
//! were as their memory says.
//!
//! A snapshot confirms the memory that it made or compared with the number of the last report before it began. So every
//! directory that was watched by then and had no report since is as that memory says; all others are named in the answer.
//! A snapshot that is not answered, for whatever reason, looks at all files. The watcher itself stops to answer before each
//! of its own full looks, and takes that look's confirmation as any other: what no report covers (`os::reports`) is found
//! then at the latest.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::os::{self, LocalListener, LocalStream, Reports, WatchError};
use crate::worktree::snapshot::watcher::{
    self, MessageKind, WatcherAnswer, WatcherMessage, WatcherMoment, remembered_directories,
};

/// The time from one look at the reports to the next: they come in numbers, and the system keeps thousands.
const PAUSE: Duration = Duration::from_millis(10);
/// How long nothing is looked at when nothing comes.
const IDLE: Duration = Duration::from_secs(1);
/// How long no directory is watched after one could not be.
const RETRY: Duration = Duration::from_secs(60);

/// The reports on one working tree, and the memory that was confirmed last.
#[derive(Debug)]
pub(super) struct WatchedTree {
    root: PathBuf,
    /// The cache that the memory is next to.
    cache: PathBuf,
    /// A number by chance.
    id: u64,
    reports: Option<Reports>,
    confirmed: Option<ConfirmedMemory>,
    /// Why directories could not be watched, and when.
    refused: Option<(WatchError, Instant)>,
    /// Changes that were reported by reports that are gone.
    changes: u64,
}

/// A memory that was how the files were at a position.
#[derive(Debug)]
struct ConfirmedMemory {
    memory: u64,
    position: u64,
    /// Its directories, sorted, with their numbers in the reports, as long as none were lost.
    directories: Vec<(Vec<u8>, Option<usize>)>,
    losses: u64,
}

impl WatchedTree {
    /// The tree at `root`, whose memory is next to `cache`. Nothing is watched yet.
    pub(super) fn new(root: &Path, cache: PathBuf) -> Self {
        let id = os::random_token().ok();
        // So many of its letters and digits fit into a number.
        let id = id.and_then(|token| u64::from_str_radix(token.get(..12)?, 36).ok());
        Self {
            root: root.to_owned(),
            cache,
            // Who has none answers nothing.
            id: id.unwrap_or(0),
            reports: None,
            confirmed: None,
            refused: None,
            changes: 0,
        }
    }

    /// Takes in what was reported until now, and gives how many changes that were.
    pub(super) fn drain(&mut self) -> u64 {
        let seen = self.reports.as_mut().map_or(0, |reports| {
            reports.drain();
            reports.changes()
        });
        self.changes + seen
    }

    /// Whether a file is open through which a directory may change without a report.
    pub(super) fn has_open_files(&self) -> bool {
        self.reports.as_ref().is_some_and(Reports::has_open_files)
    }

    /// Begins to watch these directories; all of them, or none.
    pub(super) fn watch(&mut self, directories: &[PathBuf]) -> Result<(), WatchError> {
        if let Some((reason, _)) = self.refused.filter(|(_, at)| at.elapsed() < RETRY) {
            return Err(reason);
        }
        self.drain();
        let watched = match &mut self.reports {
            Some(reports) => reports.watch(directories),
            none => Reports::of(&self.root).and_then(|mut reports| {
                let watched = reports.watch(directories);
                *none = Some(reports);
                watched
            }),
        };
        if let Err(reason) = watched {
            self.changes = self.drain() + 1;
            self.reports = None;
            self.confirmed = None;
            self.refused = Some((reason, Instant::now()));
        }
        watched
    }

    /// The number of the last report; `None` if nothing is watched.
    pub(super) fn position(&self) -> Option<u64> {
        self.reports.as_ref().map(Reports::position)
    }

    /// Whether all these directories are watched, and were at that position.
    pub(super) fn were_watched(&self, directories: &[PathBuf], position: u64) -> bool {
        let reports = self.reports.as_ref();
        reports.is_some_and(|reports| {
            directories
                .iter()
                .all(|directory| reports.was_watched(directory, position))
        })
    }

    /// Believes nothing that was confirmed: the next snapshot looks at all files.
    pub(super) fn doubt(&mut self) {
        self.confirmed = None;
        // Files that were open before they were watched may be closed now.
        if let Some(reports) = self.reports.as_mut().filter(|reports| reports.has_open_files()) {
            reports.find_held();
        }
    }

    /// Answer to a message. `None` to a confirmation, and where there is nothing to say.
    fn answer(&mut self, message: &WatcherMessage) -> Option<WatcherAnswer> {
        self.drain();
        // At first, and after reports were lost.
        if self.reports.as_ref().is_none_or(|reports| reports.root().is_none()) {
            self.watch(&[]).ok()?;
        }
        let reports = self.reports.as_ref()?;
        let is_here = reports.root() == Some(message.root) && os::mount_scope() == Some(message.mounts);
        match message.kind {
            MessageKind::Question => Some(WatcherAnswer {
                moment: WatcherMoment {
                    watcher: self.id,
                    position: reports.position(),
                },
                reported: self.reported(message.memory).filter(|_| is_here),
            }),
            MessageKind::Confirmation(moment) => {
                if is_here && moment.watcher == self.id && self.id != 0 {
                    self.confirm(message.memory, moment.position);
                }
                None
            }
        }
    }

    /// Positions of the directories of a memory that may have changed since it was confirmed.
    fn reported(&self, memory: u64) -> Option<Vec<u32>> {
        let reports = self.reports.as_ref()?;
        let confirmed = self.confirmed.as_ref()?;
        if confirmed.memory != memory || confirmed.losses != reports.losses() {
            return None;
        }
        let may_have_changed = |at: Option<usize>| at.is_none_or(|at| reports.may_have_changed(at, confirmed.position));
        let all = (0..).zip(&confirmed.directories);
        let changed = all.filter(|(_, (_, at))| may_have_changed(*at));
        Some(changed.map(|(number, _)| number).collect())
    }

    /// Believes a memory from that position on, and watches its directories.
    fn confirm(&mut self, memory: u64, position: u64) {
        let Some(directories) = remembered_directories(&self.cache, memory) else {
            return;
        };
        let path = |path: &[u8]| match path.strip_suffix(b"/") {
            Some(path) => self.root.join(os::os_string(path)),
            None => self.root.clone(),
        };
        // Most are those of the memory before, which has them in the same order.
        let losses = self.reports.as_ref().map(Reports::losses);
        let before = self.confirmed.take();
        let before = before.filter(|before| Some(before.losses) == losses);
        let mut before = before
            .map_or_else(Vec::new, |before| before.directories)
            .into_iter()
            .peekable();
        let (mut numbers, mut missing) = (Vec::with_capacity(directories.len()), Vec::new());
        for directory in &directories {
            while before.next_if(|(path, _)| path < directory).is_some() {}
            let number = before
                .next_if(|(path, _)| path == directory)
                .and_then(|(_, number)| number);
            let number = number.filter(|at| self.reports.as_ref().is_some_and(|reports| reports.is_watched(*at)));
            if number.is_none() {
                missing.push(path(directory));
            }
            numbers.push(number);
        }
        if !missing.is_empty() && self.watch(&missing).is_err() {
            return;
        }
        let Some(reports) = &self.reports else { return };
        // The numbers are good for nothing if reports were lost meanwhile.
        if losses.is_some_and(|losses| losses != reports.losses()) {
            return;
        }
        let mut missing = missing.iter();
        for number in numbers.iter_mut().filter(|number| number.is_none()) {
            *number = missing.next().and_then(|path| reports.find(path));
        }
        self.confirmed = Some(ConfirmedMemory {
            memory,
            position: position.min(reports.position()),
            directories: directories.into_iter().zip(numbers).collect(),
            losses: reports.losses(),
        });
    }
}

/// The reports for a moment.
pub(super) fn lock(tree: &Mutex<WatchedTree>) -> MutexGuard<'_, WatchedTree> {
    tree.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread that answers until this is dropped.
#[derive(Debug)]
pub(super) struct WatchAnswers {
    directory: PathBuf,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl WatchAnswers {
    /// Begins to answer, in the directory of the cache. The caller has the lock of the watcher: there is no other one.
    /// `None` where that cannot be done: then all look themselves.
    pub(super) fn start(tree: &Arc<Mutex<WatchedTree>>) -> Option<Self> {
        let directory = lock(tree).cache.parent()?.to_owned();
        let listener = LocalListener::bind(&directory, watcher::SOCKET).ok()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let (tree, over) = (Arc::clone(tree), Arc::clone(&is_over));
        let thread = std::thread::Builder::new()
            .spawn(move || answer_all(&listener, &tree, &over))
            .ok()?;
        Some(Self {
            directory,
            is_over,
            thread: Some(thread),
        })
    }
}

impl Drop for WatchAnswers {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread. If it cannot be, it ends a moment later.
        let _ = os::connect_local(&self.directory, watcher::SOCKET, watcher::WAIT);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer_all(listener: &LocalListener, tree: &Mutex<WatchedTree>, is_over: &AtomicBool) {
    let mut is_pausing = false;
    while !is_over.load(Ordering::Relaxed) {
        let queue = if is_pausing {
            None
        } else {
            lock(tree).reports.as_ref().and_then(Reports::queue)
        };
        let (is_asked, is_reported) = listener.wait(queue.as_ref(), if is_pausing { PAUSE } else { IDLE });
        is_pausing = is_reported;
        if is_reported {
            lock(tree).drain();
        }
        while let Some(mut stream) = Some(())
            .filter(|()| is_asked)
            .and_then(|()| listener.accept(watcher::WAIT))
        {
            answer_one(&mut stream, tree);
        }
    }
}

fn answer_one(stream: &mut LocalStream, tree: &Mutex<WatchedTree>) {
    if let Some(message) = WatcherMessage::receive(stream) {
        let answer = lock(tree).answer(&message);
        // One that went away does not need it.
        let _ = answer.and_then(|answer| answer.send(stream));
    }
}
