//! `purge --remote`: what a purge asks of the remotes.
//!
//! A remote gets its own chain, written again: so the checkpoints of others stay, and nothing is published by it. Each ref is
//! replaced only while it is at a checkpoint that the purge read.

use super::{
    super::{ChainRelation, Error, PurgeObstacle, Wire, chain, listing, unreachable},
    answer::RemoteAnswer,
    command::{PushSpec, push_refs},
    remove::refuse_claimed,
};
use crate::{
    model::{id::Oid, name::ShortName},
    ops::{Scene, compose},
    store::{
        ObjectId, checkpoint,
        refs::{self, ExpectedValue, RefUpdate},
        remote::{self, Remote},
        remote_state::RemoteState,
        session,
    },
};

/// A session at a remote that has what is purged.
#[derive(Clone, Copy, Debug)]
pub struct PurgedAtRemote<'a> {
    /// The remote, as refs spell it.
    pub remote: &'a str,
    /// The session.
    pub session: &'a str,
    /// Its latest checkpoint there, as it was last seen.
    pub tip: &'a Oid,
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

impl PurgedAtRemote<'_> {
    fn remote(&self, scene: &Scene<'_>) -> Result<Remote, Error> {
        spelled(scene, self.remote).ok_or_else(|| Error::NoRemote {
            name: Some(self.remote.to_owned()),
            known: Vec::new(),
        })
    }

    fn name(&self, remote: &Remote) -> Result<ShortName, Error> {
        ShortName::new(self.session).map_err(|_| Error::NotThere {
            remote: remote.name.clone(),
            session: self.session.to_owned(),
            is_here: false,
        })
    }

    /// How many checkpoints it has there that a session here, which goes as a whole, has not.
    pub fn only_there(&self, scene: &Scene<'_>, session: &ShortName) -> Result<usize, Error> {
        let there = checkpoint::object_id(self.tip);
        let Some(here) = session::tip(scene.repo, session)? else {
            return Ok(chain::length(scene.repo, there));
        };
        Ok(match chain::relation(scene.repo, here, there)? {
            ChainRelation::Same | ChainRelation::Ahead(_) => 0,
            ChainRelation::Behind(theirs) | ChainRelation::Diverged { theirs, .. } => theirs,
            ChainRelation::Unrelated => chain::length(scene.repo, there),
        })
    }

    /// Refuses one that another agent or person has claimed. At a remote that is not configured any more nothing is changed.
    pub fn refuse_claimed(&self, scene: &Scene<'_>) -> Result<(), Error> {
        let Some(remote) = spelled(scene, self.remote) else {
            return Ok(());
        };
        let name = self.name(&remote)?;
        refuse_claimed(scene, (&remote, &name), checkpoint::object_id(self.tip), false)
    }
}

/// Lets a remote have what its session is after a purge, in every namespace that has it. `now` gives what a checkpoint is
/// after the purge, `None` in it if it goes; of one that the purge did not read it gives nothing, and the ref stays.
pub fn purge_there(
    scene: &Scene<'_>,
    purged: PurgedAtRemote<'_>,
    now: impl Fn(ObjectId) -> Option<Option<ObjectId>>,
    wire: Wire<'_>,
) -> Result<(), Error> {
    let remote = purged.remote(scene)?;
    let name = purged.name(&remote)?;
    let refused = |why| Error::NotPurged {
        remote: remote.name.clone(),
        session: name.clone(),
        why,
    };
    let mut specs = Vec::new();
    let mut tip = None;
    let mut is_unread = false;
    for (target, id) in listing::exact(scene, &remote, &[&name], wire)? {
        let namespace = &target[..target.len() - name.as_str().len()];
        let Some(new) = now(id) else {
            // An ordinary branch that is called alike.
            if remote.is_guess(namespace) && checkpoint::is_other(scene.repo, id) {
                continue;
            }
            is_unread = true;
            continue;
        };
        if tip.is_none() || target == remote.session_ref(&name) {
            tip = new;
        }
        if new != Some(id) {
            refuse_claimed(scene, (&remote, &name), id, false)?;
            specs.push(PushSpec {
                id: new,
                target,
                lease: Some(id),
            });
        }
    }
    let answers = push_refs(scene.repo, &remote, &specs, false, wire)?;
    for spec in &specs {
        match answers.of.get(&spec.target) {
            Some(answer) if answer.is_good() => {}
            Some(RemoteAnswer::Refused(why)) => return Err(refused(PurgeObstacle::Declined(why.clone()))),
            Some(_) => return Err(refused(PurgeObstacle::Moved)),
            None => return Err(unreachable(&remote, &answers.exchange.words)),
        }
    }
    if let Some(new) = tip {
        let edit = RefUpdate {
            name: remote.tracking_ref(&name),
            expected: ExpectedValue::Any,
            new: Some(new),
            message: "checkpoint: purged at the remote".to_owned(),
        };
        refs::update(scene.repo, &[edit], &compose::people(scene).committer, scene.wait)?;
    }
    if is_unread {
        return Err(refused(PurgeObstacle::Moved));
    }
    Ok(RemoteState::update(scene.repo, &remote.name, |state| {
        state.set(&name, None);
    })?)
}
