//! What a command says is what it did, and what the next command finds.

use serde_json::json;

use crate::support::{PROGRAM, World};

fn with_remote() -> World {
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../hub"]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.git(["push", "-q", "-u", "origin", "main"]).success();
    world
}

#[test]
fn clearing_all_clears_the_summary_too() {
    let world = World::with_commit();
    world
        .checkpoint(["save", "-m", "the old summary", "-d", "a decision"])
        .success();
    world.checkpoint(["clear", "--all", "-y"]).success();
    for command in ["show", "list", "resume", "status"] {
        world.checkpoint([command]).success().stdout_lacks("the old summary");
    }
    world.checkpoint(["save", "--allow-empty"]).success();
    world.checkpoint(["list"]).success().stdout_lacks("the old summary");
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "the old summary"]).success();
    world.checkpoint(["clear", "--all", "-y"]).success();
    world.checkpoint(["undo"]).success();
    world.checkpoint(["show"]).success().stdout_has("the old summary");
    // Without the record, the summary stays.
    world
        .checkpoint(["message", "add", "--role", "user", "hello"])
        .success();
    world.checkpoint(["clear", "--messages", "-y"]).success();
    world.checkpoint(["show"]).success().stdout_has("the old summary");
}

#[test]
fn the_state_before_the_first_turn_is_nobodys_edit() {
    let world = World::with_commit();
    std::fs::create_dir_all(world.home().join(".claude")).unwrap();
    world.checkpoint(["enable", "claude-code"]).success();
    let hook = |name: &str, key: &str| {
        let payload = json!({
            "session_id": "6f1c", "cwd": world.repo().to_str().unwrap(), "hook_event_name": name,
            "transcript_path": world.home().join("none.jsonl").to_str().unwrap(),
            "prompt": "do it", "prompt_id": key,
        });
        let hook = world
            .command(PROGRAM, ["hook", "claude-code", name])
            .input(payload.to_string());
        hook.env("CHECKPOINT_AGENT_HOOK", "worker").run().success();
    };
    hook("UserPromptSubmit", "p1");
    world
        .checkpoint(["log"])
        .success()
        .stdout_has("state before the first turn")
        .stdout_lacks("edits between turns");
    world.file("work", "of the agent\n");
    hook("Stop", "p1");
    world.file("work", "by hand\n");
    hook("UserPromptSubmit", "p2");
    world.checkpoint(["log"]).success().stdout_has("edits between turns");
}

#[test]
fn the_session_that_is_current_is_active() {
    let world = World::with_commit();
    world.checkpoint(["pause"]).success();
    world.checkpoint(["resume"]).success();
    world
        .checkpoint(["switch", "main"])
        .success()
        .stdout_has("Already in session main, active\n");
    world.checkpoint(["start", "other"]).success();
    world.checkpoint(["pause", "--session", "main"]).success();
    let switched = world.checkpoint(["switch", "main", "--json"]).success().stdout_json();
    assert_eq!(switched["status"], "active");
    world.checkpoint(["switch", "other"]).success();
    world
        .checkpoint(["switch", "main"])
        .success()
        .stdout_has("Switched to session main, active, was paused\n");
}

#[test]
fn a_trash_without_deleted_sessions_is_not_called_empty() {
    let world = World::with_commit();
    for summary in ["one", "two", "three"] {
        world.file("work", summary);
        world.checkpoint(["save", "-m", summary]).success();
    }
    world.checkpoint(["prune", "--keep-last", "1"]).success();
    world
        .checkpoint(["undelete", "main"])
        .code(3)
        .stderr_lacks("the trash is empty")
        .stderr_has("no deleted session is in the trash");
    let trash = world.checkpoint(["list", "--trash", "--json"]).success().stdout_json();
    assert_eq!(trash["older_states"], 1);
    world
        .checkpoint(["list", "--trash"])
        .success()
        .stderr_has("It keeps 1 older state");
}

#[test]
fn the_dry_run_of_a_purge_counts_the_entries_that_it_forgets() {
    let world = World::with_commit();
    world.file("work", "one\n");
    world.checkpoint(["save", "-m", "one"]).success();
    world.file("work", "two\n");
    world.checkpoint(["restore", "main"]).success();
    let row = "forgotten 1 entry of the undo list";
    world.checkpoint(["purge", "main", "-n"]).success().stdout_has(row);
    // Nothing was forgotten yet.
    world.checkpoint(["undo", "-n"]).success();
    world.checkpoint(["purge", "main", "-y"]).success().stdout_has(row);
}

#[test]
fn a_changed_submodule_is_named_where_it_stays() {
    let world = World::with_commit();
    world.git(["init", "-q", "../lib-source"]).success();
    world
        .git(["-C", "../lib-source", "commit", "-q", "--allow-empty", "-m", "lib"])
        .success();
    world
        .git([
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            "../lib-source",
            "lib",
        ])
        .success();
    world.git(["commit", "-qm", "lib"]).success();
    world.file("lib/new", "work in lib\n");
    world.file("work", "half\n");
    world
        .checkpoint(["pause", "--clean"])
        .success()
        .stdout_has("1 deleted, 1 kept")
        .stdout_has("submodules are left alone");
    world
        .checkpoint(["resume"])
        .success()
        .stdout_has("1 changed submodule")
        .stdout_lacks("nothing uncommitted");
    assert_eq!(world.read("lib/new"), b"work in lib\n");
}

#[test]
fn a_fork_is_listed_with_its_own_branch() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "one"]).success();
    world
        .checkpoint(["fork", "@", "--name", "k", "--worktree", "../k"])
        .success();
    let listed = world.checkpoint(["list", "--json"]).success().stdout_json();
    let sessions = listed["sessions"].as_array().unwrap();
    let branch = |name: &str| {
        let row = sessions
            .iter()
            .find(|row| row["name"] == name || row["session"] == name);
        row.expect("it is listed")["branch"].clone()
    };
    assert_eq!(branch("k"), "checkpoint/k");
    assert_eq!(branch("main"), "main");
    assert_eq!(
        world.git_line(["-C", "../k", "branch", "--show-current"]),
        "checkpoint/k"
    );
    let there = world.git(["-C", "../k", "checkpoint", "resume", "--fail-on-drift"]);
    there.success().stdout_has("checkpoint/k at");
}

#[test]
fn a_search_finds_words_and_not_what_the_program_notes() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world
        .checkpoint(["save", "-m", "words", "-d", "start with the lexer", "--allow-empty"])
        .success();
    world.checkpoint(["search", "save"]).code(1);
    world
        .checkpoint(["search", "start"])
        .success()
        .stdout_has("start with the lexer")
        .stdout_lacks("kind");
    world
        .checkpoint(["search", "--all", "save"])
        .success()
        .stdout_has("kind");
}

#[test]
fn where_no_session_is_current_the_command_that_names_one_is_given() {
    let world = with_remote();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["finish", "-m", "done"]).success();
    world
        .checkpoint(["claim"])
        .code(3)
        .stderr_lacks("using 's'")
        .stderr_has("or name it: git checkpoint claim s\n");
    world
        .checkpoint(["release"])
        .code(3)
        .stderr_has("or name it: git checkpoint release s\n");
    let refused = world.checkpoint(["bundle", "../a file"]);
    refused.code(3);
    let command = refused.advised("or name it: ");
    assert_eq!(command, "git checkpoint bundle '../a file' s");
    world.typed(&command).success();
    // After a pull of a session that is not current.
    world.checkpoint(["push", "origin", "s"]).success();
    world.git(["clone", "-q", "../hub", "../there"]).success();
    let there = |line: &[&str]| world.git([&["-C", "../there", "checkpoint"][..], line].concat());
    there(&["pull", "origin", "s"]).success();
    there(&["push"])
        .code(3)
        .stderr_has("or name it: git checkpoint push origin ");
}

#[test]
fn a_renamed_session_that_was_pushed_has_two_names_and_both_are_said() {
    let world = with_remote();
    world.checkpoint(["save", "-m", "one"]).success();
    world.checkpoint(["push"]).success();
    let renamed = world.checkpoint(["rename", "later", "--advice"]);
    renamed.success();
    let command = renamed.advised("origin still has it as 'main'; to delete that: ");
    world.checkpoint(["fetch"]).success();
    // The branch of that name is not the session of that name.
    world
        .checkpoint(["resume", "main"])
        .success()
        .stderr_has("'main' is a branch; its session is 'later'; for the fetched 'origin/main': git checkpoint resume origin/main\n");
    world
        .checkpoint(["resume", "later"])
        .success()
        .stderr_lacks("is a branch");
    world.typed(&command).success();
    assert_eq!(
        world.git_line(["-C", "../hub", "for-each-ref", "refs/checkpoints/main"]),
        ""
    );
}

#[test]
fn a_bad_setting_comes_with_the_command_that_removes_it() {
    let world = World::with_commit();
    for (key, value, why) in [
        ("checkpoint.keepLast", "abc", "it must be a number\n"),
        ("checkpoint.redact", "maybe", "it must be one of on, warn, off\n"),
        (
            "checkpoint.maxFileSize",
            "big",
            "it must be a number, perhaps with k, m or g\n",
        ),
    ] {
        for scope in ["--local", "--global"] {
            world.git(["config", scope, key, value]).success();
            let refused = world.checkpoint(["save"]);
            refused.code(128).stderr_has(why);
            world.typed(&refused.advised("to use the default: ")).success();
            world.checkpoint(["save", "--allow-empty"]).success();
        }
    }
}

#[test]
fn without_files_the_error_has_a_command_that_helps() {
    let world = World::with_commit();
    world.checkpoint(["start", "only"]).success();
    let refused = world.checkpoint(["restore"]);
    refused.code(3).stderr_has("no files were saved with checkpoint");
    world.typed(&refused.advised("to save files: ")).success();
    world.file("work", "one\n");
    world.checkpoint(["save", "-m", "with files"]).success();
    world.checkpoint(["save", "--no-files", "-m", "without"]).success();
    let refused = world.checkpoint(["restore"]);
    refused.code(3);
    let command = refused.advised("the latest one before it that has files: ");
    world.typed(&command).success().stdout_has("with files");
}

#[test]
fn quiet_leaves_the_hints_of_errors_and_twice_none() {
    let world = World::with_commit();
    world.checkpoint(["-q", "show", "none"]).code(3).stderr_has("hint: ");
    world.checkpoint(["-qq", "show", "none"]).code(3).stderr_lacks("hint: ");
    world
        .checkpoint(["help", "options"])
        .success()
        .stdout_has("no hints but those of errors");
}

#[test]
fn one_more_row_is_shown_and_not_counted() {
    let world = World::with_commit();
    for n in 1..=6 {
        world.file(format!("new{n}"), "new\n");
        world.checkpoint(["todo", "add", &format!("item {n}")]).success();
    }
    world.checkpoint(["save"]).success();
    let shown = world.checkpoint(["show"]);
    shown
        .success()
        .stdout_has("A new6")
        .stdout_has("item 6")
        .stdout_lacks("more:");
    world.file("new7", "new\n");
    world.checkpoint(["todo", "add", "item 7"]).success();
    world.checkpoint(["save"]).success();
    world
        .checkpoint(["show"])
        .success()
        .stdout_lacks("A new6")
        .stdout_has("... 2 more: git checkpoint show main --all");
}

#[test]
fn the_time_of_a_claim_is_for_people() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "one"]).success();
    for n in 1..=6 {
        world
            .checkpoint(["message", "add", "--role", "user", &format!("message {n}")])
            .success();
    }
    world.checkpoint(["compact", "--force"]).success();
    world.checkpoint(["claim"]).success();
    let rename = world.command(PROGRAM, ["rename", "other"]);
    let refused = rename.env("CHECKPOINT_AGENT", "ben").run();
    refused.code(4).stderr_has("is claimed by Ana Author on ");
    let until = refused.stderr().split_once(" until ").expect("a time").1.to_owned();
    let until = until.lines().next().unwrap_or_default();
    assert!(until.ends_with(" +0000") && !until.contains('T'), "{until}");
    world
        .checkpoint(["status"])
        .success()
        .stdout_has(&format!("until {until}"));
    world
        .checkpoint(["show"])
        .success()
        .stdout_has("Earlier messages, summarized (3)\n");
}
