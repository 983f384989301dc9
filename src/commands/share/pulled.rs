//! Receipts of sessions that were pulled, from a remote or a bundle.

use super::failure::purge_again;
use crate::{
    commands::{Context, saved_content},
    model::{name::ShortName, step::quoted},
    ops::{
        returned::ReturnedContent,
        share::pull::{PullOutcome, PulledSession},
    },
    render::{
        share::{PrunedCheckpoints, PullReceipt},
        signature::SignatureView,
    },
    store::{checkpoint::oid, signature::CommitSignature},
};

/// The receipt of one.
pub(in crate::commands) fn receipt(pulled: &PulledSession, dry_run: bool) -> PullReceipt<'_> {
    let (result, ours, theirs) = match &pulled.outcome {
        PullOutcome::UpToDate { ahead } => ("up-to-date", *ahead, 0),
        PullOutcome::New { checkpoints } => ("new", 0, *checkpoints),
        PullOutcome::Forward { checkpoints } => ("forward", 0, *checkpoints),
        PullOutcome::Pruned { ours, dropped } => ("pruned", *ours, *dropped),
        PullOutcome::Parted { ours, theirs, .. } => ("diverged", *ours, *theirs),
        PullOutcome::Merged { ours, theirs, .. } => ("merged", *ours, *theirs),
    };
    let (tail, fork) = match &pulled.outcome {
        PullOutcome::Parted { tail, fork, .. } => (Some(tail), *fork),
        _ => (None, None),
    };
    PullReceipt {
        remote: &pulled.remote,
        session: &pulled.name,
        remote_session: pulled.there.as_ref(),
        id: oid(pulled.id),
        before: pulled.before.map(oid),
        result,
        author: &pulled.author,
        signature: pulled
            .signature
            .as_ref()
            .map(|found| SignatureView::of(oid(pulled.id), found.verdict.word(), &found.signer, &found.key)),
        signed: pulled.signature.as_ref().map(CommitSignature::words),
        tail,
        fork: fork.map(oid),
        left_out: left_out(pulled),
        current: pulled.current,
        dry_run,
        from_bundle: false,
        ours,
        theirs,
    }
}

/// What a pull left out because it was pruned on one side.
pub(in crate::commands) fn left_out(pulled: &PulledSession) -> PrunedCheckpoints {
    let (left_out, remote) = (pulled.left_out, &pulled.remote);
    PrunedCheckpoints {
        pruned_there: left_out.there,
        pruned_here: left_out.here,
        remote: remote.clone(),
        push: format!("git checkpoint push {} {}", quoted(remote), pulled.name),
    }
}

/// Warns of content that was purged and came back, with the command that purges it again.
pub(in crate::commands) fn warn_purged(
    context: &Context,
    session: &ShortName,
    content: &ReturnedContent,
    option: &str,
) {
    if !content.is_empty() {
        let (named, again) = (named(content), purge_again(option, session.as_str(), content));
        context.ui.warning(&format!(
            "this brings back what was purged from session '{session}' ({named}); to purge it again: {again}"
        ));
    }
}

/// Warns of content that was purged and that a remote was just seen to have.
pub(super) fn warn_purged_there(context: &Context, remote: &str, session: &ShortName, content: &ReturnedContent) {
    if !content.is_empty() {
        let (named, again) = (named(content), purge_again("--remote ", session.as_str(), content));
        let remote = remote.escape_debug();
        context.ui.warning(&format!(
            "remote '{remote}' has what was purged from session '{session}' ({named}); to purge it there: {again}"
        ));
    }
}

fn named(content: &ReturnedContent) -> String {
    let ids = content.checkpoints.iter().take(saved_content::NAMED);
    let mut named: Vec<String> = ids.map(|id| format!("checkpoint {}", id.short())).collect();
    if content.checkpoints.len() > saved_content::NAMED {
        named.push(format!("{} more", content.checkpoints.len() - saved_content::NAMED));
    }
    if !content.paths.is_empty() {
        named.push(saved_content::named(&content.paths));
    }
    named.join(", ")
}
