//! Uncommitted work that a checkpoint of somebody else is without: what was never in those files was not removed there.

use super::{clone, save, shared};
use crate::support::World;

/// The uncommitted work of bob: a file that git does not know, a staged one, an edit, and a deletion.
fn work(world: &World) {
    world.file("notes", "precious\n");
    world.file("dir/staged", "staged\n");
    world.git(["add", "dir/staged"]).success();
    world.file("tracked", "one\nedited\n");
    std::fs::remove_file(world.path("dropped")).unwrap();
}

/// Whether bob has all of that.
#[track_caller]
fn has_work(world: &World) {
    assert_eq!(world.read("notes"), b"precious\n");
    assert_eq!(world.read("dir/staged"), b"staged\n");
    assert_eq!(world.read("tracked"), b"one\nedited\n");
    assert!(!world.path("dropped").exists());
    world
        .git(["diff", "--cached", "--name-status"])
        .success()
        .stdout_is("A\tdir/staged\n");
}

fn project() -> World {
    let world = shared();
    world.file("tracked", "one\n");
    world.file("dropped", "dropped\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "--quiet", "-m", "files"]).success();
    world.git(["push", "--quiet", "origin", "main"]).success();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "begun");
    world.checkpoint(["push"]).success();
    world
}

/// Bob saves his work, and the other side saves on top of it without ever having had it; bob pulls that.
fn taken_back(pulls: &[&str]) -> World {
    let world = project();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth"]).success();
    work(&world);
    save(&world, "by bob");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.checkpoint(["pull"]).success();
    world.file("hers", "hers\n");
    world
        .checkpoint(["save", "-m", "by the other"])
        .success()
        .stderr_has("takes pulled changes back");
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world.checkpoint(pulls).success();
    world
}

#[test]
fn resume_apply_keeps_what_the_other_side_never_had_and_names_it() {
    let world = taken_back(&["pull"]);
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("1 saved change is not in these files")
        .stdout_lacks("deletion");
    world
        .checkpoint(["resume", "--apply", "--dry-run"])
        .success()
        .stdout_lacks("delete ");
    let applied = world.checkpoint(["resume", "--apply"]);
    applied.success().stdout_has(": 1 file written, 3 kept\n");
    for path in ["notes", "dir/staged", "tracked"] {
        applied.stdout_has(&format!("keep     {path} "));
    }
    assert_eq!(world.read("hers"), b"hers\n");
    has_work(&world);
    // Again, and by the other command.
    world.checkpoint(["resume", "--apply"]).success();
    world.checkpoint(["apply", "auth", "--index"]).success();
    has_work(&world);
    // To have exactly that checkpoint is another command.
    world.checkpoint(["resume", "--restore"]).success();
    assert!(!world.path("notes").exists());
    world.checkpoint(["undo"]).success();
    has_work(&world);
}

#[test]
fn a_pull_that_merges_keeps_it_as_well() {
    let world = project();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth"]).success();
    work(&world);
    save(&world, "by bob");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.checkpoint(["pull"]).success();
    world.file("hers", "hers\n");
    save(&world, "by the other");
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world.file("more", "more\n");
    save(&world, "more by bob");
    world.checkpoint(["pull", "--merge"]).success();
    has_work(&world);
    assert_eq!(world.read("hers"), b"hers\n");
}

#[test]
fn two_working_trees_of_a_repository_do_not_delete_files_of_each_other() {
    let world = World::with_commit();
    save(&world, "one");
    world
        .git(["worktree", "add", "--quiet", "-b", "side", "../side"])
        .success();
    world.enter("side");
    world.checkpoint(["resume", "main"]).success();
    world.file("notes", "precious\n");
    save(&world, "two");
    world.enter("repo");
    world.file("hers", "hers\n");
    save(&world, "three");
    world.enter("side");
    world.checkpoint(["resume", "main", "--apply"]).success();
    assert_eq!(world.read("notes"), b"precious\n");
    assert_eq!(world.read("hers"), b"hers\n");
}

/// Who had a file in a checkpoint of the own working tree, and removed it, did remove it: that change is brought, and every
/// output names it.
#[test]
fn a_file_that_the_other_side_removed_is_deleted_and_named() {
    let world = taken_back(&["pull"]);
    save(&world, "both");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.checkpoint(["pull"]).success();
    world.checkpoint(["resume", "--apply"]).success();
    world.file("hers", "edited\n");
    save(&world, "has it");
    std::fs::remove_file(world.path("notes")).unwrap();
    save(&world, "without notes");
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world.checkpoint(["pull"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("1 saved change is not in these files")
        .stdout_has("1 saved deletion is not in these files: notes");
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(status["current"]["saved_deletions"], serde_json::json!(["notes"]));
    world
        .checkpoint(["resume", "--apply"])
        .success()
        .stdout_has("1 deleted")
        .stdout_has("delete   notes");
    assert!(!world.path("notes").exists());
    assert_eq!(world.read("tracked"), b"one\nedited\n");
    assert_eq!(world.read("dir/staged"), b"staged\n");
}

/// A restore of one file is none of the others.
#[test]
fn what_was_restored_in_part_is_not_removed_by_a_save_without_the_rest() {
    let world = project();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth"]).success();
    work(&world);
    let his = save(&world, "by bob");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.checkpoint(["pull"]).success();
    world.checkpoint(["restore", &his, "--", "tracked"]).success();
    save(&world, "by the other");
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world.checkpoint(["pull"]).success();
    world.checkpoint(["resume", "--apply"]).success();
    has_work(&world);
}
