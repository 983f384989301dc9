//! The metadata of claude-flow's git checkpoints, `.claude/checkpoints/*.json`: one session, a checkpoint a file.

use serde_json::Value;

use super::SYSTEM;
use super::{
    super::{
        Attachment, File, ForeignCheckpoint, ForeignSession, ParseOutcome, Problem, fields::ObjectFields,
        notes::RecordNotes,
    },
    any,
};
use crate::model::session::SessionStatus;

pub(super) fn looks_like_one(bytes: &[u8]) -> bool {
    (any(bytes, &["\"tag\""]) && any(bytes, &["\"diff_summary\""]))
        || any(bytes, &["\"original_branch\"", "\"github_release\""])
        || (any(bytes, &["\"checkpoint\""]) && any(bytes, &["\"task\""]) && any(bytes, &["\"commit\""]))
}

/// The placeholder that the hooks leave unfilled.
const PLACEHOLDER: &str = "{{user_prompt}}";

pub(super) fn parse(files: &[&File], out: &mut ParseOutcome) {
    let mut session: Option<ForeignSession> = None;
    let mut broken = 0;
    for file in files {
        let point = if file.is("md") {
            Some(summary(file))
        } else {
            match file.json().map(ObjectFields::of) {
                Ok(Some(fields)) => Some(point(file, fields)),
                Ok(None) => {
                    out.problems.push(Problem::broken(&file.path, "it is not an object"));
                    None
                }
                // Their writer quotes nothing, so a few in a hundred are no JSON.
                Err(problem) => {
                    broken += 1;
                    if broken <= 100 {
                        out.problems.push(problem);
                    }
                    None
                }
            }
        };
        let Some(point) = point else { continue };
        let session = session.get_or_insert_with(|| {
            let mut session = ForeignSession::new(SYSTEM, "claude-checkpoints", file);
            session.sources.clear();
            session.status(SessionStatus::Paused);
            session.member("title", Some("Checkpoints of claude-flow's hooks"));
            session
        });
        session.source(file);
        session.checkpoints.push(point);
    }
    if broken > 100 {
        let what = format!("and {} more files are no JSON", broken - 100);
        out.problems.push(Problem::broken(".claude/checkpoints", what));
    }
    if let Some(mut session) = session {
        session.checkpoints.sort_by_key(|point| point.at);
        session.created_at = session.checkpoints.iter().find_map(|point| point.at);
        out.sessions.push(session);
    }
}

fn point(file: &File, mut fields: ObjectFields) -> ForeignCheckpoint {
    let mut point = ForeignCheckpoint::new(file.stem());
    point.at = fields.time("timestamp");
    point.name = fields.text("tag").or_else(|| fields.text("checkpoint"));
    point.git.branch = fields
        .peek_text("original_branch")
        .or_else(|| fields.peek_text("branch"))
        .map(str::to_owned);
    point.git.commit = fields.peek_text("commit").map(str::to_owned);
    // Each is a commit of the repository itself, or has a tag or a branch of its own: that commit has the files.
    let own_branch = fields.get("original_branch").and_then(|_| fields.peek_text("branch"));
    point.git.reference = point.name.clone().or_else(|| own_branch.map(str::to_owned));
    point.git.has_files = true;
    point.trigger = fields.text("type");
    let mut notes = RecordNotes::default();
    let task = fields
        .peek_text("task")
        .map(str::trim)
        .filter(|task| !task.is_empty() && !task.starts_with(PLACEHOLDER));
    let words = match (task, fields.peek_text("file")) {
        (Some(task), _) => Some(task.to_owned()),
        (None, Some(edited)) => Some(format!("{} {edited}", point.trigger.as_deref().unwrap_or("edit"))),
        _ => None,
    };
    notes.set("summary", words);
    notes.extra(SYSTEM, fields.rest());
    point.record = notes.finish();
    point
}

fn summary(file: &File) -> ForeignCheckpoint {
    let mut point = ForeignCheckpoint::new(file.stem());
    let digits = file.stem().trim_start_matches("summary-session-");
    point.at = super::super::time::parse(digits).or_else(|| {
        let seconds: i64 = digits.parse().ok()?;
        super::super::time::of_value(&Value::from(seconds))
    });
    let mut notes = RecordNotes::default();
    let text = file.text();
    let title = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .map(|line| line.trim_start_matches('#').trim().to_owned());
    notes.set("summary", title);
    // The tool that writes a summary commits and tags right after that.
    point.git.reference = file
        .stem()
        .strip_prefix("summary-")
        .map(|name| format!("session-end-{name}"));
    point.git.has_files = true;
    point.record = notes.finish();
    point.attachments.push(Attachment::of(file));
    point
}
