//! The storage format as its document has it: a repository built without this program is read, and the recipes for
//! restoring by hand work on what this program writes.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::support::World;

const FORMAT: &str = include_str!("../../src/store/FORMAT.md");
const BY_HAND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/format/version-1.sh");

/// The contents of the document's shell blocks.
fn recipes() -> Vec<String> {
    let blocks = FORMAT.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn a_repository_of_version_1_made_by_hand_is_read() {
    let world = World::without_repository();
    fs::remove_dir(world.repo()).unwrap();
    world.enter("");
    world
        .command("sh", ["-c", &format!("umask 022 && sh {BY_HAND} repo")])
        .run()
        .success();
    world.enter("repo");
    let list = world.checkpoint(["list", "--json"]).success().stdout_json();
    assert_eq!(list["sessions"][0]["session"], "by-hand");
    assert_eq!(list["sessions"][0]["summary"], "Parser done");
    let shown = world.checkpoint(["show", "by-hand", "--json"]).success().stdout_json();
    assert_eq!(shown["document"]["record"]["next_steps"][0]["text"], "make tests green");
    assert_eq!(
        shown["document"]["later"]["kept"].to_string(),
        "1.50",
        "members of later versions keep their digits"
    );
    assert_eq!(shown["changes"][0]["path"], "main.rs");
    world.checkpoint(["verify", "--all"]).success();
    world
        .checkpoint(["resume", "by-hand"])
        .success()
        .stdout_has("make tests green");
    // And it goes on: the next checkpoint keeps what is not understood and chains on the digest.
    world
        .checkpoint(["save", "--session", "by-hand", "-m", "more"])
        .success();
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn the_recipes_for_restoring_by_hand_work() {
    let world = World::with_commit();
    world.file("src/staged.txt", "staged\n");
    world.git(["add", "src/staged.txt"]).success();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    world.file("src/main.txt", "changed\n");
    world.file("private.txt", "mine\n");
    fs::set_permissions(world.repo().join("private.txt"), fs::Permissions::from_mode(0o600)).unwrap();
    world.checkpoint(["save", "-m", "two"]).success();
    world.git(["reset", "--quiet", "--hard"]).success();
    fs::remove_file(world.repo().join("private.txt")).unwrap();

    let recipes = recipes();
    assert_eq!(recipes.len(), 8, "a recipe came or went: say here what it must do");
    for recipe in &recipes {
        world.command("sh", ["-ec", recipe]).run().success();
    }
    let read = |path: &str| fs::read_to_string(world.root().join(path)).unwrap();
    for place in ["repo", "by-hand", "plain"] {
        assert_eq!(read(&format!("{place}/src/main.txt")), "changed\n", "{place}");
        assert_eq!(read(&format!("{place}/private.txt")), "mine\n", "{place}");
        assert_eq!(read(&format!("{place}/src/staged.txt")), "staged\n", "{place}");
    }
    let mode = fs::metadata(world.root().join("plain/private.txt"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    world
        .git(["status", "--porcelain"])
        .success()
        .stdout_is(" M src/main.txt\nA  src/staged.txt\n?? private.txt\n");
}
