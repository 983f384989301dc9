//! Help where a session is not where the action to undo left it.

use crate::{model::id::Oid, store::undo::UndoEntry};

/// The reason why a ref cannot go back, and hints: it is at `now`, and not where the action left it.
pub(super) fn fault(
    entry: &UndoEntry,
    name: &str,
    now: Option<&Oid>,
    (left, to): (Option<&Oid>, Option<&Oid>),
) -> (String, Vec<String>) {
    let session = name.strip_prefix("refs/checkpoints/");
    let shown = session.map_or_else(|| name.to_owned(), |session| format!("session {session}"));
    let why = match (now, left) {
        (None, _) => format!("'{shown}' is missing"),
        (Some(_), None) if is_renaming(entry) && session.is_some() => {
            format!("the name '{}' is taken", session.unwrap_or_default())
        }
        (Some(_), None) => format!("'{shown}' exists again"),
        (Some(_), Some(_)) => format!("'{shown}' has moved on"),
    };
    if let (Some(session), Some(_), None, true) = (session, now, left, is_renaming(entry)) {
        let remedy = format!("rename that session first: git checkpoint rename {session} {session}-2");
        return (why, vec![remedy]);
    }
    let remedies = session.map_or_else(Vec::new, |session| remedies(entry, session, now, to));
    (why, remedies)
}

/// Whether a session got another name, so that only its old name can be in the way.
fn is_renaming(entry: &UndoEntry) -> bool {
    entry.operation == "rename"
}

/// Hints with the commands that help: `now` is where the session is, `to` where undo would bring it.
fn remedies(entry: &UndoEntry, session: &str, now: Option<&Oid>, to: Option<&Oid>) -> Vec<String> {
    if now.is_none() {
        return vec![format!("bring it back: git checkpoint undelete {session}")];
    }
    let mut out = vec![format!("see what was saved since: git checkpoint log {session}")];
    if let Some(to) = to {
        let to = to.short();
        let has_files = super::files_before(entry).is_some();
        let options = if has_files { "" } else { " --record-only" };
        let what = if has_files { "the files" } else { "the record" };
        out.push(format!(
            "give {what} the state of before: git checkpoint restore {to}{options}"
        ));
    }
    out
}
