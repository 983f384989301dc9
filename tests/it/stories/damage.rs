//! Promise 8: unreadable is not absent. Damage is named with its checkpoint and its remedy, and the rest stays usable.

use std::{fs, path::PathBuf};

use crate::support::World;

/// A world with two sessions of three checkpoints each, their objects loose so that they can be damaged one by one.
fn two_sessions() -> World {
    let world = World::with_commit();
    for session in ["good", "bad"] {
        world.checkpoint(["start", session]).success();
        for n in ["one", "two"] {
            world.file("n.txt", format!("{session} {n}\n"));
            world.checkpoint(["save", "-m", n]).success();
        }
    }
    world.command("sh", ["-c", "mkdir ../p && mv .git/objects/pack/*.pack ../p && rm .git/objects/pack/* && for p in ../p/*; do git unpack-objects -q < $p; done"]).run().success();
    world
}

fn loose(world: &World, rev: &str) -> PathBuf {
    let id = world.git_line(["rev-parse", rev]);
    world.path(format!(".git/objects/{}/{}", &id[..2], &id[2..]))
}

fn replace(path: &PathBuf, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

fn verify(world: &World) -> serde_json::Value {
    world.checkpoint(["verify", "--all", "--json"]).code(1).stdout_json()
}

#[test]
fn a_whole_repository_is_whole() {
    let world = two_sessions();
    let report = world.checkpoint(["verify", "--all", "--json"]).success().stdout_json();
    assert_eq!(
        (&report["valid"], report["checkpoints"].as_u64()),
        (&true.into(), Some(6))
    );
}

#[test]
fn missing_and_corrupt_objects_are_named_with_their_path() {
    for (what, damage) in [
        ("missing", None),
        ("corrupt", Some(&b"garbage"[..])),
        ("corrupt", Some(&b""[..])),
    ] {
        let world = two_sessions();
        let blob = loose(&world, "refs/checkpoints/bad^2:n.txt");
        match damage {
            None => fs::remove_file(&blob).unwrap(),
            Some(bytes) => replace(&blob, bytes),
        }
        let report = verify(&world);
        let issue = &report["issues"][0];
        assert_eq!(
            (issue["session"].as_str(), issue["path"].as_str()),
            (Some("bad"), Some("n.txt")),
            "{report}"
        );
        assert_eq!(issue["problem"], what, "{report}");
        assert_eq!(
            issue["checkpoint"].as_str(),
            Some(world.git_line(["rev-parse", "refs/checkpoints/bad"]).as_str())
        );
        assert_eq!(
            issue["newest_good"].as_str(),
            Some(world.git_line(["rev-parse", "refs/checkpoints/bad~1"]).as_str())
        );
        assert_eq!(report["recoverable"], true);
        world.checkpoint(["verify", "good"]).success();
    }
}

#[test]
fn a_document_that_was_changed_is_found_by_its_digest() {
    let world = two_sessions();
    // A new commit with the old message and another document, as somebody would forge it.
    let script = "
        set -e
        doc=$(git show refs/checkpoints/bad:checkpoint.json | sed 's/\"two\"/\"2\"/' | git hash-object -w --stdin)
        tree=$(git ls-tree refs/checkpoints/bad | sed \"s/[0-9a-f]\\{40\\}\\tcheckpoint.json/$doc\\tcheckpoint.json/\" | git mktree)
        new=$(git log -1 --format=%B refs/checkpoints/bad | git commit-tree $tree -p refs/checkpoints/bad^1 -p refs/checkpoints/bad^2)
        git update-ref refs/checkpoints/bad $new";
    world.command("sh", ["-c", script]).run().success();
    let report = verify(&world);
    assert_eq!(report["issues"][0]["problem"], "digest", "{report}");
    world
        .checkpoint(["show", "bad"])
        .code(128)
        .stderr_has("does not match its digest")
        .stderr_has("git checkpoint verify bad");
    world
        .checkpoint(["save", "--session", "bad"])
        .code(128)
        .stderr_has("does not match its digest");
    world
        .checkpoint(["resume", "bad"])
        .success()
        .stderr_has("is damaged")
        .stderr_has("1 checkpoint skipped");
    world
        .checkpoint(["list"])
        .success()
        .stdout_has("good")
        .stdout_has("bad");
}

#[test]
fn refs_that_are_empty_garbage_or_dangling() {
    for bytes in ["", "garbage\n", "1234567890123456789012345678901234567890\n"] {
        let world = two_sessions();
        let good = world.git_line(["rev-parse", "refs/checkpoints/bad"]);
        fs::write(world.path(".git/refs/checkpoints/bad"), bytes).unwrap();
        world
            .checkpoint(["list"])
            .success()
            .stdout_has("damaged")
            .stdout_has("good");
        let report = verify(&world);
        assert_eq!(report["issues"][0]["session"], "bad", "{bytes:?} {report}");
        assert!(
            report["issues"][0]["fix"]
                .as_str()
                .unwrap()
                .contains("git checkpoint repair bad"),
            "{report}"
        );
        assert_eq!(report["issues"][0]["newest_good"].as_str(), Some(good.as_str()));
        world
            .checkpoint(["save", "--session", "bad", "-m", "x"])
            .code(128)
            .stderr_has("refs/checkpoints/bad");
        assert_eq!(
            fs::read_to_string(world.path(".git/refs/checkpoints/bad")).unwrap(),
            bytes,
            "left as it was"
        );
        world.checkpoint(["save", "--session", "good", "-m", "x"]).success();
    }
}

#[test]
fn a_newer_format_is_refused_and_not_called_damage() {
    let world = two_sessions();
    let script = "
        set -e
        git show refs/checkpoints/bad:checkpoint.json | sed 's,git-checkpoint/1,git-checkpoint/2,' > ../doc
        digest=$(sha256sum < ../doc | cut -d' ' -f1)
        doc=$(git hash-object -w ../doc)
        tree=$(git ls-tree refs/checkpoints/bad | sed \"s/[0-9a-f]\\{40\\}\\tcheckpoint.json/$doc\\tcheckpoint.json/\" | git mktree)
        new=$(printf 'later\\n\\nCheckpoint-Digest: sha256:%s\\n' $digest | git commit-tree $tree -p refs/checkpoints/bad)
        git update-ref refs/checkpoints/bad $new";
    world.command("sh", ["-c", script]).run().success();
    for args in [
        vec!["show", "bad"],
        vec!["resume", "bad"],
        vec!["save", "--session", "bad"],
    ] {
        world
            .checkpoint(args)
            .code(128)
            .stderr_has("format version 2, newer than")
            .stderr_has("update this one");
    }
    world.checkpoint(["show", "bad~1"]).success();
}

#[test]
fn what_may_not_be_read_is_not_absent() {
    let world = two_sessions();
    let directory = world.path(".git/refs/checkpoints");
    fs::set_permissions(&directory, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    fs::set_permissions(world.root(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let list = crate::support::as_nobody(&world, ["list"]);
    fs::set_permissions(&directory, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    if let Some(list) = list {
        list.code(128).stderr_has("ermission denied").no_stdout();
    }
}

#[test]
fn repair_goes_on_from_the_latest_whole_checkpoint() {
    let world = two_sessions();
    let (tip, before) = (
        world.git_line(["rev-parse", "refs/checkpoints/bad"]),
        world.git_line(["rev-parse", "refs/checkpoints/bad~1"]),
    );
    fs::remove_file(loose(&world, "refs/checkpoints/bad:checkpoint.json")).unwrap();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("damaged")
        .stdout_has("git checkpoint repair bad");
    world
        .checkpoint(["repair", "--dry-run"])
        .success()
        .stdout_has("Would set bad");
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/bad"]), tip);
    let repaired = world.checkpoint(["repair", "--json"]).success().stdout_json();
    assert_eq!(
        repaired["sessions"][0]["now"].as_str(),
        Some(before.as_str()),
        "{repaired}"
    );
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/bad"]), before);
    let kept = repaired["sessions"][0]["kept"].as_str().unwrap();
    assert_eq!(world.git_line(["rev-parse", kept]), tip);
    world.checkpoint(["save", "--session", "bad", "-m", "on"]).success();
    world.checkpoint(["repair"]).success().stdout_has("No damage found.");

    let good = world.git_line(["rev-parse", "refs/checkpoints/bad"]);
    fs::write(world.path(".git/refs/checkpoints/bad"), "").unwrap();
    world.checkpoint(["repair", "bad"]).success().stdout_has("quarantine");
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/bad"]), good);
}

#[test]
fn a_repair_that_was_killed_does_not_take_the_last_line_of_the_reflog_along() {
    let world = two_sessions();
    let tip = world.git_line(["rev-parse", "refs/checkpoints/bad"]);
    // Killed with the lock in its hands, before it wrote its line: what the ref is to be is what the last line says.
    fs::write(world.path(".git/refs/checkpoints/bad"), "").unwrap();
    let note = world.path(".git/checkpoint/swap/refs%2fcheckpoints%2fbad");
    fs::write(&note, format!("{tip}\n")).unwrap();
    fs::hard_link(&note, world.path(".git/refs/checkpoints/bad.lock")).unwrap();
    world.checkpoint(["repair"]).success();
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/bad"]), tip);
    assert!(!note.exists() && !world.path(".git/refs/checkpoints/bad.lock").exists());
}

#[test]
fn damage_that_checkpoints_share_is_told_of_each() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.file("n.txt", "shared\n");
    world.checkpoint(["save", "-m", "one"]).success();
    world.checkpoint(["save", "-m", "two", "-d", "same files"]).success();
    world.command("sh", ["-c", "mkdir ../p && mv .git/objects/pack/*.pack ../p && rm .git/objects/pack/* && for p in ../p/*; do git unpack-objects -q < $p; done"]).run().success();
    fs::remove_file(loose(&world, "refs/checkpoints/s^2:n.txt")).unwrap();
    let report = verify(&world);
    assert_eq!(report["issues"].as_array().unwrap().len(), 2, "{report}");
    let start = world.git_line(["rev-parse", "refs/checkpoints/s~2"]);
    assert_eq!(report["issues"][0]["newest_good"].as_str(), Some(start.as_str()));
}

#[test]
fn a_damaged_session_is_not_passed_over_in_silence() {
    let world = World::with_commit();
    world.checkpoint(["save", "--session", "s", "-m", "x"]).success();
    world.checkpoint(["pause"]).success();
    fs::write(world.path(".git/refs/checkpoints/s"), "").unwrap();
    world
        .checkpoint(["resume"])
        .code(128)
        .stderr_has("damaged: s")
        .stderr_has("git checkpoint repair");
    world
        .checkpoint(["save"])
        .success()
        .stderr_has("session 's' is damaged and was skipped");
}

#[test]
fn a_note_of_the_current_session_that_makes_no_sense() {
    let world = World::with_commit();
    world.checkpoint(["save", "--session", "s", "-m", "x"]).success();
    fs::write(world.path(".git/checkpoint/current"), "lorem").unwrap();
    world.checkpoint(["list"]).success().stdout_has("s ");
    world
        .checkpoint(["status"])
        .code(128)
        .stderr_has("git checkpoint switch <session>");
    world.file("x", "x");
    world
        .checkpoint(["save", "--session", "s", "-m", "y"])
        .success()
        .stderr_has("the checkpoint is saved, but");
    world.checkpoint(["switch", "s"]).success();
    world.checkpoint(["status"]).success().stdout_has("s, active");
}

#[test]
fn a_session_with_a_name_that_none_can_have_is_reported_everywhere() {
    let world = World::with_commit();
    world.checkpoint(["save", "--session", "auth", "-m", "one"]).success();
    let tip = world.git_line(["rev-parse", "refs/checkpoints/auth"]);
    world.git(["update-ref", "refs/checkpoints/x", &tip]).success();
    for (name, free) in [
        ("Auth", "auth-2"),
        ("we!rd", "we-rd"),
        ("fix@home", "fix-home"),
        ("team/one", "team-one"),
        ("it's", "it-s"),
        ("x--y.Z", "x-y.z"),
    ] {
        let full = format!("refs/checkpoints/{name}");
        world.git(["update-ref", &full, &tip]).success();
        let before = world.fingerprint();
        let rows = world.checkpoint(["list", "--json"]).success().stdout_json();
        let rows = rows["sessions"].as_array().unwrap();
        let row = rows.iter().find(|row| row["session"] == name).unwrap();
        assert_eq!(row["status"], "damaged", "{row}");
        assert!(
            row["damage"].as_str().unwrap().starts_with("its name is not valid: "),
            "{row}"
        );
        world.checkpoint(["list"]).success().stdout_has("its name is not valid");
        let lines: [&[&str]; 6] = [
            &["show", name],
            &["log", name],
            &["resume", name],
            &["restore", name],
            &["delete", name],
            &["verify", name],
        ];
        for line in lines {
            world
                .checkpoint(line)
                .code(128)
                .stderr_has("cannot be used: its name is not valid")
                .stderr_has(&format!("git update-ref refs/checkpoints/{free} "))
                .stderr_has("git update-ref -d ");
        }
        let report = verify(&world);
        let issue = &report["issues"][0];
        assert_eq!((&issue["session"], &issue["problem"]), (&name.into(), &"name".into()));
        assert_eq!(report["recoverable"], true);
        assert_eq!(world.fingerprint(), before);
        // The hint is a line of the shell that does it.
        let fix = issue["fix"].as_str().unwrap();
        let rename = fix.lines().next().unwrap().strip_prefix("rename it: ").unwrap();
        world.command("sh", ["-c", rename]).run().success();
        world.checkpoint(["show", free]).success().stdout_has("one");
        assert!(!world.git(["rev-parse", "--verify", "-q", &full]).is_success());
        world.checkpoint(["verify", "--all"]).success();
        world
            .git(["update-ref", "-d", &format!("refs/checkpoints/{free}")])
            .success();
    }
}
