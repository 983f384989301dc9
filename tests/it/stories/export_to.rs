//! `checkpoint.exportTo`: the file follows every kind of checkpoint and autosave, and nothing else.

use std::fs;
use std::time::SystemTime;

use serde_json::json;

use crate::support::{PROGRAM, World};

fn exported() -> World {
    let world = World::with_commit();
    world
        .git(["config", "checkpoint.exportTo", "handoff:HANDOFF.md"])
        .success();
    world
}

fn text(world: &World) -> String {
    fs::read_to_string(world.path("HANDOFF.md")).unwrap_or_default()
}

fn modified(world: &World) -> SystemTime {
    fs::metadata(world.path("HANDOFF.md")).unwrap().modified().unwrap()
}

#[test]
fn events_and_autosaves_rewrite_it() {
    let world = exported();
    world
        .git(["config", "checkpoint.saveOn", "task-complete step-done"])
        .success();
    world.checkpoint(["save", "-m", "first", "--session", "s"]).success();
    world.checkpoint(["switch", "s"]).success();
    world.checkpoint(["task", "add", "port the lexer"]).success();
    assert!(!text(&world).contains("port the lexer"), "a draft is no checkpoint");
    world.checkpoint(["task", "done", "1"]).success();
    assert!(text(&world).contains("port the lexer"));
    world.checkpoint(["step", "start", "build it"]).success();
    world
        .checkpoint(["step", "done", "build it", "--context", "it builds"])
        .success();
    assert!(text(&world).contains("build it"), "{}", text(&world));
    // An autosave has the draft.
    world.checkpoint(["todo", "add", "mind the tables"]).success();
    world.checkpoint(["watch", "--once"]).success();
    assert!(text(&world).contains("mind the tables"));
    world.checkpoint(["watch", "--once"]).success();
    let before = modified(&world);
    world.checkpoint(["watch", "--once"]).success();
    world.checkpoint(["watch", "--once"]).success();
    assert_eq!(modified(&world), before, "nothing changed");
    // An amended checkpoint is another one.
    world.checkpoint(["save", "-m", "second"]).success();
    world.checkpoint(["save", "--amend", "-m", "other words"]).success();
    assert!(text(&world).contains("other words"));
}

#[test]
fn a_turn_rewrites_it_and_the_file_is_no_edit_of_a_person() {
    let world = exported();
    fs::create_dir_all(world.home().join(".claude")).unwrap();
    world.checkpoint(["enable", "claude-code"]).success();
    let hook = |name: &str, prompt: &str, key: &str| {
        let payload = json!({
            "session_id": "6f1c", "cwd": world.repo().to_str().unwrap(), "hook_event_name": name,
            "transcript_path": world.home().join("none.jsonl").to_str().unwrap(),
            "prompt": prompt, "prompt_id": key,
        });
        let hook = world
            .command(PROGRAM, ["hook", "claude-code", name])
            .input(payload.to_string());
        // The worker itself, which the hook of the agent does not wait for.
        hook.env("CHECKPOINT_AGENT_HOOK", "worker").run().success();
    };
    for n in 1..3 {
        hook("UserPromptSubmit", &format!("do part {n}"), &format!("p{n}"));
        world.file("work", format!("part {n}\n"));
        hook("Stop", "", &format!("p{n}"));
        assert!(text(&world).contains("work") || n == 2, "{}", text(&world));
    }
    let kinds = world.git_line([
        "log",
        "--first-parent",
        "--format=%(trailers:key=Checkpoint-Kind,valueonly,separator=)",
        "refs/checkpoints/main",
    ]);
    assert_eq!(kinds.lines().collect::<Vec<_>>(), ["turn", "turn", "edit", "start"]);
    // What a person edits is still saved as such.
    world.file("work", "by hand\n");
    hook("UserPromptSubmit", "do part 3", "p3");
    let tip = world.git_line([
        "log",
        "-1",
        "--format=%(trailers:key=Checkpoint-Kind,valueonly,separator=)",
        "refs/checkpoints/main",
    ]);
    assert_eq!(tip, "edit");
}

#[test]
fn a_file_of_the_user_is_never_overwritten() {
    let world = World::with_commit();
    world.file(".gitignore", "notes.md\n");
    world.file("notes.md", "my own notes\n");
    world
        .git(["config", "--add", "checkpoint.exportTo", "handoff:notes.md"])
        .success();
    world
        .git(["config", "--add", "checkpoint.exportTo", "markdown:docs/deep/S.md"])
        .success();
    world
        .checkpoint(["save", "-m", "first"])
        .success()
        .stderr_has("not one that this program wrote; to let it be written: rm notes.md");
    assert_eq!(world.read("notes.md"), b"my own notes\n");
    assert!(world.path("docs/deep/S.md").exists(), "directories are made");
    fs::remove_file(world.path("notes.md")).unwrap();
    world
        .checkpoint(["save", "-m", "second"])
        .success()
        .stderr_lacks("not one that");
    assert!(String::from_utf8(world.read("notes.md")).unwrap().contains("second"));
    // What the user writes into it afterwards is in no checkpoint: git ignores it.
    world.file("notes.md", "# Hand-off: main\nmine now\n");
    world
        .checkpoint(["save", "-m", "third"])
        .success()
        .stderr_has("to let it be written");
    assert!(String::from_utf8(world.read("notes.md")).unwrap().contains("mine now"));
}

#[test]
fn the_own_file_is_no_change() {
    let world = exported();
    world.checkpoint(["save", "-m", "one"]).success();
    world.checkpoint(["save"]).success().stdout_has("Nothing new");
    let resumed = world.checkpoint(["resume", "--fail-on-drift"]);
    resumed
        .success()
        .stdout_lacks("HANDOFF.md")
        .stdout_has("nothing uncommitted");
    world.file("work", "half\n");
    world.checkpoint(["pause", "--clean", "-m", "two"]).success();
    assert!(!world.path("work").exists());
    world.checkpoint(["resume", "--apply"]).success();
    assert_eq!(world.read("work"), b"half\n");
    // An edit of the user is one.
    world.checkpoint(["save", "-m", "three"]).success();
    world.file("HANDOFF.md", "by hand\n");
    world.checkpoint(["save"]).success().stdout_lacks("Nothing new");
}

#[test]
fn the_own_file_is_in_no_checkpoint_and_stays_on_disk() {
    let world = exported();
    world
        .git(["config", "--add", "checkpoint.exportTo", "markdown:docs/a b[1]*.md"])
        .success();
    for summary in ["one", "two"] {
        world.checkpoint(["save", "-m", summary]).success().stdout_has("clean");
    }
    world
        .checkpoint(["status"])
        .success()
        .stdout_lacks("untracked")
        .stdout_lacks("HANDOFF.md");
    assert!(!text(&world).contains("untracked: HANDOFF.md"), "{}", text(&world));
    let files = || world.git_line(["ls-tree", "-r", "--name-only", "refs/checkpoints/main^2"]);
    let saved = files();
    assert!(saved.contains("src/main.txt"), "{saved}");
    assert!(!saved.contains("HANDOFF.md") && !saved.contains("a b"), "{saved}");
    world.file("work", "half\n");
    world
        .checkpoint(["pause", "--clean", "-m", "three"])
        .success()
        .stdout_lacks("HANDOFF.md");
    assert!(world.path("HANDOFF.md").exists() && world.path("docs/a b[1]*.md").exists());
    world
        .checkpoint(["resume", "--apply"])
        .success()
        .stdout_lacks("HANDOFF.md");
    assert_eq!(world.read("work"), b"half\n");
    // A file with words of a person is saved.
    world.file("HANDOFF.md", "by hand\n");
    world
        .checkpoint(["save", "-m", "four"])
        .success()
        .stdout_has("2 untracked");
    let saved = files();
    assert!(saved.contains("HANDOFF.md"), "{saved}");
}
