//! What two checkpoints have in common: the common checkpoint, else the merge base of their commits, is the base of `diff`,
//! `compare`, `apply` and `merge`.

use crate::support::World;

fn commit(world: &World, path: &str, text: &str) {
    world.file(path, text);
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", path]).success();
}

/// Two forks of uncommitted work, each with an edit, a deletion and a decision of its own.
fn forked() -> World {
    let world = World::with_commit();
    world.file("shared", "uncommitted when it was forked\n");
    world.file("gone", "uncommitted\n");
    world.checkpoint(["save", "--session", "base", "-m", "base"]).success();
    for name in ["one", "two"] {
        let place = format!("../{name}");
        world
            .checkpoint(["fork", "base", "--name", name, "--worktree", &place])
            .success();
        world.enter(name);
        world.file(format!("only-{name}"), "new\n");
        world.file("src/main.txt", format!("one\ntwo\nthree\n{name}\n"));
        if name == "two" {
            std::fs::remove_file(world.path("gone")).unwrap();
            commit(&world, "committed", "in the fork\n");
        }
        world.checkpoint(["decision", "add", &format!("use {name}")]).success();
        world.checkpoint(["save", "-m", name]).success();
        world.enter("repo");
    }
    world
}

#[test]
fn a_diff_from_the_common_checkpoint_has_the_changes_of_one_side() {
    let world = forked();
    for line in [&["diff", "--merge-base", "one", "two"][..], &["diff", "one...two"]] {
        let diff = world.checkpoint(line);
        diff.success()
            .stdout_has(" three\n+two")
            .stdout_has("deleted file")
            .stdout_has("use two");
        diff.stdout_lacks("only-one")
            .stdout_lacks("shared")
            .stdout_lacks("use one");
    }
    // The patch is that of git between the common snapshot and the fork's.
    let base = world.git_line(["rev-parse", "checkpoints/base^2"]);
    let want = world.git(["diff", "--no-color", "--full-index", &base, "checkpoints/one^2"]);
    let have = world.checkpoint(["diff", "two...one", "--no-record"]);
    let lines = |text: &str| {
        let plain = text.lines().filter(|line| !line.starts_with("index "));
        plain.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines(have.success().stdout()), lines(want.success().stdout()));
    let json = world.checkpoint(["diff", "--merge-base", "two", "one", "--json"]);
    let json = json.success().stdout_json();
    assert_eq!(json["old"], world.git_line(["rev-parse", "checkpoints/base"]));
    // Two dots are the plain form, and the working tree can be the newer side.
    let plain = world.checkpoint(["diff", "one..two", "--name-only"]);
    plain.success().stdout_has("only-one").stdout_has("only-two");
    world.file("edited-here", "now\n");
    let now = world.checkpoint(["diff", "--merge-base", "two", "--name-only"]);
    assert_eq!(now.success().stdout(), "edited-here\n");
}

#[test]
fn without_a_common_checkpoint_the_merge_base_of_the_commits_is_the_base() {
    let world = World::with_commit();
    world.git(["switch", "-qc", "topic"]).success();
    commit(&world, "topic", "committed on the branch\n");
    world.file("src/main.txt", "zero\none\ntwo\nthree\n");
    world.file("topic-notes", "uncommitted\n");
    world
        .checkpoint(["save", "--session", "topic", "-m", "topic"])
        .success();
    world.git(["stash", "-qu"]).success();
    world.git(["switch", "-q", "main"]).success();
    commit(&world, "README.md", "hello, changed\n");
    world.file("src/main.txt", "one\ntwo\nthree\nfour\n");
    world.checkpoint(["save", "--session", "own", "-m", "own"]).success();
    let base = world.git_line(["merge-base", "main", "topic"]);

    let json = world.checkpoint(["compare", "own", "topic", "--json"]);
    let json = json.success().stdout_json();
    assert!(json["common"].is_null());
    let common = &json["common_commit"];
    assert_eq!(common["id"], base);
    let paths = |list: &serde_json::Value| -> Vec<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|change| change["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(paths(&common["a"]), ["README.md", "src/main.txt"]);
    assert_eq!(paths(&common["b"]), ["src/main.txt", "topic", "topic-notes"]);
    assert_eq!(paths(&common["both"]), ["src/main.txt"]);
    assert_eq!(common["both"][0]["conflict"], false);
    let text = world.checkpoint(["compare", "own", "topic"]);
    text.success()
        .stdout_has(&format!("Both come from commit {}", &base[..8]));

    let diff = world.checkpoint(["diff", "own...topic", "--name-only"]);
    assert_eq!(diff.success().stdout(), "src/main.txt\ntopic\ntopic-notes\n");

    // An apply brings what was not committed, as a stash does, and with the option the commits as well.
    world.checkpoint(["apply", "topic", "--session", "own"]).success();
    assert_eq!(world.read("src/main.txt"), b"zero\none\ntwo\nthree\nfour\n");
    assert!(world.path("topic-notes").exists() && !world.path("topic").exists());
    world.checkpoint(["undo"]).success();
    world.checkpoint(["apply", "topic", "--merge-base"]).success();
    assert_eq!(world.read("src/main.txt"), b"zero\none\ntwo\nthree\nfour\n");
    assert!(world.path("topic-notes").exists() && world.path("topic").exists());
    assert_eq!(world.read("README.md"), b"hello, changed\n");
    world.checkpoint(["undo"]).success();
    assert!(!world.path("topic").exists());

    // And a merge of the files is git's own.
    world.checkpoint(["merge", "topic", "--files"]).success();
    for (path, text) in [
        ("src/main.txt", "zero\none\ntwo\nthree\nfour\n"),
        ("topic", "committed on the branch\n"),
        ("topic-notes", "uncommitted\n"),
        ("README.md", "hello, changed\n"),
    ] {
        assert_eq!(world.read(path), text.as_bytes(), "{path}");
    }
}

#[test]
fn histories_that_share_nothing_say_so() {
    let world = World::with_commit();
    world.checkpoint(["save", "--session", "own", "-m", "own"]).success();
    world.git(["switch", "-q", "--orphan", "other"]).success();
    commit(&world, "other", "other\n");
    world
        .checkpoint(["save", "--session", "other", "-m", "other"])
        .success();
    world
        .checkpoint(["compare", "own", "other"])
        .success()
        .stdout_has("no common checkpoint and no common commit");
    world
        .checkpoint(["diff", "own...other"])
        .code(3)
        .stderr_has("come from no common commit");
}

/// A restore of a fork's checkpoint puts its files there exactly, and takes back with `undo`; what it would revert is
/// measured from where both come from.
#[test]
fn a_restore_between_forks_is_exact() {
    let world = forked();
    world.checkpoint(["restore", "one", "--force"]).success();
    let tree = world.git_line(["rev-parse", "checkpoints/one^2^{tree}"]);
    world.git(["add", "-A"]).success();
    assert_eq!(world.git_line(["write-tree"]), tree);
    world.git(["reset", "-q"]).success();
    world.checkpoint(["undo"]).success();
    assert!(!world.path("only-one").exists());
    assert_eq!(world.read("gone"), b"uncommitted\n");
    // The other one was saved after a commit of its own, which is not in this history.
    let refused = world.checkpoint(["restore", "two"]);
    refused
        .code(4)
        .stderr_has("not an ancestor of HEAD")
        .stderr_has("git checkpoint apply ");
    world.checkpoint(["apply", "two"]).success();
    assert!(!world.path("gone").exists(), "deleted in the fork, and unchanged here");
    assert_eq!(world.read("committed"), b"in the fork\n");
    assert_eq!(world.read("shared"), b"uncommitted when it was forked\n");
}

/// What is staged has the common checkpoint as its base as well.
#[test]
fn a_diff_of_the_index_is_that_of_git_between_the_index_commits() {
    let world = World::with_commit();
    world.file("staged", "1\n");
    world.git(["add", "staged"]).success();
    world.checkpoint(["save", "--session", "base", "-m", "base"]).success();
    let edits: [&dyn Fn(&World); 5] = [
        &|w| {
            w.file("staged", "1\n2\n");
            w.git(["add", "staged"]).success();
            w.file("staged", "1\n2\nnot staged\n");
        },
        &|w| {
            w.git(["rm", "-q", "--cached", "src/main.txt"]).success();
        },
        &|w| {
            w.git(["update-index", "--chmod=+x", "README.md"]).success();
        },
        &|w| {
            w.file("new", "new\n");
            w.git(["add", "new"]).success();
        },
        &|w| w.file("src/main.txt", "only on the disk\n"),
    ];
    let lines = |text: &str| {
        let plain = text.lines().filter(|line| !line.starts_with("index "));
        plain.map(str::to_owned).collect::<Vec<_>>()
    };
    for (n, edit) in edits.iter().enumerate() {
        let name = format!("f{n}");
        world
            .checkpoint(["fork", "base", "--name", &name, "--worktree", &format!("../{name}")])
            .success();
        world.enter(&name);
        edit(&world);
        world.checkpoint(["save", "-m", &name]).success();
        let (base, tip) = ("checkpoints/base^2^2", format!("checkpoints/{name}^2^2"));
        let want = world.git(["diff", "--no-color", "--full-index", base, &tip]);
        let want = lines(want.success().stdout());
        for args in [
            vec!["diff", "--cached", &format!("base...{name}")[..], "--no-record"],
            vec!["diff", "--staged", "--merge-base", "base", &name, "--no-record"],
            vec!["diff", "--cached", "base", "--no-record"],
            vec!["diff", "--cached", "base", &name, "--no-record"],
        ] {
            let have = world.checkpoint(&args);
            assert_eq!(lines(have.success().stdout()), want, "{args:?}");
        }
        let json = world.checkpoint(["diff", "--cached", "base", &name, "--json"]);
        assert_eq!(json.success().stdout_json()["index"], true);
        world.enter("repo");
    }
}

#[test]
fn a_commit_is_compared_as_git_names_it() {
    let world = World::with_commit();
    for n in 1..=3 {
        world.file("f", format!("{n}\n"));
        world.git(["add", "f"]).success();
        world.git(["commit", "-qm", "c"]).success();
    }
    world.git(["tag", "three"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    for (name, before) in [("HEAD~1", "-2"), ("three~2", "-1"), ("HEAD@{1}", "-2")] {
        let old = world.git_line(["rev-parse", name]);
        let shown = world.checkpoint(["diff", name, "--json"]).success().stdout_json();
        assert_eq!(shown["old"], old.trim(), "{name}");
        world.checkpoint(["diff", name, "-p"]).success().stdout_has(before);
    }
    for name in ["HEAD~99", "three~9", "HEAD@{99}"] {
        world.checkpoint(["diff", name]).code(3).no_stdout();
    }
}
