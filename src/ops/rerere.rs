//! Earlier resolutions of the same conflict, where the user has `rerere` on.

use super::{Error, Scene, plan_runner::AppliedPlan};
use crate::{
    model::path::RepoPath,
    os,
    store::{self, undo},
    worktree::restore,
};

/// Lets git put recorded resolutions into the files in conflict, and remember the conflicts for later. What it writes is part
/// of the operation: undo takes it back as well. Returns the paths that it resolved.
pub(super) fn run(
    scene: &Scene<'_>,
    brought: &mut AppliedPlan,
    conflicts: &[RepoPath],
) -> Result<Vec<RepoPath>, Error> {
    if conflicts.is_empty() || !is_on(scene) {
        return Ok(Vec::new());
    }
    // A conflict that git cannot take note of is resolved by hand, as without it.
    let Ok(output) = store::git(scene.repo).arg("rerere").accept(0..=255).run() else {
        return Ok(Vec::new());
    };
    let said = [String::from_utf8_lossy(&output.stdout).as_ref(), &output.stderr].concat();
    for line in said.lines() {
        if line.starts_with("Resolved ") || line.starts_with("Staged ") {
            os::notices::say(&format!("rerere: {line}"));
        }
    }
    let paths = conflicts.to_vec();
    let states = restore::states(scene.repo, &paths)?;
    for (path, state) in paths.into_iter().zip(states) {
        let known = brought.changes.iter_mut().find(|(changed, _)| *changed == path);
        if let (Some((_, known)), Some(state)) = (known, state) {
            *known = state;
        }
    }
    if let Some(safety) = brought.safety {
        undo::write_changes(scene.repo, safety.n, &brought.changes)?;
    }
    Ok(resolved(scene, conflicts))
}

/// The paths among these that are as they were resolved before. The list of the others has a line for each, so a path of
/// several lines is none of the resolved ones.
fn resolved(scene: &Scene<'_>, conflicts: &[RepoPath]) -> Vec<RepoPath> {
    let Ok(remaining) = store::git(scene.repo).args(["rerere", "remaining"]).run() else {
        return Vec::new();
    };
    let remaining: Vec<&[u8]> = remaining.stdout.split(|byte| *byte == b'\n').collect();
    let is_resolved = |path: &&RepoPath| !path.as_bytes().contains(&b'\n') && !remaining.contains(&path.as_bytes());
    conflicts.iter().filter(is_resolved).cloned().collect()
}

/// Lets git remember how conflicts were resolved, as `git commit` does. The files are as they are saved.
pub(super) fn learn(scene: &Scene<'_>) {
    if !is_pending(scene) || !is_on(scene) {
        return;
    }
    let Ok(output) = store::git(scene.repo).arg("rerere").accept(0..=255).run() else {
        return;
    };
    let said = [String::from_utf8_lossy(&output.stdout).as_ref(), &output.stderr].concat();
    for line in said.lines().filter(|line| line.starts_with("Recorded resolution")) {
        os::notices::say(&format!("rerere: {line}"));
    }
}

/// Lets git forget the conflicts of a merge or apply that is undone: their files are those of before now, which git would
/// remember as the resolution.
pub(super) fn forget(scene: &Scene<'_>) {
    if is_pending(scene) {
        let _ = store::git(scene.repo).args(["rerere", "clear"]).accept(0..=255).run();
    }
}

/// Whether git has taken note of conflicts in this working tree.
fn is_pending(scene: &Scene<'_>) -> bool {
    scene.repo.git_dir().join("MERGE_RR").exists()
}

/// As git decides it: by the setting, else by whether there is anything recorded.
fn is_on(scene: &Scene<'_>) -> bool {
    let setting = store::git(scene.repo)
        .args(["config", "--type=bool", "--get", "rerere.enabled"])
        .accept([1])
        .text()
        .unwrap_or_default();
    match setting.as_str() {
        "" => scene.repo.common_dir().join("rr-cache").is_dir(),
        word => word == "true",
    }
}
