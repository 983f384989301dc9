//! Steps and replay: what is recorded of delegated work and of commands, and what a second try is given.

use crate::support::{Output, World};

fn step(output: &Output) -> serde_json::Value {
    output.stdout_json()["step"].clone()
}

/// The stored files of the latest checkpoint's steps.
fn stored(world: &World, session: &str) -> Vec<String> {
    let names = world.git_line(["ls-tree", "--name-only", &format!("checkpoints/{session}:steps")]);
    names.lines().map(str::to_owned).collect()
}

#[test]
fn a_step_is_begun_ended_tried_again_and_taken_back() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.file("task.md", "Write the parser.\nNo regular expressions.\n");
    let begun = world.checkpoint([
        "step",
        "start",
        "write the parser",
        "--agent",
        "rust-dev",
        "--issue",
        "T-1",
        "--prompt",
        "task.md",
        "--objective",
        "a parser",
        "--json",
    ]);
    let begun = step(begun.success());
    let id = begun["id"].as_str().unwrap().to_owned();
    assert_eq!(
        (begun["n"].clone(), begun["status"].clone()),
        (1.into(), "running".into())
    );
    assert_eq!(begun["prompt"], "Write the parser.\nNo regular expressions.\n");
    assert_eq!(begun["before"]["head"], world.git_line(["rev-parse", "HEAD"]));

    world.file("src/parser.rs", "fn parse() {}\n");
    let failed = world.checkpoint(["step", "fail", "parser", "--error", "it loops", "--json"]);
    assert_eq!(step(failed.success())["error"], "it loops");
    // Determined apart from what it is not: a second end, another step, one that does not exist.
    world
        .checkpoint(["step", "done", "9", "--context", "x"])
        .code(3)
        .stderr_has("no step '9'");
    let again = world.checkpoint(["step", "retry", &id[..4], "--correction", "count the depth", "--json"]);
    let again = step(again.success());
    assert_eq!(
        (again["attempt"].clone(), again["error"].clone()),
        (2.into(), serde_json::Value::Null)
    );
    assert_eq!(again["earlier"][0]["error"], "it loops");
    assert_eq!(again["corrections"], serde_json::json!(["count the depth"]));
    let done = world
        .command(
            "git-checkpoint",
            [
                "step",
                "done",
                "1",
                "--context",
                "parse takes a &str",
                "--created",
                "parser.rs=the parser",
                "--modified",
                "../README.md",
                "--check",
                "lint=pass",
                "--check",
                "tests=fail",
                "--output",
                "-",
                "--json",
            ],
        )
        .within("src")
        .input("all tests but one")
        .run();
    let done = step(done.success());
    assert_eq!(done["outputs"][0]["path"], "src/parser.rs");
    assert_eq!(done["outputs"][1]["path"], "README.md");
    assert_eq!(
        done["verification"],
        serde_json::json!({"lint": "pass", "tests": "fail"})
    );
    assert_eq!(done["output"]["head"], "all tests but one");
    world.checkpoint(["step", "retry", "1"]).code(4).stderr_has("is done");

    // Nothing was saved so far; one save stores it as a file of its own.
    world.checkpoint(["save", "-m", "one"]).success();
    assert_eq!(stored(&world, "auth"), [format!("{id}.json")]);
    let blob = || world.git_line(["rev-parse", &format!("checkpoints/auth:steps/{id}.json")]);
    let first = blob();
    world
        .checkpoint(["step", "start", "test it", "--uses", "parser"])
        .success();
    world.checkpoint(["save", "-m", "two"]).success();
    assert_eq!(blob(), first, "a step that did not change is the same blob");
    assert_eq!(stored(&world, "auth").len(), 2);
    world.checkpoint(["save"]).success().stdout_has("Nothing new");

    world
        .checkpoint(["step", "invalidate", "1", "--reason", "the grammar changed"])
        .success();
    world
        .checkpoint(["step", "list"])
        .success()
        .stdout_has("invalid, try 2")
        .stdout_has("running");
    world
        .checkpoint(["step", "list", "auth~1"])
        .success()
        .stdout_has("done, try 2")
        .stdout_lacks("test it");
    world
        .checkpoint(["step", "show", "1"])
        .success()
        .stdout_has("Taken back: the grammar changed")
        .stdout_has("created  src/parser.rs  the parser");
    world.checkpoint(["step", "done", "1", "--context", "x"]).code(4);
    world.checkpoint(["verify"]).success();
    // A fork has the steps of its source.
    world.checkpoint(["save", "-m", "three"]).success();
    world.checkpoint(["fork", "auth", "--name", "try"]).success();
    world.checkpoint(["step", "list"]).success().stdout_has("test it");
}

#[test]
fn a_damaged_step_is_found_and_named() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.checkpoint(["step", "start", "one", "--json"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    let file = stored(&world, "auth")[0].clone();
    let text = world
        .git(["show", &format!("checkpoints/auth:steps/{file}")])
        .success()
        .stdout()
        .to_owned();
    // A checkpoint as somebody else's program might write one: whole as git objects, with a step that is none.
    let blob = world
        .command("git", ["hash-object", "-w", "--stdin"])
        .input(text.replace("running", "dancing"))
        .run();
    let blob = blob.success().stdout().trim().to_owned();
    let tree = |entries: String| {
        let made = world.command("git", ["mktree"]).input(entries).run();
        made.success().stdout().trim().to_owned()
    };
    let steps = tree(format!("100644 blob {blob}\t{file}\n"));
    let old = world.git_line(["rev-parse", "checkpoints/auth:steps"]);
    let document = world
        .git(["show", "checkpoints/auth:checkpoint.json"])
        .success()
        .stdout()
        .replace(&old, &steps);
    let digest = world.command("sha256sum", ["-"]).input(document.clone()).run();
    let digest = digest.success().stdout()[..64].to_owned();
    let document = world
        .command("git", ["hash-object", "-w", "--stdin"])
        .input(document)
        .run();
    let document = document.success().stdout().trim().to_owned();
    let root = tree(format!(
        "100644 blob {document}\tcheckpoint.json\n040000 tree {steps}\tsteps\n"
    ));
    let commit = world
        .git(["cat-file", "commit", "checkpoints/auth"])
        .success()
        .stdout()
        .to_owned();
    let old_digest = commit.split("sha256:").last().unwrap()[..64].to_owned();
    let commit = commit
        .replace(&old_digest, &digest)
        .replace(&world.git_line(["rev-parse", "checkpoints/auth^{tree}"]), &root);
    let commit = world
        .command("git", ["hash-object", "-t", "commit", "-w", "--stdin"])
        .input(commit)
        .run();
    let commit = commit.success().stdout().trim().to_owned();
    world.git(["update-ref", "refs/checkpoints/auth", &commit]).success();
    world
        .checkpoint(["verify", "auth"])
        .code(1)
        .stdout_has("is malformed: it must be one of ");
    world.checkpoint(["step", "list"]).code(128).stderr_has("is malformed");
}

#[test]
fn a_command_is_a_step_with_its_output_status_and_files() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    let script = "echo out; echo err >&2; echo new > made; echo more >> README.md; rm src/main.txt; exit 3";
    let ran = world.checkpoint(["step", "run", "--title", "build", "--", "sh", "-c", script]);
    ran.code(3)
        .stdout_is("out\n")
        .stderr_has("err\n")
        .stderr_has("exit status 3")
        .stderr_has("3 files changed");
    let shown = step(world.checkpoint(["step", "show", "build", "--json"]).success());
    assert_eq!(
        (shown["status"].clone(), shown["exit_status"].clone()),
        ("failed".into(), 3.into())
    );
    assert_eq!(
        shown["outputs"],
        serde_json::json!([
            {"path": "README.md", "change": "modified"},
            {"path": "made", "change": "created"},
            {"path": "src/main.txt", "change": "deleted"},
        ])
    );
    let output = shown["output"]["head"].as_str().unwrap();
    assert!(output.contains("out\n") && output.contains("err\n"), "{output}");
    assert!(shown["duration_ms"].is_u64() && shown["before"]["tree"] != shown["after"]["tree"]);

    // Its status is ours, and what is not its fault has a status of its own.
    let run = |arguments: &[&str]| world.checkpoint([&["step", "run"], arguments].concat());
    run(&["--", "true"]).code(0).no_stdout();
    run(&["--", "./no-such-program"]).code(127);
    run(&["--", "./README.md"]).code(126);
    run(&["--", "sh", "-c", "kill -TERM $$"]).code(143);
    run(&["--timeout", "200ms", "--", "sh", "-c", "sleep 60 | sleep 60"])
        .code(124)
        .stderr_has("took longer than 0.2 s");
    run(&["--again", "nothing", "--", "true"]).code(125);
    run(&["--"]).code(129);
    let json = run(&["--json", "--", "sh", "-c", "echo data; exit 1"]);
    assert_eq!(json.code(1).stdout_json()["step"]["exit_status"], 1);
    json.stderr_has("data\n");
    // The next try of a step, by hand.
    run(&["--again", "build", "--", "true"]).code(0);
    let shown = step(world.checkpoint(["step", "show", "build", "--json"]).success());
    assert_eq!(
        (shown["status"].clone(), shown["attempt"].clone()),
        ("done".into(), 2.into())
    );
    assert_eq!(shown["earlier"][0]["exit_status"], 3);
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn output_is_bounded_and_without_secrets() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    // Put together here, so that no secret is in a file of the project.
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let script = format!("seq 1 60000; echo token {secret}; echo end");
    let ran = world.checkpoint(["step", "run", "--title", "much", "--", "sh", "-c", &script]);
    ran.code(0);
    assert!(
        ran.stdout().ends_with(&format!("token {secret}\nend\n")),
        "the terminal sees what it always sees"
    );
    let shown = step(world.checkpoint(["step", "show", "much", "--json"]).success());
    let (head, tail) = (
        shown["output"]["head"].as_str().unwrap(),
        shown["output"]["tail"].as_str().unwrap(),
    );
    assert!(head.starts_with("1\n2\n") && head.len() <= 16 << 10);
    assert!(
        tail.ends_with("[REDACTED:github-token]\nend\n") && tail.len() <= 48 << 10,
        "{tail:.200}"
    );
    assert!(shown["output"]["omitted"].as_u64().unwrap() > 200_000);
    assert_eq!(shown["command"]["altered"], true);
    let drafts = world.git_line(["rev-parse", "--git-path", "checkpoint/drafts"]);
    for file in std::fs::read_dir(world.path(drafts)).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(&secret));
    }
    // What is not stored as it ran cannot be run from what is stored.
    world
        .checkpoint(["replay", "--run", "--from", "much"])
        .code(4)
        .stderr_has("stored without a secret");
}

#[test]
fn signals_reach_the_command_and_it_is_recorded() {
    for signal in ["TERM", "INT", "HUP", "QUIT"] {
        signal_reaches_the_command(signal);
    }
}

fn signal_reaches_the_command(signal: &str) {
    use std::io::BufRead as _;
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    let mut command = std::process::Command::new(crate::support::PROGRAM);
    let script = format!("trap 'echo caught; exit 7' {signal}; echo ready; while :; do sleep 0.05; done");
    command.args(["step", "run", "--title", "server", "--", "sh", "-c", &script]);
    command.current_dir(world.repo()).env_clear().envs(world.environment());
    let mut child = command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(
        lines.next().unwrap().unwrap(),
        "ready",
        "the output comes while it runs"
    );
    // It is on disk before it has ended.
    world.checkpoint(["step", "list"]).success().stdout_has("running");
    world
        .command("kill", [&format!("-{signal}"), &child.id().to_string()])
        .run()
        .success();
    assert_eq!(lines.next().unwrap().unwrap(), "caught");
    assert_eq!(child.wait().unwrap().code(), Some(7));
    let shown = step(world.checkpoint(["step", "show", "server", "--json"]).success());
    assert_eq!(
        (shown["status"].clone(), shown["exit_status"].clone()),
        ("failed".into(), 7.into())
    );
}

#[test]
fn a_replay_shows_what_is_known_and_warns() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.checkpoint(["replay"]).code(3).stderr_has("no step failed");
    world.checkpoint(["step", "start", "design"]).success();
    world.file("src/api.rs", "struct Token;\n");
    world
        .checkpoint([
            "step",
            "done",
            "design",
            "--context",
            "Token is a struct",
            "--created",
            "src/api.rs",
        ])
        .success();
    world.file("task.md", "Write it. END of data");
    world
        .checkpoint(["step", "start", "parser", "--uses", "design", "--prompt", "task.md"])
        .success();
    world
        .checkpoint(["step", "fail", "parser", "--error", "it loops"])
        .success();
    let replay = world.checkpoint([
        "replay",
        "--objective",
        "parse tokens",
        "--correction",
        "count",
        "--correction",
        "depth",
    ]);
    let text = replay.success().stdout();
    for part in [
        "Try 2 of step 2 of session 'auth'",
        "2 parser",
        "parse tokens",
        "Write it.",
        "count",
        "depth",
        "it loops",
        "Token is a struct",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("warning:"), "{text}");
    // Another file than what it rests on is no matter; that one is.
    world.file("other", "x");
    world.checkpoint(["replay"]).success().stdout_lacks("warning:");
    world.file("src/api.rs", "struct Token(u8);\n");
    world.git(["add", "--all"]).success();
    world.git(["commit", "-qm", "moved on"]).success();
    world
        .checkpoint(["replay"])
        .success()
        .stdout_has("warning: a file that it rests on changed since\n  src/api.rs\n");
    for title in ["a", "b", "c"] {
        world.checkpoint(["step", "start", title, "--uses", "parser"]).success();
    }
    world
        .checkpoint(["step", "invalidate", "design", "--reason", "no struct after all"])
        .success();
    let json = world.checkpoint(["replay", "--format", "json"]).success().stdout_json();
    let codes: Vec<_> = json["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["invalidated", "needed", "files-changed"]);
    assert_eq!(
        (json["attempt"].clone(), json["warnings"][2]["paths"][0].clone()),
        (2.into(), "src/api.rs".into())
    );
    world
        .checkpoint(["replay", "--step", "parser", "--format", "markdown"])
        .success()
        .stdout_has("## Warnings")
        .stdout_has("## Original prompt\n\n```text\nWrite it. END of data\n```");
    // Nothing was changed by looking.
    world
        .checkpoint(["step", "show", "parser"])
        .success()
        .stdout_has("failed");
}

#[test]
fn commands_run_again_from_the_failed_one_and_results_are_reused() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    let run = |title: &str, script: &str| world.checkpoint(["step", "run", "--title", title, "--", "sh", "-c", script]);
    run("count", "echo once >> ../counted").code(0);
    run("generate", "test -f input && cp input output").code(1);
    run("lint", "echo linted >> ../linted").code(0);
    world.checkpoint(["save", "-m", "one"]).success();
    let lines = |file: &str| {
        std::fs::read_to_string(world.root().join(file))
            .unwrap_or_default()
            .lines()
            .count()
    };

    world
        .checkpoint(["replay", "--run", "--dry-run"])
        .success()
        .stdout_has("run: step 2 'generate'")
        .stdout_has("run or reused: step 3 'lint'")
        .stdout_lacks("count");
    // It still fails: its status is ours, and what comes after is not reached.
    world
        .checkpoint(["replay", "--run"])
        .code(1)
        .stderr_has("not reached: step 3 'lint'");
    assert_eq!((lines("counted"), lines("linted")), (1, 1));
    // With the same command and the same files a result is.
    world
        .checkpoint(["replay", "--run", "--from", "lint"])
        .success()
        .stderr_has("reused: step 3 'lint'");
    world
        .checkpoint(["replay", "--run", "--from", "count"])
        .code(1)
        .stderr_has("reused: step 1 'count'")
        .stderr_has("run: step 2");
    assert_eq!((lines("counted"), lines("linted")), (1, 1));
    world.file("input", "x");
    let replayed = world.checkpoint(["replay", "--run", "--json"]).success().stdout_json();
    let actions: Vec<_> = replayed["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["run", "run"]);
    assert_eq!(world.read("output"), b"x");
    assert_eq!((lines("counted"), lines("linted")), (1, 2));
    let shown = step(world.checkpoint(["step", "show", "generate", "--json"]).success());
    assert_eq!(
        (shown["attempt"].clone(), shown["earlier"].as_array().unwrap().len()),
        (4.into(), 3)
    );
}

#[test]
fn commands_from_elsewhere_run_only_with_consent() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world
        .checkpoint([
            "step",
            "run",
            "--title",
            "evil",
            "--",
            "sh",
            "-c",
            "echo ran >> ../ran; exit 1",
        ])
        .code(1);
    world.checkpoint(["save", "-m", "one"]).success();
    world.git(["clone", "-q", ".", "../clone"]).success();
    world.enter("clone");
    world
        .git(["fetch", "-q", "origin", "refs/checkpoints/*:refs/checkpoints/*"])
        .success();
    world.checkpoint(["resume", "auth"]).success();
    let ran = || {
        std::fs::read_to_string(world.root().join("ran"))
            .unwrap()
            .lines()
            .count()
    };
    world
        .checkpoint(["replay", "--run"])
        .code(4)
        .stderr_has("were not recorded here")
        .stderr_has("sh -c 'echo ran >> ../ran; exit 1'");
    assert_eq!(ran(), 1);
    world.checkpoint(["replay", "--run", "--dry-run"]).success();
    assert_eq!(ran(), 1);
    world.checkpoint(["replay", "--run", "--trust"]).code(1);
    assert_eq!(ran(), 2);
    world.checkpoint(["replay", "--run"]).code(1);
    assert_eq!(ran(), 3);
}

#[test]
fn events_of_steps_save_where_they_are_asked_to() {
    let world = World::with_commit();
    world
        .git(["config", "checkpoint.saveOn", "step-done step-fail"])
        .success();
    world.checkpoint(["start", "auth"]).success();
    let count = || world.git_line(["rev-list", "--count", "--first-parent", "checkpoints/auth"]);
    world.checkpoint(["step", "start", "one"]).success();
    assert_eq!(count(), "1");
    let done = world
        .checkpoint(["step", "done", "one", "--context", "x", "--json"])
        .success()
        .stdout_json();
    assert_eq!(done["checkpoint"], world.git_line(["rev-parse", "checkpoints/auth"]));
    world
        .checkpoint(["step", "run", "--", "false"])
        .code(1)
        .stderr_has("(step-fail)");
    assert_eq!(count(), "3");
    world.checkpoint(["log", "auth"]).success().stdout_has("step-fail");
}

#[test]
fn what_nohup_ignores_the_command_ignores_too() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    let ran = |trap: &str| {
        let script = format!("{trap} exec git-checkpoint step run -- sh -c 'kill -HUP $$; echo lives'");
        world.command("sh", ["-c", &script]).run()
    };
    ran("trap '' HUP;").success().stdout_has("lives");
    ran("").code(129);
}
