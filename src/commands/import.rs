//! `import`: sessions that other tools left, with their own times, ids and order.

use std::path::PathBuf;

use serde_json::json;

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs},
};
use crate::{
    formats::{ProblemSeverity, System},
    ops::import::{self, ImportItem, ImportOutcome, ImportStatus},
    render::{
        count::CountedNoun,
        slot::Slot,
        text::{Text, TextLine},
    },
    store::checkpoint::oid,
};

/// How many files that no system knows are named.
const NAMED: usize = 10;

/// Import sessions from other tools
///
/// Reads what claude-mpm, OpenCastle, claude-flow, ai-agents, dagent and session directories leave, and chats as JSON or
/// JSON lines. Each foreign session becomes a session here, its checkpoints a chain in their order, with the times they
/// had; what has no place in the record is kept in 'extra', and files of free form next to it. Sources are only read.
/// What is here already is not imported again; 'git checkpoint undo' takes an import back.
///
/// Exits with 7 when something of a source could not be used; the rest is imported even so.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  What is there to take over in this project:
    git checkpoint import --all --dry-run
  Everything of one tool:
    git checkpoint import .claude-mpm/sessions
  One file, under a name of your own:
    git checkpoint import docs/SESSION-CHECKPOINT.md --session search
  A file whose name tells nothing:
    git checkpoint import --from dagent old/a.json")]
pub(super) struct Args {
    /// Files and directories to read; with --all the projects to look in
    #[arg(value_name = "PATH", required_unless_present = "all")]
    paths: Vec<PathBuf>,
    /// The system that wrote them, when the files do not show it
    #[arg(long, value_name = "SYSTEM", value_parser = clap::builder::PossibleValuesParser::new(System::words()))]
    from: Option<String>,
    /// Look where the known systems usually leave their files, below each PATH or in this working tree
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
        name: args.whom.session.clone(),
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
    if context.ui.options().json {
        context.ui.json(&json_of(&outcome, args.dry_run))?;
    } else {
        if context.ui.options().quiet == 0 {
            context.ui.data(text(&outcome, args.dry_run));
        }
        warn(&outcome, context);
    }
    conclude(&outcome, &args, context)
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
            CommandError::new(FailureKind::NotFound, "no tool has left a session in its usual place")
                .hint(format!("looked for {}", places.join(", ")))
                .hint("elsewhere: git checkpoint import <path>")
        } else {
            CommandError::new(FailureKind::NotFound, "no session of a known system was found")
                .hint("name the system if the files do not tell it: git checkpoint import --from <system> <path>")
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
                    "go on there: git checkpoint resume {}\ntake it back: git checkpoint undo",
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

fn text(outcome: &ImportOutcome, dry_run: bool) -> Text {
    let mut text = Text::new();
    for item in &outcome.items {
        text.append(item_text(item, dry_run));
    }
    if outcome.items.len() > 1 {
        let of = |what: fn(&ImportStatus) -> bool| outcome.items.iter().filter(|item| what(&item.what)).count();
        let same = of(|what| *what == ImportStatus::Same);
        let refused = of(|what| matches!(what, ImportStatus::Refused(_)));
        let verb = if dry_run { "to import" } else { "imported" };
        let mut words = format!("{} {verb}", CountedNoun::new(outcome.imported(), "session"));
        for (count, what) in [(same, "here already"), (refused, "refused")] {
            if count > 0 {
                words.push_str(&format!(", {count} {what}"));
            }
        }
        text.push(TextLine::plain(words));
    }
    let leaves = &outcome.leaves;
    if leaves.source > 0 && outcome.imported() > 0 {
        let mut words = format!(
            "{}: {} in members, {} in 'extra', {} in attachments",
            CountedNoun::new(leaves.source, "value"),
            leaves.members,
            leaves.extra,
            leaves.attachment
        );
        if !leaves.lost.is_empty() {
            words.push_str(&format!(", {} left in the sources alone", leaves.lost.len()));
        }
        text.push(TextLine::plain(words));
    }
    text
}

fn item_text(item: &ImportItem, dry_run: bool) -> Text {
    let mut text = Text::new();
    let (slot, word) = match (&item.what, dry_run) {
        (ImportStatus::New, false) => (Slot::Good, "Imported"),
        (ImportStatus::New, true) => (Slot::Good, "Would import"),
        (ImportStatus::Grown, false) => (Slot::Good, "Added to"),
        (ImportStatus::Grown, true) => (Slot::Good, "Would add to"),
        (ImportStatus::Same, _) => (Slot::Dim, "Here already:"),
        (ImportStatus::Refused(_), _) => (Slot::Warning, "Not imported:"),
    };
    let mut line = TextLine::new().with(slot, word).with(Slot::Plain, " session ");
    line.push(Slot::Session, item.name.as_str());
    if let Some(tip) = item.tip {
        line.push(Slot::Plain, " at ");
        line.push(Slot::Id, oid(tip).short());
    }
    text.push(line);
    let mut detail = |label: &str, value: TextLine| {
        let mut line = TextLine::plain("  ").with(Slot::Heading, label);
        line.pad_to(12);
        line.append(&value);
        text.push(line);
    };
    if let ImportStatus::Refused(why) = &item.what {
        detail("why", TextLine::plain(why));
    }
    let first = item.sources.first().map(String::as_str).unwrap_or_default();
    let mut from = TextLine::plain(format!("{} '{}', ", item.system, item.foreign_id)).with(Slot::Path, first);
    if item.sources.len() > 1 {
        from.push(Slot::Plain, format!(" and {} more", item.sources.len() - 1));
    }
    detail("from", from);
    if matches!(item.what, ImportStatus::New | ImportStatus::Grown) {
        let mut words = format!("{}, {}", item.status, CountedNoun::new(item.checkpoints, "checkpoint"));
        if item.messages > 0 {
            words.push_str(&format!(", {}", CountedNoun::new(item.messages, "message")));
        }
        detail("holds", TextLine::plain(words));
        let summary = item.summary.lines().next().unwrap_or_default();
        if !summary.is_empty() {
            detail("summary", TextLine::plain(summary));
        }
    }
    text
}

/// Warnings about items that were not imported or look odd, on standard error.
fn warn(outcome: &ImportOutcome, context: &Context) {
    for problem in &outcome.problems {
        let line = format!("{}: {}", problem.path, problem.what);
        match problem.weight {
            ProblemSeverity::Broken => context.ui.warning(&line),
            ProblemSeverity::Note => context.ui.status(TextLine::plain(format!("note: {line}"))),
        }
    }
    if !outcome.unknown.is_empty() {
        let count = CountedNoun::new(outcome.unknown.len(), "file");
        context
            .ui
            .status(TextLine::plain(format!("note: {count} of no known system:")));
        for path in outcome.unknown.iter().take(NAMED) {
            context.ui.status(TextLine::plain("  ").with(Slot::Path, path));
        }
        if outcome.unknown.len() > NAMED {
            context
                .ui
                .status(TextLine::plain(format!("  and {} more", outcome.unknown.len() - NAMED)));
        }
    }
    let replaced = outcome.redactions.iter().filter(|redaction| redaction.replaced).count();
    if !outcome.redactions.is_empty() {
        let count = CountedNoun::new(outcome.redactions.len(), "secret");
        let what = if replaced > 0 {
            "replaced by markers"
        } else {
            "found and kept, as the settings say"
        };
        context
            .ui
            .warning(&format!("{count} {what}; the sources still hold them"));
    }
}

fn json_of(outcome: &ImportOutcome, dry_run: bool) -> serde_json::Value {
    let item = |item: &ImportItem| {
        let (what, why) = match &item.what {
            ImportStatus::New => ("new", None),
            ImportStatus::Grown => ("grown", None),
            ImportStatus::Same => ("same", None),
            ImportStatus::Refused(why) => ("refused", Some(why)),
        };
        json!({
            "session": item.name,
            "outcome": what,
            "why": why,
            "id": item.tip.map(oid),
            "system": item.system,
            "foreign_id": item.foreign_id,
            "sources": item.sources,
            "status": item.status,
            "checkpoints": item.checkpoints,
            "messages": item.messages,
            "summary": item.summary,
            "at": item.at,
        })
    };
    let redaction = |redaction: &crate::ops::redact::RedactedSecret| json!({ "kind": redaction.kind, "place": redaction.place, "replaced": redaction.replaced });
    json!({
        "schema": "git-checkpoint.import/1",
        "dry_run": dry_run,
        "imported": outcome.imported(),
        "partial": outcome.is_partial(),
        "sessions": outcome.items.iter().map(item).collect::<Vec<_>>(),
        "values": {
            "source": outcome.leaves.source,
            "members": outcome.leaves.members,
            "extra": outcome.leaves.extra,
            "attachments": outcome.leaves.attachment,
            "lost": outcome.leaves.lost,
        },
        "problems": outcome.problems,
        "unknown": outcome.unknown,
        "redactions": outcome.redactions.iter().map(redaction).collect::<Vec<_>>(),
    })
}
