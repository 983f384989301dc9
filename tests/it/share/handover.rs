//! A session handed over and back, and what is reported on the way.

use std::fs;

#[cfg(feature = "encryption")]
use super::encrypted;
use super::{at, clone, log, no_quarantine, save, shared};
use crate::support::World;

/// In a clone where the branch was never checked out nothing was deleted.
#[test]
fn a_branch_that_only_the_remote_has_was_not_deleted() {
    let world = shared();
    for (branch, is_pushed) in [("topic", true), ("local", false)] {
        world.git(["switch", "-qc", branch]).success();
        world.file("src/main.txt", format!("one\n{branch}\nthree\n"));
        world.git(["commit", "-qam", branch]).success();
        if is_pushed {
            world.git(["push", "-qu", "origin", branch]).success();
        }
        world.checkpoint(["save", "-m", branch]).success();
        world.checkpoint(["pause"]).success();
        world.checkpoint(["push"]).success();
        world.git(["switch", "-q", "main"]).success();
    }
    clone(&world, "bob");
    world.checkpoint(["fetch"]).success();
    world
        .checkpoint(["resume", "origin/topic"])
        .success()
        .stdout_has("topic is only on the remote, as origin/topic")
        .stdout_lacks("was deleted")
        .stdout_lacks("upstream is now");
    world
        .checkpoint(["resume", "origin/local"])
        .success()
        .stdout_has("local does not exist here")
        .stdout_lacks("was deleted")
        .stdout_lacks("upstream is now");
    world.git(["switch", "-q", "topic"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.git(["update-ref", "-d", "refs/remotes/origin/topic"]).success();
    world.git(["branch", "-qD", "topic"]).success();
    world
        .checkpoint(["resume", "topic"])
        .success()
        .stdout_has("topic was deleted");
}

#[test]
fn a_session_goes_to_another_clone_and_comes_back() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    world.file("src/main.txt", "one\nTWO\nthree\n");
    world.file("new.txt", "new\n");
    let first = save(&world, "parser done");
    let before = world.fingerprint();
    world
        .checkpoint(["push"])
        .success()
        .stdout_has("Pushed auth")
        .stdout_has("new, 2 checkpoints")
        .stdout_lacks("of your history");
    assert_eq!(before, world.fingerprint());
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), first);
    world.checkpoint(["push"]).success().stdout_has("Up to date");

    // Another person's clone knows nothing of it until it fetches.
    clone(&world, "bob");
    world
        .checkpoint(["resume"])
        .code(3)
        .stderr_has("git checkpoint fetch origin");
    world
        .checkpoint(["resume", "origin/auth"])
        .code(3)
        .stderr_has("git checkpoint pull origin auth");
    let before = world.fingerprint();
    world
        .checkpoint(["fetch", "--dry-run"])
        .success()
        .stdout_has("2 checkpoints")
        .stdout_has("Dry run: nothing was changed.");
    world
        .checkpoint(["pull", "origin", "auth", "--dry-run"])
        .success()
        .stdout_has("Would pull auth, new, 2 checkpoints");
    world
        .git(["for-each-ref", "refs/checkpoints*", "refs/checkpoints-remote"])
        .success()
        .no_stdout();
    world
        .checkpoint(["fetch"])
        .success()
        .stdout_has("auth")
        .stdout_has("2 checkpoints");
    assert_eq!(before, world.fingerprint());
    no_quarantine(&world);
    assert!(!world.path(".git/FETCH_HEAD").exists());
    world.checkpoint(["fetch"]).success().stdout_has("Nothing new");
    world.checkpoint(["list"]).success().stdout_lacks("auth");
    world.checkpoint(["list", "-r"]).success().stdout_has("origin/auth");
    world.checkpoint(["list", "-a"]).success().stdout_has("origin/auth");
    world
        .checkpoint(["show", "origin/auth"])
        .success()
        .stdout_has("from remote origin");
    world
        .checkpoint(["show", "origin/auth~1"])
        .success()
        .stdout_has("Kind:      start");
    assert_eq!(log(&world, "origin/auth"), ["parser done", "start auth"]);
    world
        .checkpoint(["resume"])
        .code(3)
        .stderr_has("git checkpoint resume origin/auth");
    let resumed = world
        .checkpoint(["resume", "origin/auth", "--json"])
        .success()
        .stdout_json();
    assert_eq!(resumed["fetched_from"], serde_json::json!(["origin"]));
    world
        .checkpoint(["resume", "--format", "prompt"])
        .success()
        .stdout_has("came from remote 'origin'");
    world.checkpoint(["apply", "@"]).success();
    assert_eq!(world.read("new.txt"), b"new\n");
    world.file("new.txt", "newer\n");
    world
        .command(
            crate::support::PROGRAM,
            ["save", "-m", "tests green", "--push", "--json"],
        )
        .env("GIT_AUTHOR_NAME", "Bob Builder")
        .run()
        .success();
    let second = at(&world, "bob", "refs/checkpoints/auth");
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), second);

    world.enter("repo");
    world
        .checkpoint(["pull", "--dry-run"])
        .success()
        .stdout_has("Would pull auth, 1 checkpoint");
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), first);
    world
        .checkpoint(["pull"])
        .success()
        .stdout_has("1 checkpoint")
        .stdout_has("Bob Builder");
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), second);
    assert_eq!(log(&world, "auth"), ["tests green", "parser done", "start auth"]);
    world.checkpoint(["pull"]).success().stdout_has("Up to date");
    world.checkpoint(["undo"]).success();
    assert_eq!(at(&world, "repo", "refs/checkpoints/auth"), first);
    world.checkpoint(["pull"]).success();
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict", "--no-dangling"]).success();
}

#[test]
fn what_a_colleague_added_to_my_files_is_no_conflict() {
    // How the files of mine are when the session comes back: as saved, edited since elsewhere, or gone by hand.
    for case in ["same", "edited", "gone"] {
        let world = shared();
        world.git(["switch", "-q", "-c", "pay"]).success();
        world.file("pay.py", "a\nb\nc\nd\n");
        world.file("src/main.txt", "mine\n");
        world.file("only-mine", "mine\n");
        world.checkpoint(["pause", "-m", "handing over"]).success();
        world.checkpoint(["push"]).success();
        clone(&world, "colleague");
        world.checkpoint(["pull", "origin"]).success();
        world.checkpoint(["resume", "--apply"]).success();
        world.file("pay.py", "a\nb\nc\nd\nmore\n");
        world.file("src/main.txt", "mine\nand theirs\n");
        world.file("theirs", "new\n");
        fs::remove_file(world.path("only-mine")).unwrap();
        save(&world, "wired");
        world.checkpoint(["push"]).success();
        world.enter("repo");
        let mut paid = "a\nb\nc\nd\nmore\n";
        match case {
            "edited" => {
                world.file("pay.py", "first\na\nb\nc\nd\n");
                paid = "first\na\nb\nc\nd\nmore\n";
            }
            "gone" => {
                world.git(["checkout", "-q", "src/main.txt"]).success();
                fs::remove_file(world.path("pay.py")).unwrap();
            }
            _ => {}
        }
        world.checkpoint(["pull", "origin"]).success();
        world.checkpoint(["resume", "--apply"]).success();
        assert_eq!(world.read("pay.py"), paid.as_bytes(), "{case}");
        assert_eq!(world.read("src/main.txt"), b"mine\nand theirs\n", "{case}");
        assert_eq!(world.read("theirs"), b"new\n", "{case}");
        assert!(!world.path("only-mine").exists(), "{case}");
        assert_eq!(world.git_line(["ls-files", "-u"]), "", "{case}");
    }
}

#[test]
fn what_else_goes_is_told_and_only_the_session_goes() {
    let world = shared();
    world.file("local.txt", "mine\n");
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "not pushed yet"]).success();
    world.git(["tag", "-a", "-m", "tag", "v1"]).success();
    world.git(["config", "push.followTags", "true"]).success();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world
        .checkpoint(["push", "--dry-run"])
        .success()
        .stdout_has("Would also upload 1 commit")
        .stdout_has("not pushed yet")
        .stdout_has("Would push auth");
    assert_eq!(at(&world, "hub", "refs/checkpoints/auth"), "");
    world
        .checkpoint(["push"])
        .success()
        .stdout_has("Also uploaded 1 commit of your history");
    let hub = world.root().join("hub");
    let refs = world.git_line(["-C", hub.to_str().unwrap(), "for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/checkpoints/auth\nrefs/heads/main");
    // What went once is not reported again.
    world.file("local.txt", "changed\n");
    save(&world, "two");
    world
        .checkpoint(["push"])
        .success()
        .stdout_lacks("history")
        .stdout_has("1 checkpoint");
    let json = world.checkpoint(["push", "--all", "--json"]).success().stdout_json();
    assert_eq!(json["sessions"][0]["result"], "up-to-date");
}

#[test]
fn three_clones_work_on_two_sessions() {
    let world = shared();
    for (name, session) in [("one", "auth"), ("two", "docs")] {
        clone(&world, name);
        world.checkpoint(["start", session]).success();
        save(&world, &format!("{session} begun"));
        world.checkpoint(["push"]).success();
    }
    clone(&world, "three");
    world.checkpoint(["fetch"]).success();
    for session in ["auth", "docs"] {
        world.checkpoint(["resume", &format!("origin/{session}")]).success();
        save(&world, &format!("{session} by three"));
    }
    world
        .checkpoint(["remote", "status"])
        .success()
        .stdout_has("not pushed, 1 checkpoint");
    world
        .checkpoint(["push", "--all"])
        .success()
        .stdout_has("auth")
        .stdout_has("docs");
    world.enter("one");
    world.checkpoint(["pull"]).success();
    world.checkpoint(["fetch"]).success().stdout_has("docs");
    assert_eq!(log(&world, "auth"), ["auth by three", "auth begun", "start auth"]);
    let status = world.checkpoint(["remote", "status", "--json"]).success().stdout_json();
    let sessions = status["remotes"][0]["sessions"].as_array().unwrap();
    assert_eq!(sessions[0]["state"], "up-to-date");
    assert_eq!(sessions[1]["state"], "only-there");
}

#[test]
fn a_fork_goes_with_its_source_and_can_be_gone_on_with() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["fork", "@", "--name", "try"]).success();
    save(&world, "in the fork");
    world.checkpoint(["push", "origin", "try"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin/try"]).success();
    assert_eq!(log(&world, "try").first().map(String::as_str), Some("in the fork"));
    world.checkpoint(["resume", "try"]).success();
    save(&world, "more");
    world.checkpoint(["push"]).success();
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn completion_knows_remotes_and_fetched_sessions() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    world.checkpoint(["push"]).success();
    let complete = |words: &[&str]| {
        let index = words.len().to_string();
        let line = [&["setup", "--candidates", &index, "--", "git-checkpoint"], words].concat();
        world.checkpoint(line).success().stdout().to_owned()
    };
    assert!(complete(&["push", ""]).starts_with("origin\t../hub\n"));
    assert!(complete(&["push", "origin", "a"]).starts_with("auth\t"));
    assert!(complete(&["pull", "origin", ""]).starts_with("auth\t"));
    assert!(complete(&["show", "origin/"]).starts_with("origin/auth\t"));
    assert!(!complete(&["push", "origin", "o"]).contains("origin/auth"));
    world.checkpoint(["show", "origin/auth"]).success();
}

#[test]
fn save_pushes_when_asked_and_saves_in_any_case() {
    let world = shared();
    world.file("a.txt", "a\n");
    let receipt = world
        .checkpoint(["save", "-m", "one", "--push", "--json"])
        .success()
        .stdout_json();
    assert_eq!(receipt["push"]["sessions"][0]["result"], "new");
    let name = format!("refs/checkpoints/{}", receipt["session"].as_str().unwrap());
    assert_eq!(at(&world, "hub", &name), receipt["id"].as_str().unwrap());
    world.git(["remote", "set-url", "origin", "../nowhere"]).success();
    world.file("a.txt", "b\n");
    let output = world.checkpoint(["save", "-m", "two", "--push", "--json"]);
    let receipt = output.code(128).stdout_json();
    assert_eq!(
        (&receipt["outcome"], &receipt["push"]),
        (&"saved".into(), &serde_json::Value::Null)
    );
    output.stderr_has("cannot talk to remote 'origin'");
    assert_eq!(at(&world, "repo", &name), receipt["id"].as_str().unwrap());
}

#[test]
fn autosaves_go_when_asked_under_the_name_of_the_machine() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    let id = save(&world, "one");
    let document = world
        .git(["show", &format!("{id}:checkpoint.json")])
        .success()
        .stdout_json();
    let session = document["session"]["id"].as_str().unwrap();
    let name = format!("refs/checkpoints-autosave/{session}/main");
    world.git(["update-ref", &name, &id]).success();
    world.checkpoint(["push"]).success();
    let hub = world.root().join("hub");
    let refs = || {
        let line = [
            "-C",
            hub.to_str().unwrap(),
            "for-each-ref",
            "--format=%(refname)",
            "refs/checkpoints-autosave",
        ];
        world.git_line(line)
    };
    assert_eq!(refs(), "");
    world
        .checkpoint(["push", "--autosaves"])
        .success()
        .stdout_has("1 autosave pushed");
    assert!(refs().starts_with(&format!("{name}.")), "{}", refs());
    // A later one takes the place of what came from here, and of nothing else.
    let own = refs();
    let push = || {
        let later = save(&world, "later");
        world.git(["update-ref", &name, &later]).success();
        world.checkpoint(["push", "--autosaves"]).success();
        later
    };
    let later = push();
    assert_eq!(refs(), own);
    assert_eq!(at(&world, "hub", &own), later);
    let other = world.git_line([
        "-C",
        "../hub",
        "commit-tree",
        "-m",
        "of a namesake",
        &format!("{later}^{{tree}}"),
    ]);
    world.git(["-C", "../hub", "update-ref", &own, &other]).success();
    let third = push();
    assert_eq!(
        at(&world, "hub", &own),
        other,
        "what another machine of this name pushed"
    );
    assert_eq!(at(&world, "hub", &format!("{own}-2")), third);
    let fourth = push();
    assert_eq!(at(&world, "hub", &own), other);
    assert_eq!(at(&world, "hub", &format!("{own}-2")), fourth);
}

#[test]
fn what_a_refused_push_fetched_is_told_by_fetch() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push", "origin", "auth"]).success();
    clone(&world, "other");
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["resume", "origin/auth"]).success();
    save(&world, "theirs");
    world.checkpoint(["push", "origin", "auth"]).success();
    world.enter("repo");
    world.file("src/main.txt", "mine\n");
    save(&world, "mine");
    assert!(!world.checkpoint(["push", "origin", "auth"]).is_success());
    world
        .checkpoint(["fetch"])
        .success()
        .stdout_has("  pending   auth  1 checkpoint fetched earlier, not in yours yet:\n              git checkpoint pull origin auth\n");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["fetch"]).success().stdout_lacks("waits");
}

#[test]
fn notes_on_commits_go_along_and_nobodys_are_replaced() {
    let world = shared();
    let start = |session: &str| {
        world.git(["config", "checkpoint.commitNotes", "on"]).success();
        world.checkpoint(["start", session]).success();
        world.checkpoint(["hooks", "install"]).success();
        world.file(session, session);
        world.git(["add", session]).success();
        world.git(["commit", "--quiet", "-m", session]).success();
    };
    start("one");
    world.checkpoint(["push"]).success();
    let ours = world.git_line(["rev-parse", "refs/notes/checkpoints"]);
    assert_eq!(at(&world, "hub", "refs/notes/checkpoints"), ours);
    clone(&world, "other");
    start("two");
    world.checkpoint(["push"]).success();
    world.checkpoint(["push"]).success();
    let count = world
        .git_line(["-C", "../hub", "notes", "--ref=checkpoints", "list"])
        .lines()
        .count();
    assert_eq!(count, 2, "both");
    assert_eq!(world.git_line(["for-each-ref", "refs/notes"]).lines().count(), 1);
    // A secret in one stops the push as any other.
    let token = ["glpat-", "q7Zs2Lx9Rw4Tb8Nd1Kf6"].concat();
    world
        .git(["notes", "--ref=checkpoints", "append", "-m", &token])
        .success();
    world.checkpoint(["push"]).code(4).stderr_has("notes on commits");
    world.git(["config", "checkpoint.commitNotes", "off"]).success();
    world.checkpoint(["push"]).success();
}

#[test]
fn an_automatic_name_gives_way_to_the_one_on_the_remote() {
    let world = shared();
    clone(&world, "bob");
    let theirs = save(&world, "bob's own");
    world.checkpoint(["push", "origin", "main"]).success();
    world.enter("repo");
    let ours = save(&world, "ana's own");
    let planned = world.checkpoint(["push", "--dry-run"]);
    planned.success().stdout_has("Would rename session main to main-");
    assert_eq!(at(&world, "repo", "refs/checkpoints/main"), ours);
    let pushed = world.checkpoint(["push"]);
    pushed
        .success()
        .stdout_has("Renamed session main to main-")
        .stdout_has("another session of that name")
        .stdout_has("\n  the one on origin: git checkpoint resume origin/main\n");
    let name = world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints"]);
    assert!(name.starts_with("main-") && !name.contains('\n'), "{name}");
    assert_eq!(at(&world, "hub", &format!("refs/checkpoints/{name}")), ours);
    assert_eq!(at(&world, "hub", "refs/checkpoints/main"), theirs);
    world.checkpoint(["resume", "main"]).success().stderr_has(&format!(
        "'main' is your session '{name}' here; the one on origin: git checkpoint resume origin/main"
    ));
    // It is still the current session of the branch, and the other one can be pulled next to it.
    save(&world, "ana continues");
    assert_eq!(log(&world, &name)[0], "ana continues");
    world.checkpoint(["push"]).success().stdout_lacks("Renamed");
    world.checkpoint(["pull", "origin", "main"]).success();
    assert_eq!(at(&world, "repo", "refs/checkpoints/main"), theirs);
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn a_session_is_deleted_on_a_remote_as_it_was_last_seen() {
    let world = shared();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world
        .checkpoint(["delete", "--remote", "origin", "main"])
        .code(4)
        .stderr_has("it was not fetched yet")
        .stderr_has("git checkpoint fetch origin");
    world
        .checkpoint(["delete", "--remote", "origin", "none"])
        .code(3)
        .stderr_has("has no session");
    world.checkpoint(["fetch"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("origin/main, not resumed here");
    // Somebody pushes meanwhile.
    world.enter("repo");
    let two = save(&world, "two");
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world
        .checkpoint(["delete", "--remote", "origin", "main"])
        .code(4)
        .stderr_has("not what was last fetched");
    assert_eq!(at(&world, "hub", "refs/checkpoints/main"), two);
    world.checkpoint(["fetch"]).success();
    let planned = world.checkpoint(["delete", "--remote", "origin", "main", "-n"]);
    planned.success().stdout_has("Would delete session main on origin");
    assert_eq!(at(&world, "hub", "refs/checkpoints/main"), two);
    let deleted = world.checkpoint(["delete", "--remote", "origin", "origin/main"]);
    deleted
        .success()
        .stdout_has("Deleted session main on origin")
        .stdout_has("in the local trash");
    assert_eq!(at(&world, "hub", "refs/checkpoints/main"), "");
    world.checkpoint(["list"]).success().stdout_lacks("origin/main");
    world.checkpoint(["undelete", "main"]).success();
    assert_eq!(at(&world, "bob", "refs/checkpoints/main"), two);
    // The session of the one who pushed it stays, and can be pushed again.
    world.enter("repo");
    assert_eq!(at(&world, "repo", "refs/checkpoints/main"), two);
    world
        .checkpoint(["push"])
        .code(4)
        .stderr_has("session 'main' was deleted on remote 'origin'")
        .stderr_has("git checkpoint push origin main --force");
    assert_eq!(at(&world, "hub", "refs/checkpoints/main"), "");
    world.checkpoint(["push", "origin", "main", "--force"]).success();
    assert_eq!(at(&world, "hub", "refs/checkpoints/main"), two);
    world
        .checkpoint(["delete", "--remote", "origin", "main"])
        .success()
        .stdout_has("the local one stays");
}

/// To resume a fetched session leaves the user's own session of that name as it is: the fetched one gets another name.
#[test]
fn a_fetched_session_gives_way_to_the_own_one_of_its_name() {
    let world = shared();
    clone(&world, "bob");
    let theirs = save(&world, "bob's own");
    world.checkpoint(["push", "origin", "main"]).success();
    world.enter("repo");
    let ours = save(&world, "ana's own");
    world.checkpoint(["fetch"]).success();
    world
        .checkpoint(["resume", "origin/main"])
        .success()
        .stderr_has("'main' is your session here; the one on origin is 'main-origin'")
        .stdout_has("bob's own");
    assert_eq!(at(&world, "repo", "refs/checkpoints/main"), ours);
    assert_eq!(at(&world, "repo", "refs/checkpoints/main-origin"), theirs);
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(status["current"]["session"], "main-origin");
    // It is brought up to date under that name.
    world.enter("bob");
    let later = save(&world, "bob goes on");
    world.checkpoint(["push", "origin", "main"]).success();
    world.enter("repo");
    world.checkpoint(["switch", "main"]).success();
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["resume", "origin/main"]).success();
    assert_eq!(at(&world, "repo", "refs/checkpoints/main-origin"), later);
    let all = world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints"]);
    assert_eq!(all, "main\nmain-origin");
    // The own one is there to continue.
    world.checkpoint(["switch", "main"]).success();
    assert_eq!(log(&world, "main")[0], "ana's own");
    world.checkpoint(["verify", "--all"]).success();
}

/// Who has no key is not given the message of an earlier checkpoint for that of one that cannot be read.
#[cfg(feature = "encryption")]
#[test]
fn without_a_key_nothing_is_said_of_a_message_that_cannot_be_read() {
    let world = shared();
    let ana = encrypted::key(&world, "ana");
    encrypted::key(&world, "eve");
    encrypted::be(&world, "ana");
    save(&world, "plain one");
    encrypted::set(&world, "checkpoint.encryptTo", &ana);
    world.file("x", "x\n");
    save(&world, "secret two");
    world.checkpoint(["status"]).success().stdout_has("secret two");
    encrypted::be(&world, "eve");
    world
        .checkpoint(["resume"])
        .success()
        .stdout_has("plain one")
        .stdout_has("this checkpoint's is encrypted")
        .stdout_lacks("has no message");
    let subject = world.git_line(["log", "-1", "--format=%s", "refs/checkpoints/main"]);
    world
        .checkpoint(["status"])
        .success()
        .stdout_has(&subject)
        .stdout_lacks("start main");
}

/// Both went on: the command that the import of a bundle prints works as it is, without a remote.
#[test]
fn sessions_that_diverged_over_a_bundle_are_merged_by_the_printed_command() {
    let world = World::with_commit();
    world
        .checkpoint(["save", "--session", "s", "-m", "one", "--allow-empty"])
        .success();
    world.checkpoint(["bundle", "../first.bundle"]).success();
    world.git(["clone", "-q", ".", "../other"]).success();
    world.enter("other");
    world.checkpoint(["unbundle", "../first.bundle"]).success();
    world.checkpoint(["resume", "s", "--apply"]).success();
    world.file("mine", "m\n");
    world.checkpoint(["save", "-m", "mine"]).success();
    world.enter("repo");
    world.file("theirs", "t\n");
    world.checkpoint(["save", "-m", "theirs"]).success();
    world.checkpoint(["bundle", "../second.bundle"]).success();
    world.enter("other");
    let opened = world.checkpoint(["unbundle", "../second.bundle"]);
    let (_, command) = opened.success().stdout().split_once("merge both: ").unwrap();
    world.typed(command.lines().next().unwrap()).success();
    let tip = world.git_line(["rev-parse", "refs/checkpoints/s"]);
    let tail = command.lines().next().unwrap().rsplit_once(' ').unwrap().1.to_owned();
    world
        .git(["merge-base", "--is-ancestor", &tip, &format!("refs/checkpoints/{tail}")])
        .success();
}
