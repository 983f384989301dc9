//! Whether two states without an id of their session are of one session: their texts have to show it, as names do not.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::model::patch::LISTS;

/// Lists that only grow: what was done and decided stays.
const HISTORY: [&str; 3] = ["accomplishments", "decisions", "tasks"];

/// Whether one of two records continues the other; `None` where too little is in them to judge.
pub fn is_continued(one: &Map<String, Value>, other: &Map<String, Value>) -> Option<bool> {
    let (history, later) = (items(one, is_history), items(other, is_history));
    if !history.is_empty() && !later.is_empty() {
        return Some(history.is_subset(&later) || later.is_subset(&history));
    }
    let (all, others) = (items(one, |_| true), items(other, |_| true));
    let is_part = !all.is_empty() && !others.is_empty() && (all.is_subset(&others) || others.is_subset(&all));
    is_part.then_some(true)
}

/// Whether something that was done or decided is in both records.
pub fn is_shared(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    !items(one, is_history).is_disjoint(&items(other, is_history))
}

fn is_history(list: &str) -> bool {
    HISTORY.contains(&list)
}

/// The texts of the lists that are wanted, each with its list.
fn items(record: &Map<String, Value>, is_wanted: impl Fn(&str) -> bool) -> BTreeSet<(&'static str, &str)> {
    let lists = LISTS.iter().filter(|(list, _)| is_wanted(list));
    let texts = lists.flat_map(|(list, field)| {
        let items = record.get(*list).and_then(Value::as_array);
        let texts = items
            .into_iter()
            .flatten()
            .filter_map(|item| item.get(*field)?.as_str());
        texts.map(|text| (*list, text.trim()))
    });
    texts.collect()
}
