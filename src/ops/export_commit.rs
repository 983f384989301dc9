//! `export --commit`: the files of a checkpoint as a plain commit on a branch.
//!
//! The commit has one parent, the commit that the checkpoint was saved at, so it can be reviewed and pushed like any other.
//! A branch that is checked out, or that points to another commit, is refused: no work on a branch is moved or reverted.

use std::path::PathBuf;

use super::{
    Error, Scene,
    ids::short,
    select::{self, SelectedCheckpoint},
    target_state::{self, no_files},
};
use crate::{
    model::{id::Oid, selector::Selector},
    store::{
        self, ObjectId,
        checkpoint::{self, object_id, oid},
        refs, tree,
    },
};

/// A commit that was made of a checkpoint.
#[derive(Debug)]
pub struct CheckpointCommit {
    /// The commit.
    pub id: ObjectId,
    /// The branch.
    pub branch: String,
    /// The commit before it; `None` on an unborn branch.
    pub parent: Option<Oid>,
    /// The checkpoint.
    pub selected: SelectedCheckpoint,
    /// The store that alone has the branch, where the repository's own directory cannot be written.
    pub store: Option<PathBuf>,
}

/// Makes the commit and the branch. A branch that points to the checkpoint's commit is advanced.
pub fn commit(
    scene: &Scene<'_>,
    selector: &Selector,
    branch: &str,
    message: Option<&str>,
) -> Result<CheckpointCommit, Error> {
    let selected = select::checkpoint(scene, selector)?;
    let document = &selected.checkpoint.document;
    let Some(snapshot) = &document.snapshot else {
        let checkpoint = &selected.checkpoint;
        return Err(no_files(scene, checkpoint));
    };
    let taken = |what: String| Err(Error::PathTaken { what });
    let git = || store::git(scene.repo);
    let failed = |error| Error::from(store::Error::from(error));
    let is_name = git().args(["check-ref-format", "--branch"]).arg(branch).run().is_ok();
    if !is_name || branch.starts_with('-') {
        return taken(format!("'{}' is no name for a branch", branch.escape_debug()));
    }
    let full = format!("refs/heads/{branch}");
    let list = git().args(["worktree", "list", "--porcelain"]).text().map_err(failed)?;
    if list.lines().any(|line| line.strip_prefix("branch ") == Some(&full)) {
        return taken(format!("branch '{branch}' is checked out; name another one"));
    }
    let before = refs::read(scene.repo, &full)?;
    let head = document.git.head.as_ref().map(object_id);
    if let Some(before) = before.filter(|before| Some(*before) != head) {
        return taken(format!(
            "branch '{branch}' is at {}, not at the commit that the checkpoint was saved at; name another one",
            short(before)
        ));
    }
    // As 'git commit' refuses them.
    let lists = checkpoint::lists(scene.repo, &selected.checkpoint);
    let lists = lists.map_err(Error::damaged(short(selected.checkpoint.entry.id)))?;
    if let Some(conflict) = lists.conflicts.first() {
        return taken(format!(
            "checkpoint {} has conflicts, in '{}' for one; resolve them with 'git add', save again and export that",
            short(selected.checkpoint.entry.id),
            conflict.path.quoted()
        ));
    }
    // A purge takes content from checkpoints, and no file from the project.
    let of_head = head.map(|head| tree::tree_of(scene.repo, Some(head))).transpose()?;
    let files = target_state::with_purged(scene.repo, object_id(&snapshot.tree), lists.purged(), of_head)?;
    let own = selected.checkpoint.entry.subject.clone();
    let text = message.map_or(own, str::to_owned);
    let mut child = git().args(["commit-tree", "-F", "-", &files.to_string()]);
    if let Some(head) = &document.git.head {
        child = child.args(["-p", head.as_str()]);
    }
    let made = child.input(format!("{}\n", text.trim_end())).text();
    let is_known = |ident: &&str| git().args(["var", *ident]).run().is_ok();
    if made.is_err()
        && ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"]
            .iter()
            .any(|ident| !is_known(ident))
    {
        return Err(Error::NoIdentity);
    }
    let id = made.map_err(failed)?;
    let id = ObjectId::from_hex(id.trim().as_bytes()).map_err(|_| Error::ConcurrentModification)?;
    let null = ObjectId::null(scene.repo.object_hash());
    let old = before.unwrap_or(null).to_string();
    git()
        .args([
            "update-ref",
            "--create-reflog",
            "-m",
            "checkpoint: export",
            &full,
            &id.to_string(),
            &old,
        ])
        .run()
        .map_err(failed)?;
    Ok(CheckpointCommit {
        id,
        branch: branch.to_owned(),
        parent: head.map(oid),
        selected,
        store: store::read_only_directory(scene.repo).map(|_| scene.repo.common_dir().to_owned()),
    })
}
