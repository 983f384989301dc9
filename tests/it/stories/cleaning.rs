//! `pause --clean` where something is in its way, in a sparse checkout and in another working tree, and what brings its work
//! back.

use crate::support::World;

/// A file that is ignored now lies where HEAD has another one.
fn in_the_way() -> World {
    let world = World::with_commit();
    world.file("build", "committed\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "build"]).success();
    world.git(["rm", "-q", "build"]).success();
    world.file(".gitignore", "build\n");
    world.file("build", "mine\n");
    world
}

#[test]
fn a_cleaning_that_is_refused_saves_nothing_and_names_a_way() {
    let world = in_the_way();
    for _ in 0..2 {
        world
            .checkpoint(["pause", "--clean"])
            .code(4)
            .no_stdout()
            .stderr_has("build  ignored")
            .stderr_has("move these files away first")
            .stderr_lacks("to proceed anyway");
        assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints/"]), "");
        assert_eq!(world.read("build"), b"mine\n");
    }
    // Each way that it names works.
    world.checkpoint(["pause"]).success();
    std::fs::rename(world.path("build"), world.path("../build")).unwrap();
    world.checkpoint(["pause", "--clean"]).success();
    assert_eq!(world.read("build"), b"committed\n");
    assert_eq!(world.git_line(["status", "--porcelain"]), "");
}

#[test]
fn outside_of_a_sparse_checkout_nothing_is_written() {
    for cone in ["--cone", "--no-cone"] {
        let world = World::new();
        for path in ["p/1", "q/1", "q/2", "q/d/3"] {
            world.file(path, path);
        }
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "files"]).success();
        world.git(["sparse-checkout", "set", cone, "p"]).success();
        let clean = world.git_line(["ls-files", "-v"]);
        world.git(["rm", "-rq", "--cached", "--sparse", "q/2", "q/d"]).success();
        world.git(["rm", "-q", "--cached", "p/1"]).success();
        world.file("p/1", "changed");
        world.checkpoint(["pause", "--clean", "-qm", "aside"]).success();
        assert_eq!(world.git_line(["ls-files", "-v"]), clean, "{cone}");
        assert!(!world.path("q").exists(), "{cone}");
        assert_eq!(world.git_line(["status", "--porcelain"]), "");
        world.checkpoint(["resume", "--apply", "--brief"]).success();
        assert_eq!(
            world.git_line(["diff", "--cached", "--name-status"]),
            "D\tp/1\nD\tq/2\nD\tq/d/3",
            "{cone}"
        );
        assert_eq!(world.read("p/1"), b"changed");
        assert!(!world.path("q").exists(), "{cone}");
    }
}

/// Whether nothing is saved and the lock is as it was.
fn is_untouched(world: &World) -> bool {
    world.git_line(["for-each-ref", "refs/checkpoints/"]).is_empty() && world.path(".git/index.lock").exists()
}

#[test]
fn an_index_that_cannot_be_locked_is_found_out_before_anything_is_saved() {
    let world = World::with_commit();
    world.file("README.md", "staged\n");
    world.git(["add", "README.md"]).success();
    world.file("new", "mine\n");
    world.file(".git/index.lock", "");
    world.git(["config", "checkpoint.lockTimeout", "1s"]).success();
    for args in [&["pause", "--clean"][..], &["pause", "--clean", "--json"]] {
        let refused = world.checkpoint(args);
        refused.stderr_has("cannot lock the index").no_stdout();
        assert!(!refused.is_success() && is_untouched(&world), "{refused}");
    }
    assert_eq!(
        (world.read("README.md"), world.read("new")),
        (b"staged\n".to_vec(), b"mine\n".to_vec())
    );
    world.checkpoint(["pause", "--clean", "--dry-run"]).success();
    assert!(is_untouched(&world));
    std::fs::remove_file(world.path(".git/index.lock")).unwrap();
    world.checkpoint(["pause", "--clean"]).success();
    assert_eq!(world.git_line(["status", "--porcelain"]), "");
    // Where the index stays as it is, its lock is no obstacle.
    world.file("new", "mine\n");
    world.file(".git/index.lock", "");
    world.checkpoint(["pause", "--clean"]).success();
    assert!(!world.path("new").exists() && world.path(".git/index.lock").exists());
}

/// What the own hook of a push does comes between the save and the cleaning.
#[test]
fn a_cleaning_that_fails_after_the_save_says_how_to_go_on() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../remote.git"]).success();
    world.git(["config", "checkpoint.lockTimeout", "1s"]).success();
    world.git(["remote", "add", "origin", "../remote.git"]).success();
    world.file(".git/hooks/pre-push", "#!/bin/sh\n: >.git/index.lock\n");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.path(".git/hooks/pre-push"), executable).unwrap();
    world.file("README.md", "staged\n");
    world.git(["add", "README.md"]).success();
    let failed = world.checkpoint(["pause", "--clean", "--push", "--session", "s", "-m", "mine"]);
    failed
        .stderr_has("cannot lock the index")
        .stderr_has("session 's' is saved and paused, but the working tree is not cleaned")
        .stderr_has("git checkpoint pause --clean")
        .stderr_has("git checkpoint resume s");
    assert!(!failed.is_success(), "{failed}");
    assert_eq!(world.read("README.md"), b"staged\n");
    assert_eq!(world.git_line(["show", "checkpoints/s^2:README.md"]), "staged");
    // Both commands work.
    std::fs::remove_file(world.path(".git/index.lock")).unwrap();
    std::fs::remove_file(world.path(".git/hooks/pre-push")).unwrap();
    world.checkpoint(["pause", "--clean"]).success();
    assert_eq!(world.git_line(["status", "--porcelain"]), "");
    world.checkpoint(["resume", "s", "--apply"]).success();
    assert_eq!(world.git_line(["status", "--porcelain"]), "M  README.md");
}

/// Rules that this working tree put aside are its user's own; those of another one are not.
#[test]
fn filters_that_were_put_aside_here_run_again() {
    for commits in [false, true] {
        let world = World::with_commit();
        world.git(["config", "filter.f.clean", "sed s/l/L/"]).success();
        world.git(["config", "filter.f.smudge", "sed s/L/l/"]).success();
        world.file(".gitattributes", "*.bin filter=f\n");
        world.file("v.bin", "all\n");
        world.checkpoint(["pause", "--clean", "--session", "s"]).success();
        assert!(!world.path("v.bin").exists());
        world.file("o", "o\n");
        if commits {
            world.git(["add", "o"]).success();
            world.git(["commit", "-qm", "o"]).success();
        }
        world.checkpoint(["save", "--session", "s", "-m", "x"]).success();
        let clone = world.command("git", ["clone", "-q", ".", "../clone"]).run();
        clone.success();
        world.checkpoint(["resume", "s", "--apply"]).success();
        assert_eq!(world.read("v.bin"), b"all\n", "{commits}");
        // Elsewhere nobody has seen the rules.
        world.enter("clone");
        world
            .git(["fetch", "-q", "origin", "refs/checkpoints/*:refs/checkpoints/*"])
            .success();
        world.git(["config", "filter.f.clean", "sed s/l/L/"]).success();
        world.git(["config", "filter.f.smudge", "sed s/L/l/"]).success();
        world
            .checkpoint(["apply", "s~1", "--index"])
            .code(4)
            .stderr_has("would run the filter 'f' on it");
        assert!(!world.path("v.bin").exists());
    }
}

/// What `resume --apply` brings is what the output names that has this command, also where a session is saved in two working
/// trees.
#[test]
fn the_command_beside_work_that_is_put_aside_brings_it() {
    let world = World::with_commit();
    world.file("wa", "a\n");
    world
        .checkpoint(["pause", "--clean", "--session", "s", "-m", "in a"])
        .success();
    world.git(["worktree", "add", "-q", "../b", "-b", "b"]).success();
    world.enter("b");
    world.checkpoint(["resume", "s"]).success();
    world.file("wb", "b\n");
    world.checkpoint(["pause", "--clean", "-m", "in b"]).success();
    world.enter("repo");
    let rows = |world: &World| {
        let status = world.checkpoint(["status", "--json"]).success().stdout_json();
        let rows = status["put_aside"].as_array().unwrap().clone();
        let row = |row: &serde_json::Value| {
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            (text("subject"), text("command"))
        };
        rows.iter().map(row).collect::<Vec<_>>()
    };
    // What was saved last comes first with 'resume', and it was never here.
    let listed = rows(&world);
    assert_eq!(listed.len(), 1, "{listed:?}");
    let (subject, command) = &listed[0];
    assert_eq!(subject, "in a");
    let words: Vec<_> = command.strip_prefix("git checkpoint ").unwrap().split(' ').collect();
    world.checkpoint(words).success();
    assert!(world.path("wa").exists() && !world.path("wb").exists(), "{command}");
    world.checkpoint(["undo"]).success();
    world.checkpoint(["resume", "s", "--apply"]).success();
    assert!(world.path("wb").exists() && !world.path("wa").exists());
    // Now it does bring that.
    let listed = rows(&world);
    assert_eq!(
        listed[0],
        ("in a".to_owned(), "git checkpoint resume s --apply".to_owned())
    );
    world.checkpoint(["resume", "s", "--apply"]).success();
    assert!(world.path("wa").exists() && world.path("wb").exists());
}
