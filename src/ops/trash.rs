//! Content of the trash: deleted sessions, amended checkpoints, and what other commands replaced.

use super::{Error, Scene};
use crate::{
    model::{document::CheckpointKind, name::ShortName},
    store::{
        checkpoint::{self, Checkpoint, CheckpointCommit},
        refs,
    },
};

/// Where deleted sessions are.
pub(super) const TRASH: &str = "refs/checkpoints-trash/";

/// Begin of the message with which a session that is deleted gets into the trash.
const DELETED: &str = "checkpoint: delete ";

/// The message with which a session of this name gets into the trash.
pub(super) fn deletion(name: &str) -> String {
    format!("{DELETED}{name}")
}

/// Messages with which earlier versions put a session back into the trash.
const DELETED_AGAIN: [&str; 2] = ["checkpoint: undo undelete", "checkpoint: redo delete"];

/// Begin of the message with which a checkpoint that is amended gets into the trash.
const AMENDED: &str = "checkpoint: amend ";

/// Message of the command that puts it back there.
const AMENDED_AGAIN: &str = "checkpoint: redo amend";

/// A deleted session, or a checkpoint that 'save --amend' replaced.
#[derive(Debug)]
pub struct TrashEntry {
    /// The session, by the name that it had.
    pub name: ShortName,
    /// The ref that keeps it.
    pub trash: String,
    /// The session's latest checkpoint, or the replaced one.
    pub tip: CheckpointCommit,
    /// When it was deleted or replaced, in seconds since 1970.
    pub at: i64,
}

/// The sessions in the trash, the one deleted last first. What was rewritten by other commands is there as well, and is
/// no session that was deleted.
pub fn deleted(scene: &Scene<'_>) -> Result<Vec<TrashEntry>, Error> {
    let mut found = entries(scene, |message, session| match message.strip_prefix(DELETED) {
        None if DELETED_AGAIN.contains(&message) => session,
        name => name,
    })?;
    found.retain(|deleted| deleted.tip.trailers.kind != Some(CheckpointKind::Autosave));
    found.sort_by_key(|deleted| std::cmp::Reverse(deleted.at));
    Ok(found)
}

/// The autosaves that were deleted with a session, with their refs.
pub(super) fn autosaves(scene: &Scene<'_>, of: &TrashEntry) -> Result<Vec<(String, Checkpoint)>, Error> {
    let arrived = |name: &str| -> Result<Option<(String, i64)>, Error> {
        let log = refs::reflog(scene.repo, name)?;
        Ok(log.last().map(|made| (made.message.clone(), made.who.time.seconds)))
    };
    let deleted = arrived(&of.trash)?;
    let mut found = Vec::new();
    let Some((session, _)) = of.trash.rsplit_once('/') else {
        return Ok(found);
    };
    for (name, target) in refs::list(scene.repo, &format!("{session}/"))? {
        if name == of.trash || arrived(&name)? != deleted {
            continue;
        }
        let autosave = target.ok().and_then(|id| checkpoint::load(scene.repo, id).ok());
        found.extend(
            autosave
                .filter(|it| it.document.kind == CheckpointKind::Autosave)
                .map(|it| (name, it)),
        );
    }
    Ok(found)
}

/// The checkpoints in the trash that were amended, the one replaced last first.
pub fn replaced(scene: &Scene<'_>) -> Result<Vec<TrashEntry>, Error> {
    let mut found = entries(scene, |message, session| match message.strip_prefix(AMENDED) {
        None if message == AMENDED_AGAIN => session,
        name => name,
    })?;
    // Within one second the later entry has the higher number.
    found.sort_by_key(|replaced| {
        let number = replaced.trash.rsplit('/').next().and_then(|n| n.parse::<u64>().ok());
        std::cmp::Reverse((replaced.at, number))
    });
    Ok(found)
}

/// Entries of the trash. `name` gives the name of their session from the message with which they came
/// there and the name that the checkpoint has; `None` for others.
fn entries(
    scene: &Scene<'_>,
    name: impl for<'t> Fn(&'t str, Option<&'t str>) -> Option<&'t str>,
) -> Result<Vec<TrashEntry>, Error> {
    let mut found = Vec::new();
    for (trash, target) in refs::list(scene.repo, TRASH)? {
        let Ok(target) = target else { continue };
        let log = refs::reflog(scene.repo, &trash)?;
        let Some(made) = log.last() else { continue };
        let Ok(tip) = checkpoint::entry(scene.repo, target) else {
            continue;
        };
        let Some(Ok(name)) = name(&made.message, tip.trailers.session.as_deref()).map(ShortName::new) else {
            continue;
        };
        found.push(TrashEntry {
            name,
            trash,
            tip,
            at: made.who.time.seconds,
        });
    }
    Ok(found)
}

/// How many states of sessions are in the trash besides deleted sessions and amended checkpoints: what a prune, an undo
/// or a repair replaced.
pub fn older_states(scene: &Scene<'_>) -> Result<usize, Error> {
    let listed = deleted(scene)?.len() + replaced(scene)?.len();
    Ok(refs::list(scene.repo, TRASH)?.len().saturating_sub(listed))
}
