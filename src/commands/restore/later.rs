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

/// The error where no one can be asked, and the latest command cannot be undone. One that changed nothing is no reason to
/// refuse, and neither is a later note in the record: no one means it by 'undo'.
pub(super) fn refusal(subject: &UndoSubject, now: Timestamp) -> Option<CommandError> {
    let later = subject.later.as_ref().filter(|later| later.changed)?;
    if verbs::is_noun(&later.command) {
        return None;
    }
    let message = format!(
        "'{}' cannot be undone; the latest command that can: {} ({})",
        later.command,
        subject.what,
        age(subject.at, now)
    );
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
