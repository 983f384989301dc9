//! OpenCastle: `SESSION-CHECKPOINT.md` and its logs of JSON lines.
//!
//! The file is rewritten in place, so each import of a newer state adds a checkpoint. The template's sections become the
//! record; other sections, and the lines of one that have no place there, are kept verbatim, and then the whole file next to
//! the record, since most files in the wild have a layout of their own.

mod logs;
mod sections;
mod steps;
mod tables;
mod write;

use serde_json::Value;

use super::{
    Attachment, ExportExtent, ExportFiles, ExportInput, File, ForeignCheckpoint, ForeignSession, Format, FormatWriter,
    ParseOutcome, Problem, Recognition, System,
    fields::ObjectFields,
    markdown::{self as md, MarkdownSection},
    notes::RecordNotes,
    time,
};
use crate::model::session::SessionStatus;

pub(super) use sections::is_own_sentence;

pub(super) const SYSTEM: System = System::of(&Opencastle);

/// The session checkpoint and the logs of OpenCastle.
struct Opencastle;

impl Format for Opencastle {
    fn name(&self) -> &'static str {
        "opencastle"
    }

    fn places(&self) -> &'static [&'static str] {
        &[
            ".opencastle/SESSION-CHECKPOINT.md",
            "docs/SESSION-CHECKPOINT.md",
            "SESSION-CHECKPOINT.md",
            ".opencastle/logs",
        ]
    }

    fn homes(&self) -> &'static [&'static str] {
        &[".opencastle"]
    }

    fn recognize(&self, file: &File) -> Recognition {
        let is_named = file.is("md") && file.name().to_uppercase().starts_with("SESSION-CHECKPOINT");
        let is_text = !["json", "jsonl", "yaml", "yml"].iter().any(|end| file.is(end));
        Recognition::Content
            .when(is_text && is_titled(&file.text_start()))
            .max(Recognition::Name.when(is_named || file.is("ndjson")))
    }

    fn parse(&self, files: &[File]) -> ParseOutcome {
        parse(files)
    }

    fn writer(&self) -> Option<&dyn FormatWriter> {
        Some(&Opencastle)
    }
}

impl FormatWriter for Opencastle {
    fn about(&self) -> &'static str {
        "SESSION-CHECKPOINT.md of OpenCastle"
    }

    fn extent(&self) -> ExportExtent {
        ExportExtent::File
    }

    fn write(&self, out: &ExportInput<'_>) -> ExportFiles {
        write::write(out)
    }
}

/// Whether a text begins with the template's heading; the skill that explains the template holds it further down.
fn is_titled(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.is_some_and(|line| line.starts_with("# ") && line.to_lowercase().contains("session checkpoint"))
}

fn parse(files: &[File]) -> ParseOutcome {
    let mut out = ParseOutcome::default();
    let mut lines = Vec::new();
    for file in files {
        if ["ndjson", "jsonl", "json"].iter().any(|end| file.is(end)) {
            lines.push(file);
        } else {
            checkpoint(file, &mut out);
        }
    }
    logs::parse(&lines, &mut out);
    out
}

fn checkpoint(file: &File, out: &mut ParseOutcome) {
    let text = file.text();
    if text.trim().is_empty() {
        out.problems.push(Problem::broken(&file.path, "it is empty"));
        return;
    }
    let mut session = ForeignSession::new(SYSTEM, file.stem(), file);
    session.has_file_name_id = true;
    session.status(SessionStatus::Active);
    let mut point = ForeignCheckpoint::default();
    let (mut notes, mut rest, mut kept) = (RecordNotes::default(), ObjectFields::default(), Vec::new());
    let mut title = None;
    let sections = md::sections(&text);
    let mut next = 0;
    while let Some(section) = sections.get(next) {
        next += 1;
        let below = sections[next..]
            .iter()
            .take_while(|other| other.level > section.level)
            .count();
        if steps::is_fork_point(section) && section.level > 1 {
            let options = &sections[next..next + below];
            let left = steps::fork_point(section, options, &mut notes);
            for (one, lines) in std::iter::once(section).chain(options).zip(left) {
                if !lines.is_empty() {
                    kept.push(sections::verbatim(one, lines));
                }
            }
            next += below;
            continue;
        }
        if steps::is_log(section) {
            let own = section.lines.iter().filter(|line| !line.trim().is_empty()).cloned();
            let own: Vec<String> = own.filter(|line| line.trim() != "---").collect();
            if !own.is_empty() {
                kept.push(sections::verbatim(section, own));
            }
            for one in &sections[next..next + below] {
                match steps::step(one) {
                    Some((step, left)) => {
                        if !left.is_empty() {
                            kept.push(sections::verbatim(one, left));
                        }
                        point.steps.push(step);
                    }
                    None => kept.push(sections::verbatim(one, one.lines.clone())),
                }
            }
            next += below;
            continue;
        }
        if section.level <= 1 {
            if section.level == 1 && title.is_none() {
                title = Some(section.title.clone());
            }
            let left = head(section, &mut session, &mut point, &mut rest);
            if !left.is_empty() {
                kept.push(sections::verbatim(section, left));
            }
            continue;
        }
        // `## Date: 2025-08-01`
        if let Some((key, value)) = md::plain_pair(&section.title)
            && key.eq_ignore_ascii_case("date")
            && point.at.is_none()
            && time::parse(value).is_some()
        {
            point.at = time::parse(value);
        }
        match sections::take(section, &mut notes, &mut rest) {
            Some(left) if left.is_empty() => {}
            Some(left) => kept.push(sections::verbatim(section, left)),
            None => kept.push(sections::verbatim(section, section.lines.clone())),
        }
    }
    let feature = session
        .members
        .get("feature")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let own = title
        .clone()
        .map(|title| after_dash(&title).to_owned())
        .filter(|title| title.to_lowercase() != "session checkpoint");
    let name = feature
        .clone()
        .or_else(|| own.clone())
        .unwrap_or_else(|| file.stem().to_owned());
    session.id.clone_from(&name);
    session.name = name;
    session.member("title", own.clone());
    if !notes.has("summary") {
        let phase = notes.text_at("phase", "title");
        notes.set("summary", phase.or(feature).or(own).or(title));
    }
    if !kept.is_empty() {
        rest.put("sections", Value::Array(kept));
        point.attachments.push(Attachment::of(file));
    }
    notes.extra(SYSTEM, rest.rest());
    point.record = notes.finish();
    tables::name_dependencies(&mut point.record);
    unique(&mut point.steps);
    point.id = point.at.map_or_else(|| "checkpoint".to_owned(), |at| at.to_string());
    session.checkpoints.push(point);
    out.sessions.push(session);
}

/// Gives steps of the same number and title ids of their own.
fn unique(steps: &mut [Value]) {
    let mut seen = std::collections::BTreeSet::new();
    for step in steps {
        let id = step["id"].as_str().unwrap_or_default().to_owned();
        let free = (1..).map(|n| if n == 1 { id.clone() } else { format!("{id}-{n}") });
        if let Some(free) = free.into_iter().find(|id| !seen.contains(id)) {
            seen.insert(free.clone());
            step["id"] = free.into();
        }
    }
}

/// `Session Checkpoint - search`: what follows the dash.
fn after_dash(title: &str) -> &str {
    let parts = [" \u{2014} ", " \u{2013} ", " - ", ": "];
    let found = parts.iter().find_map(|dash| title.split_once(dash));
    match found {
        Some((first, rest)) if first.to_lowercase().contains("checkpoint") => rest.trim(),
        _ => title.trim(),
    }
}

/// The lines above the first section; gives those that say something else.
fn head(
    section: &MarkdownSection,
    session: &mut ForeignSession,
    point: &mut ForeignCheckpoint,
    rest: &mut ObjectFields,
) -> Vec<String> {
    let mut left = Vec::new();
    for line in &section.lines {
        let Some((key, value)) = md::pair(line).or_else(|| md::plain_pair(line)) else {
            if !line.trim().is_empty() && line.trim() != "---" && !line.trim_start().starts_with("<!--") {
                left.push(line.clone());
            }
            continue;
        };
        let value = md::unticked(value.trim());
        let unset = |key: &str, session: &ForeignSession| !session.members.contains_key(key);
        match key.to_lowercase().as_str() {
            _ if value.is_empty() => {}
            "last updated" | "updated" | "saved" | "date" if point.at.is_none() => {
                point.at = time::parse(value).or_else(|| time::parse(value.split(" (").next().unwrap_or_default()));
                if time::parse(value).is_none() {
                    rest.put(key, value.into());
                }
            }
            "feature" if unset("feature", session) => session.member("feature", Some(value)),
            "goal" | "objective" | "task" if unset("task", session) => session.member("task", Some(value)),
            "branch" if point.git.branch.is_none() => point.git.branch = Some(value.to_owned()),
            "status" if !rest.has(key) => {
                let status = super::notes::session_status(value);
                if let Some(status) = status {
                    session.status(status);
                }
                if status.is_none_or(|status| status.word() != value) {
                    rest.put(key, value.into());
                }
            }
            "tracker issues" | "linear issues" | "issues" if unset("issues", session) => {
                let issues = value.split(',').map(str::trim).filter(|issue| !issue.is_empty());
                session.member("issues", Some(issues.map(Value::from).collect::<Vec<_>>()));
            }
            // What is there twice, or under a name that is used otherwise, keeps its line.
            "sections" | "current_phase" | "logs" => left.push(line.clone()),
            _ if rest.has(key) => left.push(line.clone()),
            _ => rest.put(key, value.into()),
        }
    }
    left
}
