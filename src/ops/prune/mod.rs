//! `prune`: checkpoints, sessions, autosaves and trash that are not to be kept any more.
//!
//! What goes is decided by `plan`, and done in one change of refs: chains that lose checkpoints are written again with
//! the same documents, the old tips move to the trash, and forks of what moved move along. So `undo` works until the
//! trash is emptied, and nothing leaves the disk before git collects garbage, which is never started from here.

mod plan;

use std::collections::BTreeMap;
use std::time::Duration;

pub use plan::{Goes, Stays, Why};

use self::plan::{Chain, Plan};
use super::{
    Error, Scene,
    deed::{Aftermath, Deed},
};
use crate::{
    model::name::Name,
    store::{
        self, ObjectId, autosave,
        checkpoint::{self, Entry},
        lock,
        objects::{self, Writer},
        refs::{self, Edit, Expected},
        rewrite, session, usage,
    },
};

/// How often a plan is made anew because refs changed under it.
const TRIES: u32 = 5;
/// Where old tips are kept.
const TRASH: &str = "refs/checkpoints-trash/";

/// What is not to be kept. Without a rule everything is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Of each session, only this many newest checkpoints, beside those that always stay.
    pub keep_last: Option<usize>,
    /// Only this many newest sessions.
    pub max_sessions: Option<usize>,
    /// Only what is younger.
    pub older_than: Option<Duration>,
    /// Completed sessions: left alone, removed, or as any other.
    pub completed: Option<bool>,
    /// Failed sessions, likewise.
    pub failed: Option<bool>,
    /// Whether autosaves go that a later checkpoint stands for.
    pub autosaves: bool,
    /// Whether the trash is emptied.
    pub trash: bool,
    /// Whether named, pinned, forked-from and shared checkpoints go as well.
    pub force: bool,
}

impl Rules {
    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        let dropped = [self.completed, self.failed].contains(&Some(false));
        let by_rule = self.keep_last.is_some() || self.max_sessions.is_some() || self.older_than.is_some();
        !(dropped || by_rule || self.autosaves || self.trash)
    }
}

/// A ref that goes.
#[derive(Clone, Debug)]
pub struct Gone {
    /// The session's name, or the ref.
    pub name: String,
    /// What it was at.
    pub id: ObjectId,
    /// How many checkpoints it had.
    pub checkpoints: usize,
}

/// What was pruned, or would be.
#[derive(Debug, Default)]
pub struct Pruned {
    /// Checkpoints that go, session by session, newest first.
    pub goes: Vec<Goes>,
    /// Checkpoints that would go but for a reason to stay.
    pub stays: Vec<Stays>,
    /// How many checkpoints stay in all.
    pub kept: usize,
    /// Sessions that go whole.
    pub sessions: Vec<Gone>,
    /// Forks whose chains were written again because their source was.
    pub moved: Vec<Name>,
    /// Autosaves that go.
    pub autosaves: Vec<Gone>,
    /// Trash that goes for good.
    pub trash: Vec<Gone>,
    /// Sessions that are damaged and were left alone.
    pub damaged: Vec<String>,
    /// The bytes on disk that only what goes takes; `None` where git cannot tell.
    pub frees: Option<u64>,
    /// What is left to do or to know.
    pub aftermath: Aftermath,
}

impl Pruned {
    /// Whether there is nothing to prune.
    pub fn is_empty(&self) -> bool {
        self.goes.is_empty() && self.sessions.is_empty() && self.autosaves.is_empty() && self.trash.is_empty()
    }
}

/// Prunes, or with `dry_run` says what a prune would do.
pub fn prune(scene: &Scene<'_>, rules: &Rules, dry_run: bool) -> Result<Pruned, Error> {
    let mut _worktree = None;
    if !dry_run {
        _worktree = Some(lock::worktree(scene.repo, scene.wait)?);
        refs::recover(scene.repo, scene.wait)?;
        objects::sweep(scene.repo)?;
    }
    for _ in 0..TRIES {
        let plan = Plan::new(scene, rules)?;
        if dry_run || plan.outcome.is_empty() {
            let frees = frees(scene, &plan)?;
            let moved = plan.forks_that_move();
            return Ok(Pruned {
                moved,
                frees,
                ..plan.outcome
            });
        }
        match execute(scene, plan) {
            Err(Error::Store(store::Error::Moved { .. })) => {}
            other => return other,
        }
    }
    Err(Error::Contended {
        session: Name::slug("prune", "session"),
        tries: TRIES,
    })
}

/// The bytes that only what goes takes, old commits aside, which are small.
fn frees(scene: &Scene<'_>, plan: &Plan) -> Result<Option<u64>, Error> {
    let parts = |entry: &Entry| [Some(entry.tree), entry.parents.get(1).copied()].into_iter().flatten();
    let from: Vec<ObjectId> = plan.going().flat_map(parts).collect();
    let kept: Vec<ObjectId> = plan.held().flat_map(parts).collect();
    Ok(usage::only(scene.repo, &from, &kept)?)
}

/// Everything that a prune does to refs.
#[derive(Default)]
struct Changes {
    edits: Vec<Edit>,
    /// Those that nothing takes back.
    for_good: Vec<Edit>,
    /// For each session's identity the last number in its trash.
    numbers: BTreeMap<String, u64>,
}

impl Changes {
    fn set(&mut self, name: &str, old: Option<ObjectId>, new: Option<ObjectId>, undoable: bool) {
        let to = if undoable { &mut self.edits } else { &mut self.for_good };
        to.push(Edit {
            name: name.to_owned(),
            expected: old.map_or(Expected::Absent, Expected::Is),
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

fn execute(scene: &Scene<'_>, plan: Plan) -> Result<Pruned, Error> {
    let frees = frees(scene, &plan)?;
    let mut changes = Changes::default();
    for (name, _) in refs::list(scene.repo, TRASH)? {
        let Some((session, number)) = name.strip_prefix(TRASH).and_then(|rest| rest.rsplit_once('/')) else {
            continue;
        };
        let highest = changes.numbers.entry(session.to_owned()).or_default();
        *highest = (*highest).max(number.parse().unwrap_or(0));
    }
    let writer = Writer::durable(scene.repo)?;
    let mut written = BTreeMap::<ObjectId, ObjectId>::new();
    let mut moved = Vec::new();
    for at in plan.order() {
        let chain = &plan.chains[at];
        let new = write_again(scene, &writer, &plan, chain, &mut written)?;
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
            let parent = entry.parents.first().and_then(|parent| written.get(parent)).copied();
            if let Some(parent) = parent {
                let again = rewrite::after(scene.repo, &writer, &entry, Some(parent), &[])?;
                if again.id != entry.id {
                    changes.replace(&chain.session, &name, entry.id, Some(again.id));
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
    let deed = Deed {
        operation: "prune",
        what: what(&plan.outcome),
        edits: &changes.edits,
        for_good: &changes.for_good,
        sealed: Some(writer.finish()?),
        ..Deed::default()
    };
    let aftermath = deed.run(scene)?;
    Ok(Pruned {
        moved,
        frees,
        aftermath,
        ..plan.outcome
    })
}

fn what(pruned: &Pruned) -> String {
    let count = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let checkpoints: usize = pruned.goes.len() + pruned.sessions.iter().map(|gone| gone.checkpoints).sum::<usize>();
    let mut what = format!("pruned {}", count(checkpoints, "checkpoint"));
    if !pruned.autosaves.is_empty() {
        what.push_str(&format!(", {}", count(pruned.autosaves.len(), "autosave")));
    }
    what
}

/// Writes a chain again without what goes. Gives its new tip; `written` learns what became of each checkpoint.
fn write_again(
    scene: &Scene<'_>,
    writer: &Writer,
    plan: &Plan,
    chain: &Chain,
    written: &mut BTreeMap<ObjectId, ObjectId>,
) -> Result<ObjectId, Error> {
    let mut gone = Vec::<Entry>::new();
    let mut before = None;
    for entry in chain.entries.iter().rev() {
        let old_parent = entry.parents.first().copied();
        let parent = if before.is_some() {
            before
        } else {
            // The first of a fork stands on its source, which may have moved or gone.
            gone.extend(old_parent.and_then(|id| plan.dropped(id)).cloned());
            old_parent.map(|id| written.get(&id).copied().unwrap_or(id))
        };
        if plan.drops(entry.id) {
            gone.push(entry.clone());
            written.insert(entry.id, parent.unwrap_or(entry.id));
            continue;
        }
        let again = rewrite::after(scene.repo, writer, entry, parent, &gone)?;
        gone.clear();
        written.insert(entry.id, again.id);
        before = Some(again.id);
    }
    Ok(before.unwrap_or_else(|| chain.tip()))
}
