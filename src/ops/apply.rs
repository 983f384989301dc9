//! `apply`: the changes of a checkpoint brought onto the present by a three-way merge, conflicts marked in the files.
//!
//! What the checkpoint's files had changed against the commit it was saved at is what is brought; nothing is staged.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeSet, HashSet},
};

use serde::{Deserialize, Serialize};

use super::{
    Error, Scene,
    compose::CurrentSnapshot,
    interrupted::{self, InterruptedTarget},
    pathspecs,
    plan_runner::{self, PathScope, PlanJob, PlanJournal},
    refuse,
    restore::{self, ProgressCallback, RecordFate, RestoreOutcome, RestoreSource, short},
    save,
    select::{self, SelectedCheckpoint},
    target_state::{self, TargetState, UnstagedChanges},
};
use crate::{
    model::{id::Oid, list::Lists, name::ShortName, path::RepoPath, report::MergeVerdict, selector::Selector},
    store::{
        self, Repository,
        checkpoint::{self, Checkpoint, object_id, oid},
        lock,
        merge::{self, Labels, PathMerge, PathMergeOutcome, Trees},
        pathspec::PathFilter,
        tree,
    },
    worktree::restore::journal::{self, Journal},
};

/// The mode of a directory in a tree.
const FOLDER: u32 = 0o040_000;
/// Files read while looking for the new name of a changed file.
const RENAME_CANDIDATES: usize = 1000;

/// Request of an apply.
#[derive(Clone, Debug)]
pub struct ApplyRequest {
    /// The checkpoint.
    pub selector: Selector,
    /// Which paths are meant; all without any. As they are typed in `folder`.
    pub pathspecs: Vec<Vec<u8>>,
    /// The directory the command was started in, relative to the root of the working tree; empty for the root.
    pub directory: RepoPath,
    /// Whether nothing is changed.
    pub dry_run: bool,
    /// Whether what was staged is staged again, where it merges without a conflict.
    pub index: bool,
    /// Whether it is done although there are reasons not to.
    pub force: bool,
}

/// Result of an apply, or of its dry run.
#[derive(Debug)]
pub struct ApplyOutcome {
    /// Result for the files.
    pub restored: RestoreOutcome,
    /// The paths on which both sides do not fit together, and how.
    pub conflicts: Vec<(RepoPath, MergeVerdict)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ApplyJournal {
    target: Oid,
    session: Option<ShortName>,
    pathspecs: Vec<RepoPath>,
    #[serde(rename = "folder")]
    directory: RepoPath,
    #[serde(default)]
    index: bool,
    force: bool,
}

/// Applies a checkpoint's changes to the present.
pub fn apply(scene: &Scene<'_>, request: &ApplyRequest, progress: ProgressCallback<'_>) -> Result<ApplyOutcome, Error> {
    save::guard(scene)?;
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    restore::begin(scene, request.dry_run)?;
    let SelectedCheckpoint {
        session, checkpoint, ..
    } = select::checkpoint(scene, &request.selector)?;
    let note = ApplyJournal {
        target: oid(checkpoint.entry.id),
        session,
        pathspecs: request
            .pathspecs
            .iter()
            .map(|spec| RepoPath::new(spec.clone()))
            .collect(),
        directory: request.directory.clone(),
        index: request.index,
        force: request.force,
    };
    run(scene, &note, &checkpoint, request.dry_run, None, progress)
}

/// Finishes an apply that was interrupted: merges again what it would have merged then.
pub(super) fn resume(
    scene: &Scene<'_>,
    journal: Journal,
    noted: &PlanJournal,
    dry_run: bool,
    progress: ProgressCallback<'_>,
) -> Result<RestoreOutcome, Error> {
    let invalid = |error: serde_json::Error| Error::Journal { why: error.to_string() };
    let note: ApplyJournal = serde_json::from_value(noted.note.clone()).map_err(invalid)?;
    let target = object_id(&note.target);
    let checkpoint = checkpoint::load(scene.repo, target).map_err(Error::damaged(short(target)))?;
    let only = interrupted_target(scene, noted, &store::with_memory(scene.repo))?.only;
    let safety = object_id(&noted.safety);
    let before = checkpoint::load(scene.repo, safety).map_err(Error::damaged(short(safety)))?;
    Ok(run(
        scene,
        &note,
        &checkpoint,
        dry_run,
        Some((journal, before, with_directories(only))),
        progress,
    )?
    .restored)
}

/// The paths that an apply is about, and the directories above them: going on, it leaves alone what came since.
fn with_directories(paths: Option<BTreeSet<RepoPath>>) -> Option<HashSet<RepoPath>> {
    let paths = paths?;
    let above = |path: &RepoPath| {
        let bytes = path.as_bytes();
        let slashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        slashes.map(|(at, _)| RepoPath::from(&bytes[..at])).collect::<Vec<_>>()
    };
    let directories: Vec<_> = paths.iter().flat_map(above).collect();
    Some(paths.into_iter().chain(directories).collect())
}

/// Target state of an interrupted apply.
pub(super) fn interrupted_target(
    scene: &Scene<'_>,
    noted: &PlanJournal,
    repo: &Repository,
) -> Result<InterruptedTarget, Error> {
    let note: ApplyJournal =
        serde_json::from_value(noted.note.clone()).map_err(|error| Error::Journal { why: error.to_string() })?;
    let load = |id: &Oid| {
        let id = object_id(id);
        checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))
    };
    let (checkpoint, safety) = (load(&note.target)?, load(&noted.safety)?);
    let theirs = TargetState::of(scene, &checkpoint, &short(checkpoint.entry.id))?;
    let before = TargetState::of(scene, &safety, "the safety checkpoint")?;
    let merging = MergeRun {
        checkpoint: &checkpoint,
        theirs: &theirs,
        before: Some(&before),
        paths: filter(scene, &note)?,
        index: note.index,
        label: &format!("checkpoint {}", short(checkpoint.entry.id)),
    };
    let (goal, _) = merging.merge_into(repo, before.clone())?;
    let mut only = interrupted::differ(repo, Some(before.tree), Some(goal.tree))?;
    only.extend(listed_differently(&before.lists, &goal.lists));
    Ok(InterruptedTarget {
        tree: Some(goal.tree),
        only: Some(only),
    })
}

fn run(
    scene: &Scene<'_>,
    note: &ApplyJournal,
    checkpoint: &Checkpoint,
    dry_run: bool,
    interrupted: Option<(Journal, Checkpoint, Option<HashSet<RepoPath>>)>,
    progress: ProgressCallback<'_>,
) -> Result<ApplyOutcome, Error> {
    let subject = note
        .session
        .as_ref()
        .map_or_else(|| short(checkpoint.entry.id), ToString::to_string);
    let theirs = TargetState::of(scene, checkpoint, &subject)?;
    let (journal, before, only) = match interrupted {
        Some((journal, before, only)) => {
            let goal = TargetState::of(scene, &before, "the safety checkpoint")?;
            (Some(journal), Some(goal), only)
        }
        None => (None, None, None),
    };
    let continued = journal.is_some();
    let label = format!("checkpoint {}", short(checkpoint.entry.id));
    let merging = MergeRun {
        checkpoint,
        theirs: &theirs,
        before: before.as_ref(),
        paths: filter(scene, note)?,
        index: note.index,
        label: &label,
    };
    let job = PlanJob {
        operation: "apply",
        summary: format!("before applying {}", short(checkpoint.entry.id)),
        scope: PathScope {
            only,
            trusted: note.force,
            include: note.force,
            index: note.index,
            cwd: (!note.directory.as_bytes().is_empty()).then(|| note.directory.clone()),
            ..PathScope::default()
        },
        goal: &|repo, present| Ok(merging.merge(repo, present)?.0),
        refuse: &|_, present, _| {
            let refused = !note.force && !continued;
            Ok(if refused {
                refuse::in_progress(present).into_iter().collect()
            } else {
                Vec::new()
            })
        },
        note: serde_json::to_value(note).unwrap_or_default(),
        journal,
        dry_run,
        progress,
    };
    let conflicts = RefCell::new(Vec::new());
    let unstaged = Cell::new(UnstagedChanges::default());
    let goal = |repo: &Repository, present: &CurrentSnapshot| {
        let (goal, found) = merging.merge(repo, present)?;
        *conflicts.borrow_mut() = found;
        if let Some(present) = &present.snapshot {
            let paths = merging.paths.clone();
            let mut left = target_state::unstaged(repo, checkpoint, &theirs, present, paths)?;
            if goal.index != present.index_tree || goal.lists.intent_to_add != present.lists.intent_to_add {
                left.staged = 0;
            }
            unstaged.set(left);
        }
        Ok(goal)
    };
    let job = PlanJob { goal: &goal, ..job };
    let brought = plan_runner::apply_plan(scene, &job)?;
    let whole = brought.is_complete() && brought.refusals.is_empty();
    if whole && !dry_run {
        let what = format!("applied {}", short(checkpoint.entry.id));
        restore::note_done(scene, "apply", what, Some(&brought), Vec::new())?;
        journal::remove(scene.repo)?;
    }
    Ok(ApplyOutcome {
        restored: RestoreOutcome {
            operation: "apply".to_owned(),
            from: Some(RestoreSource {
                id: checkpoint.entry.id,
                session: note.session.clone(),
                document: Box::new(checkpoint.document.clone()),
            }),
            brought: Some(brought),
            unstaged: unstaged.get(),
            record: RecordFate::NotMeant,
            dry_run,
            aborted: false,
        },
        conflicts: conflicts.into_inner(),
    })
}

fn filter(scene: &Scene<'_>, note: &ApplyJournal) -> Result<Option<PathFilter>, Error> {
    pathspecs::filter(scene, &note.pathspecs, &note.directory)
}

/// Paths on which both sides do not fit together, and how.
type Conflicts = Vec<(RepoPath, MergeVerdict)>;

struct MergeRun<'a> {
    checkpoint: &'a Checkpoint,
    theirs: &'a TargetState,
    /// The present when it was interrupted, if it was: then that is merged, not what became of it.
    before: Option<&'a TargetState>,
    paths: Option<PathFilter>,
    index: bool,
    label: &'a str,
}

impl MergeRun<'_> {
    /// The present with the checkpoint's changes merged in, and the paths in conflict.
    fn merge(&self, repo: &Repository, present: &CurrentSnapshot) -> Result<(TargetState, Conflicts), Error> {
        let Some(snapshot) = &present.snapshot else {
            return Err(Error::NoFiles {
                subject: "the present".to_owned(),
            });
        };
        if let Some(paths) = self.paths.as_ref().filter(|_| self.before.is_none()) {
            // What the checkpoint deleted is in the commit that it was saved at.
            pathspecs::require(repo, paths, present, self.theirs, self.base().as_slice())?;
        }
        let ours = match self.before {
            Some(before) => before.clone(),
            None => TargetState {
                tree: snapshot.tree,
                index: snapshot.index_tree,
                lists: snapshot.lists.clone(),
                held: snapshot.held_blobs.clone(),
                conflicts: snapshot.conflict_blobs.clone(),
                umask: snapshot.umask,
            },
        };
        self.merge_into(repo, ours)
    }

    /// The commit that the checkpoint was saved at.
    fn base(&self) -> Option<store::ObjectId> {
        self.checkpoint.document.git.head.as_ref().map(object_id)
    }

    /// Brings what no tree says: permission bits where the present has the usual ones, and empty directories where nothing
    /// is.
    fn beside_trees(&self, repo: &Repository, lists: &mut Lists, merged: store::ObjectId) -> Result<(), Error> {
        let mut paths = self.paths.clone();
        let mut keeps = |path: &RepoPath| paths.as_mut().is_none_or(|paths| paths.keeps(path));
        let theirs = &self.theirs.lists;
        let known: HashSet<_> = lists.modes.iter().map(|(path, _)| path.clone()).collect();
        for (path, bits) in &theirs.modes {
            if known.contains(path) || !keeps(path) {
                continue;
            }
            let kind = |root| Ok::<_, Error>(tree::entry(repo, root, path)?.map(|entry| entry.mode));
            let now = kind(merged)?;
            if now.is_some() && now == kind(self.theirs.tree)? {
                lists.modes.push((path.clone(), *bits));
            }
        }
        for directory in &theirs.empty_dirs {
            if lists.empty_dirs.contains(directory)
                || !keeps(directory)
                || tree::entry(repo, merged, directory)?.is_some()
            {
                continue;
            }
            let bytes = directory.as_bytes();
            let slashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            let mut is_free = true;
            for (at, _) in slashes {
                let above = tree::entry(repo, merged, &RepoPath::from(&bytes[..at]))?;
                is_free &= above.is_none_or(|entry| entry.mode == FOLDER);
            }
            if is_free {
                lists.empty_dirs.push(directory.clone());
            }
        }
        lists.sort();
        Ok(())
    }

    fn merge_into(&self, repo: &Repository, ours: TargetState) -> Result<(TargetState, Conflicts), Error> {
        let base = self.base();
        let trees = Trees {
            base,
            ours: Some(ours.tree),
            theirs: Some(self.theirs.tree),
        };
        let options = merge::MergeOptions {
            labels: Labels {
                base: "saved at",
                ours: "present",
                theirs: self.label,
            },
            drivers: false,
            rename_candidates: RENAME_CANDIDATES,
        };
        let mut merged = merge::three_way(&tree::TreeReader::new(repo), trees, options)?;
        if let Some(paths) = self.paths.clone() {
            merged.retain(|path| paths.keeps(&path.path) || paths.keeps(&path.saved));
        }
        let skipped = |path: &RepoPath| self.theirs.lists.skipped.iter().any(|skipped| skipped.path == *path);
        // What the checkpoint did not save is no change.
        merged.retain(|path| !skipped(&path.saved));
        let tree = merge::tree(repo, Some(ours.tree), &merged)?;
        let mut lists = lists(&ours.lists, &self.theirs.lists, &merged);
        self.beside_trees(repo, &mut lists, tree)?;
        let conflicts = merged
            .iter()
            .filter(|path| path.verdict != MergeVerdict::Clean)
            .map(|path| (path.path.clone(), path.verdict))
            .collect();
        // The index keeps what it has, unless what was staged fits into it.
        lists.conflicts.clone_from(&ours.lists.conflicts);
        lists.intent_to_add.clone_from(&ours.lists.intent_to_add);
        let mut goal = TargetState { tree, lists, ..ours };
        if self.index && Vec::is_empty(&conflicts) {
            self.stage(repo, &mut goal)?;
        }
        Ok((goal, conflicts))
    }

    /// Merges what was staged at the checkpoint into the index, all of it or nothing: what is unmerged on a side, and
    /// what both changed, is left to the user.
    fn stage(&self, repo: &Repository, goal: &mut TargetState) -> Result<(), Error> {
        let theirs = &self.theirs.lists;
        if !theirs.conflicts.is_empty() || !goal.lists.conflicts.is_empty() {
            return Ok(());
        }
        let trees = Trees {
            base: self.base(),
            ours: Some(goal.index),
            theirs: Some(self.theirs.index),
        };
        let options = merge::MergeOptions {
            labels: Labels {
                base: "saved at",
                ours: "present",
                theirs: self.label,
            },
            drivers: false,
            rename_candidates: RENAME_CANDIDATES,
        };
        let mut merged = merge::three_way(&tree::TreeReader::new(repo), trees, options)?;
        let mut paths = self.paths.clone();
        let mut keeps = |path: &RepoPath| paths.as_mut().is_none_or(|paths| paths.keeps(path));
        merged.retain(|path| keeps(&path.path) || keeps(&path.saved));
        if merged.iter().any(|path| path.verdict != MergeVerdict::Clean) {
            return Ok(());
        }
        goal.index = merge::tree(repo, Some(goal.index), &merged)?;
        for path in &theirs.intent_to_add {
            let is_new =
                tree::entry(repo, goal.index, path)?.is_none() && tree::entry(repo, goal.tree, path)?.is_some();
            if is_new && keeps(path) && !goal.lists.intent_to_add.contains(path) {
                goal.lists.intent_to_add.push(path.clone());
            }
        }
        goal.lists.sort();
        Ok(())
    }
}

/// The paths that two lists give other permission bits, or that are empty directories for one of them alone.
fn listed_differently(a: &Lists, b: &Lists) -> BTreeSet<RepoPath> {
    let modes = |lists: &Lists| lists.modes.iter().cloned().collect::<BTreeSet<_>>();
    let directories = |lists: &Lists| lists.empty_dirs.iter().cloned().collect::<BTreeSet<_>>();
    let modes = modes(a)
        .symmetric_difference(&modes(b))
        .map(|(path, _)| path.clone())
        .collect::<BTreeSet<_>>();
    let directories = directories(a).symmetric_difference(&directories(b)).cloned().collect();
    modes.union(&directories).cloned().collect()
}

/// The permission bits of a file, where they are not the usual ones.
fn bits_of(lists: &Lists, path: &RepoPath) -> Option<u32> {
    let found = lists.modes.iter().find(|(listed, _)| listed == path);
    found.map(|(_, bits)| *bits)
}

/// The present's lists, with what the checkpoint's say of the files that come from there as they are.
fn lists(ours: &Lists, theirs: &Lists, merged: &[PathMerge]) -> Lists {
    let mut lists = Lists {
        modes: ours.modes.clone(),
        raw: ours.raw.clone(),
        held: ours.held.clone(),
        empty_dirs: ours.empty_dirs.clone(),
        ..Lists::default()
    };
    for path in merged {
        let PathMergeOutcome::Write(entry) = &path.result else {
            continue;
        };
        // A file of the present that moves to a new name is, but for what is merged in, as it was at the old one.
        let before = path.removes.as_ref().unwrap_or(&path.path);
        let whole = path.theirs.as_ref().is_some_and(|theirs| theirs.id == entry.id);
        let is_raw = if whole {
            theirs.raw.contains(&path.saved)
        } else {
            ours.raw.contains(before)
        };
        lists.raw.retain(|raw| *raw != path.path);
        lists.raw.extend(is_raw.then(|| path.path.clone()));
        let bits = match &path.ours {
            None => bits_of(theirs, &path.saved),
            Some(was) => bits_of(ours, before).map(|bits| match (was.mode, entry.mode) {
                (from, to) if from == to => bits,
                // Whoever may read it may run it now; or nobody any more.
                (_, 0o100_755) => bits | (bits & 0o444) >> 2,
                _ => bits & !0o111,
            }),
        };
        lists.modes.retain(|(mode, _)| *mode != path.path);
        lists.modes.extend(bits.map(|bits| (path.path.clone(), bits)));
    }
    lists.sort();
    lists
}
