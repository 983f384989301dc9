//! Names with `%` and two digits for characters that are not allowed in their target: in a file's name, in a ref's.
//!
//! Not the encoding of URLs: which bytes stay is each caller's, and a text that its encoder never gives decodes to
//! nothing, so that two names cannot be taken for one.

/// The name with every byte that does not `stay` as `%` and two hexadecimal digits. `stay` gets whether the byte is the
/// first.
pub(super) fn encode(name: &str, stay: impl Fn(u8, bool) -> bool) -> String {
    let mut out = String::with_capacity(name.len());
    for (at, byte) in name.bytes().enumerate() {
        if stay(byte, at == 0) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02x}"));
        }
    }
    out
}

/// The name that `encode` was given, or `None` for a text that it never gives.
pub(super) fn decode(text: &str, encode: impl Fn(&str) -> String) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    let name = String::from_utf8(bytes).ok()?;
    (encode(&name) == text).then_some(name)
}
