//! The undo list after a purge: ids of checkpoints that were written again are replaced, and what rests on one that is
//! gone is forgotten, with everything that the list has about it.
//!
//! The one place that rewrites a list, whole and in one step: what a purge is to remove may be in it in clear.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use super::{CheckpointFiles, Effect, LIST, UndoLine, UndoList, later};
use crate::model::id::{Digest, Oid};
use crate::model::json;
use crate::os;
use crate::store::{Error, OwnFile, Repository, lock, sharing};

/// Fate of a checkpoint in a purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointFate {
    /// It is what it was.
    Same,
    /// It was written again.
    Now(Oid),
    /// It is gone.
    Gone,
}

/// Purge of the undo list.
pub struct UndoPurge<'a> {
    /// Fate of a commit.
    pub became: &'a dyn Fn(&Oid) -> CheckpointFate,
    /// Digest of a checkpoint that had this one; `None` if it is gone.
    pub digest: &'a dyn Fn(&Digest) -> Option<Digest>,
    /// The identity of a session that is gone altogether.
    pub session: Option<&'a str>,
    /// Whether a commit that a ref was at, or was to be at, is missing: no undo and no redo can point the ref at it.
    pub is_missing: &'a dyn Fn(&Oid) -> bool,
}

/// Brings the list in a working tree's private directory up to date, and gives what the entries did that are forgotten;
/// with `dry_run` nothing is written.
///
/// The caller holds the lock of that working tree.
pub fn purge_entries(
    repo: &Repository,
    directory: &Path,
    purged: &UndoPurge<'_>,
    dry_run: bool,
) -> Result<Vec<ForgottenEntry>, Error> {
    let path = directory.join(LIST);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let mut lines = Vec::new();
    let mut length = 0;
    let mut gone = HashSet::new();
    let mut list = UndoList::default();
    for text in bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"))
    {
        length += text.len() as u64;
        let mut line: UndoLine = serde_json::from_slice(text).map_err(Error::malformed(OwnFile::UndoList, &path))?;
        list.add(serde_json::from_slice(text).map_err(Error::malformed(OwnFile::UndoList, &path))?);
        if !update(&mut line, purged) {
            gone.insert(number(&line));
        }
        lines.push((line, length));
    }
    let forgotten = list.entries().filter(|(entry, _)| gone.contains(&entry.n));
    let forgotten = forgotten
        .map(|(entry, is_in_force)| ForgottenEntry {
            what: entry.what.clone(),
            is_in_force,
        })
        .collect();
    if dry_run {
        return Ok(forgotten);
    }
    lines.retain(|(line, _)| !gone.contains(&number(line)));
    let mut new = Vec::new();
    let mut lengths = Vec::new();
    for (line, before) in &lines {
        new.extend(json::to_line(line));
        lengths.push((*before, new.len() as u64));
    }
    if new != bytes {
        os::replace(&path, &new, sharing(repo), true).map_err(Error::io("write", &path))?;
        let left_of = |length: u64| {
            let mut within = lengths.iter().rev().skip_while(|(before, _)| *before > length);
            within.next().map_or(0, |(_, now)| *now)
        };
        later::follow(directory, sharing(repo), left_of).map_err(Error::io("write", directory))?;
    }
    for n in &gone {
        let changes = directory.join("undo").join(format!("{n}.changes"));
        match fs::remove_file(&changes) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("remove", changes)(error)),
            _ => {}
        }
    }
    Ok(forgotten)
}

/// An entry that nothing can undo or redo any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgottenEntry {
    /// Description of what was done.
    pub what: String,
    /// Whether it could have been undone, and not only redone.
    pub is_in_force: bool,
}

/// The lock that guards the list in a working tree's private directory.
pub fn lock_of(repo: &Repository, directory: &Path, wait: std::time::Duration) -> Result<lock::HeldLock, Error> {
    lock::worktree_at(repo, directory, wait)
}

fn number(line: &UndoLine) -> u64 {
    match line {
        UndoLine::Done(entry) | UndoLine::Meant { meant: entry } => entry.n,
        UndoLine::Settled { settled, .. } => *settled,
        UndoLine::Undone { undone, .. } => *undone,
        UndoLine::Redone { redone, .. } => *redone,
    }
}

/// Replaces the ids of a line; `false` when it rests on something that is gone.
fn update(line: &mut UndoLine, purged: &UndoPurge<'_>) -> bool {
    let mut whole = true;
    let mut replace = |id: &mut Oid| match (purged.became)(id) {
        CheckpointFate::Same => {}
        CheckpointFate::Now(now) => *id = now,
        CheckpointFate::Gone => whole = false,
    };
    let (mut of_session, mut is_missing) = (false, false);
    match line {
        UndoLine::Settled { .. } => {}
        UndoLine::Undone { kept: id, .. } | UndoLine::Redone { before: id, .. } => {
            id.iter_mut().for_each(replace);
        }
        UndoLine::Done(entry) | UndoLine::Meant { meant: entry } => {
            // A checkpoint that was written again shows nothing any more.
            let tip = entry.standing.as_ref().and_then(|standing| standing.tip.as_ref());
            if tip.is_some_and(|tip| (purged.became)(tip) != CheckpointFate::Same) {
                entry.standing = None;
            }
            entry.files = entry.files.take().and_then(|files| {
                let digest = (purged.digest)(&files.digest)?;
                Some(CheckpointFiles { digest, ..files })
            });
            for effect in &mut entry.effects {
                match effect {
                    Effect::Files { before: id }
                    | Effect::Index { before: id, .. }
                    | Effect::Operation { from: id, .. } => {
                        replace(id);
                    }
                    Effect::Ref { old, new, .. } => {
                        for id in old.iter_mut().chain(new) {
                            is_missing |= (purged.is_missing)(id);
                            replace(id);
                        }
                    }
                    Effect::Current { .. } | Effect::WorkTree { .. } => {}
                    Effect::Record { session, .. } => of_session |= purged.session == Some(session),
                }
            }
            entry.extended.values_mut().for_each(replace);
        }
    }
    whole && !of_session && !is_missing
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::time::Timestamp;
    use crate::store::undo::UndoEntry;

    fn id(digit: &str) -> Oid {
        Oid::new(digit.repeat(40)).expect("an id")
    }

    #[test]
    fn ids_are_replaced_and_what_rests_on_nothing_is_told() {
        let became = |old: &Oid| match old.as_str().as_bytes()[0] {
            b'a' => CheckpointFate::Now(id("b")),
            b'd' => CheckpointFate::Gone,
            _ => CheckpointFate::Same,
        };
        let purged = UndoPurge {
            became: &became,
            digest: &|digest| Some(digest.clone()),
            session: Some("gone"),
            is_missing: &|id| *id == self::id("e"),
        };
        let done = |effect| {
            UndoLine::Done(UndoEntry {
                n: 1,
                at: Timestamp::from_unix(0, 0),
                operation: "restore".to_owned(),
                what: String::new(),
                effects: vec![effect],
                standing: None,
                files: None,
                separated: None,
                extended: BTreeMap::new(),
            })
        };
        let mut line = done(Effect::Files { before: id("a") });
        assert!(update(&mut line, &purged));
        assert!(matches!(line, UndoLine::Done(entry) if entry.effects == [Effect::Files { before: id("b") }]));
        let moved = Effect::Ref {
            name: "refs/checkpoints/x".to_owned(),
            old: Some(id("c")),
            new: Some(id("d")),
        };
        assert!(!update(&mut done(moved), &purged));
        let deleted = Effect::Ref {
            name: "refs/checkpoints/x".to_owned(),
            old: Some(id("e")),
            new: None,
        };
        assert!(!update(&mut done(deleted), &purged));
        assert!(update(&mut done(Effect::Files { before: id("e") }), &purged));
        let value = || Box::new(serde_json::Value::Null);
        let record = |session: &str| Effect::Record {
            session: session.to_owned(),
            before: value(),
            after: value(),
            last: 0,
        };
        assert!(!update(&mut done(record("gone")), &purged));
        assert!(update(&mut done(record("other")), &purged));
        let mut undone = UndoLine::Undone {
            undone: 1,
            last: None,
            without_record: false,
            at: Timestamp::from_unix(0, 0),
            kept: Some(id("d")),
        };
        assert!(!update(&mut undone, &purged));
    }
}
