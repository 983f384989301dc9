//! `message import`: the messages of a file that a coding agent wrote.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{
    super::{
        Context,
        error::CommandError,
        input::refuse_own_input,
        opening::{self, IdentityArgs, OpenedRepository},
        redactions,
    },
    drafting, input,
};
use crate::{
    agents::{self, Agent, lines::Report},
    formats::opencode_database,
    model::step::quoted,
    ops::{Error, chat::import, transcript_facts},
    os,
    render::messages::{MessageImportReceipt, RepairedLine, SkippedLine},
};

/// The file in words.
const WHAT: &str = "the messages";
/// The most bytes of a file of messages: 1 GiB.
const FILE: u64 = 1 << 30;
/// The number of findings in an imported file that are reported one by one.
const TOLD: usize = 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    whom: IdentityArgs,
    /// The agent that wrote the file; detected by default
    #[arg(long, value_name = "AGENT", value_parser = names())]
    from: Option<String>,
    /// The file; '-' is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// The names of the agents whose session files are read.
fn names() -> clap::builder::PossibleValuesParser {
    let names: Vec<&'static str> = agents::ALL.iter().map(|agent| agent.name()).collect();
    names.into()
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    let agent = args.from.as_deref().and_then(agents::named);
    let mut damage = Vec::new();
    let name = if args.file.as_os_str() == "-" {
        String::new()
    } else {
        args.file
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let done = match read_on(context, &opened, &args.file, agent) {
        Ok(None) => whole(context, &opened, &args.file, (&name, agent), &mut damage)?,
        Ok(Some(done)) => Ok(done),
        Err(error) => Err(error),
    };
    for why in &damage {
        context.ui.warning(why);
    }
    let done = done.map_err(|error| {
        let is_document = matches!(error, Error::NoMessages { is_document: true, .. });
        let error = CommandError::from(error);
        if is_document {
            let file = args.file.to_string_lossy();
            let file = if file == "-" {
                "<file>".to_owned()
            } else {
                quoted(&file)
            };
            return error.hint(format!(
                "import it as a session: git checkpoint import --from json {file}"
            ));
        }
        error
    })?;
    report(context, &done.report);
    if let Some(transcript) = &done.transcript {
        let session = transcript.facts.id.as_deref().unwrap_or(&name);
        transcript_facts::note(&drafting(&opened), session, transcript)?;
        if transcript.is_torn {
            context
                .ui
                .warning("the last line is incomplete; import the file again when it is complete");
        }
        if !transcript.unknown.is_empty() {
            let kinds = transcript
                .unknown
                .iter()
                .take(TOLD)
                .map(|(kind, count)| format!("{kind} ({count})"));
            let kinds = kinds.collect::<Vec<_>>().join(", ");
            context
                .ui
                .warning(&format!("records of unknown types were left out: {kinds}"));
        }
    }
    let (first, rest) = done.redactions.split_at(done.redactions.len().min(TOLD));
    redactions::warn(context, first);
    if !rest.is_empty() {
        context.ui.warning(&format!("and {} more like these", rest.len()));
    }
    let read = done.transcript.as_ref();
    let repaired = done.report.repaired.iter();
    let skipped = done.report.skipped.iter();
    context.ui.report(&MessageImportReceipt {
        session: &done.session,
        agent: done.agent,
        agent_title: done.agent.and_then(agents::named).map(Agent::title),
        agent_session: read.and_then(|read| read.facts.id.as_deref()),
        title: read.and_then(|read| read.facts.title.as_deref()),
        added: done.added,
        updated: done.updated,
        known: done.known,
        records: read.map(|read| read.records),
        unknown: read.map(|read| {
            read.unknown
                .iter()
                .map(|(kind, count)| (kind.as_str(), *count))
                .collect()
        }),
        turns: read.map(|read| value(&read.turns)),
        helpers: read.map(|read| value(&read.helpers)),
        tasks: read.and_then(|read| read.tasks.as_ref()).map(value),
        repaired: repaired
            .map(|(line, what)| RepairedLine { line: *line, what })
            .collect(),
        skipped: skipped.map(|(line, why)| SkippedLine { line: *line, why }).collect(),
        redactions: done.redactions.iter().filter(|found| found.replaced).count(),
    })
}

/// Reads a session file on from where the last reading ended; `None` where it is to be read as a whole.
fn read_on(
    context: &Context,
    opened: &OpenedRepository,
    file: &Path,
    agent: Option<&'static dyn Agent>,
) -> Result<Option<import::ChatImport>, Error> {
    if file.as_os_str() == "-" || refuse_own_input(context, file, WHAT).is_err() {
        return Ok(None);
    }
    let path = context.env.cwd.join(file);
    if !path
        .metadata()
        .is_ok_and(|found| found.is_file() && found.len() <= FILE)
    {
        return Ok(None);
    }
    import::import_named(&drafting(opened), &path, agent)
}

/// Reads a file of any kind, or standard input. The outer error is that it cannot be read.
fn whole(
    context: &Context,
    opened: &OpenedRepository,
    path: &Path,
    (name, agent): (&str, Option<&'static dyn Agent>),
    damage: &mut Vec<String>,
) -> Result<Result<import::ChatImport, Error>, CommandError> {
    let bytes = input(context, path, WHAT, FILE)?;
    let bytes = bytes.as_slice();
    if opencode_database::is_database(bytes) {
        // What the program has not moved into the file yet.
        let mut log = context.env.cwd.join(path).into_os_string();
        log.push("-wal");
        let log = os::read_regular(Path::new(&log)).ok();
        return Ok(import::import_database(
            &drafting(opened),
            bytes,
            log.as_deref(),
            damage,
        ));
    }
    let file = import::MessageFile { bytes, name, agent };
    Ok(import::import(&drafting(opened), &file))
}

/// A value of a lower layer as JSON.
fn value(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Reports what was repaired and what was skipped, the first of each.
fn report(context: &Context, report: &Report) {
    let repaired = report
        .repaired
        .iter()
        .map(|(line, what)| format!("line {line}: {what}"));
    let skipped = report
        .skipped
        .iter()
        .map(|(line, why)| format!("line {line} was skipped: {why}"));
    for lines in [repaired.collect::<Vec<_>>(), skipped.collect::<Vec<_>>()] {
        for line in lines.iter().take(TOLD) {
            context.ui.warning(line);
        }
        if lines.len() > TOLD {
            context.ui.warning(&format!("and {} lines more", lines.len() - TOLD));
        }
    }
}
