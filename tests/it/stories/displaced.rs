//! What came later in a directory whose place a file or symlink takes on the way back: every way back refuses, ignored or
//! not; forced, it takes what a save would take, and the other way brings that again.

use std::fs;

use crate::support::World;

/// A way back by which `d`, a directory now, becomes a file or symlink again.
struct Case {
    name: &'static str,
    /// Brings the directory.
    forth: fn(&World),
    /// Goes back, and forth again.
    back: &'static [&'static str],
    again: &'static [&'static str],
}

/// Not as one text, so that this file itself holds none.
const SECRET: &str = concat!("DB_PASSWORD=", stringify!(Gh7sjdk29dkJJs81), "\n");

const IGNORED: &str = "build/\n*.ign\n.env\n";

fn commit_ignoring(world: &World) {
    world.file(".gitignore", IGNORED);
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "base"]).success();
}

fn make_directory(world: &World) {
    fs::remove_file(world.path("d")).unwrap();
    world.file("d/main.c", "src\n");
}

/// A resumed pause, whose undo puts the file back.
fn resumed(world: &World) {
    world.file("d", "file\n");
    commit_ignoring(world);
    make_directory(world);
    world.checkpoint(["pause", "--clean"]).success();
    world.checkpoint(["resume", "--apply"]).success();
}

/// The same beside a change of now, so that it is an apply.
fn applied(world: &World) {
    world.file("d", "file\n");
    commit_ignoring(world);
    make_directory(world);
    world.checkpoint(["pause", "--clean"]).success();
    world.file("other", "of now\n");
    world.checkpoint(["resume", "--apply"]).success();
}

fn paused(world: &World) {
    world.file("d/main.c", "src\n");
    commit_ignoring(world);
    fs::remove_dir_all(world.path("d")).unwrap();
    world.file("d", "file\n");
    world.checkpoint(["pause", "--clean"]).success();
}

fn restored(world: &World) {
    world.file("d", "file\n");
    commit_ignoring(world);
    make_directory(world);
    world.checkpoint(["save", "-m", "directory"]).success();
    fs::remove_dir_all(world.path("d")).unwrap();
    world.file("d", "file\n");
    world.checkpoint(["restore", "@"]).success();
}

#[cfg(unix)]
fn restored_over_symlink(world: &World) {
    world.file("real/x", "x\n");
    std::os::unix::fs::symlink("real", world.path("d")).unwrap();
    commit_ignoring(world);
    make_directory(world);
    world.checkpoint(["save", "-m", "directory"]).success();
    fs::remove_dir_all(world.path("d")).unwrap();
    std::os::unix::fs::symlink("real", world.path("d")).unwrap();
    world.checkpoint(["restore", "@"]).success();
}

/// A redo that puts a file where its undo had put a directory.
fn undone(world: &World) {
    world.file("d", "file\n");
    commit_ignoring(world);
    world.checkpoint(["save", "-m", "file"]).success();
    make_directory(world);
    world.checkpoint(["restore", "@"]).success();
    world.checkpoint(["undo"]).success();
}

/// A conflict elsewhere, with a directory of the other side.
fn in_conflict(world: &World) {
    world.file("d", "file\n");
    world.file("c", "base\n");
    commit_ignoring(world);
    make_directory(world);
    world.file("c", "saved\n");
    world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
    fs::remove_dir_all(world.path("d")).unwrap();
    world.git(["checkout", "-q", "--", "."]).success();
    world.file("c", "of now\n");
}

fn apply_in_conflict(world: &World) {
    in_conflict(world);
    world.git(["commit", "-qam", "of now"]).success();
    world.checkpoint(["apply", "s"]).code(1);
}

fn merge_in_conflict(world: &World) {
    world.file("d", "file\n");
    world.file("c", "base\n");
    world.file(".gitignore", IGNORED);
    world.commit_and_fork();
    world.enter("t");
    make_directory(world);
    world.file("c", "theirs\n");
    world.checkpoint(["save", "-m", "theirs"]).success();
    world.enter("repo");
    world.file("c", "ours\n");
    world.checkpoint(["merge", "t"]).code(1);
}

const CASES: &[Case] = &[
    Case {
        name: "undo of a resume",
        forth: resumed,
        back: &["undo"],
        again: &["redo"],
    },
    Case {
        name: "undo of an apply",
        forth: applied,
        back: &["undo"],
        again: &["redo"],
    },
    Case {
        name: "undo of a pause",
        // The directory is HEAD's: the file is what was put aside.
        forth: paused,
        back: &["undo"],
        again: &["redo"],
    },
    Case {
        name: "undo of a restore",
        forth: restored,
        back: &["undo"],
        again: &["redo"],
    },
    #[cfg(unix)]
    Case {
        name: "undo of a restore over a symlink",
        forth: restored_over_symlink,
        back: &["undo"],
        again: &["redo"],
    },
    Case {
        name: "redo",
        forth: undone,
        back: &["redo"],
        again: &["undo"],
    },
    Case {
        name: "abort of an apply",
        forth: apply_in_conflict,
        back: &["apply", "--abort"],
        again: &["redo"],
    },
    Case {
        name: "abort of a merge",
        forth: merge_in_conflict,
        back: &["merge", "--abort"],
        again: &["redo"],
    },
];

/// Something that comes later, and whether a forced way back may take it.
const LATER: &[(&str, &str, bool)] = &[
    ("d/later.c", "later\n", true),
    ("d/deep/er/later.c", "later\n", true),
    ("d/build/o", "object\n", true),
    ("d/x.ign", "ignored\n", true),
    ("d/.env", SECRET, false),
    ("d/prod.env", SECRET, false),
];

fn objects(world: &World) -> String {
    world.git_line([
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname)",
        "--unordered",
    ])
}

fn is_directory(world: &World) -> bool {
    world.path("d").symlink_metadata().unwrap().is_dir()
}

#[test]
fn what_came_later_is_not_deleted_on_a_way_back() {
    for case in CASES {
        for (path, text, _) in LATER {
            let world = World::with_commit();
            (case.forth)(&world);
            let label = format!("{}, {path}", case.name);
            assert!(is_directory(&world), "{label}");
            world.file(path, text);
            let refused = world.checkpoint(case.back);
            assert!(!refused.is_success(), "{label}: {}", refused.stdout());
            refused.stderr_has(path);
            // The directory of an ignored file is not named beside it.
            refused.stderr_lacks("d/build\n");
            assert_eq!(world.read(path), text.as_bytes(), "{label}");
            assert_eq!(world.read("d/main.c"), b"src\n", "{label}");
            // Nothing of an ignored file is stored.
            let blob = world.command("git", ["hash-object", "--stdin"]).input(*text).run();
            if !["d/later.c", "d/deep/er/later.c"].contains(path) {
                let blob = blob.success().stdout().trim().to_owned();
                assert!(!objects(&world).contains(&blob), "{label}");
            }
        }
    }
}

#[test]
fn a_forced_way_back_and_the_other_way_bring_what_came_later() {
    for case in CASES {
        for (path, text, may_go) in LATER {
            let world = World::with_commit();
            (case.forth)(&world);
            let label = format!("{}, {path}", case.name);
            world.file(path, text);
            let forced = world.checkpoint([case.back, &["--force"]].concat());
            assert_eq!(forced.is_success(), *may_go, "{label}: {}", forced.stderr());
            if !may_go {
                assert_eq!(world.read(path), text.as_bytes(), "{label}");
                let blob = world.command("git", ["hash-object", "--stdin"]).input(*text).run();
                let blob = blob.success().stdout().trim().to_owned();
                assert!(!objects(&world).contains(&blob), "{label}");
                continue;
            }
            for round in 1..=2 {
                assert!(!is_directory(&world), "{label} {round}");
                world.checkpoint(case.again).success();
                assert_eq!(world.read(path), text.as_bytes(), "{label} {round}");
                assert_eq!(world.read("d/main.c"), b"src\n", "{label} {round}");
                world
                    .checkpoint(if case.again == ["redo"] { ["undo"] } else { ["redo"] })
                    .success();
            }
        }
    }
}

/// An empty directory and a repository are in the way as well.
#[test]
fn later_directories_and_repositories_stay() {
    for case in CASES {
        let world = World::with_commit();
        (case.forth)(&world);
        fs::create_dir_all(world.path("d/new/er")).unwrap();
        assert!(!world.checkpoint(case.back).is_success(), "{}", case.name);
        assert!(world.path("d/new/er").is_dir(), "{}", case.name);
        fs::remove_dir_all(world.path("d/new")).unwrap();
        world.git(["init", "-q", "d/sub"]).success();
        world.file("d/sub/x", "x\n");
        for force in [&[][..], &["--force"]] {
            assert!(
                !world.checkpoint([case.back, force].concat()).is_success(),
                "{}",
                case.name
            );
            assert_eq!(world.read("d/sub/x"), b"x\n", "{}", case.name);
        }
        fs::remove_dir_all(world.path("d/sub")).unwrap();
        world.checkpoint(case.back).success();
        assert!(!is_directory(&world), "{}", case.name);
    }
}

/// A file beyond the size limit is saved only on the user's word, and that is said.
#[test]
fn a_large_file_in_the_way_is_named() {
    let world = World::with_commit();
    resumed(&world);
    world.git(["config", "checkpoint.maxFileSize", "1k"]).success();
    world.file("d/big.ign", vec![b'x'; 5000]);
    world.checkpoint(["undo"]).code(4);
    let forced = world.checkpoint(["undo", "--force"]);
    forced.success().stderr_has("'d/big.ign' was in the way");
    world.checkpoint(["redo"]).success();
    assert_eq!(world.read("d/big.ign").len(), 5000);
}

/// The same for a command that does not go back: what is a secret is no more stored than in a save.
#[test]
fn a_forced_restore_stores_no_secret() {
    let world = World::with_commit();
    world.file("d", "file\n");
    commit_ignoring(&world);
    world.checkpoint(["save", "-m", "file"]).success();
    make_directory(&world);
    for path in ["d/.env", "d/prod.env"] {
        world.file(path, SECRET);
        let refused = world.checkpoint(["restore", "@", "--force"]);
        refused.code(4).stderr_has("secret").stderr_lacks("ignored, so");
        let blob = world.command("git", ["hash-object", "--stdin"]).input(SECRET).run();
        assert!(!objects(&world).contains(blob.success().stdout().trim()), "{path}");
        fs::remove_file(world.path(path)).unwrap();
    }
}
