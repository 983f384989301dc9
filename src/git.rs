//! The one place that starts a git child.
//!
//! A child must answer about the given repository, run nothing of the user's (hooks, fsmonitor, gc), take no optional
//! lock, ask nothing, and not outlive us. So the repository variables are cleared (settings given by the environment,
//! `GIT_CONFIG_*`, stay: `safe.directory` and credentials of CI come that way), the repository is named explicitly, and
//! the program is never taken from the current directory. Input and output go through pipes.

mod network;
mod program;
mod running;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

pub use network::{Exchange, STDOUT_LIMIT};
pub use running::GitChild;

/// The variables that `git rev-parse --local-env-vars` names, less those that carry settings, and a few more that
/// would change what git reads or prints.
const CLEARED: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DEFAULT_HASH",
    "GIT_DEFAULT_REF_FORMAT",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INDEX_VERSION",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_NOTES_DISPLAY_REF",
    "GIT_NOTES_REF",
    "GIT_NOTES_REWRITE_MODE",
    "GIT_NOTES_REWRITE_REF",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_PRINT_SHA1_ELLIPSIS",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// The most characters of a command in a message.
const LONGEST_SHOWN: usize = 400;

/// The subcommands that take paths as they are, and refuse the variable for it.
const OF_PLAIN_PATHS: &[&str] = &["check-ignore"];

/// The variables that speak of one repository alone, with the settings of `git -c`: no program that works on another
/// repository may see them.
pub const OF_ONE_REPOSITORY: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Why a git child gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no `git` in any directory of `PATH` that is not relative.
    #[error("cannot find the program 'git' in any directory of PATH")]
    NoGit,
    /// The child could not be started, written to or read from.
    #[error("cannot run 'git {command}': {}", crate::os::reason(source))]
    Io {
        /// The arguments after `git`.
        command: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The child ended with a status that its caller did not expect.
    #[error("'git {command}' failed with {}{}", describe(*code), detail(stderr))]
    Failed {
        /// The arguments after `git`.
        command: String,
        /// The exit status; `None` when a signal ended it.
        code: Option<i32>,
        /// Output on standard error.
        stderr: String,
    },
}

fn describe(code: Option<i32>) -> String {
    code.map_or_else(|| "a signal".to_owned(), |code| format!("status {code}"))
}

fn detail(stderr: &str) -> String {
    let text = stderr.trim();
    if text.is_empty() {
        String::new()
    } else {
        format!(": {text}")
    }
}

/// Output of a finished child process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitOutput {
    /// The exit status.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error, at most 64 KiB of it.
    pub stderr: String,
}

/// A git command being put together.
#[derive(Debug, Clone)]
#[must_use]
pub struct Git {
    place: GitLocation,
    configs: Vec<OsString>,
    args: Vec<OsString>,
    envs: Vec<(OsString, OsString)>,
    input: Vec<u8>,
    cwd: Option<PathBuf>,
    codes: Vec<i32>,
    own_settings: bool,
    user_hooks: bool,
    interactive: bool,
    inherits_input: bool,
    held: Option<Arc<File>>,
    network: bool,
}

/// The repository a child works on.
#[derive(Debug, Clone, Default)]
struct GitLocation {
    git_dir: Option<PathBuf>,
    work_tree: Option<PathBuf>,
    objects: Option<PathBuf>,
    alternates: Option<OsString>,
}

impl Git {
    /// A command that needs no repository.
    pub fn outside() -> Self {
        Self {
            place: GitLocation::default(),
            configs: Vec::new(),
            args: Vec::new(),
            envs: Vec::new(),
            input: Vec::new(),
            cwd: None,
            codes: vec![0],
            own_settings: false,
            user_hooks: false,
            interactive: false,
            inherits_input: false,
            held: None,
            network: false,
        }
    }

    /// A command on the repository whose own directory is `git_dir` (of a linked working tree: its private directory).
    pub fn at(git_dir: impl Into<PathBuf>) -> Self {
        let mut git = Self::outside();
        git.place.git_dir = Some(git_dir.into());
        git
    }

    /// The root of the working tree; the child runs there unless [`cwd`](Self::cwd) names another one.
    pub fn work_tree(mut self, root: impl Into<PathBuf>) -> Self {
        self.place.work_tree = Some(root.into());
        self
    }

    /// Another object directory than the repository's own (`GIT_OBJECT_DIRECTORY`).
    pub fn objects(mut self, directory: impl Into<PathBuf>) -> Self {
        self.place.objects = Some(directory.into());
        self
    }

    /// Further object directories to read from, in the form of `GIT_ALTERNATE_OBJECT_DIRECTORIES`.
    pub fn alternates(mut self, directories: impl Into<OsString>) -> Self {
        self.place.alternates = Some(directories.into());
        self
    }

    /// The directory the child runs in.
    pub fn cwd(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cwd = Some(directory.into());
        self
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds a setting, `key=value`, that wins over every file and over the settings of the environment.
    pub fn config(mut self, setting: impl Into<OsString>) -> Self {
        self.configs.push(setting.into());
        self
    }

    /// Sets a variable for the child.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.envs.push((name.into(), value.into()));
        self
    }

    /// The bytes the child reads on standard input, none unless said.
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Takes these exit statuses for an answer as well as 0.
    pub fn accept(mut self, codes: impl IntoIterator<Item = i32>) -> Self {
        self.codes.extend(codes);
        self
    }

    /// Withholds the settings of `git -c`, which were given for another repository.
    pub fn own_settings(mut self) -> Self {
        self.own_settings = true;
        self
    }

    /// Lets the user's hooks run, as `push` must.
    pub fn user_hooks(mut self) -> Self {
        self.user_hooks = true;
        self
    }

    /// Lets the child talk to the terminal: questions about credentials, progress on standard error, which is then
    /// not kept.
    pub fn interactive(mut self) -> Self {
        self.interactive = true;
        self
    }

    /// Gives the child a file to hold open until it ends, such as that of a lock. [`input`](Self::input) is not used.
    pub fn holding(mut self, file: Option<File>) -> Self {
        self.held = file.map(Arc::new);
        self
    }

    /// Lets the child read our standard input; [`input`](Self::input) is not used.
    pub fn inherit_input(mut self) -> Self {
        self.inherits_input = true;
        self
    }

    /// Runs the child to its end and gives what it wrote. A status that was not accepted is an error.
    pub fn run(self) -> Result<GitOutput, Error> {
        let input = self.input.clone();
        let mut running = self.start()?;
        let mut stdin = running.stdin.take();
        let mut stdout = Vec::new();
        let (written, read) = std::thread::scope(|scope| {
            // Both ends at once: a child that answers before it has read everything would wait for us otherwise.
            let write = move || match stdin.take() {
                Some(mut pipe) if !input.is_empty() => pipe.write_all(&input),
                _ => Ok(()),
            };
            let writer = std::thread::Builder::new().spawn_scoped(scope, write);
            let read = match running.stdout.as_mut() {
                Some(pipe) => pipe.read_to_end(&mut stdout).map(drop),
                None => Ok(()),
            };
            (
                writer.and_then(|writer| {
                    let written = writer.join();
                    written.unwrap_or_else(|_| Err(io::Error::other("the writer failed")))
                }),
                read,
            )
        });
        let output = running.finish_with(stdout)?;
        // A child that ended well without reading all of its input has not been lied to.
        for result in [written, read] {
            match result {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    return Err(Error::Io {
                        command: output.command,
                        source: error,
                    });
                }
                _ => {}
            }
        }
        Ok(output.output)
    }

    /// Runs the child and gives its output as text without the final line end; bytes that are not UTF-8 become U+FFFD.
    pub fn text(self) -> Result<String, Error> {
        let output = self.run()?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        while text.ends_with('\n') {
            text.pop();
        }
        Ok(text)
    }

    /// Starts the child and leaves its pipes to the caller, for exchanges too large or too long to hold in memory.
    /// [`input`](Self::input) is not used.
    pub fn start(self) -> Result<GitChild, Error> {
        let shown = self.shown();
        let program = program::path().ok_or(Error::NoGit)?;
        GitChild::start(self.command(program), shown, self.codes)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the place that starts git")]
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        for name in CLEARED {
            command.env_remove(name);
        }
        if self.own_settings {
            command.env_remove("GIT_CONFIG_PARAMETERS");
        }
        command.env("LC_ALL", "C").env_remove("LANGUAGE");
        command.env("GIT_NO_REPLACE_OBJECTS", "1");
        if !self.network {
            // These would also reach the user's hooks and the programs that reach the other side.
            command.env("GIT_NO_LAZY_FETCH", "1");
            command.env("GIT_OPTIONAL_LOCKS", "0");
        }
        if self.is_of_plain_paths() {
            command.env_remove("GIT_LITERAL_PATHSPECS");
        } else if !self.network {
            command.env("GIT_LITERAL_PATHSPECS", "1");
        }
        if !self.interactive {
            // Standard error is read here: traces would be taken for messages.
            for name in program::traces_to_standard_error() {
                command.env_remove(name);
            }
        }
        if !self.interactive && (!self.network || crate::os::is_without_questions()) {
            command.env("GIT_TERMINAL_PROMPT", "0");
        }
        if self.network && crate::os::is_without_questions() {
            // ssh asks the program that the user chose for it, and never the terminal.
            command.env("SSH_ASKPASS_REQUIRE", "force");
            if !program::has_askpass() {
                command.env("SSH_ASKPASS", "false");
            }
        }
        let settings = [
            "core.fsmonitor=false",
            "core.splitIndex=false",
            "submodule.recurse=false",
            "gc.auto=0",
            "maintenance.auto=false",
        ];
        for setting in settings {
            command.arg("-c").arg(setting);
        }
        if !self.network {
            // Branches, notes and working trees that a child makes for us survive a power cut as our own refs do. What is
            // fetched is synced before a ref of ours names it.
            command.arg("-c").arg("core.fsync=all");
        }
        if !self.user_hooks {
            command.arg("-c").arg("core.hooksPath=/dev/null");
        }
        for setting in &self.configs {
            command.arg("-c").arg(setting);
        }
        if let Some(dir) = &self.place.git_dir {
            command.arg(joined("--git-dir=", dir));
        }
        if let Some(root) = &self.place.work_tree {
            command.arg(joined("--work-tree=", root));
        }
        if let Some(directory) = &self.place.objects {
            command.env("GIT_OBJECT_DIRECTORY", directory);
        }
        if let Some(directories) = &self.place.alternates {
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", directories);
        }
        if let Some(directory) = self
            .cwd
            .as_ref()
            .or(self.place.work_tree.as_ref())
            .or(self.place.git_dir.as_ref())
        {
            command.current_dir(directory);
        }
        for (name, value) in &self.envs {
            command.env(name, value);
        }
        command.args(&self.args).stdout(Stdio::piped());
        let held = self.held.as_ref().and_then(|file| file.try_clone().ok());
        command.stdin(match held {
            Some(file) => file.into(),
            None if self.inherits_input => Stdio::inherit(),
            None => Stdio::piped(),
        });
        command.stderr(if self.interactive {
            Stdio::inherit()
        } else {
            Stdio::piped()
        });
        command
    }

    fn is_of_plain_paths(&self) -> bool {
        let subcommand = self.args.first().and_then(|arg| arg.to_str());
        subcommand.is_some_and(|name| OF_PLAIN_PATHS.contains(&name))
    }

    /// The command as shown in messages: what the caller asked, without the settings we always add.
    /// The command for a message, without what makes it too long to be read.
    fn shown(&self) -> String {
        let words: Vec<_> = self.args.iter().map(|arg| arg.to_string_lossy()).collect();
        let mut shown = words.join(" ");
        if let Some((end, _)) = shown.char_indices().nth(LONGEST_SHOWN) {
            shown.truncate(end);
            shown.push_str("...");
        }
        shown
    }
}

/// Reports a finished child to observers.
fn told(command: &str, begun: Instant, code: Option<i32>) {
    crate::os::trace::say(2, || {
        let ended = match code {
            Some(0) => String::new(),
            code => format!(", {}", describe(code)),
        };
        format!("git {command} ({} ms{ended})", begun.elapsed().as_millis())
    });
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut arg = OsString::from(option);
    arg.push(path);
    arg
}
