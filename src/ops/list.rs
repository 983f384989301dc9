//! `list` and `log`: sessions, and the checkpoints of one, from commit messages alone.

use super::{Error, Scene, select, session_choice};
use crate::{
    model::{
        document::{CheckpointKind, SessionStatus},
        selector::Selector,
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
#[derive(Debug, Default)]
pub struct SessionFilter {
    /// Of this agent.
    pub agent: Option<String>,
    /// In this status; `interrupted` counts as a status of its own.
    pub status: Option<SessionStanding>,
    /// With this task.
    pub task: Option<String>,
    /// Saved last on this branch.
    pub branch: Option<String>,
    /// Whose name or subject holds this text, whatever its case.
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
    /// As it says itself.
    Stated(SessionStatus),
    /// It says that it is active, but has been silent for longer than `checkpoint.interruptedAfter`.
    Interrupted,
}

impl SessionStanding {
    /// State of the current session: one that was put aside was taken up again.
    #[must_use]
    pub fn resumed(self) -> Self {
        match self {
            Self::Stated(_) => Self::Stated(SessionStatus::Active),
            Self::Interrupted => Self::Interrupted,
        }
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

/// Sessions, latest first, damaged ones last.
pub fn sessions(scene: &Scene<'_>, filter: &SessionFilter) -> Result<Vec<SessionSummaryRow>, Error> {
    let current = current::read_to_replace(scene.repo)?.session;
    let mut rows = Vec::new();
    let watchers = watch::all(scene.repo);
    let since = filter
        .since
        .as_deref()
        .map(|date| select::unix_time(scene, date))
        .transpose()?;
    let mut all = Vec::new();
    if filter.all || !filter.remote {
        all.extend(session::all(scene.repo)?);
    }
    if filter.all || filter.remote {
        let fetched = session::fetched(scene.repo)?;
        all.extend(fetched.into_iter().map(|session| session::SessionTip {
            name: store::remote::shown(&session.name),
            ..session
        }));
    }
    for session in all {
        let current = current.as_ref().is_some_and(|c| c.name.as_str() == session.name);
        let tip = session.tip.map(|entry| {
            let stated = standing_of_each(scene, &entry, &watchers);
            let standing = if current { stated.resumed() } else { stated };
            (entry, standing)
        });
        let row = SessionSummaryRow {
            name: session.name,
            tip,
            current,
        };
        if keeps(filter, since, &row) {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// State of the session whose latest checkpoint this is.
pub fn session_standing(scene: &Scene<'_>, tip: &CheckpointCommit) -> SessionStanding {
    standing_of_each(scene, tip, &watch::all(scene.repo))
}

/// The same with the watchers there are, read once for many sessions. A live one shows that somebody works, one that was
/// cut off that nobody does any more.
fn standing_of_each(scene: &Scene<'_>, tip: &CheckpointCommit, watchers: &[Watcher]) -> SessionStanding {
    let status = tip.trailers.status.unwrap_or(SessionStatus::Active);
    let silent = scene.now.since(tip.time).to_std().unwrap_or_default();
    let id = checkpoint::oid(tip.id);
    let of_this = |state: &watch::WatcherState| state.tip.as_ref() == Some(&id);
    let watched = watchers
        .iter()
        .any(|watcher| matches!(watcher, Watcher::Alive(Some(state)) if of_this(state)));
    let cut_off = watchers
        .iter()
        .any(|watcher| watcher.cut_off(scene.host).is_some_and(of_this));
    if status == SessionStatus::Active && !watched && (cut_off || silent > scene.settings.interrupted_after) {
        SessionStanding::Interrupted
    } else {
        SessionStanding::Stated(status)
    }
}

/// Whether a filter lets a row through; damaged sessions pass every filter, so that they are not overlooked.
fn keeps(filter: &SessionFilter, since: Option<i64>, row: &SessionSummaryRow) -> bool {
    let Ok((entry, standing)) = &row.tip else { return true };
    let trailers = &entry.trailers;
    let equal = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
    let holds = |text: &String| {
        let text = text.to_lowercase();
        let summary = trailers.summary.as_deref().unwrap_or_default().to_lowercase();
        row.name.contains(&text) || entry.subject.to_lowercase().contains(&text) || summary.contains(&text)
    };
    equal(&filter.agent, &trailers.agent)
        && equal(&filter.task, &trailers.task)
        && equal(&filter.branch, &trailers.branch)
        && filter.status.is_none_or(|wanted| wanted == *standing)
        && filter.grep.as_ref().is_none_or(holds)
        && since.is_none_or(|since| entry.time.unix() >= since)
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
        (None, None) => return Err(session_choice::none_current(scene)),
    };
    let since = since.map(|date| select::unix_time(scene, date)).transpose()?;
    let young = |entry: &Result<CheckpointCommit, checkpoint::Fault>| match entry {
        Ok(entry) => since.is_none_or(|since| entry.time.unix() >= since),
        Err(_) => true,
    };
    let mut chain = session::chain(scene.repo, from).take_while(young);
    let (mut source, mut damage) = (None, None);
    for entry in chain.by_ref().take(limit.unwrap_or(usize::MAX)) {
        match entry {
            Ok(entry) => {
                let is_fork = entry.trailers.kind == Some(CheckpointKind::Fork);
                source = entry.parents.first().copied().filter(|_| is_fork);
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
