//! Content that git stores in another form than it has on disk.

use std::fs;

use git_checkpoint::worktree::restore::Error;
use sha2::{Digest, Sha256};

use super::{chmod, disk, exact, open, planned, restore, run, save, shown};
use crate::support::World;

/// Writes the files, saves, lets `change` do its worst, restores, and compares every byte.
#[track_caller]
fn round_trip(world: &World, files: &[(&str, &[u8])], change: impl Fn()) {
    for (name, bytes) in files {
        world.file(name, bytes);
    }
    let saved = save(world);
    let before = disk(&world.repo());
    for (name, _) in files {
        fs::remove_file(world.path(name)).unwrap();
    }
    change();
    restore(world, &saved);
    assert_eq!(disk(&world.repo()), before);
    let again = planned(world, &saved, exact()).unwrap();
    assert!(again.is_done(), "{:?}", shown(&again.lines));
}

const LINES: &[(&str, &[u8])] = &[
    ("crlf.txt", b"a\r\nb\r\n"),
    ("lf.txt", b"a\nb\n"),
    ("mixed.txt", b"a\r\nb\nc\r\n"),
    ("cr.txt", b"a\rb\r\n"),
    ("binary.txt", b"a\0b\r\n"),
    ("empty.txt", b""),
    ("last.txt", b"no end"),
];

#[test]
fn line_ends_come_back_under_every_setting() {
    for setting in ["true", "input", "false"] {
        for attributes in [
            None,
            Some("* text=auto\n"),
            Some("* text eol=crlf\n"),
            Some("*.txt text eol=lf\n"),
            Some("* -text\n"),
        ] {
            let world = World::with_commit();
            world.git(["config", "core.autocrlf", setting]).success();
            if let Some(attributes) = attributes {
                world.file(".gitattributes", attributes);
            }
            round_trip(&world, LINES, || {});
        }
    }
}

#[test]
fn attributes_are_those_of_the_checkpoint() {
    let world = World::with_commit();
    world.file(".gitattributes", "*.txt text eol=crlf\n");
    // The blobs stay the same, the bytes on disk do not.
    round_trip(&world, LINES, || world.file(".gitattributes", "*.txt text eol=lf\n"));
    round_trip(&world, LINES, || fs::remove_file(world.path(".gitattributes")).unwrap());
    let world = World::with_commit();
    for (name, bytes) in LINES {
        world.file(name, bytes);
    }
    let saved = save(&world);
    let before = disk(&world.repo());
    world.file(".gitattributes", "*.txt text eol=crlf\n");
    restore(&world, &saved);
    assert_eq!(disk(&world.repo()), before);
}

#[test]
fn other_rules_without_other_bytes_write_nothing() {
    let world = World::with_commit();
    world.file("a.txt", "one line without end");
    let saved = save(&world);
    world.file(".gitattributes", "*.txt text eol=crlf\n");
    let plan = planned(&world, &saved, exact()).unwrap();
    assert_eq!(shown(&plan.lines), ["delete .gitattributes (not in the checkpoint)"]);
}

#[test]
fn ident_and_encodings_come_back() {
    let world = World::with_commit();
    world.file(
        ".gitattributes",
        "*.c ident\n*.u16 working-tree-encoding=UTF-16 text\n*.le working-tree-encoding=UTF-16LE-BOM text eol=crlf\n*.l1 working-tree-encoding=ISO-8859-1\n",
    );
    world.file("id.c", "/* $Id$ */\n");
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "ident"]).success();
    fs::remove_file(world.path("id.c")).unwrap();
    world.git(["checkout", "--", "id.c"]).success();
    assert!(world.read("id.c").starts_with(b"/* $Id: "));
    let expanded = world.read("id.c");
    let utf16: Vec<u8> = "\u{feff}a\u{e9}\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    round_trip(
        &world,
        &[
            ("id.c", &expanded),
            ("raw.c", b"$Id: not what git would write $\n"),
            ("a.u16", &utf16),
            ("odd.u16", b"\xff\xfea"),
            ("b.le", &utf16),
            ("c.l1", b"\xe9\n"),
        ],
        || {},
    );
}

fn filter(world: &World, name: &str, clean: &str, smudge: &str) {
    world.git(["config", &format!("filter.{name}.clean"), clean]).success();
    world
        .git(["config", &format!("filter.{name}.smudge"), smudge])
        .success();
}

#[test]
fn filters_run_as_in_a_checkout() {
    let world = World::with_commit();
    filter(&world, "turn", "tr a-m n-z", "tr n-z a-m");
    world.file(".gitattributes", "*.turned filter=turn\n");
    world.git(["add", "--all"]).success();
    round_trip(&world, &[("a.turned", b"abc"), ("b.turned", b"")], || {});
    // What is kept in the repository is the filter's form.
    world.file("a.turned", "abc");
    let saved = save(&world);
    let stored = world.git_line(["show", &format!("{}:a.turned", saved.tree)]);
    assert_eq!(stored, "nop");
}

#[test]
fn a_filter_that_only_the_checkpoint_asks_for_needs_consent() {
    let world = World::with_commit();
    let canary = world.root().join("canary");
    filter(&world, "canary", "cat", &format!("touch {}; cat", canary.display()));
    world.file(".gitattributes", "* filter=canary\n");
    world.file("a", "1");
    let saved = save(&world);
    fs::remove_file(world.path(".gitattributes")).unwrap();
    world.file("a", "2");
    let refused = planned(&world, &saved, exact()).unwrap();
    assert!(!refused.blocked.is_empty());
    assert!(!canary.exists(), "planning runs nothing");
    let mut options = exact();
    options.trusted = true;
    let plan = planned(&world, &saved, options).unwrap();
    assert!(run(&world, &plan).is_complete());
    assert!(canary.exists());
}

#[test]
fn a_failing_filter_leaves_the_file_as_it_is() {
    let world = World::with_commit();
    filter(&world, "flaky", "cat", "cat");
    world.file(".gitattributes", "*.x filter=flaky\n");
    world.file("a.x", "1");
    world.file("b", "1");
    let saved = save(&world);
    world.file("a.x", "2");
    world.file("b", "2");
    // E-59: git has removed the file by the time its filter fails.
    let plan = planned(&world, &saved, exact()).unwrap();
    filter(&world, "flaky", "cat", "false");
    let mut plan = plan;
    plan = planned(&world, &saved, exact()).unwrap_or(plan);
    let done = run(&world, &plan);
    // The present file could not be proven to be held either, so it is left, one way or the other.
    assert_eq!(done.moved.len() + done.failed.len(), 1, "{done:?}");
    assert_eq!(world.read("a.x"), b"2");
    assert_eq!(world.read("b"), b"1");
    assert_eq!(disk(&world.repo()).len(), 6, "no temporary file is left");
}

fn store_lfs(world: &World, content: &[u8]) -> String {
    let oid: String = Sha256::digest(content)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let path = world.path(format!(".git/lfs/objects/{}/{}/{oid}", &oid[..2], &oid[2..4]));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
    format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {}\n",
        content.len()
    )
}

/// A repository in which `a.bin` is tracked by git-lfs, as git-lfs would leave it; its program is not there.
fn with_lfs() -> World {
    let world = World::with_commit();
    world.file(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    let pointer = store_lfs(&world, b"the content");
    world.file("a.bin", pointer);
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "lfs"]).success();
    world.file("a.bin", "the content");
    world
        .git([
            "-c",
            "filter.lfs.clean=cat",
            "update-index",
            "--assume-unchanged",
            "a.bin",
        ])
        .success();
    world.git(["update-index", "--no-assume-unchanged", "a.bin"]).success();
    world
}

#[test]
fn lfs_content_is_read_from_where_it_lies() {
    let world = with_lfs();
    let saved = save(&world);
    let stored = world.git_line(["show", &format!("{}:a.bin", saved.tree)]);
    assert!(stored.starts_with("version "), "{stored}");
    world.file("a.bin", "edited, and stored byte for byte");
    let edited = save(&world);
    restore(&world, &saved);
    assert_eq!(world.read("a.bin"), b"the content");
    restore(&world, &edited);
    assert_eq!(world.read("a.bin"), b"edited, and stored byte for byte");
    fs::remove_file(world.path("a.bin")).unwrap();
    restore(&world, &saved);
    assert_eq!(world.read("a.bin"), b"the content");
}

#[test]
fn without_its_content_a_pointer_stays_one() {
    let world = with_lfs();
    let saved = save(&world);
    fs::remove_dir_all(world.path(".git/lfs")).unwrap();
    fs::remove_file(world.path("a.bin")).unwrap();
    let (plan, _) = restore(&world, &saved);
    assert_eq!(
        shown(&plan.lines),
        ["write a.bin (pointer only: its content is not here)"]
    );
    assert!(world.read("a.bin").starts_with(b"version "));
}

#[test]
fn damaged_lfs_content_is_not_written() {
    let world = with_lfs();
    let saved = save(&world);
    world.file("a.bin", "edited");
    let plan = planned(&world, &saved, exact()).unwrap();
    store_lfs(&world, b"the content");
    // A git-lfs on this machine may have stored other contents as well.
    let objects = world.command("find", [".git/lfs/objects", "-type", "f"]).run();
    for object in objects.stdout().lines() {
        fs::write(world.path(object), "THE CONTENT").unwrap();
    }
    let result = restore::execute(
        &open(&world),
        &plan,
        &mut super::Execution {
            token: "t",
            progress: &mut |_, _| {},
        },
    );
    assert!(matches!(result, Err(Error::Blob { .. })), "{result:?}");
    assert_eq!(world.read("a.bin"), b"edited");
}

#[test]
fn large_files_are_streamed_and_come_back() {
    let world = World::with_commit();
    let mut large = vec![0_u8; 20 << 20];
    for (at, byte) in large.iter_mut().enumerate() {
        *byte = u8::try_from(at % 251).unwrap();
    }
    round_trip(&world, &[("large", &large)], || {});
    let saved = save(&world);
    world.file("large", vec![1; 20 << 20]);
    restore(&world, &saved);
    assert!(world.read("large") == large);
}

/// Overwrites a loose object with a well-formed other one.
fn substitute(world: &World, id: &str, content: &[u8]) {
    let path = world.path(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    let other = world
        .command("git", ["hash-object", "-w", "--stdin"])
        .input(content)
        .run()
        .stdout()
        .trim()
        .to_owned();
    let other = world.path(format!(".git/objects/{}/{}", &other[..2], &other[2..]));
    let _ = fs::remove_file(&path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::copy(other, path).unwrap();
}

#[test]
fn substituted_and_missing_content_is_found_before_anything_is_written() {
    let world = World::with_commit();
    world.file("a", "saved a");
    world.file("b", "saved b");
    world.git(["add", "--all"]).success();
    // So the save need not store them a second time.
    world.git(["commit", "--quiet", "-m", "second"]).success();
    let saved = save(&world);
    let blob = world.git_line(["rev-parse", &format!("{}:b", saved.tree)]);
    world.file("a", "edited");
    world.file("b", "edited");
    let before = disk(&world.repo());
    let plan = planned(&world, &saved, exact()).unwrap();
    let refused = |why: &str| {
        let mut execution = super::Execution {
            token: "t",
            progress: &mut |_, _| {},
        };
        let error = restore::execute(&open(&world), &plan, &mut execution)
            .unwrap_err()
            .to_string();
        assert!(error.contains("'b'") && error.contains(why), "{error}");
        assert_eq!(disk(&world.repo()), before);
    };
    substitute(&world, &blob, b"evil b!");
    refused("another id");
    fs::remove_file(world.path(format!(".git/objects/{}/{}", &blob[..2], &blob[2..]))).unwrap();
    refused("not in this repository");
}

#[test]
fn held_files_with_any_line_ends_come_back() {
    for setting in ["true", "input", "false"] {
        let world = World::with_commit();
        world.git(["config", "core.autocrlf", setting]).success();
        let saved = save(&world);
        // No server takes it, and no checkout would give these bytes.
        world.file(".gitmodules", "[submodule \"..\"]\n\tpath = x\r\n\turl = x\n");
        chmod(&world, ".gitmodules", 0o755);
        let held = save(&world);
        assert_eq!(held.held_blobs.len(), 1);
        let before = disk(&world.repo());
        restore(&world, &saved);
        assert!(!world.path(".gitmodules").exists());
        restore(&world, &held);
        assert_eq!(disk(&world.repo()), before, "{setting}");
    }
}

#[test]
fn held_files_come_back() {
    let world = World::with_commit();
    world.file(".gitmodules", "[submodule \"../x\"]\n\tpath = x\n\turl = -evil\n");
    world.file("sub/.gitattributes", format!("* text{}\n", " ".repeat(3000)));
    let saved = save(&world);
    assert_eq!(saved.lists.held.len(), 2, "{:?}", saved.lists);
    let before = disk(&world.repo());
    fs::remove_file(world.path(".gitmodules")).unwrap();
    fs::remove_dir_all(world.path("sub")).unwrap();
    restore(&world, &saved);
    assert_eq!(disk(&world.repo()), before);
    world.file(".gitmodules", "");
    let later = save(&world);
    restore(&world, &saved);
    assert_eq!(disk(&world.repo()), before);
    restore(&world, &later);
    assert_eq!(world.read(".gitmodules"), b"");
}
