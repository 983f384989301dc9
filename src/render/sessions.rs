//! `list` and `log`: tables of sessions and of checkpoints.

use serde::Serialize;

use super::{
    age::DateStyle,
    slot::Slot,
    table::{Column, Table},
    text::Line,
};
use crate::model::{id::Oid, time::Timestamp};

/// The sessions of a repository; its JSON is `git-checkpoint.list/1`.
#[derive(Debug, Serialize)]
pub struct List {
    /// `git-checkpoint.list/1`.
    pub schema: &'static str,
    /// Newest first, damaged ones last.
    pub sessions: Vec<SessionRow>,
}

/// A session in a list. Read from its newest commit's message alone, so `verified` is always false.
#[derive(Debug, Serialize)]
pub struct SessionRow {
    /// Its name.
    pub session: String,
    /// Whether it is current in this work tree.
    pub current: bool,
    /// `active`, `paused`, `completed`, `failed`, `interrupted` or `damaged`.
    pub status: &'static str,
    /// Why it is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// Its newest checkpoint.
    pub id: Option<Oid>,
    /// When that was saved.
    pub at: Option<Timestamp>,
    /// The first line of that checkpoint's summary.
    pub summary: String,
    /// Who saved it.
    pub author: String,
    /// The agent.
    pub agent: Option<String>,
    /// The task.
    pub task: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The machine.
    pub host: Option<String>,
    /// Whether the document was checked against its digest: not by this command.
    pub verified: bool,
}

impl List {
    /// A table, one line a session.
    pub fn each_line(
        &self,
        columns: usize,
        dates: &DateStyle,
        now: Timestamp,
        this_host: &str,
        each: impl FnMut(Line),
    ) {
        let mut table = Table::new([
            Column::left(" "),
            Column::left("SESSION").flexible(10),
            Column::left("STATUS"),
            Column::left("WHEN"),
            Column::left("BY"),
            Column::left("BRANCH").flexible(6),
            Column::left("SUMMARY").flexible(10),
        ]);
        for row in &self.sessions {
            let mark = match (row.status, row.current) {
                ("damaged", _) => Line::new().with(Slot::Bad, "!"),
                (_, true) => Line::new().with(Slot::Good, "@"),
                _ => Line::plain(" "),
            };
            let status = match row.status {
                "damaged" => Slot::Bad,
                "interrupted" => Slot::Caution,
                "active" => Slot::Good,
                _ => Slot::Plain,
            };
            let when = row.at.map(|at| dates.show(at, now)).unwrap_or_default();
            let mut by = row.agent.clone().unwrap_or_else(|| row.author.clone());
            if let Some(host) = row.host.as_deref().filter(|host| *host != this_host) {
                by.push('@');
                by.push_str(host);
            }
            let summary = row.damage.as_ref().unwrap_or(&row.summary);
            table.row([
                mark,
                Line::new().with(Slot::Session, &row.session),
                Line::new().with(status, row.status),
                Line::new().with(Slot::Date, when),
                Line::new().with(Slot::Person, by),
                Line::new().with(Slot::Branch, row.branch.as_deref().unwrap_or("-")),
                Line::plain(summary),
            ]);
        }
        table.each_line(columns, each);
    }
}

/// The checkpoints of a session; its JSON is `git-checkpoint.log/1`.
#[derive(Debug, Serialize)]
pub struct Log {
    /// `git-checkpoint.log/1`.
    pub schema: &'static str,
    /// The session.
    pub session: String,
    /// Newest first.
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
#[derive(Debug, Serialize)]
pub struct LogRow {
    /// The commit.
    pub id: Oid,
    /// When it was saved.
    pub at: Timestamp,
    /// What made it.
    pub kind: Option<&'static str>,
    /// Its own name.
    pub name: Option<String>,
    /// The occasion.
    pub trigger: Option<String>,
    /// The first line of its summary.
    pub summary: String,
    /// Who saved it.
    pub author: String,
    /// The agent.
    pub agent: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// Whether something that should have been captured was not.
    pub partial: bool,
    /// The digest the message names.
    pub digest: Option<String>,
    /// Whether the document was checked against it: not by this command.
    pub verified: bool,
}

/// The table of a log. Takes rows one by one, so that a long log is not held in memory twice.
#[derive(Debug)]
pub struct LogTable<'d> {
    table: Table,
    dates: &'d DateStyle,
    now: Timestamp,
}

impl<'d> LogTable<'d> {
    /// Without rows.
    pub fn new(dates: &'d DateStyle, now: Timestamp) -> Self {
        let table = Table::new([
            Column::left("ID"),
            Column::left("WHEN"),
            Column::left("KIND"),
            Column::left("BY"),
            Column::left("SUMMARY").flexible(10),
        ]);
        Self { table, dates, now }
    }

    /// Adds a checkpoint.
    pub fn row(&mut self, row: &LogRow) {
        let mut summary = Line::new();
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
            Line::new().with(Slot::Id, row.id.short()),
            Line::new().with(Slot::Date, self.dates.show(row.at, self.now)),
            Line::plain(row.kind.unwrap_or("-")),
            Line::new().with(Slot::Person, row.agent.as_ref().unwrap_or(&row.author)),
            summary,
        ]);
    }
}

impl Log {
    /// The lines of its table, one a checkpoint, and what else there is to say.
    pub fn each_line(&self, table: &LogTable<'_>, columns: usize, mut each: impl FnMut(Line)) {
        // A heading over nothing says nothing.
        if !table.table.is_empty() {
            table.table.each_line(columns, &mut each);
        }
        if let Some(source) = &self.forked_from {
            each(
                Line::new()
                    .with(Slot::Dim, "forked from ")
                    .with(Slot::Id, source.short()),
            );
        }
        if let Some(damage) = &self.damage {
            each(Line::new().with(Slot::Bad, "damaged: ").with(Slot::Plain, damage));
        }
    }

    /// One short line a checkpoint.
    pub fn each_oneline(&self, mut each: impl FnMut(Line)) {
        for row in &self.checkpoints {
            each(
                Line::new()
                    .with(Slot::Id, row.id.short())
                    .with(Slot::Plain, format!(" {}", row.summary)),
            );
        }
    }
}
