//! Local checkpoints of diverged sessions, or of two sessions with one name: they become a session of their own, which
//! draft and current session follow.

use super::{
    super::{Error, chain},
    PullAttempt, PullOutcome, PulledSession, Swap,
};
use crate::{
    model::{document::Document, name::ShortName, operation::Operation},
    ops::{Error as OpsError, Scene, compose, current_session, ids},
    store::{
        self, ObjectId,
        checkpoint::{self, Checkpoint, Siblings},
        draft,
        objects::{self, Writer},
        refs::{self, ExpectedValue, RefUpdate},
        session,
    },
};

impl PullAttempt<'_> {
    /// `<session>-<host>`, and a number where that is taken.
    pub(super) fn free_name(&self) -> Result<ShortName, Error> {
        for n in 1_u32.. {
            let host = ShortName::slug(self.scene.host, "x");
            let host = host.as_str().trim_end_matches("-x");
            let host: String = host.chars().take(24).collect();
            let suffix = if n == 1 { host } else { format!("{host}-{n}") };
            let name = ShortName::slug(self.name.as_str(), suffix.trim_end_matches('-'));
            // Nor one that the remote has: another machine of this name may have parted there.
            let there = refs::read(self.scene.repo, &self.remote.tracking_ref(&name))?;
            if there.is_none() && !self.taken.contains(&name) && session::tip(self.scene.repo, &name)?.is_none() {
                return Ok(name);
            }
        }
        Err(OpsError::ConcurrentModification.into())
    }

    /// Both went on: what is only here becomes a fork, which draft and current session follow.
    pub(super) fn part(&self, ours: &Checkpoint, own: usize, came: usize) -> Result<PulledSession, Error> {
        let scene = self.scene;
        objects::sweep(scene.repo)?;
        let tail = self.free_name()?;
        let (document, fork, sealed) = self.fork(ours, &tail)?;
        let id = &document.session.id;
        let old_id = &ours.document.session.id;
        self.copy_draft(ours, id)?;
        let (before, after) = current_session::follow(scene, old_id, id, &tail)?;
        let edit = RefUpdate {
            name: session::ref_name(&tail),
            expected: ExpectedValue::Absent,
            new: Some(fork),
            message: self.message(),
        };
        let swapped = self.swap(Swap {
            more: vec![edit],
            current: Some((before, after)),
            remedy: format!("continue in your own: git checkpoint switch {tail}"),
            separated: Some(tail.clone()),
            sealed: Some(sealed),
        });
        let mut aftermath = match swapped {
            Ok(aftermath) => aftermath,
            Err(error) => {
                // Of a session that is not to be.
                let _ = draft::remove(scene.repo, id, scene.wait);
                return Err(error);
            }
        };
        current_session::follow_elsewhere(scene, old_id, id, &tail);
        if let Err(error) = clear_draft(scene, old_id) {
            aftermath.trouble.push(format!(
                "what waited for a save is in the drafts of both sessions now: {error}"
            ));
        }
        let outcome = PullOutcome::Parted {
            tail,
            fork: Some(fork),
            ours: own,
            theirs: came,
        };
        Ok(self.pulled(outcome, aftermath))
    }

    /// The checkpoint on top of what is only here, with which it becomes a session of its own.
    fn fork(&self, ours: &Checkpoint, tail: &ShortName) -> Result<(Document, ObjectId, objects::SealedObjects), Error> {
        let scene = self.scene;
        let mut document = compose::fork(scene, ours, self.name.clone())?;
        document.session.name = tail.clone();
        document.trigger = Some("pull".to_owned());
        let people = compose::people(scene);
        // One's own goes along with one's own checkpoints.
        let by = compose::by(scene, &people);
        let claim = ours.document.session.claim.clone();
        document.session.claim = claim.filter(|claim| !claim.holds_against(&by, scene.now));
        let writer = Writer::durable(scene.repo)?;
        let damaged = |fault| OpsError::damaged(self.name.as_str())(fault);
        let (held, _) = checkpoint::siblings(scene.repo, &ours.entry).map_err(damaged)?;
        let mut siblings = Siblings::default();
        for kept in held.named().keys() {
            siblings.keep(&held, kept);
        }
        let lists = checkpoint::lists(scene.repo, ours).map_err(damaged)?;
        let parents = [Some(ours.entry.id), ours.snapshot()].into_iter().flatten().collect();
        let written = checkpoint::write(&writer, &mut document, lists.is_partial(), &siblings, parents, &people)?;
        Ok((document, written.id, writer.finish()?))
    }

    /// Copies what waits in the session's draft to the draft of the fork. The old one is cleared last.
    fn copy_draft(&self, ours: &Checkpoint, id: &str) -> Result<(), Error> {
        let waiting = draft::read(self.scene.repo, &ours.document.session.id)?;
        let operations: Vec<Operation> = waiting
            .after(&ours.document.folded)
            .map(|(_, operation)| operation.clone())
            .collect();
        if !operations.is_empty() {
            let draft_id = ids::item_id()?;
            draft::append(self.scene.repo, id, &operations, || draft_id, self.scene.wait)?;
        }
        Ok(())
    }

    /// A session of the same name that was made here independently makes room: it keeps its identity under another name.
    pub(super) fn step_aside(&self, ours: &Checkpoint) -> Result<PulledSession, Error> {
        let scene = self.scene;
        let tail = self.free_name()?;
        let id = &ours.document.session.id;
        let own = chain::length(scene.repo, ours.entry.id);
        let (before, after) = current_session::follow(scene, id, id, &tail)?;
        let edit = RefUpdate {
            name: session::ref_name(&tail),
            expected: ExpectedValue::Absent,
            new: Some(ours.entry.id),
            message: self.message(),
        };
        let aftermath = self.swap(Swap {
            more: vec![edit],
            current: Some((before, after)),
            remedy: format!("continue in your own: git checkpoint switch {tail}"),
            separated: Some(tail.clone()),
            sealed: None,
        })?;
        current_session::follow_elsewhere(scene, id, id, &tail);
        let outcome = PullOutcome::Parted {
            tail,
            fork: None,
            ours: own,
            theirs: chain::length(scene.repo, self.theirs.entry.id),
        };
        Ok(self.pulled(outcome, aftermath))
    }
}

/// Clears the draft of a session whose operations were copied to another one.
fn clear_draft(scene: &Scene<'_>, id: &str) -> Result<(), store::Error> {
    match draft::read(scene.repo, id)?.last() {
        Some(last) => draft::clear(scene.repo, id, last, scene.wait),
        None => Ok(()),
    }
}
