//! Autosaves: made next to the chain, found by time, taken up after work was cut off; and the watcher that makes them.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::support::{PROGRAM, World};

/// A session with one save.
fn saved() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "-m", "saved", "--next", "go on"]).success();
    world
}

/// The ref of the session's autosaves in the main working tree.
fn autosave_ref(world: &World) -> String {
    world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints-autosave/"])
}

fn document(world: &World, rev: &str) -> serde_json::Value {
    serde_json::from_str(&world.git_line(["show", &format!("{rev}:checkpoint.json")])).unwrap()
}

fn once(world: &World) -> serde_json::Value {
    world.checkpoint(["watch", "--once", "--json"]).success().stdout_json()
}

/// A watcher that is killed, at the latest, when the test ends.
struct Watcher(Child);

impl Watcher {
    fn start(world: &World, args: &[&str]) -> Self {
        let mut variables = world.environment();
        // The clock goes on here.
        variables.retain(|(name, _)| !name.ends_with("_DATE"));
        let child = Command::new(PROGRAM)
            .arg("watch")
            .args(args)
            .current_dir(world.repo())
            .env_clear()
            .envs(variables)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn signal(&self, signal: &str) {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Its output and exit code.
    fn end(mut self) -> (String, Option<i32>) {
        let begun = Instant::now();
        while self.0.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut out = String::new();
        std::io::Read::read_to_string(&mut self.0.stdout.take().unwrap(), &mut out).unwrap();
        (out, self.0.wait().unwrap().code())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn it_holds_what_a_save_would_and_leaves_the_chain_alone() {
    let world = saved();
    let tip = world.git_line(["rev-parse", "refs/checkpoints/s"]);
    assert_eq!(
        once(&world)["outcome"],
        "unchanged",
        "right after a save there is nothing"
    );
    world.file("src/main.txt", "one\nedited\n");
    let before = world.fingerprint();
    assert_eq!(once(&world)["outcome"], "saved");
    assert_eq!(once(&world)["outcome"], "unchanged");
    world.fingerprint().assert_same_as(&before);
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/s"]), tip);
    let full = autosave_ref(&world);
    assert!(full.ends_with("/main"), "{full}");
    assert_eq!(world.git_line(["rev-parse", &format!("{full}^1")]), tip);
    assert_eq!(
        world.git_line(["show", &format!("{full}^2:src/main.txt")]),
        "one\nedited"
    );
    let document = document(&world, &full);
    assert_eq!(
        (&document["kind"], &document["record"]["summary"]),
        (&"autosave".into(), &"saved".into())
    );
    let digest = world.git_line([
        "log",
        "-1",
        "--format=%(trailers:key=Checkpoint-Digest,valueonly)",
        &tip,
    ]);
    assert_eq!(document["previous"], digest.trim());
    world.checkpoint(["log", "s", "--json"]).success();
    world.checkpoint(["verify"]).success();
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn nothing_is_saved_without_a_session_or_to_one_that_ended() {
    let world = World::with_commit();
    world
        .checkpoint(["watch", "--once"])
        .success()
        .stdout_has("No session is current");
    world.checkpoint(["save", "--session", "s", "-m", "x"]).success();
    world.checkpoint(["finish"]).success();
    world.file("a", "a");
    assert_eq!(once(&world)["outcome"], "no-session");
    assert_eq!(autosave_ref(&world), "");
}

#[test]
fn a_draft_is_included_and_folded_once() {
    let world = saved();
    world.checkpoint(["pause"]).success();
    // That it is active again is in the draft.
    world.checkpoint(["resume"]).success();
    world.file("a", "a");
    once(&world);
    let autosaved = document(&world, &autosave_ref(&world));
    let tip = document(&world, "refs/checkpoints/s");
    assert_eq!(autosaved["session"]["status"], "active");
    assert_eq!(
        autosaved["folded"], tip["folded"],
        "on the chain nothing is folded in yet"
    );
    let included = autosaved["included"].as_object().unwrap().clone();
    assert_eq!(included.len(), 1);
    world.checkpoint(["resume", "--recover"]).success();
    let recovered = document(&world, "refs/checkpoints/s");
    for (draft, last) in &included {
        assert_eq!(&recovered["folded"][draft], last);
    }
    let after = world.checkpoint(["save", "--json"]).success().stdout_json();
    assert_eq!(after["outcome"], "unchanged", "nothing is folded in twice");
}

#[test]
fn resume_takes_up_an_autosave_that_is_newer() {
    let world = saved();
    world.file("src/main.txt", "autosaved\n");
    once(&world);
    world.file("src/main.txt", "later, never saved\n");
    let left = world
        .checkpoint(["resume", "--no-recover", "--json"])
        .success()
        .stdout_json();
    assert!(
        left["autosave"]["id"].is_string() && left["recovered"].is_null(),
        "{left}"
    );
    world
        .checkpoint(["resume", "--no-recover"])
        .success()
        .stderr_has("an autosave from")
        .stderr_has("resume s --recover");
    // Nobody can be asked here, so it is taken up: that loses nothing.
    let taken = world.checkpoint(["resume"]);
    taken
        .success()
        .stderr_has("which was newer than the latest checkpoint")
        .stdout_has("No file was changed");
    assert_eq!(world.read("src/main.txt"), b"later, never saved\n");
    assert_eq!(
        world.git_line(["show", "refs/checkpoints/s^2:src/main.txt"]),
        "autosaved"
    );
    let document = document(&world, "refs/checkpoints/s");
    assert_eq!(
        (&document["kind"], &document["trigger"], &document["included"]),
        (&"save".into(), &"recovery".into(), &serde_json::Value::Null)
    );
    let again = world.checkpoint(["resume", "--json"]).success().stdout_json();
    assert!(
        again["autosave"].is_null() && again["recovered"].is_null(),
        "offered once"
    );
    world.checkpoint(["verify"]).success();
    world.checkpoint(["restore", "@"]).success();
    assert_eq!(world.read("src/main.txt"), b"autosaved\n");
}

#[test]
fn an_autosave_is_put_on_no_checkpoint_that_it_is_not_based_on() {
    for args in [
        &["save", "-m", "of the other"][..],
        &["save", "--no-files", "-m", "of the other"],
        &["claim"],
    ] {
        let world = saved();
        world.git(["worktree", "add", "-q", "../other"]).success();
        world.file("a", "autosaved");
        once(&world);
        std::fs::remove_file(world.path("a")).unwrap();
        world.enter("other");
        world.checkpoint(["switch", "s"]).success();
        world.file("b", "of the other");
        world.checkpoint(args).success();
        world.enter("repo");
        let tip = world.git_line(["rev-parse", "refs/checkpoints/s"]);
        let summary = document(&world, "refs/checkpoints/s")["record"]["summary"].clone();
        for args in [&["resume", "s"][..], &["resume", "s", "--recover"]] {
            let resumed = world.checkpoint(args);
            resumed.success().stderr_has("git checkpoint apply ");
        }
        assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/s"]), tip);
        assert_eq!(document(&world, "refs/checkpoints/s")["record"]["summary"], summary);
        let resumed = world.checkpoint(["resume", "s", "--json"]).success().stdout_json();
        world
            .checkpoint(["apply", resumed["autosave"]["id"].as_str().unwrap()])
            .success();
        assert_eq!(world.read("a"), b"autosaved");
    }
}

#[test]
fn a_recovery_is_undone_and_then_made_only_where_it_is_asked_for() {
    let world = saved();
    world.checkpoint(["todo", "add", "in the draft"]).success();
    world.file("a", "autosaved");
    once(&world);
    let tip = world.git_line(["rev-parse", "refs/checkpoints/s"]);
    std::fs::remove_file(world.path("a")).unwrap();
    let todo_once = || {
        let listed = world.checkpoint(["todo", "list"]);
        assert_eq!(listed.success().stdout().matches("in the draft").count(), 1);
    };
    world.checkpoint(["resume"]).success().stderr_has("git checkpoint undo");
    todo_once();
    world.checkpoint(["undo"]).success().stdout_has("recovered an autosave");
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/s"]), tip);
    todo_once();
    let status = world.checkpoint(["status"]);
    status.success().stdout_has("in the draft");
    world.checkpoint(["resume"]).success().stderr_has("--recover");
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/s"]), tip);
    world.checkpoint(["resume", "--recover"]).success();
    assert_eq!(world.git_line(["show", "refs/checkpoints/s^2:a"]), "autosaved");
    todo_once();
    world.checkpoint(["undo"]).success();
    world.checkpoint(["redo"]).success();
    assert_eq!(world.git_line(["show", "refs/checkpoints/s^2:a"]), "autosaved");
    world.checkpoint(["save", "--allow-empty", "-m", "goes on"]).success();
    todo_once();
    // A later autosave has not been undone.
    world.file("a", "later");
    once(&world);
    world
        .checkpoint(["resume"])
        .success()
        .stderr_has("recovered the autosave");
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn autosaves_come_back_with_their_session_however_it_was_deleted() {
    for is_redone in [false, true] {
        let world = saved();
        world.git(["worktree", "add", "-q", "../other"]).success();
        world.file("a", "earlier");
        once(&world);
        // One of an earlier deletion stays where it is.
        world.checkpoint(["delete", "s"]).success();
        world.checkpoint(["start", "t"]).success();
        world.checkpoint(["delete", "t"]).success();
        world.checkpoint(["undelete", "s"]).success();
        world.file("a", "precious");
        once(&world);
        world.enter("other");
        world.checkpoint(["switch", "s"]).success();
        world.file("b", "precious there");
        once(&world);
        world.enter("repo");
        let refs = || {
            let refs = world.git([
                "for-each-ref",
                "--format=%(objectname) %(refname)",
                "refs/checkpoints-autosave/",
            ]);
            refs.stdout().to_owned()
        };
        let before = refs();
        assert_eq!(before.lines().count(), 2);
        world.checkpoint(["delete", "s"]).success();
        if is_redone {
            world.checkpoint(["undo"]).success();
            world.checkpoint(["redo"]).success();
        }
        assert_eq!(refs(), "");
        world.advance(60);
        world.checkpoint(["undelete", "s"]).success();
        assert_eq!(refs(), before);
        world.checkpoint(["undo"]).success();
        assert_eq!(refs(), "");
        world.checkpoint(["redo"]).success();
        assert_eq!(refs(), before);
        std::fs::remove_file(world.path("a")).unwrap();
        world.checkpoint(["resume", "s"]).success();
        assert_eq!(world.git_line(["show", "refs/checkpoints/s^2:a"]), "precious");
    }
}

#[test]
fn an_autosave_older_than_the_latest_save_is_not_offered() {
    let world = saved();
    world.file("a", "1");
    once(&world);
    world.checkpoint(["save", "-m", "later"]).success();
    assert!(world.checkpoint(["resume", "--json"]).success().stdout_json()["autosave"].is_null());
    // Nor in another working tree, whose autosaves are its own.
    world.git(["worktree", "add", "-q", "../other"]).success();
    world.file("a", "2");
    once(&world);
    world.enter("other");
    assert!(world.checkpoint(["resume", "s", "--json"]).success().stdout_json()["autosave"].is_null());
}

#[test]
fn any_moment_is_found_by_time_also_after_gc_and_rename() {
    let world = saved();
    // git forgets old reflog entries by the real clock, so the simulated day lies in the present.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    world.advance(now - 7200 - world.now());
    world
        .checkpoint(["save", "-m", "the day begins", "--allow-empty"])
        .success();
    let mut moments = Vec::new();
    let unique = |n: u64| format!("{n}\n").repeat(20);
    for n in 0..60_u64 {
        // Each command is a second; two commands a turn.
        world.advance(28);
        if n % 3 == 0 {
            world.file("src/main.txt", unique(n));
        }
        let at = world.now();
        let outcome = once(&world)["outcome"].clone();
        assert_eq!(outcome, if n % 3 == 0 { "saved" } else { "unchanged" }, "{n}");
        moments.push((at, n - n % 3));
        world.advance(1);
    }
    world.checkpoint(["rename", "s", "renamed"]).success();
    world.git(["gc", "-q"]).success();
    for (at, n) in moments {
        let selector = format!(
            "renamed@{{{}}}",
            chrono::DateTime::from_timestamp(at.cast_signed() + 1, 0)
                .unwrap()
                .to_rfc3339()
        );
        let shown = world.checkpoint(["show", &selector, "--json"]).success().stdout_json();
        let id = shown["id"].as_str().unwrap();
        assert_eq!(
            world.git_line(["show", &format!("{id}^2:src/main.txt")]),
            unique(n).trim_end(),
            "{selector}"
        );
    }
    let loose = world.git_line(["count-objects"]);
    let loose: usize = loose.split(' ').next().unwrap().parse().unwrap();
    assert!(loose < 100, "{loose} loose objects");
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn a_watcher_saves_what_changes_and_a_last_time_when_asked_to_end() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let world = saved();
        let watcher = Watcher::start(&world, &["--interval", "1s", "--json"]);
        wait_until("it begins", || {
            world.checkpoint(["status", "--json"]).stdout_json()["watch"]["state"]["looked"].is_string()
        });
        world
            .checkpoint(["status"])
            .success()
            .stdout_has("watch")
            .stdout_has("every 1 s");
        world.checkpoint(["watch"]).code(5).stderr_has("already watched");
        world.file("a", "first");
        wait_until("it saves", || !autosave_ref(&world).is_empty());
        world.file("a", "last");
        watcher.signal(signal);
        let (out, code) = watcher.end();
        assert_eq!(code, Some(0), "{out}");
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["ended"], format!("SIG{}", &signal[1..]));
        assert_eq!(
            world.git_line(["show", &format!("{}^2:a", autosave_ref(&world))]),
            "last"
        );
        let status = world.checkpoint(["status", "--json"]).success().stdout_json();
        assert_eq!(
            (&status["watch"]["alive"], &status["current"]["status"]),
            (&false.into(), &"active".into())
        );
    }
}

#[test]
fn a_watcher_ends_with_the_process_it_watches_and_the_session_was_interrupted() {
    let world = saved();
    let mut agent = Command::new("sleep").arg("300").spawn().unwrap();
    let id = agent.id().to_string();
    let watcher = Watcher::start(&world, &["--interval", "1m", "--until-exit", &id, "--json"]);
    wait_until("it begins", || {
        world.checkpoint(["status", "--json"]).stdout_json()["watch"]["state"]["looked"].is_string()
    });
    world.file("a", "of the agent");
    agent.kill().unwrap();
    agent.wait().unwrap();
    let (out, code) = watcher.end();
    assert_eq!(code, Some(0), "{out}");
    world.checkpoint(["list"]).success().stdout_has("interrupted");
    let resumed = world.checkpoint(["resume", "--json"]).success().stdout_json();
    assert_eq!(resumed["interrupted"], true);
    assert!(resumed["recovered"]["id"].is_string());
    assert_eq!(world.git_line(["show", "refs/checkpoints/s^2:a"]), "of the agent");
    world
        .checkpoint(["watch", "--until-exit", &id])
        .code(3)
        .stderr_has("there is no process");
}

#[test]
fn after_a_kill_resume_finds_the_latest_state_and_says_so() {
    let world = saved();
    let watcher = Watcher::start(&world, &["--interval", "1s"]);
    wait_until("it begins", || {
        world.checkpoint(["status", "--json"]).stdout_json()["watch"]["state"]["looked"].is_string()
    });
    world.file("a", "at the end");
    wait_until("it saves", || !autosave_ref(&world).is_empty());
    wait_until("it says so", || {
        world.checkpoint(["status", "--json"]).stdout_json()["watch"]["state"]["saved"].is_object()
    });
    watcher.signal("-KILL");
    drop(watcher);
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("was interrupted")
        .stdout_has("interrupted");
    world
        .checkpoint(["resume"])
        .success()
        .stdout_has("interrupted")
        .stderr_has("recovered the autosave");
    assert_eq!(world.git_line(["show", "refs/checkpoints/s^2:a"]), "at the end");
    world
        .checkpoint(["status"])
        .success()
        .stdout_lacks("was interrupted")
        .stdout_has("active");
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn a_failure_is_told_and_logged_and_a_repository_that_is_gone_ends_it() {
    let world = saved();
    let watcher = Watcher::start(&world, &["--interval", "1s", "--json"]);
    wait_until("it begins", || {
        world.checkpoint(["status", "--json"]).stdout_json()["watch"]["state"]["looked"].is_string()
    });
    // A HEAD that cannot be read makes every save fail.
    let head = world.read(".git/HEAD");
    world.file(".git/HEAD", format!("{}\n", "1".repeat(40)));
    world.file("a", "x");
    wait_until("it fails", || {
        std::fs::read_to_string(world.path(".git/checkpoint/watch.json")).is_ok_and(|text| text.contains("\"message\""))
    });
    world.file(".git/HEAD", head);
    wait_until("it works again", || !autosave_ref(&world).is_empty());
    wait_until("it is logged", || {
        world.checkpoint(["watch", "--once"]).success();
        let full = autosave_ref(&world);
        let log = world.git(["cat-file", "-p", &format!("{full}:log/000000.jsonl")]);
        log.is_success() && log.stdout().contains("autosave failed") && log.stdout().contains("works again")
    });
    std::fs::rename(world.repo(), world.root().join("moved")).unwrap();
    let (out, code) = watcher.end();
    assert_eq!(code, Some(128));
    assert!(out.contains("\"ended\":\"vanished\""), "{out}");
    assert!(!world.repo().exists(), "nothing is made where the repository was");
    std::fs::rename(world.root().join("moved"), world.repo()).unwrap();
    world.checkpoint(["save", "-m", "after"]).success();
}
