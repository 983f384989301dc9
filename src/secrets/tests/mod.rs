//! Tests of the secret scanner. No file here holds anything that a scanner would take for a secret: values are made
//! when the tests run, from templates such as `ghp_{w36}` (see `make`).

mod formats;
mod json;
mod ordinary;
mod packed;
mod places;
mod properties;
mod settings;
mod stream;
mod table;

use super::{Finding, RedactionSettings, Scanner, Severity};

fn scanner() -> Scanner {
    Scanner::new(&RedactionSettings::default()).unwrap()
}

/// Only the findings that are replaced.
fn secrets(text: &str) -> Vec<Finding> {
    let all = scanner().scan(text.as_bytes());
    all.into_iter()
        .filter(|finding| finding.severity == Severity::Secret)
        .collect()
}

/// A text made from a template, and its random parts of six or more characters.
struct Made {
    text: String,
    parts: Vec<String>,
}

/// Fills in a template: `{w36}` is 36 characters of the class `w`, always the same ones for the same `seed`, other
/// braces represent themselves, and `|` is left out (it breaks words that a scanner would see). Classes: `a` lower
/// case, `A` upper case, `d` digits, `h` and `H` hexadecimal, `l` and `L` letters of one case and digits, `w` letters
/// and digits, `u` base64 for URLs, `b` base64, `s` bech32, `o` base58, `U` a UUID.
fn make(template: &str, seed: u64) -> Made {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut made = Made {
        text: String::new(),
        parts: Vec::new(),
    };
    let mut rest = template;
    while let Some(open) = rest.find(['{', '|']) {
        made.text.push_str(&rest[..open]);
        let spec = rest[open + 1..].split('}').next().unwrap_or_default();
        if rest[open..].starts_with('|') {
            rest = &rest[open + 1..];
        } else if spec == "U" || (spec.len() > 1 && spec[1..].parse::<u16>().is_ok()) {
            let part = fill(spec, &mut random);
            made.text.push_str(&part);
            if part.len() >= 6 {
                made.parts.push(part);
            }
            rest = &rest[open + spec.len() + 2..];
        } else {
            made.text.push('{');
            rest = &rest[open + 1..];
        }
    }
    made.text.push_str(rest);
    made
}

fn fill(spec: &str, random: &mut impl FnMut() -> u64) -> String {
    const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
    const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const DIGITS: &str = "0123456789";
    let groups: &[&str] = match spec.as_bytes()[0] {
        b'a' => &[LOWER],
        b'A' => &[UPPER],
        b'd' => &[DIGITS],
        b'h' => &["abcdef", DIGITS],
        b'H' => &["ABCDEF", DIGITS],
        b'l' => &[LOWER, DIGITS],
        b'L' => &[UPPER, DIGITS],
        b'w' => &[LOWER, UPPER, DIGITS],
        b'u' => &[LOWER, UPPER, DIGITS, "-_"],
        b'b' => &[LOWER, UPPER, DIGITS, "+/"],
        b's' => &["qpzry9x8gf2tvdw0s3jn54khce6mua7l"],
        b'o' => &["123456789", "ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnopqrstuvwxyz"],
        b'U' => return ["h8", "h4", "h4", "h4", "h12"].map(|part| fill(part, random)).join("-"),
        other => panic!("no class '{}'", char::from(other)),
    };
    let count: usize = spec[1..].parse().expect("a template gives a count");
    let all: Vec<u8> = groups.iter().flat_map(|group| group.bytes()).collect();
    let mut pick = |from: &[u8]| char::from(from[usize::try_from(random() >> 33).unwrap() % from.len()]);
    // One of each of the first three groups at the start, so that no class is missing by chance.
    let first: String = groups
        .iter()
        .take(3)
        .take(count)
        .map(|group| pick(group.as_bytes()))
        .collect();
    let len = first.len();
    first + &(len..count).map(|_| pick(&all)).collect::<String>()
}

/// The random parts of a made text that are still in `text`.
fn left_over<'m>(text: &str, made: &'m Made) -> Vec<&'m str> {
    made.parts
        .iter()
        .map(String::as_str)
        .filter(|part| text.contains(part))
        .collect()
}
