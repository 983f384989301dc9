//! What could lose work or say something wrong of it: commits that undo would name and that are missing, saved changes that
//! are not in the files, sessions of branches at one commit, files that a merge leaves, values of conflicts.

use std::fs;

use crate::support::World;

fn text(world: &World, path: &str) -> String {
    String::from_utf8(world.read(path)).unwrap()
}

fn tip(world: &World, session: &str) -> String {
    world
        .git_line(["rev-parse", &format!("refs/checkpoints/{session}")])
        .trim()
        .to_owned()
}

/// Lets git forget all that no ref holds.
fn collect_garbage(world: &World) {
    world
        .git(["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"])
        .success();
    world.git(["gc", "-q", "--prune=now"]).success();
}

fn is_healthy(world: &World) {
    world.git(["fsck", "--connectivity-only"]).success();
    world.git(["log", "--all", "--oneline"]).success();
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn an_emptied_trash_ends_what_can_be_undone_of_it() {
    let world = World::with_commit();
    for n in 1..=4 {
        world.file("f", format!("{n}\n"));
        world.checkpoint(["save", "-m", &format!("c{n}")]).success();
        world.advance(60);
    }
    world.checkpoint(["start", "other"]).success();
    world.file("g", "g\n");
    world.checkpoint(["save", "-m", "other"]).success();
    world.checkpoint(["save", "--amend", "-m", "reworded"]).success();
    world.checkpoint(["switch", "main"]).success();
    world.checkpoint(["rename", "other", "renamed"]).success();
    world.checkpoint(["prune", "--keep-last", "1"]).success();
    world.checkpoint(["delete", "renamed"]).success();
    // A dry run says what ends, and changes nothing.
    let list = || fs::read(world.path(".git/checkpoint/undo.jsonl")).unwrap();
    let before = list();
    world
        .checkpoint(["prune", "--trash", "--dry-run"])
        .success()
        .stdout_has("  no undo  deleted session renamed\n");
    assert_eq!(list(), before);
    world
        .checkpoint(["prune", "--trash"])
        .success()
        .stdout_has("  no undo  deleted session renamed\n")
        .stdout_has("  no undo  pruned ");
    collect_garbage(&world);
    let refs = world.git_line(["for-each-ref"]);
    for _ in 0..4 {
        let undone = world.checkpoint(["undo", "--older", "--force"]);
        assert!(!undone.stdout().contains("Undid 'deleted"), "{undone}");
        is_healthy(&world);
    }
    assert_eq!(
        tip(&world, "main"),
        refs.lines()
            .find(|line| line.ends_with("refs/checkpoints/main"))
            .unwrap()[..40]
    );
}

#[test]
fn undo_points_no_ref_at_what_is_missing() {
    let world = World::with_commit();
    world.file("f", "1\n");
    world.checkpoint(["save", "-m", "one"]).success();
    world.checkpoint(["start", "other"]).success();
    world.file("g", "g\n");
    world.checkpoint(["save", "-m", "other"]).success();
    let lost = tip(&world, "other");
    world.checkpoint(["switch", "main"]).success();
    world.checkpoint(["delete", "other"]).success();
    // Another tool removes what the trash holds.
    let trash = world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints-trash"]);
    for name in trash.lines() {
        world.git(["update-ref", "-d", name]).success();
    }
    collect_garbage(&world);
    let refs = world.git_line(["for-each-ref"]);
    world
        .checkpoint(["undo", "--older"])
        .code(4)
        .stderr_has(&lost[..8])
        .stderr_has("git checkpoint prune --trash");
    assert_eq!(world.git_line(["for-each-ref"]), refs);
    is_healthy(&world);
    world.checkpoint(["prune", "--trash"]).success();
    world.checkpoint(["undo", "--older"]).code(1);
    is_healthy(&world);
}

#[test]
fn undo_points_no_ref_at_a_merge_that_lacks_what_was_merged_in() {
    let world = World::with_commit();
    world.file("f", "1\n");
    world.checkpoint(["save", "-m", "one"]).success();
    world.checkpoint(["start", "other"]).success();
    world.file("g", "g\n");
    world.checkpoint(["save", "-m", "other"]).success();
    let lost = world.git_line(["rev-parse", "refs/checkpoints/other^"]);
    world.checkpoint(["switch", "main"]).success();
    world.checkpoint(["merge", "other"]).success();
    world.checkpoint(["start", "third"]).success();
    world.checkpoint(["delete", "main"]).success();
    let trash = world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints-trash"]);
    for name in trash.lines() {
        world.git(["update-ref", "-d", name]).success();
    }
    let unpack = "mkdir ../p && mv .git/objects/pack/*.pack ../p && rm .git/objects/pack/* && for p in ../p/*; do git unpack-objects -q < $p; done";
    world.command("sh", ["-c", unpack]).run().success();
    let object = world.path(format!(".git/objects/{}/{}", &lost[..2], &lost[2..]));
    let away = world.path("../away");
    fs::rename(&object, &away).unwrap();
    let refs = world.git_line(["for-each-ref"]);
    world
        .checkpoint(["undo"])
        .code(4)
        .stderr_has(&lost)
        .stderr_has("git checkpoint prune --trash");
    assert_eq!(world.git_line(["for-each-ref"]), refs);
    fs::rename(&away, &object).unwrap();
    world.checkpoint(["undo"]).success();
    is_healthy(&world);
}

#[test]
fn a_session_whose_checkpoint_is_missing_has_a_way_out() {
    let world = World::with_commit();
    for n in 1..=2 {
        world.file("f", format!("{n}\n"));
        world.checkpoint(["save", "-m", &format!("c{n}")]).success();
    }
    let good = tip(&world, "main");
    let path = world.path(".git/refs/checkpoints/main");
    let missing = "21d1a6b3".repeat(5);
    // A ref of ours keeps a checkpoint of it, no reflog does.
    world
        .git(["update-ref", "refs/checkpoints-undo/main/7", &good])
        .success();
    fs::remove_file(world.path(".git/logs/refs/checkpoints/main")).unwrap();
    fs::write(&path, format!("{missing}\n")).unwrap();
    world.checkpoint(["delete", "main"]).code(128);
    world.checkpoint(["repair"]).success();
    assert_eq!(tip(&world, "main"), good);
    // Without one the session can be deleted.
    world
        .git(["update-ref", "-d", "refs/checkpoints-undo/main/7"])
        .success();
    let _ = fs::remove_file(world.path(".git/logs/refs/checkpoints/main"));
    fs::write(&path, format!("{missing}\n")).unwrap();
    world
        .checkpoint(["repair"])
        .code(1)
        .stdout_has("git checkpoint delete --force main");
    world.checkpoint(["delete", "--force", "main"]).success();
    assert!(
        !world
            .git(["rev-parse", "-q", "--verify", "refs/checkpoints/main"])
            .is_success()
    );
    world.file("f", "3\n");
    world.checkpoint(["save", "-m", "goes on"]).success();
    is_healthy(&world);
}

#[test]
fn a_save_says_which_saved_changes_it_drops() {
    let world = World::with_commit();
    world.file("README.md", "work\n");
    world.file("new", "new\n");
    world.checkpoint(["pause", "-m", "wip"]).success();
    let wip = tip(&world, "main");
    world.git(["reset", "-q", "--hard"]).success();
    world.git(["clean", "-fdq"]).success();
    // A person may have reverted it: nothing is said before it is resumed.
    world
        .checkpoint(["status"])
        .success()
        .stdout_lacks("not in these files");
    world.checkpoint(["resume"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("2 saved changes are not in these files")
        .stdout_has("git checkpoint resume --apply");
    let saved = world.checkpoint(["save", "-m", "a note", "--allow-empty"]);
    let apply = format!("git checkpoint apply {} --index", &wip[..8]);
    saved
        .success()
        .stderr_has("2 saved changes")
        .stderr_has("README.md")
        .stderr_has(&apply);
    // Said once. What the warning names brings them back.
    world
        .checkpoint(["status"])
        .success()
        .stdout_lacks("not in these files");
    world.checkpoint(["apply", &wip[..8], "--index"]).success();
    assert_eq!(
        (text(&world, "README.md"), text(&world, "new")),
        ("work\n".into(), "new\n".into())
    );
    // Changes that are there, and others, are none that are missing.
    world.checkpoint(["pause", "-m", "again"]).success();
    world.file("README.md", "more\n");
    world.checkpoint(["resume"]).success();
    world
        .checkpoint(["save", "-m", "more"])
        .success()
        .stderr_lacks("saved change");
    // Restored and then reverted by hand is what a person wants.
    world.checkpoint(["pause", "-m", "third"]).success();
    world.git(["checkout", "-q", "README.md"]).success();
    world.checkpoint(["resume"]).success();
    world.checkpoint(["restore", "@", "--force"]).success();
    world.git(["checkout", "-q", "README.md"]).success();
    world
        .checkpoint(["save", "-m", "reverted"])
        .success()
        .stderr_lacks("saved change");
}

#[test]
fn a_colleague_who_never_had_the_files_is_told() {
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../hub"]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.git(["push", "-q", "origin", "main"]).success();
    world.file("README.md", "work\n");
    world.file("new", "new\n");
    world.checkpoint(["save", "-m", "wip"]).success();
    world.checkpoint(["push"]).success();
    world.git(["clone", "-q", "../hub", "../two"]).success();
    world.enter("two");
    world.git(["checkout", "-q", "-B", "main", "origin/main"]).success();
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["resume", "main"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("2 saved changes are not in these files");
    world.advance(60);
    world
        .checkpoint(["save", "-m", "looked at it", "--decision", "fine"])
        .success()
        .stderr_has("2 saved changes");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.checkpoint(["pull"]).success();
    // The work here is none that the pull is to remove.
    let saved = world.checkpoint(["save", "-m", "more"]);
    saved
        .success()
        .stderr_lacks("as before the pull")
        .stderr_lacks("git checkpoint restore");
    assert_eq!(
        (text(&world, "README.md"), text(&world, "new")),
        ("work\n".into(), "new\n".into())
    );
    let files = world.git_line(["ls-tree", "--name-only", "checkpoints/main^2"]);
    assert!(files.lines().any(|line| line == "new"), "{files}");
}

#[test]
fn a_merge_keeps_work_that_the_other_side_never_had() {
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../hub"]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.git(["push", "-q", "origin", "main"]).success();
    world.file("README.md", "work\n");
    world.file("new", "new\n");
    world.checkpoint(["save", "-m", "wip"]).success();
    world.checkpoint(["push"]).success();
    world.git(["clone", "-q", "../hub", "../two"]).success();
    world.enter("two");
    world.git(["checkout", "-q", "-B", "main", "origin/main"]).success();
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["resume", "main"]).success();
    world.file("theirs", "theirs\n");
    world.advance(60);
    world.checkpoint(["save", "-m", "theirs"]).success();
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.file("ours", "ours\n");
    world.checkpoint(["save", "-m", "ours"]).success();
    world.checkpoint(["pull", "--merge"]).success();
    assert_eq!(
        (text(&world, "README.md"), text(&world, "new")),
        ("work\n".into(), "new\n".into())
    );
    assert_eq!(
        (text(&world, "ours"), text(&world, "theirs")),
        ("ours\n".into(), "theirs\n".into())
    );
}

#[test]
fn another_working_tree_is_named_by_resume() {
    let world = World::with_commit();
    world.git(["worktree", "add", "-q", "../side", "-b", "side"]).success();
    world.file("m", "m\n");
    world.checkpoint(["save", "-m", "m"]).success();
    world.enter("side");
    world
        .checkpoint(["resume", "main"])
        .success()
        .stderr_has("is also current in the working tree");
    world.file("s", "s\n");
    world
        .checkpoint(["pause", "-m", "from side"])
        .success()
        .stderr_has("1 saved change");
    world.enter("repo");
    world
        .checkpoint(["save", "-m", "in main", "--allow-empty"])
        .success()
        .stderr_has("1 saved change")
        .stderr_has("(s)");
}

#[test]
fn a_branch_at_the_same_commit_has_its_own_session() {
    let world = World::with_commit();
    world.git(["switch", "-q", "-c", "topic"]).success();
    world.file("fb", "b\n");
    world.checkpoint(["pause", "--clean", "-m", "wb"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.file("x", "x\n");
    world.checkpoint(["save", "-m", "on main"]).success();
    let main = tip(&world, "main");
    world.git(["switch", "-q", "topic"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("git checkpoint resume topic --apply");
    world.checkpoint(["resume", "--apply"]).success();
    assert_eq!(text(&world, "fb"), "b\n");
    world.checkpoint(["save", "-m", "again"]).success();
    assert_eq!(tip(&world, "main"), main);
    // A branch that is new keeps the session.
    world.git(["switch", "-q", "-c", "newer"]).success();
    world.checkpoint(["status"]).success().stdout_has("topic");
}

#[test]
fn what_is_put_aside_on_the_branch_is_shown_whichever_session_is_current() {
    let world = World::with_commit();
    world.file("a", "a\n");
    world.checkpoint(["pause", "--clean", "-m", "aside"]).success();
    world
        .checkpoint(["start", "second"])
        .success()
        .stderr_has("git checkpoint resume main --apply");
    world.file("b", "b\n");
    world.checkpoint(["save", "-m", "second"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("git checkpoint resume main --apply");
    world.checkpoint(["apply", "main"]).success();
    world.checkpoint(["status"]).success().stdout_lacks("aside");
}

#[test]
fn finish_says_that_work_is_put_aside() {
    let world = World::with_commit();
    world.file("a", "a\n");
    world.checkpoint(["pause", "--clean", "-m", "aside"]).success();
    world
        .checkpoint(["finish", "-m", "done"])
        .success()
        .stderr_has("git checkpoint resume main --apply");
}

#[test]
fn work_in_a_submodule_is_not_saved_here() {
    let world = World::with_commit();
    world.git(["init", "-q", "../lib"]).success();
    world.enter("lib");
    world.file("l", "l\n");
    world.git(["add", "."]).success();
    world.git(["commit", "-q", "-m", "lib"]).success();
    world.enter("repo");
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../lib",
        "lib",
    ];
    world.git(add).success();
    world.git(["commit", "-q", "-m", "with lib"]).success();
    world.checkpoint(["save", "-m", "one", "--allow-empty"]).success();
    world
        .checkpoint(["status", "--exit-code"])
        .code(0)
        .stdout_has("everything is saved");
    world.file("lib/l", "dirty\n");
    world
        .checkpoint(["status", "--exit-code"])
        .code(1)
        .stdout_has("everything else is saved; left out: submodule 'lib'");
}

#[test]
fn a_merge_takes_the_files_of_a_fork_that_are_not_here() {
    let world = World::with_commit();
    world.file("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    world.checkpoint(["save", "-m", "base"]).success();
    world.checkpoint(["fork", "@", "--name", "try"]).success();
    world.file("t", "tried\n");
    world.file("f", "ONE\n2\n3\n4\n5\n6\n7\n8\n9\n");
    world.checkpoint(["save", "-m", "tried it"]).success();
    world.checkpoint(["switch", "main"]).success();
    world.checkpoint(["restore", "@", "--force"]).success();
    world.file("f", "1\n2\n3\n4\n5\n6\n7\n8\nNINE\n");
    world.checkpoint(["merge", "try"]).success().stdout_lacks("not merged");
    assert_eq!(text(&world, "t"), "tried\n");
    assert_eq!(text(&world, "f"), "ONE\n2\n3\n4\n5\n6\n7\n8\nNINE\n");
    world
        .checkpoint(["merge", "try"])
        .success()
        .stdout_has("has all of try\n");
}

#[test]
fn files_that_a_merge_leaves_are_named_with_the_command() {
    let world = World::with_commit();
    world.file("f", "base\n");
    world.checkpoint(["save", "-m", "base"]).success();
    world.checkpoint(["fork", "@", "--name", "try"]).success();
    world.file("f", "tried\n");
    world.checkpoint(["save", "-m", "tried", "--decision", "so"]).success();
    world.checkpoint(["switch", "main"]).success();
    // What became of it, or something else: only a person knows.
    world.file("f", "other\n");
    for _ in 0..2 {
        world
            .checkpoint(["merge", "try"])
            .success()
            .stdout_lacks("has all of try\n")
            .stdout_has("git checkpoint merge try --files");
    }
    assert_eq!(text(&world, "f"), "other\n");
}

/// A merge with a conflict at `decisions/d1`: edited here, removed there.
fn with_record_conflict() -> World {
    let world = World::with_commit();
    let record = |id: &str, words: &str| format!(r#"{{"decisions":[{{"id":"{id}","text":"{words}"}}]}}"#);
    let save = |message: &str, json: String| {
        let line = ["save", "-m", message, "--record", "-"];
        world.command(crate::support::PROGRAM, line).input(json).run().success();
    };
    save("one", record("d1", "use A"));
    world.checkpoint(["fork", "@", "--name", "f1"]).success();
    world.checkpoint(["switch", "main"]).success();
    save("main", record("d1", "use B"));
    world.checkpoint(["switch", "f1"]).success();
    world.checkpoint(["decision", "remove", "d1"]).success();
    world.checkpoint(["save", "-m", "f1"]).success();
    world.checkpoint(["switch", "main"]).success();
    world.checkpoint(["merge", "f1"]).code(1);
    world
}

#[test]
fn values_of_conflicts_are_checked() {
    let world = with_record_conflict();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("1 conflict of the record");
    let list = || world.checkpoint(["decision", "list"]).stdout().to_owned();
    let before = list();
    for value in [
        "5",
        "\"x\"",
        "[]",
        "true",
        "1.5",
        r#"{"id":"zz"}"#,
        r#"{"id":"zz","text":"t"}"#,
        "{}",
        r#"{"text":3}"#,
    ] {
        let refused = world.checkpoint(["conflict", "resolve", "decisions/d1", "--value", value]);
        assert!(refused.stderr().contains("decisions/d1"), "{value}: {refused}");
        assert!(
            !refused.is_success() && refused.status().code().is_some_and(|code| code < 130),
            "{value}: {refused}"
        );
        assert_eq!(list(), before, "{value}");
    }
    // The id is the address, and who noted it when stays.
    world
        .checkpoint(["conflict", "resolve", "decisions/d1", "--value", r#"{"text":"both"}"#])
        .success();
    assert!(list().contains("both"));
    world.checkpoint(["status"]).success().stdout_lacks("of the record");
    let world = with_record_conflict();
    let list = || world.checkpoint(["decision", "list"]).stdout().to_owned();
    world
        .checkpoint(["conflict", "resolve", "decisions/d1", "--value", "null"])
        .success();
    assert!(!list().contains("use B"), "{}", list());
}

#[test]
fn undo_takes_back_the_resolution_of_every_conflict() {
    for staged in [true, false] {
        let world = World::with_commit();
        for path in ["b", "c"] {
            world.file(path, "base\n");
        }
        world.commit_and_fork();
        world.enter("t");
        fs::remove_file(world.path("b")).unwrap();
        world.file("c", "fork\n");
        world.checkpoint(["save", "-m", "fork"]).success();
        world.enter("repo");
        world.file("b", "edited here\n");
        world.file("c", "mine\n");
        world.checkpoint(["merge", "t"]).code(1);
        if staged {
            world.git(["rm", "-q", "-f", "b"]).success();
        } else {
            world.file("b", "resolved\n");
            world.git(["add", "b"]).success();
        }
        world.file("c", "resolved\n");
        world.git(["add", "c"]).success();
        world.checkpoint(["merge", "--continue"]).success();
        world.checkpoint(["undo"]).success();
        assert_eq!(
            (text(&world, "b"), text(&world, "c")),
            ("edited here\n".into(), "mine\n".into())
        );
        assert_eq!(world.git(["status", "--short"]).stdout(), " M b\n M c\n");
        world.checkpoint(["redo"]).success();
        assert_eq!(text(&world, "c"), "resolved\n");
        assert_eq!(world.path("b").exists(), !staged);
    }
}

#[test]
fn abort_is_for_what_is_in_progress() {
    let world = World::with_commit();
    world.file("a", "a\n");
    world.commit_and_fork();
    world.enter("t");
    world.file("n", "n\n");
    world.checkpoint(["save", "-m", "fork"]).success();
    world.enter("repo");
    world.checkpoint(["merge", "t"]).success();
    let merged = tip(&world, "s");
    world.git(["add", "n"]).success();
    world.git(["commit", "-q", "-m", "took n"]).success();
    world
        .checkpoint(["merge", "--abort"])
        .code(1)
        .stderr_has("no merge in progress");
    assert_eq!((text(&world, "n"), tip(&world, "s")), ("n\n".into(), merged));
}

#[test]
fn cleaning_runs_the_filters_of_head() {
    let world = World::with_commit();
    for side in ["clean", "smudge"] {
        world
            .git(["config", &format!("filter.rot.{side}"), "tr a-z n-za-m"])
            .success();
    }
    world.file(".gitattributes", "a filter=rot\n");
    world.file("a", "hello\n");
    world.git(["add", "."]).success();
    world.git(["commit", "-q", "-m", "rot"]).success();
    fs::remove_file(world.path(".gitattributes")).unwrap();
    world.file("a", "hello\nmore\n");
    world.checkpoint(["pause", "--clean", "-m", "x"]).success();
    assert_eq!(world.git(["status", "--short"]).stdout(), "");
    assert_eq!(text(&world, "a"), "hello\n");
    world.checkpoint(["resume", "--apply"]).success();
    assert!(!world.path(".gitattributes").exists());
    assert_eq!(text(&world, "a"), "hello\nmore\n");
}

#[test]
fn a_fork_is_found_when_git_changed_its_branch() {
    let world = World::with_commit();
    world.file("a", "a\n");
    world.commit_and_fork();
    world.enter("t");
    world.git(["switch", "-q", "-c", "elsewhere", "HEAD~1"]).success();
    world.file("unsaved", "b\n");
    world.enter("repo");
    world.checkpoint(["fork", "--list"]).success().stdout_lacks("none");
    world.checkpoint(["fork", "--remove", "t"]).success();
    assert!(!world.path("../t").exists());
    assert_eq!(world.git_line(["show", "checkpoints/t^2:unsaved"]).trim(), "b");
}

#[test]
fn every_entry_of_the_index_has_its_blob_after_a_conflict() {
    for command in ["merge", "apply"] {
        let world = World::with_commit();
        let lines = |first: &str, last: &str| {
            let all = (1..=30).map(|n| match n {
                1 => format!("{first}\n"),
                30 => format!("{last}\n"),
                n => format!("{n}\n"),
            });
            all.collect::<String>()
        };
        world.file("u", lines("1", "30"));
        world.commit_and_fork();
        world.enter("t");
        fs::remove_file(world.path("u")).unwrap();
        world.file("d", lines("1", "thirty"));
        world.checkpoint(["save", "-m", "renamed"]).success();
        world.enter("repo");
        world.file("u", lines("one", "30"));
        world.file("d", "other\n");
        world.checkpoint([command, "t"]).code(1);
        let staged = world.git_line(["ls-files", "-s"]);
        for line in staged.lines() {
            let id = line.split(' ').nth(1).unwrap();
            world.git(["cat-file", "-e", id]).success();
        }
        world.git(["fsck", "--connectivity-only"]).success();
        world.checkpoint([command, "--abort"]).success();
        assert_eq!(
            (text(&world, "u"), text(&world, "d")),
            (lines("one", "30"), "other\n".to_owned())
        );
        // And it can be concluded.
        world.checkpoint([command, "t"]).code(1);
        world.file("d", "resolved\n");
        world.git(["add", "-A"]).success();
        world.checkpoint([command, "--continue"]).success();
        is_healthy(&world);
    }
}
