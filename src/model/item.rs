//! The kinds of items that a record lists: one table for adding, finding, changing and showing any of them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::record::{Record, TaskStatus};

/// A kind of item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemKind {
    /// The command that deals with it.
    pub command: &'static str,
    /// Name of one item.
    pub word: &'static str,
    /// The record's list.
    pub list: &'static str,
    /// The member with its text.
    pub text: &'static str,
}

/// All kinds that have a command.
pub const KINDS: [ItemKind; 14] = [
    kind("task", "task", "tasks", "title"),
    kind("todo", "todo", "todos", "text"),
    kind("decision", "decision", "decisions", "text"),
    kind("blocker", "blocker", "blockers", "text"),
    kind("question", "question", "questions", "text"),
    kind("approval", "approval", "approvals", "question"),
    kind("fork-point", "fork point", "fork_points", "title"),
    kind("delegation", "delegation", "delegations", "agent"),
    kind("instruction", "instruction", "resume_instructions", "text"),
    kind("memory", "memory reference", "memory_refs", "text"),
    kind("open-file", "open file", "open_files", "path"),
    kind("agent", "agent note", "agent_history", "text"),
    kind("check", "check", "checks", "name"),
    kind("conflict", "conflict", "conflicts", "member"),
];

const fn kind(command: &'static str, word: &'static str, list: &'static str, text: &'static str) -> ItemKind {
    ItemKind {
        command,
        word,
        list,
        text,
    }
}

impl ItemKind {
    /// The kind of this command.
    pub fn of(command: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.command == command)
    }

    /// Text of an item of this kind.
    pub fn text_of<'a>(&self, item: &'a Value) -> &'a str {
        item[self.text].as_str().unwrap_or_default()
    }

    /// Text of an item in a comparison: complete enough that different items read differently.
    pub fn says(&self, item: &Value) -> String {
        let member = |name: &str| item[name].as_str().map(str::to_owned);
        let number = |name: &str| item[name].as_u64().map(|n| n.to_string());
        let text = self.text_of(item).to_owned();
        let (between, parts) = match self.list {
            "delegations" => {
                let tokens = number("tokens").map(|n| format!("{n} tokens"));
                (", ", vec![Some(text), member("issue"), tokens, member("status")])
            }
            "checks" => (": ", vec![Some(text), member("status")]),
            "agent_history" => (": ", vec![member("agent"), Some(text)]),
            "conflicts" => (": ", vec![Some(text), member("session")]),
            "open_files" => (":", vec![Some(text), number("line"), number("column")]),
            _ => return text,
        };
        parts.into_iter().flatten().collect::<Vec<_>>().join(between)
    }

    /// State of an item of this kind, in one word; empty where there is nothing to be open.
    pub fn standing<'a>(&self, item: &'a Value) -> &'a str {
        let word = |member: &str, without: &'a str| item[member].as_str().unwrap_or(without);
        match self.list {
            "tasks" => word("status", "todo"),
            "todos" if item["done"] == true => "done",
            "questions" if item["answer"].is_string() => "answered",
            "approvals" => match word("answer", "open") {
                known @ ("open" | "approve" | "reject") => known,
                _ => "answered",
            },
            "fork_points" if item["chosen"].is_string() => "decided",
            "todos" | "questions" | "fork_points" => "open",
            "delegations" | "checks" => word("status", ""),
            _ => "",
        }
    }

    /// Whether something is still to be done about an item of this kind.
    pub fn is_open(&self, item: &Value) -> bool {
        match self.list {
            "tasks" => !matches!(self.standing(item), "done" | "dropped"),
            "todos" | "questions" | "approvals" | "fork_points" => self.standing(item) == "open",
            _ => true,
        }
    }
}

/// The id of an item.
pub fn id_of(item: &Value) -> &str {
    item["id"].as_str().unwrap_or_default()
}

/// Totals of the delegations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "totals")]
pub struct Totals {
    /// How many delegations.
    pub delegations: usize,
    /// How many of them were panel reviews.
    pub panel_reviews: usize,
    /// Their tokens, as far as known.
    pub tokens: u64,
    /// How many of those tokens are estimates.
    pub estimated_tokens: u64,
    /// Tokens of panel reviews.
    pub panel_tokens: u64,
    /// How many delegations say no tokens.
    pub without_tokens: usize,
    /// Seconds, as far as known.
    pub duration: u64,
}

/// Adds up the delegations of a record.
pub fn totals(record: &Record) -> Totals {
    let mut out = Totals {
        delegations: record.delegations.len(),
        ..Totals::default()
    };
    for delegation in &record.delegations {
        let tokens = delegation.tokens.unwrap_or(0);
        out.tokens = out.tokens.saturating_add(tokens);
        out.duration = out.duration.saturating_add(delegation.duration.unwrap_or(0));
        out.without_tokens += usize::from(delegation.tokens.is_none());
        if delegation.estimated {
            out.estimated_tokens = out.estimated_tokens.saturating_add(tokens);
        }
        if delegation.panel {
            out.panel_reviews += 1;
            out.panel_tokens = out.panel_tokens.saturating_add(tokens);
        }
    }
    out
}

/// The word of a task's status as it is stored.
pub fn status_word(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Todo => "todo",
        TaskStatus::InProgress => "in_progress",
        TaskStatus::Done => "done",
        TaskStatus::Blocked => "blocked",
        TaskStatus::Dropped => "dropped",
    }
}

/// Paths of two agents that may be the same file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "agent_overlap")]
pub struct Overlap {
    /// Two agents, in the order of the record.
    #[schemars(with = "Vec<String>")]
    pub agents: [String; 2],
    /// The path of each.
    #[schemars(with = "Vec<String>")]
    pub paths: [String; 2],
}

/// Where the partitions of a record overlap: equal paths, a directory and what is in it, patterns that fit one name.
pub fn overlaps(record: &Record) -> Vec<Overlap> {
    let paths: Vec<(&String, Vec<&str>)> = record
        .partitions
        .iter()
        .map(|(agent, paths)| {
            let paths = paths.as_array().map(Vec::as_slice).unwrap_or_default();
            (agent, paths.iter().filter_map(Value::as_str).collect())
        })
        .collect();
    let mut out = Vec::new();
    for (at, (one, ones)) in paths.iter().enumerate() {
        for (other, others) in &paths[at + 1..] {
            for a in ones {
                for b in others.iter().filter(|b| may_meet(a, b)) {
                    out.push(Overlap {
                        agents: [(*one).clone(), (*other).clone()],
                        paths: [(*a).to_owned(), (*b).to_owned()],
                    });
                }
            }
        }
    }
    out
}

/// Whether two paths or patterns may represent one file. `*` and `?` match within a directory, `**` across directories,
/// and a set in brackets anything of one character.
fn may_meet(one: &str, other: &str) -> bool {
    let (one, other) = (tokens(one), tokens(other));
    // Each state once: whether the rests from these places can meet.
    let mut seen = vec![false; (one.len() + 1) * (other.len() + 1)];
    let mut open = vec![(0, 0)];
    while let Some((i, j)) = open.pop() {
        let state = &mut seen[i * (other.len() + 1) + j];
        if std::mem::replace(state, true) {
            continue;
        }
        let (x, y) = (one.get(i), other.get(j));
        match (x, y) {
            (None | Some(Token::One('/')), None) | (None, Some(Token::One('/'))) => return true,
            _ => {}
        }
        if let Some(Token::Many { directories }) = x {
            open.push((i + 1, j));
            if y.is_some_and(|y| *directories || *y != Token::One('/')) {
                open.push((i, j + 1));
            }
        }
        if let Some(Token::Many { directories }) = y {
            open.push((i, j + 1));
            if x.is_some_and(|x| *directories || *x != Token::One('/')) {
                open.push((i + 1, j));
            }
        }
        let same = match (x, y) {
            (Some(Token::One(x)), Some(Token::One(y))) => x == y,
            (Some(Token::Any), Some(Token::One(c))) | (Some(Token::One(c)), Some(Token::Any)) => *c != '/',
            (Some(Token::Any), Some(Token::Any)) => true,
            _ => false,
        };
        if same {
            open.push((i + 1, j + 1));
        }
    }
    false
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    One(char),
    Any,
    Many { directories: bool },
}

fn tokens(path: &str) -> Vec<Token> {
    let path = if path == "." { "**" } else { path.trim_end_matches('/') };
    let mut out = Vec::new();
    let mut rest = path;
    while let Some(c) = rest.chars().next() {
        let (token, len) = match c {
            '*' if rest.starts_with("**/") => (Token::Many { directories: true }, 3),
            '*' if rest.starts_with("**") => (Token::Many { directories: true }, 2),
            '*' => (Token::Many { directories: false }, 1),
            '?' => (Token::Any, 1),
            '[' if rest.contains(']') => (Token::Any, rest.find(']').map_or(1, |end| end + 1)),
            c => (Token::One(c), c.len_utf8()),
        };
        out.push(token);
        rest = &rest[len..];
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::patch::LISTS, *};

    #[test]
    fn every_kind_is_a_list_of_the_record() {
        for kind in KINDS {
            // An agent's notes begin with what they say, though a bare string is no whole one.
            assert!(LISTS.contains(&(kind.list, kind.text)), "{}", kind.list);
        }
    }

    #[test]
    fn paths_that_may_be_one_file_meet() {
        for (a, b, meets) in [
            ("src/a.rs", "src/a.rs", true),
            ("src/a.rs", "src/b.rs", false),
            ("src", "src/a.rs", true),
            ("src/", "src/deep/a.rs", true),
            ("src", "srcs/a.rs", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/a.md", false),
            ("src/*.rs", "src/*_test.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/**/*.rs", "src/deep/er/a.rs", true),
            ("src/**/*.rs", "src/a.rs", true),
            ("**/*.md", "docs", false),
            ("docs/**", "docs/a/b", true),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
            ("a[xyz]c", "abc", true),
            (".", "any/thing", true),
            ("ä/*", "ä/ö", true),
        ] {
            assert_eq!(may_meet(a, b), meets, "{a} {b}");
            assert_eq!(may_meet(b, a), meets, "{b} {a}");
        }
    }

    #[test]
    fn overlaps_are_between_agents() {
        let record: Record = serde_json::from_value(json!({
            "partitions": {"ana": ["src", "src/a.rs"], "ben": ["docs", "src/a.rs"]}
        }))
        .expect("a record");
        let found = overlaps(&record);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].paths, ["src", "src/a.rs"]);
    }
}
