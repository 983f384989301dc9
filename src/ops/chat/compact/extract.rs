//! The built-in summary: sentences taken from the messages by simple rules. It understands nothing, needs no network,
//! and gives the same for the same messages; what it made is marked as extractive.

use std::collections::HashSet;

use serde_json::Value;

use super::COUNTED;
use crate::model::chat::{ChatSummary, Message, Role};

/// The longest line that is taken, in characters.
const LINE: usize = 200;
/// The longest first request that is kept, in characters.
const FIRST: usize = 1500;
/// The most lines of one list; of more the latest stay.
const MOST: usize = 60;

/// The tokens that a summary may have where the limit of the chat is this.
pub(super) fn budget(limit: u64) -> u64 {
    (limit / 8).clamp(64, 4000)
}

/// Collects what matters, message by message.
pub(super) struct Extract {
    summary: ChatSummary,
    known: HashSet<String>,
}

impl Extract {
    /// Begins with an earlier summary.
    pub(super) fn new(earlier: Option<&ChatSummary>) -> Self {
        let summary = earlier.cloned().unwrap_or_default();
        let known = summary
            .lists()
            .iter()
            .flat_map(|(_, items)| items.iter().cloned())
            .collect();
        Self { summary, known }
    }

    pub(super) fn add(&mut self, message: &Message) {
        let text = message.text();
        if message.role == Role::User && self.summary.first_request.is_none() && !text.trim().is_empty() {
            self.summary.first_request = Some(cut(&words(&text), FIRST));
        }
        files_of_tools(&message.content, &mut |path| {
            let path = cut(path, LINE);
            if self.known.insert(path.clone()) {
                push(&mut self.summary.files, path);
            }
        });
        for line in text.lines() {
            // What is longer is no sentence, but data.
            if line.len() > 2000 {
                continue;
            }
            let trimmed = line.trim().trim_start_matches(['-', '*', '+', '#', '>', ' ']);
            let Some(list) = list(trimmed, message.role) else {
                continue;
            };
            let item = cut(&words(strip_mark(trimmed)), LINE);
            if item.len() > 2 && self.known.insert(item.clone()) {
                push(list(&mut self.summary), item);
            }
        }
    }

    /// The summary in at most so many tokens: the oldest lines of the longest list go first.
    pub(super) fn finish(mut self, budget: u64) -> ChatSummary {
        while COUNTED.count(&self.summary.markdown()) > budget {
            let summary = &mut self.summary;
            let lists: [&mut Vec<String>; 7] = [
                &mut summary.errors,
                &mut summary.files,
                &mut summary.completed,
                &mut summary.in_progress,
                &mut summary.pending,
                &mut summary.blockers,
                &mut summary.decisions,
            ];
            let longest = lists
                .into_iter()
                .max_by_key(|list| list.iter().map(String::len).sum::<usize>());
            match longest.filter(|list| !list.is_empty()) {
                Some(list) => {
                    let many = list.len().div_ceil(8);
                    list.drain(..many);
                }
                None => match &mut summary.first_request {
                    Some(request) if request.chars().count() > 40 => {
                        *request = cut(request, request.chars().count() / 2);
                    }
                    _ => break,
                },
            }
        }
        if self.summary.is_empty() {
            self.summary
                .completed
                .push("(nothing in the messages was recognized)".to_owned());
        }
        self.summary
    }
}

/// The list that a line belongs to, by the words it has.
fn list(line: &str, role: Role) -> Option<fn(&mut ChatSummary) -> &mut Vec<String>> {
    let lower = line.to_ascii_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| lower.starts_with(word));
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if role == Role::Tool {
        return has(&["error", "failed", "panicked", "exception", "traceback", "fatal:"]).then_some(errors);
    }
    if begins(&[
        "[x]",
        "done:",
        "completed:",
        "fixed ",
        "implemented ",
        "finished ",
        "added ",
    ]) {
        Some(completed)
    } else if begins(&["decision", "decided"])
        || has(&["we decided", "i decided", "let's go with", "agreed to", "we will use"])
    {
        Some(decisions)
    } else if begins(&["blocked", "blocker"]) || has(&["is blocked", "blocked by", "waiting for", "waiting on"]) {
        Some(blockers)
    } else if begins(&["[ ]", "todo", "next:", "pending", "remaining"])
        || has(&["still need to", "still needs to", "next step"])
    {
        Some(pending)
    } else if begins(&["in progress", "working on", "currently "]) {
        Some(in_progress)
    } else if begins(&["error", "fatal:", "traceback", "panicked"])
        || has(&["error:", "error[", " failed with", "panicked at"])
    {
        Some(errors)
    } else {
        None
    }
}

fn completed(summary: &mut ChatSummary) -> &mut Vec<String> {
    &mut summary.completed
}

fn in_progress(summary: &mut ChatSummary) -> &mut Vec<String> {
    &mut summary.in_progress
}

fn pending(summary: &mut ChatSummary) -> &mut Vec<String> {
    &mut summary.pending
}

fn blockers(summary: &mut ChatSummary) -> &mut Vec<String> {
    &mut summary.blockers
}

fn decisions(summary: &mut ChatSummary) -> &mut Vec<String> {
    &mut summary.decisions
}

fn errors(summary: &mut ChatSummary) -> &mut Vec<String> {
    &mut summary.errors
}

fn push(list: &mut Vec<String>, item: String) {
    if list.len() >= MOST {
        list.remove(0);
    }
    list.push(item);
}

/// Without the mark of a list of tasks.
fn strip_mark(line: &str) -> &str {
    let line = line
        .strip_prefix("[x]")
        .or_else(|| line.strip_prefix("[X]"))
        .unwrap_or(line);
    line.strip_prefix("[ ]").unwrap_or(line).trim()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(limit.saturating_sub(3)).collect();
    out.push_str("...");
    out
}

/// Calls `each` with every path that a tool was given.
fn files_of_tools(content: &Value, each: &mut impl FnMut(&str)) {
    let Value::Array(blocks) = content else { return };
    for block in blocks {
        if block.get("type").and_then(Value::as_str) != Some("tool_use") {
            continue;
        }
        for name in ["file_path", "path", "file", "notebook_path"] {
            if let Some(path) = block.pointer(&format!("/input/{name}")).and_then(Value::as_str) {
                each(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::model::chat::tests::message;

    #[test]
    fn what_matters_is_kept_and_the_rest_is_not() {
        let mut extract = Extract::new(None);
        extract.add(&message(
            "1",
            Role::User,
            json!("Move login to the token service\nplease"),
        ));
        extract.add(&message("2", Role::Assistant, json!([
            {"type": "text", "text": "Decision: keep v1 tokens\n- [x] parser\n- [ ] refresh\nChatter without meaning.\nBlocked by staging"},
            {"type": "tool_use", "name": "edit", "input": {"file_path": "src/a.rs"}},
        ])));
        extract.add(&message(
            "3",
            Role::Tool,
            json!("test result: FAILED, 3 failed\nok line"),
        ));
        extract.add(&message("4", Role::User, json!("a second request")));
        let summary = extract.finish(4000);
        assert_eq!(
            summary.first_request.as_deref(),
            Some("Move login to the token service please")
        );
        assert_eq!(summary.decisions, ["Decision: keep v1 tokens"]);
        assert_eq!(
            (summary.completed.as_slice(), summary.pending.as_slice()),
            (&["parser".to_owned()][..], &["refresh".to_owned()][..])
        );
        assert_eq!(summary.blockers, ["Blocked by staging"]);
        assert_eq!(summary.files, ["src/a.rs"]);
        assert_eq!(summary.errors, ["test result: FAILED, 3 failed"]);
        assert!(!summary.markdown().contains("Chatter"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn it_keeps_its_budget_and_is_never_empty(texts in proptest::collection::vec("(Decision: |todo |error: |)(\\PC{0,300}|[a-z ]{0,300})", 0..30), budget in 64_u64..400) {
            let mut extract = Extract::new(None);
            for (n, text) in texts.iter().enumerate() {
                extract.add(&message(&n.to_string(), Role::User, json!(text)));
            }
            let summary = extract.finish(budget);
            prop_assert!(!summary.is_empty());
            prop_assert!(COUNTED.count(&summary.markdown()) <= budget);
        }
    }
}
