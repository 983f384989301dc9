//! Undo and redo: everything there is to take back, as often as one likes, in each working tree for itself.

use crate::support::{PROGRAM, World};

fn save(world: &World, arguments: &[&str]) {
    world.checkpoint([&["save"], arguments].concat()).success();
}

/// Refs of sessions, what is current, and what a save would put into the record.
fn state(world: &World) -> String {
    let refs = world.git_line([
        "for-each-ref",
        "--format=%(refname) %(objectname)",
        "refs/checkpoints",
        "refs/heads",
    ]);
    let current = current(world);
    let tasks = world.checkpoint(["task", "list"]).stdout().to_owned();
    format!("{refs}\n{current}\n{tasks}")
}

/// The session that is current.
fn current(world: &World) -> serde_json::Value {
    world.checkpoint(["status", "--json"]).success().stdout_json()["current"]["session"].clone()
}

/// Does it, then takes it back and does it again, three times.
fn back_and_forth(world: &World, args: &[&str]) {
    let before = state(world);
    world.checkpoint(args).success();
    let after = state(world);
    assert_ne!(before, after, "{args:?}");
    for round in 1..=3 {
        world.checkpoint(["undo"]).success();
        assert_eq!(state(world), before, "undo {round} of {args:?}");
        world.checkpoint(["redo"]).success();
        assert_eq!(state(world), after, "redo {round} of {args:?}");
    }
    world.checkpoint(["undo"]).success();
    assert_eq!(state(world), before, "{args:?}");
}

#[test]
fn everything_is_taken_back_and_done_again_as_often_as_one_likes() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.checkpoint(["task", "add", "first"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "hello"])
        .success();
    for n in 1..=4 {
        world.file("README.md", format!("{n}\n"));
        save(&world, &["-m", &format!("save {n}")]);
    }
    world.checkpoint(["start", "other"]).success();
    world.checkpoint(["switch", "auth"]).success();
    super::import::fixture(&world, "claude-mpm/good-411", "../elsewhere");
    for args in [
        &["fork", "auth~2", "--name", "try"][..],
        &["rename", "auth", "login"],
        &["delete", "other"],
        &["prune", "--keep-last", "1"],
        &["clear", "--messages", "--yes"],
        &["import", ELSEWHERE],
        &["finish", "-s", "done"],
    ] {
        back_and_forth(&world, args);
    }
    // The record, and records on top of one another.
    world.checkpoint(["task", "add", "second"]).success();
    save(&world, &["-m", "second"]);
    back_and_forth(&world, &["restore", "auth~1", "--record-only"]);
    let first = state(&world);
    world.checkpoint(["restore", "auth~1", "--record-only"]).success();
    world.checkpoint(["task", "add", "third"]).success();
    let second = state(&world);
    // What the restore took comes back with the checkpoint that has it, and what was noted since stays.
    world.checkpoint(["restore", "auth", "--record-only"]).success();
    let tasks = world.checkpoint(["task", "list"]);
    tasks.success().stdout_has("second").stdout_has("third");
    world.checkpoint(["undo"]).success();
    assert_eq!(state(&world), second);
    // The task came after what would be taken back.
    world.checkpoint(["undo"]).code(4).stderr_has("'task' (");
    let refused = world.checkpoint(["undo", "--older"]);
    refused.code(4).stderr_has("the record was changed or saved since");
    world.checkpoint(["undo", "--force"]).success();
    assert_eq!(state(&world), first);
    // A redo does not replace newer words either.
    world.checkpoint(["task", "add", "fourth"]).success();
    world.checkpoint(["redo"]).code(4).stderr_has("the record was changed");
    world.checkpoint(["task", "list"]).success().stdout_has("fourth");
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict"]).success();
}

/// What is refused, and why, when the thing itself was changed since; with the way to change it.
#[test]
fn what_has_moved_on_is_not_taken_back() {
    let start = || {
        let world = World::with_commit();
        world.checkpoint(["start", "auth"]).success();
        for n in 1..=3 {
            world.file("README.md", format!("{n}\n"));
            save(&world, &["-m", &format!("save {n}")]);
        }
        world.checkpoint(["start", "other"]).success();
        world.checkpoint(["switch", "auth"]).success();
        super::import::fixture(&world, "claude-mpm/good-411", "../elsewhere");
        world
    };
    // What is done, what is done to the same session then, and what is in the way.
    for (args, since, why) in [
        (
            &["fork", "auth~1", "--name", "try"][..],
            &["save", "--allow-empty", "-m", "on"][..],
            "session 'try' has changed since",
        ),
        (
            &["rename", "auth", "login"],
            &["save", "--allow-empty", "-m", "on"],
            "session 'login' has changed since",
        ),
        (
            &["rename", "other", "spare"],
            &["start", "other"],
            "the name 'other' is taken",
        ),
        (
            &["delete", "other"],
            &["start", "other"],
            "session 'other' exists again",
        ),
        (
            &["prune", "--keep-last", "1"],
            &["save", "--allow-empty", "-m", "on"],
            "session 'auth' has changed since",
        ),
        (
            &["import", ELSEWHERE],
            &[
                "save",
                "--session",
                "session-20260301-080001",
                "--allow-empty",
                "-m",
                "on",
            ],
            "session 'session-20260301-080001' has changed since",
        ),
        (
            &["finish", "-s", "done"],
            &["save", "--session", "auth", "--allow-empty", "-m", "on"],
            "changed since",
        ),
    ] {
        let world = start();
        world.checkpoint(args).success();
        let done = state(&world);
        world.checkpoint(since).success();
        assert_ne!(state(&world), done, "{since:?} after {args:?}");
        let now = state(&world);
        for _ in 0..2 {
            let refused = world.checkpoint(["undo", "--older"]);
            refused.code(4).no_stdout().stderr_has("cannot undo").stderr_has(why);
            assert_eq!(state(&world), now, "{args:?}");
        }
        world.checkpoint(["verify", "--all"]).success();
    }
    // Files and index: each path that is not as it was left is named.
    let world = start();
    world.file("README.md", "mine\n");
    world.file("new", "mine\n");
    world.checkpoint(["restore", "@~1", "--index"]).success();
    world.file("README.md", "changed since\n");
    world.file("new", "made again\n");
    let refused = world.checkpoint(["undo"]);
    refused
        .code(4)
        .stderr_has("2 paths changed since")
        .stderr_has("README.md")
        .stderr_has("  new");
    assert_eq!(world.read("README.md"), b"changed since\n");
    world.checkpoint(["undo", "--force"]).success();
    assert_eq!(world.read("README.md"), b"mine\n");
    world.checkpoint(["undo"]).code(1);
    // And what was there is a redo away.
    world.file("README.md", "once more\n");
    world.checkpoint(["redo"]).code(4).stderr_has("README.md");
    assert_eq!(world.read("README.md"), b"once more\n");
}

/// A session of another tool.
const ELSEWHERE: &str = "../elsewhere/.claude-mpm/sessions/pause/session-20260301-080001.json";

#[test]
fn what_is_not_part_of_it_is_not_in_its_way() {
    let world = World::with_commit();
    world.git(["init", "-q", "b"]).success();
    world.file("b/own", "x");
    save(&world, &["-m", "then"]);
    // With something of the index below, the repository was a directory like any.
    let blob = world.git_line(["rev-parse", "HEAD:README.md"]);
    let cached = format!("100644,{blob},b/x");
    world.git(["update-index", "--add", "--cacheinfo", &cached]).success();
    world.checkpoint(["restore", "@", "--index"]).success();
    world.checkpoint(["undo"]).success();
    assert_eq!(world.git_line(["ls-files", "b"]), "b/x");
    assert_eq!(world.read("b/own"), b"x");
}

#[test]
fn undo_is_for_each_work_tree() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.file("README.md", "one\n");
    save(&world, &["-m", "one"]);
    world
        .checkpoint(["fork", "@", "--name", "try", "--worktree", "../try"])
        .success();
    let there = |args: &[&str]| world.command(PROGRAM, args).within("../try").run();
    world.file("../try/README.md", "there\n");
    there(&["restore", "@"]).success();
    world.file("README.md", "here\n");
    world.checkpoint(["restore", "auth"]).success();
    // The last thing there is not the last thing here.
    there(&["undo"]).success();
    assert_eq!(
        (world.read("../try/README.md"), world.read("README.md")),
        (b"there\n".to_vec(), b"one\n".to_vec())
    );
    world.checkpoint(["undo"]).success();
    assert_eq!(world.read("README.md"), b"here\n");
    there(&["redo"]).success();
    assert_eq!(world.read("../try/README.md"), b"one\n");
    assert_eq!(world.read("README.md"), b"here\n");
}

const LIST: &str = ".git/checkpoint/undo.jsonl";

/// The list without its last line, which says that what was meant was done: what a kill right before leaves.
fn unsettled(world: &World) -> String {
    let list = String::from_utf8(world.read(LIST)).unwrap();
    let end = list.trim_end().rfind('\n').map_or(0, |at| at + 1);
    assert!(list[end..].starts_with("{\"settled\""), "{list}");
    list[..end].to_owned()
}

fn copy(world: &World, from: &str, to: &str) {
    world
        .command("sh", ["-c", &format!("rm -rf {to} && cp -a {from} {to}")])
        .run()
        .success();
}

/// Everything that moves refs, killed after they moved and before the list says so, and killed before they moved.
#[test]
fn what_was_killed_is_taken_back_if_it_was_done_and_else_unknown() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "hello"])
        .success();
    for n in 1..=4 {
        world.file("README.md", format!("{n}\n"));
        save(&world, &["-m", &format!("save {n}")]);
    }
    let exported = world.checkpoint(["export", "--format", "json", "auth"]);
    exported.success();
    world.file("../exported.json", exported.stdout());
    world.checkpoint(["start", "other"]).success();
    world.checkpoint(["delete", "other"]).success();
    world.checkpoint(["undo"]).success();
    world.checkpoint(["switch", "auth"]).success();
    world.checkpoint(["task", "add", "waits"]).success();
    for args in [
        &["fork", "auth~2", "--name", "try"][..],
        &["rename", "auth", "login"],
        &["delete", "auth"],
        &["prune", "--keep-last", "1"],
        &["finish", "-s", "done"],
        &["clear", "--messages", "--yes"],
        &["import", "../exported.json", "--session", "came"],
        &["restore", "auth~1", "--record-only"],
    ] {
        if args[0] == "clear" {
            // What waits would be saved in a checkpoint of its own first, and stay.
            save(&world, &["-m", "all"]);
        }
        copy(&world, ".git", "../before");
        let before = state(&world);
        world.checkpoint(args).success();
        let list = unsettled(&world);
        let after = state(&world);
        world.file(LIST, &list);
        // Done, and nobody could say so: the refs do.
        world.checkpoint(["undo"]).success();
        assert_eq!(state(&world), before, "{args:?}");
        world.checkpoint(["redo"]).success();
        assert_eq!(state(&world), after, "{args:?}");
        // Not done: what comes to the list next says so for good, and the redo that there was stays.
        copy(&world, "../before", ".git");
        world.file(LIST, &list);
        assert_eq!(state(&world), before, "{args:?}");
        let undo = world.checkpoint(["undo", "--dry-run"]);
        assert!(!undo.is_success(), "{args:?}: {}", undo.stdout());
        let redo = world.checkpoint(["redo"]);
        redo.success().stdout_has("other");
        world.checkpoint(["undo"]).success();
        copy(&world, "../before", ".git");
    }
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn a_finish_that_was_killed_before_its_draft_was_cleared_is_taken_back() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.checkpoint(["task", "add", "first"]).success();
    save(&world, &["-m", "one"]);
    world.checkpoint(["task", "add", "waits"]).success();
    copy(&world, ".git/checkpoint/drafts", "../drafts");
    copy(&world, ".git/checkpoint/current", "../current");
    let before = state(&world);
    world.checkpoint(["finish", "-s", "done"]).success();
    let list = unsettled(&world);
    world.file(LIST, list);
    copy(&world, "../drafts", ".git/checkpoint/drafts");
    copy(&world, "../current", ".git/checkpoint/current");
    world.checkpoint(["undo"]).success();
    assert_eq!(state(&world), before);
    save(&world, &["-m", "on"]);
    let tasks = world.checkpoint(["task", "list"]);
    tasks.success();
    assert_eq!(tasks.stdout().matches("waits").count(), 1, "{}", tasks.stdout());
}

#[test]
fn what_somebody_went_on_from_was_done() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "hello"])
        .success();
    save(&world, &["-m", "one"]);
    world.checkpoint(["clear", "--messages", "--yes"]).success();
    let list = unsettled(&world);
    world.file(LIST, list);
    world.file("README.md", "more\n");
    save(&world, &["-m", "two"]);
    let refused = world.checkpoint(["undo", "--older"]);
    refused.code(4).stderr_has("has changed since");
}

#[test]
fn a_session_is_current_from_the_moment_it_is_there() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    let id = world.checkpoint(["show", "auth", "--json"]).success().stdout_json()["document"]["session"]["id"].clone();
    let begun = |name: &str| format!("{{\"begun\":{{\"id\":{id},\"name\":\"{name}\"}}}}\n");
    // Killed after its ref came: it is what goes on. Killed before: there is none.
    world.file(".git/checkpoint/current", begun("auth"));
    assert_eq!(current(&world), "auth");
    world.checkpoint(["task", "add", "goes on"]).success();
    assert_eq!(
        world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints"]),
        "refs/checkpoints/auth"
    );
    world.file(".git/checkpoint/current", begun("never"));
    world.checkpoint(["log"]).code(3).stderr_has("no session is current");
}

/// A repository in the working tree is a part of it only as long as the index has files in it, and a restore of the index
/// changes that.
#[test]
fn files_in_a_repository_that_the_index_knew_come_back() {
    for with_commits in [false, true] {
        let world = World::with_commit();
        world.file("a", "then");
        save(&world, &["-m", "then"]);
        let own = world.path("b/x");
        world.git(["init".as_ref(), "-q".as_ref(), own.as_os_str()]).success();
        world.file("b/x/z", "now\r\n");
        world.file("b/x/stays", "of its own");
        if with_commits {
            let commit = ["commit", "-q", "--allow-empty", "-m", "its own"];
            let within = ["-C".as_ref(), own.as_os_str()];
            let all = within.into_iter().chain(commit.iter().map(std::ffi::OsStr::new));
            world.git(all).success();
        }
        // git refuses to add it by its path.
        let id = world.git_line(["hash-object", "-w", "b/x/z"]);
        let entry = format!("100644,{id},b/x/z");
        world.git(["update-index", "--add", "--cacheinfo", &entry]).success();
        let staged = world.git_line(["ls-files", "--stage", "b"]);

        let restored = world.checkpoint(["restore", "@", "--index", "--force"]);
        restored.success();
        assert!(!world.path("b/x/z").exists());
        assert!(world.path("b/x/.git/HEAD").exists());
        assert_eq!(world.git_line(["ls-files", "b"]), "");
        world.checkpoint(["undo"]).success();
        assert_eq!(world.read("b/x/z"), b"now\r\n");
        assert_eq!(world.read("b/x/stays"), b"of its own");
        assert_eq!(world.git_line(["ls-files", "--stage", "b"]), staged);
        world.checkpoint(["redo"]).success();
        assert!(!world.path("b/x/z").exists());
        assert_eq!(world.git_line(["ls-files", "b"]), "");
        world.checkpoint(["undo"]).success();
        assert_eq!(world.read("b/x/z"), b"now\r\n");

        // What came to the same place meanwhile is asked for, and then kept.
        world.checkpoint(["redo"]).success();
        world.file("b/x/z", "newer");
        world.checkpoint(["undo"]).code(4).stderr_has("b/x/z");
        assert_eq!(world.read("b/x/z"), b"newer");
        world.checkpoint(["undo", "--force"]).success();
        assert_eq!(world.read("b/x/z"), b"now\r\n");
        world.checkpoint(["redo"]).success();
        assert_eq!(world.read("b/x/z"), b"newer");
        world.git(["fsck", "--strict"]).success();
    }
}

#[test]
fn no_empty_directory_is_made_in_a_repository_that_is_ignored() {
    let world = World::with_commit();
    std::fs::create_dir_all(world.path("a/x")).unwrap();
    save(&world, &["-m", "then", "--allow-empty"]);
    std::fs::remove_dir(world.path("a/x")).unwrap();
    world.git(["init", "-q", "a"]).success();
    world.file(".gitignore", "a\n");
    world
        .checkpoint(["restore", "@", "--force"])
        .success()
        .stdout_lacks("failed");
    assert!(!world.path("a/x").exists());
    world.checkpoint(["undo"]).success();
    assert!(!world.path("a/x").exists());
    assert_eq!(world.read(".gitignore"), b"a\n");
}

#[test]
fn a_dry_run_tells_of_files_that_were_never_saved() {
    let world = World::with_commit();
    for text in ["one\n", "two\n"] {
        world.file("b", text);
        save(&world, &["-m", text.trim()]);
    }
    world.checkpoint(["restore", "@~1", "-q"]).success();
    world.file("b", "one\nz\n");
    // Asked of the file that would be written, and of no other.
    let told = world.checkpoint(["undo", "--dry-run"]);
    told.code(4).stderr_has("  b");
    assert_eq!(world.read("b"), b"one\nz\n");
    world.file("b", "one\n");
    world.file("c", "in no checkpoint\n");
    world.checkpoint(["undo", "--dry-run"]).success().stdout_has("b");
    assert_eq!(world.read("b"), b"one\n");
    world.checkpoint(["undo"]).success();
    world.file("c", "in none either\n");
    world.checkpoint(["redo", "--dry-run"]).success().stdout_has("b");
    world.file("b", "two\nz\n");
    world.checkpoint(["redo", "--dry-run"]).code(4).stderr_has("  b");
    assert_eq!(world.read("b"), b"two\nz\n");
}

#[test]
fn what_an_undo_gives_back_is_no_draft_where_the_checkpoint_has_it() {
    let world = World::with_commit();
    let draft = |world: &World| {
        let status = world.checkpoint(["status", "--json"]).success().stdout_json();
        let resumed = world.checkpoint(["resume", "--json"]).success().stdout_json();
        let found = &status["current"]["draft_operations"];
        assert_eq!(found, &resumed["draft_operations"], "{status}\n{resumed}");
        (found.as_u64(), status["something_to_save"].as_bool())
    };
    world.checkpoint(["start", "q1"]).success();
    save(&world, &["-m", "base", "-d", "keep v1"]);
    world.checkpoint(["finish", "-m", "x"]).success();
    world.checkpoint(["undo"]).success();
    assert_eq!(draft(&world), (Some(0), Some(false)));
    let status = world.checkpoint(["status"]);
    status.success();
    assert!(!status.stdout().contains("not saved yet"), "{}", status.stdout());
    world.checkpoint(["save"]).success().stdout_has("Nothing new");
    assert_eq!(draft(&world), (Some(0), Some(false)));
    // What the finish took in waits again.
    world.checkpoint(["task", "add", "waits"]).success();
    world.checkpoint(["finish", "-m", "y"]).success();
    world.checkpoint(["undo"]).success();
    let (found, dirty) = draft(&world);
    assert!(found > Some(0) && dirty == Some(true), "{found:?} {dirty:?}");
    save(&world, &["-m", "on"]);
    assert_eq!(draft(&world), (Some(0), Some(false)));
    // Nor is it one where all came to nothing.
    world.checkpoint(["task", "add", "never mind"]).success();
    assert_eq!(draft(&world), (Some(1), Some(true)));
    world.checkpoint(["task", "remove", "never mind"]).success();
    assert_eq!(draft(&world), (Some(0), Some(false)));
    world.checkpoint(["save"]).success().stdout_has("Nothing new");
}

#[test]
fn no_session_is_deleted_before_all_are_found() {
    let world = World::with_commit();
    for name in ["a", "b", "c"] {
        world.checkpoint(["start", name]).success();
    }
    let before = state(&world);
    world
        .checkpoint(["delete", "a", "b", "nope"])
        .code(3)
        .stderr_has("nope");
    assert_eq!(state(&world), before);
    // One that is meant twice is deleted once.
    world.checkpoint(["delete", "a", "b", "a"]).success();
    let sessions = world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints"]);
    assert_eq!(sessions, "refs/checkpoints/c");
}

#[test]
fn a_session_that_goes_to_the_trash_again_has_its_present_name_there() {
    let world = World::with_commit();
    let trash = |world: &World| {
        let listed = world.checkpoint(["list", "--trash", "--json"]).success().stdout_json();
        let rows = listed["sessions"].as_array().unwrap().iter();
        let mut names: Vec<_> = rows.map(|row| row["session"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    for name in ["a", "b"] {
        save(&world, &["--session", name, "--allow-empty", "-m", name]);
        world.checkpoint(["rename", name, &format!("{name}-now")]).success();
    }
    world.checkpoint(["delete", "a-now", "b-now"]).success();
    let deleted = trash(&world);
    assert_eq!(deleted, ["a-now", "b-now"]);
    for _ in 0..2 {
        world.checkpoint(["undo"]).success();
        assert!(trash(&world).is_empty());
        world.checkpoint(["redo"]).success();
        assert_eq!(trash(&world), deleted);
    }
    world.checkpoint(["undelete", "b-now"]).success();
    world.checkpoint(["undo"]).success();
    assert_eq!(trash(&world), deleted, "an undelete that is undone");
    world.checkpoint(["undelete", "a-now"]).success();
    assert_eq!(trash(&world), ["b-now"]);
}

/// A compaction by command is taken back with all that the chat had, saved or still in the draft.
#[test]
fn a_compaction_is_undone_and_redone() {
    for is_saved in [true, false] {
        let world = World::with_commit();
        world.checkpoint(["start", "s"]).success();
        for n in 1..=12 {
            world
                .checkpoint([
                    "message",
                    "add",
                    "--role",
                    "user",
                    &format!("message {n} with some more words"),
                ])
                .success();
        }
        world.checkpoint(["todo", "add", "something"]).success();
        if is_saved {
            world.checkpoint(["save", "-m", "all"]).success();
        }
        let chat = |world: &World, full: bool| {
            let line = ["message", "list", "--json", "--full"];
            let line = if full { &line[..] } else { &line[..3] };
            world.checkpoint(line).success().stdout_json()["messages"].clone()
        };
        let todos = |world: &World| world.checkpoint(["todo", "list"]).success().stdout().to_owned();
        let (before, whole, listed) = (chat(&world, false), chat(&world, true), todos(&world));
        world.checkpoint(["compact", "--force"]).success();
        let compacted = chat(&world, false);
        assert_ne!(compacted, before);
        let tip = world.git_line(["rev-parse", "refs/checkpoints/s"]);
        world.checkpoint(["undo"]).success().stdout_has("compacted the chat");
        let parent = world.git_line(["rev-parse", &format!("{tip}^")]);
        assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/s"]), parent);
        assert_eq!((chat(&world, false), chat(&world, true)), (before, whole.clone()));
        assert_eq!(todos(&world), listed);
        world.checkpoint(["redo"]).success();
        assert_eq!((chat(&world, false), chat(&world, true)), (compacted, whole));
        world.checkpoint(["undo"]).success();
        // What is said after it is no obstacle, and stays.
        world.checkpoint(["compact", "--force"]).success();
        world
            .checkpoint(["message", "add", "--role", "user", "one more"])
            .success();
        world.checkpoint(["undo", "--older"]).success();
        let now = chat(&world, true);
        let all = now.as_array().unwrap();
        assert_eq!(all.len(), 13);
        assert_eq!(all[12]["content"], "one more");
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// Where a summary gains nothing, and where there is nothing to summarize, the plan and the command say so.
#[test]
fn a_compaction_without_gain_is_no_failure() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "s"]).success();
    let verdict = |text: &str| {
        let refs = world.git_line(["for-each-ref"]);
        for line in [&["compact", "--force", "-n"][..], &["compact", "--force"]] {
            world
                .checkpoint(line)
                .success()
                .stdout_has(text)
                .stdout_lacks("--force");
            assert_eq!(world.git_line(["for-each-ref"]), refs);
        }
    };
    verdict("main has no messages");
    world.checkpoint(["message", "add", "--role", "user", "hi"]).success();
    verdict("a summary would be as long as what it replaces");
    world.checkpoint(["save", "-m", "with it"]).success();
    verdict("a summary would be as long as what it replaces");
}

/// What a save prunes automatically is no command of its own: the last command is the save.
#[test]
fn undo_does_not_take_an_automatic_prune_for_the_save() {
    for command in ["save", "pause"] {
        let world = World::with_commit();
        world.git(["config", "checkpoint.autoPrune", "true"]).success();
        world.git(["config", "checkpoint.keepLast", "1"]).success();
        for n in 1..=3 {
            world.advance(60);
            world.file("f", format!("{n}\n"));
            world.checkpoint(["save", "-m", &format!("n{n}")]).success();
        }
        world.advance(60);
        world.file("f", "last\n");
        world.checkpoint([command, "-m", "last"]).success();
        let refs = world.git_line(["for-each-ref"]);
        world
            .checkpoint(["undo"])
            .code(4)
            .stderr_has(&format!("'{command}'"))
            .stderr_has("cannot be undone");
        assert_eq!(world.git_line(["for-each-ref"]), refs);
        world.checkpoint(["undo", "--older"]).success().stdout_has("pruned");
        assert_ne!(world.git_line(["for-each-ref"]), refs);
    }
}

/// Each working tree has a list of its own: what another one saved in the same session is no later command here.
#[test]
fn a_save_in_another_working_tree_does_not_stop_an_undo_here() {
    let world = World::with_commit();
    world.git(["worktree", "add", "-q", "../other", "-b", "wb"]).success();
    save(&world, &["--session", "s", "-m", "one", "--allow-empty"]);
    world.checkpoint(["start", "x"]).success();
    world.checkpoint(["switch", "s"]).success();
    world.enter("other");
    world.checkpoint(["switch", "s"]).success();
    world.enter("repo");
    world.checkpoint(["delete", "x"]).success();
    world.enter("other");
    for n in ["two", "three"] {
        save(&world, &["-m", n, "--allow-empty"]);
    }
    world.enter("repo");
    world.checkpoint(["undo"]).success().stdout_has("deleted session x");
    world
        .git(["rev-parse", "-q", "--verify", "refs/checkpoints/x"])
        .success();
    // One that was saved here is, also below others.
    world.checkpoint(["delete", "x"]).success();
    save(&world, &["-m", "here", "--allow-empty"]);
    world.enter("other");
    save(&world, &["-m", "four", "--allow-empty"]);
    world.enter("repo");
    world.checkpoint(["undo"]).code(4).stderr_has("'save'");
    world.git(["rev-parse", "-q", "--verify", "refs/checkpoints/x"]).code(1);
}

/// What was purged is the reason that is given, of each path.
#[test]
fn an_undo_whose_files_were_purged_says_so() {
    let world = World::with_commit();
    for n in 1..=2 {
        world.file("secret.env", format!("{n}\n"));
        world.file("other.env", format!("{n}\n"));
        save(&world, &["-m", &format!("save {n}")]);
    }
    let before = world.read("secret.env");
    world.checkpoint(["restore", "main~1"]).success();
    assert_ne!(world.read("secret.env"), before);
    world
        .checkpoint(["purge", "-y", "--", "secret.env", "other.env"])
        .success();
    let refused = world.checkpoint(["undo", "--older"]);
    refused.code(4);
    for path in ["secret.env", "other.env"] {
        let line = refused.stderr().lines().find(|line| line.contains(path));
        let line = line.unwrap_or_else(|| panic!("{}", refused.stderr()));
        assert!(line.contains("purged"), "{line}");
    }
}

/// That the last command was another one is known before its predecessor is undone.
#[test]
fn a_command_that_changed_nothing_is_named_before_the_undo() {
    let world = World::with_commit();
    world.file("README.md", "one\n");
    save(&world, &["-m", "one"]);
    world.file("README.md", "two\n");
    world.checkpoint(["restore", "@"]).success();
    world.checkpoint(["resume"]).success();
    let undone = world.typed(&format!("'{PROGRAM}' undo 2>&1"));
    undone.success();
    let at = |text: &str| {
        undone
            .stdout()
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {}", undone.stdout()))
    };
    assert!(
        at("changed nothing; undo comes to") < at("Undid "),
        "{}",
        undone.stdout()
    );
}
