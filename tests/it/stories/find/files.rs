//! The history of a file: each version once, over checkpoints, autosaves, renames and forks; and the way back to one.

use serde_json::Value;

use crate::support::World;

fn versions(world: &World, args: &[&str]) -> Vec<Value> {
    let mut line = vec!["log", "--json"];
    line.extend(args);
    let out = world.checkpoint(line).success().stdout_json();
    out["versions"].as_array().unwrap().clone()
}

fn shape(versions: &[Value]) -> Vec<(&str, &str, usize)> {
    versions
        .iter()
        .map(|version| {
            (
                version["change"].as_str().unwrap(),
                version["path"].as_str().unwrap(),
                version["checkpoints"].as_array().unwrap().len(),
            )
        })
        .collect()
}

/// Eleven lines, so that a changed one leaves the file similar.
fn text(changed: &str) -> String {
    let mut text: String = (0..10).map(|n| format!("line {n} of the text\n")).collect();
    text.push_str(changed);
    text.push('\n');
    text
}

fn world() -> World {
    let world = World::with_commit();
    world.file("a.txt", text("base"));
    world.git(["add", "--all"]).success();
    world.git(["commit", "-q", "-m", "second"]).success();
    world.checkpoint(["start", "s"]).success();
    world
        .checkpoint(["save", "-m", "nothing yet", "--allow-empty"])
        .success();
    world.file("a.txt", text("one"));
    world.checkpoint(["save", "-m", "one"]).success();
    world.file("other.txt", "x\n");
    world.checkpoint(["save", "-m", "other"]).success();
    world.file("a.txt", text("base"));
    world.checkpoint(["save", "-m", "back again"]).success();
    std::fs::create_dir(world.path("dir")).unwrap();
    std::fs::rename(world.path("a.txt"), world.path("dir/b.txt")).unwrap();
    world.file("dir/b.txt", text("moved"));
    world.checkpoint(["save", "-m", "moved"]).success();
    world
}

#[test]
fn each_version_is_listed_once_with_its_checkpoints_and_renames_are_followed() {
    let world = world();
    let found = versions(&world, &["--", "dir/b.txt"]);
    assert_eq!(
        shape(&found),
        [
            ("renamed", "dir/b.txt", 1),
            ("base", "a.txt", 2),
            ("modified", "a.txt", 2)
        ]
    );
    assert_eq!(found[0]["from"], "a.txt");
    assert_eq!(found[0]["introduced"]["subject"], "moved");
    assert_eq!(found[2]["introduced"]["subject"], "one");
    assert_eq!(found[2]["latest"]["subject"], "other");
    assert_eq!(found[2]["lines"]["added"], 1);
    // The blobs are those of git.
    for version in &found {
        let (id, path) = (&version["introduced"]["id"], version["path"].as_str().unwrap());
        let blob = world.git_line(["rev-parse", &format!("{}^2:{path}", id.as_str().unwrap())]);
        assert_eq!(version["object"], blob);
    }
    // The same from the directory, by a pathspec, and of the fork.
    std::fs::create_dir_all(world.path("dir")).unwrap();
    let there = world
        .command(crate::support::PROGRAM, ["log", "--json", "--", "b.txt"])
        .within("dir")
        .run()
        .success()
        .stdout_json();
    assert_eq!(shape(there["versions"].as_array().unwrap()), shape(&found));
    assert_eq!(shape(&versions(&world, &["--", "*b.txt"])), shape(&found));
    world.checkpoint(["fork", "s", "--name", "try"]).success();
    let forked = versions(&world, &["try", "--", "dir/b.txt"]);
    assert_eq!(forked[0]["checkpoints"].as_array().unwrap().len(), 2);
    assert_eq!(forked.len(), 3);
    let table = world.checkpoint(["log", "--", "dir/b.txt"]);
    table
        .success()
        .stdout_has("a.txt -> dir/b.txt")
        .stdout_has("2 checkpoints");
    world
        .checkpoint(["log", "--", "nothing.txt"])
        .code(3)
        .stderr_has("nothing.txt");
}

#[test]
fn deletions_and_autosaves_belong_to_the_history() {
    let world = world();
    world.file("lost.txt", "one\n");
    world.checkpoint(["watch", "--once"]).success();
    world.file("lost.txt", "one\ntwo\n");
    world.checkpoint(["watch", "--once"]).success();
    std::fs::remove_file(world.path("lost.txt")).unwrap();
    world.checkpoint(["save", "-m", "without it"]).success();
    let found = versions(&world, &["--", "lost.txt"]);
    assert_eq!(
        shape(&found),
        [
            ("deleted", "lost.txt", 1),
            ("modified", "lost.txt", 1),
            ("added", "lost.txt", 1)
        ]
    );
    assert_eq!(found[1]["autosaves"], 1);
    assert_eq!(found[0]["object"], Value::Null);
    let listed = world
        .checkpoint(["list", "--autosaves", "--json"])
        .success()
        .stdout_json();
    let listed = listed["autosaves"].as_array().unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|row| row["covered"] == true), "{listed:?}");
    assert_eq!(
        (&listed[0]["session"], &listed[0]["worktree"]),
        (&"s".into(), &"main".into())
    );
    let ids: Vec<&str> = listed.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids[0], found[1]["introduced"]["id"]);
    // A version that only an autosave had can be seen, and comes back.
    world
        .checkpoint(["show", &format!("{}:lost.txt", ids[0])])
        .success()
        .stdout_is("one\ntwo\n");
    world.checkpoint(["restore", ids[1], "--", "lost.txt"]).success();
    assert_eq!(world.read("lost.txt"), b"one\n");
    world
        .checkpoint(["list", "--autosaves"])
        .success()
        .stdout_has(&ids[0][..8]);
    // What is newer than every checkpoint of this working tree is marked as such, until it is saved or recovered.
    for recover in [false, true] {
        world.file("lost.txt", if recover { "three\n" } else { "four\n" });
        world.checkpoint(["watch", "--once"]).success();
        let covered = || {
            let listed = world
                .checkpoint(["list", "--autosaves", "--json"])
                .success()
                .stdout_json();
            listed["autosaves"][0]["covered"].as_bool().unwrap()
        };
        assert!(!covered());
        world
            .checkpoint(["list", "--autosaves"])
            .success()
            .stdout_has("not covered");
        let line = if recover {
            ["resume", "--recover"]
        } else {
            ["save", "-q"]
        };
        world.checkpoint(line).success();
        assert!(covered(), "{recover}");
    }
}

#[test]
fn patches_are_those_of_git() {
    let world = world();
    let log = world.checkpoint(["log", "-p", "--json"]).success().stdout_json();
    let rows = log["checkpoints"].as_array().unwrap();
    for (row, older) in rows.iter().zip(&rows[1..]) {
        let (new, old) = (row["id"].as_str().unwrap(), older["id"].as_str().unwrap());
        let Some(patch) = row["patch"].as_str() else {
            assert_eq!(row["kind"], "start");
            continue;
        };
        let before = if older["kind"] == "start" {
            format!("{new}^2^1")
        } else {
            format!("{old}^2")
        };
        let expected = world.git([
            "diff-tree",
            "-r",
            "-p",
            "--binary",
            "-M50%",
            &before,
            &format!("{new}^2"),
        ]);
        assert_eq!(patch, expected.success().stdout(), "{row}");
    }
    world
        .checkpoint(["log", "-p", "-n", "1"])
        .success()
        .stdout_has("    moved\n\ndiff --git a/a.txt b/dir/b.txt\n")
        .stdout_has("+moved\n");
    let stat = world.checkpoint(["log", "--stat", "-n", "1"]);
    stat.success().stdout_has("b.txt").stdout_has("1 file changed");
    let file = world.checkpoint(["log", "-p", "--", "dir/b.txt"]);
    file.success()
        .stdout_has("rename from a.txt\n")
        .stdout_has("-base\n+one\n");
    world.checkpoint(["log", "--graph", "--", "dir/b.txt"]).code(129);
}

#[test]
fn paths_with_dots_count_from_the_directory_as_in_git() {
    let world = World::with_commit();
    world.file("sub/deep/f.txt", "deep\n");
    world.file("top.txt", "top\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "files"]).success();
    world.checkpoint(["save", "-m", "saved"]).success();
    for (directory, path) in [
        ("sub", "./deep/f.txt"),
        ("sub", "../top.txt"),
        ("sub/deep", "./f.txt"),
        ("sub/deep", "../../top.txt"),
        ("sub/deep", "./../deep/./f.txt"),
        ("sub/deep", "sub/deep/f.txt"),
        (".", "./top.txt"),
    ] {
        let show = |program: &str, selector: &str| {
            let line = ["show".to_owned(), format!("{selector}:{path}")];
            world.command(program, line).within(directory).run()
        };
        let shown = show(crate::support::PROGRAM, "@");
        let wanted = show("git", "HEAD");
        assert_eq!(
            shown.success().stdout(),
            wanted.success().stdout(),
            "{directory}: {path}"
        );
    }
    let outside = world
        .command(crate::support::PROGRAM, ["show", "@:../../x"])
        .within("sub")
        .run();
    outside.code(128).stderr_has("outside the repository");
    world
        .command(crate::support::PROGRAM, ["show", "@:./none"])
        .within("sub")
        .run()
        .code(3)
        .stderr_has("sub/none");
}
