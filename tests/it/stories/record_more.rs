//! Phases, checks, delegations, partitions, open files, fork points, and the help of all these commands.

use serde_json::{Value, json};

use crate::support::{PROGRAM, World};

fn begun() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world
}

/// The record of a save after these commands.
fn record(world: &World) -> Value {
    world.checkpoint(["save", "-m", "saved"]).success();
    world
        .git(["show", "checkpoints/s:checkpoint.json"])
        .success()
        .stdout_json()["record"]
        .clone()
}

#[test]
fn phases_iterations_checks_and_delegations() {
    let world = begun();
    world.checkpoint(["phase"]).success().no_stdout();
    world
        .checkpoint(["phase", "2/5", "port the queries"])
        .success()
        .stdout_is("Phase 2 of 5: port the queries\n");
    world.checkpoint(["phase", "3/5"]).success();
    world.checkpoint(["phase"]).success().stdout_is("Phase 3 of 5\n");
    world.checkpoint(["phase", "6/5"]).code(129);
    world.checkpoint(["iteration", "next"]).success();
    world.checkpoint(["iteration", "next"]).success();
    world.checkpoint(["iteration"]).success().stdout_is("2\n");
    world
        .checkpoint(["check", "tests", "fail", "--text", "3 of 214"])
        .success();
    world.checkpoint(["check", "lint", "pass"]).success();
    world.checkpoint(["check", "tests", "pass"]).success();
    world.checkpoint(["check", "tests"]).code(129);
    world
        .checkpoint([
            "delegation",
            "add",
            "claude",
            "--issue",
            "#1",
            "--model-tier",
            "large",
            "--tokens",
            "1000",
            "--estimated",
        ])
        .success();
    world
        .checkpoint([
            "delegation",
            "add",
            "panel",
            "--panel",
            "--tokens",
            "500",
            "--duration",
            "2m",
        ])
        .success();
    world.checkpoint(["delegation", "add", "ben"]).success();
    world
        .checkpoint([
            "delegation",
            "edit",
            "1",
            "--tokens",
            "1200",
            "--status",
            "done",
            "--duration",
            "1h",
        ])
        .success();
    world.checkpoint(["delegation", "list"]).success().stdout_has(
        "total  3 delegations, 1 panel review of them with 500 tokens, 1700 tokens, 1 without a number, 1h 2m",
    );
    let totals = world
        .checkpoint(["delegation", "list", "--json"])
        .success()
        .stdout_json()["totals"]
        .clone();
    assert_eq!(
        (&totals["tokens"], &totals["panel_tokens"], &totals["duration"]),
        (&json!(1700), &json!(500), &json!(3720))
    );
    let record = record(&world);
    assert_eq!(record["phase"], json!({"n": 3, "of": 5}));
    assert_eq!(record["iteration"], 2);
    let checks = record["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 2, "the latest of each name");
    assert_eq!((&checks[0]["status"], checks[0].get("text")), (&json!("pass"), None));
    assert_eq!(record["delegations"][0].get("estimated"), None);
}

#[test]
fn partitions_and_open_files() {
    let world = begun();
    world
        .checkpoint(["partition", "set", "ana", "src/", "tests/*_a.rs"])
        .success()
        .no_stderr();
    world
        .checkpoint(["partition", "set", "ben", "src/main.txt", "docs"])
        .success()
        .stderr_has("'src' of ana overlaps with 'src/main.txt' of ben");
    world
        .checkpoint(["partition", "set", "ben", "docs"])
        .success()
        .no_stderr();
    world
        .checkpoint(["partition", "list"])
        .success()
        .stdout_has("tests/*_a.rs")
        .stdout_lacks("main.txt");
    world.checkpoint(["partition", "clear", "nobody"]).code(3);
    world
        .command(PROGRAM, ["open-file", "main.txt:3:4", "../README.md"])
        .within("src")
        .run()
        .success();
    world.checkpoint(["open-file", "src/main.txt:9"]).success();
    world
        .checkpoint(["open-file"])
        .success()
        .stdout_has("line 9")
        .stdout_has("README.md");
    world.checkpoint(["open-file", "--close", "README.md"]).success();
    world
        .checkpoint(["open-file", "--close", "README.md"])
        .code(3)
        .stderr_has("is not open");
    world.checkpoint(["open-file", "a:0"]).code(129);
    world.checkpoint(["partition", "clear", "ben"]).success();
    let record = record(&world);
    assert_eq!(record["partitions"], json!({"ana": ["src", "tests/*_a.rs"]}));
    let files = record["open_files"].as_array().unwrap();
    assert_eq!(files.len(), 1);
    assert_eq!(
        (&files[0]["path"], &files[0]["line"], files[0].get("column")),
        (&json!("src/main.txt"), &json!(9), None)
    );
}

#[test]
fn a_fork_point_its_forks_and_the_decision() {
    let world = begun();
    world
        .checkpoint([
            "fork-point",
            "add",
            "Which parser?",
            "--decider",
            "ana",
            "--option",
            "nom:combinators",
            "--pros",
            "no build step",
            "--cons",
            "-slow",
            "--option",
            "winnow:its successor",
            "--files",
            "src/parser.rs",
            "--pros",
            "kept up",
        ])
        .success();
    world
        .checkpoint(["fork-point", "add", "x", "--option", "a b:c"])
        .code(129)
        .stderr_has("KEY:TITLE");
    world
        .checkpoint(["fork-point", "add", "x", "--option", "a:1", "--option", "a:2"])
        .code(129)
        .stderr_has("used twice");
    world
        .checkpoint(["fork-point", "add", "x", "--pros", "y", "--option", "a:1"])
        .code(129)
        .stderr_has("must follow");
    // It is not saved yet, so that no fork can have it.
    world
        .checkpoint(["fork", "@", "--option", "nom"])
        .code(3)
        .stderr_has("git checkpoint save");
    world.checkpoint(["save", "-m", "two ways"]).success();
    world
        .checkpoint(["fork", "s", "--option", "nom", "--name", "try-nom"])
        .success();
    world
        .checkpoint(["fork", "s", "--option", "winnow", "--name", "try-winnow"])
        .success();
    let fork = world
        .git(["show", "checkpoints/try-nom:checkpoint.json"])
        .success()
        .stdout_json();
    let point = &fork["record"]["fork_points"][0];
    assert_eq!(
        (&fork["session"]["forked_from"]["fork_point"], &point["chosen"]),
        (&point["id"], &json!("nom"))
    );
    assert_eq!(point["options"][0]["cons"], json!(["-slow"]));
    assert_eq!(point["options"][1]["files"], json!(["src/parser.rs"]));
    world
        .checkpoint(["show", "s"])
        .success()
        .stdout_has("    nom: combinators (")
        .stdout_has("sessions try-nom)")
        .stdout_has("try-winnow)");
    world
        .checkpoint(["show", "try-nom"])
        .success()
        .stdout_has("session s, option nom");
    world
        .checkpoint(["log", "--graph", "s"])
        .success()
        .stdout_has("option nom")
        .stdout_has("option winnow");
    world.checkpoint(["switch", "s"]).success();
    world
        .checkpoint(["fork-point", "decide", "1", "winow"])
        .code(3)
        .stderr_has("did you mean 'winnow'?");
    world
        .checkpoint(["fork-point", "decide", "1", "winnow", "--reason", "clearer errors"])
        .success();
    world
        .checkpoint(["fork-point", "list"])
        .success()
        .stdout_has("decided: winnow")
        .stdout_has("*  winnow  its successor  -> try-winnow")
        .stdout_has("because clearer errors");
    assert_eq!(record(&world)["fork_points"][0]["chosen"], "winnow");
}

#[test]
fn every_command_has_help_and_examples() {
    let world = World::new();
    for command in [
        "task",
        "todo",
        "decision",
        "blocker",
        "question",
        "approval",
        "phase",
        "delegation",
        "partition",
        "instruction",
        "memory",
        "open-file",
        "note",
        "state",
        "agent",
        "check",
        "iteration",
        "fork-point",
    ] {
        world.checkpoint([command, "--help"]).success().stdout_has("Examples:");
        let short = world.checkpoint([command, "-h"]).success().stdout().to_owned();
        assert!(
            short.lines().all(|line| line.chars().count() <= 80),
            "{command}: {short}"
        );
    }
}

/// Two items of one id in a list would become one that says what the last one says.
#[test]
fn an_id_that_a_record_has_twice_is_refused_with_its_place() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    let tip = || world.git_line(["rev-parse", "checkpoints/auth"]);
    let before = tip();
    for (record, place, other) in [
        (
            r#"{"tasks": [{"id": "T-1", "title": "a"}, "b", {"id": "T-1", "title": "c"}]}"#,
            "tasks[2].id",
            "'tasks[0]' has the same one, 'T-1'",
        ),
        (
            r#"{"todos": ["a"], "decisions": [{"id": "d", "text": "x"}, {"id": "d", "reason": "y"}]}"#,
            "decisions[1].id",
            "'decisions[0]' has the same one, 'd'",
        ),
        (
            r#"{"fork_points": ["x", {"title": "f", "options": [
                {"key": "k", "title": "one"}, {"key": "k", "title": "two"}]}]}"#,
            "fork_points[1].options[1].key",
            "'fork_points[1].options[0]' has the same one, 'k'",
        ),
    ] {
        for args in [
            &["save", "--record", "-"][..],
            &["save", "--record", "-", "--dry-run"],
            &["pause", "--record", "-"],
        ] {
            let refused = world.command(PROGRAM, args).input(record).run();
            assert!(!refused.is_success(), "{refused}");
            refused.stderr_has(place).stderr_has(other);
            assert_eq!(tip(), before, "{record}");
        }
    }
    let items = r#"[{"id": "T-1", "title": "a"}, {"id": "T-1", "title": "c"}]"#;
    let refused = world
        .command(PROGRAM, ["task", "add", "--json-input", "-"])
        .input(items)
        .run();
    assert!(!refused.is_success(), "{refused}");
    refused.stderr_has("tasks[1].id");
    // Of different lists, and again in another record, the same id is none of these.
    let record = r#"{"tasks": [{"id": "1", "title": "a"}], "todos": [{"id": "1", "text": "b"}]}"#;
    for _ in 0..2 {
        world
            .command(PROGRAM, ["save", "--record", "-", "--allow-empty"])
            .input(record)
            .run()
            .success();
    }
    let saved = world.git(["show", "checkpoints/auth:checkpoint.json"]);
    let saved = saved.success().stdout_json();
    assert_eq!(saved["record"]["tasks"].as_array().unwrap().len(), 1, "{saved}");
}

/// What a command replaces is in no undo list; its receipt names it.
#[test]
fn what_is_replaced_is_named() {
    let world = begun();
    world.checkpoint(["question", "may we?"]).success();
    world
        .checkpoint(["question", "answer", "1", "no, \u{202e}never"])
        .success()
        .stdout_lacks("former");
    let answered = world.checkpoint(["question", "answer", "1", "yes", "--json"]);
    let answered = answered.success().stdout_json();
    assert_eq!(answered["items"][0]["answer"], "yes");
    assert_eq!(answered["former"][0]["answer"], "no, \u{202e}never");
    world
        .checkpoint(["question", "answer", "1", "no, \u{202e}never"])
        .success()
        .stdout_has("  former answer: yes\n");
    world
        .checkpoint(["question", "reopen", "1"])
        .success()
        .stdout_has("  former answer: no, \\u{202e}never\n");
    world.checkpoint(["approval", "ask", "deploy?"]).success();
    let approve = ["approval", "answer", "1", "approve", "--by", "ana", "--reason", "green"];
    world.checkpoint(approve).success().stdout_lacks("former");
    world
        .checkpoint(["approval", "answer", "1", "reject", "--by", "ben"])
        .success()
        .stdout_has("  former answer: approve\n")
        .stdout_has("  former answered by: ana\n");
    let options = ["--option", "a:A", "--option", "b:B"];
    world
        .checkpoint([&["fork-point", "add", "Which?"][..], &options].concat())
        .success();
    world
        .checkpoint(["fork-point", "decide", "1", "a", "--reason", "short"])
        .success();
    world
        .checkpoint(["fork-point", "decide", "1", "b"])
        .success()
        .stdout_has("  former chosen: a\n")
        .stdout_has("  former reason: short\n");
    world.checkpoint(["partition", "set", "ana", "src", "doc"]).success();
    world
        .checkpoint(["partition", "set", "ana", "src", "doc"])
        .success()
        .stdout_lacks("former");
    world
        .checkpoint(["partition", "set", "ana", "src"])
        .success()
        .stdout_has("  former paths: src doc\n");
    world
        .checkpoint(["partition", "clear", "ana"])
        .success()
        .stdout_has("  former paths: src\n");
}

/// Each item that can be removed, whatever it says, comes back with the command that its removal names.
#[test]
fn what_is_removed_comes_back_with_the_command_of_the_receipt() {
    let world = begun();
    let text = "it's\n\"quoted\" \\ $HOME \u{202e}end";
    for add in [
        &[
            "task",
            "add",
            "port it",
            "--agent",
            "ana",
            "--notes",
            text,
            "--percent",
            "3",
        ][..],
        &["task", "add", "plain"],
        &["todo", "add", "it's \"this\" $HOME"],
        &["todo", "add", text],
        &["todo", "add", "--", "-x"],
        &["decision", "keep it"],
        &["decision", "keep it", "--reason", text],
        &["blocker", "add", "no access", "--needs", "a key", "--ref", "OPS-31"],
        &["question", "may we?"],
        &["approval", "ask", "deploy?", "--provider", "slack"],
        &["fork-point", "add", "Which?", "--option", "a:A", "--pros", "short"],
        &["delegation", "add", "claude", "--tokens", "5"],
        &["instruction", "add", "tests first"],
        &["memory", "add", "notes#1"],
        &["agent", "note", "read it", "--agent", "claude"],
        &["check", "tests", "fail", "--text", "it's -x"],
        &["check", "tests", "pass"],
    ] {
        let items = || {
            let listed = world.checkpoint([add[0], "list", "--json"]).success().stdout_json();
            listed["items"].as_array().unwrap().clone()
        };
        world.checkpoint(add).success();
        let before = items();
        let verb = if add[0] == "blocker" { "clear" } else { "remove" };
        let removed = world
            .checkpoint([add[0], verb, "1", "--session", "s"])
            .success()
            .clone();
        assert!(items().is_empty(), "{add:?}");
        let line = removed
            .stdout()
            .lines()
            .find_map(|line| line.strip_prefix("  To add it again: "));
        let command = line.unwrap_or_else(|| panic!("{removed}"));
        assert!(command.contains(" --session s"), "{command}");
        world.command("sh", ["-c", command]).run().success();
        let (mut before, mut after) = (before, items());
        if !command.contains("--json-input") {
            for item in before.iter_mut().chain(&mut after).filter_map(Value::as_object_mut) {
                item.retain(|member, _| !["id", "at", "by"].contains(&member.as_str()));
            }
        }
        assert_eq!(after, before, "{command}");
        world.checkpoint([add[0], verb, "1"]).success();
    }
}
