//! git-lfs: the repository holds a pointer, the content lies in a directory next to the objects.
//!
//! `git lfs prune` removes content that only a checkpoint needs, so a pointer is kept only as long as its content is
//! there and is what the file holds; anything else is stored as a blob, byte for byte. The program itself is never run.

use std::path::PathBuf;

use super::Error;
use crate::store::Repository;

/// A pointer is at most this long, says the specification.
pub(in crate::worktree) const MAX_POINTER: u64 = 1024;

/// Where the content of this repository lies.
#[derive(Debug, Clone)]
pub(in crate::worktree) struct Lfs {
    objects: PathBuf,
}

/// Pointer to content of git-lfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::worktree) struct Pointer {
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
    /// Its length.
    pub size: u64,
}

impl Lfs {
    pub(in crate::worktree) fn of(repo: &Repository) -> Result<Self, Error> {
        let set = repo
            .config_snapshot()
            .trusted_path("lfs.storage")
            .map_err(Error::gix("read 'lfs.storage'"))?;
        // A relative directory is one in the repository.
        let storage = repo.common_dir().join(set.unwrap_or_else(|| PathBuf::from("lfs")));
        Ok(Self {
            objects: storage.join("objects"),
        })
    }

    /// Whether the content is here.
    pub(in crate::worktree) fn has(&self, pointer: &Pointer) -> bool {
        std::fs::metadata(self.path(pointer)).is_ok_and(|meta| meta.is_file() && meta.len() == pointer.size)
    }

    /// Where the content lies if it is here.
    pub(in crate::worktree) fn path(&self, pointer: &Pointer) -> PathBuf {
        let (first, rest) = pointer.sha256.split_at(2);
        self.objects.join(first).join(&rest[..2]).join(&pointer.sha256)
    }
}

impl Pointer {
    /// Reads a blob as a pointer; `None` if it is none. One with extensions, whose content is not the file's, is none.
    pub(in crate::worktree) fn parse(blob: &[u8]) -> Option<Self> {
        if blob.len() as u64 > MAX_POINTER {
            return None;
        }
        let mut lines = std::str::from_utf8(blob).ok()?.lines();
        let version = lines.next()?.strip_prefix("version ")?;
        if ![
            "https://git-lfs.github.com/spec/v1",
            "https://hawser.github.com/spec/v1",
        ]
        .contains(&version)
        {
            return None;
        }
        let sha256 = lines.next()?.strip_prefix("oid sha256:")?.to_owned();
        let size = lines.next()?.strip_prefix("size ")?.parse().ok()?;
        let hex = sha256.len() == 64 && sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        (hex && lines.next().is_none()).then_some(Self { sha256, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_told_from_other_text() {
        let sha256 = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
        let text = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize 12345\n");
        let pointer = Pointer::parse(text.as_bytes()).expect("a pointer");
        assert_eq!(
            pointer,
            Pointer {
                sha256: sha256.to_owned(),
                size: 12345
            }
        );
        for bad in [
            "",
            "version https://git-lfs.github.com/spec/v1\n",
            &text.replace("spec/v1", "spec/v2"),
            &text.replace("size 12345", "size big"),
            &text.replace("4d7a", "4D7A"),
            &text.replace("oid", "ext-0-x sha256:1\noid"),
            &format!("{text}more\n"),
        ] {
            assert_eq!(Pointer::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
