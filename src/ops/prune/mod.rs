//! `prune`: checkpoints, sessions, autosaves and trash that are not to be kept any more.
//!
//! `plan` decides what goes, and the removal is done in one change of refs: chains that lose checkpoints are written again with
//! the same documents, the old tips move to the trash, and forks of what moved move along. So `undo` works until the
//! trash is emptied, and nothing leaves the disk before git collects garbage, which is never started from here.

mod periods;
mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use plan::{PrunedCheckpoint, RetainedCheckpoint, RetentionReason};

use self::plan::PrunePlan;
use super::{
    Error, Scene, kept_content, purge,
    ref_transaction::{Aftermath, UndoableRefTransaction},
};
use crate::{
    model::{document::CheckpointKind, name::ShortName},
    store::{
        self, ObjectId, autosave,
        checkpoint::{self, CheckpointCommit, object_id},
        lock,
        objects::{self, Writer},
        refs::{self, ExpectedValue, RefUpdate},
        rewrite, session,
        undo::{self, CheckpointFate, UndoPurge},
        usage,
    },
};

/// How often a plan is made anew because refs changed under it.
const TRIES: u32 = 5;
/// Where old tips are kept.
const TRASH: &str = "refs/checkpoints-trash/";

/// Retention rules of a prune. Without a rule everything is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionRules {
    /// Of each session, only this many latest checkpoints, next to those that always stay.
    pub keep_last: Option<usize>,
    /// Of each session, the latest checkpoint of each of this many latest hours that have one.
    pub keep_hourly: Option<usize>,
    /// The same of days.
    pub keep_daily: Option<usize>,
    /// The same of weeks, which begin on Monday.
    pub keep_weekly: Option<usize>,
    /// Only this many latest sessions.
    pub max_sessions: Option<usize>,
    /// Only what is younger.
    pub older_than: Option<Duration>,
    /// Completed sessions: left alone, removed, or as any other.
    pub completed: Option<bool>,
    /// Failed sessions, likewise.
    pub failed: Option<bool>,
    /// Whether autosaves go that a later checkpoint represents.
    pub autosaves: bool,
    /// Whether the trash is emptied.
    pub trash: bool,
    /// Whether named, pinned, forked-from and shared checkpoints go as well.
    pub force: bool,
}

impl RetentionRules {
    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        let dropped = [self.completed, self.failed].contains(&Some(false));
        let by_rule = self.max_sessions.is_some() || self.chooses_checkpoints();
        !(dropped || by_rule || self.autosaves || self.trash)
    }

    /// Whether a rule chooses among the checkpoints of a session.
    fn chooses_checkpoints(&self) -> bool {
        let numbers = [self.keep_last, self.keep_hourly, self.keep_daily, self.keep_weekly];
        self.older_than.is_some() || numbers.iter().any(Option::is_some)
    }
}

/// A ref that goes.
#[derive(Clone, Debug)]
pub struct PrunedRef {
    /// The session's name, or the ref.
    pub name: String,
    /// The session that its checkpoint names.
    pub session: Option<String>,
    /// Old value of the ref.
    pub id: ObjectId,
    /// How many checkpoints it had.
    pub checkpoints: usize,
}

/// Result of a prune, or of its dry run.
#[derive(Debug, Default)]
pub struct PruneOutcome {
    /// Checkpoints that go, session by session, latest first.
    pub goes: Vec<PrunedCheckpoint>,
    /// Checkpoints that would go but for a reason to stay.
    pub stays: Vec<RetainedCheckpoint>,
    /// How many checkpoints stay in all.
    pub kept: usize,
    /// Sessions that go whole.
    pub sessions: Vec<PrunedRef>,
    /// Forks whose chains were written again because their source was.
    pub moved: Vec<ShortName>,
    /// Autosaves that go.
    pub autosaves: Vec<PrunedRef>,
    /// Trash that goes for good.
    pub trash: Vec<PrunedRef>,
    /// Sessions that are damaged and were left alone.
    pub damaged: Vec<String>,
    /// The bytes on disk that only what goes takes; `None` where git cannot determine it.
    pub frees: Option<u64>,
    /// Commands that cannot be undone any more, as what they removed leaves the trash.
    pub forgotten: Vec<String>,
    /// Warnings and clean-ups after the change.
    pub aftermath: Aftermath,
}

impl PruneOutcome {
    /// Whether there is nothing to prune.
    pub fn is_empty(&self) -> bool {
        self.goes.is_empty() && self.sessions.is_empty() && self.autosaves.is_empty() && self.trash.is_empty()
    }
}

/// Prunes, or with `dry_run` reports what a prune would do.
pub fn prune(scene: &Scene<'_>, rules: &RetentionRules, dry_run: bool) -> Result<PruneOutcome, Error> {
    let mut _worktrees = Vec::new();
    if !dry_run {
        _worktrees = if rules.trash {
            purge::undo_lists(scene)?
        } else {
            vec![lock::worktree(scene.repo, scene.wait)?]
        };
        refs::recover(scene.repo, scene.wait)?;
        objects::sweep(scene.repo)?;
    }
    for _ in 0..TRIES {
        let plan = PrunePlan::new(scene, rules)?;
        if dry_run || plan.outcome.is_empty() {
            let frees = frees(scene, &plan)?;
            let moved = plan.forks_that_move();
            let forgotten = if rules.trash {
                forget_entries(scene, &LeavingTrash::of(scene, &plan)?.gone, dry_run)?
            } else {
                Vec::new()
            };
            return Ok(PruneOutcome {
                moved,
                frees,
                forgotten,
                ..plan.outcome
            });
        }
        match execute(scene, plan, rules.trash) {
            Err(Error::Store(store::Error::Moved { .. })) => {}
            other => return other,
        }
    }
    Err(Error::Contended {
        session: ShortName::slug("prune", "session"),
        tries: TRIES,
    })
}

/// The bytes that only what goes takes, old commits aside, which are small.
fn frees(scene: &Scene<'_>, plan: &PrunePlan) -> Result<Option<u64>, Error> {
    let parts = |entry: &CheckpointCommit| [Some(entry.tree), entry.snapshot_commit()].into_iter().flatten();
    let from: Vec<ObjectId> = plan.going().flat_map(parts).collect();
    let mut kept: Vec<ObjectId> = plan.held().flat_map(parts).collect();
    for source in plan.foreign_sources() {
        // What cannot be read holds nothing.
        let held = session::chain(scene.repo, source).map_while(Result::ok);
        kept.extend(held.flat_map(|entry| parts(&entry).collect::<Vec<_>>()));
    }
    Ok(usage::only(scene.repo, &from, &kept)?)
}

/// Everything that a prune does to refs.
#[derive(Default)]
struct RefChanges {
    edits: Vec<RefUpdate>,
    /// Those that nothing takes back.
    for_good: Vec<RefUpdate>,
    /// For each session's identity the last number in its trash.
    numbers: BTreeMap<String, u64>,
}

impl RefChanges {
    fn set(&mut self, name: &str, old: Option<ObjectId>, new: Option<ObjectId>, undoable: bool) {
        let to = if undoable { &mut self.edits } else { &mut self.for_good };
        to.push(RefUpdate {
            name: name.to_owned(),
            expected: old.map_or(ExpectedValue::Absent, ExpectedValue::Is),
            new,
            message: "checkpoint: prune".to_owned(),
        });
    }

    /// Changes a ref and keeps what it was in the trash of a session.
    fn replace(&mut self, session: &str, name: &str, old: ObjectId, new: Option<ObjectId>) {
        let number = self.numbers.entry(session.to_owned()).or_default();
        *number += 1;
        let trash = format!("{TRASH}{session}/{number}");
        self.set(&trash, None, Some(old), true);
        self.set(name, Some(old), new, true);
    }
}

fn execute(scene: &Scene<'_>, plan: PrunePlan, empties_trash: bool) -> Result<PruneOutcome, Error> {
    let frees = frees(scene, &plan)?;
    let mut changes = RefChanges::default();
    for (name, _) in refs::list(scene.repo, TRASH)? {
        let Some((session, number)) = name.strip_prefix(TRASH).and_then(|rest| rest.rsplit_once('/')) else {
            continue;
        };
        let highest = changes.numbers.entry(session.to_owned()).or_default();
        *highest = (*highest).max(number.parse().unwrap_or(0));
    }
    let writer = Writer::durable(scene.repo)?;
    let mut done = Rewritten::default();
    let mut moved = Vec::new();
    for at in plan.order() {
        let chain = &plan.chains[at];
        let new = write_again(scene, &writer, &plan, chain.tip(), &mut done)?;
        if new == chain.tip() {
            continue;
        }
        if !plan.drops_of(chain) {
            moved.push(chain.name.clone());
        }
        changes.replace(&chain.session, &session::ref_name(&chain.name), chain.tip(), Some(new));
        for (name, target) in autosave::refs_of(scene.repo, &chain.session)? {
            let entry = target.ok().and_then(|id| checkpoint::entry(scene.repo, id).ok());
            let Some(entry) = entry.filter(|entry| !plan.outcome.autosaves.iter().any(|gone| gone.id == entry.id))
            else {
                continue;
            };
            let rests_on = entry.parents.first().copied();
            let parent = rests_on.and_then(|parent| done.written.get(&parent)).copied();
            if let Some(parent) = parent {
                let gone = plan.dropped_before(chain, rests_on);
                let again = rewrite::after(scene.repo, &writer, &entry, (Some(parent), None), &gone)?;
                if again != entry.id {
                    changes.replace(&chain.session, &name, entry.id, Some(again));
                }
            }
        }
    }
    for chain in plan.chains.iter().filter(|chain| chain.goes_whole) {
        changes.replace(&chain.session, &session::ref_name(&chain.name), chain.tip(), None);
        for (name, target) in autosave::refs_of(scene.repo, &chain.session)? {
            if let Ok(target) = target {
                changes.replace(&chain.session, &name, target, None);
            }
        }
    }
    for gone in &plan.outcome.autosaves {
        let session = gone
            .name
            .strip_prefix(autosave::PREFIX)
            .and_then(|rest| rest.split('/').next());
        let taken = changes.edits.iter().any(|edit| edit.name == gone.name);
        if let Some(session) = session.filter(|_| !taken) {
            changes.replace(session, &gone.name, gone.id, None);
        }
    }
    for gone in &plan.outcome.trash {
        changes.set(&gone.name, Some(gone.id), None, false);
    }
    let leaving = LeavingTrash::of(scene, &plan)?;
    leaving.forget(scene)?;
    let deed = UndoableRefTransaction {
        operation: "prune",
        what: what(&plan.outcome),
        edits: &changes.edits,
        for_good: &changes.for_good,
        sealed: Some(writer.finish()?),
        ..UndoableRefTransaction::default()
    };
    let aftermath = deed.run(scene)?;
    if !plan.outcome.trash.is_empty() || !plan.outcome.autosaves.is_empty() {
        kept_content::forget(scene, false)?;
    }
    // What is left on a list after a kill is refused by undo, and forgotten by the next prune of the trash.
    let forgotten = if empties_trash {
        forget_entries(scene, &leaving.gone, false)?
    } else {
        Vec::new()
    };
    Ok(PruneOutcome {
        moved,
        frees,
        forgotten,
        aftermath,
        ..plan.outcome
    })
}

/// Takes what rests on these checkpoints, or on commits that are missing, off the undo lists of all working trees, and
/// gives what could have been undone: it would point a ref at an object that git may collect.
fn forget_entries(scene: &Scene<'_>, gone: &BTreeSet<ObjectId>, dry_run: bool) -> Result<Vec<String>, Error> {
    let purged = UndoPurge {
        became: &|id| {
            if gone.contains(&object_id(id)) {
                CheckpointFate::Gone
            } else {
                CheckpointFate::Same
            }
        },
        digest: &|digest| Some(digest.clone()),
        session: None,
        is_missing: &|id| !refs::is_stored(scene.repo, object_id(id)),
    };
    let mut out = Vec::new();
    for directory in store::private_paths(scene.repo) {
        let forgotten = undo::purge_entries(scene.repo, &directory, &purged, dry_run)?;
        let undoable = forgotten.into_iter().filter(|entry| entry.is_in_force);
        out.extend(undoable.map(|entry| entry.what));
    }
    Ok(out)
}

/// Checkpoints that leave the trash and that no other ref of ours holds.
struct LeavingTrash {
    gone: BTreeSet<ObjectId>,
    /// Those that stay.
    kept: BTreeSet<ObjectId>,
    /// The refs that stay.
    names: Vec<String>,
}

/// The checkpoints of a chain, as far as they can be read.
fn chain(scene: &Scene<'_>, id: ObjectId) -> impl Iterator<Item = ObjectId> {
    session::chain(scene.repo, id)
        .map_while(Result::ok)
        .map(|entry| entry.id)
}

impl LeavingTrash {
    fn of(scene: &Scene<'_>, plan: &PrunePlan) -> Result<Self, Error> {
        let trash = &plan.outcome.trash;
        let mut gone: BTreeSet<ObjectId> = trash.iter().flat_map(|gone| chain(scene, gone.id)).collect();
        let (mut kept, mut names) = (BTreeSet::new(), Vec::new());
        if gone.is_empty() {
            return Ok(Self { gone, kept, names });
        }
        let leaves: BTreeSet<&str> = trash.iter().map(|gone| gone.name.as_str()).collect();
        for (name, target) in refs::list(scene.repo, "refs/checkpoints")? {
            if leaves.contains(name.as_str()) {
                continue;
            }
            if let Ok(id) = target {
                let added: Vec<_> = chain(scene, id).take_while(|id| !kept.contains(id)).collect();
                kept.extend(added);
            }
            names.push(name);
        }
        gone.retain(|id| !kept.contains(id));
        Ok(Self { gone, kept, names })
    }

    /// Takes them out of the reflogs of our refs, which would keep them for another 30 to 90 days; autosaves in a reflog
    /// that rest on them as well.
    ///
    /// Before the refs of the trash go: should that fail, they still hold everything.
    fn forget(&self, scene: &Scene<'_>) -> Result<(), Error> {
        if self.gone.is_empty() {
            return Ok(());
        }
        let rests_on_gone = |id: &ObjectId| {
            chain(scene, *id)
                .take_while(|id| !self.kept.contains(id))
                .any(|id| self.gone.contains(&id))
        };
        Ok(refs::drop_from_logs(
            scene.repo,
            &self.names,
            &rests_on_gone,
            scene.wait,
        )?)
    }
}

fn what(pruned: &PruneOutcome) -> String {
    let count = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let checkpoints: usize = pruned.goes.len() + pruned.sessions.iter().map(|gone| gone.checkpoints).sum::<usize>();
    let mut what = format!("pruned {}", count(checkpoints, "checkpoint"));
    if !pruned.autosaves.is_empty() {
        what.push_str(&format!(", {}", count(pruned.autosaves.len(), "autosave")));
    }
    what
}

/// Checkpoints that were written again.
#[derive(Default)]
struct Rewritten {
    /// Outcome for each checkpoint.
    written: BTreeMap<ObjectId, ObjectId>,
    /// Those that went right before one, oldest first.
    gone: BTreeMap<ObjectId, Vec<CheckpointCommit>>,
}

/// Writes a checkpoint and all before it again without what goes: its own chain, its source's and what was merged in. Gives
/// its replacement.
fn write_again(
    scene: &Scene<'_>,
    writer: &Writer,
    plan: &PrunePlan,
    tip: ObjectId,
    done: &mut Rewritten,
) -> Result<ObjectId, Error> {
    let known: BTreeMap<ObjectId, &CheckpointCommit> = plan
        .chains
        .iter()
        .flat_map(|chain| &chain.entries)
        .map(|entry| (entry.id, entry))
        .collect();
    let mut waiting = vec![(tip, false)];
    while let Some((id, parents_done)) = waiting.pop() {
        if done.written.contains_key(&id) {
            continue;
        }
        let entry = match known.get(&id) {
            Some(entry) => Some((*entry).clone()),
            None => checkpoint::entry(scene.repo, id).ok(),
        };
        // What cannot be read stays as it is.
        let Some(entry) = entry else {
            done.written.insert(id, id);
            continue;
        };
        let is_first = entry.trailers.kind == Some(CheckpointKind::Start);
        let previous = entry.parents.first().copied().filter(|_| !is_first);
        if !parents_done {
            waiting.push((id, true));
            waiting.extend(previous.into_iter().chain(entry.merged_commit()).map(|id| (id, false)));
            continue;
        }
        let now = |old: ObjectId| done.written.get(&old).copied().unwrap_or(old);
        let parent = previous.map(now);
        let mut gone = previous.and_then(|id| done.gone.get(&id)).cloned().unwrap_or_default();
        if plan.drops(id) {
            gone.push(entry);
            done.written.insert(id, parent.unwrap_or(id));
            done.gone.insert(id, gone);
            continue;
        }
        let merged = entry.merged_commit();
        gone.extend(merged.and_then(|id| done.gone.get(&id)).cloned().unwrap_or_default());
        let parents = (parent, merged.map(now));
        done.written
            .insert(id, rewrite::after(scene.repo, writer, &entry, parents, &gone)?);
    }
    Ok(done.written.get(&tip).copied().unwrap_or(tip))
}
