//! Parts of the record that are no list of items: phase, iteration, state, partitions, and the session log.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    View,
    age::DateStyle,
    slot::Slot,
    table::{TableColumn, TextTable},
    text::{Text, TextLine},
};
use crate::model::{item::Overlap, name::ShortName, record::Phase, time::Timestamp};

/// The phase of the work.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.phase/1")]
pub struct PhaseView<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// The phase, where there is one.
    pub phase: Option<&'a Phase>,
}

impl View for PhaseView<'_> {
    fn text(&self) -> Text {
        self.phase.map(phase).into_iter().collect()
    }

    fn nothing(&self) -> Option<String> {
        let none = self.phase.is_none();
        none.then(|| format!("Session {} has no phase.", self.session))
    }
}

/// `Phase 2 of 5: port the queries`.
pub fn phase(phase: &Phase) -> TextLine {
    let mut line = TextLine::new().with(Slot::Heading, format!("Phase {} of {}", phase.n, phase.of));
    if let Some(title) = &phase.title {
        line.push(Slot::Plain, format!(": {title}"));
    }
    line
}

/// The iteration of the work.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.iteration/1")]
pub struct IterationView<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// The iteration, where there is one.
    pub iteration: Option<u64>,
}

impl View for IterationView<'_> {
    fn text(&self) -> Text {
        let number = self.iteration.map(|number| TextLine::plain(number.to_string()));
        number.into_iter().collect()
    }

    fn nothing(&self) -> Option<String> {
        let none = self.iteration.is_none();
        none.then(|| format!("Session {} has no iteration.", self.session))
    }
}

/// The caller's own state, or a part of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.state/1")]
pub struct StateView<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// A JSON pointer; empty for the whole state.
    pub at: &'a str,
    /// Whether there is anything at that place; null is something.
    pub found: bool,
    /// Any JSON.
    pub value: Option<&'a Value>,
}

impl View for StateView<'_> {
    fn text(&self) -> Text {
        let value = self.value.map(serde_json::to_string_pretty);
        Text::block(&value.and_then(Result::ok).unwrap_or_default())
    }
}

/// The paths of each agent.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.partitions/1")]
pub struct PartitionsView<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// Paths and patterns by agent.
    #[schemars(with = "std::collections::BTreeMap<String, Vec<String>>")]
    pub partitions: &'a Map<String, Value>,
    /// Paths of two agents that may be the same file.
    pub overlaps: &'a [Overlap],
}

impl PartitionsView<'_> {
    /// A table of agents and paths.
    pub fn text(&self, width: usize) -> Text {
        let mut table = TextTable::new([TableColumn::left("agent"), TableColumn::left("paths").flexible(20)]);
        for (agent, paths) in self.partitions {
            table.row([
                TextLine::new().with(Slot::Person, agent),
                TextLine::new().with(Slot::Path, words(paths)),
            ]);
        }
        table.render(width)
    }
}

/// Paths in one line.
pub fn words(paths: &Value) -> String {
    let paths = paths.as_array().map(Vec::as_slice).unwrap_or_default();
    paths.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

/// The session log, as `log --notes` shows it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.notes/1")]
#[schemars(extend("x-lines" = "notes"))]
pub struct SessionNotes<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// The number of lines in all.
    pub total: usize,
    /// The lines.
    pub notes: Vec<NoteRow<'a>>,
}

/// A line of the session log.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NoteRow<'a> {
    /// When it was written.
    pub at: Timestamp,
    /// `info`, `warn` or `error`.
    #[schemars(extend("enum" = ["info", "warn", "error"]))]
    pub level: &'a str,
    /// Its text.
    pub message: &'a str,
    /// The agent it concerns.
    pub agent: Option<&'a str>,
    /// Whether a checkpoint has it, or only the draft.
    pub saved: bool,
}

impl SessionNotes<'_> {
    /// A table of the lines.
    pub fn text(&self, width: usize, dates: &DateStyle, now: Timestamp) -> Text {
        let mut table = TextTable::new([
            TableColumn::left(""),
            TableColumn::left(""),
            TableColumn::left("").flexible(20),
            TableColumn::left(""),
            TableColumn::left(""),
        ]);
        for row in &self.notes {
            let slot = match row.level {
                "error" => Slot::Bad,
                "warn" => Slot::Caution,
                _ => Slot::Dim,
            };
            table.row([
                TextLine::new().with(Slot::Date, dates.show(row.at, now)),
                TextLine::new().with(slot, row.level),
                TextLine::plain(row.message),
                TextLine::new().with(Slot::Person, row.agent.unwrap_or_default()),
                TextLine::new().with(Slot::Dim, if row.saved { "" } else { "not saved" }),
            ]);
        }
        table.render(width)
    }
}
