//! The formats that are several files: where they may go.

use std::path::Path;

use super::{
    super::{
        Context,
        error::{AgainOption, CommandError, FailureKind},
    },
    Args, omissions, receipt,
};
use crate::{
    formats::{ExportFiles, OmittedContent, System},
    ops::export::ExportedCheckpoint,
    os,
};

/// Refuses a place for a directory before anything is read.
pub(super) fn room(args: &Args, context: &Context) -> Result<(), CommandError> {
    let name = args.format().name;
    let Some(path) = args.output.as_deref().filter(|path| path.as_os_str() != "-") else {
        let message = format!("'--format {name}' writes several files");
        return Err(CommandError::new(FailureKind::Usage, message).hint(format!(
            "specify a directory: {}",
            context.with_option("-o <directory>")
        )));
    };
    let found = os::room(&context.env.cwd.join(path)).map_err(|error| {
        let message = format!("cannot read '{}': {}", path.display(), os::reason(&error));
        CommandError::new(FailureKind::Fatal, message)
    })?;
    match found {
        os::Room::Taken if !args.force => {
            let message = format!("directory '{}' is not empty", path.display());
            Err(CommandError::new(FailureKind::Refused, message)
                .hint("files of the same names would be overwritten, the others stay")
                .again("write into it", context.with_option("--force"), AgainOption::Force))
        }
        os::Room::Other => {
            let message = format!("'{}' is not a directory", path.display());
            Err(CommandError::new(FailureKind::Refused, message).hint("specify another directory with -o"))
        }
        os::Room::Free | os::Room::Taken => Ok(()),
    }
}

/// Writes the files of a format, and reports what was written.
pub(super) fn write(
    args: &Args,
    exported: &ExportedCheckpoint,
    system: System,
    (written, left_out): (&ExportFiles, &[OmittedContent]),
    context: &mut Context,
) -> Result<(), CommandError> {
    let path = args.output.clone().unwrap_or_default();
    super::refuse_symlinks(context, &path)?;
    let full = context.env.cwd.join(&path);
    let files = &written.0;
    let failed = |error: &std::io::Error| {
        let message = format!("cannot write '{}': {}", path.display(), os::reason(error));
        CommandError::new(FailureKind::Fatal, message)
    };
    let put = match os::room(&full).map_err(|error| failed(&error))? {
        os::Room::Taken if args.force => {
            let beside = os::shallow(&full).map_err(|error| failed(&error))?;
            let joined: Vec<&String> = beside
                .iter()
                .filter(|name| system.writer().is_some_and(|writer| writer.joins(written, name)))
                .collect();
            if let [first, more @ ..] = joined.as_slice() {
                return Err(mixed(&path, first, more.len()));
            }
            if args.dry_run { Ok(()) } else { os::fill(&full, files) }
        }
        _ if args.dry_run => Ok(()),
        // Another process may have put something there since; then the rename fails and nothing is changed.
        _ => os::publish_directory(&full, files),
    };
    put.map_err(|error| failed(&error))?;
    omissions::report_omissions(left_out, args.format().name, context);
    let mut receipt = receipt(args, exported, left_out);
    receipt.file = Some(path.display().to_string());
    receipt.files = Some(files.iter().map(|(name, _)| name.as_str()).collect());
    context.ui.report(&receipt)
}

/// Files that are there and would be read together with the new ones: two sessions in one, or checkpoints that the
/// session has no more. They are not ours to remove.
fn mixed(path: &Path, first: &str, more: usize) -> CommandError {
    let others = match more {
        0 => String::new(),
        _ => format!(" and {more} more"),
    };
    let message = format!(
        "'{first}'{others} in '{}' would become part of this session",
        path.display()
    );
    CommandError::new(FailureKind::Refused, message).hint("specify another directory, or remove the earlier export")
}
