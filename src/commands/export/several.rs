//! The formats that are several files: where they may go, and what they have no place for.

use serde_json::json;

use super::{
    super::{
        Context,
        error::{CommandError, Kind},
    },
    Args,
};
use crate::{
    formats::System,
    ops::export::Exported,
    os,
    render::{count::Count, slot::Slot, text::Line},
    store::checkpoint::oid,
};

/// Refuses a place for a folder before anything is read.
pub(super) fn room(args: &Args, context: &Context) -> Result<(), CommandError> {
    let name = args.format.0.name;
    let Some(path) = args.output.as_deref().filter(|path| path.as_os_str() != "-") else {
        let message = format!("'--format {name}' writes several files");
        return Err(CommandError::new(Kind::Usage, message).hint("name a folder for them: -o DIR"));
    };
    let found = os::room(&context.env.cwd.join(path)).map_err(|error| {
        let message = format!("cannot read '{}': {}", path.display(), os::reason(&error));
        CommandError::new(Kind::Fatal, message)
    })?;
    match found {
        os::Room::Taken if !args.force => {
            let message = format!("folder '{}' is not empty", path.display());
            Err(CommandError::new(Kind::Refused, message)
                .hint("write into it all the same, replacing files of the same names: --force"))
        }
        os::Room::Other => {
            let message = format!("'{}' is not a folder", path.display());
            Err(CommandError::new(Kind::Refused, message).hint("name another place: -o DIR"))
        }
        os::Room::Free | os::Room::Taken => Ok(()),
    }
}

/// Writes the files of a format, and says what was written.
pub(super) fn write(
    args: &Args,
    exported: &Exported,
    files: &[(String, Vec<u8>)],
    context: &mut Context,
) -> Result<(), CommandError> {
    let path = args.output.clone().unwrap_or_default();
    let full = context.env.cwd.join(&path);
    let failed = |error: &std::io::Error| {
        let message = format!("cannot write '{}': {}", path.display(), os::reason(error));
        CommandError::new(Kind::Fatal, message)
    };
    let room = os::room(&full).map_err(|error| failed(&error))?;
    let put = match room {
        _ if args.dry_run => Ok(()),
        os::Room::Taken if args.force => os::fill(&full, files),
        // Somebody may have put something there since; then the rename fails and nothing is changed.
        _ => os::put_folder(&full, files),
    };
    put.map_err(|error| failed(&error))?;
    let id = oid(exported.checkpoint.entry.id);
    if context.ui.options().json {
        return context.ui.json(&json!({
            "schema": "git-checkpoint.exported/1",
            "id": id,
            "digest": exported.checkpoint.digest,
            "session": exported.name(),
            "format": args.format.0.name,
            "file": path.display().to_string(),
            "files": files.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "changed": true,
            "dry_run": args.dry_run,
            "text": null,
        }));
    }
    let count = Count::new(files.len(), "file");
    let did = if args.dry_run { "Would write" } else { "Wrote" };
    let mut line = Line::plain(format!("{did} {count} to "));
    line.push(Slot::Path, path.display().to_string());
    line.push(Slot::Plain, ", from ");
    line.push(Slot::Id, id.short());
    line.push(Slot::Plain, " of session ");
    line.push(Slot::Session, exported.name());
    context.ui.receipt(line);
    Ok(())
}

/// Says what of a checkpoint a system's form has no place for.
pub(super) fn left_out(exported: &Exported, system: System, context: &Context) {
    let count = |n: usize, noun: &str| Count::new(n, noun).to_string();
    let chat = system != System::Dagent && !exported.messages.is_empty();
    let files = exported.checkpoint.document.record.attachments.len();
    let mut parts = Vec::new();
    if chat {
        parts.push(format!("the chat of {}", count(exported.messages.len(), "message")));
    }
    if !exported.steps.is_empty() {
        parts.push(count(exported.steps.len(), "step"));
    }
    if system != System::Folder && files > 0 {
        parts.push(count(files, "attachment"));
    }
    if system != System::Folder && !exported.log.is_empty() {
        parts.push(count(exported.log.len(), "log line"));
    }
    if !parts.is_empty() {
        let what = parts.join(", ");
        context.ui.status(Line::plain(format!(
            "note: not in it: {what}; '--format json' holds all"
        )));
    }
}
