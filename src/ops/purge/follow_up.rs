//! Follow-up work once the refs name new chains: everything that names the old ones is updated.
//!
//! Noted down in `<common>/checkpoint/purge.json` before the refs move, so that the next purge finishes what a kill
//! interrupted. Each part may be done twice.

use std::collections::BTreeMap;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::{ChangedRef, MESSAGE};
use crate::{
    model::id::{Digest, Oid},
    ops::{Error, Scene, compose},
    os,
    store::{
        self,
        checkpoint::{object_id, oid},
        current, draft, pins, purged, refs, restored,
        undo::{self, CheckpointFate},
    },
};

/// The note's name.
const NOTE: &str = "purge.json";

/// Mapping of old to new checkpoints, for the follow-up work.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PurgeFollowUp {
    /// Commits that are others now; null for those that are gone.
    pub(super) commits: BTreeMap<Oid, Option<Oid>>,
    /// Digests of documents, alike.
    pub(super) digests: BTreeMap<Digest, Option<Digest>>,
    /// The session that is gone altogether.
    pub(super) session: Option<String>,
    /// Refs that move: name, what it is before and afterwards.
    pub(super) moved: Vec<(String, Oid, Option<Oid>)>,
    /// Refs whose reflogs are to be emptied.
    pub(super) logs: Vec<String>,
}

impl PurgeFollowUp {
    /// The refs that move.
    pub(super) fn moves(moved: &[ChangedRef]) -> Vec<(String, Oid, Option<Oid>)> {
        let parts = |one: &ChangedRef| (one.name.clone(), one.old.clone(), one.new.clone());
        moved.iter().map(parts).collect()
    }

    /// Writes the note, durably.
    pub(super) fn note(&self, scene: &Scene<'_>) -> Result<(), Error> {
        let directory = store::private_dir(scene.repo)?;
        let path = directory.join(NOTE);
        let bytes = crate::model::json::to_line(self);
        let put = os::replace(&path, &bytes, store::sharing(scene.repo), true);
        Ok(put.map_err(store::Error::io("write", path))?)
    }

    /// Reads the note of a purge that did not come to its end.
    pub(super) fn read(scene: &Scene<'_>) -> Result<Option<Self>, Error> {
        let path = store::private_path(scene.repo).join(NOTE);
        let bytes = match os::read_regular(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(store::Error::io("read", path)(error).into()),
        };
        let note = serde_json::from_slice(&bytes);
        Ok(Some(
            note.map_err(store::Error::malformed(store::OwnFile::PurgeNote, path))?,
        ))
    }

    /// Removes the note.
    pub(super) fn forget(scene: &Scene<'_>) -> Result<(), Error> {
        let path = store::private_path(scene.repo).join(NOTE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(store::Error::io("remove", path)(error).into())
            }
            _ => Ok(()),
        }
    }

    /// Whether the refs have moved. They do so all at once.
    pub(super) fn is_due(&self, scene: &Scene<'_>) -> Result<bool, Error> {
        let Some((name, _, new)) = self.moved.first() else {
            return Ok(true);
        };
        Ok(refs::read(scene.repo, name)?.map(oid) == *new)
    }

    /// Updates the undo lists, and gives how many entries are gone from them; a dry run only counts those.
    pub(super) fn update_undo_lists(&self, scene: &Scene<'_>, dry_run: bool) -> Result<usize, Error> {
        let became = |id: &Oid| match self.commits.get(id) {
            None => CheckpointFate::Same,
            Some(None) => CheckpointFate::Gone,
            Some(Some(now)) => CheckpointFate::Now(now.clone()),
        };
        let digest = |old: &Digest| self.digest(old);
        let purged = undo::UndoPurge {
            became: &became,
            digest: &digest,
            session: self.session.as_deref(),
            is_missing: &|_| false,
        };
        let mut forgotten = 0;
        for directory in store::private_paths(scene.repo) {
            forgotten += undo::purge_entries(scene.repo, &directory, &purged, dry_run)?.len();
        }
        Ok(forgotten)
    }

    /// What the digest of a checkpoint becomes; `None` if it is gone.
    fn digest(&self, old: &Digest) -> Option<Digest> {
        self.digests.get(old).cloned().unwrap_or_else(|| Some(old.clone()))
    }

    /// Does all of it, and gives how many entries of undo lists are gone.
    pub(super) fn finish(&self, scene: &Scene<'_>) -> Result<usize, Error> {
        let forgotten = self.update_undo_lists(scene, false)?;
        pins::update(scene.repo, scene.wait, |pins| {
            let now = pins.iter().filter_map(|old| self.digest(old)).collect();
            let changed = *pins != now;
            *pins = now;
            changed
        })?;
        if let Some(last) = restored::read(scene.repo)? {
            match self.digest(&last) {
                Some(now) if restored::is_part(scene.repo)? => restored::write_part(scene.repo, &now)?,
                now => restored::write(scene.repo, now.as_ref())?,
            }
        }
        if let Some(id) = &self.session {
            draft::remove(scene.repo, id, scene.wait)?;
            store::chat::remove(scene.repo, id, scene.wait)?;
            current::write(scene.repo, &current::read(scene.repo)?.left(id))?;
        }
        if self.session.is_none() {
            let gone = self.digests.iter().filter(|(_, now)| now.is_none());
            purged::add(scene.repo, gone.map(|(digest, _)| digest))?;
        }
        let who = compose::people(scene).committer;
        refs::forget_logs(scene.repo, &self.logs, &who, MESSAGE, scene.wait)?;
        // The objects of refs that are gone are held by nothing; what was written for those that stay is.
        debug_assert!(self.moved.iter().all(|(_, old, _)| !object_id(old).is_null()));
        crate::ops::kept_content::forget(scene, true)?;
        Self::forget(scene)?;
        Ok(forgotten)
    }
}
