//! `resume`: take a session up again, and say what changed since.
//!
//! Changes no file. The session becomes current, and a session that was paused or finished becomes active in its draft,
//! so that the next save says so.

use serde_json::{Map, json};

use super::{
    Error, Scene, autosave,
    autosave::Offer,
    changes, choose, compose, fresh,
    list::{self, Filter, Row, Standing},
    select, share, start, verify,
};
use crate::{
    model::{
        document::Status,
        name::Name,
        operation::Operation,
        report::ChangeReport,
        selector::{Base, Selector},
        time::Timestamp,
    },
    store::{
        self,
        checkpoint::Checkpoint,
        draft,
        objects::Writer,
        session,
        watch::{self, Watcher},
    },
};

/// A session taken up again.
#[derive(Debug)]
pub struct Resumed {
    /// Its name.
    pub session: Name,
    /// The checkpoint that was resumed, with its draft not applied.
    pub checkpoint: Checkpoint,
    /// Whether that is the session's newest.
    pub is_tip: bool,
    /// Where the session stood before.
    pub standing: Standing,
    /// How many operations wait in its draft.
    pub draft: usize,
    /// What is not as it was.
    pub report: ChangeReport,
    /// When the newest checkpoint is damaged: what is wrong with it, and how many checkpoints were passed over.
    pub lost: Option<(String, usize)>,
    /// Why this session was taken when none was named.
    pub chosen: Chosen,
    /// The remotes it came from, if it was saved on another machine.
    pub fetched: Vec<String>,
    /// An autosave that is newer than the session's last checkpoint of this work tree, unless a watcher is at work.
    pub autosave: Option<Offer>,
    /// The autosave that was taken up, now the newest checkpoint.
    pub recovered: Option<Offer>,
    /// What somebody last wrote about the session, when the summary of this checkpoint was made from git's facts.
    pub said: Option<Said>,
}

/// A summary that somebody wrote.
#[derive(Debug)]
pub struct Said {
    /// The checkpoint that has it.
    pub id: store::ObjectId,
    /// When that was made.
    pub at: Timestamp,
    /// The summary.
    pub summary: String,
}

/// How many checkpoints are searched for a summary that somebody wrote.
const SEARCHED: usize = 50;

/// The newest summary before this checkpoint that somebody wrote, if its own is nobody's.
fn said(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Option<Said> {
    if !checkpoint.document.record.auto_summary {
        return None;
    }
    let before = session::chain(scene.repo, checkpoint.entry.id).skip(1).take(SEARCHED);
    before.filter_map(Result::ok).find_map(|entry| {
        let found = store::checkpoint::load(scene.repo, entry.id).ok()?;
        let record = found.document.record;
        let summary = record.summary.filter(|_| !record.auto_summary)?;
        Some(Said {
            id: entry.id,
            at: found.document.created_at,
            summary,
        })
    })
}

/// Why a session was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// It was named.
    Named,
    /// It is the current one.
    Current,
    /// It is the newest that was paused or interrupted on this branch.
    OnBranch,
    /// It is the newest of all.
    Newest,
}

/// The sessions that could be resumed when none is named, best first, and why the first would be taken.
///
/// The current session alone if there is one; else the paused and interrupted ones of this branch; else all that have
/// not ended; else all. Damaged ones are left out: they can be named.
pub fn candidates(scene: &Scene<'_>) -> Result<(Vec<Row>, Chosen), Error> {
    let mut rows = list::sessions(scene, &Filter::default())?;
    rows.retain(|row| row.tip.is_ok());
    if let Some(name) = scene.session {
        rows.retain(|row| row.name == name.as_str());
        return Ok((rows, Chosen::Named));
    }
    if let Some(at) = rows.iter().position(|row| row.current) {
        return Ok((vec![rows.swap_remove(at)], Chosen::Current));
    }
    let branch = store::facts::branch(scene.repo)?;
    let waits = |row: &Row| {
        let Ok((entry, standing)) = &row.tip else { return false };
        matches!(standing, Standing::Interrupted | Standing::Stated(Status::Paused)) && entry.trailers.branch == branch
    };
    if rows.iter().any(waits) {
        rows.retain(waits);
        return Ok((rows, Chosen::OnBranch));
    }
    let open = |row: &Row| {
        let Ok((_, standing)) = &row.tip else { return false };
        !matches!(standing, Standing::Stated(status) if status.is_finished())
    };
    if rows.iter().any(open) {
        rows.retain(open);
    }
    Ok((rows, Chosen::Newest))
}

/// Takes a session up again, the selected one or the first of [`candidates`].
pub fn resume(
    scene: &Scene<'_>,
    selector: Option<&Selector>,
    max_age: Option<std::time::Duration>,
) -> Result<Resumed, Error> {
    let (selector, chosen) = if let Some(selector) = selector {
        (selector.clone(), Chosen::Named)
    } else {
        let (rows, why) = candidates(scene)?;
        let Some(row) = rows.first() else {
            return Err(choose::none_current(scene));
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
        return Err(Error::NotFound {
            text: store_short(id),
            candidates: Vec::new(),
        });
    };
    let is_tip = session::tip(scene.repo, &session)? == Some(id);
    let (checkpoint, lost) = match choose::load(scene, session.as_str(), id) {
        Ok(checkpoint) => (checkpoint, None),
        Err(Error::Damaged { subject, fault }) if !fault.is_newer() => match verify::newest_good(scene, &session, id) {
            Some((good, lost)) => (good, Some((fault.to_string(), lost))),
            None => return Err(Error::Damaged { subject, fault }),
        },
        Err(error) => return Err(error),
    };
    let standing = list::standing(scene, &checkpoint.entry);
    let writer = Writer::memory(scene.repo);
    let files = store::has_work_tree(scene.repo);
    let present = compose::present(scene, &writer, files, &[])?;
    let report = changes::since(scene, &writer.overlay(scene.repo), &checkpoint, &present, max_age);
    if lost.is_none() {
        activate(scene, &checkpoint)?;
    }
    start::make_current(scene, &checkpoint.document, &session)?;
    let id = &checkpoint.document.session.id;
    let watcher = watch::here(scene.repo)?;
    if let Some(Watcher::Gone(state)) = &watcher
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
    let draft = choose::waiting(&waiting, &checkpoint, &session);
    let fetched = share::status::came_from(scene, &session, &checkpoint);
    Ok(Resumed {
        said: said(scene, &checkpoint),
        session,
        checkpoint,
        is_tip,
        standing,
        draft,
        report,
        lost,
        chosen,
        fetched,
        autosave,
        recovered: None,
    })
}

/// Takes up the autosave that a resume found, and resumes the checkpoint made of it.
pub fn recover(
    scene: &Scene<'_>,
    resumed: &Resumed,
    offer: Offer,
    max_age: Option<std::time::Duration>,
) -> Result<Resumed, Error> {
    autosave::recover(scene, &resumed.session, &offer)?;
    let selector = Selector {
        base: Base::Word(resumed.session.to_string()),
        steps: Vec::new(),
    };
    let again = resume(scene, Some(&selector), max_age)?;
    Ok(Resumed {
        standing: resumed.standing,
        chosen: resumed.chosen,
        autosave: None,
        recovered: Some(offer),
        ..again
    })
}

fn store_short(id: store::ObjectId) -> String {
    id.to_hex_with_len(8).to_string()
}

/// Notes in the draft that the session is active again, unless it is, or the draft says so already.
fn activate(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<(), Error> {
    let session = &checkpoint.document.session;
    let mut subject = choose::carried(checkpoint, &session.name);
    choose::with_draft(scene, checkpoint, &mut subject)?;
    if subject.session.status == Status::Active {
        return Ok(());
    }
    let operation = Operation {
        id: fresh::item_id()?,
        at: scene.now,
        by: compose::by(scene, &compose::people(scene)),
        record: None,
        remove: None,
        put: None,
        session: Some(json!({ "status": Status::Active })),
        log: None,
        step: None,
        unknown: Map::new(),
    };
    let draft_id = fresh::item_id()?;
    draft::append(scene.repo, &session.id, &[operation], || draft_id, scene.wait)?;
    Ok(())
}
