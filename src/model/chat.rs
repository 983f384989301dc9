//! The chat of a session: messages, how they are stored a line each, and their text.
//!
//! What a message holds is kept as it came: a string or a list of blocks (text, tool use, tool result, images), with
//! members this program does not know. Pictures are the exception in form only: their bytes become files of their own
//! when they are saved, and come back to the same text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{binary_text, record::UnknownMembers, time::Timestamp};

/// The member of a message's metadata with the id under which it was known before: some agents give a message its own id
/// in a later record.
pub const KNOWN_AS: &str = "known_as";

/// The role of the speaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person or program that gives the task.
    User,
    /// The model.
    Assistant,
    /// Instructions.
    System,
    /// The answer of a tool.
    Tool,
}

impl Role {
    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
        }
    }

    /// Reads the word, or one that other programs use for the same.
    pub fn parse(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "user" | "human" => Some(Self::User),
            "assistant" | "model" | "ai" => Some(Self::Assistant),
            "system" | "developer" => Some(Self::System),
            "tool" | "function" | "tool_result" => Some(Self::Tool),
            _ => None,
        }
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Unique in the chat; where it came from may have given it.
    pub id: String,
    /// When it was said.
    pub at: Timestamp,
    /// The role of the speaker.
    pub role: Role,
    /// The agent that spoke or was spoken to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// A string, or a list of blocks.
    pub content: Value,
    /// Members from the caller, such as `model` and `usage`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// Members of a later version, or of where it came from.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
}

/// The least length of base64 that becomes a file of its own; below, the file would cost more than it saves.
const PICTURE: usize = 1024;

impl Message {
    /// Its text as a reader or a model needs it: blocks one after the other, pictures named only.
    pub fn text(&self) -> String {
        let mut out = String::new();
        write_text(&self.content, &mut out);
        out
    }

    /// A heading and the text, as they are in a request.
    pub fn section(&self) -> String {
        let by = self
            .agent
            .as_deref()
            .map(|agent| format!(" ({agent})"))
            .unwrap_or_default();
        format!("### {}{by}\n\n{}\n\n", self.role.word(), self.text().trim_end())
    }

    /// A later state of this message, with what does not change: when it was said first, and its turn.
    #[must_use]
    pub fn superseded_by(&self, mut later: Self) -> Self {
        later.at = later.at.min(self.at);
        if let Some(turn) = self.meta.get("turn") {
            later.meta.insert("turn".to_owned(), turn.clone());
        }
        if let Some(before) = self.meta.get(KNOWN_AS) {
            later.meta.entry(KNOWN_AS).or_insert_with(|| before.clone());
        }
        later
    }

    /// The turn it belongs to, by the agent's own key.
    pub fn turn(&self) -> Option<&str> {
        self.meta.get("turn")?.as_str()
    }

    /// The helper in whose own conversation it was said.
    pub fn helper(&self) -> Option<&str> {
        self.meta.get("helper")?.as_str()
    }

    /// The tokens of the whole context after this message as a provider recorded them: what went in, from a cache or
    /// not, and what came out. Of a helper's own conversation next to this one (`isSidechain`) it says nothing, and
    /// programs note zeros where they made up the message themselves.
    pub fn recorded_context(&self) -> Option<u64> {
        if self.unknown.get("isSidechain") == Some(&Value::Bool(true)) || self.helper().is_some() {
            return None;
        }
        let usage = self.usage()?;
        let of = |name: &str| usage.get(name).and_then(Value::as_u64);
        let input = of("input_tokens")?;
        let rest = [
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "output_tokens",
        ];
        let context = rest.into_iter().filter_map(of).fold(input, u64::saturating_add);
        (context > 0).then_some(context)
    }

    fn usage(&self) -> Option<&Value> {
        self.meta.get("usage").filter(|usage| usage.is_object())
    }

    /// Takes pictures in base64 out of the content; each leaves `{"attachment": "<sha256>"}` in its place. Gives them
    /// by that digest.
    pub fn detach(&mut self) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        pictures(&mut self.content, &mut |data| {
            let text = data.as_str().filter(|text| text.len() >= PICTURE)?;
            let bytes = binary_text::decode(text)?;
            let digest = hex(&Sha256::digest(&bytes));
            *data = serde_json::json!({ "attachment": digest });
            found.push((digest, bytes));
            Some(())
        });
        found
    }

    /// Whether there is a picture that [`detach`](Self::detach) may take out.
    pub fn has_pictures(&self) -> bool {
        fn any(content: &Value) -> bool {
            let blocks = content.as_array().into_iter().flatten();
            blocks
                .into_iter()
                .any(|block| block.pointer("/source/data").is_some() || block.get("content").is_some_and(any))
        }
        any(&self.content)
    }

    /// Puts pictures back where [`detach`](Self::detach) took them; those that `find` does not know stay away.
    pub fn attach(&mut self, mut find: impl FnMut(&str) -> Option<Vec<u8>>) {
        pictures(&mut self.content, &mut |data| {
            let bytes = find(data.get("attachment")?.as_str()?)?;
            *data = Value::String(binary_text::encode(&bytes));
            Some(())
        });
    }
}

/// Hexadecimal digits of some bytes.
pub fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push_str(&format!("{byte:02x}"));
    }
    out
}

/// Calls `each` with the data of every picture, in results of tools as well.
fn pictures(content: &mut Value, each: &mut impl FnMut(&mut Value) -> Option<()>) {
    let Value::Array(blocks) = content else { return };
    for block in blocks {
        let is_picture = matches!(block.get("type").and_then(Value::as_str), Some("image" | "document"))
            && block.pointer("/source/type").and_then(Value::as_str) == Some("base64");
        if is_picture {
            if let Some(data) = block.pointer_mut("/source/data") {
                each(data);
            }
        } else if let Some(inner) = block.get_mut("content") {
            pictures(inner, each);
        }
    }
}

fn write_text(content: &Value, out: &mut String) {
    let blocks = match content {
        Value::String(text) => {
            out.push_str(text);
            return;
        }
        Value::Array(blocks) => blocks,
        Value::Null => return,
        other => {
            out.push_str(&other.to_string());
            return;
        }
    };
    let start = out.len();
    for block in blocks {
        if out.len() > start && !out.ends_with('\n') {
            out.push('\n');
        }
        let member = |name: &str| block.get(name).and_then(Value::as_str);
        match member("type") {
            _ if block.is_string() => write_text(block, out),
            Some("text" | "input_text" | "output_text") if member("text").is_some() => {
                out.push_str(member("text").unwrap_or_default());
            }
            Some("thinking") if member("thinking").is_some() => out.push_str(member("thinking").unwrap_or_default()),
            Some("tool_use") => {
                let input = block.get("input").map(ToString::to_string).unwrap_or_default();
                out.push_str(&format!("[uses {}] {input}", member("name").unwrap_or("a tool")));
            }
            Some("event") => {
                out.push_str(&format!("[{}]", member("event").unwrap_or("event")));
                if let Some(text) = member("text") {
                    out.push_str(&format!(" {text}"));
                }
            }
            Some("tool_result") => {
                let failed = block.get("is_error") == Some(&Value::Bool(true));
                out.push_str(if failed { "[result, failed] " } else { "[result] " });
                write_text(block.get("content").unwrap_or(&Value::Null), out);
            }
            Some(kind @ ("image" | "document")) => {
                let media = block
                    .pointer("/source/media_type")
                    .and_then(Value::as_str)
                    .unwrap_or("unknown form");
                out.push_str(&format!("[{kind}, {media}]"));
            }
            _ => out.push_str(&block.to_string()),
        }
    }
}

/// Result of a compaction: a summary that replaces the beginning of the chat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "compaction")]
pub struct Compaction {
    /// How often a summary was written in the session.
    pub version: u64,
    /// The summary.
    pub summary: ChatSummary,
    /// How many messages, from the first one of the chat, the summary represents.
    pub messages: u64,
    /// When the oldest of them was said.
    pub oldest: Timestamp,
    /// When the latest of them was said.
    #[serde(rename = "newest")]
    pub latest: Timestamp,
    /// When it was compacted.
    pub at: Timestamp,
    /// Tokens of the chat before.
    pub tokens_before: u64,
    /// Tokens of the summary and of the messages that stay.
    pub tokens_after: u64,
    /// How long summarizing took, in milliseconds.
    pub duration_ms: u64,
    /// How many compactions there were.
    pub count: u64,
    /// Who summarized: `extractive`, or `command`.
    pub by: String,
    /// Members of a later version.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
}

/// A summary of messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatSummary {
    /// Finished work.
    #[serde(default)]
    pub completed: Vec<String>,
    /// Work in progress.
    #[serde(default)]
    pub in_progress: Vec<String>,
    /// Next steps.
    #[serde(default)]
    pub pending: Vec<String>,
    /// Obstacles to the work.
    #[serde(default)]
    pub blockers: Vec<String>,
    /// Decisions.
    #[serde(default)]
    pub decisions: Vec<String>,
    /// The first request of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_request: Option<String>,
    /// Errors that were seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Files that were named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Members of a later version.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
}

impl ChatSummary {
    /// Its lists with their headings, in the order in which they are shown.
    pub fn lists(&self) -> [(&'static str, &[String]); 7] {
        [
            ("Completed", &self.completed),
            ("In progress", &self.in_progress),
            ("Pending", &self.pending),
            ("Blockers", &self.blockers),
            ("Decisions", &self.decisions),
            ("Errors seen", &self.errors),
            ("Files touched", &self.files),
        ]
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.first_request.is_none() && self.lists().iter().all(|(_, list)| list.is_empty())
    }

    /// As Markdown, without a heading of its own.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        if let Some(request) = &self.first_request {
            out.push_str(&format!("First request: {request}\n\n"));
        }
        for (title, items) in self.lists() {
            if !items.is_empty() {
                out.push_str(&format!("{title}:\n"));
                for item in items {
                    out.push_str(&format!("- {item}\n"));
                }
                out.push('\n');
            }
        }
        out
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{super::json, *};

    pub(crate) fn message(id: &str, role: Role, content: Value) -> Message {
        Message {
            id: id.into(),
            at: Timestamp::from_unix(1_767_323_045, 0),
            role,
            agent: None,
            content,
            meta: Map::new(),
            unknown: Map::new(),
        }
    }

    #[test]
    fn blocks_have_a_text() {
        let content = json!([
            {"type": "text", "text": "look"},
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.rs"}},
            {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": [{"type": "text", "text": "no such file"}]},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "Zg=="}},
            {"type": "future", "x": 1}, "plain",
        ]);
        let expected = "look\n[uses read] {\"path\":\"a.rs\"}\n[result, failed] no such file\n[image, image/png]\n\
            {\"type\":\"future\",\"x\":1}\nplain";
        assert_eq!(message("a", Role::User, content).text(), expected);
    }

    #[test]
    fn pictures_leave_and_come_back() {
        let data = binary_text::encode(&[7; 3000]);
        let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
        let content = json!([picture, {"type": "tool_result", "content": [picture]}, {"type": "text", "text": "x"}]);
        let mut changed = message("a", Role::User, content);
        let before = changed.clone();
        let taken = changed.detach();
        assert_eq!(taken.len(), 2);
        assert!(json::to_line(&changed).len() < 1000);
        changed.attach(|digest| {
            taken
                .iter()
                .find(|(known, _)| known == digest)
                .map(|(_, bytes)| bytes.clone())
        });
        assert_eq!(changed, before);
        // What is not canonical would not come back the same, and stays.
        let mut odd = message(
            "a",
            Role::User,
            json!([{"type": "image", "source": {"type": "base64", "data": "A".repeat(2001)}}]),
        );
        assert!(odd.detach().is_empty());
    }

    #[test]
    fn recorded_usage_is_read() {
        let mut said = message("a", Role::Assistant, json!("x"));
        assert_eq!(said.recorded_context(), None);
        said.meta =
            json::from_value(json!({"usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 2}}))
                .unwrap();
        assert_eq!(said.recorded_context(), Some(17));
        said.unknown.insert("isSidechain".into(), json!(true));
        assert_eq!(said.recorded_context(), None, "the context of another conversation");
        said.unknown.clear();
        said.meta = json::from_value(json!({"usage": {"input_tokens": 0, "output_tokens": 0}})).unwrap();
        assert_eq!(said.recorded_context(), None, "made up by a program");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec(("(type|text|content|[a-z]{1,5})", inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_stored_message_reads_back_and_has_some_text(content in any_json(), id in "[a-z0-9]{1,10}") {
            let before = message(&id, Role::Tool, content);
            let line = json::to_line(&before);
            prop_assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
            let value = json::parse(&line, usize::MAX).expect("own output");
            let after: Message = json::from_value(value).expect("own output");
            prop_assert_eq!(&after, &before);
            prop_assert!(before.section().len() <= line.len() + 40, "bytes bound tokens");
        }
    }
}
