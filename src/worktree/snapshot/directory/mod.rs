//! One directory of the walk: its names against the index.

mod rules;
mod tracked;
mod unchanged;
mod untracked;
mod untracked_cache;

use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::attributes::{Attributes, Matcher};
use super::compose::compose;
use super::ignore::IgnoreChain;
use super::index::Group;
use super::reachable::TreeLookup;
use super::verify::{self, BlobMatch};
use super::walk::{
    FileToRead, ParentContext, PathState, ReadReason, ScannedDirectory, Task, UntrackedTree, WalkChange, WalkContext,
    WalkMode, WalkResult,
};
use super::{memory, stat};
use crate::model::list::SkipReason;
use crate::model::path::RepoPath;
use crate::os::dir::{Dir, DirNames, FileKind, Meta};
use crate::store::Repository;

/// The work on one directory.
pub(super) struct Visit<'a, 'b> {
    repo: &'a Repository,
    ground: &'a WalkContext<'b>,
    task: &'a Task,
    found: &'a mut WalkResult,
    tasks: &'a mut Vec<Task>,
    /// The directory's path with a slash at the end, empty for the root.
    path: Vec<u8>,
    ignore: IgnoreChain,
    attributes: Arc<Attributes>,
    changes: Vec<WalkChange>,
    /// Tracked files that are as the index saw them.
    clean: Vec<UnchangedFile>,
    candidates: Vec<FileToRead>,
    below: Vec<Subdirectory>,
    /// Whether nothing in it may be looked at.
    denied: bool,
    /// How many skipped paths there were before.
    skipped_before: usize,
    /// How many names in it are not of directories.
    files: usize,
    /// Whether there are directories in it.
    has_directories: bool,
    taken: Option<UntrackedTree>,
    /// Stat data of the names, as far as it was requested.
    metas: Vec<Option<Meta>>,
    /// Whether something in it may change without a trace in the stat data of its names.
    unsure: bool,
    seen: Option<memory::CachedDirectory>,
    /// A digest of the rules that hold in it, but for its own.
    rules: u64,
    /// How much there was to say before.
    noted_before: usize,
}

/// Buffers that a thread reuses for each directory.
pub(super) struct ScanBuffers<'a, 'b> {
    pub names: &'a mut DirNames,
    pub matcher: &'a mut Matcher<'b>,
    pub reachable: &'a mut TreeLookup<'b>,
}

/// A file that git calls unchanged.
struct UnchangedFile {
    /// The index entry.
    at: usize,
    meta: Meta,
}

/// A directory to be read next.
struct Subdirectory {
    name: Box<[u8]>,
    entries: Range<usize>,
    mode: WalkMode,
    excluded: bool,
}

impl<'a, 'b> Visit<'a, 'b> {
    /// Reads a directory, adding to `found` what it holds and to `tasks` the directories below it.
    pub(super) fn of(
        repo: &'a Repository,
        ground: &'a WalkContext<'b>,
        task: &'a Task,
        found: &'a mut WalkResult,
        tasks: &'a mut Vec<Task>,
        tools: ScanBuffers<'_, '_>,
    ) {
        let ScanBuffers {
            names,
            matcher,
            reachable,
        } = tools;
        let mut path = task.above.path.clone();
        if !task.name.is_empty() {
            path.extend_from_slice(&task.name);
            path.push(b'/');
        }
        let skipped_before = found.lists.skipped.len();
        let mut visit = Self {
            repo,
            ground,
            task,
            found,
            tasks,
            path,
            ignore: task.above.ignore.clone(),
            attributes: Arc::clone(&task.above.attributes),
            changes: Vec::new(),
            clean: Vec::new(),
            candidates: Vec::new(),
            below: Vec::new(),
            denied: false,
            skipped_before,
            files: 0,
            has_directories: false,
            taken: None,
            metas: Vec::new(),
            unsure: false,
            seen: None,
            rules: 0,
            noted_before: 0,
        };
        visit.rules = visit.rules();
        visit.noted_before = visit.found.noted();
        if let Some(plain) = visit.as_unchanged_directory() {
            return visit.close(None, plain.fingerprint);
        }
        let dir = match task.mode {
            WalkMode::Absent => None,
            WalkMode::Whole | WalkMode::TrackedOnly => match visit.open() {
                Ok(dir) => Some(dir),
                Err(error) => return visit.unopened(&error, matcher),
            },
        };
        match &dir {
            None => visit.absent(),
            Some(dir) if task.mode == WalkMode::TrackedOnly => visit.tracked_only(dir),
            Some(dir) => {
                if let Err(error) = visit.whole(dir, names, reachable) {
                    return visit.unopened(&error, matcher);
                }
            }
        }
        visit.finish(dir, matcher);
    }

    fn open(&self) -> io::Result<Dir> {
        match &self.task.above.dir {
            Some(above) => above.dir.directory(&self.task.name),
            None => self.ground.open(&self.path),
        }
    }

    /// Result for a directory that cannot be read.
    fn unopened(mut self, error: &io::Error, matcher: &mut Matcher<'_>) {
        match error.kind() {
            // It went away after the directory above it was listed.
            io::ErrorKind::NotFound => self.absent(),
            io::ErrorKind::NotADirectory => self.skip_self(SkipReason::Unstable),
            _ => self.skip_self(SkipReason::Unreadable),
        }
        self.finish(None, matcher);
    }

    fn skip_self(&mut self, reason: SkipReason) {
        let path = self.path.strip_suffix(b"/").unwrap_or(&self.path);
        self.found.skip(path, reason);
    }

    fn finish(mut self, dir: Option<Dir>, matcher: &mut Matcher<'_>) {
        if self.denied {
            // It can be listed but not entered: one word for all of it.
            self.candidates.clear();
            self.found.lists.skipped.truncate(self.skipped_before);
            self.clean.clear();
            self.below.clear();
            self.changes.clear();
            self.seen = None;
            self.skip_self(SkipReason::Unreadable);
        }
        let has_unchanged = !self.clean.is_empty();
        let fingerprint = self.fingerprint(matcher);
        if fingerprint.is_some() == has_unchanged {
            self.note_plain(fingerprint);
        }
        self.close(dir, fingerprint);
    }

    /// Enters the directory, and has those below it read.
    fn close(mut self, dir: Option<Dir>, fingerprint: Option<u64>) {
        if !self.candidates.is_empty() {
            self.candidates.sort_unstable_by(|a, b| a.path.cmp(&b.path));
            self.taken = self.all_taken();
            self.found.candidates.push(std::mem::take(&mut self.candidates));
        }
        if !self.below.is_empty() {
            let above = Arc::new(ParentContext {
                dir: dir.and_then(|dir| self.ground.keep_open(dir)),
                path: self.path,
                ignore: self.ignore,
                attributes: Arc::clone(&self.attributes),
            });
            let parent = self.task.id;
            self.tasks.extend(self.below.into_iter().map(|below| Task {
                id: 0,
                parent,
                name: below.name,
                entries: below.entries,
                above: Arc::clone(&above),
                mode: below.mode,
                excluded: below.excluded,
            }));
        }
        self.found.directories.push(ScannedDirectory {
            id: self.task.id,
            parent: self.task.parent,
            name: self.task.name.clone(),
            entries: self.task.entries.clone(),
            attributes: self.attributes,
            changes: self.changes,
            read: Vec::new(),
            fingerprint,
            taken: self.taken,
            mode: self.task.mode,
            seen: self.seen,
        });
    }

    /// A digest of what decides whether the unchanged files are what their blobs give; unless the cache knows it, they
    /// are judged one by one, and read where that does not decide.
    fn fingerprint(&mut self, matcher: &mut Matcher<'_>) -> Option<u64> {
        if self.clean.is_empty() || self.ground.status_only {
            return None;
        }
        let index = self.ground.index;
        let named = !self.attributes.leave_content(self.ground.settings);
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.attributes.digest());
        for clean in &self.clean {
            let entry = index.entry(clean.at);
            // Eight bytes of an id distinguish blobs.
            hasher.write(&entry.id.as_bytes()[..8]);
            hasher.write_u64(clean.meta.size);
            hasher.write_u32(entry.mode.bits());
            if named {
                hasher.write(&index.path(clean.at)[self.path.len()..]);
                hasher.write_u8(0);
            }
        }
        let fingerprint = hasher.finish();
        if self.ground.cache.knows(fingerprint) {
            return Some(fingerprint);
        }
        let mut settled = true;
        for clean in std::mem::take(&mut self.clean) {
            let path = index.path(clean.at);
            let conversion = matcher.conversion(&self.attributes, path);
            match verify::gives(self.repo, self.ground, (clean.at, path), &clean.meta, &conversion) {
                BlobMatch::Always => {}
                BlobMatch::Now => settled = false,
                BlobMatch::Unknown => self.candidate(path.to_vec(), Some(clean.at), clean.meta, ReadReason::Clean),
            }
        }
        settled.then_some(fingerprint)
    }

    fn candidate(&mut self, path: Vec<u8>, entry: Option<usize>, meta: Meta, why: ReadReason) {
        self.candidates.push(FileToRead {
            directory: self.task.id,
            path: path.into(),
            entry,
            meta,
            why,
        });
    }

    fn full_path(&self, name: &[u8]) -> Vec<u8> {
        [&self.path, name].concat()
    }

    fn groups(&self) -> Vec<Group<'a>> {
        self.ground.index.groups(self.task.entries.clone(), self.path.len())
    }

    /// Has a directory of these index entries read next.
    fn descend(&mut self, name: &[u8], entries: Range<usize>, mode: WalkMode, excluded: bool) {
        self.below.push(Subdirectory {
            name: name.into(),
            entries,
            mode,
            excluded,
        });
    }

    fn change(&mut self, name: &[u8], what: PathState) {
        self.changes.push(WalkChange {
            name: name.into(),
            what,
        });
    }

    /// An ignored directory with tracked files in it.
    fn tracked_only(&mut self, dir: &Dir) {
        self.read_attributes(dir, true);
        for group in self.groups() {
            match dir.stat(group.name) {
                Ok(meta) => self.tracked(dir, &group, &meta),
                Err(error) => self.unseen(&group, &error),
            }
        }
    }

    /// Fails, with nothing done, when the directory cannot be listed.
    fn whole(&mut self, dir: &Dir, names: &mut DirNames, reachable: &mut TreeLookup<'_>) -> io::Result<()> {
        // Before it is listed: a name that comes in between gives it another time.
        let before = self.ground.device.and_then(|_| dir.meta().ok());
        if let Some(metas) = self.ground.look.and_then(|look| look.take(&self.path, names)) {
            self.metas = metas;
        } else {
            dir.read(names)?;
            if self.ground.settings.precompose {
                compose(dir, names);
            }
            self.metas = vec![None; names.len()];
        }
        self.look_through(dir, names, reachable);
        self.seen = before.and_then(|before| self.seen(dir, names, &before));
        Ok(())
    }

    /// Cache record of a directory that was scanned completely.
    fn seen(&mut self, dir: &Dir, names: &DirNames, before: &Meta) -> Option<memory::CachedDirectory> {
        let next = self.ground.next?;
        if self.unsure || self.ground.device != Some(before.dev) {
            return None;
        }
        // Rules count even in files that are ignored.
        for at in [&b".gitignore"[..], b".gitattributes"]
            .into_iter()
            .filter_map(|name| names.find(name))
        {
            self.stat(dir, names, at).ok()?;
        }
        memory::CachedDirectory::of(before, names, &self.metas, next)
    }

    /// Stat data of a name.
    fn stat(&mut self, dir: &Dir, names: &DirNames, at: usize) -> io::Result<Meta> {
        match self.metas[at] {
            Some(meta) => Ok(meta),
            None => match dir.stat_at(names, at) {
                Ok(meta) => {
                    self.metas[at] = Some(meta);
                    Ok(meta)
                }
                Err(error) => {
                    self.unsure = true;
                    Err(error)
                }
            },
        }
    }

    fn look_through(&mut self, dir: &Dir, names: &DirNames, reachable: &mut TreeLookup<'_>) {
        if names.is_empty() && !self.path.is_empty() {
            let path = self.path.strip_suffix(b"/").unwrap_or(&self.path);
            self.found.lists.empty_dirs.push(RepoPath::from(path));
        }
        if self.task.entries.is_empty() && !self.path.is_empty() && self.is_foreign(dir, names) {
            self.unsure = true;
            return;
        }
        self.read_ignore(dir, names);
        self.read_attributes(dir, names.find(b".gitattributes").is_some());
        self.files = (0..names.len())
            .filter(|at| names.kind(*at) != FileKind::Directory)
            .count();
        self.has_directories = self.files < names.len();
        if self.as_untracked_directory(dir, names, reachable) {
            return;
        }
        let groups = self.groups();
        for pair in stat::join(dir, names, &groups, self.ground.settings.ignore_case) {
            match (pair.name, pair.group.map(|group| &groups[group])) {
                (None, Some(group)) => self.missing(group),
                (Some(at), None) => self.untracked(dir, names, at),
                (Some(at), Some(group)) => {
                    if names.kind(at) == FileKind::Directory && group.files.is_empty() {
                        self.directory(group, &self.full_path(group.name));
                        continue;
                    }
                    match self.stat(dir, names, at) {
                        Ok(meta) => self.tracked(dir, group, &meta),
                        Err(error) => self.unseen(group, &error),
                    }
                }
                (None, None) => {}
            }
        }
    }

    fn is_ignored(&self, path: &[u8], is_directory: bool) -> bool {
        // Nothing new counts in an ignored directory.
        self.task.mode == WalkMode::TrackedOnly || self.ground.ignore.is_ignored(&self.ignore, path, is_directory)
    }

    fn is_excluded(&self, path: &[u8], is_directory: bool) -> bool {
        self.task.excluded || self.ground.exclude.is_ignored(&None, path, is_directory)
    }
}
