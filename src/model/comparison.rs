//! Differences between two records, item by item.
//!
//! Items are compared by what they say, not by id: an item that moved from next steps to done is a minus and a plus, as a
//! reader would put it; one that was merely carried over is no difference.

use std::collections::{BTreeSet, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{
    item::{self, ItemKind},
    record::Record,
    step::Step,
};

/// A line of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "record_difference")]
pub struct RecordDifference {
    /// Kind of item.
    #[schemars(extend("enum" = WORDS))]
    pub item: &'static str,
    /// Whether the item is only in the newer record, else only in the older one.
    pub added: bool,
    /// Text.
    pub text: String,
}

/// The kinds of items, in the order in which they are reported.
pub const WORDS: [&str; 25] = [
    "summary",
    "phase",
    "step",
    "iteration",
    "done",
    "next step",
    "task",
    "todo",
    "decision",
    "blocker",
    "question",
    "approval",
    "answer",
    "fork point",
    "conflict",
    "check",
    "delegation",
    "partition",
    "instruction",
    "memory",
    "open file",
    "agent note",
    "attachment",
    "state",
    "error",
];

/// Number of characters of a text that are shown; two that differ further on are reported even so.
const TOLD: usize = 200;

/// The differences between two records, by kind, the older record's items before the newer one's.
pub fn compare(old: &Record, new: &Record) -> Vec<RecordDifference> {
    with_steps((old, &[]), (new, &[]))
}

/// The same, with the steps of either side: one that got further is a minus and a plus.
pub fn with_steps(old: (&Record, &[Step]), new: (&Record, &[Step])) -> Vec<RecordDifference> {
    let all = |(record, steps): (&Record, &[Step])| {
        let mut all = items(record);
        all.extend(steps.iter().map(|step| ("step", step_text(step))));
        all
    };
    let added = added_paragraphs(old.0, new.0);
    let (old, new) = (all(old), all(new));
    let old_set: BTreeSet<_> = old.iter().collect();
    let new_set: BTreeSet<_> = new.iter().collect();
    let mut changes = Vec::new();
    for word in WORDS {
        for (items, others, added) in [(&old, &new_set, false), (&new, &old_set, true)] {
            let of_word = items.iter().filter(|item| item.0 == word && !others.contains(item));
            changes.extend(of_word.map(|(item, text)| RecordDifference {
                item,
                added,
                text: short_text(text),
            }));
        }
    }
    if let Some(added) = added {
        // What was there stays.
        changes.retain(|change| change.item != "summary");
        let added = added.into_iter().map(|text| RecordDifference {
            item: "summary",
            added: true,
            text: short_text(text),
        });
        changes.splice(0..0, added);
    }
    changes
}

/// How many changes differences are: one that replaces a text by the same one elsewhere is no two of them.
pub fn count(differences: &[RecordDifference]) -> usize {
    let added = differences.iter().filter(|difference| difference.added);
    let texts: HashSet<&str> = added.map(|difference| &*difference.text).collect();
    let is_counted = |difference: &&RecordDifference| difference.added || !texts.contains(&*difference.text);
    differences.iter().filter(is_counted).count()
}

/// The first lines of the paragraphs that a summary got, where it has all of those that it had.
fn added_paragraphs<'a>(old: &Record, new: &'a Record) -> Option<Vec<&'a str>> {
    let (old, new) = (old.summary.as_deref()?, new.summary.as_deref()?);
    let known: BTreeSet<&str> = old.split("\n\n").map(str::trim).collect();
    let now: BTreeSet<&str> = new.split("\n\n").map(str::trim).collect();
    known.is_subset(&now).then(|| {
        let all = new.split("\n\n").map(str::trim);
        let added = all.filter(|paragraph| !known.contains(paragraph));
        added.filter_map(|paragraph| paragraph.lines().next()).collect()
    })
}

/// A step as a line: its number, what it is, how far it is, and at which try.
fn step_text(step: &Step) -> String {
    let title = step.title.lines().next().unwrap_or_default();
    let attempt = if step.attempt > 1 {
        format!(", try {}", step.attempt)
    } else {
        String::new()
    };
    format!("{} {title}: {}{attempt}", step.n, step.status.word())
}

fn short_text(text: &str) -> String {
    match text.char_indices().nth(TOLD) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Everything a record says that a reader would call a difference, each with its word.
fn items(record: &Record) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    let first_line = |text: &String| text.lines().next().unwrap_or_default().to_owned();
    out.extend(record.summary.iter().map(|text| ("summary", first_line(text))));
    out.extend(record.phase.iter().map(|phase| {
        let title = phase.title.as_deref().unwrap_or_default();
        (
            "phase",
            format!("{} of {} {title}", phase.n, phase.of).trim_end().to_owned(),
        )
    }));
    out.extend(
        record
            .step
            .iter()
            .map(|step| ("step", format!("{} of {}", step.n, step.of))),
    );
    out.extend(record.iteration.iter().map(|n| ("iteration", n.to_string())));
    out.extend(record.accomplishments.iter().map(|note| ("done", note.text.clone())));
    out.extend(record.next_steps.iter().map(|note| ("next step", note.text.clone())));
    let Ok(lists) = serde_json::to_value(record) else {
        return out;
    };
    for kind in &item::KINDS {
        let items = lists[kind.list].as_array().map(Vec::as_slice).unwrap_or_default();
        out.extend(items.iter().filter_map(|item| of_list(kind, item)));
    }
    let paths = |paths: &Value| match paths.as_array() {
        Some(paths) => paths.iter().map(text_of).collect::<Vec<_>>().join(" "),
        None => text_of(paths),
    };
    let partitions = record.partitions.iter();
    out.extend(partitions.map(|(agent, all)| ("partition", format!("{agent}: {}", paths(all)))));
    out.extend(
        record
            .attachments
            .iter()
            .map(|file| ("attachment", format!("{}, {} bytes", file.name, file.size))),
    );
    match &record.state {
        Some(Value::Object(members)) => {
            out.extend(
                members
                    .iter()
                    .map(|(key, value)| ("state", format!("{key}: {}", text_of(value)))),
            );
        }
        Some(state) => out.push(("state", text_of(state))),
        None => {}
    }
    out.extend(record.error.iter().map(|error| ("error", first_line(&error.message))));
    out
}

/// An item of a list with its word; none for a task that was dropped.
fn of_list(kind: &ItemKind, item: &Value) -> Option<(&'static str, String)> {
    let text = kind.says(item);
    let with = |member: &str| format!("{text}: {}", item[member].as_str().unwrap_or_default());
    Some(match (kind.list, kind.standing(item)) {
        ("tasks", "dropped") => return None,
        ("tasks", "blocked") => ("blocker", text),
        ("tasks" | "todos", "done") => ("done", text),
        ("fork_points", "decided") => ("decision", with("chosen")),
        ("questions" | "approvals", standing) if standing != "open" => ("answer", with("answer")),
        ("memory_refs", _) => ("memory", text),
        _ => (kind.word, text),
    })
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{patch, time::Timestamp};

    fn record(patch: Value) -> Record {
        let mut n = 0;
        let mut fresh_id = || {
            n += 1;
            format!("id{n}")
        };
        let at = Timestamp::from_unix(0, 0);
        let patch = patch::prepare(
            patch,
            &mut patch::PatchStamp {
                at,
                by: "a",
                fresh_id: &mut fresh_id,
            },
        )
        .expect("valid");
        patch::apply(&Record::default(), &patch).expect("valid")
    }

    #[test]
    fn items_that_moved_are_a_minus_and_a_plus() {
        let old = record(json!({"next_steps": ["write parser", "docs"], "decisions": ["keep v1"]}));
        let new = record(json!({
            "accomplishments": ["write parser"], "next_steps": ["docs"], "decisions": ["keep v1", "no new crate"]
        }));
        let lines: Vec<_> = compare(&old, &new)
            .into_iter()
            .map(|c| format!("{} {} {}", c.item, if c.added { '+' } else { '-' }, c.text))
            .collect();
        assert_eq!(
            lines,
            [
                "done + write parser",
                "next step - write parser",
                "decision + no new crate"
            ]
        );
        assert!(compare(&new, &new).is_empty());
    }

    #[test]
    fn steps_that_got_further_are_a_minus_and_a_plus() {
        let step = |n: u32, title: &str, status: &str| {
            let at = Timestamp::from_unix(0, 0);
            let mut step = Step::new(&format!("step{n}"), n, at, "a");
            step.title = title.to_owned();
            step.status = serde_json::from_value(status.into()).expect("a status");
            step
        };
        let record = Record::default();
        let old = [step(1, "parse", "done"), step(2, "print", "running")];
        let mut new = [
            step(1, "parse", "done"),
            step(2, "print", "failed"),
            step(3, "parse", "done"),
        ];
        new[1].attempt = 2;
        let lines: Vec<_> = with_steps((&record, &old), (&record, &new))
            .into_iter()
            .map(|c| (c.item, c.added, c.text))
            .collect();
        assert_eq!(
            lines,
            [
                ("step", false, "2 print: running".to_owned()),
                ("step", true, "2 print: failed, try 2".to_owned()),
                ("step", true, "3 parse: done".to_owned()),
            ]
        );
    }

    #[test]
    fn each_kind_of_item_is_a_change() {
        let stamp = |mut item: Value| {
            for (key, value) in [("id", "aaaa"), ("at", "2026-01-02T03:04:05Z"), ("by", "ana")] {
                item[key] = value.into();
            }
            item
        };
        let mut old = json!({"phase": {"n": 1, "of": 3}, "partitions": {"ana": ["src"]}, "state": {"a": 1, "b": 2}});
        let mut new = json!({
            "phase": {"n": 2, "of": 3, "title": "port"}, "step": {"n": 1, "of": 2}, "iteration": 4,
            "partitions": {"ana": ["src", "docs"]}, "state": {"a": 1, "b": {"c": null}},
            "error": {"message": "gone"},
        });
        for kind in &item::KINDS {
            new[kind.list] = json!([stamp(match kind.list {
                "checks" => json!({"name": "tests", "status": "fail"}),
                "delegations" => json!({"agent": "claude", "tokens": 5, "status": "done"}),
                "open_files" => json!({"path": "a.rs", "line": 3, "column": 1}),
                "agent_history" => json!({"agent": "claude", "text": "ported"}),
                _ => json!({kind.text: format!("x{}", "y".repeat(TOLD))}),
            })]);
        }
        old["checks"] = json!([stamp(json!({"name": "tests", "status": "pass"}))]);
        let read = |value| serde_json::from_value::<Record>(value).expect("a record");
        let changes = compare(&read(old), &read(new));
        let has = |item: &str, added: bool, text: &str| {
            changes
                .iter()
                .any(|c| c.item == item && c.added == added && c.text == text)
        };
        for (item, added, text) in [
            ("phase", false, "1 of 3"),
            ("phase", true, "2 of 3 port"),
            ("step", true, "1 of 2"),
            ("iteration", true, "4"),
            ("check", false, "tests: pass"),
            ("check", true, "tests: fail"),
            ("delegation", true, "claude, 5 tokens, done"),
            ("partition", true, "ana: src docs"),
            ("open file", true, "a.rs:3:1"),
            ("agent note", true, "claude: ported"),
            ("state", false, "b: 2"),
            ("state", true, "b: {\"c\":null}"),
            ("error", true, "gone"),
        ] {
            assert!(has(item, added, text), "{item} {added} {text}: {changes:?}");
        }
        // Every list has its line, and none is longer than a screen.
        assert!(item::KINDS.iter().all(|kind| {
            let word = kind.word;
            changes
                .iter()
                .any(|c| c.added && word.starts_with(c.item) && c.text.len() <= TOLD + 3)
        }));
        assert!(!changes.iter().any(|c| c.text == "a: 1"));
    }

    #[test]
    fn answers_and_choices_are_told() {
        let old = record(json!({"questions": [{"text": "why"}], "fork_points": [{"title": "which"}]}));
        let new = record(json!({"questions": [{"text": "why", "answer": "so"}],
            "fork_points": [{"title": "which", "chosen": "nom"}]}));
        let lines: Vec<_> = compare(&old, &new)
            .into_iter()
            .map(|c| (c.item, c.added, c.text))
            .collect();
        assert_eq!(
            lines,
            [
                ("decision", true, "which: nom".to_owned()),
                ("question", false, "why".to_owned()),
                ("answer", true, "why: so".to_owned()),
                ("fork point", false, "which".to_owned()),
            ]
        );
    }
}
