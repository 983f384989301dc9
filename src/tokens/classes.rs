//! Classes of characters, as the patterns of the vocabularies distinguish them.

use std::sync::OnceLock;

/// Class of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// None of the others.
    Other,
    /// Lu, Lt.
    Upper,
    /// Ll.
    Lower,
    /// Lm, Lo.
    Letter,
    /// M.
    Mark,
    /// N.
    Number,
    /// `White_Space`.
    Space,
}

impl Class {
    /// Whether the character is in `\p{L}`.
    pub(super) fn is_letter(self) -> bool {
        matches!(self, Self::Upper | Self::Lower | Self::Letter)
    }

    /// Whether it is in `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`.
    pub(super) fn is_upper(self) -> bool {
        matches!(self, Self::Upper | Self::Letter | Self::Mark)
    }

    /// Whether it is in `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`.
    pub(super) fn is_lower(self) -> bool {
        matches!(self, Self::Lower | Self::Letter | Self::Mark)
    }

    /// Whether it is in `[^\s\p{L}\p{N}]`.
    pub(super) fn is_sign(self) -> bool {
        matches!(self, Self::Other | Self::Mark)
    }

    fn of_number(number: u8) -> Self {
        match number {
            1 => Self::Upper,
            2 => Self::Lower,
            3 => Self::Letter,
            4 => Self::Mark,
            5 => Self::Number,
            6 => Self::Space,
            _ => Self::Other,
        }
    }
}

/// The class of a character.
pub(super) fn class(c: char) -> Class {
    match c {
        'a'..='z' => Class::Lower,
        'A'..='Z' => Class::Upper,
        '0'..='9' => Class::Number,
        ' ' | '\t'..='\r' => Class::Space,
        _ if c.is_ascii() => Class::Other,
        _ => table()[c as usize],
    }
}

/// A class for every code point; made when the first character outside ASCII is met.
fn table() -> &'static [Class] {
    static TABLE: OnceLock<Vec<Class>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = vec![Class::Other; 0x11_0000];
        let starts = include_bytes!("data/classes.bin").as_chunks::<4>().0;
        for (at, start) in starts.iter().enumerate() {
            let from = u32::from_le_bytes(*start) >> 8;
            let to = starts
                .get(at + 1)
                .map_or(0x11_0000, |next| u32::from_le_bytes(*next) >> 8);
            table[from as usize..to as usize].fill(Class::of_number(start[0]));
        }
        table
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_is_as_the_table_says() {
        for c in '\0'..='\u{7f}' {
            assert_eq!(class(c), table()[c as usize], "{c:?}");
        }
        assert_eq!(class('\u{85}'), Class::Space);
        assert_eq!(class('\u{301}'), Class::Mark);
        assert_eq!(class('\u{4e2d}'), Class::Letter);
        assert_eq!(class('\u{10ffff}'), Class::Other);
    }
}
