//! Renames: a deleted and an added file that are the same, or alike.

use std::collections::HashMap;

use gix::bstr::{BString, ByteSlice};

use super::{TreeDiff, TreeItem, tree_id};
use crate::model::change::{ChangeKind, TreeChange, TreeEntryInfo};
use crate::model::id::Oid;
use crate::model::path::RepoPath;
use crate::store::spill::SpillDirectory;
use crate::store::{Error, ObjectId, Repository};

/// Pairs deleted and added files of the same content. Among several candidates one with the same file name is taken
/// first, then the first by path, as git does; modes of links and gitlinks must agree.
pub(crate) fn pair_exact(found: Vec<TreeDiff>) -> Vec<TreeDiff> {
    let mut gone: HashMap<ObjectId, Vec<usize>> = HashMap::new();
    for (at, diff) in found.iter().enumerate() {
        if let (Some(old), None) = (&diff.old, &diff.new) {
            gone.entry(old.id).or_default().push(at);
        }
    }
    let mut used = vec![false; found.len()];
    let mut source_of = vec![None; found.len()];
    for (at, diff) in found.iter().enumerate() {
        let (None, Some(new)) = (&diff.old, &diff.new) else {
            continue;
        };
        let candidates = gone.get(&new.id).map(Vec::as_slice).unwrap_or_default();
        let fits = |source: &usize| {
            found[*source].old.is_some_and(|old| {
                !used[*source] && ((old.mode.is_blob() && new.mode.is_blob()) || old.mode.kind() == new.mode.kind())
            })
        };
        // git looks at no more than a hundred candidates either.
        let mut free = candidates.iter().copied().take(100).filter(fits);
        let first = free.next();
        let chosen = first
            .into_iter()
            .chain(free)
            .find(|source| file_name(&found[*source].path) == file_name(&diff.path))
            .or(first);
        if let Some(source) = chosen {
            used[source] = true;
            source_of[at] = Some(source);
        }
    }
    let sources: Vec<Option<(BString, Option<TreeItem>)>> = source_of
        .iter()
        .map(|source| source.map(|source| (found[source].path.clone(), found[source].old)))
        .collect();
    let mut paired = Vec::with_capacity(found.len());
    for ((diff, source), used) in found.into_iter().zip(sources).zip(used) {
        if used {
            continue;
        }
        paired.push(match source {
            Some((from, old)) => TreeDiff {
                from: Some(from),
                old,
                ..diff
            },
            None => diff,
        });
    }
    paired
}

fn file_name(path: &BString) -> &[u8] {
    path.rsplit_str(b"/").next().unwrap_or(path)
}

/// Renames by similarity, through `git diff-tree`.
pub(super) fn similar(
    repo: &Repository,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    percent: u8,
) -> Result<Vec<TreeChange>, Error> {
    let empty = ObjectId::empty_tree(repo.object_hash());
    let [old, new] = [old, new].map(|id| tree_id(repo, id));
    let (old, new) = (old?.unwrap_or(empty), new?.unwrap_or(empty));
    let spilled = SpillDirectory::new(repo)?;
    let git = crate::store::git(repo);
    let git = spilled.as_ref().map_or(git.clone(), |spilled| spilled.show(git));
    let output = git
        .args(["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-ext-diff"])
        .arg(format!("-M{}%", percent.min(100)))
        .args([old.to_string(), new.to_string()])
        .run()?;
    let malformed = || Error::Object {
        id: new,
        why: "'git diff-tree' gave a line that is not of its form".to_owned(),
    };
    parse_raw(&output.stdout).ok_or_else(malformed)
}

/// Reads `:100644 100644 <id> <id> M NUL path NUL`, of a rename with two paths.
fn parse_raw(bytes: &[u8]) -> Option<Vec<TreeChange>> {
    let mut fields = bytes.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    loop {
        let line = fields.next().unwrap_or_default();
        if line.is_empty() {
            return Some(changes);
        }
        let line = line.strip_prefix(b":")?.to_str().ok()?;
        let [old_mode, new_mode, old_id, new_id, status] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let side = |mode: &str, id: &str| -> Option<Option<TreeEntryInfo>> {
            let mode = u32::from_str_radix(mode, 8).ok()?;
            Some(if mode == 0 {
                None
            } else {
                Some(TreeEntryInfo {
                    mode,
                    id: Oid::new(id).ok()?,
                })
            })
        };
        let (old, new) = (side(old_mode, old_id)?, side(new_mode, new_id)?);
        let first = RepoPath::from(fields.next()?);
        let (kind, similarity) = match status.split_at_checked(1)? {
            ("A", _) => (ChangeKind::Added, None),
            ("D", _) => (ChangeKind::Deleted, None),
            ("M", _) => (ChangeKind::Modified, None),
            ("T", _) => (ChangeKind::TypeChanged, None),
            ("R", score) => (ChangeKind::Renamed, Some(score.parse().ok()?)),
            _ => return None,
        };
        let (path, from) = match kind {
            ChangeKind::Renamed => (RepoPath::from(fields.next()?), Some(first)),
            _ => (first, None),
        };
        changes.push(TreeChange {
            kind,
            path,
            from,
            similarity,
            old,
            new,
        });
    }
}

#[cfg(test)]
mod tests {
    use gix::objs::tree::EntryKind;

    use super::*;

    fn side(letter: u8) -> TreeItem {
        TreeItem {
            mode: EntryKind::Blob.into(),
            id: ObjectId::from([letter; 20]),
        }
    }

    fn diff(path: &str, old: Option<TreeItem>, new: Option<TreeItem>) -> TreeDiff {
        TreeDiff {
            path: path.into(),
            from: None,
            old,
            new,
        }
    }

    #[test]
    fn the_same_file_name_is_preferred_and_each_source_is_used_once() {
        let paired = pair_exact(vec![
            diff("a/x", Some(side(1)), None),
            diff("b/y", Some(side(1)), None),
            diff("c/y", None, Some(side(1))),
            diff("d/z", None, Some(side(1))),
            diff("e/w", None, Some(side(1))),
        ]);
        let shown: Vec<_> = paired
            .iter()
            .map(|diff| {
                format!(
                    "{}<{}",
                    diff.path,
                    diff.from.as_ref().map_or("", |from| from.to_str().expect("ASCII"))
                )
            })
            .collect();
        assert_eq!(shown, ["c/y<b/y", "d/z<a/x", "e/w<"]);
    }

    #[test]
    fn a_link_is_not_a_renamed_file() {
        let link = Some(TreeItem {
            mode: EntryKind::Link.into(),
            id: ObjectId::from([1; 20]),
        });
        assert_eq!(
            pair_exact(vec![diff("a", Some(side(1)), None), diff("b", None, link)]).len(),
            2
        );
    }

    #[test]
    fn raw_lines_that_are_cut_off_are_refused() {
        let id = "a".repeat(40);
        let line = format!(":100644 100755 {id} {id} R087\0old\0new\0");
        let changes = parse_raw(line.as_bytes()).expect("of git's form");
        assert_eq!(changes[0].similarity, Some(87));
        assert_eq!(changes[0].old_path(), &RepoPath::from("old"));
        assert_eq!(parse_raw(&line.as_bytes()[..100]), None);
        assert_eq!(parse_raw(b":100644 M\0x\0"), None);
    }
}
