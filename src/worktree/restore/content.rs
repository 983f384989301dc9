//! From what is stored to the bytes on disk.
//!
//! The conversions are those of a snapshot turned around, so what a snapshot did not call raw comes back byte for byte.

use std::io;
use std::sync::Arc;

use super::Error;
use super::source::{BlobSource, LARGE, VerifiedBlobs, VerifiedBlobsBuilder};
use crate::store::{Kind, ObjectId, Repository, objects::object_hasher};
use crate::worktree::snapshot::attributes::{Attributes, Conversion, FilterAttribute, Matcher};
use crate::worktree::snapshot::convert;
use crate::worktree::snapshot::filter::Filters;
use crate::worktree::snapshot::lfs::Pointer;
use crate::worktree::snapshot::settings::SnapshotSettings;

/// A file or link with everything its bytes depend on.
#[derive(Clone)]
pub(super) struct TargetContent {
    pub thing: Thing,
    pub id: ObjectId,
    /// Whether the blob is the file, byte for byte.
    pub raw: bool,
    /// The attributes of its directory.
    pub attributes: Arc<Attributes>,
}

impl TargetContent {
    pub(super) fn is_link(&self) -> bool {
        self.thing == Thing::Link
    }

    /// Whether a file with these permission bits has those that it is to have, as far as they are kept.
    pub(super) fn has_bits(&self, bits: u32, are_kept: bool) -> bool {
        match self.thing {
            Thing::File { mode, .. } => !are_kept || bits & 0o777 == mode & 0o777,
            Thing::Link => true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thing {
    File {
        /// The permission bits.
        mode: u32,
        executable: bool,
    },
    Link,
}

/// The digest of bytes that were written.
pub(super) type Sum = [u8; 32];

/// Why content could not be given on.
#[derive(Debug)]
pub(super) enum ContentError {
    /// It cannot be read from the repository, or is damaged there.
    Source(Error),
    /// The user's filter failed, or the content has no form on disk.
    Convert(String),
    /// It could not be written.
    Write(io::Error),
}

/// Converts, with what that needs; one for each thread.
pub(super) struct Converter<'a> {
    pub source: BlobSource<'a>,
    pub settings: &'a SnapshotSettings,
    matcher: Matcher<'a>,
    pub filters: Option<Filters>,
    /// For files that are read whole, kept for its capacity.
    pub buffer: Vec<u8>,
}

impl<'a> Converter<'a> {
    pub(super) fn new(repo: &'a Repository, settings: &'a SnapshotSettings) -> Result<Self, Error> {
        Self::with(repo, settings, Arc::default())
    }

    /// One that need not read again what was checked.
    pub(super) fn with(
        repo: &'a Repository,
        settings: &'a SnapshotSettings,
        checked: Arc<VerifiedBlobs>,
    ) -> Result<Self, Error> {
        Ok(Self {
            source: BlobSource::new(repo, checked)?,
            settings,
            matcher: Matcher::new(settings),
            filters: None,
            buffer: Vec::new(),
        })
    }

    /// Conversion of a file's content between repository and disk; `None` if there is none.
    pub(super) fn conversion(&mut self, path: &[u8], content: &TargetContent) -> Option<Conversion<'a>> {
        if content.raw || content.thing == Thing::Link {
            return None;
        }
        let conversion = self.matcher.conversion(&content.attributes, path);
        (!conversion.is_identity()).then_some(conversion)
    }

    /// Whether both give the same bytes on disk, whatever their mode. Two links or two files.
    ///
    /// Different blobs that are converted alike count as different without a look: should they be written alike after
    /// all, a file gets the bytes that it has.
    pub(super) fn same_bytes(
        &mut self,
        path: &[u8],
        one: &TargetContent,
        other: &TargetContent,
    ) -> Result<bool, Error> {
        let same_blob = one.id == other.id;
        if one.thing == Thing::Link || one.raw && other.raw {
            return Ok(same_blob);
        }
        if one.raw == other.raw {
            let same_rules =
                Arc::ptr_eq(&one.attributes, &other.attributes) || one.attributes.digest() == other.attributes.digest();
            let digest = |this: &mut Self, content: &TargetContent| this.conversion(path, content).map(|c| c.digest());
            if !same_blob || same_rules || digest(self, one) == digest(self, other) {
                return Ok(same_blob);
            }
        }
        // Determining whether a filter makes a difference would be to run it, which may need consent first.
        if self.program(path, one).is_some() || self.program(path, other).is_some() {
            return Ok(false);
        }
        match (self.blob_id(path, one), self.blob_id(path, other)) {
            (Ok(one), Ok(other)) => Ok(one == other),
            (Err(ContentError::Source(error)), _) | (_, Err(ContentError::Source(error))) => Err(error),
            // What cannot be distinguished is written, and fails there with its reason.
            _ => Ok(false),
        }
    }

    /// The id that a blob of the bytes on disk would have. What is stored as it is need not be read for that: a dry run
    /// stores no large file of the present.
    fn blob_id(&mut self, path: &[u8], content: &TargetContent) -> Result<ObjectId, ContentError> {
        if self.conversion(path, content).is_none() {
            return Ok(content.id);
        }
        let pointer = if self.is_lfs(path, content) {
            let pointer = self.source.pointer(path, content.id);
            let pointer = pointer.map_err(ContentError::Source)?;
            pointer.filter(|pointer| self.source.lfs.has(pointer))
        } else {
            None
        };
        let hash = self.source.repo.object_hash();
        if let Some(pointer) = pointer {
            let mut hasher = object_hasher(hash, Kind::Blob, pointer.size);
            self.give(path, content, &mut |piece| {
                hasher.update(piece);
                Ok(())
            })?;
            return hasher
                .try_finalize()
                .map_err(|error| ContentError::Convert(error.to_string()));
        }
        let mut bytes = Vec::new();
        self.give(path, content, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        let hashed = self.source.hasher.hash_only(Kind::Blob, &bytes);
        hashed.map_err(|error| ContentError::Source(error.into()))
    }

    /// The filter program that would be run for this file.
    pub(super) fn program(&mut self, path: &[u8], content: &TargetContent) -> Option<String> {
        match self.conversion(path, content)?.filter {
            FilterAttribute::Driver(driver) if driver.smudge.is_some() || driver.process.is_some() => {
                Some(String::from_utf8_lossy(&driver.name).into_owned())
            }
            _ => None,
        }
    }

    /// Whether a filter program of the user's is between the file and its blob.
    pub(super) fn is_filtered(&mut self, path: &[u8], content: &TargetContent) -> bool {
        self.conversion(path, content)
            .is_some_and(|c| matches!(c.filter, FilterAttribute::Driver(_)))
    }

    fn is_lfs(&mut self, path: &[u8], content: &TargetContent) -> bool {
        self.conversion(path, content)
            .is_some_and(|c| matches!(c.filter, FilterAttribute::Lfs))
    }

    /// Whether the blob is a pointer whose content is not here.
    pub(super) fn lacks_content(&mut self, path: &[u8], content: &TargetContent) -> Result<bool, Error> {
        let pointer = if self.is_lfs(path, content) {
            self.source.pointer(path, content.id)?
        } else {
            None
        };
        Ok(pointer.is_some_and(|pointer| !self.source.lfs.has(&pointer)))
    }

    /// Checks that what is stored has its id.
    pub(super) fn check(
        &mut self,
        path: &[u8],
        content: &TargetContent,
        checked: &mut VerifiedBlobsBuilder,
    ) -> Result<(), Error> {
        let is_lfs = self.is_lfs(path, content);
        self.source.check(path, content.id, is_lfs, checked)
    }

    /// Gives the bytes that belong on disk, piece by piece.
    pub(super) fn give(
        &mut self,
        path: &[u8],
        content: &TargetContent,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), ContentError> {
        let conversion = self.conversion(path, content);
        let size = self.source.size(path, content.id).map_err(ContentError::Source)?;
        if size > LARGE && conversion.is_none() && !self.source.is_in_memory(content.id) {
            return self.source.stream(path, content.id, sink);
        }
        let blob = self.source.read(path, content.id).map_err(ContentError::Source)?;
        let Some(conversion) = conversion else {
            return sink(&blob).map_err(ContentError::Write);
        };
        if let FilterAttribute::Lfs = conversion.filter
            && let Some(pointer) = Pointer::parse(&blob)
            && self.source.lfs.has(&pointer)
        {
            return self.source.lfs_content(path, content.id, &pointer, sink);
        }
        let converted = convert::back(&blob, &conversion, self.settings, self.source.repo.object_hash())
            .ok_or_else(|| ContentError::Convert("its content has no form in the encoding of the file".to_owned()))?;
        if let FilterAttribute::Driver(driver) = conversion.filter {
            let filters = match &mut self.filters {
                Some(filters) => filters,
                none => {
                    none.insert(Filters::new(self.source.repo).map_err(|error| ContentError::Source(error.into()))?)
                }
            };
            let filtered = filters.smudge(driver, &converted, path).map_err(|_| {
                ContentError::Convert(format!("the filter '{}' failed", String::from_utf8_lossy(&driver.name)))
            })?;
            if let Some(filtered) = filtered {
                return sink(&filtered).map_err(ContentError::Write);
            }
        }
        sink(&converted).map_err(ContentError::Write)
    }
}
