//! Agents that report little: no start of their session, and no session file. What they do and say is theirs even so.

use std::{
    fs::{self, File},
    process::Command,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use crate::support::{PROGRAM, World};

fn enabled() -> World {
    let world = World::with_commit();
    world.git(["config", "checkpoint.agents", "true"]).success();
    world
}

fn send(world: &World, agent: &str, event: &str, payload: &Value, ticket: Option<&str>) {
    let mut payload = payload.clone();
    payload["cwd"] = json!(world.repo());
    let hook = world.command(PROGRAM, ["hook", agent, event]);
    let hook = hook.env("CHECKPOINT_AGENT_HOOK", "worker");
    let hook = match ticket {
        Some(ticket) => hook.env("CHECKPOINT_AGENT_TICKET", ticket),
        None => hook,
    };
    hook.input(payload.to_string()).run().success();
}

/// Draws a ticket for an event of an agent session that came at this time.
fn ticket(world: &World, agent: &str, session: &str, at: SystemTime) -> String {
    let digest = Command::new("sh")
        .args(["-c", &format!("printf '{agent}\\0{session}' | sha256sum")])
        .output()
        .unwrap();
    let digest = String::from_utf8(digest.stdout).unwrap();
    let name = format!("{agent}-{}.0000000000000002-bbbbbbbbbbbbbbbb.ticket", &digest[..16]);
    let directory = world.path(".git/checkpoint/agents");
    fs::create_dir_all(&directory).unwrap();
    File::create(directory.join(&name)).unwrap().set_modified(at).unwrap();
    name
}

fn kinds(world: &World) -> Vec<String> {
    let log = world.checkpoint(["log", "--json"]).success().stdout_json();
    let rows = log["checkpoints"].as_array().unwrap().iter();
    rows.map(|row| row["kind"].as_str().unwrap().to_owned()).collect()
}

fn messages(world: &World) -> Vec<(String, String)> {
    let listed = world
        .checkpoint(["message", "list", "--full", "--json"])
        .success()
        .stdout_json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let messages = listed["messages"].as_array().unwrap().iter();
    messages
        .map(|message| (text(&message["role"]), text(&message["content"])))
        .collect()
}

/// The tree is read after the prompt, when the agent has edited a file: that is its work, and no state before the turn.
#[test]
fn what_is_edited_at_once_in_a_first_turn_is_the_agents() {
    let now = SystemTime::now();
    let [soon, later] = [3600, 7200].map(|seconds| now + Duration::from_secs(seconds));
    for (agent, prompt, end) in [
        ("gemini", "BeforeAgent", "AfterAgent"),
        ("claude-code", "UserPromptSubmit", "Stop"),
    ] {
        for is_at_once in [true, false] {
            let world = enabled();
            world.file("mine.txt", "by hand\n");
            if is_at_once {
                world.file("d/agent.txt", "by the agent\n");
                let file = File::options().write(true).open(world.path("d/agent.txt")).unwrap();
                file.set_modified(later).unwrap();
            }
            let drawn = ticket(&world, agent, "s", soon);
            send(
                &world,
                agent,
                prompt,
                &json!({ "session_id": "s", "prompt": "go" }),
                Some(&drawn),
            );
            world.file("d/agent.txt", "by the agent\n");
            send(&world, agent, end, &json!({ "session_id": "s" }), None);
            let listed = world.checkpoint(["turns", "--json"]).success().stdout_json();
            let turn = &listed["turns"][0];
            let files = turn["files"].as_array().unwrap();
            assert!(files.contains(&json!("d/agent.txt")), "{agent}: {turn}");
            // Whose the other one is cannot be known then.
            assert_eq!(turn["inexact"], is_at_once, "{agent}: {turn}");
            assert_eq!(files.contains(&json!("mine.txt")), is_at_once, "{agent}: {turn}");
            assert_eq!(kinds(&world).contains(&"edit".to_owned()), !is_at_once, "{agent}");
        }
    }
}

#[test]
fn prompt_and_answer_of_an_agent_without_a_session_file_are_in_the_chat() {
    for (agent, prompt, end, answer) in [
        ("claude-code", "UserPromptSubmit", "Stop", "last_assistant_message"),
        ("gemini", "BeforeAgent", "AfterAgent", "prompt_response"),
        ("qwen", "UserPromptSubmit", "Stop", "last_assistant_message"),
    ] {
        let world = enabled();
        let missing = world.root().join("missing.jsonl");
        let turn = |n: usize, file: bool| {
            let mut payload =
                json!({ "session_id": "s", "prompt_id": format!("k{n}"), "prompt": format!("first line {n}\nsecond") });
            if file {
                payload["transcript_path"] = json!(missing);
            }
            send(&world, agent, prompt, &payload, None);
            payload.as_object_mut().unwrap().remove("prompt");
            payload[answer] = json!(format!("the answer {n}"));
            // Twice: it is recorded once.
            send(&world, agent, end, &payload, None);
            send(&world, agent, end, &payload, None);
        };
        turn(1, false);
        world.file("a.txt", "1\n");
        turn(2, true);
        let said = |role: &str, text: &str| (role.to_owned(), text.to_owned());
        let expected = [
            said("user", "first line 1\nsecond"),
            said("assistant", "the answer 1"),
            said("user", "first line 2\nsecond"),
            said("assistant", "the answer 2"),
        ];
        assert_eq!(messages(&world), expected, "{agent}");
        world.checkpoint(["save", "-m", "x"]);
        assert_eq!(messages(&world), expected, "{agent}");
        world.checkpoint(["verify", "--all"]).success();
        // Where nothing of conversations is kept, this is not either.
        world.git(["config", "checkpoint.transcripts", "off"]).success();
        turn(3, false);
        assert_eq!(messages(&world).len(), 4, "{agent}");
    }
}
