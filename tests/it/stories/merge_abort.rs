//! The ways out of a merge with conflicts: `--abort` whatever was saved since, `--continue` of what was really resolved, and what
//! goes with it: files outside of a sparse checkout, resolutions of the record, `rerere`.

use crate::support::World;

fn lines(line: usize, to: &str) -> String {
    let text = |n: usize| if n == line { to.to_owned() } else { n.to_string() };
    (1..=9).map(|n| text(n) + "\n").collect()
}

fn text(world: &World, path: &str) -> String {
    String::from_utf8(world.read(path)).unwrap()
}

fn tip(world: &World) -> String {
    world.git_line(["rev-parse", "checkpoints/s"])
}

/// Session `s` and its fork `t`, which has changed all of `paths`; here only the first is changed, in the same line.
fn in_conflict(paths: &[&str]) -> World {
    let world = World::with_commit();
    for path in paths {
        world.file(path, lines(0, ""));
    }
    world.commit_and_fork();
    world.enter("t");
    for path in paths {
        world.file(path, lines(3, "theirs"));
    }
    world.checkpoint(["save", "-m", "theirs"]).success();
    world.enter("repo");
    world.file(paths[0], lines(3, "ours"));
    world
}

#[test]
fn abort_goes_back_whatever_was_saved_since() {
    let world = in_conflict(&["f", "g"]);
    world.checkpoint(["save", "-m", "ours"]).success();
    let before = tip(&world);
    world.checkpoint(["merge", "t"]).code(1);
    world.checkpoint(["task", "add", "noted meanwhile"]).success();
    world.checkpoint(["save", "-m", "between"]).success();
    world.file("h", "of another agent\n");
    world
        .checkpoint(["save", "--trigger", "agent", "-m", "a turn"])
        .success();
    let saved = tip(&world);
    // A fork is in the way of nothing.
    world
        .checkpoint(["fork", "s", "--name", "u", "--worktree", "../u"])
        .success();
    world.checkpoint(["merge", "--abort", "--dry-run"]).success();
    assert_eq!(tip(&world), saved);
    let aborted = world.checkpoint(["merge", "--abort"]);
    aborted.success().stderr_has("2 checkpoints").stderr_has(&saved[..8]);
    assert_eq!(tip(&world), before);
    assert_eq!((text(&world, "f"), text(&world, "g")), (lines(3, "ours"), lines(0, "")));
    assert_eq!(
        text(&world, "h"),
        "of another agent\n",
        "what the merge did not change stays"
    );
    assert_eq!(world.git_line(["ls-files", "-u"]), "");
    world.checkpoint(["show", &saved[..8]]).success().stdout_has("a turn");
    world.checkpoint(["redo"]).success();
    assert_eq!(tip(&world), saved);
    assert!(text(&world, "f").contains("<<<<<<<"));
    world.checkpoint(["merge", "--abort"]).success();
    // It can be merged anew.
    world.checkpoint(["merge", "t"]).code(1);
    let before = world.git_line(["rev-parse", "checkpoints/s^"]);
    // An operation on the same files has to be undone first.
    world.checkpoint(["restore", "t", "--force", "--files-only"]).success();
    world
        .checkpoint(["merge", "--abort"])
        .code(4)
        .stderr_has("came after it")
        .stderr_has("git checkpoint undo");
    world.checkpoint(["undo"]).success();
    world.checkpoint(["merge", "--abort"]).success();
    assert_eq!((tip(&world), text(&world, "f")), (before, lines(3, "ours")));
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn what_sparse_checkout_left_out_is_left_out_again() {
    let ways: [&[&str]; 3] = [&["merge", "--abort"], &["undo"], &["undo", "--force"]];
    for (case, way) in ways.into_iter().enumerate() {
        let world = World::with_commit();
        let paths = ["in/a", "out/b", "out/d", "out/deep/e"];
        for path in paths {
            world.file(path, lines(0, ""));
        }
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "files"]).success();
        world.git(["sparse-checkout", "set", "in"]).success();
        world.checkpoint(["save", "--session", "s", "-m", "one"]).success();
        world
            .checkpoint(["fork", "s", "--name", "t", "--worktree", "../t"])
            .success();
        world.enter("t");
        world.git(["sparse-checkout", "disable"]).success();
        for path in &paths[1..] {
            world.file(path, lines(3, "theirs"));
        }
        world.file("out/new", "theirs\n");
        world.checkpoint(["save", "-m", "theirs"]).success();
        world.enter("repo");
        world.file("elsewhere", lines(3, "ours"));
        let blob = world.git_line(["hash-object", "-w", "elsewhere"]);
        std::fs::remove_file(world.path("elsewhere")).unwrap();
        for path in &paths[2..] {
            world
                .git(["update-index", "--cacheinfo", &format!("100644,{blob},{path}")])
                .success();
            world.git(["update-index", "--skip-worktree", path]).success();
        }
        let state = |world: &World| {
            let entries = world.git_line(["ls-files", "-s", "-t"]);
            let status = world.git(["status", "--porcelain"]).success().stdout().to_owned();
            (
                entries,
                status,
                world.path("out").exists(),
                world.read(".git/info/sparse-checkout"),
            )
        };
        let before = state(&world);
        world.checkpoint(["merge", "t"]).code(1);
        assert!(world.path("out/deep/e").exists());
        if case == 0 {
            // Staged again, the entries have no flags.
            world.git(["checkout", "--ours", "--", "out/d", "out/deep/e"]).success();
            world.git(["add", "--sparse", "out/d", "out/deep/e"]).success();
        }
        world.checkpoint(way).success();
        assert_eq!(state(&world), before, "{way:?}");
        if case == 1 {
            world.checkpoint(["redo"]).success();
            assert!(text(&world, "out/d").contains("<<<<<<<"));
            world.checkpoint(["undo"]).success();
            assert_eq!(state(&world), before, "after a redo");
        }
    }
}

#[test]
fn a_merge_that_was_thrown_away_is_not_concluded() {
    let world = in_conflict(&["f", "g"]);
    let nothing = |world: &World, command: &str| {
        world
            .checkpoint([command, "--continue"])
            .code(1)
            .stderr_has("nothing of ")
            .stderr_has(&format!("git checkpoint {command} --abort"))
            .stderr_has(&format!("git checkpoint {command} --continue --force"));
    };
    for command in ["merge", "apply"] {
        world.checkpoint([command, "t"]).code(1);
        world.git(["reset", "-q"]).success();
        world
            .checkpoint([command, "--continue"])
            .code(1)
            .stderr_has("not every conflict is resolved")
            .stderr_has("  f\n")
            .stderr_has("no longer unmerged");
        world.git(["checkout", "-q", "HEAD", "--", "."]).success();
        nothing(&world, command);
        if command == "merge" {
            let status = world.checkpoint(["status"]);
            status.success().stdout_has("nothing of it is in the files any more");
        }
        world.checkpoint([command, "--abort"]).success();
        assert_eq!(text(&world, "f"), lines(3, "ours"));
        world.checkpoint([command, "t"]).code(1);
        world.git(["reset", "-q", "--hard"]).success();
        nothing(&world, command);
        world.checkpoint([command, "--abort"]).success();
        assert_eq!((text(&world, "f"), text(&world, "g")), (lines(3, "ours"), lines(0, "")));
    }
    // The own side everywhere is a resolution once it is staged; an edit is one in any case.
    world.checkpoint(["merge", "t"]).code(1);
    world.git(["checkout", "--ours", "f"]).success();
    world.git(["add", "f"]).success();
    world.checkpoint(["merge", "--continue"]).success();
    assert_eq!(
        (text(&world, "f"), text(&world, "g")),
        (lines(3, "ours"), lines(3, "theirs"))
    );
    world.checkpoint(["undo"]).success();
    world.checkpoint(["merge", "t"]).code(1);
    world.git(["reset", "-q"]).success();
    world.file("f", lines(3, "both"));
    world.checkpoint(["merge", "--continue"]).success();
    world.checkpoint(["undo"]).success();
    // Where the own side is committed, nothing shows that it was chosen: that has to be said.
    world.git(["commit", "-qm", "ours", "f"]).success();
    world.checkpoint(["merge", "t"]).code(1);
    for path in ["f", "g"] {
        world.git(["checkout", "-q", "HEAD", "--", path]).success();
    }
    nothing(&world, "merge");
    world.checkpoint(["merge", "--continue", "--force"]).success();
    world.checkpoint(["merge", "t"]).success().stdout_has("Up to date");
}

#[test]
fn rerere_learns_from_a_conclusion_and_not_from_an_abort() {
    let world = in_conflict(&["f"]);
    world.git(["config", "rerere.enabled", "true"]).success();
    for command in ["merge", "apply"] {
        world.checkpoint([command, "t"]).code(1);
        assert_eq!(world.git_line(["rerere", "status"]), "f", "{command}");
        world.checkpoint([command, "--abort"]).success();
        assert_eq!(world.git_line(["rerere", "status"]), "", "{command}");
    }
    world.checkpoint(["merge", "t"]).code(1);
    assert!(text(&world, "f").contains("<<<<<<<"), "an abort is no resolution");
    world.file("f", lines(3, "both"));
    world.git(["add", "f"]).success();
    world.checkpoint(["merge", "--continue"]).success();
    world.checkpoint(["undo"]).success();
    assert_eq!(text(&world, "f"), lines(3, "ours"));
    for command in ["apply", "merge"] {
        world.checkpoint([command, "t"]).code(1);
        assert_eq!(text(&world, "f"), lines(3, "both"), "{command}");
        world.checkpoint(["undo"]).success();
        assert_eq!(text(&world, "f"), lines(3, "ours"), "{command}");
    }
}

/// A contradiction in the record, and with `path` one in that file.
fn contradiction(path: Option<&str>) -> World {
    let world = World::with_commit();
    world.file("f", lines(0, ""));
    let set = |text: &str| {
        world.checkpoint(["state", "patch", text]).success();
    };
    world.checkpoint(["start", "s"]).success();
    set(r#"{"a":1,"b":1}"#);
    world.checkpoint(["save", "-m", "one"]).success();
    world
        .checkpoint(["fork", "s", "--name", "t", "--worktree", "../t"])
        .success();
    world.enter("t");
    set(r#"{"a":5,"b":5}"#);
    if let Some(path) = path {
        world.file(path, lines(3, "theirs"));
    }
    world.checkpoint(["save", "-m", "theirs"]).success();
    world.enter("repo");
    set(r#"{"a":6,"b":6}"#);
    if let Some(path) = path {
        world.file(path, lines(3, "ours"));
    }
    world.checkpoint(["merge", "t"]).code(1);
    world
}

#[test]
fn undo_of_a_merge_takes_back_the_resolutions_of_its_conflicts() {
    let state = |world: &World| world.checkpoint(["state", "get"]).success().stdout_json();
    let world = contradiction(None);
    world.checkpoint(["conflict", "resolve", "1", "--theirs"]).success();
    world.checkpoint(["todo", "add", "noted meanwhile"]).success();
    world.checkpoint(["conflict", "resolve", "1", "--value", "7"]).success();
    assert_eq!(state(&world), serde_json::json!({"a": 5, "b": 7}));
    world.checkpoint(["undo"]).code(4).stderr_has("'todo' (");
    for _ in 0..2 {
        world.checkpoint(["undo", "--older"]).success();
        assert_eq!(state(&world), serde_json::json!({"a": 6, "b": 6}));
        world.checkpoint(["todo"]).success().stdout_has("noted meanwhile");
        world.checkpoint(["redo"]).success();
        assert_eq!(state(&world), serde_json::json!({"a": 5, "b": 7}));
    }
    world.checkpoint(["save", "-m", "resolved"]).success();
    world.checkpoint(["conflict"]).success().stdout_lacks("state/");
    // After another command it is in the way, as any other one is.
    let world = contradiction(None);
    world.checkpoint(["rename", "s", "u"]).success();
    world.checkpoint(["conflict", "resolve", "1", "--theirs"]).success();
    world.checkpoint(["undo"]).code(4).stderr_has("'conflict' (");
    world
        .checkpoint(["undo", "--older"])
        .success()
        .stdout_has("Undid 'renamed ");
    assert_eq!(state(&world), serde_json::json!({"a": 5, "b": 6}));
    // With a conclusion it is one step.
    let world = contradiction(Some("f"));
    let merged = tip(&world);
    world.checkpoint(["conflict", "resolve", "--all", "--theirs"]).success();
    world.file("f", lines(3, "both"));
    world.git(["add", "f"]).success();
    world.checkpoint(["merge", "--continue"]).success();
    world.checkpoint(["undo"]).success();
    assert_eq!(state(&world), serde_json::json!({"a": 6, "b": 6}));
    assert_eq!(text(&world, "f"), lines(3, "ours"));
    world.checkpoint(["redo"]).success();
    assert_eq!(state(&world), serde_json::json!({"a": 5, "b": 5}));
    assert_eq!(world.git_line(["rev-parse", "checkpoints/s^"]), merged);
}

/// As after a kill between the checkpoint with the resolution and the end of `--continue`.
#[test]
fn a_conclusion_that_was_killed_is_completed() {
    let world = in_conflict(&["f"]);
    let notes = [".git/checkpoint/merge.json", ".git/checkpoint/undo.jsonl"];
    world.checkpoint(["merge", "t"]).code(1);
    let merged = tip(&world);
    world.file("f", lines(3, "both"));
    world.git(["add", "f"]).success();
    let before = notes.map(|path| world.read(path));
    world.checkpoint(["merge", "--continue"]).success();
    let resolved = tip(&world);
    for (path, bytes) in notes.into_iter().zip(before) {
        std::fs::write(world.path(path), bytes).unwrap();
    }
    world.checkpoint(["status"]).success().stdout_has("merge --continue");
    world.checkpoint(["merge", "--continue"]).success();
    assert_eq!(tip(&world), resolved, "it is not saved twice");
    assert!(!world.path(".git/checkpoint/merge.json").exists());
    world.checkpoint(["undo"]).success();
    assert_eq!(text(&world, "f"), lines(3, "ours"));
    world.checkpoint(["redo"]).success();
    assert_eq!((tip(&world), text(&world, "f")), (resolved, lines(3, "both")));
    assert_eq!(world.git_line(["rev-parse", "checkpoints/s^"]), merged);
}

#[test]
fn a_merge_that_runs_is_no_interrupted_one_and_none_begins_beside_it() {
    let world = in_conflict(&["f"]);
    world.checkpoint(["save", "-m", "ours"]).success();
    let refs = world.git_line(["for-each-ref"]);
    let lock = std::fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(world.path(".git/checkpoint/operation.lock"))
        .unwrap();
    lock.lock().unwrap();
    world.file("f", lines(3, "ours, edited"));
    for command in ["merge", "apply"] {
        world
            .checkpoint([command, "t"])
            .code(5)
            .stderr_has("is running in this working tree");
    }
    assert_eq!(world.git_line(["for-each-ref"]), refs, "nothing is recorded");
    world
        .checkpoint(["save", "-m", "saved beside it"])
        .success()
        .stderr_lacks("interrupted");
    drop(lock);
    world.checkpoint(["merge", "t"]).code(1);
}

#[test]
fn nested_repositories_are_no_part_of_a_merge() {
    let world = in_conflict(&["f"]);
    let commit = |world: &World| {
        let args = ["commit", "-q", "--allow-empty", "-m", "inside"];
        world.command("git", args).within(world.path("nested")).run().success();
    };
    world.git(["init", "-q", "nested"]).success();
    commit(&world);
    world.checkpoint(["save", "-m", "with a repository below"]).success();
    let forked = world.checkpoint(["fork", "s", "--name", "u", "--worktree", "../u"]);
    forked.success().stderr_lacks("submodule");
    commit(&world);
    world.enter("u");
    world.file("g", "theirs\n");
    world.checkpoint(["save", "-m", "theirs"]).success();
    world.enter("repo");
    world.checkpoint(["apply", "u"]).success();
    world.checkpoint(["undo"]).success();
    world.checkpoint(["merge", "u"]).success().stdout_lacks("nested");
    assert!(world.path("nested/.git").exists() && world.path("g").exists());
}
