//! `stats`, the sizes of sessions, and a prune that keeps one checkpoint a period.

use serde_json::{Value, json};

use crate::support::{PROGRAM, World};

fn hook(world: &World, event: &str, more: &Value) {
    let mut payload = json!({"session_id": "a1", "hook_event_name": event, "cwd": world.repo()});
    payload
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    world
        .command(PROGRAM, ["hook", "claude-code", event])
        .env("CHECKPOINT_AGENT_HOOK", "worker")
        .input(payload.to_string())
        .run()
        .success();
}

/// A transcript of one turn, whose answer took so many tokens.
fn transcript(world: &World, input: u64, output: u64) -> String {
    let line = |kind: &str, message: Value| {
        json!({"type": kind, "uuid": kind, "parentUuid": null, "sessionId": "a1", "isSidechain": false, "cwd": "/p",
            "timestamp": "2026-01-02T03:04:05Z", "message": message})
    };
    let prompt = line("user", json!({"role": "user", "content": "do it"}));
    let usage = json!({"input_tokens": input, "output_tokens": output});
    let answer = json!({"id": "m", "role": "assistant", "model": "opus-4", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "done"}], "usage": usage});
    let path = world.home().join("a1.jsonl");
    std::fs::write(&path, format!("{prompt}\n{}\n", line("assistant", answer))).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn figures_are_counted_by_session_day_agent_and_model() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.agents", "on"]).success();
    let path = transcript(&world, 1000, 70);
    hook(
        &world,
        "SessionStart",
        &json!({"source": "startup", "transcript_path": path}),
    );
    hook(
        &world,
        "UserPromptSubmit",
        &json!({"prompt": "do it", "transcript_path": path}),
    );
    world.file("src/main.txt", "one\nTWO\nthree\nfour\n");
    hook(&world, "Stop", &json!({"transcript_path": path}));
    world.file("by-hand.txt", "a\nb\nc\n");
    world.advance(86_400);
    world.checkpoint(["save", "-m", "by hand"]).success();
    let stats = |args: &[&str]| {
        let mut line = vec!["stats", "--json"];
        line.extend(args);
        world.checkpoint(line).success().stdout_json()
    };
    let by_session = stats(&[]);
    let row = &by_session["groups"][0];
    assert_eq!((&row["turns"], &row["counted_turns"]), (&json!(1), &json!(1)), "{row}");
    assert_eq!(
        (&row["tokens"]["input"], &row["tokens"]["output"]),
        (&json!(1000), &json!(70))
    );
    assert_eq!(row["lines"]["agents"], json!({"added": 2, "removed": 1}));
    assert_eq!(row["lines"]["people"], json!({"added": 3, "removed": 0}));
    assert!(row["size"].as_u64().unwrap() > 0);
    let names = |by: &str| -> Vec<String> {
        let view = stats(&["--by", by]);
        view["groups"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names("day"), ["2026-01-02", "2026-01-03"]);
    assert_eq!(names("agent"), ["(none)", "claude-code"]);
    assert_eq!(names("model"), ["(none)", "opus-4"]);
    let since = stats(&["--since", "2026-01-03T00:00:00Z"]);
    assert_eq!(since["total"]["turns"], 0);
    assert_eq!(since["total"]["lines"]["people"]["added"], 3);
    world
        .checkpoint(["stats"])
        .success()
        .stdout_has("1000")
        .stdout_has("+2 -1");
    let listed = world.checkpoint(["list", "--size", "--json"]).success().stdout_json();
    assert_eq!(listed["sessions"][0]["size"], row["size"]);
    let session = row["name"].as_str().unwrap();
    let expected = world.git_line([
        "rev-list",
        "--objects",
        "--disk-usage",
        &format!("refs/checkpoints/{session}"),
        "--not",
        "--exclude=refs/checkpoints*",
        "--all",
        "--indexed-objects",
    ]);
    assert_eq!(row["size"].to_string(), expected);
}

#[test]
fn a_prune_keeps_one_checkpoint_an_hour_a_day_a_week() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    // Every six hours for five weeks.
    for n in 0..140 {
        world.advance(6 * 3600 - 3);
        world
            .checkpoint(["save", "-m", &format!("step {n}"), "--no-files", "--allow-empty"])
            .success();
    }
    let log = |world: &World| -> Vec<(i64, String)> {
        let text = world.git_line(["log", "--first-parent", "--format=%ct %s", "refs/checkpoints/s"]);
        let line = |line: &str| {
            let (time, subject) = line.split_once(' ').unwrap();
            (time.parse().unwrap(), subject.to_owned())
        };
        text.lines().map(line).collect()
    };
    let all = log(&world);
    // What the rules keep, by the calendar: the latest of each of the latest periods, the first, and the latest.
    let mut expected = vec![all[0].clone(), all[all.len() - 1].clone()];
    for (length, shift, number) in [(3600, 0, 3), (86_400, 0, 7), (7 * 86_400, 3 * 86_400, 4)] {
        let mut periods = Vec::new();
        for (time, subject) in &all {
            let period = (time + shift) / length;
            if !periods.contains(&period) && periods.len() < number {
                periods.push(period);
                expected.push((*time, subject.clone()));
            }
        }
    }
    expected.sort();
    expected.dedup();
    expected.reverse();
    world.git(["config", "checkpoint.keepDaily", "7"]).success();
    let rules = ["prune", "--keep-hourly", "3", "--keep-weekly", "4"];
    world.checkpoint(rules.iter().chain(&["--dry-run"])).success();
    assert_eq!(log(&world).len(), all.len());
    world.checkpoint(rules).success();
    assert_eq!(log(&world), expected);
    world.checkpoint(["undo"]).success();
    assert_eq!(log(&world), all);
}

#[test]
fn a_rule_of_zero_is_no_rule() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    for n in 0..5 {
        world.file("f.txt", format!("{n}\n"));
        world.checkpoint(["save", "-m", &n.to_string()]).success();
    }
    let count = || world.git_line(["rev-list", "--count", "--first-parent", "refs/checkpoints/s"]);
    let all = count();
    for rule in [
        "--keep-last",
        "--keep-hourly",
        "--keep-daily",
        "--keep-weekly",
        "--max-sessions",
        "--older-than",
    ] {
        world.checkpoint(["prune", rule, "0"]).success();
        assert_eq!(count(), all, "{rule}");
    }
    // One of the settings is switched off for once.
    world.git(["config", "checkpoint.keepLast", "1"]).success();
    world.checkpoint(["prune", "--keep-last", "0"]).success();
    assert_eq!(count(), all);
    world
        .checkpoint(["list", "--trash", "--advice"])
        .success()
        .stderr_has("The trash is empty");
    world.checkpoint(["prune"]).success();
    assert_ne!(count(), all);
    world
        .checkpoint(["list", "--trash", "--advice"])
        .success()
        .stderr_has("1 older state")
        .stderr_has("git checkpoint undo");
    world.checkpoint(["undo"]).success();
    assert_eq!(count(), all);
}
