//! Blobs that only the index names: what is staged, and the stages of unmerged paths.
//!
//! No ref holds them, so they are stored with the snapshot. One that is damaged or gone can often be had from the file,
//! if that is what was staged; if not, there is no snapshot, for its index could not be brought back.

use gix::bstr::ByteSlice;

use super::Error;
use super::index::{EntryExt, GitIndex};
use super::trees::path_of;
use super::unmerged::UnmergedEntries;
use super::walk::{FileToRead, ReadReason, WalkContext, WalkResult, parts};
use crate::model::path::RepoPath;
use crate::os::dir::FileKind;
use crate::store::objects::{ObjectProblem, StrictReader, Writer};
use crate::store::{Kind, ObjectId, Repository};

/// Staged blobs that could not be stored as they are.
pub(super) struct StagedIssues {
    lost: Vec<MissingBlob>,
}

struct MissingBlob {
    /// The index entry.
    at: usize,
    id: ObjectId,
    why: ObjectProblem,
}

impl StagedIssues {
    /// Stores the blobs of these entries and of the unmerged stages.
    pub(super) fn store(
        repo: &Repository,
        writer: &Writer,
        index: &GitIndex,
        mut entries: Vec<usize>,
        unmerged: &UnmergedEntries,
    ) -> Result<Self, Error> {
        entries.extend(&unmerged.entries);
        entries.sort_unstable();
        entries.dedup();
        let mut lost = Vec::new();
        if entries.is_empty() {
            return Ok(Self { lost });
        }
        let mut strict = StrictReader::new(repo)?;
        for at in entries {
            let entry = index.entry(at);
            if entry.is_gitlink() {
                continue;
            }
            if let Some(why) = writer.copy(&mut strict, entry.id, Kind::Blob)? {
                lost.push(MissingBlob { at, id: entry.id, why });
            }
        }
        Ok(Self { lost })
    }

    /// Has the files of lost blobs read, also where git calls them unchanged.
    pub(super) fn read_again(
        &mut self,
        ground: &WalkContext<'_>,
        found: &WalkResult,
        candidates: &mut Vec<FileToRead>,
    ) {
        for lost in &self.lost {
            let path = ground.index.path(lost.at);
            let at = candidates.binary_search_by(|candidate| candidate.parts().cmp(&parts(path)));
            match at {
                Ok(at) => candidates[at].why = changed(candidates[at].why),
                Err(at) => candidates
                    .splice(at..at, candidate(ground, found, lost.at))
                    .for_each(drop),
            }
        }
    }

    /// Whether all is stored by now. In a partial clone what is missing is on the remote.
    pub(super) fn check(self, writer: &Writer, index: &GitIndex, partial: bool) -> Result<(), Error> {
        for MissingBlob { at, id, why } in self.lost {
            if writer.contains(&id) || partial && why == ObjectProblem::Missing {
                continue;
            }
            return Err(Error::Staged {
                path: RepoPath::new(index.path(at).to_vec()),
                id,
                why: match why {
                    ObjectProblem::Missing => "is missing".to_owned(),
                    ObjectProblem::Corrupt(why) => format!("is corrupt: {why}"),
                },
            });
        }
        Ok(())
    }
}

fn changed(why: ReadReason) -> ReadReason {
    if why == ReadReason::Clean {
        ReadReason::Changed
    } else {
        why
    }
}

/// The file of an index entry as something to be read; `None` if there is none.
fn candidate(ground: &WalkContext<'_>, found: &WalkResult, at: usize) -> Option<FileToRead> {
    let path = ground.index.path(at);
    let slash = path.iter().rposition(|byte| *byte == b'/');
    let (directory, name) = slash.map_or((&b""[..], path.as_bytes()), |slash| {
        (&path[..slash], &path[slash + 1..])
    });
    let inside = found
        .directories
        .iter()
        .find(|inside| path_of(&found.directories, inside) == directory)?;
    let open = slash.map_or(&b""[..], |slash| &path[..=slash]);
    let meta = ground.open(open).and_then(|dir| dir.stat(name)).ok()?;
    matches!(meta.kind, FileKind::File | FileKind::Link).then(|| FileToRead {
        directory: inside.id,
        path: path.to_vec().into(),
        entry: Some(at),
        meta,
        why: ReadReason::Changed,
    })
}
