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
    let older = world.checkpoint(["undo"]);
    older
        .success()
        .stderr_has("the last command, 'restore', changed nothing; undo comes to 'restored ")
        .stdout_has("Undid 'restored ");
    assert_eq!(world.read("README.md"), b"3\n");
    world.checkpoint(["redo"]).success();
    // A note in the record cannot be undone, and whoever undoes may mean it.
    world.checkpoint(["task", "add", "later"]).success();
    world.checkpoint(["undo"]).code(4).stderr_has("'task' (");
    let json = world.checkpoint(["undo", "--older", "--json"]);
    json.success().stderr_lacks("warning");
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

/// A later command that changed something is in the way of `undo`, whatever came after it; one that changed nothing is
/// not, and hides none.
#[test]
fn every_later_command_is_in_the_way_of_an_undo() {
    let later: &[&[&[&str]]] = &[
        &[&["save", "-m", "s2", "--allow-empty"], &["note", "hi"]],
        &[&["save", "-m", "s2", "--allow-empty"], &["restore", "@"]],
        &[&["save", "-m", "s2", "--allow-empty"], &["pin", "@"], &["pin", "@"]],
        &[&["task", "add", "t"]],
        &[&["todo", "t"]],
        &[&["context", "set", "README.md"], &["context", "show"]],
        &[&["message", "add", "--role", "user", "hello"]],
        &[&["hooks", "install"]],
        &[&["pin", "@~1"]],
        &[&["unpin", "@"]],
        &[&["fork", "--remove", "spare"]],
        &[&["bisect", "start"]],
        &[&["purge", "--yes", "--", "secret-file"]],
        &[&["push"]],
        &[&["start", "new"], &["switch", "main"]],
    ];
    for lines in later {
        let world = saved();
        world.git(["init", "-q", "--bare", "../remote.git"]).success();
        world.git(["remote", "add", "origin", "../remote.git"]).success();
        world.file("secret-file", "x");
        world.checkpoint(["save", "-m", "pinned"]).success();
        world.checkpoint(["pin", "@"]).success();
        world
            .checkpoint(["fork", "@", "--name", "spare", "--worktree", "../spare"])
            .success();
        world.checkpoint(["restore", "@~2", "--force"]).success();
        assert_eq!(world.read("README.md"), b"2\n");
        for line in *lines {
            world.checkpoint(*line).success();
        }
        let refs = world.git_line(["for-each-ref"]);
        for undo in [&["undo"][..], &["undo", "-n"]] {
            let refused = world.checkpoint(undo);
            refused
                .code(4)
                .stderr_has("cannot be undone; the last command that can be: restored ")
                .stderr_has("git checkpoint undo --older");
        }
        assert_eq!(world.read("README.md"), b"2\n", "{lines:?}");
        assert_eq!(world.git_line(["for-each-ref"]), refs, "{lines:?}");
        world.checkpoint(["undo", "--older", "-n"]).success();
        world.checkpoint(["undo", "--older"]).success();
        assert_eq!(world.read("README.md"), b"3\n", "{lines:?}");
        // What was passed over once is not asked about again.
        world.checkpoint(["redo"]).success();
        world.checkpoint(["undo"]).success();
    }
    // A command between two that can be undone is in the way of the older one alone.
    let world = saved();
    world.checkpoint(["restore", "@~1"]).success();
    world.checkpoint(["note", "between"]).success();
    world.checkpoint(["rename", "main", "trunk"]).success();
    world.checkpoint(["undo"]).success().stdout_has("Undid 'renamed ");
    world.checkpoint(["undo"]).code(4).stderr_has("'note' (");
    assert_eq!(world.read("README.md"), b"2\n");
}

/// Where files have changed since, the refusal names what would be undone.
#[test]
fn a_refused_undo_names_the_command() {
    let world = saved();
    world.checkpoint(["restore", "@~1"]).success();
    world.file("README.md", "new work\n");
    world.advance(600);
    let refused = world.checkpoint(["undo"]);
    refused
        .code(4)
        .stderr_has("refusing to undo 'restored ")
        .stderr_has("(10 minutes ago)");
    assert_eq!(world.read("README.md"), b"new work\n");
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
        .checkpoint(["save", "--session", "no@branch"])
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
    // git refuses to delete one that is not merged without more.
    world
        .checkpoint(["fork", "main", "--name", "more", "--worktree", "../more"])
        .success();
    world
        .git(["-C", "../more", "commit", "-q", "--allow-empty", "-m", "its own"])
        .success();
    world
        .checkpoint(["fork", "--remove", "more"])
        .success()
        .stdout_has("with 1 commit of its own");
    let deleted = world.checkpoint(["delete", "more"]);
    let (_, command) = deleted.success().stdout().split_once("to delete it: ").unwrap();
    world.typed(command.lines().next().unwrap()).success();
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

#[test]
fn a_branch_names_a_new_session() {
    let world = saved();
    let has = |name: &str| {
        !world
            .git_line(["for-each-ref", &format!("refs/checkpoints/{name}")])
            .is_empty()
    };
    for (line, name) in [
        (&["start", "feat/A"][..], "feat-a"),
        (&["rename", "main", "base/Line"], "base-line"),
        (&["fork", "@", "--name", "try/it"], "try-it"),
        (&["save", "--session", "fix/12", "-m", "x"], "fix-12"),
        (&["save", "--session", "JIRA-7", "-m", "x"], "jira-7"),
    ] {
        let done = world.checkpoint(line);
        done.success()
            .stderr_has("is not a valid session name: using")
            .stderr_has(name);
        assert!(has(name), "{line:?}");
    }
    // From then on the word means that session, without a note.
    for line in [
        &["show", "feat/A"][..],
        &["log", "fix/12"],
        &["todo", "add", "t", "--session", "fix/12"],
        &["save", "--session", "fix/12", "-m", "y"],
        &["search", "--session", "fix/12", "x"],
        &["switch", "feat/A"],
    ] {
        world.checkpoint(line).success().stderr_lacks("not a valid");
    }
    world.checkpoint(["delete", "fix/12"]).success();
    assert!(!has("fix-12"));
    world
        .checkpoint(["undelete", "fix-12", "--name", "other/Name"])
        .success();
    assert!(has("other-name"));
    // What does not exist is not found, and the name is no mistake.
    for line in [
        &["finish", "--session", "no/such"][..],
        &["search", "--session", "no/such", "x"],
        &["undelete", "no/such"],
        &["unbundle", "../none.bundle", "no/such"],
        &["switch", "no/such"],
    ] {
        world.checkpoint(line).code(3).stderr_lacks("is not a valid name");
    }
    // A selector is no name, and a fetched session is none of this repository.
    for word in ["main@{1}", "auth@before", "@"] {
        world.checkpoint(["save", "--session", word]).code(129);
    }
    world.git(["init", "-q", "--bare", "../hub"]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.checkpoint(["push", "origin", "jira-7"]).success();
    world
        .checkpoint(["save", "--session", "origin/jira-7"])
        .code(3)
        .stderr_has("git checkpoint resume origin/jira-7");
    let listed = world
        .checkpoint(["list", "--grep", "MAIN", "--json"])
        .success()
        .stdout_json();
    assert_eq!(
        listed["sessions"].as_array().map(Vec::len),
        world.checkpoint(["list", "--json"]).stdout_json()["sessions"]
            .as_array()
            .map(Vec::len),
        "each was saved on branch main"
    );
}

#[test]
fn a_renamed_branch_keeps_its_session() {
    let world = saved();
    world.git(["branch", "-m", "trunk"]).success();
    world
        .checkpoint(["save", "-m", "renamed", "--allow-empty"])
        .success()
        .stdout_has("main; trunk @")
        .stdout_lacks("branch changed");
    // Also a paused one, and one of a branch that was renamed while another one was checked out.
    world.checkpoint(["pause", "-m", "later"]).success();
    world.git(["switch", "-qc", "other"]).success();
    world.git(["branch", "-m", "trunk", "stem"]).success();
    world.git(["switch", "-q", "stem"]).success();
    let rows = world
        .checkpoint(["list", "--branch", "stem", "--json"])
        .success()
        .stdout_json();
    assert_eq!(rows["sessions"][0]["session"], "main", "{rows}");
    world.file("README.md", "4\n");
    world
        .checkpoint(["save", "-m", "on stem"])
        .success()
        .stdout_has("  main")
        .stdout_lacks("branch changed");
    // A new branch under the old name has no part in it.
    world.git(["switch", "-qc", "trunk"]).success();
    let rows = world
        .checkpoint(["list", "--branch", "trunk", "--json"])
        .success()
        .stdout_json();
    assert_eq!(rows["sessions"].as_array().map(Vec::len), Some(0), "{rows}");
}

#[test]
fn every_word_and_option_that_is_none_leads_on() {
    let world = saved();
    for (line, hint) in [
        (&["abort"][..], "git checkpoint apply --abort"),
        (&["trash"], "git checkpoint list --trash"),
        (&["sessions"], "git checkpoint list"),
        (&["unpause"], "git checkpoint resume"),
        (&["back"], "git checkpoint undo"),
        (&["tutorials"], "see: git checkpoint help"),
        (&["tutorial"], "git checkpoint help tutorial"),
        (&["pause", "--aply"], "git checkpoint resume --apply"),
        (&["resume", "--clean"], "git checkpoint pause --clean"),
        (&["apply", "--list"], "git checkpoint list"),
        (&["switch", "-c", "x"], "git checkpoint start <session>"),
        (&["undo", "--list"], "git checkpoint undo --dry-run"),
    ] {
        let answer = world.checkpoint(line);
        answer.code(129).stderr_has(hint).stderr_lacks("as a value");
    }
    let before = world.fingerprint();
    // Every command answers an option that it does not have, and none of the answers takes anything away.
    let commands = world.checkpoint(["help", "--json"]).success().stdout_json();
    for command in commands["command"]["commands"].as_array().unwrap() {
        let name = command["name"].as_str().unwrap();
        for option in ["--nosuchoption", "--delet", "--purg", "--forec"] {
            let answer = world.checkpoint([name, option]);
            answer.code(129);
            for word in ["git checkpoint purge", "git checkpoint prune", "git checkpoint clear"] {
                if !word.ends_with(name) {
                    answer.stderr_lacks(&format!("did you mean: {word}"));
                }
            }
        }
    }
    assert_eq!(world.fingerprint(), before);
}

#[test]
fn each_word_has_a_page() {
    let world = World::without_repository();
    for (word, has) in [
        ("hook", "Usage: git checkpoint hook"),
        ("everyday", "resume"),
        ("time-travel", "rewind"),
        ("care", "undelete"),
    ] {
        let page = world.checkpoint(["help", word]);
        page.success();
        page.stdout_has(has);
    }
    world
        .checkpoint(["help", "stash"])
        .code(3)
        .stderr_has("git checkpoint help pause");
}

#[test]
fn what_a_save_would_leave_out_is_listed_without_a_session_as_well() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.maxFileSize", "100"]).success();
    world.file("dump.sql", [b'x'; 200]);
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("none yet")
        .stdout_has("a save would leave out 1 path (dump.sql: too large)");
}

#[test]
fn a_rewind_without_turns_says_so() {
    let world = saved();
    world
        .checkpoint(["rewind"])
        .code(3)
        .stderr_has("session 'main' has no turns of an agent")
        .stderr_has("git checkpoint enable");
    world.checkpoint(["rewind", "3"]).code(3).stderr_has("has no turns");
}

#[test]
fn a_dry_run_says_that_nothing_was_changed_also_where_nothing_differs() {
    let world = saved();
    for line in [
        &["restore", "@", "-n"][..],
        &["apply", "@", "-n"],
        &["resume", "--apply", "-n"],
        &["resume", "--restore", "-n"],
        &["resume", "-n"],
    ] {
        let planned = world.checkpoint(line);
        planned.success();
        let text = planned.stdout();
        assert_eq!(
            text.matches("Dry run: nothing was changed.").count(),
            1,
            "{line:?}: {text}"
        );
    }
}
