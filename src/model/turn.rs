//! Turns: a prompt of the person and all that followed from it, and the messages of a chat grouped by them.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    chat::{Message, Role},
    time::Timestamp,
};

/// How a turn ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// It has not, as far as is known.
    #[default]
    Open,
    /// With an answer.
    Done,
    /// By the person, or by another prompt before there was an answer.
    Interrupted,
    /// With an error.
    Failed,
}

impl Ending {
    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// Tokens as a provider counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TokenUsage {
    /// All that went in, from a cache or not.
    pub input: u64,
    /// The part of the input that came from a cache.
    pub cached: u64,
    /// All that came out.
    pub output: u64,
    /// The part of the output that was reasoning.
    pub reasoning: u64,
}

impl TokenUsage {
    /// Whether nothing was counted.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// The part of this one that is beyond another; never below zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.with(other, u64::saturating_sub)
    }

    fn with(self, other: Self, each: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input: each(self.input, other.input),
            cached: each(self.cached, other.cached),
            output: each(self.output, other.output),
            reasoning: each(self.reasoning, other.reasoning),
        }
    }

    /// The form in which a message keeps it: input without what came from a cache.
    pub fn to_json(self) -> Value {
        let mut out = Map::new();
        if self.input > 0 {
            out.insert("input_tokens".into(), json!(self.input.saturating_sub(self.cached)));
        }
        for (name, count) in [
            ("cache_read_input_tokens", self.cached),
            ("output_tokens", self.output),
            ("reasoning_output_tokens", self.reasoning),
        ] {
            if count > 0 {
                out.insert(name.into(), json!(count));
            }
        }
        Value::Object(out)
    }

    /// Reads the form that [`to_json`](Self::to_json) writes, and that of providers.
    pub fn from_json(usage: &Value) -> Self {
        let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
        let cached = count("cache_read_input_tokens");
        Self {
            input: count("input_tokens")
                .saturating_add(cached)
                .saturating_add(count("cache_creation_input_tokens")),
            cached,
            output: count("output_tokens"),
            reasoning: count("reasoning_output_tokens"),
        }
    }
}

/// A turn as an agent's session file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The agent's own key of it.
    pub key: String,
    /// The first line of the prompt.
    pub subject: String,
    /// When the prompt was given.
    pub started_at: Timestamp,
    /// When its latest record was written.
    pub ended_at: Timestamp,
    /// How it ended.
    pub ending: Ending,
    /// The latest model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens of all requests in it, those of helpers in the same file included.
    #[serde(default, skip_serializing_if = "TokenUsage::is_zero")]
    pub tokens: TokenUsage,
    /// Cost in millionths of a US dollar, where the agent recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

/// The messages of a chat that belong to one turn, or to none.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TurnGroup {
    /// The agent's own key of the turn; none for messages that belong to no turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The first line of the prompt.
    pub subject: String,
    /// The number of its first message in the chat, from 1.
    pub first: u64,
    /// The number of its last message.
    pub last: u64,
    /// When its first message was said.
    pub started_at: Timestamp,
    /// When its latest message was said.
    pub ended_at: Timestamp,
    /// How it ended.
    pub ending: Ending,
    /// The latest model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens that the provider recorded.
    pub tokens: TokenUsage,
    /// Its tool calls: name and how often.
    #[schemars(with = "Vec<Vec<Value>>")]
    pub calls: Vec<(String, u64)>,
    /// How many of them failed.
    pub failed_calls: u64,
    /// How many helpers worked in it.
    pub helpers: u64,
    #[serde(skip)]
    helper_ids: BTreeSet<String>,
}

impl TurnGroup {
    fn new(number: u64, message: &Message) -> Self {
        Self {
            key: message.turn().map(str::to_owned),
            subject: String::new(),
            first: number,
            last: number,
            started_at: message.at,
            ended_at: message.at,
            ending: Ending::Open,
            model: None,
            tokens: TokenUsage::default(),
            calls: Vec::new(),
            failed_calls: 0,
            helpers: 0,
            helper_ids: BTreeSet::new(),
        }
    }

    /// Takes the next message of the chat; gives it back where it belongs to another turn.
    fn takes(&mut self, number: u64, message: &Message) -> bool {
        if self.key.as_deref() != message.turn() {
            return false;
        }
        self.last = number;
        self.ended_at = self.ended_at.max(message.at);
        if let Some(usage) = message.meta.get("usage").or_else(|| message.meta.get("turn_usage")) {
            self.tokens = self.tokens.plus(TokenUsage::from_json(usage));
        }
        if let Some(helper) = message.helper() {
            self.helper_ids.insert(helper.to_owned());
            self.helpers = self.helper_ids.len() as u64;
            return true;
        }
        if let Some(model) = message.meta.get("model").and_then(Value::as_str) {
            self.model = Some(model.to_owned());
        }
        let spoken = spoken(message);
        match message.role {
            Role::User if self.subject.is_empty() => {
                let line = spoken
                    .as_deref()
                    .and_then(|text| text.lines().map(str::trim).find(|line| !line.is_empty()));
                self.subject = line.unwrap_or_default().chars().take(200).collect();
            }
            Role::Assistant => self.ending = if spoken.is_some() { Ending::Done } else { Ending::Open },
            _ => {}
        }
        for block in message.content.as_array().into_iter().flatten() {
            let word = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
            match word("type") {
                "tool_use" => {
                    self.ending = Ending::Open;
                    match self.calls.iter_mut().find(|(name, _)| name == word("name")) {
                        Some((_, count)) => *count += 1,
                        None => self.calls.push((word("name").to_owned(), 1)),
                    }
                }
                "tool_result" if block.get("is_error") == Some(&Value::Bool(true)) => self.failed_calls += 1,
                "event" => match word("event") {
                    "interrupted" => self.ending = Ending::Interrupted,
                    "failed" => self.ending = Ending::Failed,
                    _ => {}
                },
                _ => {}
            }
        }
        true
    }
}

/// The groups of messages that come one after the other. A turn that goes on after another one is in two groups.
#[derive(Debug, Default)]
pub struct TurnGroups(Vec<TurnGroup>);

impl TurnGroups {
    /// Takes the next message.
    pub fn push(&mut self, number: u64, message: &Message) {
        if let Some(latest) = self.0.last_mut() {
            if latest.takes(number, message) {
                return;
            }
            // Another prompt came before there was an answer.
            if latest.ending == Ending::Open && latest.key.is_some() {
                latest.ending = Ending::Interrupted;
            }
        }
        let mut group = TurnGroup::new(number, message);
        group.takes(number, message);
        self.0.push(group);
    }

    /// All groups.
    pub fn end(self) -> Vec<TurnGroup> {
        self.0
    }
}

/// The text that a person saw of a message: what the person or the model said in the conversation itself, without
/// thoughts, tool calls and results, and what happened in a helper's own conversation.
pub fn spoken(message: &Message) -> Option<String> {
    if message.helper().is_some() || !matches!(message.role, Role::User | Role::Assistant) {
        return None;
    }
    let text = match &message.content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| match block {
                Value::String(text) => Some(text.as_str()),
                _ => (block.get("type").and_then(Value::as_str) == Some("text"))
                    .then(|| block.get("text").and_then(Value::as_str))?,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{super::chat::tests::message, *};

    fn of_turn(id: &str, role: Role, turn: &str, content: Value) -> Message {
        let mut out = message(id, role, content);
        out.meta.insert("turn".into(), turn.into());
        out
    }

    #[test]
    fn messages_are_grouped_by_turn_and_tools_are_counted() {
        let mut failed = of_turn(
            "4",
            Role::Tool,
            "a",
            json!([{"type": "tool_result", "tool_use_id": "t", "is_error": true}]),
        );
        failed.meta.insert(
            "usage".into(),
            json!({"input_tokens": 5, "cache_read_input_tokens": 1, "output_tokens": 2}),
        );
        let mut helper = of_turn("5", Role::Assistant, "a", json!("from a helper"));
        helper.meta.insert("helper".into(), "h".into());
        let messages = [
            message("1", Role::User, json!("by hand")),
            of_turn("2", Role::User, "a", json!("\n  do it\nnow")),
            of_turn(
                "3",
                Role::Assistant,
                "a",
                json!([{"type": "tool_use", "name": "Bash"}, {"type": "tool_use", "name": "Bash"}]),
            ),
            failed,
            helper,
            of_turn("6", Role::User, "b", json!("again")),
            of_turn("7", Role::Assistant, "b", json!("Done.")),
        ];
        let mut groups = TurnGroups::default();
        for (message, n) in messages.iter().zip(1..) {
            groups.push(n, message);
        }
        let groups = groups.end();
        let seen: Vec<_> = groups
            .iter()
            .map(|g| (g.key.as_deref(), g.first, g.last, g.ending))
            .collect();
        assert_eq!(
            seen,
            [
                (None, 1, 1, Ending::Open),
                (Some("a"), 2, 5, Ending::Interrupted),
                (Some("b"), 6, 7, Ending::Done)
            ]
        );
        let turn = &groups[1];
        assert_eq!(
            (turn.subject.as_str(), turn.failed_calls, turn.helpers),
            ("do it", 1, 1)
        );
        assert_eq!(turn.calls, [("Bash".to_owned(), 2)]);
        assert_eq!((turn.tokens.input, turn.tokens.cached, turn.tokens.output), (6, 1, 2));
        assert_eq!(messages.iter().filter_map(spoken).count(), 4);
    }

    #[test]
    fn usage_reads_back() {
        let usage = TokenUsage {
            input: 10,
            cached: 4,
            output: 3,
            reasoning: 1,
        };
        assert_eq!(TokenUsage::from_json(&usage.to_json()), usage);
        assert_eq!(usage.minus(usage.plus(usage)), TokenUsage::default());
    }
}
