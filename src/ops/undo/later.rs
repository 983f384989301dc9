//! Actions after the command that undo comes to, which stay as they are.

use super::{
    super::{Error, Scene, plan_runner::PlanOperation},
    passed,
};
use crate::{
    model::time::Timestamp,
    store::{
        checkpoint::{self, object_id, oid},
        refs,
        undo::{self, UnlistedCommand},
    },
};

/// The command that undo comes to, and later ones that it does not revert.
#[derive(Clone, Debug)]
pub struct UndoSubject {
    /// Description for people: `restored 91bc04aa`.
    pub what: String,
    /// When it was done.
    pub at: Timestamp,
    /// The latest command since that changed something and is not on the undo list.
    pub later: Option<UnlistedCommand>,
    /// The last command, where it changed nothing.
    pub idle: Option<UnlistedCommand>,
    /// The session that has changed since, where that is why the command cannot be undone, and nothing before it can.
    pub blocked_by: Option<String>,
    /// The latest line of HEAD's reflog since: what git did, and when.
    pub moved_head: Option<(String, Timestamp)>,
}

/// The command that the next undo reverts; `None` where there is nothing to undo.
pub fn subject(scene: &Scene<'_>) -> Result<Option<UndoSubject>, Error> {
    let list = undo::read(scene.repo)?;
    let Some((entry, _)) = passed::entry(scene, &list)? else {
        return Ok(None);
    };
    // A HEAD without a readable reflog shows nothing.
    let mut log = refs::latest_in_reflog(scene.repo, "HEAD")
        .into_iter()
        .flatten()
        .peekable();
    let head = log.peek().map(|line| oid(line.new));
    let since = entry.at.unix();
    let before = entry
        .files_before()
        .and_then(|before| checkpoint::load(scene.repo, object_id(before)).ok());
    // Of the second in which the command ran, the HEAD that it found shows what came later.
    let is_since = |at: i64| match &before {
        Some(before) => at >= since && before.document.git.head != head,
        None => at > since,
    };
    let moved = log
        .take_while(|line| is_since(line.who.time.seconds))
        .find(|line| !line.message.starts_with("checkout: "));
    let reverts_resolutions = entry.operation == PlanOperation::Merge.word();
    let commands = undo::commands_since(scene.repo, list.length_at(entry.n));
    let idle = undo::commands_since(scene.repo, list.length());
    Ok(Some(UndoSubject {
        what: entry.what.clone(),
        at: entry.at,
        later: commands
            .into_iter()
            .rfind(|command| command.changed && !(command.resolves && reverts_resolutions)),
        blocked_by: passed::moved_on(scene, entry)?,
        idle: idle.into_iter().next_back().filter(|command| !command.changed),
        moved_head: moved.map(|line| (line.message.clone(), Timestamp::from_unix(line.who.time.seconds, 0))),
    }))
}
