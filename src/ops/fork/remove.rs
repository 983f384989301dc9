//! Removal of a fork's working tree after everything in it is saved.
//!
//! A program may still write there. So no directory is deleted as a whole: each saved file is moved away, compared with
//! what was saved and only then deleted, as by a restore; what is left must be ignored files that this working tree has
//! as well, or a file that `--force` names, as it was when it was named. Anything else ends the removal: what it deleted comes
//! back. A note from before the first deletion lets `fork --continue` do the same after a kill, and the next removal go on.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    super::{
        Error, RemovalError, Scene, WorktreeError, clean, compose, fork_notes,
        plan_runner::{self, OperationLocks, OperationWait, ProgressCallback},
        receipt::CheckpointOutcome,
        save::{self, OverClaim, SaveRequest},
        session_choice, suggestions,
        target_state::{self, TargetState},
        verify,
    },
    cut_off, list, submodules,
};
use crate::{
    model::{
        document::{CheckpointKind, SessionStatus},
        list::Lists,
        name::ShortName,
        path::RepoPath,
    },
    os::{
        self,
        dir::{Dir, FileKind, Meta},
    },
    store::{
        self, ObjectId, Repository,
        checkpoint::{Checkpoint, oid},
        objects::Writer,
        restored,
    },
    worktree::{
        self,
        restore::{self, Execution, RestoreOptions},
        snapshot::Snapshot,
    },
};

pub use super::cut_off::WorktreeRemoval;

/// How often it is saved again because files changed meanwhile.
const TRIES: u32 = 2;

/// Saves what is in the working tree of a fork and removes it; session and branch stay. Refuses if there are files that no
/// checkpoint holds, unless `force` is set.
pub fn remove_worktree(
    scene: &Scene<'_>,
    name: &ShortName,
    force: bool,
    progress: ProgressCallback<'_>,
) -> Result<WorktreeRemoval, Error> {
    if let Some(note) = fork_notes::removal(scene, name)?
        && let Some(removed) = cut_off::take_up(scene, note, progress)?
    {
        return Ok(removed);
    }
    let chosen = session_choice::named(scene, name)?.ok_or_else(|| suggestions::absent(scene, name))?;
    let id = &chosen.tip.document.session.id;
    let none = || Error::PathTaken {
        what: format!("session '{name}' has no working tree of its own"),
    };
    let path = list::places(scene).remove(id).ok_or_else(none)?;
    let repo = store::open_beside(&path)?;
    let is_linked = repo.git_dir() != repo.common_dir();
    let here = store::work_tree(scene.repo)?;
    if !is_linked {
        return Err(none());
    }
    if path.canonicalize().ok() == here.canonicalize().ok() {
        return Err(RemovalError::OwnWorktree {
            session: name.clone(),
            other: elsewhere(scene, here),
        }
        .into());
    }
    let there = Scene {
        repo: &repo,
        session: Some(name),
        index: None,
        ..*scene
    };
    if !force {
        fork_notes::refuse(scene, name)?;
    }
    plan_runner::refuse_pending(&there)?;
    if repo.git_dir().join("locked").exists() {
        return Err(RemovalError::Locked {
            session: name.clone(),
            worktree: path,
        }
        .into());
    }
    let branch = store::branches::active(&repo)?;
    let removal = Removal {
        scene,
        there: &there,
        name,
        path: &path,
        here,
        force,
    };
    for _ in 0..TRIES {
        let saved = removal.save(chosen.tip.document.session.status)?;
        match removal.run(saved) {
            // Files were written after they were saved and before anything was deleted.
            Err(Error::Removal(RemovalError::Written { path: None, .. })) => {}
            done => {
                done?;
                return Ok(WorktreeRemoval {
                    path: path.clone(),
                    session: name.clone(),
                    saved,
                    branch,
                });
            }
        }
    }
    Err(removal.written(None))
}

/// One removal.
struct Removal<'a> {
    scene: &'a Scene<'a>,
    /// The working tree that goes.
    there: &'a Scene<'a>,
    name: &'a ShortName,
    path: &'a Path,
    /// The root of the working tree of this command.
    here: &'a Path,
    force: bool,
}

impl Removal<'_> {
    /// Saves everything; the checkpoint is read back.
    fn save(&self, status: SessionStatus) -> Result<ObjectId, Error> {
        let request = SaveRequest {
            status,
            trigger: Some("before-removal".to_owned()),
            summary: Some("before its working tree was removed".to_owned()),
            start: false,
            claim: if self.force {
                OverClaim::Forced
            } else {
                OverClaim::Automatic
            },
            ..SaveRequest::new(CheckpointKind::Event)
        };
        let outcome = save::save(self.there, request)?;
        let (CheckpointOutcome::Saved(receipt)
        | CheckpointOutcome::Unchanged(receipt)
        | CheckpointOutcome::Planned(receipt)) = outcome;
        let saved = receipt.id.ok_or(Error::ConcurrentModification)?;
        if !verify::is_intact(self.scene, saved) {
            return Err(Error::Unproved { id: oid(saved) });
        }
        Ok(saved)
    }

    /// Paths that no checkpoint holds, and that this working tree has not. Of `lossy` files a filter program stores a part.
    fn unsaved(&self, lists: &Lists, lossy: Vec<RepoPath>) -> Result<Vec<RepoPath>, Error> {
        let skipped = lists.skipped.iter();
        let mut lost: Vec<RepoPath> = skipped.map(|skipped| skipped.path.clone()).collect();
        let is_other = |path: &RepoPath| {
            let name = os::os_string(path.as_bytes());
            !is_same(&self.path.join(&name), &self.here.join(&name))
        };
        lost.extend(lossy.into_iter().filter(is_other));
        lost.extend(ignored(self.there, self.path, self.here)?);
        lost.extend(submodules::at_risk(self.path, self.here)?);
        lost.sort();
        lost.dedup();
        Ok(lost)
    }

    /// Removes what a checkpoint holds, then the rest. Where that fails, everything is as it was.
    fn run(&self, saved: ObjectId) -> Result<(), Error> {
        let repo = self.there.repo;
        let checkpoint = session_choice::load(self.scene, self.name.as_str(), saved)?;
        let locks = OperationLocks::take(self.there, OperationWait::Patient, false)?;
        plan_runner::begin(self.there, false)?;
        let note = fork_notes::ForkNote {
            session: self.name.clone(),
            path: RepoPath::new(self.path.as_os_str().as_encoded_bytes()),
            branch: store::branches::active(repo)?.unwrap_or_default(),
            setup: None,
            removal: Some(oid(saved)),
        };
        let writer = Writer::memory(repo);
        let mut present = compose::present(self.there, &writer, true, &[])?;
        let Some(mut snapshot) = present.snapshot.take() else {
            return Err(Error::ConcurrentModification);
        };
        let empty = TargetState::empty(repo, snapshot.umask);
        let umask = snapshot.umask;
        let planned = |repo: &Repository, snapshot: &Snapshot| {
            restore::plan(repo, target_state::files(snapshot), empty.files(), options(umask, None))
        };
        let found = planned(&writer.overlay(repo), &snapshot)?.unlike(&writer.overlay(repo))?;
        snapshot.lists.raw.extend(found.as_stored);
        snapshot.lists.sort();
        snapshot.lists.raw.dedup();
        restore::include(repo, &writer, &mut snapshot, &found.unlike)?;
        let overlay = writer.overlay(repo);
        let plan = planned(&overlay, &snapshot)?;
        // After every byte that the plan compares with was read.
        let again = Writer::memory(repo);
        let now = compose::present(self.there, &again, true, &[])?;
        if !clean::is_saved(self.there, &again.overlay(repo), &checkpoint, &now) {
            return Err(self.written(None));
        }
        // Before it is looked at whether there is work in them.
        let mut named = NamedFiles::new();
        self.note(&submodules::all(self.path)?, &mut named)?;
        let repositories = self.repositories()?;
        let lost = self.unsaved(&now.lists(), found.lossy)?;
        if !lost.is_empty() && !self.force {
            return Err(RemovalError::NotAllSaved {
                session: self.name.clone(),
                paths: lost,
            }
            .into());
        }
        self.note(&lost, &mut named)?;
        if let Some(blocked) = plan.blocked.first() {
            return Err(self.kept(&blocked.path, &blocked.why));
        }
        if os::is_cancelled() {
            return Err(WorktreeError::Cancelled.into());
        }
        os::complete_this();
        let work = fork_notes::ForkWork::begin(self.scene, note)?;
        // A command that completes the fork must not take the files for complete.
        let before = restored::read(repo)?;
        restored::write(repo, None)?;
        let token = os::random_token().map_err(Error::Random)?;
        let mut execution = Execution {
            token: &token,
            progress: &mut |_, _| (),
        };
        let mut deleted = HashSet::new();
        let mut rest = Rest::default();
        let removed = match restore::execute(&overlay, &plan, &mut execution) {
            Err(error) => Err(error.into()),
            Ok(done) => {
                deleted.extend(done.changes.iter().map(|change| change.path.clone()));
                match (done.stopped, done.moved.first(), done.failed.first()) {
                    (Some(error), ..) => Err(error.into()),
                    (None, Some(path), _) => Err(self.written(Some(path.clone()))),
                    (None, None, Some((path, why))) => Err(self.kept(path, why)),
                    (None, None, None) => self.rest(&mut rest, named, &repositories),
                }
            }
        };
        if let Err(error) = removed {
            self.put_back(&checkpoint, deleted, &rest.removed)?;
            restored::write(repo, before.as_ref())?;
            work.end()?;
            return Err(error);
        }
        drop(locks);
        cut_off::forget(self.scene, self.path)?;
        work.end()
    }

    fn written(&self, path: Option<RepoPath>) -> Error {
        let (session, forced) = (self.name.clone(), self.force);
        RemovalError::Written { session, path, forced }.into()
    }

    /// Notes the stat data of files, and of all that is in directories, before they are deleted although nothing else has them.
    fn note(&self, paths: &[RepoPath], named: &mut NamedFiles) -> Result<(), Error> {
        for path in paths {
            let path = path.as_bytes();
            let path = RepoPath::from(path.strip_suffix(b"/").unwrap_or(path));
            let full = self.path.join(os::os_string(path.as_bytes()));
            stat_below(&full, &path, named).map_err(store::Error::io("read", full))?;
        }
        Ok(())
    }

    /// The stat data of the repositories of submodules, which git removes with the working tree.
    fn repositories(&self) -> Result<NamedFiles, Error> {
        let mut found = NamedFiles::new();
        let (name, directory) = ("modules", self.there.repo.git_dir().join("modules"));
        stat_below(&directory, &RepoPath::from(name.as_bytes()), &mut found)
            .map_err(store::Error::io("read", directory))?;
        Ok(found)
    }

    /// Refuses if the repositories of submodules are not as they were: another process commits in them.
    fn refuse_written(&self, repositories: &NamedFiles) -> Result<(), Error> {
        let now = self.repositories()?;
        let is_same = |path: &&RepoPath| match (now.get(*path), repositories.get(*path)) {
            (Some(now), Some(before)) => now.is_same(before),
            _ => false,
        };
        let mut paths = now.keys().chain(repositories.keys());
        match paths.find(|path| !is_same(path)) {
            Some(path) => Err(self.written(Some(path.clone()))),
            None => Ok(()),
        }
    }

    fn kept(&self, path: &RepoPath, why: &dyn ToString) -> Error {
        let (session, path, why) = (self.name.clone(), path.clone(), why.to_string());
        RemovalError::Kept { session, path, why }.into()
    }

    /// Removes what no checkpoint holds and may go, and the directories.
    fn rest(&self, rest: &mut Rest, named: NamedFiles, repositories: &NamedFiles) -> Result<(), Error> {
        *rest = Rest {
            root: self.path.to_owned(),
            here: self.here.to_owned(),
            named,
            ..Rest::default()
        };
        let failed = |error| Error::from(store::Error::io("remove", self.path)(error));
        // Before the first deletion, all of it is looked at.
        self.refuse_written(repositories)?;
        for look in [true, false] {
            rest.directory(b"", look).map_err(failed)?;
            if let Some(path) = rest.found.take() {
                return Err(self.written(Some(path)));
            }
        }
        self.refuse_written(repositories)?;
        let link = self.path.join(".git");
        let own = fs::read(&link).map_err(failed)?;
        fs::remove_file(&link).map_err(failed)?;
        if let Err(error) = fs::remove_dir(self.path) {
            fs::write(&link, own).map_err(failed)?;
            let names = fs::read_dir(self.path).into_iter().flatten().flatten();
            let mut names = names.map(|entry| entry.file_name()).filter(|name| name != ".git");
            return Err(match names.next() {
                Some(name) => self.written(Some(RepoPath::new(name.as_encoded_bytes()))),
                None => failed(error),
            });
        }
        Ok(())
    }

    /// Writes the deleted files again, and the ignored ones that are in this working tree as well. What took the place of
    /// one stays.
    fn put_back(&self, saved: &Checkpoint, deleted: HashSet<RepoPath>, ignored: &[RepoPath]) -> Result<(), Error> {
        let repo = self.there.repo;
        let writer = Writer::memory(repo);
        let snapshot = compose::snapshot(self.there, &writer, &[])?;
        let paths: Vec<RepoPath> = deleted.into_iter().collect();
        let is_absent = |path: &RepoPath| {
            self.path
                .join(os::os_string(path.as_bytes()))
                .symlink_metadata()
                .is_err()
        };
        let only: HashSet<RepoPath> = paths.into_iter().filter(|path| is_absent(path)).collect();
        let target = TargetState::of(self.there, saved, self.name.as_str())?;
        let overlay = writer.overlay(repo);
        let options = RestoreOptions {
            own: Some(&only),
            is_earlier: true,
            trusted: true,
            tracked: Some(target.index),
            ..options(snapshot.umask, Some(&only))
        };
        let plan = restore::plan(&overlay, target_state::files(&snapshot), target.files(), options)?;
        let token = os::random_token().map_err(Error::Random)?;
        let mut execution = Execution {
            token: &token,
            progress: &mut |_, _| (),
        };
        let done = restore::execute(&overlay, &plan, &mut execution)?;
        if let Some(error) = done.stopped {
            return Err(error.into());
        }
        if let Some((path, why)) = done.failed.first() {
            return Err(self.kept(path, why));
        }
        for (_, copied) in worktree::copy(self.here, self.path, ignored)? {
            copied.map_err(store::Error::io("copy to", self.path))?;
        }
        if let Some(snapshot) = &saved.document.snapshot {
            submodules::populate(self.here, self.path, &snapshot.tree)?;
        }
        Ok(())
    }
}

fn options(umask: u32, only: Option<&HashSet<RepoPath>>) -> RestoreOptions<'_> {
    RestoreOptions {
        only,
        umask,
        ..RestoreOptions::default()
    }
}

/// The rest of a working tree whose saved files are gone.
#[derive(Default)]
struct Rest {
    root: PathBuf,
    here: PathBuf,
    /// Files that go although this working tree does not have them: those that are to be deleted, and clean submodules.
    named: NamedFiles,
    /// A path that is in the way.
    found: Option<RepoPath>,
    /// Files that were removed because this working tree has them as well.
    removed: Vec<RepoPath>,
}

impl Rest {
    /// Removes what is in a directory and may go; with `look` it is only looked at. The first path that may not ends it.
    fn directory(&mut self, directory: &[u8], look: bool) -> io::Result<()> {
        for entry in fs::read_dir(self.root.join(os::os_string(directory)))? {
            let name = entry?.file_name();
            let name = name.as_encoded_bytes();
            let path = RepoPath::new(match directory {
                b"" => name.to_vec(),
                _ => [directory, b"/", name].concat(),
            });
            if path.as_bytes() == b".git" {
                continue;
            }
            let [full, other] = [&self.root, &self.here].map(|root| root.join(os::os_string(path.as_bytes())));
            let is_directory = match full.symlink_metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                meta => meta?.is_dir(),
            };
            if is_directory {
                self.directory(path.as_bytes(), look)?;
                if self.found.is_some() {
                    return Ok(());
                }
                match fs::remove_dir(&full) {
                    _ if look => {}
                    Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => self.found = Some(path),
                    removed => removed?,
                }
            } else if look {
                if !self.is_as_named(&full, &path, true) && !is_same(&full, &other) {
                    self.found = Some(path);
                }
            } else if !self.file(&full, &other, &path)? {
                self.found = Some(path);
            }
            if self.found.is_some() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Moves a file away, looks at it once more, and deletes it. Returns whether it may go.
    fn file(&mut self, full: &Path, other: &Path, path: &RepoPath) -> io::Result<bool> {
        let was_named = self.is_as_named(full, path, true);
        let aside = full.with_file_name(format!(".checkpoint-removed-{}", os::random_token()?));
        fs::rename(full, &aside)?;
        if was_named && self.is_as_named(&aside, path, false) {
            fs::remove_file(&aside)?;
            return Ok(true);
        }
        if is_same(&aside, other) {
            fs::remove_file(&aside)?;
            self.removed.push(path.clone());
            return Ok(true);
        }
        // What was written under the name since is not replaced.
        if full.symlink_metadata().is_err() {
            fs::rename(&aside, full)?;
        }
        Ok(false)
    }

    /// Whether a file was named and is as it was then. A new name shows in the time of its last change.
    fn is_as_named(&self, file: &Path, path: &RepoPath, has_its_name: bool) -> bool {
        let (Some(named), Ok(now)) = (self.named.get(path), stat(file)) else {
            return false;
        };
        let ctime = if has_its_name { now.ctime } else { named.ctime };
        Meta { ctime, ..now }.is_same(named)
    }
}

/// Stat data of files, by path.
type NamedFiles = HashMap<RepoPath, Meta>;

/// Stat data of a file; symlinks are not followed.
fn stat(file: &Path) -> io::Result<Meta> {
    let parent = Dir::open(file.parent().unwrap_or(file))?;
    parent.stat(file.file_name().unwrap_or_default().as_encoded_bytes())
}

/// Notes the stat data of a file, or of all files in a directory.
fn stat_below(full: &Path, path: &RepoPath, out: &mut NamedFiles) -> io::Result<()> {
    let meta = match stat(full) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        meta => meta?,
    };
    if meta.kind != FileKind::Directory {
        out.entry(path.clone()).or_insert(meta);
        return Ok(());
    }
    for entry in fs::read_dir(full)? {
        let name = entry?.file_name();
        let path = RepoPath::new([path.as_bytes(), b"/", name.as_encoded_bytes()].concat());
        stat_below(&full.join(&name), &path, out)?;
    }
    Ok(())
}

/// Whether two files, or two symlinks, are the same; what cannot be read is not.
fn is_same(one: &Path, other: &Path) -> bool {
    os::is_same_content(one, other).unwrap_or(false)
}

/// A place from which another working tree can be removed: the main working tree, else another linked one, else the
/// repository, where that is bare.
fn elsewhere(scene: &Scene<'_>, here: &Path) -> PathBuf {
    let real = |path: &Path| path.canonicalize().ok();
    let trees = store::worktree_ids(scene.repo)
        .into_iter()
        .filter_map(|id| real(&store::worktree_path(scene.repo, &id)?));
    let mut others = trees.filter(|path| Some(path) != real(here).as_ref());
    let common = scene.repo.common_dir();
    others
        .next()
        .or_else(|| real(common))
        .unwrap_or_else(|| common.to_owned())
}

/// Ignored files that differ from those of this working tree: `checkpoint.forkCopy` copied the others from here.
pub(super) fn ignored(there: &Scene<'_>, path: &Path, here: &Path) -> Result<Vec<RepoPath>, Error> {
    let output = store::git(there.repo)
        .args(["ls-files", "-z", "--others", "--ignored", "--exclude-standard"])
        .run()
        .map_err(store::Error::from)?;
    let paths = output.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let is_other = |relative: &&[u8]| {
        let name = os::os_string(relative);
        !is_same(&path.join(&name), &here.join(&name))
    };
    Ok(paths.filter(is_other).map(RepoPath::from).collect())
}
