//! Base64 with the standard alphabet and padding, in its one canonical form: what is decoded encodes to the same text.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of some bytes.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |n: usize| u32::from(group.get(n).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for n in 0..4 {
            if n <= group.len() {
                out.push(char::from(ALPHABET[(bits >> (18 - 6 * n) & 63) as usize]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

/// The bytes of a text; `None` unless encoding them gives exactly that text.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.trim_end_matches('=');
    if text.len() - digits.len() > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for group in digits.as_bytes().chunks(4) {
        let mut bits = 0;
        for digit in group {
            bits = bits << 6 | value(*digit)?;
        }
        bits <<= 6 * (4 - group.len());
        let [_, bytes @ ..] = u32::to_be_bytes(bits);
        let len = group.len() - 1;
        // Bits behind the last whole byte must be zero, or the text is not canonical; a single digit is no byte.
        if len == 0 || bytes[len..].iter().any(|byte| *byte != 0) {
            return None;
        }
        out.extend_from_slice(&bytes[..len]);
    }
    Some(out)
}

fn value(digit: u8) -> Option<u32> {
    match digit {
        b'A'..=b'Z' => Some(u32::from(digit - b'A')),
        b'a'..=b'z' => Some(u32::from(digit - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(digit - b'0') + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        for text in ["Zg", "Zg=", "Zh==", "Z===", "Zm9=", "====", "Zm8 ", "Zm-v", "A=AA"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_decodes_encodes_to_the_same(text in "[A-Za-z0-9+/]{0,40}={0,3}", bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Some(decoded) = decode(&text) {
                prop_assert_eq!(encode(&decoded), text);
            }
            let encoded = encode(&bytes);
            prop_assert_eq!(decode(&encoded), Some(bytes));
        }
    }
}
