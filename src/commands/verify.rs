//! `verify`: the damage, its place, and its remedy.

use std::collections::BTreeMap;

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs},
};
use crate::{
    ops::verify::{self, Issue, NAME, REWRITTEN, SIGNATURE, VerifyReport},
    render::{
        signature::SignatureView,
        slot::Slot,
        text::TextLine,
        verify::{IssueRow, VerifyView},
    },
    store::checkpoint::oid,
};

/// Verify the integrity of checkpoints
///
/// Reads and hashes every object again: documents, chains of digests, and the files. Exits with 1 if anything is
/// damaged, with the place and the remedy.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  The current session, or every one when none is current:
    git checkpoint verify
  Everything, for a script:
    git checkpoint verify --all --json")]
pub(super) struct Args {
    /// The session; the current one by default, and every session when none is current
    #[arg(conflicts_with = "all")]
    session: Option<String>,
    /// Check every session
    #[arg(long)]
    all: bool,
    /// Accepted as everywhere: this command changes nothing in any case
    #[arg(short = 'n', long, hide = true)]
    dry_run: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let selector = failure::selector(args.session.as_deref().unwrap_or("@"))?;
    let progress = context.ui.progress("Checking checkpoints", None);
    let selected = (!args.all).then_some(&selector);
    let mut told = |done| progress.update(done as u64);
    let report = match verify::verify(&opened.scene(), selected, &mut told) {
        Err(crate::ops::Error::NoSession { any: true, .. }) if args.session.is_none() => {
            verify::verify(&opened.scene(), None, &mut told)?
        }
        done => done?,
    };
    drop(progress);
    context.ui.show(&view(&report))?;
    for hint in remedies(&report) {
        let line = TextLine::new().with(Slot::Hint, "fix: ");
        context.ui.status(line.with(Slot::Plain, hint));
    }
    if report.is_valid() {
        Ok(())
    } else {
        Err(CommandError::silent(FailureKind::Negative))
    }
}

fn view(report: &VerifyReport) -> VerifyView<'_> {
    let issues = report.issues.iter().map(|issue| IssueRow {
        session: &issue.session,
        checkpoint: issue.checkpoint.map(oid),
        path: issue.path.as_ref(),
        problem: issue.problem,
        message: &issue.message,
        newest_good: issue.good.map(oid),
        fix: remedy(report, issue),
    });
    let mut signed = BTreeMap::<String, usize>::new();
    for (_, signature) in &report.signatures {
        *signed.entry(signature.words()).or_default() += 1;
    }
    VerifyView {
        valid: report.is_valid(),
        recoverable: report.is_recoverable(),
        issues: issues.collect(),
        sessions: report.sessions,
        other_refs: report.other_refs,
        checkpoints: report.checkpoints,
        objects: report.objects,
        promised: report.promised,
        signatures: report
            .signatures
            .iter()
            .map(|(id, found)| SignatureView::of(oid(*id), found.verdict.word(), &found.signer, &found.key))
            .collect(),
        signed,
    }
}

/// Hints for each kind of damage, each once.
fn remedies(report: &VerifyReport) -> Vec<String> {
    let remedies = report.issues.iter().map(|issue| remedy(report, issue));
    let mut all: Vec<String> = remedies
        .flat_map(|remedy| remedy.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    all.dedup();
    all
}

fn remedy(report: &VerifyReport, issue: &Issue) -> String {
    let session = &issue.session;
    if let (NAME, Some(free)) = (issue.problem, report.free_names.get(session)) {
        return failure::misnamed(session, free).join("\n");
    }
    match (issue.problem, issue.good) {
        ("pack", _) => {
            let pack = std::path::Path::new(session).with_extension("pack");
            let name = pack.file_name().unwrap_or_default().to_string_lossy();
            format!(
                "move it and its index out of the repository, and recover its objects: git unpack-objects -r <{name}"
            )
        }
        (REWRITTEN, _) => "anchor it to the rewritten commits: git checkpoint repair".to_owned(),
        (SIGNATURE, _) => {
            let id = issue.checkpoint.map_or_else(String::new, |id| oid(id).to_string());
            format!("see what git says, and do not trust it: git verify-commit -v {id}")
        }
        ("newer", _) => "a newer git-checkpoint wrote it; update this one to read it".to_owned(),
        (_, Some(_)) if !issue.latest => {
            "an older checkpoint is damaged and cannot be repaired; the latest is intact, and saving continues from it"
                .to_owned()
        }
        (_, Some(good)) => {
            let good = oid(good);
            format!(
                "recover from its latest intact checkpoint, {}: git checkpoint repair {session}",
                good.short()
            )
        }
        (_, None) => {
            let name = format!("refs/checkpoints/{session}");
            format!("fetch it from a clone that has it: git fetch <remote> +{name}:{name}")
        }
    }
}
