//! Our own hand-off note, read back: the sections that `export --format handoff` writes.

use serde_json::{Map, Value};

use super::{
    super::{
        Attachment, File, ForeignCheckpoint, ForeignSession,
        claude_mpm::has,
        markdown as md,
        notes::{NoteItem, RecordNotes, session_status, task_status},
        time,
    },
    OWN, SYSTEM,
};

/// Words for the status of a task in a note.
const TASK_WORDS: [&str; 7] = [
    "todo",
    "to do",
    "in progress",
    "in_progress",
    "blocked",
    "done",
    "dropped",
];

/// Words for the status of a step.
const STEP_WORDS: [&str; 4] = ["running", "done", "failed", "invalid"];

/// Whether a text is such a note: its title, and the command that it ends with.
pub(super) fn is_one(start: &str, bytes: &[u8]) -> bool {
    let begins = start.trim_start().starts_with("# Hand-off:") || start.contains("\n# Hand-off:");
    begins && has(bytes, "`git checkpoint resume ") && has(bytes, "\nCheckpoint ")
}

/// Reads a note. The whole of it is attached.
pub(super) fn parse(file: &File) -> ForeignSession {
    let text = file.text();
    let mut session = ForeignSession::new(SYSTEM, file.stem(), file);
    session.has_file_name_id = true;
    session.system = OWN;
    let mut point = ForeignCheckpoint::default();
    let mut notes = RecordNotes::default();
    let mut kept = Vec::new();
    for section in md::sections(&text) {
        let key = section.key();
        if let Some(title) = section.title.strip_prefix("Hand-off:") {
            session.member("title", Some(title.trim()));
            continue;
        }
        if key == "status" {
            status(&section.lines, &mut session, &mut point, &mut notes);
            continue;
        }
        let list = match key.as_str() {
            "next steps" => "next_steps",
            "blocked" => "blockers",
            "decisions made" => "decisions",
            "open questions" => "questions",
            "remaining" | "done tasks" | "dropped" => "tasks",
            "done, newest first" | "done, latest first" => "accomplishments",
            "context for the next session" => "resume_instructions",
            "summary" if !notes.has("summary") && !section.is_empty() => {
                notes.set("summary", Some(plain(section.text().trim())));
                continue;
            }
            "files not committed" => {
                files(&section.lines, &mut point);
                continue;
            }
            "on resuming" => {
                identity(&section.lines, &mut session, &mut point);
                continue;
            }
            _ => {
                if !section.is_empty() {
                    kept.push(
                        serde_json::json!({ "level": section.level, "title": section.title, "text": section.text() }),
                    );
                }
                continue;
            }
        };
        let (mut items, _) = md::bullets(&section.lines);
        if list == "resume_instructions" && !items.is_empty() && items.iter().all(|item| is_step(&plain(&item.text))) {
            // What steps gave is no instruction; no note has all of a step.
            kept.push(serde_json::json!({ "level": section.level, "title": section.title, "text": section.text() }));
            continue;
        }
        if list == "accomplishments" {
            items.reverse();
        }
        for item in items {
            let text = plain(&item.text);
            if let Some((list, made)) = stated_item(list, &text) {
                notes.add(list, made);
                continue;
            }
            let made = match list {
                "decisions" => match text.strip_suffix(')').and_then(|text| text.split_once(" (because ")) {
                    Some((what, why)) => NoteItem::new(what).with("reason", Some(why)),
                    None => NoteItem::new(text),
                },
                "blockers" => match text.strip_suffix(')').and_then(|text| text.split_once(" (needs ")) {
                    Some((what, needs)) => NoteItem::new(what).with("needs", Some(needs)),
                    None => NoteItem::new(text),
                },
                "tasks" => {
                    let known = text.rsplit_once(": ").filter(|(_, word)| TASK_WORDS.contains(word));
                    let Some((title, word)) = known else {
                        notes.add("todos", NoteItem::new(text));
                        continue;
                    };
                    NoteItem::new(title).with("status", Some(status_of(word)))
                }
                _ => NoteItem::new(text),
            };
            notes.add(item.list(list), made);
        }
    }
    complete(session, point, (notes, kept), file)
}

/// The status of a task in the word of a note.
fn status_of(word: &str) -> &str {
    if word.starts_with("to") {
        "todo"
    } else {
        task_status(word)
    }
}

/// The text of a line, its state, and the details behind that, as in `deploy? (open; asked 2026-11-27; by ana)`. The text
/// and the details may have such parts of their own: the state is the last word that is one.
fn stated<'t>(text: &'t str, words: &[&str]) -> Option<(&'t str, &'t str, Vec<&'t str>)> {
    let inner = text.strip_suffix(')')?;
    let mut starts = inner.rmatch_indices(" (").map(|(at, _)| at);
    starts.find_map(|at| {
        let mut parts = inner[at + 2..].split("; ");
        let word = parts.next().filter(|word| words.contains(word))?;
        Some((&text[..at], word, parts.collect()))
    })
}

/// Whether a line is about a step: its number, its title and its state.
fn is_step(text: &str) -> bool {
    let (number, title) = text.split_once(' ').unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && stated(title, &STEP_WORDS).is_some()
}

/// The item of a line that has a state, with the list that it is of; `None` for a line that is nothing but its text.
fn stated_item(list: &str, text: &str) -> Option<(&'static str, NoteItem)> {
    match list {
        "accomplishments" | "tasks" => {
            let (title, word, details) = stated(text, &TASK_WORDS).or_else(|| stated(text, &["open"]))?;
            if word == "open" {
                return Some(("todos", with_details(NoteItem::new(title), &details)));
            }
            let task = NoteItem::new(title).with("status", Some(status_of(word)));
            Some(("tasks", with_details(task, &details)))
        }
        "blockers" => {
            let (question, _, details) = stated(text, &["open"])?;
            Some(("approvals", with_details(NoteItem::new(question), &details)))
        }
        "questions" => {
            let (first, options) = text.split_once('\n').unwrap_or((text, ""));
            if options.is_empty() {
                let (question, _, details) = stated(text, &["open"])?;
                return Some(("questions", with_details(NoteItem::new(question), &details)));
            }
            let (title, _, details) = stated(first, &["open"])?;
            let option = |line: &str| {
                let (key, title) = line.split_once(": ")?;
                Some(serde_json::json!({ "key": key, "title": title }))
            };
            let options: Option<Vec<Value>> = options.lines().map(option).collect();
            let point = NoteItem::new(title).with("options", Some(options?));
            Some(("fork_points", with_details(point, &details)))
        }
        _ => None,
    }
}

/// The item with the details of its line: those that are known as members, the others as they are.
fn with_details(mut item: NoteItem, details: &[&str]) -> NoteItem {
    let mut rest = Vec::new();
    for detail in details {
        let (name, value) = detail.split_once(' ').unwrap_or((detail, ""));
        let percent = detail.strip_suffix('%').and_then(|number| number.parse::<u8>().ok());
        item = match (name, percent) {
            (_, Some(percent)) => item.with("progress", Some(percent)),
            ("agent", _) => item.with("agent", Some(value)),
            ("issue", _) => item.with("issue", Some(value)),
            ("asked", _) if time::at_start(value).is_some() => {
                item.with("asked_at", time::at_start(value).map(|at| at.to_string()))
            }
            _ => {
                rest.push(*detail);
                item
            }
        };
    }
    item.with("details", (!rest.is_empty()).then(|| rest.join("; ")))
}

/// A session of one checkpoint: the notes are its record, with the sections that none took, and the file is attached.
pub(super) fn complete(
    mut session: ForeignSession,
    mut point: ForeignCheckpoint,
    (mut notes, kept): (RecordNotes, Vec<Value>),
    file: &File,
) -> ForeignSession {
    if !kept.is_empty() {
        notes.extra(SYSTEM, Map::from_iter([("sections".to_owned(), kept.into())]));
    }
    point.record = notes.finish();
    if point.id.is_empty() {
        point.id.clone_from(&session.id);
    }
    session.created_at = point.at;
    point.attachments.push(Attachment::of(file));
    session.checkpoints.push(point);
    session
}

/// The text of a line as it was before the note escaped it for Markdown.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '\\' && next.is_ascii_punctuation() => {}
            _ => out.push(c),
        }
    }
    out
}

/// The branch and the commit of a line such as `main @ 50e9fe7d, merge in progress`.
pub(super) fn code(value: &str, point: &mut ForeignCheckpoint) {
    let (branch, commit) = value.split_once(" @ ").unwrap_or((value, ""));
    let (branch, _) = branch.split_once(", ").unwrap_or((branch, ""));
    let (commit, _) = commit.split_once(", ").unwrap_or((commit, ""));
    let is_branch = !["detached HEAD", "not reported"].contains(&branch);
    point.git.branch = is_branch.then(|| branch.to_owned());
    point.git.commit = Some(commit.to_owned()).filter(|commit| !commit.is_empty());
}

fn status(lines: &[String], session: &mut ForeignSession, point: &mut ForeignCheckpoint, notes: &mut RecordNotes) {
    let mut summary = Vec::new();
    for line in lines {
        let Some((key, value)) = md::pair(line) else {
            summary.push(line.as_str());
            continue;
        };
        let value = plain(value);
        match key {
            "Session" => {
                let (name, word) = value.rsplit_once(", ").unwrap_or((&value, ""));
                name.clone_into(&mut session.id);
                name.clone_into(&mut session.name);
                if let Some(status) = session_status(word) {
                    session.status(status);
                }
            }
            "Saved" => point.at = time::at_start(&value),
            "Issue" => {
                let issues = value.split(", ").map(Value::from);
                session.member("issues", Some(issues.collect::<Vec<_>>()));
            }
            "Branch" => code(&value, point),
            "Task" => session.member("task", Some(value)),
            _ => {
                notes.extra(SYSTEM, Map::from_iter([(key.to_lowercase(), value.into())]));
            }
        }
    }
    let summary = summary.join("\n").trim().to_owned();
    notes.set(
        "summary",
        (!summary.is_empty() && summary != "(none)").then_some(plain(&summary)),
    );
}

fn files(lines: &[String], point: &mut ForeignCheckpoint) {
    let (items, _) = md::bullets(lines);
    for item in items {
        let text = plain(&item.text);
        let list = match text.split_once(": ") {
            Some((state, path)) if state == "staged" || state.ends_with(" (staged)") => (
                &mut point.git.staged,
                super::own_markdown::current_name(path).to_owned(),
            ),
            Some(("modified", path)) => (&mut point.git.modified, path.to_owned()),
            Some(("untracked", path)) => (&mut point.git.untracked, path.to_owned()),
            _ => continue,
        };
        list.0.push(list.1);
    }
}

/// The last line: `Checkpoint <id>, <digest>.`
fn identity(lines: &[String], session: &mut ForeignSession, point: &mut ForeignCheckpoint) {
    let last = lines
        .iter()
        .rev()
        .find_map(|line| line.trim().strip_prefix("Checkpoint "));
    if let Some((id, _)) = last.and_then(|line| line.split_once(", ")) {
        id.clone_into(&mut point.id);
        if session.id.is_empty() {
            id.clone_into(&mut session.id);
        }
    }
}
