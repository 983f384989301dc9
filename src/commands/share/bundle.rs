//! `bundle` and `unbundle`: sessions with their files in one file.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use super::{pulled, wired, wired_or_named};
use crate::{
    commands::{
        Context,
        error::{AgainOption, CommandError, FailureKind},
        export::{refuse_symlinks, require_directory},
        opening::{self, IdentityArgs},
        session_word::{self, SessionWord},
    },
    model::{name::ShortName, step::quoted},
    ops::share::bundle::{self, Request},
    render::{
        count::CountedNoun,
        share::{BundleReceipt, BundledRow, PullReceipt, RefusedBundle, UnbundleReceipt},
    },
    store::checkpoint::oid,
};

/// Write sessions with their files into one file
///
/// The file is a git bundle with the checkpoints, the saved files and the history that they depend on, without objects
/// of Git LFS. 'git checkpoint unbundle' imports it.
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
    sessions: Vec<SessionWord>,
    /// Bundle all sessions
    #[arg(long, conflicts_with = "sessions")]
    all: bool,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    refuse_symlinks(context, &args.file)?;
    let file = context.env.cwd.join(&args.file);
    if file.exists() && !args.force {
        let message = format!("file '{}' exists", args.file.display());
        return Err(CommandError::new(FailureKind::Refused, message).again(
            "replace it",
            context.with_option("--force"),
            AgainOption::Force,
        ));
    }
    require_directory(context, &args.file)?;
    let words = args.sessions.iter();
    let sessions = words
        .map(|word| word.resolved(&opened.scene()))
        .collect::<Result<Vec<_>, _>>()?;
    let request = Request {
        file,
        sessions,
        all: args.all,
        dry_run: args.dry_run,
    };
    let shown = quoted(&args.file.display().to_string());
    let named = |_: &str, session: &str| Some(format!("git checkpoint bundle {shown} {session}"));
    let bundled = wired_or_named(context, "git checkpoint bundle", &named, |wire| {
        bundle::create(&opened.scene(), &request, wire)
    })?;
    if !bundled.border.is_empty() {
        let commits = CountedNoun::new(bundled.border.len(), "commit");
        context.ui.warning(&format!(
            "this clone is shallow: the bundle lacks the history before {commits}, and only a repository that has it can \
             import the bundle; for one with all history: git fetch --unshallow"
        ));
    }
    let sessions = bundled.sessions.iter();
    context.ui.report(&BundleReceipt {
        file: args.file.display().to_string(),
        bytes: bundled.bytes,
        dry_run: args.dry_run,
        sessions: sessions
            .map(|(session, id)| BundledRow { session, id: oid(*id) })
            .collect(),
    })?;
    if args.dry_run {
        return Ok(());
    }
    context.ui.hint(
        "Bundle",
        &format!(
            "import it in another clone: git checkpoint unbundle {}",
            args.file.display()
        ),
    );
    Ok(())
}

/// Import the sessions of a bundle with their files
///
/// The sessions are checked as in a fetch, and become local sessions. An existing session is fast-forwarded; if both
/// have diverged, yours becomes a separate session. No file changes. A directory that 'checkpoint.store' named is read
/// like a bundle.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Import the session of a colleague:
    git checkpoint unbundle ../auth.bundle
    git checkpoint resume auth
  One of its sessions:
    git checkpoint unbundle ../work.bundle search
  What was saved in checkpoint.store while the repository could not be written:
    git checkpoint unbundle ~/sessions")]
pub(in crate::commands) struct OpenArgs {
    /// The bundle, or the directory of a store
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// The sessions; all by default
    #[arg(value_name = "SESSION", value_parser = session_word::of_remote)]
    sessions: Vec<ShortName>,
}

pub(in crate::commands) fn open(args: OpenArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let shown = args.file.display().to_string();
    let file = context.env.cwd.join(&args.file);
    let is_repository = file.join("HEAD").is_file();
    if !file.is_file() && !is_repository {
        let message = format!("no file '{shown}'");
        return Err(CommandError::new(FailureKind::NotFound, message).hint("create one: git checkpoint bundle <file>"));
    }
    if !is_repository && !is_bundle(&file) {
        let message = format!("'{shown}' is not a bundle");
        return Err(CommandError::new(FailureKind::Fatal, message).hint("create one: git checkpoint bundle <file>"));
    }
    let unbundled = wired(context, "git checkpoint unbundle", |wire| {
        bundle::open(&opened.scene(), &file, &args.sessions, wire)
    })?;
    let refused = unbundled.refused.iter();
    context.ui.report(&UnbundleReceipt {
        file: &shown,
        sessions: unbundled
            .sessions
            .iter()
            .map(|session| PullReceipt {
                from_bundle: true,
                ..pulled::receipt(session, false)
            })
            .collect(),
        refused: refused.map(|(session, why)| RefusedBundle { session, why }).collect(),
    })?;
    for session in &unbundled.sessions {
        pulled::warn_purged(context, &session.name, &session.purged_again, "");
    }
    if !unbundled.refused.is_empty() {
        let sessions = CountedNoun::new(unbundled.refused.len(), "session");
        return Err(
            CommandError::new(FailureKind::Negative, format!("{sessions} of '{shown}' refused"))
                .hint("nothing was imported"),
        );
    }
    let Some(first) = unbundled.sessions.first() else {
        return Err(CommandError::new(
            FailureKind::NotFound,
            format!("'{shown}' has no such session"),
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
