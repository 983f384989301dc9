//! `stats`: a table of figures.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    count::ByteSize,
    slot::Slot,
    table::{TableColumn, TextTable},
    text::TextLine,
};
use crate::model::{report::Lines, turn::TokenUsage};

/// Turns, tokens, cost and lines.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.stats/1")]
#[schemars(extend("x-lines" = "groups"))]
pub struct StatsView {
    /// `session`, `day`, `agent` or `model`.
    pub by: &'static str,
    /// Sessions latest first; days, agents and models by name.
    pub groups: Vec<StatsRow>,
    /// The sum.
    pub total: StatsRow,
}

/// Figures of a group.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatsRow {
    /// The session, day, agent or model; `(none)` for what has none.
    pub name: String,
    /// Sessions with a checkpoint that counts here.
    pub sessions: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Turns of agents.
    pub turns: u64,
    /// Turns whose tokens were recorded.
    pub counted_turns: u64,
    /// Their tokens, as the provider counted them.
    pub tokens: TokenUsage,
    /// Tokens of the chat, counted or estimated here, of sessions whose turns have recorded none.
    pub estimated_tokens: Option<u64>,
    /// Cost, in the unit in which it was recorded.
    pub cost: Option<f64>,
    /// Lines that agents and people changed.
    pub lines: ChangedLines,
    /// Bytes on disk of what sessions have and nothing else does; objects that sessions share count for each.
    pub size: Option<u64>,
}

/// Changed lines by who changed them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedLines {
    /// In turns of agents.
    pub agents: Lines,
    /// Outside of turns.
    pub people: Lines,
}

impl StatsView {
    /// The table.
    pub fn each_line(&self, columns: usize, each: impl FnMut(TextLine)) {
        let title = self.by.to_uppercase();
        let mut table = TextTable::new([
            TableColumn::left(&title).flexible(10),
            TableColumn::right("CHECKPOINTS"),
            TableColumn::right("TURNS"),
            TableColumn::right("TOKENS IN"),
            TableColumn::right("OUT"),
            TableColumn::right("COST"),
            TableColumn::left("BY AGENTS"),
            TableColumn::left("BY PEOPLE"),
            TableColumn::right("SIZE"),
        ]);
        let rows = self.groups.iter().chain((self.groups.len() > 1).then_some(&self.total));
        for row in rows {
            let tokens = match row.estimated_tokens {
                Some(estimated) if row.counted_turns == 0 => format!("~{estimated}"),
                _ if row.counted_turns == 0 => String::new(),
                _ => row.tokens.input.to_string(),
            };
            let out = if row.counted_turns == 0 {
                String::new()
            } else {
                row.tokens.output.to_string()
            };
            table.row([
                TextLine::new().with(Slot::Session, &row.name),
                TextLine::plain(row.checkpoints.to_string()),
                TextLine::plain(row.turns.to_string()),
                TextLine::plain(tokens),
                TextLine::plain(out),
                TextLine::plain(row.cost.map(|cost| format!("{cost:.2}")).unwrap_or_default()),
                changed(row.lines.agents),
                changed(row.lines.people),
                TextLine::plain(row.size.map(|size| ByteSize(size).to_string()).unwrap_or_default()),
            ]);
        }
        table.each_line(columns, each);
    }
}

fn changed(lines: Lines) -> TextLine {
    if lines == Lines::default() {
        return TextLine::new();
    }
    TextLine::new()
        .with(Slot::Added, format!("+{}", lines.added))
        .with(Slot::Removed, format!(" -{}", lines.removed))
}
