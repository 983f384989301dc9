//! What an output is asked to be it is, or the command is refused.

use serde_json::Value;

use crate::support::World;

fn saved() -> World {
    let world = World::with_commit();
    world.file("README.md", "changed\n");
    world.checkpoint(["save", "-m", "first"]).success();
    world.file("README.md", "changed again\n");
    world.checkpoint(["save", "-m", "second"]).success();
    world
}

#[test]
fn lines_of_a_log_end_with_nul_where_that_is_asked_for() {
    let world = saved();
    let oneline = world.checkpoint(["log", "--oneline"]).success().stdout().to_owned();
    let nul = world
        .checkpoint(["log", "--oneline", "-z"])
        .success()
        .stdout()
        .to_owned();
    assert_eq!(nul, oneline.replace('\n', "\0"));
    assert_eq!(
        nul,
        world.checkpoint(["log", "--format=oneline", "-z"]).success().stdout()
    );
    assert_eq!(nul.matches('\0').count(), 3, "{nul:?}");
    // With what has no such lines it is refused.
    for args in [
        &["log", "-z"][..],
        &["log", "--graph", "-z"],
        &["log", "--graph", "--oneline", "-z"],
    ] {
        world.checkpoint(args).code(129);
    }
}

#[test]
fn json_is_json_whatever_is_shown() {
    let world = saved();
    let show = |args: &[&str]| -> Value {
        world
            .checkpoint([&["show", "--json"], args].concat())
            .success()
            .stdout_json()
    };
    assert!(show(&[]).get("patch").is_none());
    let patch = show(&["-p"])["patch"].as_str().unwrap().to_owned();
    assert!(patch.contains("+changed again"), "{patch}");
    assert_eq!(patch, world.checkpoint(["show", "-p"]).success().stdout());
    let stat = show(&["--stat", "@~1"])["patch"].as_str().unwrap().to_owned();
    assert!(stat.contains("README.md | ") && !stat.contains("+changed"), "{stat}");
    // A file is its bytes, and has no form of JSON.
    for option in ["--json", "--stat", "-p"] {
        let refused = world.checkpoint(["show", "@:README.md", option]);
        refused.code(129);
        assert!(!refused.stdout().contains("changed"), "{}", refused.stdout());
    }
    world
        .checkpoint(["show", "@:README.md"])
        .success()
        .stdout_has("changed again");
}

/// A receipt that names one of several says of how many.
#[test]
fn what_is_left_is_counted_and_not_named_by_its_first() {
    let world = World::with_commit();
    world
        .checkpoint(["save", "--next", "one", "-m", "a"])
        .success()
        .stdout_has("next: one");
    let two = world.checkpoint(["save", "--next", "one", "--next", "two", "-m", "b"]);
    two.success().stdout_has("next, 1 of 2: one");
    world.checkpoint(["todo", "add", "t"]).success();
    world.checkpoint(["blocker", "add", "b"]).success();
    world.checkpoint(["question", "add", "why?"]).success();
    let finished = world.checkpoint(["finish", "-m", "done"]);
    finished
        .success()
        .stdout_has("still open: 2 next steps, 1 todo, 1 blocker, 1 question");
    // Without a next step it is said too, and of one alone what it is.
    let world = World::with_commit();
    world.checkpoint(["save", "--todo", "t", "-m", "a"]).success();
    world
        .checkpoint(["finish", "-m", "done"])
        .success()
        .stdout_has("still open: 1 todo");
    let world = World::with_commit();
    world
        .checkpoint(["save", "--next", "one", "-d", "it is so", "-m", "a"])
        .success();
    world
        .checkpoint(["finish", "-m", "done"])
        .success()
        .stdout_has("still open: one");
}

/// Right after a save nothing is changed, however the files are staged.
#[test]
fn a_staged_rename_that_was_edited_is_unchanged_after_a_save() {
    let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    for (how, edited) in [("edited", true), ("staged", false)] {
        let world = World::new();
        world.file("a.txt", &text);
        world.file("b.txt", "b\n");
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "files"]).success();
        world.git(["mv", "a.txt", "r.txt"]).success();
        world.file("r.txt", format!("{text}more\n"));
        if !edited {
            world.git(["add", "r.txt"]).success();
        }
        world.checkpoint(["save", "-m", "x"]).success();
        let report = || world.checkpoint(["resume", "--json"]).success().stdout_json()["report"].clone();
        let tree = report()["worktree"].clone();
        assert_eq!(tree["not_in_checkpoint"]["count"], 0, "{how}: {tree}");
        assert_eq!(tree["verdict"], "unchanged", "{how}: {tree}");
        // A file of the old name is one that the checkpoint does not have.
        world.file("a.txt", "new\n");
        let tree = report()["worktree"].clone();
        assert_eq!(tree["not_in_checkpoint"]["count"], 1, "{how}: {tree}");
    }
}
