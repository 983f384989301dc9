//! Flags of the index by which git would not look at the disk: where a snapshot has each such path from.

use std::fs;

use crate::support::World;

use super::child::{Setting, Taken, take, take_with};

/// A repository with files in directories, all committed.
fn with_files() -> World {
    let world = World::new();
    for path in ["in/a", "out/b", "out/deep/c", "out/deep/d", "other/e", "top"] {
        world.file(path, path);
    }
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "files"]).success();
    world
}

/// The entry of git at a path of the snapshot.
fn blob(world: &World, taken: &Taken, path: &str) -> Option<String> {
    let output = world.git(["cat-file", "blob", &format!("{}:{path}", taken.tree())]);
    (output.is_success()).then(|| output.stdout().to_owned())
}

#[test]
fn each_flag_is_told_with_the_source_of_its_path() {
    let world = with_files();
    let flag = |flag: &str, path: &str| drop(world.git(["update-index", flag, path]));
    for path in ["in/a", "out/b", "other/e", "top"] {
        flag("--skip-worktree", path);
    }
    for path in ["out/deep/c", "out/deep/d", "top"] {
        flag("--assume-unchanged", path);
    }
    // Edited, absent, a directory in its place, absent but only assumed unchanged, and with both flags.
    world.file("in/a", "edited");
    fs::remove_file(world.path("out/b")).unwrap();
    fs::remove_file(world.path("other/e")).unwrap();
    world.file("other/e/inside", "new");
    fs::remove_file(world.path("out/deep/c")).unwrap();
    let taken = take(&world);
    let expected = [
        "disk skip-worktree in/a",
        "absent skip-worktree other/e",
        "index skip-worktree out/b",
        "absent assume-unchanged out/deep/c",
        "disk assume-unchanged out/deep/d",
        "disk skip-worktree,assume-unchanged top",
    ];
    assert_eq!(taken.list("origin"), expected);
    assert_eq!(blob(&world, &taken, "in/a").as_deref(), Some("edited"));
    assert_eq!(blob(&world, &taken, "out/b").as_deref(), Some("out/b"));
    assert_eq!(blob(&world, &taken, "out/deep/c"), None);
    assert_eq!(blob(&world, &taken, "other/e/inside").as_deref(), Some("new"));
}

#[test]
fn a_directory_that_is_left_out_is_one_line_in_any_kind_of_sparse_checkout() {
    for (how, sparse_index) in [("--cone", false), ("--cone", true), ("--no-cone", false)] {
        let world = with_files();
        let index = if sparse_index {
            "--sparse-index"
        } else {
            "--no-sparse-index"
        };
        let set = ["sparse-checkout", "set", how, index];
        world
            .git([&set[..], if how == "--cone" { &["in"] } else { &["/in/", "/top"] }].concat())
            .success();
        let taken = take(&world);
        let left_out = ["index skip-worktree other/", "index skip-worktree out/"];
        assert_eq!(taken.list("origin"), left_out, "{how} {sparse_index}");
        // A file comes back on disk below it: the others are reported one by one.
        world.file("out/deep/c", "by hand");
        let taken = take(&world);
        let expected = [
            "index skip-worktree other/",
            "index skip-worktree out/b",
            "disk skip-worktree out/deep/c",
            "index skip-worktree out/deep/d",
        ];
        assert_eq!(taken.list("origin"), expected, "{how} {sparse_index}");
        assert_eq!(blob(&world, &taken, "out/deep/c").as_deref(), Some("by hand"));
        assert_eq!(blob(&world, &taken, "out/deep/d").as_deref(), Some("out/deep/d"));
        let tracked = world.git_line(["ls-files", "-t"]);
        assert!(tracked.contains("S out/"), "{tracked}");
        world.git(["sparse-checkout", "disable"]).success();
    }
}

#[test]
fn what_is_remembered_says_the_same() {
    let world = with_files();
    world
        .git(["update-index", "--skip-worktree", "in/a", "out/deep/c"])
        .success();
    fs::remove_file(world.path("out/deep/c")).unwrap();
    let cache = world.root().join("cache").to_str().unwrap().to_owned();
    let setting = || Setting {
        options: serde_json::json!({ "cache": cache }),
        ..Setting::default()
    };
    std::thread::sleep(std::time::Duration::from_millis(30));
    let first = take_with(&world, &setting());
    for what in ["again", "a new file"] {
        let taken = take_with(&world, &setting());
        assert_eq!(taken.list("origin"), first.list("origin"), "{what}");
        world.file("new", what);
    }
    let expected = ["disk skip-worktree in/a", "index skip-worktree out/deep/c"];
    assert_eq!(first.list("origin"), expected);
    // A flag alone is a change.
    world.git(["update-index", "--assume-unchanged", "top"]).success();
    let taken = take_with(&world, &setting());
    assert_eq!(taken.list("origin").last(), Some(&"disk assume-unchanged top"));
    world.git(["update-index", "--no-assume-unchanged", "top"]).success();
    world
        .git(["update-index", "--no-skip-worktree", "in/a", "out/deep/c"])
        .success();
    assert!(take_with(&world, &setting()).list("origin").is_empty());
}
