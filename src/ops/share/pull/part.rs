//! Local checkpoints of diverged sessions, or of two sessions with one name: they become a session of their own. What
//! waits for a save, the autosaves and the current session follow.

use super::{
    super::{Error, chain},
    PullAttempt, PullOutcome, PulledSession, Swap,
};
use crate::{
    model::{document::Document, name::ShortName},
    ops::{
        Error as OpsError, current_session,
        parted::{self, AutosaveTarget},
        ref_transaction::Aftermath,
        waiting::{self, CopiedEntries},
    },
    store::{
        checkpoint::{Checkpoint, WrittenCheckpoint},
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

    /// Both have diverged: what is only here becomes a fork, which the current session follows with what waits for a save.
    pub(super) fn part(&self, ours: &Checkpoint, own: usize, came: usize) -> Result<PulledSession, Error> {
        let scene = self.scene;
        objects::sweep(scene.repo)?;
        let tail = self.free_name()?;
        let writer = Writer::durable(scene.repo)?;
        let (document, fork) = parted::first(scene, &writer, (ours, self.name), &tail, parted::PULL)?;
        let id = &document.session.id;
        let old_id = &ours.document.session.id;
        let copied = waiting::copy(scene, ours, id)?;
        let swapped = self.swap_parted(ours, &tail, writer, (&document, &fork), &copied);
        let mut aftermath = match swapped {
            Ok(aftermath) => aftermath,
            Err(error) => {
                // Of a session that is not to be.
                waiting::discard(scene, id);
                let _ = parted::discard_autosaves(scene, id);
                return Err(error);
            }
        };
        current_session::follow_elsewhere(scene, old_id, id, &tail);
        if let Err(error) = waiting::clear(scene, old_id, &copied) {
            aftermath
                .trouble
                .push(format!("what waited for a save is in both sessions now: {error}"));
        }
        let outcome = PullOutcome::Parted {
            tail,
            fork: Some(fork.id),
            ours: own,
            theirs: came,
        };
        Ok(self.pulled(outcome, aftermath))
    }

    /// The ref transaction of that: the autosaves go along with what they are based on.
    fn swap_parted(
        &self,
        ours: &Checkpoint,
        tail: &ShortName,
        writer: Writer,
        (document, fork): (&Document, &WrittenCheckpoint),
        copied: &CopiedEntries,
    ) -> Result<Aftermath, Error> {
        let scene = self.scene;
        let id = &document.session.id;
        let (before, after) = current_session::follow(scene, &ours.document.session.id, id, tail)?;
        let target = AutosaveTarget {
            session: &document.session,
            folded: &document.folded,
            tip: fork.id,
            digest: &fork.digest,
        };
        let autosaves = parted::move_autosaves(scene, &writer, ours, &target, copied, &self.message())?;
        let edit = RefUpdate {
            name: session::ref_name(tail),
            expected: ExpectedValue::Absent,
            new: Some(fork.id),
            message: self.message(),
        };
        self.swap(Swap {
            more: vec![edit],
            autosaves,
            current: Some((before, after)),
            remedy: format!("continue in your own: git checkpoint switch {tail}"),
            separated: Some(tail.clone()),
            sealed: Some(writer.finish().map_err(OpsError::from)?),
            ..Swap::default()
        })
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
            ..Swap::default()
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
