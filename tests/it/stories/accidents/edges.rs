//! More of E-08 to E-60: directories and object stores that are not the usual ones, what `git clean` would take, pathspecs
//! that `git add` stumbles over, and edits where a sparse checkout has nothing.

use std::fs;
use std::os::unix::fs::symlink;

use super::{chmod, done, exists, save, saved, text};
use crate::support::{PROGRAM, World, as_nobody};

#[test]
fn e31d_a_directory_that_may_not_be_changed_costs_its_files_only() {
    let world = saved(&[("d/f", "then d"), ("e/f", "then e"), (".git/info/exclude", "")]);
    world.file("d/f", "now d");
    world.file("e/f", "now e");
    chmod(&world, "d", 0o555);
    let Some(stopped) = as_nobody(&world, ["restore", "@"]) else {
        chmod(&world, "d", 0o755);
        return;
    };
    stopped
        .code(128)
        .stdout_has("d/f")
        .stdout_has("permission denied")
        .stderr_has("--continue");
    assert_eq!(text(&world, "d/f"), "now d");
    assert_eq!(text(&world, "e/f"), "then e");
    // As long as nothing changed it says so again.
    as_nobody(&world, ["restore", "--continue"])
        .unwrap()
        .code(128)
        .stdout_has("d/f");
    chmod(&world, "d", 0o755);
    as_nobody(&world, ["restore", "--continue"]).unwrap().success();
    assert_eq!(text(&world, "d/f"), "then d");
    as_nobody(&world, ["undo"]).unwrap().success();
    assert_eq!(
        (text(&world, "d/f"), text(&world, "e/f")),
        ("now d".into(), "now e".into())
    );
}

/// As for git itself, which moves them from there to the repository, or drops them.
#[test]
fn e41_objects_go_where_the_environment_says_and_are_whole_when_they_are_moved() {
    let world = saved(&[("a", "then")]);
    let own = world.root().join("quarantine");
    fs::create_dir(&own).unwrap();
    let run = |args: &[&str]| {
        world
            .command(PROGRAM, args)
            .env("GIT_OBJECT_DIRECTORY", &own)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", world.path(".git/objects"))
            .run()
            .success();
    };
    world.file("a", "now");
    run(&["save", "-m", "now"]);
    world.file("a", "later");
    run(&["restore", "@~1"]);
    assert_eq!(text(&world, "a"), "then");
    run(&["verify", "--all"]);
    run(&["undo"]);
    assert_eq!(text(&world, "a"), "later");
    let moved = [
        "-r".into(),
        own.join(".").into_os_string(),
        world.path(".git/objects").into_os_string(),
    ];
    world.command("cp", moved).run().success();
    fs::remove_dir_all(&own).unwrap();
    done(&world, &["verify", "--all"]);
    done(&world, &["restore", "@"]);
    assert_eq!(text(&world, "a"), "now");
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn e48_what_a_clean_would_take_along_stays() {
    let world = saved(&[("kept", "then"), (".gitignore", "ignored\n")]);
    for directory in ["new/inner", "alone"] {
        let path = world.path(directory);
        world.git(["init".as_ref(), "-q".as_ref(), path.as_os_str()]).success();
        world.file(format!("{directory}/work"), "of another repository");
    }
    world.file("new/file", "untracked");
    world.file("new/ignored", "ignored");
    done(&world, &["restore", "@", "--force"]);
    assert!(!exists(&world, "new/file"));
    assert_eq!(text(&world, "new/ignored"), "ignored");
    for directory in ["new/inner", "alone"] {
        assert_eq!(text(&world, &format!("{directory}/work")), "of another repository");
        assert!(exists(&world, &format!("{directory}/.git/HEAD")));
    }
    done(&world, &["undo"]);
    assert_eq!(text(&world, "new/file"), "untracked");
}

#[test]
fn e49_one_pathspec_costs_no_other() {
    let world = saved(&[
        ("d/f", "then d"),
        ("gone/f", "then gone"),
        ("plain", "then plain"),
        (".gitignore", "*.o\n"),
    ]);
    world.file("plain", "now");
    world.file("new.o", "ignored");
    fs::remove_dir_all(world.path("gone")).unwrap();
    fs::rename(world.path("d"), world.path("real")).unwrap();
    symlink("real", world.path("d")).unwrap();
    world.file("real/f", "now real");
    // Of what there is, saving takes all.
    save(&world, "linked");
    // An ignored file is in no checkpoint: a pathspec for it alone is refused before anything is done.
    let pathspecs = ["plain", "gone/f", "d/f", "new.o"];
    let refused = world.checkpoint([&["restore", "@~1", "--"], &pathspecs[..]].concat());
    refused.code(3).stderr_has("new.o");
    assert_eq!(text(&world, "plain"), "now");
    done(&world, &["restore", "@~1", "--force", "--", "plain", "gone/f", "d/f"]);
    assert_eq!(
        (text(&world, "plain"), text(&world, "gone/f"), text(&world, "d/f")),
        ("then plain".into(), "then gone".into(), "then d".into())
    );
    assert!(!fs::symlink_metadata(world.path("d")).unwrap().is_symlink());
    assert_eq!(text(&world, "real/f"), "now real");
    assert_eq!(text(&world, "new.o"), "ignored");
    done(&world, &["undo"]);
    assert_eq!(text(&world, "d/f"), "now real");
    assert!(!exists(&world, "gone/f"));
}

#[test]
fn e58_edits_where_a_sparse_checkout_has_nothing() {
    let world = World::with_commit();
    for name in ["in/a", "out/b", "out/c"] {
        world.file(name, "committed");
    }
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "two"]).success();
    world.git(["sparse-checkout", "set", "in"]).success();
    world.file("out/b", "edited then");
    save(&world, "then");
    world.file("out/b", "edited now");
    done(&world, &["restore", "@"]);
    assert_eq!(text(&world, "out/b"), "edited then");
    assert!(!exists(&world, "out/c"));
    done(&world, &["undo"]);
    assert_eq!(text(&world, "out/b"), "edited now");
    // Gone, it is what the sparse checkout leaves out: that is reported, and the edit is in the checkpoint still.
    fs::remove_dir_all(world.path("out")).unwrap();
    assert!(done(&world, &["restore", "@", "--dry-run"]).contains("out/b"));
    assert_eq!(
        world.git_line(["show", &format!("{}^2:out/b", session(&world))]),
        "edited then"
    );
    world.git(["sparse-checkout", "disable"]).success();
    done(&world, &["restore", "@"]);
    assert_eq!(text(&world, "out/b"), "edited then");
}

fn session(world: &World) -> String {
    world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints"])
}

/// git moves no refs either before it has accepted a push: their objects would go away with it.
#[test]
fn e41_nothing_is_saved_in_a_push_that_is_not_accepted_yet() {
    let world = saved(&[("a", "then")]);
    world.file("a", "now");
    let before = world.git(["for-each-ref"]).success().stdout().to_owned();
    let save = world
        .command(PROGRAM, ["save"])
        .env("GIT_QUARANTINE_PATH", world.path(".git/objects/tmp_objdir-incoming-x"));
    save.run()
        .code(128)
        .stderr_has("before git has accepted the push")
        .stderr_has("post-receive");
    assert_eq!(world.git(["for-each-ref"]).success().stdout(), before);
}
