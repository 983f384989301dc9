//! Why the repository could not be opened, read or written.
//!
//! Each message is whole: it names its subject and gives the cause, so callers print it alone; `source()` distinguishes
//! kinds. What the user can do about it is [`Error::hint`].

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gix::ObjectId;

use super::{config::ConfigPlace, refs::RefDamage};
use crate::os::reason;

/// Any failure of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No repository at or above the directory.
    #[error("not a git repository (or any of the parent directories): '{}'", start.display())]
    NotARepository {
        /// Where the search began.
        start: PathBuf,
    },
    /// A git directory without HEAD, which git does not take for a repository.
    #[error("'{}' has no file HEAD, without which it is no git repository", path.display())]
    NoHead {
        /// The git directory.
        path: PathBuf,
    },
    /// The repository belongs to another user, so its settings must not be followed.
    #[error("detected dubious ownership in repository at '{}'", path.display())]
    Unsafe {
        /// The working tree, or the repository where there is none.
        path: PathBuf,
    },
    /// A bare repository was found by searching although `safe.bareRepository` is `explicit`.
    #[error("cannot use bare repository '{}' (safe.bareRepository is 'explicit')", path.display())]
    ImplicitBare {
        /// The repository.
        path: PathBuf,
    },
    /// The process is part of a push that git has not accepted yet: what is stored now goes away if it is refused, and git
    /// itself moves no refs here.
    #[error("cannot run before git has accepted the push (GIT_QUARANTINE_PATH is set)")]
    Quarantine,
    /// The command needs a working tree and the repository has none.
    #[error("this command needs a working tree, and '{}' has none", path.display())]
    Bare {
        /// The repository.
        path: PathBuf,
    },
    /// The working tree that the repository's settings name is not there.
    #[error("working tree '{}' is missing; the repository's setting core.worktree names it", path.display())]
    WorkTreeMissing {
        /// The directory.
        path: PathBuf,
    },
    /// `core.repositoryFormatVersion` is newer than git's own 1.
    #[error("expected repository format version 0 or 1 in '{}', found '{version}'", path.display())]
    FormatVersion {
        /// The repository.
        path: PathBuf,
        /// The version found.
        version: String,
    },
    /// An extension that changes how the repository is read and that we do not know.
    #[error("unknown repository extension '{name}' in '{}'", path.display())]
    Extension {
        /// The repository.
        path: PathBuf,
        /// The name after `extensions.`, with its value where the value is what is unknown.
        name: String,
    },
    /// A variable of the environment that makes no sense here.
    #[error("cannot use {name}='{value}': {why}")]
    Environment {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// Reason, in words.
        why: String,
    },
    /// Something is to be encrypted.
    #[error("cannot encrypt: {why}")]
    Encryption {
        /// Why not.
        why: String,
    },
    /// What is written would be encrypted to others alone.
    #[error("none of your keys is a recipient, so you could not read what you save")]
    NoRecipient,
    /// A checkpoint that continues one whose record cannot be read would lose it.
    #[error("without a key, nothing can be read from the record of '{session}' or added to it")]
    RecordLocked {
        /// The session.
        session: String,
    },
    /// A setting with a value that cannot be used.
    #[error("bad value '{value}' for '{key}' in {place}: {why}")]
    Setting {
        /// The key, as git prints it.
        key: String,
        /// The value found.
        value: String,
        /// The file or other source it came from.
        place: Box<ConfigPlace>,
        /// Expected form.
        why: String,
    },
    /// The system refused a file operation.
    #[error("cannot {action} '{}': {}", path.display(), reason(source))]
    Io {
        /// A verb: `read`, `write`, `create` and so on.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file of ours cannot be parsed.
    #[error("cannot understand '{}': {}", path.display(), reason(source))]
    Malformed {
        /// Kind of the file, which decides the hint.
        file: OwnFile,
        /// The file.
        path: PathBuf,
        /// Parse error.
        source: io::Error,
    },
    /// A git child failed.
    #[error(transparent)]
    Git(#[from] crate::git::Error),
    /// gix failed.
    #[error("cannot {action}: {}", plain(source))]
    Gix {
        /// Action that failed.
        action: String,
        /// The reason gix gave.
        source: gix::Error,
    },
    /// A pathspec that was given is none.
    #[error("cannot use pathspec '{spec}': {}", plain(source))]
    Pathspec {
        /// As it was given.
        spec: String,
        /// The reason.
        source: gix::Error,
    },
    /// An object is missing or cannot be decoded.
    #[error("cannot read object '{id}': {why}")]
    Object {
        /// The object.
        id: ObjectId,
        /// Reason, in words.
        why: String,
    },
    /// A source gave other bytes than announced; nothing of it was stored.
    #[error("expected {expected} bytes, found {found}")]
    Length {
        /// Announced size.
        expected: u64,
        /// Received size (one more than expected when there was more).
        found: u64,
    },
    /// Not the name of a ref that we may write.
    #[error("'{name}' is not a valid ref name")]
    RefName {
        /// The name.
        name: String,
    },
    /// The ref is not what the caller took it for: another writer was faster. Read again and retry.
    #[error("ref '{name}' is at {}, expected {}", shown(found.as_ref()), shown(expected.as_ref()))]
    Moved {
        /// The ref.
        name: String,
        /// Expected value; `None` is absence.
        expected: Option<ObjectId>,
        /// Actual value; `None` is absence.
        found: Option<ObjectId>,
    },
    /// The ref exists but cannot be read as one.
    #[error("ref '{name}' is damaged: {damage}")]
    Damaged {
        /// The ref.
        name: String,
        /// In what way.
        damage: RefDamage,
    },
    /// Another process, perhaps a git command, holds git's own lock file on the ref.
    #[error("cannot lock ref '{name}': '{}' exists{}", path.display(), aged(*age))]
    RefLocked {
        /// The ref.
        name: String,
        /// The lock file.
        path: PathBuf,
        /// How long the lock file has been there, as far as the clock shows.
        age: Option<Duration>,
    },
    /// Another ref's name is in the way: `a` against `a/b`.
    #[error("cannot create ref '{name}': '{other}' exists")]
    InTheWay {
        /// The ref to be created.
        name: String,
        /// The one that exists.
        other: String,
    },
    /// Something else is in place of a directory of ours.
    #[error("'{}' is {what}; git-checkpoint keeps its own files in a directory of that name", path.display())]
    Obstacle {
        /// The path.
        path: PathBuf,
        /// Description: `a link`, `not a directory`.
        what: &'static str,
    },
    /// The file `packed-refs` is damaged, so that the set of refs is unknown.
    #[error("'{}' is damaged: {why}", path.display())]
    PackedRefs {
        /// The file.
        path: PathBuf,
        /// The line, and what is wrong with it.
        why: String,
    },
    /// The commit that HEAD points to is missing or corrupt.
    #[error("{0}")]
    Head(Box<super::checkpoint::Fault>),
    /// A lock of ours was held by another process for the whole wait.
    #[error("{what} is in use by another process (waited {:.1} s)", waited.as_secs_f64())]
    Busy {
        /// Subject of the lock.
        what: String,
        /// How long we waited.
        waited: Duration,
    },
    /// Another process changes the files of this working tree.
    #[error("{what} is running in this working tree")]
    Running {
        /// The command, with its article.
        what: String,
    },
    /// The working tree of a fork was cut off while it was made: files that are not there yet would count as deleted.
    #[error("the working tree of fork '{session}' is not complete")]
    IncompleteFork {
        /// The fork.
        session: String,
    },
    /// The note of an unfinished change of several refs cannot be understood.
    #[error("cannot understand the unfinished change of refs in '{}': {why}", path.display())]
    Journal {
        /// The note.
        path: PathBuf,
        /// Reason, in words.
        why: String,
    },
    /// The repository's own directory cannot be written; sessions are kept in a store elsewhere.
    #[error("'{}' cannot be written, so {what}", path.display())]
    ReadOnly {
        /// The directory.
        path: PathBuf,
        /// Consequence: `the index stays as it is`.
        what: &'static str,
    },
    /// Objects that a ref now needs are gone, by a `git gc --prune=now` at the same moment.
    #[error("{} of the saved objects are missing, the first is '{}'", ids.len(), ids[0])]
    Vanished {
        /// The missing ones, at least one.
        ids: Vec<ObjectId>,
    },
}

fn shown(id: Option<&ObjectId>) -> String {
    id.map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

/// How long a file has been there, for the end of a sentence about it.
pub(crate) fn aged(age: Option<Duration>) -> String {
    age.map_or_else(String::new, |age| match age.as_secs() {
        1 => " (a second old)".to_owned(),
        seconds => format!(" ({seconds} seconds old)"),
    })
}

impl Error {
    /// The reason alone, of what could not be encrypted.
    pub(super) fn why(&self) -> String {
        match self {
            Self::Encryption { why } => why.clone(),
            other => other.to_string(),
        }
    }

    /// Whether it means that HEAD cannot be read.
    pub fn is_about_head(&self) -> bool {
        match self {
            Self::Head(_) => true,
            Self::Damaged { name, .. } => name == "HEAD",
            _ => false,
        }
    }

    /// Hint for the user, if any; printed after `hint: `, line by line.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::ReadOnly { .. } => "run it where the repository can be written".to_owned(),
            Self::Unsafe { path } => format!(
                "to add an exception for this directory, call:\ngit config --global --add safe.directory {}",
                quoted(path)
            ),
            Self::NotARepository { .. } => {
                "run inside a repository, or create one: git init".to_owned()
            }
            Self::NoHead { path } => format!(
                "recreate it with the name of your branch: echo 'ref: refs/heads/main' >{}",
                quoted(&path.join("HEAD"))
            ),
            Self::Encryption { .. } => {
                "see whom checkpoint.encryptTo names: git config --get-all checkpoint.encryptTo".to_owned()
            }
            Self::NoRecipient => {
                "add your public key: git config --add checkpoint.encryptTo <key>\n\
                 or name the file of your private key: git config checkpoint.identity <file>"
                    .to_owned()
            }
            Self::RecordLocked { .. } => {
                "name the file of your private key: git config checkpoint.identity <file>\n\
                 or start a session of your own: git checkpoint start"
                    .to_owned()
            }
            Self::Setting { key, place, .. } => match &place.scope {
                Some(scope) => format!(
                    "to use the default: git config {scope}--unset-all {key}\nsee the settings: git checkpoint help settings"
                ),
                None => "see the settings: git checkpoint help settings".to_owned(),
            },
            Self::Quarantine => "call it from the hook 'post-receive'; 'pre-receive' and 'update' are too early".to_owned(),
            Self::ImplicitBare { path } => format!("specify it: git --git-dir={} checkpoint ...", quoted(path)),
            Self::Bare { .. } => "run the command in a working tree, or specify one: git --work-tree=<directory> checkpoint ...".to_owned(),
            Self::WorkTreeMissing { .. } => "correct or remove the setting: git config core.worktree <directory>\n\
                                            git config --unset core.worktree"
                .to_owned(),
            Self::FormatVersion { .. } | Self::Extension { .. } => {
                "a newer git wrote this repository; a newer git-checkpoint may read it".to_owned()
            }
            Self::Damaged { name, .. } if name.starts_with("refs/checkpoints") => {
                "repair it: git checkpoint repair".to_owned()
            }
            Self::Damaged { name, .. } => format!(
                "its earlier values are in its reflog, the last line being the latest:\ntail -n 3 \"$(git rev-parse --git-path logs/{name})\""
            ),
            Self::Malformed { file, path, .. } => file.hint(path),
            Self::Obstacle { path, .. } => format!("move it away: mv {0} {0}.old", quoted(path)),
            Self::PackedRefs { path, .. } => format!(
                "put the line right, or move the file away and fetch the refs again; old values are in the reflogs:\n\
                 mv {0} {0}.damaged && git fetch\ngrep -r . \"$(git rev-parse --git-path logs/refs)\"",
                quoted(path)
            ),
            Self::Head(_) => {
                "see what else is damaged: git fsck\nfetch it from a clone that has it, or go to another commit: git reflog"
                    .to_owned()
            }
            Self::RefLocked { path, .. } => format!(
                "another git process seems to be running; if none is, it crashed, and you may remove the file:\nrm {}",
                quoted(path)
            ),
            Self::InTheWay { other, .. } => {
                format!(
                    "rename or delete it: git update-ref -d {}",
                    quoted(Path::new(other))
                )
            }
            Self::Busy { .. } => {
                "try again, or wait longer: git -c checkpoint.lockTimeout=2m checkpoint ...".to_owned()
            }
            Self::IncompleteFork { session } => format!("finish it: git checkpoint fork --continue {session}"),
            Self::Running { .. } => "try again when it has ended; nothing was changed".to_owned(),
            Self::Io { path, source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                denied(path)
            }
            _ => return None,
        })
    }

    /// Whether the same call may succeed later without anybody changing anything: a lock, another writer.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Moved { .. }
                | Self::RefLocked { .. }
                | Self::Busy { .. }
                | Self::Running { .. }
                | Self::Vanished { .. }
        )
    }

    /// A file error with its path, for `map_err`.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// A file of ours that cannot be parsed, for `map_err`.
    pub(crate) fn malformed<E>(file: OwnFile, path: impl Into<PathBuf>) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let path = path.into();
        move |error| Self::Malformed {
            file,
            path,
            source: io::Error::new(io::ErrorKind::InvalidData, error),
        }
    }

    /// A failure of gix, for `map_err`.
    pub(crate) fn gix(action: impl Into<String>) -> impl FnOnce(gix::Error) -> Self {
        let action = action.into();
        move |source| Self::Gix { action, source }
    }
}

/// Kind of a file of ours that commands parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnFile {
    /// Pointer to the current session.
    Current,
    /// List of pins.
    Pins,
    /// Undo list of a working tree, or the paths that an entry changed.
    UndoList,
    /// Note of an unfinished purge.
    PurgeNote,
    /// Journal of an unfinished restore, apply or undo.
    Journal,
    /// Such a journal of a newer version.
    NewerJournal,
    /// State of a bisection.
    Bisect,
    /// Note of a merge or apply with conflicts.
    MergeState,
}

impl OwnFile {
    /// Remedy for a file at `path` that cannot be parsed. Every one but the pointer holds something that no other file
    /// has, so it is moved and never removed.
    fn hint(self, path: &Path) -> String {
        let moved = format!("mv {0} {0}.damaged", quoted(path));
        match self {
            Self::Current => "rewrite the file: git checkpoint switch <session>".to_owned(),
            Self::Pins => {
                format!("move the file away, then pin the checkpoints again: git checkpoint pin <checkpoint>\n{moved}")
            }
            Self::UndoList => format!("move the file away; its entries can then no longer be undone:\n{moved}"),
            Self::PurgeNote => format!("move the file away, then purge again:\n{moved}"),
            Self::Journal => format!(
                "check which files differ, then move the file away; the safety checkpoint has the previous files:\n\
                 git status\n{moved}"
            ),
            Self::Bisect => "end the bisection, which removes the file: git checkpoint bisect reset".to_owned(),
            Self::MergeState => {
                format!("resolve the conflicts, 'git status' lists them; then move the file away:\n{moved}")
            }
            Self::NewerJournal => "continue with the git-checkpoint that wrote it, or update this one".to_owned(),
        }
    }
}

/// Message of the library in git's style: lower-case first letter, without notes for programmers.
fn plain(error: &gix::Error) -> String {
    let text = error.to_string();
    let text = text.split(", input=").next().unwrap_or_default();
    crate::os::clause(text)
}

/// The directory of ours, or the git directory, that a path lies in; else the path.
fn directory_of(path: &Path) -> &Path {
    let is_ours = |above: &&Path| above.ends_with("checkpoint") || above.ends_with("objects");
    path.ancestors().filter(is_ours).last().unwrap_or(path)
}

/// Hint where a path of ours cannot be written.
fn denied(path: &Path) -> String {
    let ours = directory_of(path);
    let there = ours.ancestors().find(|above| above.exists()).unwrap_or(ours);
    let way = way_to_write(there);
    if !is_own(there) {
        return way;
    }
    format!("{way}\nto keep sessions elsewhere: git checkpoint help troubleshooting")
}

fn is_own(path: &Path) -> bool {
    gix::sec::identity::is_path_owned_by_current_user(path).unwrap_or(false)
}

/// What to do where a directory cannot be written: another mode where it is the user's own, else another owner.
pub fn way_to_write(directory: &Path) -> String {
    if !is_own(directory) {
        return format!("to make it yours: {}", crate::os::notices::take_over(directory));
    }
    // The outermost one that is read-only: often that is all of the repository.
    let is_closed = |above: &&Path| is_own(above) && !crate::os::is_writable(above);
    let closed = directory.ancestors().take_while(is_closed).last().unwrap_or(directory);
    format!("to make it writable: chmod -R u+w {}", quoted(closed))
}

/// A path as a shell takes it: quoted only when it has to be.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%,:=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
