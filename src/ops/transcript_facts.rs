//! Facts of an agent's session file beyond its messages: helpers become steps, the to-do list becomes tasks.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    Error, Scene,
    chat::{SessionChat, import::TranscriptFacts},
    draft::{self, DraftChange},
    step,
};
use crate::{
    agents::{HelperRun, TaskItem},
    model::{chat::hex, record::TaskStatus, turn::Ending},
};

/// The most bytes of a helper's answer that its step keeps; the chat has it whole.
const ANSWER: usize = 16 << 10;

/// Puts helpers and tasks into the draft, those that are not there already. Their ids follow from the agent's, so that
/// what comes again is the same. `session` is the agent's own id of its session.
pub fn note(scene: &Scene<'_>, session: &str, found: &TranscriptFacts) -> Result<(), Error> {
    let mut changes = steps(scene, session, &found.helpers)?;
    if let Some(items) = &found.tasks {
        changes.extend(tasks(scene, session, items)?);
    }
    if !changes.is_empty() {
        draft::append(scene, changes)?;
    }
    Ok(())
}

fn digits(text: &str) -> String {
    hex(&Sha256::digest(text)[..4])
}

fn steps(scene: &Scene<'_>, session: &str, helpers: &[HelperRun]) -> Result<Vec<DraftChange>, Error> {
    if helpers.is_empty() {
        return Ok(Vec::new());
    }
    let known = step::steps(scene, None)?.steps;
    let mut changes = Vec::new();
    for run in helpers {
        let (id, patch) = (step_id(session, run), members(run));
        let step = known.iter().find(|step| step.id == id);
        let before = step
            .and_then(|step| serde_json::to_value(step).ok())
            .unwrap_or_default();
        if patch.iter().any(|(name, value)| !has(&before[name.as_str()], value)) {
            let patch = Value::Object(patch);
            changes.push(DraftChange::Step { id, patch });
        }
    }
    Ok(changes)
}

/// Whether a patch with this value would change nothing.
fn has(before: &Value, value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().all(|(name, value)| has(&before[name.as_str()], value)),
        // Nothing left out is stored as nothing.
        _ => before == value || before.is_null() && value.as_u64() == Some(0),
    }
}

/// The id of the step that a helper is.
pub(super) fn step_id(session: &str, run: &HelperRun) -> String {
    format!("helper-{}{}", digits(session), digits(&run.id))
}

/// The members of a step that a helper has.
pub(super) fn members(run: &HelperRun) -> Map<String, Value> {
    let mut patch = Map::new();
    let title = [run.title.as_str(), run.kind.as_deref().unwrap_or_default(), "sub-agent"];
    let title = title.into_iter().find(|title| !title.trim().is_empty());
    patch.insert("title".to_owned(), title.unwrap_or_default().into());
    let status = match run.ending {
        Ending::Open => "running",
        Ending::Done => "done",
        Ending::Interrupted | Ending::Failed => "failed",
    };
    patch.insert("status".to_owned(), status.into());
    if let Some(kind) = &run.kind {
        patch.insert("agent".to_owned(), kind.as_str().into());
    }
    if !run.prompt.is_empty() {
        patch.insert("prompt".to_owned(), run.prompt.as_str().into());
    }
    if let Some(turn) = &run.turn {
        patch.insert("turn".to_owned(), turn.as_str().into());
    }
    if let Some(answer) = run.result.as_deref().filter(|answer| !answer.is_empty()) {
        let end = (0..=ANSWER.min(answer.len()))
            .rev()
            .find(|at| answer.is_char_boundary(*at));
        let (head, rest) = answer.split_at(end.unwrap_or(0));
        patch.insert("output".to_owned(), json!({ "head": head, "omitted": rest.len() }));
    }
    patch
}

/// The changes that make the tasks of the record those of the agent's list. One that left the list undone is dropped.
fn tasks(scene: &Scene<'_>, session: &str, items: &[TaskItem]) -> Result<Vec<DraftChange>, Error> {
    let prefix = format!("todo-{}-", digits(session));
    let known = SessionChat::open(scene)?.record.tasks;
    let mut patches = Vec::new();
    let mut listed = Vec::new();
    for item in items.iter().filter(|item| !item.title.trim().is_empty()) {
        let id = format!("{prefix}{}", digits(&item.id));
        let is_same = known
            .iter()
            .any(|task| task.id == id && task.title == item.title && task.status == item.status);
        if !is_same {
            patches.push(json!({ "id": id, "title": item.title, "status": item.status }));
        }
        listed.push(id);
    }
    let is_open = |status: TaskStatus| !matches!(status, TaskStatus::Done | TaskStatus::Dropped);
    for task in &known {
        if task.id.starts_with(&prefix) && is_open(task.status) && !listed.contains(&task.id) {
            patches.push(json!({ "id": task.id, "status": TaskStatus::Dropped }));
        }
    }
    Ok(if patches.is_empty() {
        Vec::new()
    } else {
        vec![DraftChange::Record(json!({ "tasks": patches }))]
    })
}
