//! `rename`: another name for a session.

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs},
    session_word::{RULES, SessionWord},
};
use crate::{
    model::{
        name::{InvalidName, ShortName},
        step::quoted,
    },
    ops::{select, share::status, switch},
    render::session_change::RenameReceipt,
    store::checkpoint::oid,
};

/// Rename a session
#[derive(Debug, clap::Args)]
#[command(
    allow_missing_positional = true,
    after_long_help = "\
Examples:
  The current session:
    git checkpoint rename token-service
  Any other:
    git checkpoint rename main-2 auth-refactor"
)]
pub(super) struct Args {
    /// The session; the current one by default
    session: Option<String>,
    /// Its new name
    #[arg(value_name = "NEW")]
    to: String,
    /// Also rename a session that somebody else has claimed
    #[arg(long)]
    force: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let session = args.session.as_deref().unwrap_or("@");
    let to: SessionWord = args.to.parse().map_err(|error: InvalidName| {
        let named = args.session.as_ref().map(|name| format!("{} ", quoted(name)));
        let line = format!("{}{}", named.unwrap_or_default(), ShortName::like(&error.text));
        CommandError::of(FailureKind::Usage, &error)
            .hint(format!("did you mean: git checkpoint rename {line}"))
            .hint(RULES)
    })?;
    let selector = failure::selector(session)?;
    if !selector.steps.is_empty() {
        let error = CommandError::new(
            FailureKind::Usage,
            format!("'{session}' is a checkpoint, and only sessions are renamed"),
        );
        return Err(error.hint("specify only the session"));
    }
    let opened = opening::open(context, &IdentityArgs::default())?;
    let to = to.new_name(&opened.scene())?;
    let (from, tip) = select::session(&opened.scene(), &selector)?;
    if from == to {
        let what = format!("Session {to} has that name already.");
        context.ui.status(what);
        if !context.ui.options().json {
            return Ok(());
        }
        return context.ui.report(&RenameReceipt {
            session: &to,
            before: &from,
            id: oid(tip),
            dry_run: args.dry_run,
        });
    }
    let renamed = switch::rename(&opened.scene(), &selector, &to, args.force, args.dry_run)?;
    failure::warn_aftermath(&context.ui, &renamed.aftermath);
    context.ui.report(&RenameReceipt {
        session: &to,
        before: &renamed.from,
        id: oid(renamed.tip),
        dry_run: args.dry_run,
    })?;
    let scene = opened.scene();
    for standing in status::of_session(&scene, &renamed.from, renamed.tip) {
        let is_automatic = scene.settings.auto_push.as_ref() == Some(&standing.remote);
        if is_automatic && let Some(elsewhere) = standing.after_rename(&scene, &renamed.from, &to)? {
            // Else sharing would stop without a word.
            let (shown, ways) = (standing.remote.escape_debug(), elsewhere.ways(&standing.remote, &to));
            context.ui.warning(&format!(
                "automatic pushes of it wait, as remote '{shown}' has it as '{}'; {}",
                elsewhere.there,
                ways.join("; ")
            ));
            continue;
        }
        let (remote, from) = (
            quoted(&standing.remote),
            standing.there.as_ref().unwrap_or(&renamed.from),
        );
        if *from == to {
            continue;
        }
        context.ui.hint(
            "Renamed",
            &format!("{remote} still has it as '{from}'; to delete that: git checkpoint remote delete {remote}/{from}"),
        );
    }
    Ok(())
}
