//! Random working trees and indexes against git's own tree.
//!
//! Each case builds a small repository by random steps in two rounds, with few names so that files, directories and links
//! get in each other's way, and compares both trees with git's. A failure prints the steps, which proptest has made as
//! few as possible.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::World;

use super::child::Setting;
use super::reference::{assert_same, sound};

/// A step that changes the working tree or the index.
#[derive(Clone, Debug)]
enum Step {
    Write(String, u8),
    Link(String, String),
    Remove(String),
    Executable(String, bool),
    Ignore(String, Vec<String>),
    Attributes(String, Vec<String>),
    Add(String),
    AddAll,
    Forget(String),
    Announce(String),
    AssumeUnchanged(String, bool),
    Commit,
    Touch(String),
}

const CONTENTS: [&[u8]; 7] = [b"", b"a\n", b"b\n", b"x\r\ny\r\n", b"x\ny\r\n", b"\0\r\n", b"$Id$\n"];

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("a"), Just("b"), Just("a.b"), Just("a-b"), Just("c"), Just("a0")].prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    proptest::collection::vec(name(), 1..4).prop_map(|names| names.join("/"))
}

fn pattern() -> impl Strategy<Value = String> {
    prop_oneof![
        name(),
        name().prop_map(|name| format!("/{name}")),
        name().prop_map(|name| format!("{name}/")),
        name().prop_map(|name| format!("!{name}")),
        Just("*".to_owned()),
        Just("a*".to_owned()),
        (name(), name()).prop_map(|(one, two)| format!("{one}/{two}")),
        name().prop_map(|name| format!("**/{name}")),
        name().prop_map(|name| format!("{name}/**")),
        name().prop_map(|name| format!("{name}/*")),
    ]
}

fn rule() -> impl Strategy<Value = String> {
    let attribute = prop_oneof![
        Just("text"),
        Just("-text"),
        Just("text=auto"),
        Just("eol=lf"),
        Just("binary"),
        Just("filter=upper"),
        Just("!text"),
        Just("-crlf"),
    ];
    (
        pattern().prop_filter("git refuses these", |pattern| !pattern.starts_with('!')),
        attribute,
    )
        .prop_map(|(pattern, attribute)| format!("{pattern} {attribute}"))
}

fn directory() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), name().prop_map(|name| format!("{name}/"))]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (path(), 0u8..7).prop_map(|(path, content)| Step::Write(path, content)),
        2 => (path(), name()).prop_map(|(path, target)| Step::Link(path, target)),
        4 => path().prop_map(Step::Remove),
        1 => (path(), any::<bool>()).prop_map(|(path, on)| Step::Executable(path, on)),
        2 => (directory(), proptest::collection::vec(pattern(), 1..3)).prop_map(|(directory, lines)| Step::Ignore(directory, lines)),
        1 => (directory(), proptest::collection::vec(rule(), 1..3)).prop_map(|(directory, lines)| Step::Attributes(directory, lines)),
        2 => path().prop_map(Step::Add),
        2 => Just(Step::AddAll),
        1 => path().prop_map(Step::Forget),
        1 => path().prop_map(Step::Announce),
        1 => (path(), any::<bool>()).prop_map(|(path, on)| Step::AssumeUnchanged(path, on)),
        2 => Just(Step::Commit),
        1 => path().prop_map(Step::Touch),
    ]
}

/// Removes whatever is at a path.
fn clear(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Makes room for a path, replacing files by directories on the way.
fn make_room(world: &World, path: &str) -> std::path::PathBuf {
    let mut at = world.repo();
    let names: Vec<_> = path.split('/').collect();
    for name in &names[..names.len() - 1] {
        at.push(name);
        if !fs::symlink_metadata(&at).is_ok_and(|meta| meta.is_dir()) {
            clear(&at);
            fs::create_dir(&at).unwrap();
        }
    }
    at.push(names[names.len() - 1]);
    clear(&at);
    at
}

fn apply(world: &World, step: &Step) {
    match step {
        Step::Write(path, content) => fs::write(make_room(world, path), CONTENTS[usize::from(*content)]).unwrap(),
        Step::Link(path, target) => std::os::unix::fs::symlink(target, make_room(world, path)).unwrap(),
        Step::Remove(path) => clear(&world.path(path)),
        Step::Executable(path, on) => {
            use std::os::unix::fs::PermissionsExt;
            let path = world.path(path);
            if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file()) {
                let mode = if *on { 0o755 } else { 0o644 };
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        Step::Ignore(directory, lines) => {
            fs::write(
                make_room(world, &format!("{directory}.gitignore")),
                lines.join("\n") + "\n",
            )
            .unwrap();
        }
        Step::Attributes(directory, lines) => {
            fs::write(
                make_room(world, &format!("{directory}.gitattributes")),
                lines.join("\n") + "\n",
            )
            .unwrap();
        }
        // These may fail, for want of such a path or because git has reasons; the state is then as it was.
        Step::Add(path) => drop(world.git(["add", "--force", "--", path])),
        Step::AddAll => drop(world.git(["add", "--all"])),
        Step::Forget(path) => drop(world.git(["rm", "-r", "--quiet", "--cached", "--", path])),
        Step::Announce(path) => drop(world.git(["add", "-N", "--", path])),
        Step::AssumeUnchanged(path, on) => {
            let flag = if *on {
                "--assume-unchanged"
            } else {
                "--no-assume-unchanged"
            };
            drop(world.git(["update-index", flag, "--", path]));
        }
        Step::Commit => drop(world.git(["commit", "--quiet", "--allow-empty", "-m", "x"])),
        Step::Touch(path) => {
            let path = world.path(path);
            if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file()) {
                let times = fs::FileTimes::new()
                    .set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000));
                fs::File::options()
                    .write(true)
                    .open(path)
                    .unwrap()
                    .set_times(times)
                    .unwrap();
            }
        }
    }
}

fn case(steps: &[Vec<Step>; 2], autocrlf: bool) {
    let world = World::new();
    world.git(["config", "filter.upper.clean", "tr a-z A-Z"]).success();
    if autocrlf {
        world.git(["config", "core.autocrlf", "input"]).success();
    }
    let mut held = Vec::<String>::new();
    for round in steps {
        for step in round {
            apply(&world, step);
        }
        // What attributes do to a file that is unchanged otherwise depends on whether git looks at it again, which it does
        // when file and index are of the same second: with an index that old it looks at all of them, and so do we.
        let index = world.path(".git/index");
        if index.exists() && steps.iter().flatten().any(|step| matches!(step, Step::Attributes(..))) {
            world
                .command("touch", ["-d", "@1", index.to_str().unwrap()])
                .run()
                .success();
        }
        // git believes this flag; what it hides is compared after taking it away.
        let options = serde_json::json!({ "cache": world.root().join("cache").to_str().unwrap(), "held": held });
        let setting = Setting {
            options,
            ..Setting::default()
        };
        let taken = sound(&world, &setting);
        held = vec![taken.tree().to_owned(), taken.index_tree().to_owned()];
        let flagged = world.git(["ls-files", "-v", "-z"]).stdout().to_owned();
        for path in flagged.split('\0').filter_map(|line| line.strip_prefix("h ")) {
            world
                .git(["update-index", "--no-assume-unchanged", "--", path])
                .success();
        }
        if taken.list("raw").is_empty() {
            assert_same(&world, &setting, &taken);
        } else {
            // Where a checkout would give other bytes, ours has the bytes and git's tree its form of them.
            let listed = world
                .git(["ls-tree", "-r", "-z", "--name-only", taken.tree()])
                .stdout()
                .to_owned();
            let git = super::reference::git_tree(&world, &setting).unwrap();
            let theirs = world
                .git(["ls-tree", "-r", "-z", "--name-only", &git])
                .stdout()
                .to_owned();
            assert_eq!(listed, theirs);
            for path in taken.list("raw") {
                let blob = world.git(["cat-file", "blob", &format!("{}:{path}", taken.tree())]);
                assert_eq!(blob.stdout_bytes(), world.read(path), "{path}");
            }
        }
    }
}

#[test]
fn random_work_trees_give_gits_trees() {
    // A case takes some tenths of a second, nearly all of it git's.
    let cases = std::env::var("CHECKPOINT_TEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(12);
    let config = Config {
        cases,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..Config::default()
    };
    let strategy = (
        [
            proptest::collection::vec(step(), 1..25),
            proptest::collection::vec(step(), 1..12),
        ],
        any::<bool>(),
    );
    TestRunner::new(config)
        .run(&strategy, |(steps, autocrlf)| {
            case(&steps, autocrlf);
            Ok(())
        })
        .unwrap();
}
