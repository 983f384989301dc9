//! Differences between two trees, path by path.
//!
//! The one form in which changes of files travel: `status`, `diff`, `save`, `restore` and the change report all start
//! from a list of these. The names of JSON keys are stable; `mode` is written as git writes it, in octal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::{
    facts::{BoundedList, LISTED},
    id::Oid,
    path::RepoPath,
};

/// One path that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "tree_change")]
pub struct TreeChange {
    /// In what way.
    pub kind: ChangeKind,
    /// The path in the newer tree; of a deleted file, in the older one.
    pub path: RepoPath,
    /// The path in the older tree, of a renamed file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<RepoPath>,
    /// How alike both files of a rename are, in per cent: 100 is the same content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<u8>,
    /// Entry of the older tree; absent for an added file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<TreeEntryInfo>,
    /// Entry of the newer tree; absent for a deleted file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<TreeEntryInfo>,
}

/// A file, link or gitlink in a tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[schemars(rename = "entry")]
pub struct TreeEntryInfo {
    /// `0o100644`, `0o100755`, `0o120000` (link) or `0o160000` (gitlink).
    #[serde(serialize_with = "octal")]
    #[schemars(with = "String")]
    pub mode: u32,
    /// The blob, or the commit of a gitlink.
    pub id: Oid,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde asks for")]
fn octal<S: Serializer>(mode: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{mode:06o}"))
}

/// The kinds of changes, as git distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// Only in the newer tree.
    Added,
    /// Only in the older tree.
    Deleted,
    /// Other content, or the executable bit.
    Modified,
    /// Another kind of thing: file, link or gitlink.
    TypeChanged,
    /// The same or similar content under another path.
    Renamed,
}

impl ChangeKind {
    /// The letter that `git diff --name-status` prints.
    pub fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Deleted => 'D',
            Self::Modified => 'M',
            Self::TypeChanged => 'T',
            Self::Renamed => 'R',
        }
    }
}

impl TreeChange {
    /// The path it had before: the old name of a rename, else its only one.
    pub fn old_path(&self) -> &RepoPath {
        self.from.as_ref().unwrap_or(&self.path)
    }
}

/// Changes counted by kind, the first ones listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "changes")]
pub struct ChangeCounts {
    /// Added files.
    pub added: u64,
    /// Deleted files.
    pub deleted: u64,
    /// Files with other content or another executable bit.
    pub modified: u64,
    /// Paths that are another kind of thing now.
    pub type_changed: u64,
    /// Renamed files; they count neither as added nor as deleted.
    pub renamed: u64,
    /// All of them, and the first ones by path.
    #[serde(flatten)]
    pub all: BoundedList<TreeChange>,
}

impl<'a> FromIterator<&'a TreeChange> for ChangeCounts {
    fn from_iter<I: IntoIterator<Item = &'a TreeChange>>(changes: I) -> Self {
        let mut sum = Self::default();
        for change in changes {
            *match change.kind {
                ChangeKind::Added => &mut sum.added,
                ChangeKind::Deleted => &mut sum.deleted,
                ChangeKind::Modified => &mut sum.modified,
                ChangeKind::TypeChanged => &mut sum.type_changed,
                ChangeKind::Renamed => &mut sum.renamed,
            } += 1;
            if sum.all.first.len() < LISTED {
                sum.all.first.push(change.clone());
            }
            sum.all.count += 1;
        }
        sum
    }
}

impl ChangeCounts {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_a_change_is_what_is_documented() {
        let id = Oid::new("a".repeat(40)).expect("an id");
        let change = TreeChange {
            kind: ChangeKind::TypeChanged,
            path: RepoPath::from("a\nb"),
            from: None,
            similarity: None,
            old: Some(TreeEntryInfo {
                mode: 0o100_644,
                id: id.clone(),
            }),
            new: Some(TreeEntryInfo { mode: 0o120_000, id }),
        };
        let ids = "a".repeat(40);
        assert_eq!(
            serde_json::to_string(&change).expect("plain values"),
            format!(
                r#"{{"kind":"type-changed","path":"\"a\\nb\"","old":{{"mode":"100644","id":"{ids}"}},"new":{{"mode":"120000","id":"{ids}"}}}}"#
            )
        );
    }

    #[test]
    fn changes_are_counted_by_kind() {
        let change = |kind, path: &str| TreeChange {
            kind,
            path: RepoPath::from(path),
            from: None,
            similarity: None,
            old: None,
            new: None,
        };
        let sum: ChangeCounts = [
            change(ChangeKind::Added, "a"),
            change(ChangeKind::Deleted, "b"),
            change(ChangeKind::Added, "c"),
        ]
        .iter()
        .collect();
        assert_eq!((sum.added, sum.deleted, sum.all.count), (2, 1, 3));
        let json = serde_json::to_value(&sum).expect("plain values");
        assert_eq!(json["count"], 3);
        assert_eq!(json["first"][2]["path"], "c");
    }
}
