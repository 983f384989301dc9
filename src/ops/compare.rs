//! `compare`: two checkpoints side by side, and each against the checkpoint that both come from.

use std::collections::BTreeSet;

use super::{
    Error, Scene,
    diff::{self, DiffOutcome},
    ids::short,
    select,
};
use crate::{
    model::{
        change::TreeChange, comparison::RecordDifference, name::ShortName, path::RepoPath, report::MergeVerdict,
        selector::Selector,
    },
    store::{
        self, ObjectId,
        ancestry::{self, MergeEdges},
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
    let common = match nearest(scene, one, other, MergeEdges::All)? {
        Some((id, steps)) => Some(since(scene, id, steps, &a.checkpoint, &b.checkpoint)?),
        None => None,
    };
    Ok(Comparison { a, b, diff, common })
}

/// The latest checkpoint that both come from, and how many checkpoints each side has since.
pub(super) fn nearest(
    scene: &Scene<'_>,
    a: ObjectId,
    b: ObjectId,
    edges: MergeEdges,
) -> Result<Option<(ObjectId, [usize; 2])>, Error> {
    let relation = ancestry::relation(scene.repo, a, b, edges)?;
    let steps = [relation.ahead, relation.behind];
    Ok(relation.bases.first().map(|id| (*id, steps)))
}

fn since(
    scene: &Scene<'_>,
    id: ObjectId,
    steps: [usize; 2],
    a: &Checkpoint,
    b: &Checkpoint,
) -> Result<CommonCheckpoint, Error> {
    let common = checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?;
    let files = |checkpoint: &Checkpoint| checkpoint.document.snapshot.as_ref().map(|s| object_id(&s.tree));
    // A merge of the records alone is no base for files.
    let base = match nearest(scene, a.entry.id, b.entry.id, MergeEdges::Files)? {
        Some((id, _)) if id != common.entry.id => {
            files(&checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?)
        }
        _ => files(&common),
    };
    let of = |side: &Checkpoint, steps: usize| -> Result<SideChanges, Error> {
        let changed = match (base, files(side)) {
            (Some(base), Some(tree)) => tree::diff(scene.repo, Some(base), Some(tree), Renames::Exact)?,
            _ => Vec::new(),
        };
        Ok(SideChanges {
            steps,
            record: diff::records(scene, &common, side)?,
            files: changed,
        })
    };
    let (since_a, since_b) = (of(a, steps[0])?, of(b, steps[1])?);
    let both = match (base, files(a), files(b)) {
        (Some(_), Some(ours), Some(theirs)) => both(scene, base, ours, theirs, &since_a.files)?,
        _ => Vec::new(),
    };
    Ok(CommonCheckpoint {
        checkpoint: common,
        a: since_a,
        b: since_b,
        both,
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
