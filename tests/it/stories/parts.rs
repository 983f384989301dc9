//! `restore -p` and `apply -p`: hunks are chosen as git chooses them, from answers in a pipe.

use std::{os::unix::fs::PermissionsExt as _, process::Command};

use crate::support::{Output, PROGRAM, Terminal, World};

fn lines(edits: &[(usize, &str)]) -> String {
    let mut all: Vec<String> = (1..=40).map(|n| n.to_string()).collect();
    for (at, word) in edits {
        (*word).clone_into(&mut all[*at]);
    }
    all.join("\n") + "\n"
}

/// A session with changes in two files, a new file and a deleted one, which the working tree then lacks.
fn saved() -> World {
    let world = World::with_commit();
    for path in ["a", "b", "gone"] {
        world.file(path, lines(&[]));
    }
    world.git(["add", "--all"]).success();
    world.git(["commit", "-qm", "files"]).success();
    world.file("a", lines(&[(2, "three"), (20, "xxi"), (35, "last")]));
    world.file("b", lines(&[(2, "b"), (4, "bb")]));
    world.file("sub/new", "new\n");
    std::fs::remove_file(world.path("gone")).unwrap();
    world.checkpoint(["save", "--session", "s", "-m", "work"]).success();
    world.git(["reset", "-q", "--hard"]).success();
    world.git(["clean", "-qfd"]).success();
    world
}

fn answered(world: &World, args: &[&str], answers: &str) -> Output {
    world.command(PROGRAM, args).input(answers).run()
}

/// The files, by name and content, without the repository.
fn files(root: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    for name in ["a", "b", "gone", "sub/new"] {
        if let Ok(bytes) = std::fs::read(root.join(name)) {
            out.push((name.to_owned(), bytes));
        }
    }
    out
}

#[test]
fn answers_choose_what_git_chooses() {
    for answers in [
        "y\nn\ny\nn\ny\ny\n",
        "a\nd\nn\ny\n",
        "n\ny\nq\n",
        "j\ny\nk\nn\ny\ns\ny\nn\nn\nn\n",
        "?\ny\ny\ny\ns\nn\ny\ny\ny\n",
        "",
    ] {
        let world = saved();
        let copy = world.root().join("copy");
        Command::new("cp")
            .args(["-a"])
            .arg(world.repo())
            .arg(&copy)
            .status()
            .unwrap();
        let source = world.git_line(["rev-parse", "checkpoints/s^2"]);
        world
            .command("git", ["restore", "-p", "--source", &source])
            .within(&copy)
            .input(answers)
            .run()
            .success();
        let index = world.git_line(["ls-files", "--stage"]);
        let chosen = answered(&world, &["restore", "s", "-p"], answers);
        chosen.success();
        assert_eq!(files(&world.repo()), files(&copy), "{answers:?}\n{}", chosen.stdout());
        assert_eq!(
            world.git_line(["ls-files", "--stage"]),
            index,
            "the index stays as it is"
        );
        chosen.stdout_has("Apply this hunk to worktree [y,n,q,a,d");
        if answers.contains('y') {
            world.checkpoint(["undo"]).success();
            assert_eq!(world.git_line(["status", "--porcelain"]), "");
            world.checkpoint(["redo"]).success();
            assert_eq!(files(&world.repo()), files(&copy), "{answers:?}");
        } else {
            chosen.stderr_has("no hunk was chosen");
        }
    }
}

#[test]
fn parts_of_an_apply_keep_what_came_since() {
    let world = saved();
    world.file("a", lines(&[(38, "mine")]));
    world.checkpoint(["save", "--session", "mine", "-m", "mine"]).success();
    answered(&world, &["apply", "s", "-p", "--", "a"], "n\ny\nn\n").success();
    assert_eq!(world.read("a"), lines(&[(20, "xxi"), (38, "mine")]).into_bytes());
    assert!(world.path("gone").exists() && !world.path("sub/new").exists());
    // One hunk of a step taken back.
    world.checkpoint(["save", "--session", "mine", "-m", "more"]).success();
    world.file("a", lines(&[(5, "later"), (20, "xxi"), (38, "mine")]));
    answered(&world, &["apply", "-p", "--reverse", "mine"], "y\n").success();
    assert_eq!(world.read("a"), lines(&[(5, "later"), (38, "mine")]).into_bytes());
    // Nothing from a file reaches the terminal as it is.
    world.file("b", "\u{1b}]0;title\u{7}\n");
    world.checkpoint(["save", "--session", "t", "-m", "title"]).success();
    world.git(["checkout", "-q", "--", "b"]).success();
    let asked = answered(&world, &["restore", "t", "-p", "--", "b"], "n\n");
    asked.success().stdout_lacks("\u{1b}").stdout_lacks("\u{7}");
    world.checkpoint(["restore", "t", "-p", "--index"]).code(129);
    world.checkpoint(["restore", "t", "-p", "--", "nosuch"]).code(3);
}

#[test]
fn pathspecs_of_a_pipe_are_read_once() {
    let world = saved();
    let line = format!("{PROGRAM} restore s -p --pathspec-from-file=<(echo a)");
    let out = world.command("bash", ["-c", &line]).input("y\nn\nn\n").run();
    out.success();
    assert_eq!(world.read("a"), lines(&[(2, "three")]).into_bytes());
}

/// What an editor draws is not for the filter of what git says.
#[test]
fn the_editor_for_a_hunk_has_the_terminal() {
    let world = saved();
    let script = "#!/bin/sh\ntest -t 0 && test -t 1 && printf '\\033[2Jdrawn\\n'\nsed -i 's/^+xxi/+edited/' \"$1\"\n";
    world.file("../editor", script);
    std::fs::set_permissions(world.path("../editor"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let screen = Terminal::new(100, "xterm")
        .env("GIT_EDITOR", &world.path("../editor").display().to_string())
        .answer("[y,n,q,a,d", "n\n")
        .answer("[y,n,q,a,d", "e\n")
        .answer("[y,n,q,a,d", "q\n")
        .run(&world, PROGRAM, ["restore", "s", "-p", "--", "a"]);
    assert!(screen.text().contains("\u{1b}[2Jdrawn"), "{}", screen.text());
    assert_eq!(world.read("a"), lines(&[(20, "edited")]).into_bytes());
    world.checkpoint(["undo"]).success();
    // Without a terminal it writes where git writes.
    let asked = world
        .command(PROGRAM, ["restore", "s", "-p", "--", "a"])
        .env("GIT_EDITOR", world.path("../editor"))
        .input("n\ne\nq\n")
        .run();
    asked.success().stdout_lacks("drawn");
    assert_eq!(world.read("a"), lines(&[(20, "edited")]).into_bytes());
}
