//! Parts of a draft besides the record: steps, notes and resolved conflicts of the session. The checkpoint of a finish, or
//! the one that was saved for a clear, took it in; without that checkpoint it is in the draft again.

use serde_json::{Map, Value, json};

use super::{
    super::{Error, Scene, compose, ids, ids::short, notes},
    UndoRun,
    records::{CLEAR, above},
};
use crate::{
    model::{
        id::Oid,
        merge,
        operation::Operation,
        step::{Step, StepChange},
    },
    store::{
        checkpoint::{self, Checkpoint, object_id},
        draft, steps,
    },
};

/// The checkpoints that a session goes from and to; `None` is one that is not there.
type TipMove = (Option<Oid>, Option<Oid>);

impl UndoRun<'_> {
    /// The checkpoints that a finish, or the save before a clear, went from and to: in an undo backward.
    pub(super) fn draft_sides(&self) -> Result<Vec<TipMove>, Error> {
        let mut sides = Vec::new();
        for (_, from, to) in self.moves() {
            let (mut from, mut to) = (from.clone(), to.clone());
            if self.entry.operation == CLEAR {
                // What waited is in the checkpoint that was made first.
                let cleared = if self.is_undo() { &mut from } else { &mut to };
                if let Some(id) = cleared {
                    *cleared = above(self.scene, object_id(id))?;
                }
            }
            sides.push((from, to));
        }
        Ok(sides)
    }

    /// Adds to the draft what the later checkpoint had of it; what is there is not added twice.
    pub(super) fn give_back_rest(&self, session: &str) -> Result<(), Error> {
        let scene = self.scene;
        for (from, to) in self.draft_sides()? {
            let operations = rest(scene, to.as_ref(), from.as_ref())?;
            let waiting = draft::read(scene.repo, session)?;
            let is_there =
                |operation: &Operation| waiting.operations.iter().any(|(_, known)| is_same(known, operation));
            let missing: Vec<_> = operations.into_iter().filter(|one| !is_there(one)).collect();
            if !missing.is_empty() {
                let id = ids::item_id()?;
                draft::append(scene.repo, session, &missing, || id, scene.wait)?;
            }
        }
        Ok(())
    }

    /// Takes out of the draft what the later checkpoint has of it again.
    pub(super) fn take_out_rest(&self, session: &str) -> Result<(), Error> {
        let scene = self.scene;
        for (from, to) in self.draft_sides()? {
            let saved = rest(scene, from.as_ref(), to.as_ref())?;
            let is_meant = |operation: &Operation| saved.iter().any(|one| is_same(one, operation));
            if !saved.is_empty() {
                draft::revoke(scene.repo, session, &is_meant, true, scene.wait)?;
            }
        }
        Ok(())
    }
}

/// Whether two operations, made at different times, change the same.
fn is_same(one: &Operation, other: &Operation) -> bool {
    (&one.log, &one.step, &one.session) == (&other.log, &other.step, &other.session)
        && [one, other]
            .iter()
            .all(|it| it.record.is_none() && it.remove.is_none() && it.put.is_none())
}

/// Operations that make the later of two checkpoints of a session from the earlier one, without those of the record.
fn rest(scene: &Scene<'_>, earlier: Option<&Oid>, later: Option<&Oid>) -> Result<Vec<Operation>, Error> {
    let (Some(earlier), Some(later)) = (earlier, later) else {
        return Ok(Vec::new());
    };
    let load = |id: &Oid| checkpoint::load(scene.repo, object_id(id)).map_err(Error::damaged(short(object_id(id))));
    let (earlier, later) = (load(earlier)?, load(later)?);
    if earlier.document.session.id != later.document.session.id {
        return Ok(Vec::new());
    }
    let by = compose::by(scene, &compose::people(scene));
    let empty = || -> Result<Operation, Error> { Ok(Operation::new(ids::item_id()?, scene.now, by.clone())) };
    let mut operations = Vec::new();
    let name = &later.document.session.name;
    let lines = notes::saved(scene, name, &later)?.0;
    for line in lines.into_iter().skip(notes::saved(scene, name, &earlier)?.0.len()) {
        operations.push(Operation {
            log: Some(line),
            ..empty()?
        });
    }
    let read = |one: &Checkpoint| steps::read(scene.repo, one).map_err(Error::damaged(name.as_str()));
    let known = read(&earlier)?;
    for step in read(&later)? {
        if let Some(change) = step_change(&known, &step) {
            operations.push(Operation {
                step: Some(change),
                ..empty()?
            });
        }
    }
    if let Some(patch) = resolved_members(&earlier, &later) {
        operations.push(Operation {
            session: Some(patch),
            ..empty()?
        });
    }
    Ok(operations)
}

/// The change that makes a step of what is known of it.
fn step_change(known: &[Step], step: &Step) -> Option<StepChange> {
    let before = known.iter().find(|known| known.id == step.id);
    let is_new = before.is_none();
    let before = before
        .cloned()
        .unwrap_or_else(|| Step::new(&step.id, step.n, step.at, &step.by));
    let patch = difference(&json!(before), &json!(step));
    (is_new || patch.as_object().is_some_and(|patch| !patch.is_empty())).then(|| StepChange {
        id: step.id.clone(),
        at: step.at,
        by: step.by.clone(),
        patch,
    })
}

/// The members of the session whose conflicts were resolved in between: nothing else in a draft sets any.
fn resolved_members(earlier: &Checkpoint, later: &Checkpoint) -> Option<Value> {
    let left = &later.document.record.conflicts;
    let resolved = earlier
        .document
        .record
        .conflicts
        .iter()
        .filter(|one| left.iter().all(|it| it.id != one.id));
    let members = resolved.filter_map(|conflict| {
        let mut parts = merge::parts(&conflict.member).into_iter();
        (parts.next().as_deref() == Some("session")).then(|| parts.next())?
    });
    let (before, now) = (json!(earlier.document.session), json!(later.document.session));
    let mut patch = Map::new();
    for member in members {
        if before.get(&member) != now.get(&member) {
            patch.insert(member.clone(), now.get(&member).cloned().unwrap_or_default());
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// The merge patch that makes one value of another.
fn difference(before: &Value, after: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return after.clone();
    };
    let removed = before.keys().filter(|member| !after.contains_key(*member));
    let mut patch: Map<String, Value> = removed.map(|member| (member.clone(), Value::Null)).collect();
    for (member, value) in after {
        match before.get(member) {
            Some(known) if known == value => {}
            Some(known) => drop(patch.insert(member.clone(), difference(known, value))),
            None => drop(patch.insert(member.clone(), value.clone())),
        }
    }
    Value::Object(patch)
}
