//! The names that remotes have for sessions of this repository. One that was renamed here or there has another name there,
//! and is the same session: two refs of one identity would share draft, chat and autosaves wherever both are fetched.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Error, Scene, session_choice};
use crate::{
    model::name::ShortName,
    store::{
        self, IdentitySource, ObjectId, checkpoint, refs,
        remote::{Remote, decoded, encoded},
        remote_state::RemoteState,
        session,
    },
};

/// Where something is only shown, sessions are not looked for among more: to know the identity of each, it has to be read.
pub(super) const MOST_SHOWN: usize = 10_000;

/// A session as a remote was last seen to have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionThere {
    /// Its name there.
    pub(super) name: ShortName,
    /// Its latest checkpoint there.
    pub(super) tip: ObjectId,
}

/// A session here: its name, its latest checkpoint, and what a remote was last seen to have under its name.
pub(super) type TrackedSession = (ShortName, ObjectId, Option<ObjectId>);

/// Those of these sessions that a remote was last seen to have under another name only. Nothing where it has more than
/// `most` sessions.
pub(super) fn named_otherwise(
    scene: &Scene<'_>,
    remote: &Remote,
    sessions: &[TrackedSession],
    most: usize,
) -> Result<BTreeMap<ShortName, SessionThere>, Error> {
    let known = RemoteState::of(scene.repo, &remote.name);
    let (mut open, mut other_tips) = (Vec::new(), Vec::new());
    for (name, tip, there) in sessions {
        match there.filter(|there| !known.is_deleted(name.as_str(), *there)) {
            None => open.push((name, *tip)),
            Some(there) if there == *tip => {}
            Some(there) => other_tips.push((name, *tip, there)),
        }
    }
    if !other_tips.is_empty() {
        let ours = identities(scene, other_tips.iter().map(|(_, ours, _)| *ours));
        let theirs = identities(scene, other_tips.iter().map(|(.., theirs)| *theirs));
        let both = ours.into_iter().zip(theirs);
        let others = other_tips.into_iter().zip(both);
        open.extend(others.filter_map(|((name, tip, _), (ours, theirs))| (ours != theirs).then_some((name, tip))));
    }
    if open.is_empty() {
        return Ok(BTreeMap::new());
    }
    let count = refs::names(scene.repo, &remote.tracking())?.len();
    if count == 0 || count > most {
        return Ok(BTreeMap::new());
    }
    // A name that the caller found to be without the session is none of it.
    let without = sessions.iter().filter(|(.., there)| there.is_none());
    let without: HashSet<&str> = without.map(|(name, ..)| name.as_str()).collect();
    let there = seen(scene, remote, |name, tip| {
        !without.contains(name) && !known.is_deleted(name, tip)
    })?;
    let ours = identities(scene, open.iter().map(|(_, tip)| *tip));
    let mut found = BTreeMap::new();
    for ((name, _), id) in open.into_iter().zip(ours) {
        let Some(there) = id
            .as_ref()
            .and_then(|id| there.get(id))
            .filter(|there| there.name != *name)
        else {
            continue;
        };
        // Two here with one identity, as earlier versions and git make them, have each its own ref.
        if let Some(twin) = session::tip(scene.repo, &there.name)?
            && identities(scene, std::iter::once(twin)) == [id]
        {
            continue;
        }
        found.insert(name.clone(), there.clone());
    }
    Ok(found)
}

/// The sessions of a remote by their identities, latest first where two have the same.
fn seen(
    scene: &Scene<'_>,
    remote: &Remote,
    passes: impl Fn(&str, ObjectId) -> bool,
) -> Result<HashMap<String, SessionThere>, Error> {
    let prefix = format!("{}/", encoded(&remote.name));
    let fetched = session::fetched_named(scene.repo, |name| name.starts_with(&prefix))?;
    let there: Vec<_> = fetched
        .into_iter()
        .filter_map(|session| {
            let name = ShortName::new(session.name.strip_prefix(&prefix)?).ok()?;
            let tip = session.tip.ok()?;
            passes(name.as_str(), tip.id).then_some((name, tip))
        })
        .collect();
    let sources: Vec<_> = there.iter().map(|(_, tip)| IdentitySource::of(tip)).collect();
    let ids = store::session_ids(scene.repo, &sources);
    let mut found = HashMap::new();
    for ((name, tip), id) in there.into_iter().zip(ids) {
        if let Some(id) = id {
            found.entry(id).or_insert(SessionThere { name, tip: tip.id });
        }
    }
    Ok(found)
}

/// The identity of the session of each checkpoint; `None` for one that cannot be read.
pub(super) fn identities(scene: &Scene<'_>, tips: impl Iterator<Item = ObjectId>) -> Vec<Option<String>> {
    let sources = tips.map(|tip| Some(IdentitySource::of(&checkpoint::entry(scene.repo, tip).ok()?)));
    let sources: Vec<_> = sources.collect();
    let readable: Vec<_> = sources.iter().flatten().cloned().collect();
    let mut ids = store::session_ids(scene.repo, &readable).into_iter();
    let id = |source: &Option<IdentitySource>| source.as_ref().and_then(|_| ids.next().flatten());
    sources.iter().map(id).collect()
}

/// The name under which a remote was last seen to have a session: that of the session here, unless it has another name there.
pub(super) fn name_there(scene: &Scene<'_>, remote: &Remote, name: &ShortName) -> Result<ShortName, Error> {
    let Some(tip) = session::tip(scene.repo, name)? else {
        return Ok(name.clone());
    };
    let tracking = refs::read(scene.repo, &remote.tracking_ref(name))?;
    let mut found = named_otherwise(scene, remote, &[(name.clone(), tip, tracking)], usize::MAX)?;
    Ok(found.remove(name).map_or_else(|| name.clone(), |there| there.name))
}

/// A fetched session that is here under another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenamedSession {
    /// The remote.
    pub remote: String,
    /// Its name there.
    pub there: ShortName,
    /// Its name here.
    pub here: ShortName,
}

/// Removes those of these fetched sessions, as `<remote>/<session>` with the remote as refs spell it, that are here under
/// another name. Of them, those are returned that the remote still has.
pub(super) fn take_renamed(scene: &Scene<'_>, names: &mut BTreeSet<String>) -> Result<Vec<RenamedSession>, Error> {
    let fetched = session::fetched_named(scene.repo, |name| names.contains(name))?.into_iter();
    let there: Vec<_> = fetched
        .filter_map(|session| Some((session.name, session.tip.ok()?)))
        .collect();
    let sources: Vec<_> = there.iter().map(|(_, tip)| IdentitySource::of(tip)).collect();
    let ids = store::session_ids(scene.repo, &sources);
    let wanted: HashSet<&str> = ids.iter().flatten().map(String::as_str).collect();
    let here = session_choice::identified(scene, |id| wanted.contains(id))?;
    let here: HashMap<String, ShortName> = here.into_iter().rev().map(|(id, name, _)| (id, name)).collect();
    let mut found = Vec::new();
    for ((full, tip), id) in there.into_iter().zip(ids) {
        let Some(here) = id.and_then(|id| here.get(&id)) else {
            continue;
        };
        let Some((encoded, name)) = full.split_once('/') else {
            continue;
        };
        if let (Some(remote), Ok(there)) = (decoded(encoded), ShortName::new(name)) {
            let own = format!("{encoded}/{here}");
            let here = here.clone();
            found.push((full, tip.id, own, RenamedSession { remote, there, here }));
        }
    }
    let own: HashSet<&str> = found.iter().map(|(_, _, own, _)| own.as_str()).collect();
    let own = session::fetched_named(scene.repo, |name| own.contains(name))?.into_iter();
    let own: HashMap<String, ObjectId> = own.filter_map(|own| Some((own.name, own.tip.ok()?.id))).collect();
    let mut renamed = Vec::new();
    for (full, tip, own_name, session) in found {
        let known = RemoteState::of(scene.repo, &session.remote);
        // A remote that has it under both names, as earlier versions and git leave it, has two sessions.
        if own
            .get(&own_name)
            .is_some_and(|tip| !known.is_deleted(session.here.as_str(), *tip))
        {
            continue;
        }
        names.remove(&full);
        if !known.is_deleted(session.there.as_str(), tip) {
            renamed.push(session);
        }
    }
    Ok(renamed)
}
