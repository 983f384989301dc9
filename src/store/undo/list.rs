//! The undo list in memory: which entries are in force, and what undo and redo come to next.

use std::collections::{BTreeMap, BTreeSet};

use super::{Effect, UndoEntry, UndoLine};
use crate::model::id::Oid;

/// Current undo list.
#[derive(Clone, Debug, Default)]
pub struct UndoList {
    pub(super) entries: Vec<(UndoEntry, UndoState)>,
    /// Entries that can be redone, the next one last.
    redo: Vec<usize>,
    /// The length of the file with the line that is taken next, in bytes.
    pub(super) length: u64,
    /// The same with the line that put an entry in force, by its number.
    lengths: BTreeMap<u64, u64>,
    /// Entries whose record was left as it was by the undo or redo of the rest.
    without_record: BTreeSet<u64>,
}

/// State of an entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum UndoState {
    /// About to be done; what was meant and is not settled is the end of the list.
    Meant,
    /// Not done after all.
    Never,
    Done,
    Undone {
        kept: Option<Oid>,
        last: Option<u64>,
    },
}

impl UndoList {
    /// Entry that the next undo reverts.
    pub fn undoable(&self) -> Option<&UndoEntry> {
        let done = self.entries.iter().rev().find(|(_, state)| *state == UndoState::Done);
        done.map(|(entry, _)| entry)
    }

    /// Entry that the next redo repeats, and the safety checkpoint with the target state.
    pub fn redoable(&self) -> Option<(&UndoEntry, Option<&Oid>)> {
        let (entry, state) = &self.entries[*self.redo.last()?];
        match state {
            UndoState::Undone { kept, .. } => Some((entry, kept.as_ref())),
            _ => None,
        }
    }

    /// The entry of this number, and if it was taken back the safety checkpoint that holds the state to go to.
    pub fn entry(&self, n: u64) -> Option<(&UndoEntry, Option<&Oid>)> {
        let (entry, state) = self.entries.iter().rfind(|(entry, _)| entry.n == n)?;
        match state {
            UndoState::Meant | UndoState::Never => None,
            UndoState::Done => Some((entry, None)),
            UndoState::Undone { kept, .. } => Some((entry, kept.as_ref())),
        }
    }

    /// The number of the last operation in the draft as the last undo of this entry left it; `None` where it is not
    /// known.
    pub fn undone_last(&self, n: u64) -> Option<u64> {
        match self.entries.iter().rfind(|(entry, _)| entry.n == n)?.1 {
            UndoState::Undone { last, .. } => last,
            _ => None,
        }
    }

    /// Whether the last undo or redo of this entry left its record as it was: the next one finds it as it leaves the rest.
    pub fn is_without_record(&self, n: u64) -> bool {
        self.without_record.contains(&n)
    }

    /// The length of the file when an entry came into force, in bytes: what it had before, and the entry.
    pub fn length_at(&self, n: u64) -> u64 {
        self.lengths.get(&n).copied().unwrap_or(0)
    }

    /// The length of the file, in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Every entry with whether it is in force, the oldest first.
    pub fn entries(&self) -> impl Iterator<Item = (&UndoEntry, bool)> {
        let happened = |state: &UndoState| !matches!(state, UndoState::Meant | UndoState::Never);
        let entries = self.entries.iter().filter(move |(_, state)| happened(state));
        entries.map(|(entry, state)| (entry, *state == UndoState::Done))
    }

    /// Takes the next line of the list.
    pub(super) fn add(&mut self, line: UndoLine) {
        let find = |entries: &[(UndoEntry, UndoState)], n: u64| entries.iter().rposition(|(entry, _)| entry.n == n);
        if let UndoLine::Done(UndoEntry { n, .. })
        | UndoLine::Meant {
            meant: UndoEntry { n, .. },
        }
        | UndoLine::Redone { redone: n, .. } = &line
        {
            self.lengths.insert(*n, self.length);
        }
        if let UndoLine::Undone {
            undone: n,
            without_record,
            ..
        }
        | UndoLine::Redone {
            redone: n,
            without_record,
            ..
        } = &line
        {
            if *without_record {
                self.without_record.insert(*n);
            } else {
                self.without_record.remove(n);
            }
        }
        match line {
            UndoLine::Done(entry) => {
                self.redo.clear();
                // A merge whose conflicts were resolved is noted again with the resolution.
                match find(&self.entries, entry.n) {
                    Some(at) => self.entries[at] = (entry, UndoState::Done),
                    None => self.entries.push((entry, UndoState::Done)),
                }
            }
            UndoLine::Meant { meant } => self.entries.push((meant, UndoState::Meant)),
            UndoLine::Settled {
                settled,
                happened,
                last,
            } => {
                let Some(at) = find(&self.entries, settled) else { return };
                let (entry, state) = &mut self.entries[at];
                if !happened {
                    *state = UndoState::Never;
                    return;
                }
                *state = UndoState::Done;
                set_last(entry, last);
                self.redo.clear();
            }
            UndoLine::Undone { undone, kept, last, .. } => {
                if let Some(at) = find(&self.entries, undone) {
                    self.entries[at].1 = UndoState::Undone { kept, last };
                    self.redo.push(at);
                }
            }
            UndoLine::Redone {
                redone, last, before, ..
            } => {
                if let Some(at) = find(&self.entries, redone) {
                    let (entry, state) = &mut self.entries[at];
                    *state = UndoState::Done;
                    set_last(entry, last);
                    set_before(entry, before.as_ref());
                    // Where the session was was noted when it was done first.
                    entry.standing = None;
                    self.redo.retain(|other| *other != at);
                }
            }
        }
    }
}

/// Sets the number of the last draft operation in the record part of an entry.
fn set_last(entry: &mut UndoEntry, now: Option<u64>) {
    for effect in &mut entry.effects {
        if let (Effect::Record { last, .. }, Some(now)) = (effect, now) {
            *last = now;
        }
    }
}

/// Sets the safety checkpoint with the files as they were, where a forced redo replaced others.
fn set_before(entry: &mut UndoEntry, now: Option<&Oid>) {
    for effect in &mut entry.effects {
        if let (Effect::Files { before }, Some(now)) = (effect, now) {
            before.clone_from(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::json;
    use crate::model::time::Timestamp;

    fn entry(n: u64) -> UndoLine {
        UndoLine::Done(UndoEntry {
            n,
            at: Timestamp::from_unix(0, 0),
            operation: "restore".to_owned(),
            what: String::new(),
            effects: Vec::new(),
            standing: None,
            files: None,
            separated: None,
            extended: BTreeMap::new(),
        })
    }

    fn meant(n: u64) -> UndoLine {
        let UndoLine::Done(meant) = entry(n) else {
            unreachable!()
        };
        UndoLine::Meant { meant }
    }

    fn settled(settled: u64, happened: bool) -> UndoLine {
        UndoLine::Settled {
            settled,
            happened,
            last: None,
        }
    }

    fn undone(n: u64) -> UndoLine {
        UndoLine::Undone {
            undone: n,
            at: Timestamp::from_unix(0, 0),
            kept: None,
            last: None,
            without_record: false,
        }
    }

    fn redone(n: u64) -> UndoLine {
        UndoLine::Redone {
            redone: n,
            at: Timestamp::from_unix(0, 0),
            before: None,
            last: None,
            without_record: false,
        }
    }

    fn next(lines: impl IntoIterator<Item = UndoLine>) -> (Option<u64>, Option<u64>) {
        let mut list = UndoList::default();
        for line in lines {
            // As it is read back.
            list.add(serde_json::from_slice(&json::to_line(&line)).expect("a line"));
        }
        (
            list.undoable().map(|entry| entry.n),
            list.redoable().map(|(entry, _)| entry.n),
        )
    }

    #[test]
    fn undo_and_redo_go_back_and_forth() {
        assert_eq!(next([]), (None, None));
        assert_eq!(next([entry(1), entry(2)]), (Some(2), None));
        assert_eq!(next([entry(1), entry(2), undone(2)]), (Some(1), Some(2)));
        assert_eq!(next([entry(1), entry(2), undone(2), undone(1)]), (None, Some(1)));
        assert_eq!(
            next([entry(1), entry(2), undone(2), undone(1), redone(1)]),
            (Some(1), Some(2))
        );
        assert_eq!(next([entry(1), entry(2), undone(2), entry(3)]), (Some(3), None));
        assert_eq!(
            next([entry(1), entry(2), undone(2), entry(3), undone(3)]),
            (Some(1), Some(3))
        );
    }

    /// Of two steps the second one finds the record where the first one left it.
    #[test]
    fn a_record_that_one_step_left_is_left_by_the_next() {
        let left = |line: UndoLine| match line {
            UndoLine::Undone {
                undone, at, kept, last, ..
            } => UndoLine::Undone {
                undone,
                at,
                kept,
                last,
                without_record: true,
            },
            UndoLine::Redone { redone, at, last, .. } => UndoLine::Redone {
                redone,
                at,
                before: None,
                last,
                without_record: true,
            },
            line => line,
        };
        let is_left = |lines: Vec<UndoLine>| {
            let mut list = UndoList::default();
            for line in lines {
                list.add(serde_json::from_slice(&json::to_line(&line)).expect("a line"));
            }
            [1, 2].map(|n| list.is_without_record(n))
        };
        assert_eq!(is_left(vec![entry(1), entry(2), undone(2)]), [false, false]);
        assert_eq!(is_left(vec![entry(1), entry(2), left(undone(2))]), [false, true]);
        assert_eq!(is_left(vec![entry(1), left(undone(1)), redone(1)]), [false, false]);
        assert_eq!(is_left(vec![entry(1), undone(1), left(redone(1))]), [true, false]);
        assert_eq!(
            is_left(vec![entry(1), undone(1), left(redone(1)), undone(1)]),
            [false, false]
        );
    }

    #[test]
    fn what_was_meant_counts_when_it_is_settled() {
        assert_eq!(next([entry(1), meant(2)]), (Some(1), None));
        assert_eq!(next([entry(1), meant(2), settled(2, true)]), (Some(2), None));
        assert_eq!(next([entry(1), meant(2), settled(2, false)]), (Some(1), None));
        // What never happened takes no redo away.
        assert_eq!(
            next([entry(1), undone(1), meant(2), settled(2, false)]),
            (None, Some(1))
        );
        assert_eq!(next([entry(1), undone(1), meant(2), settled(2, true)]), (Some(2), None));
        assert_eq!(
            next([
                meant(1),
                settled(1, true),
                undone(1),
                meant(2),
                settled(2, false),
                redone(1)
            ]),
            (Some(1), None)
        );
    }
}
