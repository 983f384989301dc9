//! Puts files where `man` and the shells look for them, and takes them away again. Only files that carry this program's
//! mark are ever overwritten or removed; what is there already stays untouched.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::completion::Shell;
use super::man;
use crate::commands::environment::Environment;
use crate::commands::error::{CommandError, FailureKind};
use crate::git::Git;
use crate::os::reason;

/// Words that are in every file this program writes here.
const MARKS: [&str; 2] = [man::MARK, MARK];
/// The same without the comment of a language.
pub(super) const MARK: &str = "Written by `git checkpoint setup`";

/// Action of the set-up on one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InstallAction {
    Write,
    Replace,
    Keep,
    Remove,
    /// It is not there, so there is nothing to remove.
    Absent,
    /// It is there and not ours.
    Foreign,
}

impl InstallAction {
    /// Its word in output and JSON.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Replace => "replace",
            Self::Keep => "keep",
            Self::Remove => "remove",
            Self::Absent => "absent",
            Self::Foreign => "foreign",
        }
    }
}

/// A file and what is done with it.
#[derive(Clone, Debug)]
pub(super) struct InstallStep {
    pub(super) path: PathBuf,
    pub(super) action: InstallAction,
    content: Option<String>,
}

impl InstallStep {
    /// To have `content` at `path`.
    pub(super) fn install(path: PathBuf, content: String) -> Result<Self, CommandError> {
        let action = match present(&path)? {
            None => InstallAction::Write,
            Some(old) if old == content => InstallAction::Keep,
            Some(old) if is_ours(&old) => InstallAction::Replace,
            Some(_) => InstallAction::Foreign,
        };
        Ok(Self {
            path,
            action,
            content: Some(content),
        })
    }

    /// To have nothing at `path`.
    pub(super) fn remove(path: PathBuf) -> Result<Self, CommandError> {
        let action = match present(&path)? {
            None => InstallAction::Absent,
            Some(old) if is_ours(&old) => InstallAction::Remove,
            Some(_) => InstallAction::Foreign,
        };
        Ok(Self {
            path,
            action,
            content: None,
        })
    }

    /// Does it. A file is complete at once or not there: it is written next to its place and renamed.
    pub(super) fn run(&self) -> Result<(), CommandError> {
        let failed = |what: &str, error: &io::Error| {
            let kind = if error.kind() == io::ErrorKind::PermissionDenied {
                FailureKind::Denied
            } else {
                FailureKind::Fatal
            };
            let out = CommandError::new(
                kind,
                format!("cannot {what} '{}': {}", self.path.display(), reason(error)),
            );
            if kind == FailureKind::Denied {
                return out.hint("run it with write permission, or use another directory with --prefix");
            }
            out
        };
        match (self.action, &self.content) {
            (InstallAction::Write | InstallAction::Replace, Some(content)) => {
                if let Some(directory) = self.path.parent() {
                    fs::create_dir_all(directory).map_err(|e| failed("create the directory of", &e))?;
                }
                let beside = self.path.with_file_name(format!(
                    ".{}.new",
                    self.path.file_name().unwrap_or_default().to_string_lossy()
                ));
                fs::write(&beside, content)
                    .and_then(|()| fs::rename(&beside, &self.path))
                    .map_err(|e| failed("write", &e))
            }
            (InstallAction::Remove, _) => fs::remove_file(&self.path).map_err(|e| failed("remove", &e)),
            _ => Ok(()),
        }
    }
}

/// Removes the directories that the removed files leave empty, such as `share/man/man1` and the two above it.
pub(super) fn remove_empty_directories(steps: &[InstallStep]) {
    for step in steps.iter().filter(|step| step.action == InstallAction::Remove) {
        // The first one that is not empty stays, with those above it.
        let mut above = step.path.ancestors().skip(1).take(3);
        let _ = above.try_for_each(fs::remove_dir);
    }
}

/// Content of a file; `None` when it does not exist. Anything else at its path is not ours, hence an empty text.
fn present(path: &Path) -> Result<Option<String>, CommandError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(Some(String::new())),
        Err(error) => {
            let kind = if error.kind() == io::ErrorKind::PermissionDenied {
                FailureKind::Denied
            } else {
                FailureKind::Fatal
            };
            Err(CommandError::new(
                kind,
                format!("cannot read '{}': {}", path.display(), reason(&error)),
            ))
        }
    }
}

/// A link is someone else's arrangement even when it leads to our text; what counts is the text.
fn is_ours(text: &str) -> bool {
    text.lines()
        .take(4)
        .any(|line| MARKS.iter().any(|mark| line.contains(mark)))
}

/// Where things go.
#[derive(Clone, Debug)]
pub(super) struct InstallPaths {
    prefix: Option<PathBuf>,
    home_data: Option<PathBuf>,
    home_config: Option<PathBuf>,
    program: Option<PathBuf>,
}

impl InstallPaths {
    /// `prefix` (`/usr/local`) is for packages and all users; without it things go next to the program and into the
    /// user's home.
    pub(super) fn new(env: &Environment, prefix: Option<PathBuf>) -> Self {
        let home = env.home().map(Path::to_owned);
        let under = |variable: &str, below: &str| {
            let given = env.variable(variable).map(PathBuf::from).filter(|p| p.is_absolute());
            given.or_else(|| home.as_ref().map(|h| h.join(below)))
        };
        Self {
            prefix: prefix.map(|p| env.cwd.join(p)),
            home_data: under("XDG_DATA_HOME", ".local/share"),
            home_config: under("XDG_CONFIG_HOME", ".config"),
            program: program_in_path(env),
        }
    }

    /// The directory with a directory for each section of the manual. `man` looks in `../share/man` next to each
    /// directory of `PATH`, so that pages next to the program are found wherever that was installed.
    pub(super) fn man(&self) -> Result<PathBuf, CommandError> {
        let beside = || {
            self.program
                .as_ref()
                .and_then(|p| p.parent()?.parent().map(Path::to_owned))
        };
        let base = self.prefix.clone().or_else(beside);
        let base = base.ok_or_else(|| unknown("where this program is installed"))?;
        Ok(base.join("share/man"))
    }

    /// The directory of git's own HTML pages, where `git help --web` looks and nowhere else: `help.htmlPath`, else the
    /// one git was built with.
    pub(super) fn html(&self) -> Result<PathBuf, CommandError> {
        if let Some(prefix) = &self.prefix {
            return Ok(prefix.join("share/doc/git/html"));
        }
        let ask = |args: &[&str]| Git::outside().args(args.iter().copied()).accept([1]).text();
        let set = ask(&["config", "--get", "--type=path", "help.htmlPath"]).unwrap_or_default();
        let directory = if set.is_empty() {
            ask(&["--html-path"]).map_err(|error| CommandError::of(FailureKind::Fatal, &error))?
        } else {
            set
        };
        if directory.contains("://") {
            return Err(CommandError::new(
                FailureKind::Refused,
                format!("git's HTML pages are on a server: help.htmlPath is '{directory}'"),
            )
            .hint("read the pages here: git checkpoint help"));
        }
        Ok(directory.into())
    }

    /// The file for a shell's completion.
    pub(super) fn completion(&self, shell: Shell) -> Result<PathBuf, CommandError> {
        let directory = match (&self.prefix, shell) {
            (Some(prefix), Shell::Bash) => prefix.join("share/bash-completion/completions"),
            (Some(prefix), Shell::Zsh) => prefix.join("share/zsh/site-functions"),
            (Some(prefix), Shell::Fish) => prefix.join("share/fish/vendor_conf.d"),
            (None, Shell::Bash) => self.data()?.join("bash-completion/completions"),
            (None, Shell::Zsh) => self.data()?.join("zsh/site-functions"),
            (None, Shell::Fish) => {
                let config = self.home_config.as_ref().ok_or_else(|| unknown("your home"))?;
                config.join("fish/conf.d")
            }
        };
        Ok(directory.join(shell.file()))
    }

    fn data(&self) -> Result<&PathBuf, CommandError> {
        self.home_data.as_ref().ok_or_else(|| unknown("your home"))
    }
}

fn unknown(what: &str) -> CommandError {
    CommandError::new(FailureKind::Fatal, format!("cannot find {what}")).hint("specify the directory with --prefix")
}

/// The program as git finds it: in a directory of `PATH`, where it may be a link. Else where it really is.
fn program_in_path(env: &Environment) -> Option<PathBuf> {
    let name = format!("git-checkpoint{}", std::env::consts::EXE_SUFFIX);
    let directories = env
        .variable("PATH")
        .map(|p| std::env::split_paths(p).collect::<Vec<_>>())
        .unwrap_or_default();
    let found = directories
        .into_iter()
        .filter(|f| f.is_absolute())
        .map(|f| f.join(&name))
        .find(|p| p.is_file());
    found.or_else(|| env.program.clone())
}
