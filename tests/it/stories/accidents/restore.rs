//! B26 to B50: restores of other tools that lost work.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::{done, exists, save, saved, text};
use crate::support::{PROGRAM, World};

#[test]
fn b26_a_rule_that_is_not_committed_protects_its_files() {
    let world = saved(&[]);
    world.file(".gitignore", "secret\n");
    world.file("secret", "mine");
    // The rule itself goes with the restore; what it ignored stays.
    done(&world, &["restore", "@"]);
    assert!(!exists(&world, ".gitignore"));
    assert_eq!(text(&world, "secret"), "mine");
    done(&world, &["undo"]);
    assert_eq!(text(&world, ".gitignore"), "secret\n");
}

#[test]
fn b27_the_output_of_other_programs_is_not_cleaned_away() {
    let world = saved(&[(".gitignore", "out/\n")]);
    for n in 0..30 {
        world.file(format!("out/{n}"), "slow to make");
        world.file(format!("new/{n}"), "untracked");
    }
    world
        .checkpoint(["restore", "@"])
        .code(4)
        .stderr_has("would delete 30 of")
        .stderr_has("--force");
    assert!(exists(&world, "new/7"));
    done(&world, &["restore", "@", "--force"]);
    assert!(exists(&world, "out/7") && !exists(&world, "new/7"));
    done(&world, &["undo"]);
    assert_eq!(text(&world, "new/7"), "untracked");
}

#[test]
fn b28_a_broken_store_is_found_before_the_first_write() {
    let world = saved(&[("a", "then a"), ("b", "then b"), ("c", "then c")]);
    for name in ["a", "b", "c"] {
        world.file(name, "now");
    }
    world.file("later", "now");
    let blob = world.git_line(["rev-parse", &format!("{}^2:c", session(&world))]);
    let loosen = "mv .git/objects/pack/*.pack .. && for pack in ../*.pack; do git unpack-objects -q < $pack; done";
    world.command("sh", ["-c", loosen]).run().success();
    let object = world.path(format!(".git/objects/{}/{}", &blob[..2], &blob[2..]));
    fs::remove_file(object).unwrap();
    world.checkpoint(["restore", "@"]).code(128).stderr_has(&blob);
    for name in ["a", "b", "c", "later"] {
        assert_eq!(text(&world, name), "now");
    }
    world.checkpoint(["restore", "--continue"]).code(1);
    // What is whole can still be had.
    done(&world, &["restore", "@", "--", "a", "b"]);
    assert_eq!(text(&world, "a"), "then a");
}

#[test]
fn b29_b30_commits_branches_and_what_is_staged_stay() {
    let world = saved(&[("a", "then")]);
    world.git(["add", "a"]).success();
    world.git(["commit", "-qm", "after"]).success();
    world.file("staged", "staged");
    world.git(["add", "staged"]).success();
    world.file("a", "now");
    let state = || {
        (
            world.git_line(["for-each-ref", "refs/heads", "refs/stash"]),
            world.git_line(["ls-files", "-s"]),
        )
    };
    let before = state();
    done(&world, &["restore", "@"]);
    assert_eq!(state(), before);
    assert_eq!(text(&world, "a"), "then");
    done(&world, &["undo"]);
    assert_eq!(state(), before);
    assert_eq!(text(&world, "staged"), "staged");
}

#[test]
fn b31_b35_b40_deletions_are_shown_proven_and_taken_back() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.maxFileSize", "1k"]).success();
    let large = "x".repeat(3000);
    world.file("large", &large);
    world.file("kept/deep/file", "then");
    let receipt = world.checkpoint(["save", "-m", "then"]);
    receipt.success().stderr_has("not saved: large");
    // Made by the user since, deleted by a shell since, and never saved because it was too large.
    world.file("mine", "mine");
    fs::remove_dir_all(world.path("kept")).unwrap();
    fs::rename(world.path("README.md"), world.path("READ")).unwrap();
    let plan = done(&world, &["restore", "@", "--dry-run"]);
    assert!(
        plan.contains("delete") && plan.contains("mine") && exists(&world, "mine"),
        "{plan}"
    );
    done(&world, &["restore", "@", "--overlay"]);
    assert!(exists(&world, "mine") && exists(&world, "kept/deep/file") && exists(&world, "README.md"));
    done(&world, &["restore", "@"]);
    assert!(!exists(&world, "mine") && !exists(&world, "READ"));
    assert_eq!(text(&world, "large"), large, "not absent but skipped");
    world.file("large", "small now");
    done(&world, &["restore", "@"]);
    assert_eq!(text(&world, "large"), "small now");
    done(&world, &["undo"]);
    assert_eq!(text(&world, "mine"), "mine");
}

#[test]
fn b35_a_directory_that_no_checkpoint_holds_does_not_yield() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.exclude", ".env*"]).success();
    world.file(".env", "TOKEN=then");
    world.git(["add", "-f", ".env"]).success();
    save(&world, "then");
    fs::remove_file(world.path(".env")).unwrap();
    world.file(".env/local", "TOKEN=now");
    for force in [&[][..], &["--force"]] {
        let refused = world.checkpoint([&["restore", "@"], force].concat());
        refused
            .code(4)
            .stderr_has(".env  stays, but a file has to take the place");
        assert_eq!(text(&world, ".env/local"), "TOKEN=now");
    }
    done(&world, &["restore", "@", "--", "README.md"]);
}

#[test]
fn b32_b46_what_would_happen_is_what_happens() {
    let world = saved(&[("a", "then"), ("gone", "then")]);
    world.file("README.md", "the user's own edit\n");
    world.file("a", "now");
    world.file("new", "now");
    fs::remove_file(world.path("gone")).unwrap();
    let lines = |args: &[&str]| {
        let json = world.checkpoint([args, &["--json"]].concat()).success().stdout_json();
        json["plan"].clone()
    };
    let planned = lines(&["restore", "@", "--dry-run"]);
    assert_eq!(planned.as_array().unwrap().len(), 4, "{planned}");
    world
        .checkpoint(["diff", "@"])
        .success()
        .stdout_has("the user's own edit");
    assert_eq!(lines(&["restore", "@"]), planned);
}

#[test]
fn b33_the_work_of_another_session_is_not_taken_back_unseen() {
    let world = saved(&[]);
    world.checkpoint(["start", "one"]).success();
    world.file("a", "one");
    save(&world, "one");
    world.checkpoint(["start", "two"]).success();
    world.file("b", "two");
    save(&world, "two");
    let refused = world.checkpoint(["restore", "one"]);
    refused
        .code(4)
        .stderr_has("session 'two' saved 1 path of these since")
        .stderr_has("  b");
    // A part of the files is another matter.
    world.file("a", "edited");
    done(&world, &["restore", "one", "--", "a"]);
    assert_eq!((text(&world, "a"), text(&world, "b")), ("one".into(), "two".into()));
}

#[test]
fn b34_files_do_not_come_from_another_history() {
    let world = saved(&[("a", "then")]);
    world.git(["checkout", "-q", "--orphan", "other"]).success();
    world.git(["commit", "-qm", "other"]).success();
    world.file("a", "now");
    let refused = world.checkpoint(["restore", "main"]);
    refused
        .code(4)
        .stderr_has("is not an ancestor of")
        .stderr_has("git checkpoint apply")
        .stderr_has("--worktree")
        .stderr_has("git switch -c");
    assert_eq!(text(&world, "a"), "now");
}

#[test]
fn b36_what_is_restored_is_not_pruned_meanwhile() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.keepLast", "2"]).success();
    world.git(["config", "checkpoint.autoPrune", "true"]).success();
    for n in 1..=4 {
        world.file("a", format!("{n}"));
        save(&world, &format!("save {n}"));
    }
    let log = done(&world, &["log", "--oneline"]);
    let oldest = world.git_line(["rev-parse", "--short=12", &format!("{}~1", session(&world))]);
    for _ in 0..4 {
        world.file("a", "again");
        done(&world, &["restore", &oldest]);
        assert_eq!(text(&world, "a"), "3");
    }
    assert_eq!(done(&world, &["log", "--oneline"]), log);
}

fn session(world: &World) -> String {
    world.git_line(["for-each-ref", "--format=%(refname)", "--count=1", "refs/checkpoints"])
}

#[test]
fn b37_files_that_came_later_go_whether_tracked_or_not() {
    let world = saved(&[]);
    for name in ["untracked", "staged", "committed"] {
        world.file(name, "later");
    }
    world.git(["add", "committed"]).success();
    world.git(["commit", "-qm", "later"]).success();
    world.git(["add", "staged"]).success();
    // Committed work goes only on the user's word.
    world.checkpoint(["restore", "@"]).code(4).stderr_has("committed");
    done(&world, &["restore", "@", "--force"]);
    for name in ["untracked", "staged", "committed"] {
        assert!(!exists(&world, name), "{name}");
    }
    assert_eq!(world.git_line(["ls-files", "staged", "committed"]), "committed\nstaged");
}

#[test]
fn b38_it_is_the_same_work_tree_from_everywhere() {
    let world = saved(&[("src/a", "then"), ("a", "then")]);
    symlink(world.repo(), world.root().join("link")).unwrap();
    for (directory, spec) in [
        ("src", "a"),
        ("../link/src", "a"),
        ("../link", "src/a"),
        ("src/..", "src"),
    ] {
        world.file("src/a", "now");
        world.file("a", "now");
        let here = world
            .command(PROGRAM, ["restore", "@", "--", spec])
            .within(directory)
            .run();
        here.success();
        assert_eq!(
            (text(&world, "src/a"), text(&world, "a")),
            ("then".into(), "now".into()),
            "{directory}"
        );
    }
    let all = world.command(PROGRAM, ["restore", "@"]).within("src").run();
    all.success();
    assert_eq!(text(&world, "a"), "then");
}

#[test]
fn b39_every_restore_can_be_taken_back() {
    let world = saved(&[("a", "0")]);
    for n in 1..=3 {
        world.file("a", format!("{n}"));
        done(&world, &["restore", "@"]);
    }
    for n in (1..=3).rev() {
        assert_eq!(text(&world, "a"), "0");
        done(&world, &["undo"]);
        assert_eq!(text(&world, "a"), format!("{n}"));
        if n > 1 {
            // Each undo leaves what the restore before it made.
            world.file("a", "0");
        }
    }
}

#[test]
fn b41_files_and_record_go_back_together_and_both_are_named() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.file("a", "1");
    world.checkpoint(["save", "-m", "one", "--next", "first"]).success();
    world.file("a", "2");
    world.checkpoint(["save", "-m", "two", "--next", "second"]).success();
    let receipt = world.checkpoint(["restore", "@~1", "--json"]).success().stdout_json();
    assert_eq!(
        (&receipt["files"]["written"], &receipt["record"]),
        (&1.into(), &"restored".into())
    );
    let said = done(&world, &["status"]);
    assert!(said.contains("first"), "{said}");
    done(&world, &["undo"]);
    // Where only one half is done, it says so.
    let receipt = world
        .checkpoint(["restore", "@~1", "--files-only", "--json"])
        .success()
        .stdout_json();
    assert_eq!(receipt["record"], "not-meant");
}

#[test]
fn b42_nothing_is_left_staged_or_behind() {
    let world = World::with_commit();
    world.file("staged", "1");
    world.git(["add", "staged"]).success();
    world.file("untracked", "2");
    save(&world, "then");
    let status = || world.git_line(["status", "--porcelain=v2", "--untracked-files=all"]);
    let then = status();
    world.git(["rm", "-q", "--cached", "staged"]).success();
    world.file("untracked", "now");
    world.git(["add", "untracked"]).success();
    fs::remove_file(world.path("staged")).unwrap();
    world.file("more/x", "3");
    done(&world, &["restore", "@", "--index"]);
    assert_eq!(status(), then);
    world
        .checkpoint(["restore", "@", "--index"])
        .success()
        .stdout_has("lready up to date");
}

#[test]
fn b43_a_file_in_the_way_loses_neither_side() {
    let world = saved(&[("a", "then"), ("b", "then")]);
    fs::remove_file(world.path("a")).unwrap();
    world.file("b", "mine");
    world.file("README.md", "tracked edit\n");
    done(&world, &["restore", "@"]);
    assert_eq!((text(&world, "a"), text(&world, "b")), ("then".into(), "then".into()));
    done(&world, &["undo"]);
    assert!(!exists(&world, "a"));
    assert_eq!(
        (text(&world, "b"), text(&world, "README.md")),
        ("mine".into(), "tracked edit\n".into())
    );
}

#[test]
fn b44_a_merge_in_progress_is_respected() {
    let world = World::with_commit();
    world.git(["switch", "-qc", "side"]).success();
    world.file("README.md", "side\n");
    world.git(["commit", "-qam", "side"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.file("README.md", "main\n");
    world.git(["commit", "-qam", "main"]).success();
    save(&world, "before the merge");
    world.git(["merge", "side"]).code(1);
    save(&world, "in the merge");
    let then = (world.read("README.md"), world.git_line(["ls-files", "-s"]));
    world.file("README.md", "half solved\n");
    for line in [["restore", "@~1"], ["apply", "@"]] {
        let refused = world.checkpoint(line);
        refused
            .code(4)
            .stderr_has("a merge is in progress")
            .stderr_has("--force");
    }
    // Where nothing is to be applied, the merge is in nobody's way.
    world
        .checkpoint(["apply", "@~1"])
        .success()
        .stdout_has("Nothing to apply of");
    assert_eq!(text(&world, "README.md"), "half solved\n");
    world.git(["add", "README.md"]).success();
    // What was saved in this very merge comes back to it.
    done(&world, &["restore", "@", "--index"]);
    assert_eq!((world.read("README.md"), world.git_line(["ls-files", "-s"])), then);
    assert!(exists(&world, ".git/MERGE_HEAD"));
    done(&world, &["undo"]);
    assert!(exists(&world, ".git/MERGE_HEAD"));
    assert_eq!(text(&world, "README.md"), "half solved\n");
}

#[test]
fn b47_b48_names_of_any_bytes_come_back() {
    let world = World::with_commit();
    let names: [&[u8]; 9] = [
        "公共.cpp".as_bytes(),
        b"a\"b",
        b"nl\nname",
        b"\xff\xfe",
        b" lead",
        b"trail ",
        b"-x",
        b"tab\t",
        b"\\",
    ];
    for name in names {
        fs::write(world.repo().join(std::ffi::OsStr::from_bytes(name)), name).unwrap();
    }
    save(&world, "then");
    for name in names {
        fs::remove_file(world.repo().join(std::ffi::OsStr::from_bytes(name))).unwrap();
    }
    let receipt = world.checkpoint(["restore", "@", "--json"]).success().stdout_json();
    assert_eq!(receipt["files"]["written"], names.len());
    for name in names {
        assert_eq!(
            fs::read(world.repo().join(std::ffi::OsStr::from_bytes(name))).unwrap(),
            name
        );
    }
}

#[test]
fn b49_a_directory_that_became_a_link_stops_nothing() {
    let world = World::with_commit();
    world.file("d/f", "1");
    world.git(["add", "d"]).success();
    world.git(["commit", "-qm", "d"]).success();
    fs::rename(world.path("d"), world.path("real")).unwrap();
    symlink("real", world.path("d")).unwrap();
    save(&world, "linked");
    save(&world, "and once more");
    world
        .checkpoint(["restore", "@~2"])
        .code(3)
        .stderr_has("no files were saved with");
    fs::remove_file(world.path("d")).unwrap();
    world.file("d/f", "a folder again");
    save(&world, "folder");
    done(&world, &["restore", "@~1"]);
    assert_eq!(fs::read_link(world.path("d")).unwrap(), std::path::Path::new("real"));
    assert_eq!(text(&world, "real/f"), "1");
    done(&world, &["restore", "@"]);
    assert_eq!(text(&world, "d/f"), "a folder again");
}

#[test]
fn b50_nothing_is_written_through_a_linked_parent() {
    let world = saved(&[("d/x", "then")]);
    world.file("../outside/x", "precious");
    fs::remove_dir_all(world.path("d")).unwrap();
    symlink("../outside", world.path("d")).unwrap();
    // Neither by a restore nor by a merge, nor on the way back.
    done(&world, &["restore", "@"]);
    assert_eq!(
        (text(&world, "d/x"), text(&world, "../outside/x")),
        ("then".into(), "precious".into())
    );
    done(&world, &["undo"]);
    assert_eq!(
        fs::read_link(world.path("d")).unwrap(),
        std::path::Path::new("../outside")
    );
    world.checkpoint(["apply", "@"]);
    assert_eq!(text(&world, "../outside/x"), "precious");
}
