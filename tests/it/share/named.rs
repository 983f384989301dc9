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
    let world = with_sessions(&["auth", "auth-2", "b"]);
    let program = crate::support::PROGRAM;
    for line in [
        ["fetch", "origin", "auth"],
        ["pull", "origin", "auth"],
        ["pull", "origin", "auth"],
    ] {
        let trace = world.root().join("trace");
        // The second pull has something to fetch.
        world.enter("repo");
        world.file(line[0], "more\n");
        world
            .checkpoint(["save", "--session", "auth", "-m", "more", "--allow-empty"])
            .success();
        world.checkpoint(["push", "origin", "auth"]).success();
        world.enter("other");
        let run = world.command(program, line);
        run.env("GIT_TRACE_PACKET", &trace).run().success();
        let said = std::fs::read_to_string(&trace).unwrap();
        let advertised: Vec<_> = said
            .lines()
            .filter(|line| line.contains("< ") && line.contains("refs/") && !line.contains("ref-prefix"))
            .collect();
        assert!(said.contains("ref-prefix refs/checkpoints/auth"), "{said}");
        assert!(!advertised.is_empty(), "{line:?}: {said}");
        assert!(
            advertised.iter().all(|line| line.contains("refs/checkpoints/auth")),
            "{line:?}: {advertised:?}"
        );
        // One request for the refs, and of what is called alike nothing comes.
        assert_eq!(said.matches("fetch> command=ls-refs").count(), 1, "{line:?}: {said}");
        assert_eq!(fetched(&world), ["auth"], "{line:?}");
        no_quarantine(&world);
        std::fs::remove_file(&trace).unwrap();
    }
    let there = at(&world, "repo", "checkpoints/auth");
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/auth"]), there);
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
fn sessions_since_a_date_come_and_older_ones_do_not() {
    for allows_filters in [true, false] {
        let world = shared();
        for (name, date) in [("old", "2020-01-01T00:00:00Z"), ("young", "2025-01-01T00:00:00Z")] {
            let run = world.command(crate::support::PROGRAM, ["save", "--session", name, "-m", name]);
            run.env("GIT_COMMITTER_DATE", date)
                .env("GIT_AUTHOR_DATE", date)
                .run()
                .success();
        }
        world.checkpoint(["push", "--all"]).success();
        let there = world.git_line(["remote", "get-url", "origin"]);
        world
            .git([
                "-C",
                &there,
                "config",
                "uploadpack.allowFilter",
                &allows_filters.to_string(),
            ])
            .success();
        clone(&world, "other");
        world.enter("other");
        let config = world.git_line(["config", "--list", "--local"]);
        let since = ["fetch", "--since", "2024-06-01"];
        let planned = world.checkpoint([&since[..], &["--dry-run"]].concat());
        planned
            .success()
            .stdout_has("young")
            .stdout_has("1 older session not fetched");
        assert_eq!(fetched(&world), Vec::<String>::new());
        world
            .checkpoint(since)
            .success()
            .stdout_has("1 older session not fetched");
        assert_eq!(fetched(&world), ["young"]);
        world
            .checkpoint(since)
            .success()
            .stdout_has("1 older session not fetched");
        // Nothing of the search stays.
        assert_eq!(world.git_line(["config", "--list", "--local"]), config);
        assert_eq!(world.git_line(["rev-parse", "--is-shallow-repository"]), "false");
        let left = std::fs::read_dir(world.root().join("other/.git/objects")).unwrap();
        assert!(
            left.flatten()
                .all(|entry| !entry.file_name().to_string_lossy().starts_with("tmp_"))
        );
        world.git(["fsck", "--strict", "--no-dangling"]).success();
        world.checkpoint(["verify", "--all"]).success();
        world.checkpoint(["fetch"]).success().stdout_has("old");
        world
            .checkpoint(["fetch", "origin", "old", "--since", "2024-06-01"])
            .code(129);
        world.checkpoint(["fetch", "--since", "no date at all"]).code(129);
    }
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

#[test]
fn many_sessions_are_pushed_at_once_and_only_what_changed_is_noted() {
    let world = shared();
    let names: Vec<String> = (0..12).map(|n| format!("s{n:02}")).collect();
    for name in &names {
        world.checkpoint(["start", name]).success();
    }
    world.checkpoint(["push", "--all"]).success();
    let logged = |name: &str| {
        let log = format!("logs/refs/checkpoints-remote/origin/{name}");
        std::fs::read_to_string(world.path(format!(".git/{log}")))
            .unwrap()
            .lines()
            .count()
    };
    for name in &names {
        let tip = at(&world, "repo", &format!("refs/checkpoints/{name}"));
        assert_eq!(at(&world, "hub", &format!("refs/checkpoints/{name}")), tip);
        assert_eq!(
            at(&world, "repo", &format!("refs/checkpoints-remote/origin/{name}")),
            tip
        );
        assert_eq!(logged(name), 1);
    }
    // One has a new checkpoint here, one has one there, and one is missing there.
    let there = save(&world, "there");
    world.checkpoint(["push", "origin", "s11"]).success();
    let before = world.git_line(["rev-parse", "refs/checkpoints/s11~1"]);
    for name in ["refs/checkpoints/s11", "refs/checkpoints-remote/origin/s11"] {
        world.git(["update-ref", name, &before]).success();
    }
    world
        .git(["-C", "../hub", "update-ref", "-d", "refs/checkpoints/s05"])
        .success();
    world.checkpoint(["resume", "s03", "--brief"]).success();
    let here = save(&world, "here");
    let pushed = world.checkpoint(["push", "--all", "--json"]);
    let sessions = pushed.stdout_json()["sessions"].as_array().unwrap().clone();
    assert_eq!(sessions.len(), 12);
    assert_eq!(at(&world, "hub", "refs/checkpoints/s03"), here);
    assert_eq!(at(&world, "repo", "refs/checkpoints-remote/origin/s03"), here);
    assert_eq!(at(&world, "hub", "refs/checkpoints/s05"), "", "it was deleted there");
    assert_eq!(at(&world, "hub", "refs/checkpoints/s11"), there, "it is not set back");
    assert_eq!((logged("s00"), logged("s03")), (1, 2));
    world.checkpoint(["push", "origin", "s05", "--force"]).success();
    assert!(!at(&world, "hub", "refs/checkpoints/s05").is_empty());
    // With nothing new nothing is written.
    let all = || names.iter().map(|name| logged(name)).sum::<usize>();
    world.checkpoint(["pull", "origin", "s11"]).success();
    let before = all();
    world.checkpoint(["push", "--all"]).success();
    assert_eq!(all(), before);
}
