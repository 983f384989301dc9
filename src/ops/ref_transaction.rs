//! A change of refs that `undo` takes back: noted before it is made, made atomically, and remaining work is reported.
//!
//! An error means that the refs stay as they were, or go back. Once they have moved it is done: a failure after that is
//! reported with a remedy, and does not fail the command.

use std::collections::BTreeMap;

use super::{Error, Scene, compose};
use crate::{
    model::{id::Oid, name::ShortName},
    os::CleanupFailure,
    store::{
        self, ObjectId, branches,
        checkpoint::oid,
        current::{self, CurrentPointer},
        objects::SealedObjects,
        refs::{self, ExpectedValue, RefUpdate},
        session,
        undo::{self, Effect, Standing, UndoEntry},
    },
};

/// Ref transaction that `undo` can revert.
#[derive(Default)]
pub(super) struct UndoableRefTransaction<'a> {
    /// The command.
    pub(super) operation: &'a str,
    /// Description for people, in the past tense: `deleted session auth`.
    pub(super) what: String,
    /// The changes of refs. What a ref was must stay reachable: by another ref of these, or because it only went forward.
    pub(super) edits: &'a [RefUpdate],
    /// Changes that go with them and that nothing takes back.
    pub(super) for_good: &'a [RefUpdate],
    /// Old and new pointer to the current session.
    pub(super) current: Option<(CurrentPointer, CurrentPointer)>,
    /// Hint for when that pointer cannot be written.
    pub(super) remedy: String,
    /// Further effects to take back.
    pub(super) more: Vec<Effect>,
    /// The session that a pull moves local checkpoints to, as those of the remote have diverged from them.
    pub(super) separated: Option<ShortName>,
    /// Objects that were written for it.
    pub(super) sealed: Option<SealedObjects>,
    /// Objects besides these that have to be there.
    pub(super) needs: &'a [ObjectId],
}

/// Clean-ups and failures after a ref transaction.
#[derive(Debug, Default)]
pub struct Aftermath {
    /// Files of ours that could not be removed.
    pub left: Vec<CleanupFailure>,
    /// Failures after the transaction, each with a remedy.
    pub trouble: Vec<String>,
}

impl Aftermath {
    /// Adds those after another one.
    pub(super) fn extend(&mut self, other: Self) {
        self.left.extend(other.left);
        self.trouble.extend(other.trouble);
    }
}

impl UndoableRefTransaction<'_> {
    /// Does it. The caller holds the lock of the working tree.
    pub(super) fn run(self, scene: &Scene<'_>) -> Result<Aftermath, Error> {
        let mut effects: Vec<Effect> = self.edits.iter().map(effect).collect();
        let current = self.current.filter(|(before, after)| before != after);
        effects.extend(current.as_ref().map(|(before, after)| Effect::Current {
            before: Box::new(before.clone()),
            after: Box::new(after.clone()),
        }));
        effects.extend(self.more);
        let meant = if effects.is_empty() {
            None
        } else {
            let after = match &current {
                Some((_, after)) => after.clone(),
                None => current::read(scene.repo)?,
            };
            let standing = Some(standing(scene, &after, self.edits));
            let entry = UndoEntry {
                n: undo::next(scene.repo)?,
                at: scene.now,
                operation: self.operation.to_owned(),
                what: self.what,
                effects,
                standing,
                files: None,
                separated: self.separated,
                extended: BTreeMap::new(),
            };
            Some(undo::mean(scene.repo, entry)?)
        };
        // If this cannot be written, the refs show it.
        let settle = |happened| {
            let _ = meant.map(|n| undo::settle(scene.repo, n, happened, None));
        };
        let committer = compose::people(scene).committer;
        let edits = [self.edits, self.for_good].concat();
        let left = match refs::update(scene.repo, &edits, &committer, scene.wait) {
            Ok(left) => left,
            Err(error) => {
                settle(false);
                return Err(error.into());
            }
        };
        let mut aftermath = Aftermath {
            left,
            trouble: Vec::new(),
        };
        if let Some(sealed) = self.sealed {
            let needed = [self.needs, sealed.relied_on(), sealed.written()].concat();
            if let Err(error) = refs::verify_present(scene.repo, &needed) {
                let back: Vec<RefUpdate> = edits.iter().map(RefUpdate::reversed).collect();
                refs::update(scene.repo, &back, &committer, scene.wait)?;
                settle(false);
                return Err(error.into());
            }
            aftermath.left.extend(sealed.release());
        }
        if let Some((_, after)) = &current
            && let Err(error) = current::write(scene.repo, after)
        {
            aftermath.trouble.push(not_current(&error, &self.remedy));
        }
        settle(true);
        // For speed alone: the next save fails if it cannot be done.
        let _ = store::objects::consolidate(scene.repo);
        Ok(aftermath)
    }
}

/// The sentence for a note of the current session that could not be written.
pub(super) fn not_current(error: &store::Error, remedy: &str) -> String {
    format!("which session is current could not be noted: {error}; {remedy}")
}

/// The current session and its latest checkpoint once refs have moved.
pub(super) fn standing(scene: &Scene<'_>, current: &CurrentPointer, edits: &[RefUpdate]) -> Standing {
    // An unreadable HEAD is reported where it is needed.
    let branch = branches::active(scene.repo).unwrap_or_default();
    let Some(session) = &current.session else {
        return Standing {
            session: None,
            tip: None,
            branch,
        };
    };
    let name = session::ref_name(&session.name);
    let tip = match edits.iter().rfind(|edit| edit.name == name) {
        Some(edit) => edit.new,
        // Damage is reported where the session is needed.
        None => refs::read(scene.repo, &name).unwrap_or_default(),
    };
    Standing {
        session: Some(session.id.clone()),
        tip: tip.map(oid),
        branch,
    }
}

fn effect(edit: &RefUpdate) -> Effect {
    Effect::Ref {
        name: edit.name.clone(),
        old: before(edit),
        new: edit.new.map(oid),
    }
}

fn before(edit: &RefUpdate) -> Option<Oid> {
    match edit.expected {
        ExpectedValue::Is(id) => Some(oid(id)),
        _ => None,
    }
}
