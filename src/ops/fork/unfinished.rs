//! A fork that was cut off before its working tree was complete, completed.

use std::path::PathBuf;

use super::{
    super::{Error, Scene, fork_notes, plan_runner::ProgressCallback, session_choice, suggestions},
    ForkOutcome, ForkTarget, ForkWorktree, list, places, setup,
};
use crate::{model::name::ShortName, os};

/// Completes the working tree of a fork that was cut off, and runs a set-up command again that failed.
pub fn finish(scene: &Scene<'_>, name: &ShortName, progress: ProgressCallback<'_>) -> Result<ForkOutcome, Error> {
    let note = fork_notes::all(scene)?.into_iter().find(|note| note.session == *name);
    let chosen = session_choice::named(scene, name)?.ok_or_else(|| suggestions::absent(scene, name))?;
    let Some(note) = note else {
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
    let work = fork_notes::ForkWork::enter(scene, note.clone())?;
    let is_complete = note.setup.is_some();
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
    let wanted = ForkTarget {
        name: Some(name.clone()),
        worktree: Some(PathBuf::from(os::os_string(note.path.as_bytes()))),
        branch: Some(note.branch),
        option: None,
    };
    let path = wanted.worktree.clone().unwrap_or_default();
    let mut made = if is_complete {
        ForkWorktree::complete(path, wanted.branch.clone())
    } else {
        places::complete(scene, &forked, &wanted, &path, progress)?
    };
    if let Some(command) = scene.settings.fork_setup.as_ref().filter(|_| made.brought.is_done()) {
        setup::run_in(command, std::iter::once(&mut made));
    }
    if made.brought.is_done() {
        work.end_after(made.setup_code())?;
    }
    forked.worktree = Some(made);
    Ok(forked)
}
