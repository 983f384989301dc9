//! A pull that parts a session: what is not saved yet goes along with what was only here.

use super::{at, clone, log, save, shared};
use crate::support::World;

/// A session `auth` that went on here and in the clone `bob`, not pulled yet.
fn diverged() -> World {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["switch", "auth"]).success();
    world.file("bob", "of bob");
    save(&world, "bob's");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    save(&world, "ana's");
    world
}

/// Pulls, and gives the session that holds what was only here.
fn part(world: &World) -> String {
    let pulled = world.checkpoint(["pull", "--json"]).success().stdout_json();
    pulled["tail"].as_str().unwrap().to_owned()
}

fn messages(world: &World, session: &str) -> String {
    let listed = world.checkpoint(["message", "list", "--session", session]);
    listed.success().stdout().to_owned()
}

fn autosaves(world: &World) -> Vec<String> {
    let refs = world.git(["for-each-ref", "--format=%(refname)", "refs/checkpoints-autosave/"]);
    refs.stdout().lines().map(str::to_owned).collect()
}

#[test]
fn messages_and_texts_that_wait_go_along_and_come_back_with_an_undo() {
    let world = diverged();
    world
        .checkpoint(["message", "add", "--role", "user", "first of ana"])
        .success();
    world
        .checkpoint(["message", "add", "--role", "assistant", "second of ana"])
        .success();
    world.checkpoint(["decision", "decided by ana"]).success();
    let tail = part(&world);
    let there = || {
        let listed = messages(&world, &tail);
        assert!(
            listed.contains("first of ana") && listed.contains("second of ana"),
            "{listed}"
        );
        assert!(!messages(&world, "auth").contains("of ana"));
    };
    there();
    world
        .checkpoint(["message", "add", "--role", "user", "third of ana"])
        .success();
    world.checkpoint(["undo", "--older"]).success();
    let listed = messages(&world, "auth");
    for word in ["first", "second", "third"] {
        assert_eq!(listed.matches(&format!("{word} of ana")).count(), 1, "{listed}");
    }
    world.checkpoint(["redo"]).success();
    there();
    world.checkpoint(["save", "-m", "saved"]).success();
    let saved = world.git_line(["show", &format!("refs/checkpoints/{tail}:chat/000000.jsonl")]);
    for word in ["first", "second", "third"] {
        assert_eq!(saved.matches(&format!("{word} of ana")).count(), 1, "{saved}");
    }
    // What is saved and pushed of the remote's session has none of it.
    world
        .checkpoint(["save", "--session", "auth", "--allow-empty", "-m", "x"])
        .success();
    world.checkpoint(["push", "origin", "auth"]).success();
    let hub = world.root().join("hub");
    let chat = world.git([
        "-C",
        hub.to_str().unwrap(),
        "ls-tree",
        "-r",
        "--name-only",
        "refs/checkpoints/auth",
        "chat",
    ]);
    chat.success().no_stdout();
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn autosaves_go_along_and_come_back_with_an_undo() {
    let world = diverged();
    world.git(["worktree", "add", "--quiet", "../linked"]).success();
    world.checkpoint(["todo", "add", "in the draft"]).success();
    for content in ["earlier", "autosaved"] {
        world.file("u", content);
        world.checkpoint(["watch", "--once"]).success();
    }
    let earlier = world.now();
    world.enter("linked");
    world.checkpoint(["switch", "auth"]).success();
    world.file("l", "autosaved in linked");
    world.checkpoint(["watch", "--once"]).success();
    world.enter("repo");
    let before = autosaves(&world);
    assert_eq!(before.len(), 2);
    let contents = |refs: &[String]| {
        let tree = |name: &String| world.git_line(["rev-parse", &format!("{name}^2^{{tree}}")]);
        refs.iter().map(tree).collect::<Vec<_>>()
    };
    let trees = contents(&before);
    let tail = part(&world);
    let moved = autosaves(&world);
    assert_eq!(contents(&moved), trees);
    let id = world.checkpoint(["show", &tail, "--json"]).success().stdout_json()["document"]["session"]["id"].clone();
    for name in &moved {
        assert!(name.contains(id.as_str().unwrap()), "{name}");
        let tip = at(&world, "repo", &format!("refs/checkpoints/{tail}"));
        assert_eq!(
            at(&world, "repo", &format!("{name}^1")),
            tip,
            "on the latest checkpoint there"
        );
    }
    // With those before them, and when they were made.
    let log = |name: &String| {
        world
            .git(["reflog", "--format=%gd %H", "--date=unix", name])
            .stdout()
            .to_owned()
    };
    let has_earlier = |refs: &[String]| {
        let lines: Vec<String> = refs
            .iter()
            .flat_map(|name| log(name).lines().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        lines.iter().any(|line| {
            let (at, id) = line.split_once(' ').unwrap();
            let at: u64 = at.split(['{', '}']).nth(1).unwrap().parse().unwrap();
            at <= earlier && world.git(["show", &format!("{id}^2:u")]).stdout() == "earlier"
        })
    };
    assert!(has_earlier(&moved));
    world.checkpoint(["verify", "--all"]).success();
    world.checkpoint(["undo"]).success();
    assert!(has_earlier(&before));
    assert_eq!(autosaves(&world), before);
    assert_eq!(contents(&before), trees);
    world.checkpoint(["redo"]).success();
    assert_eq!(autosaves(&world), moved);
    // The remote's session offers none of it; the other one does, with what the draft has once.
    let theirs = at(&world, "repo", "refs/checkpoints/auth");
    let resumed = world.checkpoint(["resume", "auth", "--json"]).success().stdout_json();
    assert!(
        resumed["autosave"].is_null() && resumed["recovered"].is_null(),
        "{resumed}"
    );
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), theirs);
    std::fs::remove_file(world.path("u")).unwrap();
    let resumed = world.checkpoint(["resume", &tail, "--json"]).success().stdout_json();
    assert!(resumed["recovered"]["id"].is_string(), "{resumed}");
    assert_eq!(
        world.git_line(["show", &format!("refs/checkpoints/{tail}^2:u")]),
        "autosaved"
    );
    for _ in 0..2 {
        let listed = world.checkpoint(["todo", "list"]);
        assert_eq!(listed.success().stdout().matches("in the draft").count(), 1);
        world.checkpoint(["save", "--allow-empty", "-m", "saved"]).success();
    }
}

#[test]
fn an_autosave_after_a_pull_takes_no_pulled_change_back() {
    for has_applied in [false, true] {
        let world = shared();
        world.checkpoint(["start", "auth"]).success();
        save(&world, "one");
        world.checkpoint(["push"]).success();
        clone(&world, "bob");
        world.checkpoint(["pull", "origin", "auth"]).success();
        world.checkpoint(["switch", "auth"]).success();
        world.file("bob", "of bob");
        save(&world, "bob's summary");
        world.checkpoint(["push"]).success();
        world.enter("repo");
        world.checkpoint(["pull"]).success();
        if has_applied {
            world.checkpoint(["resume", "--apply"]).success();
        }
        world.file("u", "autosaved");
        world.checkpoint(["watch", "--once"]).success();
        let tip = at(&world, "repo", "refs/checkpoints/auth");
        let resumed = world.checkpoint(["resume"]);
        if has_applied {
            resumed.success().stderr_has("recovered the autosave");
        } else {
            resumed.success().stderr_has("git checkpoint apply ");
            assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), tip);
        }
        assert_eq!(world.git_line(["show", "refs/checkpoints/auth^2:bob"]), "of bob");
        assert_eq!(log(&world, "auth")[0], "bob's summary");
    }
}

#[test]
fn a_save_in_another_clone_does_not_stand_for_an_autosave() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    world.file("u", "autosaved");
    world.checkpoint(["watch", "--once"]).success();
    world.advance(60);
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["switch", "auth"]).success();
    world.file("bob", "of bob");
    save(&world, "bob's summary");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    std::fs::remove_file(world.path("u")).unwrap();
    world.checkpoint(["pull"]).success();
    let tip = at(&world, "repo", "refs/checkpoints/auth");
    for args in [&["resume"][..], &["resume", "--recover"]] {
        let resumed = world.checkpoint(args);
        resumed.success().stderr_has("git checkpoint apply ");
        assert_eq!(
            at(&world, "repo", "refs/checkpoints/auth"),
            tip,
            "nothing on top of bob's"
        );
    }
    assert_eq!(log(&world, "auth")[0], "bob's summary");
    let listed = world
        .checkpoint(["list", "--autosaves", "--json"])
        .success()
        .stdout_json();
    assert_eq!(listed["autosaves"][0]["covered"], false, "{listed}");
    let resumed = world.checkpoint(["resume", "--json"]).success().stdout_json();
    assert_eq!(resumed["autosave"]["is_recoverable"], false);
    let id = resumed["autosave"]["id"].as_str().unwrap();
    world.checkpoint(["resume", "--apply"]).success();
    world.checkpoint(["apply", id]).success();
    assert_eq!(
        (world.read("u"), world.read("bob")),
        (b"autosaved".to_vec(), b"of bob".to_vec())
    );
    // A save of this working tree has it.
    save(&world, "both");
    assert!(world.checkpoint(["resume", "--json"]).success().stdout_json()["autosave"].is_null());
    assert_eq!(world.git_line(["show", "refs/checkpoints/auth^2:u"]), "autosaved");
}
