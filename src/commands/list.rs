//! `list`: the sessions of a repository.

use super::{
    Context,
    error::{CommandError, Kind},
    opened::{self, Whom},
};
use crate::{
    ops::list::{self, Filter, Row, Standing},
    render::{
        age::DateStyle,
        sessions::{List, SessionRow},
    },
    store::checkpoint::oid,
};

/// List the sessions, newest first
///
/// '@' marks the current session of this work tree, '!' a damaged one. An active session that was silent for longer than
/// checkpoint.interruptedAfter is shown as interrupted.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "ls",
    after_long_help = "\
Examples:
  What can be taken up again on this branch:
    git checkpoint list --branch main --status paused
  For a script:
    git checkpoint list --json"
)]
pub(super) struct Args {
    /// Only sessions of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only sessions that stand like this
    #[arg(long, value_parser = ["active", "paused", "completed", "failed", "interrupted"])]
    status: Option<String>,
    /// Only sessions with this task
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
    /// Only sessions saved last on this branch
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Only sessions whose name or summary holds this text
    #[arg(long, value_name = "TEXT")]
    grep: Option<String>,
    #[command(flatten)]
    date: DateArg,
}

/// How dates are shown.
#[derive(Debug, clap::Args)]
pub(super) struct DateArg {
    /// How to show dates: relative, iso, iso-strict, short, unix or format:...
    #[arg(long = "date", value_name = "STYLE")]
    style: Option<String>,
}

impl DateArg {
    /// The style asked for; else relative for people and ISO for programs.
    pub(super) fn style(&self, context: &Context) -> Result<DateStyle, CommandError> {
        let default = if context.ui.for_people() {
            "relative"
        } else {
            "iso-strict"
        };
        DateStyle::parse(self.style.as_deref().unwrap_or(default)).map_err(|e| CommandError::of(Kind::Usage, &e))
    }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opened::open(context, &Whom::default())?;
    let scene = opened.scene();
    let dates = args.date.style(context)?;
    let filter = Filter {
        agent: args.agent,
        status: args.status.and_then(|s| s.parse::<Standing>().ok()),
        task: args.task,
        branch: args.branch,
        grep: args.grep,
        since: None,
    };
    let rows = list::sessions(&scene, &filter)?;
    let view = List {
        schema: "git-checkpoint.list/1",
        sessions: rows.into_iter().map(row).collect(),
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    if view.sessions.is_empty() {
        context
            .ui
            .status(crate::render::text::Line::plain("There are no sessions to show."));
        return Ok(());
    }
    context.ui.page();
    context
        .ui
        .data(view.text(context.ui.table_width(), &dates, scene.now, scene.host));
    if view.sessions.iter().any(|s| s.status == "damaged") {
        context
            .ui
            .hint("Damaged", "see what is damaged: git checkpoint verify --all");
    }
    Ok(())
}

pub(super) fn row(row: Row) -> SessionRow {
    let mut view = SessionRow {
        session: row.name,
        current: row.current,
        status: "damaged",
        damage: None,
        id: None,
        at: None,
        summary: String::new(),
        author: String::new(),
        agent: None,
        task: None,
        branch: None,
        host: None,
        verified: false,
    };
    match row.tip {
        Err(broken) => view.damage = Some(broken.to_string()),
        Ok((entry, standing)) => {
            view.status = standing.word();
            view.id = Some(oid(entry.id));
            view.at = Some(entry.time);
            view.summary = entry.subject;
            view.author = entry.author;
            view.agent = entry.trailers.agent;
            view.task = entry.trailers.task;
            view.branch = entry.trailers.branch;
            view.host = entry.trailers.host;
        }
    }
    view
}
