//! What a save keeps: the record as given, attachments, names, secrets; and nothing it should not.

use serde_json::json;

use crate::support::{PROGRAM, World};

fn document(world: &World, selector: &str) -> serde_json::Value {
    world.checkpoint(["show", selector, "--json"]).success().stdout_json()["document"].clone()
}

#[test]
fn everything_given_is_in_the_record() {
    let world = World::with_commit();
    world.file("../log.txt", "build output\n");
    let args = [
        "save",
        "--session",
        "s",
        "-s",
        "summary\n\nwith a body",
        "-a",
        "did this",
        "-a",
        "and that",
        "--next",
        "next",
        "-d",
        "decided",
        "-b",
        "blocked",
        "--todo",
        "remember",
        "--name",
        "first",
        "--trigger",
        "before-delegation",
        "--step",
        "3/7",
        "--attach",
        "../log.txt",
    ];
    world.checkpoint(args).success();
    let document = document(&world, "s");
    let record = &document["record"];
    assert_eq!(record["summary"], "summary\n\nwith a body");
    let texts = |list: &str| -> Vec<String> {
        let items = record[list].as_array().unwrap();
        items.iter().map(|i| i["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts("accomplishments"), ["did this", "and that"]);
    assert_eq!(
        (texts("next_steps"), texts("decisions")),
        (vec!["next".into()], vec!["decided".into()])
    );
    assert_eq!(
        (texts("blockers"), texts("todos")),
        (vec!["blocked".into()], vec!["remember".into()])
    );
    assert_eq!(record["step"], json!({"n": 3, "of": 7}));
    assert_eq!(
        (&document["name"], &document["trigger"]),
        (&json!("first"), &json!("before-delegation"))
    );
    assert_eq!(
        (&record["attachments"][0]["name"], &record["attachments"][0]["n"]),
        (&json!("log.txt"), &json!(0))
    );
    world
        .git(["show", "refs/checkpoints/s:files/0"])
        .success()
        .stdout_is("build output\n");
    world
        .git([
            "log",
            "-1",
            "--format=%s%n%(trailers:key=Checkpoint-Name,valueonly)",
            "refs/checkpoints/s",
        ])
        .stdout_has("summary\nfirst");

    world
        .checkpoint(["save", "--session", "s", "--next", "other", "-a", "more"])
        .success();
    let record = self::document(&world, "s")["record"].clone();
    assert_eq!(
        record["next_steps"].as_array().unwrap().len(),
        1,
        "given next steps replace"
    );
    assert_eq!(
        record["accomplishments"].as_array().unwrap().len(),
        3,
        "accomplishments append"
    );
    assert!(
        !record["summary"].as_str().unwrap().starts_with("main: clean"),
        "the summary that somebody wrote stays"
    );
    assert!(record["attachments"].is_null());
}

#[test]
fn a_record_from_a_script_merges_by_id() {
    let world = World::with_commit();
    let patch = |text: serde_json::Value| {
        let run = world
            .command(PROGRAM, ["save", "--session", "s", "--record", "-", "--json"])
            .input(text.to_string());
        run.run().success();
        document(&world, "s")["record"].clone()
    };
    let record = patch(json!({"tasks": ["write", {"title": "test", "status": "in_progress"}], "colour": "blue"}));
    let id = record["tasks"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(record["colour"], "blue");
    let record = patch(json!({"tasks": [{"id": id, "status": "done"}], "state": {"a": 1, "b": 12.50}}));
    assert_eq!(record["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(record["tasks"][0]["status"], "done");
    let record = patch(json!({"state": {"a": null}}));
    assert_eq!(record["state"].as_object().unwrap().len(), 1);
    let raw = world.checkpoint(["show", "s", "--raw"]).success().stdout().to_owned();
    assert!(raw.contains("\"b\": 12.5"), "{raw}");
    world.file("../state.json", "[1,2]");
    world
        .checkpoint(["save", "--session", "s", "--state", "../state.json"])
        .success();
    assert_eq!(document(&world, "s")["record"]["state"], json!([1, 2]));
}

#[test]
fn the_raw_document_has_the_digest_of_the_trailer() {
    let world = World::with_commit();
    world
        .checkpoint(["save", "--session", "s", "-m", "é \u{2028} \"quoted\""])
        .success();
    let raw = world.checkpoint(["show", "s", "--raw"]);
    raw.success();
    let stored = world.git(["cat-file", "blob", "refs/checkpoints/s:checkpoint.json"]);
    assert_eq!(raw.stdout_bytes(), stored.stdout_bytes());
    let digest = git_checkpoint::model::id::Digest::of(raw.stdout_bytes());
    let trailer = [
        "log",
        "-1",
        "--format=%(trailers:key=Checkpoint-Digest,valueonly)",
        "refs/checkpoints/s",
    ];
    assert_eq!(world.git_line(trailer).trim(), digest.as_str());
}

#[test]
fn the_record_alone_when_asked() {
    let world = World::with_commit();
    world.file("x", "x");
    world
        .checkpoint(["save", "--session", "s", "--no-files", "-m", "x"])
        .success();
    world
        .git(["rev-parse", "-q", "--verify", "refs/checkpoints/s^2"])
        .code(1);
    assert!(document(&world, "s")["snapshot"].is_null());
    world
        .checkpoint(["show", "s"])
        .success()
        .stdout_has("The files were not saved.");
    world.checkpoint(["verify", "s"]).success();
    // --no-commit is what older tools had; nothing is ever committed on a branch.
    world.checkpoint(["save", "--session", "s", "--no-commit"]).success();
    assert_eq!(world.git_line(["rev-list", "--count", "HEAD"]), "1");
}

#[test]
fn secrets_never_reach_the_object_store() {
    let world = World::with_commit();
    let token = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA1bC4".get(..36).unwrap());
    world.file("../attached.txt", format!("first\ntoken={token}\n"));
    let record = json!({"decisions": [{"text": format!("use {token}")}], "state": {"deep": [token]}});
    let run = world
        .command(
            PROGRAM,
            [
                "save",
                "--session",
                "s",
                "-m",
                &format!("env has {token}"),
                "--record",
                "-",
                "--attach",
            ],
        )
        .arg("../attached.txt")
        .input(record.to_string());
    run.run()
        .success()
        .stderr_has("4 secrets were replaced")
        .stderr_has("attached.txt:2")
        .stderr_lacks(&token);
    let objects = world.git(["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!String::from_utf8_lossy(objects.stdout_bytes()).contains(&token));
    for entry in walk(&world.path(".git/checkpoint")) {
        assert!(
            !String::from_utf8_lossy(&std::fs::read(&entry).unwrap()).contains(&token),
            "{}",
            entry.display()
        );
    }
    assert!(
        document(&world, "s")["record"]["summary"]
            .as_str()
            .unwrap()
            .starts_with("env has [REDACTED:")
    );
    // Files of the working tree are the user's own and stay as they are.
    let content = format!("port = 80\nlog in with token = {token}\n");
    world.file("config.txt", &content);
    world.checkpoint(["save", "--session", "s"]).success();
    world
        .git(["show", "refs/checkpoints/s^2:config.txt"])
        .success()
        .stdout_is(&content);
    let off = world
        .command(PROGRAM, ["save", "--session", "s", "-m", &token])
        .env("GIT_CONFIG_COUNT", "1");
    off.env("GIT_CONFIG_KEY_0", "checkpoint.redact")
        .env("GIT_CONFIG_VALUE_0", "off")
        .run()
        .success();
    assert_eq!(document(&world, "s")["record"]["summary"], token);
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(walk(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn a_small_checkpoint_is_small() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.file("src/main.txt", "changed\n");
    let saved = world
        .checkpoint(["save", "-m", "x", "--next", "y", "--json"])
        .success()
        .stdout_json();
    assert!(saved["new_bytes"].as_u64().unwrap() < 10 * 1024, "{saved}");
}

#[test]
fn a_submodule_with_changes_of_its_own_is_told() {
    let world = World::with_commit();
    world.git(["init", "-q", "-b", "main", "../other"]).success();
    world.file("../other/file", "one");
    world.git(["-C", "../other", "add", "-A"]).success();
    world.git(["-C", "../other", "commit", "-qm", "one"]).success();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    for path in ["lib", "quiet"] {
        world.git([&add[..], &["../other", path]].concat()).success();
    }
    world.git(["commit", "-qm", "submodules"]).success();
    let clean = world.checkpoint(["save", "--json"]).success().stdout_json();
    assert_eq!(clean["git"]["submodules_changed"], serde_json::Value::Null);
    assert_eq!(clean["git"]["is_clean"], true);

    world.file("lib/new", "new");
    let line = "submodule 'lib' has uncommitted changes, not saved here";
    let before = world.fingerprint();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("1 changed submodule")
        .stderr_has(line)
        .stderr_lacks("quiet");
    // Nothing else is new, and still it is said that something is not saved.
    world
        .checkpoint(["save"])
        .success()
        .stdout_has("Nothing new")
        .stderr_has(line);
    world.fingerprint().assert_same_as(&before);
    let again = world.checkpoint(["save", "--json"]).success().stdout_json();
    assert_eq!(again["git"]["submodules_changed"]["first"], serde_json::json!(["lib"]));

    world.file("README.md", "edited");
    world
        .checkpoint(["save"])
        .success()
        .stdout_has("Saved")
        .stderr_has(line);
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(status["git"]["submodules_changed"]["count"], 1);
    assert_eq!(status["something_to_save"], false);
}

#[test]
fn a_save_without_files_says_nothing_of_them() {
    for dirty in [false, true] {
        let world = World::with_commit();
        if dirty {
            world.file("README.md", "changed\n");
            world.file("new", "new\n");
        }
        let head = world.git_line(["rev-parse", "--short=8", "HEAD"]);
        world
            .checkpoint(["save", "--no-files", "-m", "words"])
            .success()
            .stdout_has(&format!("main @ {head}, files not saved"))
            .stdout_lacks("clean");
        world
            .checkpoint(["show"])
            .success()
            .stdout_has("files not saved")
            .stdout_lacks("clean");
        let json = world.checkpoint(["show", "--json"]).success().stdout_json();
        let git = &json["document"]["git"];
        assert_eq!(
            (&git["is_clean"], &git["unreported"][0]),
            (&false.into(), &"status".into())
        );
        for format in ["handoff", "markdown"] {
            let note = world.checkpoint(["export", "--format", format]);
            note.success().stdout_has("(not saved)\n").stdout_lacks("clean");
        }
        // Without a message the summary is made from the facts.
        world.checkpoint(["start", "other"]).success();
        world
            .checkpoint(["save", "--no-files", "--allow-empty"])
            .success()
            .stdout_lacks("clean");
        world.checkpoint(["show"]).success().stdout_lacks("clean");
        world
            .checkpoint(["resume", "main"])
            .success()
            .stdout_lacks("nothing uncommitted");
        // With files it is known.
        world
            .checkpoint(["save", "-m", "with files"])
            .success()
            .stdout_has(if dirty { "1 modified, 1 untracked" } else { ", clean" });
    }
}
