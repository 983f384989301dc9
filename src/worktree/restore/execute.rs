//! Executing a plan, one path after the other, each in one step that either happens or does not.
//!
//! Every blob is checked before the first change. Folders are reached by descriptor, never through a link. A file is
//! replaced only after its bytes were compared with what the safety checkpoint holds; then the new file, complete under
//! a temporary name beside it, and the old one change places, and the old one is looked at once more before it is
//! removed. What changed meanwhile stays, and is reported as moved.

use std::collections::HashSet;
use std::io::{self, Write as _};

use sha2::{Digest, Sha256};

use super::content::{Content, Converter, Stop, Sum, Thing, sum_of};
use super::disk::split;
use super::plan::{Plan, Step};
use super::{Error, TEMPORARY};
use crate::model::path::RepoPath;
use crate::os::{
    self,
    dir::{self, Dir, Meta},
};
use crate::store::{ObjectId, Repository};

/// The mode of a folder in a tree.
const FOLDER: u32 = 0o040_000;

/// How a plan is executed.
pub struct Execution<'a> {
    /// Makes the names of temporary files unique; letters and digits.
    pub token: &'a str,
    /// Called with the number of steps done and of all steps.
    pub progress: &'a mut dyn FnMut(usize, usize),
}

/// What was done.
#[derive(Debug, Default)]
pub struct Done {
    /// Files and links that were created or replaced.
    pub written: usize,
    /// Files and links that were removed.
    pub deleted: usize,
    /// Files that got other permission bits.
    pub modes: usize,
    /// Folders made because they were saved empty.
    pub folders: usize,
    /// Paths that were left alone because they are not as they were when the plan was made: plan again.
    pub moved: Vec<RepoPath>,
    /// Paths that could not be written, with the reason; they are as they were.
    pub failed: Vec<(RepoPath, String)>,
    /// Paths that were written and are not what was written: another program changed them since.
    pub differing: Vec<RepoPath>,
    /// What became of each path that was changed.
    pub changes: Vec<Change>,
    /// Why it ended early; the paths before were done.
    pub stopped: Option<Error>,
}

/// A path that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: RepoPath,
    /// Its mode as in a tree, and the blob; of a folder that was made the empty tree. `None` if there is nothing now.
    pub now: Option<(u32, ObjectId)>,
}

impl Done {
    /// Whether everything in the plan was done.
    pub fn is_complete(&self) -> bool {
        self.stopped.is_none() && self.moved.is_empty() && self.failed.is_empty()
    }
}

/// What became of one step.
enum Outcome {
    Done,
    /// The path is not as it was.
    Moved,
    Failed(String),
}

/// A failure that ends the execution.
struct Fatal(Error);

struct Executor<'a> {
    plan: &'a Plan,
    converter: Converter<'a>,
    root: Dir,
    root_path: &'a std::path::Path,
    token: &'a str,
    folder: Option<(Vec<u8>, Dir)>,
    done: Done,
    written: Vec<(usize, Sum)>,
    empty_tree: ObjectId,
}

/// Executes a plan. Fails without having changed anything; what happens after the first change is in the result.
///
/// A plan with blocked paths must not be given here; nothing of it is executed.
pub fn execute(repo: &Repository, plan: &Plan, execution: &mut Execution<'_>) -> Result<Done, Error> {
    let root_path = repo.workdir().ok_or_else(|| Error::Bare {
        path: repo.git_dir().to_owned(),
    })?;
    if !plan.blocked.is_empty() {
        let path = plan.blocked[0].path.to_string();
        return Err(Error::io("replace", path)(io::ErrorKind::AlreadyExists.into()));
    }
    let mut executor = Executor {
        plan,
        converter: Converter::new(repo, &plan.settings)?,
        root: Dir::open(root_path).map_err(Error::io("open", root_path))?,
        root_path,
        token: execution.token,
        folder: None,
        done: Done::default(),
        written: Vec::new(),
        empty_tree: ObjectId::empty_tree(repo.object_hash()),
    };
    executor.verify_sources()?;
    if let Err(Fatal(error)) = executor.run(execution.progress) {
        executor.done.stopped = Some(error);
    }
    executor.verify_written();
    Ok(executor.done)
}

impl Executor<'_> {
    /// Every blob that is going to be written is there and is what its id says.
    fn verify_sources(&mut self) -> Result<(), Error> {
        let mut seen = HashSet::new();
        for step in &self.plan.steps {
            if let Step::Write { path, is, .. } = step
                && seen.insert((is.id, is.raw))
            {
                self.converter.verify(path, is)?;
            }
        }
        Ok(())
    }

    fn run(&mut self, progress: &mut dyn FnMut(usize, usize)) -> Result<(), Fatal> {
        let plan = self.plan;
        for (at, step) in plan.steps.iter().enumerate() {
            progress(at, plan.steps.len());
            let outcome = match step {
                Step::Remove { path, was } => self.remove(at, path, was),
                Step::RemoveFolder { path } => self.remove_folder(path),
                Step::MakeFolder { path } => self.make_folder(path),
                Step::Write { path, was, is } => self.write(at, path, was.as_ref(), is),
                Step::Mode { path, was, mode } => self.mode(path, was, *mode),
            };
            match outcome {
                Ok(Outcome::Done) => self.count(step),
                Ok(Outcome::Moved) => self.done.moved.push(RepoPath::from(step.path())),
                Ok(Outcome::Failed(why)) => self.done.failed.push((RepoPath::from(step.path()), why)),
                Err(error) if ends_everything(&error) => return Err(self.fatal(step.path(), error)),
                Err(error) => self.done.failed.push((RepoPath::from(step.path()), os::reason(&error))),
            }
        }
        self.folder = None;
        for folder in &plan.tidy {
            let (above, name) = split(folder);
            // A folder that is not empty stays, and so does one that cannot be removed.
            if self.root.below(above).is_ok_and(|dir| dir.remove_folder(name).is_ok()) {
                self.done.changes.push(Change {
                    path: RepoPath::from(&folder[..]),
                    now: None,
                });
            }
        }
        progress(plan.steps.len(), plan.steps.len());
        Ok(())
    }

    fn count(&mut self, step: &Step) {
        let (path, now) = match step {
            Step::Remove { path, .. } => {
                self.done.deleted += 1;
                (path, None)
            }
            Step::Write { path, is, .. } => {
                self.done.written += 1;
                (path, Some((git_mode(is.thing), is.id)))
            }
            Step::Mode { path, was, mode } => {
                self.done.modes += 1;
                let thing = Thing::File {
                    mode: *mode,
                    executable: mode & 0o100 != 0,
                };
                (path, Some((git_mode(thing), was.id)))
            }
            Step::MakeFolder { path } => {
                self.done.folders += 1;
                (path, Some((FOLDER, self.empty_tree)))
            }
            Step::RemoveFolder { path } => (path, None),
        };
        self.done.changes.push(Change {
            path: RepoPath::from(&path[..]),
            now,
        });
    }

    fn fatal(&self, path: &[u8], source: io::Error) -> Fatal {
        let shown = RepoPath::from(path).to_string();
        Fatal(Error::io("write", self.root_path.join(shown))(source))
    }

    /// The folder, which must be there.
    fn open(&mut self, path: &[u8]) -> io::Result<&Dir> {
        let known = self.folder.take_if(|(known, _)| known == path).map(|(_, dir)| dir);
        let dir = known.map_or_else(|| self.root.below(path), Ok)?;
        Ok(&self.folder.insert((path.to_vec(), dir)).1)
    }

    /// The folder, made with those above it where it is not there.
    fn open_or_make(&mut self, path: &[u8]) -> io::Result<&Dir> {
        match self.open(path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut dir = self.root.below(b"")?;
                let mut at = 0;
                for name in path.split(|byte| *byte == b'/') {
                    at += name.len() + 1;
                    dir = match dir.folder(name) {
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {
                            match dir.create_folder(name) {
                                Ok(()) => self.done.changes.push(Change {
                                    path: RepoPath::from(&path[..at - 1]),
                                    now: Some((FOLDER, self.empty_tree)),
                                }),
                                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                                Err(_) => {}
                            }
                            dir.folder(name)?
                        }
                        found => found?,
                    };
                }
                self.folder = Some((path.to_vec(), dir));
            }
            Err(error) => return Err(error),
        }
        self.open(path)
    }

    fn temporary(&self, at: usize) -> Vec<u8> {
        format!("{TEMPORARY}{}-{at}", self.token).into_bytes()
    }

    /// What a path is on disk, if it holds exactly what it is known to hold; an open folder stays known.
    fn proof(&mut self, path: &[u8], was: &Content) -> io::Result<Option<Meta>> {
        let (folder, name) = split(path);
        let dir = match self.open(folder) {
            Ok(_) => self.folder.take(),
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some((known, dir)) = dir else { return Ok(None) };
        let proof = self.converter.is_on_disk(&dir, name, path, was);
        self.folder = Some((known, dir));
        match proof {
            Err(error) if is_gone(&error) || dir::is_link(&error) => Ok(None),
            proof => proof,
        }
    }

    fn remove(&mut self, at: usize, path: &[u8], was: &Content) -> io::Result<Outcome> {
        let Some(before) = self.proof(path, was)? else {
            return Ok(Outcome::Moved);
        };
        let temporary = self.temporary(at);
        let (folder, name) = split(path);
        let dir = self.open(folder)?;
        match dir.rename_to_free(name, &temporary) {
            Err(error) if is_gone(&error) => return Ok(Outcome::Moved),
            result => result?,
        }
        if dir.stat(&temporary).is_ok_and(|now| is_same(&before, &now)) {
            dir.remove(&temporary)?;
            return Ok(Outcome::Done);
        }
        match dir.rename_to_free(&temporary, name) {
            Ok(()) => Ok(Outcome::Moved),
            Err(_) => Ok(left_as(&temporary)),
        }
    }

    fn remove_folder(&mut self, path: &[u8]) -> io::Result<Outcome> {
        self.folder = None;
        let (folder, name) = split(path);
        let removed = self.open(folder).and_then(|dir| dir.remove_folder(name));
        match removed {
            Ok(()) => Ok(Outcome::Done),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Outcome::Done),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(Outcome::Moved)
            }
            Err(error) => Err(error),
        }
    }

    fn make_folder(&mut self, path: &[u8]) -> io::Result<Outcome> {
        match self.open_or_make(path) {
            Ok(_) => Ok(Outcome::Done),
            Err(error) if is_gone(&error) => Ok(Outcome::Moved),
            Err(error) => Err(error),
        }
    }

    fn mode(&mut self, path: &[u8], was: &Content, mode: u32) -> io::Result<Outcome> {
        let Some(before) = self.proof(path, was)? else {
            return Ok(Outcome::Moved);
        };
        let (folder, name) = split(path);
        let file = self.open(folder)?.file(name)?;
        let now = dir::file_meta(&file)?;
        if now != before {
            return Ok(Outcome::Moved);
        }
        os::set_mode(&file, mode)?;
        Ok(Outcome::Done)
    }

    fn write(&mut self, at: usize, path: &[u8], was: Option<&Content>, is: &Content) -> io::Result<Outcome> {
        let before = match was {
            Some(was) => match self.proof(path, was)? {
                Some(before) => Some(before),
                None => return Ok(Outcome::Moved),
            },
            None => None,
        };
        let (folder, name) = split(path);
        match self.open_or_make(folder) {
            Ok(dir) if was.is_none() && dir.stat(name).is_ok() => return Ok(Outcome::Moved),
            Ok(_) => {}
            Err(error) if is_gone(&error) => return Ok(Outcome::Moved),
            Err(error) => return Err(error),
        }
        let Some((known, dir)) = self.folder.take() else {
            return Ok(Outcome::Moved);
        };
        let temporary = self.temporary(at);
        let outcome = self
            .create(&dir, &temporary, path, is)
            .and_then(|created| match created {
                Ok((sum, meta)) => {
                    let outcome = replace(&dir, &temporary, name, before.as_ref(), &meta)?;
                    if matches!(outcome, Outcome::Done) {
                        self.written.push((at, sum));
                    }
                    Ok(outcome)
                }
                Err(why) => {
                    let _ = dir.remove(&temporary);
                    Ok(Outcome::Failed(why))
                }
            });
        if let Err(error) = &outcome
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            // Ours, or what was proven to be held and has changed places with it.
            let _ = dir.remove(&temporary);
        }
        self.folder = Some((known, dir));
        outcome
    }

    /// Makes the new file or link, complete and with its final mode. The inner error is a reason to leave the path.
    fn create(
        &mut self,
        dir: &Dir,
        temporary: &[u8],
        path: &[u8],
        is: &Content,
    ) -> io::Result<Result<(Sum, Meta), String>> {
        let mut sum = Sha256::new();
        let given = match is.thing {
            Thing::Link if self.plan.settings.symlinks => {
                let mut target = Vec::new();
                let given = self.converter.give(path, is, &mut |piece| {
                    sum.update(piece);
                    target.extend_from_slice(piece);
                    Ok(())
                });
                given.and_then(|()| dir.create_link(temporary, &target).map_err(Stop::Write))
            }
            thing => {
                let mode = match thing {
                    Thing::File { mode, .. } => mode,
                    Thing::Link => 0o666 & !self.plan.umask,
                };
                // Not readable by anybody it will not be readable by.
                let mut file = dir.create(temporary, mode)?;
                let given = self.converter.give(path, is, &mut |piece| {
                    sum.update(piece);
                    file.write_all(piece)
                });
                if mode & self.plan.umask == 0 || given.is_err() {
                    given
                } else {
                    os::set_mode(&file, mode).map_err(Stop::Write)
                }
            }
        };
        match given {
            Ok(()) => Ok(Ok((sum.finalize().into(), dir.stat(temporary)?))),
            Err(Stop::Write(error)) => Err(error),
            Err(Stop::Convert(why)) => Ok(Err(why)),
            Err(Stop::Source(error)) => Ok(Err(error.to_string())),
        }
    }

    /// Reads back what was written.
    fn verify_written(&mut self) {
        for (at, sum) in std::mem::take(&mut self.written) {
            let step = &self.plan.steps[at];
            if !matches!(self.reads_as(step.path(), &sum), Ok(true)) {
                self.done.differing.push(RepoPath::from(step.path()));
            }
        }
    }

    fn reads_as(&mut self, path: &[u8], sum: &Sum) -> io::Result<bool> {
        let (folder, name) = split(path);
        let dir = self.open(folder)?;
        match dir.file(name) {
            Ok(mut file) => Ok(sum_of(&mut file)? == *sum),
            Err(error) if dir::is_link(&error) => Ok(Sha256::digest(dir.link(name)?)[..] == sum[..]),
            Err(error) => Err(error),
        }
    }
}

/// Gives the new file the name, if what has the name is still what it was before.
fn replace(dir: &Dir, temporary: &[u8], name: &[u8], before: Option<&Meta>, ours: &Meta) -> io::Result<Outcome> {
    let Some(before) = before else {
        return match dir.rename_to_free(temporary, name) {
            Ok(()) => Ok(Outcome::Done),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                dir.remove(temporary)?;
                Ok(Outcome::Moved)
            }
            Err(error) => Err(error),
        };
    };
    if dir.stat(name).ok().as_ref() != Some(before) {
        dir.remove(temporary)?;
        return Ok(Outcome::Moved);
    }
    match dir.exchange(temporary, name) {
        Ok(true) => {}
        Ok(false) => {
            // No such call: between the look above and this there is an instant in which nobody looks.
            dir.rename(temporary, name)?;
            return Ok(Outcome::Done);
        }
        Err(error) if is_gone(&error) => {
            dir.remove(temporary)?;
            return Ok(Outcome::Moved);
        }
        Err(error) => return Err(error),
    }
    // The old file has the temporary name now. Nobody else knows that name, so it is what was replaced.
    if dir.stat(temporary).is_ok_and(|old| is_same(before, &old)) {
        dir.remove(temporary)?;
        return Ok(Outcome::Done);
    }
    // It was changed in the last instant: back with it, and only what is ours goes.
    match dir.exchange(temporary, name) {
        Ok(true) if dir.stat(temporary).is_ok_and(|now| is_same(ours, &now)) => {
            dir.remove(temporary)?;
            Ok(Outcome::Moved)
        }
        _ => Ok(left_as(temporary)),
    }
}

fn left_as(temporary: &[u8]) -> Outcome {
    let name = String::from_utf8_lossy(temporary);
    Outcome::Failed(format!(
        "it changed in the same instant; what it was is left beside it as '{name}'"
    ))
}

/// Whether a file that got another name is the one it was. Its change time is not compared: the new name changed it.
fn is_same(before: &Meta, now: &Meta) -> bool {
    let key = |meta: &Meta| (meta.kind, meta.dev, meta.ino, meta.size, meta.mtime, meta.mode);
    key(before) == key(now)
}

/// The path or its folder is not there any more, or is something else.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether there is no use in going on with the next path.
fn ends_everything(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::ReadOnlyFilesystem
    )
}

fn git_mode(thing: Thing) -> u32 {
    match thing {
        Thing::File { executable: true, .. } => 0o100_755,
        Thing::File { .. } => 0o100_644,
        Thing::Link => 0o120_000,
    }
}
