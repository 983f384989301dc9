//! What the index holds that its tree cannot: stages of unmerged paths, and names announced by `git add -N`.

use gix::index::entry::{Mode, Stage};

use super::Error;
use super::index::{EntryExt, Index};
use crate::model::list::Conflict;
use crate::model::path::RepoPath;
use crate::store::objects::Writer;
use crate::store::{Kind, ObjectId};

/// The lists, and the blobs they name.
#[derive(Default)]
pub(super) struct Unmerged {
    pub conflicts: Vec<Conflict>,
    /// By the numbers in `conflicts`.
    pub blobs: Vec<ObjectId>,
    pub intent_to_add: Vec<RepoPath>,
    /// The unmerged paths, each once.
    pub paths: Vec<Vec<u8>>,
}

/// Lists them in the order of the index, which is that of the paths. A gitlink is kept as a blob that names its commit.
pub(super) fn list(index: &Index, writer: &Writer) -> Result<Unmerged, Error> {
    let mut found = Unmerged::default();
    for at in index.all() {
        let entry = index.entry(at);
        if entry.is_intent_to_add() {
            found.intent_to_add.push(RepoPath::new(index.path(at).to_vec()));
        }
        let stage = match entry.stage() {
            Stage::Unconflicted => continue,
            Stage::Base => 1,
            Stage::Ours => 2,
            Stage::Theirs => 3,
        };
        let path = index.path(at).to_vec();
        let blob = match entry.mode {
            Mode::COMMIT => writer.write(Kind::Blob, format!("{}\n", entry.id).as_bytes())?,
            _ => entry.id,
        };
        let n = u32::try_from(found.blobs.len()).expect("an index has fewer than 2^32 entries");
        found.blobs.push(blob);
        if found.paths.last() != Some(&path) {
            found.paths.push(path.clone());
        }
        found.conflicts.push(Conflict {
            path: RepoPath::new(path),
            n,
            stage,
            mode: entry.mode.bits(),
        });
    }
    Ok(found)
}
