//! Errors of the tool server and the batch mode, in the terms of those who have arguments and no command line.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{PROGRAM, World};

/// The answers of a batch.
fn batch(world: &World, requests: &[Value]) -> Vec<Value> {
    let input: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let out = world.command(PROGRAM, ["batch"]).input(input).run();
    let answers = out.stdout().lines().map(|line| serde_json::from_str(line).unwrap());
    answers.collect()
}

/// The answers of the tool server to these lines, by id.
fn served(world: &World, lines: &[String]) -> Vec<Value> {
    let mut command = Command::new(PROGRAM);
    command.arg("mcp").current_dir(world.repo()).env_clear();
    command.envs(world.environment());
    let mut server = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let lines = lines.to_vec();
    let writer = std::thread::spawn(move || {
        for line in lines {
            input.write_all(line.as_bytes()).unwrap();
            input.write_all(b"\n").unwrap();
        }
    });
    let out = server.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every text in a value.
fn texts<'v>(value: &'v Value, out: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => out.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, out)),
        Value::Object(members) => members.values().for_each(|item| texts(item, out)),
        _ => {}
    }
}

/// What is wrong with the words of an error, if anything: an option outside of a whole command, or a terminal.
fn fault(text: &str) -> Option<String> {
    let wrong = text.lines().find(|line| {
        let option = line.match_indices("--").find(|(at, _)| {
            let is_start = line[..*at]
                .chars()
                .next_back()
                .is_none_or(|before| !before.is_alphanumeric() && before != ')');
            is_start && line[at + 2..].starts_with(|next: char| next.is_ascii_lowercase())
        });
        let is_option = option.is_some_and(|(at, _)| !line[..at].contains("git "));
        is_option
            || ["standard input", "terminal", ":(top", "usage:"]
                .iter()
                .any(|words| line.contains(words))
    });
    wrong.map(str::to_owned)
}

#[test]
fn errors_of_tools_speak_of_arguments() {
    let world = World::with_commit();
    world
        .checkpoint(["save", "-m", "one", "--session", "auth", "--name", "first"])
        .success();
    world.file("README.md", "two\n");
    world.checkpoint(["save", "-m", "two", "--session", "auth"]).success();
    world.file("README.md", "three\n");
    world.git(["commit", "-qam", "three"]).success();
    let calls = [
        ("save", json!({"name": "A B"}), 129),
        ("save", json!({"name": "first"}), 4),
        ("save", json!({"session": "A@B"}), 129),
        ("save", json!({"idempotency_key": ""}), 129),
        (
            "save",
            json!({"record": {"summary": "x", "decisions": [{"reason": "no text"}]}}),
            129,
        ),
        ("save", json!({"record": {"tasks": "text"}}), 129),
        ("save", json!({"record": {"session": {"id": "x"}}}), 129),
        ("save", json!({"record": {"step": {"n": "x"}}}), 129),
        ("save", json!({"fiels": false}), 129),
        ("resume", json!({"session": "nothing"}), 3),
        ("resume", json!({"session": "auth~99"}), 3),
        ("resume", json!({"max_characters": 1}), 129),
        ("list", json!({"status": "odd"}), 129),
        ("list", json!({"since": "no date at all"}), 129),
        ("show", json!({"checkpoint": "nothing"}), 3),
        ("show", json!({"checkpoint": "auth@{nonsense}"}), 129),
        ("search", json!({"query": "(", "regexp": true}), 129),
        ("search", json!({"query": "x", "session": "A@B"}), 3),
        ("search", json!({"query": "x", "since": "no date at all"}), 129),
        ("search", json!({"query": ""}), 129),
        ("diff", json!({"paths": [":(nonsense)x"]}), 129),
        ("diff", json!({"paths": [":(attr:x)y"]}), 129),
        ("diff", json!({"paths": ["no/such/file"]}), 3),
        ("diff", json!({"old": "nothing"}), 3),
        ("restore", json!({"checkpoint": "nothing"}), 3),
        ("restore", json!({"paths": ["no/file"]}), 3),
        ("restore", json!({"checkpoint": "auth", "confirm": "0f"}), 4),
        ("restore", json!({"checkpoint": "auth", "confirm": "x y"}), 129),
        ("undo", json!({"redo": true}), 1),
        ("step", json!({"action": "done", "step": "9", "context": "c"}), 3),
        ("step", json!({"action": "start", "title": " "}), 129),
        ("step", json!({"action": "start", "title": "t", "session": "A@B"}), 129),
        ("step", json!({"action": "replay"}), 3),
        ("task", json!({"action": "done", "task": "9"}), 3),
        ("task", json!({"action": "edit", "task": "9"}), 129),
        ("task", json!({"action": "add", "title": "t", "percent": 101}), 129),
        ("task", json!({"action": "add", "title": "t", "id": "not an id"}), 129),
        ("task", json!({"action": "add", "title": "t", "depends_on": ["9"]}), 3),
        ("task", json!({"action": "start"}), 129),
    ];
    let requests: Vec<Value> = calls
        .iter()
        .map(|(tool, arguments, _)| json!({"tool": format!("checkpoint_{tool}"), "arguments": arguments}))
        .collect();
    let answers = batch(&world, &requests);
    assert_eq!(answers.len(), calls.len());
    let mut faults = Vec::new();
    for ((tool, arguments, code), answer) in calls.iter().zip(&answers) {
        if answer["exit_code"] != *code {
            faults.push(format!("{tool} {arguments}: not {code}: {answer}"));
        }
        let mut said = Vec::new();
        texts(&answer["error"], &mut said);
        texts(&answer["warnings"], &mut said);
        faults.extend(
            said.iter()
                .filter_map(|text| fault(text))
                .map(|text| format!("{tool} {arguments}: {text}")),
        );
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let near = &answers[8]["error"];
    assert_eq!(near["message"], "'fiels' is no argument of this tool");
    assert_eq!(near["hints"][0], "did you mean 'files'?");
}

#[test]
fn unknown_members_of_a_record_are_reported_with_their_path() {
    let world = World::with_commit();
    let record = json!({
        "summary": "x",
        "sumary": "y",
        "decisions": [{"text": "a", "reson": "b"}],
        "step": {"n": 1, "of": 2, "off": 3},
    });
    let arguments = json!({"record": record, "session": "auth"});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "checkpoint_save", "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
    let answer = served(&world, &[request.to_string()]).remove(0);
    let warnings = &answer["result"]["structuredContent"]["warnings"];
    assert_eq!(
        *warnings,
        json!([
            "unknown record field 'sumary' is kept as it is; did you mean 'summary'?",
            "unknown record field 'step.off' is not kept; did you mean 'of'?",
            "unknown record field 'decisions[].reson' is kept as it is; did you mean 'reason'?",
        ]),
        "{answer}"
    );
    let stored: Value = serde_json::from_str(&world.git_line(["show", "checkpoints/auth:checkpoint.json"])).unwrap();
    assert_eq!(stored["record"]["sumary"], "y");
    assert_eq!(stored["record"]["decisions"][0]["reson"], "b");
    assert!(stored["record"]["step"]["off"].is_null());
    // Items that a command takes as JSON are treated alike.
    world
        .command(PROGRAM, ["task", "add", "--json-input", "-"])
        .input(r#"{"title": "t", "percnt": 5, "claim": {"byy": 1}}"#)
        .run()
        .stderr_has("unknown record field 'tasks[].percnt' is kept as it is");
}

#[test]
fn requests_that_are_too_large_are_answered_with_their_id() {
    let world = World::with_commit();
    let long = "y".repeat(3 << 20);
    let many = vec!["1"; 30_000].join(",");
    let call = |id: &str, value: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"name":"checkpoint_list","arguments":{{"text":{value}}}}},"id":{id}}}"#
        )
    };
    let answers = served(
        &world,
        &[
            call("7", &format!("\"{long}\"")),
            call("\"eight\"", &format!("[{many}]")),
            format!("[{},{}]", call("9", "\"a\""), call("10", &format!("\"{long}\""))),
            // Without its end it is no JSON, and then the protocol wants no id.
            format!(r#"{{"jsonrpc":"2.0","id":11,"method":"{long}"#),
            format!(r#"{{"jsonrpc":"2.0","id":12,"method":[{many}}}"#),
        ],
    );
    // An id that is null is there even so, as JSON-RPC asks for it.
    assert!(answers.iter().all(|answer| answer.get("id").is_some()), "{answers:?}");
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(
        ids,
        [json!(7), json!("eight"), json!(9), json!(10), Value::Null, Value::Null]
    );
    assert!(
        answers.iter().all(|answer| answer["error"]["code"] == -32600),
        "{answers:?}"
    );
    let long = "y".repeat(21 << 20);
    let many = vec![1; 30_000];
    let answers = batch(
        &world,
        &[
            json!({"input": long, "id": {"mine": 1}, "args": ["list"]}),
            json!({"input": many, "id": 2, "args": ["list"]}),
            // A text is one value, whatever is in it.
            json!({"input": format!("{many:?}"), "id": 3, "args": ["list"]}),
        ],
    );
    let found: Vec<_> = answers
        .iter()
        .map(|a| (a["id"].clone(), a["exit_code"].clone()))
        .collect();
    assert_eq!(
        found,
        [
            (json!({"mine": 1}), json!(129)),
            (json!(2), json!(129)),
            (json!(3), json!(0))
        ]
    );
    assert_eq!(answers[1]["error"]["message"], "a line has at most 20000 values");
}

/// Text and structured failure of the answer of a tool of the server.
fn called(world: &World, calls: &[(&str, Value)]) -> Vec<(String, Value)> {
    let lines: Vec<String> = calls
        .iter()
        .zip(1..)
        .map(|((tool, arguments), id)| {
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": format!("checkpoint_{tool}"), "arguments": arguments,
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                },
            }})
            .to_string()
        })
        .collect();
    // One after the other: calls of one client may run at once.
    let answers = lines
        .iter()
        .map(|line| served(world, std::slice::from_ref(line)).remove(0));
    answers
        .map(|answer| {
            let result = &answer["result"];
            let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
            (text, result.clone())
        })
        .collect()
}

#[test]
fn meanings_of_exit_codes_fit_what_happened() {
    let world = World::with_commit();
    let (text, _) = called(&world, &[("undo", json!({}))]).remove(0);
    assert!(
        text.starts_with("error: nothing to undo\nexit code 1: there was nothing to do, or the answer is no\n"),
        "{text}"
    );
    let save = |summary: &str| json!({"record": {"summary": summary}, "idempotency_key": "k", "session": "auth"});
    let found = called(&world, &[("save", save("one")), ("save", save("two"))]);
    let text = &found[1].0;
    assert!(
        text.contains("key 'k' was used for another save")
            && text.contains("exit code 4: refused for the reason above; nothing was changed"),
        "{text}"
    );
    // A token of a plan that was carried out and undone, after which a name means another checkpoint.
    world.file("README.md", "two\n");
    let plan = called(&world, &[("restore", json!({"checkpoint": "auth"}))])
        .remove(0)
        .1;
    let token = plan["structuredContent"]["plan_token"].as_str().unwrap().to_owned();
    let confirmed = json!({"checkpoint": "auth", "confirm": token});
    let done = called(&world, &[("restore", confirmed.clone()), ("undo", json!({}))]);
    assert!(done.iter().all(|(_, result)| result["isError"] != true), "{done:?}");
    assert_eq!(world.read("README.md"), b"two\n");
    called(
        &world,
        &[("save", json!({"record": {"summary": "three"}, "session": "auth"}))],
    );
    let (text, _) = called(&world, &[("restore", confirmed)]).remove(0);
    assert!(
        text.contains("the token is of another plan: one with other arguments, or of another checkpoint")
            && text.contains("exit code 4: refused for the reason above")
            && text.contains("hint: nothing was changed; make a new plan"),
        "{text}"
    );
    assert_eq!(world.read("README.md"), b"two\n");
    let (text, _) = called(&world, &[("show", json!({"checkpoint": "nothing"}))]).remove(0);
    assert!(text.contains("exit code 3: not found\n"), "{text}");
}

/// A program that leaves a note when it runs, and fails.
fn tattletale(world: &World, name: &str) -> (String, std::path::PathBuf) {
    let (program, note) = (world.root().join(name), world.root().join(format!("{name}.ran")));
    let text = format!("#!/bin/sh\nenv >'{}'\nexit 1\n", note.display());
    std::fs::write(&program, text).unwrap();
    world
        .command("chmod", ["+x".as_ref(), program.as_os_str()])
        .run()
        .success();
    (program.to_str().unwrap().to_owned(), note)
}

#[test]
fn a_batch_asks_nobody_anything() {
    let world = World::with_commit();
    world.checkpoint(["save", "--session", "auth", "-m", "one"]).success();
    world.file("README.md", "two\n");
    let (editor, edited) = tattletale(&world, "editor");
    let (ssh, spoken) = tattletale(&world, "ssh");
    world
        .git(["remote", "add", "far", "ssh://nobody@host.invalid/x"])
        .success();
    let without_input: &[&[&str]] = &[
        &["save", "-F", "-"],
        &["save", "--record", "-"],
        &["save", "--amend", "-F", "-"],
        &["save", "-F", "/dev/stdin"],
        &["save", "--record", "/proc/self/fd/0"],
        &["message", "import", "/dev/tty"],
        &["restore", "--pathspec-from-file", "/dev/stdin"],
        &["finish", "-F", "-"],
        &["message", "add", "--role", "user"],
        &["message", "add", "--role", "user", "-"],
        &["message", "import", "-"],
        &["state", "patch", "-"],
        &["task", "add", "--json-input", "-"],
        &["context", "set", "-"],
        &["restore", "--pathspec-from-file", "-"],
    ];
    let with_person: &[&[&str]] = &[
        &["save", "-e"],
        &["save", "-em", "x"],
        &["save", "--amend", "--edit"],
        &["pause", "-e"],
        &["finish", "-e"],
        &["restore", "-p"],
        &["restore", "-p", "--", "README.md"],
        &["apply", "-p", "auth"],
        &["clear", "--all"],
    ];
    let alone: &[&[&str]] = &[
        &["batch"],
        &["mcp"],
        &["ui"],
        &["serve"],
        &["watch"],
        &["hook", "claude-code", "Stop"],
    ];
    let before = world.fingerprint();
    let all: Vec<&[&str]> = [without_input, with_person, alone].concat();
    let mut input: String = all
        .iter()
        .map(|args| json!({"args": args}).to_string() + "\n")
        .collect();
    input.push_str(&(json!({"id": "last", "args": ["list"]}).to_string() + "\n"));
    let out = world
        .command(PROGRAM, ["batch"])
        .env("GIT_EDITOR", &editor)
        .env("EDITOR", &editor)
        .input(input)
        .run();
    let answers: Vec<Value> = out
        .stdout()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut faults = Vec::new();
    for (args, answer) in all.iter().zip(&answers) {
        let hints = answer["error"]["hints"].as_array().map_or(0, Vec::len);
        if answer["exit_code"] != 129 || hints == 0 {
            faults.push(format!("{args:?}: {answer}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(answers.len(), all.len() + 1);
    let last = answers.last().unwrap();
    assert_eq!((&last["id"], &last["exit_code"]), (&json!("last"), &json!(0)), "{last}");
    assert!(!edited.exists(), "an editor ran");
    assert_eq!(world.fingerprint(), before);
    // What is given is taken, also when it is empty.
    let given = json!({"args": ["save", "-F", "-"], "input": "from the input"});
    let answers = batch(
        &world,
        &[
            given,
            json!({"args": ["message", "add", "--role", "user"], "input": ""}),
        ],
    );
    assert_eq!(answers[0]["exit_code"], 0, "{}", answers[0]);
    assert_eq!(answers[0]["output"]["summary"], "from the input", "{}", answers[0]);
    assert_ne!(
        answers[1]["error"]["hints"][0], "give it as 'input' of the request",
        "{}",
        answers[1]
    );
    // Nor does a program that git starts find a terminal by itself.
    let push = json!({"args": ["push", "far", "auth"]}).to_string() + "\n";
    let out = world
        .command(PROGRAM, ["batch"])
        .env("GIT_SSH_COMMAND", &ssh)
        .input(push)
        .run();
    out.code(1);
    let variables = std::fs::read_to_string(&spoken).unwrap();
    for wanted in [
        "GIT_TERMINAL_PROMPT=0",
        "SSH_ASKPASS=false",
        "SSH_ASKPASS_REQUIRE=force",
    ] {
        assert!(variables.lines().any(|line| line == wanted), "{wanted}:\n{variables}");
    }
    // The user's own program that answers stays, and a person at a terminal is asked as ever.
    let push = json!({"args": ["push", "far", "auth"]}).to_string() + "\n";
    let askpass = ("SSH_ASKPASS", "/my/askpass");
    let line = world
        .command(PROGRAM, ["batch"])
        .env("GIT_SSH_COMMAND", &ssh)
        .env(askpass.0, askpass.1);
    line.input(push).run().code(1);
    let variables = std::fs::read_to_string(&spoken).unwrap();
    assert!(variables.contains("SSH_ASKPASS=/my/askpass\n"), "{variables}");
    world
        .command(PROGRAM, ["push", "far", "auth"])
        .env("GIT_SSH_COMMAND", &ssh)
        .run();
    let variables = std::fs::read_to_string(&spoken).unwrap();
    assert!(
        !variables.contains("SSH_ASKPASS") && !variables.contains("GIT_TERMINAL_PROMPT"),
        "{variables}"
    );
}

/// A line of a batch means what it means at a prompt: with a word left out, a count as in git, a verb of another noun.
#[test]
fn a_line_of_a_batch_is_understood_as_at_a_prompt() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "one"]).success();
    let lines: [&[&str]; 7] = [
        &["todo", "tell ops"],
        &["todo"],
        &["log", "-1"],
        &["log", "--end-of-options", "main"],
        &["state"],
        &["todo", "close", "1"],
        &["commit", "-m", "x"],
    ];
    let requests: Vec<Value> = lines.iter().map(|line| json!({"args": line})).collect();
    for (line, answer) in lines.iter().zip(batch(&world, &requests)) {
        let typed = world.checkpoint(line.iter().copied());
        let code = answer["exit_code"].as_i64().unwrap();
        assert_eq!(
            typed.status().code().map(i64::from),
            Some(code),
            "{line:?}: {answer} {typed}"
        );
        // An answer of "no" has no words at a prompt.
        if let Some(message) = answer["error"]["message"].as_str().filter(|_| code > 1) {
            typed.stderr_has(message);
        }
    }
    let items = world.checkpoint(["todo", "--json"]).success().stdout().to_owned();
    assert_eq!(items.matches("tell ops").count(), 2, "{items}");
}

/// As JSON-RPC and the protocol say: each request gets one answer, under its id or null, and a notification none.
#[test]
fn requests_with_odd_ids_are_refused_and_notifications_are_not_answered() {
    let world = World::with_commit();
    let line = |more: Value| {
        let mut line = json!({ "jsonrpc": "2.0" });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line.to_string()
    };
    let lines = [
        line(json!({ "id": null, "method": "tools/list" })),
        line(json!({ "id": null, "method": "no/such" })),
        line(json!({ "id": true, "method": "ping" })),
        line(json!({ "id": [1], "method": "no/such" })),
        line(json!({ "method": "no/such" })),
        line(json!({ "method": "no/such", "params": 3 })),
        line(json!({ "method": "notifications/cancelled", "params": [1] })),
        line(json!({ "method": "notifications/progress", "params": { "progress": "x" } })),
        line(json!({ "id": "a", "method": "no/such" })),
        line(json!({ "id": 0, "method": "no/such", "params": {} })),
        line(json!({ "id": 1, "method": "ping" })),
    ];
    let answers = served(&world, &lines);
    let mut seen: Vec<_> = answers
        .iter()
        .map(|answer| (answer["id"].to_string(), answer["error"]["code"].as_i64().unwrap_or(0)))
        .collect();
    seen.sort();
    let expected = [("\"a\"", -32601), ("0", -32601), ("1", 0)];
    let mut expected: Vec<_> = expected.map(|(id, code)| (id.to_owned(), code)).into();
    expected.extend(std::iter::repeat_n(("null".to_owned(), -32600), 4));
    assert_eq!(seen, expected, "{answers:?}");
}
