//! A plan held against the disk: whether what is there now can come back, and whether what is wanted is there already.

use super::Error;
use super::content::Converter;
use super::disk::{Disk, DiskEntry};
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

impl RestorePlan {
    /// Reports the files whose bytes would otherwise be lost from those whose blobs hold them.
    ///
    /// The output of a filter program is not stored in another form unless it has to be: only where the program, run
    /// backwards, does not give the bytes on disk. All other conversions depend on settings that may change.
    pub fn unlike(&self, repo: &Repository) -> Result<ByteDifferences, Error> {
        let mut found = ByteDifferences::default();
        let mut converter = Converter::new(repo, &self.settings)?;
        let mut disk = disk_of(repo, &self.settings)?;
        for step in &self.steps {
            let (RestoreStep::Remove { path, was }
            | RestoreStep::Write {
                path, was: Some(was), ..
            }) = step
            else {
                continue;
            };
            if was.raw || was.is_link() {
                continue;
            }
            let by_program = converter
                .conversion(path, was)
                .map(|conversion| !matches!(conversion.filter, FilterAttribute::None));
            let path = RepoPath::from(&path[..]);
            match by_program {
                Some(false) => found.unlike.push(path),
                _ if !is_there(&mut converter, &mut disk, path.as_bytes(), was, Equality::Bytes) => {
                    let is_through = match step {
                        RestoreStep::Write { is, .. } => converter.is_filtered(path.as_bytes(), is),
                        _ => true,
                    };
                    if is_through && converter.is_filtered(path.as_bytes(), was) {
                        found.lossy.push(path.clone());
                    }
                    found.unlike.push(path);
                }
                None => found.as_stored.push(path),
                Some(true) => {}
            }
        }
        Ok(found)
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
    content: &super::content::TargetContent,
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
