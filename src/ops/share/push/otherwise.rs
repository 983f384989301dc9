//! Sessions that a remote has under another name, because they were renamed here or there. They are not pushed: a second ref
//! of one identity would make two sessions with one draft and chat of it, for everybody who fetches both.

use std::collections::BTreeMap;

use super::{
    super::{ChainRelation, Error, Wire, chain, fetch, listing},
    PushFate, PushRequest, SessionToPush,
};
use crate::{
    model::{name::ShortName, step::quoted},
    ops::{Scene, remote_names},
    store::{remote::Remote, remote_state::RemoteState, session},
};

/// Name that a remote has for a session, where that is another one than here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedElsewhere {
    /// That name.
    pub there: ShortName,
    /// Whether the remote has checkpoints of it that are not here.
    pub has_more: bool,
    /// Whether another session here has that name.
    pub is_taken: bool,
    /// Whether the remote has another session under the name that this one has here.
    pub is_taken_there: bool,
}

impl NamedElsewhere {
    /// The ways on for a session with this name here, each with its command.
    pub fn ways(&self, remote: &str, name: &ShortName) -> Vec<String> {
        let (remote, there) = (quoted(remote), &self.there);
        let mut ways = Vec::new();
        if self.has_more {
            ways.push(format!(
                "first get what only the remote has: git checkpoint pull {remote} {there} --merge"
            ));
        }
        if !self.is_taken {
            ways.push(format!(
                "call yours as it is called there: git checkpoint rename {name} {there}"
            ));
        }
        let or = if ways.is_empty() { "" } else { "or " };
        ways.push(if self.is_taken_there {
            format!("{or}give yours a name that is free there as well: git checkpoint rename {name} <name>")
        } else {
            let again = format!("git checkpoint remote delete {remote}/{there} && git checkpoint push {remote} {name}");
            format!("{or}rename it there: {again}")
        });
        ways
    }
}

/// Fetches all that a remote has, where a session goes again that was deleted there: it may have been renamed instead. Returns
/// whether it did.
pub(super) fn look_first(
    scene: &Scene<'_>,
    request: &PushRequest,
    remote: &Remote,
    sessions: &[SessionToPush],
    wire: Wire<'_>,
) -> Result<bool, Error> {
    let known = RemoteState::of(scene.repo, &remote.name);
    let is_deleted = |(name, _, tracking): &SessionToPush| match tracking {
        Some(_) => request.force,
        None => known.deleted_tip(name.as_str()).is_some(),
    };
    if request.dry_run || !sessions.iter().any(is_deleted) {
        return Ok(false);
    }
    let all = fetch::FetchRequest {
        remote: Some(remote.name.clone()),
        ..fetch::FetchRequest::default()
    };
    fetch::fetch(scene, &all, wire)?;
    Ok(true)
}

/// Those of these sessions that the remote has under another name.
pub(super) fn fates(
    scene: &Scene<'_>,
    remote: &Remote,
    sessions: &[SessionToPush],
    wire: Wire<'_>,
) -> Result<BTreeMap<ShortName, PushFate>, Error> {
    let mut found = remote_names::named_otherwise(scene, remote, sessions, usize::MAX)?;
    if !found.is_empty() {
        // What was last seen of it may be deleted by now.
        let names: Vec<ShortName> = found.values().map(|there| there.name.clone()).collect();
        let listed = listing::named(scene, remote, &names, wire)?;
        found.retain(|_, there| listed.sessions.contains_key(&there.name));
    }
    let mut fates = BTreeMap::new();
    let known = RemoteState::of(scene.repo, &remote.name);
    for (name, id, tracking) in sessions {
        let Some(there) = found.get(name) else { continue };
        let relation = chain::relation(scene.repo, *id, there.tip)?;
        let elsewhere = NamedElsewhere {
            there: there.name.clone(),
            has_more: !matches!(relation, ChainRelation::Same | ChainRelation::Ahead(_)),
            is_taken: session::tip(scene.repo, &there.name)?.is_some(),
            is_taken_there: tracking.is_some_and(|tip| !known.is_deleted(name.as_str(), tip)),
        };
        fates.insert(name.clone(), PushFate::NamedOtherwise(elsewhere));
    }
    Ok(fates)
}
