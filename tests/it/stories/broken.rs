//! Repositories that a power cut, a failing disk or a stray hand has damaged: every command says so and ends, in words
//! of its own, and a save relies on nothing that is damaged or may go.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::World;

/// A session of two checkpoints with edits since.
fn session() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "s1"]).success();
    world.file("n.txt", "one\n");
    world.checkpoint(["save", "-m", "one"]).success();
    world.file("n.txt", "two\n");
    world
}

/// Puts all packed objects into files of their own.
fn loosen(world: &World) {
    let script = "mkdir ../p && mv .git/objects/pack/*.pack ../p && rm -f .git/objects/pack/* \
                  && for p in ../p/*; do git unpack-objects -q < $p; done && rm -r ../p";
    world.command("sh", ["-c", script]).run().success();
}

fn loose(world: &World, id: &str) -> PathBuf {
    world.path(format!(".git/objects/{}/{}", &id[..2], &id[2..]))
}

fn put(path: &PathBuf, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Each file of ours that cannot be parsed has advice of its own, and following it helps.
#[test]
fn each_malformed_file_has_its_own_advice() {
    for (file, command, follow) in [
        ("current", &["status"][..], "git checkpoint switch s1"),
        ("pins", &["pin", "s1"], "mv FILE FILE.damaged"),
        ("undo.jsonl", &["undo"], "mv FILE FILE.damaged"),
    ] {
        let world = session();
        let path = world.path(format!(".git/checkpoint/{file}"));
        fs::write(&path, "junk\n").unwrap();
        let output = world.checkpoint(command);
        let (path, other) = (path.display().to_string(), "rewrite the file");
        output.code(128).stderr_has(&format!("cannot understand '{path}'"));
        let shown = output.stderr();
        assert_eq!(shown.contains(other), file == "current", "{file}: {shown}");
        let line = follow.replace("FILE", &path);
        assert!(
            shown.contains("hint: ") && (file == "current" || shown.contains(&line)),
            "{file}: {shown}"
        );
        match line.strip_prefix("git checkpoint ") {
            Some(line) => _ = world.checkpoint(line.split(' ')).success(),
            None => _ = world.command("sh", ["-c", &line]).run().success(),
        }
        let again = world.checkpoint(command);
        assert_ne!(again.status().code(), Some(128), "{file}");
    }
}

#[test]
fn damaged_packed_refs_lose_no_session_silently() {
    let world = session();
    world.git(["pack-refs", "--all", "--prune"]).success();
    let whole = String::from_utf8(world.read(".git/packed-refs")).unwrap();
    let name = "refs/checkpoints/s1";
    let short = whole.replace("refs/checkpoints", "refs/check\u{1}points");
    let no_hex = whole.replace(&format!(" {name}"), &format!("g {name}"));
    let flipped = whole.replace(&format!(" {name}"), &format!("a{name}"));
    for (bytes, told) in [
        (&whole[..whole.len() - 1], "is cut off"),
        (&whole[..whole.len() - 14], "is cut off"),
        (&short, "names no valid ref"),
        (&no_hex, "is no ref"),
        (&flipped, "is no ref"),
        ("", "it is empty"),
    ] {
        fs::write(world.path(".git/packed-refs"), bytes).unwrap();
        for args in [
            vec!["list"],
            vec!["verify"],
            vec!["verify", "--all"],
            vec!["status"],
            vec!["save", "-m", "x"],
            vec!["pause"],
            vec!["resume"],
            vec!["log"],
            vec!["repair"],
        ] {
            let out = world.checkpoint(args.clone());
            out.code(128)
                .stderr_has("packed-refs' is damaged")
                .stderr_has(told)
                .stderr_has("hint: ");
            assert!(
                !out.stderr().contains("Invalid"),
                "{args:?}: gix's words: {}",
                out.stderr()
            );
        }
        assert_eq!(world.read(".git/packed-refs"), bytes.as_bytes(), "left as it was");
    }
    fs::write(world.path(".git/packed-refs"), &whole).unwrap();
    world.checkpoint(["save", "-m", "x"]).success();
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn loose_objects_that_git_would_refuse_are_damage() {
    let world = session();
    loosen(&world);
    let all = world.git([
        "rev-list",
        "--objects",
        "--no-object-names",
        "refs/checkpoints/s1",
        "^HEAD",
    ]);
    let ids: Vec<String> = all.success().stdout().lines().map(str::to_owned).collect();
    assert!(ids.len() > 8, "{ids:?}");
    world.checkpoint(["verify", "--all"]).success();
    for id in ids {
        let path = loose(&world, &id);
        let sound = fs::read(&path).unwrap();
        let mut damaged: Vec<Vec<u8>> = (1..=5).map(|cut| sound[..sound.len() - cut].to_vec()).collect();
        damaged.push([&sound[..], b"x"].concat());
        let mut flipped = sound.clone();
        *flipped.last_mut().unwrap() ^= 1;
        damaged.push(flipped);
        for bytes in damaged {
            put(&path, &bytes);
            world.checkpoint(["verify", "--all"]).code(1).stdout_has(&id);
        }
        put(&path, &sound);
    }
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn every_flipped_bit_in_a_pack_of_ours_is_damage() {
    let world = session();
    let packs = || {
        let entries = fs::read_dir(world.path(".git/objects/pack")).unwrap();
        entries.map(|entry| entry.unwrap().path())
    };
    let mut tried = 0;
    for path in packs().filter(|path| path.extension().is_some_and(|end| end == "pack" || end == "idx")) {
        let sound = fs::read(&path).unwrap();
        // Every byte would take a minute; the sums leave no gap between these.
        for at in (0..sound.len()).step_by(sound.len() / 40 + 1).chain([sound.len() - 1]) {
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << (at % 8);
            put(&path, &bytes);
            let code = world.checkpoint(["verify", "--all"]).status().code();
            assert!(
                code == Some(1) || code == Some(128),
                "{} at {at}: {code:?}",
                path.display()
            );
            tried += 1;
        }
        put(&path, &sound);
    }
    assert!(tried > 80, "only {tried}");
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn a_save_relies_on_no_damaged_blob_that_the_file_can_repair() {
    for cut in [1, 3, 9] {
        let world = session();
        world.file("staged.txt", "staged and unchanged since\n");
        world.git(["add", "staged.txt"]).success();
        // Known, so that the next save need not read it.
        world.checkpoint(["status"]).success();
        let id = world.git_line(["rev-parse", ":staged.txt"]);
        let path = loose(&world, &id);
        let sound = fs::read(&path).unwrap();
        put(&path, &sound[..sound.len() - cut]);
        world.checkpoint(["save", "-m", "repaired"]).success();
        world.checkpoint(["verify", "--all"]).success();
        fs::remove_file(&path).unwrap();
        world
            .git(["cat-file", "blob", &id])
            .success()
            .stdout_has("staged and unchanged");
        // Where the file does not have it, there is no checkpoint.
        let world = session();
        world.file("staged.txt", "staged\n");
        world.git(["add", "staged.txt"]).success();
        let path = loose(&world, &world.git_line(["rev-parse", ":staged.txt"]));
        let sound = fs::read(&path).unwrap();
        put(&path, &sound[..sound.len() - cut]);
        world.file("staged.txt", "and edited since\n");
        let before = world.git_line(["rev-parse", "refs/checkpoints/s1"]);
        let refused = world.checkpoint(["save", "-m", "x"]);
        refused.code(128).stderr_has("staged.txt").stderr_has("hint: ");
        assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/s1"]), before);
    }
}

/// What no ref holds may be thrown away by a `git repack -ad` that listed the refs before the save: so after a save all
/// that the repository held without a ref can go.
#[test]
fn a_save_stores_what_only_the_index_or_nothing_names() {
    let world = session();
    loosen(&world);
    world.file("staged.txt", "staged\n");
    world.file("src/deep/staged.txt", "staged in a folder\n");
    world.git(["add", "staged.txt", "src"]).success();
    // So the trees of the index exist, and the index knows them.
    world.git(["write-tree"]).success();
    world.file("src/main.txt", "stored before\n");
    world.file("new.txt", "stored before\n");
    world.git(["hash-object", "-w", "new.txt"]).success();
    let reachable = world.git(["rev-list", "--objects", "--no-object-names", "--all"]);
    let reachable = reachable.success().stdout();
    world.checkpoint(["save", "-m", "two"]).success();
    let mut gone = 0;
    for directory in fs::read_dir(world.path(".git/objects"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let prefix = directory.file_name().unwrap().to_str().unwrap().to_owned();
        for file in fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()) {
            let id = format!("{prefix}{}", file.file_name().unwrap().to_str().unwrap());
            if prefix.len() == 2 && !reachable.contains(&id) {
                fs::remove_file(file).unwrap();
                gone += 1;
            }
        }
    }
    assert!(gone >= 4, "only {gone}");
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict", "--no-dangling"]).success();
    // The checkpoint before holds all of it now: the next one stores little.
    world.file("new.txt", "edited\n");
    let bytes = |out: serde_json::Value| out["new_bytes"].as_u64().unwrap();
    let small = bytes(
        world
            .checkpoint(["save", "-m", "three", "--json"])
            .success()
            .stdout_json(),
    );
    let script = "for p in .git/objects/pack/*.idx; do git show-index < $p; done | cut -d' ' -f2 | sort | uniq -d";
    world.command("sh", ["-c", script]).run().success().no_stdout();
    assert!(small > 0);
}

#[test]
fn conflicting_stages_outlive_the_index() {
    let world = session();
    let script = "git checkout -q -b o && echo A > README.md && git commit -qam A && git checkout -q main \
                  && echo B > README.md && git commit -qam B; git merge o; echo A2 > README.md; git rev-parse :1:README.md :2:README.md :3:README.md";
    let ids = world.command("sh", ["-c", script]).run();
    let ids: Vec<_> = ids.stdout().lines().filter(|line| line.len() == 40).collect();
    assert_eq!(ids.len(), 3);
    world.checkpoint(["save", "-m", "conflict"]).success();
    for id in ids {
        let _ = fs::remove_file(loose(&world, id));
    }
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn leftovers_of_killed_processes_are_swept() {
    let world = session();
    world.checkpoint(["pause"]).success();
    world.checkpoint(["resume"]).success();
    let left = [
        "cache.new",
        "cache.abc.new",
        "current.tmp",
        "current.abc.new",
        "drafts/x.jsonl.abc.new",
    ];
    for name in left {
        fs::write(world.path(".git/checkpoint").join(name), "half").unwrap();
    }
    world.checkpoint(["save", "-m", "x"]).success();
    for name in left {
        assert!(!world.path(".git/checkpoint").join(name).exists(), "{name}");
    }
}

#[test]
fn files_that_cannot_be_removed_are_told() {
    let world = session();
    let traced = world.command("strace", ["-qq", "-e", "trace=none", "true"]);
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| traced.run())).is_err() {
        return;
    }
    let args = [
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "inject=unlink:error=EIO",
        "git-checkpoint",
        "save",
        "-m",
        "x",
    ];
    let saved = world.command("strace", args).run();
    if saved.stderr().contains("ptrace") {
        return;
    }
    saved
        .success()
        .stderr_has("cannot remove '")
        .stderr_has(".keep'")
        .stderr_has("checkpoint/swap/");
    world.file("n.txt", "three\n");
    world
        .checkpoint(["save", "-m", "y"])
        .success()
        .stderr_lacks("cannot remove");
    let script = "find .git -name '*.keep' -o -path '*/swap/*'";
    world.command("sh", ["-c", script]).run().success().no_stdout();
}

#[test]
fn a_fifo_in_our_places_hangs_nobody() {
    let drafts = "checkpoint/drafts";
    for place in [
        "refs/checkpoints/s1",
        "refs/checkpoints/other",
        "checkpoint/current",
        "checkpoint/cache",
        drafts,
    ] {
        let world = session();
        world.checkpoint(["pause"]).success();
        world.checkpoint(["resume"]).success();
        let mut path = world.path(".git").join(place);
        if place == drafts {
            path = fs::read_dir(&path).unwrap().next().unwrap().unwrap().path();
        }
        let _ = fs::remove_file(&path);
        world.command("mkfifo", [&path]).run().success();
        for args in [
            &["list"][..],
            &["status"],
            &["log", "s1"],
            &["verify", "--all"],
            &["save", "-m", "x"],
            &["resume", "s1"],
            &["rename", "s1", "s2"],
            &["repair"],
        ] {
            let run = world
                .command(crate::support::PROGRAM, args)
                .limit(Duration::from_secs(20));
            let code = run.run().status().code();
            assert!(matches!(code, Some(0 | 1 | 3 | 5 | 128)), "{place} {args:?}: {code:?}");
        }
    }
}

#[test]
fn something_else_in_our_places_is_told() {
    let told = |make: &str, what: &str| {
        let world = session();
        world.command("sh", ["-c", make]).run().success();
        let out = world.checkpoint(["save", "-m", "x"]);
        out.code(4).stderr_has(what).stderr_has("hint: move it away: mv ");
        world
    };
    told(
        "rm -r .git/checkpoint && echo x > .git/checkpoint",
        "checkpoint' is not a directory",
    );
    told(
        "rm -r .git/checkpoint && ln -s nowhere .git/checkpoint",
        "is a link that leads nowhere",
    );
    let world = told(
        "mv .git/checkpoint ../away && ln -s ../../away .git/checkpoint",
        "checkpoint' is a link",
    );
    assert!(!world.root().join("away/cache.clock.new").exists());
    told(
        "rm -r .git/checkpoint/swap && echo x > .git/checkpoint/swap",
        "swap' is not a directory",
    );
    told(
        "rm -r .git/checkpoint/locks && echo x > .git/checkpoint/locks",
        "locks' is not a directory",
    );
}

#[test]
fn files_of_ours_are_private() {
    let world = World::with_commit();
    let script = "umask 022 && git-checkpoint start s1 && echo x > n && git-checkpoint save -m one && git-checkpoint pause \
                  && git-checkpoint resume && git-checkpoint rename s1 s2 && git-checkpoint status";
    world.command("sh", ["-c", script]).run().success();
    let mut directories = vec![world.path(".git/checkpoint")];
    let mut seen = 0;
    while let Some(directory) = directories.pop() {
        assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
        for path in fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 4, "only {seen}");
}

#[test]
fn a_corrupt_commit_of_head_is_named() {
    for bytes in [&b"commit 5\0evil\n"[..], b"blob 5\0evil\n", b""] {
        let world = session();
        loosen(&world);
        let head = world.git_line(["rev-parse", "HEAD"]);
        let script = format!(
            "import zlib,sys;open('{}','wb').write(zlib.compress(sys.stdin.buffer.read()))",
            loose(&world, &head).display()
        );
        fs::remove_file(loose(&world, &head)).unwrap();
        world.command("python3", ["-c", &script]).input(bytes).run().success();
        for args in [&["status"][..], &["save", "-m", "x"], &["pause"], &["start", "s9"]] {
            let out = world.checkpoint(args);
            out.code(128)
                .stderr_has("the commit of HEAD")
                .stderr_has(&head)
                .stderr_has("corrupt")
                .stderr_has("hint: ");
        }
        world.checkpoint(["list"]).success().stdout_has("s1");
        world.checkpoint(["verify", "--all"]).code(1);
    }
}

#[test]
fn settings_that_make_no_sense_are_told_in_our_words() {
    for (key, value) in [
        ("core.autocrlf", "nonsense"),
        ("core.checkStat", "nonsense"),
        ("core.trustctime", "nonsense"),
        ("filter.x.required", "nonsense"),
    ] {
        let world = session();
        world.git(["config", key, value]).success();
        let out = world.checkpoint(["save", "-m", "x"]);
        out.code(128);
        let key = key.to_lowercase();
        assert!(out.stderr().to_lowercase().contains(&key), "{}", out.stderr());
        out.stderr_has("bad value 'nonsense' for '");
        assert_eq!(
            out.stderr().lines().filter(|line| line.starts_with("fatal:")).count(),
            1
        );
    }
    // As for git, which takes it for not set.
    let world = session();
    world.git(["config", "core.eol", "nonsense"]).success();
    world.checkpoint(["save", "-m", "x"]).success();
}

#[test]
fn a_work_tree_that_is_not_there_is_told() {
    let world = session();
    world.git(["config", "core.worktree", "/nonexistent"]).success();
    for args in [&["save", "-m", "x"][..], &["status"], &["list"]] {
        let out = world.checkpoint(args);
        out.code(128)
            .stderr_has("working tree '/nonexistent' is missing")
            .stderr_has("core.worktree");
    }
}

#[test]
fn within_the_repository_itself_there_is_no_work_tree() {
    let world = session();
    let within = |args: &[&str]| world.command(crate::support::PROGRAM, args).within(".git").run();
    within(&["save", "-m", "x"])
        .code(128)
        .stderr_has("this command needs a working tree");
    within(&["start", "s2"])
        .code(128)
        .stderr_has("this command needs a working tree");
    within(&["list"]).success().stdout_has("s1");
    within(&["log", "s1"]).success();
}

/// Every file of a small repository, damaged in turn: each command ends in time and with a code of its own.
#[test]
fn no_damage_makes_a_command_panic_or_hang() {
    let world = session();
    world.git(["tag", "-a", "-m", "t", "v1"]).success();
    world.git(["gc", "--quiet"]).success();
    world.file("staged.txt", "staged\n");
    world.git(["add", "staged.txt"]).success();
    world.checkpoint(["save", "-m", "two"]).success();
    world.git(["pack-refs", "--all"]).success();
    world.file("n.txt", "three\n");
    world
        .command("cp", ["-a", "repo", "whole"])
        .within("..")
        .run()
        .success();
    let mut files = Vec::new();
    let mut directories = vec![world.path(".git")];
    while let Some(directory) = directories.pop() {
        for path in fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true if path.ends_with("hooks") => {}
                true => directories.push(path),
                false => files.push(path),
            }
        }
    }
    files.sort();
    assert!(files.len() > 20, "{files:?}");
    for (n, path) in files.iter().enumerate() {
        let sound = fs::read(path).unwrap();
        for kind in 0..3_usize {
            let mut bytes = sound.clone();
            // A place of its own for each file and kind, the same in every run.
            let at = (n * 7919 + kind * 104_729) % bytes.len().max(1);
            match bytes.get_mut(at) {
                Some(byte) if kind < 2 => *byte ^= 1 << (n % 8),
                _ => bytes.truncate(at),
            }
            let again = "cd .. && rm -rf repo && cp -a whole repo";
            world.command("sh", ["-c", again]).run().success();
            put(path, &bytes);
            for args in [
                &["status"][..],
                &["verify", "--all"],
                &["save", "-m", "x"],
                &["resume", "s1"],
            ] {
                let run = world
                    .command(crate::support::PROGRAM, args)
                    .limit(Duration::from_secs(20));
                let code = run.run().status().code();
                let known = matches!(code, Some(0 | 1 | 3 | 5 | 7 | 128));
                assert!(known, "{} {kind} {args:?}: {code:?}", path.display());
            }
        }
    }
}
