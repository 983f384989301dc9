//! Files of the moment of an event, read before anything that the save waits for.
//!
//! The end of a turn of an agent is reported before its session file is complete, and events wait for one another. What
//! is saved then is to be the files of the event, not those that a person edited meanwhile. So files, index, HEAD and
//! the operation in progress are read first, their objects wait in the writer that the save completes, and the checkpoint
//! is composed of them later.

use std::{
    path::Path,
    time::{Duration, SystemTime},
};

use super::{
    super::{Error, Scene, compose, compose::CurrentSnapshot, refuse, session_choice},
    FilesOrigin, SaveRequest, SaveTarget, held,
};
use crate::{
    model::{document::CheckpointKind, id::Digest},
    os,
    store::{
        self, ObjectId, branches, checkpoint, lock,
        objects::Writer,
        restored,
        tree::{self, Renames},
    },
    worktree::journal,
};

/// The most changed paths whose times are looked at.
const LOOKED_AT: usize = 1000;

/// Files that were read before their save, with their objects.
pub(in crate::ops) struct EarlyFiles {
    pub(super) writer: Writer,
    pub(super) present: CurrentSnapshot,
    pub(super) moment: FilesMoment,
    /// The latest checkpoint of the session at that moment, on whose objects these rely.
    tip: Option<ObjectId>,
}

/// Facts of the moment at which files were read that are not in the snapshot.
pub(super) struct FilesMoment {
    /// The branch that was worked on.
    pub(super) branch: Option<String>,
    /// The checkpoint that was restored last.
    pub(super) restored: Option<Digest>,
}

/// Outcome of reading files early.
pub(in crate::ops) enum EarlyReading {
    /// The files.
    Files(Box<EarlyFiles>),
    /// The session is saved from another working tree than this one.
    OtherWorktree,
    /// Files were being restored, or a branch was being checked out.
    Unsettled,
}

impl EarlyFiles {
    /// Reads the files for a save in the session of the scene, without waiting for anything.
    pub(in crate::ops) fn read(scene: &Scene<'_>) -> Result<EarlyReading, Error> {
        refuse::too_broad(scene)?;
        let _worktree = match lock::worktree(scene.repo, Duration::ZERO) {
            Ok(lock) => Some(lock),
            // Another save reads as well.
            Err(store::Error::Busy { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        if journal::read(scene.repo)?.is_some() {
            return Ok(EarlyReading::Unsettled);
        }
        let mut trees = Vec::new();
        let mut tip = None;
        let writer = Writer::durable(scene.repo)?;
        if scene.session.is_some()
            && let Some(chosen) = session_choice::session_for_command(scene)?
        {
            tip = Some(chosen.tip.entry.id);
            let target = SaveTarget::Existing(Box::new(chosen));
            let mut request = SaveRequest::new(CheckpointKind::Turn);
            // Nothing is locked for the look.
            request.dry_run = true;
            if !matches!(FilesOrigin::of(scene, &request, &target)?, FilesOrigin::Here) {
                return Ok(EarlyReading::OtherWorktree);
            }
            trees = held(scene, &writer, &target)?;
        }
        let moment = FilesMoment {
            branch: branches::active(scene.repo)?,
            restored: restored::read(scene.repo)?,
        };
        let present = compose::present(scene, &writer, true, &trees)?;
        let is_settled = journal::read(scene.repo)?.is_none() && branches::active(scene.repo)? == moment.branch;
        if !is_settled {
            return Ok(EarlyReading::Unsettled);
        }
        Ok(EarlyReading::Files(Box::new(Self {
            writer,
            present,
            moment,
            tip,
        })))
    }

    /// Whether a file that is not as in the latest checkpoint, or else in HEAD, was written after this time. A path that
    /// is gone is shown by the time of its directory.
    pub(in crate::ops) fn have_changes_since(&self, scene: &Scene<'_>, time: SystemTime) -> bool {
        let (Some(snapshot), Some(root)) = (&self.present.snapshot, scene.repo.workdir()) else {
            return false;
        };
        let tip = self.tip.and_then(|tip| checkpoint::public(scene.repo, tip).ok());
        let saved = tip.and_then(|(document, _)| Some(checkpoint::object_id(&document.snapshot?.tree)));
        let head = || self.present.facts.head.as_ref().map(checkpoint::object_id);
        let overlay = self.writer.overlay(scene.repo);
        let changes = tree::diff(&overlay, saved.or_else(head), Some(snapshot.tree), Renames::Off);
        let is_later = |path: &Path| os::modified(path).is_some_and(|written| written > time);
        changes.unwrap_or_default().iter().take(LOOKED_AT).any(|change| {
            let path = root.join(os::os_string(change.path.as_bytes()));
            is_later(&path) || path.parent().is_some_and(is_later)
        })
    }

    /// Whether these files rely on the checkpoint that the next one follows.
    pub(super) fn is_based_on(&self, target: &SaveTarget) -> bool {
        matches!(target, SaveTarget::Existing(chosen) if self.tip == Some(chosen.tip.entry.id))
    }
}
