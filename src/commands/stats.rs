//! `stats`: turns, tokens, cost and changed lines.

use super::{
    Context,
    error::CommandError,
    failure,
    opening::{self, IdentityArgs},
};
use crate::{
    ops::stats::{self, Figures, StatsGroup, StatsRequest},
    render::stats::{ChangedLines, StatsRow, StatsView},
};

/// Count turns, tokens, cost and changed lines
///
/// Tokens and cost are what agents recorded with their turns; if none did, the length of the chat is shown with '~'.
/// Lines are counted between consecutive checkpoints, and attributed to agents if they changed in a turn. The size
/// counts objects that only sessions use.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  All sessions:
    git checkpoint stats
  The last week, day by day:
    git checkpoint stats --by day --since '1 week ago'
  What each model did in one session:
    git checkpoint stats auth --by model")]
pub(super) struct Args {
    /// The sessions; all by default
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
    /// Group by session, day, agent or model
    #[arg(long, value_name = "GROUP", default_value = "session", value_parser = ["session", "day", "agent", "model"])]
    by: String,
    /// Only checkpoints saved at or after this date, such as '2 days ago'
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Do not count changed lines; faster
    #[arg(long)]
    no_lines: bool,
}

/// The groups by their words.
const GROUPS: [(&str, StatsGroup); 4] = [
    ("session", StatsGroup::Session),
    ("day", StatsGroup::Day),
    ("agent", StatsGroup::Agent),
    ("model", StatsGroup::Model),
];

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let sessions: Result<Vec<_>, CommandError> = args.sessions.iter().map(|text| failure::selector(text)).collect();
    let (by, group) = GROUPS
        .into_iter()
        .find(|(word, _)| *word == args.by)
        .unwrap_or(GROUPS[0]);
    let request = StatsRequest {
        sessions: sessions?,
        since: args.since,
        group,
        lines: !args.no_lines,
    };
    let opened = opening::open(context, &IdentityArgs::default())?;
    let counted = stats::stats(&opened.scene(), &request)?;
    for session in &counted.damaged {
        context.ui.warning(&format!(
            "session '{session}' is damaged and was not counted; see: git checkpoint verify {session}"
        ));
    }
    let view = StatsView {
        by,
        groups: counted
            .groups
            .iter()
            .map(|(name, figures)| row(name, figures))
            .collect(),
        total: row("total", &counted.total),
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    if view.groups.is_empty() {
        context.ui.status("No sessions found.");
        return Ok(());
    }
    context.ui.page();
    let ui = &context.ui;
    view.each_line(ui.table_width(), |line| ui.data_line(&line));
    Ok(())
}

fn row(name: &str, figures: &Figures) -> StatsRow {
    StatsRow {
        name: name.to_owned(),
        sessions: figures.sessions.len() as u64,
        checkpoints: figures.checkpoints,
        turns: figures.turns,
        counted_turns: figures.counted_turns,
        tokens: figures.tokens,
        estimated_tokens: figures.estimated,
        cost: figures.cost,
        lines: ChangedLines {
            agents: figures.by_agents,
            people: figures.by_people,
        },
        size: figures.size,
    }
}
