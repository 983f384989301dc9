//! What became of the files that were read, on its way into folders, lists, status and cache.

use std::collections::HashSet;

use super::cache::{Cache, Next, Record};
use super::content::{Outcome, Read};
use super::index::{EntryExt, Index};
use super::walk::{Candidate, Found, Ground, What, Why};
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
    /// Writes what may be believed next time; `further` are fingerprints beside those of folders.
    pub(super) fn remember(
        &self,
        next: Next,
        cache: &Cache,
        found: &Found,
        results: Results<'_>,
        further: &HashSet<u64>,
    ) {
        let in_order = found
            .folders
            .iter()
            .filter(|folder| !self.unsettled.contains(&folder.id));
        let fingerprints = in_order
            .filter_map(|folder| folder.fingerprint)
            .chain(further.iter().copied())
            .collect();
        let records = || {
            results
                .candidates
                .iter()
                .zip(results.reads)
                .filter_map(|(candidate, read)| {
                    // The unchanged files of a folder that is in order are known by its fingerprint.
                    let known_by_folder = candidate.why == Why::Clean
                        && !self.unsettled.contains(&candidate.folder)
                        && found.folders[candidate.folder as usize].fingerprint.is_some();
                    let record = if known_by_folder {
                        None
                    } else {
                        results.record(candidate, read)
                    };
                    record.map(|record| (&*candidate.path, record))
                })
        };
        next.finish(cache, &records, &fingerprints);
    }
}
