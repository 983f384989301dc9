//! Every row of the table of rules: compiles, is documented, finds its samples and passes over the near misses.

use std::collections::BTreeSet;

use super::super::engine::{Engine, build};
use super::super::rules::{RuleCheck, TABLES};
use super::super::{Severity, kinds, marker};
use super::table::SAMPLES;
use super::{left_over, make, scanner, secrets};

#[test]
fn every_rule_is_sound() {
    for rule in TABLES.iter().flat_map(|table| table.iter()) {
        let kind = rule.kind;
        let regex = build(rule.pattern).unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert!(regex.captures_len() <= 2, "{kind}: one group at most");
        assert!(!regex.is_match(b""), "{kind}: matches nothing at all");
        assert!(
            !rule.keywords.is_empty() && rule.keywords.iter().all(|word| word.len() >= 3),
            "{kind}: keywords"
        );
        assert!(rule.source.len() > 5, "{kind}: says where the format is described");
        assert_eq!(
            rule.nocase,
            rule.pattern.contains("(?i:"),
            "{kind}: keyword and pattern agree about case"
        );
        assert!(
            !rule.nocase
                || rule
                    .keywords
                    .iter()
                    .all(|word| word.bytes().all(|byte| !byte.is_ascii_uppercase()))
                || kind == "age-secret-key",
            "{kind}: keywords in lower case"
        );
        let name = marker(kind);
        assert_eq!(
            super::super::check::marker_len(name.as_bytes()),
            Some(name.len()),
            "{kind}: fits a marker"
        );
    }
}

#[test]
fn there_are_many_kinds_and_a_sample_of_each() {
    let kinds: BTreeSet<&str> = kinds().into_iter().collect();
    assert!(kinds.len() >= 150, "{} kinds", kinds.len());
    let shown: BTreeSet<&str> = SAMPLES.iter().map(|sample| sample.0).collect();
    assert_eq!(kinds, shown);
}

#[test]
fn every_sample_is_found_under_its_name_and_replaced_whole() {
    let mut wrong = Vec::new();
    for (index, (kind, positive, _)) in (0..).zip(SAMPLES) {
        for seed in 0..5 {
            let made = make(positive, index * 10 + seed + 1);
            let (redacted, found) = scanner().redact_text(&made.text);
            let named = found.iter().any(|finding| finding.kind == *kind && finding.replaced);
            // Ids and the like are next to some secrets; the longest random part is the secret.
            let left = left_over(&redacted, &made);
            let longest = made.parts.iter().map(String::as_str).max_by_key(|part| part.len());
            let gone = left.is_empty() || (BESIDE.contains(kind) && longest.is_some_and(|part| !left.contains(&part)));
            let again = scanner().redact_text(&redacted).0 == redacted;
            if !(named && gone && again && redacted.contains(&marker(kind))) {
                wrong.push(format!(
                    "{kind}: '{}' gave '{redacted}' ({found:?}, again the same: {again})",
                    made.text
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Names of members shorter than this are not looked at, if they have only such characters.
#[test]
fn no_plain_format_is_shorter_than_what_json_skips() {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    for (kind, positive, _) in SAMPLES {
        let text = make(positive, 1).text;
        assert!(text.len() >= 16 || !text.bytes().all(plain), "{kind}: '{text}'");
    }
}

/// Kinds whose samples have other random parts than the secret.
const BESIDE: &[&str] = &[
    "slack-webhook",
    "discord-webhook",
    "google-chat-webhook",
    "jwk-private-key",
    "putty-private-key",
    "password-hash",
];

#[test]
fn near_misses_stay() {
    let mut wrong = Vec::new();
    for (index, (kind, _, near)) in (0..).zip(SAMPLES) {
        for seed in 0..5 {
            let made = make(near, index * 10 + seed + 1);
            let found = secrets(&made.text);
            if !found.is_empty() {
                wrong.push(format!("{kind}: {found:?} in '{}'", made.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn no_pattern_is_compiled_without_its_keyword() {
    let engine = Engine::new();
    let mut matches = 0;
    let text = "Finished the parser; next: wire it to the command line, 3f2a9c41 fixes the rest. ".repeat(5);
    engine.each_match(text.as_bytes(), |_| {
        matches += 1;
        true
    });
    assert_eq!((matches, engine.compiled()), (0, 0));
    let made = make("ghp_{w36}", 1);
    engine.each_match(made.text.as_bytes(), |_| {
        matches += 1;
        true
    });
    assert_eq!((matches, engine.compiled()), (1, 1));
}

#[test]
fn what_only_looks_like_a_secret_is_reported_and_stays() {
    for (kind, template) in [
        ("generic-secret", "password = \"{a5}!{d3}{a3}\""),
        ("generic-secret", "{\"login_password\": \"{w14}\"}"),
        ("generic-secret", "const API_KEY = '{h12}{w12}';"),
        ("generic-secret", "LOGIN_PASSWORD={a6}{d2}"),
        ("high-entropy", "the value is {w40} today"),
    ] {
        let made = make(template, 7);
        let found = scanner().scan(made.text.as_bytes());
        assert_eq!(found.len(), 1, "'{}': {found:?}", made.text);
        assert_eq!((found[0].kind.as_ref(), found[0].severity), (kind, Severity::Warning));
        let (redacted, found) = scanner().redact_text(&made.text);
        assert_eq!(redacted, made.text);
        assert!(!found[0].replaced);
    }
}

#[test]
fn generic_assignments_of_no_secret_are_silent() {
    for text in [
        "password = \"password\"",
        "password: \"${DB_PASSWORD}\"",
        "let token = next_token(input);",
        "token: &str,",
        "let bracket_token = bracketed!(content in input);",
        "or2_token: node.or2_token,",
        "type TokenStream2 = proc_macro2::TokenStream;",
        "let tokens = quote_spanned! {span=> x};",
        "\"token\": \"string\"",
        "secret_name = my-secret-name",
        "api_key=YOUR_API_KEY",
        "const TOKEN: Token = Token::Word(String::new());",
        "{\"token_id\": \"5f0c2f3e-9d1b-4b7a-8f3e-1a2b3c4d5e6f\"}",
        "token = 3f2a9c41b7d0e8f6a5c4b3d2e1f0a9b8c7d6e5f4",
        "password: ********",
        "--password=<password>",
    ] {
        assert_eq!(scanner().scan(text.as_bytes()), [], "'{text}'");
    }
}

#[test]
fn the_table_counts_every_check() {
    // A check that no row uses would be dead weight.
    for check in [
        RuleCheck::Any,
        RuleCheck::Literal,
        RuleCheck::Value,
        RuleCheck::Word,
        RuleCheck::Mixed,
        RuleCheck::Random,
        RuleCheck::Basic,
        RuleCheck::KeyBody,
        RuleCheck::Quoted,
        RuleCheck::Bare,
    ] {
        assert!(
            TABLES
                .iter()
                .flat_map(|table| table.iter())
                .any(|rule| rule.check == check),
            "{check:?}"
        );
    }
}
