//! Identities: git object ids, document digests, session and item ids.
//!
//! Not git's own id types: the model names no git library. The store converts.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A full git object id in lower-case hexadecimal: 40 digits (SHA-1) or 64 (SHA-256).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Oid(String);

/// A text that is not an id of the kind it was read as.
#[derive(Debug, thiserror::Error)]
#[error("'{text}' is not {wanted}")]
pub struct InvalidId {
    text: String,
    wanted: &'static str,
}

impl Oid {
    /// Takes 40 or 64 lower-case hexadecimal digits.
    pub fn new(hex: impl Into<String>) -> Result<Self, InvalidId> {
        let text = hex.into();
        if matches!(text.len(), 40 | 64) && is_lower_hex(&text) {
            Ok(Self(text))
        } else {
            Err(InvalidId {
                text,
                wanted: "an object id",
            })
        }
    }

    /// All digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first eight digits, as shown to people.
    pub fn short(&self) -> &str {
        &self.0[..8]
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Oid {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        Self::new(text)
    }
}

impl From<Oid> for String {
    fn from(id: Oid) -> Self {
        id.0
    }
}

/// The SHA-256 of the exact bytes of a `checkpoint.json`, written `sha256:<64 hex digits>`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

const DIGEST_PREFIX: &str = "sha256:";

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        let mut text = String::with_capacity(DIGEST_PREFIX.len() + 64);
        text.push_str(DIGEST_PREFIX);
        for byte in sha2::Sha256::digest(bytes) {
            fmt::Write::write_fmt(&mut text, format_args!("{byte:02x}")).expect("writing to a string cannot fail");
        }
        Self(text)
    }

    /// Takes `sha256:` and 64 lower-case hexadecimal digits.
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidId> {
        let text = text.into();
        match text.strip_prefix(DIGEST_PREFIX) {
            Some(hex) if hex.len() == 64 && is_lower_hex(hex) => Ok(Self(text)),
            _ => Err(InvalidId {
                text,
                wanted: "a digest of the form sha256:<64 hex digits>",
            }),
        }
    }

    /// The digest with its prefix.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The hexadecimal digits alone.
    pub fn hex(&self) -> &str {
        &self.0[DIGEST_PREFIX.len()..]
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        Self::parse(text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

/// Characters in a session's identity: 26 of five bits are 130 bits, so ids made apart do not meet.
pub const SESSION_ID_LEN: usize = 26;
/// Characters in the id of an item of the record, an operation or a message.
pub const ITEM_ID_LEN: usize = 8;

/// Whether a text consists of lower-case hexadecimal digits only.
fn is_lower_hex(text: &str) -> bool {
    text.as_bytes()
        .iter()
        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b))
}

super::schema::text_schema!(Oid, "oid", {
    "description": "A git object id in full.",
    "type": "string",
    "pattern": "^[0-9a-f]{40}([0-9a-f]{24})?$"
});
super::schema::text_schema!(Digest, "digest", {
    "description": "SHA-256 of the exact bytes of a document.",
    "type": "string",
    "pattern": "^sha256:[0-9a-f]{64}$"
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_ids_are_full_and_lower_case() {
        assert!(Oid::new("a".repeat(40)).is_ok());
        assert!(Oid::new("0".repeat(64)).is_ok());
        for bad in ["", "abcd", &"A".repeat(40), &"g".repeat(40), &"a".repeat(41)] {
            assert!(Oid::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_digest_is_what_sha256sum_prints() {
        let digest = Digest::of(b"abc");
        assert_eq!(
            digest.hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(Digest::parse(digest.as_str()).expect("its own form"), digest);
        assert!(Digest::parse("sha1:ba78").is_err());
    }
}
