//! Whatever is wrong with the repository, or however much was saved: whoever resumes gets what there is.

use std::fs;

use crate::support::{PROGRAM, World};

fn record(world: &World, json: &str) {
    let save = world.command(PROGRAM, ["save", "-q", "-m", "SUMMARY", "--record", "-"]);
    save.input(json).run().success();
}

#[test]
fn a_lost_head_keeps_nobody_from_the_record() {
    let world = World::with_commit();
    record(
        &world,
        r#"{"next_steps": ["NEXT"], "tasks": [{"id": "T", "title": "TASK"}]}"#,
    );
    world.checkpoint(["start", "other"]).success();
    world.checkpoint(["save", "-m", "OTHER"]).success();
    world.checkpoint(["switch", "main"]).success();
    let before: Vec<_> = walk(&world.path(".git"));
    let head = world.read(".git/HEAD");
    fs::remove_file(world.path(".git/HEAD")).unwrap();
    for (args, wanted) in [
        (&["resume"][..], "SUMMARY"),
        (&["resume", "other"], "OTHER"),
        (&["resume", "--format", "prompt"], "TASK"),
        (&["resume", "--format", "markdown"], "NEXT"),
        (&["resume", "--list"], "OTHER"),
    ] {
        let shown = world.checkpoint(args);
        // It is the same working tree as at save time.
        shown.success().stdout_has(wanted).stdout_lacks("place  ");
        shown
            .stderr_has("has no file HEAD")
            .stderr_has("echo 'ref: refs/heads/main' >");
    }
    world
        .checkpoint(["resume", "--apply"])
        .code(128)
        .stderr_has("no file HEAD");
    world.checkpoint(["save"]).code(128);
    fs::write(world.path(".git/HEAD"), head).unwrap();
    assert_eq!(walk(&world.path(".git")), before, "nothing was written");
    // What says nothing is as good as lost.
    fs::write(world.path(".git/HEAD"), "garbage\n").unwrap();
    world
        .checkpoint(["resume"])
        .success()
        .stdout_has("SUMMARY")
        .stdout_has("unknown");
}

/// The git directory of a linked working tree is another one than that with the sessions.
#[test]
fn a_lost_head_of_a_linked_worktree_keeps_nobody_from_the_record() {
    let world = World::with_commit();
    world
        .git(["worktree", "add", "-q", "../linked", "-b", "side"])
        .success();
    record(&world, r#"{"next_steps": ["OF MAIN"]}"#);
    world.enter("linked");
    record(&world, r#"{"next_steps": ["OF SIDE"]}"#);
    let head = std::path::PathBuf::from(world.git_line(["rev-parse", "--absolute-git-dir"])).join("HEAD");
    fs::remove_file(head).unwrap();
    world
        .checkpoint(["resume"])
        .success()
        .stdout_has("OF SIDE")
        .stdout_lacks("place  ")
        .stderr_has("has no file HEAD");
    world
        .checkpoint(["resume", "main"])
        .success()
        .stdout_has("OF MAIN")
        .stdout_has("saved in working tree main");
    world.checkpoint(["save"]).code(128);
}

/// The files below a directory with their bytes.
fn walk(directory: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut out = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            out.append(&mut walk(&path));
        } else {
            out.push((path.clone(), fs::read(&path).unwrap_or_default()));
        }
    }
    out.sort();
    out
}

#[test]
fn commands_name_the_checkpoint_that_is_shown() {
    let world = World::with_commit();
    let texts: Vec<String> = (0..12).map(|n| format!("\"todo {n}\"")).collect();
    record(&world, &format!(r#"{{"todos": [{}]}}"#, texts.join(", ")));
    for n in 1..10 {
        world
            .checkpoint(["message", "add", "--role", "user", &format!("MESSAGE-{n}")])
            .success();
    }
    world.checkpoint(["save", "-m", "second"]).success();
    world.checkpoint(["start", "other"]).success();
    world.checkpoint(["save", "-m", "elsewhere"]).success();
    let shown = world.checkpoint(["show", "main"]);
    shown.success().stdout_has("MESSAGE-9").stdout_lacks("MESSAGE-4\n");
    for text in [
        shown.stdout().to_owned(),
        world.checkpoint(["show", "main~1"]).stdout().to_owned(),
    ] {
        let commands = text
            .lines()
            .filter_map(|line| Some(line.split_once("git checkpoint ")?.1));
        let mut count = 0;
        for command in commands {
            let args: Vec<&str> = command.split(' ').collect();
            let done = world.checkpoint(&args);
            assert!(done.is_success(), "{command}: {}", done.stderr());
            assert!(!done.stdout().contains("elsewhere"), "{command}: {}", done.stdout());
            count += 1;
        }
        assert!(count >= 1, "{text}");
    }
    let id = world.git_line(["rev-parse", "--short=8", "checkpoints/main~1"]);
    let handoff = world.checkpoint(["export", "main~1", "--format", "handoff"]);
    handoff
        .stdout_has(&format!("git checkpoint restore {id}"))
        .stdout_lacks("restore main");
    world
        .checkpoint(["message", "list", "main", "--full"])
        .success()
        .stdout_has("MESSAGE-1")
        .stdout_has("MESSAGE-9");
}

#[test]
fn a_long_list_leaves_room_in_the_prompt() {
    let world = World::with_commit();
    world.checkpoint(["start", "main"]).success();
    let decisions: Vec<String> = (0..300)
        .map(|n| format!("\"decision {n} {}\"", "w".repeat(60)))
        .collect();
    let json = format!(
        r#"{{"decisions": [{}], "questions": ["QUESTION"], "state": {{"k": "STATE"}}, "next_steps": ["NEXT"]}}"#,
        decisions.join(", ")
    );
    for n in 1..20 {
        world
            .checkpoint(["message", "add", "--role", "user", &format!("MESSAGE-{n}")])
            .success();
    }
    record(&world, &json);
    world.checkpoint(["task", "add", "DRAFT"]).success();
    let prompt = |size: &str| {
        let made = world.checkpoint(["resume", "--format", "prompt", "--max-chars", size]);
        made.success();
        assert!(made.stdout().chars().count() <= size.parse().unwrap());
        made.stdout().to_owned()
    };
    let text = prompt("10000");
    for wanted in [
        "SUMMARY",
        "NEXT",
        "QUESTION",
        "STATE",
        "MESSAGE-19",
        "of Decisions",
        "1 change of the record not saved",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let least = prompt("1000");
    assert!(least.contains("SUMMARY") && least.contains("NEXT"), "{least}");
    assert!(least.contains("left out") || least.contains("All of it"), "{least}");
    // What a model is asked has a limit as well.
    world
        .checkpoint(["request", "hi", "--max-tokens", "3000"])
        .success()
        .stdout_has("NEXT")
        .stdout_has(" more: `git checkpoint show main --all`");
}

#[test]
fn a_record_says_what_its_values_are() {
    let world = World::with_commit();
    record(&world, r#"{"next_steps": ["old"], "tasks": ["a", "b", "c"]}"#);
    record(&world, r#"{"next_steps": ["new"]}"#);
    world
        .checkpoint(["resume"])
        .success()
        .stdout_has("new")
        .stdout_lacks("old");
    let refused = |json: &str, place: &str| {
        let save = world.command(PROGRAM, ["save", "--record", "-"]);
        save.input(json).run().code(128).stderr_has(place);
    };
    refused(r#"{"tasks": [{"title": "x", "status": "wip"}]}"#, "'tasks[0].status'");
    refused(r#"{"todos": ["x", {"id": "", "text": "y"}]}"#, "'todos[1].id'");
    refused(r#"{"decisions": [{"text": " "}]}"#, "'decisions[0].text'");
    refused(
        r#"{"tasks": [{"id": "A", "title": "t", "depends_on": ["A"]}]}"#,
        "'tasks[0].depends_on'",
    );
    refused(r#"{"step": {"n": 9, "of": 2}}"#, "'step'");
    refused(r#"{"phase": {"n": 1, "of": 0}}"#, "'phase'");
    let save = world.command(PROGRAM, ["save", "--record", "-"]);
    let save = save.input(r#"{"decisions": [{"text": "d", "why": "W"}]}"#).run();
    save.success()
        .stderr_has("unknown record field 'decisions[].why' is kept as it is");
}

#[test]
fn a_session_is_found_however_its_task_is_written() {
    let world = World::with_commit();
    world
        .checkpoint(["start", "a", "--feature", "Login", "--issue", "#12"])
        .success();
    record(
        &world,
        r#"{"tasks": [{"id": "TAS-1", "title": "t", "status": "in_progress"}]}"#,
    );
    world.checkpoint(["task", "add", "drafted"]).success();
    for args in [
        ["--state", "in-progress"],
        ["--state", "IN_PROGRESS"],
        ["--task", "tas-1"],
        ["--task", "Drafted"],
        ["--feature", "login"],
        ["--issue", "12"],
    ] {
        world
            .checkpoint([&["list"][..], &args].concat())
            .success()
            .stdout_has("SUMMARY");
    }
    world
        .checkpoint(["list", "--state", "bogus"])
        .success()
        .stderr_has("states of tasks: todo, in_progress, done, blocked, dropped");
    let id = world.checkpoint(["resume", "--json"]).stdout_json()["session_id"]
        .as_str()
        .unwrap()
        .to_owned();
    world
        .checkpoint(["resume", "--session-id", &id[..8]])
        .success()
        .stdout_has("Session a,");
    world.checkpoint(["finish", "-m", "over"]).success();
    world
        .checkpoint(["task", "list"])
        .success()
        .stdout_has("TAS-1")
        .stderr_has("'a', which was finished last");
}

#[test]
fn what_was_discarded_and_then_committed_over_is_a_conflict() {
    let world = World::with_commit();
    world.file("c", "1\n2\n3\n");
    world.git(["add", "c"]).success();
    world.git(["commit", "-qm", "c"]).success();
    world.file("c", "1\nMINE\n3\n");
    world.checkpoint(["pause", "-m", "half"]).success();
    world.git(["checkout", "-q", "c"]).success();
    world.file("c", "1\nTHEIRS\n3\n");
    world.git(["commit", "-qam", "t"]).success();
    world
        .checkpoint(["resume", "--apply"])
        .code(1)
        .stdout_has("conflict")
        .stdout_lacks("Already up to date");
    let text = String::from_utf8(world.read("c")).unwrap();
    assert!(text.contains("MINE") && text.contains("THEIRS"), "{text}");
}

#[test]
fn nothing_to_resume_is_said_or_not() {
    let world = World::with_commit();
    world
        .checkpoint(["resume", "--list"])
        .success()
        .no_stdout()
        .stderr_has("No sessions found.");
    world
        .checkpoint(["resume", "--list", "--if-any"])
        .success()
        .no_stdout()
        .no_stderr();
    world.checkpoint(["resume", "--list", "x"]).code(129);
    let outside = World::without_repository();
    outside
        .checkpoint(["resume", "--if-any", "--format", "prompt"])
        .success()
        .no_stdout()
        .no_stderr();
    outside.checkpoint(["resume"]).code(128);
}
