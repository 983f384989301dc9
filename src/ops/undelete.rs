//! `list --trash` and `undelete`: deleted sessions and replaced checkpoints, and bringing a session back.

use super::{
    Error, Scene, ref_target,
    ref_transaction::{Aftermath, UndoableRefTransaction},
};
use crate::{
    model::{
        document::{CheckpointKind, SessionStatus},
        name::ShortName,
    },
    store::{
        self, ObjectId, branches,
        checkpoint::{self, CheckpointCommit},
        current::{self, SessionRef},
        lock,
        refs::{self, ExpectedValue, RefUpdate},
        session,
    },
};

/// Where deleted sessions are.
const TRASH: &str = "refs/checkpoints-trash/";

/// Begin of the message with which a session that is deleted gets into the trash.
const DELETED: &str = "checkpoint: delete ";

/// Messages of commands that put a session back into the trash.
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

/// A session that came back.
#[derive(Debug)]
pub struct UndeleteOutcome {
    /// Its name.
    pub name: ShortName,
    /// Its latest checkpoint.
    pub tip: ObjectId,
    /// Whether it is the current session of the branch that is checked out, as none was.
    pub is_current: bool,
    /// Warnings and clean-ups after the change.
    pub aftermath: Aftermath,
}

/// The sessions in the trash, the one deleted last first. What was rewritten by other commands is there as well, and is
/// no session that was deleted.
pub fn trash(scene: &Scene<'_>) -> Result<Vec<TrashEntry>, Error> {
    let mut found = entries(scene, |message, session| match message.strip_prefix(DELETED) {
        None if DELETED_AGAIN.contains(&message) => session,
        name => name,
    })?;
    found.retain(|deleted| deleted.tip.trailers.kind != Some(CheckpointKind::Autosave));
    found.sort_by_key(|deleted| std::cmp::Reverse(deleted.at));
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
    let listed = trash(scene)?.len() + replaced(scene)?.len();
    Ok(refs::list(scene.repo, TRASH)?.len().saturating_sub(listed))
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
    let is_id = |deleted: &&TrashEntry| what.len() >= 4 && deleted.tip.id.to_string().starts_with(what);
    let is_identity = |deleted: &&TrashEntry| deleted.trash.split('/').nth(2) == Some(what);
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
    if let Some(why) = ref_target::missing(scene, &session::ref_name(&name), tip) {
        return Err(Error::ChangedSince {
            what: format!("undelete '{what}'"),
            why,
            remedies: Vec::<String>::new().into(),
        });
    }
    let mut undeleted = UndeleteOutcome {
        name: name.clone(),
        tip,
        is_current: false,
        aftermath: Aftermath::default(),
    };
    let now = current::read_to_replace(scene.repo)?;
    let document = checkpoint::load(scene.repo, tip).ok().map(|tip| tip.document);
    let branch = branches::active(scene.repo)?;
    let after = document
        .filter(|document| now.session.is_none() && document.session.status == SessionStatus::Active)
        .filter(|document| store::is_branch(scene.repo, document.git.branch.as_deref(), branch.as_deref()))
        .map(|document| SessionRef {
            id: document.session.id,
            name: name.clone(),
        })
        .map_or_else(|| now.clone(), |session| now.switched_to(session));
    undeleted.is_current = after != now;
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
    undeleted.aftermath = UndoableRefTransaction {
        operation: "undelete",
        what: format!("undeleted session {name}"),
        edits: &edits,
        current: Some((now, after)),
        remedy: String::new(),
        ..UndoableRefTransaction::default()
    }
    .run(scene)?;
    Ok(undeleted)
}
