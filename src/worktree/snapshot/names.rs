//! Names that must not get into a tree, and names that git gives a meaning, in all their disguises.
//!
//! HFS+ ignores some code points and NTFS has short names and stream names, so that other bytes can name the same
//! file there. git's fsck looks for both on every system, hence so does this: a tree with such a name cannot be pushed.

use gix::bstr::ByteSlice;

/// A file whose content git itself reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::worktree) enum Meaning {
    /// `.gitmodules`
    Modules,
    /// `.gitattributes`
    Attributes,
}

/// Whether git stores an entry of this name. `is_file` is false for links, directories and repositories: those are refused
/// under the name `.gitmodules` alone. A link called `.gitattributes` is in projects, and is not read through.
pub(in crate::worktree) fn is_storable(name: &[u8], is_file: bool) -> bool {
    // A backslash separates directories on Windows, and fsck looks behind each.
    let mut parts = name.split(|byte| *byte == b'\\');
    let refused = |part: &[u8]| part == b".." || is_hfs(part, b"git") || is_ntfs_git(part);
    !name.is_empty()
        && name != b"."
        && name != b".."
        && !parts.any(refused)
        && (is_file || meaning(name) != Some(Meaning::Modules))
}

/// Meaning of a file name to git.
pub(in crate::worktree) fn meaning(name: &[u8]) -> Option<Meaning> {
    // The last byte and the first decide for nearly every name.
    if !matches!(name.first(), Some(b'.' | b'g' | b'G' | b'~' | 0x80..)) && !name.contains(&b'\\') {
        return None;
    }
    let is = |part: &[u8], text, short| is_hfs(part, text) || is_ntfs(part, text, short);
    if is(name, b"gitattributes", *b"gi7d29") {
        return Some(Meaning::Attributes);
    }
    let modules = name
        .split(|byte| *byte == b'\\')
        .any(|part| is(part, b"gitmodules", *b"gi7eba"));
    modules.then_some(Meaning::Modules)
}

/// Whether HFS+ takes a name for a dot and `text`.
fn is_hfs(name: &[u8], text: &[u8]) -> bool {
    // The code points that HFS+ skips (Apple's technical note 1150).
    let skipped = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let mut chars = name.chars().filter(|c| !skipped(c));
    chars.next() == Some('.')
        && text
            .iter()
            .all(|byte| chars.next().is_some_and(|c| c.eq_ignore_ascii_case(&char::from(*byte))))
        && chars.next().is_none()
}

/// Whether NTFS takes a name for `.git`.
fn is_ntfs_git(name: &[u8]) -> bool {
    [&b".git"[..], b"git~1"].iter().any(|text| {
        name.get(..text.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(text))
            && is_end(&name[text.len()..])
    })
}

/// Whether NTFS takes a name for a dot and `text`; `short` is how its short names begin when the usual are taken.
fn is_ntfs(name: &[u8], text: &[u8], short: [u8; 6]) -> bool {
    let starts = |name: &[u8], text: &[u8]| {
        name.get(..text.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(text))
    };
    if name.first() == Some(&b'.') && starts(&name[1..], text) {
        return is_end(&name[1 + text.len()..]);
    }
    if starts(name, &text[..6]) && name.get(6) == Some(&b'~') && matches!(name.get(7), Some(b'1'..=b'4')) {
        return is_end(&name[8..]);
    }
    let Some(first) = name.get(..8) else {
        return false;
    };
    let Some(tilde) = first.find_byte(b'~').filter(|tilde| *tilde <= 6) else {
        return false;
    };
    let digits = &first[tilde + 1..];
    first[..tilde].eq_ignore_ascii_case(&short[..tilde])
        && matches!(digits.first(), Some(b'1'..=b'9'))
        && digits.iter().all(u8::is_ascii_digit)
        && is_end(&name[8..])
}

/// Whether NTFS drops this end of a name: spaces, dots, and a stream after a colon.
fn is_end(rest: &[u8]) -> bool {
    let kept = rest.iter().find(|byte| !matches!(byte, b' ' | b'.'));
    matches!(kept, None | Some(b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguises_of_the_repository_are_refused() {
        for name in [
            ".git",
            ".GIT",
            ".gIt ",
            ".git.",
            ".git. .",
            ".git:x",
            "git~1",
            "GIT~1.",
            "\u{200c}.git",
            ".g\u{feff}it",
            "a\\.git",
            ".git\\x",
            "a\\git~1\\b",
            "..\\x",
        ] {
            assert!(!is_storable(name.as_bytes(), true), "{name:?}");
        }
        for name in [
            ".gitx",
            "git~2",
            ".git x",
            "a.git",
            "git",
            "a\\b",
            "x:y",
            "com1",
            ".gi",
            "-x",
            "\u{200c}git",
        ] {
            assert!(is_storable(name.as_bytes(), true), "{name:?}");
        }
    }

    #[test]
    fn disguises_of_gits_files_are_known() {
        for name in [
            ".gitmodules",
            ".GITMODULES ",
            "gitmod~1",
            "GITMOD~4.",
            "gi7eba~1",
            "gi7eb~10",
            "~1000000",
            ".gitmod\u{200d}ules",
            ".gitmodules:x",
            "a\\.gitmodules",
        ] {
            // fsck takes this one for either.
            let expected = if name == "~1000000" {
                Meaning::Attributes
            } else {
                Meaning::Modules
            };
            assert_eq!(meaning(name.as_bytes()), Some(expected), "{name:?}");
        }
        assert_eq!(meaning(b"gi7d29~1"), Some(Meaning::Attributes));
        assert_eq!(meaning(b".gitattributes"), Some(Meaning::Attributes));
        for name in [
            "gitmod~5",
            "gitmodules",
            ".gitmodulesx",
            "gi7eba~0",
            "main.rs",
            ".gitignore",
        ] {
            assert_eq!(meaning(name.as_bytes()), None, "{name:?}");
        }
        assert!(!is_storable(b".gitmodules", false));
    }
}
