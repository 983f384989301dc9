//! The pattern of `o200k_base` for ASCII, a byte at a time: most text is ASCII, and this takes a fraction of the time that
//! decoding and looking up each character takes.

/// Kinds of bytes, as bits so that several can be asked for at once.
const UPPER: u8 = 1;
const LOWER: u8 = 1 << 1;
const DIGIT: u8 = 1 << 2;
const SPACE: u8 = 1 << 3;
const LINE_END: u8 = 1 << 4;
const SLASH: u8 = 1 << 5;
/// `[^\s\p{L}\p{N}]`.
const SIGN: u8 = 1 << 6;
/// A part of a character outside of ASCII: what it belongs to is not known here.
const OTHER: u8 = 1 << 7;

const KINDS: [u8; 256] = {
    let mut kinds = [OTHER; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        kinds[byte as usize] = match byte {
            b'A'..=b'Z' => UPPER,
            b'a'..=b'z' => LOWER,
            b'0'..=b'9' => DIGIT,
            b'\n' | b'\r' => SPACE | LINE_END,
            b' ' | b'\t'..=b'\r' => SPACE,
            b'/' => SIGN | SLASH,
            _ => SIGN,
        };
        byte += 1;
    }
    kinds
};

fn kind(text: &[u8], at: usize) -> u8 {
    text.get(at).map_or(0, |byte| KINDS[*byte as usize])
}

/// The end of the longest run of these kinds from a place on; `None` where a character outside of ASCII ends it.
fn run(text: &[u8], from: usize, kinds: u8) -> Option<usize> {
    let mut at = from;
    loop {
        match kind(text, at) {
            OTHER => return None,
            found if found & kinds != 0 => at += 1,
            _ => return Some(at),
        }
    }
}

/// The length of the first piece; `None` where that depends on a character outside of ASCII.
pub(super) fn o200k(text: &[u8]) -> Option<usize> {
    let first = kind(text, 0);
    let start = usize::from(first & (UPPER | LOWER | DIGIT | LINE_END) == 0);
    if first == OTHER || kind(text, start) == OTHER {
        return None;
    }
    if kind(text, start) & (UPPER | LOWER) != 0 {
        let capitals = run(text, start, UPPER)?;
        let end = run(text, capitals, LOWER)?;
        return contraction(text, end);
    }
    if first == DIGIT {
        let mut end = 1;
        while end < 3 && kind(text, end) == DIGIT {
            end += 1;
        }
        return (end == 3 || kind(text, end) != OTHER).then_some(end);
    }
    let begin = usize::from(text.first() == Some(&b' '));
    let signs = run(text, begin, SIGN)?;
    if signs > begin {
        return run(text, signs, LINE_END | SLASH);
    }
    let blank = run(text, 0, SPACE)?;
    if let Some(last) = text[..blank].iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
        return Some(last + 1);
    }
    // The last blank goes with what follows, unless nothing does.
    Some(if blank == text.len() || blank == 1 {
        blank
    } else {
        blank - 1
    })
}

/// The end of a contraction such as `'ll` behind a word, or of the word itself.
fn contraction(text: &[u8], end: usize) -> Option<usize> {
    if text.get(end) != Some(&b'\'') {
        return Some(end);
    }
    // The long s is an s.
    if kind(text, end + 1) == OTHER {
        return None;
    }
    let letter = |at: usize| text.get(at).map_or(0, u8::to_ascii_lowercase);
    Some(match (letter(end + 1), letter(end + 2)) {
        (b's' | b't' | b'm' | b'd', _) => end + 2,
        (b'r' | b'v', b'e') | (b'l', b'l') => end + 3,
        _ => end,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokens::split::o200k_of_any;

    proptest! {
        #[test]
        fn a_piece_of_ascii_is_that_of_any_text(text in "([a-cA-C]{0,4}|'(s|T|re|LL|x|\u{17f})|[0-9]{1,5}|[ \t\r\n]{1,3}|[-/_.{\"'\\x00\\x1f]{1,3}|é|中|\u{301}){0,8}") {
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let whole = o200k_of_any(rest);
                if let Some(found) = o200k(rest.as_bytes()) {
                    prop_assert_eq!(found, whole, "{:?}", rest);
                }
                rest = &rest[whole..];
            }
        }
    }

    #[test]
    fn ascii_alone_is_always_answered() {
        for text in [
            "a",
            "A1",
            " b",
            "  b",
            "\n\n x",
            "12345",
            "it's",
            "./a",
            "\t",
            " \n ",
            "{\"a\": 1}",
        ] {
            assert_eq!(o200k(text.as_bytes()), Some(o200k_of_any(text)), "{text:?}");
        }
    }
}
