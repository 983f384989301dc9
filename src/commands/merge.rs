//! `merge`: another session brought into the current one.

use std::collections::HashSet;

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs, OpenedRepository},
    pending_merge, restore,
    restore_report::{self, RestoreView, bringing},
    share,
};
use crate::{
    model::{
        plan::{Act, PlanReason},
        step::quoted,
    },
    ops::{
        merge::{self, MergeMethod, MergeOutcome, MergeRequest, WithoutFiles},
        plan_runner::PlanOperation,
        returned,
    },
    render::{
        count::CountedNoun,
        merge::{ChangedFile, ConflictingFile, DecidedPoint, MergeView, MergedFiles, SkippedFile},
        share::PrunedCheckpoints,
    },
    store::{checkpoint::oid, merge_state::ConflictCommand},
};

/// Merge another session into the current one
///
/// Merges records, steps, chats and notes with the common checkpoint as the base: lists as sets by id, chats by time.
/// Contradictory values are both kept until 'git checkpoint conflict' resolves them. Files are merged as well if the
/// other session has its own working tree; conflicts are unmerged paths, as after 'git merge', and --continue saves their
/// resolution. The result is one checkpoint. Unsaved changes are saved first, and 'git checkpoint undo' undoes the whole merge.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
git checkpoint merge [OPTIONS] <SESSION>
       git checkpoint merge (--continue | --abort)",
    after_long_help = "\
Examples:
  Merge a fork back:
    git checkpoint merge try-winnow --dry-run
    git checkpoint merge try-winnow -m 'winnow it is' --reason 'clearer errors'
  Mark the other forks of the same fork point as not chosen:
    git checkpoint merge try-winnow --finish-others
  Only the record, no files:
    git checkpoint merge try-winnow --no-files
  After conflicts in files, resolved with 'git add':
    git checkpoint merge --continue
  Give up; what was saved since is kept, but leaves the session:
    git checkpoint merge --abort
  Keep your side of every conflict, with nothing of the other side left:
    git checkpoint merge --continue --force
  Contradictions in the record:
    git checkpoint conflict
    git checkpoint conflict resolve 1 --theirs"
)]
pub(super) struct Args {
    /// The session to merge in, or one of its checkpoints
    #[arg(value_name = "SESSION", required_unless_present_any = ["continued", "abort"])]
    selector: Option<String>,
    #[command(flatten)]
    how: MergeArgs,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Save the resolution of conflicts, or finish an interrupted merge
    #[arg(
        long = "continue",
        conflicts_with_all = ["selector", "abort", "files", "no_files", "index", "reason", "finish_others"]
    )]
    continued: bool,
    /// Go back to the state before the merge
    #[arg(
        long,
        conflicts_with_all = ["selector", "files", "no_files", "index", "message", "reason", "finish_others"]
    )]
    abort: bool,
    #[command(flatten)]
    whom: IdentityArgs,
}

/// The options of a merge.
#[derive(Debug, Default, clap::Args)]
pub(super) struct MergeArgs {
    /// Merge the files; the default if the other session has its own working tree
    #[arg(long, overrides_with = "no_files")]
    files: bool,
    /// Merge no files
    #[arg(long, overrides_with = "files")]
    no_files: bool,
    /// Merge staged changes as well, but for paths in conflict
    #[arg(long)]
    index: bool,
    /// The summary of the merged session, also with --continue
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// Why the option of the fork point was chosen
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    /// Finish the sessions of the other options of the fork point
    #[arg(long)]
    finish_others: bool,
    /// Override the safety checks; files in the way are saved first. With --continue: save files that are not unmerged any
    /// more as they are, also unedited or with nothing of the other side
    #[arg(long)]
    force: bool,
}

impl MergeArgs {
    pub(super) fn method(&self, dry_run: bool) -> MergeMethod {
        MergeMethod {
            files: match (self.files, self.no_files) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            index: self.index,
            summary: self.message.clone(),
            reason: self.reason.clone(),
            finish_others: self.finish_others,
            force: self.force,
            dry_run,
        }
    }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    if args.continued || args.abort {
        return restore::go_on(
            ConflictCommand::Merge,
            (args.abort, args.dry_run, args.how.force),
            args.how.message,
            opened,
            context,
        );
    }
    let selector = args.selector.clone().unwrap_or_default();
    let request = MergeRequest {
        selector: failure::selector(&selector)?,
        how: args.how.method(args.dry_run),
    };
    let merged = bringing(context, &opened, |progress| {
        Ok(merge::merge(&opened.scene(), &request, progress)?)
    });
    let merged = merged.map_err(|error| pending_merge::named(&opened, error))?;
    let (selector, session) = (quoted(&selector), opened.session_option());
    let force = format!("git checkpoint merge {selector}{session} --force");
    report(context, &opened, &merged, (args.dry_run, None), &force)
}

/// Reports a merge. Conflicts end with the exit code of a negative answer.
pub(super) fn report(
    context: &mut Context,
    opened: &OpenedRepository,
    merged: &MergeOutcome,
    (dry_run, left_out): (bool, Option<PrunedCheckpoints>),
    force: &str,
) -> Result<(), CommandError> {
    failure::warn_aftermath(&context.ui, &merged.aftermath);
    let brought = merged.files.as_ref().and_then(|files| files.brought.as_ref());
    if brought.is_some_and(|brought| !brought.is_done()) {
        // Refused or incomplete: then nothing but files was touched.
        let refused = RestoreView {
            restored: merged.files.as_ref(),
            conflicts: &merged.file_conflicts,
            force,
            ..RestoreView::default()
        };
        return restore_report::report(context, opened, &refused);
    }
    let view = MergeView {
        left_out,
        ..view(merged, dry_run)
    };
    context.ui.report(&view)?;
    for (path, why) in brought
        .iter()
        .flat_map(|brought| brought.filtered(PlanOperation::Merge))
    {
        context.ui.warning(&format!("'{}' {why}", path.quoted()));
    }
    if let Some(id) = merged.id.filter(|_| !merged.is_up_to_date) {
        let content = returned::content(&opened.scene(), id)?;
        share::pulled::warn_purged(context, &merged.session, &content, "");
    }
    if dry_run {
        return Ok(());
    }
    if merged.is_up_to_date {
        let open = merged.not_concluded.as_ref();
        return open_conflicts(
            merged,
            open.map(|state| restore::not_concluded(opened, state)).transpose()?,
        );
    }
    let trouble = if merged.file_conflicts.is_empty() {
        share::automatic::after_checkpoint(opened, &merged.session)
    } else {
        // No file of an export is written among those to be resolved.
        share::automatic::shared(opened, &merged.session)
    };
    for trouble in trouble {
        context.ui.warning(&trouble);
    }
    if merged.report.chat.renamed > 0 {
        context.ui.warning(&format!(
            "{} messages with the id of another message got new ids",
            merged.report.chat.renamed
        ));
    }
    let (files, of_record) = (merged.file_conflicts.as_slice(), merged.report.conflicts.len());
    let files = (!files.is_empty())
        .then(|| restore_report::conflicts_error(context, "merge", (files, &merged.resolved), of_record));
    if files.is_none() && merged.report.conflicts.is_empty() {
        context.ui.hint("Undo", "to undo: git checkpoint undo");
    }
    open_conflicts(merged, files)
}

/// The error for the conflicts of a merge that are open, if there are any: `files` is that for those in files.
fn open_conflicts(merged: &MergeOutcome, files: Option<CommandError>) -> Result<(), CommandError> {
    let records = &merged.report.conflicts;
    let Some(conflict) = records.first() else {
        return files.map_or(Ok(()), Err);
    };
    let of_record = || {
        let many = CountedNoun::new(records.len(), "conflict");
        CommandError::new(FailureKind::Negative, format!("{many} of the record to resolve"))
    };
    Err(files.unwrap_or_else(of_record).hint(format!(
        "resolve those of the record, with --theirs for {}: git checkpoint conflict resolve {} --ours",
        conflict.session.as_deref().unwrap_or(&merged.label),
        conflict.id
    )))
}

/// A merge as it is printed.
pub(super) fn view(merged: &MergeOutcome, dry_run: bool) -> MergeView {
    let brought = merged.files.as_ref().and_then(|files| files.brought.as_ref());
    let files = brought.map(|brought| MergedFiles {
        changed: brought
            .lines
            .iter()
            .filter(|line| line.act.changes())
            .map(|line| ChangedFile {
                act: line.act.word(),
                path: line.path.quoted(),
            })
            .collect(),
        conflicts: merged
            .file_conflicts
            .iter()
            .map(|(path, verdict)| ConflictingFile {
                path: path.quoted(),
                conflict: verdict.words(),
            })
            .collect(),
        skipped: brought
            .lines
            .iter()
            .filter(|line| line.act == Act::Skip)
            .map(|line| SkippedFile {
                path: line.path.quoted(),
                reason: match line.why {
                    PlanReason::NotCheckedOut if brought.index.paths.contains(&line.path) => {
                        "merged in the index: sparse checkout leaves it out".to_owned()
                    }
                    PlanReason::Submodule if brought.index.paths.contains(&line.path) => {
                        "merged in the index: git submodule update".to_owned()
                    }
                    ref why => why.to_string(),
                },
            })
            .collect(),
        kept: brought
            .lines
            .iter()
            .filter(|line| line.act == Act::Keep && line.why == PlanReason::NeverThere)
            .map(|line| SkippedFile {
                path: line.path.quoted(),
                reason: line.why.to_string(),
            })
            .collect(),
        index: brought.index.paths.len(),
        staged: {
            let conflicts = merged.file_conflicts.iter().map(|(path, _)| path);
            let skipped = brought.lines.iter().filter(|line| line.act == Act::Skip);
            let listed: HashSet<_> = conflicts.chain(skipped.map(|line| &line.path)).collect();
            brought.index.paths.iter().filter(|path| !listed.contains(path)).count()
        },
        safety: brought.safety.map(|safety| oid(safety.id)),
    });
    let report = &merged.report;
    MergeView {
        left_out: None,
        outcome: match (merged.is_up_to_date, dry_run) {
            (true, _) => "up-to-date",
            (_, true) => "planned",
            _ => "merged",
        },
        dry_run,
        session: merged.session.to_string(),
        from: merged.label.clone(),
        rejoined: merged.rejoined.as_ref().map(ToString::to_string),
        merged: oid(merged.theirs),
        base: merged.base.map(oid),
        id: merged.id.map(oid),
        digest: merged.digest.clone(),
        saved: merged.saved.map(oid),
        would_save: merged.would_save,
        record: report.record.clone(),
        conflicts: report.conflicts.clone(),
        messages: report.chat.added,
        steps: report.steps,
        notes: report.log,
        decided: report
            .decided
            .iter()
            .map(|(title, option)| DecidedPoint {
                title: title.clone(),
                option: option.clone(),
            })
            .collect(),
        finished: merged.finished.iter().map(ToString::to_string).collect(),
        files,
        files_left: merged.files_left,
        without_files: merged.without_files.map(|why| match why {
            WithoutFiles::OtherSession => "the working tree belongs to another session",
            WithoutFiles::SameWorktree => "both sessions were saved in this working tree",
            WithoutFiles::NotSaved => "the other session was saved without files",
            WithoutFiles::Unrelated => "the sessions have no common checkpoint; use --files to merge them anyway",
        }),
    }
}
