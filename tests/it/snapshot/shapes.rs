//! Every shape of repository in `fixtures/repos`: a script builds it, its head says what is to be expected of a
//! snapshot compared with git's own word, and here all of it is checked.
//!
//! `cargo test --test it shapes -- --nocapture` prints the table of shapes, verdicts and reasons. The keys of a head:
//! `Shape`, `Verdict` (`same` as git, `differs` from git, `git-refuses`,
//! `refused` with `Error`), `Reason`; what the lists hold, line by line
//! (`Skipped`, `Raw`, `Held`, `Modes`, `EmptyDirs`, or `any`) and how many lines (`Conflicts`); for single paths
//! `Submodule` (changed, or with `?` not looked through); `Exact` (the blob has the bytes on disk), `Missing` (not in the tree), `AsIndex` (the entry of the index);
//! `Variable` for the environment; `Needs` a program or `root`; `User: yes` to run as an ordinary user;
//! `Fingerprint: no` and `Fsck: dirty` where the test itself cannot look or HEAD is at fault already.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::support::{World, own_program};

use super::child::{Setting, Taken, take_with};
use super::reference::{assert_same, assert_same_index, faultless, git, git_tree};

/// A script and its head.
struct Shape {
    name: String,
    script: PathBuf,
    head: Vec<(String, String)>,
}

impl Shape {
    fn all(&self, key: &str) -> Vec<&str> {
        self.head
            .iter()
            .filter(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    fn one(&self, key: &str) -> Option<&str> {
        self.all(key).first().copied()
    }

    /// The tool or system feature that is missing in this run.
    fn lacks(&self) -> Option<&str> {
        self.all("Needs").into_iter().find(|need| match *need {
            "root" => !is_root(),
            program => !std::env::split_paths(&std::env::var_os("PATH").unwrap())
                .any(|directory| directory.join(program).exists()),
        })
    }
}

fn shapes() -> Vec<Shape> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join("repos");
    let mut scripts: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    scripts.sort();
    let of = |script: PathBuf| {
        let text = fs::read_to_string(&script).unwrap();
        let head = text.lines().map_while(|line| line.strip_prefix("# ")?.split_once(": "));
        Shape {
            name: script.file_stem().unwrap().to_str().unwrap().to_owned(),
            head: head.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            script,
        }
    };
    scripts.into_iter().map(of).collect()
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}

#[test]
fn every_shape_gives_the_right_tree() {
    println!("{}", check_all(false));
}

#[test]
fn every_shape_that_root_would_hide_gives_the_right_tree() {
    if !is_root() {
        println!("{}", check_all(true));
        return;
    }
    // The same test once more as somebody whom permissions concern.
    let name = "snapshot::shapes::every_shape_that_root_would_hide_gives_the_right_tree";
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let output = std::process::Command::new("setpriv")
        .args(user)
        .arg(own_program())
        .args([name, "--exact", "--nocapture"])
        .env("HOME", "/nonexistent")
        .current_dir("/")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("1 passed"), "{text}");
    println!("{text}");
}

/// Checks the shapes for root or for users, and gives the table of what came out.
fn check_all(as_user: bool) -> String {
    let shapes: Vec<_> = shapes()
        .into_iter()
        .filter(|shape| shape.one("User").is_some() == as_user)
        .collect();
    assert!(!shapes.is_empty());
    let next = Mutex::new(shapes.iter());
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(shape) = { next.lock().unwrap().next() } {
                    let result = std::panic::catch_unwind(|| check(shape));
                    rows.lock()
                        .unwrap()
                        .push((shape, result.map_err(|panic| message(&*panic))));
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|(shape, _)| &shape.name);
    let mut failures = String::new();
    let mut table = String::new();
    for (shape, result) in &rows {
        let verdict = match (result, shape.lacks()) {
            (Err(why), _) => {
                writeln!(failures, "\n== {}: {why}", shape.name).unwrap();
                "FAILED"
            }
            (Ok(()), Some(_)) => "not run",
            (Ok(()), None) => shape.one("Verdict").unwrap(),
        };
        let reason = shape.one("Reason").unwrap_or_default();
        let what = shape.one("Shape").unwrap();
        writeln!(table, "| {} | {what} | {verdict} | {reason} |", shape.name).unwrap();
    }
    assert!(failures.is_empty(), "{failures}\n{table}");
    table
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_default()
}

fn check(shape: &Shape) {
    if shape.lacks().is_some() {
        return;
    }
    let world = World::without_repository();
    let script = shape.script.to_str().unwrap();
    world.command("sh", [script]).run().success();
    let variables: Vec<_> = shape
        .all("Variable")
        .into_iter()
        .map(|line| line.split_once('=').unwrap())
        .collect();
    let setting = Setting {
        variables: &variables,
        ..Setting::default()
    };
    // The fingerprint names files by path and goes down by recursion, which the deepest trees do not allow.
    let before = shape.one("Fingerprint").is_none().then(|| world.fingerprint());
    let taken = take_with(&world, &setting);
    if let Some(before) = before {
        world.fingerprint().assert_same_as(&before);
    }
    if let Some(expected) = shape.one("Error") {
        assert_eq!(shape.one("Verdict"), Some("refused"));
        let error = taken.error().unwrap_or("a snapshot instead of an error");
        assert!(error.starts_with(expected), "{error}");
        return;
    }
    if let Some(error) = taken.error() {
        panic!("no snapshot: {error}");
    }
    // What is wrong with HEAD already is none of the snapshot's faults.
    if shape.one("Fsck").is_none() {
        faultless(&world, &setting, &taken);
    }
    lists(shape, &taken);
    paths(shape, &world, &setting, &taken);
    match shape.one("Verdict").unwrap() {
        "same" => assert_same(&world, &setting, &taken),
        "differs" => {
            let tree = git_tree(&world, &setting).unwrap_or_else(|why| panic!("git refuses: {why}"));
            assert_ne!(taken.tree(), tree, "the same as git's");
        }
        "git-refuses" => assert!(git_tree(&world, &setting).is_err(), "git does not refuse"),
        other => panic!("unknown verdict '{other}'"),
    }
    if shape.one("Conflicts").is_none() {
        assert_same_index(&world, &setting, &taken);
    }
}

fn lists(shape: &Shape, taken: &Taken) {
    for (key, list) in [
        ("Skipped", "skipped"),
        ("Raw", "raw"),
        ("Held", "held"),
        ("Modes", "modes"),
        ("EmptyDirs", "empty-dirs"),
    ] {
        let expected = shape.all(key);
        if expected != ["any"] {
            assert_eq!(taken.list(list), expected, "{list}");
        }
    }
    assert_eq!(
        taken.submodules(),
        shape.all("Submodule"),
        "submodules with changes of their own"
    );
    let conflicts = taken.list("conflicts");
    match shape.one("Conflicts") {
        Some("any") => assert!(!conflicts.is_empty()),
        number => assert_eq!(conflicts.len().to_string(), number.unwrap_or("0"), "{conflicts:?}"),
    }
}

fn paths(shape: &Shape, world: &World, setting: &Setting<'_>, taken: &Taken) {
    let listed = |path: &str| {
        git(world, setting, &["ls-tree", taken.tree(), path])
            .stdout()
            .to_owned()
    };
    for path in shape.all("Exact") {
        let blob = git(
            world,
            setting,
            &["cat-file", "blob", &format!("{}:{path}", taken.tree())],
        );
        assert_eq!(blob.stdout_bytes(), world.read(path), "{path}\n{blob}");
    }
    for path in shape.all("Missing") {
        assert_eq!(listed(path), "", "{path}");
    }
    for path in shape.all("AsIndex") {
        let entry = git(world, setting, &["ls-files", "--stage", path]).stdout().to_owned();
        let id = entry.split(' ').nth(1).unwrap();
        assert!(listed(path).contains(id), "{path}: {} instead of {entry}", listed(path));
    }
}
