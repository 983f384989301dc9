//! A lock for file systems that have none: a file next to the one to be locked, which its owner creates and removes.
//!
//! Weaker than a kernel lock, as it is not removed when its owner is killed. It names its owner, so that on the same machine
//! one of a process that is gone is taken over; one of another machine stays until it is removed by hand.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{ProcessHandle, Sharing, host_name, own_process, read_regular, retry};

/// A file that is a lock; removed on drop.
#[derive(Debug)]
pub(super) struct Substitute {
    path: PathBuf,
}

impl Substitute {
    /// Takes the lock on `path`; `None` when another process still had it after `wait`.
    pub(super) fn acquire(path: &Path, sharing: Sharing, wait: Duration) -> io::Result<Option<Self>> {
        let path = beside(path);
        retry(wait, || Self::attempt(&path, sharing))
    }

    fn attempt(path: &Path, sharing: Sharing) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        super::system::new_mode(&mut options, 0o600);
        match options.open(path) {
            Ok(mut file) => {
                let lock = Self { path: path.to_owned() };
                super::file::set_private_mode(&file, 0o600, sharing)?;
                file.write_all(own_text().as_bytes())?;
                Ok(Some(lock))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove_dead(path);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether a process has the lock on `path`.
    pub(super) fn is_held(path: &Path) -> io::Result<bool> {
        match read_regular(&beside(path)) {
            Ok(text) => Ok(!is_dead(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Substitute {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(".held");
    path.into()
}

/// `PID SP START SP HOST`; `-` for a start that is not known.
fn own_text() -> String {
    let id = own_process();
    let started = ProcessHandle::find(id)
        .ok()
        .flatten()
        .and_then(|process| process.started());
    format!("{id} {} {}\n", started.as_deref().unwrap_or("-"), host_name())
}

/// Whether the owner ran on this machine and is gone. A file that is not whole yet proves nothing.
fn is_dead(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let Some(line) = text.strip_suffix('\n') else {
        return false;
    };
    let mut words = line.splitn(3, ' ');
    let (Some(id), Some(started), Some(host)) = (words.next(), words.next(), words.next()) else {
        return false;
    };
    let Ok(id) = id.parse() else { return false };
    host == host_name()
        && match ProcessHandle::find(id) {
            Ok(None) => true,
            Ok(Some(process)) => process.started().is_some_and(|now| started != "-" && now != started),
            Err(_) => false,
        }
}

/// Removes the file of an owner that is gone. It is moved aside first, so that of several who see it only one removes it;
/// should it have another owner by then, it goes back.
fn remove_dead(path: &Path) {
    let Ok(seen) = read_regular(path) else { return };
    if !is_dead(&seen) {
        return;
    }
    let Ok(token) = super::random_token() else { return };
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{token}.tmp"));
    let aside = PathBuf::from(aside);
    if fs::rename(path, &aside).is_err() {
        return;
    }
    if read_regular(&aside).is_ok_and(|found| found == seen) {
        let _ = fs::remove_file(&aside);
    } else {
        let _ = fs::rename(&aside, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_and_the_dead_lose_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("lock");
        let take = || Substitute::acquire(&path, Sharing::default(), Duration::ZERO).expect("tried");
        let held = take().expect("free");
        assert!(take().is_none(), "it is held");
        assert!(Substitute::is_held(&path).expect("asked"));
        drop(held);
        assert!(!Substitute::is_held(&path).expect("asked"));
        let host = host_name();
        let gone = u32::MAX / 2;
        for (text, dead) in [
            (format!("{gone} - {host}\n"), true),
            (format!("{} 1 {host}\n", own_process()), cfg!(target_os = "linux")),
            (own_text(), false),
            (format!("{gone} - another{host}\n"), false),
            (format!("{gone} - {host}"), false),
            (String::new(), false),
            ("garbage\n".to_owned(), false),
        ] {
            fs::write(beside(&path), &text).expect("written");
            assert_eq!(Substitute::is_held(&path).expect("asked"), !dead, "{text}");
            // The first look removes what is dead, the second finds the place free.
            let found = Substitute::acquire(&path, Sharing::default(), Duration::from_millis(50)).expect("tried");
            assert_eq!(found.is_some(), dead, "{text}");
        }
    }
}
