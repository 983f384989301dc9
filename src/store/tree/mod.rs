//! Tree against tree: the one place where changes of files are found.
//!
//! Equal subtrees are never entered, so the cost is that of the difference, not of the project. Renames with the same
//! content are paired by id, in git's order of preference; renames by similarity are left to a git child, because gix
//! takes thirty times as long for them. Nothing here writes, and only trees are read: partial clones have those.

mod large;
mod reader;
mod renames;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::diff::tree::recorder;
use gix::diff::tree::visit::Change;
use gix::objs::tree::{EntryKind, EntryMode};

pub use reader::TreeReader;
pub(crate) use renames::pair_exact;

use super::checkpoint::oid;
use super::{Error, Kind, ObjectId, Repository, checkpoint, refs};
use crate::model::change::{ChangeKind, TreeChange, TreeEntryInfo};
use crate::model::path::RepoPath;
use crate::model::tree_mode;

/// Which renames to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renames {
    /// None: a renamed file is a deleted and an added one.
    Off,
    /// Those with unchanged content.
    Exact,
    /// Also those whose files are alike to this many per cent at least, as `git diff -M` finds them. Asks git, for
    /// which objects held in memory are written out.
    Similar(u8),
}

/// The differences between two trees, by path; of a rename, by its new path. `None` is the empty tree. The ids may be
/// those of trees, commits or tags.
pub fn diff(
    repo: &Repository,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    renames: Renames,
) -> Result<Vec<TreeChange>, Error> {
    TreeReader::single(repo).diff(old, new, renames)
}

/// Entry at a path of a tree; `None` when there is none. Directories do not count.
pub fn entry(repo: &Repository, tree: ObjectId, path: &RepoPath) -> Result<Option<TreeEntryInfo>, Error> {
    Ok(side_at(repo, Some(tree), path.as_bytes().as_bstr())?.map(TreeEntryInfo::from))
}

/// Whether nothing of a tree is in the way of an entry at this path.
pub fn is_free(repo: &Repository, tree: ObjectId, path: &RepoPath) -> Result<bool, Error> {
    let bytes = path.as_bytes();
    let slashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    for end in slashes.map(|(at, _)| at).chain([bytes.len()]) {
        if entry(repo, tree, &RepoPath::from(&bytes[..end]))?.is_some() {
            return Ok(false);
        }
    }
    Ok(!has_directory(repo, tree, path)?)
}

/// Whether a tree has a directory at this path.
pub fn has_directory(repo: &Repository, tree: ObjectId, path: &RepoPath) -> Result<bool, Error> {
    let mut next = tree;
    for name in path.as_bytes().split(|byte| *byte == b'/') {
        let below = large::entry_of(repo, next, name)?.filter(|item| item.mode.is_tree());
        let Some(below) = below else { return Ok(false) };
        next = below.id;
    }
    Ok(true)
}

/// The most directories that a path may lead through: no system can address more. Objects may describe any number in a
/// few bytes each, on which memory and the stack would be spent.
pub const MAX_DEPTH: usize = 2048;

/// Whether a path leads through more directories than any system can address.
pub(crate) fn is_too_deep(path: &[u8]) -> bool {
    path.len() > MAX_DEPTH && path.find_iter(b"/").count() > MAX_DEPTH
}

/// The error for a tree with directories that are nested too deep.
pub(crate) fn too_deep(id: ObjectId) -> Error {
    Error::Object {
        id,
        why: format!("its directories are nested deeper than {MAX_DEPTH} levels"),
    }
}

/// A file, link or gitlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeItem {
    pub(crate) mode: EntryMode,
    pub(crate) id: ObjectId,
}

/// A difference in git's own terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeDiff {
    pub(crate) path: BString,
    pub(crate) from: Option<BString>,
    pub(crate) old: Option<TreeItem>,
    pub(crate) new: Option<TreeItem>,
}

impl From<TreeItem> for TreeEntryInfo {
    fn from(side: TreeItem) -> Self {
        Self {
            mode: mode(side),
            id: oid(side.id),
        }
    }
}

/// The mode as git shows it: old repositories hold `100664` and the like, which git takes for `100644`.
pub(crate) fn mode(side: TreeItem) -> u32 {
    match side.mode.kind() {
        EntryKind::Tree => tree_mode::DIRECTORY,
        EntryKind::Blob => tree_mode::FILE,
        EntryKind::BlobExecutable => tree_mode::EXECUTABLE,
        EntryKind::Link => tree_mode::SYMLINK,
        EntryKind::Commit => tree_mode::GITLINK,
    }
}

/// The kind of entry that has a mode.
pub(crate) fn kind(mode: u32) -> EntryKind {
    match mode {
        tree_mode::DIRECTORY => EntryKind::Tree,
        tree_mode::EXECUTABLE => EntryKind::BlobExecutable,
        tree_mode::SYMLINK => EntryKind::Link,
        tree_mode::GITLINK => EntryKind::Commit,
        _ => EntryKind::Blob,
    }
}

impl From<TreeDiff> for TreeChange {
    fn from(diff: TreeDiff) -> Self {
        let kind = match (&diff.old, &diff.new) {
            _ if diff.from.is_some() => ChangeKind::Renamed,
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Deleted,
            (Some(old), Some(new)) if same_type(old.mode, new.mode) => ChangeKind::Modified,
            _ => ChangeKind::TypeChanged,
        };
        Self {
            kind,
            path: RepoPath::new(diff.path),
            similarity: diff.from.is_some().then_some(100),
            from: diff.from.map(RepoPath::new),
            old: diff.old.map(TreeEntryInfo::from),
            new: diff.new.map(TreeEntryInfo::from),
        }
    }
}

/// Whether two modes are of one type of entry. An executable file is a file.
pub(crate) fn same_type(a: EntryMode, b: EntryMode) -> bool {
    (a.is_blob() && b.is_blob()) || a.kind() == b.kind()
}

/// All differences without pairing renames, by path.
pub(crate) fn raw(repo: &Repository, old: Option<ObjectId>, new: Option<ObjectId>) -> Result<Vec<TreeDiff>, Error> {
    TreeReader::single(repo).raw(old, new)
}

/// All differences, or `None` when there are more than `limit`: then the comparison is given up on the way.
pub(crate) fn raw_up_to(
    repo: &Repository,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    limit: usize,
) -> Result<Option<Vec<TreeDiff>>, Error> {
    TreeReader::single(repo).raw_up_to(old, new, limit)
}

/// A recorder that stops at a number of files.
struct BoundedRecorder {
    recorder: gix::diff::tree::Recorder,
    left: usize,
    /// Whether it stopped because of the depth.
    is_too_deep: bool,
}

impl gix::diff::tree::Visit for BoundedRecorder {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.recorder.pop_front_tracked_path_and_set_current();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.recorder.push_back_tracked_path_component(component);
    }

    fn push_path_component(&mut self, component: &BStr) {
        self.recorder.push_path_component(component);
    }

    fn pop_path_component(&mut self) {
        self.recorder.pop_path_component();
    }

    fn visit(&mut self, change: Change) -> std::ops::ControlFlow<()> {
        if is_too_deep(self.recorder.path()) {
            self.is_too_deep = true;
            return std::ops::ControlFlow::Break(());
        }
        if change.entry_mode().is_tree() {
            // Of a directory that became a file, or the other way round, the two sides come one by one.
            return std::ops::ControlFlow::Continue(());
        }
        match self.left.checked_sub(1) {
            None => std::ops::ControlFlow::Break(()),
            Some(left) => {
                self.left = left;
                self.recorder.visit(change)
            }
        }
    }
}

fn from_record(record: recorder::Change) -> Option<TreeDiff> {
    let side = |mode: EntryMode, id| (!mode.is_tree()).then_some(TreeItem { mode, id });
    let (path, old, new) = match record {
        recorder::Change::Addition {
            entry_mode, oid, path, ..
        } => (path, None, side(entry_mode, oid)),
        recorder::Change::Deletion {
            entry_mode, oid, path, ..
        } => (path, side(entry_mode, oid), None),
        recorder::Change::Modification {
            previous_entry_mode,
            previous_oid,
            entry_mode,
            oid,
            path,
        } => (path, side(previous_entry_mode, previous_oid), side(entry_mode, oid)),
    };
    let unchanged = match (&old, &new) {
        (None, None) => true,
        (Some(old), Some(new)) => old.id == new.id && old.mode.kind() == new.mode.kind(),
        _ => false,
    };
    (!unchanged).then_some(TreeDiff {
        path,
        from: None,
        old,
        new,
    })
}

/// Makes one change of the deletion and the addition that represent a path whose kind changed. A path has two records
/// only then.
fn join_replaced(found: &mut Vec<TreeDiff>) {
    found.dedup_by(|later, earlier| {
        let same = later.path == earlier.path;
        if same {
            earlier.old = earlier.old.or(later.old);
            earlier.new = earlier.new.or(later.new);
        }
        same
    });
}

/// The tree of a tree, commit or tag; `None` is the empty tree, which need not exist as an object.
pub(crate) fn tree_id(repo: &Repository, id: Option<ObjectId>) -> Result<Option<ObjectId>, Error> {
    let Some(id) = id.filter(|id| *id != ObjectId::empty_tree(repo.object_hash())) else {
        return Ok(None);
    };
    let tree = peel(repo, id, Kind::Tree)?;
    Ok((tree != ObjectId::empty_tree(repo.object_hash())).then_some(tree))
}

/// The tree of a commit; `None` has the empty tree.
pub fn tree_of(repo: &Repository, commit: Option<ObjectId>) -> Result<ObjectId, Error> {
    Ok(tree_id(repo, commit)?.unwrap_or_else(|| ObjectId::empty_tree(repo.object_hash())))
}

/// The tree of the commit that HEAD points to, for what compares with it; `None` on an unborn branch.
pub fn of_head(repo: &Repository) -> Result<Option<ObjectId>, Error> {
    match refs::head(repo)?.id {
        None => Ok(None),
        Some(id) => match checkpoint::head_parts(repo, id) {
            Ok((tree, _)) => Ok(Some(tree)),
            Err(fault) => Err(Error::Head(Box::new(fault))),
        },
    }
}

/// The commit or tree that an object leads to: a commit to its tree, a tag to what it names. (That of gix panics when
/// the object is no commit but for its name.)
pub(crate) fn peel(repo: &Repository, id: ObjectId, wanted: Kind) -> Result<ObjectId, Error> {
    let mut at = id;
    // Tags of tags are as rare as they are short; a ring of them cannot be made.
    loop {
        let object = find(repo, at)?;
        let key = match object.kind {
            kind if kind == wanted => return Ok(at),
            Kind::Commit => "tree ",
            Kind::Tag => "object ",
            kind => {
                let why = format!("it is a {kind}, not a {wanted}");
                return Err(Error::Object { id: at, why });
            }
        };
        let line = object.data.lines().next().unwrap_or_default();
        let next = line
            .strip_prefix(key.as_bytes())
            .and_then(|hex| ObjectId::from_hex(hex).ok());
        at = next.ok_or_else(|| Error::Object {
            id: at,
            why: format!("it is no {}", object.kind),
        })?;
    }
}

/// An object that must be there.
pub(crate) fn find(repo: &Repository, id: ObjectId) -> Result<gix::Object<'_>, Error> {
    match repo.try_find_object(id) {
        Ok(Some(object)) => Ok(object),
        Ok(None) => Err(Error::Object {
            id,
            why: "it is not in this repository".to_owned(),
        }),
        Err(error) => Err(Error::Object {
            id,
            why: error.to_string(),
        }),
    }
}

/// Entry at a path; directories do not count.
pub(crate) fn side_at(repo: &Repository, tree: Option<ObjectId>, path: &BStr) -> Result<Option<TreeItem>, Error> {
    let Some(mut id) = tree_id(repo, tree)? else {
        return Ok(None);
    };
    let mut components = path.split_str(b"/").peekable();
    while let Some(name) = components.next() {
        match large::entry_of(repo, id, name)? {
            Some(item) if item.mode.is_tree() && components.peek().is_some() => id = item.id,
            Some(item) if !item.mode.is_tree() && components.peek().is_none() => return Ok(Some(item)),
            _ => return Ok(None),
        }
    }
    Ok(None)
}
