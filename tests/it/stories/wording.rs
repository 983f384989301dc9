//! What messages say: whole sentences that do not contradict each other, in words for people, in the width of the terminal.

use std::fs;

use crate::support::{PROGRAM, Terminal, World};

/// Every line of these commands fits a terminal of 80 columns; a command to type may be longer, on a line of its own.
#[track_caller]
fn fits(world: &World, lines: &[&[&str]]) {
    for line in lines {
        let terminal = Terminal::new(80, "xterm").env("GIT_PAGER", "cat").env("NO_COLOR", "1");
        let screen = terminal.run(world, PROGRAM, *line);
        let text = screen.text();
        assert!(!text.is_empty(), "{line:?}");
        for shown in text.lines().map(str::trim_end) {
            let is_command = shown.trim_start().starts_with("git ");
            assert!(shown.chars().count() <= 80 || is_command, "{line:?}: {shown}\n{text}");
        }
    }
}

#[test]
fn long_lists_and_operations_fit_the_terminal() {
    let world = World::with_commit();
    world.file("f", "1\n");
    world.git(["add", "f"]).success();
    world.git(["commit", "-qm", "f"]).success();
    world.git(["switch", "-qc", "feature/long-name"]).success();
    world.file("f", "topic\n");
    world.git(["commit", "-qam", "topic"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.file("f", "main\n");
    world.git(["commit", "-qam", "main"]).success();
    world.git(["switch", "-q", "feature/long-name"]).success();
    world.git(["config", "checkpoint.maxFileSize", "1k"]).success();
    world.file(".env", "TOKEN=abcd1234efgh5678\n");
    world.file("a/long/directory/dump.sql", vec![b'x'; 2000]);
    world.command("mkfifo", ["pipe"]).run().success();
    fits(&world, &[&["status"], &["save", "-m", "one"], &["status"], &["show"]]);
    world.file("more", "more\n");
    fits(&world, &[&["status"]]);
    world.git(["rebase", "main"]).code(1);
    fits(&world, &[&["status"], &["save", "-m", "mid"], &["show"]]);
    world.git(["rebase", "--abort"]).success();
    fits(
        &world,
        &[
            &["restore", "@~1"],
            &["undo"],
            &["restore", "--index", "--force"],
            &["undo"],
        ],
    );
}

/// "Everything is saved" and what contradicts it are never said together.
#[test]
fn status_does_not_contradict_itself() {
    let world = World::with_commit();
    world.checkpoint(["status"]).success();
    world.file("README.md", "changed\n");
    world.checkpoint(["save", "-m", "one"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("\nto save    everything is saved\n");
    world.git(["clone", "-q", ".", "../other"]).success();
    world.git(["push", "-q", "../other", "refs/checkpoints/main"]).success();
    world.enter("other");
    world.checkpoint(["switch", "main"]).success();
    let text = world.checkpoint(["status"]).success().stdout().to_owned();
    assert!(
        text.ends_with(
            "to save    1 saved change is not in these files; a save would drop it:\n           git checkpoint resume \
             --apply\n"
        ),
        "{text}"
    );
    assert!(!text.contains("is saved"), "{text}");
}

#[test]
fn sessions_that_are_not_current_are_listed_by_the_command_named() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "one"]).success();
    world.checkpoint(["pause"]).success();
    let status = world.checkpoint(["status"]);
    status
        .success()
        .stdout_has("session    no current session; there is 1 session: 'git checkpoint list'\n");
    world.typed("git checkpoint list").success().stdout_has("paused");
    world.checkpoint(["status"]).success().stdout_has("no current session");
}

/// Codes are for programs; `show` and the plan of `pause --clean` have words.
#[test]
fn reasons_are_words() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.maxFileSize", "1k"]).success();
    world.file(".env", "TOKEN=abcd1234efgh5678\n");
    world.file("large", vec![b'x'; 2000]);
    world.command("mkfifo", ["pipe"]).run().success();
    world.git(["init", "-q", "nested"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    let shown = world.checkpoint(["show"]);
    for line in [
        "  .env    a secret\n",
        "  large   too large\n",
        "  pipe    a FIFO, socket or device\n",
        "  nested  a nested repository\n",
    ] {
        shown.success().stdout_has(line);
    }
    world
        .checkpoint(["pause", "--clean", "--dry-run"])
        .success()
        .stdout_lacks("too-large")
        .stdout_lacks("(secret)")
        .stdout_lacks("nested-repository");
    let json = world.checkpoint(["show", "--json"]).success().stdout_json();
    assert_eq!(json["skipped"][0]["reason"], "secret", "{json}");
}

#[test]
fn a_prune_names_sessions_and_the_new_ids() {
    let world = World::with_commit();
    for n in 1..=3 {
        world.file("f", format!("{n}\n"));
        world.checkpoint(["save", "-m", &format!("c{n}")]).success();
    }
    world.checkpoint(["start", "old"]).success();
    world.checkpoint(["save", "-m", "in old"]).success();
    world.checkpoint(["switch", "main"]).success();
    world.checkpoint(["delete", "old"]).success();
    let kept = world.git_line(["rev-parse", "checkpoints/main"]);
    world
        .checkpoint(["prune", "--keep-last", "1"])
        .success()
        .stdout_has("  Checkpoints after a removed one get new ids; their old ids still work.\n");
    assert_ne!(world.git_line(["rev-parse", "checkpoints/main"]), kept);
    world.checkpoint(["show", &kept]).success();
    let trash = world.checkpoint(["prune", "--trash"]);
    trash
        .success()
        .stdout_has("  old in the trash, 2 checkpoints\n")
        .stdout_lacks("refs/checkpoints-trash");
}

/// What a command refuses is reported once, by its error.
#[test]
fn a_refused_push_is_reported_once() {
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../hub"]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.git(["push", "-q", "origin", "main"]).success();
    world.checkpoint(["save", "-m", "base"]).success();
    world.checkpoint(["push"]).success();
    world.git(["clone", "-q", "../hub", "../bob"]).success();
    world.checkpoint(["save", "-m", "ours", "--allow-empty"]).success();
    world.enter("bob");
    world.checkpoint(["pull", "origin", "main"]).success();
    world.checkpoint(["resume", "main"]).success();
    world.checkpoint(["save", "-m", "theirs", "--allow-empty"]).success();
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world
        .checkpoint(["push"])
        .code(4)
        .no_stdout()
        .stderr_has("have diverged: 1 checkpoint ahead, 1 checkpoint behind\n");
    let json = world.checkpoint(["push", "--json"]).code(4).stdout_json();
    assert_eq!(json["sessions"][0]["result"], "diverged", "{json}");
    world.checkpoint(["fetch"]).success().stdout_has(
        "  pending   main  1 checkpoint fetched earlier, not in yours yet:\n              git checkpoint pull",
    );
}

#[test]
fn questions_and_counts_are_sentences() {
    let world = World::with_commit();
    world.file("f", "1\n");
    world.checkpoint(["save", "-m", "one"]).success();
    let screen = Terminal::new(80, "xterm")
        .env("NO_COLOR", "1")
        .answer("[y/N]", "n\n")
        .run(&world, PROGRAM, ["purge", "--", "f"]);
    let text = screen.text();
    assert!(
        text.contains("Permanently remove 1 file from 1 checkpoint? This cannot be undone. [y/N]"),
        "{text}"
    );
    world
        .checkpoint(["fork", "--name", "a", "--name", "b", "--worktree", "../a"])
        .code(129)
        .stderr_has("2 forks need --worktree 2 times or not at all; it is given once\n");
    fs::remove_file(world.path("f")).unwrap();
    world.checkpoint(["restore"]).success();
    let same = Terminal::new(80, "xterm")
        .run(&world, PROGRAM, ["restore", "-p"])
        .text();
    assert!(
        same.contains("no text file differs, so there is no hunk to choose"),
        "{same}"
    );
    world.checkpoint(["phase", "2/3", "build"]).success();
    world.checkpoint(["save", "--next", "deploy", "-m", "two"]).success();
    world
        .checkpoint(["show"])
        .success()
        .stdout_has("\nPhase: 2 of 3 build\n");
    world
        .checkpoint(["finish", "-m", "done"])
        .success()
        .stdout_has("; still open: deploy\n");
    let started = world.checkpoint(["start", "new"]).success().stdout().to_owned();
    let id = world.git_line(["rev-parse", "--short=8", "checkpoints/new"]);
    assert_eq!(started, format!("Started session new at {id}\n"));
    world
        .checkpoint(["todo", "add", "docs", "--session", "other"])
        .success()
        .stdout_has("\n  session other, new\n");
    world
        .checkpoint(["export", "main", "-o", "out.txt"])
        .code(129)
        .stderr_has("the name out.txt does not tell the format\n");
}
