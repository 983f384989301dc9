//! `purge`: content removed for good, on purpose, from everything that git-checkpoint keeps.
//!
//! Files by path, from every checkpoint there is; or a checkpoint or a session as a whole. Chains are written again
//! with new documents, one change of refs puts all of them in place, and what remembers the old ones (reflogs, undo
//! lists) forgets them. There is no way back, so nothing of it is done unasked. The project's own history, index and
//! stash are not changed, only reported.

mod anchor;
mod attachments;
mod chain;
mod follow_up;
mod scope;

pub(super) use anchor::anchor;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use self::{
    chain::Rewriter,
    follow_up::PurgeFollowUp,
    scope::{PurgeSelection, RefInventory},
};
use super::{
    Error, Scene, compose, pathspecs,
    plan_runner::{self, PlanOperation},
    refuse, session_choice,
};
use crate::{
    model::{id::Oid, name::ShortName, path::RepoPath, selector::Selector},
    os::os_string,
    store::{
        self, ObjectId,
        checkpoint::{self, object_id, oid},
        lock,
        objects::Writer,
        path_removal::PathRemover,
        pathspec::PathFilter,
        reachability,
        refs::{self, ExpectedValue, RefUpdate},
        remote,
        remote_state::RemoteState,
        rewrite, session,
        tree::{self, Renames},
        undo,
    },
    worktree::journal,
};

/// How often the purge starts over because of a save in the meantime.
const TRIES: u32 = 10;
/// Message of the reflog entries.
const MESSAGE: &str = "checkpoint: purge";

/// Target of a purge.
#[derive(Clone, Debug)]
pub enum PurgeTarget {
    /// Files, by pathspecs relative to a directory below the root of the working tree.
    Paths {
        /// The pathspecs.
        specs: Vec<RepoPath>,
        /// The directory.
        directory: RepoPath,
    },
    /// A session by its name, or one of its checkpoints.
    Selected(Selector),
}

/// A request to purge.
#[derive(Clone, Debug)]
pub struct PurgeRequest {
    /// Target of the purge.
    pub what: PurgeTarget,
    /// Whether nothing is changed.
    pub dry_run: bool,
}

/// Interpreted target of a purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PurgeScope {
    /// Files.
    Paths,
    /// A checkpoint.
    Checkpoint {
        /// Its commit.
        id: Oid,
        /// The session it was found through.
        session: Option<ShortName>,
    },
    /// A whole session.
    Session {
        /// Its name.
        name: ShortName,
    },
}

/// A ref that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRef {
    /// Its full name.
    pub name: String,
    /// Old value.
    pub old: Oid,
    /// New value; `None` if it was deleted.
    pub new: Option<Oid>,
}

/// A session on a remote that still has what was removed here, as of the last fetch or push.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OnRemote {
    /// The remote, as refs spell it.
    pub remote: String,
    /// The session.
    pub session: String,
    /// Its latest checkpoint there.
    pub tip: Oid,
}

/// The end of a session that each checkpoint which a purge read is now: itself, written again, or the one before it;
/// `None` if it goes with its whole session. What is not in it was not read.
pub type Replacements = HashMap<ObjectId, Option<ObjectId>>;

/// Result of a purge, or of its dry run.
#[derive(Debug)]
pub struct PurgeOutcome {
    /// Interpreted target.
    pub meant: PurgeScope,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The files that were removed from checkpoints, each with its contents.
    pub paths: BTreeMap<RepoPath, BTreeSet<Oid>>,
    /// Names of attachments with the same content, which were removed as well.
    pub attachments: Vec<String>,
    /// Names of attachments that are called as a file that was removed, and have another content: they stay.
    pub alike: Vec<String>,
    /// Checkpoints that still have files as the one that was removed had changed them.
    pub carried: usize,
    /// Checkpoints that were written again.
    pub rewritten: usize,
    /// Checkpoints that are gone.
    pub dropped: usize,
    /// Refs that were moved or deleted.
    pub refs: Vec<ChangedRef>,
    /// Refs whose reflogs were emptied.
    pub logs: Vec<String>,
    /// Number of entries that can no longer be undone or redone.
    pub forgotten: usize,
    /// Remotes that still have it.
    pub remotes: Vec<OnRemote>,
    /// Replacements that the remotes are to get.
    pub replaced: Replacements,
    /// Forks that begin from a session that is gone, and keep its first checkpoint.
    pub forks: Vec<ShortName>,
    /// Removed contents that something else in the repository still holds: its own history, index, stash or reflogs.
    pub still_held: Vec<Oid>,
    /// Removed paths that are on disk and would be saved again.
    pub on_disk: Vec<RepoPath>,
}

impl PurgeOutcome {
    /// Whether there was anything to remove.
    pub fn is_empty(&self) -> bool {
        self.refs.is_empty() && self.logs.is_empty()
    }
}

/// Finishes a purge that was interrupted; `false` if there is none. To be asked before another one is planned: what a
/// selector means may be something else afterwards.
pub fn finish(scene: &Scene<'_>) -> Result<bool, Error> {
    if PurgeFollowUp::read(scene)?.is_none() {
        return Ok(false);
    }
    let _locks = all_work_trees(scene)?;
    plan_runner::begin(scene, false)?;
    let Some(rest) = PurgeFollowUp::read(scene)? else {
        return Ok(false);
    };
    if !rest.is_due(scene)? {
        PurgeFollowUp::forget(scene)?;
        return Ok(false);
    }
    rest.finish(scene)?;
    Ok(true)
}

/// Removes content permanently, or reports what that would be. [`finish`] comes before.
pub fn purge(scene: &Scene<'_>, request: &PurgeRequest) -> Result<PurgeOutcome, Error> {
    let _locks = if request.dry_run {
        Vec::new()
    } else {
        all_work_trees(scene)?
    };
    plan_runner::begin(scene, request.dry_run)?;
    for _ in 0..TRIES {
        match attempt(scene, request) {
            Err(Error::Store(store::Error::Moved { .. } | store::Error::Vanished { .. })) => {}
            done => return done,
        }
    }
    Err(Error::Contended {
        session: ShortName::slug("sessions", "all"),
        tries: TRIES,
    })
}

/// The locks of all working trees: their undo lists change, and none of them may be in the middle of a restore.
fn all_work_trees(scene: &Scene<'_>) -> Result<Vec<lock::HeldLock>, Error> {
    let locks = undo_lists(scene)?;
    if store::private_paths(scene.repo)
        .iter()
        .any(|directory| journal::is_in(directory))
    {
        return Err(Error::Interrupted {
            operation: PlanOperation::Restore,
        });
    }
    Ok(locks)
}

/// The locks of the undo lists of all working trees.
pub(super) fn undo_lists(scene: &Scene<'_>) -> Result<Vec<lock::HeldLock>, Error> {
    store::worktree_private_dir(scene.repo)?;
    let directories = store::private_paths(scene.repo);
    let locks = directories
        .iter()
        .map(|directory| undo::lock_of(scene.repo, directory, scene.wait));
    Ok(locks.collect::<Result<_, _>>()?)
}

fn attempt(scene: &Scene<'_>, request: &PurgeRequest) -> Result<PurgeOutcome, Error> {
    let mut contents = BTreeSet::new();
    loop {
        // Attachments with the content of a file that goes are found when it is known which contents those are.
        match attempt_with(scene, request, &contents)? {
            PurgeAttempt::Done(purged) => return Ok(*purged),
            PurgeAttempt::AttachedToo(more) => contents.extend(more),
        }
    }
}

/// Refuses a session that another agent or person has claimed, and a checkpoint of one. There is no way back, so it has to
/// be taken over first.
fn refuse_claimed(scene: &Scene<'_>, meant: &PurgeScope) -> Result<(), Error> {
    let chosen = match meant {
        PurgeScope::Paths => None,
        PurgeScope::Session { name }
        | PurgeScope::Checkpoint {
            session: Some(name), ..
        } => session_choice::named(scene, name)?,
        PurgeScope::Checkpoint { id, session: None } => {
            let checkpoint = checkpoint::load(scene.repo, object_id(id)).map_err(Error::damaged(id.short()))?;
            session_choice::of_identity(scene, &checkpoint.document.session.id)?
        }
    };
    match chosen {
        Some(chosen) => refuse::claimed(scene, &chosen.name, &chosen.tip.document.session),
        None => Ok(()),
    }
}

/// Refuses to write the chain of a session again that another agent or person has claimed, whatever the purge is of.
fn refuse_claimed_chains(scene: &Scene<'_>, moved: &[ChangedRef]) -> Result<(), Error> {
    for one in moved.iter().filter(|one| one.new.is_some()) {
        let name = one.name.strip_prefix(session::PREFIX);
        let Some(name) = name.and_then(|name| name.parse::<ShortName>().ok()) else {
            continue;
        };
        let tip = checkpoint::load(scene.repo, object_id(&one.old)).map_err(Error::damaged(name.as_str()))?;
        refuse::claimed(scene, &name, &tip.document.session)?;
    }
    Ok(())
}

/// Outcome of one attempt of a purge.
enum PurgeAttempt {
    /// It was done, or planned.
    Done(Box<PurgeOutcome>),
    /// Nothing was done: these contents are attached as well.
    AttachedToo(BTreeSet<ObjectId>),
}

fn attempt_with(
    scene: &Scene<'_>,
    request: &PurgeRequest,
    contents: &BTreeSet<ObjectId>,
) -> Result<PurgeAttempt, Error> {
    let found = RefInventory::read(scene)?;
    let scope = PurgeSelection::of(scene, &request.what, &found)?;
    refuse_claimed(scene, &scope.meant)?;
    let writer = if request.dry_run {
        Writer::memory(scene.repo)
    } else {
        Writer::durable(scene.repo)?
    };
    let filter = match &request.what {
        PurgeTarget::Paths { specs, directory } => pathspecs::filter(scene, specs, directory)?,
        PurgeTarget::Selected(_) => None,
    };
    let unmatched = filter.as_ref().map(PathFilter::unmatched);
    let without = filter.map(|filter| PathRemover::new(scene.repo, &writer, filter));
    let mut rewriter = Rewriter::new(scene.repo, &writer, without, unmatched, contents, &scope.drop);
    if let PurgeScope::Checkpoint { id, .. } = &scope.meant {
        let damaged = Error::damaged(id.short());
        let entry = checkpoint::entry(scene.repo, object_id(id)).map_err(Error::damaged(id.short()))?;
        rewriter.drop_copies(rewrite::digests(scene.repo, &entry).map_err(damaged)?);
    }
    let plan = plan(&found, &scope, &mut rewriter)?;
    refuse_claimed_chains(scene, &plan.moved)?;
    if let Some(mut unmatched) = rewriter.unmatched.take() {
        rewriter.removed.keys().for_each(|path| unmatched.path(path));
        // What is there, but in no checkpoint, is no mistake in typing.
        unmatched.forget(|spec| is_there(scene, &request.what, spec));
        pathspecs::refuse(&unmatched, "file in a checkpoint")?;
    }
    let removed: BTreeSet<ObjectId> = rewriter.removed.values().flatten().copied().collect();
    let attached = attachments::find(scene, &rewriter.attached, &rewriter.removed, &removed)?;
    if !attached.same.is_subset(contents) {
        return Ok(PurgeAttempt::AttachedToo(attached.same));
    }
    let on_disk = on_disk(scene, rewriter.removed.keys());
    let mut purged = PurgeOutcome {
        meant: scope.meant.clone(),
        dry_run: request.dry_run,
        paths: rewriter
            .removed
            .iter()
            .map(|(path, ids)| (path.clone(), ids.iter().copied().map(oid).collect()))
            .collect(),
        attachments: rewriter.detached.iter().cloned().collect(),
        alike: attached.alike.into_iter().collect(),
        carried: carried(scene, &scope, &rewriter.stay)?,
        rewritten: rewriter.rewritten,
        dropped: plan.dropped,
        refs: plan.moved,
        logs: plan.logs,
        forgotten: 0,
        remotes: plan.remotes,
        replaced: rewriter.ends().map(|(old, now)| (old, Some(now))).collect(),
        forks: plan.forks,
        still_held: Vec::new(),
        on_disk,
    };
    if scope.session_id.is_some() {
        purged.replaced.extend(scope.gone.iter().map(|id| (*id, None)));
    }
    if request.dry_run {
        let held = reachability::reached_by_project(scene.repo, &removed)?;
        purged.still_held = held.into_iter().map(oid).collect();
    }
    if purged.is_empty() {
        return Ok(PurgeAttempt::Done(Box::new(purged)));
    }
    let mut rest = rewriter.into_rest();
    rest.commits.extend(scope.gone.iter().map(|id| (oid(*id), None)));
    rest.session.clone_from(&scope.session_id);
    if request.dry_run {
        purged.forgotten = rest.update_undo_lists(scene, true)?;
        return Ok(PurgeAttempt::Done(Box::new(purged)));
    }
    rest.moved = PurgeFollowUp::moves(&purged.refs);
    rest.logs.clone_from(&purged.logs);
    put(scene, &purged.refs, writer, &rest)?;
    note_remotes(scene, &purged)?;
    // From here on the content is on no ref any more.
    purged.forgotten = rest.finish(scene)?;
    purged.still_held = reachability::still_reached(scene.repo, &removed)?
        .into_iter()
        .map(oid)
        .collect();
    Ok(PurgeAttempt::Done(Box::new(purged)))
}

/// Planned ref updates of a purge.
#[derive(Default)]
struct PurgePlan {
    moved: Vec<ChangedRef>,
    logs: Vec<String>,
    remotes: Vec<OnRemote>,
    forks: Vec<ShortName>,
    dropped: usize,
}

fn plan(found: &RefInventory, scope: &PurgeSelection, rewriter: &mut Rewriter<'_>) -> Result<PurgePlan, Error> {
    let mut plan = PurgePlan::default();
    for one in &found.refs {
        let old = one.tip;
        if scope.delete.contains(&one.name) {
            plan.moved.push(ChangedRef {
                name: one.name.clone(),
                old: oid(old),
                new: None,
            });
            plan.remotes.extend(on_remote(&one.name, old));
            continue;
        }
        let new = rewriter.tip(old).map_err(Error::damaged(shown(&one.name)))?;
        if new != old {
            let fetched = on_remote(&one.name, old);
            let is_foreign = fetched.is_some() || one.name.starts_with("refs/checkpoints-incoming/");
            plan.remotes.extend(fetched);
            plan.moved.push(ChangedRef {
                name: one.name.clone(),
                old: oid(old),
                // What was fetched is not ours to write again; the next fetch brings what is there then.
                new: (!is_foreign).then(|| oid(new)),
            });
            if is_foreign {
                continue;
            }
            if let Some(name) = one.name.strip_prefix(session::PREFIX)
                && scope.session_id.is_some()
            {
                plan.forks.extend(name.parse::<ShortName>());
            }
        }
        let mut is_stale = new != old;
        for logged in &one.log {
            // What cannot be read is not known to be free of it.
            is_stale |= scope.gone.contains(logged) || rewriter.tip(*logged).map_or(true, |now| now != *logged);
        }
        if is_stale {
            plan.logs.push(one.name.clone());
        }
    }
    plan.dropped = match (&scope.session_id, plan.forks.is_empty()) {
        (None, _) => rewriter.dropped,
        (Some(_), true) => scope.gone.len(),
        // The first one stays as the place that a fork begins from.
        (Some(_), false) => scope.drop.len(),
    };
    plan.remotes.sort();
    plan.remotes.dedup();
    Ok(plan)
}

/// Puts the new chains on their refs, all at once.
fn put(scene: &Scene<'_>, moved: &[ChangedRef], writer: Writer, rest: &PurgeFollowUp) -> Result<(), Error> {
    let sealed = writer.finish()?;
    rest.note(scene)?;
    let who = compose::people(scene).committer;
    let edit = |name: &str, from: Option<ObjectId>, to: Option<ObjectId>| RefUpdate {
        name: name.to_owned(),
        expected: from.map_or(ExpectedValue::Absent, ExpectedValue::Is),
        new: to,
        message: MESSAGE.to_owned(),
    };
    let ids = |moved: &ChangedRef| (Some(object_id(&moved.old)), moved.new.as_ref().map(object_id));
    let edits: Vec<_> = moved
        .iter()
        .map(|moved| edit(&moved.name, ids(moved).0, ids(moved).1))
        .collect();
    // If this fails, the note names nothing that is due, and is replaced or forgotten by the next command.
    refs::update(scene.repo, &edits, &who, scene.wait)?;
    let needed: Vec<_> = sealed.written().iter().chain(sealed.relied_on()).copied().collect();
    if let Err(error) = refs::verify_present(scene.repo, &needed) {
        let back: Vec<_> = moved
            .iter()
            .map(|moved| edit(&moved.name, ids(moved).1, ids(moved).0))
            .collect();
        refs::update(scene.repo, &back, &who, scene.wait)?;
        PurgeFollowUp::forget(scene)?;
        return Err(error.into());
    }
    // Should the file that protects them stay, the next save sweeps it.
    let _ = sealed.release();
    Ok(())
}

/// Notes which sessions remotes still have as they were, now that no tracking ref says so.
fn note_remotes(scene: &Scene<'_>, purged: &PurgeOutcome) -> Result<(), Error> {
    for remote in remote::all(scene.repo) {
        let spelled = remote::encoded(&remote.name);
        for on in purged.remotes.iter().filter(|on| on.remote == spelled) {
            // What cannot be read any more is only uploaded once more.
            let commits = project_commits(scene, object_id(&on.tip));
            RemoteState::update(scene.repo, &remote.name, |state| {
                state.set_purged(&on.session, &commits.unwrap_or_default());
            })?;
        }
    }
    Ok(())
}

/// The commit of the project that the snapshot of a checkpoint is based on.
fn project_commits(scene: &Scene<'_>, id: ObjectId) -> Option<Vec<ObjectId>> {
    let snapshot = checkpoint::entry(scene.repo, id).ok()?.snapshot_commit()?;
    let (_, parents) = checkpoint::commit_parts(scene.repo, snapshot).ok()?;
    Some(parents.into_iter().take(1).collect())
}

/// How many of the checkpoints that stay, by their trees, have a file as the one that goes had changed it.
fn carried(scene: &Scene<'_>, scope: &PurgeSelection, stay: &[ObjectId]) -> Result<usize, Error> {
    let PurgeScope::Checkpoint { id, .. } = &scope.meant else {
        return Ok(0);
    };
    let gone = checkpoint::load(scene.repo, object_id(id)).map_err(Error::damaged(id.short()))?;
    let Some(files) = &gone.document.snapshot else {
        return Ok(0);
    };
    let head = gone.document.git.head.as_ref().map(object_id);
    let changes = tree::diff(scene.repo, head, Some(object_id(&files.tree)), Renames::Off)?;
    let changed: Vec<_> = changes
        .into_iter()
        .filter_map(|change| change.new.map(|new| (change.path, new.id)))
        .collect();
    let mut known = HashMap::new();
    let mut count = 0;
    for root in stay {
        let has = if let Some(has) = known.get(root) {
            *has
        } else {
            let mut has = false;
            for (path, id) in &changed {
                has = has || tree::entry(scene.repo, *root, path)?.is_some_and(|entry| entry.id == *id);
            }
            known.insert(*root, has);
            has
        };
        count += usize::from(has);
    }
    Ok(count)
}

/// The remote and session of a ref that follows one.
fn on_remote(name: &str, tip: ObjectId) -> Option<OnRemote> {
    let (remote, session) = name.strip_prefix(session::REMOTE_PREFIX)?.split_once('/')?;
    Some(OnRemote {
        remote: remote.to_owned(),
        session: session.to_owned(),
        tip: oid(tip),
    })
}

/// A ref as messages name it.
fn shown(name: &str) -> String {
    name.strip_prefix(session::PREFIX).unwrap_or(name).to_owned()
}

/// Whether a pathspec is the plain name of something in the working tree.
fn is_there(scene: &Scene<'_>, what: &PurgeTarget, spec: &RepoPath) -> bool {
    let (Some(root), PurgeTarget::Paths { directory, .. }) = (scene.repo.workdir(), what) else {
        return false;
    };
    let path = root
        .join(os_string(directory.as_bytes()))
        .join(os_string(spec.as_bytes()));
    path.symlink_metadata().is_ok()
}

/// Those of these paths at which there is something in the working tree.
fn on_disk<'p>(scene: &Scene<'_>, paths: impl Iterator<Item = &'p RepoPath>) -> Vec<RepoPath> {
    let Some(root) = scene.repo.workdir() else {
        return Vec::new();
    };
    let there = |path: &&RepoPath| root.join(os_string(path.as_bytes())).symlink_metadata().is_ok();
    paths.filter(there).cloned().collect()
}

/// The kind of damage that leaves a ref alone: it is no checkpoint at all.
fn is_foreign(fault: &checkpoint::Fault) -> bool {
    matches!(fault, checkpoint::Fault::NotACheckpoint { .. })
}
