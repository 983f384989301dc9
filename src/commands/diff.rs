//! `diff`: two checkpoints, or a checkpoint and the present.

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs},
    pathspecs::Pathspecs,
    restore,
};
use crate::{
    ops::{
        diff::{self, DiffOutcome, DiffRequest},
        range::{self, Range},
        select,
    },
    render::{diff as render, patch},
    store::patch::{PatchFormat, PatchOptions},
};

/// Compare two checkpoints, or one with the working tree
///
/// Shows the record first, with additions (+) and removals (-), then the files as a patch for 'git apply'.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  What changed since the latest checkpoint of the current session:
    git checkpoint diff
  Uncommitted changes, including untracked files:
    git checkpoint diff HEAD
  Changes of one checkpoint, in one directory:
    git checkpoint diff auth~1 auth -- src
  A patch to apply elsewhere:
    git checkpoint diff auth~1 auth --no-record | git -C ../other apply
  What a fork changed since it and the current session parted:
    git checkpoint diff --merge-base @ try-nom
  What a fork staged since then:
    git checkpoint diff --cached @...try-nom
  The commits of two forks, matched by what they change:
    git checkpoint diff --range try-nom try-winnow")]
pub(super) struct Args {
    /// The older checkpoint, or a commit such as HEAD; the latest of the current session by default. Where a session
    /// and a branch have the same name, it means the session, and refs/heads/NAME means the branch
    old: Option<String>,
    /// The newer one; the working tree by default
    new: Option<String>,
    #[command(flatten)]
    pathspecs: Pathspecs,
    /// Show the patch, which is the default; with --json it becomes a member
    #[arg(short, long, group = "form")]
    patch: bool,
    /// Show how much each file changes
    #[arg(long, group = "form")]
    stat: bool,
    /// Show the numbers of changed lines, for programs
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
    /// Compare the newer side with the checkpoint, else the commit, that both come from; also written OLD...NEW
    #[arg(long, conflicts_with = "range")]
    merge_base: bool,
    /// Compare what was staged with what is staged, instead of the files
    #[arg(long, visible_alias = "staged", conflicts_with = "range")]
    cached: bool,
    /// Match the commits that the two sides made since they diverged, as 'git range-diff' does
    #[arg(long, group = "form", requires_all = ["old", "new"], conflicts_with_all = ["nul", "renames"])]
    range: bool,
    /// Detect renames; the similarity threshold in percent
    #[arg(short = 'M', long = "find-renames", value_name = "N", num_args = 0..=1, default_missing_value = "50")]
    renames: Option<u8>,
    /// Use the configured diff programs and text conversions, as 'git diff' does; the result cannot be applied
    #[arg(long, conflicts_with = "range")]
    ext_diff: bool,
    /// Leave the record out
    #[arg(long)]
    no_record: bool,
    /// Exit with 1 when there are differences
    #[arg(long)]
    exit_code: bool,
}

/// Both sides of `OLD..NEW` and `OLD...NEW`, and whether the second form was used. A side that is left out is `@`.
fn dotted(text: &str) -> Option<(String, String, bool)> {
    // A search text and a date may hold dots as well.
    if text.contains([':', '{']) || text.starts_with("../") {
        return None;
    }
    let (dots, is_merge_base) = if text.contains("...") {
        ("...", true)
    } else {
        ("..", false)
    };
    let (old, new) = text.split_once(dots)?;
    let side = |text: &str| {
        if text.is_empty() {
            "@".to_owned()
        } else {
            text.to_owned()
        }
    };
    Some((side(old), side(new), is_merge_base))
}

pub(super) fn run(mut args: Args, context: &mut Context) -> Result<(), CommandError> {
    if let (Some(old), None) = (&args.old, &args.new)
        && let Some((old, new, is_merge_base)) = dotted(old)
    {
        args.old = Some(old);
        args.new = Some(new);
        args.merge_base |= is_merge_base;
    }
    if args.range && !args.pathspecs.is_empty() {
        return Err(CommandError::new(
            FailureKind::Usage,
            "'--range' matches whole commits and takes no pathspecs",
        )
        .hint("to compare files, omit --range"));
    }
    let opened = opening::open(context, &IdentityArgs::default())?;
    if let (true, Some(old), Some(new)) = (args.range, &args.old, &args.new) {
        let range = range::range(&opened.scene(), &failure::selector(old)?, &failure::selector(new)?)?;
        return matched(&range, args.exit_code, context);
    }
    let format = match () {
        () if args.stat => PatchFormat::Stat,
        () if args.numstat => PatchFormat::NumStat,
        () if args.name_only => PatchFormat::NameOnly,
        () if args.name_status => PatchFormat::NameStatus,
        () => PatchFormat::Patch,
    };
    let request = DiffRequest {
        old: args.old.as_deref().map(failure::selector).transpose()?,
        new: args.new.as_deref().map(failure::selector).transpose()?,
        merge_base: args.merge_base,
        index: args.cached,
        patch: PatchOptions {
            format,
            nul: args.nul,
            renames: args.renames,
            converted: args.ext_diff,
            width: (format == PatchFormat::Stat).then(|| context.ui.width()),
            pathspecs: args.pathspecs.read(context)?,
            directory: Some(context.env.cwd.clone()),
            ..PatchOptions::default()
        },
    };
    let diff = diff::diff(&opened.scene(), &request).map_err(|error| {
        let alone = args
            .old
            .as_deref()
            .filter(|_| args.new.is_none() && args.pathspecs.is_empty());
        let error = CommandError::from(args.pathspecs.as_given(error));
        restore::path_meant(context, &opened, ("diff", alone), error)
    })?;
    let words = [args.old.as_deref(), args.new.as_deref()];
    for word in words.into_iter().flatten() {
        if select::is_also_branch(&opened.scene(), word) {
            // Sessions are named after branches, so either may be meant. git warns of names that mean two things as well.
            context.ui.warning(&format!(
                "'{word}' is the session here; the branch: git checkpoint diff refs/heads/{word}"
            ));
        }
    }
    let differs = !diff.record.is_empty() || !diff.files.is_empty();
    if context.ui.options().json {
        context.ui.json(&render::CheckpointDiff {
            old: &diff.old,
            new: diff.new.as_ref(),
            record: &diff.record,
            index: args.cached,
            files: &diff.files,
            files_compared: !diff.without_files,
            patch: args.patch.then(|| String::from_utf8_lossy(&diff.text)),
        })?;
    } else {
        write(
            context,
            &diff,
            format,
            args.no_record || args.nul || format != PatchFormat::Patch && format != PatchFormat::Stat,
        );
    }
    if args.exit_code && differs {
        Err(CommandError::silent(FailureKind::Negative))
    } else {
        Ok(())
    }
}

fn side(side: &range::RangeSide) -> render::RangeSideRow<'_> {
    render::RangeSideRow {
        id: &side.id,
        session: side.session.as_ref(),
        head: &side.head,
    }
}

/// Matches the commits of two forks.
fn matched(range: &Range, exit_code: bool, context: &mut Context) -> Result<(), CommandError> {
    if context.ui.options().json {
        let commits = range.commits.iter().map(|commit| render::MatchedCommitRow {
            verdict: commit.verdict,
            old: commit.old.as_ref(),
            new: commit.new.as_ref(),
            subject: &commit.subject,
        });
        context.ui.json(&render::RangeView {
            old: side(&range.old),
            new: side(&range.new),
            base: &range.base,
            commits: commits.collect(),
        })?;
    } else if range.commits.is_empty() {
        let base = range.base.short();
        context.ui.status(format!("Neither side has a commit since {base}."));
    } else {
        context.ui.page();
        if context.ui.for_people() {
            context.ui.verbatim(&patch::range(&range.text));
        } else {
            context.ui.bytes(&range.text);
        }
    }
    let differs = range.commits.iter().any(|commit| commit.verdict != "same");
    if exit_code && differs {
        return Err(CommandError::silent(FailureKind::Negative));
    }
    Ok(())
}

fn write(context: &mut Context, diff: &DiffOutcome, format: PatchFormat, no_record: bool) {
    context.ui.page();
    if diff.without_files {
        context
            .ui
            .warning("one side has no files, so only the records are compared");
    }
    if !no_record {
        context.ui.data(render::record(
            &diff.record,
            diff.old.short(),
            diff.new.as_ref().map_or("now", |id| id.short()),
        ));
    }
    // On a terminal the patch is ours to color, word by word; in a pipe its bytes are git's own.
    if format == PatchFormat::Patch && context.ui.for_people() {
        context.ui.verbatim(&patch::text(&diff.text));
    } else {
        context.ui.bytes(&diff.text);
    }
}
