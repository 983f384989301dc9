//! The index as a snapshot reads it: entries in the order of their paths, a directory's entries being one stretch.
//!
//! Never written. The file's own time is kept next to the entries, since an entry as young as the file may hide an
//! edit of the same second (git calls it racily clean).

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use gix::bstr::{BStr, ByteSlice};
use gix::index::decode;
use gix::index::entry::{Flags, Mode, Stage};
use gix::index::{Entry, State};

use super::{Error, sparse};
use crate::os;
use crate::os::dir::FileTime;
use crate::store::Repository;

/// From this size on, in bytes, to check an index is work for a second thread: some ten thousand entries.
const LARGE: u64 = 1 << 20;

/// The index of the working tree.
pub(in crate::worktree) struct GitIndex {
    state: State,
    /// When the file was written.
    pub written: FileTime,
}

impl GitIndex {
    /// Reads the index at `path`, or the repository's own. None there is an empty one, as for git.
    pub(in crate::worktree) fn read(repo: &Repository, path: Option<&Path>) -> Result<Self, Error> {
        let path = place(repo, path);
        let config = repo.config_snapshot();
        // To find out how many threads there may be takes longer than to read a small index.
        let is_small = fs::metadata(&path).is_ok_and(|metadata| metadata.len() < LARGE);
        let options = decode::Options {
            thread_limit: is_small.then_some(1),
            ..decode::Options::default()
        };
        let skip_hash = config.boolean("index.skipHash").unwrap_or(false);
        let quick = (!skip_hash).then(|| read_large(&path, repo.object_hash(), options));
        let read = quick.flatten().map_or_else(
            || gix::index::File::at_or_default(&path, repo.object_hash(), skip_hash, options),
            Ok,
        );
        let file = read.map_err(|source| Error::Index {
            path: path.clone(),
            source,
        })?;
        let time = file.timestamp();
        let written = FileTime {
            seconds: time.unix_seconds(),
            nanos: time.nanoseconds(),
        };
        let mut state = State::from(file);
        if state.is_sparse() {
            sparse::expand(repo, &mut state)?;
        }
        Ok(Self { state, written })
    }

    /// Everything gix knows of it.
    pub(in crate::worktree) fn state(&self) -> &State {
        &self.state
    }

    pub(super) fn entry(&self, at: usize) -> &Entry {
        &self.state.entries()[at]
    }

    pub(super) fn path(&self, at: usize) -> &BStr {
        self.entry(at).path(&self.state)
    }

    /// All entries.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.state.entries().len()
    }

    /// The entry of a path, of an unmerged one the first.
    pub(super) fn find(&self, path: &[u8], range: Range<usize>) -> Option<usize> {
        let at = range.start + self.state.entries()[range].partition_point(|entry| entry.path(&self.state) < path);
        (at < self.state.entries().len() && self.path(at) == path).then_some(at)
    }

    /// The names directly in a directory, given the stretch of its entries and the length of its path with the slash at
    /// its end (0 for the root).
    pub(super) fn groups(&self, range: Range<usize>, prefix: usize) -> Vec<Group<'_>> {
        let mut groups = Vec::<Group<'_>>::new();
        let mut sorted = true;
        let mut at = range.start;
        while at < range.end {
            let rest = &self.path(at)[prefix..];
            let (name, end, below) = match rest.find_byte(b'/') {
                // A directory of the sparse index: its path ends with the slash.
                Some(slash) if slash + 1 == rest.len() => (&rest[..slash], at + 1, false),
                Some(slash) => (
                    &rest[..slash],
                    self.end_of_directory(at, range.end, prefix + slash + 1),
                    true,
                ),
                None => (rest, self.end_of_stages(at, range.end), false),
            };
            let mut group = Group {
                name,
                files: at..at,
                below: at..at,
            };
            *(if below { &mut group.below } else { &mut group.files }) = at..end;
            sorted &= groups.last().is_none_or(|last| last.name < group.name);
            groups.push(group);
            at = end;
        }
        if !sorted {
            sort(&mut groups);
        }
        groups
    }

    /// The end of the entries that begin with the same `len` bytes as the one at `at`.
    fn end_of_directory(&self, at: usize, limit: usize, len: usize) -> usize {
        let entries = self.state.entries();
        let directory = &self.path(at)[..len];
        let inside = |entry: &Entry| {
            entry
                .path(&self.state)
                .get(..len)
                .is_some_and(|start| start == directory)
        };
        let mut step = 1;
        let mut low = at;
        while low + step < limit && inside(&entries[low + step]) {
            low += step;
            step *= 2;
        }
        let high = (low + step).min(limit);
        low + entries[low..high].partition_point(inside)
    }

    /// The end of the entries of the same path, of which there are several when it is unmerged.
    fn end_of_stages(&self, at: usize, limit: usize) -> usize {
        if self.entry(at).stage() == Stage::Unconflicted {
            return at + 1;
        }
        let path = self.path(at);
        (at + 1..limit).find(|next| self.path(*next) != path).unwrap_or(limit)
    }
}

/// Where the index is: at `path`, or the repository's own.
pub(super) fn place(repo: &Repository, path: Option<&Path>) -> PathBuf {
    path.map_or_else(|| repo.index_path(), Path::to_owned)
}

/// Reads a large index while another thread sees whether its checksum is right, which takes as long. `None` when it is
/// not large, anything is wrong, or the file was replaced meanwhile: then it is read in the usual way, which decides.
fn read_large(path: &Path, hash: gix::hash::Kind, options: decode::Options) -> Option<gix::index::File> {
    let opened = fs::File::open(path).ok()?;
    let before = opened.metadata().ok().filter(|before| before.len() >= LARGE)?;
    // A second file that this one builds on would go unchecked.
    let is_part = |entry: io::Result<fs::DirEntry>| entry.map_or(true, |entry| is_shared(&entry.file_name()));
    if fs::read_dir(path.parent()?).ok()?.any(is_part) {
        return None;
    }
    let (size, end) = (before.len(), hash.len_in_bytes());
    let file = std::thread::scope(|scope| {
        let checked = || is_sound(opened, size - end as u64, hash);
        let checked = os::spawn_worker(scope, checked)?;
        let file = gix::index::File::at(path, hash, true, options).ok();
        let sound = checked.join().is_ok_and(|checked| checked.unwrap_or(false));
        file.filter(|_| sound)
    })?;
    // git replaces the file whole: the same one before and after is the one that was read in between.
    let what = |metadata: &fs::Metadata| (os::file_id(metadata), metadata.len(), metadata.modified().ok());
    let after = fs::metadata(path).ok()?;
    (what(&before) == what(&after)).then_some(file)
}

/// Whether a file of this name holds the greater part of an index that git has split.
fn is_shared(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"sharedindex.")
}

/// Whether a file ends with the hash of its first `length` bytes.
fn is_sound(file: fs::File, length: u64, hash: gix::hash::Kind) -> io::Result<bool> {
    let mut hasher = gix::hash::hasher(hash);
    let mut buffer = vec![0; 64 * 1024];
    let mut file = file.take(length);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut end = Vec::new();
    file.into_inner().read_to_end(&mut end)?;
    let found = hasher.try_finalize().map_err(io::Error::other)?;
    Ok(found.as_slice() == end)
}

/// Index entries of one name in a directory.
#[derive(Debug, Clone)]
pub(super) struct Group<'a> {
    pub name: &'a [u8],
    /// The entries of exactly this path.
    pub files: Range<usize>,
    /// The entries below it.
    pub below: Range<usize>,
}

/// By name, with what an unmerged index has of a name both as file and as directory in one.
fn sort(groups: &mut Vec<Group<'_>>) {
    groups.sort_by(|a, b| a.name.cmp(b.name));
    groups.dedup_by(|next, first| {
        if next.name != first.name {
            return false;
        }
        if first.files.is_empty() {
            first.files = next.files.clone();
        }
        if first.below.is_empty() {
            first.below = next.below.clone();
        }
        true
    });
}

/// How an index entry is treated.
pub(in crate::worktree) trait EntryExt {
    /// Not in the index tree: unmerged or only announced by `git add -N`.
    fn is_pending(&self) -> bool;
    fn is_intent_to_add(&self) -> bool;
    fn is_skip_worktree(&self) -> bool;
    fn is_gitlink(&self) -> bool;
    /// A directory of the sparse index.
    fn is_directory(&self) -> bool;
}

impl EntryExt for Entry {
    fn is_pending(&self) -> bool {
        self.stage() != Stage::Unconflicted || self.is_intent_to_add()
    }

    fn is_intent_to_add(&self) -> bool {
        self.flags.contains(Flags::INTENT_TO_ADD)
    }

    fn is_skip_worktree(&self) -> bool {
        self.flags.contains(Flags::SKIP_WORKTREE)
    }

    fn is_gitlink(&self) -> bool {
        self.mode == Mode::COMMIT
    }

    fn is_directory(&self) -> bool {
        self.mode == Mode::DIR
    }
}
