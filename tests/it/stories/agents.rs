//! Coding agents: their hooks in the user's settings, and what each event saves. The events are in the form in which the
//! agents send them.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Output, PROGRAM, World};

/// A repository that takes part, with hooks for Claude Code.
fn enabled() -> World {
    let world = World::with_commit();
    fs::create_dir_all(world.home().join(".claude")).unwrap();
    world.checkpoint(["enable", "claude-code"]).success();
    world
}

fn hook(world: &World, agent: &str, event: &str, payload: &Value) -> Output {
    let before = last(world, payload);
    let hook = world.command(PROGRAM, ["hook", agent, event]);
    let output = hook.input(payload.to_string()).run();
    output.success().no_stderr();
    // The hook does not wait for a slow worker; each event has a time of its own here.
    wait_until(|| last(world, payload) != before);
    output
}

/// The last event that was noted of the agent's session that the payload names.
fn last(world: &World, payload: &Value) -> Value {
    let named = ["session_id", "sessionId", "conversation_id"];
    let session = payload.pointer("/sessionContext/rootSessionId").and_then(Value::as_str);
    let session = session.or_else(|| named.iter().find_map(|name| payload[*name].as_str()));
    let binding = bindings(world)
        .into_iter()
        .find(|binding| binding["agent_session"].as_str() == session);
    binding.map_or(Value::Null, |binding| binding["last"].clone())
}

fn wait_until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it never came to be");
        thread::sleep(Duration::from_millis(5));
    }
}

fn bindings(world: &World) -> Vec<Value> {
    let entries = fs::read_dir(world.path(".git/checkpoint/agents"))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter_map(|entry| serde_json::from_slice(&fs::read(entry.path()).ok()?).ok())
        .collect()
}

fn event(world: &World, name: &str, more: &Value) -> Value {
    let mut payload = json!({
        "session_id": "6f1c", "cwd": world.repo().to_str().unwrap(), "hook_event_name": name,
        "transcript_path": world.home().join("none.jsonl").to_str().unwrap(),
    });
    payload
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    payload
}

/// Kind and subject of the checkpoints of a session, the latest first.
fn log(world: &World, session: &str) -> Vec<String> {
    let format = "--format=%(trailers:key=Checkpoint-Kind,valueonly,separator=) %s";
    let log = world.git_line(["log", "--first-parent", format, &format!("refs/checkpoints/{session}")]);
    log.lines().map(str::to_owned).collect()
}

fn only_session(world: &World) -> String {
    let refs = world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints"]);
    assert_eq!(refs.lines().count(), 1, "{refs}");
    refs.trim().to_owned()
}

fn document(world: &World, session: &str) -> Value {
    serde_json::from_str(&world.git_line(["show", &format!("refs/checkpoints/{session}:checkpoint.json")])).unwrap()
}

fn turn(world: &World, key: &str, prompt: &str, edit: impl Fn()) {
    let more = json!({ "prompt_id": key, "prompt": prompt });
    hook(
        world,
        "claude-code",
        "UserPromptSubmit",
        &event(world, "UserPromptSubmit", &more),
    );
    edit();
    let more = json!({ "prompt_id": key, "last_assistant_message": "done" });
    hook(world, "claude-code", "Stop", &event(world, "Stop", &more));
}

#[test]
fn a_turn_is_one_checkpoint_with_its_files() {
    let world = enabled();
    let before = world.fingerprint();
    hook(
        &world,
        "claude-code",
        "SessionStart",
        &event(&world, "SessionStart", &json!({ "source": "startup" })),
    )
    .no_stdout();
    turn(&world, "p1", "Write hello\nplease", || {
        world.file("hello.txt", "hello\n");
    });
    let session = only_session(&world);
    assert_eq!(log(&world, &session)[0], "turn Write hello");
    let document = document(&world, &session);
    assert_eq!(document["turn"]["key"], "p1");
    assert_eq!(document["turn"]["files"], json!(["hello.txt"]));
    assert_eq!(document["turn"]["outcome"], "done");
    assert_eq!(
        world
            .git_line(["show", &format!("refs/checkpoints/{session}^2:hello.txt")])
            .trim(),
        "hello"
    );
    world.checkpoint(["verify", "--all"]).success();
    assert_eq!(
        before
            .differences(&world.fingerprint())
            .iter()
            .filter(|line| line.contains("refs/heads"))
            .count(),
        0
    );
}

#[test]
fn edits_between_turns_are_saved_apart() {
    let world = enabled();
    turn(&world, "p1", "one", || world.file("a", "agent\n"));
    world.file("mine", "by hand\n");
    turn(&world, "p2", "two", || world.file("a", "agent again\n"));
    let session = only_session(&world);
    let log = log(&world, &session);
    assert_eq!(log[0], "turn two");
    assert!(log[1].starts_with("edit "), "{log:?}");
    assert_eq!(log[2], "turn one");
    let names = world.git_line([
        "diff",
        "--name-only",
        &format!("refs/checkpoints/{session}~1^2"),
        &format!("refs/checkpoints/{session}^2"),
    ]);
    assert_eq!(names.trim(), "a");
    let names = world.git_line([
        "diff",
        "--name-only",
        &format!("refs/checkpoints/{session}~2^2"),
        &format!("refs/checkpoints/{session}~1^2"),
    ]);
    assert_eq!(names.trim(), "mine");
}

#[test]
fn doubled_late_and_concurrent_events_save_a_turn_once() {
    let world = enabled();
    let prompt = event(
        &world,
        "UserPromptSubmit",
        &json!({ "prompt_id": "p1", "prompt": "go" }),
    );
    hook(&world, "claude-code", "UserPromptSubmit", &prompt);
    hook(&world, "claude-code", "UserPromptSubmit", &prompt);
    world.file("a", "1\n");
    let stop = event(&world, "Stop", &json!({ "prompt_id": "p1" }));
    let mut running = Vec::new();
    for _ in 0..6 {
        let mut command = Command::new(PROGRAM);
        command.args(["hook", "claude-code", "Stop"]).current_dir(world.repo());
        command.env_clear().envs(world.environment()).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(stop.to_string().as_bytes())
            .unwrap();
        running.push(child);
    }
    for mut child in running {
        assert!(child.wait().unwrap().success());
    }
    // Workers that are still at it have to find the turn saved as well.
    thread::sleep(Duration::from_millis(500));
    // The binding is lost, and the event comes once more.
    fs::remove_dir_all(world.path(".git/checkpoint/agents")).unwrap();
    hook(&world, "claude-code", "Stop", &stop);
    let session = only_session(&world);
    let turns = log(&world, &session)
        .iter()
        .filter(|line| line.starts_with("turn "))
        .count();
    assert_eq!(turns, 1, "{:?}", log(&world, &session));
}

#[test]
fn an_interrupted_turn_is_saved_as_such_at_the_next_prompt() {
    let world = enabled();
    let prompt =
        |key: &str, text: &str| event(&world, "UserPromptSubmit", &json!({ "prompt_id": key, "prompt": text }));
    hook(&world, "claude-code", "UserPromptSubmit", &prompt("p1", "first"));
    world.file("half", "half done\n");
    hook(&world, "claude-code", "UserPromptSubmit", &prompt("p2", "second"));
    let session = only_session(&world);
    assert_eq!(log(&world, &session)[0], "turn first");
    assert_eq!(document(&world, &session)["turn"]["outcome"], "interrupted");
}

#[test]
fn a_repository_that_does_not_take_part_is_left_alone() {
    let world = World::with_commit();
    let before = world.fingerprint();
    for name in [
        "SessionStart",
        "UserPromptSubmit",
        "Stop",
        "PreCompact",
        "SessionEnd",
        "NoSuchEvent",
    ] {
        let payload = event(&world, name, &json!({ "prompt_id": "p" }));
        let hook = world.command(PROGRAM, ["hook", "claude-code", name]);
        hook.input(payload.to_string()).run().success().no_stdout().no_stderr();
    }
    before.assert_same_as(&world.fingerprint());
    assert!(!world.path(".git/checkpoint").exists());
}

#[test]
fn no_input_disturbs_the_agent() {
    let world = enabled();
    let outside = world.root().to_str().unwrap().to_owned();
    for input in [
        String::new(),
        "{".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        json!({ "session_id": 3 }).to_string(),
        json!({ "session_id": "s", "cwd": outside }).to_string(),
        json!({ "session_id": "s", "cwd": "/no/such/directory" }).to_string(),
        "\u{0}\u{1}".to_owned(),
    ] {
        for (agent, name) in [
            ("claude-code", "Stop"),
            ("codex", "Stop"),
            ("nobody", "Stop"),
            ("gemini", "BeforeAgent"),
        ] {
            let run = world.command(PROGRAM, ["hook", agent, name]).input(input.clone()).run();
            run.success().no_stdout().no_stderr();
        }
    }
}

#[test]
fn the_payload_names_the_repository_and_not_the_environment() {
    let world = enabled();
    let other = world.root().join("other");
    world.git(["init", "-q", other.to_str().unwrap()]).success();
    let payload = event(&world, "Stop", &json!({ "prompt_id": "p1" }));
    world.file("a", "1\n");
    let hook = world
        .command(PROGRAM, ["hook", "claude-code", "Stop"])
        .within(other.clone());
    let hook = hook
        .env("GIT_DIR", other.join(".git"))
        .env("GIT_WORK_TREE", &other)
        .env("GIT_INDEX_FILE", other.join(".git/index"))
        .input(payload.to_string());
    hook.run().success();
    wait_until(|| last(&world, &payload)["outcome"] == "saved");
    let session = only_session(&world);
    assert_eq!(log(&world, &session)[0], "turn Claude Code: a");
    let names = |of: &str| {
        world.git_line([
            "ls-tree",
            "-r",
            "--name-only",
            &format!("refs/checkpoints/{session}^2{of}"),
        ])
    };
    assert_eq!(
        names("").lines().collect::<Vec<_>>(),
        ["README.md", "a", "src/main.txt"]
    );
    assert_eq!(names("^2").lines().collect::<Vec<_>>(), ["README.md", "src/main.txt"]);
    assert!(!other.join(".git/checkpoint").exists());
}

#[test]
fn the_next_session_gets_the_context_once() {
    let world = enabled();
    world.checkpoint(["start", "auth"]).success();
    world.file("a", "1\n");
    world
        .checkpoint(["save", "-m", "parser done", "--next", "make tests green"])
        .success();
    let start = event(&world, "SessionStart", &json!({ "source": "startup" }));
    let answer = hook(&world, "claude-code", "SessionStart", &start).stdout_json();
    let text = answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text.contains("make tests green"), "{text}");
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "SessionStart");
    world.advance(90);
    hook(&world, "claude-code", "SessionStart", &start).no_stdout();
    // After a compaction the agent no longer has it.
    let compact = event(&world, "SessionStart", &json!({ "source": "compact" }));
    assert!(
        hook(&world, "claude-code", "SessionStart", &compact)
            .stdout()
            .contains("make tests green")
    );
    world.file("a", "2\n");
    assert!(
        hook(&world, "claude-code", "SessionStart", &start)
            .stdout()
            .contains("make tests green")
    );
    hook(
        &world,
        "claude-code",
        "SessionEnd",
        &event(&world, "SessionEnd", &json!({})),
    );
    let copilot = json!({ "sessionId": "c1", "cwd": world.repo().to_str().unwrap(), "source": "new" });
    let answer = hook(&world, "copilot", "sessionStart", &copilot).stdout_json();
    assert!(answer["additionalContext"].is_string(), "{answer}");
}

#[test]
fn two_agents_at_work_have_a_session_each() {
    let world = enabled();
    turn(&world, "p1", "one", || world.file("a", "1\n"));
    let first = only_session(&world);
    let other =
        json!({ "session_id": "other", "cwd": world.repo().to_str().unwrap(), "turn_id": "t1", "prompt": "two" });
    hook(&world, "codex", "UserPromptSubmit", &other);
    world.file("b", "2\n");
    hook(&world, "codex", "Stop", &other);
    let refs = world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints"]);
    assert_eq!(refs.lines().count(), 2, "{refs}");
    let second = refs.lines().find(|name| *name != first).unwrap();
    assert_eq!(log(&world, second)[0], "turn two");
    assert_eq!(document(&world, second)["session"]["agent"], "codex");
    // The first one ends; a third agent goes on in its session.
    hook(
        &world,
        "claude-code",
        "SessionEnd",
        &event(&world, "SessionEnd", &json!({})),
    );
    let third = json!({ "session_id": "g", "cwd": world.repo().to_str().unwrap(), "prompt": "three" });
    hook(&world, "gemini", "BeforeAgent", &third);
    world.file("c", "3\n");
    hook(&world, "gemini", "AfterAgent", &third);
    assert_eq!(log(&world, &first)[0], "turn three");
}

#[test]
fn enable_and_disable_leave_the_settings_byte_for_byte() {
    let world = World::with_commit();
    let settings = world.home().join(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let text = "{\r\n\t\"model\": \"opus\",\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [{\"hooks\": []}]\r\n\t}\r\n}";
    fs::write(&settings, text).unwrap();
    let plan = world.checkpoint(["enable", "claude-code", "--dry-run"]);
    plan.success()
        .stdout_has("would be installed")
        .stdout_has("\"SessionStart\": [");
    assert_eq!(fs::read_to_string(&settings).unwrap(), text);
    world
        .checkpoint(["enable", "claude-code"])
        .success()
        .stdout_has("hooks installed");
    let once = fs::read_to_string(&settings).unwrap();
    world.checkpoint(["enable", "claude-code"]).success();
    assert_eq!(fs::read_to_string(&settings).unwrap(), once);
    let value: Value = serde_json::from_str(&once).unwrap();
    let stop = value["hooks"]["Stop"].as_array().unwrap();
    assert_eq!(stop.len(), 2);
    assert!(
        stop[1]["hooks"][0]["command"]
            .as_str()
            .unwrap()
            .ends_with(" hook claude-code Stop")
    );
    let agents = world.checkpoint(["agents", "--json"]);
    let row = &agents.stdout_json()["agents"][0];
    assert_eq!(
        (&row["agent"], &row["hooks"]),
        (&json!("claude-code"), &json!("installed"))
    );
    world.checkpoint(["disable", "claude-code"]).success();
    assert_eq!(fs::read_to_string(&settings).unwrap(), text);
    assert_eq!(world.git_line(["config", "checkpoint.agents"]).trim(), "on");
    world.checkpoint(["disable"]).success();
    world.git(["config", "checkpoint.agents"]).code(1);
}

#[test]
fn settings_that_the_agent_could_not_read_are_refused() {
    let world = World::with_commit();
    for (agent, file) in [("claude-code", ".claude/settings.json"), ("codex", ".codex/hooks.json")] {
        for text in [
            "{\"a\": 1,}",
            "// mine\n{}",
            "{\"hooks\": []}",
            "{",
            "{\"hooks\": {\"Stop\": 1}}",
        ] {
            let path = world.home().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            world.checkpoint(["enable", agent]).code(128).stderr_has("cannot edit");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
    world.git(["config", "checkpoint.agents"]).code(1);
}

#[test]
fn a_file_of_our_own_comes_and_goes() {
    let world = World::with_commit();
    for (agent, file) in [
        ("copilot", ".copilot/hooks/git-checkpoint.json"),
        ("opencode", ".config/opencode/plugins/git-checkpoint.js"),
        ("pi", ".pi/agent/extensions/git-checkpoint.js"),
        ("codex", ".codex/hooks.json"),
        ("cursor", ".cursor/hooks.json"),
        ("cline", "Documents/Cline/Hooks/TaskStart"),
    ] {
        let path = world.home().join(file);
        world.checkpoint(["enable", agent]).success();
        assert!(fs::read_to_string(&path).unwrap().contains("git-checkpoint"));
        world.checkpoint(["disable", agent]).success();
        assert!(!path.exists(), "{agent}");
    }
}

#[test]
fn cline_runs_a_script_for_each_event() {
    let world = World::with_commit();
    let scripts = world.home().join("Documents/Cline/Hooks");
    fs::create_dir_all(&scripts).unwrap();
    let mine = scripts.join("TaskComplete");
    fs::write(&mine, "#!/bin/sh\necho mine\n").unwrap();
    world
        .checkpoint(["enable", "cline"])
        .code(128)
        .stderr_has("TaskComplete")
        .stderr_has("git-checkpoint hook cline TaskComplete");
    assert_eq!(fs::read_dir(&scripts).unwrap().count(), 1);
    fs::remove_file(&mine).unwrap();
    // One that calls the program by itself stays.
    let own = scripts.join("TaskError");
    fs::write(&own, "#!/bin/sh\nexec git-checkpoint hook cline TaskError\n").unwrap();
    world.command("chmod", ["+x", own.to_str().unwrap()]).run().success();
    let plan = world.checkpoint(["enable", "cline", "--dry-run"]);
    plan.success()
        .stdout_has("would be installed")
        .stdout_has("+++ ")
        .stdout_has("hook cline TaskStart");
    assert_eq!(fs::read_dir(&scripts).unwrap().count(), 1);
    world.checkpoint(["enable", "cline"]).success();
    world.checkpoint(["enable", "cline"]).success();
    let row = || {
        let agents = world.checkpoint(["agents", "--json"]).stdout_json();
        let rows = agents["agents"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["agent"] == "cline").unwrap()
    };
    assert_eq!(row()["hooks"], "installed", "{}", row());

    let id = "1795867565710_9iotu";
    let transcript = world
        .home()
        .join(format!(".cline/data/sessions/{id}/{id}.messages.json"));
    fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    let payload = |more: Value| {
        let mut payload = json!({
            "clineVersion": "", "taskId": "conv_1", "sessionContext": { "rootSessionId": id }, "userId": "unknown",
            "workspaceRoots": [world.repo().to_str().unwrap()], "agent_id": "agent_1", "parent_agent_id": null,
        });
        payload
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        payload
    };
    let run = |event: &str, payload: &Value| {
        let before = last(&world, payload);
        let script = world.command("/bin/sh", [scripts.join(event).to_str().unwrap()]);
        script
            .input(payload.to_string())
            .run()
            .success()
            .no_stdout()
            .no_stderr();
        wait_until(|| last(&world, payload) != before);
    };
    run(
        "TaskStart",
        &payload(json!({ "hookName": "agent_start", "taskStart": { "taskMetadata": {} } })),
    );
    // The extension of the editor reports the prompt as well.
    run(
        "UserPromptSubmit",
        &payload(json!({ "userPromptSubmit": { "prompt": "Create hello.txt", "attachments": [] } })),
    );
    world.file("hello.txt", "hello\n");
    let message = |id: &str, role: &str, text: &str| json!({ "id": id, "role": role, "ts": 1_795_867_567_234_u64, "content": [{ "type": "text", "text": text }] });
    let conversation = json!({
        "sessionId": id, "origin": { "source": "cli", "version": "3.0.65" },
        "messages": [
            message("m1", "user", "<user_input mode=\"act\">Create hello.txt</user_input>"),
            message("m2", "assistant", "Wrote hello.txt."),
        ],
    });
    fs::write(&transcript, conversation.to_string()).unwrap();
    let end = json!({ "turn": { "outputText": "Wrote hello.txt.", "status": "completed" }, "taskComplete": { "taskMetadata": {} } });
    run("TaskComplete", &payload(end.clone()));
    // A helper's end is none of the session's.
    let helper = payload(json!({ "parent_agent_id": "agent_1", "agent_id": "agent_2" }));
    let script = world.command("/bin/sh", [scripts.join("TaskComplete").to_str().unwrap()]);
    script.input(helper.to_string()).run().success().no_stdout().no_stderr();
    let session = only_session(&world);
    assert_eq!(log(&world, &session)[0], "turn Create hello.txt");
    assert_eq!(document(&world, &session)["turn"]["files"], json!(["hello.txt"]));
    let messages = world.checkpoint(["message", "list", "--json"]).stdout_json();
    assert_eq!(messages["messages"].as_array().unwrap().len(), 2, "{messages}");
    // Its conversation cannot be written back; the files can.
    world.file("hello.txt", "other\n");
    let rewound = world.checkpoint(["rewind", "1"]);
    rewound.success().stderr_has("Cline takes no session file");
    assert_eq!(world.read("hello.txt"), b"hello\n");
    let context = world.checkpoint(["resume", "--agent", "--json"]).stdout_json();
    let command = context["command"].as_str().unwrap().to_owned();
    assert!(
        command.starts_with("cline --tui \"$(git checkpoint resume "),
        "{context}"
    );

    world.checkpoint(["disable", "cline"]).success();
    assert_eq!(fs::read_dir(&scripts).unwrap().count(), 1, "only the user's stays");
    assert_eq!(row()["hooks"], "incomplete", "{}", row());
}

#[test]
fn cursor_reports_in_its_own_words_and_in_those_of_claude_code() {
    let world = World::with_commit();
    let settings = world.home().join(".cursor/hooks.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let text = "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [{ \"command\": \"./mine.sh\" }]\n  }\n}\n";
    fs::write(&settings, text).unwrap();
    world.checkpoint(["enable", "cursor"]).success();
    let value: Value = serde_json::from_slice(&fs::read(&settings).unwrap()).unwrap();
    let command = value["hooks"]["stop"][1]["command"].as_str().unwrap();
    assert!(command.ends_with(" hook cursor stop"), "{value}");

    world.checkpoint(["start", "auth"]).success();
    world
        .checkpoint(["save", "-m", "parser done", "--next", "make tests green"])
        .success();
    let payload = |event: &str, more: Value| {
        let mut payload = json!({
            "conversation_id": "c-1", "generation_id": "g-1", "hook_event_name": event, "cursor_version": "2.0.77",
            "workspace_roots": [world.repo().to_str().unwrap()], "model": "m",
        });
        payload
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        payload
    };
    let start = payload("sessionStart", json!({}));
    let answer = hook(&world, "cursor", "sessionStart", &start).stdout_json();
    assert!(
        answer["additional_context"]
            .as_str()
            .unwrap()
            .contains("make tests green"),
        "{answer}"
    );
    let prompt = payload("beforeSubmitPrompt", json!({ "prompt": "fix it" }));
    hook(&world, "cursor", "beforeSubmitPrompt", &prompt).no_stdout();
    world.file("a", "1\n");
    let slug = world
        .repo()
        .to_str()
        .unwrap()
        .replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let transcript = world.home().join(format!(
        ".cursor/projects/{}/agent-transcripts/c-1/c-1.jsonl",
        slug.trim_matches('-')
    ));
    fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    let line =
        |role: &str, text: &str| json!({ "role": role, "message": { "content": [{ "type": "text", "text": text }] } });
    let said = format!(
        "{}\n{}\n",
        line("user", "<user_query>\nfix it\n</user_query>"),
        line("assistant", "Fixed.")
    );
    fs::write(&transcript, said).unwrap();
    let stop = payload("stop", json!({ "status": "completed", "loop_count": 0 }));
    hook(&world, "cursor", "stop", &stop).no_stdout();
    // It runs the hooks for Claude Code as well, with its own payload.
    let second = payload("Stop", json!({ "status": "completed" }));
    hook(&world, "claude-code", "Stop", &second).no_stdout();
    let log = log(&world, "auth");
    assert_eq!(
        (
            log[0].as_str(),
            log.iter().filter(|line| line.starts_with("turn ")).count()
        ),
        ("turn fix it", 1)
    );
    assert_eq!(document(&world, "auth")["turn"]["agent"], "cursor");
    assert_eq!(
        world.checkpoint(["message", "list", "--json"]).stdout_json()["messages"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    world.advance(60);
    let next = |event: &str, more: Value| {
        let mut next = payload(event, more);
        next["generation_id"] = "g-2".into();
        next
    };
    hook(
        &world,
        "cursor",
        "beforeSubmitPrompt",
        &next("beforeSubmitPrompt", json!({ "prompt": "more" })),
    );
    world.file("a", "2\n");
    hook(&world, "cursor", "stop", &next("stop", json!({ "status": "aborted" })));
    assert_eq!(document(&world, "auth")["turn"]["outcome"], "interrupted");
    world.checkpoint(["disable", "cursor"]).success();
    assert_eq!(fs::read_to_string(&settings).unwrap(), text);
}

#[test]
fn secrets_of_a_prompt_are_stored_nowhere() {
    let world = enabled();
    let secret = format!("ghp_{}", "0123456789abcdefghijABCDEFGHIJ012345");
    let prompt = format!("use the token {secret} for it");
    turn(&world, "p1", &prompt, || world.file("a", "1\n"));
    let objects = world.git(["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!String::from_utf8_lossy(objects.stdout_bytes()).contains(&secret));
    for binding in fs::read_dir(world.path(".git/checkpoint/agents")).unwrap().flatten() {
        assert!(!fs::read_to_string(binding.path()).unwrap().contains(&secret));
    }
}

#[test]
fn files_of_a_project_and_slash_commands_come_and_go() {
    let world = World::with_commit();
    let settings = "{\r\n  \"model\": \"x\"\r\n}\r\n";
    world.file(".claude/settings.json", settings);
    world.checkpoint(["enable", "--project", "claude-code", "pi"]).success();
    let edited = String::from_utf8(world.read(".claude/settings.json")).unwrap();
    assert!(
        edited.contains("\"git-checkpoint hook claude-code Stop 2>/dev/null || :\""),
        "{edited}"
    );
    assert!(world.path(".pi/extensions/git-checkpoint.js").exists());
    assert!(!world.home().join(".claude/settings.json").exists());
    // Where the program is not installed, the agent notices nothing.
    let value: Value = serde_json::from_str(&edited).unwrap();
    let line = value["hooks"]["Stop"][0]["hooks"][0]["command"]
        .as_str()
        .unwrap()
        .to_owned();
    world
        .command("/bin/sh", ["-c", &line])
        .env("PATH", "/nowhere")
        .run()
        .success()
        .no_stderr();
    world.checkpoint(["disable", "--project"]).success();
    assert_eq!(world.read(".claude/settings.json"), settings.as_bytes());
    assert!(!world.path(".pi/extensions/git-checkpoint.js").exists());

    let mine = world.home().join(".gemini/commands/checkpoint-save.toml");
    fs::create_dir_all(mine.parent().unwrap()).unwrap();
    fs::write(&mine, "prompt = \"mine\"\n").unwrap();
    world
        .checkpoint(["enable", "--slash-commands", "claude-code", "gemini"])
        .success();
    let commands = world.home().join(".claude/commands");
    assert_eq!(fs::read_dir(&commands).unwrap().count(), 3);
    assert_eq!(fs::read_dir(mine.parent().unwrap()).unwrap().count(), 3);
    world.checkpoint(["disable", "--all"]).success();
    assert_eq!(fs::read_dir(&commands).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(&mine).unwrap(), "prompt = \"mine\"\n");
}

#[test]
fn the_doctor_says_whether_the_hooks_fire() {
    let world = enabled();
    world
        .checkpoint(["agents", "doctor"])
        .code(3)
        .stderr_has("no coding agent is installed");
    // An agent that asks its model server once, and calls the hooks that its settings name.
    let bin = world.path("../bin");
    fs::create_dir_all(&bin).unwrap();
    let script = bin.join("claude");
    let program = |hooks: &str| {
        let text = format!(
            "#!/bin/bash\n\
             exec 3<>/dev/tcp/127.0.0.1/${{ANTHROPIC_BASE_URL##*:}}\n\
             printf 'POST /v1/messages HTTP/1.1\\r\\nContent-Length: 16\\r\\n\\r\\n{{\"stream\": false}}' >&3\n\
             read -r answer <&3\n\
             [[ $answer == *200* && $ANTHROPIC_API_KEY = none ]] || exit 1\n\
             {hooks}\n"
        );
        fs::write(&script, text).unwrap();
        world.command("chmod", ["+x", script.to_str().unwrap()]).run().success();
    };
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let doctor = || {
        let run = world
            .command(PROGRAM, ["agents", "doctor", "--json"])
            .env("PATH", &path)
            .run();
        (run.stdout_json()["agents"][0].clone(), run)
    };
    let before = world.fingerprint();
    program(
        "for event in UserPromptSubmit Stop; do\n\
             echo '{\"session_id\": \"s\", \"prompt\": \"x\", \"prompt_id\": \"p\", \"cwd\": \"'$PWD'\"}' | $(grep -o '\"command\": *\"[^\"]*'$event ~/.claude/settings.json | cut -d'\"' -f4)\n\
             done",
    );
    let (row, run) = doctor();
    run.success();
    assert_eq!(
        (&row["outcome"], &row["saved"], &row["requests"]),
        (&json!("ended"), &json!(true), &json!(1)),
        "{row}"
    );
    program("");
    let (row, run) = doctor();
    run.code(1);
    assert_eq!((&row["saved"], &row["events"]), (&json!(false), &json!(0)), "{row}");
    assert!(
        row["advice"]
            .as_str()
            .unwrap()
            .contains("git checkpoint enable claude-code"),
        "{row}"
    );
    assert!(before.differences(&world.fingerprint()).is_empty());
}

#[test]
fn a_step_of_trust_is_named_until_the_agents_own_files_show_it() {
    let world = World::with_commit();
    for name in [".codex", ".gemini"] {
        fs::create_dir_all(world.home().join(name)).unwrap();
    }
    world.checkpoint(["enable", "codex", "gemini", "qwen"]).success();
    let shown = |agent: &str| {
        let run = world.checkpoint(["agents", "--json"]);
        let rows = run.stdout_json()["agents"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["agent"] == agent).unwrap()
    };
    let step = |agent: &str| shown(agent)["trust"].as_str().map(str::to_owned);
    assert!(step("codex").unwrap().contains("Trust all"));
    assert!(step("gemini").unwrap().contains("Trust folder"));
    assert_eq!((step("qwen"), step("claude-code")), (None, None));

    // Codex notes each hook by the file, the event and the places of group and hook.
    let file = world.home().join(".codex/hooks.json");
    let config = world.home().join(".codex/config.toml");
    let trusted = |events: &[&str], index: usize| {
        let tables = events.iter().map(|event| {
            let file = file.display();
            format!("[hooks.state.\"{file}:{event}:{index}:0\"]\ntrusted_hash = \"sha256:00\"\n")
        });
        fs::write(&config, tables.collect::<String>()).unwrap();
    };
    let events = [
        "session_start",
        "user_prompt_submit",
        "stop",
        "interrupt",
        "pre_compact",
        "session_end",
    ];
    trusted(&events[..4], 0);
    assert!(step("codex").unwrap().contains("4 of 6 are trusted"));
    trusted(&events, 0);
    assert_eq!(step("codex"), None);
    // A group of another tool in front moves ours, and they are trusted no more.
    let mut hooks: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let other = json!({"hooks": [{"type": "command", "command": "true"}]});
    hooks["hooks"]["Stop"].as_array_mut().unwrap().insert(0, other);
    fs::write(&file, hooks.to_string()).unwrap();
    assert!(step("codex").unwrap().contains("5 of 6 are trusted"));

    // Gemini notes directories, or asks for none.
    let rules = |trust: &str| json!({ world.repo().to_str().unwrap(): trust }).to_string();
    let list = world.home().join(".gemini/trustedFolders.json");
    for (trust, is_open) in [("DO_NOT_TRUST", false), ("TRUST_FOLDER", true), ("TRUST_PARENT", true)] {
        fs::write(&list, rules(trust)).unwrap();
        assert_eq!(step("gemini").is_none(), is_open, "{trust}");
    }
    fs::remove_file(&list).unwrap();
    let settings = world.home().join(".gemini/settings.json");
    let mut text = fs::read_to_string(&settings).unwrap();
    text.insert_str(
        1,
        "\n  // every directory\n  \"security\": {\"folderTrust\": {\"enabled\": false}},",
    );
    fs::write(&settings, text).unwrap();
    assert_eq!(step("gemini"), None);
}

#[test]
fn the_version_and_an_earlier_failure_of_an_agent_are_shown() {
    let world = enabled();
    let package = world.path("../package/bin");
    fs::create_dir_all(&package).unwrap();
    let program = package.join("claude");
    fs::write(&program, "#!/bin/sh\necho '1.2.3 (Agent)'\n").unwrap();
    world
        .command("chmod", ["+x", program.to_str().unwrap()])
        .run()
        .success();
    let path = format!("{}:{}", package.display(), std::env::var("PATH").unwrap());
    let row = || {
        let run = world.command(PROGRAM, ["agents", "--json"]).env("PATH", &path).run();
        run.stdout_json()["agents"][0].clone()
    };
    // By its own words, and without asking it by its package.
    assert_eq!(row()["version"], "1.2.3");
    fs::write(package.join("../package.json"), r#"{"version": "4.5.6", "bin": {}}"#).unwrap();
    assert_eq!(row()["version"], "4.5.6");

    turn(&world, "p1", "go", || world.file("f", "1\n"));
    let file = fs::read_dir(world.path(".git/checkpoint/agents"))
        .unwrap()
        .flatten()
        .find(|entry| entry.path().extension().is_some_and(|end| end == "json"));
    let file = file.unwrap().path();
    let mut binding: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    binding["error"] = json!({"occasion": "prompt", "at": "2026-11-28T10:00:00Z", "outcome": "failed", "detail": "the disk is full", "took": 3});
    fs::write(&file, binding.to_string()).unwrap();
    let shown = row();
    assert_eq!(
        (&shown["error"]["detail"], &shown["last"]["outcome"]),
        (&json!("the disk is full"), &json!("saved"))
    );
    // Once.
    assert!(row()["error"].is_null());
}

#[test]
fn an_agent_continues_the_session_that_was_paused_on_its_branch() {
    let world = enabled();
    world.file("f", "1\n");
    world
        .checkpoint(["pause", "-m", "half of it", "--next", "the other half"])
        .success();
    let start = |id: &str| {
        let payload =
            json!({"session_id": id, "cwd": world.repo(), "hook_event_name": "SessionStart", "source": "startup"});
        let run = world
            .command(PROGRAM, ["hook", "claude-code", "SessionStart"])
            .input(payload.to_string())
            .run();
        run.success();
        String::from_utf8_lossy(run.stdout_bytes()).into_owned()
    };
    assert!(start("6f1c").contains("the other half"));
    let session = only_session(&world);
    assert!(world.checkpoint(["status"]).success().stdout().contains(&session));
    turn(&world, "p1", "go on", || world.file("f", "2\n"));
    assert_eq!(document(&world, &only_session(&world))["session"]["status"], "active");
    // On another branch it is not meant.
    world.checkpoint(["pause"]).success();
    world.git(["switch", "--quiet", "-c", "other"]).success();
    assert!(!start("b").contains("the other half"));
}
