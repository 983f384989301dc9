//! The Markdown of ai-agents: checkpoints, hand-offs, older session logs, the dashboard.

use serde_json::{Value, json};

use super::super::{
    Attachment, File, ForeignCheckpoint, ForeignSession, Problem, System,
    fields::ObjectFields,
    markdown::{self as md, MarkdownSection},
    notes::{NoteItem, RecordNotes},
    time,
};
use crate::model::session::SessionStatus;

pub(super) fn parse(file: &File, problems: &mut Vec<Problem>) -> Option<ForeignSession> {
    let text = file.text();
    if text.trim().is_empty() {
        problems.push(Problem::broken(&file.path, "it is empty"));
        return None;
    }
    let mut session = ForeignSession::new(System::AiAgents, file.stem(), file);
    session.status(if file.name() == "HANDOFF.md" {
        SessionStatus::Active
    } else {
        SessionStatus::Paused
    });
    let mut point = ForeignCheckpoint::new(file.stem());
    point.at = in_name(file.stem());
    let (mut notes, mut rest, mut kept) = (RecordNotes::default(), ObjectFields::default(), Vec::new());
    for section in md::sections(&text) {
        if section.level == 1 {
            let at = section.title.rsplit([',', ' ']).next().and_then(time::parse);
            point.at = at.or(point.at);
            session.member("title", Some(section.title.clone()));
        }
        pairs(&section, &mut session, &mut point, &mut rest);
        if !take(&section, &mut notes) && !section.is_empty() {
            kept.push(json!({ "level": section.level, "title": section.title, "text": section.text() }));
        }
    }
    let member = |key: &str| session.members.get(key).and_then(Value::as_str).map(str::to_owned);
    let title = rest
        .peek_text("Label")
        .map(str::to_owned)
        .or_else(|| member("task"))
        .or_else(|| member("title"));
    notes.set("summary", title);
    if !kept.is_empty() {
        rest.put("sections", Value::Array(kept));
    }
    notes.extra(System::AiAgents, rest.rest());
    point.record = notes.finish();
    point.attachments.push(Attachment::of(file));
    session.created_at = point.at;
    session.checkpoints.push(point);
    Some(session)
}

/// `CHECKPOINT-20260301-080001-label`, `2026-03-01-4939-handoff`: the time in a name.
fn in_name(stem: &str) -> Option<crate::model::time::Timestamp> {
    let rest = stem.strip_prefix("CHECKPOINT-").unwrap_or(stem);
    let exact = rest.get(..15).and_then(time::parse);
    exact.or_else(|| rest.get(..10).and_then(time::parse))
}

fn pairs(
    section: &MarkdownSection,
    session: &mut ForeignSession,
    point: &mut ForeignCheckpoint,
    rest: &mut ObjectFields,
) {
    let head = section.level <= 1 || matches!(section.key().as_str(), "status" | "session info" | "session");
    if !head {
        return;
    }
    for line in &section.lines {
        let Some((key, value)) = md::pair(line).or_else(|| md::plain_pair(line.trim_start_matches("- "))) else {
            continue;
        };
        let value = md::unticked(value);
        if value.is_empty() {
            continue;
        }
        match key.to_lowercase().as_str() {
            "created" | "date" => {
                point.at = time::parse(value).or(point.at);
                rest.put(key, value.into());
            }
            "branch" => point.git.branch = Some(value.to_owned()),
            "issue" => {
                // `#77, Broken rope`: the number names it, the words stay.
                let (number, words) = value.split_once(',').unwrap_or((value, ""));
                let is_number = number.trim_start_matches('#').parse::<u64>().is_ok();
                let issue = if is_number { number } else { value };
                session.member("issues", Some(vec![Value::from(issue)]));
                if is_number && !words.is_empty() {
                    rest.put(key, value.into());
                }
            }
            "task" | "objective" => session.member("task", Some(value)),
            _ => rest.put(key, value.into()),
        }
    }
}

/// Takes a section into the record; `false` when something of it has no place there.
fn take(section: &MarkdownSection, notes: &mut RecordNotes) -> bool {
    let list = match section.key().as_str() {
        "decisions" | "decisions made" => "decisions",
        "completed" => "accomplishments",
        "pending" | "next steps" => "next_steps",
        "open questions" => "questions",
        "next action" | "context for next session" => "resume_instructions",
        "blocked items" => "blockers",
        "verification on resume" => "checks",
        "related" | "context references" => "memory_refs",
        "status" => {
            return section
                .lines
                .iter()
                .all(|line| line.trim().is_empty() || md::pair(line).is_some());
        }
        _ => return false,
    };
    let (items, other) = md::bullets(&section.lines);
    let placeholder = |text: &str| matches!(text.trim().to_lowercase().as_str(), "(none)" | "none" | "n/a");
    for item in items.iter().filter(|item| !placeholder(&item.text)) {
        let below = (!item.below.is_empty()).then(|| item.below.join("\n"));
        let made = match list {
            "decisions" => match md::pair(&item.text) {
                Some((what, why)) if !why.is_empty() => NoteItem::new(what).with("reason", Some(why)),
                _ => NoteItem::new(item.text.clone()),
            },
            "checks" => {
                let status = if item.checked == Some(true) { "pass" } else { "open" };
                NoteItem::new(item.text.clone()).with("status", Some(status))
            }
            _ => NoteItem::new(item.text.clone()),
        };
        notes.add(list, made.with("details", below));
    }
    // A section of plain sentences is one item.
    let said: Vec<&String> = other
        .iter()
        .filter(|line| !line.trim().is_empty() && !placeholder(line))
        .collect();
    if said.is_empty() {
        return true;
    }
    if items.is_empty() && list != "checks" {
        notes.add(
            list,
            NoteItem::new(said.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n")),
        );
        return true;
    }
    false
}
