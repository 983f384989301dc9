//! Exact counts of tokens in `o200k_base` and `cl100k_base`, and honest estimates for everything else.
//!
//! Own tables instead of a crate: those measured take 120 to 140 ms to set up a vocabulary or add 50 MB to the program.
//! Here the vocabularies are embedded as they are (2.3 MB) with hash tables made beforehand (1.5 MB), of which a count
//! reads what it needs; a command that counts nothing pays nothing. The vocabularies, the patterns and the classes of characters are those
//! of tiktoken 0.14.0 (MIT), made by `scripts/token-tables.py`. Pure: no repository, no environment.

mod bpe;
mod classes;
pub mod models;
mod split;

use std::cell::RefCell;

use self::bpe::Vocabulary;

/// A published vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishedEncoding {
    /// Of GPT-4o and later.
    O200k,
    /// Of GPT-4 and GPT-3.5.
    Cl100k,
}

impl PublishedEncoding {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
        }
    }

    /// The exact number of tokens of a text, as `encode_ordinary` of tiktoken gives it: names of special tokens are
    /// text like any other. Time grows with the length, whatever the text is.
    pub fn count(self, text: &str) -> u64 {
        let vocabulary = self.vocabulary();
        with_merger(self, |merger| {
            let mut count = 0;
            let mut rest = text;
            while !rest.is_empty() {
                let len = match self {
                    Self::O200k => split::o200k(rest),
                    Self::Cl100k => split::cl100k(rest),
                };
                let (piece, after) = rest.split_at(len);
                count += vocabulary.count(piece.as_bytes(), merger);
                rest = after;
            }
            count
        })
    }

    fn vocabulary(self) -> Vocabulary {
        static O200K: Vocabulary = Vocabulary::new(
            include_bytes!("data/o200k_base.bin"),
            include_bytes!("data/o200k_base.slots"),
        );
        static CL100K: Vocabulary = Vocabulary::new(
            include_bytes!("data/cl100k_base.bin"),
            include_bytes!("data/cl100k_base.slots"),
        );
        match self {
            Self::O200k => O200K,
            Self::Cl100k => CL100K,
        }
    }
}

thread_local! {
    /// Texts that are counted one after the other have mostly the same words.
    static MERGERS: [RefCell<bpe::Merger>; 2] = Default::default();
}

fn with_merger<T>(encoding: PublishedEncoding, count: impl FnOnce(&mut bpe::Merger) -> T) -> T {
    MERGERS.with(|mergers| count(&mut mergers[encoding as usize].borrow_mut()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXTS: &str = include_str!("../../fixtures/tokens/texts.jsonl");
    const EXPECTED: &str = include_str!("../../fixtures/tokens/expected");

    #[test]
    fn counts_are_those_of_the_reference() {
        let (mut seen, mut wrong) = (0, Vec::new());
        for (at, (text, expected)) in TEXTS.lines().zip(EXPECTED.lines()).enumerate() {
            let text: String = serde_json::from_str(text).expect("the fixture is JSON");
            let (o200k, cl100k) = expected.split_once(' ').expect("two numbers");
            for (encoding, expected) in [(PublishedEncoding::O200k, o200k), (PublishedEncoding::Cl100k, cl100k)] {
                let count = encoding.count(&text);
                if count.to_string() != expected {
                    wrong.push((
                        at + 1,
                        encoding,
                        count,
                        expected,
                        text.chars().take(40).collect::<String>(),
                    ));
                }
            }
            seen += 1;
        }
        assert!(seen >= 1000, "only {seen} texts");
        assert_eq!(TEXTS.lines().count(), EXPECTED.lines().count());
        assert!(
            wrong.is_empty(),
            "{} differ: {:?}",
            wrong.len(),
            wrong.first_chunk::<5>()
        );
    }

    #[test]
    fn the_hash_tables_are_those_of_the_vocabularies() {
        for encoding in [PublishedEncoding::O200k, PublishedEncoding::Cl100k] {
            assert!(bpe::tests::is_whole(encoding.vocabulary()), "{encoding:?}");
        }
    }

    #[test]
    fn one_long_piece_takes_no_quadratic_time() {
        for text in ["a", "=", " ", "ab", "\u{3042}", "\n"] {
            let long = text.repeat((1 << 16) / text.len());
            assert!(PublishedEncoding::O200k.count(&long) < long.len() as u64);
            assert!(PublishedEncoding::Cl100k.count(&long) < long.len() as u64);
        }
    }

    #[test]
    fn both_ways_of_merging_agree() {
        let mut merger = bpe::Merger::default();
        let text = "thequickbrownfoxjumpsoverthelazydogagainandagain".repeat(5);
        for vocabulary in [
            PublishedEncoding::O200k.vocabulary(),
            PublishedEncoding::Cl100k.vocabulary(),
        ] {
            for len in 1..text.len() {
                let piece = &text.as_bytes()[..len];
                assert_eq!(vocabulary.merge_short(piece, &mut merger), vocabulary.merge_long(piece));
            }
        }
    }

    proptest! {
        #[test]
        fn bytes_bound_the_count(text in any::<String>()) {
            for encoding in [PublishedEncoding::O200k, PublishedEncoding::Cl100k] {
                let count = encoding.count(&text);
                prop_assert!(count <= text.len() as u64);
                prop_assert_eq!(count == 0, text.is_empty());
            }
        }
    }
}
