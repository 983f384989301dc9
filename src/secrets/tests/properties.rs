//! Properties for any input: no panic, idempotence, nothing outside the ranges changes, time in proportion to length.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::json;

use super::super::rules::{Edge, Rule, RuleCheck, TABLES};
use super::super::{OwnRule, RedactionMode, RedactionSettings, Scanner, Severity};
use super::table::SAMPLES;
use super::{make, scanner};

/// Pieces from which texts are put together: keywords, whole samples, and what is between.
fn piece() -> impl Strategy<Value = String> {
    let keywords: Vec<&'static str> = TABLES
        .iter()
        .flat_map(|table| table.iter())
        .flat_map(|rule| rule.keywords.iter().copied())
        .collect();
    prop_oneof![
        3 => (0..SAMPLES.len(), 1..1000_u64).prop_map(|(index, seed)| make(SAMPLES[index].1, seed).text),
        1 => (0..SAMPLES.len(), 1..1000_u64).prop_map(|(index, seed)| make(SAMPLES[index].2, seed).text),
        2 => (0..keywords.len()).prop_map(move |index| keywords[index].to_owned()),
        1 => "[A-Za-z0-9+/_=.-]{0,60}",
        2 => prop_oneof![
            Just(""), Just(" "), Just("\n"), Just("\\n"), Just("\""), Just("="), Just(": "), Just("/"), Just("@"), Just(":"), Just("-----"),
            Just("ä"), Just("\u{1b}[1m"), Just("[REDACTED:jwt]"), Just("[REDACTED:"), Just("data:image/png;base64,"), Just("\"signature\":\"")
        ]
        .prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.concat())
}

/// The input with everything but the ranges as it was.
fn check(scanner: &Scanner, text: &str) {
    let (redacted, found) = scanner.redact_text(text);
    let mut at = 0;
    let mut rest = redacted.as_ref();
    for finding in &found {
        assert!(
            finding.range.start >= at && finding.range.start < finding.range.end,
            "in order, without overlaps"
        );
        at = finding.range.end;
    }
    at = 0;
    for finding in found.iter().filter(|finding| finding.replaced) {
        rest = rest
            .strip_prefix(&text[at..finding.range.start])
            .expect("what stands between is unchanged");
        rest = rest
            .strip_prefix(super::super::marker(&finding.kind).as_str())
            .expect("then a marker");
        at = finding.range.end;
    }
    assert_eq!(rest, &text[at..]);
    assert_eq!(
        scanner.redact_text(&redacted).0,
        redacted,
        "redacting again changes nothing"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_redacted_once_and_for_all(text in text()) {
        check(&scanner(), &text);
    }

    #[test]
    fn own_rules_keep_the_promises_too(text in text(), pattern in prop_oneof![
        Just("a+"), Just("."), Just(".*"), Just("(?s).+"), Just("[^ ]{3}"), Just("x(y?)z*"), Just(r"\bk\w+\b"), Just("REDACTED"), Just(r"\[.*\]"), Just("\\xc3"), Just("$")
    ]) {
        let rules = vec![OwnRule { kind: "own-1".to_owned(), pattern: pattern.to_owned() }];
        let scanner = Scanner::new(&RedactionSettings { rules, ..RedactionSettings::default() }).unwrap();
        let (redacted, _) = scanner.redact_text(&text);
        let again = scanner.redact_text(&redacted).0.into_owned();
        prop_assert_eq!(&again, &redacted);
    }

    #[test]
    fn any_bytes_are_taken(mut bytes in prop::collection::vec(any::<u8>(), 0..400), text in text(), at in any::<prop::sample::Index>()) {
        let at = at.index(bytes.len() + 1);
        bytes.splice(at..at, text.bytes());
        let scanner = scanner();
        let (redacted, found) = scanner.redact_bytes(&bytes);
        prop_assert_eq!(found.iter().all(|finding| !finding.replaced), redacted == bytes);
        let again = scanner.redact_bytes(&redacted).0.into_owned();
        prop_assert_eq!(again, redacted.into_owned());
    }

    #[test]
    fn warn_mode_finds_the_same_and_changes_nothing(text in text()) {
        let warn = Scanner::new(&RedactionSettings { mode: RedactionMode::Warn, ..RedactionSettings::default() }).unwrap();
        let (kept, warned) = warn.redact_text(&text);
        prop_assert_eq!(kept, text.as_str());
        let found = scanner().redact_text(&text).1;
        prop_assert_eq!(warned.len(), found.len());
        for (warned, found) in warned.iter().zip(&found) {
            prop_assert!(!warned.replaced);
            prop_assert_eq!(found.replaced, found.severity == Severity::Secret);
            prop_assert_eq!((&warned.kind, &warned.range), (&found.kind, &found.range));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_memory_of_clean_texts_changes_no_answer(
        texts in prop::collection::vec(text(), 1..4),
        uses in prop::collection::vec(
            (0..4_usize, prop::sample::select(vec!["content", "password", "signature", "tool_use_id", "value"]), 0..3_usize),
            1..10,
        ),
    ) {
        let (plain, remembering) = (scanner(), scanner().with_memory());
        for (which, name, shape) in uses {
            // Long enough to be remembered.
            let text = format!("{}, and then some more words of which none is a secret or looks like one", texts[which % texts.len()]);
            let value = match shape {
                0 => json!({name: text}),
                1 => json!([text, {"name": "TOKEN", name: [text]}]),
                _ => json!({"type": "base64", "media_type": "image/png", "data": text, name: text}),
            };
            let (mut one, mut other) = (value.clone(), value);
            prop_assert_eq!(plain.redact_json(&mut one), remembering.redact_json(&mut other));
            prop_assert_eq!(&one, &other);
            prop_assert_eq!(plain.redact_packed_json(&mut one), remembering.redact_packed_json(&mut other));
            prop_assert_eq!(&one, &other);
        }
    }
}

/// Texts made to be slow: a keyword over and over, alone and with what its pattern reads.
#[test]
fn time_grows_with_length_and_no_faster() {
    let scanner = scanner();
    let mut slow = Vec::new();
    let may_read_far = |rule: &&Rule| rule.check != RuleCheck::Any || rule.nocase || rule.edge == Edge::Token;
    for rule in TABLES.iter().flat_map(|table| table.iter()).filter(may_read_far) {
        let word = rule.keywords[0];
        for tail in ["", "=", "a", "\" "] {
            let text = format!("{word}{tail}").repeat(20_000 / (word.len() + tail.len()));
            let start = Instant::now();
            scanner.scan(text.as_bytes());
            // In an unoptimised build 20 kB take about 10 ms; what is quadratic takes seconds.
            if start.elapsed() > Duration::from_secs(1) {
                slow.push(format!("'{word}{tail}': {:?}", start.elapsed()));
            }
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

/// Texts made so that replacing one secret uncovers the next, many times over.
#[test]
fn chains_are_redacted_once_and_for_all() {
    let scanner = scanner();
    let right = |rule: &&Rule| matches!(rule.edge, Edge::Right | Edge::Both) || rule.back > 0;
    for rule in TABLES.iter().flat_map(|table| table.iter()).filter(right) {
        for tail in ["", "a", "A1", "-", "=", "aB3_-x."] {
            check(&scanner, &format!("{}{tail}", rule.keywords[0]).repeat(200));
        }
    }
    for (index, (_, positive, _)) in (0..).zip(SAMPLES) {
        for between in ["", "-", "_", ".", "~", "/", "\\n"] {
            let all: Vec<String> = (1..15).map(|seed| make(positive, index * 20 + seed).text).collect();
            check(&scanner, &all.join(between));
        }
    }
}

#[test]
fn a_line_of_a_megabyte_is_nothing_special() {
    let scanner = scanner();
    let made = make("ghp_{w36}", 1);
    for filler in [
        "a",
        "ab1 ",
        "-----",
        "\\n",
        "eyJhbGci.",
        "://a:",
        "\u{e4}",
        "{\"k\":\"v\"},",
    ] {
        let mut text = filler.repeat(500_000 / filler.len());
        text.push(' ');
        text.push_str(&made.text);
        text.push(' ');
        text.push_str(&filler.repeat(500_000 / filler.len()));
        let found = scanner.scan(text.as_bytes());
        assert!(
            found
                .iter()
                .any(|finding| finding.kind == "github-token" && finding.line == 1),
            "{filler}"
        );
    }
}
