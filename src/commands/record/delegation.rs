//! `delegation`: work handed to agents, and what it cost.

use std::time::Duration;

use clap::Subcommand;

use super::{ItemArgs, ItemFields, ItemListArgs, JsonItems, SessionArg, some_text};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind as Failure},
    },
    model::item,
    ops::items,
    render::items as render,
    store::config::span,
};

/// Record delegations to agents and their cost
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  At its start and at its end:
    git checkpoint delegation add claude --issue '#12' --model-tier large \\
      --status running
    git checkpoint delegation edit claude --tokens 48000 --duration 12m \\
      --status done
  Total cost:
    git checkpoint delegation list

'delegation add' saves automatically if checkpoint.saveOn has 'agent-spawn'.")]
pub(in crate::commands) struct Args {
    #[command(subcommand)]
    action: Option<DelegationAction>,
}

#[derive(Debug, Subcommand)]
enum DelegationAction {
    /// Record a delegation
    Add(DelegationAddArgs),
    /// Add details, such as the cost
    Edit(DelegationEditArgs),
    /// List delegations with their totals
    List(ItemListArgs),
    /// Remove items from the record
    Remove(ItemArgs),
}

#[derive(Debug, clap::Args)]
struct DelegationAddArgs {
    /// Who got it
    #[arg(value_name = "AGENT", value_parser = some_text, required_unless_present = "json_input")]
    name: Option<String>,
    #[command(flatten)]
    details: DelegationDetails,
    #[command(flatten)]
    given: JsonItems,
    #[command(flatten)]
    whose: SessionArg,
}

#[derive(Debug, clap::Args)]
struct DelegationEditArgs {
    #[command(flatten)]
    chosen: ItemArgs,
    #[command(flatten)]
    details: DelegationDetails,
}

#[derive(Debug, clap::Args)]
struct DelegationDetails {
    /// The issue in a tracker
    #[arg(long, value_name = "ID")]
    issue: Option<String>,
    /// The tier or name of the model
    #[arg(long, value_name = "WORD")]
    model_tier: Option<String>,
    /// Tokens used
    #[arg(long, value_name = "N")]
    tokens: Option<u64>,
    /// The tokens are an estimate
    #[arg(long)]
    estimated: bool,
    /// The duration, in seconds or such as 12m
    #[arg(long, value_name = "TIME", value_parser = span)]
    duration: Option<Duration>,
    /// The status, as one word
    #[arg(long, value_name = "WORD")]
    status: Option<String>,
    /// Mark it as a panel review
    #[arg(long)]
    panel: bool,
}

impl DelegationDetails {
    fn fields(self) -> ItemFields {
        ItemFields::default()
            .text("issue", self.issue)
            .text("model_tier", self.model_tier)
            .value("tokens", self.tokens)
            .flag("estimated", self.estimated)
            .value("duration", self.duration.map(|duration| duration.as_secs()))
            .text("status", self.status)
            .flag("panel", self.panel)
    }
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let kind = super::kind("delegation");
    let args = match args.action {
        Some(DelegationAction::Add(args)) => {
            let fields = args.details.fields();
            return super::add(
                context,
                &args.whose,
                &args.given,
                kind,
                args.name,
                fields,
                &["agent-spawn"],
            );
        }
        Some(DelegationAction::Edit(args)) => {
            let mut fields = args.details.fields();
            if fields.0.is_empty() {
                return Err(CommandError::new(Failure::Usage, "nothing to change")
                    .hint("for example: --tokens, --duration, --status"));
            }
            // A number that is given without the word is a true one.
            if fields.0.contains_key("tokens") && !fields.0.contains_key("estimated") {
                fields = fields.value("estimated", Some(false));
            }
            return super::change(context, &args.chosen, kind, ("changed", "Changed"), &fields, &[]);
        }
        Some(DelegationAction::Remove(chosen)) => return super::remove(context, &chosen, kind, ("removed", "Removed")),
        Some(DelegationAction::List(args)) => args,
        None => ItemListArgs::default(),
    };
    let opened = args.whose.open(context)?;
    let now = items::now(&opened.scene())?;
    let totals = item::totals(&now.record);
    let below = if totals.delegations > 0 {
        vec![render::totals(&totals)]
    } else {
        Vec::new()
    };
    let found = now.items(kind);
    super::show(context, &now, &args, kind, found, below, Some(totals))
}
