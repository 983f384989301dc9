//! `claim` and `release`: one of several works in a session, or on a task, alone for a while.

use serde_json::{Value, json};

use super::{
    Context,
    error::CommandError,
    failure,
    opening::{self, IdentityArgs, OpenedRepository},
    save,
};
use crate::{
    model::{
        document::{CheckpointKind, Session, SessionStatus},
        item::{ItemKind, id_of},
        time::Timestamp,
    },
    ops::{
        Error, Scene, items,
        save::{OverClaim, SaveRequest},
        select,
    },
    store,
};

/// Claim a session or task for exclusive use
///
/// A claim is part of the session and is visible to others after a push. Automatic checkpoints of others leave a
/// claimed session alone, and others who save to it are warned. To others 'finish', 'rename', 'delete', 'purge' and 'rekey'
/// refuse it, and 'prune' leaves it alone. Of two simultaneous claims, one is refused. Where two clones claimed the same, the
/// claim that was pushed first holds after 'git checkpoint pull'.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Claim the current session for four hours:
    git checkpoint claim
  As an agent, for half an hour:
    git checkpoint claim auth --agent ana --for 30m
  One task of the session, so that other agents take other tasks:
    git checkpoint claim --task T-2 --agent ben
  Take over a claim that was left behind:
    git checkpoint claim auth --force")]
pub(super) struct Args {
    /// The session; the current one by default
    selector: Option<String>,
    /// Claim this task of the session only; by number, id or title
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// How long it holds, such as 30m, 4h or 2d
    #[arg(long = "for", value_name = "TIME", default_value = "4h", value_parser = duration)]
    time: std::time::Duration,
    /// Take over the claim of somebody else
    #[arg(short, long)]
    force: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    whom: IdentityArgs,
}

/// The longest that a claim holds, as its holder may never come back to release it.
const LONGEST: std::time::Duration = std::time::Duration::from_secs(366 * 86_400);

/// Reads how long a claim holds.
fn duration(text: &str) -> Result<std::time::Duration, String> {
    let time = store::config::span(text)?;
    if time.is_zero() {
        return Err("it must be longer than that; to end a claim: git checkpoint release".to_owned());
    }
    if time > LONGEST {
        return Err("it must be a year or less, 366d; a claim can be renewed".to_owned());
    }
    Ok(time)
}

/// Release a claimed session or task
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  The current session:
    git checkpoint release
  A task:
    git checkpoint release --task T-2
  Release the claim of somebody else:
    git checkpoint release auth --force")]
pub(super) struct ReleaseArgs {
    /// The session; the current one by default
    selector: Option<String>,
    /// Release this task of the session only; by number, id or title
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Release the claim of somebody else
    #[arg(short, long)]
    force: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    whom: IdentityArgs,
}

pub(super) fn claim(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = open(context, args.whom, args.selector.as_deref())?;
    let scene = opened.scene();
    let by = save::author(&scene);
    let seconds = i64::try_from(args.time.as_secs()).unwrap_or(i64::MAX);
    let until = Timestamp::from_unix(scene.now.unix().saturating_add(seconds), scene.now.offset());
    let claim = json!({ "by": by, "host": scene.host, "at": scene.now, "until": until });
    change(
        context,
        &opened,
        args.task.as_deref(),
        claim,
        (args.force, args.dry_run),
        ("claimed", &by),
    )
}

pub(super) fn release(args: ReleaseArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = open(context, args.whom, args.selector.as_deref())?;
    let by = save::author(&opened.scene());
    let none = Value::Null;
    change(
        context,
        &opened,
        args.task.as_deref(),
        none,
        (args.force, args.dry_run),
        ("released", &by),
    )
}

/// Opens the repository with the session that is named as the one that is meant.
fn open(
    context: &mut Context,
    mut whom: IdentityArgs,
    selector: Option<&str>,
) -> Result<OpenedRepository, CommandError> {
    if let Some(word) = selector {
        let opened = opening::open(context, &whom)?;
        let (name, _) = select::session(&opened.scene(), &failure::selector(word)?)?;
        whom.session = Some(name.into());
    }
    opening::open(context, &whom)
}

/// Who claimed the session, or a task of it.
fn held(scene: &Scene<'_>, session: &Session, task: Option<&str>) -> Result<Option<String>, CommandError> {
    let Some(text) = task else {
        return Ok(session.claim.as_ref().map(|claim| claim.by.clone()));
    };
    let kind = ItemKind::of("task").expect("tasks are a kind");
    let claim = items::now(scene)?.find(kind, text)?["claim"].clone();
    Ok(claim["by"].as_str().map(str::to_owned))
}

/// Claims or releases the session, or a task of it; `action` is what was done, and who did it.
fn change(
    context: &mut Context,
    opened: &OpenedRepository,
    task: Option<&str>,
    claim: Value,
    (force, dry_run): (bool, bool),
    (action, by): (&str, &str),
) -> Result<(), CommandError> {
    let mut request = SaveRequest::new(CheckpointKind::Event);
    request.start = false;
    request.dry_run = dry_run;
    let scene = opened.scene();
    if let Err(error) = select::require_current(&scene) {
        let named = match &error {
            Error::NoSession { left: Some(left), .. } => Some(left.clone()),
            _ => None,
        };
        let out = CommandError::from(error);
        let command = if claim.is_null() { "release" } else { "claim" };
        return Err(match named {
            Some(name) => out.hint(format!("or name it: git checkpoint {command} {name}")),
            None => out,
        });
    }
    let session = select::checkpoint(&scene, &failure::selector("@")?)?;
    let session = session.checkpoint.document.session;
    // Who claims a paused session does not work in it yet, and who releases it no more. One that was resumed is current.
    let current = store::current::read(scene.repo)?.session;
    if current.is_none_or(|current| current.id != session.id) {
        request.status = session.status;
        request.leave = session.status != SessionStatus::Active;
    }
    let held = held(&scene, &session, task)?;
    if claim.is_null() && held.is_none() {
        let what = match task {
            Some(task) => format!("Task '{task}' is not claimed."),
            None => "The session is not claimed.".to_owned(),
        };
        context.ui.status(what);
        // Nothing to say in a checkpoint.
        request.files = false;
        return if context.ui.options().json {
            save::report(context, opened, request)
        } else {
            Ok(())
        };
    }
    let is_renewed = !claim.is_null() && held.as_ref().is_some_and(|held| held == by);
    let action = if is_renewed { "claim renewed" } else { action };
    request.trigger = Some("claim".to_owned());
    request.claim = if force { OverClaim::Forced } else { OverClaim::Refused };
    match task {
        None => {
            request.summary = Some(format!("{action} by {by}"));
            request.session = Some(json!({ "claim": claim }));
        }
        Some(text) => {
            let kind = ItemKind::of("task").expect("tasks are a kind");
            let task = items::now(&scene)?.find(kind, text)?;
            let id = id_of(&task).to_owned();
            request.summary = Some(format!("task '{}' {action} by {by}", kind.text_of(&task)));
            request.changes.push(json!({ "tasks": [{ "id": id, "claim": claim }] }));
            request.task = Some(id);
        }
    }
    save::report(context, opened, request)
}
