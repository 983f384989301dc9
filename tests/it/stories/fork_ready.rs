//! Forks in working trees of their own that are ready to run: files as saved or a word that they are not, ignored files that
//! were named, the user's own hook.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::{PROGRAM, World};

fn hook(world: &World, text: &str) {
    world.file(".git/hooks/post-checkout", format!("#!/bin/sh\n{text}\n"));
    let path = world.path(".git/hooks/post-checkout");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// What was tracked and deleted is known to have been gone, whatever rules ignore it by then.
#[test]
fn a_tracked_file_that_was_deleted_is_not_an_ignored_one() {
    for (rule, path) in [
        ("/dist\n", "dist/app.js"),
        ("dist/\n", "dist/app.js"),
        ("*.js\n", "dist/app.js"),
        ("app.js\n", "app.js"),
        ("*\n!.gitignore\n", "deep/er/app.js"),
        ("**/dist/**\n", "web/dist/app.js"),
        ("größe/\n", "größe/ä pp.js"),
        ("[Aa]pp.j?\n", "app.js"),
    ] {
        let world = World::with_commit();
        world.file(path, "old\n");
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "built"]).success();
        std::fs::remove_file(world.path(path)).unwrap();
        world.file(".gitignore", rule);
        world.checkpoint(["save", "--session", "s", "-m", "gone"]).success();
        world
            .checkpoint(["fork", "s", "--name", "f", "--worktree", "../fk"])
            .success();
        assert!(!world.path(format!("../fk/{path}")).exists(), "{rule}");
        world.git(["checkout", "-q", "--", path]).success();
        world.checkpoint(["restore", "s"]).success();
        assert!(!world.path(path).exists(), "{rule}");
        world.checkpoint(["undo"]).success();
        assert_eq!(world.read(path), b"old\n", "{rule}");
        // One that the checkpoint did not track stays: nobody knows whether it was there.
        world.file("local.js", "built since\n");
        world.file("dist/local.js", "built since\n");
        world.checkpoint(["restore", "s", "--force"]).success();
        if rule == "*.js\n" {
            assert_eq!(world.read("dist/local.js"), b"built since\n", "{rule}");
        }
    }
}

/// Where nothing was committed, files differ from no commit.
#[test]
fn a_fork_without_a_commit_says_nothing_of_one() {
    let world = World::new();
    for (files, said) in [
        (0, "as saved, 0 files; there is no commit"),
        (1, "1 file;"),
        (2, "2 files;"),
    ] {
        for n in 0..files {
            world.file(format!("f{n}"), "x\n");
        }
        let session = format!("s{files}");
        world
            .checkpoint(["save", "--allow-empty", "--session", &session, "-m", "x"])
            .success();
        let directory = format!("../w{files}");
        world
            .checkpoint([
                "fork",
                &session,
                "--name",
                &format!("f{files}"),
                "--worktree",
                &directory,
            ])
            .success()
            .stdout_has(said)
            .stdout_lacks("the commit");
        for n in 0..files {
            assert_eq!(world.read(format!("{directory}/f{n}")), b"x\n");
        }
    }
}

/// A fork whose files could not be brought says so, in words, in JSON and by its exit status.
#[test]
fn a_fork_whose_files_are_not_as_saved_says_so() {
    let mut refused = 0;
    // What the checkout of the new working tree leaves in the directory whose place a file takes.
    for (left, made) in [
        ("place/left.tmp", "touch place/left.tmp"),
        ("place/pipe.tmp", "mkfifo place/pipe.tmp"),
        (
            "place/in.tmp/.git",
            "env -u GIT_DIR -u GIT_WORK_TREE git init -q place/in.tmp",
        ),
        ("place/d/e/x.tmp", "mkdir -p place/d/e; touch place/d/e/x.tmp"),
        ("place/ü\n.tmp", "touch \"$(printf 'place/ü\\n.tmp')\""),
        // Above every limit of a size, the last of which is 512 MiB.
        ("place/large.tmp", "truncate -s 600M place/large.tmp"),
    ] {
        let world = World::with_commit();
        world.file("place/ignored.o", "tracked although ignored\n");
        world.git(["add", "-f", "-A"]).success();
        world.git(["commit", "-qm", "one"]).success();
        // A file takes the place of the directory.
        std::fs::remove_dir_all(world.path("place")).unwrap();
        world.file("place", "a file now\n");
        world.file("work", "three days of work\n");
        world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
        world.git(["config", "filter.drop.clean", "cat"]).success();
        world
            .git(["config", "filter.drop.smudge", &format!("{made}; cat")])
            .success();
        world.file(".git/info/attributes", "ignored.o filter=drop\n");
        world.file(".git/info/exclude", "*.tmp\n");
        let json = world.checkpoint(["fork", "s", "--name", "f", "--worktree", "../fk", "--json"]);
        let is_left = world.path("../fk").join(left).symlink_metadata().is_ok();
        if is_left {
            let answer = json.code(4).stdout_json();
            assert_eq!(answer["forks"][0]["worktree"]["complete"], false, "{made}");
            json.stderr_has("not the saved ones").stderr_has("in the way");
            assert!(!world.path("../fk/work").exists(), "{made}");
            refused += 1;
        } else {
            assert_eq!(
                json.success().stdout_json()["forks"][0]["worktree"]["complete"],
                true,
                "{made}"
            );
            assert_eq!(world.read("../fk/work"), b"three days of work\n", "{made}");
            assert_eq!(world.read("../fk/place"), b"a file now\n", "{made}");
        }
    }
    assert!(refused > 0, "nothing was in the way");
}

#[test]
fn named_ignored_files_go_along() {
    let world = World::with_commit();
    world.file(".gitignore", ".env\n.env.*\nlocal/\n*.o\n!.env.example\n");
    world.file(".env.example", "KEY=\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "rules"]).success();
    for (path, text) in [
        (".env", "KEY=1\n"),
        (".env.test", "KEY=2\n"),
        ("local/settings.json", "{}\n"),
        ("local/deep/er/x", "x\n"),
        ("build/a.o", "object\n"),
        ("untracked", "not ignored\n"),
    ] {
        world.file(path, text);
    }
    std::fs::set_permissions(world.path(".env"), std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("settings.json", world.path("local/link")).unwrap();
    world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
    world
        .checkpoint(["fork", "s", "--name", "none", "--worktree", "../none"])
        .success()
        .stdout_lacks("copied");
    assert!(!world.path("../none/.env").exists());
    // Patterns of the project and of the user, as in a .gitignore.
    world.file(".worktreeinclude", "# what we need\n.env*\n/untracked\n");
    world.git(["config", "checkpoint.forkCopy", "local/"]).success();
    let forked = world.checkpoint(["fork", "s", "--name", "f", "--worktree", "../fk"]);
    forked.success().stdout_has("copied").stdout_has("5 ignored files");
    for path in [".env", ".env.test", "local/settings.json", "local/deep/er/x"] {
        assert_eq!(world.read(format!("../fk/{path}")), world.read(path), "{path}");
    }
    let mode = std::fs::metadata(world.path("../fk/.env"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let link = std::fs::read_link(world.path("../fk/local/link")).unwrap();
    assert_eq!(link, std::path::Path::new("settings.json"));
    assert!(!world.path("../fk/build").exists());
    // Nor is a repository below copied.
    world.git(["init", "-q", "local/lib"]).success();
    world
        .checkpoint(["fork", "s", "--name", "n", "--worktree", "../n"])
        .success()
        .stderr_has("'local/lib' was not copied: it is a nested repository; only files are copied");
    assert!(!world.path("../n/local/lib").exists());
    // What is not ignored is the checkpoint's business.
    assert_eq!(world.read("../fk/untracked"), b"not ignored\n");
    let status = world.command("git", ["status", "--porcelain"]).within("../fk").run();
    status.success().stdout_lacks("env");
}

#[test]
fn the_users_own_hook_runs_once_the_files_are_there() {
    let world = World::with_commit();
    world.file("package", "first\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "package"]).success();
    world.file("package", "saved\n");
    world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
    hook(
        &world,
        "cp package installed; echo \"$@\" >arguments; echo setting up >&2",
    );
    let forked = world.checkpoint(["fork", "s", "--name", "f", "--worktree", "../fk"]);
    forked.success().stderr_has("post-checkout: setting up");
    assert_eq!(world.read("../fk/installed"), b"saved\n");
    let head = world.git_line(["rev-parse", "HEAD"]);
    let arguments = format!("{} {} 1\n", "0".repeat(head.trim().len()), head.trim());
    assert_eq!(String::from_utf8(world.read("../fk/arguments")).unwrap(), arguments);
    // It may run git elsewhere, as a hook of 'git worktree add' may.
    world.git(["init", "-q", "../other"]).success();
    hook(
        &world,
        "git -C ../other rev-parse --show-toplevel >place; git ls-files '*.md' >listed; env | grep ^GIT_ >variables",
    );
    world
        .command(PROGRAM, ["fork", "s", "--name", "e", "--worktree", "../ek"])
        .env("GIT_DIR", world.path(".git"))
        .env("GIT_WORK_TREE", world.repo())
        .run()
        .success();
    assert!(world.read("../ek/place").ends_with(b"/other\n"));
    assert_eq!(world.read("../ek/listed"), b"README.md\n");
    let variables = String::from_utf8(world.read("../ek/variables")).unwrap();
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_LITERAL_PATHSPECS",
        "GIT_CONFIG_PARAMETERS",
    ] {
        assert!(!variables.contains(&format!("{name}=")), "{variables}");
    }
    // One that fails is reported, and the fork is there.
    hook(&world, "echo no network >&2; exit 3");
    let forked = world.checkpoint(["fork", "s", "--name", "g", "--worktree", "../gk"]);
    forked
        .success()
        .stderr_has("post-checkout: no network")
        .stderr_has("ended with 3");
    assert_eq!(world.read("../gk/package"), b"saved\n");
    // Saving runs none.
    world.file("package", "more\n");
    world
        .checkpoint(["save", "-m", "more"])
        .success()
        .stderr_lacks("no network");
}

/// Ctrl-C ends the set-up: no further one begins, and what completes the forks is said and works.
#[test]
fn an_interrupted_set_up_is_run_again() {
    let world = World::with_commit();
    world
        .checkpoint(["save", "--session", "s", "-m", "saved", "--allow-empty"])
        .success();
    let setup = "pwd >>../begun; test -e ../free || { kill -INT $PPID; sleep 30; }; echo done >done";
    world.git(["config", "checkpoint.forkSetup", setup]).success();
    let forks = [
        ["--name", "a", "--worktree", "../a"],
        ["--name", "b", "--worktree", "../b"],
    ];
    let forked = world.checkpoint([&["fork", "s"][..], &forks.concat()].concat());
    forked.code(130).stdout_has("to session b");
    for name in ["a", "b"] {
        let complete = format!("git checkpoint fork --continue {name}");
        forked.stderr_has(&complete);
        world.checkpoint(["fork", "--list"]).success().stderr_has(&complete);
        assert!(!world.path(format!("../{name}/done")).exists());
    }
    assert_eq!(world.read("../begun").split(|byte| *byte == b'\n').count(), 2);
    // The files are complete: what is done there can be saved.
    world.enter("a");
    world.file("work", "work\n");
    world.checkpoint(["save", "-m", "work"]).success();
    world.enter("repo");
    assert_eq!(world.git_line(["show", "checkpoints/a^2:work"]).trim(), "work");
    world
        .checkpoint(["fork", "--continue", "a"])
        .code(130)
        .stderr_has("--continue a");
    world.file("../free", "");
    for name in ["a", "b"] {
        world.checkpoint(["fork", "--continue", name]).success();
        assert_eq!(world.read(format!("../{name}/done")), b"done\n");
    }
    world
        .checkpoint(["fork", "--list"])
        .success()
        .stderr_lacks("--continue");
    world.checkpoint(["verify", "--all"]).success();
}

/// A checkout that fails leaves no branch behind.
#[test]
fn a_work_tree_that_cannot_be_made_leaves_no_branch() {
    let world = World::with_commit();
    world
        .checkpoint(["save", "--session", "s", "-m", "saved", "--allow-empty"])
        .success();
    world.file("file", "in the way\n");
    let forked = world.checkpoint(["fork", "s", "--name", "f", "--worktree", "file/below"]);
    assert!(!forked.is_success());
    assert_eq!(world.git_line(["branch", "--list", "checkpoint/f"]), "");
}

/// What is named and cannot be copied is reported, also where git does not list it.
#[test]
fn a_pipe_that_was_to_be_copied_is_reported() {
    let world = World::with_commit();
    world.file(".gitignore", "local/\n*.pipe\n");
    world.file("local/settings", "mine\n");
    for pipe in ["a.pipe", "local/deep.pipe"] {
        world.command("mkfifo", [pipe]).run().success();
    }
    for pattern in ["a.pipe", "/local/"] {
        world.git(["config", "--add", "checkpoint.forkCopy", pattern]).success();
    }
    world.checkpoint(["save", "--session", "s", "-m", "one"]).success();
    world
        .checkpoint(["fork", "s", "--name", "f", "--worktree", "../fk"])
        .success()
        .stderr_has("'a.pipe' was not copied: it is neither a file nor a symlink")
        .stderr_has("'local/deep.pipe' was not copied");
    assert_eq!(world.read("../fk/local/settings"), b"mine\n");
}

/// A directory that has another repository by the time a fork is completed stays as it is.
#[test]
fn another_repository_in_the_place_of_a_fork_is_kept() {
    for (name, file) in [("a link", true), ("a directory", false)] {
        let world = World::with_commit();
        world
            .checkpoint(["save", "--session", "s", "-m", "one", "--allow-empty"])
            .success();
        world
            .checkpoint(["fork", "s", "--name", "f", "--worktree", "../fk"])
            .success();
        let path = world.root().join("fk");
        let note = serde_json::json!({ "session": "f", "path": path, "branch": "checkpoint/f" });
        world.file(".git/checkpoint/forks/f.json", note.to_string());
        std::fs::remove_dir_all(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        let other = world.root().join("other");
        let mut init = vec!["init", "-q"];
        let separate = format!("--separate-git-dir={}", other.display());
        if file {
            init.push(&separate);
        }
        world.git([&init[..], &[path.to_str().unwrap()]].concat()).success();
        let link = path.join(".git");
        world
            .command("git", ["commit", "-q", "--allow-empty", "-m", "theirs"])
            .within(&path)
            .run()
            .success();
        let before = std::fs::read(&link).ok();
        world
            .checkpoint(["fork", "--continue", "f"])
            .code(4)
            .stderr_has("has another repository by now");
        assert_eq!(std::fs::read(&link).ok(), before, "{name}");
        world.git(["-C", path.to_str().unwrap(), "status"]).success();
        assert!(
            !other.join("checkpoint").exists() && !link.join("checkpoint").exists(),
            "{name}"
        );
    }
}

/// The arguments of a program have a limit, the patterns have none.
#[test]
fn patterns_may_be_long_and_many() {
    let long = "x".repeat(140_000);
    let many: String = (0..60_000).map(|n| format!("/generated/file-{n}.tmp\n")).collect();
    for patterns in [format!("{long}\nlocal\n"), format!("{many}local\n")] {
        let world = World::with_commit();
        world.file(".gitignore", "local\n");
        world.file(".worktreeinclude", patterns);
        world.file("local", "mine\n");
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "patterns"]).success();
        world.checkpoint(["save", "-qm", "base"]).success();
        let out = world
            .checkpoint(["fork", "--name", "k", "--worktree", "../k"])
            .success()
            .stdout()
            .to_owned();
        assert!(out.len() < 2000, "{}", out.len());
        assert_eq!(std::fs::read(world.root().join("k/local")).unwrap(), b"mine\n");
        let own = std::fs::read_dir(world.path(".git/checkpoint")).unwrap();
        let left = own.filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .starts_with("scratch")
        });
        assert_eq!(left.count(), 0);
    }
}
