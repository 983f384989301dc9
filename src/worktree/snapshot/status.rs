//! The working tree against the index, counted as `git status` counts.

use std::collections::BinaryHeap;

use crate::model::path::RepoPath;

/// How many paths of a kind are named; the rest is counted.
const NAMED: usize = 100;

/// Differences between working tree and index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexStatus {
    /// Tracked files with other content, mode or kind, and submodules at another commit.
    pub modified: PathSummary,
    /// Tracked files that are not there.
    pub deleted: PathSummary,
    /// Files that are neither tracked nor ignored, whether or not the snapshot holds them; of a repository in the
    /// working tree only its directory.
    pub untracked: PathSummary,
    /// Unmerged paths of the index, in none of the others.
    pub conflicted: PathSummary,
}

/// How many paths, and the first of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathSummary {
    /// All of them.
    pub count: usize,
    /// The first hundred by the order of their bytes, sorted.
    pub first: Vec<RepoPath>,
}

/// A summary in the making.
#[derive(Debug, Default)]
pub(super) struct StatusBuilder {
    count: usize,
    first: BinaryHeap<Vec<u8>>,
}

impl StatusBuilder {
    pub(super) fn add(&mut self, path: &[u8]) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(path.to_vec());
        } else if let Some(mut last) = self.first.peek_mut()
            && path < last.as_slice()
        {
            *last = path.to_vec();
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        let unnamed = other.count - other.first.len();
        for path in other.first {
            self.add(&path);
        }
        self.count += unnamed;
    }

    pub(super) fn finish(self) -> PathSummary {
        PathSummary {
            count: self.count,
            first: self.first.into_sorted_vec().into_iter().map(RepoPath::new).collect(),
        }
    }
}

/// [`IndexStatus`] in the making.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub modified: StatusBuilder,
    pub deleted: StatusBuilder,
    pub untracked: StatusBuilder,
    pub conflicted: StatusBuilder,
}

impl Tally {
    pub(super) fn merge(&mut self, other: Self) {
        self.modified.merge(other.modified);
        self.deleted.merge(other.deleted);
        self.untracked.merge(other.untracked);
        self.conflicted.merge(other.conflicted);
    }

    /// How many paths there are in it.
    pub(super) fn count(&self) -> usize {
        let all = [&self.modified, &self.deleted, &self.untracked, &self.conflicted];
        all.iter().map(|summary| summary.count).sum()
    }

    /// Whether there is anything in it.
    pub(super) fn is_changed(&self) -> bool {
        self.count() > 0
    }

    pub(super) fn finish(self) -> IndexStatus {
        IndexStatus {
            modified: self.modified.finish(),
            deleted: self.deleted.finish(),
            untracked: self.untracked.finish(),
            conflicted: self.conflicted.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_paths_are_kept_whatever_the_order() {
        let mut one = StatusBuilder::default();
        let mut two = StatusBuilder::default();
        for n in (0..500).rev() {
            let summary = if n % 3 == 0 { &mut one } else { &mut two };
            summary.add(format!("{n:03}").as_bytes());
        }
        one.merge(two);
        let all = one.finish();
        assert_eq!(all.count, 500);
        let expected: Vec<_> = (0..100).map(|n| RepoPath::from(format!("{n:03}").as_str())).collect();
        assert_eq!(all.first, expected);
    }
}
