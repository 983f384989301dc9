//! Deletion of a session at a remote: exactly what was last seen of it there, and nothing that came since.
//!
//! What no session here holds goes to the trash, from which `undelete` brings it back.

use super::{
    super::{ChainRelation, Error, Wire, chain, find, listing, unreachable},
    answer::RemoteAnswer,
    command::{PushSpec, push_refs},
};
use crate::{
    model::name::ShortName,
    ops::{self, Scene, compose, refuse, session_choice},
    store::{
        ObjectId, graph, lock,
        refs::{self, ExpectedValue, RefUpdate},
        remote::Remote,
        remote_state::RemoteState,
        session,
    },
};

/// Limit of commits that are searched to decide whether one descends from another.
const WALKED: usize = 200_000;
/// Why a session stays whose remote state is another one.
const MOVED: &str = "it is not what was last fetched of it";
/// Why one stays that this repository never saw.
const UNSEEN: &str = "it was not fetched yet";

/// A session that was deleted at a remote, or in a dry run would be.
#[derive(Debug)]
pub struct RemovedSession {
    /// Its name.
    pub name: ShortName,
    /// Its latest checkpoint there.
    pub tip: ObjectId,
    /// Whether a session here holds everything that was there.
    pub is_here: bool,
    /// The ref that keeps it here, where no session does.
    pub trash: Option<String>,
}

/// The remote of a push that names none.
pub fn usual_remote(scene: &Scene<'_>) -> Result<String, Error> {
    Ok(find(scene, None, true)?.name)
}

/// Refuses to change a session at a remote that another agent or person has claimed, in the state `tip` of it.
pub(super) fn refuse_claimed(
    scene: &Scene<'_>,
    (remote, name): (&Remote, &ShortName),
    tip: ObjectId,
    is_deletion: bool,
) -> Result<(), Error> {
    let session = session_choice::load(scene, name.as_str(), tip)?.document.session;
    refuse::claimed(scene, name, &session).map_err(|error| match error {
        ops::Error::Claimed { claim, .. } => Error::Claimed {
            remote: remote.name.clone(),
            session: name.clone(),
            by: claim.by,
            host: claim.host,
            agent: claim.agent,
            is_deletion,
        },
        error => error.into(),
    })
}

/// Deletes sessions at a remote, as they were last seen there; without `force` none that another agent or person has
/// claimed.
pub fn remove(
    scene: &Scene<'_>,
    remote: &str,
    names: &[ShortName],
    (force, dry_run): (bool, bool),
    wire: Wire<'_>,
) -> Result<Vec<RemovedSession>, Error> {
    let remote = find(scene, Some(remote), true)?;
    let mut removed = Vec::<RemovedSession>::new();
    for name in names {
        // A session may be meant by its identity, where it is here.
        let here = session_choice::named(scene, name).ok().flatten();
        let name = &here.map_or_else(|| name.clone(), |chosen| chosen.name);
        if removed.iter().any(|done| done.name == *name) {
            continue;
        }
        let mut here = session::tip(scene.repo, name)?;
        let Some(tip) = last_seen(scene, &remote, name, wire)? else {
            return Err(Error::NotThere {
                remote: remote.name.clone(),
                session: name.to_string(),
                is_here: here.is_some(),
            });
        };
        if !force {
            refuse_claimed(scene, (&remote, name), tip, true)?;
        }
        if here.is_none() {
            // It may have been renamed here or there.
            let id = session_choice::load(scene, name.as_str(), tip)?.document.session.id;
            here = session_choice::of_identity(scene, &id)?.map(|chosen| chosen.tip.entry.id);
        }
        let relation = here.map(|here| chain::relation(scene.repo, here, tip)).transpose()?;
        removed.push(RemovedSession {
            name: name.clone(),
            tip,
            is_here: matches!(relation, Some(ChainRelation::Same | ChainRelation::Ahead(_))),
            trash: None,
        });
    }
    transfer(scene, &remote, &removed, dry_run, wire)?;
    if !dry_run {
        forget(scene, &remote, &mut removed)?;
    }
    Ok(removed)
}

/// The remote's state of a session as it was last seen. One that it has and that was never seen is not deleted.
fn last_seen(scene: &Scene<'_>, remote: &Remote, name: &ShortName, wire: Wire<'_>) -> Result<Option<ObjectId>, Error> {
    let known = refs::read(scene.repo, &remote.tracking_ref(name))?;
    if known.is_none() && !listing::exact(scene, remote, &[name], wire)?.is_empty() {
        return Err(not_deleted(remote, name, UNSEEN));
    }
    Ok(known)
}

/// Asks the remote, which deletes all of them or reports why not: in every namespace that has them.
fn transfer(
    scene: &Scene<'_>,
    remote: &Remote,
    removed: &[RemovedSession],
    dry_run: bool,
    wire: Wire<'_>,
) -> Result<(), Error> {
    let mut specs = Vec::new();
    let mut sessions = Vec::new();
    let names = removed.iter().map(|one| &one.name).collect::<Vec<_>>();
    let listed = listing::exact(scene, remote, &names, wire)?;
    for one in removed {
        let mut found = false;
        for (target, id) in listed.iter().filter(|(target, _)| is_of(remote, target, &one.name)) {
            // An older state of it that was left in another namespace goes as well.
            let known = *id == one.tip || graph::is_ancestor(scene.repo, *id, one.tip, WALKED).ok() == Some(Some(true));
            if !known {
                if remote.namespace == target[..target.len() - one.name.as_str().len()] {
                    return Err(not_deleted(remote, &one.name, MOVED));
                }
                continue;
            }
            found = true;
            sessions.push(&one.name);
            specs.push(PushSpec {
                id: None,
                target: target.clone(),
                lease: Some(*id),
            });
        }
        if !found {
            return Err(not_deleted(remote, &one.name, MOVED));
        }
    }
    let answers = push_refs(scene.repo, remote, &specs, dry_run, wire)?;
    for (spec, name) in specs.iter().zip(sessions) {
        match answers.of.get(&spec.target) {
            Some(answer) if answer.is_good() => {}
            Some(RemoteAnswer::Refused(why)) => return Err(not_deleted(remote, name, why)),
            Some(_) => return Err(not_deleted(remote, name, MOVED)),
            None => return Err(unreachable(remote, &answers.exchange.words)),
        }
    }
    Ok(())
}

/// Whether a ref of the remote is this session's.
fn is_of(remote: &Remote, target: &str, name: &ShortName) -> bool {
    let namespace = target.strip_suffix(name.as_str());
    namespace.is_some_and(|namespace| remote.namespaces().contains(&namespace))
}

fn not_deleted(remote: &Remote, name: &ShortName, why: &str) -> Error {
    Error::NotDeleted {
        remote: remote.name.clone(),
        session: name.clone(),
        why: why.to_owned(),
    }
}

/// Removes what was noted of the sessions at the remote, and keeps what no session here has.
fn forget(scene: &Scene<'_>, remote: &Remote, removed: &mut [RemovedSession]) -> Result<(), Error> {
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    let mut edits = Vec::new();
    for one in removed.iter_mut() {
        // The message by which `undelete` knows what was a session.
        let message = format!("checkpoint: delete {}", one.name);
        if !one.is_here {
            let id = session_choice::load(scene, one.name.as_str(), one.tip)?
                .document
                .session
                .id;
            let prefix = format!("refs/checkpoints-trash/{id}/");
            let trash = format!("{prefix}{}", refs::next_number(scene.repo, &prefix)?);
            edits.push(RefUpdate {
                name: trash.clone(),
                expected: ExpectedValue::Absent,
                new: Some(one.tip),
                message: message.clone(),
            });
            one.trash = Some(trash);
        }
        edits.push(RefUpdate {
            name: remote.tracking_ref(&one.name),
            expected: ExpectedValue::Any,
            new: None,
            message,
        });
    }
    refs::update(scene.repo, &edits, &compose::people(scene).committer, scene.wait)?;
    // A push that does not name them leaves them deleted.
    RemoteState::update(scene.repo, &remote.name, |state| {
        for one in removed.iter() {
            state.set(&one.name, Some(one.tip));
        }
    })?;
    Ok(())
}
