//! Files and directories that may not be read: they cost nothing else, count as not saved, and are named wherever
//! "saved" is said.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::{World, as_nobody, unprivileged};

/// What may not be read, by its mode, and the paths that are named.
const ROWS: &[(&str, &str, u32, &[&str])] = &[
    ("a tracked file", "src/main.txt", 0o000, &["src/main.txt"]),
    (
        "a tracked file of which only writing is allowed",
        "src/main.txt",
        0o200,
        &["src/main.txt"],
    ),
    ("a tracked directory without any permission", "src", 0o000, &["src"]),
    (
        "a tracked directory that may be listed and not entered",
        "src",
        0o600,
        &["src"],
    ),
    (
        "a tracked directory that may be entered and not listed",
        "src",
        0o100,
        &["src"],
    ),
    ("an untracked file", "new/file", 0o000, &["new/file"]),
    ("an untracked directory", "new", 0o000, &["new"]),
    ("a directory in a tracked one", "src/ü deep", 0o000, &["src/ü deep"]),
    ("a file of rules", "src/.gitattributes", 0o000, &["src/.gitattributes"]),
];

/// The paths in a list of what is left out.
fn named(list: &serde_json::Value) -> Vec<String> {
    let rows = list.as_array().unwrap().iter();
    let unreadable = rows.filter(|row| row["reason"] == "unreadable");
    let paths = unreadable.map(|row| row["path"].as_str().unwrap().to_owned());
    paths.collect()
}

#[test]
fn what_may_not_be_read_is_named_everywhere() {
    for (what, path, mode, expected) in ROWS {
        let world = World::with_commit();
        world.file("new/file", "untracked\n");
        world.file("src/ü deep/file", "untracked\n");
        world.file("src/.gitattributes", "*.txt text\n");
        world.file("work", "work\n");
        let Some(started) = as_nobody(&world, ["start", "s"]) else {
            return;
        };
        started.success();
        if *path == "src/main.txt" {
            world.file(path, "edited\n");
        }
        let place = world.path(path);
        fs::set_permissions(&place, fs::Permissions::from_mode(*mode)).unwrap();
        let receipt = unprivileged(&world, ["save", "-m", "one", "--json"]).run();
        let listed = named(&receipt.code(7).stdout_json()["skipped"]);
        assert!(!listed.is_empty(), "{what}: {receipt}");
        let is_expected = |path: &String| {
            expected
                .iter()
                .any(|start| path.contains(start) || path.starts_with("\"src/"))
        };
        assert!(listed.iter().all(is_expected), "{what}: {listed:?}");
        let status = unprivileged(&world, ["status", "--json"]).run().success().stdout_json();
        assert_eq!(named(&status["left_out"]), listed, "{what}");
        let status = unprivileged(&world, ["status", "--exit-code"]).run();
        status
            .code(1)
            .stdout_has("unreadable")
            .stdout_lacks("everything is saved");
        unprivileged(&world, ["pause", "-m", "two"])
            .run()
            .code(7)
            .stderr_has("could not be read");
        unprivileged(&world, ["resume", "s"])
            .run()
            .success()
            .stderr_has("unreadable");
        unprivileged(&world, ["show", "s"])
            .run()
            .success()
            .stdout_has("nreadable");
        let forked = unprivileged(&world, ["fork", "s", "--name", "f", "--worktree", "../fk", "--json"]).run();
        let left = forked.success().stdout_json()["forks"][0]["worktree"]["left_out"].clone();
        assert_eq!(named(&left), listed, "{what}");
        let forked = unprivileged(&world, ["fork", "s", "--name", "g", "--worktree", "../gk"]).run();
        forked.success().stdout_has("unreadable").stdout_has(": not saved");
        // The rest is saved, and the same in a fork's working tree keeps that from being removed.
        let work = world.git(["-c", "safe.directory=*", "show", "checkpoints/s^2:work"]);
        work.success().stdout_is("work\n");
        let inside = world.root().join("fk").join(path);
        if inside.exists() {
            fs::set_permissions(&inside, fs::Permissions::from_mode(*mode)).unwrap();
            let removed = unprivileged(&world, ["fork", "--remove", "f"]).run();
            assert!(!removed.is_success(), "{what}: {removed}");
            removed.stderr_has("src");
        }
        // Nothing that may not be read is taken for deleted.
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
        unprivileged(&world, ["restore", "s", "--force"]).run();
        assert!(place.exists(), "{what}");
        unprivileged(&world, ["verify", "--all"]).run().success();
    }
}
