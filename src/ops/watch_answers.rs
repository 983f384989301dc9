//! Answers of a watcher to the snapshots of other processes: in which directories something was reported since the files
//! were as their memory says.
//!
//! A snapshot confirms the memory that it made or compared with the number of the last report before it began. So every
//! directory that was watched by then and had no report since is as that memory says; all others are named in the answer.
//! A snapshot that is not answered, for whatever reason, looks at all files. The watcher itself stops to answer before each
//! of its own full looks, and takes that look's confirmation as any other: what no report covers (`os::reports`) is found
//! then at the latest.
//!
//! A second thread settles doubts about open files, which takes longer than a snapshot waits: until then it looks itself at
//! the directories in doubt.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use crate::os::{self, LocalListener, LocalStream, OpenFiles, Reports, WatchError};
use crate::worktree::snapshot::watcher::{
    self, MessageKind, WatcherAnswer, WatcherMessage, WatcherMoment, remembered_directories,
};

/// The time from one look at the reports to the next: they come in numbers, and the system keeps thousands.
const PAUSE: Duration = Duration::from_millis(10);
/// How long nothing is looked at when nothing comes.
const IDLE: Duration = Duration::from_secs(1);
/// How long no directory is watched after one could not be.
const RETRY: Duration = Duration::from_secs(60);
/// The share of the time that looks at the open files may take is one in this many: a part of what watching may take.
const SHARE: u32 = 200;
/// The time until it is looked again whether a file is closed whose end is not reported.
const AGAIN: Duration = Duration::from_secs(5);

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
    /// Whether the last snapshot said that something in the directories can change without a trace in them.
    is_unsure: bool,
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
            is_unsure: false,
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
    }

    /// The moment of the doubts about open files; `None` if there are none.
    fn doubt_moment(&mut self, all: bool) -> Option<u64> {
        self.drain();
        let reports = self.reports.as_mut()?;
        (reports.has_doubts() || all && reports.has_open_files()).then(|| reports.doubt_moment())
    }

    fn is_held_everywhere(&self) -> bool {
        self.reports.as_ref().is_some_and(Reports::is_held_everywhere)
    }

    fn settle(&mut self, moment: u64, open: &OpenFiles) {
        self.drain();
        if let Some(reports) = &mut self.reports {
            reports.settle(moment, open);
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
            MessageKind::Question => {
                let answer = WatcherAnswer {
                    moment: WatcherMoment {
                        watcher: self.id,
                        position: reports.position(),
                    },
                    reported: self.reported(message.memory).filter(|_| is_here),
                };
                self.is_unsure |= message.memory == 0;
                Some(answer)
            }
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
        // No file has a further name any more: one that had may be open under it.
        if let (Some(reports), true) = (&mut self.reports, std::mem::take(&mut self.is_unsure)) {
            reports.doubt_all();
        }
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
        let Some(reports) = &mut self.reports else { return };
        // The numbers are good for nothing if reports were lost meanwhile.
        if losses.is_some_and(|losses| losses != reports.losses()) {
            return;
        }
        let mut missing = missing.iter();
        for number in numbers.iter_mut().filter(|number| number.is_none()) {
            *number = missing.next().and_then(|path| reports.find(path));
        }
        let position = position.min(reports.position());
        reports.had_single_names(position);
        self.confirmed = Some(ConfirmedMemory {
            memory,
            position,
            directories: directories.into_iter().zip(numbers).collect(),
            losses: reports.losses(),
        });
    }
}

/// The reports for a moment.
pub(super) fn lock(tree: &Mutex<WatchedTree>) -> MutexGuard<'_, WatchedTree> {
    tree.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at the files that processes have open, if there are doubts that this can settle; with `all`, also if files were
/// found open before. Gives how long it took.
pub(super) fn settle_doubts(tree: &Mutex<WatchedTree>, all: bool) -> Option<Duration> {
    let (moment, root) = {
        let mut tree = lock(tree);
        (tree.doubt_moment(all)?, tree.root.clone())
    };
    // A file is reported as open before the process has it.
    std::thread::sleep(PAUSE);
    let begun = Instant::now();
    let open = OpenFiles::find(&root);
    lock(tree).settle(moment, &open);
    Some(begun.elapsed())
}

/// Threads that answer until this is dropped.
#[derive(Debug)]
pub(super) struct WatchAnswers {
    directory: PathBuf,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl WatchAnswers {
    /// Begins to answer, in the directory of the cache. The caller has the lock of the watcher: there is no other one.
    /// `None` where that cannot be done: then all look themselves.
    pub(super) fn start(tree: &Arc<Mutex<WatchedTree>>) -> Option<Self> {
        let directory = lock(tree).cache.parent()?.to_owned();
        let listener = LocalListener::bind(&directory, watcher::SOCKET).ok()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let mut answers = Self {
            directory,
            is_over: Arc::clone(&is_over),
            threads: Vec::new(),
        };
        let (doubted, over) = (Arc::clone(tree), Arc::clone(&is_over));
        let settling = std::thread::Builder::new()
            .spawn(move || settle_all(&doubted, &over))
            .ok()?;
        let doubts = settling.thread().clone();
        answers.threads.push(settling);
        let tree = Arc::clone(tree);
        let answering = std::thread::Builder::new()
            .spawn(move || answer_all(&listener, &tree, &is_over, &doubts))
            .ok()?;
        answers.threads.push(answering);
        Some(answers)
    }
}

impl Drop for WatchAnswers {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the threads. One that cannot be woken ends a moment later.
        let _ = os::connect_local(&self.directory, watcher::SOCKET, watcher::WAIT);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Settles doubts about open files, as far as that does not take more than its share of the time.
fn settle_all(tree: &Mutex<WatchedTree>, is_over: &AtomicBool) {
    let (mut next, mut is_held) = (Instant::now(), false);
    while !is_over.load(Ordering::Relaxed) {
        let rest = next.saturating_duration_since(Instant::now());
        if !rest.is_zero() {
            std::thread::park_timeout(rest);
        } else if let Some(took) = settle_doubts(tree, is_held) {
            is_held = lock(tree).is_held_everywhere();
            next = Instant::now() + (took * SHARE).max(if is_held { AGAIN } else { PAUSE });
        } else {
            std::thread::park();
        }
    }
}

fn answer_all(listener: &LocalListener, tree: &Mutex<WatchedTree>, is_over: &AtomicBool, doubts: &Thread) {
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
            doubts.unpark();
        }
        while let Some(mut stream) = Some(())
            .filter(|()| is_asked)
            .and_then(|()| listener.accept(watcher::WAIT))
        {
            answer_one(&mut stream, tree);
            doubts.unpark();
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
