//! A fork that was cut off before its working tree was complete, completed.

use std::path::PathBuf;

use super::{
    super::{
        Error, Scene,
        fork_notes::{self, ForkNote},
        plan_runner::ProgressCallback,
        session_choice, suggestions,
    },
    ForkOutcome, ForkTarget, ForkWorktree, list, places, setup,
};
use crate::{model::name::ShortName, os};

/// Completes the working tree of a fork that was cut off, and runs a set-up command again that failed.
pub fn finish(scene: &Scene<'_>, name: &ShortName, progress: ProgressCallback<'_>) -> Result<ForkOutcome, Error> {
    let note = fork_notes::all(scene)?.into_iter().find(|note| note.session == *name);
    let Some(note) = note else {
        let chosen = session_choice::named(scene, name)?.ok_or_else(|| suggestions::absent(scene, name))?;
        if chosen.tip.document.session.forked_from.is_none() {
            let what = format!("session '{name}' is not a fork");
            return Err(Error::PathTaken { what });
        }
        return Err(match list::place_of(scene, &chosen.tip.document.session.id) {
            Some(_) => Error::NothingTo {
                what: "continue: the working tree of this fork is complete",
            },
            None => Error::PathTaken {
                what: format!(
                    "session '{name}' has no working tree; fork it into one: git checkpoint fork {name} --worktree <path>"
                ),
            },
        });
    };
    let (mut forked, work) = complete(scene, name, &note, progress)?;
    let Some(made) = &mut forked.worktree else {
        return Ok(forked);
    };
    if let Some(command) = scene.settings.fork_setup.as_ref().filter(|_| made.brought.is_done()) {
        setup::run_in(command, std::iter::once(&mut *made));
    }
    if made.brought.is_done() {
        work.end_after(made.setup_code())?;
    }
    Ok(forked)
}

/// Completes the files of a fork whose removal was cut off, for it to be removed.
pub(super) fn complete_files(scene: &Scene<'_>, note: &ForkNote, progress: ProgressCallback<'_>) -> Result<(), Error> {
    let (forked, work) = complete(scene, &note.session, note, progress)?;
    if forked.worktree.is_some_and(|made| made.brought.is_done()) {
        return work.end();
    }
    Err(Error::PathTaken {
        what: format!(
            "the removal of fork '{0}' was cut off, and its files could not be completed; see why: git checkpoint fork \
             --continue {0}",
            note.session
        ),
    })
}

/// Completes the working tree that a note is of, where it is not. The work on it lasts until that is ended or dropped.
fn complete(
    scene: &Scene<'_>,
    name: &ShortName,
    note: &ForkNote,
    progress: ProgressCallback<'_>,
) -> Result<(ForkOutcome, fork_notes::ForkWork), Error> {
    let chosen = session_choice::named(scene, name)?.ok_or_else(|| suggestions::absent(scene, name))?;
    let work = fork_notes::ForkWork::enter(scene, note.clone())?;
    let tip = chosen.tip;
    let source = tip.previous().ok_or(Error::ConcurrentModification)?;
    let mut forked = ForkOutcome {
        name: name.clone(),
        id: tip.entry.id,
        digest: tip.digest.clone(),
        source,
        source_session: tip
            .document
            .session
            .forked_from
            .as_ref()
            .map(|from| from.session.clone()),
        document: tip.document,
        worktree: None,
    };
    let path = PathBuf::from(os::os_string(note.path.as_bytes()));
    let wanted = ForkTarget {
        name: Some(name.clone()),
        worktree: Some(path.clone()),
        // A working tree without a branch gets the usual one.
        branch: Some(note.branch.clone()).filter(|branch| !branch.is_empty()),
        option: None,
    };
    forked.worktree = Some(if note.setup.is_some() {
        ForkWorktree::complete(path, wanted.branch.clone())
    } else {
        // What was written where a removal had begun is in no checkpoint.
        let keeps = note.removal.is_some();
        places::complete(scene, &forked, &wanted, (&path, keeps), progress)?
    });
    Ok((forked, work))
}
