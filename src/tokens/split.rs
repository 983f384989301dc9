//! Where a text is cut into pieces before merging: the two published patterns, matched by hand.
//!
//! Each function gives the length of the first piece of a text that is not empty. The order of attempts is the order
//! of the alternatives in the pattern; where the pattern would go back a character at a time, the place it ends up at
//! is computed directly.

use super::classes::{Class, class};

mod ascii;

fn first(text: &str) -> Option<(char, Class)> {
    text.chars().next().map(|c| (c, class(c)))
}

/// The length of the longest beginning of these characters.
fn run(text: &str, is_in: impl Fn(char, Class) -> bool) -> usize {
    text.char_indices()
        .find(|(_, c)| !is_in(*c, class(*c)))
        .map_or(text.len(), |(at, _)| at)
}

/// `(?i:'s|'t|'re|'ve|'m|'ll|'d)`, where the long s is an s; 0 if there is none.
fn contraction(text: &str) -> usize {
    let mut chars = text.chars();
    if chars.next() != Some('\'') {
        return 0;
    }
    let Some(one) = chars.next() else { return 0 };
    match one.to_ascii_lowercase() {
        's' | '\u{17f}' | 't' | 'm' | 'd' => 1 + one.len_utf8(),
        letter => match (letter, chars.next().map(|c| c.to_ascii_lowercase())) {
            ('r' | 'v', Some('e')) | ('l', Some('l')) => 3,
            _ => 0,
        },
    }
}

/// `\p{N}{1,3}`; 0 if there is none.
fn digits(text: &str) -> usize {
    text.chars()
        .take(3)
        .take_while(|c| class(*c) == Class::Number)
        .map(char::len_utf8)
        .sum()
}

/// ` ?[^\s\p{L}\p{N}]+` and then any of `ends`; 0 if there is none.
fn signs(text: &str, ends: &[char]) -> usize {
    let space = usize::from(text.starts_with(' '));
    let len = run(&text[space..], |_, class| class.is_sign());
    if len == 0 {
        return 0;
    }
    let end = space + len;
    end + run(&text[end..], |c, _| ends.contains(&c))
}

/// A run of white space: its length, the end of its last line end, and the start of its last character.
struct BlankRun {
    len: usize,
    line_end: Option<usize>,
    last: usize,
}

fn blank(text: &str) -> BlankRun {
    let (mut len, mut line_end, mut last) = (0, None, 0);
    for c in text.chars().take_while(|c| class(*c) == Class::Space) {
        last = len;
        len += c.len_utf8();
        if matches!(c, '\r' | '\n') {
            line_end = Some(len);
        }
    }
    BlankRun { len, line_end, last }
}

/// The first piece by the pattern of `o200k_base`.
pub(super) fn o200k(text: &str) -> usize {
    ascii::o200k(text.as_bytes()).unwrap_or_else(|| o200k_of_any(text))
}

/// The same for all characters.
fn o200k_of_any(text: &str) -> usize {
    let Some((c, kind)) = first(text) else { return 0 };
    // A character before a word that is neither letter, number nor line end.
    let before = (!kind.is_letter() && kind != Class::Number && !matches!(c, '\r' | '\n')).then(|| c.len_utf8());
    for word in [lower_word, upper_word] {
        for start in before.into_iter().chain([0]) {
            let len = word(&text[start..]);
            if len > 0 {
                let end = start + len;
                return end + contraction(&text[end..]);
            }
        }
    }
    for len in [digits(text), signs(text, &['\r', '\n', '/'])] {
        if len > 0 {
            return len;
        }
    }
    let blank = blank(text);
    match blank.line_end {
        Some(end) => end,
        None if blank.len == text.len() || blank.last == 0 => blank.len,
        None => blank.last,
    }
}

/// `[Lu Lt Lm Lo M]*[Ll Lm Lo M]+`; 0 if there is none.
fn lower_word(text: &str) -> usize {
    let mut upper = 0;
    // The end of the last character that could as well be lower: where the pattern ends up when nothing lower follows.
    let mut either = 0;
    for c in text.chars() {
        let kind = class(c);
        if !kind.is_upper() {
            break;
        }
        upper += c.len_utf8();
        if kind.is_lower() {
            either = upper;
        }
    }
    match run(&text[upper..], |_, class| class.is_lower()) {
        0 => either,
        lower => upper + lower,
    }
}

/// `[Lu Lt Lm Lo M]+[Ll Lm Lo M]*`; 0 if there is none.
fn upper_word(text: &str) -> usize {
    match run(text, |_, class| class.is_upper()) {
        0 => 0,
        upper => upper + run(&text[upper..], |_, class| class.is_lower()),
    }
}

/// The first piece by the pattern of `cl100k_base`.
pub(super) fn cl100k(text: &str) -> usize {
    let Some((c, kind)) = first(text) else { return 0 };
    let short = contraction(text);
    if short > 0 {
        return short;
    }
    let start = if !kind.is_letter() && kind != Class::Number && !matches!(c, '\r' | '\n') {
        c.len_utf8()
    } else {
        0
    };
    let word = run(&text[start..], |_, class| class.is_letter());
    if word > 0 {
        return start + word;
    }
    for len in [digits(text), signs(text, &['\r', '\n'])] {
        if len > 0 {
            return len;
        }
    }
    let blank = blank(text);
    match blank.line_end {
        _ if blank.len == text.len() => blank.len,
        Some(end) => end,
        None if blank.last == 0 => blank.len,
        None => blank.last,
    }
}
