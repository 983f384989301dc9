//! Promise 1: saving disturbs nothing of the user's, in every ordinary shape of repository.

use std::fs;

use crate::support::{PROGRAM, World};

/// Saves, pauses, looks and resumes, and compares everything of the user's before and after.
fn disturbs_nothing(world: &World, what: &str) {
    let before = world.fingerprint();
    world.checkpoint(["save", "--session", "s", "-m", "x"]).success();
    for args in [
        vec!["status"],
        vec!["list"],
        vec!["show", "s"],
        vec!["resume", "s"],
        vec!["pause"],
        vec!["verify", "--all"],
    ] {
        world.checkpoint(args).success();
    }
    assert_eq!(world.fingerprint(), before, "{what}");
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn a_dirty_work_tree() {
    let world = World::with_commit();
    world.file("staged.txt", "staged\n");
    world.git(["add", "staged.txt"]).success();
    world.file("src/main.txt", "changed\n");
    world.file("odd/nl\nname \"quoted\" -x", "odd\n");
    world.file(":colon", "odd\n");
    world.file(".gitignore", "*.o\n");
    world.file("a.o", "ignored\n");
    disturbs_nothing(&world, "dirty");
    world
        .git(["ls-tree", "-r", "--name-only", "-z", "refs/checkpoints/s^2"])
        .success()
        .stdout_lacks("a.o")
        .stdout_has(":colon");
}

#[test]
fn no_commit_yet_detached_and_merging() {
    let world = World::new();
    world.file("a", "a\n");
    disturbs_nothing(&world, "unborn");
    let shown = world.checkpoint(["show", "s", "--json"]).success().stdout_json();
    assert!(shown["document"]["git"]["head"].is_null());

    let world = World::with_commit();
    world.git(["checkout", "-q", "--detach"]).success();
    disturbs_nothing(&world, "detached");

    let world = World::with_commit();
    world.git(["switch", "-q", "-c", "side"]).success();
    world.file("src/main.txt", "side\n");
    world.git(["commit", "-qam", "side"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.file("src/main.txt", "main\n");
    world.git(["commit", "-qam", "main"]).success();
    world.git(["merge", "side"]).code(1);
    disturbs_nothing(&world, "merging");
    let list = world
        .git(["show", "refs/checkpoints/s:lists/conflicts"])
        .success()
        .stdout()
        .to_owned();
    assert_eq!(list.lines().count(), 3, "{list}");
    world
        .git(["show", "refs/checkpoints/s:conflicts/1"])
        .success()
        .stdout_is("main\n");
}

#[test]
fn hooks_signing_and_no_identity() {
    let world = World::with_commit();
    for hook in [
        "pre-commit",
        "post-commit",
        "reference-transaction",
        "post-index-change",
        "post-checkout",
        "pre-push",
    ] {
        let path = world.path(format!(".git/hooks/{hook}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\ntouch ../hook-ran\nexit 1\n").unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    world.git(["config", "commit.gpgSign", "true"]).success();
    world.git(["config", "gpg.program", "/bin/false"]).success();
    world.file("x", "x");
    disturbs_nothing(&world, "hooks and signing");
    assert!(!world.root().join("hook-ran").exists());

    let mut run = world.command(PROGRAM, ["save", "--session", "s", "--allow-empty"]);
    for name in [
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    ] {
        run = run.without_env(name);
    }
    run.run().success();
    assert_eq!(
        world.git_line(["log", "-1", "--format=%an <%ae>", "refs/checkpoints/s"]),
        "git-checkpoint <git-checkpoint@localhost>"
    );
}

#[test]
fn linked_work_trees_and_subfolders() {
    let world = World::with_commit();
    world
        .git(["worktree", "add", "-q", "-b", "linked", "../linked"])
        .success();
    world.checkpoint(["save", "--session", "main-one", "-m", "x"]).success();
    let before = world.fingerprint();
    world.enter("linked");
    world.file("only-here.txt", "x\n");
    world
        .checkpoint(["save", "--session", "s", "-m", "from the linked one"])
        .success();
    world
        .git(["ls-tree", "-r", "--name-only", "refs/checkpoints/s^2"])
        .success()
        .stdout_has("only-here.txt");
    let shown = world.checkpoint(["show", "s", "--json"]).success().stdout_json();
    assert_eq!(shown["document"]["worktree"]["id"], "linked-linked");
    assert_eq!(shown["document"]["git"]["branch"], "linked");
    world.enter("repo");
    assert_eq!(world.fingerprint(), before);

    // From a subfolder the whole working tree is saved.
    let run = world
        .command(PROGRAM, ["save", "--session", "deep", "-m", "x"])
        .within("src");
    run.run().success();
    world
        .git(["ls-tree", "-r", "--name-only", "refs/checkpoints/deep^2"])
        .success()
        .stdout_has("README.md");
}

#[test]
fn called_as_git_would() {
    let world = World::with_commit();
    let directory = std::path::Path::new(PROGRAM).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", directory.display());
    let git = |args: &[&str]| world.command("git", args).env("PATH", &path).run();
    git(&["checkpoint", "save", "--session", "s", "-m", "x"]).success();
    git(&["-C", "src", "checkpoint", "log", "s"]).success().stdout_has("x");
    git(&["--git-dir=.git", "checkpoint", "log", "s"])
        .success()
        .stdout_has("x");
    git(&["-c", "alias.cp=checkpoint", "cp", "log", "s"])
        .success()
        .stdout_has("x");
    git(&["-c", "checkpoint.maxFileSize=nonsense", "checkpoint", "save"])
        .code(128)
        .stderr_has("checkpoint.maxFileSize");
    git(&[
        "-c",
        "checkpoint.exclude=*.txt",
        "checkpoint",
        "save",
        "--session",
        "s",
        "-m",
        "y",
    ])
    .success();
}

/// Commands whose outcome rests on children of git: what is saved, compared, restored, exported, pushed and ignored.
fn outcome(variable: Option<(&str, &str)>) -> Vec<String> {
    let world = World::with_commit();
    let origin = world.root().join("o.git");
    world.git(["init", "-q", "--bare", origin.to_str().unwrap()]).success();
    world
        .git(["remote", "add", "origin", origin.to_str().unwrap()])
        .success();
    world.git(["config", "checkpoint.exportTo", "handoff:H.md"]).success();
    world.file(".gitignore", "H.md\n");
    world.file("a*b", "1\n2\n3\n4\n5\n6\n7\n8\n");
    world.file("aXb", "other\n");
    world.file("A*B", "upper\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "odd names"]).success();
    world.file("a*b", "1\n2\n3\n4\nfive\n6\n7\n8\n");
    let mut out = Vec::new();
    // Some ids are of letters alone.
    let short = regex::Regex::new(r"\b[0-9a-f]{8}\b").unwrap();
    let mut run = |args: &[&str]| {
        let command = world.command(PROGRAM, args);
        let ran = match variable {
            Some((name, value)) => command.env(name, value).run(),
            None => command.run(),
        };
        let text = [ran.stdout(), ran.stderr()].concat();
        let text = world.normal(&short.replace_all(&text, "<short>"));
        out.push(format!("{args:?} {:?}\n{text}", ran.status().code()));
    };
    run(&["save", "--session", "s", "-m", "one"]);
    run(&["diff", "--patch", "HEAD", "s"]);
    run(&["status"]);
    run(&["pause", "--clean", "-m", "aside"]);
    run(&["resume", "s", "--apply"]);
    run(&["restore", "s~1", "--force"]);
    run(&["fork", "s", "--name", "t", "--worktree", "../t"]);
    run(&["merge", "t"]);
    run(&["push", "origin", "s"]);
    run(&["fetch", "origin"]);
    run(&["verify", "--all"]);
    out.push(world.git_line(["ls-tree", "-r", "checkpoints/s^2"]));
    out
}

#[test]
fn variables_for_other_commands_of_git_change_no_outcome() {
    let plain = outcome(None);
    for variable in [
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_NOGLOB_PATHSPECS", "1"),
        ("GIT_ICASE_PATHSPECS", "1"),
        ("GIT_TRACE", "1"),
        ("GIT_TRACE2", "1"),
        ("GIT_TRACE_PACKET", "2"),
        ("GIT_TRACE_SETUP", "true"),
        ("GIT_DIFF_OPTS", "--unified=0"),
        ("GIT_NOTES_REF", "refs/notes/other"),
        ("GIT_PRINT_SHA1_ELLIPSIS", "yes"),
        ("GIT_PAGER", "false"),
        ("GIT_EDITOR", "false"),
        ("GIT_DEFAULT_REF_FORMAT", "reftable"),
        ("GIT_INDEX_VERSION", "4"),
    ] {
        let now = outcome(Some(variable));
        for (was, now) in plain.iter().zip(&now) {
            assert_eq!(now, was, "{variable:?}");
        }
    }
}

#[test]
fn pathspecs_are_reported_as_they_were_given() {
    let world = World::with_commit();
    world.checkpoint(["save", "--session", "s", "-m", "one"]).success();
    for variable in [
        "GIT_LITERAL_PATHSPECS",
        "GIT_NOGLOB_PATHSPECS",
        "GIT_GLOB_PATHSPECS",
        "GIT_ICASE_PATHSPECS",
    ] {
        let message = "pathspec 'no*file' did not match";
        let git = world
            .command("git", ["ls-files", "--error-unmatch", "--", "no*file"])
            .env(variable, "1")
            .run();
        assert_eq!(git.status().code(), Some(1));
        git.stderr_has(message);
        for words in [&["restore", "s"][..], &["apply", "s"], &["diff", "s"], &["log"]] {
            let words = words.iter().chain(&["--", "no*file"]);
            let out = world.command(PROGRAM, words).env(variable, "1").run();
            assert!(out.stderr().contains(message), "{variable}: {out}");
        }
    }
    let out = world
        .command(PROGRAM, ["restore", "s", "--", ":(odd)x"])
        .env("GIT_ICASE_PATHSPECS", "1")
        .run();
    out.stderr_has("':(odd)x'");
}
