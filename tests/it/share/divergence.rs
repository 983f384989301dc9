//! Both sides went on, or one of them went back: nothing is dropped, and nothing happens unasked.

use super::{at, clone, log, no_quarantine, save, shared};
use crate::support::Spawned;

#[test]
fn what_was_done_in_both_places_stays() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth"]).success();
    let theirs = save(&world, "bob's");
    world.checkpoint(["push"]).success();

    world.enter("repo");
    world.file("ana.txt", "ana\n");
    let ours = save(&world, "ana's");
    world.checkpoint(["task", "add", "still open"]);
    world
        .checkpoint(["push"])
        .code(4)
        .stderr_has("remote 'origin' have diverged: 1 checkpoint ahead, 1 checkpoint behind")
        .stderr_has("git checkpoint pull origin auth");
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), theirs);
    no_quarantine(&world);
    world
        .checkpoint(["remote", "status"])
        .success()
        .stdout_has("1 ahead, 1 behind");

    let refs = || world.git_line(["for-each-ref"]);
    let known = refs();
    world
        .checkpoint(["pull", "--dry-run"])
        .success()
        .stdout_has("Would pull auth, 1 checkpoint; 1 checkpoint of yours would move to session auth-");
    assert_eq!(refs(), known);
    let before = world.fingerprint();
    let pulled = world.checkpoint(["pull", "--json"]).success().stdout_json();
    assert_eq!(before, world.fingerprint());
    assert_eq!(pulled["result"], "diverged");
    let tail = pulled["tail"].as_str().unwrap().to_owned();
    assert!(tail.starts_with("auth-"), "{tail}");
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), theirs);
    let name = format!("refs/checkpoints/{tail}");
    assert_eq!(at(&world, "repo", &format!("{name}^")), ours);
    let document = world
        .git(["show", &format!("{name}:checkpoint.json")])
        .success()
        .stdout_json();
    assert_eq!(
        (&document["kind"], &document["session"]["forked_from"]["session"]),
        (&"fork".into(), &"auth".into())
    );
    // What is being worked in goes on there.
    world.checkpoint(["status"]).success().stdout_has(&tail);
    save(&world, "ana goes on");
    world.checkpoint(["push"]).success();
    assert_eq!(log(&world, &tail).len(), 2);
    assert_eq!(log(&world, "auth")[0], "bob's");
    world.checkpoint(["verify", "--all"]).success();

    world.enter("bob");
    world.checkpoint(["pull"]).success().stdout_has("Up to date");
    world.checkpoint(["fetch"]).success().stdout_has(&tail);
}

#[test]
fn a_pull_that_parted_a_session_is_taken_back() {
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
    let ours = save(&world, "ana's");
    world.checkpoint(["todo", "add", "noted before"]).success();
    world.checkpoint(["pull"]).success().stdout_has("moved to session");
    world.checkpoint(["todo", "add", "noted after"]).success();
    world.checkpoint(["undo", "--older"]).success();
    let both_wait = || {
        let todos = world.checkpoint(["todo", "list"]);
        todos.success().stdout_has("noted before").stdout_has("noted after");
        assert_eq!(todos.stdout().matches("noted").count(), 2);
    };
    both_wait();
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), ours);
    world
        .git(["for-each-ref", "--format=%(refname)", "refs/checkpoints/"])
        .stdout_is("refs/checkpoints/auth\n");
    world.checkpoint(["status"]).success().stdout_has("auth");
    world.checkpoint(["redo"]).success();
    both_wait();
    world.checkpoint(["verify", "--all"]).success();
    // The entry names the session that was separated; those of earlier versions do not, and are undone as well.
    let refs = world.git(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints/"]);
    let tail = refs.stdout().lines().find(|name| *name != "auth").unwrap();
    let list = String::from_utf8(world.read(".git/checkpoint/undo.jsonl")).unwrap();
    let member = format!(",\"separated\":\"{tail}\"");
    assert!(list.contains(&member), "{list}");
    world.file(".git/checkpoint/undo.jsonl", list.replace(&member, ""));
    world.checkpoint(["undo"]).success();
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), ours);
}

#[test]
fn two_sessions_of_one_name_are_two_sessions() {
    let world = shared();
    clone(&world, "bob");
    world.checkpoint(["start", "auth"]).success();
    let theirs = save(&world, "bob's own");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.checkpoint(["start", "auth"]).success();
    let ours = save(&world, "ana's own");
    world
        .checkpoint(["push"])
        .code(4)
        .stderr_has("another session called 'auth'")
        .stderr_has("git checkpoint rename auth");
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), theirs);
    let pulled = world.checkpoint(["pull", "--json"]).success().stdout_json();
    let tail = pulled["tail"].as_str().unwrap();
    assert_eq!(at(&world, "repo", &format!("refs/checkpoints/{tail}")), ours);
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), theirs);
    save(&world, "ana goes on");
    assert_eq!(log(&world, tail)[0], "ana goes on");
    world.checkpoint(["push", "--all"]).success();
    world.checkpoint(["verify", "--all"]).success();
}

/// A clone that has fetched nothing says so instead of speaking for the remote.
#[test]
fn a_remote_that_was_never_asked_is_not_spoken_for() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    let fetch = "git checkpoint fetch origin";
    let shown = world.checkpoint(["remote"]);
    shown.success().stdout_has("not fetched yet").stdout_has(fetch);
    assert!(!shown.stdout().contains("no sessions"), "{shown}");
    world.checkpoint(["list", "-r"]).success().stderr_has(fetch);
    // The remote itself is asked.
    let absent = world.checkpoint(["remote", "delete", "nothing"]);
    absent.code(3).stderr_has("has no session 'nothing'");
    assert!(!absent.stderr().contains("push"), "{absent}");
    for line in [&["remote", "delete", "auth"][..], &["remote", "delete", "auth", "-n"]] {
        world
            .checkpoint(line)
            .code(4)
            .stderr_has("it was not fetched yet")
            .stderr_has(fetch);
        assert_ne!(at(&world, "hub", "refs/checkpoints/auth"), "");
    }
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["remote", "delete", "auth"]).success();
    let hub = world.root().join("hub");
    let hub = hub.to_str().unwrap();
    assert_eq!(world.git_line(["-C", hub, "for-each-ref", "refs/checkpoints"]), "");
    world.checkpoint(["remote"]).success().stdout_has("no sessions");

    // A name that is neither a remote nor a session.
    for word in ["orgin", "nosuchremote"] {
        let refused = world.checkpoint(["fetch", word]);
        refused.code(3).stderr_has(&format!("no remote '{word}'"));
        assert_eq!(refused.stdout(), "", "{refused}");
    }
    world
        .checkpoint(["fetch", "orgin"])
        .code(3)
        .stderr_has("did you mean 'origin'?");
}

/// Nobody has told this clone: the push itself finds out, of one session and of many.
#[test]
fn a_session_that_was_deleted_since_is_not_pushed_anew() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    let tip = |n: &str| at(&world, "repo", &format!("refs/checkpoints/{n}"));
    for n in 0..70 {
        world
            .git(["update-ref", &format!("refs/checkpoints/many-{n}"), &tip("auth")])
            .success();
    }
    world.checkpoint(["push", "--all"]).success();
    let hub = world.root().join("hub");
    let delete = |name: &str| {
        let full = format!("refs/checkpoints/{name}");
        world
            .git(["-C", hub.to_str().unwrap(), "update-ref", "-d", &full])
            .success();
    };
    // Also where nothing is new here.
    for (args, has_more) in [
        (&["push"][..], false),
        (&["push", "origin", "auth"], true),
        (&["push", "--all"], true),
        (&["push", "--all", "-n"], false),
        (&["push", "-n"], true),
    ] {
        delete("auth");
        if has_more {
            world.file("more", args.join(" "));
            save(&world, "more");
        }
        world
            .checkpoint(args)
            .code(4)
            .stderr_has("session 'auth' was deleted on remote 'origin'")
            .stderr_has("git checkpoint push origin auth --force");
        assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), "", "{args:?}");
        world.checkpoint(["push", "--force"]).success().stdout_has("put back");
        assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), tip("auth"), "{args:?}");
    }
    // Its own deletion is not taken back unasked either.
    world.checkpoint(["remote", "delete", "auth"]).success();
    world.checkpoint(["remote"]).success().stdout_has("deleted on origin");
    for args in [&["push"][..], &["push", "--all"]] {
        world
            .checkpoint(args)
            .code(4)
            .stderr_has("was deleted on remote 'origin'");
        assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), "", "{args:?}");
    }
    world
        .checkpoint(["push", "origin", "auth"])
        .success()
        .stdout_has("Pushed auth");
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), tip("auth"));
    world.file("more", "last");
    save(&world, "more");
    world.checkpoint(["push"]).success();
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), tip("auth"));
}

/// A second address of the remote that lacks a session gets it, and so does a namespace that is set later.
#[test]
fn a_session_that_another_place_of_the_remote_lacks_is_pushed_there() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    let (hub, second) = (world.root().join("hub"), world.root().join("second"));
    world.git(["init", "-q", "--bare", second.to_str().unwrap()]).success();
    for url in [&hub, &second] {
        world
            .git(["remote", "set-url", "--add", "--push", "origin", url.to_str().unwrap()])
            .success();
    }
    let tip = save(&world, "two");
    world.checkpoint(["push"]).success();
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), tip);
    assert_eq!(at(&world, "second", "refs/checkpoints/auth"), tip);
    world
        .git(["config", "remote.origin.checkpointNamespace", "refs/heads/sessions/"])
        .success();
    let tip = save(&world, "three");
    world.checkpoint(["push"]).success();
    assert_eq!(at(&world, "hub", "refs/heads/sessions/auth"), tip);
    assert_eq!(at(&world, "second", "refs/heads/sessions/auth"), tip);
}

#[test]
fn a_change_that_is_not_followed_fails_a_fetch_once() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    let one = save(&world, "one");
    let two = save(&world, "two");
    world.checkpoint(["push"]).success();
    let start = at(&world, "repo", &format!("{one}^"));
    let hub = world.root().join("hub");
    let hub = hub.to_str().unwrap();
    let cases: [(&[&str], &str); 4] = [
        (&["refs/checkpoints/auth", &one], "was set back by 1 checkpoint"),
        // Another change is news again.
        (&["refs/checkpoints/auth", &start], "was set back by 2 checkpoints"),
        (&["-d", "refs/checkpoints/auth"], "was deleted on remote 'origin'"),
        (&["refs/checkpoints/auth", &one], "was set back by 1 checkpoint"),
    ];
    for (args, change) in cases {
        world.git([&["-C", hub, "update-ref"], args].concat()).success();
        world.checkpoint(["fetch", "-n"]).code(1);
        world.checkpoint(["fetch"]).code(1).stderr_has(change);
        for _ in 0..2 {
            let again = world.checkpoint(["fetch", "--advice"]);
            again.success().stdout_has("auth").stdout_has("; kept here as it was");
            again
                .stderr_has("git checkpoint fetch origin --follow")
                .stderr_lacks("error");
            assert_eq!(at(&world, "repo", "refs/checkpoints-remote/origin/auth"), two);
        }
    }
    // A pull cannot do what was asked of it, and fails each time.
    world.checkpoint(["pull"]).code(4);
    world.checkpoint(["pull"]).code(4);
    // Others come, and scripts go on.
    clone(&world, "bob");
    world.checkpoint(["start", "other"]).success();
    save(&world, "other");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.checkpoint(["fetch"]).success().stdout_has("other");
    world.checkpoint(["fetch", "--follow"]).success();
    world.checkpoint(["fetch"]).success().stdout_has("Nothing new");
    // What is back as it was is news when it goes again.
    world.checkpoint(["push", "origin", "auth"]).success();
    world
        .git(["-C", hub, "update-ref", "refs/checkpoints/auth", &one])
        .success();
    world.checkpoint(["fetch"]).code(1).stderr_has("was set back");
}

#[test]
fn a_remote_that_went_back_is_told_and_not_followed() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    let one = save(&world, "one");
    let two = save(&world, "two");
    world.checkpoint(["push"]).success();
    let hub = world.root().join("hub");
    let hub = hub.to_str().unwrap();
    let set = |args: &[&str]| {
        world.git([&["-C", hub, "update-ref"], args].concat()).success();
    };
    set(&["refs/checkpoints/auth", &one]);
    world
        .checkpoint(["fetch"])
        .code(1)
        .stderr_has("was set back by 1 checkpoint");
    let known = || at(&world, "repo", "refs/checkpoints-remote/origin/auth");
    assert_eq!(known(), two);
    world
        .checkpoint(["pull"])
        .code(4)
        .stderr_has("set back")
        .stderr_has("git checkpoint push origin auth");
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), two);
    world.checkpoint(["push"]).success();
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), two);

    set(&["-d", "refs/checkpoints/auth"]);
    world
        .checkpoint(["fetch"])
        .code(1)
        .stderr_has("was deleted on remote 'origin'");
    assert_eq!(known(), two);
    world.checkpoint(["pull"]).code(4).stderr_has("was deleted");
    // What a colleague deleted is not silently put back, also with new work in it.
    let shown = world.checkpoint(["remote"]);
    shown.success().stdout_has("deleted on origin");
    assert!(!shown.stdout().contains("up to date"), "{shown}");
    let status = world.checkpoint(["status"]);
    status.success().stdout_has("deleted on origin");
    world
        .checkpoint(["list"])
        .success()
        .stderr_has("Deleted on origin: auth; to push it again: git checkpoint push origin auth --force");
    let json = world.checkpoint(["remote", "status", "--json"]).success().stdout_json();
    assert_eq!(json["remotes"][0]["sessions"][0]["state"], "deleted-there");
    world.file("later", "x");
    let two = save(&world, "more");
    for args in [
        &["push"][..],
        &["push", "--all"],
        &["push", "-n"],
        &["push", "origin", "auth"],
    ] {
        let refused = world.checkpoint(args);
        refused
            .code(4)
            .stderr_has("session 'auth' was deleted on remote 'origin'")
            .stderr_has("git checkpoint push origin auth --force");
        let there = world.git_line(["-C", hub, "for-each-ref", "refs/checkpoints"]);
        assert_eq!(there, "", "{args:?}");
    }
    world
        .checkpoint(["push", "--force"])
        .success()
        .stdout_has("Pushed auth")
        .stdout_has("put back");
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), two);
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["remote"]).success().stdout_has("up to date");
    set(&["refs/checkpoints/auth", &two]);

    // Another history of the same session.
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.enter("repo");
    set(&["refs/checkpoints/auth", &one]);
    clone(&world, "eve");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth"]).success();
    let other = save(&world, "another two");
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world
        .checkpoint(["fetch"])
        .code(1)
        .stderr_has("replaced by another history");
    world
        .checkpoint(["pull", "origin", "auth"])
        .code(4)
        .stderr_has("--follow");
    assert_eq!(at(&world, "bob", "refs/checkpoints/auth"), two);
    world
        .checkpoint(["pull", "origin", "auth", "--follow"])
        .success()
        .stdout_has("moved to session");
    assert_eq!(at(&world, "bob", "refs/checkpoints/auth"), other);
    no_quarantine(&world);
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn a_chain_that_was_pruned_is_the_same_session() {
    // What a prune makes: the same documents in other commits, and a list of what is gone.
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    save(&world, "two");
    let three = save(&world, "three");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth"]).success();

    world.enter("repo");
    let pruned = prune_middle(&world, &three);
    world.git(["update-ref", "refs/checkpoints/auth", &pruned]).success();
    world.checkpoint(["push"]).success().stdout_has("pruned");
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), pruned);
    let four = save(&world, "four");
    world.checkpoint(["push"]).success();

    world.enter("bob");
    world.checkpoint(["fetch"]).success().stdout_has("1 more checkpoint");
    world.checkpoint(["pull"]).success().stdout_has("1 checkpoint");
    assert_eq!(at(&world, "bob", "refs/checkpoints/auth"), four);
    // What was dropped there is kept here.
    let kept = world.git_line(["for-each-ref", "--format=%(objectname)", "refs/checkpoints-trash"]);
    assert_eq!(kept, three);
    assert_eq!(log(&world, "auth"), ["four", "three", "start auth"]);
}

#[test]
fn what_prune_makes_is_pushed_and_pulled() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    for summary in ["one", "two", "three"] {
        save(&world, summary);
    }
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth"]).success();
    world.enter("repo");
    world.checkpoint(["prune", "--keep-last", "1", "--force"]).success();
    assert_eq!(log(&world, "auth"), ["three", "start auth"]);
    world.checkpoint(["push"]).success().stdout_has("pruned");
    save(&world, "four");
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world.checkpoint(["pull"]).success().stdout_has("1 checkpoint");
    assert_eq!(log(&world, "auth"), ["four", "three", "start auth"]);
    save(&world, "five");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.checkpoint(["pull"]).success();
    assert_eq!(log(&world, "auth"), ["five", "four", "three", "start auth"]);
    world.checkpoint(["verify", "--all"]).success();
}

/// The chain of `tip` without what is between it and the start.
fn prune_middle(world: &crate::support::World, tip: &str) -> String {
    let start = world.git_line(["rev-list", "--first-parent", "--max-parents=0", tip]);
    let digest = |id: &str| {
        let text = world.git_line(["log", "-1", "--format=%(trailers:key=Checkpoint-Digest,valueonly)", id]);
        text.trim().to_owned()
    };
    let gone = [2, 1].map(|back| {
        let id = world.git_line(["rev-parse", &format!("{tip}~{back}")]);
        format!("{{\"digest\":\"{}\",\"commit\":\"{id}\",\"now\":null}}\n", digest(&id))
    });
    let list = world
        .command("git", ["hash-object", "-w", "--stdin"])
        .input(gone.concat())
        .run();
    let entries = world.git(["ls-tree", tip]).success().stdout().to_owned();
    let entries = format!(
        "{entries}100644 blob {}\tpruned.jsonl\n",
        list.success().stdout().trim()
    );
    let tree = world.command("git", ["mktree"]).input(entries).run();
    let message = world
        .git(["log", "-1", "--format=%B", tip])
        .success()
        .stdout()
        .to_owned();
    let snapshot = world.git_line(["rev-parse", &format!("{tip}^2")]);
    let tree = tree.success().stdout().trim().to_owned();
    let commit = world
        .command("git", ["commit-tree", &tree, "-p", &start, "-p", &snapshot])
        .input(message.trim_end().to_owned() + "\n")
        .run();
    commit.success().stdout().trim().to_owned()
}

#[test]
fn pushes_at_the_same_time_drop_nothing() {
    const CLONES: [&str; 6] = ["c1", "c2", "c3", "c4", "c5", "c6"];
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    for name in CLONES {
        clone(&world, name);
        world.checkpoint(["pull", "origin", "auth"]).success();
        world.checkpoint(["resume", "auth"]).success();
    }
    let mut tips = Vec::new();
    for round in 0..3 {
        for name in CLONES {
            world.enter(name);
            tips.push((name, save(&world, &format!("{name} {round}"))));
        }
        // All are started before any is waited for.
        let pushes: Vec<_> = CLONES
            .iter()
            .map(|name| {
                world.enter(name);
                world.spawn(["push", "--all"])
            })
            .collect();
        let codes: Vec<_> = pushes.into_iter().map(Spawned::code).collect();
        let won = codes.iter().filter(|code| **code == Some(0)).count();
        if round == 0 {
            assert_eq!(won, 1, "one of those that went on from the same checkpoint: {codes:?}");
        }
        // 5 is what a remote whose ref is locked by another push makes of it.
        assert!(
            codes.iter().all(|code| matches!(code, Some(0 | 4 | 5))),
            "round {round}: {codes:?}"
        );
        // Those that were refused pull and push, and everything is there, and stays.
        for name in CLONES {
            world.enter(name);
            world.checkpoint(["pull", "origin", "auth"]).success();
            world.checkpoint(["push", "--all"]).success();
        }
        for (name, tip) in &tips {
            let line = ["-C", "../hub", "for-each-ref", "--contains", tip, "refs/checkpoints/"];
            assert!(!world.git_line(line).is_empty(), "round {round}: {name}");
        }
    }
    world.git(["-C", "../hub", "fsck", "--strict"]).success();
    for name in CLONES {
        world.enter(name);
        no_quarantine(&world);
        world.checkpoint(["verify", "--all"]).success();
    }
}
