//! `list` and `log`: tables of sessions and of checkpoints.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    age::DateStyle,
    count::ByteSize,
    format::AtomStyle,
    signature::SignatureView,
    slot::Slot,
    table::{TableColumn, TextTable},
    text::{Text, TextLine},
};
use crate::model::{id::Oid, name::ShortName, time::Timestamp};

/// The sessions of a repository.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.list/1")]
#[schemars(extend("x-lines" = "sessions"))]
pub struct SessionTable {
    /// Latest first, damaged ones last.
    pub sessions: Vec<SessionRow>,
}

/// A session in a list. Read from its latest commit's message alone, so `verified` is always false.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct SessionRow {
    /// Its number in the list of `resume --list`, for `resume --select`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<usize>,
    /// Its name.
    pub session: String,
    /// The identity of the session, which never changes; it is read for JSON alone, and absent where it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Whether it is current in this working tree.
    pub current: bool,
    /// `active`, `paused`, `completed`, `failed`, `interrupted` or `damaged`.
    pub status: &'static str,
    /// Why it is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// Its latest checkpoint.
    pub id: Option<Oid>,
    /// When that was saved.
    pub at: Option<Timestamp>,
    /// The first line of the summary of the session.
    pub summary: String,
    /// The subject of that checkpoint, where it is another than the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Who saved it.
    pub author: String,
    /// The agent.
    pub agent: Option<String>,
    /// Whether a person made the latest checkpoint of an agent's session.
    #[serde(skip)]
    pub is_by_person: bool,
    /// The task.
    pub task: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The machine.
    pub host: Option<String>,
    /// Who works in it alone for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// Whether the document was checked against its digest: not by this command.
    pub verified: bool,
    /// The directory of the repository, with `--all-repos`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Bytes on disk of what only sessions have, with `--size`; objects that sessions share count for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The signature of its latest checkpoint, with `--trust`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<SignatureView>,
}

impl SessionTable {
    /// A table, one line a session.
    pub fn each_line(
        &self,
        columns: usize,
        dates: &DateStyle,
        now: Timestamp,
        this_host: &str,
        each: impl FnMut(TextLine),
    ) {
        self.table(&self.sessions, dates, now, this_host)
            .each_line(columns, each);
    }

    /// The table of some of its sessions.
    pub fn table(&self, rows: &[SessionRow], dates: &DateStyle, now: Timestamp, this_host: &str) -> TextTable {
        let numbered = self.sessions.iter().any(|row| row.number.is_some());
        let mark = TableColumn::left(if numbered { "#" } else { " " });
        let columns: Vec<_> = FIELDS.iter().filter_map(|field| field.column.as_ref()).collect();
        let headed = columns.iter().map(|(column, _)| column());
        let mut table = TextTable::new(std::iter::once(mark).chain(headed));
        let style = TableStyle { dates, now, this_host };
        for row in rows {
            match (row.number, row.status, row.current) {
                (Some(number), ..) => {
                    let current = if row.current { " @" } else { "" };
                    table.cell_of(Slot::Dim, &format!("{number}{current}"));
                }
                (None, "damaged", _) => table.cell_of(Slot::Bad, "!"),
                (None, _, true) => table.cell_of(Slot::Good, "@"),
                _ => table.cell_of(Slot::Plain, " "),
            }
            for (_, add_cell) in &columns {
                add_cell(&mut table, row, &style);
            }
        }
        table
    }
}

impl SessionRow {
    /// The atoms of `--format`.
    pub fn atoms() -> Vec<&'static str> {
        FIELDS.iter().filter_map(|field| Some(field.atom.as_ref()?.0)).collect()
    }

    /// The value of an atom; empty if there is no such atom.
    pub fn atom(&self, name: &str, style: &AtomStyle<'_>) -> String {
        let mut atoms = FIELDS.iter().filter_map(|field| field.atom.as_ref());
        let found = atoms.find(|(known, _)| *known == name);
        found.map(|(_, value)| value(self, style)).unwrap_or_default()
    }
}

/// How the cells of a table of sessions are shown.
struct TableStyle<'a> {
    dates: &'a DateStyle,
    now: Timestamp,
    this_host: &'a str,
}

/// The value of an atom.
type AtomValue = fn(&SessionRow, &AtomStyle<'_>) -> String;

/// Adds the one cell of a column to a row.
type AddCell = fn(&mut TextTable, &SessionRow, &TableStyle<'_>);

/// A fact about a session.
struct SessionField {
    /// Its name in `--format`, and its value there.
    atom: Option<(&'static str, AtomValue)>,
    /// Its column and its cells. A column without a text in any row is not drawn.
    column: Option<(fn() -> TableColumn, AddCell)>,
}

/// The facts about sessions, in the order of their columns.
const FIELDS: [SessionField; 15] = [
    SessionField {
        atom: Some(("session", |row, _| row.session.clone())),
        column: Some((
            || TableColumn::left("SESSION").flexible_name(10),
            |table, row, _| table.cell_of(Slot::Session, &row.session),
        )),
    },
    SessionField {
        atom: Some(("status", |row, _| row.status.to_owned())),
        column: Some((
            || TableColumn::left("STATUS"),
            |table, row, _| {
                let slot = match row.status {
                    "damaged" => Slot::Bad,
                    "interrupted" => Slot::Caution,
                    "active" => Slot::Good,
                    _ => Slot::Plain,
                };
                table.cell_of(slot, row.status);
            },
        )),
    },
    SessionField {
        atom: Some(("id", |row, style| style.id(row.id.as_ref()))),
        column: None,
    },
    SessionField {
        atom: Some(("date", |row, style| style.date(row.at))),
        column: Some((
            || TableColumn::left("WHEN"),
            |table, row, style| {
                let at = row.at.map(|at| style.dates.show(at, style.now));
                table.cell_of(Slot::Date, &at.unwrap_or_default());
            },
        )),
    },
    SessionField {
        atom: None,
        column: Some((
            || TableColumn::left("BY"),
            |table, row, style| {
                let by = row.agent.as_deref().filter(|_| !row.is_by_person);
                let by = by.unwrap_or(&row.author);
                match row.host.as_deref() {
                    Some(host) if host != style.this_host && !host.is_empty() => {
                        table.cell_of(Slot::Person, &format!("{by}@{host}"));
                    }
                    _ => table.cell_of(Slot::Person, by),
                }
            },
        )),
    },
    SessionField {
        atom: Some(("author", |row, _| row.author.clone())),
        column: None,
    },
    SessionField {
        atom: Some(("agent", |row, _| row.agent.clone().unwrap_or_default())),
        column: None,
    },
    SessionField {
        atom: Some(("host", |row, _| row.host.clone().unwrap_or_default())),
        column: None,
    },
    SessionField {
        atom: Some(("task", |row, _| row.task.clone().unwrap_or_default())),
        column: None,
    },
    SessionField {
        atom: Some(("claimed_by", |row, _| row.claimed_by.clone().unwrap_or_default())),
        column: Some((
            || TableColumn::left("CLAIMED BY"),
            |table, row, _| table.cell_of(Slot::Caution, row.claimed_by.as_deref().unwrap_or_default()),
        )),
    },
    SessionField {
        atom: Some(("branch", |row, _| row.branch.clone().unwrap_or_default())),
        column: Some((
            || TableColumn::left("BRANCH").flexible(6),
            |table, row, _| table.cell_of(Slot::Branch, row.branch.as_deref().unwrap_or("-")),
        )),
    },
    SessionField {
        atom: Some(("size", |row, _| {
            row.size.map(|size| size.to_string()).unwrap_or_default()
        })),
        column: Some((
            || TableColumn::right("SIZE"),
            |table, row, _| {
                let size = row.size.map(|size| ByteSize(size).to_string());
                table.cell_of(Slot::Plain, &size.unwrap_or_default());
            },
        )),
    },
    SessionField {
        atom: Some(("signature", |row, _| {
            let line = row.signature.as_ref().map(SignatureView::line);
            line.map(|line| line.to_string()).unwrap_or_default()
        })),
        column: Some((
            || TableColumn::left("TRUST").flexible(10),
            |table, row, _| table.cell(&row.signature.as_ref().map(SignatureView::line).unwrap_or_default()),
        )),
    },
    SessionField {
        atom: Some(("repository", |row, _| row.repository.clone().unwrap_or_default())),
        column: Some((
            || TableColumn::left("REPOSITORY").flexible_name(10),
            |table, row, _| table.cell_of(Slot::Path, row.repository.as_deref().unwrap_or_default()),
        )),
    },
    SessionField {
        atom: Some(("summary", |row, _| row.summary.clone())),
        column: Some((
            || TableColumn::left("SUMMARY").flexible(10),
            |table, row, _| table.cell_of(Slot::Plain, row.damage.as_ref().unwrap_or(&row.summary)),
        )),
    },
];

/// The deleted sessions and the amended checkpoints in the trash.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.trash/1")]
#[schemars(extend("x-lines" = "sessions"))]
pub struct TrashTable<'a> {
    /// The session deleted last comes first.
    pub sessions: Vec<TrashRow<'a>>,
    /// The checkpoint amended last comes first.
    pub replaced: Vec<ReplacedCheckpointRow<'a>>,
    /// How many older states of sessions it keeps besides: what a prune or another command changed, which 'undo' brings back.
    pub older_states: usize,
}

/// A checkpoint in the trash that 'save --amend' replaced.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReplacedCheckpointRow<'a> {
    /// Its session, by the name that it had then.
    pub session: &'a ShortName,
    /// The checkpoint, with the notes that it had.
    pub id: Oid,
    /// When it was amended.
    pub replaced_at: Timestamp,
    /// Its summary.
    pub summary: &'a str,
    /// The ref that keeps it.
    #[serde(rename = "ref")]
    pub trash: &'a str,
}

/// A session in the trash.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrashRow<'a> {
    /// Its former name.
    pub session: &'a ShortName,
    /// Its latest checkpoint.
    pub id: Oid,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// The summary of its latest checkpoint.
    pub summary: &'a str,
    /// The ref that keeps it.
    #[serde(rename = "ref")]
    pub trash: &'a str,
}

impl TrashTable<'_> {
    /// A line for each session, then one for each checkpoint.
    pub fn text(&self, width: usize, dates: &DateStyle, now: Timestamp) -> Text {
        let line = |id: &Oid, session: &ShortName, fate: String, summary: &str| {
            let mut line = TextLine::new().with(Slot::Id, id.short());
            line.push(Slot::Plain, "  ");
            line.push(Slot::Session, session.as_str());
            line.push(Slot::Plain, format!("  {fate}  "));
            line.push(Slot::Plain, summary);
            line.cut(width)
        };
        let sessions = self.sessions.iter().map(|row| {
            let fate = format!("deleted {}", dates.show(row.deleted_at, now));
            line(&row.id, row.session, fate, row.summary)
        });
        let replaced = self.replaced.iter().map(|row| {
            let fate = format!("amended {}", dates.show(row.replaced_at, now));
            line(&row.id, row.session, fate, row.summary)
        });
        sessions.chain(replaced).collect()
    }
}

/// The checkpoints of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.log/1")]
#[schemars(extend("x-lines" = "checkpoints"))]
pub struct CheckpointLog {
    /// The session.
    pub session: String,
    /// Latest first.
    pub checkpoints: Vec<LogRow>,
    /// For a fork, the checkpoint it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Oid>,
    /// Where the chain breaks, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// Whether there are older ones than were asked for.
    pub more: bool,
}

/// A checkpoint in a log. Read from its commit's message alone, so `verified` is always false.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LogRow {
    /// The commit.
    pub id: Oid,
    /// When it was saved.
    pub at: Timestamp,
    /// Cause of the checkpoint.
    pub kind: Option<&'static str>,
    /// Its own name.
    pub name: Option<String>,
    /// The occasion.
    pub trigger: Option<String>,
    /// Its subject: the first line of its summary, or what made it where that says more.
    pub summary: String,
    /// Who saved it.
    pub author: String,
    /// The agent that made it.
    pub agent: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// Whether something that should have been captured was not.
    pub partial: bool,
    /// The digest the message names.
    pub digest: Option<String>,
    /// Checkpoint that a merge merged in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<Oid>,
    /// Whether the document was checked against it: not by this command.
    pub verified: bool,
    /// The files that it changed as a patch, with `--patch`; null where it has no files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// Its signature, with `--trust`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<SignatureView>,
}

impl LogRow {
    /// A row with what every checkpoint has.
    pub fn new(id: Oid, at: Timestamp, summary: String, author: String) -> Self {
        Self {
            id,
            at,
            kind: None,
            name: None,
            trigger: None,
            summary,
            author,
            agent: None,
            branch: None,
            partial: false,
            digest: None,
            merged: None,
            verified: false,
            patch: None,
            signature: None,
        }
    }
}

/// The table of a log. Takes rows one by one, so that a long log is not held in memory twice.
#[derive(Debug)]
pub struct LogTable<'d> {
    table: TextTable,
    dates: &'d DateStyle,
    now: Timestamp,
}

impl<'d> LogTable<'d> {
    /// Without rows.
    pub fn new(dates: &'d DateStyle, now: Timestamp) -> Self {
        let table = TextTable::new([
            TableColumn::left("ID"),
            TableColumn::left("WHEN"),
            TableColumn::left("KIND"),
            TableColumn::left("BY"),
            TableColumn::left("TRUST").flexible(10),
            TableColumn::left("SUBJECT").flexible(10),
        ]);
        Self { table, dates, now }
    }

    /// Adds a checkpoint.
    pub fn row(&mut self, row: &LogRow) {
        let mut summary = TextLine::new();
        if let Some(name) = &row.name {
            summary.push(Slot::Session, format!("({name}) "));
        }
        summary.push(Slot::Plain, &row.summary);
        if let Some(trigger) = &row.trigger {
            summary.push(Slot::Dim, format!("  [{trigger}]"));
        }
        if row.partial {
            summary.push(Slot::Caution, "  partial");
        }
        self.table.row([
            TextLine::new().with(Slot::Id, row.id.short()),
            TextLine::new().with(Slot::Date, self.dates.show(row.at, self.now)),
            TextLine::plain(row.kind.unwrap_or("-")),
            TextLine::new().with(Slot::Person, row.agent.as_ref().unwrap_or(&row.author)),
            row.signature.as_ref().map(SignatureView::line).unwrap_or_default(),
            summary,
        ]);
    }
}

impl CheckpointLog {
    /// The lines of its table, one a checkpoint, and what else there is to say.
    pub fn each_line(&self, table: &LogTable<'_>, columns: usize, mut each: impl FnMut(TextLine)) {
        // A heading over nothing is of no use.
        if !table.table.is_empty() {
            table.table.each_line(columns, &mut each);
        }
        if let Some(source) = &self.forked_from {
            each(
                TextLine::new()
                    .with(Slot::Dim, "forked from ")
                    .with(Slot::Id, source.short()),
            );
        }
        if let Some(damage) = &self.damage {
            each(TextLine::new().with(Slot::Bad, "damaged: ").with(Slot::Plain, damage));
        }
    }

    /// One short line a checkpoint, in at most `width` columns.
    pub fn each_oneline(&self, width: usize, mut each: impl FnMut(TextLine)) {
        for row in &self.checkpoints {
            let line = TextLine::new().with(Slot::Id, row.id.short());
            each(line.with(Slot::Plain, format!(" {}", row.summary)).cut(width));
        }
    }
}
