//! `apply`: the changes of a checkpoint brought onto the present by a three-way merge, conflicts marked in the files.
//!
//! What the checkpoint's files had changed is what is brought: against the checkpoint that it and the present both come
//! from, where it is of a fork, else against the commit that it was saved at. Nothing is staged; conflicts are unmerged
//! entries of the index, so that git and its tools know them.

mod resolution;

pub use resolution::{is_last, unmerged_paths};

use std::{
    cell::{Cell, RefCell},
    collections::HashSet,
};

use serde::{Deserialize, Serialize};

use super::{
    Error, Scene, compare,
    compose::CurrentSnapshot,
    pathspecs,
    plan_runner::{self, PathScope, PlanJob, PlanJournal},
    refuse,
    restore::{self, ProgressCallback, RecordFate, RestoreOutcome, RestoreSource, short},
    save,
    select::{self, SelectedCheckpoint},
    session_choice,
    target_state::{self, TargetState, UnstagedChanges},
};
use crate::{
    model::{
        id::Oid,
        list::{IndexConflict, Lists},
        name::ShortName,
        path::RepoPath,
        report::MergeVerdict,
        selector::Selector,
    },
    store::{
        ObjectId, Repository,
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
/// The mode of another repository's commit in a tree.
const GITLINK: u32 = 0o160_000;
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
    /// Whether the step from the checkpoint before to this one is taken back, instead of its changes brought.
    pub reverse: bool,
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
    #[serde(default)]
    reverse: bool,
    /// The checkpoint that this one and the present both come from.
    #[serde(default)]
    common: Option<Oid>,
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
        reverse: request.reverse,
        common: if request.reverse {
            None
        } else {
            common(scene, &checkpoint)
        },
    };
    run(scene, &note, &checkpoint, request.dry_run, None, progress)
}

/// The checkpoint that a checkpoint of a fork and the current session both come from, if both went on from there or the
/// fork alone did. `None` where the one comes before the other by its own chain: what it had changed is what is brought.
fn common(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Option<Oid> {
    // Damage in a session or a chain is reported by whoever needs it.
    let chosen = session_choice::session_for_command(scene).ok().flatten()?;
    if chosen.tip.document.session.id == checkpoint.document.session.id {
        return None;
    }
    let nearest = compare::nearest(scene, chosen.tip.entry.id, checkpoint.entry.id);
    let (id, [_, steps]) = nearest.ok().flatten()?;
    let has_files = checkpoint::load(scene.repo, id).is_ok_and(|common| common.document.snapshot.is_some());
    (steps > 0 && has_files).then(|| oid(id))
}

/// Finishes an apply that was interrupted: merges again what it would have merged then.
pub(super) fn resume(
    scene: &Scene<'_>,
    journal: Journal,
    noted: &PlanJournal,
    dry_run: bool,
    progress: ProgressCallback<'_>,
) -> Result<RestoreOutcome, Error> {
    let note: ApplyJournal = restore::read_note(noted)?;
    let target = object_id(&note.target);
    let checkpoint = checkpoint::load(scene.repo, target).map_err(Error::damaged(short(target)))?;
    let before = TargetState::before(scene, noted)?;
    Ok(run(scene, &note, &checkpoint, dry_run, Some((journal, before)), progress)?.restored)
}

/// Target state of an interrupted apply.
pub(super) fn interrupted_target(
    scene: &Scene<'_>,
    noted: &PlanJournal,
    repo: &Repository,
) -> Result<TargetState, Error> {
    let note: ApplyJournal = restore::read_note(noted)?;
    let target = object_id(&note.target);
    let checkpoint = checkpoint::load(scene.repo, target).map_err(Error::damaged(short(target)))?;
    let sides = Sides::of(scene, &note, &checkpoint)?;
    let before = TargetState::before(scene, noted)?;
    let merging = MergeRun {
        sides: &sides,
        before: Some(&before),
        paths: filter(scene, &note)?,
        index: note.index,
        label: &format!("checkpoint {}", short(checkpoint.entry.id)),
    };
    Ok(merging.merge_into(repo, before.clone())?.0)
}

fn run(
    scene: &Scene<'_>,
    note: &ApplyJournal,
    checkpoint: &Checkpoint,
    dry_run: bool,
    interrupted: Option<(Journal, TargetState)>,
    progress: ProgressCallback<'_>,
) -> Result<ApplyOutcome, Error> {
    let sides = Sides::of(scene, note, checkpoint)?;
    let (journal, before) = interrupted.unzip();
    // What came since the interruption is none of its.
    let only = journal.as_ref().and_then(|journal: &Journal| journal.paths.clone());
    let continued = journal.is_some();
    let label = format!("checkpoint {}", short(checkpoint.entry.id));
    let merging = MergeRun {
        sides: &sides,
        before: before.as_ref(),
        paths: filter(scene, note)?,
        index: note.index,
        label: &label,
    };
    let job = PlanJob {
        operation: "apply",
        summary: format!("before applying {}", short(checkpoint.entry.id)),
        scope: PathScope {
            only: only.map(|paths| paths.into_iter().collect()),
            trusted: note.force,
            include: note.force,
            // Conflicts are in it as unmerged entries.
            index: true,
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
        expectation: plan_runner::PlanExpectation::default(),
        progress,
    };
    let conflicts = RefCell::new(Vec::new());
    let unstaged = Cell::new(UnstagedChanges::default());
    let goal = |repo: &Repository, present: &CurrentSnapshot| {
        let (goal, found) = merging.merge(repo, present)?;
        *conflicts.borrow_mut() = found;
        if let Some(present) = &present.snapshot {
            let paths = merging.paths.clone();
            if !note.reverse {
                let mut left = target_state::unstaged(repo, checkpoint, &sides.theirs, present, paths)?;
                if goal.index != present.index_tree || goal.lists.intent_to_add != present.lists.intent_to_add {
                    left.staged = 0;
                }
                unstaged.set(left);
            }
        }
        Ok(goal)
    };
    let job = PlanJob { goal: &goal, ..job };
    let brought = plan_runner::apply_plan(scene, &job)?;
    let whole = brought.is_complete() && brought.refusals.is_empty();
    if whole && !dry_run {
        let word = if note.reverse {
            "took back the changes of"
        } else {
            "applied"
        };
        let what = format!("{word} {}", short(checkpoint.entry.id));
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

/// Side that is merged with the current files.
struct Sides {
    /// The files that are brought.
    theirs: TargetState,
    /// The trees that they are compared with.
    base: Base,
}

enum Base {
    /// A commit or a tree; `None` is the empty tree.
    Tree(Option<ObjectId>),
    /// The files of a checkpoint that both come from, and the commit that it was saved at: a file that the present has as
    /// that commit has it was cleaned up since.
    Common { files: ObjectId, head: Option<ObjectId> },
}

impl Sides {
    fn of(scene: &Scene<'_>, note: &ApplyJournal, checkpoint: &Checkpoint) -> Result<Self, Error> {
        let subject = note
            .session
            .as_ref()
            .map_or_else(|| short(checkpoint.entry.id), ToString::to_string);
        let files = TargetState::of(scene, checkpoint, &subject)?;
        let head = |checkpoint: &Checkpoint| checkpoint.document.git.head.as_ref().map(object_id);
        if note.reverse {
            return Ok(Self {
                base: Base::Tree(Some(files.tree)),
                theirs: before(scene, checkpoint, &files)?,
            });
        }
        let base = match &note.common {
            None => Base::Tree(head(checkpoint)),
            Some(common) => {
                let id = object_id(common);
                let common = checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?;
                Base::Common {
                    files: TargetState::of(scene, &common, &short(id))?.tree,
                    head: head(&common),
                }
            }
        };
        Ok(Self { theirs: files, base })
    }

    /// The tree that the present's changes and the checkpoint's are reported by.
    fn base(&self, repo: &Repository, ours: &TargetState) -> Result<Option<ObjectId>, Error> {
        let (files, head) = match self.base {
            Base::Tree(base) => return Ok(base),
            Base::Common { files, head } => (files, head),
        };
        let mut cleaned = Vec::new();
        for change in tree::diff(repo, head, Some(files), tree::Renames::Off)? {
            let now = tree::entry(repo, ours.tree, &change.path)?;
            if now == change.old && now != change.new {
                cleaned.push((change.path, change.old));
            }
        }
        Ok(Some(merge::edited(repo, files, &cleaned)?))
    }
}

/// The files before a checkpoint: of the one before it, else of its commit. `of` is what it has itself.
fn before(scene: &Scene<'_>, checkpoint: &Checkpoint, of: &TargetState) -> Result<TargetState, Error> {
    if let Some(parent) = checkpoint.entry.parents.first() {
        let subject = short(*parent);
        let earlier = checkpoint::load(scene.repo, *parent).map_err(Error::damaged(&*subject))?;
        if earlier.document.snapshot.is_some() {
            return TargetState::of(scene, &earlier, &subject);
        }
    }
    let head = checkpoint.document.git.head.as_ref().map(object_id);
    let tree = tree::tree_of(scene.repo, head)?;
    Ok(TargetState {
        tree,
        index: tree,
        lists: Lists::default(),
        held: Vec::new(),
        conflicts: Vec::new(),
        umask: of.umask,
    })
}

struct MergeRun<'a> {
    sides: &'a Sides,
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
            let base = match self.sides.base {
                Base::Tree(base) => base,
                Base::Common { files, .. } => Some(files),
            };
            pathspecs::require(repo, paths, present, &self.sides.theirs, base.as_slice())?;
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

    /// Brings what no tree says: permission bits where the present has the usual ones, and empty directories where nothing
    /// is.
    fn beside_trees(&self, repo: &Repository, lists: &mut Lists, merged: ObjectId) -> Result<(), Error> {
        let mut paths = self.paths.clone();
        let mut keeps = |path: &RepoPath| paths.as_mut().is_none_or(|paths| paths.keeps(path));
        let theirs = &self.sides.theirs.lists;
        let known: HashSet<_> = lists.modes.iter().map(|(path, _)| path.clone()).collect();
        for (path, bits) in &theirs.modes {
            if known.contains(path) || !keeps(path) {
                continue;
            }
            let kind = |root| Ok::<_, Error>(tree::entry(repo, root, path)?.map(|entry| entry.mode));
            let now = kind(merged)?;
            if now.is_some() && now == kind(self.sides.theirs.tree)? {
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
        let base = self.sides.base(repo, &ours)?;
        let trees = Trees {
            base,
            ours: Some(ours.tree),
            theirs: Some(self.sides.theirs.tree),
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
        let skipped = |path: &RepoPath| {
            self.sides
                .theirs
                .lists
                .skipped
                .iter()
                .any(|skipped| skipped.path == *path)
        };
        // What the checkpoint did not save is no change.
        merged.retain(|path| !skipped(&path.saved));
        let tree = merge::tree(repo, Some(ours.tree), &merged)?;
        let mut lists = lists(&ours.lists, &self.sides.theirs.lists, &merged);
        self.beside_trees(repo, &mut lists, tree)?;
        let mut blobs = ours.conflicts.clone();
        lists.intent_to_add.clone_from(&ours.lists.intent_to_add);
        lists.conflicts = unmerged(&ours.lists.conflicts, &mut blobs, &merged);
        let conflicts = merged
            .iter()
            .filter(|path| path.verdict != MergeVerdict::Clean)
            .map(|path| (path.path.clone(), path.verdict))
            .collect();
        let mut goal = TargetState {
            tree,
            lists,
            conflicts: blobs,
            ..ours
        };
        // The index keeps what it has, unless what was staged fits into it.
        if self.index && Vec::is_empty(&conflicts) {
            self.stage(repo, &mut goal, base)?;
        }
        Ok((goal, conflicts))
    }

    /// Merges what was staged at the checkpoint into the index, all of it or nothing: what is unmerged on a side, and
    /// what both changed, is left to the user.
    fn stage(&self, repo: &Repository, goal: &mut TargetState, base: Option<ObjectId>) -> Result<(), Error> {
        let theirs = &self.sides.theirs.lists;
        if !theirs.conflicts.is_empty() || !goal.lists.conflicts.is_empty() {
            return Ok(());
        }
        let trees = Trees {
            base,
            ours: Some(goal.index),
            theirs: Some(self.sides.theirs.index),
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

/// The unmerged entries of the present with those for the conflicts of a merge, whose blobs are added. A conflict of
/// files with directories has no stages.
fn unmerged(ours: &[IndexConflict], blobs: &mut Vec<ObjectId>, merged: &[PathMerge]) -> Vec<IndexConflict> {
    let has_stages = |path: &&PathMerge| {
        let sides = [&path.base, &path.ours, &path.theirs];
        path.verdict.is_conflict()
            && !matches!(path.verdict, MergeVerdict::Structure | MergeVerdict::Unknown)
            && sides.into_iter().flatten().all(|side| side.mode != GITLINK)
    };
    let mut conflicts = ours.to_vec();
    for path in merged.iter().filter(has_stages) {
        conflicts.retain(|conflict| conflict.path != path.path);
        for (side, stage) in [(&path.base, 1), (&path.ours, 2), (&path.theirs, 3)] {
            let Some(side) = side else { continue };
            conflicts.push(IndexConflict {
                path: path.path.clone(),
                n: u32::try_from(blobs.len()).unwrap_or(u32::MAX),
                stage,
                mode: side.mode,
            });
            blobs.push(object_id(&side.id));
        }
    }
    conflicts.sort_by(|a, b| (&a.path, a.stage).cmp(&(&b.path, b.stage)));
    conflicts
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
