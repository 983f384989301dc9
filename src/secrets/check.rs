//! Checks that a regular expression cannot express: edges of a match, placeholders, entropy, decoded base64. Pure
//! functions over bytes; each reads a bounded stretch.

use super::rules::{Edge, Rule, RuleCheck};

/// Whether what precedes a match lets it begin at `start`. `previous_end` is where the last accepted secret ended: a
/// marker is going to end there, so what precedes that does not count.
pub(super) fn left_holds(edge: Edge, text: &[u8], start: usize, previous_end: usize) -> bool {
    let floor = if previous_end <= start { previous_end } else { 0 };
    match edge {
        Edge::Free | Edge::Right => true,
        Edge::Left | Edge::Both => open_before(&text[floor..], start - floor, false),
        Edge::Token => open_before(&text[floor..], start - floor, true),
    }
}

/// Whether what follows a match lets it end at `end`.
pub(super) fn right_holds(edge: Edge, text: &[u8], end: usize) -> bool {
    !matches!(edge, Edge::Right | Edge::Both) || text.get(end).is_none_or(|byte| !byte.is_ascii_alphanumeric())
}

/// Whether a word may begin at `at`: no letter or digit precedes it (with `token` no `-` or `_` either), or what is
/// there is the end of an escape: `\n`, `\u003d`, `\x3d`, `%3D`, `=3D`, or a terminal's color code.
fn open_before(text: &[u8], at: usize, token: bool) -> bool {
    let Some(&last) = at.checked_sub(1).and_then(|before| text.get(before)) else {
        return true;
    };
    if !last.is_ascii_alphanumeric() {
        let joins = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        // A single sign, as before a line that a diff takes away, is no part of a run.
        return !token
            || !joins(&last)
            || at
                .checked_sub(2)
                .and_then(|two| text.get(two))
                .is_none_or(|byte| !joins(byte));
    }
    let before = &text[..at];
    let hex = |count: usize| before.len() >= count && before[before.len() - count..].iter().all(u8::is_ascii_hexdigit);
    let ends = |skip: usize, with: &[u8]| before.len() >= skip && before[..before.len() - skip].ends_with(with);
    (matches!(last, b'a' | b'b' | b'e' | b'f' | b'n' | b'r' | b't' | b'v' | b'0') && ends(1, b"\\"))
        || (hex(2) && (ends(2, b"%") || ends(2, b"=") || ends(2, b"\\x")))
        || (hex(4) && ends(4, b"\\u"))
        || (last == b'm' && ends_color(before))
}

/// Whether the text ends with a color code: ESC, also spelt `\x1b`, `\u001b`, `\e` or `\033`, then `[`, digits and
/// `;`, then `m`.
fn ends_color(text: &[u8]) -> bool {
    let body = &text[..text.len() - 1];
    let digits = body
        .iter()
        .rev()
        .take(16)
        .take_while(|byte| byte.is_ascii_digit() || **byte == b';')
        .count();
    let head = &body[..body.len() - digits];
    head.last() == Some(&b'[') && head.len() >= 2 && matches!(head[head.len() - 2], 0x1b | b'b' | b'B' | b'e' | b'3')
}

/// Whether the secret is what its rule wants beyond the pattern.
pub(super) fn holds(rule: &Rule, secret: &[u8]) -> bool {
    !is_filler(secret)
        && !is_published(rule.kind, secret)
        && check(rule.check, secret)
        && (rule.bits == 0.0 || entropy(secret) >= rule.bits)
}

fn check(check: RuleCheck, secret: &[u8]) -> bool {
    match check {
        RuleCheck::Any => true,
        RuleCheck::Literal => !is_template(secret),
        RuleCheck::Value => !is_placeholder(secret),
        RuleCheck::Word => {
            !is_placeholder(secret)
                && (has(secret, u8::is_ascii_digit)
                    || (has(secret, u8::is_ascii_lowercase) && has(secret, u8::is_ascii_uppercase)))
        }
        RuleCheck::Mixed => {
            !is_placeholder(secret) && has(secret, u8::is_ascii_digit) && has(secret, u8::is_ascii_alphabetic)
        }
        RuleCheck::Random => {
            !is_placeholder(secret)
                && has(secret, u8::is_ascii_digit)
                && has(secret, u8::is_ascii_lowercase)
                && has(secret, u8::is_ascii_uppercase)
        }
        RuleCheck::Basic => is_basic(secret),
        RuleCheck::KeyBody => is_key_body(secret),
        RuleCheck::Quoted => is_assigned(secret),
        RuleCheck::Bare => has(secret, u8::is_ascii_digit) && !secret.starts_with(b"-") && is_assigned(secret),
    }
}

fn has(bytes: &[u8], class: impl Fn(&u8) -> bool) -> bool {
    bytes.iter().any(class)
}

/// Shannon entropy in bits a byte; 0 for the empty string, at most 8.
pub(super) fn entropy(bytes: &[u8]) -> f32 {
    let mut counts = [0_u32; 256];
    for &byte in bytes {
        counts[usize::from(byte)] += 1;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "secrets are far shorter than 2^23 bytes, and a bound on entropy needs no more digits"
    )]
    let total = bytes.len() as f32;
    #[expect(clippy::cast_precision_loss, reason = "as above")]
    let bits = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| *count as f32 / total)
        .map(|share| -share * share.log2())
        .sum();
    bits
}

/// `xxxxxxxx`, `********` and the like at the end, as documentation writes a token.
fn is_filler(secret: &[u8]) -> bool {
    let tail = &secret[secret.len().saturating_sub(12)..];
    match tail.first() {
        Some(first @ (b'x' | b'X' | b'*' | b'.' | b'#' | b'_' | b'-')) => tail.iter().all(|byte| byte == first),
        _ => false,
    }
}

/// An example of the documentation of AWS: its identifiers and keys end so, and by chance one in 10^10 does.
fn is_published(kind: &str, secret: &[u8]) -> bool {
    let ends = [&b"EXAMPLE"[..], b"EXAMPLEKEY", b"EXAMPLEID"];
    kind.starts_with("aws-") && ends.iter().any(|end| secret.ends_with(end))
}

/// Words that are where a secret would be, in lower case.
const PLACEHOLDERS: &[&str] = &[
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "token",
    "changeme",
    "change-me",
    "change_me",
    "example",
    "user",
    "username",
    "null",
    "none",
    "nil",
    "undefined",
    "true",
    "false",
    "string",
    "value",
    "key",
    "apikey",
    "api-key",
    "api_key",
    "redacted",
    "hidden",
    "masked",
    "xxx",
    "placeholder",
    "credentials",
    "passphrase",
    "access-token",
    "access_token",
    "auth-token",
    "auth_token",
    "bearer",
    "basic",
];

/// Parts that only variables and templates have.
const TEMPLATES: &[&str] = &[
    "...",
    "…",
    "process.env",
    "os.environ",
    "import.meta",
    "env.",
    "${",
    "{{",
    "$(",
];

/// How the words for one's own secret in documentation begin.
const YOURS: &[&str] = &[
    "your-", "your_", "your.", "my-", "my_", "insert-", "insert_", "enter-", "some-", "some_",
];

/// A variable, a template, a mask or a word for a secret rather than a secret.
fn is_placeholder(value: &[u8]) -> bool {
    is_template(value)
        || std::str::from_utf8(value).is_ok_and(|text| PLACEHOLDERS.contains(&text.to_ascii_lowercase().as_str()))
}

/// A variable, a template or a mask.
fn is_template(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else {
        return false;
    };
    let Some(first) = text.chars().next() else {
        return true;
    };
    let lower = text.to_ascii_lowercase();
    let encoded = text.starts_with("%2") || text.starts_with("%3");
    (matches!(first, '$' | '{' | '<' | '%' | '*' | '[' | '(' | '&') && !encoded)
        || YOURS.iter().any(|start| lower.starts_with(start))
        || TEMPLATES.iter().any(|part| lower.contains(part))
        || (text.contains('_') && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
        || text.chars().all(|c| c == first)
}

/// Base64 of printable text with a colon that is not first: the credentials of HTTP Basic and of a registry.
fn is_basic(secret: &[u8]) -> bool {
    let mut decoded = Vec::with_capacity(secret.len());
    let mut bits = 0_u32;
    let mut count = 0;
    for byte in secret.iter().filter(|byte| **byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            _ => 63,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.push((bits >> count & 0xff) as u8);
        }
    }
    let colon = decoded.iter().position(|byte| *byte == b':');
    colon.is_some_and(|at| at > 0 && at + 1 < decoded.len())
        && std::str::from_utf8(&decoded).is_ok()
        && decoded.iter().all(|byte| (0x20..0x7f).contains(byte) || *byte >= 0x80)
}

/// Whether a PEM match holds a key: one run of 24 or more base64 characters with a digit, and such runs make up half
/// of what is not white space. Keeps code and prose that merely name the two lines from being taken for a block.
fn is_key_body(secret: &[u8]) -> bool {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let mut long = false;
    let mut in_runs = 0;
    for run in secret.split(|byte| !is_base64(byte)).filter(|run| run.len() >= 16) {
        in_runs += run.len();
        long |= run.len() >= 24 && has(run, u8::is_ascii_digit);
    }
    // The two lines themselves, which no run counts, are about 60 bytes.
    let solid = secret
        .iter()
        .filter(|byte| !byte.is_ascii_whitespace())
        .count()
        .saturating_sub(60);
    long && in_runs * 2 >= solid
}

/// The value of a generic assignment: no placeholder, no identifier, call, path, id or digest, and not a plain word.
fn is_assigned(secret: &[u8]) -> bool {
    let digit = has(secret, u8::is_ascii_digit);
    let letter = has(secret, u8::is_ascii_alphabetic);
    let symbol = has(secret, |byte| {
        byte.is_ascii_punctuation() && !matches!(byte, b'-' | b'_' | b'.' | b'/' | b':')
    });
    letter
        && (digit || symbol)
        && !is_placeholder(secret)
        && !is_id(secret)
        && !secret.starts_with(b"/")
        && !secret.starts_with(b"./")
        && entropy(secret) >= 2.7
}

/// A number, a hexadecimal id or digest, or a UUID.
pub(super) fn is_id(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
}

/// A marker `[REDACTED:kind]` at the beginning of `text`: its length.
pub(super) fn marker_len(text: &[u8]) -> Option<usize> {
    let kind = text.strip_prefix(super::MARKER_START.as_bytes())?;
    let len = kind
        .iter()
        .take(65)
        .take_while(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || **byte == b'-')
        .count();
    (len > 0 && kind.get(len) == Some(&b']')).then_some(super::MARKER_START.len() + len + 1)
}
