//! The paths that an entry of the undo list changed, in a file of their own, so that the list stays short.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use crate::model::id::Oid;
use crate::model::path::{self, RepoPath};
use crate::os;
use crate::store::{Error, OwnFile, Repository, sharing, worktree_private_dir};

fn changes_path(repo: &Repository, n: u64) -> Result<PathBuf, Error> {
    let directory = worktree_private_dir(repo)?.join("undo");
    os::private_dir(&directory, sharing(repo)).map_err(Error::io("create", &directory))?;
    Ok(directory.join(format!("{n}.changes")))
}

/// Change of one path: its new mode as in a tree and its blob; `None` if it was deleted.
pub type PathChange = (RepoPath, Option<(u32, Oid)>);

/// Writes the paths that an entry changed, before the entry itself.
pub fn write_changes(repo: &Repository, n: u64, changes: &[PathChange]) -> Result<(), Error> {
    let path = changes_path(repo, n)?;
    let mut bytes = Vec::new();
    for (changed, now) in changes {
        match now {
            Some((mode, id)) => bytes.extend_from_slice(format!("{mode:o} {} ", id.as_str()).as_bytes()),
            None => bytes.extend_from_slice(b"- - "),
        }
        bytes.extend_from_slice(&path::quote(changed.as_bytes()));
        bytes.push(b'\n');
    }
    let written = os::private_file(&path, sharing(repo)).and_then(|mut file| {
        file.set_len(0)?;
        file.write_all(&bytes)?;
        os::sync_data(&file)
    });
    written.map_err(Error::io("write", path))
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
        return Some((changed, None));
    }
    Some((changed, Some((u32::from_str_radix(mode, 8).ok()?, Oid::new(id).ok()?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_reads_back() {
        let id = Oid::new("a".repeat(40)).expect("an id");
        assert_eq!(change(b"- - a b"), Some((RepoPath::from("a b"), None)));
        let line = [b"100755 ", "a".repeat(40).as_bytes(), b" \"a\\nb\""].concat();
        assert_eq!(change(&line), Some((RepoPath::from("a\nb"), Some((0o100_755, id)))));
        assert_eq!(change(b"100644 x y"), None);
        assert_eq!(change(b"100644"), None);
    }
}
