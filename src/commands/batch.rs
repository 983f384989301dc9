//! `batch`: many commands in one process.

use std::{
    fs::File,
    io::{BufReader, ErrorKind, Read},
    path::PathBuf,
};

use super::{
    Context,
    error::{CommandError, FailureKind},
    resident::ResidentProcess,
};
use crate::{os, serve::batch};

/// Run many commands in one process, one JSON line each
///
/// Answers each line of the input that is not blank with one line on standard output, in the same order, until the input
/// ends. A request has the arguments of a command, or a tool of 'git checkpoint mcp' with its arguments; its 'id' is returned. The
/// answer has the exit code, the JSON that the command prints, its warnings, and the error with its hints. Each command
/// is complete when its answer is written. A line has at most 20,000 values and 20 MiB; a long input is best given as a
/// text. The exit code is 1 if a request failed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Two commands in one process:
    printf '%s\\n' '{\"args\": [\"save\", \"-m\", \"parsed\"]}' \\
      '{\"args\": [\"list\"]}' | git checkpoint batch
  Standard input of a command:
    echo '{\"args\": [\"save\", \"--record\", \"-\"], \"input\": {\"todos\": [\"docs\"]}}' |
      git checkpoint batch
  A tool:
    echo '{\"id\": 1, \"tool\": \"checkpoint_resume\", \"arguments\": {}}' |
      git checkpoint batch")]
pub(super) struct Args {
    /// Read requests from this file instead of standard input
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// Stop at the first failed request
    #[arg(long)]
    stop_on_error: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::BrokenPipe => CommandError::silent(FailureKind::BrokenPipe),
        _ => CommandError::new(FailureKind::Fatal, format!("the batch ended: {}", os::reason(&error))),
    };
    let file = args.file.map(|path| {
        File::open(context.env.cwd.join(&path)).map_err(|error| {
            let message = format!("cannot read '{}': {}", path.display(), os::reason(&error));
            CommandError::new(FailureKind::Invalid, message)
        })
    });
    let file = file.transpose()?;
    let streams = os::ProtocolStreams::take().map_err(failed)?;
    let runner = ResidentProcess::new(&context.env);
    let input: Box<dyn Read> = match file {
        Some(file) => Box::new(file),
        None => streams.input,
    };
    let input = BufReader::new(input);
    let counts = batch::run(&runner, input, streams.output, args.stop_on_error).map_err(failed)?;
    match counts.failed {
        0 => Ok(()),
        failed => Err(CommandError::new(
            FailureKind::Negative,
            format!("{failed} of {} requests failed", counts.requests),
        )),
    }
}
