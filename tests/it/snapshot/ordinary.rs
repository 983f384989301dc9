//! The repositories that everybody has.

use crate::support::World;

use super::child::Setting;
use super::reference::{assert_same, sound};

fn check(world: &World) -> super::child::Taken {
    let taken = sound(world, &Setting::default());
    assert_same(world, &Setting::default(), &taken);
    taken
}

#[test]
fn a_clean_work_tree_is_its_commit() {
    let world = World::with_commit();
    let taken = check(&world);
    assert_eq!(taken.tree(), world.git_line(["rev-parse", "HEAD^{tree}"]));
    assert_eq!(taken.index_tree(), taken.tree());
    for part in ["modified", "deleted", "untracked", "conflicted"] {
        assert_eq!(taken.count(part), 0, "{part}");
    }
}

#[test]
fn an_empty_repository_has_the_empty_tree() {
    let world = World::new();
    let taken = check(&world);
    assert_eq!(taken.tree(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
}

#[test]
fn staged_modified_deleted_and_untracked_files() {
    let world = World::with_commit();
    world.file("staged", "1\n");
    world.git(["add", "staged"]).success();
    world.file("staged", "2\n");
    world.file("src/main.txt", "other\n");
    world.file("new/deep/er/file", "x");
    world.file("top", "y");
    std::fs::remove_file(world.path("README.md")).unwrap();
    let taken = check(&world);
    assert_eq!(taken.status("modified"), ["src/main.txt", "staged"]);
    assert_eq!(taken.status("deleted"), ["README.md"]);
    assert_eq!(taken.status("untracked"), ["new/deep/er/file", "top"]);
}

#[cfg(unix)]
#[test]
fn odd_names_modes_and_links() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};

    let world = World::with_commit();
    for name in [
        &b"new\nline"[..],
        b"qu\"ote",
        b"-dash",
        b":colon",
        b" space ",
        b"back\\slash",
        b"\xff\xfe",
        b"*star[x]",
        "\u{e9}".as_bytes(),
    ] {
        world.file(OsStr::from_bytes(name), name);
        world.file(std::path::Path::new("d").join(OsStr::from_bytes(name)), "same");
    }
    world.file("run", "#!/bin/sh\n");
    let mode = |path: &str, mode| {
        std::fs::set_permissions(world.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("run", 0o755);
    mode("README.md", 0o600);
    mode("src/main.txt", 0o755);
    symlink("README.md", world.path("link")).unwrap();
    symlink("/nowhere/at/all", world.path("dangling")).unwrap();
    symlink("src", world.path("link-to-folder")).unwrap();
    std::fs::create_dir_all(world.path("empty/inner")).unwrap();
    let taken = check(&world);
    assert_eq!(taken.list("modes"), ["0600 README.md"]);
    assert_eq!(taken.list("empty-dirs"), ["empty/inner"]);
    assert_eq!(taken.status("modified"), ["src/main.txt"], "the executable bit");
    assert_eq!(taken.count("untracked"), 22);
}

#[test]
fn ignored_files_in_all_their_places() {
    let world = World::with_commit();
    world.file("src/tracked.log", "tracked although ignored\n");
    world.file("build/tracked", "tracked in an ignored folder\n");
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "second"]).success();
    world.file(".gitignore", "*.log\n!keep.log\n/build/\nonly-here\n");
    world.file("src/.gitignore", "!again.log\n/anchored\n");
    world.file(".git/info/exclude", "excluded\n");
    world.file("excludes", "by-setting\n");
    let excludes = world.path("excludes");
    world
        .git(["config", "core.excludesFile", excludes.to_str().unwrap()])
        .success();
    for path in [
        "a.log",
        "keep.log",
        "src/a.log",
        "src/again.log",
        "src/anchored",
        "src/deep/anchored",
        "build/new",
        "build/deep/new",
        "excluded",
        "src/excluded",
        "by-setting",
        "only-here/x/y",
        "src/keep.log",
    ] {
        world.file(path, path);
    }
    world.file("build/tracked", "changed\n");
    world.file("src/tracked.log", "changed\n");
    let taken = check(&world);
    assert_eq!(taken.status("modified"), ["build/tracked", "src/tracked.log"]);
    assert!(taken.list("skipped").is_empty());
}

#[test]
fn an_unmerged_index_keeps_its_stages() {
    let world = World::with_commit();
    world.git(["switch", "--quiet", "-c", "other"]).success();
    world.file("src/main.txt", "theirs\n");
    world.file("both", "theirs\n");
    world.git(["rm", "--quiet", "README.md"]).success();
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "other"]).success();
    world.git(["switch", "--quiet", "main"]).success();
    world.file("src/main.txt", "ours\n");
    world.file("both", "ours\n");
    world.file("README.md", "ours\n");
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "ours"]).success();
    assert!(!world.git(["merge", "other"]).is_success());
    let taken = check(&world);
    let lines = taken.list("conflicts");
    assert_eq!(
        lines,
        [
            "0 1 100644 README.md",
            "1 2 100644 README.md",
            "2 2 100644 both",
            "3 3 100644 both",
            "4 1 100644 src/main.txt",
            "5 2 100644 src/main.txt",
            "6 3 100644 src/main.txt",
        ]
    );
    let stages = world.git_line(["ls-files", "--unmerged"]);
    let ids: Vec<_> = stages.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(taken.blobs("conflict_blobs"), ids);
    assert_eq!(taken.status("conflicted"), ["README.md", "both", "src/main.txt"]);
    assert_eq!(taken.count("modified"), 0);
    let ours = world.git_line(["rev-parse", "HEAD^{tree}"]);
    assert_eq!(taken.index_tree(), ours, "our side of every path");
}

#[test]
fn flags_of_the_index_hide_nothing() {
    let world = World::with_commit();
    world.file("announced", "x\n");
    world.git(["add", "-N", "announced"]).success();
    world.git(["update-index", "--assume-unchanged", "README.md"]).success();
    world.git(["update-index", "--skip-worktree", "src/main.txt"]).success();
    world.file("README.md", "edited\n");
    world.file("src/main.txt", "edited too\n");
    let taken = sound(&world, &Setting::default());
    assert_eq!(taken.list("intent-to-add"), ["announced"]);
    assert_eq!(taken.status("modified"), ["README.md", "announced", "src/main.txt"]);
    world
        .git(["update-index", "--no-assume-unchanged", "README.md"])
        .success();
    world
        .git(["update-index", "--no-skip-worktree", "src/main.txt"])
        .success();
    assert_same(&world, &Setting::default(), &taken);
}

#[test]
fn from_a_subfolder_and_a_linked_work_tree() {
    let world = World::with_commit();
    world.file("new", "x");
    let setting = Setting {
        directory: "src",
        ..Setting::default()
    };
    let taken = sound(&world, &setting);
    assert_same(&world, &Setting::default(), &taken);
    world
        .git(["worktree", "add", "--quiet", "--detach", "../linked"])
        .success();
    world.enter("linked");
    world.file("only-here", "y");
    let taken = check(&world);
    assert_eq!(taken.status("untracked"), ["only-here"]);
}

#[test]
fn the_limits_concern_untracked_files_only() {
    let world = World::with_commit();
    world.file("src/main.txt", "x".repeat(2000));
    world.file("a-large", "x".repeat(1001));
    world.file("b", "x".repeat(400));
    world.file("c", "x".repeat(400));
    world.file("d", "x".repeat(400));
    world.file("e-small", "x".repeat(200));
    world.file(".env.local", "SECRET=1\n");
    world.file("private/key", "k\n");
    let options = serde_json::json!({
        "max_file_size": 1000, "max_total_size": 1000, "exclude": [".env*", "private/"],
    });
    let taken = sound(
        &world,
        &Setting {
            options,
            ..Setting::default()
        },
    );
    assert_eq!(
        taken.list("skipped"),
        [
            "excluded:9 .env.local",
            "too-large:1001 a-large",
            "over-budget:400 d",
            "excluded private"
        ]
    );
    let tree = world.git_line(["ls-tree", "-r", "--name-only", taken.tree()]);
    assert_eq!(
        tree.lines().collect::<Vec<_>>(),
        ["README.md", "b", "c", "e-small", "src/main.txt"]
    );
}

#[test]
fn a_dry_run_gives_the_same_trees_and_stores_nothing() {
    let world = World::with_commit();
    world.file("new/file", "x");
    let objects = world.git_line(["count-objects", "-v"]);
    let options = serde_json::json!({ "memory": true });
    let dry = super::child::take_with(
        &world,
        &Setting {
            options,
            ..Setting::default()
        },
    );
    assert_eq!(world.git_line(["count-objects", "-v"]), objects);
    let taken = check(&world);
    assert_eq!(dry.tree(), taken.tree());
}

#[test]
fn a_bare_repository_is_refused() {
    let world = World::with_commit();
    world.git(["clone", "--quiet", "--bare", ".", "../bare.git"]).success();
    world.enter("bare.git");
    let taken = super::child::take(&world);
    assert!(
        taken.error().unwrap().starts_with("this command needs a working tree"),
        "{:?}",
        taken.error()
    );
}
