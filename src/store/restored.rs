//! Which checkpoint was restored last in a working tree, `<git-dir>/checkpoint/restored`, and which one was resumed while
//! saved changes of it were missing there, `<git-dir>/checkpoint/unapplied`.
//!
//! A save writes the first into its document, as `restored_from`.

use std::{fs, io, io::Write as _};

use super::{Error, Repository, sharing, worktree_private_dir, worktree_private_path};
use crate::{model::id::Digest, os};

/// The digest of the checkpoint restored last; `None` if none was.
pub fn read(repo: &Repository) -> Result<Option<Digest>, Error> {
    read_note(repo, RESTORED)
}

/// Whether only some files of that one were restored.
pub fn is_part(repo: &Repository) -> Result<bool, Error> {
    let path = worktree_private_path(repo).join(RESTORED);
    let text = os::notices::if_readable(fs::read_to_string(&path), &path).map_err(Error::io("read", &path))?;
    Ok(text.is_some_and(|text| text.lines().nth(1) == Some(PART)))
}

/// Notes a checkpoint of which some files were restored.
pub fn write_part(repo: &Repository, digest: &Digest) -> Result<(), Error> {
    write_lines(repo, RESTORED, &format!("{}\n{PART}\n", digest.as_str()))
}

/// Notes it; `None` forgets it.
pub fn write(repo: &Repository, digest: Option<&Digest>) -> Result<(), Error> {
    write_note(repo, RESTORED, digest)
}

/// The digest of the checkpoint that was resumed without all of its saved changes; `None` if none was.
pub fn read_unapplied(repo: &Repository) -> Result<Option<Digest>, Error> {
    read_note(repo, UNAPPLIED)
}

/// Notes it; `None` forgets it.
pub fn write_unapplied(repo: &Repository, digest: Option<&Digest>) -> Result<(), Error> {
    write_note(repo, UNAPPLIED, digest)
}

const RESTORED: &str = "restored";
const UNAPPLIED: &str = "unapplied";
/// The second line, where only some files were restored.
const PART: &str = "part";

fn read_note(repo: &Repository, name: &str) -> Result<Option<Digest>, Error> {
    let path = worktree_private_path(repo).join(name);
    let text = os::notices::if_readable(fs::read_to_string(&path), &path).map_err(Error::io("read", &path))?;
    Ok(text.and_then(|text| Digest::parse(text.lines().next()?).ok()))
}

fn write_note(repo: &Repository, name: &str, digest: Option<&Digest>) -> Result<(), Error> {
    let Some(digest) = digest else {
        let path = worktree_private_dir(repo)?.join(name);
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
            _ => Ok(()),
        };
    };
    write_lines(repo, name, &format!("{}\n", digest.as_str()))
}

fn write_lines(repo: &Repository, name: &str, text: &str) -> Result<(), Error> {
    let path = worktree_private_dir(repo)?.join(name);
    let written = os::private_file(&path, sharing(repo)).and_then(|mut file| {
        file.set_len(0)?;
        file.write_all(text.as_bytes())?;
        os::sync_data(&file)
    });
    written.map_err(Error::io("write", path))
}
