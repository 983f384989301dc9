//! Which step a word means, and which steps hang together.

use std::collections::BTreeSet;

use super::{Step, StepStatus};

/// The fewest characters of an id that select.
const MIN_ID: usize = 3;

/// Step or steps that a word selects.
#[derive(Debug, PartialEq)]
pub enum StepMatch<'a> {
    /// This step.
    One(&'a Step),
    /// Several of the same kind of match.
    Many(Vec<&'a Step>),
    /// None.
    None,
}

/// The step a word means: by id, number (`3` or `#3`), beginning of an id, title, or a part of a title. The first kind
/// that matches decides.
pub fn find<'a>(steps: &'a [Step], word: &str) -> StepMatch<'a> {
    if let Some(step) = steps.iter().find(|step| step.id == word) {
        return StepMatch::One(step);
    }
    let number = word.strip_prefix('#').unwrap_or(word).parse::<u32>().ok();
    let lower = word.to_lowercase();
    let kinds: [&dyn Fn(&Step) -> bool; 4] = [
        &|step| number == Some(step.n),
        &|step| word.len() >= MIN_ID && step.id.starts_with(word),
        &|step| step.title.to_lowercase() == lower,
        &|step| !lower.trim().is_empty() && step.title.to_lowercase().contains(&lower),
    ];
    for matches in kinds {
        let found: Vec<&Step> = steps.iter().filter(|step| matches(step)).collect();
        match found.as_slice() {
            [] => {}
            [one] => return StepMatch::One(one),
            _ => return StepMatch::Many(found),
        }
    }
    StepMatch::None
}

/// The steps whose results a step rests on, directly or through others, in the order of steps. Uses that lead in a
/// circle or to no step are no matter.
pub fn rests_on<'a>(steps: &'a [Step], id: &str) -> Vec<&'a Step> {
    closure(steps, id, |step, known| {
        steps
            .iter()
            .any(|user| known.contains(user.id.as_str()) && user.uses.contains(&step.id))
    })
}

/// The steps that need a step's result, directly or through others, in the order of steps. Those that do not hold any
/// more need nothing.
pub fn needed_by<'a>(steps: &'a [Step], id: &str) -> Vec<&'a Step> {
    closure(steps, id, |step, known| {
        step.status != StepStatus::Invalid && step.uses.iter().any(|used| known.contains(used.as_str()))
    })
}

fn closure<'a>(steps: &'a [Step], id: &str, belongs: impl Fn(&Step, &BTreeSet<&str>) -> bool) -> Vec<&'a Step> {
    let mut known = BTreeSet::from([id]);
    loop {
        let more = steps
            .iter()
            .filter(|step| !known.contains(step.id.as_str()) && belongs(step, &known));
        let more: Vec<&str> = more.map(|step| step.id.as_str()).collect();
        if more.is_empty() {
            break;
        }
        known.extend(more);
    }
    known.remove(id);
    steps.iter().filter(|step| known.contains(step.id.as_str())).collect()
}
