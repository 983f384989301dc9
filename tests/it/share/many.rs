//! More sessions at once than are named on a command line of git's.

use std::fs;

use super::{at, clone, save, script, shared};
use crate::support::World;

const MANY: usize = 90;

/// Gives the latest checkpoint of a session so many more names.
fn copies(world: &World, of: &str, names: impl Iterator<Item = String>) {
    let id = at(world, "repo", &format!("refs/checkpoints/{of}"));
    let lines: String = names
        .map(|name| format!("create refs/checkpoints/{name} {id}\n"))
        .collect();
    let update = world.command("git", ["update-ref", "--stdin"]).input(lines);
    update.run().success();
}

/// The sessions of a repository with their latest checkpoints.
fn refs(world: &World, directory: &str, namespace: &str) -> Vec<String> {
    let directory = world.root().join(directory);
    let format = "--format=%(objectname) %(refname)";
    let listed = world.git(["-C", directory.to_str().unwrap(), "for-each-ref", format, namespace]);
    let lines = listed.success().stdout().lines();
    lines.map(|line| line.replace(namespace, "")).collect()
}

#[test]
fn all_of_many_sessions_arrive_exactly() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    world.file("new.txt", "new\n");
    save(&world, "one");
    copies(&world, "auth", (0..MANY).map(|n| format!("copy-{n:02}")));
    let dry = world.checkpoint(["push", "--all", "--dry-run", "--json"]);
    assert_eq!(
        dry.success().stdout_json()["sessions"].as_array().unwrap().len(),
        MANY + 1
    );
    assert_eq!(refs(&world, "hub", "refs/checkpoints/"), Vec::<String>::new());
    // The user's hook sees them, in the working tree.
    let log = world.root().join("hook.log");
    let hook = world.repo().join(".git/hooks/pre-push");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let text = format!("git rev-parse --show-toplevel >'{0}'; cat >>'{0}'", log.display());
    fs::copy(script(&world, "hook", &text), &hook).unwrap();
    world.checkpoint(["push", "--all"]).success();
    let seen = fs::read_to_string(&log).unwrap();
    assert!(seen.starts_with(world.repo().to_str().unwrap()), "{seen}");
    assert_eq!(
        seen.lines()
            .filter(|line| line.contains("refs/checkpoints/copy-"))
            .count(),
        MANY
    );
    assert_eq!(
        refs(&world, "hub", "refs/checkpoints/"),
        refs(&world, "repo", "refs/checkpoints/")
    );
    // Nothing of git's, nor a reflog, came to be here besides.
    assert!(
        fs::read_dir(world.repo().join(".git/objects"))
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_string_lossy().starts_with("tmp_objdir") })
    );
    let again = world.checkpoint(["push", "--all", "--json"]).success().stdout_json();
    let results = again["sessions"].as_array().unwrap();
    assert!(results.iter().all(|row| row["result"] == "up-to-date"), "{again}");
}

#[test]
fn one_that_is_refused_or_diverged_does_not_keep_the_others() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    copies(&world, "auth", (0..MANY).map(|n| format!("copy-{n:02}")));
    world.checkpoint(["push", "--all"]).success();
    // Another clone continues one of them.
    clone(&world, "bob");
    let refspec = "refs/checkpoints/copy-03:refs/checkpoints/copy-03";
    world.git(["fetch", "--quiet", "origin", refspec]).success();
    world.checkpoint(["resume", "copy-03"]).success();
    world.file("bob.txt", "bob\n");
    let theirs = save(&world, "of bob");
    world.checkpoint(["push", "origin", "copy-03"]).success();
    assert_eq!(at(&world, "hub", "refs/checkpoints/copy-03"), theirs);
    world.enter("repo");
    world.file("more.txt", "more\n");
    let id = save(&world, "two");
    let names = (0..MANY).map(|n| format!("copy-{n:02}"));
    let lines: String = names
        .map(|name| format!("update refs/checkpoints/{name} {id}\n"))
        .collect();
    world
        .command("git", ["update-ref", "--stdin"])
        .input(lines)
        .run()
        .success();
    let text = "case $1 in refs/checkpoints/copy-05) echo no >&2; exit 1;; esac";
    fs::copy(script(&world, "update", text), world.root().join("hub/hooks/update")).unwrap();
    let pushed = world.checkpoint(["push", "--all", "--json"]);
    let found = pushed.stdout_json();
    let result = |name: &str| {
        let rows = found["sessions"].as_array().unwrap();
        rows.iter().find(|row| row["session"] == name).unwrap()["result"].clone()
    };
    assert!(!pushed.is_success());
    assert_eq!(
        (result("copy-03"), result("copy-05")),
        ("diverged".into(), "refused".into())
    );
    assert_eq!(
        (result("auth"), result("copy-89")),
        ("forward".into(), "forward".into())
    );
    assert_eq!(at(&world, "hub", "refs/checkpoints/copy-03"), theirs);
    assert_ne!(at(&world, "hub", "refs/checkpoints/copy-05"), id);
    let there = refs(&world, "hub", "refs/checkpoints/");
    assert_eq!(there.iter().filter(|line| line.starts_with(&id)).count(), MANY - 1);
}

#[test]
fn many_go_from_a_linked_working_tree_to_branches() {
    let world = shared();
    world
        .git(["config", "remote.origin.checkpointNamespace", "refs/heads/checkpoints/"])
        .success();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    copies(&world, "auth", (0..MANY).map(|n| format!("copy-{n:02}")));
    world
        .git(["worktree", "add", "--quiet", "-b", "side", "../side"])
        .success();
    world.enter("side");
    world.checkpoint(["push", "origin", "--all"]).success();
    assert_eq!(
        refs(&world, "hub", "refs/heads/checkpoints/"),
        refs(&world, "repo", "refs/checkpoints/")
    );
}
