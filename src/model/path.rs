//! Paths inside a repository as raw bytes, and git's C-style quoting of them.
//!
//! Git paths are bytes, not text: nothing here assumes UTF-8. The quoting is that of `git ls-tree` with
//! `core.quotePath=false`: only names holding control characters, `"` or `\` are quoted, so that a line-based list
//! can carry every name.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path relative to the top of the working tree, `/`-separated, as raw bytes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    /// Takes the bytes as they are.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The raw bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path quoted where it must be, with bytes that are not UTF-8 as octal escapes: always printable as text.
    pub fn quoted(&self) -> String {
        let quoted = quote(&self.0);
        match std::str::from_utf8(&quoted) {
            Ok(text) => text.to_owned(),
            Err(_) => String::from_utf8(quote_with(&self.0, true)).expect("high bytes are escaped, the rest is ASCII"),
        }
    }

    /// Reads the form [`quoted`](Self::quoted) writes.
    pub fn from_quoted(text: &str) -> Option<Self> {
        unquote(text.as_bytes()).map(|bytes| Self(bytes.into_owned()))
    }
}

impl From<&[u8]> for RepoPath {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<&str> for RepoPath {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.quoted())
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.quoted())
    }
}

impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.quoted())
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_quoted(&text).ok_or_else(|| serde::de::Error::custom(format!("'{text}' is not a quoted path")))
    }
}

/// Quotes a path as git does with `core.quotePath=false`: unchanged unless it holds a control character, `"` or `\`.
pub fn quote(path: &[u8]) -> Vec<u8> {
    quote_with(path, false)
}

fn quote_with(path: &[u8], escape_high: bool) -> Vec<u8> {
    let special = |b: u8| b < 0x20 || b == 0x7f || b == b'"' || b == b'\\' || (escape_high && b >= 0x80);
    if !path.iter().copied().any(special) {
        return path.to_vec();
    }
    let mut out = Vec::with_capacity(path.len() + 8);
    out.push(b'"');
    for &byte in path {
        let letter = match byte {
            0x07 => b'a',
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0b => b'v',
            0x0c => b'f',
            b'\r' => b'r',
            b'"' => b'"',
            b'\\' => b'\\',
            _ if special(byte) => {
                out.push(b'\\');
                out.extend([6, 3, 0].map(|shift| b'0' + ((byte >> shift) & 7)));
                continue;
            }
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.extend([b'\\', letter]);
    }
    out.push(b'"');
    out
}

/// Undoes [`quote`]; `None` when the text starts like a quoted path but is not one.
pub fn unquote(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    let Some(inner) = text.strip_prefix(b"\"") else {
        return Some(Cow::Borrowed(text));
    };
    let inner = inner.strip_suffix(b"\"")?;
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == b'"' {
            return None;
        }
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next()? {
            b'a' => 0x07,
            b'b' => 0x08,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 0x0b,
            b'f' => 0x0c,
            b'r' => b'\r',
            b'"' => b'"',
            b'\\' => b'\\',
            first @ b'0'..=b'3' => {
                let digit = |b: u8| (b'0'..=b'7').contains(&b).then(|| b - b'0');
                let (second, third) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
                ((first - b'0') << 6) | (second << 3) | third
            }
            _ => return None,
        });
    }
    Some(Cow::Owned(out))
}

super::schema::text_schema!(RepoPath, "path", {
    "description": "A path from the top of the working tree, quoted as git does where it must be.",
    "type": "string"
});

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_as_git_ls_tree_does() {
        // The right-hand sides were printed by `git -c core.quotePath=false ls-tree --name-only`.
        let cases: [(&[u8], &[u8]); 6] = [
            (b"plain name", b"plain name"),
            ("\u{e9}t\u{e9}".as_bytes(), "\u{e9}t\u{e9}".as_bytes()),
            (b"nl\nname", br#""nl\nname""#),
            (b"a\"b", br#""a\"b""#),
            (b"back\\slash", br#""back\\slash""#),
            (b"\x01\x7f", br#""\001\177""#),
        ];
        for (raw, quoted) in cases {
            assert_eq!(quote(raw), quoted);
        }
        assert_eq!(RepoPath::new(b"\xff").quoted(), r#""\377""#);
    }

    #[test]
    fn broken_quoting_is_refused() {
        for bad in [
            &b"\"open"[..],
            b"\"a\"b\"",
            b"\"\\x\"",
            b"\"\\40\"",
            b"\"\\",
            b"\"\\400\"",
        ] {
            assert_eq!(unquote(bad), None, "{}", String::from_utf8_lossy(bad));
        }
    }

    proptest! {
        #[test]
        fn quoting_has_an_inverse(raw in proptest::collection::vec(any::<u8>(), 0..40)) {
            let quoted = quote(&raw);
            prop_assert!(!quoted.contains(&b'\n'));
            let back = unquote(&quoted).map(Cow::into_owned);
            prop_assert_eq!(back.as_deref(), Some(raw.as_slice()));
            let path = RepoPath::new(raw);
            prop_assert_eq!(RepoPath::from_quoted(&path.quoted()), Some(path));
        }

        #[test]
        fn unquoting_never_panics(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = unquote(&text);
        }
    }
}
