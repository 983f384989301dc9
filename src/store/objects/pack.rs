//! The pack format, as far as packs without deltas go: entry headers and the index, both version 2.
//!
//! Described in git's `gitformat-pack`. The rest of such a pack is the 12 bytes of the head and a checksum at the end.

use gix::ObjectId;
use gix::objs::Kind;

/// Entry of a pack index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexEntry {
    /// The object.
    pub id: ObjectId,
    /// The checksum over the entry as it lies in the pack.
    pub crc32: u32,
    /// Where it begins.
    pub offset: u64,
}

/// The head of a pack with `count` entries: signature, version, number of entries.
pub(super) fn head(count: u32) -> [u8; 12] {
    let mut bytes = *b"PACK\0\0\0\x02\0\0\0\0";
    bytes[8..].copy_from_slice(&count.to_be_bytes());
    bytes
}

/// The header of an entry: type and inflated size, seven bits a byte after the first four.
pub(super) fn entry_header(kind: Kind, size: u64, out: &mut Vec<u8>) {
    let code: u8 = match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    let mut byte = (code << 4) | (size & 0x0f) as u8;
    let mut rest = size >> 4;
    while rest != 0 {
        out.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    out.push(byte);
}

/// Kind, inflated size and header length of the entry at the start of `bytes`; `None` for a delta or nonsense.
pub(super) fn parse_entry_header(bytes: &[u8]) -> Option<(Kind, u64, usize)> {
    let mut byte = *bytes.first()?;
    let kind = match (byte >> 4) & 7 {
        1 => Kind::Commit,
        2 => Kind::Tree,
        3 => Kind::Blob,
        4 => Kind::Tag,
        _ => return None,
    };
    let mut size = u64::from(byte & 0x0f);
    let mut shift = 4;
    let mut length = 1;
    while byte & 0x80 != 0 {
        byte = *bytes.get(length)?;
        size |= u64::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        length += 1;
    }
    Some((kind, size, length))
}

/// The index of a pack with these entries and this checksum, less the index's own checksum, which the caller appends.
/// Entries are sorted by id in place.
pub(super) fn index(entries: &mut [IndexEntry], pack_checksum: &ObjectId) -> Vec<u8> {
    entries.sort_unstable_by_key(|entry| entry.id);
    let width = pack_checksum.as_slice().len();
    let mut out = Vec::with_capacity(8 + 1024 + entries.len() * (width + 8) + 2 * width);
    out.extend_from_slice(b"\xfftOc\0\0\0\x02");
    let mut counted = 0;
    for first in 0..=255_u8 {
        counted += entries[counted..]
            .iter()
            .take_while(|entry| entry.id.as_slice()[0] == first)
            .count();
        out.extend_from_slice(&word(counted));
    }
    for entry in entries.iter() {
        out.extend_from_slice(entry.id.as_slice());
    }
    for entry in entries.iter() {
        out.extend_from_slice(&entry.crc32.to_be_bytes());
    }
    // Offsets of 31 bits are in the first table; the highest bit leads to a second one with 64 bits.
    let mut large = Vec::new();
    for entry in entries.iter() {
        match u32::try_from(entry.offset) {
            Ok(offset) if offset < 0x8000_0000 => out.extend_from_slice(&offset.to_be_bytes()),
            _ => {
                let position = word(large.len() / 8);
                out.extend_from_slice(&[position[0] | 0x80, position[1], position[2], position[3]]);
                large.extend_from_slice(&entry.offset.to_be_bytes());
            }
        }
    }
    out.extend_from_slice(&large);
    out.extend_from_slice(pack_checksum.as_slice());
    out
}

/// A count as the index stores it. A pack cannot hold 2^32 entries: its head would not say so, see [`head`].
fn word(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_headers_read_back() {
        for kind in [Kind::Commit, Kind::Tree, Kind::Blob, Kind::Tag] {
            for size in [0, 1, 15, 16, 2047, 2048, u64::from(u32::MAX) + 1, u64::MAX >> 1] {
                let mut bytes = Vec::new();
                entry_header(kind, size, &mut bytes);
                assert_eq!(parse_entry_header(&bytes), Some((kind, size, bytes.len())));
            }
        }
        assert_eq!(parse_entry_header(&[0x60]), None, "a delta");
        assert_eq!(parse_entry_header(&[0x90]), None, "cut off");
        assert_eq!(parse_entry_header(&[0xff; 40]), None, "a delta that never ends");
        assert_eq!(
            parse_entry_header(&[[0x9f_u8].as_slice(), &[0xff; 40]].concat()),
            None,
            "a size that never ends"
        );
    }

    #[test]
    fn large_offsets_take_the_second_table() {
        let id = |byte: u8| ObjectId::from_bytes_or_panic(&[byte; 20]);
        let mut entries =
            [(9, 0x7fff_ffff), (3, 0x8000_0000), (200, 5_000_000_000), (1, 12)].map(|(byte, offset)| IndexEntry {
                id: id(byte),
                crc32: u32::from(byte),
                offset,
            });
        let mut bytes = index(&mut entries, &id(7));
        bytes.extend_from_slice(&[0; 20]);
        let file =
            gix::odb::pack::index::File::from_data(bytes, "x.idx".into(), gix::hash::Kind::Sha1).expect("an index");
        for (byte, offset) in [(9, 0x7fff_ffff), (3, 0x8000_0000), (200, 5_000_000_000), (1, 12)] {
            let at = file.lookup(id(byte)).expect("listed");
            assert_eq!(file.pack_offset_at_index(at), offset);
            assert_eq!(file.crc32_at_index(at), Some(u32::from(byte)));
        }
        assert!(file.lookup(id(2)).is_none());
    }
}
