//! Files that options name: read whole, from the disk, a pipe or standard input.

use serde_json::Value;

use super::{
    Context,
    error::{CommandError, FailureKind},
};
use crate::{model::json, os};

/// Reads a file of JSON; `-` is standard input.
pub(super) fn read_json(context: &Context, path: &std::path::Path, what: &str) -> Result<Value, CommandError> {
    let bytes = if path.as_os_str() == "-" {
        context.ui.read_input(what, json::INPUT_LIMIT as u64)?
    } else {
        read_file(context, path, json::INPUT_LIMIT as u64, what)?
    };
    json::parse_input(&bytes).map_err(|source| {
        let what = if path.as_os_str() == "-" {
            context.ui.input_name(what)
        } else {
            format!("{what} '{}'", path.display())
        };
        crate::ops::Error::Json { what, source }.into()
    })
}

/// The names by which a process opens its own input or its terminal.
const OWN_INPUT: [&str; 5] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/dev/tty", "/dev/console"];

/// Refuses a file that is the input of the process where a front end has that for itself.
pub(super) fn refuse_own_input(context: &Context, path: &std::path::Path, what: &str) -> Result<(), CommandError> {
    if !context.env.is_resident || !OWN_INPUT.iter().any(|own| path == std::path::Path::new(own)) {
        return Ok(());
    }
    let message = format!(
        "cannot read {what} '{}': it is not the input of a request",
        path.display()
    );
    Err(CommandError::new(FailureKind::Usage, message).hint("give it as 'input' of the request, and '-' as the file"))
}

/// Reads a file, or a pipe such as that of `<(...)`, of at most `limit` bytes.
pub(super) fn read_file(
    context: &Context,
    path: &std::path::Path,
    limit: u64,
    what: &str,
) -> Result<Vec<u8>, CommandError> {
    refuse_own_input(context, path, what)?;
    let full = context.env.cwd.join(path);
    let failure =
        |kind, reason: String| CommandError::new(kind, format!("cannot read {what} '{}': {reason}", path.display()));
    let fail = |reason: String| failure(FailureKind::Invalid, reason);
    let file = std::fs::File::open(&full).map_err(|e| {
        let kind = match e.kind() {
            std::io::ErrorKind::NotFound => FailureKind::NotFound,
            std::io::ErrorKind::PermissionDenied => FailureKind::Denied,
            _ => FailureKind::Invalid,
        };
        failure(kind, os::reason(&e))
    })?;
    let metadata = file.metadata().map_err(|e| fail(os::reason(&e)))?;
    if metadata.is_dir() {
        return Err(fail("it is a directory".to_owned()));
    }
    let mut bytes = Vec::new();
    // One byte more than allowed shows a file that is too long, also one without a length.
    let read = std::io::Read::read_to_end(&mut std::io::Read::take(file, limit.saturating_add(1)), &mut bytes);
    read.map_err(|e| fail(os::reason(&e)))?;
    if bytes.len() as u64 > limit {
        let has = if metadata.is_file() {
            metadata.len().to_string()
        } else {
            format!("over {limit}")
        };
        return Err(fail(format!("it has {has} bytes, more than the {limit} allowed")));
    }
    Ok(bytes)
}
