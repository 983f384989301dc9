//! Reading refs that lie in files: one file a ref, and `packed-refs` for those without one.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gix::ObjectId;

use super::{RefDamage, RefListing, packed};
use crate::store::{Error, Repository};

/// Value of a ref; its object is not checked.
pub(super) type RefValue = Result<ObjectId, RefDamage>;

/// The file of a ref.
pub(super) fn path(repo: &Repository, name: &str) -> PathBuf {
    repo.common_dir().join(name)
}

/// The value of one ref.
pub(super) fn read(repo: &Repository, name: &str) -> Result<Option<RefValue>, Error> {
    let path = path(repo, name);
    match read_loose(repo.object_hash(), &path).map_err(Error::io("read", &path))? {
        Some(value) => Ok(Some(value)),
        None => Ok(packed::PackedRefs::read(repo)?.find(name).map(Ok)),
    }
}

/// The value in a ref's file; `None` if there is no such file. That this process can open no more files is no damage, and
/// the one error.
pub(super) fn read_loose(hash: gix::hash::Kind, path: &Path) -> io::Result<Option<RefValue>> {
    match crate::os::read_regular(path) {
        Ok(bytes) => Ok(Some(parse(&bytes, hash))),
        Err(error) if crate::os::is_out_of_files(&error) => Err(error),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => Ok(None),
            _ => Ok(Some(Err(RefDamage::Unreadable(crate::os::reason(&error))))),
        },
    }
}

/// Parses a ref's file. git ignores text after white space behind the id.
pub(super) fn parse(bytes: &[u8], hash: gix::hash::Kind) -> RefValue {
    if bytes.is_empty() {
        return Err(RefDamage::Empty);
    }
    if let Some(target) = bytes.strip_prefix(b"ref:") {
        return Err(RefDamage::Symbolic(String::from_utf8_lossy(target).trim().to_owned()));
    }
    let width = hash.len_in_hex();
    match bytes.split_at_checked(width) {
        Some((hex, rest)) if rest.first().is_none_or(u8::is_ascii_whitespace) => {
            ObjectId::from_hex(hex).map_err(|_| RefDamage::Garbage)
        }
        _ => Err(RefDamage::Garbage),
    }
}

/// All refs whose names begin with `prefix`, by name.
pub(super) fn list(repo: &Repository, prefix: &str) -> Result<Vec<RefListing>, Error> {
    let files = loose(repo, prefix)?;
    let hash = repo.object_hash();
    let values = crate::os::parallel_map(&files, |files| {
        let read = |(_, path): &(String, PathBuf)| read_loose(hash, path);
        files.iter().map(read).collect()
    });
    // The packed ones after the others, as in git: what is packed meanwhile is found here.
    let packed = packed::PackedRefs::read(repo)?;
    let mut found = Vec::new();
    for ((name, path), value) in files.into_iter().zip(values) {
        if let Some(value) = value.map_err(Error::io("read", path))? {
            found.push((name, value));
        }
    }
    found.extend(packed.with_prefix(prefix).map(|(name, id)| (name, Ok(id))));
    // Of two of a name the first counts, whose file is there.
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found.dedup_by(|later, first| later.0 == first.0);
    Ok(found)
}

/// The names of all refs that begin with `prefix`.
pub(super) fn names(repo: &Repository, prefix: &str) -> Result<BTreeSet<String>, Error> {
    let mut names: BTreeSet<String> = loose(repo, prefix)?.into_iter().map(|(name, _)| name).collect();
    let packed = packed::PackedRefs::read(repo)?;
    names.extend(packed.with_prefix(prefix).map(|(name, _)| name));
    Ok(names)
}

/// The names and paths of the files of refs that begin with `prefix`.
fn loose(repo: &Repository, prefix: &str) -> Result<Vec<(String, PathBuf)>, Error> {
    // `refs/checkpoints/` is a directory; of `refs/checkpoints/a` the directory above it is looked through.
    let directory = prefix.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut files = Vec::new();
    walk(repo, directory, prefix, &mut files)?;
    Ok(files)
}

/// Collects the names and paths of the files of refs.
fn walk(repo: &Repository, directory: &str, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> Result<(), Error> {
    let path = path(repo, directory);
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(Error::io("read", &path))?;
        let name = format!("{directory}/{}", entry.file_name().to_string_lossy());
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
