//! Names people give: of sessions and of checkpoints.
//!
//! The grammar is narrower than git's for refs: a session's name is one path component of a ref on every file system,
//! is never taken for an option, and no two names differ by case alone.

use std::fmt;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

/// The longest name, in bytes.
pub const MAX_LEN: usize = 64;
const TOO_LONG: &str = "it is longer than 64 characters";

/// The name of a session (the last part of its ref) or of a checkpoint: `[a-z0-9][a-z0-9._-]{0,63}`, without `..`,
/// not ending in `.` or `.lock`, none of git's or Windows' reserved names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ShortName(String);

/// Why a text cannot be a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{}' is not a valid name: {reason}; a valid one is '{}'", text.escape_debug(), ShortName::like(text))]
pub struct InvalidName {
    /// Text as given.
    pub text: String,
    /// Reason why it is invalid.
    pub reason: &'static str,
}

impl ShortName {
    /// Takes a text that follows the grammar.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidName> {
        let text = text.into();
        match fault(&text) {
            None => Ok(Self(text)),
            Some(reason) => Err(InvalidName { text, reason }),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name that reads most like a text. Refused where something of it would be cut off, for then it could be that of
    /// another text as well, and where nothing of the text can be in a name or the rest is reserved.
    pub fn whole_like(text: &str) -> Result<Self, InvalidName> {
        let slug = letters(text, usize::MAX);
        let reason = match fault(&slug) {
            None => return Ok(Self(slug)),
            Some(reason) if slug.len() > MAX_LEN => reason,
            Some(reason) => fault(text).unwrap_or(reason),
        };
        let text = text.to_owned();
        Err(InvalidName { text, reason })
    }

    /// A name made from any text (a branch, a title) and a suffix that makes it unique, joined by `-`.
    ///
    /// Letters are lowered, everything else that a name cannot hold becomes one `-`; a text without any usable
    /// character gives `session`.
    pub fn slug(text: &str, suffix: &str) -> Self {
        let slug = letters(text, MAX_LEN - suffix.len() - 1);
        let slug = if slug.is_empty() { "session" } else { &slug };
        Self::new(format!("{slug}-{suffix}")).expect("a slug and a base32 suffix follow the grammar")
    }

    /// This name with a number behind it, shortened where it would be too long.
    #[must_use]
    pub fn numbered(&self, n: u32) -> Self {
        let number = format!("-{n}");
        let stem = letters(&self.0, MAX_LEN - number.len());
        Self::new(format!("{stem}{number}")).unwrap_or_else(|_| Self::slug(&stem, &n.to_string()))
    }

    /// The name that reads most like a text, such as a branch or a name that was refused: `feature-login` for
    /// `feature/Login`. What is reserved gets `session-` in front, as has a text without any usable character.
    pub fn like(text: &str) -> Self {
        let slug = letters(text, MAX_LEN);
        Self::new(slug.as_str()).unwrap_or_else(|_| {
            let slug = letters(&format!("session-{slug}"), MAX_LEN - 2);
            Self::new(slug.as_str()).unwrap_or_else(|_| Self::slug(&slug, "1"))
        })
    }
}

impl fmt::Display for ShortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ShortName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        Self::new(text)
    }
}

impl std::str::FromStr for ShortName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        Self::new(text)
    }
}

impl From<ShortName> for String {
    fn from(name: ShortName) -> Self {
        name.0
    }
}

/// Part of a text that a name can hold, at most `room` bytes: letters are lowered and lose their accents, and everything
/// else becomes one `-`, but for single dots and underscores inside.
fn letters(text: &str, room: usize) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        let plain = match c {
            'a'..='z' | '0'..='9' => {
                slug.push(c);
                continue;
            }
            'A'..='Z' => {
                slug.push(c.to_ascii_lowercase());
                continue;
            }
            '\u{df}' | '\u{1e9e}' => "ss",
            '\u{e6}' | '\u{c6}' => "ae",
            '\u{153}' | '\u{152}' => "oe",
            '\u{f8}' | '\u{d8}' => "o",
            '\u{142}' | '\u{141}' => "l",
            '\u{111}' | '\u{110}' => "d",
            '\u{131}' => "i",
            // An accent of its own belongs to the letter before it.
            '\u{300}'..='\u{36f}' => continue,
            '.' | '_' if slug.ends_with(|last: char| last.is_ascii_alphanumeric()) => {
                slug.push(c);
                continue;
            }
            _ => {
                let mut letters = std::iter::once(c).nfkd().filter(char::is_ascii_alphanumeric);
                if let Some(letter) = letters.next() {
                    slug.push(letter.to_ascii_lowercase());
                    continue;
                }
                if slug.ends_with(|last: char| last.is_ascii_alphanumeric()) {
                    slug.push('-');
                }
                continue;
            }
        };
        slug.push_str(plain);
    }
    slug.truncate(room.min(slug.len()));
    let slug = slug.trim_end_matches(|last: char| !last.is_ascii_alphanumeric());
    let slug = slug.strip_suffix(".lock").unwrap_or(slug);
    slug.to_owned()
}

fn fault(text: &str) -> Option<&'static str> {
    let bytes = text.as_bytes();
    let first_ok = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let Some(first) = bytes.first() else {
        return Some("it is empty");
    };
    if bytes.len() > MAX_LEN {
        return Some(TOO_LONG);
    }
    if !first_ok(first) {
        return Some("it must start with a lower-case letter or a digit");
    }
    if !bytes.iter().all(|b| first_ok(b) || b"._-".contains(b)) {
        return Some("only lower-case letters, digits, '.', '_' and '-' are allowed");
    }
    if text.contains("..") {
        return Some("it contains '..'");
    }
    if text.ends_with('.') || text.strip_suffix(".lock").is_some() {
        return Some("it ends in '.' or '.lock'");
    }
    // Windows reserves these with any extension; git treats *_head names and 'head' as its own on such file systems.
    let stem = text.split('.').next().unwrap_or(text);
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix)
            .is_some_and(|n| matches!(n.as_bytes(), [b'1'..=b'9']))
    };
    if matches!(stem, "con" | "prn" | "aux" | "nul" | "conin$" | "conout$") || numbered("com") || numbered("lpt") {
        return Some("it is reserved on Windows");
    }
    if text == "head" || text.ends_with("_head") {
        return Some("it is reserved by git");
    }
    None
}

super::schema::text_schema!(ShortName, "name", {
    "description": "The name of a session or of a checkpoint.",
    "type": "string",
    "pattern": "^[a-z0-9][a-z0-9._-]{0,63}$"
});

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_grammar() {
        for good in [
            "a",
            "0",
            "auth-refactor",
            "v1.2_x",
            "conx",
            "com0",
            "com10",
            &"a".repeat(64),
        ] {
            assert!(ShortName::new(good).is_ok(), "{good}");
        }
        let bad = [
            "",
            "-x",
            "--upload-pack=x",
            ".x",
            "A",
            "a b",
            "a/b",
            "a..b",
            "a.",
            "a.lock",
            "con",
            "con.txt",
            "com1",
            "lpt9",
            "head",
            "fetch_head",
            "\u{e9}",
            "a\n",
            "@",
            "a~1",
            "a^",
            "a:b",
            "a@{1}",
            &"a".repeat(65),
        ];
        for text in bad {
            assert!(ShortName::new(text).is_err(), "{text:?}");
        }
        assert_eq!(
            ShortName::new("a b\u{1b}").expect_err("a space").to_string(),
            "'a b\\u{1b}' is not a valid name: only lower-case letters, digits, '.', '_' and '-' are allowed; \
             a valid one is 'a-b'"
        );
    }

    #[test]
    fn a_proposal_reads_like_what_was_refused() {
        for (text, name) in [
            ("feature/Token_Auth", "feature-token_auth"),
            ("JIRA-123", "jira-123"),
            ("my work", "my-work"),
            ("gr\u{f6}\u{df}e", "grosse"),
            ("gro\u{308}\u{df}e", "grosse"),
            ("\u{141}\u{f3}d\u{17a}", "lodz"),
            ("release/v1.2", "release-v1.2"),
            ("-x", "x"),
            ("a..b", "a.b"),
            ("x.lock", "x"),
            ("wip.", "wip"),
            ("con", "session-con"),
            ("HEAD", "session-head"),
            ("fetch_head", "session-fetch_head-1"),
            ("\u{65e5}\u{672c}", "session"),
            ("", "session"),
        ] {
            assert_eq!(ShortName::like(text).as_str(), name, "{text}");
            // What is left of these is nothing, or reserved: they are no other names of a session.
            match ShortName::whole_like(text) {
                Ok(whole) => assert_eq!(whole.as_str(), name),
                Err(_) => assert!(name.starts_with("session"), "{text}"),
            }
        }
        let long = "b".repeat(MAX_LEN);
        assert_eq!(ShortName::whole_like(&long).expect("it just fits").as_str(), long);
        let error = ShortName::whole_like(&format!("A/{long}")).expect_err("its end would be cut off");
        assert!(error.to_string().contains(TOO_LONG), "{error}");
    }

    #[test]
    fn slugs_read_like_their_branch() {
        assert_eq!(
            ShortName::slug("feature/Login!", "abcd2345").as_str(),
            "feature-login-abcd2345"
        );
        assert_eq!(
            ShortName::slug("\u{65e5}\u{672c}", "abcd2345").as_str(),
            "session-abcd2345"
        );
        assert_eq!(ShortName::slug("con", "abcd2345").as_str(), "con-abcd2345");
    }

    proptest! {
        #[test]
        fn every_text_gives_a_valid_proposal(text in ".*") {
            let name = ShortName::like(&text);
            prop_assert!(ShortName::new(name.as_str()).is_ok());
            prop_assert_eq!(ShortName::like(name.as_str()), name);
        }

        #[test]
        fn a_valid_name_is_its_own_proposal(text in "[a-z0-9][a-z0-9._-]{0,63}") {
            if let Ok(name) = ShortName::new(text) {
                prop_assert!(!ShortName::like(name.as_str()).as_str().is_empty());
            }
        }

        #[test]
        fn every_text_gives_a_valid_slug(text in ".*", suffix in "[a-z2-7]{8}") {
            let slug = ShortName::slug(&text, &suffix);
            prop_assert!(slug.as_str().len() <= MAX_LEN);
            prop_assert!(ShortName::new(slug.as_str()).is_ok());
        }
    }
}
