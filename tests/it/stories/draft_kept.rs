//! What waits in a draft is kept, whatever becomes of the checkpoint that took it in.

use serde_json::Value;

use crate::support::World;

fn json(world: &World, args: &[&str]) -> Value {
    world.checkpoint([args, &["--json"]].concat()).success().stdout_json()
}

/// Everything that a session has, saved or not: steps, notes, context and items.
fn all(world: &World, session: &str) -> Vec<Value> {
    let of = |args: &[&str], member: &str| json(world, &[args, &["--session", session]].concat())[member].clone();
    let steps = json(world, &["step", "list", session])["steps"].clone();
    let mut notes = json(world, &["log", "--notes", session])["notes"].clone();
    for note in notes.as_array_mut().unwrap() {
        note.as_object_mut().unwrap().remove("saved");
    }
    vec![
        steps,
        notes,
        of(&["context", "show"], "text"),
        of(&["task", "list"], "items"),
    ]
}

/// What came of the draft is on disk as git sees it.
fn stored(world: &World, file: &str) -> String {
    let tree = world.git_line(["ls-tree", "-r", "--name-only", "refs/checkpoints/s"]);
    let found = tree.lines().find(|name| name.starts_with(file));
    let file = found.unwrap_or_else(|| panic!("no {file} in {tree}"));
    world.git_line(["show", &format!("refs/checkpoints/s:{file}")])
}

/// Encrypts what is saved from now on, to a key that is used here.
#[cfg(feature = "encryption")]
fn encrypt(world: &World) {
    use age_format::secrecy::ExposeSecret as _;
    let key = age_format::x25519::Identity::generate();
    world.file("../age.key", key.to_string().expose_secret());
    let file = world.root().join("age.key");
    world
        .git(["config", "checkpoint.identity", file.to_str().unwrap()])
        .success();
    world
        .git(["config", "checkpoint.encryptTo", &key.to_public().to_string()])
        .success();
}

/// A draft with one of everything, upon a saved step, note and context.
fn filled(world: &World) {
    world.file("../old.md", "old context");
    world.file("../new.md", "new context");
    world.checkpoint(["start", "s"]).success();
    for args in [
        &["step", "start", "lexer", "--objective", "old"][..],
        &["note", "first note"],
        &["context", "set", "../old.md"],
        &["save", "-m", "base"],
        &["step", "done", "lexer", "--context", "the result"],
        &["step", "start", "parser", "--issue", "#7"],
        &["note", "second note"],
        &["note", "third note"],
        &["context", "set", "../new.md"],
        &["task", "add", "port it"],
    ] {
        world.checkpoint(args).success();
    }
}

#[test]
fn the_whole_draft_waits_again_after_a_finish_or_clear_was_undone() {
    for done in [&["finish", "-m", "done"][..], &["clear", "--messages", "--yes"]] {
        let is_finish = done[0] == "finish";
        for encrypted in [false, true] {
            let world = World::with_commit();
            if encrypted {
                #[cfg(feature = "encryption")]
                encrypt(&world);
            }
            filled(&world);
            world
                .checkpoint(["message", "add", "--role", "user", "hello"])
                .success();
            let before = all(&world, "s");
            let tip = world.git_line(["rev-parse", "refs/checkpoints/s"]);
            world.checkpoint(done).success();
            for round in 1..=2 {
                world.checkpoint(["undo"]).success();
                assert_eq!(all(&world, "s"), before, "undo {round} of {done:?}");
                // A clear saves a draft of this kind in a checkpoint of its own, which stays.
                let now = world.git_line(["rev-parse", "refs/checkpoints/s"]);
                assert_eq!(now == tip, is_finish, "{done:?}");
                if round == 1 {
                    // The redo does not take it in twice.
                    world.checkpoint(["redo"]).success();
                    assert_eq!(all(&world, "s"), before, "redo of {done:?}");
                }
            }
            let status = json(&world, &["status"]);
            assert_eq!(status["something_to_save"], is_finish, "{status}");
            world.checkpoint(["save", "--allow-empty", "-m", "on"]).success();
            assert_eq!(all(&world, "s"), before, "{done:?}");
            assert_eq!(json(&world, &["status"])["something_to_save"], false, "{done:?}");
            if !encrypted {
                let log = stored(&world, "log/");
                for note in ["first note", "second note", "third note"] {
                    assert_eq!(log.matches(note).count(), 1, "{log}");
                }
                assert_eq!(stored(&world, "context.md"), "new context");
            }
        }
    }
}

#[test]
fn what_was_noted_after_the_undo_stays_when_the_finish_is_redone() {
    let world = World::with_commit();
    filled(&world);
    world.checkpoint(["finish", "-m", "done"]).success();
    world.checkpoint(["undo"]).success();
    world.checkpoint(["note", "fourth note"]).success();
    world.checkpoint(["redo"]).success();
    world.checkpoint(["save", "--session", "s", "-m", "on"]).success();
    let log = stored(&world, "log/");
    for note in ["first note", "second note", "third note", "fourth note"] {
        assert_eq!(log.matches(note).count(), 1, "{log}");
    }
}

#[test]
fn a_recovered_autosave_has_the_steps_of_the_draft() {
    let world = World::with_commit();
    filled(&world);
    let before = all(&world, "s");
    world.checkpoint(["watch", "--once"]).success();
    // A step alone is something to save too.
    world
        .checkpoint(["step", "fail", "parser", "--error", "a stack overflow"])
        .success();
    let autosaved = world.checkpoint(["watch", "--once"]);
    autosaved.success();
    assert!(!autosaved.stdout().contains("Nothing new"), "{}", autosaved.stdout());
    world
        .checkpoint(["watch", "--once"])
        .success()
        .stdout_has("Nothing new");
    let expected = all(&world, "s");
    assert_ne!(before, expected);
    world.checkpoint(["resume"]).success();
    assert_eq!(all(&world, "s"), expected);
    let steps = world.git_line(["ls-tree", "-r", "--name-only", "refs/checkpoints/s", "steps/"]);
    assert_eq!(steps.lines().count(), 2, "{steps}");
    world.checkpoint(["save", "--allow-empty", "-m", "on"]).success();
    assert_eq!(all(&world, "s"), expected);
    let parser = world.git(["grep", "-h", "a stack overflow", "refs/checkpoints/s", "--", "steps"]);
    parser.success().stdout_has("a stack overflow");
}

#[test]
fn integers_of_any_length_are_stored_by_every_command() {
    let large = [
        "18446744073709551616",
        "-9223372036854775809",
        "123456789012345678901234567890123",
    ];
    for number in large {
        let world = World::with_commit();
        world.checkpoint(["save", "-m", "base", "--allow-empty"]).success();
        let object = format!("{{\"id\": {number}, \"list\": [{number}]}}");
        let state = |world: &World| world.checkpoint(["state", "get"]).success().stdout().to_owned();
        world.checkpoint(["state", "set", &object]).success();
        assert_eq!(state(&world).matches(number).count(), 2, "{}", state(&world));
        world
            .checkpoint(["state", "patch", &format!("{{\"b\": {number}}}")])
            .success();
        world.checkpoint(["state", "set", "--at", "/c", "--", number]).success();
        assert_eq!(state(&world).matches(number).count(), 4, "{}", state(&world));
        let saved = world.checkpoint(["save", "-m", "s"]);
        saved.success();
        assert_eq!(saved.stderr(), "");
        let document = world.git_line(["show", "refs/checkpoints/main:checkpoint.json"]);
        assert_eq!(document.matches(number).count(), 4, "{document}");
        // What brings a record back writes it through the draft.
        world.checkpoint(["state", "set", "1"]).success();
        world.checkpoint(["save", "-m", "other"]).success();
        world.checkpoint(["restore", "@~1", "--record-only"]).success();
        assert_eq!(state(&world).matches(number).count(), 4, "{}", state(&world));
        world.checkpoint(["undo"]).success();
        assert_eq!(state(&world).trim(), "1");
        world.checkpoint(["redo"]).success();
        world.checkpoint(["finish", "-m", "f"]).success();
        world.checkpoint(["undo"]).success();
        world.checkpoint(["save", "--allow-empty", "-m", "on"]).success();
        assert_eq!(state(&world).matches(number).count(), 4, "{}", state(&world));
        // Members that this version does not know.
        let record = format!("{{\"zzz\": {number}, \"decisions\": [{{\"text\": \"d\", \"cost\": {number}}}]}}");
        world.file("../record.json", &record);
        world
            .checkpoint(["save", "--allow-empty", "--record", "../record.json"])
            .success();
        world.file("../decision.json", format!("{{\"text\": \"e\", \"cost\": {number}}}"));
        world
            .checkpoint(["decision", "add", "--json-input", "../decision.json"])
            .success();
        world.checkpoint(["save", "-m", "last"]).success();
        let document = world.git_line(["show", "refs/checkpoints/main:checkpoint.json"]);
        assert_eq!(document.matches(number).count(), 7, "{document}");
        world.checkpoint(["verify", "--all"]).success();
    }
    // One that has no place is refused in plain words.
    let world = World::with_commit();
    world.file("../record.json", format!("{{\"iteration\": {}}}", large[0]));
    let refused = world.checkpoint(["save", "--record", "../record.json"]);
    refused.code(128).stderr_has("it must be a whole number");
    assert!(!refused.stderr().contains("128"), "{}", refused.stderr());
}

#[test]
fn items_of_a_finished_session_are_not_changed_in_another_one() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    for args in [
        &["approval", "ask", "deploy?"][..],
        &["task", "add", "T1"],
        &["todo", "add", "write it"],
        &["question", "add", "why?"],
        &["blocker", "add", "no key"],
        &["fork-point", "add", "which?", "--option", "a:one", "--option", "b:two"],
        &["partition", "set", "ana", "src"],
        &["open-file", "README.md"],
        &["state", "set", "{\"a\": {\"b\": 1}}"],
        &["step", "start", "build"],
        &["finish", "-m", "done"],
    ] {
        world.checkpoint(args).success();
    }
    for args in [
        &["approval", "answer", "1", "approve"][..],
        &["task", "done", "1"],
        &["task", "remove", "1"],
        &["task", "add", "T2", "--depends-on", "1"],
        &["todo", "done", "1"],
        &["question", "answer", "1", "because"],
        &["blocker", "clear", "1"],
        &["fork-point", "decide", "1", "a"],
        &["partition", "clear", "ana"],
        &["open-file", "README.md", "--close"],
        &["step", "done", "build", "--context", "built"],
    ] {
        let refused = world.checkpoint(args);
        refused.code(3).stderr_has("git checkpoint resume s");
        assert_eq!(refused.stdout(), "", "{args:?}");
        if args[0] != "step" {
            refused.stderr_has("--session s");
        }
    }
    // No session was made for what was refused, and reading still works.
    assert_eq!(
        world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints"]),
        "refs/checkpoints/s"
    );
    world.checkpoint(["task", "list"]).success().stdout_has("T1");
    // With the session named, it is that one that changes.
    world.checkpoint(["task", "done", "1", "--session", "s"]).success();
    let tasks = json(&world, &["task", "list", "--session", "s"]);
    assert_eq!(tasks["items"][0]["status"], "done", "{tasks}");
}

#[test]
fn lists_of_a_session_that_was_left_are_read_by_one_rule() {
    for left in ["pause", "finish"] {
        let world = World::with_commit();
        world.file("../old.md", "a context");
        world.checkpoint(["start", "s"]).success();
        for args in [
            &["step", "start", "build"][..],
            &["message", "add", "--role", "user", "hi"],
            &["context", "set", "../old.md"],
            &["task", "add", "T1"],
        ] {
            world.checkpoint(args).success();
        }
        world.checkpoint([left, "-m", "later"]).success();
        for (args, text) in [
            (&["task", "list"][..], "T1"),
            (&["step", "list"], "build"),
            (&["step", "show", "build"], "build"),
            (&["message", "list"], "hi"),
            (&["context", "show"], "a context"),
        ] {
            world.checkpoint(args).success().stdout_has(text);
        }
        world.checkpoint(["tokens"]).success();
        // A change continues a paused session; not one that was finished.
        let done = world.checkpoint(["step", "done", "build", "--context", "built"]);
        if left == "pause" {
            done.success();
            assert_eq!(json(&world, &["step", "list"])["steps"][0]["status"], "done");
        } else {
            done.code(3);
        }
    }
}
