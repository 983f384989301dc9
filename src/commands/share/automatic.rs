//! Sharing by itself, as commands see it: the process in the background is started and its failures are reported.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind},
        export,
        opening::{self, IdentityArgs, OpenedRepository},
    },
    model::name::ShortName,
    ops::{
        Scene,
        share::{
            Wire,
            automatic::{self, QueueOutcome},
        },
    },
    os,
    render::push_queue::{AutomaticSharing, MergedRow, PushedRow, QueueView, WaitingRow},
    store::checkpoint::oid,
};

/// The longest time of the process in the background: a server that never answers must not keep it for ever.
const LIMIT: Duration = Duration::from_secs(600);

/// The variables of the process in the background: whatever would ask for something fails instead.
const UNATTENDED: &[(&str, Option<&str>)] = &[
    ("GIT_TERMINAL_PROMPT", Some("0")),
    // An empty one asks no one, and turns core.askPass off as well.
    ("GIT_ASKPASS", Some("")),
    ("SSH_ASKPASS", None),
    ("SSH_ASKPASS_REQUIRE", Some("never")),
    ("GCM_INTERACTIVE", Some("never")),
    ("DISPLAY", None),
    ("WAYLAND_DISPLAY", None),
    // The session that a command names does not concern the queue.
    ("CHECKPOINT_SESSION", None),
    // Nothing that a caller wants to know about its own command.
    ("GIT_TRACE", None),
];

/// Everything that follows a checkpoint automatically: files of `checkpoint.exportTo` are rewritten, and the session is
/// shared. Returns a line for whatever did not work.
pub(in crate::commands) fn after_checkpoint(opened: &OpenedRepository, session: &ShortName) -> Vec<String> {
    let mut trouble = export::after_save(&opened.scene(), session);
    trouble.extend(shared(opened, session));
    trouble
}

/// Queues a session that was saved and lets it be pushed. Never fails and waits for nothing; returns lines for what is
/// to be reported.
pub(in crate::commands) fn shared(opened: &OpenedRepository, session: &ShortName) -> Vec<String> {
    let scene = opened.scene();
    if scene.settings.auto_push.is_none() && scene.settings.auto_fetch.is_none() {
        return Vec::new();
    }
    match automatic::queue(&scene, session) {
        Ok(true) => start(opened),
        Ok(false) => {}
        Err(error) => return vec![format!("the session was not queued for automatic push: {error}")],
    }
    let mut lines = automatic::merged(&scene);
    // What reports the failure says that the session waits.
    match automatic::unreported(&scene) {
        Some(failure) => lines.push(failure),
        None => lines.extend(automatic::postponed(&scene)),
    }
    lines
}

/// Lets sessions be fetched if that is due.
pub(in crate::commands) fn fetch_if_due(opened: &OpenedRepository) {
    if opened.scene().settings.auto_fetch.is_some() && automatic::wants_fetch(&opened.scene()) {
        start(opened);
    }
}

/// Lets what is queued be pushed along with a push of git's to this remote.
pub(in crate::commands) fn with_push(opened: &OpenedRepository, remote: Option<&str>) {
    let scene = opened.scene();
    let elected = scene.settings.auto_push.as_deref();
    if elected.is_some() && elected == remote && automatic::status(&scene).is_some_and(|found| !found.queued.is_empty())
    {
        start(opened);
    }
}

fn start(opened: &OpenedRepository) {
    let Some(program) = &opened.program else { return };
    let line: [OsString; 3] = ["push".into(), "--queued".into(), "--unattended".into()];
    // What cannot be started now is still queued.
    let _ = os::run_alone(program, &line, UNATTENDED);
}

/// The process in the background.
pub(super) fn unattended(context: &Context) -> Result<(), CommandError> {
    os::leave_terminal();
    let begun = Instant::now();
    let opened = opening::at(&context.env, &IdentityArgs::default(), context.env.now)?;
    let wire = Wire {
        said: &|_| {},
        progress: &|_, _, _| {},
        stopped: &|| begun.elapsed() > LIMIT,
    };
    automatic::run(&opened.scene(), wire)?;
    Ok(())
}

/// `push --queued`: pushes what waits, and reports it.
pub(super) fn queued(context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    if opened.scene().settings.auto_push.is_none() {
        return Err(CommandError::new(
            FailureKind::Refused,
            "nothing is pushed automatically: checkpoint.autoPush is not set",
        )
        .hint("choose a remote: git config checkpoint.autoPush <remote>"));
    }
    let outcome = super::wired(context, "git checkpoint push --queued", |wire| {
        automatic::run(&opened.scene(), wire)
    })?;
    report(context, opened.scene().settings.auto_push.clone(), outcome)
}

fn report(context: &Context, remote: Option<String>, outcome: QueueOutcome) -> Result<(), CommandError> {
    let ways_of = |name: &ShortName| {
        let mut ways = outcome.ways.iter();
        ways.find(|(waits, _)| waits == name).map(|(_, ways)| ways)
    };
    let pushed = outcome.pushed.iter().flat_map(|pushed| &pushed.sessions);
    let view = QueueView {
        remote: remote.clone(),
        busy: outcome.is_busy,
        pushed: pushed
            .filter(|sent| sent.fate.is_good())
            .map(|sent| PushedRow {
                session: sent.name.clone(),
                id: oid(sent.id),
                result: sent.fate.word(),
            })
            .collect(),
        waiting: outcome
            .waiting
            .iter()
            .map(|(name, why)| WaitingRow {
                session: name.to_string(),
                reason: why.clone(),
                command: outcome
                    .diverged
                    .contains(name)
                    .then(|| automatic::merge_command(remote.as_deref().unwrap_or_default(), name.as_str())),
                ways: ways_of(name).cloned().unwrap_or_default(),
            })
            .collect(),
        merged: outcome
            .merged
            .iter()
            .map(|(name, theirs)| MergedRow {
                session: name.to_string(),
                checkpoint: oid(*theirs).short().to_owned(),
                command: None,
            })
            .collect(),
        failure: outcome.failure.as_ref().map(ToString::to_string),
    };
    context.ui.report(&view)?;
    if let Some(error) = outcome.failure {
        return Err(CommandError::from(error).hint("the queue is kept"));
    }
    let Some((name, why)) = outcome.waiting.first() else {
        return Ok(());
    };
    let message = match outcome.waiting.len() {
        1 => format!("session '{name}' was not pushed: {why}"),
        all => format!("session '{name}' was not pushed: {why}; and {} more", all - 1),
    };
    if let Some(ways) = ways_of(name) {
        let error = CommandError::new(FailureKind::Refused, message);
        return Err(ways.iter().fold(error, |error, way| error.hint(way.as_str())));
    }
    let remote = view.remote.as_deref().unwrap_or_default();
    let hint = match view.waiting.first().and_then(|row| row.command.as_deref()) {
        Some(command) => format!("merge it: {command}"),
        None => format!("see the reason: git checkpoint push {remote} {name}"),
    };
    Err(CommandError::new(FailureKind::Refused, message).hint(hint))
}

/// The state of automatic sharing; `None` where nothing is shared automatically and nothing waits.
pub(in crate::commands) fn view(scene: &Scene<'_>) -> Option<AutomaticSharing> {
    let found = automatic::status(scene)?;
    let remote = found.push.clone().unwrap_or_default();
    let state = found.state.clone();
    let diverged = found.state.diverged;
    let refused = found.state.refused.into_iter();
    Some(AutomaticSharing {
        push: found.push,
        fetch: found.fetch,
        queued: found.queued,
        failures: found.state.failures,
        failed_at: found.state.failed_at,
        reason: found.state.why,
        refused: refused
            .map(|(session, reason)| WaitingRow {
                command: diverged
                    .contains(&session)
                    .then(|| automatic::merge_command(&remote, &session)),
                ways: state.ways_of(&session).map(<[String]>::to_vec).unwrap_or_default(),
                session,
                reason,
            })
            .collect(),
        merged: found
            .unmerged
            .into_iter()
            .map(|(session, files)| MergedRow {
                session: session.to_string(),
                command: Some(files.command),
                checkpoint: files.id.short().to_owned(),
            })
            .collect(),
        fetched_at: found.state.fetched_at,
        fetch_failure: found.state.fetch_failure,
    })
}
