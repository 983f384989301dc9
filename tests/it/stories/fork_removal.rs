//! Removal of a fork's working tree while another program writes there, and after it was killed: no byte is deleted that
//! no checkpoint holds.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;

use crate::support::{PROGRAM, World};

/// A fork `try` with this many files, in a working tree of its own.
fn forked(files: usize) -> World {
    let world = World::with_commit();
    world.file(".gitignore", "*.o\n");
    world.file("copied.o", "ignored\n");
    world.git(["config", "checkpoint.forkCopy", "*.o"]).success();
    world.checkpoint(["save", "--session", "base", "-m", "base"]).success();
    world
        .checkpoint(["fork", "base", "--name", "try", "--worktree", "../try"])
        .success();
    let root = there(&world);
    for n in 0..files {
        let path = root.join(format!("d{}/f{n:04}", n % 10));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("content {n}\n")).unwrap();
    }
    fs::create_dir(root.join("empty")).unwrap();
    world
}

fn there(world: &World) -> PathBuf {
    world.root().join("try")
}

/// Every file and directory with its content, without git's link.
fn content(root: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path.clone());
                found.push((path, None));
            } else if path != root.join(".git") {
                found.push((path.clone(), Some(fs::read(&path).unwrap())));
            }
        }
    }
    found.sort();
    found
}

/// Writes a file that exists, again and again, until the end; the last text that was written.
fn rewrite(path: &Path, stop: &AtomicBool) -> String {
    let mut last = String::new();
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let text = format!("written {n}\n");
        let Ok(mut file) = OpenOptions::new().write(true).truncate(true).open(path) else {
            break;
        };
        if file.write_all(text.as_bytes()).is_err() {
            break;
        }
        last = text;
        std::thread::sleep(Duration::from_millis(2));
    }
    last
}

#[test]
fn a_working_tree_in_which_a_program_writes_is_not_removed() {
    // On a busy machine the program may not get its turn before the end.
    let is_refused = (0..5).any(|_| is_removal_refused_beside_a_writer());
    assert!(is_refused, "no removal noticed the program");
}

fn is_removal_refused_beside_a_writer() -> bool {
    let world = forked(300);
    let root = there(&world);
    let before = content(&root);
    let busy = root.join("d9/f0299");
    let stop = AtomicBool::new(false);
    let (removed, last) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| rewrite(&busy, &stop));
        std::thread::sleep(Duration::from_millis(20));
        let removed = world.checkpoint(["fork", "--remove", "try"]);
        stop.store(true, Ordering::Relaxed);
        (removed, writer.join().unwrap())
    });
    if removed.is_success() {
        return false;
    }
    removed
        .code(4)
        .stderr_has("the working tree of 'try' was not removed")
        .stderr_has("git checkpoint fork --remove try");
    assert_eq!(fs::read_to_string(&busy).unwrap(), last);
    let others = |all: Vec<(PathBuf, Option<Vec<u8>>)>| {
        let others = all.into_iter().filter(|(path, _)| *path != busy);
        others.collect::<Vec<_>>()
    };
    assert_eq!(others(content(&root)), others(before));
    // Once it has ended, all that it wrote is saved.
    world.checkpoint(["fork", "--remove", "try"]).success();
    assert!(!root.exists());
    assert_eq!(world.git_line(["show", "checkpoints/try^2:d9/f0299"]), last.trim_end());
    world.git(["worktree", "list"]).success().stdout_lacks("/try");
    world.git(["fsck", "--strict"]).success();
    true
}

#[test]
fn what_is_written_after_the_first_deletion_is_kept_and_the_rest_comes_back() {
    let mut kept = 0;
    for _ in 0..5 {
        let world = forked(1500);
        let root = there(&world);
        let before = content(&root);
        let (new, late) = (root.join("brandnew"), root.join("d9/f1499"));
        let end = AtomicBool::new(false);
        let (removed, wrote) = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                // The removal has begun when any file is gone.
                while (0..10).all(|n| root.join(format!("d{n}/f000{n}")).exists()) {
                    if end.load(Ordering::Relaxed) {
                        return (false, false);
                    }
                }
                let appended = OpenOptions::new().append(true).open(&late);
                let appended = appended.is_ok_and(|mut file| file.write_all(b"more\n").is_ok());
                (fs::write(&new, "new\n").is_ok(), appended)
            });
            let removed = world.checkpoint(["fork", "--remove", "try"]);
            end.store(true, Ordering::Relaxed);
            (removed, writer.join().unwrap())
        });
        if removed.is_success() {
            assert!(!wrote.0, "a new file is gone: {removed}");
            continue;
        }
        removed.code(4).stderr_has("what was deleted before is back");
        kept += 1;
        let mut expected = before;
        if wrote.0 {
            expected.push((new, Some(b"new\n".to_vec())));
        }
        for (path, text) in &mut expected {
            if *path == late && fs::read(path).unwrap().ends_with(b"more\n") {
                assert!(wrote.1);
                *text = Some(b"content 1499\nmore\n".to_vec());
            }
        }
        expected.sort();
        assert_eq!(content(&root), expected);
        world.checkpoint(["fork", "--remove", "try"]).success();
        if wrote.0 {
            assert_eq!(world.git_line(["show", "checkpoints/try^2:brandnew"]), "new");
        }
    }
    assert!(kept > 0, "the writer never came in between");
}

#[test]
fn a_removal_that_was_killed_is_completed_or_taken_back() {
    let mut killed = 0;
    // Taken back first, and completed at once.
    for is_taken_back in [true, false, true, false, true, false] {
        let world = forked(1500);
        let root = there(&world);
        let before = content(&root);
        let removal = world.spawn(["fork", "--remove", "try"]);
        while (0..10).all(|n| root.join(format!("d{n}/f000{n}")).exists()) {
            std::hint::spin_loop();
        }
        removal.signal(Signal::KILL);
        if removal.code().is_some() {
            continue;
        }
        killed += 1;
        world
            .checkpoint(["fork", "--list"])
            .success()
            .stderr_has("git checkpoint fork --remove try")
            .stderr_has("git checkpoint fork --continue try");
        if is_taken_back {
            fs::write(root.join("brandnew"), "new\n").unwrap();
            world.checkpoint(["fork", "--continue", "try"]).success();
            assert_eq!(fs::read(root.join("brandnew")).unwrap(), b"new\n");
            fs::remove_file(root.join("brandnew")).unwrap();
            assert_eq!(content(&root), before);
        } else {
            // Written since, and in no checkpoint.
            fs::write(root.join("brandnew"), "new\n").unwrap();
            fs::write(root.join("lost.o"), "ignored\n").unwrap();
            world
                .checkpoint(["fork", "--remove", "try"])
                .code(4)
                .stderr_has("not saved: lost.o");
            assert_eq!(fs::read(root.join("lost.o")).unwrap(), b"ignored\n");
            assert_eq!(fs::read(root.join("brandnew")).unwrap(), b"new\n");
            fs::remove_file(root.join("lost.o")).unwrap();
        }
        world.checkpoint(["fork", "--remove", "try"]).success();
        assert!(!root.exists());
        world.git(["worktree", "list"]).success().stdout_lacks("/try");
        // Half of a working tree is not saved as if it were one.
        let saved = world.git_line(["ls-tree", "-r", "--name-only", "checkpoints/try^2"]);
        assert_eq!(saved.lines().count(), 1503 + usize::from(!is_taken_back));
        world.checkpoint(["verify", "--all"]).success();
    }
    assert!(killed > 0, "the removal was never killed in between");
}

/// The directory is gone at the end of a removal, and git's own note of it last.
#[test]
fn a_removal_that_was_killed_after_its_last_deletion_is_completed() {
    for is_emptied in [false, true] {
        let world = forked(3);
        let root = there(&world);
        let notes = world.path(".git/checkpoint/forks");
        let mut note = serde_json::json!({ "session": "try", "path": root, "branch": "checkpoint/try" });
        world.checkpoint(["save", "-m", "all"]).success();
        let saved = world.git_line(["rev-parse", "checkpoints/try"]);
        note["removal"] = serde_json::json!(saved);
        fs::create_dir_all(&notes).unwrap();
        fs::write(notes.join("try.json"), note.to_string()).unwrap();
        fs::remove_dir_all(&root).unwrap();
        if is_emptied {
            fs::create_dir(&root).unwrap();
        }
        world
            .checkpoint(["fork", "--remove", "try"])
            .success()
            .stdout_has(&saved[..8]);
        assert!(!root.exists());
        world.git(["worktree", "list"]).success().stdout_lacks("/try");
        assert_eq!(fs::read_dir(&notes).unwrap().count(), 0);
        world.git_line(["rev-parse", "refs/heads/checkpoint/try"]);
    }
}

#[test]
fn a_locked_working_tree_is_left_as_it_is() {
    let world = forked(3);
    let before = content(&there(&world));
    world.git(["worktree", "lock", "../try"]).success();
    world
        .checkpoint(["fork", "--remove", "try"])
        .code(4)
        .stderr_has("git worktree unlock");
    assert_eq!(content(&there(&world)), before);
    world.git(["worktree", "unlock", "../try"]).success();
    world.checkpoint(["fork", "--remove", "try"]).success();
    assert!(!there(&world).exists());
}

/// With `--force` go the files that no checkpoint holds, as they were when they were looked at. What is written later stays.
#[test]
fn a_forced_removal_keeps_what_is_written_after_it_began() {
    let named = ["built.o", "d3/deep.o", "nested/file", "nested/.git/config"];
    for late in [named[0], named[1], named[2], named[3], "nested/brandnew"] {
        let mut kept = 0;
        for _ in 0..8 {
            let world = forked(1200);
            let root = there(&world);
            for path in [named[0], named[1]] {
                fs::write(root.join(path), "lost\n").unwrap();
            }
            let nested = root.join("nested");
            world.git(["init", "-q", nested.to_str().unwrap()]).success();
            fs::write(nested.join("file"), "lost\n").unwrap();
            world
                .checkpoint(["fork", "--remove", "try"])
                .code(4)
                .stderr_has("not saved: ");
            let end = AtomicBool::new(false);
            let (removed, wrote) = std::thread::scope(|scope| {
                let writer = scope.spawn(|| {
                    // The removal has begun when any file is gone.
                    while (0..10).all(|n| root.join(format!("d{n}/f000{n}")).exists()) {
                        if end.load(Ordering::Relaxed) {
                            return false;
                        }
                    }
                    fs::write(root.join(late), "late\n").is_ok()
                });
                let removed = world.checkpoint(["fork", "--remove", "try", "--force"]);
                end.store(true, Ordering::Relaxed);
                (removed, writer.join().unwrap())
            });
            if removed.is_success() {
                assert!(!wrote, "{late} is gone: {removed}");
                continue;
            }
            kept += 1;
            removed.code(4).stderr_has("was written meanwhile");
            assert_eq!(fs::read(root.join(late)).unwrap(), b"late\n");
            assert_eq!(fs::read(root.join("d9/f1199")).unwrap(), b"content 1199\n");
            assert!(
                named.iter().all(|path| root.join(path).exists()),
                "before the first deletion all is looked at"
            );
            world.checkpoint(["fork", "--remove", "try", "--force"]).success();
            assert!(!root.exists());
            break;
        }
        assert!(kept > 0, "{late}: the writer never came in between");
    }
}

/// The working tree of a fork is its own whichever session is current in it.
#[test]
fn a_fork_that_was_left_in_its_working_tree_is_listed_and_removed() {
    for leave in [
        &["finish", "-qm", "done"][..],
        &["pause", "-q"],
        &["pause", "-q", "--clean"],
        &["switch", "base"],
        &["start", "other"],
    ] {
        let world = forked(2);
        let root = there(&world);
        let left = world.command(PROGRAM, leave).within(&root).run();
        left.success();
        let forks = world.checkpoint(["fork", "--list", "--json"]).success().stdout_json();
        let shown = forks["forks"][0]["worktree"].as_str().unwrap_or_default().to_owned();
        assert!(shown.ends_with("/try"), "{leave:?}: {forks}");
        world.checkpoint(["rename", "try", "tried"]).success();
        world.checkpoint(["fork", "--remove", "tried"]).success();
        assert!(!root.exists(), "{leave:?}");
        assert_eq!(world.git_line(["worktree", "list"]).lines().count(), 1, "{leave:?}");
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// Where a session was only current for a while, the working tree is none of its.
#[test]
fn a_working_tree_of_another_session_is_not_removed() {
    let world = forked(1);
    let root = there(&world);
    let there = |args: &[&str]| world.command(PROGRAM, args).within(&root).run();
    there(&["fork", "-q", "--name", "inner"]).success();
    there(&["switch", "try"]).success();
    world
        .checkpoint(["fork", "--remove", "inner"])
        .code(4)
        .stderr_has("no working tree of its own");
    assert!(root.exists());
}

/// A fork that went on is no longer what an undo comes to: it is passed over, and no hint leads to what is refused.
#[test]
fn an_undo_passes_over_a_fork_that_went_on() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "b"]).success();
    let fork = || {
        world
            .checkpoint(["fork", "--name", "k", "--worktree", "../k"])
            .success();
        world.enter("k");
        world.file("z", "z\n");
        world.enter("repo");
        world.checkpoint(["fork", "--remove", "k"]).success();
        world.git(["branch", "-qD", "checkpoint/k"]).success();
    };
    fork();
    let refused = world.checkpoint(["undo"]);
    refused
        .code(4)
        .stderr_has("cannot either: session 'k' has changed since")
        .stderr_has("git checkpoint log k")
        .stderr_lacks("--older");
    // With an older action there is a way.
    world.checkpoint(["delete", "k"]).success();
    world.file("README.md", "changed\n");
    world.checkpoint(["restore", "@", "--force"]).success();
    let restored = world.read("README.md");
    fork();
    let tip = world.git_line(["rev-parse", "checkpoints/k"]);
    world
        .checkpoint(["undo"])
        .code(4)
        .stderr_has("'fork' (")
        .stderr_has("the last command that can be: restored")
        .stderr_has("git checkpoint undo --older");
    world
        .checkpoint(["undo", "--older", "-n"])
        .success()
        .stdout_has("Would undo 'restored")
        .stderr_has("to k' cannot be undone and stays: session 'k' has changed since");
    assert_eq!(world.read("README.md"), restored);
    world
        .checkpoint(["undo", "--older"])
        .success()
        .stdout_has("Undid 'restored")
        .stderr_has("to k' cannot be undone and stays: session 'k' has changed since");
    assert_eq!(world.read("README.md"), b"changed\n");
    assert_eq!(world.git_line(["rev-parse", "checkpoints/k"]), tip);
    world.checkpoint(["redo"]).success();
    assert_eq!(world.read("README.md"), restored);
    world.checkpoint(["verify", "--all"]).success();
}
