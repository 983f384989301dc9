//! `remote status`: relation of the local sessions to the last seen state of the remotes, without contacting them.

use std::collections::BTreeMap;

use super::{
    ChainRelation, Error,
    apart::{self, PrunedSide},
    chain, find,
    push::{NamedElsewhere, is_deleted_from_here},
};
use crate::{
    model::{name::ShortName, selector::Selector},
    ops::{
        Scene,
        remote_names::{self, SessionThere},
    },
    store::{
        ObjectId,
        checkpoint::{self, Checkpoint},
        refs,
        remote::{self, Remote},
        remote_state::RemoteState,
        session, signature,
    },
};

/// A remote.
#[derive(Debug)]
pub struct RemoteStatus {
    /// The remote.
    pub remote: Remote,
    /// Whether it is what commands mean that name none: for fetching, for pushing.
    pub usual: (bool, bool),
    /// Sessions that are here or there, by name.
    pub sessions: Vec<SharedSession>,
    /// Sessions that it has and that were refused when they were last fetched: their names, escaped, with the reasons.
    pub refused: Vec<(String, String)>,
    /// When something was last fetched from it or pushed to it, in seconds since 1970.
    pub seen: Option<i64>,
}

/// A session that is here or there.
#[derive(Debug)]
pub struct SharedSession {
    /// Its name; here, where it is here.
    pub name: String,
    /// Its name there, where that is another one.
    pub there: Option<ShortName>,
    /// Relation of local to remote.
    pub state: ShareState,
}

/// A session of this repository at a remote.
#[derive(Debug)]
pub struct RemoteStanding {
    /// The remote.
    pub remote: String,
    /// Its name there, where that is another one.
    pub there: Option<ShortName>,
    /// Relation of local to remote.
    pub state: ShareState,
}

impl RemoteStanding {
    /// The state of the remote for a push once the session, which was called `from`, has another name here. `None` where the
    /// remote has it under that name already.
    pub fn after_rename(
        &self,
        scene: &Scene<'_>,
        from: &ShortName,
        to: &ShortName,
    ) -> Result<Option<NamedElsewhere>, Error> {
        let there = self.there.as_ref().unwrap_or(from);
        let is_shared = matches!(self.state, ShareState::Both(_) | ShareState::Pruned(_));
        if there == to || !is_shared {
            return Ok(None);
        }
        let remote = find(scene, Some(&self.remote), false)?;
        let known = RemoteState::of(scene.repo, &remote.name);
        let other = refs::read(scene.repo, &remote.tracking_ref(to))?;
        Ok(Some(NamedElsewhere {
            has_more: !matches!(
                self.state,
                ShareState::Both(ChainRelation::Same | ChainRelation::Ahead(_)) | ShareState::Pruned(_)
            ),
            is_taken: there != from && session::tip(scene.repo, there)?.is_some(),
            is_taken_there: other.is_some_and(|tip| !known.is_deleted(to.as_str(), tip)),
            there: there.clone(),
        }))
    }
}

/// Relation of a local session to its remote one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShareState {
    /// It is on both sides.
    Both(ChainRelation),
    /// It is here alone, with so many checkpoints.
    Here(usize),
    /// It is there alone, with so many checkpoints.
    There(usize),
    /// The remote had it, and was last seen without it.
    Deleted,
    /// It is on both sides, and one was pruned.
    Pruned(PrunedSide),
    /// The remote has what was purged here, as it was last seen.
    Purged,
    /// It cannot be compared: why.
    Damaged(String),
}

/// The state of one remote, or of all.
pub fn status(scene: &Scene<'_>, name: Option<&str>) -> Result<Vec<RemoteStatus>, Error> {
    let remotes = match name {
        Some(_) => vec![find(scene, name, false)?],
        None => remote::all(scene.repo),
    };
    let usual = |push| remote::default(scene.repo, push).map(|remote| remote.name);
    let (fetch, push) = (usual(false), usual(true));
    let local = tips(scene, session::PREFIX)?;
    let mut all = Vec::new();
    for remote in remotes {
        let there = tips(scene, &remote.tracking())?;
        let known = RemoteState::of(scene.repo, &remote.name);
        let mut seen = known.listed;
        for name in there.keys() {
            let mut log = refs::latest_in_reflog(scene.repo, &format!("{}{name}", remote.tracking()))?;
            seen = seen.max(log.next().map(|entry| entry.who.time.seconds));
        }
        let named = local.iter();
        let named = named.filter_map(|(name, tip)| {
            let has = there.get(name).and_then(|there| there.as_ref().ok().copied());
            Some((ShortName::new(name.as_str()).ok()?, *tip.as_ref().ok()?, has))
        });
        let moved =
            remote_names::named_otherwise(scene, &remote, &named.collect::<Vec<_>>(), remote_names::MOST_SHOWN)?;
        let is_of_moved = |name: &&String| moved.values().any(|there| there.name.as_str() == name.as_str());
        let only_there = there.keys().filter(|name| !is_of_moved(name));
        let mut names: Vec<&String> = local.keys().chain(only_there).collect();
        names.sort();
        names.dedup();
        let sessions = names
            .into_iter()
            .map(|name| {
                let moved = ShortName::new(name.as_str()).ok().and_then(|name| moved.get(&name));
                let state = match moved {
                    Some(SessionThere { name: other, tip }) => {
                        state(scene, (other.as_str(), &known), local.get(name), Some(&Ok(*tip)))
                    }
                    None => state(scene, (name.as_str(), &known), local.get(name), there.get(name)),
                };
                SharedSession {
                    name: name.clone(),
                    there: moved.map(|there| there.name.clone()),
                    state,
                }
            })
            .collect();
        all.push(RemoteStatus {
            usual: (
                fetch.as_ref() == Some(&remote.name),
                push.as_ref() == Some(&remote.name),
            ),
            sessions,
            refused: known.refused.into_iter().collect(),
            seen,
            remote,
        });
    }
    Ok(all)
}

/// Relation of a session with the latest checkpoint `tip` to each remote that was ever seen to have it.
pub fn of_session(scene: &Scene<'_>, name: &ShortName, tip: ObjectId) -> Vec<RemoteStanding> {
    let remotes = remote::all(scene.repo).into_iter();
    remotes
        .filter_map(|remote| {
            let known = RemoteState::of(scene.repo, &remote.name);
            let (moved, there) = match refs::read(scene.repo, &remote.tracking_ref(name)) {
                Ok(Some(there)) if there == tip && !known.is_deleted(name.as_str(), there) => (None, Some(Ok(there))),
                Ok(there) => {
                    let session = [(name.clone(), tip, there)];
                    let moved = remote_names::named_otherwise(scene, &remote, &session, remote_names::MOST_SHOWN);
                    match moved.unwrap_or_default().remove(name) {
                        Some(moved) => (Some(moved.name), Some(Ok(moved.tip))),
                        None => (None, there.map(Ok)),
                    }
                }
                Err(error) => (None, Some(Err(error.to_string()))),
            };
            if there.is_none() && !known.has_purged(name.as_str()) {
                return None;
            }
            let name = moved.as_ref().unwrap_or(name);
            Some(RemoteStanding {
                state: state(scene, (name.as_str(), &known), Some(&Ok(tip)), there.as_ref()),
                there: moved,
                remote: remote.name,
            })
        })
        .collect()
}

/// Sessions of this repository that a remote was last seen to have deleted: the remote, the session.
pub fn deleted(scene: &Scene<'_>) -> Result<Vec<(String, String)>, Error> {
    let mut out = Vec::new();
    for remote in remote::all(scene.repo) {
        let known = RemoteState::of(scene.repo, &remote.name);
        for name in known.deleted() {
            let (there, here) = (
                refs::read(scene.repo, &remote.tracking_ref(&name)),
                session::tip(scene.repo, &name),
            );
            if let (Ok(Some(there)), Ok(Some(here))) = (there, here)
                && known.is_deleted(name.as_str(), there)
                && remote_names::named_otherwise(
                    scene,
                    &remote,
                    &[(name.clone(), here, Some(there))],
                    remote_names::MOST_SHOWN,
                )?
                .is_empty()
            {
                out.push((remote.name.clone(), name.to_string()));
            }
        }
    }
    Ok(out)
}

/// The names that sessions of this repository have at a remote, where they have other ones there.
pub fn names_there(scene: &Scene<'_>, remote: Option<&str>) -> Result<Vec<ShortName>, Error> {
    let remote = find(scene, remote, false)?;
    let there = tips(scene, &remote.tracking())?;
    let own = tips(scene, session::PREFIX)?.into_iter();
    let own = own.filter_map(|(name, tip)| {
        let has = there.get(&name).and_then(|there| there.as_ref().ok().copied());
        Some((ShortName::new(name).ok()?, tip.ok()?, has))
    });
    let found = remote_names::named_otherwise(scene, &remote, &own.collect::<Vec<_>>(), usize::MAX)?;
    Ok(found.into_values().map(|there| there.name).collect())
}

type Tips = BTreeMap<String, Result<ObjectId, String>>;

fn tips(scene: &Scene<'_>, prefix: &str) -> Result<Tips, Error> {
    let found = refs::list(scene.repo, prefix)?;
    Ok(found
        .into_iter()
        .map(|(full, target)| {
            let name = full.strip_prefix(prefix).unwrap_or(&full).to_owned();
            (name, target.map_err(|damage| damage.to_string()))
        })
        .collect())
}

fn state(
    scene: &Scene<'_>,
    (name, known): (&str, &RemoteState),
    here: Option<&Result<ObjectId, String>>,
    there: Option<&Result<ObjectId, String>>,
) -> ShareState {
    let damaged = |why: &String| ShareState::Damaged(why.clone());
    match (here, there) {
        (Some(Err(why)), _) | (_, Some(Err(why))) => damaged(why),
        (_, Some(Ok(there))) if known.is_deleted(name, *there) => ShareState::Deleted,
        (Some(Ok(here)), Some(Ok(there))) => {
            let relation = chain::relation(scene.repo, *here, *there);
            let pruned = |relation| {
                let side = apart::pruned_side(scene.repo, (*here, *there), relation);
                side.map(|side| (relation, side))
            };
            match relation.and_then(pruned) {
                Ok((_, Some(pruned))) => ShareState::Pruned(pruned),
                Ok((relation, None)) => ShareState::Both(relation),
                Err(error) => ShareState::Damaged(error.to_string()),
            }
        }
        (Some(Ok(_)), None) if known.has_purged(name) => ShareState::Purged,
        (Some(Ok(id)), None) if is_deleted_from_here(scene, known, name, *id).unwrap_or(false) => ShareState::Deleted,
        (Some(Ok(id)), None) => ShareState::Here(chain::length(scene.repo, *id)),
        (None, Some(Ok(id))) => ShareState::There(chain::length(scene.repo, *id)),
        (None, None) => ShareState::Here(0),
    }
}

/// Whether others wrote what a session holds, in words: it was pulled from a remote, or it, or a recent checkpoint before
/// it, was saved on another host or by another author.
pub fn foreign(scene: &Scene<'_>, name: Option<&ShortName>, checkpoint: &Checkpoint) -> Option<String> {
    /// How many checkpoints are looked at: the record carries over from one to the next.
    const LOOKED_AT: usize = 50;
    let fetched = name.map(|name| came_from(scene, name, checkpoint)).unwrap_or_default();
    if !fetched.is_empty() {
        return Some(format!("it came from remote '{}'", fetched.join("', '")));
    }
    let log = name.and_then(|name| refs::latest_in_reflog(scene.repo, &session::ref_name(name)).ok());
    let pulled = log
        .into_iter()
        .flatten()
        .find_map(|entry| Some(entry.message.strip_prefix(session::PULLED)?.to_owned()));
    if let Some(remote) = pulled {
        return Some(format!("parts of it came from remote '{remote}'"));
    }
    if scene.settings.require_signed
        && let Ok(Some((_, words))) = signature::first_untrusted(scene.repo, &[checkpoint.entry.id])
    {
        return Some(format!("it has no trusted signature: {words}"));
    }
    let document = &checkpoint.document;
    if document.host.is_empty() {
        // An import of another system's files, which name no host.
        let system = document
            .session
            .metadata
            .get("imported")
            .and_then(|from| from.get("system"));
        let system = system.and_then(|system| system.as_str()).unwrap_or("another program");
        return Some(format!("it was imported from {system}"));
    }
    if document.host != scene.host {
        return Some(format!("it was saved on host '{}'", document.host));
    }
    let own = crate::store::author(scene.repo, checkpoint::git_time(scene.now)).email;
    let chain = session::chain(scene.repo, checkpoint.entry.id).take(LOOKED_AT);
    let other = chain.filter_map(Result::ok).find(|entry| {
        let host = entry.trailers.host.as_deref().is_some_and(|host| host != scene.host);
        host || own != entry.email.as_str()
    })?;
    let host = other.trailers.host.unwrap_or_default();
    Some(format!("parts of it were saved by {} on host '{host}'", other.author))
}

/// The same of a session, or of what a selector names.
pub fn foreign_of(scene: &Scene<'_>, name: Option<&ShortName>, selector: Option<&Selector>) -> Option<String> {
    let checkpoint = match (selector, name) {
        (Some(selector), _) => crate::ops::select::checkpoint(scene, selector).ok()?.checkpoint,
        (None, Some(name)) => {
            let tip = session::tip(scene.repo, name).ok()??;
            checkpoint::load(scene.repo, tip).ok()?
        }
        (None, None) => return None,
    };
    foreign(scene, name, &checkpoint)
}

/// The remotes that a session's checkpoint came from: by the log of its ref, or because it was saved on another machine
/// and a remote was seen to have it.
pub fn came_from(scene: &Scene<'_>, name: &ShortName, checkpoint: &Checkpoint) -> Vec<String> {
    let id = checkpoint.entry.id;
    let log = refs::latest_in_reflog(scene.repo, &session::ref_name(name));
    let pulled = log.into_iter().flatten().find(|entry| entry.new == id);
    if let Some(remote) = pulled
        .as_ref()
        .and_then(|entry| entry.message.strip_prefix(session::PULLED))
    {
        return vec![remote.to_owned()];
    }
    if checkpoint.document.host == scene.host {
        return Vec::new();
    }
    let has = |remote: &Remote| {
        let there = refs::read(scene.repo, &remote.tracking_ref(name)).ok().flatten();
        let relation = there.map(|there| chain::relation(scene.repo, id, there));
        matches!(relation, Some(Ok(ChainRelation::Same | ChainRelation::Behind(_))))
    };
    let remotes = remote::all(scene.repo).into_iter();
    remotes.filter(has).map(|remote| remote.name).collect()
}
