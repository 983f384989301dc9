//! The order of a merged list: what is before what on a side is so in the result, and the rest is by time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Brings the orders of two lists together that come from the first one. Only what `keeps` accepts is taken; of what may come
/// next, the least `position` does. If one of them has another order than the list that both come from, its order counts;
/// where the lists contradict each other otherwise, the positions decide. Which list comes first does not matter.
pub(super) fn merge_order(
    [base, one, other]: &[Vec<String>; 3],
    keeps: impl Fn(&String) -> bool,
    position: impl Fn(&String) -> String,
) -> Vec<String> {
    let lists = [one, other].map(|list| list.iter().filter(|key| keeps(key)).collect::<Vec<&String>>());
    let mut before = BTreeMap::<&String, BTreeSet<&String>>::new();
    let mut after = BTreeMap::<&String, BTreeSet<&String>>::new();
    let places: HashMap<&String, usize> = base.iter().zip(0..).collect();
    let is_reordered = lists.each_ref().map(|list| {
        let known = list.iter().filter_map(|key| places.get(*key));
        !known.is_sorted()
    });
    // Whose order counts, for each of the two.
    let deciding: [HashSet<&String>; 2] = match is_reordered {
        [true, false] => [HashSet::new(), lists[0].iter().copied().collect()],
        [false, true] => [lists[1].iter().copied().collect(), HashSet::new()],
        _ => Default::default(),
    };
    for (list, deciding) in lists.iter().zip(&deciding) {
        for key in list {
            before.entry(*key).or_default();
        }
        let mut is_decided = false;
        for pair in list.windows(2) {
            is_decided |= deciding.contains(pair[0]);
            // What only this list has comes after what it comes after here.
            let is_free = is_decided && deciding.contains(pair[1]);
            if pair[0] != pair[1] && !is_free {
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

    fn merged(base: &str, one: &str, other: &str) -> String {
        let lists = [base, one, other].map(|text| text.chars().map(String::from).collect::<Vec<_>>());
        merge_order(&lists, |_| true, Clone::clone).concat()
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
            assert_eq!(merged("", one, other), expected, "{one} {other}");
            assert_eq!(merged("", other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn the_order_that_one_side_chose_counts() {
        for (base, one, other, expected) in [
            ("abc", "cab", "abc", "cab"),
            ("abc", "cab", "abcd", "cabd"),
            ("abc", "cab", "abxc", "cabx"),
            ("abc", "cba", "xabc", "cbxa"),
            ("abc", "czba", "axbyc", "czbaxy"),
            ("abcd", "dba", "abcd", "dbac"),
            ("abc", "acb", "bac", "acb"),
        ] {
            assert_eq!(merged(base, one, other), expected, "{base} {one} {other}");
            assert_eq!(merged(base, other, one), expected, "{base} {other} {one}");
        }
    }
}
