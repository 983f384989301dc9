//! A pathspec that represents all files is all files, for every command that takes one.

use crate::support::{PROGRAM, World};

const SPECS: &[(&str, &[&str])] = &[
    ("", &["."]),
    ("", &["./"]),
    ("", &["src/.."]),
    ("", &[":(glob)."]),
    ("", &[":(literal)."]),
    ("", &[":/"]),
    ("", &[".", ":!none"]),
    ("src", &[".."]),
    ("src", &["../"]),
    ("src/deep", &["../.."]),
    ("src", &["..", ":!none"]),
];

fn changed() -> World {
    let world = World::with_commit();
    world.file("src/deep/x", "one\n");
    world.file("a[b]/y", "one\n");
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["save", "-m", "first"]).success();
    world.file("src/deep/x", "two\n");
    world.file("a[b]/y", "two\n");
    world
}

#[test]
fn what_leads_to_the_root_is_everything() {
    let world = changed();
    let run = |directory: &str, args: &[&str], specs: &[&str]| {
        let args = [args, &["--"], specs].concat();
        world.command(PROGRAM, args).within(world.path(directory)).run()
    };
    for (directory, specs) in SPECS {
        let named = run(directory, &["diff", "--name-only"], specs);
        assert_eq!(
            named.success().stdout(),
            "a[b]/y\nsrc/deep/x\n",
            "{specs:?} in '{directory}'"
        );
        let planned = run(directory, &["purge", "-n"], specs);
        assert!(
            planned.success().stdout().contains("src/deep/x"),
            "{specs:?}: {}",
            planned.stdout()
        );
        run(directory, &["restore", "@", "--force"], specs).success();
        assert_eq!(world.read("src/deep/x"), b"one\n", "{specs:?} in '{directory}'");
        assert_eq!(world.read("a[b]/y"), b"one\n", "{specs:?} in '{directory}'");
        world.file("src/deep/x", "two\n");
        world.file("a[b]/y", "two\n");
    }
    for specs in [&["nothing"][..], &["src", "a[c]/y"]] {
        let refused = run("", &["diff"], specs);
        let wanted = format!("pathspec '{}' did not match any file", specs[specs.len() - 1]);
        assert!(refused.code(3).stderr().contains(&wanted), "{refused}");
    }
    run("", &["restore", "@", "--force"], &["a[b]/"]).success();
    assert_eq!(
        (world.read("a[b]/y"), world.read("src/deep/x")),
        (b"one\n".to_vec(), b"two\n".to_vec())
    );
    run("", &["restore", "@", "--force"], &[".", ":!src"]).success();
    assert_eq!(world.read("src/deep/x"), b"two\n");
    run("", &["purge", "-y"], &["."]).success();
    let left = world.git(["rev-list", "--objects", "refs/checkpoints/s"]);
    assert!(!left.success().stdout().contains("deep/x"), "{}", left.stdout());
}

#[test]
fn pathspecs_come_from_whatever_can_be_read() {
    let world = changed();
    let script = |text: &str| world.command("bash", ["-c", text]).run();
    let named = script("git checkpoint diff --name-only --pathspec-from-file=<(echo .)");
    assert_eq!(named.success().stdout(), "a[b]/y\nsrc/deep/x\n");
    let empty = script("git checkpoint restore @ --pathspec-from-file=/dev/null");
    assert!(
        !empty.is_success() && empty.stderr().contains("has no pathspec"),
        "{}",
        empty.stderr()
    );
    let directory = script("git checkpoint restore @ --pathspec-from-file=src");
    assert!(
        !directory.is_success() && directory.stderr().contains("cannot read the pathspecs 'src'"),
        "{}",
        directory.stderr()
    );
    let range = world.checkpoint(["diff", "--range", "s", "s", "--", "x"]);
    assert!(
        range.code(129).stderr().contains("takes no pathspecs"),
        "{}",
        range.stderr()
    );
}

#[test]
fn verify_checks_all_when_no_session_is_current() {
    let world = changed();
    world.checkpoint(["finish"]).success();
    let nothing = World::with_commit().checkpoint(["verify"]);
    assert!(!nothing.is_success());
    let checked = world.checkpoint(["verify"]);
    assert!(checked.success().stdout().contains("1 session"), "{}", checked.stdout());
}
