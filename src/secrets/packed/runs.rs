//! Runs of base64 and of hexadecimal digits in a text: decoded, cleaned and encoded again.

use std::ops::Range;

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::{SHORTEST, Search, archives};

/// Bits and padding at the end are as the writer left them.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_encode_padding(false)
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent);
const PLAIN: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const FOR_URLS: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);
/// Shorter runs are too short for a secret.
const SHORT: usize = SHORTEST * 4 / 3;

/// The alphabets that each byte is in, a bit each: every byte of every text is looked up here.
const ALPHABETS: [u8; 256] = {
    let mut alphabets = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        let mut bits = 0;
        if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/') {
            bits |= Code::Base64.bit();
        }
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
            bits |= Code::UrlBase64.bit();
        }
        if byte.is_ascii_hexdigit() {
            bits |= Code::Hex.bit();
        }
        alphabets[byte as usize] = bits;
        byte += 1;
    }
    alphabets
};

/// A way to write bytes as text.
#[derive(Clone, Copy, PartialEq)]
enum Code {
    Base64,
    UrlBase64,
    Hex,
}

impl Code {
    fn name(self) -> &'static str {
        match self {
            Self::Base64 | Self::UrlBase64 => "base64",
            Self::Hex => "hex",
        }
    }

    fn has(self, byte: u8) -> bool {
        ALPHABETS[usize::from(byte)] & self.bit() != 0
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Base64 => 1,
            Self::UrlBase64 => 2,
            Self::Hex => 4,
        }
    }

    /// How many digits represent a whole number of bytes.
    fn group(self) -> usize {
        if self == Self::Hex { 2 } else { 4 }
    }

    /// The bytes of the digits, whose number fits.
    fn decode(self, digits: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Base64 => PLAIN.decode(digits).ok(),
            Self::UrlBase64 => FOR_URLS.decode(digits).ok(),
            Self::Hex => {
                let value = |digit: u8| char::from(digit).to_digit(16);
                let pairs = digits.chunks_exact(2);
                pairs
                    .map(|pair| u8::try_from(value(pair[0])? << 4 | value(pair[1])?).ok())
                    .collect()
            }
        }
    }

    fn encode(self, bytes: &[u8], is_upper: bool) -> Vec<u8> {
        match self {
            Self::Base64 => PLAIN.encode(bytes).into_bytes(),
            Self::UrlBase64 => FOR_URLS.encode(bytes).into_bytes(),
            Self::Hex => {
                let digits = if is_upper {
                    b"0123456789ABCDEF"
                } else {
                    b"0123456789abcdef"
                };
                let each = bytes
                    .iter()
                    .flat_map(|byte| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
                each.collect()
            }
        }
    }
}

impl Search<'_> {
    /// The text with its runs cleaned; `None` when nothing changed.
    pub(super) fn runs(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        let mut now: Option<Vec<u8>> = None;
        for code in [Code::Base64, Code::UrlBase64, Code::Hex] {
            if let Some(clean) = self.coded(code, now.as_deref().unwrap_or(text)) {
                now = Some(clean);
            }
        }
        now
    }

    fn coded(&mut self, code: Code, text: &[u8]) -> Option<Vec<u8>> {
        let mut out: Option<Vec<u8>> = None;
        let mut kept = 0;
        let mut at = 0;
        while let Some(run) = next(code, text, at) {
            at = run.end;
            if let Some(clean) = self.run(code, &text[run.clone()]) {
                let out = out.get_or_insert_default();
                out.extend_from_slice(&text[kept..run.start]);
                out.extend_from_slice(&clean);
                kept = run.end;
            }
        }
        if let Some(out) = &mut out {
            out.extend_from_slice(&text[kept..]);
        }
        out
    }

    /// A run cleaned. Letters that are directly before it may belong to the alphabet, so every start is tried.
    fn run(&mut self, code: Code, run: &[u8]) -> Option<Vec<u8>> {
        if code == Code::UrlBase64 && !run.iter().any(|byte| matches!(byte, b'-' | b'_')) {
            return None;
        }
        let digits = digits(code, run);
        for start in 0..code.group() {
            let part = digits.get(start..)?;
            // A single digit over is no byte.
            let over = match (code, part.len() % code.group()) {
                (Code::Hex, over) => over,
                (_, 1) => 1,
                _ => 0,
            };
            let Some(bytes) = code.decode(&part[..part.len() - over]) else {
                continue;
            };
            if !may_hold(&bytes) {
                continue;
            }
            let Some(clean) = self.inside(code.name(), &bytes) else {
                continue;
            };
            let is_upper = run.iter().any(u8::is_ascii_uppercase);
            let mut new = digits[..start].to_vec();
            new.extend(code.encode(&clean, is_upper));
            new.extend_from_slice(&part[part.len() - over..]);
            return Some(laid_out(new, run));
        }
        None
    }
}

/// Whether bytes can hold a secret at all: they are packed, or have a stretch of text.
fn may_hold(bytes: &[u8]) -> bool {
    if archives::form(bytes).is_some() || archives::unread_form(bytes).is_some() {
        return true;
    }
    // UTF-16 has a zero after each letter.
    let is_text = |byte: u8| matches!(byte, 0x20..0x7f | b'\n' | b'\r' | b'\t' | 0);
    let mut at = 0;
    // As in `next`: a stretch that is long enough and begins at or before this byte has it in it.
    while let Some(probe) = bytes.get(at + SHORTEST - 1) {
        let probed = at + SHORTEST - 1;
        if !is_text(*probe) {
            at = probed + 1;
            continue;
        }
        let mut end = probed;
        while end > at && is_text(bytes[end - 1]) {
            end -= 1;
        }
        let mut letters = 0;
        while end < bytes.len() && is_text(bytes[end]) {
            letters += usize::from(bytes[end] != 0);
            end += 1;
        }
        if letters >= SHORTEST {
            return true;
        }
        at = end;
    }
    false
}

/// The length of the space at the start of a text, line ends that are written as escapes (`\n`) included.
fn gap(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let slashes = text[at..].iter().take_while(|byte| **byte == b'\\').count();
        match text.get(at + slashes) {
            Some(b'n' | b'r') if slashes > 0 => at += slashes + 1,
            Some(b'u') if slashes > 0 && is_line_end(&text[at + slashes..]) => at += slashes + 5,
            _ => return at,
        }
    }
}

/// Whether an escape is that of a line end: `u000a`.
fn is_line_end(escape: &[u8]) -> bool {
    matches!(escape, [b'u', b'0', b'0', b'0', b'a' | b'A' | b'd' | b'D', ..])
}

/// Whether a space holds the end of a line.
fn is_break(gap: &[u8]) -> bool {
    gap.iter().any(|byte| matches!(byte, b'\n' | b'\\'))
}

/// The digits of a run, without the line ends in it.
fn digits(code: Code, run: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(run.len());
    let mut at = 0;
    while at < run.len() {
        if code.has(run[at]) {
            out.push(run[at]);
            at += 1;
        } else {
            at += gap(&run[at..]).max(1);
        }
    }
    out
}

/// The digits with the padding and the line ends of the run that they replace.
fn laid_out(digits: Vec<u8>, run: &[u8]) -> Vec<u8> {
    let line = run.iter().position(|byte| matches!(byte, b'\r' | b'\n' | b'\\'));
    let count = digits.len();
    let mut out = match line {
        None => digits,
        Some(width) => {
            let space = gap(&run[width..]);
            digits
                .chunks(width.max(1))
                .collect::<Vec<_>>()
                .join(&run[width..width + space])
        }
    };
    if run.ends_with(b"=") {
        out.resize(out.len() + (4 - count % 4) % 4, b'=');
    }
    out
}

/// The next run that is long enough, from a place on. One that goes on at the next line, as mail and certificates are
/// wrapped, is one run.
fn next(code: Code, text: &[u8], from: usize) -> Option<Range<usize>> {
    // Plain loops, here and below: most of the time for a large text is spent here.
    let length = |start: usize| {
        let mut end = start;
        while end < text.len() && code.has(text[end]) {
            end += 1;
        }
        end - start
    };
    let mut at = from;
    loop {
        // A run that is long enough and begins at or before this byte has it in it. Most text is passed over by this step.
        let probe = at + SHORT - 1;
        if !code.has(*text.get(probe)?) {
            at = probe + 1;
            continue;
        }
        let mut start = probe;
        while start > at && code.has(text[start - 1]) {
            start -= 1;
        }
        let width = length(start);
        at = start + width;
        if width < SHORT {
            continue;
        }
        if width >= 32 {
            loop {
                let gap = gap(&text[at..]);
                let more = length(at + gap);
                if !is_break(&text[at..at + gap]) || more == 0 || more > width {
                    break;
                }
                at += gap + more;
                if more < width {
                    break;
                }
            }
        }
        if code != Code::Hex {
            at += text[at..].iter().take(2).take_while(|byte| **byte == b'=').count();
        }
        return Some(start..at);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The first run of that length, a byte at a time.
    fn first(code: Code, text: &[u8], from: usize) -> Option<usize> {
        let is_start = |at: &usize| *at == from || !code.has(text[at - 1]);
        let is_long = |at: &usize| text[*at..].iter().take_while(|byte| code.has(**byte)).count() >= SHORT;
        (from..text.len()).filter(is_start).find(is_long)
    }

    proptest! {
        #[test]
        fn no_run_is_passed_over(text in "([a-f]{0,30}|[0-9]{0,25}|[-_]{0,2}|[+/]{0,3}|[ .=\n\\\\é]{1,2}|[G-Z]{0,24}){0,8}", from in 0_usize..40) {
            let text = text.as_bytes();
            let from = from.min(text.len());
            for code in [Code::Base64, Code::UrlBase64, Code::Hex] {
                prop_assert_eq!(next(code, text, from).map(|run| run.start), first(code, text, from));
            }
        }
    }
}
