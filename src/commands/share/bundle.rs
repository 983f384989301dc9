//! `bundle` and `unbundle`: sessions with their files in one file.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{pull, wired};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind},
        export::refuse_symlinks,
        opening::{self, IdentityArgs},
    },
    model::name::ShortName,
    ops::share::bundle::{self, Request},
    render::{
        count::CountedNoun,
        slot::Slot,
        text::{Text, TextLine},
    },
    store::checkpoint::oid,
};

/// Write sessions with their files into one file
///
/// The file is a git bundle: it holds the checkpoints, the saved files and the history that they rest on. Hand it over
/// as you like, and bring it in with 'git checkpoint unbundle'. Objects of Git LFS are not in it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Hand over the current session without a server:
    git checkpoint bundle ../auth.bundle
  Two sessions:
    git checkpoint bundle ../work.bundle auth search
  On the other side, in a clone of the project:
    git checkpoint unbundle ../auth.bundle
    git checkpoint resume auth")]
pub(in crate::commands) struct Args {
    /// The file to write
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// The sessions; the current one by default
    #[arg(value_name = "SESSION")]
    sessions: Vec<ShortName>,
    /// Take all sessions
    #[arg(long, conflicts_with = "sessions")]
    all: bool,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    refuse_symlinks(context, &args.file)?;
    let file = context.env.cwd.join(&args.file);
    if file.exists() && !args.force {
        let message = format!("file '{}' exists", args.file.display());
        return Err(CommandError::new(FailureKind::Refused, message).hint("replace it: --force"));
    }
    let request = Request {
        file,
        sessions: args.sessions,
        all: args.all,
    };
    let bundled = wired(context, "git checkpoint bundle", |wire| {
        bundle::create(&opened.scene(), &request, wire)
    })?;
    if context.ui.options().json {
        let sessions = bundled
            .sessions
            .iter()
            .map(|(name, id)| json!({ "session": name, "id": oid(*id) }));
        return context.ui.json(&json!({
            "schema": "git-checkpoint.bundle/1",
            "file": args.file.display().to_string(),
            "bytes": bundled.bytes,
            "sessions": sessions.collect::<Vec<_>>(),
        }));
    }
    let mut line = TextLine::plain("Wrote ").with(Slot::Path, args.file.display().to_string());
    line.push(
        Slot::Plain,
        format!(
            ", {}, {} KiB",
            CountedNoun::new(bundled.sessions.len(), "session"),
            bundled.bytes.div_ceil(1024)
        ),
    );
    context.ui.receipt(line);
    context.ui.hint(
        "Bundle",
        &format!("bring it in elsewhere: git checkpoint unbundle {}", args.file.display()),
    );
    Ok(())
}

/// Import the sessions of a bundle with their files
///
/// The sessions are checked as a fetch checks them, and become sessions of this repository. One that is here already goes
/// on; where both have diverged, yours becomes a separate session. No file is changed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Bring in what a colleague handed over:
    git checkpoint unbundle ../auth.bundle
    git checkpoint resume auth
  One of its sessions:
    git checkpoint unbundle ../work.bundle search")]
pub(in crate::commands) struct OpenArgs {
    /// The file
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// The sessions; all by default
    #[arg(value_name = "SESSION")]
    sessions: Vec<ShortName>,
}

pub(in crate::commands) fn open(args: OpenArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let shown = args.file.display().to_string();
    let file = context.env.cwd.join(&args.file);
    if !file.is_file() {
        let message = format!("there is no file '{shown}'");
        return Err(CommandError::new(FailureKind::NotFound, message).hint("write one: git checkpoint bundle <file>"));
    }
    if !is_bundle(&file) {
        let message = format!("'{shown}' is not a bundle");
        return Err(CommandError::new(FailureKind::Fatal, message).hint("write one: git checkpoint bundle <file>"));
    }
    let unbundled = wired(context, "git checkpoint unbundle", |wire| {
        bundle::open(&opened.scene(), &file, &args.sessions, wire)
    })?;
    if context.ui.options().json {
        let sessions: Vec<_> = unbundled.sessions.iter().map(pull::json_of).collect();
        let refused = unbundled
            .refused
            .iter()
            .map(|(name, why)| json!({ "session": name, "why": why }));
        context.ui.json(&json!({
            "schema": "git-checkpoint.unbundle/1",
            "file": shown,
            "sessions": sessions,
            "refused": refused.collect::<Vec<_>>(),
        }))?;
    } else if context.ui.options().quiet == 0 {
        let mut text = Text::new();
        for pulled in &unbundled.sessions {
            text.append(pull::text_of(pulled));
        }
        for (name, why) in &unbundled.refused {
            text.push(
                TextLine::plain("Refused: ")
                    .with(Slot::Session, name)
                    .with(Slot::Plain, format!(", {why}")),
            );
        }
        context.ui.data(text);
    }
    if !unbundled.refused.is_empty() {
        let sessions = CountedNoun::new(unbundled.refused.len(), "session");
        return Err(
            CommandError::new(FailureKind::Negative, format!("{sessions} of '{shown}' refused"))
                .hint("nothing of them was used"),
        );
    }
    let Some(first) = unbundled.sessions.first() else {
        return Err(CommandError::new(
            FailureKind::NotFound,
            format!("'{shown}' holds no such session"),
        ));
    };
    context
        .ui
        .hint("Unbundle", &format!("resume it: git checkpoint resume {}", first.name));
    Ok(())
}

/// Whether a file begins as bundles do.
fn is_bundle(file: &Path) -> bool {
    let mut start = [0; 16];
    let read = std::fs::File::open(file).and_then(|mut file| file.read(&mut start));
    let start = &start[..read.unwrap_or(0)];
    start.starts_with(b"# v2 git bundle") || start.starts_with(b"# v3 git bundle")
}
