//! `export`: a checkpoint as a document, in a form of our own or in that of another system.

mod commit;
#[cfg(feature = "report")]
pub(super) mod html;
mod keep;
mod multi_file;
mod omissions;

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

pub(super) use self::keep::{after_autosave, after_save, are_ignored};
use super::{
    Context, agent_session,
    error::{AgainOption, CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs, OpenedRepository},
};
use crate::{
    agents::{self, Agent},
    formats::{self, ExportExtent, ExportFiles, ExportInput, OmittedContent, System, UnexportedCounts},
    model::{binary_text, json as stored, outline::Contents, selector::Selector, step::quoted},
    ops::{
        self,
        agent::resumption,
        export::{self, ExportScope, ExportedCheckpoint},
        select,
    },
    os,
    render::{
        checkpoint::Author,
        document::{self, DocumentSource, block},
        export::{AttachmentRow, CheckpointExport, ExportReceipt, ModeRow, OmissionRow, SnapshotLists},
    },
    store::{self, checkpoint::oid},
};

/// A format: a name on the command line with a line of help.
#[derive(Clone, Copy)]
struct ExportFormat {
    name: &'static str,
    about: &'static str,
    make: ExportWriter,
}

/// The writer of a format.
#[derive(Clone, Copy)]
enum ExportWriter {
    /// A document of ours.
    Note(fn(&DocumentSource<'_>) -> String),
    /// Everything, as JSON.
    Json,
    /// A page, made of more than the checkpoint alone.
    Page,
    /// The files of another system.
    Foreign(System, ExportExtent),
    /// The session file of a coding agent, for this working tree.
    Agent(&'static dyn Agent),
}

/// The formats of our own; those of other systems come from their table.
const OWN: [ExportFormat; 4] = [
    ExportFormat {
        name: "markdown",
        about: "the session checkpoint with all its tables",
        make: ExportWriter::Note(document::markdown),
    },
    ExportFormat {
        name: "handoff",
        about: "a one-page note for whoever takes over the work",
        make: ExportWriter::Note(document::handoff),
    },
    ExportFormat {
        name: "html",
        about: if cfg!(feature = "report") {
            "one page to look at: record, changes, time line, patch, chat"
        } else {
            "one page to look at; this program was built without it"
        },
        make: ExportWriter::Page,
    },
    ExportFormat {
        name: "json",
        about: "everything: document, steps, log, chat, attachments, lists",
        make: ExportWriter::Json,
    },
];

/// Every format, in the order of the help.
static FORMATS: LazyLock<Vec<FormatName>> = LazyLock::new(|| {
    let foreign = System::ALL.iter().filter_map(|system| {
        let writer = system.writer()?;
        Some(ExportFormat {
            name: system.word(),
            about: writer.about(),
            make: ExportWriter::Foreign(*system, writer.extent()),
        })
    });
    let agents = agents::ALL
        .iter()
        .filter(|agent| !agent.resume_command("id").is_empty());
    let agents = agents.map(|agent| ExportFormat {
        name: agent.name(),
        about: "the agent's own session file, to be resumed in this directory",
        make: ExportWriter::Agent(*agent),
    });
    OWN.into_iter().chain(foreign).chain(agents).map(FormatName).collect()
});

#[cfg(feature = "report")]
fn report_page(opened: &OpenedRepository, selector: &Selector) -> Result<(ExportedCheckpoint, Vec<u8>), CommandError> {
    Ok(html::page(&opened.scene(), selector)?)
}

/// Answers that this build makes no pages.
#[cfg(not(feature = "report"))]
fn report_page(_: &OpenedRepository, _: &Selector) -> Result<(ExportedCheckpoint, Vec<u8>), CommandError> {
    let error = CommandError::new(
        FailureKind::Fatal,
        "this program was built without the report as a page",
    );
    Err(error
        .hint("build it with: cargo build --release --features report")
        .hint("the same as text: git checkpoint export --format markdown"))
}

/// The value of `--format`, completed and checked by the list.
#[derive(Clone, Copy)]
struct FormatName(ExportFormat);

impl std::fmt::Debug for FormatName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

impl clap::ValueEnum for FormatName {
    fn value_variants<'a>() -> &'a [Self] {
        &FORMATS
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name).help(self.0.about))
    }
}

/// Export a checkpoint
///
/// Exports the saved state, without the draft. The same checkpoint always gives the same bytes, except for html, which
/// includes what changed since.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  A hand-off note:
    git checkpoint export --format handoff
  Kept up to date in a file of the project, between two markers:
    git checkpoint export --format handoff --into HANDOFF.md
  A web page in one file:
    git checkpoint export --format html -o auth.html
  Everything, for a program:
    git checkpoint export --format json auth -o auth.json
  The session with its files, to hand it over without a server:
    git checkpoint bundle ../auth.bundle auth
  A directory with a file for each checkpoint:
    git checkpoint export --format folder auth -o ../auth-session
  A plain commit of the files, to review or push:
    git checkpoint export auth --commit auth-review")]
pub(super) struct Args {
    /// The session or checkpoint; the latest of the current session by default
    #[arg(default_value = "@", hide_default_value = true)]
    selector: String,
    /// Output format; by default that of the ending of the file to write: .md, .html or .json
    #[arg(long, value_name = "FORMAT", value_enum, required_unless_present_any = ["commit", "output"])]
    format: Option<FormatName>,
    /// Commit the checkpoint's files to this branch, on top of the commit it was saved at
    #[arg(long, value_name = "BRANCH", conflicts_with_all = ["format", "output", "into", "force", "dry_run"])]
    commit: Option<String>,
    /// With --commit: the message, instead of the checkpoint's subject
    #[arg(short, long, value_name = "TEXT", requires = "commit", allow_hyphen_values = true)]
    message: Option<String>,
    /// Write to this file, or to this directory for formats of several files
    #[arg(short, long, value_name = "PATH", value_hint = clap::ValueHint::AnyPath, conflicts_with = "into")]
    output: Option<PathBuf>,
    /// Overwrite a different file, or write into a directory that has files
    #[arg(long)]
    force: bool,
    /// Write a hand-off note between two markers of this file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    into: Option<PathBuf>,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

impl Args {
    fn format(&self) -> ExportFormat {
        self.format.map_or(OWN[0], |format| format.0)
    }

    /// Takes the format from the ending of the file to write, where none is given.
    fn infer_format(&mut self) -> Result<(), CommandError> {
        let (None, Some(output)) = (self.format, &self.output) else {
            return Ok(());
        };
        let ending = output
            .extension()
            .map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        let name = match ending.as_deref() {
            Some("md" | "markdown") => Some("markdown"),
            Some("html" | "htm") => Some("html"),
            Some("json") => Some("json"),
            _ => None,
        };
        self.format = FORMATS.iter().find(|format| Some(format.0.name) == name).copied();
        if self.format.is_some() {
            return Ok(());
        }
        let path = quoted(&output.display().to_string());
        let error = CommandError::new(FailureKind::Usage, format!("the name {path} does not tell the format"));
        Err(error.hint(format!("specify it: git checkpoint export --format <format> -o {path}")))
    }
}

pub(super) fn run(mut args: Args, context: &mut Context) -> Result<(), CommandError> {
    args.infer_format()?;
    if let Some(branch) = &args.commit {
        return commit::commit(&args, branch, context);
    }
    if args.into.is_some() && args.format().name != "handoff" {
        return Err(CommandError::new(
            FailureKind::Usage,
            "only '--format handoff' goes into a file with '--into'",
        )
        .hint("write a separate file: -o FILE"));
    }
    let scope = match args.format().make {
        ExportWriter::Foreign(_, extent @ (ExportExtent::Directory | ExportExtent::Chain)) => {
            multi_file::room(&args, context)?;
            if extent == ExportExtent::Chain {
                ExportScope::Chain
            } else {
                ExportScope::Note
            }
        }
        ExportWriter::Json => ExportScope::Files,
        ExportWriter::Note(_) | ExportWriter::Page | ExportWriter::Foreign(..) | ExportWriter::Agent(_) => {
            ExportScope::Note
        }
    };
    let opened = opening::open(context, &IdentityArgs::default())?;
    if let Some(path) = named(&args)
        && export::is_in_git_dir(&opened.scene(), &context.env.cwd.join(path))
    {
        let message = format!("'{}' is in the git directory", path.display());
        return Err(CommandError::new(FailureKind::Refused, message).hint("choose a path outside of it"));
    }
    let selector = failure::selector(&args.selector)?;
    let (exported, page) = match args.format().make {
        ExportWriter::Page => report_page(&opened, &selector)?,
        _ => (export::export(&opened.scene(), &selector, scope)?, Vec::new()),
    };
    // Those for people say that the record is encrypted; a program would read that there is nothing.
    let is_for_people = matches!(args.format().make, ExportWriter::Note(_) | ExportWriter::Page);
    if exported.checkpoint.document.is_locked() && !is_for_people {
        let session = exported.name().to_owned();
        return Err(ops::Error::from(store::Error::RecordLocked { session }).into());
    }
    if exported.unsaved > 0 {
        let changes = crate::render::count::CountedNoun::new(exported.unsaved, "change");
        context
            .ui
            .warning(&format!("{changes} not in it yet: git checkpoint save"));
    }
    let (bytes, left_out) = match args.format().make {
        ExportWriter::Note(make) => (with_source(&exported, make).into_bytes(), Vec::new()),
        ExportWriter::Page => (page, Vec::new()),
        ExportWriter::Json => (everything(&exported), omissions::of_ours(&exported)),
        ExportWriter::Agent(agent) => (agent_session(&args, agent, &opened, context)?, Vec::new()),
        ExportWriter::Foreign(system, ExportExtent::File) => {
            let (written, left_out) = foreign(&exported, system);
            let (name, bytes) = written.0.into_iter().next().unwrap_or_default();
            // In a directory the file has the name that its reader looks for.
            if let Some(path) = &args.output
                && path.as_os_str() != "-"
                && context.env.cwd.join(path).is_dir()
            {
                args.output = Some(path.join(&name));
            }
            (bytes, left_out)
        }
        ExportWriter::Foreign(system, _) => {
            let (written, left_out) = foreign(&exported, system);
            return multi_file::write(&args, &exported, system, (&written, &left_out), context);
        }
    };
    let args = args;
    omissions::report_omissions(&left_out, args.format().name, context);
    let file = named(&args).filter(|_| args.into.is_none());
    let (path, changed) = match (file, args.into.as_deref()) {
        (Some(path), _) => {
            refuse_symlinks(context, path)?;
            require_directory(context, path)?;
            if !args.force {
                vacant(context, path, &bytes)?;
            }
            if !args.dry_run {
                write(context, path, &bytes)?;
            }
            (Some(path), true)
        }
        (None, Some(path)) => (Some(path), into(context, path, &bytes, args.dry_run)?),
        (None, None) => (None, false),
    };
    let mut receipt = receipt(&args, &exported, &left_out);
    receipt.file = path.map(|path| path.display().to_string());
    receipt.changed = changed;
    // What is JSON itself needs nothing around it.
    if context.ui.options().json && (path.is_some() || args.format().name != "json") {
        receipt.text = path.is_none().then(|| String::from_utf8_lossy(&bytes));
        return context.ui.json(&receipt);
    }
    if path.is_none() {
        context.ui.bytes(&bytes);
        return Ok(());
    }
    context.ui.report(&receipt)
}

/// The receipt of a document; its place is up to the caller.
fn receipt<'a>(args: &'a Args, exported: &'a ExportedCheckpoint, left_out: &'a [OmittedContent]) -> ExportReceipt<'a> {
    ExportReceipt {
        id: oid(exported.checkpoint.entry.id),
        digest: &exported.checkpoint.digest,
        session: exported.name(),
        format: args.format().name,
        file: None,
        files: None,
        changed: true,
        dry_run: args.dry_run,
        text: None,
        left_out: left_out
            .iter()
            .map(|omitted| OmissionRow {
                what: &omitted.what,
                count: omitted.count,
            })
            .collect(),
    }
}

/// The place that is to be written to.
fn named(args: &Args) -> Option<&Path> {
    let output = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    output.or(args.into.as_deref())
}

/// Refuses a file with something else in it, as a directory with files is.
fn vacant(context: &Context, path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    // A read error is reported by the write.
    let before = os::read_regular(&context.env.cwd.join(path)).unwrap_or_default();
    if before.is_empty() || before == bytes {
        return Ok(());
    }
    let message = format!("file '{}' is not empty", path.display());
    let again = context.with_option("--force");
    Err(CommandError::new(FailureKind::Refused, message).again("overwrite it", again, AgainOption::Force))
}

fn write(context: &Context, path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    os::replace_users(&context.env.cwd.join(path), bytes).map_err(|error| {
        let message = format!("cannot write '{}': {}", path.display(), os::reason(&error));
        CommandError::new(FailureKind::Fatal, message)
    })
}

/// Refuses a path that leads through a symlink of a working tree: one that came with a commit or a checkpoint may lead
/// anywhere. A symlink elsewhere is the user's own.
pub(in crate::commands) fn refuse_symlinks(context: &Context, path: &Path) -> Result<(), CommandError> {
    let cwd = &context.env.cwd;
    let top = cwd.ancestors().find(|above| above.join(".git").exists());
    let top = top.unwrap_or(cwd);
    let is_of_a_tree = |link: &Path| {
        let mut above = link.ancestors().skip(1);
        link.starts_with(top) || above.any(|above| above.join(".git").exists())
    };
    let Some(link) = os::symlink_on_the_way(&cwd.join(path), &is_of_a_tree) else {
        return Ok(());
    };
    let message = format!(
        "'{}' is a symlink, which is not followed",
        link.strip_prefix(cwd).unwrap_or(&link).display()
    );
    Err(CommandError::new(FailureKind::Refused, message)
        .hint("give the path of the file itself, or remove the symlink"))
}

/// Fails where a file is to be written into a directory that is not there.
pub(in crate::commands) fn require_directory(context: &Context, path: &Path) -> Result<(), CommandError> {
    match context
        .env
        .cwd
        .join(path)
        .parent()
        .filter(|directory| !directory.is_dir())
    {
        Some(directory) => {
            let message = format!("no directory '{}'", path.parent().unwrap_or(directory).display());
            Err(CommandError::new(FailureKind::NotFound, message).hint("make it first, or choose another place"))
        }
        None => Ok(()),
    }
}

/// Puts the note into a file; returns whether that changed it, or in a dry run would.
fn into(context: &Context, path: &Path, note: &[u8], dry_run: bool) -> Result<bool, CommandError> {
    refuse_symlinks(context, path)?;
    let full = context.env.cwd.join(path);
    let before = match os::read_regular(&full) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            let message = format!("cannot read '{}': {}", path.display(), os::reason(&error));
            return Err(CommandError::new(FailureKind::Fatal, message));
        }
    };
    let note = String::from_utf8_lossy(note);
    let after = block::put(before.as_deref(), &note).map_err(|damaged| {
        CommandError::new(
            FailureKind::Refused,
            format!("the markers in '{}' are damaged: {damaged}", path.display()),
        )
        .hint("nothing was changed; repair the lines, or remove them to append the note")
        .hint(format!(
            "a block begins with the line {} and ends with {}",
            block::BEGIN,
            block::END
        ))
    })?;
    if before.as_ref() == Some(&after) {
        return Ok(false);
    }
    if !dry_run {
        write(context, path, &after)?;
    }
    Ok(true)
}

/// The session file of a coding agent, with the paths of this working tree.
fn agent_session(
    args: &Args,
    agent: &'static dyn Agent,
    opened: &OpenedRepository,
    context: &Context,
) -> Result<Vec<u8>, CommandError> {
    let scene = opened.scene();
    let found = select::checkpoint(&scene, &failure::selector(&args.selector)?)?;
    let document = &found.checkpoint.document;
    let Some(kept) = resumption::kept(document, Some(agent.name())) else {
        let message = format!("the checkpoint has no session of {}", agent.title());
        return Err(CommandError::new(FailureKind::NotFound, message).hint(format!(
            "start {} with the saved context: git checkpoint resume --agent {}",
            agent.title(),
            agent.name()
        )));
    };
    let directory = agent_session::directory_of(context, agent.name())?;
    let read = |path: &Path| os::read_regular(&directory.join(path)).ok();
    let root = store::work_tree(scene.repo)?;
    Ok(resumption::file(&scene, document, &kept, root, None, &read)?.bytes)
}

/// The bytes of a format that is one file.
fn contents_bytes(exported: &ExportedCheckpoint, make: ExportWriter) -> Vec<u8> {
    match make {
        ExportWriter::Note(make) => with_source(exported, make).into_bytes(),
        ExportWriter::Json => everything(exported),
        // Refused before: a page needs more than the checkpoint, and only the command knows the place of a session file.
        ExportWriter::Page | ExportWriter::Agent(_) => Vec::new(),
        ExportWriter::Foreign(system, _) => {
            let files = foreign(exported, system).0.0.into_iter();
            files.map(|(_, bytes)| bytes).next().unwrap_or_default()
        }
    }
}

fn with_source(exported: &ExportedCheckpoint, make: fn(&DocumentSource<'_>) -> String) -> String {
    make(&DocumentSource {
        id: &oid(exported.checkpoint.entry.id),
        digest: &exported.checkpoint.digest,
        session: exported.name(),
        selector: &exported.selector(),
        document: &exported.checkpoint.document,
        steps: &exported.steps,
        contents: &contents(exported),
    })
}

/// Part of the checkpoint that a note shows: the last of the messages and of the log.
fn contents(exported: &ExportedCheckpoint) -> Contents {
    /// How many of the last messages and lines of the log.
    const LAST: usize = 6;
    let last = |all: &[serde_json::Value]| all[all.len().saturating_sub(LAST)..].to_vec();
    let mut out = Contents::new(exported.checkpoint.document.clone());
    out.steps.clone_from(&exported.steps);
    out.messages = last(&exported.messages)
        .into_iter()
        .filter_map(|value| serde_json::from_value(value).ok())
        .collect();
    out.messages_total = exported.messages.len() as u64;
    out.notes = last(&exported.log)
        .into_iter()
        .filter_map(|value| serde_json::from_value(value).ok())
        .collect();
    out.notes.reverse();
    out.notes_total = exported.log.len() as u64;
    out.context.clone_from(&exported.context);
    out.agent.clone_from(&exported.agent);
    out.put_aside.clone_from(&exported.put_aside);
    out.unmerged_files.clone_from(&exported.unmerged_files);
    out
}

/// The files of the checkpoint in another system's form, and what is not in them.
fn foreign(exported: &ExportedCheckpoint, system: System) -> (ExportFiles, Vec<OmittedContent>) {
    let mut documents = exported.earlier.clone();
    documents.push(exported.checkpoint.document.clone());
    let out = ExportInput {
        documents: &documents,
        messages: &exported.messages,
        steps: &exported.steps,
        log: &exported.log,
        attachments: &exported.attachments,
        context: exported.context.as_deref(),
        agent: exported.agent.as_deref(),
    };
    let written = system.writer().map(|writer| writer.write(&out)).unwrap_or_default();
    let beside = UnexportedCounts {
        earlier: exported.before,
        steps: exported.steps.len(),
        put_aside: exported.put_aside.len(),
        unmerged_files: exported.unmerged_files.len(),
    };
    let left_out = formats::left_out(system, &out, &written, beside);
    (written, left_out)
}

fn everything(exported: &ExportedCheckpoint) -> Vec<u8> {
    let entry = &exported.checkpoint.entry;
    let lists = &exported.lists;
    let attachments = exported.attachments.iter().map(|attachment| {
        let text = std::str::from_utf8(&attachment.bytes).ok();
        AttachmentRow {
            name: &attachment.name,
            text,
            base64: text.is_none().then(|| binary_text::encode(&attachment.bytes)),
        }
    });
    let modes = lists.modes.iter().map(|(path, mode)| ModeRow {
        path,
        mode: format!("{mode:04o}"),
    });
    stored::to_bytes(&CheckpointExport {
        session: exported.name(),
        id: oid(entry.id),
        digest: &exported.checkpoint.digest,
        parents: entry.parents.iter().map(|id| oid(*id)).collect(),
        author: Author {
            name: &entry.author,
            email: &entry.email,
        },
        document: &exported.checkpoint.document,
        steps: &exported.steps,
        log: &exported.log,
        messages: &exported.messages,
        context: exported.context.as_deref(),
        agent: exported.agent.as_deref(),
        attachments: attachments.collect(),
        lists: SnapshotLists {
            skipped: lists.skipped.iter().map(Into::into).collect(),
            modes: modes.collect(),
            raw: &lists.raw,
            empty_dirs: &lists.empty_dirs,
            intent_to_add: &lists.intent_to_add,
        },
    })
}

#[cfg(test)]
mod tests;
