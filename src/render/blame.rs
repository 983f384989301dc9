//! `blame` and `why`: lines with the checkpoint that brought them in.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    age::DateStyle,
    slot::Slot,
    table::{TableColumn, TextTable},
    text::{Text, TextLine},
};
use crate::model::{id::Oid, path::RepoPath, time::Timestamp};

/// The origin of the lines of a file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.blame/1")]
#[schemars(extend("x-lines" = "hunks"))]
pub struct BlameView {
    /// The session; one that was fetched as `<remote>/<session>`.
    pub session: String,
    /// The checkpoint; null for the current files.
    pub id: Option<Oid>,
    /// The path.
    pub path: RepoPath,
    /// Lines in a row with one origin, from the first line to the last.
    pub hunks: Vec<BlameHunk>,
}

/// Lines in a row with one origin.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BlameHunk {
    /// The number of the first line, from 1.
    pub first: u32,
    /// The lines; bytes that are not UTF-8 are replaced.
    pub lines: Vec<String>,
    /// Their origin.
    #[serde(flatten)]
    pub origin: OriginView,
}

/// The origin of lines.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OriginView {
    /// `checkpoint`: a checkpoint brought them in; `commit`: they are from before the session, or a commit by others came
    /// with a merge, a pull or a checkout; `unsaved`: they are in the current files only.
    pub origin: &'static str,
    /// The checkpoint that first has them.
    pub checkpoint: Option<Oid>,
    /// Its session.
    pub session: Option<String>,
    /// Cause of the checkpoint.
    pub kind: Option<&'static str>,
    /// When they were written: of the checkpoint, else of the commit.
    pub at: Option<Timestamp>,
    /// `person`, `agent` or `unknown`.
    pub by: &'static str,
    /// The name of the person or agent.
    pub author: Option<String>,
    /// The person's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The agent's model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The first line of the prompt of the turn, else the summary of the checkpoint or the subject of the commit.
    pub prompt: Option<String>,
    /// The key of the turn in the agent's own session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The commit that has them, as far as they were committed.
    pub commit: Option<CommitRef>,
}

/// A commit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "blamed_commit")]
pub struct CommitRef {
    /// The commit.
    pub id: Oid,
    /// Its author.
    pub author: String,
    /// When it was authored.
    pub at: Option<Timestamp>,
    /// Its subject.
    pub subject: String,
}

impl OriginView {
    /// The agent with its model, or the person.
    fn who(&self) -> String {
        let author = self.author.clone().unwrap_or_default();
        match &self.model {
            Some(model) => format!("{author} ({model})"),
            None => author,
        }
    }

    fn id(&self) -> TextLine {
        match (&self.checkpoint, &self.commit, self.origin) {
            (_, _, "unsaved") => TextLine::new().with(Slot::Caution, "unsaved"),
            (Some(id), _, "checkpoint") => TextLine::new().with(Slot::Id, id.short()),
            (_, Some(commit), _) => TextLine::new().with(Slot::Branch, format!("^{}", commit.id.short())),
            _ => TextLine::plain("-"),
        }
    }
}

impl BlameView {
    /// A line for each line of the file.
    pub fn each_line(&self, columns: usize, dates: &DateStyle, now: Timestamp, each: impl FnMut(TextLine)) {
        let mut table = TextTable::new([
            TableColumn::left(""),
            TableColumn::left("").flexible(8),
            TableColumn::left(""),
            TableColumn::left("").flexible(12),
            TableColumn::right(""),
            TableColumn::left(""),
        ]);
        for hunk in &self.hunks {
            let origin = &hunk.origin;
            for (number, text) in (hunk.first..).zip(&hunk.lines) {
                let when = origin.at.map(|at| dates.show(at, now)).unwrap_or_default();
                let mut prompt = TextLine::plain(origin.prompt.as_deref().unwrap_or_default());
                prompt = prompt.cut(PROMPT);
                table.row([
                    origin.id(),
                    TextLine::new().with(Slot::Person, origin.who()),
                    TextLine::new().with(Slot::Date, when),
                    prompt,
                    TextLine::new().with(Slot::Dim, format!("{number})")),
                    Text::block(text).lines().first().cloned().unwrap_or_default(),
                ]);
            }
        }
        table.each_line(columns, each);
    }
}

/// Columns of a prompt next to a line.
const PROMPT: usize = 28;

/// The reason for a line.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.why/1")]
pub struct WhyView {
    /// The path.
    pub path: RepoPath,
    /// The number of the line, from 1.
    pub line: u32,
    /// The line.
    pub text: String,
    /// Its origin.
    #[serde(flatten)]
    pub origin: OriginView,
    /// The whole prompt of the turn, where the chat has it.
    pub full_prompt: Option<String>,
    /// Decisions of the session that name the file.
    pub decisions: Vec<DecisionView>,
    /// Command that shows the turn, or the commit.
    pub command: Option<String>,
}

/// A decision that names the file.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "named_decision")]
pub struct DecisionView {
    /// Its id.
    pub id: String,
    /// Text of the decision.
    pub text: String,
    /// Why.
    pub reason: Option<String>,
}

impl WhyView {
    /// The text for people.
    pub fn text(&self, columns: usize, dates: &DateStyle, now: Timestamp) -> Text {
        let mut out = Text::new();
        let origin = &self.origin;
        out.push(
            TextLine::new()
                .with(Slot::Path, self.path.to_string())
                .with(Slot::Dim, format!(":{}: ", self.line))
                .with(Slot::Plain, self.text.trim_end()),
        );
        let label = |name: &str| TextLine::new().with(Slot::Heading, format!("{name:11}"));
        let when = origin
            .at
            .map(|at| format!(", {}", dates.show(at, now)))
            .unwrap_or_default();
        if origin.origin == "unsaved" {
            out.push(label("Written").with(Slot::Plain, "since the latest checkpoint, not saved yet"));
        } else {
            let by = if origin.by == "agent" { "by the agent " } else { "by " };
            out.push(
                label("Written")
                    .with(Slot::Plain, by)
                    .with(Slot::Person, origin.who())
                    .with(Slot::Date, when),
            );
        }
        if let (Some(id), Some(session)) = (&origin.checkpoint, &origin.session) {
            let with = if origin.origin == "commit" {
                "first in checkpoint "
            } else {
                ""
            };
            out.push(
                label("Session")
                    .with(Slot::Plain, with)
                    .with(Slot::Session, session)
                    .with(Slot::Plain, " ")
                    .with(Slot::Id, id.short())
                    .with(Slot::Dim, format!(" {}", origin.kind.unwrap_or_default())),
            );
        }
        let name = if origin.turn.is_some() { "Prompt" } else { "Summary" };
        if let Some(prompt) = self.full_prompt.as_ref().or(origin.prompt.as_ref())
            && origin.origin != "commit"
        {
            let wrapped = Text::wrapped(prompt, 11, columns);
            for (at, line) in wrapped.lines().iter().enumerate() {
                let text = line.to_string();
                if at == 0 {
                    out.push(label(name).with(Slot::Plain, text.trim_start()));
                } else {
                    out.push(line.clone());
                }
            }
        }
        for decision in &self.decisions {
            let mut line = label("Decision").with(Slot::Plain, &decision.text);
            if let Some(reason) = &decision.reason {
                line.push(Slot::Dim, format!(": {reason}"));
            }
            out.push(line);
        }
        if let Some(commit) = &origin.commit {
            out.push(
                label("Commit")
                    .with(Slot::Id, commit.id.short())
                    .with(Slot::Plain, format!(" {}", commit.subject))
                    .with(Slot::Dim, format!(" ({})", commit.author)),
            );
        }
        if let Some(command) = &self.command {
            out.push(label("See").with(Slot::Plain, command));
        }
        out
    }
}
