//! Distribution of the results of reading to directories, lists, status and cache.

use std::collections::{HashMap, HashSet};

use super::cache::{CacheContent, CacheFiles, FileRecord, UntrackedDirectory};
use super::content::{Read, ReadOutcome};
use super::index::{EntryExt, GitIndex};
use super::trees::path_of;
use super::walk::{FileToRead, PathState, ReadReason, ScannedDirectory, WalkContext, WalkResult};
use crate::model::list::SkipReason;
use crate::model::path::RepoPath;
use crate::store::ObjectId;

/// The candidates, and what each became.
#[derive(Clone, Copy)]
pub(super) struct Results<'a> {
    pub candidates: &'a [FileToRead],
    pub reads: &'a [Read],
    pub index: &'a GitIndex,
}

impl<'a> Results<'a> {
    /// The name of a candidate, and what is at that name now.
    pub(super) fn change(&self, at: u32) -> (&'a [u8], PathState) {
        let (candidate, read) = (&self.candidates[at as usize], &self.reads[at as usize]);
        let what = match read.outcome {
            ReadOutcome::Put(put) => PathState::Put {
                mode: put.mode,
                id: put.id,
            },
            _ => PathState::Gone,
        };
        (candidate.parts().1, what)
    }

    /// Cache record of a candidate.
    fn record(&self, candidate: &'a FileToRead, read: &Read) -> Option<FileRecord> {
        let note = read.note.as_ref()?;
        let (mode, id, raw) = match read.outcome {
            ReadOutcome::Put(put) => (put.mode, put.id, put.raw),
            ReadOutcome::Same { .. } => {
                let entry = self.index.entry(candidate.entry?);
                (u16::try_from(entry.mode.bits()).ok()?, entry.id, false)
            }
            ReadOutcome::Held { .. } | ReadOutcome::Gone | ReadOutcome::Skipped(_) => return None,
        };
        let git_id = note.git_id.as_deref().copied().unwrap_or(id);
        Some(FileRecord {
            meta: candidate.meta,
            basis: note.basis,
            mode,
            raw,
            pointer: note.pointer,
            id,
            git_id,
        })
    }
}

/// Entries that are inserted later.
#[derive(Default)]
pub(super) struct DeferredEntries {
    /// Directories with an unchanged file whose blob does not give its bytes, or may not do so next time.
    unsettled: HashSet<u32>,
    /// Files that are kept next to the tree.
    pub held: Vec<(RepoPath, ObjectId)>,
}

/// Whether there may be more bytes of untracked files than the limit, with those that were taken at once.
pub(super) fn is_over(found: &WalkResult, max_total_size: Option<u64>) -> bool {
    let candidates = found.candidates.iter().flatten();
    let untracked = candidates.filter(|candidate| candidate.why == ReadReason::Untracked);
    let taken = found
        .directories
        .iter()
        .filter_map(|directory| directory.taken.as_ref());
    let at_once = taken.filter(|taken| taken.tree.is_some()).map(|taken| taken.size);
    let total = untracked
        .map(|candidate| candidate.meta.size)
        .chain(at_once)
        .fold(0, u64::saturating_add);
    max_total_size.is_some_and(|max| total > max)
}

/// The candidates in their order, less the untracked ones beyond the limit on all of them.
pub(super) fn within_budget(found: &mut WalkResult, max_total_size: Option<u64>) -> Vec<FileToRead> {
    let mut directories = std::mem::take(&mut found.candidates);
    let directory = |list: &Vec<FileToRead>| list.first().map(|candidate| candidate.parts().0.to_vec());
    directories.sort_by_cached_key(directory);
    let mut candidates = Vec::with_capacity(directories.iter().map(Vec::len).sum());
    for list in directories {
        candidates.extend(list);
    }
    let Some(mut left) = max_total_size else {
        return candidates;
    };
    candidates.retain(|candidate| {
        if candidate.why != ReadReason::Untracked {
            return true;
        }
        let Some(rest) = left.checked_sub(candidate.meta.size) else {
            found.skip_sized(&candidate.path, SkipReason::OverBudget, candidate.meta.size);
            return false;
        };
        left = rest;
        true
    });
    candidates
}

/// Enters all results into directories, lists and status.
pub(super) fn settle(found: &mut WalkResult, ground: &WalkContext<'_>, results: Results<'_>) -> DeferredEntries {
    let mut settled = DeferredEntries::default();
    for (at, (candidate, read)) in (0..).zip(results.candidates.iter().zip(results.reads)) {
        let path = &candidate.path;
        let entry = candidate.entry.map(|at| ground.index.entry(at));
        let unmerged = entry.is_some_and(|entry| entry.is_pending() && !entry.is_intent_to_add());
        if candidate.why == ReadReason::Clean && !matches!(read.outcome, ReadOutcome::Same { settled: true }) {
            settled.unsettled.insert(candidate.directory);
        }
        if entry.is_none() && matches!(read.outcome, ReadOutcome::Put(_) | ReadOutcome::Held { .. }) {
            found.note_mode(ground, path, &candidate.meta, None);
        }
        match read.outcome {
            ReadOutcome::Same { .. } => continue,
            ReadOutcome::Skipped(reason @ (SkipReason::Secret | SkipReason::TooLarge)) => {
                found.skip_sized(path, reason, candidate.meta.size);
                continue;
            }
            ReadOutcome::Skipped(reason) => {
                found.skip(path, reason);
                continue;
            }
            ReadOutcome::Gone if entry.is_none() => continue,
            ReadOutcome::Gone => {
                if !unmerged {
                    found.tally.deleted.add(path);
                }
            }
            ReadOutcome::Held { id, raw } => {
                if entry.is_some_and(|entry| entry.id != id) {
                    found.tally.modified.add(path);
                }
                settled.held.push((RepoPath::from(&**path), id));
                if raw {
                    found.lists.raw.push(RepoPath::from(&**path));
                }
                // No tree has it as executable.
                let bits = candidate.meta.mode;
                let is_listed = found.lists.modes.iter().any(|(listed, _)| listed.as_bytes() == &**path);
                if candidate.meta.is_executable() && !is_listed {
                    found.lists.modes.push((RepoPath::from(&**path), bits));
                }
            }
            ReadOutcome::Put(put) => {
                if put.modified && !unmerged {
                    found.tally.modified.add(path);
                }
                if put.raw {
                    found.lists.raw.push(RepoPath::from(&**path));
                }
                if !put.modified && entry.is_some_and(|entry| entry.id == put.id && !entry.is_pending()) {
                    continue;
                }
            }
        }
        found.directories[candidate.directory as usize].read.push(at);
    }
    settled
}

impl DeferredEntries {
    /// Writes what may be believed next time; `further` are fingerprints next to those of directories, `trees` what directories of
    /// taken files became.
    pub(super) fn remember(
        &self,
        ground: &WalkContext<'_>,
        found: &WalkResult,
        results: Results<'_>,
        further: &HashSet<u64>,
        trees: &HashMap<u32, ObjectId>,
    ) {
        let Some(next) = ground.next else {
            return;
        };
        let in_order = found
            .directories
            .iter()
            .filter(|directory| !self.unsettled.contains(&directory.id));
        let directories = in_order
            .filter_map(|directory| directory.fingerprint)
            .chain(further.iter().copied())
            .collect();
        let mut known = Vec::new();
        let mut files = Vec::new();
        let at_once =
            |directory: &&ScannedDirectory| directory.taken.as_ref().is_some_and(|taken| taken.tree.is_some());
        for directory in found.directories.iter().filter(at_once) {
            let mut path = path_of(&found.directories, directory);
            path.push(b'/');
            if let (Some(same), Some(taken)) = (ground.cache.known(&path), &directory.taken) {
                known.push(UntrackedDirectory {
                    packs: taken.packs.clone(),
                    ..same.clone()
                });
                files.push((&*same.path, CacheFiles::AsBefore(&same.path)));
            }
        }
        let mut start = 0;
        for group in results.candidates.chunk_by(|a, b| a.directory == b.directory) {
            let reads = &results.reads[start..start + group.len()];
            start += group.len();
            let path = group[0].parts().0;
            let directory = &found.directories[group[0].directory as usize];
            let taken = directory.taken.as_ref().filter(|taken| taken.count == group.len());
            let tree = taken
                .filter(|_| {
                    group
                        .iter()
                        .zip(reads)
                        .all(|(candidate, read)| as_it_is(ground, candidate, read))
                })
                .and_then(|taken| Some((taken, *trees.get(&directory.id)?)));
            if let Some((taken, tree)) = tree {
                known.push(UntrackedDirectory {
                    path: path.into(),
                    fingerprint: taken.fingerprint,
                    size: taken.size,
                    tree,
                    packs: Vec::new(),
                });
            }
            // The unchanged files of a directory that is in order are known by its fingerprint.
            let in_order = directory.fingerprint.is_some() && !self.unsettled.contains(&directory.id);
            let records: Vec<_> = group
                .iter()
                .zip(reads)
                .filter(|(candidate, _)| !(in_order && candidate.why == ReadReason::Clean))
                .filter_map(|(candidate, read)| Some((&*candidate.path, results.record(candidate, read)?)))
                .collect();
            if !records.is_empty() {
                let known = tree.is_some();
                files.push((path, CacheFiles::Read { known, files: records }));
            }
        }
        known.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        files.sort_by_key(|(path, _)| *path);
        let files = files.into_iter().map(|(_, files)| files).collect();
        let content = CacheContent {
            directories,
            known,
            files,
        };
        next.finish(ground.cache, &content);
    }
}

/// Whether an untracked file is stored as it is, with nothing else to say about it, and may be believed to be unchanged.
fn as_it_is(ground: &WalkContext<'_>, candidate: &FileToRead, read: &Read) -> bool {
    let plain = matches!(read.outcome, ReadOutcome::Put(put) if !put.raw);
    let believed = read.note.as_ref().is_some_and(|note| !note.pointer);
    plain && believed && ground.is_usual(&candidate.meta, None)
}
