//! Pieces: whatever the borders, what comes out is what redacting the whole gives.

use proptest::prelude::*;

use super::super::{ChunkRedactor, Finding, RedactionMode, RedactionSettings, Scanner, Severity};
use super::table::SAMPLES;
use super::{make, scanner};

fn in_pieces(scanner: &Scanner, text: &[u8], mut sizes: impl Iterator<Item = usize>) -> (Vec<u8>, Vec<Finding>) {
    let mut redactor = ChunkRedactor::new(scanner);
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(sizes.next().unwrap().clamp(1, rest.len()));
        redactor.push(piece, &mut out);
        rest = more;
    }
    let found = redactor.finish(&mut out);
    (out, found)
}

/// A long text with a sample of every format at many distances from the places where the stream cuts.
fn long_text(seed: u64) -> String {
    let mut text = String::new();
    for round in 0..3 {
        for (index, (_, positive, _)) in (0..).zip(SAMPLES) {
            text.push_str(&make(positive, seed + round * 1000 + index).text);
            let filler = usize::try_from((index * 37 + seed * 13 + round * 101) % 400).unwrap();
            text.push_str("\nSome words between, für den Abstand. ");
            text.push_str(&"filler ".repeat(filler));
            text.push('\n');
        }
    }
    text
}

fn only_secrets(found: Vec<Finding>) -> Vec<Finding> {
    found
        .into_iter()
        .filter(|finding| finding.severity == Severity::Secret)
        .collect()
}

#[test]
fn pieces_of_any_size_give_what_the_whole_gives() {
    let scanner = scanner();
    for seed in 1..3 {
        let text = long_text(seed);
        assert!(text.len() > 500_000);
        let (whole, found) = scanner.redact_bytes(text.as_bytes());
        for size in [997, 4096, 65_536, 100_003, 1 << 20] {
            let (pieces, pieces_found) = in_pieces(&scanner, text.as_bytes(), std::iter::repeat(size));
            assert!(pieces == *whole, "pieces of {size}");
            assert_eq!(
                only_secrets(pieces_found),
                only_secrets(found.clone()),
                "pieces of {size}"
            );
        }
    }
}

#[test]
fn a_key_longer_than_what_is_held_back_is_replaced_whole() {
    let scanner = scanner();
    let body: String = (0..1200).map(|line| make("{b64}\n", line + 1).text).collect();
    for end in [format!("-----END{}PRIVATE KEY-----\n", " "), String::new()] {
        let text = format!(
            "{}\n-----BEGIN{}PRIVATE KEY-----\n{body}{end}after {}",
            "x ".repeat(20_000),
            " ",
            "y ".repeat(50_000)
        );
        let (whole, _) = scanner.redact_bytes(text.as_bytes());
        assert!(whole.len() < 150_000);
        let (pieces, _) = in_pieces(&scanner, text.as_bytes(), std::iter::repeat(1000));
        assert!(pieces == *whole, "{}", String::from_utf8_lossy(&pieces[39_990..40_100]));
    }
}

#[test]
fn output_comes_while_input_comes() {
    let scanner = scanner();
    let mut redactor = ChunkRedactor::new(&scanner);
    let mut out = Vec::new();
    for _ in 0..1000 {
        redactor.push(&b"a line of output\n".repeat(60), &mut out);
    }
    assert!(out.len() > 1_020_000 - 100_000, "{} bytes so far", out.len());
    assert_eq!(redactor.finish(&mut out), []);
    assert_eq!(out.len(), 1_020_000);
}

#[test]
fn off_passes_all_through_at_once() {
    let scanner = Scanner::new(&RedactionSettings {
        mode: RedactionMode::Off,
        ..RedactionSettings::default()
    })
    .unwrap();
    let mut out = Vec::new();
    let mut redactor = ChunkRedactor::new(&scanner);
    redactor.push(b"abc", &mut out);
    assert_eq!(out, b"abc");
    assert_eq!(redactor.finish(&mut out), []);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_borders_will_do(seed in 1..10_000_u64, sizes in prop::collection::vec(1..40_000_usize, 1..40)) {
        let scanner = scanner();
        let text = long_text(seed);
        let (whole, found) = scanner.redact_bytes(text.as_bytes());
        let (pieces, pieces_found) = in_pieces(&scanner, text.as_bytes(), sizes.into_iter().cycle());
        prop_assert!(pieces == *whole);
        prop_assert_eq!(only_secrets(pieces_found), only_secrets(found));
    }
}
