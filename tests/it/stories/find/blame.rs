//! `blame` and `why`: lines against an oracle that notes who wrote each when it is written.

use std::{collections::HashMap, fmt::Write as _};

use serde_json::{Value, json};

use crate::support::{PROGRAM, World};

/// The origin of a line as the oracle knows it.
#[derive(Clone, Debug, PartialEq)]
enum Written {
    Before,
    /// With this checkpoint.
    Saved(usize),
    /// By a commit of another branch.
    Merged(String),
}

#[derive(Clone, Debug)]
struct Line {
    text: String,
    written: Written,
}

/// Numbers that differ and repeat with the seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n.max(1)
    }
}

fn joined(lines: &[Line]) -> String {
    lines.iter().fold(String::new(), |mut text, line| {
        writeln!(text, "{}", line.text).unwrap();
        text
    })
}

/// Changes some lines; of the new ones it is not known yet where they belong.
fn edit(chance: &mut Chance, lines: &mut Vec<Line>, step: usize) {
    for n in 0..=chance.below(5) {
        let new = Line {
            text: format!("written in step {step} as number {n}"),
            written: Written::Saved(step),
        };
        let at = chance.below(lines.len() + 1);
        match chance.below(4) {
            0 if lines.len() > 20 && at < lines.len() => drop(lines.remove(at)),
            1 if at < lines.len() => lines[at] = new,
            _ => lines.insert(at, new),
        }
    }
}

fn hunks(world: &World, args: &[&str]) -> Vec<Value> {
    let mut line = vec!["blame", "--json"];
    line.extend(args);
    let out = world.checkpoint(line).success().stdout_json();
    out["hunks"].as_array().unwrap().clone()
}

/// Every line with its origin.
fn lines(hunks: &[Value]) -> Vec<(String, &Value)> {
    let of_hunk = |hunk: &'_ Value| {
        let texts: Vec<String> = hunk["lines"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line.as_str().unwrap().to_owned())
            .collect();
        texts
    };
    hunks
        .iter()
        .flat_map(|hunk| of_hunk(hunk).into_iter().map(move |text| (text, hunk)))
        .collect()
}

#[test]
fn random_histories_agree_with_what_was_noted() {
    for seed in [1, 2] {
        history(seed);
    }
}

/// A session with edits, renames, partial commits and merges.
fn history(seed: u64) {
    let mut chance = Chance(seed);
    let world = World::new();
    let mut path = "file.txt".to_owned();
    let mut content: Vec<Line> = (0..40)
        .map(|n| Line {
            text: format!("line {n} from before"),
            written: Written::Before,
        })
        .collect();
    world.file(&path, joined(&content));
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "before"]).success();
    world.checkpoint(["start", "s"]).success();
    let mut saved: Vec<(String, String, Vec<Line>)> = Vec::new();
    for step in 0..14 {
        edit(&mut chance, &mut content, step);
        match chance.below(4) {
            // A part of the changes is committed.
            0 => {
                world.file(&path, joined(&content));
                world.git(["add", "-A"]).success();
                world.git(["commit", "-qm", &format!("part {step}")]).success();
                edit(&mut chance, &mut content, step + 1000);
            }
            1 if step > 0 => {
                std::fs::remove_file(world.path(&path)).unwrap();
                path = format!("moved-{step}.txt");
            }
            // Another branch adds a line at the end, and is merged.
            2 => {
                world.file(&path, joined(&content));
                world.git(["add", "-A"]).success();
                world.git(["commit", "-qm", &format!("all {step}")]).success();
                world.git(["switch", "-qc", &format!("side-{step}")]).success();
                let text = format!("line of the branch {step}");
                // Made long before, elsewhere.
                let date = format!("{} +0000", world.now() - 100_000);
                world.file(&path, joined(&content) + &text + "\n");
                let commit = ["commit", "-qam", "on the branch"];
                world
                    .command("git", commit)
                    .env("GIT_COMMITTER_DATE", &date)
                    .run()
                    .success();
                let id = world.git_line(["rev-parse", "HEAD"]);
                world.git(["switch", "-q", "-"]).success();
                world
                    .git(["merge", "-q", "--no-ff", "-m", "merged", &format!("side-{step}")])
                    .success();
                content.push(Line {
                    text,
                    written: Written::Merged(id),
                });
            }
            _ => {}
        }
        for line in &mut content {
            if matches!(line.written, Written::Saved(at) if at >= step) {
                line.written = Written::Saved(step);
            }
        }
        world.file(&path, joined(&content));
        world.advance(60);
        let receipt = world.checkpoint(["save", "-m", &format!("step {step}"), "--allow-empty", "--json"]);
        let id = receipt.success().stdout_json()["id"].as_str().unwrap().to_owned();
        world.advance(60);
        saved.push((id, path.clone(), content.clone()));
    }
    let ids: Vec<&str> = saved.iter().map(|(id, ..)| id.as_str()).collect();
    for (id, path, content) in &saved {
        let hunks = hunks(&world, &[id, path]);
        let found = lines(&hunks);
        assert_eq!(found.len(), content.len());
        for ((text, hunk), line) in found.iter().zip(content) {
            assert_eq!(text, &line.text);
            let context = format!("seed {seed}, {id} {path}: {text}: {hunk}");
            match &line.written {
                Written::Before => {
                    assert_eq!(
                        (&hunk["origin"], &hunk["checkpoint"]),
                        (&json!("commit"), &Value::Null),
                        "{context}"
                    );
                    assert_eq!(hunk["commit"]["subject"], "before", "{context}");
                }
                Written::Saved(step) => {
                    assert_eq!(
                        (&hunk["origin"], &hunk["checkpoint"]),
                        (&json!("checkpoint"), &json!(ids[*step])),
                        "{context}"
                    );
                    assert_eq!(hunk["prompt"], format!("step {step}"), "{context}");
                }
                Written::Merged(commit) => {
                    assert_eq!(
                        (&hunk["origin"], &hunk["commit"]["id"]),
                        (&json!("commit"), &json!(commit)),
                        "{context}"
                    );
                }
            }
        }
    }
    // The commits are those that git blames in HEAD.
    let (id, path, content) = saved.last().unwrap();
    let committed: HashMap<String, String> = {
        let head = world.git(["ls-tree", "-r", "--name-only", "HEAD"]);
        let there = head.stdout().lines().next().unwrap().to_owned();
        let blamed = world
            .git(["blame", "-s", "-l", "--root", "HEAD", "--", &there])
            .success()
            .stdout()
            .to_owned();
        let line = |line: &str| {
            let (commit, rest) = line.split_once(' ').unwrap();
            let text = rest.split_once(") ").unwrap().1;
            (text.to_owned(), commit.to_owned())
        };
        blamed.lines().map(line).collect()
    };
    let hunks = hunks(&world, &[id, path]);
    for ((text, hunk), line) in lines(&hunks).iter().zip(content) {
        let expected = committed.get(text).map_or(Value::Null, |id| json!(id));
        if line.written != Written::Before {
            assert_eq!(hunk["commit"]["id"], expected, "seed {seed}: {text}: {hunk}");
        }
    }
}

/// Reports an event of the agent Claude Code.
fn hook(world: &World, event: &str, more: &Value) {
    let mut payload = json!({"session_id": "a1", "hook_event_name": event, "cwd": world.repo()});
    payload
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    world
        .command(PROGRAM, ["hook", "claude-code", event])
        // It does the work itself instead of leaving it to a process that may outlive it.
        .env("CHECKPOINT_AGENT_HOOK", "worker")
        .input(payload.to_string())
        .run()
        .success();
}

fn turn(world: &World, prompt: &str, work: impl FnOnce()) {
    hook(world, "UserPromptSubmit", &json!({"prompt": prompt}));
    work();
    hook(world, "Stop", &json!({}));
}

#[test]
fn turns_are_the_agents_and_what_is_between_them_the_persons() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.agents", "on"]).success();
    hook(&world, "SessionStart", &json!({"source": "startup"}));
    turn(&world, "write the lexer\nand nothing else", || {
        world.file("src/main.txt", "one\nlexer\nthree\n");
    });
    world.file("src/main.txt", "one\nlexer\nby hand\nthree\n");
    turn(&world, "now the parser", || {
        world.file("src/main.txt", "one\nlexer\nby hand\nparser\nthree\n");
    });
    world
        .checkpoint(["decision", "add", "main.txt stays flat", "--reason", "easy to read"])
        .success();
    world.checkpoint(["save", "-m", "noted"]).success();
    world.git(["commit", "-qam", "the lexer"]).success();
    world.file("src/main.txt", "one\nlexer\nby hand\nparser\nthree\nfresh\n");
    let found = hunks(&world, &["src/main.txt"]);
    let shape: Vec<_> = lines(&found)
        .iter()
        .map(|(text, hunk)| {
            let member = |name: &str| hunk[name].as_str().unwrap_or("-").to_owned();
            format!("{text}: {} {} {}", member("origin"), member("by"), member("prompt"))
        })
        .collect();
    assert_eq!(
        shape,
        [
            "one: commit person first",
            "lexer: checkpoint agent write the lexer",
            "by hand: checkpoint person edits between turns",
            "parser: checkpoint agent now the parser",
            "three: commit person first",
            "fresh: unsaved unknown -",
        ]
    );
    assert_eq!(found[1]["author"], "claude-code");
    assert_eq!(found[1]["commit"]["subject"], "the lexer");
    assert_eq!(found[2]["author"], "Ana Author");
    let table = world.checkpoint(["blame", "-L", "2,+2", "src/main.txt"]);
    table
        .success()
        .stdout_has("claude-code")
        .stdout_has("2)  lexer")
        .stdout_lacks("parser");
    let within = world
        .command(PROGRAM, ["blame", "-L", "/parser/,+1", "main.txt"])
        .within("src")
        .run();
    within.success().stdout_has("4)  parser");
    let why = world.checkpoint(["why", "src/main.txt:4"]);
    why.success()
        .stdout_has("src/main.txt:4: parser")
        .stdout_has("by the agent claude-code")
        .stdout_has("now the parser")
        .stdout_has("the lexer (Ana Author)")
        .stdout_has("main.txt stays flat: easy to read")
        .stdout_has("git checkpoint show ");
    let at_tip = world
        .checkpoint(["why", "src/main.txt:2", "--json"])
        .success()
        .stdout_json();
    assert_eq!(at_tip["prompt"], "write the lexer");
    world
        .checkpoint(["why", "src/main.txt:6"])
        .success()
        .stdout_has("not saved yet");
    world
        .checkpoint(["why", "src/main.txt:60"])
        .code(129)
        .stderr_has("no line 60 in 'src/main.txt', which has 6 lines");
    world.checkpoint(["why", "src/main.txt"]).code(129);
    world.checkpoint(["blame", "nothing.txt"]).code(3);
    for range in ["7", "7,", "9,10"] {
        world
            .checkpoint(["blame", "-L", range, "src/main.txt"])
            .code(128)
            .stderr_has("selects no lines of the file, which has 6");
    }
    world
        .checkpoint(["blame", "-L", "x", "src/main.txt"])
        .code(128)
        .stderr_has("hint: ");
}

/// The authors and prompts of the lines of a file.
fn authors(world: &World, file: &str) -> Vec<String> {
    let found = hunks(world, &[file]);
    let row = |hunk: &Value| {
        format!(
            "{}: {}",
            hunk["author"].as_str().unwrap_or("-"),
            hunk["prompt"].as_str().unwrap_or("-")
        )
    };
    lines(&found).iter().map(|(_, hunk)| row(hunk)).collect()
}

#[test]
fn what_is_saved_in_a_turn_that_goes_on_is_the_agents() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.agents", "on"]).success();
    hook(&world, "SessionStart", &json!({}));
    world.file("f.txt", "by hand\n");
    world.checkpoint(["save", "-m", "before"]).success();
    world.advance(60);
    hook(&world, "UserPromptSubmit", &json!({"prompt": "save it"}));
    world.file("f.txt", "by hand\nagent 1\n");
    world.checkpoint(["save", "-m", "in the turn"]).success();
    let expected = ["Ana Author: before", "claude-code: save it"];
    assert_eq!(authors(&world, "f.txt"), expected);
    let lines = |world: &World| {
        let stats = world.checkpoint(["stats", "--json"]).success().stdout_json();
        let lines = stats["total"]["lines"].clone();
        (lines["agents"]["added"].clone(), lines["people"]["added"].clone())
    };
    assert_eq!(lines(&world), (json!(1), json!(1)));
    // The agent was killed long ago.
    world.advance(86_400);
    world.file("f.txt", "by hand\nagent 1\nlater\n");
    world.checkpoint(["save", "-m", "later"]).success();
    assert_eq!(authors(&world, "f.txt")[2], "Ana Author: later");
    assert_eq!(lines(&world), (json!(1), json!(2)));
}

#[test]
fn lines_that_a_pull_or_checkout_brought_are_of_their_commits() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "-m", "one", "--allow-empty"]).success();
    world.advance(60);
    world.git(["clone", "-q", ".", "../other"]).success();
    let bob = |world: &World, text: &str| {
        world.enter("other");
        world.file("src/main.txt", format!("one\ntwo\nthree\n{text}"));
        world
            .command("git", ["commit", "-qam", "Bob's work"])
            .env("GIT_AUTHOR_NAME", "Bob")
            .env("GIT_AUTHOR_EMAIL", "bob@example.org")
            .run()
            .success();
        world.enter("repo");
        world.advance(60);
    };
    bob(&world, "bob 1\n");
    world.git(["pull", "-q", "--ff-only", "../other", "HEAD"]).success();
    let last = |world: &World| authors(world, "src/main.txt").pop().unwrap();
    assert_eq!(last(&world), "Bob: Bob's work", "before it is saved");
    world.checkpoint(["save", "-m", "two"]).success();
    assert_eq!(last(&world), "Bob: Bob's work");
    // Ana's own commits from another machine, too.
    world.enter("other");
    world.file("src/main.txt", "one\ntwo\nthree\nbob 1\nana there\n");
    world.git(["commit", "-qam", "from home"]).success();
    world.enter("repo");
    world.advance(60);
    world.git(["fetch", "-q", "../other", "HEAD:refs/heads/home"]).success();
    world.git(["checkout", "-q", "home"]).success();
    world.checkpoint(["save", "-m", "three", "--session", "s"]).success();
    let found = hunks(&world, &["s", "src/main.txt"]);
    let row = lines(&found).pop().unwrap().1.clone();
    assert_eq!(
        (&row["origin"], &row["commit"]["subject"]),
        (&json!("commit"), &json!("from home")),
        "{row}"
    );
    // What is committed here was brought in by the checkpoint.
    world.file("src/main.txt", "one\ntwo\nthree\nbob 1\nana there\nana here\n");
    world.advance(60);
    world.git(["commit", "-qam", "here"]).success();
    world.checkpoint(["save", "-m", "four", "--session", "s"]).success();
    let found = hunks(&world, &["s", "src/main.txt"]);
    let row = lines(&found).pop().unwrap().1.clone();
    assert_eq!(
        (&row["origin"], &row["prompt"]),
        (&json!("checkpoint"), &json!("four")),
        "{row}"
    );
    let stats = world.checkpoint(["stats", "s", "--json"]).success().stdout_json();
    assert_eq!(
        stats["total"]["lines"]["people"],
        json!({"added": 1, "removed": 0}),
        "{stats}"
    );
}

#[test]
fn restored_lines_keep_their_origin_and_forks_know_their_source() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.file("src/main.txt", "one\nfirst idea\nthree\n");
    world.checkpoint(["save", "-m", "first idea", "--name", "a"]).success();
    world.file("src/main.txt", "one\nsecond idea\nthree\n");
    world.checkpoint(["save", "-m", "second idea"]).success();
    world.checkpoint(["restore", "s@a"]).success();
    world
        .checkpoint(["save", "-m", "back to the first", "--allow-empty"])
        .success();
    world.checkpoint(["fork", "s", "--name", "try"]).success();
    world.file("src/main.txt", "one\nfirst idea\nthree\nin the fork\n");
    world.checkpoint(["save", "-m", "forked"]).success();
    let found = hunks(&world, &["try", "src/main.txt"]);
    let shape: Vec<_> = lines(&found)
        .iter()
        .map(|(text, hunk)| format!("{text}: {} {}", hunk["session"], hunk["prompt"]))
        .collect();
    assert_eq!(
        shape,
        [
            "one: null \"first\"",
            "first idea: \"s\" \"first idea\"",
            "three: null \"first\"",
            "in the fork: \"try\" \"forked\"",
        ]
    );
}

/// Lines that a restore brought back are those of the checkpoint that has them, not unsaved ones.
#[test]
fn restored_lines_are_of_their_checkpoint() {
    let world = World::with_commit();
    world.file("a", "one\ntwo\n");
    world.checkpoint(["save", "-m", "v1"]).success();
    let first = world.git_line(["rev-parse", "checkpoints/main"]);
    world.file("a", "one\ndeux\n");
    world.checkpoint(["save", "-m", "v2"]).success();
    world.checkpoint(["restore", "@~1"]).success();
    world.file("a", "one\ntwo\nthree\n");
    let blamed = world.checkpoint(["blame", "a"]);
    blamed.success().stdout_lacks("v2");
    let of = |line: &str| {
        let found = blamed.stdout().lines().find(|text| text.ends_with(line));
        found.unwrap_or_default().to_owned()
    };
    assert!(of("two").contains(&first[..8]), "{blamed}");
    assert!(!of("three").contains(&first[..8]), "{blamed}");
    world
        .checkpoint(["why", "a:2"])
        .success()
        .stdout_has(&first[..8])
        .stdout_has("v1");
}
