//! Claims of several that work at once: of sessions and of single tasks, between processes and between clones.

use crate::support::{Spawned, World};

const TASKS: &str =
    r#"{"tasks": [{"id": "T-1", "title": "port the lexer"}, {"id": "T-2", "title": "port the parser"}]}"#;

fn with_tasks() -> World {
    let world = World::with_commit();
    let save = world.command(crate::support::PROGRAM, ["save", "-q", "-m", "plan", "--record", "-"]);
    save.input(TASKS).run().success();
    world
}

#[test]
fn each_takes_a_task_of_its_own() {
    let world = with_tasks();
    world
        .checkpoint(["claim", "--task", "T-1", "--agent", "ana"])
        .success()
        .stdout_has("task 'port the lexer' claimed by ana");
    world
        .checkpoint(["claim", "--task", "lexer", "--agent", "ben"])
        .code(4)
        .stderr_has("task 'port the lexer' is claimed by ana")
        .stderr_has("claim --task T-1 --force");
    world.checkpoint(["claim", "--task", "2", "--agent", "ben"]).success();
    world
        .checkpoint(["task", "list"])
        .success()
        .stdout_has("claimed by ana")
        .stdout_has("claimed by ben");
    world.checkpoint(["resume"]).success().stdout_has("claim: by ana");
    world.checkpoint(["release", "--task", "T-1", "--agent", "ben"]).code(4);
    world
        .checkpoint(["release", "--task", "T-1", "--agent", "ana"])
        .success();
    world.checkpoint(["claim", "--task", "T-1", "--agent", "ben"]).success();
    // It ends by itself.
    world.advance(5 * 3600);
    world.checkpoint(["claim", "--task", "T-1", "--agent", "ana"]).success();
    world
        .checkpoint(["claim", "--for", "0"])
        .code(129)
        .stderr_has("git checkpoint release");
    world
        .checkpoint(["claim", "--task", "T-9"])
        .code(3)
        .stderr_has("no task 'T-9'");
}

#[test]
fn of_two_processes_one_gets_it() {
    let world = with_tasks();
    let claims: Vec<_> = ["ana", "ben", "cem"]
        .map(|agent| world.spawn(["claim", "--task", "T-1", "--agent", agent]))
        .into();
    let codes: Vec<_> = claims.into_iter().map(Spawned::code).collect();
    let won = codes.iter().filter(|code| **code == Some(0)).count();
    assert_eq!(won, 1, "{codes:?}");
}

#[test]
fn of_two_clones_the_first_to_push_has_it() {
    let world = with_tasks();
    world.git(["init", "-q", "--bare", "../origin.git"]).success();
    world.git(["remote", "add", "origin", "../origin.git"]).success();
    world.git(["push", "-q", "origin", "main"]).success();
    world.checkpoint(["push", "origin", "main"]).success();
    let mine = world.repo();
    world.git(["clone", "-q", "../origin.git", "../theirs"]).success();
    let theirs = mine.parent().expect("a directory").join("theirs");
    world.enter(&theirs);
    world.checkpoint(["pull", "origin", "main"]).success();
    world.checkpoint(["resume", "main"]).success();
    world.checkpoint(["claim", "--task", "T-1", "--agent", "ben"]).success();
    world.enter(&mine);
    world.checkpoint(["claim", "--task", "T-1", "--agent", "ana"]).success();
    world.checkpoint(["push", "origin", "main"]).success();
    world.enter(&theirs);
    assert!(!world.checkpoint(["push", "origin", "main"]).is_success());
    world.checkpoint(["pull", "--merge", "origin", "main"]).success();
    world
        .checkpoint(["task", "list"])
        .success()
        .stdout_has("claimed by ana")
        .stdout_lacks("ben");
    world.checkpoint(["conflict", "list"]).success().stdout_lacks("claim");
    world.checkpoint(["claim", "--task", "T-1", "--agent", "ben"]).code(4);
    world.checkpoint(["push", "origin", "main"]).success();
    world.enter(&mine);
    world.checkpoint(["pull", "origin", "main"]).success();
    world
        .checkpoint(["task", "list"])
        .success()
        .stdout_has("claimed by ana");
}

#[test]
fn a_claimed_session_is_marked_in_lists() {
    let world = with_tasks();
    world.checkpoint(["claim", "--agent", "zoe"]).success();
    for args in [&["list"][..], &["resume", "--list"]] {
        world
            .checkpoint(args)
            .success()
            .stdout_has("CLAIMED BY")
            .stdout_has("zoe");
    }
    assert_eq!(
        world.checkpoint(["list", "--json"]).stdout_json()["sessions"][0]["claimed_by"],
        "zoe"
    );
    // Each column is a field of a format too; one that was not asked for is empty.
    let format = "%(claimed_by)|%(size)|%(signature)";
    let listed = world.checkpoint(["list", "--format", format]);
    assert_eq!(listed.stdout(), "zoe||\n");
    let listed = world.checkpoint(["list", "--size", "--trust", "--format", format]);
    let fields: Vec<&str> = listed.stdout().trim_end().split('|').collect();
    assert!(fields[1].parse::<u64>().is_ok_and(|size| size > 0), "{listed}");
    assert_eq!(fields[2], "unsigned");
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("claimed    by zoe on ");
    world.advance(5 * 3600);
    world.checkpoint(["list"]).success().stdout_lacks("CLAIMED BY");
}

/// A session that `a1` has claimed, with a fork of its own.
fn claimed() -> World {
    let world = World::with_commit();
    world.checkpoint(["save", "-qm", "base", "--session", "s"]).success();
    world.file("a", "a\n");
    world.checkpoint(["save", "-qm", "more"]).success();
    world.file("a", "b\n");
    world.checkpoint(["save", "-qm", "last"]).success();
    world.checkpoint(["claim", "s", "--agent", "a1", "-q"]).success();
    world
}

#[test]
fn a_claimed_session_is_not_taken_from_its_holder() {
    let world = claimed();
    world.checkpoint(["pause", "--agent", "a1", "-q"]).success();
    let refs = || world.git_line(["for-each-ref", "refs/checkpoints", "refs/checkpoints-trash"]);
    let before = refs();
    let of_other = |args: &[&str]| {
        world
            .command(crate::support::PROGRAM, args)
            .env("CHECKPOINT_AGENT", "a2")
            .run()
    };
    let middle = world.git_line(["rev-parse", "checkpoints/s~1"]);
    for args in [
        &["rename", "s", "t"][..],
        &["delete", "s"],
        &["purge", "s", "--yes"],
        &["purge", &middle, "--yes"],
        &["purge", "--yes", "--", "a"],
        &["purge", "--yes", "--remote", "--", "a"],
        &["purge", "--dry-run", "--", "a"],
        &["save", "--amend", "-m", "theirs", "--session", "s"],
        &["save", "--amend", "--dry-run", "-m", "theirs", "--session", "s"],
        &["finish", "--session", "s"],
        &["rename", "s", "t", "--dry-run"],
        &["delete", "s", "--dry-run"],
    ] {
        of_other(args)
            .code(4)
            .stderr_has("session 's' is claimed by a1")
            .stderr_has("git checkpoint claim s --force");
        assert_eq!(refs(), before, "{args:?}");
    }
    let pruned = of_other(&["prune", "--keep-last", "1", "--json"])
        .success()
        .stdout_json();
    assert_eq!(pruned["stays"][0]["why"], "claimed", "{pruned}");
    assert_eq!(refs(), before);
    // A save is made, as documented.
    of_other(&["save", "--session", "s", "-m", "x"])
        .success()
        .stderr_has("claimed by a1");
    // The holder may, and whoever says so.
    world
        .command(crate::support::PROGRAM, ["rename", "s", "t"])
        .env("CHECKPOINT_AGENT", "a1")
        .run()
        .success();
    of_other(&["rename", "t", "u", "--force"]).success();
    of_other(&["delete", "u", "--force"]).success();
    of_other(&["undo"]).success();
    of_other(&["claim", "u", "--force", "-q"]).success();
    of_other(&["finish", "--session", "u", "-m", "done"]).success();
}

#[test]
fn the_record_of_a_claimed_session_is_not_set_back_by_others() {
    let world = claimed();
    let by = |agent: &str, args: &[&str]| {
        let run = world.command(crate::support::PROGRAM, args);
        run.env("CHECKPOINT_AGENT", agent).env("CHECKPOINT_SESSION", "s").run()
    };
    by("a1", &["decision", "one"]).success();
    by("a1", &["save", "-m", "decided"]).success();
    let back = ["restore", "--record-only", "s~1"];
    by("a2", &back)
        .code(4)
        .stderr_has("session 's' is claimed by a1")
        .stderr_has("git checkpoint claim s --force");
    by("a1", &back).success();
    by("a1", &["undo"]).success();
    by("a2", &["restore", "--record-only", "s~1", "--force"]).success();
}

/// A whole restore restores the files and leaves the record.
#[test]
fn a_restore_by_others_leaves_the_record_of_a_claimed_session() {
    let world = claimed();
    let by = |agent: &str, args: &[&str]| {
        let run = world.command(crate::support::PROGRAM, args);
        run.env("CHECKPOINT_AGENT", agent).env("CHECKPOINT_SESSION", "s").run()
    };
    let decisions = || {
        let listed = by("a1", &["decision", "list", "--json"]).success().stdout_json();
        listed["items"].as_array().unwrap().len()
    };
    by("a1", &["decision", "one"]).success();
    by("a1", &["save", "-m", "decided"]).success();
    by("a1", &["decision", "two"]).success();
    let middle = world.git_line(["rev-parse", "checkpoints/s~3"]);
    let back = ["restore", &middle];
    let stays = "record   stays as it is: session 's' is claimed by a1\n";
    for line in [&[&back[..], &["--dry-run"]].concat(), &back[..]] {
        by("a2", line)
            .success()
            .stdout_has(stays)
            .stdout_has(&format!("to set it back too: git checkpoint restore {middle}"));
        assert_eq!(decisions(), 2, "{line:?}");
    }
    assert_eq!(world.read("a"), b"a\n");
    // Nor does its undo touch the record, whatever the holder noted meanwhile.
    by("a1", &["decision", "three"]).success();
    by("a2", &["undo", "--older"]).success().stdout_lacks("record");
    assert_eq!((decisions(), world.read("a")), (3, b"b\n".to_vec()));
    by("a2", &["redo"]).success();
    assert_eq!((decisions(), world.read("a")), (3, b"a\n".to_vec()));
    by("a2", &["undo"]).success();
    let view = by("a2", &["restore", &middle, "--json"]).success().stdout_json();
    assert_eq!(view["record"], "claimed");
    assert_eq!(view["claimed"], serde_json::json!({ "session": "s", "by": "a1" }));
    // The named command does it, and so does the holder.
    by("a2", &["restore", &middle, "--force"]).success();
    assert_eq!(decisions(), 2, "what was not saved stays");
}

/// An undo of a restore that changed the record as well leaves that to the holder, and redo finds it there.
#[test]
fn an_undo_by_others_leaves_the_record_of_a_claimed_session() {
    let world = claimed();
    let by = |agent: &str, args: &[&str]| {
        let run = world.command(crate::support::PROGRAM, args);
        run.env("CHECKPOINT_AGENT", agent).env("CHECKPOINT_SESSION", "s").run()
    };
    let decisions = || {
        let listed = by("a1", &["decision", "list", "--json"]).success().stdout_json();
        let items = listed["items"].as_array().unwrap().clone();
        let texts = items.iter().map(|item| item["text"].as_str().unwrap().to_owned());
        texts.collect::<Vec<_>>().join(" ")
    };
    by("a1", &["decision", "one"]).success();
    by("a1", &["save", "-m", "decided"]).success();
    let first = world.git_line(["rev-parse", "checkpoints/s~3"]);
    by("a1", &["restore", &first]).success().stdout_has("record");
    assert_eq!((decisions().as_str(), world.read("a")), ("", b"a\n".to_vec()));
    by("a1", &["decision", "later"]).success();
    let files = |text: &str| assert_eq!(String::from_utf8(world.read("a")).unwrap(), text);
    let stays = "record   stays as it is: session 's' is claimed by a1\n";
    let planned = by("a2", &["undo", "--older", "--dry-run"]).success().clone();
    planned.stdout_has(stays).stdout_has("git checkpoint undo --force");
    let undone = by("a2", &["undo", "--older"]).success().clone();
    undone
        .stdout_has(stays)
        .stdout_has("to set it back too: git checkpoint redo && git checkpoint undo --force\n");
    files("b\n");
    assert_eq!(decisions(), "later");
    // Redo finds the record as it is to be, also when the claim has ended.
    world.advance(5 * 3600);
    by("a2", &["redo"]).success();
    files("a\n");
    assert_eq!(decisions(), "later");
    by("a1", &["claim", "s", "-q"]).success();
    by("a2", &["undo", "--force"]).success();
    files("b\n");
    assert_eq!(decisions(), "later one");
}

/// An undo of the record alone is refused, as a restore of it is.
#[test]
fn an_undo_of_a_claimed_record_alone_is_refused() {
    let world = claimed();
    let by = |agent: &str, args: &[&str]| {
        let run = world.command(crate::support::PROGRAM, args);
        run.env("CHECKPOINT_AGENT", agent).env("CHECKPOINT_SESSION", "s").run()
    };
    let count = || {
        let listed = by("a1", &["decision", "list", "--json"]).success().stdout_json();
        listed["items"].as_array().unwrap().len()
    };
    by("a1", &["decision", "one"]).success();
    by("a1", &["save", "-m", "decided"]).success();
    by("a1", &["restore", "--record-only", "s~1"]).success();
    assert_eq!(count(), 0);
    for line in [&["undo", "--dry-run"][..], &["undo"]] {
        by("a2", line)
            .code(4)
            .stderr_has("session 's' is claimed by a1")
            .stderr_has("git checkpoint claim s --force");
        assert_eq!(count(), 0);
    }
    by("a2", &["undo", "--force"]).success();
    assert_eq!(count(), 1);
    // The holder takes back what the other one forced.
    by("a1", &["redo"]).success();
    assert_eq!(count(), 0);
}

/// Nor is a fork of it, of any of its checkpoints.
#[test]
fn a_fork_starts_without_the_claim_of_its_source() {
    let world = claimed();
    world
        .checkpoint(["claim", "s", "--agent", "a1", "-q", "--for", "9h"])
        .success();
    let of_other = |args: &[&str]| {
        world
            .command(crate::support::PROGRAM, args)
            .env("CHECKPOINT_AGENT", "a2")
            .run()
    };
    let claim = |session: &str| {
        let message = world.git(["log", "-1", "--format=%(trailers:key=Checkpoint-Claim)", session]);
        let document = world.git(["show", &format!("{session}:checkpoint.json")]);
        let claim = document.success().stdout_json()["session"]["claim"].clone();
        assert_eq!(claim.is_null(), message.success().stdout().trim().is_empty());
        claim
    };
    of_other(&["fork", "s", "--name", "whole"]).success();
    of_other(&["fork", "s~1", "--name", "earlier"]).success();
    for fork in ["whole", "earlier"] {
        assert!(claim(&format!("checkpoints/{fork}")).is_null(), "{fork}");
        of_other(&["rename", fork, &format!("{fork}-2")]).success();
        of_other(&["claim", &format!("{fork}-2"), "-q"]).success();
        of_other(&["release", &format!("{fork}-2"), "-q"]).success();
    }
    of_other(&["finish", "--session", "earlier-2", "-m", "x"]).success();
    of_other(&["delete", "earlier-2"]).success();
    // What it brings back is no release of the source's.
    let held = claim("checkpoints/s");
    assert_eq!(held["by"], "a1");
    of_other(&["switch", "whole-2"]).success();
    world.file("b", "b\n");
    of_other(&["save", "-m", "more", "--session", "whole-2"]).success();
    world.checkpoint(["switch", "s"]).success();
    world
        .command(crate::support::PROGRAM, ["merge", "whole-2", "--session", "s"])
        .env("CHECKPOINT_AGENT", "a1")
        .run()
        .success();
    assert_eq!(claim("checkpoints/s"), held);
}

#[test]
fn a_claim_that_ended_holds_nothing_up() {
    let world = claimed();
    world.advance(5 * 3600);
    world.checkpoint(["rename", "s", "t"]).success();
    world.checkpoint(["delete", "t"]).success();
}

#[test]
fn a_claim_holds_for_a_year_at_most() {
    let world = claimed();
    world.checkpoint(["claim", "--agent", "a1", "--for", "366d"]).success();
    world
        .checkpoint(["claim", "--agent", "a1", "--for", "367d"])
        .code(129)
        .stderr_has("366d");
}

/// Who claims or releases a session that is paused does not resume it.
#[test]
fn a_claim_leaves_a_paused_session_paused() {
    let world = World::with_commit();
    world.checkpoint(["save", "-qm", "base", "--session", "s"]).success();
    world.checkpoint(["pause", "-q"]).success();
    let status = || {
        let listed = world.checkpoint(["list", "--json"]).success().stdout_json();
        listed["sessions"][0]["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status(), "paused");
    for line in [&["claim"][..], &["claim", "--for", "2h"], &["release"]] {
        world
            .checkpoint(line)
            .success()
            .stdout_has("  s, paused")
            .stdout_lacks("resumed");
        assert_eq!(status(), "paused", "{line:?}");
    }
    world.checkpoint(["resume", "-q"]).success();
    world.checkpoint(["claim"]).success();
    assert_eq!(status(), "active");
}
