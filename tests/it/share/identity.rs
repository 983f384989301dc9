//! A session is one ref in a repository, whatever it is called here and there: two would share draft, chat and autosaves.

use std::collections::BTreeMap;

use super::{at, clone, save, shared};
use crate::support::World;

/// The identity of each session here, by name.
fn identities(world: &World) -> BTreeMap<String, String> {
    let refs = world.git(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints/"]);
    let id = |name: &str| {
        let text = world.git_line(["show", &format!("refs/checkpoints/{name}:checkpoint.json")]);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        document["session"]["id"].as_str().unwrap().to_owned()
    };
    refs.stdout().lines().map(|name| (name.to_owned(), id(name))).collect()
}

/// The names of the sessions here, of which no two have one identity.
#[track_caller]
fn names(world: &World) -> Vec<String> {
    let found = identities(world);
    let mut ids: Vec<_> = found.values().collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), found.len(), "two have one identity: {found:?}");
    found.into_keys().collect()
}

fn decisions(world: &World, session: &str) -> String {
    world
        .checkpoint(["show", session, "--json"])
        .success()
        .stdout()
        .to_owned()
}

/// A session `auth` here and on the remote; in the clone `bob` it was renamed to `topic`, went on and was pushed under
/// that name as well.
fn renamed_there() -> World {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["switch", "auth"]).success();
    world.checkpoint(["rename", "auth", "topic"]).success();
    save(&world, "bob's");
    // As earlier versions pushed it, and as git does.
    let topic = "refs/checkpoints/topic:refs/checkpoints/topic";
    world.git(["push", "--quiet", "origin", topic]).success();
    world.checkpoint(["bundle", "../topic.bundle", "topic"]).success();
    world.enter("repo");
    world
}

#[test]
fn what_was_renamed_elsewhere_is_the_session_that_is_here() {
    let ways: [&[&str]; 4] = [
        &["pull", "origin", "topic"],
        &["pull", "--merge", "origin", "topic"],
        &["resume", "origin/topic"],
        &["unbundle", "../topic.bundle"],
    ];
    for has_own in [false, true] {
        for way in ways {
            let world = renamed_there();
            let ours = if has_own { save(&world, "ana's") } else { String::new() };
            world.checkpoint(["fetch"]).success();
            let planned = (way[0] == "pull").then(|| world.checkpoint([way, &["--dry-run"]].concat()));
            if let Some(planned) = planned {
                planned.success().stdout_has("auth");
            }
            let brought = world.checkpoint(way);
            brought.success();
            if !way.contains(&"--merge") {
                let told = format!("{}{}", brought.stdout(), brought.stderr());
                assert!(told.contains("it is called topic"), "{way:?}: {told}");
            }
            let names = names(&world);
            assert!(
                names.contains(&"auth".to_owned()) && !names.contains(&"topic".to_owned()),
                "{names:?}"
            );
            let (here, there) = (
                at(&world, "repo", "refs/checkpoints/auth"),
                at(&world, "bob", "refs/checkpoints/topic"),
            );
            world.git(["merge-base", "--is-ancestor", &there, &here]).success();
            assert_eq!(
                names.len(),
                if has_own && !way.contains(&"--merge") { 2 } else { 1 },
                "{way:?}"
            );
            if has_own {
                let of_ours = names.iter().any(|name| {
                    let tip = format!("refs/checkpoints/{name}");
                    world.git(["merge-base", "--is-ancestor", &ours, &tip]).is_success()
                });
                assert!(of_ours, "{way:?}");
            }
            // A second time nothing comes of it.
            world
                .checkpoint(["pull", "origin", "topic"])
                .success()
                .stdout_has("Up to date: auth");
            world.checkpoint(["verify", "--all"]).success();
        }
    }
}

#[test]
fn what_was_renamed_here_is_found_by_its_old_name() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    world.checkpoint(["bundle", "../auth.bundle", "auth"]).success();
    world.checkpoint(["rename", "auth", "work"]).success();
    save(&world, "more");
    for way in [["pull", "origin", "auth"], ["unbundle", "../auth.bundle", "auth"]] {
        world.checkpoint(way).success().stdout_has("Up to date: work");
        assert_eq!(names(&world), ["work"], "{way:?}");
    }
    // With another session of that name, which keeps it.
    world.checkpoint(["start", "auth"]).success();
    world
        .checkpoint(["pull", "origin", "auth"])
        .success()
        .stdout_has("Up to date: work");
    assert_eq!(names(&world), ["auth", "work"]);
}

#[test]
fn a_deleted_session_comes_back_beside_its_successor_as_one_of_its_own() {
    for way in [["pull", "origin", "auth"], ["unbundle", "../auth.bundle", "auth"]] {
        for is_renamed in [false, true] {
            let world = shared();
            world.checkpoint(["start", "auth"]).success();
            save(&world, "one");
            world.checkpoint(["push"]).success();
            world.checkpoint(["bundle", "../auth.bundle", "auth"]).success();
            world.file("mine", "only here");
            save(&world, "mine");
            world.file("unsaved", "autosaved");
            world.checkpoint(["watch", "--once"]).success();
            world.checkpoint(["delete", "auth"]).success();
            world.checkpoint(way).success();
            let (successor, back) = if is_renamed {
                world.checkpoint(["rename", "auth", "work"]).success();
                ("work", "auth")
            } else {
                ("auth", "auth-2")
            };
            world
                .checkpoint(["undelete", "auth", "--name", back, "--dry-run"])
                .success();
            let undeleted = world.checkpoint(["undelete", "auth", "--name", back]);
            undeleted.success().stdout_has(&format!("since {successor} continues"));
            assert_eq!(names(&world).len(), 2);
            // Each has its own notes, and the autosave is with what it was based on.
            world.checkpoint(["switch", successor]).success();
            world.checkpoint(["decision", "for the successor"]).success();
            world.checkpoint(["save", "--session", back, "-m", "goes on"]).success();
            assert!(!decisions(&world, back).contains("for the successor"));
            let status = world.checkpoint(["status"]);
            status.success().stdout_has("for the successor");
            assert_eq!(
                world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints-autosave/"]),
                format!("refs/checkpoints-autosave/{}/main", identities(&world)[back])
            );
            world.checkpoint(["verify", "--all"]).success();
            // To purge the one leaves the other whole; what waits in the trash stops it first.
            let purged = world.checkpoint(["purge", "--yes", successor]);
            purged.success();
            assert_eq!(names(&world), [back]);
            let show = |path: &str| world.git_line(["show", &format!("refs/checkpoints/{back}^2:{path}")]);
            assert_eq!(
                (show("mine").as_str(), show("unsaved").as_str()),
                ("only here", "autosaved")
            );
            world.checkpoint(["verify", "--all"]).success();
            world.git(["fsck", "--strict"]).success();
        }
    }
}

#[test]
fn an_undelete_of_one_with_a_successor_is_undone_and_redone() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    save(&world, "mine");
    world.checkpoint(["delete", "auth"]).success();
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["undelete", "auth", "--name", "other"]).success();
    world.checkpoint(["undo"]).success();
    assert_eq!(names(&world), ["auth"]);
    world.checkpoint(["list", "--trash"]).success().stdout_has("mine");
    world.checkpoint(["redo"]).success();
    assert_eq!(names(&world), ["auth", "other"]);
    world
        .checkpoint(["list", "--trash"])
        .success()
        .stderr_has("The trash is empty");
}

#[test]
fn an_undo_makes_no_second_session_of_one_identity() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    save(&world, "mine");
    world.git(["worktree", "add", "--quiet", "../linked"]).success();
    world.checkpoint(["delete", "auth"]).success();
    // In another working tree, whose undo list is another one.
    world.enter("linked");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["rename", "auth", "work"]).success();
    world.enter("repo");
    world
        .checkpoint(["undo"])
        .code(4)
        .stderr_has("session 'work' continues session 'auth'")
        .stderr_has("git checkpoint undelete auth");
    assert_eq!(names(&world), ["work"]);
    world.checkpoint(["undelete", "auth"]).success();
    assert_eq!(names(&world), ["auth", "work"]);
}

/// Two sessions of one identity, as earlier versions made them and as `git fetch` makes them: `work` went on from `auth`.
fn twins() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    let one = world.git_line(["rev-parse", "refs/checkpoints/auth"]);
    world.checkpoint(["rename", "auth", "work"]).success();
    world.file("mine", "only in work");
    save(&world, "mine");
    world.git(["update-ref", "refs/checkpoints/auth", &one]).success();
    world
}

/// All refs of ours.
fn refs(world: &World) -> String {
    world.git(["for-each-ref", "refs/checkpoints*"]).stdout().to_owned()
}

#[test]
fn a_purge_refuses_what_another_session_shares() {
    let world = twins();
    world.checkpoint(["decision", "noted in work"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "said in work"])
        .success();
    world.file("u", "autosaved");
    world.checkpoint(["watch", "--once"]).success();
    let before = refs(&world);
    for (one, other) in [("auth", "work"), ("work", "auth")] {
        let refused = world.checkpoint(["purge", "--yes", one]);
        refused
            .code(4)
            .stderr_has(&format!("session '{other}' has the same identity"));
        assert_eq!(refs(&world), before);
    }
    let status = world.checkpoint(["status"]);
    status.success().stdout_has("noted in work");
    world
        .checkpoint(["message", "list"])
        .success()
        .stdout_has("said in work");
    // What the hint says.
    world.checkpoint(["delete", "auth"]).success();
    world
        .checkpoint(["purge", "--yes", "work"])
        .code(4)
        .stderr_has("in the trash has the same identity")
        .stderr_has("git checkpoint undelete");
    world.checkpoint(["undelete", "auth"]).success();
    assert_eq!(names(&world), ["auth", "work"]);
    world.checkpoint(["purge", "--yes", "work"]).success();
    assert_eq!(names(&world), ["auth"]);
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn a_delete_takes_from_a_shared_identity_what_only_the_named_one_leads_to() {
    let autosaves =
        |world: &World| world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints-autosave/"]);
    for deleted in ["auth", "work"] {
        let world = twins();
        world.checkpoint(["decision", "noted in work"]).success();
        world.file("u", "autosaved");
        world.checkpoint(["watch", "--once"]).success();
        world.checkpoint(["delete", deleted]).success();
        // It is based on the latest checkpoint of 'work'.
        assert_eq!(autosaves(&world).is_empty(), deleted == "work");
        let status = world.checkpoint(["status", "--json"]).success().stdout_json();
        let current = &status["current"]["session"];
        assert_eq!(current.as_str(), (deleted == "auth").then_some("work"), "{status}");
        // The other one is there, so it comes back as a session of its own, with its autosave.
        world.checkpoint(["undo"]).code(4).stderr_has("git checkpoint undelete");
        world.checkpoint(["undelete", deleted]).success();
        assert!(!autosaves(&world).is_empty());
        assert_eq!(names(&world), ["auth", "work"]);
    }
    let world = twins();
    world.checkpoint(["delete", "auth", "work"]).success();
    assert_eq!(identities(&world).len(), 0, "both were named");
    world.checkpoint(["undo"]).success();
    assert_eq!(identities(&world).len(), 2);
}
