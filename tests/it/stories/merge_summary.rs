//! The summary of a merged session, given with the merge or with its conclusion.

use crate::support::World;

/// A merge of `t` into `s` whose conflict is resolved in the files and not saved.
fn resolved() -> World {
    let world = World::new();
    world.file("README.md", "base\n");
    world.commit_and_fork();
    world.enter("t");
    world.file("README.md", "theirs\n");
    world.checkpoint(["save", "-m", "t2"]).success();
    world.enter("repo");
    world.file("README.md", "ours\n");
    world.checkpoint(["save", "-m", "s2"]).success();
    world.checkpoint(["merge", "t"]).code(1);
    world.git(["checkout", "-q", "--theirs", "README.md"]).success();
    world.git(["add", "README.md"]).success();
    world
}

#[test]
fn the_summary_that_a_conclusion_is_given_is_that_of_the_session() {
    let world = resolved();
    world.checkpoint(["merge", "--continue", "-m", "why theirs"]).success();
    let document = world
        .git(["show", "refs/checkpoints/s:checkpoint.json"])
        .success()
        .stdout_json();
    assert_eq!(document["record"]["summary"], "why theirs");
    let subject = world.git_line(["log", "-1", "--format=%s", "refs/checkpoints/s"]);
    assert!(subject.starts_with("resolved the conflicts"), "{subject}");
    world.checkpoint(["list"]).success().stdout_has("why theirs");
    // Without one the session keeps the summary that it had.
    let world = resolved();
    let before = world
        .git(["show", "refs/checkpoints/s:checkpoint.json"])
        .success()
        .stdout_json();
    world.checkpoint(["merge", "--continue"]).success();
    let document = world
        .git(["show", "refs/checkpoints/s:checkpoint.json"])
        .success()
        .stdout_json();
    assert_eq!(document["record"]["summary"], before["record"]["summary"]);
}

#[test]
fn options_that_the_end_of_a_merge_has_no_use_for_are_refused() {
    let world = resolved();
    let tip = world.git_line(["rev-parse", "refs/checkpoints/s"]);
    for option in [
        &["--files"][..],
        &["--no-files"],
        &["--index"],
        &["--reason", "x"],
        &["--finish-others"],
    ] {
        for end in ["--continue", "--abort"] {
            world
                .checkpoint([&["merge", end], option].concat())
                .code(129)
                .stderr_has(option[0]);
        }
    }
    world.checkpoint(["merge", "--abort", "-m", "x"]).code(129);
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/s"]), tip);
    world.checkpoint(["merge", "--continue"]).success();
}
