//! Receipts of sessions that were pulled, from a remote or a bundle.

use crate::{
    ops::share::pull::{PullOutcome, PulledSession},
    render::{share::PullReceipt, signature::SignatureView},
    store::{checkpoint::oid, signature::CommitSignature},
};

/// The receipt of one.
pub(in crate::commands) fn receipt(pulled: &PulledSession, dry_run: bool) -> PullReceipt<'_> {
    let (result, ours, theirs) = match &pulled.outcome {
        PullOutcome::UpToDate { ahead } => ("up-to-date", *ahead, 0),
        PullOutcome::New { checkpoints } => ("new", 0, *checkpoints),
        PullOutcome::Forward { checkpoints } => ("forward", 0, *checkpoints),
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
        current: pulled.current,
        dry_run,
        ours,
        theirs,
    }
}
