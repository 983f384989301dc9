//! `approval`: requests that another person has to answer.

use clap::Subcommand;

use super::{ItemArgs, ItemFields, ItemListArgs, JsonItems, SessionArg, some_text};
use crate::{
    commands::{Context, error::CommandError},
    model::time::Timestamp,
    ops::{draft, select},
};

/// Track approvals and their answers
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
    git checkpoint approval ask 'deploy to production?' \\
      --provider slack --channel '#ops'
    git checkpoint approval answer 1 approve --by ana --reason 'tests are green'
    git checkpoint approval list --open")]
pub(in crate::commands) struct Args {
    #[command(subcommand)]
    action: Option<ApprovalAction>,
}

#[derive(Debug, Subcommand)]
enum ApprovalAction {
    /// Record a request for approval
    #[command(visible_alias = "add")]
    Ask(AskArgs),
    /// Note the answer
    Answer(ApprovalArgs),
    /// Reopen items
    Reopen(ItemArgs),
    /// List the items with their numbers
    List(ItemListArgs),
    /// Remove items from the record
    Remove(ItemArgs),
}

#[derive(Debug, clap::Args)]
struct AskArgs {
    /// Question to answer
    #[arg(value_name = "QUESTION", value_parser = some_text, required_unless_present = "json_input")]
    question: Option<String>,
    /// Where it was asked, such as 'slack'
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The channel there
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// The thread there
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// When it was asked; now by default
    #[arg(long, value_name = "DATE")]
    asked_at: Option<String>,
    #[command(flatten)]
    given: JsonItems,
    #[command(flatten)]
    whose: SessionArg,
}

#[derive(Debug, clap::Args)]
struct ApprovalArgs {
    /// The item, by id, number or text
    #[arg(id = "item", value_name = "ITEM")]
    approval: String,
    /// 'approve', 'reject' or another answer
    #[arg(value_name = "ANSWER", value_parser = some_text)]
    words: String,
    /// Who answered; the caller by default
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
    /// The reason
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    whose: SessionArg,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let kind = super::kind("approval");
    match args.action {
        None => super::list(context, &ItemListArgs::default(), kind),
        Some(ApprovalAction::List(args)) => super::list(context, &args, kind),
        Some(ApprovalAction::Remove(chosen)) => super::remove(context, &chosen, kind, ("removed", "Removed")),
        Some(ApprovalAction::Reopen(chosen)) => {
            let none = || Some(String::new());
            let fields = ItemFields::default()
                .text("answer", none())
                .text("answered_by", none())
                .text("reason", none());
            super::change(context, &chosen, kind, ("reopened", "Reopened"), &fields, &[])
        }
        Some(ApprovalAction::Ask(args)) => {
            let now = context.env.now;
            let asked = match &args.asked_at {
                Some(date) => {
                    let opened = args.whose.open(context)?;
                    Timestamp::from_unix(select::unix_time(&opened.scene(), date)?, now.offset())
                }
                None => now,
            };
            let fields = ItemFields::default()
                .text("provider", args.provider)
                .text("channel", args.channel)
                .text("thread", args.thread)
                .text("asked_at", Some(asked.to_string()));
            super::add(context, &args.whose, &args.given, kind, args.question, fields, &[])
        }
        Some(ApprovalAction::Answer(args)) => {
            let answer = match args.words.to_lowercase().as_str() {
                "approve" | "approved" => "approve".to_owned(),
                "reject" | "rejected" => "reject".to_owned(),
                _ => args.words,
            };
            let opened = args.whose.open(context)?;
            let by = args.by.unwrap_or_else(|| draft::by(&opened.scene()));
            let fields = ItemFields::default()
                .text("answer", Some(answer))
                .text("answered_by", Some(by))
                .text("reason", args.reason);
            let chosen = ItemArgs {
                items: vec![args.approval],
                whose: args.whose,
            };
            super::change(context, &chosen, kind, ("answered", "Answered"), &fields, &[])
        }
    }
}
