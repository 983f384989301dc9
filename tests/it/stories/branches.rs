//! Sessions and branches: each branch has its current session, and nothing is saved to the session of another branch.

use serde_json::Value;

use crate::support::{PROGRAM, Terminal, World};

fn save(world: &World, args: &[&str]) -> Value {
    let args = ["save", "--json"].iter().chain(args);
    world.checkpoint(args).success().stdout_json()
}

/// The session that `status` says is current; empty for none.
fn current(world: &World) -> String {
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    status["current"]["session"].as_str().unwrap_or_default().to_owned()
}

/// A world in the middle of a feature: a branch with an edit that is saved in a session named as the branch is.
fn in_mid_feature() -> World {
    let world = World::with_commit();
    world.git(["switch", "-qc", "feature/Token-auth"]).success();
    world.file("src/main.txt", "one\n2\nthree\n");
    assert_eq!(save(&world, &["-m", "half of it"])["session"], "feature-token-auth");
    world
}

#[test]
fn a_hotfix_on_main_in_mid_feature_is_a_session_of_main() {
    let world = in_mid_feature();
    world.git(["stash", "-q"]).success();
    world.git(["switch", "-q", "main"]).success();
    assert_eq!(current(&world), "");
    world.file("README.md", "fixed\n");
    world.git(["commit", "-qam", "hotfix"]).success();
    let hotfix = save(&world, &["-m", "hotfix"]);
    assert_eq!(hotfix["session"], "main");
    assert_eq!(hotfix["session_is"], "started");
    assert_eq!(hotfix["branch_changed"]["from"], "feature/Token-auth");
    assert_eq!(hotfix["branch_changed"]["to"], "main");
    assert_eq!(hotfix["branch_changed"]["session"], "feature-token-auth");
    assert_eq!(save(&world, &["--allow-empty"])["branch_changed"], Value::Null);
    world.git(["switch", "-q", "-"]).success();
    assert_eq!(current(&world), "feature-token-auth", "switching back is enough");
    world.git(["stash", "pop", "-q"]).success();
    assert_eq!(save(&world, &["-m", "more"])["session"], "feature-token-auth");
    world.checkpoint(["switch", "-"]).success().stdout_has("main");
    let branches = world.checkpoint(["list", "--branch", "main", "--json"]);
    assert!(branches.stdout().contains("\"main\"") && !branches.stdout().contains("token-auth\""));
}

#[test]
fn the_receipt_says_that_the_branch_changed_and_how_to_go_on() {
    let world = in_mid_feature();
    world.git(["switch", "-q", "main"]).success();
    world
        .checkpoint(["save", "-m", "elsewhere"])
        .success()
        .stdout_has("branch changed from feature/Token-auth to main")
        .stdout_has("git checkpoint switch feature-token-auth");
    world.checkpoint(["switch", "feature-token-auth"]).success();
    assert_eq!(
        save(&world, &["--allow-empty"])["session"],
        "feature-token-auth",
        "it was asked for"
    );
}

#[test]
fn at_a_terminal_the_session_is_asked_for() {
    for (answer, session) in [("\n", "main"), ("n\n", "feature-token-auth")] {
        let world = in_mid_feature();
        world.git(["switch", "-q", "main"]).success();
        Terminal::new(100, "dumb")
            .answer("[Y/n]", answer)
            .run(&world, PROGRAM, ["save", "-m", "elsewhere"]);
        assert_eq!(current(&world), session, "{answer:?}");
    }
}

#[test]
fn a_branch_made_from_the_feature_keeps_the_session() {
    let makings: [&[&[&str]]; 5] = [
        &[&["switch", "-qc", "next"]],
        &[&["checkout", "-qb", "next"]],
        &[&["branch", "next"], &["switch", "-q", "next"]],
        &[&["commit", "-qam", "more"], &["switch", "-qc", "next"]],
        &[&["branch", "-m", "next"]],
    ];
    for making in makings {
        let world = in_mid_feature();
        for command in making {
            world.git(*command).success();
        }
        assert_eq!(current(&world), "feature-token-auth", "{making:?}");
        let saved = save(&world, &["-m", "on the new branch"]);
        assert_eq!(saved["session"], "feature-token-auth", "{making:?}");
        assert_eq!(saved["session_is"], "meant", "{making:?}");
        // It is current on both: switching back continues it.
        if world.git(["switch", "-q", "feature/Token-auth"]).is_success() {
            assert_eq!(current(&world), "feature-token-auth", "{making:?}");
            world.git(["switch", "-q", "next"]).success();
            assert_eq!(current(&world), "feature-token-auth", "{making:?}");
        }
    }
}

#[test]
fn the_receipt_of_a_save_on_a_branch_made_from_the_feature_says_so() {
    let world = in_mid_feature();
    world.git(["switch", "-qc", "next"]).success();
    world
        .checkpoint(["save", "--allow-empty", "-m", "on the new branch"])
        .success()
        .stdout_has("branch changed from feature/Token-auth to next")
        .stdout_has("git checkpoint start");
}

/// Hooks of git and watching choose the session as a save does: what `status` names is what they save to.
#[test]
fn automatic_checkpoints_on_a_branch_made_from_the_feature_continue_its_session() {
    let sessions =
        |world: &World| world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints/"]);
    for by_hook in [true, false] {
        let world = in_mid_feature();
        world.checkpoint(["hooks", "install"]).success();
        world.git(["switch", "-qc", "next"]).success();
        assert_eq!(current(&world), "feature-token-auth");
        world.file("README.md", "more\n");
        if by_hook {
            world.git(["commit", "-qam", "more"]).success();
            assert_eq!(
                world.git_line(["log", "-1", "--format=%s", "refs/checkpoints/feature-token-auth"]),
                "more"
            );
        } else {
            world.checkpoint(["watch", "--once"]).success();
        }
        assert_eq!(sessions(&world), "feature-token-auth");
        assert_eq!(current(&world), "feature-token-auth");
        world.git(["stash", "-q"]);
        world.git(["switch", "-q", "feature/Token-auth"]).success();
        assert_eq!(current(&world), "feature-token-auth");
        // A branch that is made from elsewhere gets its own.
        world.git(["switch", "-qc", "hotfix", "main"]).success();
        world.git(["commit", "-q", "--allow-empty", "-m", "fix"]).success();
        assert_eq!(current(&world), "hotfix");
        assert_eq!(sessions(&world), "feature-token-auth\nhotfix");
    }
    // So it is on a branch that was renamed, and where the session was only started.
    let world = in_mid_feature();
    world.checkpoint(["hooks", "install"]).success();
    world.git(["branch", "-m", "renamed"]).success();
    world.git(["commit", "-q", "--allow-empty", "-m", "still"]).success();
    assert_eq!(sessions(&world), "feature-token-auth");
    let world = World::with_commit();
    world.checkpoint(["hooks", "install"]).success();
    world.checkpoint(["start", "login"]).success();
    world.git(["switch", "-qc", "login-page"]).success();
    world.git(["commit", "-q", "--allow-empty", "-m", "page"]).success();
    assert_eq!(sessions(&world), "login");
}

/// A session that continues on a new branch and is named after it is the one of that branch alone.
#[test]
fn a_session_that_is_named_after_the_branch_leaves_the_one_it_came_from() {
    let world = World::with_commit();
    world.file("a", "1\n");
    assert_eq!(save(&world, &["-m", "one"])["session"], "main");
    world.git(["switch", "-qc", "t"]).success();
    world.file("a", "2\n");
    world
        .checkpoint(["save", "-m", "two"])
        .success()
        .stdout_has("git checkpoint rename main t");
    world.checkpoint(["rename", "main", "t"]).success();
    assert_eq!(current(&world), "t");
    world.git(["switch", "-q", "main"]).success();
    assert_eq!(current(&world), "");
    world.git(["switch", "-q", "t"]).success();
    assert_eq!(current(&world), "t");
    // The undo gives it back, and the redo takes it again.
    world.checkpoint(["undo"]).success();
    world.git(["switch", "-q", "main"]).success();
    assert_eq!(current(&world), "main");
    world.git(["switch", "-q", "t"]).success();
    assert_eq!(current(&world), "main");
    world.checkpoint(["redo"]).success();
    world.git(["switch", "-q", "main"]).success();
    assert_eq!(current(&world), "");
    assert_eq!(save(&world, &["-m", "of main"])["session"], "main");
    world.git(["switch", "-q", "t"]).success();
    assert_eq!(current(&world), "t");
    // Another name says nothing of a branch.
    let world = World::with_commit();
    save(&world, &["-m", "one"]);
    world.git(["switch", "-qc", "t"]).success();
    save(&world, &["--allow-empty", "-m", "two"]);
    world.checkpoint(["rename", "main", "parser"]).success();
    world.git(["switch", "-q", "main"]).success();
    assert_eq!(current(&world), "parser");
}

#[test]
fn without_a_current_session_the_one_just_paused_is_meant() {
    let world = in_mid_feature();
    world.checkpoint(["pause", "-m", "later", "--name", "half"]).success();
    for args in [
        &["show"][..],
        &["log"],
        &["diff"],
        &["apply", "-n"],
        &["restore", "-n"],
        &["export", "--format", "markdown"],
        &["show", "half"],
    ] {
        let out = world.checkpoint(args);
        out.success();
        if args != ["show", "half"] {
            out.stderr_has("note: no current session; using 'feature-token-auth', which was paused last");
        }
    }
    // On another branch as well.
    world.git(["stash", "-q"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.checkpoint(["show"]).success().stderr_has("feature-token-auth");
    let world = World::with_commit();
    world.checkpoint(["show"]).code(3).stderr_has("no sessions");
    world.checkpoint(["pause", "-m", "at once"]).success();
    world.checkpoint(["show"]).success().stdout_has("at once");
}

#[test]
fn an_undeleted_session_is_current_where_none_is() {
    let world = in_mid_feature();
    world.checkpoint(["delete", "feature-token-auth"]).success();
    assert_eq!(current(&world), "");
    world
        .checkpoint(["undelete", "feature-token-auth"])
        .success()
        .stdout_has("the current session");
    assert_eq!(current(&world), "feature-token-auth");
    world.checkpoint(["undo"]).success();
    assert_eq!(current(&world), "");
    world.checkpoint(["start", "other"]).success();
    world.checkpoint(["undelete", "feature-token-auth"]).success();
    assert_eq!(current(&world), "other");
}

#[test]
fn the_letter_of_a_dry_run_takes_no_text() {
    let world = in_mid_feature();
    for (command, text) in [
        (&["save"][..], "foo"),
        (&["pause", "--clean"], "why it"),
        (&["pause"], "it's"),
    ] {
        let quoted = if text == "foo" {
            "foo".to_owned()
        } else if text == "it's" {
            "'it'\\''s'".to_owned()
        } else {
            format!("'{text}'")
        };
        world
            .checkpoint(command.iter().chain(&["-n", text]))
            .code(129)
            .stderr_has("-n is --dry-run and takes no text")
            .stderr_has(&format!("git checkpoint {} --next {quoted}", command.join(" ")));
    }
    assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints"]).lines().count(), 1);
    world
        .checkpoint(["pause", "x"])
        .code(129)
        .stderr_has("git checkpoint pause -m x");
    world
        .checkpoint(["save", "--next", "a", "-n"])
        .success()
        .stdout_has("Would save");
}

#[test]
fn a_branch_made_from_elsewhere_does_not() {
    let makings: [&[&[&str]]; 4] = [
        &[&["switch", "-qc", "hotfix", "main"]],
        &[&["switch", "-q", "main"], &["switch", "-qc", "hotfix"]],
        &[&["switch", "-q", "--orphan", "hotfix"]],
        &[&["switch", "-q", "old"]],
    ];
    for making in makings {
        let world = World::with_commit();
        world.git(["branch", "old"]).success();
        world.git(["switch", "-qc", "feature"]).success();
        save(&world, &["-m", "nothing is committed on the feature yet"]);
        for command in making {
            world.git(*command).success();
        }
        assert_eq!(current(&world), "", "{making:?}");
    }
}

#[test]
fn a_branch_without_a_commit_keeps_it_too() {
    let world = World::new();
    world.file("a", "1");
    assert_eq!(save(&world, &["-m", "first"])["session"], "main");
    world.git(["switch", "-qc", "other"]).success();
    assert_eq!(current(&world), "main");
}

#[test]
fn without_reflogs_the_last_known_commit_decides() {
    let world = World::with_commit();
    world.git(["config", "core.logAllRefUpdates", "false"]).success();
    world.git(["switch", "-qc", "feature"]).success();
    save(&world, &["-m", "on it"]);
    world.git(["switch", "-qc", "next"]).success();
    assert_eq!(current(&world), "feature");
    world.git(["commit", "-q", "--allow-empty", "-m", "further"]).success();
    assert_eq!(current(&world), "");
}

#[test]
fn a_detached_head_keeps_the_last_session_and_a_rebase_the_one_of_its_branch() {
    let world = in_mid_feature();
    world.git(["commit", "-qam", "half of it"]).success();
    save(&world, &["-m", "committed"]);
    world.git(["switch", "-q", "main"]).success();
    world.file("src/main.txt", "one\nzwei\nthree\n");
    world.git(["commit", "-qam", "in the way"]).success();
    assert_eq!(save(&world, &["-m", "main goes on"])["session"], "main");
    world.git(["checkout", "-q", "--detach", "HEAD~1"]).success();
    assert_eq!(current(&world), "main");
    world.git(["switch", "-q", "feature/Token-auth"]).success();
    // Nothing is said to us before the rebase stops at the conflict.
    world.git(["rebase", "main"]).code(1);
    assert_eq!(current(&world), "feature-token-auth");
    assert_eq!(save(&world, &["-m", "in mid-rebase"])["session"], "feature-token-auth");
    world.git(["rebase", "--abort"]).success();
    assert_eq!(save(&world, &["--allow-empty"])["session"], "feature-token-auth");
    world.git(["switch", "-q", "main"]).success();
    assert_eq!(current(&world), "main");
}

#[test]
fn a_session_begun_on_a_detached_head_goes_with_the_branch_that_is_made_there() {
    let world = in_mid_feature();
    world.git(["checkout", "-q", "--detach"]).success();
    world.checkpoint(["start", "trial"]).success();
    assert_eq!(current(&world), "trial");
    world.git(["switch", "-q", "feature/Token-auth"]).success();
    assert_eq!(current(&world), "feature-token-auth");
    world.git(["checkout", "-q", "--detach"]).success();
    world.checkpoint(["switch", "trial"]).success();
    world.git(["switch", "-qc", "trial-branch"]).success();
    assert_eq!(current(&world), "trial");
}

#[test]
fn linked_working_trees_have_sessions_of_their_own() {
    let world = in_mid_feature();
    world
        .git(["worktree", "add", "-qb", "hotfix", "../hotfix", "main"])
        .success();
    world.enter("hotfix");
    assert_eq!(current(&world), "");
    world.file("README.md", "fixed\n");
    let saved = save(&world, &["-m", "fixed"]);
    assert_eq!(
        (saved["session"].as_str(), &saved["branch_changed"]),
        (Some("hotfix"), &Value::Null)
    );
    world.git(["switch", "-qc", "hotfix-2"]).success();
    assert_eq!(current(&world), "hotfix");
    world.enter("repo");
    assert_eq!(current(&world), "feature-token-auth");
}

#[test]
fn hooks_and_watch_save_to_the_session_of_the_branch_or_start_one() {
    let world = in_mid_feature();
    world.checkpoint(["hooks", "install"]).success();
    world.git(["stash", "-q"]).success();
    world.git(["switch", "-q", "main"]).success();
    let sessions = || world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints/"]);
    assert_eq!(sessions(), "feature-token-auth", "to look at a branch starts nothing");
    world.file("README.md", "fixed\n");
    world.git(["commit", "-qam", "hotfix"]).success();
    assert_eq!(sessions(), "feature-token-auth\nmain");
    assert_eq!(
        world.git_line(["log", "-1", "--format=%s", "refs/checkpoints/main"]),
        "hotfix"
    );
    world.git(["switch", "-qc", "other", "HEAD~1"]).success();
    world.file("README.md", "again\n");
    world.checkpoint(["watch", "--once"]).success();
    assert_eq!(sessions(), "feature-token-auth\nmain\nother");
    // Where the work was put aside, it stays so, and has the commit.
    world.checkpoint(["pause"]).success();
    let paused = world.git_line(["rev-parse", "refs/checkpoints/other"]);
    world.git(["commit", "-qam", "after the pause"]).success();
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/other~1"]), paused);
    let json = world.checkpoint(["list", "--json"]).success().stdout_json();
    let row = &json["sessions"][0];
    assert_eq!((&row["session"], &row["status"]), (&"other".into(), &"paused".into()));
    assert_eq!(
        (&row["summary"], &row["current"]),
        (&"after the pause".into(), &false.into())
    );
}

#[test]
fn a_note_of_an_older_version_is_read() {
    let world = in_mid_feature();
    let file = world.path(".git/checkpoint/current");
    let written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let old = serde_json::json!({ "session": written["session"] });
    std::fs::write(&file, old.to_string()).unwrap();
    assert_eq!(current(&world), "feature-token-auth");
    world.git(["switch", "-q", "main"]).success();
    assert_eq!(
        current(&world),
        "",
        "it is of the branch that its latest checkpoint was saved on"
    );
    world.git(["switch", "-q", "-"]).success();
    assert_eq!(current(&world), "feature-token-auth");
}

#[test]
fn what_is_taken_back_comes_back_to_its_branch() {
    let world = in_mid_feature();
    world.checkpoint(["finish"]).success();
    world.git(["switch", "-q", "main"]).success();
    save(&world, &["-m", "another branch"]);
    world.checkpoint(["undo", "--older"]).success();
    assert_eq!(current(&world), "main");
    world.git(["switch", "-q", "-"]).success();
    assert_eq!(current(&world), "feature-token-auth");
    world.checkpoint(["rename", "@", "token"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.checkpoint(["delete", "token"]).success();
    world.git(["switch", "-q", "-"]).success();
    assert_eq!(current(&world), "");
    world.checkpoint(["undo"]).success();
    assert_eq!(current(&world), "token");
}

#[test]
fn names_that_are_too_long_do_not_share_a_session() {
    let world = World::with_commit();
    let [one, two] = ["one", "two"].map(|end| format!("feature/{}-{end}", "x".repeat(64)));
    world.checkpoint(["save", "--session", &one]).code(129).no_stdout();
    world.git(["switch", "-qc", &one, "main"]).success();
    world.checkpoint(["save", "-m", "of one"]).success();
    let first = current(&world);
    // A branch means its session, whatever that had to be called.
    world.checkpoint(["save", "--session", &one, "-m", "more"]).success();
    let tip = world.git_line(["rev-parse", &format!("refs/checkpoints/{first}")]);
    let out = world.checkpoint(["save", "--session", &two, "-m", "of two"]);
    out.code(129).no_stdout();
    assert!(out.stderr().contains("longer than 64 characters"), "{}", out.stderr());
    world.git(["switch", "-qc", &two, "main"]).success();
    world.checkpoint(["save", "--new", "-m", "of two"]);
    assert_eq!(world.git_line(["rev-parse", &format!("refs/checkpoints/{first}")]), tip);
}

#[test]
fn names_are_those_of_the_branch_and_then_numbered() {
    let world = World::with_commit();
    for name in ["main", "main-2", "main-3"] {
        world.checkpoint(["start"]).success();
        assert_eq!(current(&world), name);
    }
    for (branch, name) in [
        ("JIRA-123", "jira-123"),
        ("gr\u{f6}\u{df}e", "grosse"),
        ("a/b/c", "a-b-c"),
        ("con", "session-con"),
        ("v1.2_x", "v1.2_x"),
    ] {
        world.git(["switch", "-qc", branch, "main"]).success();
        world.checkpoint(["start"]).success();
        assert_eq!(current(&world), name, "{branch}");
    }
    // One that was fetched keeps its name for itself.
    let tip = world.git_line(["rev-parse", "refs/checkpoints/main"]);
    world
        .git(["update-ref", "refs/checkpoints-remote/origin/shared", &tip])
        .success();
    world.git(["switch", "-qc", "shared", "main"]).success();
    world.checkpoint(["start"]).success();
    assert_eq!(current(&world), "shared-2");
}

/// A branch continues the session of the branch from which it was made, whichever was saved last.
#[test]
fn a_new_branch_continues_the_session_of_the_branch_that_it_was_made_from() {
    let world = World::with_commit();
    world.git(["switch", "-qc", "A"]).success();
    world.file("x", "1\n");
    assert_eq!(save(&world, &["-m", "s1"])["session"], "a");
    world.git(["switch", "-q", "main"]).success();
    world.file("x", "2\n");
    assert_eq!(save(&world, &["-m", "m"])["session"], "main");
    world.git(["switch", "-q", "A"]).success();
    assert_eq!(current(&world), "a");
    world.git(["switch", "-qc", "A2"]).success();
    assert_eq!(current(&world), "a");
    let prompt = world.checkpoint(["status", "--prompt"]).success().stdout().to_owned();
    assert!(prompt.contains('a') && !prompt.contains("main"), "{prompt}");
    world.file("x", "3\n");
    let saved = save(&world, &["-m", "s2"]);
    assert_eq!(saved["session"], "a");
    assert_eq!(saved["branch_changed"]["from"], "A");
    assert_eq!(saved["branch_changed"]["to"], "A2");
    // A branch without a session is left for: what was there is what is offered.
    world.git(["switch", "-q", "main"]).success();
    world.git(["branch", "-q", "other", "main"]).success();
    world.git(["switch", "-q", "A"]).success();
    world.git(["switch", "-q", "--orphan", "fresh"]).success();
    world.file("x", "4\n");
    let saved = save(&world, &["-m", "fresh"]);
    assert_eq!(saved["session"], "fresh");
    // The reflog of HEAD has no line of an orphan branch: the last save of that session was on this one.
    assert_eq!(saved["branch_changed"]["from"], "A2");
    assert_eq!(saved["branch_changed"]["session"], "a");
}
