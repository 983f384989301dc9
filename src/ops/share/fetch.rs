//! `fetch`: what a remote's sessions are now.
//!
//! First the remote is asked which refs it has, so that only sessions with valid names that changed are fetched, into a
//! quarantine namespace; then each is checked, and one transaction of ours makes the good ones visible. A session that
//! the remote lost, set back or replaced is reported, and its tracking ref is kept, unless the user accepts the change.

mod transfer;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub use super::change::RemoteChange;
pub(super) use transfer::WantedRef;

use super::{ChainRelation, Error, Wire, chain, check::FetchCheck, find, listing, listing::ListedRef, since};
use crate::{
    model::name::ShortName,
    ops::{Scene, compose, remote_names},
    store::{
        self, ObjectId, checkpoint, fetching, lock,
        refs::{self, ExpectedValue, RefUpdate},
        remote::{Remote, encoded},
        remote_state::RemoteState,
        scratch::Scratch,
        session,
    },
};

/// Request of a fetch.
#[derive(Clone, Debug, Default)]
pub struct FetchRequest {
    /// The remote; the usual one without a name.
    pub remote: Option<String>,
    /// This session alone.
    pub session: Option<ShortName>,
    /// These sessions alone, whatever others are called.
    pub only: Option<Vec<ShortName>>,
    /// Only sessions whose latest checkpoint is from this time on, as seconds since 1970.
    pub since: Option<i64>,
    /// Whether to accept that the remote lost, set back or replaced sessions.
    pub accept: bool,
    /// Dry run: only report what would be fetched: everything is fetched to a directory of its own and checked, and let
    /// go again.
    pub dry_run: bool,
}

/// Result of a fetch.
#[derive(Debug)]
pub struct FetchOutcome {
    /// The remote.
    pub remote: Remote,
    /// Sessions that are not as they were, by name.
    pub sessions: Vec<FetchedSession>,
    /// Names that are no sessions' names, escaped, and sessions that are not safe to use, each with the reason.
    pub refused: Vec<(String, String)>,
    /// How many sessions are as they were.
    pub unchanged: usize,
    /// How many sessions were left out because they are older than asked for.
    pub older: usize,
    /// Sessions that were asked for, and are neither there nor known from before.
    pub absent: Vec<ShortName>,
    /// Of a fetch of one session: what else the remote has that is called alike.
    pub alike: Vec<ShortName>,
}

/// A session that is not as it was.
#[derive(Debug)]
pub struct FetchedSession {
    /// Its name on the remote.
    pub name: ShortName,
    /// Its latest checkpoint there; `None` if it is gone.
    pub tip: Option<ObjectId>,
    /// Remote-tracking value before.
    pub before: Option<ObjectId>,
    /// Change on the remote.
    pub change: RemoteChange,
    /// The name that it has there now, where it was renamed.
    pub renamed: Option<ShortName>,
    /// Whether what is known of it was changed accordingly.
    pub taken: bool,
    /// Whether an earlier fetch or push met the same and did not follow it.
    pub is_known: bool,
}

/// Fetches.
pub fn fetch(scene: &Scene<'_>, request: &FetchRequest, wire: Wire<'_>) -> Result<FetchOutcome, Error> {
    if request.dry_run {
        let scratch = Scratch::new(scene.repo)?;
        let scene = Scene {
            repo: scratch.repo(),
            ..*scene
        };
        return look(&scene, request, wire);
    }
    let remote = find(scene, request.remote.as_deref(), false)?;
    from(scene, request, remote, wire)
}

/// Fetches from this remote, which need not be a configured one.
pub(super) fn from(
    scene: &Scene<'_>,
    request: &FetchRequest,
    remote: Remote,
    wire: Wire<'_>,
) -> Result<FetchOutcome, Error> {
    refs::recover(scene.repo, scene.wait)?;
    let _fetching = lock::remote(scene.repo, &encoded(&remote.name), scene.wait)?;
    clear(scene, &remote)?;
    match Fetch::new(scene, request, &remote, wire).and_then(Fetch::run) {
        Ok(parts) => Ok(parts.outcome(remote)),
        Err(error) => {
            // What was fetched and not checked is let go; the next fetch does so as well.
            let _ = clear(scene, &remote);
            Err(error)
        }
    }
}

/// Only looks: no ref moves. The scene's repository is one whose new objects do not stay, see [`Scratch`].
pub(super) fn look(scene: &Scene<'_>, request: &FetchRequest, wire: Wire<'_>) -> Result<FetchOutcome, Error> {
    let remote = find(scene, request.remote.as_deref(), false)?;
    let request = FetchRequest {
        dry_run: true,
        ..request.clone()
    };
    let parts = Fetch::new(scene, &request, &remote, wire)?.run()?;
    Ok(parts.outcome(remote))
}

/// Deletes what an interrupted fetch left.
fn clear(scene: &Scene<'_>, remote: &Remote) -> Result<(), Error> {
    refs::remove_locks(scene.repo, &remote.incoming())?;
    fetching::sweep(scene.repo, &encoded(&remote.name));
    let left = refs::list(scene.repo, &remote.incoming())?;
    let edits: Vec<_> = left.into_iter().map(|(name, _)| remove(name)).collect();
    update(scene, &edits)
}

/// A ref of the quarantine removed, whatever it is by now.
fn remove(name: String) -> RefUpdate {
    RefUpdate {
        name,
        expected: ExpectedValue::Unreadable,
        new: None,
        message: String::new(),
    }
}

fn update(scene: &Scene<'_>, edits: &[RefUpdate]) -> Result<(), Error> {
    let committer = compose::people(scene).committer;
    // The next save sweeps files that could not be removed, and reports them.
    refs::update(scene.repo, edits, &committer, scene.wait)?;
    Ok(())
}

/// Sessions for which a remote is asked by name; for more it lists all that it has.
const ONE_BY_ONE: usize = 8;

/// Result of a fetch, but for the remote.
struct FetchParts {
    sessions: Vec<FetchedSession>,
    refused: Vec<(String, String)>,
    unchanged: usize,
    older: usize,
    absent: Vec<ShortName>,
    alike: Vec<ShortName>,
}

impl FetchParts {
    fn outcome(self, remote: Remote) -> FetchOutcome {
        FetchOutcome {
            remote,
            sessions: self.sessions,
            refused: self.refused,
            unchanged: self.unchanged,
            older: self.older,
            absent: self.absent,
            alike: self.alike,
        }
    }
}

/// Refs of sessions that a remote has, and those that came.
#[derive(Default)]
struct ArrivedRefs {
    there: BTreeMap<ShortName, Vec<ListedRef>>,
    came: Vec<(WantedRef, ObjectId)>,
    unchanged: usize,
    older: usize,
}

struct Fetch<'a> {
    scene: &'a Scene<'a>,
    request: &'a FetchRequest,
    remote: &'a Remote,
    wire: Wire<'a>,
    /// Remote-tracking values before.
    known: BTreeMap<ShortName, ObjectId>,
    refused: Vec<(String, String)>,
    alike: Vec<ShortName>,
}

impl<'a> Fetch<'a> {
    fn new(scene: &'a Scene<'a>, request: &'a FetchRequest, remote: &'a Remote, wire: Wire<'a>) -> Result<Self, Error> {
        let mut fetch = Self {
            scene,
            request,
            remote,
            wire,
            known: BTreeMap::new(),
            refused: Vec::new(),
            alike: Vec::new(),
        };
        fetch.read_known()?;
        Ok(fetch)
    }

    /// Reads the remote-tracking refs: those of a few sessions by name, else all of them at once.
    fn read_known(&mut self) -> Result<(), Error> {
        let (repo, request, remote) = (self.scene.repo, self.request, self.remote);
        if request.session.is_some() || request.only.as_ref().is_some_and(|only| only.len() <= ONE_BY_ONE) {
            for name in request.session.iter().chain(request.only.iter().flatten()) {
                if let Some(id) = refs::read(repo, &remote.tracking_ref(name))? {
                    self.known.insert(name.clone(), id);
                }
            }
            return Ok(());
        }
        let prefix = remote.tracking();
        let only: Option<BTreeSet<&ShortName>> = request.only.as_ref().map(|only| only.iter().collect());
        for (full, target) in refs::list(repo, &prefix)? {
            let name = full.strip_prefix(&prefix).and_then(|name| ShortName::new(name).ok());
            let is_wanted = |name: &ShortName| only.as_ref().is_none_or(|only| only.contains(name));
            let Some(name) = name.filter(is_wanted) else {
                continue;
            };
            match target {
                Ok(id) => drop(self.known.insert(name, id)),
                Err(damage) => return Err(store::Error::Damaged { name: full, damage }.into()),
            }
        }
        Ok(())
    }

    /// Lists what the remote has, and fetches what changed.
    fn listed(&mut self) -> Result<ArrivedRefs, Error> {
        let mut listed = match &self.request.only {
            Some(only) => listing::named(self.scene, self.remote, only, self.wire)?,
            None => listing::of(self.scene, self.remote, self.request.session.as_ref(), self.wire)?,
        };
        self.refused.append(&mut listed.refused);
        self.alike = listed.alike;
        let mut there = listed.sessions;
        let (mut unchanged, mut wanted) = (0, Vec::new());
        for (name, refs) in &mut there {
            let known = self.known.get(name).copied();
            listing::without_old(self.scene, refs, known);
            if refs.iter().all(|found| Some(found.id) == known) {
                unchanged += 1;
                continue;
            }
            let refs = refs.iter().enumerate();
            wanted.extend(refs.map(|(number, listed)| WantedRef {
                name: name.clone(),
                number,
                listed: listed.clone(),
            }));
        }
        let mut older = 0;
        if let Some(since) = self.request.since {
            (wanted, older) = since::leave_out_older(self.scene, self.remote, wanted, since, self.wire)?;
        }
        let came = self.bring(&wanted)?;
        Ok(ArrivedRefs {
            there,
            came,
            unchanged,
            older,
        })
    }

    fn run(mut self) -> Result<FetchParts, Error> {
        let one = self.request.session.clone().map(|name| vec![name]);
        let few = one
            .or_else(|| self.request.only.clone())
            .filter(|only| only.len() <= ONE_BY_ONE);
        let arrived = match few.filter(|_| !self.request.dry_run && self.request.since.is_none()) {
            Some(names) => self.direct(&names)?,
            None => self.listed()?,
        };
        let ArrivedRefs {
            mut there,
            came,
            mut unchanged,
            older,
        } = arrived;
        let here = if came.is_empty() { HashSet::new() } else { self.here()? };
        let mut check = FetchCheck::new(self.scene, here);
        let mut good = BTreeMap::<ShortName, ObjectId>::new();
        for (wanted, tip) in came {
            if (self.wire.stopped)() {
                return Err(Error::Stopped);
            }
            let name = wanted.name;
            match check.session(tip) {
                Ok(()) => {
                    // Of several refs the first counts, unless another one has more.
                    let better = match good.get(&name) {
                        Some(first) => {
                            matches!(chain::relation(self.scene.repo, tip, *first)?, ChainRelation::Ahead(_))
                        }
                        None => true,
                    };
                    if better {
                        good.insert(name, tip);
                    }
                }
                Err(_)
                    if self.remote.is_guess(&wanted.listed.namespace) && checkpoint::is_other(self.scene.repo, tip) =>
                {
                    // An ordinary branch.
                    if there.get(&name).is_some_and(|refs| refs.len() == 1) {
                        there.remove(&name);
                    }
                }
                Err(why) if wanted.number == 0 => self.refused.push((name.to_string(), why)),
                Err(why) => {
                    let full = format!("{}{name}", wanted.listed.namespace);
                    self.refused.push((full, why));
                }
            }
        }
        let mut found = Vec::new();
        for (name, tip) in good {
            if self.known.get(&name) == Some(&tip) {
                unchanged += 1;
            } else {
                found.push(self.compare(name, tip)?);
            }
        }
        let gone = self.known.iter().filter(|(name, _)| !there.contains_key(*name));
        let gone: Vec<_> = gone.map(|(name, before)| (name.clone(), *before)).collect();
        let renamed = self.renamed(&gone, &found, &there)?;
        let state = RemoteState::of(self.scene.repo, &self.remote.name);
        for session in found.iter_mut().filter(|session| !session.taken) {
            let is_known = |tip| state.is_unfollowed(session.name.as_str(), tip);
            session.is_known = session.tip.is_some_and(is_known);
        }
        found.extend(
            gone.into_iter()
                .zip(renamed)
                .map(|((name, before), renamed)| FetchedSession {
                    is_known: state.is_deleted(name.as_str(), before),
                    name,
                    tip: None,
                    before: Some(before),
                    change: match renamed {
                        Some(_) => RemoteChange::Renamed,
                        None => RemoteChange::Deleted,
                    },
                    taken: renamed.is_some() || self.request.accept,
                    renamed,
                }),
        );
        found.sort_by(|a, b| a.name.cmp(&b.name));
        self.publish(&found)?;
        self.note(&found, there.keys())?;
        let asked = self.request.only.iter().flatten();
        let is_absent = |name: &&ShortName| !there.contains_key(*name) && !self.known.contains_key(*name);
        let absent = asked.filter(is_absent).cloned().collect();
        Ok(FetchParts {
            sessions: found,
            refused: self.refused,
            unchanged,
            older,
            absent,
            alike: self.alike,
        })
    }

    /// The names that sessions have at the remote now which are not there under their own any more: those of the same identity
    /// that have all that was known of them.
    fn renamed(
        &self,
        gone: &[(ShortName, ObjectId)],
        found: &[FetchedSession],
        there: &BTreeMap<ShortName, Vec<ListedRef>>,
    ) -> Result<Vec<Option<ShortName>>, Error> {
        if gone.is_empty() {
            return Ok(Vec::new());
        }
        let came = found.iter().filter(|session| session.taken);
        let mut now: BTreeMap<ShortName, ObjectId> = came
            .filter_map(|session| Some((session.name.clone(), session.tip?)))
            .collect();
        for (name, tip) in self.known.iter().filter(|(name, _)| there.contains_key(*name)) {
            now.entry(name.clone()).or_insert(*tip);
        }
        let ids = remote_names::identities(self.scene, now.values().copied());
        let by_id: HashMap<String, (ShortName, ObjectId)> = ids
            .into_iter()
            .zip(now)
            .filter_map(|(id, now)| Some((id?, now)))
            .collect();
        let before = remote_names::identities(self.scene, gone.iter().map(|(_, before)| *before));
        let mut renamed = Vec::with_capacity(gone.len());
        for ((gone_name, before), id) in gone.iter().zip(before) {
            let mut other = id.and_then(|id| by_id.get(&id).cloned());
            if other.is_none() {
                // What was fetched of others before, where this is a fetch of a few.
                let session = [(gone_name.clone(), *before, None)];
                let seen = remote_names::named_otherwise(self.scene, self.remote, &session, usize::MAX)?;
                let seen = seen.into_values().next().map(|seen| (seen.name, seen.tip));
                other = seen.filter(|(name, _)| !self.known.contains_key(name));
            }
            let has_all = |tip: ObjectId| {
                let relation = chain::relation(self.scene.repo, tip, *before);
                matches!(relation, Ok(ChainRelation::Same | ChainRelation::Ahead(_)))
            };
            // Two that are here with one identity are not one that was renamed.
            let is_here = |name: &ShortName| matches!(session::tip(self.scene.repo, name), Ok(Some(_)));
            let other = other.filter(|(name, tip)| has_all(*tip) && !(is_here(name) && is_here(gone_name)));
            renamed.push(other.map(|(name, _)| name));
        }
        Ok(renamed)
    }

    /// Notes which sessions the remote has no more, and that it was asked for all.
    fn note<'n>(&self, found: &[FetchedSession], there: impl Iterator<Item = &'n ShortName>) -> Result<(), Error> {
        if self.request.dry_run {
            return Ok(());
        }
        let is_whole = self.request.session.is_none() && self.request.only.is_none();
        let names = self.request.session.iter().chain(self.request.only.iter().flatten());
        let asked: Vec<&str> = names.map(ShortName::as_str).collect();
        RemoteState::update(self.scene.repo, &self.remote.name, |state| {
            there.for_each(|name| state.set(name, None));
            for session in found.iter().filter(|session| session.change == RemoteChange::Deleted) {
                state.set(&session.name, session.before.filter(|_| !session.taken));
            }
            for session in found.iter().filter(|session| !session.taken) {
                if let Some(tip) = session.tip {
                    state.set_unfollowed(&session.name, tip);
                }
            }
            for session in found.iter().filter(|session| session.change == RemoteChange::Renamed) {
                state.set(&session.name, None);
            }
            // Of what is too old to be fetched nothing new is known.
            if is_whole && self.request.since.is_none() {
                state.refused.clear();
            }
            state.refused.retain(|name, _| !asked.contains(&name.as_str()));
            state.refused.extend(self.refused.iter().cloned());
            if is_whole {
                state.listed = Some(self.scene.now.unix());
            }
        })?;
        Ok(())
    }

    /// The latest checkpoints of every session that is here already.
    fn here(&self) -> Result<HashSet<ObjectId>, Error> {
        let mut here = HashSet::new();
        for prefix in [session::PREFIX, session::REMOTE_PREFIX] {
            here.extend(session::tips(self.scene.repo, prefix)?);
        }
        Ok(here)
    }

    fn compare(&self, name: ShortName, tip: ObjectId) -> Result<FetchedSession, Error> {
        let repo = self.scene.repo;
        let before = self.known.get(&name).copied();
        let change = match before {
            None => RemoteChange::New {
                checkpoints: chain::length(repo, tip),
            },
            Some(before) => match chain::relation(repo, tip, before)? {
                ChainRelation::Same => RemoteChange::Forward { checkpoints: 0 },
                ChainRelation::Ahead(checkpoints) => RemoteChange::Forward { checkpoints },
                ChainRelation::Behind(checkpoints) => RemoteChange::Back { checkpoints },
                ChainRelation::Diverged { .. } | ChainRelation::Unrelated => RemoteChange::Rewritten,
            },
        };
        Ok(FetchedSession {
            name,
            tip: Some(tip),
            before,
            change,
            renamed: None,
            taken: change.is_good() || self.request.accept,
            is_known: false,
        })
    }

    /// Makes what is good visible, keeps what an accepted change leaves behind, and empties the quarantine.
    fn publish(&self, found: &[FetchedSession]) -> Result<(), Error> {
        if self.request.dry_run {
            return Ok(());
        }
        let mut edits = Vec::new();
        for session in found.iter().filter(|session| session.taken) {
            let message = format!("checkpoint: fetch, {}", session.change.word());
            if let Some(before) = session.before.filter(|_| !session.change.is_good()) {
                edits.push(super::pull::trash(self.scene, before, &message, &edits)?);
            }
            edits.push(RefUpdate {
                name: self.remote.tracking_ref(&session.name),
                expected: session.before.map_or(ExpectedValue::Absent, ExpectedValue::Is),
                new: session.tip,
                message,
            });
        }
        let left = refs::list(self.scene.repo, &self.remote.incoming())?;
        edits.extend(left.into_iter().map(|(name, _)| remove(name)));
        update(self.scene, &edits)
    }
}
