//! Patches that `git apply` takes, and pathspecs that choose what git chooses.

use std::fs;
use std::path::Path;

use git_checkpoint::store::patch::{self, PatchFormat, PatchOptions};
use git_checkpoint::store::pathspec::PathFilter;
use git_checkpoint::store::spill::SpillDirectory;
use git_checkpoint::store::tree::{self, Renames};

use super::{id, open};
use crate::support::World;

fn two_commits() -> World {
    let world = World::with_commit();
    world.file("sub/binary", (0..=255).collect::<Vec<u8>>());
    world.file("sub/odd \u{e9}\n\"name", "x\n");
    world.file("src/moved.txt", "one\ntwo\nthree\n");
    world.file("src/x.c", "int x;\n");
    fs::remove_file(world.path("src/main.txt")).unwrap();
    world.file("README.md", "hello\r\nno newline");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "second"]).success();
    world
}

#[test]
fn a_patch_applies_whatever_the_settings() {
    let world = two_commits();
    for setting in [
        "diff.noprefix",
        "diff.mnemonicPrefix",
        "diff.wordRegex=.",
        "diff.algorithm=histogram",
        "diff.external=false",
    ] {
        let (key, value) = setting.split_once('=').unwrap_or((setting, "true"));
        world.git(["config", key, value]).success();
    }
    let repo = open(&world);
    let [old, new] = ["HEAD~1", "HEAD"].map(|name| Some(id(&world, name)));
    for renames in [None, Some(50)] {
        let options = PatchOptions {
            renames,
            ..PatchOptions::default()
        };
        let patch = patch::command(&repo, old, new, &options, None).run().unwrap().stdout;
        world.git(["checkout", "-q", "HEAD~1"]).success();
        world
            .command("git", ["apply", "--index", "--whitespace=nowarn"])
            .input(patch)
            .run()
            .success();
        assert_eq!(
            world.git_line(["write-tree"]),
            world.git_line(["rev-parse", "main^{tree}"])
        );
        world.git(["reset", "-q", "--hard"]).success();
        world.git(["checkout", "-q", "main"]).success();
    }
    let whole = patch::command(&repo, None, new, &PatchOptions::default(), None)
        .run()
        .unwrap()
        .stdout;
    world.git(["checkout", "-q", "--orphan", "empty"]).success();
    world.git(["rm", "-rqf", "."]).success();
    world
        .command("git", ["apply", "--index", "--whitespace=nowarn"])
        .input(whole)
        .run()
        .success();
    assert_eq!(
        world.git_line(["write-tree"]),
        world.git_line(["rev-parse", "main^{tree}"])
    );
}

#[test]
fn other_formats_are_those_of_git() {
    let world = two_commits();
    let repo = open(&world);
    let [old, new] = ["HEAD~1", "HEAD"].map(|name| Some(id(&world, name)));
    let formats = [
        (PatchFormat::Stat, "--stat"),
        (PatchFormat::NumStat, "--numstat"),
        (PatchFormat::NameOnly, "--name-only"),
        (PatchFormat::NameStatus, "--name-status"),
    ];
    for (format, option) in formats {
        let options = PatchOptions {
            format,
            renames: Some(50),
            ..PatchOptions::default()
        };
        let ours = patch::command(&repo, old, new, &options, None).run().unwrap().stdout;
        let summary = if format == PatchFormat::Stat {
            "--summary"
        } else {
            option
        };
        let git = world.git(["diff", "-M", option, summary, "HEAD~1", "HEAD"]);
        assert_eq!(String::from_utf8_lossy(&ours), git.success().stdout());
    }
    let options = PatchOptions {
        format: PatchFormat::NameOnly,
        nul: true,
        pathspecs: vec!["*.txt".into()],
        ..PatchOptions::default()
    };
    let ours = patch::command(&repo, old, new, &options, None).run().unwrap().stdout;
    assert_eq!(ours, b"src/main.txt\0src/moved.txt\0");
    let options = PatchOptions {
        pathspecs: vec!["x.c".into()],
        directory: Some(world.path("src")),
        ..options
    };
    let ours = patch::command(&repo, old, new, &options, None).run().unwrap().stdout;
    assert_eq!(ours, b"src/x.c\0");
}

#[test]
fn objects_in_memory_are_shown_to_git() {
    let world = two_commits();
    let repo = open(&world).with_object_memory();
    let head = id(&world, "HEAD");
    let blob = repo.write_blob("in memory\n").unwrap().detach();
    let mut editor = repo
        .edit_tree(repo.find_commit(head).unwrap().tree_id().unwrap())
        .unwrap();
    editor
        .upsert("src/x.c", gix::objs::tree::EntryKind::Blob, blob)
        .unwrap();
    let new = editor.write().unwrap().detach();
    let before = world.fingerprint();
    let spilled = SpillDirectory::new(&repo).unwrap();
    let patch = patch::command(&repo, Some(head), Some(new), &PatchOptions::default(), spilled.as_ref())
        .run()
        .unwrap()
        .stdout;
    let again = SpillDirectory::new(&repo).unwrap();
    drop((spilled, again));
    let patch = String::from_utf8(patch).unwrap();
    assert!(patch.ends_with("-int x;\n+in memory\n"), "{patch}");
    world.fingerprint().assert_same_as(&before);
    assert!(
        !world.path(".git/checkpoint/spilled").exists(),
        "it goes with its last user"
    );
    assert!(SpillDirectory::new(&open(&world)).unwrap().is_none());
}

#[test]
fn what_a_killed_process_spilled_is_swept() {
    let world = two_commits();
    let old = world.path(".git/checkpoint/spilled/old");
    fs::create_dir_all(&old).unwrap();
    fs::write(old.join("lock"), "").unwrap();
    let repo = open(&world).with_object_memory();
    repo.write_blob("x").unwrap();
    drop(SpillDirectory::new(&repo).unwrap());
    assert!(!old.exists());
}

#[test]
fn pathspecs_choose_what_git_chooses() {
    let world = two_commits();
    let repo = open(&world);
    let [old, new] = ["HEAD~1", "HEAD"].map(|name| Some(id(&world, name)));
    let changes = tree::diff(&repo, old, new, Renames::Off).unwrap();
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("", &["src"]),
        ("", &["src/"]),
        ("", &["src/main.txt", "README.md"]),
        ("", &["*.txt"]),
        ("", &[":(glob)*.txt"]),
        ("", &[":(glob)**/*.txt"]),
        ("", &[":(exclude)src"]),
        ("", &["src", ":!*.txt"]),
        ("", &[":(icase)readme.MD"]),
        ("", &[":(literal)*.txt"]),
        ("", &["nothing"]),
        ("src", &[]),
        ("src", &["x.c"]),
        ("src", &["."]),
        ("src", &["../README.md"]),
        ("src", &[":/README.md"]),
        ("src", &[":(top)sub"]),
        ("src", &[":!x.c"]),
    ];
    for (directory, specs) in cases {
        let filter = PathFilter::new(&repo, specs, Path::new(directory)).unwrap();
        let ours: Vec<_> = changes
            .iter()
            .map(|change| &change.path)
            .filter(|path| filter.keeps(path))
            .map(|path| path.as_bytes().to_vec())
            .collect();
        let args = ["diff", "--no-renames", "--name-only", "-z", "HEAD~1", "HEAD", "--"];
        let git = world.command("git", args.iter().chain(*specs)).within(directory).run();
        let git: Vec<_> = git
            .success()
            .stdout_bytes()
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(<[u8]>::to_vec)
            .collect();
        assert_eq!(ours, git, "{directory} {specs:?}");
    }
    for bad in [":(nonsense)x", ":(attr:binary)x", "../outside"] {
        assert!(PathFilter::new(&repo, &[bad], Path::new("")).is_err(), "{bad}");
    }
}
