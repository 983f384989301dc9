//! Sessions fetched by their names, without asking for all that a remote has; and what is refused to a shallow clone.

use super::{at, clone, no_quarantine, save, shared};
use crate::support::World;

/// The refs of fetched sessions.
fn fetched(world: &World) -> Vec<String> {
    let refs = world.git_line([
        "for-each-ref",
        "--format=%(refname:lstrip=3)",
        "refs/checkpoints-remote/",
    ]);
    refs.lines().map(str::to_owned).collect()
}

fn with_sessions(names: &[&str]) -> World {
    let world = shared();
    for name in names {
        world.checkpoint(["save", "--session", name, "-m", name]).success();
    }
    world.checkpoint(["push", "--all"]).success();
    clone(&world, "other");
    world.enter("other");
    world
}

#[test]
fn only_the_named_sessions_come() {
    let all = ["auth", "auth-2", "authority", "b", "c"];
    let cases: [(&[&str], &[&str]); 6] = [
        (&["origin", "auth"], &["auth"]),
        (&["auth"], &["auth"]),
        (&["origin", "auth", "c"], &["auth", "c"]),
        (&["authority", "b"], &["authority", "b"]),
        (&["origin", "auth-2", "auth-2"], &["auth-2"]),
        (&[], &all),
    ];
    for (args, come) in cases {
        let world = with_sessions(&all);
        let mut line = vec!["fetch"];
        line.extend(args);
        world.checkpoint(&line).success();
        assert_eq!(fetched(&world), come, "{args:?}");
        no_quarantine(&world);
        for name in come {
            let (there, here) = (
                at(&world, "repo", &format!("checkpoints/{name}")),
                format!("refs/checkpoints-remote/origin/{name}"),
            );
            assert_eq!(world.git_line(["rev-parse", &here]), there, "{args:?}");
        }
        world.checkpoint(&line).success();
        assert_eq!(fetched(&world), come, "again: {args:?}");
        world.checkpoint(["verify", "--all"]).success();
    }
}

#[test]
fn a_remote_is_asked_only_for_the_named_refs() {
    let world = with_sessions(&["auth", "b"]);
    let trace = world.root().join("trace");
    let program = crate::support::PROGRAM;
    let run = world.command(program, ["fetch", "origin", "auth"]);
    run.env("GIT_TRACE_PACKET", &trace).run().success();
    let trace = std::fs::read_to_string(trace).unwrap();
    let advertised: Vec<_> = trace
        .lines()
        .filter(|line| line.contains("< ") && line.contains("refs/"))
        .collect();
    assert!(trace.contains("ref-prefix refs/checkpoints/auth"), "{trace}");
    assert!(
        advertised.iter().all(|line| line.contains("refs/checkpoints/auth")),
        "{advertised:?}"
    );
}

#[test]
fn sessions_of_this_repository_are_updated() {
    let world = with_sessions(&["auth", "b", "c"]);
    world.checkpoint(["pull", "origin", "b"]).success();
    world.checkpoint(["save", "--session", "own", "-m", "own"]).success();
    world.enter("repo");
    world.file("more", "more");
    world.checkpoint(["save", "--session", "b", "-m", "more"]).success();
    world.checkpoint(["push", "origin", "b"]).success();
    world.enter("other");
    world.checkpoint(["fetch", "--mine"]).success().stdout_has("b");
    assert_eq!(fetched(&world), ["b"]);
    let there = at(&world, "repo", "checkpoints/b");
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints-remote/origin/b"]), there);
    world.checkpoint(["fetch", "--mine", "auth"]).code(129);
}

#[test]
fn a_session_that_is_not_there_or_was_deleted_is_reported() {
    let world = with_sessions(&["auth", "b"]);
    world
        .checkpoint(["fetch", "origin", "absent"])
        .code(3)
        .stderr_has("remote 'origin' has no session 'absent'");
    world.checkpoint(["fetch", "origin", "auth"]).success();
    world.git(["push", "-q", "origin", ":refs/checkpoints/auth"]).success();
    world.checkpoint(["fetch", "origin", "auth"]).code(1).stderr_has("auth");
    world.checkpoint(["fetch", "origin", "auth", "--follow"]).success();
    assert_eq!(fetched(&world), Vec::<String>::new());
    // Sessions that are branches there are found as well.
    world.checkpoint(["fetch", "origin", "b"]).success();
    let id = world.git_line(["rev-parse", "refs/checkpoints-remote/origin/b"]);
    world
        .git(["push", "-q", "origin", &format!("{id}:refs/heads/checkpoints/d")])
        .success();
    world.checkpoint(["fetch", "origin", "d"]).success();
    assert_eq!(fetched(&world), ["b", "d"]);
    no_quarantine(&world);
}

#[test]
fn a_push_that_a_shallow_clone_cannot_make_says_so() {
    let world = shared();
    for n in 0..2 {
        world.file("README.md", format!("{n}\n"));
        world.git(["commit", "--quiet", "-am", "more"]).success();
    }
    let url = format!("file://{}", world.repo().display());
    world.git(["clone", "-q", "--depth=1", &url, "../shallow"]).success();
    world.git(["init", "-q", "--bare", "../empty"]).success();
    world.enter("shallow");
    world.git(["remote", "add", "empty", "../empty"]).success();
    world.file("work", "work");
    save(&world, "one");
    for setting in [None, Some("refs/heads/checkpoints/")] {
        if let Some(namespace) = setting {
            world
                .git(["config", "remote.empty.checkpointNamespace", namespace])
                .success();
        }
        let pushed = world.checkpoint(["push", "empty", "main"]);
        pushed
            .code(128)
            .stderr_has("this clone is shallow")
            .stderr_has("git fetch --unshallow");
        assert!(!pushed.stdout().contains("Also uploaded"), "{pushed}");
        assert!(!pushed.stderr().contains("takes no refs"), "{pushed}");
    }
}
