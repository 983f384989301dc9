//! The files at one moment of a step: the id of their tree, and how they differed from the commit of HEAD.
//!
//! The tree itself need not be stored anywhere (no ref would hold it for long); the differences from HEAD are few, and
//! with them two moments can be compared path by path as long as that commit exists.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{change::TreeChange, id::Oid, path::RepoPath};

/// The most paths that are kept; beyond them only the ids of the trees can be compared.
pub const LISTED: usize = 2_000;

/// The files at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileStates {
    /// Their tree, as a snapshot would hold it.
    pub tree: Oid,
    /// The commit of HEAD; none on an unborn branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Oid>,
    /// Differences from that commit, by path; left out when there are more than a few thousand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<FileState>>,
}

/// State of a path that differed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileState {
    /// The path.
    pub path: RepoPath,
    /// The mode in git's octal form; left out when nothing was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The object; left out when nothing was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Oid>,
}

/// The mode and object at a path; `None` when nothing is there.
type PathContent<'a> = Option<(String, &'a Oid)>;

impl FileStates {
    /// From the tree, the commit, and the differences between that commit's tree and the tree.
    pub fn new(tree: Oid, head: Option<Oid>, changes: &[TreeChange]) -> Self {
        let state = |change: &TreeChange| FileState {
            path: change.path.clone(),
            mode: change.new.as_ref().map(|entry| format!("{:06o}", entry.mode)),
            id: change.new.as_ref().map(|entry| entry.id.clone()),
        };
        Self {
            tree,
            head,
            changes: (changes.len() <= LISTED).then(|| changes.iter().map(state).collect()),
        }
    }

    /// The paths that are not the same any more, given what differs now from the same commit's tree; `None` when they
    /// cannot be determined.
    pub fn differing(&self, now: &[TreeChange]) -> Option<Vec<RepoPath>> {
        fn then(state: &FileState) -> PathContent<'_> {
            Some((state.mode.clone()?, state.id.as_ref()?))
        }
        fn there(change: &TreeChange) -> PathContent<'_> {
            let entry = change.new.as_ref()?;
            Some((format!("{:06o}", entry.mode), &entry.id))
        }
        let mut left: BTreeMap<&RepoPath, PathContent<'_>> =
            self.changes.as_ref()?.iter().map(|s| (&s.path, then(s))).collect();
        let mut out = Vec::new();
        for change in now {
            // A path that differs from the commit now, and did not or differently then.
            match left.remove(&change.path) {
                Some(before) if before == there(change) => {}
                _ => out.push(change.path.clone()),
            }
        }
        // What differed then and is as in the commit now.
        out.extend(left.into_keys().cloned());
        out.sort();
        Some(out)
    }
}
