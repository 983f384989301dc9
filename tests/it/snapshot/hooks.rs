//! Snapshots from inside of git: hooks, where git names a temporary index, and aliases.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{World, own_program};

use super::child::{OPTIONS, RESULT, Taken};

/// Installs a hook that takes a snapshot.
fn hook(world: &World, directory: &str, name: &str) {
    let script = format!(
        "#!/bin/sh\nexec '{}' snapshot::child::run_child --exact >/dev/null\n",
        own_program()
    );
    let path = world.path(directory).join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs git with what the child of the hook needs, and gives what it wrote.
fn with_hook(world: &World, args: &[&str]) -> Taken {
    let result = world.root().join("result.json");
    let _ = fs::remove_file(&result);
    let output = world
        .command("git", args)
        .env(RESULT, &result)
        .env(OPTIONS, "null")
        .run();
    output.success();
    Taken::read(&result).unwrap_or_else(|| panic!("no result\n{output}"))
}

#[test]
fn commit_all_shows_the_index_that_is_to_be_committed() {
    let world = World::with_commit();
    hook(&world, ".git/hooks", "pre-commit");
    world.file("src/main.txt", "changed\n");
    world.file("untracked", "x\n");
    let taken = with_hook(&world, &["commit", "--quiet", "--all", "-m", "second"]);
    assert_eq!(taken.index_tree(), world.git_line(["rev-parse", "HEAD^{tree}"]));
    assert_eq!(taken.count("modified"), 0, "the index has it already");
    assert_eq!(taken.status("untracked"), ["untracked"]);
}

#[test]
fn commit_of_one_path_shows_the_index_made_for_it() {
    let world = World::with_commit();
    hook(&world, ".git/hooks", "pre-commit");
    world.file("src/main.txt", "changed\n");
    world.file("README.md", "staged\n");
    world.git(["add", "README.md"]).success();
    let taken = with_hook(&world, &["commit", "--quiet", "-m", "second", "--", "src/main.txt"]);
    assert_eq!(taken.index_tree(), world.git_line(["rev-parse", "HEAD^{tree}"]));
    assert_eq!(taken.status("modified"), ["README.md"]);
}

#[test]
fn hooks_of_a_linked_work_tree_see_its_files() {
    let world = World::with_commit();
    hook(&world, ".git/hooks", "pre-commit");
    world
        .git(["worktree", "add", "--quiet", "-b", "other", "../linked"])
        .success();
    world.file("only-in-main", "x\n");
    world.enter("linked");
    world.file("src/main.txt", "changed in linked\n");
    world.file("only-in-linked", "x\n");
    let taken = with_hook(&world, &["commit", "--quiet", "--all", "-m", "second"]);
    assert_eq!(taken.status("untracked"), ["only-in-linked"]);
    assert_eq!(taken.index_tree(), world.git_line(["rev-parse", "HEAD^{tree}"]));
}

#[test]
fn a_split_index_beside_its_shared_part_is_read_in_a_hook() {
    let world = World::with_commit();
    world.git(["config", "core.splitIndex", "true"]).success();
    world.git(["update-index", "--split-index"]).success();
    hook(&world, ".git/hooks", "pre-commit");
    world.file("src/main.txt", "changed\n");
    let taken = with_hook(&world, &["commit", "--quiet", "--all", "-m", "second"]);
    assert_eq!(taken.index_tree(), world.git_line(["rev-parse", "HEAD^{tree}"]));
}
