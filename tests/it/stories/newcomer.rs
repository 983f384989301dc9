//! What confused somebody who tried the program for the first time: words that say less, or other, than what is there.

use crate::support::World;

#[test]
fn the_task_and_the_last_message_are_where_one_looks() {
    let world = World::with_commit();
    let start = world
        .checkpoint(["start", "auth", "--task", "move login to tokens"])
        .success()
        .stdout()
        .to_owned();
    assert!(start.starts_with("Started session auth at "), "{start}");
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("task       move login to tokens")
        .stdout_has("start auth");
    world
        .checkpoint(["resume"])
        .success()
        .stdout_has("  task: move login to tokens");
    world
        .checkpoint(["pause", "--message", "login page half done", "--next", "wire it"])
        .success()
        .stdout_has("login page half done")
        .stdout_has("next: wire it");
    world.file("src/main.txt", "changed\n");
    world.checkpoint(["save"]).success().stdout_has("1 modified");
    let resumed = world.checkpoint(["resume"]).success().stdout().to_owned();
    assert!(resumed.contains("\n    login page half done\n"), "{resumed}");
    let json = world.checkpoint(["resume", "--json"]).success().stdout_json();
    assert_eq!(json["document"]["record"]["summary"], "login page half done");
    assert!(
        json["document"]["subject"]
            .as_str()
            .unwrap()
            .starts_with("main: 1 modified"),
        "{json}"
    );
    // The log has the subject of each checkpoint, the list the summary of the session.
    world.checkpoint(["log"]).success().stdout_has("main: 1 modified");
    world.checkpoint(["list"]).success().stdout_has("login page half done");
    world.checkpoint(["save", "-m", "done"]).success();
    let json = world.checkpoint(["resume", "--json"]).success().stdout_json();
    assert!(json["last_message"].is_null());
}

#[test]
fn a_finished_session_is_told_as_finished() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.checkpoint(["finish", "-m", "merged"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("there is 1 session, finished")
        .stdout_has("resumes the latest");
    world.checkpoint(["resume"]).success().stdout_has("was completed: it");
    world.checkpoint(["pause"]).success();
    world.checkpoint(["status"]).success().stdout_lacks("finished");
}

#[test]
fn the_first_save_names_its_parent() {
    let world = World::with_commit();
    let receipt = world.checkpoint(["save", "--json"]).success().stdout_json();
    let id = receipt["id"].as_str().expect("an id");
    assert_eq!(
        receipt["parent"],
        world.git_line(["rev-parse", &format!("{id}^")]).as_str()
    );
}

#[test]
fn words_that_are_not_near_are_no_suggestion() {
    let world = World::with_commit();
    for word in ["config", "version", "clone"] {
        world.checkpoint([word]).code(129).stderr_lacks("similar");
    }
    world
        .checkpoint(["svae"])
        .code(129)
        .stderr_has("a similar command exists: 'save'");
    world
        .checkpoint(["save", "--mesage", "x"])
        .code(129)
        .stderr_has("'--message'");
    // What has no effect is taken, and offered nowhere.
    world.checkpoint(["save", "--no-commit"]).success();
    world.checkpoint(["help", "save"]).success().stdout_lacks("no-commit");
}

#[test]
fn a_command_of_other_lists_is_no_file() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world
        .checkpoint(["open-file", "add", "src/main.txt:1"])
        .code(129)
        .stderr_has("'add' looks like a command")
        .stderr_has("git checkpoint open-file src/main.txt:1");
    world.checkpoint(["note", "add"]).code(129);
    world.file("add", "a file\n");
    world.checkpoint(["open-file", "add", "src/main.txt:1"]).success();
}

#[test]
fn what_looks_like_a_password_is_told_and_an_attachment_is_not_the_file() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world
        .checkpoint(["save", "-m", "see password=hunter2"])
        .success()
        .stderr_has("looks like a secret");
    let token = format!("ghp_{}", "q7Zs2Lx9Rw4Tb8Nd1Kf6Hj3Mv5Pc0YgUaEo1");
    // With other lines it is no file of credentials.
    let content = format!("{token}\nsome text");
    world.file("sec.txt", &content);
    world
        .checkpoint(["save", "-m", "one", "--attach", "sec.txt"])
        .success()
        .stderr_has("1 secret was replaced")
        .stderr_has("the file in the working tree is saved unchanged");
    assert_eq!(world.git_line(["show", "checkpoints/auth^2:sec.txt"]), content);
}

#[test]
fn a_fork_says_which_files_it_means() {
    let world = World::with_commit();
    world.file("src/main.txt", "changed\n");
    world.checkpoint(["start", "auth"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    world.git(["checkout", "-q", "src/main.txt"]).success();
    world
        .checkpoint(["fork", "auth", "--name", "here"])
        .success()
        .stdout_has("saved     main @")
        .stdout_has("none changed");
    world
        .checkpoint(["fork", "auth", "--name", "there", "--worktree", "../there"])
        .success();
    world
        .command(crate::support::PROGRAM, ["status"])
        .within("../there")
        .run()
        .success()
        .stdout_lacks("unsaved changes")
        .stdout_has("everything is saved");
    world.checkpoint(["save", "--no-files", "-m", "words"]).success();
    world
        .checkpoint(["compare", "here", "auth"])
        .success()
        .stdout_has("A has no files");
}

#[test]
fn an_export_says_only_what_is_known_of_a_commit() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    world
        .checkpoint(["export", "auth", "--format", "claude-mpm", "-o", "../out.json"])
        .success();
    let tree: serde_json::Value = serde_json::from_slice(&world.read("../out.json")).expect("JSON");
    let commit = tree["git_context"]["recent_commits"][0].as_object().expect("a commit");
    assert_eq!(commit["sha"], world.git_line(["rev-parse", "HEAD"]).as_str());
    assert!(!commit.contains_key("author") && !commit.contains_key("timestamp"));
}

fn record(world: &World) -> serde_json::Value {
    let shown = world.checkpoint(["show", "--json"]).success().stdout_json();
    shown["document"]["record"].clone()
}

#[test]
fn a_restore_keeps_what_was_noted_since() {
    let texts = |record: &serde_json::Value, list: &str, member: &str| {
        let items = record[list].as_array().cloned().unwrap_or_default();
        let texts: Vec<String> = items
            .iter()
            .map(|item| item[member].as_str().unwrap().to_owned())
            .collect();
        texts.join(", ")
    };
    let world = World::with_commit();
    world
        .checkpoint(["save", "-m", "one", "-d", "first", "--next", "step one"])
        .success();
    world.checkpoint(["todo", "add", "later"]).success();
    world.file("README.md", "two\n");
    world
        .checkpoint(["save", "-m", "two", "-d", "second", "--next", "step two"])
        .success();
    world.file("README.md", "three\n");
    world.checkpoint(["decision", "important insight"]).success();
    world.checkpoint(["task", "add", "t"]).success();
    world.checkpoint(["note", "a line"]).success();

    // Of the same checkpoint nothing of the record goes.
    let planned = world.checkpoint(["restore", "@", "--dry-run"]);
    planned
        .success()
        .stdout_has("write    README.md")
        .stdout_lacks("record");
    world.checkpoint(["restore", "@"]).success().stdout_lacks("the record");
    assert_eq!(world.read("README.md"), b"two\n");
    let status = world.checkpoint(["status"]);
    status
        .success()
        .stdout_has("3 changes not saved yet")
        .stdout_has("important insight");

    // Of an earlier one what was saved later goes, each item named, and nothing else.
    world
        .checkpoint(["restore", "@~1", "--dry-run"])
        .success()
        .stdout_has("  record   - decision    second\n")
        .stdout_has("  record   - todo        later\n")
        .stdout_lacks("important insight");
    let restored = world.checkpoint(["restore", "@~1"]);
    restored
        .success()
        .stdout_has("- decision    second")
        .stdout_lacks("important insight");
    world.checkpoint(["save", "-m", "three"]).success();
    let saved = record(&world);
    assert_eq!(
        texts(&saved, "decisions", "text"),
        "first, important insight",
        "{saved}"
    );
    assert_eq!(texts(&saved, "tasks", "title"), "t", "{saved}");
    assert_eq!(saved["todos"].as_array().map_or(0, Vec::len), 0, "{saved}");
    // What was saved stays in the history.
    world.checkpoint(["show", "@~1"]).success().stdout_has("second");

    // An item that was changed and not saved comes along, and undo brings back what went.
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "one"]).success();
    world.checkpoint(["todo", "add", "check it"]).success();
    world.checkpoint(["decision", "saved"]).success();
    world.checkpoint(["save", "-m", "two"]).success();
    world.checkpoint(["todo", "done", "check it"]).success();
    let before = world.checkpoint(["status", "--json"]).success().stdout_json();
    world
        .checkpoint(["restore", "@~1"])
        .success()
        .stdout_has("- decision    saved");
    world.checkpoint(["undo"]).success();
    let after = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(before["current"]["draft"], after["current"]["draft"]);
    world.checkpoint(["restore", "@~1"]).success();
    world.checkpoint(["save", "-m", "three"]).success();
    let shown = world.checkpoint(["show"]).success().stdout().to_owned();
    assert!(shown.contains("check it") && !shown.contains("decision"), "{shown}");
}

#[test]
fn the_star_of_the_prompt_is_there_while_something_waits() {
    let world = World::with_commit();
    let prompt = |what: &str, expected: &str| {
        let prompt = world.checkpoint(["status", "--prompt"]);
        assert_eq!(prompt.success().stdout(), format!("{expected}\n"), "{what}");
    };
    world.checkpoint(["save", "-m", "m"]).success();
    prompt("saved", "main");
    world.checkpoint(["todo", "add", "k"]).success();
    prompt("noted", "main*");
    world.checkpoint(["save", "-m", "k"]).success();
    prompt("saved again", "main");
    world.checkpoint(["pause", "-m", "p"]).success();
    world.checkpoint(["resume"]).success();
    prompt("resumed", "main");
    world.checkpoint(["note", "n"]).success();
    prompt("noted after that", "main*");
    world.checkpoint(["save", "-m", "last"]).success();
    prompt("saved at last", "main");
}

#[test]
fn work_is_put_aside_only_by_a_cleaning() {
    // A person removed it.
    let world = World::with_commit();
    world.file("u", "u\n");
    world.checkpoint(["save", "-m", "p"]).success();
    for _ in 0..2 {
        std::fs::remove_file(world.path("u")).unwrap();
        world.checkpoint(["status"]).success().stdout_lacks("aside");
        world
            .checkpoint(["resume", "--apply"])
            .success()
            .stdout_has("1 file written");
        world.checkpoint(["status"]).success().stdout_lacks("aside");
    }
    // A file that is ignored by now is on the disk.
    let world = World::with_commit();
    world.file("x.log", "x\n");
    world.checkpoint(["save", "-m", "p"]).success();
    world.file(".git/info/exclude", "*.log\n");
    std::fs::remove_file(world.path("x.log")).unwrap();
    world
        .checkpoint(["resume", "--apply"])
        .success()
        .stdout_has("1 file written")
        .stdout_lacks("missing  ")
        .stdout_lacks("Put aside");
    world.checkpoint(["status"]).success().stdout_lacks("aside");
    // What a cleaning took, was brought back and is gone again is still named.
    let world = World::with_commit();
    world.file("README.md", "work\n");
    world.checkpoint(["pause", "--clean", "-m", "p"]).success();
    world.checkpoint(["status"]).success().stdout_has("aside");
    world.checkpoint(["resume", "--apply"]).success();
    world.checkpoint(["status"]).success().stdout_lacks("aside");
    world.git(["reset", "-q", "--hard"]).success();
    world.checkpoint(["status"]).success().stdout_has("aside");
}

#[test]
fn an_edit_in_place_of_the_saved_one_is_named() {
    let world = World::with_commit();
    world.file("README.md", "wip\n");
    world.checkpoint(["pause", "-m", "p"]).success();
    world.git(["checkout", "-q", "README.md"]).success();
    world.file("README.md", "dirty\n");
    for args in [&["resume", "--apply", "--dry-run"][..], &["resume", "--apply"]] {
        world
            .checkpoint(args)
            .success()
            .stdout_has("Applied nothing of")
            .stdout_has("kept     README.md")
            .stdout_has("merge it: git checkpoint apply ")
            .stdout_lacks("Already up to date");
    }
    assert_eq!(world.read("README.md"), b"dirty\n");
    // The command that it names.
    world.checkpoint(["apply"]).code(1).stdout_has("conflict README.md");
    assert_eq!(world.git_line(["status", "--porcelain"]), "UU README.md");
    world.checkpoint(["apply", "--abort"]).success();
    // An edit that has the saved change and more needs no word.
    world.file("README.md", "wip\nand more\n");
    world
        .checkpoint(["resume", "--apply"])
        .success()
        .stdout_has("Already up to date")
        .stdout_lacks("kept  ");
}

#[test]
fn conflicts_that_were_saved_are_conflicts_where_they_are_brought() {
    let conflict = || {
        let world = World::with_commit();
        world.file("b", "b\n");
        world.git(["add", "b"]).success();
        world.git(["commit", "-qm", "b"]).success();
        world.git(["switch", "-q", "-c", "side"]).success();
        world.file("README.md", "hello\nside\n");
        world.git(["commit", "-qam", "side"]).success();
        world.git(["switch", "-q", "main"]).success();
        world.file("README.md", "hello\nmine\n");
        world.git(["commit", "-qam", "mine"]).success();
        world.git(["merge", "-q", "side"]).code(1);
        world.checkpoint(["save", "-m", "conflicts"]).success();
        world.git(["merge", "--abort"]).success();
        world
    };
    // Own changes elsewhere, and in the file itself.
    for (path, text) in [("b", "own\n"), ("README.md", "own\nhello\nmine\n")] {
        let world = conflict();
        let stages = world.git_line(["ls-tree", "-r", "--name-only", "checkpoints/main"]);
        world.file(path, text);
        let applied = world.checkpoint(["apply"]);
        applied
            .code(1)
            .stdout_has("conflict README.md")
            .stdout_lacks("not staged");
        let unmerged = world.git_line(["ls-files", "--unmerged"]);
        assert_eq!(unmerged.lines().count(), 3, "{path}: {unmerged}\n{stages}");
        let file = String::from_utf8(world.read("README.md")).unwrap();
        assert!(file.contains("<<<<<<<") && file.contains("side"), "{path}: {file}");
        if path == "b" {
            assert_eq!(world.git_line(["show", ":3:README.md"]), "hello\nside");
        }
        world.checkpoint(["apply", "--continue"]).code(1);
        world.file("README.md", "hello\nboth\n");
        world.git(["add", "README.md"]).success();
        world.checkpoint(["apply", "--continue"]).success();
    }
}

#[test]
fn a_clean_working_tree_has_nothing_to_save() {
    let world = World::with_commit();
    let is_saved = |what: &str, saved: bool| {
        let status = world.checkpoint(["status", "--exit-code"]);
        let status = status.code(i32::from(!saved));
        assert_eq!(
            status.stdout().contains("everything is saved"),
            saved,
            "{what}: {}",
            status.stdout()
        );
        let json = world.checkpoint(["status", "--json"]).success().stdout_json();
        assert_eq!(json["something_to_save"], !saved, "{what}");
    };
    world.checkpoint(["start", "s"]).success();
    is_saved("after a start", true);
    world.file("README.md", "edited\n");
    is_saved("an edit after a start", false);
    world.checkpoint(["save", "-m", "m"]).success();
    is_saved("a save", true);
    world.git(["commit", "-qam", "edited"]).success();
    is_saved("a commit of what was saved", true);
    for n in 0..3 {
        world.file(format!("theirs-{n}"), "x");
    }
    world.git(["add", "."]).success();
    is_saved("staged files", false);
    world.git(["commit", "-qm", "theirs"]).success();
    is_saved("a commit of others", true);
    world.git(["switch", "-q", "--detach", "HEAD~2"]).success();
    world.checkpoint(["switch", "s"]).success();
    is_saved("an older commit", true);
    world.file("new", "x");
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("1 file changed since the latest checkpoint");
    is_saved("a new file", false);
    world.checkpoint(["save", "-m", "n"]).success();
    std::fs::remove_file(world.path("src/main.txt")).unwrap();
    is_saved("a deletion", false);
}

#[test]
fn a_cleaning_says_what_goes_and_its_undo_resumes() {
    let world = World::with_commit();
    world.file("n", "n\n");
    world.file("README.md", "hello\nwork\n");
    world
        .checkpoint(["pause", "--clean", "--dry-run"])
        .success()
        .stdout_has("saved; not in HEAD")
        .stdout_lacks("not in the checkpoint");
    world.checkpoint(["pause", "--clean", "-m", "p"]).success();
    world.checkpoint(["undo"]).success();
    let status = world.checkpoint(["status"]);
    status
        .success()
        .stdout_has("main, active")
        .stdout_lacks("no current session");
    assert_eq!(world.read("n"), b"n\n");
    // Where the files changed since, the saved changes can be merged.
    world.checkpoint(["pause", "--clean", "-m", "p"]).success();
    world.file("README.md", "first\nhello\n");
    world.git(["commit", "-qam", "theirs"]).success();
    world
        .checkpoint(["undo"])
        .code(4)
        .stderr_has("git checkpoint resume --apply");
    world.checkpoint(["resume", "--apply"]).success();
    assert_eq!(world.read("README.md"), b"first\nhello\nwork\n");
}

#[test]
fn a_name_is_taken_for_what_it_names() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "first"]).success();
    world.checkpoint(["start", "beta"]).success();
    for command in ["finish", "pause", "save"] {
        world
            .checkpoint([command, "main"])
            .code(129)
            .stderr_has(&format!("did you mean: git checkpoint {command} --session main\n"))
            .stderr_lacks("-m main");
        world
            .checkpoint([command, "other"])
            .code(129)
            .stderr_has(&format!("git checkpoint {command} -m other\n"));
    }
    // A session and a branch of one name.
    world.file("README.md", "later\n");
    let note = "warning: 'main' is the session here; the branch: git checkpoint diff refs/heads/main\n";
    for _ in 0..2 {
        world.checkpoint(["diff", "main"]).success().stderr_has(note);
    }
    world
        .checkpoint(["diff", "refs/heads/main"])
        .success()
        .stderr_lacks("is the session");
    world
        .checkpoint(["diff", "beta"])
        .success()
        .stderr_lacks("is the session");
}

#[test]
fn a_claim_is_no_summary_and_changes_are_counted_once() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.file("README.md", "edited\n");
    world.checkpoint(["save"]).success();
    for command in ["claim", "release"] {
        world.checkpoint([command]).success();
        let list = world.checkpoint(["list"]);
        list.success()
            .stdout_lacks("claimed by Ana")
            .stdout_lacks("released by")
            .stdout_has("1 modified");
    }
    world.checkpoint(["task", "add", "one"]).success();
    world.checkpoint(["task", "edit", "one", "--title", "two"]).success();
    world.checkpoint(["task", "edit", "two", "--title", "three"]).success();
    world.checkpoint(["decision", "d"]).success();
    for command in [&["status"][..], &["show"], &["resume"]] {
        world
            .checkpoint(command)
            .success()
            .stdout_has("2 changes not saved yet");
    }
}

#[test]
fn an_import_says_that_a_source_is_here_already() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "m"]).success();
    let exported = world
        .checkpoint(["export", "--format", "markdown"])
        .success()
        .stdout()
        .to_owned();
    world.file("x.markdown", exported);
    world.checkpoint(["import", "x.markdown", "--session", "one"]).success();
    world
        .checkpoint(["import", "x.markdown", "--session", "two"])
        .success()
        .stderr_has("it is session 'one' here already, not 'two'")
        .stderr_has("git checkpoint rename one two");
    world
        .checkpoint(["import", "x.markdown", "--session", "one"])
        .success()
        .stderr_lacks("already");
}

/// The line of `status` about the latest checkpoint has what `log` has of it, not the message of an earlier one.
#[test]
fn the_latest_checkpoint_is_called_the_same_by_status_and_log() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["status"]).success().stdout_has("start s");
    world.file("y", "y\n");
    world.checkpoint(["save", "-m", "tests green"]).success();
    world.checkpoint(["status"]).success().stdout_has("tests green");
    world.file("x", "x\n");
    world.checkpoint(["save"]).success();
    let log = world.checkpoint(["log", "--json"]).success().stdout_json();
    let subject = log["checkpoints"][0]["summary"].as_str().expect("a subject").to_owned();
    assert_ne!(subject, "tests green");
    world
        .checkpoint(["status"])
        .success()
        .stdout_has(&subject)
        .stdout_lacks("tests green");
}

/// A name for a new session that is almost that of another one is a slip: nothing is made.
#[test]
fn a_mistyped_session_makes_no_new_one() {
    let world = World::with_commit();
    world.checkpoint(["start", "feature-login"]).success();
    world.file("x", "x\n");
    let refs = || world.git_line(["for-each-ref", "refs/checkpoints"]);
    let before = refs();
    for words in [
        &["save", "-m", "x", "--session", "feature-logn"][..],
        &["note", "hi", "--session", "feature-logn"],
        &["task", "add", "hi", "--session", "faeture-login"],
        &["pause", "--session", "feature-loginn"],
    ] {
        world
            .checkpoint(words)
            .code(3)
            .stderr_has("does not exist; did you mean one of these?")
            .stderr_has("feature-login")
            .stderr_has("to make a new session: git checkpoint start f");
        assert_eq!(refs(), before, "{words:?}");
    }
    let named = world.command(crate::support::PROGRAM, ["note", "x"]);
    named
        .env("CHECKPOINT_SESSION", "feature-logi")
        .run()
        .code(3)
        .stderr_has("which CHECKPOINT_SESSION names, does not exist");
    assert_eq!(refs(), before);
    // What is asked for is made, and what is like no other name.
    world.checkpoint(["start", "feature-logn"]).success();
    world.checkpoint(["note", "hi", "--session", "feature-logn"]).success();
    world.checkpoint(["save", "--session", "nope", "-m", "x"]).success();
    for name in ["worker-1", "worker-2", "try-a", "try-b"] {
        world.checkpoint(["note", "hi", "--session", name]).success();
    }
    assert_eq!(refs().lines().count(), 7);
}

/// A checkpoint without uncommitted changes has nothing to apply: that says nothing of files that other commits have.
#[test]
fn to_apply_a_clean_checkpoint_does_not_say_that_the_files_are_as_saved() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "clean"]).success();
    world.git(["switch", "-q", "--orphan", "o"]).success();
    let said = "Nothing to apply of ";
    for words in [&["resume", "main", "--apply"][..], &["apply", "main"]] {
        world
            .checkpoint(words)
            .success()
            .stdout_has(said)
            .stdout_lacks("Already up to date");
    }
    // What has changes that are here already is up to date.
    world.git(["switch", "-q", "main"]).success();
    world.file("x", "x\n");
    world.checkpoint(["save", "-m", "more"]).success();
    world.checkpoint(["apply"]).success().stdout_has("Already up to date");
}
