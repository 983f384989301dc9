//! One side of a restore: all files of the present or of a checkpoint, from the tree and the lists next to it.
//!
//! A directory is read as the tree has it, with the files that are held next to the tree put in where they belong, so that
//! everything else sees one complete tree.
#![expect(clippy::single_match_else, reason = "both cases are equals here, none is the rest")]

use std::collections::{BTreeMap, HashMap, HashSet};

use gix::objs::TreeRefIter;
use gix::objs::tree::EntryKind;

use super::Error;
use super::paths::{FileSystem, PathProblem};
use crate::model::list::{Lists, SkipReason, Source};
use crate::model::path::RepoPath;
use crate::store::checkpoint;
use crate::store::{Kind, ObjectId, Repository};

/// The files of the present or of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct SideFiles<'a> {
    /// Their tree.
    pub tree: ObjectId,
    /// Lists of what the tree cannot represent.
    pub lists: &'a Lists,
    /// The blobs of the files in `lists.held`, by their numbers.
    pub held: &'a [ObjectId],
    /// The creation mask that `lists.modes` is relative to.
    pub umask: u32,
}

/// Named entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SideEntry {
    /// A directory; without a tree it only holds files that are held next to the tree.
    Directory(Option<ObjectId>),
    File {
        executable: bool,
        id: ObjectId,
    },
    Link(ObjectId),
    /// Another repository at this commit.
    Repository(ObjectId),
}

/// The entries of a directory by their names.
pub(super) type DirectoryEntries = BTreeMap<Vec<u8>, SideEntry>;

/// One side, ready to be asked.
pub(super) struct TreeSide<'a> {
    files: SideFiles<'a>,
    system: FileSystem,
    modes: HashMap<&'a [u8], u32>,
    raw: HashSet<&'a [u8]>,
    skipped: BTreeMap<&'a [u8], SkipReason>,
    /// Directories that are plain ones here even if they are repositories, or left out by rules.
    entered: Option<&'a HashSet<RepoPath>>,
    held: BTreeMap<&'a [u8], ObjectId>,
}

impl<'a> TreeSide<'a> {
    /// Checks every path in the lists. What is known in the `entered` directories counts even if they are repositories.
    pub(super) fn new(
        files: SideFiles<'a>,
        system: FileSystem,
        entered: Option<&'a HashSet<RepoPath>>,
    ) -> Result<Self, Error> {
        let lists = files.lists;
        let mut held = BTreeMap::new();
        for entry in &lists.held {
            let blob = files.held.get(entry.n as usize).ok_or_else(|| Error::NotThere {
                path: entry.path.clone(),
            })?;
            held.insert(entry.path.as_bytes(), *blob);
        }
        let written = held
            .keys()
            .copied()
            .chain(lists.empty_dirs.iter().map(RepoPath::as_bytes));
        for path in written {
            system.check(path, true).map_err(|why| Error::UnsafePath {
                path: RepoPath::from(path),
                why,
            })?;
        }
        Ok(Self {
            files,
            system,
            modes: lists
                .modes
                .iter()
                .map(|(path, mode)| (path.as_bytes(), *mode))
                .collect(),
            raw: lists.raw.iter().map(RepoPath::as_bytes).collect(),
            skipped: lists
                .skipped
                .iter()
                .filter(|skipped| {
                    let is_entered = entered.is_some_and(|entered| entered.contains(&skipped.path));
                    !(is_entered && is_left_out_whole(skipped.reason))
                })
                .map(|s| (s.path.as_bytes(), s.reason))
                .collect(),
            entered,
            held,
        })
    }

    pub(super) fn root(&self) -> SideEntry {
        SideEntry::Directory(Some(self.files.tree))
    }

    pub(super) fn lists(&self) -> &'a Lists {
        self.files.lists
    }

    /// Why the path itself is not in the tree as it was on disk; directories above it are not looked at.
    pub(super) fn skipped(&self, path: &[u8]) -> Option<SkipReason> {
        self.skipped.get(path).copied()
    }

    /// Whether sparse checkout or a flag of the index left a file out of the working tree that the tree has. An unmerged path
    /// never is.
    pub(super) fn is_left_out(&self, path: &[u8]) -> bool {
        let lists = self.files.lists;
        let origin = lists.origin_of(path);
        let is_unmerged = || {
            let mut unmerged = lists.conflicts.iter().filter(|conflict| conflict.stage != 0);
            unmerged.any(|conflict| conflict.path.as_bytes() == path)
        };
        origin.is_some_and(|origin| origin.source == Source::Index) && !is_unmerged()
    }

    /// Whether the file is stored byte for byte.
    pub(super) fn is_raw(&self, path: &[u8]) -> bool {
        self.raw.contains(path)
    }

    /// The permission bits of a file, and whether they are in the list.
    pub(super) fn mode(&self, path: &[u8], executable: bool) -> (u32, bool) {
        match self.modes.get(path) {
            Some(mode) => (*mode, true),
            None => (usual(executable, self.files.umask), false),
        }
    }

    /// The paths that may differ from the other side although the trees are equal there.
    pub(super) fn outside_tree(&self) -> impl Iterator<Item = &'a [u8]> {
        let lists = self.files.lists;
        let modes = lists.modes.iter().map(|(path, _)| path.as_bytes());
        let raw = lists.raw.iter().map(RepoPath::as_bytes);
        let held: Vec<_> = self.held.keys().copied().collect();
        modes.chain(raw).chain(held)
    }

    /// Entries of a directory, sorted by name. `path` has a slash at its end, or is empty for the root.
    pub(super) fn directory(
        &self,
        repo: &Repository,
        path: &[u8],
        tree: Option<ObjectId>,
    ) -> Result<DirectoryEntries, Error> {
        let mut nodes = BTreeMap::new();
        let no_path = |name: &[u8], why| Error::UnsafePath {
            path: RepoPath::new([path, name].concat()),
            why,
        };
        if let Some(id) = tree.filter(|id| *id != ObjectId::empty_tree(repo.object_hash())) {
            let broken = |why: String| Error::Tree {
                path: RepoPath::new(path.strip_suffix(b"/").unwrap_or(path)),
                id,
                why,
            };
            let data = checkpoint::read(repo, id, Kind::Tree, "tree").map_err(|fault| broken(fault.to_string()))?;
            for entry in TreeRefIter::from_bytes(&data, repo.object_hash()) {
                let entry = entry.map_err(|error| broken(error.to_string()))?;
                let id = entry.oid.to_owned();
                let node = match entry.mode.kind() {
                    EntryKind::Tree => SideEntry::Directory(Some(id)),
                    EntryKind::Blob => SideEntry::File { executable: false, id },
                    EntryKind::BlobExecutable => SideEntry::File { executable: true, id },
                    EntryKind::Link => SideEntry::Link(id),
                    EntryKind::Commit => SideEntry::Repository(id),
                };
                let name: &[u8] = entry.filename;
                let is_file = matches!(node, SideEntry::File { .. });
                self.system
                    .check_name(name, is_file)
                    .map_err(|why| no_path(name, why))?;
                if matches!(node, SideEntry::Repository(_)) && self.is_entered(path, name) {
                    continue;
                }
                if nodes.insert(name.to_vec(), node).is_some() {
                    return Err(no_path(name, PathProblem::Twice));
                }
            }
        }
        for (held, id) in self.below(path) {
            let rest = &held[path.len()..];
            match rest.iter().position(|byte| *byte == b'/') {
                Some(slash) => {
                    nodes
                        .entry(rest[..slash].to_vec())
                        .or_insert(SideEntry::Directory(None));
                }
                None => {
                    let executable = self.modes.get(held).is_some_and(|mode| mode & 0o100 != 0);
                    nodes.insert(rest.to_vec(), SideEntry::File { executable, id });
                }
            }
        }
        if let Some((one, other)) = self.system.collision(nodes.keys().map(Vec::as_slice)) {
            return Err(no_path(one, PathProblem::Collides(RepoPath::from(other))));
        }
        Ok(nodes)
    }

    /// The names of this side's directory that the file system takes for another one of the target's.
    pub(super) fn aliased(&self, present: &DirectoryEntries, target: &DirectoryEntries) -> HashSet<Vec<u8>> {
        if !self.system.folds {
            return HashSet::new();
        }
        let fresh = target.keys().filter(|name| !present.contains_key(*name));
        let keys: HashSet<_> = fresh.map(|name| self.system.key(name)).collect();
        let old = present.keys().filter(|name| !target.contains_key(*name));
        old.filter(|name| keys.contains(&self.system.key(name)))
            .cloned()
            .collect()
    }

    fn is_entered(&self, directory: &[u8], name: &[u8]) -> bool {
        let path = || RepoPath::new([directory, name].concat());
        self.entered.is_some_and(|entered| entered.contains(&path()))
    }

    /// The held files below a directory.
    fn below<'b>(&'b self, path: &'b [u8]) -> impl Iterator<Item = (&'a [u8], ObjectId)> + 'b {
        let from = self
            .held
            .range::<[u8], _>((std::ops::Bound::Included(path), std::ops::Bound::Unbounded));
        from.map(|(held, id)| (*held, *id))
            .take_while(move |(held, _)| held.starts_with(path))
    }

    /// Entry at a path.
    pub(super) fn node(&self, repo: &Repository, path: &[u8]) -> Result<Option<SideEntry>, Error> {
        let mut at = self.root();
        let mut start = 0;
        loop {
            let SideEntry::Directory(tree) = at else {
                return Ok(None);
            };
            let end = path[start..]
                .iter()
                .position(|byte| *byte == b'/')
                .map_or(path.len(), |slash| start + slash);
            match self.directory(repo, &path[..start], tree)?.remove(&path[start..end]) {
                None => return Ok(None),
                Some(node) if end == path.len() => return Ok(Some(node)),
                Some(node) => at = node,
            }
            start = end + 1;
        }
    }
}

/// Whether a directory is left out with all that is in it, for a reason that does not concern its files.
fn is_left_out_whole(reason: SkipReason) -> bool {
    matches!(
        reason,
        SkipReason::NestedRepository | SkipReason::Excluded | SkipReason::Untracked
    )
}

/// The permission bits that git gives a file under a creation mask.
pub(super) fn usual(executable: bool, umask: u32) -> u32 {
    if executable { 0o777 & !umask } else { 0o666 & !umask }
}
