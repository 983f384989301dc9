//! What differs between two records, item by item.
//!
//! Items are compared by what they say, not by id: an item that moved from pending to done is a minus and a plus, as a
//! reader would put it; one that was merely carried over is no difference.

use std::collections::BTreeSet;

use serde::Serialize;

use super::record::{Record, TaskStatus};

/// A line of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RecordChange {
    /// What kind of item: `done`, `pending`, `decision`, `blocker`, `question`, `approval`, `summary`, ...
    pub item: &'static str,
    /// Whether the item is only in the newer record, else only in the older one.
    pub added: bool,
    /// What it says.
    pub text: String,
}

/// The order in which kinds of items are told.
const KINDS: [&str; 9] = [
    "summary",
    "done",
    "pending",
    "decision",
    "blocker",
    "question",
    "approval",
    "fork point",
    "instruction",
];

/// The differences between two records, by kind, the older record's items before the newer one's.
pub fn compare(old: &Record, new: &Record) -> Vec<RecordChange> {
    let (old, new) = (items(old), items(new));
    let old_set: BTreeSet<_> = old.iter().collect();
    let new_set: BTreeSet<_> = new.iter().collect();
    let mut changes = Vec::new();
    for kind in KINDS {
        let of_kind = |item: &&(&'static str, String)| item.0 == kind;
        let gone = old.iter().filter(of_kind).filter(|item| !new_set.contains(item));
        changes.extend(gone.map(|(item, text)| RecordChange {
            item,
            added: false,
            text: text.clone(),
        }));
        let came = new.iter().filter(of_kind).filter(|item| !old_set.contains(item));
        changes.extend(came.map(|(item, text)| RecordChange {
            item,
            added: true,
            text: text.clone(),
        }));
    }
    changes
}

fn items(record: &Record) -> Vec<(&'static str, String)> {
    let mut items = Vec::new();
    items.extend(
        record
            .summary
            .iter()
            .map(|s| ("summary", s.lines().next().unwrap_or_default().to_owned())),
    );
    items.extend(record.accomplishments.iter().map(|n| ("done", n.text.clone())));
    items.extend(record.next_steps.iter().map(|n| ("pending", n.text.clone())));
    items.extend(
        record
            .todos
            .iter()
            .map(|t| (if t.done { "done" } else { "pending" }, t.text.clone())),
    );
    for task in &record.tasks {
        let item = match task.status {
            TaskStatus::Done => "done",
            TaskStatus::Dropped => continue,
            TaskStatus::Blocked => "blocker",
            TaskStatus::Todo | TaskStatus::InProgress => "pending",
        };
        items.push((item, task.title.clone()));
    }
    items.extend(record.decisions.iter().map(|d| ("decision", d.text.clone())));
    items.extend(record.blockers.iter().map(|b| ("blocker", b.text.clone())));
    items.extend(
        record
            .questions
            .iter()
            .filter(|q| q.answer.is_none())
            .map(|q| ("question", q.text.clone())),
    );
    items.extend(
        record
            .approvals
            .iter()
            .filter(|a| a.answer.is_none())
            .map(|a| ("approval", a.question.clone())),
    );
    items.extend(
        record
            .fork_points
            .iter()
            .filter(|f| f.chosen.is_none())
            .map(|f| ("fork point", f.title.clone())),
    );
    items.extend(
        record
            .resume_instructions
            .iter()
            .map(|n| ("instruction", n.text.clone())),
    );
    items
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{patch, time::Timestamp};

    fn record(patch: serde_json::Value) -> Record {
        let mut n = 0;
        let mut fresh_id = || {
            n += 1;
            format!("id{n}")
        };
        let at = Timestamp::from_unix(0, 0);
        let patch = patch::prepare(
            patch,
            &mut patch::Stamp {
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
                "pending - write parser",
                "decision + no new crate"
            ]
        );
        assert!(compare(&new, &new).is_empty());
    }
}
