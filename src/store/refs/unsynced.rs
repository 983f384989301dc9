//! Files that git wrote a short while ago and did not sync, brought to the disk before a ref of ours relies on it.
//!
//! git syncs no loose object and no ref by default (`core.fsync` is `committed,-loose-object`). So after `git commit` the
//! commit, its trees and its blobs may be empty files when the power fails, and a checkpoint that relies on them would
//! be damaged although all that it wrote itself is safe. Which of them a checkpoint reaches is not asked: everything
//! young is synced, which is complete and costs a look at the directories of objects.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::{Head, head};
use crate::os::{self, Watermark};
use crate::store::objects::{is_own_pack, object_directories};
use crate::store::{Error, Repository, paths, uses_reftable};

/// More files than this are brought to the disk by one call for the whole file system, where there is one.
const FEW: usize = 32;
/// The file with the time up to which everything is on the disk.
const MARK: &str = "synced";

/// Syncs the objects, and `HEAD`, its branch, the index, `packed-refs` and `shallow`, that were written since the last
/// call or in the last two minutes.
///
/// The other way round from trust: whatever is not known to be old counts as young.
pub(super) fn sync_young(repo: &Repository) -> Result<(), Error> {
    let mark = paths::private_dir(repo)?.join(MARK);
    let watermark = Watermark::open(&mark, paths::sharing(repo));
    let mut young = Young::of(repo, &watermark, FEW)?;
    if young.is_many() {
        os::trace::say(1, || format!("more than {FEW} files of git synced"));
        if os::sync_file_systems(&young.directories) {
            watermark.advance();
            return Ok(());
        }
        young = Young::of(repo, &watermark, usize::MAX)?;
    }
    if !young.files.is_empty() || !young.directories.is_empty() {
        os::trace::say(1, || format!("{} files of git synced", young.files.len()));
        os::sync_all(&young.files, &young.directories)
            .map_err(Error::io("write to the disk what git wrote in", repo.common_dir()))?;
        watermark.advance();
    }
    Ok(())
}

struct Young<'a> {
    watermark: &'a Watermark,
    /// Once there are more than this, no loose object is looked at any more, only the directories that have some.
    most: usize,
    files: Vec<PathBuf>,
    directories: Vec<PathBuf>,
}

impl<'a> Young<'a> {
    /// Everything young of the repository.
    fn of(repo: &Repository, watermark: &'a Watermark, most: usize) -> Result<Self, Error> {
        let mut young = Self {
            watermark,
            most,
            files: Vec::new(),
            directories: Vec::new(),
        };
        for directory in object_directories(repo)? {
            young.objects(&directory);
        }
        young.state(repo);
        Ok(young)
    }

    fn is_many(&self) -> bool {
        self.files.len() > self.most
    }

    /// The young objects of an object directory. What cannot be listed cannot be relied on either.
    fn objects(&mut self, directory: &Path) {
        let Ok(entries) = fs::read_dir(directory) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            if name == b"pack" {
                self.packs(&entry.path());
            } else if name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit) && self.is_young_entry(&entry) {
                self.loose(&entry.path());
            }
        }
        if self.is_young(directory) {
            self.directories.push(directory.to_owned());
        }
    }

    fn loose(&mut self, directory: &Path) {
        self.directories.push(directory.to_owned());
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if self.is_many() {
                return;
            }
            if self.is_young_entry(&entry) {
                self.files.push(entry.path());
            }
        }
    }

    /// The packs of git. Its own syncs cover the files; the names are durable only with the directory. The age of a pack
    /// is that of its index, as using a pack freshens the pack itself.
    fn packs(&mut self, directory: &Path) {
        if !self.is_young(directory) {
            return;
        }
        let before = self.files.len();
        for index in fs::read_dir(directory)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
        {
            let is_index = index.extension().is_some_and(|extension| extension == "idx");
            let stem = index.file_stem().and_then(|stem| stem.to_str());
            if is_index && !stem.is_some_and(is_own_pack) && self.is_young(&index) {
                let beside = ["pack", "rev", "idx"].map(|extension| index.with_extension(extension));
                self.files.extend(beside.into_iter().filter(|path| path.exists()));
            }
        }
        if self.files.len() > before {
            self.directories.push(directory.to_owned());
        }
    }

    /// The files by which the next command finds the same commit and the same index.
    fn state(&mut self, repo: &Repository) {
        let (own, common) = (repo.git_dir(), repo.common_dir());
        let mut paths = vec![
            own.join("HEAD"),
            repo.index_path(),
            common.join("packed-refs"),
            common.join("shallow"),
        ];
        if uses_reftable(repo) {
            for directory in [own, common] {
                let tables = fs::read_dir(directory.join("reftable")).into_iter().flatten().flatten();
                paths.extend(tables.map(|entry| entry.path()));
            }
        } else if let Ok(Head {
            branch: Some(branch), ..
        }) = head(repo)
        {
            let path = common.join(branch);
            let above = path.ancestors().skip(1).take_while(|above| *above != common);
            let young: Vec<_> = above.filter(|above| self.is_young(above)).map(Path::to_owned).collect();
            self.directories.extend(young);
            paths.push(path);
        }
        for path in paths {
            if self.is_young(&path) {
                let directory = path.parent().map(Path::to_owned);
                self.directories
                    .extend(directory.filter(|directory| !self.directories.contains(directory)));
                self.files.push(path);
            }
        }
    }

    /// Found by its name alone in the directory that is read, which is quicker than by its path.
    fn is_young_entry(&self, entry: &DirEntry) -> bool {
        self.is_young_by(entry.metadata())
    }

    fn is_young(&self, path: &Path) -> bool {
        self.is_young_by(fs::symlink_metadata(path))
    }

    fn is_young_by(&self, metadata: io::Result<Metadata>) -> bool {
        match metadata {
            Ok(metadata) => is_plain(&metadata) && self.watermark.is_young(&metadata),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }
}

/// No symlink, FIFO or device: opening those may wait, and git stores nothing in them.
fn is_plain(metadata: &Metadata) -> bool {
    metadata.is_file() || metadata.is_dir()
}
