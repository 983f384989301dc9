//! In which form the content of a file is stored.

use std::fs::File;
use std::io;
use std::io::Read as _;
use std::io::Seek as _;

use gix::filter::plumbing::Driver;
use gix::prelude::FindExt;

use super::file::read_whole;
use super::{Form, ReadFailure, ReadOutcome, Thread};
use crate::model::list::SkipReason;
use crate::os::dir::{FileKind, Meta};
use crate::store::{Kind as ObjectKind, ObjectId, Repository};
use crate::worktree::snapshot::attributes::{Conversion, FilterAttribute};
use crate::worktree::snapshot::convert::{self, StorageForm};
use crate::worktree::snapshot::lfs::{MAX_POINTER, Pointer};
use crate::worktree::snapshot::walk::{FileToRead, ReadReason};
use crate::worktree::snapshot::{Error, filter, fsck, names, verify};

impl Thread<'_> {
    pub(super) fn meaning(candidate: &FileToRead) -> Option<names::Meaning> {
        let name_at = candidate
            .path
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |slash| slash + 1);
        if candidate.meta.kind == FileKind::File {
            names::meaning(&candidate.path[name_at..])
        } else {
            None
        }
    }

    /// Whether the content behind a pointer is here.
    pub(super) fn has_content(&self, id: &ObjectId) -> bool {
        verify::pointer(self.repo, id).is_some_and(|pointer| self.reader.ground.lfs.has(&pointer))
    }

    /// Reads the blob that the index has for a file.
    pub(super) fn index_blob(&self, candidate: &FileToRead, buffer: &mut Vec<u8>) -> bool {
        let entry = candidate.entry.map(|at| self.reader.ground.index.entry(at));
        entry.is_some_and(|entry| self.repo.objects.find_blob(&entry.id, buffer).is_ok())
    }

    /// Stores a file that was read whole.
    pub(super) fn whole(
        &mut self,
        candidate: &FileToRead,
        conversion: &Conversion<'_>,
        mode: u16,
        mut content: Vec<u8>,
    ) -> Result<Form, ReadFailure> {
        let settings = self.reader.ground.settings;
        let writer = self.reader.writer;
        if let FilterAttribute::Driver(driver) = conversion.filter {
            match self.filters.clean(driver, &content, &candidate.path) {
                Ok(Some(cleaned)) => content = cleaned,
                Ok(None) => {}
                Err(filter::FilterFailure) => return Err(ReadFailure::skip(SkipReason::FilterFailed)),
            }
            return self.filtered(candidate, conversion, mode, &content);
        }
        let hash = self.repo.object_hash();
        let mut index_blob = |buffer: &mut Vec<u8>| self.index_blob(candidate, buffer);
        let StorageForm { bytes, raw, git_form } =
            convert::to_git(&content, conversion, settings, hash, &mut index_blob);
        let id = self.store(candidate, &bytes)?;
        let git_id = match git_form {
            Some(form) => writer.hash_only(ObjectKind::Blob, &form).map_err(Error::from)?,
            None => id,
        };
        // Line ends are the only thing that differs, and with none in the blob there is one way to have this size.
        let one_way = conversion.can_be_streamed() && !bytes.contains(&b'\r');
        let settled = conversion.keeps_size(settings) || one_way;
        Ok(self.unless_held(
            candidate,
            Form {
                raw,
                settled,
                git_id,
                ..Form::plain(mode, id)
            },
            &bytes,
        ))
    }

    /// Stores a file byte for byte: the rules by which git would convert it are not in the checkpoint.
    pub(super) fn as_it_is(
        &mut self,
        candidate: &FileToRead,
        conversion: &Conversion<'_>,
        mode: u16,
        file: &mut File,
        meta: &Meta,
    ) -> Result<Form, ReadFailure> {
        let entry = candidate.entry.map(|at| self.reader.ground.index.entry(at).id);
        let clean = entry.filter(|_| candidate.why == ReadReason::Clean);
        let raw = |id: ObjectId, git_id: ObjectId| Form {
            raw: true,
            settled: false,
            git_id,
            ..Form::plain(mode, id)
        };
        if meta.size > super::file::STREAMED {
            let id = self.stream(file, meta.size)?;
            return Ok(raw(id, clean.unwrap_or(id)));
        }
        let content = read_whole(file, meta)?;
        let id = self.store(candidate, &content)?;
        let git_id = match (clean, &conversion.filter) {
            (Some(entry), _) => entry,
            (None, FilterAttribute::None) => {
                let (settings, hash) = (self.reader.ground.settings, self.repo.object_hash());
                let mut index_blob = |buffer: &mut Vec<u8>| self.index_blob(candidate, buffer);
                let made = convert::to_git(&content, conversion, settings, hash, &mut index_blob);
                let stored = made.git_form.as_deref().unwrap_or(&made.bytes);
                let hashed = self.reader.writer.hash_only(ObjectKind::Blob, stored);
                hashed.map_err(Error::from)?
            }
            (None, _) => id,
        };
        Ok(self.unless_held(candidate, raw(id, git_id), &content))
    }

    /// Stores a file that git calls unchanged although a filter program now is between it and its blob. Without the
    /// program the blob may be the file: then the filter was set up after the file was written, and would change it on the
    /// way back, so the file is stored byte for byte. Its bytes are in the repository already, whatever the filter hides.
    pub(super) fn unchanged_filtered(
        &mut self,
        candidate: &FileToRead,
        (conversion, driver): (&Conversion<'_>, &Driver),
        (mode, entry): (u16, ObjectId),
        file: &mut File,
        meta: &Meta,
    ) -> Result<Form, ReadFailure> {
        let as_indexed = |id: ObjectId, raw: bool| Form {
            raw,
            settled: false,
            git_id: entry,
            ..Form::plain(mode, id)
        };
        let plain = self.hash_stream(file, meta.size)?;
        file.rewind().map_err(|_| ReadFailure::skip(SkipReason::Unreadable))?;
        if plain == entry {
            return Ok(as_indexed(entry, true));
        }
        if !conversion.keeps_size(self.reader.ground.settings) {
            // Only the program can say more, and to run it for each text file would be dear.
            let id = if self.gives_without_program(candidate, conversion, entry, file, meta)? {
                self.stream(file, meta.size)?
            } else {
                entry
            };
            return Ok(as_indexed(id, id != entry));
        }
        let stored = if meta.size > super::file::STREAMED {
            self.large_filtered(candidate, conversion, driver, mode, file)
        } else {
            let content = read_whole(file, meta)?;
            self.whole(candidate, conversion, mode, content)
        };
        match stored {
            // It has no way there, and gave the file as it is.
            Ok(form) if form.id == plain => Ok(as_indexed(entry, false)),
            // Another one where the program of before was another.
            Ok(form) => Ok(as_indexed(form.id, false)),
            // git does not run it for this file either.
            Err(ReadFailure::Done(ReadOutcome::Skipped(SkipReason::FilterFailed))) => Ok(as_indexed(entry, false)),
            Err(failure) => Err(failure),
        }
    }

    /// Whether `git add` without the filter program would store a file as this blob; the file is at its start again
    /// afterwards.
    fn gives_without_program(
        &self,
        candidate: &FileToRead,
        conversion: &Conversion<'_>,
        entry: ObjectId,
        file: &mut File,
        meta: &Meta,
    ) -> Result<bool, ReadFailure> {
        let rest = Conversion {
            filter: FilterAttribute::None,
            ..conversion.clone()
        };
        let unreadable = |_| ReadFailure::skip(SkipReason::Unreadable);
        let id = if meta.size > super::file::STREAMED && rest.can_be_streamed() {
            let size = io::copy(&mut convert::WithoutCr::new(&mut *file), &mut io::sink()).map_err(unreadable)?;
            file.rewind().map_err(unreadable)?;
            self.hash_stream(&mut convert::WithoutCr::new(&mut *file), size)?
        } else {
            let content = read_whole(file, meta)?;
            let mut index_blob = |buffer: &mut Vec<u8>| self.index_blob(candidate, buffer);
            let stored = convert::forward(&content, &rest, self.reader.ground.settings, &mut index_blob);
            let Some(stored) = stored else { return Ok(false) };
            let hashed = self.reader.writer.hash_only(ObjectKind::Blob, &stored);
            hashed.map_err(Error::from)?
        };
        file.rewind().map_err(unreadable)?;
        Ok(id == entry)
    }

    /// Stores what a filter gave: the way back is the filter's, so it is not tried.
    pub(super) fn filtered(
        &self,
        candidate: &FileToRead,
        conversion: &Conversion<'_>,
        mode: u16,
        content: &[u8],
    ) -> Result<Form, ReadFailure> {
        let mut index_blob = |buffer: &mut Vec<u8>| self.index_blob(candidate, buffer);
        let stored = convert::forward(content, conversion, self.reader.ground.settings, &mut index_blob);
        let stored = stored.ok_or_else(|| ReadFailure::skip(SkipReason::FilterFailed))?;
        let id = self
            .reader
            .writer
            .write(ObjectKind::Blob, &stored)
            .map_err(Error::from)?;
        Ok(self.unless_held(candidate, Form::plain(mode, id), &stored))
    }

    /// Holds a blob out of the tree if no server would take it there; one that HEAD has is there already.
    fn unless_held(&self, candidate: &FileToRead, form: Form, blob: &[u8]) -> Form {
        let Some(meaning) = Self::meaning(candidate) else {
            return form;
        };
        let in_head = || in_tree(self.repo, self.reader.head, &candidate.path) == Some(form.id);
        Form {
            held: !fsck::accepts(meaning, blob) && !in_head(),
            ..form
        }
    }

    /// Stores a file of git-lfs: as the pointer that `git add` would store, its content where git-lfs keeps it. Byte for
    /// byte, within the limit on the size of files, where git-lfs is not set up or the file is a pointer itself.
    pub(super) fn lfs(
        &mut self,
        candidate: &FileToRead,
        mode: u16,
        file: &mut File,
        meta: &Meta,
    ) -> Result<Form, ReadFailure> {
        let entry = candidate.entry.map(|at| self.reader.ground.index.entry(at).id);
        let pointer = entry.and_then(|id| verify::pointer(self.repo, &id));
        let ground = self.reader.ground;
        let is_candidate = pointer.as_ref().is_some_and(|pointer| pointer.size == meta.size) || ground.lfs.is_set_up();
        let sum = if is_candidate { sha256(file)? } else { String::new() };
        let same = pointer
            .as_ref()
            .is_some_and(|pointer| pointer.size == meta.size && sum == pointer.sha256);
        let git_id = entry.filter(|_| same);
        if let (Some(id), Some(pointer)) = (git_id, &pointer)
            && ground.lfs.has(pointer)
            && (!ground.keeps
                || ground
                    .lfs
                    .keep_unchanged(self.repo, &candidate.path, id, pointer)
                    .is_ok())
        {
            return Ok(Form {
                pointer: true,
                settled: false,
                ..Form::plain(mode, id)
            });
        }
        if ground.lfs.is_set_up() && meta.size > 0 && !is_pointer(file, meta)? {
            let made = Pointer {
                sha256: sum,
                size: meta.size,
            };
            let kept = if ground.keeps {
                ground.lfs.keep(&made, file)
            } else {
                Ok(())
            };
            match kept {
                Ok(()) => {
                    let id = self.store(candidate, made.text().as_bytes())?;
                    let clean = entry.filter(|_| same || candidate.why == ReadReason::Clean);
                    return Ok(Form {
                        pointer: true,
                        settled: false,
                        git_id: clean.unwrap_or(id),
                        ..Form::plain(mode, id)
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(ReadFailure::Again),
                // Nothing can be put there: then it is kept as any other file.
                Err(_) => file.rewind().map_err(|_| ReadFailure::skip(SkipReason::Unreadable))?,
            }
        }
        if ground.rules.is_too_large(meta.size) {
            return Err(ReadFailure::skip(SkipReason::TooLarge));
        }
        let id = if meta.size > MAX_POINTER {
            self.stream(file, meta.size)?
        } else {
            let content = read_whole(file, meta)?;
            self.reader
                .writer
                .write(ObjectKind::Blob, &content)
                .map_err(Error::from)?
        };
        // For git an unchanged pointer on disk, or unchanged content, is no modification; neither is what it calls clean.
        let unmodified = if candidate.why == ReadReason::Clean {
            entry
        } else {
            git_id
        };
        Ok(Form {
            raw: meta.size > 0,
            git_id: unmodified.unwrap_or(id),
            ..Form::plain(mode, id)
        })
    }
}

/// The blob at a path of a tree.
pub(in crate::worktree::snapshot) fn in_tree(
    repo: &Repository,
    tree: Option<ObjectId>,
    path: &[u8],
) -> Option<ObjectId> {
    let tree = repo.find_object(tree?).ok()?.try_into_tree().ok()?;
    let entry = tree.lookup_entry(path.split(|byte| *byte == b'/')).ok()??;
    Some(entry.object_id())
}

/// Whether a file is a pointer of git-lfs instead of its content; it is at its start again afterwards.
fn is_pointer(file: &mut File, meta: &Meta) -> Result<bool, ReadFailure> {
    if meta.size > MAX_POINTER {
        return Ok(false);
    }
    let content = read_whole(file, meta)?;
    file.rewind().map_err(|_| ReadFailure::skip(SkipReason::Unreadable))?;
    Ok(Pointer::parse(&content).is_some())
}

/// The SHA-256 of a file in hexadecimal; the file is at its start again afterwards.
fn sha256(file: &mut File) -> Result<String, ReadFailure> {
    let unreadable = |_| ReadFailure::skip(SkipReason::Unreadable);
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha256);
    let mut buffer = vec![0; 128 * 1024];
    loop {
        match file.read(&mut buffer).map_err(unreadable)? {
            0 => break,
            count => hasher.update(&buffer[..count]),
        }
    }
    file.rewind().map_err(unreadable)?;
    match hasher.try_finalize() {
        Ok(id) => Ok(id.to_string()),
        Err(source) => Err(ReadFailure::Fatal(Error::Gix {
            action: "hash a file",
            source,
        })),
    }
}
