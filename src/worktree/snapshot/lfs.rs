//! git-lfs: the repository holds a pointer, the content lies in a directory next to the objects.
//!
//! A file is stored as the pointer that the clean filter gives, and its content where git-lfs keeps it. `git lfs prune`
//! removes what only a checkpoint needs, so there is a second name for it, a hard link in a directory of ours next to
//! those objects. Where git-lfs is not set up for the repository, or has extensions, a file is stored as a blob, byte
//! for byte. The program itself is never run.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::PathBuf;
use std::sync::OnceLock;

use super::Error;
use super::content::in_tree;
use crate::os;
use crate::store::{self, Kind, ObjectId, Repository, objects::Writer, tree};

/// A pointer is at most this long, by the specification.
pub(in crate::worktree) const MAX_POINTER: u64 = 1024;

/// Where the content of this repository lies.
#[derive(Debug, Clone)]
pub(in crate::worktree) struct Lfs {
    objects: PathBuf,
    /// Content that checkpoints need, by other names for the same files.
    kept: PathBuf,
    sharing: os::Sharing,
    /// Whether `git add` would store a pointer.
    is_set_up: bool,
    /// The tree of HEAD if a remote has HEAD.
    pushed: OnceLock<Option<ObjectId>>,
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
        let config = repo.config_snapshot();
        let has = |name: &str| config.string(name).is_some_and(|program| !program.is_empty());
        let sections = config.plumbing().sections_by_name("lfs");
        let is_extended = sections.is_some_and(|mut sections| {
            sections.any(|section| {
                let name = section.header().subsection_name();
                name.is_some_and(|name| name.starts_with(b"extension."))
            })
        });
        Ok(Self {
            objects: storage.join("objects"),
            kept: storage.join("checkpoint"),
            sharing: store::sharing(repo),
            is_set_up: (has("filter.lfs.clean") || has("filter.lfs.process")) && !is_extended,
            pushed: OnceLock::new(),
        })
    }

    /// Whether `git add` would store a pointer for a file of git-lfs.
    pub(in crate::worktree) fn is_set_up(&self) -> bool {
        self.is_set_up
    }

    /// Whether the content is here.
    pub(in crate::worktree) fn has(&self, pointer: &Pointer) -> bool {
        [&self.objects, &self.kept].into_iter().any(|root| is_in(root, pointer))
    }

    /// Where the content lies if it is here.
    pub(in crate::worktree) fn path(&self, pointer: &Pointer) -> PathBuf {
        let kept = below(&self.kept, &pointer.sha256);
        if kept.is_file() {
            kept
        } else {
            below(&self.objects, &pointer.sha256)
        }
    }

    /// Makes the content of an unchanged file last as long as the checkpoints do. What a remote has with HEAD can be
    /// fetched again, and takes no second name.
    pub(in crate::worktree) fn keep_unchanged(
        &self,
        repo: &Repository,
        path: &[u8],
        id: ObjectId,
        pointer: &Pointer,
    ) -> io::Result<()> {
        if is_in(&self.kept, pointer) || in_tree(repo, self.pushed(repo), path) == Some(id) {
            return Ok(());
        }
        let (there, kept) = (
            below(&self.objects, &pointer.sha256),
            below(&self.kept, &pointer.sha256),
        );
        // git-lfs syncs nothing.
        os::sync(&File::open(&there)?)?;
        os::create_dir_durable(kept.parent().unwrap_or(&self.kept), self.sharing)?;
        link(&there, &kept)?;
        kept.parent().map_or(Ok(()), os::sync_dir)
    }

    /// Stores the content of an open file: durable, and under both names. An error of the kind `InvalidData` means that
    /// the file is not what the pointer says any more.
    pub(in crate::worktree) fn keep(&self, pointer: &Pointer, file: &mut File) -> io::Result<()> {
        let kept = below(&self.kept, &pointer.sha256);
        if !is_in(&self.kept, pointer) {
            os::create_dir_durable(kept.parent().unwrap_or(&self.kept), self.sharing)?;
            let mut buffer = vec![0; 128 * 1024];
            let mode = 0o666 & !os::umask().unwrap_or(0o022);
            os::replace_with(&kept, self.sharing, true, &mut |new| {
                // The other name is git-lfs's, which keeps its content as git keeps objects.
                os::set_mode(new, mode)?;
                self.sharing.apply(new)?;
                let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha256);
                file.rewind()?;
                loop {
                    match file.read(&mut buffer)? {
                        0 => break,
                        count => {
                            hasher.update(&buffer[..count]);
                            new.write_all(&buffer[..count])?;
                        }
                    }
                }
                let sum = hasher.try_finalize().map_err(io::Error::other)?;
                if sum == *pointer.sha256 {
                    Ok(())
                } else {
                    Err(io::ErrorKind::InvalidData.into())
                }
            })?;
        }
        self.publish(pointer)
    }

    /// Puts content that we keep where git-lfs looks for it, if it is not there.
    pub(in crate::worktree) fn publish(&self, pointer: &Pointer) -> io::Result<()> {
        let (there, kept) = (
            below(&self.objects, &pointer.sha256),
            below(&self.kept, &pointer.sha256),
        );
        if there.is_file() || !kept.is_file() {
            return Ok(());
        }
        os::create_dir_durable(there.parent().unwrap_or(&self.objects), self.sharing)?;
        link(&kept, &there)
    }

    /// The pointers whose content we keep.
    pub(in crate::worktree) fn kept(&self) -> Vec<Pointer> {
        let inside = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten();
        let directories = inside(self.kept.clone()).flat_map(|first| inside(first.path()));
        let files = directories.flat_map(|second| inside(second.path()));
        let pointer = |file: fs::DirEntry| {
            Some(Pointer {
                sha256: file.file_name().into_string().ok().filter(|name| is_sha256(name))?,
                size: file.metadata().ok()?.len(),
            })
        };
        files.filter_map(pointer).collect()
    }

    /// Removes content that we keep; with `all` also where git-lfs keeps it.
    pub(in crate::worktree) fn forget(&self, pointer: &Pointer, all: bool) -> io::Result<()> {
        let there = all.then(|| below(&self.objects, &pointer.sha256));
        for path in [Some(below(&self.kept, &pointer.sha256)), there].into_iter().flatten() {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The tree of HEAD, if a branch of a remote has that commit as far as is known here.
    fn pushed(&self, repo: &Repository) -> Option<ObjectId> {
        *self.pushed.get_or_init(|| {
            let head = repo.head_id().ok()?;
            let asked = store::git(repo).args(["for-each-ref", "--count=1", "--contains"]);
            let found = asked.arg(head.to_string()).arg("refs/remotes").text().ok()?;
            (!found.is_empty()).then(|| tree::of_head(repo).ok().flatten())?
        })
    }
}

/// The path of content below one of the directories.
fn below(root: &std::path::Path, sha256: &str) -> PathBuf {
    let (first, rest) = sha256.split_at(2);
    root.join(first).join(&rest[..2]).join(sha256)
}

fn is_in(root: &std::path::Path, pointer: &Pointer) -> bool {
    fs::metadata(below(root, &pointer.sha256)).is_ok_and(|meta| meta.is_file() && meta.len() == pointer.size)
}

/// A second name for a file, or a copy of it where the file system has no such thing.
fn link(from: &std::path::Path, to: &std::path::Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => {
            let new = to.with_file_name(format!("{}.new", os::random_token()?));
            let copied = fs::copy(from, &new).and_then(|_| os::sync(&File::open(&new)?));
            copied.and_then(|()| fs::rename(&new, to))
        }
        Ok(()) => Ok(()),
    }
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
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
        (is_sha256(&sha256) && lines.next().is_none()).then_some(Self { sha256, size })
    }

    /// The blob, as the clean filter gives it.
    pub(in crate::worktree) fn text(&self) -> String {
        let Self { sha256, size } = self;
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n")
    }

    /// The id of that blob.
    pub(in crate::worktree) fn id(&self, repo: &Repository) -> Option<ObjectId> {
        Writer::memory(repo).hash_only(Kind::Blob, self.text().as_bytes()).ok()
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
        assert_eq!(pointer.text(), text);
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
