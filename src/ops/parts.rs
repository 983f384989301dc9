//! Parts of a restore or apply that a person chooses hunk by hunk.
//!
//! git itself asks: `git reset -p` works on an index alone, here one of ours that holds the current files, so that no file
//! and no index of the user changes. The result is a list of paths with what each becomes, which a restore then takes for
//! its target: it can be interrupted, continued and undone like any other.

use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use super::{
    Error, Scene,
    compose::{self, CurrentSnapshot},
    plan_runner::PlanJournal,
    refuse,
    target_state::TargetState,
};
use crate::{
    git::Git,
    model::{change::TreeEntryInfo, id::Oid, list::Lists, path::RepoPath, tree_mode},
    os,
    store::{
        self, Kind, ObjectId, Repository,
        checkpoint::{object_id, oid},
        merge,
        objects::Writer,
        spill::SpillDirectory,
        tree,
    },
    worktree::journal::Journal,
};

/// Outcome for one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenPart {
    /// The path.
    pub path: RepoPath,
    /// The file as it was when it was chosen; `None` for none.
    pub before: Option<PartState>,
    /// The file afterwards.
    pub after: Option<PartState>,
}

/// A file in a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartState {
    /// The mode of its entry.
    pub mode: u32,
    /// The blob.
    pub id: Oid,
}

impl From<TreeEntryInfo> for PartState {
    fn from(entry: TreeEntryInfo) -> Self {
        Self {
            mode: entry.mode,
            id: entry.id,
        }
    }
}

impl From<PartState> for TreeEntryInfo {
    fn from(state: PartState) -> Self {
        Self {
            mode: state.mode,
            id: state.id,
        }
    }
}

/// Runs the child that asks, with the caller's input and output.
pub type PartsChooser<'a> = &'a dyn Fn(Git) -> Result<(), Error>;

/// Computes what the files would become, from the current ones.
pub(super) type PartsTarget<'a> = &'a dyn Fn(&Repository, &CurrentSnapshot) -> Result<TargetState, Error>;

/// Lets a person choose among the changes that lead to a target. Changes nothing but for new blobs in the repository.
pub(super) fn choose(
    scene: &Scene<'_>,
    chooser: PartsChooser<'_>,
    target: PartsTarget<'_>,
) -> Result<Vec<ChosenPart>, Error> {
    refuse::too_broad(scene)?;
    let writer = Writer::memory(scene.repo);
    let present = compose::present(scene, &writer, true, &[])?;
    let repo = writer.overlay(scene.repo);
    let goal = target(&repo, &present)?;
    let now = TargetState::present(&present)?;
    let all = restricted(&repo, &present, &goal, &mut |_, _| true)?;
    let binary = if all.tree == now.tree {
        HashSet::new()
    } else {
        binary_files(scene, &repo, [now.tree, all.tree])?
    };
    let offered = restricted(&repo, &present, &goal, &mut |path, _| !binary.contains(path))?;
    if offered.tree == now.tree {
        return Ok(Vec::new());
    }
    let spilled = SpillDirectory::writable(&repo)?;
    let index = spilled.file("index");
    let git = || {
        let git = spilled.show(store::git(scene.repo)).env("GIT_INDEX_FILE", &index);
        // The hunks are of blobs as they are stored.
        git.config("core.fsyncMethod=batch").config("index.sparse=false")
    };
    let failed = |error| Error::from(store::Error::from(error));
    git().args(["read-tree", &now.tree.to_string()]).run().map_err(failed)?;
    chooser(
        git()
            .args(["reset", "-p", &offered.tree.to_string(), "--"])
            .interactive()
            .inherit_input(),
    )?;
    let result = git().arg("write-tree").text().map_err(failed)?;
    let result = git()
        .args([
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            &now.tree.to_string(),
            result.trim(),
        ])
        .run()
        .map_err(failed)?;
    let mut parts = parse(&result.stdout);
    let durable = Writer::durable(scene.repo)?;
    for state in parts.iter().filter_map(|part| part.after.as_ref()) {
        if scene.repo.has_object(object_id(&state.id)) {
            continue;
        }
        let bytes = git()
            .args(["cat-file", "blob", state.id.as_str()])
            .run()
            .map_err(failed)?
            .stdout;
        durable.write(Kind::Blob, &bytes)?;
    }
    durable.finish()?.release();
    refuse_mixed(&repo, &now.lists, &goal, &parts)?;
    parts.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(parts)
}

/// How many binary files are named.
const NAMED: usize = 5;

/// The binary files among those that differ in two trees, which is noted: git passes over them without a word, and fails
/// where one goes away.
fn binary_files(scene: &Scene<'_>, repo: &Repository, trees: [ObjectId; 2]) -> Result<HashSet<RepoPath>, Error> {
    let spilled = SpillDirectory::writable(repo)?;
    let git = spilled.show(store::git(scene.repo));
    let trees = trees.map(|tree| tree.to_string());
    let counted = git
        .args(["diff-tree", "-r", "-z", "--no-renames", "--numstat"])
        .args(&trees);
    let counted = counted.run().map_err(store::Error::from)?.stdout;
    let lines = counted.split(|byte| *byte == 0);
    let paths = lines.filter_map(|line| line.strip_prefix(b"-\t-\t"));
    let binary: BTreeSet<RepoPath> = paths.map(RepoPath::from).collect();
    if !binary.is_empty() {
        let named: Vec<_> = binary.iter().take(NAMED).map(RepoPath::quoted).collect();
        let more = if binary.len() > NAMED { " and others" } else { "" };
        os::notices::note(&format!(
            "binary files have no hunks, and these are not offered: {}{more}; name them to take them whole",
            named.join(" ")
        ));
    }
    Ok(binary.into_iter().collect())
}

/// A target of which only the paths that `keeps` accepts are different from the current files; it gets whether a path
/// goes away. What a checkpoint left out, and other repositories, stay as they are.
pub(super) fn restricted(
    repo: &Repository,
    present: &CurrentSnapshot,
    goal: &TargetState,
    keeps: &mut dyn FnMut(&RepoPath, bool) -> bool,
) -> Result<TargetState, Error> {
    let now = TargetState::present(present)?;
    let mut edits = Vec::new();
    for change in tree::diff(repo, Some(now.tree), Some(goal.tree), tree::Renames::Off)? {
        let is_link = [&change.old, &change.new]
            .into_iter()
            .flatten()
            .any(|entry| entry.mode == tree_mode::GITLINK);
        let is_left_out = [&goal.lists, &now.lists]
            .iter()
            .any(|lists| lists.skipped.iter().any(|skipped| skipped.path == change.path));
        if !is_link && !is_left_out && keeps(&change.path, change.new.is_none()) {
            edits.push((change.path, change.new));
        }
    }
    Ok(TargetState {
        tree: merge::edited(repo, now.tree, &edits)?,
        ..goal.clone()
    })
}

/// The files that an interrupted operation began with; `None` without one.
pub(super) fn began(scene: &Scene<'_>, journal: Option<&Journal>) -> Result<Option<TargetState>, Error> {
    let before = |journal: &Journal| PlanJournal::of(journal)?.start_state(scene);
    journal.map(before).transpose()
}

/// The files that parts are put into: those that an interrupted operation began with, else the current ones.
pub(super) fn start(began: Option<&TargetState>, present: &CurrentSnapshot) -> Result<TargetState, Error> {
    match began {
        Some(began) => Ok(began.clone()),
        None => TargetState::present(present),
    }
}

/// The current files with the chosen parts.
pub(super) fn target(
    repo: &Repository,
    now: TargetState,
    goal: &TargetState,
    parts: &[ChosenPart],
) -> Result<TargetState, Error> {
    let mut out = now;
    let mut edits = Vec::new();
    for part in parts {
        let here = tree::entry(repo, out.tree, &part.path)?.map(PartState::from);
        if here == part.after {
            continue;
        }
        if here != part.before {
            return Err(Error::ConcurrentModification);
        }
        edits.push((part.path.clone(), part.after.clone().map(TreeEntryInfo::from)));
        let whole = tree::entry(repo, goal.tree, &part.path)?.map(PartState::from) == part.after;
        if whole {
            adopt(&mut out.lists, &goal.lists, &part.path);
            unmerge(&mut out, goal, &part.path);
        }
    }
    out.tree = merge::edited(repo, out.tree, &edits)?;
    out.lists.sort();
    Ok(out)
}

/// Takes over what the lists of the target say of a file that becomes the target's.
fn adopt(lists: &mut Lists, goal: &Lists, path: &RepoPath) {
    lists.raw.retain(|raw| raw != path);
    lists.raw.extend(goal.raw.iter().filter(|raw| *raw == path).cloned());
    lists.modes.retain(|(mode, _)| mode != path);
    lists
        .modes
        .extend(goal.modes.iter().filter(|(mode, _)| mode == path).cloned());
}

/// Takes over the unmerged entries of a path.
fn unmerge(out: &mut TargetState, goal: &TargetState, path: &RepoPath) {
    for conflict in goal.lists.conflicts.iter().filter(|conflict| conflict.path == *path) {
        let known = &out.lists.conflicts;
        if known
            .iter()
            .any(|other| other.path == *path && other.stage == conflict.stage)
        {
            continue;
        }
        let Some(blob) = usize::try_from(conflict.n).ok().and_then(|n| goal.conflicts.get(n)) else {
            continue;
        };
        let mut conflict = conflict.clone();
        conflict.n = u32::try_from(out.conflicts.len()).unwrap_or(u32::MAX);
        out.conflicts.push(*blob);
        out.lists.conflicts.push(conflict);
    }
    out.lists
        .conflicts
        .sort_by(|a, b| (&a.path, a.stage).cmp(&(&b.path, b.stage)));
}

/// Refuses parts of a file whose bytes are stored as they are on one side alone: its hunks are of two forms.
fn refuse_mixed(repo: &Repository, now: &Lists, goal: &TargetState, parts: &[ChosenPart]) -> Result<(), Error> {
    for part in parts {
        let differs = now.raw.contains(&part.path) != goal.lists.raw.contains(&part.path);
        let is_whole = tree::entry(repo, goal.tree, &part.path)?.map(PartState::from) == part.after;
        if differs && !is_whole {
            return Err(Error::MixedParts {
                path: part.path.clone(),
            });
        }
    }
    Ok(())
}

/// The output of `git diff-tree -r -z`.
fn parse(output: &[u8]) -> Vec<ChosenPart> {
    let mut fields = output.split(|byte| *byte == 0);
    let mut parts = Vec::new();
    while let (Some(info), Some(path)) = (fields.next(), fields.next()) {
        let info = String::from_utf8_lossy(info);
        let words: Vec<&str> = info.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old, new, ..] = words[..] else {
            continue;
        };
        let state = |mode: &str, id: &str| {
            let mode = u32::from_str_radix(mode, 8).ok().filter(|mode| *mode != 0)?;
            let id = ObjectId::from_hex(id.as_bytes()).ok()?;
            Some(PartState { mode, id: oid(id) })
        };
        parts.push(ChosenPart {
            path: RepoPath::from(path),
            before: state(old_mode, old),
            after: state(new_mode, new),
        });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_differences_are_read() {
        let (one, null) = ("1".repeat(40), "0".repeat(40));
        let output = format!(":100644 100755 {one} {one} M\0a b\0:100644 000000 {one} {null} D\0x\n\0");
        let parts = parse(output.as_bytes());
        assert_eq!(parts.len(), 2);
        assert_eq!(
            (
                parts[0].after.as_ref().map(|state| state.mode),
                parts[1].after.is_none()
            ),
            (Some(tree_mode::EXECUTABLE), true)
        );
        assert_eq!(parts[1].path.as_bytes(), b"x\n");
    }
}
