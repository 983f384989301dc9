//! A chain written again: commits with other parents, the documents the same bytes.
//!
//! What `prune` and `purge` share. A checkpoint that is kept gets a new commit, as a commit names its parents; author,
//! dates, message and document stay, and so does the digest. `pruned.jsonl` next to the document records what went and under
//! which ids a checkpoint was known, so that old ids still select and a gap in the chain of digests is no damage. No
//! ref is touched here.

use std::collections::BTreeSet;

use gix::objs::{CommitRef, WriteTo as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Error, Kind, ObjectId, Repository,
    checkpoint::{self, CheckpointCommit, Fault, PRUNED, Siblings},
    objects::Writer,
};
use crate::model::{
    id::{Digest, Oid},
    json,
};

/// A line of `pruned.jsonl`: what a checkpoint was, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewriteLine {
    /// The digest its document had.
    pub digest: Digest,
    /// The commit it was.
    pub commit: Oid,
    /// The digest of the document that represents it now: the same after a prune, another one after a purge, none when
    /// it was dropped.
    pub now: Option<Digest>,
    /// Whether a purge dropped it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub purged: bool,
}

impl RewriteLine {
    /// Entry about a checkpoint: `now` is the digest of the document that replaces it, if any.
    pub fn of(entry: &CheckpointCommit, digest: Digest, now: Option<Digest>) -> Self {
        Self {
            digest,
            commit: checkpoint::oid(entry.id),
            now,
            purged: false,
        }
    }

    /// Entry about a checkpoint with this digest that a purge drops.
    pub fn purged(entry: &CheckpointCommit, digest: Digest) -> Self {
        Self {
            purged: true,
            ..Self::of(entry, digest, None)
        }
    }
}

/// The lines of a checkpoint's `pruned.jsonl`; none if it has no such file. A line that cannot be read is left out: it
/// explains, and nothing rests on it.
pub fn lines(repo: &Repository, entry: &CheckpointCommit) -> Result<Vec<RewriteLine>, Fault> {
    let (siblings, _) = checkpoint::siblings(repo, entry)?;
    lines_of(repo, &siblings)
}

/// The digests of checkpoints that a purge dropped, of the lines of a checkpoint's `pruned.jsonl`.
pub fn purged(lines: &[RewriteLine]) -> Vec<Digest> {
    let purged = lines.iter().filter(|line| line.purged);
    purged.map(|line| line.digest.clone()).collect()
}

/// The digests that a checkpoint has and had, as far as they are known: they are what copies of it have in common that were
/// written again in different places, such as here and at a remote.
pub fn digests(repo: &Repository, entry: &CheckpointCommit) -> Result<BTreeSet<Digest>, Fault> {
    let Some(digest) = entry.trailers.digest.clone() else {
        return Ok(BTreeSet::new());
    };
    Ok(digests_by(digest, &lines(repo, entry)?))
}

/// The same of a checkpoint with this digest and these lines.
pub fn digests_by(digest: Digest, lines: &[RewriteLine]) -> BTreeSet<Digest> {
    let mut found = BTreeSet::from([digest]);
    loop {
        let known = found.len();
        let replaced = lines
            .iter()
            .filter(|line| line.now.as_ref().is_some_and(|now| found.contains(now)));
        let replaced: Vec<Digest> = replaced.map(|line| line.digest.clone()).collect();
        found.extend(replaced);
        if found.len() == known {
            return found;
        }
    }
}

fn lines_of(repo: &Repository, siblings: &Siblings) -> Result<Vec<RewriteLine>, Fault> {
    let Some(id) = siblings.get(PRUNED) else {
        return Ok(Vec::new());
    };
    let bytes = checkpoint::read(repo, id, Kind::Blob, "pruned.jsonl")?;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Ok(lines
        .filter_map(|line| json::from_value(serde_json::from_slice::<Value>(line).ok()?).ok())
        .collect())
}

/// Puts lines into the `pruned.jsonl` among the siblings, after those that are there and not twice.
pub fn note(
    repo: &Repository,
    writer: &Writer,
    siblings: &mut Siblings,
    new: &[RewriteLine],
) -> Result<(), RewriteError> {
    let mut all = lines_of(repo, siblings)?;
    for line in new {
        if !all.contains(line) {
            all.push(line.clone());
        }
    }
    let bytes: Vec<u8> = all.iter().flat_map(json::to_line).collect();
    siblings.blob(PRUNED, writer.write(Kind::Blob, &bytes)?);
    Ok(())
}

/// Why a chain could not be written again.
#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    /// A checkpoint of it cannot be read.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The new objects could not be written.
    #[error(transparent)]
    Store(#[from] Error),
}

/// Writes a commit again with another tree, other parents and, if given, another message. Author, committer, dates and
/// everything else of the commit stay as they are.
pub fn commit(
    repo: &Repository,
    writer: &Writer,
    old: ObjectId,
    tree: ObjectId,
    parents: Vec<ObjectId>,
    message: Option<&str>,
) -> Result<ObjectId, RewriteError> {
    let data = checkpoint::read(repo, old, Kind::Commit, "commit")?;
    let corrupt = |why: String| Fault::Corrupt {
        what: "commit".to_owned(),
        id: old,
        why,
    };
    let commit = CommitRef::from_bytes(&data, repo.object_hash()).map_err(|e| corrupt(e.to_string()))?;
    let mut commit = commit.into_owned().map_err(|e| corrupt(e.to_string()))?;
    commit.tree = tree;
    commit.parents = parents.into();
    if let Some(message) = message {
        commit.message = message.into();
    }
    // A signature is over the old bytes and would be wrong now.
    commit.extra_headers.retain(|(name, _)| !name.starts_with(b"gpgsig"));
    let mut out = Vec::new();
    commit
        .write_to(&mut out)
        .map_err(|e| corrupt(format!("it cannot be written again: {e}")))?;
    Ok(writer.write(Kind::Commit, &out)?)
}

/// Writes a checkpoint again after another parent, its document unchanged; `merged` is the last parent of a merge. `gone`
/// are the checkpoints that were between it and its parents, oldest first; their own `pruned.jsonl` is taken over. With the
/// same parents nothing is written. Returns the new commit; the old one if nothing had to change.
pub fn after(
    repo: &Repository,
    writer: &Writer,
    entry: &CheckpointCommit,
    (parent, merged): (Option<ObjectId>, Option<ObjectId>),
    gone: &[CheckpointCommit],
) -> Result<ObjectId, RewriteError> {
    if parent == entry.parents.first().copied() && merged == entry.merged_commit() {
        return Ok(entry.id);
    }
    let mut new = Vec::new();
    for dropped in gone {
        new.extend(lines(repo, dropped)?);
        new.extend(
            dropped
                .trailers
                .digest
                .clone()
                .map(|digest| RewriteLine::of(dropped, digest, None)),
        );
    }
    let parents = parent
        .into_iter()
        .chain(entry.snapshot_commit())
        .chain(merged)
        .collect();
    with_lines(repo, writer, entry, new, parents)
}

/// Writes a checkpoint again with more lines in its `pruned.jsonl` and one about itself, its document unchanged.
pub fn with_lines(
    repo: &Repository,
    writer: &Writer,
    entry: &CheckpointCommit,
    mut new: Vec<RewriteLine>,
    parents: Vec<ObjectId>,
) -> Result<ObjectId, RewriteError> {
    let digest = entry.trailers.digest.clone();
    new.extend(digest.map(|digest| RewriteLine::of(entry, digest.clone(), Some(digest))));
    let (mut siblings, document) = checkpoint::siblings(repo, entry)?;
    note(repo, writer, &mut siblings, &new)?;
    let tree = checkpoint::write_root(writer, &siblings, document)?;
    commit(repo, writer, entry.id, tree, parents, None)
}
