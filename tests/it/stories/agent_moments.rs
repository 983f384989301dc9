//! The moment of an event counts: the files of an agent's turn are those at its end, though its session file is complete
//! later; and an agent whose process has ended leaves its session to the next one.

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant, SystemTime},
};

use serde_json::{Value, json};

use super::recorded::{chat, fixture, play, write_transcript};
use crate::support::{PROGRAM, World};

fn wait_until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it never came to be");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The files of the bound agent sessions.
fn bindings(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.path(".git/checkpoint/agents")).unwrap().flatten();
    let is_binding = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
    entries.map(|entry| entry.path()).filter(is_binding).collect()
}

fn sessions(world: &World) -> Vec<String> {
    let refs = world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints"]);
    refs.lines().map(str::to_owned).collect()
}

/// The latest checkpoint of a kind in a session, with its document.
fn latest(world: &World, session: &str, kind: &str) -> (String, Value) {
    let log = world.git_line([
        "log",
        "--first-parent",
        "--format=%H %(trailers:key=Checkpoint-Kind,valueonly,separator=)",
        &format!("refs/checkpoints/{session}"),
    ]);
    let found = log.lines().find_map(|line| line.strip_suffix(&format!(" {kind}")));
    let id = found.unwrap_or_else(|| panic!("no {kind} in {log}")).to_owned();
    let document = world.git_line(["show", &format!("{id}:checkpoint.json")]);
    (id, serde_json::from_str(&document).unwrap())
}

fn worker(world: &World, agent: &str, event: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["hook", agent, event]).current_dir(world.repo());
    command.env_clear().envs(world.environment());
    command.env("CHECKPOINT_AGENT_HOOK", "worker");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// An event that has its files and waits for another one, which is ahead of it in the queue.
struct WaitingEvent {
    child: Child,
    ahead: Option<(PathBuf, File)>,
}

impl WaitingEvent {
    fn send(world: &World, agent: &str, event: &str, payload: &Value) -> Self {
        let binding = bindings(world).pop().unwrap();
        let ahead = binding.with_extension("0000000000000001-aaaaaaaaaaaaaaaa.ticket");
        let held = File::create(&ahead).unwrap();
        held.lock().unwrap();
        let own = binding.with_extension("0000000000000002-bbbbbbbbbbbbbbbb.ticket");
        // However late the process begins on a busy machine, here it is in time.
        let later = SystemTime::now() + Duration::from_secs(3600);
        File::create(&own).unwrap().set_modified(later).unwrap();
        let mut command = worker(world, agent, event);
        let mut child = command
            .env("CHECKPOINT_AGENT_TICKET", own.file_name().unwrap())
            .spawn()
            .unwrap();
        let payload = payload.to_string();
        child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
        // It takes its place in the queue once it has the files.
        wait_until(|| File::open(&own).unwrap().try_lock().is_err());
        Self {
            child,
            ahead: Some((ahead, held)),
        }
    }

    /// The event ahead of it is done.
    fn go_on(&mut self) {
        let (path, _held) = self.ahead.take().unwrap();
        fs::remove_file(path).unwrap();
    }

    fn end(mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

/// Plays the events of a fixture up to its second end of a turn, whose end is reported while another event is ahead of it
/// and before the agent has written it: meanwhile files and index change and another branch is checked out.
fn moment(agent: &str, end: &str) {
    let world = World::new();
    world.file("README.md", "demo\n");
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "first"]).success();
    world.git(["config", "checkpoint.agents", "true"]).success();
    let fixture = fixture(&world, agent);
    let events = fixture["events"].as_array().unwrap();
    let ends = events.iter().enumerate().filter(|(_, event)| event["event"] == end);
    let at = ends.map(|(at, _)| at).nth(1).unwrap();
    for event in &events[..at] {
        play(&world, agent, event);
    }
    let event = &events[at];
    for (name, text) in event["files"].as_object().unwrap() {
        world.file(name, text.as_str().unwrap());
    }
    world.file("staged", "at the end\n");
    world.git(["add", "staged"]).success();
    let head = world.git_line(["rev-parse", "HEAD"]);
    let branch = world.git_line(["branch", "--show-current"]);
    let text = event["transcript"]["text"].as_str().unwrap().to_owned();
    let middle = text[..text.len() / 2].rfind('\n').unwrap() + 1;
    let write = |text: &str, anew: &Value| {
        let mut part = event.clone();
        part["transcript"] = json!({ "text": text, "anew": anew });
        write_transcript(&part);
    };
    write(&text[..middle], &event["transcript"]["anew"]);

    let mut waiting = WaitingEvent::send(&world, agent, end, &event["payload"]);
    let current = fs::read(world.path(".git/checkpoint/current")).unwrap();
    for (name, _) in event["files"].as_object().unwrap() {
        world.file(name, "by a person\n");
    }
    world.file("later", "by a person\n");
    world.git(["switch", "--quiet", "-c", "other"]).success();
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "later"]).success();
    waiting.go_on();
    // Well within the time that the end of a turn waits, also on a busy machine.
    std::thread::sleep(Duration::from_millis(50));
    write(&text[middle..], &json!(false));
    waiting.end();

    let session = sessions(&world).remove(0);
    let (id, document) = latest(&world, &session, "turn");
    let turn = &document["turn"];
    let mut files: Vec<_> = event["files"].as_object().unwrap().keys().cloned().collect();
    files.insert(0, "staged".to_owned());
    assert_eq!(turn["files"], json!(files), "{turn}");
    assert_eq!(turn["inexact"], Value::Null);
    assert_eq!(
        (&document["git"]["head"], &document["git"]["branch"]),
        (&json!(head), &json!(branch))
    );
    for (name, text) in event["files"].as_object().unwrap() {
        let saved = world.git(["show", &format!("{id}^2:{name}")]);
        assert_eq!(saved.success().stdout(), text.as_str().unwrap());
    }
    world.git(["cat-file", "-e", &format!("{id}^2:later")]).code(128);
    let staged = world.git(["show", &format!("{id}^2^2:staged")]);
    assert_eq!(staged.success().stdout(), "at the end\n");
    assert_eq!(fs::read(world.path(".git/checkpoint/current")).unwrap(), current);
    // The end that the agent wrote later is in the chat.
    let answer = ["last_assistant_message", "prompt_response"]
        .iter()
        .find_map(|name| event["payload"][*name].as_str())
        .unwrap();
    world.git(["switch", "--quiet", &branch]).success();
    assert!(
        chat(&world).contains(&json!(["assistant", answer])),
        "{:?}",
        chat(&world)
    );
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn a_turn_of_claude_code_has_the_files_of_its_end() {
    moment("claude-code", "Stop");
}

#[test]
fn a_turn_of_codex_has_the_files_of_its_end() {
    moment("codex", "Stop");
}

#[test]
fn a_turn_of_gemini_has_the_files_of_its_end() {
    moment("gemini", "AfterAgent");
}

#[test]
fn a_prompt_and_a_compaction_save_the_files_of_their_moment() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.agents", "true"]).success();
    let payload = |event: &str, key: &str| json!({"session_id": "s", "cwd": world.repo(), "hook_event_name": event, "prompt_id": key, "prompt": key});
    let hook = |event: &str, key: &str| {
        let mut child = worker(&world, "claude-code", event).spawn().unwrap();
        let payload = payload(event, key).to_string();
        child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    };
    hook("UserPromptSubmit", "p1");
    world.file("a", "1\n");
    hook("Stop", "p1");
    let session = sessions(&world).remove(0);
    for (event, key, kind) in [("UserPromptSubmit", "p2", "edit"), ("PreCompact", "", "event")] {
        world.file("b", format!("before {event}\n"));
        let mut waiting = WaitingEvent::send(&world, "claude-code", event, &payload(event, key));
        world.file("b", "later\n");
        waiting.go_on();
        waiting.end();
        let (id, _) = latest(&world, &session, kind);
        let saved = world.git(["show", &format!("{id}^2:b")]);
        assert_eq!(saved.success().stdout(), format!("before {event}\n"), "{kind}");
    }
}

/// An agent: a process that reports the start of a session and a prompt, writes a file, and then waits.
struct Agent {
    child: Child,
}

impl Agent {
    fn run(world: &World, session: &str) -> Self {
        let payload = json!({"session_id": session, "cwd": world.repo(), "prompt_id": session, "prompt": session});
        let input = world.root().join(format!("{session}.payload"));
        fs::write(&input, payload.to_string()).unwrap();
        let script = world.root().join(format!("{session}.sh"));
        let text = format!(
            "for event in SessionStart UserPromptSubmit; do\n\
             sh -c '\"$0\" hook claude-code $1; :' '{PROGRAM}' $event <'{}' >/dev/null\n\
             done\n\
             echo half >{session}\n\
             echo ready >'{}.ready'\n\
             while :; do sleep 1; done\n",
            input.display(),
            input.display(),
        );
        fs::write(&script, text).unwrap();
        let mut command = Command::new("/bin/sh");
        command.arg(&script).current_dir(world.repo());
        command.env_clear().envs(world.environment());
        command.env("CHECKPOINT_AGENT_HOOK", "worker").process_group(0);
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        let ready = world.root().join(format!("{session}.payload.ready"));
        wait_until(|| ready.exists());
        Self { child }
    }

    fn kill(&mut self) {
        if self.child.try_wait().unwrap().is_some() {
            return;
        }
        let group = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        self.child.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The context that the start of an agent session gets.
fn context_of(world: &World, session: &str) -> String {
    let payload = json!({"session_id": session, "cwd": world.repo(), "source": "startup"});
    let hook = world.command(PROGRAM, ["hook", "claude-code", "SessionStart"]);
    hook.input(payload.to_string()).run().success().stdout().to_owned()
}

/// The session that a prompt of another agent session goes to.
fn next(world: &World, session: &str) -> String {
    let payload = json!({"session_id": session, "cwd": world.repo(), "prompt_id": session, "prompt": session});
    let mut child = worker(world, "claude-code", "UserPromptSubmit").spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(payload.to_string().as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
    let binding = read_binding(world, session).1;
    binding["session"]["name"].as_str().unwrap().to_owned()
}

fn read_binding(world: &World, session: &str) -> (PathBuf, Value) {
    let all = bindings(world).into_iter();
    let read = |path: PathBuf| {
        let binding: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        (path, binding)
    };
    all.map(read)
        .find(|(_, binding)| binding["agent_session"] == session)
        .unwrap()
}

#[test]
fn a_killed_agent_leaves_its_session_to_the_next_one() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.agents", "true"]).success();
    let mut first = Agent::run(&world, "first");
    let session = sessions(&world).remove(0);
    // Beside a live one another has a session of its own.
    let second = next(&world, "second");
    assert_ne!(second, session);
    let live = context_of(&world, "second");
    assert!(!live.contains("was killed"), "{live}");
    first.kill();
    // The start of the next one says so, before anything of it is saved; a person and another agent read the same.
    let words = "Claude Code was killed in the middle of a turn that it began";
    let third = context_of(&world, "third");
    assert!(third.contains(words), "{third}");
    let prompt = world.checkpoint(["resume", &session, "--format", "prompt"]);
    assert!(prompt.success().stdout().contains(words));
    assert_eq!(next(&world, "third"), session);
    // Its turn is saved as interrupted by then, which is new to all but the killed agent's session.
    let fourth = world.checkpoint(["resume", &session, "--format", "prompt"]);
    assert!(
        fourth
            .success()
            .stdout()
            .contains("Claude Code was interrupted in the middle of a turn")
    );
    // What the killed one did is its turn, and no edit of a person's.
    let (_, document) = latest(&world, &session, "turn");
    let turn = &document["turn"];
    assert_eq!(
        (&turn["subject"], &turn["outcome"], &turn["agent_session"]),
        (&json!("first"), &json!("interrupted"), &json!("first"))
    );
    assert!(turn["files"].as_array().unwrap().contains(&json!("first")), "{turn}");
    assert_eq!(sessions(&world).len(), 2);
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn an_end_counts_only_where_it_is_proved() {
    // The change to what is known of the process, and whether the next agent continues in the session.
    type Change = fn(&mut Value);
    let cases: [(&str, Change, bool); 5] = [
        ("live", |_| {}, false),
        (
            "shown by one event",
            |process| {
                process["chain"][0]["started"] = "1".into();
                process["is_confirmed"] = false.into();
            },
            false,
        ),
        (
            "number used again",
            |process| process["chain"][0]["started"] = "1".into(),
            true,
        ),
        (
            "another machine",
            |process| {
                process["chain"][0]["started"] = "1".into();
                process["scope"] = "another boot pid:[1]".into();
            },
            false,
        ),
        ("not shown", |process| *process = Value::Null, false),
    ];
    for (name, change, is_free) in cases {
        let world = World::with_commit();
        world.git(["config", "checkpoint.agents", "true"]).success();
        let first = Agent::run(&world, "first");
        let (path, mut binding) = read_binding(&world, "first");
        let process = &binding["process"];
        assert_eq!(process["chain"].as_array().unwrap().len(), 1, "{process}");
        assert_eq!(process["chain"][0]["id"], first.child.id(), "{process}");
        assert_eq!(process["is_confirmed"], true);
        change(&mut binding["process"]);
        fs::write(&path, binding.to_string()).unwrap();
        let session = sessions(&world).remove(0);
        assert_eq!(next(&world, "second") == session, is_free, "{name}");
    }
}
