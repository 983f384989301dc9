//! `compact` and `clear`: a summary in the place of messages, or no messages; and the compaction that other commands do
//! by themselves.

use serde_json::{Value, json};

use super::{
    Context,
    error::{CommandError, FailureKind},
    opening::{self, IdentityArgs, OpenedRepository},
    redactions, views,
};
use crate::{
    ops::{
        self,
        chat::{
            self, SessionChat,
            compact::{self, CompactionEvent, CompactionRequest, PreparedSummary},
            request::{self, ContextRequest},
        },
        clear::{self, ClearScope},
        compact::CompactionCause,
        contents,
        receipt::CheckpointReceipt,
    },
    render::{
        chat as render,
        messages::{
            ChatShortness, ClearReceipt, CompactReceipt, CompactionDryRun, CompactionPlanRow, CompactionRow,
            RequestSize, messages,
        },
    },
    store,
    tokens::models::TokenMethod,
};

/// Summarize older messages
///
/// Nothing is erased: 'message list --full' shows the whole chat. The summary comes from the program in
/// checkpoint.compactCommand, else it is extractive: lines taken from the messages by simple rules, offline. Saving and
/// requesting do this automatically at checkpoint.compactAt tokens. 'git checkpoint undo' takes the summary back that this
/// command made, and what it saved of the draft stays saved.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Show the plan, then compact even a short chat:
    git checkpoint compact --dry-run
    git checkpoint compact --force
  Use your own summarizer:
    git config checkpoint.compactCommand 'my-summarizer --json'")]
pub(super) struct Args {
    #[command(flatten)]
    whom: IdentityArgs,
    /// Compact even below the limit
    #[arg(long)]
    force: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    events: Events,
}

/// The option of commands that may compact.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Events {
    /// Print events as JSON lines on standard error: compaction:start, compaction:complete, compaction:error
    #[arg(long)]
    pub(super) events: bool,
}

/// Clear the chat of the session
///
/// The previous checkpoint keeps it, and 'git checkpoint undo' brings it back.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Start an iteration with an empty chat; record, context and summary stay:
    git checkpoint clear --messages --yes
  Start over, without the record as well:
    git checkpoint clear --all")]
pub(super) struct ClearArgs {
    #[command(flatten)]
    whom: IdentityArgs,
    /// Clear the messages
    #[arg(long, required_unless_present = "all", conflicts_with = "all")]
    messages: bool,
    /// Clear messages, summary, context, agent description and record
    #[arg(long)]
    all: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Prints events as they happen.
fn print_outcome(context: &Context, events: &Events, event: &CompactionEvent) {
    if events.events {
        let (name, members) = event;
        let mut value = json!({ "event": name });
        if let (Value::Object(out), Value::Object(members)) = (&mut value, members) {
            out.extend(members.clone());
        }
        context.ui.event(&value);
    }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    let scene = opened.scene();
    if context.env.flag(compact::MARK) == Some(true) {
        return Err(CommandError::new(
            FailureKind::Refused,
            "a compaction is in progress, and a summarizer cannot start another",
        ));
    }
    chat::require_readable(&scene)?;
    let chat = SessionChat::open(&scene)?;
    let fixed = fixed(&opened, &chat)?;
    if args.dry_run {
        let plan = compact::plan(&scene, &chat, args.force, &fixed)?;
        let plan = plan.map(|plan| compact::check_plan(&scene, &chat, plan)).transpose()?;
        return dry_run(
            context,
            &chat,
            plan.flatten().as_ref(),
            (scene.settings.compact_at, args.force),
        );
    }
    let before = request_tokens(&opened, &chat)?;
    drop(chat);
    let (shown, events) = (&*context, &args.events);
    let done = ops::compact::compact(
        &scene,
        CompactionCause::Command,
        &mut CompactionRequest {
            force: args.force,
            fixed: &fixed,
            events: &mut |event| print_outcome(shown, events, &event),
        },
    )?;
    let Some((outcome, prepared)) = done else {
        let chat = SessionChat::open(&scene)?;
        return dry_run(context, &chat, None, (scene.settings.compact_at, args.force));
    };
    let receipt = outcome.receipt();
    warn(context, &prepared);
    for trouble in &receipt.trouble {
        context.ui.warning(&format!("the checkpoint is saved, but: {trouble}"));
    }
    for trouble in super::share::automatic::after_checkpoint(&opened, &receipt.session) {
        context.ui.warning(&trouble);
    }
    let found = chat::compaction(&receipt.document).filter(|found| found.version == prepared.compaction.version);
    let Some(found) = found else {
        return Err(CommandError::new(
            FailureKind::Locked,
            "the chat changed during the compaction, and was not compacted",
        )
        .hint("try again"));
    };
    let ids = views::Ids::of(receipt);
    let chat = SessionChat::open(&scene)?;
    let request = RequestSize {
        before,
        after: request_tokens(&opened, &chat)?,
    };
    context.ui.report(&CompactReceipt {
        outcome: "compacted",
        session: &receipt.session,
        made: Some(CompactionRow {
            id: ids.id.as_ref(),
            digest: ids.digest.as_ref(),
            compaction: &found,
            request,
        }),
        shortness: ChatShortness::BelowLimit,
        dry_run: None,
    })?;
    if request.after >= request.before {
        context
            .ui
            .warning("nothing is gained: the summary is as long as what it replaces; to undo: git checkpoint undo");
    }
    context
        .ui
        .hint("Compact", "see the whole chat: git checkpoint message list --full");
    Ok(())
}

fn dry_run(
    context: &Context,
    chat: &SessionChat<'_>,
    plan: Option<&compact::CompactionPlan>,
    (limit, is_forced): (u64, bool),
) -> Result<(), CommandError> {
    context.ui.report(&CompactReceipt {
        outcome: if plan.is_some() { "planned" } else { "nothing" },
        session: &chat.session,
        made: None,
        shortness: match () {
            () if chat.is_empty() => ChatShortness::Empty,
            () if is_forced => ChatShortness::NoGain,
            () => ChatShortness::BelowLimit,
        },
        dry_run: Some(CompactionDryRun {
            limit,
            plan: plan.map(|plan| CompactionPlanRow {
                messages: plan.covered,
                kept: plan.kept,
                tokens: plan.tokens,
                kept_tokens: plan.kept_tokens,
            }),
        }),
    })
}

/// Warns of secrets in the answer of a program, and of a program that was replaced by the built-in rules.
fn warn(context: &Context, prepared: &PreparedSummary) {
    redactions::warn(context, &prepared.redactions);
    if let Some(why) = &prepared.replaced {
        context.ui.warning(&format!("{why}; used the built-in rules instead"));
    }
}

/// The tokens of a request without a question, as 'tokens' counts them.
fn request_tokens(opened: &OpenedRepository, chat: &SessionChat<'_>) -> Result<u64, CommandError> {
    let request = ContextRequest {
        checkpoint: render::checkpoint(&contents::of_chat(&opened.scene(), chat)),
        user: None,
        limit: 0,
        counting: TokenMethod::of(None),
        chat,
        fence: None,
        preface: "",
    };
    Ok(request::build(&opened.scene(), &request)?.total)
}

/// The text of a request next to its messages.
fn fixed(opened: &OpenedRepository, chat: &SessionChat<'_>) -> Result<String, CommandError> {
    let checkpoint = render::checkpoint(&contents::of_chat(&opened.scene(), chat));
    Ok(request::fixed(&opened.scene(), chat, &checkpoint)?)
}

/// A summary for the checkpoint that is about to be saved, if the chat is too long. A failure is a warning and does not
/// fail the save: everything stays as it was.
///
/// Not within a summarizing program, and not when another one compacts at this moment.
pub(super) fn automatic(context: &Context, opened: &OpenedRepository, events: &Events) -> Option<PreparedSummary> {
    let scene = opened.scene();
    if scene.settings.compact_at == 0 || context.env.flag(compact::MARK) == Some(true) || !chat::may_be_long(&scene) {
        return None;
    }
    let chat = SessionChat::open(&scene).ok()?;
    let fixed = fixed(opened, &chat).ok()?;
    let prepared = compact::prepare(
        &scene,
        &mut CompactionRequest {
            force: false,
            fixed: &fixed,
            events: &mut |event| print_outcome(context, events, &event),
        },
        Some(chat),
    );
    match prepared {
        Ok(prepared) => prepared,
        Err(ops::Error::Store(store::Error::Busy { .. })) => None,
        Err(error) => {
            context.ui.warning(&format!("the chat was not compacted: {error}"));
            None
        }
    }
}

/// Returns whether a checkpoint holds the summary that was made for it.
pub(super) fn completed(context: &Context, events: &Events, prepared: &PreparedSummary, receipt: &CheckpointReceipt) {
    warn(context, prepared);
    let found = chat::compaction(&receipt.document).filter(|found| found.version == prepared.compaction.version);
    if let Some(found) = found {
        print_outcome(
            context,
            events,
            &compact::complete(receipt.session.as_str(), &receipt.document),
        );
        context.ui.status(format!(
            "compacted {} of the chat: {} tokens of messages, now {} with the summary",
            messages(found.messages),
            found.tokens_before,
            found.tokens_after
        ));
    }
}

/// Compacts with a checkpoint of its own, if the chat is too long; for commands that save nothing themselves.
pub(super) fn before_reading(context: &Context, opened: &OpenedRepository, events: &Events) {
    let scene = opened.scene();
    if scene.settings.compact_at == 0 || context.env.flag(compact::MARK) == Some(true) || !chat::may_be_long(&scene) {
        return;
    }
    let Some(fixed) = SessionChat::open(&scene)
        .ok()
        .and_then(|chat| fixed(opened, &chat).ok())
    else {
        return;
    };
    let done = ops::compact::compact(
        &scene,
        CompactionCause::Length,
        &mut CompactionRequest {
            force: false,
            fixed: &fixed,
            events: &mut |event| print_outcome(context, events, &event),
        },
    );
    match done {
        Ok(Some((outcome, prepared))) => {
            warn(context, &prepared);
            let found = &prepared.compaction;
            context.ui.status(format!(
                "compacted {} of {}: {} tokens of messages before",
                messages(found.messages),
                outcome.receipt().session,
                found.tokens_before
            ));
        }
        Ok(None) | Err(ops::Error::Store(store::Error::Busy { .. })) => {}
        Err(error) => context.ui.warning(&format!("the chat was not compacted: {error}")),
    }
}

pub(super) fn clear(args: ClearArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    let scene = opened.scene();
    chat::require_readable(&scene)?;
    let chat = SessionChat::open(&scene)?;
    let scope = if args.all {
        ClearScope::All
    } else {
        ClearScope::Messages
    };
    let mut view = ClearReceipt {
        outcome: "nothing",
        session: &chat.session,
        id: None,
        digest: None,
        all: args.all,
        messages: chat.len(),
    };
    if args.dry_run {
        if args.all || !chat.is_empty() {
            view.outcome = "planned";
        }
        return context.ui.report(&view);
    }
    if !args.all && chat.is_empty() {
        return context.ui.report(&view);
    }
    let question = format!(
        "Clear the {} of session {} ({})?",
        ClearReceipt::parts(args.all),
        chat.session,
        messages(chat.len())
    );
    if !args.yes && !context.ui.confirm(&question, "--yes")? {
        return Err(CommandError::silent(FailureKind::Negative));
    }
    let Some(outcome) = clear::clear(&scene, scope)? else {
        return context.ui.report(&view);
    };
    let receipt = outcome.receipt();
    for trouble in &receipt.trouble {
        context.ui.warning(&format!("the checkpoint is saved, but: {trouble}"));
    }
    let ids = views::Ids::of(receipt);
    view.outcome = "cleared";
    view.id = ids.id.as_ref();
    view.digest = ids.digest.as_ref();
    context.ui.report(&view)?;
    context.ui.hint("Undo", "to undo: git checkpoint undo");
    Ok(())
}
