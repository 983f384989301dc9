//! Putting a merge on its session: one ref transaction, with the sessions of other options.

use super::{
    super::{
        Error, Scene,
        compose::{self, CurrentSnapshot},
        current_session, ids,
        plan_runner::{AppliedPlan, PlanOperation},
        ref_transaction::{UndoableRefTransaction, not_current},
        restore_outcome, session_choice,
    },
    MergeMethod, MergeOutcome, MergeTips, compose_merge,
    files::{before_merge, is_made},
    losers,
};
use crate::{
    model::name::ShortName,
    store::{
        self, ObjectId,
        checkpoint::{self, Checkpoint, oid},
        current::{self, CurrentPointer},
        lock,
        objects::Writer,
        refs::{self, ExpectedValue, RefUpdate},
        session,
        undo::Effect,
    },
};

/// How often it is written again because objects vanished meanwhile.
const TRIES: usize = 5;

/// Composes the merge on the session's latest checkpoint and puts it there. `brought` is the result for the files.
pub(super) fn publish(
    scene: &Scene<'_>,
    sides: &MergeTips,
    how: &MergeMethod,
    brought: Option<&AppliedPlan>,
    out: &mut MergeOutcome,
) -> Result<(), Error> {
    let _session = (!how.dry_run)
        .then(|| lock::session(scene.repo, &sides.ours.document.session.id, scene.wait))
        .transpose()?;
    let is_made = is_made(sides, brought.is_some());
    let _rejoined = (!how.dry_run && !is_made && sides.aside.is_some())
        .then(|| lock::session(scene.repo, &sides.theirs.document.session.id, scene.wait))
        .transpose()?;
    if is_made {
        // By a call that was killed then.
        out.id = Some(sides.ours.entry.id);
        out.digest = Some(sides.ours.digest.clone());
        let edits = edits(sides, before_merge(sides), sides.ours.entry.id);
        let current = match before_merge(sides) {
            Some(before) => pointers(scene, sides, &session_choice::load(scene, "before", before)?)?,
            None => None,
        };
        note(scene, sides, brought, (&edits, current.as_ref()))?;
        follow(scene, current, out);
        return Ok(());
    }
    if !how.dry_run {
        let tip = session_choice::named(scene, sides.holder())?.map(|chosen| chosen.tip.entry.id);
        if tip != Some(sides.ours.entry.id) {
            return Err(store::Error::Moved {
                name: session::ref_name(sides.holder()),
                expected: Some(sides.ours.entry.id),
                found: tip,
            }
            .into());
        }
    }
    let mut is_rewriting = false;
    for _ in 0..TRIES {
        match attempt(scene, sides, how, brought, out, is_rewriting) {
            Err(Error::Store(store::Error::Vanished { .. })) => is_rewriting = true,
            result => return result,
        }
    }
    Err(Error::ConcurrentModification)
}

fn attempt(
    scene: &Scene<'_>,
    sides: &MergeTips,
    how: &MergeMethod,
    brought: Option<&AppliedPlan>,
    out: &mut MergeOutcome,
    is_rewriting: bool,
) -> Result<(), Error> {
    let writer = match (how.dry_run, is_rewriting) {
        (true, _) => Writer::memory(scene.repo),
        (false, false) => Writer::durable(scene.repo)?,
        (false, true) => Writer::rewriting(scene.repo)?,
    };
    let present = match brought {
        Some(_) => Some(present(scene, &writer, sides)?),
        None => None,
    };
    let composed = compose_merge::compose_merge(scene, &writer, sides, how, present.as_ref())?;
    out.report = composed.report;
    out.base = composed.base;
    let others = if how.finish_others {
        losers::others(scene, &sides.theirs)?
    } else {
        Vec::new()
    };
    out.finished = others.iter().map(|other| other.name.clone()).collect();
    if how.dry_run {
        return Ok(());
    }
    let mut edits = edits(sides, Some(sides.ours.entry.id), composed.written.id);
    let mut needs = composed.written.needs.clone();
    for other in &others {
        let (edit, needed) = losers::finish(scene, &writer, other, sides, &out.report.decided)?;
        edits.push(edit);
        needs.extend(needed);
    }
    let sealed = writer.finish()?;
    let current = pointers(scene, sides, &sides.ours)?;
    let has_safety = brought.is_some_and(|brought| brought.safety.is_some());
    if has_safety {
        let committer = compose::people(scene).committer;
        out.aftermath
            .left
            .extend(refs::update(scene.repo, &edits, &committer, scene.wait)?);
        let needed = [&needs[..], sealed.relied_on(), sealed.written()].concat();
        if let Err(error) = refs::verify_present(scene.repo, &needed) {
            let back: Vec<RefUpdate> = edits.iter().map(RefUpdate::reversed).collect();
            refs::update(scene.repo, &back, &committer, scene.wait)?;
            return Err(error.into());
        }
        out.aftermath.left.extend(sealed.release());
        note(scene, sides, brought, (&edits, current.as_ref()))?;
        follow(scene, current, out);
    } else {
        let transaction = UndoableRefTransaction {
            operation: PlanOperation::Merge.word(),
            what: what(sides),
            edits: &edits,
            sealed: Some(sealed),
            needs: &needs,
            current,
            remedy: format!("continue in it: git checkpoint switch {}", sides.session),
            ..UndoableRefTransaction::default()
        };
        out.aftermath = transaction.run(scene)?;
    }
    if sides.aside.is_some() {
        let (ours, theirs) = (&sides.ours.document.session, &sides.theirs.document.session);
        current_session::follow_elsewhere(scene, &ours.id, &theirs.id, &sides.session);
    }
    out.id = Some(composed.written.id);
    out.digest = Some(composed.written.digest);
    Ok(())
}

/// The entry of a merge in the undo list.
pub(super) fn what(sides: &MergeTips) -> String {
    let id = ids::short(sides.theirs.entry.id);
    format!("merged {} {id} into {}", sides.from, sides.session)
}

/// Notes for undo what moved, together with what became of the files.
fn note(
    scene: &Scene<'_>,
    sides: &MergeTips,
    brought: Option<&AppliedPlan>,
    (edits, current): (&[RefUpdate], Option<&Pointers>),
) -> Result<(), Error> {
    let mut effects = Vec::new();
    let moved = edits.iter().map(|edit| Effect::Ref {
        name: edit.name.clone(),
        old: match edit.expected {
            ExpectedValue::Is(id) => Some(oid(id)),
            _ => None,
        },
        new: edit.new.map(oid),
    });
    effects.extend(moved);
    effects.extend(current.map(|(before, after)| Effect::Current {
        before: Box::new(before.clone()),
        after: Box::new(after.clone()),
    }));
    restore_outcome::note_done(scene, PlanOperation::Merge, what(sides), brought, effects, None)
}

/// Old and new pointer to the current session.
type Pointers = (CurrentPointer, CurrentPointer);

/// The pointers, where our side, as it was before the merge, is of a session that goes.
fn pointers(scene: &Scene<'_>, sides: &MergeTips, ours: &Checkpoint) -> Result<Option<Pointers>, Error> {
    if sides.aside.is_none() {
        return Ok(None);
    }
    let (ours, theirs) = (&ours.document.session, &sides.theirs.document.session);
    Ok(Some(current_session::follow(
        scene,
        &ours.id,
        &theirs.id,
        &sides.session,
    )?))
}

/// Makes the session current that our side is part of now.
fn follow(scene: &Scene<'_>, current: Option<Pointers>, out: &mut MergeOutcome) {
    if let Some((before, after)) = current
        && before != after
        && let Err(error) = current::write(scene.repo, &after)
    {
        let remedy = format!("continue in it: git checkpoint switch {}", out.session);
        out.aftermath.trouble.push(not_current(&error, &remedy));
    }
}

/// The files as they are once both sides are merged.
fn present(scene: &Scene<'_>, writer: &Writer, sides: &MergeTips) -> Result<CurrentSnapshot, Error> {
    let held = checkpoint::held(scene.repo, &sides.ours).map_err(Error::damaged(sides.session.as_str()))?;
    writer.trust(held.objects);
    compose::present(scene, writer, true, &held.trees)
}

/// The move of the session to its merge, and the end of the one that was moved aside. `ours` is our side.
pub(super) fn edits(sides: &MergeTips, ours: Option<ObjectId>, new: ObjectId) -> Vec<RefUpdate> {
    let edit = |name: &ShortName, old: Option<ObjectId>, new| RefUpdate {
        name: session::ref_name(name),
        expected: old.map_or(ExpectedValue::Absent, ExpectedValue::Is),
        new,
        message: "checkpoint: merge".to_owned(),
    };
    match &sides.aside {
        None => vec![edit(&sides.session, ours, Some(new))],
        Some(aside) => vec![
            edit(&sides.session, Some(sides.theirs.entry.id), Some(new)),
            edit(aside, ours, None),
        ],
    }
}
