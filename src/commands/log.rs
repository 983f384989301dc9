//! `log`: the checkpoints of a session.

use super::{
    Context,
    error::CommandError,
    failure,
    list::DateArg,
    opened::{self, Whom},
};
use crate::{
    ops::list,
    render::sessions::{Log, LogRow},
    store::checkpoint::{Entry, oid},
};

/// Show the checkpoints of a session, newest first
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  The current session:
    git checkpoint log
  The last five of another one, a line each:
    git checkpoint log auth-refactor -n 5 --oneline")]
pub(super) struct Args {
    /// The session, or the checkpoint to begin at; the current session by default
    session: Option<String>,
    /// Show at most this many
    #[arg(short = 'n', long = "max-count", value_name = "N")]
    limit: Option<usize>,
    /// A short line each
    #[arg(long)]
    oneline: bool,
    #[command(flatten)]
    date: DateArg,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opened::open(context, &Whom::default())?;
    let scene = opened.scene();
    let dates = args.date.style(context)?;
    let selector = args.session.as_deref().map(failure::selector).transpose()?;
    let log = list::log(&scene, selector.as_ref(), args.limit)?;
    let mut view = Log {
        schema: "git-checkpoint.log/1",
        session: log.session.to_string(),
        checkpoints: Vec::new(),
        forked_from: log.source.map(oid),
        damage: None,
        more: log.more,
    };
    for entry in log.entries {
        match entry {
            Ok(entry) => view.checkpoints.push(row(entry)),
            Err(fault) => view.damage = Some(fault.to_string()),
        }
    }
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    context.ui.page();
    let text = if args.oneline {
        view.oneline()
    } else {
        view.text(context.ui.table_width(), &dates, scene.now)
    };
    context.ui.data(text);
    Ok(())
}

fn row(entry: Entry) -> LogRow {
    let trailers = entry.trailers;
    LogRow {
        id: oid(entry.id),
        at: entry.time,
        kind: trailers.kind.map(crate::model::document::Kind::word),
        name: trailers.name,
        trigger: trailers.trigger,
        summary: entry.subject,
        author: entry.author,
        agent: trailers.agent,
        branch: trailers.branch,
        partial: trailers.partial,
        digest: trailers.digest.map(Into::into),
        verified: false,
    }
}
