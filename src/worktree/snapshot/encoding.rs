//! `working-tree-encoding`: text that is UTF-8 in the repository and something else on disk.
//!
//! git converts with the system's iconv. Only encodings in which every conversion here is known to give what iconv
//! gives are converted; a file in any other is stored byte for byte, which a restore gives back just as well.

use gix::bstr::{BStr, ByteSlice};

/// An encoding on disk other than UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::worktree) enum TextEncoding {
    /// UTF-16 or UTF-32.
    Unicode {
        /// Bytes of a unit: 2 or 4.
        width: usize,
        order: Order,
    },
    /// ISO-8859-1, whose bytes are the first code points.
    Latin1,
    /// One that is not converted here.
    Other,
}

/// The order of bytes in a unit, and the mark at the start of the file that shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::worktree) enum Order {
    /// Determined by a mark, which must be there; iconv writes little-endian with a mark.
    Marked,
    /// Little-endian without a mark, which must not be there.
    Little,
    /// Big-endian without a mark, which must not be there.
    Big,
    /// git's `UTF-16LE-BOM`: read like `Marked` with or without the mark, written little-endian with it.
    LittleWithMark,
    /// git's `UTF-16BE-BOM`.
    BigWithMark,
}

impl TextEncoding {
    /// Encoding named by an attribute; `None` for UTF-8, which needs no conversion.
    pub(super) fn of_label(label: &BStr) -> Option<Self> {
        let label = label.to_ascii_uppercase();
        let unicode = |width, order| Some(Self::Unicode { width, order });
        match label.strip_prefix(b"UTF") {
            Some(rest) => match rest.strip_prefix(b"-").unwrap_or(rest) {
                b"8" => None,
                b"16" => unicode(2, Order::Marked),
                b"16LE" => unicode(2, Order::Little),
                b"16BE" => unicode(2, Order::Big),
                b"16LE-BOM" => unicode(2, Order::LittleWithMark),
                b"16BE-BOM" => unicode(2, Order::BigWithMark),
                b"32" => unicode(4, Order::Marked),
                b"32LE" => unicode(4, Order::Little),
                b"32BE" => unicode(4, Order::Big),
                _ => Some(Self::Other),
            },
            None if label.is_empty() => None,
            None => Some(match label.as_bytes() {
                b"ISO-8859-1" | b"ISO8859-1" | b"ISO_8859-1" | b"LATIN1" | b"LATIN-1" | b"L1" => Self::Latin1,
                _ => Self::Other,
            }),
        }
    }

    /// The UTF-8 form of a file; `None` if it has none that git would accept.
    pub(super) fn decode(self, content: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Unicode { width, order } => decode_unicode(content, width, order),
            Self::Latin1 => Some(
                content
                    .iter()
                    .map(|byte| char::from(*byte))
                    .collect::<String>()
                    .into_bytes(),
            ),
            Self::Other => None,
        }
    }

    /// Encodes UTF-8 text as a checkout does; `None` if this encoding cannot represent it.
    pub(super) fn encode(self, text: &[u8]) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(text).ok()?;
        match self {
            Self::Unicode { width, order } => Some(encode_unicode(text, width, order)),
            Self::Latin1 => text.chars().map(|char| u8::try_from(char).ok()).collect(),
            Self::Other => None,
        }
    }
}

const MARK: char = '\u{feff}';

fn decode_unicode(content: &[u8], width: usize, order: Order) -> Option<Vec<u8>> {
    let little = unit_bytes(MARK as u32, width, true);
    let big = unit_bytes(MARK as u32, width, false);
    let (is_little, body) = match (content.strip_prefix(&*little), content.strip_prefix(&*big)) {
        (Some(_), _) | (_, Some(_)) if matches!(order, Order::Little | Order::Big) => return None,
        (Some(body), _) => (true, body),
        (_, Some(body)) => (false, body),
        (None, None) => match order {
            Order::Little => (true, content),
            Order::Big => (false, content),
            // iconv takes what has no mark for the machine's order; too vague to rely on.
            Order::Marked | Order::LittleWithMark | Order::BigWithMark => return None,
        },
    };
    if body.len() % width != 0 {
        return None;
    }
    let units = body.chunks_exact(width).map(|unit| {
        let value = |(at, byte): (usize, &u8)| u32::from(*byte) << (8 * if is_little { at } else { width - 1 - at });
        unit.iter().enumerate().map(value).fold(0, |a, b| a | b)
    });
    let text: Option<String> = if width == 2 {
        char::decode_utf16(units.map(|unit| u16::try_from(unit).unwrap_or_default()))
            .map(Result::ok)
            .collect()
    } else {
        units.map(char::from_u32).collect()
    };
    text.map(String::into_bytes)
}

fn encode_unicode(text: &str, width: usize, order: Order) -> Vec<u8> {
    let is_little = !matches!(order, Order::Big | Order::BigWithMark);
    let mark = (!matches!(order, Order::Little | Order::Big)).then_some(MARK);
    let mut out = Vec::with_capacity(text.len() * 2);
    for char in mark.into_iter().chain(text.chars()) {
        if width == 2 {
            for unit in char.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(&unit_bytes(u32::from(*unit), 2, is_little));
            }
        } else {
            out.extend_from_slice(&unit_bytes(char as u32, 4, is_little));
        }
    }
    out
}

fn unit_bytes(value: u32, width: usize, little: bool) -> Vec<u8> {
    if little {
        value.to_le_bytes()[..width].to_vec()
    } else {
        value.to_be_bytes()[4 - width..].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_those_that_git_knows() {
        let of = |label: &str| TextEncoding::of_label(label.into());
        assert_eq!(of("utf-8"), None);
        assert_eq!(of("UTF8"), None);
        assert_eq!(
            of("utf16le"),
            Some(TextEncoding::Unicode {
                width: 2,
                order: Order::Little
            })
        );
        assert_eq!(
            of("UTF-16LE-BOM"),
            Some(TextEncoding::Unicode {
                width: 2,
                order: Order::LittleWithMark
            })
        );
        assert_eq!(of("latin1"), Some(TextEncoding::Latin1));
        assert_eq!(of("SHIFT-JIS"), Some(TextEncoding::Other));
    }

    #[test]
    fn unicode_goes_both_ways() {
        let text = "a\u{e9}\u{1f600}\n";
        for label in [
            "UTF-16",
            "UTF-16LE",
            "UTF-16BE",
            "UTF-16LE-BOM",
            "UTF-16BE-BOM",
            "UTF-32",
            "UTF-32LE",
            "UTF-32BE",
        ] {
            let encoding = TextEncoding::of_label(label.into()).expect("known");
            let bytes = encoding.encode(text.as_bytes()).expect("can be written");
            assert_eq!(encoding.decode(&bytes).as_deref(), Some(text.as_bytes()), "{label}");
        }
        let little = TextEncoding::Unicode {
            width: 2,
            order: Order::Little,
        };
        assert_eq!(little.decode(b"\xff\xfea\0"), None, "git refuses the mark here");
        let marked = TextEncoding::Unicode {
            width: 2,
            order: Order::Marked,
        };
        assert_eq!(marked.decode(b"a\0"), None, "and wants it here");
        assert_eq!(marked.decode(b"\xfe\xff\0a").as_deref(), Some(&b"a"[..]));
        assert_eq!(marked.decode(b"\xff\xfea\0b"), None, "half a unit");
        assert_eq!(marked.decode(b"\xff\xfe\0\xd8"), None, "half a pair");
    }

    #[test]
    fn latin1_is_the_first_code_points() {
        assert_eq!(
            TextEncoding::Latin1.decode(b"\xe9\x80").as_deref(),
            Some("\u{e9}\u{80}".as_bytes())
        );
        assert_eq!(TextEncoding::Latin1.encode("\u{20ac}".as_bytes()), None);
    }
}
