//! Commands that ran and that no `undo` reverts: noted, so that `undo` says so instead of undoing an older one silently.

use std::ffi::OsString;

use super::{Command, visited::VisitedRepository};
use crate::model::time::Timestamp;

/// How a command is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoteRule {
    /// It shows something; what it completes for an earlier command is none of its own changes.
    Shows,
    /// It is noted where it changed something.
    Changes,
    /// The same, and a person may want to undo it although it changed nothing.
    Expected,
    /// The undo list has all that it changes; else it completed an earlier command, such as one that was killed.
    Listed,
    /// It writes the undo list again, which does not have it.
    Rewrites,
    /// It moves along the undo list.
    Undoes,
    /// It only learns of remotes, but for what is on the undo list, or belongs to a program that runs commands or saves.
    PassedOver,
}

impl NoteRule {
    /// The rule of a command. Without a wildcard: a new command has to choose.
    pub(super) fn of(command: &Command) -> Self {
        use Command as C;
        match command {
            C::List(_)
            | C::Log(_)
            | C::Show(_)
            | C::Diff(_)
            | C::Status(_)
            | C::Turns(_)
            | C::Compare(_)
            | C::Search(_)
            | C::Blame(_)
            | C::Why(_)
            | C::Stats(_)
            | C::Tokens(_)
            | C::Context(_)
            | C::Verify(_)
            | C::Agents(_)
            | C::Help(_) => Self::Shows,
            C::Save(_)
            | C::Pause(_)
            | C::Resume(_)
            | C::Finish(_)
            | C::Switch(_)
            | C::Rename(_)
            | C::Rewind(_)
            | C::Merge(_)
            | C::Delete(_)
            | C::Clear(_)
            | C::Prune(_) => Self::Expected,
            C::Restore(_) | C::Apply(_) => Self::Listed,
            C::Start(_)
            | C::Claim(_)
            | C::Release(_)
            | C::Fork(_)
            | C::Bisect(_)
            | C::Step(_)
            | C::Replay(_)
            | C::Export(_)
            | C::Undelete(_)
            | C::Pin(_)
            | C::Unpin(_)
            | C::Message(_)
            | C::Agent(_)
            | C::Request(_)
            | C::Compact(_)
            | C::Import(_)
            | C::Task(_)
            | C::Todo(_)
            | C::Decision(_)
            | C::Blocker(_)
            | C::Question(_)
            | C::Approval(_)
            | C::Phase(_)
            | C::Delegation(_)
            | C::Partition(_)
            | C::Instruction(_)
            | C::Memory(_)
            | C::OpenFile(_)
            | C::Note(_)
            | C::State(_)
            | C::Check(_)
            | C::Iteration(_)
            | C::ForkPoint(_)
            | C::Enable(_)
            | C::Disable(_)
            | C::Hooks(_)
            | C::Repair(_)
            | C::Push(_)
            | C::Remote(_)
            | C::Bundle(_)
            | C::Unbundle(_)
            | C::Setup(_) => Self::Changes,
            C::Purge(_) | C::Rekey(_) => Self::Rewrites,
            C::Undo(_) | C::Redo(_) => Self::Undoes,
            // The undo of a merge takes back how its conflicts were resolved.
            C::Conflict(_)
            | C::Fetch(_)
            | C::Pull(_)
            | C::Hook(_)
            | C::Watch(_)
            | C::Mcp(_)
            | C::Batch(_)
            | C::Ui(_)
            | C::Serve(_) => Self::PassedOver,
        }
    }
}

/// Options with which a command only shows something.
const SHOWING: [&str; 3] = ["--list", "--help", "--version"];

/// A command as it is noted.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunWord {
    /// Its word.
    pub(super) word: &'static str,
    rule: NoteRule,
}

impl RunWord {
    pub(super) fn of(command: &Command) -> Self {
        Self {
            word: command.word(),
            rule: NoteRule::of(command),
        }
    }
}

/// Notes a command, where the undo list does not have it: one that changed something, also when it failed after that, and
/// one that did nothing where a person expects that it did.
pub(super) fn note(
    visited: &VisitedRepository,
    command: RunWord,
    args: &[OsString],
    at: Timestamp,
    (is_done, changed): (bool, bool),
) {
    let changed = changed && command.rule != NoteRule::Listed;
    let is_noted = match command.rule {
        NoteRule::Shows | NoteRule::Undoes | NoteRule::PassedOver => false,
        NoteRule::Changes | NoteRule::Rewrites => changed,
        NoteRule::Expected | NoteRule::Listed => changed || (is_done && !only_shows(args)),
    };
    if is_noted {
        let is_rewriting = command.rule == NoteRule::Rewrites;
        visited.list.note(command.word, at, changed, is_rewriting);
    }
}

/// Whether the arguments ask for a dry run or a list.
fn only_shows(args: &[OsString]) -> bool {
    let mut options = args
        .iter()
        .take_while(|arg| *arg != "--")
        .filter_map(|arg| arg.to_str());
    options.any(|arg| {
        let is_dry_run = arg.len() > "--d".len() && "--dry-run".starts_with(arg);
        let letters = arg.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let is_short =
            letters.is_some_and(|letters| letters.contains('n') && letters.chars().all(|c| "nqv".contains(c)));
        is_dry_run || is_short || SHOWING.contains(&arg)
    })
}

#[cfg(test)]
mod tests {
    use super::only_shows;

    #[test]
    fn a_dry_run_is_known_by_every_way_to_write_it() {
        let shows = |args: &[&str]| only_shows(&args.iter().map(Into::into).collect::<Vec<_>>());
        for args in [
            &["x", "save", "-n"][..],
            &["x", "save", "--dry-run"],
            &["x", "save", "--dry"],
            &["x", "prune", "-qn"],
            &["x", "resume", "--list"],
        ] {
            assert!(shows(args), "{args:?}");
        }
        for args in [
            &["x", "save"][..],
            &["x", "save", "-m", "no"],
            &["x", "save", "-mno"],
            &["x", "restore", "@", "--", "-n"],
            &["x", "save", "--next", "do it"],
        ] {
            assert!(!shows(args), "{args:?}");
        }
    }
}
