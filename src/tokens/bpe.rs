//! A vocabulary, and merging the bytes of a piece into its tokens.
//!
//! The data is every token in the order of its rank, a length byte before each, and a hash table of where they are,
//! made with the data: nothing is built when a program starts, and only those parts of both are read that a text needs.
//! A token is known by where it is in the data, which grows with its rank. Of all pairs of neighbors the one with the
//! lowest rank is merged first, of equal ones the leftmost, until none is a token.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The place of what is no token.
const NONE: u32 = u32::MAX;
/// Bits of a slot that hold a place plus one; the others hold bits of the hash. `scripts/token-tables.py` has it too.
const PLACE_BITS: u32 = 21;
/// Pieces up to this length are merged by looking at all pairs each time, which is faster for few.
const SHORT: usize = 96;

/// A vocabulary ready for counting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vocabulary {
    data: &'static [u8],
    /// Open addressing, little-endian, as many as a power of two; 0 is free.
    slots: &'static [[u8; 4]],
}

impl Vocabulary {
    pub(super) const fn new(data: &'static [u8], slots: &'static [u8]) -> Self {
        let slots = slots.as_chunks::<4>().0;
        assert!(slots.len().is_power_of_two() && data.len() < 1 << PLACE_BITS);
        Self { data, slots }
    }

    fn token(&self, place: u32) -> &'static [u8] {
        let at = place as usize;
        &self.data[at + 1..=at + usize::from(self.data[at])]
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "the highest bits of the hash, as many as there are slots"
    )]
    fn home(&self, hash: u64) -> usize {
        (hash >> (64 - self.slots.len().trailing_zeros())) as usize
    }

    /// Where the token of these bytes is, which orders tokens as their ranks do.
    fn rank(&self, bytes: &[u8]) -> u32 {
        let hash = hash(bytes);
        let mut slot = self.home(hash);
        loop {
            let found = u32::from_le_bytes(self.slots[slot]);
            if found == 0 {
                return NONE;
            }
            let place = (found & ((1 << PLACE_BITS) - 1)) - 1;
            if found & !((1 << PLACE_BITS) - 1) == tag(hash) && self.token(place) == bytes {
                return place;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// The number of tokens of a piece. The merger has seen pieces of this vocabulary only.
    pub(super) fn count(&self, piece: &[u8], merger: &mut Merger) -> u64 {
        if piece.len() < 2 {
            return 1;
        }
        let Some(short) = ShortPiece::of(piece) else {
            return self.count_uncached(piece, merger);
        };
        if let Some(count) = merger.recent.get(short) {
            return count;
        }
        let count = self.count_uncached(piece, merger);
        merger.recent.set(short, count);
        count
    }

    fn count_uncached(&self, piece: &[u8], merger: &mut Merger) -> u64 {
        if self.rank(piece) != NONE {
            return 1;
        }
        if piece.len() <= SHORT {
            self.merge_short(piece, merger)
        } else {
            self.merge_long(piece)
        }
    }

    pub(super) fn merge_short(&self, piece: &[u8], merger: &mut Merger) -> u64 {
        let parts = &mut merger.parts;
        parts.clear();
        // For each part its start, and the rank of it merged with the next one.
        parts.extend((0..piece.len()).map(|at| (at, piece.get(at..at + 2).map_or(NONE, |pair| self.rank(pair)))));
        parts.push((piece.len(), NONE));
        loop {
            let (mut best, mut at) = (NONE, 0);
            for (place, (_, rank)) in parts.iter().enumerate() {
                if *rank < best {
                    (best, at) = (*rank, place);
                }
            }
            if best == NONE {
                return parts.len() as u64 - 1;
            }
            parts.remove(at + 1);
            for at in [Some(at), at.checked_sub(1)].into_iter().flatten() {
                let end = parts.get(at + 2).map(|(end, _)| *end);
                parts[at].1 = end.map_or(NONE, |end| self.rank(&piece[parts[at].0..end]));
            }
        }
    }

    /// The same for long pieces, with a heap of pairs: time grows with n log n.
    pub(super) fn merge_long(&self, piece: &[u8]) -> u64 {
        let end = piece.len();
        // Parts are known by their start; `next[start]` is where a part ends, 0 where no part starts any more.
        let mut next: Vec<usize> = (1..=end).collect();
        let mut previous: Vec<usize> = (0..end).map(|at| at.wrapping_sub(1)).collect();
        // An entry is in force if the part and its neighbor still end where they did.
        let mut heap = BinaryHeap::with_capacity(end);
        for at in 0..end.saturating_sub(1) {
            let rank = self.rank(&piece[at..at + 2]);
            if rank != NONE {
                heap.push(Reverse((rank, at, at + 2)));
            }
        }
        let mut count = end as u64;
        while let Some(Reverse((_, at, to))) = heap.pop() {
            let middle = next[at];
            if middle == 0 || middle >= end || next[middle] != to {
                continue;
            }
            next[at] = to;
            next[middle] = 0;
            count -= 1;
            if to < end {
                previous[to] = at;
                let rank = self.rank(&piece[at..next[to]]);
                if rank != NONE {
                    heap.push(Reverse((rank, at, next[to])));
                }
            }
            if at > 0 {
                let before = previous[at];
                let rank = self.rank(&piece[before..to]);
                if rank != NONE {
                    heap.push(Reverse((rank, before, to)));
                }
            }
        }
        count
    }
}

/// Room for merging, used again for every piece, and the counts of recent pieces of one vocabulary.
#[derive(Debug, Default)]
pub(super) struct Merger {
    parts: Vec<(usize, u32)>,
    recent: RecentPieces,
}

/// A piece of up to 15 bytes and its length, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ShortPiece(u128);

impl ShortPiece {
    fn of(piece: &[u8]) -> Option<Self> {
        let mut bytes = [0; 16];
        bytes[..15].get_mut(..piece.len())?.copy_from_slice(piece);
        bytes[15] = u8::try_from(piece.len()).ok()?;
        Some(Self(u128::from_le_bytes(bytes)))
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "both halves are mixed, the highest bits are taken"
    )]
    fn slot(self) -> usize {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (self.0 as u64).rotate_left(29) ^ (self.0 >> 64) as u64;
        (mixed.wrapping_mul(FACTOR) >> (64 - RECENT.trailing_zeros())) as usize
    }
}

/// The most recent pieces that are remembered: those of a text are mostly the same few thousand words.
const RECENT: usize = 1 << 13;

/// The counts of recent pieces; each has one place, which the next piece of that place takes.
#[derive(Debug, Default)]
struct RecentPieces(Vec<(ShortPiece, u64)>);

impl RecentPieces {
    fn get(&self, piece: ShortPiece) -> Option<u64> {
        let (there, count) = self.0.get(piece.slot())?;
        (*there == piece).then_some(*count)
    }

    fn set(&mut self, piece: ShortPiece, count: u64) {
        if self.0.is_empty() {
            // No piece is 0: each has its length.
            self.0.resize(RECENT, (ShortPiece(0), 0));
        }
        self.0[piece.slot()] = (piece, count);
    }
}

/// Bits of the hash that are stored next to the place, so that most other tokens are not looked at.
#[allow(clippy::cast_possible_truncation, reason = "the lowest bits are meant")]
fn tag(hash: u64) -> u32 {
    (hash as u32) << PLACE_BITS
}

/// A quick hash; its highest bits are the best.
fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut out = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        out = (out.rotate_left(23) ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    out = (out.rotate_left(23) ^ u64::from_le_bytes(last)).wrapping_mul(FACTOR);
    out ^= out >> 32;
    out.wrapping_mul(FACTOR)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Every token is in the table, and nothing else is.
    pub(in crate::tokens) fn is_whole(vocabulary: Vocabulary) -> bool {
        let (mut place, mut tokens) = (0, 0);
        while (place as usize) < vocabulary.data.len() {
            let token = vocabulary.token(place);
            if vocabulary.rank(token) != place {
                return false;
            }
            tokens += 1;
            place += 1 + u32::try_from(token.len()).expect("a byte says it");
        }
        tokens == vocabulary.slots.iter().filter(|slot| **slot != [0; 4]).count()
    }
}
