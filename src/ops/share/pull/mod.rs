//! `pull`: a session of this repository brought to what the remote has.
//!
//! Forward where it can; where both went on, what is only here becomes a session of its own in the same transaction,
//! and so does a session of the same name that was made here independently. A tip that no session leads to any more goes
//! to the trash. Nothing is dropped.

mod diverged;
mod joined;
mod names;
mod part;
mod pruned;

pub use self::pruned::LeftOutCheckpoints;
use self::{
    diverged::{continues_apart, merge_diverged},
    names::{KnownSession, fetched_tip, known_here, name_here},
};
use super::{
    ChainRelation, Error, Wire,
    apart::{self, PrunedApart},
    chain,
    fetch::FetchOutcome,
    listing,
};
use crate::{
    model::{claim::Claim, document::CheckpointKind, name::ShortName, record::Record},
    ops::{
        Error as OpsError, Scene, ids,
        merge::{MergeMethod, MergeOutcome},
        ref_transaction::{Aftermath, UndoableRefTransaction},
        returned::{self, ReturnedContent},
        session_choice, suggestions,
    },
    store::{
        self, ObjectId,
        checkpoint::Checkpoint,
        current, graph, lock,
        objects::SealedObjects,
        refs::{self, ExpectedValue, RefUpdate},
        remote::Remote,
        scratch::Scratch,
        session,
        signature::{self, CommitSignature},
    },
};

/// Limit of commits that are searched to decide whether one descends from another.
const WALKED: usize = 200_000;
/// The trigger of a checkpoint that claims or releases a session.
const CLAIM: &str = "claim";
/// How often it is tried again because the session was saved meanwhile.
const TRIES: u32 = 20;

/// Request of a pull.
#[derive(Clone, Debug, Default)]
pub struct PullRequest {
    /// The remote; the usual one without a name.
    pub remote: Option<String>,
    /// The session; the current one without a name.
    pub session: Option<ShortName>,
    /// Whether to follow the remote where it lost, set back or replaced the session.
    pub accept: bool,
    /// Dry run: only report what would be done.
    pub dry_run: bool,
    /// How both sides are merged where both continued; without it what is only here becomes a session of its own.
    pub merge: Option<MergeMethod>,
}

/// Session that was pulled.
#[derive(Debug)]
pub struct PulledSession {
    /// The remote.
    pub remote: String,
    /// Result of the fetch.
    pub fetched: Option<FetchOutcome>,
    /// The session.
    pub name: ShortName,
    /// Its name there, where that is another one.
    pub there: Option<ShortName>,
    /// Its latest checkpoint now.
    pub id: ObjectId,
    /// Tip before the pull.
    pub before: Option<ObjectId>,
    /// Outcome.
    pub outcome: PullOutcome,
    /// Who made the latest checkpoint.
    pub author: String,
    /// Its signature; `None` where it is not signed.
    pub signature: Option<CommitSignature>,
    /// Whether it is the current session of this working tree.
    pub current: bool,
    /// Whether the files of its latest checkpoint are others than before the pull.
    pub has_other_files: bool,
    /// Whether claims and releases were all that was only here, and gave way to what the remote has.
    pub claims_dropped: bool,
    /// Who claimed the session, as it is now.
    pub claim: Option<Claim>,
    /// Purged content that the session has again.
    pub purged_again: ReturnedContent,
    /// Remotes that still have the session that is part of this one again, each with the session's name.
    pub left_over: Vec<(String, ShortName)>,
    /// Checkpoints that were left out where both sides have new ones; where the prune is all that is new, see the outcome.
    pub left_out: LeftOutCheckpoints,
    /// Warnings and clean-ups after the change.
    pub aftermath: Aftermath,
}

/// Outcome of a pull for one session.
#[derive(Debug)]
pub enum PullOutcome {
    /// There was nothing new.
    UpToDate {
        /// Checkpoints that the remote lacks.
        ahead: usize,
    },
    /// The session is new here.
    New {
        /// Its checkpoints.
        checkpoints: usize,
    },
    /// It went on.
    Forward {
        /// By how many checkpoints.
        checkpoints: usize,
    },
    /// It was pruned there: here the same checkpoints are gone, and what is only here continues from the rest.
    Pruned {
        /// Checkpoints that the remote lacks.
        ours: usize,
        /// How many checkpoints are gone here.
        dropped: usize,
    },
    /// Both went on: what was only here is a session of its own now.
    Parted {
        /// That session.
        tail: ShortName,
        /// Its checkpoint made for that; `None` where the session itself got the name.
        fork: Option<ObjectId>,
        /// How many checkpoints were only here.
        ours: usize,
        /// How many came.
        theirs: usize,
    },
    /// Both continued, and were merged.
    Merged {
        /// How many checkpoints were only here.
        ours: usize,
        /// How many came.
        theirs: usize,
        /// Outcome of the merge.
        merged: Box<MergeOutcome>,
    },
}

/// Fetches and brings the session up.
pub fn pull(scene: &Scene<'_>, request: &PullRequest, wire: Wire<'_>) -> Result<PulledSession, Error> {
    if !request.dry_run {
        return pull_with(scene, request, wire);
    }
    let scratch = Scratch::new(scene.repo)?;
    let scene = Scene {
        repo: scratch.repo(),
        ..*scene
    };
    pull_with(&scene, request, wire)
}

/// The same; in a dry run with a repository whose new objects do not stay.
fn pull_with(scene: &Scene<'_>, request: &PullRequest, wire: Wire<'_>) -> Result<PulledSession, Error> {
    let moved = match &request.merge {
        Some(_) => joined::moved_aside(scene)?,
        None => None,
    };
    let name = match (&request.session, &moved) {
        (Some(name), _) => name.clone(),
        (None, Some(moved)) => {
            // What others added to it comes first.
            if let Some(pulled) = joined::more_of_it(scene, request, moved, wire)? {
                return Ok(pulled);
            }
            names::there(scene, request, &moved.source)?
        }
        (None, _) => {
            let chosen = session_choice::session_for_command(scene)?.ok_or_else(|| suggestions::none_current(scene))?;
            names::there(scene, request, &chosen.name)?
        }
    };
    let (name, fetched) = names::fetch_under_its_name(scene, request, name, wire)?;
    let remote = fetched.remote.clone();
    if let Some((_, why)) = fetched.refused.iter().find(|(refused, _)| refused == name.as_str()) {
        return Err(Error::Refused {
            remote: remote.name,
            session: name,
            why: why.clone(),
        });
    }
    if let Some(found) = fetched.sessions.iter().find(|found| found.name == name && !found.taken) {
        return Err(Error::Lost {
            remote: remote.name,
            session: name,
            change: found.change,
        });
    }
    let planned = if request.dry_run {
        let found = fetched.sessions.iter().find(|found| found.name == name);
        PullMode::Planned(found.and_then(|found| found.tip))
    } else {
        PullMode::Done
    };
    let here = match known_here(scene, &remote, &name, planned)? {
        KnownSession::As(here) => here,
        KnownSession::NameTaken | KnownSession::No => name.clone(),
    };
    let names = (&name, &here);
    let together = match &request.merge {
        Some(how) => merge_diverged(scene, &remote, names, planned, how, wire)?,
        None => None,
    };
    let mut pulled = if let Some(merged) = together {
        merged
    } else {
        let taken = names_alike(scene, &remote, names, &fetched, wire)?;
        bring_beside(scene, &remote, names, &taken, planned)?
    };
    if let (Some(how), Some(moved)) = (&request.merge, moved.filter(|moved| moved.source == here)) {
        let how = MergeMethod {
            dry_run: request.dry_run,
            ..how.clone()
        };
        joined::join(scene, &moved, &how, &mut pulled, wire)?;
    }
    pulled.fetched = Some(fetched);
    if pulled.before != Some(pulled.id) {
        pulled.purged_again = returned::content_beyond(scene, pulled.id, pulled.before)?;
    }
    pulled.signature = signature::of_commit(scene.repo, pulled.id)?;
    Ok(pulled)
}

/// Other sessions of the remote with the same name, where the session here has to step aside. Only then is the remote asked
/// for more than the session.
fn names_alike(
    scene: &Scene<'_>,
    remote: &Remote,
    (there, here): (&ShortName, &ShortName),
    fetched: &FetchOutcome,
    wire: Wire<'_>,
) -> Result<Vec<ShortName>, Error> {
    let theirs = refs::read(scene.repo, &remote.tracking_ref(there))?;
    let (Some(ours), Some(theirs)) = (session::tip(scene.repo, here)?, theirs) else {
        return Ok(fetched.alike.clone());
    };
    if !fetched.alike.is_empty() {
        return Ok(fetched.alike.clone());
    }
    match chain::relation(scene.repo, ours, theirs) {
        Ok(ChainRelation::Diverged { .. } | ChainRelation::Unrelated) => {
            Ok(listing::of(scene, remote, Some(here), wire)?.alike)
        }
        _ => Ok(Vec::new()),
    }
}

/// Brings a session to what was fetched of it last. One of the same name that was made here keeps the name: what was fetched
/// gets another one.
pub fn bring(scene: &Scene<'_>, remote: &Remote, name: &ShortName) -> Result<PulledSession, Error> {
    let here = name_here(scene, remote, name)?;
    let mut pulled = bring_beside(scene, remote, (name, &here), &[], PullMode::Done)?;
    if pulled.before != Some(pulled.id) {
        pulled.purged_again = returned::content_beyond(scene, pulled.id, pulled.before)?;
    }
    pulled.signature = signature::of_commit(scene.repo, pulled.id)?;
    Ok(pulled)
}

/// Whether a session is brought up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PullMode {
    /// It is.
    Done,
    /// Dry run: only report what would be done, with this checkpoint where it is not the last seen one of the remote.
    Planned(Option<ObjectId>),
}

/// The same, for a session with this name on the remote and this one here; `taken` are names that the remote was just seen to
/// have.
fn bring_beside(
    scene: &Scene<'_>,
    remote: &Remote,
    (there, name): (&ShortName, &ShortName),
    taken: &[ShortName],
    mode: PullMode,
) -> Result<PulledSession, Error> {
    let mut _worktree = None;
    if mode == PullMode::Done {
        _worktree = Some(lock::worktree(scene.repo, scene.wait)?);
        refs::recover(scene.repo, scene.wait)?;
    }
    let Some(theirs) = fetched_tip(scene, remote, there, mode)? else {
        return Err(Error::NotThere {
            remote: remote.name.clone(),
            session: there.to_string(),
            is_here: session::tip(scene.repo, there)?.is_some(),
        });
    };
    let of_remote = |id| session_choice::load(scene, &format!("{}/{there}", remote.name), id);
    let mut theirs = of_remote(theirs)?;
    let mut left_out = LeftOutCheckpoints::default();
    let (mut aftermath, mut sealed) = (Aftermath::default(), Vec::new());
    for _ in 0..TRIES {
        let ours = session_choice::named(scene, name)?;
        let id = ours
            .as_ref()
            .map_or(&theirs.document.session.id, |ours| &ours.tip.document.session.id);
        let mut _session = None;
        if mode == PullMode::Done {
            _session = Some(lock::session(scene.repo, id, scene.wait)?);
        }
        if let (Some(ours), PullMode::Done) = (&ours, mode)
            && let Some(moves_ours) = continues_apart(scene, ours.tip.entry.id, theirs.entry.id)?
            && let Some(settled) =
                pruned::settle(scene, (&remote.name, name), &ours.tip, (theirs.entry.id, moves_ours))?
        {
            theirs = of_remote(settled.theirs)?;
            left_out.there += settled.left_out.there;
            left_out.here += settled.left_out.here;
            aftermath.extend(settled.aftermath);
            sealed.extend(settled.sealed);
            if settled.ours != ours.tip.entry.id {
                continue;
            }
        }
        if let (Some(ours), PullMode::Planned(_)) = (&ours, mode)
            && let Some(moves_ours) = continues_apart(scene, ours.tip.entry.id, theirs.entry.id)?
        {
            left_out = pruned::planned(scene.repo, ours.tip.entry.id, (theirs.entry.id, moves_ours));
        }
        let step = PullAttempt {
            scene,
            remote,
            there,
            name,
            taken,
            ours: ours.as_ref().map(|ours| &ours.tip),
            theirs: &theirs,
            dry_run: mode != PullMode::Done,
        };
        match step.run() {
            Err(Error::Ops(error))
                if matches!(
                    *error,
                    OpsError::Store(store::Error::Moved { .. } | store::Error::Vanished { .. })
                ) => {}
            pulled => {
                let mut pulled = pulled?;
                pulled.left_out = left_out;
                pulled.aftermath.extend(aftermath);
                let released = sealed.into_iter().filter_map(SealedObjects::release);
                pulled.aftermath.left.extend(released);
                return Ok(pulled);
            }
        }
    }
    Err(OpsError::Contended {
        session: name.clone(),
        tries: TRIES,
    }
    .into())
}

/// An edit that keeps a tip that no session leads to any more; `also` are edits of the same transaction.
pub(super) fn trash(scene: &Scene<'_>, tip: ObjectId, message: &str, also: &[RefUpdate]) -> Result<RefUpdate, Error> {
    let id = session_choice::load(scene, &ids::short(tip), tip)?.document.session.id;
    let prefix = format!("refs/checkpoints-trash/{id}/");
    let number = |name: &str| name.strip_prefix(&prefix)?.parse::<u64>().ok();
    let taken = refs::list(scene.repo, &prefix)?;
    let numbers = taken.iter().filter_map(|(name, _)| number(name));
    let n = numbers
        .chain(also.iter().filter_map(|edit| number(&edit.name)))
        .max()
        .unwrap_or(0)
        + 1;
    Ok(RefUpdate {
        name: format!("{prefix}{n}"),
        expected: ExpectedValue::Absent,
        new: Some(tip),
        message: message.to_owned(),
    })
}

/// Updates that go with moving a session.
#[derive(Default)]
struct Swap {
    /// Further edits of the same transaction.
    more: Vec<RefUpdate>,
    /// Those that move autosaves. An undo moves those that are there then.
    autosaves: Vec<RefUpdate>,
    /// Old and new pointer to the current session.
    current: Option<(current::CurrentPointer, current::CurrentPointer)>,
    /// Hint for when that cannot be written.
    remedy: String,
    /// The latest checkpoint afterwards, where it is not that of the remote.
    tip: Option<ObjectId>,
    /// The session that gets the local checkpoints, where they have diverged.
    separated: Option<ShortName>,
    /// Objects that were written for it.
    sealed: Option<SealedObjects>,
}

/// One try, under the session's lock.
struct PullAttempt<'a> {
    scene: &'a Scene<'a>,
    remote: &'a Remote,
    /// The name of the session there.
    there: &'a ShortName,
    name: &'a ShortName,
    taken: &'a [ShortName],
    ours: Option<&'a Checkpoint>,
    theirs: &'a Checkpoint,
    dry_run: bool,
}

impl PullAttempt<'_> {
    fn run(&self) -> Result<PulledSession, Error> {
        let repo = self.scene.repo;
        let theirs = self.theirs.entry.id;
        let Some(ours) = self.ours else {
            let aftermath = self.swap(Swap::default())?;
            let checkpoints = chain::length(repo, theirs);
            return Ok(self.pulled(PullOutcome::New { checkpoints }, aftermath));
        };
        match chain::relation(repo, ours.entry.id, theirs)? {
            ChainRelation::Same => self.keep(ours, 0),
            ChainRelation::Ahead(ahead) => self.keep(ours, ahead),
            ChainRelation::Behind(checkpoints) => {
                let mut more = Vec::new();
                if !self.dry_run && graph::is_ancestor(repo, ours.entry.id, theirs, WALKED)? != Some(true) {
                    // Pruned there: the same documents, other commits.
                    more.push(trash(self.scene, ours.entry.id, &self.message(), &[])?);
                }
                let aftermath = self.swap(Swap {
                    more,
                    ..Swap::default()
                })?;
                Ok(self.pulled(PullOutcome::Forward { checkpoints }, aftermath))
            }
            ChainRelation::Diverged { ours: own, theirs } if self.are_claims(ours, own)? => {
                let mut more = Vec::new();
                if !self.dry_run {
                    more.push(trash(self.scene, ours.entry.id, &self.message(), &[])?);
                }
                let aftermath = self.swap(Swap {
                    more,
                    ..Swap::default()
                })?;
                let checkpoints = theirs;
                Ok(PulledSession {
                    claims_dropped: true,
                    ..self.pulled(PullOutcome::Forward { checkpoints }, aftermath)
                })
            }
            ChainRelation::Diverged { ours, theirs } if self.dry_run => self.would_part(ours, theirs),
            ChainRelation::Unrelated if self.dry_run => {
                self.would_part(chain::length(repo, ours.entry.id), chain::length(repo, theirs))
            }
            ChainRelation::Diverged { ours: own, theirs } => self.part(ours, own, theirs),
            // One session whose beginning was written again there.
            ChainRelation::Unrelated if ours.document.session.id == self.theirs.document.session.id => {
                let length = |tip: &Checkpoint| chain::length(repo, tip.entry.id);
                self.part(ours, length(ours), length(self.theirs))
            }
            ChainRelation::Unrelated => self.step_aside(ours),
        }
    }

    /// Nothing came: the last `ahead` checkpoints are only here. But the remote may have been pruned.
    fn keep(&self, ours: &Checkpoint, ahead: usize) -> Result<PulledSession, Error> {
        let (repo, theirs) = (self.scene.repo, self.theirs.entry.id);
        let damaged = |fault| OpsError::damaged(self.name.as_str())(fault);
        if !apart::simply_continues(repo, ours.entry.id, theirs).map_err(damaged)?
            && let Some(apart) = PrunedApart::of(repo, ours.entry.id, theirs)
            && !apart.there.is_empty()
        {
            return self.follow_prune(ours, ahead, &apart);
        }
        Ok(self.pulled(PullOutcome::UpToDate { ahead }, Aftermath::default()))
    }

    /// Whether the checkpoints that are only here, the last `own`, are nothing but claims and releases of the session:
    /// neither notes nor files came with them.
    fn are_claims(&self, ours: &Checkpoint, own: usize) -> Result<bool, Error> {
        let repo = self.scene.repo;
        let mut chain = session::chain(repo, ours.entry.id);
        let mut claims = Vec::new();
        for entry in chain.by_ref().take(own) {
            let Ok(entry) = entry else { return Ok(false) };
            let is_claim =
                entry.trailers.kind == Some(CheckpointKind::Event) && entry.trailers.trigger.as_deref() == Some(CLAIM);
            if !is_claim {
                return Ok(false);
            }
            claims.push(session_choice::load(self.scene, self.name.as_str(), entry.id)?);
        }
        let Some(Ok(base)) = chain.next() else { return Ok(false) };
        let base = session_choice::load(self.scene, self.name.as_str(), base.id)?;
        let text = |record: &Record| {
            let mut record = record.clone();
            record.summary = None;
            record.auto_summary = false;
            record
        };
        let before = &base.document;
        // In a working tree without changes there is no work either, whatever files the session had elsewhere.
        let has_no_work = |claim: &Checkpoint| {
            let now = &claim.document;
            (before.snapshot == now.snapshot || now.git.is_clean) && text(&before.record) == text(&now.record)
        };
        Ok(claims.iter().all(has_no_work))
    }

    /// Report of a dry run for diverged sessions.
    fn would_part(&self, ours: usize, theirs: usize) -> Result<PulledSession, Error> {
        let outcome = PullOutcome::Parted {
            tail: self.free_name()?,
            fork: None,
            ours,
            theirs,
        };
        Ok(self.pulled(outcome, Aftermath::default()))
    }

    fn message(&self) -> String {
        format!("{}{}", session::PULLED, self.remote.name)
    }

    /// Moves the session to what the remote has, with further edits in the same transaction; noted for `undo`.
    fn swap(&self, swap: Swap) -> Result<Aftermath, Error> {
        if self.dry_run {
            return Ok(Aftermath::default());
        }
        let old = self.ours.map(|ours| ours.entry.id);
        let mut edits = swap.more;
        edits.push(RefUpdate {
            name: session::ref_name(self.name),
            expected: old.map_or(ExpectedValue::Absent, ExpectedValue::Is),
            new: Some(swap.tip.unwrap_or(self.theirs.entry.id)),
            message: self.message(),
        });
        let deed = UndoableRefTransaction {
            operation: "pull",
            what: format!("pulled {} from {}", self.name, self.remote.name),
            edits: &edits,
            for_good: &swap.autosaves,
            current: swap.current,
            remedy: swap.remedy,
            separated: swap.separated,
            sealed: swap.sealed,
            ..UndoableRefTransaction::default()
        };
        Ok(deed.run(self.scene)?)
    }

    fn pulled(&self, outcome: PullOutcome, aftermath: Aftermath) -> PulledSession {
        let up_to_date = matches!(outcome, PullOutcome::UpToDate { .. });
        let now = match self.ours {
            Some(ours) if up_to_date => ours,
            _ => self.theirs,
        };
        let current = current::read(self.scene.repo).unwrap_or_default().session;
        let tree = |checkpoint: &Checkpoint| checkpoint.document.snapshot.as_ref().map(|files| files.tree.clone());
        PulledSession {
            remote: self.remote.name.clone(),
            fetched: None,
            name: self.name.clone(),
            there: (self.there != self.name).then(|| self.there.clone()),
            id: now.entry.id,
            before: self.ours.map(|ours| ours.entry.id),
            outcome,
            author: now.entry.author.clone(),
            signature: None,
            current: current.is_some_and(|current| current.name == *self.name),
            has_other_files: self.ours.is_some_and(|ours| tree(ours) != tree(now)),
            claims_dropped: false,
            claim: now.document.session.claim.clone(),
            purged_again: ReturnedContent::default(),
            left_over: Vec::new(),
            left_out: LeftOutCheckpoints::default(),
            aftermath,
        }
    }
}
