//! The summary of a checkpoint, from the command line, a file, or the user's editor.

use std::path::PathBuf;

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

/// The arguments that give a summary.
#[derive(Debug, clap::Args)]
pub(super) struct SummaryArgs {
    /// The summary; repeatable, each becomes a paragraph
    #[arg(
        allow_hyphen_values = true,
        short = 'm',
        long = "message",
        short_alias = 's',
        visible_alias = "summary",
        value_name = "TEXT"
    )]
    pub(super) messages: Vec<String>,
    /// Read the summary from a file; '-' is standard input
    #[arg(short = 'F', long = "file", value_name = "FILE", conflicts_with = "messages")]
    pub(super) file: Option<PathBuf>,
    /// Edit the summary in your editor
    #[arg(short, long)]
    pub(super) edit: bool,
}

impl SummaryArgs {
    /// The summary; `None` where they give none.
    pub(super) fn summary(&self, context: &Context, opened: &OpenedRepository) -> Result<Option<String>, CommandError> {
        let mut summary = (!self.messages.is_empty()).then(|| self.messages.join("\n\n"));
        if let Some(path) = &self.file {
            let bytes = if path.as_os_str() == "-" {
                context.ui.read_input("the summary", LIMIT)?
            } else {
                input::read_file(context, path, LIMIT, "the summary")?
            };
            let text = String::from_utf8(bytes)
                .map_err(|_| CommandError::new(FailureKind::Usage, "the summary is not UTF-8"))?;
            summary = Some(text.trim_end().to_owned());
        }
        if !self.edit {
            return Ok(summary);
        }
        context.require_person("--edit", "opens an editor", "give the summary with -m instead")?;
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
}
