//! Every way by which something leaves for a remote is looked at for secrets.

use std::fs;

use super::{at, save, shared};
use crate::support::World;

/// A token of a well-known form, put together so that it does not stand in this file.
fn token() -> String {
    format!("glpat-{}", "q7Zs2Lx9Rw4Tb8Nd1Kf6")
}

/// The push is refused for a secret that lies in `place`, nothing is published, and it goes when that is allowed.
#[track_caller]
fn refused(world: &World, args: &[&str], place: &str) {
    let with = |more: &[&str]| world.checkpoint(["push"].iter().chain(args).chain(more).copied());
    with(&[])
        .code(4)
        .stderr_has("gitlab-token")
        .stderr_has(place)
        .stderr_lacks(&token()[..12]);
    assert_eq!(at(world, "hub", "refs/checkpoints/auth"), "");
    with(&["--allow-secrets"]).success().stderr_has("published, as allowed");
    assert_ne!(at(world, "hub", "refs/checkpoints/auth"), "");
}

fn started() -> World {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    world
}

#[test]
fn what_only_an_autosave_has_is_looked_at() {
    let world = started();
    save(&world, "clean");
    world.file("draft.cfg", format!("token = {}\nand a line\n", token()));
    world.checkpoint(["watch", "--once"]).success();
    // Without the autosave there is none.
    world.checkpoint(["push", "--dry-run"]).success();
    refused(&world, &["--autosaves"], "draft.cfg:1 (autosaves, autosave ");
}

#[test]
fn commits_that_an_autosave_rests_on_are_looked_at_and_reported() {
    let world = started();
    save(&world, "clean");
    world.file("committed", token());
    world.git(["add", "committed"]).success();
    world.git(["commit", "--quiet", "-m", "a commit"]).success();
    world.git(["rm", "--quiet", "committed"]).success();
    world.git(["commit", "--quiet", "-m", "gone again"]).success();
    world.file("new", "x");
    world.checkpoint(["watch", "--once"]).success();
    let planned = world.checkpoint(["push", "--autosaves", "--allow-secrets", "--dry-run"]);
    planned.success().stdout_has("2 commits of your history");
    refused(&world, &["--autosaves"], "committed:1 (commit ");
}

#[test]
fn messages_and_people_of_commits_are_looked_at() {
    for (place, message, author) in [
        (
            "the message of commit",
            format!("fix\n\nuse {}", token()),
            "Ana <ana@example.org>".to_owned(),
        ),
        (
            "the message of commit",
            format!("use {}", token()),
            "Ana <ana@example.org>".to_owned(),
        ),
        (
            "the author of commit",
            "fix".to_owned(),
            format!("{} <ana@example.org>", token()),
        ),
        (
            "the author of commit",
            "fix".to_owned(),
            format!("Ana <{}@example.org>", token()),
        ),
    ] {
        let world = started();
        world.file("f", "x");
        world.git(["add", "f"]).success();
        world
            .git(["commit", "--quiet", "-m", &message, "--author", &author])
            .success();
        // The subject of HEAD stands in the document as well; another one does not.
        world
            .git(["commit", "--quiet", "--allow-empty", "-m", "last"])
            .success();
        save(&world, "one");
        refused(&world, &[], place);
    }
}

#[test]
fn names_of_files_are_looked_at() {
    for (path, tracked) in [
        (format!("{}.txt", token()), false),
        (format!("{}/inner/file", token()), false),
        (format!("deep/{}", token()), true),
    ] {
        let world = started();
        // More than the document lists.
        for number in 0..60 {
            world.file(format!("a{number:02}"), "same\n");
        }
        world.file(&path, "same\n");
        if tracked {
            world.git(["add", "--all"]).success();
            world.git(["commit", "--quiet", "-m", "names"]).success();
        }
        save(&world, "one");
        refused(&world, &[], "the name of a file");
    }
}

#[test]
fn contents_of_git_lfs_are_looked_at() {
    let world = started();
    let sha256 = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
    let directory = world.path(".git/lfs/objects/4d/7a");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(sha256), format!("key {}\n", token())).unwrap();
    world.file(
        "data.bin",
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize 31\n"),
    );
    save(&world, "one");
    world
        .checkpoint(["push"])
        .code(4)
        .stderr_has("content 4d7a2146:1 (git-lfs)")
        .stderr_lacks(&token()[..12]);
}

#[test]
fn a_tree_deeper_than_git_allows_ends_the_push_with_a_message() {
    let world = started();
    save(&world, "one");
    let blob = world.git_line(["rev-parse", "HEAD:README.md"]);
    let id = world.deep_tree(&format!("100644 blob {blob}\tf"), 3001);
    let commit = world.git_line(["commit-tree", "-m", "deep", "-p", "HEAD", &id]);
    world.git(["update-ref", "HEAD", &commit]).success();
    world.checkpoint(["save", "--no-files", "-m", "deep"]);
    let session = world.git_line(["rev-parse", "refs/checkpoints/auth"]);
    assert_ne!(session, "");
    // Whatever the save made of it, the push says what it does and does not abort.
    let pushed = world.checkpoint(["push", "--dry-run"]);
    assert!(
        pushed.status().code().is_some_and(|code| code < 129),
        "{}",
        pushed.stderr()
    );
}

/// Packed by other programs, so that no test rests on our own packing.
#[test]
fn what_a_file_has_in_a_packed_form_is_looked_at() {
    let shell = |script: String| vec!["sh".to_owned(), "-c".to_owned(), script];
    let lines = format!("seq 2000; echo 'token {}'; seq 2000", token());
    let escaped = token().replace('-', "\\u002d");
    for (name, script, form) in [
        (
            "gh.yaml",
            format!(
                "printf 'data:\\n  token: %s\\n' \"$(printf %s {} | base64 -w0)\"",
                token()
            ),
            "base64",
        ),
        ("dump.sql.gz", format!("{{ {lines}; }} | gzip -c"), "gzip"),
        (
            "app.json",
            format!("printf '%s' '{{\"a\": 1, \"tok\": \"{escaped}\"}}'"),
            "JSON",
        ),
        ("twice.b64", format!("{{ {lines}; }} | gzip -c | base64"), "gzip"),
    ] {
        let world = started();
        let args = shell(format!("{{ {script}; }} >{name}"));
        world.command(&args[0], &args[1..]).run().success();
        save(&world, "packed");
        world.checkpoint(["push"]).code(4).stderr_has(form);
        refused(&world, &[], &format!("in {name} (auth, checkpoint "));
    }
}
