//! Documents of a checkpoint: the session checkpoint, the hand-off note, everything as JSON.

use crate::support::World;

fn full() -> World {
    let world = World::with_commit();
    world
        .checkpoint(["start", "auth", "--task", "move login | to tokens", "--agent", "lead"])
        .success();
    let record = serde_json::json!({
        "tasks": [
            {"title": "parser", "status": "done", "agent": "rust-dev", "issue": "T-1", "files": ["src/p.rs"]},
            {"title": "lexer", "status": "in_progress", "notes": "half", "progress": 50},
            {"title": "docs", "status": "todo", "depends_on": ["none"]},
            {"title": "deploy", "status": "blocked"},
        ],
        "approvals": [
            {"provider": "slack", "channel": "#dev", "thread": "17", "question": "drop v1?"},
            {"question": "answered already", "answer": "approve"},
        ],
        "decisions": [{"text": "keep v1", "reason": "clients"}],
        "blockers": [{"text": "no staging", "needs": "ops", "ref": "DLQ-3"}],
        "delegations": [
            {"agent": "rust-dev", "model_tier": "mid", "tokens": 1000, "duration": 60, "status": "done"},
            {"agent": "reviewers", "tokens": 500, "estimated": true, "panel": true},
        ],
        "partitions": {"rust-dev": ["src/", "tests/"]},
        "fork_points": [{"title": "which parser", "decider": "lead", "options": [
            {"key": "nom", "title": "nom", "pros": ["fast"], "cons": ["old"]},
            {"key": "winnow", "title": "winnow"},
        ]}],
        "phase": {"n": 2, "of": 4, "title": "build"},
        "resume_instructions": ["run the tests first"],
        "checks": [{"name": "lint", "status": "pass"}],
        "questions": ["who owns v2?"],
    });
    world.file("new.txt", "x");
    world.checkpoint(["step", "start", "write | it"]).success();
    world
        .checkpoint(["step", "done", "1", "--context", "use ```it```", "--check", "lint=pass"])
        .success();
    world
        .command(
            "git-checkpoint",
            [
                "save",
                "-m",
                "half\n<!-- way -->",
                "--next",
                "finish the lexer",
                "--record",
                "-",
            ],
        )
        .input(record.to_string())
        .run()
        .success();
    world
}

#[test]
fn a_session_checkpoint_has_all_its_tables() {
    let world = full();
    let shown = world
        .checkpoint(["export", "--format", "markdown"])
        .success()
        .stdout()
        .to_owned();
    for part in [
        "# Session checkpoint: auth\n",
        "- **Task:** move login \\| to tokens\n",
        "- **Branch:** main @ ",
        "- 2 of 4: build\n- 1 of 4 tasks done\n",
        "## Completed work\n\n| Task | Issue | Agent | Status | Files | Notes |\n| --- |",
        "| parser | T-1 | rust-dev | done | src/p.rs | - |",
        "| lexer | - | - | in progress | - | 50%, half |",
        "| docs | - | - | none | - |",
        "| slack | \\#dev | 17 | drop v1? |",
        "| keep v1 | clients |",
        "| no staging | ops | DLQ-3 |",
        "| which parser | nom: nom | fast | old | - | open, lead decides |",
        "| 1 | write \\| it | - | - | done |",
        "### Context of step 1 write \\| it\n\n````text\nuse ```it```\n````\n",
        "| 2 | reviewers (panel review) | - | - | about 500 |",
        "| - | total of 2 | - | - | about 1500 | 1 min | of these 1 panel reviews with 500 tokens |",
        "| rust-dev | src/<br>tests/ |",
        "| new.txt | untracked |",
        "1. finish the lexer\n2. run the tests first\n",
        "\\<\\!-- way --\\>",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    let open = shown
        .split("## Pending approvals")
        .nth(1)
        .unwrap()
        .split("## ")
        .next()
        .unwrap();
    assert!(!open.contains("answered already"), "{shown}");
    assert!(shown.contains("- answered already (approve)\n"), "{shown}");
    // The same bytes at any time.
    world.advance(86_400);
    world
        .checkpoint(["export", "--format", "markdown", "auth"])
        .success()
        .stdout_is(&shown);
    // An empty session has every heading of the protocol, too.
    world.checkpoint(["start", "empty"]).success();
    let empty = world
        .checkpoint(["export", "--format", "markdown"])
        .success()
        .stdout()
        .to_owned();
    let headings = |text: &str| {
        text.lines()
            .filter(|l| l.starts_with("## ") && !["## Checks", "## Approvals", "## Fork points"].contains(l))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(headings(&empty), headings(&shown));
    assert!(empty.matches("(none)").count() > 10, "{empty}");
}

#[test]
fn everything_as_json_and_into_a_file() {
    let world = full();
    let json = world
        .checkpoint(["export", "--format", "json", "auth"])
        .success()
        .stdout_json();
    assert_eq!(json["schema"], "git-checkpoint.export/1");
    assert_eq!(json["id"], world.git_line(["rev-parse", "checkpoints/auth"]));
    assert_eq!(json["document"]["record"]["tasks"].as_array().unwrap().len(), 4);
    assert_eq!(json["steps"][0]["context"], "use ```it```");
    world
        .checkpoint(["export", "--format", "json", "-o", "out.json"])
        .success()
        .stdout_has("Wrote out.json");
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&world.read("out.json")).unwrap(),
        json
    );
    world.checkpoint(["step", "start", "later"]).success();
    world
        .checkpoint(["export", "--format", "handoff"])
        .success()
        .stderr_has("1 change not in it yet")
        .stdout_has("# Hand-off: move login \\| to tokens")
        .stdout_has("1. finish the lexer")
        .stdout_has("no staging (needs ops; see DLQ-3)")
        .stdout_has("- [ ] `git checkpoint resume auth`");
    world
        .checkpoint(["export", "--format", "yaml"])
        .code(129)
        .stderr_has("markdown");
    world.checkpoint(["export", "--format", "json", "nothing"]).code(3);
}

#[test]
fn a_hand_off_note_stands_between_its_markers() {
    let world = full();
    let into = || world.checkpoint(["export", "--format", "handoff", "--into", "HANDOFF.md", "auth"]);
    into().success().stdout_has("Wrote HANDOFF.md");
    let first = world.read("HANDOFF.md");
    into().success().stdout_has("Unchanged: HANDOFF.md");
    // With words of others around it, CRLF and bytes that are no text among them.
    let before = b"# Ours\r\n\xff\xfe no text\n\n".to_vec();
    let after = b"\nlast line without its end".to_vec();
    std::fs::write(
        world.path("HANDOFF.md"),
        [before.clone(), first, after.clone()].concat(),
    )
    .unwrap();
    std::fs::set_permissions(
        world.path("HANDOFF.md"),
        std::os::unix::fs::PermissionsExt::from_mode(0o640),
    )
    .unwrap();
    world
        .checkpoint(["save", "-m", "other words", "--session", "auth"])
        .success();
    into().success();
    let now = world.read("HANDOFF.md");
    assert!(now.starts_with(&before) && now.ends_with(&after));
    assert!(String::from_utf8_lossy(&now).contains("other words"));
    let mode = std::fs::metadata(world.path("HANDOFF.md")).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o640);
    // Damaged markers are never guessed at.
    let text = String::from_utf8_lossy(&now).replace(":handoff:end -->", ":handoff:ende -->");
    world.file("HANDOFF.md", &text);
    into()
        .code(4)
        .stderr_has("the markers in 'HANDOFF.md' are damaged: the marker in line 4 has no end");
    assert_eq!(world.read("HANDOFF.md"), text.as_bytes());
    world
        .checkpoint(["export", "--format", "json", "--into", "HANDOFF.md"])
        .code(129);
    world
        .checkpoint(["export", "--format", "handoff", "--into", "src"])
        .code(128)
        .stderr_has("cannot read 'src'");
}

#[test]
fn an_export_replaces_nothing_unasked() {
    let world = full();
    let export = |args: &[&str]| world.checkpoint([&["export", "--format"], args].concat());
    // Into the git directory never, by whatever way.
    let config = world.read(".git/config");
    std::os::unix::fs::symlink(".git", world.path("way")).unwrap();
    for to in [".git/config", "way/config", ".git/new/deep", "src/../.git/HEAD"] {
        let refused = export(&["handoff", "--force", "-o", to]);
        assert!(refused.code(4).stderr().contains("is in the git directory"), "{to}");
        export(&["handoff", "-n", "-o", to]).code(4);
        export(&["handoff", "--into", to]).code(4);
        export(&["folder", "--force", "-o", to]);
    }
    assert_eq!(world.read(".git/config"), config);
    assert!(!world.path(".git/new").exists());
    // A file with something else in it only with --force; one's own, unchanged, is fine.
    let refused = export(&["handoff", "-o", "src/main.txt"]);
    assert!(refused.code(4).stderr().contains("--force"), "{}", refused.stderr());
    assert_eq!(world.read("src/main.txt"), b"one\ntwo\nthree\n");
    export(&["handoff", "-o", "src/main.txt", "--force"]).success();
    export(&["handoff", "-o", "src/main.txt"]).success();
    world.file("empty", "");
    export(&["json", "-o", "empty"]).success();
    // A directory's files go through no link.
    export(&["folder", "-o", "out"]).success();
    std::fs::remove_file(world.path("out/session.json")).unwrap();
    std::os::unix::fs::symlink("../empty", world.path("out/session.json")).unwrap();
    let before = world.read("empty");
    let refused = export(&["folder", "--force", "-o", "out"]);
    assert!(
        !refused.is_success() && refused.stderr().contains("session.json' is no file"),
        "{}",
        refused.stderr()
    );
    assert_eq!(world.read("empty"), before);
}
