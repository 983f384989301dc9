//! Notices about the place that a repository is in: given by layers that do not print, shown at the end of a
//! command.
//!
//! A limit of a file system concerns every command in it, so it is reported once for each repository: a file in the directory
//! that [`keep_in`] names remembers it.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
struct Notices {
    directory: Option<PathBuf>,
    texts: Vec<String>,
    notes: Vec<String>,
    limits: Vec<Limit>,
}

static NOTICES: Mutex<Notices> = Mutex::new(Notices {
    directory: None,
    texts: Vec::new(),
    notes: Vec::new(),
    limits: Vec::new(),
});

/// Something that a file system cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Kernel locks on files.
    Locks,
    /// Bringing a directory, or a file, to the disk on demand.
    Sync,
}

impl Limit {
    fn file(self) -> &'static str {
        match self {
            Self::Locks => "without-locks",
            Self::Sync => "without-sync",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Locks => {
                "this file system has no locks, so files with the owner's process number stand for them: what a killed \
                 process on another machine left there has to be removed by hand"
            }
            Self::Sync => {
                "this file system cannot write a directory to the disk on demand: after a power cut the last checkpoints \
                 may be missing"
            }
        }
    }
}

/// Directory of the notices that were given.
pub fn keep_in(directory: &Path) {
    let mut notices = held();
    if notices.directory.is_none() {
        notices.directory = Some(directory.to_owned());
    }
}

/// Notes a limit of the file system, which weakens what the program promises.
pub fn limited(limit: Limit) {
    let mut notices = held();
    if !notices.limits.contains(&limit) {
        notices.limits.push(limit);
    }
}

/// Takes what is there of own state that does not have to be there: absent, and unreadable because it is another user's,
/// which is noted, are nothing.
pub fn if_readable<T>(result: io::Result<T>, path: &Path) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let directory = own_directory(path);
            let text = format!(
                "'{}' belongs to another user and cannot be read, so what it says is not known here; take it over: {}",
                path.display(),
                take_over(directory)
            );
            let mut notices = held();
            if !notices.texts.iter().any(|told| told.ends_with(&take_over(directory))) {
                notices.texts.push(text);
            }
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Notes something for the end of the command, once.
pub fn say(text: &str) {
    let mut notices = held();
    if !notices.texts.iter().any(|told| told == text) {
        notices.texts.push(text.to_owned());
    }
}

/// Notes how a command was understood, once; it is no warning.
pub fn note(text: &str) {
    let mut notices = held();
    if !notices.notes.iter().any(|given| given == text) {
        notices.notes.push(text.to_owned());
    }
}

/// The notes for the end of a command.
pub fn taken_notes() -> Vec<String> {
    std::mem::take(&mut held().notes)
}

/// The command that makes a directory the user's own.
pub fn take_over(directory: &Path) -> String {
    let text = directory.display().to_string();
    format!("sudo chown -R \"$(id -u):$(id -g)\" '{}'", text.replace('\'', r"'\''"))
}

/// The directory of ours that a path lies in.
fn own_directory(path: &Path) -> &Path {
    let ours = path.ancestors().filter(|above| above.ends_with("checkpoint")).last();
    ours.unwrap_or(path)
}

/// Notices for the end of a command.
pub fn taken() -> Vec<String> {
    let mut notices = held();
    let mut texts = std::mem::take(&mut notices.texts);
    for limit in std::mem::take(&mut notices.limits) {
        let is_new = notices.directory.as_ref().is_none_or(|directory| {
            let marker = directory.join(limit.file());
            let made = OpenOptions::new().write(true).create_new(true).open(marker);
            !made.is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
        });
        if is_new {
            texts.push(limit.text().to_owned());
        }
    }
    texts
}

fn held() -> MutexGuard<'static, Notices> {
    NOTICES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_another_users_is_nothing_and_other_errors_stay() {
        let path = Path::new("/r/.git/checkpoint/drafts/it's");
        let error = |kind: io::ErrorKind| Err::<(), _>(io::Error::from(kind));
        assert_eq!(if_readable(Ok(1), path).expect("there"), Some(1));
        assert_eq!(if_readable(error(io::ErrorKind::NotFound), path).expect("absent"), None);
        assert_eq!(
            if_readable(error(io::ErrorKind::PermissionDenied), path).expect("unreadable"),
            None
        );
        assert!(if_readable(error(io::ErrorKind::InvalidData), path).is_err());
        assert_eq!(own_directory(path), Path::new("/r/.git/checkpoint"));
        assert_eq!(
            take_over(Path::new("/it's")),
            r#"sudo chown -R "$(id -u):$(id -g)" '/it'\''s'"#
        );
    }
}
