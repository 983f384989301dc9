//! The way back from whatever changes files: the very bytes that were overwritten or deleted, under every rule that
//! converts content, under rules that changed meanwhile, and where a snapshot would not show them.

use crate::support::World;

/// A file under rules that convert it.
struct Case {
    name: &'static str,
    /// Settings of the repository.
    config: &'static [(&'static str, &'static str)],
    attributes: &'static str,
    /// The bytes when it was saved, and those that are overwritten.
    saved: &'static [u8],
    edited: &'static [u8],
    /// Settings that change before the way back; an empty value unsets one.
    later: &'static [(&'static str, &'static str)],
    /// Attributes of the repository alone that come before the way back.
    later_attributes: &'static str,
}

const PLAIN: Case = Case {
    name: "plain",
    config: &[],
    attributes: "",
    saved: b"saved\n",
    edited: b"edited\n",
    later: &[],
    later_attributes: "",
};

const CASES: &[Case] = &[
    PLAIN,
    Case {
        name: "a filter that drops lines",
        config: &[("filter.strip.clean", "sed /output/d"), ("filter.strip.smudge", "cat")],
        attributes: "*.x filter=strip\n",
        saved: b"cell A\noutput: 42\n",
        edited: b"cell A\noutput: 42\ncell B\noutput: three days\n",
        ..PLAIN
    },
    Case {
        name: "a filter that drops everything",
        config: &[("filter.none.clean", "true"), ("filter.none.smudge", "cat")],
        attributes: "*.x filter=none\n",
        saved: b"one\n",
        edited: b"two\n",
        ..PLAIN
    },
    Case {
        name: "a filter that drops what is edited, and has no way back",
        config: &[("filter.half.clean", "head -n 1")],
        attributes: "*.x filter=half\n",
        saved: b"head\nbody\n",
        edited: b"other head\nother body\n",
        ..PLAIN
    },
    Case {
        name: "a filter and line ends that git drops",
        config: &[
            ("filter.same.clean", "cat"),
            ("filter.same.smudge", "cat"),
            ("core.autocrlf", "input"),
        ],
        attributes: "*.x filter=same\n",
        saved: b"one\r\ntwo\r\n",
        edited: b"one\r\ntwo\nthree\r\n",
        ..PLAIN
    },
    Case {
        name: "line ends by a setting that is gone later",
        config: &[("core.autocrlf", "true")],
        saved: b"one\r\n",
        edited: b"one\r\ntwo\r\n",
        later: &[("core.autocrlf", "")],
        ..PLAIN
    },
    Case {
        name: "line ends by a setting that comes later",
        saved: b"one\n",
        edited: b"one\ntwo\n",
        later: &[("core.autocrlf", "true")],
        ..PLAIN
    },
    Case {
        name: "line ends by attributes that come later",
        saved: b"one\n",
        edited: b"one\ntwo\n",
        later_attributes: "*.x text eol=crlf\n",
        ..PLAIN
    },
    Case {
        name: "a filter by attributes that come later",
        config: &[("filter.up.clean", "cat"), ("filter.up.smudge", "tr a-z A-Z")],
        saved: b"one\n",
        edited: b"two\n",
        later_attributes: "*.x filter=up\n",
        ..PLAIN
    },
    Case {
        name: "an encoding with a mark that is not written back",
        attributes: "*.x working-tree-encoding=UTF-16\n",
        saved: b"\xff\xfea\0\n\0",
        edited: b"\xfe\xff\0b\0\n",
        ..PLAIN
    },
    Case {
        name: "an identity that git would write in its own way",
        attributes: "*.x ident\n",
        saved: b"$Id$\n",
        edited: b"$Id: by hand $\nmore\n",
        ..PLAIN
    },
    Case {
        name: "mixed line ends",
        attributes: "*.x text=auto eol=crlf\n",
        saved: b"one\r\ntwo\r\n",
        edited: b"one\r\ntwo\nthree\r\n",
        ..PLAIN
    },
];

fn world(case: &Case) -> World {
    let world = World::with_commit();
    world.file("f.x", "committed\n");
    world.git(["add", "-A"]).success();
    for (key, value) in case.config {
        world.git(["config", key, value]).success();
    }
    world.file(".gitattributes", case.attributes);
    world.git(["add", ".gitattributes"]).success();
    world.git(["commit", "-qm", "rules"]).success();
    world
}

fn later(world: &World, case: &Case) {
    for (key, value) in case.later {
        if value.is_empty() {
            world.git(["config", "--unset", key]).success();
        } else {
            world.git(["config", key, value]).success();
        }
    }
    if !case.later_attributes.is_empty() {
        world.file(".git/info/attributes", case.later_attributes);
    }
}

#[test]
fn bytes_that_a_restore_overwrites_come_back() {
    for case in CASES {
        let world = world(case);
        world.file("f.x", case.saved);
        world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
        world.file("f.x", case.edited);
        let receipt = world.checkpoint(["restore", "s", "--json"]).success().stdout_json();
        let restored = world.read("f.x");
        if receipt["outcome"] == "nothing" {
            // The filter keeps nothing that differs.
            assert_eq!(restored, case.edited, "{}", case.name);
            continue;
        }
        later(&world, case);
        world.checkpoint(["undo"]).success();
        assert_eq!(world.read("f.x"), case.edited, "{}: undo", case.name);
        world.checkpoint(["redo"]).success();
        assert_eq!(world.read("f.x"), restored, "{}: redo", case.name);
        world.checkpoint(["undo"]).success();
        assert_eq!(world.read("f.x"), case.edited, "{}: undo once more", case.name);
        world.checkpoint(["verify", "--all"]).success();
    }
}

#[test]
fn bytes_that_a_restore_deletes_come_back() {
    for case in CASES {
        let world = world(case);
        world
            .checkpoint(["save", "--session", "s", "-m", "saved", "--allow-empty"])
            .success();
        world.file("new.x", case.edited);
        world.checkpoint(["restore", "s"]).success();
        assert!(!world.path("new.x").exists(), "{}", case.name);
        later(&world, case);
        world.checkpoint(["undo"]).success();
        assert_eq!(world.read("new.x"), case.edited, "{}", case.name);
    }
}

#[test]
fn bytes_that_an_apply_overwrites_come_back() {
    for case in CASES {
        let world = world(case);
        world.file("f.x", case.saved);
        world.file("other", "other\n");
        world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
        world.git(["checkout", "-q", "--", "f.x"]).success();
        world.file("other", "mine\n");
        let before = world.read("f.x");
        world.checkpoint(["apply", "s"]);
        later(&world, case);
        world.checkpoint(["undo"]).success();
        assert_eq!(world.read("f.x"), before, "{}", case.name);
        assert_eq!(world.read("other"), b"mine\n", "{}", case.name);
    }
}

/// A filter program decides what a checkpoint has of a file, and what a restore writes: what is not as it was is reported.
#[test]
fn what_a_filter_does_not_give_back_is_reported() {
    let strip = Case {
        name: "a filter that drops lines",
        config: &[("filter.f.clean", "sed /output/d"), ("filter.f.smudge", "cat")],
        attributes: "*.x filter=f\n",
        saved: b"cell A\noutput: 42\n",
        edited: b"cell B\noutput: 43\n",
        ..PLAIN
    };
    let drift = Case {
        name: "a filter that does not take back what it gives",
        config: &[("filter.f.clean", "cat"), ("filter.f.smudge", "sed s/A/C/")],
        ..strip
    };
    let exact = Case {
        name: "a filter that gives all back",
        config: &[
            ("filter.f.clean", "tr A-Z N-ZA-M"),
            ("filter.f.smudge", "tr A-Z N-ZA-M"),
        ],
        ..strip
    };
    let why = |receipt: &serde_json::Value| receipt["filtered"][0]["why"].as_str().map(str::to_owned);
    for (case, reason) in [
        (
            &strip,
            Some("comes back as its filter gives it, without what the filter left out"),
        ),
        (
            &drift,
            Some("its filter gives content that a save would not store as it was"),
        ),
        (&exact, None),
    ] {
        let world = world(case);
        world.file("f.x", case.saved);
        world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
        world.file("f.x", case.edited);
        if case.name == strip.name {
            let planned = world
                .checkpoint(["restore", "s", "-n", "--json"])
                .success()
                .stdout_json();
            assert_eq!(why(&planned).as_deref(), reason);
        }
        let restored = world.checkpoint(["restore", "s", "--json"]).success().stdout_json();
        assert_eq!(why(&restored).as_deref(), reason, "{}", case.name);
        // The way back has all bytes, and nothing to report.
        let undone = world.checkpoint(["undo", "--json"]).success().stdout_json();
        assert_eq!(world.read("f.x"), case.edited, "{}", case.name);
        assert_eq!(why(&undone), None, "{}", case.name);
    }
}

/// What `pause --clean` takes away comes back byte for byte, also where the checkpoint has only what a filter stores.
#[test]
fn bytes_that_a_filter_drops_come_back_after_a_pause() {
    for case in CASES
        .iter()
        .filter(|case| case.later.is_empty() && case.later_attributes.is_empty())
        // What a filter stores nothing of comes back empty; the bytes are in what the pause saved first.
        .filter(|case| case.name != "a filter that drops everything")
    {
        let world = world(case);
        world.file("f.x", case.edited);
        world.file("new.x", case.saved);
        world.file("other", "other\n");
        let paused = world.checkpoint(["pause", "--clean", "--json"]).success().stdout_json();
        assert!(!world.path("new.x").exists(), "{}: {paused}", case.name);
        let resumed = world
            .checkpoint(["resume", "--apply", "--json"])
            .success()
            .stdout_json();
        assert_eq!(world.read("f.x"), case.edited, "{}: {resumed}", case.name);
        assert_eq!(world.read("new.x"), case.saved, "{}", case.name);
        // It is there now.
        let again = world.checkpoint(["restore", "@", "--json"]).success().stdout_json();
        assert_eq!(again["files"]["written"], 0, "{}: {again}", case.name);
        world.checkpoint(["undo", "--older"]).success();
        assert!(!world.path("new.x").exists(), "{}", case.name);
        world.checkpoint(["redo"]).success();
        assert_eq!(world.read("f.x"), case.edited, "{}", case.name);
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// What a filter hides is stored in clear only where it would be lost otherwise, and never in what is pushed.
#[test]
fn what_a_filter_hides_is_not_stored_in_clear_without_need() {
    let world = World::with_commit();
    for (key, value) in [
        ("filter.rot.clean", "tr a-zA-Z n-za-mN-ZA-M"),
        ("filter.rot.smudge", "tr a-zA-Z n-za-mN-ZA-M"),
    ] {
        world.git(["config", key, value]).success();
    }
    world.file(".gitattributes", "*.x filter=rot\n");
    world.file("f.x", "password of before\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "rules"]).success();
    world
        .checkpoint(["save", "--session", "s", "-m", "saved", "--allow-empty"])
        .success();
    world.file("f.x", "password of now\n");
    world.file("new.x", "another password\n");
    world.checkpoint(["restore", "s"]).success();
    world.checkpoint(["undo"]).success();
    assert_eq!(world.read("f.x"), b"password of now\n");
    assert_eq!(world.read("new.x"), b"another password\n");
    let objects = world.git(["cat-file", "--batch-all-objects", "--batch-check"]);
    for line in objects
        .success()
        .stdout()
        .lines()
        .filter(|line| line.contains(" blob "))
    {
        let id = line.split(' ').next().unwrap();
        let text = world.git(["cat-file", "blob", id]).success().stdout().to_owned();
        assert!(!text.contains("password"), "{text}");
    }
}

/// Rules that are on disk and in no snapshot.
#[test]
fn rules_that_no_snapshot_has_do_not_stop_a_restore() {
    for (rule, saved, edited) in [
        ("*.x text eol=crlf\n", &b"a\r\n"[..], &b"changed\r\n"[..]),
        ("*.x text\n", b"a\r\n", b"changed\r\nmore\n"),
        ("*.x working-tree-encoding=UTF-16\n", b"\xff\xfea\0", b"\xff\xfeb\0"),
        ("*.x ident\n", b"$Id$", b"$Id: x $"),
        ("*.x -text\n", b"a\r\n", b"b\n"),
        ("[attr]odd text eol=crlf\n*.x odd\n", b"a\r\n", b"b\r\nc\n"),
        ("* text=auto\n*.x !text eol=lf\n", b"a\n", b"b\r\n"),
    ] {
        let world = World::with_commit();
        world.file(".git/info/exclude", ".gitattributes\n");
        world.file(".gitattributes", rule);
        world.file("f.x", saved);
        world.git(["add", "f.x"]).success();
        world.git(["commit", "-qm", "f"]).success();
        world
            .checkpoint(["save", "--session", "s", "-m", "saved", "--allow-empty"])
            .success();
        world.file("f.x", edited);
        world.checkpoint(["restore", "s"]).success();
        world.checkpoint(["undo"]).success();
        assert_eq!(world.read("f.x"), edited, "{rule}");
    }
}

/// What a snapshot of now does not show as it was written is no change since.
#[test]
fn undo_judges_by_what_was_written() {
    // The rule that comes between save and restore, and the path that it hides.
    for (rules, path) in [
        (".gitignore", "out/report"),
        (".git/info/exclude", "out/report"),
        ("excludes", "out/report"),
        (".gitignore", "out/deep/er/report"),
        ("filter", "out/report.rnd"),
        ("checkpoint.exclude=/out", "out/report"),
        (".checkpointignore", "out/report"),
        ("checkpoint.maxFileSize=1", "out/report"),
        ("status.showUntrackedFiles=no", "out/report"),
        (".gitignore", "out/ü\nreport"),
    ] {
        let world = World::with_commit();
        world.file(path, "1\n");
        world.checkpoint(["save", "--session", "s", "-m", "with it"]).success();
        std::fs::remove_dir_all(world.path("out")).unwrap();
        match rules {
            "excludes" => {
                world.file("rules", "/out\n");
                let rules = world.path("rules");
                world
                    .git(["config", "core.excludesFile", rules.to_str().unwrap()])
                    .success();
            }
            "filter" => {
                world.git(["config", "filter.rnd.clean", "cat; date +%N"]).success();
                world.git(["config", "filter.rnd.smudge", "cat"]).success();
                world.file(".git/info/attributes", "*.rnd filter=rnd\n");
            }
            setting if setting.contains('=') => {
                let (key, value) = setting.split_once('=').unwrap();
                world.git(["config", key, value]).success();
            }
            file => world.file(file, "/out\n"),
        }
        let trusted: &[&str] = if rules == "filter" { &["--force"] } else { &[] };
        let restore = [&["restore", "s"], trusted, &["--", "out"]].concat();
        world.checkpoint(restore).success();
        assert_eq!(world.read(path), b"1\n", "{rules}");
        world.checkpoint(["undo"]).success();
        assert!(!world.path("out").exists(), "{rules} {path}");
        world.checkpoint(["redo"]).success();
        assert_eq!(world.read(path), b"1\n", "{rules}");
        // What was changed since is reported, ignored or not.
        world.file(path, "changed\n");
        world.checkpoint(["undo"]).code(4).stderr_has("1 path changed since");
        assert_eq!(world.read(path), b"changed\n", "{rules}");
        world.checkpoint(["undo", "--force"]).success();
        assert!(!world.path(path).exists(), "{rules} {path}");
        world.checkpoint(["redo", "--force"]).success();
        assert_eq!(world.read(path), b"changed\n", "{rules}: saved first");
    }
}

/// The flags that people set on entries of the index.
#[test]
fn flagged_files_are_not_taken_for_those_of_a_sparse_checkout() {
    for flag in ["--skip-worktree", "--assume-unchanged"] {
        let world = World::with_commit();
        world
            .checkpoint(["save", "--session", "s", "-m", "before", "--allow-empty"])
            .success();
        world.file("conf", "default\n");
        world.file("d/conf", "default\n");
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "conf"]).success();
        world.git(["update-index", flag, "conf", "d/conf"]).success();
        world.file("conf", "my local edit\n");
        world.file("d/conf", "my local edit\n");
        world
            .checkpoint(["save", "--session", "s", "-m", "with conf"])
            .success();
        world.checkpoint(["restore", "s~1", "--force"]).success();
        assert!(!world.path("conf").exists(), "{flag}");
        world.checkpoint(["undo"]).success();
        for path in ["conf", "d/conf"] {
            assert_eq!(world.read(path), b"my local edit\n", "{flag} {path}");
        }
        world.checkpoint(["redo"]).success();
        world.checkpoint(["restore", "s"]).success();
        assert_eq!(world.read("conf"), b"my local edit\n", "{flag}");
    }
}

/// Flags are part of what a restore of the index keeps.
#[test]
fn flags_of_the_index_stay() {
    let world = World::with_commit();
    for path in ["skip", "assume", "plain", "both"] {
        world.file(path, "1\n");
    }
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "files"]).success();
    world.git(["update-index", "--skip-worktree", "skip", "both"]).success();
    world
        .git(["update-index", "--assume-unchanged", "assume", "both"])
        .success();
    let flags = |world: &World| world.git(["ls-files", "-v"]).success().stdout().to_owned();
    world
        .checkpoint(["save", "--session", "s", "-m", "one", "--allow-empty"])
        .success();
    let before = flags(&world);
    for path in ["skip", "assume", "plain", "both"] {
        world.git(["update-index", "--no-skip-worktree", path]).success();
        world.git(["update-index", "--no-assume-unchanged", path]).success();
        world.file(path, "2\n");
        world.git(["add", path]).success();
    }
    world.git(["update-index", "--skip-worktree", "skip", "both"]).success();
    world
        .git(["update-index", "--assume-unchanged", "assume", "both"])
        .success();
    world.checkpoint(["restore", "s", "--index"]).success();
    assert_eq!(flags(&world), before);
    assert_eq!(world.git_line(["diff", "--cached", "--name-only"]), "");
    world.checkpoint(["undo"]).success();
    assert_eq!(flags(&world), before);
    world.checkpoint(["redo"]).success();
    assert_eq!(flags(&world), before);
}

#[test]
fn sparse_checkouts_stay_sparse() {
    for mode in [&["--cone"][..], &["--no-cone"], &["--cone", "--sparse-index"]] {
        let world = World::with_commit();
        world.file("in/f", "1\n");
        world.file("out/g", "1\n");
        world.file("out/deep/h", "1\n");
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "one"]).success();
        world.file("out/g", "2\n");
        world.file("out/deep/h", "2\n");
        world.git(["commit", "-qam", "two"]).success();
        world
            .git([&["sparse-checkout", "set"], mode, &["in"]].concat())
            .success();
        world.git(["checkout", "-q", "HEAD~1"]).success();
        world
            .checkpoint(["save", "--session", "s", "-m", "one", "--allow-empty"])
            .success();
        world.git(["checkout", "-q", "main"]).success();
        let clean = |what: &str| {
            assert_eq!(world.git_line(["diff", "--name-only"]), "", "{mode:?} {what}");
            assert!(!world.path("out/g").exists(), "{mode:?} {what}");
            let flags = world.git(["ls-files", "-t"]).success().stdout().to_owned();
            assert!(flags.lines().any(|line| line == "S out/g"), "{mode:?} {what}: {flags}");
        };
        world.checkpoint(["restore", "s", "--index", "--force"]).success();
        clean("restore");
        world.checkpoint(["undo"]).success();
        clean("undo");
        assert_eq!(world.git_line(["status", "--porcelain"]), "", "{mode:?}");
        world.checkpoint(["redo"]).success();
        clean("redo");
    }
}

/// A file that git's fsck would reject is next to the tree, also where its bytes are kept for undo.
#[test]
fn files_that_no_server_takes_come_back_and_stay_out_of_the_tree() {
    let modules: &[u8] = b"[submodule \"..\"]\n\tpath = x\n\turl = y\n";
    let long = [&b"*.x "[..], "a".repeat(5000).as_bytes(), b"\n"].concat();
    for (path, bytes, attributes) in [
        (".gitmodules", modules, "* text=auto\n"),
        (".gitmodules", modules, "* text eol=crlf\n"),
        ("deep/.gitmodules", modules, "*.none -text\n"),
        ("deep/.gitattributes", &long, "* text=auto\n"),
        (".gitmodules", modules, ""),
    ] {
        let world = World::with_commit();
        world.file(".gitattributes", attributes);
        world.git(["add", ".gitattributes"]).success();
        world.git(["commit", "-qm", "rules"]).success();
        world
            .checkpoint(["save", "-m", "without", "--name", "without"])
            .success();
        world.file(path, bytes);
        world.checkpoint(["restore", "without"]).success();
        assert!(!world.path(path).exists(), "{path} {attributes:?}");
        world.git(["fsck", "--strict"]).success();
        world.checkpoint(["undo"]).success();
        assert_eq!(world.read(path), bytes, "{path} {attributes:?}");
        world.git(["fsck", "--strict"]).success();
        world.checkpoint(["redo"]).success();
        assert!(!world.path(path).exists(), "{path} {attributes:?}");
        world.checkpoint(["verify", "--all"]).success();
    }
}
