//! `prune`: which rules, and what they take and leave.

use std::time::Duration;

use serde_json::json;

use super::{
    Context,
    error::CommandError,
    failure,
    opening::{self, IdentityArgs},
};
use crate::{
    ops::{
        Scene,
        prune::{self, PruneOutcome, PrunedRef, RetentionRules},
    },
    render::{
        age,
        count::{ByteSize, CountedNoun},
        slot::Slot,
        text::{Text, TextLine},
    },
    store::{self, checkpoint::oid},
};

/// How many checkpoints are listed one by one.
const LISTED: usize = 20;

/// Delete old checkpoints by retention rules
///
/// Without a rule everything is kept. The latest checkpoint of a session and its first always stay; named, pinned,
/// forked-from and shared ones stay unless --force is given. Documents, dates and digests of the others do not change,
/// and old ids still select them. Pruned checkpoints move to the trash, from which 'git checkpoint undo' brings them back
/// until --trash empties it. Disk space is freed by git's own garbage collection, which this command never runs. Rules
/// that are not given come from the settings checkpoint.keep*.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  See what would be removed, then do it:
    git checkpoint prune --keep-last 20 --older-than 30d --dry-run
    git checkpoint prune --keep-last 20 --older-than 30d
  One an hour for a day, one a day for a week, one a week for a year:
    git checkpoint prune --keep-hourly 24 --keep-daily 7 --keep-weekly 52
  Completed sessions after three months, and what earlier prunes took:
    git checkpoint prune --drop-completed --older-than 90d --trash
  By itself after each save:
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
    /// Take only what is older, such as 30d or 12h
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
    /// Take named, pinned, forked-from and shared checkpoints as well
    #[arg(long)]
    force: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
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
const LOGS: &str = "of autosaves it brings back the latest of each working tree; earlier ones are removed permanently";

/// Command that frees the disk when the trash has been emptied.
const GC: &str = "the disk is freed by git's own garbage collection: git gc --prune=now";

/// Command that frees the disk before that.
const TRASH_AND_GC: &str = "the disk is freed by emptying the trash and by git's own garbage collection:\n\
                            git checkpoint prune --trash && git gc --prune=now";

/// Whether nothing moved to the trash.
fn only_trash(pruned: &PruneOutcome) -> bool {
    pruned.goes.is_empty() && pruned.sessions.is_empty() && pruned.autosaves.is_empty()
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let scene = opened.scene();
    let set = of_settings(&scene);
    let either = |keep: bool, drop: bool| match (keep, drop) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let rules = RetentionRules {
        keep_last: args.keep_last.or(set.keep_last),
        keep_hourly: args.keep_hourly.or(set.keep_hourly),
        keep_daily: args.keep_daily.or(set.keep_daily),
        keep_weekly: args.keep_weekly.or(set.keep_weekly),
        max_sessions: args.max_sessions.or(set.max_sessions),
        older_than: args.older_than.or(set.older_than),
        completed: either(args.keep_completed, args.drop_completed).or(set.completed),
        failed: either(args.keep_failed, args.drop_failed).or(set.failed),
        autosaves: args.autosaves,
        trash: args.trash,
        force: args.force,
    };
    let pruned = {
        let _counting = context.ui.counting("Pruning");
        prune::prune(&scene, &rules, args.dry_run)?
    };
    for session in &pruned.damaged {
        context.ui.warning(&format!(
            "session '{session}' is damaged and was left alone; see: git checkpoint verify {session}"
        ));
    }
    failure::warn_aftermath(&context.ui, &pruned.aftermath);
    if context.ui.options().json {
        return context.ui.json(&json_of(&pruned, args.dry_run));
    }
    if context.ui.options().quiet == 0 {
        context.ui.data(text(&pruned, &rules, args.dry_run, &scene));
    }
    if rules.is_empty() {
        context
            .ui
            .hint("Prune", "give a rule, such as --keep-last 20 or --older-than 30d");
    } else if args.dry_run && !pruned.is_empty() {
        context
            .ui
            .hint("Prune", "nothing was changed; leave out --dry-run to do it");
        if !pruned.autosaves.is_empty() {
            context.ui.hint("Undo", LOGS);
        }
    } else if !pruned.is_empty() {
        if pruned.trash.len() < pruned.goes.len() + pruned.sessions.len() + pruned.autosaves.len() {
            context.ui.hint("Undo", "undo with: git checkpoint undo");
        }
        if !pruned.autosaves.is_empty() {
            context.ui.hint("Undo", LOGS);
        }
        context
            .ui
            .hint("Freed", if only_trash(&pruned) { GC } else { TRASH_AND_GC });
    }
    Ok(())
}

/// Prunes at the end of a save, when `checkpoint.autoPrune` is set.
pub(super) fn by_itself(context: &Context, scene: &Scene<'_>) {
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
        Ok(pruned) => context.ui.status(summary(&pruned, false)),
        Err(error) => context
            .ui
            .warning(&format!("the checkpoint is saved, but was not pruned: {error}")),
    }
}

fn summary(pruned: &PruneOutcome, dry_run: bool) -> TextLine {
    let mut parts = Vec::new();
    let mut part = |n: usize, one: &str| {
        if n > 0 {
            parts.push(CountedNoun::new(n, one).to_string());
        }
    };
    part(pruned.goes.len(), "checkpoint");
    part(pruned.sessions.len(), "session");
    part(pruned.autosaves.len(), "autosave");
    if !pruned.trash.is_empty() {
        let entries = CountedNoun::irregular(pruned.trash.len(), "trash entry", "trash entries");
        parts.push(entries.to_string());
    }
    let verb = if dry_run { "Would prune " } else { "Pruned " };
    let mut line = TextLine::new()
        .with(Slot::Removed, verb)
        .with(Slot::Plain, parts.join(", "));
    line.push(
        Slot::Plain,
        format!("; {} kept", CountedNoun::new(pruned.kept, "checkpoint")),
    );
    if let Some(bytes) = pruned.frees.filter(|bytes| *bytes > 0) {
        let when = if only_trash(pruned) {
            "'git gc --prune=now' runs"
        } else {
            "the trash is emptied"
        };
        line.push(Slot::Plain, format!("; frees {} when {when}", ByteSize(bytes)));
    }
    line
}

fn text(pruned: &PruneOutcome, rules: &RetentionRules, dry_run: bool, scene: &Scene<'_>) -> Text {
    let mut text = Text::new();
    if pruned.is_empty() {
        text.push(TextLine::plain(if rules.is_empty() {
            "Nothing to prune: without a rule everything is kept."
        } else {
            "Nothing to prune."
        }));
    } else {
        text.push(summary(pruned, dry_run));
    }
    for goes in pruned.goes.iter().take(LISTED) {
        let mut line = TextLine::plain("  remove ").with(Slot::Id, oid(goes.entry.id).short());
        line.push(Slot::Plain, "  ");
        line.push(Slot::Session, goes.session.as_str());
        line.push(Slot::Plain, "  ");
        line.push(Slot::Date, age::age(goes.entry.time, scene.now));
        line.push(Slot::Plain, format!("  {}", goes.entry.subject));
        text.push(line.cut(78));
    }
    more(&mut text, pruned.goes.len());
    let mut gone = |what: &str, list: &[PrunedRef]| {
        for gone in list.iter().take(LISTED) {
            let mut line = TextLine::plain("  remove ").with(Slot::Id, oid(gone.id).short());
            line.push(Slot::Plain, format!("  {what} "));
            line.push(Slot::Session, &gone.name);
            line.push(
                Slot::Plain,
                format!(", {}", CountedNoun::new(gone.checkpoints, "checkpoint")),
            );
            text.push(line);
        }
        more(&mut text, list.len());
    };
    gone("session", &pruned.sessions);
    gone("autosave", &pruned.autosaves);
    gone("trash", &pruned.trash);
    for stays in pruned.stays.iter().take(LISTED) {
        let mut line = TextLine::plain("  keep   ").with(Slot::Id, oid(stays.entry.id).short());
        line.push(Slot::Plain, "  ");
        line.push(Slot::Session, stays.session.as_str());
        line.push(Slot::Caution, format!("  {}", stays.why.word()));
        line.push(Slot::Plain, format!("  {}", stays.entry.subject));
        text.push(line.cut(78));
    }
    more(&mut text, pruned.stays.len());
    if !pruned.moved.is_empty() {
        let names: Vec<&str> = pruned.moved.iter().map(crate::model::name::ShortName::as_str).collect();
        text.push(TextLine::plain(format!(
            "  move   forks of what is written again: {}",
            names.join(", ")
        )));
    }
    text
}

fn more(text: &mut Text, number: usize) {
    if number > LISTED {
        text.push(TextLine::plain(format!(
            "         and {} more (--json lists all)",
            number - LISTED
        )));
    }
}

fn json_of(pruned: &PruneOutcome, dry_run: bool) -> serde_json::Value {
    let gone = |list: &[PrunedRef]| -> Vec<serde_json::Value> {
        let of = |gone: &PrunedRef| json!({ "name": gone.name, "id": oid(gone.id), "checkpoints": gone.checkpoints });
        list.iter().map(of).collect()
    };
    let goes: Vec<_> = pruned
        .goes
        .iter()
        .map(|goes| {
            json!({
                "session": goes.session,
                "id": oid(goes.entry.id),
                "digest": goes.entry.trailers.digest,
                "at": goes.entry.time,
                "summary": goes.entry.subject,
            })
        })
        .collect();
    let stays: Vec<_> = pruned
        .stays
        .iter()
        .map(|stays| {
            json!({
                "session": stays.session,
                "id": oid(stays.entry.id),
                "digest": stays.entry.trailers.digest,
                "why": stays.why.word(),
            })
        })
        .collect();
    json!({
        "schema": "git-checkpoint.prune/1",
        "outcome": if dry_run { "planned" } else { "pruned" },
        "checkpoints": goes,
        "stays": stays,
        "kept": pruned.kept,
        "sessions": gone(&pruned.sessions),
        "autosaves": gone(&pruned.autosaves),
        "trash": gone(&pruned.trash),
        "moved": pruned.moved,
        "damaged": pruned.damaged,
        "frees_bytes": pruned.frees,
    })
}
