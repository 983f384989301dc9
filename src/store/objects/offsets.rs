//! Where the entries of a pack begin, from its index: read here because gix panics when an index leads beyond its own
//! end or that of its pack, as one does in which a bit has flipped.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::os;

/// Signature, version and the table of counts.
const HEAD: usize = 8 + 1024;

/// Offsets of the entries of a pack.
pub(super) enum EntryOffsets {
    /// In the order of the index.
    Known(Vec<u64>),
    /// The index has version 1, which no git has written since 2007.
    OldIndex,
    /// The index cannot be right.
    Damaged,
}

/// The offsets in an index; an error if that cannot be read.
pub(super) fn read(path: &Path, hash: gix::hash::Kind) -> io::Result<EntryOffsets> {
    let mut file = os::open_regular(path)?;
    let length = file.metadata()?.len();
    let pack = fs::metadata(path.with_extension("pack"))?.len();
    let width = hash.len_in_bytes() as u64;
    let mut head = vec![0; HEAD];
    if length < HEAD as u64 {
        return Ok(EntryOffsets::Damaged);
    }
    file.read_exact(&mut head)?;
    if head[..8] != *b"\xfftOc\0\0\0\x02" {
        return Ok(EntryOffsets::OldIndex);
    }
    let word = |bytes: &[u8]| u64::from(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    let count = word(&head[HEAD - 4..]);
    let table = HEAD as u64 + count * (width + 4);
    let large = table + count * 4;
    let Some(rest) = length.checked_sub(large + 2 * width) else {
        return Ok(EntryOffsets::Damaged);
    };
    let mut bytes = vec![0; usize::try_from(count * 4 + rest).map_err(io::Error::other)?];
    file.seek(SeekFrom::Start(table))?;
    file.read_exact(&mut bytes)?;
    let (small, large) = bytes.split_at(usize::try_from(count * 4).map_err(io::Error::other)?);
    let mut offsets = Vec::with_capacity(small.len() / 4);
    for entry in small.chunks_exact(4) {
        let mut offset = word(entry);
        if offset & 0x8000_0000 != 0 {
            let at = usize::try_from(offset & 0x7fff_ffff)
                .unwrap_or(usize::MAX)
                .saturating_mul(8);
            let Some(wide) = large.get(at..at.saturating_add(8)) else {
                return Ok(EntryOffsets::Damaged);
            };
            offset = word(wide) << 32 | word(&wide[4..]);
        }
        if offset < 12 || offset.saturating_add(width) >= pack {
            return Ok(EntryOffsets::Damaged);
        }
        offsets.push(offset);
    }
    Ok(EntryOffsets::Known(offsets))
}
