//! Sessions that were merged, forks and another clone's part: `blame` and `stats` know who wrote what, once.

use serde_json::{Value, json};

use crate::support::{PROGRAM, World};

/// Reports an event of the agent Claude Code in a directory.
fn hook(world: &World, directory: &str, event: &str, prompt: &str) {
    let cwd = world.root().join(directory);
    let payload =
        json!({"session_id": format!("of {directory}"), "hook_event_name": event, "cwd": cwd, "prompt": prompt});
    world
        .command(PROGRAM, ["hook", "claude-code", event])
        .env("CHECKPOINT_AGENT_HOOK", "worker")
        .within(&cwd)
        .input(payload.to_string())
        .run()
        .success();
}

/// A turn of an agent in a directory, that writes a file.
fn turn(world: &World, directory: &str, prompt: &str, file: &str, text: &str) {
    hook(world, directory, "UserPromptSubmit", prompt);
    std::fs::write(world.root().join(directory).join(file), text).unwrap();
    hook(world, directory, "Stop", "");
    world.advance(60);
}

fn stats(world: &World, args: &[&str]) -> Value {
    let line = ["stats", "--json"].iter().chain(args);
    world.checkpoint(line).success().stdout_json()["total"].clone()
}

/// For each line of a file its text, session, author and prompt.
fn blamed(world: &World, file: &str) -> Vec<[String; 4]> {
    let view = world.checkpoint(["blame", "--json", file]).success().stdout_json();
    let mut rows = Vec::new();
    for hunk in view["hunks"].as_array().unwrap() {
        for line in hunk["lines"].as_array().unwrap() {
            let member = |name: &str| hunk[name].as_str().unwrap_or("-").to_owned();
            let text = line.as_str().unwrap().to_owned();
            rows.push([text, member("session"), member("author"), member("prompt")]);
        }
    }
    rows
}

fn rows(wanted: &[[&str; 4]]) -> Vec<[String; 4]> {
    wanted.iter().map(|row| row.map(str::to_owned)).collect()
}

const LINES: &str = "a\nb\nc\nd\ne\nf\ng\nh\n";

#[test]
fn lines_of_a_merged_fork_are_of_its_turn_and_counted_once() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.agents", "on"]).success();
    world.file("list.txt", LINES);
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "the list"]).success();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "-m", "begin", "--allow-empty"]).success();
    world
        .checkpoint(["fork", "s", "--name", "try", "--worktree", "../try"])
        .success();
    hook(&world, "try", "SessionStart", "");
    turn(&world, "try", "add an end", "list.txt", &format!("{LINES}end\n"));
    world.file("list.txt", format!("start\n{LINES}"));
    world.checkpoint(["save", "-m", "by hand"]).success();
    world.advance(60);
    let before = stats(&world, &[]);
    assert_eq!(
        (&before["lines"]["agents"]["added"], &before["lines"]["people"]["added"]),
        (&json!(1), &json!(1)),
        "{before}"
    );
    world.checkpoint(["merge", "try", "-m", "merged"]).success();
    world.advance(60);
    let found = blamed(&world, "list.txt");
    assert_eq!(
        [&found[..1], &found[9..]].concat(),
        rows(&[
            ["start", "s", "Ana Author", "by hand"],
            ["end", "try", "claude-code", "add an end"],
        ])
    );
    assert!(found[1..9].iter().all(|row| row[3] == "the list"), "{found:?}");
    world
        .checkpoint(["why", "list.txt:10"])
        .success()
        .stdout_has("by the agent claude-code")
        .stdout_has("add an end");
    for group in ["session", "day", "agent", "model"] {
        let after = stats(&world, &["--by", group]);
        assert_eq!(after["lines"], before["lines"], "{group}");
        assert_eq!(after["turns"], 1, "{group}");
    }
    // What is written on top of the merge is counted.
    world.file("list.txt", format!("start\n{LINES}end\nlast\n"));
    world.checkpoint(["save", "-m", "on top"]).success();
    assert_eq!(stats(&world, &[])["lines"]["people"]["added"], 2);
}

#[test]
fn what_another_clone_did_is_counted_once_after_a_pull() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.agents", "on"]).success();
    world.file("list.txt", LINES);
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "the list"]).success();
    world.git(["init", "-q", "--bare", "../origin.git"]).success();
    world.git(["remote", "add", "origin", "../origin.git"]).success();
    world.git(["push", "-q", "origin", "HEAD:main"]).success();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "-m", "begin", "--allow-empty"]).success();
    world.checkpoint(["push", "-q", "origin", "s"]).success();
    world
        .git(["clone", "-q", "-b", "main", "../origin.git", "../clone"])
        .success();
    world.enter("clone");
    world.git(["config", "checkpoint.agents", "on"]).success();
    world.checkpoint(["pull", "-q", "origin", "s"]).success();
    world.checkpoint(["resume", "s"]).success();
    hook(&world, "clone", "SessionStart", "");
    turn(&world, "clone", "add an end", "list.txt", &format!("{LINES}end\n"));
    world.file("list.txt", format!("{LINES}end\nby Bert\n"));
    world
        .command(PROGRAM, ["save", "-m", "Bert's"])
        .env("GIT_AUTHOR_NAME", "Bert")
        .run()
        .success();
    world.advance(60);
    world.checkpoint(["push", "-q", "origin", "s"]).success();
    world.enter("repo");
    world.file("list.txt", format!("start\n{LINES}"));
    world.checkpoint(["save", "-m", "by hand"]).success();
    world.advance(60);
    world.checkpoint(["pull", "-q", "--merge", "origin", "s"]).success();
    let found = blamed(&world, "list.txt");
    assert_eq!(
        [&found[..1], &found[9..]].concat(),
        rows(&[
            ["start", "s", "Ana Author", "by hand"],
            ["end", "s", "claude-code", "add an end"],
            ["by Bert", "s", "Bert", "Bert's"],
        ])
    );
    for group in ["session", "day", "agent", "model"] {
        let total = stats(&world, &["--by", group]);
        assert_eq!(total["turns"], 1, "{group}: {total}");
        assert_eq!(
            total["lines"]["agents"],
            json!({"added": 1, "removed": 0}),
            "{group}: {total}"
        );
        assert_eq!(
            total["lines"]["people"],
            json!({"added": 2, "removed": 0}),
            "{group}: {total}"
        );
    }
}

#[test]
fn lines_that_git_or_a_restore_brought_are_nobodys_here() {
    let world = World::with_commit();
    let ten: String = (0..10).map(|n| format!("line {n}\n")).collect();
    world.git(["switch", "-qc", "other"]).success();
    world.file("other.txt", &ten);
    world.git(["add", "-A"]).success();
    world
        .command("git", ["commit", "-qm", "elsewhere"])
        .env("GIT_COMMITTER_DATE", format!("{} +0000", world.now() - 100_000))
        .run()
        .success();
    world.git(["switch", "-q", "-"]).success();
    world.checkpoint(["start", "s"]).success();
    world.file("own.txt", "one\n");
    world.checkpoint(["save", "-m", "one"]).success();
    world.advance(60);
    let people = |world: &World| {
        let lines = stats(world, &[])["lines"]["people"].clone();
        (lines["added"].as_u64().unwrap(), lines["removed"].as_u64().unwrap())
    };
    assert_eq!(people(&world), (1, 0));
    // Merged by git, and edited on top.
    world.git(["merge", "-q", "--no-ff", "-m", "merged", "other"]).success();
    world.file("other.txt", format!("{ten}mine\n"));
    world.advance(60);
    world.checkpoint(["save", "-m", "after the merge"]).success();
    assert_eq!(people(&world), (2, 0));
    // The person's own commit.
    world.file("own.txt", "one\ntwo\nthree\n");
    world.git(["add", "own.txt"]).success();
    world.advance(60);
    world.git(["commit", "-qm", "own"]).success();
    world.advance(60);
    world.checkpoint(["save", "-m", "after the commit"]).success();
    assert_eq!(people(&world), (4, 0));
    // A restore writes nothing new, and takes nothing away.
    world.file("own.txt", "changed\n");
    world.checkpoint(["save", "-m", "changed"]).success();
    world.advance(60);
    assert_eq!(people(&world), (5, 3));
    world.checkpoint(["restore", "s~1", "--force"]).success();
    world.file("own.txt", "one\ntwo\nthree\nfour\n");
    world.checkpoint(["save", "-m", "restored"]).success();
    assert_eq!(people(&world), (6, 3));
}

#[test]
fn a_fork_of_a_merge_is_no_merge_and_can_be_shared() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "-m", "begin", "--allow-empty"]).success();
    world.checkpoint(["fork", "s", "--name", "one"]).success();
    world
        .checkpoint(["save", "-m", "in the fork", "-d", "keep it"])
        .success();
    world.checkpoint(["switch", "s"]).success();
    world.checkpoint(["merge", "one", "-m", "merged"]).success();
    world.checkpoint(["fork", "s", "--name", "two"]).success();
    world.checkpoint(["save", "-m", "with a key", "--key", "k"]).success();
    world.checkpoint(["fork", "two", "--name", "three"]).success();
    let own: Vec<Value> = ["two~1", "three"]
        .iter()
        .map(|name| world.checkpoint(["show", name, "--json"]).success().stdout_json())
        .collect();
    for shown in &own {
        let shown = &shown["document"];
        assert_eq!(shown["kind"], "fork", "{shown}");
        for member in ["merged", "request", "turn", "name"] {
            assert!(shown.get(member).is_none_or(Value::is_null), "{member}: {shown}");
        }
    }
    world.git(["init", "-q", "--bare", "../origin.git"]).success();
    world.git(["remote", "add", "origin", "../origin.git"]).success();
    world.checkpoint(["push", "-q", "origin", "--all"]).success();
    world.git(["init", "-q", "../clone"]).success();
    world.enter("clone");
    world.git(["remote", "add", "origin", "../origin.git"]).success();
    for name in ["s", "one", "two", "three"] {
        world.checkpoint(["pull", "-q", "origin", name]).success();
    }
    world.checkpoint(["verify"]).success();
}
