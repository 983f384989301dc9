//! Commits read from packs directly, for commands that read many of them one after the other.
//!
//! git stores a commit as what differs from another one, and that one likewise. gix begins anew for each, and asks all
//! object folders; here what was made is kept for the next one, so that each costs one inflation, as in git. What comes
//! from here has been checked as by `checkpoint::read`: its bytes have its id. For whatever is not in a pack, not whole
//! or unusually large the answer is `None`, and the caller asks the repository, which finds it or says what is wrong.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use flate2::{Decompress, FlushDecompress, Status};
use gix::ObjectId;
use gix::hashtable;
use gix::objs::Kind;
use gix::odb::pack::data::entry::Header;
use gix::odb::pack::{data, index};

use super::{few::Few, name, present, strict::indexes};
use crate::os;
use crate::store::Repository;

/// Larger objects are left to gix, which knows the limits that the user has set.
const LARGE: u64 = 1 << 20;

/// How much of what was made is kept, at least; twice as much at most.
const KEPT: usize = 1 << 20;

/// As long as this much room is left, zlib makes many bytes at a time.
const ROOM: usize = 512;

/// So many commits are looked for one by one.
const A_FEW: usize = 32;

/// Reads commits. Knows the packs there were when it was made.
pub(in crate::store) struct Commits {
    hash: gix::hash::Kind,
    /// The one that had the last object comes first.
    packs: Vec<Pack>,
    /// Where objects are that were looked for all at once.
    places: Arc<hashtable::HashMap<ObjectId, (usize, u64)>>,
    inflater: Decompress,
    /// What is inflated into, with room to spare.
    scratch: Vec<u8>,
    bases: Bases,
}

#[derive(Clone)]
struct Pack {
    number: usize,
    path: PathBuf,
    /// What is needed of its index to look for a few objects; `None` until it is needed.
    few: Option<Arc<Few>>,
    data: Option<Arc<data::File>>,
    /// Whether it is one of ours, which hold no deltas.
    whole: bool,
    /// Its index or its data cannot be read.
    unusable: bool,
}

/// What objects were made from, by pack and offset. When there is enough of the new ones, the old ones go.
#[derive(Default)]
struct Bases {
    new: HashMap<(usize, u64), Object>,
    old: HashMap<(usize, u64), Object>,
    size: usize,
}

type Object = (Kind, Rc<Vec<u8>>);

impl Commits {
    /// Reads the list of packs.
    pub(in crate::store) fn new(repo: &Repository) -> Self {
        let folders = present::folders(repo).unwrap_or_default();
        let paths = folders.iter().flat_map(|folder| indexes(&folder.join("pack")));
        let packs = paths.enumerate().map(|(number, path)| Pack {
            number,
            path,
            few: None,
            data: None,
            whole: false,
            unusable: false,
        });
        Self::of(repo.object_hash(), packs.collect(), Arc::default())
    }

    fn of(hash: gix::hash::Kind, packs: Vec<Pack>, places: Arc<hashtable::HashMap<ObjectId, (usize, u64)>>) -> Self {
        Self {
            hash,
            packs,
            places,
            inflater: Decompress::new(true),
            scratch: Vec::new(),
            bases: Bases::default(),
        }
    }

    /// Looks for all of these at once: with a thousand packs, to look through all of them for each takes longer than
    /// everything else.
    fn look_for(&mut self, ids: &[ObjectId]) {
        let wanted: hashtable::HashSet<ObjectId> = ids.iter().copied().collect();
        let mut places = hashtable::HashMap::default();
        for pack in &mut self.packs {
            let number = pack.number;
            if wanted.len() <= A_FEW {
                let Some(few) = pack.few(self.hash) else { continue };
                let found = wanted.iter().filter_map(|id| Some((*id, (number, few.offset(id)?))));
                places.extend(found);
                continue;
            }
            let Ok(index) = index::File::at(&pack.path, self.hash) else {
                continue;
            };
            let count = index.num_objects();
            let mut found = |id: &ObjectId, at| {
                places.insert(*id, (number, index.pack_offset_at_index(at)));
            };
            if count as usize <= wanted.len() {
                for at in 0..count {
                    if let Some(id) = wanted.get(index.oid_at_index(at)) {
                        found(id, at);
                    }
                }
            } else {
                for id in &wanted {
                    if let Some(at) = index.lookup(id) {
                        found(id, at);
                    }
                }
            }
        }
        self.places = Arc::new(places);
    }

    /// What `make` makes of the bytes of each of these commits, in their order; see [`read`](Self::read) for what
    /// `None` stands for. Two threads share the work where it is much.
    pub(in crate::store) fn each<T: Send>(
        &mut self,
        ids: &[ObjectId],
        make: impl Fn(ObjectId, &[u8]) -> T + Sync,
    ) -> Vec<Option<T>> {
        self.look_for(ids);
        // Each is opened once, for both.
        for number in self.places.values().map(|(number, _)| *number) {
            if let Some(pack) = self.packs.get_mut(number).filter(|pack| pack.number == number) {
                pack.data(self.hash);
            }
        }
        let (hash, packs, places) = (self.hash, &self.packs, &self.places);
        os::in_halves(ids, |ids| {
            let mut commits = Self::of(hash, packs.clone(), Arc::clone(places));
            let one = |id: &ObjectId| commits.read(*id).map(|data| make(*id, &data));
            ids.iter().map(one).collect()
        })
    }

    /// The index of a pack that has this object.
    pub(in crate::store) fn index_with(&mut self, id: &ObjectId) -> Option<PathBuf> {
        let (place, _) = self.find(id)?;
        Some(self.packs[place].path.clone())
    }

    /// The bytes of a commit that have its id; `None` when they cannot be had from a pack.
    pub(in crate::store) fn read(&mut self, id: ObjectId) -> Option<Rc<Vec<u8>>> {
        let (place, offset) = self.find(&id)?;
        let (kind, data) = self.object(place, offset)?;
        let is_it = gix::objs::compute_hash(self.hash, kind, &data).is_ok_and(|found| found == id);
        (kind == Kind::Commit && is_it).then_some(data)
    }

    /// Where the object is: the pack's place among the packs, and the offset.
    fn find(&mut self, id: &ObjectId) -> Option<(usize, u64)> {
        if let Some((number, offset)) = self.places.get(id) {
            let place = self.packs.iter().position(|pack| pack.number == *number)?;
            return Some((place, *offset));
        }
        for place in 0..self.packs.len() {
            let Some(few) = self.packs[place].few(self.hash) else {
                continue;
            };
            if let Some(offset) = few.offset(id) {
                self.packs.swap(0, place);
                return Some((0, offset));
            }
        }
        None
    }

    /// The object at an offset of a pack.
    fn object(&mut self, place: usize, offset: u64) -> Option<Object> {
        let pack = &mut self.packs[place];
        let data = Arc::clone(pack.data(self.hash)?);
        let (number, whole, data) = (pack.number, pack.whole, &data);
        // From the object wanted back to one that is known or whole.
        let mut deltas = Vec::new();
        let mut at = offset;
        let mut base = loop {
            if let Some(known) = self.bases.get(number, at) {
                break known;
            }
            let entry = data.entry(at).ok().filter(|entry| entry.decompressed_size <= LARGE)?;
            let bytes = inflate(&mut self.inflater, &mut self.scratch, data, &entry)?;
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
                    if !whole {
                        self.bases.put(number, at, &object);
                    }
                    break object;
                }
            }
        };
        for (at, delta) in deltas.iter().rev() {
            base = (base.0, Rc::new(applied(&base.1, delta)?));
            self.bases.put(number, *at, &base);
        }
        Some(base)
    }
}

impl Pack {
    fn few(&mut self, hash: gix::hash::Kind) -> Option<&Few> {
        if self.few.is_none() && !self.unusable {
            self.few = Few::open(&self.path, hash).ok().map(Arc::new);
            self.unusable = self.few.is_none();
        }
        self.few.as_deref()
    }

    fn data(&mut self, hash: gix::hash::Kind) -> Option<&Arc<data::File>> {
        if self.data.is_none() && !self.unusable {
            let file = data::File::at(self.path.with_extension("pack"), hash);
            self.data = file.ok().map(Arc::new);
            self.unusable = self.data.is_none();
            let stem = self.path.file_stem().and_then(|stem| stem.to_str());
            self.whole = stem.is_some_and(name::is_ours);
        }
        self.data.as_ref()
    }
}

impl Bases {
    fn get(&mut self, pack: usize, offset: u64) -> Option<Object> {
        if let Some(object) = self.new.get(&(pack, offset)) {
            return Some(object.clone());
        }
        let object = self.old.remove(&(pack, offset))?;
        self.put(pack, offset, &object);
        Some(object)
    }

    fn put(&mut self, pack: usize, offset: u64, object: &Object) {
        if self.size > KEPT {
            self.old = std::mem::take(&mut self.new);
            self.size = 0;
        }
        self.size += object.1.len();
        self.new.insert((pack, offset), object.clone());
    }
}

/// The contents of an entry: of the object, or of a delta.
fn inflate(
    inflater: &mut Decompress,
    scratch: &mut Vec<u8>,
    data: &data::File,
    entry: &data::Entry,
) -> Option<Vec<u8>> {
    let size = usize::try_from(entry.decompressed_size).ok()?;
    let input = data.entry_slice(entry.data_offset..data.pack_end() as u64)?;
    // More room than needed, so that the stream comes to its end where it has no more, and quickly.
    scratch.clear();
    scratch.reserve(size + ROOM);
    inflater.reset(true);
    let status = inflater.decompress_vec(input, scratch, FlushDecompress::Finish).ok()?;
    (status == Status::StreamEnd && scratch.len() == size).then(|| scratch.clone())
}

/// What a delta makes of its base: lengths of both, then pieces of the base and new ones. `None` when it does not fit.
fn applied(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut rest = delta;
    if varint(&mut rest)? != base.len() as u64 {
        return None;
    }
    let size = varint(&mut rest).filter(|size| *size <= LARGE)?;
    let size = usize::try_from(size).ok()?;
    let mut out = Vec::with_capacity(size);
    while let Some((&command, after)) = rest.split_first() {
        rest = after;
        if command & 0x80 == 0 {
            // 0 is reserved.
            let (new, after) = rest.split_at_checked(usize::from(command)).filter(|_| command != 0)?;
            out.extend_from_slice(new);
            rest = after;
        } else {
            out.extend_from_slice(base.get(copied(command, &mut rest)?)?);
        }
        if out.len() > size {
            return None;
        }
    }
    (out.len() == size).then_some(out)
}

/// The piece of the base that a command copies: the bits of the command say which bytes of start and length follow.
fn copied(command: u8, rest: &mut &[u8]) -> Option<Range<usize>> {
    let mut number = |bits: Range<u32>| {
        let mut value = 0_usize;
        for (place, bit) in bits.enumerate() {
            if command >> bit & 1 == 1 {
                let (&byte, after) = rest.split_first()?;
                *rest = after;
                value |= usize::from(byte) << (8 * place);
            }
        }
        Some(value)
    };
    let start = number(0..4)?;
    let length = match number(4..7)? {
        0 => 0x10000,
        length => length,
    };
    Some(start..start.checked_add(length)?)
}

/// A number in pieces of seven bits, the lowest first.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_that_do_not_fit_make_nothing() {
        let base = b"0123456789abcdef";
        // 16 bytes become 10: four of the base from 2 on, then six new ones.
        let delta = b"\x10\x0a\x91\x02\x04\x06uvwxyz";
        assert_eq!(applied(base, delta).as_deref(), Some(&b"2345uvwxyz"[..]));
        assert_eq!(applied(&base[1..], delta), None, "another base");
        for end in 0..delta.len() {
            assert_eq!(applied(base, &delta[..end]), None, "cut off at {end}");
        }
        assert_eq!(
            applied(base, b"\x10\x0a\x91\x0d\x04\x06uvwxyz"),
            None,
            "beyond the base"
        );
        assert_eq!(applied(base, b"\x10\x09\x91\x02\x04\x06uvwxyz"), None, "too long");
        assert_eq!(
            applied(base, b"\x10\x0a\x91\x02\x04\x00\x06uvwxyz"),
            None,
            "a reserved command"
        );
        assert_eq!(
            applied(base, b"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            None,
            "a huge length"
        );
        // Without a length the piece has 65,536 bytes.
        let long = vec![7; 0x10000];
        assert_eq!(applied(&long, b"\x80\x80\x04\x80\x80\x04\x80"), Some(long));
    }
}
