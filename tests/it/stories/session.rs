//! The life of a session: start, save, pause, resume, finish; which one is current, and what it is called.

use crate::support::World;

#[test]
fn start_save_edit_commit_pause_resume_finish() {
    let world = World::with_commit();
    world
        .checkpoint(["start", "auth", "--agent", "claude", "--task", "move login"])
        .success()
        .stdout_has("Started session auth at ");
    world.file("src/main.txt", "one\n2\nthree\n");
    world
        .checkpoint([
            "save",
            "-m",
            "parser done",
            "--next",
            "make tests green",
            "-d",
            "keep v1",
        ])
        .success();
    world.git(["commit", "-qam", "second"]).success();
    world.file("notes.txt", "untracked\n");
    let paused = world
        .checkpoint(["pause", "-a", "schema written", "--json"])
        .success()
        .stdout_json();
    assert_eq!(
        (&paused["status"], &paused["kind"]),
        (&"paused".into(), &"pause".into())
    );
    assert_eq!(paused["record"]["done"], 1);
    assert_eq!(paused["record"]["pending"], 1, "next steps carry over");
    world.checkpoint(["status"]).success().stdout_has("no current session");
    world
        .checkpoint(["resume"])
        .success()
        .stdout_has("Session auth")
        .stdout_has("1 make tests green")
        .stdout_has("keep v1")
        .stdout_has("was paused")
        .stdout_has("No file was changed.");
    world.checkpoint(["status"]).success().stdout_has("auth, active");
    let finished = world
        .checkpoint(["finish", "-m", "merged", "--json"])
        .success()
        .stdout_json();
    assert_eq!(
        (&finished["status"], &finished["kind"]),
        (&"completed".into(), &"finish".into())
    );

    let log = world.git_line(["log", "--first-parent", "--format=%s", "checkpoints/auth"]);
    let subjects: Vec<&str> = log.lines().collect();
    assert_eq!(
        subjects,
        ["merged", "parser done", "parser done", "start auth"],
        "a pause keeps what was last written"
    );
    world.git(["fsck", "--strict"]).success().no_stderr();
}

/// What was noted of the latest checkpoint is believed for that checkpoint alone.
#[test]
fn a_log_is_of_the_session_and_not_of_its_name() {
    let world = World::with_commit();
    world.checkpoint(["start", "other"]).success();
    world.checkpoint(["save", "-m", "of another one"]).success();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "-m", "first"]).success();
    let log = || world.checkpoint(["log"]);
    let noted = || world.path(".git/checkpoint/tips/s").exists();
    assert!(!noted());
    let first = log().success().stdout().to_owned();
    assert!(noted() && first.contains("first"), "{first}");
    log().success().stdout_is(&first);
    world.checkpoint(["save", "--allow-empty", "-m", "second"]).success();
    log().success().stdout_has("second").stdout_has("first");
    let tip = world.git_line(["rev-parse", "refs/checkpoints/s"]);
    world
        .git(["update-ref", "refs/checkpoints/s", "refs/checkpoints/other"])
        .success();
    log().code(3).no_stdout();
    world.git(["update-ref", "refs/checkpoints/renamed", &tip]).success();
    log().success().stdout_has("second").stdout_lacks("of another one");
    world.git(["update-ref", "-d", "refs/checkpoints/renamed"]).success();
    world.git(["update-ref", "refs/checkpoints/s", &tip]).success();
    // After a gc the note is of a pack that is gone.
    world.git(["gc", "-q"]).success();
    log().success().stdout_has("second").stdout_has("first");
    log().success().stdout_has("second").stdout_has("first");
    // Where nothing can be noted, nothing is.
    std::fs::remove_dir_all(world.path(".git/checkpoint/tips")).unwrap();
    world.file(".git/checkpoint/tips", "no folder");
    log().success().no_stderr().stdout_has("second");
}

#[test]
fn every_line_of_plain_git_works() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.file("src/main.txt", "one\nTWO\nthree\n");
    world.file("README.md", "staged\n");
    world.git(["add", "README.md"]).success();
    world.checkpoint(["save", "-m", "first"]).success();
    world.file("fresh.txt", "new\n");
    world.checkpoint(["save", "-m", "second"]).success();
    let log = world.git_line(["log", "--first-parent", "--format=%s", "checkpoints/s"]);
    assert_eq!(log, "second\nfirst\nstart s");
    world
        .git(["show", "checkpoints/s:checkpoint.json"])
        .success()
        .stdout_has("\"schema\": \"git-checkpoint/1\"");
    world
        .git(["diff", "checkpoints/s~1", "checkpoints/s"])
        .success()
        .stdout_has("second");
    world
        .git(["diff", "HEAD", "checkpoints/s^2"])
        .success()
        .stdout_has("+TWO")
        .stdout_has("fresh.txt");
    world
        .git(["diff", "--name-only", "checkpoints/s~1^2", "checkpoints/s^2"])
        .success()
        .stdout_is("fresh.txt\n");
    world
        .git(["worktree", "add", "--quiet", "../try", "checkpoints/s^2"])
        .success();
    assert_eq!(
        std::fs::read_to_string(world.root().join("try/fresh.txt")).unwrap(),
        "new\n"
    );
    world.git(["reset", "-q", "--hard"]).success();
    std::fs::remove_file(world.path("fresh.txt")).unwrap();
    world
        .git(["stash", "apply", "-q", "--index", "checkpoints/s^2"])
        .success();
    world
        .git(["status", "--porcelain"])
        .success()
        .stdout_is("M  README.md\n M src/main.txt\n?? fresh.txt\n");
    world.git(["init", "-q", "--bare", "../remote.git"]).success();
    world
        .git(["push", "-q", "../remote.git", "refs/checkpoints/s"])
        .success();
    world.git(["-C", "../remote.git", "fsck", "--strict"]).success();
}

#[test]
fn save_without_a_session_continues_what_was_paused_here_else_starts_one() {
    let world = World::with_commit();
    let first = world.checkpoint(["save", "--json"]).success().stdout_json();
    assert_eq!(first["session_is"], "started");
    let name = first["session"].as_str().unwrap().to_owned();
    assert_eq!(name, "main");
    world.checkpoint(["pause"]).success();
    world.git(["switch", "-q", "-c", "other"]).success();
    let other = world.checkpoint(["save", "--json"]).success().stdout_json();
    assert_eq!(other["session_is"], "started", "paused on another branch");
    world.checkpoint(["pause"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.file("x", "x");
    let again = world.checkpoint(["save", "--json"]).success().stdout_json();
    assert_eq!(
        (again["session_is"].as_str(), again["session"].as_str()),
        (Some("continued"), Some(name.as_str()))
    );
    assert_eq!(again["status"], "active");
}

#[test]
fn nothing_new_makes_no_checkpoint() {
    let world = World::with_commit();
    let saved = world
        .checkpoint(["save", "-m", "one", "--json"])
        .success()
        .stdout_json();
    let again = world.checkpoint(["save", "--json"]).success().stdout_json();
    assert_eq!(
        (again["outcome"].as_str(), &again["id"]),
        (Some("unchanged"), &saved["id"])
    );
    let same_words = world
        .checkpoint(["save", "-m", "one", "--json"])
        .success()
        .stdout_json();
    assert_eq!(same_words["outcome"], "unchanged");
    let forced = world
        .checkpoint(["save", "--allow-empty", "--json"])
        .success()
        .stdout_json();
    assert_eq!(forced["outcome"], "saved");
    let snapshot = |id: &serde_json::Value| world.git_line(["rev-parse", &format!("{}^2", id.as_str().unwrap())]);
    assert_eq!(
        snapshot(&forced["id"]),
        snapshot(&saved["id"]),
        "the same snapshot commit is used again"
    );
    for change in [
        vec!["save", "-d", "decided"],
        vec!["save", "--name", "here"],
        vec!["pause"],
    ] {
        let outcome = world
            .checkpoint(change.iter().copied().chain(["--json"]))
            .success()
            .stdout_json();
        assert_eq!(outcome["outcome"], "saved", "{change:?}");
    }
}

#[test]
fn a_dry_run_writes_nothing() {
    let world = World::with_commit();
    world.file("x", "x");
    let files = |world: &World| world.command("find", [".git", "-type", "f"]).run().stdout().to_owned();
    let before = files(&world);
    let planned = world
        .checkpoint(["save", "--dry-run", "--json"])
        .success()
        .stdout_json();
    assert_eq!(planned["outcome"], "planned");
    assert_eq!(planned["git"]["untracked"]["count"], 1);
    let no_locks = |text: &str| {
        text.lines()
            .filter(|l| !l.contains("/checkpoint/"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(no_locks(&files(&world)), no_locks(&before));
    world.git(["for-each-ref", "refs/checkpoints"]).success().no_stdout();
}

#[test]
fn switch_rename_and_the_session_before() {
    let world = World::with_commit();
    world.checkpoint(["start", "one"]).success();
    world.checkpoint(["start", "two"]).success();
    world.checkpoint(["switch", "-"]).success().stdout_has("one");
    world.checkpoint(["rename", "@", "uno"]).success();
    world.checkpoint(["status"]).success().stdout_has("uno");
    world.checkpoint(["save", "-m", "after the renaming"]).success();
    world
        .git(["show-ref", "--verify", "-q", "refs/checkpoints/one"])
        .code(1);
    world.checkpoint(["verify", "uno"]).success();
    world
        .checkpoint(["rename", "uno", "two"])
        .code(4)
        .stderr_has("already exists");
    // A ref renamed with git alone is still the current session.
    let tip = world.git_line(["rev-parse", "refs/checkpoints/uno"]);
    world.git(["update-ref", "refs/checkpoints/moved", &tip]).success();
    world.git(["update-ref", "-d", "refs/checkpoints/uno"]).success();
    world.checkpoint(["status"]).success().stdout_has("moved");
}

#[test]
fn a_session_that_is_current_elsewhere_is_reported() {
    let world = World::with_commit();
    world
        .git(["worktree", "add", "-q", "../linked", "-b", "side"])
        .success();
    for name in ["one", "two"] {
        world.checkpoint(["start", name]).success();
    }
    let main = world.repo();
    world.enter("linked");
    world
        .checkpoint(["switch", "one"])
        .success()
        .stderr_lacks("also current");
    let warning =
        |root: &std::path::Path| format!("session 'two' is also current in the working tree '{}'", root.display());
    world
        .checkpoint(["switch", "two"])
        .success()
        .stderr_has(&warning(&main));
    let linked = world.repo();
    world.enter(&main);
    world
        .checkpoint(["switch", "one"])
        .success()
        .stderr_lacks("also current");
    world
        .checkpoint(["switch", "two", "-n"])
        .success()
        .stderr_has(&warning(&linked));
}

#[test]
fn a_session_named_for_one_command_does_not_become_current() {
    let world = World::with_commit();
    world.checkpoint(["start", "mine"]).success();
    world.checkpoint(["save", "--session", "other", "-m", "x"]).success();
    world.checkpoint(["status"]).success().stdout_has("mine");
    let run = world
        .command(crate::support::PROGRAM, ["save", "-m", "y", "--json"])
        .env("CHECKPOINT_SESSION", "other");
    assert_eq!(
        run.env("CHECKPOINT_AGENT", "codex").run().success().stdout_json()["session"],
        "other"
    );
    let log = world.checkpoint(["log", "other", "--json"]).success().stdout_json();
    assert_eq!(log["checkpoints"].as_array().unwrap().len(), 3);
}

#[test]
fn start_refuses_a_name_that_is_taken_unless_told() {
    let world = World::with_commit();
    let first = world.checkpoint(["start", "a", "--json"]).success().stdout_json();
    world
        .checkpoint(["start", "a"])
        .code(4)
        .stderr_has("session 'a' already exists")
        .stderr_has("resume a");
    let again = world
        .checkpoint(["start", "a", "--if-missing", "--json"])
        .success()
        .stdout_json();
    assert_eq!(
        (&again["id"], again["outcome"].as_str()),
        (&first["id"], Some("existing"))
    );
}

#[test]
fn an_active_session_that_fell_silent_is_interrupted() {
    let world = World::with_commit();
    world.checkpoint(["save", "--session", "s", "-m", "x"]).success();
    world.advance(31 * 60);
    world.checkpoint(["list"]).success().stdout_has("interrupted");
    let resumed = world.checkpoint(["resume", "s", "--json"]).success().stdout_json();
    assert_eq!(
        (&resumed["interrupted"], resumed["status_before"].as_str()),
        (&true.into(), Some("interrupted"))
    );
    let silent = world
        .command(crate::support::PROGRAM, ["list", "--json"])
        .env("GIT_CONFIG_COUNT", "1");
    let silent = silent
        .env("GIT_CONFIG_KEY_0", "checkpoint.interruptedAfter")
        .env("GIT_CONFIG_VALUE_0", "2h");
    assert_eq!(silent.run().success().stdout_json()["sessions"][0]["status"], "active");
}

#[test]
fn selectors() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    for n in ["one", "two", "three"] {
        world.file("n", n);
        world
            .checkpoint(["save", "-m", &format!("number {n}"), "--name", n])
            .success();
    }
    world.checkpoint(["start", "t"]).success();
    world.checkpoint(["start", "sample"]).success();
    let id = |selector: &str| {
        let shown = world.checkpoint(["show", selector, "--json"]).success().stdout_json();
        shown["id"].as_str().unwrap().to_owned()
    };
    let git = |rev: &str| world.git_line(["rev-parse", rev]);
    assert_eq!(id("s"), git("refs/checkpoints/s"));
    assert_eq!(id("refs/checkpoints/s"), id("s"));
    assert_eq!(id("s~1"), git("refs/checkpoints/s~1"));
    assert_eq!(id("s@one"), git("refs/checkpoints/s~2"));
    assert_eq!(id("s@three~1"), id("s@two"));
    assert_eq!(id("s@{1}"), git("refs/checkpoints/s@{1}"));
    assert_eq!(id(":/NUMBER two"), id("s@two"));
    assert_eq!(id(&id("s@two")[..7]), id("s@two"));
    let digest = world.checkpoint(["show", "s@two", "--json"]).stdout_json()["digest"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(id(&digest), id("s@two"));
    assert_eq!(id(&digest["sha256:".len()..][..10]), id("s@two"));
    assert_eq!(id("@"), git("refs/checkpoints/sample"));
    world.checkpoint(["switch", "s"]).success();
    assert_eq!(id("two"), id("s@two"), "a checkpoint's name in the current session");
    assert_eq!(id("-"), git("refs/checkpoints/sample"));
    assert_eq!(id("samp"), id("sample"), "the beginning of a session's name");
    assert_eq!(id("s@{2027-01-01T00:00:00+00:00}"), git("refs/checkpoints/s"));
}

#[test]
fn a_session_that_the_environment_names_and_that_is_not_there_is_said_so() {
    let world = World::with_commit();
    world.checkpoint(["start", "parser"]).success();
    let with = |name: &str, args: &[&str]| {
        let command = world.command(crate::support::PROGRAM, args);
        command.env("CHECKPOINT_SESSION", name).run()
    };
    for args in [&["log"][..], &["show"], &["resume"], &["todo", "list"]] {
        with("parsr", args)
            .code(3)
            .no_stdout()
            .stderr_has("session 'parsr', which CHECKPOINT_SESSION names, does not exist; did you mean one of these?")
            .stderr_has("  parser ");
    }
    with("typo", &["log"])
        .code(3)
        .stderr_has("session 'typo', which CHECKPOINT_SESSION names, does not exist")
        .stderr_lacks("did you mean");
    with("parsr", &["status"])
        .success()
        .stdout_has("'parsr', which CHECKPOINT_SESSION names, does not exist")
        .stdout_has("did you mean 'parser'?");
    with("parsr", &["status", "--json"])
        .success()
        .stderr_has("CHECKPOINT_SESSION");
    // Named on the command line it is not the environment's.
    world
        .checkpoint(["todo", "list", "--session", "parsr"])
        .code(3)
        .stderr_has("no session or checkpoint 'parsr'; did you mean")
        .stderr_lacks("CHECKPOINT_SESSION");
    // A name for a session to come is no mistake.
    with("fresh", &["save", "-m", "x"]).success();
    with("fresh", &["log"]).success();
}

/// `list` has the summary of a session and `log` the subject of a checkpoint: they differ where a checkpoint was made
/// automatically, and each column says what it has.
#[test]
fn lists_say_whether_a_text_is_of_the_session_or_of_the_checkpoint() {
    let world = World::with_commit();
    world.file("README.md", "changed\n");
    let check = |summary: &str, subject: &str| {
        let row = world.checkpoint(["list", "--json"]).success().stdout_json()["sessions"][0].clone();
        let logged = world.checkpoint(["log", "--json"]).success().stdout_json();
        let latest = logged["checkpoints"][0]["summary"].as_str().unwrap().to_owned();
        assert_eq!(row["summary"], summary);
        assert_eq!(latest, subject);
        assert_eq!(row["subject"].as_str().unwrap_or(summary), subject);
        let listed = world.checkpoint(["list"]).success().clone();
        listed.stdout_has("SUMMARY").stdout_has(summary).stdout_lacks("SUBJECT");
        for words in [&["log"][..], &["log", "--", "README.md"]] {
            let logged = world.checkpoint(words).success().clone();
            logged.stdout_has("SUBJECT").stdout_lacks("SUMMARY");
        }
        world.checkpoint(["log"]).success().stdout_has(subject);
    };
    world.checkpoint(["save", "-m", "the words"]).success();
    check("the words", "the words");
    world.checkpoint(["claim", "--agent", "zoe"]).success();
    check("the words", "claimed by zoe");
    let help = world.checkpoint(["help", "list"]).success().clone();
    let words: Vec<&str> = help.stdout().split_whitespace().collect();
    let said = "SUMMARY is the one that was given for the session";
    assert!(words.join(" ").contains(said), "{help}");
}

/// Finished in one working tree, a session is over in the other one that works in it, until it is resumed or saved there.
#[test]
fn a_session_finished_in_one_working_tree_is_over_in_the_others() {
    let world = World::with_commit();
    world.checkpoint(["save", "--session", "w1", "-m", "one"]).success();
    world.git(["worktree", "add", "-q", "../b", "-b", "side"]).success();
    world.enter("b");
    world.checkpoint(["resume", "w1"]).success();
    world.checkpoint(["status"]).success().stdout_has("w1, active");
    world.enter("repo");
    world.checkpoint(["finish", "-m", "done"]).success();
    world.enter("b");
    let standing = |args: &[&str]| world.checkpoint(args).success().stdout_json();
    world.checkpoint(["status"]).success().stdout_has("w1, completed in /");
    assert_eq!(standing(&["status", "--json"])["current"]["status"], "completed");
    assert_eq!(standing(&["list", "--json"])["sessions"][0]["status"], "completed");
    // To resume it there makes it active again, and so does a save, which says so.
    world
        .checkpoint(["resume", "w1"])
        .success()
        .stderr_has("Reopened session w1");
    world.checkpoint(["status"]).success().stdout_has("w1, active");
    world.checkpoint(["finish", "-m", "done again"]).success();
    world.checkpoint(["resume", "w1"]).success();
    world.enter("repo");
    world.checkpoint(["resume", "w1"]).success();
    world.checkpoint(["finish", "-m", "and again"]).success();
    world.enter("b");
    world.file("more", "work");
    world
        .checkpoint(["save", "-m", "more"])
        .success()
        .stderr_has("Reopened session w1, which was completed");
    assert_eq!(
        world.git_line([
            "log",
            "-1",
            "--format=%(trailers:key=Checkpoint-Status,valueonly)",
            "checkpoints/w1"
        ]),
        "active"
    );
    world.file("more", "and more");
    world
        .checkpoint(["save", "-m", "more"])
        .success()
        .stderr_lacks("Reopened");
}
