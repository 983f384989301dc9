//! Merges of steps: by id, member by member, and numbered anew where both sides added some.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{MemberConflict, instant, kept, merge_order, objects};
use crate::model::step::Step;

/// Merges the steps of three sides, each in its order. Steps that the base has keep their numbers; new ones follow by
/// time.
pub fn steps(base: &[Step], ours: &[Step], theirs: &[Step]) -> (Vec<Step>, Vec<MemberConflict>) {
    let lists = [base, ours, theirs];
    let keys = lists.map(|list| list.iter().map(|step| step.id.clone()).collect::<Vec<_>>());
    let steps = lists.map(|list| {
        list.iter()
            .map(|step| (&*step.id, step))
            .collect::<HashMap<&str, &Step>>()
    });
    let find = |side: usize, id: &str| steps[side].get(id).copied();
    let changed = |id: &String| {
        let base = find(0, id);
        (1..3).any(|side| find(side, id).is_some_and(|step| Some(step) != base))
    };
    let kept = kept(&keys, changed);
    let position = |id: &String| {
        let times = (1..3).filter_map(|side| find(side, id)).map(|step| step.at);
        times.min().map(instant).unwrap_or_default()
    };
    let ordered = merge_order(&keys, |id| kept.contains(id), position);
    let mut conflicts = Vec::new();
    let mut out = Vec::new();
    for id in &ordered {
        let sides = [0, 1, 2].map(|side: usize| find(side, id));
        out.extend(one(id, sides, &mut conflicts));
    }
    let is_new = |id: &String| find(0, id).is_none();
    let both_added = (1..3).all(|side| keys[side].iter().any(is_new));
    // One that a side took out and the other changed may stay with a number that was given again.
    let numbers: HashSet<u32> = out.iter().map(|step| step.n).collect();
    if both_added || numbers.len() < out.len() {
        let mut last = base.iter().map(|step| step.n).max().unwrap_or(0);
        for step in out.iter_mut().filter(|step| is_new(&step.id)) {
            last = last.saturating_add(1);
            step.n = last;
        }
    }
    (out, conflicts)
}

fn one(id: &str, [base, ours, theirs]: [Option<&Step>; 3], conflicts: &mut Vec<MemberConflict>) -> Option<Step> {
    if ours == theirs || theirs == base {
        return ours.cloned();
    }
    if ours == base {
        return theirs.cloned();
    }
    let value = |step: Option<&Step>| step.and_then(|step| serde_json::to_value(step).ok());
    let place = format!("steps/{id}");
    let (Some(one), Some(other)) = (ours, theirs) else {
        conflicts.push(MemberConflict {
            member: place,
            base: value(base),
            ours: value(ours),
            theirs: value(theirs),
        });
        return ours.or(theirs).cloned();
    };
    let map = |step: Option<&Step>| match value(step) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let (mut merged, mut found) = objects(&place, [&map(base), &map(ours), &map(theirs)]);
    // Numbers are given anew where they meet.
    let number = format!("{place}/n");
    found.retain(|conflict| conflict.member != number);
    merged.insert("n".to_owned(), one.n.min(other.n).into());
    conflicts.append(&mut found);
    Some(crate::model::json::from_value(Value::Object(merged)).unwrap_or_else(|_| one.clone()))
}
