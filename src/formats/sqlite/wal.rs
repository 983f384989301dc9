//! The write-ahead log: pages that are newer than those in the database. SQLite reads a log only from a file.
//!
//! Layouts and checksums are those of the published description of the file format.

use std::collections::BTreeMap;

const HEADER: usize = 32;
const FRAME: usize = 24;
/// Bytes of the smallest page.
pub(super) const LEAST_PAGE: usize = 512;

/// Puts the latest committed version of each page in its place in `database`. A log that is not one, is of another page
/// size, or whose checksums are wrong from some frame on counts up to there, as SQLite itself takes it.
pub(super) fn apply(database: &mut Vec<u8>, log: &[u8]) {
    let page_size = page_size(database);
    let Some((pages, count)) = pages(log, page_size) else {
        return;
    };
    // Pages that are neither in the file nor in the log do not exist: the log cannot make the copy longer than both.
    let longest = database.len() + log.len();
    let size = usize::try_from(count).map_or(longest, |count| count.saturating_mul(page_size).min(longest));
    database.resize(size, 0);
    for (number, page) in pages {
        let start = usize::try_from(number).map(|n| n.saturating_sub(1).saturating_mul(page_size));
        if let Some(place) = start
            .ok()
            .and_then(|start| database.get_mut(start..start.saturating_add(page_size)))
        {
            place.copy_from_slice(page);
        }
    }
}

/// Bytes of a page, as in the header; 0 without a header.
pub(super) fn page_size(database: &[u8]) -> usize {
    match database.get(16..18) {
        Some([0, 1]) => 65_536,
        Some(&[high, low]) => usize::from(u16::from_be_bytes([high, low])),
        _ => 0,
    }
}

/// The committed pages by their number, and the count of the database's pages after the last commit; `None` without one.
fn pages(log: &[u8], page_size: usize) -> Option<(BTreeMap<u32, &[u8]>, u32)> {
    let little = match be32(log, 0)? {
        0x377f_0682 => true,
        0x377f_0683 => false,
        _ => return None,
    };
    if usize::try_from(be32(log, 8)?).ok()? != page_size || page_size < LEAST_PAGE {
        return None;
    }
    let salt = log.get(16..24)?;
    let mut sum = checksum(&log[..24], (0, 0), little);
    if sum != (be32(log, 24)?, be32(log, 28)?) {
        return None;
    }
    let (mut committed, mut open, mut count) = (BTreeMap::new(), BTreeMap::new(), None);
    for frame in log[HEADER..].chunks_exact(FRAME + page_size) {
        let (head, page) = frame.split_at(FRAME);
        sum = checksum(page, checksum(&head[..8], sum, little), little);
        if &head[8..16] != salt || Some(sum) != be32(head, 16).zip(be32(head, 20)) {
            break;
        }
        open.insert(be32(head, 0)?, page);
        // The size of the database after a commit; 0 inside of one.
        let after = be32(head, 4)?;
        if after != 0 {
            committed.append(&mut open);
            count = Some(after);
        }
    }
    Some((committed, count?))
}

pub(super) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
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
