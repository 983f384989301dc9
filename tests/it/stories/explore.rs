//! Options explored in working trees that are ready to run, a checkpoint as a plain commit, and earlier resolutions.

use crate::support::{PROGRAM, World};

#[test]
fn every_option_gets_a_working_tree_that_is_set_up() {
    let world = World::with_commit();
    world.file("app", "v0\n");
    world.checkpoint(["start", "base"]).success();
    world
        .checkpoint([
            "fork-point",
            "add",
            "Which?",
            "--option",
            "a:one",
            "--option",
            "b:other",
        ])
        .success();
    world.checkpoint(["save", "-m", "two ways"]).success();
    world
        .git(["config", "checkpoint.forkSetup", "cp app built; echo said; exit 3"])
        .success();
    let planned = world.checkpoint(["fork-point", "explore", "1", "--dry-run", "--json"]);
    assert_eq!(planned.success().stdout_json()["forks"].as_array().unwrap().len(), 2);
    assert!(!world.path("../base-a").exists());
    let made = world.checkpoint(["fork-point", "explore", "1", "--json"]);
    made.code(7)
        .stderr_has("checkpoint.forkSetup ended with 3 in ")
        .stderr_has("base-b'")
        .stderr_has("git checkpoint fork --continue base-b");
    let forks = made.stdout_json()["forks"].clone();
    for (n, key) in ["a", "b"].into_iter().enumerate() {
        assert_eq!(world.read(format!("../base-{key}/built")), b"v0\n");
        let setup = &forks[n]["worktree"]["setup"];
        assert_eq!((&setup["exit_status"], &setup["output"]), (&3.into(), &"said\n".into()));
    }
    world.checkpoint(["fork-point", "explore", "1"]).code(3);
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn a_checkpoint_becomes_a_plain_commit() {
    let world = World::with_commit();
    let head = world.git_line(["rev-parse", "HEAD"]);
    world.file("new", "untracked\n");
    world
        .checkpoint(["save", "--session", "s", "-m", "half done"])
        .success();
    let made = world
        .checkpoint(["export", "s", "--commit", "review", "--json"])
        .success()
        .stdout_json();
    assert_eq!(made["id"], world.git_line(["rev-parse", "review"]));
    assert_eq!(world.git_line(["rev-parse", "review^@"]), head, "one parent");
    assert_eq!(
        world.git_line(["rev-parse", "review^{tree}"]),
        world.git_line(["rev-parse", "checkpoints/s^2^{tree}"])
    );
    assert_eq!(world.git_line(["log", "-1", "--format=%s", "review"]), "half done");
    assert_eq!(world.git_line(["rev-parse", "HEAD"]), head);
    // A branch that is elsewhere or checked out stays.
    let again = world.checkpoint(["export", "s", "--commit", "review"]);
    assert!(!again.is_success());
    again.stderr_has("not at the commit");
    let branch = world.git_line(["symbolic-ref", "--short", "HEAD"]);
    world
        .checkpoint(["export", "s", "--commit", &branch])
        .stderr_has("is checked out");
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn earlier_resolutions_are_used_where_rerere_is_on() {
    let world = World::with_commit();
    world.git(["config", "rerere.enabled", "true"]).success();
    world.file("f", "1\n2\n3\n");
    world.git(["add", "f"]).success();
    world.git(["commit", "-qm", "f"]).success();
    world.file("f", "1\nthen\n3\n");
    world.checkpoint(["save", "--session", "s", "-m", "then"]).success();
    world.file("f", "1\nnow\n3\n");
    world.git(["commit", "-qam", "now"]).success();
    world.checkpoint(["apply", "s"]).code(1);
    world.file("f", "1\nboth\n3\n");
    world.git(["add", "f"]).success();
    world.git(["rerere"]).success();
    world.git(["commit", "-qm", "both"]).success();
    world.git(["reset", "-q", "--hard", "HEAD^"]).success();
    world
        .checkpoint(["apply", "s"])
        .code(1)
        .stderr_has("Resolved 'f'")
        .stderr_has("f: as you resolved it before (rerere); check it, then: git add <path>")
        .stderr_lacks("conflict markers");
    assert_eq!(world.read("f"), b"1\nboth\n3\n");
    assert_eq!(world.git_line(["diff", "--name-only", "--diff-filter=U"]), "f");
    world.checkpoint(["undo"]).success();
    assert_eq!(world.read("f"), b"1\nnow\n3\n");
}

#[test]
fn forks_are_listed_and_their_working_trees_removed() {
    let world = World::with_commit();
    world.file(".gitignore", "*.o\n");
    world.checkpoint(["save", "--session", "base", "-m", "base"]).success();
    world
        .checkpoint(["fork", "base", "--name", "try", "--worktree", "../try"])
        .success();
    world.enter("try");
    world.file("made", "by try\n");
    world.checkpoint(["save", "-m", "tried"]).success();
    world.file("more", "not saved\n");
    world.file("built.o", "ignored\n");
    world.enter("repo");
    let listed = world.checkpoint(["fork", "--list", "--json"]).success().stdout_json();
    let fork = &listed["forks"][0];
    assert_eq!(
        (&fork["session"], &fork["changed"], &fork["checkpoints"]),
        (&"try".into(), &serde_json::json!(["made"]), &1.into())
    );
    assert!(fork["worktree"].as_str().unwrap().ends_with("/try"));
    assert_eq!(fork["unsaved"], 1);
    world
        .checkpoint(["fork", "--list"])
        .success()
        .stdout_has("1 file, 1 unsaved");
    world
        .checkpoint(["fork", "--remove", "base"])
        .stderr_has("no working tree of its own");
    world
        .checkpoint(["fork", "--remove", "try"])
        .code(4)
        .stderr_has("built.o");
    assert!(world.path("../try/more").exists());
    world.checkpoint(["fork", "--remove", "try", "--force"]).success();
    assert!(!world.path("../try").exists());
    assert_eq!(world.git_line(["show", "checkpoints/try^2:more"]), "not saved");
    assert_eq!(world.git_line(["rev-parse", "--verify", "checkpoint/try"]).len(), 40);
    assert!(world.checkpoint(["fork", "--list", "--json"]).success().stdout_json()["forks"][0]["worktree"].is_null());
    world.checkpoint(["verify", "--all"]).success();
}

/// What was copied from here is no work of the fork, symlinks to nothing and to directories included.
#[test]
fn copies_do_not_keep_the_working_tree_of_a_fork() {
    use std::os::unix::fs::symlink;

    let world = World::with_commit();
    world.file(".gitignore", "tools/\n");
    world.file("tools/bin/run", "x".repeat(200_000));
    symlink("bin", world.path("tools/directory")).unwrap();
    symlink("nowhere", world.path("tools/dangling")).unwrap();
    world.git(["config", "checkpoint.forkCopy", "tools/"]).success();
    world.checkpoint(["save", "--session", "base", "-m", "base"]).success();
    let fork = |name: &str| {
        let place = format!("../{name}");
        world
            .checkpoint(["fork", "base", "--name", name, "--worktree", &place])
            .success()
            .stdout_has("3 ignored files");
    };
    fork("same");
    world.checkpoint(["fork", "--remove", "same"]).success();
    for (name, path) in [
        ("run", "tools/bin/run"),
        ("directory", "tools/directory"),
        ("dangling", "tools/dangling"),
    ] {
        fork(name);
        let changed = world.path(format!("../{name}/{path}"));
        std::fs::remove_file(&changed).unwrap();
        if name == "run" {
            std::fs::write(&changed, "y".repeat(200_000)).unwrap();
        } else {
            symlink("elsewhere", &changed).unwrap();
        }
        let removed = world.checkpoint(["fork", "--remove", name]);
        removed.code(4).stderr_has(path);
        assert!(changed.symlink_metadata().is_ok());
    }
}

/// A fork that was cut off says what completes it, and that is all that is needed.
#[test]
fn a_fork_that_was_cut_off_is_completed() {
    for cut in [
        "before git",
        "early in git",
        "in git",
        "git gave up",
        "after git",
        "in the files",
    ] {
        let world = World::with_commit();
        world.file("app", "v1\n");
        world.file(".gitignore", "*.o\n");
        world.file("local.o", "ignored\n");
        world.checkpoint(["save", "--session", "base", "-m", "base"]).success();
        world
            .git(["config", "checkpoint.forkSetup", "cp app built.o"])
            .success();
        world.git(["config", "checkpoint.forkCopy", "local.o"]).success();
        world
            .checkpoint(["fork", "base", "--name", "try", "--worktree", "../try"])
            .success();
        let note = world.path(".git/checkpoint/forks/try.json");
        assert!(!note.exists(), "a fork that is complete has no note");
        // As a kill leaves it at that point.
        let path = world.path("../try").canonicalize().unwrap();
        std::fs::create_dir_all(note.parent().unwrap()).unwrap();
        let text = serde_json::json!({"session": "try", "path": path.to_str().unwrap(), "branch": "checkpoint/try"});
        std::fs::write(&note, text.to_string()).unwrap();
        std::fs::remove_file(path.join("built.o")).unwrap();
        let own = world.path(".git/worktrees/try");
        match cut {
            "before git" => {
                world.git(["worktree", "remove", "--force", "../try"]).success();
                world.git(["branch", "-qD", "checkpoint/try"]).success();
            }
            "early in git" => {
                std::fs::remove_dir_all(own.join("checkpoint")).unwrap();
                std::fs::remove_file(own.join("HEAD")).unwrap();
                std::fs::write(own.join("locked"), "initializing\n").unwrap();
                world.git(["branch", "-qD", "checkpoint/try"]).success();
                std::fs::write(path.join("mine"), "not git's\n").unwrap();
            }
            "in git" => {
                std::fs::remove_dir_all(own.join("checkpoint")).unwrap();
                std::fs::write(own.join("locked"), "initializing\n").unwrap();
                std::fs::write(own.join("index.lock"), "").unwrap();
                std::fs::remove_file(path.join("app")).unwrap();
                std::fs::remove_file(own.join("index")).unwrap();
            }
            "git gave up" => {
                std::fs::remove_dir_all(&own).unwrap();
                world.git(["branch", "-qD", "checkpoint/try"]).success();
                std::fs::write(path.join("mine"), "not git's\n").unwrap();
            }
            "after git" => {
                std::fs::remove_dir_all(own.join("checkpoint")).unwrap();
                std::fs::remove_file(path.join("app")).unwrap();
            }
            _ => std::fs::write(path.join("local.o"), "ign").unwrap(),
        }
        for line in [&["fork", "--list"][..], &["status"]] {
            world
                .checkpoint(line)
                .success()
                .stderr_has("git checkpoint fork --continue try");
        }
        // Files that are not there yet are not deleted.
        let merged = world.checkpoint(["merge", "try"]);
        merged.code(4).stderr_has("git checkpoint fork --continue try");
        if cut == "after git" {
            world.enter("try");
            for command in ["save", "pause", "finish"] {
                let refused = world.checkpoint([command, "-m", "half"]);
                refused.code(4).stderr_has("git checkpoint fork --continue try");
            }
            let half = world.git_line(["for-each-ref"]);
            world.checkpoint(["hooks", "run", "post-commit"]);
            world.checkpoint(["watch", "--once", "--quiet"]);
            assert_eq!(world.git_line(["for-each-ref"]), half, "nothing of it is saved");
            world.enter("repo");
        }
        world
            .checkpoint(["fork", "base", "--name", "try", "--worktree", "../try"])
            .stderr_has("git checkpoint fork --continue try");
        world.checkpoint(["fork", "--continue", "try"]).success();
        for (name, bytes) in [("app", "v1\n"), ("built.o", "v1\n"), ("local.o", "ignored\n")] {
            assert_eq!(
                std::fs::read(path.join(name)).unwrap(),
                bytes.as_bytes(),
                "{cut} {name}"
            );
        }
        if cut == "early in git" || cut == "git gave up" {
            let id = world
                .command("git", ["hash-object", "--stdin"])
                .input("not git's\n")
                .run();
            world.git(["cat-file", "-e", id.success().stdout().trim()]).success();
        }
        world
            .checkpoint(["fork", "--continue", "try"])
            .stderr_has("is complete");
        world
            .checkpoint(["fork", "--list"])
            .success()
            .stderr_lacks("--continue");
        let listed = world.git_line(["worktree", "list", "--porcelain"]);
        assert!(
            !listed.contains("locked") && listed.contains("refs/heads/checkpoint/try"),
            "{cut}: {listed}"
        );
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// A set-up command that failed is listed, hinders nothing, and is run again by the command that is named.
#[test]
fn a_set_up_command_that_failed_is_run_again() {
    for (command, code) in [("exit 3", 3), ("kill $$", 143)] {
        let world = World::with_commit();
        world.file(".gitignore", "built.o\n");
        world.checkpoint(["save", "--session", "base", "-m", "base"]).success();
        world.git(["config", "checkpoint.forkSetup", command]).success();
        world
            .checkpoint(["fork", "base", "--name", "try", "--worktree", "../try"])
            .code(7)
            .stdout_has("to session try")
            .stderr_has(&format!("ended with {code}"))
            .stderr_has("git checkpoint fork --continue try");
        let listed = world.checkpoint(["fork", "--list", "--json"]).success().stdout_json();
        assert_eq!(listed["forks"][0]["failed_setup"], code);
        world
            .checkpoint(["fork", "--list"])
            .success()
            .stderr_has("the set-up command of fork 'try' failed")
            .stderr_has("git checkpoint fork --continue try");
        // The files are complete, so they are saved.
        world.enter("try");
        world.file("more", "work\n");
        world.checkpoint(["save", "-m", "work"]).success();
        world.enter("repo");
        world
            .checkpoint(["fork", "--continue", "try"])
            .code(7)
            .stderr_has("ended with")
            .stderr_has("git checkpoint fork --continue try");
        world
            .git(["config", "checkpoint.forkSetup", "cp more built.o"])
            .success();
        world
            .checkpoint(["fork", "--continue", "try"])
            .success()
            .stderr_lacks("ended with");
        assert_eq!(world.read("../try/built.o"), b"work\n");
        let listed = world.checkpoint(["fork", "--list", "--json"]);
        listed.success().no_stderr();
        assert!(listed.stdout_json()["forks"][0]["failed_setup"].is_null());
        world
            .checkpoint(["fork", "--continue", "try"])
            .stderr_has("the working tree of this fork is complete");
    }
}

/// A commit needs a name: without one the refusal says so, and what sets it.
#[test]
fn a_commit_without_an_identity_is_refused_in_words() {
    let world = World::with_commit();
    world.checkpoint(["save", "--session", "s", "-m", "one"]).success();
    world.git(["config", "user.useConfigOnly", "true"]).success();
    let mut run = world.command(PROGRAM, ["export", "s", "--commit", "review"]);
    for who in ["AUTHOR", "COMMITTER"] {
        run = run
            .without_env(format!("GIT_{who}_NAME"))
            .without_env(format!("GIT_{who}_EMAIL"));
    }
    let refused = run.run();
    refused
        .code(4)
        .stderr_has("git does not know your name and address")
        .stderr_has("git config --global user.name <name>");
    assert!(refused.stderr().lines().count() <= 3, "{refused}");
    world.git(["rev-parse", "--verify", "--quiet", "review"]).code(1);
}

/// As `git commit` refuses them.
#[test]
fn a_checkpoint_with_conflicts_becomes_no_commit() {
    let world = World::with_commit();
    world.git(["switch", "-qc", "other"]).success();
    world.file("README.md", "theirs\n");
    world.git(["commit", "-qam", "theirs"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.file("README.md", "ours\n");
    world.git(["commit", "-qam", "ours"]).success();
    world.git(["merge", "other"]).code(1);
    world.checkpoint(["save", "-qm", "conflict"]).success();
    world
        .checkpoint(["export", "--commit", "review"])
        .code(4)
        .stderr_has("README.md");
    world.git(["rev-parse", "-q", "--verify", "refs/heads/review"]).code(1);
    world.file("README.md", "both\n");
    world.git(["add", "README.md"]).success();
    world.checkpoint(["save", "-qm", "resolved"]).success();
    world.checkpoint(["export", "--commit", "review"]).success();
    assert_eq!(world.git_line(["show", "review:README.md"]), "both");
}
