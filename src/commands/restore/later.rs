//! Report of commands that came after the one that an undo reverts.

use crate::{
    commands::{
        Context,
        error::{AgainOption, CommandError, FailureKind},
        verbs,
    },
    model::time::Timestamp,
    ops::undo::UndoSubject,
    render::age::age,
};

/// The question for a terminal, where the latest command is not the one that undo comes to.
pub(super) fn question(subject: &UndoSubject, now: Timestamp) -> Option<String> {
    let later = subject.later.as_ref()?;
    let (command, what, ago) = (&later.command, &subject.what, age(subject.at, now));
    Some(if later.changed {
        format!("'{command}' cannot be undone; undo '{what}' ({ago}) instead?")
    } else {
        format!("'{command}' changed nothing; undo '{what}' ({ago})?")
    })
}

/// The error where nobody can be asked. A later note in the record is no reason to refuse: no one means it by 'undo'.
pub(super) fn refusal(subject: &UndoSubject, now: Timestamp) -> Option<CommandError> {
    let later = subject.later.as_ref()?;
    let (command, what, ago) = (&later.command, &subject.what, age(subject.at, now));
    if later.changed && verbs::is_noun(command) {
        return None;
    }
    let message = if later.changed {
        format!("'{command}' cannot be undone; the latest command that can: {what} ({ago})")
    } else {
        format!("'{command}' changed nothing; the latest command to undo: {what} ({ago})")
    };
    let error = CommandError::new(FailureKind::Refused, message);
    Some(error.again("undo that one", "git checkpoint undo --older", AgainOption::Older))
}

/// Reports the later commands, which stay.
pub(super) fn report(context: &Context, subject: &UndoSubject, now: Timestamp) {
    let what = &subject.what;
    match &subject.later {
        Some(later) if later.changed => context.ui.warning(&format!(
            "'{}' came after '{what}' and cannot be undone: it stays",
            later.command
        )),
        Some(later) => context.ui.warning(&format!(
            "the last command, '{}', changed nothing; undo comes to '{what}'",
            later.command
        )),
        None => {}
    }
    if let Some((message, at)) = &subject.moved_head {
        context.ui.warning(&format!(
            "git changed HEAD after '{what}', which undo does not revert: {message} ({})",
            age(*at, now)
        ));
    }
}
