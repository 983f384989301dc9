//! The undo list after a purge: ids of checkpoints that were written again are replaced, and what rests on one that is
//! gone is forgotten, with everything that the list says about it.
//!
//! The one place that rewrites a list, whole and in one step: what a purge is to remove may stand in it in clear.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use super::{Effect, LIST, Line};
use crate::model::id::Oid;
use crate::model::json;
use crate::os;
use crate::store::{Error, Repository, lock, sharing};

/// What became of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Became {
    /// It is what it was.
    Same,
    /// It was written again.
    Now(Oid),
    /// It is gone.
    Gone,
}

/// What a purge did.
pub struct Purged<'a> {
    /// What became of a commit.
    pub became: &'a dyn Fn(&Oid) -> Became,
    /// The identity of a session that is gone altogether.
    pub session: Option<&'a str>,
}

/// Brings the list in a work tree's private folder up to date and gives the number of entries that were forgotten.
///
/// The caller holds the lock of that work tree.
pub fn forget(repo: &Repository, folder: &Path, purged: &Purged<'_>) -> Result<usize, Error> {
    let path = folder.join(LIST);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let mut lines = Vec::new();
    let mut gone = HashSet::new();
    for line in bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"))
    {
        let mut line: Line = serde_json::from_slice(line)
            .map_err(|error| Error::io("understand", &path)(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        if !update(&mut line, purged) {
            gone.insert(number(&line));
        }
        lines.push(line);
    }
    lines.retain(|line| !gone.contains(&number(line)));
    let new: Vec<u8> = lines.iter().flat_map(json::to_line).collect();
    if new != bytes {
        os::replace(&path, &new, sharing(repo), true).map_err(Error::io("write", &path))?;
    }
    for n in &gone {
        let changes = folder.join("undo").join(format!("{n}.changes"));
        match fs::remove_file(&changes) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("remove", changes)(error)),
            _ => {}
        }
    }
    Ok(gone.len())
}

/// The lock that guards the list in a work tree's private folder.
pub fn lock_of(repo: &Repository, folder: &Path, wait: std::time::Duration) -> Result<lock::Held, Error> {
    lock::worktree_at(repo, folder, wait)
}

fn number(line: &Line) -> u64 {
    match line {
        Line::Done(entry) | Line::Meant { meant: entry } => entry.n,
        Line::Settled { settled, .. } => *settled,
        Line::Undone { undone, .. } => *undone,
        Line::Redone { redone, .. } => *redone,
    }
}

/// Replaces the ids of a line; `false` when it rests on something that is gone.
fn update(line: &mut Line, purged: &Purged<'_>) -> bool {
    let mut whole = true;
    let mut replace = |id: &mut Oid| match (purged.became)(id) {
        Became::Same => {}
        Became::Now(now) => *id = now,
        Became::Gone => whole = false,
    };
    let mut of_session = false;
    match line {
        Line::Redone { .. } | Line::Settled { .. } => {}
        Line::Undone { kept, .. } => {
            kept.iter_mut().for_each(replace);
        }
        Line::Done(entry) | Line::Meant { meant: entry } => {
            for effect in &mut entry.effects {
                match effect {
                    Effect::Files { before } | Effect::Index { before, .. } => replace(before),
                    Effect::Ref { old, new, .. } => old.iter_mut().chain(new).for_each(&mut replace),
                    Effect::Current { .. } | Effect::WorkTree { .. } => {}
                    Effect::Record { session, .. } => of_session |= purged.session == Some(session),
                }
            }
        }
    }
    whole && !of_session
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::time::Timestamp;
    use crate::store::undo::Entry;

    fn id(digit: &str) -> Oid {
        Oid::new(digit.repeat(40)).expect("an id")
    }

    #[test]
    fn ids_are_replaced_and_what_rests_on_nothing_is_told() {
        let became = |old: &Oid| match old.as_str().as_bytes()[0] {
            b'a' => Became::Now(id("b")),
            b'd' => Became::Gone,
            _ => Became::Same,
        };
        let purged = Purged {
            became: &became,
            session: Some("gone"),
        };
        let done = |effect| {
            Line::Done(Entry {
                n: 1,
                at: Timestamp::from_unix(0, 0),
                operation: "restore".to_owned(),
                what: String::new(),
                effects: vec![effect],
            })
        };
        let mut line = done(Effect::Files { before: id("a") });
        assert!(update(&mut line, &purged));
        assert!(matches!(line, Line::Done(entry) if entry.effects == [Effect::Files { before: id("b") }]));
        let moved = Effect::Ref {
            name: "refs/checkpoints/x".to_owned(),
            old: Some(id("c")),
            new: Some(id("d")),
        };
        assert!(!update(&mut done(moved), &purged));
        let value = || Box::new(serde_json::Value::Null);
        let record = |session: &str| Effect::Record {
            session: session.to_owned(),
            before: value(),
            after: value(),
            last: 0,
        };
        assert!(!update(&mut done(record("gone")), &purged));
        assert!(update(&mut done(record("other")), &purged));
        let mut undone = Line::Undone {
            undone: 1,
            last: None,
            at: Timestamp::from_unix(0, 0),
            kept: Some(id("d")),
        };
        assert!(!update(&mut undone, &purged));
    }
}
