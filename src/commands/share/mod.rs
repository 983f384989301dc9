//! `push`, `fetch`, `pull` and `remote`: sessions shared through a git remote.

pub(super) mod automatic;
pub(super) mod bundle;
pub(super) mod failure;
pub(super) mod fetch;
pub(super) mod pulled;
pub(super) mod push;
pub(super) mod remote;
pub(super) mod remove;

use std::cell::RefCell;

use super::{Context, error::CommandError, error::FailureKind, ui::ProgressLine};
use crate::{
    ops::{
        self,
        share::{Error, Wire},
    },
    os,
};

/// Runs an operation that talks to a remote: shows how far it is and what the other side prints, and lets Ctrl-C end it in
/// order. `command` is the command as it is typed, for hints that repeat it.
pub(super) fn wired<T>(
    context: &Context,
    command: &str,
    run: impl FnOnce(Wire<'_>) -> Result<T, Error>,
) -> Result<T, CommandError> {
    wired_or_named(context, command, &|_, _| None, run)
}

/// The same for a command that means the current session: where none is current, a hint has `named`, the command that names
/// one. It is made from the remote and the session that are proposed.
pub(super) fn wired_or_named<T>(
    context: &Context,
    command: &str,
    named: &dyn Fn(&str, &str) -> Option<String>,
    run: impl FnOnce(Wire<'_>) -> Result<T, Error>,
) -> Result<T, CommandError> {
    let held = os::interrupt::InterruptGuard::new().map_err(|error| {
        CommandError::new(
            FailureKind::Fatal,
            format!("cannot handle signals: {}", os::reason(&error)),
        )
    })?;
    let shown: RefCell<Option<(String, ProgressLine)>> = RefCell::new(None);
    let ui = &context.ui;
    let progress = |title: &str, done: u64, total: u64| {
        let mut shown = shown.borrow_mut();
        if shown.as_ref().is_none_or(|(known, _)| known != title) {
            // The old line goes before the new one comes.
            *shown = None;
            *shown = Some((title.to_owned(), ui.progress(title, Some(total))));
        }
        if let Some((_, progress)) = &*shown {
            progress.set_total(total);
            progress.update(done);
        }
    };
    let said = |words: &str| {
        *shown.borrow_mut() = None;
        ui.status(format!("remote: {words}"));
    };
    let wire = Wire {
        said: &said,
        progress: &progress,
        stopped: &|| held.is_set(),
    };
    run(wire).map_err(|error| {
        let named = match &error {
            Error::Ops(error) => match &**error {
                ops::Error::NoSession {
                    any: true,
                    left,
                    remote,
                    ..
                } => named(
                    remote.as_deref().unwrap_or("<remote>"),
                    left.as_ref().map_or("<session>", |left| left.as_str()),
                ),
                _ => None,
            },
            _ => None,
        };
        let out = CommandError::sharing(error, command);
        match named {
            Some(named) => out.hint(format!("or name it: {named}")),
            None => out,
        }
    })
}
