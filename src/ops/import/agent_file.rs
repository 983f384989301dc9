//! The session file of a coding agent as a foreign session: the same messages as `message import` takes from it.

use serde_json::{Map, Value, json};

use super::super::{chat::latest_states, transcript_facts};
use crate::{
    agents::{self, Reader, Reading, State},
    formats::{Attachment, File, ForeignCheckpoint, ForeignRepoState, ForeignSession, Problem},
    model::{chat::Role, session::SessionStatus, time::Timestamp},
};

/// The session of a file that an agent knows as its own; `None` where none does, or where it holds no message.
///
/// The whole file is attached, so that what the reader does not know is kept as well.
pub(super) fn session(file: &File, now: Timestamp) -> Option<(ForeignSession, Vec<Problem>)> {
    let (agent, layout) = agents::detect(&file.bytes)?;
    let state = State::of_file(file.stem());
    let mut reader = Reader::new(agent, layout, state, 0, file.modified.unwrap_or(now));
    reader.feed(&file.bytes);
    let reading = reader.end();
    let problems = problems(file, &reading);
    let messages: Vec<_> = latest_states(reading.messages)
        .into_iter()
        .map(|update| update.message)
        .collect();
    let (first, last) = (messages.first()?, messages.last()?);
    let facts = reading.state.facts;
    let has_file_name_id = facts.id.is_none();
    let id = facts.id.unwrap_or_else(|| file.stem().to_owned());
    let prompt = messages.iter().find(|message| message.role == Role::User);
    let prompt = prompt.map(crate::model::chat::Message::text);
    let summary = facts.title.clone().or_else(|| {
        prompt?
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .map(str::to_owned)
    });

    let mut members = Map::new();
    members.insert("status".to_owned(), SessionStatus::Paused.word().into());
    members.insert("agent".to_owned(), agent.name().into());
    if let Some(title) = facts.title {
        members.insert("title".to_owned(), title.into());
    }
    let mut record = Map::new();
    if let Some(summary) = summary {
        record.insert("summary".to_owned(), summary.into());
    }
    if let Some(tasks) = reading.tasks.filter(|tasks| !tasks.is_empty()) {
        let task = |task: agents::TaskItem| json!({ "id": task.id, "title": task.title, "status": task.status });
        record.insert("tasks".to_owned(), tasks.into_iter().map(task).collect());
    }
    let begun = |run: &agents::HelperRun| {
        let turn = reading.turns.iter().find(|turn| run.turn.as_ref() == Some(&turn.key));
        turn.map_or(last.at, |turn| turn.started_at)
    };
    let step = |(run, n): (&agents::HelperRun, u32)| {
        let mut step = transcript_facts::members(run);
        step.insert("id".to_owned(), transcript_facts::step_id(&id, run).into());
        step.insert("n".to_owned(), n.into());
        step.insert("at".to_owned(), begun(run).to_string().into());
        step.insert("by".to_owned(), agent.name().into());
        Value::Object(step)
    };
    let point = ForeignCheckpoint {
        id: id.clone(),
        at: Some(last.at.max(first.at)),
        record,
        messages: messages
            .iter()
            .map(|message| {
                json!({
                    "id": message.id,
                    "role": message.role.word(),
                    "content": message.content,
                    "timestamp": message.at,
                    "agent": message.agent,
                    "metadata": Value::Object(message.meta.clone()),
                })
            })
            .collect(),
        steps: reading.helpers.iter().zip(1..).map(step).collect(),
        attachments: vec![Attachment::of(file)],
        git: ForeignRepoState {
            branch: facts.branch,
            ..ForeignRepoState::default()
        },
        ..ForeignCheckpoint::default()
    };
    let session = ForeignSession {
        system: agent.name(),
        has_file_name_id,
        name: id.clone(),
        id,
        members,
        created_at: Some(first.at.min(last.at)),
        checkpoints: vec![point],
        log: Vec::new(),
        sources: vec![file.path.clone()],
        modified: file.modified,
    };
    Some((session, problems))
}

/// Lines of a file that were not read, or only after a repair.
fn problems(file: &File, reading: &Reading) -> Vec<Problem> {
    let at = |line: usize| format!("{}:{line}", file.path);
    let skipped = reading.report.skipped.iter();
    let mut out: Vec<_> = skipped
        .map(|(line, why)| Problem::broken(&at(*line), why.clone()))
        .collect();
    let repaired = reading.report.repaired.iter();
    out.extend(repaired.map(|(line, what)| Problem::note(&at(*line), format!("it was repaired: {what}"))));
    if reading.taken < file.bytes.len() as u64 {
        let why = "the last line is incomplete; import the file again when it is complete";
        out.push(Problem::broken(&file.path, why));
    }
    out
}
