//! Files that git tracks and that were purged from checkpoints: no command takes them from the index or the project.

use crate::support::World;

/// A session `main` with a change of `kept` and a staged new file `added`, of the tracked files `s` and `d/s`; in the files
/// and the index still.
fn changed() -> World {
    let world = World::with_commit();
    for (path, text) in [
        ("s", "a long text\nof a secret\nthat is tracked\n"),
        ("d/s", "one\n"),
        ("d/t", "two\n"),
        ("kept", "k\n"),
    ] {
        world.file(path, text);
    }
    world.git(["add", "."]).success();
    world.git(["commit", "-qm", "files"]).success();
    world.file("kept", "changed\n");
    world.file("added", "added\n");
    world.git(["add", "added"]).success();
    world
}

/// The entries of what is purged.
fn entries(world: &World) -> String {
    let listed = world.git(["ls-files", "--stage", "s", "d"]);
    listed.success().stdout().to_owned()
}

fn purge(world: &World) {
    world.checkpoint(["purge", "--yes", "-q", "--", "s", "d"]).success();
    let names = world.git(["ls-tree", "-r", "--name-only", "refs/checkpoints/main^2"]);
    names.success().stdout_lacks("s\n").stdout_has("kept");
}

/// The index has of what was purged what it had, and the files are there.
#[track_caller]
fn is_kept(world: &World, before: &str, case: &str) {
    assert_eq!(entries(world), before, "{case}");
    assert_eq!(before.lines().count(), 3, "{case}");
    let deleted = world.git(["diff", "--cached", "--name-only", "--diff-filter=D"]);
    deleted.success().no_stdout();
    for path in ["s", "d/s", "d/t"] {
        assert!(world.path(path).is_file(), "{case}: {path}");
    }
}

fn staged(world: &World) -> String {
    world
        .git(["diff", "--cached", "--name-only"])
        .success()
        .stdout()
        .to_owned()
}

#[test]
fn what_comes_back_leaves_the_entries_of_purged_paths() {
    for (case, line) in [
        ("resume --apply", vec!["resume", "--apply", "main"]),
        ("resume --restore", vec!["resume", "--restore", "main"]),
        ("restore --index", vec!["restore", "--index", "main"]),
        ("restore --index path", vec!["restore", "--index", "main", "--", "."]),
        ("apply --index", vec!["apply", "--index", "main"]),
    ] {
        // The first time in a clean working tree, the second one over edits.
        for is_edited in [false, line[1] != "--restore"] {
            let world = changed();
            world
                .checkpoint(["pause", "--clean", "-q", "-m", "put aside"])
                .success();
            purge(&world);
            if is_edited {
                // An entry of its own.
                world.file("s", "another text\n");
                world.git(["add", "s"]).success();
                world.file("d/s", "edited\n");
            }
            let before = entries(&world);
            let case = format!("{case}, edited {is_edited}");
            let mut line = line.clone();
            if is_edited && line[0] == "restore" {
                line.insert(1, "--force");
            }
            world.checkpoint(&line).success();
            is_kept(&world, &before, &case);
            assert_eq!(world.read("kept"), b"changed\n", "{case}");
            assert!(staged(&world).contains("added"), "{case}");
            if is_edited {
                assert_eq!(world.read("s"), b"another text\n", "{case}");
                assert_eq!(world.read("d/s"), b"edited\n", "{case}");
                continue;
            }
            assert_eq!(staged(&world), "added\n", "{case}");
            // The next commit of everything keeps them in the project.
            world.git(["commit", "-qam", "next"]).success();
            let names = world.git(["ls-tree", "-r", "--name-only", "HEAD"]);
            names.success().stdout_has("s\n").stdout_has("d/t\n");
            if line[0] != "resume" {
                // And back again.
                world.git(["reset", "-q", "--soft", "HEAD~1"]).success();
                world.checkpoint(["undo"]).success();
                is_kept(&world, &before, &case);
            }
        }
    }
}

#[test]
fn an_undo_to_a_state_without_purged_paths_leaves_their_entries() {
    let world = changed();
    world.checkpoint(["save", "-q", "-m", "one"]).success();
    world.file("kept", "later\n");
    world.git(["add", "kept"]).success();
    world.checkpoint(["restore", "--index", "main"]).success();
    // What was before the restore is kept in a checkpoint as well, and is purged.
    purge(&world);
    let before = entries(&world);
    world.checkpoint(["undo", "--older"]).success();
    assert_eq!(world.read("kept"), b"later\n");
    assert!(staged(&world).contains("kept"));
    is_kept(&world, &before, "undo");
    world.checkpoint(["redo"]).success();
    is_kept(&world, &before, "redo");
}

#[test]
fn a_reverted_checkpoint_leaves_purged_paths() {
    let world = changed();
    world.file("s", "a long text\nof a secret\nthat is edited\n");
    world.checkpoint(["save", "-q", "-m", "one"]).success();
    purge(&world);
    let before = entries(&world);
    world.checkpoint(["apply", "--reverse", "main"]).success();
    is_kept(&world, &before, "apply --reverse");
    assert_eq!(world.read("s"), b"a long text\nof a secret\nthat is edited\n");
    assert_eq!(world.read("kept"), b"k\n");
}

/// A copy in the checkpoint must not pass for the new name of what was purged.
#[test]
fn a_copy_is_no_new_name_of_a_purged_file() {
    for line in [["resume", "--apply", "main"], ["apply", "--index", "main"]] {
        let world = changed();
        world.file("copy", world.read("s"));
        world.git(["add", "copy"]).success();
        world
            .checkpoint(["pause", "--clean", "-q", "-m", "put aside"])
            .success();
        purge(&world);
        // So that it is a merge.
        world.file("other", "other\n");
        let before = entries(&world);
        world.checkpoint(line).success();
        is_kept(&world, &before, line[0]);
        assert_eq!(world.read("copy"), world.read("s"));
    }
}

#[test]
fn a_merge_leaves_purged_paths() {
    let world = changed();
    // Without a common checkpoint the commit is the base, which has them.
    world
        .checkpoint(["save", "-q", "-m", "side", "--session", "side"])
        .success();
    world.git(["reset", "-q", "--hard"]).success();
    world
        .checkpoint(["save", "-q", "-m", "one", "--session", "main", "--allow-empty"])
        .success();
    world.checkpoint(["switch", "main"]).success();
    purge(&world);
    let before = entries(&world);
    world.checkpoint(["merge", "side", "--files", "--index"]).success();
    assert_eq!(world.read("kept"), b"changed\n");
    assert_eq!(staged(&world), "added\n");
    is_kept(&world, &before, "merge");
}

#[test]
fn a_commit_of_a_checkpoint_has_what_the_project_has_of_purged_paths() {
    let world = changed();
    world.checkpoint(["save", "-q", "-m", "one"]).success();
    purge(&world);
    world.checkpoint(["export", "--commit", "review", "main"]).success();
    let changes = world.git(["diff", "--name-status", "HEAD", "review"]);
    changes.success().stdout_is("A\tadded\nM\tkept\n");
    world.git(["fsck", "--strict", "--no-dangling"]).success();
}
