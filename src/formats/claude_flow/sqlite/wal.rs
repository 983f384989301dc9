//! The write-ahead log: pages that are newer than those in the database.

use std::collections::BTreeMap;

use super::be32;

const HEADER: usize = 32;
const FRAME: usize = 24;

/// The latest committed version of each page. A log that is not one, is of another page size, or whose check sums are
/// wrong from some frame on gives what was committed before that, as SQLite itself takes it.
pub(super) fn pages(log: &[u8], page_size: usize) -> BTreeMap<u32, &[u8]> {
    read(log, page_size).unwrap_or_default()
}

fn read(log: &[u8], page_size: usize) -> Option<BTreeMap<u32, &[u8]>> {
    let little = match be32(log, 0)? {
        0x377f_0682 => true,
        0x377f_0683 => false,
        _ => return None,
    };
    if usize::try_from(be32(log, 8)?).ok()? != page_size {
        return None;
    }
    let salt = log.get(16..24)?;
    let mut sum = checksum(&log[..24], (0, 0), little);
    if sum != (be32(log, 24)?, be32(log, 28)?) {
        return None;
    }
    let (mut committed, mut open) = (BTreeMap::new(), BTreeMap::new());
    for frame in log[HEADER..].chunks_exact(FRAME + page_size) {
        let (head, page) = frame.split_at(FRAME);
        sum = checksum(page, checksum(&head[..8], sum, little), little);
        if &head[8..16] != salt || Some(sum) != be32(head, 16).zip(be32(head, 20)) {
            break;
        }
        open.insert(be32(head, 0)?, page);
        // The size of the database after a commit; 0 inside of one.
        if be32(head, 4)? != 0 {
            committed.append(&mut open);
        }
    }
    Some(committed)
}

fn checksum(bytes: &[u8], start: (u32, u32), little: bool) -> (u32, u32) {
    let word = |bytes: &[u8]| {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if little {
            u32::from_le_bytes(bytes)
        } else {
            u32::from_be_bytes(bytes)
        }
    };
    bytes.chunks_exact(8).fold(start, |(one, two), pair| {
        let one = one.wrapping_add(word(&pair[..4])).wrapping_add(two);
        (one, two.wrapping_add(word(&pair[4..])).wrapping_add(one))
    })
}
