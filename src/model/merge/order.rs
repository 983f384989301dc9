//! The order of a merged list: what is before what on a side is so in the result, and the rest is by time.

use std::collections::{BTreeMap, BTreeSet};

/// Brings the orders of two lists together. Only what `keeps` says is taken; among what may come next, the least
/// `position` does. Where the lists contradict each other in their order, the positions decide. Which list is the first
/// does not matter.
pub fn merge_order(
    one: &[String],
    other: &[String],
    keeps: impl Fn(&String) -> bool,
    position: impl Fn(&String) -> String,
) -> Vec<String> {
    let lists = [one, other].map(|list| list.iter().filter(|key| keeps(key)).collect::<Vec<&String>>());
    let mut before = BTreeMap::<&String, BTreeSet<&String>>::new();
    let mut after = BTreeMap::<&String, BTreeSet<&String>>::new();
    for list in &lists {
        for key in list {
            before.entry(*key).or_default();
        }
        for pair in list.windows(2) {
            if pair[0] != pair[1] {
                before.entry(pair[1]).or_default().insert(pair[0]);
                after.entry(pair[0]).or_default().insert(pair[1]);
            }
        }
    }
    let positions: BTreeMap<&String, String> = before.keys().map(|key| (*key, position(key))).collect();
    let place = |key: &'_ String| (positions.get(key).cloned().unwrap_or_default(), key.clone());
    let mut waiting: BTreeSet<(String, String)> = before.keys().map(|key| place(key)).collect();
    let free = before.iter().filter(|(_, earlier)| earlier.is_empty());
    let mut ready: BTreeSet<(String, String)> = free.map(|(key, _)| place(key)).collect();
    let mut out = Vec::with_capacity(waiting.len());
    while let Some(next) = ready.pop_first().or_else(|| waiting.first().cloned()) {
        if !waiting.remove(&next) {
            continue;
        }
        let (_, key) = next;
        for later in after.get(&key).into_iter().flatten() {
            let Some(earlier) = before.get_mut(*later) else {
                continue;
            };
            earlier.remove(&key);
            if earlier.is_empty() && waiting.contains(&place(later)) {
                ready.insert(place(later));
            }
        }
        out.push(key);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(one: &str, other: &str) -> String {
        let list = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        merge_order(&list(one), &list(other), |_| true, Clone::clone).concat()
    }

    #[test]
    fn orders_come_together() {
        for (one, other, expected) in [
            ("abc", "abc", "abc"),
            ("axb", "ayb", "axyb"),
            ("xa", "ya", "xya"),
            ("ba", "b", "ba"),
            ("ab", "ba", "ab"),
            ("", "zb", "zb"),
            ("cab", "dab", "cdab"),
        ] {
            assert_eq!(merged(one, other), expected, "{one} {other}");
            assert_eq!(merged(other, one), expected, "{other} {one}");
        }
    }
}
