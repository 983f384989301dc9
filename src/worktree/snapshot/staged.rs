//! Blobs that only the index names: what is staged, and the stages of unmerged paths.
//!
//! No ref holds them, so they are stored with the snapshot. One that is damaged or gone can often be had from the file,
//! if that is what was staged; if not, there is no snapshot, for its index could not be brought back.

use gix::bstr::ByteSlice;

use super::Error;
use super::index::{EntryExt, Index};
use super::trees::path_of;
use super::unmerged::Unmerged;
use super::walk::{Candidate, Found, Ground, Why, parts};
use crate::model::path::RepoPath;
use crate::os::dir::Kind as FileKind;
use crate::store::objects::{Strict, Unsound, Writer};
use crate::store::{Kind, ObjectId, Repository};

/// What could not be stored as it lies in the repository.
pub(super) struct Staged {
    lost: Vec<Lost>,
}

struct Lost {
    /// The index entry.
    at: usize,
    id: ObjectId,
    why: Unsound,
}

impl Staged {
    /// Stores the blobs of these entries and of the unmerged stages.
    pub(super) fn store(
        repo: &Repository,
        writer: &Writer,
        index: &Index,
        mut entries: Vec<usize>,
        unmerged: &Unmerged,
    ) -> Result<Self, Error> {
        entries.extend(&unmerged.entries);
        entries.sort_unstable();
        entries.dedup();
        let mut lost = Vec::new();
        if entries.is_empty() {
            return Ok(Self { lost });
        }
        let mut strict = Strict::new(repo)?;
        for at in entries {
            let entry = index.entry(at);
            if entry.is_gitlink() {
                continue;
            }
            if let Err(why) = writer.copy(&mut strict, entry.id, Kind::Blob)? {
                lost.push(Lost { at, id: entry.id, why });
            }
        }
        Ok(Self { lost })
    }

    /// Has the files of lost blobs read, also where git calls them unchanged.
    pub(super) fn read_again(&mut self, ground: &Ground<'_>, found: &Found, candidates: &mut Vec<Candidate>) {
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
    pub(super) fn check(self, writer: &Writer, index: &Index, partial: bool) -> Result<(), Error> {
        for Lost { at, id, why } in self.lost {
            if writer.contains(&id) || partial && why == Unsound::Missing {
                continue;
            }
            return Err(Error::Staged {
                path: RepoPath::new(index.path(at).to_vec()),
                id,
                why: match why {
                    Unsound::Missing => "is missing".to_owned(),
                    Unsound::Corrupt(why) => format!("is corrupt: {why}"),
                },
            });
        }
        Ok(())
    }
}

fn changed(why: Why) -> Why {
    if why == Why::Clean { Why::Changed } else { why }
}

/// The file of an index entry as something to be read; `None` if there is none.
fn candidate(ground: &Ground<'_>, found: &Found, at: usize) -> Option<Candidate> {
    let path = ground.index.path(at);
    let slash = path.iter().rposition(|byte| *byte == b'/');
    let (folder, name) = slash.map_or((&b""[..], path.as_bytes()), |slash| {
        (&path[..slash], &path[slash + 1..])
    });
    let inside = found
        .folders
        .iter()
        .find(|inside| path_of(&found.folders, inside) == folder)?;
    let open = slash.map_or(&b""[..], |slash| &path[..=slash]);
    let meta = ground.open(open).and_then(|dir| dir.stat(name)).ok()?;
    matches!(meta.kind, FileKind::File | FileKind::Link).then(|| Candidate {
        folder: inside.id,
        path: path.to_vec().into(),
        entry: Some(at),
        meta,
        why: Why::Changed,
    })
}
