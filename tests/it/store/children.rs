//! Git children: they run nothing of the user's, see the repository they are reported, and do not outlive us.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use git_checkpoint::git::{Error, Git};
use git_checkpoint::store;

use super::{actor, open};
use crate::support::World;

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn nothing_of_the_users_runs() {
    let world = World::with_commit();
    let canary = world.root().join("canary");
    let touch = format!("echo \"$0\" >> {}", canary.display());
    for hook in [
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-commit",
        "fsmonitor",
    ] {
        script(&world.path(format!(".git/hooks/{hook}")), &touch);
    }
    world
        .git([
            "config",
            "core.fsmonitor",
            world.path(".git/hooks/fsmonitor").to_str().unwrap(),
        ])
        .success();
    world
        .git(["config", "core.hooksPath", world.path(".git/hooks").to_str().unwrap()])
        .success();
    world.git(["status"]).success();
    assert!(canary.exists(), "the trap works");
    fs::remove_file(&canary).unwrap();
    let repo = open(&world);
    let index = fs::read(world.path(".git/index")).unwrap();
    world.file("README.md", "changed\n");
    let status = store::git(&repo).args(["status", "--porcelain"]).text().unwrap();
    assert_eq!(status, " M README.md");
    store::git(&repo)
        .args(["update-ref", "refs/checkpoints/x", "HEAD"])
        .run()
        .unwrap();
    assert!(!canary.exists(), "{}", fs::read_to_string(&canary).unwrap());
    assert_eq!(
        fs::read(world.path(".git/index")).unwrap(),
        index,
        "no optional lock, no refreshed index"
    );
    store::git(&repo)
        .user_hooks()
        .args(["update-ref", "refs/checkpoints/x", "HEAD~0"])
        .run()
        .unwrap();
}

#[test]
fn the_callers_repository_variables_do_not_leak() {
    let world = World::with_commit();
    let vars = [
        "GIT_DIR=/nowhere",
        "GIT_INDEX_FILE=/nowhere",
        "GIT_OBJECT_DIRECTORY=/nowhere",
        "GIT_PREFIX=x/",
        "GIT_NAMESPACE=n",
    ];
    let under: Vec<_> = ["env"]
        .iter()
        .chain(&vars)
        .copied()
        .chain(["GIT_CONFIG_PARAMETERS='x.y'='kept'"])
        .collect();
    let told = actor::start_under(&world, &under, "child").finish().unwrap();
    assert_eq!(
        told,
        format!("{} kept", world.path(".git").canonicalize().unwrap().display())
    );
}

#[test]
fn input_and_output_of_any_size_go_through() {
    let world = World::with_commit();
    let repo = open(&world);
    let id = world.git_line(["rev-parse", "HEAD"]);
    // More than two pipes hold, both ways at once.
    let questions = format!("{id}\n").repeat(50_000);
    let output = store::git(&repo)
        .args(["cat-file", "--batch-check"])
        .input(questions)
        .run()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 50_000);
    // A child that does not read its input is no failure.
    let version = Git::outside().arg("version").input(vec![b'x'; 1 << 20]).text().unwrap();
    assert!(version.starts_with("git version "));
}

#[test]
fn a_failure_carries_what_git_said() {
    let world = World::with_commit();
    let repo = open(&world);
    let error = store::git(&repo)
        .args(["rev-parse", "--verify", "nothing"])
        .run()
        .unwrap_err();
    let Error::Failed { code: Some(128), .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(
        error.to_string(),
        "'git rev-parse --verify nothing' failed with status 128: fatal: Needed a single revision"
    );
    let quiet = store::git(&repo)
        .args(["rev-parse", "--verify", "--quiet", "nothing"])
        .accept([1])
        .run()
        .unwrap();
    assert_eq!(quiet.code, 1);
}

#[test]
fn an_exchange_can_be_held_and_a_dropped_child_dies() {
    let world = World::with_commit();
    let repo = open(&world);
    let mut child = store::git(&repo).args(["cat-file", "--batch-check"]).start().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    writeln!(child.stdin.as_mut().unwrap(), "HEAD").unwrap();
    let mut answer = String::new();
    answers.read_line(&mut answer).unwrap();
    assert!(answer.contains(" commit "), "{answer}");
    assert_eq!(child.finish().unwrap().code, 0);
    let started = Instant::now();
    let hanging = store::git(&repo).args(["cat-file", "--batch"]).start().unwrap();
    drop(hanging);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_program_in_the_current_directory_is_not_run() {
    let world = World::with_commit();
    let canary = world.root().join("canary");
    script(&world.path("git"), &format!("touch {}", canary.display()));
    let path = format!("PATH=.::relative:{}", std::env::var("PATH").unwrap());
    let told = actor::start_under(&world, &["env", &path], "child").finish();
    assert!(told.is_ok(), "{told:?}");
    assert!(!canary.exists());
}
