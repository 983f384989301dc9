//! Files taken over whatever is in them, secrets that reach no disk, and many writers at once.

use std::fs;

use serde_json::json;

use super::{everything, holds, messages, say, session};

#[test]
fn an_import_survives_what_crashes_leave_and_repeats_nothing() {
    let world = session();
    let mut file = String::new();
    for n in 0..5 {
        file.push_str(&format!(
            "{{\"role\":\"user\",\"content\":\"m{n}\",\"timestamp\":\"2026-01-01T00:00:0{n}Z\"}}\n"
        ));
    }
    file.push_str("{\"role\":\"user\",\"content\":\"yes\"}\n{\"role\":\"user\",\"content\":\"yes\"}\n");
    file.push_str("\0\0\0\0\n{\"role\":\"assistant\",\"content\":\"lone \\ud83d end\",\"timestamp\":1767000000}\n");
    file.push_str(
        "{\"role\":\"user\",\"content\":\"a\",\"id\":\"i1\"}{\"role\":\"user\",\"content\":\"b\",\"id\":\"i2\"}\n",
    );
    file.push_str(&format!(
        "{{\"role\":\"tool\",\"content\":\"{}\"}}\n",
        "long ".repeat(300_000)
    ));
    file.push_str("{\"role\":\"nobody\",\"content\":\"x\"}\nnot json\n{\"role\":\"user\",\"content\":\"torn");
    world.file("chat.jsonl", &file);
    let out = world.checkpoint(["message", "import", "chat.jsonl", "--json"]);
    let report = out.success().stdout_json();
    assert_eq!(
        (&report["added"], &report["known"]),
        (&json!(11), &json!(0)),
        "{report}"
    );
    assert_eq!(report["skipped"].as_array().unwrap().len(), 3, "{report}");
    assert_eq!(report["repaired"].as_array().unwrap().len(), 3, "{report}");
    out.stderr_has("the last line is incomplete")
        .stderr_has("lone surrogates");
    let again = world.checkpoint(["message", "import", "chat.jsonl"]);
    again
        .success()
        .stdout_has("Imported 0 messages to s, 11 already present");
    world.checkpoint(["save"]).success();
    let third = world
        .checkpoint(["message", "import", "chat.jsonl", "--json"])
        .success()
        .stdout_json();
    assert_eq!(third["added"], 0);
    assert_eq!(messages(&world)[0]["at"], "2026-01-01T00:00:00+00:00");
    world
        .checkpoint(["message", "list", "--full"])
        .success()
        .stdout_has("long long");
}

#[test]
fn a_file_of_which_nothing_can_be_taken_is_an_error() {
    let world = crate::support::World::with_commit();
    world.file(
        "my chat.json",
        "[\n  {\n    \"role\": \"user\",\n    \"content\": \"hello\"\n  }\n]\n",
    );
    world.file("one.json", "[{\"role\":\"user\",\"content\":\"hello\"}]\n");
    world.file("plain.txt", "hello\nthere\n");
    let wanted = "one JSON object per line";
    let hint = "git checkpoint import --from json ";
    let import = |file: &str| world.checkpoint(["message", "import", file, "--advice"]);
    import("my chat.json")
        .code(128)
        .no_stdout()
        .stderr_has(wanted)
        .stderr_has(&format!("{hint}'my chat.json'"));
    import("one.json")
        .code(128)
        .stderr_has("line 1: it is no object")
        .stderr_has(&format!("{hint}one.json"));
    import("plain.txt").code(128).stderr_has(wanted).stderr_lacks(hint);
    // Nothing was begun for it.
    assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints"]), "");
    world
        .checkpoint(["import", "--from", "json", "my chat.json"])
        .success()
        .stdout_has("1 message");
    // Among good lines a bad one is a warning, also when the good ones are known already; an empty file is no mistake.
    world.file("some.jsonl", "{\"role\":\"user\",\"content\":\"hello\"}\nhello\n");
    import("some.jsonl")
        .success()
        .stdout_has("Imported 1 message")
        .stderr_has("line 2 was skipped");
    import("some.jsonl").success().stdout_has("1 already present");
    world.file("empty.jsonl", "");
    import("empty.jsonl").success();
}

#[test]
fn secrets_across_the_borders_of_chunks_are_in_no_object_and_no_file() {
    let world = session();
    world.git(["config", "checkpoint.compactAt", "0"]).success();
    let secret = |n: usize| format!("ghp_{:0>6}{}", n, "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0");
    let mut file = String::new();
    // Long messages, so that the 256 KiB of a chunk end in the middle of one, at ever other places; a secret every few
    // hundred bytes means that every border is near one.
    for n in 0..60 {
        let mut text = String::new();
        for k in 0..40 {
            let planted = secret(n * 100 + k);
            text.push_str(&"word ".repeat(20 + (n * 7 + k) % 50));
            text.push_str(&planted);
            text.push(' ');
        }
        file.push_str(&format!(
            "{}\n",
            json!({ "role": "user", "content": [{ "type": "text", "text": text }], "n": n })
        ));
    }
    // One message that is longer than a chunk, with a secret where a chunk of its length would end.
    let planted = secret(999_999);
    let text = format!("{}{planted} {}", "x ".repeat((256 << 9) - 30), "y ".repeat(1000));
    file.push_str(&format!("{}\n", json!({ "role": "tool", "content": text })));
    let outside = world.root().join("chat.jsonl");
    fs::write(&outside, &file).unwrap();
    world
        .checkpoint(["--quiet", "message", "import", &outside.to_string_lossy()])
        .success();
    let inner = secret(7);
    say(&world, "user", &format!("use {inner}"));
    world
        .checkpoint([
            "message",
            "add",
            "--role",
            "user",
            "--meta",
            &json!({ "k": secret(8) }).to_string(),
            "x",
        ])
        .success()
        .stderr_has("replaced before saving");
    world.file("../context.md", format!("token {}\n", secret(9)));
    world.checkpoint(["context", "set", "../context.md"]).success();
    let check = |when: &str| {
        let all = everything(&world);
        assert!(all.len() > 100_000, "the search sees what is stored");
        // What all of them have in common, and a beginning of it.
        for part in ["aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0", "aB3dE6gH9jK2", "ghp_0", "ghp_9"] {
            assert!(!holds(&all, part), "{when}: {part}");
        }
        assert!(holds(&all, "word word"), "{when}: the rest is there");
    };
    check("before the save");
    world.checkpoint(["save"]).success();
    check("after the save");
    let chunks = world.git_line(["ls-tree", "--name-only", "checkpoints/s:chat"]);
    assert!(chunks.lines().count() > 2, "{chunks}");
    world.checkpoint(["compact", "--force"]).success();
    check("after a compaction");
}

#[test]
fn secrets_across_the_borders_of_blocks_do_not_stay() {
    let world = session();
    let (head, tail) = ("ghp_Q2r8sT5vXz1y", "B4nM7kL9pW3cF6hJ0dGa");
    let text = |text: String| json!({ "type": "text", "text": text });
    let blocks = json!([
        text(format!("the token is {head}")),
        text(format!("{tail}, keep it")),
        { "type": "tool_result", "content": [text(format!("x {head}")), text(format!("{tail} y"))] },
        text("plain".to_owned()),
    ]);
    let added = world
        .command(
            crate::support::PROGRAM,
            ["message", "add", "--role", "user", "--blocks", "-"],
        )
        .input(blocks.to_string())
        .run();
    added.success();
    world.checkpoint(["save"]).success();
    let stored = everything(&world);
    assert!(!holds(&stored, head) && !holds(&stored, tail));
    let shown = world.checkpoint(["message", "show"]).success().stdout().to_owned();
    for part in ["the token is [REDACTED:", ", keep it", "plain"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn many_add_at_once_and_none_is_lost() {
    let world = session();
    std::thread::scope(|scope| {
        for n in 0..16 {
            let (repo, env) = (world.repo(), world.environment());
            scope.spawn(move || {
                for k in 0..5 {
                    let status = std::process::Command::new(crate::support::PROGRAM)
                        .args(["--quiet", "message", "add", "--role", "user", &format!("{n}.{k}")])
                        .current_dir(&repo)
                        .env_clear()
                        .envs(env.iter().map(|(k, v)| (*k, v.clone())))
                        .status();
                    assert!(status.unwrap().success());
                }
            });
        }
        let (repo, env) = (world.repo(), world.environment());
        scope.spawn(move || {
            for _ in 0..4 {
                let status = std::process::Command::new(crate::support::PROGRAM)
                    .args(["--quiet", "save"])
                    .current_dir(&repo)
                    .env_clear()
                    .envs(env.iter().map(|(k, v)| (*k, v.clone())))
                    .status();
                assert!(status.unwrap().success());
            }
        });
    });
    world.checkpoint(["save"]).success();
    let mut texts: Vec<String> = messages(&world)
        .iter()
        .map(|m| m["content"].as_str().unwrap().to_owned())
        .collect();
    texts.sort();
    let mut expected: Vec<String> = (0..16).flat_map(|n| (0..5).map(move |k| format!("{n}.{k}"))).collect();
    expected.sort();
    assert_eq!(texts, expected);
}
