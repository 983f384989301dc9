//! Sharing by itself: `checkpoint.autoPush` and `checkpoint.autoFetch`.
//!
//! A save only queues its session. A process in the background pushes what is queued to the one remote that is elected,
//! and keeps in the queue what could not be pushed. It never renames a session, publishes no secret and replaces nothing,
//! as a push by hand without options. After failures it waits longer and longer before a save lets it try again.
//!
//! A session that diverged from the remote's is merged first, its record alone: no file changes without a person, and
//! where something has to be decided it stays in the queue.

mod by_hand;

pub use by_hand::pushed_by_hand;

use std::time::Duration;

use super::{
    ChainRelation, Error, Wire,
    apart::PrunedApart,
    chain, fetch, find,
    push::{self, NamedElsewhere, PushFate, PushOutcome, PushRequest, PushSelection, PushedSession},
};
use crate::{
    model::{name::ShortName, outline::UnmergedFiles, selector::Selector, step::quoted, time::Timestamp},
    ops::{
        Error as OpsError, Scene,
        merge::{self, UnattendedOutcome},
        session_choice, unmerged_files,
    },
    store::{
        self, ObjectId,
        checkpoint::oid,
        lock,
        push_queue::{self, MergedRecord, QueuedSession, SharingState},
        refs,
        remote_state::RemoteState,
        session,
    },
};

/// The wait after a first failure; it doubles with each.
const FIRST_WAIT: i64 = 15;
/// The longest wait, in seconds.
const LONGEST_WAIT: i64 = 15 * 60;
/// How often sessions are fetched, in seconds.
const FETCH_EVERY: i64 = 5 * 60;
/// How often sessions are pushed in one round, since the remote may diverge again while their records are merged.
const MERGES: usize = 3;
/// How long a process waits for another one that is just looking whether anybody pushes.
const BUSY_WAIT: Duration = Duration::from_millis(200);

/// The sessions that wait to be pushed, and how the last attempts ended.
#[derive(Debug)]
pub struct AutomaticStatus {
    /// The remote of pushes.
    pub push: Option<String>,
    /// The remote of fetches.
    pub fetch: Option<String>,
    /// Sessions that wait to be pushed.
    pub queued: Vec<ShortName>,
    /// How the last attempts ended.
    pub state: SharingState,
    /// Sessions whose record was merged and whose files were not: the session, and the checkpoint that has the files.
    pub unmerged: Vec<(ShortName, UnmergedFiles)>,
}

/// Result of pushing the queue.
#[derive(Debug, Default)]
pub struct QueueOutcome {
    /// Results of the pushes.
    pub pushed: Vec<PushOutcome>,
    /// Sessions that still wait, each with the reason.
    pub waiting: Vec<(ShortName, String)>,
    /// Those of them that diverged and wait for a person to merge them.
    pub diverged: Vec<ShortName>,
    /// The ways on for those of them that the remote has under another name: each of them, with its command.
    pub ways: Vec<(ShortName, Vec<String>)>,
    /// Sessions whose record was merged with what the remote had.
    pub merged: Vec<(ShortName, ObjectId)>,
    /// Why nothing could be pushed, where that is about no single session.
    pub failure: Option<Error>,
    /// Whether another process pushes the queue at this moment.
    pub is_busy: bool,
}

/// The queue; `None` where nothing is shared automatically and nothing waits.
pub fn status(scene: &Scene<'_>) -> Option<AutomaticStatus> {
    let waiting = push_queue::list(scene.repo).into_iter();
    let waiting = waiting.filter(|one| !is_there(scene, &one.name));
    let queued: Vec<ShortName> = waiting.map(|one| one.name).collect();
    let settings = scene.settings;
    if settings.auto_push.is_none() && settings.auto_fetch.is_none() && queued.is_empty() {
        return None;
    }
    let mut state = push_queue::state(scene.repo);
    // Merged by a person since; the next push takes it.
    state
        .refused
        .retain(|(name, _)| queued.iter().any(|queued| queued.as_str() == name));
    let is_open = |name: &String| queued.iter().any(|queued| queued.as_str() == name) && has_diverged(scene, name);
    let (open, merged): (Vec<String>, Vec<String>) = state.diverged.into_iter().partition(is_open);
    state.diverged = open;
    state.refused.retain(|(name, _)| !merged.contains(name));
    Some(AutomaticStatus {
        push: settings.auto_push.clone(),
        fetch: settings.auto_fetch.clone(),
        queued,
        unmerged: unmerged(scene, &state.merged).collect(),
        state,
    })
}

/// Whether the elected remote was last seen to have just what is here of a session.
fn is_there(scene: &Scene<'_>, name: &ShortName) -> bool {
    let Ok(remote) = find(scene, scene.settings.auto_push.as_deref(), true) else {
        return false;
    };
    let (here, there) = (
        session::tip(scene.repo, name),
        refs::read(scene.repo, &remote.tracking_ref(name)),
    );
    match (here, there) {
        (Ok(Some(here)), Ok(Some(there))) => {
            here == there && !RemoteState::of(scene.repo, &remote.name).is_deleted(name.as_str(), there)
        }
        _ => false,
    }
}

/// Takes a session that was pushed from the queue, unless it was saved meanwhile.
fn settle(scene: &Scene<'_>, queued: &ShortName, sent: &PushedSession) -> Result<(), Error> {
    let is_more = || {
        let tip = session::tip(scene.repo, &sent.name).ok().flatten();
        tip.filter(|tip| *tip != sent.id)
    };
    Ok(push_queue::settle(scene.repo, queued, is_more)?)
}

/// Whether a session and the one of the elected remote have both new checkpoints, as far as is known here.
fn has_diverged(scene: &Scene<'_>, session: &str) -> bool {
    let relation = || -> Result<Option<ChainRelation>, Error> {
        let remote = find(scene, scene.settings.auto_push.as_deref(), true)?;
        let Ok(name) = ShortName::new(session) else {
            return Ok(None);
        };
        let theirs = refs::read(scene.repo, &remote.tracking_ref(&name))?;
        let (Some(ours), Some(theirs)) = (session::tip(scene.repo, &name)?, theirs) else {
            return Ok(None);
        };
        Ok(Some(chain::relation(scene.repo, ours, theirs)?))
    };
    // Of what cannot be compared the last push speaks.
    relation().map_or(true, |relation| {
        matches!(relation, Some(ChainRelation::Diverged { .. }))
    })
}

/// The sessions whose record was merged and whose files still are not, each with the checkpoint that has the files.
fn unmerged<'a>(
    scene: &'a Scene<'_>,
    merged: &'a [MergedRecord],
) -> impl Iterator<Item = (ShortName, UnmergedFiles)> + use<'a> {
    merged.iter().filter_map(|merged| {
        // Of what cannot be read there is nothing to merge; verify names it.
        let tip = session_choice::named(scene, &merged.session).ok()??.tip;
        let latest = unmerged_files::listed(scene, &tip, &merged.session)
            .into_iter()
            .next()?;
        Some((merged.session.clone(), latest))
    })
}

/// The command that merges a session which automatic sharing leaves to a person.
pub fn merge_command(remote: &str, session: &str) -> String {
    format!("git checkpoint pull {} {session} --merge", quoted(remote))
}

/// Lines for records that were merged and no command has reported yet; from now on they count as reported.
pub fn merged(scene: &Scene<'_>) -> Vec<String> {
    let mut open = push_queue::state(scene.repo).merged;
    open.retain(|merged| !merged.reported);
    if open.is_empty() {
        return Vec::new();
    }
    let lines = unmerged(scene, &open).map(|(session, files)| {
        let command = files.command;
        format!(
            "automatic sharing merged the record of session '{session}' with that of the remote, and no files; to merge \
             those: {command}"
        )
    });
    let lines = lines.collect();
    // Read again: a process that pushes may have noted something meanwhile.
    let mut state = push_queue::state(scene.repo);
    for merged in state.merged.iter_mut().filter(|merged| open.contains(merged)) {
        merged.reported = true;
    }
    // What cannot be noted is reported once more.
    let _ = push_queue::note(scene.repo, &state);
    lines
}

/// Queues a session that was saved. Returns whether a process is to be started that shares.
pub fn queue(scene: &Scene<'_>, name: &ShortName) -> Result<bool, Error> {
    let is_pushed = scene.settings.auto_push.is_some();
    if is_pushed && let Some(tip) = session::tip(scene.repo, name)? {
        push_queue::add(scene.repo, name, tip)?;
    }
    Ok(is_due(scene, is_pushed))
}

/// Whether a process is to be started: something may be pushed or fetched now, and no other process does it.
fn is_due(scene: &Scene<'_>, push: bool) -> bool {
    if !push && scene.settings.auto_fetch.is_none() {
        return false;
    }
    let state = push_queue::state(scene.repo);
    (push && may_try(&state, scene.now) || is_fetch_due(scene, &state)) && !lock::is_automatic_busy(scene.repo)
}

/// Whether a process is to be started only because sessions were not fetched for a while.
pub fn wants_fetch(scene: &Scene<'_>) -> bool {
    is_due(scene, false)
}

fn is_fetch_due(scene: &Scene<'_>, state: &SharingState) -> bool {
    scene.settings.auto_fetch.is_some() && state.fetched_at.is_none_or(|at| has_passed(at, scene.now, FETCH_EVERY))
}

/// Whether enough time has passed since the last failure. A clock that was set back is no reason to wait.
fn may_try(state: &SharingState, now: Timestamp) -> bool {
    let Some(at) = state.failed_at.filter(|_| state.failures > 0) else {
        return true;
    };
    has_passed(at, now, wait(state))
}

/// How many seconds a save waits for after so many failures.
fn wait(state: &SharingState) -> i64 {
    let doubled = FIRST_WAIT.checked_shl(state.failures.clamp(1, 20) - 1);
    doubled.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT)
}

fn has_passed(at: Timestamp, now: Timestamp, seconds: i64) -> bool {
    let passed = now.unix() - at.unix();
    passed < 0 || passed >= seconds
}

/// The failure that no command has reported yet; from now on it counts as reported.
pub fn unreported(scene: &Scene<'_>) -> Option<String> {
    let remote = scene.settings.auto_push.as_deref()?;
    let mut state = push_queue::state(scene.repo);
    if state.reported || (state.failures == 0 && state.refused.is_empty()) {
        return None;
    }
    let waiting = push_queue::list(scene.repo).len();
    if waiting == 0 {
        return None;
    }
    let sessions = if waiting == 1 {
        "1 session waits".to_owned()
    } else {
        format!("{waiting} sessions wait")
    };
    let ways = state.refused.first().and_then(|(name, _)| state.ways_of(name));
    let ways = ways.filter(|_| state.why.is_none());
    let why = match (&state.why, state.refused.first()) {
        (Some(why), _) => why.clone(),
        (None, Some((name, why))) => format!("session '{name}': {why}"),
        (None, None) => "it was interrupted".to_owned(),
    };
    let command = state.diverged.first().filter(|_| state.why.is_none());
    let command = command.map(|session| format!("; to merge it: {}", merge_command(remote, session)));
    let waits = match ways {
        // No save changes that.
        Some(ways) => format!("{sessions} until a person decides: {}", ways.join("; ")),
        None => format!("{sessions} for a later save, or for: git checkpoint push --queued"),
    };
    state.reported = true;
    push_queue::note(scene.repo, &state).ok()?;
    Some(format!(
        "automatic push to remote '{}' failed: {why}; {waits}{}",
        remote.escape_debug(),
        command.unwrap_or_default()
    ))
}

/// Message of a save whose session is queued and not pushed at once, because a push failed a moment ago: from when on a
/// save tries again.
pub fn postponed(scene: &Scene<'_>) -> Option<String> {
    scene.settings.auto_push.as_ref()?;
    let state = push_queue::state(scene.repo);
    if may_try(&state, scene.now) {
        return None;
    }
    let left = (wait(&state) - (scene.now.unix() - state.failed_at?.unix())).max(1);
    Some(format!(
        "not pushed yet: the last push failed; a save in {left} s or later tries again, and nothing else does but: git \
         checkpoint push --queued"
    ))
}

/// Pushes what is queued, and fetches if that is due. What fails stays in the queue.
pub fn run(scene: &Scene<'_>, wire: Wire<'_>) -> Result<QueueOutcome, Error> {
    loop {
        let outcome = match lock::automatic(scene.repo, BUSY_WAIT) {
            Ok(_held) => turn(scene, wire)?,
            Err(store::Error::Busy { .. }) => {
                return Ok(QueueOutcome {
                    is_busy: true,
                    ..QueueOutcome::default()
                });
            }
            Err(error) => return Err(error.into()),
        };
        // A process that saved while the lock was held has left this to us.
        let is_new = |one: &QueuedSession| outcome.waiting.iter().all(|(name, _)| *name != one.name);
        let more = push_queue::list(scene.repo).iter().any(is_new);
        if !more || outcome.failure.is_some() || (wire.stopped)() {
            return Ok(outcome);
        }
    }
}

/// One round, under the lock.
fn turn(scene: &Scene<'_>, wire: Wire<'_>) -> Result<QueueOutcome, Error> {
    let mut outcome = QueueOutcome::default();
    if let Some(remote) = &scene.settings.auto_push {
        push_all(scene, remote, &mut outcome, wire)?;
    }
    let is_due = is_fetch_due(scene, &push_queue::state(scene.repo));
    let fetched = scene.settings.auto_fetch.as_ref().filter(|_| is_due).map(|remote| {
        let request = fetch::FetchRequest {
            remote: Some(remote.clone()),
            ..fetch::FetchRequest::default()
        };
        fetch::fetch(scene, &request, wire).err().map(|error| error.to_string())
    });
    // Not before: while a remote was asked, commands have noted what they reported.
    let mut state = push_queue::state(scene.repo);
    if scene.settings.auto_push.is_some() {
        state.refused = outcome
            .waiting
            .iter()
            .map(|(name, why)| (name.to_string(), why.clone()))
            .collect();
        state.diverged = outcome.diverged.iter().map(ToString::to_string).collect();
        let ways = outcome.ways.iter();
        state.ways = ways.map(|(name, ways)| (name.to_string(), ways.clone())).collect();
        note_merged(scene, &mut state, &outcome.merged);
        let is_clean = outcome.failure.is_none() && outcome.waiting.is_empty();
        if is_clean {
            (state.failures, state.failed_at, state.why, state.reported) = (0, None, None, false);
        } else {
            state.failures = state.failures.saturating_add(1);
            state.failed_at = Some(scene.now);
            state.why = outcome.failure.as_ref().map(ToString::to_string);
        }
    }
    if let Some(failure) = fetched {
        state.fetch_failure = failure;
        state.fetched_at = Some(scene.now);
    }
    push_queue::note(scene.repo, &state)?;
    Ok(outcome)
}

/// Notes the records that were merged, and forgets those whose files are merged by now.
fn note_merged(scene: &Scene<'_>, state: &mut SharingState, merged: &[(ShortName, ObjectId)]) {
    for (session, theirs) in merged {
        state.merged.retain(|known| known.session != *session);
        state.merged.push(MergedRecord {
            session: session.clone(),
            theirs: oid(*theirs),
            reported: false,
        });
    }
    let open: Vec<ShortName> = unmerged(scene, &state.merged).map(|(session, _)| session).collect();
    state.merged.retain(|known| open.contains(&known.session));
}

/// Pushes all sessions at once, and each alone where that is refused as a whole.
fn push_all(scene: &Scene<'_>, remote: &str, outcome: &mut QueueOutcome, wire: Wire<'_>) -> Result<(), Error> {
    let mut names = Vec::new();
    for queued in push_queue::list(scene.repo) {
        match name_of(scene, &queued)? {
            Some(name) => names.push((queued.name, name)),
            None => push_queue::settle(scene.repo, &queued.name, || None)?,
        }
    }
    if names.is_empty() {
        return Ok(());
    }
    match push_some(scene, remote, &names, outcome, wire) {
        Err(error) if is_of_one(&error) && names.len() > 1 => {
            for one in names.chunks(1) {
                if let Err(error) = push_some(scene, remote, one, outcome, wire)
                    && give_up(error, one, outcome)
                {
                    break;
                }
            }
        }
        Err(error) => {
            give_up(error, &names, outcome);
        }
        Ok(()) => {}
    }
    Ok(())
}

/// Notes why sessions were not pushed; returns whether nothing else can be pushed either.
fn give_up(error: Error, names: &[(ShortName, ShortName)], outcome: &mut QueueOutcome) -> bool {
    let why = match &error {
        // Where they are is for a push by hand; a state file is no place for it.
        Error::Secrets { leaks, .. } if leaks.len() == 1 => "1 secret would be published".to_owned(),
        Error::Secrets { leaks, .. } => format!("{} secrets would be published", leaks.len()),
        error => error.to_string(),
    };
    let waiting = names.iter().map(|(queued, _)| (queued.clone(), why.clone()));
    outcome.waiting.extend(waiting);
    let all = !is_of_one(&error);
    if all {
        outcome.failure = Some(error);
    }
    all
}

/// Whether an error is about the sessions that were pushed, and not about others.
fn is_of_one(error: &Error) -> bool {
    match error {
        Error::Secrets { .. } | Error::Lfs { .. } => true,
        Error::Ops(error) => !matches!(**error, OpsError::Store(_)),
        _ => false,
    }
}

/// Pushes sessions. Those that diverged are merged and pushed again.
fn push_some(
    scene: &Scene<'_>,
    remote: &str,
    names: &[(ShortName, ShortName)],
    outcome: &mut QueueOutcome,
    wire: Wire<'_>,
) -> Result<(), Error> {
    let mut open = names.to_vec();
    for round in 1..=MERGES {
        let selectors = open.iter().map(|(_, name)| Selector::parse(name.as_str()));
        let request = PushRequest {
            remote: Some(remote.to_owned()),
            which: PushSelection::Named(selectors.collect::<Result<_, _>>().map_err(OpsError::from)?),
            autosaves: false,
            dry_run: false,
            allow_secrets: false,
            force: false,
            unattended: true,
        };
        let pushed = push::push(scene, &request, wire)?;
        let mut again = Vec::new();
        for sent in &pushed.sessions {
            for one in open.iter().filter(|(_, name)| *name == sent.name) {
                match after_push(scene, remote, sent, &one.0, outcome)? {
                    AfterPush::Settled => {}
                    AfterPush::Merged if round < MERGES => again.push(one.clone()),
                    AfterPush::Merged => {
                        outcome.diverged.push(one.0.clone());
                        outcome.waiting.push((one.0.clone(), reason(remote, sent)));
                    }
                    AfterPush::Waits(why) => outcome.waiting.push((one.0.clone(), why)),
                }
            }
        }
        outcome.pushed.push(pushed);
        if again.is_empty() {
            break;
        }
        open = again;
    }
    Ok(())
}

/// Follow-up of the push of a session.
enum AfterPush {
    /// The remote has it.
    Settled,
    /// It had diverged, and its record is merged: it can be pushed again.
    Merged,
    /// It waits, for this reason.
    Waits(String),
}

/// Takes a session that was pushed from the queue, and merges the record of one that diverged.
fn after_push(
    scene: &Scene<'_>,
    remote: &str,
    sent: &PushedSession,
    queued: &ShortName,
    outcome: &mut QueueOutcome,
) -> Result<AfterPush, Error> {
    if sent.fate.is_good() {
        settle(scene, queued, sent)?;
        return Ok(AfterPush::Settled);
    }
    if let PushFate::NamedOtherwise(elsewhere) = &sent.fate {
        let ways = elsewhere.ways(remote, &sent.name);
        outcome.ways.push((queued.clone(), ways));
    }
    if !matches!(sent.fate, PushFate::Diverged { .. }) {
        return Ok(AfterPush::Waits(reason(remote, sent)));
    }
    let why = match merge_record(scene, remote, &sent.name, outcome) {
        Ok(None) => return Ok(AfterPush::Merged),
        Ok(Some(refusal)) => refusal,
        Err(error) => format!("cannot be merged: {error}"),
    };
    outcome.diverged.push(queued.clone());
    Ok(AfterPush::Waits(format!("it has diverged, and {why}")))
}

/// Merges what a remote has of a session into its record. Returns why not, where that is left to a person.
fn merge_record(
    scene: &Scene<'_>,
    remote: &str,
    name: &ShortName,
    outcome: &mut QueueOutcome,
) -> Result<Option<String>, Error> {
    let remote = find(scene, Some(remote), true)?;
    let Some(theirs) = refs::read(scene.repo, &remote.tracking_ref(name))? else {
        return Ok(Some("what the remote has was not fetched".to_owned()));
    };
    let ours = session::tip(scene.repo, name)?;
    if ours.is_some_and(|ours| PrunedApart::of(scene.repo, ours, theirs).is_some()) {
        return Ok(Some("it was pruned on one side only".to_owned()));
    }
    Ok(match merge::merge_unattended(scene, (&remote.name, name), theirs)? {
        UnattendedOutcome::Merged => {
            outcome.merged.retain(|(known, _)| known != name);
            outcome.merged.push((name.clone(), theirs));
            None
        }
        UnattendedOutcome::UpToDate => None,
        UnattendedOutcome::Left(refusal) => Some(refusal.to_string()),
    })
}

fn reason(remote: &str, sent: &PushedSession) -> String {
    match &sent.fate {
        PushFate::Diverged { ours, theirs } => format!("it has diverged: {ours} here, {theirs} there"),
        PushFate::PrunedThere { .. } => format!(
            "it was pruned there, and not here: git checkpoint pull {} {}",
            quoted(remote),
            sent.name
        ),
        PushFate::Another => "the remote has another session of this name".to_owned(),
        PushFate::Deleted => "the remote deleted it".to_owned(),
        PushFate::NamedOtherwise(NamedElsewhere { there, .. }) => format!("the remote has it as {there}"),
        PushFate::Refused { why, .. } => format!("the remote refused it: {why}"),
        _ => String::new(),
    }
}

/// The session's name by now: it may have been renamed since, or be gone.
fn name_of(scene: &Scene<'_>, queued: &QueuedSession) -> Result<Option<ShortName>, Error> {
    if session::tip(scene.repo, &queued.name)?.is_some() {
        return Ok(Some(queued.name.clone()));
    }
    let Some(wanted) = queued.tip else { return Ok(None) };
    let all = session::all(scene.repo)?.into_iter();
    let same = |id: ObjectId| id == wanted;
    let found = all
        .filter(|session| session.tip.as_ref().is_ok_and(|tip| same(tip.id)))
        .find_map(|session| ShortName::new(session.name).ok());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_after_failures_grows_and_ends() {
        let at = Timestamp::from_unix(1_000_000, 0);
        let state = |failures| SharingState {
            failures,
            failed_at: Some(at),
            ..SharingState::default()
        };
        let after = |failures, seconds: i64| may_try(&state(failures), Timestamp::from_unix(1_000_000 + seconds, 0));
        assert!(may_try(&SharingState::default(), at) && after(0, 0));
        for (failures, wait) in [
            (1, 15_i64),
            (2, 30),
            (3, 60),
            (7, 900),
            (20, 900),
            (70, 900),
            (u32::MAX, 900),
        ] {
            assert!(!after(failures, wait - 1), "{failures}");
            assert!(after(failures, wait), "{failures}");
        }
        // The clock was set back.
        assert!(after(5, -10));
    }
}
