//! Objects read so that every byte that git would look at is proved: for `verify`, and for what is copied.
//!
//! An id is the hash of an object's contents, and says nothing of how these are kept. So of a loose object the whole
//! file is checked, of a packed one its entry against the checksum in the index of the pack, and the pack against what
//! its index says of it. The checksums over whole packs take as long as reading them: those of our own packs are
//! [`checked`](StrictReader::own_packs) once.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::Kind;
use gix::odb::pack::{data, index};

use super::deflate::{CHUNK, read_some};
use super::loose::{self, LooseObject};
use super::offsets::{self, EntryOffsets};
use super::{name, presence};
use crate::os;
use crate::store::{Error, Repository};

/// Blobs above this size are not held in memory as a whole.
const LARGE: u64 = 16 << 20;

/// The fault of all objects of a pack whose index cannot be right.
const DAMAGED_INDEX: &str = "the index of its pack is damaged";

/// Fault of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectProblem {
    /// It is not there.
    Missing,
    /// It cannot be read, or is something else.
    Corrupt(String),
}

/// Reads objects strictly. Knows the packs there were when it was made.
pub struct StrictReader<'r> {
    repo: &'r Repository,
    directories: Vec<PathBuf>,
    packs: Vec<StrictPack>,
}

struct StrictPack {
    path: PathBuf,
    index: index::File,
    data: Option<data::File>,
    /// Where each entry begins, in the order of the index.
    offsets: Vec<u64>,
    /// Where each entry ends, by where it begins; filled when it is needed.
    ends: HashMap<u64, u64>,
    /// Fault that makes the whole object unusable to git.
    fault: Option<String>,
}

impl<'r> StrictReader<'r> {
    /// Reads the list of packs.
    pub fn new(repo: &'r Repository) -> Result<Self, Error> {
        let directories = presence::directories(repo)?;
        let hash = repo.object_hash();
        let packs = directories
            .iter()
            .flat_map(|directory| indexes(&directory.join("pack")));
        let packs = packs.filter_map(|path| StrictPack::open(&path, hash)).collect();
        Ok(Self {
            repo,
            directories,
            packs,
        })
    }

    /// The contents of an object of this kind.
    pub fn read(&mut self, id: ObjectId, kind: Kind) -> Result<Vec<u8>, ObjectProblem> {
        let packed = self.packed(&id)?;
        if !packed {
            for path in self.directories.iter().map(|directory| loose::path(directory, &id)) {
                match loose::read(&path, &id) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(ObjectProblem::Corrupt(os::reason(&error))),
                    Ok(LooseObject::Intact(found, data)) => return of_kind((found, data), kind),
                    Ok(LooseObject::Damaged(why)) => return Err(ObjectProblem::Corrupt(why)),
                }
            }
        }
        // Also in memory, or in a pack that came since.
        let object = match self.repo.try_find_object(id) {
            Ok(Some(object)) => object,
            Ok(None) => return Err(ObjectProblem::Missing),
            Err(error) => return Err(ObjectProblem::Corrupt(error.to_string())),
        };
        let found = gix::objs::compute_hash(self.repo.object_hash(), object.kind, &object.data)
            .map_err(|_| ObjectProblem::Corrupt("its bytes are part of a collision attack".to_owned()))?;
        if found != id {
            return Err(ObjectProblem::Corrupt("its bytes have another id".to_owned()));
        }
        let object = object.detach();
        of_kind((object.kind, object.data), kind)
    }

    /// The contents of a tree, nothing of a blob, after checking all of it: one above 16 MiB in bounded memory.
    pub fn check(&mut self, id: ObjectId, kind: Kind) -> Result<Vec<u8>, ObjectProblem> {
        let header = self.repo.try_find_header(id).ok().flatten();
        let is_large = header.is_some_and(|header| header.kind() == Kind::Blob && header.size() > LARGE);
        if kind == Kind::Blob
            && is_large
            && let Some(checked) = self.check_large(id)
        {
            return checked.map(|()| Vec::new());
        }
        self.read(id, kind)
    }

    /// The same for a large blob; `None` where it is not stored as one stream.
    fn check_large(&mut self, id: ObjectId) -> Option<Result<(), ObjectProblem>> {
        let wrong = |why: &str| Some(Err(ObjectProblem::Corrupt(why.to_owned())));
        if let Err(unsound) = self.packed(&id) {
            return Some(Err(unsound));
        }
        for pack in &self.packs {
            let Some(at) = pack.index.lookup(id) else { continue };
            let entry = pack.data.as_ref()?.entry(*pack.offsets.get(at as usize)?).ok()?;
            if entry.header.as_kind() != Some(Kind::Blob) {
                return None;
            }
            let mut file = fs::File::open(pack.path.with_extension("pack")).ok()?;
            io::Seek::seek(&mut file, io::SeekFrom::Start(entry.data_offset)).ok()?;
            let mut hasher = super::object_hasher(self.repo.object_hash(), Kind::Blob, entry.decompressed_size);
            let mut contents = flate2::read::ZlibDecoder::new(io::BufReader::with_capacity(CHUNK, file));
            let mut buffer = vec![0; CHUNK];
            loop {
                match read_some(&mut contents, &mut buffer) {
                    Ok(0) => break,
                    Ok(count) => hasher.update(&buffer[..count]),
                    Err(_) => return wrong("its compressed data is damaged"),
                }
            }
            return match hasher.try_finalize() {
                Ok(found) if found == id => Some(Ok(())),
                _ => wrong("its bytes have another id"),
            };
        }
        let mut paths = self.directories.iter().map(|directory| loose::path(directory, &id));
        let verified = paths.find_map(|path| loose::verify(&path, &id).ok())?;
        if verified {
            Some(Ok(()))
        } else {
            wrong("its bytes have another id")
        }
    }

    /// Whether a pack has it, after checking its entry in each pack that has.
    fn packed(&mut self, id: &ObjectId) -> Result<bool, ObjectProblem> {
        let mut found = false;
        let mut wrong = None;
        for pack in &mut self.packs {
            let Some(at) = pack.index.lookup(id) else { continue };
            match pack.check(at) {
                Ok(()) => found = true,
                Err(why) => wrong = Some(ObjectProblem::Corrupt(why)),
            }
        }
        match wrong {
            Some(wrong) if !found => Err(wrong),
            _ => Ok(found),
        }
    }

    /// Problems of our packs as files: the file and the problem.
    pub fn own_packs(&self) -> Vec<(PathBuf, String)> {
        let hash = self.repo.object_hash();
        let is_ours = |path: &PathBuf| {
            path.file_stem()
                .and_then(|stem| stem.to_str())
                .is_some_and(name::is_ours)
        };
        let paths = self
            .directories
            .iter()
            .flat_map(|directory| indexes(&directory.join("pack")));
        let mut wrong = Vec::new();
        for path in paths.filter(is_ours) {
            for file in [path.with_extension("pack"), path] {
                match sum(&file, hash) {
                    Ok(true) => {}
                    Ok(false) => wrong.push((file, "its checksum is wrong".to_owned())),
                    // Merged or collected since.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => wrong.push((file, format!("it cannot be read: {}", os::reason(&error)))),
                }
            }
        }
        wrong
    }
}

fn of_kind((found, data): (Kind, Vec<u8>), kind: Kind) -> Result<Vec<u8>, ObjectProblem> {
    if found == kind {
        Ok(data)
    } else {
        Err(ObjectProblem::Corrupt(format!("it is a {found}, not a {kind}")))
    }
}

impl StrictPack {
    /// `None` for an index that cannot be used, whose objects are then missing.
    fn open(path: &Path, hash: gix::hash::Kind) -> Option<Self> {
        let index = index::File::at(path, hash).ok()?;
        let mut pack = Self {
            path: path.to_owned(),
            index,
            data: None,
            offsets: Vec::new(),
            ends: HashMap::new(),
            fault: None,
        };
        match data::File::at(path.with_extension("pack"), hash) {
            Ok(data) => {
                if data.num_objects() != pack.index.num_objects() {
                    pack.fault = Some("its pack has another number of objects than the index says".to_owned());
                } else if data.checksum() != pack.index.pack_checksum() {
                    pack.fault = Some("its pack is not the one that the index is of".to_owned());
                }
                pack.data = Some(data);
            }
            Err(_) => pack.fault = Some("its pack cannot be read".to_owned()),
        }
        match offsets::read(path, hash) {
            Ok(EntryOffsets::Known(offsets)) => pack.offsets = offsets,
            Ok(EntryOffsets::OldIndex) => {
                let all = 0..pack.index.num_objects();
                pack.offsets = all.map(|at| pack.index.pack_offset_at_index(at)).collect();
            }
            Ok(EntryOffsets::Damaged) => pack.fault = Some(DAMAGED_INDEX.to_owned()),
            Err(_) => return None,
        }
        Some(pack)
    }

    /// Whether the entry is what the index has.
    fn check(&mut self, at: u32) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let Some(data) = &self.data else { return Ok(()) };
        if self.ends.is_empty() {
            let mut offsets = self.offsets.clone();
            offsets.sort_unstable();
            let ends = offsets.iter().skip(1).copied().chain([data.pack_end() as u64]);
            self.ends = offsets.iter().copied().zip(ends).collect();
        }
        let wrong = || DAMAGED_INDEX.to_owned();
        let start = *self.offsets.get(at as usize).ok_or_else(wrong)?;
        let end = *self.ends.get(&start).ok_or_else(wrong)?;
        if start < 12 || end <= start || end > data.pack_end() as u64 {
            return Err(wrong());
        }
        let size = usize::try_from(end - start).map_err(|_| wrong())?;
        match self.index.crc32_at_index(at) {
            Some(crc32) if crc32 != data.entry_crc32(start, size) => {
                Err("its bytes in the pack are not what the index says".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// The indexes in a directory of packs.
pub(super) fn indexes(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "idx"))
        .collect();
    paths.sort_unstable();
    paths
}

/// Whether a file ends with the hash of all that precedes.
fn sum(path: &Path, hash: gix::hash::Kind) -> io::Result<bool> {
    let mut file = os::open_regular(path)?;
    let width = hash.len_in_bytes();
    let Some(mut left) = file.metadata()?.len().checked_sub(width as u64) else {
        return Ok(false);
    };
    let mut hasher = gix::hash::hasher(hash);
    let mut buffer = vec![0; CHUNK];
    while left > 0 {
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = read_some(&mut file, &mut buffer[..wanted])?;
        if count == 0 {
            return Ok(false);
        }
        hasher.update(&buffer[..count]);
        left -= count as u64;
    }
    let mut found = vec![0; width];
    io::Read::read_exact(&mut file, &mut found)?;
    Ok(hasher.try_finalize().is_ok_and(|sum| sum.as_slice() == found))
}
