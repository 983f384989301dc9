//! The file `packed-refs`: one line a ref, `id SP name`, with what a tag points to on a line of its own (`^id`).
//!
//! All sessions may be in it alone, so a line that is wrong is not passed over: then it is unknown which refs there are,
//! and nothing is read from it. git is as strict about lines, and reads names less strictly than it writes them.

use std::io;
use std::path::PathBuf;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::store::{Error, Repository};

/// The contents of the file, empty when there is none.
pub(super) struct PackedRefs {
    bytes: Vec<u8>,
    /// Whether the head line declares that names are in order, as git writes them.
    sorted: bool,
}

/// Where the file is.
pub(super) fn path(repo: &Repository) -> PathBuf {
    repo.common_dir().join("packed-refs")
}

impl PackedRefs {
    /// Reads the file anew each time: it is replaced by rename, and a time stamp does not distinguish two quick
    /// changes.
    pub(super) fn read(repo: &Repository) -> Result<Self, Error> {
        let path = path(repo);
        match crate::os::read_regular(&path) {
            Ok(bytes) => match check(&bytes, repo.object_hash()) {
                Ok(sorted) => Ok(Self { bytes, sorted }),
                Err(why) => Err(Error::PackedRefs { path, why }),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self {
                bytes: Vec::new(),
                sorted: true,
            }),
            Err(error) => Err(Error::io("read", path)(error)),
        }
    }

    /// The value of a ref.
    pub(super) fn find(&self, name: &str) -> Option<ObjectId> {
        let at = self.position(name)?;
        let line = self.bytes[at..].lines().next()?;
        split(line).and_then(|(hex, _)| ObjectId::from_hex(hex).ok())
    }

    /// Where the line of a ref begins.
    fn position(&self, name: &str) -> Option<usize> {
        let is_it = |at: &usize| self.name_at(*at) == name.as_bytes();
        if self.sorted {
            return Some(self.lower_bound(name.as_bytes())).filter(is_it);
        }
        self.lines_from(0).map(|(at, _)| at).find(is_it)
    }

    /// Where the first line begins whose name is not less than `name`; the end of the file if there is none. Names must be
    /// in order.
    fn lower_bound(&self, name: &[u8]) -> usize {
        let bytes = &self.bytes;
        let after = |at: usize| bytes[at..].find_byte(b'\n').map_or(bytes.len(), |end| at + end + 1);
        let begins_with = |at: usize, byte: u8| bytes.get(at) == Some(&byte);
        let (mut low, mut high) = (if begins_with(0, b'#') { after(0) } else { 0 }, bytes.len());
        while low < high {
            let begin = |at: usize| bytes[low..at].rfind_byte(b'\n').map_or(low, |end| low + end + 1);
            let mut line = begin(low + (high - low) / 2);
            if begins_with(line, b'^') {
                // What a tag points to: the line before is its ref's.
                line = begin(line - 1);
            }
            if self.name_at(line) < name {
                let next = after(line);
                low = if begins_with(next, b'^') { after(next) } else { next };
            } else {
                high = line;
            }
        }
        low
    }

    /// The name in the line that begins there; empty where it is no ref's.
    fn name_at(&self, at: usize) -> &[u8] {
        let line = self.bytes[at..].lines().next().unwrap_or_default();
        split(line).map_or(&[], |(_, name)| name)
    }

    /// The lines from one on, with where they begin.
    fn lines_from(&self, start: usize) -> impl Iterator<Item = (usize, &[u8])> {
        let mut at = start;
        self.bytes[start..].lines_with_terminator().map(move |line| {
            let begin = at;
            at += line.len();
            (begin, line.trim_end_with(|c| c == '\n'))
        })
    }

    /// The refs whose names begin with `prefix`.
    pub(super) fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (String, ObjectId)> + 'a {
        let start = if self.sorted {
            self.lower_bound(prefix.as_bytes())
        } else {
            0
        };
        let lines = self.lines_from(start).filter_map(|(_, line)| split(line));
        let is_meant = |name: &[u8]| name.starts_with(prefix.as_bytes());
        lines
            .take_while(move |(_, name)| !self.sorted || is_meant(name))
            .filter(move |(_, name)| is_meant(name))
            // A name that is no text is listed even so, in a form that can be shown.
            .filter_map(|(hex, name)| Some((name.to_str_lossy().into_owned(), ObjectId::from_hex(hex).ok()?)))
    }

    /// The first ref whose name is below or above `name`, so that both cannot exist.
    pub(super) fn in_the_way(&self, name: &str) -> Option<String> {
        let above = name
            .match_indices('/')
            .map(|(at, _)| &name[..at])
            .filter(|above| above.matches('/').count() > 0);
        above
            .filter(|above| self.position(above).is_some())
            .map(str::to_owned)
            .next()
            .or_else(|| self.with_prefix(&format!("{name}/")).next().map(|(name, _)| name))
    }

    /// The contents without these refs; `None` if they are not there.
    pub(super) fn without(&self, names: &[&str]) -> Option<Vec<u8>> {
        let mut kept = Vec::with_capacity(self.bytes.len());
        let mut dropping = false;
        let mut dropped = false;
        for line in self.bytes.lines_with_terminator() {
            dropping = match split(line.trim_end()) {
                Some((_, name)) => names.iter().any(|wanted| wanted.as_bytes() == name),
                None => dropping && line.starts_with(b"^"),
            };
            dropped |= dropping;
            if !dropping {
                kept.extend_from_slice(line);
            }
        }
        dropped.then_some(kept)
    }
}

/// Returns what is wrong with a file of this content, and in which line; of a good one whether its names are in order.
///
/// Takes some 10 ms for 100,000 refs. git writes its head line whatever it holds, so an empty file is what a power cut
/// left.
fn check(bytes: &[u8], hash: gix::hash::Kind) -> Result<bool, String> {
    if bytes.is_empty() {
        return Err("it is empty".to_owned());
    }
    let width = hash.len_in_hex();
    let (mut sorted, mut may_peel, mut last) = (false, false, &b""[..]);
    for (line, number) in bytes.lines_with_terminator().zip(1_usize..) {
        let wrong = |what: &str| Err(format!("line {number} {what}"));
        let Some(line) = line.strip_suffix(b"\n") else {
            return wrong("is cut off");
        };
        if number == 1 && line.starts_with(b"#") {
            if line.contains_str(" refs/") {
                return wrong("holds a ref");
            }
            sorted = line.split(|byte| *byte == b' ').any(|word| word == b"sorted");
            continue;
        }
        if let Some(peeled) = line.strip_prefix(b"^") {
            if !std::mem::take(&mut may_peel) || peeled.len() != width || !is_hex(peeled) {
                return wrong("is no object that a tag points to");
            }
            continue;
        }
        let Some((hex, [b' ', name @ ..])) = line.split_at_checked(width).filter(|(hex, _)| is_hex(hex)) else {
            return wrong("is no ref");
        };
        if !is_name(name) {
            return wrong("names no valid ref");
        }
        if sorted && last >= name {
            return wrong("is out of order");
        }
        debug_assert_eq!(hex.len(), width, "split there");
        (last, may_peel) = (name, true);
    }
    Ok(sorted)
}

fn is_hex(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| CLASSES[usize::from(*byte)] & HEX != 0)
}

/// A digit of an id.
const HEX: u8 = 1;
/// Characters that no name has.
const FORBIDDEN: u8 = 2;
/// Characters that a name may have, but not everywhere.
const SPECIAL: u8 = 4;

/// Classes of bytes; a table, since a file may hold a hundred thousand lines.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut at = 0;
    while at < classes.len() {
        #[expect(clippy::cast_possible_truncation, reason = "less than 256")]
        let byte = at as u8;
        classes[at] = match byte {
            0..=b' ' | 0x7f | b'~' | b'^' | b':' | b'?' | b'*' | b'[' | b'\\' => FORBIDDEN,
            b'/' | b'.' | b'{' => SPECIAL,
            _ if byte.is_ascii_hexdigit() => HEX,
            _ => 0,
        };
        at += 1;
    }
    classes
};

/// Whether git could have written a ref of this name: its own rules, and below `refs/`.
fn is_name(name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(b"refs/") else {
        return false;
    };
    let mut before = b'/';
    for (at, &byte) in rest.iter().enumerate() {
        let class = CLASSES[usize::from(byte)];
        let fits = || match byte {
            b'.' => !matches!(before, b'/' | b'.'),
            b'/' => before != b'/' && !rest[..at].ends_with(b".lock"),
            _ => before != b'@',
        };
        if class & FORBIDDEN != 0 || (class & SPECIAL != 0 && !fits()) {
            return false;
        }
        before = byte;
    }
    !matches!(before, b'/' | b'.') && !rest.ends_with(b".lock")
}

/// The id and the name in a line that was checked; `None` where it is no ref's.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if matches!(line.first(), None | Some(b'#' | b'^')) {
        return None;
    }
    let at = line.find_byte(b' ')?;
    Some((&line[..at], &line[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# pack-refs with: peeled fully-peeled sorted \n\
        1111111111111111111111111111111111111111 refs/checkpoints/a\n\
        2222222222222222222222222222222222222222 refs/checkpoints/ab\n\
        3333333333333333333333333333333333333333 refs/tags/v1\n\
        ^4444444444444444444444444444444444444444\n\
        5555555555555555555555555555555555555555 refs/tags/v2\n";

    fn packed() -> PackedRefs {
        PackedRefs {
            bytes: TEXT.into(),
            sorted: true,
        }
    }

    #[test]
    fn finds_whole_names_only() {
        let id = |digit: &str| ObjectId::from_hex(digit.repeat(40).as_bytes()).ok();
        assert_eq!(packed().find("refs/checkpoints/a"), id("1"));
        assert_eq!(packed().find("refs/checkpoints/ab"), id("2"));
        assert_eq!(packed().find("refs/tags/v2"), id("5"));
        assert_eq!(packed().find("refs/checkpoints"), None);
        assert_eq!(packed().find("refs/checkpoints/"), None);
        assert_eq!(packed().find("pack-refs"), None);
        assert_eq!(packed().with_prefix("refs/checkpoints/").count(), 2);
    }

    #[test]
    fn damage_is_told_with_its_line() {
        let check = |text: &str| check(text.as_bytes(), gix::hash::Kind::Sha1);
        assert_eq!(check(TEXT), Ok(true));
        assert_eq!(check("# pack-refs with: peeled fully-peeled sorted \n"), Ok(true));
        let told = |text: &str| check(text).expect_err(text);
        assert_eq!(told(""), "it is empty");
        assert_eq!(told(&TEXT[..TEXT.len() - 1]), "line 6 is cut off");
        assert_eq!(told(&TEXT.replace("\n2222", "\n222x")), "line 3 is no ref");
        assert_eq!(told(&TEXT.replace("\n2222", "\n222")), "line 3 is no ref");
        assert_eq!(told(&TEXT.replace("2 refs/c", "2\trefs/c")), "line 3 is no ref");
        assert_eq!(
            told(&TEXT.replace("^4", "^x")),
            "line 5 is no object that a tag points to"
        );
        assert_eq!(
            told(&TEXT.replace("\n3333", "\n^333")),
            "line 4 is no ref".replace("is no ref", "is no object that a tag points to")
        );
        for name in [
            "refs/check\tpoints/ab",
            "qefs/checkpoints/ab",
            "refs/checkpoints//ab",
            "refs/checkpoints/.ab",
            "refs/checkpoints/a.lock",
            "refs/checkpoints/a..b",
            "refs/checkpoints/ab\r",
        ] {
            assert_eq!(
                told(&TEXT.replace("refs/checkpoints/ab", name)),
                "line 3 names no valid ref",
                "{name}"
            );
        }
        assert_eq!(
            told(&TEXT.replace("checkpoints/ab", "checkpoints/Ab")),
            "line 3 is out of order"
        );
        let unsorted = TEXT.replace("checkpoints/ab", "checkpoints/Ab").replace(" sorted", "");
        assert_eq!(check(&unsorted), Ok(false));
    }

    proptest::proptest! {
        #[test]
        fn no_ref_is_lost_silently(at in 0..TEXT.len(), bit in 0..8_u8) {
            let mut bytes = TEXT.as_bytes().to_vec();
            bytes[at] ^= 1 << bit;
            let names = |bytes: Vec<u8>, sorted| PackedRefs { bytes, sorted }.with_prefix("refs/").count();
            // A flipped bit may give another name or id, which nothing in the file shows; none may go.
            let checked = check(&bytes, gix::hash::Kind::Sha1);
            proptest::prop_assert!(checked.is_err() || names(bytes, checked == Ok(true)) == 4);
        }

        #[test]
        fn search_in_order_finds_what_a_look_at_each_line_does(
            names in proptest::collection::btree_map("[a-c]{1,3}(/[a-c]{1,2})?", proptest::bool::ANY, 0..12),
            wanted in "[a-c]{1,3}(/[a-c]{0,2})?",
        ) {
            let id = "1".repeat(40);
            let line = |(name, peeled): (&String, &bool)| {
                format!("{id} refs/{name}\n{}", if *peeled { format!("^{id}\n") } else { String::new() })
            };
            let text = "# pack-refs with: peeled fully-peeled sorted \n".to_owned()
                + &names.iter().map(line).collect::<String>();
            let refs = |sorted| PackedRefs { bytes: text.clone().into(), sorted };
            let wanted = format!("refs/{wanted}");
            let all = |refs: PackedRefs| refs.with_prefix(&wanted).collect::<Vec<_>>();
            proptest::prop_assert_eq!(refs(true).position(&wanted), refs(false).position(&wanted));
            proptest::prop_assert_eq!(refs(true).find(&wanted).is_some(), names.contains_key(&wanted[5..]));
            proptest::prop_assert_eq!(all(refs(true)), all(refs(false)));
            proptest::prop_assert_eq!(
                all(refs(true)).len(),
                names.keys().filter(|name| name.starts_with(&wanted[5..])).count()
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn names_are_those_of_git(name in "(refs|ref)?[/.@{a-c~\\x7f^ é]{0,4}(\\.lock)?/?[/.@{a-c]{0,4}(\\.lock)?[./]?") {
            let by_git = gix::validate::reference::name(name.as_str().into()).is_ok() && name.starts_with("refs/");
            proptest::prop_assert_eq!(is_name(name.as_bytes()), by_git, "{:?}", name);
        }
    }

    #[test]
    fn drops_a_ref_with_what_it_points_to() {
        let kept = packed().without(&["refs/tags/v1"]).expect("dropped");
        let gone = "3333333333333333333333333333333333333333 refs/tags/v1\n^4444444444444444444444444444444444444444\n";
        assert_eq!(kept, TEXT.replace(gone, "").into_bytes());
        assert_eq!(packed().without(&["refs/tags/v3"]), None);
        assert_eq!(packed().without(&["refs/tags"]), None);
    }

    #[test]
    fn knows_names_that_exclude_each_other() {
        assert_eq!(
            packed().in_the_way("refs/checkpoints/a/b"),
            Some("refs/checkpoints/a".to_owned())
        );
        assert_eq!(
            packed().in_the_way("refs/checkpoints"),
            Some("refs/checkpoints/a".to_owned())
        );
        assert_eq!(packed().in_the_way("refs/checkpoints/abc"), None);
    }
}
