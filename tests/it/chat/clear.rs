//! Clearing, forking, finishing, and what undo gives back of the chat.

use super::{messages, say, session};

#[test]
fn clearing_keeps_the_record_and_is_undone() {
    let world = session();
    world.file("context.md", "context\n");
    world.checkpoint(["context", "set", "context.md"]).success();
    say(&world, "user", "one");
    world.checkpoint(["save", "-m", "x", "-d", "keep v1"]).success();
    say(&world, "user", "two, not saved yet");
    world.checkpoint(["clear", "--messages"]).code(129).stderr_has("--yes");
    world
        .checkpoint(["clear", "--messages", "--yes"])
        .success()
        .stdout_has("Cleared messages of s");
    assert!(messages(&world).is_empty());
    let document = world.git_line(["show", "checkpoints/s:checkpoint.json"]);
    assert!(document.contains("keep v1") && !document.contains("\"chat\""));
    world
        .checkpoint(["clear", "--messages", "--yes"])
        .success()
        .stdout_has("Nothing to clear");
    world.checkpoint(["undo"]).success().stdout_has("cleared the chat");
    assert_eq!(messages(&world).len(), 2, "also the one that was not saved");
    world.checkpoint(["redo"]).success();
    assert!(messages(&world).is_empty());
    world.checkpoint(["undo"]).success();
    world.checkpoint(["clear", "--all", "-y"]).success();
    let document = world.git_line(["show", "checkpoints/s:checkpoint.json"]);
    assert!(!document.contains("keep v1"), "{document}");
    world.git(["show", "checkpoints/s:context.md"]).code(128);
    world.checkpoint(["undo"]).success();
    assert!(
        world
            .git_line(["show", "checkpoints/s:checkpoint.json"])
            .contains("keep v1")
    );
    assert_eq!(world.git_line(["show", "checkpoints/s:context.md"]), "context");
    world.checkpoint(["verify", "--all"]).success();
}

/// What the clear saved first is part of it, so what was done before it can be taken back as well.
#[test]
fn what_was_done_before_a_clear_is_undone_after_it() {
    for before in [
        &["rename", "s", "t"][..],
        &["fork", "@", "--name", "other", "--no-switch"],
        &["prune", "--keep-last", "1"],
    ] {
        let world = session();
        say(&world, "user", "one");
        for n in 1..=3 {
            world.file("README.md", format!("{n}\n"));
            world.checkpoint(["save", "-d", &format!("decided {n}")]).success();
        }
        let first = world.git_line(["rev-parse", "checkpoints/s"]);
        let at = |name: &str| {
            let refs = world.git_line([
                "for-each-ref",
                "--format=%(objectname)",
                &format!("refs/checkpoints/{name}"),
            ]);
            refs.trim().to_owned()
        };
        if !world.checkpoint(before).is_success() {
            assert_eq!(before[0], "fork", "{before:?}");
            world.checkpoint(["fork", "@", "--name", "other"]).success();
            world.checkpoint(["switch", "s"]).success();
        }
        let name = if before[0] == "rename" { "t" } else { "s" };
        let tip = at(name);
        say(&world, "user", "waits");
        world.checkpoint(["decision", "add", "waits too"]).success();
        world.file("README.md", "changed\n");
        let decisions = || world.checkpoint(["decision", "list"]).success().stdout().to_owned();
        let decided = decisions();
        assert!(
            decided.contains("waits too") && decided.contains("decided 3"),
            "{decided}"
        );
        for round in 0..2 {
            world.checkpoint(["clear", "--messages", "--yes"]).success();
            assert!(messages(&world).is_empty());
            assert_eq!(decisions(), decided);
            for again in [false, true] {
                if again {
                    world.checkpoint(["redo"]).success().stdout_has("cleared the chat");
                    assert!(messages(&world).is_empty(), "{before:?}, round {round}");
                    assert_eq!(decisions(), decided);
                }
                world.checkpoint(["undo"]).success().stdout_has("cleared the chat");
                assert_eq!(at(name), tip, "{before:?}, round {round}");
                assert_eq!(messages(&world).len(), 2, "{before:?}, round {round}");
                assert_eq!(decisions(), decided);
            }
        }
        world.checkpoint(["undo", "--older"]).success();
        assert_eq!(at("s"), first, "{before:?}");
        world.checkpoint(["save"]).success();
        let document = world.git_line(["show", "checkpoints/s:checkpoint.json"]);
        assert!(document.contains("\"messages\": 2"), "{document}");
        assert_eq!(document.matches("waits too").count(), 1, "{document}");
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// What was said after a clear comes after what was said before it.
#[test]
fn an_undone_clear_keeps_the_order_of_the_messages() {
    let world = session();
    say(&world, "user", "one");
    world.checkpoint(["clear", "--messages", "--yes"]).success();
    say(&world, "user", "two");
    world.checkpoint(["undo", "--older"]).success();
    let listed = world
        .checkpoint(["message", "list", "--json"])
        .success()
        .stdout()
        .to_owned();
    let (one, two) = (listed.find("\"one\""), listed.find("\"two\""));
    assert!(one.is_some() && one < two, "{listed}");
}

#[test]
fn a_fork_has_the_chat_and_an_undone_finish_gives_it_back() {
    let world = session();
    say(&world, "user", "one");
    world.checkpoint(["save"]).success();
    world.checkpoint(["fork", "@", "--name", "t"]).success();
    assert_eq!(messages(&world).len(), 1);
    say(&world, "user", "two");
    world.checkpoint(["save"]).success();
    assert_eq!(messages(&world).len(), 2);
    world.checkpoint(["switch", "s"]).success();
    assert_eq!(messages(&world).len(), 1, "the source stays as it was");
    say(&world, "user", "last words");
    world.checkpoint(["finish"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "--session", "s", "late"])
        .code(4)
        .stderr_has("completed");
    world.checkpoint(["undo"]).success();
    assert_eq!(messages(&world).len(), 2, "what was said waits again");
    world.checkpoint(["redo"]).success();
    let list = ["message", "list", "--session", "s", "--json"];
    assert_eq!(
        world.checkpoint(list).success().stdout_json()["total"],
        2,
        "and is there once"
    );
    // To and fro as often as one likes, and nothing waits behind a finished session.
    for _ in 0..2 {
        world.checkpoint(["undo"]).success().stdout_has("finished session s");
        assert_eq!(messages(&world).len(), 2);
        world.checkpoint(["redo"]).success();
    }
    let list = world.checkpoint(["list", "--all", "--json"]).success().stdout_json();
    let finished = list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["session"] == "s");
    assert_eq!(finished.unwrap()["status"], "completed");
    world.checkpoint(["undo"]).success();
    world.checkpoint(["decision", "add", "keep v1"]).success();
    world
        .checkpoint(["redo"])
        .code(4)
        .stderr_has("the record was changed or saved since");
    world.checkpoint(["save"]).success();
    let document = world.git_line(["show", "checkpoints/s:checkpoint.json"]);
    assert!(
        document.contains("keep v1") && document.contains("\"messages\": 2"),
        "{document}"
    );
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn a_restored_record_is_undone_and_redone_as_often_as_one_likes() {
    let world = session();
    world.checkpoint(["save", "-d", "first", "--name", "one"]).success();
    world.checkpoint(["save", "-d", "second"]).success();
    world.checkpoint(["restore", "one", "--record-only"]).success();
    let decisions = || {
        let shown = world.checkpoint(["decision", "list", "--json"]);
        shown.success().stdout().matches("second").count()
    };
    for _ in 0..2 {
        assert_eq!(decisions(), 0);
        world.checkpoint(["undo"]).success();
        assert_eq!(decisions(), 1);
        world.checkpoint(["redo"]).success();
    }
}
