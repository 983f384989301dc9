//! Loose objects, read as strictly as git reads them: the compressed stream comes to its end, its checksum is right,
//! nothing follows it, and what it holds has the length and the id that it should have.
//!
//! gix stops when it has the announced number of bytes, so that a file that lost its last bytes is whole to it, and git
//! refuses it.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::{Decompress, FlushDecompress, Status};
use gix::ObjectId;
use gix::objs::Kind;

use super::ObjectPresence;
use super::deflate::{CHUNK, read_some};
use crate::os;
use crate::store::{Repository, paths};

/// Where an object lies in an object directory if it is loose.
pub(super) fn path(directory: &Path, id: &ObjectId) -> PathBuf {
    let hex = id.to_string();
    [directory, Path::new(&hex[..2]), Path::new(&hex[2..])].iter().collect()
}

/// Whether the loose object at `path` is whole and has this id; an error if there is none to read.
pub(super) fn verify(path: &Path, id: &ObjectId) -> io::Result<bool> {
    let mut hasher = gix::hash::hasher(id.kind());
    // An object's id is the hash of header and contents, exactly what the stream holds.
    let damage = inflate(path, &mut |piece| hasher.update(piece))?;
    Ok(damage.is_none() && hasher.try_finalize().is_ok_and(|found| found == *id))
}

/// A loose object as its file has it.
pub(super) enum LooseObject {
    Intact(Kind, Vec<u8>),
    /// The fault.
    Damaged(String),
}

/// The loose object at `path`; an error if there is none to read.
pub(super) fn read(path: &Path, id: &ObjectId) -> io::Result<LooseObject> {
    let damaged = |why: &str| Ok(LooseObject::Damaged(why.to_owned()));
    let mut bytes = Vec::new();
    if let Some(why) = inflate(path, &mut |piece| bytes.extend_from_slice(piece))? {
        return damaged(why);
    }
    let Ok((kind, size, head)) = gix::objs::decode::loose_header(&bytes) else {
        return damaged("its header is wrong");
    };
    let data = bytes.split_off(head);
    if size != data.len() as u64 {
        return damaged(&format!("it has {} bytes, and its header says {size}", data.len()));
    }
    match gix::objs::compute_hash(id.kind(), kind, &data) {
        Ok(found) if found == *id => Ok(LooseObject::Intact(kind, data)),
        Ok(_) => damaged("its bytes have another id"),
        Err(_) => damaged("its bytes are part of a collision attack"),
    }
}

/// The kind and contents of an object that lies loose and whole in the repository's own directory; whether there is such a
/// file at all.
pub(in crate::store) fn own(repo: &Repository, id: &ObjectId) -> (Option<(Kind, Vec<u8>)>, bool) {
    match read(&path(&paths::objects_dir(repo), id), id) {
        Ok(LooseObject::Intact(kind, data)) => (Some((kind, data)), true),
        Ok(LooseObject::Damaged(_)) => (None, true),
        Err(error) => (None, error.kind() != io::ErrorKind::NotFound),
    }
}

/// Damage of a loose object that is in no pack, by git's strict rules. gix has read it.
pub(in crate::store) fn damaged_loose(repo: &Repository, id: &ObjectId) -> Option<String> {
    // Alternates are other repositories, and these to be checked.
    let LooseObject::Damaged(why) = read(&path(&paths::objects_dir(repo), id), id).ok()? else {
        return None;
    };
    let packed = ObjectPresence::new(repo).is_ok_and(|present| present.is_packed(id));
    (!packed).then_some(why)
}

/// Inflates a whole file, piece by piece. Gives what is wrong with its stream.
fn inflate(path: &Path, seen: &mut dyn FnMut(&[u8])) -> io::Result<Option<&'static str>> {
    const DAMAGED: &str = "its compressed data is damaged";
    const SHORT: &str = "it is truncated";
    let mut file = os::open_regular(path)?;
    let mut inflater = Decompress::new(true);
    // Most objects are small, and large ones are worth the growing.
    let mut input = vec![0; CHUNK.min(usize::try_from(file.metadata()?.len()).unwrap_or(CHUNK).max(1))];
    let mut output = Vec::with_capacity(CHUNK);
    loop {
        let count = read_some(&mut file, &mut input)?;
        let mut rest = &input[..count];
        loop {
            let before = inflater.total_in();
            output.clear();
            let Ok(status) = inflater.decompress_vec(rest, &mut output, FlushDecompress::None) else {
                return Ok(Some(DAMAGED));
            };
            let used = usize::try_from(inflater.total_in() - before).unwrap_or(rest.len());
            rest = &rest[used..];
            seen(&output);
            if status == Status::StreamEnd {
                let ended = rest.is_empty() && file.read(&mut [0])? == 0;
                return Ok((!ended).then_some("something follows it in its file"));
            }
            if rest.is_empty() && output.len() < output.capacity() {
                break;
            }
            if used == 0 && output.is_empty() {
                return Ok(Some(DAMAGED));
            }
        }
        if count == 0 {
            return Ok(Some(SHORT));
        }
    }
}
