//! Merge of a side with the current files: what is compared with what, and the target state that comes of it.

use std::collections::{BTreeMap, HashSet};

use super::{
    super::{
        Error, Scene,
        compose::CurrentSnapshot,
        ids::short,
        omissions::{self, Omission},
        pathspecs,
        put_aside::{self, CleanedFiles, WholeFiles},
        returned, session_choice, suggestions,
        target_state::{self, TargetState},
    },
    ApplyJournal, merged_lists, unchanged, unresolved,
};
use crate::{
    model::{
        change::TreeEntryInfo,
        list::{IndexConflict, Lists, Source},
        path::RepoPath,
        report::MergeVerdict,
        tree_mode,
    },
    store::{
        ObjectId, Repository,
        checkpoint::{self, Checkpoint, object_id},
        merge::{self, Labels, Overlap, PathMerge, PathMergeOutcome, Trees},
        pathspec::PathFilter,
        refs, tree,
    },
};

/// Files read while looking for the new name of a changed file.
const RENAME_CANDIDATES: usize = 1000;

/// Paths on which both sides do not fit together, and how.
pub(in crate::ops) type Conflicts = Vec<(RepoPath, MergeVerdict)>;

/// Side that is merged with the current files.
pub(in crate::ops) struct Sides {
    /// The files that are brought.
    pub(in crate::ops) theirs: TargetState,
    /// The trees that they are compared with.
    pub(in crate::ops) base: Base,
    /// The bytes of files that they have only a part of.
    pub(in crate::ops) whole: WholeFiles,
    /// Paths that were purged from what is brought or reverted: they stay as they are.
    pub(in crate::ops) purged: Vec<RepoPath>,
    /// Paths whose content was purged, and is in what is brought again: they stay as they are as well.
    pub(in crate::ops) returned: Vec<RepoPath>,
    /// Work that the files that are brought never had: they did not remove it.
    pub(in crate::ops) omitted: Vec<Omission>,
}

pub(in crate::ops) enum Base {
    /// A commit or a tree; `None` is the empty tree.
    Tree(Option<ObjectId>),
    /// The files and the index of a checkpoint that both come from or that is reverted, the work that is put aside, and the
    /// files of HEAD.
    Common {
        files: ObjectId,
        index: ObjectId,
        cleaned: Vec<CleanedFiles>,
        head: ObjectId,
    },
}

impl Base {
    /// The state of a checkpoint that both sides come from; `ours` is the latest checkpoint of the current session.
    pub(in crate::ops) fn common(scene: &Scene<'_>, common: &Checkpoint, ours: &Checkpoint) -> Result<Self, Error> {
        let state = TargetState::of(scene, common, &short(common.entry.id))?;
        Ok(Self::Common {
            files: state.tree,
            index: state.index,
            cleaned: put_aside::cleaned(scene, ours, common)?,
            head: tree::tree_of(scene.repo, refs::head(scene.repo)?.id)?,
        })
    }
}

impl Base {
    /// The state of an earlier checkpoint of the same chain, which was in this working tree. What of it is gone from there
    /// is missing, as in a resumed session.
    fn earlier(scene: &Scene<'_>, ancestor: &Checkpoint) -> Result<Self, Error> {
        let state = TargetState::of(scene, ancestor, &short(ancestor.entry.id))?;
        Ok(Self::Common {
            files: state.tree,
            index: state.index,
            cleaned: vec![CleanedFiles {
                files: state.tree,
                head: ancestor.document.git.head.as_ref().map(object_id),
                since: Vec::new(),
            }],
            head: tree::tree_of(scene.repo, refs::head(scene.repo)?.id)?,
        })
    }
}

impl Sides {
    pub(in crate::ops) fn of(scene: &Scene<'_>, note: &ApplyJournal, checkpoint: &Checkpoint) -> Result<Self, Error> {
        let subject = note
            .session
            .as_ref()
            .map_or_else(|| short(checkpoint.entry.id), ToString::to_string);
        let files = TargetState::of(scene, checkpoint, &subject)?;
        let head = |checkpoint: &Checkpoint| checkpoint.document.git.head.as_ref().map(object_id);
        if note.reverse {
            let base = Base::Common {
                files: files.tree,
                index: files.index,
                cleaned: Vec::new(),
                head: tree::tree_of(scene.repo, refs::head(scene.repo)?.id)?,
            };
            let theirs = before(scene, checkpoint, &files)?;
            return Ok(Self {
                purged: files.lists.purged().chain(theirs.lists.purged()).cloned().collect(),
                theirs,
                base,
                whole: WholeFiles::default(),
                omitted: Vec::new(),
                returned: Vec::new(),
            });
        }
        let mut omitted = Vec::new();
        let base = match &note.common {
            None => match (&note.base, put_aside::present_ancestor(scene, checkpoint)?) {
                (Some(base), _) => Base::Tree(Some(object_id(base))),
                (None, Some(ancestor)) => {
                    omitted = omissions::of(scene, &ancestor, checkpoint, &files.lists)?;
                    Base::earlier(scene, &ancestor)?
                }
                (None, None) => Base::Tree(head(checkpoint)),
            },
            Some(common) => {
                let id = object_id(common);
                let common = checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?;
                omitted = omissions::of(scene, &common, checkpoint, &files.lists)?;
                let chosen = session_choice::session_for_command(scene)?;
                let ours = chosen.ok_or_else(|| suggestions::none_current(scene))?.tip;
                Base::common(scene, &common, &ours)?
            }
        };
        let whole = match &note.parts {
            // Parts of a file are those of what is stored.
            Some(_) => WholeFiles::default(),
            None => WholeFiles::of(scene, scene.repo, checkpoint, &files)?,
        };
        let returned = returned::purged(scene, checkpoint.entry.id)?;
        Ok(Self {
            purged: files.lists.purged().chain(&returned).cloned().collect(),
            returned,
            theirs: files,
            base,
            whole,
            omitted,
        })
    }

    /// The tree that changes of the index are reported by.
    fn base_index(&self) -> Option<ObjectId> {
        match self.base {
            Base::Tree(base) => base,
            Base::Common { index, .. } => Some(index),
        }
    }

    /// The tree that the present's changes and the checkpoint's are compared with.
    ///
    /// That is the common checkpoint, but for files that `pause --clean` removed or reset: they are compared with the
    /// commit that they were reset to. A file that a person removed or reset is a change like any other.
    pub(super) fn base(&self, repo: &Repository, ours: &TargetState) -> Result<Option<ObjectId>, Error> {
        let (files, cleaned, head) = match &self.base {
            Base::Tree(base) => return Ok(*base),
            Base::Common {
                files, cleaned, head, ..
            } => (*files, cleaned, *head),
        };
        let mut reset: BTreeMap<RepoPath, Option<TreeEntryInfo>> = BTreeMap::new();
        for aside in cleaned {
            for change in tree::diff(repo, aside.head, Some(aside.files), tree::Renames::Off)? {
                let path = &change.path;
                let is_common = |root: ObjectId| Ok::<_, Error>(tree::entry(repo, root, path)? == change.new);
                let is_omitted = self.omitted.iter().any(|omission| omission.path == *path);
                if is_omitted || reset.contains_key(path) || !is_common(files)? || is_common(ours.tree)? {
                    continue;
                }
                let now = tree::entry(repo, ours.tree, path)?;
                if now != change.old && now != tree::entry(repo, head, path)? {
                    continue;
                }
                // A file that came back was removed by a person after that.
                let mut came_back = false;
                for later in &aside.since {
                    came_back |= is_common(*later)?;
                }
                if !came_back {
                    reset.insert(change.path.clone(), change.old);
                }
            }
        }
        let omitted = self.omitted.iter();
        let reset: Vec<_> = omitted
            .map(|omission| (omission.path.clone(), omission.committed.clone()))
            .chain(reset)
            .collect();
        Ok(Some(merge::edited(repo, files, &reset)?))
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

pub(in crate::ops) struct MergeRun<'a> {
    pub(in crate::ops) sides: &'a Sides,
    /// The present when it was interrupted, if it was: then that is merged, not what became of it.
    pub(in crate::ops) before: Option<&'a TargetState>,
    pub(in crate::ops) paths: Option<PathFilter>,
    pub(in crate::ops) index: bool,
    pub(in crate::ops) label: &'a str,
    /// Treatment of lines that both sides changed.
    pub(in crate::ops) overlap: OverlapRule,
    /// Whether what the working tree does not take goes into the index, as in a merge of git: the commits of submodules, and
    /// files outside of a sparse checkout.
    pub(in crate::ops) stages_unwritten: bool,
}

/// Treatment of lines that both sides changed.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::ops) struct OverlapRule {
    pub(in crate::ops) overlap: Overlap,
    /// Files that are as in this tree are as they were before the changes were brought: they are no edits of them.
    pub(in crate::ops) before: Option<ObjectId>,
}

impl From<Overlap> for OverlapRule {
    fn from(overlap: Overlap) -> Self {
        Self { overlap, before: None }
    }
}

impl MergeRun<'_> {
    pub(super) fn options(&self) -> merge::MergeOptions<'_> {
        merge::MergeOptions {
            labels: Labels {
                base: "saved at",
                ours: "current files",
                theirs: self.label,
            },
            drivers: false,
            rename_candidates: RENAME_CANDIDATES,
            overlap: self.overlap.overlap,
        }
    }

    /// The present with the checkpoint's changes merged in, the paths in conflict, and those without what their filter left
    /// out.
    pub(in crate::ops) fn merge(
        &self,
        repo: &Repository,
        present: &CurrentSnapshot,
    ) -> Result<(TargetState, Conflicts, Vec<RepoPath>), Error> {
        let now = TargetState::present(present)?;
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
            None => now,
        };
        self.merge_into(repo, ours)
    }

    /// Brings what is in no tree: permission bits where the present has the usual ones, and empty directories where nothing
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
                is_free &= above.is_none_or(|entry| entry.mode == tree_mode::DIRECTORY);
            }
            if is_free {
                lists.empty_dirs.push(directory.clone());
            }
        }
        lists.sort();
        Ok(())
    }

    pub(in crate::ops) fn merge_into(
        &self,
        repo: &Repository,
        ours: TargetState,
    ) -> Result<(TargetState, Conflicts, Vec<RepoPath>), Error> {
        let base = unchanged::without_hidden(repo, self.sides.base(repo, &ours)?, (&ours, &self.sides.theirs))?;
        let purged = self.sides.purged.iter();
        let trees = Trees {
            base,
            ours: Some(ours.tree),
            theirs: Some(target_state::with_purged(repo, self.sides.theirs.tree, purged, base)?),
        };
        let options = self.options();
        let mut merged = merge::three_way(&tree::TreeReader::new(repo), trees, options)?;
        if let Some(before) = self.overlap.before {
            let options = merge::MergeOptions {
                overlap: Overlap::Contained,
                ..options
            };
            let anew = merge::three_way(&tree::TreeReader::new(repo), trees, options)?;
            for (path, anew) in merged.iter_mut().zip(anew) {
                if path.ours.is_some() && tree::entry(repo, before, &path.path)? == path.ours {
                    *path = anew;
                }
            }
        }
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
        self.leave_nested(repo, ours.index, &mut merged)?;
        unresolved::mark(&self.sides.theirs.lists, &mut merged);
        let tree = merge::tree(repo, Some(ours.tree), &merged)?;
        let mut lists = merged_lists::lists(&ours.lists, &self.sides.theirs.lists, &merged);
        unchanged::keep_bytes(repo, (ours.tree, &self.sides.theirs), &merged, &mut lists)?;
        self.beside_trees(repo, &mut lists, tree)?;
        let (edits, partial) = self.sides.whole.bring(&merged, &mut lists);
        let tree = merge::edited(repo, tree, &edits)?;
        let mut blobs = ours.conflicts.clone();
        lists.intent_to_add.clone_from(&ours.lists.intent_to_add);
        lists.conflicts = unmerged(repo, &ours.lists.conflicts, &mut blobs, &merged)?;
        unresolved::take_entries(&self.sides.theirs, &merged, &mut lists.conflicts, &mut blobs);
        let alone = self.bring_stages(repo, (base, &ours), &merged, (&mut lists.conflicts, &mut blobs))?;
        let in_conflict = merged.iter().filter(|path| path.verdict != MergeVerdict::Clean);
        let mut conflicts: Conflicts = in_conflict
            .flat_map(|path| {
                let aside = path.aside.as_ref().map(|(aside, _)| aside);
                let old = path
                    .from
                    .as_ref()
                    .filter(|_| aside.is_some() && path.path != path.saved);
                let paths = std::iter::once(&path.path).chain(aside).chain(old);
                paths.map(|of| (of.clone(), path.verdict)).collect::<Vec<_>>()
            })
            .collect();
        conflicts.extend(alone);
        let index = if self.stages_unwritten {
            let edits = unwritten(&ours.lists, &merged);
            merge::edited(repo, ours.index, &edits)?
        } else {
            ours.index
        };
        let mut goal = TargetState {
            index,
            tree,
            lists,
            conflicts: blobs,
            ..ours
        };
        // The index keeps what it has, unless what was staged fits into it.
        if self.index {
            self.stage(repo, &mut goal)?;
        }
        Ok((goal, conflicts, partial))
    }

    /// Brings the unmerged entries of paths whose files are the same on all sides, as a path has them that both sides of a
    /// merge of git renamed. Where what is compared with is another checkpoint, they may have been there as well.
    fn bring_stages(
        &self,
        repo: &Repository,
        (base, ours): (Option<ObjectId>, &TargetState),
        merged: &[PathMerge],
        conflicts: (&mut Vec<IndexConflict>, &mut Vec<ObjectId>),
    ) -> Result<Conflicts, Error> {
        let (Base::Tree(_), Overlap::Contained) = (&self.sides.base, self.overlap.overlap) else {
            return Ok(Vec::new());
        };
        let mut paths = self.paths.clone();
        let mut alone = Vec::new();
        for (path, verdict) in unresolved::paths(&self.sides.theirs.lists) {
            let is_merged = |merged: &PathMerge| {
                let more = [&merged.from, &merged.removes].into_iter().flatten();
                [&merged.path, &merged.saved]
                    .into_iter()
                    .chain(more)
                    .any(|of| of == path)
            };
            let is_unmerged = ours.lists.conflicts.iter().any(|conflict| conflict.path == *path);
            if is_unmerged || merged.iter().any(is_merged) || !paths.as_mut().is_none_or(|paths| paths.keeps(path)) {
                continue;
            }
            let then = base.map(|base| tree::entry(repo, base, path)).transpose()?.flatten();
            if tree::entry(repo, ours.tree, path)? == then && tree::entry(repo, ours.index, path)? == then {
                alone.push((path.clone(), verdict));
            }
        }
        let paths = alone.iter().map(|(path, _)| path);
        unresolved::add_entries(&self.sides.theirs, paths, conflicts);
        Ok(alone)
    }

    /// Leaves out repositories below that neither index tracks: no merge touches them, and a working tree that lacks one did
    /// not delete it.
    fn leave_nested(&self, repo: &Repository, ours: ObjectId, merged: &mut Vec<PathMerge>) -> Result<(), Error> {
        let mut nested = HashSet::new();
        for path in merged.iter() {
            let mut sides = [&path.base, &path.ours, &path.theirs].into_iter().flatten();
            if !sides.all(|side| side.mode == tree_mode::GITLINK) {
                continue;
            }
            let mut is_tracked = false;
            for index in [ours, self.sides.theirs.index] {
                is_tracked |= tree::entry(repo, index, &path.path)?.is_some();
            }
            if !is_tracked {
                nested.insert(path.path.clone());
            }
        }
        merged.retain(|path| !nested.contains(&path.path));
        Ok(())
    }

    /// Merges what was staged at the checkpoint into the index. What is unmerged on a side, and what both changed, is left to
    /// the user.
    fn stage(&self, repo: &Repository, goal: &mut TargetState) -> Result<(), Error> {
        let theirs = &self.sides.theirs.lists;
        let base = self.sides.base_index();
        let omitted = self.sides.omitted.iter().map(|omission| &omission.path);
        let purged = self.sides.purged.iter().chain(omitted);
        let trees = Trees {
            base,
            ours: Some(goal.index),
            theirs: Some(target_state::with_purged(repo, self.sides.theirs.index, purged, base)?),
        };
        let options = self.options();
        let mut merged = merge::three_way(&tree::TreeReader::new(repo), trees, options)?;
        let mut paths = self.paths.clone();
        let mut keeps = |path: &RepoPath| paths.as_mut().is_none_or(|paths| paths.keeps(path));
        merged.retain(|path| keeps(&path.path) || keeps(&path.saved));
        let unmerged = theirs.conflicts.iter().chain(&goal.lists.conflicts);
        let mut left: Vec<RepoPath> = unmerged.map(|conflict| conflict.path.clone()).collect();
        for path in merged.iter().filter(|path| path.verdict != MergeVerdict::Clean) {
            let aside = path.aside.as_ref().map(|(aside, _)| aside);
            left.extend(
                [&path.path, &path.saved]
                    .into_iter()
                    .chain(aside)
                    .chain(&path.from)
                    .cloned(),
            );
        }
        let is_left = |path: &RepoPath| {
            left.iter()
                .any(|left| left == path || is_in(path, left) || is_in(left, path))
        };
        merged.retain(|path| {
            let more = [&path.removes, &path.from];
            !is_left(&path.path) && !is_left(&path.saved) && !more.into_iter().flatten().any(is_left)
        });
        goal.index = merge::tree(repo, Some(goal.index), &merged)?;
        for path in &theirs.intent_to_add {
            let is_new =
                tree::entry(repo, goal.index, path)?.is_none() && tree::entry(repo, goal.tree, path)?.is_some();
            if is_new && keeps(path) && !is_left(path) && !goal.lists.intent_to_add.contains(path) {
                goal.lists.intent_to_add.push(path.clone());
            }
        }
        goal.lists.sort();
        Ok(())
    }
}

/// Whether a path is below another one.
fn is_in(path: &RepoPath, directory: &RepoPath) -> bool {
    let rest = path.as_bytes().strip_prefix(directory.as_bytes());
    rest.is_some_and(|rest| rest.first() == Some(&b'/'))
}

/// Merged entries that no file is written for: the commits of submodules, and files outside of a sparse checkout.
fn unwritten(ours: &Lists, merged: &[PathMerge]) -> Vec<(RepoPath, Option<TreeEntryInfo>)> {
    let is_gitlink = |side: &Option<TreeEntryInfo>| side.as_ref().is_some_and(|side| side.mode == tree_mode::GITLINK);
    let is_left_out = |path: &RepoPath| {
        let origin = ours.origin_of(path.as_bytes());
        origin.is_some_and(|origin| origin.source == Source::Index)
    };
    let clean = merged.iter().filter(|path| path.verdict == MergeVerdict::Clean);
    clean
        .filter(|path| is_gitlink(&path.ours) || is_gitlink(&path.theirs) || is_left_out(&path.path))
        .filter_map(|path| match &path.result {
            PathMergeOutcome::Keep => None,
            PathMergeOutcome::Write(entry) => Some((path.path.clone(), Some(entry.clone()))),
            PathMergeOutcome::Delete => Some((path.path.clone(), None)),
        })
        .collect()
}

/// The unmerged entries of the present with those for the conflicts of a merge, whose blobs are added.
fn unmerged(
    repo: &Repository,
    ours: &[IndexConflict],
    blobs: &mut Vec<ObjectId>,
    merged: &[PathMerge],
) -> Result<Vec<IndexConflict>, Error> {
    let mut conflicts: BTreeMap<&RepoPath, Vec<IndexConflict>> = BTreeMap::new();
    for conflict in ours {
        conflicts.entry(&conflict.path).or_default().push(conflict.clone());
    }
    for path in merged.iter().filter(|path| path.verdict.is_conflict()) {
        let sides = stages(path);
        // Content that is not here, as in a partial clone, cannot be an entry.
        let is_here = |side: &TreeEntryInfo| side.mode == tree_mode::GITLINK || repo.has_object(object_id(&side.id));
        if !sides.iter().all(|(_, side, _)| is_here(side)) {
            continue;
        }
        for (of, ..) in &sides {
            conflicts.remove(of);
        }
        for (of, side, stage) in sides {
            conflicts.entry(of).or_default().push(IndexConflict {
                path: of.clone(),
                n: u32::try_from(blobs.len()).unwrap_or(u32::MAX),
                stage,
                mode: side.mode,
            });
            blobs.push(if side.mode == tree_mode::GITLINK {
                // Another repository's commit is kept as text.
                merge::gitlink_blob(repo, object_id(&side.id))?
            } else {
                object_id(&side.id)
            });
        }
    }
    let mut conflicts: Vec<_> = conflicts.into_values().flatten().collect();
    conflicts.sort_by(|a, b| (&a.path, a.stage).cmp(&(&b.path, b.stage)));
    Ok(conflicts)
}

/// The stages of a conflict with their paths. Where theirs has a path of its own, base and theirs are unmerged there, and
/// ours where it is; of a file that both sides renamed, base is at the old name.
fn stages(path: &PathMerge) -> Vec<(&RepoPath, &TreeEntryInfo, u8)> {
    let there = path.aside.as_ref().map_or(&path.path, |(aside, _)| aside);
    let before = match &path.from {
        Some(from) if path.aside.is_some() && path.path != path.saved => from,
        _ => there,
    };
    let sides = [
        (before, &path.base, 1),
        (&path.path, &path.ours, 2),
        (there, &path.theirs, 3),
    ];
    sides
        .into_iter()
        .filter_map(|(of, side, stage)| Some((of, side.as_ref()?, stage)))
        .collect()
}
