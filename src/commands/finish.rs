//! `finish`: the last checkpoint of a session.

use std::path::PathBuf;

use super::{
    Context,
    error::CommandError,
    input,
    opening::{self, IdentityArgs},
    pending_merge,
    resume_prompt::put_aside_words,
    save,
    summary::SummaryArgs,
};
use crate::{
    model::{
        document::{CheckpointKind, SessionStatus},
        record::SessionFailure,
    },
    ops::{
        put_aside,
        save::{OverClaim, SaveRequest},
    },
};

/// Finish a session: save it and mark it as completed or failed
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  The work is done:
    git checkpoint finish -m 'merged as #42'
  Record a failure with its error:
    git checkpoint finish --status failed --error-file build.log")]
pub(super) struct Args {
    #[command(flatten)]
    whom: IdentityArgs,
    /// How it ended
    #[arg(long, default_value = "completed", value_parser = ["completed", "failed"])]
    status: String,
    #[command(flatten)]
    text: SummaryArgs,
    /// A file with the error: its first line is the message, the rest the stack
    #[arg(long, value_name = "FILE")]
    error_file: Option<PathBuf>,
    /// Save the record only
    #[arg(long)]
    no_files: bool,
    /// Also finish a session that somebody else has claimed
    #[arg(long)]
    force: bool,
    /// The summary, typed without its option
    #[arg(hide = true, value_name = "TEXT")]
    words: Vec<String>,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// The most that is taken of an error file: 1 MiB, enough for any stack trace.
const ERROR_LIMIT: u64 = 1 << 20;

pub(super) fn run(mut args: Args, context: &mut Context) -> Result<(), CommandError> {
    let is_free = args.text.messages.is_empty() && args.text.file.is_none();
    match save::sentence(&args.words, is_free, ("finish", &context.env.cwd)) {
        Ok(sentence) => args.text.messages.extend(sentence),
        Err(error) => {
            let error = save::session_meant(context, &args.whom, ("finish", &args.words), error);
            // To finish a merge is to continue it.
            return Err(match opening::open(context, &args.whom) {
                Ok(opened) => pending_merge::named(&opened, error),
                Err(_) => error,
            });
        }
    }
    let opened = opening::open(context, &args.whom)?;
    // What cannot be read is no reason not to save.
    let aside = put_aside::remaining_of_current(&opened.scene()).unwrap_or_default();
    let mut request = SaveRequest::new(CheckpointKind::Finish);
    request.status = if args.status == "failed" {
        SessionStatus::Failed
    } else {
        SessionStatus::Completed
    };
    request.leave = true;
    request.claim = if args.force {
        OverClaim::Forced
    } else {
        OverClaim::Refused
    };
    request.start = false;
    request.summary = args.text.summary(context, &opened)?;
    request.files = !args.no_files;
    request.dry_run = args.dry_run;
    if let Some(path) = &args.error_file {
        let bytes = input::read_file(context, path, ERROR_LIMIT, "the error file")?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        let (message, stack) = text.split_once('\n').unwrap_or((text, ""));
        let stack = Some(stack.to_owned()).filter(|stack| !stack.trim().is_empty());
        request.error = Some(SessionFailure {
            message: message.trim_end().to_owned(),
            stack,
        });
    }
    save::report(context, &opened, request)?;
    if let Some(latest) = aside.first() {
        context.ui.warning(&put_aside_words(latest));
    }
    Ok(())
}
