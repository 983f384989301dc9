//! Which session a command means when it names none, and what of it is in force.

use std::collections::BTreeSet;

use super::{Error, Scene, compose::Predecessor, receipt::SessionOrigin};
use crate::{
    model::{
        comparison,
        document::{CheckpointKind, SessionStatus},
        name::ShortName,
        operation::Subject,
        record::Record,
        session::Session,
    },
    store::{
        self, IdentitySource, ObjectId,
        checkpoint::{self, Checkpoint},
        current::{self, SessionRef},
        draft::{self, Draft},
        identity::{self, SessionRecord},
        session,
    },
};

/// A session with its latest checkpoint read.
#[derive(Debug)]
pub(super) struct SessionChoice {
    /// Its present name.
    pub(super) name: ShortName,
    /// Its latest checkpoint.
    pub(super) tip: Checkpoint,
    /// Why it was taken when nothing named it.
    pub(super) why: SessionChoiceReason,
}

/// Why a session was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionChoiceReason {
    /// It was named, or it is current in this working tree.
    Meant,
    /// It was paused last on this branch in this working tree.
    PausedHere,
}

impl SessionChoice {
    /// Fails where the record is encrypted and cannot be read here: then it is not empty, and nothing of it can be changed.
    pub(super) fn require_readable(&self) -> Result<(), Error> {
        if self.tip.document.is_locked() {
            let session = self.name.to_string();
            return Err(store::Error::RecordLocked { session }.into());
        }
        Ok(())
    }
}

impl<'a> From<&'a SessionChoice> for Predecessor<'a> {
    fn from(chosen: &'a SessionChoice) -> Self {
        Self::of(&chosen.tip)
    }
}

impl From<SessionChoiceReason> for SessionOrigin {
    fn from(why: SessionChoiceReason) -> Self {
        match why {
            SessionChoiceReason::Meant => Self::Meant,
            SessionChoiceReason::PausedHere => Self::Continued,
        }
    }
}

/// The session of this name with its latest checkpoint read; `None` when there is none.
pub(super) fn named(scene: &Scene<'_>, name: &ShortName) -> Result<Option<SessionChoice>, Error> {
    let Some(tip) = session::tip(scene.repo, name)? else {
        // The identity of a session is taken wherever its name is.
        let is_identity = Session::is_identity(name.as_str());
        return if is_identity {
            of_identity(scene, name.as_str())
        } else {
            Ok(None)
        };
    };
    let tip = load(scene, name.as_str(), tip)?;
    Ok(Some(SessionChoice {
        name: name.clone(),
        tip,
        why: SessionChoiceReason::Meant,
    }))
}

/// The session named by option or environment, else the current one.
///
/// A named session that does not exist is `None`, as is a current one that was deleted.
pub(super) fn session_for_command(scene: &Scene<'_>) -> Result<Option<SessionChoice>, Error> {
    match scene.session {
        Some(name) => named(scene, name),
        None => current(scene),
    }
}

/// The session that `requested` finds, where the content of its latest checkpoint was noted.
pub(super) fn session_for_command_noted(scene: &Scene<'_>) -> Result<Option<(ShortName, SessionRecord)>, Error> {
    let current = match scene.session {
        Some(_) => None,
        None => current::read(scene.repo)?.session,
    };
    let Some(name) = scene.session.or(current.as_ref().map(|current| &current.name)) else {
        return Ok(None);
    };
    let noted = identity::noted(scene.repo, name);
    // Another session may have that name by now.
    let is_it = |noted: &SessionRecord| current.as_ref().is_none_or(|current| current.id == noted.id);
    Ok(noted.filter(is_it).map(|noted| (name.clone(), noted)))
}

/// The session that `requested` finds, by name and latest commit, also when that commit is damaged: for commands that
/// look at damage.
pub(super) fn commit_for_command(scene: &Scene<'_>) -> Result<Option<(ShortName, ObjectId)>, Error> {
    if let Some(noted) = session_for_command_noted(scene)? {
        return Ok(Some((noted.0, noted.1.tip)));
    }
    let damaged = match session_for_command(scene) {
        Ok(None) => return Ok(None),
        Ok(Some(chosen)) => {
            // Only saves the next one the reading.
            let _ = identity::note(scene.repo, &chosen.name, &chosen.tip);
            return Ok(Some((chosen.name, chosen.tip.entry.id)));
        }
        Err(error @ Error::Damaged { .. }) => error,
        Err(error) => return Err(error),
    };
    let name = match scene.session {
        Some(name) => Some(name.clone()),
        None => current::read(scene.repo)?.session.map(|session| session.name),
    };
    let Some(name) = name else { return Err(damaged) };
    Ok(session::tip(scene.repo, &name)?.map(|tip| (name, tip)))
}

/// The current session of this working tree.
pub(super) fn current(scene: &Scene<'_>) -> Result<Option<SessionChoice>, Error> {
    match current::read(scene.repo)?.session {
        Some(wanted) => by_identity(scene, &wanted),
        None => Ok(None),
    }
}

/// The session that was finished or paused last in this working tree, where none is current; it is reported that this one
/// is meant.
pub(super) fn just_left_noted(scene: &Scene<'_>) -> Result<Option<SessionChoice>, Error> {
    let chosen = just_left(scene)?;
    if let Some(chosen) = &chosen {
        let is_paused = chosen.tip.document.session.status == SessionStatus::Paused;
        let fate = if is_paused { "paused" } else { "finished" };
        crate::os::notices::note(&format!(
            "no current session; using '{}', which was {fate} last",
            chosen.name
        ));
    }
    Ok(chosen)
}

/// The session that names of checkpoints are looked up in when nothing names one.
pub(super) fn current_or_left(scene: &Scene<'_>) -> Result<Option<SessionChoice>, Error> {
    match session_for_command(scene)? {
        Some(chosen) => Ok(Some(chosen)),
        None => just_left(scene),
    }
}

/// The session that was finished or paused last in this working tree, where none is current.
pub(super) fn just_left(scene: &Scene<'_>) -> Result<Option<SessionChoice>, Error> {
    let now = current::read(scene.repo)?;
    if scene.session.is_some() || now.session.is_some() || now.elsewhere.is_some() {
        return Ok(None);
    }
    let last = now
        .previous
        .map(|wanted| by_identity(scene, &wanted))
        .transpose()?
        .flatten();
    Ok(last.filter(|chosen| chosen.tip.document.session.status != SessionStatus::Active))
}

/// A session by identity, under whatever name it has now.
pub(super) fn by_identity(scene: &Scene<'_>, wanted: &SessionRef) -> Result<Option<SessionChoice>, Error> {
    if let Some(chosen) = named(scene, &wanted.name)?
        && chosen.tip.document.session.id == wanted.id
    {
        return Ok(Some(chosen));
    }
    of_identity(scene, &wanted.id)
}

/// The session of this identity.
pub(super) fn of_identity(scene: &Scene<'_>, id: &str) -> Result<Option<SessionChoice>, Error> {
    for (name, tip) in with_identity(scene, |found| found == id)? {
        if let Ok(tip) = checkpoint::load(scene.repo, tip) {
            return Ok(Some(SessionChoice {
                name,
                tip,
                why: SessionChoiceReason::Meant,
            }));
        }
    }
    Ok(None)
}

/// The other sessions with the identity of the one of this name. Earlier versions made such, and git does where it fetches
/// sessions.
pub(super) fn twins(scene: &Scene<'_>, id: &str, name: &ShortName) -> Result<Vec<(ShortName, ObjectId)>, Error> {
    let mut found = with_identity(scene, |found| found == id)?;
    found.retain(|(other, _)| other != name);
    Ok(found)
}

/// The sessions whose identity passes, with their latest checkpoints, latest first. A damaged session among the others
/// cannot be the reason to fail: it is looked at when it is named.
pub(super) fn with_identity(
    scene: &Scene<'_>,
    passes: impl Fn(&str) -> bool,
) -> Result<Vec<(ShortName, ObjectId)>, Error> {
    let found = identified(scene, passes)?.into_iter();
    Ok(found.map(|(_, name, tip)| (name, tip)).collect())
}

/// The same with their identities.
pub(super) fn identified(
    scene: &Scene<'_>,
    passes: impl Fn(&str) -> bool,
) -> Result<Vec<(String, ShortName, ObjectId)>, Error> {
    let all = session::all(scene.repo)?.into_iter();
    let all: Vec<_> = all
        .filter_map(|session| Some((ShortName::new(session.name).ok()?, session.tip.ok()?)))
        .collect();
    let sources: Vec<_> = all.iter().map(|(_, tip)| IdentitySource::of(tip)).collect();
    let ids = store::session_ids(scene.repo, &sources);
    let found = all.into_iter().zip(ids);
    let passing = found.filter_map(|((name, tip), id)| Some((id.filter(|id| passes(id))?, name, tip.id)));
    Ok(passing.collect())
}

/// A name for a session that is started without one: that of the branch, with a number behind it where a session here or a fetched one
/// has it.
pub(super) fn free_name(scene: &Scene<'_>, branch: Option<&str>) -> Result<ShortName, Error> {
    let name = ShortName::like(branch.unwrap_or("detached"));
    let fetched = session::fetched_names(scene.repo)?;
    let last = |name: &String| name.rsplit('/').next().unwrap_or_default().to_owned();
    let fetched: BTreeSet<String> = fetched.iter().map(last).collect();
    let is_free =
        |name: &ShortName| matches!(session::tip(scene.repo, name), Ok(None)) && !fetched.contains(name.as_str());
    if is_free(&name) {
        return Ok(name);
    }
    let numbered = (2..1000_u32).map(|n| name.numbered(n)).find(is_free);
    match numbered {
        Some(name) => Ok(name),
        None => Ok(ShortName::slug(name.as_str(), &super::ids::item_id()?)),
    }
}

/// The session paused last on this branch in this working tree, and the damaged sessions that could have been it.
pub(super) fn paused_here(
    scene: &Scene<'_>,
    branch: Option<&str>,
    worktree: &str,
) -> Result<(Option<SessionChoice>, Vec<String>), Error> {
    let mut damaged = Vec::new();
    for session in session::all(scene.repo)? {
        let Ok(tip) = session.tip else {
            damaged.push(session.name);
            continue;
        };
        // What was imported was put aside elsewhere: it is taken up when it is named, not because nothing else was.
        let waits = tip.trailers.status == Some(SessionStatus::Paused)
            && store::is_branch(scene.repo, tip.trailers.branch.as_deref(), branch)
            && tip.trailers.kind != Some(CheckpointKind::Import);
        let (true, Ok(name)) = (waits, ShortName::new(&session.name)) else {
            continue;
        };
        let Ok(tip) = checkpoint::load(scene.repo, tip.id) else {
            damaged.push(session.name);
            continue;
        };
        let document = &tip.document;
        let saved = document.git.branch.as_deref();
        if document.worktree.id == worktree
            && document.host == scene.host
            && store::is_branch(scene.repo, saved, branch)
        {
            return Ok((
                Some(SessionChoice {
                    name,
                    tip,
                    why: SessionChoiceReason::PausedHere,
                }),
                damaged,
            ));
        }
    }
    Ok((None, damaged))
}

/// A checkpoint read and verified.
pub(super) fn load(scene: &Scene<'_>, subject: &str, id: ObjectId) -> Result<Checkpoint, Error> {
    let objects = store::objects_dir(scene.repo);
    if let Some(seen) = scene.seen.get(&objects, id) {
        return Ok(seen);
    }
    let loaded = checkpoint::load(scene.repo, id).map_err(Error::damaged(subject))?;
    scene.seen.set(objects, &loaded);
    Ok(loaded)
}

/// Base of the next checkpoint: the tip's session and the part of its record that carries over.
pub(super) fn carried(tip: &Checkpoint, name: &ShortName) -> Subject {
    let mut session = tip.document.session.clone();
    session.name = name.clone();
    let record = Record {
        summary: None,
        auto_summary: false,
        error: None,
        attachments: Vec::new(),
        ..tip.document.record.clone()
    };
    Subject {
        session,
        record,
        log: Vec::new(),
        steps: Vec::new(),
    }
}

/// The subject with a session's draft applied, and the draft itself.
pub(super) fn with_draft(scene: &Scene<'_>, tip: &Checkpoint, subject: &mut Subject) -> Result<Draft, Error> {
    let draft = draft::read(scene.repo, &tip.document.session.id)?;
    subject.apply_all(draft.after(&tip.document.folded).map(|(_, operation)| operation))?;
    Ok(draft)
}

/// How many changes of a session's draft are to be saved: what several operations do to one item is one. None, where all
/// of them together leave what the checkpoint has as it is. Such are what an undo gives back to the draft although the
/// checkpoint has it, and an item that was added and taken out again.
pub(super) fn waiting(draft: &Draft, tip: &Checkpoint, name: &ShortName) -> usize {
    let document = &tip.document;
    let waiting = draft.waiting(&document.folded);
    if waiting == 0 {
        return 0;
    }
    let before = carried(tip, name);
    let mut after = before.clone();
    let applied = after.apply_all(draft.after(&document.folded).map(|(_, operation)| operation));
    // That a session was taken up again is nothing to save for.
    after.session.status = before.session.status;
    if after.record.summary == document.record.summary && !document.record.auto_summary {
        after.record.summary = None;
    }
    if applied.is_err() {
        return waiting;
    }
    if after == before {
        return 0;
    }
    let items = comparison::count(&comparison::compare(&before.record, &after.record));
    let steps: BTreeSet<_> = after.steps.iter().map(|change| &change.id).collect();
    match items + after.log.len() + steps.len() {
        0 => waiting,
        listed => listed,
    }
}
