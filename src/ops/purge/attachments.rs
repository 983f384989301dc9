//! Attachments with the content of files that go. An attachment has the bytes on disk, a file those that git stores, so
//! line ends may differ; and it has a name without a directory, so one with only a similar name is reported and kept.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    model::path::RepoPath,
    ops::{Error, Scene},
    store::{Kind, ObjectId, checkpoint, objects::Writer},
};

/// Secrets found in attachments.
pub(super) struct AttachedSecrets {
    /// Contents of attachments that go.
    pub(super) same: BTreeSet<ObjectId>,
    /// Names of attachments that are called as a file that goes, and have another content.
    pub(super) alike: BTreeSet<String>,
}

/// Compares the attachments that were seen with the files that go and all their contents.
pub(super) fn find(
    scene: &Scene<'_>,
    attached: &BTreeMap<ObjectId, BTreeSet<String>>,
    files: &BTreeMap<RepoPath, BTreeSet<ObjectId>>,
    contents: &BTreeSet<ObjectId>,
) -> Result<AttachedSecrets, Error> {
    let mut found = AttachedSecrets {
        same: BTreeSet::new(),
        alike: BTreeSet::new(),
    };
    let names: BTreeSet<_> = files.keys().map(name_of).collect();
    // Only to learn what ids the bytes would have.
    let memory = Writer::memory(scene.repo);
    for (id, called) in attached {
        if contents.contains(id) {
            found.same.insert(*id);
            continue;
        }
        let alike: Vec<_> = called.iter().filter(|name| names.contains(*name)).collect();
        if alike.is_empty() {
            continue;
        }
        let bytes = checkpoint::read_private(scene.repo, *id, "attachment").map_err(Error::damaged(alike[0]))?;
        let stored = memory.write(Kind::Blob, &without_returns(&bytes))?;
        if contents.contains(&stored) {
            found.same.insert(*id);
        } else {
            found.alike.extend(alike.into_iter().cloned());
        }
    }
    Ok(found)
}

/// The name by which a file is attached.
fn name_of(path: &RepoPath) -> String {
    let name = path.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

/// The bytes with LF where CR and LF are.
fn without_returns(bytes: &[u8]) -> Vec<u8> {
    let is_dropped = |at: usize| bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n');
    (0..bytes.len())
        .filter(|at| !is_dropped(*at))
        .map(|at| bytes[at])
        .collect()
}
