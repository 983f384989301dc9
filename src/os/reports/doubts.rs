//! Directories in which a file may be open that is not counted, through which it may change without a report.
//!
//! - Two opens of a file may be reported as one, so that the last close is not known as such: every open is a doubt.
//! - A name that comes may be a further one of a file that is open under another name, or without a name. What is written
//!   then is reported under the name by which the file was opened, or not at all: every name that comes is a doubt, and
//!   what happened until it is settled may have left no report (`is_unreported`).
//!
//! A look at the files that processes have open settles the doubts that were raised before it began. What is open then is
//! held until a later look does not find it any more.

use std::collections::{HashMap, HashSet};

#[derive(Clone, Copy, Debug)]
struct Doubt {
    number: u64,
    is_unreported: bool,
}

#[derive(Debug, Default)]
pub(super) struct Doubts {
    raised: HashMap<usize, Doubt>,
    /// Directories of files that are open for writing.
    held: HashSet<usize>,
    /// Whether a file is open for writing of which a further name may be anywhere.
    is_held_everywhere: bool,
    /// How many doubts were raised.
    number: u64,
    /// The number from which on the last look settled none.
    settled: u64,
}

/// The directories that may have changed without a report.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SettledChanges {
    Some(Vec<usize>),
    All,
}

impl Doubts {
    pub(super) fn raise(&mut self, directory: usize, is_unreported: bool) {
        self.number += 1;
        let doubt = self.raised.entry(directory).or_insert(Doubt {
            number: 0,
            is_unreported,
        });
        doubt.number = self.number;
        doubt.is_unreported |= is_unreported;
    }

    /// The number of the last doubt: a look that begins now settles it, and those before.
    pub(super) fn moment(&self) -> u64 {
        self.number
    }

    /// Whether there is a doubt that a look could settle.
    pub(super) fn has_raised(&self) -> bool {
        !self.raised.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.raised.is_empty() && self.held.is_empty() && !self.is_held_everywhere
    }

    /// Whether nothing is known of a directory.
    pub(super) fn has(&self, directory: usize) -> bool {
        self.is_held_everywhere || self.held.contains(&directory) || self.raised.contains_key(&directory)
    }

    pub(super) fn is_held_everywhere(&self) -> bool {
        self.is_held_everywhere
    }

    pub(super) fn is_held(&self, directory: usize) -> bool {
        self.held.contains(&directory)
    }

    /// Settles the doubts until `moment`, when the look began that found files open in the directories `held`.
    pub(super) fn settle(&mut self, moment: u64, (held, is_held_everywhere): (HashSet<usize>, bool)) -> SettledChanges {
        // One that began before another one knows less.
        if moment < self.settled {
            return SettledChanges::Some(Vec::new());
        }
        self.settled = moment;
        let mut changed = Vec::new();
        self.raised.retain(|directory, doubt| {
            let is_open = doubt.number > moment;
            if !is_open && doubt.is_unreported {
                changed.push(*directory);
            }
            is_open
        });
        let before = std::mem::replace(&mut self.held, held);
        changed.extend(before.difference(&self.held));
        let was_everywhere = std::mem::replace(&mut self.is_held_everywhere, is_held_everywhere);
        if was_everywhere && !is_held_everywhere {
            return SettledChanges::All;
        }
        SettledChanges::Some(changed)
    }

    /// Forgets all directories. A look that began before settles nothing of the next ones.
    pub(super) fn forget_all(&mut self) {
        let number = self.number + 1;
        *self = Self {
            number,
            settled: number,
            ..Self::default()
        };
    }

    /// Forgets a directory that is not watched any more.
    pub(super) fn forget(&mut self, directory: usize) {
        self.raised.remove(&directory);
        self.held.remove(&directory);
    }
}
