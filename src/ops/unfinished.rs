//! The operation of git that was in progress when a checkpoint was saved: a merge, cherry-pick or revert is set up
//! again with its index; of every other one it is reported how git begins it again.

use serde::Deserialize;

use super::{Error, Scene, ids::short, plan_runner::PlanJournal, safety::Safety, target_state::UnstagedChanges};
use crate::{
    model::{
        facts::{GitOperation, OperationKind},
        id::Oid,
        step::quoted,
    },
    store::{
        checkpoint::{self, Checkpoint, object_id, oid},
        facts, operation,
        undo::Effect,
    },
};

/// Result of a restore for the operation that its checkpoint recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OperationFate {
    /// None was recorded, or the index was not meant.
    #[default]
    NotMeant,
    /// It is in progress again, or would be after a dry run.
    SetUp(Box<GitOperation>),
    /// It was in progress already.
    Same(Box<GitOperation>),
    /// It is not in progress.
    Left {
        /// The operation.
        operation: Box<GitOperation>,
        /// Why.
        why: String,
        /// The command that begins it again.
        remedy: String,
    },
}

/// Sets the operation of a checkpoint up again, if its index was just restored; `lacking` is what of that is not in the index.
/// Gives what an undo takes back.
/// `safety` holds the state before; a later run than the first may find what that run set up.
pub(super) fn set_up(
    scene: &Scene<'_>,
    checkpoint: &Checkpoint,
    lacking: UnstagedChanges,
    (safety, dry_run): (Option<Safety>, bool),
) -> Result<(OperationFate, Option<Effect>), Error> {
    let Some(recorded) = &checkpoint.document.git.operation else {
        return Ok((OperationFate::NotMeant, None));
    };
    let operation = Box::new(recorded.clone());
    let effect = || Effect::Operation {
        from: oid(checkpoint.entry.id),
        operation: operation.clone(),
    };
    let left = |why: String, remedy: String| {
        let operation = operation.clone();
        Ok((OperationFate::Left { operation, why, remedy }, None))
    };
    let again = set_up_command(checkpoint);
    if crate::store::read_only_directory(scene.repo).is_some() {
        return left("the repository cannot be written".to_owned(), again);
    }
    if let Some(now) = operation::unfinished(scene.repo)?.map(|found| found.operation) {
        if !now.is_same(recorded) {
            let why = format!("another one is in progress: {}; finish it first", now.describe());
            return left(why, again);
        }
        let earlier = safety.map(|safety| before(scene, safety.id)).transpose()?.flatten();
        let is_ours = safety.is_some() && earlier.is_none();
        return Ok((OperationFate::Same(operation.clone()), is_ours.then(effect)));
    }
    if let Some(begun) = begun_anew(recorded, checkpoint) {
        // It does not start with changes that were just restored; an undo without any would be that of an earlier command.
        let is_blocked = safety.is_some() && matches!(recorded.kind, OperationKind::Rebase | OperationKind::Am);
        let undone = if is_blocked { "git checkpoint undo && " } else { "" };
        return left("git cannot continue it".to_owned(), format!("{undone}{begun}"));
    }
    let head = facts::git_facts(scene.repo, None)?.head;
    let saved = &checkpoint.document.git.head;
    if head != *saved {
        let at = |id: &Option<Oid>| id.as_ref().map_or("no commit", |id| id.short()).to_owned();
        let remedy = format!("git switch --detach {} && {again}", at(saved));
        return left(format!("HEAD is at {}, it began at {}", at(&head), at(saved)), remedy);
    }
    // Without its index a merge would be concluded as if it had brought nothing.
    let what = match (lacking.staged, lacking.unmerged) {
        (0, 0) => None,
        (_, 0) => Some("staged"),
        (0, _) => Some("unmerged"),
        _ => Some("staged and unmerged"),
    };
    if let Some(what) = what {
        return left(format!("not all that was {what} is in the index"), again);
    }
    let missing = operation::missing(scene.repo, recorded);
    if !missing.is_empty() {
        let why = format!("{} is not in this repository", missing.join(", "));
        return left(why, format!("git fetch --all && {again}"));
    }
    if dry_run {
        return Ok((OperationFate::SetUp(operation), None));
    }
    operation::set_up(scene.repo, recorded, &contents(scene, checkpoint)?)?;
    Ok((OperationFate::SetUp(operation.clone()), Some(effect())))
}

/// Clears what an entry of the undo list set up, or sets it up again.
pub(super) fn turn(scene: &Scene<'_>, effects: &[Effect], is_undo: bool) -> Result<(), Error> {
    for effect in effects {
        match effect {
            Effect::Operation { operation, .. } if is_undo => {
                operation::clear(scene.repo, operation)?;
            }
            Effect::Operation { from, operation } => again(scene, from, operation)?,
            _ => {}
        }
    }
    Ok(())
}

/// Sets up again what an undo cleared.
fn again(scene: &Scene<'_>, from: &Oid, operation: &GitOperation) -> Result<(), Error> {
    if operation::unfinished(scene.repo)?.is_some() {
        return Ok(());
    }
    let id = object_id(from);
    let checkpoint = checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?;
    Ok(operation::set_up(
        scene.repo,
        operation,
        &contents(scene, &checkpoint)?,
    )?)
}

/// Clears what an interrupted restore or apply may have set up.
pub(super) fn take_back(scene: &Scene<'_>, noted: &PlanJournal) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Target {
        target: Oid,
    }
    let Ok(Target { target }) = noted.parsed_note() else {
        return Ok(());
    };
    if before(scene, object_id(&noted.safety))?.is_none()
        && let Some(operation) = before(scene, object_id(&target))?
    {
        operation::clear(scene.repo, &operation)?;
    }
    Ok(())
}

/// The operation that a checkpoint recorded.
fn before(scene: &Scene<'_>, id: crate::store::ObjectId) -> Result<Option<GitOperation>, Error> {
    let checkpoint = checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?;
    Ok(checkpoint.document.git.operation)
}

/// The bytes of the recorded files, in their order.
fn contents(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<Vec<Vec<u8>>, Error> {
    let blobs = super::target_state::numbered(scene.repo, checkpoint, "operation", &short(checkpoint.entry.id))?;
    let read = |id| checkpoint::read(scene.repo, id, crate::store::Kind::Blob, "file of the operation");
    let contents: Result<Vec<_>, _> = blobs.into_iter().map(read).collect();
    contents.map_err(Error::damaged(short(checkpoint.entry.id)))
}

/// The command that begins an operation that a checkpoint recorded.
pub(super) fn command(operation: &GitOperation, checkpoint: &Checkpoint) -> String {
    begun_anew(operation, checkpoint).unwrap_or_else(|| set_up_command(checkpoint))
}

/// The command that sets up the operation of a checkpoint with its index.
fn set_up_command(checkpoint: &Checkpoint) -> String {
    format!("git checkpoint restore {} --index", short(checkpoint.entry.id))
}

/// How git begins an operation again that is not set up; `None` for those that are.
fn begun_anew(operation: &GitOperation, checkpoint: &Checkpoint) -> Option<String> {
    let head = |wanted: &str| {
        let found = operation.heads.iter().find(|head| head.name.ends_with(wanted));
        found.map(|head| head.id.short())
    };
    let id = short(checkpoint.entry.id);
    let file = |wanted: &dyn Fn(&str) -> bool| {
        let at = operation.files.iter().position(|name| wanted(name))?;
        Some(format!("git show {id}:operation/{at}"))
    };
    match operation.kind {
        OperationKind::Merge | OperationKind::CherryPick | OperationKind::Revert => None,
        OperationKind::Rebase => {
            // The name may come from others, and must be nothing but a word wherever the command is shown.
            let is_plain = |name: &&str| quoted(name) == *name && !name.starts_with('-');
            let branch = operation.branch.as_deref().filter(is_plain);
            let branch = branch.or_else(|| head("/orig-head"));
            Some(match (head("/onto"), branch) {
                (Some(onto), Some(branch)) => format!("git rebase {onto} {branch}"),
                _ => "git rebase <onto>".to_owned(),
            })
        }
        OperationKind::Am => {
            let step = operation.step.unwrap_or(1);
            let is_mail = |name: &str| name.rsplit('/').next() == Some(&format!("{step:04}"));
            let mail = file(&is_mail).unwrap_or_else(|| "cat <mail>".to_owned());
            Some(format!("{mail} | git am --3way"))
        }
        OperationKind::Bisect => {
            let log = file(&|name| name == "BISECT_LOG").unwrap_or_else(|| "cat <log>".to_owned());
            Some(format!("{log} >bisect.log && git bisect replay bisect.log"))
        }
        OperationKind::Unknown => Some("git status".to_owned()),
    }
}
