//! The Markdown of ai-agents: checkpoints, hand-offs, older session logs, the dashboard.

use serde_json::{Value, json};

use super::super::{
    Attachment, File, ForeignCheckpoint, ForeignSession, Problem,
    fields::ObjectFields,
    markdown::{self as md, MarkdownSection},
    notes::{NoteItem, RecordNotes},
    time,
};
use super::SYSTEM;
use crate::model::session::SessionStatus;

/// Whether a text begins with the title of a hand-off or a session log, and has the sections of one.
pub(super) fn is_titled(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let title = first.to_lowercase();
    let words = ["handoff", "hand-off", "hand off", "session log"];
    let is_title = first.starts_with("# ") && words.iter().any(|word| title.contains(word));
    let sections = [
        "## status",
        "## next",
        "## remaining",
        "## session info",
        "## context for",
        "## decisions",
        "## blocke",
    ];
    let lower = text.to_lowercase();
    is_title && sections.iter().any(|section| lower.contains(section))
}

pub(super) fn parse(file: &File, problems: &mut Vec<Problem>) -> Option<ForeignSession> {
    let text = file.text();
    if text.trim().is_empty() {
        problems.push(Problem::broken(&file.path, "it is empty"));
        return None;
    }
    let mut session = ForeignSession::new(SYSTEM, file.stem(), file);
    session.has_file_name_id = true;
    session.status(SessionStatus::Paused);
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
        if ["goal", "objective"].contains(&section.key().as_str())
            && !section.is_empty()
            && !session.members.contains_key("task")
        {
            session.member("task", Some(section.text().trim().to_owned()));
            continue;
        }
        if !take(&section, &mut notes) && !section.is_empty() {
            kept.push(json!({ "level": section.level, "title": section.title, "text": section.text() }));
        }
    }
    let is_blank = |value: &str| value.starts_with('{') && value.ends_with('}');
    let said = [
        point.git.branch.as_deref(),
        session.members.get("task").and_then(Value::as_str),
    ];
    if said.into_iter().flatten().any(is_blank) {
        problems.push(Problem::note(
            &file.path,
            "it is a template with its blanks, not a session",
        ));
        return None;
    }
    let member = |key: &str| session.members.get(key).and_then(Value::as_str).map(str::to_owned);
    let title = rest
        .peek_text("Label")
        .map(str::to_owned)
        .or_else(|| member("task"))
        .or_else(|| member("title"));
    if !notes.has("summary") {
        notes.set("summary", title);
    }
    if !kept.is_empty() {
        rest.put("sections", Value::Array(kept));
    }
    notes.extra(SYSTEM, rest.rest());
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
        let whole = value;
        let value = md::unticked(value);
        if value.is_empty() {
            continue;
        }
        match key.to_lowercase().as_str() {
            "created" | "date" | "last updated" | "updated" | "saved" | "generated" => {
                point.at = time::at_start(value).or(point.at);
                rest.put(key, value.into());
            }
            "agent" if !session.members.contains_key("agent") => session.member("agent", Some(value)),
            "branch" => {
                // `` `fix/x` (PR #12, open) ``: the name, and words about it.
                let name = match whole.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
                    Some((name, _)) => name,
                    None => value.split([' ', ',']).next().unwrap_or(value),
                };
                point.git.branch = Some(name.to_owned());
                if name != value {
                    rest.put(key, whole.into());
                }
            }
            "issue" | "issues" => {
                let (issues, is_all) = issues(value);
                if !issues.is_empty() {
                    session.member("issues", Some(issues));
                }
                if !is_all {
                    rest.put(key, value.into());
                }
            }
            "task" | "objective" | "goal" => session.member("task", Some(value)),
            _ => rest.put(key, value.into()),
        }
    }
}

/// The issues at the beginning of a text, and whether it has nothing else: `#77, Broken rope` is the issue `#77`, and
/// `none filed` is none.
fn issues(text: &str) -> (Vec<Value>, bool) {
    let mut out = Vec::new();
    let mut rest = text.trim();
    loop {
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || "#-_/".contains(c)))
            .unwrap_or(rest.len());
        let word = &rest[..end];
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_issue = match word.rsplit_once('#') {
            Some((_, number)) => digits(number),
            None => {
                digits(word)
                    || word.rsplit_once('-').is_some_and(|(project, number)| {
                        digits(number) && project.starts_with(|c: char| c.is_ascii_uppercase())
                    })
            }
        };
        if !is_issue {
            break;
        }
        out.push(Value::from(word));
        rest = rest[end..].trim_start();
        rest = rest
            .strip_prefix(',')
            .or_else(|| rest.strip_prefix("and "))
            .unwrap_or(rest)
            .trim_start();
    }
    let is_all = rest.is_empty();
    (out, is_all)
}

/// Takes a section into the record; `false` when something of it has no place there.
fn take(section: &MarkdownSection, notes: &mut RecordNotes) -> bool {
    let list = match section.key().as_str() {
        "decisions" | "decisions made" | "key decisions" | "key decisions made" => "decisions",
        "completed" | "completed work" | "work completed" | "accomplishments" | "done" => "accomplishments",
        "pending" | "next" | "next steps" | "remaining" | "remaining steps" | "remaining work" | "to do" | "todo" => {
            "next_steps"
        }
        "open questions" | "questions" => "questions",
        "next action" | "context for next session" | "context for the next session" | "resume instructions" => {
            "resume_instructions"
        }
        "blocked items" | "blocked" | "blockers" | "blockers & issues" => "blockers",
        "verification on resume" => "checks",
        "related" | "context references" => "memory_refs",
        "summary" if !notes.has("summary") && !section.is_empty() => {
            notes.set("summary", Some(section.text().trim()));
            return true;
        }
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
        notes.add(item.list(list), made.with("details", below));
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
