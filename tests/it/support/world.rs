//! A home, a repository and a clock of its own for one test, removed afterwards. Commands run in it as a user would
//! run them, but with an empty environment, so that the machine's git settings and variables cannot change the result.

use std::cell::{Cell, RefCell};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

use super::program::{PROGRAM, program_for_all, provide};
use super::template::Template;
use super::{Fingerprint, Output, normal, system};

/// 2026-01-02T03:04:05Z, when every world begins. Each command comes one second after the one before.
const START: u64 = 1_767_323_045;

/// How long a command may take before the test fails: nothing here needs a tenth of it, even on a loaded machine.
const LIMIT: Duration = Duration::from_secs(120);

/// One test's world: a directory with `home` and `repo` in it.
pub struct World {
    root: tempfile::TempDir,
    repo: RefCell<PathBuf>,
    now: Cell<u64>,
}

impl World {
    /// A home and an empty repository on branch `main`, without a commit.
    pub fn new() -> Self {
        Self::written(Template::empty(), 1)
    }

    /// A home and an empty directory `repo` that is no repository.
    pub fn without_repository() -> Self {
        super::default_signals();
        provide();
        let root = super::temporary();
        fs::create_dir(root.path().join("home")).unwrap();
        system::write(root.path());
        let repo = root.path().join("repo");
        fs::create_dir(&repo).unwrap();
        Self {
            root,
            repo: RefCell::new(repo),
            now: Cell::new(START),
        }
    }

    /// A repository with one commit of `README.md` and `src/main.txt`.
    pub fn with_commit() -> Self {
        Self::written(Template::with_commit(), 3)
    }

    /// A world whose repository git has made with so many commands.
    fn written(template: &Template, commands: u64) -> Self {
        let world = Self::without_repository();
        template.write(&world.repo());
        world.advance(commands);
        world
    }

    /// Commits all files, saves them in session `s`, and forks it as `t` into a working tree of its own, `../t`.
    pub fn commit_and_fork(&self) {
        self.git(["add", "-A"]).success();
        self.git(["commit", "-qm", "files"]).success();
        self.checkpoint(["save", "--session", "s", "-m", "one"]).success();
        self.checkpoint(["fork", "s", "--name", "t", "--worktree", "../t"])
            .success();
    }

    /// The directory that holds everything of this world.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The repository that commands run in.
    pub fn repo(&self) -> PathBuf {
        self.repo.borrow().clone()
    }

    /// Makes `folder` (relative to the world) the repository that commands run in from now on.
    pub fn enter(&self, directory: impl AsRef<Path>) {
        *self.repo.borrow_mut() = self.root.path().join(directory);
    }

    /// A path in the repository.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.repo().join(path)
    }

    /// Writes a file of the repository, with its directories.
    pub fn file(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    /// The bytes of a file of the repository.
    pub fn read(&self, path: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(path);
        fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Lets time pass.
    pub fn advance(&self, seconds: u64) {
        self.now.set(self.now.get() + seconds);
    }

    /// The time of the next command, in seconds since 1970.
    pub fn now(&self) -> u64 {
        self.now.get()
    }

    /// Runs git in the repository.
    pub fn git<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        self.command("git", args).run()
    }

    /// Runs the built program in the repository.
    pub fn checkpoint<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        self.command(PROGRAM, args).run()
    }

    /// Runs a line as a person types it into a shell.
    pub fn typed(&self, line: &str) -> Output {
        self.command("sh", ["-c", line]).run()
    }

    /// The one line that git prints for these arguments, which must succeed.
    pub fn git_line<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        self.git(args).success().stdout().trim_end().to_owned()
    }

    /// Writes a tree with `below` in it, one with that tree in it, and so on; the id of the `depth`-th. `below` is an entry
    /// in git's own form. One git makes all of them: there are thousands.
    pub fn deep_tree(&self, below: &str, depth: usize) -> String {
        let mut command = self.command("git", ["mktree", "--batch"]).command;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut entries = child.stdin.take().unwrap();
        let mut ids = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut entry = below.to_owned();
        let mut id = String::new();
        for _ in 0..depth {
            write!(entries, "{entry}\n\n").unwrap();
            id = ids.next().unwrap().unwrap();
            entry = format!("040000 tree {id}\td");
        }
        drop(entries);
        assert!(child.wait().unwrap().success());
        id
    }

    /// Prepares a command: more arguments, variables, another directory, input.
    pub fn command<A: AsRef<OsStr>>(&self, program: impl AsRef<OsStr>, args: impl IntoIterator<Item = A>) -> Run<'_> {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.repo()).env_clear();
        for (name, value) in self.environment() {
            command.env(name, value);
        }
        Run {
            world: self,
            command,
            input: Vec::new(),
            limit: LIMIT,
        }
    }

    /// The variables of the next command; moves the clock on by one second.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let now = self.now.get();
        self.now.set(now + 1);
        let date = OsString::from(format!("{now} +0000"));
        let mut path = OsString::from(Path::new(PROGRAM).parent().unwrap());
        if let Some(rest) = std::env::var_os("PATH") {
            path.push(":");
            path.push(rest);
        }
        // Where a build that counts which lines ran leaves its counts (scripts/coverage).
        let counts = std::env::var_os("LLVM_PROFILE_FILE").map(|file| ("LLVM_PROFILE_FILE", file));
        let mut variables = vec![
            ("PATH", path),
            ("HOME", self.home().into()),
            ("XDG_CONFIG_HOME", self.home().join(".config").into()),
            ("GIT_CONFIG_SYSTEM", system::settings(self.root()).into()),
            ("GIT_CEILING_DIRECTORIES", self.root().into()),
            ("GIT_AUTHOR_NAME", "Ana Author".into()),
            ("GIT_AUTHOR_EMAIL", "ana@example.org".into()),
            ("GIT_COMMITTER_NAME", "Carl Committer".into()),
            ("GIT_COMMITTER_EMAIL", "carl@example.org".into()),
            ("GIT_AUTHOR_DATE", date.clone()),
            ("GIT_COMMITTER_DATE", date),
            ("TZ", "UTC".into()),
            ("LC_ALL", "C".into()),
        ];
        variables.extend(counts);
        variables
    }

    /// Everything of the repository that a save must not change.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.repo())
    }

    /// Text with this world's ids, times and paths replaced by stable words.
    pub fn normal(&self, text: &str) -> String {
        normal::normal(text, &[(self.root(), "<world>")])
    }
}

/// The same command with the path of its program, which the `PATH` of the child leads to.
///
/// The standard library has to fork before it can look there, and a fork copies the page tables of all tests: that takes
/// longer than most of what git is asked here.
pub(super) fn found(command: &Command) -> Command {
    let name = command.get_program();
    let path = command
        .get_envs()
        .find_map(|(variable, value)| value.filter(|_| variable == "PATH"));
    let program = path
        .into_iter()
        .flat_map(std::env::split_paths)
        .filter(|directory| directory.is_absolute() && !name.as_encoded_bytes().contains(&b'/'))
        .map(|directory| directory.join(name))
        .find(|path| is_program(path));
    let mut same = Command::new(program.as_deref().map_or(name, Path::as_os_str));
    same.arg0(name).args(command.get_args()).env_clear();
    same.envs(
        command
            .get_envs()
            .filter_map(|(variable, value)| Some((variable, value?))),
    );
    if let Some(directory) = command.get_current_dir() {
        same.current_dir(directory);
    }
    same
}

/// Whether this is a file that may be run.
fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// A command about to run.
pub struct Run<'w> {
    world: &'w World,
    command: Command,
    input: Vec<u8>,
    limit: Duration,
}

/// Runs the built program as an unprivileged user, for whom permissions count; `None`, and a line that says so, where
/// the tests do not run as root or there is no `setpriv`.
pub fn as_nobody<A: AsRef<OsStr>>(world: &World, args: impl IntoIterator<Item = A>) -> Option<Output> {
    let own = fs::metadata("/proc/self")
        .map(|m| std::os::unix::fs::MetadataExt::uid(&m))
        .unwrap_or(1);
    if own != 0 || !Path::new("/usr/bin/setpriv").exists() {
        eprintln!("skipped: needs root and setpriv");
        return None;
    }
    world
        .command("chown", ["-R", "65534:65534", &world.root().to_string_lossy()])
        .run()
        .success();
    Some(unprivileged(world, args).run())
}

/// The built program about to run as a user who owns only what [`as_nobody`] made theirs.
pub fn unprivileged<A: AsRef<OsStr>>(world: &World, args: impl IntoIterator<Item = A>) -> Run<'_> {
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let run = world.command("/usr/bin/setpriv", user).arg(program_for_all(world));
    args.into_iter().fold(run, Run::arg)
}

impl Run<'_> {
    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Takes a variable away.
    pub fn without_env(mut self, name: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Runs in another directory, relative to the repository.
    pub fn within(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(self.world.path(directory));
        self
    }

    /// Gives these bytes on standard input, which is otherwise empty.
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Fails the test when the command takes longer.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs it to its end and gives what came out.
    pub fn run(mut self) -> Output {
        let line = format!("{:?}", self.command);
        // Any pipe holds that much, so that nobody waits for the child to read it.
        let is_small = self.input.len() <= 4096;
        self.command = found(&self.command);
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap_or_else(|e| panic!("{line}: {e}"));
        let mut stdin = child.stdin.take().unwrap();
        let streams: [File; 2] = [
            OwnedFd::from(child.stdout.take().unwrap()).into(),
            OwnedFd::from(child.stderr.take().unwrap()).into(),
        ];
        let input = self.input;
        // A child may end without reading its input: a broken pipe here says nothing.
        let write = move || {
            let _ = stdin.write_all(&input);
            drop(stdin);
        };
        let writer = if is_small {
            write();
            None
        } else {
            Some(std::thread::spawn(write))
        };
        let started = Instant::now();
        let texts = read_to_the_end(streams, started + self.limit);
        // The streams are closed: the child has ended, or is about to.
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if started.elapsed() > self.limit {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{line}: still running after {:?}", self.limit);
            }
            std::thread::sleep(Duration::from_micros(100));
        };
        if let Some(thread) = writer {
            thread.join().unwrap();
        }
        let [out, err] = texts;
        Output::new(line, status, out, err)
    }
}

/// What comes out of the streams until they are closed, or until that moment.
fn read_to_the_end(mut streams: [File; 2], until: Instant) -> [Vec<u8>; 2] {
    let mut texts = [Vec::new(), Vec::new()];
    let mut open = [true, true];
    let mut piece = vec![0; 1 << 14];
    while open.contains(&true) {
        let left = until.saturating_duration_since(Instant::now());
        let which: Vec<usize> = (0..2).filter(|&n| open[n]).collect();
        let mut waiting: Vec<PollFd<'_>> = which.iter().map(|&n| PollFd::new(&streams[n], PollFlags::IN)).collect();
        let left = Timespec::try_from(left).unwrap();
        if retry_on_intr(|| poll(&mut waiting, Some(&left))).unwrap() == 0 {
            break;
        }
        let ready: Vec<bool> = waiting.iter().map(|found| !found.revents().is_empty()).collect();
        for (n, _) in which.into_iter().zip(ready).filter(|(_, is_ready)| *is_ready) {
            match streams[n].read(&mut piece).unwrap() {
                0 => open[n] = false,
                length => texts[n].extend_from_slice(&piece[..length]),
            }
        }
    }
    texts
}
