//! `export`: a checkpoint as a document. A format is a line of `FORMATS`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{
    Context,
    error::{CommandError, Kind},
    failure,
    opened::{self, Whom},
};
use crate::{
    model::json as stored,
    ops::export::{self, Exported},
    os,
    render::{
        document::{self, Source, block},
        receipt::SkippedPath,
        slot::Slot,
        text::Line,
    },
    store::checkpoint::oid,
};

/// A format.
struct Format {
    /// Its name on the command line.
    name: &'static str,
    /// What it is, in a line.
    about: &'static str,
    /// Makes the document.
    make: fn(&Exported) -> Result<Vec<u8>, CommandError>,
}

/// The formats there are.
const FORMATS: &[Format] = &[
    Format {
        name: "markdown",
        about: "the session checkpoint with all its tables",
        make: |exported| Ok(with_source(exported, document::markdown).into_bytes()),
    },
    Format {
        name: "handoff",
        about: "a note on a page for whoever takes the work over",
        make: |exported| Ok(with_source(exported, document::handoff).into_bytes()),
    },
    Format {
        name: "json",
        about: "everything: document, steps, log, chat, lists",
        make: |exported| Ok(everything(exported)),
    },
];

/// The value of `--format`, completed and checked by the list.
#[derive(Clone, Copy)]
struct FormatName(&'static Format);

impl std::fmt::Debug for FormatName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

impl clap::ValueEnum for FormatName {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [FormatName; FORMATS.len()] = {
            let mut all = [FormatName(&FORMATS[0]); FORMATS.len()];
            let mut at = 0;
            while at < FORMATS.len() {
                all[at] = FormatName(&FORMATS[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name).help(self.0.about))
    }
}

/// Write a checkpoint as a document
///
/// What is exported is what was saved; changes of the draft are not in it. The same checkpoint always gives the same
/// bytes.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  A page for whoever goes on:
    git checkpoint export --format handoff
  Kept up to date in a file of the project, between two markers:
    git checkpoint export --format handoff --into HANDOFF.md
  Everything, for a program:
    git checkpoint export --format json auth -o auth.json")]
pub(super) struct Args {
    /// The session or checkpoint; the newest of the current session by default
    #[arg(default_value = "@")]
    selector: String,
    /// What to make of it
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: FormatName,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "into")]
    output: Option<PathBuf>,
    /// Put a hand-off note between two markers of this file, and leave the rest as it is
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    into: Option<PathBuf>,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    if args.into.is_some() && args.format.0.name != "handoff" {
        return Err(
            CommandError::new(Kind::Usage, "only '--format handoff' goes into a file with '--into'")
                .hint("write a file of its own: -o FILE"),
        );
    }
    let opened = opened::open(context, &Whom::default())?;
    let exported = export::export(&opened.scene(), &failure::selector(&args.selector)?)?;
    if exported.unsaved > 0 {
        let changes = crate::render::count::Count::new(exported.unsaved, "change");
        context.ui.warning(&format!(
            "{changes} of the draft not in it: 'git checkpoint save' first"
        ));
    }
    let bytes = (args.format.0.make)(&exported)?;
    let (path, changed) = match (&args.output, &args.into) {
        (Some(path), _) if path.as_os_str() != "-" => {
            write(context, path, &bytes)?;
            (path, true)
        }
        (_, Some(path)) => (path, into(context, path, &bytes)?),
        _ => {
            context.ui.bytes(&bytes);
            return Ok(());
        }
    };
    let id = oid(exported.checkpoint.entry.id);
    if context.ui.options().json {
        return context.ui.json(&json!({
            "schema": "git-checkpoint.export-receipt/1",
            "id": id,
            "digest": exported.checkpoint.digest,
            "session": exported.name(),
            "format": args.format.0.name,
            "file": path.display().to_string(),
            "changed": changed,
        }));
    }
    let mut line = Line::plain(if changed { "Wrote " } else { "Unchanged: " });
    line.push(Slot::Path, path.display().to_string());
    line.push(Slot::Plain, ", from ");
    line.push(Slot::Id, id.short());
    line.push(Slot::Plain, " of session ");
    line.push(Slot::Session, exported.name());
    context.ui.receipt(line);
    Ok(())
}

fn write(context: &Context, path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    os::replace_users(&context.env.cwd.join(path), bytes).map_err(|error| {
        let message = format!("cannot write '{}': {}", path.display(), os::reason(&error));
        CommandError::new(Kind::Fatal, message)
    })
}

/// Puts the note into a file; tells whether that changed it.
fn into(context: &Context, path: &Path, note: &[u8]) -> Result<bool, CommandError> {
    let full = context.env.cwd.join(path);
    let before = match os::read_regular(&full) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            let message = format!("cannot read '{}': {}", path.display(), os::reason(&error));
            return Err(CommandError::new(Kind::Fatal, message));
        }
    };
    let note = String::from_utf8_lossy(note);
    let after = block::put(before.as_deref(), &note).map_err(|damaged| {
        CommandError::new(
            Kind::Refused,
            format!("the markers in '{}' are damaged: {damaged}", path.display()),
        )
        .hint("nothing was changed; mend the lines, or remove them to have the note at the end")
        .hint(format!(
            "a block begins with the line {} and ends with {}",
            block::BEGIN,
            block::END
        ))
    })?;
    if before.as_ref() == Some(&after) {
        return Ok(false);
    }
    write(context, path, &after)?;
    Ok(true)
}

fn with_source(exported: &Exported, make: fn(&Source<'_>) -> String) -> String {
    make(&Source {
        id: &oid(exported.checkpoint.entry.id),
        digest: &exported.checkpoint.digest,
        session: exported.name(),
        document: &exported.checkpoint.document,
        steps: &exported.steps,
    })
}

fn everything(exported: &Exported) -> Vec<u8> {
    let checkpoint = &exported.checkpoint;
    let lists = &exported.lists;
    let skipped: Vec<SkippedPath> = lists.skipped.iter().map(Into::into).collect();
    let modes = lists
        .modes
        .iter()
        .map(|(path, mode)| json!({ "path": path, "mode": format!("{mode:04o}") }));
    stored::to_bytes(&json!({
        "schema": "git-checkpoint.export/1",
        "session": exported.name(),
        "id": oid(checkpoint.entry.id),
        "digest": checkpoint.digest,
        "parents": checkpoint.entry.parents.iter().map(|id| oid(*id)).collect::<Vec<_>>(),
        "author": { "name": checkpoint.entry.author, "email": checkpoint.entry.email },
        "document": checkpoint.document,
        "steps": exported.steps,
        "log": exported.log,
        "messages": exported.messages,
        "context": exported.context,
        "agent": exported.agent,
        "lists": {
            "skipped": skipped,
            "modes": modes.collect::<Vec<_>>(),
            "raw": lists.raw,
            "empty_dirs": lists.empty_dirs,
            "intent_to_add": lists.intent_to_add,
        },
    }))
}
