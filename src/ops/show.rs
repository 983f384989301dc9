//! `show`: one checkpoint, whole.

use super::{Error, Scene, ids, select, session_choice};
use crate::{
    model::{change::TreeChange, list::Lists, path::RepoPath, selector::Selector, tree_mode},
    store::{self, Kind, ObjectId, Repository, checkpoint, draft, tree},
};

/// Details of a checkpoint for `show`.
#[derive(Debug)]
pub struct CheckpointDetails {
    /// The checkpoint.
    pub selected: select::SelectedCheckpoint,
    /// Its lists.
    pub lists: Lists,
    /// The files it changes against its HEAD, when it has files.
    pub changes: Vec<TreeChange>,
    /// Staged changes, by path.
    pub staged: Vec<StagedChange>,
    /// How many changes of its session are not saved yet, where it is the latest.
    pub draft: usize,
}

/// A path that was staged.
#[derive(Debug)]
pub struct StagedChange {
    /// The change of the index against HEAD.
    pub change: TreeChange,
    /// Whether the file was what was staged.
    pub is_whole: bool,
}

/// Reads a checkpoint for showing.
pub fn show(scene: &Scene<'_>, selector: &Selector) -> Result<CheckpointDetails, Error> {
    let selected = select::checkpoint(scene, selector)?;
    let checkpoint = &selected.checkpoint;
    let name = selected
        .session
        .as_ref()
        .map_or("checkpoint", |name| name.as_str())
        .to_owned();
    let lists = checkpoint::lists(scene.repo, checkpoint).map_err(Error::damaged(name.as_str()))?;
    let (changes, staged) = match &checkpoint.document.snapshot {
        None => (Vec::new(), Vec::new()),
        Some(snapshot) => {
            let head = checkpoint.document.git.head.as_ref().map(checkpoint::object_id);
            let head = head.map(|id| checkpoint::tree_of(scene.repo, id)).transpose();
            let head = head.map_err(Error::damaged(name.as_str()))?;
            let files = checkpoint::object_id(&snapshot.tree);
            let index = checkpoint::object_id(&snapshot.index);
            let changes = tree::diff(scene.repo, head, Some(files), tree::Renames::Exact)?;
            (changes, staged(scene.repo, head, index, (files, &lists))?)
        }
    };
    let draft = match selected.session.as_ref().filter(|_| selected.is_tip) {
        None => 0,
        Some(name) => {
            let draft = draft::read(scene.repo, &checkpoint.document.session.id)?;
            session_choice::waiting(&draft, checkpoint, name)
        }
    };
    Ok(CheckpointDetails {
        selected,
        lists,
        changes,
        staged,
        draft,
    })
}

/// Changes of the index against HEAD; unmerged paths are in the lists.
fn staged(
    repo: &Repository,
    head: Option<ObjectId>,
    index: ObjectId,
    (files, lists): (ObjectId, &Lists),
) -> Result<Vec<StagedChange>, Error> {
    let mut out = Vec::new();
    for change in tree::diff(repo, head, Some(index), tree::Renames::Off)? {
        if lists.conflicts.iter().any(|conflict| conflict.path == change.path) {
            continue;
        }
        let is_whole = tree::entry(repo, files, &change.path)? == tree::entry(repo, index, &change.path)?;
        out.push(StagedChange { change, is_whole });
    }
    Ok(out)
}

/// The exact bytes of a checkpoint's document.
pub fn raw(scene: &Scene<'_>, selector: &Selector) -> Result<Vec<u8>, Error> {
    let selected = select::checkpoint(scene, selector)?;
    let entry = &selected.checkpoint.entry;
    let damaged = || Error::damaged(entry.id.to_string());
    let (_, blob) = checkpoint::siblings(scene.repo, entry).map_err(damaged())?;
    checkpoint::read(scene.repo, blob, Kind::Blob, "document").map_err(damaged())
}

/// The changes of a checkpoint's files against its HEAD, as a patch or a summary of one, from git.
pub fn diff(scene: &Scene<'_>, selector: &Selector, stat: bool) -> Result<Vec<u8>, Error> {
    let selected = select::checkpoint(scene, selector)?;
    let Some(snapshot) = selected.checkpoint.snapshot() else {
        return Ok(Vec::new());
    };
    let format: &[&str] = if stat { &["--stat"] } else { &["-p", "--binary"] };
    let git = store::git(scene.repo).args(["diff-tree", "-r", "--no-color", "--no-ext-diff", "--no-textconv"]);
    let git = git.args(format).args([format!("{snapshot}^1"), snapshot.to_string()]);
    Ok(git.run().map_err(store::Error::from)?.stdout)
}

/// The content of a file as a checkpoint holds it, in git's form; of a directory the names in it.
pub fn file(scene: &Scene<'_>, selector: &Selector, path: &str) -> Result<Vec<u8>, Error> {
    let selected = select::checkpoint(scene, selector)?;
    let subject = selected
        .session
        .as_ref()
        .map_or_else(|| ids::short(selected.checkpoint.entry.id), ToString::to_string);
    let goal = super::target_state::TargetState::of(scene, &selected.checkpoint, &subject)?;
    let wanted = RepoPath::new(path.trim_matches('/').as_bytes());
    let absent = || Error::NoMatch {
        spec: wanted.clone(),
        what: "file of the checkpoint",
    };
    let held = goal.lists.held.iter().find(|held| held.path == wanted);
    let (mode, id) = if let Some(id) = held.and_then(|held| goal.held.get(held.n as usize)) {
        (tree_mode::FILE, *id)
    } else {
        let entry = tree::entry(scene.repo, goal.tree, &wanted)?.ok_or_else(absent)?;
        (entry.mode, checkpoint::object_id(&entry.id))
    };
    let kind = match mode {
        tree_mode::DIRECTORY => Kind::Tree,
        tree_mode::GITLINK => return Err(absent()),
        _ => Kind::Blob,
    };
    let data = checkpoint::read(scene.repo, id, kind, "file").map_err(Error::damaged(subject))?;
    if kind == Kind::Blob {
        return Ok(data);
    }
    let names = store::git(scene.repo)
        .args(["ls-tree", "--name-only", &id.to_string()])
        .run()
        .map_err(store::Error::from)?;
    Ok(names.stdout)
}
