//! `pull`: a session of this repository brought to what the remote has.
//!
//! Forward where it can; where both went on, what is only here becomes a session of its own in the same transaction,
//! and so does a session of the same name that was made here independently. A tip that no session leads to any more goes
//! to the trash. Nothing is dropped.

mod part;

use super::{Error, Relation, Wire, chain, fetch, fetch::Fetched};
use crate::{
    model::name::Name,
    ops::{
        Error as OpsError, Scene, choose,
        deed::{Aftermath, Deed},
    },
    store::{
        self, ObjectId,
        checkpoint::Checkpoint,
        current, graph, lock,
        objects::Sealed,
        refs::{self, Edit, Expected},
        remote::Remote,
        scratch::Scratch,
        session,
    },
};

/// How the entries of a pulled session's reflog begin, before the name of the remote.
pub(super) const PULLED: &str = "checkpoint: pull from ";
/// How far back commits are looked at to tell whether one comes from another.
const WALKED: usize = 200_000;
/// How often it is tried again because the session was saved meanwhile.
const TRIES: u32 = 20;

/// What is to be brought.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The remote; the usual one without a name.
    pub remote: Option<String>,
    /// The session; the current one without a name.
    pub session: Option<Name>,
    /// Whether to follow the remote where it lost, set back or replaced the session.
    pub accept: bool,
    /// Only tell what would be done.
    pub dry_run: bool,
}

/// What was brought.
#[derive(Debug)]
pub struct Pulled {
    /// The remote.
    pub remote: String,
    /// What was fetched on the way.
    pub fetched: Option<Fetched>,
    /// The session.
    pub name: Name,
    /// Its newest checkpoint now.
    pub id: ObjectId,
    /// What it was before.
    pub before: Option<ObjectId>,
    /// What was done.
    pub outcome: Outcome,
    /// Who made the newest checkpoint.
    pub author: String,
    /// Whether it is the current session of this work tree.
    pub current: bool,
    /// What is left to do or to know.
    pub aftermath: Aftermath,
}

/// What a pull did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
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
    /// Both went on: what was only here is a session of its own now.
    Parted {
        /// That session.
        tail: Name,
        /// Its checkpoint made for that; `None` where the session itself got the name.
        fork: Option<ObjectId>,
        /// How many checkpoints were only here.
        ours: usize,
        /// How many came.
        theirs: usize,
    },
}

/// Fetches and brings the session up.
pub fn pull(scene: &Scene<'_>, request: &Request, wire: Wire<'_>) -> Result<Pulled, Error> {
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
fn pull_with(scene: &Scene<'_>, request: &Request, wire: Wire<'_>) -> Result<Pulled, Error> {
    let name = match &request.session {
        Some(name) => name.clone(),
        None => choose::meant(scene)?.ok_or_else(|| choose::none_current(scene))?.name,
    };
    let fetch = fetch::Request {
        remote: request.remote.clone(),
        session: Some(name.clone()),
        accept: request.accept,
        dry_run: request.dry_run,
    };
    let fetched = if request.dry_run {
        fetch::look(scene, &fetch, wire)?
    } else {
        fetch::fetch(scene, &fetch, wire)?
    };
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
        Mode::Planned(found.and_then(|found| found.tip))
    } else {
        Mode::Done
    };
    let mut pulled = bring_beside(scene, &remote, &name, &fetched.alike, planned)?;
    pulled.fetched = Some(fetched);
    Ok(pulled)
}

/// Brings a session to what was fetched of it last.
pub fn bring(scene: &Scene<'_>, remote: &Remote, name: &Name) -> Result<Pulled, Error> {
    bring_beside(scene, remote, name, &[], Mode::Done)
}

/// Whether a session is brought up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// It is.
    Done,
    /// It is only told what would be done, with this checkpoint where it is not the one known of the remote.
    Planned(Option<ObjectId>),
}

/// The same; `taken` are names that the remote was just seen to have.
fn bring_beside(scene: &Scene<'_>, remote: &Remote, name: &Name, taken: &[Name], mode: Mode) -> Result<Pulled, Error> {
    let mut _worktree = None;
    if mode == Mode::Done {
        _worktree = Some(lock::worktree(scene.repo, scene.wait)?);
        refs::recover(scene.repo, scene.wait)?;
    }
    let theirs = match mode {
        Mode::Planned(Some(tip)) => Some(tip),
        _ => refs::read(scene.repo, &remote.tracking_ref(name))?,
    };
    let theirs = theirs.ok_or_else(|| Error::NotThere {
        remote: remote.name.clone(),
        session: name.to_string(),
    })?;
    let theirs = choose::load(scene, &format!("{}/{name}", remote.name), theirs)?;
    for _ in 0..TRIES {
        let ours = choose::named(scene, name)?;
        let id = ours
            .as_ref()
            .map_or(&theirs.document.session.id, |ours| &ours.tip.document.session.id);
        let mut _session = None;
        if mode == Mode::Done {
            _session = Some(lock::session(scene.repo, id, scene.wait)?);
        }
        let step = Step {
            scene,
            remote,
            name,
            taken,
            ours: ours.as_ref().map(|ours| &ours.tip),
            theirs: &theirs,
            dry_run: mode != Mode::Done,
        };
        match step.run() {
            Err(Error::Ops(error))
                if matches!(
                    *error,
                    OpsError::Store(store::Error::Moved { .. } | store::Error::Vanished { .. })
                ) => {}
            other => return other,
        }
    }
    Err(OpsError::Contended {
        session: name.clone(),
        tries: TRIES,
    }
    .into())
}

/// An edit that keeps a tip that no session leads to any more; `also` are edits of the same transaction.
pub(super) fn trash(scene: &Scene<'_>, tip: ObjectId, message: &str, also: &[Edit]) -> Result<Edit, Error> {
    let id = choose::load(scene, &super::short(tip), tip)?.document.session.id;
    let prefix = format!("refs/checkpoints-trash/{id}/");
    let number = |name: &str| name.strip_prefix(&prefix)?.parse::<u64>().ok();
    let taken = refs::list(scene.repo, &prefix)?;
    let numbers = taken.iter().filter_map(|(name, _)| number(name));
    let n = numbers
        .chain(also.iter().filter_map(|edit| number(&edit.name)))
        .max()
        .unwrap_or(0)
        + 1;
    Ok(Edit {
        name: format!("{prefix}{n}"),
        expected: Expected::Absent,
        new: Some(tip),
        message: message.to_owned(),
    })
}

/// What is done along with moving a session.
#[derive(Default)]
struct Swap {
    /// Further edits of the same transaction.
    more: Vec<Edit>,
    /// What the note of the current session is and becomes.
    current: Option<(current::Current, current::Current)>,
    /// What to do when that cannot be written.
    remedy: String,
    /// Objects that were written for it.
    sealed: Option<Sealed>,
}

/// One try, under the session's lock.
struct Step<'a> {
    scene: &'a Scene<'a>,
    remote: &'a Remote,
    name: &'a Name,
    taken: &'a [Name],
    ours: Option<&'a Checkpoint>,
    theirs: &'a Checkpoint,
    dry_run: bool,
}

impl Step<'_> {
    fn run(&self) -> Result<Pulled, Error> {
        let repo = self.scene.repo;
        let theirs = self.theirs.entry.id;
        let Some(ours) = self.ours else {
            let aftermath = self.swap(Swap::default())?;
            let checkpoints = chain::length(repo, theirs);
            return Ok(self.pulled(Outcome::New { checkpoints }, aftermath));
        };
        match chain::relation(repo, ours.entry.id, theirs)? {
            Relation::Same => Ok(self.pulled(Outcome::UpToDate { ahead: 0 }, Aftermath::default())),
            Relation::Ahead(ahead) => Ok(self.pulled(Outcome::UpToDate { ahead }, Aftermath::default())),
            Relation::Behind(checkpoints) => {
                let mut more = Vec::new();
                if !self.dry_run && graph::is_ancestor(repo, ours.entry.id, theirs, WALKED)? != Some(true) {
                    // Pruned there: the same documents, other commits.
                    more.push(trash(self.scene, ours.entry.id, &self.message(), &[])?);
                }
                let aftermath = self.swap(Swap {
                    more,
                    ..Swap::default()
                })?;
                Ok(self.pulled(Outcome::Forward { checkpoints }, aftermath))
            }
            Relation::Diverged { ours, theirs } if self.dry_run => self.would_part(ours, theirs),
            Relation::Unrelated if self.dry_run => {
                self.would_part(chain::length(repo, ours.entry.id), chain::length(repo, theirs))
            }
            Relation::Diverged { ours: own, theirs } => self.part(ours, own, theirs),
            Relation::Unrelated => self.step_aside(ours),
        }
    }

    /// What a dry run says where both sides have checkpoints of their own.
    fn would_part(&self, ours: usize, theirs: usize) -> Result<Pulled, Error> {
        let outcome = Outcome::Parted {
            tail: self.free_name()?,
            fork: None,
            ours,
            theirs,
        };
        Ok(self.pulled(outcome, Aftermath::default()))
    }

    fn message(&self) -> String {
        format!("{PULLED}{}", self.remote.name)
    }

    /// Moves the session to what the remote has, with further edits in the same transaction; noted for `undo`.
    fn swap(&self, swap: Swap) -> Result<Aftermath, Error> {
        if self.dry_run {
            return Ok(Aftermath::default());
        }
        let old = self.ours.map(|ours| ours.entry.id);
        let mut edits = swap.more;
        edits.push(Edit {
            name: session::ref_name(self.name),
            expected: old.map_or(Expected::Absent, Expected::Is),
            new: Some(self.theirs.entry.id),
            message: self.message(),
        });
        let deed = Deed {
            operation: "pull",
            what: format!("pulled {} from {}", self.name, self.remote.name),
            edits: &edits,
            current: swap.current,
            remedy: swap.remedy,
            sealed: swap.sealed,
            ..Deed::default()
        };
        Ok(deed.run(self.scene)?)
    }

    fn pulled(&self, outcome: Outcome, aftermath: Aftermath) -> Pulled {
        let up_to_date = matches!(outcome, Outcome::UpToDate { .. });
        let now = match self.ours {
            Some(ours) if up_to_date => ours,
            _ => self.theirs,
        };
        let current = current::read(self.scene.repo).unwrap_or_default().session;
        Pulled {
            remote: self.remote.name.clone(),
            fetched: None,
            name: self.name.clone(),
            id: now.entry.id,
            before: self.ours.map(|ours| ours.entry.id),
            outcome,
            author: now.entry.author.clone(),
            current: current.is_some_and(|current| current.name == *self.name),
            aftermath,
        }
    }
}
