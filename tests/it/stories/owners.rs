//! Root in a user's repository (`sudo`, a container) leaves nothing that locks the user out, and what is another user's
//! is reported with the command that takes it over.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::support::{World, as_nobody, unprivileged};

/// The paths that root owns at or below a path.
fn of_root(path: &Path, found: &mut Vec<PathBuf>) {
    let metadata = fs::symlink_metadata(path).unwrap();
    if metadata.uid() == 0 {
        found.push(path.to_owned());
    }
    if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            of_root(&entry.unwrap().path(), found);
        }
    }
}

#[test]
fn what_root_makes_belongs_to_the_user() {
    let world = World::with_commit();
    // Gives everything to nobody.
    let Some(first) = as_nobody(&world, ["start", "s"]) else {
        return;
    };
    first.success();
    world
        .git(["config", "--file", ".git/config", "safe.directory", "*"])
        .success();
    let trusted = |args: &[&str]| {
        let run = world
            .command(crate::support::PROGRAM, args)
            .env("GIT_CONFIG_COUNT", "1");
        run.env("GIT_CONFIG_KEY_0", "safe.directory")
            .env("GIT_CONFIG_VALUE_0", "*")
            .run()
    };
    world.file("new", "one");
    for line in [
        &["save", "-m", "one"][..],
        &["todo", "add", "something"],
        &["message", "add", "--role", "user", "hello"],
        &["pin", "@"],
        &["save", "-m", "two", "--allow-empty"],
        &["watch", "--once"],
        &["restore", "@~1", "--force"],
        &["undo"],
        &["rename", "s", "other"],
        &["prune", "--keep-last", "1", "--force"],
        &["prune", "--trash"],
        &["verify", "--all"],
        &["fork", "@", "--name", "forked", "--worktree", "../forked"],
        &["export", "--commit", "branch-of-it"],
        &["hooks", "install"],
        &["fork", "--remove", "forked"],
    ] {
        trusted(line).success();
        let mut found = Vec::new();
        of_root(&world.path(".git"), &mut found);
        let forked = world.path("../forked");
        if forked.exists() {
            of_root(&forked, &mut found);
        }
        // git's own programs, which we start, leave what root leaves anyhow.
        found.retain(|path| !path.starts_with(world.path(".git/config")));
        assert_eq!(found, Vec::<PathBuf>::new(), "after {line:?}");
    }
}

#[test]
fn what_root_left_before_is_no_obstacle_to_reading() {
    let world = World::with_commit();
    let Some(first) = as_nobody(&world, ["start", "s"]) else {
        return;
    };
    first.success();
    world.file("new", "one");
    as_nobody(&world, ["save", "-m", "one"]).unwrap().success();
    let own = world.path(".git/checkpoint");
    world
        .command("chown", ["-R", "0:0", own.to_str().unwrap()])
        .run()
        .success();
    world
        .command("chmod", ["-R", "go=", own.to_str().unwrap()])
        .run()
        .success();
    let take_over = "sudo chown -R \"$(id -u):$(id -g)\" '";
    for line in [
        &["list"][..],
        &["log", "s"],
        &["show", "s"],
        &["diff", "s~1", "s"],
        &["status"],
        &["verify", "--all"],
        &["export", "--format", "markdown", "s"],
    ] {
        let output = unprivileged(&world, line).run();
        output.success();
        // One note, where there is anything that is not known.
        let notes = output.stderr().matches(take_over).count();
        let asks = matches!(line[0], "list" | "status");
        assert!(notes <= 1 && (notes == 1 || !asks), "{line:?}: {}", output.stderr());
    }
    for line in [
        &["save", "-m", "x"][..],
        &["todo", "add", "x"],
        &["finish"],
        &["switch", "s"],
    ] {
        unprivileged(&world, line)
            .run()
            .code(128)
            .stderr_has("permission denied")
            .stderr_has(take_over);
    }
    world
        .command("chown", ["-R", "65534:65534", own.to_str().unwrap()])
        .run()
        .success();
    unprivileged(&world, ["save", "-m", "again", "--allow-empty"])
        .run()
        .success();
}

#[test]
fn trust_by_the_environment_or_an_option_counts_in_every_command() {
    let world = World::with_commit();
    let Some(first) = as_nobody(&world, ["start", "s"]) else {
        return;
    };
    first.success();
    world
        .command("chown", ["-R", "65534:65534", world.root().to_str().unwrap()])
        .run()
        .success();
    let place = world.repo().canonicalize().unwrap();
    let place = place.to_str().unwrap();
    let commands: [&[&str]; 12] = [
        &["list"],
        &["log"],
        &["show"],
        &["status"],
        &["save", "--allow-empty", "-m", "y"],
        &["resume"],
        &["restore", "@", "-n"],
        &["todo", "add", "t"],
        &["verify", "--all"],
        &["diff"],
        &["watch", "--once"],
        &["prune", "-n", "--keep-last", "1"],
    ];
    let above = format!("{}/*", world.root().canonicalize().unwrap().display());
    for line in commands {
        for value in [place, "*", &above] {
            let run = world
                .command(crate::support::PROGRAM, line)
                .env("GIT_CONFIG_COUNT", "1");
            let run = run
                .env("GIT_CONFIG_KEY_0", "safe.directory")
                .env("GIT_CONFIG_VALUE_0", value)
                .run();
            run.success().stderr_lacks("dubious ownership");
        }
        let option = format!("safe.directory={place}");
        let all: Vec<&str> = ["-c", &option, "checkpoint"]
            .into_iter()
            .chain(line.iter().copied())
            .collect();
        world
            .command("git", all)
            .run()
            .success()
            .stderr_lacks("dubious ownership");
        // Without it, and where a later value takes it back.
        world.checkpoint(line).code(128).stderr_has("dubious ownership");
        let all: Vec<&str> = ["-c", &option, "-c", "safe.directory=", "checkpoint"]
            .into_iter()
            .chain(line.iter().copied())
            .collect();
        world
            .command("git", all)
            .run()
            .code(128)
            .stderr_has("dubious ownership");
    }
}

/// Root meets a repository on a read-only mount, as in a container, and keeps its sessions elsewhere: the store is the user's.
#[test]
fn a_store_that_root_makes_belongs_to_the_user() {
    let world = World::with_commit();
    let Some(first) = as_nobody(&world, ["--version"]) else {
        return;
    };
    first.success();
    let store = world.root().join("store");
    let program = crate::support::PROGRAM;
    let script = "mount --bind .git .git && mount -o remount,ro,bind .git || exit 77; exec \"$@\"";
    let contained = |args: &[&str]| {
        let mut all = vec!["-m", "sh", "-c", script, "sh", program];
        all.extend(args);
        world
            .command("unshare", all)
            .env("GIT_CONFIG_COUNT", "2")
            .env("GIT_CONFIG_KEY_0", "safe.directory")
            .env("GIT_CONFIG_VALUE_0", "*")
            .env("GIT_CONFIG_KEY_1", "checkpoint.store")
            .env("GIT_CONFIG_VALUE_1", &store)
            .run()
    };
    if contained(&["--version"]).status().code() != Some(0) {
        eprintln!("skipped: needs mounts");
        return;
    }
    world.file("new", "one");
    for line in [
        &["save", "--session", "s", "-m", "one"][..],
        &["todo", "add", "something"],
        &["save", "-m", "two", "--allow-empty"],
        &["restore", "s~1", "--force"],
        &["undo"],
        &["fork", "s", "--name", "f"],
        &["verify", "--all"],
    ] {
        contained(line).success();
        let mut found = Vec::new();
        of_root(&store, &mut found);
        assert_eq!(found, Vec::<PathBuf>::new(), "after {line:?}");
    }
}

#[test]
fn a_directory_that_may_not_be_written_is_the_cause_that_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::with_commit();
    world.file("ro/a", "committed\n");
    world.git(["add", "ro"]).success();
    world.git(["commit", "-qm", "ro"]).success();
    world.file("ro/a", "changed\n");
    world.file("new", "untracked\n");
    let mode = |mode| fs::set_permissions(world.path("ro"), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    let Some(failed) = as_nobody(&world, ["pause", "--clean"]) else {
        return;
    };
    let cause = format!(
        "hint: directory '{0}' may not be written; to make it writable: chmod -R u+w {0}\n",
        world.path("ro").display()
    );
    failed.code(128).stderr_has(&cause).stderr_has("is saved and paused");
    // Only what can be done now is suggested.
    failed.stderr_lacks("pause --clean").stderr_lacks("resume");
    as_nobody(&world, ["restore", "--continue"])
        .unwrap()
        .code(128)
        .stderr_has(&cause);
    assert_eq!(world.read("ro/a"), b"changed\n");
    mode(0o755);
    as_nobody(&world, ["restore", "--continue"]).unwrap().success();
    assert_eq!(world.read("ro/a"), b"committed\n");
    assert!(!world.path("new").exists());
    // And back: there the same holds.
    mode(0o555);
    let failed = as_nobody(&world, ["resume", "--apply"]).unwrap();
    failed.code(128).stderr_has(&cause);
    mode(0o755);
    as_nobody(&world, ["restore", "--continue"]).unwrap().success();
    assert_eq!(world.read("ro/a"), b"changed\n");
    assert_eq!(world.read("new"), b"untracked\n");
}
