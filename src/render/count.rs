//! Numbers with their nouns and sizes with their units, so that no message says "1 files".

use std::fmt;

/// A number and its noun: `1 file`, `2 files`.
#[derive(Clone, Copy, Debug)]
pub struct CountedNoun<'a> {
    number: usize,
    one: &'a str,
    many: Option<&'a str>,
}

impl<'a> CountedNoun<'a> {
    /// With a plural in `s`.
    pub fn new(number: usize, one: &'a str) -> Self {
        Self {
            number,
            one,
            many: None,
        }
    }

    /// With a plural of its own: `Count::irregular(2, "entry", "entries")`.
    pub fn irregular(number: usize, one: &'a str, many: &'a str) -> Self {
        Self {
            number,
            one,
            many: Some(many),
        }
    }
}

impl fmt::Display for CountedNoun<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.number, self.many) {
            (1, _) => write!(f, "1 {}", self.one),
            (n, Some(many)) => write!(f, "{n} {many}"),
            (n, None) => write!(f, "{n} {}s", self.one),
        }
    }
}

/// How many of so many rows are shown where `most` are to be: a line that says that one more is left out would have taken
/// the place of that one.
pub fn shown_rows(of: usize, most: usize) -> usize {
    if of == most.saturating_add(1) { of } else { of.min(most) }
}

/// A number of bytes for people: `812 bytes`, `12.4 KiB`, `1.8 MiB`, as git shows sizes.
#[derive(Clone, Copy, Debug)]
pub struct ByteSize(pub u64);

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
        if self.0 < 1024 {
            return write!(
                f,
                "{}",
                CountedNoun::new(usize::try_from(self.0).unwrap_or_default(), "byte")
            );
        }
        // In tenths, rounded; whole numbers keep it exact.
        let mut tenths = (u128::from(self.0) * 10 + 512) / 1024;
        let mut unit = 0;
        while tenths >= 10_240 && unit + 1 < UNITS.len() {
            tenths = (tenths + 512) / 1024;
            unit += 1;
        }
        write!(f, "{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_noun() {
        assert_eq!(CountedNoun::new(1, "file").to_string(), "1 file");
        assert_eq!(CountedNoun::new(0, "file").to_string(), "0 files");
        assert_eq!(CountedNoun::irregular(2, "entry", "entries").to_string(), "2 entries");
    }

    #[test]
    fn sizes_are_rounded() {
        for (bytes, wanted) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (12_700, "12.4 KiB"),
            (1_048_575, "1.0 MiB"),
            (1_900_000, "1.8 MiB"),
            (u64::MAX, "16777216.0 TiB"),
        ] {
            assert_eq!(ByteSize(bytes).to_string(), wanted, "{bytes}");
        }
    }
}
