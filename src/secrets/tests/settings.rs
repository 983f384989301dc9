//! Modes, the allow-list, rules of one's own, and what is refused.

use super::super::{Error, OwnRule, RedactionMode, RedactionSettings, Scanner, Severity, kinds, marker};
use super::make;

fn with(allow: &[&str], rules: &[(&str, &str)]) -> Result<Scanner, Error> {
    let rules = rules
        .iter()
        .map(|(kind, pattern)| OwnRule {
            kind: (*kind).to_owned(),
            pattern: (*pattern).to_owned(),
        })
        .collect();
    Scanner::new(&RedactionSettings {
        mode: RedactionMode::On,
        allow: allow.iter().map(|entry| (*entry).to_owned()).collect(),
        rules,
    })
}

#[test]
fn modes_are_read_as_git_reads_booleans() {
    for (text, mode) in [
        ("on", RedactionMode::On),
        ("TRUE", RedactionMode::On),
        ("warn", RedactionMode::Warn),
        ("off", RedactionMode::Off),
        ("false", RedactionMode::Off),
        ("no", RedactionMode::Off),
    ] {
        assert_eq!(text.parse(), Ok(mode));
    }
    let error = "sometimes".parse::<RedactionMode>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown redaction mode 'sometimes': use on, warn or off"
    );
}

#[test]
fn off_looks_at_nothing() {
    let made = make("ghp_{w36}", 1);
    let scanner = Scanner::new(&RedactionSettings {
        mode: RedactionMode::Off,
        ..RedactionSettings::default()
    })
    .unwrap();
    assert_eq!(scanner.mode(), RedactionMode::Off);
    assert_eq!(scanner.redact_text(&made.text), (made.text.as_str().into(), Vec::new()));
    assert_eq!(scanner.scan(made.text.as_bytes()), []);
    assert_eq!(scanner.redact_bytes(made.text.as_bytes()).1, []);
}

#[test]
fn what_is_allowed_stays_and_the_rest_goes() {
    let made = make("AKIA{L16} ghp_{w36}", 1);
    let (id, token) = made.text.split_once(' ').unwrap();
    let kept = |allow: &str| with(&[allow], &[]).unwrap().redact_text(&made.text).0.into_owned();
    assert_eq!(kept(id), format!("{id} {}", marker("github-token")));
    assert_eq!(
        kept(&format!("/^{}/", &token[..8])),
        format!("{} {token}", marker("aws-access-key-id"))
    );
    assert_eq!(
        kept("kind:github-token"),
        format!("{} {token}", marker("aws-access-key-id"))
    );
    // Part of a secret is not the secret.
    assert!(!kept(&id[..10]).contains(id));
    let made = make("password: \"{w14}\" {w40}", 1);
    assert_eq!(
        with(&["kind:generic-secret", "kind:high-entropy"], &[])
            .unwrap()
            .scan(made.text.as_bytes()),
        []
    );
}

#[test]
fn own_rules_are_replaced_under_their_name() {
    let scanner = with(
        &[],
        &[("acme-ticket", r"ACME-[0-9]{4}"), ("pin", r"(?i)pin: ([0-9]{4})")],
    )
    .unwrap();
    let (redacted, found) = scanner.redact_text("see ACME-1234, PIN: 4711, ACME-12");
    assert_eq!(redacted, "see [REDACTED:acme-ticket], PIN: [REDACTED:pin], ACME-12");
    assert!(
        found
            .iter()
            .all(|finding| finding.severity == Severity::Secret && finding.replaced)
    );
    let kinds: Vec<&str> = found.iter().map(|finding| finding.kind.as_ref()).collect();
    assert_eq!(kinds, ["acme-ticket", "pin"]);
    // Bytes inside a character take the whole character with them.
    let scanner = with(&[], &[("umlaut", r"\xc3")]).unwrap();
    assert_eq!(scanner.redact_text("aäb").0, "a[REDACTED:umlaut]b");
    assert_eq!(with(&["kind:pin"], &[("pin", "[0-9]{4}")]).unwrap().scan(b"4711"), []);
}

#[test]
fn wrong_settings_are_named_in_one_line() {
    for (result, message) in [
        (
            with(&[], &[("x", "a(b")]),
            "bad pattern 'a(b' of redaction rule 'x': unclosed group",
        ),
        (
            with(&[], &[("Bad Name", "a")]),
            "bad name 'Bad Name' of a redaction rule: use lower-case letters, digits and '-', a letter first",
        ),
        (
            with(&[], &[("", "a")]),
            "bad name '' of a redaction rule: use lower-case letters, digits and '-', a letter first",
        ),
        (
            with(&["/[/"], &[]),
            "bad pattern '/[/' in the list of what is no secret: unclosed character class",
        ),
        (
            with(&["kind:none-such"], &[]),
            "unknown kind 'none-such' in the list of what is no secret",
        ),
        (with(&[""], &[]), "empty entry in the list of what is no secret"),
    ] {
        assert_eq!(result.err().unwrap().to_string(), message);
    }
    let large = with(&[], &[("x", "(?:a{1000}){1000}{1000}")])
        .err()
        .unwrap()
        .to_string();
    assert!(large.contains("larger than") && !large.contains('\n'), "{large}");
}

#[test]
fn kinds_are_sorted_and_each_is_there_once() {
    let kinds = kinds();
    assert!(kinds.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(kinds.contains(&"github-token") && !kinds.contains(&"generic-secret"));
}
