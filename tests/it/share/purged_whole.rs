//! A checkpoint that was purged as a whole: it does not come back from another clone unseen, and no copy of it stays on a
//! remote.

use super::{at, clone, save, shared};
use crate::support::World;

/// Whether anything that a ref of a directory leads to is a file of this name.
fn has(world: &World, directory: &str, name: &str) -> bool {
    let objects = world.git(["-C", directory, "rev-list", "--objects", "--all"]);
    let end = format!(" {name}");
    objects.success().stdout().lines().any(|line| line.ends_with(&end))
}

/// `repo` pushed `one` and `two`, which has a secret; bob went on from it in `bob`, and has not pushed. `repo` purged `two`
/// here and there, and removed the file. In `repo`.
fn purged(is_latest: bool) -> (World, String) {
    let world = shared();
    save(&world, "one");
    world.file("secret", "needle\n");
    let two = save(&world, "two");
    if !is_latest {
        std::fs::remove_file(world.path("secret")).unwrap();
        save(&world, "three");
    }
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "main"]).success();
    world.checkpoint(["resume", "--apply", "main"]).success();
    world.file("bobs", "work of bob\n");
    save(&world, "by bob");
    world.enter("repo");
    world.checkpoint(["purge", "--yes", "--remote", &two]).success();
    if is_latest {
        std::fs::remove_file(world.path("secret")).unwrap();
    }
    assert!(!has(&world, "../hub", "secret") && !has(&world, ".", "secret"));
    (world, two)
}

/// The command behind a text in what was reported.
fn command(text: &str) -> String {
    let at = text
        .find("git checkpoint purge ")
        .unwrap_or_else(|| panic!("no command: {text}"));
    text[at..].lines().next().unwrap().to_owned()
}

#[test]
fn it_is_warned_about_where_it_comes_back_and_not_pushed() {
    for is_latest in [false, true] {
        for own_work in [false, true] {
            let (world, two) = purged(is_latest);
            if own_work {
                world.file("anas", "work of ana\n");
                save(&world, "by ana");
            }
            // It comes by a bundle, so that the remote has it not.
            world.enter("bob");
            world.checkpoint(["bundle", "../main.bundle", "main"]).success();
            world.enter("repo");
            let brought = world.checkpoint(["unbundle", "../main.bundle"]);
            brought.success();
            assert!(has(&world, ".", "secret"), "it has come back");
            brought
                .stderr_has("this brings back what was purged from session 'main'")
                .stderr_has(&format!("checkpoint {}", &two[..8]));
            let again = command(brought.stderr());
            let pushed = world.checkpoint(["push", "origin", "main"]);
            pushed
                .code(4)
                .stderr_has("session 'main' has content again that was purged");
            world.checkpoint(["push", "--dry-run", "origin", "main"]).code(4);
            assert!(!has(&world, "../hub", "secret"));
            assert_eq!(again, command(pushed.stderr()), "{is_latest} {own_work}");
            // The command that is named removes the checkpoint, and the work of both stays.
            let line = again.replace("purge", "purge --yes");
            world.command("sh", ["-c", &line]).run().success();
            let subjects = world.git(["log", "--first-parent", "--format=%s", "refs/checkpoints/main"]);
            subjects.success().stdout_lacks("two\n").stdout_has("by bob\n");
            assert!(has(&world, ".", "bobs"));
            let last = world.checkpoint(["push", "origin", "main"]);
            assert!(!last.stderr().contains("was purged"), "{last}");
            world.checkpoint(["verify", "--all"]).success();
        }
    }
}

#[test]
fn who_purged_it_is_warned_by_a_pull_and_its_content_is_left_out() {
    let (world, two) = purged(true);
    world.file("anas", "work of ana\n");
    save(&world, "by ana");
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world.checkpoint(["pull", "--merge"]).success();
    world.checkpoint(["push", "--allow-secrets"]).success();
    assert!(has(&world, "../hub", "secret"));
    world.enter("repo");
    world
        .checkpoint(["fetch"])
        .success()
        .stderr_has("remote 'origin' has what was purged from session 'main'");
    world
        .checkpoint(["pull"])
        .success()
        .stderr_has("this brings back what was purged from session 'main'")
        .stderr_has(&format!("git checkpoint purge --remote {}\n", &two[..8]));
    world
        .checkpoint(["resume", "main", "--apply"])
        .success()
        .stdout_has("skip     secret ");
    assert!(!world.path("secret").exists());
    assert_eq!(world.read("bobs"), b"work of bob\n");
    save(&world, "three");
    world.checkpoint(["purge", "--yes", "--remote", &two]).success();
    let subjects = world.git(["-C", "../hub", "log", "--format=%s", "refs/checkpoints/main"]);
    subjects
        .success()
        .stdout_lacks("two\n")
        .stdout_has("by bob\n")
        .stdout_has("by ana\n");
}

#[test]
fn who_merges_it_is_warned_and_does_not_push_it() {
    let (world, two) = purged(false);
    world.enter("bob");
    let merged = world.checkpoint(["pull", "--merge"]);
    merged
        .success()
        .stderr_has("this brings back what was purged from session 'main'")
        .stderr_has(&format!("git checkpoint purge {}\n", &two[..8]));
    world
        .checkpoint(["push"])
        .code(4)
        .stderr_has(&format!("has content again that was purged: checkpoint {}", &two[..8]));
    world.checkpoint(["purge", "--yes", &two]).success();
    world.checkpoint(["push"]).success();
    assert!(!has(&world, "../hub", "secret"));
    assert!(has(&world, "../hub", "bobs"));
}

/// The subjects of the session's checkpoints on the remote, latest first.
fn on_remote(world: &World) -> Vec<String> {
    let log = world.git([
        "-C",
        "../hub",
        "log",
        "--first-parent",
        "--format=%s",
        "refs/checkpoints/main",
    ]);
    log.success().stdout().lines().map(str::to_owned).collect()
}

/// The checkpoint before the latest ones of the remote says that those were purged, also where who purged them has more that
/// is not pushed.
#[test]
fn the_latest_checkpoints_of_a_remote_come_back_by_no_push() {
    for (purges, own_work) in [(1, false), (2, false), (1, true), (2, true)] {
        let what = format!("{purges} {own_work}");
        let world = shared();
        let mut ids = Vec::new();
        for name in ["one", "two", "three"] {
            world.file(name, format!("{name}\n"));
            ids.push(save(&world, name));
        }
        world.checkpoint(["push"]).success();
        for bob in ["idle", "busy"] {
            clone(&world, bob);
            world.checkpoint(["pull", "origin", "main"]).success();
            world.checkpoint(["resume", "--apply", "main"]).success();
        }
        save(&world, "by busy");
        world.enter("repo");
        if own_work {
            save(&world, "by ana");
        }
        for name in &["three", "two"][..purges] {
            let id = ids.pop().unwrap();
            world.checkpoint(["purge", "--yes", "--remote", &id]).success();
            std::fs::remove_file(world.path(name)).unwrap();
        }
        let left = ["one", "two"][..3 - purges].iter().rev().chain(&["start main"]);
        let left: Vec<String> = left.map(|name| (*name).to_owned()).collect();
        assert_eq!(on_remote(&world), left, "{what}");

        // A clone without work of its own follows by a plain pull.
        world.enter("idle");
        world.checkpoint(["pull"]).success();
        assert_eq!(
            at(&world, "idle", "refs/checkpoints/main"),
            at(&world, "hub", "refs/checkpoints/main")
        );
        assert_eq!(on_remote(&world), left, "{what}");
        for merge in [false, true] {
            world.enter("busy");
            if merge {
                world.checkpoint(["pull", "--merge"]).success();
            }
            let refused = world.checkpoint(["push"]);
            refused.code(4);
            assert_eq!(merge, refused.stderr().contains("that was purged"), "{what}: {refused}");
            assert_eq!(on_remote(&world), left, "{what}");
        }
        assert_eq!(world.read("three"), b"three\n", "files stay as they are");

        // The clone that purged them continues, and so do the others after it.
        world.enter("repo");
        world.checkpoint(["pull"]).success().stdout_has("Up to date");
        save(&world, "more");
        world.checkpoint(["push"]).success();
        world.checkpoint(["verify", "--all"]).success();
        world.git(["fsck", "--strict", "--no-dangling"]).success();
        world.enter("idle");
        world.checkpoint(["pull"]).success();
        assert_eq!(on_remote(&world)[0], "more", "{what}");
        // Ana's own checkpoint of before has the file of the second purge in its snapshot.
        assert!(!has(&world, "../hub", "three") || own_work, "{what}");
        world.checkpoint(["verify", "--all"]).success();
    }
}

#[test]
fn a_copy_that_was_written_again_elsewhere_goes_from_the_remote_as_well() {
    // The history was written again here, there, or on both sides in different ways.
    for (here, there) in [(true, false), (false, true), (true, true)] {
        let world = shared();
        world.file("early", "early\n");
        world.file("early-there", "early\n");
        save(&world, "one");
        world.file("secret", "needle\n");
        save(&world, "two");
        std::fs::remove_file(world.path("secret")).unwrap();
        save(&world, "three");
        world.checkpoint(["push"]).success();
        if there {
            clone(&world, "bob");
            world.checkpoint(["pull", "origin", "main"]).success();
            world
                .checkpoint(["purge", "--yes", "--remote", "--", "early-there"])
                .success();
            world.enter("repo");
        }
        if here {
            world.checkpoint(["purge", "--yes", "--", "early"]).success();
        }
        let two = world.git_line(["rev-parse", "refs/checkpoints/main~1"]);
        let copy = at(&world, "hub", "refs/checkpoints/main~1");
        assert_ne!(two, copy, "{here} {there}: they are not the same commit");
        assert!(has(&world, "../hub", "secret"));
        world.checkpoint(["purge", "--yes", "--remote", &two]).success();
        assert!(!has(&world, ".", "secret"));
        assert!(!has(&world, "../hub", "secret"), "{here} {there}");
        assert_eq!(on_remote(&world), ["three", "one", "start main"], "{here} {there}");
        world.checkpoint(["verify", "--all"]).success();
        world
            .git(["-C", "../hub", "fsck", "--strict", "--no-dangling"])
            .success();
    }
}
