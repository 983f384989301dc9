//! Events and session files of real agents, as `scripts/agents --record` noted them, played again: the turns, the files and
//! the chat are those of the day on which the agent ran.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{PROGRAM, World};

/// The fixture of an agent, with this world's directories in it.
pub(super) fn fixture(world: &World, agent: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/agents/{agent}.json"));
    let text = fs::read_to_string(path).unwrap();
    let (root, home) = (world.repo(), world.home());
    let (root, home) = (root.to_str().unwrap(), home.to_str().unwrap());
    let world = world.root().to_str().unwrap().to_owned();
    let text = text
        .replace("@ROOT@", root)
        .replace("@HOME@", home)
        .replace("@WORLD@", &world);
    serde_json::from_str(&text).unwrap()
}

/// Brings the session file of an event to its state at that time.
pub(super) fn write_transcript(event: &Value) {
    let Some(text) = event["transcript"]["text"].as_str() else {
        return;
    };
    let payload = &event["payload"];
    let names = ["transcript_path", "transcriptPath", "session_file"];
    let path = names.iter().find_map(|name| payload[*name].as_str()).unwrap();
    fs::create_dir_all(Path::new(path).parent().unwrap()).unwrap();
    let mut bytes = fs::read(path).unwrap_or_default();
    if event["transcript"]["anew"] == true {
        bytes.clear();
    }
    bytes.extend_from_slice(text.as_bytes());
    fs::write(path, bytes).unwrap();
}

pub(super) fn play(world: &World, agent: &str, event: &Value) {
    for (name, text) in event["files"].as_object().unwrap() {
        match text.as_str() {
            Some(text) => world.file(name, text),
            None => fs::remove_file(world.path(name)).unwrap(),
        }
    }
    write_transcript(event);
    let mut command = world.command(PROGRAM, ["hook", agent, event["event"].as_str().unwrap()]);
    command = command.env("CHECKPOINT_AGENT_HOOK", "worker");
    command.input(event["payload"].to_string()).run().success().no_stderr();
}

/// The chat as a person saw it.
pub(super) fn chat(world: &World) -> Vec<Value> {
    let listed = world
        .checkpoint(["message", "list", "--full", "--json"])
        .success()
        .stdout_json();
    let text = |message: &Value| match &message["content"] {
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect::<String>(),
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    let messages = listed["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == "user" || message["role"] == "assistant")
        .filter(|message| message["meta"]["helper"].is_null() && !text(message).trim().is_empty())
        .map(|message| json!([message["role"], text(message).trim().trim_matches('"')]))
        .collect()
}

fn day(agent: &str) {
    let world = World::new();
    world.file("README.md", "demo\n");
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "first"]).success();
    world.git(["config", "checkpoint.agents", "true"]).success();
    let fixture = fixture(&world, agent);
    for event in fixture["events"].as_array().unwrap() {
        play(&world, agent, event);
    }
    let turns = || {
        let listed = world.checkpoint(["turns", "--all", "--json"]).success().stdout_json();
        let row = |turn: &Value| {
            json!([
                turn["subject"].as_str().unwrap().trim_matches('"'),
                turn["files"],
                turn["outcome"]
            ])
        };
        listed["turns"].as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(json!(turns()), fixture["turns"], "{agent}");
    assert_eq!(json!(chat(&world)), fixture["chat"], "{agent}");
    assert!(
        turns().contains(&json!(["slow killed.txt", ["killed.txt"], "interrupted"])),
        "{agent}"
    );
    // Every event again, the latest first: late, doubled and out of order.
    let last = turns().len();
    for event in fixture["events"].as_array().unwrap().iter().rev() {
        let is_end =
            ["Stop", "AfterAgent", "agentStop", "idle", "agent_settled"].contains(&event["event"].as_str().unwrap());
        if is_end && event["payload"]["prompt_id"].is_string() {
            let again = json!({ "event": event["event"], "payload": event["payload"], "files": {} });
            play(&world, agent, &again);
        }
    }
    assert_eq!(turns().len(), last, "{agent}");
    world.checkpoint(["verify", "--all"]).success();
}

macro_rules! days {
    ($($name:ident $agent:literal)*) => {
        $(#[test]
        fn $name() {
            day($agent);
        })*
    };
}

days! {
    a_day_of_claude_code "claude-code"
    a_day_of_codex "codex"
    a_day_of_copilot "copilot"
    a_day_of_gemini "gemini"
    a_day_of_qwen "qwen"
    a_day_of_opencode "opencode"
    a_day_of_pi "pi"
}
