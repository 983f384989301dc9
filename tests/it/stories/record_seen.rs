//! What a record holds is seen: in `show`, `status`, `diff`, `log` and by pressing Tab.

use crate::support::World;

fn full() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "-m", "begun"]).success();
    for arguments in [
        &["phase", "2/5", "port"][..],
        &["iteration", "3"],
        &["check", "tests", "fail", "--text", "3 of 214"],
        &[
            "delegation",
            "add",
            "claude",
            "--issue",
            "#12",
            "--tokens",
            "48000",
            "--duration",
            "12m",
            "--status",
            "done",
        ],
        &[
            "delegation",
            "add",
            "reviewer",
            "--panel",
            "--tokens",
            "2000",
            "--estimated",
        ],
        &["partition", "set", "ana", "src", "docs"],
        &["open-file", "src/main.txt:3:1"],
        &["memory", "add", "mem://plan"],
        &["state", "set", r#"{"retries": 4}"#],
    ] {
        world.checkpoint(arguments).success();
    }
    world
}

#[test]
fn status_and_diff_tell_each_kind() {
    let world = full();
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    let told = |changes: &serde_json::Value| {
        let changes = changes.as_array().unwrap().iter();
        changes
            .map(|c| format!("{}: {}", c["item"].as_str().unwrap(), c["text"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    let wanted = [
        "phase: 2 of 5 port",
        "iteration: 3",
        "check: tests: fail",
        "delegation: claude, #12, 48000 tokens, done",
        "delegation: reviewer, 2000 tokens",
        "partition: ana: src docs",
        "memory: mem://plan",
        "open file: src/main.txt:3:1",
        "state: retries: 4",
    ];
    assert_eq!(told(&status["current"]["draft"]), wanted);
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("+ check       tests: fail")
        .stdout_has("+ partition   ana: src docs");
    let diff = world.checkpoint(["diff", "--json"]).success().stdout_json();
    assert_eq!(told(&diff["record"]), wanted);
    world.checkpoint(["save", "-m", "more"]).success();
    world
        .checkpoint(["diff", "s~1", "s"])
        .success()
        .stdout_has("  delegation  + claude, #12, 48000 tokens, done")
        .stdout_has("  phase       + 2 of 5 port");
    world.checkpoint(["phase", "3/5"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("- phase       2 of 5 port")
        .stdout_has("+ phase       3 of 5");
}

#[test]
fn show_has_all_of_it() {
    let world = full();
    world.checkpoint(["save", "-m", "all"]).success();
    let shown = world.checkpoint(["show"]);
    shown.success();
    for text in [
        "Phase: 2 of 5 port",
        "Iteration: 3",
        "Checks (1)\n  tests (fail; 3 of 214)\n",
        "Delegations (2)\n  reviewer (about 2000 tokens; panel)\n  claude (done; issue #12; 48000 tokens; took 12m 0s)\n",
        "Paths of agents (1)\n  ana: src, docs\n",
        "Open files (1)\n  src/main.txt:3:1\n",
        "Memory (1)\n  mem://plan\n",
        "State (1)\n  retries: 4\n",
    ] {
        shown.stdout_has(text);
    }
}

#[test]
fn occasions_are_shown_in_the_log() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    let triggers = [
        "before-delegation",
        "phase-complete",
        "before-risky-work",
        "session-end",
        "interruption",
        "task-complete",
        "agent-spawn",
    ];
    for trigger in triggers {
        world
            .checkpoint(["save", "-m", "now", "-d", trigger, "--trigger", trigger])
            .success();
    }
    let log = world.checkpoint(["log"]);
    log.success();
    let json = world.checkpoint(["log", "--json"]).success().stdout_json();
    for (trigger, row) in triggers.iter().rev().zip(json["checkpoints"].as_array().unwrap()) {
        log.stdout_has(&format!("[{trigger}]"));
        assert_eq!(row["trigger"], *trigger);
        assert!(
            world
                .git(["log", "-7", "--first-parent", "--format=%B", "checkpoints/s"])
                .success()
                .stdout()
                .contains(trigger)
        );
    }
}

#[test]
fn a_prompt_tells_the_steps() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["step", "start", "design"]).success();
    let done = ["step", "done", "design", "--context", "two tables"];
    world.checkpoint(done).success();
    world.checkpoint(["save", "-m", "designed"]).success();
    world.checkpoint(["step", "start", "tests"]).success();
    world
        .checkpoint(["step", "fail", "tests", "--error", "no impl"])
        .success();
    world.checkpoint(["resume", "--format", "prompt"]).success().stdout_has(
        "## Steps, failed and latest first\n- 2 tests (failed; no impl)\n- 1 design (done; context two tables)\n",
    );
}

#[test]
fn keys_of_options_are_completed() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    let add = [
        "fork-point",
        "add",
        "Which?",
        "--option",
        "nom:one",
        "--option",
        "winnow:two",
    ];
    world.checkpoint(add).success();
    let completed = |words: &[&str]| {
        let index = words.len().to_string();
        let question = [&["setup", "--candidates", &index, "--", "git-checkpoint"], words].concat();
        world.checkpoint(question).success().stdout().to_owned()
    };
    assert_eq!(completed(&["fork", "@", "--option", "w"]), "winnow\tWhich?: two\n");
    assert_eq!(
        completed(&["fork-point", "decide", "1", ""]),
        "nom\tWhich?: one\nwinnow\tWhich?: two\n"
    );
}
