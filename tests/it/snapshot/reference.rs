//! git's own word: the tree that `git add -A` on a copy of the index gives, and that nothing of the user's changed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::support::{Output, World};

use super::child::{Setting, Taken, take_with};

/// Runs git in the repository with the variables of a setting.
pub fn git(world: &World, setting: &Setting<'_>, args: &[&str]) -> Output {
    git_on(world, setting, None, args)
}

/// The same on another index.
fn git_on(world: &World, setting: &Setting<'_>, index: Option<&str>, args: &[&str]) -> Output {
    let mut run = world.command("git", args);
    for (name, value) in setting.variables {
        run = run.env(name, value);
    }
    match index {
        Some(index) => run.env("GIT_INDEX_FILE", index).run(),
        None => run.run(),
    }
}

/// The index of the repository, which need not exist.
fn index_of(world: &World, setting: &Setting<'_>) -> PathBuf {
    if setting.variables.is_empty() && world.path(".git").is_dir() {
        return world.path(".git/index");
    }
    let path = git(
        world,
        setting,
        &["rev-parse", "--path-format=absolute", "--git-path", "index"],
    );
    path.success().stdout().trim().into()
}

/// A copy of an index that is as old as it.
fn copy_of_index(world: &World, index: &Path) -> String {
    let copy = world.root().join("index-copy");
    let _ = fs::remove_file(&copy);
    if index.exists() {
        fs::copy(index, &copy).unwrap();
        let modified = fs::metadata(index).unwrap().modified().unwrap();
        let file = File::options().write(true).open(&copy).unwrap();
        file.set_modified(modified).unwrap();
    }
    copy.to_str().unwrap().to_owned()
}

/// The tree of the working tree as git itself makes it, or why it does not.
pub fn git_tree(world: &World, setting: &Setting<'_>) -> Result<String, String> {
    let copy = copy_of_index(world, &index_of(world, setting));
    let args = [
        "-c",
        "core.splitIndex=false",
        "-c",
        "advice.addEmbeddedRepo=false",
        "add",
        "--all",
    ];
    let added = git_on(world, setting, Some(&copy), &args);
    if !added.is_success() {
        return Err(added.to_string());
    }
    Ok(git_on(world, setting, Some(&copy), &["write-tree"])
        .success()
        .stdout()
        .trim()
        .to_owned())
}

/// The tree of the index; `None` where git refuses to write one.
pub fn git_index_tree(world: &World, setting: &Setting<'_>) -> Option<String> {
    let copy = copy_of_index(world, &index_of(world, setting));
    let written = git_on(world, setting, Some(&copy), &["write-tree"]);
    written.is_success().then(|| written.stdout().trim().to_owned())
}

/// Takes a snapshot and checks what holds for every shape: nothing of the user's changed, all objects are there, and
/// git finds no fault with the trees.
pub fn sound(world: &World, setting: &Setting<'_>) -> Taken {
    let before = world.fingerprint();
    let taken = take_with(world, setting);
    world.fingerprint().assert_same_as(&before);
    faultless(world, setting, &taken);
    taken
}

/// Makes commits of the trees, as a checkpoint does, and has git check them.
pub fn faultless(world: &World, setting: &Setting<'_>, taken: &Taken) {
    if taken.error().is_some() {
        return;
    }
    let commit = |args: &[&str]| git(world, setting, args).success().stdout().trim().to_owned();
    let index = commit(&["commit-tree", "-m", "index", taken.index_tree()]);
    let files = commit(&["commit-tree", "-m", "files", "-p", &index, taken.tree()]);
    git(world, setting, &["update-ref", "refs/checkpoints/test", &files]).success();
    // A snapshot writes no commit-graph and no index of packs, and git would start a process to look at each.
    let objects_alone = ["-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false"];
    let fsck = ["fsck", "--strict", "--no-dangling", "--no-reflogs"];
    let fsck = git(world, setting, &[&objects_alone[..], &fsck].concat());
    let complaints: Vec<_> = fsck
        .stderr()
        .lines()
        .filter(|line| !line.starts_with("notice:") && !line.starts_with("hint:"))
        .collect();
    assert!(fsck.is_success() && complaints.is_empty(), "{fsck}");
}

/// The names in a tree, each with mode and id, for a message.
pub fn listing(world: &World, setting: &Setting<'_>, tree: &str) -> String {
    let listed = git(world, setting, &["ls-tree", "-r", "-t", tree]);
    listed.stdout_bytes().escape_ascii().to_string().replace("\\n", "\n")
}

/// Checks both trees against git's.
#[track_caller]
pub fn assert_same(world: &World, setting: &Setting<'_>, taken: &Taken) {
    if let Some(error) = taken.error() {
        panic!("no snapshot: {error}");
    }
    let (ours, listed) = (taken.tree(), |tree: &str| listing(world, setting, tree));
    match git_tree(world, setting) {
        Ok(tree) => assert_eq!(ours, tree, "ours:\n{}\ngit's:\n{}", listed(ours), listed(&tree)),
        Err(why) => panic!("git has no word for it: {why}"),
    }
    assert_same_index(world, setting, taken);
}

/// Checks the tree of the index, where git has one.
#[track_caller]
pub fn assert_same_index(world: &World, setting: &Setting<'_>, taken: &Taken) {
    let (ours, listed) = (taken.index_tree(), |tree: &str| listing(world, setting, tree));
    if let Some(tree) = git_index_tree(world, setting) {
        assert_eq!(ours, tree, "index, ours:\n{}\ngit's:\n{}", listed(ours), listed(&tree));
    }
}
