//! A dry run changes nothing: every file and directory of the repository is as it was, its times aside. What is remembered
//! about unchanged files (`checkpoint/cache`) may be learned by whoever looks; nothing but speed depends on it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{at, clone, save, shared};
use crate::support::{Output, World};

/// Every file with its content and every directory, below a directory.
fn everything(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_str().unwrap().to_owned();
            if ["cache", "cache.clock", "cache.seen"]
                .iter()
                .any(|own| name.ends_with(&format!("/checkpoint/{own}")))
            {
                continue;
            }
            if path.is_dir() {
                found.insert(format!("{name}/"), Vec::new());
                open.push(path);
            } else {
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn unchanged(world: &World, args: &[&str]) -> Output {
    let before = everything(&world.path("."));
    let output = world.checkpoint(args);
    let after = everything(&world.path("."));
    let differs = |name: &&String| before.get(*name) != after.get(*name);
    let names: Vec<_> = before.keys().chain(after.keys()).filter(differs).collect();
    assert!(names.is_empty(), "{args:?} changed {names:?}");
    output
}

#[test]
fn what_is_fetched_to_look_at_is_not_kept() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    // Nothing is known of the remote, and there is nothing of ours in the clone.
    unchanged(&world, &["fetch", "--dry-run"]).success();
    unchanged(&world, &["pull", "origin", "auth", "--dry-run"]).success();
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["switch", "auth"]).success();
    world.enter("repo");
    world.file("README.md", "from alice\n");
    save(&world, "two");
    world.checkpoint(["push"]).success();
    world.enter("bob");
    // The remote went on; then both did.
    let known = at(&world, "bob", "refs/checkpoints-remote/origin/auth");
    for words in ["1 checkpoint more", "git checkpoint pull"] {
        unchanged(&world, &["fetch", "origin", "--dry-run"])
            .success()
            .stdout_has("1 more checkpoint");
        unchanged(&world, &["fetch", "--dry-run", "--json"]).success();
        unchanged(&world, &["pull", "--dry-run"]).success();
        let push = unchanged(&world, &["push", "origin", "auth", "--dry-run"]);
        let said = [push.stdout(), push.stderr()].concat();
        assert!(said.contains(words), "{said}");
        world.file("README.md", "from bob\n");
        save(&world, "three");
    }
    assert_eq!(at(&world, "bob", "refs/checkpoints-remote/origin/auth"), known);
    let pull = world.checkpoint(["pull", "--dry-run"]);
    pull.success().stdout_has("Would");
    world.checkpoint(["pull"]).success();
    world.git(["fsck", "--strict", "--no-dangling"]).success();
}

#[test]
fn every_dry_run_leaves_the_repository_as_it_was() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    world.checkpoint(["task", "add", "first"]).success();
    for n in 1..=3 {
        world.file("README.md", format!("{n}\n"));
        save(&world, &format!("save {n}"));
    }
    let exported = world.checkpoint(["export", "--format", "json", "auth"]);
    world.file("../exported.json", exported.success().stdout());
    world.checkpoint(["start", "other"]).success();
    world.checkpoint(["switch", "auth"]).success();
    world.checkpoint(["rename", "other", "more"]).success();
    world.checkpoint(["task", "add", "waits"]).success();
    world.file("README.md", "changed\n");
    world.file("new.txt", "new\n");
    for args in [
        &["save", "--dry-run"][..],
        &["start", "third", "--dry-run"],
        &["switch", "more", "--dry-run"],
        &["rename", "more", "less", "--dry-run"],
        &["fork", "auth~1", "--name", "try", "--dry-run"],
        &["delete", "more", "--dry-run"],
        &["prune", "--keep-last", "1", "--dry-run"],
        &["finish", "--dry-run"],
        &["restore", "auth~1", "--dry-run"],
        &["undo", "--older", "--dry-run"],
        &["import", "../exported.json", "--session", "came", "--dry-run"],
        &["push", "--dry-run"],
        &["fetch", "--dry-run"],
        &["hooks", "install", "--dry-run"],
        &["repair", "--dry-run"],
        &["diff"],
        &["status"],
    ] {
        unchanged(&world, args).success();
    }
}

#[test]
fn a_bundle_is_planned() {
    let world = shared();
    world.checkpoint(["save", "-m", "one", "--session", "auth"]).success();
    let file = world.root().join("out.bundle");
    let path = file.to_str().unwrap();
    unchanged(&world, &["bundle", path, "auth", "-n"])
        .success()
        .stdout_has("Would write")
        .stdout_has("1 session");
    assert!(!file.exists());
    let planned = unchanged(&world, &["bundle", path, "auth", "-n", "--json"])
        .success()
        .stdout_json();
    assert_eq!(
        (&planned["dry_run"], &planned["bytes"]),
        (&true.into(), &serde_json::Value::Null)
    );
    world.checkpoint(["bundle", path, "auth"]).success();
    let written = world
        .checkpoint(["bundle", path, "auth", "--force", "--json"])
        .success()
        .stdout_json();
    assert_eq!(written["sessions"], planned["sessions"]);
    // What the bundle itself would refuse, the plan refuses.
    unchanged(&world, &["bundle", path, "auth", "-n"]).code(4);
    unchanged(&world, &["bundle", path, "nothing", "-n", "--force"]).code(3);
}
