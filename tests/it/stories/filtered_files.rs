//! Files of which a filter stores a part, as `nbstripout` does: what it leaves out is never lost without a word.

use crate::support::World;

/// A repository in which the filter of notebooks leaves out all digits. The way back may be none at all.
fn world(smudge: Option<&str>) -> World {
    let world = World::with_commit();
    world.git(["config", "filter.nb.clean", "sed s/[0-9]//g"]).success();
    if let Some(smudge) = smudge {
        world.git(["config", "filter.nb.smudge", smudge]).success();
    }
    world.file(".gitattributes", "*.nb filter=nb\n");
    world.file("t.nb", "abc\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "notebook"]).success();
    world
}

const WHOLE: &str = "abc OUTPUT777\n";

#[test]
fn a_fork_is_not_removed_with_what_no_checkpoint_holds() {
    for smudge in [Some("cat"), None] {
        for name in ["t.nb", "untracked.nb", "d/x.nb"] {
            let world = world(smudge);
            world.checkpoint(["save", "-qm", "base"]).success();
            world
                .checkpoint(["fork", "-q", "--name", "w", "--worktree", "../w"])
                .success();
            let there = world.root().join("w");
            std::fs::create_dir_all(there.join("d")).unwrap();
            std::fs::write(there.join(name), WHOLE).unwrap();
            world
                .checkpoint(["fork", "--remove", "w"])
                .code(4)
                .stderr_has(name)
                .stderr_has("--force");
            assert_eq!(std::fs::read(there.join(name)).unwrap(), WHOLE.as_bytes());
            // What this working tree has as well is not lost.
            world.file(name, WHOLE);
            world.checkpoint(["fork", "--remove", "w"]).success();
            assert!(!there.exists());
        }
    }
    let world = world(Some("cat"));
    world.checkpoint(["save", "-qm", "base"]).success();
    world
        .checkpoint(["fork", "-q", "--name", "w", "--worktree", "../w"])
        .success();
    std::fs::write(world.root().join("w/t.nb"), WHOLE).unwrap();
    world.checkpoint(["fork", "--remove", "w", "--force"]).success();
    assert!(!world.root().join("w").exists());
    // One that comes back as it was is no reason.
    world
        .checkpoint(["fork", "-q", "w", "--name", "v", "--worktree", "../v"])
        .success();
    std::fs::write(world.root().join("v/t.nb"), "abc more\n").unwrap();
    world.checkpoint(["fork", "--remove", "v"]).success();
}

#[test]
fn what_was_put_aside_comes_back_whole_whatever_was_done_since() {
    for since in ["nothing", "commit", "file", "edit", "dry run"] {
        let world = world(Some("cat"));
        world.file("t.nb", WHOLE);
        world.file("new.nb", "new 12\n");
        world.checkpoint(["pause", "--clean", "-qm", "feature"]).success();
        assert_eq!(world.read("t.nb"), b"abc\n");
        match since {
            "commit" => {
                world.git(["commit", "-q", "--allow-empty", "-m", "hotfix"]).success();
            }
            "file" => world.file("notes", "x\n"),
            "edit" => world.file("README.md", "edited\n"),
            "dry run" => {
                world.file("notes", "x\n");
                world
                    .checkpoint(["resume", "--apply", "--dry-run"])
                    .success()
                    .stdout_lacks("left out");
            }
            _ => {}
        }
        world
            .checkpoint(["resume", "--apply", "--brief"])
            .success()
            .stdout_lacks("left out");
        assert_eq!(world.read("t.nb"), WHOLE.as_bytes(), "{since}");
        assert_eq!(world.read("new.nb"), b"new 12\n", "{since}");
        world.checkpoint(["undo"]).success();
        assert_eq!(world.read("t.nb"), b"abc\n", "{since}");
        world.checkpoint(["redo"]).success();
        assert_eq!(world.read("t.nb"), WHOLE.as_bytes(), "{since}");
        // What is there already is not reported as absent.
        world.checkpoint(["apply", "@"]).success().stdout_lacks("left out");
        world.checkpoint(["verify", "--all"]).success();
    }
}

#[test]
fn of_two_works_that_are_put_aside_each_comes_back_whole() {
    let world = world(Some("cat"));
    world.file("t.nb", WHOLE);
    world.checkpoint(["pause", "--clean", "-qm", "first"]).success();
    let first = world.git_line(["rev-parse", "checkpoints/main"]);
    world.file("u.nb", "other 888\n");
    world.checkpoint(["pause", "--clean", "-qm", "second"]).success();
    world.checkpoint(["resume", "--apply", "--brief"]).success();
    assert_eq!(world.read("u.nb"), b"other 888\n");
    world.checkpoint(["apply", &first]).success().stdout_lacks("left out");
    assert_eq!(world.read("t.nb"), WHOLE.as_bytes());
}

#[test]
fn a_file_that_comes_back_with_less_says_where_the_whole_is() {
    let lines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
    let world = world(Some("cat"));
    world.file("t.nb", lines);
    world.git(["commit", "-qam", "lines"]).success();
    world.file("t.nb", lines.replace("seven", "last 7"));
    world.checkpoint(["pause", "--clean", "-qm", "feature"]).success();
    world.file("t.nb", lines.replace("one", "first"));
    let done = world
        .checkpoint(["resume", "--apply", "--json"])
        .success()
        .stdout_json();
    let stored = lines.replace("one", "first").replace("seven", "last ");
    assert_eq!(world.read("t.nb"), stored.as_bytes());
    let filtered = &done["files"]["filtered"][0];
    assert_eq!(filtered["path"], "t.nb", "{done}");
    let why = filtered["why"].as_str().unwrap();
    let id = why.rsplit(' ').next().unwrap();
    let whole = world.checkpoint(["show", &format!("{id}:t.nb")]);
    whole.success().stdout_has("last 7");
}

#[test]
fn a_fork_says_which_files_have_less_than_here() {
    let world = world(Some("cat"));
    world.file("t.nb", WHOLE);
    world.checkpoint(["save", "-qm", "one"]).success();
    let fork = |name: &str, worktree: &str| {
        let args = ["fork", "main", "--name", name, "--worktree", worktree];
        world.checkpoint(args).success().stdout().to_owned()
    };
    let out = fork("w", "../w");
    assert!(out.contains("filter") && out.contains("t.nb"), "{out}");
    assert_eq!(std::fs::read(world.root().join("w/t.nb")).unwrap(), b"abc OUTPUT\n");
    world.checkpoint(["pause", "--clean", "-qm", "aside"]).success();
    let out = fork("v", "../v");
    assert!(out.contains("the whole is in"), "{out}");
    world.checkpoint(["resume", "--apply", "--brief"]).success();
    world.file("t.nb", "abc OUTPUT\n");
    world.checkpoint(["save", "-qm", "two"]).success();
    let out = fork("u", "../u");
    assert!(!out.contains("filter"), "{out}");
}
