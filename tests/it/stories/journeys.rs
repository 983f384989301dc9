//! Journeys of five kinds of users from the first command to the last, with the number of commands that each takes: an
//! orchestrator of agents, a team lead, a person who is interrupted, a program with long operations, and a program with a
//! chat.

use std::cell::Cell;

use serde_json::{Value, json};

use crate::support::{Output, PROGRAM, World};

/// Counts the commands of a journey.
struct Journey<'a> {
    world: &'a World,
    commands: Cell<usize>,
}

impl<'a> Journey<'a> {
    fn new(world: &'a World) -> Self {
        let commands = Cell::new(0);
        Self { world, commands }
    }

    fn run<const N: usize>(&self, args: [&str; N]) -> Output {
        self.commands.set(self.commands.get() + 1);
        self.world.checkpoint(args)
    }

    fn input(&self, args: &[&str], input: &str) -> Output {
        self.commands.set(self.commands.get() + 1);
        self.world.command(PROGRAM, args).input(input).run()
    }

    /// The number of commands since the last call.
    fn count(&self) -> usize {
        self.commands.replace(0)
    }
}

#[test]
fn an_orchestrator_loses_nothing_to_a_crash() {
    let world = World::with_commit();
    let journey = Journey::new(&world);
    world.git(["config", "checkpoint.saveOn", "task-complete"]).success();
    world
        .git(["config", "checkpoint.exportTo", "handoff:HANDOFF.md"])
        .success();
    journey
        .run(["start", "orch", "--agent", "lead", "--task", "rate limiter"])
        .success();
    journey.run(["hooks", "install"]).success();
    assert_eq!(journey.count(), 2, "and none in between");
    // Work: a task that ends saves, a commit saves, and the file for readers follows.
    world.checkpoint(["task", "add", "limit by key"]).success();
    world.checkpoint(["task", "done", "1"]).success();
    world.file("limiter.rs", "fn limit() {}\n");
    world.git(["add", "limiter.rs"]).success();
    world.git(["commit", "-qm", "limiter"]).success();
    let handoff = String::from_utf8(world.read("HANDOFF.md")).unwrap();
    assert!(handoff.contains("limit by key"), "{handoff}");
    world.file("limiter.rs", "fn limit() { count() }\n");
    world.checkpoint(["watch", "--once"]).success();
    world.file("limiter.rs", "lost in a crash\n");
    journey
        .run(["resume"])
        .success()
        .stdout_has("rate limiter")
        .stdout_has("limit by key");
    journey.run(["restore", "@"]).success();
    assert_eq!(world.read("limiter.rs"), b"fn limit() { count() }\n");
    assert_eq!(journey.count(), 2);
}

#[test]
fn a_team_lead_hands_a_whole_plan_over() {
    let world = World::with_commit();
    let journey = Journey::new(&world);
    let plan = json!({
        "summary": "search is half ported",
        "phase": {"n": 2, "of": 3, "title": "port the interface"},
        "next_steps": ["finish the form"],
        "tasks": [
            {"id": "TAS-1", "title": "schema", "status": "done", "agent": "db-dev", "issue": "#11"},
            {"id": "TAS-2", "title": "form", "status": "in_progress", "agent": "ui-dev", "issue": "#12",
             "files": ["src/form.rs"], "depends_on": ["TAS-1"], "notes": "keep the old ids"},
            {"id": "TAS-3", "title": "routes", "agent": "api-dev", "issue": "#13", "depends_on": ["TAS-2"]},
        ],
        "decisions": [{"text": "render on the server", "reason": "found by search engines"}],
        "blockers": [{"text": "no access to staging", "needs": "a token", "ref": "OPS-7"}],
        "approvals": [{"provider": "slack", "channel": "dev", "thread": "T-99", "question": "drop v1?"}],
        "fork_points": [{"id": "F-1", "title": "which side", "decider": "architect", "options": [
            {"key": "a", "title": "server", "pros": ["indexed"], "cons": ["load"], "files": ["api/route.rs"]},
            {"key": "b", "title": "client", "pros": ["fast"], "cons": ["empty page"]},
        ]}],
        "delegations": [{"agent": "db-dev", "issue": "#11", "model_tier": "mid", "tokens": 12_000, "status": "done"}],
        "partitions": {"ui-dev": ["src/ui"], "api-dev": ["api"]},
        "resume_instructions": ["read the thread first"],
    });
    journey
        .input(&["save", "--session", "search", "--record", "-"], &plan.to_string())
        .success();
    for (title, agent) in [("create the schema", "db-dev"), ("seed it", "db-dev")] {
        journey.run(["step", "start", title, "--agent", agent]).success();
        journey
            .run(["step", "done", title, "--context", "table entries exists"])
            .success();
    }
    journey
        .run(["step", "start", "build the form", "--agent", "ui-dev", "--issue", "#12"])
        .success();
    journey
        .run(["step", "fail", "build the form", "--error", "TypeError in render"])
        .success();
    assert!(journey.count() <= 8);
    world.checkpoint(["pause"]).success();

    let prompt = journey.run(["resume", "--format", "prompt"]);
    for told in [
        "search is half ported",
        "port the interface",
        "finish the form",
        "form",
        "ui-dev",
        "#12",
        "src/form.rs",
        "keep the old ids",
        "routes",
        "render on the server",
        "found by search engines",
        "no access to staging",
        "a token",
        "OPS-7",
        "T-99",
        "which side",
        "architect",
        "indexed",
        "empty page",
        "api/route.rs",
        "src/ui",
        "read the thread first",
        "build the form",
        "TypeError in render",
    ] {
        prompt.success().stdout_has(told);
    }
    assert_eq!(journey.count(), 1, "taking the work up");
}

#[test]
fn a_person_pauses_and_comes_back() {
    let world = World::with_commit();
    let journey = Journey::new(&world);
    world.git(["switch", "-qc", "feature"]).success();
    world.file("src/main.txt", "half of it\n");
    journey
        .run(["pause", "--clean", "-m", "half of it", "--next", "the other half"])
        .success();
    world.git(["switch", "-q", "main"]).success();
    world.file("hotfix", "x\n");
    world.git(["add", "hotfix"]).success();
    world.git(["commit", "-qm", "hotfix"]).success();
    world.git(["switch", "-q", "feature"]).success();
    journey
        .run(["resume", "--apply"])
        .success()
        .stdout_has("the other half")
        .stdout_has("src/main.txt");
    assert_eq!(journey.count(), 2);
    assert_eq!(world.read("src/main.txt"), b"half of it\n");
}

#[test]
fn a_program_with_long_operations_saves_its_state() {
    let world = World::with_commit();
    let journey = Journey::new(&world);
    // One call for each of: create, save, load, list, update, fail or complete, verify, prune.
    journey.run(["start", "import", "--json"]).success();
    journey
        .input(
            &["save", "--state", "-", "--step", "1/3", "-m", "batch 1", "--json"],
            r#"{"cursor": 100}"#,
        )
        .success();
    journey.run(["state", "patch", r#"{"cursor": 200}"#]).success();
    let state = journey.run(["state", "get"]).success().stdout_json();
    assert_eq!(state, json!({"cursor": 200}));
    journey.run(["save", "--step", "2/3", "-m", "batch 2"]).success();
    let list = journey.run(["log", "--json"]).success().stdout_json();
    assert_eq!(list["checkpoints"].as_array().unwrap().len(), 3);
    journey
        .run(["finish", "--status", "failed", "-m", "the disk is full"])
        .success();
    journey.run(["verify", "--json"]).success();
    journey.run(["prune", "--keep-last", "1"]).success();
    assert_eq!(journey.count(), 9);
}

#[test]
fn a_program_with_a_chat_builds_requests_from_it() {
    let world = World::with_commit();
    let journey = Journey::new(&world);
    let lines: Vec<String> = (0..300)
        .map(|n| json!({"role": "user", "content": format!("Done: part {n} {}", "word ".repeat(60))}).to_string())
        .collect();
    journey
        .input(&["message", "import", "-", "--session", "chat"], &lines.join("\n"))
        .success();
    journey.run(["save", "-m", "imported", "--session", "chat"]).success();
    journey.run(["compact", "--force", "--session", "chat"]).success();
    let request = journey
        .run(["request", "what is next?", "--json", "--session", "chat"])
        .success()
        .stdout_json();
    assert!(request["messages"]["summarised"].as_u64().unwrap() > 0, "{request}");
    assert_eq!(request["messages"]["left_out"], 0);
    assert_eq!(journey.count(), 4);
    // The summary and what became of the chat reach whoever shows the session or resumes it.
    let shown = world.checkpoint(["show", "chat"]);
    shown
        .success()
        .stdout_has("compaction 1 of 1")
        .stdout_has("tokens before");
    let prompt = world.checkpoint(["resume", "chat", "--format", "prompt", "--max-chars", "40000"]);
    prompt.success().stdout_has("part 299");
    let document: Value = world.checkpoint(["show", "chat", "--json"]).success().stdout_json();
    assert_eq!(document["document"]["compaction"]["count"], 1);
}
