//! git's own word: the tree that `git add -A` on a copy of the index gives, and that nothing of the user's changed.

use crate::support::World;

use super::child::{Setting, Taken, take_with};

/// The tree of the work tree as git itself makes it, on a copy of the index that is as old as the index.
pub fn git_tree(world: &World) -> Result<String, String> {
    let index = world.git_line(["rev-parse", "--path-format=absolute", "--git-path", "index"]);
    let copy = world.root().join("index-copy");
    let _ = std::fs::remove_file(&copy);
    if std::fs::exists(&index).unwrap() {
        world
            .command("cp", ["-p", &index, copy.to_str().unwrap()])
            .run()
            .success();
    }
    let config = ["-c", "core.splitIndex=false", "-c", "advice.addEmbeddedRepo=false"];
    let added = world
        .command("git", [&config[..], &["add", "--all"]].concat())
        .env("GIT_INDEX_FILE", &copy)
        .run();
    if !added.is_success() {
        return Err(added.to_string());
    }
    let written = world.command("git", ["write-tree"]).env("GIT_INDEX_FILE", &copy).run();
    Ok(written.success().stdout().trim().to_owned())
}

/// The tree of the index; `None` where git refuses to write one.
pub fn git_index_tree(world: &World) -> Option<String> {
    let index = world.git_line(["rev-parse", "--path-format=absolute", "--git-path", "index"]);
    let copy = world.root().join("index-copy");
    let _ = std::fs::remove_file(&copy);
    if std::fs::exists(&index).unwrap() {
        world
            .command("cp", ["-p", &index, copy.to_str().unwrap()])
            .run()
            .success();
    }
    let written = world.command("git", ["write-tree"]).env("GIT_INDEX_FILE", &copy).run();
    written.is_success().then(|| written.stdout().trim().to_owned())
}

/// Takes a snapshot and checks what holds for every shape: nothing of the user's changed, all objects are there, and
/// git finds no fault with the trees.
pub fn sound(world: &World, setting: &Setting<'_>) -> Taken {
    let before = world.fingerprint();
    let taken = take_with(world, setting);
    world.fingerprint().assert_same_as(&before);
    if taken.error().is_none() {
        let index = world.git_line(["commit-tree", "-m", "index", taken.index_tree()]);
        let files = world.git_line(["commit-tree", "-m", "files", "-p", &index, taken.tree()]);
        world.git(["update-ref", "refs/checkpoints/test", &files]).success();
        let fsck = world.git(["fsck", "--strict", "--no-dangling", "--no-reflogs"]);
        let complaints: Vec<_> = fsck
            .stderr()
            .lines()
            .filter(|line| !line.starts_with("notice:"))
            .collect();
        assert!(fsck.is_success() && complaints.is_empty(), "{fsck}");
    }
    taken
}

/// The names in a tree, each with mode and id, for a message.
pub fn listing(world: &World, tree: &str) -> String {
    world
        .git(["ls-tree", "-r", "-t", tree])
        .stdout_bytes()
        .escape_ascii()
        .to_string()
        .replace("\\n", "\n")
}

/// Checks both trees against git's.
#[track_caller]
pub fn assert_same(world: &World, taken: &Taken) {
    if let Some(error) = taken.error() {
        panic!("no snapshot: {error}");
    }
    match git_tree(world) {
        Ok(tree) => assert_eq!(
            taken.tree(),
            tree,
            "ours:\n{}\ngit's:\n{}",
            listing(world, taken.tree()),
            listing(world, &tree)
        ),
        Err(why) => panic!("git has no word for it: {why}"),
    }
    if let Some(tree) = git_index_tree(world) {
        assert_eq!(
            taken.index_tree(),
            tree,
            "index:\n{}\n{}",
            listing(world, taken.index_tree()),
            listing(world, &tree)
        );
    }
}
