//! A snapshot: the files on disk, and the index, as trees; and lists of what trees cannot say.
//!
//! One walk over the work tree, compared with the index by stat data, then what differs is read and stored. No child
//! process, no lock, and nothing of the user's is written: not the index, not a file. What could not be captured is
//! listed with its reason and never mistaken for absent.

pub(in crate::worktree) mod attributes;
mod cache;
mod content;
pub(in crate::worktree) mod convert;
pub(in crate::worktree) mod encoding;
mod error;
pub(in crate::worktree) mod filter;
mod folder;
mod fsck;
mod globals;
mod ident;
pub(in crate::worktree) mod ignore;
pub(in crate::worktree) mod index;
pub(in crate::worktree) mod lfs;
pub(in crate::worktree) mod names;
mod nested;
mod queue;
mod reachable;
pub(in crate::worktree) mod settings;
mod sparse;
mod staged;
mod stat;
mod status;
mod trees;
mod unmerged;
mod verify;
mod walk;

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::AtomicUsize;

pub use error::Error;
pub use status::{PathSummary, Status};

use crate::model::list::{Held, Lists, SkipReason};
use crate::model::path::RepoPath;
use crate::store::objects::Writer;
use crate::store::{ObjectId, Repository, tree};
use attributes::Attributes;
use cache::{Cache, Next};
use content::{Outcome, Reader};
use index::{EntryExt, Index};
use lfs::Lfs;
use settings::Settings;
use staged::Staged;
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
    /// Trees beside HEAD's that refs hold: of the checkpoint before this one, files and index. What they have need not be
    /// stored again.
    pub held: &'a [ObjectId],
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
    let hash = repo.object_hash();
    let cache = options
        .cache
        .map_or_else(|| Cache::empty(hash), |path| Cache::read(path, hash, settings.digest()));
    let next = options
        .cache
        .and_then(|path| Next::begin(path, hash, settings.digest()));
    let head = tree::of_head(repo)?;
    let roots: Vec<ObjectId> = head.into_iter().chain(options.held.iter().copied()).collect();
    let unmerged = unmerged::list(repo, &index, &cache, head, writer)?;
    let lfs = Lfs::of(repo)?;
    let ground = Ground {
        lfs: &lfs,
        partial: is_partial(repo),
        settings: &settings,
        index: &index,
        ignore: &ignore,
        exclude: &exclude,
        root,
        umask: options.umask,
        max_file_size: options.max_file_size,
        own: &own,
        cache: &cache,
        left_out: &unmerged.left_out,
        open: AtomicUsize::new(0),
    };
    let threads = options.threads.max(1);
    let mut found = walk::walk(repo, &ground, Attributes::read(repo)?, threads)?;
    let mut candidates = within_budget(&mut found, options.max_total_size);
    let mut builder = trees::Builder::new(repo, &roots, writer, &index, &unmerged.left_out);
    let (index_tree, loose_ends) = builder.index()?;
    let mut staged = Staged::store(repo, writer, &index, loose_ends, &unmerged)?;
    staged.read_again(&ground, &found, &mut candidates);
    let attributes: Vec<_> = found.folders.iter().map(|folder| folder.attributes.clone()).collect();
    let reader = Reader {
        ground: &ground,
        writer,
        attributes: &attributes,
        cache: &cache,
        next: next.as_ref(),
        head,
        roots: &roots,
    };
    let results = reader.read(repo, &candidates, threads)?;
    staged.check(writer, &index, ground.partial)?;
    let mut entering = Entering {
        found: &mut found,
        ground: &ground,
        unsettled: HashSet::new(),
        held: Vec::new(),
    };
    for (candidate, result) in candidates.iter().zip(&results) {
        entering.enter(candidate, result.outcome);
    }
    let Entering { unsettled, held, .. } = entering;
    if let Some(next) = next {
        let in_order = found.folders.iter().filter(|folder| !unsettled.contains(&folder.id));
        let folders = in_order
            .filter_map(|folder| folder.fingerprint)
            .chain(unmerged.accepted.iter().copied())
            .collect();
        let known = candidates.iter().zip(&results).filter_map(|(candidate, result)| {
            let keep = candidate.why != Why::Clean || unsettled.contains(&candidate.folder);
            let keep = keep || found.folders[candidate.folder as usize].fingerprint.is_none();
            result
                .record
                .as_ref()
                .filter(|_| keep)
                .map(|record| (&*candidate.path, record))
        });
        next.finish(&cache, known.collect::<Vec<_>>().into_iter(), &folders);
    }
    let tree = builder.work(&found.folders)?;
    for path in &unmerged.paths {
        found.tally.conflicted.add(path);
    }
    let mut lists = found.lists;
    lists.intent_to_add = unmerged.intent_to_add;
    lists.conflicts = unmerged.conflicts;
    let (paths, held_blobs): (Vec<_>, Vec<_>) = held.into_iter().unzip();
    lists.held = paths.into_iter().zip(0..).map(|(path, n)| Held { path, n }).collect();
    lists.sort();
    Ok(Snapshot {
        tree,
        index_tree,
        lists,
        conflict_blobs: unmerged.blobs,
        held_blobs,
        umask: options.umask,
        status: found.tally.finish(),
    })
}

/// Whether objects may be missing here because they are on a remote.
fn is_partial(repo: &Repository) -> bool {
    let config = repo.config_snapshot();
    let promisor = |section: &gix::config::file::SectionRef<'_>| section.value("promisor").is_some();
    config.string("extensions.partialClone").is_some()
        || config
            .plumbing()
            .sections_by_name("remote")
            .into_iter()
            .flatten()
            .any(|section| promisor(&section))
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

/// What became of the candidates, on its way into folders, lists and status.
struct Entering<'a> {
    found: &'a mut Found,
    ground: &'a Ground<'a>,
    /// Folders with an unchanged file whose blob does not give its bytes, or may not do so next time.
    unsettled: HashSet<u32>,
    /// In the order of the paths.
    held: Vec<(RepoPath, ObjectId)>,
}

impl Entering<'_> {
    fn enter(&mut self, candidate: &Candidate, outcome: Outcome) {
        let path = &candidate.path;
        let found = &mut *self.found;
        let entry = candidate.entry.map(|at| self.ground.index.entry(at));
        let unmerged = entry.is_some_and(|entry| entry.is_pending() && !entry.is_intent_to_add());
        if candidate.why == Why::Clean && !matches!(outcome, Outcome::Same { settled: true }) {
            self.unsettled.insert(candidate.folder);
        }
        if entry.is_none() && matches!(outcome, Outcome::Put(_) | Outcome::Held(_)) {
            found.note_mode(self.ground, path, &candidate.meta, None);
        }
        let what = match outcome {
            Outcome::Same { .. } => return,
            Outcome::Skipped(reason) => return found.skip(path, reason),
            Outcome::Gone if entry.is_none() => return,
            Outcome::Gone => {
                if !unmerged {
                    found.tally.deleted.add(path);
                }
                What::Gone
            }
            Outcome::Held(id) => {
                if entry.is_some_and(|entry| entry.id != id) {
                    found.tally.modified.add(path);
                }
                self.held.push((RepoPath::from(&**path), id));
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
}
