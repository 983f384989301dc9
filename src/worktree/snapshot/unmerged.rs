//! Index content that its tree cannot represent: stages of unmerged paths, names added by `git add -N`, and files that
//! no server would accept.

use std::collections::HashSet;

use gix::bstr::ByteSlice;
use gix::index::entry::{Mode, Stage};

use super::cache::{self, Cache};
use super::index::{EntryExt, GitIndex};
use super::{Error, content, fsck, names};
use crate::model::list::IndexConflict;
use crate::model::path::RepoPath;
use crate::store::objects::Writer;
use crate::store::{Kind, ObjectId, Repository};

/// The lists, and the blobs they name.
#[derive(Default)]
pub(super) struct UnmergedEntries {
    pub conflicts: Vec<IndexConflict>,
    /// By the numbers in `conflicts`.
    pub blobs: Vec<ObjectId>,
    /// The entries these blobs are of.
    pub entries: Vec<usize>,
    pub intent_to_add: Vec<RepoPath>,
    /// The unmerged paths, each once.
    pub paths: Vec<Vec<u8>>,
    /// The entries, in their order, that must not be in a tree.
    pub left_out: Vec<usize>,
    /// Cache records of files that git reads itself.
    pub accepted: HashSet<u64>,
}

/// Lists them in the order of the index, which is that of the paths. A gitlink is kept as a blob that names its commit.
pub(super) fn list(
    repo: &Repository,
    index: &GitIndex,
    cache: &Cache,
    head: Option<ObjectId>,
    writer: &Writer,
) -> Result<UnmergedEntries, Error> {
    let mut found = UnmergedEntries::default();
    for at in index.all() {
        let entry = index.entry(at);
        let path = index.path(at);
        if entry.is_intent_to_add() {
            found.intent_to_add.push(RepoPath::new(path.to_vec()));
        }
        let name = path
            .rfind_byte(b'/')
            .map_or(path.as_bytes(), |slash| &path[slash + 1..]);
        let refused = match names::meaning(name) {
            Some(meaning) if matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE) => {
                let known = cache::digest((format!("{meaning:?}"), entry.id));
                let accepted = cache.knows(known) || is_accepted(repo, head, path, meaning, entry.id);
                if accepted {
                    found.accepted.insert(known);
                } else {
                    found.left_out.push(at);
                }
                !accepted
            }
            _ => false,
        };
        let stage = match entry.stage() {
            Stage::Unconflicted if refused => 0,
            Stage::Unconflicted => continue,
            Stage::Base => 1,
            Stage::Ours => 2,
            Stage::Theirs => 3,
        };
        let blob = match entry.mode {
            Mode::COMMIT => writer.write(Kind::Blob, format!("{}\n", entry.id).as_bytes())?,
            _ => entry.id,
        };
        let n = u32::try_from(found.blobs.len()).expect("an index has fewer than 2^32 entries");
        found.blobs.push(blob);
        found.entries.push(at);
        if stage != 0 && found.paths.last().is_none_or(|last| last != path) {
            found.paths.push(path.to_vec());
        }
        found.conflicts.push(IndexConflict {
            path: RepoPath::new(path.to_vec()),
            n,
            stage,
            mode: entry.mode.bits(),
        });
    }
    Ok(found)
}

/// Whether a server would take a blob of the index under its path. One that is not here or that HEAD has is not for us
/// to judge.
fn is_accepted(repo: &Repository, head: Option<ObjectId>, path: &[u8], meaning: names::Meaning, id: ObjectId) -> bool {
    let blob = repo.try_find_object(id).ok().flatten();
    blob.is_none_or(|blob| fsck::accepts(meaning, &blob.data)) || content::in_tree(repo, head, path) == Some(id)
}
