//! The end of a merge: flags of the index stay, `--continue` saves the resolution, and a session that is saved from elsewhere
//! keeps its own files.

use crate::support::World;

pub(super) fn lines(line: usize, to: &str) -> String {
    let text = |n: usize| if n == line { to.to_owned() } else { n.to_string() };
    (1..=20).map(|n| text(n) + "\n").collect()
}

pub(super) fn text(world: &World, path: &str) -> String {
    String::from_utf8(world.read(path)).unwrap()
}

/// Session `s` and its fork `t` in a working tree of its own, with these files.
pub(super) fn forked(paths: &[&str]) -> World {
    let world = World::with_commit();
    for path in paths {
        world.file(path, lines(0, ""));
    }
    world.commit_and_fork();
    world
}

fn in_fork<T>(world: &World, run: impl FnOnce() -> T) -> T {
    world.enter("t");
    let out = run();
    world.enter("repo");
    out
}

/// Both sides change the same line of the files.
pub(super) fn in_conflict(world: &World, paths: &[&str]) {
    in_fork(world, || {
        for path in paths {
            world.file(path, lines(3, "theirs"));
        }
        world.checkpoint(["save", "-m", "theirs"]).success();
    });
    for path in paths {
        world.file(path, lines(3, "ours"));
    }
}

fn flags(world: &World) -> String {
    world.git_line(["ls-files", "-v"])
}

#[test]
fn flags_of_the_index_survive_a_conflict_and_the_way_back() {
    let paths = ["skip", "assume", "both", "d/skip", "plain"];
    let ways: [&[&[&str]]; 6] = [
        &[&["merge", "t"], &["merge", "--abort"]],
        &[&["merge", "t"], &["undo", "--force"]],
        &[&["apply", "t"], &["apply", "--abort"]],
        &[&["apply", "t"], &["undo"]],
        &[&["merge", "t"], &["undo"], &["redo"], &["undo"]],
        &[&["restore", "t", "--force", "--index"], &["undo"]],
    ];
    for way in ways {
        let world = forked(&paths);
        world
            .git(["update-index", "--skip-worktree", "skip", "both", "d/skip"])
            .success();
        world
            .git(["update-index", "--assume-unchanged", "assume", "both"])
            .success();
        let before = flags(&world);
        in_conflict(&world, &paths);
        for step in way {
            let out = world.checkpoint(step.iter().copied());
            assert!(matches!(out.status().code(), Some(0 | 1)), "{way:?}: {out}");
        }
        assert_eq!(flags(&world), before, "{way:?}");
        for path in paths {
            assert_eq!(text(&world, path), lines(3, "ours"), "{way:?} {path}");
        }
    }
}

#[test]
fn flags_are_set_again_once_a_conflict_is_resolved() {
    let paths = ["skip", "assume", "plain"];
    for command in ["merge", "apply"] {
        let world = forked(&paths);
        world.git(["update-index", "--skip-worktree", "skip"]).success();
        world.git(["update-index", "--assume-unchanged", "assume"]).success();
        let before = flags(&world);
        in_conflict(&world, &paths);
        world.checkpoint([command, "t"]).code(1);
        for path in paths {
            world.file(path, lines(3, "both"));
            world.git(["add", path]).success();
        }
        world.checkpoint([command, "--continue"]).success();
        assert_eq!(flags(&world), before, "{command}");
        assert_eq!(world.git_line(["show", ":skip"]), lines(3, "both").trim_end());
    }
}

/// A checkpoint with flags brings them along with its index, into a fork as well.
#[test]
fn flags_come_with_the_index_of_a_checkpoint() {
    let world = World::with_commit();
    for path in ["skip", "assume"] {
        world.file(path, "1\n");
    }
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "files"]).success();
    world.git(["update-index", "--skip-worktree", "skip"]).success();
    world.git(["update-index", "--assume-unchanged", "assume"]).success();
    let before = flags(&world);
    world.file("skip", "local\n");
    world.checkpoint(["save", "--session", "s", "-m", "one"]).success();
    world.git(["update-index", "--no-skip-worktree", "skip"]).success();
    world.git(["update-index", "--no-assume-unchanged", "assume"]).success();
    world.checkpoint(["restore", "s"]).success();
    assert_ne!(flags(&world), before, "the index stays without --index");
    world.checkpoint(["restore", "s", "--index"]).success();
    assert_eq!(flags(&world), before);
    world
        .checkpoint(["fork", "s", "--name", "t", "--worktree", "../t"])
        .success();
    world.enter("t");
    assert_eq!((flags(&world), text(&world, "skip")), (before, "local\n".to_owned()));
}

/// The index with the conflicts of an apply is the tree of no commit where other files are edited, staged or new.
#[test]
fn an_apply_among_other_changes_is_concluded() {
    let world = forked(&["f", "g"]);
    in_conflict(&world, &["f"]);
    world.file("untracked", "new\n");
    world.file("staged", "staged\n");
    world.git(["add", "staged"]).success();
    world.file("staged", "staged and edited\n");
    let before = (text(&world, "f"), world.git_line(["ls-files", "--stage"]));
    world.checkpoint(["apply", "t"]).code(1);
    world.file("f", lines(3, "resolved"));
    world.git(["add", "f"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("every conflict is resolved");
    world.checkpoint(["apply", "--continue"]).success();
    world.checkpoint(["undo"]).success();
    assert_eq!((text(&world, "f"), world.git_line(["ls-files", "--stage"])), before);
    // Thrown away by hand it is not resolved.
    world.checkpoint(["apply", "t"]).code(1);
    world.git(["checkout", "-q", "HEAD", "--", "f"]).success();
    world
        .checkpoint(["apply", "--continue"])
        .code(1)
        .stderr_has("nothing of checkpoint");
    world.checkpoint(["apply", "--abort"]).success();
    assert_eq!((text(&world, "f"), world.git_line(["ls-files", "--stage"])), before);
}

#[test]
fn a_merge_with_conflicts_is_concluded_by_a_checkpoint_with_the_resolution() {
    let world = forked(&["f", "g"]);
    let origin = world.root().join("o.git");
    world.git(["init", "-q", "--bare", origin.to_str().unwrap()]).success();
    world
        .git(["remote", "add", "origin", origin.to_str().unwrap()])
        .success();
    in_conflict(&world, &["f"]);
    world.checkpoint(["merge", "t", "-m", "the merge"]).code(1);
    let status = world.checkpoint(["status"]).success().stdout().to_owned();
    assert!(
        status.contains("merge of t: 1 unmerged path")
            && status.contains("git checkpoint merge --continue, or --abort"),
        "{status}"
    );
    let json = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(
        json["in_conflict"],
        serde_json::json!({ "operation": "merge", "from": "t", "unmerged": 1 })
    );
    world
        .checkpoint(["push", "origin", "s"])
        .success()
        .stderr_has("latest checkpoint of 's' has 1 unmerged path, with conflict markers");
    world
        .checkpoint(["merge", "--continue"])
        .code(1)
        .stderr_has("not every conflict is resolved")
        .stderr_has("  f\n");
    world
        .checkpoint(["apply", "--continue"])
        .code(1)
        .stderr_has("no apply in progress")
        .stderr_has("git checkpoint merge --continue");
    world.file("f", lines(3, "resolved"));
    world.git(["add", "f"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("every conflict is resolved");
    let merged = world.git_line(["rev-parse", "checkpoints/s"]);
    world.checkpoint(["merge", "--continue", "--dry-run"]).success();
    assert_eq!(world.git_line(["rev-parse", "checkpoints/s"]), merged);
    world.checkpoint(["merge", "--continue"]).success().stdout_has("Saved");
    assert_eq!(world.git_line(["rev-parse", "checkpoints/s~1"]), merged);
    assert_eq!(
        world.git_line(["show", "checkpoints/s^2:f"]),
        lines(3, "resolved").trim_end()
    );
    world
        .checkpoint(["show", "s"])
        .success()
        .stdout_has("resolved the conflicts of merging t")
        .stdout_has("the merge");
    let pushed = world.checkpoint(["push", "origin", "s"]);
    assert!(pushed.is_success() && !pushed.stderr().contains("unmerged"), "{pushed}");
    world.checkpoint(["merge", "--continue"]).code(1);
    world.checkpoint(["merge", "t"]).success().stdout_has("Up to date");
    // It is undone with its resolution, and redone with it.
    world.checkpoint(["undo", "--older"]).success();
    assert_eq!(text(&world, "f"), lines(3, "ours"));
    assert_eq!(world.git_line(["ls-files", "-u"]), "");
    world.checkpoint(["merge", "t"]).code(1);
    world.checkpoint(["undo"]).success();
    // The remote has the merge with the resolution.
    world
        .checkpoint(["redo"])
        .code(4)
        .stderr_has("git checkpoint redo --force");
    world.checkpoint(["redo", "--force"]).success();
    world.checkpoint(["merge", "--abort"]).success();
    assert_eq!(text(&world, "f"), lines(3, "ours"));
}

#[test]
fn a_concluded_merge_is_redone_with_its_resolution() {
    let world = forked(&["f"]);
    in_conflict(&world, &["f"]);
    world.checkpoint(["merge", "t"]).code(1);
    world.file("f", lines(3, "resolved"));
    world.git(["add", "f"]).success();
    world.checkpoint(["merge", "--continue"]).success();
    let resolved = world.git_line(["rev-parse", "checkpoints/s"]);
    world.checkpoint(["undo"]).success();
    assert_eq!(text(&world, "f"), lines(3, "ours"));
    world.checkpoint(["redo"]).success();
    assert_eq!(
        (world.git_line(["rev-parse", "checkpoints/s"]), text(&world, "f")),
        (resolved, lines(3, "resolved"))
    );
    // What was noted while it was resolved is in its checkpoint: an undo does not drop that.
    world.checkpoint(["undo"]).success();
    world.checkpoint(["merge", "t"]).code(1);
    world.file("f", lines(3, "resolved"));
    world.git(["add", "f"]).success();
    world.checkpoint(["todo", "add", "noted meanwhile"]).success();
    world.checkpoint(["merge", "--continue"]).success();
    world.checkpoint(["undo"]).code(4);
    world
        .checkpoint(["todo", "list"])
        .success()
        .stdout_has("noted meanwhile");
}

/// What was saved between a merge and its conclusion is no part of the merge: an undo asks for `--force`, which lets it leave
/// the session with the merge, kept for a redo.
#[test]
fn an_undo_of_a_merge_with_saves_before_its_conclusion_is_forced() {
    let world = forked(&["f"]);
    in_conflict(&world, &["f"]);
    world.checkpoint(["save", "-m", "ours"]).success();
    let tip = || world.git_line(["rev-parse", "checkpoints/s"]);
    let before = tip();
    world.checkpoint(["merge", "t"]).code(1);
    world.file("h", "new\n");
    world.checkpoint(["task", "add", "noted between"]).success();
    world.checkpoint(["save", "-m", "between"]).success();
    world.file("f", lines(3, "resolved"));
    world.git(["add", "f"]).success();
    world.checkpoint(["merge", "--continue"]).success();
    let resolved = tip();
    let refs = world.git_line(["for-each-ref"]);
    for args in [&["undo"][..], &["undo", "-n"], &["undo", "--older"]] {
        world
            .checkpoint(args)
            .code(4)
            .stderr_has("session 's' has changed since")
            .stderr_has("git checkpoint undo --force");
    }
    let planned = world.checkpoint(["undo", "--force", "-n"]);
    planned
        .success()
        .stderr_has("2 checkpoints saved after the merge would leave session");
    assert_eq!(world.git_line(["for-each-ref"]), refs);
    let forced = world.checkpoint(["undo", "--force"]);
    forced
        .success()
        .stderr_has("2 checkpoints saved after the merge left session")
        .stderr_has(&resolved[..8]);
    assert_eq!((tip(), text(&world, "f")), (before.clone(), lines(3, "ours")));
    assert_eq!(text(&world, "h"), "new\n", "what the merge did not change stays");
    assert_eq!(world.git_line(["ls-files", "-u"]), "");
    world.git(["gc", "--prune=now", "--quiet"]).success();
    world
        .checkpoint(["show", &resolved[..8]])
        .success()
        .stdout_has("noted between");
    // After a redo it is asked for again, each time.
    for _ in 0..2 {
        world.checkpoint(["redo"]).success();
        assert_eq!((tip(), text(&world, "f")), (resolved.clone(), lines(3, "resolved")));
        for args in [&["undo"][..], &["undo", "--older"]] {
            world
                .checkpoint(args)
                .code(4)
                .stderr_has("session 's' has changed since")
                .stderr_has("git checkpoint undo --force");
        }
        assert_eq!(tip(), resolved);
        world
            .checkpoint(["undo", "--force"])
            .success()
            .stderr_has("2 checkpoints saved after the merge left session");
        assert_eq!(tip(), before);
    }
    world.checkpoint(["redo"]).success();
    // A save after the conclusion is work of its own, which no undo takes out of the session.
    world.file("h", "newer\n");
    world.checkpoint(["save", "-m", "later"]).success();
    let later = tip();
    for args in [&["undo", "--older"][..], &["undo", "--force"]] {
        world
            .checkpoint(args)
            .code(4)
            .stderr_has("session 's' has changed since")
            .stderr_lacks("--force");
    }
    assert_eq!((tip(), text(&world, "f")), (later, lines(3, "resolved")));
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict"]).success();
}

/// What an abort took along and a redo brought back is as it was before: an undo refuses to take it, an abort says so.
#[test]
fn what_an_abort_took_along_is_asked_for_again_after_a_redo() {
    let world = forked(&["f"]);
    in_conflict(&world, &["f"]);
    world.checkpoint(["save", "-m", "ours"]).success();
    let tip = || world.git_line(["rev-parse", "checkpoints/s"]);
    let before = tip();
    world.checkpoint(["merge", "t"]).code(1);
    world.checkpoint(["task", "add", "noted between"]).success();
    world.checkpoint(["save", "-m", "between"]);
    let between = tip();
    for _ in 0..2 {
        world
            .checkpoint(["merge", "--abort"])
            .success()
            .stderr_has("1 checkpoint saved after the merge left session");
        assert_eq!(tip(), before);
        world.checkpoint(["redo", "--force"]).success();
        assert_eq!(tip(), between);
        world
            .checkpoint(["undo"])
            .code(4)
            .stderr_has("session 's' has changed since");
        assert_eq!(tip(), between);
    }
    world.checkpoint(["task"]).success().stdout_has("noted between");
    world.checkpoint(["verify", "--all"]).success();
}

/// A merge that has conflicts to resolve is not up to date: a second one says what is open, and what helps.
#[test]
fn a_merge_again_says_which_conflicts_are_open() {
    let world = forked(&["f", "g"]);
    in_conflict(&world, &["f", "g"]);
    world.checkpoint(["state", "patch", r#"{"a":1}"#]).success();
    in_fork(&world, || {
        world.checkpoint(["state", "patch", r#"{"a":2}"#]).success();
        world.checkpoint(["save", "-m", "state"]).success();
    });
    world.checkpoint(["merge", "t"]).code(1);
    let refs = world.git_line(["for-each-ref"]);
    let again = || world.checkpoint(["merge", "t"]);
    let resolve = "git checkpoint conflict resolve ";
    again()
        .code(1)
        .stdout_has("state/a: 1 here, 2 in t")
        .stderr_has("not every conflict is resolved\nerror:   f\nerror:   g")
        .stderr_has("git add <path>")
        .stderr_has("git checkpoint merge --continue")
        .stderr_has("git checkpoint merge --abort")
        .stderr_has(resolve);
    let json = world.checkpoint(["merge", "t", "--json"]).code(1).stdout_json();
    assert_eq!(
        (&json["outcome"], &json["conflicts"][0]["member"]),
        (&"up-to-date".into(), &"state/a".into())
    );
    world.file("f", lines(3, "resolved"));
    world.git(["add", "f"]).success();
    again()
        .code(1)
        .stderr_has("resolved\nerror:   g")
        .stderr_lacks("error:   f");
    world.file("g", lines(3, "resolved"));
    world.git(["add", "g"]).success();
    again()
        .code(1)
        .stderr_has("the merge of t")
        .stderr_has("is not concluded")
        .stderr_has("git checkpoint merge --continue")
        .stderr_lacks("git add");
    assert_eq!(world.git_line(["for-each-ref"]), refs, "nothing was saved");
    world.checkpoint(["merge", "--continue"]).success();
    again()
        .code(1)
        .stderr_has("1 conflict of the record to resolve")
        .stderr_has(resolve)
        .stderr_lacks("--continue");
    // The command that is named resolves it, before and after a save.
    world.checkpoint(["conflict", "resolve", "1", "--theirs"]).success();
    again().success().stdout_has("Up to date").no_stderr();
    world.checkpoint(["save", "-m", "resolved"]).success();
    again().success().stdout_has("Up to date");
    world.checkpoint(["state", "get"]).success().stdout_has("2");
}

#[test]
fn nothing_to_continue_is_said() {
    let world = forked(&["f", "g"]);
    in_fork(&world, || {
        world.file("g", lines(9, "theirs"));
        world.checkpoint(["save", "-m", "theirs"]).success();
    });
    let nothing = |when: &str| {
        for command in ["merge", "apply"] {
            let out = world.checkpoint([command, "--continue"]);
            assert_eq!(out.status().code(), Some(1), "{when}: {out}");
            out.stderr_has(&format!("no {command} in progress"));
        }
    };
    nothing("before any merge");
    world.checkpoint(["merge", "t"]).success();
    nothing("after one without conflicts");
    in_conflict(&world, &["f"]);
    world.checkpoint(["merge", "t"]).code(1);
    world.checkpoint(["merge", "--abort"]).success();
    nothing("after one that was aborted");
    world.checkpoint(["apply", "t"]).code(1);
    world.checkpoint(["undo"]).success();
    nothing("after one that was undone");
    world.checkpoint(["apply", "t"]).code(1);
    world.file("f", lines(3, "resolved"));
    world.git(["add", "f"]).success();
    world
        .checkpoint(["apply", "--continue"])
        .success()
        .stdout_has("Every conflict is resolved.");
    nothing("after one that was concluded");
    // Unmerged paths of git's own are not ours to continue.
    world.git(["checkout", "-qb", "other", "HEAD"]).success();
    world.checkpoint(["save", "-m", "x"]).success();
    nothing("with nothing of ours");
}

#[test]
fn files_are_merged_after_a_merge_without_them() {
    let world = forked(&["f"]);
    in_fork(&world, || {
        world.file("f", lines(3, "theirs"));
        world.checkpoint(["save", "-m", "theirs"]).success();
    });
    world.checkpoint(["merge", "t", "--no-files"]).success();
    let without = world.git_line(["rev-parse", "checkpoints/s"]);
    let merged = world.checkpoint(["merge", "t"]);
    assert!(
        merged.is_success() && !merged.stdout().contains("no common checkpoint"),
        "{merged}"
    );
    assert_eq!(text(&world, "f"), lines(3, "theirs"));
    assert_eq!(
        world.git_line(["show", "checkpoints/s^2:f"]),
        lines(3, "theirs").trim_end()
    );
    assert_ne!(world.git_line(["rev-parse", "checkpoints/s"]), without);
    world.checkpoint(["merge", "t"]).success().stdout_has("Up to date");
    world.checkpoint(["undo"]).success();
    assert_eq!(world.git_line(["rev-parse", "checkpoints/s"]), without);
    assert_eq!(text(&world, "f"), lines(0, ""));
}

fn names(world: &World, revision: &str) -> String {
    world.git_line(["ls-tree", "-r", "--name-only", revision])
}

/// A fork with a working tree keeps its own files, whichever command makes its checkpoint and wherever it is given.
#[test]
fn a_session_with_its_own_working_tree_is_saved_with_the_files_from_there() {
    type Step<'a> = (&'a str, &'a [&'a str], bool);
    let cases: [Step<'_>; 7] = [
        ("finish", &["finish", "--session", "t", "-m", "no"], true),
        (
            "finish as failed",
            &["finish", "--session", "t", "--status", "failed"],
            true,
        ),
        ("pause", &["pause", "--session", "t"], true),
        ("save", &["save", "--session", "t", "-m", "x"], true),
        (
            "save by a trigger",
            &["save", "--session", "t", "--trigger", "word", "-m", "x"],
            true,
        ),
        ("fresh finish", &["finish", "--session", "t"], false),
        ("fresh save", &["save", "--session", "t", "-m", "x"], false),
    ];
    for (what, args, is_saved) in cases {
        let world = forked(&["f"]);
        world.file("ours", "of this tree\n");
        in_fork(&world, || {
            world.file("theirs", "saved\n");
            if is_saved {
                world.checkpoint(["save", "-m", "w"]).success();
                world.file("later", "not saved\n");
            }
        });
        let head = world.git_line(["rev-parse", "HEAD"]);
        let out = world.checkpoint(args.iter().copied());
        out.success();
        out.stderr_has("the working tree of this session");
        let files = names(&world, "checkpoints/t^2");
        assert!(files.contains("theirs") && !files.contains("ours"), "{what}: {files}");
        assert_eq!(files.contains("later"), is_saved, "{what}: {files}");
        let document = world
            .git(["show", "checkpoints/t:checkpoint.json"])
            .success()
            .stdout_json();
        assert_eq!(document["worktree"]["id"], "linked-t", "{what}");
        assert_eq!(document["git"]["branch"], "checkpoint/t", "{what}");
        assert_eq!(world.git_line(["rev-parse", "HEAD"]), head);
        let merged = world.checkpoint(["merge", "t"]);
        assert!(
            merged.is_success() && world.path("theirs").exists() && world.path("ours").exists(),
            "{what}: {merged}"
        );
        world.checkpoint(["verify", "t"]).success();
    }
}

#[test]
fn a_session_whose_working_tree_is_gone_is_finished_with_its_files_as_they_were() {
    for (command, is_undone) in [("finish", true), ("pause", false)] {
        let world = forked(&["f"]);
        world.file("ours", "of this tree\n");
        in_fork(&world, || {
            world.file("theirs", "saved\n");
            world.file("f", lines(1, "unstaged"));
            world.git(["add", "theirs"]).success();
            world.checkpoint(["save", "-m", "w"]).success();
        });
        let before = world.git_line(["rev-parse", "checkpoints/t^2"]);
        world.checkpoint(["fork", "--remove", "t"]).success();
        world
            .checkpoint([command, "--session", "t"])
            .success()
            .stderr_has("the files are as they were saved");
        assert_eq!(world.git_line(["rev-parse", "checkpoints/t^2"]), before, "{command}");
        world.checkpoint(["verify", "t"]).success();
        if is_undone {
            world.checkpoint(["undo"]).success();
            world.checkpoint(["list", "--json"]).success().stdout_has("\"t\"");
        }
    }
}

#[test]
fn a_fork_whose_directory_was_removed_does_not_get_the_files_from_here() {
    for command in ["save", "pause", "finish"] {
        let world = forked(&["f"]);
        in_fork(&world, || {
            world.file("theirs", "saved\n");
            world.checkpoint(["save", "-m", "w"]).success();
        });
        world.file("ours", "of this tree\n");
        std::fs::remove_dir_all(world.path("../t")).unwrap();
        world
            .checkpoint([command, "--session", "t", "-m", "gone"])
            .success()
            .stderr_has("the files are as they were saved");
        let files = names(&world, "checkpoints/t^2");
        assert!(
            files.contains("theirs") && !files.contains("ours"),
            "{command}: {files}"
        );
    }
}

#[test]
fn conflicts_that_were_put_aside_are_not_pending() {
    let world = forked(&["f"]);
    in_conflict(&world, &["f"]);
    world.checkpoint(["apply", "t"]).code(1);
    world.checkpoint(["status"]).stdout_has("apply --continue");
    world.checkpoint(["pause", "--clean", "-m", "later"]).success();
    world.checkpoint(["status"]).stdout_lacks("apply --continue");
    world.checkpoint(["apply", "--continue"]).code(1);
}

/// Named sessions that have no working tree of their own are saved where the command is given.
#[test]
fn other_named_sessions_are_saved_here() {
    let world = forked(&["f"]);
    world.git(["worktree", "add", "-q", "../w"]).success();
    world.enter("w");
    world.file("from-w", "1\n");
    // It is current in the main working tree, which another one saves into by its name.
    world.checkpoint(["save", "--session", "s", "-m", "from w"]).success();
    assert!(names(&world, "checkpoints/s^2").contains("from-w"));
    world.checkpoint(["save", "--session", "new", "-m", "new"]).success();
    world.enter("repo");
    world.file("from-repo", "1\n");
    world
        .checkpoint(["save", "--session", "new", "-m", "from repo"])
        .success();
    assert!(names(&world, "checkpoints/new^2").contains("from-repo"));
    world
        .checkpoint(["save", "--session", "third", "-m", "third"])
        .success();
    assert!(names(&world, "checkpoints/third^2").contains("from-repo"));
}

/// A save, a pause and a finish say what a push says of a checkpoint with conflict markers.
#[test]
fn unmerged_files_are_saved_with_a_warning() {
    for command in [&["save", "-m", "x"][..], &["pause", "-m", "x"], &["finish", "-m", "x"]] {
        let world = forked(&["f", "g"]);
        in_conflict(&world, &["f", "g"]);
        world.checkpoint(["merge", "t"]).code(1);
        let saved = world.checkpoint(command.iter().chain(&["--json"]).copied());
        saved
            .success()
            .stderr_has("the merge of 't' is pending: 2 unmerged paths, with conflict markers in the files");
        assert_eq!(saved.stdout_json()["unmerged"], 2, "{command:?}");
        world.git(["checkout", "-q", "--ours", "."]).success();
        world.git(["add", "."]).success();
        world
            .checkpoint(["save", "--session", "s", "-m", "y", "--allow-empty"])
            .success()
            .stderr_lacks("unmerged");
    }
}

/// New files that a merge brought are not tracked, so a reset leaves them; nothing else of it is there then.
#[test]
fn a_reset_leaves_new_files_and_is_no_resolution() {
    for command in ["apply", "merge"] {
        let world = forked(&["f", "g"]);
        in_conflict(&world, &["f"]);
        in_fork(&world, || {
            world.file("g", lines(5, "theirs"));
            world.file("new", "theirs\n");
            world.checkpoint(["save", "-m", "more"]).success();
        });
        world.checkpoint([command, "t"]).code(1);
        world.git(["reset", "-q", "--hard"]).success();
        assert!(world.path("new").exists());
        world
            .checkpoint([command, "--continue"])
            .code(1)
            .stderr_has("is in the files any more, but for new files\n")
            .stderr_has("  new\n")
            .stderr_has(&format!("git checkpoint {command} --abort"));
        world.checkpoint([command, "--abort"]).success();
        assert!(!world.path("new").exists());
        assert_eq!(text(&world, "f"), lines(3, "ours"));
        // Another file that is kept shows that it was not thrown away.
        world.checkpoint([command, "t"]).code(1);
        world.git(["checkout", "-q", "HEAD", "--", "f"]).success();
        world.checkpoint([command, "--continue"]).success();
        assert_eq!(text(&world, "g"), lines(5, "theirs"));
    }
}

/// What was staged is staged again, path by path, as git stages what merges cleanly: a conflict keeps no other path back.
#[test]
fn a_conflict_keeps_no_other_path_from_being_staged() {
    let world = World::with_commit();
    for path in ["f", "g", "dir/h"] {
        world.file(path, lines(0, ""));
    }
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "common"]).success();
    for path in ["f", "g", "dir/h"] {
        world.file(path, lines(3, "then"));
    }
    world.file("new", "then\n");
    world.git(["add", "-A"]).success();
    world.checkpoint(["save", "--session", "s", "-m", "then"]).success();
    world.git(["reset", "-q", "--hard"]).success();
    world.file("f", lines(3, "now"));
    world.git(["commit", "-qam", "now"]).success();
    let before = world.git_line(["ls-files", "--stage"]);
    let applied = world.checkpoint(["apply", "s", "--index"]);
    applied
        .code(1)
        .stdout_has("not staged because of conflicts: 1 staged in the checkpoint");
    let names = |args: &[&str]| world.git_line(args.iter().copied());
    assert_eq!(
        names(&["diff", "--cached", "--name-only", "--diff-filter=AM"]),
        "dir/h\ng\nnew"
    );
    assert_eq!(names(&["diff", "--name-only", "--diff-filter=U"]), "f");
    assert_eq!(names(&["show", ":g"]), lines(3, "then").trim_end());
    world.checkpoint(["apply", "--abort"]).success();
    assert_eq!(world.git_line(["ls-files", "--stage"]), before);
    // Without --index nothing but the conflict is in the index.
    let applied = world.checkpoint(["apply", "s"]);
    applied
        .code(1)
        .stdout_has("nothing is staged (4 staged in the checkpoint)");
    assert_eq!(names(&["diff", "--cached", "--name-only", "--diff-filter=AM"]), "");
}

/// What stays on both sides is no removal, and the sides differ by their names.
#[test]
fn a_merge_says_what_came_and_from_where() {
    let world = forked(&["f"]);
    in_fork(&world, || {
        world.checkpoint(["state", "patch", r#"{"a":5}"#]).success();
        world.advance(60);
        world.checkpoint(["save", "-m", "their summary"]).success();
    });
    world.checkpoint(["state", "patch", r#"{"a":6}"#]).success();
    world.checkpoint(["save", "-m", "our summary"]).success();
    let merged = world.checkpoint(["merge", "t"]);
    merged
        .code(1)
        .stdout_has("+ their summary")
        .stdout_lacks("- our summary")
        .stdout_has("6 here, 5 in t")
        .stderr_has("with --theirs for t: git checkpoint conflict resolve");
    let summary = world.checkpoint(["show", "s", "--json"]).success().stdout_json();
    let summary = summary["document"]["record"]["summary"].as_str().unwrap().to_owned();
    assert!(
        summary.contains("our summary") && summary.contains("their summary"),
        "{summary}"
    );
}

/// While git merges, the hints name git's own way first, and then the command that does it anyway.
#[test]
fn an_operation_of_git_is_finished_first() {
    let world = forked(&["f"]);
    world.git(["switch", "-q", "-c", "side"]).success();
    world.file("f", lines(3, "side"));
    world.git(["commit", "-qam", "side"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.file("g", "put aside\n");
    world.checkpoint(["pause", "--clean"]).success();
    world.file("f", lines(3, "main"));
    world.git(["commit", "-qam", "main"]).success();
    world.git(["merge", "side"]).code(1);
    let refused = world.checkpoint(["resume", "s", "--apply"]);
    refused
        .code(4)
        .stderr_has("git merge --continue, or give it up: git merge --abort");
    // The command that it names works.
    let stderr = refused.stderr().to_owned();
    let command = stderr.split("git checkpoint ").last().unwrap();
    let words: Vec<&str> = command.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(
        (words[0], &words[2..]),
        ("apply", &["--index", "--force"][..]),
        "{stderr}"
    );
    world.checkpoint(words).success();
    assert_eq!(text(&world, "g"), "put aside\n");
}

/// Markers that were added without being edited are taken, as git takes them, but not without a word.
#[test]
fn conflict_markers_that_are_left_are_reported() {
    for command in ["merge", "apply"] {
        let world = forked(&["f", "g"]);
        in_conflict(&world, &["f", "g"]);
        world.checkpoint([command, "t"]).code(1);
        world.file("g", lines(3, "both"));
        // Which conflict is resolved is said to git alone, as the help has it.
        let help = world.checkpoint([command, "-h"]).success().stdout().to_owned();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            help.contains("files that are not unmerged any more as they are"),
            "{help}"
        );
        world
            .checkpoint([command, "--continue", "--force"])
            .code(1)
            .stderr_has("git add <path>");
        world.git(["add", "f", "g"]).success();
        world
            .checkpoint([command, "--continue"])
            .success()
            .stderr_has("conflict markers are left in these files, which are taken as they are\n")
            .stderr_has("  f\n")
            .stderr_lacks("  g\n")
            .stdout_lacks("Every conflict is resolved");
        assert!(text(&world, "f").contains("<<<<<<< "));
        // It completed the command that undo comes to.
        let undone = world.checkpoint(["undo"]);
        undone.success().stderr_lacks("changed nothing");
        assert_eq!(text(&world, "f"), lines(3, "ours"), "{command}: {undone}");
    }
}

/// The commit of a resolution by git, or the resolution alone, is saved by the next save, which concludes the merge: nothing that
/// is saved after it leaves the session with an abort.
#[test]
fn a_save_with_the_resolution_concludes_the_merge() {
    let ways: [&[&[&str]]; 2] = [&[&["add", "f"], &["commit", "-qm", "done"]], &[&["add", "f"]]];
    for way in ways {
        let world = forked(&["f"]);
        in_conflict(&world, &["f"]);
        world.checkpoint(["save", "-m", "ours"]).success();
        world.checkpoint(["merge", "t"]).code(1);
        world.file("f", lines(3, "both"));
        for args in way {
            world.git(args.iter().copied()).success();
        }
        world.file("h", "1\n");
        world
            .checkpoint(["save", "-n", "-m", "w1"])
            .success()
            .stderr_lacks("concluded");
        world
            .checkpoint(["save", "-m", "w1"])
            .success()
            .stderr_has("the merge of 't' is concluded: the checkpoint has its resolution");
        world.checkpoint(["status"]).success().stdout_lacks("--continue");
        world.file("h", "2\n");
        world
            .checkpoint(["save", "-m", "w2"])
            .success()
            .stderr_lacks("concluded");
        let tip = world.git_line(["rev-parse", "checkpoints/s"]);
        for args in [&["merge", "--abort"][..], &["merge", "--abort", "--force"]] {
            world.checkpoint(args).code(1).stderr_has("no merge in progress");
        }
        world.checkpoint(["merge", "t"]).success().stdout_has("Up to date");
        assert_eq!(world.git_line(["rev-parse", "checkpoints/s"]), tip);
        assert_eq!(text(&world, "f"), lines(3, "both"));
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// Where no path is unmerged any more an abort takes no later checkpoint out of the session unasked, and a save of what is
/// no resolution says that the merge is pending.
#[test]
fn an_abort_after_saves_without_an_unmerged_path_is_forced() {
    let world = forked(&["f"]);
    in_conflict(&world, &["f"]);
    world.checkpoint(["save", "-m", "ours"]).success();
    let before = world.git_line(["rev-parse", "checkpoints/s"]);
    world.checkpoint(["merge", "t"]).code(1);
    world.git(["reset", "-q"]).success();
    world
        .checkpoint(["save", "-m", "with markers"])
        .success()
        .stderr_has("the merge of 't' is pending")
        .stderr_has("git checkpoint merge --continue");
    let saved = world.git_line(["rev-parse", "checkpoints/s"]);
    for args in [&["merge", "--abort"][..], &["merge", "--abort", "-n"]] {
        world
            .checkpoint(args)
            .code(4)
            .stderr_has("1 checkpoint was saved after the merge of 't'")
            .stderr_has("git checkpoint merge --abort --force");
    }
    assert_eq!(world.git_line(["rev-parse", "checkpoints/s"]), saved);
    world
        .checkpoint(["merge", "--abort", "--force"])
        .success()
        .stderr_has("1 checkpoint saved after the merge left session");
    assert_eq!(world.git_line(["rev-parse", "checkpoints/s"]), before);
    assert_eq!(text(&world, "f"), lines(3, "ours"));
}
