//! E-08 to E-60: what git 2.47 does in awkward repositories, and what is right for a restore, an apply and an undo
//! there.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use super::{chmod, done, exists, mode, save, saved, text};
use crate::support::{PROGRAM, World};

/// Restores in every way there is, and back.
fn every_way(world: &World) {
    done(world, &["restore", "@", "--index"]);
    done(world, &["undo"]);
    done(world, &["redo"]);
    done(world, &["undo"]);
    let applied = world.checkpoint(["apply", "@"]);
    assert!(matches!(applied.status().code(), Some(0 | 1)), "{applied}");
    done(world, &["fork", "@", "--name", "beside", "--worktree", "../beside"]);
    done(world, &["undo"]);
}

#[test]
fn e08_links_are_kept_as_text_and_change_places_with_directories() {
    let world = World::with_commit();
    world.file("d/f", "committed");
    world.git(["add", "d"]).success();
    world.git(["commit", "-qm", "d"]).success();
    fs::remove_dir_all(world.path("d")).unwrap();
    for (name, target) in [("d", "src"), ("dangling", "nowhere"), ("absolute", "/etc/hostname")] {
        symlink(target, world.path(name)).unwrap();
    }
    save(&world, "then");
    for name in ["d", "dangling", "absolute"] {
        fs::remove_file(world.path(name)).unwrap();
    }
    world.file("d/f", "now");
    world.file("dangling", "a file now");
    done(&world, &["restore", "@"]);
    for (name, target) in [("d", "src"), ("dangling", "nowhere"), ("absolute", "/etc/hostname")] {
        assert_eq!(fs::read_link(world.path(name)).unwrap(), Path::new(target));
    }
    assert_eq!(text(&world, "src/main.txt"), "one\ntwo\nthree\n");
    done(&world, &["undo"]);
    assert_eq!(
        (text(&world, "d/f"), text(&world, "dangling")),
        ("now".into(), "a file now".into())
    );
}

#[test]
fn e09_names_that_look_like_pathspecs() {
    let world = saved(&[
        (":colon", "1"),
        ("*star", "1"),
        ("[b]", "1"),
        ("other", "1"),
        ("b", "1"),
    ]);
    let all = [":colon", "*star", "[b]", "other", "b"];
    let restored = |spec: &str| {
        for name in all {
            world.file(name, "2");
        }
        done(&world, &["restore", "@", "--", spec]);
        all.into_iter()
            .filter(|name| text(&world, name) == "1")
            .collect::<Vec<_>>()
    };
    assert_eq!(restored(":(literal):colon"), [":colon"]);
    assert_eq!(restored(":(literal)*star"), ["*star"]);
    assert_eq!(restored("\\*star"), ["*star"]);
    // git takes the name itself before the pattern.
    assert_eq!(restored("[b]"), ["[b]", "b"]);
    assert_eq!(restored("./*r"), ["*star", "other"]);
}

#[test]
fn a_pathspec_that_matches_nothing_is_refused_everywhere() {
    let world = saved(&[("a", "1"), (".gitignore", "ignored\n")]);
    world.file("a", "2");
    save(&world, "later");
    world.file("ignored", "x");
    for args in [
        &["restore", "@~1"][..],
        &["restore", "@~1", "--dry-run"],
        &["restore", "@~1", "--index"],
        &["apply", "@~1"],
        &["purge", "--yes"],
        &["purge", "--dry-run"],
    ] {
        for specs in [&["nothing"][..], &["a", "nothing"], &["*.zip"], &["a/b"], &["A"]] {
            let spec = specs[specs.len() - 1];
            let refused = world.checkpoint([args, &["--"], specs].concat());
            refused
                .code(3)
                .no_stdout()
                .stderr_has(&format!("pathspec '{spec}' did not match any file"));
        }
        let within = world
            .command(PROGRAM, [args, &["--", "a"]].concat())
            .within("src")
            .run();
        within.code(3).stderr_has("pathspec 'a' did not match");
    }
    // A path that is nowhere is a mistake in a question, too.
    world
        .checkpoint(["diff", "@~1", "--", "nothing"])
        .code(3)
        .no_stdout()
        .stderr_has("pathspec 'nothing' did not match any file of either side");
    world.checkpoint(["compare", "@~1", "@", "--", "nothing"]).success();
    assert_eq!(text(&world, "a"), "2");
    world.checkpoint(["restore", "--continue"]).code(1);
    world.checkpoint(["undo"]).code(1);
    // What matches without anything to do is no mistake; nor is what was deleted, skipped or only staged.
    world
        .checkpoint(["restore", "@", "--", "a", ".", ":/"])
        .success()
        .stderr_has("no selected file differs");
    world
        .checkpoint(["restore", "@", "--", "README.md", ":!README.md"])
        .success();
    fs::remove_file(world.path("README.md")).unwrap();
    world
        .checkpoint(["diff", "@", "--", "README.md"])
        .success()
        .stdout_has("deleted file");
    world.checkpoint(["restore", "@", "--", "README.md"]).success();
    // A file that is there but in no checkpoint is nothing to purge, and so is one that was purged before.
    world
        .checkpoint(["purge", "--yes", "--", "ignored"])
        .success()
        .stdout_has("Nothing to purge");
    world
        .checkpoint(["purge", "--yes", "--", "a"])
        .success()
        .stdout_has("Purged");
    world
        .checkpoint(["purge", "--yes", "--", "a"])
        .success()
        .stdout_has("Nothing to purge");
}

#[test]
fn e10_e31_what_is_ignored_now_or_was_then_stays() {
    let world = World::with_commit();
    world.file(".gitignore", "secret\n");
    world.git(["add", ".gitignore"]).success();
    world.git(["commit", "-qm", "rules"]).success();
    world.file("secret", "mine");
    save(&world, "then");
    world.git(["rm", "-q", ".gitignore"]).success();
    let plan = done(&world, &["restore", "@", "--dry-run"]);
    assert!(plan.contains("secret"), "{plan}");
    done(&world, &["restore", "@"]);
    assert_eq!(text(&world, "secret"), "mine");
    // The other way round: what a restore would write over is ignored now.
    let world = saved(&[("config", "then"), ("d", "then")]);
    fs::remove_file(world.path("d")).unwrap();
    world.file("d/inside", "precious");
    world.file("config", "precious");
    world.file(".gitignore", "config\ninside\n");
    let refused = world.checkpoint(["restore", "@"]);
    refused
        .code(4)
        .stderr_has("config  ignored")
        .stderr_has("d/inside  ignored");
    assert_eq!(
        (text(&world, "config"), text(&world, "d/inside")),
        ("precious".into(), "precious".into())
    );
    done(&world, &["restore", "@", "--force"]);
    assert_eq!(
        (text(&world, "config"), text(&world, "d")),
        ("then".into(), "then".into())
    );
    done(&world, &["undo"]);
    assert_eq!(
        (text(&world, "config"), text(&world, "d/inside")),
        ("precious".into(), "precious".into())
    );
}

#[test]
fn e11_e12_e42_no_hook_no_signing_no_monitor() {
    let world = World::with_commit();
    let canary = world.root().join("canary");
    // Not post-checkout: as for `git worktree add`, it is for new working trees, and a fork makes one.
    for hook in [
        "post-index-change",
        "reference-transaction",
        "pre-commit",
        "post-commit",
        "post-merge",
    ] {
        let path = format!(".git/hooks/{hook}");
        world.file(&path, format!("#!/bin/sh\ntouch {}\nexit 1\n", canary.display()));
        chmod(&world, &path, 0o755);
    }
    let config = |key: &str, value: &str| world.git(["config", key, value]);
    config("core.fsmonitor", &format!("touch {}", canary.display())).success();
    config("commit.gpgSign", "true").success();
    config("gpg.program", "/bin/false").success();
    fs::remove_file(&canary).ok();
    world.file("a", "then");
    done(&world, &["save", "-m", "then"]);
    world.file("a", "now");
    every_way(&world);
    assert!(!canary.exists());
}

#[test]
fn e13_nobody_has_to_have_a_name() {
    let world = World::with_commit();
    world.git(["config", "user.useConfigOnly", "true"]).success();
    let run = |args: &[&str]| {
        let mut run = world.command(PROGRAM, args);
        for name in [
            "GIT_AUTHOR_NAME",
            "GIT_AUTHOR_EMAIL",
            "GIT_COMMITTER_NAME",
            "GIT_COMMITTER_EMAIL",
        ] {
            run = run.without_env(name);
        }
        run.run().success().clone()
    };
    world.file("a", "then");
    run(&["save", "-m", "then"]);
    world.file("a", "now");
    run(&["restore", "@"]);
    run(&["undo"]);
    assert_eq!(text(&world, "a"), "now");
    run(&["fork", "@", "--name", "x", "--worktree", "../x"]);
}

#[test]
fn e14_e60_line_ends_come_back_whatever_is_set() {
    for (setting, attributes) in [
        ("true", "* text=auto eol=crlf\n"),
        ("input", "* text=auto\n"),
        ("true", ""),
        ("false", "* text eol=lf\n"),
    ] {
        let world = World::with_commit();
        world.git(["config", "core.autocrlf", setting]).success();
        world.git(["config", "core.safecrlf", "true"]).success();
        let files = [
            ("mixed", "a\r\nb\nc\r\n"),
            ("crlf", "a\r\nb\r\n"),
            ("lf", "a\nb\n"),
            ("cr", "a\rb\r"),
        ];
        for (name, content) in files {
            world.file(name, content);
        }
        world.file(".gitattributes", attributes);
        save(&world, "then");
        for (name, _) in files {
            world.file(name, "now\n");
        }
        done(&world, &["restore", "@"]);
        for (name, content) in files {
            assert_eq!(text(&world, name), content, "{name} with {setting} and {attributes:?}");
        }
        done(&world, &["undo"]);
        assert_eq!(text(&world, "mixed"), "now\n");
    }
}

/// As with `git checkout`: blobs are converted by the setting of the moment, and what a safety checkpoint holds comes
/// back as it was.
#[test]
fn line_ends_follow_the_setting_at_the_time_of_the_restore() {
    for (then, saved, now, restored) in [
        ("false", "a\nb\n", "true", "a\r\nb\r\n"),
        ("true", "a\r\nb\r\n", "false", "a\nb\n"),
        ("true", "a\r\nb\n", "false", "a\r\nb\n"),
    ] {
        let world = World::with_commit();
        world.git(["config", "core.autocrlf", then]).success();
        world.file("f", saved);
        save(&world, "then");
        let tree = format!("{}^2", session(&world));
        world.git(["config", "core.autocrlf", now]).success();
        world.file("f", "now\n");
        done(&world, &["restore", "@"]);
        assert_eq!(text(&world, "f"), restored, "{then} then, {now} now");
        done(&world, &["undo"]);
        assert_eq!(text(&world, "f"), "now\n");
        // git does the same with the same blob.
        world.git(["checkout", "-q", &tree, "--", "f"]).success();
        assert_eq!(text(&world, "f"), restored);
    }
}

#[test]
fn e15_e59_a_filter_that_fails_costs_its_own_files_only() {
    let world = World::with_commit();
    for (key, value) in [
        ("filter.f.clean", "cat"),
        ("filter.f.smudge", "cat"),
        ("filter.f.required", "true"),
    ] {
        world.git(["config", key, value]).success();
    }
    world.file(".gitattributes", "*.f filter=f\n");
    world.file("a.f", "committed");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "filtered"]).success();
    world.file("a.f", "then");
    world.file("z", "then");
    save(&world, "then");
    world.file("a.f", "now");
    world.file("z", "now");
    world.git(["config", "filter.f.smudge", "false"]).success();
    let stopped = world.checkpoint(["restore", "@"]);
    assert!(!stopped.is_success(), "{stopped}");
    // git has unlinked the file by then; here it is as it was, and the way back is there.
    assert_eq!(text(&world, "a.f"), "now");
    world.git(["config", "filter.f.smudge", "cat"]).success();
    world.checkpoint(["restore", "--continue"]);
    world.checkpoint(["restore", "@"]).success();
    assert_eq!((text(&world, "a.f"), text(&world, "z")), ("then".into(), "then".into()));

    // A program that is not there: the file is not saved, and not touched by what comes back.
    world.git(["config", "filter.f.clean", "no-such-program"]).success();
    world.file("a.f", "unsaved");
    world.file("z", "partly");
    world.checkpoint(["save", "-m", "partial"]).code(7);
    world.file("z", "now");
    done(&world, &["restore", "@"]);
    assert_eq!(
        (text(&world, "a.f"), text(&world, "z")),
        ("unsaved".into(), "partly".into())
    );
}

#[test]
fn e16_e52_e54_bits_come_back_as_they_were() {
    for file_mode in ["true", "false"] {
        let world = World::with_commit();
        world.git(["config", "core.fileMode", file_mode]).success();
        let files = [("run", 0o755), ("secret", 0o600), ("plain", 0o644), ("locked", 0o440)];
        for (name, bits) in files {
            world.file(name, name);
            chmod(&world, name, bits);
        }
        save(&world, "then");
        chmod(&world, "run", 0o644);
        chmod(&world, "plain", 0o755);
        for name in ["secret", "locked"] {
            fs::remove_file(world.path(name)).unwrap();
        }
        done(&world, &["restore", "@"]);
        for (name, bits) in files {
            assert_eq!(mode(&world, name), bits, "{name} with core.fileMode={file_mode}");
        }
        done(&world, &["undo"]);
        assert_eq!((mode(&world, "run"), mode(&world, "plain")), (0o644, 0o755));
    }
}

#[test]
fn e17_flags_of_the_index_hide_no_edit_and_stay() {
    let world = World::with_commit();
    world.git(["update-index", "--assume-unchanged", "README.md"]).success();
    world.git(["update-index", "--skip-worktree", "src/main.txt"]).success();
    world.file("README.md", "then\n");
    world.file("src/main.txt", "then\n");
    save(&world, "then");
    world.file("README.md", "now\n");
    world.file("src/main.txt", "now\n");
    done(&world, &["restore", "@"]);
    assert_eq!(
        (text(&world, "README.md"), text(&world, "src/main.txt")),
        ("then\n".into(), "then\n".into())
    );
    assert_eq!(world.git_line(["ls-files", "-v"]), "h README.md\nS src/main.txt");
    done(&world, &["undo"]);
    assert_eq!(text(&world, "src/main.txt"), "now\n");
}

#[test]
fn e18_sparse_checkouts_lose_nothing_outside() {
    let world = World::with_commit();
    for name in ["in/a", "out/b"] {
        world.file(name, "1");
    }
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "two"]).success();
    world.git(["sparse-checkout", "set", "in"]).success();
    world.file("in/a", "then");
    world.file("out/untracked", "then");
    save(&world, "then");
    let tree = world.git_line(["ls-tree", "-r", "--name-only", &format!("{}^2", session(&world))]);
    assert!(tree.contains("out/b"), "what is not checked out is not deleted: {tree}");
    fs::remove_dir_all(world.path("out")).unwrap();
    world.file("in/a", "now");
    done(&world, &["restore", "@"]);
    assert_eq!(
        (text(&world, "in/a"), text(&world, "out/untracked")),
        ("then".into(), "then".into())
    );
    assert!(!exists(&world, "out/b"));
    done(&world, &["undo"]);
    assert!(!exists(&world, "out/untracked"));
}

fn session(world: &World) -> String {
    world.git_line(["for-each-ref", "--format=%(refname)", "--count=1", "refs/checkpoints"])
}

#[test]
fn e19_e24_work_trees_have_their_own_way_back() {
    let world = World::with_commit();
    world.git(["worktree", "add", "-q", "-b", "side", "../side"]).success();
    let there = |args: &[&str]| world.command(PROGRAM, args).within("../side").run();
    world.file("../side/a", "then");
    there(&["save", "-m", "then"]).success();
    world.file("../side/a", "now");
    there(&["restore", "@"]).success();
    assert_eq!(text(&world, "../side/a"), "then");
    // What was done there is nothing to undo here, and another working tree's checkpoint does not come here unasked.
    world.checkpoint(["undo"]).code(1);
    let name = session(&world).rsplit('/').next().unwrap().to_owned();
    world
        .checkpoint(["restore", &name])
        .code(4)
        .stderr_has("another working tree")
        .stderr_has("--worktree");
    there(&["undo"]).success();
    assert_eq!(text(&world, "../side/a"), "now");
    // The session outlives the working tree.
    world.git(["worktree", "remove", "--force", "../side"]).success();
    done(&world, &["restore", &name, "--force"]);
    assert_eq!(text(&world, "a"), "then");
}

#[test]
fn e20_a_bare_repository_has_no_files() {
    let world = World::without_repository();
    world.git(["init", "-q", "--bare", "."]).success();
    for args in [
        &["restore", "@"][..],
        &["apply", "@"],
        &["undo"],
        &["redo"],
        &["purge", "--yes", "--", "a"],
    ] {
        let refused = world.checkpoint(args);
        assert!(
            !refused.is_success() && !refused.stderr_bytes().is_empty(),
            "{args:?}: {refused}"
        );
    }
}

#[test]
fn e21_no_collection_of_garbage_takes_a_way_back() {
    let world = saved(&[("a", "then")]);
    world.file("a", "now");
    done(&world, &["restore", "@"]);
    let collect = || {
        world
            .git(["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"])
            .success();
        world.git(["gc", "-q", "--prune=now"]).success();
    };
    for (command, expected) in [("undo", "now"), ("redo", "then"), ("undo", "now")] {
        collect();
        done(&world, &[command]);
        assert_eq!(text(&world, "a"), expected);
    }
}

#[test]
fn e22_what_was_kept_does_not_follow_a_plain_clone() {
    let world = saved(&[("a", "then")]);
    world.file("a", "now");
    done(&world, &["restore", "@"]);
    world.git(["clone", "-q", ".", "../plain"]).success();
    world.git(["clone", "-q", "--mirror", ".", "../mirror"]).success();
    let refs = |directory: &str| world.git_line(["-C", directory, "for-each-ref", "--format=%(refname)"]);
    assert!(!refs("../plain").contains("checkpoints"));
    // Sessions and safety checkpoints do follow a mirror, which status warns of where it is set up.
    assert!(refs("../mirror").contains("refs/checkpoints-undo/"));
    world
        .git(["remote", "add", "--mirror=push", "m", "../mirror"])
        .success();
    world.checkpoint(["status"]).success().stderr_has("mirror");
}

#[test]
fn e23_e56_a_lock_of_the_index_is_waited_for_only_where_the_index_changes() {
    let world = saved(&[("a", "then")]);
    world.file("a", "now");
    world.file(".git/index.lock", "");
    done(&world, &["restore", "@"]);
    assert_eq!(text(&world, "a"), "then");
    done(&world, &["undo"]);
    world.git(["-c", "core.fsmonitor=false", "add", "a"]).code(128);
    fs::remove_file(world.path(".git/index.lock")).unwrap();
    world.git(["add", "a"]).success();
    world.file(".git/index.lock", "");
    let setting = [
        "-c",
        "checkpoint.lockTimeout=1s",
        "checkpoint",
        "restore",
        "@",
        "--index",
    ];
    // Before anything was changed: the same command may be tried again.
    world.file("a", "later");
    world.git(setting).code(5).stderr_has("index.lock");
    assert_eq!(text(&world, "a"), "later");
    assert!(exists(&world, ".git/index.lock"), "a lock of others is never removed");
    fs::remove_file(world.path(".git/index.lock")).unwrap();
    world.git(setting).success();
    assert_eq!(text(&world, "a"), "then");
    assert_eq!(world.git_line(["ls-files", "a"]), "");
    done(&world, &["undo"]);
    assert_eq!(world.git_line(["ls-files", "a"]), "a");
}

/// A clean changes files and index: while git's lock is held, neither; and git replaces an index that may not be written.
#[test]
fn clean_takes_the_lock_of_the_index_before_it_changes_a_file() {
    let world = World::with_commit();
    world.file("tracked", "1");
    world.git(["add", "."]).success();
    world.git(["commit", "-qm", "one"]).success();
    world.file("tracked", "2");
    world.file("staged", "new");
    world.file("untracked", "new");
    world.git(["add", "staged"]).success();
    let status = || world.git(["status", "--porcelain"]).stdout().to_owned();
    let before = status();
    let clean = ["-c", "checkpoint.lockTimeout=1s", "checkpoint", "pause", "--clean"];
    world.file(".git/index.lock", "");
    for _ in 0..2 {
        world.git(clean).code(5).stderr_has("index.lock");
        assert_eq!(status(), before);
    }
    fs::remove_file(world.path(".git/index.lock")).unwrap();
    let mut read_only = fs::metadata(world.path(".git/index")).unwrap().permissions();
    read_only.set_readonly(true);
    fs::set_permissions(world.path(".git/index"), read_only).unwrap();
    world.git(clean).success();
    assert_eq!(status(), "");
    done(&world, &["resume", "--apply"]);
    assert_eq!(status(), before);
}

#[test]
fn e26_an_edit_of_the_same_size_and_time_is_seen() {
    let world = World::with_commit();
    world.file("a", "aaaa");
    world.git(["add", "a"]).success();
    save(&world, "then");
    world.file("a", "bbbb");
    let set = ["-r", ".git/index", "a"];
    world.command("touch", set).run().success();
    done(&world, &["restore", "@"]);
    assert_eq!(text(&world, "a"), "aaaa");
    done(&world, &["undo"]);
    assert_eq!(text(&world, "a"), "bbbb");
}

#[test]
fn e27_a_split_index_comes_back() {
    let world = World::with_commit();
    world.git(["config", "core.splitIndex", "true"]).success();
    world.git(["update-index", "--split-index"]).success();
    world.file("a", "staged");
    world.git(["add", "a"]).success();
    let then = world.git_line(["ls-files", "-s"]);
    save(&world, "then");
    world.git(["rm", "-q", "--cached", "a"]).success();
    world.file("README.md", "now\n");
    world.git(["add", "README.md"]).success();
    done(&world, &["restore", "@", "--index"]);
    assert_eq!(world.git_line(["ls-files", "-s"]), then);
    world.git(["fsck", "--strict"]).success();
    done(&world, &["undo"]);
    assert_eq!(world.git_line(["diff", "--cached", "--name-only"]), "README.md");
}

#[test]
fn e28_other_repositories_are_not_entered_even_where_git_would() {
    let world = World::with_commit();
    world.git(["clone", "-q", ".", "../library"]).success();
    world
        .git([
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "-q",
            "add",
            "../library",
            "lib",
        ])
        .success();
    world.git(["commit", "-qm", "library"]).success();
    world.git(["config", "submodule.recurse", "true"]).success();
    world.file("lib/README.md", "edited there\n");
    world.file("lib/new", "new there");
    // What looks like a repository and is none is a directory like any other.
    world.file("odd/.git", "garbage");
    world.file("odd/file", "then");
    fs::create_dir_all(world.path("hollow/.git")).unwrap();
    world.file("hollow/file", "then");
    let receipt = world.checkpoint(["save", "-m", "then"]);
    assert!(matches!(receipt.status().code(), Some(0 | 7)), "{receipt}");
    world.file("README.md", "now\n");
    world.file("odd/file", "now");
    world.file("hollow/file", "now");
    done(&world, &["restore", "@"]);
    assert_eq!(
        (text(&world, "lib/README.md"), text(&world, "lib/new")),
        ("edited there\n".into(), "new there".into())
    );
    assert_eq!(text(&world, "odd/.git"), "garbage");
    assert_eq!(text(&world, "README.md"), "hello\n");
    done(&world, &["undo"]);
    assert_eq!(text(&world, "README.md"), "now\n");
    assert_eq!(text(&world, "lib/README.md"), "edited there\n");
}

#[test]
fn e34_dates_without_sense_change_nothing() {
    let world = World::with_commit();
    world.file("a", "then");
    for date in ["@0 +0545", "@99999999999 -1200", "@1 +0000"] {
        let run = |args: &[&str]| {
            let run = world.command(PROGRAM, args);
            run.env("GIT_COMMITTER_DATE", date).env("GIT_AUTHOR_DATE", date).run()
        };
        world.file("a", date);
        run(&["save", "-m", date]).success();
        world.file("a", "now");
        run(&["restore", "@"]).success();
        assert_eq!(text(&world, "a"), date);
        run(&["undo"]).success();
        assert_eq!(text(&world, "a"), "now");
    }
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn e35_names_that_differ_in_case_alone() {
    let world = World::with_commit();
    world.git(["config", "core.ignoreCase", "true"]).success();
    world.file("File", "1");
    world.file("file", "2");
    let saved = world.checkpoint(["save", "-m", "then"]);
    assert!(matches!(saved.status().code(), Some(0 | 7)), "{saved}");
    saved
        .stderr_has("'File' and 'file' are alike")
        .stderr_has("git config core.ignoreCase false");
    world.file("File", "now");
    // The setting says that both are one file, so which one would be written cannot be known.
    let refused = world.checkpoint(["restore", "@"]);
    assert!(!refused.is_success() && refused.stderr().contains("ile'"), "{refused}");
    refused.stderr_has("hint: core.ignoreCase is set");
    assert_eq!((text(&world, "File"), text(&world, "file")), ("now".into(), "2".into()));
    world.git(["config", "core.ignoreCase", "false"]).success();
    done(&world, &["restore", "@"]);
    assert_eq!((text(&world, "File"), text(&world, "file")), ("1".into(), "2".into()));
    // Directories below others as well; and nothing is said of them where both are two.
    world.file("sub/Dir/x", "1");
    world.file("sub/dir/y", "2");
    world.checkpoint(["save", "-m", "two"]).success().no_stderr();
    fs::remove_file(world.path("File")).unwrap();
    world.git(["config", "core.ignoreCase", "true"]).success();
    world
        .checkpoint(["save", "-m", "three"])
        .stderr_has("'sub/Dir' and 'sub/dir' are alike");
}

#[test]
fn e36_names_that_git_does_not_store_stay_as_they_are() {
    let world = World::with_commit();
    for name in [".GIT/f", "git~1/f", ".git /f", "a\\b", "x:y", "com1"] {
        world.file(name, "then");
    }
    let receipt = world.checkpoint(["save", "-m", "then"]);
    receipt
        .success()
        .stderr_has("3 paths not saved")
        .stderr_has("a name that git does not store");
    for name in [".GIT/f", "git~1/f", ".git /f", "a\\b", "x:y", "com1"] {
        world.file(name, "now");
    }
    done(&world, &["restore", "@"]);
    for name in [".GIT/f", "git~1/f", ".git /f"] {
        assert_eq!(text(&world, name), "now", "{name}");
    }
    for name in ["a\\b", "x:y", "com1"] {
        assert_eq!(text(&world, name), "then", "{name}");
    }
}

#[test]
fn e37_e53_e55_directories_times_and_other_names_of_a_file() {
    let world = World::with_commit();
    fs::create_dir_all(world.path("empty/inner")).unwrap();
    world.file("a", "then");
    save(&world, "then");
    let id = |path: &str| fs::metadata(world.path(path)).unwrap().ino();
    let untouched = (
        id("README.md"),
        fs::metadata(world.path("README.md")).unwrap().mtime_nsec(),
    );
    fs::remove_dir_all(world.path("empty")).unwrap();
    world.file("a", "now");
    fs::hard_link(world.path("a"), world.root().join("another name")).unwrap();
    let plan = done(&world, &["restore", "@", "--dry-run"]);
    assert!(plan.contains("its other hard links stay as they are"), "{plan}");
    done(&world, &["restore", "@"]);
    assert!(world.path("empty/inner").is_dir());
    assert_eq!(text(&world, "a"), "then");
    // A file outside keeps what was edited through its other name.
    assert_eq!(fs::read(world.root().join("another name")).unwrap(), b"now");
    let now = (
        id("README.md"),
        fs::metadata(world.path("README.md")).unwrap().mtime_nsec(),
    );
    assert_eq!(now, untouched);
}

#[test]
fn e38_other_formats_of_repositories() {
    for format in ["--ref-format=reftable", "--object-format=sha256"] {
        let world = World::without_repository();
        world.git(["init", "-q", "-b", "main", format, "."]).success();
        world.file("README.md", "hello\n");
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "first"]).success();
        world.file("s", "staged");
        world.git(["add", "s"]).success();
        world.file("s", "then");
        save(&world, "then");
        let then = (world.git_line(["status", "--porcelain=v2"]), text(&world, "s"));
        world.git(["rm", "-qf", "--cached", "s"]).success();
        world.file("s", "now");
        every_way(&world);
        done(&world, &["restore", "@", "--index"]);
        assert_eq!((world.git_line(["status", "--porcelain=v2"]), text(&world, "s")), then);
        world.git(["fsck", "--strict"]).success();
    }
}

#[test]
fn e40_a_partial_clone_needs_no_network() {
    let world = World::with_commit();
    world.git(["config", "uploadpack.allowFilter", "true"]).success();
    let url = format!("file://{}", world.repo().display());
    world
        .git(["clone", "-q", "--filter=blob:none", "--sparse", &url, "../clone"])
        .success();
    fs::rename(world.repo(), world.root().join("gone")).unwrap();
    world.enter("clone");
    world.file("a", "then");
    world.file("README.md", "then\n");
    save(&world, "then");
    world.file("a", "now");
    world.file("README.md", "now\n");
    done(&world, &["restore", "@"]);
    assert_eq!(
        (text(&world, "a"), text(&world, "README.md")),
        ("then".into(), "then\n".into())
    );
    done(&world, &["undo"]);
    assert_eq!(text(&world, "README.md"), "now\n");
}

#[test]
fn e46_variables_of_another_repository() {
    let world = saved(&[("a", "then")]);
    world.file("a", "now");
    world.git(["init", "-q", "../other"]).success();
    // Meant: the repository that the variables name, as for git itself.
    let run = world.command(PROGRAM, ["restore", "@"]).within("../other");
    let named = run
        .env("GIT_DIR", world.path(".git"))
        .env("GIT_WORK_TREE", world.repo())
        .run();
    named.success();
    assert_eq!(text(&world, "a"), "then");
    assert!(!world.root().join("other/a").exists());
    // Left over from a hook: the index that it named is not written.
    world.file("stray-index", "not an index");
    let run = world.command(PROGRAM, ["undo"]);
    let hooked = run.env("GIT_INDEX_FILE", world.path("stray-index")).run();
    assert_eq!(text(&world, "stray-index"), "not an index", "{hooked}");
}

#[test]
fn e50_e57_without_index_its_bytes_stay() {
    let world = World::with_commit();
    world.file("README.md", "staged\n");
    world.git(["add", "README.md"]).success();
    world.file("a", "then");
    save(&world, "then");
    world.file("a", "now");
    world.file("README.md", "now\n");
    let before = world.read(".git/index");
    done(&world, &["restore", "@"]);
    done(&world, &["undo"]);
    assert_eq!(world.read(".git/index"), before);
    // Conflicts of an apply are entries of it, which go again.
    let entries = world.git_line(["ls-files", "--stage"]);
    world.checkpoint(["apply", "@"]);
    done(&world, &["undo"]);
    assert_eq!(world.git_line(["ls-files", "--stage"]), entries);
}

#[test]
fn e36_a_tracked_file_that_became_a_link_git_would_read_through() {
    let name = ".gitmodules";
    let world = World::with_commit();
    world.file(name, "# committed\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "a file"]).success();
    fs::remove_file(world.path(name)).unwrap();
    symlink("README.md", world.path(name)).unwrap();
    world.file("a", "then");
    let receipt = world.checkpoint(["save", "-m", "then"]);
    receipt
        .success()
        .stderr_has(name)
        .stderr_has("a name that git does not store");
    world.file("a", "now");
    // It can be restored, and undone, and pushed; the link is nobody's business.
    every_way(&world);
    done(&world, &["restore", "@"]);
    assert_eq!(text(&world, "a"), "then");
    assert_eq!(fs::read_link(world.path(name)).unwrap(), Path::new("README.md"));
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn links_that_git_has_but_does_not_read_through_are_links_like_any() {
    for name in [".gitattributes", ".gitignore", ".mailmap"] {
        let world = World::with_commit();
        world.file("rules", "*.txt text eol=crlf\n");
        symlink("rules", world.path(name)).unwrap();
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "linked"]).success();
        world.file("a.txt", "then\n");
        save(&world, "then");
        world.file("a.txt", "now\n");
        every_way(&world);
        fs::remove_file(world.path(name)).unwrap();
        world.file(name, "a file now\n");
        done(&world, &["restore", "@"]);
        assert_eq!(fs::read_link(world.path(name)).unwrap(), Path::new("rules"));
        assert_eq!(text(&world, "a.txt"), "then\n");
        world.git(["fsck", "--strict"]).success();
    }
}
