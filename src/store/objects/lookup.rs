//! An object looked up in the index of a pack, which is read piece by piece.
//!
//! gix maps the whole index and goes through all its offsets once, which in a large repository takes longer than all that
//! a short command does. It decides nothing: what is not found or damaged is for gix to find, or to say what is wrong.
//!
//! Only indexes of version 2: of version 1, which no git has written since 2007, nothing is found here.

use std::ops::Range;
use std::path::{Path, PathBuf};

use gix::hash::oid;

use super::blocks::Blocks;

/// Signature, version and the table of counts.
const HEAD: usize = 8 + 1024;
/// Bytes of the longest ids that git has.
const WIDEST: usize = 32;
/// Ids that are read at once, around the place where the one wanted should be: ids are evenly spread, so that among the
/// some hundred that begin with the same byte it is hardly ever further off.
const AT_ONCE: u32 = 32;
/// Ids that are read at once where all are gone through.
const RUN: u32 = 256;
/// With more listed ids for each wanted one, to look for each takes less time than to go through all.
const FEW: usize = 16;

/// The index of a pack.
pub(super) struct PackIndex {
    number: usize,
    path: PathBuf,
    width: usize,
    length: u64,
    /// For each first byte how many ids begin with it or a lower one.
    counts: Vec<u32>,
}

impl PackIndex {
    /// Reads its head. `None` when it cannot be read, is of another version or shorter than what it says.
    pub(super) fn open(blocks: &mut Blocks, number: usize, path: &Path, hash: gix::hash::Kind) -> Option<Self> {
        let mut head = [0; HEAD];
        if blocks.fill(number, path, 0, &mut head) < head.len() || head[..8] != *b"\xfftOc\0\0\0\x02" {
            return None;
        }
        let words = head[8..].chunks_exact(4);
        let counts: Vec<u32> = words
            .map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        let index = Self {
            number,
            path: path.to_owned(),
            width: hash.len_in_bytes(),
            length: blocks.length(number, path)?,
            counts,
        };
        let wide = index.wide_offsets();
        (index.counts.is_sorted() && wide.start <= wide.end).then_some(index)
    }

    /// How many objects it lists.
    pub(super) fn count(&self) -> u32 {
        self.counts[255]
    }

    /// Where in the pack its `at`th object is.
    pub(super) fn offset(&self, blocks: &mut Blocks, at: u32) -> Option<u64> {
        let offset = self.word(blocks, self.offsets() + u64::from(at) * 4)?;
        if offset & 0x8000_0000 == 0 {
            return Some(u64::from(offset));
        }
        let wide = self.wide_offsets();
        let at = wide.start + u64::from(offset & 0x7fff_ffff) * 8;
        if at + 8 > wide.end {
            return None;
        }
        let high = self.word(blocks, at)?;
        Some(u64::from(high) << 32 | u64::from(self.word(blocks, at + 4)?))
    }

    /// Where the table of offsets begins, behind the ids and their checksums.
    fn offsets(&self) -> u64 {
        HEAD as u64 + u64::from(self.count()) * (self.width as u64 + 4)
    }

    /// Where the table of offsets beyond 31 bits lies, before the checksums of pack and index.
    fn wide_offsets(&self) -> Range<u64> {
        let start = self.offsets() + u64::from(self.count()) * 4;
        start..self.length.saturating_sub(2 * self.width as u64)
    }

    /// Where in the pack the object is; `None` if it is not listed.
    pub(super) fn find(&self, blocks: &mut Blocks, id: &oid) -> Option<u64> {
        let bytes = id.as_bytes();
        let first = usize::from(bytes[0]);
        let mut low = if first == 0 { 0 } else { self.counts[first - 1] };
        let mut high = self.counts[first];
        // Mostly, where there are many packs.
        if low == high {
            return None;
        }
        let part = u64::from(u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]));
        // Less than `high`, as `part` is less than 2^32.
        let mut guess = low + u32::try_from((u64::from(high - low) * part) >> 32).ok()?;
        let mut ids = [0; AT_ONCE as usize * WIDEST];
        while low < high {
            let start = guess.saturating_sub(AT_ONCE / 2).max(low);
            let end = start.saturating_add(AT_ONCE).min(high);
            let ids = self.ids(blocks, start..end, &mut ids)?;
            if bytes < &ids[..self.width] {
                high = start;
            } else if bytes > &ids[ids.len() - self.width..] {
                low = end;
            } else {
                let mut listed = ids.chunks_exact(self.width).zip(start..);
                let (_, at) = listed.find(|(listed, _)| *listed == bytes)?;
                return self.offset(blocks, at);
            }
            guess = low + (high - low) / 2;
        }
        None
    }

    /// Looks for all of these ids, which are sorted: `found` gets the place of each among them, and where in the pack it is.
    pub(super) fn find_all(&self, blocks: &mut Blocks, sorted: &[&oid], mut found: impl FnMut(usize, u64)) {
        if self.count() as usize / FEW > sorted.len() {
            for (at, id) in sorted.iter().enumerate() {
                if let Some(offset) = self.find(blocks, id) {
                    found(at, offset);
                }
            }
            return;
        }
        let mut buffer = [0; RUN as usize * WIDEST];
        let (mut next, mut start) = (0, 0);
        while start < self.count() && next < sorted.len() {
            let end = start.saturating_add(RUN).min(self.count());
            let Some(ids) = self.ids(blocks, start..end, &mut buffer) else {
                return;
            };
            for (id, at) in ids.chunks_exact(self.width).zip(start..) {
                next += count_below(&sorted[next..], id);
                // One may be wanted more than once.
                while sorted.get(next).is_some_and(|wanted| wanted.as_bytes() == id) {
                    if let Some(offset) = self.offset(blocks, at) {
                        found(next, offset);
                    }
                    next += 1;
                }
            }
            start = end;
        }
    }

    /// The ids at some places, one after the other.
    fn ids<'b>(&self, blocks: &mut Blocks, places: Range<u32>, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        let ids = buffer.get_mut(..(places.end - places.start) as usize * self.width)?;
        let offset = HEAD as u64 + u64::from(places.start) * self.width as u64;
        let is_whole = blocks.fill(self.number, &self.path, offset, ids) == ids.len();
        is_whole.then_some(&*ids)
    }

    fn word(&self, blocks: &mut Blocks, offset: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        let is_whole = blocks.fill(self.number, &self.path, offset, &mut bytes) == bytes.len();
        is_whole.then(|| u32::from_be_bytes(bytes))
    }
}

/// How many of these sorted ids are below one. In steps that double: mostly there is none, or it is not far.
fn count_below(sorted: &[&oid], id: &[u8]) -> usize {
    let (mut low, mut step) = (0, 1);
    while sorted.get(step - 1).is_some_and(|wanted| wanted.as_bytes() < id) {
        (low, step) = (step, step * 2);
    }
    let high = step.min(sorted.len());
    low + sorted[low..high].partition_point(|wanted| wanted.as_bytes() < id)
}

#[cfg(test)]
mod tests {
    use gix::ObjectId;

    use super::super::pack::{self, IndexEntry};
    use super::*;

    /// An index of ids with offsets, its own checksum apart.
    fn written(listed: &[(ObjectId, u64)]) -> Vec<u8> {
        let entries = listed.iter().map(|(id, offset)| IndexEntry {
            id: *id,
            crc32: 0,
            offset: *offset,
        });
        let mut bytes = pack::index(&mut entries.collect::<Vec<_>>(), &id(7));
        bytes.extend([0; 20]);
        bytes
    }

    fn id(n: u64) -> ObjectId {
        gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, &n.to_be_bytes()).expect("hashed")
    }

    /// An index of these bytes, and what it is read with.
    fn open(path: &Path, bytes: &[u8]) -> (Blocks, Option<PackIndex>) {
        std::fs::write(path, bytes).expect("written");
        let mut blocks = Blocks::new();
        let index = PackIndex::open(&mut blocks, 0, path, gix::hash::Kind::Sha1);
        (blocks, index)
    }

    #[test]
    fn ids_are_found_wherever_they_stand() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("idx");
        let far = |n: u64| if n.is_multiple_of(5) { n << 31 } else { n * 3 + 12 };
        // Spread as hashes are, and all with one beginning, where no guess is right.
        let spread: Vec<_> = (0..20_000).map(|n| (id(n), far(n))).collect();
        let crowded = |n: u64| {
            let mut bytes = [7; 20];
            bytes[if n.is_multiple_of(2) { 18 } else { 3 }] = n.to_le_bytes()[0];
            bytes[19] = n.to_le_bytes()[1];
            ObjectId::from(bytes)
        };
        let crowded: std::collections::BTreeMap<_, _> = (0..3000).map(|n| (crowded(n), far(n))).collect();
        let ends = [[0; 20], [255; 20]].map(|bytes| (ObjectId::from(bytes), 12));
        for listed in [
            spread,
            crowded.into_iter().collect(),
            ends.to_vec(),
            Vec::new(),
            vec![(id(1), 12)],
        ] {
            let (mut blocks, index) = open(&path, &written(&listed));
            let index = index.expect("an index");
            assert_eq!(index.count() as usize, listed.len());
            for (id, offset) in &listed {
                assert_eq!(index.find(&mut blocks, id), Some(*offset), "{id}");
            }
            let mut sorted = listed.clone();
            sorted.sort();
            for (at, (_, offset)) in (0..).zip(&sorted) {
                assert_eq!(index.offset(&mut blocks, at), Some(*offset));
            }
            // All, some of them twice, with others among them; and few of many.
            let others = (20_000..20_500).map(id);
            let many: Vec<ObjectId> = listed.iter().map(|(id, _)| *id).chain(others).collect();
            let twice: Vec<ObjectId> = many.iter().chain(many.iter().step_by(3)).copied().collect();
            for wanted in [twice, many.into_iter().step_by(97).collect(), Vec::new()] {
                let mut wanted: Vec<&oid> = wanted.iter().map(AsRef::as_ref).collect();
                wanted.sort();
                let mut found = vec![None; wanted.len()];
                index.find_all(&mut blocks, &wanted, |at, offset| found[at] = Some(offset));
                let one_by_one: Vec<_> = wanted.iter().map(|id| index.find(&mut blocks, id)).collect();
                assert_eq!(found, one_by_one);
            }
            for n in 20_000..21_000 {
                assert_eq!(index.find(&mut blocks, &id(n)), None);
            }
            for bytes in [[0; 20], [7; 20], [255; 20]].map(ObjectId::from) {
                let wanted = listed.iter().find(|(id, _)| *id == bytes).map(|(_, offset)| *offset);
                assert_eq!(index.find(&mut blocks, &bytes), wanted);
            }
        }
    }

    #[test]
    fn an_index_that_is_none_or_cut_off_leads_nowhere() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("idx");
        let listed: Vec<_> = (0..300).map(|n| (id(n), n << 30)).collect();
        let bytes = written(&listed);
        let least = HEAD + 28 * listed.len() + 40;
        for length in (0..bytes.len() - 40).step_by(13).chain([HEAD, least - 1, least]) {
            let (mut blocks, index) = open(&path, &bytes[..length]);
            assert_eq!(index.is_some(), length >= least, "{length}");
            for (id, offset) in &listed {
                let found = index.as_ref().and_then(|index| index.find(&mut blocks, id));
                assert!(found.is_none_or(|found| found == *offset));
            }
        }
        let with = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            assert_ne!(bytes[at], byte);
            bytes[at] = byte;
            open(&path, &bytes)
        };
        for (place, byte) in bytes[..8].iter().enumerate() {
            assert!(with(place, byte ^ 1).1.is_none(), "no index of version 2");
        }
        assert!(with(HEAD - 4, 1).1.is_none(), "more than the file holds");
        assert!(with(8, 1).1.is_none(), "counts that fall");
        // An offset that leads beyond the table of large ones.
        let mut sorted = listed.clone();
        sorted.sort();
        let large = sorted.iter().position(|(_, offset)| *offset >= 1 << 31).expect("one");
        let (mut blocks, index) = with(HEAD + 24 * listed.len() + 4 * large + 1, 0xff);
        let index = index.expect("an index");
        assert_eq!(index.find(&mut blocks, &sorted[large].0), None);
        let others = sorted.iter().filter(|other| *other != &sorted[large]);
        for (id, offset) in others {
            assert_eq!(index.find(&mut blocks, id), Some(*offset));
        }
    }
}
