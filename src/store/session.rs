//! Sessions: the chains under `refs/checkpoints/`.
//!
//! Reads only. A session that cannot be read is returned as damaged next to the others, never left out.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BTreeSet, BinaryHeap, HashMap, HashSet},
};

use super::{
    Error, ObjectId, Repository,
    checkpoint::{self, CheckpointCommit, Fault},
    objects::PackReader,
    refs::{self, RefDamage, RefListing},
};
use crate::model::{document::CheckpointKind, name::ShortName, time::Timestamp};

/// Where sessions live.
pub const PREFIX: &str = "refs/checkpoints/";

/// Where fetched sessions live, below the name of their remote.
pub const REMOTE_PREFIX: &str = "refs/checkpoints-remote/";

/// The full name of a session's ref.
pub fn ref_name(name: &ShortName) -> String {
    format!("{PREFIX}{name}")
}

/// A session by its ref.
#[derive(Debug)]
pub struct SessionTip {
    /// The last part of the ref's name; not always a valid name, since anyone can make refs.
    pub name: String,
    /// Its latest checkpoint, or why that cannot be read.
    pub tip: Result<CheckpointCommit, Broken>,
}

/// Why a session's latest checkpoint cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The ref itself is damaged.
    #[error("its ref is damaged: {0}")]
    Ref(RefDamage),
    /// The checkpoint is.
    #[error(transparent)]
    Checkpoint(#[from] Fault),
    /// The ref has a name that no session can have.
    #[error("its name is not valid: {0}")]
    Name(&'static str),
}

/// Every session, latest checkpoint first; of two of the same time the one whose ref was moved later comes first; damaged
/// ones last, by name.
pub fn all(repo: &Repository) -> Result<Vec<SessionTip>, Error> {
    all_under(repo, PREFIX, |_| true)
}

/// The sessions with names that pass, in the order of [`all`]; no checkpoint of another one is read.
pub fn named(repo: &Repository, passes: impl Fn(&str) -> bool) -> Result<Vec<SessionTip>, Error> {
    all_under(repo, PREFIX, passes)
}

/// The names of every session, damaged ones included; no checkpoint is read.
pub fn names(repo: &Repository) -> Result<BTreeSet<String>, Error> {
    names_under(repo, PREFIX)
}

/// The same of every session fetched from a remote, as `<remote>/<session>`.
pub fn fetched_names(repo: &Repository) -> Result<BTreeSet<String>, Error> {
    names_under(repo, REMOTE_PREFIX)
}

fn names_under(repo: &Repository, prefix: &str) -> Result<BTreeSet<String>, Error> {
    let found = refs::names(repo, prefix)?.into_iter();
    Ok(found
        .filter_map(|full| full.strip_prefix(prefix).map(str::to_owned))
        .collect())
}

/// What the refs below a prefix point to, as far as they can be read; no checkpoint is.
pub fn tips(repo: &Repository, prefix: &str) -> Result<Vec<ObjectId>, Error> {
    let found = refs::list_unproved(repo, prefix)?.into_iter();
    Ok(found.filter_map(|(_, target)| target.ok()).collect())
}

/// Every session fetched from a remote, as `<remote>/<session>`, in the order of [`all`].
pub fn fetched(repo: &Repository) -> Result<Vec<SessionTip>, Error> {
    all_under(repo, REMOTE_PREFIX, |_| true)
}

/// Those of them with names that pass; no checkpoint of another one is read.
pub fn fetched_named(repo: &Repository, passes: impl Fn(&str) -> bool) -> Result<Vec<SessionTip>, Error> {
    all_under(repo, REMOTE_PREFIX, passes)
}

fn all_under(repo: &Repository, prefix: &str, passes: impl Fn(&str) -> bool) -> Result<Vec<SessionTip>, Error> {
    each_under(repo, prefix, passes, Some)
}

/// What `make` makes of every session, in the order of [`all`], where it makes something. It runs in two threads, each of which has just read the
/// checkpoint: a hundred thousand of them made, moved and made into something else take longer than to read them.
pub fn each<T: Send>(repo: &Repository, make: impl Fn(SessionTip) -> Option<T> + Sync) -> Result<Vec<T>, Error> {
    each_under(repo, PREFIX, |_| true, make)
}

/// The same of every session fetched from a remote.
pub fn each_fetched<T: Send>(
    repo: &Repository,
    make: impl Fn(SessionTip) -> Option<T> + Sync,
) -> Result<Vec<T>, Error> {
    each_under(repo, REMOTE_PREFIX, |_| true, make)
}

fn each_under<T: Send>(
    repo: &Repository,
    prefix: &str,
    passes: impl Fn(&str) -> bool,
    make: impl Fn(SessionTip) -> Option<T> + Sync,
) -> Result<Vec<T>, Error> {
    let mut found = refs::list_unproved(repo, prefix)?;
    found.retain(|(full, _)| passes(full.strip_prefix(prefix).unwrap_or(full)));
    // What has no value is looked for under an id that no object has.
    let null = ObjectId::null(repo.object_hash());
    let id = |(_, target): &RefListing| target.as_ref().map_or(null, |id| *id);
    let ids: Vec<ObjectId> = found.iter().map(id).collect();
    let made = |full: &str, tip: Result<CheckpointCommit, Broken>| {
        let time = tip.as_ref().ok().map(|entry| entry.time);
        let name = full.strip_prefix(prefix).unwrap_or(full).to_owned();
        (time, make(SessionTip { name, tip }))
    };
    let mut sessions = PackReader::new(repo).each(&ids, |at, data| {
        let entry = checkpoint::entry_from(ids[at], data).and_then(with_digest);
        made(&found[at].0, entry.map_err(Broken::from))
    });
    for (at, session) in &mut sessions {
        session.get_or_insert_with(|| {
            let (full, target) = &found[*at];
            let proved = target
                .clone()
                .and_then(|id| refs::proved(repo, id))
                .map_err(Broken::Ref);
            let entry = proved.and_then(|id| Ok(checkpoint::entry(repo, id).and_then(with_digest)?));
            made(full, entry)
        });
    }
    // By time and then by name, in whose order they were found. Keys are sorted, and each session is moved once.
    let time = |session: &Option<(Option<Timestamp>, Option<T>)>| session.as_ref().and_then(|(time, _)| *time);
    let keys = sessions.iter().enumerate();
    let mut order: Vec<_> = keys
        .map(|(n, (at, session))| (Reverse(time(session)), *at, n))
        .collect();
    order.sort_unstable();
    let moved = |at: usize| refs::reflog_moved(repo, &found[at].0);
    for run in order.chunk_by_mut(|a, b| a.0 == b.0) {
        if run.len() > 1 && run[0].0.0.is_some() {
            // Once for each: a sort would look at the files of both in every comparison.
            run.sort_by_cached_key(|(_, at, _)| Reverse(moved(*at)));
        }
    }
    let ordered = order.into_iter().filter_map(|(.., n)| sessions[n].1.take());
    Ok(ordered.filter_map(|(_, session)| session).collect())
}

/// A commit whose message names no digest is a user's own, or damaged: no checkpoint to list as one.
fn with_digest(entry: CheckpointCommit) -> Result<CheckpointCommit, Fault> {
    if entry.trailers.digest.is_some() {
        Ok(entry)
    } else {
        Err(Fault::NotACheckpoint { id: entry.id })
    }
}

/// The latest checkpoint's commit of the session with this name; `None` when there is no such session.
pub fn tip(repo: &Repository, name: &ShortName) -> Result<Option<ObjectId>, Error> {
    refs::read(repo, &ref_name(name))
}

/// How the entries of a pulled session's reflog begin, before the name of the remote.
pub const PULLED: &str = "checkpoint: pull from ";

/// The checkpoints of a session from one backwards: its own, not those of the source it was forked from.
///
/// Ends after an item that is an error. The first item of a fork is the last one given: what lies before belongs to
/// the source.
pub fn chain(repo: &Repository, from: ObjectId) -> CheckpointChain<'_> {
    let commits = PackReader::new(repo);
    let next = Some(from);
    CheckpointChain { repo, commits, next }
}

/// Reads the [`chain`]s of many sessions: what is known of the packs is read once for all.
pub struct ChainReader<'r> {
    repo: &'r Repository,
    commits: PackReader,
    ahead: HashMap<ObjectId, CheckpointCommit>,
}

impl<'r> ChainReader<'r> {
    /// Knows the packs there are now.
    pub fn new(repo: &'r Repository) -> Self {
        Self {
            repo,
            commits: PackReader::new(repo),
            ahead: HashMap::new(),
        }
    }

    /// Reads the latest checkpoints of sessions whose chains are asked for next, in the order in which they are stored: one
    /// by one, each of a hundred thousand would be made from others again and again.
    pub fn read_ahead(&mut self, tips: &[ObjectId]) {
        let read = self
            .commits
            .each(tips, |at, data| checkpoint::entry_from(tips[at], data));
        let entries = read.into_iter().filter_map(|(_, entry)| entry?.ok());
        self.ahead = entries.map(|entry| (entry.id, entry)).collect();
    }

    /// The [`chain`] of a session.
    pub fn chain(&mut self, from: ObjectId) -> impl Iterator<Item = Result<CheckpointCommit, Fault>> {
        let mut next = Some(from);
        std::iter::from_fn(move || {
            let id = next.take()?;
            let entry = match self.ahead.remove(&id) {
                Some(entry) => Ok(entry),
                None => chain_entry(self.repo, &mut self.commits, id),
            };
            next = entry.as_ref().ok().and_then(before);
            Some(entry)
        })
    }
}

fn chain_entry(repo: &Repository, commits: &mut PackReader, id: ObjectId) -> Result<CheckpointCommit, Fault> {
    match commits.commit(id) {
        Some(data) => checkpoint::entry_from(id, &data),
        None => checkpoint::entry(repo, id),
    }
}

/// The checkpoint before one in its own session.
pub fn before(entry: &CheckpointCommit) -> Option<ObjectId> {
    let is_first = matches!(entry.trailers.kind, Some(CheckpointKind::Fork | CheckpointKind::Start));
    entry.parents.first().copied().filter(|_| !is_first)
}

/// The iterator of [`chain`].
pub struct CheckpointChain<'r> {
    repo: &'r Repository,
    commits: PackReader,
    next: Option<ObjectId>,
}

impl Iterator for CheckpointChain<'_> {
    type Item = Result<CheckpointCommit, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = chain_entry(self.repo, &mut self.commits, self.next.take()?);
        self.next = entry.as_ref().ok().and_then(before);
        Some(entry)
    }
}

/// The checkpoints of a session from one backwards, those included that were made in another working tree and merged in,
/// latest first. One without such merges gives its [`chain`].
///
/// Ends after an item that is an error.
pub fn history(repo: &Repository, from: ObjectId) -> CheckpointHistory<'_> {
    CheckpointHistory {
        repo,
        commits: PackReader::new(repo),
        seen: HashSet::new(),
        next: vec![from],
        waiting: BinaryHeap::new(),
    }
}

/// The iterator of [`history`].
pub struct CheckpointHistory<'r> {
    repo: &'r Repository,
    commits: PackReader,
    seen: HashSet<ObjectId>,
    /// What comes before the checkpoint given last.
    next: Vec<ObjectId>,
    waiting: BinaryHeap<WaitingCheckpoint>,
}

/// A checkpoint that comes next, the latest first.
struct WaitingCheckpoint(CheckpointCommit);

impl WaitingCheckpoint {
    fn key(&self) -> (Timestamp, ObjectId) {
        (self.0.time, self.0.id)
    }
}

impl PartialEq for WaitingCheckpoint {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for WaitingCheckpoint {}

impl PartialOrd for WaitingCheckpoint {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for WaitingCheckpoint {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl CheckpointHistory<'_> {
    fn read(&mut self, id: ObjectId) -> Result<(), Fault> {
        let entry = chain_entry(self.repo, &mut self.commits, id)?;
        self.waiting.push(WaitingCheckpoint(entry));
        Ok(())
    }

    fn advance(&mut self) -> Result<Option<CheckpointCommit>, Fault> {
        for id in std::mem::take(&mut self.next) {
            if self.seen.insert(id) {
                self.read(id)?;
            }
        }
        let Some(WaitingCheckpoint(entry)) = self.waiting.pop() else {
            return Ok(None);
        };
        if matches!(entry.trailers.kind, Some(CheckpointKind::Fork | CheckpointKind::Start)) {
            return Ok(Some(entry));
        }
        self.next.extend(entry.parents.first());
        // Damage in its document is reported where it is needed.
        if let Some(merged) = entry.merged_commit()
            && let Ok(merge) = checkpoint::load(self.repo, entry.id)
            && let Some(other) = &merge.document.merged
            && other.session_id == merge.document.session.id
        {
            self.next.push(merged);
        }
        Ok(Some(entry))
    }
}

impl Iterator for CheckpointHistory<'_> {
    type Item = Result<CheckpointCommit, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.advance().transpose();
        if matches!(item, Some(Err(_))) {
            self.waiting.clear();
        }
        item
    }
}
