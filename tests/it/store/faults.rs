//! Kills, errors and a full disk at the system calls of a save and of a rename: the short form of the sweeps.
//!
//! A kill at any point leaves a change invisible or complete, and the next command cleans up; an error is reported and
//! leaves no file. Needs strace, and says so when it is not there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use git_checkpoint::store::refs;
use git_checkpoint::store::{ObjectId, Repository};
use gix::bstr::ByteSlice as _;

use super::actor::start_under;
use super::{assert_clean, leftovers, open, save};
use crate::support::World;

/// The calls that change something or take a lock; the reading ones differ little.
const CALLS: &[&str] = &[
    "write", "fsync", "rename", "linkat", "unlink", "flock", "mkdir", "openat",
];

fn strace() -> bool {
    let found = Command::new("strace")
        .args(["-qq", "-e", "trace=none", "true"])
        .status();
    let works = found.is_ok_and(|status| status.success());
    if !works {
        super::skipped("strace is not installed or not allowed here");
    }
    works
}

/// How often the task makes each call.
fn count(task: &str, prepare: &dyn Fn(&World)) -> BTreeMap<&'static str, usize> {
    let world = World::with_commit();
    prepare(&world);
    let log = world.root().join("trace");
    let which = format!("trace={}", CALLS.join(","));
    let under = ["strace", "-f", "-qq", "-o", log.to_str().unwrap(), "-e", &which];
    start_under(&world, &under, task).finish().unwrap();
    let text = fs::read_to_string(log).unwrap();
    let calls = |call: &str| {
        text.lines()
            .filter(|line| line.split(' ').any(|word| word.starts_with(&format!("{call}("))))
            .count()
    };
    CALLS.iter().map(|call| (*call, calls(call))).collect()
}

/// Runs the task with each call failing or killed once, and checks what is left.
fn sweep(task: &str, fault: &str, prepare: &dyn Fn(&World), check: &dyn Fn(&World, &Repository, bool)) {
    if !strace() {
        return;
    }
    let mut points = 0;
    let mut checked = BTreeSet::new();
    for (call, times) in count(task, prepare) {
        // The first half of the calls to open something is the loader's and the harness's.
        let first = if call == "openat" { times / 2 } else { 1 };
        for nth in first..=times {
            let world = World::with_commit();
            prepare(&world);
            let inject = format!("inject={call}:{fault}:when={nth}");
            let trace = format!("trace={call}");
            let under = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
            let done = start_under(&world, &under, task).finish().is_ok();
            points += 1;
            if !done && !fault.starts_with("signal") {
                let mut left = leftovers(&world.path(".git"));
                // What the next command completes.
                left.retain(|path| !path.ends_with("refs.journal"));
                assert!(left.is_empty(), "{inject}: left behind {left:?}");
            }
            // Many points leave the very same bytes, the whole of which was checked once.
            if !checked.insert((done, content(&world.path(".git")))) {
                continue;
            }
            let repo = open(&world);
            save(&repo, "another", b"the next command").unwrap_or_else(|error| panic!("{inject}: {error}"));
            check(&world, &repo, done);
            assert_clean(&world);
            world.git(["gc", "--quiet", "--prune=now"]).success();
        }
    }
    assert!(points > 30, "only {points} points");
}

/// Every file of a repository by its path and bytes, without what differs where the same was done: the names of packs, which
/// are random, the moment in `synced`, and the numbers of files in the index, which neither task changes.
fn content(git_dir: &Path) -> BTreeSet<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut directories = vec![git_dir.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if !path.ends_with("index") {
                let is_moment = path.ends_with("checkpoint/synced");
                let bytes = if is_moment {
                    Vec::new()
                } else {
                    fs::read(&path).unwrap()
                };
                found.push((path.strip_prefix(git_dir).unwrap().to_str().unwrap().to_owned(), bytes));
            }
        }
    }
    let packs: Vec<String> = found
        .iter()
        .filter_map(|(path, _)| path.strip_prefix("objects/pack/pack-")?.split('.').next())
        .map(str::to_owned)
        .collect();
    for (path, bytes) in &mut found {
        for pack in &packs {
            *path = path.replace(pack, "");
            *bytes = bytes.replace(pack, "");
        }
    }
    found.into_iter().collect()
}

fn one_save(world: &World) {
    save(&open(world), "s", b"first").unwrap();
}

fn check_save(world: &World, repo: &Repository, done: bool) {
    let log = refs::reflog(repo, "refs/checkpoints/s").unwrap();
    let count: usize = world
        .git_line(["rev-list", "--count", "refs/checkpoints/s"])
        .parse()
        .unwrap();
    assert_eq!(log.len(), count, "the reflog tells what happened");
    assert!(if done { count == 2 } else { count == 1 || count == 2 });
}

fn check_rename(_: &World, repo: &Repository, done: bool) {
    let old = refs::read(repo, "refs/checkpoints/s").unwrap();
    let new = refs::read(repo, "refs/checkpoints/t").unwrap();
    let there = |id: Option<ObjectId>| usize::from(id.is_some());
    assert_eq!(there(old) + there(new), 1, "{old:?} {new:?}");
    assert!(!done || new.is_some());
    assert_eq!(refs::reflog(repo, "refs/checkpoints/s").unwrap().len(), there(old));
    assert_eq!(refs::reflog(repo, "refs/checkpoints/t").unwrap().len(), there(new));
}

#[test]
fn a_killed_save_is_invisible_or_complete() {
    sweep("save s 1 second", "signal=KILL", &one_save, &check_save);
}

#[test]
fn a_killed_rename_is_invisible_or_complete() {
    sweep("rename s t", "signal=KILL", &one_save, &check_rename);
}

#[test]
fn an_error_of_the_disk_is_told_and_leaves_nothing() {
    sweep("save s 1 second", "error=EIO", &one_save, &check_save);
    sweep("rename s t", "error=ENOSPC", &one_save, &check_rename);
}

#[test]
fn a_full_disk_is_told_and_the_next_save_works() {
    let told = Command::new("unshare").args(["-m", "true"]).status();
    if !told.is_ok_and(|status| status.success()) {
        super::skipped("no mount namespaces here");
        return;
    }
    let world = World::new();
    let disk = world.root().join("disk");
    fs::create_dir(&disk).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=6m none {disk} && cp -a .git {disk}/ && cd {disk} && \
         CHECKPOINT_ACTOR='save s 1 a' \"$@\" && ! CHECKPOINT_ACTOR='large 8' \"$@\" && \
         ! find .git -name 'checkpoint_tmp*' -o -name '*.keep' -o -name 's.lock' | grep . && \
         CHECKPOINT_ACTOR='save s 1 b' \"$@\" && git fsck --strict && \
         test \"$(git rev-list --count refs/checkpoints/s)\" = 2 && test -z \"$(git for-each-ref refs/checkpoints/large)\"",
        disk = disk.display()
    );
    let told = start_under(&world, &["unshare", "-m", "sh", "-c", &script, "sh"], "none").finish();
    let text = told.unwrap();
    assert!(!text.is_empty());
}
