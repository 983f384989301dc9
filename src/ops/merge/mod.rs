//! `merge`: another session, or another state of the same one, brought into a session: record, steps, chat and files.
//!
//! Unsaved changes are saved first, so both sides are checkpoints. The base is the checkpoint that both come from. The
//! files are merged before the session moves, under the journal of every command that changes files: a kill leaves
//! something that `--continue` finishes and `--abort` takes back. The merge itself is one checkpoint.

mod compose_merge;
mod files;
mod losers;
mod publish;
mod unattended;

use serde::{Deserialize, Serialize};

pub(super) use files::{forget, interrupted_target, resume};
pub(super) use unattended::{UnattendedOutcome, merge_unattended};

use super::{
    Error, Scene, fork_notes, ids,
    plan_runner::{self, OperationWait, ProgressCallback},
    receipt::CheckpointOutcome,
    ref_transaction::Aftermath,
    refuse,
    restore_outcome::RestoreOutcome,
    save::{self, OverClaim, SaveRequest},
    select, session_choice, suggestions,
};
use crate::{
    model::{
        comparison::RecordDifference,
        document::{CheckpointKind, SessionStatus},
        id::{Digest, Oid},
        name::ShortName,
        path::RepoPath,
        record::RecordConflict,
        report::MergeVerdict,
        selector::Selector,
    },
    store::{
        self, ObjectId,
        ancestry::{self, MergeEdges},
        chat::ChatMerge,
        checkpoint::{self, Checkpoint, oid},
        current, lock,
        merge_state::{self, MergeState},
    },
};

/// Request of a merge.
#[derive(Clone, Debug)]
pub struct MergeRequest {
    /// The session to merge in, or a checkpoint of it.
    pub selector: Selector,
    /// How it is done.
    pub how: MergeMethod,
}

/// How a merge is done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MergeMethod {
    /// Whether the files are merged; without a choice they are where that makes sense.
    pub files: Option<bool>,
    /// Whether what is staged is merged as well.
    pub index: bool,
    /// The summary of the merged session.
    pub summary: Option<String>,
    /// Why the option of the fork point was chosen.
    pub reason: Option<String>,
    /// Whether the sessions of the other options are finished.
    pub finish_others: bool,
    /// Whether it is done although there are reasons not to.
    pub force: bool,
    /// Whether nothing is changed.
    #[serde(skip)]
    pub dry_run: bool,
}

/// Result of a merge, or of its dry run.
#[derive(Debug)]
pub struct MergeOutcome {
    /// The session that was merged into.
    pub session: ShortName,
    /// The session that was merged in, with its remote.
    pub label: String,
    /// The session that a pull had moved aside, and that is part of the other one again.
    pub rejoined: Option<ShortName>,
    /// The checkpoint that was merged in.
    pub theirs: ObjectId,
    /// The checkpoint that both come from.
    pub base: Option<ObjectId>,
    /// The checkpoint of the merge; `None` in a dry run, or where nothing was made.
    pub id: Option<ObjectId>,
    /// Its digest.
    pub digest: Option<Digest>,
    /// The checkpoint that holds what was not saved before.
    pub saved: Option<ObjectId>,
    /// Whether there is something that is not saved, in a dry run: the merge would save it first.
    pub would_save: bool,
    /// Whether there was nothing to merge.
    pub is_up_to_date: bool,
    /// Where there was nothing to merge: the merge into this session whose conflicts in files are open.
    pub not_concluded: Option<MergeState>,
    /// Differences of the record and the rest; where there was nothing to merge, the conflicts that are open.
    pub report: MergeReport,
    /// Result for the files; `None` if they were not merged.
    pub files: Option<RestoreOutcome>,
    /// Paths on which both sides do not fit together.
    pub file_conflicts: Vec<(RepoPath, MergeVerdict)>,
    /// Those of them that have a recorded resolution in the file by now.
    pub resolved: Vec<RepoPath>,
    /// Why the files were not merged, unless that was requested.
    pub without_files: Option<WithoutFiles>,
    /// How many files differ from those of the other session, where both were saved in this working tree.
    pub files_left: usize,
    /// Sessions of other options that were finished.
    pub finished: Vec<ShortName>,
    /// Warnings and clean-ups after the change.
    pub aftermath: Aftermath,
}

/// Parts of a merge that are no files.
#[derive(Debug, Default)]
pub struct MergeReport {
    /// Differences between our record and the merged one.
    pub record: Vec<RecordDifference>,
    /// New conflicts of the record.
    pub conflicts: Vec<RecordConflict>,
    /// Messages that came.
    pub chat: ChatMerge,
    /// Steps that came.
    pub steps: usize,
    /// Lines of the session log that came.
    pub log: usize,
    /// Fork points that are decided by it: title and key.
    pub decided: Vec<(String, String)>,
}

/// Reason for not merging files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutFiles {
    /// The working tree belongs to another session.
    OtherSession,
    /// Both sessions were saved in one working tree.
    SameWorktree,
    /// One side was saved without files.
    NotSaved,
    /// The sessions have no common checkpoint with files.
    Unrelated,
}

/// The two sides of a merge.
pub(super) struct MergeTips {
    /// The session that is merged into.
    pub(super) session: ShortName,
    /// Its latest checkpoint.
    pub(super) ours: Checkpoint,
    /// The session that is merged in.
    pub(super) from: ShortName,
    /// The remote that it was fetched from; `None` for a session of this repository.
    pub(super) remote: Option<String>,
    /// Its checkpoint.
    pub(super) theirs: Checkpoint,
    /// Whether the merge continues their chain: that of a remote, which stays as others have it.
    pub(super) continues_theirs: bool,
    /// The session that has our side, where a pull moved that aside: it goes, and the merge is put on the session itself.
    pub(super) aside: Option<ShortName>,
}

/// Merges a session into the current one.
pub fn merge(scene: &Scene<'_>, request: &MergeRequest, progress: ProgressCallback<'_>) -> Result<MergeOutcome, Error> {
    let chosen = session_choice::session_for_command(scene)?.ok_or_else(|| suggestions::none_current(scene))?;
    let selected = select::checkpoint(scene, &request.selector)?;
    let theirs = selected.checkpoint;
    let (remote, fetched) = select::remote(scene, &request.selector)
        .filter(|_| selected.session.is_none())
        .map(|(remote, session, _)| (remote, session))
        .unzip();
    let from = selected
        .session
        .or(fetched)
        .unwrap_or_else(|| theirs.document.session.name.clone());
    let sides = MergeTips {
        session: chosen.name,
        ours: chosen.tip,
        from,
        remote,
        theirs,
        continues_theirs: false,
        aside: None,
    };
    tips(scene, sides, &request.how, progress)
}

/// Merges what a remote has of a session into it. The session continues the remote's chain.
pub(super) fn merge_remote(
    scene: &Scene<'_>,
    of_remote: (&str, &ShortName),
    session: &ShortName,
    theirs: ObjectId,
    how: &MergeMethod,
    progress: ProgressCallback<'_>,
) -> Result<MergeOutcome, Error> {
    let sides = MergeTips::of_remote(scene, of_remote, session, theirs)?;
    tips(scene, sides, how, progress)
}

/// Merges a session that a pull moved aside into the one that it was part of, which continues the chain of a remote. The
/// first is no session of its own any more.
pub(super) fn rejoin(
    scene: &Scene<'_>,
    (remote, name, theirs): (&str, &ShortName, ObjectId),
    aside: &ShortName,
    how: &MergeMethod,
    progress: ProgressCallback<'_>,
) -> Result<MergeOutcome, Error> {
    let chosen = session_choice::named(scene, aside)?.ok_or_else(|| suggestions::absent(scene, aside))?;
    let sides = MergeTips {
        session: name.clone(),
        ours: chosen.tip,
        from: name.clone(),
        remote: Some(remote.to_owned()),
        theirs: session_choice::load(scene, name.as_str(), theirs)?,
        continues_theirs: true,
        aside: Some(aside.clone()),
    };
    tips(scene, sides, how, progress)
}

fn tips(
    scene: &Scene<'_>,
    mut sides: MergeTips,
    how: &MergeMethod,
    progress: ProgressCallback<'_>,
) -> Result<MergeOutcome, Error> {
    refuse::too_broad(scene)?;
    plan_runner::refuse_pending(scene)?;
    fork_notes::refuse_session(scene, &sides.from)?;
    refuse_claimed(scene, &sides, how)?;
    let is_here = current::read(scene.repo)?
        .session
        .is_some_and(|here| here.id == sides.ours.document.session.id);
    let chosen_files = files::choice(scene, &sides, how, is_here)?;
    if !sides.needs(scene, chosen_files.is_none())? {
        return up_to_date(scene, sides, how, chosen_files);
    }
    sides.require_readable()?;
    // Before anything is saved: of two merges of files at once, the second records nothing.
    let _operation = (chosen_files.is_none() && !how.dry_run)
        .then(|| plan_runner::operation_lock(scene, OperationWait::AtOnce))
        .transpose()?;
    let mut saved = None;
    let mut would_save = false;
    if is_here {
        match save_first(scene, &sides, how)? {
            CheckpointOutcome::Saved(receipt) => saved = receipt.id,
            CheckpointOutcome::Planned(_) => would_save = true,
            CheckpointOutcome::Unchanged(_) => {}
        }
    }
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    plan_runner::begin(scene, how.dry_run)?;
    let again = session_choice::named(scene, sides.holder())?;
    sides.ours = again.ok_or_else(|| suggestions::absent(scene, sides.holder()))?.tip;
    if !sides.needs(scene, chosen_files.is_none())? {
        return up_to_date(scene, sides, how, chosen_files);
    }
    if would_save {
        sides.take_draft(scene)?;
    }
    let mut out = files::run(scene, &sides, how, chosen_files, None, progress)?;
    (out.saved, out.would_save) = (saved, would_save);
    Ok(out)
}

impl MergeTips {
    /// A session as it is here, and what a remote has of it. The merge continues the remote's chain.
    fn of_remote(
        scene: &Scene<'_>,
        (remote, name): (&str, &ShortName),
        session: &ShortName,
        theirs: ObjectId,
    ) -> Result<Self, Error> {
        let chosen = session_choice::named(scene, session)?.ok_or_else(|| suggestions::absent(scene, session))?;
        Ok(Self {
            session: chosen.name,
            ours: chosen.tip,
            from: name.clone(),
            remote: Some(remote.to_owned()),
            theirs: session_choice::load(scene, name.as_str(), theirs)?,
            continues_theirs: true,
            aside: None,
        })
    }

    /// The session that is merged in, with what distinguishes it from the one that is merged into: its remote, or its
    /// checkpoint where both have one name.
    fn label_of_theirs(&self) -> String {
        match &self.remote {
            Some(remote) => format!("{remote}/{}", self.from),
            None if self.from == self.session => self.label_with_id(),
            None => self.from.to_string(),
        }
    }

    /// The same with the checkpoint.
    fn label_with_id(&self) -> String {
        let id = ids::short(self.theirs.entry.id);
        match &self.remote {
            Some(remote) => format!("{remote}/{} {id}", self.from),
            None => format!("{} {id}", self.from),
        }
    }

    /// Fails where the record of a side is encrypted and cannot be read here: the merge would lose it.
    fn require_readable(&self) -> Result<(), Error> {
        let session = if self.theirs.document.is_locked() {
            self.label_of_theirs()
        } else if self.ours.document.is_locked() {
            self.holder().to_string()
        } else {
            return Ok(());
        };
        Err(store::Error::RecordLocked { session }.into())
    }

    /// Gives our side the record that it will have once it is saved, for a dry run.
    fn take_draft(&mut self, scene: &Scene<'_>) -> Result<(), Error> {
        let mut subject = session_choice::carried(&self.ours, self.holder());
        session_choice::with_draft(scene, &self.ours, &mut subject)?;
        let was = std::mem::replace(&mut self.ours.document.record, subject.record);
        let record = &mut self.ours.document.record;
        if record.summary.is_none() {
            (record.summary, record.auto_summary) = (was.summary, was.auto_summary);
        }
        self.ours.document.session = subject.session;
        Ok(())
    }

    /// The session that has our side before the merge.
    fn holder(&self) -> &ShortName {
        self.aside.as_ref().unwrap_or(&self.session)
    }

    /// Whether there is anything to merge.
    fn needs(&self, scene: &Scene<'_>, files: bool) -> Result<bool, Error> {
        if self.aside.is_some() {
            return Ok(true);
        }
        let edges = if files { MergeEdges::Files } else { MergeEdges::All };
        Ok(self.relation(scene, edges)?.behind > 0)
    }

    fn relation(&self, scene: &Scene<'_>, edges: MergeEdges) -> Result<ancestry::CheckpointRelation, Error> {
        let (ours, theirs) = (self.ours.entry.id, self.theirs.entry.id);
        Ok(ancestry::relation(scene.repo, ours, theirs, edges)?)
    }
}

/// Outcome where there is nothing to merge, with the conflicts of earlier merges that are open.
fn up_to_date(
    scene: &Scene<'_>,
    mut sides: MergeTips,
    how: &MergeMethod,
    without: Option<WithoutFiles>,
) -> Result<MergeOutcome, Error> {
    // Of a merge that has the files there is nothing left.
    let lacks_files = sides.needs(scene, true)?;
    sides.take_draft(scene)?;
    let state = merge_state::read(scene.repo)?;
    let mut out = MergeOutcome {
        is_up_to_date: true,
        not_concluded: state.filter(|state| state.session.as_ref() == Some(&sides.session)),
        report: MergeReport {
            conflicts: sides.ours.document.record.conflicts.clone(),
            ..MergeReport::default()
        },
        ..outcome(&sides)
    };
    if lacks_files {
        out.note_files_left(scene, &sides, how, without)?;
    }
    Ok(out)
}

impl MergeOutcome {
    /// Notes why the files were not merged, unless that was requested, and how many are otherwise.
    fn note_files_left(
        &mut self,
        scene: &Scene<'_>,
        sides: &MergeTips,
        how: &MergeMethod,
        without: Option<WithoutFiles>,
    ) -> Result<(), Error> {
        self.without_files = without.filter(|_| how.files.is_none());
        if self.without_files == Some(WithoutFiles::SameWorktree) {
            self.files_left = files::same_worktree(scene, sides)?.differ;
        }
        Ok(())
    }
}

/// Outcome in which nothing was done.
fn outcome(sides: &MergeTips) -> MergeOutcome {
    MergeOutcome {
        session: sides.session.clone(),
        label: sides
            .remote
            .as_ref()
            .map_or_else(|| sides.from.to_string(), |remote| format!("{remote}/{}", sides.from)),
        rejoined: sides.aside.clone(),
        theirs: sides.theirs.entry.id,
        base: None,
        id: None,
        digest: None,
        saved: None,
        would_save: false,
        is_up_to_date: false,
        not_concluded: None,
        report: MergeReport::default(),
        files: None,
        file_conflicts: Vec::new(),
        resolved: Vec::new(),
        without_files: None,
        files_left: 0,
        finished: Vec::new(),
        aftermath: Aftermath::default(),
    }
}

fn refuse_claimed(scene: &Scene<'_>, sides: &MergeTips, how: &MergeMethod) -> Result<(), Error> {
    if how.force {
        return Ok(());
    }
    refuse::claimed(scene, &sides.session, &sides.ours.document.session)
}

/// Saves what is not saved: the draft, the chat and the files that the merge begins with. A dry run reports whether there is
/// anything.
fn save_first(scene: &Scene<'_>, sides: &MergeTips, how: &MergeMethod) -> Result<CheckpointOutcome, Error> {
    let status = sides.ours.document.session.status;
    let request = SaveRequest {
        status: if status == SessionStatus::Paused {
            SessionStatus::Active
        } else {
            status
        },
        trigger: Some("before-merge".to_owned()),
        summary: Some(format!("before merging {}", sides.from)),
        start: false,
        claim: if how.force {
            OverClaim::Forced
        } else {
            OverClaim::Automatic
        },
        files: sides.ours.document.snapshot.is_some() || how.files != Some(false),
        dry_run: how.dry_run,
        ..SaveRequest::new(CheckpointKind::Event)
    };
    let named = Scene {
        session: Some(sides.holder()),
        ..*scene
    };
    save::save(&named, request)
}

/// The checkpoint of a merge that both sides come from, with the digest of the latest base.
fn latest_base(scene: &Scene<'_>, bases: &[ObjectId]) -> Result<Option<Checkpoint>, Error> {
    let load = |id: &ObjectId| checkpoint::load(scene.repo, *id).map_err(Error::damaged(ids::short(*id)));
    bases.first().map(load).transpose()
}

/// Journal note of a merge.
#[derive(Debug, Serialize, Deserialize)]
struct MergeJournal {
    session: ShortName,
    from: ShortName,
    theirs: Oid,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remote: Option<String>,
    /// The checkpoint whose files are the base.
    base: Option<Oid>,
    continues_theirs: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    aside: Option<ShortName>,
    how: MergeMethod,
}

impl MergeJournal {
    fn new(sides: &MergeTips, base: Option<ObjectId>, how: &MergeMethod) -> Self {
        Self {
            session: sides.session.clone(),
            from: sides.from.clone(),
            remote: sides.remote.clone(),
            theirs: oid(sides.theirs.entry.id),
            base: base.map(oid),
            continues_theirs: sides.continues_theirs,
            aside: sides.aside.clone(),
            how: how.clone(),
        }
    }
}
