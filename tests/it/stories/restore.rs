//! Going back: restore, apply, undo and redo as a user meets them, with every refusal and the command that gets past
//! it.

use std::fs;

use crate::support::World;

/// Saves and gives the checkpoint's id.
fn save(world: &World, message: &str) -> String {
    let receipt = world
        .checkpoint(["save", "-m", message, "--json"])
        .success()
        .stdout_json();
    receipt["id"].as_str().unwrap().to_owned()
}

/// What must not move: HEAD, branches, stash, and unless asked the index. git itself may write stat data into it when
/// it is asked for the status, so its entries are what counts.
fn anchors(world: &World) -> (String, String, String) {
    let refs = world.git_line(["for-each-ref", "refs/heads", "refs/tags", "refs/stash", "refs/remotes"]);
    let head = fs::read_to_string(world.path(".git/HEAD")).unwrap();
    (refs, head, world.git_line(["ls-files", "--stage"]))
}

#[test]
fn a_restore_is_shown_done_undone_and_redone() {
    let world = World::with_commit();
    world.file("new", "saved\n");
    world.file("src/main.txt", "saved\n");
    let id = save(&world, "then");
    world.file("new", "later\n");
    world.file("more", "later\n");
    fs::remove_file(world.path("README.md")).unwrap();
    world.git(["add", "new"]).success();
    let (before, status) = (anchors(&world), world.git_line(["status", "--porcelain"]));

    let planned = world.checkpoint(["restore", "@", "--dry-run"]).success().clone();
    planned
        .stdout_has("Would restore")
        .stdout_has("write    README.md")
        .stdout_has("delete   more");
    planned.stdout_has("nothing was changed");
    assert_eq!(world.git_line(["status", "--porcelain"]), status);
    assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints-undo"]), "");

    world
        .checkpoint(["restore", "@"])
        .success()
        .stdout_has("Restored")
        .stdout_has("saved first as");
    assert_eq!(anchors(&world), before);
    assert_eq!(
        (world.read("new"), world.read("README.md")),
        (b"saved\n".to_vec(), b"hello\n".to_vec())
    );
    assert!(!world.path("more").exists());
    world
        .checkpoint(["restore", "@"])
        .success()
        .stdout_has("Already up to date");
    world
        .checkpoint(["restore", "@", "--dry-run"])
        .success()
        .stdout_has("Already up to date")
        .stdout_lacks("Would restore")
        .stdout_lacks("--dry-run");

    world.checkpoint(["undo"]).success().stdout_has("Undid 'restored");
    assert_eq!(world.git_line(["status", "--porcelain"]), status);
    world.checkpoint(["redo"]).success();
    assert!(!world.path("more").exists());
    world.checkpoint(["undo"]).success();
    assert_eq!(world.git_line(["status", "--porcelain"]), status);
    world.checkpoint(["undo"]).code(1).stderr_has("nothing to undo");
    assert_eq!(anchors(&world), before);
    world.git(["fsck", "--strict"]).success().no_stderr();

    // The next save says where its files came from.
    world.checkpoint(["redo"]).success();
    world.file("again", "x");
    let next = save(&world, "next");
    let document = world.git(["show", &format!("{next}:checkpoint.json")]).stdout_json();
    let digest = world.git_line(["log", "-1", "--format=%(trailers:key=Checkpoint-Digest,valueonly)", &id]);
    assert_eq!(document["restored_from"], digest.trim());
}

/// Under other rules than it was saved by, a file is stored in another form than the one it was written from; that is
/// not a change since.
#[test]
fn undo_is_not_misled_by_rules_of_which_only_a_part_came_back() {
    const RULES: &str = "f text eol=crlf\n";
    let rules = |world: &World, there: bool| {
        if there {
            world.file(".gitattributes", RULES);
        } else {
            let _ = fs::remove_file(world.path(".gitattributes"));
        }
    };
    for (then, now, args) in [
        (true, false, &["restore", "@", "--", "f"][..]),
        (false, true, &["restore", "@", "--", "f"]),
        (true, false, &["restore", "@", "--", ".gitattributes"]),
        (false, true, &["restore", "@", "--", ".gitattributes"]),
        (true, false, &["restore", "@"]),
        (false, true, &["restore", "@"]),
        (true, true, &["restore", "@"]),
        (false, false, &["restore", "@"]),
    ] {
        let world = World::with_commit();
        rules(&world, then);
        world.file("f", "saved\r\nso\r\n");
        save(&world, "then");
        rules(&world, now);
        world.file("f", "later\r\n");
        world.checkpoint(args).success();
        world.checkpoint(["undo"]).success().stdout_has("Undid 'restored");
        assert_eq!(world.read("f"), b"later\r\n", "{then} {now} {args:?}");
        assert_eq!(world.path(".gitattributes").exists(), now, "{then} {now} {args:?}");
    }
}

/// Where git does not take the mode from the disk, a file has the one of the index, whatever it was saved with.
#[cfg(unix)]
#[test]
fn undo_is_not_misled_by_modes_that_git_does_not_look_at() {
    let world = World::with_commit();
    world.git(["config", "core.fileMode", "false"]).success();
    world.git(["update-index", "--chmod=+x", "README.md"]).success();
    world.file("README.md", "saved\n");
    save(&world, "then");
    world.git(["update-index", "--chmod=-x", "README.md"]).success();
    world.file("README.md", "later\n");
    world.checkpoint(["restore", "@"]).success();
    assert_eq!(world.read("README.md"), b"saved\n");
    world.checkpoint(["undo"]).success().stdout_has("Undid 'restored");
    assert_eq!(world.read("README.md"), b"later\n");
}

#[test]
fn undo_keeps_what_was_changed_since() {
    let world = World::with_commit();
    world.file("a", "saved");
    world.file("b", "saved");
    save(&world, "then");
    world.file("a", "later");
    world.file("b", "later");
    world.checkpoint(["restore", "@"]).success();
    world.file("a", "edited after the restore");
    world.file("c", "made after the restore");
    world
        .checkpoint(["undo"])
        .code(4)
        .stderr_has("1 path changed since")
        .stderr_has("  a")
        .stderr_has("undo --force");
    assert_eq!(world.read("b"), b"saved");
    world.checkpoint(["undo", "--force"]).success();
    assert_eq!(
        (world.read("a"), world.read("b")),
        (b"later".to_vec(), b"later".to_vec())
    );
    assert_eq!(
        world.read("c"),
        b"made after the restore",
        "not what the restore changed"
    );
    // What was overwritten is in the safety checkpoint of the undo.
    let kept = world.git_line([
        "for-each-ref",
        "--sort=-refname",
        "--count=1",
        "--format=%(refname)",
        "refs/checkpoints-undo",
    ]);
    assert_eq!(
        world.git_line(["show", &format!("{kept}^2:a")]),
        "edited after the restore"
    );
}

#[test]
fn reasons_not_to_restore_are_listed_with_what_to_do() {
    let world = World::with_commit();
    world.file("config", "saved");
    save(&world, "then");

    world.file(".gitignore", "config\n");
    world.file("config", "precious");
    let refused = world.checkpoint(["restore", "@"]).code(4).clone();
    refused
        .stderr_has("1 path is in the way")
        .stderr_has("config  ignored, so not saved anywhere")
        .stderr_has("--force");
    refused.no_stdout();
    assert_eq!(world.read("config"), b"precious");
    world
        .checkpoint(["restore", "@", "--dry-run"])
        .code(4)
        .stdout_has("Would restore");
    world.checkpoint(["restore", "@", "--force"]).success();
    assert_eq!(world.read("config"), b"saved");
    world.checkpoint(["undo"]).success();
    assert_eq!(world.read("config"), b"precious");
    fs::remove_file(world.path(".gitignore")).unwrap();

    // A merge in progress.
    world.git(["stash", "--all"]).success();
    world.git(["checkout", "-qb", "other"]).success();
    world.file("README.md", "other\n");
    world.git(["commit", "-qam", "other"]).success();
    world.git(["checkout", "-q", "main"]).success();
    world.file("README.md", "main\n");
    world.git(["commit", "-qam", "main"]).success();
    world.git(["merge", "-q", "other"]).code(1);
    world
        .checkpoint(["restore", "@"])
        .code(4)
        .stderr_has("a merge is in progress");
    assert!(world.path(".git/MERGE_HEAD").exists());
    world.checkpoint(["restore", "@", "--force"]).success();
    assert!(world.path(".git/MERGE_HEAD").exists(), "it is left alone");
    world.git(["checkout", "-qf", "main"]).success();
    let _ = fs::remove_file(world.path(".git/MERGE_HEAD"));

    // Another history.
    let on_main = save(&world, "on main");
    world.git(["checkout", "-q", "--orphan", "elsewhere"]).success();
    world
        .git(["commit", "-q", "--allow-empty", "-m", "elsewhere"])
        .success();
    let refused = world.checkpoint(["restore", &on_main]).code(4).clone();
    refused
        .stderr_has("is not an ancestor of")
        .stderr_has("git checkpoint apply")
        .stderr_has("git checkpoint fork");
    refused.stderr_has("git switch -c");
}

#[test]
fn other_work_trees_and_other_sessions_are_respected() {
    let world = World::with_commit();
    world.checkpoint(["start", "one"]).success();
    world.file("shared", "one");
    world.file("mine", "one");
    let first = save(&world, "one");
    world.checkpoint(["start", "two"]).success();
    world.file("shared", "two");
    save(&world, "two");
    // B33: the other session's work would be undone.
    let refused = world.checkpoint(["restore", &first]).code(4).clone();
    refused
        .stderr_has("session 'two' saved 1 path of these since")
        .stderr_has("  shared");
    world.file("mine", "changed");
    world.checkpoint(["restore", &first, "--", "mine"]).success();
    assert_eq!(
        (world.read("mine"), world.read("shared")),
        (b"one".to_vec(), b"two".to_vec())
    );

    // B24: a checkpoint of another working tree.
    world
        .git(["worktree", "add", "-q", "../linked", "-b", "linked"])
        .success();
    world.enter("linked");
    world
        .checkpoint(["restore", &first])
        .code(4)
        .stderr_has("saved in another working tree")
        .stderr_has("--worktree");
    world.checkpoint(["restore", &first, "--force"]).success();
    assert_eq!(world.read("shared"), b"one");
    world.enter("repo");
    assert_eq!(world.read("shared"), b"two");
    // Each working tree has its own list.
    world.checkpoint(["undo"]).success();
    assert_eq!(world.read("mine"), b"changed");
    world.enter("linked");
    world.checkpoint(["undo"]).success();
    assert!(!world.path("shared").exists());
}

#[test]
fn deleting_most_files_needs_to_be_meant() {
    let world = World::with_commit();
    save(&world, "few");
    for n in 0..20 {
        world.file(format!("many/{n}"), "x");
    }
    let refused = world.checkpoint(["restore", "@"]).code(4).clone();
    refused.stderr_has("it would delete 20 of 22 files");
    world
        .checkpoint(["restore", "@", "--overlay"])
        .success()
        .stdout_has("Already up to date");
    world.checkpoint(["restore", "@", "--force"]).success();
    assert!(!world.path("many").exists());
    world.checkpoint(["undo"]).success();
    assert!(world.path("many/19").exists());
}

#[test]
fn the_index_comes_back_when_asked() {
    let world = World::with_commit();
    world.file("staged", "1");
    world.git(["add", "staged"]).success();
    world.file("staged", "2");
    world.file("intended", "3");
    world.git(["add", "-N", "intended"]).success();
    world.git(["rm", "-q", "--cached", "README.md"]).success();
    save(&world, "then");
    let state = || {
        (
            world.git_line(["ls-files", "--stage"]),
            world.git_line(["status", "--porcelain=v2"]),
        )
    };
    let then = state();
    world.git(["reset", "-q"]).success();
    world.file("staged", "later");
    world.git(["add", "--all"]).success();
    let now = state();

    world.checkpoint(["restore", "@"]).success();
    assert_eq!(state().0, now.0, "not asked");
    world.checkpoint(["undo"]).success();
    assert_eq!(state(), now);
    world
        .checkpoint(["restore", "@", "--index"])
        .success()
        .stdout_has("3 index entries");
    assert_eq!(state(), then);
    world.checkpoint(["undo"]).success();
    assert_eq!(state(), now);
    world.checkpoint(["redo"]).success();
    assert_eq!(state(), then);
}

#[test]
fn what_another_session_saved_is_no_hindrance_where_it_is_not_in_the_files() {
    let world = World::with_commit();
    world.file("f", "base");
    world.git(["add", "f"]).success();
    world.git(["commit", "-qm", "f"]).success();
    let task = |name: &str, text: &str| {
        world.checkpoint(["start", name]).success();
        world.file("f", text);
        world.checkpoint(["pause", "-m", name]).success();
        world.git(["checkout", "-q", "f"]).success();
    };
    task("a", "of a");
    task("b", "of b");
    // The tree is clean, and all is saved.
    world.checkpoint(["resume", "a"]).success();
    world.checkpoint(["restore", "a", "--dry-run"]).success();
    world.checkpoint(["restore", "a"]).success();
    assert_eq!(world.read("f"), b"of a");
    // The present is an edit in the checkpoint's own session, not what the other one saved.
    world.file("f", "more of a");
    world.checkpoint(["restore", "a"]).success();
    assert_eq!(world.read("f"), b"of a");
    // What the other session saved is there again.
    world.file("f", "of b");
    let refused = world.checkpoint(["restore", "a"]).code(4).clone();
    refused.stderr_has("session 'b' saved 1 path of these since");
    // While that one is current, what was not saved yet goes on from what was.
    world.checkpoint(["resume", "b"]).success();
    world.file("f", "more of b");
    world.checkpoint(["restore", "a"]).code(4);
    // A commit holds it now, which is another reason.
    world.git(["commit", "-qam", "more of b"]).success();
    let refused = world.checkpoint(["restore", "a"]);
    refused
        .code(4)
        .stderr_has("committed since")
        .stderr_lacks("session 'b' saved");
    world.checkpoint(["restore", "a", "--force"]).success();
    assert_eq!(world.read("f"), b"of a");
}

#[test]
fn what_goes_on_from_the_work_of_another_session_is_guarded_as_well() {
    for (saved, edited) in [
        ("one\nof b\nthree\n", "one\nof b\nthree\nmore\n"),
        ("of b", "of b and more"),
        ("one\nthree\n", "one\nthree\nmore\n"),
    ] {
        let world = World::with_commit();
        world.file("f", "one\ntwo\nthree\n");
        world.git(["add", "f"]).success();
        world.git(["commit", "-qm", "f"]).success();
        world.checkpoint(["start", "a"]).success();
        world.file("f", "one\nof a\nthree\n");
        save(&world, "a");
        world.checkpoint(["start", "b"]).success();
        world.file("f", saved);
        save(&world, "b");
        world.file("f", edited);
        for current in ["a", "b"] {
            world.checkpoint(["switch", current]).success();
            let refused = world.checkpoint(["restore", "a"]).code(4).clone();
            refused
                .stderr_has("session 'b' saved 1 path of these since")
                .stderr_has("git checkpoint restore");
            assert_eq!(world.read("f"), edited.as_bytes(), "{current}");
        }
        world.checkpoint(["switch", "a"]).success();
        world.checkpoint(["restore", "a", "--force"]).success();
        // From here on the file is of this session again.
        world.file("f", "one\nof a\nthree\nand a\n");
        world.checkpoint(["restore", "a"]).success();
        assert_eq!(world.read("f"), b"one\nof a\nthree\n");
        // And it is not where git took the other's work away.
        world.checkpoint(["undo"]).success();
        world.checkpoint(["undo", "--force"]).success();
        assert_eq!(world.read("f"), edited.as_bytes());
        world.git(["checkout", "-q", "f"]).success();
        world.file("f", "one\ntwo\nthree\nedited\n");
        if saved.contains("three") {
            world.checkpoint(["restore", "a", "--dry-run"]).success();
        }
        // What this session has saved since is its own word.
        world.file("f", "own\n");
        world.advance(1);
        save(&world, "a again");
        world.file("f", "own, edited\n");
        world.checkpoint(["restore", "@~1"]).success();
    }
}

#[test]
fn a_checkpoint_of_the_present_is_nothing_to_restore() {
    let world = World::with_commit();
    world.file("a", "1");
    // Without a summary one is made, which is no part of the record that comes back.
    world.checkpoint(["save"]).success();
    world
        .checkpoint(["restore", "@"])
        .success()
        .stdout_has("Already up to date")
        .stdout_lacks("the record");
    world.checkpoint(["status"]).success().stdout_has("everything is saved");
    // A record that has moved on is not taken back unasked, and it is said how it would be.
    world.checkpoint(["save", "-m", "two", "-d", "second"]).success();
    world.checkpoint(["restore", "@~1"]).success().stdout_has("the record");
    world.checkpoint(["save", "-m", "three"]).success();
    world
        .checkpoint(["undo", "--older"])
        .code(4)
        .stderr_has("the record was changed or saved since")
        .stderr_has("hint: to proceed anyway: git checkpoint undo --force");
    world.checkpoint(["undo", "--force"]).success();
}

/// A rename counts once, in the receipt and where it is not staged again.
#[test]
fn a_staged_rename_is_one_change() {
    let world = World::with_commit();
    world.file("old", "1\n2\n3\n");
    world.git(["add", "old"]).success();
    world.git(["commit", "-qm", "old"]).success();
    world.git(["mv", "old", "new"]).success();
    world
        .checkpoint(["save", "-m", "renamed"])
        .success()
        .stdout_has(", 1 staged\n");
    world.git(["reset", "-q", "--hard"]).success();
    world
        .checkpoint(["restore"])
        .success()
        .stdout_has("not restored (1 staged in the checkpoint)");
}

#[test]
fn what_was_staged_and_is_not_now_is_told() {
    let world = World::with_commit();
    world.file("a", "1");
    world.file("b c", "1");
    world.git(["add", "a", "b c"]).success();
    let id = save(&world, "staged");
    let told = format!(
        "  index    not restored (2 staged in the checkpoint); bring it back too: git checkpoint restore {} --index\n",
        &id[..8]
    );
    // It is there as it was.
    world.checkpoint(["restore", "@"]).success().stdout_lacks("  index");
    world.git(["reset", "-q"]).success();
    world.checkpoint(["restore", "@"]).success().stdout_has(&told);
    world.file("a", "2");
    world
        .checkpoint(["restore", "@", "--dry-run"])
        .success()
        .stdout_has(&told);
    world
        .checkpoint(["restore", "@", "--", "b*"])
        .success()
        .stdout_has("(1 staged in the checkpoint)")
        .stdout_has("--index -- 'b*'\n");
    fs::remove_file(world.path("a")).unwrap();
    world
        .checkpoint(["apply", "@"])
        .success()
        .stdout_has("  index    nothing is staged (2 staged in the checkpoint)\n");
    world
        .checkpoint(["restore", "@", "--index"])
        .success()
        .stdout_lacks("  index ");

    let world = World::with_commit();
    let commit = |text: &str| {
        world.file("f", text);
        world.git(["add", "f"]).success();
        world.git(["commit", "-qm", text]).success();
    };
    commit("base");
    world.git(["checkout", "-qb", "other"]).success();
    commit("theirs");
    world.git(["checkout", "-q", "main"]).success();
    commit("ours");
    world.git(["merge", "other"]).code(1);
    save(&world, "conflict");
    world.git(["merge", "--abort"]).success();
    world
        .checkpoint(["restore", "@"])
        .success()
        .stdout_has("not restored (1 unmerged in the checkpoint)");
}

#[test]
fn a_hint_that_repeats_the_command_repeats_its_paths() {
    let world = World::with_commit();
    world.checkpoint(["start", "one"]).success();
    world.file("a b", "one");
    save(&world, "one");
    world.checkpoint(["start", "two"]).success();
    world.file("a b", "two");
    save(&world, "two");
    world
        .checkpoint(["restore", "one", "--overlay", "--", "a b", "."])
        .code(4)
        .stderr_has(": git checkpoint restore one --overlay --force -- 'a b' .\n");
    world.git(["checkout", "-q", "--orphan", "new"]).success();
    world.git(["commit", "-qm", "new"]).success();
    let refused = world.checkpoint(["restore", "two", "--", "a b"]).code(4).clone();
    let hint = refused
        .stderr()
        .lines()
        .find(|line| line.contains("git checkpoint apply"))
        .unwrap()
        .to_owned();
    assert!(hint.ends_with(" -- 'a b'"), "{hint}");
}

#[test]
fn the_record_goes_back_with_its_session() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.file("a", "1");
    let first = {
        let receipt = world
            .checkpoint(["save", "-m", "one", "--next", "step one", "-d", "first", "--json"])
            .success()
            .stdout_json();
        receipt["id"].as_str().unwrap().to_owned()
    };
    world.file("a", "2");
    world
        .checkpoint(["save", "-m", "two", "--next", "step two", "-d", "second"])
        .success();
    let pending = || {
        let receipt = world
            .checkpoint(["save", "-m", "look", "--dry-run", "--json"])
            .success()
            .stdout_json();
        receipt["record"].clone()
    };
    assert_eq!(pending()["decisions"], 2);
    world.checkpoint(["restore", &first]).success().stdout_has("the record");
    assert_eq!(pending()["decisions"], 1);
    world.checkpoint(["undo"]).success();
    assert_eq!(
        (pending()["decisions"].clone(), world.read("a")),
        (2.into(), b"2".to_vec())
    );
    world.checkpoint(["restore", &first, "--files-only"]).success();
    assert_eq!(
        (pending()["decisions"].clone(), world.read("a")),
        (2.into(), b"1".to_vec())
    );
    world.checkpoint(["restore", &first, "--record-only"]).success();
    assert_eq!(pending()["decisions"], 1);
    world.file("a", "3");
    save(&world, "three");
    let document = world.git(["show", "checkpoints/s:checkpoint.json"]).stdout_json();
    assert_eq!(document["record"]["decisions"][0]["text"], "first");
    // What was saved meanwhile is not taken back silently.
    world
        .checkpoint(["undo", "--older"])
        .code(4)
        .stderr_has("the record was changed or saved since");
}

#[test]
fn a_file_that_another_program_writes_meanwhile_is_named_and_kept() {
    let world = World::with_commit();
    world.git(["config", "filter.writer.clean", "cat"]).success();
    // The filter of one file writes another one whenever it runs: at last while the plan is carried out.
    let writer = "if test -e ../armed; then echo run >>../armed; wc -l <../armed >zz; fi; cat";
    world.git(["config", "filter.writer.smudge", writer]).success();
    world.file(".gitattributes", "a filter=writer\n");
    for text in ["old\n", "new\n"] {
        world.file("a", text);
        world.file("zz", text);
        save(&world, text.trim());
    }
    fs::write(world.path("../armed"), "").unwrap();
    let restored = world.checkpoint(["restore", "@~1", "--json"]);
    fs::remove_file(world.path("../armed")).unwrap();
    let view = restored.success().stdout_json();
    assert_eq!(world.read("zz"), b"old\n");
    assert_eq!(view["replaced"][0]["paths"], serde_json::json!(["zz"]), "{view}");
    let id = view["replaced"][0]["saved"].as_str().unwrap();
    restored.stderr_has("'zz' was written meanwhile").stderr_has(&id[..8]);
    let kept = world
        .checkpoint(["show", &format!("{id}:zz")])
        .success()
        .stdout()
        .to_owned();
    assert!(kept.trim().parse::<u32>().is_ok_and(|runs| runs > 0), "{kept}");
}

/// A repository with the files `a0`, `m` and `zz`. As soon as `a0` has the text of `../armed` again, the filter of `m` writes
/// `a0`, which is done by then, and `zz`, whose turn comes later.
fn written_meanwhile() -> World {
    let world = World::with_commit();
    world.git(["config", "filter.writer.clean", "cat"]).success();
    let writer = "if cmp -s ../armed a0; then echo EARLY >a0; echo LATE >zz; rm ../armed; fi; cat";
    world.git(["config", "filter.writer.smudge", writer]).success();
    world.file(".gitattributes", "m filter=writer\n");
    for text in ["head\n", "old\n", "new\n"] {
        ["a0", "m", "zz"].iter().for_each(|name| world.file(name, text));
        if text == "head\n" {
            world.git(["add", "--all"]).success();
            world.git(["commit", "--quiet", "-m", "head"]).success();
        } else {
            save(&world, text.trim());
        }
    }
    world
}

/// The texts of `a0`, `m` and `zz`.
fn texts(world: &World) -> [String; 3] {
    ["a0", "m", "zz"].map(|name| String::from_utf8(world.read(name)).unwrap().trim().to_owned())
}

#[test]
fn what_is_written_behind_a_restore_stays() {
    let world = written_meanwhile();
    fs::write(world.path("../armed"), "old\n").unwrap();
    let restored = world.checkpoint(["restore", "@~1", "--json"]);
    let view = restored.success().stdout_json();
    assert_eq!(texts(&world), ["EARLY", "old", "old"]);
    assert_eq!(view["replaced"][0]["paths"], serde_json::json!(["zz"]), "{view}");
    assert_eq!(view["differing"], serde_json::json!(["a0"]), "{view}");
    let id = view["replaced"][0]["saved"].as_str().unwrap();
    world.checkpoint(["show", &format!("{id}:zz")]).stdout_is("LATE\n");
}

#[test]
fn what_is_written_meanwhile_is_no_reason_to_refuse_an_undo_that_has_begun() {
    let world = written_meanwhile();
    world.checkpoint(["restore", "@~1"]).success();
    assert_eq!(texts(&world), ["old", "old", "old"]);
    fs::write(world.path("../armed"), "new\n").unwrap();
    let undone = world.checkpoint(["undo"]);
    undone.success().stdout_has("differs  a0").stdout_has("differs  zz");
    assert_eq!(texts(&world), ["EARLY", "new", "LATE"]);
    world.checkpoint(["status"]).success().stdout_lacks("interrupted");
    // With --force the undo is for these as well; what they had is saved.
    let world = written_meanwhile();
    world.checkpoint(["restore", "@~1"]).success();
    fs::write(world.path("../armed"), "new\n").unwrap();
    let undone = world.checkpoint(["undo", "--force"]);
    undone.success().stderr_has("'zz' was written meanwhile");
    assert_eq!(texts(&world), ["EARLY", "new", "new"]);
}

#[test]
fn what_is_written_meanwhile_is_not_cleaned_away() {
    let world = written_meanwhile();
    fs::write(world.path("../armed"), "head\n").unwrap();
    let cleaned = world.checkpoint(["pause", "--clean", "-m", "p"]);
    cleaned.success().stdout_has("differs  a0").stdout_has("differs  zz");
    assert_eq!(texts(&world), ["EARLY", "head", "LATE"]);
    world.checkpoint(["status"]).success().stdout_lacks("interrupted");
    world.checkpoint(["show", "@:zz"]).stdout_is("new\n");
    assert_eq!(world.git(["diff", "--cached", "--name-only"]).success().stdout(), "");
}

#[test]
fn apply_merges_and_marks_conflicts() {
    let world = World::with_commit();
    world.file("both", "1\n2\n3\n4\n5\n6\n7\n");
    world.git(["add", "both"]).success();
    world.git(["commit", "-qm", "both"]).success();
    world.file("both", "one\n2\n3\n4\n5\n6\n7\n");
    world.file("src/main.txt", "saved\n");
    world.file("untracked", "saved\n");
    fs::remove_file(world.path("README.md")).unwrap();
    save(&world, "then");
    world.git(["checkout", "-q", "--", "."]).success();
    fs::remove_file(world.path("untracked")).unwrap();
    world.file("both", "1\n2\n3\n4\n5\n6\nseven\n");
    world.file("src/main.txt", "present\n");
    world.file("other", "present\n");
    let before = anchors(&world);

    world
        .checkpoint(["apply", "@", "-n"])
        .success()
        .stdout_has("conflict src/main.txt");
    let applied = world.checkpoint(["apply", "@"]).code(1).clone();
    applied.stdout_has("Applied").stdout_has("conflict src/main.txt");
    assert_eq!(world.read("both"), b"one\n2\n3\n4\n5\n6\nseven\n");
    assert_eq!(world.read("untracked"), b"saved\n");
    assert_eq!(world.read("other"), b"present\n");
    assert!(!world.path("README.md").exists());
    let marked = String::from_utf8(world.read("src/main.txt")).unwrap();
    assert!(
        marked.starts_with("<<<<<<< current files\npresent\n=======\nsaved\n>>>>>>> checkpoint "),
        "{marked}"
    );
    // The conflict is one for git as well, and nothing else is staged.
    assert_eq!(
        world.git_line(["diff", "--name-only", "--diff-filter=U"]).trim(),
        "src/main.txt"
    );
    let stages = world.git_line(["ls-files", "--unmerged"]);
    assert_eq!(stages.lines().count(), 3, "{stages}");
    world
        .checkpoint(["apply", "--continue"])
        .code(1)
        .stderr_has("src/main.txt");
    world.checkpoint(["undo"]).success();
    assert_eq!(anchors(&world), before, "the index is as it was");
    world.checkpoint(["apply", "@"]).code(1);
    world.file("src/main.txt", "half resolved\n");
    world.checkpoint(["apply", "--abort"]).success();
    assert_eq!(anchors(&world), before);
    assert_eq!(world.read("src/main.txt"), b"present\n");
    world.checkpoint(["apply", "@"]).code(1);
    world.file("src/main.txt", "both\n");
    world.git(["add", "src/main.txt"]).success();
    world
        .checkpoint(["apply", "--continue"])
        .success()
        .stdout_has("Every conflict is resolved");
    world.checkpoint(["undo", "--force"]).success();
    assert_eq!(world.read("src/main.txt"), b"present\n");
    assert!(!world.path("untracked").exists() && world.path("README.md").exists());
    world.checkpoint(["apply", "@", "--", "untracked"]).success();
    assert_eq!(world.read("both"), b"1\n2\n3\n4\n5\n6\nseven\n");
}

#[test]
fn json_tells_the_plan_and_the_refusals() {
    let world = World::with_commit();
    world.file("a", "1");
    save(&world, "then");
    world.file("a", "2");
    let plan = world
        .checkpoint(["restore", "@", "-n", "--json"])
        .success()
        .stdout_json();
    assert_eq!(
        (&plan["schema"], &plan["outcome"]),
        (&"git-checkpoint.restore/1".into(), &"planned".into())
    );
    assert_eq!(plan["plan"][0]["path"], "a");
    assert_eq!(plan["plan"][0]["act"], "write");
    assert_eq!(plan["plan"][0]["why"]["word"], "differs");
    world.file(".gitignore", "a\n");
    let plan = world.checkpoint(["restore", "@", "-n", "--json"]).code(4).stdout_json();
    assert_eq!(plan["refusals"][0]["paths"][0][0], "a");
    let error = world
        .checkpoint(["restore", "@", "--json"])
        .code(4)
        .no_stdout()
        .stderr_json();
    assert_eq!(error["error"]["code"], "refused");
}

#[test]
fn what_does_not_exist_is_told_apart() {
    let world = World::with_commit();
    world.checkpoint(["restore", "nothing"]).code(3);
    world.checkpoint(["restore"]).code(3);
    world
        .checkpoint(["restore", "--continue"])
        .code(1)
        .stderr_has("nothing was interrupted");
    world.checkpoint(["undo"]).code(1);
    world.checkpoint(["redo"]).code(1);
    world.checkpoint(["save", "--no-files", "-m", "words"]).success();
    let id = world.checkpoint(["show", "@", "--json"]).success().stdout_json()["id"].clone();
    world.checkpoint(["restore", "@"]).code(3).stderr_has(&format!(
        "no files were saved with checkpoint '{}'",
        &id.as_str().unwrap()[..8]
    ));
}

#[test]
fn it_works_from_a_directory_and_keeps_that_directory() {
    let world = World::with_commit();
    world.file("sub/a", "1");
    world.file("a", "1");
    save(&world, "then");
    world.file("sub/a", "2");
    world.file("a", "2");
    world.file("new/x", "3");
    world
        .command("git-checkpoint", ["restore", "@", "--", "a"])
        .within("sub")
        .run()
        .success();
    assert_eq!((world.read("sub/a"), world.read("a")), (b"1".to_vec(), b"2".to_vec()));
    world
        .command("git-checkpoint", ["restore", "@"])
        .within("new")
        .run()
        .success();
    assert!(world.path("new").exists() && !world.path("new/x").exists());
}

/// Makes a file executable.
pub(super) fn executable(world: &World, path: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(world.path(path), fs::Permissions::from_mode(0o755)).unwrap();
}
