//! Questions before something is destroyed: without a terminal nothing is done unless an option answers.

use crate::support::{PROGRAM, Terminal, World};

/// A session with a message, a file and a deleted sibling, and a finished one on a remote.
fn full() -> World {
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../hub"]).success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.git(["push", "-q", "origin", "main"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    world.checkpoint(["finish", "-m", "done"]).success();
    world.checkpoint(["push", "origin", "main"]).success();
    world.checkpoint(["start", "other"]).success();
    world.file("other.txt", "other\n");
    world
        .checkpoint(["message", "add", "--role", "user", "hello"])
        .success();
    world.checkpoint(["save", "-m", "other"]).success();
    world.checkpoint(["start", "deleted"]).success();
    world.checkpoint(["switch", "other"]).success();
    world.checkpoint(["delete", "deleted"]).success();
    world
}

fn refs(world: &World) -> [String; 2] {
    let hub = world.git_line(["-C", "../hub", "for-each-ref"]);
    [world.git_line(["for-each-ref"]), hub]
}

/// The commands that ask at a terminal because they cannot be undone, or not from here. 'prune --trash' is none of them: the
/// option says it already, and asks at a terminal only.
const DESTROYERS: &[&[&str]] = &[
    &["clear", "--messages"],
    &["clear", "--all"],
    &["purge", "--", "other.txt"],
    &["purge", "other"],
    &["remote", "prune", "--finished"],
];

/// The command with an option.
fn with<'a>(command: &[&'a str], option: &'a str) -> Vec<&'a str> {
    let split = command.iter().position(|word| *word == "--");
    let (words, paths) = command.split_at(split.unwrap_or(command.len()));
    [words, &[option], paths].concat()
}

#[test]
fn what_cannot_be_undone_is_not_done_unasked() {
    let world = full();
    for command in DESTROYERS {
        let before = refs(&world);
        let list = std::fs::read(world.path(".git/checkpoint/undo.jsonl")).unwrap();
        world
            .checkpoint(*command)
            .code(129)
            .stderr_has("without a terminal")
            .stderr_has("give --yes to answer yes");
        assert_eq!(refs(&world), before, "{command:?}");
        assert_eq!(
            std::fs::read(world.path(".git/checkpoint/undo.jsonl")).unwrap(),
            list,
            "{command:?}"
        );
        world.checkpoint(with(command, "--dry-run")).success();
        assert_eq!(refs(&world), before, "the plan of {command:?}");
    }
    for command in DESTROYERS {
        let world = full();
        let before = refs(&world);
        world.checkpoint(with(command, "--yes")).success();
        assert_ne!(refs(&world), before, "{command:?}");
    }
}

/// An empty trash asks nothing, nor does a save that prunes automatically, nor a script.
#[test]
fn the_trash_is_asked_about_at_a_terminal_where_there_is_something() {
    let world = World::with_commit();
    world.git(["config", "checkpoint.autoPrune", "true"]).success();
    world.git(["config", "checkpoint.keepLast", "1"]).success();
    world.checkpoint(["prune", "--trash"]).success();
    for n in 1..=3 {
        world.advance(60);
        world
            .checkpoint(["save", "--allow-empty", "-m", &format!("n{n}")])
            .success();
    }
    let trash = ["for-each-ref", "--format=%(refname)", "refs/checkpoints-trash"];
    assert_ne!(world.git_line(trash), "");
    // At a terminal, no is the usual answer; in a script the option is one.
    let terminal = Terminal::new(80, "xterm").env("NO_COLOR", "1").answer("[y/N] ", "\n");
    let screen = terminal.run(&world, PROGRAM, ["prune", "--trash"]).text();
    assert!(screen.contains("Permanently delete"), "{screen}");
    assert_ne!(world.git_line(trash), "");
    world.checkpoint(["prune", "--trash"]).success();
    assert_eq!(world.git_line(trash), "");
}
