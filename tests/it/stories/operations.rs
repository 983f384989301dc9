//! An operation of git in progress: its commits and messages are in the checkpoint, kept by `git gc` and carried by a
//! push, and it is named as `git status` names it.

use std::fs;

use crate::support::World;

/// How an operation is begun, how it is given up, and what is said of it.
struct Case {
    name: &'static str,
    begin: fn(&World),
    end: &'static [&'static str],
    words: &'static str,
    /// Commits that must stay, by what git calls them while the operation goes on.
    kept: &'static [&'static str],
    files: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        name: "merge",
        begin: |w| drop(w.git(["merge", "--quiet", "side"])),
        end: &["merge", "--abort"],
        words: "merging side",
        kept: &["MERGE_HEAD"],
        files: &["MERGE_MSG"],
    },
    Case {
        name: "merge not committed yet",
        begin: |w| drop(w.git(["merge", "--quiet", "--no-commit", "--no-ff", "apart"])),
        end: &["merge", "--abort"],
        words: "merging apart",
        kept: &["MERGE_HEAD"],
        files: &["MERGE_MSG", "MERGE_MODE"],
    },
    Case {
        name: "merge of two",
        begin: |w| drop(w.git(["merge", "--quiet", "--no-commit", "apart", "further"])),
        end: &["merge", "--abort"],
        words: "merging apart, further",
        kept: &["refs/heads/apart", "refs/heads/further"],
        files: &["MERGE_MSG"],
    },
    Case {
        name: "cherry-pick",
        begin: |w| drop(w.git(["cherry-pick", "side"])),
        end: &["cherry-pick", "--abort"],
        words: "cherry-picking ",
        kept: &["CHERRY_PICK_HEAD"],
        files: &["MERGE_MSG"],
    },
    Case {
        name: "several picks",
        begin: |w| drop(w.git(["cherry-pick", "side", "apart", "further"])),
        end: &["cherry-pick", "--abort"],
        words: "cherry-picking ",
        kept: &["CHERRY_PICK_HEAD", "refs/heads/apart", "refs/heads/further"],
        files: &["MERGE_MSG", "sequencer/todo"],
    },
    Case {
        name: "revert",
        begin: |w| drop(w.git(["revert", "--no-edit", "HEAD~1"])),
        end: &["revert", "--abort"],
        words: "reverting ",
        kept: &["REVERT_HEAD"],
        files: &["MERGE_MSG"],
    },
    Case {
        name: "rebase",
        begin: |w| {
            w.git(["switch", "--quiet", "side"]).success();
            drop(w.git(["rebase", "--quiet", "main"]));
        },
        end: &["rebase", "--abort"],
        words: "rebasing branch side onto ",
        kept: &["REBASE_HEAD", "refs/heads/side", "refs/heads/main"],
        files: &["rebase-merge/head-name", "rebase-merge/onto"],
    },
    Case {
        name: "rebase by patches",
        begin: |w| {
            w.git(["switch", "--quiet", "side"]).success();
            drop(w.git(["rebase", "--quiet", "--apply", "main"]));
        },
        end: &["rebase", "--abort"],
        words: "rebasing branch side onto ",
        kept: &["refs/heads/side", "refs/heads/main"],
        files: &["rebase-apply/head-name", "rebase-apply/onto"],
    },
    Case {
        name: "rebase with local changes put aside",
        begin: |w| {
            w.git(["switch", "--quiet", "side"]).success();
            w.file("base", "local\n");
            drop(w.git(["rebase", "--quiet", "--autostash", "main"]));
        },
        end: &["rebase", "--abort"],
        words: "rebasing branch side onto ",
        kept: &["REBASE_HEAD", "stash of the rebase"],
        files: &["rebase-merge/autostash"],
    },
    Case {
        name: "am",
        begin: |w| {
            let patch = w.git_line(["format-patch", "-1", "--stdout", "side"]);
            drop(w.command("git", ["am", "--quiet"]).input(patch + "\n").run());
        },
        end: &["am", "--abort"],
        words: "applying mails (am)",
        kept: &[],
        files: &["rebase-apply/applying"],
    },
    Case {
        name: "bisect",
        begin: |w| {
            w.git(["bisect", "start", "side", "HEAD~2"]).success();
        },
        end: &["bisect", "reset"],
        words: "bisecting, started from main",
        kept: &["refs/bisect/bad"],
        files: &["BISECT_LOG", "BISECT_START"],
    },
];

/// Branches `main` and `side` that conflict, `apart` and `further` that do not.
fn branches(reftable: bool) -> World {
    let world = World::without_repository();
    let format = if reftable {
        "--ref-format=reftable"
    } else {
        "--ref-format=files"
    };
    world
        .git(["init", "--quiet", "--initial-branch=main", format])
        .success();
    let commit = |path: &str, text: &str, message: &str| {
        world.file(path, text);
        world.git(["add", "--all"]).success();
        world.git(["commit", "--quiet", "-m", message]).success();
    };
    commit("base", "0\n", "base");
    commit("f", "1\n", "first");
    for branch in ["side", "apart", "further"] {
        world.git(["switch", "--quiet", "-c", branch, "main"]).success();
        let path = if branch == "side" { "f" } else { branch };
        commit(path, &format!("{branch}\n"), branch);
    }
    world.git(["switch", "--quiet", "main"]).success();
    commit("f", "main\n", "second");
    commit("f", "main again\n", "third");
    world
}

#[test]
fn its_commits_are_kept_and_carried_and_it_is_named() {
    for (case, reftable) in CASES
        .iter()
        .map(|case| (case, false))
        .chain([(&CASES[0], true), (&CASES[3], true)])
    {
        let name = format!("{} (reftable {reftable})", case.name);
        let world = branches(reftable);
        (case.begin)(&world);
        let kept: Vec<String> = case
            .kept
            .iter()
            .map(|wanted| match *wanted {
                "stash of the rebase" => String::from_utf8(world.read(".git/rebase-merge/autostash")).unwrap(),
                wanted => world.git_line(["rev-parse", wanted]),
            })
            .map(|id| id.trim().to_owned())
            .collect();
        world.checkpoint(["start", "s"]).success();
        world
            .checkpoint(["save", "-m", "in the middle"])
            .success()
            .stdout_has(case.words);
        world.checkpoint(["status"]).success().stdout_has(case.words);
        world.checkpoint(["show", "s"]).success().stdout_has(case.words);
        world.checkpoint(["save"]).success().stdout_has("othing");
        let document = world
            .git(["show", "checkpoints/s:checkpoint.json"])
            .success()
            .stdout_json();
        let files = document["git"]["operation"]["files"].as_array().unwrap().clone();
        for file in case.files {
            let n = files
                .iter()
                .position(|name| name == file)
                .unwrap_or_else(|| panic!("{name}: no {file} in {files:?}"));
            let stored = world.git(["cat-file", "blob", &format!("checkpoints/s:operation/{n}")]);
            let path = world.git_line(["rev-parse", "--git-path", file]);
            assert_eq!(stored.success().stdout_bytes(), world.read(path), "{name}: {file}");
        }
        // The shape stays that of a stash.
        assert_eq!(
            world
                .git_line(["show", "-s", "--format=%P", "checkpoints/s^2"])
                .split(' ')
                .count(),
            2,
            "{name}"
        );

        world.git(["reset", "--quiet", "--hard"]);
        world.git(case.end);
        world.git(["checkout", "--quiet", "--force", "main"]).success();
        for branch in ["side", "apart", "further"] {
            world.git(["branch", "--quiet", "-D", branch]).success();
        }
        world.git(["reset", "--quiet", "--hard", "HEAD~2"]).success();
        for log in ["--expire=now", "--expire-unreachable=now"] {
            world.git(["reflog", "expire", log, "--all"]).success();
        }
        world.git(["gc", "--quiet", "--prune=now"]).success();
        world.git(["init", "--quiet", "--bare", "../there.git"]).success();
        world
            .git(["push", "--quiet", "../there.git", "refs/checkpoints/s"])
            .success();
        for (id, what) in kept.iter().zip(case.kept) {
            let here = world.git(["cat-file", "-e", id]);
            assert!(here.is_success(), "{name}: {what} was not kept");
            let there = world.git(["--git-dir=../there.git", "cat-file", "-e", id]);
            assert!(there.is_success(), "{name}: {what} was not pushed");
        }
        world.git(["--git-dir=../there.git", "fsck", "--strict"]).success();
        world.checkpoint(["verify", "--all"]).success();
    }
}

#[test]
fn a_session_in_the_middle_of_a_merge_is_shared() {
    let world = branches(false);
    world.git(["merge", "--quiet", "side"]);
    let side = world.git_line(["rev-parse", "side"]);
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "-m", "in the middle"]).success();
    world.git(["init", "--quiet", "--bare", "../there.git"]).success();
    world.git(["remote", "add", "origin", "../there.git"]).success();
    world.checkpoint(["push", "origin", "s"]).success();
    world.git(["clone", "--quiet", "../there.git", "../other"]);
    world.enter("other");
    world.checkpoint(["pull", "origin", "s"]).success();
    world.git(["cat-file", "-e", &side]).success();
    world.checkpoint(["verify", "--all"]).success();
    world.checkpoint(["show", "s"]).success().stdout_has("merging side");
}

#[test]
fn an_operation_that_begins_or_ends_is_something_new() {
    let world = branches(false);
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "-m", "before"]).success();
    world.git(["bisect", "start", "side", "main~2"]).success();
    world.git(["checkout", "--quiet", "main"]).success();
    let count = || world.git_line(["rev-list", "--first-parent", "--count", "checkpoints/s"]);
    let before = count();
    world.checkpoint(["save", "-m", "bisecting"]).success();
    assert_ne!(count(), before);
    let before = count();
    world.git(["bisect", "reset"]).success();
    world.checkpoint(["save"]).success();
    assert_ne!(count(), before);
    assert!(fs::metadata(world.path(".git/BISECT_LOG")).is_err());
}

#[test]
fn a_purge_keeps_the_commits_of_the_operation() {
    let world = branches(false);
    world.file("secret", "password");
    world.git(["merge", "--quiet", "side"]);
    let head = world.git_line(["rev-parse", "MERGE_HEAD"]);
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "-m", "in the middle"]).success();
    world.checkpoint(["purge", "--yes", "--", "secret"]).success();
    let parents = world.git_line(["show", "-s", "--format=%P", "checkpoints/s^2^2"]);
    assert!(parents.ends_with(&head), "{parents}");
    assert_eq!(world.git_line(["ls-tree", "checkpoints/s^2", "secret"]), "");
    world.checkpoint(["verify", "--all"]).success();
}

/// The output of git about the working tree, index and operation.
fn said(world: &World) -> String {
    world.git_line(["status"])
}

/// Saves in the middle of a case, and gives the operation up.
fn saved_and_given_up(case: &Case, reftable: bool) -> (World, String) {
    let world = branches(reftable);
    (case.begin)(&world);
    let before = said(&world);
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "-m", "in the middle"]).success();
    world.git(case.end).success();
    world.git(["checkout", "--quiet", "--force", "main"]).success();
    assert_ne!(said(&world), before, "{}", case.name);
    (world, before)
}

#[test]
fn a_merge_cherry_pick_or_revert_is_set_up_again() {
    let all = CASES[..6].iter().map(|case| (case, false));
    for (case, reftable) in all.chain([(&CASES[0], true), (&CASES[4], true), (&CASES[5], true)]) {
        let name = format!("{} (reftable {reftable})", case.name);
        let (world, before) = saved_and_given_up(case, reftable);
        let clean = said(&world);
        let planned = world.checkpoint(["restore", "s", "--index", "--dry-run"]);
        planned.success().stdout_has("would be in progress again");
        assert_eq!(said(&world), clean, "{name}");
        world
            .checkpoint(["restore", "s", "--index"])
            .success()
            .stdout_has(case.words)
            .stdout_has("  git      in progress again: ");
        assert_eq!(said(&world), before, "{name}");
        // A second time there is nothing to do, and it stays.
        world.checkpoint(["restore", "s", "--index"]).success();
        assert_eq!(said(&world), before, "{name}");
        world.checkpoint(["undo"]).success();
        assert_eq!(said(&world), clean, "{name}");
        world.checkpoint(["redo"]).success();
        assert_eq!(said(&world), before, "{name}");
        // git continues from there as if nothing had happened.
        let heads = world.git_line(["rev-parse", case.kept[0]]);
        world.file("f", "both\n");
        world.git(["add", "--all"]).success();
        let ended = world
            .command("git", [case.end[0], "--continue"])
            .env("GIT_EDITOR", "true")
            .run();
        assert!(
            ended.is_success() || name.contains("several"),
            "{name}: {}",
            ended.stderr()
        );
        if case.end[0] == "merge" {
            let parents = world.git_line(["show", "-s", "--format=%P", "HEAD"]);
            assert!(parents.contains(&heads), "{name}: {parents}");
        }
    }
}

#[test]
fn resume_brings_an_operation_back_as_well() {
    for case in &CASES[..6] {
        let world = branches(false);
        (case.begin)(&world);
        let before = said(&world);
        world.checkpoint(["start", "s"]).success();
        world.checkpoint(["pause", "-m", "in the middle"]).success();
        world.git(case.end).success();
        world.checkpoint(["resume", "s", "--apply"]);
        assert_eq!(said(&world), before, "{}", case.name);
    }
}

#[test]
fn an_operation_that_git_begins_anew_is_named_with_its_command() {
    for (at, command) in [
        (6, "git rebase "),
        (7, "git rebase "),
        (8, "git rebase "),
        (9, "git am --3way"),
        (10, "git bisect replay"),
    ] {
        let case = &CASES[at];
        let (world, _) = saved_and_given_up(case, false);
        world
            .checkpoint(["restore", "s", "--index", "--force"])
            .success()
            .stdout_has(case.words)
            .stdout_has("  git      not in progress again: ")
            .stdout_has("           git cannot continue it\n")
            .stdout_has(command);
    }
}

#[test]
fn an_operation_that_does_not_fit_is_left_with_the_reason() {
    // HEAD is elsewhere.
    let (world, _) = saved_and_given_up(&CASES[0], false);
    world
        .git(["commit", "--quiet", "--allow-empty", "-m", "later"])
        .success();
    world
        .checkpoint(["restore", "s", "--index", "--force"])
        .success()
        .stdout_has("  git      not in progress again: ")
        .stdout_has("           HEAD is at ")
        .stdout_has("git switch --detach");
    world.git(["rev-parse", "--quiet", "--verify", "MERGE_HEAD"]).code(1);
    // Another one is in progress.
    let (world, _) = saved_and_given_up(&CASES[3], false);
    world
        .git(["merge", "--quiet", "--no-commit", "--no-ff", "apart"])
        .success();
    world.checkpoint(["restore", "s", "--index"]).code(4);
    world
        .checkpoint(["restore", "s", "--index", "--force"])
        .success()
        .stdout_has("           another one is in progress: merging apart; finish it first\n");
    // Without the index nothing is set up.
    let (world, _) = saved_and_given_up(&CASES[5], false);
    world
        .checkpoint(["restore", "s"])
        .success()
        .stdout_lacks("in progress again");
    world.git(["rev-parse", "--quiet", "--verify", "REVERT_HEAD"]).code(1);
    // A list of picks with a command in it, as somebody might send it, is not written.
    let (world, _) = saved_and_given_up(&CASES[4], false);
    let tip = world.git_line(["rev-parse", "checkpoints/s"]);
    let document = world.git(["show", &format!("{tip}:checkpoint.json")]).stdout_json();
    let files = document["git"]["operation"]["files"].as_array().unwrap();
    let todo = files.iter().position(|name| name == "sequencer/todo").unwrap();
    assert!(
        world
            .git_line(["show", &format!("{tip}:operation/{todo}")])
            .starts_with("pick ")
    );
}

/// An apply sets a merge up again if all of its index came, also what was unmerged; else it says what did not come.
#[test]
fn an_apply_sets_a_merge_up_with_its_whole_index_only() {
    let is_merging = |world: &World| {
        world
            .git(["rev-parse", "--quiet", "--verify", "MERGE_HEAD"])
            .is_success()
    };
    // Unmerged entries, among other changes.
    let (world, _) = saved_and_given_up(&CASES[0], false);
    world.file("unrelated", "local\n");
    world
        .checkpoint(["apply", "s", "--index"])
        .code(1)
        .stdout_has("  git      in progress again: merging side\n");
    assert!(is_merging(&world));
    assert_ne!(world.git_line(["ls-files", "--unmerged"]), "");
    world.checkpoint(["apply", "--abort"]).success();
    assert!(!is_merging(&world));
    assert_eq!(world.git_line(["ls-files", "--unmerged"]), "");
    // A path that is resolved here already.
    let (world, _) = saved_and_given_up(&CASES[0], false);
    let resolved = world.git_line(["show", "checkpoints/s^2:f"]);
    world.file("f", resolved + "\n");
    world.file("unrelated", "local\n");
    world
        .checkpoint(["apply", "s", "--index"])
        .stdout_has("           not all that was unmerged is in the index");
    assert!(!is_merging(&world));
    // Something else is staged here.
    let (world, _) = saved_and_given_up(&CASES[1], false);
    let staged = world.git_line(["show", "--format=", "--name-only", "apart"]);
    let staged = staged.lines().next().unwrap();
    world.file(staged, "staged here\n");
    world.git(["add", staged]).success();
    world
        .checkpoint(["apply", "s", "--index"])
        .stdout_has("           not all that was staged is in the index");
    assert!(!is_merging(&world));
}

/// The report says what is so: still in progress, ended where it was begun, or never begun in this place.
#[test]
fn the_report_tells_an_operation_that_ended_from_one_that_was_never_here() {
    for case in CASES {
        let name = case.name;
        let world = branches(false);
        world.git(["init", "--quiet", "--bare", "../hub"]).success();
        world.git(["remote", "add", "origin", "../hub"]).success();
        world.git(["push", "--quiet", "origin", "--all"]).success();
        (case.begin)(&world);
        let kind = match name {
            "am" | "bisect" | "revert" => name,
            name if name.contains("merge") => "merge",
            name if name.contains("pick") => "cherry-pick",
            _ => "rebase",
        };
        world.checkpoint(["start", "s"]).success();
        world.checkpoint(["save", "-m", "in the middle"]).success();
        world.checkpoint(["push", "origin", "s"]).success();
        let report = world.checkpoint(["resume", "s"]);
        report.success().stdout_has(kind).stdout_lacks("ended");
        report.stdout_lacks("none is in progress");
        // Where it was begun, and ended.
        world.git(case.end).success();
        let report = world.checkpoint(["resume", "s"]);
        report.success().stdout_has("which has ended").stdout_lacks("finished");
        report.stdout_lacks("to begin it here");
        // In another working tree and in another clone it never was.
        world
            .git(["worktree", "add", "--quiet", "--detach", "../linked", "main"])
            .success();
        world.git(["clone", "--quiet", "../hub", "../clone"]).success();
        let places: &[&str] = match name {
            "merge" | "revert" | "rebase" | "bisect" => &["linked", "clone"],
            _ => &["linked"],
        };
        for place in places.iter().copied() {
            world.enter(place);
            if place == "clone" {
                world.checkpoint(["pull", "origin", "s"]).success();
            }
            let report = world.checkpoint(["resume", "s"]);
            report
                .success()
                .stdout_has("none is in progress here")
                .stdout_has("to begin it here:")
                .stdout_lacks("ended")
                .stdout_lacks("finished");
            let json = world.checkpoint(["resume", "s", "--json"]).success().stdout_json();
            let line = &json["report"]["operation"];
            assert!(line["command"].as_str().unwrap().starts_with("git "), "{name}: {line}");
            let applied = world.checkpoint(["resume", "s", "--apply"]);
            applied.stdout_lacks("has finished").stdout_lacks("ended");
        }
    }
}
