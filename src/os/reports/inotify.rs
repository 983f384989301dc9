//! Change reports of Linux.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::mem::MaybeUninit;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::{MOST_FOLDERS, WatchError};
use crate::os::system;

/// Everything that can change what a look at a directory finds, and the opening of files.
const WATCHED: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::OPEN)
    .union(WatchFlags::CLOSE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    // A file without a name is nobody's.
    .union(WatchFlags::EXCL_UNLINK)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);

const CHANGES: ReadFlags = ReadFlags::MODIFY
    .union(ReadFlags::ATTRIB)
    .union(ReadFlags::CLOSE_WRITE)
    .union(ReadFlags::MOVED_FROM)
    .union(ReadFlags::MOVED_TO)
    .union(ReadFlags::CREATE)
    .union(ReadFlags::DELETE);

/// After these it is not known any more which directory is where. A moved directory has others in it, whose paths are
/// other ones now.
const LOSSES: ReadFlags = ReadFlags::QUEUE_OVERFLOW
    .union(ReadFlags::UNMOUNT)
    .union(ReadFlags::MOVE_SELF);

/// Room for some thousand reports at a time.
const ROOM: usize = 64 << 10;
/// The most files of which it is known that they left a directory and not yet where to.
const MOVING: usize = 4096;

/// Reports of changes in some directories, with the order in which they came.
#[derive(Debug)]
pub struct Reports {
    queue: OwnedFd,
    /// The mounts of this process: it is ready when one came or went.
    mounts: File,
    /// The directory that all others are in, and its device and number.
    root: PathBuf,
    identity: (u64, u64),
    slots: Vec<Slot>,
    by_path: BTreeMap<PathBuf, usize>,
    by_watch: HashMap<i32, usize>,
    /// How often each file was opened and not closed yet.
    open: HashMap<(usize, Box<[u8]>), u32>,
    /// The same of files on the way from one name to another.
    moving: HashMap<u32, u32>,
    /// Directories of files that may have been open for writing before they were watched.
    held: HashSet<usize>,
    /// The number of the last report or new watch.
    position: u64,
    changes: u64,
    losses: u64,
}

/// A watched directory.
#[derive(Debug)]
struct Slot {
    path: PathBuf,
    watch: i32,
    /// From which position on it is watched; none when it is not any more.
    since: Option<u64>,
    /// Position of its last change.
    changed: u64,
    /// How many files in it are open.
    open: usize,
}

impl Reports {
    /// Reports of the directory `root` alone, for the beginning.
    pub fn of(root: &Path) -> Result<Self, WatchError> {
        let mut reports = Self {
            queue: queue()?,
            mounts: File::open("/proc/self/mountinfo").map_err(|_| WatchError::Refused)?,
            root: root.to_owned(),
            identity: (0, 0),
            slots: Vec::new(),
            by_path: BTreeMap::new(),
            by_watch: HashMap::new(),
            open: HashMap::new(),
            moving: HashMap::new(),
            held: HashSet::new(),
            position: 0,
            changes: 0,
            losses: 0,
        };
        reports.watch_root()?;
        Ok(reports)
    }

    fn watch_root(&mut self) -> Result<(), WatchError> {
        if !self.by_path.contains_key(&self.root) {
            let root = self.root.clone();
            self.add(&root)?.ok_or(WatchError::Refused)?;
            self.identity = identity(&root).ok_or(WatchError::Refused)?;
        }
        Ok(())
    }

    /// Begins to watch those of the directories, all in the root, that are not watched yet, each after the one that it
    /// is in: none can be exchanged unseen. What happens from the return on is reported. One that is not there is left
    /// out: that it comes is reported by the directory that it is in.
    pub fn watch(&mut self, directories: &[PathBuf]) -> Result<(), WatchError> {
        let (limit, first) = (limit(), self.slots.len());
        self.watch_root()?;
        for directory in directories {
            if directories.len().max(self.by_path.len()) > limit {
                return Err(WatchError::TooMany);
            }
            self.add_with_parents(directory)?;
        }
        if self.slots.len() > first {
            self.find_held();
        }
        Ok(())
    }

    fn add_with_parents(&mut self, directory: &Path) -> Result<Option<usize>, WatchError> {
        if let Some(at) = self.by_path.get(directory) {
            return Ok(Some(*at));
        }
        let Some(above) = directory.parent().filter(|above| above.starts_with(&self.root)) else {
            return Ok(None);
        };
        match self.add_with_parents(above)? {
            Some(_) => self.add(directory),
            None => Ok(None),
        }
    }

    fn add(&mut self, directory: &Path) -> Result<Option<usize>, WatchError> {
        if let Some(at) = self.by_path.get(directory) {
            return Ok(Some(*at));
        }
        let added = inotify::add_watch(&self.queue, directory, WATCHED);
        let watched = added.and_then(|watch| Ok((watch, rustix::fs::statfs(directory)?)));
        let (watch, system) = match watched {
            Ok(watched) => watched,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(_) => return Err(WatchError::Refused),
        };
        // All others (network, FUSE, overlays) are looked through.
        if !system::is_local(&system) {
            return Err(WatchError::FileSystem);
        }
        // One directory at two places: its reports cannot say of which one they are.
        if self.by_watch.contains_key(&watch) {
            return Ok(None);
        }
        let at = self.slots.len();
        self.position += 1;
        self.slots.push(Slot {
            path: directory.to_owned(),
            watch,
            since: Some(self.position),
            changed: 0,
            open: 0,
        });
        self.by_path.insert(directory.to_owned(), at);
        self.by_watch.insert(watch, at);
        Ok(Some(at))
    }

    /// Takes in what was reported until now.
    pub fn drain(&mut self) {
        let mut is_lost = self.has_other_mounts();
        let queue = self.queue.try_clone();
        let mut room = vec![MaybeUninit::uninit(); ROOM];
        if let Ok(queue) = &queue {
            let mut reader = inotify::Reader::new(queue, &mut room);
            while !is_lost {
                match reader.next() {
                    Ok(event) => is_lost = self.take(&event).is_none(),
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => break,
                    Err(_) => is_lost = true,
                }
            }
        }
        if self.moving.len() > MOVING {
            self.moving.clear();
        }
        if is_lost || queue.is_err() {
            self.forget();
        }
    }

    /// Takes in a report. `None` if it is not known any more which directory is where.
    fn take(&mut self, event: &inotify::Event<'_>) -> Option<()> {
        let events = event.events();
        if events.intersects(LOSSES) {
            return None;
        }
        let Some(at) = self.by_watch.get(&event.wd()).copied() else {
            return Some(());
        };
        if events.intersects(ReadFlags::DELETE_SELF | ReadFlags::IGNORED) {
            self.remove(at);
            return Some(());
        }
        if let (Some(name), false) = (event.file_name(), events.contains(ReadFlags::ISDIR)) {
            self.take_name(at, name.to_bytes(), events, event.cookie());
        }
        if events.intersects(CHANGES) {
            self.position += 1;
            self.changes += 1;
            self.slots[at].changed = self.position;
        }
        Some(())
    }

    /// Notes which files are open, under which names.
    fn take_name(&mut self, at: usize, name: &[u8], events: ReadFlags, cookie: u32) {
        let file = (at, Box::from(name));
        let before = self.open.get(&file).copied().unwrap_or(0);
        let now = if events.contains(ReadFlags::OPEN) {
            before + 1
        } else if events.intersects(ReadFlags::CLOSE_WRITE | ReadFlags::CLOSE_NOWRITE) {
            before.saturating_sub(1)
        } else if events.contains(ReadFlags::MOVED_FROM) {
            self.moving.insert(cookie, before);
            0
        } else if events.contains(ReadFlags::MOVED_TO) {
            let moved = self.moving.remove(&cookie);
            if moved.is_none() {
                // It may be open in the place that it came from.
                self.held.insert(at);
            }
            moved.unwrap_or(0)
        } else if events.contains(ReadFlags::DELETE) {
            0
        } else {
            before
        };
        let slot = &mut self.slots[at];
        match (before, now) {
            (0, 0) => {}
            (_, 0) => {
                self.open.remove(&file);
                slot.open -= 1;
            }
            (_, now) => {
                self.open.insert(file, now);
                slot.open += usize::from(before == 0);
            }
        }
    }

    /// Stops watching a directory that went away, and those that were in it.
    fn remove(&mut self, at: usize) {
        self.position += 1;
        self.changes += 1;
        let gone = std::mem::take(&mut self.slots[at].path);
        let below = self.by_path.range(gone.clone()..);
        let below: Vec<_> = below
            .take_while(|(path, _)| path.starts_with(&gone))
            .map(|(path, at)| (path.clone(), *at))
            .collect();
        for (path, at) in below {
            let slot = &mut self.slots[at];
            slot.since = None;
            if std::mem::take(&mut slot.open) > 0 {
                self.open.retain(|(of, _), _| *of != at);
            }
            self.by_path.remove(&path);
            self.by_watch.remove(&slot.watch);
            // It is gone already, but where a directory of that name took its place.
            let _ = inotify::remove_watch(&self.queue, slot.watch);
        }
    }

    /// Watches nothing any more.
    fn forget(&mut self) {
        self.position += 1;
        self.changes += 1;
        self.losses += 1;
        self.slots.clear();
        self.by_path.clear();
        self.by_watch.clear();
        self.open.clear();
        self.moving.clear();
        self.held.clear();
        // Without a new one the next try to watch fails, as the old one knows these directories.
        if let Ok(queue) = queue() {
            self.queue = queue;
        }
    }

    fn has_other_mounts(&self) -> bool {
        let mut mounts = [PollFd::new(&self.mounts, PollFlags::PRI)];
        poll(&mut mounts, Some(&Timespec::default())).map_or(true, |ready| ready > 0)
    }

    /// How many changes were reported.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// How often reports were lost, and all directories with them.
    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// The number of the last report.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether a directory is watched, and was at that position.
    pub fn was_watched(&self, directory: &Path, position: u64) -> bool {
        let since = self.find(directory).and_then(|at| self.slots[at].since);
        since.is_some_and(|since| since <= position)
    }

    /// Number of a directory, if it is watched. It is good until reports are lost.
    pub fn find(&self, directory: &Path) -> Option<usize> {
        self.by_path.get(directory).copied()
    }

    /// Whether the directory of this number is still watched.
    pub fn is_watched(&self, at: usize) -> bool {
        self.slots.get(at).is_some_and(|slot| slot.since.is_some())
    }

    /// Whether the directory of this number may have changed since that position.
    pub fn may_have_changed(&self, at: usize, position: u64) -> bool {
        let is_as_it_was = |slot: &Slot| {
            slot.since.is_some_and(|since| since <= position) && slot.changed <= position && slot.open == 0
        };
        !self.slots.get(at).is_some_and(is_as_it_was) || self.held.contains(&at)
    }

    /// Whether a file is open in a watched directory, through which it may change without a report.
    pub fn has_open_files(&self) -> bool {
        !self.open.is_empty() || !self.held.is_empty()
    }

    /// Device and number of the root, if it is still where it was.
    pub fn root(&self) -> Option<(u64, u64)> {
        let is_watched = self.by_path.contains_key(&self.root);
        identity(&self.root).filter(|now| is_watched && *now == self.identity)
    }

    /// What is ready to be read when there are reports.
    pub fn queue(&self) -> Option<OwnedFd> {
        self.queue.try_clone().ok()
    }

    /// Looks up which files in the watched directories are open for writing by processes whose files this user may see.
    pub fn find_held(&mut self) {
        let files = crate::os::open_files::open_for_writing(&self.root);
        let directories = files.iter().filter_map(|file| self.by_path.get(file.parent()?));
        self.held = directories.copied().collect();
    }
}

fn queue() -> Result<OwnedFd, WatchError> {
    inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(|_| WatchError::Refused)
}

fn identity(directory: &Path) -> Option<(u64, u64)> {
    let meta = fs::symlink_metadata(directory).ok()?;
    Some((meta.dev(), meta.ino()))
}

/// Half of what the system allows a user leaves enough for editors and build tools.
fn limit() -> usize {
    let allowed = fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok();
    let allowed: Option<usize> = allowed.and_then(|text| text.trim().parse().ok());
    MOST_FOLDERS.min(allowed.map_or(0, |allowed| allowed / 2))
}

/// What identifies the namespace of mounts of this process: in another one a path may lead elsewhere.
pub fn mount_scope() -> Option<(u64, u64)> {
    let meta = fs::metadata("/proc/self/ns/mnt").ok()?;
    Some((meta.dev(), meta.ino()))
}
