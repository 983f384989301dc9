//! A snapshot: the files on disk, and the index, as trees; and lists of what trees cannot say.
//!
//! First a look at all that the last snapshot saw (`seen`), which ends it when nothing changed. Else one walk over the
//! working tree, compared with the index by stat data, then what differs is read and stored. No child process, no lock, and
//! nothing of the user's is written: not the index, not a file. What could not be captured is listed with its reason and
//! never mistaken for absent.

pub(in crate::worktree) mod attributes;
mod cache;
mod compose;
mod content;
pub(in crate::worktree) mod convert;
mod deferred;
mod directory;
pub(in crate::worktree) mod encoding;
mod entries;
mod error;
mod extent;
pub(in crate::worktree) mod filter;
pub(in crate::worktree) mod fsck;
mod globals;
mod ident;
pub(in crate::worktree) mod ignore;
pub(in crate::worktree) mod index;
pub(in crate::worktree) mod lfs;
mod memory;
pub(in crate::worktree) mod names;
pub(in crate::worktree) mod nested;
mod origin;
mod queue;
mod reachable;
pub(in crate::worktree) mod settings;
mod sparse;
mod staged;
mod stat;
mod status;
mod submodule;
mod trees;
mod unmerged;
mod verify;
mod walk;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

pub use error::Error;
pub use extent::{Extent, surroundings};
pub use memory::watcher;
pub use status::{IndexStatus, PathSummary};
pub use submodule::UnsavedSubmodule;

use crate::model::list::{HeldFile, Lists};
use crate::os::dir::Dir;
use crate::os::trace;
use crate::store::objects::Writer;
use crate::store::{self, ObjectId, Repository, tree};
use crate::worktree::journal;
use attributes::Attributes;
use cache::{Cache, CacheBuilder};
use content::ContentReader;
use deferred::Results;
use index::GitIndex;
use lfs::Lfs;
use memory::watcher::WatcherWord;
use memory::{CachedSnapshot, SnapshotInputs, SnapshotKey, SnapshotMemory};
use settings::SnapshotSettings;
use staged::StagedIssues;
use walk::{TreeTrust, WalkContext, WalkResult};

/// Whether git stores an entry of this name in a tree, on any system; `is_file` is false for links and directories.
pub fn is_storable(name: &[u8], is_file: bool) -> bool {
    names::is_storable(name, is_file)
}

/// The SHA-256, in hexadecimal, of the content that a blob represents as a pointer of git-lfs; `None` if it is none.
pub fn lfs_pointer(blob: &[u8]) -> Option<String> {
    lfs::Pointer::parse(blob).map(|pointer| pointer.sha256)
}

/// Where the content of git-lfs with this SHA-256, in hexadecimal, lies; `None` if it is not here.
pub fn lfs_content(repo: &Repository, sha256: &str) -> Result<Option<std::path::PathBuf>, Error> {
    let pointer = lfs::Pointer {
        sha256: sha256.to_owned(),
        size: 0,
    };
    Ok(Some(Lfs::of(repo)?.path(&pointer)).filter(|path| path.is_file()))
}

/// Puts content of git-lfs that checkpoints keep where git-lfs looks for it, so that it can be sent.
pub fn publish_lfs(repo: &Repository, sha256: &str) -> Result<(), Error> {
    let pointer = lfs::Pointer {
        sha256: sha256.to_owned(),
        size: 0,
    };
    let lfs = Lfs::of(repo)?;
    let path = lfs.path(&pointer);
    lfs.publish(&pointer)
        .map_err(|source| store::Error::io("link", path)(source).into())
}

/// Content of git-lfs that is kept for checkpoints.
pub struct KeptContent {
    lfs: Lfs,
    pointers: Vec<(ObjectId, lfs::Pointer)>,
}

impl KeptContent {
    /// All of it.
    pub fn of(repo: &Repository) -> Result<Self, Error> {
        let lfs = Lfs::of(repo)?;
        let pointers = lfs.kept().into_iter();
        let pointers = pointers
            .filter_map(|pointer| Some((pointer.id(repo)?, pointer)))
            .collect();
        Ok(Self { lfs, pointers })
    }

    /// The blobs of its pointers.
    pub fn blobs(&self) -> impl Iterator<Item = ObjectId> {
        self.pointers.iter().map(|(id, _)| *id)
    }

    /// Removes what the pointer with this blob is for; with `all` also where git-lfs keeps it.
    pub fn forget(&self, blob: ObjectId, all: bool) -> Result<(), Error> {
        for (_, pointer) in self.pointers.iter().filter(|(id, _)| *id == blob) {
            let path = self.lfs.path(pointer);
            self.lfs
                .forget(pointer, all)
                .map_err(store::Error::io("remove", path))?;
        }
        Ok(())
    }
}

/// The most bytes that a pointer of git-lfs has.
pub const LFS_POINTER: u64 = lfs::MAX_POINTER;

/// The rules by which files are taken. Every cache key has a digest of all of them, so a rule that is added here is in each.
#[derive(Debug, Clone, Hash)]
pub struct SnapshotRules<'a> {
    /// Untracked files above this size in bytes are skipped.
    pub max_file_size: u64,
    /// Untracked files, in the order of their paths, are skipped once they come to more than this in bytes.
    pub max_total_size: Option<u64>,
    /// Untracked files that match one of these patterns, written as in a `.gitignore` at the root, are skipped.
    pub exclude: &'a [String],
    /// Whether untracked files that are secrets by their content (keys, credentials, environment files with values) are
    /// skipped.
    pub no_secrets: bool,
    /// Whether all untracked files are skipped; a directory that has none but those is named as one.
    pub tracked_only: bool,
    /// The creation mask of the process: which permission bits git would not set.
    pub umask: u32,
    /// The index, if it is not the repository's own.
    pub index_path: Option<&'a Path>,
}

impl SnapshotRules<'_> {
    /// Whether an untracked file of this size in bytes is skipped.
    fn is_too_large(&self, size: u64) -> bool {
        size > self.max_file_size
    }
}

/// How a snapshot is taken.
#[derive(Debug, Clone)]
pub struct SnapshotOptions<'a> {
    /// The rules, which decide the result. The other options do not.
    pub rules: SnapshotRules<'a>,
    /// Where what is expensive to find out is kept from snapshot to snapshot; `None` keeps nothing.
    pub cache: Option<&'a Path>,
    /// Trees next to HEAD's that refs hold: of the checkpoint before this one, files and index. What they have need not be
    /// stored again.
    pub held: &'a [ObjectId],
    /// Threads to read with, at least one.
    pub threads: usize,
    /// Whether the watcher of the working tree is asked which directories had changes.
    pub watcher: bool,
}

/// The state of index and working tree.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The files on disk, tracked and untracked, not ignored.
    pub tree: ObjectId,
    /// The index. An unmerged path takes our side, else theirs, else the base; the lists hold all of them.
    pub index_tree: ObjectId,
    /// Lists of what trees cannot represent.
    pub lists: Lists,
    /// The blobs of unmerged stages, in the order of their numbers in the list.
    pub conflict_blobs: Vec<ObjectId>,
    /// The blobs that are not in the tree because a push would be refused, in the order of their numbers in the list.
    pub held_blobs: Vec<ObjectId>,
    /// The creation mask that `lists.modes` is relative to.
    pub umask: u32,
    /// Working tree against index.
    pub status: IndexStatus,
    /// Submodules that hold, or may hold, what no commit of theirs has, sorted.
    pub submodules: Vec<UnsavedSubmodule>,
    /// Where all of this was found.
    pub extent: Extent,
}

/// Takes a snapshot of the working tree of `repo`, storing new objects with `writer`.
///
/// With a writer that keeps nothing it only computes what a snapshot would be. Fails if there is no working tree, the index
/// cannot be read or an object cannot be written; what concerns single files is listed. Whether the owner of the
/// repository is trusted was decided when it was opened.
pub fn take(repo: &Repository, writer: &Writer, options: &SnapshotOptions<'_>) -> Result<Snapshot, Error> {
    if let Some(snapshot) = attempt(repo, writer, options, true)? {
        return Ok(snapshot);
    }
    let snapshot = attempt(repo, writer, options, false)?;
    Ok(snapshot.expect("a snapshot that looks at everything itself is always taken"))
}

/// Takes a snapshot; with `believe` the directories in which nothing happened, as the watcher says, are not looked at.
/// `None` if that was not enough: a file was found that has another name, through which it may have changed anywhere.
fn attempt(
    repo: &Repository,
    writer: &Writer,
    options: &SnapshotOptions<'_>,
    believe: bool,
) -> Result<Option<Snapshot>, Error> {
    let root = repo.workdir().ok_or_else(|| Error::Bare {
        path: repo.git_dir().to_owned(),
    })?;
    let rules = &options.rules;
    let settings = SnapshotSettings::of(repo)?;
    let ignore = ignore::GlobalPatterns::read(repo, settings.case())?;
    let exclude = ignore::GlobalPatterns::of_project(root, rules.exclude, settings.case())?;
    let own = nested::own_directories(repo, root);
    let leftovers = journal::leftovers_begin(repo);
    let hash = repo.object_hash();
    let threads = options.threads.max(1);
    let next = options
        .cache
        .and_then(|path| CacheBuilder::begin(path, hash, settings.digest()));
    let kept = options.cache.zip(next.as_ref());
    let attributes = Attributes::read(repo)?;
    let around = kept.map(|(_, next)| {
        let key = SnapshotKey {
            version: env!("CARGO_PKG_VERSION"),
            config: extent::of_settings(repo, root)?,
            rules,
            ignore: ignore.digest(&None),
            exclude: exclude.digest(&None),
            attributes: attributes.digest(),
            own: &own,
            leftovers: leftovers.as_deref(),
            index: index::place(repo, rules.index_path),
        };
        Ok::<_, Error>(SnapshotInputs::of(&key, next))
    });
    let around = around.transpose()?;
    let device = kept
        .and_then(|_| Dir::open(root).ok())
        .and_then(|dir| dir.local_device());
    let seen = kept.map_or_else(SnapshotMemory::empty, |(path, _)| SnapshotMemory::read(path));
    // Before anything is looked at: what happens from the answer on counts for the next snapshot.
    let word = kept
        .filter(|_| options.watcher && device.is_some())
        .and_then(|(path, _)| WatcherWord::ask(path, &Dir::open(root).and_then(|dir| dir.meta()).ok()?, &seen));
    let is_around = around.as_ref().is_some_and(|around| seen.is_around(around));
    let reported = word.as_ref().and_then(WatcherWord::reported);
    let reported = reported.filter(|_| believe && is_around);
    if let Some(reported) = reported {
        let (found, all) = (reported.len(), seen.count());
        trace::say(1, || {
            format!("the watcher reported changes in {found} of {all} directories")
        });
    }
    let head = tree::of_head(repo)?;
    let whole = around.as_ref().and_then(|around| seen.whole(around));
    let whole_if_it_stands = || whole.filter(|whole| whole.stands(repo, head, options.held, writer));
    let extent = kept
        .zip(seen.sum())
        .map(|((path, _), sum)| Extent::remembered(path, sum));
    if let (Some([]), Some(extent)) = (reported, &extent)
        && let Some(whole) = whole_if_it_stands()
    {
        return Ok(Some(whole.snapshot(rules.umask, extent.clone())));
    }
    let look = seen.look(root, device, around.as_ref(), (reported, threads));
    if let (true, Some(extent)) = (look.is_same(), extent)
        && let Some(whole) = whole_if_it_stands()
    {
        trace::say(1, || {
            let all = seen.count() as usize;
            let scanned = reported.map_or(all, <[u32]>::len);
            format!("nothing changed in {scanned} directories since they were scanned")
        });
        if let (Some(word), Some(sum)) = (&word, seen.sum()) {
            word.confirm(sum);
        }
        return Ok(Some(whole.snapshot(rules.umask, extent)));
    }
    let index = GitIndex::read(repo, rules.index_path)?;
    // What was found rests on the index of before.
    let stands = |(_, next): (_, &CacheBuilder)| {
        around
            .as_ref()
            .is_some_and(|around| around.has_index(repo, rules, next))
    };
    let look = kept.is_some_and(stands).then_some(&look);
    let cache = options
        .cache
        .map_or_else(|| Cache::empty(hash), |path| Cache::read(path, hash, settings.digest()));
    let roots: Vec<ObjectId> = head.into_iter().chain(options.held.iter().copied()).collect();
    let unmerged = unmerged::list(repo, &index, &cache, head, writer)?;
    let lfs = Lfs::of(repo)?;
    let mut ground = WalkContext {
        lfs: &lfs,
        keeps: writer.is_durable(),
        partial: is_partial(repo),
        settings: &settings,
        index: &index,
        ignore: &ignore,
        exclude: &exclude,
        root,
        rules,
        rules_digest: cache::digest(rules),
        own: &own,
        cache: &cache,
        next: next.as_ref(),
        device,
        look,
        trusted: Some(TreeTrust { roots: &roots, writer }),
        left_out: &unmerged.left_out,
        open: Arc::new(AtomicUsize::new(0)),
        leftovers: leftovers.as_deref(),
        status_only: false,
    };
    let mut found = walk::walk(repo, &ground, attributes, threads)?;
    if reported.is_some() && found.elsewhere > 0 {
        return Ok(None);
    }
    if deferred::is_over(&found, rules.max_total_size) {
        // Files above the limit are reported one by one.
        ground.trusted = None;
        found = walk::walk(repo, &ground, Attributes::read(repo)?, threads)?;
    }
    let met = found.candidates.iter().map(Vec::len).sum::<usize>();
    trace::say(1, || {
        format!(
            "looked through {} directories, {} paths of the index",
            found.directories.len(),
            index.all().len()
        )
    });
    let mut candidates = deferred::within_budget(&mut found, rules.max_total_size);
    let mut builder = trees::Builder::new(repo, &roots, writer, &index, &unmerged.left_out);
    let (index_tree, loose_ends) = builder.index()?;
    let mut staged = StagedIssues::store(repo, writer, &index, loose_ends, &unmerged)?;
    staged.read_again(&ground, &found, &mut candidates);
    let attributes: Vec<_> = found
        .directories
        .iter()
        .map(|directory| directory.attributes.clone())
        .collect();
    let reader = ContentReader {
        ground: &ground,
        writer,
        attributes: &attributes,
        cache: &cache,
        next: next.as_ref(),
        head,
        roots: &roots,
    };
    let reads = reader.read(repo, &candidates, threads)?;
    trace::say(1, || format!("{met} files are not as in the index, or new"));
    staged.check(writer, &index, ground.partial)?;
    let results = Results {
        candidates: &candidates,
        reads: &reads,
        index: &index,
    };
    let settled = deferred::settle(&mut found, &ground, results);
    let (tree, taken) = builder.work(&found.directories, results, threads)?;
    settled.remember(&ground, &found, results, &unmerged.accepted, &taken);
    for path in &unmerged.paths {
        found.tally.conflicted.add(path);
    }
    let mut lists = std::mem::take(&mut found.lists);
    lists.intent_to_add = unmerged.intent_to_add;
    lists.conflicts = unmerged.conflicts;
    let (paths, held_blobs): (Vec<_>, Vec<_>) = settled.held.into_iter().unzip();
    lists.held = paths
        .into_iter()
        .zip(0..)
        .map(|(path, n)| HeldFile { path, n })
        .collect();
    lists.sort();
    found.flagged.sort_unstable();
    lists.origin = origin::list(repo, writer, &index, (tree, index_tree), &found.flagged, &lists);
    let mut made = Snapshot {
        tree,
        index_tree,
        lists,
        conflict_blobs: unmerged.blobs,
        held_blobs,
        umask: rules.umask,
        status: std::mem::take(&mut found.tally).finish(),
        submodules: submodule::unsaved(root, std::mem::take(&mut found.submodules)),
        extent: Extent::default(),
    };
    if let (Some((path, _)), Some(around)) = (kept, around) {
        let whole = CachedSnapshot::of(repo, &ground, &found, &reads, (head, options.held), &made);
        let directories = seen_directories(&found);
        let written = seen.replace(path, &around, whole.as_ref(), (&directories, found.elsewhere > 0));
        if let (Some(word), Some(sum)) = (&word, written) {
            word.confirm(sum);
        }
    }
    made.extent = Extent::of(found.directories, found.elsewhere > 0);
    Ok(Some(made))
}

/// Cache records of the directories, sorted by path; paths end with a slash.
fn seen_directories(found: &WalkResult) -> Vec<(Vec<u8>, &memory::CachedDirectory)> {
    let mut directories: Vec<_> = found
        .directories
        .iter()
        .filter_map(|directory| {
            let mut path = trees::path_of(&found.directories, directory);
            if !path.is_empty() {
                path.push(b'/');
            }
            Some((path, directory.seen.as_ref()?))
        })
        .collect();
    directories.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    directories
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
