//! Changes that the current files are without although they are edited: the edit was made from an earlier version.

use std::collections::HashSet;

use super::{Error, Scene};
use crate::{
    model::{name::ShortName, path::RepoPath, report::MergeVerdict},
    store::{
        Repository,
        checkpoint::{self, Checkpoint, object_id},
        merge::{self, Labels, MergeOptions, Overlap, PathMergeOutcome, Trees},
        objects::Writer,
        refs, session,
        tree::{self, TreeReader},
    },
};

/// The checkpoints of this repository over which the latest one was pulled, latest first; of the last one are the files here.
/// None where something was saved since. One that was pruned since shows nothing, and without a reflog no pull shows.
pub(super) fn pulled_over(scene: &Scene<'_>, name: &ShortName, tip: &Checkpoint) -> Vec<Checkpoint> {
    let log = refs::latest_in_reflog(scene.repo, &session::ref_name(name));
    let mut at = tip.entry.id;
    let mut before = Vec::new();
    for entry in log.into_iter().flatten() {
        if entry.new != at || !entry.message.starts_with(session::PULLED) {
            break;
        }
        let Some(old) = entry.old else { break };
        at = old;
        before.extend(checkpoint::load(scene.repo, old).ok());
    }
    before
}

/// Those of the paths whose change from base to theirs is not in ours, by a merge of the contents.
///
/// One of which the content cannot be read is none of them.
pub(super) fn among(
    repo: &Repository,
    writer: &Writer,
    trees: Trees,
    paths: &[RepoPath],
) -> Result<Vec<RepoPath>, Error> {
    let Some(ours) = trees.ours.filter(|_| !paths.is_empty()) else {
        return Ok(Vec::new());
    };
    let mut blobs = Vec::new();
    let overlay = writer.overlay(repo);
    for path in paths {
        blobs.extend(tree::entry(&overlay, ours, path)?.map(|entry| object_id(&entry.id)));
    }
    let overlay = writer.overlay_with(repo, &blobs)?;
    let options = MergeOptions {
        labels: Labels {
            base: "base",
            ours: "current files",
            theirs: "checkpoint",
        },
        drivers: false,
        rename_candidates: 0,
        overlap: Overlap::Contained,
    };
    let merged = merge::three_way(&TreeReader::new(&overlay), trees, options)?;
    let lacking = merged.into_iter().filter(|merged| {
        let is_changed = merged.verdict.is_conflict() || merged.result != PathMergeOutcome::Keep;
        is_changed && merged.verdict != MergeVerdict::Unknown
    });
    let meant: HashSet<&RepoPath> = paths.iter().collect();
    let names = lacking.flat_map(|merged| [Some(merged.saved), merged.from]);
    Ok(names.flatten().filter(|path| meant.contains(path)).collect())
}
