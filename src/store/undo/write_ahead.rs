//! Write-ahead entries without a commit record; the refs decide whether they took effect.

use super::{Effect, UndoEntry, UndoLine, UndoList, UndoState};
use crate::model::id::Oid;
use crate::store::checkpoint::oid;
use crate::store::{Error, Repository, draft, refs};

/// The lines that settle what is not settled.
pub(super) fn verdicts(repo: &Repository, list: &UndoList) -> Result<Vec<UndoLine>, Error> {
    let mut lines = Vec::new();
    for (entry, state) in &list.entries {
        if *state == UndoState::Meant {
            let (happened, last) = happened(repo, entry)?;
            lines.push(UndoLine::Settled {
                settled: entry.n,
                happened,
                last,
            });
        }
    }
    Ok(lines)
}

/// Whether an entry was done, and the number of the last operation in a draft that it changed.
fn happened(repo: &Repository, entry: &UndoEntry) -> Result<(bool, Option<u64>), Error> {
    let moves: Vec<_> = entry.effects.iter().filter_map(of_ref).collect();
    if moves.is_empty() {
        let last = in_draft(repo, entry)?;
        return Ok((last.is_some(), last));
    }
    // All of them move or none does, so one at its target value is proof.
    let mut stands = true;
    for (name, old, new) in &moves {
        let now = match refs::read(repo, name) {
            Ok(now) => now.map(oid),
            Err(Error::Damaged { .. }) => {
                stands = false;
                continue;
            }
            Err(error) => return Err(error),
        };
        if now == **new {
            return Ok((true, None));
        }
        stands &= now == **old;
    }
    if stands {
        return Ok((false, None));
    }
    // A later command continued from where they went, or from where they were.
    for (name, _, new) in moves {
        if let Some(new) = new
            && refs::reflog(repo, name)?.iter().any(|line| oid(line.new) == *new)
        {
            return Ok((true, None));
        }
    }
    Ok((false, None))
}

type RefMove<'a> = (&'a str, &'a Option<Oid>, &'a Option<Oid>);

fn of_ref(effect: &Effect) -> Option<RefMove<'_>> {
    match effect {
        Effect::Ref { name, old, new } if old != new => Some((name, old, new)),
        _ => None,
    }
}

/// For an entry that changes a record alone: the number of the operation in the draft that did it.
fn in_draft(repo: &Repository, entry: &UndoEntry) -> Result<Option<u64>, Error> {
    for effect in &entry.effects {
        if let Effect::Record {
            session, after, last, ..
        } = effect
        {
            let draft = draft::read(repo, session)?;
            let mut found = draft.operations.iter().filter(|(n, _)| n > last);
            return Ok(found
                .find(|(_, operation)| operation.record.as_ref() == Some(after))
                .map(|(n, _)| *n));
        }
    }
    Ok(None)
}
