//! A plan held against the disk: whether what is there now can come back, and whether what is wanted is there already.

use super::Error;
use super::content::{Converter, TargetContent};
use super::disk::{Disk, DiskEntry};
use super::parallel::{in_parts, thread_count};
use super::paths::FileSystem;
use super::plan::{RestorePlan, RestoreStep};
use super::proof::Equality;
use crate::model::path::RepoPath;
use crate::store::Repository;
use crate::worktree::snapshot::attributes::FilterAttribute;
use crate::worktree::snapshot::settings::SnapshotSettings;

/// Files that a plan overwrites or deletes, and that are to be kept byte for byte first.
#[derive(Debug, Default)]
pub struct ByteDifferences {
    /// Their bytes are those of their blobs.
    pub as_stored: Vec<RepoPath>,
    /// The present tree does not give their bytes back, or not under rules of later.
    pub unlike: Vec<RepoPath>,
    /// Those of them whose filter program does not give their bytes back, and that go away or are written through it.
    pub lossy: Vec<RepoPath>,
}

/// A file that a plan overwrites or deletes, and whose blob need not be its bytes.
struct Replaced<'p> {
    path: &'p [u8],
    was: &'p TargetContent,
    /// The content that overwrites it.
    is: Option<&'p TargetContent>,
}

impl<'p> Replaced<'p> {
    fn of(step: &'p RestoreStep) -> Option<Self> {
        let (path, was, is) = match step {
            RestoreStep::Remove { path, was } => (path, was, None),
            RestoreStep::Write {
                path,
                was: Some(was),
                is,
            } => (path, was, Some(is)),
            _ => return None,
        };
        (!was.raw && !was.is_link()).then_some(Self { path, was, is })
    }
}

impl ByteDifferences {
    fn note(&mut self, converter: &mut Converter<'_>, disk: &mut Disk, replaced: &Replaced<'_>) {
        let Replaced { path, was, is } = replaced;
        let by_program = converter
            .conversion(path, was)
            .map(|conversion| !matches!(conversion.filter, FilterAttribute::None));
        let name = RepoPath::from(*path);
        match by_program {
            Some(false) => self.unlike.push(name),
            _ if !is_there(converter, disk, path, was, Equality::Bytes) => {
                let is_through = is.is_none_or(|is| converter.is_filtered(path, is));
                if is_through && converter.is_filtered(path, was) {
                    self.lossy.push(name.clone());
                }
                self.unlike.push(name);
            }
            None => self.as_stored.push(name),
            Some(true) => {}
        }
    }

    fn add(&mut self, other: Self) {
        self.as_stored.extend(other.as_stored);
        self.unlike.extend(other.unlike);
        self.lossy.extend(other.lossy);
    }
}

impl RestorePlan {
    /// Reports the files whose bytes would otherwise be lost from those whose blobs hold them.
    ///
    /// The output of a filter program is not stored in another form unless it has to be: only where the program, run
    /// backwards, does not give the bytes on disk. All other conversions depend on settings that may change.
    pub fn unlike(&self, repo: &Repository) -> Result<ByteDifferences, Error> {
        let replaced: Vec<_> = self.steps.iter().filter_map(Replaced::of).collect();
        let helpers = thread_count(repo, replaced.len());
        let work = |repo: &Repository, replaced: &[Replaced<'_>]| {
            let mut found = ByteDifferences::default();
            let mut converter = Converter::new(repo, &self.settings)?;
            let mut disk = disk_of(repo, &self.settings)?;
            for one in replaced {
                found.note(&mut converter, &mut disk, one);
            }
            Ok(found)
        };
        let mut all = ByteDifferences::default();
        for part in in_parts(repo, &replaced, helpers, work) {
            all.add(part?);
        }
        Ok(all)
    }

    /// Whether a filter program is between a file that is overwritten or deleted and its blob.
    pub fn has_filtered(&self, repo: &Repository) -> Result<bool, Error> {
        let mut converter = Converter::new(repo, &self.settings)?;
        Ok(self.steps.iter().any(|step| match step {
            RestoreStep::Remove { path, was }
            | RestoreStep::Write {
                path, was: Some(was), ..
            } => converter.is_filtered(path, was),
            _ => false,
        }))
    }

    /// The files and symlinks that are not as the plan makes them, in the order of execution. A file that a filter would
    /// store as what the plan writes counts as that.
    pub fn unmet(&self, repo: &Repository) -> Result<Vec<RepoPath>, Error> {
        let mut converter = Converter::new(repo, &self.settings)?;
        let mut disk = disk_of(repo, &self.settings)?;
        let mut unmet = Vec::new();
        for step in &self.steps {
            let is_met = match step {
                RestoreStep::Write { path, is, .. } => is_there(&mut converter, &mut disk, path, is, Equality::Stored),
                RestoreStep::Remove { path, .. } => {
                    matches!(disk.at(path), Ok(DiskEntry::Nothing | DiskEntry::Blocked(_)))
                        || !disk.is_exact(path).unwrap_or(true)
                }
                RestoreStep::Mode { .. } => false,
                RestoreStep::RemoveDirectory { .. }
                | RestoreStep::RenameDirectory { .. }
                | RestoreStep::MakeDirectory { .. } => true,
            };
            if !is_met {
                unmet.push(RepoPath::from(step.path()));
            }
        }
        Ok(unmet)
    }
}

fn disk_of(repo: &Repository, settings: &SnapshotSettings) -> Result<Disk, Error> {
    let root = repo.workdir().ok_or_else(|| Error::Bare {
        path: repo.git_dir().to_owned(),
    })?;
    Disk::open(root, FileSystem::of(settings.ignore_case))
}

/// Whether a path is on disk as a side has it. What cannot be read is not.
fn is_there(
    converter: &mut Converter<'_>,
    disk: &mut Disk,
    path: &[u8],
    content: &TargetContent,
    equality: Equality,
) -> bool {
    if !disk.is_exact(path).unwrap_or(false) {
        return false;
    }
    let Ok(Some((directory, name))) = disk.directory_of(path) else {
        return false;
    };
    let meta = converter.is_on_disk(directory, name, path, content, equality);
    let Ok(Some(meta)) = meta else { return false };
    content.has_bits(meta.mode, converter.settings.file_mode)
}
