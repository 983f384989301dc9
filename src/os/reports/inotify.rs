//! Change reports of Linux.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::doubts::{Doubts, SettledChanges};
use super::open_names::{FileName, OpenNames};
use super::{MOST_DIRECTORIES, OpenFiles, WatchError};
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
    open: OpenNames,
    doubts: Doubts,
    /// Directories where names came that may be further ones of a file, with the position of the last one.
    arrivals: HashMap<usize, u64>,
    /// Whether all of these are in doubt already, also about what is not reported.
    are_arrivals_doubted: bool,
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
            open: OpenNames::default(),
            doubts: Doubts::default(),
            arrivals: HashMap::new(),
            are_arrivals_doubted: false,
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
            // Files may be open in them, and every file may have further names.
            for at in first..self.slots.len() {
                self.doubts.raise(at, false);
                self.arrivals.insert(at, self.position);
            }
            self.are_arrivals_doubted = false;
            self.settle_doubts();
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

    /// Notes which files are open, under which names, and what is not known of them.
    fn take_name(&mut self, at: usize, name: &[u8], events: ReadFlags, cookie: u32) {
        let file = (at, Box::from(name));
        if events.contains(ReadFlags::OPEN) {
            self.open.opened(file);
            self.doubts.raise(at, false);
        } else if events.intersects(ReadFlags::CLOSE_WRITE | ReadFlags::CLOSE_NOWRITE) {
            self.open.closed(file);
            // It may have been the one that was found open.
            if self.doubts.is_held(at) {
                self.doubts.raise(at, false);
            }
        } else if events.contains(ReadFlags::CREATE) {
            self.open.created(&file);
            self.take_arrival(at);
        } else if events.contains(ReadFlags::MOVED_FROM) {
            self.open.left(file, cookie);
        } else if events.contains(ReadFlags::MOVED_TO) {
            let exists = |(at, name): &FileName| {
                let directory = self.slots.get(*at).map(|slot| &slot.path);
                directory.is_some_and(|directory| directory.join(OsStr::from_bytes(name)).symlink_metadata().is_ok())
            };
            let was_open = self.open.came(file, cookie, exists);
            self.lose_name(at, was_open);
            self.take_arrival(at);
        } else if events.contains(ReadFlags::DELETE) {
            let was_open = self.open.deleted(file);
            self.lose_name(at, was_open);
        }
    }

    /// A name came: it may be a further one of a file that is open.
    fn take_arrival(&mut self, at: usize) {
        self.doubts.raise(at, true);
        self.arrivals.insert(at, self.position + 1);
    }

    /// A file in this directory lost its name while it was open, or may have been: from now on nothing is reported of it
    /// under its further names.
    fn lose_name(&mut self, at: usize, was_open: bool) {
        if (was_open || self.doubts.has(at)) && !self.are_arrivals_doubted {
            for at in self.arrivals.keys() {
                self.doubts.raise(*at, true);
            }
            self.are_arrivals_doubted = true;
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
            self.open.forget(at);
            self.doubts.forget(at);
            self.arrivals.remove(&at);
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
        self.open = OpenNames::default();
        self.doubts.forget_all();
        self.arrivals.clear();
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
        let is_as_it_was = |slot: &Slot| slot.since.is_some_and(|since| since <= position) && slot.changed <= position;
        !self.slots.get(at).is_some_and(is_as_it_was) || self.open.has_any(at) || self.doubts.has(at)
    }

    /// Whether a file is open in a watched directory, or may be, through which it may change without a report.
    pub fn has_open_files(&self) -> bool {
        !self.open.is_empty() || !self.doubts.is_empty()
    }

    /// Whether a look at the files that are open could settle a doubt.
    pub fn has_doubts(&self) -> bool {
        self.doubts.has_raised()
    }

    /// Whether a file is open of which a further name may be in any directory. Its end is not reported.
    pub fn is_held_everywhere(&self) -> bool {
        self.doubts.is_held_everywhere()
    }

    /// Doubts that everything is as it was reported: a file with several names may be open, some of which are gone.
    pub fn doubt_all(&mut self) {
        for at in 0..self.slots.len() {
            if self.is_watched(at) {
                self.doubts.raise(at, true);
            }
        }
    }

    /// Notes that at that position no file in the watched directories had a further name.
    pub fn had_single_names(&mut self, position: u64) {
        self.arrivals.retain(|_, at| *at > position);
    }

    /// Moment of a look at the open files that begins now.
    pub fn doubt_moment(&mut self) -> u64 {
        // A doubt that was raised again is settled by a later look alone.
        self.are_arrivals_doubted = false;
        self.doubts.moment()
    }

    /// Settles the doubts until that moment with a look at the open files that began after it.
    pub fn settle(&mut self, moment: u64, open: &OpenFiles) {
        let directories = open.files.iter().filter_map(|file| self.by_path.get(file.parent()?));
        let held = (directories.copied().collect(), open.has_other_names);
        let changed = match self.doubts.settle(moment, held) {
            SettledChanges::Some(changed) if changed.is_empty() => return,
            SettledChanges::Some(changed) => changed,
            SettledChanges::All => (0..self.slots.len()).collect(),
        };
        self.position += 1;
        self.changes += 1;
        for at in changed {
            self.slots[at].changed = self.position;
        }
    }

    /// Looks up which files in the watched directories are open for writing by processes whose files this user may see.
    pub fn settle_doubts(&mut self) {
        let moment = self.doubt_moment();
        self.settle(moment, &OpenFiles::find(&self.root));
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
    MOST_DIRECTORIES.min(allowed.map_or(0, |allowed| allowed / 2))
}

/// What identifies the namespace of mounts of this process: in another one a path may lead elsewhere.
pub fn mount_scope() -> Option<(u64, u64)> {
    let meta = fs::metadata("/proc/self/ns/mnt").ok()?;
    Some((meta.dev(), meta.ino()))
}
