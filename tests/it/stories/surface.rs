//! Everyday texts: what was meant by a slip, what a plan ends with, and what is said once.

use crate::support::{PROGRAM, World};

fn input(world: &World, args: &[&str], text: &str) -> crate::support::Output {
    world.command(PROGRAM, args).input(text).run()
}

#[test]
fn a_change_of_the_branch_is_reported_once() {
    let world = World::with_commit();
    world.git(["switch", "-qc", "a"]).success();
    world.checkpoint(["save", "-q", "-m", "1"]).success();
    world.git(["switch", "-qc", "b"]).success();
    let save = || world.checkpoint(["save", "--allow-empty", "-m", "again"]);
    save().success().stdout_has("branch changed from a to b");
    for branch in ["a", "b", "a", "b"] {
        world.git(["switch", "-q", branch]).success();
        save().success().stdout_lacks("branch changed");
    }
    world.git(["switch", "-qc", "c"]).success();
    save().success().stdout_has("to c");
    save().success().stdout_lacks("branch changed");
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
