//! A session that has one name here and another one on the remote is one session: shown as one, and never two refs there.

use super::{at, clone, save, shared};
use crate::support::World;

/// The sessions on the hub, of which no two have one identity.
#[track_caller]
fn on_hub(world: &World) -> Vec<String> {
    let refs = world.git([
        "-C",
        "../hub",
        "for-each-ref",
        "--format=%(refname:lstrip=2)",
        "refs/checkpoints/",
    ]);
    let names: Vec<_> = refs.success().stdout().lines().map(str::to_owned).collect();
    let mut ids: Vec<_> = names
        .iter()
        .map(|name| {
            let document = world.git([
                "-C",
                "../hub",
                "show",
                &format!("refs/checkpoints/{name}:checkpoint.json"),
            ]);
            document.success().stdout_json()["session"]["id"].to_string()
        })
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), names.len(), "two have one identity: {names:?}");
    names
}

/// What the hint of a refused push says that renames it there.
fn rename_there(world: &World, session: &str, there: &str) {
    let pushed = world.checkpoint(["push"]);
    let line = format!("git checkpoint remote delete origin/{there} && git checkpoint push origin {session}");
    pushed
        .code(4)
        .stderr_has(&format!("remote 'origin' has session '{session}' as '{there}'"))
        .stderr_has(&line);
    world.command("sh", ["-c", &line]).run().success();
}

fn pushed_and_renamed() -> World {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    world.checkpoint(["rename", "auth", "work"]).success();
    world
}

#[test]
fn what_was_renamed_here_is_shown_as_the_session_that_it_is() {
    for is_ahead in [false, true] {
        let world = pushed_and_renamed();
        if is_ahead {
            save(&world, "two");
        }
        world
            .checkpoint(["status"])
            .success()
            .stdout_has("as auth on origin")
            .stdout_lacks("not resumed");
        let json = world.checkpoint(["status", "--json"]).success().stdout_json();
        assert_eq!(json["fetched"].as_array().map(Vec::len), Some(0));
        assert_eq!(json["current"]["remotes"][0]["remote_session"], "auth");
        let list = world.checkpoint(["list"]);
        let told = format!("{}{}", list.success().stdout(), list.stderr());
        assert!(
            !told.contains("not resumed") && told.contains("known as auth on origin"),
            "{told}"
        );
        let remote = world.checkpoint(["remote"]);
        remote
            .success()
            .stdout_has("as auth on origin")
            .stdout_lacks("remote only");
        assert_eq!(remote.stdout().matches("auth").count(), 1, "one row: {remote}");
        let state = if is_ahead { "not pushed" } else { "up to date" };
        remote.stdout_has(state);
    }
}

#[test]
fn a_push_makes_no_second_ref_of_what_was_renamed() {
    for all in [false, true] {
        let world = pushed_and_renamed();
        let two = save(&world, "two");
        let line = if all {
            vec!["push", "--all"]
        } else {
            vec!["push", "origin", "work"]
        };
        for more in [&["--dry-run"][..], &[], &["--force"]] {
            world
                .checkpoint([&line[..], more].concat())
                .code(4)
                .stderr_has("remote 'origin' has session 'work' as 'auth'")
                .stderr_has("git checkpoint rename work auth");
            assert_eq!(on_hub(&world), ["auth"]);
        }
        rename_there(&world, "work", "auth");
        assert_eq!(on_hub(&world), ["work"]);
        assert_eq!(at(&world, "hub", "refs/checkpoints/work"), two);
        world.checkpoint(["status"]).success().stdout_lacks("as auth");
        world
            .checkpoint(["list", "--trash"])
            .success()
            .stderr_has("The trash is empty");
        world.checkpoint(["verify", "--all"]).success();
    }
    // Or the session here gets the name there.
    let world = pushed_and_renamed();
    let two = save(&world, "two");
    world.checkpoint(["rename", "work", "auth"]).success();
    world.checkpoint(["push"]).success();
    assert_eq!(
        (on_hub(&world), at(&world, "hub", "refs/checkpoints/auth")),
        (vec!["auth".to_owned()], two)
    );
}

#[test]
fn what_was_renamed_there_goes_on_under_both_names() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["switch", "auth"]).success();
    world.checkpoint(["rename", "auth", "topic"]).success();
    let bobs = save(&world, "bob's");
    rename_there(&world, "topic", "auth");
    assert_eq!(on_hub(&world), ["topic"]);
    world.enter("repo");
    // A push does not bring the old name back, also where nothing is known of the new one yet.
    world.checkpoint(["push", "--force"]).code(4).stderr_has("as 'topic'");
    assert_eq!(on_hub(&world), ["topic"]);
    world.checkpoint(["fetch"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("as topic on origin")
        .stdout_lacks("not resumed")
        .stdout_lacks("deleted");
    world.checkpoint(["pull"]).success();
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), bobs);
    assert_eq!(at(&world, "repo", "refs/checkpoints/topic"), "");
    save(&world, "ana's");
    world
        .checkpoint(["push"])
        .code(4)
        .stderr_has("git checkpoint rename auth topic");
    world
        .checkpoint(["rename", "auth", "topic"])
        .success()
        .stderr_lacks("still has it");
    world.checkpoint(["push"]).success();
    assert_eq!(on_hub(&world), ["topic"]);
}

#[test]
fn a_fetch_and_a_pull_find_the_new_name_by_themselves() {
    for way in [
        &["fetch"][..],
        &["pull"],
        &["pull", "--dry-run"],
        &["pull", "origin", "auth"],
    ] {
        let world = shared();
        world.checkpoint(["start", "auth"]).success();
        save(&world, "one");
        world.checkpoint(["push"]).success();
        let tip = at(&world, "hub", "refs/checkpoints/auth");
        // As another client renames it.
        world
            .git(["-C", "../hub", "update-ref", "refs/checkpoints/topic", &tip])
            .success();
        world
            .git(["-C", "../hub", "update-ref", "-d", "refs/checkpoints/auth"])
            .success();
        let done = world.checkpoint(way);
        done.success();
        assert!(!done.stderr().contains("deleted"), "{way:?}: {done}");
        if !way.contains(&"--dry-run") {
            assert_eq!(at(&world, "repo", "refs/checkpoints-remote/origin/auth"), "");
            assert_eq!(at(&world, "repo", "refs/checkpoints-remote/origin/topic"), tip);
            let status = world.checkpoint(["status"]);
            status
                .success()
                .stdout_has("as topic on origin")
                .stdout_lacks("not resumed");
        }
        assert_eq!(at(&world, "repo", "refs/checkpoints/topic"), "", "{way:?}");
        world.checkpoint(["verify", "--all"]).success();
    }
}
