//! Undo and redo: everything there is to take back, as often as one likes, in each work tree for itself.

use crate::support::{PROGRAM, World};

fn save(world: &World, arguments: &[&str]) {
    world.checkpoint([&["save"], arguments].concat()).success();
}

/// Refs of sessions, what is current, and what a save would put into the record.
fn state(world: &World) -> String {
    let refs = world.git_line([
        "for-each-ref",
        "--format=%(refname) %(objectname)",
        "refs/checkpoints",
        "refs/heads",
    ]);
    let current = world.checkpoint(["status", "--json"]).success().stdout_json()["session"].clone();
    let tasks = world.checkpoint(["task", "list"]).stdout().to_owned();
    format!("{refs}\n{current}\n{tasks}")
}

/// Does it, then takes it back and does it again, three times.
fn back_and_forth(world: &World, args: &[&str]) {
    let before = state(world);
    world.checkpoint(args).success();
    let after = state(world);
    assert_ne!(before, after, "{args:?}");
    for round in 1..=3 {
        world.checkpoint(["undo"]).success();
        assert_eq!(state(world), before, "undo {round} of {args:?}");
        world.checkpoint(["redo"]).success();
        assert_eq!(state(world), after, "redo {round} of {args:?}");
    }
    world.checkpoint(["undo"]).success();
    assert_eq!(state(world), before, "{args:?}");
}

#[test]
fn everything_is_taken_back_and_done_again_as_often_as_one_likes() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.checkpoint(["task", "add", "first"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "hello"])
        .success();
    for n in 1..=4 {
        world.file("README.md", format!("{n}\n"));
        save(&world, &["-m", &format!("save {n}")]);
    }
    world.checkpoint(["start", "other"]).success();
    world.checkpoint(["switch", "auth"]).success();
    for args in [
        &["fork", "auth~2", "--name", "try"][..],
        &["rename", "auth", "login"],
        &["delete", "other"],
        &["prune", "--keep-last", "1"],
        &["clear", "--messages", "--yes"],
        &["finish", "-s", "done"],
    ] {
        back_and_forth(&world, args);
    }
    // The record, and records on top of one another.
    world.checkpoint(["task", "add", "second"]).success();
    back_and_forth(&world, &["restore", "auth~1", "--record-only"]);
    let first = state(&world);
    world.checkpoint(["restore", "auth~1", "--record-only"]).success();
    world.checkpoint(["task", "add", "third"]).success();
    let second = state(&world);
    world.checkpoint(["restore", "auth~1", "--record-only"]).success();
    world.checkpoint(["undo"]).success();
    assert_eq!(state(&world), second);
    // The task came after what would be taken back.
    let refused = world.checkpoint(["undo"]);
    refused.code(4).stderr_has("the record was changed or saved since");
    world.checkpoint(["undo", "--force"]).success();
    assert_eq!(state(&world), first);
    // A redo does not replace newer words either.
    world.checkpoint(["task", "add", "fourth"]).success();
    world.checkpoint(["redo"]).code(4).stderr_has("the record was changed");
    world.checkpoint(["task", "list"]).success().stdout_has("fourth");
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn undo_is_for_each_work_tree() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.file("README.md", "one\n");
    save(&world, &["-m", "one"]);
    world
        .checkpoint(["fork", "@", "--name", "try", "--worktree", "../try"])
        .success();
    let there = |args: &[&str]| world.command(PROGRAM, args).within("../try").run();
    world.file("../try/README.md", "there\n");
    there(&["restore", "@"]).success();
    world.file("README.md", "here\n");
    world.checkpoint(["restore", "auth"]).success();
    // The last thing there is not the last thing here.
    there(&["undo"]).success();
    assert_eq!(
        (world.read("../try/README.md"), world.read("README.md")),
        (b"there\n".to_vec(), b"one\n".to_vec())
    );
    world.checkpoint(["undo"]).success();
    assert_eq!(world.read("README.md"), b"here\n");
    there(&["redo"]).success();
    assert_eq!(world.read("../try/README.md"), b"one\n");
    assert_eq!(world.read("README.md"), b"here\n");
}
