//! `save --amend`: other notes for the latest checkpoint, which keeps its files and its place in the chain.

use crate::support::{PROGRAM, Terminal, World};

fn tree(world: &World, rev: &str) -> String {
    world.git_line(["rev-parse", &format!("{rev}^{{tree}}")])
}

#[test]
fn words_change_and_files_stay() {
    let world = World::with_commit();
    world.file("a", "saved\n");
    world
        .checkpoint(["save", "-m", "parser dnoe", "--next", "test it", "--session", "s"])
        .success();
    world.checkpoint(["switch", "s"]).success();
    let before = world.git_line(["rev-parse", "checkpoints/s"]);
    let parents = world.git_line(["log", "-1", "--format=%P", "checkpoints/s"]);
    world.file("a", "later\n");
    world.checkpoint(["todo", "add", "waits for the next save"]).success();
    let planned = world.checkpoint(["save", "--amend", "-m", "parser done", "--dry-run"]);
    planned.success().stdout_has("Would amend").stdout_has("parser done");
    assert_eq!(world.git_line(["rev-parse", "checkpoints/s"]), before);
    let done = world.checkpoint(["save", "--amend", "-m", "parser done", "-d", "keep v1"]);
    done.success().stdout_has("Amended ").stdout_has("parser done");
    assert_eq!(
        world.git_line(["log", "-1", "--format=%s", "checkpoints/s"]),
        "parser done"
    );
    assert_eq!(world.git_line(["log", "-1", "--format=%P", "checkpoints/s"]), parents);
    let document = world.checkpoint(["show", "s", "--json"]).success().stdout_json()["document"].clone();
    assert_eq!(document["record"]["summary"], "parser done");
    assert_eq!(document["record"]["next_steps"][0]["text"], "test it");
    assert_eq!(document["record"]["decisions"][0]["text"], "keep v1");
    assert!(
        document["record"]["todos"].as_array().is_none_or(Vec::is_empty),
        "{document}"
    );
    assert_eq!(world.git_line(["show", "checkpoints/s^2:a"]), "saved");
    assert_eq!(world.read("a"), b"later\n");
    // What it was is in the trash, and comes back.
    world
        .checkpoint(["list", "--trash"])
        .success()
        .stdout_lacks("s  deleted");
    world.checkpoint(["verify", "--all"]).success();
    world.checkpoint(["undo"]).success().stdout_has("amended checkpoint");
    assert_eq!(world.git_line(["rev-parse", "checkpoints/s"]), before);
    world.checkpoint(["redo"]).success();
    assert_eq!(tree(&world, "checkpoints/s^2"), tree(&world, &format!("{before}^2")));
    world.checkpoint(["save", "-m", "and on"]).success();
    let log = world.checkpoint(["log", "s", "--json"]).success().stdout_json();
    let subjects: Vec<&str> = log["checkpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["summary"].as_str().unwrap())
        .collect();
    assert_eq!(subjects[..2], ["and on", "parser done"]);
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn it_is_refused_where_there_is_nothing_or_others_have_it() {
    let world = World::with_commit();
    world.checkpoint(["save", "--amend", "-m", "x"]).code(3);
    world.checkpoint(["start", "s"]).success();
    world
        .checkpoint(["save", "--amend", "-m", "x"])
        .code(3)
        .stderr_has("no checkpoint to amend");
    world.checkpoint(["save", "-m", "one", "--name", "first"]).success();
    world
        .checkpoint(["save", "--amend"])
        .code(129)
        .stderr_has("nothing to amend");
    world.checkpoint(["save", "-m", "two", "--allow-empty"]).success();
    world
        .checkpoint(["save", "--amend", "--name", "first"])
        .code(4)
        .stderr_has("first");
    world.checkpoint(["save", "--amend", "--name", "second"]).success();
    world.checkpoint(["show", "s@second"]).success().stdout_has("two");
    let hub = world.root().join("hub");
    world.git(["init", "-q", "--bare", hub.to_str().unwrap()]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.checkpoint(["push", "origin"]).success();
    world
        .checkpoint(["save", "--amend", "-m", "x"])
        .code(4)
        .stderr_has("is on remote 'origin'");
    // The next one is nobody else's.
    world.checkpoint(["save", "-m", "three", "--allow-empty"]).success();
    world.checkpoint(["save", "--amend", "-m", "third"]).success();
    world.checkpoint(["push", "origin"]).success();
    // Nor is what a remote has undone, without a word that both sides would diverge.
    let pushed = world.git_line(["rev-parse", "checkpoints/s"]);
    for undo in [&["undo", "--older"][..], &["undo", "--older", "-n"]] {
        world
            .checkpoint(undo)
            .code(4)
            .stderr_has("session 's' would diverge from remote 'origin'")
            .stderr_has("git checkpoint save -m")
            .stderr_has("git checkpoint undo --force");
        assert_eq!(world.git_line(["rev-parse", "checkpoints/s"]), pushed);
    }
    world.checkpoint(["undo", "--force"]).success();
    assert_ne!(world.git_line(["rev-parse", "checkpoints/s"]), pushed);
}

#[test]
fn an_undo_of_what_a_remote_has_says_that_the_session_is_behind() {
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../hub"]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    world.checkpoint(["finish", "-m", "done"]).success();
    world.checkpoint(["push", "origin", "main"]).success();
    let finished = world.git_line(["rev-parse", "checkpoints/main"]);
    world
        .checkpoint(["undo", "--older"])
        .success()
        .stderr_has("remote 'origin' still has what was undone in session 'main'")
        .stderr_has("git checkpoint pull origin main");
    assert_ne!(world.git_line(["rev-parse", "checkpoints/main"]), finished);
    world.checkpoint(["pull", "origin", "main"]).success();
    assert_eq!(world.git_line(["rev-parse", "checkpoints/main"]), finished);
}

#[test]
fn a_paused_session_is_amended_and_the_editor_begins_with_its_summary() {
    let world = World::with_commit();
    world.file("a", "1\n");
    world.checkpoint(["pause", "-m", "half of it"]).success();
    let script = world.root().join("editor");
    std::fs::write(&script, "#!/bin/sh\nsed -i 's/half/most/' \"$1\"\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    world.git(["config", "core.editor", script.to_str().unwrap()]).success();
    world
        .checkpoint(["save", "--amend", "-e"])
        .success()
        .stdout_has("most of it");
    world
        .checkpoint(["list"])
        .success()
        .stdout_has("paused")
        .stdout_has("most of it");
}

#[test]
fn a_terminal_asks_for_the_session_and_enter_takes_the_latest() {
    let world = World::with_commit();
    for name in ["one", "two", "three"] {
        world.checkpoint(["start", name]).success();
        world.checkpoint(["pause", "-m", &format!("words of {name}")]).success();
    }
    let screen = Terminal::new(100, "dumb")
        .answer("q for none]", "\n")
        .run(&world, PROGRAM, ["resume"]);
    assert!(
        screen.text().contains("1  three  paused  just now  words of three"),
        "{screen:?}"
    );
    assert!(screen.text().contains("Session three"), "{screen:?}");
    let screen = Terminal::new(100, "dumb")
        .answer("q for none]", "2\n")
        .run(&world, PROGRAM, ["switch"]);
    assert!(screen.text().contains("Switched to session one"), "{screen:?}");
    let screen = Terminal::new(100, "dumb")
        .answer("q for none]", "q\n")
        .run(&world, PROGRAM, ["switch"]);
    assert_eq!(screen.status.code(), Some(1), "{screen:?}");
    world
        .checkpoint(["switch"])
        .code(129)
        .stderr_has("git checkpoint switch <session>");
}

#[test]
fn what_was_pruned_or_purged_before_it_keeps_nobody_from_the_session() {
    let drops: [&[&[&str]]; 3] = [
        &[&["prune", "--keep-last", "1", "--force"]],
        &[&["purge", "--yes", "s~1"]],
        &[&["purge", "--yes", "s~1"], &["prune", "--keep-last", "1", "--force"]],
    ];
    for drop in drops {
        let world = World::with_commit();
        let hub = world.root().join("hub");
        world.git(["init", "-q", "--bare", hub.to_str().unwrap()]).success();
        world.git(["remote", "add", "origin", "../hub"]).success();
        world.checkpoint(["start", "s"]).success();
        for summary in ["one", "two", "three", "four"] {
            world.file(summary, summary);
            world.checkpoint(["save", "-m", summary]).success();
        }
        for command in drop {
            world.checkpoint(*command).success();
        }
        let list = world.git_line(["show", "checkpoints/s:pruned.jsonl"]);
        world.checkpoint(["save", "--amend", "-m", "fourth"]).success();
        assert_eq!(world.git_line(["show", "checkpoints/s:pruned.jsonl"]), list, "{drop:?}");
        let tip = world.git_line(["rev-parse", "checkpoints/s"]);
        world.checkpoint(["verify", "--all"]).success();
        world.checkpoint(["bundle", "../s.bundle", "s"]).success();
        world.checkpoint(["push", "origin", "s"]).success();
        for (directory, take) in [
            ("pulled", &["pull", "origin", "s"][..]),
            ("unbundled", &["unbundle", "../s.bundle"]),
        ] {
            world
                .git(["clone", "-q", "../hub", &format!("../{directory}")])
                .success();
            world.enter(directory);
            world.checkpoint(take).success();
            assert_eq!(world.git_line(["rev-parse", "checkpoints/s"]), tip, "{drop:?}");
            world.checkpoint(["verify", "--all"]).success();
            world.enter("repo");
        }
    }
}
