//! The Markdown of a pause session: the sections it writes now, and the older free form that its reader accepts.

use serde_json::{Value, json};

use super::super::{
    Attachment, File, ForeignCheckpoint, ForeignRepoState, ForeignSession, Problem, System,
    fields::ObjectFields,
    markdown::{self as md, MarkdownSection},
    notes::{NoteItem, RecordNotes},
    time,
};
use crate::model::session::SessionStatus;

/// Reads a session; the file itself is kept next to it, because its form is free.
pub(super) fn parse(file: &File, problems: &mut Vec<Problem>) -> Option<ForeignSession> {
    let text = file.text();
    if text.trim().is_empty() {
        problems.push(Problem::broken(&file.path, "it is empty"));
        return None;
    }
    let mut session = ForeignSession::new(System::ClaudeMpm, file.stem(), file);
    session.status(SessionStatus::Paused);
    let mut checkpoint = ForeignCheckpoint::new(file.stem());
    let mut notes = RecordNotes::default();
    let mut rest = ObjectFields::default();
    let mut kept = Vec::new();
    for section in md::sections(&text) {
        if section.level == 1 && !section.title.is_empty() {
            session.member("title", Some(section.title.clone()));
        }
        heads(&section, &mut session, &mut checkpoint, &mut rest, &mut notes);
        let known = match section.key().as_str() {
            key if key.starts_with("accomplishments") => list("accomplishments", &section, &mut notes),
            key if ["next steps", "to resume", "remaining work", "to verify"]
                .iter()
                .any(|k| key.starts_with(k)) =>
            {
                list("next_steps", &section, &mut notes)
            }
            key if key.starts_with("resume instructions") || key == "quick start" => {
                list("resume_instructions", &section, &mut notes)
            }
            "open questions" => list("questions", &section, &mut notes),
            "git context" => {
                git(&section, &mut checkpoint.git);
                false
            }
            key => key == "session metadata" || key == "what you were working on",
        };
        if !known && !section.is_empty() {
            kept.push(json!({ "title": section.title, "level": section.level, "text": section.text() }));
        }
    }
    if !kept.is_empty() {
        rest.put("sections", Value::Array(kept));
    }
    super::rest(&mut notes, rest);
    checkpoint.record = notes.finish();
    session.created_at = checkpoint.at;
    checkpoint.attachments.push(Attachment::of(file));
    session.checkpoints.push(checkpoint);
    Some(session)
}

/// `**Key**: value` lines, wherever they are.
fn heads(
    section: &MarkdownSection,
    session: &mut ForeignSession,
    checkpoint: &mut ForeignCheckpoint,
    rest: &mut ObjectFields,
    notes: &mut RecordNotes,
) {
    for line in &section.lines {
        let Some((key, value)) = md::pair(line) else { continue };
        let value = md::unticked(value);
        match key.to_lowercase().as_str() {
            "session id" if !value.is_empty() => value.clone_into(&mut session.id),
            "paused at" | "paused" | "saved" => {
                checkpoint.at = checkpoint.at.or_else(|| time::parse(value));
                if time::parse(value).is_none() {
                    rest.put(key, value.into());
                }
            }
            "primary task" => session.member("task", Some(value)),
            "summary" => notes.set("summary", Some(value)),
            "branch" if checkpoint.git.branch.is_none() => checkpoint.git.branch = Some(value.to_owned()),
            _ if section.level <= 1
                || matches!(section.key().as_str(), "session metadata" | "what you were working on") =>
            {
                rest.put(key, value.into());
            }
            _ => {}
        }
    }
}

/// The items of a section as a list of the record; whether that was all of it.
fn list(name: &str, section: &MarkdownSection, notes: &mut RecordNotes) -> bool {
    let (items, other) = md::bullets(&section.lines);
    for item in items {
        let below = (!item.below.is_empty()).then(|| item.below.join("\n"));
        notes.add(name, NoteItem::new(item.text).with("details", below));
    }
    other.iter().all(|line| line.trim().is_empty())
}

fn git(section: &MarkdownSection, claimed: &mut ForeignRepoState) {
    for line in &section.lines {
        if claimed.commit.is_none() {
            let words = line.split(|c: char| !c.is_ascii_alphanumeric());
            let is_commit = |word: &&str| {
                (7..=40).contains(&word.len()) && word.chars().all(|c| c.is_ascii_hexdigit() && !c.is_uppercase())
            };
            claimed.commit = words
                .filter(|word| word.contains(|c: char| c.is_ascii_digit()))
                .find(is_commit)
                .map(str::to_owned);
        }
    }
}
