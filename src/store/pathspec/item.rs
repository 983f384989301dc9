//! One pathspec, made relative to the root of the working tree and matched by git's own rules.
//!
//! The words and the wildcards are read by gix. What it makes of the path is not git's: a path that leads to the root
//! matches nothing there, and a directory whose name has wildcards is not found by its name.

use std::path::Path;

use gix::bstr::ByteSlice;
use gix::glob::wildmatch::Mode;
use gix::pathspec::{MagicSignature, Pattern, SearchMode};

use crate::os::os_string;

#[cfg(test)]
mod tests;

/// Characters that make a pathspec a pattern.
const WILD: &[u8] = b"*?[\\";

/// A pathspec.
#[derive(Debug, Clone)]
pub(super) struct Pathspec {
    /// Relative to the root of the working tree; empty: everything.
    text: Vec<u8>,
    /// So much of the text is the directory the pathspec was given in: no pattern, and of no other case.
    prefix: usize,
    /// So much of it is before the first wildcard.
    plain: usize,
    /// Whether a lone `*` is all the pattern there is, which ends of paths are compared for.
    is_ending: bool,
    /// Whether wildcards stop at `/`.
    stops: bool,
    /// Whether upper and lower case are the same.
    folds: bool,
}

impl Pathspec {
    /// Makes it of a pathspec that was given in `folder`, below the absolute `root`. `None` when it leads outside.
    pub(super) fn new(pattern: &Pattern, directory: &Path, root: &Path) -> Option<Self> {
        let mut given = pattern.path().to_vec();
        if pattern.signature.contains(MagicSignature::MUST_BE_DIR) {
            given.push(b'/');
        }
        let (text, prefix) = if pattern.signature.contains(MagicSignature::TOP) {
            // As it is: git cleans no path from the top, so that `:/./a` is nothing.
            (given, 0)
        } else if given.first() == Some(&b'/') {
            let (cleaned, _) = cleaned(&given[1..], 0)?;
            (inside(&cleaned, root)?, 0)
        } else {
            let mut whole = directory.as_os_str().as_encoded_bytes().to_vec();
            if !whole.is_empty() {
                whole.push(b'/');
            }
            let prefix = whole.len();
            whole.extend_from_slice(&given);
            cleaned(&whole, prefix)?
        };
        let wild = |text: &[u8]| text.iter().position(|byte| WILD.contains(byte));
        let plain = match pattern.search_mode {
            SearchMode::Literal => text.len(),
            _ => wild(&text).unwrap_or(text.len()).max(prefix),
        };
        let stops = pattern.search_mode == SearchMode::PathAwareGlob;
        Some(Self {
            is_ending: !stops && text.get(plain) == Some(&b'*') && wild(&text[plain + 1..]).is_none(),
            stops,
            folds: pattern.signature.contains(MagicSignature::ICASE),
            text,
            prefix,
            plain,
        })
    }

    /// Whether it represents everything, also where there is nothing.
    pub(super) fn is_for_all(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it matches a path, or with `is_folder` a directory's.
    pub(super) fn matches(&self, path: &[u8], is_directory: bool) -> bool {
        let text = self.text.as_slice();
        if self.folds && !path.starts_with(&text[..self.prefix]) {
            return false;
        }
        let Some(last) = text.last() else {
            return true;
        };
        if let Some(start) = path.get(..text.len()) {
            let ends = path.len() == text.len() || *last == b'/' || path[text.len()] == b'/';
            if ends && self.same(text, start) {
                return true;
            }
        } else if is_directory && text.strip_suffix(b"/").is_some_and(|text| self.same(text, path)) {
            return true;
        }
        self.plain < text.len() && self.matches_pattern(path)
    }

    fn matches_pattern(&self, path: &[u8]) -> bool {
        let (plain, pattern) = self.text.split_at(self.plain);
        let Some((start, rest)) = path.split_at_checked(plain.len()) else {
            return false;
        };
        if !self.same(plain, start) {
            return false;
        }
        if self.is_ending {
            let end = &pattern[1..];
            return rest.len() >= end.len() && self.same(end, &rest[rest.len() - end.len()..]);
        }
        let mut mode = Mode::empty();
        mode.set(Mode::NO_MATCH_SLASH_LITERAL, self.stops);
        mode.set(Mode::IGNORE_CASE, self.folds);
        gix::glob::wildmatch(pattern.as_bstr(), rest.as_bstr(), mode)
    }

    /// Whether it can match anything in a directory, named with `/` at the end. Right where it says no.
    pub(super) fn may_match_below(&self, directory: &[u8]) -> bool {
        let length = self.plain.min(directory.len());
        self.same(&self.text[..length], &directory[..length])
    }

    fn same(&self, one: &[u8], other: &[u8]) -> bool {
        if self.folds {
            one.eq_ignore_ascii_case(other)
        } else {
            one == other
        }
    }
}

/// A relative path without `.`, `..` and doubled `/`, and how much is left of its first `prefix` bytes. A `/` at the
/// end stays. `None` when it leads above its beginning.
fn cleaned(path: &[u8], mut prefix: usize) -> Option<(Vec<u8>, usize)> {
    let mut out: Vec<u8> = Vec::with_capacity(path.len());
    let mut parts = path.split(|byte| *byte == b'/').peekable();
    while let Some(part) = parts.next() {
        match part {
            b"" | b"." => {}
            b".." => {
                out.pop()?;
                out.truncate(out.rfind_byte(b'/').map_or(0, |at| at + 1));
                prefix = prefix.min(out.len());
            }
            _ => {
                out.extend_from_slice(part);
                if parts.peek().is_some() {
                    out.push(b'/');
                }
            }
        }
    }
    Some((out, prefix))
}

/// Path below the root of a cleaned path, absolute but for its `/`: as it is written, or as the system resolves it,
/// since either may contain symlinks.
fn inside(path: &[u8], root: &Path) -> Option<Vec<u8>> {
    let absolute = [b"/", path].concat();
    let top = root.as_os_str().as_encoded_bytes();
    if let Some(rest) = absolute.strip_prefix(top)
        && let Some(rest) = rest.strip_prefix(b"/").or(rest.is_empty().then_some(rest))
    {
        return Some(rest.to_vec());
    }
    let real = root.canonicalize().ok()?;
    let ends = absolute.find_iter(b"/").skip(1).chain([absolute.len()]);
    for end in ends {
        if Path::new(&os_string(&absolute[..end]))
            .canonicalize()
            .is_ok_and(|found| found == real)
        {
            return Some(absolute.get(end + 1..).unwrap_or_default().to_vec());
        }
    }
    None
}
