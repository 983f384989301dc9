//! Patch ids, digit by digit those of `git patch-id --stable`. (Of a binary file git hashes other text when it reads a
//! patch than when it compares commits; those are compared through `git cherry`.)

use git_checkpoint::store::patch_id;

use super::{Dice, id, open};
use crate::support::World;

/// What git computes for the change between a commit and its first parent. The internal form that `git cherry` uses
/// places lines without the indent heuristic.
#[track_caller]
fn as_git(world: &World, commit: &str) {
    let old = format!("{commit}^");
    let patch = world.git([
        "diff-tree",
        "-p",
        "--no-indent-heuristic",
        "--full-index",
        "--no-renames",
        &old,
        commit,
    ]);
    let printed = world
        .command("git", ["patch-id", "--stable"])
        .input(patch.success().stdout_bytes())
        .run();
    let printed = printed.success().stdout().split(' ').next().unwrap().to_owned();
    let repo = open(world);
    let ours = patch_id::between(&repo, Some(id(world, &old)), Some(id(world, commit))).unwrap();
    assert_eq!(
        ours.to_string(),
        printed,
        "{commit}\n{}",
        String::from_utf8_lossy(patch.stdout_bytes())
    );
}

#[test]
fn text_files_added_changed_and_deleted() {
    let world = World::with_commit();
    world.file("no newline", "a\nb");
    world.file("with space", " x\ty \r\nz\n");
    world.file("long", (0..200).map(line).collect::<String>());
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "added"]).success();
    as_git(&world, "HEAD");
    world.file("no newline", "a\nb\nc");
    world.file("with space", "x y z\n");
    let edited = |n| {
        if matches!(n, 0 | 5 | 11 | 18 | 100 | 199) {
            "new\n".into()
        } else {
            line(n)
        }
    };
    world.file("long", (0..200).map(edited).collect::<String>());
    world.git(["rm", "-q", "README.md"]).success();
    world.git(["commit", "-qam", "changed"]).success();
    as_git(&world, "HEAD");
}

fn line(n: usize) -> String {
    format!("line {n}\n")
}

#[test]
fn random_edits() {
    let mut dice = Dice(5);
    let world = World::with_commit();
    let mut lines: Vec<String> = (0..60).map(|n| format!("{}\n", n % 7)).collect();
    for round in 0..25 {
        for _ in 0..=dice.below(6) {
            let at = dice.below(lines.len());
            match dice.below(3) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, format!("{}\n", dice.below(7))),
                _ => lines[at] = format!("{}\n", dice.below(7)),
            }
        }
        world.file("file", lines.concat());
        world.file(format!("other{}", dice.below(3)), format!("{round}\n"));
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "edit"]).success();
        if round > 0 {
            as_git(&world, "HEAD");
        }
    }
}
