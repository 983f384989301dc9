//! What other tools leave and take, through the program: files of foreign git checkpoints, facts that no source reports,
//! exports where their readers look for them, and a hand-over in one file.

use std::fs;

use serde_json::json;

use crate::support::World;

/// The git checkpoints of claude-flow are commits and tags of the repository itself: their files can be restored.
#[test]
fn git_checkpoints_come_in_with_their_files() {
    let world = World::with_commit();
    world.file("f.txt", "v1\n");
    world.git(["add", "f.txt"]).success();
    world.git(["commit", "-qm", "Task checkpoint"]).success();
    let first = world.git_line(["rev-parse", "HEAD"]);
    world.git(["tag", "checkpoint-20260301-080000"]).success();
    world.file("f.txt", "v2\n");
    world.git(["commit", "-qam", "later"]).success();
    world.file(
        ".claude/checkpoints/task-1.json",
        json!({"checkpoint": "task-1", "task": "Fix it", "timestamp": "2026-03-01T08:00:00Z", "commit": first})
            .to_string(),
    );
    world.file(
        ".claude/checkpoints/1772352060.json",
        json!({"tag": "checkpoint-20260301-080000", "file": "f.txt", "timestamp": "2026-03-01T08:01:00Z", "type": "post-edit", "branch": "main", "diff_summary": "1 file"}).to_string(),
    );
    world.file(
        ".claude/checkpoints/task-3.json",
        json!({"checkpoint": "task-3", "task": "Gone", "timestamp": "2026-03-01T07:00:00Z", "commit": "0123456789abcdef0123456789abcdef01234567"}).to_string(),
    );
    world.checkpoint(["import", "--all"]).success();
    let tree = world.git_line(["rev-parse", &format!("{first}^{{tree}}")]);
    for checkpoint in ["checkpoints/claude-checkpoints", "checkpoints/claude-checkpoints~1"] {
        assert_eq!(world.git_line(["rev-parse", &format!("{checkpoint}^2^{{tree}}")]), tree);
        assert_eq!(world.git_line(["rev-parse", &format!("{checkpoint}^2^1")]), first);
    }
    // A commit that is not here brings no files, and says so.
    world
        .git(["rev-parse", "--verify", "--quiet", "checkpoints/claude-checkpoints~2^2"])
        .code(1);
    world
        .checkpoint(["show", "claude-checkpoints~2"])
        .success()
        .stdout_has("not known here");
    world
        .checkpoint(["restore", "claude-checkpoints", "--force", "--", "f.txt"])
        .success();
    assert_eq!(world.read("f.txt"), b"v1\n");
    world.checkpoint(["verify", "--all"]).success();
}

/// What a source does not report is no fact: no detached HEAD, nothing clean, no place.
#[test]
fn what_a_source_does_not_report_is_not_told() {
    let world = World::with_commit();
    world.file(
        "chat.json",
        r#"[{"role":"user","content":"hi","timestamp":"2026-03-01T10:00:00Z"}]"#,
    );
    world
        .checkpoint(["import", "-q", "--from", "json", "chat.json", "--session", "c"])
        .success();
    let git = world
        .git(["show", "checkpoints/c:checkpoint.json"])
        .success()
        .stdout_json();
    assert_eq!(git["git"]["unreported"], json!(["branch", "head", "status"]));
    assert_eq!((&git["git"]["is_clean"], &git["host"]), (&json!(false), &json!("")));
    let show = world.checkpoint(["show", "c"]);
    show.success()
        .stdout_has("branch not reported")
        .stdout_has("the source names no commit");
    for form in ["text", "prompt", "markdown"] {
        let resume = world.checkpoint(["resume", "c", "--format", form]);
        let text = resume.success().stdout();
        for word in ["detached", " clean", "switched from", "on ''"] {
            assert!(!text.contains(word), "{form}: {word}\n{text}");
        }
    }
    assert!(!show.stdout().contains("Place"));
}

/// The export of a pause lands in a directory under the name that its reader looks for, with todos as objects.
#[test]
fn a_pause_is_written_where_its_reader_looks() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world
        .checkpoint(["save", "-m", "half", "--next", "go", "--todo", "rename crate"])
        .success();
    fs::create_dir_all(world.path(".claude-mpm/sessions")).unwrap();
    world
        .checkpoint([
            "export",
            "--format",
            "claude-mpm",
            "s",
            "-o",
            ".claude-mpm/sessions",
            "--dry-run",
        ])
        .success()
        .stdout_has(".claude-mpm/sessions/session-");
    world
        .checkpoint(["export", "--format", "claude-mpm", "s", "-o", ".claude-mpm/sessions"])
        .success();
    let names: Vec<_> = fs::read_dir(world.path(".claude-mpm/sessions"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(names.len(), 1);
    let written: serde_json::Value = serde_json::from_slice(&fs::read(&names[0]).unwrap()).unwrap();
    assert_eq!(
        written["todos"]["active"],
        json!([{"content": "rename crate", "status": "pending"}])
    );
    assert_eq!(written["project_path"], ".");
    let stem = names[0].file_stem().unwrap().to_string_lossy().into_owned();
    assert_eq!(written["session_id"], stem.as_str());
}

/// Our own documents are known again under any name.
#[test]
fn what_we_write_we_read() {
    let world = World::with_commit();
    world
        .checkpoint(["start", "auth", "--task", "move the login", "--issue", "#7"])
        .success();
    world
        .checkpoint([
            "save",
            "-m",
            "half of it",
            "--next",
            "write the tests",
            "-d",
            "keep sessions in git",
        ])
        .success();
    world
        .checkpoint(["decision", "no cookies", "--reason", "they leak"])
        .success();
    world
        .checkpoint(["blocker", "add", "the server", "--needs", "a key"])
        .success();
    world.checkpoint(["task", "add", "a form"]).success();
    world.checkpoint(["task", "done", "1"]).success();
    world.checkpoint(["task", "add", "a page"]).success();
    world.checkpoint(["save", "-m", "half of it (again)"]).success();
    let handoff = world.checkpoint(["export", "--format", "handoff", "auth"]);
    handoff.success();
    let remaining = handoff.stdout().split("## Remaining").nth(1).unwrap();
    let (remaining, done) = remaining.split_once("## Done").unwrap();
    assert!(
        remaining.contains("a page") && !remaining.contains("a form"),
        "{remaining}"
    );
    assert!(done.contains("a form (done)"), "{done}");
    for format in ["handoff", "markdown", "json", "claude-mpm", "opencastle"] {
        let note = world
            .checkpoint(["export", "--format", format, "auth"])
            .success()
            .stdout()
            .to_owned();
        let other = World::with_commit();
        other.file("note.x", note);
        other.checkpoint(["import", "note.x", "--session", "came"]).success();
        let document = other
            .git(["show", "checkpoints/came:checkpoint.json"])
            .success()
            .stdout_json();
        let record = &document["record"];
        assert_eq!(record["summary"], "half of it (again)", "{format}");
        if ["handoff", "markdown", "json"].contains(&format) {
            assert_eq!(document["git"]["branch"], "main", "{format}");
        }
        if ["handoff", "markdown"].contains(&format) {
            let imported = other.checkpoint(["import", "note.x", "--session", "again", "--json"]);
            assert!(imported.stdout().contains("git-checkpoint"), "{format}: {imported}");
            let tasks = record["tasks"].as_array().cloned().unwrap_or_default();
            let status = |title: &str| {
                let task = tasks.iter().find(|task| task["title"] == title);
                task.map(|task| task["status"].clone()).unwrap_or_default()
            };
            assert_eq!(
                (status("a form"), status("a page")),
                ("done".into(), "todo".into()),
                "{format}"
            );
        }
        assert_eq!(
            record["next_steps"][0]["text"], "write the tests",
            "{format}: {record:#}"
        );
        let decisions = record["decisions"].to_string();
        assert!(
            decisions.contains("they leak") && decisions.contains("no cookies"),
            "{format}: {decisions}"
        );
        if format != "claude-mpm" {
            assert_eq!(record["blockers"][0]["text"], "the server", "{format}");
        }
    }
}

/// Only sessions of a directory of agents come in: no analysis, no review, no schema, no template.
#[test]
fn what_is_no_session_does_not_come_in() {
    let world = World::with_commit();
    world.file(
        ".agents/analysis/2026-03-16-adr-082-debate.md",
        "# ADR-082 Debate Log\n",
    );
    world.file(
        ".agents/retrospective/2026-03-17-session-2-retrospective.md",
        "# Retrospective\n",
    );
    world.file(
        ".agents/schemas/session-log.schema.json",
        r#"{"title":"Session log","properties":{"session":{},"protocolCompliance":{}}}"#,
    );
    world.file(".agents/templates/HANDOFF.md", "# Session Handoff\n\n## Status\n\n- **Branch**: {branch name}\n- **Task**: {one sentence}\n\n## Next Steps\n\n1. {concrete}\n");
    world.file(
        ".agents/sessions/handoffs/2026-03-18-0-handoff.md",
        "# Session Handoff\n\n## Status\n\n- **Branch**: {branch name}\n- **Task**: {one sentence}\n",
    );
    world.file(
        ".agents/HANDOFF.md",
        "# Project Handoff\n\n**Last Updated**: 2025-12-22 (automated)\n\n## Next Steps\n\n1. real step\n",
    );
    let receipt = world.checkpoint(["import", "--all", "--json"]).success().stdout_json();
    let names: Vec<&str> = receipt["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item["session"].as_str())
        .collect();
    assert_eq!(names, ["handoff"]);
    assert!(
        receipt["sessions"][0]["at"].as_str().unwrap().starts_with("2025-12-22"),
        "{receipt:#}"
    );
}

/// A session with its files in one file, brought in by a clone.
#[test]
fn a_bundle_hands_a_session_over_with_its_files() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.file("new.txt", "untracked\n");
    world.checkpoint(["save", "-m", "half", "--next", "the rest"]).success();
    let tip = world.git_line(["rev-parse", "checkpoints/auth"]);
    world
        .checkpoint(["bundle", "../auth.bundle"])
        .success()
        .stdout_has("Wrote ../auth.bundle, 1 session");
    world
        .checkpoint(["bundle", "../auth.bundle"])
        .code(4)
        .stderr_has("exists");
    world.git(["bundle", "verify", "-q", "../auth.bundle"]).success();
    let clone = world.root().join("clone");
    world.git(["clone", "-q", ".", clone.to_str().unwrap()]).success();
    world.enter("clone");
    let refs = world.git_line(["for-each-ref", "--format=%(refname)"]);
    world.checkpoint(["unbundle", "../auth.bundle", "other"]).code(3);
    world
        .checkpoint(["unbundle", "../auth.bundle"])
        .success()
        .stdout_has("auth");
    assert_eq!(world.git_line(["rev-parse", "checkpoints/auth"]), tip);
    // Nothing but the session is left.
    let now = world.git_line(["for-each-ref", "--format=%(refname)"]);
    assert_eq!(now.replace("refs/checkpoints/auth\n", ""), refs);
    world.checkpoint(["unbundle", "../auth.bundle"]).success();
    world.checkpoint(["restore", "auth"]).success();
    assert_eq!(world.read("new.txt"), b"untracked\n");
    world.file("../broken.bundle", "no bundle");
    world
        .checkpoint(["unbundle", "../broken.bundle"])
        .code(128)
        .stderr_has("broken.bundle");
}

/// What could not be searched for secrets is named in the receipt, and stays as it is.
#[test]
fn data_that_cannot_be_searched_is_in_the_receipt() {
    let world = World::with_commit();
    let packed = b"\xfd7zXZ\0\0\x04 and some more bytes";
    world.file(
        ".sessions/w/session.json",
        r#"{"id":"w","status":"active","createdAt":"2026-04-13T00:00:00Z","state":{"a":1}}"#,
    );
    world.file(".sessions/w/artifacts/keys.xz", packed);
    let import = world.checkpoint(["import", "--all", "--json"]).success().stdout_json();
    let expected = json!([{"place": "files/keys.xz", "form": "xz"}]);
    assert_eq!(import["unsearched"], expected);
    world.checkpoint(["undo"]).success();
    world
        .checkpoint(["import", "--all"])
        .success()
        .stderr_has("could not be searched for secrets")
        .stderr_has("files/keys.xz: xz");
    let blob = world.git(["show", "checkpoints/w:files/0"]);
    assert_eq!(blob.success().stdout_bytes(), packed);
    world.checkpoint(["start", "s"]).success();
    let saved = world.checkpoint([
        "save",
        "-m",
        "with keys",
        "--attach",
        ".sessions/w/artifacts/keys.xz",
        "--json",
    ]);
    assert_eq!(saved.success().stdout_json()["unsearched"][0]["form"], "xz");
}
