//! Prune: what goes, what stays, and that nothing of what stays changes but the commit ids.

use crate::support::World;

/// A session of eight saves n1 to n8 a day apart; n3 has a name. Gives their ids by number; 0 is the start.
fn history() -> (World, Vec<String>) {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    let mut ids = vec![world.git_line(["rev-parse", "refs/checkpoints/s"])];
    for n in 1..=8 {
        world.advance(86_400);
        world.file("src/main.txt", format!("{n}\n").repeat(3000));
        let summary = format!("n{n}");
        let mut line = vec!["save", "-m", &summary];
        if n == 3 {
            line.extend(["--name", "three"]);
        }
        world.checkpoint(line).success();
        ids.push(world.git_line(["rev-parse", "refs/checkpoints/s"]));
    }
    (world, ids)
}

fn subjects(world: &World, session: &str) -> Vec<String> {
    let log = world.git_line([
        "log",
        "--first-parent",
        "--format=%s",
        &format!("refs/checkpoints/{session}"),
    ]);
    log.lines().map(str::to_owned).collect()
}

fn document(world: &World, rev: &str) -> String {
    world.git_line(["show", &format!("{rev}:checkpoint.json")])
}

fn refs(world: &World) -> String {
    world.git_line([
        "for-each-ref",
        "--format=%(refname) %(objectname)",
        "refs/checkpoints",
        "refs/checkpoints-autosave",
    ])
}

/// Bytes that nothing compresses, others at each call.
fn incompressible(state: &mut u64, length: usize) -> Vec<u8> {
    let mut next = || {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn without_a_rule_everything_stays_and_a_dry_run_changes_nothing() {
    let (world, _) = history();
    let before = world.git_line(["for-each-ref"]);
    world.checkpoint(["prune"]).success().stdout_has("everything is kept");
    let planned = world
        .checkpoint(["prune", "--keep-last", "2", "--dry-run", "--json"])
        .success()
        .stdout_json();
    assert_eq!(planned["outcome"], "planned");
    assert_eq!(planned["checkpoints"].as_array().unwrap().len(), 5);
    assert_eq!(world.git_line(["for-each-ref"]), before);
    let hint = "omit --dry-run to prune";
    world
        .checkpoint(["prune", "--keep-last", "2", "--dry-run", "--advice"])
        .success()
        .stderr_has(hint);
    world
        .checkpoint(["prune", "--keep-last", "100", "--dry-run", "--advice"])
        .success()
        .stdout_has("Nothing to prune.")
        .stderr_lacks(hint);
    let done = world
        .checkpoint(["prune", "--keep-last", "2", "--json"])
        .success()
        .stdout_json();
    assert_eq!(
        (&done["checkpoints"], &done["stays"], &done["frees_bytes"]),
        (&planned["checkpoints"], &planned["stays"], &planned["frees_bytes"]),
        "what was said is what is done"
    );
    assert!(done["frees_bytes"].as_u64().unwrap() > 200, "{done}");
}

#[test]
fn what_stays_keeps_its_document_dates_and_old_id() {
    let (world, ids) = history();
    world.checkpoint(["fork", "s~3", "--name", "branch-off"]).success();
    world.checkpoint(["switch", "s"]).success();
    world.checkpoint(["pin", &ids[1]]).success();
    let fork = document(&world, "refs/checkpoints/branch-off");
    let documents: Vec<String> = ids.iter().map(|id| document(&world, id)).collect();
    let message = |rev: &str| world.git_line(["log", "-1", "--format=%an %ae %at %cn %ce %ct %B", rev]);
    let messages: Vec<String> = ids.iter().map(|id| message(id)).collect();
    let done = world.checkpoint(["prune", "--keep-last", "2"]);
    done.success()
        .stdout_has("Pruned 3 checkpoints")
        .stdout_has("named")
        .stdout_has("pinned")
        .stdout_has("forked from")
        .stdout_has("branch-off");
    assert_eq!(subjects(&world, "s"), ["n8", "n7", "n5", "n3", "n1", "start s"]);
    for (back, n) in [8, 7, 5, 3, 1, 0].into_iter().enumerate() {
        let rev = format!("refs/checkpoints/s~{back}");
        assert_eq!(document(&world, &rev), documents[n], "byte for byte");
        assert_eq!(message(&rev), messages[n]);
        // The id that it had still selects it, in its session.
        let shown = world
            .checkpoint(["show", &ids[n][..12], "--json"])
            .success()
            .stdout_json();
        assert_eq!(shown["id"], world.git_line(["rev-parse", &rev]), "n{n}");
        assert_eq!(shown["session"], "s");
    }
    assert_eq!(document(&world, "refs/checkpoints/branch-off"), fork);
    assert_eq!(
        world.git_line(["rev-parse", "refs/checkpoints/branch-off~1"]),
        world.git_line(["rev-parse", "refs/checkpoints/s~2"]),
        "the fork stands on the new commit of its source"
    );
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict"]).success();
    // Once more, and again everything is found.
    world.checkpoint(["unpin", &ids[1]]).success();
    world.checkpoint(["prune", "--keep-last", "1"]).success();
    assert_eq!(subjects(&world, "s"), ["n8", "n5", "n3", "start s"]);
    world.checkpoint(["verify", "--all"]).success();
    let shown = world
        .checkpoint(["show", &ids[3][..12], "--json"])
        .success()
        .stdout_json();
    assert_eq!(shown["id"], world.git_line(["rev-parse", "refs/checkpoints/s~2"]));
    world.checkpoint(["save", "--session", "s", "-m", "and on"]).success();
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn undo_brings_everything_back() {
    let (world, ids) = history();
    world.checkpoint(["fork", "s~3", "--name", "branch-off"]).success();
    world.checkpoint(["switch", "s"]).success();
    world.file("a", "autosaved");
    world.checkpoint(["watch", "--once"]).success();
    let before = refs(&world);
    world.checkpoint(["prune", "--keep-last", "1", "--force"]).success();
    assert_eq!(subjects(&world, "s"), ["n8", "start s"]);
    let full = world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints-autosave"]);
    assert_eq!(
        world.git_line(["rev-parse", &format!("{full}^1")]),
        world.git_line(["rev-parse", "refs/checkpoints/s"]),
        "the autosave stands on the new chain"
    );
    world.checkpoint(["verify", "--all"]).success();
    world.checkpoint(["undo"]).success().stdout_has("pruned 7 checkpoints");
    assert_eq!(refs(&world), before);
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/s"]), ids[8]);
    world.checkpoint(["redo"]).success();
    assert_eq!(subjects(&world, "s"), ["n8", "start s"]);
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn by_age_and_number_together() {
    let (world, _) = history();
    // n8 was saved just now, n5 three days before.
    world.checkpoint(["prune", "--older-than", "60h"]).success();
    assert_eq!(subjects(&world, "s"), ["n8", "n7", "n6", "n3", "start s"]);
    world.checkpoint(["undo"]).success();
    world
        .checkpoint(["prune", "--older-than", "60h", "--keep-last", "6"])
        .success();
    assert_eq!(subjects(&world, "s"), ["n8", "n7", "n6", "n5", "n4", "n3", "start s"]);
    // A clock that runs behind what was saved is not believed.
    let early = world.command(crate::support::PROGRAM, ["prune", "--older-than", "1h"]);
    early
        .env("GIT_COMMITTER_DATE", "1767000000 +0000")
        .run()
        .code(4)
        .stderr_has("the clock is or was wrong");
}

#[test]
fn whole_sessions_go_to_the_trash_but_not_those_in_use() {
    let world = World::with_commit();
    for name in ["done", "broke", "put-aside", "kept", "now"] {
        world.checkpoint(["start", name]).success();
        world.file("f", name);
        world.checkpoint(["save", "-m", name]).success();
        match name {
            "done" => world.checkpoint(["finish"]).success(),
            "broke" => world.checkpoint(["finish", "--status", "failed"]).success(),
            "kept" => world
                .checkpoint(["save", "--allow-empty", "--name", "release"])
                .success(),
            _ => world.checkpoint(["status"]).success(),
        };
        if name != "now" && name != "done" && name != "broke" {
            world.checkpoint(["pause"]).success();
        }
    }
    let names = || {
        let list = world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints/"]);
        list.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    world
        .checkpoint(["prune", "--drop-completed", "--older-than", "1d"])
        .success();
    assert_eq!(names().len(), 5, "not old enough");
    world
        .checkpoint(["prune", "--drop-completed"])
        .success()
        .stdout_has("session done");
    assert_eq!(names(), ["broke", "kept", "now", "put-aside"]);
    world.checkpoint(["undo"]).success();
    assert_eq!(names().len(), 5);
    world
        .checkpoint(["prune", "--max-sessions", "1", "--keep-failed"])
        .success()
        .stdout_has("named");
    assert_eq!(names(), ["broke", "kept", "now"]);
    world
        .checkpoint(["prune", "--trash"])
        .success()
        .stdout_has("trash entries");
    assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints-trash"]), "");
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn shared_checkpoints_stay_unless_forced() {
    let (world, ids) = history();
    world
        .git(["update-ref", "refs/checkpoints-remote/origin/s", &ids[5]])
        .success();
    let done = world
        .checkpoint(["prune", "--keep-last", "1", "--json"])
        .success()
        .stdout_json();
    assert_eq!(done["checkpoints"].as_array().unwrap().len(), 2);
    assert_eq!(subjects(&world, "s"), ["n8", "n5", "n4", "n3", "n2", "n1", "start s"]);
    assert!(done["stays"].to_string().contains("shared"));
    world.checkpoint(["prune", "--keep-last", "1", "--force"]).success();
    assert_eq!(subjects(&world, "s"), ["n8", "start s"]);
    world.checkpoint(["verify"]).success();
}

#[test]
fn autosaves_that_a_checkpoint_stands_for_go() {
    let (world, _) = history();
    world.file("a", "1");
    world.checkpoint(["watch", "--once"]).success();
    world
        .checkpoint(["prune", "--autosaves"])
        .success()
        .stdout_has("Nothing to prune");
    world.checkpoint(["save", "-m", "stands for it"]).success();
    world
        .checkpoint(["prune", "--autosaves"])
        .success()
        .stdout_has("autosave");
    assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints-autosave"]), "");
    world.checkpoint(["undo"]).success();
    assert_ne!(world.git_line(["for-each-ref", "refs/checkpoints-autosave"]), "");
}

#[test]
fn by_itself_only_when_it_is_set() {
    let (world, _) = history();
    world.git(["config", "checkpoint.keepLast", "3"]).success();
    world.file("b", "1");
    world.checkpoint(["save", "-m", "n9"]).success();
    assert_eq!(subjects(&world, "s").len(), 10, "rules alone prune nothing");
    world.git(["config", "checkpoint.autoPrune", "true"]).success();
    world.file("b", "2");
    world
        .checkpoint(["save", "-m", "n10"])
        .success()
        .stderr_has("Pruned 6 checkpoints");
    assert_eq!(subjects(&world, "s"), ["n10", "n9", "n8", "n3", "start s"]);
    world.checkpoint(["verify"]).success();
}

#[test]
fn a_damaged_session_is_left_alone_and_the_others_are_pruned() {
    let (world, ids) = history();
    world.git(["update-ref", "refs/checkpoints/broken", "HEAD"]).success();
    world
        .checkpoint(["prune", "--keep-last", "1"])
        .success()
        .stderr_has("session 'broken' is damaged and was skipped");
    assert_eq!(subjects(&world, "s"), ["n8", "n3", "start s"]);
    assert_eq!(
        world.git_line(["rev-parse", "refs/checkpoints/broken"]),
        world.git_line(["rev-parse", "HEAD"])
    );
    // A save at the same time loses nothing: both are there afterwards.
    assert_ne!(world.git_line(["rev-parse", "refs/checkpoints/s"]), ids[8]);
}

#[test]
fn saves_at_the_same_time_are_not_lost() {
    let (world, _) = history();
    let environment: Vec<_> = world.environment();
    let repo = world.repo();
    std::thread::scope(|scope| {
        let (environment, repo) = (&environment, &repo);
        for n in 0..4 {
            scope.spawn(move || {
                for m in 0..4 {
                    let saved = std::process::Command::new(crate::support::PROGRAM)
                        .args([
                            "save",
                            "--session",
                            "s",
                            "--allow-empty",
                            "--name",
                            &format!("w{n}-{m}"),
                            "-m",
                            "x",
                        ])
                        .current_dir(repo)
                        .env_clear()
                        .envs(environment.iter().map(|(k, v)| (*k, v)))
                        .output()
                        .unwrap();
                    assert!(saved.status.success(), "{}", String::from_utf8_lossy(&saved.stderr));
                }
            });
        }
        scope.spawn(move || {
            for _ in 0..6 {
                let pruned = std::process::Command::new(crate::support::PROGRAM)
                    .args(["prune", "--keep-last", "1"])
                    .current_dir(repo)
                    .env_clear()
                    .envs(environment.iter().map(|(k, v)| (*k, v)))
                    .output()
                    .unwrap();
                let code = pruned.status.code();
                assert!(
                    matches!(code, Some(0 | 5)),
                    "{}",
                    String::from_utf8_lossy(&pruned.stderr)
                );
            }
        });
    });
    let names = world.git_line([
        "log",
        "--first-parent",
        "--format=%(trailers:key=Checkpoint-Name,valueonly,separator=)",
        "refs/checkpoints/s",
    ]);
    for n in 0..4 {
        for m in 0..4 {
            assert!(
                names.lines().any(|name| name == format!("w{n}-{m}")),
                "w{n}-{m}\n{names}"
            );
        }
    }
    world.checkpoint(["verify", "--all"]).success();
}

/// A history with autosaves and safety checkpoints on several of its checkpoints.
fn busy() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    for n in 1..=4 {
        world.advance(60);
        world.file("src/main.txt", format!("{n}\n").repeat(300));
        world.checkpoint(["save", "-m", &format!("n{n}")]).success();
        if n == 3 {
            world.file("src/main.txt", "not saved\n");
            world.checkpoint(["watch", "--once"]).success();
            world.checkpoint(["restore", "@~1", "--force"]).success();
            world.checkpoint(["undo"]).success();
        }
    }
    world
}

#[test]
fn a_prune_is_no_damage_to_autosaves_the_undo_list_and_the_trash() {
    let intact = |world: &World, after: &[&str]| {
        let output = world.checkpoint(["verify", "--all"]);
        assert!(output.is_success(), "after {after:?}: {}", output.stdout());
    };
    let world = busy();
    let prune = |args: &[&str]| {
        world.advance(60);
        world.checkpoint(["prune"].iter().chain(args)).success();
        intact(&world, args);
    };
    prune(&["--keep-last", "2"]);
    prune(&["--keep-last", "1"]);
    world.checkpoint(["undo"]).success();
    intact(&world, &["undo"]);
    world.checkpoint(["redo"]).success();
    intact(&world, &["redo"]);
    prune(&["--trash"]);
    prune(&["--autosaves"]);
    world.file("src/main.txt", "changed since\n");
    world.checkpoint(["restore", "s", "--force"]).success();
    intact(&world, &["restore"]);
    world.checkpoint(["fork", "s", "--name", "f"]).success();
    world.file("x", "x");
    world.checkpoint(["watch", "--once"]).success();
    world.checkpoint(["save", "-m", "of the fork"]).success();
    prune(&["--keep-last", "1", "--trash", "--autosaves", "--force"]);
    world.checkpoint(["delete", "f"]).success();
    intact(&world, &["delete"]);
    prune(&["--trash"]);
}

#[test]
fn a_gap_that_an_earlier_version_did_not_note_is_no_damage_if_another_chain_notes_it() {
    let world = busy();
    let autosave = world.git_line(["for-each-ref", "--format=%(objectname)", "refs/checkpoints-autosave"]);
    world.checkpoint(["prune", "--keep-last", "1"]).success();
    // As it was written again on the first checkpoint without a word about the gap.
    let start = world.git_line(["rev-list", "--max-parents=0", "--first-parent", "refs/checkpoints/s"]);
    let snapshot = world.git_line(["rev-parse", &format!("{autosave}^2")]);
    let message = world.git(["log", "-1", "--format=%B", &autosave]).stdout().to_owned();
    let args = [
        "commit-tree",
        &format!("{autosave}^{{tree}}"),
        "-p",
        &start,
        "-p",
        &snapshot,
    ];
    let run = world.command("git", args).input(message).run();
    world
        .git([
            "update-ref",
            "refs/checkpoints-autosave/x/main",
            run.success().stdout().trim(),
        ])
        .success();
    world.checkpoint(["verify", "--all"]).success();
    // A chain that skips what nobody pruned is damaged still.
    world.checkpoint(["start", "t"]).success();
    for n in 1..=2 {
        world.file("src/main.txt", format!("t{n}"));
        world.checkpoint(["save", "-m", "t"]).success();
    }
    let message = world
        .git(["log", "-1", "--format=%B", "refs/checkpoints/t"])
        .stdout()
        .to_owned();
    let args = [
        "commit-tree",
        "refs/checkpoints/t^{tree}",
        "-p",
        "refs/checkpoints/t~2",
        "-p",
        "refs/checkpoints/t^2",
    ];
    let run = world.command("git", args).input(message).run();
    world
        .git(["update-ref", "refs/checkpoints/t", run.success().stdout().trim()])
        .success();
    world
        .checkpoint(["verify", "--all"])
        .code(1)
        .stdout_has("digest mismatch: its successor expects");
}

#[test]
fn what_was_said_to_be_freed_is_free_after_the_collection_that_is_named() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    let size = || {
        let count = world.git_line(["count-objects", "-v"]);
        let number = |key: &str| -> u64 {
            let line = count.lines().find(|line| line.starts_with(key)).unwrap();
            line.rsplit(' ').next().unwrap().parse().unwrap()
        };
        number("size:") + number("size-pack:")
    };
    let mut state = 1_u64;
    for n in 1..=5 {
        world.advance(60);
        let bytes = incompressible(&mut state, 300_000);
        world.file("data.bin", &bytes);
        world.checkpoint(["save", "-m", &format!("n{n}")]).success();
        if n == 3 {
            world.file("data.bin", [&bytes[..], b"more"].concat());
            world.checkpoint(["watch", "--once"]).success();
        }
    }
    // The clock of these tests is far behind that of git's collection, which would expire all logs.
    world.git(["config", "gc.reflogExpire", "never"]).success();
    world.git(["config", "gc.reflogExpireUnreachable", "never"]).success();
    let gc = || {
        world.git(["gc", "--quiet", "--prune=now"]).success();
    };
    let pruned = world.checkpoint(["prune", "--keep-last", "1", "--advice"]);
    pruned
        .success()
        .stdout_has("when the trash is emptied")
        .stderr_has("git checkpoint prune --trash && git gc --prune=now");
    gc();
    let before = size();
    let done = world.checkpoint(["prune", "--trash", "--json"]).success().stdout_json();
    gc();
    let freed = (before - size()) * 1024;
    let said = done["frees_bytes"].as_u64().unwrap();
    assert!(said > 800_000 && freed + 50_000 >= said, "{said} said, {freed} free");
    world.checkpoint(["verify", "--all"]).success();
    let log = world.git_line(["reflog", "show", "--format=%H", "refs/checkpoints/s"]);
    let kept = world.git_line(["rev-list", "--first-parent", "refs/checkpoints/s"]);
    assert!(
        log.lines().all(|id| kept.contains(id)),
        "only what the session has: {log}"
    );
}

/// Each way of giving space back: what is said to be free is free after the collection that is named.
#[test]
fn each_way_of_pruning_frees_what_it_says() {
    type Way<'a> = (&'a str, &'a [&'a str], &'a [&'a [&'a str]], &'a [&'a str]);
    let ways: &[Way<'_>] = &[
        ("a deleted session", &[], &[&["delete", "s"]], &["prune", "--trash"]),
        (
            "in a repository of reftables",
            &["--ref-format=reftable"],
            &[&["delete", "s"]],
            &["prune", "--trash"],
        ),
        (
            "with other ids",
            &["--object-format=sha256"],
            &[&["delete", "s"]],
            &["prune", "--trash"],
        ),
        (
            "a renamed session",
            &[],
            &[&["rename", "s", "t"], &["delete", "t"]],
            &["prune", "--trash"],
        ),
        (
            "what another session has as well",
            &[],
            &[&["fork", "s", "--name", "f"], &["delete", "s"]],
            &["prune", "--trash"],
        ),
        (
            "what an undo could bring back",
            &[],
            &[&["delete", "s"], &["undo"], &["delete", "s"]],
            &["prune", "--trash"],
        ),
    ];
    for (what, options, steps, command) in ways {
        let world = World::without_repository();
        let init = [&["init", "--quiet", "--initial-branch=main"], *options].concat();
        world.git(init).success();
        world.file("README.md", "hello\n");
        world.git(["add", "--all"]).success();
        world.git(["commit", "--quiet", "-m", "first"]).success();
        world.git(["config", "gc.reflogExpire", "never"]).success();
        world.git(["config", "gc.reflogExpireUnreachable", "never"]).success();
        world.checkpoint(["start", "s"]).success();
        let mut state = 1_u64;
        for n in 1..=2 {
            world.advance(60);
            let bytes = incompressible(&mut state, 400_000);
            world.file("data.bin", &bytes);
            world.checkpoint(["save", "-m", &format!("n{n}")]).success();
        }
        for step in *steps {
            world.checkpoint(*step).success();
        }
        let size = || {
            world.git(["gc", "--quiet", "--prune=now"]).success();
            let count = world.git_line(["count-objects", "-v"]);
            let line = count.lines().find(|line| line.starts_with("size-pack:")).unwrap();
            line.rsplit(' ').next().unwrap().parse::<u64>().unwrap() * 1024
        };
        let before = size();
        let line = [*command, &["--json"]].concat();
        let said = world.checkpoint(line).success().stdout_json()["frees_bytes"]
            .as_u64()
            .unwrap();
        let freed = before.saturating_sub(size());
        assert!(freed + 50_000 >= said, "{what}: {said} said, {freed} free");
        let is_kept = what.contains("another session");
        assert_eq!(said < 100_000, is_kept, "{what}: {said} said, {freed} free");
        world.checkpoint(["verify", "--all"]).success();
    }
}
