//! Our own document for people, read back: the sections that `export --format markdown` writes.

use serde_json::{Map, Value};

use super::{
    super::{
        File, ForeignCheckpoint, ForeignSession,
        claude_mpm::has,
        markdown::{self as md, MarkdownSection},
        notes::{NoteItem, RecordNotes, session_status, task_status},
        time,
    },
    OWN, SYSTEM,
    note::{self, code, plain},
};

/// Whether a text is such a document: its title, and the digest in its head.
pub(super) fn is_one(start: &str, bytes: &[u8]) -> bool {
    start.trim_start().starts_with("# Session checkpoint: ") && has(bytes, "\n- **Digest:** sha256:")
}

/// Reads a document. The whole of it is attached.
pub(super) fn parse(file: &File) -> ForeignSession {
    let mut session = ForeignSession::new(SYSTEM, file.stem(), file);
    session.has_file_name_id = true;
    session.system = OWN;
    let mut point = ForeignCheckpoint::default();
    let (mut notes, mut kept) = (RecordNotes::default(), Vec::new());
    for section in md::sections(&file.text()) {
        if section.level == 1 {
            head(&section, &mut session, &mut point, &mut notes);
        } else if !take(&section, &mut notes, &mut point) && !is_nothing(&section) {
            kept.push(serde_json::json!({ "level": section.level, "title": section.title, "text": section.text() }));
        }
    }
    note::complete(session, point, (notes, kept), file)
}

fn is_nothing(section: &MarkdownSection) -> bool {
    section.is_empty() || section.text().trim() == "(none)"
}

fn head(
    section: &MarkdownSection,
    session: &mut ForeignSession,
    point: &mut ForeignCheckpoint,
    notes: &mut RecordNotes,
) {
    let title = section.title.strip_prefix("Session checkpoint: ").map(plain);
    for line in &section.lines {
        let Some((key, value)) = md::pair(line) else { continue };
        let value = plain(value);
        match key {
            "Session" => {
                session.id.clone_from(&value);
                session.name = value;
            }
            "Last updated" => point.at = time::parse(&value),
            "Status" => {
                if let Some(status) = session_status(&value) {
                    session.status(status);
                }
            }
            "Branch" => code(&value, point),
            "Checkpoint" => point.id = value,
            "Task" | "Feature" | "Agent" => session.member(&key.to_lowercase(), Some(value)),
            "Issues" => session.member("issues", Some(value.split(", ").map(Value::from).collect::<Vec<_>>())),
            "Digest" => {}
            _ => notes.extra(SYSTEM, Map::from_iter([(key.to_lowercase(), value.into())])),
        }
    }
    session.member("title", title.filter(|title| *title != session.name));
}

/// Reads a section into the record; `false` for one that has no place there.
fn take(section: &MarkdownSection, notes: &mut RecordNotes, point: &mut ForeignCheckpoint) -> bool {
    if is_nothing(section) {
        return true;
    }
    match section.title.as_str() {
        "Summary" => notes.set("summary", Some(plain(section.text().trim()))),
        "Completed work" | "In progress" | "Remaining work" => {
            for row in rows(section) {
                task(&row, &section.title, notes);
            }
        }
        "Decisions" => each(section, notes, "decisions", &[("Reason", "reason")]),
        "Blockers" => each(section, notes, "blockers", &[("Needs", "needs"), ("Reference", "ref")]),
        "Open questions" => bullets(section, notes, "questions"),
        "Resume instructions" => bullets(section, notes, "next_steps"),
        "Files" => {
            for row in rows(section) {
                let list = match row.get("State").map(String::as_str) {
                    Some(state) if state == "staged" || state.ends_with(" (staged)") => &mut point.git.staged,
                    Some("modified") => &mut point.git.modified,
                    Some("untracked") => &mut point.git.untracked,
                    _ => continue,
                };
                list.extend(row.get("Path").map(|path| current_name(path).to_owned()));
            }
        }
        // It follows from the tasks.
        "Current phase" => return section.text().trim().ends_with(" tasks done"),
        _ => return false,
    }
    true
}

/// The path that a renamed one has now.
pub(super) fn current_name(path: &str) -> &str {
    path.rsplit(" -> ").next().unwrap_or(path)
}

/// Cells by the heads of their columns; empty ones are left out.
type TableRow = std::collections::BTreeMap<String, String>;

fn rows(section: &MarkdownSection) -> Vec<TableRow> {
    let (tables, _) = md::tables(&section.lines);
    let of_table = |table: md::MarkdownTable| {
        let row = |cells: &Vec<String>| {
            let cells = cells.iter().map(|cell| plain(cell).replace("<br>", "\n"));
            let named = table.head.iter().cloned().zip(cells);
            named.filter(|(_, cell)| !cell.is_empty() && cell != "-").collect()
        };
        table.rows.iter().map(row).collect::<Vec<TableRow>>()
    };
    tables.into_iter().flat_map(of_table).collect()
}

fn task(row: &TableRow, section: &str, notes: &mut RecordNotes) {
    let Some(title) = row.get("Task") else { return };
    let status = row.get("Status").map(|word| task_status(word));
    let status = status.unwrap_or(if section == "Remaining work" {
        "todo"
    } else {
        "in_progress"
    });
    let files = row
        .get("Files")
        .map(|files| files.lines().map(Value::from).collect::<Vec<_>>());
    let item = NoteItem::new(title.clone())
        .with("status", Some(status))
        .with("issue", row.get("Issue").cloned())
        .with("agent", row.get("Agent").cloned())
        .with("files", files)
        .with("notes", row.get("Notes").cloned());
    notes.add("tasks", item);
}

/// The rows of a table as items: the first column is the text, others are members.
fn each(section: &MarkdownSection, notes: &mut RecordNotes, list: &str, members: &[(&str, &str)]) {
    let (tables, _) = md::tables(&section.lines);
    let Some(first) = tables.first().and_then(|table| table.head.first()).cloned() else {
        return;
    };
    for row in rows(section) {
        let Some(text) = row.get(&first) else { continue };
        let item = members
            .iter()
            .fold(NoteItem::new(text.clone()), |item, (column, member)| {
                item.with(member, row.get(*column).cloned())
            });
        notes.add(list, item);
    }
}

fn bullets(section: &MarkdownSection, notes: &mut RecordNotes, list: &str) {
    for item in md::bullets(&section.lines).0 {
        notes.add(item.list(list), NoteItem::new(plain(&item.text)));
    }
}
