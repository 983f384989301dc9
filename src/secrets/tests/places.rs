//! Every format in every place: at the ends of a text, in JSON, URLs, quotes, diffs, logs, after any character.

use super::super::{Scanner, Severity, marker};
use super::table::SAMPLES;
use super::{left_over, make, scanner};

/// Ways to write a text in a place. `¤` represents the text.
const PLACES: &[&str] = &[
    "¤",
    "¤ ",
    " ¤",
    "\n¤\n",
    "\t¤\r\n",
    "'¤'",
    "\"¤\"",
    "`¤`",
    "(¤)",
    "[¤]",
    "<¤>",
    "{¤}",
    "x = ¤;",
    "x: ¤,",
    "KEY=¤",
    "KEY=\"¤\"",
    "export KEY='¤' && run",
    "{\"a\": \"¤\"}",
    "{\"a\":\"¤\",\"b\":\"c\"}",
    "\"line\\n¤\\nline\"",
    "\"tab\\t¤\\ttab\"",
    "\\\"¤\\\"",
    "\\u003d¤\\u0026",
    "a%3D¤%26b",
    "https://example.com/?x=¤&y=1",
    "https://example.com/?x=¤#f",
    "<b>¤</b>",
    "&gt;¤&lt;",
    "+¤",
    "-¤",
    "> ¤",
    "# ¤",
    "// ¤ end",
    "| ¤ |",
    "\u{1b}[32m¤\u{1b}[0m",
    "\\x1b[1;31m¤\\x1b[0m",
    "\\u001b[33m¤\\u001b[39m",
    "日本語¤日本語",
    "é¤é",
    "😀¤😀",
    "\u{feff}¤",
    "\u{200b}¤\u{200b}",
    "=3D¤",
    "2026-11-27T10:00:00Z INFO got ¤ from x",
    "    12\u{2192}¤",
    "$ curl -d ¤\n",
    "¤.",
    "¤, and more",
    "¤!",
    "\0¤\0",
];

#[test]
fn every_format_is_found_in_every_place() {
    let scanner = scanner();
    let mut wrong = Vec::new();
    for (index, (kind, positive, _)) in (0..).zip(SAMPLES) {
        let made = make(positive, index + 77);
        for place in PLACES {
            let text = place.replace('¤', &made.text);
            let (redacted, found) = scanner.redact_text(&text);
            let longest = made.parts.iter().max_by_key(|part| part.len());
            let gone = longest.is_none_or(|part| !redacted.contains(part.as_str()));
            let named = found.iter().any(|finding| finding.severity == Severity::Secret);
            if !(named && gone) {
                wrong.push(format!("{kind} in '{place}': '{redacted}'"));
            }
            if scanner.redact_text(&redacted).0 != redacted {
                wrong.push(format!("{kind} in '{place}' changes again: '{redacted}'"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them: {}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_depends_on_its_surroundings_is_found_between_other_lines() {
    let scanner = scanner();
    for (index, (kind, positive, _)) in (0..).zip(SAMPLES) {
        let made = make(positive, index + 177);
        for (before, after) in [("first line\n", "\nlast line\n"), ("日本語 ", "\n"), ("\n\n", "")] {
            let text = format!("{before}{}{after}", made.text);
            let (redacted, found) = scanner.redact_text(&text);
            assert!(
                found.iter().any(|finding| finding.kind == *kind),
                "{kind}: {found:?} in '{text}'"
            );
            assert!(
                redacted.starts_with(before) && redacted.ends_with(after),
                "{kind}: '{redacted}'"
            );
        }
    }
}

#[test]
fn private_keys_are_found_however_they_are_wrapped() {
    let made = make("{b64} {b64} {b64} {b44}", 5);
    let lines: Vec<&str> = made.text.split(' ').collect();
    let head = format!("-----BEG{} PRIVATE KEY-----", "IN");
    let tail = "-----END PRIVATE KEY-----";
    let all: Vec<&str> = std::iter::once(head.as_str())
        .chain(lines.iter().copied())
        .chain([tail])
        .collect();
    let numbered = |sign: &str| -> String {
        let line = |(n, line): (usize, &&str)| format!("{:>6}{sign}{line}\n", n + 9);
        all.iter().enumerate().map(line).collect()
    };
    let texts = [
        all.join("\n"),
        all.join("\r\n"),
        all.join("\\n"),
        all.join("\\\\n"),
        all.join("\\r\\n"),
        all.join("\n    "),
        all.join("\n+"),
        all.join("\n> "),
        all.join("\n// "),
        all.join("\\n\" +\n  \""),
        all.join("\\n\",\n  \""),
        all.join(" "),
        format!("{head}{}{tail}", lines.concat()),
        numbered("\u{2192}"),
        numbered("\t"),
        numbered(" | "),
        all[..all.len() - 1].join("\n"),
        all[..3].join("\\n"),
        format!("{}…", all[..4].join("\n")),
    ];
    for text in texts {
        let text = format!("before\n{text}\nafter");
        let (redacted, found) = scanner().redact_text(&text);
        assert_eq!(
            found.iter().filter(|finding| finding.replaced).count(),
            1,
            "'{redacted}'"
        );
        assert!(left_over(&redacted, &made).is_empty(), "'{redacted}'");
        assert!(
            redacted.starts_with("before\n") && redacted.ends_with("\nafter"),
            "'{redacted}'"
        );
    }
}

#[test]
fn many_secrets_side_by_side_are_all_replaced() {
    let scanner = scanner();
    let made = make(
        "AKIA{L16},ghp_{w36};glpat-{w20}/dapi{h32} dapi{h32}\nsk_live_{w24}\tnpm_{w36}",
        3,
    );
    let (redacted, found) = scanner.redact_text(&made.text);
    assert_eq!(left_over(&redacted, &made), Vec::<&str>::new());
    assert_eq!(found.iter().filter(|finding| finding.replaced).count(), 7, "{redacted}");
    // Without anything between, each uncovers the next one.
    let made = make("dapi{h32}dapi{h32}dapi{h32}dapi{h32} ghp_{w36}AKIA{L16}", 4);
    let (redacted, _) = scanner.redact_text(&made.text);
    assert_eq!(scanner.redact_text(&redacted).0, redacted);
}

#[test]
fn places_are_counted_in_lines_and_characters() {
    let made = make("ghp_{w36}", 9);
    let text = format!("one\nzwei: äöü {}\n\n  {}", made.text, made.text);
    let found = scanner().scan(text.as_bytes());
    let places: Vec<_> = found.iter().map(|finding| (finding.line, finding.column)).collect();
    assert_eq!(places, [(2, 11), (4, 3)]);
    assert_eq!(&text[found[0].range.clone()], made.text);
    assert_eq!(found[1].to_string(), "github-token at line 4, column 3");
}

#[test]
fn utf_16_is_redacted_as_utf_16() {
    let made = make("Schlüssel ghp_{w36}\r\nende", 2);
    let expected = format!("Schlüssel {}\r\nende", marker("github-token"));
    let wide = |text: &str, little: bool| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units
            .flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() })
            .collect()
    };
    for little in [true, false] {
        let (redacted, found) = scanner().redact_bytes(&wide(&made.text, little)).clone_parts();
        assert_eq!(redacted, wide(&expected, little));
        assert_eq!(
            (found[0].line, found[0].column, found[0].range.clone()),
            (1, 11, 22..102)
        );
        assert_eq!(scanner().scan(&wide(&made.text, little)).len(), 1);
    }
}

/// Owned copies of what a redaction gives.
trait CloneParts {
    fn clone_parts(self) -> (Vec<u8>, Vec<super::Finding>);
}

impl CloneParts for (std::borrow::Cow<'_, [u8]>, Vec<super::Finding>) {
    fn clone_parts(self) -> (Vec<u8>, Vec<super::Finding>) {
        (self.0.into_owned(), self.1)
    }
}

#[test]
fn attachments_that_are_no_text_keep_all_other_bytes() {
    let made = make("ghp_{w36}", 8);
    let mut bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
    bytes.splice(2500..2500, made.text.bytes());
    let scanner: Scanner = scanner();
    let (redacted, found) = scanner.redact_bytes(&bytes);
    assert_eq!(found.len(), 1);
    let mut expected = bytes.clone();
    expected.splice(found[0].range.clone(), marker("github-token").into_bytes());
    assert_eq!(redacted, expected);
}
