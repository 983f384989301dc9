//! Servers that take only branches, or only messages of a form: sessions go to another namespace, and are found there.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{at, clone, no_quarantine, save, shared};
use crate::support::World;

/// The namespace that is proposed.
const BRANCHES: &str = "refs/heads/checkpoints/";

/// Gives the hub a hook that is asked for each ref, as `update` is.
fn hook(world: &World, text: &str) {
    fs::create_dir_all(world.root().join("hub/hooks")).unwrap();
    let path = world.root().join("hub/hooks/update");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A hub that takes only branches, and says so.
fn only_branches() -> World {
    let world = shared();
    hook(
        &world,
        "case $1 in refs/heads/*) ;; *) echo \"only refs/heads is taken here, not $1\"; exit 1;; esac",
    );
    world
}

fn use_branches(world: &World) {
    world
        .git(["config", "remote.origin.checkpointNamespace", BRANCHES])
        .success();
}

#[test]
fn the_first_refusal_proposes_a_namespace_and_its_commands_work() {
    let world = only_branches();
    world.checkpoint(["start", "auth"]).success();
    let tip = save(&world, "one");
    let refused = world.checkpoint(["push"]);
    refused
        .code(128)
        .stderr_has("takes no refs like refs/checkpoints/auth")
        .stderr_has("remote: only refs/heads is taken here");
    // The very commands that the hint names.
    let hint = refused.stderr().lines().find_map(|line| {
        let (_, commands) = line.split_once("store sessions as branches there: ")?;
        Some(commands.to_owned())
    });
    let hint = hint.expect("a hint with the commands");
    for command in hint.split(" && ") {
        let words: Vec<&str> = command.split(' ').collect();
        match words[..] {
            ["git", "checkpoint", ref rest @ ..] => world.checkpoint(rest).success(),
            ["git", ref rest @ ..] => world.git(rest).success(),
            _ => panic!("{command}"),
        };
    }
    assert_eq!(at(&world, "hub", "refs/heads/checkpoints/auth"), tip);
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), "");
    world.checkpoint(["push"]).success().stdout_has("Up to date: auth");
    // Somebody who set nothing finds it, resumes it, and gets the same hint at the first push.
    clone(&world, "bob");
    world.checkpoint(["fetch"]).success().stdout_has("new       auth");
    no_quarantine(&world);
    world.checkpoint(["resume", "auth", "--brief"]).success();
    let two = save(&world, "two");
    world
        .checkpoint(["push"])
        .code(128)
        .stderr_has("git config remote.origin.checkpointNamespace refs/heads/checkpoints/");
    use_branches(&world);
    world.checkpoint(["push"]).success();
    assert_eq!(at(&world, "hub", "refs/heads/checkpoints/auth"), two);
    world.enter("repo");
    world.checkpoint(["pull"]).success().stdout_has("1 checkpoint");
    // Both go on: the one who comes second merges, and nothing is lost.
    save(&world, "three");
    world.checkpoint(["push"]).success();
    world.enter("bob");
    save(&world, "four");
    world.checkpoint(["push"]).code(4).stderr_has("have diverged");
    world.checkpoint(["pull", "--merge"]).success();
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.checkpoint(["pull"]).success();
    let summaries = world
        .git(["log", "--format=%s", "checkpoints/auth"])
        .stdout()
        .to_owned();
    assert!(summaries.contains("four"), "{summaries}");
    // Deleted there, exactly where it was.
    world.checkpoint(["delete", "--remote", "origin", "auth"]).success();
    assert_eq!(at(&world, "hub", "refs/heads/checkpoints/auth"), "");
    assert!(!at(&world, "repo", "refs/checkpoints/auth").is_empty());
}

#[test]
fn a_refusal_without_a_reason_proposes_it_as_well() {
    let world = shared();
    hook(&world, "case $1 in refs/heads/*) ;; *) exit 1;; esac");
    world.checkpoint(["start", "auth"]).success();
    world
        .checkpoint(["push"])
        .code(128)
        .stderr_has("if it accepts only branches, store sessions as branches there: git config");
    use_branches(&world);
    world.checkpoint(["push"]).success();
    // There, the same refusal is about something else.
    hook(&world, "exit 1");
    save(&world, "two");
    world.checkpoint(["push"]).code(128).stderr_lacks("git config remote.");
}

#[test]
fn sessions_of_several_namespaces_are_read_and_the_longest_chain_counts() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    let old = save(&world, "one");
    world.checkpoint(["push"]).success();
    // From now on it is a branch; what was there stays as it was.
    use_branches(&world);
    let new = save(&world, "two");
    world.checkpoint(["push"]).success();
    world.checkpoint(["start", "other"]).success();
    world.checkpoint(["push", "origin", "other"]).success();
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), old);
    // A branch of the same kind of name that is no session, and one whose name is none.
    world
        .git(["push", "-q", "origin", "main:refs/heads/checkpoints/mine"])
        .success();
    world
        .git(["push", "-q", "origin", "main:refs/heads/checkpoints/Not/Ours"])
        .success();
    for setting in [None, Some(BRANCHES), Some("refs/elsewhere")] {
        clone(&world, &format!("bob{}", setting.map_or(0, str::len)));
        if let Some(namespace) = setting {
            world
                .git(["config", "remote.origin.checkpointNamespace", namespace])
                .success();
        }
        let fetched = world.checkpoint(["fetch"]);
        if setting == Some(BRANCHES) {
            // Where sessions are said to be, whatever is none is reported.
            fetched.code(1).stdout_has("refused   mine");
        } else {
            fetched.success().stdout_lacks("mine").stdout_lacks("Ours");
        }
        no_quarantine(&world);
        let directory = world.repo();
        let directory = directory.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(at(&world, &directory, "refs/checkpoints-remote/origin/auth"), new);
        assert!(!at(&world, &directory, "refs/checkpoints-remote/origin/other").is_empty());
        let again = world.checkpoint(["fetch"]);
        again.stdout_lacks("auth");
        if setting != Some(BRANCHES) {
            again.success().stdout_has("Nothing new on origin, 2 sessions");
        }
    }
    // Deleting takes both.
    world.enter("repo");
    world.checkpoint(["delete", "--remote", "origin", "auth"]).success();
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), "");
    assert_eq!(at(&world, "hub", "refs/heads/checkpoints/auth"), "");
    assert!(!at(&world, "hub", "refs/heads/checkpoints/mine").is_empty());
}

#[test]
fn a_namespace_that_cannot_be_used_is_refused_before_anything_is_sent() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    for bad in ["refs/heads/", "refs/tags/x", "checkpoints", "refs/a b"] {
        world
            .git(["config", "remote.origin.checkpointNamespace", bad])
            .success();
        for command in ["push", "fetch", "pull"] {
            world
                .checkpoint([command])
                .code(128)
                .stderr_has("remote.origin.checkpointNamespace")
                .stderr_has("cannot be used");
        }
    }
    let refs = world.git(["-C", "../hub", "for-each-ref"]);
    assert_eq!(refs.stdout().lines().count(), 1, "{}", refs.stdout());
}

#[test]
fn a_server_that_demands_a_form_of_messages_gets_it() {
    let world = only_branches();
    hook(
        &world,
        "case $1 in refs/heads/*) ;; *) exit 1;; esac\n\
         git log --format=%s \"$3\" --not --branches | grep -v '^PROJ-[0-9]*: ' && exit 1; exit 0",
    );
    use_branches(&world);
    world.checkpoint(["start", "plain"]).success();
    world.checkpoint(["push"]).code(128);
    world
        .git(["config", "checkpoint.subjectTemplate", "PROJ-7: %s"])
        .success();
    world.checkpoint(["start", "auth"]).success();
    world.file("notes.txt", "text\n");
    save(&world, "PROJ-7: by hand");
    world.file("notes.txt", "more\n");
    world.checkpoint(["pause"]).success();
    world.checkpoint(["push", "origin", "auth"]).success();
    let all = world
        .git(["log", "--format=%s", "checkpoints/auth", "--not", "main"])
        .stdout()
        .to_owned();
    assert!(all.lines().any(|line| line == "PROJ-7: files on disk"), "{all}");
    assert!(all.lines().any(|line| line == "PROJ-7: by hand"), "{all}");
    assert!(all.lines().all(|line| line.starts_with("PROJ-7: ")), "{all}");
    world.checkpoint(["verify", "auth"]).success();
    world
        .git(["config", "checkpoint.subjectTemplate", "no place"])
        .success();
    world.checkpoint(["save"]).code(128).stderr_has("'%s'");
}

#[test]
fn branches_that_are_sessions_are_no_branches_of_the_project() {
    let world = shared();
    world.git(["switch", "-q", "-c", "topic"]).success();
    world.checkpoint(["start", "auth"]).success();
    world.file("a.txt", "a\n");
    world.git(["add", "a.txt"]).success();
    world.git(["commit", "-q", "-m", "on topic"]).success();
    save(&world, "one");
    world
        .git(["branch", "checkpoints/auth", "refs/checkpoints/auth"])
        .success();
    world.git(["switch", "-q", "main"]).success();
    world.git(["branch", "-q", "-D", "topic"]).success();
    // The session's own branch holds the commit, as the parent of its snapshot.
    let report = world.checkpoint(["resume", "auth", "--json"]);
    report.success().stdout_lacks("checkpoints/auth\"");
}
