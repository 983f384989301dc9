//! A path that was typed where a checkpoint is expected.

use super::super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{OpenedRepository, directory},
};
use crate::{model::step::quoted, ops::restore};

/// The error for a checkpoint that does not exist, where a path of the latest one has that name: then it was meant.
pub(in crate::commands) fn path_meant(
    context: &Context,
    opened: &OpenedRepository,
    (command, selector): (&str, Option<&str>),
    error: CommandError,
) -> CommandError {
    let Some(text) = selector.filter(|text| error.kind() == FailureKind::NotFound && !text.starts_with(':')) else {
        return error;
    };
    let is_path = || -> Result<(), CommandError> {
        let request = restore::RestoreRequest {
            selector: failure::selector("@")?,
            pathspecs: vec![text.as_bytes().to_vec()],
            directory: directory(context, opened)?,
            dry_run: true,
            index: false,
            files: true,
            record: false,
            overlay: false,
            force: true,
            reverts: true,
            expected: None,
            parts: None,
        };
        restore::restore(&opened.scene(), &request, &|_, _| {})?;
        Ok(())
    };
    let is_file = || context.env.cwd.join(text).symlink_metadata().is_ok();
    if is_path().is_err() && !(matches!(command, "diff" | "log") && is_file()) {
        return error;
    }
    let error = CommandError::new(
        FailureKind::NotFound,
        format!("no session or checkpoint '{}'", text.escape_debug()),
    );
    error.hint(format!("did you mean: git checkpoint {command} -- {}", quoted(text)))
}
