//! The single place that reads environment variables, the clock, the current directory and which streams are terminals.
//! It is read once, at the start of a command, into a plain value that is passed down.
//!
//! One clock for a whole command keeps a document and its commits alike, and lets tests and importers fix it with
//! `GIT_COMMITTER_DATE`, as in git. Settings of the repository are not here; they are git config.

mod date;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use chrono::TimeZone as _;

use crate::model::time::Timestamp;
use crate::os::{self, reason, terminal};
use crate::serve::PathRule;
use crate::store::EncryptedSessions;

/// Variables that are kept besides all whose names start with `GIT_` or `CHECKPOINT_`. Others are not read, so that a
/// report of the environment can show nothing else.
const KEPT: &[&str] = &[
    "ACCESSIBLE",
    "CI",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COLUMNS",
    "COPILOT_CLI",
    "COPILOT_HOME",
    "EDITOR",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LESS",
    "LV",
    "NO_COLOR",
    "PAGER",
    "PATH",
    "TERM",
    "USERPROFILE",
    "VISUAL",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Environment of a command: variables, clock, directory and terminals.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The current directory, absolute.
    pub cwd: PathBuf,
    /// The path of this program, where the system reports it.
    pub program: Option<PathBuf>,
    /// The time of the whole command.
    pub now: Timestamp,
    /// A `GIT_COMMITTER_DATE` that is set but no date; `now` is then the clock's. For a warning.
    pub unreadable_date: Option<String>,
    /// Which streams are terminals.
    pub terminals: Terminals,
    /// Whether it is that of another directory than the one this process was started in.
    pub is_elsewhere: bool,
    /// Whether a front end runs the command, which gives it its input; else a person or a script does.
    pub is_resident: bool,
    /// Whether that front end gives it none.
    pub is_without_input: bool,
    /// Meaning of pathspecs.
    pub paths: PathRule,
    /// Whether this runs in a hook of a commit that has an index of its own, which is not the user's.
    pub is_within_commit: bool,
    /// The working tree that a front end serves: should its repository go away, none above is taken for it.
    pub served: Option<PathBuf>,
    /// Encrypted sessions that the command has met, in all repositories that it opens.
    pub encrypted: EncryptedSessions,
    /// The words of the command line after the name of the program, as hints repeat them.
    pub typed: Vec<String>,
    variables: BTreeMap<OsString, OsString>,
}

/// Which of the three streams are terminals, and how wide they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminals {
    /// Standard input.
    pub input: bool,
    /// Standard output.
    pub output: bool,
    /// Standard error.
    pub error: bool,
    /// Columns of the first of them that is a terminal and has a width.
    pub columns: Option<u16>,
}

/// Whether this is the name of an index that a running `git commit -a`, `-p`, `-i` or `git commit <path>` gives its hooks for
/// that time. What the user has staged is in the repository's own.
fn is_index_of_commit(index: &OsStr) -> bool {
    let name = Path::new(index).file_name().unwrap_or_default().to_string_lossy();
    name == "index.lock" || name.starts_with("next-index-") && name.ends_with(".lock")
}

/// The environment cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// The current directory was removed, or may not be read.
    #[error("cannot read the current directory: {}", reason(.0))]
    Folder(std::io::Error),
}

/// The time by the system's clock. One that is set before 1970 counts as the beginning of 1970, as in git, which knows no
/// time before that.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
fn local_time() -> chrono::DateTime<chrono::Local> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let since = since.unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    chrono::DateTime::from_timestamp(seconds, since.subsec_nanos())
        .unwrap_or_default()
        .with_timezone(&chrono::Local)
}

impl Environment {
    /// Reads the process' surroundings.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads them")]
    pub fn read() -> Result<Self, EnvironmentError> {
        let cwd = std::env::current_dir().map_err(EnvironmentError::Folder)?;
        let terminals = Terminals {
            input: std::io::stdin().is_terminal(),
            output: std::io::stdout().is_terminal(),
            error: std::io::stderr().is_terminal(),
            columns: terminal::columns(),
        };
        // Whole seconds, as git keeps them: a document then has the same time as its commit.
        let local = local_time();
        let clock = Timestamp::with_millis(
            local.timestamp(),
            local.timestamp_subsec_millis(),
            local.offset().local_minus_utc(),
        );
        let offset_at = |seconds: i64| {
            let there = chrono::DateTime::from_timestamp(seconds, 0)
                .unwrap_or_default()
                .naive_utc();
            // An hour that the clock skips in spring has no offset: then that of today.
            let offset = chrono::Local.offset_from_local_datetime(&there).earliest();
            offset.unwrap_or(*local.offset()).local_minus_utc()
        };
        let mut out = Self::given(os::variables(), cwd, clock, &offset_at, terminals);
        out.program = std::env::current_exe().ok();
        Ok(out)
    }

    /// The time now, for a command that runs for long; the time of the whole command where that was fixed.
    pub fn later(&self) -> Timestamp {
        if self.variable("GIT_COMMITTER_DATE").is_some() {
            return self.now;
        }
        let local = local_time();
        Timestamp::with_millis(
            local.timestamp(),
            local.timestamp_subsec_millis(),
            local.offset().local_minus_utc(),
        )
    }

    /// The same for a command inside of this process: with the time now, and no terminal.
    #[must_use]
    pub fn unattended(&self) -> Self {
        let mut out = self.clone();
        out.now = self.later();
        out.terminals = Terminals::default();
        out.is_resident = true;
        out.encrypted = EncryptedSessions::default();
        out
    }

    /// From given values. `clock` is the time unless the variables fix it; `offset_at` gives the local offset in seconds
    /// east of UTC at a local time given as if it were UTC, for dates without an offset.
    pub fn given(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        cwd: PathBuf,
        clock: Timestamp,
        offset_at: &dyn Fn(i64) -> i32,
        terminals: Terminals,
    ) -> Self {
        let mut variables: BTreeMap<OsString, OsString> =
            variables.into_iter().filter(|(name, _)| is_kept(name)).collect();
        let index = OsStr::new("GIT_INDEX_FILE");
        let is_within_commit = variables.get(index).is_some_and(|index| is_index_of_commit(index));
        if is_within_commit {
            variables.remove(index);
        }
        let mut out = Self {
            cwd,
            program: None,
            now: clock,
            unreadable_date: None,
            terminals,
            is_elsewhere: false,
            is_resident: false,
            is_without_input: false,
            paths: PathRule::Typed,
            is_within_commit,
            served: None,
            encrypted: EncryptedSessions::default(),
            typed: Vec::new(),
            variables,
        };
        if let Some(date) = out.variable("GIT_COMMITTER_DATE") {
            let date = date.to_string_lossy();
            match date::parse(&date, offset_at) {
                Some(time) => out.now = time,
                None => out.unreadable_date = Some(date.into_owned()),
            }
        }
        out
    }

    /// Nothing known: for the message about it.
    pub fn unknown() -> Self {
        let terminals = Terminals {
            input: false,
            output: false,
            error: false,
            columns: None,
        };
        Self::given([], PathBuf::new(), Timestamp::from_unix(0, 0), &|_| 0, terminals)
    }

    /// The same surroundings in another directory: without the variables that name a repository, a working tree or an
    /// index, which are of the place where this process was started.
    #[must_use]
    pub fn elsewhere(&self, cwd: PathBuf) -> Self {
        const STAYS: &[&str] = &[
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_SYSTEM",
            "GIT_CONFIG_NOSYSTEM",
            "GIT_CEILING_DIRECTORIES",
        ];
        let stays = |name: &OsStr| {
            let name = name.to_string_lossy();
            !name.starts_with("GIT_")
                || STAYS.contains(&name.as_ref())
                || name.starts_with("GIT_AUTHOR_")
                || name.starts_with("GIT_COMMITTER_")
                || name.starts_with("GIT_TRACE")
        };
        let mut out = self.clone();
        out.cwd = cwd;
        out.is_elsewhere = true;
        out.variables.retain(|name, _| stays(name));
        out
    }

    /// The value of a variable that is set and not empty. Only the variables named in this file are known; for any other
    /// name the answer is None.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|v| !v.is_empty())
    }

    /// The value of a variable, also when it is empty.
    pub fn variable_or_empty(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// The value of a variable as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self, name: &str) -> Option<String> {
        self.variable(name).map(|v| v.to_string_lossy().into_owned())
    }

    /// A yes or no in git's words: `true`, `yes`, `on` and numbers but 0; `false`, `no`, `off`, 0 and the empty text.
    /// None when it is not set or is neither.
    pub fn flag(&self, name: &str) -> Option<bool> {
        boolean(&self.variable_or_empty(name)?.to_string_lossy())
    }

    /// All variables that were kept, sorted by name.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The user's home.
    pub fn home(&self) -> Option<&Path> {
        self.variable("HOME")
            .or_else(|| self.variable("USERPROFILE"))
            .map(Path::new)
    }

    /// Whether output that moves or redraws must not be used: `ACCESSIBLE` is set, or the terminal is a dumb one.
    pub fn is_plain(&self) -> bool {
        self.flag("ACCESSIBLE").unwrap_or(self.variable("ACCESSIBLE").is_some()) || self.is_dumb()
    }

    /// Whether the terminal understands no control sequences. As in git, no `TERM` means none is understood.
    pub fn is_dumb(&self) -> bool {
        self.variable("TERM").is_none_or(|t| t == "dumb")
    }

    /// Whether the locale writes UTF-8.
    pub fn is_utf8(&self) -> bool {
        ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .find_map(|name| self.text(name))
            .is_some_and(|locale| {
                let locale = locale.to_ascii_lowercase();
                locale.contains("utf-8") || locale.contains("utf8")
            })
    }

    /// Whether this runs without anyone who could answer: `CI`, `GIT_TERMINAL_PROMPT=0` or `CHECKPOINT_NO_PROMPT`.
    pub fn is_unattended(&self) -> bool {
        let set = |name| self.flag(name).unwrap_or(self.variable(name).is_some());
        set("CI") || set("CHECKPOINT_NO_PROMPT") || self.flag("GIT_TERMINAL_PROMPT") == Some(false)
    }
}

fn is_kept(name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|n| n.starts_with("GIT_") || n.starts_with("CHECKPOINT_") || KEPT.contains(&n))
}

/// A boolean in git's words.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "" | "false" | "no" | "off" => Some(false),
        number => number.parse::<i64>().ok().map(|n| n != 0),
    }
}

#[cfg(test)]
impl Environment {
    /// For tests: these variables, a fixed time, no terminal.
    pub(crate) fn of(variables: &[(&str, &str)], terminals: Terminals) -> Self {
        let variables = variables.iter().map(|(n, v)| (OsString::from(n), OsString::from(v)));
        Self::given(
            variables,
            PathBuf::from("/"),
            Timestamp::from_unix(1_767_323_045, 0),
            &|_| 3600,
            terminals,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Environment {
        Environment::of(variables, Terminals::default())
    }

    #[test]
    fn only_known_variables_are_kept() {
        let env = of(&[
            ("GIT_DIR", "x"),
            ("CHECKPOINT_AGENT", "a"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("TERM", ""),
        ]);
        assert_eq!(env.text("GIT_DIR").as_deref(), Some("x"));
        assert_eq!(env.variable("TERM"), None);
        assert_eq!(env.variable_or_empty("TERM"), Some(OsStr::new("")));
        assert_eq!(env.variables().count(), 3);
    }

    #[test]
    fn the_time_can_be_fixed() {
        assert_eq!(of(&[]).now.unix(), 1_767_323_045);
        assert_eq!(of(&[("GIT_COMMITTER_DATE", "")]).now.unix(), 1_767_323_045);
        let env = of(&[("GIT_COMMITTER_DATE", "1112911993 +0200")]);
        assert_eq!(env.now.to_string(), "2005-04-08T00:13:13+02:00");
        let env = of(&[("GIT_COMMITTER_DATE", "soon")]);
        assert_eq!(
            (env.now.unix(), env.unreadable_date.as_deref()),
            (1_767_323_045, Some("soon"))
        );
    }

    #[test]
    fn words_for_yes_and_no() {
        for (value, wanted) in [
            ("1", Some(true)),
            ("0", Some(false)),
            ("YES", Some(true)),
            ("off", Some(false)),
            ("", Some(false)),
            ("maybe", None),
        ] {
            assert_eq!(of(&[("GIT_ADVICE", value)]).flag("GIT_ADVICE"), wanted, "{value}");
        }
        assert_eq!(of(&[]).flag("GIT_ADVICE"), None);
        assert!(of(&[("CI", "github")]).is_unattended() && of(&[("GIT_TERMINAL_PROMPT", "0")]).is_unattended());
        assert!(!of(&[("CI", "false")]).is_unattended() && !of(&[("GIT_TERMINAL_PROMPT", "1")]).is_unattended());
        assert!(of(&[("TERM", "dumb")]).is_plain() && of(&[("TERM", "xterm"), ("ACCESSIBLE", "1")]).is_plain());
        assert!(!of(&[("TERM", "xterm"), ("ACCESSIBLE", "0")]).is_plain() && of(&[]).is_dumb());
    }

    #[test]
    fn the_first_locale_that_is_set_counts() {
        assert!(of(&[("LANG", "de_DE.UTF-8")]).is_utf8());
        assert!(of(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]).is_utf8());
        assert!(!of(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]).is_utf8());
        assert!(!of(&[]).is_utf8());
    }
}
