//! Repositories and remotes of other shapes: shallow, partial, SHA-256, reftables, linked working trees, odd names.

use std::fs;
use std::time::{Duration, Instant};

use super::{at, clone, log, no_quarantine, save, shared};
use crate::support::World;

fn url(world: &World) -> String {
    format!("file://{}", world.root().join("hub").display())
}

#[test]
fn shallow_and_partial_clones() {
    let world = shared();
    world
        .git(["-C", "../hub", "config", "uploadpack.allowFilter", "true"])
        .success();
    for n in 0..5 {
        world.file("README.md", format!("{n}\n"));
        world.git(["commit", "--quiet", "-am", "more"]).success();
    }
    world.git(["push", "--quiet", "origin", "main"]).success();
    world.checkpoint(["start", "auth"]).success();
    world.file("new.txt", "new\n");
    save(&world, "one");
    world.checkpoint(["push"]).success();
    for (directory, option) in [
        ("shallow", "--depth=1"),
        ("partial", "--filter=blob:none"),
        ("treeless", "--filter=tree:0"),
    ] {
        let path = world.root().join(directory);
        world
            .git(["clone", "--quiet", option, &url(&world), path.to_str().unwrap()])
            .success();
        world.enter(directory);
        world.checkpoint(["fetch"]).success().stdout_has("auth");
        world.checkpoint(["resume", "origin/auth"]).success();
        world.checkpoint(["apply", "@"]).success();
        assert_eq!(world.read("new.txt"), b"new\n");
        world.file(format!("{directory}.txt"), directory);
        save(&world, directory);
        world.checkpoint(["push"]).success();
        no_quarantine(&world);
        world.enter("repo");
        world.checkpoint(["pull"]).success().stdout_has("1 checkpoint");
    }
    assert_eq!(
        log(&world, "auth"),
        ["treeless", "partial", "shallow", "one", "start auth"]
    );
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn sha_256_and_reftables() {
    for (format, refs) in [("sha256", "files"), ("sha1", "reftable")] {
        let world = World::without_repository();
        for (directory, bare) in [("repo", false), ("hub", true)] {
            let path = world.root().join(directory);
            let mut args = vec!["init", "--quiet", "--initial-branch=main"];
            let (format, refs) = (format!("--object-format={format}"), format!("--ref-format={refs}"));
            args.extend([format.as_str(), refs.as_str()]);
            if bare {
                args.push("--bare");
            }
            args.push(path.to_str().unwrap());
            world.git(args).success();
        }
        world.file("a", "a\n");
        world.git(["add", "--all"]).success();
        world.git(["commit", "--quiet", "-m", "first"]).success();
        world.git(["remote", "add", "origin", &url(&world)]).success();
        world.git(["push", "--quiet", "origin", "main"]).success();
        world.checkpoint(["start", "auth"]).success();
        world.file("b", "b\n");
        let id = save(&world, "one");
        world.checkpoint(["push"]).success();
        assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), id);
        clone(&world, "bob");
        world.checkpoint(["fetch"]).success();
        world.checkpoint(["resume", "origin/auth"]).success();
        let id = save(&world, "two");
        world.checkpoint(["push"]).success();
        world.enter("repo");
        world.checkpoint(["pull"]).success();
        assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), id);
        no_quarantine(&world);
    }
}

#[test]
fn remotes_with_odd_names_and_urls_are_read_or_refused() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    for name in ["Team/Hub", "my.hub", "übung", "a-b_c"] {
        world.git(["config", &format!("remote.{name}.url"), "../hub"]).success();
        world.checkpoint(["push", name, "auth"]).success();
        world.checkpoint(["fetch", name]).success();
        world.checkpoint(["show", &format!("{name}/auth")]).success();
    }
    world.checkpoint(["list", "-r"]).success().stdout_has("Team/Hub/auth");
    let canary = world.root().join("canary");
    let touch = format!("touch {}", canary.display());
    for name in [
        "--upload-pack=touch ../canary",
        "-u",
        "--exec=touch ../canary",
        "--receive-pack=touch ../canary",
        "a\nb",
        "",
    ] {
        for command in [&["push"][..], &["fetch"], &["pull"], &["remote", "status"]] {
            let line = [command, &["--", name]].concat();
            let output = world.checkpoint(line);
            assert!(matches!(output.status().code(), Some(3 | 129)), "{output}");
        }
        if !name.contains('\n') && !name.is_empty() {
            world.git(["config", &format!("remote.{name}.url"), "../hub"]).success();
            world.checkpoint(["fetch", "--", name]).code(3);
        }
    }
    for (n, url) in [
        format!("ext::{touch}"),
        format!("ext::sh -c '{touch}'"),
        format!("--upload-pack={touch}"),
        format!("-oProxyCommand={touch}"),
        format!("ssh://-oProxyCommand={touch}/x"),
        format!("ssh://-oProxyCommand={}/x", touch.replace(' ', "%20")),
        format!("file://{}/../nowhere", world.root().display()),
        "https://a\u{1b}[31m@127.0.0.1:1/x".to_owned(),
        "git://127.0.0.1:1/x".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let name = format!("bad{n}");
        world.git(["config", &format!("remote.{name}.url"), url]).success();
        for command in [
            &["push", &name, "auth"][..],
            &["fetch", &name],
            &["pull", &name, "auth"],
        ] {
            let output = world.checkpoint(command);
            assert!(!output.is_success(), "{output}");
            output.stderr_lacks("\u{1b}");
        }
        assert!(!canary.exists(), "{url}");
    }
    world.checkpoint(["remote", "status"]).success().stdout_lacks("\u{1b}");
}

#[test]
fn credentials_in_the_address_of_a_remote_are_shown_nowhere() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    for url in [
        concat!("http://ana:", "tok3n@127.0.0.1:1/x.git"),
        "http://tok3n@127.0.0.1:1/x.git",
        "http://127.0.0.1:1/x.git?key=tok3n",
    ] {
        world.git(["config", "remote.origin.url", url]).success();
        world.git(["config", "checkpoint.autoPush", "origin"]).success();
        world.checkpoint(["save", "-m", "one", "--allow-empty"]).success();
        for command in [
            &["fetch"][..],
            &["push", "origin", "auth"],
            &["push", "--queued"],
            &["push", "--queued", "--json"],
            &["pull", "--json"],
            &["status", "--json"],
            &["remote", "status", "--json"],
            &["remote", "status"],
        ] {
            let done = world.checkpoint(command);
            done.stdout_lacks("tok3n").stderr_lacks("tok3n");
        }
        // The process in the background may be the one that tried.
        let begun = Instant::now();
        let mut state = String::new();
        while !state.contains("127.0.0.1:1/x.git") {
            assert!(begun.elapsed() < Duration::from_secs(60), "{state}");
            std::thread::sleep(Duration::from_millis(10));
            state = fs::read_to_string(world.path(".git/checkpoint/push-queue.json")).unwrap_or_default();
        }
        assert!(!state.contains("tok3n"), "{state}");
    }
    // What is reached as well: a path may look like an address.
    let hub = world.root().join("hub");
    let shown = format!("file://{}", hub.display());
    let url = format!("file://{}@{}", "ana:tok3n", hub.display());
    world.git(["config", "remote.origin.url", &shown]).success();
    world.git(["config", "remote.origin.pushurl", &url]).success();
    let listed = world.checkpoint(["remote", "status"]);
    listed.success().stdout_has(&shown).stdout_lacks("tok3n");
}

#[test]
fn a_linked_work_tree_shares_too_and_follows() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth"]).success();
    save(&world, "bob's");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    let linked = world.root().join("linked");
    world
        .git(["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()])
        .success();
    world.enter("linked");
    world.checkpoint(["resume", "auth"]).success();
    save(&world, "linked");
    world.enter("repo");
    let pulled = world.checkpoint(["pull", "--json"]).success().stdout_json();
    let tail = pulled["tail"].as_str().unwrap();
    world.enter("linked");
    world.checkpoint(["status"]).success().stdout_has(tail);
    world.checkpoint(["push"]).success().stdout_has(tail);
}

#[test]
fn the_settings_of_fetch_have_no_say() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    for (key, value) in [
        ("fetch.prune", "true"),
        ("fetch.pruneTags", "true"),
        ("remote.origin.prune", "true"),
        ("remote.origin.tagOpt", "--tags"),
        ("fetch.recurseSubmodules", "true"),
        ("push.recurseSubmodules", "on-demand"),
        ("push.default", "nothing"),
        ("fetch.writeCommitGraph", "true"),
        ("remote.origin.push", "refs/heads/*:refs/heads/*"),
    ] {
        world.git(["config", key, value]).success();
    }
    world.git(["tag", "mine"]).success();
    world.git(["update-ref", "refs/remotes/origin/gone", "HEAD"]).success();
    world.git(["-C", "../hub", "tag", "theirs", "main"]).success();
    let before = world.git_line(["for-each-ref", "refs/heads", "refs/tags", "refs/remotes"]);
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["resume", "origin/auth"]).success();
    save(&world, "more");
    world.checkpoint(["push"]).success();
    assert_eq!(
        before,
        world.git_line(["for-each-ref", "refs/heads", "refs/tags", "refs/remotes"])
    );
    assert!(!world.path(".git/FETCH_HEAD").exists());
}

/// A file that only some repositories can read is written with a warning.
#[test]
fn a_bundle_of_a_shallow_clone_names_what_it_lacks() {
    let world = shared();
    for n in 0..3 {
        world.file("README.md", format!("{n}\n"));
        world.git(["commit", "--quiet", "-am", "more"]).success();
    }
    world.git(["push", "--quiet", "origin", "main"]).success();
    let path = world.root().join("shallow");
    let args = ["clone", "--quiet", "--depth=2", &url(&world), path.to_str().unwrap()];
    world.git(args).success();
    world.enter("shallow");
    world.checkpoint(["start", "auth"]).success();
    world.file("new.txt", "new\n");
    save(&world, "one");
    let warned = world.checkpoint(["bundle", "../lacking.bundle"]);
    warned
        .success()
        .stderr_has("this clone is shallow: the bundle lacks the history before 1 commit")
        .stderr_has("git fetch --unshallow");
    // One that has the history can read it.
    world.enter("repo");
    world.checkpoint(["unbundle", "../lacking.bundle"]).success();
    let empty = world.root().join("empty");
    world.git(["init", "--quiet", empty.to_str().unwrap()]).success();
    world.enter("empty");
    assert!(!world.checkpoint(["unbundle", "../lacking.bundle"]).is_success());
    world.enter("shallow");
    world.git(["fetch", "--quiet", "--unshallow"]).success();
    let whole = world.checkpoint(["bundle", "../whole.bundle"]);
    whole.success().stderr_lacks("shallow");
    world.enter("empty");
    world.checkpoint(["unbundle", "../whole.bundle"]).success();
}
