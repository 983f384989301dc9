//! Limits of the process. Few descriptors: what cannot be opened is reported as that, and never as absent or damaged. Small
//! files: what cannot be written is an error of that file, and no end half way.

use serde_json::{Value, json};

use crate::support::{Output, PROGRAM, World};

/// Runs the program where a process can have this many open files.
fn limited(world: &World, files: u32, directory: &str, args: &[&str], input: &str) -> Output {
    let script = format!("ulimit -n {files} && exec \"$@\"");
    let line = ["-c", &script, "sh", PROGRAM].into_iter().chain(args.iter().copied());
    world.command("sh", line).within(directory).input(input).run()
}

/// What is wrong with the words of a failure.
fn fault(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    if !text.contains("too many open files") {
        return Some("without the cause");
    }
    [
        "not a git repository",
        "no session",
        "does not exist",
        "damaged",
        "no commit yet",
    ]
    .into_iter()
    .find(|words| text.contains(words))
}

/// A world with a session, packed and loose objects, a subdirectory and a linked working tree.
fn world() -> World {
    let world = World::with_commit();
    for n in 0..40 {
        world.file(format!("src/{n}.txt"), format!("{n}\n"));
    }
    world.checkpoint(["save", "--session", "auth", "-m", "one"]).success();
    world.checkpoint(["pause"]).success();
    world.git(["worktree", "add", "-q", "../linked"]).success();
    world.git(["pack-refs", "--all"]).success();
    world.checkpoint(["resume", "auth"]).success();
    world.checkpoint(["save", "--allow-empty", "-m", "two"]).success();
    world
}

const DIRECTORIES: [&str; 2] = ["src", "../linked"];
/// How many files a process may have open, its three streams included.
const LIMITS: [u32; 9] = [4, 5, 6, 7, 8, 9, 10, 12, 15];

#[test]
fn commands_name_the_limit_of_open_files() {
    let world = world();
    let lines: [&[&str]; 7] = [
        &["list"],
        &["show", "auth"],
        &["log", "auth"],
        &["resume", "auth"],
        &["status"],
        &["save", "--allow-empty", "--session", "auth", "-m", "more"],
        &["restore", "auth", "--force"],
    ];
    let refs = || world.git_line(["for-each-ref", "refs/checkpoints"]);
    let mut faults = Vec::new();
    let mut failed = 0;
    for files in LIMITS {
        for directory in DIRECTORIES {
            for line in lines {
                let before = refs();
                let out = limited(&world, files, directory, line, "");
                let said = String::from_utf8_lossy(out.stderr_bytes()).into_owned();
                // A partial checkpoint is one.
                let is_done = out.is_success() || out.status().code() == Some(7);
                failed += u32::from(!out.is_success());
                let wrong = (!out.is_success()).then(|| fault(&said)).flatten();
                if let Some(wrong) = wrong {
                    faults.push(format!("{files} in {directory}: {line:?}: {wrong}: {said}"));
                }
                if !is_done && refs() != before {
                    faults.push(format!("{files} in {directory}: {line:?}: a ref changed"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(failed > 5, "only {failed} failed");
    world.git(["fsck", "--strict"]).success();
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn front_ends_name_the_limit_of_open_files() {
    let world = world();
    let requests = [
        json!({"args": ["list"]}),
        json!({"args": ["show", "auth"]}),
        json!({"args": ["save", "--allow-empty", "--session", "auth", "-m", "b"]}),
        json!({"args": ["resume", "auth"]}),
        json!({"tool": "checkpoint_list"}),
        json!({"tool": "checkpoint_save", "arguments": {"record": {"summary": "c"}, "session": "auth"}}),
    ];
    let batch: String = requests.iter().map(|request| format!("{request}\n")).collect();
    // One call: several would share the descriptors.
    let served = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "checkpoint_resume", "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }})
    .to_string()
        + "\n";
    let mut faults = Vec::new();
    for files in LIMITS {
        for directory in DIRECTORIES {
            let out = limited(&world, files, directory, &["batch"], &batch);
            let text = String::from_utf8_lossy(out.stdout_bytes()).into_owned();
            let answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            if answers.is_empty() {
                let said = String::from_utf8_lossy(out.stderr_bytes()).into_owned();
                faults.extend(fault(&said).map(|wrong| format!("{files} in {directory}: batch: {wrong}: {said}")));
            }
            for (request, answer) in requests.iter().zip(&answers) {
                let error = answer["error"].to_string();
                let wrong = (answer["exit_code"] != 0).then(|| fault(&error)).flatten();
                faults.extend(wrong.map(|wrong| format!("{files} in {directory}: {request}: {wrong}: {answer}")));
            }
            let out = limited(&world, files, directory, &["mcp"], &served);
            let text = String::from_utf8_lossy(out.stdout_bytes()).into_owned();
            if text.is_empty() {
                let said = String::from_utf8_lossy(out.stderr_bytes()).into_owned();
                faults.extend(fault(&said).map(|wrong| format!("{files} in {directory}: mcp: {wrong}: {said}")));
            }
            for line in text.lines() {
                let answer: Value = serde_json::from_str(line).unwrap();
                let is_error = answer["result"]["isError"] == true || !answer["error"].is_null();
                let wrong = is_error.then(|| fault(line)).flatten();
                faults.extend(wrong.map(|wrong| format!("{files} in {directory}: mcp: {wrong}: {line}")));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    world.git(["fsck", "--strict"]).success();
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn a_file_beyond_the_limit_of_sizes_is_an_error_and_no_end_half_way() {
    for command in [&["pause", "--clean"][..], &["restore", "@"]] {
        let world = World::without_repository();
        world.git(["init", "--quiet", "--initial-branch=main"]).success();
        world.file("big", "x".repeat(300_000));
        world.file("a", "a\n");
        world.git(["add", "--all"]).success();
        world.git(["commit", "--quiet", "-m", "init"]).success();
        world.checkpoint(["save", "-m", "before"]).success();
        world.file("big", "small\n");
        world.file("a", "changed\n");
        world.file("n", "new\n");
        let script = ["-c", "ulimit -f 100 && exec \"$@\"", "sh", PROGRAM];
        let run = world.command("sh", script.iter().chain(command).copied()).run();
        assert!(!run.is_success(), "{command:?}");
        run.stdout_has("big ").stdout_has("file too large");
        world.checkpoint(["restore", "--abort"]).success();
        for (name, text) in [("big", "small\n"), ("a", "changed\n"), ("n", "new\n")] {
            assert_eq!(world.read(name), text.as_bytes(), "{command:?} {name}");
        }
        assert_eq!(
            world.git_line(["status", "--porcelain"]),
            " M a\n M big\n?? n",
            "{command:?}"
        );
    }
}
