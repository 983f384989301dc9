//! Bringing back the index: what was staged, unmerged stages, and what was added with `git add -N`.
//!
//! Only the paths that differ change, on a copy, through git itself; so entries that stay keep what git knows of their
//! files. The copy takes the place of the index under git's own lock. The lock's text names us, so that a later command
//! can remove it if we are killed.
#![expect(clippy::type_complexity, reason = "the type stands once, in a closure")]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gix::index::Entry;
use gix::index::entry::{Flags, Stage, Stat};

use super::Error;
use super::execute::WrittenFile;
use super::flags::{self, Flagged};
use crate::model::change::TreeEntryInfo;
use crate::model::list::{IndexConflict, Lists};
use crate::model::path::RepoPath;
use crate::model::tree_mode;
use crate::os;
use crate::store::pathspec::PathFilter;
use crate::store::{self, Kind, ObjectId, Repository, checkpoint, tree};
use crate::worktree::snapshot::index::GitIndex;

/// The lock's text before it gets the lock's name, and the copy of the index before it gets the index's.
const LOCK: &str = "index.lock.tmp";
const COPY: &str = "index.tmp";
/// The lock that git holds on the copy while it changes it; a killed git leaves it.
const COPY_LOCK: &str = "index.tmp.lock";

/// The state of an index.
#[derive(Clone, Copy, Debug)]
pub struct IndexState<'a> {
    /// Its tree.
    pub tree: ObjectId,
    /// Unmerged paths and those added with `git add -N`.
    pub lists: &'a Lists,
    /// The blobs of unmerged stages, by their numbers.
    pub blobs: &'a [ObjectId],
    /// Whether entries that become as they are here have no other flags than here: the state is an earlier one of this
    /// working tree.
    pub is_exact: bool,
}

impl IndexState<'_> {
    /// The same as an earlier state of this working tree, or not: that of the way back.
    #[must_use]
    pub fn exact(self, is_exact: bool) -> Self {
        Self { is_exact, ..self }
    }
}

/// Change of the index.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct IndexChange {
    /// Paths whose entries are others now.
    pub paths: Vec<RepoPath>,
    /// Paths that were added with `git add -N` and are not there to be added again.
    pub lacking: Vec<RepoPath>,
}

/// Finds the paths whose entries differ; with this result the index need not be written.
pub fn compare(
    repo: &Repository,
    now: IndexState<'_>,
    then: IndexState<'_>,
    paths: Option<&mut PathFilter>,
) -> Result<IndexChange, Error> {
    let mut differing: BTreeSet<RepoPath> = tree::diff(repo, Some(now.tree), Some(then.tree), tree::Renames::Off)?
        .into_iter()
        .map(|change| change.path)
        .collect();
    let stages = |staged: IndexState<'_>| -> Result<BTreeMap<RepoPath, Vec<(u8, u32, ObjectId)>>, Error> {
        let mut stages = BTreeMap::<_, Vec<_>>::new();
        for conflict in &staged.lists.conflicts {
            stages
                .entry(conflict.path.clone())
                .or_default()
                .push(stage(repo, conflict, staged.blobs)?);
        }
        Ok(stages)
    };
    let (one, other) = (stages(now)?, stages(then)?);
    differing.extend(
        one.iter()
            .filter(|(path, stages)| other.get(*path) != Some(*stages))
            .map(|(path, _)| path.clone()),
    );
    differing.extend(other.keys().filter(|path| !one.contains_key(*path)).cloned());
    let added = |staged: IndexState<'_>| -> BTreeSet<RepoPath> { staged.lists.intent_to_add.iter().cloned().collect() };
    differing.extend(added(now).symmetric_difference(&added(then)).cloned());
    for path in flags::lacking(now.lists, then.lists) {
        let is_unmerged = one.contains_key(path) || other.contains_key(path);
        if !is_unmerged && tree::entry(repo, then.tree, path)?.is_some() {
            differing.insert(path.clone());
        }
    }
    if let Some(paths) = paths {
        differing.retain(|path| paths.keeps(path));
    }
    // Of what was purged it is not known, so the entry stays where nothing else takes its place.
    for path in then.lists.purged() {
        if differing.contains(path) && tree::is_free(repo, then.tree, path)? {
            differing.remove(path);
        }
    }
    Ok(IndexChange {
        paths: differing.into_iter().collect(),
        lacking: Vec::new(),
    })
}

/// The stage, mode and object of an unmerged entry.
fn stage(repo: &Repository, conflict: &IndexConflict, blobs: &[ObjectId]) -> Result<(u8, u32, ObjectId), Error> {
    let blob = *blobs.get(conflict.n as usize).ok_or_else(|| Error::NotThere {
        path: conflict.path.clone(),
    })?;
    if conflict.mode != tree_mode::GITLINK {
        return Ok((conflict.stage, conflict.mode, blob));
    }
    let bad = |why: String| Error::Blob {
        path: conflict.path.clone(),
        id: blob,
        why,
    };
    let text = checkpoint::read(repo, blob, Kind::Blob, "blob").map_err(|fault| bad(fault.to_string()))?;
    let id = ObjectId::from_hex(text.trim_ascii_end()).map_err(|error| bad(error.to_string()))?;
    Ok((conflict.stage, conflict.mode, id))
}

/// Takes git's lock on the index, for up to `wait`. `index` is the repository's own unless given.
pub fn lock(repo: &Repository, index: Option<&Path>, token: &str, wait: Duration) -> Result<IndexLock, Error> {
    let index = index.map_or_else(|| repo.index_path(), Path::to_owned);
    let index = std::path::absolute(&index).map_err(Error::io("find", &index))?;
    IndexLock::acquire(repo, &index, token, wait)
}

/// Gives the entries of these paths the state that they have in `then`.
pub fn write(
    repo: &Repository,
    lock: &IndexLock,
    then: IndexState<'_>,
    changed: &mut IndexChange,
) -> Result<(), Error> {
    if changed.paths.is_empty() {
        return Ok(());
    }
    let lines = lines(repo, then, &changed.paths)?;
    lock.copy()?;
    let mut flagged = Flagged::of(repo, Some(&lock.index), &changed.paths)?;
    flagged.take_over(repo, &changed.paths, then.lists, then.is_exact);
    let git = || {
        let git = store::git(repo).env("GIT_INDEX_FILE", &lock.copy);
        git.config("core.fsync=all")
    };
    let filled = git().args(["update-index", "-z", "--index-info"]).input(lines).run();
    filled.map_err(store::Error::from)?;
    for path in then
        .lists
        .intent_to_add
        .iter()
        .filter(|path| changed.paths.contains(path))
    {
        let Ok(name) = gix::path::from_byte_slice(path.as_bytes()) else {
            continue;
        };
        // A directory of the name would be added with all that is in it, and of a FIFO nothing without a word.
        let is_there = repo.workdir().is_some_and(|root| {
            let meta = root.join(name).symlink_metadata();
            meta.is_ok_and(|meta| meta.is_file() || meta.is_symlink())
        });
        if !is_there {
            changed.lacking.push(path.clone());
            continue;
        }
        let added = git()
            .args(["add", "--force", "--intent-to-add", "--"])
            .arg(name)
            .accept([1, 128])
            .run();
        if added.map_err(store::Error::from)?.code != 0 {
            changed.lacking.push(path.clone());
        }
    }
    // An entry that is written anew has no flags.
    for (option, paths) in [
        ("--skip-worktree", &flagged.skip_worktree),
        ("--assume-unchanged", &flagged.assume_unchanged),
    ] {
        let mut names = Vec::new();
        for path in paths {
            let is_unmerged = then.lists.conflicts.iter().any(|conflict| conflict.path == *path);
            let is_added = then.lists.intent_to_add.contains(path);
            if !is_unmerged && !is_added && tree::entry(repo, then.tree, path)?.is_some() {
                names.extend_from_slice(path.as_bytes());
                names.push(0);
            }
        }
        if !names.is_empty() {
            let flag = git().args(["update-index", "-z", option, "--stdin"]).input(names);
            flag.run().map_err(store::Error::from)?;
        }
    }
    // What is refreshed here need not be hashed by the user's next git status. 1 means that files differ.
    git()
        .args(["update-index", "-q", "--refresh"])
        .accept([1])
        .run()
        .map_err(store::Error::from)?;
    lock.put()
}

/// Lets git compare files that were written and are as their entries say, where the index has another length of them:
/// git takes such a file for changed without reading it. A file has another length with other line ends, for example.
///
/// Files of `raw` were written byte for byte: what git would store of them only it can say. Only stat data of unchanged files
/// changes; entries that are unmerged or have flags keep theirs, and so does everything where another process holds the index.
pub fn settle_lengths(
    repo: &Repository,
    index: Option<&Path>,
    (written, raw): (&BTreeMap<RepoPath, WrittenFile>, &[RepoPath]),
    token: &str,
    wait: Duration,
) -> Result<(), Error> {
    let raw: HashSet<&RepoPath> = raw.iter().collect();
    if written.is_empty() || store::read_only_directory(repo).is_some() {
        return Ok(());
    }
    let known = GitIndex::read(repo, index)?;
    let entries = known.state().entries();
    let settled = Flags::SKIP_WORKTREE | Flags::ASSUME_VALID | Flags::INTENT_TO_ADD;
    let mut unsure = Vec::new();
    let mut from = 0;
    for (path, is) in written {
        // Both are in the same order, and what is near the last one is in the caches of the processor.
        let is_before = |entry: &Entry| entry.path(known.state()) < path.as_bytes();
        let mut step = 1;
        while entries.get(from + step).is_some_and(is_before) {
            from += step;
            step *= 2;
        }
        let end = entries.len().min(from + step + 1);
        let at = from + entries[from..end].partition_point(is_before);
        from = at;
        let Some(entry) = entries
            .get(at)
            .filter(|entry| entry.path(known.state()) == path.as_bytes())
        else {
            continue;
        };
        let length = entry.stat.size;
        if length == 0 || entry.stage() != Stage::Unconflicted || entry.flags.intersects(settled) {
            continue;
        }
        // The index has the low 32 bits.
        #[expect(clippy::cast_possible_truncation, reason = "as git does")]
        let is_other = is.length as u32 != length;
        if is_other && (is.id == entry.id || raw.contains(path)) {
            unsure.push(at);
        }
    }
    if unsure.is_empty() {
        return Ok(());
    }
    let Ok(lock) = lock(repo, index, token, wait) else {
        return Ok(());
    };
    // What was staged before the lock was taken stays.
    let locked = GitIndex::read(repo, index)?;
    unsure.retain(|at| {
        let (before, now) = (
            &entries[*at],
            locked.state().entry_by_path(entries[*at].path(known.state())),
        );
        now.is_some_and(|now| (now.id, now.mode, now.stat) == (before.id, before.mode, before.stat))
    });
    // Entries of files that are changed after all would be left without stat data, so they are not touched the second time.
    while !unsure.is_empty() {
        lock.copy()?;
        let git = || {
            let git = store::git(repo).env("GIT_INDEX_FILE", &lock.copy);
            git.config("core.fsync=all")
        };
        let mut lines = Vec::new();
        for entry in unsure.iter().map(|at| &entries[*at]) {
            lines.extend_from_slice(format!("{:o} {} 0\t", entry.mode.bits(), entry.id).as_bytes());
            lines.extend_from_slice(entry.path(known.state()));
            lines.push(0);
        }
        let filled = git().args(["update-index", "-z", "--index-info"]).input(lines).run();
        filled.map_err(store::Error::from)?;
        let refreshed = git().args(["update-index", "-q", "--refresh"]).accept([1]).run();
        refreshed.map_err(store::Error::from)?;
        let settled = GitIndex::read(repo, Some(&lock.copy))?;
        let settled = settled.state();
        let before = unsure.len();
        unsure.retain(|at| {
            let entry = settled.entry_by_path(entries[*at].path(known.state()));
            entry.is_some_and(|entry| entry.stat != Stat::default())
        });
        if unsure.len() == before {
            return lock.put();
        }
    }
    Ok(())
}

/// Lines for `git update-index -z --index-info`: first every path goes, so that none is in the way of another.
fn lines(repo: &Repository, then: IndexState<'_>, paths: &[RepoPath]) -> Result<Vec<u8>, Error> {
    let zero = ObjectId::null(repo.object_hash());
    let mut lines = Vec::new();
    let mut push = |mode: u32, id: ObjectId, stage: u8, path: &RepoPath| {
        lines.extend_from_slice(format!("{mode:o} {id} {stage}\t").as_bytes());
        lines.extend_from_slice(path.as_bytes());
        lines.push(0);
    };
    for path in paths {
        push(0, zero, 0, path);
    }
    let mut stages = BTreeMap::<&RepoPath, Vec<&IndexConflict>>::new();
    for conflict in &then.lists.conflicts {
        stages.entry(&conflict.path).or_default().push(conflict);
    }
    for path in paths {
        if let Some(conflicts) = stages.get(path) {
            for conflict in conflicts {
                let (stage, mode, id) = stage(repo, conflict, then.blobs)?;
                push(mode, id, stage, path);
            }
        } else if let Some(TreeEntryInfo { mode, id }) = tree::entry(repo, then.tree, path)? {
            push(mode, checkpoint::object_id(&id), 0, path);
        }
    }
    Ok(lines)
}

/// git's lock on the index, known as ours by its text. It is free again when this is dropped.
#[derive(Debug)]
pub struct IndexLock {
    index: PathBuf,
    path: PathBuf,
    /// The copy that is going to be the index.
    copy: PathBuf,
}

fn lock_path(index: &Path) -> PathBuf {
    let mut path = index.as_os_str().to_owned();
    path.push(".lock");
    PathBuf::from(path)
}

fn lock_text(token: &str) -> String {
    format!("git-checkpoint {token}\n")
}

impl IndexLock {
    fn acquire(repo: &Repository, index: &Path, token: &str, wait: Duration) -> Result<Self, Error> {
        let path = lock_path(index);
        let named = store::worktree_private_dir(repo)?.join(LOCK);
        let made = os::private_file(&named, store::sharing(repo)).and_then(|mut file| {
            file.set_len(0)?;
            file.write_all(lock_text(token).as_bytes())
        });
        made.map_err(Error::io("write", &named))?;
        // A hard link appears with its text, and only if there is no lock.
        let linked = os::retry(wait, || match fs::hard_link(&named, &path) {
            Ok(()) => Ok(Some(())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
            // No hard links here: the text comes a moment after the name, as in git.
            Err(_) => match fs::File::options().write(true).create_new(true).open(&path) {
                Ok(mut file) => file.write_all(lock_text(token).as_bytes()).map(Some),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
                Err(error) => Err(error),
            },
        });
        let _ = fs::remove_file(&named);
        match linked {
            Ok(Some(())) => Ok(Self {
                index: index.to_owned(),
                path,
                copy: named.with_file_name(COPY),
            }),
            Ok(None) => Err(Error::IndexLocked {
                age: os::age(&path),
                path,
            }),
            Err(error) => Err(Error::io("create", path)(error)),
        }
    }

    /// Copies the index next to our other files, as old as it is, or git could overlook an edit. Its mode is not copied: an
    /// index that may not be written is replaced too, as git does.
    fn copy(&self) -> Result<(), Error> {
        let _ = fs::remove_file(&self.copy);
        let copied = fs::File::open(&self.index).and_then(|mut index| {
            let mut copy = fs::File::create_new(&self.copy)?;
            io::copy(&mut index, &mut copy)?;
            copy.set_modified(index.metadata()?.modified()?)
        });
        match copied {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("copy", &self.index)(error)),
            _ => Ok(()),
        }
    }

    fn put(&self) -> Result<(), Error> {
        os::sync_path(&self.copy).map_err(Error::io("write", &self.copy))?;
        fs::rename(&self.copy, &self.index).map_err(Error::io("write", &self.index))
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        // Not there any more if it has become the index.
        let _ = fs::remove_file(&self.copy);
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what a killed process of ours left of a change of the index: a lock known by the token of its journal, and
/// files next to our others. The caller holds the lock of the working tree.
pub fn unlock(repo: &Repository, index: Option<&Path>, token: &str) -> Result<(), Error> {
    let own = store::worktree_private_path(repo);
    for name in [LOCK, COPY, COPY_LOCK] {
        let _ = fs::remove_file(own.join(name));
    }
    let index = index.map_or_else(|| repo.index_path(), Path::to_owned);
    let path = lock_path(&index);
    match fs::read(&path) {
        Ok(text) if text == lock_text(token).as_bytes() => fs::remove_file(&path).map_err(Error::io("remove", path)),
        _ => Ok(()),
    }
}
