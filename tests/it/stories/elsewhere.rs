//! `checkpoint.store`: sessions in a directory elsewhere, where the repository's own cannot be written.

use crate::support::{Output, World, as_nobody, unprivileged};

/// Lets everybody write in the working tree, and root alone in the repository's own directory; `None` where that cannot be.
fn sandbox() -> Option<World> {
    let world = World::with_commit();
    world
        .git(["init", "--quiet", "--bare", "--initial-branch=main", "../there.git"])
        .success();
    world.git(["remote", "add", "origin", "../there.git"]).success();
    world
        .git(["push", "--quiet", "origin", "HEAD:refs/heads/main"])
        .success();
    world.git(["branch", "side"]).success();
    as_nobody(&world, ["--version"])?.success();
    let (all, own) = (world.root().to_path_buf(), world.path(".git"));
    for (program, options, path) in [
        ("chown", "0:0", &all),
        ("chmod", "a+rwX", &all),
        ("chmod", "go-w", &own),
    ] {
        world
            .command(program, ["-R", options, &path.to_string_lossy()])
            .run()
            .success();
    }
    remote_of(&world, "65534:65534");
    Some(world)
}

/// git asks whose the repository is that it pushes to.
fn remote_of(world: &World, owner: &str) {
    let path = world.root().join("there.git").to_string_lossy().into_owned();
    world.command("chown", ["-R", owner, &path]).run().success();
}

/// Runs the program in the sandbox.
fn within(world: &World, args: &[&str]) -> Output {
    unprivileged(world, args)
        .env("GIT_CONFIG_COUNT", "2")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("GIT_CONFIG_KEY_1", "checkpoint.store")
        .env("GIT_CONFIG_VALUE_1", world.root().join("sessions/of it"))
        .run()
}

#[test]
fn sessions_are_kept_shared_and_resumed_without_the_repository() {
    let Some(world) = sandbox() else { return };
    let before = world.command("find", [".git", "-printf", "%p %T@ %s\n"]).run();
    let store = world.root().join("sessions/of it");
    let store = store.to_str().unwrap();
    world.file("file", "saved\n");
    world.file("untracked", "saved\n");
    within(&world, &["start", "s"]).success();
    within(&world, &["todo", "add", "go on here"]).success();
    within(&world, &["save", "-m", "one"]).success();
    let stored = world.git(["--git-dir", store, "show", "refs/checkpoints/s^2:untracked"]);
    stored.success().stdout_is("saved\n");
    within(&world, &["status"])
        .success()
        .stdout_has("cannot be written")
        .stdout_has("main");
    world.file("file", "later\n");
    std::fs::remove_file(world.path("untracked")).unwrap();
    within(&world, &["restore", "s"]).success();
    assert_eq!(
        (world.read("file"), world.read("untracked")),
        (b"saved\n".into(), b"saved\n".into())
    );
    within(&world, &["undo"]).success();
    assert_eq!(world.read("file"), b"later\n");
    within(&world, &["apply", "s", "--force"]);
    for line in [
        &["log", "s"][..],
        &["show", "s"],
        &["diff", "s"],
        &["verify", "--all"],
        &["list"],
        &["pause", "-m", "two"],
        &["resume", "s"],
        &["watch", "--once"],
        &["fork", "s", "--name", "f"],
    ] {
        within(&world, line).success();
    }
    within(&world, &["push", "origin", "s"]).success();
    // Another clone continues it.
    remote_of(&world, "0:0");
    world.git(["clone", "--quiet", "../there.git", "../other"]).success();
    world.enter("other");
    world.checkpoint(["pull", "origin", "s"]).success();
    world.checkpoint(["restore", "s"]).success();
    world.checkpoint(["todo", "list"]).success().stdout_has("go on here");
    world.enter("repo");
    // Nothing was written where nothing may be.
    let after = world.command("find", [".git", "-printf", "%p %T@ %s\n"]).run();
    assert_eq!(after.stdout(), before.stdout());
}

#[test]
fn the_store_follows_the_repository() {
    let Some(world) = sandbox() else { return };
    within(&world, &["start", "s"]).success();
    world.file("file", "staged\n");
    world.git(["add", "file"]).success();
    within(&world, &["save", "-m", "staged"])
        .success()
        .stdout_has("1 staged");
    world.git(["commit", "--quiet", "-m", "committed here"]).success();
    let head = world.git_line(["rev-parse", "HEAD"]);
    within(&world, &["save", "-m", "committed"])
        .success()
        .stdout_has(&head[..8]);
    world.git(["switch", "--quiet", "side"]).success();
    within(&world, &["status"]).success().stdout_has("side");
    world.git(["branch", "-D", "--quiet", "main"]);
    world
        .git(["merge", "--quiet", "--no-commit", "--no-ff", &head])
        .success();
    within(&world, &["status"]).success().stdout_has("merging");
    world.git(["merge", "--abort"]).success();
    within(&world, &["status"]).success().stdout_lacks("merging");
    world.git(["checkout", "--quiet", "--detach"]).success();
    within(&world, &["status"]).success().stdout_has("detached");
    within(&world, &["verify", "--all"]).success();
}

#[test]
fn what_needs_the_repository_says_so_and_changes_nothing() {
    let Some(world) = sandbox() else { return };
    world.file("file", "saved\n");
    within(&world, &["save", "-m", "one", "--session", "s"]).success();
    for line in [
        &["restore", "s", "--index"][..],
        &["apply", "s", "--index"],
        &["pause", "--clean", "-m", "x"],
        &["fork", "s", "--name", "f", "--worktree", "../w"],
        &["hooks", "install"],
    ] {
        let output = within(&world, line);
        assert!(!output.is_success(), "{line:?}");
        output.stderr_has("cannot be written");
    }
    assert_eq!(world.read("file"), b"saved\n");
    assert!(!world.root().join("w").exists());
}

#[test]
fn where_the_repository_can_be_written_no_store_is_used() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.store", "../sessions"]).success();
    world
        .checkpoint(["save", "--allow-empty", "-m", "one", "--session", "s"])
        .success();
    world.git(["rev-parse", "refs/checkpoints/s"]).success();
    assert!(!world.root().join("sessions").exists());
}

/// The user's own repository, read-only by its modes: the copies of its files are not.
#[test]
fn a_repository_that_is_read_only_by_its_modes() {
    for modes in ["a-w", "u-w", "a=rX"] {
        let Some(world) = sandbox() else { return };
        let own = world.path(".git");
        for (program, options) in [("chown", "65534:65534"), ("chmod", modes)] {
            let path = own.to_string_lossy().into_owned();
            world.command(program, ["-R", options, &path]).run().success();
        }
        for n in 0..3 {
            world.file("file", format!("saved {n}\n"));
            let summary = format!("save {n}");
            within(&world, &["save", "--session", "s", "-m", &summary]).success();
        }
        within(&world, &["list"]).success().stdout_has("save 2");
        within(&world, &["status"]).success();
        within(&world, &["restore", "@~1"]).success();
        assert_eq!(world.read("file"), b"saved 1\n", "{modes}");
        // The index changes meanwhile, and is taken over again.
        let path = own.to_string_lossy().into_owned();
        world.command("chmod", ["-R", "u+w", &path]).run().success();
        let trusted = ["-c", "safe.directory=*"];
        let blob = world.git(trusted.into_iter().chain(["rev-parse", "HEAD:README.md"]));
        let entry = format!("100644,{},new", blob.success().stdout().trim());
        let line = ["update-index", "--add", "--cacheinfo", &entry];
        world.git(trusted.into_iter().chain(line)).success();
        world.command("chmod", ["-R", modes, &path]).run().success();
        within(&world, &["save", "-m", "after"]).success();
    }
}

/// A branch that is made of a checkpoint is only in the store, and the command that fetches it works.
#[test]
fn a_commit_made_of_a_checkpoint_is_fetched_from_the_store() {
    let Some(world) = sandbox() else { return };
    // Whose the store is matters to git, which runs as root here.
    world.git(["config", "--global", "safe.directory", "*"]).success();
    world.file("file", "saved\n");
    within(&world, &["save", "-m", "one", "--session", "s"]).success();
    for (branch, options) in [
        ("review", &[][..]),
        ("team/review", &["-m", "a message of its own"]),
        ("größe", &[]),
        ("it's", &[]),
        ("-", &["--quiet"]),
    ] {
        let line = [&["export", "s", "--commit", branch], options].concat();
        let made = within(&world, &line);
        if branch == "-" {
            assert!(!made.is_success(), "{made}");
            continue;
        }
        made.success().stderr_has("only in the store");
        world.git(["rev-parse", "--verify", "--quiet", branch]).code(1);
        let (_, command) = made.stderr().split_once("be written: ").unwrap();
        world.command("sh", ["-c", command.trim()]).run().success();
        world
            .git(["show", &format!("{branch}:file")])
            .success()
            .stdout_is("saved\n");
    }
    let json = within(&world, &["export", "s", "--commit", "other", "--json"]);
    let json = json.success().stdout_json();
    let store = world.root().join("sessions/of it").canonicalize().unwrap();
    assert_eq!(json["store"].as_str(), store.to_str());
    // Where the repository can be written, the branch is there.
    let world = World::with_commit();
    world
        .checkpoint(["save", "--allow-empty", "-m", "one", "--session", "s"])
        .success();
    let made = world.checkpoint(["export", "s", "--commit", "review"]);
    made.success().stderr_lacks("store");
    world.git(["rev-parse", "--verify", "--quiet", "review"]).success();
}

/// What was saved in the store is named where the repository can be written again, with the command that takes it over.
#[test]
fn sessions_of_the_store_are_named_and_taken_over() {
    let Some(world) = sandbox() else { return };
    world.git(["config", "--global", "safe.directory", "*"]).success();
    world.file("file", "saved\n");
    within(&world, &["save", "-m", "inside", "--session", "s"]).success();
    let store = world.root().join("sessions/of it");
    let store = store.to_string_lossy().into_owned();
    world.git(["config", "checkpoint.store", &store]).success();
    for line in [&["status"][..], &["list", "--all"], &["resume"]] {
        let outside = world.checkpoint(line);
        outside.stderr_has("1 session in '").stderr_has("not here: s");
    }
    let status = world.checkpoint(["status"]);
    status.success();
    let command = status
        .stderr()
        .rsplit_once("what is there: ")
        .unwrap()
        .1
        .trim()
        .to_owned();
    world.typed(&command).success();
    assert_eq!(
        world.git_line(["show", "refs/checkpoints/s^2:file"]),
        world.git_line(["--git-dir", &store, "show", "refs/checkpoints/s^2:file"])
    );
    for line in [&["status"][..], &["list"], &["resume"], &["save", "-m", "outside"]] {
        world.checkpoint(line).success().stderr_lacks("not here");
    }
    // Both go on: mine becomes a session of its own, as in a pull.
    world.file("file", "inside again\n");
    within(&world, &["save", "-m", "again", "--session", "s"]).success();
    world.checkpoint(["status"]).success().stderr_has("not here: s");
    world.checkpoint(["unbundle", &store]).success();
    assert_eq!(
        world.git_line(["log", "-1", "--format=%s", "refs/checkpoints/s"]),
        "again"
    );
    let all = world.git(["for-each-ref", "--format=%(contents:subject)", "refs/checkpoints"]);
    all.success().stdout_has("outside");
    world.checkpoint(["verify", "--all"]).success();
}

/// Who owns a read-only repository needs no other owner of it, and the printed command is enough.
#[test]
fn a_read_only_repository_of_ones_own_is_made_writable() {
    let Some(world) = sandbox() else { return };
    world.file("file", "new\n");
    let own = world.path(".git").to_string_lossy().into_owned();
    for (program, options) in [("chown", "65534:65534"), ("chmod", "a-w")] {
        world.command(program, ["-R", options, &own]).run().success();
    }
    let refused = as_nobody(&world, ["save", "-m", "one"]).unwrap();
    assert!(!refused.is_success(), "{refused}");
    refused.stderr_lacks("chown");
    let (_, command) = refused.stderr().split_once("to make it writable: ").unwrap();
    let command = command.lines().next().unwrap();
    assert!(command.contains(".git") && !command.contains(".git/"), "{command}");
    world.typed(command).success();
    as_nobody(&world, ["save", "-m", "one"]).unwrap().success();
}
