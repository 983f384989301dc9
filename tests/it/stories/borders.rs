//! Clones without all history, and files in the way that are ignored: what is reported is what is known.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::support::World;

/// A clone of a repository with commits, cut off in some way.
fn cut_clone(options: &[&str]) -> World {
    let world = World::new();
    world.git(["config", "uploadpack.allowFilter", "true"]).success();
    world.git(["config", "uploadpack.allowAnySHA1InWant", "true"]).success();
    let commit = |path: &str, text: &str| {
        world.file(path, text);
        world.git(["add", "--all"]).success();
        world.git(["commit", "--quiet", "-m", text]).success();
    };
    for text in ["one", "two", "three"] {
        commit("a", text);
    }
    world.git(["switch", "--quiet", "-c", "topic"]).success();
    commit("t", "topic");
    world.git(["switch", "--quiet", "-"]).success();
    commit("a", "four");
    world.git(["merge", "--quiet", "--no-edit", "topic"]).success();
    let url = format!("file://{}", world.repo().display());
    let mut line = vec!["clone", "--quiet"];
    line.extend(options);
    line.extend([url.as_str(), "../clone"]);
    world.git(line).success();
    for text in ["five", "six", "seven"] {
        commit("b", text);
    }
    world.enter("clone");
    world
}

#[test]
fn a_shallow_clone_does_not_call_history_rewritten() {
    let cuts: [&[&str]; 6] = [
        &["--depth=1"],
        &["--depth=2"],
        &["--depth=1", "--filter=blob:none"],
        &["--depth=1", "--no-single-branch"],
        &["--shallow-exclude=topic"],
        &["--depth=1", "--filter=tree:0"],
    ];
    for options in cuts {
        let world = cut_clone(options);
        world.file("a", "work\n");
        world.file("t", "work as well\n");
        world.checkpoint(["save", "-m", "one", "--session", "s"]).success();
        world.git(["checkout", "--quiet", "--", "."]).success();
        world.git(["fetch", "--quiet", "--depth=1"]).success();
        world.git(["reset", "--quiet", "--hard", "@{upstream}"]).success();
        let report = world.checkpoint(["resume", "s"]);
        report
            .success()
            .stdout_lacks("not known")
            .stdout_lacks("cannot read")
            .stdout_lacks("rewritten")
            .stdout_has("too shallow");
        world.checkpoint(["verify", "s"]).success();
        world.checkpoint(["apply", "s", "--dry-run"]).success();
    }
    // With all of its history the same is known to have moved on.
    let world = cut_clone(&["--depth=1"]);
    world
        .checkpoint(["save", "--allow-empty", "-m", "one", "--session", "s"])
        .success();
    world.git(["fetch", "--quiet", "--unshallow"]).success();
    world.git(["reset", "--quiet", "--hard", "@{upstream}"]).success();
    let report = world.checkpoint(["resume", "s"]);
    report.success().stdout_lacks("rewritten").stdout_lacks("too shallow");
}

#[test]
fn a_forced_dry_run_shows_the_plan_whatever_is_in_the_way() {
    let world = World::with_commit();
    world.file("n", "saved\n");
    world.file("run", "saved\n");
    world.file("d/e/f", "saved\n");
    world.file("link", "saved\n");
    world.file("bytes", [0_u8, 255, 10, 13]);
    world.file(".gitattributes", "*.txt text\n");
    world.file("large", vec![1_u8; 100]);
    world.checkpoint(["save", "-m", "one", "--session", "s"]).success();
    let names = ["n", "run", "d", "link", "bytes", ".gitattributes", "large"];
    let lines: String = names.iter().map(|name| format!("/{name}\n")).collect();
    fs::write(world.path(".git/info/exclude"), lines).unwrap();
    world.file("n", "ignored now\n");
    world.file("run", "#!/bin/sh\n");
    fs::set_permissions(world.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
    world.file("d/e/f", "ignored now\n");
    fs::remove_file(world.path("link")).unwrap();
    symlink("n", world.path("link")).unwrap();
    world.file("bytes", vec![0_u8; 3000]);
    world.file(".gitattributes", "*.txt -text\n");
    world.file("large", vec![2_u8; 20 << 20]);
    let before = world.fingerprint();
    world.checkpoint(["restore", "s"]).code(4);
    let planned = world.checkpoint(["restore", "s", "--force", "--dry-run", "--json"]);
    let planned = planned.success().stdout_json();
    assert_eq!(world.fingerprint(), before);
    let done = world.checkpoint(["restore", "s", "--force", "--json"]);
    assert_eq!(done.success().stdout_json()["plan"], planned["plan"]);
    assert_eq!(world.read("large"), vec![1_u8; 100]);
    world.checkpoint(["undo"]).success();
    assert_eq!(world.read("large"), vec![2_u8; 20 << 20]);
    assert_eq!(fs::read_link(world.path("link")).unwrap().to_str(), Some("n"));
}

#[test]
fn an_ignored_file_gets_the_saved_permissions_on_request() {
    let world = World::with_commit();
    for (at, mode) in [0o755_u32, 0o700, 0o600, 0o640, 0o444].into_iter().enumerate() {
        let name = format!("f{at}");
        world.file(&name, "same bytes\n");
        fs::set_permissions(world.path(&name), fs::Permissions::from_mode(mode)).unwrap();
    }
    world.checkpoint(["save", "-m", "one", "--session", "s"]).success();
    fs::write(world.path(".git/info/exclude"), "f*\n").unwrap();
    for at in 0..5 {
        fs::set_permissions(world.path(format!("f{at}")), fs::Permissions::from_mode(0o666)).unwrap();
    }
    let mode = |at: usize| fs::metadata(world.path(format!("f{at}"))).unwrap().permissions().mode() & 0o777;
    world.checkpoint(["restore", "s", "--force"]).success();
    assert_eq!([0, 1, 2, 3, 4].map(mode), [0o755, 0o700, 0o600, 0o640, 0o444]);
    world.checkpoint(["undo"]).success();
    assert_eq!([0, 1, 2, 3, 4].map(mode), [0o666; 5]);
}
