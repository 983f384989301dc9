//! Everyday texts: what was meant by a slip, what a plan ends with, and what is said once.

use crate::support::{PROGRAM, Terminal, World};

fn input(world: &World, args: &[&str], text: &str) -> crate::support::Output {
    world.command(PROGRAM, args).input(text).run()
}

#[test]
fn each_change_of_the_branch_is_reported_and_the_way_out_once() {
    let world = World::with_commit();
    world.git(["switch", "-qc", "a"]).success();
    world.checkpoint(["save", "-q", "-m", "1"]).success();
    world.git(["switch", "-qc", "b"]).success();
    let save = || world.checkpoint(["save", "--allow-empty", "-m", "again"]);
    save()
        .success()
        .stdout_has("  branch changed from a to b\n")
        .stdout_has("  session a continues here\n")
        .stdout_has("  to start a new session here: git checkpoint start\n")
        .stdout_has("  to name it after this branch: git checkpoint rename a b\n");
    save().success().stdout_lacks("branch changed");
    for (from, to) in [("b", "a"), ("a", "b"), ("b", "a")] {
        world.git(["switch", "-q", to]).success();
        save()
            .success()
            .stdout_has(&format!("  branch changed from {from} to {to}\n"))
            .stdout_lacks("git checkpoint start");
        save().success().stdout_lacks("branch changed");
    }
    // Also in a dry run, in JSON, and of a session that is named.
    world.git(["switch", "-q", "b"]).success();
    world.checkpoint(["save", "-n"]).success().stdout_has("from a to b\n");
    let named = world.checkpoint(["save", "--session", "a", "-m", "named", "--allow-empty", "--json"]);
    let named = named.success().stdout_json();
    assert_eq!(named["branch_changed"]["from"], "a", "{named}");
    assert_eq!(named["branch_changed"]["to"], "b", "{named}");
    assert_eq!(named["branch_changed"]["session"], "a", "{named}");
    // No branch is one as well.
    world.git(["switch", "-q", "--detach"]).success();
    world
        .checkpoint(["save", "--session", "a", "-m", "detached", "--allow-empty"])
        .success()
        .stdout_has("  branch changed from b to a detached HEAD\n");
}

#[test]
fn a_refused_name_gets_a_proposal_wherever_it_is_given() {
    let world = World::with_commit();
    world
        .checkpoint(["save", "-q", "--session", "base", "-m", "1"])
        .success();
    world.git(["init", "-q", "--bare", "../hub"]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.checkpoint(["push", "-q", "origin", "base"]).success();
    let long = "x".repeat(90);
    let cut = "x".repeat(64);
    for (name, valid, is_remote) in [
        ("two words", "two-words", true),
        ("a..b", "a.b", true),
        ("x.lock", "x", true),
        ("a~1", "a-1", true),
        ("a:b", "a-b", true),
        (".x", "x", true),
        ("", "session", true),
        ("@", "session", true),
        ("HEAD", "session-head", true),
        ("merge_head", "session-merge_head-1", true),
        ("CON", "session-con", true),
        ("\u{65e5}\u{672c}", "session", true),
        // A long branch has a session whose name is its beginning.
        (&long, &cut, false),
    ] {
        let mut lines = vec![
            vec!["start", name],
            vec!["rename", "base", name],
            vec!["fork", "@", "--name", name],
            vec!["import", "--session", name, "nothing"],
            vec!["save", "--session", name],
        ];
        if is_remote {
            lines.push(vec!["pull", "origin", name]);
            lines.push(vec!["fetch", "origin", name]);
        }
        for line in lines {
            world
                .checkpoint(line.iter())
                .code(129)
                .stderr_has("is not a valid name: ")
                .stderr_has(&format!("; a valid one is '{valid}'\n"))
                .stderr_has("hint: the rules: git checkpoint help names\n");
        }
    }
    world
        .checkpoint(["fork", "@", "--name=two words", "--dry-run"])
        .stderr_has("hint: did you mean: git checkpoint fork @ --name=two-words --dry-run\n");
    world
        .checkpoint(["save", "-m", "a summary", "--name", "Before Merge"])
        .code(129)
        .stderr_has("hint: did you mean: git checkpoint save -m 'a summary' --name before-merge\n");
    let sessions = world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints/"]);
    assert_eq!(sessions, "base");
    // The name of a branch is made one everywhere.
    for (line, name) in [
        (&["start", "Team/\u{dc}ber"][..], "team-uber"),
        (&["rename", "team-uber", "Stra\u{df}e"], "strasse"),
        (&["fork", "base", "--name", "Auth"], "auth"),
        (&["save", "--session", "A/B", "-m", "1"], "a-b"),
    ] {
        world
            .checkpoint(line)
            .success()
            .stderr_has(&format!("is not a valid session name: using '{name}'"));
        world
            .git(["rev-parse", "--verify", "-q", &format!("refs/checkpoints/{name}")])
            .success();
    }
    world.checkpoint(["delete", "base"]).success();
    world
        .checkpoint(["pull", "origin", "Base"])
        .success()
        .stdout_has("base");
    world
        .checkpoint(["help", "names"])
        .success()
        .stdout_has("1 to 64 characters")
        .stdout_has("feature-login");
}

#[test]
fn lines_of_a_receipt_fit_on_a_screen_of_the_usual_width() {
    let world = World::with_commit();
    let long = "make the tests of the parser green and then look at the lexer, which is older than that";
    let name = "a-session-with-a-name-of-sixty-four-characters-that-is-the-most";
    let words = "the summary of a checkpoint can be longer than a line, and what is too much ends with dots";
    for (name, next) in [("short", "short"), ("short", long), (name, "short"), (name, long)] {
        world.file("README.md", format!("{name}{next}"));
        let saved = Terminal::new(80, "dumb").run(
            &world,
            PROGRAM,
            ["--no-advice", "save", "--session", name, "-m", words, "--next", next],
        );
        let text = saved.text();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("next: ") && text.contains("; main"), "{text}");
        assert_eq!(
            text.lines().count(),
            if (name, next) == ("short", "short") { 2 } else { 3 },
            "{text}"
        );
    }
}

#[test]
fn a_path_in_the_place_of_a_checkpoint_is_understood() {
    let world = World::with_commit();
    world.file("docs/read me.md", "one\n");
    world.file("alike.txt", "one\n");
    world.checkpoint(["save", "-q", "-m", "begun"]).success();
    world.file("alike.txt", "two\n");
    std::fs::remove_file(world.path("docs/read me.md")).expect("it is there");
    for command in ["restore", "apply"] {
        for (path, shown) in [
            ("alike.txt", "alike.txt"),
            ("docs/read me.md", "'docs/read me.md'"),
            ("docs", "docs"),
        ] {
            world
                .checkpoint([command, path])
                .code(3)
                .stderr_has(&format!("did you mean: git checkpoint {command} -- {shown}"));
        }
        world
            .checkpoint([command, "nowhere"])
            .code(3)
            .stderr_lacks("-- nowhere");
    }
    assert_eq!(world.read("alike.txt"), b"two\n", "nothing was changed");
    world.checkpoint(["restore", "--", "alike.txt"]).success();
    world
        .checkpoint(["restore", "--", "alike.txt"])
        .success()
        .stdout_lacks("Already up to date")
        .stderr_has("no selected file differs");
}

#[test]
fn undo_names_what_was_undone_and_refs_on_demand() {
    let world = World::with_commit();
    for session in ["one", "two"] {
        world.checkpoint(["start", session, "-q"]).success();
        world.checkpoint(["save", "-q", "-m", session]).success();
    }
    world.checkpoint(["delete", "one", "two", "-q"]).success();
    world
        .checkpoint(["undo", "-n"])
        .success()
        .stdout_lacks("trash")
        .stdout_has("session  one would be at ");
    let undone = world.checkpoint(["undo"]);
    assert_eq!(undone.success().stdout().lines().count(), 1, "{undone}");
    world
        .checkpoint(["redo", "-v"])
        .success()
        .stderr_has("refs/checkpoints-trash/");
}

#[test]
fn every_plan_ends_alike() {
    let world = World::with_commit();
    world.checkpoint(["start", "work", "-q"]).success();
    world.checkpoint(["save", "-q", "-m", "1"]).success();
    world.checkpoint(["start", "other", "-q"]).success();
    world.checkpoint(["save", "-q", "-m", "2"]).success();
    world.file("README.md", "more\n");
    for line in [
        &["save", "-n"][..],
        &["save", "--amend", "-n", "-m", "x"],
        &["pause", "-n"],
        &["pause", "--clean", "-n"],
        &["finish", "-n"],
        &["start", "third", "-n"],
        &["rename", "third", "-n"],
        &["switch", "work", "-n"],
        &["delete", "work", "-n"],
        &["fork", "@", "-n"],
        &["merge", "work", "-n"],
        &["restore", "@", "-n", "--force"],
        &["purge", "work", "-n"],
        &["pin", "@", "-n"],
        &["clear", "--all", "-n"],
        &["export", "--format", "handoff", "-o", "../x.md", "-n"],
    ] {
        let out = world.checkpoint(line);
        let ends = out.stdout().matches("Dry run: nothing was changed.").count();
        assert_eq!(ends, 1, "{line:?}: {out}");
        assert!(
            out.stdout().ends_with("Dry run: nothing was changed.\n"),
            "{line:?}: {out}"
        );
        world
            .checkpoint(line.iter().chain(&["--json"]))
            .stdout_lacks("Dry run:");
        world.checkpoint(line.iter().chain(&["-q"])).stdout_lacks("Dry run:");
    }
}

#[test]
fn a_wrong_option_is_answered_with_what_was_meant() {
    let world = World::with_commit();
    world.checkpoint(["save", "-q", "-m", "1"]).success();
    for (line, usage, meant) in [
        (
            &["finish", "--failed"][..],
            "finish [OPTIONS]",
            Some("finish --status failed"),
        ),
        (&["list", "--paused"], "list [OPTIONS]", Some("list --status paused")),
        (&["finish", "--record", "x"], "finish [OPTIONS]", Some("save --record")),
        (&["step", "done", "1", "--summary", "x"], "step done [OPTIONS]", None),
        (&["show", "--amend"], "show [OPTIONS]", Some("save --amend")),
    ] {
        let out = world.checkpoint(line);
        out.code(129)
            .stderr_has(&format!("usage: git checkpoint {usage}"))
            .stderr_lacks("as a value");
        match meant {
            Some(meant) => out.stderr_has(&format!("did you mean: git checkpoint {meant}\n")),
            None => out.stderr_lacks("did you mean"),
        };
    }
    world
        .checkpoint(["todo", "add", "--fast-path"])
        .code(129)
        .stderr_has("as a value");
    world.checkpoint(["approval", "deploy?"]).success();
    world.checkpoint(["approval", "list"]).success().stdout_has("deploy?");
}

#[test]
fn the_same_record_twice_is_one_record() {
    let world = World::with_commit();
    let record = r#"{"tasks": ["lexer", {"title": "parser", "status": "blocked", "progress": 40}],
        "decisions": [{"text": "v1", "reason": "clients"}], "blockers": ["no access"], "next_steps": ["a", "b"],
        "checks": [{"name": "lint", "status": "pass"}], "delegations": [{"agent": "ana", "cost": 1.5}],
        "open_files": [{"path": "src/a.rs", "line": 3}], "memory_refs": ["m"], "accomplishments": ["done"]}"#;
    let save = || input(&world, &["save", "--json", "--record", "-"], record);
    assert_eq!(save().success().stdout_json()["outcome"], "saved");
    let shown = || world.checkpoint(["show", "--json"]).success().stdout_json()["document"]["record"].clone();
    let first = shown();
    assert_eq!(save().success().stdout_json()["outcome"], "unchanged");
    assert_eq!(shown(), first);
    let moved = record.replace("\"line\": 3", "\"line\": 30").replace("pass", "fail");
    input(&world, &["save", "-q", "--record", "-"], &moved).success();
    let now = shown();
    assert_eq!(now["open_files"].as_array().map(Vec::len), Some(1));
    assert_eq!(now["open_files"][0]["line"], 30);
    assert_eq!(now["checks"].as_array().map(Vec::len), Some(2), "another result");
    assert_eq!(now["tasks"], first["tasks"]);
}

#[test]
fn the_record_sets_what_the_session_is_about() {
    let world = World::with_commit();
    let record = r#"{"session": {"feature": "Login", "issues": ["PAY-7"], "task_id": "T-9", "metadata": {"k": 1}}}"#;
    input(&world, &["save", "-q", "-m", "x", "--record", "-"], record).success();
    for (option, value) in [("--feature", "Login"), ("--issue", "PAY-7"), ("--task", "T-9")] {
        world.checkpoint(["list", option, value]).success().stdout_has("main");
    }
    input(
        &world,
        &["save", "-q", "--record", "-"],
        r#"{"session": {"feature": null}}"#,
    )
    .success();
    world
        .checkpoint(["list", "--feature", "Login"])
        .success()
        .stdout_lacks("main");
    for (bad, why) in [
        (r#"{"session": {"name": "x"}}"#, "'session.name' cannot be set"),
        (r#"{"session": {"id": "x"}}"#, "'session.id' cannot be set"),
        (r#"{"session": ["x"]}"#, "'session' must be an object"),
        (r#"{"session": {"issues": "x"}}"#, "it must be a list"),
    ] {
        let out = input(&world, &["save", "--record", "-"], bad);
        assert!(!out.is_success() && out.stderr().contains(why), "{bad}: {out}");
    }
}

#[test]
fn a_wrong_member_is_named_in_terms_of_json() {
    let world = World::with_commit();
    for (bad, why) in [
        (
            r#"{"questions": [{"text": 5}]}"#,
            "'questions[0].text': it must be a text, not a number",
        ),
        (
            r#"{"fork_points": [{"title": "t", "options": [{"key": 1, "title": "x"}]}]}"#,
            "'fork_points[0].options[0].key': it must be a text, not a number",
        ),
        (
            r#"{"tasks": [{"title": "x", "depends_on": {"a": 1}}]}"#,
            "'tasks[0].depends_on': it must be a list",
        ),
        (r#"{"phase": {"n": "one"}}"#, "'phase"),
        (r#"{"error": 7}"#, "'error': it must be an object, not a number"),
    ] {
        let out = input(&world, &["save", "--record", "-"], bad);
        assert!(!out.is_success() && out.stderr().contains(why), "{bad}: {out}");
        for sign in ["struct", "u8", "u32", "u64", "sequence", "variant", "invalid type"] {
            assert!(!out.stderr().contains(sign), "{bad}: {out}");
        }
    }
}

#[test]
fn a_push_that_sends_nothing_and_a_clean_that_is_refused() {
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../origin.git"]).success();
    world.git(["remote", "add", "origin", "../origin.git"]).success();
    world.git(["push", "-q", "origin", "main"]).success();
    world.checkpoint(["save", "-q", "-m", "x"]).success();
    world
        .checkpoint(["push", "origin", "main"])
        .success()
        .stdout_has(" to origin");
    world
        .checkpoint(["push", "origin", "main"])
        .success()
        .stdout_has(" on origin");
    world.git(["switch", "-qc", "side"]).success();
    world.file("README.md", "side\n");
    world.git(["commit", "-qam", "side"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.file("README.md", "main\n");
    world.git(["commit", "-qam", "main"]).success();
    world.git(["merge", "-q", "side"]);
    let out = world.checkpoint(["pause", "--clean"]);
    out.code(4)
        .stderr_has("cannot clean the working tree: ")
        .stderr_has("git checkpoint pause");
}

#[test]
fn a_staged_path_is_shown_with_what_is_staged() {
    let world = World::with_commit();
    for name in ["kept", "gone", "old"] {
        world.file(format!("d/{name}"), format!("{name}\n").repeat(9));
    }
    world.git(["add", "."]).success();
    world.git(["commit", "-qm", "base"]).success();
    world.checkpoint(["save", "-q", "-m", "x"]).success();
    world.git(["rm", "-q", "d/gone"]).success();
    world.git(["mv", "d/old", "d/new"]).success();
    world.file("d/kept", "other\n");
    world.file("d/extra", "extra\n");
    world.git(["add", "d"]).success();
    let report = world.checkpoint(["resume"]);
    let lines: Vec<Vec<&str>> = report
        .success()
        .stdout()
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for wanted in [
        &["deleted", "d/gone", "staged"][..],
        &["renamed", "d/old", "->", "d/new", "staged"],
        &["modified", "d/kept", "staged"],
        &["added", "d/extra", "staged"],
    ] {
        assert!(lines.iter().any(|line| line == wanted), "{wanted:?}: {report}");
    }
    world.checkpoint(["save", "-q", "-m", "y"]).success();
    for format in ["handoff", "markdown"] {
        let note = world.checkpoint(["export", "--format", format]);
        for wanted in [
            "deleted (staged)",
            "renamed (staged)",
            "added (staged)",
            "modified (staged)",
        ] {
            assert!(note.success().stdout().contains(wanted), "{format}, {wanted}: {note}");
        }
    }
}

#[test]
fn a_claim_that_came_second_is_dropped_by_a_pull() {
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../origin.git"]).success();
    world.git(["remote", "add", "origin", "../origin.git"]).success();
    world.git(["push", "-q", "origin", "main"]).success();
    world.checkpoint(["save", "-q", "-m", "x"]).success();
    world.checkpoint(["push", "-q", "origin", "main"]).success();
    let mine = world.repo();
    world.git(["clone", "-q", "../origin.git", "../theirs"]).success();
    let theirs = mine.parent().expect("a directory").join("theirs");
    let sessions = || world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints/"]);
    for has_work in [false, true] {
        world.enter(&theirs);
        world.checkpoint(["pull", "-q", "origin", "main"]).success();
        world
            .checkpoint(["claim", "main", "-q", "--agent", "carl", "--force"])
            .success();
        if has_work {
            world
                .checkpoint(["todo", "add", "-q", "mine", "--session", "main"])
                .success();
            world
                .checkpoint(["save", "-q", "--session", "main", "-m", "work"])
                .success();
        }
        world.enter(&mine);
        world
            .checkpoint(["claim", "main", "-q", "--agent", "nora", "--force"])
            .success();
        world.checkpoint(["push", "-q", "origin", "main"]).success();
        world.enter(&theirs);
        assert!(!world.checkpoint(["push", "origin", "main"]).is_success());
        let pulled = world.checkpoint(["pull", "origin", "main"]);
        pulled.success();
        if has_work {
            assert_eq!(sessions().lines().count(), 2, "work is never dropped");
        } else {
            pulled.stderr_has("claimed by nora until ");
            assert_eq!(sessions(), "main");
        }
    }
}

/// A repository with work that was saved on `f` and an untracked `n`.
fn with_work() -> World {
    let world = World::with_commit();
    world.file("README.md", "work\n");
    world.file("n", "new\n");
    world.checkpoint(["save", "-q", "-m", "work"]).success();
    world
}

#[test]
fn a_pulled_checkpoint_that_only_lacks_the_work_is_no_pulled_change() {
    let world = with_work();
    world.git(["init", "-q", "--bare", "-b", "main", "../hub"]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.git(["push", "-q", "origin", "HEAD"]).success();
    world.checkpoint(["push", "-q", "origin", "main"]).success();
    let other = world.root().join("other");
    let other_path = other.to_str().expect("utf-8");
    world.git(["clone", "-q", "../hub", other_path]).success();
    let there = |args: &[&str]| {
        world.command(PROGRAM, args).within(&other).run().success();
    };
    there(&["fetch", "-q"]);
    there(&["resume", "main", "-q"]);
    there(&["save", "-q", "-m", "looked at it", "-d", "fine"]);
    there(&["push", "-q"]);
    world.checkpoint(["pull"]).success();
    world
        .checkpoint(["save", "-m", "more"])
        .success()
        .stderr_lacks("git checkpoint restore");
    assert_eq!(world.read("n"), b"new\n");
}

#[test]
fn a_branch_whose_session_was_left_keeps_no_other_one() {
    let world = World::with_commit();
    world.git(["switch", "-qc", "b"]).success();
    world.file("fb", "b\n");
    world.checkpoint(["pause", "--clean", "-q", "-m", "of b"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.file("x", "x\n");
    world.checkpoint(["save", "-q", "-m", "on main"]).success();
    world.git(["switch", "-q", "b"]).success();
    world.checkpoint(["status"]).success().stdout_lacks("session    main");
    world
        .checkpoint(["save", "-m", "again"])
        .success()
        .stdout_has("  b, resumed (it was paused here); b @ ");
    world.git(["switch", "-q", "main"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("session    main, active");
    world.file("x", "more\n");
    world.checkpoint(["save", "-q", "-m", "more"]).success();
    // A branch that never had one keeps the session.
    world.git(["switch", "-qc", "new"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("session    main, active");
}

#[test]
fn a_pending_merge_is_named_where_the_session_ends() {
    let world = World::with_commit();
    world
        .checkpoint(["save", "-q", "--allow-empty", "-m", "base"])
        .success();
    world
        .checkpoint(["fork", "@", "-q", "--name", "try", "--worktree", "../try"])
        .success();
    std::fs::write(world.root().join("try/README.md"), "theirs\n").expect("it is there");
    let there = world.root().join("try");
    world
        .command(PROGRAM, ["save", "-q", "-m", "theirs"])
        .within(&there)
        .run()
        .success();
    world.file("README.md", "mine\n");
    world.checkpoint(["save", "-q", "-m", "mine"]).success();
    world.checkpoint(["merge", "try"]).code(1);
    world
        .checkpoint(["finish", "try"])
        .code(129)
        .stderr_has("hint: the merge of 'try' is pending: git checkpoint merge --continue, or --abort\n");
    world
        .checkpoint(["pause"])
        .success()
        .stderr_has("warning: the merge of 'try' is pending: 1 unmerged path, with conflict markers in the files\n");
    world
        .checkpoint(["merge", "try"])
        .code(3)
        .stderr_has("hint: the merge of 'try' is pending: git checkpoint merge --continue, or --abort\n");
    world.file("README.md", "both\n");
    world.git(["add", "README.md"]).success();
    world
        .checkpoint(["finish"])
        .success()
        .stderr_has("the merge of 'try' is concluded: the checkpoint has its resolution\n");
    world.checkpoint(["status"]).success().stdout_lacks("pending");
}

#[test]
fn a_clean_pause_keeps_the_directory_one_is_in() {
    let world = World::with_commit();
    world.file("a/b/new", "1\n");
    world.file("other/new", "1\n");
    let inside = world.path("a/b");
    let run = |args: &[&str]| {
        world.command(PROGRAM, args).within(&inside).run().success();
    };
    run(&["pause", "--clean", "-q", "-m", "aside"]);
    assert!(inside.is_dir() && !world.path("a/b/new").exists() && !world.path("other").exists());
    run(&["status"]);
    run(&["resume", "--apply", "-q"]);
    assert_eq!(world.read("a/b/new"), b"1\n");
}

#[test]
fn a_fork_in_another_directory_is_no_later_work_here() {
    let world = World::with_commit();
    for text in ["two", "three"] {
        world.file("README.md", text);
        world.checkpoint(["save", "-q", "-m", text]).success();
    }
    world
        .checkpoint(["fork", "@", "-q", "--name", "wt", "--worktree", "../wt"])
        .success();
    world
        .checkpoint(["restore", "@~1", "--dry-run"])
        .success()
        .stdout_has("1 file written");
    let there = world.root().join("wt");
    std::fs::write(there.join("README.md"), "over there").expect("it is there");
    world
        .command(PROGRAM, ["save", "-q", "-m", "there"])
        .within(&there)
        .run()
        .success();
    world
        .checkpoint(["restore", "@~1", "--dry-run"])
        .success()
        .stdout_has("1 file written");
}

#[test]
fn what_a_submodule_has_is_not_said_to_be_saved() {
    let world = World::with_commit();
    world.git(["init", "-q", "../lib"]).success();
    world
        .git(["-C", "../lib", "commit", "-q", "--allow-empty", "-m", "lib"])
        .success();
    std::fs::write(world.root().join("lib/l"), "1\n").expect("it is there");
    world.git(["-C", "../lib", "add", "l"]).success();
    world.git(["-C", "../lib", "commit", "-q", "-m", "l"]).success();
    world
        .git([
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "-q",
            "add",
            "../lib",
            "lib",
        ])
        .success();
    world.git(["commit", "-qm", "lib"]).success();
    world
        .checkpoint(["save", "-q", "--allow-empty", "-m", "whole"])
        .success();
    world
        .checkpoint(["status", "--exit-code"])
        .success()
        .stdout_has("everything is saved");
    world.file("lib/l", "dirty\n");
    world
        .checkpoint(["save", "-q", "-m", "dirty", "--allow-empty"])
        .success();
    world
        .checkpoint(["status", "--exit-code"])
        .code(1)
        .stdout_has("everything else is saved; left out: submodule 'lib'");
}

#[test]
fn every_match_of_a_prefix_is_counted() {
    let world = World::with_commit();
    for n in 1..=12 {
        world.checkpoint(["start", "-q", &format!("many-{n}")]).success();
    }
    world
        .checkpoint(["show", "many"])
        .code(3)
        .stderr_has("error: 'many' matches 12 sessions, the first 10:\n");
}

#[test]
fn what_may_be_on_a_remote_is_asked_of_it() {
    let world = World::with_commit();
    let line = "error: no session or checkpoint 'auth'\nhint: ";
    for command in ["show", "apply", "restore", "switch", "resume"] {
        world
            .checkpoint([command, "auth"])
            .code(3)
            .stderr_has(&format!("{line}list sessions"));
    }
    world.git(["init", "-q", "--bare", "../hub"]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    for command in ["show", "apply", "restore", "switch", "resume"] {
        world
            .checkpoint([command, "auth"])
            .code(3)
            .stderr_has(&format!("{line}if it is on a remote: git checkpoint fetch origin\n"));
    }
}

/// Each mistake is answered with the line that was meant, which works.
#[test]
fn what_was_meant_is_the_line_to_type() {
    let world = World::with_commit();
    world.checkpoint(["save", "-q", "-m", "base"]).success();
    world.file("f", "f\n");
    world.checkpoint(["save", "-q", "-m", "second"]).success();
    world.checkpoint(["bundle", "../x.bundle"]).success();
    world.checkpoint(["approval", "ask", "deploy?"]).success();
    let cases: &[(&[&str], &str)] = &[
        (&["diff", "README.md"], "git checkpoint diff -- README.md"),
        (&["log", "f"], "git checkpoint log -- f"),
        (&["show", "@", "--", "f"], "git checkpoint show @:f"),
        (&["save", "-m", "a", "b"], "git checkpoint save -m 'a b'"),
        (
            &["approval", "approve", "1"],
            "git checkpoint approval answer 1 approve",
        ),
        (&["log", "--files"], "git checkpoint log --stat"),
        (&["import", "../x.bundle"], "git checkpoint unbundle ../x.bundle"),
        (&["export", "--format", "md"], "git checkpoint export --format markdown"),
        (&["export", "--format=md"], "git checkpoint export --format=markdown"),
        (&["enable", "claude", "-n"], "git checkpoint enable claude-code -n"),
        (&["rename", "main", "x y"], "git checkpoint rename main x-y"),
        (&["rename", "x y"], "git checkpoint rename x-y"),
    ];
    for (given, meant) in cases {
        let refused = world.checkpoint(*given);
        assert!(!refused.is_success(), "{given:?}: {refused}");
        let hint = refused.stderr().lines().find(|line| line.contains(meant));
        assert!(hint.is_some_and(|line| line.ends_with(meant)), "{given:?}: {refused}");
        let line = world
            .command("sh", ["-c", &meant.replace("git checkpoint", "git-checkpoint")])
            .run();
        assert_ne!(line.status().code(), Some(129), "{meant}: {line}");
    }
    world
        .checkpoint(["diff", "@", "--", "f", "--stat"])
        .code(3)
        .stderr_has("options come before '--'");
    // What is short for several is no hint.
    world
        .checkpoint(["export", "--format", "claude"])
        .code(129)
        .stderr_lacks("did you mean");
}

/// A search says when it finds nothing, and ids and digests of records are no text.
#[test]
fn a_search_finds_texts_and_says_when_there_are_none() {
    let world = World::with_commit();
    world.checkpoint(["save", "-q", "-m", "base"]).success();
    world.file("f", "f\n");
    world.checkpoint(["save", "-q", "-m", "second"]).success();
    world.checkpoint(["restore", "@~1", "--files-only"]).success();
    world.checkpoint(["save", "-q", "-m", "third"]).success();
    for pattern in ["zzz", "sha256", "checkpoint-world"] {
        world
            .checkpoint(["search", pattern])
            .code(1)
            .no_stdout()
            .stderr_has(&format!("Nothing found for '{pattern}'"));
    }
    world.checkpoint(["search", "zzz", "--json"]).code(1).no_stderr();
    world
        .checkpoint(["search", "--all", "sha256"])
        .success()
        .stdout_has("restored_from");
    world.checkpoint(["search", "second"]).success().stdout_has("second");
}

/// A pipe gets texts whole; a terminal has lines of its width.
#[test]
fn a_pipe_gets_texts_whole() {
    let world = World::with_commit();
    let long = "word ".repeat(40) + "end";
    world
        .checkpoint(["save", "-m", &long])
        .success()
        .stdout_has(&format!("  {long}\n"));
    world
        .checkpoint(["status"])
        .success()
        .stdout_has(&format!("  {long}\n"));
    let screen = Terminal::new(100, "dumb").run(&world, PROGRAM, ["status"]);
    assert!(!screen.text().contains("word end"), "{screen:?}");
}

/// What is not saved yet is no part of a checkpoint, and is named where a record is as it was.
#[test]
fn the_draft_is_no_part_of_a_checkpoint() {
    let world = World::with_commit();
    world.checkpoint(["save", "-q", "-m", "base"]).success();
    world.checkpoint(["note", "of the draft"]).success();
    world
        .checkpoint(["show"])
        .success()
        .stdout_lacks("of the draft")
        .stdout_has("1 change not saved yet");
    world
        .checkpoint(["restore", "@", "--record-only"])
        .success()
        .stdout_has("Already up to date")
        .stderr_has("1 change not saved yet stays: git checkpoint status");
    world.checkpoint(["save", "-q", "-m", "with it"]).success();
    world.checkpoint(["show"]).success().stdout_has("of the draft");
}

/// The ending of the file to write gives the format of an export.
#[test]
fn the_ending_of_a_file_gives_the_format() {
    let world = World::with_commit();
    world.checkpoint(["save", "-q", "-m", "base"]).success();
    for (path, format) in [("x.md", "markdown"), ("x.json", "json"), ("x.HTML", "html")] {
        world.checkpoint(["export", "-o", path]).success();
        let written = world.read(path);
        std::fs::remove_file(world.path(path)).unwrap();
        world.checkpoint(["export", "--format", format, "-o", path]).success();
        assert_eq!(written, world.read(path), "{path}");
        std::fs::remove_file(world.path(path)).unwrap();
    }
    world
        .checkpoint(["export", "-o", "x.txt"])
        .code(129)
        .stderr_has("git checkpoint export --format <format> -o x.txt");
    world.checkpoint(["export"]).code(129).stderr_has("--format");
}

/// What a remote lacks is the only thing that a fetch of it says.
#[test]
fn a_fetch_of_what_the_remote_lacks_says_only_that() {
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../remote"]).success();
    world.git(["remote", "add", "origin", "../remote"]).success();
    world.checkpoint(["save", "-q", "-m", "base"]).success();
    world.checkpoint(["push"]).success();
    world
        .checkpoint(["fetch", "origin", "nosuch"])
        .code(3)
        .no_stdout()
        .stderr_has("remote 'origin' has no session 'nosuch'");
    world
        .checkpoint(["fetch", "origin", "nosuch", "main"])
        .code(3)
        .stdout_has("Nothing new on origin");
}

/// A deleted session says what brings it back, also without a terminal.
#[test]
fn a_deletion_says_what_brings_it_back() {
    let world = World::with_commit();
    world.checkpoint(["save", "-q", "-m", "base"]).success();
    let tip = world.git_line(["rev-parse", "checkpoints/main"]);
    world
        .checkpoint(["delete", "main"])
        .success()
        .stdout_has("  To bring it back: git checkpoint undelete main\n");
    world.checkpoint(["undelete", "main"]).success();
    assert_eq!(world.git_line(["rev-parse", "checkpoints/main"]), tip);
}
