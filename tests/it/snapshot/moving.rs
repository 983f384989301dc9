//! Files that change, grow, shrink, vanish or become something else while a snapshot reads them, and large files.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::World;

use super::child::{Setting, take, take_with};
use super::reference::{assert_same, faultless, git_tree, sound};

/// Does something over and over while snapshots are taken.
fn while_changing(world: &World, snapshots: usize, mut change: impl FnMut(usize) + Send) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                change(n);
                // Leaves something of the disk to others.
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..snapshots {
                let taken = take(world);
                assert_eq!(taken.error(), None);
                faultless(world, &Setting::default(), &taken);
            }
        }));
        done.store(true, Ordering::Relaxed);
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn a_file_that_never_rests_is_listed_and_never_torn() {
    let world = World::with_commit();
    // Large enough that no snapshot reads it between two changes, and without a block on the disk.
    let path = world.path("log");
    fs::File::create(&path).unwrap().set_len(48 << 20).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            let started = Instant::now();
            let mut size = 48 << 20;
            while !done.load(Ordering::Relaxed) && started.elapsed() < Duration::from_secs(60) {
                size += 1;
                file.set_len(size).unwrap();
                std::thread::sleep(Duration::from_micros(500));
            }
        });
        let setting = Setting {
            options: serde_json::json!({ "memory": true }),
            ..Setting::default()
        };
        let taken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| take_with(&world, &setting)));
        done.store(true, Ordering::Relaxed);
        let taken = taken.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        assert_eq!(taken.list("skipped"), ["unstable log"]);
        assert_eq!(taken.tree(), world.git_line(["rev-parse", "HEAD^{tree}"]));
    });
}

#[test]
fn names_that_come_and_go_and_change_their_kind() {
    let world = World::with_commit();
    for n in 0..50 {
        world.file(format!("d{n}/file"), "tracked\n");
    }
    world.git(["add", "--all"]).success();
    let outside = world.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "not of this repository\n").unwrap();
    let repo = world.repo();
    while_changing(&world, 12, |n| {
        let at = repo.join(format!("d{}", n % 50));
        let file = at.join("file");
        // Errors are of no interest: the next round starts from what is there.
        let _ = match n / 50 % 6 {
            0 => fs::remove_file(&file),
            1 => fs::write(&file, vec![b'y'; n % 5000]),
            2 => fs::remove_dir_all(&at),
            3 => std::os::unix::fs::symlink(&outside, &at),
            4 => fs::remove_file(&at).and_then(|()| fs::create_dir(&at)),
            _ => fs::write(&file, "tracked\n"),
        };
    });
    // Whatever was seen, nothing was read through the link.
    let all = world
        .git(["cat-file", "--batch-all-objects", "--batch"])
        .stdout_bytes()
        .to_vec();
    assert!(
        !all.windows(8).any(|window| window == b"not of t"),
        "read outside of the working tree"
    );
    assert_same(&world, &Setting::default(), &sound(&world, &Setting::default()));
}

#[test]
fn a_file_that_shrinks_does_not_kill() {
    let world = World::with_commit();
    let path = world.path("src/main.txt");
    while_changing(&world, 6, |n| {
        let size = if n % 2 == 0 { 3 << 20 } else { 10 };
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(size).unwrap();
    });
}

#[test]
fn large_files_are_streamed_to_the_same_blobs() {
    let world = World::new();
    let lines = |end: &str| format!("line of text{end}").repeat(150_000);
    world.file(
        ".gitattributes",
        "*.auto text=auto\n*.dos text eol=crlf\n*.up filter=upper\n",
    );
    world.git(["config", "filter.upper.clean", "tr a-z A-Z"]).success();
    world.file("plain", lines("\n"));
    world.file("crlf.auto", lines("\r\n"));
    world.file("lf.auto", lines("\n"));
    world.file("crlf.dos", lines("\r\n"));
    world.file("binary.auto", [lines("\r\n").as_bytes(), b"\0"].concat());
    world.file("text.up", lines("\n"));
    let taken = sound(&world, &Setting::default());
    // CRLF that becomes LF comes back as LF where the system's line end is LF.
    assert_eq!(taken.list("raw"), ["crlf.auto"]);
    let git = git_tree(&world, &Setting::default()).unwrap();
    for path in ["plain", "lf.auto", "crlf.dos", "binary.auto", "text.up"] {
        let id = |tree: &str| world.git_line(["rev-parse", &format!("{tree}:{path}")]);
        assert_eq!(id(taken.tree()), id(&git), "{path}");
    }
    let raw = world.git(["cat-file", "blob", &format!("{}:crlf.auto", taken.tree())]);
    assert_eq!(raw.stdout_bytes(), world.read("crlf.auto"));
    assert_eq!(taken.count("modified"), 0);
}

#[test]
fn many_untracked_files_and_a_sparse_one_of_three_gigabytes() {
    let world = World::with_commit();
    for n in 0..2000 {
        world.file(format!("many/{}/{n}", n % 40), format!("{n}\n"));
    }
    let file = fs::File::create(world.path("huge")).unwrap();
    file.set_len(3 << 30).unwrap();
    drop(file);
    let taken = sound(&world, &Setting::default());
    assert_eq!(taken.list("skipped"), ["too-large:3221225472 huge"]);
    assert_eq!(taken.count("untracked"), 2001);
    fs::remove_file(world.path("huge")).unwrap();
    assert_same(&world, &Setting::default(), &taken);
}

#[test]
fn one_thread_gives_what_many_give() {
    let world = World::with_commit();
    for n in 0..300 {
        world.file(format!("{}/{}/{n}", n % 7, n % 11), format!("{n}\n"));
    }
    let with = |threads: usize| {
        let options = serde_json::json!({ "threads": threads, "memory": true, "max_total_size": 700 });
        let taken = take_with(
            &world,
            &Setting {
                options,
                ..Setting::default()
            },
        );
        (taken.tree().to_owned(), taken.list("skipped").join("\n"))
    };
    let one = with(1);
    assert!(one.1.contains("over-budget"));
    assert_eq!(with(2), one);
    assert_eq!(with(9), one);
}

#[test]
fn deep_trees_need_few_open_files() {
    let world = World::with_commit();
    let mut path = String::new();
    for _ in 0..250 {
        // A directory next to each, so that the directory above stays wanted while the walk goes deep.
        world.file(format!("{path}beside/file"), "x\n");
        path.push_str("d/");
    }
    world.git(["add", "--all"]).success();
    world.file(format!("{path}last"), "y\n");
    let prefix = ["sh", "-c", "ulimit -n 110 && exec \"$@\"", "sh"];
    let taken = sound(
        &world,
        &Setting {
            prefix: &prefix,
            ..Setting::default()
        },
    );
    assert!(taken.list("skipped").is_empty());
    assert_same(&world, &Setting::default(), &taken);
}
