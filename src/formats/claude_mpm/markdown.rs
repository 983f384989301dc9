//! The Markdown of a pause session: the document of versions 4.20 to 6.5, and the older free form that its reader accepts.

use serde_json::{Map, Value, json};

use super::{
    super::{
        Attachment, File, ForeignCheckpoint, ForeignSession, Problem,
        fields::ObjectFields,
        markdown::{self as md, Bullet, MarkdownSection},
        notes::{NoteItem, RecordNotes},
        time,
    },
    SYSTEM,
};
use crate::model::session::SessionStatus;

/// Whether a text begins with the document's title.
pub(super) fn is_titled(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let title = first.trim_start_matches('#').trim().to_lowercase();
    first.starts_with("# ") && (title.starts_with("claude mpm session") || title.contains("session pause document"))
}

/// Reads a session; the file itself is attached, because its form is free.
pub(super) fn parse(file: &File, problems: &mut Vec<Problem>) -> Option<ForeignSession> {
    let text = file.text();
    if text.trim().is_empty() {
        problems.push(Problem::broken(&file.path, "it is empty"));
        return None;
    }
    let mut reader = Reader {
        session: ForeignSession::new(SYSTEM, file.stem(), file),
        checkpoint: ForeignCheckpoint::new(file.stem()),
        notes: RecordNotes::default(),
        rest: ObjectFields::default(),
        git: Map::new(),
    };
    reader.session.has_file_name_id = true;
    reader.session.status(SessionStatus::Paused);
    let mut kept = Vec::new();
    for section in md::sections(&text) {
        if section.level == 1 && !section.title.is_empty() {
            reader.session.member("title", Some(section.title.clone()));
        }
        let left = reader.section(&section);
        if !left.is_empty() {
            kept.push(json!({ "title": section.title, "level": section.level, "text": left.join("\n") }));
        }
    }
    let Reader {
        mut session,
        mut checkpoint,
        mut notes,
        mut rest,
        git,
    } = reader;
    if !git.is_empty() {
        let mut fields = ObjectFields::new(git.clone());
        checkpoint.git = super::json::claimed(&mut fields, false, file, problems);
        rest.put("git_context", Value::Object(git));
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

struct Reader {
    session: ForeignSession,
    checkpoint: ForeignCheckpoint,
    notes: RecordNotes,
    rest: ObjectFields,
    /// The repository in the form of the JSON.
    git: Map<String, Value>,
}

impl Reader {
    /// Takes a section; gives the lines of it that have no place.
    fn section(&mut self, section: &MarkdownSection) -> Vec<String> {
        let key = section.key();
        let left = match key.as_str() {
            _ if section.level <= 1 => self.heads(section),
            "session metadata" | "what you were working on" | "active context" => self.heads(section),
            "git context" => self.git(section),
            "important reminders" => {
                let (items, other) = md::bullets(&section.lines);
                for item in items {
                    super::reminder(item.text.into(), &mut self.notes);
                }
                other
            }
            "validation commands" => {
                let lines = section.lines.iter().map(|line| line.trim());
                let commands = lines.filter(|line| !line.is_empty() && !line.starts_with("```"));
                self.rest.put("validation_commands", commands.collect());
                Vec::new()
            }
            "open questions" => self.list("questions", section),
            "summary" if !self.notes.has("summary") && !section.is_empty() => {
                self.notes.set("summary", Some(section.text().trim()));
                Vec::new()
            }
            key if key.starts_with("accomplishments") => self.list("accomplishments", section),
            key if ["next steps", "to resume", "remaining work", "to verify"]
                .iter()
                .any(|k| key.starts_with(k)) =>
            {
                self.steps(section)
            }
            key if ["resume instructions", "quick resume", "quick start", "files to review"]
                .iter()
                .any(|k| key.starts_with(k)) =>
            {
                self.list("resume_instructions", section)
            }
            _ => section.lines.clone(),
        };
        let says = |line: &String| {
            let line = line.trim();
            !line.is_empty() && line != "---" && !line.starts_with("Resume with: `/mpm-init resume`")
        };
        if left.iter().any(says) { left } else { Vec::new() }
    }

    /// `**Key**: value` lines; a key without a value has its text below.
    fn heads(&mut self, section: &MarkdownSection) -> Vec<String> {
        let mut left = Vec::new();
        let mut lines = section.lines.iter().peekable();
        while let Some(line) = lines.next() {
            let Some((key, value)) = md::pair(line) else {
                left.push(line.clone());
                continue;
            };
            let mut value = md::unticked(value).to_owned();
            if value.is_empty() {
                let mut below = Vec::new();
                while let Some(line) = lines.next_if(|line| md::pair(line).is_none()) {
                    below.push(line.as_str());
                }
                // The end of the document follows a rule.
                if let Some(end) = below.iter().rposition(|line| line.trim() == "---") {
                    below.truncate(end);
                }
                below.join("\n").trim().clone_into(&mut value);
            }
            self.head(key, &value);
        }
        left
    }

    fn head(&mut self, key: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        let conversation = |rest: &mut ObjectFields, key: &str| {
            let mut map = rest.fields("conversation").unwrap_or_default();
            map.put(key, value.into());
            rest.put("conversation", Value::Object(map.rest()));
        };
        match key.to_lowercase().as_str() {
            "session id" => value.clone_into(&mut self.session.id),
            "paused at" | "paused" | "saved" if self.checkpoint.at.is_none() => {
                self.checkpoint.at = time::parse(value);
                if self.checkpoint.at.is_none() {
                    self.rest.put(key, value.into());
                }
            }
            "primary task" => self.session.member("task", Some(value)),
            "summary" if !self.notes.has("summary") => self.notes.set("summary", Some(value)),
            "current phase" => conversation(&mut self.rest, "current_phase"),
            "project" => self.rest.put("project_path", value.into()),
            "version" => self.rest.put("version", value.into()),
            "working directory" => self.rest.put("active_context", json!({ "working_directory": value })),
            "branch" if !self.git.contains_key("branch") => {
                self.git.insert("branch".to_owned(), value.into());
            }
            _ => {
                let name = if self.rest.has(key) {
                    format!("{key} (again)")
                } else {
                    key.to_owned()
                };
                self.rest.put(&name, value.into());
            }
        }
    }

    /// The section about the repository, in the form of the JSON.
    fn git(&mut self, section: &MarkdownSection) -> Vec<String> {
        let mut left = Vec::new();
        let mut place = "";
        let (mut modified, mut commits) = (Vec::new(), Vec::new());
        for line in &section.lines {
            if let Some((key, value)) = md::pair(line) {
                let value = md::unticked(value);
                match key.to_lowercase().as_str() {
                    "branch" => {
                        self.git.insert("branch".to_owned(), value.into());
                    }
                    "status" if ["clean", "modified"].contains(&value.to_lowercase().as_str()) => {
                        self.status("clean", value.eq_ignore_ascii_case("clean").into());
                    }
                    "modified files" => place = "modified",
                    "recent commits" => place = "commits",
                    _ => left.push(line.clone()),
                }
                continue;
            }
            let item = line.trim().strip_prefix("- ").map(str::trim);
            match (place, item) {
                ("modified", Some(path)) => modified.push(Value::from(md::unticked(path))),
                ("commits", Some(text)) => commits.push(commit(text)),
                _ if line.trim() == "*Not a git repository*" => {
                    self.git.insert("is_git_repo".to_owned(), false.into());
                }
                _ if line.trim().is_empty() => {}
                _ => {
                    // Older files name a commit somewhere in their words.
                    if commits.is_empty() {
                        commits.extend(sha(line).map(|sha| json!({ "sha": sha })));
                    }
                    left.push(line.clone());
                }
            }
        }
        if !modified.is_empty() {
            self.status("modified_files", Value::Array(modified));
        }
        if !commits.is_empty() {
            self.git.insert("recent_commits".to_owned(), Value::Array(commits));
        }
        left
    }

    fn status(&mut self, key: &str, value: Value) {
        let status = self.git.entry("status").or_insert_with(|| json!({}));
        if let Value::Object(status) = status {
            status.insert(key.to_owned(), value);
        }
    }

    /// The items of a section as a list of the record; gives the other lines.
    fn list(&mut self, name: &str, section: &MarkdownSection) -> Vec<String> {
        let (items, other) = md::bullets(&section.lines);
        for item in items {
            let below = (!item.below.is_empty()).then(|| item.below.join("\n"));
            self.notes.add(name, NoteItem::new(item.text).with("details", below));
        }
        other
    }

    /// Next steps, which may say how urgent and how far they are.
    fn steps(&mut self, section: &MarkdownSection) -> Vec<String> {
        let (items, other) = md::bullets(&section.lines);
        for item in items {
            let list = item.list("next_steps");
            self.notes.add(list, step(item));
        }
        other
    }
}

/// `**Task** (Priority: 1)` with lines for time, status and notes below.
fn step(item: Bullet) -> NoteItem {
    let parts = item
        .text
        .strip_prefix("**")
        .and_then(|text| text.split_once("** (Priority: "))
        .and_then(|(task, rest)| Some((task, rest.strip_suffix(')')?)));
    let Some((task, priority)) = parts else {
        let below = (!item.below.is_empty()).then(|| item.below.join("\n"));
        return NoteItem::new(item.text).with("details", below);
    };
    let mut fields = ObjectFields::default();
    if priority != "?" {
        let number = priority.parse::<i64>().map(Value::from);
        fields.put("priority", number.unwrap_or_else(|_| priority.into()));
    }
    let mut below = Vec::new();
    for line in &item.below {
        let said = line.trim().strip_prefix("- ").and_then(|line| line.split_once(": "));
        match said {
            Some(("Est. time", value)) => fields.put("estimated_hours", value.into()),
            Some(("Status", value)) => fields.put("status", value.into()),
            Some(("Notes", value)) => fields.put("notes", value.into()),
            _ => below.push(line.as_str()),
        }
    }
    let details = (!below.is_empty()).then(|| below.join("\n"));
    NoteItem::new(task).with("details", details).and(fields)
}

/// `` `9fceb02` - subject (author)``
fn commit(text: &str) -> Value {
    let Some((id, rest)) = text.split_once(" - ") else {
        return json!({ "sha": md::unticked(text) });
    };
    let author = rest
        .rsplit_once(" (")
        .and_then(|(message, author)| Some((message, author.strip_suffix(')')?)));
    match author {
        Some((message, author)) => json!({ "sha": md::unticked(id), "message": message, "author": author }),
        None => json!({ "sha": md::unticked(id), "message": rest }),
    }
}

fn sha(line: &str) -> Option<&str> {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric());
    let is_commit = |word: &&str| {
        (7..=40).contains(&word.len()) && word.chars().all(|c| c.is_ascii_hexdigit() && !c.is_uppercase())
    };
    words
        .filter(|word| word.contains(|c: char| c.is_ascii_digit()))
        .find(is_commit)
}
