//! `partition`: the paths of each agent.

use clap::Subcommand;
use serde_json::json;

use super::{ChangeNotice, SessionArg, notice, some_text, stored_path};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind as Failure},
    },
    model::{
        item::{Overlap, overlaps},
        record::Record,
    },
    ops::{
        draft::{self, DraftChange},
        items,
    },
    render::{
        record::{PartitionsView, words},
        slot::Slot,
        text::TextLine,
    },
};

/// Assign paths to agents
///
/// Paths may be files, directories, or patterns with '*', '?' and '**'. Overlaps are reported.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
    git checkpoint partition set ana src/parser 'tests/parser_*'
    git checkpoint partition set ben src/printer
    git checkpoint partition list")]
pub(in crate::commands) struct Args {
    #[command(subcommand)]
    action: Option<PartitionAction>,
}

#[derive(Debug, Subcommand)]
enum PartitionAction {
    /// Set the paths of an agent, replacing the old ones
    Set(PartitionSetArgs),
    /// Remove the paths of an agent
    Clear(Clear),
    /// Show the paths of each agent
    List(PartitionListArgs),
}

#[derive(Debug, clap::Args)]
struct PartitionSetArgs {
    /// The agent
    #[arg(value_name = "AGENT", value_parser = some_text)]
    name: String,
    /// Its paths
    #[arg(value_name = "PATH", required = true, value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<String>,
    #[command(flatten)]
    whose: SessionArg,
}

#[derive(Debug, clap::Args)]
struct Clear {
    /// The agent
    #[arg(value_name = "AGENT")]
    name: String,
    #[command(flatten)]
    whose: SessionArg,
}

#[derive(Debug, Default, clap::Args)]
struct PartitionListArgs {
    #[command(flatten)]
    whose: SessionArg,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    match args.action {
        None => list(context, &PartitionListArgs::default()),
        Some(PartitionAction::List(args)) => list(context, &args),
        Some(PartitionAction::Set(args)) => set(context, args),
        Some(PartitionAction::Clear(args)) => clear(context, args),
    }
}

fn set(context: &mut Context, args: PartitionSetArgs) -> Result<(), CommandError> {
    let opened = args.whose.open(context)?;
    let paths: Vec<String> = args
        .paths
        .iter()
        .map(|path| stored_path(context, &opened, path))
        .collect();
    let mut record = match items::to_change(&opened.scene()) {
        Ok(now) => now.record,
        Err(error) if error.is_without_session() => Record::default(),
        Err(error) => return Err(error.into()),
    };
    let patch = json!({ "partitions": { &args.name: paths } });
    let appended = draft::append(&opened.scene(), vec![DraftChange::Record(patch)])?;
    // As it is stored, without secrets.
    let set = appended
        .operations
        .iter()
        .find_map(|o| o.record.as_ref()?["partitions"].as_object());
    let (agent, paths) = set.and_then(|set| set.iter().next()).map_or_else(
        || (args.name.clone(), json!([])),
        |(agent, paths)| (agent.clone(), paths.clone()),
    );
    let line = TextLine::new()
        .with(Slot::Good, "Set")
        .with(Slot::Plain, " the paths of ")
        .with(Slot::Person, &agent)
        .with(Slot::Plain, format!(": {}", words(&paths)));
    let former = record.partitions.insert(agent.clone(), paths.clone());
    let mut found = overlaps(&record);
    found.retain(|overlap| overlap.agents.contains(&agent));
    warn(context, &found);
    let mut told = ChangeNotice::line("set", line);
    let lost = former.filter(|former| *former != paths);
    told.lines
        .extend(lost.map(|lost| notice::former("paths", &words(&lost))));
    told.detail.overlaps = Some(found);
    super::report(context, &opened, &appended, told, &[])
}

fn clear(context: &mut Context, args: Clear) -> Result<(), CommandError> {
    let opened = args.whose.open(context)?;
    let now = super::to_change(&opened)?;
    let Some(lost) = now.record.partitions.get(&args.name) else {
        return Err(
            CommandError::new(Failure::NotFound, format!("agent '{}' has no paths", args.name))
                .hint("list partitions: git checkpoint partition list"),
        );
    };
    let patch = json!({ "partitions": { &args.name: null } });
    let appended = draft::append(&opened.scene(), vec![DraftChange::Record(patch)])?;
    let line = TextLine::new()
        .with(Slot::Good, "Cleared")
        .with(Slot::Plain, " the paths of ")
        .with(Slot::Person, &args.name);
    let mut told = ChangeNotice::line("cleared", line);
    told.lines.push(notice::former("paths", &words(lost)));
    super::report(context, &opened, &appended, told, &[])
}

fn warn(context: &Context, found: &[Overlap]) {
    for Overlap { agents, paths } in found {
        let both = if paths[0] == paths[1] {
            format!("'{}' belongs to {} and to {}", paths[0], agents[0], agents[1])
        } else {
            format!(
                "'{}' of {} overlaps with '{}' of {}",
                paths[0], agents[0], paths[1], agents[1]
            )
        };
        context.ui.warning(&both);
    }
}

fn list(context: &mut Context, args: &PartitionListArgs) -> Result<(), CommandError> {
    let opened = args.whose.open(context)?;
    let now = items::now(&opened.scene())?;
    let found = overlaps(&now.record);
    let view = PartitionsView {
        session: &now.session,
        partitions: &now.record.partitions,
        overlaps: &found,
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    if now.record.partitions.is_empty() {
        context.ui.status(format!("Session {} has no partitions.", now.session));
        return Ok(());
    }
    context.ui.data(view.text(context.ui.table_width()));
    warn(context, &found);
    Ok(())
}
