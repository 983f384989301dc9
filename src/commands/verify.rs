//! `verify`: what is damaged, where, and what to do.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs},
};
use crate::{
    ops::verify::{self, Issue, REWRITTEN, SIGNATURE, VerifyReport},
    render::{
        checkpoint::SignatureView,
        count::CountedNoun,
        slot::Slot,
        text::{Text, TextLine},
    },
    store::checkpoint::oid,
};

/// Verify the integrity of checkpoints
///
/// Reads and hashes every object again: documents, chains of digests, and the files. Exits with 1 when something is
/// damaged, and says what, where, and what to do.
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
    if context.ui.options().json {
        context.ui.json(&json_of(&report))?;
    } else {
        context.ui.data(text(&report));
        for hint in remedies(&report) {
            context
                .ui
                .status(TextLine::new().with(Slot::Hint, "fix: ").with(Slot::Plain, hint));
        }
    }
    if report.is_valid() {
        Ok(())
    } else {
        Err(CommandError::silent(FailureKind::Negative))
    }
}

fn json_of(report: &VerifyReport) -> serde_json::Value {
    let issues: Vec<_> = report
        .issues
        .iter()
        .map(|issue| {
            json!({
                "session": issue.session,
                "checkpoint": issue.checkpoint.map(oid),
                "path": issue.path,
                "problem": issue.problem,
                "message": issue.message,
                "newest_good": issue.good.map(oid),
                "fix": remedy(issue),
            })
        })
        .collect();
    json!({
        "schema": "git-checkpoint.verify/1",
        "valid": report.is_valid(),
        "recoverable": report.is_recoverable(),
        "issues": issues,
        "sessions": report.sessions,
        "checkpoints": report.checkpoints,
        "objects": report.objects,
        "promised": report.promised,
        "signatures": report
            .signatures
            .iter()
            .map(|(id, signature)| SignatureView::of(oid(*id), signature.verdict.word(), &signature.signer, &signature.key))
            .collect::<Vec<_>>(),
    })
}

fn text(report: &VerifyReport) -> Text {
    let mut text = Text::new();
    let mut line = TextLine::plain(format!(
        "Checked {} of {}, {}",
        CountedNoun::new(report.checkpoints, "checkpoint"),
        CountedNoun::new(report.sessions, "session"),
        CountedNoun::new(report.objects, "object"),
    ));
    if report.promised > 0 {
        line.push(
            Slot::Plain,
            format!(" ({} not fetched by this partial clone)", report.promised),
        );
    }
    text.push(line);
    let mut signatures = BTreeMap::<String, usize>::new();
    for (_, signature) in &report.signatures {
        *signatures.entry(signature.words()).or_default() += 1;
    }
    for (words, count) in &signatures {
        text.push(TextLine::plain(format!(
            "  {}: {words}",
            CountedNoun::new(*count, "checkpoint")
        )));
    }
    let unsigned = report.checkpoints.saturating_sub(report.signatures.len());
    if !signatures.is_empty() && unsigned > 0 {
        text.push(TextLine::plain(format!(
            "  {}: not signed",
            CountedNoun::new(unsigned, "checkpoint")
        )));
    }
    if report.is_valid() {
        text.push(TextLine::new().with(Slot::Good, "No damage found."));
    }
    for issue in &report.issues {
        let word = if issue.problem == SIGNATURE {
            "bad  "
        } else if issue.problem == REWRITTEN {
            "rewritten  "
        } else {
            "damaged  "
        };
        let mut line = TextLine::new()
            .with(Slot::Bad, word)
            .with(Slot::Session, &issue.session);
        if let Some(checkpoint) = issue.checkpoint {
            line.push(Slot::Plain, " ");
            line.push(Slot::Id, oid(checkpoint).short());
        }
        if let Some(path) = &issue.path {
            line.push(Slot::Plain, "  ");
            line.push(Slot::Path, path.quoted());
        }
        text.push(line);
        text.push(TextLine::plain(format!("         {}", issue.message)));
    }
    text
}

/// Hints for each kind of damage, each once.
fn remedies(report: &VerifyReport) -> Vec<String> {
    let mut all: Vec<String> = report.issues.iter().map(remedy).collect();
    all.dedup();
    all
}

fn remedy(issue: &Issue) -> String {
    let session = &issue.session;
    match (issue.problem, issue.good) {
        ("pack", _) => {
            let pack = std::path::Path::new(session).with_extension("pack");
            let name = pack.file_name().unwrap_or_default().to_string_lossy();
            format!(
                "move it and its index out of the repository, and take its objects out again: git unpack-objects -r <{name}"
            )
        }
        (REWRITTEN, _) => "let its documents name the rewritten commits: git checkpoint repair".to_owned(),
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
