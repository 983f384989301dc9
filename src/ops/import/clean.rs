//! The names and facts of a foreign session without secrets. The record, the chat, steps and attachments are cleaned
//! where they are written; everything else that a source fills goes through here first.

use super::super::redact::Redactor;
use crate::formats::{ForeignLogLine, ForeignSession};

/// Cleans what names a session and its checkpoints, and notes the digest that each checkpoint had before.
pub(super) fn names(session: &mut ForeignSession, redactor: &mut Redactor) {
    for point in &mut session.checkpoints {
        point.source = Some(point.hash());
    }
    redactor.text(&mut session.id, "session/id");
    redactor.text(&mut session.name, "session/name");
    for path in &mut session.sources {
        redactor.text(path, "session/sources");
    }
    for ForeignLogLine {
        level, message, agent, ..
    } in &mut session.log
    {
        redactor.text(level, "log/level");
        redactor.text(message, "log");
        if let Some(agent) = agent {
            redactor.text(agent, "log/agent");
        }
    }
    for point in &mut session.checkpoints {
        redactor.text(&mut point.id, "checkpoint/id");
        let git = &mut point.git;
        let named = [
            (&mut point.name, "checkpoint/name"),
            (&mut point.trigger, "checkpoint/trigger"),
            (&mut git.branch, "git/branch"),
            (&mut git.commit, "git/head"),
            (&mut git.reference, "git/reference"),
        ];
        for (text, place) in named {
            if let Some(text) = text {
                redactor.text(text, place);
            }
        }
        for path in git.staged.iter_mut().chain(&mut git.modified).chain(&mut git.untracked) {
            redactor.text(path, "git/paths");
        }
        if let Some(compaction) = &mut point.compaction {
            redactor.json(compaction, "compaction");
        }
    }
}
