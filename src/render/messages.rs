//! Output of the commands about the chat: `message`, `context`, `agent describe`, `compact`, `clear`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    View,
    count::CountedNoun,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{
    chat::{Compaction, Message, Role},
    id::{Digest, Oid},
    name::ShortName,
    time::Timestamp,
    turn::TurnGroup,
};

/// A message that was added to the chat.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.message/1")]
pub struct MessageView<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// The id of the message.
    pub id: &'a str,
    /// When it was said.
    pub at: Timestamp,
    /// Its role.
    pub role: Role,
    /// The number of secrets that were found.
    pub redactions: usize,
}

impl View for MessageView<'_> {
    fn text(&self) -> Text {
        let mut line = TextLine::new().with(Slot::Added, "Added");
        line.push(Slot::Plain, " message ");
        line.push(Slot::Id, self.id);
        line.push(Slot::Plain, format!(" of {} to ", self.role.word()));
        line.with(Slot::Session, self.session.as_str()).into()
    }
}

/// Messages that were imported from a file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.message-import/1")]
pub struct MessageImportReceipt<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// The agent whose session file it was.
    pub agent: Option<&'static str>,
    /// The title of that agent, for people.
    #[serde(skip)]
    pub agent_title: Option<&'static str>,
    /// The agent's own id of the session.
    pub agent_session: Option<&'a str>,
    /// The agent's title of the session.
    pub title: Option<&'a str>,
    /// The number of messages that were added.
    pub added: u64,
    /// The number of messages that have a later state now.
    pub updated: u64,
    /// The number of messages that were there already.
    pub known: u64,
    /// The number of records that were read.
    pub records: Option<u64>,
    /// The number of records of each type that the reader does not know.
    pub unknown: Option<BTreeMap<&'a str, u64>>,
    /// The turns in what was read of the file.
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub turns: Option<Value>,
    /// The helpers that worked in them.
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub helpers: Option<Value>,
    /// The to-do list of the agent.
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub tasks: Option<Value>,
    /// Lines that were repaired.
    pub repaired: Vec<RepairedLine<'a>>,
    /// Lines that were skipped.
    pub skipped: Vec<SkippedLine<'a>>,
    /// The number of secrets that were replaced.
    pub redactions: usize,
}

/// A line of a file that was repaired.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RepairedLine<'a> {
    /// Its number, from 1.
    pub line: usize,
    /// The repair.
    pub what: &'a str,
}

/// A line of a file that was skipped.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkippedLine<'a> {
    /// Its number, from 1.
    pub line: usize,
    /// The reason.
    pub why: &'a str,
}

impl View for MessageImportReceipt<'_> {
    fn text(&self) -> Text {
        let mut line = TextLine::new().with(Slot::Added, "Imported");
        line.push(Slot::Plain, format!(" {} to ", messages(self.added)));
        line.push(Slot::Session, self.session.as_str());
        if let Some(agent) = self.agent_title {
            line.push(Slot::Plain, format!(" from {agent}"));
        }
        if self.updated > 0 {
            line.push(Slot::Plain, format!(", {} updated", self.updated));
        }
        if self.known > 0 {
            line.push(Slot::Plain, format!(", {} already present", self.known));
        }
        if !self.skipped.is_empty() {
            line.push(Slot::Caution, format!(", {} skipped", self.skipped.len()));
        }
        line.into()
    }
}

/// Messages of a chat.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.messages/1")]
#[schemars(extend("x-lines" = "messages"))]
pub struct MessageList<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// The number of messages in all.
    pub total: u64,
    /// The number of messages, from the first one, that a summary replaces.
    pub summarised: u64,
    /// The latest compaction.
    pub compaction: Option<&'a Compaction>,
    /// The turns of an agent's session, as runs of messages in the order of the chat.
    pub turns: Vec<TurnGroup>,
    /// The messages.
    pub messages: Vec<NumberedMessage>,
    /// Numbers of lines that cannot be read, of messages that are not saved yet.
    pub unreadable: &'a [usize],
}

/// A message and its place in the chat.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NumberedMessage {
    /// The message.
    #[serde(flatten)]
    pub message: Message,
    /// Its number, from 1.
    pub n: u64,
}

/// The context or the agent description of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.text/1")]
pub struct SessionText<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// `context.md` or `agent.md`.
    #[schemars(extend("enum" = ["context.md", "agent.md"]))]
    pub name: &'a str,
    /// The text, where it was asked for; null where there is none.
    pub text: Option<&'a str>,
    /// The change, where it was set.
    #[serde(flatten)]
    pub change: Option<TextChange>,
}

/// A change of a text.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TextChange {
    /// The size of the new text in bytes.
    pub bytes: usize,
    /// The number of secrets that were found.
    pub redactions: usize,
}

impl SessionText<'_> {
    fn title(&self) -> &'static str {
        if self.name == "context.md" {
            "context"
        } else {
            "agent description"
        }
    }
}

impl View for SessionText<'_> {
    fn text(&self) -> Text {
        let Some(change) = &self.change else {
            return Text::block(self.text.unwrap_or_default());
        };
        let word = if change.bytes == 0 { "Removed" } else { "Set" };
        let mut line = TextLine::new().with(Slot::Added, word);
        line.push(Slot::Plain, format!(" the {} of ", self.title()));
        line.push(Slot::Session, self.session.as_str());
        line.with(Slot::Plain, ", with the next save").into()
    }

    fn nothing(&self) -> Option<String> {
        let none = self.change.is_none() && self.text.is_none();
        none.then(|| format!("Session {} has no {}.", self.session, self.title()))
    }
}

/// A compaction of the chat, or the plan of one.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.compact/1")]
pub struct CompactReceipt<'a> {
    /// `compacted`, `planned` or `nothing`.
    #[schemars(extend("enum" = ["compacted", "planned", "nothing"]))]
    pub outcome: &'static str,
    /// The name of the session.
    pub session: &'a ShortName,
    /// The compaction that was made.
    #[serde(flatten)]
    pub made: Option<CompactionRow<'a>>,
    /// The plan of a dry run.
    #[serde(flatten)]
    pub dry_run: Option<CompactionDryRun>,
    /// Why there is nothing to do, where that is so.
    #[serde(skip)]
    pub shortness: ChatShortness,
}

/// Why a chat is not compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatShortness {
    /// It has no messages.
    Empty,
    /// A summary would not be shorter than what it replaces.
    NoGain,
    /// It is not long enough.
    BelowLimit,
}

/// A compaction and the checkpoint that holds it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompactionRow<'a> {
    /// The checkpoint.
    pub id: Option<&'a Oid>,
    /// The digest of its document.
    pub digest: Option<&'a Digest>,
    /// The compaction.
    pub compaction: &'a Compaction,
    /// The size of a request without a question.
    pub request: RequestSize,
}

/// The tokens of a whole request before and after a compaction.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct RequestSize {
    /// Before.
    pub before: u64,
    /// After, with the summary.
    pub after: u64,
}

/// A dry run of a compaction.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompactionDryRun {
    /// The number of tokens at which a chat is compacted; 0 for never.
    pub limit: u64,
    /// The plan; null where there is nothing to do.
    pub plan: Option<CompactionPlanRow>,
}

/// The plan of a compaction.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompactionPlanRow {
    /// The number of messages that a summary would replace.
    pub messages: u64,
    /// The number of messages that would stay.
    pub kept: u64,
    /// The number of tokens of all messages.
    pub tokens: u64,
    /// The number of tokens of the messages that would stay.
    pub kept_tokens: u64,
}

impl View for CompactReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run.as_ref().is_some_and(|dry_run| dry_run.plan.is_some())
    }

    fn text(&self) -> Text {
        if let Some(made) = &self.made {
            let found = made.compaction;
            let mut line = TextLine::new().with(Slot::Changed, "Compacted");
            line.push(Slot::Plain, format!(" {} of ", messages(found.messages)));
            line.push(Slot::Session, self.session.as_str());
            let RequestSize { before, after } = made.request;
            line.push(Slot::Plain, format!(": a request has {after} tokens, had {before}"));
            let summary = if found.by == "extractive" {
                " (extractive)"
            } else {
                " (summary by checkpoint.compactCommand)"
            };
            return line.with(Slot::Dim, summary).into();
        }
        let limit = self.dry_run.as_ref().map_or(0, |dry_run| dry_run.limit);
        let text = match self.dry_run.as_ref().and_then(|dry_run| dry_run.plan.as_ref()) {
            Some(plan) => format!(
                "Would summarize {} ({} tokens), and keep the last {} ({} tokens)",
                messages(plan.messages),
                plan.tokens - plan.kept_tokens,
                plan.kept,
                plan.kept_tokens
            ),
            None if self.shortness == ChatShortness::Empty => {
                format!("Nothing to compact: session {} has no messages", self.session)
            }
            None if self.shortness == ChatShortness::NoGain => {
                "Nothing to compact: a summary would be as long as what it replaces".to_owned()
            }
            None if limit == 0 => "Nothing to compact: checkpoint.compactAt is 0; --force compacts now".to_owned(),
            None => format!("Nothing to compact: the chat is below the limit of {limit} tokens; --force compacts now"),
        };
        TextLine::plain(text).into()
    }
}

/// The chat that was cleared.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.clear/1")]
pub struct ClearReceipt<'a> {
    /// `cleared`, `planned` or `nothing`.
    #[schemars(extend("enum" = ["cleared", "nothing", "planned"]))]
    pub outcome: &'static str,
    /// The name of the session.
    pub session: &'a ShortName,
    /// The checkpoint that holds the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a Oid>,
    /// The digest of its document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<&'a Digest>,
    /// Whether summary, context, agent description and record are cleared as well.
    pub all: bool,
    /// The number of messages before, for people.
    #[serde(skip)]
    pub messages: u64,
}

impl ClearReceipt<'_> {
    /// The parts that are cleared.
    pub fn parts(all: bool) -> &'static str {
        if all {
            "messages, summary, context, agent description and record"
        } else {
            "messages"
        }
    }
}

impl View for ClearReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.outcome == "planned"
    }

    fn text(&self) -> Text {
        let parts = Self::parts(self.all);
        let line = match self.outcome {
            "nothing" => TextLine::plain("Nothing to clear: there are no messages"),
            "planned" => {
                let count = messages(self.messages);
                TextLine::plain(format!("Would clear {parts} of {} ({count})", self.session))
            }
            _ => {
                let line = TextLine::new().with(Slot::Removed, "Cleared");
                let line = line.with(Slot::Plain, format!(" {parts} of "));
                line.with(Slot::Session, self.session.as_str())
            }
        };
        line.into()
    }
}

/// `1 message`, `2 messages`.
pub fn messages(number: u64) -> String {
    CountedNoun::new(usize::try_from(number).unwrap_or(usize::MAX), "message").to_string()
}
