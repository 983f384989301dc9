//! Getting at the bytes of one file, whatever happens to it meanwhile.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};

use gix::filter::plumbing::Driver;
use gix::index::entry::Mode as EntryMode;

use super::{Form, ReadFailure, ReadOutcome, Thread};
use crate::model::list::SkipReason;
use crate::os;
use crate::os::dir::{self, FileKind, Meta};
use crate::secrets;
use crate::store::objects::StreamError;
use crate::store::{self, Kind as ObjectKind, ObjectId};
use crate::worktree::snapshot::attributes::{Conversion, FilterAttribute};
use crate::worktree::snapshot::convert::{self, StreamConversion};
use crate::worktree::snapshot::entries::{EXECUTABLE, FILE, SYMLINK};
use crate::worktree::snapshot::walk::{FileToRead, ReadReason};
use crate::worktree::snapshot::{Error, filter, names};

/// Files above this size are streamed where their content need not be held at once.
pub(super) const STREAMED: u64 = 1024 * 1024;

impl Thread<'_> {
    /// Reads a file once. Gives what it is stored as and the stat data that belongs to it.
    pub(super) fn attempt(
        &mut self,
        candidate: &FileToRead,
        conversion: &Conversion<'_>,
    ) -> Result<(Form, Meta), ReadFailure> {
        let name_at = candidate
            .path
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |slash| slash + 1);
        let (directory, name) = candidate.path.split_at(name_at);
        let known = self
            .directory
            .take_if(|(id, _)| *id == candidate.directory)
            .map(|(_, dir)| dir);
        let dir = match known.map_or_else(|| self.reader.ground.open(directory), Ok) {
            Ok(dir) => dir,
            Err(error) => return Err(gone_or_unreadable(&error)),
        };
        let (_, dir) = self.directory.insert((candidate.directory, dir));
        match dir.file(name) {
            Ok(file) => self.file(candidate, conversion, file),
            // A tracked file that became a link under a name that git itself reads: no server takes it, no restore
            // writes it.
            Err(error) if dir::is_link(&error) && !names::is_storable(name, false) => {
                Err(ReadFailure::skip(SkipReason::Name))
            }
            Err(error) if dir::is_link(&error) => {
                let before = dir.stat(name).map_err(|error| gone_or_unreadable(&error))?;
                let target = dir.link(name).map_err(|error| gone_or_unreadable(&error))?;
                let after = dir.stat(name).map_err(|error| gone_or_unreadable(&error))?;
                if before != after {
                    return Err(ReadFailure::Again);
                }
                let id = self.store(candidate, &target)?;
                Ok((Form::plain(SYMLINK, id), after))
            }
            // A socket cannot be opened at all.
            Err(error) => Err(match dir.stat(name) {
                Ok(meta) if meta.kind == FileKind::Special => ReadFailure::skip(SkipReason::Special),
                Ok(meta) if meta.kind != candidate.meta.kind => ReadFailure::Again,
                _ => gone_or_unreadable(&error),
            }),
        }
    }

    fn file(
        &mut self,
        candidate: &FileToRead,
        conversion: &Conversion<'_>,
        mut file: File,
    ) -> Result<(Form, Meta), ReadFailure> {
        let meta = dir::file_meta(&file).map_err(|_| ReadFailure::skip(SkipReason::Unreadable))?;
        match meta.kind {
            FileKind::File => {}
            FileKind::Special => return Err(ReadFailure::skip(SkipReason::Special)),
            _ => return Err(ReadFailure::Again),
        }
        if candidate.why == ReadReason::Untracked && self.reader.ground.rules.is_too_large(meta.size) {
            return Err(ReadFailure::skip(SkipReason::TooLarge));
        }
        if candidate.why == ReadReason::Untracked
            && self.reader.ground.rules.no_secrets
            && meta.size <= secrets::file::MAX_FILE
        {
            let content = read_whole(&mut file, &meta)?;
            if secrets::file::kind_of(&candidate.path, &content).is_some() {
                return Err(ReadFailure::skip(SkipReason::Secret));
            }
            file.rewind().map_err(|_| ReadFailure::skip(SkipReason::Unreadable))?;
        }
        let mode = self.mode(candidate, &meta);
        let form = if conversion.unkept {
            self.as_it_is(candidate, conversion, mode, &mut file, &meta)?
        } else if let FilterAttribute::Lfs = conversion.filter {
            self.lfs(candidate, mode, &mut file, &meta)?
        } else if let FilterAttribute::Driver(driver) = conversion.filter
            && candidate.why == ReadReason::Clean
            // Of a file that git itself reads it is asked in any case whether a tree may have it.
            && Self::meaning(candidate).is_none()
            && let Some(entry) = candidate.entry.map(|at| self.reader.ground.index.entry(at).id)
        {
            self.unchanged_filtered(candidate, (conversion, driver), (mode, entry), &mut file, &meta)?
        } else if let FilterAttribute::Driver(driver) = conversion.filter
            && meta.size > STREAMED
        {
            self.large_filtered(candidate, conversion, driver, mode, &mut file)?
        } else if meta.size > STREAMED && conversion.can_be_streamed() {
            self.large(candidate, conversion, mode, &mut file, &meta)?
        } else {
            let content = read_whole(&mut file, &meta)?;
            unchanged(&file, &meta)?;
            return Ok((self.whole(candidate, conversion, mode, content)?, meta));
        };
        unchanged(&file, &meta)?;
        Ok((form, meta))
    }

    /// The mode in a tree: as on disk, or as in the index where the disk cannot show it.
    fn mode(&self, candidate: &FileToRead, meta: &Meta) -> u16 {
        let settings = self.reader.ground.settings;
        let entry = candidate.entry.map(|at| self.reader.ground.index.entry(at).mode);
        match entry {
            Some(EntryMode::SYMLINK) if !settings.symlinks => SYMLINK,
            Some(EntryMode::FILE_EXECUTABLE) if !settings.file_mode => EXECUTABLE,
            _ if !settings.file_mode => FILE,
            _ if meta.is_executable() => EXECUTABLE,
            _ => FILE,
        }
    }

    /// A large file in which at most line ends are converted: what happens to them is known from counting them.
    fn large(
        &mut self,
        candidate: &FileToRead,
        conversion: &Conversion<'_>,
        mode: u16,
        file: &mut File,
        meta: &Meta,
    ) -> Result<Form, ReadFailure> {
        if conversion.is_identity() {
            return Ok(Form::plain(mode, self.stream(file, meta.size)?));
        }
        let mut counter = convert::Counter::default();
        let mut buffer = vec![0; 128 * 1024];
        loop {
            match file
                .read(&mut buffer)
                .map_err(|_| ReadFailure::skip(SkipReason::Unreadable))?
            {
                0 => break,
                count => counter.add(&buffer[..count]),
            }
            if conversion.eol.is_auto_text() && counter.is_surely_binary() {
                break;
            }
        }
        file.rewind().map_err(|_| ReadFailure::skip(SkipReason::Unreadable))?;
        let settings = self.reader.ground.settings;
        let mut index_blob = |buffer: &mut Vec<u8>| self.index_blob(candidate, buffer);
        match convert::streamed(&counter, conversion, settings, &mut index_blob) {
            StreamConversion::AsIs => {
                let settled = conversion.keeps_size(settings);
                Ok(Form {
                    settled,
                    ..Form::plain(mode, self.stream(file, meta.size)?)
                })
            }
            StreamConversion::WithoutCr => {
                let size = meta.size.checked_sub(counter.crlf()).ok_or(ReadFailure::Again)?;
                let id = self.stream(&mut convert::WithoutCr::new(file), size)?;
                Ok(Form {
                    settled: false,
                    ..Form::plain(mode, id)
                })
            }
            StreamConversion::Raw { without_cr: false } => {
                let id = self.stream(file, meta.size)?;
                Ok(Form {
                    raw: true,
                    ..Form::plain(mode, id)
                })
            }
            StreamConversion::Raw { without_cr: true } => {
                let size = meta.size.checked_sub(counter.crlf()).ok_or(ReadFailure::Again)?;
                let git_id = self.hash_stream(&mut convert::WithoutCr::new(&mut *file), size)?;
                file.rewind().map_err(|_| ReadFailure::skip(SkipReason::Unreadable))?;
                let id = self.stream(file, meta.size)?;
                Ok(Form {
                    raw: true,
                    git_id,
                    ..Form::plain(mode, id)
                })
            }
        }
    }

    /// A large file that goes through a filter: what the filter gives is put into a file first, since its length must be
    /// known before it is stored.
    pub(super) fn large_filtered(
        &mut self,
        candidate: &FileToRead,
        conversion: &Conversion<'_>,
        driver: &Driver,
        mode: u16,
        file: &mut File,
    ) -> Result<Form, ReadFailure> {
        let broken = |source| ReadFailure::Fatal(Error::Scratch { source });
        let directory = store::worktree_private_dir(self.repo).map_err(Error::from)?;
        let mut scratch = os::scratch_file(&directory).map_err(broken)?;
        match self.filters.clean_stream(driver, file, &candidate.path, &mut scratch) {
            Ok(true) => {}
            // It has no program for this, so the file is what it is.
            Ok(false) => {
                let content = io::copy(file, &mut scratch);
                content.map_err(|_| ReadFailure::skip(SkipReason::Unreadable))?;
            }
            Err(filter::FilterFailure) => return Err(ReadFailure::skip(SkipReason::FilterFailed)),
        }
        scratch.rewind().map_err(broken)?;
        let meta = dir::file_meta(&scratch).map_err(broken)?;
        let rest = Conversion {
            filter: FilterAttribute::None,
            ..conversion.clone()
        };
        if rest.is_identity() {
            return Ok(Form::plain(mode, self.stream(&mut scratch, meta.size)?));
        }
        let content = read_whole(&mut scratch, &meta)?;
        self.filtered(candidate, &rest, mode, &content)
    }

    /// The id that a blob of these bytes has.
    pub(super) fn hash_stream(&self, source: &mut dyn io::Read, size: u64) -> Result<ObjectId, ReadFailure> {
        let hashed = self.reader.writer.hash_stream(ObjectKind::Blob, size, source);
        hashed.map_err(stopped)
    }

    pub(super) fn stream(&self, source: &mut dyn io::Read, size: u64) -> Result<ObjectId, ReadFailure> {
        self.reader
            .writer
            .write_stream(ObjectKind::Blob, size, source)
            .map_err(stopped)
    }
}

fn stopped(error: StreamError) -> ReadFailure {
    match error {
        StreamError::Changed { .. } => ReadFailure::Again,
        StreamError::Read(_) => ReadFailure::skip(SkipReason::Unreadable),
        StreamError::Store(error) => ReadFailure::Fatal(error.into()),
    }
}

/// A file that is not there any more, or cannot be had.
fn gone_or_unreadable(error: &io::Error) -> ReadFailure {
    match error.kind() {
        io::ErrorKind::NotFound => ReadFailure::Done(ReadOutcome::Gone),
        io::ErrorKind::NotADirectory => ReadFailure::Again,
        _ => ReadFailure::skip(SkipReason::Unreadable),
    }
}

pub(super) fn read_whole(file: &mut File, meta: &Meta) -> Result<Vec<u8>, ReadFailure> {
    let unreadable = || ReadFailure::skip(SkipReason::Unreadable);
    let size = usize::try_from(meta.size).map_err(|_| unreadable())?;
    let mut content = Vec::new();
    // One byte more than expected shows that it grew.
    content.try_reserve_exact(size + 1).map_err(|_| unreadable())?;
    file.take(meta.size + 1)
        .read_to_end(&mut content)
        .map_err(|_| unreadable())?;
    if content.len() == size {
        Ok(content)
    } else {
        Err(ReadFailure::Again)
    }
}

/// Whether an open file is as it was when it was opened.
fn unchanged(file: &File, before: &Meta) -> Result<(), ReadFailure> {
    match dir::file_meta(file) {
        Ok(after) if after.size == before.size && after.mtime == before.mtime && after.ctime == before.ctime => Ok(()),
        Ok(_) => Err(ReadFailure::Again),
        Err(_) => Err(ReadFailure::skip(SkipReason::Unreadable)),
    }
}
