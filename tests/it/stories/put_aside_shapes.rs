//! `pause --clean` and `resume --apply` on every shape of repository in `fixtures/repos`, next to `git stash -u` and `git
//! stash pop --index`.
//!
//! `cargo test --test it put_aside_shapes -- --nocapture` prints a row for each shape that is not exact with both, and the
//! sums. The heads of the scripts are described in `snapshot/shapes.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::support::{Output, PROGRAM, World, as_nobody};

/// A script and what its head says.
struct Shape {
    name: String,
    script: PathBuf,
    head: Vec<(String, String)>,
}

impl Shape {
    fn of(script: PathBuf) -> Self {
        let text = fs::read_to_string(&script).unwrap();
        let head = text.lines().map_while(|line| line.strip_prefix("# ")?.split_once(": "));
        Self {
            name: script.file_stem().unwrap().to_string_lossy().into_owned(),
            head: head.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            script,
        }
    }

    fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        let found = self.head.iter().filter(move |(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }

    fn has(&self, key: &str) -> bool {
        self.all(key).next().is_some()
    }

    /// Whether something that it needs is missing in this run.
    fn lacks(&self) -> bool {
        let is_root = || std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0;
        let paths = std::env::var_os("PATH").unwrap();
        let is_here = |program: &str| std::env::split_paths(&paths).any(|directory| directory.join(program).exists());
        self.has("User") && !is_root()
            || self.all("Needs").any(|need| match need {
                "root" => !is_root(),
                program => !is_here(program),
            })
    }

    fn built(&self) -> World {
        let world = World::without_repository();
        world.command("sh", [&self.script]).run().success();
        if self.has("User") {
            // Commands of git are run by root, those of the program by the owner.
            world.git(["config", "--global", "safe.directory", "*"]).success();
        }
        world
    }

    fn run(&self, world: &World, program: &str, args: &[&str]) -> Output {
        let mut run = world.command(program, args);
        for (name, value) in self.all("Variable").filter_map(|line| line.split_once('=')) {
            run = run.env(name, value);
        }
        run.run()
    }

    fn checkpoint(&self, world: &World, args: &[&str]) -> Output {
        if self.has("User") {
            return as_nobody(world, args).expect("root");
        }
        self.run(world, PROGRAM, args)
    }

    fn state(&self, world: &World) -> State {
        drop(self.run(world, "git", &["update-index", "-q", "--really-refresh"]));
        let index = self.run(world, "git", &["ls-files", "--stage"]);
        State {
            files: self.files(world),
            index: if index.is_success() {
                index.stdout_bytes().to_vec()
            } else {
                fs::read(world.path(".git/index")).unwrap_or_default()
            },
        }
    }

    fn files(&self, world: &World) -> BTreeMap<Vec<u8>, String> {
        if self.name != "path-beyond-limit" {
            let mut files = crate::restore::disk(&world.repo());
            // The repository itself, where it lies in its working tree.
            files.retain(|path, _| !path.starts_with(b"repo.git"));
            return files;
        }
        // No path leads so deep; tar goes down directory by directory.
        let sum = "tar --sort=name --mtime=@0 --exclude=./.git -cf - . | sha256sum";
        let sum = world.command("sh", ["-c", sum]).run();
        BTreeMap::from([(b".".to_vec(), sum.success().stdout().to_owned())])
    }
}

/// Everything on disk, and the index with its stages.
#[derive(PartialEq, Eq)]
struct State {
    files: BTreeMap<Vec<u8>, String>,
    index: Vec<u8>,
}

/// Result of the way there and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoundTrip {
    Exact,
    /// Refused, with everything left as it was.
    Refused,
    Differs,
}

fn round_trip(shape: &Shape, world: &World, before: &State) -> (RoundTrip, String) {
    let paused = shape.checkpoint(world, &["pause", "--clean", "--json"]);
    if !paused.is_success() {
        let is_same = shape.state(world) == *before;
        let reason = paused.stderr().lines().last().unwrap_or_default().to_owned();
        return (
            if is_same {
                RoundTrip::Refused
            } else {
                RoundTrip::Differs
            },
            reason,
        );
    }
    let resumed = shape.checkpoint(world, &["resume", "--apply", "--json"]);
    let after = shape.state(world);
    if resumed.is_success() && after == *before {
        return (RoundTrip::Exact, String::new());
    }
    let differing: Vec<_> = before
        .files
        .iter()
        .filter(|(path, content)| after.files.get(*path) != Some(*content))
        .map(|(path, _)| String::from_utf8_lossy(path).into_owned())
        .collect();
    let reason = format!("{differing:?} {} {}", resumed.stderr(), resumed.stdout());
    (RoundTrip::Differs, reason)
}

fn stashed(shape: &Shape, world: &World, before: &State) -> RoundTrip {
    let done = shape.run(world, "git", &["stash", "-u"]).is_success();
    // It fails where there was nothing to stash.
    drop(shape.run(world, "git", &["stash", "pop", "--index"]));
    match (shape.state(world) == *before, done) {
        (true, true) => RoundTrip::Exact,
        (true, false) => RoundTrip::Refused,
        (false, _) => RoundTrip::Differs,
    }
}

/// Ours with what differs, and that of git.
fn both(shape: &Shape) -> (RoundTrip, String, RoundTrip) {
    let start = || {
        let world = shape.built();
        if shape.has("User") {
            // The owner changes once, and not between two looks.
            as_nobody(&world, ["--version"]).expect("root").success();
        }
        let state = shape.state(&world);
        (world, state)
    };
    let (world, before) = start();
    let (ours, reason) = round_trip(shape, &world, &before);
    // What is as it was need not be built a second time.
    let git = if ours == RoundTrip::Differs {
        let (world, before) = start();
        stashed(shape, &world, &before)
    } else {
        stashed(shape, &world, &before)
    };
    (ours, reason, git)
}

#[test]
fn every_shape_comes_back_where_git_stash_brings_it_back_and_where_it_does_not() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/repos");
    let entries = fs::read_dir(directory).unwrap();
    let mut scripts: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    scripts.sort();
    let shapes: Vec<Shape> = scripts.into_iter().map(Shape::of).collect();
    let next = Mutex::new(shapes.iter().filter(|shape| !shape.lacks()));
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(shape) = { next.lock().unwrap().next() } {
                    let (ours, reason, git) = both(shape);
                    let row = (&shape.name, ours, git, reason);
                    rows.lock().unwrap().push(row);
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|row| row.0);
    for (name, ours, git, reason) in &rows {
        if (*ours, *git) != (RoundTrip::Exact, RoundTrip::Exact) {
            println!("| {name} | {ours:?} | git stash: {git:?} | {reason} |");
        }
    }
    let count = |wanted| {
        let ours = rows.iter().filter(|row| row.1 == wanted).count();
        (ours, rows.iter().filter(|row| row.2 == wanted).count())
    };
    let (exact, git_exact) = count(RoundTrip::Exact);
    let (refused, git_refused) = count(RoundTrip::Refused);
    let (different, git_different) = count(RoundTrip::Differs);
    println!(
        "{} shapes: {exact} exact, {refused} refused and unchanged, {different} different; git stash: {git_exact} exact, \
         {git_refused} refused and unchanged, {git_different} different",
        rows.len()
    );
    assert_eq!(different, 0);
    assert!(exact > 60 && exact >= git_exact, "{exact} {git_exact}");
}

#[test]
fn work_that_was_brought_back_and_committed_is_not_aside() {
    let world = World::with_commit();
    world.git(["switch", "--quiet", "-c", "feat"]).success();
    world.file("f", "f\n");
    world.file("README.md", "changed\n");
    world.checkpoint(["pause", "--clean", "-m", "half"]).success();
    // As long as it is aside, the other branch says so.
    world.git(["switch", "--quiet", "main"]).success();
    world.checkpoint(["status"]).success().stdout_has("half");
    world.git(["switch", "--quiet", "feat"]).success();
    world.checkpoint(["resume", "--apply"]).success();
    world.git(["add", "-A"]).success();
    world.git(["commit", "--quiet", "-m", "done"]).success();
    world.git(["switch", "--quiet", "main"]).success();
    world.file("h", "h\n");
    world.git(["add", "h"]).success();
    world.git(["commit", "--quiet", "-m", "h"]).success();
    for command in ["status", "resume"] {
        world
            .checkpoint([command])
            .success()
            .stdout_lacks("aside")
            .stdout_lacks("git checkpoint apply");
    }
    // What is brought and then thrown away is missing, as it is in no commit.
    let world = World::with_commit();
    world.git(["switch", "--quiet", "-c", "feat"]).success();
    world.file("README.md", "changed\n");
    world.checkpoint(["pause", "--clean", "-m", "half"]).success();
    world.checkpoint(["resume", "--apply"]).success();
    world.git(["reset", "--quiet", "--hard"]).success();
    world.checkpoint(["status"]).success().stdout_has("aside");
}
