//! `bisect` finds the checkpoint that broke something, in as few tests as halving takes, and touches nothing of the user's.

use std::{
    fs,
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;

use crate::support::{PROGRAM, World};

/// A session of so many checkpoints, of which those from `bad` on have `bad` in the file.
fn session(count: usize, bad: usize) -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    for n in 0..count {
        let word = if n >= bad { "bad" } else { "good" };
        world.file("state.txt", format!("{word} {n}\n"));
        world.checkpoint(["save", "-m", &format!("step {n}")]).success();
    }
    // Something of the user's own that no bisection may touch.
    world.file("state.txt", "being edited\n");
    world.file("fresh.txt", "untracked\n");
    world.file("src/main.txt", "staged\n");
    world.git(["add", "src/main.txt"]).success();
    world
}

/// Nothing of a bisection is left.
fn is_clean(world: &World) {
    assert!(!world.path(".git/worktrees").exists());
    assert!(
        !world.path(".git/checkpoint/bisect").exists(),
        "{:?}",
        fs::read_dir(world.path(".git/checkpoint/bisect"))
    );
    world.git(["worktree", "list"]).success().stdout_lacks("bisect");
    assert_eq!(world.git_line(["for-each-ref", "refs/bisect"]), "");
}

const TEST: &str = "echo x >>\"$0\"; grep -q good state.txt";

#[test]
fn a_run_finds_the_first_bad_checkpoint_by_halving() {
    let world = session(20, 13);
    let before = world.fingerprint();
    let count = world.root().join("count");
    let count = count.to_str().unwrap();
    let out = world.checkpoint(["bisect", "run", "--json", "sh", "-c", TEST, count]);
    let found = out.success().stdout_json();
    assert_eq!(
        (&found["state"], &found["first_bad"]["subject"]),
        (&"found".into(), &"step 13".into())
    );
    let tests = fs::read_to_string(count).unwrap().lines().count();
    assert!((4..=5).contains(&tests), "log2 of 20, rounded up or down: {tests}");
    let patch = found["patch"].as_str().unwrap();
    assert!(patch.contains("-good 12\n+bad 13\n"), "{patch}");
    world.fingerprint().assert_same_as(&before);
    is_clean(&world);
    let text = world.checkpoint(["bisect", "run", "sh", "-c", TEST, count]);
    text.success()
        .stdout_has(" is the first bad checkpoint\n")
        .stdout_has("    step 13\n")
        .stdout_has("+bad 13\n")
        .stderr_has("left to test after this");
    // From the first checkpoint on, and between two that are named.
    let all = world
        .checkpoint(["bisect", "run", "--json", "test", "!", "-e", "state.txt"])
        .success()
        .stdout_json();
    assert_eq!(all["first_bad"]["subject"], "step 0");
    let few = world.checkpoint([
        "bisect", "run", "--json", "--bad", "s~4", "--good", "s~8", "sh", "-c", TEST, count,
    ]);
    assert_eq!(few.success().stdout_json()["first_bad"]["subject"], "step 13");
    is_clean(&world);
}

#[test]
fn ends_that_nobody_named_are_tested_where_the_answer_rests_on_them() {
    let world = session(6, 3);
    let run = |args: &[&str]| world.checkpoint(["bisect", "run"].iter().chain(args));
    run(&["true"]).code(1).no_stdout().stderr_has("no checkpoint is bad");
    run(&["false"])
        .code(1)
        .no_stdout()
        .stderr_has("fails on the state before the session as well");
    // A user who names an end has tested it.
    run(&["--bad", "s", "--good", "s~4", "true"])
        .success()
        .stdout_has("step 5");
    run(&["--bad", "s~1", "--good", "s~3", "false"])
        .success()
        .stdout_has("step 3");
    // The latest one alone is bad.
    run(&["sh", "-c", "! grep -q 5 state.txt"])
        .success()
        .stdout_has("    step 5\n");
    run(&["sh", "-c", "kill -INT $$"]).code(130).stderr_has("interrupted");
    is_clean(&world);
}

#[test]
fn exit_codes_are_those_of_git() {
    let world = session(8, 5);
    let run = |script: &str| world.checkpoint(["bisect", "run", "--json", "sh", "-c", script]);
    let bad = run("grep -q good state.txt || exit 126");
    assert_eq!(bad.success().stdout_json()["first_bad"]["subject"], "step 5");
    // What cannot be tested is passed over, and named where it hides the answer.
    let skipped = run("grep -q '[456]' state.txt && exit 125; grep -q good state.txt");
    let skipped = skipped.code(1).stdout_json();
    assert_eq!(skipped["state"], "skipped");
    let names: Vec<&str> = skipped["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["subject"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["step 4", "step 5", "step 6", "step 7"]);
    run("exit 128").code(128).stderr_has("exit code 128");
    run("kill -9 $$").code(128).stderr_has("exit code 137");
    world
        .checkpoint(["bisect", "run", "no-such-program"])
        .code(128)
        .stderr_has("cannot be run");
    is_clean(&world);
    // The command sees the repository of its own working tree, and none of git's variables of ours.
    let dir = world.root().join("seen");
    let script = format!("git rev-parse --show-toplevel >'{}'; exit 0", dir.display());
    world
        .command(PROGRAM, ["bisect", "run", "sh", "-c", &script])
        .env("GIT_DIR", world.path(".git"))
        .env("GIT_WORK_TREE", world.repo())
        .run()
        .code(1);
    let seen = fs::read_to_string(dir).unwrap();
    assert!(seen.trim().ends_with("checkpoint-bisect-main"), "{seen}");
}

#[test]
fn by_hand_step_by_step_over_a_fork() {
    let world = session(4, 2);
    world.checkpoint(["fork", "s", "--name", "try"]).success();
    world.file("state.txt", "bad in the fork\n");
    world.checkpoint(["save", "-m", "forked"]).success();
    let before = world.fingerprint();
    let mut view: Value = world.checkpoint(["bisect", "start", "--json"]).success().stdout_json();
    world.checkpoint(["bisect", "start"]).code(4).stderr_has("hint: ");
    let mut tests = 0;
    while view["state"] == "testing" {
        let directory = view["directory"].as_str().unwrap();
        let state = fs::read_to_string(format!("{directory}/state.txt")).unwrap_or_default();
        let verdict = if state.contains("bad") { "bad" } else { "good" };
        view = world.checkpoint(["bisect", verdict, "--json"]).success().stdout_json();
        tests += 1;
    }
    assert_eq!(
        view["first_bad"]["subject"], "step 2",
        "in the session it was forked from"
    );
    assert!(tests <= 3, "{tests}");
    world.checkpoint(["bisect", "log"]).success().stdout_has("bad ");
    world.checkpoint(["bisect", "good"]).code(3);
    world
        .checkpoint(["bisect", "good", "try"])
        .code(128)
        .stderr_has("not older");
    world.checkpoint(["bisect", "reset"]).success();
    world.checkpoint(["bisect", "log"]).code(3).stderr_has("bisect start");
    world.fingerprint().assert_same_as(&before);
    is_clean(&world);
}

#[test]
fn whenever_it_is_killed_the_next_call_leaves_nothing() {
    let world = session(12, 7);
    let before = world.fingerprint();
    for pause in [0, 5, 15, 30, 60, 100, 160, 250] {
        let mut command = Command::new(PROGRAM);
        command.args(["bisect", "run", "sh", "-c", "sleep 0.02; grep -q good state.txt"]);
        command.current_dir(world.repo()).env_clear().envs(world.environment());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.process_group(0).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
        // Any command that saves cleans up as well.
        if pause == 60 || pause == 250 {
            world.checkpoint(["save"]).success();
        } else {
            world.checkpoint(["bisect", "reset"]).success();
        }
        is_clean(&world);
        world.fingerprint().assert_same_as(&before);
    }
    let found = world.checkpoint(["bisect", "run", "--json", "grep", "-q", "good", "state.txt"]);
    assert_eq!(found.success().stdout_json()["first_bad"]["subject"], "step 7");
    is_clean(&world);
}

#[test]
fn a_linked_worktree_that_is_removed_leaves_no_bisection() {
    let world = session(4, 2);
    world.git(["worktree", "add", "-q", "../linked"]).success();
    world.enter("linked");
    world.checkpoint(["start", "l"]).success();
    for n in 1..4 {
        world.file("state.txt", format!("{n}\n"));
        world.checkpoint(["save", "-m", &format!("step {n}")]).success();
    }
    world.checkpoint(["bisect", "start"]).success();
    world.enter("repo");
    world.git(["worktree", "remove", "--force", "../linked"]).success();
    world
        .git(["worktree", "list"])
        .success()
        .stdout_has("checkpoint-bisect-linked-linked");
    world.checkpoint(["bisect", "reset"]).success();
    is_clean(&world);
}
