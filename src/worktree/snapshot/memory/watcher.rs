//! Questions to the watcher of the working tree: in which directories of the memory something may have happened.
//!
//! The watcher counts the reports of the system. An answer has the number of the last one at that moment; a snapshot that
//! was taken after the answer sends the number back with the checksum of the memory that it made or found confirmed. From
//! then on the watcher can say which directories of that memory had reports since. An answer counts only if it came in
//! time, from the same user, for the same working tree and the same mounts; everything else is as if there were no
//! watcher. Both sides may be other versions of the program: the first bytes are the version of these messages.

use std::path::Path;
use std::time::Duration;

use super::{MemoryHead, SnapshotMemory, place};
use crate::os::dir::Meta;
use crate::os::{self, LocalStream};
use crate::worktree::snapshot::cache::ByteReader;

/// The name of the socket, next to the cache.
pub const SOCKET: &str = "watch.socket";
/// How long both sides wait.
pub const WAIT: Duration = Duration::from_millis(20);
/// How long a snapshot waits more for each directory of its memory: less than a look at one takes.
const MORE: Duration = Duration::from_micros(5);

/// First bytes of a message: its kind and the version of its form.
const MAGIC: &[u8; 8] = b"gcpwtch\x01";
/// The bytes of a message from a snapshot.
const SIZE: usize = 8 + 1 + 7 * 8;

/// What a snapshot has to say to the watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatcherMessage {
    /// The kind.
    pub kind: MessageKind,
    /// Checksum that identifies the memory; 0 where there is none.
    pub memory: u64,
    /// Device and number of the working tree's root.
    pub root: (u64, u64),
    /// The namespace of mounts, by device and number.
    pub mounts: (u64, u64),
}

/// Subject of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Which directories of this memory had reports?
    Question,
    /// This memory is how the files were after that answer.
    Confirmation(WatcherMoment),
}

/// The moment of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatcherMoment {
    /// A number by chance that this watcher has and no other.
    pub watcher: u64,
    /// The number of the last report.
    pub position: u64,
}

/// Answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatcherAnswer {
    /// When it was given.
    pub moment: WatcherMoment,
    /// Positions of the directories of the memory that may have changed, in their order; `None` if that is not known.
    pub reported: Option<Vec<u32>>,
}

impl WatcherMessage {
    /// Sends it to the watcher whose socket is next to this cache, to be answered within `wait`. `None` if there is none.
    pub fn send(&self, cache: &Path, wait: Duration) -> Option<LocalStream> {
        let mut stream = os::connect_local(cache.parent()?, SOCKET, wait)?;
        let (kind, moment) = match self.kind {
            MessageKind::Question => (0, [0, 0]),
            MessageKind::Confirmation(moment) => (1, [moment.watcher, moment.position]),
        };
        let mut bytes = MAGIC.to_vec();
        bytes.push(kind);
        let (root, mounts) = (self.root, self.mounts);
        for number in [self.memory, root.0, root.1, mounts.0, mounts.1]
            .into_iter()
            .chain(moment)
        {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        stream.send(&bytes)?;
        Some(stream)
    }

    /// Sends it, and gives the answer to it about a memory with so many directories.
    pub fn ask(&self, cache: &Path, count: u32) -> Option<WatcherAnswer> {
        WatcherAnswer::receive(&mut self.send(cache, WAIT + MORE * count)?, count)
    }

    /// Reads one.
    pub fn receive(stream: &mut LocalStream) -> Option<Self> {
        let mut bytes = [0; SIZE];
        stream.receive(&mut bytes)?;
        let mut at = ByteReader { bytes: &bytes, at: 0 };
        if at.take(MAGIC.len())? != MAGIC {
            return None;
        }
        let kind = at.take(1)?[0];
        let memory = at.u64()?;
        let root = (at.u64()?, at.u64()?);
        let mounts = (at.u64()?, at.u64()?);
        let moment = WatcherMoment {
            watcher: at.u64()?,
            position: at.u64()?,
        };
        let kind = match kind {
            0 => MessageKind::Question,
            1 => MessageKind::Confirmation(moment),
            _ => return None,
        };
        Some(Self {
            kind,
            memory,
            root,
            mounts,
        })
    }
}

impl WatcherAnswer {
    /// Sends it.
    pub fn send(&self, stream: &mut LocalStream) -> Option<()> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(u8::from(self.reported.is_some()));
        for number in [self.moment.watcher, self.moment.position] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let reported = self.reported.as_deref().unwrap_or_default();
        bytes.extend_from_slice(&u32::try_from(reported.len()).ok()?.to_le_bytes());
        bytes.extend(reported.iter().flat_map(|position| position.to_le_bytes()));
        stream.send(&bytes)
    }

    /// Reads one about a memory with so many directories.
    fn receive(stream: &mut LocalStream, count: u32) -> Option<Self> {
        let mut bytes = [0; 8 + 1 + 8 + 8 + 4];
        stream.receive(&mut bytes)?;
        let mut at = ByteReader { bytes: &bytes, at: 0 };
        if at.take(MAGIC.len())? != MAGIC {
            return None;
        }
        let is_known = at.take(1)? != [0];
        let moment = WatcherMoment {
            watcher: at.u64()?,
            position: at.u64()?,
        };
        let len = Some(at.u32()?).filter(|len| *len <= count)?;
        let mut bytes = vec![0; len as usize * 4];
        stream.receive(&mut bytes)?;
        let reported: Vec<_> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|four| u32::from_le_bytes(*four))
            .collect();
        let is_sound = reported.is_sorted() && reported.iter().all(|position| *position < count) && stream.is_over();
        is_sound.then_some(Self {
            moment,
            reported: is_known.then_some(reported),
        })
    }
}

/// What the watcher says to a snapshot.
pub(in crate::worktree::snapshot) struct WatcherWord<'a> {
    cache: &'a Path,
    question: WatcherMessage,
    answer: WatcherAnswer,
}

impl<'a> WatcherWord<'a> {
    /// Asks the watcher, before any file is looked at. `None` if none answers.
    pub(in crate::worktree::snapshot) fn ask(cache: &'a Path, root: &Meta, memory: &SnapshotMemory) -> Option<Self> {
        let question = WatcherMessage {
            kind: MessageKind::Question,
            memory: memory.sum().unwrap_or_default(),
            root: (root.dev, root.ino),
            mounts: os::mount_scope()?,
        };
        Some(Self {
            cache,
            question,
            answer: question.ask(cache, memory.count())?,
        })
    }

    /// Positions of the directories that may have changed, in their order; `None` if that is not known.
    pub(in crate::worktree::snapshot) fn reported(&self) -> Option<&[u32]> {
        self.answer.reported.as_deref()
    }

    /// Says that the memory with this checksum is how the files were after the answer. That it arrives is not waited for.
    pub(in crate::worktree::snapshot) fn confirm(&self, memory: u64) {
        let message = WatcherMessage {
            kind: MessageKind::Confirmation(self.answer.moment),
            memory,
            ..self.question
        };
        let _ = message.send(self.cache, WAIT);
    }
}

/// The paths of the directories in the memory next to the cache of this path, with a slash at the end but for the root, if
/// it has this checksum: what the watcher has to watch.
pub fn remembered_directories(cache: &Path, memory: u64) -> Option<Vec<Vec<u8>>> {
    let head = MemoryHead::read(os::open_regular(&place(cache)).ok()?)?;
    if head.sum != memory || head.elsewhere {
        return None;
    }
    let (second, directories) = head.directories()?;
    let paths = directories.iter().map(|place| second[place.path.clone()].to_vec());
    Some(paths.collect())
}
