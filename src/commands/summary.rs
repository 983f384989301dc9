//! The summary of a checkpoint, from the command line, a file, or the user's editor.

use std::path::Path;

use super::{
    Context,
    error::{CommandError, FailureKind},
    input,
    opening::OpenedRepository,
};
use crate::ops::edit;

/// The most that is read of a summary.
const LIMIT: u64 = 1 << 20;

/// Lines below the summary in the editor.
const NOTE: &str = "
# Enter the summary of the checkpoint. Lines that start with '#' are ignored;
# an empty summary cancels the command.
";

/// The summary that the arguments give; `None` where they give none.
pub(super) fn of(
    context: &Context,
    opened: &OpenedRepository,
    messages: &[String],
    file: Option<&Path>,
    edited: bool,
) -> Result<Option<String>, CommandError> {
    let mut summary = (!messages.is_empty()).then(|| messages.join("\n\n"));
    if let Some(path) = file {
        let bytes = if path.as_os_str() == "-" {
            context.ui.read_input("the summary", LIMIT)?
        } else {
            input::read_file(context, path, LIMIT, "the summary")?
        };
        let text =
            String::from_utf8(bytes).map_err(|_| CommandError::new(FailureKind::Usage, "the summary is not UTF-8"))?;
        summary = Some(text.trim_end().to_owned());
    }
    if !edited {
        return Ok(summary);
    }
    let text = format!("{}\n{NOTE}", summary.unwrap_or_default());
    let edited = edit::edit(&opened.scene(), &text)?;
    let kept: Vec<&str> = edited.lines().filter(|line| !line.starts_with('#')).collect();
    let kept = kept.join("\n").trim().to_owned();
    if kept.is_empty() {
        return Err(CommandError::new(
            FailureKind::Negative,
            "the summary is empty; nothing was saved",
        ));
    }
    Ok(Some(kept))
}
