//! `save` and `pause`, and the receipt that every command ends with that makes a checkpoint.

mod words;

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use self::words::understand;
pub(super) use self::words::{sentence, session_meant};
use super::{
    Context, amend,
    compact::{self, Events},
    error::{CommandError, FailureKind},
    failure,
    input::{read_file, read_json},
    opening::{self, IdentityArgs, OpenedRepository},
    pending_merge, put_aside, record_fields, record_session, redactions, saved_content, shorthand,
    summary::SummaryArgs,
    views,
};
use crate::{
    model::{
        document::{CheckpointKind, SessionStatus},
        list::{SkipReason, SkippedEntry},
        name::ShortName,
        patch,
        selector::Selector,
    },
    ops::{
        amend::AmendRequest,
        chat::ChatChange,
        conclude, items,
        receipt::CheckpointOutcome,
        save::{self, SaveRequest},
        share, switch,
    },
    render::receipt::{SaveReceipt, UnsearchedRow},
};

/// Save your notes and the exact state of the files as a checkpoint
///
/// Tracked and untracked files are saved as they are, staged or not; ignored ones are not. The repository itself does
/// not change: no branch, no index, no stash, no file. Without a current session on this branch, the session last
/// paused on it continues, else a new one starts. A missing summary is made from the state of the repository.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Save with a summary and what comes next:
    git checkpoint save -m 'parser done, tests red' \\
      --next 'make refresh tests green'
  From a script, with a record as JSON on standard input:
    git checkpoint save --session auth --record - --json < record.json
  Under a name, to find it again:
    git checkpoint save --name before-merge
  Correct the summary of the latest checkpoint:
    git checkpoint save --amend -m 'parser done, tests green'
  Hand the session to somebody else:
    git checkpoint save -m 'tests green' --push

All members of a record, with their meaning: 'git checkpoint help schemas document'.")]
pub(super) struct Args {
    #[command(flatten)]
    common: SaveFlags,
    /// Save even if nothing changed
    #[arg(long)]
    allow_empty: bool,
    /// Change the notes of the latest checkpoint, not its files; 'list --trash' lists the old one
    #[arg(long, conflicts_with_all = ["allow_empty", "attachments", "tracked_only", "no_files", "push"])]
    amend: bool,
}

/// Save the session, mark it as paused, and leave it
///
/// Takes the options of 'save'. 'git checkpoint resume' continues the session.
///
/// With --clean the working tree and the index are then reset to HEAD, as after 'git stash -u': exactly what was saved
/// is removed or reset, once the checkpoint is verified. Ignored files, other repositories and files that were not
/// saved stay. 'git checkpoint resume --apply' brings everything back, and 'git checkpoint undo' too. While a merge,
/// rebase or the like is in progress, --clean is refused and nothing is saved.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Pause without a summary; one is made from the state of the repository:
    git checkpoint pause
  Put the work aside for something urgent, and bring it back:
    git checkpoint pause --clean -m 'half of the migration'
    git checkpoint resume --apply
  Leave notes for whoever continues:
    git checkpoint pause -m 'half of the migration' -a 'schema written' \\
      --next 'port the queries' -b 'needs staging access'")]
pub(super) struct PauseArgs {
    /// Reset the working tree and the index to HEAD afterwards
    #[arg(long, conflicts_with = "no_files")]
    clean: bool,
    #[command(flatten)]
    common: SaveFlags,
}

#[derive(Debug, clap::Args)]
struct SaveFlags {
    #[command(flatten)]
    whom: IdentityArgs,
    #[command(flatten)]
    text: SummaryArgs,
    /// An accomplishment; repeatable
    #[arg(allow_hyphen_values = true, short, long = "accomplishment", value_name = "TEXT")]
    accomplishments: Vec<String>,
    /// Next step; repeatable, replaces the previous list
    #[arg(
        allow_hyphen_values = true,
        short = 'x',
        long = "next",
        visible_alias = "next-step",
        value_name = "TEXT"
    )]
    next_steps: Vec<String>,
    /// A decision; repeatable
    #[arg(allow_hyphen_values = true, short, long = "decision", value_name = "TEXT")]
    decisions: Vec<String>,
    /// A blocker; repeatable
    #[arg(allow_hyphen_values = true, short, long = "blocker", value_name = "TEXT")]
    blockers: Vec<String>,
    /// A reminder; repeatable
    #[arg(allow_hyphen_values = true, long = "todo", value_name = "TEXT")]
    todos: Vec<String>,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// The text that follows -n, which takes none
    #[arg(hide = true, long = shorthand::DRY_RUN_TEXT, value_name = "TEXT", allow_hyphen_values = true)]
    dry_run_text: Option<String>,
    /// The summary, where it is without -m
    #[arg(hide = true, value_name = "TEXT")]
    words: Vec<String>,
    /// A name for the checkpoint, unique in its session
    #[arg(long, value_name = "NAME")]
    name: Option<ShortName>,
    /// The occasion, such as 'before-delegation'
    #[arg(long, value_name = "WORD")]
    trigger: Option<String>,
    /// An idempotency key: a second save with the same key saves nothing
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Progress, as step N of M
    #[arg(long, value_name = "N/M", value_parser = step)]
    step: Option<(u32, u32)>,
    /// A file to keep with the checkpoint; repeatable
    #[arg(long = "attach", value_name = "FILE")]
    attachments: Vec<PathBuf>,
    /// Merge JSON into the record; '-' is standard input
    ///
    /// Items of lists are added; an item with the id of an existing one changes it. null empties a list or removes a
    /// member, and any other value replaces the old one. An example with all members: 'git checkpoint help record'.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Replace the stored state with this JSON
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Save tracked files only; the default if status.showUntrackedFiles is 'no'
    #[arg(long, conflicts_with = "no_files")]
    tracked_only: bool,
    /// Save the record only
    #[arg(long)]
    no_files: bool,
    /// Accepted and without effect: nothing is ever committed on a branch
    #[arg(long, hide = true)]
    no_commit: bool,
    #[command(flatten)]
    events: Events,
    /// Push the session afterwards, to the usual remote
    #[arg(long, conflicts_with = "dry_run")]
    push: bool,
}

/// Reads `N/M`.
pub(super) fn step(text: &str) -> Result<(u32, u32), String> {
    let parsed = text
        .split_once('/')
        .and_then(|(n, of)| Some((n.trim().parse().ok()?, of.trim().parse().ok()?)));
    match parsed {
        Some((n, of)) if n <= of && of > 0 => Ok((n, of)),
        _ => Err("use N/M, such as 3/7".to_owned()),
    }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let mut request = SaveRequest::new(CheckpointKind::Save);
    request.allow_empty = args.allow_empty;
    let mode = if args.amend { SaveMode::Amend } else { SaveMode::Save };
    save(args.common, request, mode, context)
}

pub(super) fn pause(args: PauseArgs, context: &mut Context) -> Result<(), CommandError> {
    let mut request = SaveRequest::new(CheckpointKind::Pause);
    request.status = SessionStatus::Paused;
    request.leave = true;
    let mode = if args.clean { SaveMode::Clean } else { SaveMode::Save };
    save(args.common, request, mode, context)
}

/// How the arguments of a save are meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SaveMode {
    /// As another checkpoint.
    Save,
    /// As another checkpoint, after which the working tree is cleaned.
    Clean,
    /// As changes of the latest checkpoint.
    Amend,
}

fn save(
    mut args: SaveFlags,
    mut request: SaveRequest,
    mode: SaveMode,
    context: &mut Context,
) -> Result<(), CommandError> {
    let clean = mode == SaveMode::Clean;
    let command = match (mode, request.kind) {
        (SaveMode::Clean, _) => "pause --clean",
        (SaveMode::Amend, _) => "save --amend",
        (SaveMode::Save, CheckpointKind::Pause) => "pause",
        (SaveMode::Save, _) => "save",
    };
    if let Err(error) = understand(&mut args, command, &context.env.cwd) {
        return Err(session_meant(context, &args.whom, (command, &args.words), error));
    }
    let mut opened = opening::open(context, &args.whom)?;
    opening::warn_of_store(context, &opened)?;
    opened.settings.tracked_only |= args.tracked_only;
    if clean {
        put_aside::check_clean(&opened, args.dry_run)?;
    }
    if !args.dry_run && mode != SaveMode::Amend {
        ask_for_session(context, &opened)?;
    }
    if let Some(path) = &args.record {
        let mut record = read_json(context, path, "the record")?;
        request.session = record_session::take(&mut record)?;
        if request.session.is_some() && mode == SaveMode::Amend {
            return Err(record_session::not_amended());
        }
        record_fields::warn_unknown(context, &record);
        patch::refuse_repeated_ids(&record).map_err(crate::ops::Error::from)?;
        request.given = record_fields::changes(record.clone());
        if let Ok(now) = items::now(&opened.scene()) {
            record = patch::with_known_ids(record, &now.record);
        }
        request.recognized = record_fields::changes(record);
    }
    if let Some(path) = &args.state {
        let state = read_json(context, path, "the state")?;
        request.changes.push(json!({ "state": null }));
        request.changes.push(json!({ "state": state }));
    }
    if !args.next_steps.is_empty() {
        request.changes.push(json!({ "next_steps": null }));
    }
    let mut change = Map::new();
    let lists = [
        ("accomplishments", args.accomplishments),
        ("next_steps", args.next_steps),
        ("todos", args.todos),
        ("decisions", args.decisions),
        ("blockers", args.blockers),
    ];
    for (list, items) in lists {
        if !items.is_empty() {
            change.insert(list.to_owned(), items.into());
        }
    }
    if let Some((n, of)) = args.step {
        change.insert("step".to_owned(), json!({ "n": n, "of": of }));
    }
    if !change.is_empty() {
        request.changes.push(Value::Object(change));
    }
    if mode == SaveMode::Amend {
        let summary = amend::summary(
            context,
            &opened,
            args.text,
            request.recognized.is_empty() && request.changes.is_empty() && args.name.is_none(),
        )?;
        let request = AmendRequest {
            summary,
            name: args.name,
            trigger: args.trigger,
            changes: [request.recognized, request.changes].concat(),
            dry_run: args.dry_run,
        };
        return amend::amend(context, &opened, request);
    }
    if let Some(agent) = &args.whom.agent {
        request.session.get_or_insert_with(|| json!({}))["agent"] = agent.as_str().into();
    }
    request.attachments = attachments(context, &opened, &args.attachments)?;
    request.summary = args.text.summary(context, &opened)?;
    request.name = args.name;
    request.trigger = args.trigger;
    request.key = args.key;
    request.files = !args.no_files;
    request.dry_run = args.dry_run;
    if !args.dry_run
        && let Some(prepared) = compact::automatic(context, &opened, &args.events)
    {
        request.chat = ChatChange::Compact(Box::new(prepared));
    }
    let then = Afterwards { push: args.push, clean };
    report_and(context, &opened, request, &args.events, then)
}

/// Follow-up of a checkpoint: a push, a cleaning.
#[derive(Clone, Copy, Debug, Default)]
struct Afterwards {
    /// The session is pushed.
    push: bool,
    /// The working tree gets the state of HEAD.
    clean: bool,
}

/// Asks at a terminal which session is meant where the branch changed and the one checked out has none.
fn ask_for_session(context: &Context, opened: &OpenedRepository) -> Result<(), CommandError> {
    if !context.ui.can_ask() {
        return Ok(());
    }
    let scene = opened.scene();
    let Some((elsewhere, name)) = save::branch_change(&scene)? else {
        return Ok(());
    };
    let from = elsewhere.branch.as_deref().unwrap_or("a detached HEAD");
    let question = format!(
        "Session '{}' was saved on {from}. Start session '{name}' for this branch?",
        elsewhere.session.name
    );
    if !context.ui.agree(&question, "specify the session with --session")? {
        let selector = failure::selector(elsewhere.session.name.as_str())?;
        switch::switch(&scene, &selector, false)?;
    }
    Ok(())
}

/// The author of a checkpoint of this command: the agent, else the git user.
pub(super) fn author(scene: &crate::ops::Scene<'_>) -> String {
    save::author(scene)
}

/// Makes the checkpoint and reports it; also what other commands that end in a checkpoint do.
pub(super) fn report(
    context: &mut Context,
    opened: &OpenedRepository,
    request: SaveRequest,
) -> Result<(), CommandError> {
    report_and(context, opened, request, &Events::default(), Afterwards::default())
}

/// The same; receives the events of a compaction, and with `push` the session is pushed.
fn report_and(
    context: &mut Context,
    opened: &OpenedRepository,
    request: SaveRequest,
    events: &Events,
    then: Afterwards,
) -> Result<(), CommandError> {
    let change = request.chat.clone();
    let outcome = {
        let _counting = context.ui.counting("Looking at files");
        let mut outcome = save::save(&opened.scene(), request)?;
        conclude::conclude(&opened.scene(), &mut outcome);
        outcome
    };
    let receipt = outcome.receipt();
    if let ChatChange::Compact(prepared) = change {
        compact::completed(context, events, &prepared, receipt);
    }
    let ids = views::Ids::of(receipt);
    let mut view = views::receipt(&outcome, &ids);
    view.is_followed = then.clean;
    view.is_cut = context.ui.for_people();
    // Where tracked files alone were asked for, the receipt counts the others.
    let is_told = |skipped: &&SkippedEntry| !opened.settings.tracked_only || skipped.reason != SkipReason::Untracked;
    let skipped: Vec<_> = receipt.skipped.iter().filter(is_told).cloned().collect();
    for line in views::skipped_lines(&skipped) {
        context.ui.warning(&line);
    }
    for line in views::submodule_lines(&receipt.document.git) {
        context.ui.warning(&line);
    }
    pending_merge::report(context, opened, receipt);
    saved_content::warn(context, receipt);
    saved_content::warn_environment(context, receipt);
    redactions::warn(context, &receipt.redactions);
    if let Some(warning) = UnsearchedRow::warning(&view.unsearched) {
        context.ui.warning(&warning);
    }
    for session in &receipt.passed_over {
        context.ui.warning(&format!(
            "session '{session}' is damaged and was skipped; see: git checkpoint verify {session}"
        ));
    }
    for trouble in &receipt.trouble {
        context.ui.warning(&format!("the checkpoint is saved, but: {trouble}"));
    }
    if let Some(status) = receipt.reopened {
        context.ui.status(format!(
            "Reopened session {name}, which was {}; end it again: git checkpoint finish --session {name}",
            status.word(),
            name = receipt.session
        ));
    }
    if let Some(agent) = &receipt.other_agent {
        context.ui.warning(&format!(
            "session '{}' belongs to agent {agent}; use your own with --session or CHECKPOINT_SESSION",
            receipt.session
        ));
    }
    if !receipt.unreadable.is_empty() && !receipt.document.is_locked() {
        let lines: Vec<_> = receipt.unreadable.iter().map(ToString::to_string).collect();
        context.ui.warning(&format!(
            "the draft of this session has unreadable lines ({}), which are kept",
            lines.join(", ")
        ));
    }
    // With what follows, one JSON document has all of it.
    if !context.ui.options().json || !then.push && !then.clean {
        context.ui.report(&view)?;
    }
    if let Some(stored) = view.stored() {
        context.ui.detail(1, stored);
    }
    if matches!(outcome, CheckpointOutcome::Saved(_)) {
        let kind = receipt.document.kind;
        let unlisted = matches!(kind, CheckpointKind::Save | CheckpointKind::Pause).then(|| kind.word());
        super::prune::by_itself(context, &opened.scene(), unlisted);
        let scene = opened.scene();
        saved_content::hint_identity(context, &scene);
        // A file that is written now would have to be cleaned away at once.
        let trouble = if then.clean && !super::export::are_ignored(&scene) {
            super::share::automatic::shared(opened, &receipt.session)
        } else {
            super::share::automatic::after_checkpoint(opened, &receipt.session)
        };
        for trouble in trouble {
            context.ui.warning(&trouble);
        }
    }
    if then.push || then.clean {
        return follow_up(context, opened, &outcome, view, then);
    }
    match &outcome {
        CheckpointOutcome::Unchanged(_) if receipt.repeated => {}
        CheckpointOutcome::Unchanged(_) => context.ui.hint("Unchanged", "use --allow-empty to save anyway"),
        CheckpointOutcome::Saved(_) if receipt.status() == SessionStatus::Paused => {
            let then = format!("to continue: git checkpoint resume {}", receipt.session);
            context.ui.hint("Save", &then);
        }
        CheckpointOutcome::Saved(_) | CheckpointOutcome::Planned(_) => {}
    }
    partial(receipt.is_partial())
}

fn partial(is_partial: bool) -> Result<(), CommandError> {
    if is_partial {
        Err(CommandError::silent(FailureKind::Partial))
    } else {
        Ok(())
    }
}

/// Pushes what was saved and cleans the working tree. As JSON, one document has all of it.
fn follow_up(
    context: &mut Context,
    opened: &OpenedRepository,
    outcome: &CheckpointOutcome,
    view: SaveReceipt<'_>,
    then: Afterwards,
) -> Result<(), CommandError> {
    let receipt = outcome.receipt();
    let as_json = context.ui.options().json;
    let pushed = then
        .push
        .then(|| failure::selector(receipt.session.as_str()))
        .transpose()?
        .map(|session| send(context, opened, session));
    let mut document = as_json.then(|| {
        let push = pushed.as_ref().map(|pushed| pushed.as_ref().ok());
        json!(SaveReceipt {
            push: push.map(|pushed| pushed.map(super::share::push::view)),
            ..view
        })
    });
    if then.clean && receipt.is_partial() {
        context
            .ui
            .warning("not everything could be saved, so the working tree was not cleaned");
    } else if then.clean {
        let saved = match outcome {
            CheckpointOutcome::Planned(_) => None,
            CheckpointOutcome::Saved(_) | CheckpointOutcome::Unchanged(_) => receipt.id,
        };
        put_aside::clean(context, opened, &receipt.session, saved, document.take())?;
        if saved.is_some() {
            context.ui.hint(
                "Save",
                &format!("to bring it back: git checkpoint resume {} --apply", receipt.session),
            );
        }
    }
    if let Some(document) = document {
        context.ui.json(&document)?;
    }
    // What was saved is reported whether the push works or not.
    if let Some(pushed) = pushed {
        super::share::push::verdict(&pushed?)?;
    }
    partial(receipt.is_partial())
}

/// Pushes a session.
fn send(
    context: &Context,
    opened: &OpenedRepository,
    session: Selector,
) -> Result<share::push::PushOutcome, CommandError> {
    let request = share::push::PushRequest {
        remote: None,
        which: share::push::PushSelection::Named(vec![session]),
        autosaves: false,
        dry_run: false,
        allow_secrets: false,
        force: false,
        unattended: false,
    };
    super::share::push::send(context, opened, &request)
}

fn attachments(
    context: &Context,
    opened: &OpenedRepository,
    paths: &[PathBuf],
) -> Result<Vec<(String, Vec<u8>)>, CommandError> {
    let limit = opened.scene().settings.max_file_size;
    let mut out = Vec::new();
    for path in paths {
        let name = path
            .file_name()
            .map(|name| crate::model::path::RepoPath::new(name.as_encoded_bytes()).quoted());
        let name =
            name.ok_or_else(|| CommandError::new(FailureKind::Usage, format!("'{}' is not a file", path.display())))?;
        out.push((name, read_file(context, path, limit, "the attachment")?));
    }
    Ok(out)
}
