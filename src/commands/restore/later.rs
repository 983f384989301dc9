//! Report of commands that came after the one that an undo reverts.

use crate::{
    commands::{
        Context,
        error::{AgainOption, CommandError, FailureKind},
    },
    model::time::Timestamp,
    ops::undo::UndoSubject,
    render::age::age,
};

/// The question for a terminal, where the latest command is not the one that undo comes to.
pub(super) fn question(subject: &UndoSubject, now: Timestamp) -> Option<String> {
    let (what, ago) = (&subject.what, age(subject.at, now));
    match (&subject.later, &subject.idle) {
        (Some(later), _) => {
            let (command, then) = (&later.command, age(later.at, now));
            Some(format!(
                "'{command}' ({then}) cannot be undone; undo '{what}' ({ago}) instead?"
            ))
        }
        (None, Some(idle)) => Some(format!("'{}' changed nothing; undo '{what}' ({ago})?", idle.command)),
        (None, None) => None,
    }
}

/// The error where no one can be asked, and a command came since that cannot be undone. One that changed nothing is no
/// reason to refuse.
pub(super) fn refusal(subject: &UndoSubject, now: Timestamp) -> Option<CommandError> {
    let later = subject.later.as_ref()?;
    if let Some(session) = &subject.blocked_by {
        let message = format!(
            "'{}' ({}) cannot be undone, and what came before it, '{}' ({}), cannot either: session '{session}' has changed \
             since",
            later.command,
            age(later.at, now),
            subject.what,
            age(subject.at, now)
        );
        let error = CommandError::new(FailureKind::Refused, message);
        return Some(error.hint(format!("see what was saved since: git checkpoint log {session}")));
    }
    let message = format!(
        "'{}' ({}) cannot be undone; the last command that can be: {} ({})",
        later.command,
        age(later.at, now),
        subject.what,
        age(subject.at, now)
    );
    let error = CommandError::new(FailureKind::Refused, message);
    Some(error.again("undo that one", "git checkpoint undo --older", AgainOption::Older))
}

/// Reports that the last command changed nothing, before another one is undone.
pub(super) fn report_idle(context: &Context, subject: &UndoSubject) {
    if let (None, Some(idle)) = (&subject.later, &subject.idle) {
        context.ui.warning(&format!(
            "the last command, '{}', changed nothing; undo comes to '{}'",
            idle.command, subject.what
        ));
    }
}

/// Reports the later commands, which stay.
pub(super) fn report(context: &Context, subject: &UndoSubject, now: Timestamp) {
    let what = &subject.what;
    if let Some(later) = &subject.later {
        context.ui.warning(&format!(
            "'{}' came after '{what}' and cannot be undone: it stays",
            later.command
        ));
    }
    if let Some((message, at)) = &subject.moved_head {
        context.ui.warning(&format!(
            "git changed HEAD after '{what}', which undo does not revert: {message} ({})",
            age(*at, now)
        ));
    }
}
