//! Stored content, verified against its id while it is read.
//!
//! Large blobs come from a git child piece by piece; git-lfs content is read from where git-lfs keeps it, and checked,
//! so that nothing is run and no server asked. What was checked before anything is written need not be read again, as
//! long as it is not too much to keep.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::Error;
use super::content::ContentError;
use crate::model::path::RepoPath;
use crate::store::objects::Writer;
use crate::store::{self, Kind, ObjectId, Repository, checkpoint};
use crate::worktree::snapshot::lfs::{Lfs, MAX_POINTER, Pointer};

/// Blobs above this size, if they are not converted, are never held in memory: 8 MiB, as little as is no burden.
pub(super) const LARGE: u64 = 8 * 1024 * 1024;
/// Checked blobs that are kept, all together.
const KEPT: usize = 64 * 1024 * 1024;
const PIECE: usize = 128 * 1024;

/// Blobs that were read and are what their ids say.
pub(super) type VerifiedBlobs = HashMap<ObjectId, Arc<Vec<u8>>>;

/// The stored side of files.
pub(super) struct BlobSource<'a> {
    pub repo: &'a Repository,
    pub lfs: Lfs,
    pub hasher: Writer,
    checked: Arc<VerifiedBlobs>,
}

impl<'a> BlobSource<'a> {
    pub(super) fn new(repo: &'a Repository, checked: Arc<VerifiedBlobs>) -> Result<Self, Error> {
        Ok(Self {
            repo,
            lfs: Lfs::of(repo)?,
            hasher: Writer::memory(repo),
            checked,
        })
    }

    /// The pointer of git-lfs that a blob is.
    pub(super) fn pointer(&self, path: &[u8], id: ObjectId) -> Result<Option<Pointer>, Error> {
        if self.size(path, id)? > MAX_POINTER {
            return Ok(None);
        }
        Ok(Pointer::parse(&self.read(path, id)?))
    }

    pub(super) fn size(&self, path: &[u8], id: ObjectId) -> Result<u64, Error> {
        if let Some(blob) = self.checked.get(&id) {
            return Ok(blob.len() as u64);
        }
        match self.repo.try_find_header(id) {
            Ok(Some(header)) if header.kind() == Kind::Blob => Ok(header.size()),
            Ok(Some(header)) => Err(blob_error(path, id, format!("it is a {}", header.kind()))),
            Ok(None) => Err(blob_error(path, id, "it is not in this repository")),
            Err(error) => Err(blob_error(path, id, error.to_string())),
        }
    }

    /// The blob, checked against its id.
    pub(super) fn read(&self, path: &[u8], id: ObjectId) -> Result<Arc<Vec<u8>>, Error> {
        if let Some(blob) = self.checked.get(&id) {
            return Ok(Arc::clone(blob));
        }
        let blob = checkpoint::read(self.repo, id, Kind::Blob, "blob").map_err(|fault| match fault {
            checkpoint::Fault::Missing { .. } => blob_error(path, id, "it is not in this repository"),
            checkpoint::Fault::Corrupt { why, .. } => blob_error(path, id, why),
            other => blob_error(path, id, other.to_string()),
        })?;
        Ok(Arc::new(blob))
    }

    /// Checks that a blob has its id, and so is its git-lfs content if `is_lfs`. Keeps it in `checked`, of
    /// which there are to be no more than some.
    pub(super) fn check(
        &self,
        path: &[u8],
        id: ObjectId,
        is_lfs: bool,
        checked: &mut VerifiedBlobsBuilder,
    ) -> Result<(), Error> {
        let result = if self.size(path, id)? > LARGE && !self.is_in_memory(id) {
            self.stream(path, id, &mut |_| Ok(()))
        } else {
            checked.keep(id, self.read(path, id)?);
            Ok(())
        };
        let pointer = if is_lfs { self.pointer(path, id)? } else { None };
        let result = result.and_then(|()| match pointer {
            Some(pointer) if self.lfs.has(&pointer) => self.lfs_content(path, id, &pointer, &mut |_| Ok(())),
            _ => Ok(()),
        });
        match result {
            Ok(()) => Ok(()),
            Err(ContentError::Source(error)) => Err(error),
            Err(ContentError::Convert(why)) => Err(blob_error(path, id, why)),
            Err(ContentError::Write(error)) => Err(blob_error(path, id, error.to_string())),
        }
    }

    /// Whether only this process has the object, so that no child can read it.
    pub(super) fn is_in_memory(&self, _id: ObjectId) -> bool {
        self.repo.objects.num_objects_in_memory() > 0
    }

    /// A blob through a git child, hashed on the way.
    pub(super) fn stream(
        &self,
        path: &[u8],
        id: ObjectId,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), ContentError> {
        let failed = |error: crate::git::Error| ContentError::Source(blob_error(path, id, error.to_string()));
        let size = self.size(path, id).map_err(ContentError::Source)?;
        let mut child = store::git(self.repo)
            .args(["cat-file", "blob"])
            .arg(id.to_string())
            .start()
            .map_err(failed)?;
        let mut stdout = child
            .stdout
            .take()
            .ok_or_else(|| ContentError::Convert("git gave no output".to_owned()))?;
        let mut hashing = Hashing {
            source: &mut stdout,
            sink,
            stopped: None,
        };
        let hashed = self.hasher.hash_stream(Kind::Blob, size, &mut hashing);
        if let Some(error) = hashing.stopped {
            return Err(ContentError::Write(error));
        }
        match hashed {
            Ok(found) if found == id => child.finish().map(drop).map_err(failed),
            Ok(_) => Err(ContentError::Source(blob_error(path, id, "its bytes have another id"))),
            Err(error) => Err(ContentError::Source(blob_error(path, id, error.to_string()))),
        }
    }

    /// The content behind a pointer, hashed on the way.
    pub(super) fn lfs_content(
        &self,
        path: &[u8],
        id: ObjectId,
        pointer: &Pointer,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), ContentError> {
        let unreadable = |error: &io::Error| {
            let why = format!("its git-lfs content cannot be read: {}", crate::os::reason(error));
            ContentError::Source(blob_error(path, id, why))
        };
        let mut file = File::open(self.lfs.path(pointer)).map_err(|error| unreadable(&error))?;
        let mut sum = Sha256::new();
        let mut piece = vec![0; PIECE];
        loop {
            let count = file.read(&mut piece).map_err(|error| unreadable(&error))?;
            if count == 0 {
                break;
            }
            sum.update(&piece[..count]);
            sink(&piece[..count]).map_err(ContentError::Write)?;
        }
        if hex(&sum.finalize()) == pointer.sha256 {
            Ok(())
        } else {
            Err(ContentError::Source(blob_error(
                path,
                id,
                "its git-lfs content is damaged",
            )))
        }
    }
}

/// [`VerifiedBlobs`] in the making.
pub(super) struct VerifiedBlobsBuilder {
    pub blobs: VerifiedBlobs,
    size: usize,
    most: usize,
}

impl VerifiedBlobsBuilder {
    /// One of so many that are made at the same time.
    pub(super) fn one_of(count: usize) -> Self {
        Self {
            blobs: VerifiedBlobs::new(),
            size: 0,
            most: KEPT / count,
        }
    }

    fn keep(&mut self, id: ObjectId, blob: Arc<Vec<u8>>) {
        if self.size + blob.len() <= self.most {
            self.size += blob.len();
            self.blobs.insert(id, blob);
        }
    }
}

/// Hands on what is read.
struct Hashing<'a> {
    source: &'a mut dyn Read,
    sink: &'a mut dyn FnMut(&[u8]) -> io::Result<()>,
    stopped: Option<io::Error>,
}

impl Read for Hashing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        match (self.sink)(&buffer[..count]) {
            Ok(()) => Ok(count),
            Err(error) => {
                self.stopped = Some(error);
                Err(io::ErrorKind::Other.into())
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

fn blob_error(path: &[u8], id: ObjectId, why: impl Into<String>) -> Error {
    Error::Blob {
        path: RepoPath::from(path),
        id,
        why: why.into(),
    }
}
