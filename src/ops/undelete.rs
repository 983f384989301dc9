//! `list --trash` and `undelete`: deleted sessions, and bringing one back.

use super::{
    Error, Scene,
    ref_transaction::{Aftermath, UndoableRefTransaction},
};
use crate::{
    model::{document::CheckpointKind, name::ShortName},
    store::{
        ObjectId,
        checkpoint::{self, CheckpointCommit},
        current, lock,
        refs::{self, ExpectedValue, RefUpdate},
        session,
    },
};

/// Where deleted sessions are.
const TRASH: &str = "refs/checkpoints-trash/";

/// A session in the trash.
#[derive(Debug)]
pub struct TrashedSession {
    /// The name it had.
    pub name: ShortName,
    /// The ref that keeps it.
    pub trash: String,
    /// Its latest checkpoint.
    pub tip: CheckpointCommit,
    /// When it was deleted, in seconds since 1970.
    pub at: i64,
}

/// A session that came back.
#[derive(Debug)]
pub struct UndeleteOutcome {
    /// Its name.
    pub name: ShortName,
    /// Its latest checkpoint.
    pub tip: ObjectId,
    /// Warnings and clean-ups after the change.
    pub aftermath: Aftermath,
}

/// The sessions in the trash, the one deleted last first. What was rewritten by other commands is there as well, and is
/// no session that was deleted.
pub fn trash(scene: &Scene<'_>) -> Result<Vec<TrashedSession>, Error> {
    let mut found = Vec::new();
    for (full, target) in refs::list(scene.repo, TRASH)? {
        let Ok(target) = target else { continue };
        let log = refs::reflog(scene.repo, &full)?;
        let Some(made) = log.last() else { continue };
        let Some(name) = made.message.strip_prefix("checkpoint: delete ") else {
            continue;
        };
        let (Ok(name), Ok(tip)) = (ShortName::new(name), checkpoint::entry(scene.repo, target)) else {
            continue;
        };
        if tip.trailers.kind == Some(CheckpointKind::Autosave) {
            continue;
        }
        found.push(TrashedSession {
            name,
            trash: full,
            tip,
            at: made.who.time.seconds,
        });
    }
    found.sort_by_key(|deleted| std::cmp::Reverse(deleted.at));
    Ok(found)
}

/// Brings a session back from the trash: the one of this name that was deleted last, or the one with this id. `to` is
/// another name for it.
pub fn undelete(
    scene: &Scene<'_>,
    what: &str,
    to: Option<&ShortName>,
    dry_run: bool,
) -> Result<UndeleteOutcome, Error> {
    let mut _worktree = None;
    if !dry_run {
        _worktree = Some(lock::worktree(scene.repo, scene.wait)?);
        refs::recover(scene.repo, scene.wait)?;
    }
    let all = trash(scene)?;
    let is_id = |deleted: &&TrashedSession| what.len() >= 4 && deleted.tip.id.to_string().starts_with(what);
    let is_identity = |deleted: &&TrashedSession| deleted.trash.split('/').nth(2) == Some(what);
    let found = all.iter().find(|deleted| deleted.name.as_str() == what);
    let found = found.or_else(|| all.iter().find(is_identity));
    let Some(found) = found.or_else(|| all.iter().find(is_id)) else {
        return Err(Error::NotInTrash {
            what: what.to_owned(),
            names: all.iter().map(|deleted| deleted.name.to_string()).collect(),
        });
    };
    let name = to.unwrap_or(&found.name).clone();
    if session::tip(scene.repo, &name)?.is_some() {
        return Err(Error::Exists { name });
    }
    let tip = found.tip.id;
    let mut undeleted = UndeleteOutcome {
        name: name.clone(),
        tip,
        aftermath: Aftermath::default(),
    };
    if dry_run {
        return Ok(undeleted);
    }
    let message = format!("checkpoint: undelete {name}");
    let edits = [
        RefUpdate {
            name: session::ref_name(&name),
            expected: ExpectedValue::Absent,
            new: Some(tip),
            message: message.clone(),
        },
        RefUpdate {
            name: found.trash.clone(),
            expected: ExpectedValue::Is(tip),
            new: None,
            message,
        },
    ];
    let now = current::read_to_replace(scene.repo)?;
    undeleted.aftermath = UndoableRefTransaction {
        operation: "undelete",
        what: format!("undeleted session {name}"),
        edits: &edits,
        current: Some((now.clone(), now)),
        remedy: String::new(),
        ..UndoableRefTransaction::default()
    }
    .run(scene)?;
    Ok(undeleted)
}
