//! `diff`: two checkpoints, or a checkpoint and the present.

use std::ffi::OsString;

use serde_json::json;

use super::{
    Context,
    error::{CommandError, Kind},
    failure,
    opened::{self, Whom},
};
use crate::{
    ops::diff::{self, Diff, Request},
    render::{diff as render, patch},
    store::patch::{Format, PatchOptions},
};

/// Show what differs between two checkpoints, or between a checkpoint and the present
///
/// First the record: what came (+) and what went (-). Then the files, as a patch that 'git apply' takes.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  What changed since the newest checkpoint of the current session:
    git checkpoint diff
  What one checkpoint added to the one before, in one folder:
    git checkpoint diff auth~1 auth -- src
  A patch to apply elsewhere:
    git checkpoint diff auth~1 auth --no-record | git -C ../other apply")]
pub(super) struct Args {
    /// The older checkpoint; the newest of the current session by default
    old: Option<String>,
    /// The newer one; the present by default
    new: Option<String>,
    /// Only these files, as pathspecs
    #[arg(last = true, value_name = "PATHSPEC")]
    pathspecs: Vec<OsString>,
    /// Show how much each file changes
    #[arg(long, group = "form")]
    stat: bool,
    /// Show the numbers of lines, for programs
    #[arg(long, group = "form")]
    numstat: bool,
    /// Show names only
    #[arg(long, group = "form")]
    name_only: bool,
    /// Show names and the kind of change
    #[arg(long, group = "form")]
    name_status: bool,
    /// End records with NUL and quote no names
    #[arg(short = 'z')]
    nul: bool,
    /// Look for renamed files that are alike to this many per cent
    #[arg(short = 'M', long = "find-renames", value_name = "N", num_args = 0..=1, default_missing_value = "50")]
    renames: Option<u8>,
    /// Leave the record out
    #[arg(long)]
    no_record: bool,
    /// Exit with 1 when there are differences
    #[arg(long)]
    exit_code: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opened::open(context, &Whom::default())?;
    let format = match () {
        () if args.stat => Format::Stat,
        () if args.numstat => Format::NumStat,
        () if args.name_only => Format::NameOnly,
        () if args.name_status => Format::NameStatus,
        () => Format::Patch,
    };
    let request = Request {
        old: args.old.as_deref().map(failure::selector).transpose()?,
        new: args.new.as_deref().map(failure::selector).transpose()?,
        patch: PatchOptions {
            format,
            nul: args.nul,
            renames: args.renames,
            width: (format == Format::Stat).then(|| context.ui.width()),
            pathspecs: args.pathspecs,
            folder: Some(context.env.cwd.clone()),
            ..PatchOptions::default()
        },
    };
    let diff = diff::diff(&opened.scene(), &request)?;
    let differs = !diff.record.is_empty() || !diff.files.is_empty();
    if context.ui.options().json {
        context.ui.json(&json_of(&diff))?;
    } else {
        write(
            context,
            &diff,
            format,
            args.no_record || args.nul || format != Format::Patch && format != Format::Stat,
        );
    }
    if args.exit_code && differs {
        Err(CommandError::silent(Kind::Negative))
    } else {
        Ok(())
    }
}

fn write(context: &mut Context, diff: &Diff, format: Format, no_record: bool) {
    context.ui.page();
    if diff.without_files {
        context
            .ui
            .warning("a side has no files, so that only the records are compared");
    }
    if !no_record {
        context.ui.data(render::record(
            &diff.record,
            diff.old.short(),
            diff.new.as_ref().map_or("now", |id| id.short()),
        ));
    }
    // On a terminal the patch is ours to colour, word by word; in a pipe its bytes are git's own.
    if format == Format::Patch && context.ui.for_people() {
        context.ui.verbatim(&patch::text(&diff.text));
    } else {
        context.ui.bytes(&diff.text);
    }
}

fn json_of(diff: &Diff) -> serde_json::Value {
    json!({
        "schema": "git-checkpoint.diff/1",
        "old": diff.old,
        "new": diff.new,
        "record": diff.record,
        "files": diff.files,
        "files_compared": !diff.without_files,
    })
}
