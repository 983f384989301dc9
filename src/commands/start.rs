//! `start`: a new session.

use serde_json::{Map, Value};

use super::{
    Context,
    error::CommandError,
    opening::{self, IdentityArgs},
    resume_prompt::put_aside_words,
    session_word::SessionWord,
    views,
};
use crate::{
    ops::{self, put_aside},
    store,
};

/// Start a session and make it current on this branch
///
/// A session is a line of work: one chain of checkpoints under one ref. Without a name, it is named after the branch.
/// No files are saved yet.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Start a session named after the branch:
    git checkpoint start
  Start one for an agent, or use the existing one:
    git checkpoint start auth-refactor --agent claude \\
      --task 'move login' --if-missing")]
pub(super) struct Args {
    /// The session's name, or a branch to name it after
    name: Option<SessionWord>,
    /// The agent that works in it
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The task in words
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
    /// A title for people
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The type of work, such as 'feature'
    #[arg(long = "type", value_name = "WORD")]
    kind: Option<String>,
    /// The feature it works on
    #[arg(long, value_name = "TEXT")]
    feature: Option<String>,
    /// A tracker issue; repeatable
    #[arg(long = "issue", value_name = "ID")]
    issues: Vec<String>,
    /// Start it only if it is missing, and otherwise use the existing one
    #[arg(long)]
    if_missing: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let whom = IdentityArgs {
        session: None,
        agent: args.agent.clone(),
    };
    let opened = opening::open(context, &whom)?;
    opening::warn_of_store(context, &opened)?;
    super::share::automatic::fetch_if_due(&opened);
    let mut session = Map::new();
    let members = [
        ("task", args.task),
        ("title", args.title),
        ("type", args.kind),
        ("feature", args.feature),
    ];
    for (key, value) in members {
        if let Some(value) = value {
            session.insert(key.to_owned(), value.into());
        }
    }
    if !args.issues.is_empty() {
        session.insert("issues".to_owned(), args.issues.into());
    }
    let name = args.name.map(|name| name.new_name(&opened.scene())).transpose()?;
    let request = ops::start::StartRequest {
        name,
        session: Value::Object(session),
        if_missing: args.if_missing,
        dry_run: args.dry_run,
    };
    let before = store::current::read(opened.scene().repo).ok();
    // What cannot be read is no reason not to start.
    let aside = put_aside::remaining_of_current(&opened.scene()).unwrap_or_default();
    let started = ops::start::start(&opened.scene(), request)?;
    let (outcome, ids) = match (started.existed, started.planned) {
        (true, _) => ("existing", views::Ids::tip(started.id, started.digest.clone())),
        (false, true) => ("planned", views::Ids::none()),
        (false, false) => ("started", views::Ids::tip(started.id, started.digest.clone())),
    };
    let mut view = views::document(outcome, &started.document, &ids);
    view.session = started.name.as_str();
    view.session_is = if started.existed { "meant" } else { "started" };
    view.redactions = views::redactions(&started.redactions);
    super::failure::warn_leftovers(&context.ui, &started.leftovers);
    super::redactions::warn(context, &started.redactions);
    context.ui.report(&view)?;
    if let Some(latest) = aside.first().filter(|_| !started.existed) {
        context.ui.warning(&put_aside_words(latest));
    }
    if started.planned {
        return Ok(());
    }
    match before.and_then(|before| before.session) {
        Some(left) if left.name != started.name => {
            let hint = format!(
                "session '{}' stays open; switch back: git checkpoint switch -",
                left.name
            );
            context.ui.hint("Left", &hint);
        }
        _ => context
            .ui
            .hint("Start", "save what you have: git checkpoint save -m '...'"),
    }
    Ok(())
}
