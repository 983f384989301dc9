//! History that another tool rewrote: checkpoints are read through their parents, reported, and anchored anew.

use crate::support::World;

/// A session with a commit, two checkpoints and an autosave, the secret in all of them.
fn history() -> World {
    let world = World::new();
    world.file("secret", "pw\n");
    world.file("a.txt", "a\nb\nc\n");
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "oops"]).success();
    world.checkpoint(["start", "x"]).success();
    for n in 1..=2 {
        world.advance(60);
        world.file("a.txt", format!("a\nb\nc\n{n}\n"));
        world.file("u", format!("{n}\n"));
        world
            .checkpoint(["save", "-m", &format!("n{n}"), "--name", &format!("name{n}")])
            .success();
    }
    world.file("u", "autosaved\n");
    world.checkpoint(["watch", "--once"]).success();
    world
}

/// As git filter-repo does by default: all refs, then the old objects go.
fn rewrite(world: &World, filter: &[&str]) {
    // It refuses where files were changed.
    world.git(["checkout", "--quiet", "--", "."]).success();
    let mut all = vec!["filter-branch", "-f"];
    all.extend(filter);
    all.extend(["--", "--all"]);
    world
        .command("git", all)
        .env("FILTER_BRANCH_SQUELCH_WARNING", "1")
        .run()
        .success();
    world.git(["reset", "--quiet", "--mixed"]).success();
}

fn collect(world: &World) {
    let refs = world.git_line(["for-each-ref", "--format=delete %(refname)", "refs/original"]);
    world
        .command("git", ["update-ref", "--stdin"])
        .input(format!("{refs}\n"))
        .run()
        .success();
    world.git(["reflog", "expire", "--expire=now", "--all"]).success();
    world.git(["gc", "--quiet", "--prune=now"]).success();
}

#[test]
fn rewritten_checkpoints_are_readable_reported_and_anchored_anew() {
    let filters: [&[&str]; 3] = [
        &["--index-filter", "git rm --quiet --cached --ignore-unmatch secret"],
        &["--tree-filter", "test ! -f secret || echo REMOVED >secret"],
        &[
            "--env-filter",
            "GIT_AUTHOR_EMAIL=other@example.org; export GIT_AUTHOR_EMAIL",
        ],
    ];
    for filter in filters {
        let world = history();
        rewrite(&world, filter);
        collect(&world);
        // Everything older is readable, and the output says so.
        world.checkpoint(["show", "x~1"]).success();
        let shown = world.checkpoint(["compare", "x~1", "x"]);
        shown
            .success()
            .stderr_has("another tool, such as git filter-repo, rewrote")
            .stderr_has("git checkpoint repair");
        world.checkpoint(["restore", "name1", "--force"]).success();
        assert_eq!(world.read("u"), b"1\n", "{filter:?}");
        world.checkpoint(["undo"]).success();
        let verified = world.checkpoint(["verify", "--all"]);
        verified
            .code(1)
            .stdout_has("rewritten")
            .stdout_lacks("safe")
            .stderr_has("git checkpoint repair");
        world
            .checkpoint(["repair", "--dry-run"])
            .success()
            .stdout_has("Would anchor x");
        world.checkpoint(["repair"]).success().stdout_has("Anchored x");
        world.checkpoint(["verify", "--all"]).success();
        let quiet = world.checkpoint(["show", "x~1"]);
        quiet.success().stderr_lacks("another tool");
        world.checkpoint(["repair"]).success().stdout_has("No damage found");
        world.checkpoint(["restore", "name2", "--force"]).success();
        assert_eq!(world.read("u"), b"2\n", "{filter:?}");
        world.checkpoint(["save", "-m", "goes on", "--allow-empty"]).success();
        world.checkpoint(["verify", "--all"]).success();
        world.git(["fsck", "--strict"]).success();
    }
}

#[test]
fn a_rewritten_session_is_not_taken_from_others_before_it_is_anchored() {
    let world = history();
    rewrite(
        &world,
        &["--index-filter", "git rm --quiet --cached --ignore-unmatch secret"],
    );
    collect(&world);
    world.git(["init", "--quiet", "--bare", "../hub"]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world
        .git(["push", "--quiet", "origin", "main", "refs/checkpoints/x"])
        .success();
    world.git(["clone", "--quiet", "../hub", "../other"]).success();
    world.enter("other");
    let fetched = world.checkpoint(["fetch", "origin"]);
    assert!(!fetched.is_success(), "{}", fetched.stdout());
    world.enter("repo");
    world.checkpoint(["repair"]).success();
    world
        .git(["push", "--quiet", "--force", "origin", "refs/checkpoints/x"])
        .success();
    world.enter("other");
    world.checkpoint(["pull", "origin", "x"]).success();
    world.checkpoint(["verify", "--all"]).success();
}

/// As git filter-repo does it: an index commit that changes nothing more is dropped, and its child names HEAD twice, or
/// has one parent left.
#[test]
fn a_snapshot_whose_index_commit_was_dropped_is_anchored_anew() {
    for parents in [2, 1] {
        for staged in [false, true] {
            let world = World::with_commit();
            world.file("secret", "pw\n");
            world.git(["add", "--all"]).success();
            world.git(["commit", "--quiet", "-m", "oops"]).success();
            world.checkpoint(["start", "x"]).success();
            world.file("u", "saved\n");
            if staged {
                world.git(["add", "u"]).success();
            }
            world.checkpoint(["save", "-m", "one"]).success();
            let line = |args: &[&str]| world.git_line(args);
            let tree = line(&["rev-parse", "checkpoints/x^2^{tree}"]);
            world.git(["reset", "--quiet", "--hard", "HEAD~1"]).success();
            let head = line(&["rev-parse", "HEAD"]);
            let mut args = vec!["commit-tree", "-m", "files on disk", &tree];
            for _ in 0..parents {
                args.extend(["-p", &head]);
            }
            let snapshot = line(&args);
            let message = line(&["show", "-s", "--format=%B", "checkpoints/x"]);
            let root = line(&["rev-parse", "checkpoints/x^{tree}"]);
            let start = line(&["rev-parse", "checkpoints/x~1"]);
            let tip = line(&["commit-tree", "-m", &message, &root, "-p", &start, "-p", &snapshot]);
            world.git(["update-ref", "refs/checkpoints/x", &tip]).success();
            world
                .checkpoint(["verify", "x"])
                .code(1)
                .stdout_has("rewritten")
                .stdout_lacks("damaged");
            world.checkpoint(["restore", "x", "--force"]).success();
            assert_eq!(world.read("u"), b"saved\n");
            world.checkpoint(["repair"]).success().stdout_has("Anchored x");
            world.checkpoint(["verify", "--all"]).success();
            world.git(["fsck", "--strict"]).success();
            let shape = line(&["show", "-s", "--format=%P", "checkpoints/x^2"]);
            assert_eq!(shape.split(' ').count(), 2, "{parents} {staged}");
        }
    }
}
