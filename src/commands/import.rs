//! `import`: sessions that other tools left, with their own times, ids and order.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs},
    views,
};
use crate::{
    formats::{ProblemSeverity, System},
    model::step::quoted,
    ops::import::{self, ImportOutcome, ImportStatus},
    os,
    render::{
        count::CountedNoun,
        import::{ImportReceipt, ImportRow, ProblemRow, ValueCounts},
        receipt::UnsearchedRow,
        slot::Slot,
        text::TextLine,
    },
    store::checkpoint::oid,
};

/// The number of files that are named of those that no system knows.
const NAMED: usize = 10;

/// Import sessions from other tools
///
/// Reads what claude-mpm, OpenCastle, claude-flow, ai-agents, dagent and session directories leave, and chats as JSON
/// or JSON lines. Checkpoints keep their order and times; unmapped fields are kept in 'extra', and free-form files as
/// attachments. Sources are not modified, nothing is imported twice, and 'git checkpoint undo' undoes an import.
///
/// Exits with 7 if a part of a source could not be imported.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  List what can be imported in this project:
    git checkpoint import --all --dry-run
  Everything of one tool:
    git checkpoint import .claude-mpm/sessions
  One file, under a name of your own:
    git checkpoint import docs/SESSION-CHECKPOINT.md --session search
  A file with an unknown name:
    git checkpoint import --from dagent old/a.json")]
pub(super) struct Args {
    /// Files and directories to read; with --all the projects to look in
    #[arg(value_name = "PATH", required_unless_present = "all")]
    paths: Vec<PathBuf>,
    /// The system that wrote the files; detected by default
    #[arg(long, value_name = "SYSTEM", value_parser = clap::builder::PossibleValuesParser::new(System::words()))]
    from: Option<String>,
    /// Search the usual directories of these systems, below each PATH or in this working tree
    #[arg(long)]
    all: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    whom: IdentityArgs,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(
        context,
        &IdentityArgs {
            session: None,
            agent: args.whom.agent.clone(),
        },
    )?;
    if let Some(bundle) = args.paths.iter().find(|path| is_bundle(&context.env.cwd.join(path))) {
        let path = bundle.display().to_string();
        let message = format!("'{}' is a bundle of sessions", path.escape_debug());
        let hint = format!("did you mean: git checkpoint unbundle {}", quoted(&path));
        return Err(CommandError::new(FailureKind::Usage, message).hint(hint));
    }
    let scene = opened.scene();
    let mut paths: Vec<(PathBuf, String)> = args
        .paths
        .iter()
        .map(|path| (context.env.cwd.join(path), path.display().to_string()))
        .collect();
    if paths.is_empty() {
        paths.push((crate::store::work_tree(scene.repo)?.to_owned(), ".".to_owned()));
    }
    let request = import::ImportRequest {
        from: args.from.as_deref().and_then(System::named),
        paths,
        name: {
            let session = args.whom.session.as_ref();
            session.map(|session| session.new_name(&scene)).transpose()?
        },
        usual_places: args.all,
        dry_run: args.dry_run,
    };
    let outcome = {
        let reading = context.ui.progress("Reading files", None);
        let progress = context.ui.progress("Importing checkpoints", None);
        import::import(&scene, &request, &|files| reading.update(files as u64), &|done, all| {
            progress.set_total(all as u64);
            progress.update(done as u64);
        })?
    };
    failure::warn_aftermath(&context.ui, &outcome.aftermath);
    let receipt = view(&outcome, args.dry_run);
    context.ui.report(&receipt)?;
    if let Some(counts) = receipt.counts() {
        context.ui.detail(1, counts);
    }
    if !context.ui.options().json {
        warn(&outcome, context);
        if let Some(warning) = UnsearchedRow::warning(&receipt.unsearched) {
            context.ui.warning(&warning);
        }
    }
    conclude(&outcome, &args, context)
}

/// Whether a file begins as a bundle of git does.
fn is_bundle(path: &Path) -> bool {
    let mut begin = [0; 6];
    let read = os::open_regular(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && (begin == *b"# v2 g" || begin == *b"# v3 g")
}

/// The exit code, and what to do next.
fn conclude(outcome: &ImportOutcome, args: &Args, context: &Context) -> Result<(), CommandError> {
    if outcome.items.is_empty() {
        let broken = outcome
            .problems
            .iter()
            .any(|problem| problem.weight == ProblemSeverity::Broken);
        return Err(if broken {
            CommandError::new(FailureKind::Invalid, "nothing could be imported")
        } else if args.all {
            let places: Vec<&str> = System::ALL.iter().flat_map(|system| system.places()).copied().collect();
            CommandError::new(FailureKind::NotFound, "no session was found in the usual directories")
                .hint(format!("looked for {}", places.join(", ")))
                .hint("elsewhere: git checkpoint import <path>")
        } else {
            CommandError::new(FailureKind::NotFound, "no supported session was found")
                .hint("specify the system: git checkpoint import --from <system> <path>")
        });
    }
    if outcome.imported() > 0 && !args.dry_run {
        let latest = outcome
            .items
            .iter()
            .filter(|item| matches!(item.what, ImportStatus::New | ImportStatus::Grown))
            .max_by_key(|item| item.at);
        if let Some(item) = latest {
            context.ui.hint(
                "Import",
                &format!(
                    "continue there: git checkpoint resume {}\nundo it: git checkpoint undo",
                    item.name
                ),
            );
        }
    }
    if outcome.is_partial() {
        return Err(CommandError::silent(FailureKind::Partial));
    }
    Ok(())
}

/// Warnings about items that were not imported or look odd, on standard error.
fn warn(outcome: &ImportOutcome, context: &Context) {
    for problem in &outcome.problems {
        let line = format!("{}: {}", problem.path, problem.what);
        match problem.weight {
            ProblemSeverity::Broken => context.ui.warning(&line),
            ProblemSeverity::Note => context.ui.status(format!("note: {line}")),
        }
    }
    if !outcome.unknown.is_empty() {
        let count = CountedNoun::new(outcome.unknown.len(), "file");
        context.ui.status(format!("note: {count} not recognized:"));
        for path in outcome.unknown.iter().take(NAMED) {
            context.ui.status(TextLine::plain("  ").with(Slot::Path, path));
        }
        if outcome.unknown.len() > NAMED {
            context
                .ui
                .status(format!("  and {} more", outcome.unknown.len() - NAMED));
        }
    }
    let replaced = outcome.redactions.iter().filter(|redaction| redaction.replaced).count();
    if !outcome.redactions.is_empty() {
        let count = CountedNoun::new(outcome.redactions.len(), "secret");
        let what = if replaced > 0 {
            "replaced by markers"
        } else {
            "found and kept, by your settings"
        };
        context
            .ui
            .warning(&format!("{count} {what}; the sources still have them"));
    }
}

/// The receipt of an outcome.
fn view(outcome: &ImportOutcome, dry_run: bool) -> ImportReceipt<'_> {
    let sessions = outcome.items.iter().map(|item| {
        let (outcome, why) = match &item.what {
            ImportStatus::New => ("new", None),
            ImportStatus::Grown => ("grown", None),
            ImportStatus::Same => ("same", None),
            ImportStatus::Refused(why) => ("refused", Some(why.as_str())),
        };
        ImportRow {
            session: item.name.as_str(),
            outcome,
            why,
            id: item.tip.map(oid),
            system: item.system,
            foreign_id: &item.foreign_id,
            sources: &item.sources,
            status: &item.status,
            checkpoints: item.checkpoints,
            messages: item.messages,
            summary: &item.summary,
            at: item.at,
        }
    });
    let problems = outcome.problems.iter().map(|problem| ProblemRow {
        path: &problem.path,
        what: &problem.what,
        weight: match problem.weight {
            ProblemSeverity::Broken => "broken",
            ProblemSeverity::Note => "note",
        },
    });
    let leaves = &outcome.leaves;
    ImportReceipt {
        dry_run,
        imported: outcome.imported(),
        partial: outcome.is_partial(),
        sessions: sessions.collect(),
        values: ValueCounts {
            source: leaves.source,
            members: leaves.members,
            extra: leaves.extra,
            attachments: leaves.attachment,
            lost: &leaves.lost,
        },
        problems: problems.collect(),
        unknown: &outcome.unknown,
        redactions: views::redactions(&outcome.redactions),
        unsearched: views::unsearched(&outcome.unsearched),
    }
}
