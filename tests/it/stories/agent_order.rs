//! Events of agents that are missing, doubled or out of order: what changed is saved, and once.

use std::fs;

use serde_json::{Value, json};

use crate::support::{PROGRAM, World};

fn enabled() -> World {
    let world = World::with_commit();
    world.git(["config", "checkpoint.agents", "true"]).success();
    world
}

/// An agent's words for a prompt and the end of a turn, and the member of the payload that names the turn.
#[derive(Clone, Copy, Debug)]
struct Dialect {
    agent: &'static str,
    title: &'static str,
    session: &'static str,
    start: Option<&'static str>,
    prompt: &'static str,
    end: &'static str,
    key: Option<&'static str>,
}

const CLAUDE: Dialect = Dialect {
    agent: "claude-code",
    title: "Claude Code",
    session: "session_id",
    start: Some("SessionStart"),
    prompt: "UserPromptSubmit",
    end: "Stop",
    key: Some("prompt_id"),
};

const DIALECTS: [Dialect; 5] = [
    CLAUDE,
    // Older versions of the agent name no turn.
    Dialect { key: None, ..CLAUDE },
    Dialect {
        agent: "codex",
        title: "Codex",
        key: Some("turn_id"),
        ..CLAUDE
    },
    Dialect {
        agent: "copilot",
        title: "Copilot CLI",
        session: "sessionId",
        start: Some("sessionStart"),
        prompt: "userPromptSubmitted",
        end: "agentStop",
        key: None,
    },
    Dialect {
        agent: "pi",
        title: "Pi",
        start: None,
        prompt: "before_agent_start",
        end: "agent_settled",
        key: Some("leaf"),
        ..CLAUDE
    },
];

impl Dialect {
    fn send(self, world: &World, event: &str, session: &str, key: &str, more: &Value) {
        let mut payload = json!({ "cwd": world.repo() });
        payload[self.session] = session.into();
        if let Some(name) = self.key {
            payload[name] = key.into();
        }
        payload
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let hook = world.command(PROGRAM, ["hook", self.agent, event]);
        let hook = hook.env("CHECKPOINT_AGENT_HOOK", "worker").input(payload.to_string());
        hook.run().success().no_stderr();
    }

    fn prompt(self, world: &World, session: &str, key: &str) {
        self.send(world, self.prompt, session, key, &json!({ "prompt": key }));
    }

    fn end(self, world: &World, session: &str, key: &str) {
        self.send(world, self.end, session, key, &json!({}));
    }
}

/// Kind and subject of the checkpoints of all sessions, without their beginnings.
fn saved(world: &World) -> Vec<String> {
    let format = "--format=%(trailers:key=Checkpoint-Kind,valueonly,separator=) %s";
    let log = world.git_line([
        "log",
        "--glob=refs/checkpoints/*",
        "--first-parent",
        "--reverse",
        format,
    ]);
    let is_later = |line: &&str| !line.starts_with("start ");
    log.lines().filter(is_later).map(str::to_owned).collect()
}

fn turns(world: &World) -> Vec<(String, Value)> {
    let listed = world.checkpoint(["turns", "--all", "--json"]).success().stdout_json();
    let row = |turn: &Value| (turn["subject"].as_str().unwrap().to_owned(), turn["files"].clone());
    listed["turns"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn the_end_of_a_turn_without_its_prompt_saves_what_changed() {
    for dialect in DIALECTS {
        let world = enabled();
        if let Some(start) = dialect.start {
            dialect.send(&world, start, "s", "", &json!({}));
        }
        dialect.prompt(&world, "s", "one");
        world.file("a", "1\n");
        dialect.end(&world, "s", "one");
        // The prompt is missing.
        world.file("b", "2\n");
        dialect.end(&world, "s", "two");
        // Another report, and an end of a turn in which nothing changed.
        dialect.end(&world, "s", "two");
        dialect.end(&world, "s", "three");
        let title = dialect.title;
        let expected = vec![("one".to_owned(), json!(["a"])), (format!("{title}: b"), json!(["b"]))];
        assert_eq!(turns(&world), expected, "{dialect:?}");
        let listed = world.checkpoint(["turns", "--json"]).success().stdout_json();
        let inexact: Vec<_> = listed["turns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|turn| &turn["inexact"])
            .collect();
        assert_eq!(inexact, [false, true], "{dialect:?}");
        // The next turn is as ever.
        world.file("mine", "by hand\n");
        dialect.prompt(&world, "s", "four");
        world.file("c", "3\n");
        dialect.end(&world, "s", "four");
        assert_eq!(turns(&world)[2], ("four".to_owned(), json!(["c"])), "{dialect:?}");
        // The first ones are the files that were there.
        assert_eq!(
            saved(&world).iter().filter(|line| line.starts_with("edit ")).count(),
            2,
            "{dialect:?}"
        );
        world.checkpoint(["verify", "--all"]).success();
    }
}

#[test]
fn a_session_of_which_nothing_was_reported_is_saved_at_its_first_end() {
    for dialect in DIALECTS {
        let world = enabled();
        world.file("a", "1\n");
        for n in 0..4 {
            world.file(format!("d/{n}"), "x\n");
        }
        dialect.end(&world, "unknown", "k");
        let expected = format!("{}: a, d/0, d/1 and 2 more", dialect.title);
        let files = json!(["a", "d/0", "d/1", "d/2", "d/3"]);
        assert_eq!(turns(&world), [(expected, files)], "{dialect:?}");
        dialect.end(&world, "unknown", "k");
        assert_eq!(turns(&world).len(), 1, "{dialect:?}");
    }
}

#[test]
fn a_prompt_after_the_end_of_its_turn_changes_nothing() {
    for dialect in DIALECTS
        .into_iter()
        .filter(|dialect| dialect.key.is_some() && dialect.agent != "pi")
    {
        let world = enabled();
        world.file("a", "1\n");
        dialect.end(&world, "s", "one");
        dialect.prompt(&world, "s", "one");
        world.file("mine", "by hand\n");
        dialect.prompt(&world, "s", "two");
        // Once more, in the next turn.
        dialect.prompt(&world, "s", "one");
        world.file("b", "2\n");
        dialect.end(&world, "s", "two");
        dialect.end(&world, "s", "one");
        let kinds: Vec<_> = saved(&world)
            .iter()
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .collect();
        assert_eq!(kinds, ["turn", "edit", "turn"], "{dialect:?}: {:?}", saved(&world));
        assert_eq!(turns(&world)[1], ("two".to_owned(), json!(["b"])), "{dialect:?}");
    }
}

#[test]
fn a_turn_that_another_hook_continues_is_saved_to_its_end() {
    let world = enabled();
    let more = json!({ "stop_hook_active": true, "prompt": "fix it" });
    CLAUDE.send(&world, CLAUDE.prompt, "s", "one", &json!({ "prompt": "fix it" }));
    world.file("a", "1\n");
    CLAUDE.end(&world, "s", "one");
    world.file("b", "2\n");
    CLAUDE.send(&world, CLAUDE.end, "s", "one", &more);
    CLAUDE.send(&world, CLAUDE.end, "s", "one", &more);
    CLAUDE.prompt(&world, "s", "two");
    let expected = [("fix it", json!(["a"])), ("fix it", json!(["b"]))];
    assert_eq!(
        turns(&world),
        expected.map(|(prompt, files)| (prompt.to_owned(), files))
    );
    assert!(
        !saved(&world)[1..].iter().any(|line| line.starts_with("edit ")),
        "{:?}",
        saved(&world)
    );
}

#[test]
fn a_turn_without_a_key_is_saved_also_after_the_binding_is_lost() {
    let dialect = DIALECTS[3];
    let world = enabled();
    for (prompt, file) in [("one", "a"), ("two", "b")] {
        dialect.prompt(&world, "s", prompt);
        world.file(file, "1\n");
        dialect.end(&world, "s", "");
        fs::remove_dir_all(world.path(".git/checkpoint/agents")).unwrap();
    }
    let expected = vec![("one".to_owned(), json!(["a"])), ("two".to_owned(), json!(["b"]))];
    assert_eq!(turns(&world), expected);
}

/// A line of a session file of Claude Code.
fn line(world: &World, n: usize, kind: &str, text: &str) -> String {
    let parent = n.checked_sub(1).map(|before| format!("u{before}"));
    let record = json!({"type": kind, "uuid": format!("u{n}"), "parentUuid": parent, "sessionId": "s", "isSidechain": false,
        "promptId": format!("p{}", n / 2), "cwd": world.repo(), "version": "2.1.0",
        "timestamp": format!("2026-11-28T10:00:{n:02}Z"),
        "message": {"role": kind, "id": format!("m{n}"), "stop_reason": "end_turn", "content": [{"type": "text", "text": text}]}});
    format!("{record}\n")
}

#[test]
fn the_session_file_gives_the_prompt_that_was_not_reported() {
    let dialect = DIALECTS[1];
    let world = enabled();
    let file = world.home().join("s.jsonl");
    let path = json!({ "transcript_path": file.to_str().unwrap() });
    let mut text = String::new();
    let mut said = 0;
    let mut write = |prompt: &str| {
        text += &line(&world, said, "user", prompt);
        text += &line(&world, said + 1, "assistant", "Done.");
        said += 2;
        fs::write(&file, &text).unwrap();
    };
    write("make a");
    world.file("a", "1\n");
    dialect.send(&world, dialect.end, "s", "", &path);
    // Its prompt comes late; nothing of a person's is taken for it.
    let late = json!({ "transcript_path": path["transcript_path"], "prompt": "make a" });
    dialect.send(&world, dialect.prompt, "s", "", &late);
    // A turn that changed no file.
    write("explain a");
    dialect.send(&world, dialect.end, "s", "", &path);
    // One that the session file does not have.
    world.file("b", "2\n");
    dialect.send(&world, dialect.end, "s", "", &path);
    dialect.send(&world, dialect.end, "s", "", &path);
    let expected = vec![
        ("make a".to_owned(), json!(["a"])),
        ("explain a".to_owned(), json!([])),
        ("Claude Code: b".to_owned(), json!(["b"])),
    ];
    assert_eq!(turns(&world), expected);
    let messages = world.checkpoint(["message", "list", "--json"]).success().stdout_json();
    assert_eq!(messages["messages"].as_array().unwrap().len(), 4);
}
