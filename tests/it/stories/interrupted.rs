//! A restore that was killed: it is reported, and neither going on nor going back replaces work that came after.

use std::process::{Child, Command, Stdio};

use crate::support::{PROGRAM, World};

const FILES: usize = 1500;

/// A world whose restore of many files was killed half-way: some are as they were, some as they were saved.
fn killed() -> Option<World> {
    let world = saved();
    edit(&world);
    kill(world, &["restore", "s"])
}

/// Many files, committed in another form, and saved.
fn saved() -> World {
    let world = World::with_commit();
    edit(&world);
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "many"]).success();
    for n in 0..FILES {
        world.file(format!("d/{n}"), format!("{n}\n"));
    }
    world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
    world
}

fn edit(world: &World) {
    for n in 0..FILES {
        world.file(format!("d/{n}"), format!("{n}\nedited\n"));
    }
}

fn all_are(world: &World, end: &str) {
    for n in 0..FILES {
        assert_eq!(world.read(format!("d/{n}")), format!("{n}\n{end}").as_bytes());
    }
}

fn start(world: &World, command: &[&str]) -> Child {
    Command::new(PROGRAM)
        .args(command)
        .current_dir(world.repo())
        .env_clear()
        .envs(world.environment())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Runs a command that changes all of them and kills it half-way.
fn kill(world: World, command: &[&str]) -> Option<World> {
    let before = world.read("d/0");
    let mut child = start(&world, command);
    // The first file in order is written first.
    while world.read("d/0") == before && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    if !world.path(".git/checkpoint/restore.journal").exists() {
        eprintln!("skipped: the restore was faster than its killer");
        return None;
    }
    Some(world)
}

#[test]
fn a_file_that_the_killed_restore_was_writing_stops_no_recovery() {
    for way in ["--abort", "--continue"] {
        let world = World::with_commit();
        world.file("d", "file\n");
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "a file"]).success();
        std::fs::remove_file(world.path("d")).unwrap();
        for n in 0..FILES {
            world.file(format!("d/{n}"), format!("{n}\n"));
        }
        world
            .checkpoint(["save", "--session", "s", "-m", "a directory"])
            .success();
        std::fs::remove_dir_all(world.path("d")).unwrap();
        world.file("d", "file\n");
        let mut child = start(&world, &["restore", "s"]);
        while !world.path("d").is_dir() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if !world.path(".git/checkpoint/restore.journal").exists() {
            eprintln!("skipped: the restore was faster than its killer");
            return;
        }
        // Most kills leave one.
        world.file("d/.checkpoint-restore-killed-1", "");
        world.checkpoint(["restore", way]).success();
        if way == "--abort" {
            assert_eq!(world.read("d"), b"file\n");
        } else {
            all_are(&world, "");
            let names = std::fs::read_dir(world.path("d")).unwrap();
            assert_eq!(names.count(), FILES);
        }
    }
}

#[test]
fn it_is_told_and_newer_work_is_not_replaced() {
    let Some(world) = killed() else { return };
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("a restore was interrupted")
        .stdout_has("--continue")
        .stdout_lacks("is saved");
    world.file("d/7", "mine\n");
    world.file("fresh.txt", "mine too\n");
    for way in ["--continue", "--abort"] {
        let refused = world.checkpoint(["restore", way]);
        refused
            .code(4)
            .stderr_has("d/7")
            // It is none of its paths.
            .stderr_lacks("fresh.txt")
            .stderr_has("git checkpoint save");
        assert_eq!(world.read("d/7"), b"mine\n");
    }
    let saved = world.checkpoint(["save", "--session", "mid", "-m", "mine"]);
    saved.success().stderr_has("was interrupted");
    let names = world.git(["ls-tree", "-r", "--name-only", "refs/checkpoints/mid^2"]);
    names.success().stdout_has("fresh.txt");
    world.checkpoint(["restore", "--continue", "--force"]).success();
    all_are(&world, "");
    assert_eq!(world.read("fresh.txt"), b"mine too\n");
    world
        .git(["show", "refs/checkpoints/mid^2:d/7"])
        .success()
        .stdout_is("mine\n");
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn going_back_gives_everything_back() {
    let Some(world) = killed() else { return };
    world.checkpoint(["restore", "--abort"]).success();
    all_are(&world, "edited\n");
    world.checkpoint(["status"]).success().stdout_lacks("interrupted");
}

#[test]
fn what_was_done_before_the_kill_is_taken_back_as_well() {
    let Some(world) = killed() else { return };
    let planned = world.checkpoint(["restore", "--continue", "--dry-run"]);
    planned.success().stdout_has("Would restore");
    world
        .checkpoint(["restore", "--abort", "-n"])
        .success()
        .stdout_has("changed")
        .stdout_lacks("Went back");
    world.checkpoint(["status"]).success().stdout_has("interrupted");
    world.checkpoint(["restore", "--continue"]).success();
    all_are(&world, "");
    world.checkpoint(["undo"]).success();
    all_are(&world, "edited\n");
    world.checkpoint(["redo"]).success();
    all_are(&world, "");
}

#[test]
fn temporary_files_are_saved_by_nobody_and_removed() {
    let Some(world) = killed() else { return };
    let journal: serde_json::Value = serde_json::from_slice(&world.read(".git/checkpoint/restore.journal")).unwrap();
    let left = format!("d/.checkpoint-restore-{}-x-9", journal["token"].as_str().unwrap());
    world.file(&left, "half of a fi");
    // One of another restore is somebody's file for all that is known.
    world.file("d/.checkpoint-restore-other-1", "whose?");
    world
        .checkpoint(["save", "--session", "mid", "-m", "between"])
        .success();
    let names = world.git(["ls-tree", "-r", "--name-only", "checkpoints/mid^2"]);
    names.success().stdout_lacks(&left).stdout_has("restore-other-1");
    world.checkpoint(["restore", "--continue", "--force"]).success();
    assert!(!world.path(&left).exists());
    all_are(&world, "");
}

#[test]
fn newer_work_is_not_replaced_by_an_apply_or_an_undo_either() {
    let world = saved();
    world.git(["checkout", "-q", "--", "d"]).success();
    let Some(applied) = kill(world, &["apply", "s"]) else {
        return;
    };
    let world = saved();
    edit(&world);
    world.checkpoint(["restore", "s"]).success();
    let Some(undone) = kill(world, &["undo"]) else { return };
    for (world, end) in [(applied, ""), (undone, "edited\n")] {
        world.file("d/7", "mine\n");
        world.file("fresh.txt", "not theirs\n");
        // Going on and going back touch only what it was about.
        for way in ["--continue", "--abort"] {
            let refused = world.checkpoint(["restore", way]);
            refused.code(4).stderr_has("d/7").stderr_lacks("fresh.txt");
        }
        assert_eq!(world.read("d/7"), b"mine\n");
        world.checkpoint(["restore", "--continue", "--force"]).success();
        all_are(&world, end);
        assert_eq!(world.read("fresh.txt"), b"not theirs\n");
    }
}

/// What an apply makes of the files is in no checkpoint, where both sides have changes: it is merged once more.
#[test]
fn a_killed_apply_goes_on_and_back_where_both_sides_have_changes() {
    for (way, end) in [("--continue", ""), ("--abort", "edited\n")] {
        let world = saved();
        world.git(["checkout", "-q", "--", "d"]).success();
        world.file("mine.txt", "mine\n");
        let Some(world) = kill(world, &["apply", "s"]) else {
            return;
        };
        world.checkpoint(["restore", way]).success();
        all_are(&world, end);
        assert_eq!(world.read("mine.txt"), b"mine\n");
    }
}

#[test]
fn an_error_after_the_first_change_says_how_to_go_on() {
    let world = World::with_commit();
    world.file("n.txt", "one\n");
    world.checkpoint(["save", "-m", "one"]).success();
    world.file("n.txt", "two\n");
    // A file is where the directory of the undo list is to be.
    world.file(".git/checkpoint/undo", "");
    world
        .checkpoint(["restore", "@"])
        .code(128)
        .stderr_has("the restore is not finished; finish it: git checkpoint restore --continue")
        .stderr_has("git checkpoint restore --abort");
    std::fs::remove_file(world.path(".git/checkpoint/undo")).unwrap();
    world.checkpoint(["restore", "--abort"]).success();
    assert_eq!(world.read("n.txt"), b"two\n");
}
