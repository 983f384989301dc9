//! Strings that look random though no rule names them. Entropy alone proves nothing, so this only ever warns, and it
//! leaves alone what is known to look random and is no secret: object ids, digests, UUIDs, ids of messages and
//! calls, integrity hashes, encoded data.

use super::check::{entropy, is_id};

/// Shorter strings are mostly identifiers, longer ones mostly encoded data.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=160;

/// Bits a byte. Random base64 of 24 characters has 4.2 or more nearly always; camel case of that length stays below.
const BITS: f32 = 4.0;

/// Prefixes of ids that agents, model providers and chat tools give to messages, calls and files.
const IDS: &[&str] = &[
    "toolu_",
    "srvtoolu_",
    "msg_",
    "call_",
    "req_",
    "resp_",
    "rs_",
    "fc_",
    "ws_",
    "chatcmpl-",
    "cmpl-",
    "thread_",
    "run_",
    "asst_",
    "file-",
    "file_",
    "session_",
    "ses_",
    "prt_",
    "evt_",
    "cus_",
    "price_",
    "prod_",
    "pi_",
    "AAAA",
    "_ZN",
    "sha1-",
    "sha256-",
    "sha384-",
    "sha512-",
    "h1:",
];

/// Calls `found` with start and end of every such string.
pub(super) fn each(text: &[u8], mut found: impl FnMut(usize, usize)) {
    let mut from = 0;
    // A string that is long enough and begins at or before this byte has it in it. Most text is passed over by this step.
    while let Some(probe) = text.get(from + LENGTHS.start() - 1) {
        let probed = from + LENGTHS.start() - 1;
        if !is_token(*probe) {
            from = probed + 1;
            continue;
        }
        let (mut start, mut end) = (probed, probed);
        while start > from && is_token(text[start - 1]) {
            start -= 1;
        }
        while end < text.len() && is_token(text[end]) {
            end += 1;
        }
        let len = end - start;
        if LENGTHS.contains(&len) && !is_known(text, start, end) {
            // A path is judged step by step.
            let mut at = start;
            for part in text[start..end].split(|byte| *byte == b'/') {
                if LENGTHS.contains(&part.len()) && is_random(part) {
                    found(at, at + part.len());
                }
                at += part.len() + 1;
            }
        }
        from = end + 1;
    }
}

fn is_token(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'/' | b'_' | b'-')
}

/// All three classes, many changes between them and high entropy. The fall from a capital to what follows it is not
/// counted: a name in camel case then changes at every fifth character, base64 at every second or third.
fn is_random(token: &[u8]) -> bool {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 0_u8,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let mut seen = [0_usize; 4];
    let mut changes = 0;
    for pair in token.windows(2) {
        let (from, to) = (class(pair[0]), class(pair[1]));
        changes += usize::from(from != to && (from, to) != (1, 0) && from != 3 && to != 3);
    }
    for &byte in token {
        seen[usize::from(class(byte))] += 1;
    }
    seen[0] > 1
        && seen[1] > 1
        && seen[2] > 1
        && seen[3] * 6 <= token.len()
        && changes * 10 >= token.len() * 3
        && !is_id(token)
        && entropy(token) >= BITS
}

/// Known not to be a secret by its prefix or by the text around it.
fn is_known(text: &[u8], start: usize, end: usize) -> bool {
    let token = &text[start..end];
    let before = &text[start.saturating_sub(32)..start];
    let by_prefix = IDS
        .iter()
        .any(|prefix| token.starts_with(prefix.as_bytes()) || before.ends_with(prefix.as_bytes()));
    // A whole line of base64 belongs to a certificate, a public key or a mail attachment.
    let line_end = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'\\'));
    let whole_line =
        start > 0 && matches!(before.last(), Some(b'\n' | b'n')) && line_end(text.get(end)) && token.len() >= 60;
    let file_name = text.get(end) == Some(&b'.') && text.get(end + 1).is_some_and(u8::is_ascii_alphabetic);
    by_prefix || whole_line || file_name || before.ends_with(b"base64,") || is_id_member(before)
}

/// Whether the text ends with the name of an id: `"id":"`, `requestId=`, `uuid: `.
fn is_id_member(before: &[u8]) -> bool {
    let name = before.trim_ascii_end();
    let cut = name
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\' | b':' | b'=' | b' '))
        .count();
    let name = &name[..name.len() - cut];
    cut > 0
        && [
            "id",
            "Id",
            "ID",
            "uuid",
            "hash",
            "digest",
            "checksum",
            "integrity",
            "signature",
            "nonce",
            "etag",
            "ETag",
        ]
        .iter()
        .any(|end| name.ends_with(end.as_bytes()))
}
