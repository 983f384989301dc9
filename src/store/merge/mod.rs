//! A three-way merge of saved changes with the present, path by path, touching no file.
//!
//! `base` and `theirs` are what a checkpoint holds (the tree of its HEAD and its files), `ours` is the present. Only
//! the paths that differ between base and theirs are looked at, so a "conflict" here is one that bringing these changes
//! back would give. Both sides' renames are followed, exact ones and similar ones; renamed directories are not (a new
//! file stays where it was saved). Not gix's merge of whole trees: that compares every renamed file of the project's
//! history since, and a decision could not be explained for each path.

mod content;
mod line_ends;
mod overlap;
mod similarity;

use std::collections::{BTreeMap, BTreeSet};

use gix::bstr::{BStr, BString, ByteSlice};

pub use content::Labels;
pub use overlap::Overlap;

use super::checkpoint::object_id;
use super::tree::{self, TreeDiff, TreeItem};
use super::{Error, ObjectId, Repository};
use crate::model::change::TreeEntryInfo;
use crate::model::path::RepoPath;
use crate::model::report::MergeVerdict;
use crate::model::tree_mode;

/// The three trees, given by the ids of trees or commits; `None` is the empty tree.
#[derive(Clone, Copy, Debug)]
pub struct Trees {
    /// Common base of both sides.
    pub base: Option<ObjectId>,
    /// The present.
    pub ours: Option<ObjectId>,
    /// Tree to merge in.
    pub theirs: Option<ObjectId>,
}

/// How to merge.
#[derive(Clone, Copy, Debug)]
pub struct MergeOptions<'a> {
    /// Labels of conflict markers.
    pub labels: Labels<'a>,
    /// Whether the user's own merge drivers may run. They write files next to the working tree's, so a report forbids
    /// them, and a path with such a driver is merged as text.
    pub drivers: bool,
    /// Files that may be read while looking for the new name of a changed file; 0 follows exact renames alone.
    pub rename_candidates: usize,
    /// Result where both sides changed the same lines.
    pub overlap: Overlap,
}

/// Result for one path that differs between base and theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathMerge {
    /// The path in theirs; of a deleted file, in base.
    pub saved: RepoPath,
    /// The path in base, of a file that theirs renamed.
    pub from: Option<RepoPath>,
    /// The path in ours that the result is for.
    pub path: RepoPath,
    /// Whether both sides fit together.
    pub verdict: MergeVerdict,
    /// Change of ours.
    pub result: PathMergeOutcome,
    /// A path of ours that goes away with it: the old name of a file that theirs renamed.
    pub removes: Option<RepoPath>,
    /// Why the content could not be merged, with [`MergeVerdict::Unknown`].
    pub failure: Option<String>,
    /// Entry in base.
    pub base: Option<TreeEntryInfo>,
    /// Entry in ours.
    pub ours: Option<TreeEntryInfo>,
    /// Entry in theirs.
    pub theirs: Option<TreeEntryInfo>,
    /// Theirs, put at a path of its own: with [`MergeVerdict::Structure`] the path holds only ours.
    pub aside: Option<(RepoPath, TreeEntryInfo)>,
}

/// Change of a path of ours by a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathMergeOutcome {
    /// Nothing: it is as it has to be, or a conflict leaves it as it is.
    Keep,
    /// This is put there. With a conflict in the content, the blob holds both sides between markers.
    Write(TreeEntryInfo),
    /// It is deleted.
    Delete,
}

/// Merges. Blobs with merged content are written to the repository, or kept in its memory if it has one.
///
/// Gives one item for each path, in the order of the saved paths. A file whose content cannot be read, because a partial
/// clone lacks it or it is damaged, spoils its own item alone.
pub fn three_way(
    reader: &tree::TreeReader<'_>,
    trees: Trees,
    options: MergeOptions<'_>,
) -> Result<Vec<PathMerge>, Error> {
    let repo = reader.repo();
    let theirs = tree::pair_exact(reader.raw(trees.base, trees.theirs)?);
    if theirs.is_empty() {
        return Ok(Vec::new());
    }
    let theirs = similarity::pair(repo, theirs, options.rename_candidates, |_| true);
    let ours: BTreeMap<BString, TreeDiff> = reader
        .raw(trees.base, trees.ours)?
        .into_iter()
        .map(|diff| (diff.path.clone(), diff))
        .collect();
    let mut merge = Merge {
        repo,
        options,
        moved: moved(repo, &theirs, &ours, options),
        ours,
        blobs: None,
        failure: None,
    };
    let mut merged: Vec<_> = theirs.iter().map(|change| merge.path(change)).collect();
    merge.check_structure(&mut merged);
    merge.put_aside(tree::tree_id(repo, trees.ours)?, &mut merged)?;
    Ok(merged)
}

/// The tree of ours with the merged paths put in. Written to the repository or its memory. Conflicts are in it as
/// [`three_way`] left them. Names are not checked: who writes files from it must do so.
pub fn tree(repo: &Repository, ours: Option<ObjectId>, merged: &[PathMerge]) -> Result<ObjectId, Error> {
    let hash = repo.object_hash();
    let root = match tree::tree_id(repo, ours)? {
        None => gix::objs::Tree::empty(),
        Some(id) => {
            let data = tree::find(repo, id)?.detach().data;
            let decoded = gix::objs::TreeRef::from_bytes(&data, hash);
            decoded
                .map_err(|error| Error::Object {
                    id,
                    why: error.to_string(),
                })?
                .into_owned()
        }
    };
    let mut editor = gix::objs::tree::Editor::new(root, &repo.objects, hash);
    let failed = || Error::gix("build the merged tree");
    let split = |path: &RepoPath| -> Vec<BString> { path.as_bytes().split_str(b"/").map(BString::from).collect() };
    // Deletions first: a file may take the place of a directory whose files go away.
    for path in merged {
        if path.result == PathMergeOutcome::Delete {
            editor.remove(split(&path.path)).map_err(failed())?;
        }
        if let Some(old) = &path.removes {
            editor.remove(split(old)).map_err(failed())?;
        }
    }
    for path in merged {
        let result = match &path.result {
            PathMergeOutcome::Write(entry) => Some((&path.path, entry)),
            _ => None,
        };
        let aside = path.aside.as_ref().map(|(aside, entry)| (aside, entry));
        for (path, entry) in result.into_iter().chain(aside) {
            editor
                .upsert(split(path), tree::kind(entry.mode), object_id(&entry.id))
                .map_err(failed())?;
        }
    }
    editor
        .write(|tree| repo.write_object(tree).map(gix::Id::detach))
        .map_err(failed())
}

/// A tree with other entries at some paths; `None` is absence. Written to the repository or its memory.
pub fn edited(
    repo: &Repository,
    root: ObjectId,
    paths: &[(RepoPath, Option<TreeEntryInfo>)],
) -> Result<ObjectId, Error> {
    let edit = |(path, entry): &(RepoPath, Option<TreeEntryInfo>)| PathMerge {
        saved: path.clone(),
        from: None,
        path: path.clone(),
        verdict: MergeVerdict::Clean,
        result: entry.clone().map_or(PathMergeOutcome::Delete, PathMergeOutcome::Write),
        removes: None,
        failure: None,
        base: None,
        ours: None,
        theirs: None,
        aside: None,
    };
    let edits: Vec<_> = paths.iter().map(edit).collect();
    tree(repo, Some(root), &edits)
}

/// The text in place of another repository's commit where a conflict is kept. Written to the repository or its memory.
pub fn gitlink_blob(repo: &Repository, commit: ObjectId) -> Result<ObjectId, Error> {
    let text = repo.write_blob(format!("{commit}\n"));
    Ok(text.map_err(Error::gix("write a blob"))?.detach())
}

/// Where ours moved the files that theirs changed.
fn moved(
    repo: &Repository,
    theirs: &[TreeDiff],
    ours: &BTreeMap<BString, TreeDiff>,
    options: MergeOptions<'_>,
) -> BTreeMap<BString, BString> {
    let gone = |path: &BString| ours.get(path).is_some_and(|diff| diff.new.is_none());
    let sources: BTreeSet<&BString> = theirs
        .iter()
        .filter(|change| change.old.is_some())
        .map(old_path)
        .filter(|path| gone(path))
        .collect();
    if sources.is_empty() {
        return BTreeMap::new();
    }
    // All deleted files take part: one that theirs left alone may be the better match for an added file.
    let paired = tree::pair_exact(ours.values().cloned().collect());
    let paired = similarity::pair(repo, paired, options.rename_candidates, |path| sources.contains(path));
    paired
        .into_iter()
        .filter_map(|diff| Some((diff.from?, diff.path)))
        .collect()
}

fn old_path(diff: &TreeDiff) -> &BString {
    diff.from.as_ref().unwrap_or(&diff.path)
}

struct Merge<'a> {
    repo: &'a Repository,
    options: MergeOptions<'a>,
    /// Changes of ours against base, by path.
    ours: BTreeMap<BString, TreeDiff>,
    /// New names of files in ours, by the name in base.
    moved: BTreeMap<BString, BString>,
    /// Made when the first content has to be merged: it reads the index.
    blobs: Option<content::MergeCache>,
    /// Why the content of the path at hand could not be merged.
    failure: Option<String>,
}

impl Merge<'_> {
    /// Entry of ours at a path where base has `base`.
    fn ours_at(&self, path: &BStr, base: Option<TreeItem>) -> Option<TreeItem> {
        self.ours.get(path).map_or(base, |diff| diff.new)
    }

    fn path(&mut self, change: &TreeDiff) -> PathMerge {
        let mut merged = self.decide(change);
        merged.failure = self.failure.take();
        merged
    }

    fn decide(&mut self, change: &TreeDiff) -> PathMerge {
        let old = old_path(change);
        let here = self.ours_at(old.as_bstr(), change.old);
        let made =
            |path: &BString, ours: Option<TreeItem>, (verdict, result): (MergeVerdict, PathMergeOutcome)| PathMerge {
                saved: RepoPath::new(change.path.to_vec()),
                from: change.from.as_ref().map(|from| RepoPath::new(from.to_vec())),
                path: RepoPath::new(path.to_vec()),
                verdict,
                result,
                removes: None,
                failure: None,
                base: change.old.map(TreeEntryInfo::from),
                ours: ours.map(TreeEntryInfo::from),
                theirs: change.new.map(TreeEntryInfo::from),
                aside: None,
            };
        let keep = |verdict| (verdict, PathMergeOutcome::Keep);
        let Some(from) = &change.from else {
            let Some(to) = self.moved.get(old).filter(|_| here.is_none()).cloned() else {
                let merged = self.sides([old; 3], change.old, here, change.new);
                return made(&change.path, here, merged);
            };
            let there = self.ours_at(to.as_bstr(), None);
            let merged = match change.new {
                None => keep(MergeVerdict::ModifyDelete),
                // What is a link or submodule now is another thing than the file that was renamed.
                Some(new) if change.old.is_some_and(|old| !tree::same_type(old.mode, new.mode)) => {
                    keep(MergeVerdict::Structure)
                }
                Some(_) => self.sides([old, &to, old], change.old, there, change.new),
            };
            return made(&to, there, merged);
        };
        let there = self.ours_at(change.path.as_bstr(), None);
        match (here, there) {
            (None, Some(_)) if there == change.new => made(&change.path, there, keep(MergeVerdict::Clean)),
            (None, _) => match self.moved.get(from) {
                Some(to) if *to == change.path => {
                    let names = [old, &change.path, &change.path];
                    let merged = self.sides(names, change.old, there, change.new);
                    made(&change.path, there, merged)
                }
                Some(to) => made(&to.clone(), there, keep(MergeVerdict::Structure)),
                // Deleted here, and another file has the new name.
                None if there.is_some() => {
                    let merged = self.sides([&change.path; 3], None, there, change.new);
                    made(&change.path, there, merged)
                }
                None => made(&change.path, None, (MergeVerdict::ModifyDelete, written(change.new))),
            },
            (Some(_), Some(_)) => self.renamed_onto(change, here, there),
            (Some(_), None) => {
                let (verdict, result) = self.sides([old, old, &change.path], change.old, here, change.new);
                // What is kept of ours still moves to the new name.
                let result = if result == PathMergeOutcome::Keep {
                    written(here)
                } else {
                    result
                };
                let removes = Some(RepoPath::new(from.to_vec()));
                PathMerge {
                    removes,
                    ..made(&change.path, here, (verdict, result))
                }
            }
        }
    }

    /// A file that theirs renamed to where ours has another one: both are merged there, as if both sides had added it.
    fn renamed_onto(&mut self, change: &TreeDiff, here: Option<TreeItem>, there: Option<TreeItem>) -> PathMerge {
        let old = old_path(change);
        let renamed = match self.sides([old, old, &change.path], change.old, here, change.new).1 {
            PathMergeOutcome::Write(entry) => Some(item(&entry)),
            _ => here,
        };
        let (verdict, result) = self.sides([&change.path; 3], None, there, renamed);
        PathMerge {
            saved: RepoPath::new(change.path.to_vec()),
            from: change.from.as_ref().map(|from| RepoPath::new(from.to_vec())),
            path: RepoPath::new(change.path.to_vec()),
            verdict,
            result,
            removes: Some(RepoPath::new(old.to_vec())),
            failure: None,
            base: None,
            ours: there.map(TreeEntryInfo::from),
            theirs: renamed.map(TreeEntryInfo::from),
            aside: None,
        }
    }

    /// Gives theirs a path of its own where it cannot be put to its place, so that a conflict leaves both sides: the path in
    /// theirs if it is free, else one with the name of its side, as git makes it.
    fn put_aside(&self, ours: Option<ObjectId>, merged: &mut [PathMerge]) -> Result<(), Error> {
        if self.options.overlap == Overlap::Ours {
            return Ok(());
        }
        let mut taken: BTreeSet<Vec<u8>> = merged
            .iter()
            .filter(|path| matches!(path.result, PathMergeOutcome::Write(_)))
            .map(|path| path.path.as_bytes().to_vec())
            .collect();
        let label: String = self
            .options
            .labels
            .theirs
            .chars()
            .map(|c| {
                if c.is_alphanumeric() || "-_.".contains(c) {
                    c
                } else {
                    '-'
                }
            })
            .collect();
        for path in merged.iter_mut() {
            let Some(theirs) = path.theirs.clone() else { continue };
            let is_meant = path.verdict == MergeVerdict::Structure && theirs.mode != tree_mode::GITLINK;
            if !is_meant || path.ours.as_ref() == Some(&theirs) {
                continue;
            }
            let mut name = path.saved.as_bytes().to_vec();
            for n in 0.. {
                let Some(blocked) = self.blocked(ours, &name, &taken)? else {
                    break;
                };
                // The part that is in the way gets another name.
                let number = if n == 0 { String::new() } else { format!("_{n}") };
                let saved = path.saved.as_bytes();
                let rest = &saved[blocked.min(saved.len())..];
                name = [
                    &saved[..blocked.min(saved.len())],
                    b"~",
                    label.as_bytes(),
                    number.as_bytes(),
                    rest,
                ]
                .concat();
            }
            taken.insert(name.clone());
            path.aside = Some((RepoPath::new(name), theirs));
        }
        Ok(())
    }

    /// Where a path is blocked by what ours has or what is written: the length of the part that is in the way.
    fn blocked(&self, ours: Option<ObjectId>, name: &[u8], taken: &BTreeSet<Vec<u8>>) -> Result<Option<usize>, Error> {
        let slashes = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for at in slashes.map(|(at, _)| at) {
            let above = &name[..at];
            let entry = match ours {
                Some(ours) => tree::entry(self.repo, ours, &RepoPath::from(above))?,
                None => None,
            };
            if taken.contains(above) || entry.is_some_and(|entry| entry.mode != tree_mode::DIRECTORY) {
                return Ok(Some(at));
            }
        }
        let entry = match ours {
            Some(ours) => tree::entry(self.repo, ours, &RepoPath::from(name))?,
            None => None,
        };
        let is_directory = match ours {
            Some(ours) => tree::has_directory(self.repo, ours, &RepoPath::from(name))?,
            None => false,
        };
        let below = [name, b"/"].concat();
        let mut after = taken.range(below.clone()..);
        let becomes_directory = after.next().is_some_and(|other| other.starts_with(&below));
        let is_taken = taken.contains(name) || entry.is_some() || is_directory || becomes_directory;
        Ok(is_taken.then_some(name.len()))
    }

    /// One file, three sides with their names.
    fn sides(
        &mut self,
        names: [&BString; 3],
        base: Option<TreeItem>,
        ours: Option<TreeItem>,
        theirs: Option<TreeItem>,
    ) -> (MergeVerdict, PathMergeOutcome) {
        let equal = |a: Option<TreeItem>, b: Option<TreeItem>| match (a, b) {
            (Some(a), Some(b)) => a.id == b.id && a.mode.kind() == b.mode.kind(),
            (a, b) => a.is_none() && b.is_none(),
        };
        if equal(ours, theirs) {
            return (MergeVerdict::Clean, PathMergeOutcome::Keep);
        }
        if equal(ours, base) {
            return (MergeVerdict::Clean, written(theirs));
        }
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            // Of ours deleted and theirs changed, theirs is put there, as git does.
            let result = if ours.is_some() {
                PathMergeOutcome::Keep
            } else {
                written(theirs)
            };
            return (MergeVerdict::ModifyDelete, result);
        };
        if !(ours.mode.is_blob() && theirs.mode.is_blob()) {
            let alike = ours.mode.kind() == theirs.mode.kind() || ours.mode.is_blob() == theirs.mode.is_blob();
            let verdict = if alike {
                MergeVerdict::Binary
            } else {
                MergeVerdict::Structure
            };
            return (verdict, PathMergeOutcome::Keep);
        }
        let base = base.filter(|base| base.mode.is_blob());
        let mode = match base {
            Some(base) if base.mode.kind() == ours.mode.kind() => theirs.mode,
            _ => ours.mode,
        };
        // Nothing shows which of two modes is the change.
        let is_contested = base.is_none() && ours.mode.kind() != theirs.mode.kind();
        let (verdict, id) = if ours.id == theirs.id && is_contested && self.options.overlap == Overlap::Conflict {
            (MergeVerdict::AddAdd, ours.id)
        } else if ours.id == theirs.id || base.is_some_and(|base| base.id == theirs.id) {
            (MergeVerdict::Clean, ours.id)
        } else if base.is_some_and(|base| base.id == ours.id) {
            (MergeVerdict::Clean, theirs.id)
        } else {
            let ids = [base.map(|base| base.id), Some(ours.id), Some(theirs.id)];
            match self.content_or_ours(names, ids) {
                Ok(content::MergeOutcome::Clean(id)) => (MergeVerdict::Clean, id),
                Ok(content::MergeOutcome::Binary) if self.options.overlap == Overlap::Ours => {
                    (MergeVerdict::Clean, ours.id)
                }
                Ok(content::MergeOutcome::Binary) => return (MergeVerdict::Binary, PathMergeOutcome::Keep),
                Ok(content::MergeOutcome::Marked(id)) if base.is_none() => (MergeVerdict::AddAdd, id),
                Ok(content::MergeOutcome::Marked(id)) => (MergeVerdict::Content, id),
                Err(error) => {
                    self.failure = Some(error.to_string());
                    return (MergeVerdict::Unknown, PathMergeOutcome::Keep);
                }
            }
        };
        if id == ours.id && mode.kind() == ours.mode.kind() {
            return (verdict, PathMergeOutcome::Keep);
        }
        (verdict, written(Some(TreeItem { mode, id })))
    }

    /// Merges contents; where both changed the same lines, ours may have them.
    fn overlapping(
        &mut self,
        names: [&BString; 3],
        ids: [Option<ObjectId>; 3],
    ) -> Result<content::MergeOutcome, Error> {
        let merged = self.content(names, ids)?;
        if !matches!(merged, content::MergeOutcome::Marked(_)) {
            return Ok(merged);
        }
        let Some(theirs) = overlap::reduced(self.repo, self.options.overlap, ids) else {
            return Ok(merged);
        };
        let theirs = self
            .repo
            .write_blob(theirs)
            .map_err(Error::gix("write a blob"))?
            .detach();
        self.content(names, [ids[0], ids[1], Some(theirs)])
    }

    fn content(&mut self, names: [&BString; 3], ids: [Option<ObjectId>; 3]) -> Result<content::MergeOutcome, Error> {
        let blobs = match &mut self.blobs {
            Some(blobs) => blobs,
            none => none.insert(content::MergeCache::new(self.repo)?),
        };
        blobs.merge(self.repo, names.map(|name| name.as_bstr()), ids, self.options)
    }

    /// Takes back what cannot be put there: two files at one path, or a file where a directory has to be.
    fn check_structure(&self, merged: &mut [PathMerge]) {
        let mut seen: BTreeMap<RepoPath, usize> = BTreeMap::new();
        for path in merged.iter() {
            *seen.entry(path.path.clone()).or_default() += 1;
        }
        for path in merged.iter_mut().filter(|path| seen[&path.path] > 1) {
            path.verdict = MergeVerdict::Structure;
            path.result = PathMergeOutcome::Keep;
            path.removes = None;
        }
        let mut deleted: BTreeSet<Vec<u8>> = BTreeSet::new();
        for path in merged.iter() {
            if path.result == PathMergeOutcome::Delete {
                deleted.insert(path.path.as_bytes().to_vec());
            }
            deleted.extend(path.removes.iter().map(|old| old.as_bytes().to_vec()));
        }
        // Files of base below a path that theirs made a file: those of them that ours keeps.
        let kept: BTreeSet<Vec<u8>> = merged
            .iter()
            .filter(|path| path.ours.is_some() && !deleted.contains(path.path.as_bytes()))
            .map(|path| path.path.as_bytes().to_vec())
            .chain(
                self.ours
                    .values()
                    .filter(|diff| diff.new.is_some())
                    .map(|diff| diff.path.to_vec()),
            )
            .filter(|path| !deleted.contains(path))
            .collect();
        for path in merged.iter_mut() {
            if !matches!(path.result, PathMergeOutcome::Write(_)) || path.ours.is_some() && path.removes.is_none() {
                continue;
            }
            let name = path.path.as_bytes();
            let below = [name, b"/"].concat();
            let has_children = kept
                .range(below.clone()..)
                .next()
                .is_some_and(|other| other.starts_with(&below));
            let has_parent = name
                .iter()
                .enumerate()
                .filter(|(_, byte)| **byte == b'/')
                .any(|(at, _)| kept.contains(&name[..at]));
            if has_children || has_parent {
                path.verdict = MergeVerdict::Structure;
                path.result = PathMergeOutcome::Keep;
                path.removes = None;
            }
        }
    }
}

/// An entry that a merge wrote, as a side of another one.
fn item(entry: &TreeEntryInfo) -> TreeItem {
    TreeItem {
        mode: tree::kind(entry.mode).into(),
        id: object_id(&entry.id),
    }
}

fn written(side: Option<TreeItem>) -> PathMergeOutcome {
    side.map_or(PathMergeOutcome::Delete, |side| {
        PathMergeOutcome::Write(TreeEntryInfo::from(side))
    })
}
