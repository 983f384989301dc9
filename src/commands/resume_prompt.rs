//! `resume --format prompt`: what was saved as text for an agent, also for the hooks of agents.

use super::error::{CommandError, FailureKind};
use crate::{
    agents::hooks::adapter,
    model::{document::CheckpointKind, name::ShortName, outline::PutAside, time::Timestamp},
    ops::{
        Scene,
        agent::{BrokenTurn, TurnBreak, broken_turn},
        resume::{self, ResumeOutcome},
    },
    os,
    render::{age::age, count::CountedNoun, prompt::ResumePrompt, resume::ResumePromptView},
    store::checkpoint::oid,
};

/// The prompt, at most so many characters.
pub(super) fn prompt(
    resumed: &ResumeOutcome,
    broken: Option<&BrokenTurn>,
    now: Timestamp,
    limit: usize,
) -> Result<String, CommandError> {
    let token = os::random_token().map_err(|e| {
        CommandError::new(
            FailureKind::Fatal,
            format!("cannot get random bytes: {}", os::reason(&e)),
        )
    })?;
    let id = oid(resumed.checkpoint.entry.id);
    let prompt = ResumePrompt {
        session: resumed.session.as_str(),
        checkpoint: id.short(),
        selector: if resumed.is_tip {
            resumed.session.as_str()
        } else {
            id.short()
        },
        notes: &notes(resumed, broken, now),
        foreign: resumed.foreign.as_deref(),
        author: &resumed.checkpoint.entry.author,
        contents: &resumed.contents,
        said: resumed.said.as_ref().map(|said| said.summary.as_str()),
        report: &resumed.report,
        now,
        token: &token,
    };
    Ok(prompt.text(limit))
}

/// Facts that are neither in the record that is shown nor in the working tree.
fn notes(resumed: &ResumeOutcome, broken: Option<&BrokenTurn>, now: Timestamp) -> Vec<String> {
    let mut out = Vec::new();
    out.extend(broken.map(|turn| broken_words(turn, now)));
    if let Some(info) = resumed
        .checkpoint
        .document
        .encrypted
        .as_ref()
        .filter(|info| info.is_locked)
    {
        out.push(format!(
            "The record is encrypted {}: what was saved of summary, next steps, decisions and chat is not shown here",
            info.words()
        ));
    }
    if resumed.draft > 0 {
        let changes = CountedNoun::new(resumed.draft, "change");
        out.push(format!(
            "{changes} of the record not saved yet, see: git checkpoint status"
        ));
    }
    out.extend(resumed.contents.put_aside.first().map(put_aside_words));
    out.extend(resumed.contents.unmerged_files.iter().map(|left| {
        let paths = CountedNoun::new(usize::try_from(left.paths).unwrap_or(usize::MAX), "path");
        let id = left.id.short();
        format!(
            "The files of {id} were not merged, only its record ({paths}): {}",
            left.command
        )
    }));
    out
}

/// The line about a turn without an end: `Claude Code was killed in the middle of a turn that it began 2 minutes ago;
/// what it changed may be unfinished`.
fn broken_words(turn: &BrokenTurn, now: Timestamp) -> String {
    let agent = adapter::named(&turn.agent).map_or(turn.agent.as_str(), |adapter| adapter.title);
    let how = match turn.how {
        TurnBreak::Killed => "was killed",
        TurnBreak::Ended => "ended",
        TurnBreak::Interrupted => "was interrupted",
    };
    let began = turn.began.map(|at| format!(" that it began {}", age(at, now)));
    format!(
        "{agent} {how} in the middle of a turn{}; what it changed may be unfinished",
        began.unwrap_or_default()
    )
}

/// The line about work that was put aside: `2 changes of 9a0b1c2d on main are put aside:
/// git checkpoint resume auth --apply`.
pub(super) fn put_aside_words(aside: &PutAside) -> String {
    let place = aside
        .branch
        .as_ref()
        .map(|branch| format!(" on {branch}"))
        .unwrap_or_default();
    let id = format!("{}{place}", aside.id.short());
    let what = match aside
        .missing_changes
        .map(|missing| usize::try_from(missing).unwrap_or(usize::MAX))
    {
        None => format!("the work of {id} is"),
        Some(1) => format!("1 change of {id} is"),
        Some(many) => format!("{} of {id} are", CountedNoun::new(many, "change")),
    };
    format!("{what} put aside: {}", aside.command)
}

/// The prompt for an agent that works in a session, and a text that is the same as long as the content is the same: it
/// has no times and no random words. `None` while there is nothing to say. `reader` is the agent and its session, which
/// know of their own turns.
pub(super) fn prompt_of(
    scene: &Scene<'_>,
    session: &ShortName,
    reader: Option<(&str, &str)>,
    limit: usize,
) -> Result<Option<(String, String)>, CommandError> {
    let resumed = resume::preview(scene, session)?;
    let checkpoint = &resumed.checkpoint;
    let broken = broken_turn(scene, &checkpoint.document, reader)?;
    if checkpoint.document.kind == CheckpointKind::Start && resumed.draft == 0 && broken.is_none() {
        return Ok(None);
    }
    let text = prompt(&resumed, broken.as_ref(), scene.now, limit)?;
    let mut report = serde_json::to_value(&resumed.report).unwrap_or_default();
    if let Some(report) = report.as_object_mut() {
        report.shift_remove("age");
    }
    Ok(Some((
        text,
        format!("{} {} {report}", checkpoint.digest, resumed.draft),
    )))
}

/// The longest context that an agent's hook injects, in characters.
pub(super) const PROMPT_SIZE: usize = 6_000;

/// The prompt for programs.
pub(super) fn prompt_view<'a>(
    resumed: &'a ResumeOutcome,
    broken: Option<&BrokenTurn>,
    now: Timestamp,
    limit: usize,
) -> Result<ResumePromptView<'a>, CommandError> {
    let checkpoint = &resumed.checkpoint;
    Ok(ResumePromptView {
        session: &resumed.session,
        session_id: &checkpoint.document.session.id,
        id: oid(checkpoint.entry.id),
        digest: &checkpoint.digest,
        is_latest: resumed.is_tip,
        status_before: resumed.standing.word(),
        fetched_from: &resumed.fetched,
        draft_operations: resumed.draft,
        drifted: resumed.report.drift.drifted,
        missing_changes: missing(resumed),
        prompt: prompt(resumed, broken, now, limit)?,
    })
}

/// The number of saved changes that are not in the working tree.
pub(super) fn missing(resumed: &ResumeOutcome) -> usize {
    let saved = resumed.report.saved.as_ref();
    // What another branch has is not missing.
    let saved = saved.filter(|_| resumed.committed.is_none());
    let latest = saved.map_or(0, |saved| saved.missing + saved.reverted);
    // One after the other: the latest checkpoint, then what was put aside before it.
    let missing = if latest > 0 {
        latest
    } else {
        resumed
            .contents
            .put_aside
            .first()
            .and_then(|aside| aside.missing_changes)
            .unwrap_or_default()
    };
    usize::try_from(missing).unwrap_or(usize::MAX)
}
