//! `delete`: a session to the trash, from which `undo` brings it back until a prune empties it.

use super::{
    Error, Scene,
    ref_transaction::{Aftermath, UndoableRefTransaction},
    select,
};
use crate::{
    model::{name::ShortName, selector::Selector},
    store::{
        ObjectId, checkpoint, current, lock,
        refs::{self, ExpectedValue, RefUpdate},
        session,
    },
};

/// A session that was deleted.
#[derive(Debug)]
pub struct DeletedSession {
    /// Its name.
    pub name: ShortName,
    /// Its latest checkpoint.
    pub tip: ObjectId,
    /// How many checkpoints it had, those of its source not counted; `None` if they cannot all be read.
    pub checkpoints: Option<usize>,
    /// The ref that keeps it.
    pub trash: String,
    /// Warnings and clean-ups after the change.
    pub aftermath: Aftermath,
}

/// Deletes a session, or in a dry run only finds out what that would take.
pub fn delete(scene: &Scene<'_>, selector: &Selector, dry_run: bool) -> Result<DeletedSession, Error> {
    let mut _worktree = None;
    if !dry_run {
        _worktree = Some(lock::worktree(scene.repo, scene.wait)?);
    }
    refs::recover(scene.repo, scene.wait)?;
    let (name, tip) = select::session(scene, selector)?;
    let found = checkpoint::load(scene.repo, tip).map_err(Error::damaged(name.as_str()))?;
    let id = found.document.session.id.clone();
    let _session = lock::session(scene.repo, &id, scene.wait)?;
    let message = format!("checkpoint: delete {name}");
    let prefix = format!("refs/checkpoints-trash/{id}/");
    let taken = refs::list(scene.repo, &prefix)?;
    let numbers = taken
        .iter()
        .filter_map(|(full, _)| full.strip_prefix(&prefix)?.parse::<u64>().ok());
    let mut n = numbers.max().unwrap_or(0);
    let mut gone = vec![(session::ref_name(&name), tip)];
    for (autosave, target) in refs::list(scene.repo, &format!("refs/checkpoints-autosave/{id}/"))? {
        // A damaged one is nothing to keep; repair looks at it.
        gone.extend(target.ok().map(|target| (autosave, target)));
    }
    let mut edits = Vec::new();
    for (full, target) in gone {
        n += 1;
        let trash = format!("{prefix}{n}");
        edits.push(edit(&trash, ExpectedValue::Absent, Some(target), &message));
        edits.push(edit(&full, ExpectedValue::Is(target), None, &message));
    }
    let trash = edits[0].name.clone();
    let own = session::chain(scene.repo, tip)
        .map(Result::ok)
        .collect::<Option<Vec<_>>>();
    let mut deleted = DeletedSession {
        name,
        tip,
        checkpoints: own.map(|own| own.len()),
        trash,
        aftermath: Aftermath::default(),
    };
    if dry_run {
        return Ok(deleted);
    }
    let before = current::read_to_replace(scene.repo)?;
    let after = before.left(&id);
    deleted.aftermath = UndoableRefTransaction {
        operation: "delete",
        what: format!("deleted session {}", deleted.name),
        edits: &edits,
        current: Some((before, after)),
        remedy: "a session that is gone counts as none".to_owned(),
        ..UndoableRefTransaction::default()
    }
    .run(scene)?;
    Ok(deleted)
}

fn edit(name: &str, expected: ExpectedValue, new: Option<ObjectId>, message: &str) -> RefUpdate {
    RefUpdate {
        name: name.to_owned(),
        expected,
        new,
        message: message.to_owned(),
    }
}
