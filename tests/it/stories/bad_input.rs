//! Bad input gets a clear error with what to do next, and changes nothing.

use std::fs;

use crate::support::{PROGRAM, World};

#[test]
fn selectors_and_names() {
    let world = World::with_commit();
    world
        .checkpoint(["show"])
        .code(3)
        .stderr_has("there are no sessions yet")
        .stderr_has("git checkpoint save");
    world.checkpoint(["start", "auth-refactor"]).success();
    world.checkpoint(["start", "auth-fork"]).success();
    world
        .checkpoint(["show", "auth-"])
        .code(3)
        .stderr_has("'auth-' matches 2 sessions\n")
        .stderr_has("auth-refactor");
    world
        .checkpoint(["show", "auth-refactr"])
        .code(3)
        .stderr_has("did you mean")
        .stderr_has("auth-refactor");
    world
        .checkpoint(["show", "nothing"])
        .code(3)
        .stderr_has("no session or checkpoint 'nothing'");
    world
        .checkpoint(["show", "auth-fork~5"])
        .code(3)
        .stderr_has("has no checkpoint '~5'");
    world
        .checkpoint(["show", "a^2"])
        .code(129)
        .stderr_has("is not a selector");
    world
        .checkpoint(["show", "auth-fork@{gibberish}"])
        .code(129)
        .stderr_has("'gibberish' is not a date");
    for name in ["../x", "con", "a.lock", "-x", "head", "a b", "x\u{1b}[31m"] {
        world
            .checkpoint(["start", "--", name])
            .code(129)
            .stderr_has("is not a valid name")
            .stderr_lacks("\u{1b}");
    }
    world
        .checkpoint(["save", "--session", "auth-fork", "--name", "taken"])
        .success();
    world
        .checkpoint(["save", "--session", "auth-fork", "--name", "taken"])
        .code(4)
        .stderr_has("already has a checkpoint named 'taken'");
    world.checkpoint(["sav"]).code(129).stderr_has("save");
    world.checkpoint(["save", "--step", "9/3"]).code(129).stderr_has("N/M");
}

#[test]
fn members_that_no_record_has_are_kept_and_told() {
    let world = World::with_commit();
    let saved = |input: &str| world.command(PROGRAM, ["save", "--record", "-"]).input(input).run();
    saved(r#"{"decision": ["x"], "todo": ["y"]}"#)
        .success()
        .stderr_has("warning: unknown record field 'decision' is kept as it is; did you mean 'decisions'?\n")
        .stderr_has("did you mean 'todos'?");
    saved(r#"{"pending": ["do it"]}"#)
        .success()
        .stderr_has("unknown record field 'pending'")
        .stderr_has("'state' or 'extra'");
    let shown = world.checkpoint(["show", "@", "--json"]).success().stdout_json();
    assert_eq!(shown["document"]["record"]["decision"][0], "x");
    saved(r#"{"decisions": ["x"], "state": {"decision": 1}, "extra": {"a": 1}, "decision": null}"#)
        .success()
        .stderr_lacks("unknown record field");
}

#[test]
fn commands_of_commands_and_what_they_need() {
    let world = World::with_commit();
    world
        .checkpoint(["state", "x"])
        .code(129)
        .stderr_has("hint: see: git checkpoint help state");
    // Alone they show what there is.
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["hooks"]).code(1).stdout_has("post-commit");
    for noun in ["message", "step", "context", "todo", "task"] {
        world.checkpoint([noun]).success();
    }
    world.checkpoint(["state"]).code(1);
    // And their text may follow directly, but a mistyped command is no text.
    world.checkpoint(["todo", "tell ops"]).success();
    world.checkpoint(["todo"]).success().stdout_has("tell ops");
    world.checkpoint(["todo", "dnoe"]).code(129);
    // What excludes each other is not shown in one line.
    world
        .checkpoint(["purge", "s", "--dry-run", "--", "u.txt"])
        .code(129)
        .stderr_has("hint: usage: git checkpoint purge [OPTIONS] <CHECKPOINT>\n")
        .stderr_has("hint: or: git checkpoint purge [OPTIONS] -- <PATHSPEC>...\n");
}

#[test]
fn what_is_done_is_told_though_standard_output_fails() {
    let world = World::with_commit();
    let bash = |line: &str| world.command("bash", ["-c", line]).run();
    world.checkpoint(["start", "s"]).success();
    bash("git checkpoint save -m full >/dev/full")
        .code(128)
        .stderr_has("fatal: cannot write to standard output: no space left on device\n")
        .stderr_has("fatal: the command itself succeeded: Saved ")
        .stderr_has("git checkpoint log");
    assert_eq!(
        world.checkpoint(["log", "--oneline"]).stdout().matches("full").count(),
        1
    );
    bash("git checkpoint save -m json --json >/dev/full")
        .code(128)
        .stderr_has("the command itself succeeded: ")
        .stderr_has(" of session 's'");
    bash("git checkpoint todo add 'something' >/dev/full")
        .code(128)
        .stderr_has("the command itself succeeded");
    bash("git checkpoint hooks install >/dev/full")
        .code(128)
        .stderr_has("the command itself succeeded");
    bash("git checkpoint start other >/dev/full")
        .code(128)
        .stderr_has("the command itself succeeded: Started");
    world.file("README.md", "other");
    bash("git checkpoint restore s >/dev/full")
        .code(128)
        .stderr_has("the command itself succeeded: Restored");
    // What changes nothing has nothing to say.
    for line in ["log", "save --dry-run", "status --json", "restore s --dry-run"] {
        bash(&format!("git checkpoint {line} >/dev/full"))
            .code(128)
            .stderr_lacks("it is done");
    }
}

#[test]
fn json_that_cannot_be_used() {
    let world = World::with_commit();
    let deep = "[".repeat(100_000);
    let deep_enough = format!("{{\"state\": {}{}}}", "[".repeat(70), "]".repeat(70));
    let cases = [
        ("{", "not valid JSON"),
        (r#"{"state": 1, "state": 2}"#, "duplicate key"),
        (deep.as_str(), "recursion limit"),
        (deep_enough.as_str(), "nested deeper than 64 levels"),
        ("[]", "a record must be a JSON object"),
        (r#"{"tasks": 5}"#, "'tasks' must be a list"),
        (
            r#"{"tasks": [{"title": "x", "status": "dancing"}]}"#,
            "'tasks[0].status'",
        ),
        ("\u{feff}{}", "not valid JSON"),
    ];
    for (input, reason) in cases {
        let run = world.command(PROGRAM, ["save", "--record", "-"]).input(input).run();
        run.code(128).stderr_has(reason);
        assert!(!run.stderr().contains("Error {"), "{}", run.stderr());
    }
    let run = world
        .command(PROGRAM, ["save", "--record", "-", "--json"])
        .input("{")
        .run();
    assert_eq!(run.code(128).stderr_json()["error"]["code"], "invalid");
    world.file("../big.json", vec![b' '; (16 << 20) + 1]);
    world
        .checkpoint(["save", "--record", "../big.json"])
        .code(128)
        .stderr_has("more than the");
    world
        .checkpoint(["save", "--attach", "../absent"])
        .code(3)
        .stderr_has("'../absent'");
    world
        .checkpoint(["save", "--attach", "src"])
        .code(128)
        .stderr_has("it is a directory");
    world.git(["for-each-ref", "refs/checkpoints"]).success().no_stdout();
}

#[test]
fn no_repository_a_bare_one_and_the_home_directory() {
    let world = World::without_repository();
    world.checkpoint(["save"]).code(128).stderr_has("not a git repository");
    let world = World::with_commit();
    world.git(["clone", "-q", "--bare", ".", "../bare.git"]).success();
    world.enter("bare.git");
    world.checkpoint(["save"]).code(128).stderr_has("bare");
    world.checkpoint(["list"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("a bare repository")
        .stdout_lacks("clean");
    let world = World::with_commit();
    let home = world.repo();
    let run = || world.command(PROGRAM, ["save"]).env("HOME", &home);
    run()
        .run()
        .code(4)
        .stderr_has("your home directory")
        .stderr_has("checkpoint.allowHome");
    let allowed = run()
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "checkpoint.allowHome");
    allowed.env("GIT_CONFIG_VALUE_0", "true").run().success();
}

/// As for git: what looks at files does not call them clean where it does not see them.
#[test]
fn within_the_repository_itself_there_is_no_working_tree() {
    let world = World::with_commit();
    world.checkpoint(["save", "--session", "s", "-m", "x"]).success();
    world.file("new", "unsaved");
    world.file("README.md", "unsaved");
    for directory in ["repo/.git", "repo/.git/refs"] {
        world.enter(directory);
        world.git(["status"]).code(128).stderr_has("must be run in a work tree");
        for line in [
            &["status"][..],
            &["status", "--exit-code"],
            &["diff"],
            &["resume"],
            &["save", "-m", "y"],
            &["restore", "s"],
            &["pause", "--clean"],
        ] {
            world.checkpoint(line).code(128).stderr_has("needs a working tree");
        }
        for line in [&["list"][..], &["log"], &["show", "s"]] {
            world.checkpoint(line).success();
        }
        let root = world.root().join("repo").to_string_lossy().into_owned();
        world
            .command("git", ["--work-tree", &root, "checkpoint", "status", "--exit-code"])
            .run()
            .code(1)
            .stdout_has("1 untracked");
    }
}

#[test]
fn a_ref_in_the_way_of_all_sessions() {
    let world = World::with_commit();
    world.git(["update-ref", "refs/checkpoints", "HEAD"]).success();
    world.checkpoint(["save"]).code(4).stderr_has("refs/checkpoints");
}

#[test]
fn a_held_lock_is_waited_for_and_then_named() {
    let world = World::with_commit();
    world.checkpoint(["save", "--session", "s", "-m", "x"]).success();
    world.file("x", "x");
    fs::write(world.path(".git/refs/checkpoints/s.lock"), "").unwrap();
    let run = world
        .command(PROGRAM, ["save", "--session", "s", "-m", "y"])
        .env("GIT_CONFIG_COUNT", "1");
    let run = run
        .env("GIT_CONFIG_KEY_0", "checkpoint.lockTimeout")
        .env("GIT_CONFIG_VALUE_0", "1s")
        .run();
    run.code(5).stderr_has("refs/checkpoints/s.lock");
    fs::remove_file(world.path(".git/refs/checkpoints/s.lock")).unwrap();
    world.checkpoint(["save", "--session", "s", "-m", "y"]).success();
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn a_text_of_several_words_is_to_be_quoted_and_no_session() {
    let world = World::with_commit();
    for (line, meant) in [
        ("task add one extra", "git checkpoint task add 'one extra'"),
        ("decision add x y z", "git checkpoint decision add 'x y z'"),
        ("question answer 1 a b", "git checkpoint question answer 1 'a b'"),
        ("note a b", "git checkpoint note 'a b'"),
        (
            "message add user hello there",
            "git checkpoint message add --role user 'hello there'",
        ),
        (
            "message add hello there",
            "git checkpoint message add --role <role> 'hello there'",
        ),
    ] {
        world
            .checkpoint(line.split(' '))
            .code(129)
            .stderr_has(&format!("quote a text of several words: {meant}\n"))
            .stderr_lacks("--session");
    }
    for line in ["step run build -- true", "state set a 1", "resume a b"] {
        world
            .checkpoint(line.split(' '))
            .code(129)
            .stderr_lacks("--session")
            .stderr_lacks("quote");
    }
    // A command without texts may be about a session.
    world.checkpoint(["pause", "main"]).code(129).stderr_lacks("quote");
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let world = World::with_commit();
    world
        .checkpoint(["save", "--session", "s", "-m", "x", "--allow-empty"])
        .success();
    for line in [
        &["export", "s", "-o", "../none/x.md"][..],
        &["export", "s", "--format", "json", "-o", "../none/deep/x.json"],
        &["bundle", "../none/x"],
    ] {
        let refused = world.checkpoint(line);
        refused
            .code(3)
            .stderr_has("no directory '../none")
            .stderr_has("make it first");
    }
    assert!(!world.root().join("none").exists());
}

#[test]
fn a_line_of_a_batch_that_is_no_request_is_answered_in_plain_words() {
    let world = World::with_commit();
    for (line, answer) in [
        ("[]", "a request is an object"),
        ("\"s\"", "a request is an object"),
        ("{\"args\":\"save\"}", "'args' is a list of words"),
    ] {
        let run = world.command(PROGRAM, ["batch"]).input(format!("{line}\n")).run();
        run.stdout_has(answer)
            .stdout_lacks("BatchRequest")
            .stdout_lacks("sequence");
    }
}
