//! Answers of the editor's models in text: thoughts and tool calls are tags among the words.

use serde_json::{Map, Value};

use super::super::blocks;

/// The tools that the editor's models call in tags.
const TOOLS: &[&str] = &[
    "access_mcp_resource",
    "act_mode_respond",
    "apply_diff",
    "ask_followup_question",
    "attempt_completion",
    "browser_action",
    "condense",
    "execute_command",
    "focus_chain",
    "list_code_definition_names",
    "list_files",
    "load_mcp_documentation",
    "new_rule",
    "new_task",
    "plan_mode_respond",
    "read_file",
    "replace_in_file",
    "search_files",
    "use_mcp_tool",
    "web_fetch",
    "web_search",
    "write_to_file",
];
/// The tools that end what the model does, and the parameter with the words that a person then sees.
const SHOWN: &[(&str, &str)] = &[
    ("attempt_completion", "result"),
    ("plan_mode_respond", "response"),
    ("ask_followup_question", "question"),
];
/// The names of the tools that end what the model does.
pub(super) const ENDS: &[&str] = &["attempt_completion", "plan_mode_respond", "ask_followup_question"];

/// The blocks of an answer, with the words that tools show to the person as text.
pub(super) fn answer(content: Vec<Value>, id: &str) -> Vec<Value> {
    let mut out = Vec::new();
    for block in content {
        match blocks::as_text(&block) {
            Some(text) => split(text, id, &mut out),
            None => push(block, &mut out),
        }
    }
    out
}

fn push(block: Value, out: &mut Vec<Value>) {
    let name = block.get("name").and_then(Value::as_str).unwrap_or_default();
    let shown = SHOWN
        .iter()
        .find(|(tool, _)| blocks::kind(&block) == "tool_use" && *tool == name);
    let words = shown.and_then(|(_, member)| block.get("input")?.get(*member)?.as_str());
    if let Some(words) = words.filter(|words| !words.trim().is_empty()) {
        out.push(blocks::text(words.trim()));
    }
    out.push(block);
}

/// Takes a text apart into thoughts, words and calls. Tags that are not closed stay text.
fn split(text: &str, id: &str, out: &mut Vec<Value>) {
    let mut words = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let line = rest.find('\n').map_or(rest.len(), |at| at + 1);
        if let Some((name, inner, behind)) = element(rest) {
            flush(&mut words, out);
            if name == "thinking" {
                out.push(blocks::thought(inner.trim()));
            } else {
                let call = format!("{id}:{}", out.len());
                push(blocks::call(&call, name, &Value::Object(parameters(inner))), out);
            }
            rest = behind;
        } else {
            words.push_str(&rest[..line]);
            rest = &rest[line..];
        }
    }
    flush(&mut words, out);
}

fn flush(words: &mut String, out: &mut Vec<Value>) {
    let text = std::mem::take(words);
    if !text.trim().is_empty() {
        out.push(blocks::text(text.trim()));
    }
}

/// The element of a thought or a tool at the beginning of a text: its name, its content and what follows.
fn element(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text
        .trim_start_matches([' ', '\t'])
        .strip_prefix('<')?
        .split_once('>')?;
    if name != "thinking" && TOOLS.binary_search(&name).is_err() {
        return None;
    }
    let end = format!("</{name}>");
    // A file that is written may hold the same tag: the last one ends the element, but for thoughts.
    let at = if name == "thinking" {
        rest.find(&end)
    } else {
        rest.rfind(&end)
    }?;
    Some((name, &rest[..at], &rest[at + end.len()..]))
}

/// The parameters of a call: elements in it, each up to its last end.
fn parameters(inner: &str) -> Map<String, Value> {
    let mut out = Map::new();
    let mut rest = inner.trim_start();
    while let Some((name, behind)) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let end = format!("</{name}>");
        let Some(at) = behind.rfind(&end).filter(|_| is_name) else {
            break;
        };
        out.insert(name.to_owned(), behind[..at].trim_matches('\n').into());
        rest = behind[at + end.len()..].trim_start();
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tags_become_blocks() {
        assert!(TOOLS.is_sorted());
        let text = "<thinking>\nhm\n</thinking>\nSee.\n\n<write_to_file>\n<path>a</path>\n<content>\n<b></content>\n</b>\n</content>\n</write_to_file>\n";
        assert_eq!(
            answer(vec![blocks::text(text)], "m"),
            [
                blocks::thought("hm"),
                blocks::text("See."),
                blocks::call(
                    "m:2",
                    "write_to_file",
                    &json!({"path": "a", "content": "<b></content>\n</b>"})
                ),
            ]
        );
        for plain in [
            "<read_file>",
            "a <thinking> b",
            "<b>x</b>",
            "<thinking>open",
            "< >",
            "<",
        ] {
            assert_eq!(answer(vec![blocks::text(plain)], "m"), [blocks::text(plain)]);
        }
        let done = "<attempt_completion>\n<result>\nAll done.\n</result>\n</attempt_completion>";
        assert_eq!(blocks::texts(&answer(vec![blocks::text(done)], "m")), "All done.");
    }
}
