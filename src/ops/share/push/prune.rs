//! `remote prune`: the sessions at a remote that are not needed there any more.

use super::{
    super::{ChainRelation, Error, Wire, chain, find},
    remove::{RemovedSession, remove},
};
use crate::{
    model::{document::SessionStatus, name::ShortName},
    ops::{Scene, refuse, trash},
    store::{
        self, ObjectId,
        checkpoint::{self, Checkpoint},
        refs, session,
    },
};

/// Request to prune a remote.
#[derive(Clone, Debug)]
pub struct RemotePruneRequest {
    /// The remote; the usual one without a name.
    pub remote: Option<String>,
    /// Whether sessions that are finished go as well.
    pub finished: bool,
    /// Whether finished sessions of others go, too.
    pub others: bool,
}

/// A session at a remote that would be pruned.
#[derive(Debug)]
pub struct PruneCandidate {
    /// Its name.
    pub name: ShortName,
    /// The reason.
    pub why: PruneReason,
}

/// Reason to delete a session at a remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneReason {
    /// It was deleted here, and the trash has all of it.
    DeletedHere,
    /// It is finished, and here is all of it.
    Finished,
}

impl PruneReason {
    /// The reason in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::DeletedHere => "deleted here",
            Self::Finished => "finished",
        }
    }
}

/// The name of a remote and the sessions that would be pruned there, as of the last fetch or push. Only those of which
/// everything is here: nothing is lost by it. None that another agent or person has claimed.
pub fn candidates(scene: &Scene<'_>, request: &RemotePruneRequest) -> Result<(String, Vec<PruneCandidate>), Error> {
    let remote = find(scene, request.remote.as_deref(), true)?;
    let trash = trash::deleted(scene)?;
    let own = store::author(scene.repo, checkpoint::git_time(scene.now)).email;
    let mut found = Vec::new();
    let has_all = |tip: ObjectId, there: ObjectId| -> Result<bool, Error> {
        let relation = chain::relation(scene.repo, tip, there)?;
        Ok(matches!(relation, ChainRelation::Same | ChainRelation::Ahead(_)))
    };
    for (full, target) in refs::list(scene.repo, &remote.tracking())? {
        let name = full
            .strip_prefix(&remote.tracking())
            .and_then(|name| ShortName::new(name).ok());
        // What is damaged is reported by `verify`, and stays.
        let (Some(name), Ok(there)) = (name, target) else {
            continue;
        };
        // A session that is claimed stays, also where another person finished it.
        let is_free = |latest: &Checkpoint| refuse::claimed(scene, &name, &latest.document.session).is_ok();
        if !checkpoint::load(scene.repo, there).is_ok_and(|latest| is_free(&latest)) {
            continue;
        }
        let why = if let Some(tip) = session::tip(scene.repo, &name)? {
            let Ok(latest) = checkpoint::load(scene.repo, tip) else {
                continue;
            };
            let is_own = request.others || own == latest.entry.email.as_str();
            let is_done = latest.document.session.status == SessionStatus::Completed;
            if !(request.finished && is_done && is_own && has_all(tip, there)?) {
                continue;
            }
            PruneReason::Finished
        } else {
            let deleted = trash.iter().filter(|deleted| deleted.name == name);
            let mut is_deleted = false;
            for deleted in deleted {
                is_deleted |= has_all(deleted.tip.id, there)?;
            }
            if !is_deleted {
                continue;
            }
            PruneReason::DeletedHere
        };
        found.push(PruneCandidate { name, why });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((remote.name, found))
}

/// Deletes these sessions at a remote.
pub fn prune(
    scene: &Scene<'_>,
    remote: &str,
    candidates: &[PruneCandidate],
    dry_run: bool,
    wire: Wire<'_>,
) -> Result<Vec<RemovedSession>, Error> {
    let names: Vec<ShortName> = candidates.iter().map(|one| one.name.clone()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    remove(scene, remote, &names, (false, dry_run), wire)
}
