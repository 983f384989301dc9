//! Help where a session is not where the action to undo left it.

use super::super::{Scene, record, session_choice};
use crate::{
    model::id::Oid,
    store::{
        checkpoint::{self, object_id},
        undo::UndoEntry,
    },
};

/// The reason why a ref cannot go back, and hints: it is at `now`, and not where the action left it.
pub(super) fn fault(
    scene: &Scene<'_>,
    entry: &UndoEntry,
    name: &str,
    now: Option<&Oid>,
    (left, to): (Option<&Oid>, Option<&Oid>),
) -> (String, Vec<String>) {
    let session = name.strip_prefix("refs/checkpoints/");
    let shown = session.map_or_else(|| format!("'{name}'"), |session| format!("session '{session}'"));
    let why = match (now, left) {
        (None, _) => format!("{shown} is missing"),
        (Some(_), None) if is_renaming(entry) && session.is_some() => {
            format!("the name '{}' is taken", session.unwrap_or_default())
        }
        (Some(_), None) => format!("{shown} exists again"),
        (Some(_), Some(_)) => format!("{shown} has changed since"),
    };
    if let (Some(session), Some(_), None, true) = (session, now, left, is_renaming(entry)) {
        let remedy = format!("rename that session first: git checkpoint rename {session} {session}-2");
        return (why, vec![remedy]);
    }
    let remedies = session.map_or_else(Vec::new, |session| remedies(scene, entry, session, now, to));
    (why, remedies)
}

/// Whether a session got another name, so that only its old name can be in the way.
fn is_renaming(entry: &UndoEntry) -> bool {
    entry.operation == "rename"
}

/// Hints with the commands that help: `now` is where the session is, `to` where undo would bring it.
fn remedies(scene: &Scene<'_>, entry: &UndoEntry, session: &str, now: Option<&Oid>, to: Option<&Oid>) -> Vec<String> {
    let Some(now) = now else {
        return vec![format!("bring it back: git checkpoint undelete {session}")];
    };
    let mut out = vec![format!("see what was saved since: git checkpoint log {session}")];
    let Some(to) = to else { return out };
    let id = to.short();
    if entry.operation == "amend" {
        out.push(format!("see the notes that were replaced: git checkpoint show {id}"));
    }
    if entry.files_before().is_some() {
        out.push(format!("restore the files as they were: git checkpoint restore {id}"));
    } else if is_other_record(scene, now, to) {
        let current = session_choice::session_for_command(scene).ok().flatten();
        let whose = match current {
            Some(current) if current.name.as_str() == session => String::new(),
            _ => format!(" --session {session}"),
        };
        out.push(format!(
            "restore the record as it was: git checkpoint restore {id} --record-only{whose}"
        ));
    }
    out
}

/// Whether a restore of the record of a checkpoint would change anything: its summary stays that of one checkpoint.
fn is_other_record(scene: &Scene<'_>, now: &Oid, to: &Oid) -> bool {
    // Damage is reported where the checkpoint is needed.
    let record = |id: &Oid| {
        let found = checkpoint::load(scene.repo, object_id(id)).ok()?;
        Some(record::kept_value(&found.document.record))
    };
    record(now) != record(to)
}
