//! Sessions of other tools taken over: from their files to `show`, again, damaged, taken back, and out again.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::World;

/// Copies the files of a case of `fixtures/formats`.
pub(super) fn fixture(world: &World, case: &str, to: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/formats")
        .join(case)
        .join("input");
    copy(&from, &world.path(to));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn document(world: &World, commit: &str) -> Value {
    world
        .git(["show", &format!("{commit}:checkpoint.json")])
        .success()
        .stdout_json()
}

#[test]
fn a_paused_session_comes_in_with_its_time_and_is_not_imported_twice() {
    let world = World::with_commit();
    fixture(&world, "claude-mpm/good-411", ".");
    let before = world.git_line(["for-each-ref"]);
    let source = ".claude-mpm/sessions/pause/session-20260301-080001.json";
    let bytes = world.read(source);

    // A dry run says what would come in and changes nothing.
    world
        .checkpoint(["import", "--all", "--dry-run"])
        .success()
        .stdout_has("Would import session session-20260301-080001")
        .stdout_has("Tide table parser reads both hemispheres")
        .stderr_has("may lack its first character");
    assert_eq!(world.git_line(["for-each-ref"]), before);

    let receipt = world.checkpoint(["import", source, "--json"]).success().stdout_json();
    assert_eq!(receipt["schema"], "git-checkpoint.import/1");
    let item = &receipt["sessions"][0];
    assert_eq!(
        (&item["outcome"], &item["system"]),
        (&"new".into(), &"claude-mpm".into())
    );
    let name = "checkpoints/session-20260301-080001";
    assert_eq!(world.git_line(["rev-parse", name]), item["id"].as_str().unwrap());
    assert_eq!(
        world.git_line(["log", "--first-parent", "--format=%cI %aI %s", name]),
        "2026-03-01T08:00:01Z 2026-03-01T08:00:01Z Tide table parser reads both hemispheres\n\
         2026-03-01T08:00:01Z 2026-03-01T08:00:01Z start session-20260301-080001"
    );
    let found = document(&world, name);
    assert_eq!(found["kind"], "import");
    assert_eq!(found["session"]["status"], "paused");
    assert_eq!(
        found["session"]["metadata"]["imported"]["id"],
        "session-20260301-080001"
    );
    assert_eq!(found["git"]["branch"], "tides");
    assert_eq!(
        found["record"]["extra"]["claude-mpm"]["git_context"]["recent_commits"][0]["sha"],
        "4be1f02"
    );
    world
        .checkpoint(["show", "session-20260301-080001"])
        .success()
        .stdout_has("Handle leap seconds")
        .stdout_has("commit 4be1f02 not known here");
    world.checkpoint(["resume", "session-20260301-080001"]).success();
    world.checkpoint(["verify", "--all"]).success();
    assert_eq!(world.read(source), bytes, "the source is as it was");

    // Twice imports nothing; a save of one's own does not go to it.
    let tip = world.git_line(["rev-parse", name]);
    world
        .checkpoint(["import", "--all"])
        .success()
        .stdout_has("Already imported");
    assert_eq!(world.git_line(["rev-parse", name]), tip);

    // Undo takes it back, redo brings it again.
    world.checkpoint(["import", "--all"]).success();
    world
        .checkpoint(["undo", "--older"])
        .success()
        .stdout_has("imported session");
    world.git(["rev-parse", "--verify", "--quiet", name]).code(1);
    world.checkpoint(["redo"]).success();
    assert_eq!(world.git_line(["rev-parse", name]), tip);
}

#[test]
fn a_source_that_grew_adds_what_is_new_unless_work_went_on_here() {
    let world = World::with_commit();
    fixture(&world, "opencastle/good-template", ".");
    world.checkpoint(["import", ".opencastle"]).success();
    let name = "checkpoints/tide-search";
    let first = world.git_line(["rev-parse", name]);
    let text = String::from_utf8(world.read(".opencastle/SESSION-CHECKPOINT.md")).unwrap();
    world.file(
        ".opencastle/SESSION-CHECKPOINT.md",
        text.replace("2026-03-05 14:30", "2026-03-06 09:00")
            .replace("Phase 2", "Phase 3"),
    );
    world
        .checkpoint(["import", ".opencastle"])
        .success()
        .stdout_has("Added to");
    assert_eq!(world.git_line(["rev-parse", &format!("{name}^1")]), first);
    assert_eq!(document(&world, name)["record"]["phase"]["n"], 3);
    world.checkpoint(["verify", "--all"]).success();

    world
        .checkpoint(["save", "--session", "tide-search", "-m", "on from here", "--no-files"])
        .success();
    let own = world.git_line(["rev-parse", name]);
    world.file(
        ".opencastle/SESSION-CHECKPOINT.md",
        text.replace("2026-03-05 14:30", "2026-03-07 09:00"),
    );
    world
        .checkpoint(["import", ".opencastle"])
        .code(7)
        .stdout_has("Not imported")
        .stdout_has("continued here");
    assert_eq!(world.git_line(["rev-parse", name]), own);
}

#[test]
fn a_database_becomes_chains_in_their_order() {
    let world = World::with_commit();
    fixture(&world, "claude-flow/good-hive", ".");
    let receipt = world
        .checkpoint(["import", ".hive-mind/hive.db", "--json"])
        .success()
        .stdout_json();
    assert_eq!(receipt["imported"], 3);
    let name = "checkpoints/session-1770000000000-abcdefghi";
    let subjects = world.git_line([
        "log",
        "--first-parent",
        "--reverse",
        "--format=%s|%(trailers:key=Checkpoint-Name,valueonly,separator=)",
        name,
    ]);
    assert_eq!(
        subjects,
        "start session-1770000000000-abcdefghi|\nmanual|manual\nmanual|manual-2\nauto-save-1770000004000: 3 changes|auto-save-1770000004000\nCount the bees|"
    );
    let last = document(&world, name);
    assert_eq!(last["record"]["tasks"].as_array().unwrap().len(), 60);
    assert_eq!(last["record"]["memory_refs"][0]["text"], "honey/north");
    assert_eq!(last["record"]["state"]["d"], "2026-02-02T02:40:05.000Z");
    let log = world.git_line(["show", &format!("{name}:log/000000.jsonl")]);
    assert!(log.contains("A bee got lost"), "{log}");
    world.checkpoint(["verify", "--all"]).success();
    world.checkpoint(["undo"]).success().stdout_has("imported 3 sessions");
    assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints"]), "");
}

#[test]
fn a_broken_item_does_not_stop_the_others_and_is_told() {
    let world = World::with_commit();
    fixture(&world, "claude-mpm/damaged", "old");
    world
        .checkpoint(["import", "old"])
        .code(7)
        .stdout_has("Imported session session-20260404-040407")
        .stderr_has("old/session-20260404-040404.json: not valid JSON")
        .stderr_has("old/session-20260404-040406.yaml")
        .stderr_has("duplicate key");
    let names = world.git_line(["for-each-ref", "--format=%(refname:short)", "refs/checkpoints"]);
    assert_eq!(names, "checkpoints/session-20260404-040407");

    world
        .checkpoint(["import", "old/session-20260404-040404.json"])
        .code(128)
        .stderr_has("nothing could be imported");
    world
        .checkpoint(["import", "nowhere"])
        .code(3)
        .stderr_has("cannot read 'nowhere'");
    world.file("plain.txt", "x");
    world
        .checkpoint(["import", "plain.txt"])
        .code(3)
        .stderr_has("no supported session");
    world.checkpoint(["import", "--from", "nothing", "old"]).code(129);
    world.checkpoint(["import"]).code(129);
    fixture(&world, "json/good-list", "talk");
    fixture(&world, "json/good-lines", "talk");
    world
        .checkpoint(["import", "talk", "--session", "x"])
        .code(129)
        .stderr_has("2 were found");
    world
        .checkpoint(["import", "talk/talk.json", "--session", "boats"])
        .success()
        .stdout_has("boats");
    world
        .checkpoint(["import", "talk/talk.json", "--session", "boats"])
        .success()
        .stdout_has("Already imported");
}

#[test]
fn chats_come_in_with_their_messages() {
    let world = World::with_commit();
    fixture(&world, "dagent/good-v3", ".");
    world.checkpoint(["import", "--all"]).success().stdout_has("2 messages");
    let name = "checkpoints/dev-task-lantern-glass";
    let found = document(&world, name);
    assert_eq!(found["chat"]["messages"], 2);
    // What dagent summarized it removed: the summary represents none of the messages that are left.
    assert_eq!(found["compaction"]["messages"], 0);
    assert_eq!(found["compaction"]["summary"]["completed"][0], "Sand bought");
    assert_eq!(found["tokens"]["messages"], 2);
    let session = "dev-task-lantern-glass";
    world
        .checkpoint(["message", "list", "--session", session])
        .success()
        .stdout_has("Blow the glass")
        .stdout_has("Blowing");
    world
        .checkpoint(["request", "--session", session])
        .success()
        .stdout_has("Blow the glass")
        .stdout_has("Sand bought")
        .stdout_has("You blow glass.");
    world
        .checkpoint(["tokens", "--session", session])
        .success()
        .stdout_has("tokens, exact");
    let chat = world.git_line(["show", &format!("{name}:chat/000000.jsonl")]);
    let messages: Vec<Value> = chat.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(messages.len(), 2);
    assert_eq!(
        (&messages[0]["id"], &messages[0]["content"]),
        (&"m1".into(), &"Blow the glass".into())
    );
    assert_eq!(
        (&messages[1]["role"], &messages[1]["at"]),
        (&"assistant".into(), &"2026-01-17T12:25:05+00:00".into())
    );
    assert_eq!(messages[1]["meta"]["tokens"]["output"], 20);
    assert!(
        world
            .git_line(["show", &format!("{name}:agent.md")])
            .contains("You blow glass.")
    );
    assert!(
        world
            .git_line(["show", &format!("{name}:context.md")])
            .contains("Be careful.")
    );
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn hostile_sources_stay_data() {
    let world = World::with_commit();
    for case in ["claude-mpm", "opencastle", "ai-agents", "folder", "dagent", "json"] {
        fixture(&world, &format!("{case}/hostile"), case);
        let out = world.checkpoint(["import", "--from", case, case]);
        let text = [out.stdout(), out.stderr()].concat();
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{202e}'),
            "{case}: {text:?}"
        );
    }
    world.checkpoint(["verify", "--all"]).success();
    assert!(!world.root().join("etc").exists());
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn secrets_do_not_come_in() {
    let world = World::with_commit();
    let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let source = format!(
        "{{\"session_id\": \"session-20260301-080001\", \"conversation\": {{\"summary\": \"token {secret}\"}}, \"note\": \"{secret}\"}}"
    );
    world.file("session-20260301-080001.json", source);
    world
        .checkpoint(["import", "session-20260301-080001.json"])
        .success()
        .stdout_lacks(&secret)
        .stderr_has("replaced by markers");
    let stored = world.git_line(["show", "checkpoints/session-20260301-080001:checkpoint.json"]);
    assert!(!stored.contains(&secret), "{stored}");
}

#[cfg(unix)]
#[test]
fn links_in_a_directory_are_not_followed() {
    let world = World::with_commit();
    fixture(&world, "claude-mpm/good-411", "real");
    fs::create_dir(world.path("place")).unwrap();
    std::os::unix::fs::symlink(world.path("real"), world.path("place/link")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", world.path("place/session-20260301-080009.json")).unwrap();
    world
        .checkpoint(["import", "place"])
        .code(3)
        .stderr_has("note: place/link: it is a link, which is not followed");
    world
        .checkpoint(["import", "--all"])
        .code(3)
        .stderr_has("looked for .claude-mpm/sessions, ");
}

/// What `export` writes comes in again: everything of the JSON, and of the directory what it can hold.
#[test]
fn exports_come_in_again() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "Please do"])
        .success();
    world.checkpoint(["note", "watch out"]).success();
    world.checkpoint(["step", "run", "--", "git", "version"]).success();
    world.file("bin.dat", [0_u8, 255]);
    world
        .checkpoint(["save", "-m", "One", "-a", "did one", "--no-files"])
        .success();
    world
        .checkpoint(["save", "-m", "Two", "--attach", "bin.dat", "--no-files"])
        .success();
    world
        .checkpoint(["export", "--format", "json", "-o", "auth.json"])
        .success();
    world
        .checkpoint(["import", "auth.json", "--session", "again"])
        .success()
        .stdout_has("1 message");
    let first: Value = serde_json::from_slice(&world.read("auth.json")).unwrap();
    let again = world
        .checkpoint(["export", "--format", "json", "again"])
        .success()
        .stdout_json();
    for part in ["steps", "log", "messages", "attachments"] {
        assert_eq!(first[part], again[part], "{part}");
        assert!(!first[part].as_array().unwrap().is_empty(), "{part}");
    }
    assert_eq!(
        first["document"]["record"]["accomplishments"],
        again["document"]["record"]["accomplishments"]
    );

    // Several files need a directory, and none that has something in it.
    world
        .checkpoint(["export", "--format", "folder"])
        .code(129)
        .stderr_has("git checkpoint export --format folder -o <directory>\n");
    world
        .checkpoint(["export", "--format", "folder", "-o", "out/auth", "auth"])
        .success()
        .stdout_has("to out/auth")
        .stderr_has("the chat of 1 message");
    world
        .checkpoint(["export", "--format", "folder", "-o", "out/auth", "auth"])
        .code(4)
        .stderr_has("is not empty");
    world
        .checkpoint(["export", "--format", "folder", "-o", "out/auth", "--force", "auth"])
        .success();
    world
        .checkpoint(["import", "out/auth", "--session", "folder"])
        .success()
        .stdout_has("2 checkpoints");
    assert_eq!(world.read("out/auth/artifacts/bin.dat"), [0_u8, 255]);
    world
        .checkpoint(["export", "--format", "dagent", "-o", "out/d", "auth"])
        .success();
    world
        .checkpoint(["import", "out/d", "--session", "dagent"])
        .success()
        .stdout_has("1 message");
    world.checkpoint(["verify", "--all"]).success();
}

/// A commit that is not here is reported as such, and not as the first one.
#[test]
fn resuming_an_import_does_not_call_the_branch_new() {
    let world = World::with_commit();
    fixture(&world, "claude-mpm/good-411", ".");
    world.checkpoint(["import", "--all", "--session", "tides"]).success();
    world
        .checkpoint(["resume", "tides"])
        .success()
        .stdout_has("the source names no commit of this repository")
        .stdout_lacks("first commits");
}

/// The files of several states or parts of a session make one chain in the order of their times, in whatever order they
/// are given, and whatever came in before comes in no second time.
#[test]
fn several_files_of_a_session_are_one_chain_by_time() {
    let world = World::with_commit();
    fixture(&world, "claude-flow/good-git-checkpoints", ".");
    fixture(&world, "json/odd-twice", "talk");
    let at = |name: &str| format!(".claude/checkpoints/{name}");
    let (late, early) = (at("task-1770100004.json"), at("1770100001.json"));
    world
        .checkpoint(["import", &late, &early])
        .success()
        .stdout_has("2 checkpoints");
    let chain = |name: &str| world.git_line(["log", "--first-parent", "--format=%cI", &format!("checkpoints/{name}")]);
    assert_eq!(
        chain("claude-checkpoints"),
        "2026-02-03T06:26:44Z\n2026-02-03T06:26:30Z\n2026-02-03T06:26:30Z"
    );
    // One with the same name comes in later: it is numbered, and its own time is older than the latest.
    world
        .checkpoint(["import", &at("task-1770100003.json")])
        .success()
        .stdout_has("1 checkpoint")
        .stderr_has("is older than what session 'claude-checkpoints' has");
    let name = world.git_line([
        "log",
        "-1",
        "--format=%(trailers:key=Checkpoint-Name,valueonly,separator=)",
        "checkpoints/claude-checkpoints",
    ]);
    assert_eq!(name, "task-20260203-062643-2");
    world
        .checkpoint(["import", &early, &late, &at("task-1770100003.json")])
        .success()
        .stdout_has("Already imported");

    // Two states of a chat: the newer one begins with the older.
    world
        .checkpoint([
            "import",
            "talk/part-2.json",
            "talk/part-1.json",
            "talk/copy-of-part-1.json",
            "--json",
        ])
        .success()
        .stdout_has("\"checkpoints\":2,\"messages\":2");
    let found = document(&world, "checkpoints/talk-9");
    assert_eq!(found["chat"]["messages"], 2);
    world
        .checkpoint(["import", "talk"])
        .success()
        .stdout_has("Already imported");
    world.checkpoint(["verify", "--all"]).success();
}

/// What a format has no place for is reported, and a directory never holds two sessions in one.
#[test]
fn an_export_tells_what_is_not_in_it_and_mixes_nothing() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth", "--title", "Login"]).success();
    world
        .checkpoint(["decision", "add", "Tokens", "--reason", "shorter"])
        .success();
    world.checkpoint(["memory", "add", "wiki/auth"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "Go on"])
        .success();
    world.checkpoint(["save", "-m", "Checked the tokens"]).success();
    world
        .checkpoint(["save", "-m", "Wrote the tests", "--allow-empty"])
        .success();
    world
        .checkpoint(["export", "--format", "dagent", "-o", "d", "auth"])
        .success()
        .stderr_has("not included: the summary")
        .stderr_has("not included: title")
        .stderr_has(" of the session\n")
        .stderr_has("not included: 2 earlier checkpoints\n")
        .stderr_has("not included: 1 snapshot of the files")
        .stderr_lacks("reason");
    let told = world
        .checkpoint(["export", "--format", "claude-mpm", "auth", "--json"])
        .success()
        .stdout_json();
    let told: Vec<&str> = told["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["what"].as_str().unwrap())
        .collect();
    assert!(told.contains(&"the chat of 1 message"), "{told:?}");
    assert!(!told.iter().any(|what| what.contains("decision")), "{told:?}");
    assert!(told.contains(&"1 memory ref"), "{told:?}");
    world
        .checkpoint(["export", "--format", "json", "auth", "-o", "auth.json"])
        .success()
        .stderr_has("not included: 2 earlier checkpoints\n");
    // They are counted as the other commands count them; one that says nothing is missing from no chain.
    let logged = world.checkpoint(["log", "auth", "--json"]).success().stdout_json();
    assert_eq!(logged["checkpoints"].as_array().unwrap().len(), 3);
    world.checkpoint(["bundle", "../auth.bundle", "auth"]).success();
    let other = World::with_commit();
    let bundle = world.root().join("auth.bundle");
    other
        .checkpoint(["unbundle", bundle.to_str().unwrap()])
        .success()
        .stdout_has("3 checkpoints");

    world
        .checkpoint(["export", "--format", "folder", "-o", "f", "auth"])
        .success()
        .stderr_lacks("earlier checkpoint");
    world.checkpoint(["start", "other"]).success();
    world.checkpoint(["save", "-m", "Another", "--no-files"]).success();
    world
        .checkpoint(["export", "--format", "folder", "-o", "f", "--force", "other"])
        .code(4)
        .stderr_has("would become part of this session");
    assert!(
        String::from_utf8(world.read("f/session.json"))
            .unwrap()
            .contains("auth"),
        "nothing was written"
    );
    world.file("f/README", "mine");
    world
        .checkpoint(["export", "--format", "folder", "-o", "f", "--force", "auth"])
        .success();
    world
        .checkpoint(["export", "--format", "dagent", "-o", "d", "--force", "other"])
        .success();
    let sessions = world
        .checkpoint(["import", "d", "--dry-run", "--json"])
        .success()
        .stdout_json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 2);
}

#[test]
fn session_files_of_agents_come_in_as_a_chat_reads_them() {
    let files = [
        (
            "claude.jsonl",
            "claude-code",
            concat!(
                r#"{"type":"user","uuid":"u","sessionId":"ses-1","gitBranch":"tides","timestamp":"2026-11-20T10:00:00Z","message":{"role":"user","content":"read the table"}}"#,
                "\n",
                r#"{"type":"assistant","uuid":"a","sessionId":"ses-1","timestamp":"2026-11-20T10:00:01Z","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Read","input":{"f":"x"}}]}}"#,
                "\n",
                r#"{"type":"assistant","uuid":"b","sessionId":"ses-1","timestamp":"2026-11-20T10:00:02Z","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"it has 9 rows"}]}}"#,
                "\n",
            ),
        ),
        (
            "rollout.jsonl",
            "codex",
            concat!(
                r#"{"timestamp":"2026-11-20T10:00:00Z","type":"session_meta","payload":{"id":"ses-2","git":{"branch":"tides"}}}"#,
                "\n",
                r#"{"timestamp":"2026-11-20T10:00:01Z","type":"event_msg","payload":{"type":"user_message","message":"read the table"}}"#,
                "\n",
                r#"{"timestamp":"2026-11-20T10:00:02Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"it has 9 rows"}]}}"#,
                "\n",
                r#"{"timestamp":"2026-11-20T10:00:03Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"1"}}"#,
                "\n",
            ),
        ),
        (
            "whole.json",
            "gemini",
            r#"{"sessionId":"ses-3","messages":[{"id":"m1","type":"user","content":"read the table"},{"id":"m2","type":"gemini","content":"it has 9 rows"}]}"#,
        ),
    ];
    for (name, agent, text) in files {
        let world = World::with_commit();
        world.file(name, text);
        world
            .checkpoint(["import", name])
            .success()
            .stdout_has(&format!("{agent} 'ses-"))
            .stdout_has("read the table");
        let imported = messages(&world, "ses-*");
        world.checkpoint(["start", "own"]).success();
        world.checkpoint(["message", "import", name]).success();
        assert_eq!(imported, messages(&world, "own"), "{agent}");
        assert!(imported.iter().any(|text| text.contains("9 rows")), "{agent}");
        let request = world.checkpoint(["request", "--session", &imported_name(&world)]);
        request.success().stdout_has("it has 9 rows");
        world
            .checkpoint(["import", name])
            .success()
            .stdout_has("Already imported");
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// The session that an import made.
fn imported_name(world: &World) -> String {
    let listed = world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints/ses-*"]);
    listed.lines().next().expect("a session").to_owned()
}

/// Each message's role and content as stored.
fn messages(world: &World, session: &str) -> Vec<String> {
    let session = if session == "own" {
        session.to_owned()
    } else {
        imported_name(world)
    };
    let listed = world.checkpoint(["message", "list", "--json", "--full", "--session", &session]);
    let listed: Value = serde_json::from_str(listed.success().stdout()).unwrap();
    let each = listed["messages"].as_array().unwrap().iter();
    each.map(|message| format!("{} {} {}", message["id"], message["role"], message["content"]))
        .collect()
}

#[test]
fn a_markdown_pause_is_known_under_any_name_and_in_any_directory() {
    for version in [
        "5.9.70/input/.claude-mpm/sessions/session-20261128-151611",
        "4.20.6/input/.claude-mpm/sessions/pause/session-20261128-151608",
    ] {
        let path = format!(
            "{}/fixtures/formats/claude-mpm/real-{version}.md",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = fs::read_to_string(path).unwrap();
        let id = version.rsplit('/').next().unwrap();
        for name in [
            "notes.md",
            "docs/handover/Monday.md",
            "v6.5.83-session.markdown",
            "plain",
        ] {
            let world = World::with_commit();
            world.file(name, &text);
            world
                .checkpoint(["import", name])
                .success()
                .stdout_has(&format!("claude-mpm '{id}'"));
        }
    }
}

/// The chat of a session as lines of role and content.
fn chat_of(world: &World, session: &str) -> String {
    let tree = format!("checkpoints/{session}:chat");
    let chunks = world
        .git(["ls-tree", "--name-only", &tree])
        .success()
        .stdout()
        .to_owned();
    let chunks = chunks.lines().filter(|name| name.contains(".jsonl"));
    let chunk = |name| {
        world
            .git(["show", &format!("{tree}/{name}")])
            .success()
            .stdout()
            .to_owned()
    };
    chunks.map(chunk).collect()
}

#[test]
fn files_of_one_name_are_one_session_only_if_one_chat_begins_the_other() {
    let world = World::with_commit();
    let chat = |texts: &[&str]| {
        let messages = texts
            .iter()
            .map(|text| serde_json::json!({ "role": "user", "content": text }));
        Value::Array(messages.collect()).to_string()
    };
    let lines = |texts: &[&str]| -> String {
        let line = |text: &&str| format!("{}\n", serde_json::json!({ "role": "user", "content": text }));
        texts.iter().map(line).collect()
    };
    world.file("p/o.json", chat(&["FIRST"]));
    world.file("q/o.json", chat(&["OTHER"]));
    world.file("q/o.jsonl", lines(&["THIRD"]));
    world.checkpoint(["import", "p/o.json"]).success();
    let first = world.git_line(["rev-parse", "checkpoints/o"]);

    // Another chat is another session, under the name that was asked for or a free one.
    world
        .checkpoint(["import", "q/o.json", "--session", "qq"])
        .success()
        .stdout_has("Imported session qq");
    world
        .checkpoint(["import", "q/o.jsonl"])
        .success()
        .stdout_has("Imported session o-2");
    assert_eq!(world.git_line(["rev-parse", "checkpoints/o"]), first);
    for (session, text) in [("o", "FIRST"), ("qq", "OTHER"), ("o-2", "THIRD")] {
        let chat = chat_of(&world, session);
        assert_eq!(chat.lines().count(), 1, "{session}: {chat}");
        assert!(chat.contains(text), "{session}: {chat}");
    }
    // Each of them is known again, and one that grew is added to its own session, from wherever its file is.
    for path in ["p/o.json", "q/o.json", "q/o.jsonl"] {
        world
            .checkpoint(["import", path])
            .success()
            .stdout_has("Already imported");
    }
    world.file("r/o.json", chat(&["OTHER", "more"]));
    world
        .checkpoint(["import", "r/o.json"])
        .success()
        .stdout_has("Added to session qq");
    assert_eq!(chat_of(&world, "qq").lines().count(), 2);
    assert_eq!(world.git_line(["rev-parse", "checkpoints/o"]), first);

    // A session that went on here does not get an unrelated chat, and its own is still known as its own.
    world
        .checkpoint(["message", "add", "--session", "o", "--role", "user", "mine"])
        .success();
    world
        .checkpoint(["save", "--session", "o", "-m", "on", "--no-files"])
        .success();
    world.file("s/o.json", chat(&["FOURTH"]));
    world
        .checkpoint(["import", "s/o.json"])
        .success()
        .stdout_has("Imported session o-3");
    world.file("p/o.json", chat(&["FIRST", "second"]));
    world
        .checkpoint(["import", "p/o.json"])
        .code(7)
        .stdout_has("continued here");
    world.checkpoint(["verify", "--all"]).success();

    // In one import as well.
    let world = World::with_commit();
    world.file("d/p/o.json", chat(&["FIRST"]));
    world.file("d/q/o.json", chat(&["OTHER"]));
    world
        .checkpoint(["import", "d"])
        .success()
        .stdout_has("2 sessions imported");
    let both = chat_of(&world, "o") + &chat_of(&world, "o-2");
    assert!(both.contains("FIRST") && both.contains("OTHER"), "{both}");
}

/// Formats whose sessions have only a name: files of unrelated sessions stay apart, those of one session stay together.
#[test]
fn sessions_that_share_a_name_are_not_mixed() {
    for (format, file) in [
        ("markdown", "m.md"),
        ("handoff", "h.md"),
        ("opencastle", "SESSION-CHECKPOINT.md"),
    ] {
        let exported = |letter: &str, more: bool| {
            let world = World::with_commit();
            let save = |summary: &str, decision: &str, out: &str| {
                world.advance(60);
                world.file("f", summary);
                world.checkpoint(["save", "-m", summary, "-d", decision]).success();
                fs::create_dir_all(world.path(format!("../{out}"))).unwrap();
                let path = format!("../{out}/{file}");
                world.checkpoint(["export", "--format", format, "-o", &path]).success();
                fs::read(world.path(path)).unwrap()
            };
            let first = save(&format!("of {letter}"), &format!("decided {letter}"), "one");
            (
                first,
                more.then(|| save(&format!("later of {letter}"), "decided later", "two")),
            )
        };
        let (alpha, later) = exported("alpha", true);
        let (beta, _) = exported("beta", false);
        let put = |world: &World, dir: &str, bytes: &[u8]| {
            fs::create_dir_all(world.path(format!("../{dir}"))).unwrap();
            fs::write(world.path(format!("../{dir}/{file}")), bytes).unwrap();
            format!("../{dir}/{file}")
        };
        let sessions = |world: &World| {
            let refs = world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints"]);
            refs.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let decisions = |world: &World, session: &str| {
            let line = ["decision", "list", "--session", session];
            world.checkpoint(line).success().stdout().to_owned()
        };
        for is_at_once in [false, true] {
            let world = World::with_commit();
            let (one, two) = (put(&world, "a", &alpha), put(&world, "b", &beta));
            if is_at_once {
                world.checkpoint(["import", &one, &two]).success();
            } else {
                world.checkpoint(["import", &one]).success();
                world.checkpoint(["import", &two]).success();
            }
            let found = sessions(&world);
            assert_eq!(found.len(), 2, "{format}: {found:?}");
            let texts: Vec<String> = found.iter().map(|name| decisions(&world, name)).collect();
            for letter in ["alpha", "beta"] {
                let count = texts
                    .iter()
                    .filter(|text| text.contains(&format!("decided {letter}")))
                    .count();
                assert_eq!(count, 1, "{format}: {texts:?}");
            }
            assert!(
                !texts.iter().any(|text| text.contains("alpha") && text.contains("beta")),
                "{format}"
            );
            // Again is the same, and a later state goes where the earlier one is.
            world.checkpoint(["import", &one]).success();
            world.checkpoint(["import", &two]).success();
            assert_eq!(sessions(&world), found, "{format}");
            let three = put(&world, "c", later.as_deref().unwrap());
            world.checkpoint(["import", &three]).success();
            assert_eq!(sessions(&world), found, "{format}");
            let grown: Vec<_> = found
                .iter()
                .filter(|name| decisions(&world, name).contains("decided later"))
                .collect();
            assert_eq!(grown.len(), 1, "{format}");
            assert!(decisions(&world, grown[0]).contains("decided alpha"), "{format}");
            // A file that was edited in place continues the session, also without what it had.
            let edited = String::from_utf8(later.clone().unwrap()).unwrap();
            put(&world, "c", edited.replace("decided alpha", "decided again").as_bytes());
            world.checkpoint(["import", &three]).success();
            assert_eq!(sessions(&world), found, "{format}");
            assert!(decisions(&world, grown[0]).contains("decided again"), "{format}");
            world.checkpoint(["verify", "--all"]).success();
        }
        let world = World::with_commit();
        let (one, two) = (put(&world, "a", &alpha), put(&world, "b", &beta));
        world.checkpoint(["import", &one, "--session", "mine"]).success();
        world.checkpoint(["import", &two, "--session", "yours"]).success();
        assert_eq!(sessions(&world), ["mine", "yours"], "{format}");
        // One with a name of its own is one, also if another one has its beginning.
        let three = put(&world, "c", later.as_deref().unwrap());
        world.checkpoint(["import", &three, "--session", "third"]).success();
        assert_eq!(sessions(&world), ["mine", "third", "yours"], "{format}");
    }
}

/// Whatever system is named: what is none of its files is refused with the reason, and makes no session.
#[test]
fn files_that_are_no_session_are_refused_by_every_system() {
    let world = World::with_commit();
    let files: [(&str, &[u8]); 9] = [
        ("empty.md", b""),
        ("empty.json", b""),
        ("diary.md", b"Dear diary,\nnothing happened.\n"),
        ("heading.md", b"# A title\n\nSome words.\n\n## More\n\n- a\n- b\n"),
        ("diary.txt", b"Dear diary\n"),
        (
            "package.json",
            b"{\"name\":\"left-pad\",\"version\":\"1.0.0\",\"dependencies\":{\"a\":\"1\"}}\n",
        ),
        ("list.json", b"[1,2,3]\n"),
        ("binary.md", b"\x00\xff\xfe\x01PK\x03\x04\x9c\x00\n\x00\x80\x81"),
        ("binary.json", b"\x7fELF\x02\x01\x01\x00\xff\xfe"),
    ];
    for (name, bytes) in files {
        fs::write(world.root().join(name), bytes).unwrap();
    }
    let before = world.git_line(["for-each-ref"]);
    for system in [
        "claude-mpm",
        "opencastle",
        "claude-flow",
        "ai-agents",
        "dagent",
        "folder",
        "json",
    ] {
        for (name, _) in files {
            let path = format!("../{name}");
            let refused = world.checkpoint(["import", "--from", system, &path]);
            assert!(
                [3, 128].contains(&refused.status().code().unwrap()),
                "{system} {name}: {refused}"
            );
            refused.stderr_has(&path);
            let listed = world
                .checkpoint(["import", "--from", system, &path, "--json"])
                .stdout_json();
            assert_eq!(listed["sessions"], serde_json::json!([]), "{system} {name}");
        }
    }
    assert_eq!(world.git_line(["for-each-ref"]), before);
    let refused = world.checkpoint(["import", "--from", "opencastle", "../diary.md"]);
    refused
        .stderr_has("nothing in it is of opencastle")
        .stderr_has("without --from");
    // Under any name, what the system wrote comes in.
    world.file(
        "x.txt",
        "## Completed Work\n\n| Task | Status |\n|---|---|\n| Parse | Done |\n",
    );
    world.checkpoint(["import", "--from", "opencastle", "x.txt"]).success();
}

#[test]
fn lines_of_an_agents_file_that_cannot_be_read_are_reported() {
    let world = World::with_commit();
    let line = |n: usize| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"u{n}\",\"sessionId\":\"S\",\"timestamp\":\"2026-01-02T03:04:0{n}Z\",\
             \"message\":{{\"role\":\"user\",\"content\":\"words {n}\"}}}}\n"
        )
    };
    world.file("s.jsonl", format!("{}{{broken}}\n{}", line(1), line(2)));
    let partial = world.checkpoint(["import", "s.jsonl", "--json"]);
    let receipt = partial.code(7).stdout_json();
    assert_eq!(
        (&receipt["partial"], &receipt["sessions"][0]["messages"]),
        (&true.into(), &2.into())
    );
    assert_eq!(receipt["problems"][0]["path"], "s.jsonl:2");
    world.file(
        "t.jsonl",
        format!("{}{{\"type\":\"us", line(1)).replace("\"S\"", "\"T\""),
    );
    world
        .checkpoint(["import", "t.jsonl"])
        .code(7)
        .stderr_has("t.jsonl: the last line is incomplete");
}
