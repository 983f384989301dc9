//! `remote prune`: the sessions at a remote that are not needed there any more, and `purge --remote`: what a purge asks of
//! the remotes.

use super::{
    super::{ChainRelation, Error, Wire, chain, find, listing},
    command::{PushSpec, push_refs},
    remove::{RemovedSession, remove},
};
use crate::{
    model::{document::SessionStatus, id::Oid, name::ShortName},
    ops::{Scene, compose, trash},
    store::{
        self, ObjectId, checkpoint,
        refs::{self, ExpectedValue, RefUpdate},
        remote::{self, Remote},
        remote_state::RemoteState,
        session,
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
/// everything is here: nothing is lost by it.
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
    remove(scene, remote, &names, dry_run, wire)
}

/// A session at a remote that still has what was purged here.
#[derive(Clone, Debug)]
pub struct PurgedAtRemote {
    /// The remote, as refs spell it.
    pub remote: String,
    /// The session.
    pub session: String,
    /// Its latest checkpoint there, as it was last seen before the purge.
    pub tip: Oid,
}

/// The remote that refs spell so.
fn spelled(scene: &Scene<'_>, name: &str) -> Option<Remote> {
    let all = remote::all(scene.repo).into_iter();
    all.into_iter().find(|known| remote::encoded(&known.name) == name)
}

/// The name of a remote and the ref of a session there.
pub fn place(scene: &Scene<'_>, remote: &str, session: &str) -> (String, String) {
    match spelled(scene, remote) {
        Some(known) => (known.name, format!("{}{session}", known.namespace)),
        None => (remote.to_owned(), format!("{}{session}", session::PREFIX)),
    }
}

/// Lets a remote have what a session is after a purge: it is deleted there, or replaced by what was written again. Only what
/// was last seen there is touched.
pub fn purge_there(scene: &Scene<'_>, purged: &PurgedAtRemote, wire: Wire<'_>) -> Result<(), Error> {
    let remote = spelled(scene, &purged.remote).ok_or_else(|| Error::NoRemote {
        name: Some(purged.remote.clone()),
        known: Vec::new(),
    })?;
    let name = ShortName::new(&purged.session).map_err(|_| Error::NotThere {
        remote: remote.name.clone(),
        session: purged.session.clone(),
        is_here: false,
    })?;
    let refused = |why: &str| Error::NotDeleted {
        remote: remote.name.clone(),
        session: name.clone(),
        why: why.to_owned(),
    };
    let old = checkpoint::object_id(&purged.tip);
    let new = session::tip(scene.repo, &name)?;
    let there = listing::exact(scene, &remote, &[&name], wire)?;
    if there.is_empty() {
        return Ok(RemoteState::update(scene.repo, &remote.name, |state| {
            state.set(&name, None);
        })?);
    }
    let mut specs = Vec::new();
    for (target, id) in there {
        if id != old {
            return Err(refused("it is not what was last fetched of it"));
        }
        // A copy in another namespace is not needed.
        let is_usual = target == remote.session_ref(&name);
        specs.push(PushSpec {
            id: new.filter(|_| is_usual),
            target,
            lease: Some(id),
            force: false,
        });
    }
    let answers = push_refs(scene.repo, &remote, &specs, false, wire)?;
    for spec in &specs {
        match answers.of.get(&spec.target) {
            Some(answer) if answer.is_good() => {}
            Some(super::answer::RemoteAnswer::Refused(why)) => return Err(refused(why)),
            Some(_) => return Err(refused("it is not what was last fetched of it")),
            None => return Err(super::super::unreachable(&remote, &answers.exchange.words)),
        }
    }
    if let Some(new) = new {
        let edit = RefUpdate {
            name: remote.tracking_ref(&name),
            expected: ExpectedValue::Any,
            new: Some(new),
            message: "checkpoint: purged at the remote".to_owned(),
        };
        refs::update(scene.repo, &[edit], &compose::people(scene).committer, scene.wait)?;
    }
    Ok(RemoteState::update(scene.repo, &remote.name, |state| {
        state.set(&name, None);
    })?)
}
