//! What a day with the program showed: hints that mislead, commands that do nothing, what is not said.

use std::fs;

use crate::support::{PROGRAM, Terminal, World};

/// A repository with a session of one checkpoint on `main`.
fn saved() -> World {
    let world = World::with_commit();
    world.file("README.md", "one\n");
    world.checkpoint(["save", "-m", "one"]).success();
    world
}

#[test]
fn words_of_other_tools_lead_to_the_command() {
    let world = saved();
    let refs = world.git_line(["for-each-ref"]);
    for (line, hint) in [
        (&["note", "add", "hi there"][..], "git checkpoint note 'hi there'"),
        (&["fork", "@", "new"], "git checkpoint fork @ --name new"),
        (&["finish", "done"], "git checkpoint finish -m done"),
        (&["task", "claim", "1"], "git checkpoint claim --task 1"),
        (&["task", "release", "T-2"], "git checkpoint release --task T-2"),
        (&["stash", "list"], "git checkpoint list"),
        (&["stash", "pop", "stash@{0}"], "git checkpoint resume --apply"),
        (&["stash", "push", "-m", "x"], "git checkpoint pause --clean -m x"),
        (&["try"], "git checkpoint fork"),
        (&["web"], "git checkpoint serve"),
        (&["tui"], "git checkpoint ui"),
        (&["report"], "git checkpoint export --format html"),
    ] {
        let refused = world.checkpoint(line);
        let wanted = format!("hint: did you mean: {hint}\n");
        assert!(refused.code(129).stderr().contains(&wanted), "{line:?}: {refused}");
    }
    assert_eq!(world.git_line(["for-each-ref"]), refs);
    // A sentence is the summary, as with 'save'.
    world.checkpoint(["finish", "all is well"]).success();
    assert_eq!(
        world
            .git_line(["log", "-1", "--format=%s", "refs/checkpoints/main"])
            .trim(),
        "all is well"
    );
}

#[test]
fn a_taken_name_is_an_error_of_the_user() {
    let world = saved();
    world.checkpoint(["fork", "--name", "more"]).success();
    world.checkpoint(["switch", "main"]).success();
    let refs = world.git_line(["for-each-ref"]);
    for line in [
        &["fork", "@", "--name", "more"][..],
        &["rename", "more"],
        &["rename", "main", "more"],
        &["fork", "--name", "main"],
    ] {
        let refused = world.checkpoint(line);
        refused.code(4).stderr_has("error: ").stderr_lacks("fatal: ");
    }
    assert_eq!(world.git_line(["for-each-ref"]), refs);
}

#[test]
fn what_changes_nothing_says_so() {
    let world = saved();
    let refs = world.git_line(["for-each-ref"]);
    world.file("README.md", "two\n");
    world.checkpoint(["release"]).success().stderr_has("not claimed");
    world
        .checkpoint(["rename", "main", "main"])
        .success()
        .stderr_has("has that name already");
    for command in ["merge", "apply"] {
        world
            .checkpoint([command, "--abort"])
            .code(1)
            .stderr_has(&format!("no {command} in progress"));
    }
    assert_eq!(world.git_line(["for-each-ref"]), refs);
    world.checkpoint(["undo"]).code(1).stderr_has("nothing to undo");
    world.checkpoint(["claim"]).success().stdout_has("claimed by");
    world.advance(60);
    world.checkpoint(["claim"]).success().stdout_has("claim renewed by");
    world.checkpoint(["release"]).success().stdout_has("released by");
    world.checkpoint(["release"]).success().stderr_has("not claimed");
}

#[test]
fn disabled_agents_leave_git_hooks_and_say_so() {
    let world = saved();
    world.checkpoint(["enable", "claude-code"]).success();
    assert!(world.path(".git/hooks/post-commit").exists());
    for line in [&["disable"][..], &["disable", "--all"]] {
        world
            .checkpoint(line)
            .success()
            .stdout_has("Git hooks still save a checkpoint for each commit: git checkpoint hooks uninstall");
    }
    world.checkpoint(["hooks", "uninstall"]).success();
    assert!(!world.path(".git/hooks/post-commit").exists());
    world.checkpoint(["disable"]).success().stdout_lacks("Git hooks");
}

#[test]
fn steps_that_are_checked_off_are_done() {
    let world = World::with_commit();
    let note = "# Session handoff\n\n## Status\n\n**Task:** parser\n\n## Summary\n\nHalf of it is done.\n\n\
                ## Next steps\n\n- [x] done one\n- [ ] open one\n- plain one\n";
    world.file("../2026-03-01-4939-handoff.md", note);
    world.checkpoint(["import", "../2026-03-01-4939-handoff.md"]).success();
    let rows = world.checkpoint(["list", "--json"]).success().stdout_json();
    let name = rows["sessions"][0]["session"].as_str().unwrap().to_owned();
    let shown = world.checkpoint(["show", &name, "--json"]).success().stdout_json();
    let record = &shown["document"]["record"];
    let texts = |list: &str| -> Vec<String> {
        let items = record[list].as_array().cloned().unwrap_or_default();
        items
            .iter()
            .map(|item| item["text"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(texts("next_steps"), ["open one", "plain one"], "{record}");
    assert_eq!(texts("accomplishments"), ["done one"], "{record}");
    assert_eq!(record["summary"], "Half of it is done.", "{record}");
    assert!(!record["extra"].to_string().contains("Half of it"), "{record}");
}

#[test]
fn a_save_in_another_working_tree_is_named() {
    let world = saved();
    world.git(["add", "README.md"]).success();
    world.git(["commit", "-qm", "one"]).success();
    world.checkpoint(["save", "-m", "here"]).success();
    world
        .git(["worktree", "add", "-q", "../second", "-b", "second"])
        .success();
    let there = world.root().join("second");
    let run = |args: &[&str]| {
        world
            .command(PROGRAM, args)
            .within(&there)
            .run()
            .success()
            .stdout()
            .to_owned()
    };
    run(&["switch", "main"]);
    fs::write(there.join("new"), "x").unwrap();
    run(&["save", "-m", "there"]);
    assert_eq!(world.git_line(["status", "--porcelain"]), "");
    let status = world.checkpoint(["status"]);
    status
        .success()
        .stdout_has("to save    1 saved change, saved in ")
        .stdout_lacks("everything is saved");
    assert!(status.stdout().contains("second"), "{status}");
}

#[test]
fn nothing_to_apply_is_refused_by_no_merge() {
    let world = saved();
    world.git(["add", "README.md"]).success();
    world.git(["commit", "-qm", "one"]).success();
    world.git(["switch", "-qc", "side", "HEAD~1"]).success();
    world.file("README.md", "other\n");
    world.git(["commit", "-qam", "other"]).success();
    world.git(["merge", "main"]).code(1);
    world.checkpoint(["save", "-m", "in the merge"]).success();
    let before = world.fingerprint();
    let applied = world.checkpoint(["resume", "--apply"]);
    applied.success().stdout_has("Already up to date");
    world.fingerprint().assert_same_as(&before);
    // What would change something is refused, without a report after the error.
    world.file("README.md", "else\n");
    world.git(["add", "README.md"]).success();
    let refused = world.checkpoint(["resume", "--apply", "@"]);
    if !refused.is_success() {
        refused.code(4).stdout_lacks("Session ");
    }
}

#[test]
fn a_quiet_resume_prints_nothing() {
    let world = saved();
    world.checkpoint(["resume", "-q"]).success().no_stdout();
    world.checkpoint(["pause", "--clean", "-q"]).success().no_stdout();
    world.checkpoint(["resume", "--apply", "-q"]).success().no_stdout();
    assert_eq!(world.read("README.md"), b"one\n");
}

#[test]
fn a_fork_warns_of_what_is_not_in_it() {
    let world = saved();
    world.file("unsaved", "x");
    let forked = world.checkpoint(["fork", "--name", "try", "--worktree", "../try"]);
    forked
        .success()
        .stderr_has("1 changed file is not in the fork")
        .stderr_has("git checkpoint save");
    assert!(!world.root().join("try/unsaved").exists());
    world.checkpoint(["save", "-m", "two"]).success();
    world
        .checkpoint(["fork", "--name", "again", "--worktree", "../again"])
        .success()
        .stderr_lacks("not in the fork");
    assert!(world.root().join("again/unsaved").exists());
}

/// An event of an agent that is still written in the background is waited for.
#[test]
fn turns_that_are_being_written_are_waited_for() {
    let world = saved();
    let directory = world.path(".git/checkpoint/agents");
    fs::create_dir_all(&directory).unwrap();
    let ticket = directory.join("x.0000000000000001-t.ticket");
    for command in [&["rewind"][..], &["turns"]] {
        fs::write(&ticket, "").unwrap();
        let begun = std::time::Instant::now();
        let writer = std::thread::spawn({
            let ticket = ticket.clone();
            move || {
                std::thread::sleep(std::time::Duration::from_millis(700));
                fs::remove_file(ticket).unwrap();
            }
        });
        world.checkpoint(command);
        assert!(begun.elapsed().as_millis() >= 600, "{command:?}");
        writer.join().unwrap();
    }
}

/// Tables and status fill the terminal that there is, and no more.
#[test]
fn a_terminal_is_filled_and_no_line_is_longer() {
    let world = World::with_commit();
    let summary = "a long summary that goes on and on, so that eighty columns are by no means enough for it";
    for end in ["alpha", "beta", "gamma"] {
        let session = format!("feature-search-ranking-{end}");
        world.checkpoint(["start", &session]).success();
        world.file("file", end);
        world.checkpoint(["save", "-m", summary]).success();
    }
    let shown = |columns: u16, line: &[&str]| {
        let screen = Terminal::new(columns, "dumb").run(&world, PROGRAM, line);
        let text = screen.text();
        for line in text.lines() {
            let width = line.trim_end().chars().count();
            assert!(width <= usize::from(columns), "{width} columns: {line}\n{text}");
        }
        text
    };
    let wide = shown(130, &["status"]);
    assert!(wide.contains("by no means enough for it"), "{wide}");
    let narrow = shown(60, &["--no-pager", "list"]);
    for end in ["alpha", "beta", "gamma"] {
        assert!(
            narrow.contains(&format!("..{}", &end[end.len() - 3..])) || narrow.contains(end),
            "{narrow}"
        );
    }
    assert!(narrow.contains("a long summary that goes on and on"), "{narrow}");
    shown(60, &["status"]);
}

/// What an apply left unmerged is named where the index is compared.
#[test]
fn unmerged_entries_are_named() {
    let world = World::with_commit();
    world.file("README.md", "theirs\n");
    world.checkpoint(["save", "-m", "theirs"]).success();
    world.file("README.md", "ours\n");
    world.git(["commit", "-qam", "ours"]).success();
    world.checkpoint(["apply", "@"]).code(1);
    assert_ne!(world.git_line(["ls-files", "--unmerged"]), "");
    let report = world.checkpoint(["resume"]);
    report
        .success()
        .stdout_lacks("nothing staged now, nothing staged when saved");
}
