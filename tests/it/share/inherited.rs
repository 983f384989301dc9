//! To whom something is encrypted follows from the checkpoint that it continues, and from nothing else that was read: not from
//! what a colleague pushed, and not from later or earlier checkpoints.

use std::fs;

use serde_json::{Value, json};

use super::{
    at, clone,
    encrypted::{be, key, set},
    save, shared,
};
use crate::support::{PROGRAM, World};

/// Ana encrypts a session to herself that eve has in the clear, in the directory `other`, where we are. Eve has worked on: she
/// has a checkpoint of her own, `mine`.
fn apart() -> World {
    let world = shared();
    let ana = key(&world, "ana");
    key(&world, "eve");
    world.checkpoint(["start", "s"]).success();
    world.file("secret.txt", "secret\n");
    world.checkpoint(["decision", "add", "wordearly"]).success();
    save(&world, "common");
    world.checkpoint(["push", "origin", "s"]).success();
    clone(&world, "other");
    be(&world, "eve");
    world.checkpoint(["pull", "origin", "s"]).success();
    world.checkpoint(["resume", "s", "--apply"]).success();
    world.enter("repo");
    set(&world, "checkpoint.encryptTo", &ana);
    be(&world, "ana");
    world.file("theirs.txt", "theirs\n");
    world.checkpoint(["decision", "add", "wordtheirs"]).success();
    save(&world, "theirs");
    world.checkpoint(["push", "origin", "s"]).success();
    world.enter("other");
    world.file("mine.txt", "mine\n");
    world.checkpoint(["decision", "add", "wordmine"]).success();
    save(&world, "mine");
    world
}

/// Who a checkpoint is encrypted to, as git has its document; empty where it is in the clear.
fn recipients(world: &World, commit: &str) -> Vec<String> {
    let document = world.git(["cat-file", "blob", &format!("{commit}:checkpoint.json")]);
    let document: Value = serde_json::from_slice(document.success().stdout_bytes()).unwrap();
    let sealed = world.git(["cat-file", "-e", &format!("{commit}:record.age")]);
    assert_eq!(sealed.is_success(), document["encrypted"].is_object(), "{document}");
    let recipients = document["encrypted"]["recipients"].as_array();
    let recipients = recipients.into_iter().flatten();
    recipients.map(|key| key.as_str().unwrap().to_owned()).collect()
}

/// The same of a session's checkpoints, latest first.
fn all_recipients(world: &World, session: &str) -> Vec<Vec<String>> {
    let log = world.checkpoint(["log", session, "--json"]).success().stdout_json();
    let rows = log["checkpoints"].as_array().unwrap();
    rows.iter()
        .map(|row| recipients(world, row["id"].as_str().unwrap()))
        .collect()
}

/// What is private next to the repository: drafts, messages and the undo list.
fn waiting(world: &World) -> String {
    let mut text = String::new();
    for directory in ["drafts", "."] {
        let directory = world.path(".git/checkpoint").join(directory);
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let is_own = entry.path().extension().is_some_and(|end| end == "jsonl") || entry.file_name() == "undo";
            if is_own && entry.path().is_file() {
                text.push_str(&fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    text
}

#[test]
fn a_fetched_session_encrypts_nothing_of_ones_own() {
    let world = apart();
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["decision", "add", "wordwaiting"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "wordmessage"])
        .success();
    // Each of these reads what the remote has, and then writes here.
    for line in [
        &["purge", "--yes", "--", "secret.txt"][..],
        // What had the file is fetched again.
        &["fetch"],
        &["apply", "origin/s"],
        &["undo"],
        &["restore", "origin/s", "--files-only", "--force"],
        &["undo"],
        &["save", "-m", "more", "--allow-empty"],
        &["save", "--amend", "-m", "amended"],
        &["fork", "s", "--name", "f"],
        &["prune", "--yes", "--keep-last", "2"],
    ] {
        world.checkpoint(line).success();
        for session in ["s", "f"] {
            if !at(&world, "other", &format!("refs/checkpoints/{session}")).is_empty() {
                let all = all_recipients(&world, session);
                assert!(all.iter().all(Vec::is_empty), "{line:?}: {session}: {all:?}");
            }
        }
        assert!(!waiting(&world).contains("encrypted"), "{line:?}: {}", waiting(&world));
    }
    let safety = world.git(["for-each-ref", "--format=%(objectname)", "refs/checkpoints-undo"]);
    assert!(!safety.success().stdout().is_empty());
    for commit in safety.stdout().lines() {
        assert_eq!(
            recipients(&world, commit),
            Vec::<String>::new(),
            "safety checkpoint {commit}"
        );
    }
    // Nothing of it is lost, also after a garbage collection.
    world.checkpoint(["switch", "s"]).success();
    world.git(["gc", "--quiet", "--prune=now"]).success();
    let decisions = world.checkpoint(["decision", "list"]);
    decisions.success().stdout_has("wordmine").stdout_has("wordwaiting");
    world.checkpoint(["search", "wordmessage"]).success();
    world.checkpoint(["verify", "--all"]).success();

    // A pull moves what is one's own to a session of its own, with what waits.
    world.checkpoint(["decision", "add", "wordlater"]).success();
    let pulled = world
        .checkpoint(["pull", "origin", "s", "--json"])
        .success()
        .stdout_json();
    let aside = pulled.to_string();
    let names = world.git(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints"]);
    let moved = names
        .success()
        .stdout()
        .lines()
        .find(|name| aside.contains(&format!("\"{name}\"")) && *name != "s");
    let moved = moved.unwrap_or_else(|| panic!("{aside}")).to_owned();
    assert!(all_recipients(&world, &moved).iter().all(Vec::is_empty));
    assert!(waiting(&world).contains("wordlater"));
    assert!(!recipients(&world, "checkpoints/s").is_empty());
    // There nothing can be added without a key, and here it can.
    world
        .checkpoint(["decision", "add", "lost", "--session", "s"])
        .code(4)
        .stderr_has("or added to it");
    world
        .checkpoint(["decision", "add", "wordlast", "--session", &moved])
        .success();
    world.checkpoint(["save", "-m", "last", "--session", &moved]).success();
    assert_eq!(
        recipients(&world, &format!("checkpoints/{moved}")),
        Vec::<String>::new()
    );
    // The key of the colleague reads what she wrote.
    be(&world, "ana");
    world.checkpoint(["show", "s"]).success().stdout_has("wordtheirs");
}

/// With the key a session is continued as it is here, whatever else was read.
#[test]
fn a_session_goes_on_with_the_recipients_that_it_has_here() {
    let world = shared();
    let (ana, bob) = (key(&world, "ana"), key(&world, "bob"));
    be(&world, "ana");
    set(&world, "checkpoint.encryptTo", &ana);
    world.checkpoint(["start", "s"]).success();
    save(&world, "to ana");
    world.checkpoint(["push", "origin", "s"]).success();
    clone(&world, "other");
    be(&world, "ana");
    world.checkpoint(["pull", "origin", "s"]).success();
    world.git(["config", "--add", "checkpoint.encryptTo", &ana]).success();
    world.git(["config", "--add", "checkpoint.encryptTo", &bob]).success();
    world.checkpoint(["resume", "s"]).success();
    world.checkpoint(["rekey"]).success();
    world.checkpoint(["push", "origin", "s"]).success();

    world.enter("repo");
    world.git(["config", "--unset-all", "checkpoint.encryptTo"]).success();
    world.checkpoint(["fetch"]).success();
    // It loads what the remote has, which is for bob as well.
    world.checkpoint(["apply", "origin/s"]).success();
    world.checkpoint(["decision", "add", "before"]).success();
    be(&world, "bob");
    world.checkpoint(["decision", "list"]).stdout_lacks("before");
    be(&world, "ana");
    assert_eq!(
        recipients(&world, &save(&world, "still to ana")),
        std::slice::from_ref(&ana)
    );
    // The merge continues the chain of the remote.
    world.checkpoint(["pull", "--merge", "origin", "s"]).success();
    let mut both = vec![ana, bob];
    both.sort();
    let mut merged = recipients(&world, "checkpoints/s");
    merged.sort();
    assert_eq!(merged, both);
}

#[test]
fn a_purge_keeps_what_each_checkpoint_is_and_to_whom() {
    let world = shared();
    let (ana, bob, eve) = (key(&world, "ana"), key(&world, "bob"), key(&world, "eve"));
    be(&world, "ana");
    world.checkpoint(["start", "s"]).success();
    world.file("secret.txt", "secret\n");
    let first = save(&world, "in the clear");
    set(&world, "checkpoint.encryptTo", &ana);
    world.git(["config", "--add", "checkpoint.encryptTo", &bob]).success();
    // A clock that was ahead.
    let ahead = world.command(PROGRAM, ["save", "-m", "to both", "--allow-empty"]);
    ahead.env("GIT_COMMITTER_DATE", "2031-01-01T00:00:00Z").run().success();
    world.git(["config", "--unset-all", "checkpoint.encryptTo"]).success();
    set(&world, "checkpoint.encryptTo", &ana);
    world.checkpoint(["rekey"]).success();
    world.git(["config", "--unset-all", "checkpoint.encryptTo"]).success();
    save(&world, "hidden from bob");
    assert_eq!(recipients(&world, "checkpoints/s"), std::slice::from_ref(&ana));
    world.checkpoint(["save", "--amend", "-m", "amended"]).success();
    assert_eq!(
        recipients(&world, "checkpoints/s"),
        std::slice::from_ref(&ana),
        "an amended one"
    );
    let before = all_recipients(&world, "s");
    assert_eq!(before.len(), 5, "{before:?}");
    assert_eq!((before[2].len(), before[3].len()), (2, 0), "{before:?}");

    world.checkpoint(["purge", "--yes", "--", "secret.txt"]).success();
    assert_ne!(world.git_line(["rev-parse", "checkpoints/s~3"]), first);
    assert_eq!(all_recipients(&world, "s"), before);
    // Also with a setting, which is about what is written from now on.
    world.file("other.txt", "other\n");
    save(&world, "with another file");
    set(&world, "checkpoint.encryptTo", &ana);
    world.git(["config", "--add", "checkpoint.encryptTo", &eve]).success();
    let before = all_recipients(&world, "s");
    let (second, sealed) = ("checkpoints/s~1", "checkpoints/s:record.age");
    let kept = world.git_line(["rev-parse", sealed]);
    world.checkpoint(["purge", "--yes", second]).success();
    let now = all_recipients(&world, "s");
    assert_eq!(now.len(), before.len() - 1);
    assert_eq!((&now[0], &now[1..]), (&before[0], &before[2..]));
    assert_eq!(world.git_line(["rev-parse", sealed]), kept);
    for (who, reads) in [("bob", false), ("eve", false), ("ana", true)] {
        be(&world, who);
        let shown = world.checkpoint(["show", "s"]);
        assert_eq!(
            shown.success().stdout().contains("with another file"),
            reads,
            "{who}: {shown}"
        );
    }
    world.checkpoint(["verify", "s"]).success();
}

/// With the key of a part of the checkpoints a purge works as it does without any.
#[test]
fn a_purge_with_the_key_of_some_checkpoints_takes_files_of_all() {
    let world = shared();
    let (ana, eve) = (key(&world, "ana"), key(&world, "eve"));
    be(&world, "ana");
    set(&world, "checkpoint.encryptTo", &ana);
    world.checkpoint(["start", "s"]).success();
    world.file("secret.txt", "secret\n");
    world.file("kept.txt", "kept\n");
    save(&world, "hidden from eve");
    world.git(["config", "--add", "checkpoint.encryptTo", &eve]).success();
    world.checkpoint(["rekey"]).success();
    save(&world, "for both");
    save(&world, "later");
    let before = all_recipients(&world, "s");
    be(&world, "eve");
    for line in [&["purge", "--yes", "--", "secret.txt"][..], &["purge", "--yes", "s~1"]] {
        let purged = world.checkpoint(line);
        purged.success().stderr_lacks("corrupt");
    }
    let now = all_recipients(&world, "s");
    assert_eq!((&now[0], &now[1..]), (&before[0], &before[2..]));
    for back in ["checkpoints/s", "checkpoints/s~1", "checkpoints/s~2"] {
        world.git(["cat-file", "-e", &format!("{back}^2:secret.txt")]).code(128);
        world.git(["cat-file", "-e", &format!("{back}^2:kept.txt")]).success();
    }
    world.checkpoint(["verify", "s"]).success();
    world.checkpoint(["show", "s"]).success().stdout_has("later");
    be(&world, "ana");
    world
        .checkpoint(["show", "s~2"])
        .success()
        .stdout_has("hidden from eve");
}

/// Nothing is written before the refusal, neither here nor of what waits.
#[test]
fn a_merge_without_the_key_is_refused_before_anything_is_written() {
    let world = apart();
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["decision", "add", "wordwaiting"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "wordmessage"])
        .success();
    world.file("mine.txt", "unsaved\n");
    let refused = |world: &World, line: &[&str]| {
        let (tips, drafts) = (world.git(["for-each-ref", "refs/checkpoints"]), waiting(world));
        let output = world.checkpoint(line);
        output
            .code(4)
            .stderr_has("without a key, nothing can be read from the record of 'origin/s'")
            .stderr_has("checkpoint.identity");
        let now = world.git(["for-each-ref", "refs/checkpoints"]);
        assert_eq!(now.stdout(), tips.stdout(), "{line:?}");
        assert_eq!(waiting(world), drafts, "{line:?}");
        assert_eq!(world.read("mine.txt"), b"unsaved\n");
        assert!(!world.path("theirs.txt").exists(), "{line:?}");
        world
            .checkpoint(["merge", "--abort"])
            .stderr_has("no merge in progress");
    };
    for line in [
        &["pull", "--merge"][..],
        &["pull", "--merge", "origin", "s", "--dry-run"],
        &["merge", "origin/s"],
        &["merge", "origin/s", "--no-files", "--dry-run"],
    ] {
        refused(&world, line);
    }
    // Saves work without it, and after a plain pull it is refused as well.
    save(&world, "goes on");
    world.checkpoint(["decision", "add", "wordwaiting"]).success();
    world.checkpoint(["pull", "origin", "s"]).success();
    refused(&world, &["pull", "--merge", "origin", "s"]);
    // With the key it works, and what comes of it is encrypted.
    be(&world, "ana");
    world.checkpoint(["pull", "--merge", "origin", "s"]).success();
    assert_eq!(recipients(&world, "checkpoints/s").len(), 1);
    let decisions = world.checkpoint(["decision", "list"]);
    decisions.success().stdout_has("wordtheirs").stdout_has("wordmine");
}

#[test]
fn a_session_that_cannot_be_read_is_not_merged_in_either_direction() {
    let world = shared();
    let ana = key(&world, "ana");
    key(&world, "eve");
    be(&world, "ana");
    set(&world, "checkpoint.encryptTo", &ana);
    world.checkpoint(["start", "theirs"]).success();
    let theirs = save(&world, "hidden");
    be(&world, "eve");
    world.git(["config", "--unset", "checkpoint.encryptTo"]).success();
    world.checkpoint(["start", "own"]).success();
    world.checkpoint(["decision", "add", "wordown"]).success();
    let own = save(&world, "own");
    for line in [
        &["merge", "theirs"][..],
        &["merge", "theirs", "--dry-run"],
        &["merge", "theirs", "--no-files", "--force"],
        &["merge", "own", "--session", "theirs"],
    ] {
        world.checkpoint(line).code(4).stderr_has("the record of 'theirs'");
    }
    assert_eq!(at(&world, "repo", "refs/checkpoints/theirs"), theirs);
    assert_eq!(at(&world, "repo", "refs/checkpoints/own"), own);
    let later = save(&world, "later");
    assert_eq!(recipients(&world, &later), Vec::<String>::new());
    world.checkpoint(["decision", "list"]).success().stdout_has("wordown");
    // With the key it becomes one that is encrypted to her.
    be(&world, "ana");
    world.checkpoint(["merge", "theirs"]).success();
    assert_eq!(recipients(&world, "checkpoints/own"), [ana]);
}

#[test]
fn a_record_that_cannot_be_read_is_not_restored() {
    let world = apart();
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["decision", "add", "wordwaiting"]).success();
    world.file("mine.txt", "unsaved\n");
    let drafts = waiting(&world);
    for line in [
        &["restore", "origin/s"][..],
        &["restore", "origin/s", "--force"],
        &["restore", "origin/s", "--record-only"],
        &["restore", "origin/s", "--force", "--dry-run"],
    ] {
        let refused = world.checkpoint(line);
        refused.code(4).stderr_has("restore origin/s --files-only");
        assert_eq!(waiting(&world), drafts, "{line:?}");
        assert_eq!(world.read("mine.txt"), b"unsaved\n", "{line:?}");
    }
    // The files alone can be brought back, and that can be taken back.
    for line in [
        &["restore", "origin/s", "--files-only", "--force"][..],
        &["apply", "origin/s"],
    ] {
        world.checkpoint(line).success();
        assert_eq!(world.read("theirs.txt"), b"theirs\n", "{line:?}");
        world.checkpoint(["undo"]).success();
        assert!(!world.path("theirs.txt").exists(), "{line:?}");
        assert_eq!(world.read("mine.txt"), b"unsaved\n", "{line:?}");
        assert_eq!(waiting(&world).matches("wordwaiting").count(), 1, "{line:?}");
    }
    world.checkpoint(["status"]).success().stderr_lacks("unreadable lines");
    save(&world, "goes on");
    world
        .checkpoint(["decision", "list"])
        .success()
        .stdout_has("wordwaiting");

    // Nor is one's own readable record made empty by an earlier checkpoint that was for others.
    let world = shared();
    let (ana, eve) = (key(&world, "ana"), key(&world, "eve"));
    be(&world, "ana");
    set(&world, "checkpoint.encryptTo", &ana);
    world.checkpoint(["start", "s"]).success();
    world.file("a.txt", "one\n");
    let first = save(&world, "hidden from eve");
    world.git(["config", "--add", "checkpoint.encryptTo", &eve]).success();
    world.checkpoint(["decision", "add", "wordboth"]).success();
    world.file("a.txt", "two\n");
    save(&world, "for both");
    be(&world, "eve");
    world.checkpoint(["restore", &first]).code(4).stderr_has("--files-only");
    assert_eq!(world.read("a.txt"), b"two\n");
    world.checkpoint(["restore", &first, "--files-only"]).success();
    assert_eq!(world.read("a.txt"), b"one\n");
    world.checkpoint(["decision", "list"]).success().stdout_has("wordboth");
}

/// A pull that makes one's session unreadable is undone like any other.
#[test]
fn a_pull_of_what_cannot_be_read_is_undone() {
    let world = apart();
    world.checkpoint(["switch", "--none"]);
    clone(&world, "third");
    be(&world, "eve");
    world
        .git(["fetch", "-q", "origin", "refs/checkpoints/s:refs/kept/s"])
        .success();
    let common = world.git_line(["rev-parse", "refs/kept/s~1"]);
    world.git(["update-ref", "refs/checkpoints/s", &common]).success();
    world.checkpoint(["switch", "s"]).success();
    world.checkpoint(["decision", "add", "wordwaiting"]).success();
    world.checkpoint(["pull", "origin", "s"]).success();
    world.checkpoint(["decision", "add", "lost"]).code(4);
    world.checkpoint(["undo"]).success();
    assert_eq!(at(&world, "third", "refs/checkpoints/s"), common);
    world.checkpoint(["decision", "add", "wordagain"]).success();
    let decisions = world.checkpoint(["decision", "list"]);
    let decisions = decisions.success();
    decisions
        .stdout_has("wordearly")
        .stdout_has("wordwaiting")
        .stdout_has("wordagain");
    assert_eq!(recipients(&world, &save(&world, "on")), Vec::<String>::new());
}

/// Turns that cannot be saved are named, and no prompt is in the file that says so.
#[test]
fn a_turn_of_a_session_that_cannot_be_read_is_reported() {
    let world = apart();
    world.checkpoint(["enable", "claude-code"]).success();
    world.checkpoint(["pull", "origin", "s"]).success();
    world.checkpoint(["switch", "s"]).success();
    let tip = at(&world, "other", "refs/checkpoints/s");
    let event = |name: &str, session: &str| {
        let payload = json!({ "session_id": session, "hook_event_name": name, "prompt": "wordprompt",
            "cwd": world.path("").to_str().unwrap() });
        let hook = world.command(PROGRAM, ["hook", "claude-code", name]);
        let hook = hook.env("CHECKPOINT_AGENT_HOOK", "worker");
        hook.input(payload.to_string()).run().success().no_stdout();
    };
    for session in ["A1", "A2"] {
        event("SessionStart", session);
        event("UserPromptSubmit", session);
        world.file("theirs.txt", format!("{session}\n"));
        event("Stop", session);
    }
    assert_eq!(at(&world, "other", "refs/checkpoints/s"), tip);
    let states = fs::read_dir(world.path(".git/checkpoint/agents")).unwrap().flatten();
    let states: Vec<_> = states
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "json"))
        .collect();
    assert_eq!(states.len(), 2);
    for state in states {
        let text = fs::read_to_string(state.path()).unwrap();
        assert!(!text.contains("wordprompt"), "{text}");
    }
    let agents = world.checkpoint(["agents", "--json"]).success().stdout_json();
    let rows = agents["agents"].as_array().unwrap();
    let row = rows.iter().find(|row| row["agent"] == "claude-code").unwrap();
    assert!(row.to_string().contains("without a key"), "{row}");
}
