//! `list` and `log`: sessions, and the checkpoints of one, from commit messages alone.

use std::{collections::BTreeSet, time::Duration};

pub use super::remote_names::RenamedSession;
use super::{Error, Scene, remote_names, select, session_choice, suggestions};
use crate::{
    model::{
        document::{CheckpointKind, Session, SessionStatus},
        item,
        name::ShortName,
        record::{Record, TaskStatus},
        selector::Selector,
        time::Timestamp,
    },
    store::{
        self, ObjectId,
        checkpoint::{self, CheckpointCommit},
        current,
        session::{self, Broken},
        watch::{self, Watcher},
    },
};

/// Which sessions to list; a member that is absent excludes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Of this agent.
    pub agent: Option<String>,
    /// In this status; `interrupted` counts as a status of its own.
    pub status: Option<SessionStanding>,
    /// With this task: the session's, in words or by its id elsewhere, or one of the record, by id, issue or title.
    pub task: Option<String>,
    /// In this state: that of the session's task elsewhere, or with a task of this status; `blocked` also with a blocker.
    pub state: Option<String>,
    /// For this feature, by name or id.
    pub feature: Option<String>,
    /// For this issue: the session's, or of a task.
    pub issue: Option<String>,
    /// Saved last on this branch, also under a former name of it.
    pub branch: Option<String>,
    /// Whose name, branch or subject holds this text, whatever its case.
    pub grep: Option<String>,
    /// Saved last at or after this date, in any form git reads.
    pub since: Option<String>,
    /// Those fetched from remotes instead of the local ones.
    pub remote: bool,
    /// The local ones, and then those fetched from remotes.
    pub all: bool,
}

/// State of a session at the current time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStanding {
    /// As its latest checkpoint records it.
    Stated(SessionStatus),
    /// It is recorded as active, but has been silent for longer than `checkpoint.interruptedAfter`.
    Interrupted,
}

impl SessionStanding {
    /// State of the current session: one that was paused was resumed. One that was finished in another working
    /// tree is over there and here.
    fn of_current(self, is_over: bool) -> Self {
        match self {
            Self::Stated(_) if !is_over => Self::Stated(SessionStatus::Active),
            stated => stated,
        }
    }

    /// Whether the session has ended.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Stated(status) if status.is_finished())
    }

    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stated(status) => status.word(),
            Self::Interrupted => "interrupted",
        }
    }
}

impl std::str::FromStr for SessionStanding {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "interrupted" {
            Ok(Self::Interrupted)
        } else {
            text.parse().map(Self::Stated)
        }
    }
}

/// A session in a list.
#[derive(Debug)]
pub struct SessionSummaryRow {
    /// Its name, as its ref has it.
    pub name: String,
    /// Its latest checkpoint.
    pub tip: Result<(CheckpointCommit, SessionStanding), Broken>,
    /// Whether it is the current session of this working tree.
    pub current: bool,
}

/// More are not put in the order of time: to know it, each would have to be read.
const MOST_ORDERED: usize = 1_000;

/// Fetched sessions that have no session of the same name here.
#[derive(Debug, Default)]
pub struct FetchedSessions {
    /// Those that are not here, as `<remote>/<session>`, latest first; of more than a thousand by name, where the filter
    /// excludes nothing.
    pub not_here: Vec<String>,
    /// Those that are here under another name. Of more than a thousand, and beside very many sessions, none is looked for.
    pub renamed: Vec<RenamedSession>,
}

/// The fetched sessions of a filter that have no session of the same name here.
pub fn fetched_only(scene: &Scene<'_>, filter: &SessionFilter) -> Result<FetchedSessions, Error> {
    let mut names = session::fetched_names(scene.repo)?;
    let own = session::names(scene.repo)?;
    names.retain(|name| !own.contains(name.rsplit('/').next().unwrap_or_default()));
    if names.is_empty() {
        return Ok(FetchedSessions::default());
    }
    let shown = |names: &BTreeSet<String>| names.iter().map(|name| store::remote::shown(name)).collect::<Vec<_>>();
    let is_plain = *filter == SessionFilter::default();
    if !is_plain {
        let remote = SessionFilter {
            remote: true,
            all: false,
            ..filter.clone()
        };
        let fetched = sessions(scene, &remote)?.into_iter().map(|row| row.name);
        let fetched: Vec<String> = fetched.collect();
        let passing: BTreeSet<&String> = fetched.iter().collect();
        names.retain(|name| passing.contains(&store::remote::shown(name)));
        let renamed = renamed_among(scene, &mut names, own.len())?;
        let kept: BTreeSet<String> = shown(&names).into_iter().collect();
        let not_here = fetched.into_iter().filter(|name| kept.contains(name)).collect();
        return Ok(FetchedSessions { not_here, renamed });
    }
    let is_ordered = names.len() <= MOST_ORDERED;
    let renamed = renamed_among(scene, &mut names, own.len())?;
    if !is_ordered {
        let not_here = shown(&names);
        return Ok(FetchedSessions { not_here, renamed });
    }
    let found = session::fetched_named(scene.repo, |name| names.contains(name))?;
    let not_here = found.iter().map(|session| store::remote::shown(&session.name));
    Ok(FetchedSessions {
        not_here: not_here.collect(),
        renamed,
    })
}

fn renamed_among(scene: &Scene<'_>, names: &mut BTreeSet<String>, own: usize) -> Result<Vec<RenamedSession>, Error> {
    if names.is_empty() || names.len() > MOST_ORDERED || own > remote_names::MOST_SHOWN {
        return Ok(Vec::new());
    }
    remote_names::take_renamed(scene, names)
}

/// Sessions, latest first, damaged ones last.
pub fn sessions(scene: &Scene<'_>, filter: &SessionFilter) -> Result<Vec<SessionSummaryRow>, Error> {
    each_session(scene, filter, |row| row)
}

/// The results of `make` for the [`sessions`], in their order: in the two threads that read them, unless the filter asks for more
/// than their commits say.
pub fn each_session<T: Send>(
    scene: &Scene<'_>,
    filter: &SessionFilter,
    make: impl Fn(SessionSummaryRow) -> T + Sync,
) -> Result<Vec<T>, Error> {
    let standings = Standings::read(scene)?;
    let shared = scene.repo.clone().into_sync();
    let shown = |mut session: session::SessionTip| {
        if let Ok(entry) = &mut session.tip
            && entry.trailers.encrypted
        {
            checkpoint::reveal(&shared.to_thread_local(), entry);
        }
        standings.row(session)
    };
    let since = filter
        .since
        .as_deref()
        .map(|date| select::unix_time(scene, date))
        .transpose()?;
    if filter.branch.is_some() || filter.needs_document() {
        let kept = |row: &SessionSummaryRow| filter.keeps(since, row);
        let mut rows = each_row(scene, filter, |session| Some(shown(session)).filter(kept))?;
        rows.retain(|row| keeps_on_second_sight(scene, filter, row));
        return Ok(rows.into_iter().map(make).collect());
    }
    each_row(scene, filter, |session| {
        let row = shown(session);
        filter.keeps(since, &row).then(|| make(row))
    })
}

/// Rows of the sessions that a filter is for: the local ones first, then the fetched ones.
fn each_row<T: Send>(
    scene: &Scene<'_>,
    filter: &SessionFilter,
    make: impl Fn(session::SessionTip) -> Option<T> + Sync,
) -> Result<Vec<T>, Error> {
    let mut made = Vec::new();
    if filter.all || !filter.remote {
        made = session::each(scene.repo, |session| make(with_valid_name(session)))?;
    }
    if filter.all || filter.remote {
        made.extend(session::each_fetched(scene.repo, |session| {
            make(session::SessionTip {
                name: store::remote::shown(&session.name),
                ..session
            })
        })?);
    }
    Ok(made)
}

/// A session that no command takes by its name is shown as a damaged one, with the reason.
fn with_valid_name(session: session::SessionTip) -> session::SessionTip {
    match ShortName::new(session.name.as_str()) {
        Err(invalid) => session::SessionTip {
            tip: session.tip.and(Err(Broken::Name(invalid.reason))),
            ..session
        },
        Ok(_) => session,
    }
}

/// What the state of sessions depends on besides their checkpoints, read once for many.
struct Standings<'s> {
    current: Option<String>,
    /// Whether that one is over.
    is_over: bool,
    watchers: Vec<Watcher>,
    now: Timestamp,
    interrupted_after: Duration,
    host: &'s str,
}

impl<'s> Standings<'s> {
    fn read(scene: &Scene<'s>) -> Result<Self, Error> {
        let current = current::read_if_understood(scene.repo)?.session;
        let tip = current.as_ref().map(|current| session::tip(scene.repo, &current.name));
        let tip = tip.and_then(|tip| checkpoint::entry(scene.repo, tip.ok()??).ok());
        Ok(Self {
            is_over: tip.is_some_and(|tip| is_over(scene, &tip)),
            current: current.map(|current| current.name.to_string()),
            ..Self::of(scene)
        })
    }

    /// Without the current session.
    fn of(scene: &Scene<'s>) -> Self {
        Self {
            current: None,
            is_over: false,
            watchers: watch::all(scene.repo),
            now: scene.now,
            interrupted_after: scene.settings.interrupted_after,
            host: scene.host,
        }
    }

    fn row(&self, session: session::SessionTip) -> SessionSummaryRow {
        let current = self.current.as_ref() == Some(&session.name);
        let tip = session.tip.map(|entry| {
            let stated = self.standing(&entry);
            let standing = if current {
                stated.of_current(self.is_over)
            } else {
                stated
            };
            (entry, standing)
        });
        SessionSummaryRow {
            name: session.name,
            tip,
            current,
        }
    }

    /// A live watcher shows that work goes on, one that was cut off that it has stopped.
    fn standing(&self, tip: &CheckpointCommit) -> SessionStanding {
        let status = tip.trailers.status.unwrap_or(SessionStatus::Active);
        let silent = self.now.since(tip.time).to_std().unwrap_or_default();
        let of_this =
            |state: &watch::WatcherState| state.tip.as_ref().is_some_and(|id| checkpoint::object_id(id) == tip.id);
        let watched = self
            .watchers
            .iter()
            .any(|watcher| matches!(watcher, Watcher::Alive(Some(state)) if of_this(state)));
        let cut_off = self
            .watchers
            .iter()
            .any(|watcher| watcher.cut_off(self.host).is_some_and(of_this));
        if status == SessionStatus::Active && !watched && (cut_off || silent > self.interrupted_after) {
            SessionStanding::Interrupted
        } else {
            SessionStanding::Stated(status)
        }
    }
}

/// State of the session whose latest checkpoint this is.
pub fn session_standing(scene: &Scene<'_>, tip: &CheckpointCommit) -> SessionStanding {
    Standings::of(scene).standing(tip)
}

/// The same of the current session.
pub fn current_standing(scene: &Scene<'_>, tip: &CheckpointCommit) -> SessionStanding {
    session_standing(scene, tip).of_current(is_over(scene, tip))
}

/// Whether the session with this latest checkpoint was finished and not resumed since, which its draft shows. Who cannot
/// read that resumes it without a note.
fn is_over(scene: &Scene<'_>, tip: &CheckpointCommit) -> bool {
    if !tip.trailers.status.is_some_and(SessionStatus::is_finished) {
        return false;
    }
    let Ok(found) = checkpoint::load(scene.repo, tip.id) else {
        return false;
    };
    let mut subject = session_choice::carried(&found, &found.document.session.name);
    let drafted = session_choice::with_draft(scene, &found, &mut subject);
    drafted.is_ok() && !found.document.is_locked() && subject.session.status.is_finished()
}

/// Whether a filter lets a row through whose commit passes; damaged sessions pass every filter, so that they are not
/// overlooked.
fn keeps_on_second_sight(scene: &Scene<'_>, filter: &SessionFilter, row: &SessionSummaryRow) -> bool {
    let Ok((entry, _)) = &row.tip else { return true };
    let trailers = &entry.trailers;
    (filter.branch.is_none() || store::is_branch(scene.repo, trailers.branch.as_deref(), filter.branch.as_deref()))
        && (!filter.needs_document()
            || (filter.task.is_some() && filter.only_task() && filter.task == trailers.task)
            || fits(scene, filter, row, entry))
}

/// Whether a session is what a filter asks for, with what waits in its draft.
fn fits(scene: &Scene<'_>, filter: &SessionFilter, row: &SessionSummaryRow, entry: &CheckpointCommit) -> bool {
    let Ok(found) = checkpoint::load(scene.repo, entry.id) else {
        return false;
    };
    let mut subject = session_choice::carried(&found, &found.document.session.name);
    // What was fetched has no draft here; one that cannot be read is reported where it is used.
    if !row.name.contains('/') {
        let _ = session_choice::with_draft(scene, &found, &mut subject);
    }
    filter.fits(&subject.session, &subject.record)
}

/// Whether two words are the same, whatever their case; an issue may have its '#' or not, a state '-' for '_'.
fn is_same(wanted: &str, found: &str) -> bool {
    let plain = |text: &str| text.trim_start_matches('#').replace(['-', ' '], "_").to_lowercase();
    plain(wanted) == plain(found)
}

impl SessionFilter {
    /// Whether the state that it asks for is none that a task of the record can have.
    pub fn has_state_of_no_task(&self) -> bool {
        let known = |wanted: &String| {
            TaskStatus::ALL
                .iter()
                .any(|status| is_same(wanted, item::status_word(*status)))
        };
        self.state.as_ref().is_some_and(|wanted| !known(wanted))
    }

    /// Whether it lets a row through, as far as its commit shows. Damaged ones pass.
    fn keeps(&self, since: Option<i64>, row: &SessionSummaryRow) -> bool {
        let Ok((entry, standing)) = &row.tip else { return true };
        let trailers = &entry.trailers;
        let holds = |text: &String| {
            let text = text.to_lowercase();
            let summary = trailers.summary.as_deref().unwrap_or_default().to_lowercase();
            let branch = trailers.branch.as_deref().unwrap_or_default().to_lowercase();
            let subject = entry.subject.to_lowercase();
            [&row.name, &branch, &subject, &summary]
                .into_iter()
                .any(|found| found.contains(&text))
        };
        (self.agent.is_none() || self.agent == trailers.agent)
            && self.status.is_none_or(|wanted| wanted == *standing)
            && self.grep.as_ref().is_none_or(holds)
            && since.is_none_or(|since| entry.time.unix() >= since)
    }

    /// Whether it asks for what only the document has.
    fn needs_document(&self) -> bool {
        self.task.is_some() || !self.only_task()
    }

    /// Whether the task is all that it asks of the document.
    fn only_task(&self) -> bool {
        self.state.is_none() && self.feature.is_none() && self.issue.is_none()
    }

    /// Whether a session with its record is what is asked for.
    fn fits(&self, session: &Session, record: &Record) -> bool {
        let any = |wanted: &Option<String>, found: &[Option<&str>]| {
            wanted
                .as_deref()
                .is_none_or(|wanted| found.iter().flatten().any(|found| is_same(wanted, found)))
        };
        let tasks = || record.tasks.iter();
        let mut of_task = vec![session.task.as_deref(), session.task_id.as_deref()];
        of_task.extend(tasks().flat_map(|task| [Some(&*task.id), task.issue.as_deref(), Some(&*task.title)]));
        let mut states = vec![session.task_state.as_deref()];
        states.extend(tasks().map(|task| Some(item::status_word(task.status))));
        states.push((!record.blockers.is_empty()).then_some("blocked"));
        let mut issues: Vec<_> = session.issues.iter().map(|issue| Some(issue.as_str())).collect();
        issues.extend(tasks().map(|task| task.issue.as_deref()));
        any(&self.task, &of_task)
            && any(&self.state, &states)
            && any(
                &self.feature,
                &[session.feature.as_deref(), session.feature_id.as_deref()],
            )
            && any(&self.issue, &issues)
    }
}

/// Session of a log, with its checkpoints.
#[derive(Debug)]
pub struct SessionLog {
    /// The session; one that was fetched as `<remote>/<session>`.
    pub session: String,
    /// Where the chain breaks, and how.
    pub damage: Option<checkpoint::Fault>,
    /// For a fork, the checkpoint it came from.
    pub source: Option<ObjectId>,
    /// Whether there are more than were asked for.
    pub more: bool,
}

/// The log of a session, of the current one when none is named: from the selected checkpoint on, at most `limit`, none
/// older than a date in any form git reads. Each checkpoint goes to `each`, latest first: there may be a hundred
/// thousand.
pub fn log(
    scene: &Scene<'_>,
    selector: Option<&Selector>,
    limit: Option<usize>,
    since: Option<&str>,
    mut each: impl FnMut(CheckpointCommit),
) -> Result<SessionLog, Error> {
    let current = Selector::current();
    let (session, from) = select::commit(scene, selector.unwrap_or(&current))?;
    let fetched = select::remote(scene, selector.unwrap_or(&current));
    let session = match (session, fetched) {
        (Some(session), _) => session.to_string(),
        (None, Some((remote, session, _))) => format!("{remote}/{session}"),
        (None, None) => return Err(suggestions::none_current(scene)),
    };
    let since = since.map(|date| select::unix_time(scene, date)).transpose()?;
    let young = |entry: &Result<CheckpointCommit, checkpoint::Fault>| match entry {
        Ok(entry) => since.is_none_or(|since| entry.time.unix() >= since),
        Err(_) => true,
    };
    let mut chain = session::history(scene.repo, from).take_while(young);
    let (mut source, mut damage) = (None, None);
    for entry in chain.by_ref().take(limit.unwrap_or(usize::MAX)) {
        match entry {
            Ok(mut entry) => {
                let is_fork = entry.trailers.kind == Some(CheckpointKind::Fork);
                source = entry.parents.first().copied().filter(|_| is_fork);
                checkpoint::reveal(scene.repo, &mut entry);
                each(entry);
            }
            Err(fault) => (source, damage) = (None, Some(fault)),
        }
    }
    let more = chain.next().is_some();
    Ok(SessionLog {
        session,
        damage,
        source,
        more,
    })
}
