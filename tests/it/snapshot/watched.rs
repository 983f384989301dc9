//! Snapshots that ask a watcher which directories had changes: they are the same as without it, whatever happens, and
//! believe it only with proof.
//!
//! The watcher is a thread of the test; where the system reports nothing, every snapshot looks at all files and the same
//! comparisons hold. What is traced says which way a snapshot took.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use git_checkpoint::model::time::Timestamp;
use git_checkpoint::ops::autosave_loop::Lookout;
use git_checkpoint::ops::{CheckpointCache, Scene};
use git_checkpoint::os::dir::Dir;
use git_checkpoint::os::{self, trace};
use git_checkpoint::store::objects::Writer;
use git_checkpoint::store::{self, ObjectId, OpenEnvironment, Repository, config::Settings};
use git_checkpoint::worktree::snapshot::watcher::{MessageKind, WatcherMessage, WatcherMoment};
use git_checkpoint::worktree::snapshot::{self, Snapshot, SnapshotOptions, SnapshotRules};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rustix::fs::{CWD, RenameFlags};

use crate::support::World;

/// The trace is one for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// How long a watcher may take until it is believed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A working tree with a watcher.
struct Watched {
    world: World,
    lookout: Option<Lookout>,
    /// The trees of the last snapshot, as a ref would hold them.
    held: Vec<ObjectId>,
    _alone: MutexGuard<'static, ()>,
}

/// The way that a snapshot took: in how many directories the watcher reported changes; `None` without a word of it.
type Way = Option<u32>;

impl Watched {
    fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        trace::begin(1);
        let world = World::with_commit();
        for path in ["lib/a", "lib/deep/b", "lib/deep/c", "other/d", "top"] {
            world.file(path, format!("{path}\n"));
        }
        world.file(".gitignore", "*.o\n/out/\n");
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "files"]).success();
        world.file("new/e", "untracked\n");
        world.checkpoint(["start", "s"]).success();
        let mut this = Self {
            world,
            lookout: None,
            held: Vec::new(),
            _alone: alone,
        };
        this.start();
        this
    }

    fn repository(&self) -> Repository {
        let variables = self.world.environment().into_iter();
        let environment = OpenEnvironment {
            cwd: self.world.repo(),
            vars: variables.map(|(name, value)| (name.into(), value)).collect(),
            ..Default::default()
        };
        store::open(&environment).unwrap()
    }

    /// Starts the watcher, in the place of the one before.
    fn start(&mut self) {
        self.lookout = None;
        let mut lookout = Lookout::new();
        self.with_scene(|scene| lookout.answer_others(scene).unwrap());
        self.lookout = Some(lookout);
    }

    fn with_scene<T>(&self, act: impl FnOnce(&Scene<'_>) -> T) -> T {
        let repo = self.repository();
        let settings = Settings::read(&repo).unwrap();
        let seen = CheckpointCache::default();
        act(&Scene {
            repo: &repo,
            settings: &settings,
            now: Timestamp::from_unix(1_800_000_000, 0),
            host: "host",
            agent: None,
            session: None,
            session_is_of_environment: false,
            home: None,
            index: None,
            seen: &seen,
            wait: Duration::from_secs(20),
        })
    }

    fn take(&self, cache: Option<&Path>) -> Snapshot {
        let repo = self.repository();
        let options = SnapshotOptions {
            rules: SnapshotRules {
                max_file_size: 1 << 20,
                max_total_size: None,
                exclude: &[],
                no_secrets: false,
                tracked_only: false,
                umask: os::umask().unwrap_or(0o022),
                index_path: None,
            },
            held: &self.held,
            cache,
            threads: 2,
            watcher: true,
        };
        let writer = Writer::durable(&repo).unwrap();
        let taken = snapshot::take(&repo, &writer, &options).unwrap();
        let _ = writer.finish().unwrap().release();
        taken
    }

    /// A snapshot with the watcher, and one that rests on nothing; they are the same.
    fn same(&mut self, what: &str) -> Way {
        trace::taken();
        let cache = self.world.path(".git/checkpoint/cache");
        let with = self.take(Some(&cache));
        let lines = trace::taken();
        let without = self.take(None);
        assert_eq!(with.tree, without.tree, "{what}");
        assert_eq!(with.index_tree, without.index_tree, "{what}");
        assert_eq!(with.lists.encode(), without.lists.encode(), "{what}");
        assert_eq!(with.status, without.status, "{what}");
        self.held = vec![with.tree, with.index_tree];
        // The other snapshot opens every file, which are doubts for the next one.
        if let Some(lookout) = &self.lookout {
            lookout.settle_doubts();
        }
        lines.iter().find_map(|line| {
            let rest = line.text.strip_prefix("the watcher reported changes in ")?;
            rest.split(' ').next()?.parse().ok()
        })
    }

    /// Lets the file system's clock go on, and has everything remembered and confirmed.
    fn settle(&mut self, what: &str) -> Way {
        std::thread::sleep(Duration::from_millis(30));
        for _ in 0..3 {
            self.same(what);
        }
        self.same(what)
    }

    /// The same, and asserts that the watcher is believed then: on a busy machine after some answers that come too late.
    fn settle_believed(&mut self, what: &str) {
        let begun = Instant::now();
        let mut way = self.settle(what);
        while way != Some(0) && begun.elapsed() < PATIENCE && self.is_reported() {
            way = self.same(what);
        }
        assert!(way == Some(0) || !self.is_reported(), "{what}: {way:?}");
    }

    /// Whether the system reports what happens where tests have their files.
    fn is_reported(&self) -> bool {
        cfg!(target_os = "linux") && Dir::open(&self.world.repo()).unwrap().local_device().is_some()
    }
}

/// A process that writes through mapped memory, which is not reported.
struct Mapper {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

const MAPPER: &str = r#"
import mmap, os, sys, time
files = {}
root = os.open("/", os.O_RDONLY)

def keep(path, file):
    files.setdefault(path, []).append(file)

def clear(path):
    if os.path.lexists(path):
        os.unlink(path)

def write(file):
    # Only the first access to a map is sure to change the times, and only if it writes.
    if os.fstat(file).st_size > 0:
        with mmap.mmap(file, 0) as map:
            map[0] = (os.pread(file, 1, 0)[0] + 1) % 128
            map.flush()

for line in sys.stdin:
    act, path = line.rstrip("\n").split(" ", 1)
    try:
        if act == "open":
            keep(path, os.open(path, os.O_RDWR))
        elif act == "merged":
            # Nothing comes between the opens, so that the system reports one.
            os.close(os.open(path, os.O_RDONLY))
            one, other = os.open(path, os.O_RDONLY), os.open(path, os.O_RDWR)
            time.sleep(0.03)
            os.close(one)
            keep(path, other)
        elif act == "linked":
            # A file that gets its name while it is open, in the place of another one.
            temporary = path + ".open"
            file = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            os.write(file, b"part\n")
            clear(path)
            os.link(temporary, path)
            os.unlink(temporary)
            keep(path, file)
        elif act == "nameless":
            file = os.open(os.path.dirname(path), os.O_RDWR | os.O_TMPFILE)
            os.write(file, b"part\n")
            clear(path)
            # With a directory Python follows the symlink, without one it does not.
            os.link(f"/proc/self/fd/{file}", path, src_dir_fd=root, follow_symlinks=True)
            # Reported as if it were made by this.
            open(path).close()
            keep(path, file)
        elif act == "write":
            for file in files.get(path, []):
                write(file)
        elif act == "all":
            for file in sum(files.values(), []):
                write(file)
        elif act == "close":
            for file in files.pop(path, []):
                os.close(file)
    except (OSError, ValueError):
        pass
    print("done", flush=True)
"#;

impl Mapper {
    /// `None` where there is no Python.
    fn start() -> Option<Self> {
        let started = Command::new("python3")
            .args(["-c", MAPPER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = started.ok()?;
        let (input, output) = (
            child.stdin.take().unwrap(),
            BufReader::new(child.stdout.take().unwrap()),
        );
        Some(Self { child, input, output })
    }

    fn act(&mut self, act: &str, path: &Path) {
        writeln!(self.input, "{act} {}", path.display()).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n");
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn only_directories_with_changes_are_looked_at() {
    let mut watched = Watched::new();
    if !watched.is_reported() {
        return;
    }
    watched.settle_believed("nothing");
    assert_eq!(watched.same("nothing"), Some(0));
    watched.world.file("lib/a", "edited\n");
    assert_eq!(watched.same("an edit"), Some(1));
    watched.settle_believed("an edit");
    watched.world.file("lib/x.o", "ignored\n");
    assert_eq!(watched.same("an ignored file"), Some(1));
    watched.settle_believed("an ignored file");
    watched.world.file("fresh/directory/file", "new\n");
    assert_eq!(watched.same("a new directory"), Some(1));
    watched.world.file("fresh/directory/file", "newer\n");
    watched.same("an edit in a directory that is hardly watched");
    watched.settle_believed("a new directory");
    watched.world.file("fresh/directory/file", "newest\n");
    assert_eq!(watched.same("an edit in it"), Some(1));
}

#[test]
fn a_file_that_is_mapped_is_looked_at_until_it_is_closed() {
    let mut watched = Watched::new();
    let Some(mut mapper) = Mapper::start() else { return };
    if !watched.is_reported() {
        return;
    }
    let file = watched.world.path("lib/deep/b");
    watched.settle_believed("nothing");
    mapper.act("open", &file);
    for round in 0..3 {
        mapper.act("write", &file);
        let way = watched.same("a write through memory");
        assert_eq!(way, Some(1), "round {round}");
        std::thread::sleep(Duration::from_millis(30));
    }
    // A watcher that starts later finds what is open already.
    watched.start();
    watched.settle("another watcher");
    for _ in 0..2 {
        mapper.act("write", &file);
        assert_eq!(watched.same("a write through memory from before"), Some(1));
        std::thread::sleep(Duration::from_millis(30));
    }
    mapper.act("write", &file);
    mapper.act("close", &file);
    watched.same("the last write");
    watched.start();
    watched.settle_believed("it is closed");
}

#[test]
fn without_proof_all_files_are_looked_at() {
    let mut watched = Watched::new();
    if !watched.is_reported() {
        return;
    }
    let settled = |watched: &mut Watched, what: &str| {
        watched.settle_believed(what);
        watched.world.file("lib/a", format!("{what}\n"));
    };
    settled(&mut watched, "the watcher ended");
    watched.lookout = None;
    assert_eq!(watched.same("the watcher ended"), None);
    watched.start();
    assert_eq!(watched.same("another watcher"), None);
    settled(&mut watched, "a directory moved");
    fs::rename(watched.world.path("lib/deep"), watched.world.path("moved")).unwrap();
    assert_eq!(watched.same("a directory moved"), None);
    settled(&mut watched, "a directory exchanged");
    fs::rename(watched.world.path("moved"), watched.world.path("lib/deep")).unwrap();
    fs::rename(watched.world.path("other"), watched.world.path("moved")).unwrap();
    assert_eq!(watched.same("a directory exchanged"), None);
    settled(&mut watched, "settings");
    watched.world.git(["config", "core.autocrlf", "input"]).success();
    assert_eq!(watched.same("settings"), None);
    settled(&mut watched, "the index");
    watched.world.git(["add", "-A"]).success();
    assert_eq!(watched.same("the index"), None);
    settled(&mut watched, "another name");
    fs::hard_link(watched.world.path("top"), watched.world.path("lib/deep/top")).unwrap();
    append(&watched.world.path("lib/deep/top"));
    watched.same("another name");
    append(&watched.world.path("lib/deep/top"));
    assert_eq!(watched.same("an edit through it"), None);
    assert_eq!(watched.settle("another name stays"), None);
}

#[test]
fn a_memory_that_others_made_is_not_vouched_for() {
    let mut watched = Watched::new();
    if !watched.is_reported() {
        return;
    }
    watched.settle_believed("nothing");
    let memory = watched.world.path(".git/checkpoint/cache.seen");
    let old = fs::read(&memory).unwrap();
    watched.world.file("lib/a", "edited\n");
    watched.settle_believed("an edit");
    assert_ne!(fs::read(&memory).unwrap(), old);
    fs::write(&memory, old).unwrap();
    assert_eq!(watched.same("an old memory"), None);
}

#[test]
fn a_question_from_another_place_is_not_answered() {
    let mut watched = Watched::new();
    if !watched.is_reported() {
        return;
    }
    watched.settle_believed("nothing");
    let cache = watched.world.path(".git/checkpoint/cache");
    let meta = Dir::open(&watched.world.repo()).unwrap().meta().unwrap();
    let question = WatcherMessage {
        kind: MessageKind::Question,
        memory: memory_sum(&cache),
        root: (meta.dev, meta.ino),
        mounts: os::mount_scope().unwrap(),
    };
    let reported = |question: WatcherMessage| question.ask(&cache, 100).unwrap().reported;
    assert_eq!(reported(question), Some(Vec::new()));
    let (root, mounts) = (question.root, question.mounts);
    let others = [
        WatcherMessage { memory: 1, ..question },
        WatcherMessage { memory: 0, ..question },
        WatcherMessage {
            root: (root.0, root.1 + 1),
            ..question
        },
        WatcherMessage {
            root: (root.0 + 1, root.1),
            ..question
        },
        WatcherMessage {
            mounts: (mounts.0, mounts.1 + 1),
            ..question
        },
    ];
    for other in others {
        assert_eq!(reported(other), None, "{other:?}");
    }
    // What was confirmed to another watcher, or for another memory, counts for nothing.
    watched.world.file("lib/a", "edited\n");
    let moment = question.ask(&cache, 100).unwrap().moment;
    let confirm = |message: WatcherMessage, watcher: u64| {
        let position = u64::MAX;
        let kind = MessageKind::Confirmation(WatcherMoment { watcher, position });
        drop(
            WatcherMessage { kind, ..message }
                .send(&cache, Duration::from_secs(5))
                .unwrap(),
        );
    };
    confirm(question, moment.watcher ^ 1);
    confirm(others[2], moment.watcher);
    confirm(others[0], moment.watcher);
    assert_eq!(reported(question).map(|reported| reported.len()), Some(1));
    confirm(question, moment.watcher);
    // The one without a memory means that something could change without a trace: then all are in doubt once more.
    assert_eq!(reported(question).map(|reported| reported.len()), Some(6));
    watched.lookout.as_ref().unwrap().settle_doubts();
    confirm(question, moment.watcher);
    assert_eq!(reported(question), Some(Vec::new()));
    // An answer about more directories than there are is none.
    watched.world.file("top", "edited\n");
    assert_eq!(question.ask(&cache, 0), None);
}

/// The checksum that identifies the memory.
fn memory_sum(cache: &Path) -> u64 {
    let bytes = fs::read(cache.with_extension("seen")).unwrap();
    let len = u32::from_le_bytes(*bytes[8..].first_chunk().unwrap()) as usize;
    u64::from_le_bytes(*bytes[12 + len - 8..].first_chunk().unwrap())
}

/// The watcher is believed: what nothing reports is not seen until it looks at everything.
#[test]
fn what_no_report_covers_is_found_by_the_watchers_own_look() {
    let mut watched = Watched::new();
    if !watched.is_reported() {
        return;
    }
    watched.settle_believed("nothing");
    let outside = watched.world.root().join("outside");
    fs::hard_link(watched.world.path("lib/a"), &outside).unwrap();
    append(&outside);
    let cache = watched.world.path(".git/checkpoint/cache");
    assert_eq!(watched.take(Some(&cache)).tree, watched.held[0], "it was believed");
    let mut lookout = watched.lookout.take().unwrap();
    watched.with_scene(|scene| lookout.turn(scene, true).unwrap());
    watched.lookout = Some(lookout);
    assert_eq!(watched.same("after the watcher's look"), None);
}

fn append(path: &Path) {
    let mut file = File::options().append(true).open(path).unwrap();
    file.write_all(b"more\n").unwrap();
}

/// Files that stay open in ways that reports do not show, and are written through memory after the watcher was believed.
#[test]
fn a_file_that_is_open_in_any_way_is_looked_at_until_it_is_closed() {
    let mut watched = Watched::new();
    let Some(mut mapper) = Mapper::start() else { return };
    if !watched.is_reported() {
        return;
    }
    for act in ["open", "merged", "linked", "nameless"] {
        for then in ["stays", "moves", "is exchanged", "gets another name"] {
            let what = format!("{act} {then}");
            let (file, other) = (watched.world.path("lib/deep/b"), watched.world.path("other/d"));
            watched.settle_believed(&what);
            mapper.act(act, &file);
            match then {
                "moves" => fs::rename(&file, &other).unwrap(),
                "is exchanged" => rustix::fs::renameat_with(CWD, &file, CWD, &other, RenameFlags::EXCHANGE).unwrap(),
                "gets another name" => {
                    fs::hard_link(&file, watched.world.path("lib/b")).unwrap();
                    watched.same(&what);
                    fs::remove_file(&file).unwrap();
                }
                _ => {}
            }
            watched.settle(&what);
            for _ in 0..2 {
                std::thread::sleep(Duration::from_millis(30));
                mapper.act("write", &file);
                watched.same(&what);
            }
            mapper.act("write", &file);
            mapper.act("close", &file);
            watched.same(&what);
            clear(&watched.world.path("lib/b"));
            for path in ["lib/deep/b", "other/d"] {
                watched.world.file(path, "text\n");
            }
        }
    }
    watched.settle_believed("all are closed");
}

/// A step that changes the working tree, the index or the watcher.
#[derive(Clone, Debug)]
enum Step {
    Write(String, u8),
    Append(String),
    Truncate(String),
    Mode(String, u32),
    /// As many bytes as before, and the time of before.
    Unnoticed(String),
    Map(&'static str, String),
    Move(String, String),
    Exchange(String, String),
    Link(String, String),
    HardLink(String, String),
    Remove(String),
    Directory(String),
    Rules(String, &'static str, u8),
    Add(String),
    Commit,
    Checkout,
    Restart,
    Look,
    Settle,
}

const RULES: [&str; 4] = ["*.o\n", "b\n", "d/\n", "a -text\n* text=auto\n"];

fn path() -> impl Strategy<Value = String> {
    let directory = prop::sample::select(vec!["", "d/", "e/", "d/f/", "d/f/g/", "h/"]);
    let name = prop::sample::select(vec!["a", "b", "c", "d", "f", "x.o"]);
    (directory, name).prop_map(|(directory, name)| format!("{directory}{name}"))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (path(), 0u8..4).prop_map(|(path, content)| Step::Write(path, content)),
        3 => path().prop_map(Step::Append),
        2 => path().prop_map(Step::Truncate),
        2 => (path(), prop::sample::select(vec![0o644, 0o755, 0o600])).prop_map(|(path, mode)| Step::Mode(path, mode)),
        3 => path().prop_map(Step::Unnoticed),
        3 => (prop::sample::select(vec!["open", "write", "write", "close"]), path()).prop_map(|(act, path)| Step::Map(act, path)),
        3 => (prop::sample::select(vec!["merged", "linked", "nameless"]), path()).prop_map(|(act, path)| Step::Map(act, path)),
        4 => Just(Step::Map("all", String::new())),
        4 => (path(), path()).prop_map(|(from, to)| Step::Move(from, to)),
        2 => (path(), path()).prop_map(|(one, other)| Step::Exchange(one, other)),
        1 => (path(), path()).prop_map(|(path, target)| Step::Link(path, target)),
        1 => (path(), path()).prop_map(|(from, to)| Step::HardLink(from, to)),
        3 => path().prop_map(Step::Remove),
        2 => path().prop_map(Step::Directory),
        2 => (prop::sample::select(vec!["", "d/", "d/f/"]), prop::sample::select(vec![".gitignore", ".gitattributes"]), 0u8..4)
            .prop_map(|(directory, file, rule)| Step::Rules(directory.to_owned(), file, rule)),
        2 => path().prop_map(Step::Add),
        1 => Just(Step::Commit),
        1 => Just(Step::Checkout),
        1 => Just(Step::Restart),
        1 => Just(Step::Look),
        4 => Just(Step::Settle),
    ]
}

fn clear(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Does a step as far as it can be done.
fn apply(watched: &mut Watched, mapper: &mut Option<Mapper>, step: &Step) {
    let full = |path: &String| watched.world.path(path);
    let is_file = |path: &String| fs::symlink_metadata(full(path)).is_ok_and(|meta| meta.is_file());
    let above = |path: &String| {
        let path = full(path);
        fs::create_dir_all(path.parent().unwrap()).map(|()| path)
    };
    match step {
        Step::Write(path, content) => {
            drop(above(path).and_then(|path| fs::write(path, [b'a' + content, b'\r', b'\n'])));
        }
        Step::Append(path) if is_file(path) => append(&full(path)),
        Step::Truncate(path) if is_file(path) => File::options()
            .write(true)
            .open(full(path))
            .unwrap()
            .set_len(1)
            .unwrap(),
        Step::Mode(path, mode) if full(path).exists() && !is_file(path) => {
            let mode = fs::Permissions::from_mode(mode | 0o700);
            drop(fs::set_permissions(full(path), mode));
        }
        Step::Mode(path, mode) if is_file(path) => {
            fs::set_permissions(full(path), fs::Permissions::from_mode(*mode)).unwrap();
        }
        Step::Unnoticed(path) if is_file(path) => {
            let file = full(path);
            let before = fs::metadata(&file).unwrap();
            let mut bytes = fs::read(&file).unwrap();
            bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1) % 128);
            fs::write(&file, bytes).unwrap();
            let open = File::options().write(true).open(&file).unwrap();
            open.set_modified(before.modified().unwrap()).unwrap();
        }
        Step::Map(act, path) => {
            if let Some(mapper) = mapper {
                mapper.act(act, &full(path));
            }
        }
        Step::Move(from, to) => drop(above(to).and_then(|to| fs::rename(full(from), to))),
        Step::Exchange(one, other) if is_file(one) && is_file(other) => {
            let _ = rustix::fs::renameat_with(CWD, full(one), CWD, full(other), RenameFlags::EXCHANGE);
        }
        Step::Link(path, target) => drop(above(path).and_then(|path| symlink(target, path))),
        Step::HardLink(from, to) if is_file(from) => {
            let made = above(to).and_then(|to| fs::hard_link(full(from), to));
            // What is ignored is not looked at, so that its second name would not be seen.
            if made.is_ok() && watched.world.git(["check-ignore", "-q", "--", to]).is_success() {
                clear(&full(to));
            }
            watched.same("a hard link");
        }
        Step::Remove(path) => clear(&full(path)),
        Step::Directory(path) => drop(fs::create_dir_all(full(path))),
        Step::Rules(directory, file, rule) => {
            let path = above(&format!("{directory}{file}"));
            drop(path.and_then(|path| fs::write(path, RULES[usize::from(*rule)])));
        }
        Step::Add(path) => drop(watched.world.git(["add", "--", path])),
        Step::Commit => drop(watched.world.git(["commit", "-qam", "x"])),
        Step::Checkout => drop(watched.world.git(["checkout", "-q", "HEAD", "--", "."])),
        Step::Restart => watched.start(),
        Step::Look => {
            let mut lookout = watched.lookout.take().unwrap();
            watched.with_scene(|scene| lookout.turn(scene, false).unwrap());
            watched.lookout = Some(lookout);
        }
        Step::Settle => drop(watched.settle("settled")),
        _ => {}
    }
}

#[test]
fn random_changes_give_the_same_as_without_a_watcher() {
    let cases = std::env::var("CHECKPOINT_TEST_CASES").ok();
    let cases = cases.and_then(|text| text.parse().ok()).unwrap_or(12);
    let config = Config {
        cases,
        max_shrink_iters: 100,
        failure_persistence: None,
        ..Config::default()
    };
    let groups = prop::collection::vec(prop::collection::vec(step(), 1..6), 1..14);
    let believed = Mutex::new(0);
    TestRunner::new(config)
        .run(&groups, |groups| {
            let mut watched = Watched::new();
            let mut mapper = Mapper::start();
            watched.settle("at first");
            for group in groups {
                for step in &group {
                    apply(&mut watched, &mut mapper, step);
                }
                let way = watched.same(&format!("{group:?}"));
                *believed.lock().unwrap() += usize::from(way.is_some());
            }
            Ok(())
        })
        .unwrap();
    let is_reported = Watched::new().is_reported();
    assert!(*believed.lock().unwrap() > 0 || !is_reported, "it was never believed");
}
