//! Sharing by itself: saves are pushed in the background, and what cannot be pushed waits and is reported.

use std::fs;
use std::time::{Duration, Instant};

use super::{at, clone, save, script, shared};
use crate::support::World;

/// A world whose sessions are pushed to `origin` automatically.
fn automatic() -> World {
    let world = shared();
    world.git(["config", "checkpoint.autoPush", "origin"]).success();
    world.checkpoint(["start", "auth"]).success();
    world
}

#[track_caller]
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn sharing(world: &World) -> serde_json::Value {
    world.checkpoint(["status", "--json"]).success().stdout_json()["automatic_sharing"].clone()
}

fn queued(world: &World) -> usize {
    sharing(world)["queued"].as_array().unwrap().len()
}

/// Waits until the process in the background has failed so many times in a row.
#[track_caller]
fn until_failed(world: &World, times: u64) {
    until("it does not fail", || {
        sharing(world)["failures"].as_u64() >= Some(times)
    });
}

#[test]
fn a_saved_session_reaches_the_elected_remote_and_no_other() {
    let world = automatic();
    let other = world.root().join("other");
    world
        .git(["init", "--quiet", "--bare", other.to_str().unwrap()])
        .success();
    world.git(["remote", "add", "other", "../other"]).success();
    world.git(["config", "remote.pushDefault", "other"]).success();
    let tip = save(&world, "one");
    until("it was not pushed", || {
        at(&world, "hub", "refs/checkpoints/auth") == tip
    });
    until("it waits", || queued(&world) == 0);
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("to origin, queue empty");
    world
        .checkpoint(["push", "--queued"])
        .success()
        .stdout_has("No session is queued");
    // Other commands that make a checkpoint.
    world.checkpoint(["pause", "-m", "two"]).success();
    let tip = at(&world, "repo", "refs/checkpoints/auth");
    until("it was not pushed", || {
        at(&world, "hub", "refs/checkpoints/auth") == tip
    });
    world.git(["-C", "../other", "for-each-ref"]).success().no_stdout();
    // A merge as well.
    world.checkpoint(["start", "side"]).success();
    world.checkpoint(["todo", "add", "of the side"]).success();
    save(&world, "side");
    world.checkpoint(["switch", "auth"]).success();
    world.checkpoint(["merge", "side", "--no-files"]).success();
    let tip = at(&world, "repo", "refs/checkpoints/auth");
    until("it was not pushed", || {
        at(&world, "hub", "refs/checkpoints/auth") == tip
    });
    // A session without a save since then is not published.
    world.git(["config", "--unset", "checkpoint.autoPush"]).success();
    world.checkpoint(["start", "private"]).success();
    world.git(["config", "checkpoint.autoPush", "origin"]).success();
    world.checkpoint(["resume", "auth", "--brief"]).success();
    let tip = save(&world, "three");
    until("it was not pushed", || {
        at(&world, "hub", "refs/checkpoints/auth") == tip
    });
    assert_eq!(at(&world, "hub", "refs/checkpoints/private"), "");
}

#[test]
fn a_remote_that_is_away_is_reported_once_and_nothing_is_lost() {
    let world = automatic();
    let (hub, away) = (world.root().join("hub"), world.root().join("away"));
    until("it was not pushed", || queued(&world) == 0);
    fs::rename(&hub, &away).unwrap();
    world.checkpoint(["save", "-m", "one", "--allow-empty"]).success();
    until_failed(&world, 1);
    let second = world.checkpoint(["save", "-m", "two", "--allow-empty"]);
    second
        .success()
        .stderr_has("automatic push to remote 'origin' failed: ")
        .stderr_has("1 session waits for a later save, or for: git checkpoint push --queued");
    world
        .checkpoint(["save", "-m", "three", "--allow-empty"])
        .success()
        .stderr_lacks("automatic push")
        .stderr_has("not pushed yet")
        .stderr_has(" s or later tries again, and nothing else does but: git checkpoint push --queued");
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("to origin, 1 session queued: 'git checkpoint push --queued'")
        .stdout_has("failed");
    // One cause, one code and one sentence, with the queue and without it.
    let failed = [&["push", "--queued"][..], &["push"], &["fetch"]].map(|line| {
        let failed = world.checkpoint(line);
        assert_eq!(
            failed.code(128).stderr().matches("cannot talk to").count(),
            1,
            "{line:?}"
        );
        failed
    });
    failed[0].stderr_has("the queue is kept");
    for other in &failed {
        other.stderr_has("see where it points: git remote get-url origin");
        assert_eq!(other.stderr().lines().next(), failed[1].stderr().lines().next());
    }
    world.checkpoint(["start", "more"]).success();
    world.checkpoint(["save", "-m", "of more", "--allow-empty"]).success();
    // Renamed while it waits: the same session.
    world.checkpoint(["rename", "more", "renamed"]).success();
    fs::rename(&away, &hub).unwrap();
    world.advance(3600);
    let tip = save(&world, "four");
    until("it was not pushed", || {
        at(&world, "hub", "refs/checkpoints/renamed") == tip
    });
    until("one was lost", || {
        at(&world, "hub", "refs/checkpoints/auth") == at(&world, "repo", "refs/checkpoints/auth")
    });
    until("it waits", || queued(&world) == 0);
    assert_eq!(sharing(&world)["failures"], 0);
}

#[test]
fn a_remote_that_never_answers_keeps_no_save_waiting_and_is_asked_nothing() {
    let world = automatic();
    until("it was not pushed", || queued(&world) == 0);
    let asked = world.root().join("asked");
    let slow = script(
        &world,
        "slow",
        "{ echo \"$GIT_TERMINAL_PROMPT,$GIT_ASKPASS,$SSH_ASKPASS_REQUIRE,$DISPLAY\"; \
           (: </dev/tty) 2>/dev/null && echo tty; } >../asked.tmp; \
         echo $$ >../pid; mv ../asked.tmp ../asked; exec sleep 300",
    );
    world.git(["config", "remote.origin.receivepack", &slow]).success();
    let begun = Instant::now();
    world
        .command(crate::support::PROGRAM, ["save", "-m", "one", "--allow-empty"])
        .env("DISPLAY", ":7")
        .env("GIT_ASKPASS", "/bin/false")
        .run()
        .success();
    until("it was not asked", || asked.exists());
    for summary in ["two", "three"] {
        world.checkpoint(["save", "-m", summary, "--allow-empty"]).success();
    }
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(fs::read_to_string(&asked).unwrap(), "0,,never,\n");
    world
        .checkpoint(["push", "--queued"])
        .success()
        .stdout_has("Another process");
    let pid: i32 = fs::read_to_string(world.root().join("pid"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    world.git(["config", "--unset", "remote.origin.receivepack"]).success();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    until_failed(&world, 1);
    world
        .checkpoint(["push", "--queued"])
        .success()
        .stdout_has("Pushed auth");
    assert_eq!(queued(&world), 0);
}

#[test]
fn a_push_that_is_cut_off_anywhere_loses_nothing() {
    let world = automatic();
    until("it was not pushed", || queued(&world) == 0);
    for (number, bytes) in [0, 1, 4, 100, 300, 400, 600, 1_000, 5_000].into_iter().enumerate() {
        let dies = script(
            &world,
            &format!("dies-{bytes}"),
            &format!("head -c {bytes} | git-receive-pack \"$@\""),
        );
        world.git(["config", "remote.origin.receivepack", &dies]).success();
        world.file("data.txt", format!("{number}\n").repeat(300));
        let begun = Instant::now();
        world.checkpoint(["save", "-m", "next"]).success();
        assert!(begun.elapsed() < Duration::from_secs(20), "a save waits");
        world.advance(3600);
        until("it neither fails nor ends", || {
            let now = sharing(&world);
            now["failures"].as_u64() > Some(0) || now["queued"].as_array().unwrap().is_empty()
        });
        world.git(["config", "--unset", "remote.origin.receivepack"]).success();
        let tip = at(&world, "repo", "refs/checkpoints/auth");
        world.checkpoint(["push", "--queued"]).success();
        until("it was lost", || at(&world, "hub", "refs/checkpoints/auth") == tip);
        until("it waits", || queued(&world) == 0);
    }
    world.git(["-C", "../hub", "fsck", "--strict"]).success();
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn what_is_refused_waits_and_keeps_no_other_session_back() {
    let world = automatic();
    until("it was not pushed", || queued(&world) == 0);
    let token = format!("ghp_{}", "q7Zs2Lx9Rw4Tb8Nd1Kf6Hj3Mv5Pc0YgUaEo1");
    world.file("notes.txt", format!("key = {token}\nand more\n"));
    world.checkpoint(["save", "-m", "with a secret"]).success();
    until_failed(&world, 1);
    fs::remove_file(world.path("notes.txt")).unwrap();
    world.checkpoint(["start", "clean"]).success();
    world.advance(3600);
    let tip = save(&world, "clean");
    until("it was not pushed", || {
        at(&world, "hub", "refs/checkpoints/clean") == tip
    });
    until("it does not wait", || {
        sharing(&world)["refused"][0]["reason"]
            .as_str()
            .is_some_and(|why| why == "1 secret would be published")
    });
    until("another one waits", || {
        sharing(&world)["queued"] == serde_json::json!(["auth"])
    });
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("auth: 1 secret would");
    assert!(
        !fs::read_to_string(world.path(".git/checkpoint/push-queue.json"))
            .unwrap()
            .contains(&token)
    );
    world
        .checkpoint(["push", "--queued", "--json"])
        .code(4)
        .stdout_has("\"session\":\"auth\"");
    // A session of that name which somebody else pushed is not renamed behind anybody's back.
    clone(&world, "bob");
    world.git(["config", "checkpoint.autoPush", "origin"]).success();
    world.checkpoint(["start", "clean"]).success();
    world.checkpoint(["save", "-m", "of bob", "--allow-empty"]).success();
    until_failed(&world, 1);
    assert!(
        sharing(&world)["refused"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("another session")
    );
    assert_eq!(at(&world, "hub", "refs/checkpoints/clean"), tip);
    assert!(!at(&world, "bob", "refs/checkpoints/clean").is_empty());
}

#[test]
fn a_push_of_gits_takes_along_what_waits() {
    let world = automatic();
    until("it was not pushed", || queued(&world) == 0);
    let installed = world.checkpoint(["hooks", "install"]);
    installed.success().stdout_has("pre-push");
    let (hub, away) = (world.root().join("hub"), world.root().join("away"));
    fs::rename(&hub, &away).unwrap();
    world.checkpoint(["save", "-m", "one", "--allow-empty"]).success();
    until_failed(&world, 1);
    fs::rename(&away, &hub).unwrap();
    let other = world.root().join("other");
    world
        .git(["init", "--quiet", "--bare", other.to_str().unwrap()])
        .success();
    world.git(["push", "-q", "../other", "main"]).success();
    world.git(["push", "-q", "origin", "main:topic"]).success();
    until("it was not pushed", || queued(&world) == 0);
    until("it is not there", || {
        at(&world, "hub", "refs/checkpoints/auth") == at(&world, "repo", "refs/checkpoints/auth")
    });
    world
        .git(["-C", "../other", "for-each-ref", "refs/checkpoints"])
        .success()
        .no_stdout();
    // Our own pushes make no checkpoint through that hook.
    let before = at(&world, "repo", "refs/checkpoints/auth");
    world.checkpoint(["push"]).success();
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), before);
}

#[test]
fn sessions_of_others_come_by_themselves() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    clone(&world, "bob");
    world.git(["config", "checkpoint.autoFetch", "origin"]).success();
    world.checkpoint(["start", "mine"]).success();
    until("it was not fetched", || sharing(&world)["fetched_at"].is_string());
    world.enter("repo");
    let tip = save(&world, "one");
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world
        .checkpoint(["save", "-m", "soon after", "--allow-empty"])
        .success();
    world.advance(301);
    world.checkpoint(["save", "-m", "later", "--allow-empty"]).success();
    until("it was not fetched", || {
        at(&world, "bob", "refs/checkpoints-remote/origin/auth") == tip
    });
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("from origin, fetched");
    assert_eq!(at(&world, "hub", "refs/checkpoints/mine"), "");
}

/// Two clones that push by themselves, after each has one more checkpoint than the other: `bob` has pushed his, `repo` is
/// entered and its own waits for `push --queued`.
fn diverged() -> World {
    let world = automatic();
    world.file("list.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    world.checkpoint(["state", "patch", r#"{"shared":1}"#]).success();
    let first = save(&world, "first");
    until("it was not pushed", || {
        at(&world, "hub", "refs/checkpoints/auth") == first
    });
    until("it waits", || queued(&world) == 0);
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth", "--restore"]).success();
    world.file("list.txt", "1\nbob\n3\n4\n5\n6\n7\n8\n9\n");
    world.checkpoint(["todo", "add", "of bob"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "bob says"])
        .success();
    world.advance(60);
    save(&world, "bob's");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.file("list.txt", "1\n2\n3\n4\n5\n6\n7\nana\n9\n");
    world.git(["add", "list.txt"]).success();
    world.file("more.txt", "ana\n");
    world.checkpoint(["todo", "add", "of ana"]).success();
    world.advance(60);
    world
}

/// Everything of the user's in the working tree: the index, and the status with the files.
fn untouched(world: &World) -> (String, String, Vec<u8>, Vec<u8>) {
    let staged = world.git(["ls-files", "--stage"]).success().stdout().to_owned();
    let status = world.git(["status", "--porcelain"]).success().stdout().to_owned();
    (staged, status, world.read("list.txt"), world.read("more.txt"))
}

#[test]
fn records_that_diverged_are_merged_by_themselves_and_files_never() {
    let world = diverged();
    let before = untouched(&world);
    let theirs = at(&world, "hub", "refs/checkpoints/auth");
    let ours = save(&world, "ana's");
    until("it was not merged and pushed", || {
        at(&world, "hub", "refs/checkpoints/auth^3") == ours
    });
    until("it waits", || queued(&world) == 0);
    let tip = at(&world, "repo", "refs/checkpoints/auth");
    assert_eq!(tip, at(&world, "hub", "refs/checkpoints/auth"));
    assert_eq!(
        at(&world, "repo", "refs/checkpoints/auth^"),
        theirs,
        "the chain of the remote stays"
    );
    assert_eq!(untouched(&world), before);
    // The merge keeps the files that were saved here.
    assert_eq!(
        at(&world, "repo", "refs/checkpoints/auth^2"),
        at(&world, "repo", &format!("{ours}^2"))
    );
    world
        .checkpoint(["todo"])
        .success()
        .stdout_has("of bob")
        .stdout_has("of ana");
    world.checkpoint(["message", "list"]).success().stdout_has("bob says");
    assert_eq!(sharing(&world)["failures"], 0);
    // What is left to a person is said, once by a save and by status until it is done.
    let command = format!("git checkpoint merge {}", &theirs[..8]);
    world.checkpoint(["status"]).success().stdout_has(&command);
    world
        .checkpoint(["save", "-m", "next", "--allow-empty"])
        .success()
        .stderr_has(&command);
    until("it waits", || queued(&world) == 0);
    world
        .checkpoint(["save", "-m", "once", "--allow-empty"])
        .success()
        .stderr_lacks("automatic sharing");
    until("it waits", || queued(&world) == 0);
    let merged = world.checkpoint(["merge", &theirs[..8]]);
    merged.success().stdout_has("list.txt");
    assert_eq!(world.read("list.txt"), b"1\nbob\n3\n4\n5\n6\n7\nana\n9\n");
    world.checkpoint(["status"]).success().stdout_lacks(&command);
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict"]).success();
    // The other clone simply goes forward.
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world.checkpoint(["pull"]).success().stdout_has("Pulled");
    world.checkpoint(["todo"]).success().stdout_has("of ana");
}

#[test]
fn a_merge_that_was_made_automatically_is_undone() {
    let world = diverged();
    let ours = save(&world, "ana's");
    until("it was not merged", || {
        at(&world, "hub", "refs/checkpoints/auth^3") == ours
    });
    until("it waits", || queued(&world) == 0);
    let merged = at(&world, "repo", "refs/checkpoints/auth");
    world.checkpoint(["undo"]).success().stdout_has("automatically");
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), ours);
    world.checkpoint(["todo"]).success().stdout_lacks("of bob");
    world.checkpoint(["redo"]).success();
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), merged);
}

/// What was undone is merged again by the next save; then the files of the other side are still named, by every output that
/// a session is resumed with, and the command that is named brings them.
#[test]
fn files_that_only_an_undone_merge_had_are_named_until_they_are_merged() {
    let world = diverged();
    let theirs = at(&world, "hub", "refs/checkpoints/auth");
    let ours = save(&world, "ana's");
    until("it was not merged", || {
        at(&world, "hub", "refs/checkpoints/auth^3") == ours
    });
    until("it waits", || queued(&world) == 0);
    world.checkpoint(["undo"]).success();
    let command = format!("git checkpoint merge {}", &theirs[..8]);
    let undone = world.checkpoint(["status"]);
    undone.success().stdout_lacks("record merged").stdout_lacks(&command);
    world.checkpoint(["resume"]).success().stdout_lacks(&command);

    let again = save(&world, "ana's again");
    until("it was not merged", || {
        at(&world, "hub", "refs/checkpoints/auth^3") == again
    });
    until("it waits", || queued(&world) == 0);
    save(&world, "one more");
    until("it waits", || queued(&world) == 0);
    let tip = at(&world, "repo", "refs/checkpoints/auth");
    let list = world.git_line(["show", &format!("{tip}^2:list.txt")]);
    assert!(!list.contains("bob"), "no file is merged unasked");
    for line in [
        &["status"][..],
        &["resume"],
        &["resume", "--brief"],
        &["resume", "--format", "prompt"],
        &["show"],
    ] {
        world.checkpoint(line).success().stdout_has(&command);
    }
    let row = &world.checkpoint(["resume", "--json"]).success().stdout_json()["contents"]["unmerged_files"];
    assert_eq!(row[0]["id"], theirs.as_str());
    assert_eq!(row[0]["command"], command.as_str());
    assert_eq!(row.as_array().unwrap().len(), 1);
    let merged = world.checkpoint(["merge", &theirs[..8]]);
    merged.success().stdout_has("list.txt");
    assert_eq!(world.read("list.txt"), b"1\nbob\n3\n4\n5\n6\n7\nana\n9\n");
    for line in ["status", "resume"] {
        world.checkpoint([line]).success().stdout_lacks(&command);
    }
    until("it waits", || queued(&world) == 0);
    let list = world.git(["show", "refs/checkpoints/auth^2:list.txt"]);
    assert_eq!(list.success().stdout_bytes(), world.read("list.txt"));
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn what_a_person_has_to_decide_waits_with_the_command() {
    let world = diverged();
    world.enter("bob");
    world.checkpoint(["state", "patch", r#"{"shared":5}"#]).success();
    save(&world, "bob again");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.checkpoint(["state", "patch", r#"{"shared":6}"#]).success();
    let before = untouched(&world);
    let ours = save(&world, "ana's");
    let theirs = at(&world, "hub", "refs/checkpoints/auth");
    until_failed(&world, 1);
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), ours);
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), theirs);
    assert_eq!(untouched(&world), before);
    let command = "git checkpoint pull origin auth --merge";
    let found = sharing(&world);
    assert_eq!(found["refused"][0]["command"], command);
    assert_eq!(
        found["refused"][0]["reason"],
        "it has diverged, and both changed the same part of its record"
    );
    world.checkpoint(["status"]).success().stdout_has(command);
    until("it does not wait", || {
        let queued = world.checkpoint(["push", "--queued"]);
        queued.status().code() == Some(4) && queued.stderr().contains(command)
    });
    world
        .checkpoint(["pull", "origin", "auth", "--merge"])
        .code(1)
        .stdout_has("6 here, 5 in origin/auth");
    world.checkpoint(["conflict", "resolve", "--all", "--theirs"]).success();
    // After failures a save waits before it lets another push begin.
    world.advance(3600);
    let tip = save(&world, "resolved");
    until("it was not pushed", || {
        at(&world, "hub", "refs/checkpoints/auth") == tip
    });
}

#[test]
fn nothing_is_merged_while_work_is_open() {
    let world = diverged();
    let ours = {
        let away = world.root().join("away");
        fs::rename(world.root().join("hub"), &away).unwrap();
        let ours = save(&world, "ana's");
        until_failed(&world, 1);
        fs::rename(&away, world.root().join("hub")).unwrap();
        ours
    };
    let waits = |why: &str| {
        // The process in the background may be at it.
        until(why, || {
            let queued = world.checkpoint(["push", "--queued"]);
            queued.status().code() == Some(4) && queued.stderr().contains(why)
        });
    };
    let refused = |why: &str| {
        waits(why);
        assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), ours, "{why}");
    };
    // Changes of the record that are not saved.
    world.checkpoint(["todo", "add", "not saved"]).success();
    refused("changes of its record are not saved");
    world.checkpoint(["todo", "remove", "not saved"]).success();
    // A merge of files of this session with conflicts.
    let json = world.path(".git/checkpoint/merge.json");
    world
        .checkpoint(["fork", "auth", "--name", "other", "--worktree", "../other"])
        .success();
    world.enter("other");
    world.file("list.txt", "other\n");
    world.checkpoint(["save", "-m", "other's"]).success();
    world.enter("repo");
    world.file("list.txt", "mine\n");
    world.checkpoint(["merge", "other"]).code(1);
    assert!(json.exists());
    let conflicted = untouched(&world);
    let open = at(&world, "repo", "refs/checkpoints/auth");
    waits("a merge is not concluded");
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), open);
    assert_eq!(untouched(&world), conflicted);
    world.git(["add", "list.txt"]).success();
    world.advance(3600);
    world.checkpoint(["merge", "--continue"]).success();
    until("it was not merged and pushed", || {
        // One in the background that began before the end of the merge puts off the next try, and the clock does not move.
        world.checkpoint(["push", "--queued"]);
        at(&world, "hub", "refs/checkpoints/auth") == at(&world, "repo", "refs/checkpoints/auth")
    });
    world.checkpoint(["todo"]).success().stdout_has("of bob");
    world.checkpoint(["verify", "--all"]).success();
}

/// A git that was killed while it fetched for us leaves a `.keep` that no `gc` ever removes: the next command does, but no other.
#[test]
fn what_a_killed_fetch_left_among_the_packs_goes() {
    let world = shared();
    save(&world, "one");
    world.checkpoint(["push", "origin", "--all"]).success();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let packs = world.path(".git/objects/pack");
    let keep = |digit: &str| packs.join(format!("pack-{}.keep", digit.repeat(40)));
    let of_fetch = |process: u32| format!("fetch-pack {process} on {host}\n");
    fs::create_dir_all(&packs).unwrap();
    fs::write(keep("1"), of_fetch(ended.id())).unwrap();
    // It is of the user's own fetch, as far as is known.
    world.file("more", "1\n");
    save(&world, "two");
    assert!(keep("1").exists());
    for (n, command) in [&["save", "--allow-empty", "-m", "three"][..], &["fetch", "origin"]]
        .into_iter()
        .enumerate()
    {
        world.file(".git/checkpoint/fetching/origin", &host);
        std::thread::sleep(Duration::from_millis(20));
        fs::write(keep("2"), of_fetch(ended.id())).unwrap();
        fs::write(keep("3"), of_fetch(std::process::id())).unwrap();
        fs::write(keep("4"), "mine\n").unwrap();
        world.checkpoint(command).success();
        let left = ["1", "2", "3", "4"].map(|digit| keep(digit).exists());
        assert_eq!(left, [true, false, true, true], "{n}");
        assert!(!world.path(".git/checkpoint/fetching/origin").exists());
    }
}

/// A remote that has a renamed session under its old name takes nothing more of it: each command that meets this has the ways
/// on, and they lead on when typed.
#[test]
fn a_renamed_session_waits_with_the_ways_on() {
    for rename_back in [true, false] {
        let world = automatic();
        save(&world, "zero");
        until("it was not pushed", || queued(&world) == 0);
        let back = "call yours as it is called there: git checkpoint rename token auth";
        let there = "or rename it there: git checkpoint remote delete origin/auth && git checkpoint push origin token";
        let both = format!("{back}; {there}");
        world
            .checkpoint(["rename", "token"])
            .success()
            .stderr_has("automatic pushes of it wait, as remote 'origin' has it as 'auth'; ")
            .stderr_has(&both);
        world.checkpoint(["save", "-m", "one", "--allow-empty"]).success();
        until_failed(&world, 1);
        let said = world.checkpoint(["save", "-m", "two", "--allow-empty"]);
        said.success()
            .stderr_has("session 'token': the remote has it as auth; 1 session waits until a person decides: ")
            .stderr_has(&both);
        world
            .checkpoint(["status"])
            .success()
            .stdout_has(back)
            .stdout_has(there);
        world
            .checkpoint(["push", "--queued"])
            .code(4)
            .stderr_has(&format!("hint: {back}\nhint: {there}\n"));
        if rename_back {
            world
                .checkpoint(["rename", "token", "auth"])
                .success()
                .stderr_lacks("automatic");
            world.checkpoint(["push", "--queued"]).success();
        } else {
            world.checkpoint(["remote", "delete", "origin/auth"]).success();
            world.checkpoint(["push", "origin", "token"]).success();
        }
        let name = if rename_back { "auth" } else { "token" };
        let name = format!("refs/checkpoints/{name}");
        assert_eq!(at(&world, "hub", &name), at(&world, "repo", &name));
        assert_eq!(queued(&world), 0);
        let state = sharing(&world);
        assert_eq!(state["refused"], serde_json::json!([]), "{rename_back}");
        assert_eq!(state["failures"], 0, "{rename_back}");
        world.checkpoint(["status"]).success().stdout_has("queue empty");
    }
}

/// Whatever it waited for: a push by hand ends that, and one to another remote does not.
#[test]
fn what_was_pushed_by_hand_does_not_wait() {
    let world = automatic();
    until("it was not pushed", || queued(&world) == 0);
    let other = world.root().join("other");
    world
        .git(["init", "--quiet", "--bare", other.to_str().unwrap()])
        .success();
    world.git(["remote", "add", "other", "../other"]).success();
    let (hub, away) = (world.root().join("hub"), world.root().join("away"));
    fs::rename(&hub, &away).unwrap();
    world.checkpoint(["save", "-m", "one", "--allow-empty"]).success();
    until_failed(&world, 1);
    fs::rename(&away, &hub).unwrap();
    world.checkpoint(["push", "other"]).success();
    assert_eq!(queued(&world), 1);
    world.checkpoint(["push", "-n"]).success();
    assert_eq!(queued(&world), 1);
    world.checkpoint(["push"]).success();
    assert_eq!(queued(&world), 0);
    let state = sharing(&world);
    assert_eq!(
        (&state["failures"], &state["reason"]),
        (&0.into(), &serde_json::Value::Null)
    );
    world.checkpoint(["status"]).success().stdout_has("queue empty");
    // Nor does a failure of before keep the next save back.
    let tip = save(&world, "two");
    until("it was not pushed", || {
        at(&world, "hub", "refs/checkpoints/auth") == tip
    });
}
