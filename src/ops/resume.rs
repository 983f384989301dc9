//! `resume`: take a session up again, and say what changed since.
//!
//! Changes no file. The session becomes current, and a session that was paused or finished becomes active in its draft,
//! so that the next save records it.

use super::{
    Error, Scene, autosave,
    autosave::Offer,
    changes, compose, contents, ids,
    list::{self, SessionFilter, SessionStanding, SessionSummaryRow},
    put_aside, select, session_choice, share, start, suggestions, summary, verify,
};
use crate::{
    model::{
        document::SessionStatus,
        id::Digest,
        name::ShortName,
        outline::Contents,
        report::ChangeReport,
        selector::{Base, Selector},
        time::Timestamp,
    },
    store::{
        self,
        checkpoint::Checkpoint,
        current, draft,
        objects::Writer,
        restored, session,
        watch::{self, Watcher},
    },
};

/// A session taken up again.
#[derive(Debug)]
pub struct ResumeOutcome {
    /// Its name.
    pub session: ShortName,
    /// The checkpoint that was resumed, with its draft not applied.
    pub checkpoint: Checkpoint,
    /// Whether that is the session's latest.
    pub is_tip: bool,
    /// The other branch that has its changes.
    pub committed: Option<put_aside::CommittedElsewhere>,
    /// State of the session before.
    pub standing: SessionStanding,
    /// How many operations wait in its draft.
    pub draft: usize,
    /// Everything that was saved.
    pub contents: Contents,
    /// The parts of it that could not be read, and why.
    pub unread: Vec<String>,
    /// Whether others saved it, as far as can be known, and where it came from.
    pub foreign: Option<String>,
    /// Change report.
    pub report: ChangeReport,
    /// When the latest checkpoint is damaged: what is wrong with it, and how many checkpoints were passed over.
    pub lost: Option<(String, usize)>,
    /// Why this session was taken when none was named.
    pub chosen: ChoiceReason,
    /// The remotes it came from, if it was saved on another machine.
    pub fetched: Vec<String>,
    /// An autosave that is newer than the session's last checkpoint of this working tree, unless a watcher is at work.
    pub autosave: Option<Offer>,
    /// The autosave that was taken up, now the latest checkpoint.
    pub recovered: Option<Offer>,
    /// Whether it is the current session now, and active.
    pub begun: bool,
    /// Whether it had ended, and this made it active again.
    pub reopened: bool,
    /// Last summary by a person, when the summary of this checkpoint was made from git's facts.
    pub said: Option<SummaryByPerson>,
}

/// A written summary.
#[derive(Debug)]
pub struct SummaryByPerson {
    /// The checkpoint that has it.
    pub id: store::ObjectId,
    /// When that was made.
    pub at: Timestamp,
    /// The summary.
    pub summary: String,
    /// Whether the checkpoint after it has a record that no key opens.
    pub is_own_locked: bool,
}

/// The latest written summary before this checkpoint, if its own is automatic.
fn said(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Option<SummaryByPerson> {
    if checkpoint.document.written_summary().is_some() {
        return None;
    }
    let (found, summary) = summary::earlier(scene, checkpoint)?;
    Some(SummaryByPerson {
        id: found.entry.id,
        at: found.document.created_at,
        summary,
        is_own_locked: checkpoint
            .document
            .encrypted
            .as_ref()
            .is_some_and(|info| info.is_locked),
    })
}

/// Why a session was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceReason {
    /// It was named.
    Named,
    /// It is the current one.
    Current,
    /// It is the latest that was paused or interrupted on this branch.
    OnBranch,
    /// It is the latest of all.
    Newest,
}

/// The sessions that could be resumed when none is named, best first, and why the first would be taken.
///
/// The current session alone if there is one; else the paused and interrupted ones of this branch; else all that have
/// not ended; else all. Damaged ones are left out: they can be named.
pub fn candidates(scene: &Scene<'_>) -> Result<(Vec<SessionSummaryRow>, ChoiceReason), Error> {
    Ok(candidates_among(
        scene,
        list::sessions(scene, &SessionFilter::default())?,
    ))
}

/// The same, of all sessions in the order of a list.
pub(super) fn candidates_among(
    scene: &Scene<'_>,
    mut rows: Vec<SessionSummaryRow>,
) -> (Vec<SessionSummaryRow>, ChoiceReason) {
    rows.retain(|row| row.tip.is_ok());
    if let Some(name) = scene.session {
        rows.retain(|row| row.name == name.as_str());
        return (rows, ChoiceReason::Named);
    }
    if let Some(at) = rows.iter().position(|row| row.current) {
        return (vec![rows.swap_remove(at)], ChoiceReason::Current);
    }
    // With a HEAD that cannot be read no session is of this branch, and all of them can still be resumed.
    let branch = store::branches::active(scene.repo).unwrap_or_default();
    let waits = |row: &SessionSummaryRow| {
        let Ok((entry, standing)) = &row.tip else { return false };
        matches!(
            standing,
            SessionStanding::Interrupted | SessionStanding::Stated(SessionStatus::Paused)
        ) && store::is_branch(scene.repo, entry.trailers.branch.as_deref(), branch.as_deref())
    };
    if rows.iter().any(waits) {
        rows.retain(waits);
        return (rows, ChoiceReason::OnBranch);
    }
    let open = |row: &SessionSummaryRow| {
        let Ok((_, standing)) = &row.tip else { return false };
        !matches!(standing, SessionStanding::Stated(status) if status.is_finished())
    };
    if rows.iter().any(open) {
        rows.retain(open);
    }
    (rows, ChoiceReason::Newest)
}

/// Every session that can be resumed here: the local ones that have not ended, the current one first, then those fetched
/// from remotes that are not here in the same state, then the local ones that have ended.
pub fn resumable(scene: &Scene<'_>) -> Result<Vec<SessionSummaryRow>, Error> {
    let all = SessionFilter {
        all: true,
        ..SessionFilter::default()
    };
    let mut rows = list::sessions(scene, &all)?;
    rows.retain(|row| row.tip.is_ok());
    let is_remote = |row: &SessionSummaryRow| row.name.contains('/');
    let local: Vec<_> = rows.iter().filter(|row| !is_remote(row)).filter_map(tip_of).collect();
    rows.retain(|row| !is_remote(row) || tip_of(row).is_some_and(|tip| !local.contains(&tip)));
    let ended =
        |row: &SessionSummaryRow| matches!(&row.tip, Ok((_, SessionStanding::Stated(status))) if status.is_finished());
    // Stable: within each group the latest stays first.
    rows.sort_by_key(|row| (!row.current, !is_remote(row) && ended(row), is_remote(row)));
    Ok(rows)
}

fn tip_of(row: &SessionSummaryRow) -> Option<store::ObjectId> {
    row.tip.as_ref().ok().map(|(entry, _)| entry.id)
}

/// Takes a session up again, the selected one or the first of [`candidates`].
pub fn resume(
    scene: &Scene<'_>,
    selector: Option<&Selector>,
    max_age: Option<std::time::Duration>,
) -> Result<ResumeOutcome, Error> {
    gather(scene, selector, max_age, true)
}

/// Report of a resume of the session. Nothing is changed: neither its status nor which session is current.
pub fn preview(scene: &Scene<'_>, session: &ShortName) -> Result<ResumeOutcome, Error> {
    let selector = Selector {
        base: Base::Word(session.to_string()),
        steps: Vec::new(),
    };
    gather(scene, Some(&selector), None, false)
}

/// The same of the selected session or the first of [`candidates`]: what was saved, where nothing may be written.
pub fn look(
    scene: &Scene<'_>,
    selector: Option<&Selector>,
    max_age: Option<std::time::Duration>,
) -> Result<ResumeOutcome, Error> {
    gather(scene, selector, max_age, false)
}

fn gather(
    scene: &Scene<'_>,
    selector: Option<&Selector>,
    max_age: Option<std::time::Duration>,
    begin: bool,
) -> Result<ResumeOutcome, Error> {
    let (selector, chosen) = if let Some(selector) = selector {
        (selector.clone(), ChoiceReason::Named)
    } else {
        let (rows, why) = candidates(scene)?;
        let Some(row) = rows.first() else {
            return Err(suggestions::none_current(scene));
        };
        let base = Base::Word(row.name.clone());
        (
            Selector {
                base,
                steps: Vec::new(),
            },
            why,
        )
    };
    let (session, id) = select::commit(scene, &selector)?;
    let Some(session) = session else {
        return Err(Error::absent(ids::short(id)));
    };
    let is_tip = session::tip(scene.repo, &session)? == Some(id);
    let (checkpoint, lost) = match session_choice::load(scene, session.as_str(), id) {
        Ok(checkpoint) => (checkpoint, None),
        Err(Error::Damaged { subject, fault }) if !fault.is_newer() => match verify::latest_good(scene, &session, id) {
            Some((good, lost)) => (good, Some((fault.to_string(), lost))),
            None => return Err(Error::Damaged { subject, fault }),
        },
        Err(error) => return Err(error),
    };
    let standing = list::session_standing(scene, &checkpoint.entry);
    let writer = Writer::memory(scene.repo);
    let files = store::has_files(scene.repo)?;
    // The record comes whatever git cannot say: a damaged index, a HEAD that is gone, files that cannot be read.
    let (mut missing, mut committed) = (None, None);
    let report = match compose::present(scene, &writer, files, &[]) {
        Ok(present) => {
            if is_tip && lost.is_none() {
                missing = Some(put_aside::missing(
                    scene,
                    &writer,
                    &checkpoint,
                    session.as_str(),
                    &present,
                ));
            }
            let report = changes::since(scene, &writer.overlay(scene.repo), &checkpoint, &present, max_age);
            if is_tip && lost.is_none() && files && has_missing(&report) {
                committed = put_aside::committed_elsewhere(scene, &writer, &checkpoint)?;
            }
            report
        }
        Err(error) => changes::without_files(scene, &checkpoint, &error, max_age),
    };
    let mut reopened = false;
    if begin {
        if lost.is_none() {
            let is_ended = matches!(standing, SessionStanding::Stated(status) if status.is_finished());
            reopened = start::activate(scene, &checkpoint)? && is_ended;
        }
        start::make_current(scene, &checkpoint.document, &session)?;
        let is_missing = committed.is_none() && has_missing(&report);
        let noted = Some(&checkpoint.digest).filter(|_| is_tip && is_missing);
        restored::write_unapplied(scene.repo, noted)?;
    }
    let lost_nothing = lost.is_none();
    let id = &checkpoint.document.session.id;
    let watcher = watch::here(scene.repo)?;
    if begin
        && let Some(Watcher::Gone(state)) = &watcher
        && state.session.as_ref().is_some_and(|s| s.id == *id)
    {
        watch::forget(scene.repo)?;
    }
    let alive = matches!(watcher, Some(Watcher::Alive(_)));
    let autosave = if is_tip && files && lost.is_none() && !alive {
        autosave::offer(scene, &checkpoint)?
    } else {
        None
    };
    let waiting = draft::read(scene.repo, &checkpoint.document.session.id)?;
    let draft = session_choice::waiting(&waiting, &checkpoint, &session);
    let fetched = share::status::came_from(scene, &session, &checkpoint);
    let (mut contents, unread) = contents::read(scene, &checkpoint, Some(&session), is_tip);
    if let Some(missing) = missing {
        contents.put_aside = missing;
    }
    Ok(ResumeOutcome {
        said: said(scene, &checkpoint),
        foreign: share::status::foreign(scene, Some(&session), &checkpoint),
        contents,
        unread,
        session,
        checkpoint,
        is_tip,
        committed,
        standing,
        draft,
        report,
        lost,
        chosen,
        fetched,
        autosave,
        recovered: None,
        begun: begin && lost_nothing,
        reopened,
    })
}

/// Recovers the autosave that a resume found, and resumes the checkpoint made of it.
pub fn recover(
    scene: &Scene<'_>,
    resumed: &ResumeOutcome,
    offer: Offer,
    max_age: Option<std::time::Duration>,
) -> Result<ResumeOutcome, Error> {
    let recovered = autosave::recover(scene, &resumed.session, &offer)?;
    let selector = Selector {
        base: Base::Word(resumed.session.to_string()),
        steps: Vec::new(),
    };
    let again = resume(scene, Some(&selector), max_age)?;
    let mut again = ResumeOutcome {
        standing: resumed.standing,
        reopened: resumed.reopened,
        chosen: resumed.chosen,
        ..again
    };
    if recovered.is_some() {
        again.autosave = None;
        again.recovered = Some(offer);
    }
    Ok(again)
}

/// Resumes the session of a checkpoint, where that is its latest and no other session is current: what `pause` did to it is
/// undone.
pub(super) fn unpause(scene: &Scene<'_>, session_id: &str, digest: &Digest) -> Result<(), Error> {
    if current::read(scene.repo)?.session.is_some() {
        return Ok(());
    }
    let chosen = session_choice::of_identity(scene, session_id)?;
    let Some(chosen) = chosen.filter(|chosen| chosen.tip.digest == *digest) else {
        return Ok(());
    };
    start::activate(scene, &chosen.tip)?;
    start::make_current(scene, &chosen.tip.document, &chosen.name)
}

/// Whether saved changes are not in the files.
fn has_missing(report: &ChangeReport) -> bool {
    report
        .saved
        .as_ref()
        .is_some_and(|saved| saved.missing + saved.reverted > 0)
}
