//! Files of git-lfs: stored as pointers, their contents where git-lfs keeps them, and not lost when it removes those.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::World;

/// A repository whose clean and smudge filters do what those of git-lfs do.
fn with_filter() -> World {
    let world = World::with_commit();
    let script = "#!/bin/sh\nset -e\nt=$(mktemp)\ncat >\"$t\"\nif [ ! -s \"$t\" ] || head -c 20 \"$t\" | grep -q '^version https'; then cat \"$t\"; exit; fi\n\
                  s=$(sha256sum <\"$t\" | cut -d' ' -f1)\nd=$(git rev-parse --git-common-dir)/lfs/objects/$(echo $s | cut -c1-2)/$(echo $s | cut -c3-4)\n\
                  mkdir -p $d; n=$(wc -c <\"$t\"); mv \"$t\" $d/$s\nprintf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' $s $n\n";
    let path = world.root().join("clean");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    world
        .git(["config", "filter.lfs.clean", path.to_str().unwrap()])
        .success();
    world.git(["config", "filter.lfs.smudge", "cat"]).success();
    world.git(["config", "filter.lfs.required", "true"]).success();
    world.file(".gitattributes", "*.bin filter=lfs -text\n");
    for name in ["tracked.bin", "gone.bin", "same.bin"] {
        world.file(name, format!("first {name}\n"));
    }
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "files"]).success();
    world
}

/// All paths with contents that a pointer represents, and whether they are one.
const PATHS: &[(&str, bool)] = &[
    ("tracked.bin", true),
    ("same.bin", true),
    ("new.bin", true),
    ("a directory/ü.bin", true),
    ("lines.bin", true),
    ("zeros.bin", true),
    ("large.bin", true),
    ("run.bin", true),
    ("empty.bin", false),
    ("pointer.bin", true),
    ("plain.txt", false),
];

fn change(world: &World) {
    world.file("tracked.bin", "second\n");
    fs::remove_file(world.path("gone.bin")).unwrap();
    world.file("new.bin", "new\n");
    world.file("a directory/ü.bin", "umlaut\n");
    world.file("lines.bin", "a\r\nb\r\n");
    world.file("zeros.bin", [0_u8; 3000]);
    world.file("large.bin", vec![7_u8; 9 << 20]);
    world.file("run.bin", "#!/bin/sh\n");
    fs::set_permissions(world.path("run.bin"), fs::Permissions::from_mode(0o755)).unwrap();
    world.file("empty.bin", "");
    let sum = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
    world.file(
        "pointer.bin",
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{sum}\nsize 12345\n"),
    );
    world.file("plain.txt", "plain\n");
}

fn contents(world: &World) -> Vec<Vec<u8>> {
    PATHS.iter().map(|(path, _)| world.read(path)).collect()
}

fn disturb(world: &World) {
    for (path, _) in PATHS {
        fs::remove_file(world.path(path)).unwrap();
    }
    world.git(["checkout", "--quiet", "--", "same.bin"]);
}

#[test]
fn a_file_is_stored_as_a_pointer_and_comes_back_without_the_objects_of_git_lfs() {
    let world = with_filter();
    change(&world);
    let before = contents(&world);
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "-m", "changed"]).success();
    for (path, is_pointer) in PATHS {
        let blob = world.git(["cat-file", "blob", &format!("checkpoints/s^2:{path}")]);
        assert_eq!(
            blob.success().stdout().starts_with("version https://"),
            *is_pointer,
            "{path}"
        );
    }
    // It is what 'git add' stores.
    world.git(["add", "--all"]).success();
    let staged = world.git_line(["write-tree"]);
    assert_eq!(world.git_line(["rev-parse", "checkpoints/s^2^{tree}"]), staged);
    world.git(["reset", "--quiet"]).success();
    // What git-lfs removes, since no branch needs it.
    fs::remove_dir_all(world.path(".git/lfs/objects")).unwrap();
    world.checkpoint(["verify", "--all"]).success();
    disturb(&world);
    world.checkpoint(["restore", "s", "--force"]).success();
    assert_eq!(contents(&world), before);
    assert!(!world.path("gone.bin").exists());
    assert_ne!(
        fs::metadata(world.path("run.bin")).unwrap().permissions().mode() & 0o111,
        0
    );
}

#[test]
fn looking_stores_nothing() {
    let world = with_filter();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "--allow-empty", "-m", "first"]).success();
    let kept = |world: &World| {
        let output = world.command("find", [".git/lfs", "-type", "f"]).run();
        output.stdout().lines().count()
    };
    let before = kept(&world);
    change(&world);
    for line in [
        &["status"][..],
        &["diff"],
        &["resume"],
        &["restore", "s", "--dry-run"],
        &["apply", "s", "-n"],
    ] {
        world.checkpoint(line);
        assert_eq!(kept(&world), before, "{line:?}");
    }
}

#[test]
fn contents_go_with_the_last_checkpoint_that_needs_them() {
    let world = with_filter();
    let kept = |text: &str| {
        let found = world.command("grep", ["-rlF", text, ".git/lfs/checkpoint"]).run();
        found.is_success()
    };
    world.checkpoint(["start", "s"]).success();
    for n in 1..=4 {
        world.file("tracked.bin", format!("version {n} of it\n"));
        world.checkpoint(["save", "-m", &format!("n{n}")]).success();
    }
    assert!(kept("version 1 of it") && kept("version 4 of it"));
    world.checkpoint(["prune", "--keep-last", "1", "--force"]).success();
    assert!(kept("version 1 of it"), "the trash holds it");
    world.checkpoint(["prune", "--trash"]).success();
    assert!(!kept("version 1 of it") && kept("version 4 of it"));
    world.checkpoint(["purge", "--yes", "--", "tracked.bin"]).success();
    assert!(!kept("version 4 of it"));
    let left = world.command("grep", ["-rlF", "version 4 of it", ".git/lfs"]).run();
    assert!(!left.is_success(), "{}", left.stdout());
}

#[test]
fn without_git_lfs_set_up_a_file_is_stored_as_it_is() {
    for (key, value) in [
        ("filter.lfs.clean", None),
        ("lfs.extension.fold.clean", Some("fold %f")),
    ] {
        let world = with_filter();
        match value {
            None => world.git(["config", "--unset", key]).success().status(),
            Some(value) => world.git(["config", key, value]).success().status(),
        };
        world.file("tracked.bin", "second\n");
        world.checkpoint(["start", "s"]).success();
        world.checkpoint(["save", "-m", "changed"]).success();
        let blob = world.git(["cat-file", "blob", "checkpoints/s^2:tracked.bin"]);
        blob.stdout_is("second\n");
    }
}
