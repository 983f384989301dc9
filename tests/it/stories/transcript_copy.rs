//! The copy of an agent's session file next to the chat: whole, without secrets, in chunks that stay.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::World;

fn started() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world
}

/// A record with ids, a signature and numbers in a form that no parser writes back.
fn record(n: usize, text: &str) -> String {
    let text = Value::from(text);
    format!(
        r#"{{"type":"user" ,"uuid":"u{n}","parentUuid":null,"sessionId":"5f1d","isSidechain":false,"cost":1.50e-3,"slash":"a\/b\u00e9","timestamp":"2026-11-28T10:00:00Z","message":{{"role":"user","content":{text}}},"signature":"Eu8BCkYICxABGAIqQL{n:040}wT9xQ2rV7zB4nM1kJ6hG3fD8sA5pL0oI9uY2tR4eW7qZ1xC6vB3nM"}}"#
    ) + "\n"
}

fn transcript(lines: std::ops::Range<usize>) -> String {
    lines.fold(String::new(), |mut out, n| {
        let _ = write!(out, "{}", record(n, &format!("prompt {n} {}", "words ".repeat(60))));
        out
    })
}

fn import(world: &World, name: &str, bytes: &str) {
    world.file(name, bytes);
    world.checkpoint(["message", "import", name]).success();
    world.checkpoint(["save", "-m", "kept"]).success();
    std::fs::remove_file(world.path(name)).unwrap();
}

fn kept(world: &World) -> String {
    let names = world.git_line(["ls-tree", "--name-only", "checkpoints/s:transcript/0"]);
    names.lines().fold(String::new(), |out, name| {
        let chunk = world.git(["cat-file", "blob", &format!("checkpoints/s:transcript/0/{name}")]);
        out + chunk.success().stdout()
    })
}

fn entries(world: &World) -> Vec<String> {
    let tree = world.git_line(["ls-tree", "checkpoints/s:transcript/0"]);
    tree.lines().map(str::to_owned).collect()
}

fn info(world: &World) -> Value {
    let document = world.git_line(["show", "checkpoints/s:checkpoint.json"]);
    serde_json::from_str::<Value>(&document).unwrap()["transcripts"].clone()
}

#[test]
fn the_file_is_kept_byte_for_byte_and_full_chunks_stay() {
    let world = started();
    let (first, second) = (transcript(0..900), transcript(900..1000));
    import(&world, "5f1d.jsonl", &first);
    assert_eq!(kept(&world), first);
    let before = entries(&world);
    assert!(before.len() > 1);
    import(&world, "5f1d.jsonl", &(first.clone() + &second));
    assert_eq!(kept(&world), first.clone() + &second);
    let after = entries(&world);
    assert_eq!(after[..before.len() - 1], before[..before.len() - 1]);
    let info = info(&world);
    assert_eq!(
        (
            &info[0]["agent"],
            &info[0]["agent_session"],
            &info[0]["lines"],
            &info[0]["file"]
        ),
        (
            &json!("claude-code"),
            &json!("5f1d"),
            &json!(1000),
            &json!("5f1d.jsonl")
        )
    );
    for chunk in &after {
        let id = chunk.split_whitespace().nth(2).unwrap();
        let size: usize = world.git_line(["cat-file", "-s", id]).trim().parse().unwrap();
        assert!(size <= 256 << 10, "{size}");
    }
    world.checkpoint(["verify", "s"]).success();
    // An earlier state of the file, under another name, takes nothing away.
    import(&world, "copy.jsonl", &transcript(0..500));
    assert_eq!(kept(&world), first + &second);
}

#[test]
fn only_secrets_are_replaced() {
    let world = started();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let file = record(1, "one") + &record(2, &format!("use \"{secret}\" now")) + &record(3, "three");
    import(&world, "5f1d.jsonl", &file);
    let expected = file.replace(&secret, "[REDACTED:github-token]");
    assert_eq!(kept(&world), expected);
    assert_eq!(info(&world)[0]["redactions"], 1);
}

#[test]
fn torn_lines_wait_and_a_rewritten_file_is_kept_anew() {
    let world = started();
    let file = transcript(0..3);
    let cut = file.len() - 40;
    world.file("5f1d.jsonl", &file[..cut]);
    world.checkpoint(["message", "import", "5f1d.jsonl"]).success();
    // Saved only afterwards: what waits is in order.
    import(&world, "5f1d.jsonl", &file);
    assert_eq!(kept(&world), file);
    let other = transcript(7..9);
    import(&world, "5f1d.jsonl", &other);
    assert_eq!(kept(&world), other);
    world.checkpoint(["verify", "s"]).success();
}

#[test]
fn the_setting_and_clear_leave_no_copy() {
    let world = started();
    world.git(["config", "checkpoint.transcripts", "chat"]).success();
    import(&world, "5f1d.jsonl", &transcript(0..3));
    assert_eq!(info(&world), Value::Null);
    world.git(["config", "checkpoint.transcripts", "full"]).success();
    import(&world, "5f1d.jsonl", &transcript(0..4));
    assert_eq!(kept(&world), transcript(0..4));
    world.checkpoint(["clear", "--messages", "--yes"]).success();
    assert_eq!(info(&world), Value::Null);
    world.git(["cat-file", "-e", "checkpoints/s:transcript"]).code(128);
    world.checkpoint(["verify", "s"]).success();
}

#[test]
fn a_copy_goes_with_forks_and_pushes() {
    let world = started();
    import(&world, "5f1d.jsonl", &transcript(0..30));
    world.checkpoint(["fork", "s", "--name", "branch-off"]).success();
    let of = |name: &str| world.git_line(["rev-parse", &format!("checkpoints/{name}:transcript")]);
    assert_eq!(of("s"), of("branch-off"));
    world.git(["init", "-q", "--bare", "../remote.git"]).success();
    world.git(["remote", "add", "origin", "../remote.git"]).success();
    world.checkpoint(["push", "origin", "s"]).success();
    let here = of("s");
    world.git(["clone", "--quiet", "../remote.git", "../other"]);
    world.enter("other");
    world.checkpoint(["pull", "origin", "s"]).success();
    world.checkpoint(["verify", "--all"]).success();
    assert_eq!(world.git_line(["rev-parse", "checkpoints/s:transcript"]), here);
}
