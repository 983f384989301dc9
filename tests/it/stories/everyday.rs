//! What people do on any day: an undo after nothing, a branch's name for a session, conflicts in the middle of the work.

use crate::support::{PROGRAM, Terminal, World};

/// A repository with a session of three checkpoints on `main`.
fn saved() -> World {
    let world = World::with_commit();
    for n in 1..=3 {
        world.file("README.md", format!("{n}\n"));
        world.checkpoint(["save", "-m", &format!("save {n}")]).success();
    }
    world
}

#[test]
fn undo_names_what_it_undoes_and_what_came_later() {
    let world = saved();
    world.checkpoint(["restore", "@~1"]).success();
    world.advance(600);
    // Dry runs and views are no commands to undo.
    for line in [
        &["save", "-n"][..],
        &["status"],
        &["log"],
        &["restore", "@~1", "-n"],
        &["task", "list"],
    ] {
        world.checkpoint(line).success();
    }
    let plain = world.checkpoint(["undo"]);
    plain
        .success()
        .stdout_has("Undid 'restored ")
        .stdout_has("10 minutes ago)");
    plain.stderr_lacks("warning");
    world.checkpoint(["redo"]).success();
    // What changed nothing.
    world
        .checkpoint(["restore", "@~1"])
        .success()
        .stdout_has("Already up to date");
    let planned = world.checkpoint(["undo", "-n"]);
    planned.success().stderr_has("'restore', changed nothing");
    let undone = world.checkpoint(["undo"]);
    undone
        .success()
        .stderr_has("'restore', changed nothing")
        .stdout_has("Undid 'restored ");
    assert_eq!(world.read("README.md"), b"3\n");
    world.checkpoint(["redo"]).success();
    world.checkpoint(["resume"]).success();
    world.checkpoint(["undo"]).success().stderr_has("'resume'");
    // What changed something that no undo reverts.
    world.checkpoint(["redo"]).success();
    world.checkpoint(["task", "add", "later"]).success();
    let json = world.checkpoint(["undo", "--json"]);
    json.success().stderr_has("'task' came after");
    assert!(json.stdout_json()["done_at"].is_string());
    world.checkpoint(["task", "list"]).success().stdout_has("later");
    // And what git did.
    world.checkpoint(["redo"]).success();
    world.advance(5);
    world.file("other", "x");
    world.git(["add", "other"]).success();
    world.git(["commit", "-qm", "by git"]).success();
    world.checkpoint(["undo"]).success().stderr_has("commit: by git");
    assert_eq!(world.read("README.md"), b"3\n");
}

#[test]
fn a_terminal_asks_before_an_older_command_is_undone() {
    let world = saved();
    world.checkpoint(["restore", "@~1"]).success();
    world.checkpoint(["restore", "@~1"]).success();
    let screen = Terminal::new(100, "dumb")
        .answer("[y/N]", "n\n")
        .run(&world, PROGRAM, ["undo"]);
    assert!(
        screen.text().contains("'restore' changed nothing; undo 'restored "),
        "{}",
        screen.text()
    );
    assert_eq!(world.read("README.md"), b"2\n");
    Terminal::new(100, "dumb")
        .answer("[y/N]", "y\n")
        .run(&world, PROGRAM, ["undo"]);
    assert_eq!(world.read("README.md"), b"3\n");
}

#[test]
fn an_amended_checkpoint_is_listed_and_shown() {
    let world = saved();
    let before = world.git_line(["rev-parse", "--short=8", "checkpoints/main"]);
    world.checkpoint(["save", "--amend", "-m", "other words"]).success();
    world
        .checkpoint(["list", "--trash"])
        .success()
        .stdout_has(&before)
        .stdout_has("amended");
    let rows = world.checkpoint(["list", "--trash", "--json"]).success().stdout_json();
    assert_eq!(rows["replaced"][0]["summary"], "save 3", "{rows}");
    world.checkpoint(["show", &before]).success().stdout_has("save 3");
    world.file("README.md", "more\n");
    world.checkpoint(["save", "-m", "more"]).success();
    let refused = world.checkpoint(["undo", "--older"]);
    refused
        .code(4)
        .stderr_has("session 'main' has changed since")
        .stderr_has(&format!("git checkpoint show {before}"))
        .stderr_lacks("--record-only");
    // With another record the hint restores it.
    world.checkpoint(["save", "--amend", "-d", "keep v1"]).success();
    let before = world.git_line(["rev-parse", "--short=8", "checkpoints/main@{1}"]);
    world.file("README.md", "and more\n");
    world.checkpoint(["save", "-m", "and more"]).success();
    let hint = format!("git checkpoint restore {before} --record-only");
    world.checkpoint(["undo", "--older"]).code(4).stderr_has(&hint);
    let restored = world.checkpoint(["restore", &before, "--record-only"]);
    restored.success().stdout_has("the record");
    // Undone and redone, it is in the trash again.
    let world = saved();
    world.checkpoint(["save", "--amend", "-m", "other words"]).success();
    world.checkpoint(["undo"]).success();
    world.checkpoint(["list", "--trash"]).success().stdout_lacks("amended");
    world.checkpoint(["redo"]).success();
    world.checkpoint(["list", "--trash"]).success().stdout_has("amended");
}

/// A session with a change of `README.md`, and a commit that changes it differently.
fn conflicting() -> World {
    let world = World::with_commit();
    world.file("README.md", "saved\n");
    world.checkpoint(["pause", "--clean", "-m", "half done"]).success();
    world.file("README.md", "committed\n");
    world.git(["commit", "-qam", "other"]).success();
    world
}

#[test]
fn conflicts_are_an_error_with_the_next_step() {
    let quiet = conflicting();
    quiet
        .checkpoint(["resume", "--apply", "-q"])
        .code(1)
        .stderr_has("README.md")
        .stderr_has("git checkpoint apply --continue")
        .stderr_has("git checkpoint apply --abort");
    let world = conflicting();
    world
        .checkpoint(["resume", "--apply"])
        .code(1)
        .stdout_has("with conflicts")
        .stdout_has("conflict README.md")
        .stderr_has("1 conflict to resolve")
        .stderr_has("git add <path>");
    world.checkpoint(["apply", "--abort"]).success();
    assert_eq!(world.read("README.md"), b"committed\n");
    let json = world.checkpoint(["apply", "main", "--json"]);
    json.code(1);
    assert_eq!(json.stdout_json()["conflicts"][0]["path"], "README.md");
    assert_eq!(json.stderr_json()["error"]["code"], "negative");
}

#[test]
fn what_git_resolved_is_not_pending() {
    let commands: [&[&[&str]]; 4] = [
        &[&["commit", "-qam", "resolved"]],
        &[&["reset", "-q", "--hard"]],
        &[&["checkout", "-q", "HEAD", "--", "README.md"]],
        &[&["reset", "-q"]],
    ];
    for git in commands {
        let world = conflicting();
        world.checkpoint(["resume", "--apply"]).code(1);
        world.checkpoint(["status"]).success().stdout_has("pending");
        world.file("README.md", "both\n");
        if git[0][0] == "commit" {
            world.git(["add", "README.md"]).success();
            let status = world.checkpoint(["status"]);
            status.success().stdout_has("every conflict is resolved");
        }
        for command in git {
            world.git(*command).success();
        }
        world.checkpoint(["status"]).success().stdout_lacks("pending");
        let status = world.checkpoint(["status", "--json"]).success().stdout_json();
        assert!(status["in_conflict"].is_null(), "{git:?}: {status}");
        if git[0][0] == "commit" {
            world.checkpoint(["apply", "--abort"]).code(1).stderr_has("committed");
            assert_eq!(world.read("README.md"), b"both\n");
        }
    }
}

#[test]
fn resume_shows_what_it_would_do() {
    let world = World::with_commit();
    world.file("README.md", "saved\n");
    world.file("new", "new\n");
    world.checkpoint(["pause", "--clean", "-m", "half done"]).success();
    let before = world.fingerprint();
    for way in ["--apply", "--restore"] {
        let planned = world.checkpoint(["resume", way, "-n"]);
        planned
            .success()
            .stdout_has("write    README.md")
            .stdout_has("write    new")
            .stdout_has("Dry run: nothing was changed.");
        world.fingerprint().assert_same_as(&before);
        let status = world.checkpoint(["status", "--json"]).success().stdout_json();
        assert!(status["current"].is_null(), "it is not resumed either: {status}");
    }
    let json = world
        .checkpoint(["resume", "--apply", "-n", "--json"])
        .success()
        .stdout_json();
    assert_eq!(json["files"]["outcome"], "planned");
    world.checkpoint(["resume", "-n"]).success().stdout_has("Dry run");
    world.checkpoint(["resume", "--apply"]).success();
    assert_eq!(world.read("new"), b"new\n");
}

#[test]
fn a_branch_is_a_name_for_its_session() {
    let world = World::with_commit();
    world.git(["switch", "-qc", "feature/login"]).success();
    world.file("README.md", "1\n");
    world.checkpoint(["save", "-m", "login"]).success();
    world.checkpoint(["save", "-m", "again", "--allow-empty"]).success();
    world.git(["switch", "-qc", "other", "main"]).success();
    let shown = world
        .checkpoint(["show", "feature/login", "--json"])
        .success()
        .stdout_json();
    assert_eq!(shown["session"], "feature-login");
    for line in [
        &["log", "feature/login"][..],
        &["diff", "feature/login"],
        &["show", "feature/login~1"],
        &["export", "feature/login", "--format", "markdown"],
        &["bundle", "../login.bundle", "feature/login"],
        &["task", "add", "t", "--session", "feature/login"],
        &["save", "--session", "feature/login", "-n"],
        &["rename", "feature/login", "login"],
    ] {
        world.checkpoint(line).success();
    }
    world.checkpoint(["undo"]).success();
    world
        .checkpoint(["save", "--session", "no/branch"])
        .code(129)
        .stderr_has("is not a valid name");
    world.checkpoint(["show", "no/branch"]).code(3).stderr_has("no/branch");
    let resumed = world
        .checkpoint(["resume", "feature/login", "--json"])
        .success()
        .stdout_json();
    assert_eq!(resumed["session"], "feature-login");
    // The open one counts, and of several open ones none.
    let world = World::with_commit();
    for name in ["one", "two", "three"] {
        world.checkpoint(["start", name]).success();
        world.checkpoint(["finish", "-m", name]).success();
    }
    world.checkpoint(["start", "four"]).success();
    world.checkpoint(["pause", "-m", "four"]).success();
    let shown = world.checkpoint(["show", "main", "--json"]).success().stdout_json();
    assert_eq!(shown["session"], "four");
    world.checkpoint(["start", "five"]).success();
    world.checkpoint(["pause", "-m", "five"]).success();
    world
        .checkpoint(["show", "main"])
        .code(3)
        .stderr_has("four")
        .stderr_has("five");
}

#[test]
fn a_session_follows_its_branch_that_is_renamed_from_elsewhere() {
    let world = World::with_commit();
    world.git(["switch", "-qc", "feature/login"]).success();
    world.file("README.md", "1\n");
    world.checkpoint(["save", "-m", "login"]).success();
    world.git(["commit", "-qam", "login"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.checkpoint(["start", "on-main"]).success();
    world.git(["branch", "-m", "feature/login", "feature/auth"]).success();
    let shown = world
        .checkpoint(["show", "feature/auth", "--json"])
        .success()
        .stdout_json();
    assert_eq!(shown["session"], "feature-login");
    world.git(["switch", "-q", "feature/auth"]).success();
    let current = || world.checkpoint(["status", "--json"]).success().stdout_json()["current"]["session"].clone();
    assert_eq!(current(), "feature-login");
    world.file("README.md", "2\n");
    world
        .checkpoint(["save", "-m", "more"])
        .success()
        .stdout_has("feature-login");
    world.git(["commit", "-qam", "more"]).success();
    world.git(["switch", "-q", "main"]).success();
    assert_eq!(current(), "on-main");
    world.git(["switch", "-q", "feature/auth"]).success();
    assert_eq!(current(), "feature-login");
}

#[test]
fn an_ended_session_and_the_branch_of_a_fork_are_named() {
    let world = saved();
    world.checkpoint(["finish", "-m", "done"]).success();
    world
        .checkpoint(["resume", "main"])
        .success()
        .stderr_has("Reopened session main, which was completed");
    world.checkpoint(["resume", "main"]).success().stderr_lacks("Reopened");
    world
        .checkpoint(["fork", "main", "--name", "try", "--worktree", "../try"])
        .success();
    world
        .checkpoint(["fork", "--remove", "try"])
        .success()
        .stdout_has("git branch -d checkpoint/try");
    world
        .checkpoint(["delete", "try"])
        .success()
        .stdout_has("git branch -d checkpoint/try");
    world.checkpoint(["undo"]).success();
    world.git(["branch", "-D", "checkpoint/try"]).success();
    world.checkpoint(["delete", "try"]).success().stdout_lacks("git branch");
}

#[test]
fn show_marks_what_was_staged() {
    let world = World::with_commit();
    for (path, staged, now) in [
        ("a", "1\n", "1\n"),
        ("b", "1\n", "2\n"),
        ("src/main.txt", "x\n", "one\ntwo\nthree\n"),
    ] {
        world.file(path, staged);
        world.git(["add", path]).success();
        world.file(path, now);
    }
    world.file("c", "1\n");
    world.checkpoint(["save", "-m", "one"]).success();
    let shown = world.checkpoint(["show"]);
    shown
        .success()
        .stdout_has("A a  staged\n")
        .stdout_has("A b  partly staged\n")
        .stdout_has("A c\n")
        .stdout_has("Staged only, the file as in HEAD (1)\n  M src/main.txt\n");
    let staged = world.checkpoint(["show", "--json"]).success().stdout_json()["staged"].clone();
    assert_eq!(staged[1], serde_json::json!({ "path": "b", "whole": false }));
    world.checkpoint(["show", "-q"]).success().stdout_lacks("Not shown");
    world.checkpoint(["show", "-v"]).success().stderr_has("Not shown: ids");
}

#[test]
fn verbs_of_other_tools_are_answered_with_ours() {
    let world = saved();
    world.checkpoint(["task", "add", "one"]).success();
    for (line, meant) in [
        (
            &["restore", "@", "a"][..],
            "did you mean: git checkpoint restore @ -- a",
        ),
        (
            &["restore", "@", "a", "--overlay"],
            "git checkpoint restore @ --overlay -- a",
        ),
        (&["task", "rm", "1"], "did you mean: git checkpoint task remove 1"),
        (&["todo", "close", "1"], "did you mean: git checkpoint todo done 1"),
        (
            &["decision", "delete", "1"],
            "did you mean: git checkpoint decision remove 1",
        ),
        (&["todo", "edit", "1"], "'todo' has the commands: "),
        (&["open-file", "rm", "a"], "git checkpoint open-file --close a"),
        (&["todo", "show", "1"], "git checkpoint todo list\n"),
        (&["drop"], "did you mean: git checkpoint delete"),
        (&["edit"], "did you mean: git checkpoint save --amend"),
    ] {
        world.checkpoint(line).code(129).no_stdout().stderr_has(meant);
    }
    let tasks = world.checkpoint(["task", "list", "--json"]).success().stdout_json();
    assert_eq!(tasks["items"].as_array().unwrap().len(), 1, "{tasks}");
}

#[test]
fn what_a_cleaning_leaves_is_counted_and_listed() {
    let world = World::with_commit();
    world.git(["init", "-q", "lib"]).success();
    world.file("lib/own", "x");
    world.git(["config", "checkpoint.maxFileSize", "100"]).success();
    world.file("dump.sql", "x".repeat(200));
    world.file("README.md", "work\n");
    world
        .checkpoint(["pause", "--clean", "-m", "x"])
        .success()
        .stdout_has("2 kept")
        .stdout_has("keep     dump.sql")
        .stdout_has("keep     lib");
    // Nothing failed, so the exit code is 0; `status` knows both.
    world.checkpoint(["resume"]).success();
    world
        .checkpoint(["status", "--exit-code"])
        .code(1)
        .stdout_has("dump.sql: too large");
}
