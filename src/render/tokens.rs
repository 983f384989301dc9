//! Output of `tokens` and `request`: numbers of tokens, and how they are known.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View,
    messages::messages as counted,
    slot::Slot,
    table::{TableColumn, TextTable},
    text::{Text, TextLine},
};
use crate::model::name::ShortName;

/// A number of tokens.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.tokens/1")]
pub struct TokensView<'a> {
    /// The text or session that was counted.
    pub of: String,
    /// The number of tokens.
    pub tokens: u64,
    /// How the number is known.
    #[schemars(extend("enum" = ["recorded", "exact", "estimated"]))]
    pub method: &'static str,
    /// The model that was named.
    pub model: Option<&'a str>,
    /// The encoding that was used.
    #[schemars(extend("enum" = ["o200k_base", "cl100k_base"]))]
    pub encoding: &'static str,
    /// The source of the number, where it is not exact.
    pub source: Option<String>,
    /// The size of the text in bytes.
    pub bytes: Option<u64>,
    /// The number of messages that were counted.
    pub messages: Option<u64>,
    /// The parts of a request without a question, where a session was counted.
    pub parts: Option<TokenParts>,
}

/// The parts of a request without a question.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenParts {
    /// Tokens of the agent description.
    pub agent: u64,
    /// Tokens of the context.
    pub context: u64,
    /// Tokens of the checkpoint.
    pub checkpoint: u64,
    /// Tokens of the messages.
    pub messages: u64,
    /// Tokens of headings, and of delimiters around text that others wrote.
    pub headings: u64,
}

impl View for TokensView<'_> {
    fn text(&self) -> Text {
        let mut line = TextLine::new().with(Slot::Id, self.tokens.to_string());
        line.push(Slot::Plain, " tokens, ");
        let slot = if self.method == "estimated" {
            Slot::Caution
        } else {
            Slot::Good
        };
        line.push(slot, self.method);
        line.push(
            Slot::Plain,
            match self.method {
                "exact" => format!(" ({})", self.encoding),
                _ => format!(": {}", self.source.as_deref().unwrap_or_default()),
            },
        );
        let mut text = Text::from(line);
        if let Some(parts) = &self.parts {
            // `4200 in 40 messages, 36 in the checkpoint`.
            let parts = [
                (parts.messages, format!("in {}", counted(self.messages.unwrap_or(0)))),
                (parts.checkpoint, "in the checkpoint".to_owned()),
                (parts.context, "in the context".to_owned()),
                (parts.agent, "in the agent description".to_owned()),
                (parts.headings, "in headings".to_owned()),
            ];
            let parts = parts.iter().filter(|(tokens, _)| *tokens > 0);
            let parts: Vec<String> = parts.map(|(tokens, place)| format!("{tokens} {place}")).collect();
            if !parts.is_empty() {
                text.push(TextLine::plain(format!("  {}", parts.join(", "))));
            }
        }
        text
    }
}

/// A request to a model, or how many tokens it has.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.request/1")]
pub struct RequestView<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// Numbers of tokens.
    pub tokens: RequestTokens,
    /// How the numbers are known.
    #[schemars(extend("enum" = ["recorded", "exact", "estimated"]))]
    pub method: &'static str,
    /// The encoding that was used.
    #[schemars(extend("enum" = ["o200k_base", "cl100k_base"]))]
    pub encoding: &'static str,
    /// The source of the numbers, where they are not exact.
    pub source: Option<&'static str>,
    /// Numbers of messages.
    pub messages: RequestMessages,
    /// The system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The user prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<&'a str>,
}

/// Tokens of a request by its parts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RequestTokens {
    /// Tokens of everything but the question.
    #[serde(flatten)]
    pub parts: TokenParts,
    /// Tokens of the user prompt.
    pub user: u64,
    /// Tokens of the whole request.
    pub total: u64,
}

/// Messages of a request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RequestMessages {
    /// The number of messages in it.
    pub included: u64,
    /// The number of messages that it has no room for.
    pub left_out: u64,
    /// The number of messages that a summary replaces.
    pub summarised: u64,
}

impl RequestView<'_> {
    /// How the numbers are known: `exact (o200k_base)`.
    pub fn method(&self) -> String {
        match self.source {
            None => format!("{} ({})", self.method, self.encoding),
            Some(source) => format!("{}: {source}", self.method),
        }
    }
}

impl View for RequestView<'_> {
    fn text(&self) -> Text {
        let mut table = TextTable::new([
            TableColumn::left("part"),
            TableColumn::right("tokens"),
            TableColumn::left(""),
        ]);
        let summary = match self.messages.summarised {
            0 => String::new(),
            n => format!("with a summary of {}", counted(n)),
        };
        let included = match (self.messages.included, self.messages.left_out) {
            (included, 0) => counted(included),
            (included, left) => format!("{included} of {}", included + left),
        };
        let parts = &self.tokens.parts;
        for (part, tokens, note) in [
            ("agent", parts.agent, String::new()),
            ("context", parts.context, String::new()),
            ("checkpoint", parts.checkpoint, summary),
            ("messages", parts.messages, included),
            ("user prompt", self.tokens.user, String::new()),
            ("headings", parts.headings, String::new()),
            ("total", self.tokens.total, self.method()),
        ] {
            if part == "headings" && tokens == 0 {
                continue;
            }
            table.row([
                TextLine::new().with(Slot::Heading, part),
                TextLine::plain(tokens.to_string()),
                TextLine::new().with(Slot::Dim, note),
            ]);
        }
        table.render(usize::MAX)
    }
}
