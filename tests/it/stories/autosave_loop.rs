//! Autosaves in a row: which of them look at the files, and that none of them misses a change.
//!
//! With the reports of the real system; where that reports nothing of the directory for temporary files there is nothing to
//! see here, and every autosave looks.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use git_checkpoint::model::time::Timestamp;
use git_checkpoint::ops::autosave::AutosaveOutcome;
use git_checkpoint::ops::autosave_loop::{Lookout, MOST_SKIPPED, Way};
use git_checkpoint::ops::{CheckpointCache, Scene};
use git_checkpoint::os::{MOST_DIRECTORIES, Reports, WatchError};
use git_checkpoint::store::{self, OpenEnvironment, config::Settings};

use crate::support::{PROGRAM, World, temporary};

/// Turns that it takes at most until one is skipped: one to see the directories, one to see all with the directories watched.
const SETTLING: usize = 3;

struct Row {
    world: World,
    lookout: Lookout,
}

impl Row {
    /// A session with one save, some directories and no turn yet.
    fn new() -> Self {
        let world = World::with_commit();
        world.file("src/deep/er/file", "deep\n");
        world.file("other/file", "other\n");
        world.git(["add", "--all"]).success();
        world.git(["commit", "--quiet", "-m", "more"]).success();
        world.checkpoint(["start", "s"]).success();
        world.checkpoint(["save", "-m", "saved"]).success();
        Self {
            world,
            lookout: Lookout::new(),
        }
    }

    /// The next turn, as a watcher has it: with the repository opened anew.
    fn turn(&mut self) -> (bool, Way) {
        let environment = OpenEnvironment {
            cwd: self.world.repo(),
            vars: self
                .world
                .environment()
                .into_iter()
                .map(|(name, value)| (name.into(), value))
                .collect(),
            ..Default::default()
        };
        let repo = store::open(&environment).unwrap();
        let settings = Settings::read(&repo).unwrap();
        let seen = CheckpointCache::default();
        let scene = Scene {
            repo: &repo,
            settings: &settings,
            now: Timestamp::from_unix(1_800_000_000, 0),
            host: "host",
            agent: None,
            session: None,
            session_is_of_environment: false,
            home: None,
            index: None,
            seen: &seen,
            wait: Duration::from_secs(20),
        };
        let (outcome, way) = self.lookout.turn(&scene, false).unwrap();
        (matches!(outcome, AutosaveOutcome::Saved(_)), way)
    }

    /// Turns until one is skipped.
    fn settle(&mut self) {
        let mut ways = Vec::new();
        for _ in 0..=SETTLING {
            ways.push(self.turn().1);
            if ways.last() == Some(&Way::Skipped) {
                return;
            }
        }
        panic!("nothing happens, and yet it looks: {ways:?}");
    }

    fn saved(&self, path: &str) -> String {
        let full = self
            .world
            .git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints-autosave/"]);
        self.world.git_line(["show", &format!("{full}^2:{path}")])
    }
}

/// Whether the system reports what happens where tests have their files.
fn is_reported() -> bool {
    let directory = temporary();
    match Reports::of(directory.path()) {
        Err(WatchError::System | WatchError::FileSystem) => false,
        other => other.map(|_| true).unwrap(),
    }
}

/// Something that changes what a save would hold.
type Act = fn(&World);

#[test]
fn every_kind_of_change_is_looked_at_and_saved() {
    if !is_reported() {
        return;
    }
    let acts: [(&str, Act); 12] = [
        ("an edit", |w| w.file("src/main.txt", "edited\n")),
        ("an edit of the same size, the time set back", |w| {
            let time = fs::metadata(w.path("src/main.txt")).unwrap().modified().unwrap();
            w.file("src/main.txt", "eno\ntwo\nthree\n");
            let file = fs::File::options().write(true).open(w.path("src/main.txt")).unwrap();
            file.set_modified(time).unwrap();
        }),
        ("a file in a new folder", |w| w.file("new/folder/file", "new\n")),
        ("another name", |w| {
            fs::rename(w.path("other/file"), w.path("src/deep/moved")).unwrap();
        }),
        ("a file gone", |w| fs::remove_file(w.path("src/deep/er/file")).unwrap()),
        ("a folder gone", |w| fs::remove_dir_all(w.path("src/deep")).unwrap()),
        ("a folder exchanged for another", |w| {
            fs::rename(w.path("src/deep"), w.root().join("away")).unwrap();
            fs::rename(w.path("other"), w.path("src/deep")).unwrap();
        }),
        ("a mode", |w| {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(w.path("src/main.txt"), fs::Permissions::from_mode(0o755)).unwrap();
        }),
        ("what is staged", |w| {
            w.git(["rm", "--quiet", "--cached", "src/main.txt"]).success();
        }),
        ("a commit that changes no file", |w| {
            w.git(["commit", "--quiet", "--allow-empty", "-m", "empty"]).success();
        }),
        ("another branch at the same commit", |w| {
            w.git(["symbolic-ref", "HEAD", "refs/heads/elsewhere"]).success();
            w.git(["update-ref", "refs/heads/elsewhere", "main"]).success();
        }),
        ("an operation of the draft", |w| {
            w.checkpoint(["task", "add", "something"]).success();
        }),
    ];
    for (what, act) in acts {
        let mut row = Row::new();
        row.settle();
        act(&row.world);
        let (saved, way) = row.turn();
        assert!(saved && way != Way::Skipped, "{what}: {way:?}");
        // What was saved last is what is there: a save of the very state has nothing to store.
        row.settle();
        let world = &row.world;
        let outcome = world.checkpoint(["watch", "--once", "--json"]).success().stdout_json();
        assert_eq!(outcome["outcome"], "unchanged", "{what}");
    }
}

#[test]
fn settings_and_rules_elsewhere_are_seen() {
    if !is_reported() {
        return;
    }
    let mut row = Row::new();
    row.world.file("build.log", "log\n");
    row.settle();
    row.world.file(".git/info/exclude", "*.log\n");
    assert!(row.turn().0, "the file is ignored now");
    row.settle();
    row.world.git(["config", "core.excludesFile", "../rules"]).success();
    assert_ne!(row.turn().1, Way::Skipped, "a setting");
    row.settle();
    fs::write(row.world.root().join("rules"), "other\n").unwrap();
    row.world.file(".git/info/exclude", "");
    assert!(row.turn().0, "a file of rules outside of the working tree");
}

#[test]
fn a_new_directory_is_watched_from_the_look_that_saw_it() {
    if !is_reported() {
        return;
    }
    let mut row = Row::new();
    row.settle();
    row.world.file("new/a", "1\n");
    assert!(row.turn().0);
    row.world.file("new/a", "2\n");
    assert!(row.turn().0, "before it was watched");
    assert_eq!(row.saved("new/a"), "2");
    row.settle();
    row.world.file("new/a", "3\n");
    assert!(row.turn().0, "and when it is watched");
    assert_eq!(row.saved("new/a"), "3");
    fs::rename(row.world.path("new"), row.world.path("newer")).unwrap();
    assert!(row.turn().0);
    row.settle();
    row.world.file("newer/a", "4\n");
    assert!(row.turn().0, "under its new name");
    assert_eq!(row.saved("newer/a"), "4");
}

#[test]
fn a_directory_that_is_not_checked_out_is_seen_when_it_comes() {
    if !is_reported() {
        return;
    }
    let mut row = Row::new();
    row.world.git(["sparse-checkout", "set", "src"]).success();
    assert!(!row.world.path("other").exists());
    row.settle();
    row.world.file("other/file", "here\n");
    assert!(row.turn().0);
    assert_eq!(row.saved("other/file"), "here");
    row.settle();
    row.world.file("other/file", "again\n");
    assert!(row.turn().0);
    assert_eq!(row.saved("other/file"), "again");
}

#[test]
fn what_cannot_be_reported_is_always_looked_at() {
    let looks = |row: &mut Row| (0..=SETTLING).all(|_| row.turn().1 != Way::Skipped);
    let mut row = Row::new();
    fs::hard_link(row.world.path("src/main.txt"), row.world.root().join("outside")).unwrap();
    assert!(looks(&mut row), "a file with another name elsewhere");
    fs::write(row.world.root().join("outside"), "through it\n").unwrap();
    assert!(row.turn().0);
    assert_eq!(row.saved("src/main.txt"), "through it");
    let mut row = Row::new();
    row.world.git(["init", "--quiet", "nested"]).success();
    assert!(looks(&mut row), "a repository in it");
    let mut row = Row::new();
    row.world.file("untracked", "x");
    fs::hard_link(row.world.path("untracked"), row.world.root().join("outside")).unwrap();
    assert!(looks(&mut row), "an untracked file with another name elsewhere");
}

#[test]
fn what_was_not_reported_is_found_a_few_turns_later() {
    if !is_reported() {
        return;
    }
    let mut row = Row::new();
    row.settle();
    let outside = row.world.root().join("outside");
    fs::hard_link(row.world.path("src/main.txt"), &outside).unwrap();
    fs::write(&outside, "through it\n").unwrap();
    let saved = (0..=MOST_SKIPPED).any(|_| row.turn().0);
    assert!(saved, "within {MOST_SKIPPED} turns and one");
    assert_eq!(row.saved("src/main.txt"), "through it");
}

#[test]
fn more_directories_than_may_be_watched_are_looked_through() {
    if !is_reported() {
        return;
    }
    let directory = temporary();
    let mut reports = Reports::of(directory.path()).unwrap();
    let most = vec![directory.path().to_owned(); MOST_DIRECTORIES + 1];
    assert_eq!(reports.watch(&most), Err(WatchError::TooMany));
    assert_eq!(reports.watch(&most[..1]), Ok(()));
    assert!(matches!(Reports::of("/proc".as_ref()), Err(WatchError::FileSystem)));
}

#[test]
fn reports_that_were_lost_are_told() {
    if !is_reported() {
        return;
    }
    let queued = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let queued: usize = queued.trim().parse().unwrap();
    let directory = temporary();
    let mut reports = Reports::of(directory.path()).unwrap();
    let mut changes = || {
        let before = reports.changes();
        reports.drain();
        (reports.changes() - before, reports.losses())
    };
    assert_eq!(changes(), (0, 0));
    fs::write(directory.path().join("one"), "1").unwrap();
    assert!(matches!(changes(), (1.., 0)));
    assert_eq!(changes(), (0, 0), "each is told once");
    fs::read(directory.path().join("one")).unwrap();
    assert_eq!(changes(), (0, 0), "reading is no change");
    // Each file that is made gives two reports at least.
    for n in 0..=queued / 2 {
        fs::write(directory.path().join(format!("{n}")), "1").unwrap();
    }
    assert_eq!(changes().1, 1);
    assert_eq!(reports.find(directory.path()), None, "nothing is watched any more");
}

/// Starts a watcher.
fn watch(world: &World, options: &[&str]) -> Child {
    let mut variables = world.environment();
    variables.retain(|(name, _)| !name.ends_with("_DATE"));
    Command::new(PROGRAM)
        .arg("watch")
        .args(options)
        .current_dir(world.repo())
        .env_clear()
        .envs(variables)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn other_commands_ask_the_watcher_as_long_as_it_lives() {
    if !is_reported() {
        return;
    }
    let world = Row::new().world;
    let says = "the watcher reported changes in";
    // A watcher that is slow to answer is not waited for: on a busy machine it may take several tries.
    let asks = |command: &str, text: &str, before: &dyn Fn()| {
        let begun = Instant::now();
        loop {
            std::thread::sleep(Duration::from_millis(50));
            before();
            let said = world.checkpoint([command, "--verbose"]).success().stderr().to_owned();
            if command == "save" {
                let saved = world.git(["show", "refs/checkpoints/s^2:src/main.txt"]);
                assert_eq!(
                    saved.success().stdout_bytes(),
                    world.read("src/main.txt"),
                    "asked or not"
                );
            }
            if said.contains(&format!("{says} {text}")) {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{said}");
        }
    };
    let contents = Cell::new(0);
    let change = || {
        contents.set(contents.get() + 1);
        world.file("src/main.txt", format!("{}\n", contents.get()));
    };
    for _ in 0..2 {
        let mut child = watch(&world, &["--interval", "1h"]);
        asks("save", "0 of", &|| {});
        asks("save", "1 of", &change);
        asks("status", "", &|| {});
        world.git(["config", "checkpoint.watcher", "off"]).success();
        world.checkpoint(["save", "--verbose"]).success().stderr_lacks(says);
        world.git(["config", "--unset", "checkpoint.watcher"]).success();
        // Nothing can be tidied up, and yet the next one takes its place.
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(world.path(".git/checkpoint/watch.socket").exists());
        world.file("src/main.txt", "killed\n");
        world.checkpoint(["save", "--verbose"]).success().stderr_lacks(says);
    }
    let child = watch(&world, &["--interval", "1h"]);
    asks("save", "0 of", &|| {});
    let sent = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(sent.success() && child.wait_with_output().unwrap().status.success());
    assert!(!world.path(".git/checkpoint/watch.socket").exists());
}

#[test]
fn a_watcher_says_when_it_did_not_look() {
    if !is_reported() {
        return;
    }
    let row = Row::new();
    let child = watch(&row.world, &["--interval", "1s", "--verbose"]);
    let begun = Instant::now();
    let mut looked = HashSet::new();
    while looked.len() <= SETTLING && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(100));
        let state = fs::read_to_string(row.world.path(".git/checkpoint/watch.json")).unwrap_or_default();
        let state: serde_json::Value = serde_json::from_str(&state).unwrap_or_default();
        looked.extend(state["looked"].as_str().map(str::to_owned));
    }
    row.world.file("src/main.txt", "last\n");
    let sent = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("files not scanned, as no change was reported"), "{said}");
    assert!(said.contains("scanned files, as it is the first time"), "{said}");
    assert_eq!(row.saved("src/main.txt"), "last", "the last turn looks");
}
