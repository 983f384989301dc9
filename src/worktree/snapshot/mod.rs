//! A snapshot: the files on disk, and the index, as trees; and lists of what trees cannot say.
//!
//! One walk over the work tree, compared with the index by stat data, then what differs is read and stored. No child
//! process, no lock, and nothing of the user's is written: not the index, not a file. What could not be captured is
//! listed with its reason and never mistaken for absent.

mod attributes;
mod content;
mod convert;
mod encoding;
mod error;
mod filter;
mod folder;
mod globals;
mod ident;
mod ignore;
mod index;
mod names;
mod nested;
mod queue;
mod settings;
mod sparse;
mod stat;
mod status;
mod trees;
mod unmerged;
mod walk;

use std::path::Path;
use std::sync::atomic::AtomicUsize;

pub use error::Error;
pub use status::{PathSummary, Status};

use crate::model::list::{Lists, SkipReason};
use crate::model::path::RepoPath;
use crate::store::objects::Writer;
use crate::store::{ObjectId, Repository};
use attributes::Attributes;
use content::{Outcome, Reader};
use index::Index;
use settings::Settings;
use walk::{Candidate, Change, Found, Ground, What, Why};

/// How a snapshot is taken.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// Untracked files above this size in bytes are skipped.
    pub max_file_size: u64,
    /// Untracked files, in the order of their paths, are skipped once they come to more than this in bytes.
    pub max_total_size: Option<u64>,
    /// Untracked files that match one of these patterns, written as in a `.gitignore` at the root, are skipped.
    pub exclude: &'a [String],
    /// The creation mask of the process: which permission bits git would not set.
    pub umask: u32,
    /// The index, if it is not the repository's own.
    pub index_path: Option<&'a Path>,
    /// Where what is expensive to find out is kept from snapshot to snapshot; `None` keeps nothing.
    pub cache: Option<&'a Path>,
    /// Threads to read with, at least one.
    pub threads: usize,
}

/// The state of index and work tree.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The files on disk, tracked and untracked, not ignored.
    pub tree: ObjectId,
    /// The index. An unmerged path takes our side, else theirs, else the base; the lists hold all of them.
    pub index_tree: ObjectId,
    /// What the trees do not say.
    pub lists: Lists,
    /// The blobs of unmerged stages, in the order of their numbers in the list.
    pub conflict_blobs: Vec<ObjectId>,
    /// The blobs that are not in the tree because a push would be refused, in the order of their numbers in the list.
    pub held_blobs: Vec<ObjectId>,
    /// The creation mask that `lists.modes` is relative to.
    pub umask: u32,
    /// Work tree against index.
    pub status: Status,
}

/// Takes a snapshot of the work tree of `repo`, storing new objects with `writer`.
///
/// With a writer that keeps nothing it only tells what a snapshot would be. Fails if there is no work tree, its owner
/// is not trusted, the index cannot be read or an object cannot be written; what concerns single files is listed.
pub fn take(repo: &Repository, writer: &Writer, options: &Options<'_>) -> Result<Snapshot, Error> {
    let root = repo.workdir().ok_or_else(|| Error::Bare {
        path: repo.git_dir().to_owned(),
    })?;
    if repo.git_dir_trust() != gix::sec::Trust::Full {
        return Err(Error::Ownership { path: root.to_owned() });
    }
    let settings = Settings::of(repo)?;
    let index = Index::read(repo, options.index_path)?;
    let ignore = ignore::Globals::read(repo, settings.case())?;
    let exclude = ignore::Globals::of_patterns(options.exclude, settings.case());
    let own = nested::own_folders(repo, root);
    let ground = Ground {
        settings: &settings,
        index: &index,
        ignore: &ignore,
        exclude: &exclude,
        root,
        umask: options.umask,
        max_file_size: options.max_file_size,
        own: &own,
        open: AtomicUsize::new(0),
    };
    let threads = options.threads.max(1);
    let mut found = walk::walk(repo, &ground, Attributes::read(repo)?, threads)?;
    let candidates = within_budget(&mut found, options.max_total_size);
    let attributes: Vec<_> = found.folders.iter().map(|folder| folder.attributes.clone()).collect();
    let reader = Reader {
        ground: &ground,
        writer,
        attributes: &attributes,
    };
    let outcomes = reader.read(repo, &candidates, threads)?;
    for (candidate, outcome) in candidates.iter().zip(outcomes) {
        settle(&mut found, &index, candidate, outcome);
    }
    let unmerged = unmerged::list(&index, writer)?;
    let trees = trees::build(repo, writer, &index, &found.folders)?;
    let mut lists = found.lists;
    lists.intent_to_add = unmerged.intent_to_add;
    lists.conflicts = unmerged.conflicts;
    lists.sort();
    for path in unmerged.paths {
        found.tally.conflicted.add(&path);
    }
    Ok(Snapshot {
        tree: trees.work,
        index_tree: trees.index,
        lists,
        conflict_blobs: unmerged.blobs,
        held_blobs: Vec::new(),
        umask: options.umask,
        status: found.tally.finish(),
    })
}

/// The candidates in the order of their paths, less the untracked ones beyond the limit on all of them.
fn within_budget(found: &mut Found, max_total_size: Option<u64>) -> Vec<Candidate> {
    let mut candidates = std::mem::take(&mut found.candidates);
    candidates.sort_unstable_by(|a, b| a.path.cmp(&b.path));
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

/// Enters what became of a candidate.
fn settle(found: &mut Found, index: &Index, candidate: &Candidate, outcome: Outcome) {
    use index::EntryExt;
    let path = &candidate.path;
    let entry = candidate.entry.map(|at| index.entry(at));
    let unmerged = entry.is_some_and(|entry| entry.is_pending() && !entry.is_intent_to_add());
    let what = match outcome {
        Outcome::Same => return,
        Outcome::Skipped(reason) => return found.skip(path, reason),
        Outcome::Gone if entry.is_none() => return,
        Outcome::Gone => {
            if !unmerged {
                found.tally.deleted.add(path);
            }
            What::Gone
        }
        Outcome::Put(put) => {
            if put.modified && !unmerged {
                found.tally.modified.add(path);
            }
            if put.raw {
                found.lists.raw.push(RepoPath::from(&**path));
            }
            if !put.modified && entry.is_some_and(|entry| entry.id == put.id && !entry.is_pending()) {
                return;
            }
            What::Put {
                mode: put.mode,
                id: put.id,
            }
        }
    };
    let name = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    found.folders[candidate.folder as usize].changes.push(Change {
        name: path[name..].into(),
        what,
    });
}
