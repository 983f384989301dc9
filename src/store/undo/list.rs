//! The undo list in memory: which entries are in force, and what undo and redo come to next.

use super::{Effect, Entry, Line};
use crate::model::id::Oid;

/// The list as it stands.
#[derive(Clone, Debug, Default)]
pub struct List {
    pub(super) entries: Vec<(Entry, State)>,
    /// Entries that can be redone, the next one last.
    redo: Vec<usize>,
}

/// What became of an entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
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

impl List {
    /// What the next undo takes back.
    pub fn undoable(&self) -> Option<&Entry> {
        let done = self.entries.iter().rev().find(|(_, state)| *state == State::Done);
        done.map(|(entry, _)| entry)
    }

    /// What the next redo does again, and the safety checkpoint that holds the state to go to.
    pub fn redoable(&self) -> Option<(&Entry, Option<&Oid>)> {
        let (entry, state) = &self.entries[*self.redo.last()?];
        match state {
            State::Undone { kept, .. } => Some((entry, kept.as_ref())),
            _ => None,
        }
    }

    /// The entry of this number, and if it was taken back the safety checkpoint that holds the state to go to.
    pub fn entry(&self, n: u64) -> Option<(&Entry, Option<&Oid>)> {
        let (entry, state) = self.entries.iter().rfind(|(entry, _)| entry.n == n)?;
        match state {
            State::Meant | State::Never => None,
            State::Done => Some((entry, None)),
            State::Undone { kept, .. } => Some((entry, kept.as_ref())),
        }
    }

    /// The number of the last operation in the draft as the last undo of this entry left it; `None` where it is not
    /// known.
    pub fn undone_last(&self, n: u64) -> Option<u64> {
        match self.entries.iter().rfind(|(entry, _)| entry.n == n)?.1 {
            State::Undone { last, .. } => last,
            _ => None,
        }
    }

    /// Every entry with whether it is in force, the oldest first.
    pub fn entries(&self) -> impl Iterator<Item = (&Entry, bool)> {
        let happened = |state: &State| !matches!(state, State::Meant | State::Never);
        let entries = self.entries.iter().filter(move |(_, state)| happened(state));
        entries.map(|(entry, state)| (entry, *state == State::Done))
    }

    /// Takes the next line of the list.
    pub(super) fn add(&mut self, line: Line) {
        let find = |entries: &[(Entry, State)], n: u64| entries.iter().rposition(|(entry, _)| entry.n == n);
        match line {
            Line::Done(entry) => {
                self.redo.clear();
                self.entries.push((entry, State::Done));
            }
            Line::Meant { meant } => self.entries.push((meant, State::Meant)),
            Line::Settled {
                settled,
                happened,
                last,
            } => {
                let Some(at) = find(&self.entries, settled) else { return };
                let (entry, state) = &mut self.entries[at];
                if !happened {
                    *state = State::Never;
                    return;
                }
                *state = State::Done;
                set_last(entry, last);
                self.redo.clear();
            }
            Line::Undone { undone, kept, last, .. } => {
                if let Some(at) = find(&self.entries, undone) {
                    self.entries[at].1 = State::Undone { kept, last };
                    self.redo.push(at);
                }
            }
            Line::Redone { redone, last, .. } => {
                if let Some(at) = find(&self.entries, redone) {
                    let (entry, state) = &mut self.entries[at];
                    *state = State::Done;
                    set_last(entry, last);
                    self.redo.retain(|other| *other != at);
                }
            }
        }
    }
}

/// Tells the record's part of an entry the number of the last operation in its draft.
fn set_last(entry: &mut Entry, now: Option<u64>) {
    for effect in &mut entry.effects {
        if let (Effect::Record { last, .. }, Some(now)) = (effect, now) {
            *last = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::json;
    use crate::model::time::Timestamp;

    fn entry(n: u64) -> Line {
        Line::Done(Entry {
            n,
            at: Timestamp::from_unix(0, 0),
            operation: "restore".to_owned(),
            what: String::new(),
            effects: Vec::new(),
        })
    }

    fn meant(n: u64) -> Line {
        let Line::Done(meant) = entry(n) else { unreachable!() };
        Line::Meant { meant }
    }

    fn settled(settled: u64, happened: bool) -> Line {
        Line::Settled {
            settled,
            happened,
            last: None,
        }
    }

    fn undone(n: u64) -> Line {
        Line::Undone {
            undone: n,
            at: Timestamp::from_unix(0, 0),
            kept: None,
            last: None,
        }
    }

    fn redone(n: u64) -> Line {
        Line::Redone {
            redone: n,
            at: Timestamp::from_unix(0, 0),
            last: None,
        }
    }

    fn next(lines: impl IntoIterator<Item = Line>) -> (Option<u64>, Option<u64>) {
        let mut list = List::default();
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
