//! Our own object writer: what one operation stores becomes one pack, durable before anything names it.
//!
//! gix syncs nothing, and git syncs loose objects one by one; a pack costs three syncs however many objects it holds,
//! and its `.keep` protects them from a concurrent `gc --prune=now` until the ref is in place. Objects are hashed with
//! collision detection. A second form of the writer stores nothing and serves `--dry-run` and comparisons.

mod blocks;
mod body;
mod consolidate;
mod deflate;
mod delta;
mod lookup;
mod loose;
mod name;
mod offsets;
mod pack;
mod packed;
mod presence;
mod seal;
mod sealed;
mod stream;
mod strict;

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flate2::{Compression, Crc};
use gix::ObjectId;
use gix::objs::Kind;

use super::{
    EncryptedSessions, Error, Repository, Signature, config,
    encryption::{self, Encryptor},
    paths,
    signature::Signer,
};
use crate::model::{document::Document, id::Digest};
use crate::os::{self, CleanupFailure, Sharing, trace};
use body::Body;
pub use consolidate::{ConsolidationOutcome, consolidate};
pub(super) use loose::{damaged_loose, own as own_loose};
pub(super) use name::is_ours as is_own_pack;
pub(super) use packed::PackReader;
pub(super) use presence::{ObjectPresence, directories as object_directories};
pub use sealed::SealedObjects;
pub use stream::StreamError;
pub use strict::{ObjectProblem, StrictReader};

/// Blobs that the memory form keeps, all together; what goes beyond is hashed only.
const MEMORY_LIMIT: usize = 64 * 1024 * 1024;
/// The level for blobs where the user set none. Of this project's source, and of small texts, it takes three quarters to nine
/// tenths of the time of level 6, for 1 % more bytes.
const BLOB_LEVEL: Compression = Compression::new(4);
/// The level for all else where the user set none. Trees are mostly ids, which do not compress: it takes a third of the time of
/// level 6 for 0 to 3 % more bytes.
const STRUCTURE_LEVEL: Compression = Compression::fast();
/// Streamed blobs up to this size are kept by it.
const KEPT_PIECE: u64 = 16 * 1024 * 1024;

/// Stores the objects of one operation. Threads share it by reference.
///
/// Dropped without [`finish`](Self::finish) it leaves nothing behind.
pub struct Writer {
    hash: gix::hash::Kind,
    /// The level that the user set.
    level: Option<Compression>,
    target: WriteTarget,
    kept: Mutex<ObjectCache>,
    subjects: Option<String>,
    signer: Option<Mutex<Result<Signer, String>>>,
    encryption: EncryptionState,
    /// Who what is next to a document is encrypted to where the settings do not say so.
    inherited: Mutex<Option<Arc<Encryptor>>>,
    /// Encrypted checkpoints that were read or written.
    encrypted: EncryptedSessions,
}

/// Whether what is private is encrypted.
enum EncryptionState {
    /// The settings do not say so.
    Off,
    To(Arc<Encryptor>),
    /// The settings ask for it, and it cannot be done.
    Failed(Error),
}

impl EncryptionState {
    fn of(repo: &Repository) -> Self {
        match Encryptor::for_own_writing(repo) {
            Ok(None) => Self::Off,
            Ok(Some(encryptor)) => Self::To(Arc::new(encryptor)),
            Err(error) => Self::Failed(error),
        }
    }

    fn encryptor(&self) -> Result<Option<Arc<Encryptor>>, Error> {
        match self {
            Self::Off => Ok(None),
            Self::To(encryptor) => Ok(Some(Arc::clone(encryptor))),
            Self::Failed(Error::NoRecipient) => Err(Error::NoRecipient),
            Self::Failed(error) => Err(Error::Encryption { why: error.why() }),
        }
    }
}

enum WriteTarget {
    /// Nothing is stored.
    Memory,
    /// One pack in `folder`.
    Pack(Box<PackWriter>),
}

struct PackWriter {
    directory: PathBuf,
    sharing: Sharing,
    body: Mutex<Body>,
    present: Mutex<ObjectPresence>,
    /// The objects that may be relied on; `None` when all are to be written.
    trusted: Option<Mutex<HashSet<ObjectId>>>,
    relied_on: Mutex<HashSet<ObjectId>>,
}

/// Objects in memory: of a pack the trees, commits and tags, so that they can be read before the pack is in place.
#[derive(Default)]
struct ObjectCache {
    objects: HashMap<ObjectId, (Kind, Vec<u8>)>,
    blobs: usize,
}

impl Writer {
    /// A writer whose objects are stored in the repository by [`finish`](Self::finish).
    ///
    /// That an object is there already is no reason not to write it: what no ref names may go at any moment, with a
    /// `git repack -ad` that has looked at the refs a moment ago. Only those that the caller [`trust`](Self::trust)s and
    /// that are stored soundly are left out; [`SealedObjects::relied_on`] names them.
    pub fn durable(repo: &Repository) -> Result<Self, Error> {
        Self::to_pack(repo, true)
    }

    /// A writer that trusts nothing and stores every object it is given: after objects vanished.
    pub fn rewriting(repo: &Repository) -> Result<Self, Error> {
        Self::to_pack(repo, false)
    }

    fn to_pack(repo: &Repository, may_trust: bool) -> Result<Self, Error> {
        let directory = paths::objects_dir(repo).join("pack");
        let sharing = paths::sharing(repo);
        let pack = PackWriter {
            body: Mutex::new(Body::new(directory.clone(), sharing)),
            present: Mutex::new(ObjectPresence::new(repo)?),
            trusted: may_trust.then(Mutex::default),
            relied_on: Mutex::default(),
            directory,
            sharing,
        };
        let settings = repo.config_snapshot();
        let is_set = ["pack.compression", "core.compression"]
            .iter()
            .any(|key| settings.integer(*key).is_some());
        let set = repo.pack_compression().ok().filter(|_| is_set);
        let level = set.map(|level| Compression::new(level.level().unsigned_abs()));
        Ok(Self {
            hash: repo.object_hash(),
            level,
            target: WriteTarget::Pack(Box::new(pack)),
            kept: Mutex::default(),
            subjects: config::subject_template(repo),
            // Not everything that is written is signed, so it is no failure yet that this cannot be.
            signer: config::signs(repo).then(|| Mutex::new(Signer::of(repo))),
            encryption: EncryptionState::of(repo),
            inherited: Mutex::default(),
            encrypted: repo.encrypted().clone(),
        })
    }

    /// A writer that stores nothing: it gives the ids, and keeps trees, commits and up to 64 MiB of blobs for
    /// [`overlay`](Self::overlay).
    pub fn memory(repo: &Repository) -> Self {
        Self {
            hash: repo.object_hash(),
            level: None,
            target: WriteTarget::Memory,
            kept: Mutex::default(),
            subjects: config::subject_template(repo),
            signer: None,
            encryption: EncryptionState::of(repo),
            inherited: Mutex::default(),
            encrypted: repo.encrypted().clone(),
        }
    }

    /// Whether [`finish`](Self::finish) stores anything.
    pub fn is_durable(&self) -> bool {
        matches!(self.target, WriteTarget::Pack(_))
    }

    /// Signs the bytes of a commit, where that is asked for: the header for the signature, and the signature. Without one
    /// the checkpoint is made without, with a notice, and nothing else of this operation is signed: what it waited for
    /// once is not waited for a thousand times.
    pub(super) fn sign(&self, commit: &[u8], committer: &Signature, can_ask: bool) -> Option<(&'static str, String)> {
        let mut signer = lock(self.signer.as_ref()?);
        let made = match &*signer {
            Ok(of) => of
                .sign(commit, committer, can_ask)
                .map(|signature| (of.header(), signature)),
            Err(why) => Err(why.clone()),
        };
        made.map_err(|why| {
            os::notices::say(&format!("the checkpoint is not signed: {}", os::clause(&why)));
            *signer = Err(why);
        })
        .ok()
    }

    /// Encrypted checkpoints that were read or written.
    pub(super) fn encrypted(&self) -> &EncryptedSessions {
        &self.encrypted
    }

    /// Lets what is written from now on be encrypted as the first of these checkpoints that is, also without a setting here:
    /// it is for one that continues them.
    pub fn protect<'d>(&self, before: impl IntoIterator<Item = &'d Digest>) -> Result<(), Error> {
        let found = before.into_iter().find_map(|digest| self.encrypted.get(digest));
        *lock(&self.inherited) = encryption::inherited(found.as_ref())?;
        Ok(())
    }

    /// Who the settings have everything encrypted to.
    pub(super) fn configured_encryptor(&self) -> Result<Option<Arc<Encryptor>>, Error> {
        self.encryption.encryptor()
    }

    /// Who a new document is encrypted to. One that continues an encrypted one is as well, so what is next to it must have
    /// been, which [`protect`](Self::protect) sees to.
    pub(super) fn encryptor_for(&self, document: &Document) -> Result<Option<Arc<Encryptor>>, Error> {
        match self.configured_encryptor()? {
            None => encryption::inherited(self.encrypted.continued_by(document).as_ref()),
            configured => Ok(configured),
        }
    }

    /// Whether a document and what is next to it are encrypted.
    pub fn encrypts(&self, document: &Document) -> Result<bool, Error> {
        Ok(self.encryptor_for(document)?.is_some())
    }

    /// Stores a blob of what people and agents wrote, encrypted where that is asked for.
    pub fn write_private(&self, bytes: &[u8]) -> Result<ObjectId, Error> {
        let inherited = || lock(&self.inherited).clone();
        match self.configured_encryptor()?.or_else(inherited) {
            Some(encryptor) => self.write(Kind::Blob, &encryptor.encrypt(bytes)?),
            None => self.write(Kind::Blob, bytes),
        }
    }

    /// The form of subjects that the program makes, where one is set.
    pub(super) fn subject_template(&self) -> Option<&str> {
        self.subjects.as_deref()
    }

    /// Notes that these objects are reachable from an existing ref, so that no collection of garbage takes them, and
    /// need not be written again where they are stored soundly.
    pub fn trust(&self, ids: impl IntoIterator<Item = ObjectId>) {
        if let WriteTarget::Pack(pack) = &self.target
            && let Some(trusted) = &pack.trusted
        {
            lock(trusted).extend(ids);
        }
    }

    /// Stores an object that the repository has, unless it is to be relied on. Gives what is wrong with it.
    pub fn copy(&self, from: &mut StrictReader<'_>, id: ObjectId, kind: Kind) -> Result<Option<ObjectProblem>, Error> {
        let WriteTarget::Pack(pack) = &self.target else {
            return Ok(None);
        };
        if pack.has(&id) {
            return Ok(None);
        }
        match from.read(id, kind) {
            Ok(data) => self.write(kind, &data).map(|_| None),
            Err(problem) => Ok(Some(problem)),
        }
    }

    /// Stores an object and gives its id.
    pub fn write(&self, kind: Kind, data: &[u8]) -> Result<ObjectId, Error> {
        trace::count();
        let id = self.hash_only(kind, data)?;
        self.write_as(id, kind, data)?;
        Ok(id)
    }

    fn level(&self, kind: Kind) -> Compression {
        self.level.unwrap_or(match kind {
            Kind::Blob => BLOB_LEVEL,
            Kind::Tree | Kind::Commit | Kind::Tag => STRUCTURE_LEVEL,
        })
    }

    /// Stores an object whose id the caller knows from [`hash_only`](Self::hash_only).
    pub fn write_as(&self, id: ObjectId, kind: Kind, data: &[u8]) -> Result<(), Error> {
        match &self.target {
            WriteTarget::Memory => self.keep(id, kind, data),
            WriteTarget::Pack(pack) => {
                if pack.has(&id) {
                    return Ok(());
                }
                if kind != Kind::Blob {
                    self.keep(id, kind, data);
                }
                let mut entry = Vec::new();
                pack::entry_header(kind, data.len() as u64, &mut entry);
                deflate::compress(self.level(kind), data, &mut entry)
                    .map_err(Error::io("compress", &pack.directory))?;
                lock(&pack.body).append(id, &entry)?;
            }
        }
        Ok(())
    }

    /// Whether an object lies in the repository, soundly or not, so that it may matter whether it can be relied on. Says
    /// no for a writer that relies on nothing.
    pub fn is_there(&self, id: &ObjectId) -> bool {
        match &self.target {
            WriteTarget::Memory => false,
            WriteTarget::Pack(pack) => pack.trusted.is_some() && lock(&pack.present).lists(id),
        }
    }

    /// Stores an object of exactly `length` bytes from a source, in bounded memory, and gives its id.
    ///
    /// Other threads wait meanwhile, so small files are better read and given to [`write`](Self::write).
    pub fn write_stream(&self, kind: Kind, length: u64, source: &mut dyn Read) -> Result<ObjectId, StreamError> {
        let WriteTarget::Pack(pack) = &self.target else {
            if length > KEPT_PIECE {
                return self.hash_stream(kind, length, source);
            }
            let mut data = Vec::new();
            source
                .take(length + 1)
                .read_to_end(&mut data)
                .map_err(StreamError::Read)?;
            if data.len() as u64 != length {
                return Err(StreamError::Changed {
                    expected: length,
                    found: data.len() as u64,
                });
            }
            return Ok(self.write(kind, &data)?);
        };
        let mut body = lock(&pack.body);
        let start = body.begin();
        match self.stream(kind, length, source, &mut body) {
            Ok((id, crc32)) => {
                if pack.has_with(&body, &id) {
                    body.rollback(start)?;
                } else {
                    body.commit(start, id, crc32)?;
                }
                Ok(id)
            }
            Err(error) => {
                body.rollback(start)?;
                Err(error)
            }
        }
    }

    fn stream(
        &self,
        kind: Kind,
        length: u64,
        source: &mut dyn Read,
        body: &mut Body,
    ) -> Result<(ObjectId, u32), StreamError> {
        let body_place = body.place().to_owned();
        let mut hasher = object_hasher(self.hash, kind, length);
        let mut crc = Crc::new();
        let mut header = Vec::new();
        pack::entry_header(kind, length, &mut header);
        crc.update(&header);
        body.put(&header)?;
        let found = deflate::compress_stream(
            self.level(kind),
            length,
            source,
            &mut |piece| hasher.update(piece),
            &mut |piece| {
                crc.update(piece);
                Ok(body.put(piece)?)
            },
            &StreamError::Read,
            &|error| Error::io("compress", &body_place)(error).into(),
        )?;
        if found != length {
            return Err(StreamError::Changed {
                expected: length,
                found,
            });
        }
        let id = hasher.try_finalize().map_err(Error::gix("hash an object"))?;
        Ok((id, crc.sum()))
    }

    /// The id that an object has, without storing it.
    pub fn hash_only(&self, kind: Kind, data: &[u8]) -> Result<ObjectId, Error> {
        gix::objs::compute_hash(self.hash, kind, data).map_err(Error::gix("hash an object"))
    }

    /// The id of an object of exactly `length` bytes from a source, without storing it.
    pub fn hash_stream(&self, kind: Kind, length: u64, source: &mut dyn Read) -> Result<ObjectId, StreamError> {
        let mut hasher = object_hasher(self.hash, kind, length);
        let mut buffer = vec![0; deflate::CHUNK];
        let mut found = 0;
        loop {
            let count = deflate::read_some(source, &mut buffer).map_err(StreamError::Read)?;
            found += count as u64;
            if found > length || count == 0 {
                break;
            }
            hasher.update(&buffer[..count]);
        }
        if found != length {
            return Err(StreamError::Changed {
                expected: length,
                found: found.min(length + 1),
            });
        }
        Ok(hasher.try_finalize().map_err(Error::gix("hash an object"))?)
    }

    /// Whether an object need not be given to this writer because it is trusted and stored soundly, or stored by the
    /// writer itself. One that is trusted counts as relied on.
    pub fn has(&self, repo: &Repository, id: &ObjectId) -> bool {
        match &self.target {
            WriteTarget::Memory => repo.has_object(id) || self.contains(id),
            WriteTarget::Pack(pack) => pack.has(id),
        }
    }

    /// The marks of packs in which all these objects are, which hold as long as the packs are there: `marks` if their
    /// packs are, otherwise it is looked. `None` if an object is in no pack, or `ids` gives none.
    ///
    /// For many objects that a trusted one names: nothing is asked of the single ones, in most cases.
    pub fn in_packs(&self, marks: &[u64], ids: impl FnOnce() -> Option<Vec<ObjectId>>) -> Option<Vec<u64>> {
        match &self.target {
            WriteTarget::Memory => Some(marks.to_vec()),
            WriteTarget::Pack(pack) => {
                let mut present = lock(&pack.present);
                if present.stand(marks) {
                    return Some(marks.to_vec());
                }
                present.packs_of(&ids()?)
            }
        }
    }

    /// Whether this writer was given the object and has it, in its pack or in memory.
    pub fn contains(&self, id: &ObjectId) -> bool {
        let packed = matches!(&self.target, WriteTarget::Pack(pack) if lock(&pack.body).contains(id));
        packed || lock(&self.kept).objects.contains_key(id)
    }

    /// An object that this writer has; `None` if it does not, then it may be in the repository.
    pub fn get(&self, id: &ObjectId) -> Result<Option<(Kind, Vec<u8>)>, Error> {
        if let Some((kind, data)) = lock(&self.kept).objects.get(id) {
            return Ok(Some((*kind, data.clone())));
        }
        match &self.target {
            WriteTarget::Memory => Ok(None),
            WriteTarget::Pack(pack) => lock(&pack.body).read(id),
        }
    }

    /// A handle on the repository in which the objects of this writer can be read before they are in place: all but
    /// the blobs of a pack, and all that the memory form kept. Writing through it stores nothing.
    pub fn overlay(&self, repo: &Repository) -> Repository {
        let mut overlay = repo.clone().with_object_memory();
        let mut storage = gix::odb::memory::Storage::default();
        for (id, (kind, data)) in &lock(&self.kept).objects {
            storage.insert(*id, (*kind, data.clone()));
        }
        overlay.objects.set_object_memory(storage);
        overlay
    }

    /// The same with these blobs, where they are in the pack.
    pub fn overlay_with(&self, repo: &Repository, blobs: &[ObjectId]) -> Result<Repository, Error> {
        let mut overlay = self.overlay(repo);
        let mut storage = overlay.objects.take_object_memory().unwrap_or_default();
        for id in blobs {
            if let Some(object) = self.get(id)? {
                storage.insert(*id, object);
            }
        }
        overlay.objects.set_object_memory(storage);
        Ok(overlay)
    }

    /// Makes the objects durable and visible. Without new objects nothing touches the disk.
    ///
    /// On an error nothing is visible and no file of ours is left.
    pub fn finish(self) -> Result<SealedObjects, Error> {
        let WriteTarget::Pack(pack) = self.target else {
            return Ok(SealedObjects {
                keep: None,
                relied_on: Vec::new(),
                written: Vec::new(),
                bytes: 0,
            });
        };
        let PackWriter {
            directory,
            sharing,
            body,
            relied_on,
            ..
        } = *pack;
        let body = body.into_inner().unwrap_or_else(PoisonError::into_inner);
        let relied_on = relied_on
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .into_iter()
            .collect();
        let written: Vec<_> = body.ids().collect();
        let written_count = written.len();
        let mut bytes = 0;
        trace::say(1, || match written_count {
            0 => "no new objects".to_owned(),
            count => format!("{count} new objects, stored as one pack"),
        });
        let keep = match body.close(self.hash)? {
            Some(closed) => {
                bytes = closed.file.len()?;
                Some(seal::place(closed, &directory, sharing)?)
            }
            None => None,
        };
        Ok(SealedObjects {
            keep,
            relied_on,
            written,
            bytes,
        })
    }

    fn keep(&self, id: ObjectId, kind: Kind, data: &[u8]) {
        let mut kept = lock(&self.kept);
        if kept.objects.contains_key(&id) {
            return;
        }
        if kind == Kind::Blob {
            if kept.blobs + data.len() > MEMORY_LIMIT {
                return;
            }
            kept.blobs += data.len();
        }
        kept.objects.insert(id, (kind, data.to_vec()));
    }
}

impl PackWriter {
    fn has(&self, id: &ObjectId) -> bool {
        // The lock on the pack is not held while the repository is searched.
        let written = lock(&self.body).contains(id);
        written || self.relies_on(id)
    }

    fn has_with(&self, body: &Body, id: &ObjectId) -> bool {
        body.contains(id) || self.relies_on(id)
    }

    fn relies_on(&self, id: &ObjectId) -> bool {
        if !self.trusted.as_ref().is_some_and(|trusted| lock(trusted).contains(id)) {
            return false;
        }
        if lock(&self.relied_on).contains(id) {
            return true;
        }
        let found = lock(&self.present).has(id);
        if found {
            lock(&self.relied_on).insert(*id);
        }
        found
    }
}

/// A hasher for an object of this kind and length, given its header already.
pub fn object_hasher(hash: gix::hash::Kind, kind: Kind, length: u64) -> gix::hash::Hasher {
    let mut hasher = gix::hash::hasher(hash);
    hasher.update(&gix::objs::encode::loose_header(kind, length));
    hasher
}

/// A panic in another thread does not make the data unusable here: every change is complete before the lock is freed
/// or marks the pack as broken.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what killed saves left among the packs of this repository. Costs one look at the directory. Gives what could
/// not be removed.
pub fn sweep(repo: &Repository) -> Result<Vec<CleanupFailure>, Error> {
    seal::sweep(&paths::objects_dir(repo).join("pack"))
}
