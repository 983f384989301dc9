//! Index entries with flags that keep git from looking at the disk, and where the snapshot has each of them from.
//!
//! The flags alone do not show: a sparse checkout and `git update-index` set the same one, on files that are there and
//! on files that are not. Where a whole directory is alike, as below a sparse checkout, one line represents all of it.

use std::ops::Range;

use gix::bstr::ByteSlice;
use gix::index::Entry;
use gix::index::entry::Flags;

use super::index::{EntryExt, GitIndex};
use crate::model::list::{IndexFlags, Lists, Origin, Source};
use crate::model::path::RepoPath;
use crate::store::objects::Writer;
use crate::store::{ObjectId, Repository};

/// The flags of an entry.
pub(super) fn flags(entry: &Entry) -> IndexFlags {
    IndexFlags {
        skip_worktree: entry.is_skip_worktree(),
        assume_unchanged: entry.flags.contains(Flags::ASSUME_VALID),
    }
}

/// All flagged entries. `on_disk` are those that the walk met, sorted; `lists` those of the snapshot with these
/// trees, of the files and of the index.
pub(super) fn list(
    repo: &Repository,
    writer: &Writer,
    index: &GitIndex,
    (tree, index_tree): (ObjectId, ObjectId),
    on_disk: &[usize],
    lists: &Lists,
) -> Vec<Origin> {
    let flagged: Vec<usize> = index.all().filter(|at| !flags(index.entry(*at)).is_empty()).collect();
    let mut found = Vec::new();
    if !flagged.is_empty() {
        let origins = Origins {
            repo: writer.overlay(repo),
            index,
            tree,
            index_tree,
            on_disk,
            lists,
        };
        origins.below(index.all(), 0, &flagged, &mut found);
        found.sort_by(|a, b| a.path.cmp(&b.path));
    }
    found
}

/// The tree of a snapshot and what the walk met on its way to it.
struct Origins<'a> {
    repo: Repository,
    index: &'a GitIndex,
    tree: ObjectId,
    index_tree: ObjectId,
    on_disk: &'a [usize],
    lists: &'a Lists,
}

impl Origins<'_> {
    /// Those of one directory, `prefix` bytes long with its slash, which has `flagged` among its entries.
    fn below(&self, range: Range<usize>, prefix: usize, flagged: &[usize], found: &mut Vec<Origin>) {
        for group in self.index.groups(range, prefix) {
            for &at in within(flagged, &group.files) {
                let path = self.index.path(at);
                found.push(self.origin(path, at));
            }
            let inner = within(flagged, &group.below);
            let Some(&first) = inner.first() else {
                continue;
            };
            let end = prefix + group.name.len() + 1;
            let path = &self.index.path(first)[..end];
            let flags_of = |at: usize| flags(self.index.entry(at));
            // What the snapshot has there is all that the index has, or nothing.
            let name = &path[..end - 1];
            let tree = self.at(self.tree, name);
            let is_alike = inner.len() == group.below.len()
                && inner.iter().all(|at| flags_of(*at) == flags_of(first))
                && within(self.on_disk, &group.below).is_empty()
                && (tree.is_none() || tree == self.at(self.index_tree, name))
                && !self
                    .lists
                    .skipped
                    .iter()
                    .any(|skipped| skipped.path.as_bytes().starts_with(path));
            if is_alike {
                found.push(self.origin(path, first));
            } else {
                self.below(group.below.clone(), end, inner, found);
            }
        }
    }

    /// That of an entry, or of a directory in which all are like it.
    fn origin(&self, path: &[u8], at: usize) -> Origin {
        let entry = self.index.entry(at);
        // What the tree has at this path may be something else that is there.
        let directory = path.ends_with(b"/");
        let has = self.at(self.tree, path.strip_suffix(b"/").unwrap_or(path));
        let is_held = self.lists.held.iter().any(|held| held.path.as_bytes() == path);
        let is_there = is_held || has.is_some_and(|(is_directory, _)| is_directory == directory);
        let source = match (is_there, self.on_disk.binary_search(&at).is_ok()) {
            (false, _) => Source::Absent,
            (true, true) if !self.is_skipped(path) => Source::Disk,
            (true, _) => Source::Index,
        };
        Origin {
            path: RepoPath::from(path),
            source,
            flags: flags(entry),
        }
    }

    /// Whether a path, or a directory above it, could not be captured, so that its entry is that of the index.
    fn is_skipped(&self, path: &[u8]) -> bool {
        self.lists.skipped.iter().any(|skipped| {
            let rest = path.strip_prefix(skipped.path.as_bytes());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        })
    }

    /// Whether a tree has a directory at a path, and its id; `None` if it has nothing there.
    fn at(&self, tree: ObjectId, path: &[u8]) -> Option<(bool, ObjectId)> {
        let tree = self.repo.find_object(tree).ok()?.try_into_tree().ok()?;
        let entry = tree.lookup_entry(path.split_str("/")).ok()??;
        Some((entry.mode().is_tree(), entry.object_id()))
    }
}

/// The positions that lie in a range.
fn within<'a>(sorted: &'a [usize], range: &Range<usize>) -> &'a [usize] {
    let start = sorted.partition_point(|at| *at < range.start);
    let end = sorted.partition_point(|at| *at < range.end);
    &sorted[start..end.max(start)]
}
