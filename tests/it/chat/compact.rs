//! Compaction: by itself and on demand, with the built-in summary and with a program that may fail in every way.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use serde_json::{Value, json};

use super::{messages, say, session};
use crate::support::{PROGRAM, World};

/// Imports so many messages of about 100 tokens each.
fn long_chat(world: &World, many: usize) {
    let mut file = String::new();
    for n in 0..many {
        let role = if n % 2 == 0 { "user" } else { "assistant" };
        let text = format!(
            "message {n}: {}\nDecision: keep number {n}",
            "some words about the parser and its tests ".repeat(11)
        );
        file.push_str(&format!(
            "{}\n",
            json!({ "role": role, "content": text, "id": format!("m{n}") })
        ));
    }
    let path = world.root().join("long.jsonl");
    fs::write(&path, file).unwrap();
    world
        .checkpoint(["--quiet", "message", "import", &path.to_string_lossy()])
        .success();
}

fn document(world: &World) -> Value {
    serde_json::from_str(&world.git_line(["show", "checkpoints/s:checkpoint.json"])).unwrap()
}

/// Makes `checkpoint.compactCommand` a script.
fn summarizer(world: &World, script: &str) {
    let path = world.root().join("summarize");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    world
        .git(["config", "checkpoint.compactCommand", &path.to_string_lossy()])
        .success();
}

#[test]
fn a_session_over_the_limit_compacts_by_itself_and_its_next_request_is_below() {
    let world = session();
    long_chat(&world, 1200);
    let events = world.checkpoint(["save", "-m", "x", "--events"]);
    events.success();
    let lines: Vec<Value> = events
        .stderr()
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let names: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["compaction:start", "compaction:complete"]);
    let compaction = document(&world)["compaction"].clone();
    assert!(compaction["tokens_before"].as_u64().unwrap() > 100_000, "{compaction}");
    assert!(compaction["tokens_after"].as_u64().unwrap() < 50_000, "{compaction}");
    assert_eq!(
        (&compaction["version"], &compaction["count"], &compaction["by"]),
        (&json!(1), &json!(1), &json!("extractive"))
    );
    assert!(
        compaction["summary"]["firstRequest"]
            .as_str()
            .unwrap()
            .starts_with("message 0:")
    );
    let request = world
        .checkpoint(["request", "what next?", "--json"])
        .success()
        .stdout_json();
    assert!(
        request["tokens"]["total"].as_u64().unwrap() < 100_000,
        "{}",
        request["tokens"]
    );
    assert_eq!(request["messages"]["left_out"], 0);
    // The summary is in it, its history is not.
    let system = request["system"].as_str().unwrap();
    assert!(system.contains("Earlier messages, summarized"), "{system}");
    assert!(!system.contains("lines taken from the messages"), "{system}");
    assert_eq!(messages(&world).len(), 1200, "nothing is erased");
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("in the others, 1 compaction");
    // Again, on top of the first one.
    say(&world, "user", "and now for something else");
    let chat = world.root().join("more.jsonl");
    let text = "further words without end ".repeat(100);
    fs::write(
        &chat,
        (0..250)
            .map(|n| format!("{}\n", json!({ "role": "user", "content": format!("{n} {text}") })))
            .collect::<String>(),
    )
    .unwrap();
    world
        .checkpoint(["--quiet", "message", "import", &chat.to_string_lossy()])
        .success();
    let request = world.checkpoint(["request", "--json"]).success().stdout_json();
    assert!(request["tokens"]["total"].as_u64().unwrap() < 100_000);
    let compaction = document(&world)["compaction"].clone();
    assert_eq!(
        (&compaction["version"], &document(&world)["kind"]),
        (&json!(2), &json!("compact")),
        "request compacted"
    );
    assert!(
        compaction["summary"]["firstRequest"]
            .as_str()
            .unwrap()
            .starts_with("message 0:"),
        "kept from the first summary"
    );
    assert_eq!(messages(&world).len(), 1451);
    world.checkpoint(["verify"]).success();
}

#[test]
fn a_long_message_or_context_does_not_stop_the_request() {
    let world = session();
    world.git(["config", "checkpoint.compactAt", "3000"]).success();
    say(&world, "user", &"one very long message ".repeat(5000));
    say(&world, "user", "short");
    let request = world.checkpoint(["request", "x", "--json"]).success().stdout_json();
    assert!(
        request["tokens"]["total"].as_u64().unwrap() < 3000,
        "{}",
        request["tokens"]
    );
    assert!(request["system"].as_str().unwrap().contains("short"));
}

#[test]
fn nothing_compacts_while_messages_are_added_or_without_need() {
    let world = session();
    world.git(["config", "checkpoint.compactAt", "500"]).success();
    long_chat(&world, 20);
    say(&world, "user", "one more");
    assert_eq!(document(&world)["kind"], "start");
    world
        .checkpoint(["compact", "--dry-run"])
        .success()
        .stdout_has("Would summarize");
    assert_eq!(document(&world)["kind"], "start");
    world.git(["config", "checkpoint.compactAt", "0"]).success();
    world.checkpoint(["save"]).success();
    assert_eq!(document(&world)["compaction"], Value::Null);
    world
        .checkpoint(["compact"])
        .success()
        .stdout_has("checkpoint.compactAt is 0");
    world.checkpoint(["compact", "--force", "--json"]).success();
    assert_eq!(document(&world)["compaction"]["version"], 1);
}

#[test]
fn a_program_summarises_and_its_secrets_do_not_stay() {
    let world = session();
    long_chat(&world, 30);
    let token = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0123456");
    summarizer(
        &world,
        &format!(
            "cat > '{}/seen'\necho '{{\"completed\":[\"parser\"],\"inProgress\":[],\"pending\":[\"use {token}\"],\"blockers\":[],\"decisions\":[\"keep v1\"]}}'",
            world.root().display()
        ),
    );
    world
        .checkpoint(["compact", "--force"])
        .success()
        .stdout_has("by checkpoint.compactCommand");
    let seen = fs::read_to_string(world.root().join("seen")).unwrap();
    assert!(seen.contains("message 0:") && seen.contains("inProgress"), "{seen}");
    let compaction = document(&world)["compaction"].clone();
    assert_eq!(compaction["summary"]["completed"], json!(["parser"]));
    assert!(!super::holds(&super::everything(&world), &token));
    long_chat(&world, 40);
    world.checkpoint(["compact", "--force"]).success();
    assert!(
        fs::read_to_string(world.root().join("seen"))
            .unwrap()
            .contains("keep v1"),
        "the earlier summary is in the prompt"
    );
}

/// Some messages that were not there before.
fn more(world: &World, what: &str) {
    for n in 0..8 {
        say(
            world,
            "user",
            &format!("{what} {n}: {}", "some words on the lexer ".repeat(60)),
        );
    }
}

#[test]
fn a_program_that_fails_is_replaced_by_the_built_in_rules() {
    let world = session();
    world.checkpoint(["save"]).success();
    let cases = [
        ("fails", "exit 3", "status 3"),
        ("is missing", "no-such-program", "status 127"),
        ("says nothing", "cat > /dev/null", "gave nothing"),
        ("does not read and says nothing", "exec true", "gave nothing"),
        ("is malformed", "echo '{\"completed\": [\"x\"'", "cannot be used"),
        ("is no object", "echo '[]'", "no JSON object"),
        ("is empty", "echo '{\"completed\":[]}'", "summary is empty"),
        ("has other types", "echo '{\"pending\":\"x\"}'", "no list of texts"),
        (
            "lies about being short",
            "cat > /dev/null; printf '{\"completed\":[\"'; yes word | head -n 60000 | tr '\\n' ' '; echo '\"]}'",
            "more than the",
        ),
        (
            "never ends talking",
            "yes '{\"completed\":[\"x\"]}'",
            "more than 1048576 bytes",
        ),
    ];
    for (what, script, why) in cases {
        summarizer(&world, script);
        more(&world, what);
        let out = world.checkpoint(["compact", "--force", "--events"]);
        out.success();
        let told = out.stderr();
        assert!(
            told.contains(why) && told.contains("compaction:error") && told.contains("built-in rules"),
            "{what}: {out}"
        );
        assert_eq!(document(&world)["compaction"]["by"], "extractive", "{what}");
    }
    world.checkpoint(["save"]).success();
    let names = world.git_line(["ls-tree", "--name-only", "checkpoints/s:log"]);
    let log: String = names
        .lines()
        .map(|name| world.git_line(["show", &format!("checkpoints/s:log/{name}")]))
        .collect();
    assert_eq!(log.matches("compaction failed").count(), cases.len(), "{log}");
    // Where it is done automatically as well: by a save, and before a request.
    world.git(["config", "checkpoint.compactAt", "1000"]).success();
    summarizer(&world, "exit 1");
    for command in [&["save"][..], &["request", "go on"]] {
        more(&world, command[0]);
        let before = document(&world)["compaction"]["version"].as_u64();
        world.checkpoint(command).success().stderr_has("built-in rules");
        assert!(
            document(&world)["compaction"]["version"].as_u64() > before,
            "{command:?}"
        );
    }
    // The history of the compactions can be looked at.
    let shown = world.checkpoint(["show", "--all"]).success().stdout().to_owned();
    assert!(shown.matches("  compaction ").count() > 3, "{shown}");
}

#[test]
fn a_slow_program_is_ended_when_its_time_is_over() {
    let world = session();
    long_chat(&world, 30);
    world.git(["config", "checkpoint.compactTimeout", "400ms"]).success();
    // What it started is ended with it.
    summarizer(&world, "(sleep 2; : > late) & cat > /dev/null; sleep 30");
    let started = std::time::Instant::now();
    world
        .checkpoint(["compact", "--force"])
        .success()
        .stderr_has("took longer than checkpoint.compactTimeout, 400ms");
    assert!(started.elapsed() < Duration::from_secs(15));
    assert_eq!(document(&world)["compaction"]["by"], "extractive");
    assert_eq!(messages(&world).len(), 30);
    std::thread::sleep(Duration::from_millis(2500));
    assert!(!world.repo().join("late").exists());
    // A save goes on without it, and a quick program is taken afterwards.
    world.git(["config", "checkpoint.compactAt", "1000"]).success();
    more(&world, "again");
    world.checkpoint(["save"]).success().stderr_has("built-in rules");
    more(&world, "once more");
    summarizer(
        &world,
        "cat > /dev/null; printf '```json\\n{\"completed\":[\"x\"]}\\n```\\n'",
    );
    world.checkpoint(["compact"]).success().stdout_has("Compacted");
    assert_eq!(document(&world)["compaction"]["by"], "command");
}

#[test]
fn a_slow_program_can_be_cancelled() {
    let world = session();
    long_chat(&world, 30);
    summarizer(&world, "sleep 25");
    let mut command = std::process::Command::new(PROGRAM);
    command
        .args(["compact", "--force"])
        .current_dir(world.repo())
        .env_clear()
        .envs(world.environment());
    let started = std::time::Instant::now();
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert!(!child.wait().unwrap().success());
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(document(&world)["kind"], "start");
    assert_eq!(messages(&world).len(), 30);
}

#[test]
fn what_comes_while_it_summarises_stays_and_it_never_compacts_itself() {
    let world = session();
    long_chat(&world, 30);
    world.git(["config", "checkpoint.compactAt", "2000"]).success();
    summarizer(
        &world,
        &format!(
            "cat > /dev/null\n'{PROGRAM}' message add --role user 'said meanwhile' >&2\n'{PROGRAM}' save >&2\n\
             '{PROGRAM}' compact --force >&2 && exit 9\necho '{{\"decisions\":[\"keep v1\"]}}'"
        ),
    );
    let out = world.checkpoint(["compact"]);
    out.success();
    out.stderr_has("a compaction is in progress");
    let compaction = document(&world)["compaction"].clone();
    assert_eq!(
        (&compaction["version"], &compaction["count"]),
        (&json!(1), &json!(1)),
        "{compaction}"
    );
    let list = world.checkpoint(["message", "list", "--json"]).success().stdout_json();
    let live = list["messages"].as_array().unwrap();
    assert_eq!(live.last().unwrap()["content"], "said meanwhile");
    assert_eq!(messages(&world).len(), 31);
    // A clear that comes first wins: the summary is of messages that are gone.
    summarizer(
        &world,
        &format!("cat > /dev/null\n'{PROGRAM}' clear --messages --yes >&2\necho '{{\"decisions\":[\"late\"]}}'"),
    );
    world
        .checkpoint(["compact", "--force"])
        .code(5)
        .stderr_has("changed during the compaction");
    assert!(!document(&world).to_string().contains("late"));
}

#[test]
fn near_the_limit_it_is_told() {
    let world = session();
    world.git(["config", "checkpoint.compactAt", "2400"]).success();
    long_chat(&world, 20);
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    let chat = &status["current"]["chat"];
    assert_eq!(
        (&chat["method"], &chat["near_limit"]),
        (&json!("exact"), &json!(true)),
        "{chat}"
    );
    world.checkpoint(["status"]).success().stderr_has("of 2400 tokens");
}

/// What a compaction says of its gain is what requests have before and after it.
#[test]
fn the_receipt_counts_whole_requests_and_warns_where_nothing_is_gained() {
    let size = |world: &World| {
        let counted = world
            .checkpoint(["request", "--preview", "--json"])
            .success()
            .stdout_json();
        counted["tokens"]["total"].as_u64().unwrap()
    };
    for (long, gains) in [(true, true), (false, false)] {
        let world = session();
        if long {
            long_chat(&world, 60);
        } else {
            for n in 0..6 {
                say(&world, "user", &format!("do it, {n}"));
            }
        }
        world.checkpoint(["save", "-m", "x"]).success();
        let before = size(&world);
        let done = world.checkpoint(["compact", "--force"]);
        let after = size(&world);
        assert_eq!(after < before, gains, "{before} {after}");
        let line = done.success().stdout().lines().next().unwrap().to_owned();
        let numbers: Vec<u64> = line
            .split(' ')
            .filter_map(|word| word.trim_matches(',').parse().ok())
            .collect();
        let (now, was) = (numbers[numbers.len() - 2], numbers[numbers.len() - 1]);
        assert_eq!((was, now), (before, after), "{line}");
        if gains {
            done.stderr_lacks("nothing is gained");
        } else {
            done.stderr_has("warning: nothing is gained");
        }
        // The record of the compaction is for people.
        world
            .checkpoint(["request"])
            .success()
            .stdout_lacks("compaction 1 of 1");
        world.checkpoint(["show"]).success().stdout_has("compaction 1 of 1");
    }
}
