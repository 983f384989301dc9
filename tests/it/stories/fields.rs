//! Everything that can be recorded reaches every output: it is shown there, or the output names it as left out.
//!
//! `cargo test --test it stories::fields -- --nocapture` prints the table, a row for each field and a column for each
//! output.

use std::path::Path;

use serde_json::json;

use crate::support::{PROGRAM, World};

/// A field, the word that it has here in one of its forms, and the words with which an output names it as left out.
const FIELDS: [(&str, &str, &str); 47] = [
    ("summary", "zq-summary", "summary"),
    ("next step", "zq-next", "next step"),
    ("accomplishment", "zq-accomplishment", "accomplishment"),
    ("to-do", "zq-todo", "todo"),
    ("decision", "zq-decision", "decision"),
    ("its reason", "zq-reason", "reason of"),
    ("blocker", "zq-blocker", "blocker"),
    ("its need", "zq-needs", "blocker"),
    ("its reference", "zq-reference", "blocker"),
    ("task", "zq-task", "1 task"),
    ("its agent", "zq-tagent", "agent of 1 task"),
    ("its issue", "zq-tissue", "issue of 1 task"),
    ("its files", "zq-tfile", "files of 1 task"),
    ("its notes", "zq-tnotes", "notes of 1 task"),
    (
        "its progress",
        "37%|\"progress\": 37|\"progress\":37",
        "progress of 1 task",
    ),
    ("question", "zq-question", "question"),
    ("instruction", "zq-instruction", "resume instruction"),
    ("approval", "zq-approval", "approval"),
    ("its channel", "zq-channel", "approval"),
    ("its thread", "zq-thread", "approval"),
    ("phase", "zq-phase", "the phase"),
    ("delegation", "zq-delegation", "delegation"),
    ("partition", "zq-partition", "the partitions"),
    ("fork point", "zq-fork", "fork point"),
    ("its options", "zq-option", "fork point"),
    ("their pros", "zq-pro", "fork point"),
    ("their cons", "zq-con", "fork point"),
    ("their files", "zq-ofile", "fork point"),
    ("its decider", "zq-decider", "fork point"),
    ("failed step", "zq-step", "1 step"),
    ("its error", "zq-error", "1 step"),
    ("its agent", "zq-pagent", "1 step"),
    ("its issue", "zq-pissue", "1 step"),
    ("its objective", "zq-objective", "1 step"),
    ("agent note", "zq-agentnote", "the agents' history"),
    ("memory reference", "zq-memory", "memory ref"),
    ("open file", "zq-open", "open file"),
    ("state", "zq-state", "the state"),
    ("check", "zq-check", "1 check"),
    ("last message", "zq-message", "message"),
    ("context", "zq-context", "context of the project"),
    ("agent description", "zq-description", "description of the agent"),
    ("session log", "zq-log", "log line"),
    ("uncommitted file", "zq-uncommitted", "snapshot of the files"),
    ("issue of the session", "zq-sissue", "issues"),
    ("feature", "zq-feature", "feature"),
    ("attachment", "zq-attachment", "attachment"),
];

fn full() -> World {
    let world = World::with_commit();
    let record = json!({
        "summary": "zq-summary",
        "next_steps": ["zq-next"],
        "accomplishments": ["zq-accomplishment"],
        "todos": ["zq-todo"],
        "decisions": [{"text": "zq-decision", "reason": "zq-reason"}],
        "blockers": [{"text": "zq-blocker", "needs": "zq-needs", "ref": "zq-reference"}],
        "tasks": [{"title": "zq-task", "agent": "zq-tagent", "issue": "zq-tissue", "files": ["zq-tfile"],
                   "notes": "zq-tnotes", "progress": 37, "status": "in_progress"}],
        "questions": ["zq-question"],
        "resume_instructions": ["zq-instruction"],
        "approvals": [{"provider": "slack", "channel": "zq-channel", "thread": "zq-thread", "question": "zq-approval"}],
        "phase": {"n": 2, "of": 3, "title": "zq-phase"},
        "delegations": [{"agent": "zq-delegation", "tokens": 5}],
        "partitions": {"someone": ["zq-partition"]},
        "fork_points": [{"title": "zq-fork", "decider": "zq-decider", "options": [
            {"key": "a", "title": "zq-option", "pros": ["zq-pro"], "cons": ["zq-con"], "files": ["zq-ofile"]},
            {"key": "b", "title": "other"},
        ]}],
        "memory_refs": ["zq-memory"],
        "open_files": [{"path": "zq-open", "line": 61, "column": 8}],
        "state": {"key": "zq-state"},
        "checks": [{"name": "zq-check", "status": "fail"}],
    });
    let input = |line: &[&str], text: &str| {
        world.command(PROGRAM, line).input(text).run().success();
    };
    for line in [
        &["start", "s", "--feature", "zq-feature", "--issue", "zq-sissue"][..],
        &["agent", "note", "zq-agentnote"],
        &["note", "zq-log"],
        &[
            "step",
            "start",
            "zq-step",
            "--agent",
            "zq-pagent",
            "--issue",
            "zq-pissue",
            "--objective",
            "zq-objective",
        ],
        &["step", "fail", "zq-step", "--error", "zq-error"],
        &["message", "add", "--role", "user", "zq-message"],
    ] {
        world.checkpoint(line).success();
    }
    input(&["context", "set", "-"], "zq-context\n");
    input(&["agent", "describe", "-"], "zq-description\n");
    world.file("zq-uncommitted", "x\n");
    std::fs::write(world.root().join("zq-attachment"), "a\n").unwrap();
    input(
        &["save", "--record", "-", "--attach", "../zq-attachment"],
        &record.to_string(),
    );
    world
}

/// What an output shows, and what it says on standard error.
fn output(world: &World, line: &[&str]) -> (String, String) {
    let output = world.checkpoint(line);
    let mut text = output.success().stdout().to_owned();
    if let Some(at) = line.iter().position(|word| *word == "-o") {
        files(&world.path(line[at + 1]), &mut text);
    }
    // Markup characters are escaped in Markdown.
    (text.replace('\\', ""), output.stderr().to_owned())
}

fn files(path: &Path, text: &mut String) {
    if path.is_file() {
        text.push_str(&path.display().to_string());
        text.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap()));
        return;
    }
    for entry in std::fs::read_dir(path).unwrap() {
        files(&entry.unwrap().path(), text);
    }
}

/// Whether a note names this: `files of 1 task` also in `agent, files and notes of 1 task`.
fn is_named_in(note: &str, noun: &str) -> bool {
    let parts = noun.split_once(" of 1 ");
    let is_among = parts.is_some_and(|(member, items)| {
        let rest = note.strip_suffix(&format!(" of 1 {items}"));
        rest.is_some_and(|rest| rest.split([' ', ',']).any(|word| word == member))
    });
    note.contains(noun) || is_among
}

#[test]
fn every_field_is_shown_or_named_by_every_output() {
    let world = full();
    let outputs: [(&str, &[&str]); 13] = [
        ("resume", &["resume"]),
        ("markdown", &["resume", "--format", "markdown"]),
        ("prompt", &["resume", "--format", "prompt"]),
        ("show", &["show"]),
        ("request", &["request", "hi"]),
        ("handoff", &["export", "--format", "handoff"]),
        ("export", &["export", "--format", "markdown"]),
        ("html", &["export", "--format", "html"]),
        ("json", &["export", "--format", "json"]),
        ("opencastle", &["export", "--format", "opencastle"]),
        ("claude-mpm", &["export", "--format", "claude-mpm"]),
        ("dagent", &["export", "--format", "dagent", "-o", "../dagent"]),
        ("folder", &["export", "--format", "folder", "-o", "../folder"]),
    ];
    let texts = outputs.map(|(_, line)| output(&world, line));
    let names = outputs.map(|(name, _)| name);
    println!("| field | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
    let mut sums = [(0, 0); 13];
    let mut dropped = Vec::new();
    for (field, mark, noun) in FIELDS {
        let cells = texts.each_ref().map(|(text, notes)| {
            if mark.split('|').any(|form| text.contains(form)) {
                return "shown";
            }
            let of_request =
                text.starts_with("# ") && text.contains("files that are not committed (`git checkpoint show s`)");
            let is_named = notes
                .lines()
                .any(|note| note.starts_with("note: not included: ") && is_named_in(note, noun))
                || field == "uncommitted file" && of_request;
            if is_named { "named" } else { "-" }
        });
        for ((cell, sum), output) in cells.iter().zip(&mut sums).zip(names) {
            match *cell {
                "shown" => sum.0 += 1,
                "named" => sum.1 += 1,
                _ => dropped.push(format!("{output}: {field}")),
            }
        }
        println!("| {field} | {} |", cells.join(" | "));
    }
    for (name, (shown, named)) in names.iter().zip(sums) {
        println!("{name}: {shown} shown, {named} named");
    }
    assert!(dropped.is_empty(), "{}", dropped.join("\n"));
    // The outputs of this program for those who resume show all of them; a request leaves the files to another command.
    for (name, (shown, _)) in names.iter().zip(sums).take(9) {
        assert!(shown >= if *name == "request" { 46 } else { 47 }, "{name}: {shown}");
    }
}
