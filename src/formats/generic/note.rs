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
            "remaining" | "done tasks" => "tasks",
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
        if list == "accomplishments" {
            items.reverse();
        }
        for item in items {
            let text = plain(&item.text);
            if list == "accomplishments"
                && let Some((title, word @ ("done" | "dropped"))) =
                    text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("))
            {
                notes.add("tasks", NoteItem::new(title).with("status", Some(word)));
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
                    let parts = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
                    let parts = parts.or_else(|| text.rsplit_once(": "));
                    let known = parts.filter(|(_, word)| TASK_WORDS.contains(word));
                    let Some((title, word)) = known else {
                        notes.add("todos", NoteItem::new(text));
                        continue;
                    };
                    let status = if word.starts_with("to") {
                        "todo"
                    } else {
                        task_status(word)
                    };
                    NoteItem::new(title).with("status", Some(status))
                }
                _ => NoteItem::new(text),
            };
            notes.add(item.list(list), made);
        }
    }
    complete(session, point, (notes, kept), file)
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
