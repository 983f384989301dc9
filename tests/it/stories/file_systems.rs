//! File systems that lack a call: network, FUSE, shared directories of virtual machines. strace answers in their place.
//!
//! Needs strace, and says so when it is not there.

use std::fs;
use std::process::Command;

use crate::support::{Output, PROGRAM, World};

fn strace() -> bool {
    let found = Command::new("strace")
        .args(["-qq", "-e", "trace=none", "true"])
        .status();
    let works = found.is_ok_and(|status| status.success());
    if !works {
        eprintln!("skipped: strace is not installed or not allowed here");
    }
    works
}

fn traced(world: &World, options: &[&str], args: &[&str]) -> (Output, String) {
    let log = world.root().join("trace");
    let mut all = vec!["-f", "-qq", "-y", "-o", log.to_str().unwrap()];
    all.extend(options);
    all.push(PROGRAM);
    all.extend(args);
    let output = world.command("strace", all).run();
    (output, fs::read_to_string(&log).unwrap_or_default())
}

/// Runs a command with every such call answered by this error.
fn without(world: &World, calls: &str, error: &str, args: &[&str]) -> Output {
    let inject = format!("inject={calls}:error={error}");
    traced(world, &["-e", &format!("trace={calls}"), "-e", &inject], args).0
}

fn history() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    for n in 1..=2 {
        world.file("work", format!("{n}\n"));
        world.checkpoint(["save", "-m", &format!("n{n}")]).success();
    }
    world
}

#[test]
fn without_locks_it_works_and_that_is_told_once() {
    if !strace() {
        return;
    }
    for error in ["ENOLCK", "ENOSYS", "EOPNOTSUPP", "EINVAL", "ENOTTY"] {
        let world = history();
        let told = "this file system has no locks";
        world.file("work", "3\n");
        without(&world, "flock", error, &["save", "-m", "n3"])
            .success()
            .stderr_has(told);
        for line in [
            &["todo", "add", "x"][..],
            &["restore", "s~1", "--force"],
            &["undo"],
            &["rename", "s", "t"],
            &["prune", "--keep-last", "1"],
            &["status"],
        ] {
            without(&world, "flock", error, line).success().stderr_lacks(told);
        }
        let held = world
            .command("find", [".git", "-name", "*.held"])
            .run()
            .stdout()
            .to_owned();
        assert_eq!(held, "", "no lock stays");
        // One of a process that is gone is taken over; one of another machine is waited for.
        let lock = world.path(".git/checkpoint/worktree.lock.held");
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        fs::write(&lock, format!("999999999 - {host}")).unwrap();
        world.file("work", "4\n");
        without(&world, "flock", error, &["save", "-m", "n4"]).success();
        fs::write(&lock, "1 - another-machine\n").unwrap();
        world.git(["config", "checkpoint.lockTimeout", "100ms"]).success();
        without(&world, "flock", error, &["save", "-m", "n5", "--allow-empty"]).code(5);
        fs::remove_file(&lock).unwrap();
        world.checkpoint(["verify", "--all"]).success();
    }
}

#[test]
fn without_synced_directories_it_works_and_that_is_told_once() {
    if !strace() {
        return;
    }
    for error in ["EINVAL", "EOPNOTSUPP", "ENOSYS"] {
        let world = history();
        let told = "cannot write a directory to the disk";
        world.file("work", "3\n");
        without(&world, "fsync", error, &["save", "-m", "n3"])
            .success()
            .stderr_has(told);
        without(&world, "fsync", error, &["save", "-m", "n4", "--allow-empty"])
            .success()
            .stderr_lacks(told);
        without(&world, "fsync", error, &["restore", "s~2", "--force"]).success();
        without(&world, "fsync", error, &["delete", "s"]).success();
        world.checkpoint(["verify", "--all"]).success();
    }
    for error in ["EIO", "ENOSPC", "EDQUOT"] {
        let world = history();
        world.file("work", "3\n");
        without(&world, "fsync", error, &["save", "-m", "n3"]).code(128);
        world.checkpoint(["verify", "--all"]).success();
        world.checkpoint(["save", "-m", "n3"]).success();
    }
}

#[test]
fn without_hard_links_it_works() {
    if !strace() {
        return;
    }
    for error in [
        "EXDEV",
        "EROFS",
        "EACCES",
        "ENOMEM",
        "ENOSPC",
        "EOVERFLOW",
        "ENODEV",
        "ENXIO",
    ] {
        let world = history();
        world.file("work", "3\n");
        for line in [
            &["save", "-m", "n3"][..],
            &["restore", "s~1", "--force"],
            &["restore", "s~2", "--index", "--force"],
            &["undo"],
            &["fork", "s", "--name", "f"],
            &["delete", "f"],
        ] {
            without(&world, "link,linkat", error, line).success();
        }
        let left = world
            .command("find", [".git", "-name", "*.lock", "-size", "+0"])
            .run()
            .stdout()
            .to_owned();
        assert_eq!(left, "", "{error}");
        world.checkpoint(["verify", "--all"]).success();
    }
}

#[test]
fn without_an_exchange_of_names_files_are_restored() {
    if !strace() {
        return;
    }
    for error in ["EINVAL", "ENOSYS", "EPERM", "EOPNOTSUPP", "ENOTTY"] {
        let world = history();
        world.file("work", "3\n");
        without(&world, "renameat2", error, &["restore", "s~1", "--force"]).success();
        assert_eq!(world.read("work"), b"1\n");
        without(&world, "renameat2", error, &["undo"]).success();
        assert_eq!(world.read("work"), b"3\n");
    }
}

#[test]
fn what_git_wrote_unsynced_is_on_the_disk_before_the_ref_moves() {
    if !strace() {
        return;
    }
    let steps: [&[&[&str]]; 8] = [
        &[&["add", "--all"]],
        &[&["add", "--all"], &["commit", "--quiet", "-m", "c"]],
        &[
            &["add", "--all"],
            &["commit", "--quiet", "-m", "c"],
            &["switch", "--quiet", "-c", "other/branch"],
        ],
        &[
            &["switch", "--quiet", "-c", "side"],
            &["add", "--all"],
            &["commit", "--quiet", "-m", "side"],
            &["switch", "--quiet", "main"],
            &["commit", "--quiet", "--allow-empty", "-m", "main"],
            &["merge", "--quiet", "--no-edit", "side"],
        ],
        &[
            &["switch", "--quiet", "-c", "side"],
            &["add", "--all"],
            &["commit", "--quiet", "-m", "side"],
            &["switch", "--quiet", "main"],
            &["commit", "--quiet", "--allow-empty", "-m", "main"],
            &["switch", "--quiet", "side"],
            &["rebase", "--quiet", "main"],
        ],
        &[&["add", "--all"], &["commit", "--quiet", "--amend", "-m", "amended"]],
        &[
            &["switch", "--quiet", "-c", "side"],
            &["add", "--all"],
            &["commit", "--quiet", "-m", "side"],
            &["switch", "--quiet", "main"],
            &["cherry-pick", "side"],
        ],
        &[
            &["add", "--all"],
            &["commit", "--quiet", "-m", "c"],
            &["revert", "--no-edit", "HEAD"],
        ],
    ];
    for commands in steps {
        let world = history();
        let objects = || {
            let found = world
                .command("find", [".git/objects", "-type", "f", "-path", ".git/objects/??/*"])
                .run();
            found.stdout().lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let before = objects();
        world.file("a/b/c", "the work of a day");
        for command in commands {
            world.git(*command).success();
        }
        let made: Vec<_> = objects().into_iter().filter(|path| !before.contains(path)).collect();
        assert!(!made.is_empty());
        std::thread::sleep(std::time::Duration::from_millis(120));
        world.file("more", "x");
        let (saved, trace) = traced(
            &world,
            &["-e", "trace=fsync,syncfs,rename"],
            &["save", "-m", "after git"],
        );
        saved.success();
        let moved = trace.find("refs/checkpoints/s.lock\", ").expect("the ref moves");
        let synced = |path: &str| {
            let line = format!("{}>", path.trim_start_matches("./"));
            trace[..moved]
                .lines()
                .any(|call| call.contains("fsync(") && call.contains(&line))
        };
        for path in &made {
            assert!(synced(path), "{path} after {commands:?}\n{trace}");
            let (directory, _) = path.rsplit_once('/').unwrap();
            assert!(synced(directory), "{directory} after {commands:?}");
        }
        assert!(synced(".git/index"), "{trace}");
        if commands.len() > 1 {
            let branch = world.git_line(["symbolic-ref", "HEAD"]);
            assert!(synced(&format!(".git/{branch}")), "{branch}");
        }
        // Nothing is synced twice.
        std::thread::sleep(std::time::Duration::from_millis(120));
        world.file("more", "y");
        let (saved, trace) = traced(&world, &["-e", "trace=fsync,syncfs,rename"], &["save", "-m", "again"]);
        saved.success();
        for path in &made {
            assert!(!trace.contains(&format!("{path}>")), "{path}");
        }
    }
}

#[test]
fn many_young_objects_are_synced_at_once() {
    if !strace() {
        return;
    }
    let world = history();
    for n in 0..200 {
        world.file(format!("many/{n}"), format!("{n}\n"));
    }
    world.git(["add", "--all"]).success();
    let (saved, trace) = traced(&world, &["-e", "trace=fsync,syncfs,rename"], &["save", "-m", "many"]);
    saved.success();
    assert!(trace.lines().count() < 60, "{}", trace.lines().count());
    assert!(trace.contains("syncfs("), "{trace}");
}

/// Commands that are run first, and the one that is looked at.
type Row<'a> = (&'a [&'a [&'a str]], &'a [&'a str]);

/// What a command wrote among the files is on the disk before the journal that could repair it goes.
#[test]
fn what_was_written_among_the_files_is_on_the_disk_before_the_journal_goes() {
    if !strace() {
        return;
    }
    let rows: &[Row<'_>] = &[
        (&[], &["restore", "s~1", "--force"]),
        (&[], &["restore", "s~1", "--index", "--force"]),
        (&[&["restore", "s~1", "--force"]], &["undo"]),
        (&[&["restore", "s~1", "--force"], &["undo"]], &["redo"]),
        (&[&["pause", "--clean", "-m", "aside"]], &["apply", "s"]),
        (&[], &["apply", "--reverse", "s", "--force"]),
        (&[&["pause", "--clean", "-m", "aside"]], &["resume", "s", "--apply"]),
    ];
    for (before, command) in rows {
        let world = history();
        for step in *before {
            world.checkpoint(*step).success();
        }
        let trace = ["-e", "trace=fsync,fdatasync,syncfs,unlink,unlinkat,rename,renameat2"];
        let (done, trace) = traced(&world, &trace, command);
        done.success();
        let lines: Vec<&str> = trace.lines().collect();
        let is_gone = |line: &&str| line.contains("unlink") && line.contains("restore.journal");
        let gone = lines.iter().position(is_gone);
        let gone = gone.unwrap_or_else(|| panic!("{command:?}: no journal\n{trace}"));
        let is_written = |line: &&str| line.contains("rename") && line.contains("work");
        let written = lines[..gone].iter().rposition(is_written).unwrap_or_default();
        let is_synced = |line: &&str| line.contains("syncfs(") || line.contains("sync(") && line.contains("work>");
        let mut between = lines[written..gone].iter();
        assert!(between.any(is_synced), "{command:?}\n{trace}");
    }
    // A fork's working tree, with what git made of it.
    let world = history();
    let (done, trace) = traced(
        &world,
        &["-e", "trace=syncfs"],
        &["fork", "s", "--name", "f", "--worktree", "../fk"],
    );
    done.success();
    assert!(trace.contains("syncfs("), "{trace}");
}

/// More files than are synced one by one: the sync runs beside another thread, and its failure is reported.
#[test]
fn a_sync_of_many_files_that_fails_is_reported() {
    if !strace() {
        return;
    }
    let world = history();
    for text in ["one\n", "two\n"] {
        for n in 0..100 {
            world.file(format!("many/{n}"), format!("{n} {text}"));
        }
        world.checkpoint(["save", "-m", text.trim()]).success();
    }
    let fault = ["-e", "trace=syncfs", "-e", "inject=syncfs:error=EIO"];
    let (done, trace) = traced(&world, &fault, &["restore", "s~1", "--force"]);
    assert!(trace.contains("syncfs("), "{trace}");
    done.code(128);
    assert!(done.stdout().contains("stopped: cannot write to the disk"), "{done:?}");
    assert_eq!(fs::read(world.path("many/7")).unwrap(), b"7 one\n");
}
