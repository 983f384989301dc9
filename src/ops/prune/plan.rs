//! Decisions of a prune: pruned and retained checkpoints, with reasons.

use std::collections::{BTreeMap, BTreeSet};

use super::{PruneOutcome, PrunedRef, RetentionRules, TRASH, periods};
use crate::{
    model::{
        document::{CheckpointKind, SessionStatus},
        id::Digest,
        name::ShortName,
    },
    ops::{Error, Scene, put_aside, refuse},
    store::{
        ObjectId, ancestry, autosave,
        checkpoint::{self, CheckpointCommit},
        current, pins, refs, session,
        watch::{self, Watcher},
    },
};

/// How far a checkpoint may be ahead of the clock before ages are not believed, in seconds: time zones and clocks that
/// were set by hand stay below.
const AHEAD: i64 = 86_400;

/// A checkpoint that goes.
#[derive(Clone, Debug)]
pub struct PrunedCheckpoint {
    /// Its session.
    pub session: ShortName,
    /// Checkpoint.
    pub entry: CheckpointCommit,
}

/// A checkpoint that stays although a rule would take it.
#[derive(Clone, Debug)]
pub struct RetainedCheckpoint {
    /// Its session.
    pub session: ShortName,
    /// Checkpoint; of a session that would go completely, the latest one.
    pub entry: CheckpointCommit,
    /// Why it stays.
    pub why: RetentionReason,
}

/// Why something stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionReason {
    /// It has a name.
    Named,
    /// It is pinned.
    Pinned,
    /// Its work was put aside and not brought back.
    PutAside,
    /// A session was forked from it.
    ForkedFrom,
    /// It joins two lines of work.
    Merge,
    /// It is on a remote.
    Shared,
    /// The session is current in a working tree, or active.
    InUse,
    /// Another agent or person has claimed the session.
    Claimed,
}

impl RetentionReason {
    /// In a word or two.
    pub fn word(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Pinned => "pinned",
            Self::PutAside => "put aside",
            Self::ForkedFrom => "forked from",
            Self::Merge => "merge",
            Self::Shared => "shared",
            Self::InUse => "in use",
            Self::Claimed => "claimed",
        }
    }
}

/// A session's own checkpoints, latest first.
pub(super) struct SessionChain {
    pub(super) name: ShortName,
    /// Its identity.
    pub(super) session: String,
    pub(super) entries: Vec<CheckpointCommit>,
    pub(super) goes_whole: bool,
    /// Checkpoints whose work was put aside.
    put_aside: Vec<Digest>,
    /// Whether another agent or person has claimed it.
    is_claimed: bool,
}

impl SessionChain {
    pub(super) fn tip(&self) -> ObjectId {
        self.entries[0].id
    }

    fn status(&self) -> SessionStatus {
        self.entries[0].trailers.status.unwrap_or(SessionStatus::Active)
    }

    /// For a fork, the checkpoint it was made from.
    fn source(&self) -> Option<ObjectId> {
        let first = self.entries.last()?;
        (first.trailers.kind == Some(CheckpointKind::Fork)).then(|| first.parents.first().copied())?
    }
}

/// Plan of a prune, with the inputs of its decisions.
pub(super) struct PrunePlan {
    pub(super) chains: Vec<SessionChain>,
    pub(super) outcome: PruneOutcome,
    dropped: BTreeMap<ObjectId, CheckpointCommit>,
    /// The checkpoints of what goes from the trash, and autosaves that go.
    beside: Vec<CheckpointCommit>,
    /// Checkpoints that refs hold which stay as they are: safety checkpoints, what was fetched, the rest of the trash.
    held: Vec<CheckpointCommit>,
}

struct ProtectedCheckpoints {
    pins: BTreeSet<Digest>,
    put_aside: BTreeSet<Digest>,
    shared: BTreeSet<Digest>,
    sources: BTreeSet<ObjectId>,
    force: bool,
}

impl ProtectedCheckpoints {
    fn why(&self, entry: &CheckpointCommit) -> Option<RetentionReason> {
        let has = |set: &BTreeSet<Digest>| {
            entry
                .trailers
                .digest
                .as_ref()
                .is_some_and(|digest| set.contains(digest))
        };
        if self.force {
            None
        } else if entry.merged_commit().is_some() {
            Some(RetentionReason::Merge)
        } else if entry.trailers.name.is_some() {
            Some(RetentionReason::Named)
        } else if has(&self.pins) {
            Some(RetentionReason::Pinned)
        } else if has(&self.put_aside) {
            Some(RetentionReason::PutAside)
        } else if self.sources.contains(&entry.id) {
            Some(RetentionReason::ForkedFrom)
        } else if has(&self.shared) {
            Some(RetentionReason::Shared)
        } else {
            None
        }
    }
}

impl PrunePlan {
    pub(super) fn new(scene: &Scene<'_>, rules: &RetentionRules) -> Result<Self, Error> {
        let mut outcome = PruneOutcome::default();
        let chains = chains(scene, &mut outcome.damaged)?;
        if rules.older_than.is_some() {
            let ahead = |chain: &&SessionChain| chain.entries[0].time.unix() > scene.now.unix() + AHEAD;
            if let Some(chain) = chains.iter().find(ahead) {
                return Err(Error::Future {
                    session: chain.name.to_string(),
                    at: chain.entries[0].time,
                });
            }
        }
        let protected = ProtectedCheckpoints {
            pins: pins::read(scene.repo)?,
            put_aside: chains.iter().flat_map(|chain| chain.put_aside.clone()).collect(),
            shared: shared(scene)?,
            sources: chains.iter().filter_map(SessionChain::source).collect(),
            force: rules.force,
        };
        let mut plan = Self {
            chains,
            outcome,
            dropped: BTreeMap::new(),
            beside: Vec::new(),
            held: Vec::new(),
        };
        plan.whole_sessions(scene, rules, &protected);
        plan.checkpoints(scene, rules, &protected);
        if rules.autosaves {
            plan.autosaves(scene, rules)?;
        }
        if rules.trash {
            plan.trash(scene, rules)?;
        }
        plan.outcome.kept = plan.staying().count();
        plan.weigh(scene)?;
        Ok(plan)
    }

    /// Sessions beyond the number to keep, and ended ones that are not to be kept.
    fn whole_sessions(&mut self, scene: &Scene<'_>, rules: &RetentionRules, protected: &ProtectedCheckpoints) {
        let in_use: BTreeSet<String> = current::all(scene.repo).into_iter().map(|session| session.id).collect();
        for (at, chain) in self.chains.iter_mut().enumerate() {
            let status = chain.status();
            let ended = match status {
                SessionStatus::Completed => rules.completed,
                SessionStatus::Failed => rules.failed,
                SessionStatus::Active | SessionStatus::Paused => None,
            };
            let old = rules
                .older_than
                .is_none_or(|age| is_older(scene, &chain.entries[0], age));
            let surplus = rules.max_sessions.is_some_and(|number| at >= number);
            let goes = match ended {
                Some(true) => false,
                Some(false) => old || surplus,
                None => surplus,
            };
            if !goes {
                continue;
            }
            let used = in_use.contains(&chain.session) || status == SessionStatus::Active;
            let kept = if used {
                Some((&chain.entries[0], RetentionReason::InUse))
            } else if chain.is_claimed && !rules.force {
                Some((&chain.entries[0], RetentionReason::Claimed))
            } else {
                chain
                    .entries
                    .iter()
                    .find_map(|entry| Some((entry, protected.why(entry)?)))
            };
            if let Some((entry, why)) = kept {
                self.outcome.stays.push(RetainedCheckpoint {
                    session: chain.name.clone(),
                    entry: entry.clone(),
                    why,
                });
            } else {
                chain.goes_whole = true;
                self.outcome.sessions.push(PrunedRef {
                    name: chain.name.to_string(),
                    session: Some(chain.name.to_string()),
                    id: chain.entries[0].id,
                    checkpoints: chain.entries.len(),
                });
            }
        }
    }

    /// Checkpoints inside of chains: never the latest, never the first.
    fn checkpoints(&mut self, scene: &Scene<'_>, rules: &RetentionRules, protected: &ProtectedCheckpoints) {
        if !rules.chooses_checkpoints() {
            return;
        }
        let kept = rules.keep_last.unwrap_or(1).max(1);
        for chain in self.chains.iter().filter(|chain| !chain.goes_whole) {
            let alone = match chain.status() {
                SessionStatus::Completed => rules.completed,
                SessionStatus::Failed => rules.failed,
                SessionStatus::Active | SessionStatus::Paused => None,
            };
            if alone == Some(true) {
                continue;
            }
            let inner = chain.entries.len().saturating_sub(1);
            let of_periods = periods::kept(rules, &chain.entries);
            for entry in chain.entries.iter().take(inner).skip(kept) {
                if of_periods.contains(&entry.id) {
                    continue;
                }
                if rules.older_than.is_some_and(|age| !is_older(scene, entry, age)) {
                    continue;
                }
                let session = chain.name.clone();
                let entry = entry.clone();
                let claimed = Some(RetentionReason::Claimed).filter(|_| chain.is_claimed && !rules.force);
                if let Some(why) = claimed.or_else(|| protected.why(&entry)) {
                    self.outcome.stays.push(RetainedCheckpoint { session, entry, why });
                } else {
                    self.dropped.insert(entry.id, entry.clone());
                    self.outcome.goes.push(PrunedCheckpoint { session, entry });
                }
            }
        }
    }

    /// Autosaves of sessions that are gone, and those that a later checkpoint of their session represents.
    fn autosaves(&mut self, scene: &Scene<'_>, rules: &RetentionRules) -> Result<(), Error> {
        let watched: BTreeSet<String> = watch::all(scene.repo)
            .into_iter()
            .filter_map(|watcher| match watcher {
                Watcher::Alive(state) => Some(state?.session?.id),
                Watcher::Gone(_) => None,
            })
            .collect();
        for (name, target) in refs::list(scene.repo, autosave::PREFIX)? {
            let session = name
                .strip_prefix(autosave::PREFIX)
                .and_then(|rest| rest.split('/').next());
            let (Some(session), Ok(id)) = (session, target) else {
                continue;
            };
            let Ok(entry) = checkpoint::entry(scene.repo, id) else {
                continue;
            };
            let chain = self.chains.iter().find(|chain| chain.session == session);
            // One whose parent is the latest checkpoint may hold what nothing else does.
            let stood_for = chain.is_none_or(|chain| entry.parents.first() != Some(&chain.tip()));
            let old = rules.older_than.is_none_or(|age| is_older(scene, &entry, age));
            if old && (stood_for || rules.force) && !watched.contains(session) {
                self.outcome.autosaves.push(PrunedRef {
                    name,
                    session: entry.trailers.session,
                    id,
                    checkpoints: 1,
                });
            }
        }
        Ok(())
    }

    fn trash(&mut self, scene: &Scene<'_>, rules: &RetentionRules) -> Result<(), Error> {
        for (name, target) in refs::list(scene.repo, TRASH)? {
            let Ok(id) = target else { continue };
            // Its age is that of the deletion, which the reflog has; without one, that of its checkpoint.
            let log = refs::reflog(scene.repo, &name)?;
            let entry = checkpoint::entry(scene.repo, id).ok();
            let since = log.first().map(|line| line.who.time.seconds);
            let since = since.or_else(|| entry.as_ref().map(|entry| entry.time.unix()));
            let limit = |age: std::time::Duration| scene.now.unix() - i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
            let old = rules
                .older_than
                .is_none_or(|age| since.is_none_or(|since| since < limit(age)));
            if old {
                let checkpoints = session::chain(scene.repo, id).map_while(Result::ok).count();
                self.outcome.trash.push(PrunedRef {
                    name,
                    session: entry.and_then(|entry| entry.trailers.session),
                    id,
                    checkpoints,
                });
            }
        }
        Ok(())
    }

    /// Finds out what else holds checkpoints, and which ones go next to those of sessions.
    fn weigh(&mut self, scene: &Scene<'_>) -> Result<(), Error> {
        let gone: BTreeSet<&str> = [&self.outcome.autosaves, &self.outcome.trash]
            .into_iter()
            .flatten()
            .map(|gone| gone.name.as_str())
            .collect();
        // What was merged in stays with the merge.
        let mut known: BTreeSet<ObjectId> = self.staying().map(|entry| entry.id).collect();
        let merges: Vec<ObjectId> = self.staying().filter_map(CheckpointCommit::merged_commit).collect();
        for tip in merges {
            let sides = ancestry::merged_sides(scene.repo, tip, &mut known);
            let dropped = &self.dropped;
            self.held
                .extend(sides.into_iter().filter(|entry| !dropped.contains_key(&entry.id)));
        }
        for (name, target) in refs::list(scene.repo, "refs/checkpoints")? {
            let Ok(id) = target else { continue };
            let is_autosave = name.starts_with(autosave::PREFIX);
            if name.starts_with(session::PREFIX) {
                continue;
            }
            // An autosave is written again with its session, so it holds nothing but itself.
            let number = if is_autosave { 1 } else { usize::MAX };
            let entries = session::chain(scene.repo, id).map_while(Result::ok).take(number);
            if gone.contains(name.as_str()) {
                self.beside.extend(entries);
            } else if !name.starts_with(TRASH) {
                self.held.extend(entries);
            }
        }
        Ok(())
    }

    pub(super) fn drops(&self, id: ObjectId) -> bool {
        self.dropped.contains_key(&id)
    }

    /// Part of a chain that goes, from a checkpoint backwards, up to the next one that stays, oldest first.
    pub(super) fn dropped_before(&self, chain: &SessionChain, from: Option<ObjectId>) -> Vec<CheckpointCommit> {
        let entries = chain.entries.iter().skip_while(|entry| Some(entry.id) != from);
        let mut gone: Vec<CheckpointCommit> = entries.take_while(|entry| self.drops(entry.id)).cloned().collect();
        gone.reverse();
        gone
    }

    /// Whether a chain loses checkpoints of its own.
    pub(super) fn drops_of(&self, chain: &SessionChain) -> bool {
        chain.entries.iter().any(|entry| self.drops(entry.id))
    }

    /// The checkpoints that go, of sessions that go whole too.
    pub(super) fn going(&self) -> impl Iterator<Item = &CheckpointCommit> {
        let whole = self.chains.iter().filter(|chain| chain.goes_whole);
        let of_sessions = self.dropped.values().chain(whole.flat_map(|chain| &chain.entries));
        of_sessions.chain(&self.beside)
    }

    /// The checkpoints that stay, of sessions and of whatever else.
    pub(super) fn held(&self) -> impl Iterator<Item = &CheckpointCommit> {
        self.staying().chain(&self.held)
    }

    /// The checkpoints of sessions that stay.
    pub(super) fn staying(&self) -> impl Iterator<Item = &CheckpointCommit> {
        let stay = self.chains.iter().filter(|chain| !chain.goes_whole);
        stay.flat_map(|chain| &chain.entries)
            .filter(|entry| !self.drops(entry.id))
    }

    /// Where chains that stay go on in what no session has any more: a fork keeps what its deleted source had.
    pub(super) fn foreign_sources(&self) -> impl Iterator<Item = ObjectId> {
        let owner = self.owners();
        let stay = self.chains.iter().filter(|chain| !chain.goes_whole);
        stay.filter_map(SessionChain::source)
            .filter(move |source| !owner.contains_key(source))
    }

    /// The chains that stay, sources before their forks.
    pub(super) fn order(&self) -> Vec<usize> {
        let owner = self.owners();
        let mut order = Vec::new();
        let mut waiting: Vec<usize> = (0..self.chains.len()).collect();
        while !waiting.is_empty() {
            let pending: BTreeSet<usize> = waiting.iter().copied().collect();
            let (ready, rest): (Vec<usize>, Vec<usize>) = waiting.into_iter().partition(|at| {
                let source = self.chains[*at].source().and_then(|id| owner.get(&id));
                source.is_none_or(|source| source == at || !pending.contains(source))
            });
            if ready.is_empty() {
                // Commits cannot go round in circles; were it so, these would stay as they are.
                break;
            }
            order.extend(ready.into_iter().filter(|at| !self.chains[*at].goes_whole));
            waiting = rest;
        }
        order
    }

    fn owners(&self) -> BTreeMap<ObjectId, usize> {
        let chains = self.chains.iter().enumerate();
        chains
            .flat_map(|(at, chain)| chain.entries.iter().map(move |entry| (entry.id, at)))
            .collect()
    }

    /// Forks that lose nothing themselves, but whose source is written again.
    pub(super) fn forks_that_move(&self) -> Vec<ShortName> {
        let owner = self.owners();
        let mut moves = BTreeSet::new();
        let mut moved = Vec::new();
        for at in self.order() {
            let chain = &self.chains[at];
            // Checkpoints above the oldest pruned one are rewritten.
            let source_moves = chain.source().is_some_and(|source| {
                let Some(of) = owner.get(&source) else { return false };
                let entries = &self.chains[*of].entries;
                let from = entries.iter().position(|entry| entry.id == source).unwrap_or(0);
                moves.contains(of) || entries[from..].iter().any(|entry| self.drops(entry.id))
            });
            if source_moves {
                moves.insert(at);
                if !self.drops_of(chain) {
                    moved.push(chain.name.clone());
                }
            }
        }
        moved
    }
}

fn is_older(scene: &Scene<'_>, entry: &CheckpointCommit, age: std::time::Duration) -> bool {
    scene.now.since(entry.time).to_std().is_ok_and(|passed| passed > age)
}

/// Every session that is whole enough to be written again, latest first.
fn chains(scene: &Scene<'_>, damaged: &mut Vec<String>) -> Result<Vec<SessionChain>, Error> {
    let mut chains = Vec::new();
    for found in session::all(scene.repo)? {
        let (Ok(name), Ok(tip)) = (ShortName::new(&found.name), found.tip) else {
            damaged.push(found.name);
            continue;
        };
        let entries: Result<Vec<CheckpointCommit>, _> = session::chain(scene.repo, tip.id).collect();
        let document = checkpoint::load(scene.repo, tip.id);
        match (entries, document) {
            (Ok(entries), Ok(tip)) if entries.iter().all(|entry| entry.trailers.digest.is_some()) => {
                chains.push(SessionChain {
                    put_aside: put_aside::for_document(scene, &tip),
                    is_claimed: refuse::claimed(scene, &name, &tip.document.session).is_err(),
                    session: tip.document.session.id,
                    entries,
                    goes_whole: false,
                    name,
                });
            }
            _ => damaged.push(name.to_string()),
        }
    }
    Ok(chains)
}

/// The digests of what was fetched from remotes.
fn shared(scene: &Scene<'_>) -> Result<BTreeSet<Digest>, Error> {
    let mut shared = BTreeSet::new();
    for found in session::fetched(scene.repo)? {
        let Ok(tip) = found.tip else { continue };
        let chain = session::chain(scene.repo, tip.id).map_while(Result::ok);
        shared.extend(chain.filter_map(|entry| entry.trailers.digest));
    }
    Ok(shared)
}
