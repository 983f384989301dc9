//! Two clones that diverged, brought together in one session.

use super::{at, clone, save, shared};

#[test]
fn two_clones_that_diverged_become_one_session() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    world.file("list.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    world.checkpoint(["task", "add", "tokens"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth"]).success();
    world.checkpoint(["restore", "@"]).success();
    world.file("list.txt", "1\nbob\n3\n4\n5\n6\n7\n8\n9\n");
    world.checkpoint(["task", "done", "tokens"]).success();
    world.checkpoint(["decision", "bob decides"]).success();
    world.advance(60);
    let theirs = save(&world, "bob's");
    world.checkpoint(["push"]).success();

    world.enter("repo");
    world.file("list.txt", "1\n2\n3\n4\n5\n6\n7\nana\n9\n");
    world
        .checkpoint(["message", "add", "--role", "user", "ana says"])
        .success();
    world.advance(60);
    let ours = save(&world, "ana's");
    world.checkpoint(["todo", "add", "not saved yet"]).success();
    let refs = world.git_line(["for-each-ref", "refs/checkpoints"]);
    world
        .checkpoint(["pull", "--merge", "--dry-run"])
        .success()
        .stdout_has("Would merge");
    assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints"]), refs);
    // Without --merge it is offered.
    world
        .checkpoint(["pull", "--dry-run"])
        .success()
        .stdout_has("or be merged with it by 'git checkpoint pull --merge origin auth'");
    world.checkpoint(["pull", "--merge"]).success().stdout_has("Merged");
    // The session continues what others have; what was only here is merged in, and the files of both are here.
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth^"), theirs);
    assert_eq!(
        at(&world, "repo", "refs/checkpoints/auth^3^"),
        ours,
        "what was not saved was saved first"
    );
    assert_eq!(world.read("list.txt"), b"1\nbob\n3\n4\n5\n6\n7\nana\n9\n");
    let record = world
        .git(["show", "checkpoints/auth:checkpoint.json"])
        .success()
        .stdout_json()["record"]
        .clone();
    assert_eq!(record["tasks"][0]["status"], "done");
    assert_eq!(record["todos"][0]["text"], "not saved yet");
    assert_eq!(record["decisions"][0]["text"], "bob decides");
    world.checkpoint(["message", "list"]).success().stdout_has("ana says");
    // Every checkpoint of both is in the log, latest first, and is found by what it says.
    let subjects = |args: &[&str]| -> Vec<String> {
        let log = world.checkpoint(["log", "--oneline"].iter().chain(args).copied());
        let subject = |line: &str| line.split_once(' ').map(|(_, subject)| subject.to_owned());
        log.success().stdout().lines().filter_map(subject).collect()
    };
    let all = subjects(&[]);
    assert_eq!(
        all[1..],
        ["before merging auth", "ana's", "bob's", "one", "start auth"],
        "{all:?}"
    );
    assert_eq!(subjects(&["-n", "3"]), all[..3]);
    world
        .checkpoint(["log", "--graph", "--oneline"])
        .success()
        .stdout_has("ana's")
        .stdout_lacks("ago");
    let json = world.checkpoint(["log", "--json"]).success().stdout_json();
    assert_eq!(json["checkpoints"].as_array().unwrap().len(), all.len());
    world.checkpoint(["show", ":/ana's"]).success();
    world
        .checkpoint(["log", "--", "list.txt"])
        .success()
        .stdout_has("ana's")
        .stdout_has("bob's");
    world.checkpoint(["pull"]).success().stdout_has("Up to date");
    world.checkpoint(["push"]).success();
    world.checkpoint(["remote", "status"]).success();
    world.checkpoint(["verify", "--all"]).success();

    // The other clone simply goes forward, and its next merge has nothing to do.
    world.enter("bob");
    world.checkpoint(["pull"]).success().stdout_has("Pulled");
    assert_eq!(at(&world, "bob", "refs/checkpoints/auth^"), theirs);
    world.checkpoint(["pull", "--merge"]).success().stdout_has("Up to date");
    world.checkpoint(["message", "list"]).success().stdout_has("ana says");
    world.checkpoint(["verify", "--all"]).success();
    world.checkpoint(["log", "--graph"]).success().stdout_has("ana's");

    // Both go on once more, in both directions.
    world.checkpoint(["todo", "add", "of bob"]).success();
    save(&world, "bob again");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.checkpoint(["todo", "add", "of ana"]).success();
    save(&world, "ana again");
    world.checkpoint(["pull", "--merge"]).success();
    let record = world
        .git(["show", "checkpoints/auth:checkpoint.json"])
        .success()
        .stdout_json()["record"]
        .clone();
    let todos: Vec<_> = record["todos"]
        .as_array()
        .unwrap()
        .iter()
        .map(|todo| todo["text"].as_str().unwrap())
        .collect();
    assert_eq!(todos, ["not saved yet", "of bob", "of ana"]);
    world.checkpoint(["push"]).success();
    // Taken back, both stand where they stood.
    world.checkpoint(["purge", "--yes", "--", "list.txt"]).success();
    world.checkpoint(["verify", "--all"]).success();
}

/// A plain pull moved what was only here to a session of its own; `pull --merge` brings that together as well.
#[test]
fn sessions_that_a_pull_separated_are_merged_later() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    world.file("list.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    world.checkpoint(["state", "patch", r#"{"a":1}"#]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth"]).success();
    world.checkpoint(["restore", "@"]).success();
    world.file("list.txt", "1\nbob\n3\n4\n5\n6\n7\n8\n9\n");
    world.checkpoint(["state", "patch", r#"{"a":5}"#]).success();
    world.checkpoint(["todo", "add", "of bob"]).success();
    world.advance(60);
    save(&world, "bob's");
    world.checkpoint(["push"]).success();

    world.enter("repo");
    world.file("list.txt", "1\n2\n3\n4\n5\n6\n7\nana\n9\n");
    world.checkpoint(["state", "patch", r#"{"a":6}"#]).success();
    world.checkpoint(["todo", "add", "of ana"]).success();
    world.advance(60);
    save(&world, "ana's");
    world
        .checkpoint(["pull"])
        .success()
        .stdout_has("merge both: git checkpoint pull --merge origin auth");
    world.checkpoint(["todo", "add", "later"]).success();
    let refs = world.git_line(["for-each-ref", "refs/checkpoints"]);
    world
        .checkpoint(["pull", "--merge", "--dry-run"])
        .success()
        .stdout_has("Would merge");
    assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints"]), refs);
    // With the contradiction of the record, the answer is no.
    let theirs = at(&world, "repo", "refs/checkpoints/auth");
    let refs = || world.git_line(["for-each-ref", "refs/checkpoints", "--format=%(refname) %(objectname)"]);
    let parted = refs();
    let aside = parted
        .lines()
        .find(|line| !line.starts_with("refs/checkpoints/auth "))
        .unwrap();
    let (aside, _) = aside.split_once(' ').unwrap();
    let merged = world.checkpoint(["pull", "--merge", "origin", "auth"]);
    merged
        .code(1)
        .stdout_has("Merged origin/auth")
        .stdout_has(&format!(
            "{} is part of it again",
            aside.trim_start_matches("refs/checkpoints/")
        ))
        .stdout_has("6 here, 5 in origin/auth");
    // One session again: the chain of the remote continues, and the other one goes.
    assert_eq!(refs().lines().count(), 1);
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth^"), theirs);
    let current = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(current["current"]["session"], "auth");
    assert_eq!(world.read("list.txt"), b"1\nbob\n3\n4\n5\n6\n7\nana\n9\n");
    let todos = world.checkpoint(["todo"]);
    todos
        .success()
        .stdout_has("of bob")
        .stdout_has("of ana")
        .stdout_has("later");
    world
        .checkpoint(["conflict"])
        .success()
        .stdout_has("6 here, 5 in origin/auth");
    let json = world.checkpoint(["conflict", "list", "--json"]).success().stdout_json();
    assert_eq!(json["items"][0]["session"], "origin/auth");
    world.checkpoint(["pull", "--merge"]).success().stdout_has("Up to date");
    world.checkpoint(["verify", "--all"]).success();
    // Undone, both sessions are there again, and the files are as they were.
    world.checkpoint(["undo"]).success();
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), theirs);
    assert!(refs().contains(aside));
    let current = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(
        format!("refs/checkpoints/{}", current["current"]["session"].as_str().unwrap()),
        aside
    );
    assert_eq!(world.read("list.txt"), b"1\n2\n3\n4\n5\n6\n7\nana\n9\n");
    world.checkpoint(["redo"]).success();
    assert_eq!(refs().lines().count(), 1);
    world.checkpoint(["conflict", "resolve", "--all", "--theirs"]).success();
    save(&world, "resolved");
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world.checkpoint(["pull"]).success().stdout_has("Pulled");
    world.checkpoint(["verify", "--all"]).success();
}

/// A pull leaves the files as they are. The next save would take back what was pulled: both say so, with the command.
#[test]
fn a_save_after_a_pull_says_what_it_takes_back() {
    let world = shared();
    world.file("a", "1\n");
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth", "--apply"]).success();
    assert_eq!(world.read("a"), b"1\n");

    world.enter("repo");
    world.file("a", "2\n");
    world.file("dir/new one", "new\n");
    let theirs = save(&world, "two");
    world.checkpoint(["push"]).success();
    // Of two pulls as well.
    world.enter("bob");
    world
        .checkpoint(["pull"])
        .success()
        .stderr_has("Your files stay as they are")
        .stderr_has("git checkpoint resume auth --apply");
    world.enter("repo");
    world.file("b", "b\n");
    let latest = save(&world, "three");
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world.checkpoint(["pull"]).success();
    world.file("mine", "mine\n");
    let saved = world.checkpoint(["save", "-m", "mine"]);
    let get = format!("git checkpoint restore {} -- a b 'dir/new one'", &latest[..8]);
    saved
        .success()
        .stderr_has("3 files are as before the pull, so this checkpoint takes pulled changes back")
        .stderr_has(&get);
    // The command does it, and the next save has both.
    let words = ["restore", &latest[..8], "--", "a", "b", "dir/new one"];
    world.checkpoint(words).success();
    assert_eq!(
        (world.read("a"), world.read("dir/new one")),
        (b"2\n".into(), b"new\n".into())
    );
    world.checkpoint(["save", "-m", "both"]).success().no_stderr();
    let changed = world.git_line(["diff", "--name-only", &format!("{latest}^2"), "checkpoints/auth^2"]);
    assert_eq!(changed, "mine");
    assert_ne!(theirs, latest);

    // Whose files are brought up is not warned.
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world
        .checkpoint(["pull"])
        .success()
        .stderr_has("Your files stay as they are");
    world.checkpoint(["resume", "auth", "--apply"]).success();
    world.file("b", "edited\n");
    world.checkpoint(["save", "-m", "four"]).success().stderr_lacks("pull");
    // Nor where a pull changes no file.
    world.checkpoint(["save", "--allow-empty", "-m", "five"]).success();
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world.file("b", "edited\n");
    world.checkpoint(["pull"]).success();
    world
        .checkpoint(["save", "-m", "six", "--allow-empty"])
        .success()
        .stderr_lacks("pull");
}

/// An edit of a file that a pull changed is made from the version before: a save of it would take the pulled change back. That
/// is said, and the command that is named merges both.
#[test]
fn a_save_of_an_edit_from_before_a_pull_says_what_it_takes_back() {
    let world = shared();
    world.file("f", "1\n2\n3\n4\n5\n");
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth", "--apply"]).success();
    world.file("f", "1 BOB\n2\n3\n4\n5\n");
    save(&world, "bob's");
    world.checkpoint(["push"]).success();

    world.enter("repo");
    world.file("f", "1\n2\n3\n4\n5 MINE\n");
    world.checkpoint(["pull"]).success();
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(status["current"]["saved_changes_missing"], 1, "{status}");
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("1 saved change is not in these files; a save would drop it");
    let pulled = at(&world, "repo", "refs/checkpoints/auth");
    let apply = format!("git checkpoint apply {} --index", &pulled[..8]);
    let saved = world.checkpoint(["save", "-m", "mine"]);
    saved
        .success()
        .stderr_has("1 file is without the pulled changes (f), so this checkpoint takes them back")
        .stderr_has(&apply);
    // Before it, the hint of `status` works as well; after it, the one of the save.
    world.checkpoint(["apply", &pulled[..8], "--index"]).success();
    assert_eq!(world.read("f"), b"1 BOB\n2\n3\n4\n5 MINE\n");
    world.checkpoint(["save", "-m", "both"]).success().no_stderr();
    world.checkpoint(["push"]).success();

    // What was merged before the save is not warned of, nor an edit of what was brought.
    world.enter("bob");
    world.file("f", "1 BOB\n2\n3 BOB\n4\n5\n");
    world.checkpoint(["pull"]).success();
    world.checkpoint(["resume", "auth", "--apply"]).success();
    assert_eq!(world.read("f"), b"1 BOB\n2\n3 BOB\n4\n5 MINE\n");
    world.file("f", "1 BOB\n2\n3 BOB\n4\n5 MINE AND BOB'S\n");
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(status["current"]["saved_changes_missing"], 0, "{status}");
    world.checkpoint(["save", "-m", "all"]).success().no_stderr();
    // Nor what has the pulled lines by hand.
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.file("f", "1 BOB\n2 MINE\n3 BOB\n4\n5 MINE AND BOB'S\n");
    world.checkpoint(["pull"]).success();
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(status["current"]["saved_changes_missing"], 0, "{status}");
    world.checkpoint(["save", "-m", "by hand"]).success().no_stderr();
}

/// The same where a session was never in a working tree: an edit of a file that it changed does not have its change.
#[test]
fn a_save_of_an_edit_on_a_session_of_another_clone_says_what_it_drops() {
    let world = shared();
    world.file("f", "1\n2\n3\n4\n5\n");
    world.git(["add", "f"]).success();
    world.git(["commit", "-qm", "f"]).success();
    world.git(["push", "-q", "origin", "HEAD"]).success();
    world.file("f", "1 ANA\n2\n3\n4\n5\n");
    world.file("gone", "1\n");
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.file("f", "1\n2\n3\n4\n5 BOB\n");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth"]).success();
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(status["current"]["saved_changes_missing"], 2, "{status}");
    let tip = at(&world, "bob", "refs/checkpoints/auth");
    world
        .checkpoint(["save", "-m", "bob's"])
        .success()
        .stderr_has("2 saved changes")
        .stderr_has("(f, gone)");
    world.checkpoint(["apply", &tip[..8], "--index"]).success();
    assert_eq!(world.read("f"), b"1 ANA\n2\n3\n4\n5 BOB\n");
    assert_eq!(world.read("gone"), b"1\n");
}

/// What a pull separated may have been pushed meanwhile: the plain merge is the same, and what it leaves on the remote is named
/// with the command that removes it.
#[test]
fn a_separated_session_that_was_pushed_is_merged_and_its_rest_named() {
    for extended in [false, true] {
        let world = shared();
        world.checkpoint(["start", "auth"]).success();
        save(&world, "one");
        world.checkpoint(["push"]).success();
        clone(&world, "bob");
        world.checkpoint(["pull", "origin", "auth"]).success();
        world.checkpoint(["resume", "auth"]).success();
        world.file("b", "work of bob");
        save(&world, "bob");
        world.checkpoint(["push"]).success();
        world.enter("repo");
        world.file("a", "work of ana");
        save(&world, "ana");
        let pulled = world.checkpoint(["pull", "--json"]).success().stdout_json();
        let aside = pulled["tail"].as_str().unwrap().to_owned();
        world.checkpoint(["push"]).success();
        let left = format!("refs/checkpoints/{aside}");
        assert_eq!(at(&world, "hub", &left), at(&world, "repo", &left));
        if extended {
            // What others added to it is not left behind.
            world.enter("bob");
            world.checkpoint(["pull", "origin", &aside]).success();
            world.checkpoint(["switch", &aside]).success();
            save(&world, "more of bob");
            world.checkpoint(["push"]).success();
            world.enter("repo");
            world.checkpoint(["pull", "--merge"]).success().stdout_has("Pulled");
            assert_eq!(at(&world, "hub", &left), at(&world, "repo", &left));
        }
        let merged = world.checkpoint(["pull", "--merge"]);
        let command = format!("git checkpoint remote delete origin/{aside}");
        merged
            .success()
            .stdout_has(&format!("{aside} is part of it again"))
            .stderr_has(&format!(
                "Remote 'origin' still has {aside}; to remove that once auth is pushed: {command}\n"
            ));
        assert_eq!(at(&world, "repo", &left), "");
        assert!(world.path("a").exists() && world.path("b").exists());
        world.checkpoint(["push", "origin", "auth"]).success();
        world.typed(&command).success();
        let refs = world.git([
            "-C",
            "../hub",
            "for-each-ref",
            "--format=%(refname)",
            "refs/checkpoints",
        ]);
        refs.success().stdout_is("refs/checkpoints/auth\n");
        let all = world.git(["log", "--format=%s", "refs/checkpoints/auth"]);
        let is_in = all.success().stdout().lines().any(|line| line == "more of bob");
        assert_eq!(is_in, extended);
        world.checkpoint(["pull", "--merge"]).success().stdout_has("Up to date");
    }
}
