//! A restore that was killed: it is told, and neither going on nor going back replaces work that came after.

use std::process::{Command, Stdio};

use crate::support::{PROGRAM, World};

/// A world whose restore of many files was killed half-way: some are as they were, some as they were saved.
fn killed() -> Option<World> {
    let world = World::with_commit();
    for n in 0..3000 {
        world.file(format!("d/{n}"), format!("{n}\n"));
    }
    world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
    for n in 0..3000 {
        world.file(format!("d/{n}"), format!("{n}\nedited\n"));
    }
    let mut child = Command::new(PROGRAM)
        .args(["restore", "s"])
        .current_dir(world.repo())
        .env_clear()
        .envs(world.environment())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The first file in order is written first.
    while world.read("d/0") != b"0\n" && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let done = (0..3000)
        .filter(|n| world.read(format!("d/{n}")) == format!("{n}\n").as_bytes())
        .count();
    if done == 3000 {
        eprintln!("skipped: the restore was faster than its killer");
        return None;
    }
    Some(world)
}

#[test]
fn it_is_told_and_newer_work_is_not_replaced() {
    let Some(world) = killed() else { return };
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("a restore was interrupted")
        .stdout_has("--continue");
    world.file("d/7", "mine\n");
    world.file("fresh.txt", "mine too\n");
    for way in ["--continue", "--abort"] {
        let refused = world.checkpoint(["restore", way]);
        refused
            .code(4)
            .stderr_has("d/7")
            .stderr_has("fresh.txt")
            .stderr_has("git checkpoint save");
        assert_eq!(world.read("d/7"), b"mine\n");
    }
    let saved = world.checkpoint(["save", "--session", "mid", "-m", "mine"]);
    saved.success().stderr_has("was interrupted");
    let names = world.git(["ls-tree", "-r", "--name-only", "refs/checkpoints/mid^2"]);
    names.success().stdout_has("fresh.txt");
    world.checkpoint(["restore", "--continue", "--force"]).success();
    for n in 0..3000 {
        assert_eq!(world.read(format!("d/{n}")), format!("{n}\n").as_bytes());
    }
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
    for n in 0..3000 {
        assert_eq!(world.read(format!("d/{n}")), format!("{n}\nedited\n").as_bytes());
    }
    world.checkpoint(["status"]).success().stdout_lacks("interrupted");
}
