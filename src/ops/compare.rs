//! `compare`: two checkpoints side by side, and each against the checkpoint that both come from.

use std::collections::BTreeSet;

use super::{
    Error, Scene, bases,
    diff::{self, DiffOutcome},
    ids::short,
    select,
};
use crate::{
    model::{
        change::TreeChange, comparison::RecordDifference, id::Oid, name::ShortName, path::RepoPath,
        report::MergeVerdict, selector::Selector,
    },
    store::{
        self, ObjectId,
        ancestry::MergeEdges,
        checkpoint::{self, Checkpoint, object_id},
        merge::{self, Labels, Trees},
        patch::PatchOptions,
        tree::{self, Renames},
    },
};

/// Files read while looking for the new name of a changed file.
const RENAME_CANDIDATES: usize = 1000;

/// Request of a comparison.
#[derive(Debug)]
pub struct CompareRequest {
    /// One side.
    pub a: Selector,
    /// The other.
    pub b: Selector,
    /// How files are written.
    pub patch: PatchOptions,
}

/// Two checkpoints compared.
#[derive(Debug)]
pub struct Comparison {
    /// One side.
    pub a: ComparedCheckpoint,
    /// The other.
    pub b: ComparedCheckpoint,
    /// Differences of the files.
    pub diff: DiffOutcome,
    /// The checkpoint that both come from; `None` if there is none.
    pub common: Option<CommonCheckpoint>,
    /// Without one: the commit that both come from.
    pub base: Option<CommitBase>,
}

/// The commit that both sides come from, and what each changed since.
#[derive(Debug)]
pub struct CommitBase {
    /// The best common ancestor of the commits that they were saved at.
    pub commit: Oid,
    /// The changes of their files.
    pub files: FileChanges,
}

/// Changes of the files of both sides since a common state.
#[derive(Debug, Default)]
pub struct FileChanges {
    /// Those of side `a`.
    pub a: Vec<TreeChange>,
    /// Those of side `b`.
    pub b: Vec<TreeChange>,
    /// Files that both changed, and how their changes go together; those that are the same on both sides are left out.
    pub both: Vec<(RepoPath, MergeVerdict)>,
}

/// One of them.
#[derive(Debug)]
pub struct ComparedCheckpoint {
    /// Its session.
    pub session: Option<ShortName>,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
}

/// The checkpoint that both come from, and what each did since.
#[derive(Debug)]
pub struct CommonCheckpoint {
    /// That checkpoint.
    pub checkpoint: Checkpoint,
    /// Changes of side `a`.
    pub a: SideChanges,
    /// Changes of side `b`.
    pub b: SideChanges,
    /// Files that both changed, and how their changes go together; those that are the same on both sides are left out.
    pub both: Vec<(RepoPath, MergeVerdict)>,
}

/// Changes of one side since the common checkpoint.
#[derive(Debug)]
pub struct SideChanges {
    /// Checkpoints made.
    pub steps: usize,
    /// Differences of the record.
    pub record: Vec<RecordDifference>,
    /// Files that changed.
    pub files: Vec<TreeChange>,
}

/// Compares.
pub fn compare(scene: &Scene<'_>, request: &CompareRequest) -> Result<Comparison, Error> {
    let [a, b] = [&request.a, &request.b].map(|selector| {
        let selected = select::checkpoint(scene, selector)?;
        Ok::<_, Error>(ComparedCheckpoint {
            session: selected.session,
            checkpoint: selected.checkpoint,
        })
    });
    let (a, b) = (a?, b?);
    let diff = diff::checkpoints(scene, &a.checkpoint, &b.checkpoint, &request.patch)?;
    let (one, other) = (a.checkpoint.entry.id, b.checkpoint.entry.id);
    let (mut common, mut base) = (None, None);
    match bases::nearest(scene, one, other, MergeEdges::All)? {
        Some((id, steps)) => common = Some(since(scene, id, steps, &a.checkpoint, &b.checkpoint)?),
        None => base = since_commit(scene, &a.checkpoint, &b.checkpoint)?,
    }
    Ok(Comparison {
        a,
        b,
        diff,
        common,
        base,
    })
}

/// Changes since the commit that both were saved after.
fn since_commit(scene: &Scene<'_>, a: &Checkpoint, b: &Checkpoint) -> Result<Option<CommitBase>, Error> {
    let (Some(one), Some(other)) = (&a.document.git.head, &b.document.git.head) else {
        return Ok(None);
    };
    let Some(commit) = bases::merge_base(scene, one, other)? else {
        return Ok(None);
    };
    let base = Some(bases::tree_of_commit(scene, &commit)?);
    let files = file_changes(scene, base, a, b)?;
    Ok(Some(CommitBase { commit, files }))
}

/// The changes of both sides' files since a tree.
fn file_changes(
    scene: &Scene<'_>,
    base: Option<ObjectId>,
    a: &Checkpoint,
    b: &Checkpoint,
) -> Result<FileChanges, Error> {
    let since = |tree: Option<ObjectId>| match (base, tree) {
        (Some(base), Some(tree)) => tree::diff(scene.repo, Some(base), Some(tree), Renames::Exact),
        _ => Ok(Vec::new()),
    };
    let mut changes = FileChanges {
        a: since(files_of(a))?,
        b: since(files_of(b))?,
        both: Vec::new(),
    };
    if let (Some(_), Some(ours), Some(theirs)) = (base, files_of(a), files_of(b)) {
        changes.both = both(scene, base, ours, theirs, &changes.a)?;
    }
    Ok(changes)
}

fn files_of(checkpoint: &Checkpoint) -> Option<ObjectId> {
    let snapshot = checkpoint.document.snapshot.as_ref();
    snapshot.map(|snapshot| object_id(&snapshot.tree))
}

fn since(
    scene: &Scene<'_>,
    id: ObjectId,
    steps: [usize; 2],
    a: &Checkpoint,
    b: &Checkpoint,
) -> Result<CommonCheckpoint, Error> {
    let common = checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?;
    // A merge of the records alone is no base for files.
    let base = match bases::nearest(scene, a.entry.id, b.entry.id, MergeEdges::Files)? {
        Some((id, _)) if id != common.entry.id => {
            files_of(&checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?)
        }
        _ => files_of(&common),
    };
    let changes = file_changes(scene, base, a, b)?;
    Ok(CommonCheckpoint {
        a: SideChanges {
            steps: steps[0],
            record: diff::records(scene, &common, a)?,
            files: changes.a,
        },
        b: SideChanges {
            steps: steps[1],
            record: diff::records(scene, &common, b)?,
            files: changes.b,
        },
        both: changes.both,
        checkpoint: common,
    })
}

/// How the changes of both sides go together, for files that both changed.
fn both(
    scene: &Scene<'_>,
    base: Option<ObjectId>,
    ours: ObjectId,
    theirs: ObjectId,
    changed: &[TreeChange],
) -> Result<Vec<(RepoPath, MergeVerdict)>, Error> {
    let repo = store::with_memory(scene.repo);
    let options = merge::MergeOptions {
        labels: Labels {
            base: "common",
            ours: "one",
            theirs: "other",
        },
        drivers: false,
        rename_candidates: RENAME_CANDIDATES,
        overlap: merge::Overlap::Conflict,
    };
    let trees = Trees {
        base,
        ours: Some(ours),
        theirs: Some(theirs),
    };
    let changed: BTreeSet<&RepoPath> = changed.iter().map(|change| &change.path).collect();
    let merged = merge::three_way(&tree::TreeReader::new(&repo), trees, options)?;
    Ok(merged
        .into_iter()
        .filter(|path| path.ours != path.theirs && changed.contains(&path.path))
        .map(|path| (path.path, path.verdict))
        .collect())
}
