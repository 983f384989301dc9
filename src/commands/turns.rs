//! `turns` and `rewind`: the turns of coding agents, and going back to one of them.

use super::{
    Context, agent_session,
    error::CommandError,
    failure,
    opening::{self, IdentityArgs, OpenedRepository},
    restore_report::{self, RestoreView},
    resume_prompt,
    row_args::DateArg,
};
use crate::{
    model::{path::RepoPath, selector::Selector, turn::TokenUsage},
    ops::{
        self,
        agent::{
            self, resumption,
            turns::{self, RewindTarget, SavedTurn},
        },
        plan_runner::AppliedPlan,
        restore as op, select,
    },
    render::turns::{AgentSessionView, RewindView, TurnRow, TurnsView},
    store::{self, checkpoint::oid},
};

/// The number of turns that are listed.
const LISTED: usize = 30;

/// List the turns of a coding agent, with their prompts and files
///
/// A turn is a prompt and everything the agent did in response, saved as one checkpoint by the hooks that 'git
/// checkpoint enable' sets up. The latest turn is the last line.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  The turns of the current session:
    git checkpoint turns
  With the files that each one changed:
    git checkpoint turns --files
  Go back to the state after turn 4, or to before the latest one:
    git checkpoint rewind 4
    git checkpoint rewind")]
pub(super) struct Args {
    /// The session, or a checkpoint up to which turns are listed
    #[arg(value_name = "SESSION")]
    selector: Option<String>,
    /// List the files that each turn changed
    #[arg(long)]
    files: bool,
    /// List all turns, not only the last 30
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    date: DateArg,
}

/// Go back to the state after an earlier turn of an agent
///
/// Restores the files as the turn left them, and gives the agent a copy of its session that ends there, under a new id,
/// with the command that resumes it. Without a number, the latest turn is reverted: the files become what they were
/// before its prompt; again, the one before it. Your current files are saved first, and 'git checkpoint undo' reverts the
/// rewind.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Show the plan, then revert the latest turn:
    git checkpoint rewind --dry-run
    git checkpoint rewind
  The state after turn 4:
    git checkpoint rewind 4
  The state before turn 4, edits by hand included:
    git checkpoint rewind 4 --before
  Undo it:
    git checkpoint undo")]
pub(super) struct RewindArgs {
    /// The number of the turn, as 'git checkpoint turns' lists it
    #[arg(value_name = "TURN")]
    turn: Option<usize>,
    /// Go back to the state before the turn
    #[arg(long, requires = "turn")]
    before: bool,
    /// The session; the current one by default
    #[arg(long = "of", value_name = "SESSION")]
    of: Option<String>,
    /// Rewind only the agent's session, not the files
    #[arg(long)]
    conversation_only: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Override the safety checks; files in the way are saved first
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    whom: IdentityArgs,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let dates = args.date.style()?;
    let selector = args.selector.as_deref().map(failure::selector).transpose()?;
    turns::settle(&opened.scene());
    let found = turns::turns(&opened.scene(), selector.as_ref())?;
    let sum = |total: TokenUsage, turn: &SavedTurn| total.plus(turn.turn.tokens.unwrap_or_default());
    let costs: Vec<f64> = found
        .turns
        .iter()
        .filter_map(|turn| dollars(turn.turn.cost_micros))
        .collect();
    let omitted = if args.all {
        0
    } else {
        found.turns.len().saturating_sub(LISTED)
    };
    let view = TurnsView {
        session: found.session.to_string(),
        tokens: found.turns.iter().fold(TokenUsage::default(), sum),
        cost: (!costs.is_empty()).then(|| costs.iter().sum()),
        turns: found.turns.iter().skip(omitted).map(row).collect(),
        omitted,
    };
    if view.turns.is_empty() {
        require_readable(&opened, selector)?;
    }
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    if view.turns.is_empty() {
        context.ui.status("No turns found.");
        context
            .ui
            .hint("Turns", "to save each turn of your agents: git checkpoint enable");
    } else if context.ui.options().quiet == 0 {
        let columns = context.ui.table_width();
        context.ui.data(if args.files {
            view.files_text()
        } else {
            view.text(opened.scene().now, &dates, columns)
        });
    }
    Ok(())
}

/// Fails where the turns are encrypted and cannot be read here: then they are not none.
fn require_readable(opened: &OpenedRepository, selector: Option<Selector>) -> Result<(), CommandError> {
    let selector = match selector {
        Some(selector) => selector,
        None => failure::selector("@")?,
    };
    let selected = select::checkpoint(&opened.scene(), &selector)?;
    let document = selected.checkpoint.document;
    if document.is_locked() {
        let session = selected.session.unwrap_or(document.session.name).to_string();
        return Err(ops::Error::from(store::Error::RecordLocked { session }).into());
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "no sum of money is that large")]
fn dollars(micros: Option<u64>) -> Option<f64> {
    micros.filter(|micros| *micros > 0).map(|micros| micros as f64 / 1e6)
}

fn row(turn: &SavedTurn) -> TurnRow {
    let about = turn.turn.clone();
    TurnRow {
        n: turn.n,
        id: oid(turn.id),
        before: turn.before.map(oid),
        agent: about.agent,
        agent_session: about.agent_session,
        key: about.key,
        subject: about.subject,
        started_at: about.started_at,
        ended_at: about.ended_at,
        outcome: about.outcome.word(),
        model: about.model,
        tokens: about.tokens,
        cost: dollars(about.cost_micros),
        files: about.files,
        files_omitted: about.files_omitted,
        follows_edits: turn.follows_edits,
        inexact: about.inexact,
    }
}

pub(super) fn rewind(args: RewindArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    let selector = args.of.as_deref().map(failure::selector).transpose()?;
    turns::settle(&opened.scene());
    let target = turns::rewind_target(&opened.scene(), args.turn, args.before, selector.as_ref())?;
    let restored = restore_report::bringing(context, &opened, |progress| {
        let request = op::RestoreRequest {
            selector: turns::selector_of(target.to),
            pathspecs: Vec::new(),
            directory: RepoPath::new(""),
            dry_run: args.dry_run,
            index: false,
            files: !args.conversation_only,
            record: false,
            overlay: false,
            force: args.force,
            reverts: false,
            expected: None,
            parts: None,
        };
        Ok(op::restore(&opened.scene(), &request, progress)?)
    })?;
    let is_refused = !restored.refusals().is_empty();
    let is_idle = restored.brought.as_ref().is_none_or(AppliedPlan::is_nothing);
    let is_there = is_idle && target.is_reached && !args.conversation_only;
    let kept = resumption::kept(&target.document, Some(&target.turn.turn.agent));
    let resumed = match &kept {
        Some(kept) if !is_refused && !is_there && kept.resumes() => {
            let session = agent_session::session_ref(&target.document, &target.session);
            let root = store::work_tree(opened.scene().repo)?.to_owned();
            Some(agent_session::in_place(
                context,
                &opened,
                session,
                &target.document,
                kept,
                &agent_session::AgentPlace {
                    root: &root,
                    is_copy: true,
                    dry_run: args.dry_run,
                },
            )?)
        }
        _ => None,
    };
    // Changes that were taken back are not reported to the agent as missing.
    if let Some(resumed) = resumed.as_ref().filter(|_| !args.dry_run)
        && let Some((_, state)) =
            resume_prompt::prompt_of(&opened.scene(), &target.session, None, resume_prompt::PROMPT_SIZE)?
    {
        agent::mark_known(&opened.scene(), resumed.agent, &resumed.id, &state)?;
    }
    let agent = resumed.as_ref().map(agent_session::view_of);
    let force = force_line(&args, &opened.session_option());
    let report = RestoreView {
        restored: Some(&restored),
        force: &force,
        within: context
            .ui
            .options()
            .json
            .then(|| rewind_view(&args, &target, agent.as_ref())),
        more: agent.as_ref().map(|agent| agent.text(args.dry_run)).unwrap_or_default(),
        ..RestoreView::default()
    };
    restore_report::report(context, &opened, &report)?;
    if let Some(kept) = kept.as_ref().filter(|kept| !is_refused && !kept.resumes()) {
        let (title, name) = (kept.agent.title(), kept.agent.name());
        context.ui.warning(&format!(
            "{title} takes no session file, so its conversation stays as it is"
        ));
        let line = format!("start it with the saved context: git checkpoint resume --agent {name}");
        context.ui.hint("Rewind", &line);
    }
    if !context.ui.options().json && context.ui.options().quiet == 0 && kept.is_none() {
        context.ui.hint(
            "Rewind",
            "the agent's conversation up to that turn is not kept: checkpoint.transcripts is not 'full', or it is empty",
        );
    }
    Ok(())
}

fn force_line(args: &RewindArgs, session: &str) -> String {
    let turn = args.turn.map(|turn| format!(" {turn}")).unwrap_or_default();
    let before = if args.before { " --before" } else { "" };
    format!("git checkpoint rewind{turn}{session}{before} --force")
}

fn rewind_view(args: &RewindArgs, target: &RewindTarget, agent: Option<&AgentSessionView>) -> serde_json::Value {
    let view = RewindView {
        dry_run: args.dry_run,
        session: target.session.to_string(),
        turn: target.turn.n,
        subject: target.turn.turn.subject.clone(),
        before: args.before || args.turn.is_none(),
        to: oid(target.to),
        files: serde_json::Value::Null,
        agent: None,
    };
    let mut view = serde_json::to_value(view).unwrap_or_default();
    view["agent"] = serde_json::to_value(agent).unwrap_or_default();
    view
}
