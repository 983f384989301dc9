//! The parts of a message, as JSON blocks of one shape whatever the agent: text, thought, tool call, tool result, image,
//! event.

use serde_json::{Map, Value, json};

/// A text.
pub fn text(text: impl Into<String>) -> Value {
    json!({ "type": "text", "text": text.into() })
}

/// A thought of the model.
pub fn thought(text: impl Into<String>) -> Value {
    json!({ "type": "thinking", "thinking": text.into() })
}

/// A tool call.
pub fn call(id: &str, name: &str, input: &Value) -> Value {
    json!({ "type": "tool_use", "id": id, "name": name, "input": input })
}

/// The result of a tool call: a text or a list of blocks.
pub fn result(call: &str, content: &Value, failed: bool) -> Value {
    let mut out = Map::new();
    out.insert("type".into(), "tool_result".into());
    out.insert("tool_use_id".into(), call.into());
    out.insert("content".into(), content.clone());
    if failed {
        out.insert("is_error".into(), true.into());
    }
    Value::Object(out)
}

/// An image whose bytes are in the file, in base64.
pub fn image(media: &str, data: &str) -> Value {
    json!({ "type": "image", "source": { "type": "base64", "media_type": media, "data": data } })
}

/// An image in another file.
pub fn image_at(url: &str) -> Value {
    // A data URL holds its bytes itself.
    let inline = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
        .filter(|(media, _)| !media.is_empty());
    match inline {
        Some((media, data)) => image(media, data),
        None => json!({ "type": "image", "source": { "type": "url", "url": url } }),
    }
}

/// Something that happened to the conversation itself: `compacted`, `interrupted`, `failed`, `rewound`, `command`,
/// `usage`.
pub fn event(kind: &str, text: &str, details: &Value) -> Value {
    let mut out = Map::new();
    out.insert("type".into(), "event".into());
    out.insert("event".into(), kind.into());
    if !text.is_empty() {
        out.insert("text".into(), text.into());
    }
    if let Value::Object(details) = details {
        for (name, value) in details {
            if !value.is_null() {
                out.entry(name.as_str()).or_insert_with(|| value.clone());
            }
        }
    }
    Value::Object(out)
}

/// The blocks of a content: a string is one text.
pub fn of(content: Option<&Value>) -> Vec<Value> {
    match content {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(words)) => vec![text(words.as_str())],
        Some(Value::Array(blocks)) => blocks
            .iter()
            .map(|block| match block {
                Value::String(words) => text(words.as_str()),
                other => other.clone(),
            })
            .collect(),
        Some(other) => vec![other.clone()],
    }
}

/// The word of a block's type.
pub fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The text of a block of text.
pub fn as_text(block: &Value) -> Option<&str> {
    (kind(block) == "text").then(|| block.get("text").and_then(Value::as_str))?
}

/// The texts among blocks, one after the other.
pub fn texts(blocks: &[Value]) -> String {
    let texts: Vec<&str> = blocks.iter().filter_map(as_text).collect();
    texts.join("\n")
}

/// The content in its shortest form: only one text as a string, else the blocks.
pub fn content(blocks: Vec<Value>) -> Value {
    if let [only] = blocks.as_slice()
        && let Some(words) = as_text(only)
        && only.as_object().is_some_and(|block| block.len() == 2)
    {
        return words.into();
    }
    Value::Array(blocks)
}
