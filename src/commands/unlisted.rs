//! Commands that ran and that no `undo` reverts: noted, so that `undo` reports them and does not undo an older one silently.

use std::ffi::OsString;

use super::{Command, visited::VisitedRepository};
use crate::{model::time::Timestamp, store::undo::CommandNote};

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
    /// It is noted where it changed something, but the undo of a merge reverts it with the merge.
    Resolves,
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
            | C::Verify(_)
            | C::Agents(_)
            | C::Help(_) => Self::Shows,
            C::Context(args) if args.only_shows() => Self::Shows,
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
            | C::Context(_)
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
            C::Conflict(_) => Self::Resolves,
            C::Fetch(_) | C::Pull(_) | C::Hook(_) | C::Watch(_) | C::Mcp(_) | C::Batch(_) | C::Ui(_) | C::Serve(_) => {
                Self::PassedOver
            }
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
        NoteRule::Changes | NoteRule::Resolves | NoteRule::Rewrites => changed,
        NoteRule::Expected | NoteRule::Listed => changed || (is_done && !only_shows(args) && !completes(args)),
    };
    if is_noted {
        visited.list.note(&CommandNote {
            command: command.word,
            at,
            changed,
            resolves: command.rule == NoteRule::Resolves,
            rewrites: command.rule == NoteRule::Rewrites,
        });
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

/// Whether the arguments complete an earlier command, which the undo list has.
fn completes(args: &[OsString]) -> bool {
    let mut options = args.iter().take_while(|arg| *arg != "--");
    options.any(|arg| arg == "--continue")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::commands::Cli;

    /// The verbs of all nouns with the rule of each; a verb is tried with up to three words.
    fn verbs() -> Vec<(String, NoteRule)> {
        let program = Cli::<Command>::command();
        let mut found = Vec::new();
        for noun in program.get_subcommands() {
            for verb in noun.get_subcommands().filter(|verb| verb.get_name() != "help") {
                let line = ["git-checkpoint", noun.get_name(), verb.get_name()];
                let parsed = (0..=3).find_map(|count| {
                    let words = line.into_iter().chain(std::iter::repeat_n("1", count));
                    Cli::<Command>::try_parse_from(words).ok()?.command
                });
                if let Some(command) = parsed {
                    found.push((
                        format!("{} {}", noun.get_name(), verb.get_name()),
                        NoteRule::of(&command),
                    ));
                }
            }
        }
        found
    }

    /// A verb that changes something must not hide behind others of its noun that show something.
    #[test]
    fn only_verbs_that_show_something_are_never_noted() {
        let verbs = verbs();
        let silent: BTreeSet<&str> = verbs
            .iter()
            .filter(|(_, rule)| matches!(rule, NoteRule::Shows | NoteRule::PassedOver | NoteRule::Undoes))
            .map(|(verb, _)| verb.as_str())
            .collect();
        assert_eq!(silent, BTreeSet::from(["agents doctor", "context show"]));
        for (changing, rule) in [("context set", NoteRule::Changes), ("todo done", NoteRule::Changes)] {
            let found = verbs.iter().find(|(verb, _)| verb == changing);
            assert_eq!(found.map(|(_, rule)| *rule), Some(rule), "{changing}");
        }
    }

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
