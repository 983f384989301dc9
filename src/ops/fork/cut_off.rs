//! A removal of a fork's working tree that was cut off, taken up.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    super::{Error, Scene, compose, fork_notes, plan_runner::ProgressCallback, session_choice},
    unfinished,
};
use crate::{
    model::name::ShortName,
    os,
    store::{self, ObjectId, checkpoint::object_id, objects::Writer, tree},
};

/// Removal of a fork's working tree.
#[derive(Debug)]
pub struct WorktreeRemoval {
    /// Its directory.
    pub path: PathBuf,
    /// The session.
    pub session: ShortName,
    /// The checkpoint that holds what was in it.
    pub saved: ObjectId,
    /// The branch that was checked out in it, which stays.
    pub branch: Option<String>,
}

/// Takes up a removal that was cut off. What it deleted is written again, for all of it to be saved and looked at anew:
/// others may have written there since. Returns the outcome where only git's own note of the working tree was left.
pub(super) fn take_up(
    scene: &Scene<'_>,
    note: fork_notes::ForkNote,
    progress: ProgressCallback<'_>,
) -> Result<Option<WorktreeRemoval>, Error> {
    let path = PathBuf::from(os::os_string(note.path.as_bytes()));
    let is_empty = match fs::read_dir(&path) {
        Ok(mut names) => names.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    let Some(saved) = note.removal.clone() else {
        return Ok(None);
    };
    if !is_empty {
        refuse_changed(scene, &note.session, &path, object_id(&saved))?;
        unfinished::complete_files(scene, &note, progress)?;
        return Ok(None);
    }
    let work = fork_notes::ForkWork::enter(scene, note.clone())?;
    match fs::remove_dir(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(store::Error::io("remove", path)(error).into());
        }
        _ => {}
    }
    forget(scene, &path)?;
    work.end()?;
    Ok(Some(WorktreeRemoval {
        path,
        session: note.session,
        saved: object_id(&saved),
        branch: Some(note.branch).filter(|branch| !branch.is_empty()),
    }))
}

/// Refuses to write files again where others have changed them since they were saved: theirs would be replaced.
fn refuse_changed(scene: &Scene<'_>, session: &ShortName, path: &Path, saved: ObjectId) -> Result<(), Error> {
    let refused = |what: String| Err(Error::PathTaken { what });
    let Some(repo) = store::open_beside(path).ok().filter(|_| path.join(".git").is_file()) else {
        return refused(format!(
            "the working tree of fork '{session}' is removed, and '{}' has files that were written since; move them away, \
             then: git checkpoint fork --remove {session}",
            path.display()
        ));
    };
    let there = Scene {
        repo: &repo,
        session: Some(session),
        index: None,
        ..*scene
    };
    let checkpoint = session_choice::load(scene, session.as_str(), saved)?;
    let writer = Writer::memory(&repo);
    let present = compose::present(&there, &writer, true, &[])?;
    let (Some(now), Some(then)) = (&present.snapshot, &checkpoint.document.snapshot) else {
        return Err(Error::ConcurrentModification);
    };
    let changes = tree::diff(
        &writer.overlay(&repo),
        Some(object_id(&then.tree)),
        Some(now.tree),
        tree::Renames::Off,
    )?;
    match changes
        .iter()
        .find(|change| change.old.is_some() && change.new.is_some())
    {
        None => Ok(()),
        Some(change) => refused(format!(
            "the removal of fork '{session}' was cut off, and '{}' was changed since; copy it, then bring the fork's files \
             back: git checkpoint fork --continue {session}",
            change.path.quoted()
        )),
    }
}

/// Has git forget a working tree whose directory is gone.
pub(super) fn forget(scene: &Scene<'_>, path: &Path) -> Result<(), Error> {
    let ids = store::worktree_ids(scene.repo).into_iter();
    let mut paths = ids.filter_map(|id| store::worktree_path(scene.repo, &id));
    if !paths.any(|known| known == path) {
        return Ok(());
    }
    let git = store::git(scene.repo).args(["worktree", "remove", "--force", "--"]);
    git.arg(path).run().map_err(store::Error::from)?;
    os::trace::changed();
    Ok(())
}
