//! The very bytes of files that `pause --clean` removed from this working tree, where their checkpoint alone does not give
//! them back: its files are what a filter program stores.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
};

use super::super::{Error, Scene, ids::short, plan_runner::PlanOperation, target_state::TargetState};
use crate::{
    model::{change::TreeEntryInfo, list::Lists, path::RepoPath, report::MergeVerdict},
    os,
    store::{
        self, Kind, ObjectId, Repository,
        checkpoint::{self, Checkpoint, object_id},
        merge::{self, PathMerge, PathMergeOutcome},
        objects::Writer,
        tree, undo,
    },
};

/// The bytes of files that were removed after a checkpoint had saved them.
#[derive(Debug, Default)]
pub(in crate::ops) struct WholeFiles {
    /// The checkpoint that has the bytes.
    saved: Option<ObjectId>,
    /// The blob of each file, byte for byte.
    files: BTreeMap<RepoPath, TreeEntryInfo>,
}

/// Changes of a tree.
type Edits = Vec<(RepoPath, Option<TreeEntryInfo>)>;

impl WholeFiles {
    /// Those of a checkpoint, whose files are `target`.
    pub(in crate::ops) fn of(
        scene: &Scene<'_>,
        repo: &Repository,
        checkpoint: &Checkpoint,
        target: &TargetState,
    ) -> Result<Self, Error> {
        let list = undo::read(scene.repo)?;
        let is_cleaning = |entry: &undo::UndoEntry| {
            let files = entry.files.as_ref();
            entry.operation == PlanOperation::Clean.word()
                && files.is_some_and(|files| files.digest == checkpoint.digest)
        };
        let cleaning = list
            .entries()
            .map(|(entry, _)| entry)
            .filter(|entry| is_cleaning(entry));
        let Some(before) = cleaning.last().and_then(undo::UndoEntry::files_before) else {
            return Ok(Self::default());
        };
        // What was dropped since is nothing that could be brought.
        let Ok(before) = checkpoint::load(scene.repo, object_id(before)) else {
            return Ok(Self::default());
        };
        let lists = checkpoint::lists(scene.repo, &before).map_err(Error::damaged(short(before.entry.id)))?;
        let Some(snapshot) = &before.document.snapshot else {
            return Ok(Self::default());
        };
        let mut files = BTreeMap::new();
        let wanted: HashSet<&RepoPath> = target.lists.raw.iter().collect();
        for path in lists.raw {
            if wanted.contains(&path) || tree::entry(repo, target.tree, &path)?.is_none() {
                continue;
            }
            if let Some(entry) = tree::entry(repo, object_id(&snapshot.tree), &path)? {
                files.insert(path, entry);
            }
        }
        Ok(Self {
            saved: Some(before.entry.id),
            files,
        })
    }

    /// The paths.
    pub(in crate::ops) fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.files.keys()
    }

    /// Brings the bytes of files that a merge takes as they were saved. Returns the changes of its tree, and the other files
    /// of the merge: they are without what their filter left out.
    pub(in crate::ops) fn bring(&self, merged: &[PathMerge], lists: &mut Lists) -> (Edits, Vec<RepoPath>) {
        let (mut edits, mut partial) = (Vec::new(), Vec::new());
        for path in merged {
            let (Some(whole), Some(theirs)) = (self.files.get(&path.saved), &path.theirs) else {
                continue;
            };
            match &path.result {
                PathMergeOutcome::Write(entry)
                    if path.verdict == MergeVerdict::Clean
                        && entry.id == theirs.id
                        && !lists.raw.contains(&path.path) =>
                {
                    lists.raw.push(path.path.clone());
                    let whole = TreeEntryInfo {
                        mode: entry.mode,
                        id: whole.id.clone(),
                    };
                    edits.push((path.path.clone(), Some(whole)));
                }
                _ => partial.push(path.path.clone()),
            }
        }
        lists.sort();
        (edits, partial)
    }

    /// Of these paths those that a filter program stores a part of and that have other bytes in the working tree at `root`,
    /// with the checkpoint that has the whole.
    pub(in crate::ops) fn lacking(
        &self,
        scene: &Scene<'_>,
        root: &Path,
        paths: Vec<RepoPath>,
    ) -> Result<Vec<(RepoPath, ObjectId)>, Error> {
        let Some(saved) = self.saved else { return Ok(Vec::new()) };
        let writer = Writer::memory(scene.repo);
        let mut out = Vec::new();
        for path in filtered(scene, paths)? {
            let is_whole = match (
                self.files.get(&path),
                os::read_regular(&root.join(os::os_string(path.as_bytes()))),
            ) {
                (Some(whole), Ok(bytes)) => writer.hash_only(Kind::Blob, &bytes)? == object_id(&whole.id),
                _ => false,
            };
            if !is_whole {
                out.push((path, saved));
            }
        }
        Ok(out)
    }
}

/// Those of these paths that have a filter program.
fn filtered(scene: &Scene<'_>, mut paths: Vec<RepoPath>) -> Result<Vec<RepoPath>, Error> {
    if paths.is_empty() {
        return Ok(paths);
    }
    let mut input = Vec::new();
    for path in &paths {
        input.extend_from_slice(path.as_bytes());
        input.push(0);
    }
    let git = store::git(scene.repo).args(["check-attr", "-z", "--stdin", "filter"]);
    let output = git.input(input).run().map_err(store::Error::from)?;
    let words: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
    let is_program = |value: &[u8]| !matches!(value, b"unspecified" | b"unset" | b"set");
    paths.retain(|path| {
        let mut rows = words.chunks_exact(3);
        rows.any(|row| row[0] == path.as_bytes() && is_program(row[2]))
    });
    Ok(paths)
}

/// A target state with the very bytes that `pause --clean` removed from this working tree after it had saved them as this
/// checkpoint. Objects that it makes stay in the memory of `repo`.
pub(in crate::ops) fn with_bytes(
    scene: &Scene<'_>,
    repo: &Repository,
    checkpoint: &Checkpoint,
    mut target: TargetState,
) -> Result<TargetState, Error> {
    let whole = WholeFiles::of(scene, repo, checkpoint, &target)?;
    if !whole.files.is_empty() {
        let edits: Vec<_> = whole
            .files
            .into_iter()
            .map(|(path, entry)| (path, Some(entry)))
            .collect();
        target.lists.raw.extend(edits.iter().map(|(path, _)| path.clone()));
        target.tree = merge::edited(repo, target.tree, &edits)?;
        target.lists.sort();
    }
    Ok(target)
}
