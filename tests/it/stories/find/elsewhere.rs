//! All repositories of a user: noted when something is saved, gone through on request, forgotten when they are gone.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use crate::support::{PROGRAM, World};

fn list_file(world: &World) -> PathBuf {
    world.home().join(".local/state/git-checkpoint/repositories")
}

/// Two repositories with a session each.
fn world() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "first-session"]).success();
    world.checkpoint(["save", "-m", "the needle of the first"]).success();
    world.git(["init", "-q", "../other dir"]).success();
    world.enter("other dir");
    world.file("x.txt", "x\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "x"]).success();
    world.checkpoint(["start", "second-session"]).success();
    world.checkpoint(["save", "-m", "the needle of the second"]).success();
    world
}

#[test]
fn sessions_of_all_repositories_are_listed_searched_and_proposed() {
    let world = world();
    let text = fs::read_to_string(list_file(&world)).unwrap();
    let root = world.root().canonicalize().unwrap();
    assert_eq!(text, format!("{0}/repo\n{0}/other dir\n", root.display()));
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(list_file(&world)), 0o600);
    assert_eq!(mode(list_file(&world).parent().unwrap().to_owned()), 0o700);
    world.command("mkdir", ["../nowhere"]).run().success();
    world.enter("nowhere");
    let listed = world
        .checkpoint(["list", "--all-repos", "--json"])
        .success()
        .stdout_json();
    let rows: Vec<_> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["session"].as_str().unwrap(),
                row["repository"].as_str().unwrap().rsplit('/').next().unwrap(),
            )
        })
        .collect();
    assert_eq!(rows, [("second-session", "other dir"), ("first-session", "repo")]);
    world
        .checkpoint(["list", "--all-repos"])
        .success()
        .stdout_has("REPOSITORY");
    let found = world.checkpoint(["search", "needle", "--all-repos"]);
    found.success().stdout_has("of the first").stdout_has("of the second");
    // Outside of a repository, and in the wrong one, resume says where the session is.
    world
        .checkpoint(["resume"])
        .code(128)
        .stderr_has("other dir' && git checkpoint resume second-session")
        .stderr_has("repo && git checkpoint resume first-session");
    world.enter("repo");
    world
        .checkpoint(["resume", "second-session"])
        .code(3)
        .stderr_has("other dir' && git checkpoint resume second-session")
        .stderr_lacks("resume first-session");
}

#[test]
fn repositories_that_are_gone_are_reported_and_forgotten() {
    let world = world();
    fs::rename(world.path("../repo"), world.path("../moved")).unwrap();
    let listed = world.checkpoint(["list", "--all-repos"]);
    listed
        .success()
        .stderr_has("/repo is no longer a repository")
        .stdout_lacks("first-session");
    world
        .checkpoint(["list", "--all-repos"])
        .success()
        .stderr_lacks("not a repository");
    // It is known again as soon as something is saved there.
    world.enter("moved");
    world.file("y.txt", "y\n");
    world.checkpoint(["save", "-m", "moved"]).success();
    world
        .checkpoint(["list", "--all-repos"])
        .success()
        .stdout_has("first-session");
    // A directory within another repository is none of its own.
    world.git(["init", "-q", "."]).success();
    fs::remove_dir_all(world.path("../other dir/.git")).unwrap();
    world.git(["init", "-q", ".."]).success();
    world
        .checkpoint(["list", "--all-repos"])
        .success()
        .stderr_has("other dir' is no longer a repository");
}

#[test]
fn one_setting_turns_the_list_off() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.repositoryList", "off"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    assert!(!list_file(&world).exists());
    world.git(["config", "checkpoint.repositoryList", "on"]).success();
    world.file("a.txt", "a\n");
    world.checkpoint(["save", "-m", "two"]).success();
    assert!(list_file(&world).exists());
    // Turned off later, it is forgotten.
    world.git(["config", "checkpoint.repositoryList", "off"]).success();
    world.file("a.txt", "b\n");
    world.checkpoint(["save", "-m", "three"]).success();
    assert_eq!(fs::read_to_string(list_file(&world)).unwrap(), "");
    // Another state directory, and what only reads notes nothing.
    let state = world.root().join("state");
    world
        .command(PROGRAM, ["list"])
        .env("XDG_STATE_HOME", &state)
        .run()
        .success();
    assert!(!state.exists());
    world.git(["config", "checkpoint.repositoryList", "on"]).success();
    world.file("a.txt", "c\n");
    world
        .command(PROGRAM, ["save", "-m", "four"])
        .env("XDG_STATE_HOME", &state)
        .run()
        .success();
    assert!(state.join("git-checkpoint/repositories").exists());
}

#[test]
fn one_damaged_repository_hides_no_other() {
    let world = world();
    let file = |name: &str| world.root().join("repo/.git").join(name);
    // One that has lost its HEAD can be read.
    let head = fs::read(file("HEAD")).unwrap();
    fs::write(file("HEAD"), "x\n").unwrap();
    let both = world.checkpoint(["list", "--all-repos"]);
    both.success().stdout_has("first-session").stdout_has("second-session");
    fs::write(file("HEAD"), head).unwrap();
    fs::write(file("config"), "[core\n").unwrap();
    for line in [&["list", "--all-repos"][..], &["list", "--all-repos", "--size"]] {
        let out = world.checkpoint(line);
        out.success()
            .stdout_has("second")
            .stderr_has("cannot read ")
            .stderr_has("/repo");
    }
    let listed = world
        .checkpoint(["list", "--all-repos", "--json"])
        .success()
        .stdout_json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    let found = world.checkpoint(["search", "needle", "--all-repos"]);
    found.success().stdout_has("of the second").stderr_has("cannot read ");
    // What is wrong with the call itself is one error.
    world.checkpoint(["search", "a\\(b", "--all-repos"]).code(129);
}
