//! `switch` and `rename`: which session is current, and what one is called.

use super::{
    Error, Scene,
    ref_transaction::{Aftermath, UndoableRefTransaction},
    refuse, select, session_choice, start,
};
use crate::{
    model::{document::Document, name::ShortName, selector::Selector},
    store::{
        self, ObjectId, branches,
        current::{self, SessionRef},
        lock,
        refs::{self, ExpectedValue, RefUpdate},
        session,
    },
};

/// Makes a session the current one of this working tree, or in a dry run only finds it; changes no file and saves nothing.
pub fn switch(scene: &Scene<'_>, selector: &Selector, dry_run: bool) -> Result<(ShortName, Document), Error> {
    let (name, tip) = select::session(scene, selector)?;
    let checkpoint = session_choice::load(scene, name.as_str(), tip)?;
    if !dry_run && checkpoint.document.session.status.is_finished() {
        start::activate(scene, &checkpoint)?;
    }
    let document = checkpoint.document;
    if !dry_run {
        start::make_current(scene, &document, &name)?;
    }
    Ok((name, document))
}

/// How often a renaming is tried again because the session was saved meanwhile.
const TRIES: u32 = 20;

/// A session that was given another name.
#[derive(Debug)]
pub struct RenamedSession {
    /// The name it had.
    pub from: ShortName,
    /// Its latest checkpoint.
    pub tip: ObjectId,
    /// Warnings and clean-ups after the change.
    pub aftermath: Aftermath,
}

/// Gives a session another name, or in a dry run only checks whether it could be done. Its checkpoints stay as they are:
/// the ref alone gives the name.
///
/// One that another agent or person has claimed is refused without `force`.
pub fn rename(
    scene: &Scene<'_>,
    selector: &Selector,
    to: &ShortName,
    force: bool,
    dry_run: bool,
) -> Result<RenamedSession, Error> {
    let mut _worktree = None;
    if !dry_run {
        _worktree = Some(lock::worktree(scene.repo, scene.wait)?);
    }
    refs::recover(scene.repo, scene.wait)?;
    let (from, mut tip) = select::session(scene, selector)?;
    if from == *to {
        return Ok(RenamedSession {
            from,
            tip,
            aftermath: Aftermath::default(),
        });
    }
    let document = session_choice::load(scene, from.as_str(), tip)?.document;
    if !force {
        refuse::claimed(scene, &from, &document.session)?;
    }
    let _session = lock::session(scene.repo, &document.session.id, scene.wait)?;
    for _ in 0..TRIES {
        if session::tip(scene.repo, to)?.is_some() {
            return Err(Error::Exists { name: to.clone() });
        }
        if dry_run {
            let aftermath = Aftermath::default();
            return Ok(RenamedSession { from, tip, aftermath });
        }
        match move_ref(scene, &document, &from, to, tip) {
            Err(Error::Store(store::Error::Moved { .. })) => {}
            other => {
                let aftermath = other?;
                return Ok(RenamedSession { from, tip, aftermath });
            }
        }
        let gone = || Error::absent(&from);
        tip = session::tip(scene.repo, &from)?.ok_or_else(gone)?;
    }
    Err(Error::Contended {
        session: from,
        tries: TRIES,
    })
}

fn move_ref(
    scene: &Scene<'_>,
    document: &Document,
    from: &ShortName,
    to: &ShortName,
    tip: ObjectId,
) -> Result<Aftermath, Error> {
    let message = format!("checkpoint: rename {from} to {to}");
    let edits = [
        RefUpdate {
            name: session::ref_name(to),
            expected: ExpectedValue::Absent,
            new: Some(tip),
            message: message.clone(),
        },
        RefUpdate {
            name: session::ref_name(from),
            expected: ExpectedValue::Is(tip),
            new: None,
            message,
        },
    ];
    let before = current::read_to_replace(scene.repo)?;
    let renamed = SessionRef {
        id: document.session.id.clone(),
        name: to.clone(),
    };
    let mut after = before.replaced(&renamed.id, &renamed);
    // Named after this branch, it is not the one of the branch that it came from any more.
    let here = branches::active(scene.repo)?;
    if here.is_some_and(|here| ShortName::like(&here) == *to) {
        after = after.only_here(&renamed.id);
    }
    UndoableRefTransaction {
        operation: "rename",
        what: format!("renamed {from} to {to}"),
        edits: &edits,
        current: Some((before, after)),
        remedy: "it is found by its identity, which stays".to_owned(),
        ..UndoableRefTransaction::default()
    }
    .run(scene)
}
