//! Output of `turns`, `rewind` and `resume --agent`: the turns of an agent, and its session in its place.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    age::DateStyle,
    count::CountedNoun,
    escape,
    slot::Slot,
    table::{TableColumn, TextTable},
    text::{Text, TextLine},
};
use crate::model::{id::Oid, time::Timestamp, turn::TokenUsage};

/// The turns of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.turns/1")]
pub struct TurnsView {
    /// The session.
    pub session: String,
    /// Its turns, the oldest first.
    pub turns: Vec<TurnRow>,
    /// Earlier turns that are not listed.
    pub omitted: usize,
    /// Tokens of all turns, also of those that are not listed, as the providers recorded them.
    pub tokens: TokenUsage,
    /// Cost of all turns in US dollars, as far as the agents recorded it; null where none did.
    pub cost: Option<f64>,
}

/// One turn.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TurnRow {
    /// Its number in the session, from 1.
    pub n: usize,
    /// The checkpoint with the files as the turn left them.
    pub id: Oid,
    /// The checkpoint with the files as the turn found them.
    pub before: Option<Oid>,
    /// The agent.
    pub agent: String,
    /// The agent's own id of its session.
    pub agent_session: String,
    /// The agent's key of the turn.
    pub key: String,
    /// The first line of the prompt.
    pub subject: String,
    /// The time of the prompt.
    pub started_at: Option<Timestamp>,
    /// The time of its end.
    pub ended_at: Option<Timestamp>,
    /// `done`, `interrupted` or `failed`.
    pub outcome: &'static str,
    /// The model that answered last.
    pub model: Option<String>,
    /// Tokens as the provider recorded them; null where it did not.
    pub tokens: Option<TokenUsage>,
    /// Cost in US dollars, as the agent recorded it; null where it did not.
    pub cost: Option<f64>,
    /// The files that changed, at most 200.
    pub files: Vec<String>,
    /// How many more files changed.
    pub files_omitted: u64,
    /// Whether files were edited between the previous turn and this one.
    pub follows_edits: bool,
    /// Whether its prompt or its end was saved late, behind a slow save, or its prompt was not reported: its files may hold
    /// edits made by a person, or in the turn before or after.
    pub inexact: bool,
}

impl TurnsView {
    /// A row for each turn, the latest last, as in a chat.
    pub fn text(&self, now: Timestamp, dates: &DateStyle, columns: usize) -> Text {
        let mut table = TextTable::new(vec![
            TableColumn::right("turn"),
            TableColumn::left("checkpoint"),
            TableColumn::left("when"),
            TableColumn::right("files"),
            TableColumn::right("tokens"),
            TableColumn::left("prompt").flexible(20),
        ]);
        for turn in &self.turns {
            let files = turn.files.len() as u64 + turn.files_omitted;
            let tokens = turn.tokens.map(|tokens| tokens.input.saturating_add(tokens.output));
            let mut prompt = TextLine::plain(turn.subject.clone());
            if turn.outcome != "done" {
                prompt.push(Slot::Bad, format!(" ({})", turn.outcome));
            }
            table.row([
                TextLine::plain(turn.n.to_string()),
                TextLine::new().with(Slot::Id, turn.id.short()),
                TextLine::plain(turn.ended_at.map(|at| dates.show(at, now)).unwrap_or_default()),
                TextLine::plain(if files == 0 { "-".to_owned() } else { files.to_string() }),
                TextLine::plain(tokens.map_or_else(|| "-".to_owned(), short_count)),
                prompt,
            ]);
        }
        let mut text = table.render(columns);
        self.sums(&mut text);
        text
    }

    /// Each turn with the files that it changed.
    pub fn files_text(&self) -> Text {
        let mut text = Text::new();
        for turn in &self.turns {
            let mut line = TextLine::plain(format!("turn {}  ", turn.n));
            line.push(Slot::Id, turn.id.short());
            line.push(Slot::Plain, format!("  {}", turn.subject));
            text.push(line);
            if turn.follows_edits {
                text.push(TextLine::new().with(Slot::Dim, "  after edits by hand"));
            }
            if turn.inexact {
                text.push(TextLine::new().with(Slot::Dim, "  inexact: its files may hold other edits as well"));
            }
            for file in &turn.files {
                let mut line = TextLine::plain("  ");
                line.push(Slot::Path, file.clone());
                text.push(line);
            }
            if turn.files_omitted > 0 {
                text.push(TextLine::plain(format!("  ... and {} more", turn.files_omitted)));
            }
        }
        self.sums(&mut text);
        text
    }

    fn sums(&self, text: &mut Text) {
        if self.omitted > 0 {
            let earlier = CountedNoun::new(self.omitted, "earlier turn");
            text.push(TextLine::new().with(Slot::Dim, format!("{earlier} not listed; see --all")));
        }
        if !self.tokens.is_zero() {
            let cost = self.cost.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
            let sums = format!(
                "{} tokens in, {} out{cost}, as the agents recorded them",
                self.tokens.input, self.tokens.output
            );
            text.push(TextLine::new().with(Slot::Dim, sums));
        }
    }
}

/// A count in at most five columns.
fn short_count(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..10_000_000 => format!("{}k", count / 1000),
        _ => format!("{}M", count / 1_000_000),
    }
}

/// The session of an agent in its place.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentSessionView {
    /// The agent.
    pub agent: String,
    /// Its name for people.
    pub title: String,
    /// The id by which it is resumed; null where the agent starts a session of its own with the context.
    pub id: Option<String>,
    /// Its file.
    pub file: Option<String>,
    /// Whether the file was written, or in a dry run would be. Otherwise the agent has the session already.
    pub written: bool,
    /// The command that comes first, where the agent imports the file.
    pub import: Option<String>,
    /// The command that resumes it.
    pub command: String,
}

/// The session of a coding agent, ready to be resumed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.agent-session/1")]
pub struct AgentSessionReport {
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The session here.
    pub session: String,
    /// The agent's session.
    #[serde(flatten)]
    pub agent: AgentSessionView,
}

impl AgentSessionView {
    /// Changes that were made, and the command that continues.
    pub fn text(&self, dry_run: bool) -> Text {
        let mut text = Text::new();
        let title = escape::line(&self.title);
        let line = match (&self.file, self.written, dry_run) {
            (None, ..) => format!("{title} has no session here and starts a new one with the saved context."),
            (Some(file), true, false) => format!("The session of {title} is in {file}."),
            (Some(file), true, true) => format!("The session of {title} would be written to {file}."),
            (Some(_), false, _) => format!("{title} already has the session."),
        };
        text.push(TextLine::plain(line));
        for command in self.import.iter().chain([&self.command]) {
            let mut line = TextLine::plain("  ");
            line.push(Slot::Heading, command.clone());
            text.push(line);
        }
        text
    }
}

/// A rewind to the state after or before a turn.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.rewind/1")]
pub struct RewindView {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The session.
    pub session: String,
    /// The number of the turn.
    pub turn: usize,
    /// The prompt of that turn.
    pub subject: String,
    /// Whether it goes back to before the turn.
    pub before: bool,
    /// The checkpoint whose files come back.
    pub to: Oid,
    /// The receipt of the restore, as `git-checkpoint.restore/1`.
    pub files: serde_json::Value,
    /// The agent's session as it was then, under an id of its own; null where none was kept, or nothing was restored.
    pub agent: Option<AgentSessionView>,
}
