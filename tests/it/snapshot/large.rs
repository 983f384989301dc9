//! An index so large that its checksum is seen to while it is read: it is read as any other, and damage is found.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::child::take;
use crate::support::World;

/// A repository whose index has a mebibyte of entries next to those that were there; the blob that they all name.
fn fill(world: &World) -> String {
    let blob = world.git_line(["rev-parse", "HEAD:README.md"]);
    let mut lines = String::new();
    for n in 0..12_000 {
        let directory = n / 400;
        writeln!(
            lines,
            "100644 {blob}\tfolder{directory:02}/a-name-of-usual-length-{n:05}.txt"
        )
        .unwrap();
    }
    world
        .command("git", ["update-index", "--index-info"])
        .input(lines)
        .run()
        .success();
    assert!(fs::metadata(world.path(".git/index")).unwrap().len() > 1 << 20);
    blob
}

/// Changes one bit of what an index says of a file's owner: it reads as before, and nothing but the checksum shows.
fn damage(path: &Path, blob: &str) {
    let id: Vec<u8> = (0..blob.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&blob[at..at + 2], 16).unwrap())
        .collect();
    let mut bytes = fs::read(path).unwrap();
    let places: Vec<_> = (0..bytes.len() - id.len())
        .filter(|at| bytes[*at..].starts_with(&id))
        .collect();
    // The last byte of the owner: group and size are between it and the id.
    bytes[places[places.len() / 2] - 9] ^= 1;
    // What git shares is read-only.
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn it_is_read_as_git_reads_it() {
    let world = World::with_commit();
    fill(&world);
    let taken = take(&world);
    assert_eq!(taken.index_tree(), world.git_line(["write-tree"]));
    assert_eq!(taken.count("deleted"), 12_000);
}

#[test]
fn damage_is_found() {
    let world = World::with_commit();
    let blob = fill(&world);
    damage(&world.path(".git/index"), &blob);
    let taken = take(&world);
    let error = taken.error().expect("refused");
    assert!(error.contains("index"), "{error}");
}

#[test]
fn damage_in_the_part_that_it_shares_is_found() {
    let world = World::with_commit();
    world.git(["config", "splitIndex.maxPercentChange", "100"]).success();
    world.git(["update-index", "--split-index"]).success();
    let blob = fill(&world);
    let shared = fs::read_dir(world.path(".git"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("sharedindex."))
        .expect("the index is split");
    assert_eq!(take(&world).error(), None);
    damage(&shared, &blob);
    let taken = take(&world);
    let error = taken.error().expect("refused");
    assert!(error.contains("index"), "{error}");
}
