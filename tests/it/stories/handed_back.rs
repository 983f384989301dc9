//! A hand-off note that is imported again.

use serde_json::Value;

use crate::support::World;

fn texts(record: &Value, list: &str, member: &str) -> Vec<String> {
    let items = record[list].as_array().map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .map(|item| item[member].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_note_says_in_another_repository_what_it_said_in_the_first_one() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    for args in [
        &["task", "add", "port (the) parser"][..],
        &["task", "done", "1", "--percent", "100"],
        &["task", "add", "write docs", "--agent", "bob", "--issue", "#7"],
        &["task", "start", "2"],
        &["task", "add", "rename it"],
        &["task", "drop", "3"],
        &["todo", "add", "look at (open) files"],
        &["approval", "ask", "deploy?", "--provider", "slack"],
        &["question", "add", "which database?"],
        &["blocker", "add", "no staging access"],
        &[
            "fork-point",
            "add",
            "nom or winnow",
            "--option",
            "nom:use nom",
            "--option",
            "winnow:use winnow",
        ],
        &["instruction", "add", "run the tests first"],
        &["decision", "add", "keep v1", "--reason", "clients use it"],
        &["step", "start", "build"],
        &["step", "done", "build", "--context", "Parser::new takes a &str"],
        &["step", "start", "link"],
        &["step", "fail", "link", "--error", "no ld"],
        &[
            "save",
            "--next",
            "release (open)",
            "-a",
            "read all dates",
            "-m",
            "half way",
        ],
        &["export", "--format", "handoff", "-o", "../HANDOFF.md"],
    ] {
        world.checkpoint(args).success();
    }
    let note = std::fs::read_to_string(world.root().join("HANDOFF.md")).unwrap();
    world.git(["init", "-q", "../second"]).success();
    world.enter("second");
    world.git(["commit", "-q", "--allow-empty", "-m", "one"]).success();
    world.checkpoint(["import", "../HANDOFF.md"]).success();
    let tree = world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints"]);
    let document = world
        .git(["show", &format!("{tree}:checkpoint.json")])
        .success()
        .stdout_json();
    let record = &document["record"];
    assert_eq!(texts(record, "todos", "text"), ["look at (open) files"], "{note}");
    assert_eq!(texts(record, "approvals", "question"), ["deploy?"]);
    assert!(record["approvals"][0]["asked_at"].is_string(), "{record}");
    assert_eq!(texts(record, "blockers", "text"), ["no staging access"]);
    assert_eq!(texts(record, "questions", "text"), ["which database?"]);
    assert_eq!(texts(record, "fork_points", "title"), ["nom or winnow"]);
    assert_eq!(record["fork_points"][0]["options"][1]["title"], "use winnow");
    assert_eq!(texts(record, "accomplishments", "text"), ["read all dates"]);
    // An instruction is numbered among the next steps; what a step gave is none.
    assert_eq!(
        texts(record, "next_steps", "text"),
        ["release (open)", "run the tests first"]
    );
    assert!(record.get("resume_instructions").is_none(), "{record}");
    let mut tasks: Vec<_> = record["tasks"].as_array().unwrap().iter().collect();
    tasks.sort_by_key(|task| task["title"].as_str().unwrap());
    let shown: Vec<_> = tasks
        .iter()
        .map(|task| (task["title"].as_str(), task["status"].as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            (Some("port (the) parser"), Some("done")),
            (Some("rename it"), Some("dropped")),
            (Some("write docs"), Some("in_progress")),
        ]
    );
    assert_eq!(
        (&tasks[0]["progress"], &tasks[2]["agent"], &tasks[2]["issue"]),
        (&100.into(), &"bob".into(), &"#7".into())
    );
    let sections = record["extra"].to_string();
    for text in ["Parser::new takes a &str", "no ld"] {
        assert!(sections.contains(text), "{sections}");
    }
    // The note of the copy says the same.
    world
        .checkpoint(["export", "--format", "handoff", "-o", "../AGAIN.md", "s"])
        .success();
    let again = std::fs::read_to_string(world.root().join("AGAIN.md")).unwrap();
    let part = |note: &str, title: &str| {
        let rest = note.split(&format!("## {title}\n")).nth(1).unwrap_or_default();
        rest.split("\n## ").next().unwrap_or_default().trim().to_owned()
    };
    for title in ["Next steps", "Decisions made", "Open questions", "Remaining", "Dropped"] {
        assert_eq!(part(&again, title), part(&note, title), "{again}");
    }
}

/// What a format has no place for is named in words of people, and together.
#[test]
fn members_that_a_format_leaves_out_are_named_in_plain_words() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    for title in ["build", "link"] {
        world
            .checkpoint(["step", "run", "--title", title, "--", "true"])
            .success();
    }
    world.checkpoint(["save", "-m", "one"]).success();
    let exported = world.checkpoint(["export", "--format", "opencastle", "-o", "../castle"]);
    exported.success();
    let of_steps: Vec<&str> = exported
        .stderr()
        .lines()
        .filter(|line| line.contains(" of 2 steps"))
        .collect();
    let named = of_steps.join("\n");
    for words in ["files at the start", "files at the end", "command"] {
        assert!(named.contains(words), "{words}: {}", exported.stderr());
    }
    for member in ["duration ms", "ended at", "started at", "before of", "after of"] {
        assert!(!exported.stderr().contains(member), "{member}: {}", exported.stderr());
    }
    // Members of as many steps are in one line; the line about ids is another one.
    assert!(of_steps.len() <= 2, "{named}");
}
