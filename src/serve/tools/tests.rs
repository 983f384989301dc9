//! Each tool against a runner that notes the command lines.

use std::sync::Mutex;

use serde_json::json;

use super::*;
use crate::serve::CommandRun;

/// Answers every command with the same JSON.
struct NotingRunner {
    lines: Mutex<Vec<CommandLine>>,
    output: Value,
}

impl CommandRunner for NotingRunner {
    fn run(&self, line: &CommandLine, _: &CallMonitor) -> CommandRun {
        self.lines.lock().expect("no panic").push(line.clone());
        CommandRun {
            exit_code: 0,
            output: self.output.to_string(),
            warnings: Vec::new(),
            failure: None,
        }
    }
}

/// The lines of a call, as text, with standard input behind `<`; or the message of its failure.
fn lines(tool: &str, arguments: Value) -> Result<Vec<String>, String> {
    let runner = NotingRunner {
        lines: Mutex::default(),
        output: json!({ "sessions": [1, 2, 3], "patch": "12345", "prompt": "p" }),
    };
    let call = ToolCall {
        runner: &runner,
        monitor: &CallMonitor::default(),
        agent: Some("robot"),
    };
    let Value::Object(arguments) = arguments else {
        panic!("an object")
    };
    let tool = find(tool).expect("a tool");
    (tool.call)(&call, arguments).map_err(|failure| failure.message)?;
    let lines = runner.lines.into_inner().expect("no panic").into_iter();
    Ok(lines
        .map(|line| {
            let words: Vec<_> = line.words.iter().map(|word| word.to_string_lossy()).collect();
            let input = String::from_utf8(line.input.unwrap_or_default()).expect("text");
            let input = if input.is_empty() { input } else { format!(" <{input}") };
            let rule = match line.paths {
                PathRule::FromRoot if line.words.iter().any(|word| word == "--") => " (from the root)",
                _ => "",
            };
            words.join(" ") + &input + rule
        })
        .collect())
}

#[test]
fn names_are_unique_and_sorted_and_every_schema_is_an_object() {
    assert!(TOOLS.is_sorted_by(|one, other| one.name < other.name));
    for tool in &TOOLS {
        for schema in [(tool.input)(), (tool.output)()] {
            assert_eq!(schema["type"], "object", "{}: {schema}", tool.name);
        }
        let input = (tool.input)().to_string();
        assert!(
            !input.contains("null") && !input.contains("$ref"),
            "{}: {input}",
            tool.name
        );
        assert_eq!((tool.input)()["additionalProperties"], false, "{}", tool.name);
        assert!(
            tool.description.len() > 40 && !(tool.read_only && tool.destructive),
            "{}",
            tool.name
        );
    }
}

#[test]
fn arguments_become_words_that_cannot_be_options() {
    let record = json!({"summary": "--force", "next_steps": ["-x"], "decisions": ["a", {"text": "b"}], "odd": 1});
    for (tool, arguments, wanted) in [
        ("checkpoint_save", json!({}), "save --agent=robot"),
        (
            "checkpoint_save",
            json!({"record": record, "files": false, "agent": "ana", "idempotency_key": "k"}),
            r#"save --message=--force --next-step=-x --no-files --agent=ana --key=k --record=- <{"odd":1,"decisions":["a",{"text":"b"}]}"#,
        ),
        (
            "checkpoint_save",
            json!({"pause": true, "record": {"next_steps": []}}),
            r#"pause --agent=robot --record=- <{"next_steps":null}"#,
        ),
        (
            "checkpoint_resume",
            json!({"session": "auth", "max_characters": 2000}),
            "resume --format=prompt --max-chars=2000 auth",
        ),
        (
            "checkpoint_list",
            json!({"text": "-a", "remotes": true}),
            "list --grep=-a --all",
        ),
        (
            "checkpoint_search",
            json!({"query": "--all", "parts": ["chat", "files"], "limit": 3}),
            "search --max-count=3 --fixed-strings --ignore-case --in=chat,files -- --all",
        ),
        (
            "checkpoint_search",
            json!({"query": "a|b", "regexp": true, "match_case": true}),
            "search --max-count=50 --extended-regexp -- a|b",
        ),
        ("checkpoint_show", json!({"checkpoint": "auth~1"}), "show auth~1"),
        (
            "checkpoint_diff",
            json!({"old": "a", "new": "b", "paths": ["--stat"], "patch": true}),
            "diff --patch a b -- --stat (from the root)",
        ),
        ("checkpoint_restore", json!({"checkpoint": "a"}), "restore a --dry-run"),
        (
            "checkpoint_restore",
            json!({"checkpoint": "a", "paths": ["x"], "index": true, "confirm": "0f"}),
            "restore a --plan=0f --index -- x (from the root)",
        ),
        ("checkpoint_undo", json!({}), "undo"),
        (
            "checkpoint_undo",
            json!({"redo": true, "dry_run": true}),
            "redo --dry-run",
        ),
        (
            "checkpoint_step",
            json!({"action": "start", "title": "-t", "prompt": "do"}),
            "step start --agent=robot --prompt=- -- -t <do",
        ),
        (
            "checkpoint_step",
            json!({"action": "done", "step": "1", "context": "c", "checks": {"lint": "pass"}, "created": ["f"]}),
            "step done --agent=robot --context=c --created=f --check=lint=pass -- 1",
        ),
        (
            "checkpoint_step",
            json!({"action": "fail", "step": "1", "error": "e"}),
            "step fail --agent=robot --error=e -- 1",
        ),
        (
            "checkpoint_step",
            json!({"action": "replay"}),
            "replay --agent=robot --format=prompt",
        ),
        (
            "checkpoint_task",
            json!({"action": "add", "title": "t", "files": ["f"]}),
            "task add --files=f -- t",
        ),
        (
            "checkpoint_task",
            json!({"action": "add", "title": "t", "id": "T-1"}),
            r#"task add --json-input=- <{"id":"T-1","title":"t"}"#,
        ),
        (
            "checkpoint_task",
            json!({"action": "done", "task": "1"}),
            "task done -- 1",
        ),
        (
            "checkpoint_task",
            json!({"action": "list", "open": true}),
            "task list --open",
        ),
    ] {
        assert_eq!(
            lines(tool, arguments.clone()),
            Ok(vec![wanted.to_owned()]),
            "{tool} {arguments}"
        );
    }
}

#[test]
fn wrong_arguments_run_nothing() {
    for (tool, arguments) in [
        ("checkpoint_save", json!({"no_files": true})),
        ("checkpoint_save", json!({"files": "no"})),
        ("checkpoint_save", json!({"record": "text"})),
        ("checkpoint_save", json!({"record": {"summary": 1}})),
        ("checkpoint_resume", json!({"session": "--list"})),
        ("checkpoint_resume", json!({"session": ""})),
        ("checkpoint_show", json!({"checkpoint": "@:README.md"})),
        ("checkpoint_show", json!({"checkpoint": "--raw"})),
        ("checkpoint_search", json!({})),
        ("checkpoint_search", json!({"query": "x", "parts": ["everything"]})),
        ("checkpoint_diff", json!({"new": "b"})),
        ("checkpoint_diff", json!({"old": "--ext-diff"})),
        ("checkpoint_restore", json!({"checkpoint": "--abort"})),
        ("checkpoint_restore", json!({"confirm": ""})),
        ("checkpoint_restore", json!({"confirm": "x --force"})),
        ("checkpoint_restore", json!({"paths": ["../x"]})),
        ("checkpoint_restore", json!({"paths": ["a/../../x"]})),
        ("checkpoint_diff", json!({"paths": ["/etc/passwd"]})),
        ("checkpoint_diff", json!({"paths": [""]})),
        ("checkpoint_resume", json!({"max_characters": 10})),
        ("checkpoint_undo", json!({"redo": true, "older": true})),
        ("checkpoint_step", json!({})),
        ("checkpoint_step", json!({"action": "run"})),
        ("checkpoint_step", json!({"action": "done", "step": "1"})),
        ("checkpoint_task", json!({"action": "add"})),
        ("checkpoint_task", json!({"action": "done"})),
        (
            "checkpoint_task",
            json!({"action": "done", "task": "1", "percent": 300}),
        ),
    ] {
        assert!(lines(tool, arguments.clone()).is_err(), "{tool} {arguments}");
    }
}

#[test]
fn the_member_of_a_wrong_value_is_named() {
    for (tool, arguments, member) in [
        ("checkpoint_restore", json!({"checkpoint": 5}), "'checkpoint'"),
        ("checkpoint_save", json!({"record": {"summary": 5}}), "'record.summary'"),
        ("checkpoint_save", json!({"record": "text"}), "'record'"),
        ("checkpoint_search", json!({"query": "x", "limit": -1}), "'limit'"),
        ("checkpoint_list", json!({"limit": 1e20}), "'limit'"),
        ("checkpoint_diff", json!({"paths": ["a", 5]}), "'paths[1]'"),
        ("checkpoint_resume", json!({"max_characters": 10}), "'max_characters'"),
    ] {
        let message = lines(tool, arguments).expect_err(member);
        assert!(message.contains(member), "{message}");
        for sign in ["struct", "invalid", "u32", "usize", "sequence"] {
            assert!(!message.contains(sign), "{message}");
        }
    }
}

#[test]
fn long_results_are_cut_and_the_cut_is_reported() {
    let runner = NotingRunner {
        lines: Mutex::default(),
        output: json!({ "sessions": [1, 2, 3], "patch": "äöüß" }),
    };
    let call = ToolCall {
        runner: &runner,
        monitor: &CallMonitor::default(),
        agent: None,
    };
    let called = |name: &str, arguments: Value| {
        let Value::Object(arguments) = arguments else {
            panic!("an object")
        };
        (find(name).expect("a tool").call)(&call, arguments).expect("a result")
    };
    let result = called("checkpoint_list", json!({"limit": 2}));
    assert_eq!(
        (&result.structured["sessions"], result.warnings.len()),
        (&json!([1, 2]), 1)
    );
    let result = called("checkpoint_diff", json!({"patch": true, "max_characters": 2}));
    assert_eq!((&result.structured["patch"], result.warnings.len()), (&json!("äö"), 1));
    let result = called("checkpoint_diff", json!({"patch": true, "max_characters": 4}));
    assert_eq!(
        (&result.structured["patch"], result.warnings.len()),
        (&json!("äöüß"), 0)
    );
}
