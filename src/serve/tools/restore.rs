//! `checkpoint_restore`, in two phases, and `checkpoint_undo`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Arguments, Tool, ToolCall, ToolResult, arguments, input, published, wrong};
use crate::serve::{CommandFailure, CommandLine};

pub(super) const RESTORE: Tool = Tool {
    name: "checkpoint_restore",
    title: "Restore files",
    description: "Restore files from a checkpoint, in two calls. Without confirm it changes nothing and returns the plan and \
                  plan_token. Call it again with the same arguments and confirm set to that token: exactly this plan is \
                  carried out, or nothing if the files changed meanwhile. Current files are saved first, and \
                  checkpoint_undo takes the restore back.",
    read_only: false,
    destructive: true,
    idempotent: false,
    input: input::<RestoreArguments>,
    output: || published("restore"),
    call: restore,
};

/// Arguments of `checkpoint_restore`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct RestoreArguments {
    /// The checkpoint; the latest of the current session by default.
    checkpoint: Option<String>,
    /// Only files that these paths choose, or patterns of git, from the root of the repository; all by default.
    paths: Vec<String>,
    /// Whether to restore the index as well.
    index: Option<bool>,
    /// Whether files that the checkpoint does not have stay.
    keep_later_files: Option<bool>,
    /// Whether the record of the session stays as it is.
    files_only: Option<bool>,
    /// Whether to override the refusals that the plan shows. Ask the user first.
    force: Option<bool>,
    /// The plan_token of the plan to carry out.
    confirm: Option<String>,
}

fn restore(call: &ToolCall<'_>, given: Arguments) -> Result<ToolResult, CommandFailure> {
    let given: RestoreArguments = arguments(given)?;
    let is_token = |text: &String| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if given.confirm.as_ref().is_some_and(|token| !is_token(token)) {
        return Err(wrong("'confirm' is no plan_token; call without it to get one"));
    }
    let line = CommandLine::new("restore")
        .selector(given.checkpoint.as_ref())
        .map_err(|message| wrong(&message))?
        .flag("dry-run", given.confirm.is_none())
        .option("plan", given.confirm.as_ref())
        .for_argument("confirm")
        .flag("index", given.index == Some(true))
        .flag("overlay", given.keep_later_files == Some(true))
        .for_argument("keep_later_files")
        .flag("files-only", given.files_only == Some(true))
        .flag("force", given.force == Some(true))
        .below_root(&given.paths)?;
    call.result(line)
}

pub(super) const UNDO: Tool = Tool {
    name: "checkpoint_undo",
    title: "Undo a restore",
    description: "Undo the latest restore, apply, clean, fork, rename, finish or delete in this working tree, or with redo \
                  the latest undo. What was changed since is not overwritten: then nothing is done and the reason is \
                  given. With dry_run it returns the plan alone.",
    read_only: false,
    destructive: true,
    idempotent: false,
    input: input::<UndoArguments>,
    output: || published("restore"),
    call: undo,
};

/// Arguments of `checkpoint_undo`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct UndoArguments {
    /// Whether to redo what was undone.
    redo: Option<bool>,
    /// Whether to show the plan and change nothing.
    dry_run: Option<bool>,
    /// Whether to undo the latest command that can be undone, although another one came since that cannot.
    older: Option<bool>,
    /// Whether to override the refusals that the plan shows; changed files are saved first. Ask the user first.
    force: Option<bool>,
}

fn undo(call: &ToolCall<'_>, given: Arguments) -> Result<ToolResult, CommandFailure> {
    let given: UndoArguments = arguments(given)?;
    let redo = given.redo == Some(true);
    if redo && given.older == Some(true) {
        return Err(wrong("'redo' and 'older' exclude each other"));
    }
    let line = CommandLine::new(if redo { "redo" } else { "undo" })
        .flag("dry-run", given.dry_run == Some(true))
        .flag("older", given.older == Some(true))
        .flag("force", given.force == Some(true));
    call.result(line)
}
