//! `resume --apply` beside other changes brings no more than was saved: unchanged files keep their bytes, hidden
//! ones their state, and unmerged entries their stages.

use std::fs;

use crate::support::World;

/// The bytes stay where rules come back that had not converted them.
#[test]
fn unchanged_files_keep_their_bytes_under_rules_that_come_back() {
    for (attributes, text) in [
        ("*.txt text eol=crlf\n", "l1\nl2\n"),
        ("*.txt ident\n", "$Id$\nl2\n"),
        ("*.txt filter=f\n", "Hello\nL2\n"),
        ("*.txt working-tree-encoding=UTF-16\n", "l1\nl2\n"),
    ] {
        for is_apply in [false, true] {
            let world = World::with_commit();
            for (key, value) in [("filter.f.clean", "tr a-z A-Z"), ("filter.f.smudge", "tr A-Z a-z")] {
                world.git(["config", key, value]).success();
            }
            world.file("a.txt", text);
            world.file("deep/er/b.txt", text);
            world.git(["add", "-A"]).success();
            world.git(["commit", "-qm", "base"]).success();
            world.file(".gitattributes", attributes);
            world.checkpoint(["pause", "--clean"]).success();
            if is_apply {
                world.file("other", "of now\n");
            }
            world.checkpoint(["resume", "--apply"]).success();
            assert_eq!(world.read(".gitattributes"), attributes.as_bytes());
            for path in ["a.txt", "deep/er/b.txt"] {
                assert_eq!(world.read(path), text.as_bytes(), "{path} {attributes} {is_apply}");
            }
        }
    }
}

/// A file that was converted when it was saved comes back so.
#[test]
fn files_that_were_converted_come_back_converted() {
    let world = World::with_commit();
    world.file("a.txt", "l1\nl2\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "base"]).success();
    world.file(".gitattributes", "*.txt text eol=crlf\n");
    world.file("a.txt", "l1\r\nl2\r\n");
    world.checkpoint(["pause", "--clean"]).success();
    world.file("other", "of now\n");
    world.checkpoint(["resume", "--apply"]).success();
    assert_eq!(world.read("a.txt"), b"l1\r\nl2\r\n");
}

/// No conflict comes of a file that git does not look at and that was moved away.
#[test]
fn a_hidden_file_that_was_moved_is_in_no_conflict() {
    for is_apply in [false, true] {
        let world = World::with_commit();
        let lines: String = (1..=20).map(|n| format!("{n}\n")).collect();
        world.file("n", &lines);
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "base"]).success();
        world.git(["update-index", "--assume-unchanged", "n"]).success();
        fs::rename(world.path("n"), world.path("a")).unwrap();
        let (status, index) = state(&world);
        world.checkpoint(["pause", "--clean"]).success();
        if is_apply {
            world.file("other", "of now\n");
        }
        world.checkpoint(["resume", "--apply"]).success();
        let (now, index_now) = state(&world);
        assert_eq!(now.replace("?? other\n", "").trim(), status.trim(), "{is_apply}");
        assert_eq!(index_now, index, "{is_apply}");
        assert_eq!(world.read("a"), lines.as_bytes());
        assert!(!world.path("n").exists());
    }
}

fn state(world: &World) -> (String, String) {
    let status = world.git(["status", "--short"]).success().stdout().to_owned();
    let index = world.git(["ls-files", "-s", "-v"]).success().stdout().to_owned();
    (status, index)
}

/// Both sides of a merge of git renamed a file: three paths, each with one stage.
fn both_renamed(world: &World) {
    let lines: String = (1..=30).map(|n| format!("{n}\n")).collect();
    world.file("a", lines);
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "base"]).success();
    world.git(["checkout", "-q", "-b", "o"]).success();
    world.git(["mv", "a", "c"]).success();
    world.git(["commit", "-qm", "o"]).success();
    world.git(["checkout", "-q", "-"]).success();
    world.git(["mv", "a", "b"]).success();
    world.git(["commit", "-qm", "m"]).success();
    world.git(["merge", "-q", "o"]).code(1);
    for file in ["MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE"] {
        let _ = fs::remove_file(world.path(".git").join(file));
    }
}

/// A stage 1 alone, of a path that no tree has.
fn deleted_by_both(world: &World) {
    world.file("k", "k\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "base"]).success();
    let blob = world
        .command("git", ["hash-object", "-w", "--stdin"])
        .input("old\n")
        .run();
    let entry = format!("100644 {} 1\ta\n", blob.success().stdout().trim());
    world
        .command("git", ["update-index", "--index-info"])
        .input(entry)
        .run()
        .success();
    world.file("k", "k\nmore\n");
}

#[test]
fn stages_of_renames_and_deletions_come_back() {
    for make in [both_renamed, deleted_by_both] {
        for is_apply in [false, true] {
            let world = World::with_commit();
            make(&world);
            let (status, index) = state(&world);
            assert!(status.contains("DD a"), "{status}");
            world.checkpoint(["pause", "--clean"]).success();
            if is_apply {
                world.file("u", "of now\n");
            }
            world.checkpoint(["resume", "--apply"]);
            let (now, index_now) = state(&world);
            assert_eq!(now.replace("?? u\n", ""), status, "{is_apply}");
            assert_eq!(index_now, index, "{is_apply}");
        }
    }
}
