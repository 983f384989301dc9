//! `prune`: the retention rules of arguments and settings.

use std::time::Duration;

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs},
};
use crate::{
    ops::{
        Scene,
        prune::{self, PruneOutcome, PrunedRef, RetentionRules},
    },
    render::{
        count::CountedNoun,
        prune::{PruneReceipt, PrunedRefRow, PrunedRow, RetainedRow},
    },
    store::{
        self,
        checkpoint::oid,
        undo::{CommandNote, ListMark},
    },
};

/// Delete old checkpoints by retention rules
///
/// Without a rule everything is kept. The latest checkpoint of a session and its first always stay; named, pinned,
/// forked-from and shared ones, and those of a session that somebody else has claimed, stay unless --force is given.
/// Documents, dates and digests of the others do not change, and old ids still select them. Pruned checkpoints move to the
/// trash, from which 'git checkpoint undo' brings them back until --trash empties it and ends that. Disk space is freed by
/// git's own garbage collection, which this command never runs. Rules that are not given come from the settings
/// checkpoint.keep*; 0 disables one of them.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Show what would be removed, then remove it:
    git checkpoint prune --keep-last 20 --older-than 30d --dry-run
    git checkpoint prune --keep-last 20 --older-than 30d
  One an hour for a day, one a day for a week, one a week for a year:
    git checkpoint prune --keep-hourly 24 --keep-daily 7 --keep-weekly 52
  Completed sessions after three months, and the trash:
    git checkpoint prune --drop-completed --older-than 90d --trash
  Automatically after each save:
    git config checkpoint.keepLast 50
    git config checkpoint.autoPrune true")]
pub(super) struct Args {
    /// Keep this many latest checkpoints of each session
    #[arg(long, value_name = "N")]
    keep_last: Option<usize>,
    /// Keep the latest checkpoint of each of this many hours
    #[arg(long, value_name = "N")]
    keep_hourly: Option<usize>,
    /// Keep the latest checkpoint of each of this many days
    #[arg(long, value_name = "N")]
    keep_daily: Option<usize>,
    /// Keep the latest checkpoint of each of this many weeks
    #[arg(long, value_name = "N")]
    keep_weekly: Option<usize>,
    /// Keep this many latest sessions; active and current ones stay in any case
    #[arg(long, value_name = "N")]
    max_sessions: Option<usize>,
    /// Remove only older checkpoints, such as 30d or 12h
    #[arg(long, value_name = "TIME", value_parser = store::config::span)]
    older_than: Option<Duration>,
    /// Leave completed sessions alone
    #[arg(long, overrides_with = "drop_completed")]
    keep_completed: bool,
    /// Remove completed sessions
    #[arg(long, overrides_with = "keep_completed")]
    drop_completed: bool,
    /// Leave failed sessions alone
    #[arg(long, overrides_with = "drop_failed")]
    keep_failed: bool,
    /// Remove failed sessions
    #[arg(long, overrides_with = "keep_failed")]
    drop_failed: bool,
    /// Remove autosaves that a later checkpoint replaces; undo brings back the latest of each working tree
    #[arg(long)]
    autosaves: bool,
    /// Empty the trash permanently
    #[arg(long)]
    trash: bool,
    /// Also remove named, pinned, forked-from and shared checkpoints, and those of claimed sessions
    #[arg(long)]
    force: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask before the trash is emptied; without a terminal --trash is the answer
    #[arg(short, long)]
    yes: bool,
}

impl Args {
    /// The options that were given and by themselves remove nothing: 0 disables a rule, and others only keep.
    fn idle(&self) -> Vec<&'static str> {
        let is_zero = |number: Option<usize>| number == Some(0);
        let all = [
            (is_zero(self.keep_last), "--keep-last 0"),
            (is_zero(self.keep_hourly), "--keep-hourly 0"),
            (is_zero(self.keep_daily), "--keep-daily 0"),
            (is_zero(self.keep_weekly), "--keep-weekly 0"),
            (is_zero(self.max_sessions), "--max-sessions 0"),
            (self.older_than.is_some_and(|age| age.is_zero()), "--older-than 0"),
            (self.keep_completed, "--keep-completed"),
            (self.keep_failed, "--keep-failed"),
        ];
        all.into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, option)| option)
            .collect()
    }
}

/// Why nothing can go, where no rule removes anything; `idle` are the options that were given.
fn unruled(idle: &[&str]) -> String {
    let kept = "rule everything is kept";
    match idle {
        [] => format!("without a {kept}"),
        [one] => format!("{one} removes nothing, and without another {kept}"),
        [all @ .., last] => format!(
            "{} and {last} remove nothing, and without another {kept}",
            all.join(", ")
        ),
    }
}

/// The rules of the settings.
fn of_settings(scene: &Scene<'_>) -> RetentionRules {
    let settings = scene.settings;
    let number = |n: u64| usize::try_from(n).ok().filter(|n| *n > 0);
    RetentionRules {
        keep_last: number(settings.keep_last),
        keep_hourly: number(settings.keep_hourly),
        keep_daily: number(settings.keep_daily),
        keep_weekly: number(settings.keep_weekly),
        max_sessions: number(settings.keep_sessions),
        older_than: Some(settings.keep_for).filter(|age| !age.is_zero()),
        completed: settings.keep_completed,
        failed: settings.keep_failed,
        ..RetentionRules::default()
    }
}

/// Part of an autosave that undo cannot restore: a deleted ref takes its reflog along.
const LOGS: &str = "undo restores the latest autosave of each working tree; earlier ones are removed permanently";

/// Command that frees the disk when the trash has been emptied.
const GC: &str = "to free disk space: git gc --prune=now";

/// Command that frees the disk before that.
const TRASH_AND_GC: &str = "the disk is freed by emptying the trash and by git's own garbage collection:\n\
                            git checkpoint prune --trash && git gc --prune=now";

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let scene = opened.scene();
    let set = of_settings(&scene);
    let idle = args.idle();
    let either = |keep: bool, drop: bool| match (keep, drop) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    // As in the settings 0 disables a rule, for this prune.
    let number = |given: Option<usize>, set: Option<usize>| given.or(set).filter(|number| *number > 0);
    let rules = RetentionRules {
        keep_last: number(args.keep_last, set.keep_last),
        keep_hourly: number(args.keep_hourly, set.keep_hourly),
        keep_daily: number(args.keep_daily, set.keep_daily),
        keep_weekly: number(args.keep_weekly, set.keep_weekly),
        max_sessions: number(args.max_sessions, set.max_sessions),
        older_than: args.older_than.or(set.older_than).filter(|age| !age.is_zero()),
        completed: either(args.keep_completed, args.drop_completed).or(set.completed),
        failed: either(args.keep_failed, args.drop_failed).or(set.failed),
        autosaves: args.autosaves,
        trash: args.trash,
        force: args.force,
    };
    // A script that empties the trash has said so already.
    if args.trash && !args.dry_run && !args.yes && context.ui.can_ask() {
        let planned = prune::prune(&scene, &rules, true)?;
        let refs = CountedNoun::irregular(planned.trash.len(), "entry", "entries");
        let question = format!("Permanently delete {refs} of the trash? This cannot be undone.");
        if !planned.trash.is_empty() && !context.ui.confirm(&question, "--yes")? {
            return Err(CommandError::new(FailureKind::Negative, "nothing was deleted"));
        }
    }
    let pruned = {
        let _counting = context.ui.counting("Pruning");
        prune::prune(&scene, &rules, args.dry_run)?
    };
    for session in &pruned.damaged {
        context.ui.warning(&format!(
            "session '{session}' is damaged and was skipped; see: git checkpoint verify {session}"
        ));
    }
    failure::warn_aftermath(&context.ui, &pruned.aftermath);
    let receipt = view(&pruned, args.dry_run);
    if context.ui.options().json {
        return context.ui.json(&receipt);
    }
    if context.ui.options().quiet == 0 {
        let unruled = rules.is_empty().then(|| unruled(&idle));
        context.ui.data(receipt.text(unruled.as_deref(), scene.now));
        if args.dry_run && !pruned.is_empty() {
            context.ui.dry_run();
        }
    }
    if rules.is_empty() {
        context
            .ui
            .hint("Prune", "add a rule, such as --keep-last 20 or --older-than 30d");
    } else if args.dry_run && !pruned.is_empty() {
        context.ui.hint("Prune", "omit --dry-run to prune");
        if !pruned.autosaves.is_empty() {
            context.ui.hint("Undo", LOGS);
        }
    } else if !pruned.is_empty() {
        if pruned.trash.len() < pruned.goes.len() + pruned.sessions.len() + pruned.autosaves.len() {
            context.ui.hint("Undo", "to undo: git checkpoint undo");
        }
        if !pruned.autosaves.is_empty() {
            context.ui.hint("Undo", LOGS);
        }
        context
            .ui
            .hint("Freed", if receipt.is_trash_only() { GC } else { TRASH_AND_GC });
    }
    Ok(())
}

/// Prunes at the end of a save, when `checkpoint.autoPrune` is set. A command that the undo list does not have is noted
/// after the prune: the last command is that one, and `undo` would revert the prune in its place.
pub(super) fn by_itself(context: &Context, scene: &Scene<'_>, unlisted: Option<&str>) {
    if !scene.settings.auto_prune {
        return;
    }
    let rules = of_settings(scene);
    if rules.is_empty() {
        context.ui.warning(
            "checkpoint.autoPrune is set, but no rule is: see checkpoint.keepLast, keepDaily, keepFor, keepSessions",
        );
        return;
    }
    match prune::prune(scene, &rules, false) {
        Ok(pruned) if pruned.is_empty() => {}
        Ok(pruned) => {
            if let Some(command) = unlisted {
                ListMark::of(scene.repo).note(&CommandNote {
                    command,
                    at: scene.now,
                    changed: true,
                    resolves: false,
                    rewrites: false,
                });
            }
            context.ui.status(view(&pruned, false).summary());
        }
        Err(error) => context
            .ui
            .warning(&format!("the checkpoint is saved, but was not pruned: {error}")),
    }
}

fn view(pruned: &PruneOutcome, dry_run: bool) -> PruneReceipt<'_> {
    fn refs(list: &[PrunedRef]) -> Vec<PrunedRefRow<'_>> {
        let rows = list.iter().map(|gone| PrunedRefRow {
            name: &gone.name,
            session: gone.session.as_deref(),
            id: oid(gone.id),
            checkpoints: gone.checkpoints,
        });
        rows.collect()
    }
    let goes = pruned.goes.iter().map(|goes| PrunedRow {
        session: &goes.session,
        id: oid(goes.entry.id),
        digest: goes.entry.trailers.digest.as_ref(),
        at: goes.entry.time,
        summary: &goes.entry.subject,
    });
    let stays = pruned.stays.iter().map(|stays| RetainedRow {
        session: &stays.session,
        id: oid(stays.entry.id),
        digest: stays.entry.trailers.digest.as_ref(),
        why: stays.why.word(),
        summary: &stays.entry.subject,
    });
    PruneReceipt {
        outcome: if dry_run { "planned" } else { "pruned" },
        checkpoints: goes.collect(),
        stays: stays.collect(),
        kept: pruned.kept,
        sessions: refs(&pruned.sessions),
        autosaves: refs(&pruned.autosaves),
        trash: refs(&pruned.trash),
        moved: &pruned.moved,
        damaged: &pruned.damaged,
        frees_bytes: pruned.frees,
        not_undoable: &pruned.forgotten,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    /// For each option with a value and each that only keeps: "without a rule" is not said where one was given.
    #[test]
    fn a_rule_that_removes_nothing_is_named() {
        let why = |line: &[&str]| {
            let words = ["prune"].iter().chain(line);
            unruled(&Line::try_parse_from(words).expect("options").args.idle())
        };
        assert_eq!(why(&[]), "without a rule everything is kept");
        for option in [
            "--keep-last",
            "--keep-hourly",
            "--keep-daily",
            "--keep-weekly",
            "--max-sessions",
            "--older-than",
        ] {
            let wanted = format!("{option} 0 removes nothing, and without another rule everything is kept");
            assert_eq!(why(&[option, "0"]), wanted);
        }
        for option in ["--keep-completed", "--keep-failed"] {
            let wanted = format!("{option} removes nothing, and without another rule everything is kept");
            assert_eq!(why(&[option]), wanted);
        }
        assert_eq!(
            why(&["--older-than", "0s", "--keep-last", "0", "--keep-failed"]),
            "--keep-last 0, --older-than 0 and --keep-failed remove nothing, and without another rule everything is kept"
        );
        assert!(why(&["--keep-last", "3"]).starts_with("without a rule"));
    }
}
