//! A session that somebody pruned on the remote: a push from a clone that still has all of it brings nothing back, and a pull
//! follows the prune with what is only there on top.

use super::{at, clone, log, save, shared};
use crate::support::World;

const AUTH: &str = "refs/checkpoints/auth";

/// Three checkpoints at the remote, in `repo` and in `bob`; the first one is some days older.
fn three() -> (World, Vec<String>) {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    let ids = ["one", "two", "three"].map(|summary| {
        world.file(summary, summary);
        let id = save(&world, summary);
        if summary == "one" {
            world.advance(2 * 24 * 3600);
        }
        id
    });
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth", "--apply"]).success();
    world.enter("repo");
    (world, ids.to_vec())
}

/// Whether the history of a ref has a commit, as git sees it.
fn has(world: &World, directory: &str, commit: &str) -> bool {
    let path = world.root().join(directory);
    let found = world.git(["-C", path.to_str().unwrap(), "rev-list", AUTH]);
    found.success().stdout().lines().any(|line| line == commit)
}

/// Whether any session of a repository leads to a commit, as git sees it.
fn leads_to(world: &World, directory: &str, commit: &str) -> bool {
    let path = world.root().join(directory);
    let found = world.git(["-C", path.to_str().unwrap(), "rev-list", "--glob=refs/checkpoints/*"]);
    found.success().stdout().lines().any(|line| line == commit)
}

/// The files of the latest checkpoint, as git sees them.
fn files(world: &World, directory: &str, name: &str) -> Vec<String> {
    let path = world.root().join(directory);
    let listed = world.git([
        "-C",
        path.to_str().unwrap(),
        "ls-tree",
        "--name-only",
        &format!("{name}^2"),
    ]);
    listed.success().stdout().lines().map(str::to_owned).collect()
}

/// The summaries of a session in order of the alphabet.
fn sorted_log(world: &World) -> Vec<String> {
    let mut all = log(world, "auth");
    all.sort();
    all
}

fn tree(world: &World, directory: &str, name: &str) -> String {
    at(world, directory, &format!("{name}^2^{{tree}}"))
}

#[test]
fn a_push_brings_nothing_back_that_was_pruned_there() {
    for fetch_first in [false, true] {
        let (world, ids) = three();
        world.enter("bob");
        world.file("bob", "work");
        let four = save(&world, "four");
        world.file("bob", "more work");
        let five = save(&world, "five");
        world.enter("repo");
        world.checkpoint(["prune", "--keep-last", "1", "--force"]).success();
        world.checkpoint(["push"]).success().stdout_has("pruned");
        let pruned = at(&world, "hub", AUTH);
        world.enter("bob");
        if fetch_first {
            world.checkpoint(["fetch"]).success().stdout_has("pruned there");
        }
        let whole = tree(&world, "bob", &five);
        for args in [&["push", "-n"][..], &["push"], &["push", "--all"]] {
            let refused = world.checkpoint(args);
            refused
                .code(4)
                .stderr_has("was pruned on remote 'origin', which dropped 2 checkpoints that are still here");
            refused
                .stderr_has("follow that, with your 2 new checkpoints after it: git checkpoint pull origin auth\n")
                .stderr_has("bring back there what is gone: git checkpoint push origin auth --force\n");
            assert_eq!(at(&world, "hub", AUTH), pruned);
            assert_eq!(at(&world, "bob", AUTH), five);
        }
        let json = world.checkpoint(["push", "--json"]).code(4).stdout_json();
        let row = &json["sessions"][0];
        assert_eq!(
            (&row["result"], &row["checkpoints"]),
            (&"pruned-there".into(), &2.into())
        );

        let plan = world.checkpoint(["pull", "-n"]);
        plan.success()
            .stdout_has("Would pull auth, without the 2 checkpoints that were pruned there, 2 checkpoints not pushed");
        assert_eq!(at(&world, "bob", AUTH), five);
        world
            .checkpoint(["pull", "origin", "auth"])
            .success()
            .stdout_has("without the 2 checkpoints that were pruned there, 2 checkpoints not pushed");
        assert_eq!(log(&world, "auth"), ["five", "four", "three", "start auth"]);
        // What git sees: the pruned chain, and the same documents and files on top of it.
        assert_eq!(at(&world, "bob", &format!("{AUTH}~2")), pruned);
        assert_eq!(tree(&world, "bob", AUTH), whole);
        for (new, old) in [(AUTH, &five), (&*format!("{AUTH}~1"), &four)] {
            let file = |of: &str| at(&world, "bob", &format!("{of}:checkpoint.json"));
            assert_eq!(file(new), file(old));
        }
        assert!(!has(&world, "bob", &ids[0]) && !has(&world, "bob", &ids[1]));
        world.git(["status", "--porcelain"]).stdout_has("?? bob");
        world.checkpoint(["verify", "--all"]).success();
        // Nothing is dropped: what it was is in the trash, and comes back with an undo.
        let kept = world.git_line(["for-each-ref", "--format=%(objectname)", "refs/checkpoints-trash"]);
        assert_eq!(kept, five);
        let followed = at(&world, "bob", AUTH);
        world.checkpoint(["undo"]).success();
        assert_eq!(at(&world, "bob", AUTH), five);
        world.checkpoint(["redo"]).success();
        assert_eq!(at(&world, "bob", AUTH), followed);

        world.checkpoint(["push"]).success().stdout_has("2 checkpoints");
        assert_eq!(at(&world, "hub", AUTH), followed);
        assert!(!has(&world, "hub", &ids[0]) && !has(&world, "hub", &ids[1]));
        world.enter("repo");
        world.checkpoint(["pull"]).success().stdout_has("2 checkpoints");
        assert_eq!(at(&world, "repo", AUTH), followed);
    }
}

#[test]
fn a_pull_follows_a_prune_where_nothing_is_new() {
    let (world, ids) = three();
    world.checkpoint(["prune", "--keep-last", "1", "--force"]).success();
    world.checkpoint(["push"]).success();
    let pruned = at(&world, "hub", AUTH);
    world.enter("bob");
    // There is nothing to send.
    let push = world.checkpoint(["push"]);
    push.success()
        .stdout_has("Not pushed: auth ")
        .stdout_has(", where it was pruned of 2 checkpoints");
    world.checkpoint(["push", "--all"]).success();
    assert_eq!(at(&world, "hub", AUTH), pruned);
    world
        .checkpoint(["pull"])
        .success()
        .stdout_has("without the 2 checkpoints that were pruned there, latest by");
    assert_eq!(at(&world, "bob", AUTH), pruned);
    assert!(!has(&world, "bob", &ids[0]));
    world.checkpoint(["pull"]).success().stdout_has("Up to date");
    save(&world, "four");
    world.checkpoint(["push"]).success().stdout_has("1 checkpoint");
    assert_eq!(at(&world, "hub", &format!("{AUTH}~1")), pruned);
}

#[test]
fn autosaves_follow_a_prune_as_well() {
    let (world, _) = three();
    world.enter("bob");
    let four = save(&world, "four");
    world.file("bob", "in progress");
    world.checkpoint(["watch", "--once"]).success();
    let list = ["for-each-ref", "--format=%(refname)", "refs/checkpoints-autosave/"];
    let autosave = world.git_line(list);
    let before = at(&world, "bob", &autosave);
    assert_eq!(at(&world, "bob", &format!("{autosave}^1")), four);
    world.enter("repo");
    world.checkpoint(["prune", "--keep-last", "1", "--force"]).success();
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world.checkpoint(["pull"]).success();
    assert_eq!(world.git_line(list), autosave);
    assert_eq!(at(&world, "bob", &format!("{autosave}^1")), at(&world, "bob", AUTH));
    assert_eq!(tree(&world, "bob", &autosave), tree(&world, "bob", &before));
    world.checkpoint(["verify", "--all"]).success();
    world.checkpoint(["undo"]).success();
    assert_eq!(at(&world, "bob", &autosave), before);
}

#[test]
fn what_was_pruned_on_either_side_stays_pruned() {
    for new in [true, false] {
        let (world, ids) = three();
        // Here 'one' goes, there 'two', as 'three' is of the same day.
        world.checkpoint(["prune", "--keep-last", "2", "--force"]).success();
        assert_eq!(log(&world, "auth"), ["three", "two", "start auth"]);
        world.checkpoint(["push"]).success();
        world.enter("bob");
        world.checkpoint(["prune", "--keep-daily", "5", "--force"]).success();
        assert_eq!(log(&world, "auth"), ["three", "one", "start auth"]);
        let mut wanted = vec!["three", "start auth"];
        if new {
            save(&world, "four");
            wanted.insert(0, "four");
        }
        let there = at(&world, "hub", AUTH);
        world
            .checkpoint(["push"])
            .code(4)
            .stderr_has("which dropped 1 checkpoint that is still here");
        assert_eq!(at(&world, "hub", AUTH), there);
        world.checkpoint(["pull", "origin", "auth"]).success();
        assert_eq!(log(&world, "auth"), wanted);
        world.checkpoint(["push"]).success();
        assert_eq!(at(&world, "hub", AUTH), at(&world, "bob", AUTH));
        assert!(ids[..2].iter().all(|id| !has(&world, "hub", id)));
        world.checkpoint(["verify", "--all"]).success();
        world.enter("repo");
        world.checkpoint(["pull"]).success();
        assert_eq!(log(&world, "auth"), wanted);
    }
}

#[test]
fn a_prune_of_ones_own_goes_on_to_be_pushed() {
    let (world, ids) = three();
    // With something new on top, saved before the prune and after it.
    save(&world, "four");
    world.checkpoint(["prune", "--keep-last", "1", "--force"]).success();
    save(&world, "five");
    world.checkpoint(["push"]).success();
    assert_eq!(at(&world, "hub", AUTH), at(&world, "repo", AUTH));
    assert!(!has(&world, "hub", &ids[0]));
    // And after a pull of what others saved.
    world.enter("bob");
    world.checkpoint(["pull"]).success();
    save(&world, "six");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.checkpoint(["pull"]).success();
    world.checkpoint(["prune", "--keep-last", "1", "--force"]).success();
    world.checkpoint(["push"]).success().stdout_has("pruned");
    assert_eq!(log(&world, "auth"), ["six", "start auth"]);
    assert_eq!(at(&world, "hub", AUTH), at(&world, "repo", AUTH));
}

#[test]
fn an_automatic_push_waits_where_the_remote_was_pruned() {
    let (world, _) = three();
    world.checkpoint(["prune", "--keep-last", "1", "--force"]).success();
    world.checkpoint(["push"]).success();
    let pruned = at(&world, "hub", AUTH);
    world.enter("bob");
    world.git(["config", "checkpoint.autoPush", "origin"]).success();
    save(&world, "four");
    let queued = world.checkpoint(["push", "--queued"]);
    assert_ne!(queued.status().code(), Some(0));
    queued.stderr_has("it was pruned there, and not here: git checkpoint pull origin auth");
    assert_eq!(at(&world, "hub", AUTH), pruned);
    world.checkpoint(["pull"]).success();
    world.checkpoint(["push", "--queued"]).success();
    assert_eq!(at(&world, "hub", &format!("{AUTH}~1")), pruned);
}

/// The one who pruned saved once more before the push, so both sides have new checkpoints.
#[test]
fn what_was_pruned_there_stays_away_after_further_saves() {
    for way in ["pull --merge", "pull", "resume", "merge"] {
        let (world, ids) = three();
        world.enter("bob");
        world.file("bob", "work");
        save(&world, "four");
        world.enter("repo");
        world.checkpoint(["prune", "--keep-last", "1", "--force"]).success();
        std::fs::remove_file(world.path("two")).unwrap();
        world.file("nx", "nx");
        save(&world, "nx");
        world.checkpoint(["push"]).success();
        let theirs = at(&world, "hub", AUTH);
        world.enter("bob");
        world.checkpoint(["push"]).code(4);
        let gone = || !ids[..2].iter().any(|id| leads_to(&world, "bob", id));
        match way {
            "pull --merge" => {
                let planned = world.checkpoint(["pull", "--merge", "-n", "--json"]);
                let left_out = planned.success().stdout_json()["left_out"].clone();
                assert_eq!(left_out, serde_json::json!({ "pruned_there": 2, "pruned_here": 0 }));
                let merged = world.checkpoint(["pull", "--merge"]);
                merged
                    .success()
                    .stdout_has("without the 2 checkpoints that were pruned on origin");
            }
            "pull" => {
                world.checkpoint(["pull"]).success();
                assert_eq!(at(&world, "bob", AUTH), theirs);
                assert!(gone(), "{way}");
                world.checkpoint(["undo"]).success();
                world.checkpoint(["undo"]).success();
                assert!(!gone());
                world.checkpoint(["redo"]).success();
                world.checkpoint(["redo"]).success();
                assert!(gone());
                world.checkpoint(["pull", "--merge"]).success();
            }
            "resume" => {
                world.checkpoint(["fetch"]).success();
                world.checkpoint(["resume", "origin/auth"]).success();
                assert!(gone(), "{way}");
                let aside = world.git_line([
                    "for-each-ref",
                    "--format=%(refname:lstrip=2)",
                    "refs/checkpoints/auth-*",
                ]);
                world.checkpoint(["switch", &aside]).success();
                world.checkpoint(["pull", "--merge"]).success();
            }
            _ => {
                world.checkpoint(["fetch"]).success();
                world.checkpoint(["merge", "origin/auth"]).success();
                let refused = world.checkpoint(["push"]);
                refused
                    .code(4)
                    .stderr_has("was pruned on remote 'origin', which dropped 2 checkpoints that are still here");
                assert_eq!(at(&world, "hub", AUTH), theirs);
                world.checkpoint(["pull"]).success();
            }
        }
        assert!(gone(), "{way}");
        assert!(files(&world, "bob", AUTH).iter().any(|name| name == "bob"), "{way}");
        assert!(!files(&world, "bob", AUTH).iter().any(|name| name == "two"), "{way}");
        world.checkpoint(["push"]).success();
        assert!(!ids[..2].iter().any(|id| leads_to(&world, "hub", id)), "{way}");
        assert_eq!(at(&world, "hub", AUTH), at(&world, "bob", AUTH));
        world.checkpoint(["verify", "--all"]).success();
        let all = sorted_log(&world);
        world.enter("repo");
        world.checkpoint(["pull"]).success();
        assert_eq!(sorted_log(&world), all, "{way}");
        assert!(!all.iter().any(|line| line == "one" || line == "two"), "{way}: {all:?}");
        assert_eq!(all.iter().filter(|line| *line == "three").count(), 1, "{way}: {all:?}");
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// The other way round: pruned here, and not pushed before the remote had new checkpoints.
#[test]
fn what_was_pruned_here_stays_away_where_the_remote_went_on() {
    for (own, merge) in [
        (None, false),
        (Some("before"), true),
        (Some("after"), true),
        (Some("after"), false),
    ] {
        let (world, ids) = three();
        world.file("nx", "nx");
        save(&world, "nx");
        world.checkpoint(["push"]).success();
        world.enter("bob");
        world.file("bob", "work");
        if own == Some("before") {
            save(&world, "four");
        }
        let keep = if own == Some("before") { "2" } else { "1" };
        world.checkpoint(["prune", "--keep-last", keep, "--force"]).success();
        if own == Some("after") {
            save(&world, "four");
        }
        let case = format!("{own:?}, {merge}");
        let pull: &[&str] = if merge { &["pull", "--merge"] } else { &["pull"] };
        let words = "without the 2 checkpoints that were pruned here; to prune origin as well: ";
        let dry_run = [pull, &["-n"]].concat();
        world.checkpoint(&dry_run).success().stdout_has(words);
        let planned = world
            .checkpoint([&dry_run[..], &["--json"]].concat())
            .success()
            .stdout_json();
        assert_eq!(planned["left_out"]["pruned_here"], 2, "{planned}");
        world.checkpoint(pull).success().stdout_has(words);
        assert!(!ids[..2].iter().any(|id| leads_to(&world, "bob", id)), "{case}");
        let all = sorted_log(&world);
        assert!(all.iter().any(|line| line == "nx"), "{case}: {all:?}");
        assert!(
            !all.iter().any(|line| line == "one" || line == "two"),
            "{case}: {all:?}"
        );
        assert!(files(&world, "bob", AUTH).iter().any(|name| name == "nx"), "{case}");
        world.checkpoint(["verify", "--all"]).success();
        world.checkpoint(["push", "origin", "auth"]).success();
        assert!(!ids[..2].iter().any(|id| leads_to(&world, "hub", id)), "{case}");
        world.enter("repo");
        world.checkpoint(["pull"]).success();
        assert_eq!(sorted_log(&world), all, "{case}");
        assert!(!ids[..2].iter().any(|id| leads_to(&world, "repo", id)), "{case}");
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// Without the checkpoint that both come from, a deletion there would look like an addition here.
#[test]
fn a_pruned_checkpoint_that_own_work_rests_on_is_still_the_base() {
    let (world, ids) = three();
    world.enter("bob");
    world.file("bob", "work");
    save(&world, "four");
    world.enter("repo");
    std::fs::remove_file(world.path("two")).unwrap();
    save(&world, "nx");
    world.checkpoint(["prune", "--keep-last", "1", "--force"]).success();
    assert_eq!(log(&world, "auth"), ["nx", "start auth"]);
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world.checkpoint(["pull", "--merge"]).success();
    assert!(!world.path("two").exists());
    assert!(world.path("bob").exists());
    assert!(!ids[..2].iter().any(|id| leads_to(&world, "bob", id)));
    world.checkpoint(["push"]).success();
    world.checkpoint(["pull", "--merge"]).success().stdout_has("Up to date");
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn an_automatic_merge_brings_no_pruned_checkpoint_back() {
    for there in [true, false] {
        let (world, ids) = three();
        let prune = ["prune", "--keep-last", "1", "--force"];
        if there {
            world.checkpoint(prune).success();
        }
        save(&world, "nx");
        world.checkpoint(["push"]).success();
        let theirs = at(&world, "hub", AUTH);
        world.enter("bob");
        if !there {
            world.checkpoint(prune).success();
        }
        world.git(["config", "checkpoint.autoPush", "origin"]).success();
        save(&world, "four");
        let queued = world.checkpoint(["push", "--queued"]);
        queued
            .code(4)
            .stderr_has("it was pruned on one side only")
            .stderr_has("git checkpoint pull origin auth --merge");
        assert_eq!(at(&world, "hub", AUTH), theirs);
        world.checkpoint(["pull", "origin", "auth", "--merge"]).success();
        world.checkpoint(["push", "--queued"]).success();
        assert_eq!(at(&world, "hub", AUTH), at(&world, "bob", AUTH));
        assert!(!ids[..2].iter().any(|id| leads_to(&world, "hub", id)));
    }
}

/// A prune of what was merged in leaves a session that others can take, also where the prune came after a merge of a fork
/// that had merged the session before.
#[test]
fn a_session_that_merged_what_was_pruned_goes_to_others() {
    type Story<'a> = (&'a str, &'a [&'a [&'a str]]);
    let stories: [Story<'_>; 3] = [
        (
            "another session",
            &[
                &["start", "other"],
                &["save", "--allow-empty", "-m", "o1"],
                &["save", "--allow-empty", "-m", "o2"],
                &["switch", "auth"],
                &["merge", "other"],
                &["switch", "other"],
                &["save", "--allow-empty", "-m", "o3"],
            ],
        ),
        (
            "a fork that was brought up to date",
            &[
                &["fork", "auth", "--name", "other"],
                &["save", "--allow-empty", "-m", "o1"],
                &["switch", "auth"],
                &["save", "--allow-empty", "-m", "four"],
                &["switch", "other"],
                &["merge", "auth"],
                &["switch", "auth"],
                &["merge", "other"],
            ],
        ),
        (
            "a merge of a merge",
            &[
                &["start", "third"],
                &["save", "--allow-empty", "-m", "t1"],
                &["start", "other"],
                &["save", "--allow-empty", "-m", "o1"],
                &["merge", "third"],
                &["save", "--allow-empty", "-m", "o2"],
                &["switch", "auth"],
                &["merge", "other"],
                &["switch", "third"],
                &["save", "--allow-empty", "-m", "t2"],
                &["switch", "other"],
                &["save", "--allow-empty", "-m", "o3"],
            ],
        ),
    ];
    for (what, commands) in stories {
        let (world, _) = three();
        for args in commands {
            world.checkpoint(*args).success();
        }
        world
            .checkpoint(["prune", "--keep-last", "1"])
            .success()
            .stdout_has("remove ");
        world.checkpoint(["verify", "--all"]).success();
        world.checkpoint(["push", "--all"]).success();
        clone(&world, "carl");
        for session in ["auth", "other"] {
            world.checkpoint(["pull", "origin", session]).success();
            let name = format!("refs/checkpoints/{session}");
            assert_eq!(at(&world, "carl", &name), at(&world, "repo", &name), "{what}");
        }
        world.checkpoint(["verify", "--all"]).success();
        // A clone that had it unpruned follows, and what is added there arrives.
        world.enter("bob");
        world.checkpoint(["pull"]).success();
        world.file("bob", what);
        save(&world, "by bob");
        world.checkpoint(["push"]).success();
        world.enter("carl");
        world.checkpoint(["pull", "origin", "auth"]).success();
        assert_eq!(log(&world, "auth")[0], "by bob", "{what}");
        // And as a bundle.
        world.checkpoint(["bundle", "../all.bundle", "auth", "other"]).success();
        world.enter("repo");
        world.checkpoint(["delete", "other"]).success();
        world.checkpoint(["unbundle", "../all.bundle"]).success();
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// Where the remote lacks what a prune that was undone here had dropped, nothing calls it up to date; a forced push brings it
/// back there.
#[test]
fn a_prune_that_was_pushed_and_undone_is_named_until_it_is_settled() {
    for who in ["who pruned", "who followed"] {
        let (world, ids) = three();
        world.checkpoint(["prune", "--keep-last", "1", "--force"]).success();
        let state = |expected: &str| {
            let json = world.checkpoint(["remote", "status", "--json"]).success().stdout_json();
            assert_eq!(json["remotes"][0]["sessions"][0]["state"], expected, "{who}");
        };
        state("pruned-here");
        world
            .checkpoint(["status"])
            .success()
            .stdout_has("pruned here and not on origin");
        world.checkpoint(["push"]).success().stdout_has("pruned");
        state("up-to-date");
        let pruned = at(&world, "hub", AUTH);
        if who == "who followed" {
            world.enter("bob");
            world.checkpoint(["pull"]).success();
        }
        world
            .checkpoint(["undo", "--older"])
            .success()
            .stderr_has("remote 'origin' still has what was undone in session 'auth'");
        let here = if who == "who followed" { "bob" } else { "repo" };
        assert_eq!(at(&world, here, AUTH), ids[2], "{who}");
        state("pruned-there");
        world
            .checkpoint(["status"])
            .success()
            .stdout_has("2 checkpoints pruned on origin and not here: 'git checkpoint pull'");
        for args in [&["push"][..], &["push", "--all"], &["push", "-n"]] {
            world
                .checkpoint(args)
                .success()
                .stdout_has("where it was pruned of 2 checkpoints");
            assert_eq!(at(&world, "hub", AUTH), pruned, "{who}");
        }
        world.checkpoint(["push", "--force"]).success().stdout_has("put back");
        assert_eq!(at(&world, "hub", AUTH), ids[2], "{who}");
        state("up-to-date");
        world.enter(if who == "who followed" { "repo" } else { "bob" });
        world.checkpoint(["pull"]).success();
        world.checkpoint(["verify", "--all"]).success();
    }
}
