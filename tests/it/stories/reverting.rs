//! What a restore takes back besides what was saved: commits that came since; and undo, which takes back what was done
//! last, whole, or says that it cannot.

use crate::support::World;

/// A world with a checkpoint and commits since.
fn committed_since() -> World {
    let world = World::with_commit();
    for path in ["a", "b", "c", "d/e"] {
        world.file(path, "1\n");
    }
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "first"]).success();
    world.file("a", "wip\n");
    world.checkpoint(["save", "--session", "s", "-m", "wip on a"]).success();
    world.git(["checkout", "-q", "--", "."]).success();
    world
}

/// A change of the files of a world.
type Change<'a> = &'a dyn Fn(&World);

#[test]
fn committed_work_is_not_taken_back_unasked() {
    // What the commit since does, and the path that restore would take back.
    let commits: [(&str, Change); 6] = [
        ("b", &|world| world.file("b", "fixed\n")),
        ("new", &|world| world.file("new", "added\n")),
        ("c", &|world| std::fs::remove_file(world.path("c")).unwrap()),
        ("d/e", &|world| world.file("d/e", "fixed\n")),
        ("a", &|world| world.file("a", "fixed otherwise\n")),
        ("moved", &|world| {
            std::fs::rename(world.path("b"), world.path("moved")).unwrap();
        }),
    ];
    for (path, commit) in commits {
        let world = committed_since();
        commit(&world);
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "hotfix of it"]).success();
        let id = world.git_line(["rev-parse", "--short=8", "HEAD"]);
        let by = format!("changed since by {} 'hotfix of it'", id.trim());
        let refused = world.checkpoint(["restore", "s"]);
        refused
            .code(4)
            .stderr_has("it would revert what was committed since")
            .stderr_has(&by)
            .stderr_has("keep what was committed since: git checkpoint apply");
        assert_eq!(
            world.git_line(["status", "--porcelain"]),
            "",
            "{path}: nothing was changed"
        );
        let planned = world.checkpoint(["restore", "s", "--dry-run"]);
        planned.code(4).stdout_has("revert").stdout_has(path).stdout_has(&by);
        let json = world.checkpoint(["restore", "s", "--dry-run", "--json"]).stdout_json();
        let lines = json["plan"].as_array().unwrap();
        assert!(
            lines.iter().any(|line| line["act"] == "revert" && line["path"] == path),
            "{json}"
        );
        let restored = world.checkpoint(["restore", "s", "--force"]);
        restored
            .success()
            .stdout_has("revert")
            .stdout_has("changed by commits since");
        assert_eq!(world.read("a"), b"wip\n");
        world.checkpoint(["undo"]).success();
        assert_eq!(world.git_line(["status", "--porcelain"]), "", "{path}: undone");
        // Only paths that no commit changed: nothing to ask.
        if path != "a" {
            world
                .checkpoint(["restore", "s", "--", "a"])
                .success()
                .stdout_lacks("revert");
        }
    }
}

#[test]
fn what_was_committed_as_it_was_saved_is_no_reversal() {
    let world = committed_since();
    world.file("a", "wip\n");
    world.git(["commit", "-qam", "the same"]).success();
    world.file("a", "further\n");
    world.checkpoint(["restore", "s"]).success().stdout_lacks("revert");
    assert_eq!(world.read("a"), b"wip\n");
}

/// What was staged since is not what the step changed in the index.
#[test]
fn a_reversed_step_keeps_what_was_staged_since() {
    let world = World::with_commit();
    for path in ["a", "b"] {
        world.file(path, "1\n");
    }
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "files"]).success();
    world.checkpoint(["save", "--session", "s", "-m", "one"]).success();
    world.file("a", "2\n");
    world.file("b", "2\n");
    world.git(["add", "b"]).success();
    world.checkpoint(["save", "--session", "s", "-m", "two"]).success();
    world.git(["add", "a"]).success();
    let before = world.git_line(["status", "--porcelain"]);
    let planned = world.checkpoint(["apply", "--reverse", "s", "--index", "--dry-run"]);
    planned.success().stdout_has("Would revert ");
    let reverted = world.checkpoint(["apply", "--reverse", "s", "--index"]);
    reverted.success().stdout_has("Reverted ");
    assert_eq!([world.read("a"), world.read("b")], [b"1\n", b"1\n"]);
    assert_eq!(world.git_line(["show", ":a"]), "2");
    assert_eq!(world.git_line(["show", ":b"]), "1");
    world.checkpoint(["undo"]).success().stdout_has("'reverted ");
    assert_eq!(world.git_line(["status", "--porcelain"]), before);
    world.checkpoint(["apply", "--reverse", "s"]).success();
    world
        .checkpoint(["apply", "--reverse", "s"])
        .success()
        .stdout_has("Nothing to revert of ");
}

#[test]
fn one_command_is_one_undo() {
    for names in [&["a", "b"][..], &["a", "b", "c"], &["b", "a"], &["a", "a"], &["c"]] {
        let world = World::with_commit();
        for name in ["a", "b", "c"] {
            world.checkpoint(["start", name]).success();
            world.file("README.md", name);
            world.checkpoint(["save", "-m", name]).success();
        }
        let refs = || world.git_line(["for-each-ref", "--format=%(refname) %(objectname)", "refs/checkpoints/"]);
        let current = || world.checkpoint(["status", "--json"]).stdout_json()["current"]["session"].clone();
        let before = (refs(), current());
        world.checkpoint([&["delete"], names].concat()).success();
        for name in names {
            assert!(
                !refs()
                    .lines()
                    .any(|line| line.starts_with(&format!("refs/checkpoints/{name} ")))
            );
        }
        world.checkpoint(["undo"]).success();
        assert_eq!((refs(), current()), before, "{names:?}");
        world.checkpoint(["redo"]).success();
        world.checkpoint(["undo"]).success();
        assert_eq!((refs(), current()), before, "{names:?}");
    }
    // All or none.
    let world = World::with_commit();
    world.checkpoint(["start", "a"]).success();
    world.checkpoint(["delete", "a", "nosuch"]).code(3);
    assert_ne!(world.git_line(["for-each-ref", "refs/checkpoints/a"]), "");
}

#[test]
fn what_cannot_be_undone_is_said_instead_of_undoing_something_older() {
    for (since, word) in [
        (&["start", "new"][..], "start"),
        (&["save", "--allow-empty", "-m", "more"], "save"),
        (&["pause", "--allow-empty", "-m", "more"], "pause"),
        (&["switch", "other"], "switch"),
        (&["save", "--allow-empty", "--session", "fresh", "-m", "more"], "save"),
    ] {
        let world = World::with_commit();
        for name in ["other", "old", "mine"] {
            world.checkpoint(["start", name]).success();
        }
        world.advance(60);
        world.checkpoint(["delete", "old"]).success();
        world.advance(60);
        let done = world.checkpoint(since);
        if !done.is_success() {
            continue;
        }
        if since.contains(&"fresh") {
            world.checkpoint(["switch", "fresh"]);
        }
        let refused = world.checkpoint(["undo"]);
        refused
            .code(4)
            .stderr_has("cannot be undone; the last command that can be: deleted session old")
            .stderr_has("git checkpoint undo --older");
        if !since.contains(&"fresh") {
            refused.stderr_has(&format!("'{word}' ("));
        }
        assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints/old"]), "");
        world.checkpoint(["undo", "--older"]).success();
        assert_ne!(
            world.git_line(["for-each-ref", "refs/checkpoints/old"]),
            "",
            "{since:?}"
        );
    }
    // Notes are such commands as well; what was taken back meanwhile is none.
    let world = World::with_commit();
    world.checkpoint(["start", "old"]).success();
    world.checkpoint(["start", "mine"]).success();
    world.checkpoint(["delete", "old"]).success();
    world.checkpoint(["todo", "add", "x"]).success();
    world.checkpoint(["rename", "mine", "yours"]).success();
    world.checkpoint(["undo"]).success();
    world.checkpoint(["undo"]).code(4).stderr_has("'todo' (");
    assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints/old"]), "");
    world.checkpoint(["undo", "--older"]).success();
    assert_ne!(world.git_line(["for-each-ref", "refs/checkpoints/old"]), "");
}

/// What a fork did since the checkpoint that both come from, and no more; and one step taken back.
#[test]
fn apply_compares_with_what_both_come_from() {
    let world = World::with_commit();
    world.checkpoint(["start", "base"]).success();
    world.file("app", "one\n2\n3\n4\nfive\n");
    world.file("same", "uncommitted\n");
    world.checkpoint(["save", "-m", "two"]).success();
    world
        .checkpoint(["fork", "@", "--name", "a", "--worktree", "../wa"])
        .success();
    let there = |args: &[&str]| world.command(crate::support::PROGRAM, args).within("../wa").run();
    world.file("../wa/app", "server\n2\n3\n4\nfive\n");
    world.file("../wa/new", "of the fork\n");
    there(&["save", "-m", "a"]).success();
    // On the uncommitted work that both have: no conflict, and the present's own edit stays.
    world.file("app", "one\n2\n3\n4\nFIVE\n");
    world.checkpoint(["apply", "a"]).success().stdout_lacks("conflict");
    assert_eq!(world.read("app"), b"server\n2\n3\n4\nFIVE\n");
    assert_eq!(world.read("new"), b"of the fork\n");
    assert_eq!(world.read("same"), b"uncommitted\n");
    world.checkpoint(["undo"]).success();
    // The same changes as git's own patch brings.
    world.file("app", "one\n2\n3\n4\nfive\n");
    world.checkpoint(["apply", "a"]).success();
    assert_eq!(world.read("app"), b"server\n2\n3\n4\nfive\n");
    world.checkpoint(["undo"]).success();
    // A file that a person deleted is a change, as for git.
    std::fs::remove_file(world.path("app")).unwrap();
    std::fs::remove_file(world.path("same")).unwrap();
    world.checkpoint(["apply", "a"]).code(1).stdout_has("conflict app");
    assert!(!world.path("same").exists());
    world.checkpoint(["apply", "--abort"]).success();
    world.file("app", "one\n2\n3\n4\nfive\n");
    world.file("same", "uncommitted\n");
    // Where the files were put aside, all of the fork's work is brought.
    world.checkpoint(["pause", "--clean"]).success();
    world.checkpoint(["apply", "a"]).success().stdout_lacks("conflict");
    assert_eq!(world.read("app"), b"server\n2\n3\n4\nfive\n");
    assert_eq!(world.read("same"), b"uncommitted\n");
}

#[test]
fn one_step_is_taken_back_and_later_edits_stay() {
    let world = World::with_commit();
    world.file("code", "a\nb\nc\nd\ne\nf\ng\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "code"]).success();
    world
        .checkpoint(["save", "--session", "s", "--allow-empty", "-m", "before"])
        .success();
    world.file("code", "a\nAGENT\nc\nd\ne\nf\ng\n");
    world.file("agents", "file\n");
    std::fs::remove_file(world.path("README.md")).unwrap();
    world.checkpoint(["save", "-m", "the agent's step"]).success();
    world.file("code", "a\nAGENT\nc\nd\ne\nmine\ng\n");
    world.file("mine", "later\n");
    world.checkpoint(["apply", "--reverse", "s"]).success();
    assert_eq!(world.read("code"), b"a\nb\nc\nd\ne\nmine\ng\n");
    assert_eq!(world.read("mine"), b"later\n");
    assert!(!world.path("agents").exists() && world.path("README.md").exists());
    world.checkpoint(["undo"]).success();
    assert_eq!(world.read("code"), b"a\nAGENT\nc\nd\ne\nmine\ng\n");
    assert_eq!(world.read("agents"), b"file\n");
    // Where the later edit is of the same lines it is a conflict.
    world.file("code", "a\nAGENT and me\nc\nd\ne\nmine\ng\n");
    world
        .checkpoint(["apply", "-R", "s"])
        .code(1)
        .stdout_has("conflict code");
    world.checkpoint(["apply", "--abort"]).success();
    assert_eq!(world.read("code"), b"a\nAGENT and me\nc\nd\ne\nmine\ng\n");
}
