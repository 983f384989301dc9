//! `ui`: the terminal interface.

use super::{Context, error::CommandError};

/// Browse and restore sessions in a terminal interface
///
/// Sessions, their checkpoints as a graph, and one checkpoint: record, files, changes since and chat. Each action is a
/// command and shows its plan before it runs. '?' lists the keys. It works over ssh, from 60 columns and 15 lines on,
/// and without color (NO_COLOR).
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Browse this repository:
    git checkpoint ui
  Begin at a session, or with a search:
    git checkpoint ui auth-refactor
    git checkpoint ui --search 'rate limit'")]
pub(super) struct Args {
    /// The session to begin at; the current one by default
    session: Option<String>,
    /// Begin with a search for this text
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

#[cfg(feature = "ui")]
pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    use std::sync::Arc;

    use super::{
        error::FailureKind,
        failure,
        opening::{self, IdentityArgs},
        resident::ResidentProcess,
    };
    use crate::{
        ops::select,
        os,
        render::slot::Glyphs,
        screen::{self, ScreenOptions},
    };

    let opened = opening::open(context, &IdentityArgs::default())?;
    if let Some(session) = &args.session {
        select::checkpoint(&opened.scene(), &failure::selector(session)?)?;
    }
    drop(opened);
    let terminals = context.ui.terminals();
    if !terminals.input || !terminals.output || context.env.is_dumb() {
        return Err(CommandError::new(
            FailureKind::Usage,
            "the terminal interface needs a terminal with cursor movement",
        )
        .hint("plain output: git checkpoint list, log and show")
        .hint("in a browser: git checkpoint serve"));
    }
    let options = ScreenOptions {
        session: args.session,
        search: args.search,
        color: context.ui.colors_output(),
        glyphs: if context.env.is_utf8() {
            Glyphs::Unicode
        } else {
            Glyphs::Ascii
        },
    };
    let source = Arc::new(ResidentProcess::new(&context.env));
    screen::run(source, &options).map_err(|error| {
        CommandError::new(
            FailureKind::Fatal,
            format!("the terminal interface ended: {}", os::reason(&error)),
        )
    })
}

/// Answers that this build has no terminal interface.
#[cfg(not(feature = "ui"))]
pub(super) fn run(_: Args, _: &mut Context) -> Result<(), CommandError> {
    use super::error::FailureKind;

    let error = CommandError::new(
        FailureKind::Fatal,
        "this program was built without the terminal interface",
    );
    Err(error
        .hint("build it with: cargo build --release --features ui")
        .hint("plain output: git checkpoint list, log and show"))
}
