//! Submodules with changes of their own: a snapshot has the commit that each is at and nothing of what lies in it, so
//! those with content that is in no commit are reported.
//!
//! It is the same walk with the submodule's own index, on one thread and with nothing stored, and it ends at the first
//! change. A result that is not known within [`WORK`] is reported as unknown: a save must not become a status of
//! everything below.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::attributes::Attributes;
use super::cache::Cache;
use super::content::{ContentReader, ReadOutcome};
use super::index::{EntryExt, GitIndex};
use super::lfs::Lfs;
use super::settings::SnapshotSettings;
use super::trees::Builder;
use super::walk::{self, FileToRead, ReadReason, WalkContext};
use super::{Error, SnapshotRules, ignore, nested};
use crate::model::list::SkipReason;
use crate::model::path::RepoPath;
use crate::store::objects::Writer;
use crate::store::{self, Repository, tree};

/// Limit of the work in all submodules, in directories; other work is converted to directories by its cost. A directory
/// with a few files takes some 20 µs, so this is below half a second.
const WORK: usize = 20_000;
/// Index entries that cost as much as a directory: their stat calls.
const ENTRIES: usize = 20;
/// Bytes to hash that cost as much as a directory.
const BYTES: u64 = 16 * 1024;
/// Files that are read before the first difference is looked for among them.
const BATCH: usize = 16;

/// A submodule whose files are not all in the commit it is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsavedSubmodule {
    /// Its path.
    pub path: RepoPath,
    /// Whether that is known. It is not when the submodule is too large to be looked through, or cannot be read.
    pub known: bool,
}

/// Whether a repository holds something next to its commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SubmoduleState {
    Clean,
    Changed,
    Unknown,
}

/// Looks into the submodules at these paths below `root`; gives those that are not clean, sorted.
pub(super) fn unsaved(root: &Path, mut paths: Vec<Box<[u8]>>) -> Vec<UnsavedSubmodule> {
    paths.sort_unstable();
    let mut work = WORK;
    let mut found = Vec::new();
    for path in paths {
        let state = state_at(root, &path, &mut work);
        if state != SubmoduleState::Clean {
            found.push(UnsavedSubmodule {
                path: RepoPath::from(&*path),
                known: state == SubmoduleState::Changed,
            });
        }
    }
    found
}

fn state_at(root: &Path, path: &[u8], work: &mut usize) -> SubmoduleState {
    let Ok(relative) = gix::path::from_byte_slice(path) else {
        return SubmoduleState::Unknown;
    };
    let place = root.join(relative);
    if !nested::may_be_opened(&place) {
        return SubmoduleState::Unknown;
    }
    store::open_beside(&place)
        .ok()
        .and_then(|inner| state(&inner, work).ok())
        .unwrap_or(SubmoduleState::Unknown)
}

fn state(repo: &Repository, work: &mut usize) -> Result<SubmoduleState, Error> {
    let Some(root) = repo.workdir() else {
        return Ok(SubmoduleState::Unknown);
    };
    let settings = SnapshotSettings::of(repo)?;
    let index = GitIndex::read(repo, None)?;
    let entries = index.all();
    if index.state().entries().iter().any(EntryExt::is_pending) {
        return Ok(SubmoduleState::Changed);
    }
    if !spend(work, 1 + entries.len() / ENTRIES) {
        return Ok(SubmoduleState::Unknown);
    }
    let writer = Writer::memory(repo);
    let head = tree::of_head(repo)?;
    let roots: Vec<_> = head.into_iter().collect();
    let (staged, _) = Builder::new(repo, &roots, &writer, &index, &[]).index()?;
    if head != Some(staged) && !(head.is_none() && entries.is_empty()) {
        return Ok(SubmoduleState::Changed);
    }
    let ignore = ignore::GlobalPatterns::read(repo, settings.case())?;
    let exclude = ignore::GlobalPatterns::of_patterns(&[], settings.case());
    let own = nested::own_directories(repo, root);
    let cache = Cache::empty(repo.object_hash());
    let lfs = Lfs::of(repo)?;
    let rules = SnapshotRules {
        max_file_size: u64::MAX,
        max_total_size: None,
        exclude: &[],
        no_secrets: false,
        tracked_only: false,
        umask: 0,
        index_path: None,
    };
    let ground = WalkContext {
        lfs: &lfs,
        keeps: false,
        partial: super::is_partial(repo),
        settings: &settings,
        index: &index,
        ignore: &ignore,
        exclude: &exclude,
        root,
        rules: &rules,
        rules_digest: 0,
        own: &own,
        cache: &cache,
        next: None,
        device: None,
        look: None,
        trusted: None,
        left_out: &[],
        open: Arc::new(AtomicUsize::new(0)),
        leftovers: None,
        status_only: true,
    };
    let mut enough = true;
    let mut found = walk::until(repo, &ground, Attributes::read(repo)?, |found| {
        enough = spend(work, 1);
        !enough || found.tally.is_changed()
    })?;
    if found.tally.is_changed() {
        return Ok(SubmoduleState::Changed);
    }
    let failed =
        |skipped: &[crate::model::list::SkippedEntry]| skipped.iter().any(|skipped| skipped.reason.is_failure());
    if !enough || failed(&found.lists.skipped) {
        return Ok(SubmoduleState::Unknown);
    }
    let candidates: Vec<FileToRead> = std::mem::take(&mut found.candidates)
        .into_iter()
        .flatten()
        .filter(|candidate| candidate.why == ReadReason::Changed)
        .collect();
    let attributes: Vec<_> = found
        .directories
        .iter()
        .map(|directory| directory.attributes.clone())
        .collect();
    let reader = ContentReader {
        ground: &ground,
        writer: &writer,
        attributes: &attributes,
        cache: &cache,
        next: None,
        head,
        roots: &roots,
    };
    for batch in candidates.chunks(BATCH) {
        let bytes: u64 = batch.iter().map(|candidate| candidate.meta.size).sum();
        let cost = usize::try_from(bytes / BYTES).unwrap_or(usize::MAX);
        if !spend(work, cost.saturating_add(batch.len())) {
            return Ok(SubmoduleState::Unknown);
        }
        for read in reader.read(repo, batch, 1)? {
            match read.outcome {
                ReadOutcome::Same { .. } => {}
                ReadOutcome::Put(put) if !put.modified => {}
                ReadOutcome::Put(_)
                | ReadOutcome::Held { .. }
                | ReadOutcome::Gone
                | ReadOutcome::Skipped(SkipReason::Unstable) => {
                    return Ok(SubmoduleState::Changed);
                }
                ReadOutcome::Skipped(_) => return Ok(SubmoduleState::Unknown),
            }
        }
    }
    let mut state = SubmoduleState::Clean;
    for path in found.submodules {
        match state_at(root, &path, work) {
            SubmoduleState::Clean => {}
            SubmoduleState::Changed => return Ok(SubmoduleState::Changed),
            SubmoduleState::Unknown => state = SubmoduleState::Unknown,
        }
    }
    Ok(state)
}

/// Takes from what is left; `false` when there is not enough.
fn spend(left: &mut usize, cost: usize) -> bool {
    let rest = left.checked_sub(cost);
    *left = rest.unwrap_or(0);
    rest.is_some()
}
