//! The walk over the working tree: every directory once, on a few threads, compared with its stretch of the index.
//!
//! The walk decides by names and stat data only. What it cannot decide without reading a file becomes a [`FileToRead`]
//! for later, so that limits on the size of untracked files can be applied to all of them in the order of their paths.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gix::bstr::ByteSlice;
use gix::index::Entry;
use gix::index::entry::Mode as EntryMode;

use super::attributes::{Attributes, Matcher};
use super::cache::{Cache, CacheBuilder};
use super::directory::{ScanBuffers, Visit};
use super::ignore::{GlobalPatterns, IgnoreChain};
use super::index::GitIndex;
use super::lfs::Lfs;
use super::memory::{self, CacheScan};
use super::queue::Queue;
use super::reachable::TreeLookup;
use super::settings::SnapshotSettings;
use super::status::Tally;
use super::{Error, SnapshotRules};
use crate::model::list::{Lists, SkipReason, SkippedEntry};
use crate::model::path::RepoPath;
use crate::os;
use crate::os::dir::{Dir, DirNames, FileKind, Meta};
use crate::store::objects::Writer;
use crate::store::{ObjectId, Repository};

/// Directories that may be kept open for the directories below them, well below the limits on open files (256 on macOS, 1024 on
/// Linux); beyond that a directory is reached from the root again.
const OPEN_DIRECTORIES: usize = 64;
/// Waiting directories from which on further threads are worth their start.
const MANY: usize = 16;

/// Inputs shared by all walk threads.
pub(super) struct WalkContext<'a> {
    pub settings: &'a SnapshotSettings,
    pub index: &'a GitIndex,
    pub ignore: &'a GlobalPatterns,
    /// `checkpoint.exclude`.
    pub exclude: &'a GlobalPatterns,
    pub root: &'a Path,
    pub rules: &'a SnapshotRules<'a>,
    /// A digest of the rules, for cache keys.
    pub rules_digest: u64,
    /// Device and number of the repository's own directories, which may lie in the working tree under any name.
    pub own: &'a [(u64, u64)],
    pub cache: &'a Cache,
    /// Builder of the next cache; `None` keeps nothing.
    pub next: Option<&'a CacheBuilder>,
    /// The device whose directories change their times when names change.
    pub device: Option<u64>,
    /// Result of the comparison with the last snapshot.
    pub look: Option<&'a CacheScan<'a>>,
    /// Trust in cached trees of directories of untracked files; `None` if each file is examined.
    pub trusted: Option<TreeTrust<'a>>,
    pub lfs: &'a Lfs,
    /// Whether contents of git-lfs are kept for the checkpoint: not where nothing is stored.
    pub keeps: bool,
    /// Whether objects may be missing because they are on a remote (a partial clone).
    pub partial: bool,
    /// Index entries that must not be in a tree, sorted.
    pub left_out: &'a [usize],
    /// Directories open for those below them.
    pub open: Arc<AtomicUsize>,
    /// How the names of temporary files begin that an interrupted restore of this working tree left; it removes them.
    pub leftovers: Option<&'a [u8]>,
    /// Whether only what git calls changed is of interest, not whether unchanged files are what their blobs give.
    pub status_only: bool,
}

/// Where the tree of a directory may be relied on.
pub(super) struct TreeTrust<'a> {
    /// Trees that refs hold.
    pub roots: &'a [ObjectId],
    pub writer: &'a Writer,
}

/// A directory to be read.
pub(super) struct Task {
    pub id: u32,
    /// The number of the directory above; its own for the root.
    pub parent: u32,
    pub name: Box<[u8]>,
    /// The index entries below it.
    pub entries: Range<usize>,
    pub above: Arc<ParentContext>,
    pub mode: WalkMode,
    /// Whether `checkpoint.exclude` matches it, so that nothing untracked in it is taken.
    pub excluded: bool,
}

/// How a directory is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkMode {
    /// Listed and compared.
    Whole,
    /// Ignored, so only the tracked names in it are looked at.
    TrackedOnly,
    /// Not there; the index has entries below it of which some are not checked out (sparse).
    Absent,
}

/// Context that a directory inherits from its parent.
pub(super) struct ParentContext {
    /// `None` at the root and when too many are open.
    pub dir: Option<OpenDirectory>,
    /// Its path with a slash at the end, empty for the root.
    pub path: Vec<u8>,
    pub ignore: IgnoreChain,
    pub attributes: Arc<Attributes>,
}

/// A directory that is kept open, and counted.
pub(super) struct OpenDirectory {
    pub dir: Dir,
    open: Arc<AtomicUsize>,
}

impl Drop for OpenDirectory {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A directory that was read.
pub(super) struct ScannedDirectory {
    pub id: u32,
    pub parent: u32,
    pub name: Box<[u8]>,
    pub entries: Range<usize>,
    pub attributes: Arc<Attributes>,
    /// Names that are not as the index has them, in any order.
    pub changes: Vec<WalkChange>,
    /// Files that were read and are not as the index has them, as positions in the list of candidates.
    pub read: Vec<u32>,
    /// A digest of the unchanged files, under which the cache knows whether their blobs give these bytes. `None` if
    /// there are none, or they are candidates in any case.
    pub fingerprint: Option<u64>,
    /// Set if every file in it is untracked and taken.
    pub taken: Option<UntrackedTree>,
    pub mode: WalkMode,
    /// Cache record for the next snapshot, if any.
    pub seen: Option<memory::CachedDirectory>,
}

/// The files of a directory that has only untracked ones, none of them ignored or skipped.
pub(super) struct UntrackedTree {
    /// A digest of their names and stat data, and of all rules.
    pub fingerprint: u64,
    pub count: usize,
    /// Their bytes.
    pub size: u64,
    /// Cached tree of the directory, if it is unchanged; then its files are no candidates.
    pub tree: Option<ObjectId>,
    /// The marks of the packs that have its blobs; none before the first search.
    pub packs: Vec<u64>,
}

/// A name that is not as the index has it.
pub(super) struct WalkChange {
    pub name: Box<[u8]>,
    pub what: PathState,
}

/// State of a changed path.
#[derive(Debug, Clone, Copy)]
pub(super) enum PathState {
    /// Nothing that the index has there. There may be a directory with content of its own.
    Gone,
    /// An entry with a git file mode.
    Put { mode: u16, id: ObjectId },
}

/// A file or link that has to be read.
pub(super) struct FileToRead {
    pub directory: u32,
    pub path: Box<[u8]>,
    /// The index entry it is compared with.
    pub entry: Option<usize>,
    /// As the walk saw it.
    pub meta: Meta,
    pub why: ReadReason,
}

impl FileToRead {
    /// The path of its directory with a slash at the end, and its name.
    pub(super) fn parts(&self) -> (&[u8], &[u8]) {
        parts(&self.path)
    }
}

/// The path of a file's directory with a slash at the end, and the file's name. Files are brought into this order: it
/// needs the directories to be sorted only, since a directory's names are.
pub(super) fn parts(path: &[u8]) -> (&[u8], &[u8]) {
    path.split_at(path.rfind_byte(b'/').map_or(0, |slash| slash + 1))
}

/// Why a file has to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadReason {
    Untracked,
    /// Its stat data differs from the index, or says nothing.
    Changed,
    /// Unchanged for git; whether the blob gives these bytes on disk is to be seen.
    Clean,
}

/// Result of one walk thread.
#[derive(Default)]
pub(super) struct WalkResult {
    pub directories: Vec<ScannedDirectory>,
    /// The candidates of each directory that has any, in the order of their names.
    pub candidates: Vec<Vec<FileToRead>>,
    pub lists: Lists,
    pub tally: Tally,
    /// Submodules of the index that are checked out.
    pub submodules: Vec<Box<[u8]>>,
    /// Index entries on disk that have flags by which git would not look at them.
    pub flagged: Vec<usize>,
    /// How much was met that can change without a trace in the directories of the walk.
    pub elsewhere: usize,
}

impl WalkResult {
    pub(super) fn skip(&mut self, path: &[u8], reason: SkipReason) {
        self.lists.skipped.push(SkippedEntry::new(RepoPath::from(path), reason));
    }

    /// The same with the bytes that the file has.
    pub(super) fn skip_sized(&mut self, path: &[u8], reason: SkipReason, size: u64) {
        let path = RepoPath::from(path);
        let size = Some(size);
        self.lists.skipped.push(SkippedEntry { path, reason, size });
    }

    /// How much there is to say, next to what becomes of candidates.
    pub(super) fn noted(&self) -> usize {
        let lists = &self.lists;
        let listed = lists.modes.len() + lists.skipped.len() + lists.empty_dirs.len();
        listed + self.tally.count() + self.submodules.len() + self.flagged.len() + self.elsewhere
    }

    /// Lists the permission bits of a file if a checkout would give others.
    pub(super) fn note_mode(&mut self, ground: &WalkContext<'_>, path: &[u8], meta: &Meta, entry: Option<&Entry>) {
        if !ground.is_usual(meta, entry) {
            self.lists.modes.push((RepoPath::from(path), meta.mode));
        }
    }

    /// A working tree of which nothing can be seen is no state to save; a list could not even name it.
    fn check_root(&self, ground: &WalkContext<'_>) -> Result<(), Error> {
        if self
            .lists
            .skipped
            .iter()
            .all(|skipped| !skipped.path.as_bytes().is_empty())
        {
            return Ok(());
        }
        Err(Error::WorkTree {
            path: ground.root.to_owned(),
            source: std::io::Error::other("it can be opened, but not listed or not entered"),
        })
    }

    fn merge(&mut self, other: Self) {
        self.directories.extend(other.directories);
        self.candidates.extend(other.candidates);
        self.lists.modes.extend(other.lists.modes);
        self.lists.skipped.extend(other.lists.skipped);
        self.lists.empty_dirs.extend(other.lists.empty_dirs);
        self.tally.merge(other.tally);
        self.submodules.extend(other.submodules);
        self.flagged.extend(other.flagged);
        self.elsewhere += other.elsewhere;
    }
}

/// Walks the whole working tree on up to `threads` threads. Directories come sorted by their numbers.
pub(super) fn walk(
    repo: &Repository,
    ground: &WalkContext<'_>,
    attributes: Attributes,
    threads: usize,
) -> Result<WalkResult, Error> {
    let root = root(ground, attributes)?;
    let queue = Queue::new(root);
    let mut found = std::thread::scope(|scope| {
        let mut helpers = Vec::new();
        let mut found = work(repo, ground, &queue, |_, waiting| {
            if waiting >= MANY && helpers.is_empty() {
                // Without them, where the system allows no more, it takes longer.
                helpers.extend((1..threads).map_while(|_| {
                    let repo = repo.clone().into_sync();
                    let queue = &queue;
                    let work = move || work(&repo.to_thread_local(), ground, queue, |_, _| false);
                    os::spawn_worker(scope, work)
                }));
            }
            false
        });
        for helper in helpers {
            match helper.join() {
                Ok(other) => found.merge(other),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        found
    });
    if os::is_cancelled() {
        return Err(Error::Cancelled);
    }
    found.check_root(ground)?;
    found.directories.sort_unstable_by_key(|directory| directory.id);
    Ok(found)
}

/// Walks on this thread until all is seen or `stop` returns true, which is asked after each directory.
pub(super) fn until(
    repo: &Repository,
    ground: &WalkContext<'_>,
    attributes: Attributes,
    mut stop: impl FnMut(&WalkResult) -> bool,
) -> Result<WalkResult, Error> {
    let queue = Queue::new(root(ground, attributes)?);
    let mut found = work(repo, ground, &queue, |found, _| stop(found));
    found.check_root(ground)?;
    found.directories.sort_unstable_by_key(|directory| directory.id);
    Ok(found)
}

/// The first directory to be read.
fn root(ground: &WalkContext<'_>, attributes: Attributes) -> Result<Task, Error> {
    let source = |source| Error::WorkTree {
        path: ground.root.to_owned(),
        source,
    };
    Dir::open(ground.root).map_err(source)?;
    let above = Arc::new(ParentContext {
        dir: None,
        path: Vec::new(),
        ignore: None,
        attributes: Arc::new(attributes),
    });
    let entries = ground.index.all();
    Ok(Task {
        id: 0,
        parent: 0,
        name: Box::default(),
        entries,
        above,
        mode: WalkMode::Whole,
        excluded: false,
    })
}

/// Reads directories until none is left, or `stop`, given the results so far and the number of waiting directories,
/// says so.
fn work(
    repo: &Repository,
    ground: &WalkContext<'_>,
    queue: &Queue,
    mut stop: impl FnMut(&WalkResult, usize) -> bool,
) -> WalkResult {
    let mut found = WalkResult::default();
    let mut names = DirNames::default();
    let mut tasks = Vec::new();
    let mut matcher = Matcher::new(ground.settings);
    let roots = ground.trusted.as_ref().map_or(&[][..], |trusted| trusted.roots);
    let mut reachable = TreeLookup::new(repo, roots);
    while let Some(task) = queue.next() {
        let done = DirectoryGuard {
            queue,
            tasks: &mut tasks,
        };
        let tools = ScanBuffers {
            names: &mut names,
            matcher: &mut matcher,
            reachable: &mut reachable,
        };
        // The directories that wait are still taken from the queue, so that no other thread waits for them.
        if !os::is_cancelled() {
            Visit::of(repo, ground, &task, &mut found, done.tasks, tools);
        }
        drop(task);
        if stop(&found, done.finish()) {
            break;
        }
    }
    found
}

/// Ends the work on a directory even when it panics, so that the other threads do not wait for ever.
struct DirectoryGuard<'a> {
    queue: &'a Queue,
    tasks: &'a mut Vec<Task>,
}

impl DirectoryGuard<'_> {
    fn finish(self) -> usize {
        let waiting = self.queue.done(self.tasks);
        std::mem::forget(self);
        waiting
    }
}

impl Drop for DirectoryGuard<'_> {
    fn drop(&mut self) {
        self.tasks.clear();
        self.queue.done(self.tasks);
    }
}

impl WalkContext<'_> {
    /// Whether a checkout would give a file these permission bits. Those of a link mean nothing.
    pub(super) fn is_usual(&self, meta: &Meta, entry: Option<&Entry>) -> bool {
        let executable = if self.settings.file_mode {
            meta.is_executable()
        } else {
            entry.is_some_and(|entry| entry.mode == EntryMode::FILE_EXECUTABLE)
        };
        let usual = if executable { 0o777 } else { 0o666 } & !self.rules.umask;
        meta.kind != FileKind::File || meta.mode == usual
    }

    /// Keeps a directory open for those below it, unless too many are.
    pub(super) fn keep_open(&self, dir: Dir) -> Option<OpenDirectory> {
        let open = Arc::clone(&self.open);
        (open.fetch_add(1, Ordering::Relaxed) < OPEN_DIRECTORIES)
            .then(|| OpenDirectory {
                dir,
                open: Arc::clone(&open),
            })
            .or_else(|| {
                open.fetch_sub(1, Ordering::Relaxed);
                None
            })
    }

    /// Opens a directory by its path, name by name. `path` has a slash at its end or is empty.
    pub(super) fn open(&self, path: &[u8]) -> std::io::Result<Dir> {
        let mut dir = Dir::open(self.root)?;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            dir = dir.directory(name)?;
        }
        Ok(dir)
    }
}
