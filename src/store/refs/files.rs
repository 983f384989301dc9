//! Reading refs that lie in files: one file a ref, and `packed-refs` for those without one.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gix::ObjectId;

use super::{Damage, packed};
use crate::store::{Error, Repository};

/// What stands in a ref, its object not looked at.
pub(super) type Value = Result<ObjectId, Damage>;

/// The file of a ref.
pub(super) fn path(repo: &Repository, name: &str) -> PathBuf {
    repo.common_dir().join(name)
}

/// The value of one ref.
pub(super) fn read(repo: &Repository, name: &str) -> Result<Option<Value>, Error> {
    match read_loose(repo.object_hash(), &path(repo, name)) {
        Some(value) => Ok(Some(value)),
        None => Ok(packed::Packed::read(repo)?.find(name).map(Ok)),
    }
}

/// The value in a ref's file; `None` if there is no such file.
pub(super) fn read_loose(hash: gix::hash::Kind, path: &Path) -> Option<Value> {
    match crate::os::read_regular(path) {
        Ok(bytes) => Some(parse(&bytes, hash)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => None,
            _ => Some(Err(Damage::Unreadable(crate::os::reason(&error)))),
        },
    }
}

/// What a ref's file says. git ignores what follows the id after white space.
pub(super) fn parse(bytes: &[u8], hash: gix::hash::Kind) -> Value {
    if bytes.is_empty() {
        return Err(Damage::Empty);
    }
    if let Some(target) = bytes.strip_prefix(b"ref:") {
        return Err(Damage::Symbolic(String::from_utf8_lossy(target).trim().to_owned()));
    }
    let width = hash.len_in_hex();
    match bytes.split_at_checked(width) {
        Some((hex, rest)) if rest.first().is_none_or(u8::is_ascii_whitespace) => {
            ObjectId::from_hex(hex).map_err(|_| Damage::Garbage)
        }
        _ => Err(Damage::Garbage),
    }
}

/// All refs whose names begin with `prefix`.
pub(super) fn list(repo: &Repository, prefix: &str) -> Result<BTreeMap<String, Value>, Error> {
    // `refs/checkpoints/` is a folder; of `refs/checkpoints/a` the folder above it is looked through.
    let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut files = Vec::new();
    walk(repo, folder, prefix, &mut files)?;
    let hash = repo.object_hash();
    let values = crate::os::in_halves(&files, |files| {
        let read = |(_, path): &(String, PathBuf)| read_loose(hash, path);
        files.iter().map(read).collect()
    });
    // The packed ones after the others, as in git: what is packed meanwhile is found here.
    let packed = packed::Packed::read(repo)?;
    let mut found: BTreeMap<String, Value> = packed.with_prefix(prefix).map(|(name, id)| (name, Ok(id))).collect();
    let loose = files.into_iter().zip(values);
    found.extend(loose.filter_map(|((name, _), value)| Some((name, value?))));
    Ok(found)
}

/// Collects the names and paths of the files of refs.
fn walk(repo: &Repository, folder: &str, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> Result<(), Error> {
    let path = path(repo, folder);
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(Error::io("read", &path))?;
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        // Lock files are no valid names of refs, so they drop out below.
        let within = name.starts_with(prefix) || prefix.starts_with(&format!("{name}/"));
        if !within {
            continue;
        }
        // A link counts as what it leads to, as in git.
        let is_dir = match entry.file_type() {
            Ok(kind) if !kind.is_symlink() => kind.is_dir(),
            _ => entry.path().is_dir(),
        };
        if is_dir {
            walk(repo, &name, prefix, files)?;
        } else if super::check_name(&name).is_ok() {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}
