//! One checkpoint for people: `show`, and the record part of `resume`.

use super::{
    age::DateStyle,
    count::ByteSize,
    items, receipt,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{
    change::TreeChange,
    document::{CheckpointKind, Document},
    id::Oid,
    item,
    list::Lists,
    record::{Record, TaskStatus},
    time::Timestamp,
};

/// How many items of a list are shown unless all are asked for.
const SHOWN: usize = 5;

/// Kinds of items that are shown after the open work, by their commands.
const OTHERS: [(&str, &str); 5] = [
    ("check", "Checks"),
    ("delegation", "Delegations"),
    ("open-file", "Open files"),
    ("memory", "Memory"),
    ("agent", "Agents say"),
];

/// Checkpoint as `show` prints it.
pub struct CheckpointView<'a> {
    /// The commit.
    pub id: &'a Oid,
    /// The session it was found through.
    pub session: Option<&'a str>,
    /// The remote it was fetched from.
    pub fetched: Option<&'a str>,
    /// The checkpoint before it.
    pub parent: Option<&'a Oid>,
    /// The author, `Name <address>`.
    pub author: String,
    /// The document.
    pub document: &'a Document,
    /// The lists.
    pub lists: &'a Lists,
    /// Changes of its files against its HEAD.
    pub changes: &'a [TreeChange],
    /// Its fork points, as [`items::fork_point`] takes them.
    pub fork_points: &'a [serde_json::Value],
    /// Whether to show every item of every list.
    pub all: bool,
}

impl CheckpointView<'_> {
    /// Header, summary, record, files.
    pub fn text(&self, columns: usize, dates: &DateStyle, now: Timestamp) -> Text {
        let document = self.document;
        let mut text = Text::new();
        let mut first = TextLine::new().with(Slot::Id, format!("checkpoint {}", self.id));
        if let Some(session) = self.session {
            first.push(Slot::Plain, " (");
            first.push(Slot::Session, session);
            if let Some(name) = &document.name {
                first.push(Slot::Session, format!("@{name}"));
            }
            first.push(Slot::Plain, ")");
        }
        text.push(first);
        let mut header = |label: &str, value: TextLine| {
            let mut line = TextLine::new().with(Slot::Heading, format!("{label}:"));
            line.pad_to(11);
            line.append(&value);
            text.push(line);
        };
        if let Some(parent) = self.parent {
            header("Parent", TextLine::new().with(Slot::Id, parent.short()));
        }
        header("Author", TextLine::new().with(Slot::Person, &self.author));
        if let Some(remote) = self.fetched {
            header(
                "Fetched",
                TextLine::new().with(Slot::Caution, format!("from remote {remote}, written by others")),
            );
        }
        if let Some(agent) = &document.session.agent {
            header("Agent", TextLine::new().with(Slot::Person, agent));
        }
        if let Some(task) = &document.session.task {
            header("Task", TextLine::plain(task));
        }
        header(
            "Date",
            TextLine::new().with(Slot::Date, dates.show(document.created_at, now)),
        );
        let mut kind = document.kind.word().to_owned();
        if let Some(trigger) = &document.trigger {
            kind = format!("{kind} ({trigger})");
        }
        header(
            "Kind",
            TextLine::plain(format!("{kind}, session {}", document.session.status.word())),
        );
        if let Some(from) = &document.session.forked_from {
            let mut line = TextLine::plain("session ").with(Slot::Session, from.session.as_str());
            if let Some(option) = &from.option {
                line.push(Slot::Plain, ", option ");
                line.push(Slot::Session, option);
            }
            header("Forked", line);
        }
        header("Code", code(document));
        header(
            "Place",
            TextLine::new()
                .with(Slot::Path, &document.worktree.path)
                .with(Slot::Dim, format!(" on {}", document.host)),
        );
        if let Some(summary) = &document.record.summary {
            text.push(TextLine::new());
            text.append(Text::wrapped(summary, 4, columns));
        }
        text.append(record(&document.record, columns, self.all));
        if !self.fork_points.is_empty() {
            heading(&mut text, "Fork points", self.fork_points.len());
        }
        for (number, point) in (1..).zip(self.fork_points) {
            text.append(items::fork_point(number, point));
        }
        text.append(self.files());
        text
    }

    fn files(&self) -> Text {
        let mut text = Text::new();
        if self.document.snapshot.is_none() {
            text.push(TextLine::new());
            text.push(TextLine::new().with(Slot::Dim, "The files were not saved."));
            return text;
        }
        if !self.changes.is_empty() {
            heading(&mut text, "Files against HEAD", self.changes.len());
        }
        for change in limited(self.changes, self.all) {
            let slot = match change.kind.letter() {
                'A' => Slot::Added,
                'D' => Slot::Removed,
                _ => Slot::Changed,
            };
            let mut line = TextLine::plain("  ").with(slot, change.kind.letter().to_string());
            line.push(Slot::Plain, " ");
            if let Some(from) = &change.from {
                line.push(Slot::Path, from.quoted());
                line.push(Slot::Plain, " -> ");
            }
            line.push(Slot::Path, change.path.quoted());
            text.push(line);
        }
        more(&mut text, self.changes.len(), self.all);
        if !self.lists.skipped.is_empty() {
            heading(&mut text, "Not saved", self.lists.skipped.len());
        }
        for skipped in limited(&self.lists.skipped, self.all) {
            let slot = if skipped.reason.is_failure() {
                Slot::Bad
            } else {
                Slot::Plain
            };
            text.push(
                TextLine::plain("  ")
                    .with(Slot::Path, skipped.path.quoted())
                    .with(slot, format!("  {}", skipped.reason)),
            );
        }
        more(&mut text, self.lists.skipped.len(), self.all);
        text
    }
}

/// The record: each kind of item under its heading, next steps numbered.
pub fn record(record: &Record, columns: usize, all: bool) -> Text {
    let mut text = Text::new();
    if let Some(phase) = &record.phase {
        let title = phase.title.as_deref().unwrap_or_default();
        pair(&mut text, "Phase", &format!("{} of {}  {title}", phase.n, phase.of));
    }
    if let Some(step) = &record.step {
        pair(&mut text, "Step", &format!("{} of {}", step.n, step.of));
    }
    let mut list = |title: &str, rows: Vec<(Slot, String)>| section(&mut text, title, &rows, columns, all);
    let tasks = |wanted: &[TaskStatus]| {
        record
            .tasks
            .iter()
            .filter(|t| wanted.contains(&t.status))
            .map(|t| t.title.clone())
            .collect::<Vec<_>>()
    };
    let plain = |rows: Vec<String>| rows.into_iter().map(|row| (Slot::Plain, row)).collect::<Vec<_>>();
    let mut done: Vec<String> = record.accomplishments.iter().map(|n| format!("x {}", n.text)).collect();
    done.extend(tasks(&[TaskStatus::Done]).into_iter().map(|t| format!("x {t}")));
    done.extend(record.todos.iter().filter(|t| t.done).map(|t| format!("x {}", t.text)));
    // The latest ones matter most on resuming.
    done.reverse();
    list("Done, newest first", plain(done));
    list("In progress", plain(tasks(&[TaskStatus::InProgress])));
    let next = record
        .next_steps
        .iter()
        .zip(1..)
        .map(|(n, i)| format!("{i} {}", n.text))
        .collect();
    list("Next", plain(next));
    let open = record.todos.iter().filter(|t| !t.done).map(|t| t.text.clone());
    list("To do", plain(open.chain(tasks(&[TaskStatus::Todo])).collect()));
    let decisions = record
        .decisions
        .iter()
        .map(|d| reasoned(&d.text, d.reason.as_deref(), "because"));
    list("Decisions", plain(decisions.collect()));
    let blockers = record
        .blockers
        .iter()
        .map(|b| reasoned(&b.text, b.needs.as_deref(), "needs"));
    let blocked = tasks(&[TaskStatus::Blocked]).into_iter().map(|t| format!("task: {t}"));
    list(
        "Blockers",
        blockers.chain(blocked).map(|row| (Slot::Caution, row)).collect(),
    );
    let questions = record
        .questions
        .iter()
        .filter(|q| q.answer.is_none())
        .map(|q| q.text.clone());
    list("Open questions", plain(questions.collect()));
    let approvals = record
        .approvals
        .iter()
        .filter(|a| a.answer.is_none())
        .map(|a| a.question.clone());
    list(
        "Waiting for approval",
        approvals.map(|row| (Slot::Caution, row)).collect(),
    );
    list(
        "On resuming",
        plain(record.resume_instructions.iter().map(|n| n.text.clone()).collect()),
    );
    let files = record
        .attachments
        .iter()
        .map(|a| format!("{}  {}", a.name, ByteSize(a.size)));
    list("Attachments", plain(files.collect()));
    others(&mut text, record, columns, all);
    if let Some(error) = &record.error {
        pair(&mut text, "Error", &error.message);
    }
    text
}

/// Parts of the record for agents and for resuming: checks, delegations with their totals, paths of agents, open files
/// and the like.
fn others(text: &mut Text, record: &Record, columns: usize, all: bool) {
    if let Some(number) = record.iteration {
        pair(text, "Iteration", &number.to_string());
    }
    let lists = serde_json::to_value(record).unwrap_or_default();
    for (command, title) in OTHERS {
        let Some(kind) = item::ItemKind::of(command) else {
            continue;
        };
        let found = lists[kind.list].as_array().map(Vec::as_slice).unwrap_or_default();
        let rows: Vec<_> = found.iter().map(|item| (Slot::Plain, items::row(kind, item))).collect();
        section(text, title, &rows, columns, all);
        if kind.list == "delegations" && !found.is_empty() {
            let mut line = TextLine::plain("  ");
            line.append(&items::totals(&item::totals(record)));
            text.push(line);
        }
    }
    let partitions = record.partitions.iter().map(|(agent, paths)| {
        let paths = paths.as_array().map(Vec::as_slice).unwrap_or_default();
        let paths: Vec<_> = paths.iter().filter_map(serde_json::Value::as_str).collect();
        (Slot::Plain, format!("{agent}: {}", paths.join(" ")))
    });
    section(text, "Paths of agents", &partitions.collect::<Vec<_>>(), columns, all);
    let state = record.state.as_ref().map(|state| match state.as_object() {
        Some(members) => members.iter().map(|(key, value)| format!("{key}: {value}")).collect(),
        None => vec![state.to_string()],
    });
    let state: Vec<_> = state
        .into_iter()
        .flatten()
        .map(|row| (Slot::Plain, brief(row)))
        .collect();
    section(text, "State", &state, columns, all);
}

/// A value in a line or two; `state get` prints the whole.
fn brief(text: String) -> String {
    const LONGEST: usize = 140;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn section(text: &mut Text, title: &str, rows: &[(Slot, String)], columns: usize, all: bool) {
    if rows.is_empty() {
        return;
    }
    heading(text, title, rows.len());
    for (slot, row) in limited(rows, all) {
        for line in Text::wrapped(row, 2, columns).lines() {
            let plain = line.to_string();
            text.push(TextLine::new().with(*slot, plain));
        }
    }
    more(text, rows.len(), all);
}

fn reasoned(text: &str, reason: Option<&str>, word: &str) -> String {
    reason.map_or_else(|| text.to_owned(), |reason| format!("{text} ({word} {reason})"))
}

fn pair(text: &mut Text, label: &str, value: &str) {
    text.push(TextLine::new());
    text.push(
        TextLine::new()
            .with(Slot::Heading, label)
            .with(Slot::Plain, format!("  {value}")),
    );
}

fn heading(text: &mut Text, title: &str, count: usize) {
    text.push(TextLine::new());
    text.push(
        TextLine::new()
            .with(Slot::Heading, title)
            .with(Slot::Plain, format!(" ({count})")),
    );
}

fn limited<T>(rows: &[T], all: bool) -> &[T] {
    if all { rows } else { &rows[..rows.len().min(SHOWN)] }
}

fn more(text: &mut Text, count: usize, all: bool) {
    if !all && count > SHOWN {
        text.push(TextLine::new().with(Slot::Dim, format!("  ... {} more (--all)", count - SHOWN)));
    }
}

/// State of the repository at save time. Of an import only its source's data is known, which is often no commit, or
/// none that is here; that is no unborn branch.
fn code(document: &Document) -> TextLine {
    if document.kind != CheckpointKind::Import || document.git.head.is_some() {
        return receipt::code(&document.git);
    }
    let mut line = match &document.git.branch {
        Some(branch) => TextLine::new().with(Slot::Branch, branch),
        None => TextLine::plain("branch not told"),
    };
    line.push(Slot::Plain, ", commit not known here");
    let counts = receipt::changes(&document.git);
    if !counts.is_empty() {
        line.push(Slot::Plain, format!(", {counts}"));
    }
    line
}
