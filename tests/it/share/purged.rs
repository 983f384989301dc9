//! What a purge takes from remotes, and what of others stays there.

use super::{at, clone, save, script, shared};
use crate::support::{Output, PROGRAM, World};

/// The subjects of a session on the hub, latest first, without the first checkpoint.
fn subjects(world: &World, full: &str) -> Vec<String> {
    let log = world.git(["-C", "../hub", "log", "--first-parent", "--format=%s", full]);
    let all: Vec<_> = log.success().stdout().lines().map(str::to_owned).collect();
    all.into_iter().take_while(|line| !line.starts_with("start ")).collect()
}

/// Whether a ref of the hub leads to a file of this name.
fn has(world: &World, name: &str) -> bool {
    let objects = world.git(["-C", "../hub", "rev-list", "--objects", "--all"]);
    let end = format!(" {name}");
    objects.success().stdout().lines().any(|line| line.ends_with(&end))
}

/// The identity of the session `main`.
fn identity(world: &World, directory: &str) -> String {
    let document = world.git(["-C", directory, "show", "refs/checkpoints/main:checkpoint.json"]);
    let id = document.success().stdout_json()["session"]["id"].clone();
    id.as_str().unwrap().to_owned()
}

fn refs(world: &World, directory: &str) -> String {
    let refs = world.git(["-C", directory, "for-each-ref", "refs/checkpoints", "refs/heads"]);
    refs.success().stdout().to_owned()
}

/// A clone `other` with a session of its own, which is pushed; back in `repo`.
fn others(world: &World, session: &str) {
    clone(world, "other");
    world.checkpoint(["start", session]).success();
    world.file("secret", "needle\n");
    world.file("bobs", "work of bob\n");
    save(world, "by bob");
    world.checkpoint(["push", "origin"]).success();
    world.enter("repo");
}

/// Two checkpoints of `main` on the hub, the first with a secret, and a third by somebody else in `other`; in `repo`.
fn continued() -> World {
    let world = shared();
    world.file("secret", "needle\n");
    save(&world, "one");
    world.file("kept", "kept\n");
    save(&world, "two");
    world.checkpoint(["push", "origin"]).success();
    clone(&world, "other");
    world.checkpoint(["pull", "origin", "main"]).success();
    world.checkpoint(["resume", "--apply", "main"]).success();
    world.file("bobs", "work of bob\n");
    save(&world, "by bob");
    world.checkpoint(["push", "origin"]).success();
    world.enter("repo");
    world
}

#[test]
fn checkpoints_of_others_stay_on_the_remote() {
    for is_path in [true, false] {
        for before in ["nothing", "fetch", "save", "fetch and save", "plain purge"] {
            let world = continued();
            let one = world.git_line(["rev-parse", "refs/checkpoints/main~1"]);
            let what: Vec<&str> = if is_path { vec!["--", "secret"] } else { vec![&one] };
            let purge = |first: &[&str]| {
                let args: Vec<&str> = ["purge", "--yes"].iter().chain(first).chain(&what).copied().collect();
                world.checkpoint(args)
            };
            if before.contains("fetch") {
                world.checkpoint(["fetch"]).success();
            }
            if before.contains("save") {
                world.file("mine", "mine\n");
                save(&world, "mine");
            }
            if before == "plain purge" {
                // Then the remote still has it, and its checkpoint is found there.
                purge(&[]).success();
            }
            purge(&["--remote"]).success().stdout_has("has it no longer");
            let case = format!("path {is_path}, {before}");
            let wanted: &[&str] = if is_path {
                &["by bob", "two", "one"]
            } else {
                &["by bob", "two"]
            };
            assert_eq!(subjects(&world, "refs/checkpoints/main"), wanted, "{case}");
            let bobs = world.git(["-C", "../hub", "show", "refs/checkpoints/main^2:bobs"]);
            bobs.success().stdout_is("work of bob\n");
            assert!(!is_path || !has(&world, "secret"), "{case}");
            assert!(!has(&world, "mine"), "{case}: nothing is published");
            // Both sides go on from it.
            world.checkpoint(["pull", "origin", "main"]).success();
            world.enter("other");
            world.checkpoint(["pull", "origin", "main"]).success();
            assert_eq!(
                at(&world, "other", "refs/checkpoints/main"),
                at(&world, "hub", "refs/checkpoints/main"),
                "{case}"
            );
            world.checkpoint(["verify", "main"]).success();
        }
    }
}

#[test]
fn another_session_of_the_same_name_stays_on_the_remote() {
    for fetched in [false, true] {
        let world = shared();
        others(&world, "main");
        world.file("secret", "needle\n");
        save(&world, "mine");
        if fetched {
            world.checkpoint(["fetch"]).success();
        }
        let mine = identity(&world, ".");
        world
            .checkpoint(["purge", "--yes", "--remote", "--", "secret"])
            .success();
        assert_eq!(subjects(&world, "refs/checkpoints/main"), ["by bob"]);
        let bobs = world.git(["-C", "../hub", "show", "refs/checkpoints/main^2:bobs"]);
        bobs.success().stdout_is("work of bob\n");
        assert!(!has(&world, "secret"));
        assert_eq!(identity(&world, "."), mine);
        assert_ne!(identity(&world, "../hub"), mine);
        // A whole session that is only called alike is none of them.
        world.checkpoint(["purge", "--yes", "--remote", "main"]).success();
        assert_eq!(subjects(&world, "refs/checkpoints/main"), ["by bob"]);
    }
}

#[test]
fn a_session_that_only_the_remote_has_stays_there() {
    for fetched in [false, true] {
        let world = shared();
        others(&world, "bobses");
        world.file("secret", "needle\n");
        save(&world, "mine");
        if fetched {
            world.checkpoint(["fetch"]).success();
        }
        world
            .checkpoint(["purge", "--yes", "--remote", "--", "secret"])
            .success();
        assert_eq!(subjects(&world, "refs/checkpoints/bobses"), ["by bob"]);
        let bobs = world.git(["-C", "../hub", "show", "refs/checkpoints/bobses^2:bobs"]);
        bobs.success().stdout_is("work of bob\n");
        assert!(!has(&world, "secret"));
        world.checkpoint(["pull", "origin", "bobses"]).success();
    }
}

/// Also where no session here has it, and where it is in the namespace of branches.
#[test]
fn a_session_in_another_namespace_is_written_again_and_not_deleted() {
    let world = continued();
    let branch = "refs/heads/checkpoints/main";
    world
        .git(["-C", "../hub", "update-ref", branch, "refs/checkpoints/main"])
        .success();
    world
        .git(["-C", "../hub", "update-ref", "-d", "refs/checkpoints/main"])
        .success();
    // An ordinary branch that is called as another session.
    world
        .git(["-C", "../hub", "update-ref", "refs/heads/checkpoints/x", "main"])
        .success();
    world
        .checkpoint(["purge", "--yes", "--remote", "--", "secret"])
        .success();
    assert_eq!(subjects(&world, branch), ["by bob", "two", "one"]);
    assert!(!has(&world, "secret"));
    assert_eq!(
        at(&world, "hub", "refs/heads/checkpoints/x"),
        at(&world, "hub", "refs/heads/main")
    );
}

#[test]
fn a_claimed_session_of_the_remote_is_not_purged() {
    for there_only in [true, false] {
        let world = shared();
        let name = if there_only { "bobses" } else { "main" };
        others(&world, name);
        world.enter("other");
        world.checkpoint(["claim", "--agent", "bob"]).success();
        world.checkpoint(["push", "origin"]).success();
        world.enter("repo");
        world.file("secret", "needle\n");
        save(&world, "mine");
        let before = (refs(&world, "."), refs(&world, "../hub"));
        world
            .checkpoint(["purge", "--yes", "--remote", "--", "secret"])
            .code(4)
            .stderr_has(&format!("session '{name}'"))
            .stderr_has("claimed by bob");
        assert_eq!((refs(&world, "."), refs(&world, "../hub")), before);
        // Its holder may.
        let holder = world.command(PROGRAM, ["purge", "--yes", "--remote", "--", "secret"]);
        holder.env("CHECKPOINT_AGENT", "bob").run().success();
        assert_eq!(subjects(&world, &format!("refs/checkpoints/{name}")).len(), 2);
        assert!(!has(&world, "secret"));
    }
}

#[test]
fn a_remote_that_declines_is_reported() {
    let world = continued();
    let hook = script(&world, "hub/hooks/pre-receive", "exit 1");
    let before = refs(&world, "../hub");
    let purge = || world.checkpoint(["purge", "--yes", "--remote", "--json", "--", "secret"]);
    let declined = purge();
    declined
        .code(1)
        .stderr_has("session 'main' was not purged on remote 'origin'")
        .stderr_has("pre-receive hook declined")
        .stderr_lacks("deleted");
    assert_eq!(declined.stdout_json()["remotes"][0]["removed"], false);
    assert_eq!(refs(&world, "../hub"), before);
    world
        .checkpoint(["status"])
        .stdout_has("still has what was purged here");
    // Once it takes it, the same command finishes.
    std::fs::remove_file(hook).unwrap();
    assert_eq!(purge().success().stdout_json()["remotes"][0]["removed"], true);
    assert_eq!(subjects(&world, "refs/checkpoints/main"), ["by bob", "two", "one"]);
    assert!(!has(&world, "secret"));
}

/// Pushes one more checkpoint of `main` from `other` at the moment in which `repo` pushes.
fn race(world: &World) {
    world.enter("other");
    world.file("late", "late\n");
    save(world, "late");
    world.enter("repo");
    let text = "unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE\nrm \"$0\"\n\
                git -C ../other push --quiet --no-verify ../hub refs/checkpoints/main:refs/checkpoints/main\n";
    script(world, "repo/.git/hooks/pre-push", text);
}

#[test]
fn what_is_pushed_meanwhile_stays() {
    let world = continued();
    race(&world);
    let purge = || world.checkpoint(["purge", "--yes", "--remote", "--", "secret"]);
    purge().code(1).stderr_has("session 'main' was not purged on remote");
    assert_eq!(
        subjects(&world, "refs/checkpoints/main"),
        ["late", "by bob", "two", "one"]
    );
    purge().success();
    assert_eq!(
        subjects(&world, "refs/checkpoints/main"),
        ["late", "by bob", "two", "one"]
    );
    assert!(!has(&world, "secret"));
}

/// What a receipt says that removes it on the remote.
fn command(output: &Output) -> String {
    let json = output.success().stdout_json();
    json["remotes"][0]["command"].as_str().unwrap().to_owned()
}

#[test]
fn the_command_that_is_named_keeps_what_others_have() {
    let world = continued();
    world.checkpoint(["fetch"]).success();
    let line = command(&world.checkpoint(["purge", "--yes", "--json", "--", "sec*"]));
    assert_eq!(line, "git checkpoint purge --remote -- 'sec*'");
    let line = line.replace("purge", "purge --yes");
    world.command("sh", ["-c", &line]).run().success();
    assert_eq!(subjects(&world, "refs/checkpoints/main"), ["by bob", "two", "one"]);
    assert!(!has(&world, "secret"));
}

#[test]
fn a_whole_session_is_deleted_only_as_it_was_seen() {
    // With all of it here.
    let world = continued();
    world.checkpoint(["pull", "origin", "main"]).success();
    let before = refs(&world, "../hub");
    let line = command(&world.checkpoint(["purge", "--yes", "--json", "main"]));
    race(&world);
    world.command("sh", ["-c", &line]).run().code(1);
    assert_ne!(refs(&world, "../hub"), before, "it went on");
    assert_eq!(subjects(&world, "refs/checkpoints/main")[0], "late");
    // With more of it there than here nothing is deleted, neither by the command that is named.
    for fetched in [true, false] {
        let world = continued();
        if fetched {
            world.checkpoint(["fetch"]).success();
        }
        let before = (refs(&world, "."), refs(&world, "../hub"));
        world
            .checkpoint(["purge", "--yes", "--remote", "main"])
            .code(4)
            .stderr_has("session 'main' has 1 checkpoint on remote 'origin' that is not here")
            .stderr_has("git checkpoint pull origin main");
        assert_eq!((refs(&world, "."), refs(&world, "../hub")), before);
        if fetched {
            let line = command(&world.checkpoint(["purge", "--dry-run", "--json", "main"]));
            assert_eq!(line, "git checkpoint pull origin main");
        }
        world.checkpoint(["pull", "origin", "main"]).success();
        world.checkpoint(["purge", "--yes", "--remote", "main"]).success();
        assert_eq!(at(&world, "hub", "refs/checkpoints/main"), "");
    }
    // And the command deletes what is as it was.
    let world = continued();
    world.checkpoint(["pull", "origin", "main"]).success();
    let line = command(&world.checkpoint(["purge", "--yes", "--json", "main"]));
    world.command("sh", ["-c", &line]).run().success();
    assert_eq!(at(&world, "hub", "refs/checkpoints/main"), "");
}

/// Somebody who had the content joins it with the purged session: `paths` were purged, and are in bob's checkpoints.
fn joined_again(paths: &[&str]) -> World {
    let world = shared();
    for path in paths {
        world.file(path, "needle\n");
    }
    save(&world, "one");
    world.checkpoint(["push", "origin"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "main"]).success();
    world.checkpoint(["resume", "--apply", "main"]).success();
    world.file("bobs", "work of bob\n");
    save(&world, "by bob");
    world.enter("repo");
    let words = ["purge", "--yes", "--remote", "--"]
        .into_iter()
        .chain(paths.iter().copied());
    world.checkpoint(words).success();
    for path in paths {
        std::fs::remove_file(world.path(path)).unwrap();
    }
    save(&world, "two");
    world.checkpoint(["push"]).success();
    assert!(!paths.iter().any(|path| has(&world, path)));
    world.enter("bob");
    world.checkpoint(["push"]).code(4).stderr_has("--merge");
    world
}

#[test]
fn a_merge_that_brings_back_what_was_purged_says_so_and_a_push_of_it_is_refused() {
    for paths in [&["secret"][..], &["dir/two words", "secret"]] {
        let world = joined_again(paths);
        let again = paths.iter().map(|path| {
            if path.contains(' ') {
                format!("'{path}'")
            } else {
                (*path).to_owned()
            }
        });
        let again = again.collect::<Vec<_>>().join(" ");
        world
            .checkpoint(["pull", "--merge"])
            .success()
            .stderr_has("this brings back what was purged from session 'main'")
            .stderr_has(&format!("git checkpoint purge -- {again}\n"));
        let pushed = world.checkpoint(["push"]);
        pushed
            .code(4)
            .stderr_has("session 'main' has content again that was purged")
            .stderr_has(&format!("git checkpoint purge -- {again}\n"));
        world.checkpoint(["push", "--dry-run"]).code(4);
        assert!(!paths.iter().any(|path| has(&world, path)));
        // The command that is named does it, and the work of both is there.
        let words = ["purge", "--yes", "--"].into_iter().chain(paths.iter().copied());
        world.checkpoint(words).success();
        world.checkpoint(["push"]).success();
        assert!(!paths.iter().any(|path| has(&world, path)));
        assert!(has(&world, "bobs"));
        world.checkpoint(["verify", "--all"]).success();
    }
}

#[test]
fn who_purged_it_is_warned_when_it_comes_back_and_not_told_to_bring_it() {
    let world = joined_again(&["secret"]);
    world.checkpoint(["pull", "--merge"]).success();
    world.checkpoint(["push", "--allow-secrets"]).success();
    assert!(has(&world, "secret"));
    world.enter("repo");
    world
        .checkpoint(["pull"])
        .success()
        .stderr_has("this brings back what was purged from session 'main' (secret)")
        .stderr_has("git checkpoint purge --remote -- secret")
        .stderr_lacks("--apply");
    // Of what bob saved the change is missing; that of the purged file is none.
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("1 saved change is not in these files");
    world
        .checkpoint(["resume", "main", "--apply"])
        .success()
        .stdout_has("skip     secret ");
    assert!(!world.path("secret").exists());
    assert_eq!(world.read("bobs"), b"work of bob\n");
    let saved = world.checkpoint(["save", "--allow-empty", "-m", "three"]);
    saved.success().stderr_lacks("secret");
    world
        .checkpoint(["purge", "--yes", "--remote", "--", "secret"])
        .success();
    assert!(!has(&world, "secret"));
    assert!(has(&world, "bobs"));
}

/// A pull that moves the own checkpoints aside makes a session of them, which has the content as well.
#[test]
fn a_session_that_was_moved_aside_with_purged_content_is_not_pushed() {
    let world = joined_again(&["secret"]);
    world.checkpoint(["pull"]).success();
    world
        .checkpoint(["push"])
        .code(4)
        .stderr_has("has content again that was purged: secret");
    assert!(!has(&world, "secret"));
}

/// A purge writes checkpoints again, on the remote or here; what both sides come from is found through that.
#[test]
fn a_merge_after_a_purge_takes_over_what_the_other_side_deleted() {
    for purged in ["there", "there twice", "here", "both"] {
        let world = shared();
        for name in ["x", "sec", "z", "more"] {
            world.file(name, name);
            save(&world, name);
        }
        world.checkpoint(["push", "origin"]).success();
        clone(&world, "bob");
        world.checkpoint(["pull", "origin", "main"]).success();
        world.checkpoint(["resume", "main", "--apply"]).success();
        world.file("b", "work of bob");
        save(&world, "bob");
        world.enter("repo");
        let purge = ["purge", "--yes", "--", "sec"];
        if purged != "here" {
            let purge = ["purge", "--remote", "--yes", "--", "sec"];
            world.checkpoint(purge).success();
            std::fs::remove_file(world.path("sec")).unwrap();
        }
        if purged == "there twice" {
            world.checkpoint(["purge", "--remote", "--yes", "--", "more"]).success();
        }
        std::fs::remove_file(world.path("z")).unwrap();
        save(&world, "nx");
        world.checkpoint(["push", "origin"]).success();
        world.enter("bob");
        if purged == "here" || purged == "both" {
            world.checkpoint(purge).success();
        }
        world
            .checkpoint(["pull", "--merge"])
            .success()
            .stdout_has("delete  z")
            .stdout_lacks("delete  b");
        assert!(!world.path("z").exists(), "{purged}");
        // Nobody deleted it here.
        assert!(world.path("sec").exists(), "{purged}");
        let listed = world.git(["ls-tree", "--name-only", "refs/checkpoints/main^2"]);
        let names: Vec<&str> = listed.success().stdout().lines().collect();
        assert!(names.contains(&"b") && !names.contains(&"z"), "{purged}: {names:?}");
        let document = world.git(["show", "refs/checkpoints/main:checkpoint.json"]);
        let base = document.success().stdout_json()["merged"]["base"].clone();
        let trailer = "--format=%(trailers:key=Checkpoint-Digest,valueonly)";
        let latest_common = world.git_line(["log", "-1", trailer, "refs/checkpoints/main^1^1"]);
        assert_eq!(base, latest_common, "{purged}");
        if world.checkpoint(["push", "origin"]).status().code() != Some(0) {
            world.checkpoint(purge).success();
            if purged == "there twice" {
                world.checkpoint(["purge", "--yes", "--", "more"]).success();
            }
            world.checkpoint(["push", "origin"]).success();
        }
        let log = world.checkpoint(["log", "main", "--json"]).success().stdout_json();
        let rows = log["checkpoints"].as_array().unwrap().iter();
        let twice = rows.filter(|row| row["summary"] == "z").count();
        assert_eq!(twice, 1, "{purged}");
        world.checkpoint(["verify", "--all"]).success();
        world.enter("repo");
        world.checkpoint(["pull"]).success();
        world.checkpoint(["resume", "main", "--apply"]).success();
        assert!(!world.path("z").exists() && world.path("b").exists(), "{purged}");
    }
}

/// Of two purges only the second one was of the remote as well, so both sides wrote the checkpoints again.
#[test]
fn a_merge_of_two_purges_brings_neither_file_back_unsaid() {
    for second in ["other", "secret"] {
        let world = shared();
        for path in ["secret", "other"] {
            world.file(path, path);
            save(&world, path);
        }
        world.checkpoint(["push", "origin"]).success();
        let first = if second == "other" { "secret" } else { "other" };
        std::fs::remove_file(world.path("secret")).unwrap();
        std::fs::remove_file(world.path("other")).unwrap();
        world.checkpoint(["purge", "--yes", "--", first]).success();
        world.checkpoint(["purge", "--yes", "--remote", "--", second]).success();
        assert!(has(&world, first) && !has(&world, second));
        world.checkpoint(["push"]).code(4).stderr_has("--merge");
        let warning = format!("this brings back what was purged from session 'main' ({first})");
        world.checkpoint(["pull", "--merge"]).success().stderr_has(&warning);
        assert!(!world.path(first).exists());
        let refused = format!("has content again that was purged: {first}");
        world.checkpoint(["push"]).code(4).stderr_has(&refused);
        world.checkpoint(["purge", "--yes", "--", first]).success();
        world.checkpoint(["push"]).success();
        assert!(!has(&world, first) && !has(&world, second));
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// The session becomes what the remote has, and what was purged here is in another session.
#[test]
fn a_pull_of_what_was_purged_here_alone_says_so() {
    let world = continued();
    std::fs::remove_file(world.path("secret")).unwrap();
    world.checkpoint(["purge", "--yes", "--", "secret"]).success();
    world
        .checkpoint(["pull"])
        .success()
        .stdout_has("was moved to session")
        .stderr_has("this brings back what was purged from session 'main' (secret)")
        .stderr_has("git checkpoint purge --remote -- secret");
    // A later pull brings nothing that is not there.
    world.enter("other");
    world.file("more", "more\n");
    save(&world, "more");
    world.checkpoint(["push", "origin"]).success();
    world.enter("repo");
    let again = world.checkpoint(["pull", "origin", "main"]);
    again.success().stderr_lacks("brings back");
}
