//! The halving of a line of states.

use std::ops::Range;

use super::BisectError;
use crate::{
    model::id::Oid,
    ops::{Error, timeline::FileState},
    store::{bisect::BisectVerdict, checkpoint::oid},
};

/// The next step of a bisection. Places are those of the states, the latest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BisectStep {
    /// A state is to be tested.
    Test {
        /// Which.
        place: usize,
        /// How many states may still be the first bad one.
        left: usize,
        /// About how many tests that takes.
        steps: u32,
    },
    /// The first bad state is known.
    Done {
        /// Which.
        place: usize,
    },
    /// All that is left was skipped; one of these is the first bad one.
    Skipped {
        /// Which, the oldest first.
        places: Vec<usize>,
    },
}

/// States in order of time, in groups with the same files.
#[derive(Debug)]
pub(super) struct StateLine {
    /// The oldest state of each group, the oldest group first.
    groups: Vec<usize>,
    skipped: Vec<bool>,
    /// Groups that may be the first bad one; the last of them is known to be bad.
    open: Range<usize>,
}

impl StateLine {
    /// The line, with what the verdicts say about it.
    pub(super) fn new(states: &[FileState], verdicts: &[(Oid, BisectVerdict)]) -> Result<Self, Error> {
        let mut groups: Vec<usize> = Vec::new();
        let mut group_of = vec![0; states.len()];
        for place in (0..states.len()).rev() {
            let is_same = groups
                .last()
                .is_some_and(|_| states[place].tree == states[place + 1].tree);
            if !is_same {
                groups.push(place);
            }
            group_of[place] = groups.len() - 1;
        }
        if groups.is_empty() {
            return Err(BisectError::NothingToTest.into());
        }
        let mut skipped = vec![false; groups.len()];
        let (mut good, mut bad) = (None, groups.len() - 1);
        for (id, verdict) in verdicts {
            let place = states.iter().position(|state| oid(state.entry.id) == *id);
            let group = group_of[place.ok_or_else(|| BisectError::NotInLine {
                id: id.short().to_owned(),
            })?];
            match verdict {
                BisectVerdict::Good => good = good.max(Some(group)),
                BisectVerdict::Bad => bad = bad.min(group),
                BisectVerdict::Skip => skipped[group] = true,
            }
        }
        let first = good.map_or(0, |good| good + 1);
        if first > bad {
            return Err(BisectError::GoodAfterBad.into());
        }
        Ok(Self {
            groups,
            skipped,
            open: first..bad + 1,
        })
    }

    /// The next step.
    pub(super) fn step(&self) -> BisectStep {
        let left = self.open.len();
        if left <= 1 {
            return BisectStep::Done {
                place: self.groups[self.open.start],
            };
        }
        // What is bad last needs no test.
        let last = self.open.end - 1;
        let middle = self.open.start + (left - 1) / 2;
        let nearest = (self.open.start..last)
            .filter(|group| !self.skipped[*group])
            .min_by_key(|group| (group.abs_diff(middle), *group));
        match nearest {
            Some(group) => BisectStep::Test {
                place: self.groups[group],
                left,
                steps: usize::BITS - (left - 1).leading_zeros(),
            },
            None => BisectStep::Skipped {
                places: self.open.clone().map(|group| self.groups[group]).collect(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of so many states, all different.
    fn line(count: usize) -> StateLine {
        StateLine {
            groups: (0..count).rev().collect(),
            skipped: vec![false; count],
            open: 0..count,
        }
    }

    #[test]
    fn every_first_bad_state_is_found_in_as_many_steps_as_halving_takes() {
        for count in 1..200 {
            for wanted in 0..count {
                let mut line = line(count);
                let mut steps = 0;
                loop {
                    match line.step() {
                        BisectStep::Test { place, .. } => {
                            let group = count - 1 - place;
                            if group >= wanted {
                                line.open.end = group + 1;
                            } else {
                                line.open.start = group + 1;
                            }
                            steps += 1;
                        }
                        BisectStep::Done { place } => {
                            assert_eq!(count - 1 - place, wanted);
                            break;
                        }
                        BisectStep::Skipped { .. } => unreachable!("nothing was skipped"),
                    }
                }
                assert!(
                    steps <= usize::BITS - (count - 1).leading_zeros(),
                    "{count} {wanted}: {steps}"
                );
            }
        }
    }

    #[test]
    fn skipped_states_are_passed_over_until_nothing_else_is_left() {
        let mut line = line(5);
        for expected in [2, 1, 3, 0] {
            let BisectStep::Test { place, .. } = line.step() else {
                panic!("a test is due");
            };
            assert_eq!(4 - place, expected);
            line.skipped[expected] = true;
        }
        assert_eq!(
            line.step(),
            BisectStep::Skipped {
                places: vec![4, 3, 2, 1, 0]
            }
        );
    }
}
