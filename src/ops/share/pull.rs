//! `pull`: a session of this repository brought to what the remote has.
//!
//! Forward where it can; where both went on, what is only here becomes a session of its own in the same transaction,
//! and so does a session of the same name that was made here independently. A tip that no session leads to any more goes
//! to the trash. Nothing is dropped.

use super::{Error, Relation, Wire, chain, fetch, fetch::Fetched};
use crate::{
    model::{
        document::{Document, ForkedFrom, Kind},
        name::Name,
        operation::Operation,
    },
    ops::{Error as OpsError, Scene, choose, compose, fresh, undo as taking_back},
    store::{
        self, ObjectId,
        checkpoint::{self, Checkpoint, Siblings, oid},
        current::{self, SessionRef},
        draft, graph, lock,
        objects::{self, Writer},
        refs::{self, Edit, Expected},
        remote::Remote,
        session,
    },
};

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
    let name = match &request.session {
        Some(name) => name.clone(),
        None => choose::meant(scene)?.ok_or_else(|| choose::none_current(scene))?.name,
    };
    let fetched = fetch::fetch(
        scene,
        &fetch::Request {
            remote: request.remote.clone(),
            session: Some(name.clone()),
            accept: request.accept,
        },
        wire,
    )?;
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
    let mut pulled = bring(scene, &remote, &name)?;
    pulled.fetched = Some(fetched);
    Ok(pulled)
}

/// Brings a session to what was fetched of it last.
pub fn bring(scene: &Scene<'_>, remote: &Remote, name: &Name) -> Result<Pulled, Error> {
    refs::recover(scene.repo, scene.wait)?;
    let theirs = refs::read(scene.repo, &remote.tracking_ref(name))?.ok_or_else(|| Error::NotThere {
        remote: remote.name.clone(),
        session: name.to_string(),
    })?;
    let theirs = choose::load(scene, &format!("{}/{name}", remote.name), theirs)?;
    for _ in 0..TRIES {
        let ours = choose::named(scene, name)?;
        let id = ours
            .as_ref()
            .map_or(&theirs.document.session.id, |ours| &ours.tip.document.session.id);
        let _session = lock::session(scene.repo, id, scene.wait)?;
        let step = Step {
            scene,
            remote,
            name,
            ours: ours.as_ref().map(|ours| &ours.tip),
            theirs: &theirs,
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

/// One try, under the session's lock.
struct Step<'a> {
    scene: &'a Scene<'a>,
    remote: &'a Remote,
    name: &'a Name,
    ours: Option<&'a Checkpoint>,
    theirs: &'a Checkpoint,
}

impl Step<'_> {
    fn run(&self) -> Result<Pulled, Error> {
        let repo = self.scene.repo;
        let theirs = self.theirs.entry.id;
        let Some(ours) = self.ours else {
            self.swap(Vec::new(), None)?;
            let checkpoints = chain::length(repo, theirs);
            return self.pulled(Outcome::New { checkpoints });
        };
        match chain::relation(repo, ours.entry.id, theirs)? {
            Relation::Same => self.pulled(Outcome::UpToDate { ahead: 0 }),
            Relation::Ahead(ahead) => self.pulled(Outcome::UpToDate { ahead }),
            Relation::Behind(checkpoints) => {
                let mut more = Vec::new();
                if graph::is_ancestor(repo, ours.entry.id, theirs, WALKED)? != Some(true) {
                    // Pruned there: the same documents, other commits.
                    more.push(trash(self.scene, ours.entry.id, &self.message(), &[])?);
                }
                self.swap(more, None)?;
                self.pulled(Outcome::Forward { checkpoints })
            }
            Relation::Diverged { ours: own, theirs } => self.part(ours, own, theirs),
            Relation::Unrelated => self.step_aside(ours),
        }
    }

    fn message(&self) -> String {
        format!("checkpoint: pull from {}", self.remote.name)
    }

    /// Moves the session to what the remote has, with further edits in the same transaction; noted for `undo`.
    fn swap(&self, more: Vec<Edit>, current: Option<(current::Current, current::Current)>) -> Result<(), Error> {
        let scene = self.scene;
        let old = self.ours.map(|ours| ours.entry.id);
        let mut edits = more;
        edits.push(Edit {
            name: session::ref_name(self.name),
            expected: old.map_or(Expected::Absent, Expected::Is),
            new: Some(self.theirs.entry.id),
            message: self.message(),
        });
        refs::update(scene.repo, &edits, &compose::people(scene).committer, scene.wait)?;
        let moves = edits
            .iter()
            .map(|edit| {
                let old = match edit.expected {
                    Expected::Is(id) => Some(oid(id)),
                    _ => None,
                };
                (edit.name.clone(), old, edit.new.map(oid))
            })
            .collect();
        let what = format!("pulled {} from {}", self.name, self.remote.name);
        if let Some((_, after)) = &current {
            current::write(scene.repo, after)?;
        }
        Ok(taking_back::note_refs(scene, "pull", what, moves, current)?)
    }

    fn pulled(&self, outcome: Outcome) -> Result<Pulled, Error> {
        let up_to_date = matches!(outcome, Outcome::UpToDate { .. });
        let now = match self.ours {
            Some(ours) if up_to_date => ours,
            _ => self.theirs,
        };
        let current = current::read(self.scene.repo).unwrap_or_default().session;
        Ok(Pulled {
            remote: self.remote.name.clone(),
            fetched: None,
            name: self.name.clone(),
            id: now.entry.id,
            before: self.ours.map(|ours| ours.entry.id),
            outcome,
            author: now.entry.author.clone(),
            current: current.is_some_and(|current| current.name == *self.name),
        })
    }

    /// `<session>-<host>`, and a number where that is taken.
    fn free_name(&self) -> Result<Name, Error> {
        for n in 1_u32.. {
            let host = Name::slug(self.scene.host, "x");
            let host = host.as_str().trim_end_matches("-x");
            let host: String = host.chars().take(24).collect();
            let suffix = if n == 1 { host } else { format!("{host}-{n}") };
            let name = Name::slug(self.name.as_str(), suffix.trim_end_matches('-'));
            if session::tip(self.scene.repo, &name)?.is_none() {
                return Ok(name);
            }
        }
        Err(OpsError::Unsettled.into())
    }

    /// Both went on: what is only here becomes a fork, which draft and current session follow.
    fn part(&self, ours: &Checkpoint, own: usize, came: usize) -> Result<Pulled, Error> {
        let scene = self.scene;
        objects::sweep(scene.repo)?;
        let tail = self.free_name()?;
        let (document, fork, sealed) = self.fork(ours, &tail)?;
        let id = &document.session.id;
        let old_id = &ours.document.session.id;
        self.copy_draft(ours, id)?;
        let (before, after) = follow(scene, old_id, id, &tail)?;
        let edit = Edit {
            name: session::ref_name(&tail),
            expected: Expected::Absent,
            new: Some(fork),
            message: self.message(),
        };
        self.swap(vec![edit], (before != after).then_some((before, after)))?;
        refs::verify_present(scene.repo, sealed.relied_on())?;
        drop(sealed.release());
        follow_elsewhere(scene, old_id, id, &tail);
        if let Some(last) = draft::read(scene.repo, old_id)?.last() {
            draft::clear(scene.repo, old_id, last, scene.wait)?;
        }
        self.pulled(Outcome::Parted {
            tail,
            fork: Some(fork),
            ours: own,
            theirs: came,
        })
    }

    /// The checkpoint on top of what is only here, with which it becomes a session of its own.
    fn fork(&self, ours: &Checkpoint, tail: &Name) -> Result<(Document, ObjectId, objects::Sealed), Error> {
        let scene = self.scene;
        let mut document = ours.document.clone();
        let now = compose::document(scene, document.session.clone(), Kind::Fork, document.git.clone());
        document.session.id = fresh::session_id()?;
        document.session.name = tail.clone();
        document.session.created_at = scene.now;
        document.session.forked_from = Some(ForkedFrom {
            digest: ours.digest.clone(),
            session: self.name.clone(),
            option: None,
        });
        document.name = None;
        document.kind = Kind::Fork;
        document.trigger = Some("pull".to_owned());
        document.created_at = scene.now;
        document.tool = now.tool;
        document.host = now.host;
        document.worktree = now.worktree;
        document.previous = Some(ours.digest.clone());
        document.folded.clear();
        document.included = None;
        let people = compose::people(scene);
        let writer = Writer::durable(scene.repo)?;
        let damaged = |fault| OpsError::damaged(self.name.as_str())(fault);
        let (held, _) = checkpoint::siblings(scene.repo, &ours.entry).map_err(damaged)?;
        let mut siblings = Siblings::default();
        for kept in held.named().keys() {
            siblings.keep(&held, kept);
        }
        let lists = checkpoint::lists(scene.repo, ours).map_err(damaged)?;
        let parents = [Some(ours.entry.id), ours.snapshot()].into_iter().flatten().collect();
        let written = checkpoint::write(&writer, &mut document, lists.is_partial(), &siblings, parents, &people)?;
        Ok((document, written.id, writer.finish()?))
    }

    /// Copies what waits in the session's draft to the draft of the fork. The old one is cleared last.
    fn copy_draft(&self, ours: &Checkpoint, id: &str) -> Result<(), Error> {
        let waiting = draft::read(self.scene.repo, &ours.document.session.id)?;
        let operations: Vec<Operation> = waiting
            .after(&ours.document.folded)
            .map(|(_, operation)| operation.clone())
            .collect();
        if !operations.is_empty() {
            let draft_id = fresh::item_id()?;
            draft::append(self.scene.repo, id, &operations, || draft_id, self.scene.wait)?;
        }
        Ok(())
    }

    /// A session of the same name that was made here independently makes room: it keeps its identity under another name.
    fn step_aside(&self, ours: &Checkpoint) -> Result<Pulled, Error> {
        let scene = self.scene;
        let tail = self.free_name()?;
        let id = &ours.document.session.id;
        let own = chain::length(scene.repo, ours.entry.id);
        let (before, after) = follow(scene, id, id, &tail)?;
        let edit = Edit {
            name: session::ref_name(&tail),
            expected: Expected::Absent,
            new: Some(ours.entry.id),
            message: self.message(),
        };
        self.swap(vec![edit], (before != after).then_some((before, after)))?;
        follow_elsewhere(scene, id, id, &tail);
        self.pulled(Outcome::Parted {
            tail,
            fork: None,
            ours: own,
            theirs: chain::length(scene.repo, self.theirs.entry.id),
        })
    }
}

/// What the note of the current session is, and what it becomes where a session gets another identity and name.
fn follow(scene: &Scene<'_>, old: &str, new: &str, name: &Name) -> Result<(current::Current, current::Current), Error> {
    let before = current::read_to_replace(scene.repo)?;
    let mut after = before.clone();
    for entry in [&mut after.session, &mut after.previous].into_iter().flatten() {
        if entry.id == old {
            *entry = SessionRef {
                id: new.to_owned(),
                name: name.clone(),
            };
        }
    }
    Ok((before, after))
}

/// The same in the other work trees. One that cannot be written stays with the old name, which the remote's session has
/// now, and says so at its next save.
fn follow_elsewhere(scene: &Scene<'_>, old: &str, new: &str, name: &Name) {
    let here = store::worktree_id(scene.repo);
    for id in store::worktree_ids(scene.repo) {
        if id == here {
            continue;
        }
        let Some(path) = store::worktree_path(scene.repo, &id) else {
            continue;
        };
        let Ok(repo) = store::open_beside(scene.repo, &path) else {
            continue;
        };
        let there = Scene { repo: &repo, ..*scene };
        if let Ok((before, after)) = follow(&there, old, new, name)
            && before != after
        {
            let _ = current::write(&repo, &after);
        }
    }
}
