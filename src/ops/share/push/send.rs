//! Sending: what goes for each session, git's answer, and looking again where the remote has moved.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        ChainRelation, Error, Wire,
        apart::{self, PrunedSide},
        chain,
        change::RemoteChange,
        exchange, fetch, listing, unreachable,
    },
    NamedElsewhere, PushFate, PushRequest, PushSelection, PushedSession, RefusalCause, SessionToPush,
    answer::{RemoteAnswer, is_namespace, is_shallow, namespace_words},
    command::{NAMED, PushAnswers, PushSpec, push_refs},
};
use crate::{
    model::{name::ShortName, path::RepoPath},
    ops::{Scene, compose, markers, session_choice},
    os,
    store::{
        self, Kind, ObjectId,
        checkpoint::{self, object_id},
        graph,
        refs::{self, ExpectedValue, RefUpdate},
        remote::Remote,
        remote_state::RemoteState,
        session, tree,
    },
    worktree::snapshot,
};

/// Limit of commits that are searched to decide whether one descends from another.
const WALKED: usize = 200_000;
/// How many machines of one name may push autosaves of a session.
const MOST_NAMESAKES: usize = 100;
/// How often a push is tried again because the remote moved meanwhile.
const TRIES: usize = 3;

pub(super) struct Push<'a> {
    pub(super) scene: &'a Scene<'a>,
    pub(super) request: &'a PushRequest,
    pub(super) remote: &'a Remote,
    /// Fates of sessions that the remote has under another name.
    pub(super) otherwise: BTreeMap<ShortName, PushFate>,
    pub(super) wire: Wire<'a>,
}

/// Plan for a session.
enum PushPlan {
    /// It is pushed, and then has this fate.
    Send(PushSpec, PushFate),
    /// Nothing is pushed.
    Leave(PushFate),
}

/// Whether a session is what was deleted at a remote from here, or continues from it.
pub(in crate::ops::share) fn is_deleted_from_here(
    scene: &Scene<'_>,
    known: &RemoteState,
    name: &str,
    id: ObjectId,
) -> Result<bool, Error> {
    let Some(tip) = known.deleted_tip(name).filter(|tip| scene.repo.has_object(*tip)) else {
        return Ok(false);
    };
    let relation = chain::relation(scene.repo, id, tip)?;
    Ok(matches!(relation, ChainRelation::Same | ChainRelation::Ahead(_)))
}

impl Push<'_> {
    pub(super) fn run(
        &self,
        sessions: Vec<SessionToPush>,
        mut autosaves: Vec<PushSpec>,
    ) -> Result<(Vec<PushedSession>, usize), Error> {
        let order: Vec<ShortName> = sessions.iter().map(|(name, ..)| name.clone()).collect();
        let mut fates = BTreeMap::new();
        let mut open = sessions;
        let mut sent_autosaves = 0;
        let mut deleted = self.deleted(&open)?;
        let is_few = open.len() <= NAMED;
        for attempt in 0..TRIES {
            // The remote does not take what it was seen to have and has no more. Afterwards it was looked at.
            let is_exact = is_few && attempt == 0;
            let mut specs = Vec::new();
            let mut planned = BTreeMap::new();
            for (name, id, tracking) in &open {
                if let Some(fate) = self.otherwise.get(name) {
                    fates.insert(name.clone(), (*id, fate.clone()));
                    continue;
                }
                let plan = match (deleted.contains(name), self.request.force) {
                    (true, false) => PushPlan::Leave(PushFate::Deleted),
                    (true, true) => PushPlan::Send(self.spec(name, *id, None), PushFate::PutBack),
                    (false, _) => self.plan(name, *id, *tracking, is_exact)?,
                };
                match plan {
                    PushPlan::Send(spec, fate) => {
                        specs.push(spec);
                        planned.insert(name.clone(), fate);
                    }
                    PushPlan::Leave(fate) => drop(fates.insert(name.clone(), (*id, fate))),
                }
            }
            open.retain(|(name, ..)| planned.contains_key(name));
            let own = autosaves.len();
            specs.append(&mut autosaves);
            if specs.is_empty() {
                break;
            }
            let answers = self.transfer(&specs)?;
            let said = namespace_words(&answers.exchange.words);
            sent_autosaves += specs
                .iter()
                .rev()
                .take(own)
                .filter(|spec| answers.of.get(&spec.target).is_some_and(RemoteAnswer::is_good))
                .count();
            let mut again = Vec::new();
            let mut seen = Vec::new();
            for (name, id, tracking) in std::mem::take(&mut open) {
                let Some(planned) = planned.remove(&name) else { continue };
                let fate = match answers.of.get(&self.remote.session_ref(&name)) {
                    // It was seen to have just that before.
                    Some(RemoteAnswer::Done) if planned == PushFate::UpToDate => PushFate::PutBack,
                    Some(RemoteAnswer::Done) => planned,
                    Some(RemoteAnswer::UpToDate) => PushFate::UpToDate,
                    Some(RemoteAnswer::Moved(_)) if attempt + 1 < TRIES => {
                        again.push((name, id, tracking));
                        continue;
                    }
                    Some(RemoteAnswer::Moved(why)) => PushFate::Refused {
                        why: why.clone(),
                        cause: RefusalCause::Other,
                    },
                    Some(RemoteAnswer::Refused(why)) => PushFate::Refused {
                        cause: self.cause(why, said),
                        why: why.clone(),
                    },
                    None => {
                        return Err(Error::Unreachable {
                            remote: self.remote.name.clone(),
                            denied: false,
                            missing: false,
                            why: vec![format!("it said nothing about session '{name}'")],
                        });
                    }
                };
                if fate.is_good() {
                    seen.push((name.clone(), id, tracking));
                }
                fates.insert(name, (id, fate));
            }
            if !self.request.dry_run {
                self.remember(&seen)?;
            }
            if again.is_empty() {
                break;
            }
            // The remote is not what it was last seen to be: look, and compare anew.
            let fetch = fetch::FetchRequest {
                remote: Some(self.remote.name.clone()),
                session: (again.len() == 1).then(|| again[0].0.clone()),
                only: None,
                since: None,
                accept: false,
                dry_run: self.request.dry_run,
            };
            let fetched = if self.request.dry_run {
                fetch::look(self.scene, &fetch, self.wire)?
            } else {
                fetch::fetch(self.scene, &fetch, self.wire)?
            };
            for (name, id, _) in again {
                let found = fetched.sessions.iter().find(|found| found.name == name);
                if found.is_some_and(|found| found.change == RemoteChange::Deleted) {
                    deleted.insert(name.clone());
                }
                if let Some(there) = found.and_then(|found| found.renamed.clone()) {
                    let fate = PushFate::NamedOtherwise(NamedElsewhere {
                        is_taken: session::tip(self.scene.repo, &there)?.is_some(),
                        is_taken_there: false,
                        has_more: true,
                        there,
                    });
                    fates.insert(name, (id, fate));
                    continue;
                }
                let there = match found {
                    Some(found) => found.tip,
                    None => refs::read(self.scene.repo, &self.remote.tracking_ref(&name))?,
                };
                if let Some((_, why)) = fetched.refused.iter().find(|(refused, _)| refused == name.as_str()) {
                    let why = format!("what the remote has of it is not safe to use: {why}");
                    fates.insert(
                        name,
                        (
                            id,
                            PushFate::Refused {
                                why,
                                cause: RefusalCause::Other,
                            },
                        ),
                    );
                    continue;
                }
                open.push((name, id, there));
            }
        }
        let sent = order.into_iter().filter_map(|name| {
            let (id, fate) = fates.remove(&name)?;
            Some((name, id, fate))
        });
        let sent = sent.map(|(name, id, fate)| {
            let (unmerged, marked) = if fate.is_sent() {
                self.unmerged(&name, id)?
            } else {
                (0, 0)
            };
            Ok(PushedSession {
                name,
                id,
                fate,
                unmerged,
                marked,
            })
        });
        let sent = sent.collect::<Result<_, Error>>()?;
        Ok((sent, sent_autosaves))
    }

    /// Cause of a refusal. `said` is whether the remote spoke of refs besides.
    fn cause(&self, why: &str, said: bool) -> RefusalCause {
        if is_shallow(why) {
            return RefusalCause::Shallow;
        }
        if (is_namespace(why) || said) && !self.remote.namespace.starts_with("refs/heads/") {
            return RefusalCause::Namespace;
        }
        RefusalCause::Other
    }

    /// The number of paths that are unmerged in a checkpoint, and of those with conflict markers.
    fn unmerged(&self, name: &ShortName, id: ObjectId) -> Result<(usize, usize), Error> {
        let repo = self.scene.repo;
        let checkpoint = session_choice::load(self.scene, name.as_str(), id)?;
        if !checkpoint.document.trees.contains_key("conflicts") {
            return Ok((0, 0));
        }
        let damaged = crate::ops::Error::damaged(name.as_str());
        let lists = checkpoint::lists(repo, &checkpoint).map_err(damaged)?;
        let files = checkpoint.document.snapshot.as_ref();
        let files = files.map(|snapshot| object_id(&snapshot.tree));
        // Content that cannot be read was sent anyway.
        let is_marked = |path: &RepoPath| {
            let blob = object_id(&tree::entry(repo, files?, path).ok()??.id);
            let content = checkpoint::read(repo, blob, Kind::Blob, "blob").ok()?;
            Some(markers::has_markers(&content))
        };
        let marked = lists.unmerged().filter(|path| is_marked(path) == Some(true)).count();
        Ok((lists.unmerged().count(), marked))
    }

    /// The sessions that the remote had and has no more, as far as that is known or, of very many, asked for here. One that
    /// was deleted there from here goes again only where it is named.
    fn deleted(&self, open: &[SessionToPush]) -> Result<BTreeSet<ShortName>, Error> {
        let repo = self.scene.repo;
        let known = RemoteState::of(repo, &self.remote.name);
        let is_named = matches!(self.request.which, PushSelection::Named(_));
        let is_any_known = open.iter().any(|(_, _, tracking)| tracking.is_some());
        let there = (open.len() > NAMED && is_any_known)
            .then(|| listing::of(self.scene, self.remote, None, self.wire))
            .transpose()?;
        let mut deleted = BTreeSet::new();
        for (name, id, tracking) in open {
            let is_deleted = match tracking {
                Some(tracking) => {
                    let is_listed = |there: &listing::RemoteListing| there.sessions.contains_key(name);
                    known.is_deleted(name.as_str(), *tracking) || there.as_ref().is_some_and(|there| !is_listed(there))
                }
                None if is_named => false,
                None => is_deleted_from_here(self.scene, &known, name.as_str(), *id)?,
            };
            if is_deleted {
                deleted.insert(name.clone());
            }
        }
        Ok(deleted)
    }

    /// Plans the push of a session. With `is_exact` the remote takes it only if it has what it was last seen to have.
    fn plan(&self, name: &ShortName, id: ObjectId, there: Option<ObjectId>, is_exact: bool) -> Result<PushPlan, Error> {
        let repo = self.scene.repo;
        let spec = |lease| self.spec(name, id, lease);
        let Some(there) = there else {
            return Ok(PushPlan::Send(spec(None), PushFate::New(chain::length(repo, id))));
        };
        let exact = is_exact.then_some(there);
        let relation = chain::relation(repo, id, there)?;
        let pruned = apart::pruned_side(repo, (id, there), relation)?;
        if let Some(PrunedSide::Theirs { ours, dropped, is_both }) = pruned {
            return Ok(if self.request.force {
                PushPlan::Send(spec(Some(there)), PushFate::PutBack)
            } else {
                PushPlan::Leave(PushFate::PrunedThere {
                    ours,
                    dropped,
                    has_new: ours > 0 || is_both,
                })
            });
        }
        Ok(match relation {
            ChainRelation::Same if id == there => PushPlan::Send(spec(exact), PushFate::UpToDate),
            ChainRelation::Same if pruned == Some(PrunedSide::Ours) => {
                PushPlan::Send(spec(Some(there)), PushFate::Pruned)
            }
            ChainRelation::Same => PushPlan::Leave(PushFate::UpToDate),
            ChainRelation::Ahead(count) => {
                let goes_on = graph::is_ancestor(repo, there, id, WALKED)? == Some(true);
                let lease = if goes_on { exact } else { Some(there) };
                PushPlan::Send(spec(lease), PushFate::Forward(count))
            }
            ChainRelation::Behind(count) => PushPlan::Leave(PushFate::Behind(count)),
            ChainRelation::Diverged { ours, theirs } => PushPlan::Leave(PushFate::Diverged { ours, theirs }),
            ChainRelation::Unrelated => PushPlan::Leave(PushFate::Another),
        })
    }

    fn spec(&self, name: &ShortName, id: ObjectId, lease: Option<ObjectId>) -> PushSpec {
        PushSpec {
            id: Some(id),
            target: self.remote.session_ref(name),
            lease,
        }
    }

    /// The autosaves of these sessions, under the name of this machine. Where what the remote has under it is not here,
    /// another machine is called alike, and a number follows the name.
    pub(super) fn autosaves(&self, sessions: &[SessionToPush]) -> Result<Vec<PushSpec>, Error> {
        let mut specs = Vec::new();
        if !self.request.autosaves {
            return Ok(specs);
        }
        let host = ShortName::slug(self.scene.host, "x");
        let host = host.as_str().trim_end_matches("-x").to_owned();
        let mut autosaves = Vec::new();
        for (name, id, _) in sessions {
            let id = session_choice::load(self.scene, name.as_str(), *id)?
                .document
                .session
                .id;
            for (full, target) in refs::list(self.scene.repo, &format!("refs/checkpoints-autosave/{id}/"))? {
                // Of a damaged one nothing can be sent; verify names it.
                let Ok(id) = target else { continue };
                autosaves.push((id, format!("{}.{host}", self.remote.autosave_ref(&full))));
            }
        }
        if autosaves.is_empty() {
            return Ok(specs);
        }
        let patterns = if autosaves.len() > NAMED {
            vec![format!("{}*", self.remote.autosave_ref("refs/checkpoints-autosave/"))]
        } else {
            autosaves.iter().map(|(_, target)| format!("{target}*")).collect()
        };
        let there = listing::refs(self.scene, self.remote, patterns, self.wire)?;
        for (id, target) in autosaves {
            let numbered = (2..MOST_NAMESAKES).map(|n| format!("{target}-{n}"));
            let free = std::iter::once(target.clone()).chain(numbered).find_map(|target| {
                let lease = there.get(&target).copied();
                let is_own = lease.is_none_or(|known| self.scene.repo.has_object(known));
                is_own.then_some((target, lease))
            });
            let Some((target, lease)) = free else { continue };
            specs.push(PushSpec {
                id: Some(id),
                target,
                lease,
            });
        }
        Ok(specs)
    }

    /// Runs `git push` and gives what became of each ref.
    fn transfer(&self, specs: &[PushSpec]) -> Result<PushAnswers, Error> {
        let answers = push_refs(self.scene.repo, self.remote, specs, self.request.dry_run, self.wire)?;
        let whole = specs.iter().all(|spec| answers.of.contains_key(&spec.target));
        if !whole || (answers.exchange.code != Some(0) && answers.of.values().all(RemoteAnswer::is_good)) {
            return Err(unreachable(self.remote, &answers.exchange.words));
        }
        Ok(answers)
    }

    /// Notes what the remote has now.
    fn remember(&self, seen: &[SessionToPush]) -> Result<(), Error> {
        let mut edits = Vec::new();
        // What is known already is not written again.
        let is_new = |(_, id, tracking): &&SessionToPush| *tracking != Some(*id);
        for (name, id, _) in seen.iter().filter(is_new) {
            edits.push(RefUpdate {
                name: self.remote.tracking_ref(name),
                expected: ExpectedValue::Any,
                new: Some(*id),
                message: "checkpoint: push".to_owned(),
            });
        }
        refs::update(
            self.scene.repo,
            &edits,
            &compose::people(self.scene).committer,
            self.scene.wait,
        )?;
        RemoteState::update(self.scene.repo, &self.remote.name, |state| {
            for (name, ..) in seen {
                state.set(name, None);
            }
        })?;
        if !seen.is_empty() {
            os::trace::changed();
        }
        Ok(())
    }

    /// Sends contents of git-lfs.
    pub(super) fn contents(&self, pointers: &[String]) -> Result<(), Error> {
        let failed = |why: String| Error::Lfs {
            remote: self.remote.name.clone(),
            objects: pointers.len(),
            why,
        };
        let has = store::git(self.scene.repo).args(["lfs", "version"]).run();
        if has.is_err() {
            return Err(failed("git-lfs is not installed".to_owned()));
        }
        for pointer in pointers {
            snapshot::publish_lfs(self.scene.repo, pointer).map_err(crate::ops::Error::from)?;
        }
        // A command line has room for some thousand.
        for some in pointers.chunks(500) {
            let git = store::git(self.scene.repo)
                .args(["lfs", "push", "--object-id"])
                .arg(&self.remote.name)
                .args(some);
            let exchange = exchange(git, self.wire, None)?;
            if exchange.code != Some(0) {
                let said = exchange.words.lines().next_back().unwrap_or("it failed").to_owned();
                return Err(failed(format!("git lfs push: {said}")));
            }
        }
        Ok(())
    }
}
