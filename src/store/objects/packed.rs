//! Objects read from packs directly, for commands that read many of them one after the other.
//!
//! git stores a commit or a tree as what differs from another one, and that one likewise. gix begins anew for each, and
//! asks all object directories; here what was made is kept for the next one, so that each costs one inflation, as in git. gix
//! maps packs besides, which takes much memory; here they are read piece by piece. For whatever is not in a pack, not
//! whole or unusually large the answer is `None`, and the caller asks the repository, which finds it or says what is
//! wrong.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use flate2::{Decompress, FlushDecompress, Status};
use gix::ObjectId;
use gix::hash::oid;
use gix::objs::Kind;
use gix::odb::pack::data::{Entry, entry::Header};

use super::blocks::{BlockCache, Blocks};
use super::delta::applied;
use super::lookup::PackIndex;
use super::{name, presence, strict::indexes};
use crate::os;
use crate::store::Repository;

/// Larger objects are left to gix, which knows the limits that the user has set.
const LARGE: u64 = 1 << 20;

/// How much of what was made is kept, at least; twice as much at most.
const KEPT: usize = 1 << 20;

/// Blobs that a thread reads before it takes the next ones: the first may have to be made from what another thread has made.
const RUN: usize = 512;

/// As long as this much room is left, zlib makes many bytes at a time.
const ROOM: usize = 512;

/// More than any header of an entry takes: two numbers of ten bytes, or one and an id.
const HEADER: usize = 10 + 32;

/// Reads objects. Knows the packs there were when it was made.
pub(in crate::store) struct PackReader {
    hash: gix::hash::Kind,
    /// The one that had the last object comes first.
    packs: Vec<Arc<OpenPack>>,
    inflater: Decompress,
    /// Buffer for inflated data, with spare capacity.
    scratch: Vec<u8>,
    /// The files: of the pack with a number n the index has the number 2n, the data 2n + 1.
    blocks: Blocks,
    /// Cached delta bases, by pack and offset.
    bases: BlockCache<Object>,
}

struct OpenPack {
    number: usize,
    path: PathBuf,
    data: PathBuf,
    /// Read when it is needed; `None` in it when it cannot be.
    index: OnceLock<Option<PackIndex>>,
    /// Whether it is one of ours, which hold no deltas.
    ours: OnceLock<bool>,
}

impl OpenPack {
    fn index(&self, blocks: &mut Blocks, hash: gix::hash::Kind) -> Option<&PackIndex> {
        let open = || PackIndex::open(blocks, self.number * 2, &self.path, hash);
        self.index.get_or_init(open).as_ref()
    }

    fn is_ours(&self) -> bool {
        let stem = self.path.file_stem().and_then(|stem| stem.to_str());
        *self.ours.get_or_init(|| stem.is_some_and(name::is_ours))
    }
}

/// Where an object is: the number of the pack, and the offset.
type PackPlace = (usize, u64);

type Object = (Kind, Rc<Vec<u8>>);

impl PackReader {
    /// Reads the list of packs.
    pub(in crate::store) fn new(repo: &Repository) -> Self {
        let directories = presence::directories(repo).unwrap_or_default();
        let paths = directories
            .iter()
            .flat_map(|directory| indexes(&directory.join("pack")));
        let packs = paths.enumerate().map(|(number, path)| OpenPack {
            number,
            data: path.with_extension("pack"),
            path,
            index: OnceLock::new(),
            ours: OnceLock::new(),
        });
        Self::of(repo.object_hash(), packs.map(Arc::new).collect())
    }

    fn of(hash: gix::hash::Kind, packs: Vec<Arc<OpenPack>>) -> Self {
        Self {
            hash,
            packs,
            inflater: Decompress::new(true),
            scratch: Vec::new(),
            blocks: Blocks::new(),
            bases: BlockCache::new(KEPT),
        }
    }

    /// How many packs there are.
    pub(in crate::store) fn packs(&self) -> usize {
        self.packs.len()
    }

    /// Where each of these is, all looked for at once: with a thousand packs, to look through all of them for each takes
    /// longer than everything else. Two threads share the work.
    fn look_for(&mut self, ids: &[ObjectId]) -> Vec<Option<PackPlace>> {
        let packs = self.in_order();
        os::parallel_map(ids, |ids| {
            // An index is sorted: looked for in its order, many ids cost each piece of it once.
            let mut order: Vec<usize> = (0..ids.len()).collect();
            order.sort_unstable_by(|a, b| ids[*a].cmp(&ids[*b]));
            let sorted: Vec<&oid> = order.iter().map(|at| ids[*at].as_ref()).collect();
            let mut places = vec![None; ids.len()];
            let mut reader = Self::of(self.hash, packs.clone());
            for pack in &packs {
                if let Some(index) = pack.index(&mut reader.blocks, self.hash) {
                    index.find_all(&mut reader.blocks, &sorted, |at, offset| {
                        places[order[at]] = Some((pack.number, offset));
                    });
                }
            }
            places
        })
    }

    /// The packs by number.
    fn in_order(&self) -> Vec<Arc<OpenPack>> {
        let mut packs = self.packs.clone();
        packs.sort_by_key(|pack| pack.number);
        packs
    }

    /// Maps the bytes of these commits with `make`, which also gets the place of each among `ids`: in the order in which
    /// they are stored, each with its place. [`commit`](Self::commit) says what `None` means.
    ///
    /// Read as [`each_of`](Self::each_of) reads: in the order of their names, each of a hundred thousand commits would cost
    /// a piece of the pack.
    pub(in crate::store) fn each<T: Send>(
        &mut self,
        ids: &[ObjectId],
        make: impl Fn(usize, &[u8]) -> T + Sync,
    ) -> Vec<(usize, Option<T>)> {
        /// What becomes of a commit is filled in here: twice in memory they would be the most that a list takes.
        struct CommitSlot<T> {
            place: Option<PackPlace>,
            made: (usize, Option<T>),
        }
        let places = self.look_for(ids).into_iter().enumerate();
        let mut order: Vec<(Option<PackPlace>, usize)> = places.map(|(at, place)| (place, at)).collect();
        order.sort_unstable();
        let slots = order.into_iter().map(|(place, at)| CommitSlot {
            place,
            made: (at, None),
        });
        let mut slots: Vec<CommitSlot<T>> = slots.collect();
        let packs = self.in_order();
        os::parallel_edit(
            &mut slots,
            RUN,
            || Self::of(self.hash, packs.clone()),
            |packed, run| {
                for slot in run {
                    let Some((number, offset)) = slot.place else { continue };
                    let (at, made) = &mut slot.made;
                    let found = packed.entry(number, offset);
                    let data = found.and_then(|found| packed.checked(ids[*at], found));
                    *made = data.map(|data| make(*at, &data));
                }
            },
        );
        slots.into_iter().map(|slot| slot.made).collect()
    }

    /// Maps the bytes of these blobs with `make`, as [`each_of`](Self::each_of).
    pub(in crate::store) fn each_blob<T: Send>(
        &mut self,
        ids: &[ObjectId],
        make: impl Fn(usize, &[u8]) -> T + Sync,
    ) -> Vec<Option<T>> {
        self.each_of(Kind::Blob, ids, make)
    }

    /// Maps the bytes of these objects of a kind with `make`, which also gets the place of each among `ids`; gives the
    /// results in the order of `ids`, and `None` for what the repository has to be asked for. It is not checked that they
    /// have their ids.
    ///
    /// They are read in the order in which they are stored, where what they are made of comes right before them: each costs
    /// one inflation. Two threads share the work.
    pub(in crate::store) fn each_of<T: Send>(
        &mut self,
        wanted: Kind,
        ids: &[ObjectId],
        make: impl Fn(usize, &[u8]) -> T + Sync,
    ) -> Vec<Option<T>> {
        let places = self.look_for(ids).into_iter().enumerate();
        let found = places.filter_map(|(at, place)| place.map(|(number, offset)| (number, offset, at)));
        let mut order: Vec<(usize, u64, usize)> = found.collect();
        order.sort_unstable();
        let packs = self.in_order();
        let made = os::parallel_runs(
            &order,
            RUN,
            || Self::of(self.hash, packs.clone()),
            |packed, run| {
                let mut one = |(number, offset, at): &(usize, u64, usize)| {
                    let (kind, data) = packed.entry(*number, *offset)?;
                    (kind == wanted).then(|| (*at, make(*at, &data)))
                };
                run.iter().map(&mut one).collect()
            },
        );
        let mut out: Vec<Option<T>> = ids.iter().map(|_| None).collect();
        for (at, made) in made.into_iter().flatten() {
            out[at] = Some(made);
        }
        out
    }

    /// The index of a pack that has this object.
    pub(in crate::store) fn index_with(&mut self, id: &ObjectId) -> Option<PathBuf> {
        let (place, _) = self.find(id)?;
        Some(self.packs[place].path.clone())
    }

    /// The bytes of a commit; `None` when they cannot be had from a pack. They have been checked as by
    /// `checkpoint::read`: they have its id.
    pub(in crate::store) fn commit(&mut self, id: ObjectId) -> Option<Rc<Vec<u8>>> {
        let found = self.object(&id)?;
        self.checked(id, found)
    }

    /// The bytes, if they are those of the commit of this id.
    fn checked(&self, id: ObjectId, (kind, data): Object) -> Option<Rc<Vec<u8>>> {
        let is_it = gix::objs::compute_hash(self.hash, kind, &data).is_ok_and(|found| found == id);
        (kind == Kind::Commit && is_it).then_some(data)
    }

    /// The kind and bytes of an object, checked as by gix: what was compressed is whole, and deltas fit their bases.
    pub(in crate::store) fn object(&mut self, id: &ObjectId) -> Option<Object> {
        let (place, offset) = self.find(id)?;
        self.entry(place, offset)
    }

    /// Where the object is: the pack's place among the packs, and the offset.
    fn find(&mut self, id: &ObjectId) -> Option<(usize, u64)> {
        for place in 0..self.packs.len() {
            let index = self.packs[place].index(&mut self.blocks, self.hash);
            if let Some(offset) = index.and_then(|index| index.find(&mut self.blocks, id)) {
                self.packs.swap(0, place);
                return Some((0, offset));
            }
        }
        None
    }

    /// The object at an offset of a pack.
    fn entry(&mut self, place: usize, offset: u64) -> Option<Object> {
        let number = self.packs[place].number;
        // From the object wanted back to one that is known or whole.
        let mut deltas = Vec::new();
        let mut at = offset;
        let mut base = loop {
            if let Some(known) = self.bases.get(number, at) {
                break known;
            }
            let mut header = [0; HEADER];
            let path = &self.packs[place].data;
            let length = self.blocks.fill(number * 2 + 1, path, at, &mut header);
            let entry = Entry::from_bytes(&header[..length], at, self.hash).ok()?;
            if entry.decompressed_size > LARGE {
                return None;
            }
            let bytes = self.inflate(place, &entry)?;
            match entry.header {
                Header::OfsDelta { base_distance } => {
                    deltas.push((at, bytes));
                    // Always before, so that this comes to an end.
                    at = entry.checked_base_pack_offset(base_distance)?;
                }
                // Bases by id are for packs on their way.
                Header::RefDelta { .. } => return None,
                header => {
                    let object = (header.as_kind()?, Rc::new(bytes));
                    // A commit that nothing is made from, and that is read once.
                    if object.0 != Kind::Commit || !self.packs[place].is_ours() {
                        self.keep(number, at, &object);
                    }
                    break object;
                }
            }
        };
        for (at, delta) in deltas.iter().rev() {
            base = (base.0, Rc::new(applied(&base.1, delta, LARGE)?));
            self.keep(number, *at, &base);
        }
        Some(base)
    }

    fn keep(&mut self, number: usize, offset: u64, object: &Object) {
        self.bases.put(number, offset, object, object.1.len());
    }

    /// The contents of an entry: of the object, or of a delta.
    fn inflate(&mut self, place: usize, entry: &Entry) -> Option<Vec<u8>> {
        let pack = &self.packs[place];
        let size = usize::try_from(entry.decompressed_size).ok()?;
        // More room than needed, so that the stream comes to its end where it has no more, and quickly.
        self.scratch.clear();
        self.scratch.reserve(size + ROOM);
        self.inflater.reset(true);
        loop {
            let at = entry.data_offset + self.inflater.total_in();
            let (block, within) = self.blocks.at(pack.number * 2 + 1, &pack.data, at)?;
            let before = (self.inflater.total_in(), self.scratch.len());
            let input = &block[within..];
            // As if it were all: mostly it is, and then zlib need not keep for later what it has made.
            let status = self
                .inflater
                .decompress_vec(input, &mut self.scratch, FlushDecompress::Finish);
            match status.ok()? {
                Status::StreamEnd => break,
                _ if (self.inflater.total_in(), self.scratch.len()) == before => return None,
                _ => {}
            }
        }
        (self.scratch.len() == size).then(|| self.scratch.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Writer;
    use super::*;
    use crate::store::EncryptedSessions;

    /// A repository with a pack of some objects, their ids and bytes, and the pack's path.
    fn packed() -> (tempfile::TempDir, Repository, Vec<(ObjectId, Vec<u8>)>, PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let repo = Repository::new(
            gix::init_bare(directory.path()).expect("a repository"),
            EncryptedSessions::default(),
        );
        let writer = Writer::durable(&repo).expect("a writer");
        let lengths = [0, 1, 100, 9000, 40_000];
        let bytes = lengths.map(|length| {
            (0..length)
                .map(|n: u32| (n * n / 7).to_le_bytes()[0])
                .collect::<Vec<_>>()
        });
        let objects = bytes.map(|bytes| (writer.write(Kind::Blob, &bytes).expect("written"), bytes));
        drop(writer.finish().expect("finished"));
        let path = indexes(&directory.path().join("objects/pack")).remove(0);
        (directory, repo, objects.to_vec(), path.with_extension("pack"))
    }

    #[test]
    fn what_is_in_a_pack_is_read_from_it() {
        let (_directory, repo, objects, _) = packed();
        let mut packed = PackReader::new(&repo);
        for (id, bytes) in &objects {
            let (kind, found) = packed.object(id).expect("found");
            assert_eq!((kind, &*found), (Kind::Blob, bytes));
            assert!(packed.commit(*id).is_none(), "no commit");
        }
        assert!(packed.object(&ObjectId::null(repo.object_hash())).is_none());
    }

    #[test]
    fn what_is_damaged_is_not_read() {
        let (_directory, repo, objects, path) = packed();
        let whole = std::fs::read(&path).expect("read");
        for place in 12..whole.len() - 20 {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x55;
            std::fs::remove_file(&path).expect("removed");
            std::fs::write(&path, bytes).expect("written");
            let mut packed = PackReader::new(&repo);
            // A flipped kind is no kind, or one that is not asked for.
            let mut found = objects.iter().filter_map(|(id, _)| packed.object(id));
            let blobs = found.by_ref().filter(|(kind, _)| *kind == Kind::Blob);
            let blobs: Vec<_> = blobs.map(|(_, bytes)| bytes.to_vec()).collect();
            assert_eq!(blobs.len(), objects.len() - 1, "byte {place}");
            assert!(
                blobs.iter().all(|blob| objects.iter().any(|(_, bytes)| bytes == blob)),
                "byte {place}"
            );
        }
    }
}
