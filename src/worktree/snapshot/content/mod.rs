//! Reading what the walk could not decide: files become blobs, or stay what the index has, or are skipped.
//!
//! A file is read through its directory's descriptor, and looked at again afterwards: one that changed meanwhile is read
//! anew, up to three times, and then skipped as unstable. Large files are streamed.

mod file;
mod form;

pub(super) use form::in_tree;

use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::attributes::{Attributes, Conversion, FilterAttribute, Matcher};
use super::cache::{self, Cache, CacheBuilder, FileRecord};
use super::index::EntryExt;
use super::reachable::TreeLookup;
use super::walk::{FileToRead, ReadReason, WalkContext};
use super::{Error, filter};
use crate::model::list::SkipReason;
use crate::os;
use crate::os::dir::{self, Dir, Meta};
use crate::store::objects::Writer;
use crate::store::{Kind, ObjectId, Repository};

/// How often a file that changes while it is read is tried.
const ATTEMPTS: usize = 3;
/// Mark of a file that was looked at for secrets, by the rule of this number.
const SEARCHED: u64 = 0x5ec2_e75e_ac4e_d002;
/// Candidates that a thread takes at once, at least; those of one directory stay together up to [`MOST`].
const BATCH: usize = 16;
/// Candidates that a thread takes at once, at most, so that the threads end at about the same time.
const MOST: usize = 64;

/// Result for a candidate.
#[derive(Debug, Clone, Copy)]
pub(super) enum ReadOutcome {
    /// As the index has it.
    Same {
        /// Whether it stays so as long as file and index do.
        settled: bool,
    },
    /// To be put into the tree.
    Put(TreeBlob),
    /// Not to be put into the tree, since no server would take it; kept next to it.
    Held {
        id: ObjectId,
        /// Whether a checkout would not give these bytes.
        raw: bool,
    },
    /// Not there any more.
    Gone,
    Skipped(SkipReason),
}

/// A blob for the tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeBlob {
    pub mode: u16,
    pub id: ObjectId,
    /// Whether a checkout would not give these bytes.
    pub raw: bool,
    /// Whether git calls the path modified.
    pub modified: bool,
}

/// Stored form of a candidate, and its record for the cache.
pub(super) struct Read {
    pub outcome: ReadOutcome,
    /// `None` if it is to be read again next time.
    pub note: Option<FileFingerprint>,
}

/// Fingerprint of a file: the cache key of its stored form.
pub(super) struct FileFingerprint {
    /// A digest of everything next to its bytes that its blob depends on.
    pub basis: u64,
    /// Whether it is a pointer of git-lfs.
    pub pointer: bool,
    /// The blob that `git add` would store, if that is another.
    pub git_id: Option<Box<ObjectId>>,
}

/// Stored form of a file.
#[derive(Debug, Clone, Copy)]
struct Form {
    mode: u16,
    id: ObjectId,
    raw: bool,
    /// A pointer of git-lfs, good as long as the content is there.
    pointer: bool,
    /// Not for the tree.
    held: bool,
    /// Whether any file of this size that git takes for unchanged is stored so, and comes back.
    settled: bool,
    /// The blob that `git add` would store.
    git_id: ObjectId,
}

impl Form {
    /// A blob that is what git would store.
    fn plain(mode: u16, id: ObjectId) -> Self {
        Self {
            mode,
            id,
            raw: false,
            pointer: false,
            held: false,
            settled: true,
            git_id: id,
        }
    }
}

/// State shared by the reading threads.
pub(super) struct ContentReader<'a> {
    pub ground: &'a WalkContext<'a>,
    pub writer: &'a Writer,
    /// The attributes in each directory, by its number.
    pub attributes: &'a [Arc<Attributes>],
    pub cache: &'a Cache,
    /// The cache to be written, if one is kept.
    pub next: Option<&'a CacheBuilder>,
    /// The tree of HEAD.
    pub head: Option<ObjectId>,
    /// Trees that refs hold.
    pub roots: &'a [ObjectId],
}

impl ContentReader<'_> {
    /// Reads all candidates; the results come in their order.
    pub(super) fn read(
        &self,
        repo: &Repository,
        candidates: &[FileToRead],
        threads: usize,
    ) -> Result<Vec<Read>, Error> {
        let batches = batches(candidates);
        let next = AtomicUsize::new(0);
        let failed = Mutex::new(None::<Error>);
        let work = |repo: &Repository| {
            let mut thread = Thread::new(self, repo)?;
            let mut results = Vec::new();
            while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                for at in batch.clone() {
                    if os::is_cancelled() {
                        return Err(Error::Cancelled);
                    }
                    results.push((at, thread.result(&candidates[at])?));
                    os::trace::count();
                }
            }
            Ok(results)
        };
        let work = |repo: &Repository| {
            work(repo).unwrap_or_else(|error| {
                // The others find nothing left to do.
                next.store(batches.len(), Ordering::Relaxed);
                failed
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert(error);
                Vec::new()
            })
        };
        let helpers = threads.min(batches.len()).saturating_sub(1);
        let mut results = std::thread::scope(|scope| {
            let helpers: Vec<_> = (0..helpers)
                // Without them, where the system allows no more, it takes longer.
                .map_while(|_| {
                    let repo = repo.clone().into_sync();
                    let work = &work;
                    let work = move || work(&repo.to_thread_local());
                    os::spawn_worker(scope, work)
                })
                .collect();
            let mut results = work(repo);
            for helper in helpers {
                match helper.join() {
                    Ok(other) => results.extend(other),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            results
        });
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        results.sort_unstable_by_key(|(at, _)| *at);
        Ok(results.into_iter().map(|(_, result)| result).collect())
    }
}

/// The candidates in portions: what refs hold in a directory is read once by the thread that has it.
fn batches(candidates: &[FileToRead]) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let mut start = 0;
    for at in 1..=candidates.len() {
        let next = candidates.get(at).map(|candidate| candidate.directory);
        let full = at - start >= BATCH && next != Some(candidates[at - 1].directory);
        if full || at - start >= MOST || next.is_none() {
            batches.push(start..at);
            start = at;
        }
    }
    batches
}

/// Why a file was not read to its end, and what to do then.
enum ReadFailure {
    /// It changed: read it anew.
    Again,
    Done(ReadOutcome),
    Fatal(Error),
}

impl ReadFailure {
    fn skip(reason: SkipReason) -> Self {
        Self::Done(ReadOutcome::Skipped(reason))
    }
}

impl From<Error> for ReadFailure {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

struct Thread<'a> {
    reader: &'a ContentReader<'a>,
    repo: &'a Repository,
    matcher: Matcher<'a>,
    filters: filter::Filters,
    reachable: TreeLookup<'a>,
    /// The directory of the last candidate.
    directory: Option<(u32, Dir)>,
    /// Where the cache had the last candidate.
    hint: usize,
    /// The blob that the last candidate was the last time, if the cache has it.
    last: Option<ObjectId>,
}

impl<'a> Thread<'a> {
    fn new(reader: &'a ContentReader<'a>, repo: &'a Repository) -> Result<Self, Error> {
        Ok(Self {
            reader,
            repo,
            matcher: Matcher::new(reader.ground.settings),
            filters: filter::Filters::new(repo)?,
            reachable: TreeLookup::new(repo, reader.roots),
            directory: None,
            hint: 0,
            last: None,
        })
    }

    fn result(&mut self, candidate: &FileToRead) -> Result<Read, Error> {
        let attributes = &self.reader.attributes[candidate.directory as usize];
        let conversion = match candidate.meta.kind {
            dir::FileKind::Link => Conversion::none(),
            _ => self.matcher.conversion(attributes, &candidate.path),
        };
        let basis = self.basis(candidate, &conversion);
        if let Some(record) = self.known(candidate, basis) {
            let form = Form {
                mode: record.mode,
                id: record.id,
                raw: record.raw,
                pointer: record.pointer,
                held: false,
                settled: !record.raw
                    && !record.pointer
                    && matches!(conversion.filter, FilterAttribute::None)
                    && conversion.keeps_size(self.reader.ground.settings),
                git_id: record.git_id,
            };
            return Ok(Read {
                outcome: self.compared(candidate, form),
                note: Some(note(basis, form)),
            });
        }
        if candidate.meta.size > file::STREAMED || !matches!(conversion.filter, FilterAttribute::None) {
            // Its id is not known before it is stored.
            self.trust(candidate);
        }
        for _ in 0..ATTEMPTS {
            match self.attempt(candidate, &conversion) {
                Ok((form, meta)) => {
                    let note = self.is_trusted(candidate, &meta).then(|| note(basis, form));
                    return Ok(Read {
                        outcome: self.compared(candidate, form),
                        note,
                    });
                }
                Err(ReadFailure::Again) => self.directory = None,
                Err(ReadFailure::Done(outcome)) => return Ok(Read { outcome, note: None }),
                Err(ReadFailure::Fatal(error)) => return Err(error),
            }
        }
        Ok(Read {
            outcome: ReadOutcome::Skipped(SkipReason::Unstable),
            note: None,
        })
    }

    /// A digest of what the form of a file depends on next to its bytes. A file that was not looked at for secrets, as it was
    /// tracked or they were to be saved, is looked at when that changes.
    fn basis(&self, candidate: &FileToRead, conversion: &Conversion<'_>) -> u64 {
        let is_searched = candidate.why == ReadReason::Untracked && self.reader.ground.rules.no_secrets;
        let searched = if is_searched { SEARCHED } else { 0 };
        self.form_basis(candidate, conversion) ^ searched
    }

    fn form_basis(&self, candidate: &FileToRead, conversion: &Conversion<'_>) -> u64 {
        let ground = self.reader.ground;
        // Where the disk does not show the mode, the index does.
        let of_disk = ground.settings.file_mode && ground.settings.symlinks;
        if conversion.is_identity() && of_disk {
            return 0;
        }
        // Whether CRLF is converted depends on the blob in the index, and a pointer of git-lfs is kept if it is there.
        let entry = candidate.entry.map(|at| ground.index.entry(at));
        let entry = entry.map(|entry| (entry.id, entry.mode.bits()));
        // What git calls unchanged goes no second time through a filter, whose programs may be younger than the file. Its
        // verdict may differ with the same entry and file: it reads again what is as young as the index.
        let is_clean = candidate.why == ReadReason::Clean;
        let lfs = matches!(conversion.filter, FilterAttribute::Lfs)
            .then(|| (ground.lfs.is_set_up(), ground.rules.is_too_large(candidate.meta.size)));
        cache::digest((conversion.digest(), entry, is_clean, lfs))
    }

    /// Cached result, if the file is unchanged and the blob exists.
    fn known(&mut self, candidate: &FileToRead, basis: u64) -> Option<FileRecord> {
        let record = self.reader.cache.record(&candidate.path, &mut self.hint);
        self.last = record.as_ref().map(|record| record.id);
        let record = record?;
        if !record.meta.is_same(&candidate.meta) || record.basis != basis {
            return None;
        }
        self.trust(candidate);
        (self.is_stored(&record.id) && (!record.pointer || self.has_content(&record.id))).then_some(record)
    }

    /// Accepts the blob that refs hold at this path, which need not be stored again.
    fn trust(&mut self, candidate: &FileToRead) {
        let held = self.reachable.at(&candidate.path);
        self.reader.writer.trust(held.iter().copied());
    }

    /// Stores a blob. What refs hold there is looked up only for a blob that may be among it, since reading the trees
    /// costs more than anything else here.
    fn store(&mut self, candidate: &FileToRead, blob: &[u8]) -> Result<ObjectId, Error> {
        let writer = self.reader.writer;
        let id = writer.hash_only(Kind::Blob, blob)?;
        if self.may_be_held(candidate, &id) {
            self.trust(candidate);
        }
        writer.write_as(id, Kind::Blob, blob)?;
        Ok(id)
    }

    /// Whether refs may hold a blob at the path of its file. A tracked file was what the index has or what the cache
    /// says; one that was neither is stored once more at worst. Of all others it is asked whether the blob is there.
    fn may_be_held(&self, candidate: &FileToRead, id: &ObjectId) -> bool {
        match candidate.entry.map(|at| self.reader.ground.index.entry(at).id) {
            Some(entry) if !self.reader.cache.is_new() && Self::meaning(candidate).is_none() => {
                *id == entry || self.last == Some(*id)
            }
            _ => self.reader.writer.is_there(id),
        }
    }

    fn is_stored(&self, id: &ObjectId) -> bool {
        self.reader.writer.has(self.repo, id)
    }

    /// Whether what was read, with this stat data, can be distinguished from a later edit. Whether a file that git
    /// itself reads is held depends on HEAD, so it is looked at each time.
    fn is_trusted(&self, candidate: &FileToRead, meta: &Meta) -> bool {
        let kept = |next: &CacheBuilder| *meta == candidate.meta && next.may_keep(meta);
        Self::meaning(candidate).is_none() && self.reader.next.is_some_and(kept)
    }

    /// Separates entries that the tree has anyway from those that must be inserted.
    fn compared(&self, candidate: &FileToRead, form: Form) -> ReadOutcome {
        if form.held {
            return ReadOutcome::Held {
                id: form.id,
                raw: form.raw,
            };
        }
        let put = |modified| {
            ReadOutcome::Put(TreeBlob {
                mode: form.mode,
                id: form.id,
                raw: form.raw,
                modified,
            })
        };
        let Some(entry) = candidate.entry.map(|at| self.reader.ground.index.entry(at)) else {
            return put(false);
        };
        let same_mode = u32::from(form.mode) == entry.mode.bits();
        if form.id == entry.id && same_mode && !form.raw && !entry.is_pending() {
            return ReadOutcome::Same { settled: form.settled };
        }
        // What git takes for unchanged is no modification, whatever it would store of it now.
        let is_other = form.git_id != entry.id && candidate.why != ReadReason::Clean;
        put(is_other || !same_mode || entry.is_intent_to_add())
    }
}

fn note(basis: u64, form: Form) -> FileFingerprint {
    let git_id = (form.git_id != form.id).then(|| Box::new(form.git_id));
    FileFingerprint {
        basis,
        pointer: form.pointer,
        git_id,
    }
}
