//! Effect of an undo or redo on remotes that have what it takes away.

use super::{
    super::{
        Error,
        share::{ChainRelation, PrunedSide, status, status::ShareState},
    },
    RefEdit, UndoRun,
};
use crate::{
    model::{id::Oid, name::ShortName},
    store::{checkpoint::object_id, session},
};

/// A session that is behind a remote after an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BehindRemote {
    /// The session.
    pub session: ShortName,
    /// The remote, which has what was undone.
    pub remote: String,
}

/// The sessions that the moves leave behind a remote. Fails if one would diverge, unless that is forced.
pub(super) fn behind(run: &UndoRun<'_>, edits: &[RefEdit]) -> Result<Vec<BehindRemote>, Error> {
    let mut behind = Vec::new();
    for (name, from, to) in edits {
        let (Some(from), Some(to)) = (from, to) else { continue };
        let Some(Ok(session)) = name.strip_prefix(session::PREFIX).map(ShortName::new) else {
            continue;
        };
        let states = |id: &Oid| status::of_session(run.scene, &session, object_id(id));
        for (before, after) in states(from).into_iter().zip(states(to)) {
            let remote = before.remote;
            let is_pushed = matches!(
                before.state,
                ShareState::Both(ChainRelation::Same | ChainRelation::Behind(_))
            );
            match after.state {
                ShareState::Both(ChainRelation::Behind(_)) | ShareState::Pruned(PrunedSide::Theirs { .. }) if is_pushed => {
                    let session = session.clone();
                    behind.push(BehindRemote { session, remote });
                }
                ShareState::Both(ChainRelation::Diverged { .. } | ChainRelation::Unrelated)
                    // The undo of a pull that separated a session is the way back to what had diverged before.
                    if is_pushed && !run.entry.separates() && !run.request.force =>
                {
                    let command = run.request.direction.word();
                    let why = format!("session '{session}' would diverge from remote '{remote}'");
                    let hint = "change it with a new checkpoint: git checkpoint save -m '...'".to_owned();
                    return Err(Error::ChangedSince {
                        what: format!("{command} '{}'", run.entry.what),
                        why,
                        remedies: (vec![hint], format!("git checkpoint {command} --force")).into(),
                    });
                }
                _ => {}
            }
        }
    }
    Ok(behind)
}
