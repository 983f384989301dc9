//! Words and options that people type out of habit, and the commands of ours that do what they mean. None of the answers
//! takes anything away that was not asked for.

use std::ffi::OsString;

use super::{groups, shorthand};
use crate::model::step::quoted;

/// Commands of git and of other tools, by the command of ours that does what they do.
const COMMANDS: [(&str, &[&str]); 41] = [
    ("apply --abort", &["abort", "cancel"]),
    ("apply", &["cherry-pick"]),
    ("delete", &["del", "drop", "erase", "remove", "rm"]),
    ("diff", &["changes", "patch"]),
    ("export --format handoff", &["handoff", "handover"]),
    ("export --format html", &["page", "report"]),
    ("export", &["dump", "print"]),
    ("fetch", &["download", "receive"]),
    ("finish", &["archive", "close", "complete", "done", "end", "finalize"]),
    ("fork", &["duplicate", "copy", "try", "worktree"]),
    ("help", &["commands", "man", "manual", "usage"]),
    ("help settings", &["config", "configure", "settings", "preferences"]),
    ("list --trash", &["bin", "deleted", "trash"]),
    (
        "list",
        &[
            "branch",
            "branches",
            "checkpoints",
            "dir",
            "session",
            "sessions",
            "stashes",
        ],
    ),
    ("log --graph", &["graph", "tree"]),
    ("log", &["history", "logs", "reflog", "timeline"]),
    (
        "pause",
        &["exit", "freeze", "leave", "quit", "stop", "suspend", "unload"],
    ),
    ("pause --clean", &["clean", "park", "shelve", "stash"]),
    ("prune --dry-run", &["expire", "gc", "shrink"]),
    ("pull", &["sync", "update"]),
    ("push", &["publish", "send", "share", "upload"]),
    ("rename", &["mv", "name"]),
    (
        "restore",
        &["checkout", "discard", "goto", "reset", "revert", "rollback"],
    ),
    ("resume --apply", &["pop", "unshelve", "unstash"]),
    (
        "resume",
        &[
            "continue", "load", "open", "recover", "reopen", "restart", "return", "unpause",
        ],
    ),
    (
        "save",
        &["add", "backup", "checkpoint", "commit", "snapshot", "store", "wip"],
    ),
    ("save --amend", &["amend", "edit", "modify", "reword"]),
    ("save --name", &["bookmark", "label", "tag"]),
    ("search", &["find", "grep", "lookup"]),
    ("serve", &["browser", "web"]),
    ("setup", &["install", "man-pages"]),
    ("show", &["cat", "info", "inspect", "view"]),
    ("start", &["begin", "create", "init", "new"]),
    ("status", &["current", "now", "st", "stat", "where", "whoami"]),
    ("switch", &["cd", "jump", "use"]),
    ("turns", &["prompts"]),
    ("ui", &["gui", "tui"]),
    ("undo", &["back", "oops", "unapply", "unrestore"]),
    ("verify", &["doctor", "fsck", "integrity"]),
    ("watch", &["autosave", "daemon"]),
    ("--version", &["version"]),
];

/// Two words of other tools, and the command of ours that takes what follows them.
const PHRASES: [(&str, &str, &str); 15] = [
    ("note", "add", "note"),
    ("note", "new", "note"),
    ("approval", "approve", "approval answer"),
    ("approval", "deny", "approval answer"),
    ("approval", "reject", "approval answer"),
    ("stash", "apply", "resume --apply"),
    ("stash", "branch", "fork @ --name"),
    ("stash", "list", "list"),
    ("stash", "pop", "resume --apply"),
    ("stash", "push", "pause --clean"),
    ("stash", "save", "pause --clean"),
    ("stash", "show", "show"),
    ("task", "assign", "claim --task"),
    ("task", "claim", "claim --task"),
    ("task", "release", "release --task"),
];

/// The line to type for two words that are no command, with what follows them, without `git checkpoint`.
pub(super) fn phrase(args: &[OsString]) -> Option<(String, String)> {
    let at = shorthand::command_at(args)?;
    let (first, second) = (args[at].to_str()?, args.get(at + 1)?.to_str()?);
    let (.., line) = PHRASES.iter().find(|(one, two, _)| (*one, *two) == (first, second))?;
    let rest: Vec<String> = args[at + 2..]
        .iter()
        .map(|arg| quoted(&arg.to_string_lossy()))
        .collect();
    if first == "approval" {
        // The answer comes after what it is about.
        let (items, options) = rest.split_at(rest.iter().position(|arg| arg.starts_with('-')).unwrap_or(rest.len()));
        let words = items
            .iter()
            .cloned()
            .chain([second.to_owned()])
            .chain(options.iter().cloned());
        let line = format!("{line} {}", words.collect::<Vec<_>>().join(" "));
        return (!items.is_empty()).then(|| (format!("{first} {second}"), line));
    }
    // What a note is added to is its text; without one the command reports that.
    if rest.is_empty() && first == "note" {
        return None;
    }
    // Numbers of stashes mean nothing here.
    let rest = if first == "stash" {
        rest.into_iter().filter(|arg| !arg.contains("stash@")).collect()
    } else {
        rest
    };
    let line = std::iter::once((*line).to_owned())
        .chain(rest)
        .collect::<Vec<_>>()
        .join(" ");
    Some((format!("{first} {second}"), line))
}

/// The line to type for a word that is no command, without `git checkpoint`.
pub(super) fn command(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let found = COMMANDS.iter().find(|(_, words)| words.contains(&word.as_str()));
    found.map(|(command, _)| *command)
}

/// Options that mean something elsewhere: those commands of ours that people give them to, all if there are none, and
/// the hint. `{}` in it is the command.
const OPTIONS: [(&[&str], &[&str], &str); 22] = [
    (
        &["save", "pause"],
        &["-A", "-u", "--all", "--include-untracked", "--untracked"],
        "untracked files are always saved: git checkpoint {}",
    ),
    (
        &["save"],
        &["-k", "--keep-index", "--staged", "-S"],
        "saving leaves the index as it is: git checkpoint {}",
    ),
    (
        &["save", "pause"],
        &["--tag", "--label", "--bookmark"],
        "did you mean: git checkpoint {} --name <name>",
    ),
    (
        &["restore"],
        &["--hard", "--soft", "--mixed"],
        "files are restored, and no branch moves: git checkpoint restore <checkpoint>",
    ),
    (
        &["merge", "apply", "restore"],
        &["--cancel", "--quit", "--stop"],
        "did you mean: git checkpoint {} --abort",
    ),
    (
        &["resume"],
        &["--index", "--pop"],
        "staged changes come back staged: git checkpoint resume --apply",
    ),
    (&["apply"], &["--pop"], "did you mean: git checkpoint resume --apply"),
    (
        &["restore"],
        &["-S", "--staged"],
        "did you mean: git checkpoint restore --index",
    ),
    (
        &["restore", "apply"],
        &["-s", "--source", "--from"],
        "name the checkpoint alone: git checkpoint {} <checkpoint>",
    ),
    (
        &["restore", "apply"],
        &["--path", "--paths"],
        "name paths behind '--': git checkpoint {} <checkpoint> -- <path>",
    ),
    (
        &["switch"],
        &["-b", "-c", "--create", "--new"],
        "did you mean: git checkpoint start <session>",
    ),
    (
        &["start"],
        &["-b", "-c", "--name"],
        "did you mean: git checkpoint start <session>",
    ),
    (
        &["fork"],
        &["-b", "-c", "--create"],
        "did you mean: git checkpoint fork @ --name <session>",
    ),
    (
        &["push"],
        &["-f", "--force-with-lease"],
        "bring both sides together first: git checkpoint merge <remote>/<session>",
    ),
    (
        &["push"],
        &["-d", "--delete"],
        "did you mean: git checkpoint delete <session> --remote <remote>",
    ),
    (&["fetch"], &["--all"], "all sessions are fetched: git checkpoint fetch"),
    (
        &["log"],
        &["--grep", "-S", "-G"],
        "did you mean: git checkpoint search <text>",
    ),
    (
        &["log"],
        &["--files", "--name-only", "--name-status"],
        "for the changes in the files: git checkpoint log --stat",
    ),
    (
        &["status"],
        &["-s", "--short", "--porcelain"],
        "for a script: git checkpoint status --json",
    ),
    (
        &["undo"],
        &["-l", "--list"],
        "see what undo comes to: git checkpoint undo --dry-run",
    ),
    (&[], &["-l", "--list"], "list sessions: git checkpoint list"),
    (&[], &["--undo"], "did you mean: git checkpoint undo"),
];

/// Options that say nothing about what is meant, or that override checks.
const VAGUE: [&str; 4] = ["all", "force", "yes", "name"];

/// The most commands with an option for it to propose each of them.
const FEW: usize = 3;

/// The hint for an option that a command does not have: what it means elsewhere, or the everyday command that has it.
pub(super) fn option(program: &clap::Command, command: &str, given: &str) -> Option<String> {
    let given = given.split('=').next().unwrap_or(given);
    let known = OPTIONS.iter().find(|(commands, options, _)| {
        (commands.is_empty() || commands.contains(&command)) && options.contains(&given)
    });
    if let Some((_, _, hint)) = known {
        return Some(hint.replace("{}", command));
    }
    let long = given.strip_prefix("--").filter(|long| long.len() > 2)?;
    let has = |name: &str| {
        let others = groups::everyday(program).filter(|other| other.get_name() != command);
        let has = |other: &&clap::Command| other.get_arguments().any(|arg| arg.get_long() == Some(name));
        others.filter(has).map(clap::Command::get_name).collect::<Vec<_>>()
    };
    let options = || groups::everyday(program).flat_map(clap::Command::get_arguments);
    let longs = options().filter(|arg| !arg.is_global_set() && !arg.is_hide_set());
    let longs: Vec<&str> = longs.filter_map(clap::Arg::get_long).collect();
    let near = longs.iter().find(|option| **option == long).copied();
    let near = near.or_else(|| crate::model::spelling::similar(long, longs.iter().copied()));
    let near = near.filter(|near| !VAGUE.contains(near))?;
    match has(near).as_slice() {
        [other, rest @ ..] if rest.len() < FEW => Some(format!("did you mean: git checkpoint {other} --{near}")),
        _ => None,
    }
}

/// The hint for an option of git itself, which comes before the name of the command.
pub(super) fn of_git(given: &str) -> Option<String> {
    let name = given.split('=').next().unwrap_or(given);
    let value = match name {
        "-C" => " <directory>",
        "-c" => " <name>=<value>",
        "--git-dir" | "--work-tree" => "=<directory>",
        "--bare" | "--no-optional-locks" | "--no-replace-objects" | "-P" => "",
        _ => return None,
    };
    Some(format!("an option of git comes first: git {name}{value} checkpoint"))
}

/// The long options of a command that begin with the letter of a short one that it does not have. Options that override
/// checks are not proposed.
pub(super) fn with_initial(command: &clap::Command, given: &str) -> Option<String> {
    let letter = given
        .strip_prefix('-')
        .filter(|letter| letter.len() == 1 && *letter != "-")?;
    let options = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !arg.is_global_set());
    let longs = options.filter_map(clap::Arg::get_long);
    let longs: Vec<String> = longs
        .filter(|long| long.starts_with(letter) && !["force", "yes"].contains(long))
        .map(|long| format!("--{long}"))
        .collect();
    match longs.len() {
        1 | 2 => Some(format!("options with that letter: {}", longs.join(", "))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::commands::{Cli, Command as Every};

    fn program() -> clap::Command {
        let mut program = Cli::<Every>::command();
        program.build();
        program
    }

    #[test]
    fn every_answer_is_a_command_with_that_option() {
        let program = program();
        for (line, _) in COMMANDS.iter().filter(|(line, _)| !line.starts_with("--")) {
            let mut words = line.split(' ');
            let command = words.next().and_then(|name| program.find_subcommand(name)).expect(line);
            for option in words.filter_map(|word| word.strip_prefix("--")) {
                assert!(
                    command.get_arguments().any(|arg| arg.get_long() == Some(option)),
                    "{line}"
                );
            }
        }
    }

    #[test]
    fn no_word_is_a_command_or_listed_twice() {
        let program = program();
        let mut all = BTreeSet::new();
        for word in COMMANDS.iter().flat_map(|(_, words)| *words) {
            assert!(program.find_subcommand(word).is_none(), "{word}");
            assert!(all.insert(word), "{word}");
        }
    }

    #[test]
    fn no_command_has_an_option_that_is_explained() {
        let program = program();
        for (commands, options, _) in OPTIONS {
            for command in commands {
                let command = program.find_subcommand(command).expect(command);
                for option in options {
                    let has = |arg: &clap::Arg| match option.strip_prefix("--") {
                        Some(long) => arg.get_long() == Some(long),
                        None => arg.get_short() == option.chars().nth(1),
                    };
                    assert!(!command.get_arguments().any(has), "{} {option}", command.get_name());
                }
            }
        }
    }

    #[test]
    fn a_letter_leads_to_the_options_that_begin_with_it() {
        let program = program();
        let shown = |command: &str, given: &str| with_initial(program.find_subcommand(command).expect(command), given);
        assert_eq!(
            shown("merge", "-c").as_deref(),
            Some("options with that letter: --continue")
        );
        assert_eq!(
            shown("merge", "-f"),
            Some("options with that letter: --files, --finish-others".into())
        );
        assert_eq!(shown("save", "-z"), None);
        assert_eq!(shown("save", "--"), None);
        assert_eq!(
            of_git("-C").as_deref(),
            Some("an option of git comes first: git -C <directory> checkpoint")
        );
        assert!(of_git("--git-dir=x").is_some_and(|hint| hint.contains("--git-dir=<directory>")));
        assert_eq!(of_git("-x"), None);
    }

    #[test]
    fn an_option_leads_to_the_command_that_has_it() {
        let program = program();
        for (command, given, hint) in [
            ("pause", "--aply", Some("did you mean: git checkpoint resume --apply")),
            ("pause", "--apply", Some("did you mean: git checkpoint resume --apply")),
            ("resume", "--clean", Some("did you mean: git checkpoint pause --clean")),
            (
                "save",
                "-u",
                Some("untracked files are always saved: git checkpoint save"),
            ),
            ("apply", "--list", Some("list sessions: git checkpoint list")),
            ("pin", "--undo", Some("did you mean: git checkpoint undo")),
            ("save", "--force", None),
            ("list", "--xyzzy", None),
            ("list", "-y", None),
        ] {
            assert_eq!(option(&program, command, given).as_deref(), hint, "{command} {given}");
        }
    }
}
