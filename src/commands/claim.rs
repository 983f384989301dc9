//! `claim` and `release`: one of several that work in a session alone for a while.

use serde_json::{Value, json};

use super::{
    Context,
    error::CommandError,
    failure,
    opening::{self, IdentityArgs, OpenedRepository},
    save,
};
use crate::{
    model::document::CheckpointKind,
    model::time::Timestamp,
    ops::{
        save::{OverClaim, SaveRequest},
        select,
    },
    store,
};

/// Claim a session for exclusive use
///
/// A claim is part of the session and is visible to others after a push. Automatic checkpoints of others leave a
/// claimed session alone, and others who save to it are warned. Of two simultaneous claims, one is refused.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Claim the current session for four hours:
    git checkpoint claim
  As an agent, for half an hour:
    git checkpoint claim auth --agent ana --for 30m
  Take over a claim that was left behind:
    git checkpoint claim auth --force")]
pub(super) struct Args {
    /// The session; the current one by default
    selector: Option<String>,
    /// How long it holds, such as 30m, 4h or 2d
    #[arg(long = "for", value_name = "TIME", default_value = "4h", value_parser = store::config::span)]
    time: std::time::Duration,
    /// Take over the claim of somebody else
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    whom: IdentityArgs,
}

/// Release a claimed session
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  The current session:
    git checkpoint release
  Release the claim of somebody else:
    git checkpoint release auth --force")]
pub(super) struct ReleaseArgs {
    /// The session; the current one by default
    selector: Option<String>,
    /// Release the claim of somebody else
    #[arg(short, long)]
    force: bool,
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
    change(context, &opened, claim, args.force, format!("claimed by {by}"))
}

pub(super) fn release(args: ReleaseArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = open(context, args.whom, args.selector.as_deref())?;
    let by = save::author(&opened.scene());
    change(context, &opened, Value::Null, args.force, format!("released by {by}"))
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
        whom.session = Some(name);
    }
    opening::open(context, &whom)
}

fn change(
    context: &mut Context,
    opened: &OpenedRepository,
    claim: Value,
    force: bool,
    subject: String,
) -> Result<(), CommandError> {
    let mut request = SaveRequest::new(CheckpointKind::Event);
    request.start = false;
    request.trigger = Some("claim".to_owned());
    request.summary = Some(subject);
    request.session = Some(json!({ "claim": claim }));
    request.claim = if force { OverClaim::Forced } else { OverClaim::Refused };
    save::report(context, opened, request)
}
