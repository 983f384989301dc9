//! The paths that an entry of the undo list changed, in a file of their own, so that the list stays short.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crate::model::id::{Digest, Oid};
use crate::model::path::{self, RepoPath};
use crate::model::tree_mode;
use crate::os;
use crate::store::{Error, OwnFile, Repository, sharing, worktree_private_dir};

fn changes_path(repo: &Repository, n: u64) -> Result<PathBuf, Error> {
    let directory = worktree_private_dir(repo)?.join("undo");
    os::private_dir(&directory, sharing(repo)).map_err(Error::io("create", &directory))?;
    Ok(directory.join(format!("{n}.changes")))
}

/// A path on the disk, by its bytes: no rule of the repository, which may be another one later, changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathState {
    /// Nothing has the name.
    Absent,
    /// A directory.
    Directory,
    /// A file with these permission bits and the digest of its bytes.
    File {
        /// The bits, `0o7777`.
        bits: u32,
        /// The digest of the bytes.
        digest: Digest,
    },
    /// A symlink with the digest of its text.
    Symlink {
        /// The digest of the text.
        digest: Digest,
    },
    /// A file as a tree has it: the form that versions before this one wrote.
    Stored {
        /// The mode in a tree.
        mode: u32,
        /// The blob.
        id: Oid,
    },
}

/// A path with the state that an operation left it in.
pub type PathChange = (RepoPath, PathState);

/// Writes the paths that an entry changed, before the entry itself. Those of an entry that is in force are replaced whole.
pub fn write_changes(repo: &Repository, n: u64, changes: &[PathChange]) -> Result<(), Error> {
    let path = changes_path(repo, n)?;
    let mut bytes = Vec::new();
    for (changed, state) in changes {
        bytes.extend_from_slice(fields(state).as_bytes());
        bytes.extend_from_slice(&path::quote(changed.as_bytes()));
        bytes.push(b'\n');
    }
    os::replace(&path, &bytes, sharing(repo), true).map_err(Error::io("write", path))
}

/// The fields of a line before the path: the mode and what it is about.
fn fields(state: &PathState) -> String {
    let mut text = String::new();
    let written = match state {
        PathState::Absent => write!(text, "- - "),
        PathState::Directory => write!(text, "40000 - "),
        PathState::File { bits, digest } => write!(text, "{:o} {digest} ", 0o100_000 | bits),
        PathState::Symlink { digest } => write!(text, "120000 {digest} "),
        PathState::Stored { mode, id } => write!(text, "{mode:o} {} ", id.as_str()),
    };
    written.expect("writing to a string cannot fail");
    text
}

/// The paths that an entry changed.
pub fn changes(repo: &Repository, n: u64) -> Result<Vec<PathChange>, Error> {
    let path = changes_path(repo, n)?;
    let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
    let malformed = || Error::malformed(OwnFile::UndoList, &path)("a line is no path with its mode and blob");
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| change(line).ok_or_else(malformed)).collect()
}

fn change(line: &[u8]) -> Option<PathChange> {
    let mut fields = line.splitn(3, |byte| *byte == b' ');
    let mode = std::str::from_utf8(fields.next()?).ok()?;
    let id = std::str::from_utf8(fields.next()?).ok()?;
    let changed = RepoPath::new(path::unquote(fields.next()?)?.into_owned());
    if mode == "-" {
        return Some((changed, PathState::Absent));
    }
    let mode = u32::from_str_radix(mode, 8).ok()?;
    let state = match (mode, Digest::parse(id)) {
        (tree_mode::DIRECTORY, _) => PathState::Directory,
        (tree_mode::SYMLINK, Ok(digest)) => PathState::Symlink { digest },
        (mode, Ok(digest)) => PathState::File {
            bits: mode & 0o7777,
            digest,
        },
        (mode, Err(_)) => PathState::Stored {
            mode,
            id: Oid::new(id).ok()?,
        },
    };
    Some((changed, state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_reads_back() {
        let digest = Digest::of(b"bytes");
        let id = Oid::new("a".repeat(40)).expect("an id");
        for state in [
            PathState::Absent,
            PathState::Directory,
            PathState::File {
                bits: 0o640,
                digest: digest.clone(),
            },
            PathState::File {
                bits: 0,
                digest: digest.clone(),
            },
            PathState::Symlink { digest },
            PathState::Stored {
                mode: tree_mode::EXECUTABLE,
                id,
            },
        ] {
            for name in ["a b", "a\nb", "- -", "\u{fc}"] {
                let line = [fields(&state).as_bytes(), &path::quote(name.as_bytes())].concat();
                assert_eq!(change(&line), Some((RepoPath::from(name), state.clone())), "{state:?}");
            }
        }
        assert_eq!(change(b"100644 x y"), None);
        assert_eq!(change(b"100644"), None);
    }

    #[test]
    fn a_directory_of_the_first_form_reads_back() {
        let line = [b"40000 ", "b".repeat(40).as_bytes(), b" d"].concat();
        assert_eq!(change(&line), Some((RepoPath::from("d"), PathState::Directory)));
    }
}
