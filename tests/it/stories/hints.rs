//! Commands that a message suggests do what the message says of them. Each is run as it is printed.

use std::fs;

use crate::support::{Output, World};

/// Runs the command that follows `words` in an output.
#[track_caller]
fn follow(world: &World, output: &Output, words: &str) -> Output {
    world.typed(&output.advised(words))
}

#[test]
fn the_working_tree_of_an_undone_fork_is_removed_by_the_commands_it_names() {
    for (dirty, more) in [(false, false), (true, false), (true, true)] {
        let world = World::with_commit();
        if dirty {
            world.file("new", "not committed\n");
            world.file("README.md", "edited\n");
            world.git(["add", "new"]).success();
        }
        world.checkpoint(["save", "-m", "one"]).success();
        world
            .checkpoint(["fork", "--name", "k", "--worktree", "../k"])
            .success();
        if more {
            world.file("../k/README.md", "work in the fork\n");
        }
        let undone = world.checkpoint(["undo"]);
        undone.success();
        let json = world.checkpoint(["redo"]);
        json.success();
        let json = world.checkpoint(["undo", "--json"]).success().stdout_json();
        assert_eq!(json["stays"][0]["changed"], more, "{json}");
        if more {
            follow(&world, &undone, "to save them: ").success();
            follow(&world, &undone, "then remove it: ").success();
            assert_eq!(
                world.git_line(["show", "checkpoints/k^2:README.md"]),
                "work in the fork"
            );
        } else {
            follow(&world, &undone, "to remove it: ").success();
            follow(&world, &undone, "then: ").success();
            assert_eq!(world.git_line(["branch", "--list", "checkpoint/*"]), "");
        }
        assert!(!world.path("../k").exists(), "{undone}");
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// An ignored file that only the fork has, or a commit that only its branch has, is not thrown away by what is suggested.
#[test]
fn an_undone_fork_with_work_of_its_own_is_not_removed_by_force() {
    for is_commit in [false, true] {
        let world = World::with_commit();
        world.file(".gitignore", "cache\n");
        world.git(["add", ".gitignore"]).success();
        world.git(["commit", "-qm", "ignore"]).success();
        world.checkpoint(["save", "-m", "one"]).success();
        world
            .checkpoint(["fork", "--name", "k", "--worktree", "../k"])
            .success();
        if is_commit {
            let path = world.root().join("k");
            let path = path.to_str().unwrap();
            world
                .git(["-C", path, "commit", "-q", "--allow-empty", "-m", "there"])
                .success();
        } else {
            world.file("../k/cache", "only here\n");
        }
        let undone = world.checkpoint(["undo"]);
        undone
            .success()
            .stdout_lacks("--force")
            .stdout_has("           it has changes that are not saved; to save them: git checkpoint redo\n")
            .stdout_has("           then remove it: git checkpoint fork --remove k\n");
        follow(&world, &undone, "to save them: ").success();
        let removed = follow(&world, &undone, "then remove it: ");
        if is_commit {
            removed.success();
            assert_eq!(
                world.git_line(["log", "-1", "--format=%s", "checkpoints/k^2^"]),
                "there"
            );
        } else {
            removed.code(4).stderr_has("not saved: cache");
        }
    }
}

/// A rebase that was in progress, given up, and not in progress in the files: the command starts it over.
#[test]
fn a_rebase_is_started_over_by_the_command_it_names() {
    for changed in [false, true] {
        let world = World::with_commit();
        world.file("f", "1\n");
        world.git(["add", "f"]).success();
        world.git(["commit", "-qm", "f"]).success();
        for (branch, text) in [("topic", "topic\n"), ("main", "main\n")] {
            if branch == "topic" {
                world.git(["switch", "-qc", branch]).success();
            } else {
                world.git(["switch", "-q", branch]).success();
            }
            world.file("f", text);
            world.git(["commit", "-qam", branch]).success();
        }
        world.git(["switch", "-q", "topic"]).success();
        world.git(["rebase", "main"]).code(1);
        world.file("new", "new\n");
        world.checkpoint(["save", "-m", "mid"]).success();
        world.file("f", "resolved\n");
        world.checkpoint(["restore"]).success();
        world.git(["rebase", "--abort"]).success();
        let applied = if changed {
            world.checkpoint(["restore", "--index", "--force"])
        } else {
            world.checkpoint(["resume", "--apply"])
        };
        applied
            .success()
            .stdout_has("  git      not in progress again: rebasing branch topic onto ")
            .stdout_has("           git cannot continue it\n");
        let command = applied.advised("to start it again: ");
        assert_eq!(command.starts_with("git checkpoint undo && "), changed, "{applied}");
        world.typed(&command).code(1).stdout_has("CONFLICT");
        assert!(world.path(".git/rebase-merge").exists());
    }
}

/// The command for more paths prints all of them, and no warning.
#[test]
fn the_paths_that_a_report_does_not_name_are_listed_by_its_command() {
    let world = World::with_commit();
    let names: Vec<String> = (0..20).map(|n| format!("dir/n{n}")).collect();
    let all_named = |output: &Output| {
        output.success().no_stderr();
        for name in &names {
            output.stdout_has(name);
        }
    };
    for name in &names {
        world.file(name, "new\n");
    }
    world.checkpoint(["save", "-m", "one"]).success();
    // The session is called as the branch is.
    let resumed = world.checkpoint(["resume", "main"]);
    all_named(&follow(&world, &resumed, "... 12 more: "));
    // All of it is committed: the files are as saved.
    world.git(["add", "."]).success();
    world.git(["commit", "-qm", "all"]).success();
    let resumed = world.checkpoint(["resume", "main"]).success().stdout().to_owned();
    let commands: Vec<_> = resumed
        .lines()
        .filter_map(|line| Some(line.split_once("... 12 more: ")?.1))
        .collect();
    assert_eq!(commands.len(), 2, "{resumed}");
    for command in commands {
        all_named(&world.typed(command));
    }
}

#[test]
fn a_secret_in_a_commit_is_left_behind_by_the_commands_that_a_push_names() {
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../hub"]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.git(["push", "-q", "origin", "main"]).success();
    world.file(
        ".env",
        format!("TOKEN=ghp_{}\n", "q7Zs2Lx9Rw4Tb8Nd1Kf6Hj3Mv5Pc0YgUaEo1"),
    );
    world.git(["add", ".env"]).success();
    world.git(["commit", "-qm", "add env"]).success();
    world.git(["rm", "-q", ".env"]).success();
    world.git(["commit", "-qm", "remove env"]).success();
    world.file("kept", "kept\n");
    world.git(["add", "kept"]).success();
    world.git(["commit", "-qm", "kept"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    let refused = world.checkpoint(["push"]);
    refused
        .code(4)
        .stderr_has("is of the project itself, and a purge changes checkpoints only\n")
        .stderr_lacks("help purge");
    let rebase = refused.advised("rewrite it first: ");
    world
        .command("sh", ["-c", &rebase])
        .env("GIT_SEQUENCE_EDITOR", "sed -i /env/d")
        .run()
        .success();
    follow(&world, &refused, "begins without it: ").success();
    let published = world.git(["-C", "../hub", "log", "--all", "--format=%s"]);
    published.success().stdout_has("kept").stdout_lacks("env");
    // One that HEAD's history has no more needs no rewriting.
    world.checkpoint(["switch", "main"]).success();
    world
        .checkpoint(["push"])
        .code(4)
        .stderr_lacks("rewrite it first")
        .stderr_has("begins without it: ");
}

#[test]
fn an_option_that_is_suggested_comes_with_its_command() {
    let world = World::with_commit();
    world.checkpoint(["start", "my-work"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    let cases: [&[&str]; 3] = [
        &["bundle", "../a b.bundle", "my-work"],
        &["export", "my-work", "-o", "../a b.json", "--format", "json"],
        &["export", "--format", "folder", "--output=../a b"],
    ];
    for (line, words) in cases.iter().zip(["replace it: ", "overwrite it: ", "write into it: "]) {
        world.checkpoint(*line).success();
        let name = line.iter().find_map(|word| {
            word.strip_prefix("--output=")
                .or(word.starts_with("../").then_some(word))
        });
        let path = world.path(name.unwrap());
        if path.is_dir() {
            world.file(path.join("other"), "other\n");
        } else {
            world.file(&path, "other\n");
        }
        let refused = world.checkpoint(*line);
        refused.code(4);
        follow(&world, &refused, words).success();
        assert_ne!(fs::read(&path).unwrap_or_default(), b"other\n", "{refused}");
    }
}

#[test]
fn a_bare_repository_gets_a_working_tree_where_the_hint_says() {
    let world = World::with_commit();
    world.git(["clone", "-q", "--bare", ".", "../bare"]).success();
    let at = |line: &str| world.command("sh", ["-c", line]).within("../bare").run();
    let refused = at("git checkpoint save -m x");
    refused.code(128);
    let form = refused.advised("specify one: ");
    let line = form.replace("<directory>", "../repo").replace("...", "save -m x");
    at(&line).success();
}

#[test]
fn a_deleted_session_is_found_in_the_trash_by_every_command() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "base"]).success();
    // Also a name that could be an id, and one that is like another.
    for name in ["b2", "main2"] {
        world.checkpoint(["start", name]).success();
        world.checkpoint(["save", "-m", "one"]).success();
        world.checkpoint(["switch", "main"]).success();
        world.checkpoint(["delete", name]).success();
        for command in ["delete", "show", "switch", "resume", "log"] {
            let refused = world.checkpoint([command, name]);
            refused.code(3).stderr_lacks("4 digits");
            assert_eq!(
                refused.advised("bring it back: "),
                format!("git checkpoint undelete {name}")
            );
        }
        let refused = world.checkpoint(["show", name]);
        follow(&world, &refused, "bring it back: ").success();
        world.checkpoint(["show", name]).success();
        world.checkpoint(["delete", name]).success();
    }
    // What was never there is not in the trash.
    world
        .checkpoint(["show", "ef"])
        .code(3)
        .stderr_lacks("trash")
        .stderr_has("git checkpoint list\n")
        .stderr_has("an abbreviated id needs at least 4 digits\n");
}

/// Who deletes a session on a remote is not advised to push it there.
#[test]
fn a_session_that_is_not_on_the_remote_is_not_pushed_to_be_deleted() {
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../hub"]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    world.checkpoint(["push"]).success();
    world.checkpoint(["remote", "delete", "main"]).success();
    for line in [
        &["remote", "delete", "main"][..],
        &["delete", "--remote", "origin", "main"],
    ] {
        let refused = world.checkpoint(line);
        refused.code(3).stderr_lacks("push");
        follow(&world, &refused, "see what it has: ").success();
    }
}

#[test]
fn an_empty_trash_is_not_offered_to_be_looked_through() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "one"]).success();
    let lacking = world.checkpoint(["undelete", "x"]);
    lacking.code(3).stderr_has("the trash is empty").stderr_lacks("--trash");
    // With something in it that is no session.
    world.file("new", "two");
    world.checkpoint(["save", "--amend", "-m", "one again"]).success();
    let lacking = world.checkpoint(["undelete", "x"]);
    let listed = follow(&world, lacking.code(3), "what else it has: ");
    listed.success().stdout_has("amended");
}

#[test]
fn a_claim_is_taken_over_as_the_agent_that_the_command_was_given() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "one"]).success();
    world.checkpoint(["task", "add", "t"]).success();
    world.checkpoint(["claim"]).success();
    for line in [&["finish", "--agent", "o'her"][..], &["release", "--agent", "o'her"]] {
        let refused = world.checkpoint(line);
        follow(&world, refused.code(4), "take it over: ").success();
        world.checkpoint(line).success();
        world.checkpoint(["resume"]).success();
        world.checkpoint(["claim", "--force"]).success();
    }
    world.checkpoint(["release"]).success();
    world.checkpoint(["claim", "--task", "1"]).success();
    let refused = world.checkpoint(["release", "--task", "1", "--agent", "other"]);
    follow(&world, refused.code(4), "take it over: ").success();
    world
        .checkpoint(["release", "--task", "1", "--agent", "other"])
        .success();
    // Without an agent none is named.
    world.checkpoint(["claim", "--force", "--agent", "third"]).success();
    let refused = world.checkpoint(["release"]);
    refused.code(4).stderr_lacks("--agent");
    follow(&world, &refused, "take it over: ").success();
    world.checkpoint(["release"]).success();
}

#[test]
fn no_item_is_offered_for_a_verb_that_there_is_not() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "one"]).success();
    for line in ["task set 1 x", "todo raise 2", "decision reopen 1"] {
        let unknown = world.checkpoint(line.split(' '));
        unknown
            .code(129)
            .stderr_has("has the commands: ")
            .stderr_lacks(" add '");
    }
}
