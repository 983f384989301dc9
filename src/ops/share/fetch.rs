//! `fetch`: what a remote's sessions are now.
//!
//! First the remote is asked which refs it has, so that only sessions with valid names that changed are fetched, into a
//! quarantine namespace; then each is checked, and one transaction of ours makes the good ones visible. A session that
//! the remote lost, set back or replaced is reported, and its tracking ref is kept, unless the user accepts the change.

use std::collections::{BTreeMap, HashSet};

pub use super::change::RemoteChange;
use super::{ChainRelation, Error, Wire, chain, check::FetchCheck, exchange, find, unreachable};
use crate::{
    model::name::ShortName,
    ops::{Scene, compose},
    store::{
        self, ObjectId, checkpoint, lock,
        refs::{self, ExpectedValue, RefUpdate},
        remote::{Remote, encoded},
        scratch::Scratch,
        session,
    },
};

/// The most refs of sessions that a remote may have.
const MAX_SESSIONS: usize = 20_000;

/// Request of a fetch.
#[derive(Clone, Debug, Default)]
pub struct FetchRequest {
    /// The remote; the usual one without a name.
    pub remote: Option<String>,
    /// This session alone.
    pub session: Option<ShortName>,
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
    /// Whether what is known of it was changed accordingly.
    pub taken: bool,
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
        Ok((sessions, refused, unchanged, alike)) => Ok(FetchOutcome {
            remote,
            sessions,
            refused,
            unchanged,
            alike,
        }),
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
    let (sessions, refused, unchanged, alike) = Fetch::new(scene, &request, &remote, wire)?.run()?;
    Ok(FetchOutcome {
        remote,
        sessions,
        refused,
        unchanged,
        alike,
    })
}

/// Deletes what an interrupted fetch left.
fn clear(scene: &Scene<'_>, remote: &Remote) -> Result<(), Error> {
    refs::remove_locks(scene.repo, &remote.incoming())?;
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

type SessionParts = (Vec<FetchedSession>, Vec<(String, String)>, usize, Vec<ShortName>);

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
        let prefix = remote.tracking();
        let mut known = BTreeMap::new();
        for (full, target) in refs::list(scene.repo, &prefix)? {
            let name = full.strip_prefix(&prefix).and_then(|name| ShortName::new(name).ok());
            let Some(name) = name.filter(|name| request.session.as_ref().is_none_or(|wanted| wanted == name)) else {
                continue;
            };
            match target {
                Ok(id) => drop(known.insert(name, id)),
                Err(damage) => return Err(store::Error::Damaged { name: full, damage }.into()),
            }
        }
        Ok(Self {
            scene,
            request,
            remote,
            wire,
            known,
            refused: Vec::new(),
            alike: Vec::new(),
        })
    }

    fn run(mut self) -> Result<SessionParts, Error> {
        let there = self.ask()?;
        let unchanged = there
            .iter()
            .filter(|(name, id)| self.known.get(name) == Some(id))
            .count();
        let wanted: Vec<ShortName> = there
            .iter()
            .filter(|(name, id)| self.known.get(name) != Some(id))
            .map(|(name, _)| name.clone())
            .collect();
        let came = self.bring(&wanted, &there)?;
        let mut check = FetchCheck::new(self.scene, self.good()?);
        let mut found = Vec::new();
        for (name, tip) in came {
            if (self.wire.stopped)() {
                return Err(Error::Stopped);
            }
            match check.session(tip) {
                Ok(()) => found.push(self.compare(name, tip)?),
                Err(why) => self.refused.push((name.to_string(), why)),
            }
        }
        for (name, before) in &self.known {
            if !there.contains_key(name) {
                found.push(FetchedSession {
                    name: name.clone(),
                    tip: None,
                    before: Some(*before),
                    change: RemoteChange::Deleted,
                    taken: self.request.accept,
                });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        self.publish(&found)?;
        Ok((found, self.refused, unchanged, self.alike))
    }

    /// Which sessions the remote has.
    fn ask(&mut self) -> Result<BTreeMap<ShortName, ObjectId>, Error> {
        let pattern = match &self.request.session {
            // Those that are called alike as well: a session that has to step aside takes no name of theirs.
            Some(name) => format!("{}*", session::ref_name(name)),
            None => format!("{}*", session::PREFIX),
        };
        let git = store::git(self.scene.repo).args(["ls-remote", "--refs", "--", &self.remote.name, &pattern]);
        let exchange = exchange(git, self.wire, None)?;
        let too_many = || Error::TooMany {
            remote: self.remote.name.clone(),
            limit: MAX_SESSIONS,
        };
        if exchange.cut {
            return Err(too_many());
        }
        if exchange.code != Some(0) {
            return Err(unreachable(self.remote, &exchange.words));
        }
        let mut there = BTreeMap::new();
        let text = String::from_utf8_lossy(&exchange.stdout);
        for line in text.lines() {
            // The pattern matches the end of a name as well.
            let Some((id, full)) = line.split_once('\t') else {
                continue;
            };
            let Some(short) = full.strip_prefix(session::PREFIX) else {
                continue;
            };
            if let Some(wanted) = &self.request.session
                && short != wanted.as_str()
            {
                self.alike.extend(ShortName::new(short));
                continue;
            }
            match (ShortName::new(short), ObjectId::from_hex(id.as_bytes())) {
                (Ok(name), Ok(id)) => drop(there.insert(name, id)),
                (Err(why), _) => self
                    .refused
                    .push((short.escape_debug().to_string(), why.reason.to_owned())),
                (Ok(name), Err(_)) => self.refused.push((name.to_string(), "its id is invalid".to_owned())),
            }
            if there.len() + self.refused.len() + self.alike.len() > MAX_SESSIONS {
                return Err(too_many());
            }
        }
        Ok(there)
    }

    /// Fetches sessions into the quarantine, in a dry run their objects alone, and gives what came. One that cannot be fetched does not keep the others
    /// from coming.
    fn bring(
        &mut self,
        wanted: &[ShortName],
        there: &BTreeMap<ShortName, ObjectId>,
    ) -> Result<BTreeMap<ShortName, ObjectId>, Error> {
        if let Err(error) = self.transfer(wanted) {
            // Where one lacks objects, or has broken ones, git takes none.
            let of_one = |error: &Error| match error {
                Error::Unreachable {
                    denied, missing, why, ..
                } => !denied && !missing && why.iter().any(|line| is_of_one(line)),
                _ => false,
            };
            if wanted.len() < 2 && !of_one(&error) || !of_one(&error) {
                return Err(error);
            }
            for name in wanted {
                match self.transfer(std::slice::from_ref(name)) {
                    Err(Error::Unreachable { why, .. }) => self.refused.push((name.to_string(), why.join("; "))),
                    other => other?,
                }
            }
        }
        if self.request.dry_run {
            let is_refused = |name: &ShortName| self.refused.iter().any(|(refused, _)| refused == name.as_str());
            let came = wanted.iter().filter(|name| !is_refused(name));
            return Ok(came
                .filter_map(|name| Some((name.clone(), *there.get(name)?)))
                .collect());
        }
        let prefix = self.remote.incoming();
        let mut came = BTreeMap::new();
        for (full, target) in refs::list(self.scene.repo, &prefix)? {
            let name = full.strip_prefix(&prefix).and_then(|name| ShortName::new(name).ok());
            if let (Some(name), Ok(id)) = (name, target) {
                came.insert(name, id);
            }
        }
        Ok(came)
    }

    fn transfer(&self, wanted: &[ShortName]) -> Result<(), Error> {
        if wanted.is_empty() {
            return Ok(());
        }
        let incoming = self.remote.incoming();
        let lines = wanted
            .iter()
            .map(|name| format!("+{}:{incoming}{name}\n", session::ref_name(name)));
        let dry_run = self.request.dry_run.then_some("--dry-run");
        let git = store::git(self.scene.repo)
            // A pack is on the disk before a ref names what is in it; loose objects, which git makes of a small one,
            // are not. And git reports the size in advance only for a pack.
            .config("fetch.unpackLimit=1")
            .args([
                "fetch",
                "--progress",
                "--no-tags",
                "--no-prune",
                "--no-write-fetch-head",
            ])
            .args(dry_run)
            .args([
                "--no-auto-maintenance",
                "--no-recurse-submodules",
                "--no-show-forced-updates",
            ])
            // Nothing but these refs moves, and of a session nothing is left for later, also in a partial clone.
            .args(["--refmap=", "--no-filter", "--no-write-commit-graph", "--stdin", "--"])
            .arg(&self.remote.name)
            .input(lines.collect::<String>());
        let exchange = exchange(git, self.wire, Some(self.scene.settings.max_fetch_size))?;
        if exchange.code == Some(0) {
            return Ok(());
        }
        Err(unreachable(self.remote, &exchange.words))
    }

    /// The latest checkpoints of every session that is here already.
    fn good(&self) -> Result<HashSet<ObjectId>, Error> {
        let mut good = HashSet::new();
        for prefix in [session::PREFIX, session::REMOTE_PREFIX] {
            good.extend(
                refs::list(self.scene.repo, prefix)?
                    .into_iter()
                    .filter_map(|(_, id)| id.ok()),
            );
        }
        good.retain(|id| checkpoint::load(self.scene.repo, *id).is_ok());
        Ok(good)
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
            taken: change.is_good() || self.request.accept,
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

/// Whether what git said is about the objects of one ref, not about the connection.
fn is_of_one(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    [
        "did not send all necessary objects",
        "bad object",
        "invalid index-pack output",
        "unpack-objects failed",
        "index-pack failed",
        "missing",
        "fsck error",
        "not our ref",
        "corrupt",
        "unable to read",
        "couldn't find remote ref",
        "upload-pack",
    ]
    .iter()
    .any(|part| line.contains(part))
}
