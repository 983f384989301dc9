//! What a push refuses, what a remote refuses, and remotes that end in the middle.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{at, clone, no_quarantine, save, script, shared};
use crate::support::{Spawned, World};

/// A token of a well-known form, put together so that it does not stand in this file.
fn token() -> String {
    format!("ghp_{}", "q7Zs2Lx9Rw4Tb8Nd1Kf6Hj3Mv5Pc0YgUaEo1")
}

#[test]
fn a_secret_is_not_published() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    world.file("notes.txt", format!("a\nkey = {}\n", token()));
    save(&world, "one");
    let output = world.checkpoint(["push"]);
    output
        .code(4)
        .stderr_has("1 secret would be published")
        .stderr_has("github-token in notes.txt:2 (auth, checkpoint ")
        .stderr_has("--allow-secrets")
        .stderr_lacks(&token()[..16]);
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), "");
    // Also when it is gone from the latest checkpoint, and in a commit of the user's.
    world.file("notes.txt", "nothing\n");
    save(&world, "two");
    world.checkpoint(["push"]).code(4).stderr_has("notes.txt:2");
    world
        .checkpoint(["push", "--allow-secrets"])
        .success()
        .stderr_has("1 secret published, as allowed");
    world.checkpoint(["push"]).success();
    world.file("committed.txt", token());
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "oops"]).success();
    save(&world, "three");
    world
        .checkpoint(["push"])
        .code(4)
        .stderr_has("committed.txt:1 (commit ");
    // Once git has pushed it, it is no news.
    world.git(["push", "--quiet", "origin", "main"]).success();
    world.checkpoint(["push"]).success();
}

#[test]
fn a_mirror_is_refused_with_advice() {
    let world = shared();
    world.git(["config", "remote.origin.mirror", "true"]).success();
    world.checkpoint(["start", "auth"]).success();
    world
        .checkpoint(["push"])
        .code(128)
        .stderr_has("is a mirror")
        .stderr_has("git config remote.origin.mirror false");
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), "");
}

#[test]
fn a_remote_that_takes_no_such_refs_is_explained() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    let hub = world.root().join("hub");
    let hub = hub.to_str().unwrap().to_owned();
    let config = |key: &str, value: &str| {
        world.git(["-C", &hub, "config", key, value]).success();
    };
    config("receive.hideRefs", "refs/checkpoints");
    world
        .checkpoint(["push"])
        .code(128)
        .stderr_has("takes no refs like refs/checkpoints/auth")
        .stderr_has("git bundle create auth.bundle");
    config("receive.hideRefs", "");
    fs::create_dir_all(world.root().join("hub/hooks")).unwrap();
    let hook = script(&world, "hub/hooks/pre-receive", "echo 'policy says no'; exit 1");
    world
        .checkpoint(["push"])
        .code(128)
        .stderr_has("refused session 'auth': pre-receive hook declined")
        .stderr_has("remote: policy says no");
    fs::remove_file(hook).unwrap();
    config("receive.fsckObjects", "true");
    config("transfer.fsckObjects", "true");
    world.checkpoint(["push"]).success();
    assert!(!at(&world, "hub", "refs/checkpoints/auth").is_empty());
}

#[test]
fn the_users_hook_runs_and_may_refuse() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    script(&world, "repo/.git/hooks/pre-push", "cat > ../seen; exit 1");
    world.checkpoint(["push"]).code(5);
    let seen = fs::read_to_string(world.root().join("seen")).unwrap();
    assert!(seen.contains("refs/checkpoints/auth"), "{seen}");
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), "");
    script(&world, "repo/.git/hooks/pre-push", "exit 0");
    world.checkpoint(["push"]).success();
}

#[test]
fn a_remote_that_dies_in_the_middle_leaves_everything_and_a_repetition_finishes() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    world.file(
        "big.bin",
        (0..200_000_u32)
            .flat_map(|n| (n.wrapping_mul(2_654_435_761)).to_le_bytes())
            .collect::<Vec<_>>(),
    );
    let tip = save(&world, "one");
    let dies = script(&world, "dies", "exec git-receive-pack \"$@\" </dev/null");
    world.git(["config", "remote.origin.receivepack", &dies]).success();
    let before = world.fingerprint();
    world
        .checkpoint(["push"])
        .code(5)
        .stderr_has("cannot talk to remote 'origin'");
    assert_eq!(before, world.fingerprint());
    assert_eq!(at(&world, "repo", "refs/checkpoints-remote/origin/auth"), "");
    // One that takes the objects and dies before it answers.
    world.git(["config", "--unset", "remote.origin.receivepack"]).success();
    fs::create_dir_all(world.root().join("hub/hooks")).unwrap();
    let hook = script(&world, "hub/hooks/pre-receive", "kill -9 $PPID");
    world.checkpoint(["push"]).code(5);
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), "");
    fs::remove_file(hook).unwrap();
    world.checkpoint(["push"]).success();
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), tip);
    assert_eq!(at(&world, "repo", "refs/checkpoints-remote/origin/auth"), tip);

    clone(&world, "bob");
    let dies = script(
        &world,
        "dies",
        "[ -e asked ] && exec git-upload-pack \"$@\" </dev/null; touch asked; exec git-upload-pack \"$@\"",
    );
    world.git(["config", "remote.origin.uploadpack", &dies]).success();
    world.checkpoint(["fetch"]).code(5);
    no_quarantine(&world);
    world.git(["for-each-ref", "refs/checkpoints-remote"]).no_stdout();
    world.git(["config", "--unset", "remote.origin.uploadpack"]).success();
    world.checkpoint(["fetch"]).success();
}

#[test]
fn a_remote_whose_ref_is_locked_may_be_tried_again() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    let directory = world.root().join("hub/refs/checkpoints");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("auth.lock"), "").unwrap();
    world
        .checkpoint(["push"])
        .code(5)
        .stderr_has("auth.lock")
        .stderr_has("another push to session 'auth'")
        .stderr_has("git checkpoint push origin auth");
    fs::remove_file(directory.join("auth.lock")).unwrap();
    world.checkpoint(["push"]).success();
    // What a git of ours that was killed left behind is in nobody's way.
    clone(&world, "bob");
    let waiting = world.path(".git/refs/checkpoints-incoming/origin");
    fs::create_dir_all(&waiting).unwrap();
    fs::write(waiting.join("auth.lock"), "").unwrap();
    world.checkpoint(["fetch"]).success();
    no_quarantine(&world);
    assert!(!waiting.join("auth.lock").exists());
}

#[test]
fn remotes_that_are_none_are_told() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    for command in ["push", "fetch", "pull"] {
        world
            .checkpoint([command])
            .code(3)
            .stderr_has("has no remote")
            .stderr_has("git remote add");
    }
    world.git(["remote", "add", "gone", "../nowhere"]).success();
    world
        .checkpoint(["push"])
        .code(128)
        .stderr_has("git remote get-url gone");
    world.checkpoint(["fetch", "gone"]).code(128);
    // A session alone is no remote; the hint repeats the command that was meant.
    world
        .checkpoint(["push", "auth"])
        .code(3)
        .stderr_has("is 'auth' a session? The remote comes first: git checkpoint push <remote> <session>\n");
    // There is one remote, so that is the one to get the session from.
    for command in ["fetch", "pull"] {
        world
            .checkpoint([command, "auth"])
            .code(128)
            .stderr_has("git remote get-url gone");
    }
    world
        .checkpoint(["fetch", "../hub"])
        .code(3)
        .stderr_has("git remote add <name> <url>");
    world.checkpoint(["pull", "gone", "Bad Name"]).code(129);
    world.checkpoint(["remote", "status"]).success().stdout_has("gone");
}

#[test]
fn read_only_and_empty_remotes() {
    let world = World::with_commit();
    let hub = world.root().join("hub");
    world
        .git(["init", "--quiet", "--bare", hub.to_str().unwrap()])
        .success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.checkpoint(["start", "auth"]).success();
    // Without history: what the snapshot needs goes along.
    save(&world, "one");
    world.checkpoint(["fetch"]).success().stdout_has("Nothing new");
    world
        .checkpoint(["pull"])
        .code(3)
        .stderr_has("git checkpoint push origin auth");
    world
        .checkpoint(["push"])
        .success()
        .stdout_has("Also uploaded 1 commit");
    world.git(["-C", hub.to_str().unwrap(), "fsck", "--strict"]).success();
    let no = script(&world, "no", "echo 'ERR access denied' >&2; exit 1");
    world.git(["config", "remote.origin.receivepack", &no]).success();
    save(&world, "two");
    world.checkpoint(["push"]).code(128).stderr_has("access denied");
}

#[test]
fn files_of_lfs_go_first() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 5\n",
        "a1".repeat(32)
    );
    world.file("image.bin", pointer);
    save(&world, "one");
    let mut path = world.root().as_os_str().to_owned();
    path.push(":");
    path.push(&world.environment()[0].1);
    let push = || {
        world
            .command(crate::support::PROGRAM, ["push"])
            .env("PATH", &path)
            .run()
    };
    // Also where the machine has git-lfs.
    script(&world, "git-lfs", "exit 1");
    push()
        .code(128)
        .stderr_has("1 file of git-lfs would be missing on remote 'origin'")
        .stderr_has("not installed");
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), "");
    script(&world, "git-lfs", "[ \"$1\" = version ] || echo \"$@\" >> ../lfs.log");
    push().success().stdout_has("1 file of git-lfs sent first");
    let log = fs::read_to_string(world.root().join("lfs.log")).unwrap();
    assert_eq!(log, format!("push --object-id origin {}\n", "a1".repeat(32)));
}

/// Both programs of the other side say that they were asked, and never answer.
fn hanging(world: &World) {
    let slow = script(world, "slow", "echo $$ >../asked; exec sleep 60");
    for side in ["receivepack", "uploadpack"] {
        world.git(["config", &format!("remote.origin.{side}"), &slow]).success();
    }
}

/// Starts a command and waits until the other side has been asked. Also gives the process of git.
fn asked(world: &World, line: &[&str]) -> (Spawned, rustix::process::Pid) {
    let asked = world.root().join("asked");
    let _ = fs::remove_file(&asked);
    let spawned = world.spawn(line);
    let other = wait_for(|| fs::read_to_string(&asked).ok()?.trim().parse().ok());
    // git runs it through a shell, or not.
    let mut git = other;
    loop {
        let stat = fs::read_to_string(format!("/proc/{git}/stat")).unwrap();
        let mut words = stat.rsplit_once(')').unwrap().1.split_whitespace();
        let parent: i32 = words.nth(1).unwrap().parse().unwrap();
        if parent == spawned.pid().as_raw_nonzero().get() {
            return (spawned, rustix::process::Pid::from_raw(git).unwrap());
        }
        git = parent;
    }
}

fn wait_for<T>(mut done: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(done) = done() {
            return done;
        }
        assert!(started.elapsed().as_secs() < 60, "it does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process has ended; one that nobody waited for counts.
fn has_ended(process: rustix::process::Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    stat.map_or(true, |stat| {
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'))
    })
}

const TALKING: [&[&str]; 4] = [
    &["push"],
    &["fetch"],
    &["pull", "origin", "auth"],
    &["save", "--allow-empty", "-m", "two", "--push"],
];

#[test]
fn ctrl_c_leaves_everything_as_it_was() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    hanging(&world);
    let before = world.fingerprint();
    for line in TALKING {
        let (spawned, git) = asked(&world, line);
        let started = Instant::now();
        spawned.signal(Signal::INT);
        assert_eq!(spawned.code(), Some(130), "{line:?}");
        assert!(started.elapsed().as_secs() < 10);
        assert!(has_ended(git), "{line:?}");
        assert_eq!(before, world.fingerprint());
        assert_eq!(at(&world, "repo", "refs/checkpoints-remote/origin/auth"), "");
        no_quarantine(&world);
    }
    assert_eq!(super::log(&world, "auth"), ["two", "one", "start auth"]);
}

#[test]
fn git_does_not_wait_for_ever_when_we_are_killed() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    hanging(&world);
    let before = world.fingerprint();
    for line in TALKING {
        let (spawned, git) = asked(&world, line);
        spawned.signal(Signal::KILL);
        // Its child is reaped by nobody but the system.
        wait_for(|| has_ended(git).then_some(()));
        assert_eq!(spawned.code(), None, "{line:?}");
        assert_eq!(before, world.fingerprint());
    }
    for side in ["receivepack", "uploadpack"] {
        world
            .git(["config", "--unset", &format!("remote.origin.{side}")])
            .success();
    }
    world.checkpoint(["push"]).success();
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn a_killed_fetch_stops_no_later_one() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    // As git leaves it when it is killed while it writes the ref.
    let locks = world.path(".git/refs/checkpoints-incoming/origin");
    fs::create_dir_all(&locks).unwrap();
    let lock = locks.join("other.lock");
    fs::write(&lock, "").unwrap();
    let other = "refs/checkpoints/auth:refs/checkpoints/other";
    world.git(["push", "--quiet", "origin", other]).success();
    world.checkpoint(["fetch"]).success();
    assert!(!lock.exists());
    // A save clears it away as well, so that the user's gc goes on, whichever remote it was of.
    fs::create_dir_all(world.path(".git/refs/checkpoints-incoming/gone")).unwrap();
    let lock = world.path(".git/refs/checkpoints-incoming/gone/auth.lock");
    fs::write(&lock, "").unwrap();
    save(&world, "two");
    assert!(!lock.exists());
    no_quarantine(&world);
}

#[test]
fn a_descriptor_is_no_remote() {
    let world = shared();
    world.git(["config", "remote.origin.url", "fd::17"]).success();
    world
        .checkpoint(["fetch"])
        .code(5)
        .stderr_has("transport 'fd' not allowed");
}

/// A bundle is a file: nothing of its messages is about a remote.
#[test]
fn a_bundle_that_cannot_be_written_or_read_is_no_remote() {
    let world = World::with_commit();
    world.checkpoint(["save", "-qm", "one"]).success();
    world
        .checkpoint(["bundle", "../none/x.bundle"])
        .code(3)
        .stderr_has("no directory '../none'")
        .stderr_lacks("remote")
        .stderr_lacks("repeat the command");
    // The lock that git takes is there already.
    fs::write(world.root().join("x.bundle.lock"), "").unwrap();
    world
        .checkpoint(["bundle", "../x.bundle"])
        .code(128)
        .stderr_has("cannot write bundle")
        .stderr_lacks("remote")
        .stderr_lacks("repeat the command");
    fs::remove_file(world.root().join("x.bundle.lock")).unwrap();
    world.checkpoint(["bundle", "../x.bundle"]).success();
    let whole = fs::read(world.root().join("x.bundle")).unwrap();
    fs::write(world.root().join("x.bundle"), &whole[..whole.len() - 40]).unwrap();
    world.git(["clone", "-q", "--no-local", ".", "../other"]).success();
    world.enter("other");
    world
        .checkpoint(["unbundle", "../x.bundle"])
        .code(128)
        .stderr_has("cannot read bundle")
        .stderr_has("git bundle verify")
        .stderr_lacks("remote");
}
