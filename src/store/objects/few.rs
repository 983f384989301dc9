//! The index of a pack, read where it is needed: for looking for a few objects.
//!
//! gix maps the whole index and goes through all its offsets once, which in a large repository takes longer than all that
//! a short command does. Here the table of counts is read, the ids that begin with the same byte, and one offset. It
//! decides nothing: what is not found or damaged is for gix to find, or to say what is wrong.

use std::cmp::Ordering;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use gix::ObjectId;

use crate::os;

/// Signature, version and the table of counts.
const HEAD: usize = 8 + 1024;

/// An index no longer than this is read as a whole.
const SHORT: u64 = 16 * 1024;

/// Fewer ids than this are read at once.
const ROWS: u64 = 128;

/// An index of version 2.
pub(super) struct Few {
    /// The beginning of it, at least the table of counts.
    head: Vec<u8>,
    /// The rest, where there is any.
    file: File,
    length: u64,
    width: u64,
}

impl Few {
    /// Opens the index at `path`. One of another version, or whose length does not fit what it says, is an error.
    pub(super) fn open(path: &Path, hash: gix::hash::Kind) -> io::Result<Self> {
        let (file, length) = os::open_regular_sized(path)?;
        let width = hash.len_in_bytes() as u64;
        let read = if length <= SHORT { length } else { HEAD as u64 };
        let mut head = vec![0; usize::try_from(read).map_err(io::Error::other)?];
        os::read_exact_at(&file, &mut head, 0)?;
        let few = Self {
            head,
            file,
            length,
            width,
        };
        let is_one = few.head.len() >= HEAD && few.head.starts_with(b"\xfftOc\0\0\0\x02");
        if is_one && few.wide_offsets().start + 2 * width <= length {
            Ok(few)
        } else {
            Err(io::ErrorKind::InvalidData.into())
        }
    }

    /// Where the object begins in the pack; `None` if it is not found.
    pub(super) fn offset(&self, id: &ObjectId) -> Option<u64> {
        let row = self.row(id.as_slice()).ok()??;
        let small = u64::from(self.word(self.offsets() + row * 4).ok()?);
        if small & 0x8000_0000 == 0 {
            return Some(small);
        }
        let wide = self.wide_offsets();
        let at = wide.start + (small & 0x7fff_ffff) * 8;
        if at + 8 > wide.end {
            return None;
        }
        let halves = (self.word(at).ok()?, self.word(at + 4).ok()?);
        Some(u64::from(halves.0) << 32 | u64::from(halves.1))
    }

    /// The place of an id among all.
    fn row(&self, id: &[u8]) -> io::Result<Option<u64>> {
        let first = usize::from(id[0]);
        let mut rows = match first.checked_sub(1) {
            Some(before) => self.counted(before),
            None => 0,
        }..self.counted(first);
        if rows.start > rows.end || rows.end > self.count() {
            return Ok(None);
        }
        while rows.end - rows.start > ROWS {
            let middle = rows.start + (rows.end - rows.start) / 2;
            match id.cmp(&self.ids(middle..middle + 1)?) {
                Ordering::Less => rows.end = middle,
                Ordering::Equal => return Ok(Some(middle)),
                Ordering::Greater => rows.start = middle + 1,
            }
        }
        let ids = self.ids(rows.clone())?;
        let place = ids.chunks_exact(id.len()).position(|other| other == id);
        Ok(place.map(|place| rows.start + place as u64))
    }

    /// How many ids begin with this byte or a smaller one.
    fn counted(&self, byte: usize) -> u64 {
        let at = 8 + byte * 4;
        let word = self.head[at..at + 4]
            .try_into()
            .expect("four bytes of a table that was read");
        u64::from(u32::from_be_bytes(word))
    }

    fn count(&self) -> u64 {
        self.counted(255)
    }

    /// Where the table of offsets begins, behind the ids and their checksums.
    fn offsets(&self) -> u64 {
        HEAD as u64 + self.count() * (self.width + 4)
    }

    /// Where the table of offsets beyond 31 bits lies, before the checksums of pack and index.
    fn wide_offsets(&self) -> Range<u64> {
        self.offsets() + self.count() * 4..self.length.saturating_sub(2 * self.width)
    }

    fn ids(&self, rows: Range<u64>) -> io::Result<Vec<u8>> {
        let length = usize::try_from((rows.end - rows.start) * self.width).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        self.read(&mut bytes, HEAD as u64 + rows.start * self.width)?;
        Ok(bytes)
    }

    fn word(&self, at: u64) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.read(&mut bytes, at)?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let start = usize::try_from(at).map_err(io::Error::other)?;
        match self.head.get(start..start.saturating_add(bytes.len())) {
            Some(read) => {
                bytes.copy_from_slice(read);
                Ok(())
            }
            None => os::read_exact_at(&self.file, bytes, at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pack::{self, Entry};
    use super::*;

    /// An id whose first byte is `first`, the others made from `n`.
    fn id(first: u8, n: u32) -> ObjectId {
        let mut bytes = [first; 20];
        bytes[16..].copy_from_slice(&n.wrapping_mul(2_654_435_761).to_be_bytes());
        ObjectId::from_bytes_or_panic(&bytes)
    }

    fn written(ids: &[ObjectId]) -> (Vec<Entry>, Vec<u8>) {
        let offset = |n: usize| {
            if n % 7 == 3 {
                5_000_000_000 + n as u64
            } else {
                12 + n as u64
            }
        };
        let entries = ids.iter().enumerate().map(|(n, id)| Entry {
            id: *id,
            crc32: 0,
            offset: offset(n),
        });
        let mut entries: Vec<_> = entries.collect();
        let mut bytes = pack::index(&mut entries, &id(7, 7));
        bytes.extend_from_slice(&[0; 20]);
        (entries, bytes)
    }

    fn open(bytes: &[u8]) -> io::Result<Few> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("x.idx");
        std::fs::write(&path, bytes)?;
        Few::open(&path, gix::hash::Kind::Sha1)
    }

    #[test]
    fn finds_what_is_listed_and_nothing_else() {
        // Short, long, and long with most ids in one place.
        let few = [id(0, 1), id(0, 2), id(255, 1), id(9, 3)];
        let many: Vec<_> = (0..3000_u32).map(|n| id(n.to_le_bytes()[0], n)).collect();
        let close: Vec<_> = (0..3000).map(|n| id(if n % 50 == 0 { 200 } else { 60 }, n)).collect();
        for ids in [&few[..], &many[..], &close[..], &[]] {
            let (entries, bytes) = written(ids);
            let index = open(&bytes).expect("an index");
            for entry in &entries {
                assert_eq!(index.offset(&entry.id), Some(entry.offset));
            }
            for missing in [id(0, 9_999), id(60, 50_000), id(61, 4), id(255, 9_999), id(200, 1)] {
                let listed = entries.iter().any(|entry| entry.id == missing);
                assert!(listed || index.offset(&missing).is_none(), "{missing}");
            }
        }
    }

    #[test]
    fn damage_finds_nothing() {
        let ids: Vec<_> = (0..3000_u32).map(|n| id(n.to_le_bytes()[0] % 3, n)).collect();
        let (entries, bytes) = written(&ids);
        for length in [0, 7, 8, HEAD - 1, HEAD, HEAD + 20 * 3000, HEAD + 28 * 3000 + 39] {
            assert!(open(&bytes[..length]).is_err(), "cut off at {length}");
        }
        let with = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            open(&bytes)
        };
        assert!(with(3, 0).is_err(), "version 1");
        assert!(with(7, 3).is_err(), "version 3");
        assert!(with(HEAD - 4, 1).is_err(), "more than the file holds");
        // Counts that fall, and counts beyond all that there are.
        for (at, byte) in [(8, 1), (8 + 4, 0xff)] {
            let index = with(at, byte).expect("an index");
            let found = entries
                .iter()
                .filter_map(|entry| Some((index.offset(&entry.id)?, entry.offset)));
            assert!(found.clone().all(|(found, is)| found == is));
            assert!(found.count() < entries.len());
        }
        // An offset that leads beyond the table of large ones.
        let large = entries
            .iter()
            .position(|entry| entry.offset > 0x8000_0000)
            .expect("one");
        let index = with(HEAD + 24 * 3000 + 4 * large + 1, 0xff).expect("an index");
        assert_eq!(index.offset(&entries[large].id), None);
    }
}
