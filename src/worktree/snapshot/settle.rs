//! What became of the files that were read, on its way into folders, lists, status and cache.

use std::collections::{HashMap, HashSet};

use super::cache::{Content, Files, Known, Record};
use super::content::{Outcome, Read};
use super::index::{EntryExt, Index};
use super::trees::path_of;
use super::walk::{Candidate, Folder, Found, Ground, What, Why};
use crate::model::list::SkipReason;
use crate::model::path::RepoPath;
use crate::store::ObjectId;

/// The candidates, and what each became.
#[derive(Clone, Copy)]
pub(super) struct Results<'a> {
    pub candidates: &'a [Candidate],
    pub reads: &'a [Read],
    pub index: &'a Index,
}

impl<'a> Results<'a> {
    /// The name of a candidate, and what is at that name now.
    pub(super) fn change(&self, at: u32) -> (&'a [u8], What) {
        let (candidate, read) = (&self.candidates[at as usize], &self.reads[at as usize]);
        let what = match read.outcome {
            Outcome::Put(put) => What::Put {
                mode: put.mode,
                id: put.id,
            },
            _ => What::Gone,
        };
        (candidate.parts().1, what)
    }

    /// What may be believed of a candidate next time.
    fn record(&self, candidate: &'a Candidate, read: &Read) -> Option<Record> {
        let note = read.note.as_ref()?;
        let (mode, id, raw) = match read.outcome {
            Outcome::Put(put) => (put.mode, put.id, put.raw),
            Outcome::Same { .. } => {
                let entry = self.index.entry(candidate.entry?);
                (u16::try_from(entry.mode.bits()).ok()?, entry.id, false)
            }
            Outcome::Held { .. } | Outcome::Gone | Outcome::Skipped(_) => return None,
        };
        let git_id = note.git_id.as_deref().copied().unwrap_or(id);
        Some(Record {
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

/// What cannot be entered where it belongs at once.
#[derive(Default)]
pub(super) struct Settled {
    /// Folders with an unchanged file whose blob does not give its bytes, or may not do so next time.
    unsettled: HashSet<u32>,
    /// Files that are kept beside the tree.
    pub held: Vec<(RepoPath, ObjectId)>,
}

/// Whether there may be more bytes of untracked files than the limit, with those that were taken at once.
pub(super) fn is_over(found: &Found, max_total_size: Option<u64>) -> bool {
    let candidates = found.candidates.iter().flatten();
    let untracked = candidates.filter(|candidate| candidate.why == Why::Untracked);
    let taken = found.folders.iter().filter_map(|folder| folder.taken.as_ref());
    let at_once = taken.filter(|taken| taken.tree.is_some()).map(|taken| taken.size);
    let total = untracked
        .map(|candidate| candidate.meta.size)
        .chain(at_once)
        .fold(0, u64::saturating_add);
    max_total_size.is_some_and(|max| total > max)
}

/// The candidates in their order, less the untracked ones beyond the limit on all of them.
pub(super) fn within_budget(found: &mut Found, max_total_size: Option<u64>) -> Vec<Candidate> {
    let mut folders = std::mem::take(&mut found.candidates);
    let folder = |list: &Vec<Candidate>| list.first().map(|candidate| candidate.parts().0.to_vec());
    folders.sort_by_cached_key(folder);
    let mut candidates = Vec::with_capacity(folders.iter().map(Vec::len).sum());
    for list in folders {
        candidates.extend(list);
    }
    let Some(mut left) = max_total_size else {
        return candidates;
    };
    candidates.retain(|candidate| {
        if candidate.why != Why::Untracked {
            return true;
        }
        let Some(rest) = left.checked_sub(candidate.meta.size) else {
            found.skip(&candidate.path, SkipReason::OverBudget);
            return false;
        };
        left = rest;
        true
    });
    candidates
}

/// Enters all results into folders, lists and status.
pub(super) fn settle(found: &mut Found, ground: &Ground<'_>, results: Results<'_>) -> Settled {
    let mut settled = Settled::default();
    for (at, (candidate, read)) in (0..).zip(results.candidates.iter().zip(results.reads)) {
        let path = &candidate.path;
        let entry = candidate.entry.map(|at| ground.index.entry(at));
        let unmerged = entry.is_some_and(|entry| entry.is_pending() && !entry.is_intent_to_add());
        if candidate.why == Why::Clean && !matches!(read.outcome, Outcome::Same { settled: true }) {
            settled.unsettled.insert(candidate.folder);
        }
        if entry.is_none() && matches!(read.outcome, Outcome::Put(_) | Outcome::Held { .. }) {
            found.note_mode(ground, path, &candidate.meta, None);
        }
        match read.outcome {
            Outcome::Same { .. } => continue,
            Outcome::Skipped(reason) => {
                found.skip(path, reason);
                continue;
            }
            Outcome::Gone if entry.is_none() => continue,
            Outcome::Gone => {
                if !unmerged {
                    found.tally.deleted.add(path);
                }
            }
            Outcome::Held { id, raw } => {
                if entry.is_some_and(|entry| entry.id != id) {
                    found.tally.modified.add(path);
                }
                settled.held.push((RepoPath::from(&**path), id));
                if raw {
                    found.lists.raw.push(RepoPath::from(&**path));
                }
                // No tree says that it may be run.
                let bits = candidate.meta.mode;
                let is_listed = found.lists.modes.iter().any(|(listed, _)| listed.as_bytes() == &**path);
                if candidate.meta.is_executable() && !is_listed {
                    found.lists.modes.push((RepoPath::from(&**path), bits));
                }
            }
            Outcome::Put(put) => {
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
        found.folders[candidate.folder as usize].read.push(at);
    }
    settled
}

impl Settled {
    /// Writes what may be believed next time; `further` are fingerprints beside those of folders, `trees` what folders of
    /// taken files became.
    pub(super) fn remember(
        &self,
        ground: &Ground<'_>,
        found: &Found,
        results: Results<'_>,
        further: &HashSet<u64>,
        trees: &HashMap<u32, ObjectId>,
    ) {
        let Some(next) = ground.next else {
            return;
        };
        let in_order = found
            .folders
            .iter()
            .filter(|folder| !self.unsettled.contains(&folder.id));
        let folders = in_order
            .filter_map(|folder| folder.fingerprint)
            .chain(further.iter().copied())
            .collect();
        let mut known = Vec::new();
        let mut files = Vec::new();
        let at_once = |folder: &&Folder| folder.taken.as_ref().is_some_and(|taken| taken.tree.is_some());
        for folder in found.folders.iter().filter(at_once) {
            let mut path = path_of(&found.folders, folder);
            path.push(b'/');
            if let (Some(same), Some(taken)) = (ground.cache.known(&path), &folder.taken) {
                known.push(Known {
                    packs: taken.packs.clone(),
                    ..same.clone()
                });
                files.push((&*same.path, Files::AsBefore(&same.path)));
            }
        }
        let mut start = 0;
        for group in results.candidates.chunk_by(|a, b| a.folder == b.folder) {
            let reads = &results.reads[start..start + group.len()];
            start += group.len();
            let path = group[0].parts().0;
            let folder = &found.folders[group[0].folder as usize];
            let taken = folder.taken.as_ref().filter(|taken| taken.count == group.len());
            let tree = taken
                .filter(|_| {
                    group
                        .iter()
                        .zip(reads)
                        .all(|(candidate, read)| as_it_is(ground, candidate, read))
                })
                .and_then(|taken| Some((taken, *trees.get(&folder.id)?)));
            if let Some((taken, tree)) = tree {
                known.push(Known {
                    path: path.into(),
                    fingerprint: taken.fingerprint,
                    size: taken.size,
                    tree,
                    packs: Vec::new(),
                });
            }
            // The unchanged files of a folder that is in order are known by its fingerprint.
            let in_order = folder.fingerprint.is_some() && !self.unsettled.contains(&folder.id);
            let records: Vec<_> = group
                .iter()
                .zip(reads)
                .filter(|(candidate, _)| !(in_order && candidate.why == Why::Clean))
                .filter_map(|(candidate, read)| Some((&*candidate.path, results.record(candidate, read)?)))
                .collect();
            if !records.is_empty() {
                let known = tree.is_some();
                files.push((path, Files::Read { known, files: records }));
            }
        }
        known.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        files.sort_by_key(|(path, _)| *path);
        let files = files.into_iter().map(|(_, files)| files).collect();
        let content = Content { folders, known, files };
        next.finish(ground.cache, &content);
    }
}

/// Whether an untracked file is stored as it is, with nothing else to say about it, and may be believed to be unchanged.
fn as_it_is(ground: &Ground<'_>, candidate: &Candidate, read: &Read) -> bool {
    let plain = matches!(read.outcome, Outcome::Put(put) if !put.raw);
    let believed = read.note.as_ref().is_some_and(|note| !note.pointer);
    plain && believed && ground.is_usual(&candidate.meta, None)
}
