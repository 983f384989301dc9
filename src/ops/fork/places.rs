//! Where forks go: names, branches and directories that have to be free, and the working tree that is made for one.

use super::super::{
    Error, Scene, fork_notes, interrupted,
    plan_runner::{self, AppliedPlan, OperationLocks, OperationWait, ProgressCallback},
    restore, session_choice,
};
use super::{ForkOutcome, ForkTarget, ForkWorktree, ScriptRun, carried, filtered, setup, submodules};
use crate::{
    model::{id::Oid, list::SkippedEntry, name::ShortName},
    os,
    store::{
        self, ObjectId,
        checkpoint::{self, object_id},
        current, refs, restored, session,
    },
    worktree,
};

/// The branch of a fork in a working tree.
pub(super) fn branch_of(wanted: &ForkTarget, name: &ShortName) -> String {
    let branch = wanted.branch.clone();
    branch.unwrap_or_else(|| format!("checkpoint/{name}"))
}

/// Before anything is written: that names, directories and branches are free.
pub(super) fn check_places(scene: &Scene<'_>, forks: &[ForkTarget]) -> Result<(), Error> {
    let taken = |what: String| Err(Error::PathTaken { what });
    for (at, wanted) in forks.iter().enumerate() {
        let earlier = &forks[..at];
        if let Some(name) = &wanted.name
            && (session::tip(scene.repo, name)?.is_some()
                || earlier.iter().any(|other| other.name.as_ref() == Some(name)))
        {
            fork_notes::refuse(scene, name)?;
            return Err(Error::Exists { name: name.clone() });
        }
        let Some(path) = &wanted.worktree else { continue };
        let is_free = match std::fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        if !is_free || earlier.iter().any(|other| other.worktree.as_ref() == Some(path)) {
            return taken(format!(
                "'{}' exists already; a working tree needs its own directory",
                path.display()
            ));
        }
        let Some(branch) = wanted
            .branch
            .clone()
            .or_else(|| wanted.name.as_ref().map(|name| branch_of(wanted, name)))
        else {
            continue;
        };
        let full = format!("refs/heads/{branch}");
        let is_name = store::git(scene.repo)
            .args(["check-ref-format", "--branch"])
            .arg(&branch)
            .run()
            .is_ok();
        if !is_name || branch.starts_with('-') {
            return taken(format!("'{branch}' is no name for a branch"));
        }
        if refs::read(scene.repo, &full)?.is_some()
            || earlier.iter().any(|other| other.branch.as_ref() == Some(&branch))
        {
            return taken(format!(
                "branch '{branch}' exists already; name another one with --branch"
            ));
        }
    }
    Ok(())
}

/// Makes a working tree at the commit of the source, and brings its files to what the source holds.
pub(super) fn work_tree(
    scene: &Scene<'_>,
    forked: &ForkOutcome,
    wanted: &ForkTarget,
    path: &std::path::Path,
    progress: ProgressCallback<'_>,
) -> Result<ForkWorktree, Error> {
    let head = forked.document.git.head.as_ref();
    let branch = branch_of(wanted, &forked.name);
    if let Err(error) = add(scene, &[], &branch, head, path) {
        drop_branch(scene, &branch, head.map(object_id));
        return Err(error);
    }
    fill(scene, forked, (branch, path), false, progress)
}

/// Runs `git worktree add` for a new branch at a commit, or an unborn one without.
fn add(
    scene: &Scene<'_>,
    options: &[&str],
    branch: &str,
    head: Option<&Oid>,
    path: &std::path::Path,
) -> Result<(), Error> {
    let mut git = store::git(scene.repo)
        .args(["worktree", "add", "--quiet"])
        .args(options);
    if head.is_none() {
        git = git.arg("--orphan");
    }
    // By force also where git was killed in the middle of the same before.
    git = git.args(["--force", "--force", "-b", branch, "--"]).arg(path);
    if let Some(head) = head {
        git = git.arg(head.as_str());
    }
    git.config("core.fsync=all").run().map_err(store::Error::from)?;
    Ok(())
}

/// Completes a working tree that was cut off at any point. With `keeps`, files that the fork does not have stay.
pub(super) fn complete(
    scene: &Scene<'_>,
    forked: &ForkOutcome,
    wanted: &ForkTarget,
    (path, keeps): (&std::path::Path, bool),
    progress: ProgressCallback<'_>,
) -> Result<ForkWorktree, Error> {
    let branch = branch_of(wanted, &forked.name);
    if !is_begun(scene, path) {
        return Err(Error::PathTaken {
            what: format!("'{}' has another repository by now", path.display()),
        });
    }
    let repo = store::open_worktree(scene.repo, path)
        .ok()
        .filter(|_| path.join(".git").is_file());
    if let Some(repo) = repo.filter(|repo| refs::head(repo).is_ok()) {
        // What git left when it was killed: the working tree is ours to complete.
        let own = repo.git_dir();
        for name in ["index.lock", "HEAD.lock"] {
            let _ = std::fs::remove_file(own.join(name));
        }
        if std::fs::read(own.join("locked")).is_ok_and(|reason| reason.trim_ascii() == b"initializing") {
            let _ = std::fs::remove_file(own.join("locked"));
        }
        return fill(scene, forked, (branch, path), keeps, progress);
    }
    // git had not got far: it begins anew.
    unlock_begun(scene, path);
    let _ = std::fs::remove_file(path.join(".git"));
    let prune = store::git(scene.repo).args(["worktree", "prune", "--expire=now"]);
    let _ = prune.run();
    let head = forked.document.git.head.as_ref();
    drop_branch(scene, &branch, head.map(object_id));
    let is_empty = std::fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none());
    if is_empty {
        return work_tree(scene, forked, wanted, path, progress);
    }
    adopt(scene, &branch, head, path)?;
    fill(scene, forked, (branch, path), keeps, progress)
}

/// Whether the `.git` of a directory, if there is one, is what git had written for a working tree of this repository.
fn is_begun(scene: &Scene<'_>, path: &std::path::Path) -> bool {
    let link = path.join(".git");
    if link.symlink_metadata().is_err() {
        return true;
    }
    let Ok(text) = os::read_regular(&link) else {
        return false;
    };
    let Some(place) = text.trim_ascii().strip_prefix(b"gitdir: ") else {
        return text.trim_ascii().is_empty();
    };
    let place = path.join(os::os_string(place));
    let real = |path: &std::path::Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let all = real(scene.repo.common_dir()).join("worktrees");
    place
        .parent()
        .is_some_and(|parent| parent == all || real(parent) == all)
}

/// Removes the lock of a working tree that git had begun to make, so that git forgets it. `git worktree remove` would delete
/// what others wrote there since.
fn unlock_begun(scene: &Scene<'_>, path: &std::path::Path) {
    let ids = store::worktree_ids(scene.repo).into_iter();
    for id in ids.filter(|id| store::worktree_path(scene.repo, id).as_deref() == Some(path)) {
        let Some(name) = id.strip_prefix("linked-") else {
            continue;
        };
        let lock = scene.repo.common_dir().join("worktrees").join(name).join("locked");
        if std::fs::read(&lock).is_ok_and(|reason| reason.trim_ascii() == b"initializing") {
            let _ = std::fs::remove_file(lock);
        }
    }
}

/// Makes a directory with files in it a working tree. They may be git's, from when it was killed, or a person's: bringing the
/// fork's files saves them first.
fn adopt(scene: &Scene<'_>, branch: &str, head: Option<&Oid>, path: &std::path::Path) -> Result<(), Error> {
    let failed = |error| Error::from(store::Error::io("make a working tree of", path)(error));
    let parent = path.parent().unwrap_or(path);
    let beside = parent.join(format!(".checkpoint-fork-{}", os::random_token().map_err(failed)?));
    std::fs::create_dir(&beside).map_err(failed)?;
    // The same name, after which git calls the working tree.
    let new = beside.join(path.file_name().unwrap_or_default());
    let made = add(scene, &["--no-checkout"], branch, head, &new);
    let moved = made.and_then(|()| std::fs::rename(new.join(".git"), path.join(".git")).map_err(failed));
    // Nothing but empty directories is left of it.
    let _ = std::fs::remove_dir(&new);
    let _ = std::fs::remove_dir(&beside);
    moved?;
    let repair = store::git(scene.repo).args(["worktree", "repair"]).arg(path);
    repair.run().map_err(store::Error::from)?;
    Ok(())
}

/// Brings the files of a new working tree to what the fork holds. What a killed call has done already stays.
fn fill(
    scene: &Scene<'_>,
    forked: &ForkOutcome,
    (branch, path): (String, &std::path::Path),
    keeps: bool,
    progress: ProgressCallback<'_>,
) -> Result<ForkWorktree, Error> {
    let head = forked.document.git.head.as_ref();
    let repo = store::open_worktree(scene.repo, path)?;
    let there = Scene {
        repo: &repo,
        index: None,
        ..*scene
    };
    let mut brought = if plan_runner::interrupted(&there)?.is_some() {
        let how = interrupted::Resume {
            force: false,
            dry_run: false,
        };
        let restored = interrupted::resume(&there, how, progress)?;
        restored.brought.unwrap_or_else(AppliedPlan::nothing)
    } else {
        let _locks = OperationLocks::take(&there, OperationWait::Patient, false)?;
        let fork = current::SessionRef {
            id: forked.document.session.id.clone(),
            name: forked.name.clone(),
        };
        let now = current::read_to_replace(&repo)?;
        current::write(&repo, &now.made_for(fork))?;
        let checkpoint = session_choice::load(&there, forked.name.as_str(), forked.id)?;
        let is_brought = restored::read(there.repo)?.is_some_and(|digest| digest == checkpoint.digest);
        if is_brought {
            AppliedPlan::nothing()
        } else {
            restore::into_new(&there, checkpoint, &forked.name, keeps, progress)?
        }
    };
    // The fork is made also where the current files cannot be read.
    let lacking = filtered::lacking(scene, forked, path).unwrap_or_default();
    brought.lossy = lacking.lossy;
    brought.partial = lacking.partial;
    let carried = carried::carry(scene, path)?;
    let (left_out, outdated) = left_out(scene, forked, path)?;
    let submodules = match &forked.document.snapshot {
        Some(snapshot) => submodules::populate(store::work_tree(scene.repo)?, path, &snapshot.tree)?,
        None => submodules::PopulatedSubmodules::default(),
    };
    let hook = match head {
        Some(head) => post_checkout(&there, head)?,
        None => None,
    };
    // All of it is new, and made here.
    os::hand_over(path, scene.repo.common_dir(), std::time::SystemTime::UNIX_EPOCH)
        .map_err(store::Error::io("give away", path))?;
    // What git wrote is only in the memory of the system, the branch and the working tree's own files among it.
    worktree::sync(&[path, scene.repo.common_dir()])?;
    Ok(ForkWorktree {
        path: path.to_owned(),
        branch: Some(branch),
        brought,
        copied: carried.copied,
        not_copied: carried.failed,
        left_out,
        outdated,
        submodules: submodules.populated,
        not_populated: submodules.failed,
        hook,
        setup: None,
        is_unfinished: false,
    })
}

/// What the checkpoint left out and was not copied either, and what it could not capture and the commit has. Repositories
/// below are left to git where they are submodules.
fn left_out(
    scene: &Scene<'_>,
    forked: &ForkOutcome,
    path: &std::path::Path,
) -> Result<(Vec<SkippedEntry>, Vec<SkippedEntry>), Error> {
    let checkpoint = session_choice::load(scene, forked.name.as_str(), forked.id)?;
    let lists = checkpoint::lists(scene.repo, &checkpoint).map_err(Error::damaged(forked.name.as_str()))?;
    let is_there = |skipped: &SkippedEntry| {
        let place = path.join(os::os_string(skipped.path.as_bytes()));
        place.symlink_metadata().is_ok()
    };
    let (there, absent) = lists.skipped.into_iter().partition::<Vec<_>, _>(is_there);
    let outdated = there.into_iter().filter(|skipped| skipped.reason.is_failure());
    Ok((absent, outdated.collect()))
}

/// Removes the branch of a working tree that could not be made: git leaves it.
fn drop_branch(scene: &Scene<'_>, branch: &str, at: Option<ObjectId>) {
    let Some(at) = at else { return };
    // One that is somewhere else by now is not ours to remove.
    let _ = store::git(scene.repo)
        .args(["update-ref", "-d"])
        .arg(format!("refs/heads/{branch}"))
        .arg(at.to_string())
        .run();
}

/// Runs the user's own post-checkout hook, as `git worktree add` does, once the files are there.
fn post_checkout(there: &Scene<'_>, head: &Oid) -> Result<Option<ScriptRun>, Error> {
    let hooks = store::git(there.repo)
        .user_hooks()
        .args(["rev-parse", "--git-path", "hooks/post-checkout"])
        .run()
        .map_err(store::Error::from)?;
    let root = store::work_tree(there.repo)?;
    let hook = root.join(os::os_string(hooks.stdout.trim_ascii_end()));
    if !hook.is_file() {
        return Ok(None);
    }
    let null = ObjectId::null(there.repo.object_hash()).to_string();
    Ok(Some(setup::hook(&hook, &[&null, head.as_str(), "1"], root)))
}
