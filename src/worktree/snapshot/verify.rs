//! Whether the blob of a file that git calls unchanged gives the bytes on disk, determined without reading the file.

use super::attributes::{Conversion, FilterAttribute};
use super::lfs::{MAX_POINTER, Pointer};
use super::walk::WalkContext;
use crate::os::dir::Meta;
use crate::store::{ObjectId, Repository};

/// Relation of a file to its blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlobMatch {
    /// The blob gives these bytes, and any file of this size that git calls unchanged.
    Always,
    /// The blob gives these bytes as long as the content that it points to is here.
    Now,
    /// The file has to be read.
    Unknown,
}

/// Judges a file by its size: a blob that came from it by other conversions than those of now has another one.
pub(super) fn gives(
    repo: &Repository,
    ground: &WalkContext<'_>,
    (at, path): (usize, &[u8]),
    meta: &Meta,
    conversion: &Conversion<'_>,
) -> BlobMatch {
    let entry = ground.index.entry(at);
    if conversion.unkept {
        return BlobMatch::Unknown;
    }
    match conversion.filter {
        // What a program made longer or shorter is its own to give back. A file of the blob's size may never have been
        // through it: the filter can be younger than the file.
        FilterAttribute::Driver(_) if conversion.keeps_size(ground.settings) => {
            let header = repo.try_find_header(entry.id).ok().flatten();
            let may_be_unfiltered = header.is_some_and(|header| header.size() == meta.size);
            return if may_be_unfiltered {
                BlobMatch::Unknown
            } else {
                BlobMatch::Always
            };
        }
        FilterAttribute::Driver(_) => return BlobMatch::Unknown,
        FilterAttribute::Lfs => {
            let kept = |pointer: &Pointer| pointer.size == meta.size && ground.lfs.has(pointer);
            // What cannot be kept is read, and reported then.
            let lasts =
                |pointer: &Pointer| !ground.keeps || ground.lfs.keep_unchanged(repo, path, entry.id, pointer).is_ok();
            let pointer = pointer(repo, &entry.id).filter(|pointer| kept(pointer) && lasts(pointer));
            return if pointer.is_some() {
                BlobMatch::Now
            } else {
                BlobMatch::Unknown
            };
        }
        FilterAttribute::None if !conversion.keeps_size(ground.settings) => return BlobMatch::Unknown,
        FilterAttribute::None => {}
    }
    match repo.try_find_header(entry.id) {
        Ok(Some(header)) if header.size() == meta.size => BlobMatch::Always,
        // It is on the remote; that the checkout came from it is all that can be known.
        Ok(None) if ground.partial => BlobMatch::Always,
        _ => BlobMatch::Unknown,
    }
}

/// Reads a blob as a pointer of git-lfs, if it is one.
pub(super) fn pointer(repo: &Repository, id: &ObjectId) -> Option<Pointer> {
    let header = repo.try_find_header(*id).ok()??;
    if header.size() > MAX_POINTER {
        return None;
    }
    Pointer::parse(&repo.find_object(*id).ok()?.data)
}
