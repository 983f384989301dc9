//! Application of git's deltas to their bases.

use std::ops::Range;

/// Applies a delta to its base: lengths of both, then copied and inserted pieces. `None` when the delta does not fit,
/// or when the result would have more than `largest` bytes.
pub(super) fn applied(base: &[u8], delta: &[u8], largest: u64) -> Option<Vec<u8>> {
    let mut rest = delta;
    if varint(&mut rest)? != base.len() as u64 {
        return None;
    }
    let size = varint(&mut rest).filter(|size| *size <= largest)?;
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
        assert_eq!(applied(base, delta, 1 << 20).as_deref(), Some(&b"2345uvwxyz"[..]));
        assert_eq!(applied(&base[1..], delta, 1 << 20), None, "another base");
        for end in 0..delta.len() {
            assert_eq!(applied(base, &delta[..end], 1 << 20), None, "cut off at {end}");
        }
        assert_eq!(
            applied(base, b"\x10\x0a\x91\x0d\x04\x06uvwxyz", 1 << 20),
            None,
            "beyond the base"
        );
        assert_eq!(
            applied(base, b"\x10\x09\x91\x02\x04\x06uvwxyz", 1 << 20),
            None,
            "too long"
        );
        assert_eq!(
            applied(base, b"\x10\x0a\x91\x02\x04\x00\x06uvwxyz", 1 << 20),
            None,
            "a reserved command"
        );
        assert_eq!(
            applied(base, b"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 1 << 20),
            None,
            "a huge length"
        );
        assert_eq!(applied(base, delta, 9), None, "more than is wanted");
        // Without a length the piece has 65,536 bytes.
        let long = vec![7; 0x10000];
        assert_eq!(applied(&long, b"\x80\x80\x04\x80\x80\x04\x80", 1 << 20), Some(long));
    }
}
