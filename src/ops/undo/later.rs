//! What came after the command that undo comes to, and stays as it is.

use super::super::{Error, Scene};
use crate::{
    model::time::Timestamp,
    store::{
        last_command::{self, UnlistedCommand},
        refs, undo,
    },
};

/// The command that undo comes to, and later ones that it does not revert.
#[derive(Clone, Debug)]
pub struct UndoSubject {
    /// Description for people: `restored 91bc04aa`.
    pub what: String,
    /// When it was done.
    pub at: Timestamp,
    /// The latest command, where that is another one.
    pub later: Option<UnlistedCommand>,
    /// The latest line of HEAD's reflog since: what git did, and when.
    pub moved_head: Option<(String, Timestamp)>,
}

/// The command that the next undo reverts; `None` where there is nothing to undo.
pub fn subject(scene: &Scene<'_>) -> Result<Option<UndoSubject>, Error> {
    let list = undo::read(scene.repo)?;
    let Some(entry) = list.undoable() else { return Ok(None) };
    // A HEAD without a readable reflog tells nothing.
    let log = refs::reflog(scene.repo, "HEAD").unwrap_or_default();
    let since = entry.at.unix();
    let moved = log
        .into_iter()
        .take_while(|line| line.who.time.seconds > since)
        .find(|line| !line.message.starts_with("checkout: "));
    Ok(Some(UndoSubject {
        what: entry.what.clone(),
        at: entry.at,
        later: last_command::read(scene.repo),
        moved_head: moved.map(|line| (line.message, Timestamp::from_unix(line.who.time.seconds, 0))),
    }))
}
