//! Journal note of an operation: enough to finish it and to take it back, record and all.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{Error, Scene, record};
use crate::{
    model::{id::Oid, path::RepoPath},
    worktree::restore::journal::{self, Journal},
};

/// Part of a job that the journal keeps.
#[derive(Serialize, Deserialize)]
pub(in crate::ops) struct PlanJournal {
    pub(in crate::ops) operation: String,
    /// The number and commit of the first safety checkpoint.
    pub(in crate::ops) n: u64,
    pub(in crate::ops) safety: Oid,
    /// The files of that checkpoint without what is in it byte for byte for the way back alone.
    #[serde(default)]
    pub(in crate::ops) plain: Option<Plain>,
    /// Whether the index changes as well.
    #[serde(default = "yes")]
    pub(in crate::ops) index: bool,
    /// The change of the record, noted before it is made.
    #[serde(default)]
    pub(in crate::ops) record: Option<record::RecordReset>,
    /// By the operation.
    pub(in crate::ops) note: Value,
}

/// The present as a save would have it.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::ops) struct Plain {
    /// The tree of the files.
    pub(in crate::ops) tree: Oid,
    /// The paths that the safety checkpoint has byte for byte, and this tree as a save has them.
    pub(in crate::ops) kept: Vec<RepoPath>,
}

/// Journals of versions before this one do not say.
fn yes() -> bool {
    true
}

/// Parses the note of our journal.
pub(in crate::ops) fn noted(journal: &Journal) -> Result<PlanJournal, Error> {
    serde_json::from_value(journal.what.clone()).map_err(|error| Error::Journal { why: error.to_string() })
}

/// Notes a change of the record that is about to be made, if an operation is under way. Returns whether one is.
pub(in crate::ops) fn note_record(scene: &Scene<'_>, change: &record::RecordReset) -> Result<bool, Error> {
    let Some(mut journal) = journal::read(scene.repo)? else {
        return Ok(false);
    };
    let mut noted = noted(&journal)?;
    noted.record = Some(change.clone());
    journal.what = serde_json::to_value(noted).unwrap_or_default();
    journal::write(scene.repo, &journal)?;
    Ok(true)
}
