//! `resume --apply` and `resume --restore`: the saved files of a session back in the working tree, staged ones staged.

use super::{
    Error, Scene,
    apply::{self, ApplyOutcome},
    clean,
    restore::{self, ProgressCallback},
    select,
};
use crate::model::{path::RepoPath, selector::Selector};

/// How the files come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The saved changes are merged into the working tree. Where that is as HEAD has it, and HEAD as at save time, every
    /// file and the index become exactly what was saved.
    Apply,
    /// The files become what was saved, and the index where HEAD is as at save time.
    Restore,
}

/// Request to apply changes again.
#[derive(Clone, Debug)]
pub struct Request {
    /// The checkpoint.
    pub selector: Selector,
    /// How.
    pub way: Way,
    /// The directory that the command was started in, relative to the root of the working tree.
    pub directory: RepoPath,
}

/// Brings the files of a checkpoint back.
pub fn reapply(scene: &Scene<'_>, request: &Request, progress: ProgressCallback<'_>) -> Result<ApplyOutcome, Error> {
    let checkpoint = select::checkpoint(scene, &request.selector)?.checkpoint;
    let is_clean = clean::is_clean_at(scene, &checkpoint)?;
    let head = crate::store::facts::git_facts(scene.repo, None)?.head;
    let has_index = crate::store::read_only_directory(scene.repo).is_none();
    let restore = restore::RestoreRequest {
        selector: request.selector.clone(),
        pathspecs: Vec::new(),
        directory: request.directory.clone(),
        dry_run: true,
        index: head == checkpoint.document.git.head && has_index,
        files: true,
        record: false,
        // A clean working tree has nothing that came later, and what the checkpoint deleted is deleted again.
        overlay: false,
        force: false,
        reverts: false,
        expected: None,
        parts: None,
    };
    let restored = |dry_run: bool| {
        let request = restore::RestoreRequest {
            dry_run,
            ..restore.clone()
        };
        let restored = restore::restore(scene, &request, progress)?;
        Ok::<_, Error>(ApplyOutcome {
            restored,
            conflicts: Vec::new(),
        })
    };
    if request.way == Way::Restore {
        return restored(false);
    }
    if is_clean && restored(true)?.restored.refusals().is_empty() {
        return restored(false);
    }
    let request = apply::ApplyRequest {
        selector: request.selector.clone(),
        pathspecs: Vec::new(),
        directory: request.directory.clone(),
        dry_run: false,
        index: has_index,
        force: false,
        reverse: false,
        parts: None,
    };
    apply::apply(scene, &request, progress)
}
