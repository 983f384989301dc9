//! `status`: the current session, its draft, and the files now against its latest checkpoint.

use std::collections::BTreeSet;

use super::{
    Error, Scene, apply, chat,
    compose::{self, CurrentSnapshot},
    list::{self, SessionStanding},
    plan_runner::{self, PlanOperation},
    put_aside, resume, save, session_choice, share, suggestions,
    unapplied::{self, UnappliedPath},
};
use crate::{
    model::{
        comparison::{self, RecordDifference},
        document::Document,
        facts::GitFacts,
        list::SkippedEntry,
        name::ShortName,
        outline::PutAside,
    },
    os,
    store::{
        self, ObjectId,
        checkpoint::{self, Checkpoint},
        merge_state::MergeState,
        objects::Writer,
        prompt::Prompt,
        tree,
        watch::{self, Watcher},
    },
};

/// State of this working tree.
#[derive(Debug)]
pub struct StatusReport {
    /// State of the repository, files included.
    pub facts: GitFacts,
    /// The current session, if there is one.
    pub session: Option<CurrentSession>,
    /// Files and index that are not saved.
    pub unsaved: UnsavedWork,
    /// The current session, when its latest checkpoint is damaged: its name, and what is wrong.
    pub damaged: Option<(String, String)>,
    /// The session that was named and is not there, as in an error: with what is like it.
    pub absent: Option<Error>,
    /// A restore, apply or undo of this working tree that was interrupted.
    pub interrupted: Option<PlanOperation>,
    /// A merge or apply whose conflicts are being resolved, and how many paths are unmerged.
    pub in_conflict: Option<(MergeState, usize)>,
    /// Whether nothing of that merge or apply is in the files any more.
    pub is_discarded: bool,
    /// A command that changes the files of this working tree right now.
    pub running: Option<PlanOperation>,
    /// The watcher of this working tree, if there is or was one.
    pub watcher: Option<Watcher>,
    /// Whether the repository has no working tree.
    pub is_bare: bool,
    /// How many sessions there are.
    pub sessions: usize,
    /// The store that sessions are kept in where the repository's own directory cannot be written.
    pub store: Option<std::path::PathBuf>,
    /// How many of them are completed or failed; looked for only when none is current.
    pub finished: usize,
    /// Paths on disk that would not be in a checkpoint, sorted.
    pub left_out: Vec<SkippedEntry>,
    /// Work of the current session, or of the one that `resume` would choose, that `pause --clean` removed and that is
    /// missing, latest first.
    pub put_aside: Vec<PutAside>,
    /// Sessions fetched from remotes that this repository has under no name, as `<remote>/<session>`, latest first.
    pub fetched: Vec<String>,
    /// Whether there are no sessions here, and there is a remote that may have some.
    pub may_fetch: bool,
    /// Remotes that mirror every ref, checkpoints included.
    pub mirrors: Vec<String>,
}

/// The current session.
#[derive(Debug)]
pub struct CurrentSession {
    /// Its name.
    pub name: ShortName,
    /// Its latest checkpoint.
    pub tip: ObjectId,
    /// That checkpoint's document.
    pub document: Document,
    /// Its line in a log.
    pub subject: String,
    /// State.
    pub standing: SessionStanding,
    /// How many operations wait in the draft.
    pub draft: usize,
    /// Differences between the draft and the record of the latest checkpoint.
    pub record: Vec<RecordDifference>,
    /// How many contradictions a merge left in the record.
    pub conflicts: usize,
    /// How many lines of the session log wait in the draft.
    pub notes: usize,
    /// How many steps the draft begins or changes.
    pub steps: usize,
    /// Lines of the draft that cannot be read.
    pub unreadable: Vec<usize>,
    /// How many files differ from the latest checkpoint; `None` when that has no files.
    pub changed: Option<usize>,
    /// Saved changes of the latest checkpoint that are not in the files: a save would drop them.
    pub unapplied: Vec<UnappliedPath>,
    /// The working tree that saved the latest checkpoint, where that is another one of this repository.
    pub saved_elsewhere: Option<String>,
    /// How many checkpoints of hooks wait until a save can read the record.
    pub deferred: usize,
    /// Its chat.
    pub chat: chat::ChatLength,
    /// Relation to the last seen state of the remotes that have it.
    pub remotes: Vec<share::status::RemoteStanding>,
}

/// Work of the working tree that neither HEAD nor the latest checkpoint has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnsavedWork {
    /// How many files.
    pub files: usize,
    /// Whether something is staged, or an operation of git in progress, that is not saved so.
    pub state: bool,
}

impl StatusReport {
    /// Whether something is not saved that a save here would leave out: paths, and work in submodules.
    pub fn leaves_out(&self) -> bool {
        self.left_out.iter().any(|skipped| skipped.reason.is_unsaved()) || self.facts.submodules_changed.count > 0
    }

    /// Whether something is not saved that could be lost.
    pub fn is_unsaved(&self) -> bool {
        let waits = self
            .session
            .as_ref()
            .is_some_and(|current| current.draft > 0 || current.chat.waiting || current.deferred > 0);
        self.damaged.is_some() || waits || self.unsaved.files > 0 || self.unsaved.state
    }
}

/// Looks, and changes nothing.
pub fn status(scene: &Scene<'_>) -> Result<StatusReport, Error> {
    let bare = !store::has_files(scene.repo)?;
    let writer = Writer::memory(scene.repo);
    let present = compose::present(scene, &writer, !bare, &[])?;
    let overlay = writer.overlay(scene.repo);
    let mut damaged = None;
    let chosen = match session_choice::session_for_command(scene) {
        Err(Error::Damaged { subject, fault }) => {
            damaged = Some((subject, fault.to_string()));
            None
        }
        other => other?,
    };
    let unsaved = unsaved(scene, &overlay, chosen.as_ref().map(|chosen| &chosen.tip), &present)?;
    let session = match chosen {
        None => None,
        Some(chosen) => {
            let mut subject = session_choice::carried(&chosen.tip, &chosen.name);
            let before = subject.record.clone();
            let draft = session_choice::with_draft(scene, &chosen.tip, &mut subject)?;
            Some(CurrentSession {
                chat: chat_length(scene, &chosen)?,
                deferred: save::deferred::count(scene, &chosen.tip.document.session.id)?,
                remotes: share::status::of_session(scene, &chosen.name, chosen.tip.entry.id),
                standing: list::current_standing(scene, &chosen.tip.entry),
                draft: session_choice::waiting(&draft, &chosen.tip, &chosen.name),
                record: comparison::compare(&before, &subject.record),
                conflicts: subject.record.conflicts.len(),
                notes: subject.log.len(),
                steps: subject
                    .steps
                    .iter()
                    .map(|change| &change.id)
                    .collect::<BTreeSet<_>>()
                    .len(),
                unreadable: draft.unreadable,
                changed: changed(scene, &overlay, &chosen.tip, &present)?,
                unapplied: unapplied::missing(scene, &writer, &chosen.name, &chosen.tip, &present)?,
                saved_elsewhere: saved_elsewhere(scene, &chosen.tip.document),
                tip: chosen.tip.entry.id,
                name: chosen.name,
                subject: subject_of(&chosen.tip),
                document: chosen.tip.document,
            })
        }
    };
    // Without a current session all of them are looked at, once.
    let rows = match &session {
        Some(_) => Vec::new(),
        None => list::sessions(scene, &list::SessionFilter::default())?,
    };
    let finished = finished(&rows);
    // Damage is reported where the chain is needed.
    let tip = if let Some(current) = &session {
        Some((current.tip, current.name.to_string()))
    } else {
        let (rows, _) = resume::candidates_among(scene, rows);
        let first = rows.into_iter().next();
        first.and_then(|row| Some((row.tip.ok()?.0.id, row.name)))
    };
    let put_aside = tip
        .filter(|_| !bare)
        .and_then(|(tip, name)| Some((checkpoint::load(scene.repo, tip).ok()?, name)))
        .map(|(tip, name)| {
            (
                tip.document.session.id.clone(),
                put_aside::missing(scene, &writer, &tip, &name, &present),
            )
        });
    let (shown, mut put_aside) = put_aside.unwrap_or_default();
    if !bare {
        put_aside.extend(put_aside::of_branch(scene, &writer, &shown, &present)?);
    }
    let absent = match (&session, &damaged, scene.session) {
        (None, None, Some(name)) => Some(suggestions::absent(scene, name)),
        _ => None,
    };
    let fetched = list::fetched_only(scene, &list::SessionFilter::default())?.not_here;
    let sessions = store::session::names(scene.repo)?.len();
    let unmerged = present.lists().unmerged().count();
    let running = plan_runner::running(scene)?;
    let in_conflict = apply::pending(scene, &overlay, &present)?.filter(|_| running.is_none());
    let is_discarded = match in_conflict.as_ref().filter(|_| unmerged == 0) {
        Some(state) => matches!(apply::resolution(scene, state)?, apply::ResolutionState::Discarded(_)),
        None => false,
    };
    Ok(StatusReport {
        absent,
        in_conflict: in_conflict.map(|state| (state, unmerged)),
        is_discarded,
        running,
        put_aside,
        is_bare: bare,
        may_fetch: sessions == 0 && fetched.is_empty() && !store::remote::all(scene.repo).is_empty(),
        fetched,
        left_out: present.lists().skipped,
        facts: present.facts,
        finished,
        session,
        unsaved,
        damaged,
        interrupted: plan_runner::interrupted(scene)?,
        watcher: watch::here(scene.repo)?.filter(|watcher| is_news(scene, watcher)),
        sessions,
        store: store::read_only_directory(scene.repo).map(|_| scene.repo.common_dir().to_owned()),
        mirrors: store::change_stamp::mirrors(scene.repo),
    })
}

/// The length of the chat; none where it is encrypted and cannot be read here, which is noted.
fn chat_length(scene: &Scene<'_>, chosen: &session_choice::SessionChoice) -> Result<chat::ChatLength, Error> {
    match chat::standing(scene, chosen) {
        Err(Error::Damaged { fault, .. }) if fault.is_encrypted() => {
            os::notices::note(&format!("the record and the chat cannot be read here: {fault}"));
            Ok(chat::ChatLength::default())
        }
        length => length,
    }
}

/// The current session for a shell prompt.
pub fn prompt(scene: &Scene<'_>) -> Result<Option<Prompt>, Error> {
    let Some(chosen) = session_choice::session_for_command(scene)? else {
        return Ok(None);
    };
    let draft = store::draft::read(scene.repo, &chosen.tip.document.session.id)?;
    Ok(Some(Prompt {
        has_draft: session_choice::waiting(&draft, &chosen.tip, &chosen.name) > 0,
        session: chosen.name.to_string(),
    }))
}

/// How many sessions have ended.
fn finished(rows: &[list::SessionSummaryRow]) -> usize {
    let ended = |row: &&list::SessionSummaryRow| {
        let standing = row.tip.as_ref().ok().map(|(_, standing)| standing);
        matches!(standing, Some(SessionStanding::Stated(status)) if status.is_finished())
    };
    rows.iter().filter(ended).count()
}

fn changed(
    scene: &Scene<'_>,
    overlay: &store::Repository,
    tip: &Checkpoint,
    present: &CurrentSnapshot,
) -> Result<Option<usize>, Error> {
    let (Some(saved), Some(now)) = (&tip.document.snapshot, &present.snapshot) else {
        return Ok(None);
    };
    let then = checkpoint::object_id(&saved.tree);
    if compose::differ_in_exports(scene, overlay, [then, now.tree])? {
        return Ok(Some(0));
    }
    let changes = tree::diff(overlay, Some(then), Some(now.tree), tree::Renames::Off)?;
    Ok(Some(changes.len()))
}

/// The first line about a checkpoint, whole. The commit has that of an automatic one in the form that a template gives it, and
/// nothing of an encrypted one.
fn subject_of(tip: &Checkpoint) -> String {
    let document = &tip.document;
    let first = document.subject().lines().next().filter(|line| !line.is_empty());
    let is_of_commit = document.record.auto_summary && document.encrypted.is_none();
    first.filter(|_| !is_of_commit).unwrap_or(&tip.entry.subject).to_owned()
}

/// The working tree that saved a checkpoint, where it is another one of this repository.
fn saved_elsewhere(scene: &Scene<'_>, document: &Document) -> Option<String> {
    let (id, is_here) = (&document.worktree.id, document.host == scene.host);
    let is_other = is_here && *id != store::worktree_id(scene.repo) && store::worktree_path(scene.repo, id).is_some();
    is_other.then(|| document.worktree.path.clone())
}

/// Work that could be lost: neither HEAD nor the latest checkpoint has it.
fn unsaved(
    scene: &Scene<'_>,
    overlay: &store::Repository,
    tip: Option<&Checkpoint>,
    present: &CurrentSnapshot,
) -> Result<UnsavedWork, Error> {
    let Some(now) = &present.snapshot else {
        return Ok(UnsavedWork::default());
    };
    let saved = tip.and_then(|tip| tip.document.snapshot.as_ref());
    let head = present.facts.head.as_ref().map(checkpoint::object_id);
    let then = saved.map(|saved| checkpoint::object_id(&saved.tree));
    let own = compose::exported(scene);
    let mut files = 0;
    for change in tree::diff(overlay, head, Some(now.tree), tree::Renames::Off)? {
        let is_saved = match then {
            Some(then) => tree::entry(overlay, then, &change.path)? == change.new,
            None => false,
        };
        files += usize::from(!is_saved && !own.contains(&change.path));
    }
    let is_staged = !tree::diff(overlay, head, Some(now.index_tree), tree::Renames::Off)?.is_empty()
        && saved.is_none_or(|saved| checkpoint::object_id(&saved.index) != now.index_tree);
    let is_begun = present.facts.operation.as_ref().is_some_and(|operation| {
        let known = tip.and_then(|tip| tip.document.git.operation.as_ref());
        !known.is_some_and(|known| known.is_same(operation))
    });
    Ok(UnsavedWork {
        files,
        state: is_staged || is_begun,
    })
}

/// Whether the report of a watcher is still news: one that was cut off is not, once its session was saved after that.
fn is_news(scene: &Scene<'_>, watcher: &Watcher) -> bool {
    let Watcher::Gone(state) = watcher else { return true };
    let Some(session) = &state.session else { return true };
    let tip = store::session::tip(scene.repo, &session.name).ok().flatten();
    tip.is_none() || tip.map(checkpoint::oid) == state.tip
}
