//! Reading what the walk could not decide: files become blobs, or stay what the index says, or are skipped.
//!
//! A file is read through its folder's descriptor, and looked at again afterwards: one that changed meanwhile is read
//! anew, up to three times, and then skipped as unstable. Large files are streamed.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use gix::index::entry::Mode as EntryMode;
use gix::prelude::FindExt;

use super::attributes::{Attributes, Conversion, Filter, Matcher};
use super::convert::{self, Stored};
use super::index::EntryExt;
use super::walk::{Candidate, Ground, Why};
use super::{Error, filter};
use crate::model::list::SkipReason;
use crate::os::dir::{self, Dir, Kind, Meta};
use crate::store::objects::{StreamError, Writer};
use crate::store::{Kind as ObjectKind, ObjectId, Repository};

/// Files above this size are streamed.
pub(super) const STREAMED: u64 = 1024 * 1024;
/// How often a file that changes while it is read is tried.
const ATTEMPTS: usize = 3;
/// Candidates that a thread takes at once.
const BATCH: usize = 16;

const LINK: u16 = 0o120_000;
const FILE: u16 = 0o100_644;
const EXECUTABLE: u16 = 0o100_755;

/// What became of a candidate.
#[derive(Debug, Clone, Copy)]
pub(super) enum Outcome {
    /// As the index has it.
    Same,
    /// To be put into the tree.
    Put(Put),
    /// Not there any more.
    Gone,
    Skipped(SkipReason),
}

/// A blob for the tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Put {
    pub mode: u16,
    pub id: ObjectId,
    /// Whether a checkout would not give these bytes.
    pub raw: bool,
    /// Whether git calls the path modified.
    pub modified: bool,
}

/// What the reading threads share.
pub(super) struct Reader<'a> {
    pub ground: &'a Ground<'a>,
    pub writer: &'a Writer,
    /// The attributes in each folder, by its number.
    pub attributes: &'a [Arc<Attributes>],
}

impl Reader<'_> {
    /// Reads all candidates; the outcomes come in their order.
    pub(super) fn read(
        &self,
        repo: &Repository,
        candidates: &[Candidate],
        threads: usize,
    ) -> Result<Vec<Outcome>, Error> {
        let next = AtomicUsize::new(0);
        let failed = Mutex::new(None::<Error>);
        let work = |repo: &Repository| {
            let mut thread = Thread::new(self, repo)?;
            let mut outcomes = Vec::new();
            loop {
                let start = next.fetch_add(BATCH, Ordering::Relaxed);
                let batch = candidates.iter().enumerate().skip(start).take(BATCH);
                if start >= candidates.len() {
                    return Ok(outcomes);
                }
                for (at, candidate) in batch {
                    outcomes.push((at, thread.outcome(candidate)?));
                }
            }
        };
        let work = |repo: &Repository| {
            work(repo).unwrap_or_else(|error| {
                // The others find nothing left to do.
                next.store(candidates.len(), Ordering::Relaxed);
                failed
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert(error);
                Vec::new()
            })
        };
        let helpers = threads.min(candidates.len().div_ceil(BATCH)).saturating_sub(1);
        let mut outcomes = std::thread::scope(|scope| {
            let helpers: Vec<_> = (0..helpers)
                .map(|_| {
                    let repo = repo.clone().into_sync();
                    let work = &work;
                    scope.spawn(move || work(&repo.to_thread_local()))
                })
                .collect();
            let mut outcomes = work(repo);
            for helper in helpers {
                match helper.join() {
                    Ok(other) => outcomes.extend(other),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            outcomes
        });
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        outcomes.sort_unstable_by_key(|(at, _)| *at);
        Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
    }
}

/// Why a file was not read to its end, and what to do then.
enum Stop {
    /// It changed: read it anew.
    Again,
    Done(Outcome),
    Fatal(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

struct Thread<'a> {
    reader: &'a Reader<'a>,
    repo: &'a Repository,
    matcher: Matcher<'a>,
    filters: filter::Filters,
    /// The folder of the last candidate.
    folder: Option<(u32, Dir)>,
}

impl<'a> Thread<'a> {
    fn new(reader: &'a Reader<'a>, repo: &'a Repository) -> Result<Self, Error> {
        Ok(Self {
            reader,
            repo,
            matcher: Matcher::new(reader.ground.settings),
            filters: filter::Filters::new(repo)?,
            folder: None,
        })
    }

    fn outcome(&mut self, candidate: &Candidate) -> Result<Outcome, Error> {
        for _ in 0..ATTEMPTS {
            match self.attempt(candidate) {
                Ok(put) => return Ok(self.compared(candidate, put)),
                Err(Stop::Again) => self.folder = None,
                Err(Stop::Done(outcome)) => return Ok(outcome),
                Err(Stop::Fatal(error)) => return Err(error),
            }
        }
        Ok(Outcome::Skipped(SkipReason::Unstable))
    }

    /// Tells what is in the tree anyway from what has to be put there.
    fn compared(&self, candidate: &Candidate, mut put: Put) -> Outcome {
        let Some(entry) = candidate.entry.map(|at| self.reader.ground.index.entry(at)) else {
            put.modified = false;
            return Outcome::Put(put);
        };
        let mode = u16::try_from(entry.mode.bits()).unwrap_or_default();
        put.modified |= put.mode != mode;
        if put.id == entry.id && put.mode == mode && !put.raw && !entry.is_pending() {
            return Outcome::Same;
        }
        Outcome::Put(put)
    }

    fn attempt(&mut self, candidate: &Candidate) -> Result<Put, Stop> {
        let name_at = candidate
            .path
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |slash| slash + 1);
        let (folder, name) = candidate.path.split_at(name_at);
        let known = self
            .folder
            .take_if(|(id, _)| *id == candidate.folder)
            .map(|(_, dir)| dir);
        let dir = match known.map_or_else(|| self.reader.ground.open(folder), Ok) {
            Ok(dir) => dir,
            Err(error) => return Err(gone_or(&error, SkipReason::Unreadable)),
        };
        let (_, dir) = self.folder.insert((candidate.folder, dir));
        match dir.file(name) {
            Ok(file) => self.file(candidate, file),
            Err(error) if dir::is_link(&error) => {
                let target = dir
                    .link(name)
                    .map_err(|error| gone_or(&error, SkipReason::Unreadable))?;
                self.link(candidate, &target)
            }
            // A socket cannot be opened at all.
            Err(error) => Err(match dir.stat(name) {
                Ok(meta) if meta.kind == Kind::Special => Stop::Done(Outcome::Skipped(SkipReason::Special)),
                Ok(meta) if meta.kind != candidate.meta.kind => Stop::Again,
                _ => gone_or(&error, SkipReason::Unreadable),
            }),
        }
    }

    fn link(&mut self, candidate: &Candidate, target: &[u8]) -> Result<Put, Stop> {
        let id = self
            .reader
            .writer
            .write(ObjectKind::Blob, target)
            .map_err(Error::from)?;
        let modified = self.differs(candidate, id);
        Ok(Put {
            mode: LINK,
            id,
            raw: false,
            modified,
        })
    }

    fn differs(&self, candidate: &Candidate, id: ObjectId) -> bool {
        candidate
            .entry
            .is_some_and(|at| self.reader.ground.index.entry(at).id != id)
    }

    fn file(&mut self, candidate: &Candidate, mut file: File) -> Result<Put, Stop> {
        let meta = dir::file_meta(&file).map_err(|_| Stop::Done(Outcome::Skipped(SkipReason::Unreadable)))?;
        match meta.kind {
            Kind::File => {}
            Kind::Special => return Err(Stop::Done(Outcome::Skipped(SkipReason::Special))),
            _ => return Err(Stop::Again),
        }
        if candidate.why == Why::Untracked && meta.size > self.reader.ground.max_file_size {
            return Err(Stop::Done(Outcome::Skipped(SkipReason::TooLarge)));
        }
        let attributes = &self.reader.attributes[candidate.folder as usize];
        let conversion = self.matcher.conversion(attributes, &candidate.path);
        let mode = self.mode(candidate, &meta);
        if conversion.is_identity() && meta.size > STREAMED {
            let id = self.stream(&mut file, &meta)?;
            unchanged(&file, &meta)?;
            return Ok(Put {
                mode,
                id,
                raw: false,
                modified: self.differs(candidate, id),
            });
        }
        let content = read_whole(&mut file, &meta)?;
        unchanged(&file, &meta)?;
        let (id, raw, git_id) = self.store(candidate, &conversion, content)?;
        Ok(Put {
            mode,
            id,
            raw,
            modified: self.differs(candidate, git_id),
        })
    }

    /// The mode in a tree: as on disk, or as in the index where the disk cannot tell.
    fn mode(&self, candidate: &Candidate, meta: &Meta) -> u16 {
        let settings = self.reader.ground.settings;
        let entry = candidate.entry.map(|at| self.reader.ground.index.entry(at).mode);
        match entry {
            Some(EntryMode::SYMLINK) if !settings.symlinks => LINK,
            Some(EntryMode::FILE_EXECUTABLE) if !settings.file_mode => EXECUTABLE,
            _ if !settings.file_mode => FILE,
            _ if meta.is_executable() => EXECUTABLE,
            _ => FILE,
        }
    }

    fn stream(&self, file: &mut File, meta: &Meta) -> Result<ObjectId, Stop> {
        self.reader
            .writer
            .write_stream(ObjectKind::Blob, meta.size, file)
            .map_err(|error| match error {
                StreamError::Changed { .. } => Stop::Again,
                StreamError::Read(_) => Stop::Done(Outcome::Skipped(SkipReason::Unreadable)),
                StreamError::Store(error) => Stop::Fatal(error.into()),
            })
    }

    /// Stores content; gives the blob, whether it is raw, and the id that `git add` would give.
    fn store(
        &mut self,
        candidate: &Candidate,
        conversion: &Conversion<'_>,
        mut content: Vec<u8>,
    ) -> Result<(ObjectId, bool, ObjectId), Stop> {
        let writer = self.reader.writer;
        let settings = self.reader.ground.settings;
        if let Filter::Driver(driver) = conversion.filter {
            content = match self.filters.clean(driver, &content, &candidate.path) {
                Ok(Some(cleaned)) => cleaned,
                Ok(None) => content,
                Err(filter::Failed) => return Err(Stop::Done(Outcome::Skipped(SkipReason::FilterFailed))),
            };
        }
        let repo = self.repo;
        let index = self.reader.ground.index;
        let mut index_blob = |buffer: &mut Vec<u8>| {
            let entry = candidate.entry.map(|at| index.entry(at));
            entry.is_some_and(|entry| repo.objects.find_blob(&entry.id, buffer).is_ok())
        };
        if matches!(conversion.filter, Filter::Driver(_)) {
            let stored = convert::forward(&content, conversion, settings, &mut index_blob);
            let Some(stored) = stored else {
                return Err(Stop::Done(Outcome::Skipped(SkipReason::FilterFailed)));
            };
            let id = writer.write(ObjectKind::Blob, &stored).map_err(Error::from)?;
            return Ok((id, false, id));
        }
        let hash = self.repo.object_hash();
        let Stored { bytes, raw, git_form } = convert::to_git(&content, conversion, settings, hash, &mut index_blob);
        let id = writer.write(ObjectKind::Blob, &bytes).map_err(Error::from)?;
        let git_id = match git_form {
            Some(form) => writer.hash_only(ObjectKind::Blob, &form).map_err(Error::from)?,
            None => id,
        };
        Ok((id, raw, git_id))
    }
}

/// A file that is not there any more, or cannot be had.
fn gone_or(error: &io::Error, reason: SkipReason) -> Stop {
    match error.kind() {
        io::ErrorKind::NotFound => Stop::Done(Outcome::Gone),
        io::ErrorKind::NotADirectory => Stop::Again,
        _ => Stop::Done(Outcome::Skipped(reason)),
    }
}

fn read_whole(file: &mut File, meta: &Meta) -> Result<Vec<u8>, Stop> {
    let unreadable = || Stop::Done(Outcome::Skipped(SkipReason::Unreadable));
    let size = usize::try_from(meta.size).map_err(|_| unreadable())?;
    let mut content = Vec::new();
    // One byte more than expected tells whether it grew.
    content.try_reserve_exact(size + 1).map_err(|_| unreadable())?;
    file.take(meta.size + 1)
        .read_to_end(&mut content)
        .map_err(|_| unreadable())?;
    if content.len() == size {
        Ok(content)
    } else {
        Err(Stop::Again)
    }
}

/// Whether an open file is as it was when it was opened.
fn unchanged(file: &File, before: &Meta) -> Result<(), Stop> {
    match dir::file_meta(file) {
        Ok(after) if after.size == before.size && after.mtime == before.mtime && after.ctime == before.ctime => Ok(()),
        Ok(_) => Err(Stop::Again),
        Err(_) => Err(Stop::Done(Outcome::Skipped(SkipReason::Unreadable))),
    }
}
