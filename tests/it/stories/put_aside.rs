//! Work put aside and brought back: `pause --clean` and `resume --apply`, compared with `git stash -u` and `pop --index`.

use std::collections::BTreeMap;
use std::fs;

use crate::support::{PROGRAM, Terminal, World};

/// An empty directory is in no list when it is ignored; by a rule that is put aside itself it stays, both ways.
#[test]
fn an_empty_directory_that_is_ignored_stays() {
    for (rules, at, directories) in [
        ("e/\n", ".gitignore", &["e"][..]),
        ("e/\n", ".gitignore", &["d/e", "e", "a/b/e"]),
        ("e/\n", "d/.gitignore", &["d/e"]),
        ("/d/*\n!/d/f\n", ".gitignore", &["d/e", "d/deep/er"]),
        ("out\n", ".gitignore", &["out/sub", "d/out"]),
        ("e*\n", "d/.gitignore", &["d/e1", "d/x/e2"]),
    ] {
        let world = World::with_commit();
        world.file(at, rules);
        world.file("d/f", "untracked\n");
        for directory in directories {
            fs::create_dir_all(world.path(directory)).unwrap();
        }
        let before = state(&world);
        world.checkpoint(["pause", "--clean"]).success();
        world.checkpoint(["resume", "--apply"]).success();
        assert_eq!(state(&world), before, "{rules} {directories:?}");
    }
}

/// git takes flagged files for unchanged, so a clean working tree has them as they are.
#[test]
fn files_that_git_leaves_alone_stay() {
    for (flag, mark) in [("--skip-worktree", "S"), ("--assume-unchanged", "h")] {
        let world = messy();
        world.file("local", "committed\n");
        world.file("absent", "committed\n");
        world.git(["add", "local", "absent"]).success();
        world.git(["commit", "-qm", "third", "--", "local", "absent"]).success();
        world.file("only-staged", "new\n");
        world.file("same", "committed\n");
        world.git(["add", "only-staged", "same"]).success();
        world.git(["commit", "-qm", "fourth", "--", "same"]).success();
        let flagged = ["local", "absent", "only-staged", "same"];
        world.git(["update-index", flag].iter().chain(&flagged)).success();
        world.file("local", "mine\n");
        fs::remove_file(world.path("absent")).unwrap();
        // A real refresh, as `state` does, takes the one flag away.
        let state = |world: &World| {
            let index = world.git_line(["ls-files", "--stage", "-v"]);
            (crate::restore::disk(&world.repo()), index)
        };
        let before = state(&world);
        // Each that is not as HEAD has it, whether the index has it so or not.
        for args in [&["pause", "--clean", "--dry-run"][..], &["pause", "--clean"]] {
            let listed = world.checkpoint(args);
            listed.success().stdout_has("git leaves it alone");
            for path in ["local", "only-staged"] {
                listed.stdout_has(&format!("keep     {path}"));
            }
            listed.stdout_lacks("keep     same");
        }
        let stays = |when: &str| {
            assert_eq!(world.read("local"), b"mine\n", "{flag} {when}");
            assert!(!world.path("absent").exists(), "{flag} {when}");
            assert_eq!(world.read("only-staged"), b"new\n", "{flag} {when}");
            let entries = world.git_line(["ls-files", "-v"]);
            for path in flagged {
                assert!(entries.contains(&format!("{mark} {path}")), "{flag} {when}: {entries}");
            }
        };
        stays("cleaned");
        is_clean(&world, &["A  only-staged", "?? .env"]);
        world.checkpoint(["undo"]).success();
        assert_eq!(state(&world), before, "{flag} undone");
        world.checkpoint(["redo"]).success();
        stays("cleaned again");
        world.checkpoint(["resume", "--apply"]).success();
        stays("resumed");
        assert_eq!(state(&world), before, "{flag}");
    }
}

/// git takes a submodule without its directory for deleted.
#[test]
fn a_submodule_that_was_removed_gets_its_directory_again() {
    let world = World::with_commit();
    world.git(["init", "-q", "../inner"]).success();
    world
        .git(["-C", "../inner", "commit", "-q", "--allow-empty", "-m", "inner"])
        .success();
    for path in ["lib", "deep/er/lib"] {
        world
            .git([
                "-c",
                "protocol.file.allow=always",
                "submodule",
                "-q",
                "add",
                "../inner",
                path,
            ])
            .success();
    }
    world.git(["commit", "-qm", "submodules"]).success();
    world.git(["rm", "-q", "lib", "deep/er/lib"]).success();
    let before = state(&world);
    world.checkpoint(["pause", "--clean"]).success();
    is_clean(&world, &[]);
    world.checkpoint(["resume", "--apply"]).success();
    assert_eq!(state(&world), before);
    assert!(!world.path("lib").exists() && !world.path("deep/er/lib").exists());
    world.checkpoint(["undo"]).success();
    is_clean(&world, &[]);
}

/// A change of a repository.
type Change<'a> = &'a dyn Fn(&World);

/// The submodule stays, and the index has it again.
#[test]
fn submodules_that_are_staged_come_back_staged() {
    let other = |world: &World| {
        world.git(["init", "-q", "../inner"]).success();
        for message in ["one", "two"] {
            let commit = ["-C", "../inner", "commit", "-q", "--allow-empty", "-m", message];
            world.git(commit).success();
        }
    };
    let add = |world: &World, path: &str| {
        let add = [
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "-q",
            "add",
            "../inner",
            path,
        ];
        world.git(add).success();
    };
    let commit = |world: &World| {
        world.git(["commit", "-qm", "submodule"]).success();
    };
    let changes: [(&str, Change<'_>); 6] = [
        ("new", &|world| {
            add(world, "lib");
            add(world, "deep/er/lib");
        }),
        ("renamed", &|world| {
            add(world, "lib");
            commit(world);
            fs::create_dir_all(world.path("deep")).unwrap();
            world.git(["mv", "lib", "deep/lib"]).success();
        }),
        ("at another commit", &|world| {
            add(world, "lib");
            commit(world);
            world.git(["-C", "lib", "checkout", "-q", "HEAD~"]).success();
            world.git(["add", "lib"]).success();
        }),
        ("staged, then at another commit", &|world| {
            add(world, "lib");
            world.git(["-C", "lib", "checkout", "-q", "HEAD~"]).success();
        }),
        ("without .gitmodules", &|world| {
            world.git(["clone", "-q", "../inner", "lib"]).success();
            world
                .git(["-c", "advice.addEmbeddedRepo=false", "add", "lib"])
                .success();
        }),
        ("in place of a file", &|world| {
            world.file("lib", "a file\n");
            world.git(["add", "lib"]).success();
            commit(world);
            fs::remove_file(world.path("lib")).unwrap();
            world.git(["rm", "-q", "--cached", "lib"]).success();
            add(world, "lib");
        }),
    ];
    for (name, change) in changes {
        let world = World::with_commit();
        other(&world);
        change(&world);
        world.file("untracked", "untracked\n");
        let before = state(&world);
        let paused = world.checkpoint(["pause", "--clean"]);
        if name == "in place of a file" {
            // The file cannot be where a repository is.
            paused
                .code(4)
                .stderr_has("hint: move these files away first, or save without cleaning: git checkpoint pause\n");
            assert_eq!(state(&world), before, "{name}");
            continue;
        }
        paused.success();
        assert!(!world.path("untracked").exists(), "{name}");
        world.checkpoint(["resume", "--apply"]).success();
        assert_eq!(state(&world), before, "{name}");
        world.checkpoint(["undo"]).success();
        world.checkpoint(["redo"]).success();
        assert_eq!(state(&world), before, "{name}: redone");
        world.checkpoint(["undo"]).success();
        // The same onto another file: then it is merged.
        world.file("mine", "mine\n");
        world.checkpoint(["resume", "--apply"]).success();
        assert_eq!(state(&world).index, before.index, "{name}: merged");
        world.git(["fsck", "--strict"]).success();
    }
}

/// The hints name commands that take what they say.
#[test]
fn hints_about_paths_are_commands_that_take_paths() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.file("d/f", "untracked\n");
    world.file("g", "untracked\n");
    world.checkpoint(["pause", "--clean"]).success();
    world.git(["init", "-q", "d"]).success();
    let refused = world.checkpoint(["resume", "--apply"]).code(4).stderr().to_owned();
    let hint = refused
        .lines()
        .find(|line| line.contains("<pathspec>"))
        .expect(&refused);
    let command = hint.split("choose other paths: git checkpoint ").nth(1).expect(hint);
    let words: Vec<&str> = command
        .split(' ')
        .map(|word| if word == "<pathspec>" { "g" } else { word })
        .collect();
    world.checkpoint(words).success();
    assert_eq!(world.read("g"), b"untracked\n");
    world.checkpoint(["save", "-m", "saved"]).success();
    for (line, code, hint) in [
        (
            &["pause", "--", "g"][..],
            129,
            "hint: all files are saved; to restore only some: git checkpoint restore -- g\n",
        ),
        (
            &["resume", "--", "g"],
            3,
            "hint: did you mean: git checkpoint restore -- g\n",
        ),
        (
            &["resume", "s", "--apply", "--", "g", "d/f"],
            129,
            "hint: did you mean: git checkpoint restore s -- g d/f\n",
        ),
    ] {
        world.checkpoint(line).code(code).stderr_has(hint);
    }
}

/// A `.git` that is no repository makes a directory no repository, for git and here.
#[test]
fn directories_with_a_stale_git_file_come_back() {
    let stale: [(&str, Change<'_>); 5] = [
        ("a file that leads nowhere", &|world| {
            world.file("d/.git", "gitdir: ../gone\n");
        }),
        ("a file with nonsense", &|world| world.file("d/.git", "nonsense\n")),
        ("an empty directory", &|world| {
            fs::create_dir_all(world.path("d/.git")).unwrap();
        }),
        ("a directory with a file", &|world| world.file("d/.git/file", "x\n")),
        ("a symlink to nowhere", &|world| {
            fs::create_dir_all(world.path("d")).unwrap();
            std::os::unix::fs::symlink("../gone", world.path("d/.git")).unwrap();
        }),
    ];
    for (name, make) in stale {
        let world = World::with_commit();
        make(&world);
        world.file("d/f", "untracked\n");
        world.file("d/deep/er", "untracked\n");
        let before = state(&world);
        world.checkpoint(["pause", "--clean"]).success();
        assert!(!world.path("d/f").exists(), "{name}");
        world.checkpoint(["resume", "--apply"]).success();
        assert_eq!(state(&world), before, "{name}");
        world.checkpoint(["undo"]).success();
        world.checkpoint(["redo"]).success();
        assert_eq!(state(&world), before, "{name}: redone");
    }
}

/// No checkpoint holds the permissions of directories, so those with special ones stay, empty.
#[test]
fn directories_with_special_permissions_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::with_commit();
    let directories = [
        ("secret", 0o700),
        ("open/inner", 0o777),
        ("usual", 0o755),
        ("empty", 0o700),
    ];
    for (directory, bits) in directories {
        fs::create_dir_all(world.path(directory)).unwrap();
        if directory != "empty" {
            world.file(format!("{directory}/f"), "x\n");
        }
        fs::set_permissions(world.path(directory), fs::Permissions::from_mode(bits)).unwrap();
    }
    let bits = |world: &World| {
        directories.map(|(directory, _)| {
            fs::metadata(world.path(directory))
                .ok()
                .map(|meta| meta.permissions().mode())
        })
    };
    let before = (state(&world), bits(&world));
    world
        .checkpoint(["pause", "--clean"])
        .success()
        .stdout_has("keep     secret")
        .stdout_has("permissions of directories are not saved (0700)");
    is_clean(&world, &[]);
    assert!(world.path("secret").is_dir() && !world.path("secret/f").exists());
    assert!(!world.path("usual").exists());
    world.checkpoint(["resume", "--apply"]).success();
    assert_eq!((state(&world), bits(&world)), before);
}

/// Everything on disk, the index with its stages, and what git says of both.
#[derive(Debug, PartialEq, Eq)]
struct State {
    files: BTreeMap<Vec<u8>, String>,
    index: String,
    status: String,
}

fn state(world: &World) -> State {
    // What git remembers of times and sizes is its own; the status is asked of the content.
    drop(world.git(["update-index", "-q", "--really-refresh"]));
    State {
        files: crate::restore::disk(&world.repo()),
        index: world.git(["ls-files", "--stage"]).success().stdout().to_owned(),
        status: world
            .git(["status", "--porcelain=v2", "--untracked-files=all"])
            .success()
            .stdout()
            .to_owned(),
    }
}

/// Nothing changed, and nothing untracked but what was left out.
fn is_clean(world: &World, but: &[&str]) {
    let status = world.git(["status", "--porcelain"]).success().stdout().to_owned();
    let left: Vec<&str> = status.lines().collect();
    assert_eq!(left, but);
}

/// A working tree with a change of every kind, and things that no checkpoint holds.
fn messy() -> World {
    let world = World::with_commit();
    world.file(".gitignore", "*.o\n");
    world.file("gone", "x\n");
    world.file("unstaged-gone", "x\n");
    world.file("run", "x\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "second"]).success();
    world.file("README.md", "staged\n");
    world.file("new-staged", "staged\n");
    world.git(["add", "README.md", "new-staged"]).success();
    world.git(["rm", "-q", "gone"]).success();
    world.file("README.md", "staged and edited\n");
    world.file("src/main.txt", "edited\n");
    fs::remove_file(world.path("unstaged-gone")).unwrap();
    world.file("untracked/deep/file", "new\n");
    fs::set_permissions(world.path("run"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("README.md", world.path("link")).unwrap();
    world.file("intended", "later\n");
    world.git(["add", "-N", "intended"]).success();
    world.file("build.o", "ignored\n");
    world.file(".env", "TOKEN=1\n");
    world
}

#[test]
fn a_hotfix_in_between() {
    let world = messy();
    world.git(["switch", "-qc", "feature"]).success();
    let before = state(&world);
    world
        .checkpoint(["pause", "--clean", "-m", "half of it"])
        .success()
        .stdout_has("Cleaned the working tree")
        .stderr_has(".env");
    is_clean(&world, &["?? .env"]);
    assert_eq!(world.read("build.o"), b"ignored\n");
    assert!(!world.path("untracked").exists(), "an empty directory is not left");
    world.git(["switch", "-q", "main"]).success();
    world.file("hotfix", "x\n");
    world.git(["add", "hotfix"]).success();
    world.git(["commit", "-qm", "hotfix"]).success();
    world.checkpoint(["save", "-m", "hotfix"]).success();
    world.git(["switch", "-q", "feature"]).success();
    world.checkpoint(["resume", "--apply"]).success();
    assert_eq!(state(&world), before);
}

/// Saves that come after it, by a person, the hook of a commit or on another machine, do not bury what was put aside.
#[test]
fn later_saves_do_not_bury_it() {
    for hook in [false, true] {
        let world = messy();
        let before = state(&world);
        world.checkpoint(["pause", "--clean", "-m", "half of it"]).success();
        if hook {
            world.checkpoint(["hooks", "install"]).success();
        }
        world.file("hotfix", "x\n");
        world.git(["add", "hotfix"]).success();
        world.git(["commit", "-qm", "hotfix"]).success();
        if !hook {
            world.checkpoint(["save", "-m", "hotfix"]).success();
            world.checkpoint(["save", "-m", "again", "--allow-empty"]).success();
        }
        world
            .checkpoint(["resume"])
            .success()
            .stdout_has("bring it back: git checkpoint resume main --apply");
        // It survives a prune.
        world.advance(5_000_000);
        world.checkpoint(["prune", "--keep-last", "1"]).success();
        world.checkpoint(["resume", "--apply"]).success().stdout_has("Applied");
        fs::remove_file(world.path("hotfix")).unwrap();
        let mut after = state(&world);
        assert_eq!(after.files, before.files, "{hook}");
        after.index = after
            .index
            .lines()
            .filter(|line| !line.ends_with("\thotfix"))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(after.index, before.index, "{hook}");
        // Back once, it is not brought again.
        world.file("hotfix", "x\n");
        world.file("src/main.txt", "edited\nand more\n");
        world.file("README.md", "edited the same line\n");
        let edited = state(&world);
        let again = world.checkpoint(["resume", "--apply"]);
        let text = again.success().stdout();
        assert!(
            ["Nothing to do", "Already up to date"]
                .iter()
                .any(|words| text.contains(words)),
            "{text}"
        );
        assert_eq!(state(&world), edited, "{hook}");
        world.checkpoint(["save", "-m", "on"]).success();
        world.checkpoint(["resume", "--apply"]).success();
        assert_eq!(state(&world), edited, "{hook}");
    }
}

/// Each output about the session says that there is work that is not in the working tree.
#[test]
fn work_that_is_put_aside_is_named_by_every_output() {
    for later in [false, true] {
        let world = World::with_commit();
        world.git(["switch", "-qc", "feat"]).success();
        for path in ["w", "v"] {
            world.file(path, "work\n");
        }
        world.checkpoint(["pause", "--clean", "-m", "half done"]).success();
        if later {
            world.file("h", "x\n");
            world.git(["add", "h"]).success();
            world.git(["commit", "-qm", "hot"]).success();
            world.checkpoint(["save", "-m", "hot"]).success();
        }
        let id = world.git_line([
            "rev-parse",
            if later {
                "checkpoints/feat~1"
            } else {
                "checkpoints/feat"
            },
        ]);
        let short = &id[..8];
        let command = "git checkpoint resume feat --apply";
        // Before anything is current, and after it.
        world
            .checkpoint(["status"])
            .success()
            .stdout_has(short)
            .stdout_has(command);
        for line in [
            &["resume"][..],
            &["resume", "--brief"],
            &["resume", "--format", "markdown"],
            &["resume", "--format", "prompt"],
            &["resume", "--format", "prompt", "--max-chars", "1000"],
            &["status"],
            &["show"],
            &["export", "--format", "handoff"],
            &["export", "--format", "markdown"],
            &["export", "--format", "html"],
            &["request", "hi"],
        ] {
            let output = world.checkpoint(line);
            output.success().stdout_has(short).stdout_has(command);
            if !line.contains(&"1000") {
                output.stdout_has("half done");
            }
        }
        world
            .checkpoint(["export", "--format", "claude-mpm", "-o", "../out"])
            .success()
            .stderr_has("the work that 'pause --clean' put aside in 1 checkpoint");
        let resumed = world.checkpoint(["resume", "--json"]).success().stdout_json();
        assert_eq!(resumed["put_aside"]["id"], id);
        assert_eq!(resumed["put_aside"]["missing_changes"], 2);
        assert_eq!(resumed["contents"]["put_aside"][0]["changes"], "2 untracked");
        let status = world.checkpoint(["status", "--json"]).success().stdout_json();
        assert_eq!(status["put_aside"][0]["command"], command);
        // A file that a person brought back is not missing.
        world.file("w", "work\n");
        let resumed = world.checkpoint(["resume", "--json"]).success().stdout_json();
        assert_eq!(resumed["put_aside"]["missing_changes"], 1);
        world
            .checkpoint(["finish", "-m", "done", "--dry-run"])
            .success()
            .stderr_has(&format!("warning: 1 change of {short} on feat is put aside: {command}"));
        world
            .checkpoint(["finish", "-m", "done"])
            .success()
            .stderr_has(&format!("warning: 1 change of {short} on feat is put aside: {command}"));
        world
            .checkpoint(["delete", "feat"])
            .success()
            .stderr_has(&format!("session 'feat' has work that is put aside ({short})"));
        world.checkpoint(["undo"]).success();
        fs::remove_file(world.path("w")).unwrap();
        // First what the latest checkpoint has, then what was put aside.
        for _ in 0..2 {
            world.checkpoint(["resume", "feat", "--apply"]).success();
        }
        assert!(world.path("w").exists() && world.path("v").exists());
        for line in [
            &["resume"][..],
            &["status"],
            &["show"],
            &["export", "--format", "handoff"],
        ] {
            let output = world.checkpoint(line);
            let text = output.success().stdout();
            assert!(!text.to_lowercase().contains("aside"), "{line:?}: {text}");
        }
    }
}

/// A file that others changed meanwhile does not have the change that was put aside.
#[test]
fn work_in_a_file_that_was_changed_since_is_still_missing() {
    for (hotfix, code) in [("zero\none\ntwo\nthree\n", 0), ("one\ntwo\nother\n", 1)] {
        let world = World::with_commit();
        world.file("src/main.txt", "one\ntwo\nmine\n");
        world.checkpoint(["pause", "--clean"]).success();
        world.file("src/main.txt", hotfix);
        world.git(["commit", "-qam", "hotfix"]).success();
        world.checkpoint(["save", "-m", "hotfix"]).success();
        for line in [
            &["status"][..],
            &["resume"],
            &["resume", "--format", "prompt"],
            &["show"],
        ] {
            let shown = world.checkpoint(line);
            shown.success().stdout_has("git checkpoint resume main --apply");
        }
        world.checkpoint(["resume", "--apply"]).code(code);
        assert!(
            String::from_utf8_lossy(&world.read("src/main.txt")).contains("mine"),
            "{hotfix}"
        );
        world.checkpoint(["status"]).success().stdout_lacks("aside");
    }
}

#[test]
fn of_several_the_latest_comes_first() {
    let world = World::with_commit();
    for name in ["one", "two"] {
        world.file(name, "work\n");
        world.checkpoint(["pause", "--clean"]).success();
    }
    world.file("three", "work\n");
    world.checkpoint(["save", "-m", "three"]).success();
    let here = |world: &World| ["one", "two", "three"].map(|name| world.path(name).exists());
    world.checkpoint(["resume", "--apply"]).success();
    assert_eq!(here(&world), [false, true, true]);
    world.checkpoint(["undo"]).success();
    assert_eq!(here(&world), [false, false, true]);
    world.checkpoint(["resume", "--apply"]).success();
    world.checkpoint(["save", "-m", "two is back"]).success();
    world.checkpoint(["resume", "--apply"]).success();
    assert_eq!(here(&world), [true; 3]);
    let nothing = world
        .checkpoint(["resume", "--apply", "--json"])
        .success()
        .stdout_json();
    assert_eq!(nothing["files"]["outcome"], "nothing");
    // What a person brought back by hand does not hide what was put aside before it.
    let world = World::with_commit();
    for name in ["one", "two"] {
        world.file(name, "work\n");
        world.checkpoint(["pause", "--clean"]).success();
    }
    for name in ["two", "three"] {
        world.file(name, "work\n");
    }
    world.checkpoint(["save", "-m", "three"]).success();
    world.checkpoint(["resume", "--apply"]).success();
    assert_eq!(here(&world), [true; 3]);
    // Another clone gets what was still put aside when the session was saved.
    let world = World::with_commit();
    world.file("one", "work\n");
    world.checkpoint(["pause", "--clean", "--session", "s"]).success();
    world.file("later", "x\n");
    world.checkpoint(["save", "-m", "later"]).success();
    world.git(["clone", "-q", ".", "../clone"]).success();
    world.enter("clone");
    world
        .git(["fetch", "-q", "origin", "refs/checkpoints/*:refs/checkpoints/*"])
        .success();
    for path in ["later", "one"] {
        world.checkpoint(["resume", "s", "--apply"]).success();
        assert!(world.path(path).exists(), "{path}");
    }
    world.checkpoint(["save", "-m", "both"]).success();
    let document = world
        .git(["show", "checkpoints/s:checkpoint.json"])
        .success()
        .stdout_json();
    assert_eq!(document.get("put_aside"), None);
}

/// Files that were edited after they were saved, or after they came back, have the saved changes.
#[test]
fn a_second_time_leaves_later_edits_alone() {
    for clean in [false, true] {
        for (at_head, saved, later) in [
            ("a\n", "a\nb\n", "a\nb\nc\n"),
            ("a\n", "b\n", "b\nc\n"),
            ("a\n", "b\n", "c\n"),
            ("a\nb\nc\n", "a\nc\n", "a\nx\nc\n"),
            ("a\n", "bin\0ary", "bin\0ary 2"),
        ] {
            let world = World::with_commit();
            world.file("f", at_head);
            world.git(["add", "f"]).success();
            world.git(["commit", "-qm", "f"]).success();
            world.file("f", saved);
            world.file("new", saved);
            if clean {
                world.checkpoint(["pause", "--clean"]).success();
                world.checkpoint(["resume", "--apply"]).success();
            } else {
                world.checkpoint(["pause"]).success();
            }
            for path in ["f", "new"] {
                world.file(path, later);
            }
            world.checkpoint(["resume", "--apply"]).success();
            assert_eq!(
                (world.read("f"), world.read("new")),
                (later.into(), later.into()),
                "{saved} {clean}"
            );
            assert_eq!(world.git_line(["ls-files", "-u"]), "");
            // A file that is as committed again gets them.
            world.file("f", at_head);
            fs::remove_file(world.path("new")).unwrap();
            world.checkpoint(["resume", "--apply"]).success();
            assert_eq!(
                (world.read("f"), world.read("new")),
                (saved.into(), saved.into()),
                "{saved} {clean}"
            );
        }
    }
}

#[test]
fn undo_brings_it_back_and_redo_cleans_again() {
    let world = messy();
    let before = state(&world);
    world.checkpoint(["pause", "--clean"]).success();
    let clean = state(&world);
    world
        .checkpoint(["undo"])
        .success()
        .stdout_has("cleaned the working tree");
    assert_eq!(state(&world), before);
    world.checkpoint(["redo"]).success();
    assert_eq!(state(&world), clean);
}

#[test]
fn a_dry_run_says_what_would_go_and_changes_nothing() {
    let world = messy();
    let before = state(&world);
    world
        .checkpoint(["pause", "--clean", "--dry-run"])
        .success()
        .stdout_has("Would clean the working tree")
        .stdout_has("untracked/deep/file")
        .stdout_has("src/main.txt");
    assert_eq!(state(&world), before);
    assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints"]), "");
}

#[test]
fn as_json_it_is_one_document() {
    let world = messy();
    let paused = world.checkpoint(["pause", "--clean", "--json"]).success().stdout_json();
    assert_eq!(
        (&paused["status"], &paused["files"]["outcome"]),
        (&"paused".into(), &"done".into())
    );
    let resumed = world
        .checkpoint(["resume", "--apply", "--json"])
        .success()
        .stdout_json();
    assert_eq!(resumed["files"]["outcome"], "done");
}

#[test]
fn it_is_refused_before_anything_is_saved() {
    // In the middle of a merge, which a clean tree would be without.
    let world = World::with_commit();
    world.git(["switch", "-qc", "other"]).success();
    world.file("README.md", "other\n");
    world.git(["commit", "-qam", "other"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.file("README.md", "main\n");
    world.git(["commit", "-qam", "main"]).success();
    world.git(["merge", "other"]).code(1);
    let before = state(&world);
    world.checkpoint(["pause", "--clean"]).code(4).stderr_has("merge");
    assert_eq!(state(&world), before);
    assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints"]), "");
    // Without a commit there is no state to go to.
    let world = World::new();
    world.file("a", "1\n");
    world.checkpoint(["pause", "--clean"]).code(4).stderr_has("no commit");
    assert_eq!(world.read("a"), b"1\n");
}

#[test]
fn unmerged_files_without_a_merge_come_back_unmerged() {
    let world = World::with_commit();
    world.file("README.md", "stashed\n");
    world.git(["stash", "-q"]).success();
    world.file("README.md", "committed\n");
    world.git(["commit", "-qam", "in the way"]).success();
    world.git(["stash", "pop"]).code(1);
    let before = state(&world);
    assert!(before.status.contains("\nu ") || before.status.starts_with("u "));
    world.checkpoint(["pause", "--clean"]).success();
    is_clean(&world, &[]);
    world.checkpoint(["resume", "--apply"]).success();
    assert_eq!(state(&world), before);
}

#[test]
fn a_commit_over_the_lines_that_were_saved_is_a_conflict() {
    for (stage, is_current) in [(false, true), (true, true), (false, false)] {
        let world = World::with_commit();
        world.file("c", "1\n2\n3\n");
        world.file("z", "z\n");
        world.git(["add", "."]).success();
        world.git(["commit", "-qm", "c"]).success();
        world.file("c", "1\nmine\n3\n");
        world.file("z", "zz\n");
        world.file("new", "new\n");
        if stage {
            world.git(["add", "c"]).success();
        }
        world.checkpoint(["save", "-m", "x"]).success();
        if !is_current {
            world.checkpoint(["pause"]).success();
        }
        world.git(["reset", "-q", "--hard"]).success();
        fs::remove_file(world.path("new")).unwrap();
        world.file("c", "1\ntheirs\n3\n");
        world.git(["commit", "-qam", "t"]).success();
        world.checkpoint(["resume", "--apply"]).code(1).stdout_has("conflict");
        assert_eq!(world.git_line(["ls-files", "--unmerged"]).lines().count(), 3);
        let merged = String::from_utf8(world.read("c")).unwrap();
        assert!(merged.contains("mine") && merged.contains("theirs"), "{merged}");
        assert_eq!(
            (world.read("z"), world.read("new")),
            (b"zz\n".to_vec(), b"new\n".to_vec())
        );
    }
}

#[test]
fn onto_other_commits_the_changes_are_merged_and_staged_again() {
    let world = World::with_commit();
    world.file("README.md", "staged\n");
    world.git(["add", "README.md"]).success();
    world.file("src/main.txt", "one\ntwo\nthree\nfour\n");
    world.checkpoint(["pause", "--clean"]).success();
    world.file("src/main.txt", "zero\none\ntwo\nthree\n");
    world.git(["commit", "-qam", "elsewhere in the same file"]).success();
    world.checkpoint(["resume", "--apply"]).success();
    assert_eq!(world.read("src/main.txt"), b"zero\none\ntwo\nthree\nfour\n");
    world
        .git(["status", "--porcelain"])
        .success()
        .stdout_is("M  README.md\n M src/main.txt\n");
    // Where the same lines changed there is a conflict, and the index has its stages.
    world.checkpoint(["undo"]).success();
    is_clean(&world, &[]);
    world.file("README.md", "other\n");
    world.git(["commit", "-qam", "the same line"]).success();
    world.checkpoint(["resume", "--apply"]).code(1).stdout_has("conflict");
    assert_eq!(world.git_line(["ls-files", "--unmerged"]).lines().count(), 3);
    assert_eq!(world.git_line(["diff", "--name-only", "--diff-filter=U"]), "README.md");
}

#[test]
fn resume_restore_brings_every_file_back() {
    let world = messy();
    let before = state(&world);
    world.checkpoint(["pause", "--clean"]).success();
    world.file("src/main.txt", "something else\n");
    world.file("later", "x\n");
    world.checkpoint(["resume", "--restore"]).success();
    assert_eq!(state(&world), before);
}

#[test]
fn at_a_terminal_one_question_brings_the_changes_back() {
    for (answer, back) in [("y\n", true), ("\n", false)] {
        let world = messy();
        let before = state(&world);
        world.checkpoint(["pause", "--clean"]).success();
        let clean = state(&world);
        Terminal::new(100, "dumb")
            .answer("now? [y/N]", answer)
            .run(&world, PROGRAM, ["resume"]);
        assert_eq!(state(&world), if back { before } else { clean });
    }
}

#[test]
fn apply_and_restore_mean_the_current_session() {
    let world = World::with_commit();
    world.file("README.md", "edited\n");
    world.checkpoint(["save", "-m", "edited"]).success();
    for command in ["apply", "restore"] {
        world.git(["checkout", "-q", "--", "."]).success();
        world.checkpoint([command]).success();
        assert_eq!(world.read("README.md"), b"edited\n", "{command}");
    }
}

/// git takes a file for changed, without reading it, when its length is not the one in the index.
#[test]
fn files_that_are_written_with_other_line_ends_are_clean_for_git() {
    for rule in ["core.autocrlf", "attribute"] {
        let world = World::with_commit();
        world.file("a", "1\n2\n");
        world.file("b", "x\n");
        if rule == "attribute" {
            world.file(".gitattributes", "* text eol=crlf\n");
        }
        world.git(["add", "--all"]).success();
        world.git(["commit", "-qm", "lines"]).success();
        if rule != "attribute" {
            world.git(["config", rule, "true"]).success();
        }
        let clean = |world: &World| world.git_line(["status", "--porcelain"]);
        assert_eq!(clean(&world), "", "{rule}");
        world.file("a", "1\n2\nmore\n");
        world.checkpoint(["pause", "--clean", "-m", "hold"]).success();
        assert_eq!(clean(&world), "", "{rule}");
        assert_eq!(world.read("a"), b"1\r\n2\r\n", "{rule}");
        world.git(["switch", "-qc", "other"]).success();
        world.git(["switch", "-q", "main"]).success();
        world.checkpoint(["undo"]).success();
        assert_eq!(world.read("a"), b"1\n2\nmore\n", "{rule}");
        assert_eq!(clean(&world), " M a", "{rule}");
        world.checkpoint(["redo"]).success();
        assert_eq!(clean(&world), "", "{rule}");
        // The same of a restore: one path, without the index.
        world.checkpoint(["save", "-m", "clean"]).success();
        world.file("b", "other\n");
        world.checkpoint(["restore", "@", "--force", "--", "b"]).success();
        assert_eq!(clean(&world), "", "{rule}");
    }
}

/// A file with other line ends than a checkout would give it is clean for git once it was added, and is so again.
#[test]
fn files_with_line_ends_of_their_own_are_clean_for_git_when_they_come_back() {
    let (lf, crlf, mixed) = ("1\n2\n", "1\r\n2\r\n", "1\r\n2\n");
    for (setting, attributes, forms) in [
        ("false", "* text=auto\n", [crlf, mixed]),
        ("false", "* text eol=lf\n", [crlf, mixed]),
        ("input", "", [crlf, mixed]),
        ("true", "", [lf, mixed]),
        ("false", "* text eol=crlf\n", [lf, mixed]),
    ] {
        let world = World::with_commit();
        world.git(["config", "core.autocrlf", setting]).success();
        world.file(".gitattributes", attributes);
        world.file("other", "committed\n");
        for (name, form) in ["a", "b"].iter().zip(forms) {
            world.file(name, form);
        }
        world.git(["add", "--all"]).success();
        world.git(["commit", "-qm", "lines"]).success();
        let status = || world.git_line(["status", "--porcelain"]);
        assert_eq!(status(), "", "{setting} {attributes}");
        let come_back = |was: &str| {
            world.checkpoint(["pause", "--clean"]).success();
            assert_eq!(status(), "", "{setting} {attributes}");
            world.checkpoint(["resume", "--apply"]).success();
            assert_eq!(status(), was, "{setting} {attributes}");
            world.checkpoint(["undo"]).success();
            assert_eq!(status(), "", "{setting} {attributes}");
            world.checkpoint(["redo"]).success();
            assert_eq!(status(), was, "{setting} {attributes}");
            for (name, form) in ["a", "b"].iter().zip(forms) {
                assert_eq!(world.read(name), form.as_bytes(), "{setting} {attributes}");
            }
        };
        world.file("other", "changed\n");
        come_back(" M other");
        // The same where its line ends are all that is new in it, and it is staged.
        world.file("other", "one\r\ntwo\n");
        world.git(["add", "other"]).success();
        come_back("M  other");
        assert_eq!(world.read("other"), b"one\r\ntwo\n", "{setting} {attributes}");
    }
}

/// Work that came back and was lost by a reset is named again, with a command that works.
#[test]
fn work_that_a_reset_took_after_it_came_back_is_named() {
    let world = World::with_commit();
    world.file("f", "1\n");
    world.git(["add", "f"]).success();
    world.git(["commit", "-qm", "f"]).success();
    world.file("f", "work\n");
    world.file("new", "work\n");
    world.checkpoint(["pause", "--clean", "-m", "work"]).success();
    world.advance(60);
    world.checkpoint(["resume", "--apply"]).success();
    world.checkpoint(["status"]).success().stdout_lacks("aside");
    world.git(["reset", "-q", "--hard"]).success();
    let status = world.checkpoint(["status"]).success().stdout().to_owned();
    let command = status.split("git checkpoint apply ").nth(1);
    let command = command.unwrap_or_else(|| panic!("{status}")).lines().next().unwrap();
    let words: Vec<&str> = std::iter::once("apply").chain(command.split_whitespace()).collect();
    world.checkpoint(words).success();
    assert_eq!(
        (world.read("f"), world.read("new")),
        (b"work\n".to_vec(), b"work\n".to_vec())
    );
    world.checkpoint(["status"]).success().stdout_lacks("aside");
    // A change of one file among several is an edit.
    world.file("f", "1\n");
    world.file("new", "other\n");
    world.checkpoint(["status"]).success().stdout_lacks("aside");
}
