//! Outcomes of operations as the values that are rendered, for people and as JSON alike.

use super::error::CommandError;
use crate::{
    model::{
        document::Document,
        facts::GitFacts,
        id::{Digest, Oid},
        list::SkippedEntry,
    },
    ops::{
        Scene, file_history,
        receipt::{self, CheckpointOutcome, SessionOrigin},
        redact,
    },
    render::{
        file_log::StateRef,
        receipt::{BranchChange, ItemCounts, RedactionRow, SaveReceipt, UnsearchedRow},
        signature::SignatureView,
    },
    store::{
        ObjectId,
        checkpoint::{CheckpointCommit, object_id, oid},
        signature::{self, CommitSignature},
    },
};

/// Ids in the form that is shown, kept as long as the view that borrows them.
pub(super) struct Ids {
    pub(super) id: Option<Oid>,
    pub(super) digest: Option<Digest>,
    pub(super) parent: Option<Oid>,
}

impl Ids {
    /// The ids of a receipt.
    pub(super) fn of(receipt: &receipt::CheckpointReceipt) -> Self {
        Self {
            id: receipt.id.map(oid),
            digest: receipt.digest.clone(),
            parent: receipt.parent.map(oid),
        }
    }

    /// Of a checkpoint that is not made.
    pub(super) fn none() -> Self {
        Self {
            id: None,
            digest: None,
            parent: None,
        }
    }

    /// The ids of a session's latest checkpoint.
    pub(super) fn tip(id: ObjectId, digest: Digest) -> Self {
        Self {
            id: Some(oid(id)),
            digest: Some(digest),
            parent: None,
        }
    }
}

/// The receipt of a checkpoint.
pub(super) fn receipt<'a>(outcome: &'a CheckpointOutcome, ids: &'a Ids) -> SaveReceipt<'a> {
    let facts = outcome.receipt();
    let word = match outcome {
        CheckpointOutcome::Saved(_) => "saved",
        CheckpointOutcome::Planned(_) => "planned",
        CheckpointOutcome::Unchanged(receipt) if receipt.repeated => "repeated",
        CheckpointOutcome::Unchanged(_) => "unchanged",
    };
    let mut view = document(word, &facts.document, ids);
    view.session = facts.session.as_str();
    view.session_is = match facts.session_is {
        SessionOrigin::Meant => "meant",
        SessionOrigin::Continued => "continued",
        SessionOrigin::Started => "started",
    };
    view.partial = facts.is_partial();
    view.skipped = facts.skipped.iter().map(Into::into).collect();
    view.redactions = redactions(&facts.redactions);
    view.unsearched = unsearched(&facts.unsearched);
    view.folded = facts.folded;
    view.new_bytes = facts.new_bytes;
    view.unmerged = facts.unmerged;
    view.branch_changed = facts.elsewhere.as_ref().map(|elsewhere| BranchChange {
        from: elsewhere.branch.as_deref(),
        to: facts.document.git.worked_on(),
        session: elsewhere.session.name.as_str(),
        is_new: facts.is_new_on_branch,
    });
    view
}

/// A receipt from a document alone.
pub(super) fn document<'a>(outcome: &'static str, document: &'a Document, ids: &'a Ids) -> SaveReceipt<'a> {
    let summary = document.subject();
    SaveReceipt {
        outcome,
        id: ids.id.as_ref(),
        digest: ids.digest.as_ref(),
        session: document.session.name.as_str(),
        session_id: &document.session.id,
        session_is: "meant",
        kind: document.kind.word(),
        status: document.session.status.word(),
        name: document.name.as_ref().map(crate::model::name::ShortName::as_str),
        summary: summary.lines().next().unwrap_or_default(),
        parent: ids.parent.as_ref(),
        partial: false,
        skipped: Vec::new(),
        unmerged: 0,
        redactions: Vec::new(),
        unsearched: Vec::new(),
        folded: 0,
        new_bytes: 0,
        branch_changed: None,
        is_followed: false,
        is_cut: true,
        record: ItemCounts::of(document),
        next: document
            .record
            .next_steps
            .first()
            .map(|next| next.text.lines().next().unwrap_or_default()),
        git: &document.git,
        push: None,
        files: None,
    }
}

/// Secrets that were found.
pub(super) fn redactions(found: &[redact::RedactedSecret]) -> Vec<RedactionRow> {
    let view = |r: &redact::RedactedSecret| RedactionRow {
        kind: r.kind.clone(),
        place: r.place.clone(),
        replaced: r.replaced,
    };
    found.iter().map(view).collect()
}

/// Content that could not be searched for secrets.
pub(super) fn unsearched(found: &[redact::UnsearchedContent]) -> Vec<UnsearchedRow<'_>> {
    let each = found.iter();
    each.map(|content| UnsearchedRow {
        place: &content.place,
        form: content.form,
    })
    .collect()
}

/// Warnings about submodules, of which a checkpoint has only the commit: one line for each with other changes.
pub(super) fn submodule_lines(git: &GitFacts) -> Vec<String> {
    let mut lines = Vec::new();
    for (submodules, what) in [
        (&git.submodules_changed, "has uncommitted changes"),
        (
            &git.submodules_unseen,
            "was not scanned and may have uncommitted changes",
        ),
    ] {
        for path in &submodules.first {
            lines.push(format!(
                "submodule '{}' {what}, not saved here; commit or save them there",
                path.quoted()
            ));
        }
        let listed = submodules.first.len() as u64;
        if submodules.count > listed {
            lines.push(format!("{} more submodules: {what}", submodules.count - listed));
        }
    }
    lines
}

/// The most failures that are reported one by one; a whole unreadable directory counts once.
const TOLD: usize = 100;

/// Warnings about skipped paths: one line a reason, with the setting that changes it, and one line for each path that
/// could not be saved.
pub(super) fn skipped_lines(skipped: &[SkippedEntry]) -> Vec<String> {
    use crate::{model::list::SkipReason as R, render::count::CountedNoun};
    let mut lines = Vec::new();
    for reason in R::ALL {
        let paths: Vec<_> = skipped.iter().filter(|s| s.reason == reason).collect();
        let Some(first) = paths.first() else { continue };
        let why = match reason {
            R::TooLarge => "larger than checkpoint.maxFileSize; raise it to save such files",
            R::OverBudget => "beyond checkpoint.maxTotalSize; raise it to save them",
            R::Excluded => "excluded by checkpoint.exclude or .checkpointignore",
            R::Secret => "a secret by its content; set checkpoint.saveSecrets to save such files",
            R::Untracked => "untracked; only tracked files are saved (--tracked-only, status.showUntrackedFiles)",
            R::Special => "a FIFO, socket or device, which git does not store",
            R::NestedRepository => "a nested repository; save it separately",
            R::Name => "a name that git does not store",
            R::Unreadable => "could not be read; check its permissions",
            R::Unstable => "changed while it was read; save again later",
            R::FilterFailed => "the repository's filter failed, and content is not saved unfiltered",
            R::PathTooLong => "its path is longer than the system can open",
            R::Purged => "removed from this checkpoint by a purge",
        };
        if reason.is_failure() {
            let told = paths.iter().take(TOLD);
            lines.extend(told.map(|path| format!("not saved: {}: {why}", path.path.quoted())));
            if paths.len() > TOLD {
                lines.push(format!(
                    "not saved: {} more; see: git checkpoint show --all",
                    paths.len() - TOLD
                ));
            }
            continue;
        }
        let more = match paths.len() {
            1 => String::new(),
            n => format!(" and {} more (git checkpoint show --all)", n - 1),
        };
        lines.push(format!(
            "{} not saved: {}{more}: {why}",
            CountedNoun::new(paths.len(), "path"),
            first.path.quoted()
        ));
    }
    lines
}

/// A checkpoint as views name it.
pub(super) fn state_ref(entry: &CheckpointCommit) -> StateRef {
    StateRef {
        id: oid(entry.id),
        session: file_history::session_name(entry).to_owned(),
        at: entry.time,
        kind: entry.trailers.kind.map(crate::model::document::CheckpointKind::word),
        author: entry.author.clone(),
        agent: entry.trailers.agent.clone(),
        subject: entry.subject.clone(),
    }
}

/// The signatures of commits for lists, in which what is not signed is listed as well.
pub(super) fn signatures(scene: &Scene<'_>, ids: &[Oid]) -> Result<Vec<Option<SignatureView>>, CommandError> {
    let commits: Vec<_> = ids.iter().map(object_id).collect();
    let found = signature::check(scene.repo, &commits)?;
    let view = |(id, commit): (&Oid, _)| {
        let of: &CommitSignature = found.get(commit)?;
        Some(SignatureView::of(id.clone(), of.verdict.word(), &of.signer, &of.key))
    };
    Ok(ids.iter().zip(&commits).map(view).collect())
}
