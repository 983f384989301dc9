//! The built-in rules, made ready: a table that knows how keywords begin, and a regular expression per row that is
//! compiled when a keyword of it is first seen. A process that sees no keyword compiles nothing; compiling all rows
//! takes longer than most saves.
//!
//! A pattern is tried only where a keyword occurs, so the work is one pass over the text plus what each keyword can
//! reach. An Aho-Corasick automaton over the 600 keywords was tried: it reads no faster than the table and takes 0.9 ms
//! to build, in a program that starts for every save; the table is made when the program is compiled.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::check::{holds, left_holds, right_holds};
use super::rules::{Rule, TABLES};

/// How far from its keyword on a rule with `back` may read, in bytes; the longest such format has 141.
const REACH: usize = 192;

/// A match longer than this that is no secret after all is not looked into again by its rule: a text that repeats a
/// keyword inside what the rule reads would otherwise be read once for each.
const LONG: usize = 128;

/// Bits of a byte that the table looks at: those that letters share in both cases.
const BITS: u32 = 5;

/// How many bytes of a keyword the table knows; no keyword is shorter.
const PREFIX: usize = 3;

/// A place where a rule's pattern, edges and check hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RuleMatch {
    /// Row of the table, in order.
    pub(super) rank: usize,
    /// The secret.
    pub(super) start: usize,
    /// One past its last byte.
    pub(super) end: usize,
}

/// All rows.
pub(super) struct Engine {
    rows: Vec<RuleRow>,
}

/// The keywords by how they begin. Made by the compiler: a program that starts for every change of a draft would take a
/// tenth of a millisecond for it.
struct Keywords {
    /// A bit for each hash that a keyword has: nearly every place of a text is passed over by it, and it is small.
    any: [u64; SLOTS / 64],
    /// By hash: one more than the place of the first such keyword, or 0.
    firsts: [u16; SLOTS],
    /// One more than the place of the next keyword with the same hash, or 0.
    nexts: [u16; COUNT],
    /// The rank of its row, which of the row's keywords it is, and the bits of its byte behind the hash.
    words: [(u16, u16, u8); COUNT],
}

/// No byte of a keyword is behind the hash.
const NO_BYTE: u8 = u8::MAX;

const COUNT: usize = {
    let (mut count, mut table) = (0, 0);
    while table < TABLES.len() {
        let mut row = 0;
        while row < TABLES[table].len() {
            count += TABLES[table][row].keywords.len();
            row += 1;
        }
        table += 1;
    }
    count
};

/// How many hashes there are.
const SLOTS: usize = 1 << (BITS as usize * PREFIX);

static KEYWORDS: Keywords = Keywords::of_tables();

impl Keywords {
    /// From the last one on, each before those with its hash, so that these are in the order of their ranks.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the tables have far fewer than 65,535 keywords"
    )]
    #[expect(clippy::large_stack_arrays, reason = "the compiler's, not the program's")]
    const fn of_tables() -> Self {
        const { assert!(COUNT < 65_535, "places are numbers of two bytes") };
        let mut any = [0; SLOTS / 64];
        let mut firsts = [0; SLOTS];
        let mut nexts = [0; COUNT];
        let mut words = [(0, 0, NO_BYTE); COUNT];
        let mut rank = 0;
        let mut table = 0;
        while table < TABLES.len() {
            rank += TABLES[table].len();
            table += 1;
        }
        let mut place = COUNT;
        while table > 0 {
            table -= 1;
            let mut row = TABLES[table].len();
            while row > 0 {
                row -= 1;
                rank -= 1;
                let keywords = TABLES[table][row].keywords;
                let mut nth = keywords.len();
                while nth > 0 {
                    nth -= 1;
                    place -= 1;
                    let word = keywords[nth].as_bytes();
                    let (mut hash, mut at) = (0, 0);
                    while at < PREFIX && at < word.len() {
                        hash = next_hash(hash, word[at]);
                        at += 1;
                    }
                    let next = if word.len() > PREFIX {
                        letter(word[PREFIX])
                    } else {
                        NO_BYTE
                    };
                    any[hash / 64] |= 1 << (hash % 64);
                    words[place] = (rank as u16, nth as u16, next);
                    nexts[place] = firsts[hash];
                    firsts[hash] = place as u16 + 1;
                }
            }
        }
        Self {
            any,
            firsts,
            nexts,
            words,
        }
    }

    /// Whether there are any with this hash.
    fn has(&self, hash: usize) -> bool {
        self.any[hash / 64] >> (hash % 64) & 1 == 1
    }

    /// The keywords with this hash that may be at the beginning of the text: their ranks, and which of the row's they are.
    fn with_hash(&self, hash: usize, text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
        let next = text.get(PREFIX).map_or(NO_BYTE, |byte| letter(*byte));
        let place = |number: u16| usize::from(number).checked_sub(1);
        let places = std::iter::successors(place(self.firsts[hash]), move |&at| place(self.nexts[at]));
        let words = places.map(|at| self.words[at]);
        let words = words.filter(move |word| word.2 == next || word.2 == NO_BYTE);
        words.map(|(rank, nth, _)| (usize::from(rank), usize::from(nth)))
    }
}

struct RuleRow {
    rule: &'static Rule,
    regex: OnceLock<Regex>,
}

impl Engine {
    /// The one of this process.
    pub(super) fn shared() -> &'static Self {
        static SHARED: OnceLock<Engine> = OnceLock::new();
        SHARED.get_or_init(Self::new)
    }

    /// One of its own, with nothing compiled.
    pub(super) fn new() -> Self {
        let rows: Vec<RuleRow> = TABLES
            .iter()
            .flat_map(|table| table.iter())
            .map(|rule| RuleRow {
                rule,
                regex: OnceLock::new(),
            })
            .collect();
        Self { rows }
    }

    /// The rule of a rank.
    pub(super) fn rule(&self, rank: usize) -> &'static Rule {
        self.rows[rank].rule
    }

    /// How many patterns have been compiled so far.
    #[cfg(test)]
    pub(super) fn compiled(&self) -> usize {
        self.rows.iter().filter(|row| row.regex.get().is_some()).count()
    }

    /// Calls `accept` with every match, in the order of their keywords. What it returns is whether the match is going
    /// to be replaced: its end then counts as an edge, as the marker's will, and the same rule looks on behind it.
    pub(super) fn each_match(&self, text: &[u8], mut accept: impl FnMut(RuleMatch) -> bool) {
        let mut behind = RulePositions::default();
        let mut previous_end = 0;
        let mut hash = text.iter().take(PREFIX - 1).copied().fold(0, next_hash);
        for (at, &byte) in text.get(PREFIX - 1..).unwrap_or_default().iter().enumerate() {
            hash = next_hash(hash, byte);
            if !KEYWORDS.has(hash) {
                continue;
            }
            for (rank, nth) in KEYWORDS.with_hash(hash, &text[at..]) {
                let row = &self.rows[rank];
                let rule = row.rule;
                let word = rule.keywords[nth];
                if !is_spelt(&text[at..], word, rule.nocase)
                    || (rule.back == 0 && !left_holds(rule.edge, text, at, previous_end))
                    || at < behind.of(rank)
                {
                    continue;
                }
                let (from, to) = if rule.back == 0 {
                    (at, text.len())
                } else {
                    // Not back into what is going to be a marker.
                    let floor = if previous_end <= at { previous_end } else { 0 };
                    (at.saturating_sub(rule.back).max(floor), text.len().min(at + REACH))
                };
                let Some((found, secret)) = row.find(&text[from..to]) else {
                    continue;
                };
                let (start, end) = (from + secret.0, from + secret.1);
                if (rule.back > 0 && !left_holds(rule.edge, text, from + found.0, previous_end))
                    || !right_holds(rule.edge, text, from + found.1)
                    || !holds(rule, &text[start..end])
                {
                    if end - start > LONG {
                        behind.set(rank, end);
                    }
                    continue;
                }
                behind.set(rank, end);
                if accept(RuleMatch { rank, start, end }) {
                    previous_end = end;
                }
            }
        }
    }
}

/// Where each rule looks on. A list and no array by rank: few rules match in one text, and most texts are short.
#[derive(Default)]
struct RulePositions(Vec<(usize, usize)>);

impl RulePositions {
    fn of(&self, rank: usize) -> usize {
        self.0.iter().find(|entry| entry.0 == rank).map_or(0, |entry| entry.1)
    }

    fn set(&mut self, rank: usize, end: usize) {
        match self.0.iter_mut().find(|entry| entry.0 == rank) {
            Some(entry) => entry.1 = end,
            None => self.0.push((rank, end)),
        }
    }
}

/// The hash of the last `PREFIX` bytes, from that of the ones before and the next byte.
const fn next_hash(hash: usize, byte: u8) -> usize {
    (hash << BITS | letter(byte) as usize) & (SLOTS - 1)
}

/// The bits of a byte that the table looks at.
const fn letter(byte: u8) -> u8 {
    byte & ((1 << BITS) - 1)
}

/// Whether the text begins with the keyword.
fn is_spelt(text: &[u8], keyword: &str, nocase: bool) -> bool {
    text.get(..keyword.len()).is_some_and(|there| {
        if nocase {
            there.eq_ignore_ascii_case(keyword.as_bytes())
        } else {
            there == keyword.as_bytes()
        }
    })
}

impl RuleRow {
    /// The first match in the window, as ranges of the whole and of the secret.
    fn find(&self, window: &[u8]) -> Option<((usize, usize), (usize, usize))> {
        let regex = self.regex.get_or_init(|| {
            let anchor = if self.rule.back == 0 { r"\A" } else { "" };
            build(&format!("{anchor}(?:{})", self.rule.pattern)).expect("the tests compile every row of the table")
        });
        find(regex, window)
    }
}

/// Compiles a pattern over bytes: ASCII classes, so that it compiles fast and reads any input.
pub(super) fn build(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).build()
}

/// The first match of a pattern as ranges of the whole and of the secret, which is the first group if the pattern
/// has one that took part.
pub(super) fn find(regex: &Regex, text: &[u8]) -> Option<((usize, usize), (usize, usize))> {
    if regex.captures_len() == 1 {
        let found = regex.find(text)?;
        let range = (found.start(), found.end());
        return Some((range, range));
    }
    let groups = regex.captures(text)?;
    let whole = groups.get_match();
    let secret = groups.get(1).unwrap_or(whole);
    Some(((whole.start(), whole.end()), (secret.start(), secret.end())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_by_its_beginning() {
        let rules: Vec<&Rule> = TABLES.iter().flat_map(|table| table.iter()).collect();
        let mut count = 0;
        for (rank, rule) in rules.iter().enumerate() {
            for (nth, word) in rule.keywords.iter().enumerate() {
                assert!(word.len() >= PREFIX, "{word}");
                let hash = word.bytes().take(PREFIX).fold(0, next_hash);
                assert!(KEYWORDS.has(hash), "{word}");
                let found: Vec<_> = KEYWORDS.with_hash(hash, word.as_bytes()).collect();
                assert!(found.contains(&(rank, nth)), "{word}");
                assert!(found.is_sorted(), "{word}: {found:?}");
                count += 1;
            }
        }
        assert_eq!(count, COUNT);
    }
}
