//! One step of a plan, on one thread.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::replace::{is_gone, is_same, left_as, replace};
use super::{ChangedPath, ExecutionOutcome, WrittenFile};
use crate::model::path::RepoPath;
use crate::os::{
    self,
    dir::{self, Dir, Meta},
};
use crate::store::Repository;
use crate::store::undo::PathState;
use crate::worktree::restore::content::{ContentError, Converter, Sum, TargetContent, Thing};
use crate::worktree::restore::disk::split;
use crate::worktree::restore::plan::{RestorePlan, RestoreStep};
use crate::worktree::restore::proof::{Equality, sum_of, sum_of_sized};
use crate::worktree::restore::source::VerifiedBlobs;
use crate::worktree::restore::state::digest;
use crate::worktree::{journal::TEMPORARY, restore::Error};

/// The path of a directory relative to the root, if it is below it.
fn below_root(directory: &Path, root: &Path) -> Option<PathBuf> {
    let (directory, root) = (directory.canonicalize().ok()?, root.canonicalize().ok()?);
    let below = directory.strip_prefix(root).ok()?;
    (!below.as_os_str().is_empty()).then(|| below.to_owned())
}

/// Result of one step.
pub(super) enum StepResult {
    Done,
    /// The path is not as it was.
    Moved,
    Failed(String),
}

/// The bytes that a file or the text of a link has.
#[derive(Clone, Copy, Default)]
pub(super) struct WrittenBytes {
    sum: Sum,
    length: u64,
}

/// Executes steps; one for each thread.
pub(super) struct Executor<'a> {
    plan: &'a RestorePlan,
    converter: Converter<'a>,
    root: Dir,
    root_path: &'a Path,
    token: &'a str,
    directory: Option<(Vec<u8>, Dir)>,
    /// The directory below the root that the command runs in.
    current: Option<PathBuf>,
    pub done: ExecutionOutcome,
    /// The numbers of steps that wrote something, and what.
    pub written: Vec<(usize, WrittenBytes)>,
    /// Of the file that was written, or given other bits, last.
    last: WrittenBytes,
    /// Output of the filter program for the file that was created last.
    filtered: Option<Vec<u8>>,
    /// While others are at work beside this one: the steps that lacked a descriptor, to be done when those have ended.
    pub postponed: Option<Vec<usize>>,
}

impl<'a> Executor<'a> {
    pub(super) fn new(
        repo: &'a Repository,
        plan: &'a RestorePlan,
        token: &'a str,
        checked: Arc<VerifiedBlobs>,
    ) -> Result<Self, Error> {
        let root_path = repo.workdir().ok_or_else(|| Error::Bare {
            path: repo.git_dir().to_owned(),
        })?;
        Ok(Self {
            plan,
            converter: Converter::with(repo, &plan.settings, checked)?,
            root: Dir::open(root_path).map_err(Error::io("open", root_path))?,
            root_path,
            token,
            directory: None,
            current: below_root(repo.current_dir(), root_path),
            done: ExecutionOutcome::default(),
            written: Vec::new(),
            last: WrittenBytes::default(),
            filtered: None,
            postponed: None,
        })
    }

    /// Executes one step. Returns whether to go on.
    pub(super) fn step(&mut self, at: usize) -> bool {
        let plan = self.plan;
        let step = &plan.steps[at];
        let outcome = match step {
            RestoreStep::Remove { path, was } => self.remove(at, path, was),
            RestoreStep::RemoveDirectory { path } => self.remove_directory(path),
            RestoreStep::RenameDirectory { from, path } => self.rename_directory(from, path),
            RestoreStep::MakeDirectory { path } => self.make_directory(path),
            RestoreStep::Write { path, was, is } => self.write(at, path, was.as_ref(), is),
            RestoreStep::Mode { path, was, mode } => self.mode(path, was, *mode),
        };
        match outcome {
            Ok(StepResult::Done) => self.count(at),
            Ok(StepResult::Moved) => self.done.moved.push(RepoPath::from(step.path())),
            Ok(StepResult::Failed(why)) => self.done.failed.push((RepoPath::from(step.path()), why)),
            Err(error) if self.postponed.is_some() && os::is_out_of_files(&error) => {
                self.directory = None;
                self.postponed.get_or_insert_default().push(at);
            }
            Err(error) if ends_everything(&error) => {
                let shown = RepoPath::from(step.path()).to_string();
                self.done.stopped = Some(Error::io("write", self.root_path.join(shown))(error));
                return false;
            }
            Err(error) => self.done.failed.push((RepoPath::from(step.path()), os::reason(&error))),
        }
        true
    }

    /// Removes the directories that the steps left empty, as far as the plan wants it.
    pub(super) fn tidy(&mut self) {
        self.directory = None;
        for directory in &self.plan.tidy {
            let (above, name) = split(directory);
            // As with git, the directory that the user is in stays: no command could run there any more.
            let is_current = |current: &PathBuf| current.starts_with(os::os_string(directory));
            if self.current.as_ref().is_some_and(is_current) {
                continue;
            }
            // A directory that is not empty stays, and so does one that cannot be removed.
            if self
                .root
                .below(above)
                .is_ok_and(|dir| dir.remove_directory(name).is_ok())
            {
                self.change(directory, PathState::Absent);
            }
        }
    }

    fn count(&mut self, at: usize) {
        let plan = self.plan;
        let step = &plan.steps[at];
        let state = match step {
            RestoreStep::Remove { .. } => {
                self.done.deleted += 1;
                PathState::Absent
            }
            RestoreStep::Write { is, .. } => {
                self.done.written += 1;
                self.state_of(is.thing)
            }
            RestoreStep::Mode { mode, .. } => {
                self.done.modes += 1;
                self.file_of(*mode)
            }
            RestoreStep::MakeDirectory { .. } => {
                self.done.directories += 1;
                PathState::Directory
            }
            RestoreStep::RemoveDirectory { .. } => PathState::Absent,
            RestoreStep::RenameDirectory { from, .. } => {
                self.change(from, PathState::Absent);
                PathState::Directory
            }
        };
        let id = match step {
            RestoreStep::Write { is, .. } => Some(is.id),
            RestoreStep::Mode { was, .. } => Some(was.id),
            _ => None,
        };
        let length = self.last.length;
        let is_file = matches!(state, PathState::File { .. });
        self.done.changes.push(ChangedPath {
            path: RepoPath::from(step.path()),
            state,
            file: id.filter(|_| is_file).map(|id| WrittenFile { length, id }),
        });
    }

    fn change(&mut self, path: &[u8], state: PathState) {
        self.done.changes.push(ChangedPath {
            path: RepoPath::from(path),
            state,
            file: None,
        });
    }

    /// The state of what was written last.
    fn state_of(&self, thing: Thing) -> PathState {
        match thing {
            Thing::Link if self.plan.settings.symlinks => PathState::Symlink {
                digest: digest(&self.last.sum),
            },
            Thing::Link => self.file_of(0o666 & !self.plan.umask),
            Thing::File { mode, .. } => self.file_of(mode),
        }
    }

    fn file_of(&self, mode: u32) -> PathState {
        PathState::File {
            bits: mode & 0o7777,
            digest: digest(&self.last.sum),
        }
    }

    /// The directory, which must be there.
    fn open(&mut self, path: &[u8]) -> io::Result<&Dir> {
        let dir = if let Some((_, dir)) = self.directory.take_if(|(known, _)| known == path) {
            dir
        } else {
            let dir = self.root.below(path)?;
            self.note_device(path, &dir)?;
            dir
        };
        Ok(&self.directory.insert((path.to_vec(), dir)).1)
    }

    fn note_device(&mut self, path: &[u8], dir: &Dir) -> io::Result<()> {
        let device = dir.meta()?.dev;
        self.done.devices.entry(device).or_insert_with(|| path.to_vec());
        Ok(())
    }

    /// The directory, made with those above it where it is not there.
    fn open_or_make(&mut self, path: &[u8]) -> io::Result<&Dir> {
        match self.open(path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut dir = self.root.below(b"")?;
                let mut at = 0;
                for name in path.split(|byte| *byte == b'/') {
                    at += name.len() + 1;
                    dir = match dir.directory(name) {
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {
                            match dir.create_directory(name) {
                                Ok(()) => self.change(&path[..at - 1], PathState::Directory),
                                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                                Err(_) => {}
                            }
                            dir.directory(name)?
                        }
                        found => found?,
                    };
                }
                self.note_device(path, &dir)?;
                self.directory = Some((path.to_vec(), dir));
            }
            Err(error) => return Err(error),
        }
        self.open(path)
    }

    fn temporary(&self, at: usize) -> Vec<u8> {
        format!("{TEMPORARY}{}-{at}", self.token).into_bytes()
    }

    /// Entry at a path on disk, if its content is exactly the known one; an open directory is kept.
    fn proof(&mut self, path: &[u8], was: &TargetContent) -> io::Result<Option<Meta>> {
        let (directory, name) = split(path);
        let dir = match self.open(directory) {
            Ok(_) => self.directory.take(),
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some((known, dir)) = dir else { return Ok(None) };
        let proof = self.converter.is_on_disk(&dir, name, path, was, Equality::Bytes);
        self.directory = Some((known, dir));
        match proof {
            Err(error) if is_gone(&error) || dir::is_link(&error) => Ok(None),
            proof => proof,
        }
    }

    fn remove(&mut self, at: usize, path: &[u8], was: &TargetContent) -> io::Result<StepResult> {
        let Some(before) = self.proof(path, was)? else {
            return Ok(StepResult::Moved);
        };
        let temporary = self.temporary(at);
        let (directory, name) = split(path);
        let dir = self.open(directory)?;
        match dir.rename_to_free(name, &temporary) {
            Err(error) if is_gone(&error) => return Ok(StepResult::Moved),
            result => result?,
        }
        if dir.stat(&temporary).is_ok_and(|now| is_same(&before, &now)) {
            dir.remove(&temporary)?;
            return Ok(StepResult::Done);
        }
        match dir.rename_to_free(&temporary, name) {
            Ok(()) => Ok(StepResult::Moved),
            Err(_) => Ok(left_as(&temporary)),
        }
    }

    fn remove_directory(&mut self, path: &[u8]) -> io::Result<StepResult> {
        self.directory = None;
        let (directory, name) = split(path);
        let removed = self.open(directory).and_then(|dir| dir.remove_directory(name));
        match removed {
            Ok(()) => Ok(StepResult::Done),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(StepResult::Done),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(StepResult::Moved)
            }
            Err(error) => Err(error),
        }
    }

    fn rename_directory(&mut self, from: &[u8], to: &[u8]) -> io::Result<StepResult> {
        self.directory = None;
        let (directory, name) = split(from);
        match self.open(directory).and_then(|dir| dir.rename(name, split(to).1)) {
            // What is written makes it.
            Err(error) if !is_gone(&error) => Err(error),
            _ => {
                self.directory = None;
                Ok(StepResult::Done)
            }
        }
    }

    fn make_directory(&mut self, path: &[u8]) -> io::Result<StepResult> {
        match self.open_or_make(path) {
            Ok(_) => Ok(StepResult::Done),
            Err(error) if is_gone(&error) => Ok(StepResult::Moved),
            Err(error) => Err(error),
        }
    }

    fn mode(&mut self, path: &[u8], was: &TargetContent, mode: u32) -> io::Result<StepResult> {
        let Some(before) = self.proof(path, was)? else {
            return Ok(StepResult::Moved);
        };
        let (directory, name) = split(path);
        let file = self.open(directory)?.file(name)?;
        let now = dir::file_meta(&file)?;
        if now != before {
            return Ok(StepResult::Moved);
        }
        let sum = sum_of(&file, now.size)?;
        if dir::file_meta(&file)? != before {
            return Ok(StepResult::Moved);
        }
        os::set_mode(&file, mode)?;
        self.last = WrittenBytes { sum, length: now.size };
        Ok(StepResult::Done)
    }

    fn write(
        &mut self,
        at: usize,
        path: &[u8],
        was: Option<&TargetContent>,
        is: &TargetContent,
    ) -> io::Result<StepResult> {
        let before = match was {
            Some(was) => match self.proof(path, was)? {
                Some(before) => Some(before),
                None => return Ok(StepResult::Moved),
            },
            None => None,
        };
        let (directory, name) = split(path);
        match self.open_or_make(directory) {
            Ok(dir) if was.is_none() && dir.stat(name).is_ok() => return Ok(StepResult::Moved),
            Ok(_) => {}
            Err(error) if is_gone(&error) => return Ok(StepResult::Moved),
            Err(error) => return Err(error),
        }
        let Some((known, dir)) = self.directory.take() else {
            return Ok(StepResult::Moved);
        };
        let temporary = self.temporary(at);
        let outcome = match self.create(&dir, &temporary, path, is) {
            Ok((sum, meta)) => {
                let outcome = replace(&dir, &temporary, name, before.as_ref(), &meta);
                if matches!(outcome, Ok(StepResult::Done)) {
                    let length = meta.size;
                    self.last = WrittenBytes { sum, length };
                    self.written.push((at, self.last));
                    let filtered = self.filtered.take();
                    if filtered.is_some_and(|bytes| !self.converter.is_saved_as(&bytes, path, is)) {
                        self.done.unstable.push(RepoPath::from(path));
                    }
                }
                outcome
            }
            Err(ContentError::Write(error)) => Err(error),
            Err(ContentError::Convert(why)) => {
                let _ = dir.remove(&temporary);
                Ok(StepResult::Failed(why))
            }
            Err(ContentError::Source(error)) => {
                let _ = dir.remove(&temporary);
                Ok(StepResult::Failed(error.to_string()))
            }
        };
        if let Err(error) = &outcome
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            // Ours, or what was proven to be held and has changed places with it.
            let _ = dir.remove(&temporary);
        }
        self.directory = Some((known, dir));
        outcome
    }

    /// Makes the new file or link, complete and with its final mode.
    fn create(
        &mut self,
        dir: &Dir,
        temporary: &[u8],
        path: &[u8],
        is: &TargetContent,
    ) -> Result<(Sum, Meta), ContentError> {
        let mut sum = Sha256::new();
        self.filtered = self.converter.is_filtered(path, is).then(Vec::new);
        let created = match is.thing {
            Thing::Link if self.plan.settings.symlinks => {
                let mut target = Vec::new();
                let given = self.converter.give(path, is, &mut |piece| {
                    sum.update(piece);
                    target.extend_from_slice(piece);
                    Ok(())
                });
                let linked = given.and_then(|()| dir.create_link(temporary, &target).map_err(ContentError::Write));
                linked.and_then(|()| dir.stat(temporary).map_err(ContentError::Write))
            }
            thing => {
                let mode = match thing {
                    Thing::File { mode, .. } => mode,
                    Thing::Link => 0o666 & !self.plan.umask,
                };
                // Not readable by anybody it will not be readable by.
                let mut file = dir.create(temporary, mode).map_err(ContentError::Write)?;
                let filtered = &mut self.filtered;
                let given = self.converter.give(path, is, &mut |piece| {
                    sum.update(piece);
                    if let Some(filtered) = filtered {
                        filtered.extend_from_slice(piece);
                    }
                    file.write_all(piece)
                });
                let masked = mode & self.plan.umask != 0;
                let set = || if masked { os::set_mode(&file, mode) } else { Ok(()) };
                given.and_then(|()| set().and_then(|()| dir::file_meta(&file)).map_err(ContentError::Write))
            }
        };
        Ok((sum.finalize().into(), created?))
    }

    /// Reads back what was written.
    pub(super) fn verify(&mut self, at: usize, bytes: &WrittenBytes) {
        let step = &self.plan.steps[at];
        if !matches!(self.reads_as(step.path(), bytes), Ok(true)) {
            self.done.differing.push(RepoPath::from(step.path()));
        }
    }

    fn reads_as(&mut self, path: &[u8], bytes: &WrittenBytes) -> io::Result<bool> {
        let (directory, name) = split(path);
        self.open(directory)?;
        let Some((_, dir)) = &self.directory else {
            return Ok(false);
        };
        match dir.file(name) {
            Ok(file) => {
                let sum = sum_of_sized(&file, bytes.length, &mut self.converter.buffer)?;
                Ok(sum == Some(bytes.sum))
            }
            Err(error) if dir::is_link(&error) => Ok(Sha256::digest(dir.link(name)?)[..] == bytes.sum[..]),
            Err(error) => Err(error),
        }
    }
}

/// Whether there is no use in going on with the next path.
fn ends_everything(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::ReadOnlyFilesystem
    )
}
