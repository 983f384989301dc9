//! Files of a new working tree that have less than in this one: their filter program stores a part of them.

use std::path::Path;

use super::{
    super::{
        Error, Scene, compose,
        put_aside::WholeFiles,
        session_choice,
        target_state::{self, TargetState},
    },
    ForkOutcome,
};
use crate::{
    model::path::RepoPath,
    os,
    store::{self, ObjectId, objects::Writer, tree},
    worktree::restore::{self, RestoreOptions},
};

/// The files that lack something.
#[derive(Default)]
pub(super) struct LackingFiles {
    /// Those that are as here, but for what the filter leaves out.
    pub(super) lossy: Vec<RepoPath>,
    /// Those of which `pause --clean` kept the whole in a checkpoint.
    pub(super) partial: Vec<(RepoPath, ObjectId)>,
}

/// The files of a fork in the working tree at `path` that have less than they were saved from.
pub(super) fn lacking(scene: &Scene<'_>, forked: &ForkOutcome, path: &Path) -> Result<LackingFiles, Error> {
    if forked.document.snapshot.is_none() || !store::has_work_tree(scene.repo) {
        return Ok(LackingFiles::default());
    }
    let source = session_choice::load(scene, forked.name.as_str(), forked.source)?;
    let saved = TargetState::of(scene, &source, forked.name.as_str())?;
    let whole = WholeFiles::of(scene, scene.repo, &source, &saved)?;
    let partial = whole.lacking(scene, path, whole.paths().cloned().collect())?;
    if !restore::has_filter_programs(scene.repo)? {
        return Ok(LackingFiles {
            partial,
            ..LackingFiles::default()
        });
    }
    let writer = Writer::memory(scene.repo);
    let present = compose::present(scene, &writer, true, &[])?;
    let Some(snapshot) = &present.snapshot else {
        return Ok(LackingFiles {
            partial,
            ..LackingFiles::default()
        });
    };
    let repo = writer.overlay(scene.repo);
    let nothing = TargetState::empty(&repo, snapshot.umask);
    let options = RestoreOptions {
        umask: snapshot.umask,
        ..RestoreOptions::default()
    };
    let plan = restore::plan(&repo, target_state::files(snapshot), nothing.files(), options)?;
    let mut lossy = Vec::new();
    if plan.has_filtered(&repo)? {
        let here = store::work_tree(scene.repo)?;
        for file in plan.unlike(&repo)?.lossy {
            let name = os::os_string(file.as_bytes());
            let is_as_saved = tree::entry(&repo, snapshot.tree, &file)? == tree::entry(&repo, saved.tree, &file)?;
            let is_same = os::is_same_content(&here.join(&name), &path.join(&name)).unwrap_or(false);
            if is_as_saved && !is_same && partial.iter().all(|(other, _)| *other != file) {
                lossy.push(file);
            }
        }
    }
    Ok(LackingFiles { lossy, partial })
}
