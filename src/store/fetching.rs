//! A fetch that git runs for us, and what it leaves among the packs when it is killed.
//!
//! Until the refs of a fetch are in place git keeps a `.keep` next to the pack that came. A killed git leaves that for ever,
//! and no `gc` packs those objects again. A note from before git starts until it has ended shows the next command that a
//! fetch of ours was killed; only then is anything removed.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{Error, Repository, paths};
use crate::os::{self, CleanupFailure, ProcessHandle};

/// Where the notes are, below our directory, each by the encoded name of its remote.
const DIRECTORY: &str = "fetching";

/// The text that git writes into its `.keep`, before the process and the host.
const KEEP: &str = "fetch-pack ";

/// A fetch that runs. Its caller holds the lock of the remote.
#[must_use]
pub struct RunningFetch<'a> {
    repo: &'a Repository,
    note: PathBuf,
}

impl<'a> RunningFetch<'a> {
    /// Notes that git is about to fetch from the remote of this encoded name.
    pub fn begin(repo: &'a Repository, encoded: &str) -> Result<Self, Error> {
        let directory = paths::own_directory(repo, paths::private_dir(repo)?.join(DIRECTORY))?;
        let note = directory.join(encoded);
        // Not synced: after a power cut a `.keep` that is left costs some disk space.
        os::replace(&note, os::host_name().as_bytes(), paths::sharing(repo), false)
            .map_err(Error::io("write", &note))?;
        Ok(Self { repo, note })
    }

    /// Notes that git has ended, well or not.
    pub fn end(self) {
        settle(self.repo, &self.note);
    }
}

/// Removes what killed fetches from the remote of this encoded name left. The caller holds the lock of the remote, so none
/// runs.
pub fn sweep(repo: &Repository, encoded: &str) {
    settle(repo, &paths::private_path(repo).join(DIRECTORY).join(encoded));
}

/// The encoded names of the remotes that have a note.
pub(super) fn noted(repo: &Repository) -> Vec<String> {
    let notes = fs::read_dir(paths::private_path(repo).join(DIRECTORY));
    let names = notes.into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.into_string().ok()).collect()
}

/// Removes the `.keep` files that git made since a note and whose process is gone, and the note. One that cannot be removed
/// leaves the note to the next command.
fn settle(repo: &Repository, note: &Path) {
    let host = os::host_name();
    let since = fs::metadata(note).and_then(|meta| meta.modified());
    let (Ok(since), Ok(noted)) = (since, fs::read_to_string(note)) else {
        return;
    };
    // Of processes of another host that shares this directory nothing is known here.
    if noted != host {
        return;
    }
    let packs = fs::read_dir(paths::objects_dir(repo).join("pack"));
    let files = packs.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut is_clean = true;
    for keep in files.filter(|path| path.extension().is_some_and(|end| end == "keep")) {
        if is_abandoned(&keep, since, &host) {
            is_clean &= CleanupFailure::of(fs::remove_file(&keep), &keep).is_none();
        }
    }
    if is_clean {
        let _ = fs::remove_file(note);
    }
}

/// Whether a `.keep` is of a fetch that began after a moment and whose process is gone. Any other is a user's, or that of
/// a fetch that runs.
fn is_abandoned(keep: &Path, since: SystemTime, host: &str) -> bool {
    let is_later = fs::metadata(keep)
        .and_then(|meta| meta.modified())
        .is_ok_and(|at| at >= since);
    let text = os::read_regular(keep).ok().filter(|_| is_later);
    let text = text.and_then(|text| String::from_utf8(text).ok());
    let process = text.as_deref().and_then(|text| {
        let (process, of) = text.trim_end().strip_prefix(KEEP)?.split_once(" on ")?;
        process.parse().ok().filter(|_| of == host)
    });
    process.is_some_and(|id| matches!(ProcessHandle::find(id), Ok(None)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_keep_of_a_dead_fetch_is_abandoned() {
        let directory = tempfile::tempdir().expect("a directory");
        let keep = directory.path().join("pack-1.keep");
        let host = os::host_name();
        let (dead, alive) = (u32::MAX, os::own_process());
        for (text, expected) in [
            (format!("fetch-pack {dead} on {host}\n"), true),
            (format!("fetch-pack {alive} on {host}\n"), false),
            (format!("fetch-pack {dead} on {host}x\n"), false),
            (format!("receive-pack {dead} on {host}\n"), false),
            (format!("{dead} on {host}\n"), false),
            ("fetch-pack x on y\n".to_owned(), false),
            ("wanted by Ana\n".to_owned(), false),
            (String::new(), false),
        ] {
            fs::write(&keep, &text).expect("written");
            let written = fs::metadata(&keep).and_then(|meta| meta.modified()).expect("a time");
            let second = std::time::Duration::from_secs(1);
            assert_eq!(is_abandoned(&keep, written - second, &host), expected, "{text}");
            assert!(!is_abandoned(&keep, written + second, &host), "{text}");
        }
    }
}
