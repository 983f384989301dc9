//! The file `packed-refs`: one line a ref, `id SP name`, with what a tag points to on a line of its own (`^id`).

use std::fs;
use std::io;
use std::path::PathBuf;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::store::{Error, Repository};

/// The contents of the file, empty when there is none.
pub(super) struct Packed {
    bytes: Vec<u8>,
}

/// Where the file is.
pub(super) fn path(repo: &Repository) -> PathBuf {
    repo.common_dir().join("packed-refs")
}

impl Packed {
    /// Reads the file anew each time: it is replaced by rename, and a time stamp does not tell two quick changes apart.
    pub(super) fn read(repo: &Repository) -> Result<Self, Error> {
        let path = path(repo);
        match fs::read(&path) {
            Ok(bytes) => Ok(Self { bytes }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self { bytes: Vec::new() }),
            Err(error) => Err(Error::io("read", path)(error)),
        }
    }

    /// The value of a ref.
    pub(super) fn find(&self, name: &str) -> Option<ObjectId> {
        let at = self.position(name)?;
        let line = self.bytes[at..].lines().next()?;
        split(line).and_then(|(hex, _)| ObjectId::from_hex(hex).ok())
    }

    /// Where the line of a ref begins: found by its end, so that the file need not be taken apart.
    fn position(&self, name: &str) -> Option<usize> {
        let needle = [b" ", name.as_bytes()].concat();
        self.bytes.find_iter(&needle).find_map(|at| {
            let ends = matches!(self.bytes.get(at + needle.len()), None | Some(b'\n' | b'\r'));
            let start = self.bytes[..at].rfind_byte(b'\n').map_or(0, |end| end + 1);
            let hex = self.bytes[start..at].iter().all(u8::is_ascii_hexdigit) && start < at;
            (ends && hex).then_some(start)
        })
    }

    /// The refs whose names begin with `prefix`.
    pub(super) fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (String, ObjectId)> + 'a {
        self.bytes.lines().filter_map(move |line| {
            let (hex, name) = split(line)?;
            let name = name.starts_with(prefix.as_bytes()).then(|| name.to_str().ok())??;
            Some((name.to_owned(), ObjectId::from_hex(hex).ok()?))
        })
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

    /// The contents without these refs; `None` if they do not stand there.
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

fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.find_byte(b' ')?;
    let (hex, name) = (&line[..at], &line[at + 1..]);
    (!hex.is_empty() && hex.iter().all(u8::is_ascii_hexdigit)).then_some((hex, name))
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

    fn packed() -> Packed {
        Packed { bytes: TEXT.into() }
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
