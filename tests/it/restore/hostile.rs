//! Crafted checkpoints: whatever their trees and lists say, nothing is written outside of the working tree or into git's
//! own directory, and nothing is run.

use std::fs;

use git_checkpoint::model::list::{HeldFile, Lists};
use git_checkpoint::model::path::RepoPath;
use git_checkpoint::store::objects::Writer;
use git_checkpoint::store::{Kind, ObjectId};
use git_checkpoint::worktree::restore::{Error, RestoreOptions, SideFiles};
use gix::objs::Write as _;

use super::{disk, exact, files, open, restore, run, save, umask};
use crate::support::World;

/// A part of a crafted tree.
enum Part<'a> {
    File(&'a [u8]),
    Link(&'a [u8], &'a [u8]),
    Folder(&'a [u8], Vec<Part<'a>>),
    Gitlink(&'a [u8]),
}
use Part::{File, Folder, Gitlink, Link};

/// Writes the tree as it is, whatever git thinks of it.
fn craft(world: &World, parts: &[Part<'_>]) -> ObjectId {
    // Without git, which would be started five hundred times.
    let store = gix::odb::loose::Store::at(world.path(".git/objects"), gix::hash::Kind::Sha1);
    let hash = |kind, bytes: &[u8]| store.write_buf(kind, bytes).unwrap();
    let mut tree = Vec::new();
    for part in parts {
        let (mode, name, id) = match part {
            File(name) => ("100644", name, hash(Kind::Blob, b"evil")),
            Link(name, target) => ("120000", name, hash(Kind::Blob, target)),
            Folder(name, parts) => ("40000", name, craft(world, parts)),
            Gitlink(name) => ("160000", name, ObjectId::from_hex(&[b'1'; 40]).unwrap()),
        };
        tree.extend_from_slice(format!("{mode} ").as_bytes());
        tree.extend_from_slice(name);
        tree.push(0);
        tree.extend_from_slice(id.as_bytes());
    }
    hash(Kind::Tree, &tree)
}

fn attempt(world: &World, tree: ObjectId, lists: &Lists, held: &[ObjectId]) -> Result<(), Error> {
    let target = SideFiles {
        tree,
        lists,
        held,
        umask: umask(),
    };
    let present = save(world);
    // As much as a user could consent to.
    let options = RestoreOptions {
        trusted: true,
        ..exact()
    };
    let plan = restore::plan(&open(world), files(&present), target, options)?;
    if plan.blocked.is_empty() {
        run(world, &plan);
    }
    Ok(())
}

/// The world around the working tree, and git's own directory but for objects.
fn outside(world: &World) -> String {
    let find = world
        .command(
            "find",
            [
                "..",
                "-not",
                "-path",
                "*/objects/*",
                "-not",
                "-path",
                "../repo/*",
                "-printf",
                "%p %l %s\n",
            ],
        )
        .run();
    let git = world
        .command(
            "find",
            [
                ".git",
                "-not",
                "-path",
                ".git/objects/*",
                "-type",
                "f",
                "-printf",
                "%p %s\n",
            ],
        )
        .run();
    let listed = format!("{}{}", find.stdout(), git.stdout());
    // A file system lists a directory in an order of its own, which a write may change.
    let mut lines: Vec<&str> = listed.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

fn world() -> World {
    let world = World::with_commit();
    world.file(".git/hooks/pre-commit.sample", "x");
    world
}

#[test]
fn names_that_lead_out_or_into_git_are_refused() {
    let hooks = |name: &'static [u8]| vec![Folder(name, vec![Folder(b"hooks", vec![File(b"pre-commit")])])];
    let mut trees: Vec<Vec<Part<'_>>> = Vec::new();
    // Every disguise of git's directory as a directory with hooks in it.
    for name in [
        &b".git"[..],
        b".GIT",
        b".Git",
        b".giT",
        b".git.",
        b".git..",
        b".git ",
        b".git  ",
        b".git. .",
        b".git .",
        b"git~1",
        b"GIT~1",
        b"Git~1 ",
        b"git~1.",
        b".git::$INDEX_ALLOCATION",
        b".git:x",
        b".GIT::$DATA",
        b".git\\hooks",
        b"a\\.git",
        b"a\\git~1\\b",
        b"\\.git",
        ".\u{200c}git".as_bytes(),
        ".g\u{200d}it".as_bytes(),
        ".gi\u{200e}t".as_bytes(),
        ".git\u{200f}".as_bytes(),
        ".\u{202a}git".as_bytes(),
        ".g\u{202b}it".as_bytes(),
        ".gi\u{202c}t".as_bytes(),
        ".git\u{202d}".as_bytes(),
        "\u{202e}.git".as_bytes(),
        ".\u{206a}GIT".as_bytes(),
        ".g\u{206b}iT".as_bytes(),
        ".gi\u{206c}t".as_bytes(),
        ".git\u{206d}".as_bytes(),
        "\u{206e}.git".as_bytes(),
        ".\u{206f}git".as_bytes(),
        ".\u{feff}g\u{feff}it".as_bytes(),
    ] {
        trees.push(hooks(name));
        trees.push(vec![Folder(b"sub", hooks(name))]);
    }
    // And as a file or link that would redirect git.
    for name in [&b".git"[..], b".GIT", b"git~1", b".git "] {
        trees.push(vec![File(name)]);
        trees.push(vec![Link(name, b"../outside")]);
        trees.push(vec![Folder(b"sub", vec![Link(name, b"../../outside")])]);
    }
    // Ways out.
    for name in [
        &b".."[..],
        b".",
        b"",
        b"a/b",
        b"../x",
        b"/etc",
        b"/",
        b"a/",
        b"..\\x",
        b"x\\..\\..\\y",
        b"a/../../x",
    ] {
        trees.push(vec![File(name)]);
        trees.push(vec![Folder(name, vec![File(b"x")])]);
        trees.push(vec![Folder(b"sub", vec![Folder(name, vec![File(b"x")])])]);
    }
    // Links under names of files that git reads, which it would read somewhere else then.
    for name in [
        &b".gitmodules"[..],
        b".GITMODULES",
        b"gitmod~1",
        b"GI7EBA~1",
        b".gitmodules .",
    ] {
        trees.push(vec![Link(name, b"../outside")]);
    }
    // The same name twice.
    trees.push(vec![File(b"a"), File(b"a")]);
    trees.push(vec![Link(b"a", b"../outside"), Folder(b"a", vec![File(b"x")])]);
    trees.push(vec![Folder(b"a", vec![File(b"x")]), Link(b"a", b".git")]);
    assert!(trees.len() > 100, "{}", trees.len());

    let world = world();
    let (files_before, outside_before) = (disk(&world.repo()), outside(&world));
    for (at, tree) in trees.iter().enumerate() {
        let id = craft(&world, tree);
        match attempt(&world, id, &Lists::default(), &[]) {
            Err(Error::UnsafePath { .. }) => {}
            // gix refuses some of the names itself while it reads the tree.
            Err(Error::Tree { .. }) => {}
            other => panic!("tree {at}, {id}: {other:?}"),
        }
        assert_eq!(disk(&world.repo()), files_before, "tree {at}");
    }
    assert_eq!(outside(&world), outside_before);
}

#[test]
fn paths_in_lists_are_held_to_the_same_rules() {
    let world = world();
    let saved = save(&world);
    let (files_before, outside_before) = (disk(&world.repo()), outside(&world));
    let blob = craft(&world, &[]);
    for path in [
        "../x",
        "/tmp/x",
        ".git/hooks/pre-commit",
        "a/../../x",
        "sub/.GIT/x",
        "git~1/config",
        "",
        "a//b",
        "..",
        "a\0b",
    ] {
        let path = RepoPath::from(path);
        let empty = Lists {
            empty_dirs: vec![path.clone()],
            ..Lists::default()
        };
        let held = Lists {
            held: vec![HeldFile {
                path: path.clone(),
                n: 0,
            }],
            ..Lists::default()
        };
        for lists in [empty, held] {
            let result = attempt(&world, saved.tree, &lists, &[blob]);
            assert!(matches!(result, Err(Error::UnsafePath { .. })), "{path}: {result:?}");
        }
        // Lists that only speak about paths of the tree are of no effect.
        let lists = Lists {
            modes: vec![(path.clone(), 0o777)],
            raw: vec![path.clone()],
            skipped: vec![git_checkpoint::model::list::SkippedEntry {
                path,
                reason: git_checkpoint::model::list::SkipReason::TooLarge,
                size: None,
            }],
            ..Lists::default()
        };
        attempt(&world, saved.tree, &lists, &[]).unwrap();
    }
    let missing = Lists {
        held: vec![HeldFile {
            path: RepoPath::from("x"),
            n: 7,
        }],
        ..Lists::default()
    };
    assert!(matches!(
        attempt(&world, saved.tree, &missing, &[]),
        Err(Error::NotThere { .. })
    ));
    assert_eq!(disk(&world.repo()), files_before);
    assert_eq!(outside(&world), outside_before);
}

#[test]
fn a_link_is_never_a_way_for_what_comes_after_it() {
    let world = world();
    fs::create_dir(world.root().join("outside")).unwrap();
    let outside_before = outside(&world);
    // The link and the directory differ in case: two things here, one on other file systems.
    for target in [&b"../outside"[..], b".git", b"/", b".."] {
        let tree = craft(
            &world,
            &[
                Folder(
                    b"A",
                    vec![File(b"config"), Folder(b"hooks", vec![File(b"post-checkout")])],
                ),
                Link(b"a", target),
            ],
        );
        attempt(&world, tree, &Lists::default(), &[]).unwrap();
        assert_eq!(outside(&world), outside_before);
        world.git(["config", "core.ignoreCase", "true"]).success();
        let refused = attempt(&world, tree, &Lists::default(), &[]);
        assert!(matches!(refused, Err(Error::UnsafePath { .. })), "{refused:?}");
        world.git(["config", "--unset", "core.ignoreCase"]).success();
        assert_eq!(outside(&world), outside_before);
    }
    // Links with texts that no link can have.
    for target in [&b""[..], b"a\0b", &[b'x'; 5000]] {
        let tree = craft(&world, &[Link(b"l", target), File(b"z")]);
        attempt(&world, tree, &Lists::default(), &[]).unwrap();
        assert_eq!(world.read("z"), b"evil", "the rest is written");
        assert!(fs::symlink_metadata(world.path("l")).is_err());
    }
}

#[test]
fn nothing_is_run_for_a_crafted_checkpoint() {
    let world = world();
    let canary = world.root().join("canary");
    let touch = format!("touch {}", canary.display());
    for (key, value) in [
        ("filter.evil.smudge", format!("{touch}; cat")),
        ("filter.evil.clean", format!("{touch}; cat")),
        ("core.fsmonitor", touch.clone()),
        ("core.pager", touch.clone()),
        ("diff.external", touch.clone()),
        ("diff.evil.textconv", touch.clone()),
        ("merge.evil.driver", touch.clone()),
        ("core.editor", touch.clone()),
        ("core.sshCommand", touch.clone()),
    ] {
        world.git(["config", key, &value]).success();
    }
    for hook in [
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-commit",
    ] {
        let path = format!(".git/hooks/{hook}");
        world.file(&path, format!("#!/bin/sh\n{touch}\n"));
        super::chmod(&world, &path, 0o755);
    }
    let blob = world
        .command("git", ["hash-object", "-w", "--stdin"])
        .input("* filter=evil diff=evil merge=evil\n")
        .run();
    let modules = "[submodule \"x\"]\n\tpath = x\n\turl = ./y\n\tupdate = !touch canary\n";
    let modules = world
        .command("git", ["hash-object", "-w", "--stdin"])
        .input(modules)
        .run();
    fs::remove_file(&canary).ok();
    let tree = format!(
        "100644 blob {}\t.gitattributes\n100644 blob {}\t.gitmodules\n100644 blob {}\tfile\n160000 commit {}\tx\n",
        blob.stdout().trim(),
        modules.stdout().trim(),
        modules.stdout().trim(),
        "1".repeat(40)
    );
    let tree = world
        .command("git", ["mktree", "--missing"])
        .input(tree)
        .run()
        .success()
        .stdout()
        .trim()
        .to_owned();
    fs::remove_file(&canary).ok();
    let target = SideFiles {
        tree: ObjectId::from_hex(tree.as_bytes()).unwrap(),
        lists: &Lists::default(),
        held: &[],
        umask: umask(),
    };
    let present = save(&world);
    let plan = restore::plan(&open(&world), files(&present), target, exact()).unwrap();
    assert!(!plan.blocked.is_empty(), "the filter needs consent");
    assert!(!canary.exists());
}

#[test]
fn trees_without_end_are_refused_in_time() {
    let world = World::with_commit();
    let writer = Writer::durable(&open(&world)).unwrap();
    let tree = |entries: &[(&str, &str, ObjectId)]| {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            bytes.extend_from_slice(id.as_bytes());
        }
        writer.write(Kind::Tree, &bytes).unwrap()
    };
    let blob = writer.write(Kind::Blob, b"x").unwrap();
    let names = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    // Thirteen objects that describe 10^12 paths.
    let mut wide = tree(&names.map(|name| ("100644", name, blob)));
    for _ in 0..11 {
        wide = tree(&names.map(|name| ("40000", name, wide)));
    }
    let mut deep = tree(&[("100644", "x", blob)]);
    for _ in 0..5000 {
        deep = tree(&[("40000", "a", deep)]);
    }
    assert!(writer.finish().unwrap().release().is_none());
    let started = std::time::Instant::now();
    let refused = attempt(&world, wide, &Lists::default(), &[]);
    assert!(matches!(refused, Err(Error::TooLarge { .. })), "{refused:?}");
    let refused = attempt(&world, deep, &Lists::default(), &[]);
    assert!(matches!(refused, Err(Error::UnsafePath { .. })), "{refused:?}");
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn gitlinks_get_an_empty_directory_and_no_more() {
    let world = world();
    let tree = craft(&world, &[File(b"a"), Gitlink(b"sub")]);
    attempt(&world, tree, &Lists::default(), &[]).unwrap();
    assert!(world.path("a").exists());
    assert!(fs::read_dir(world.path("sub")).unwrap().next().is_none());
}
