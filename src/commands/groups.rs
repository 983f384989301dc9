//! The program's own help: its subcommands, and the commands by groups, since a list of sixty is unreadable.

use std::fmt::Write as _;

use clap::Command;

/// The pages there are besides those of commands, a line each; a test holds them against those of `help`.
macro_rules! page_lines {
    () => {
        "  tutorial         from the first save to two approaches at once
  record           everything that a record can hold, in one JSON
  finding          search, file history, blame, bisect, statistics
  sharing          hand a session over through a remote
  scripting        scripts, agents, JSON, the shell prompt
  skill            for agents: when to save, go back, fork and resume
  safety           promises, tests, limits, removing everything
  plain-git        the same with git alone
  install          manual pages, completion, static binaries
  architecture     how it works, and why it can be trusted
  recovery         what to do when something went wrong
  compaction       long chats, and how they fit
  migration        import sessions from other tools
  troubleshooting  what messages mean, and what to do
  format           how sessions are stored
  names            names of sessions and checkpoints
  options          the options of every command
  exit-codes       what the exit codes mean
  settings         the settings checkpoint.*
  schemas          the JSON schemas of --json"
    };
}
pub(super) use page_lines;

/// Examples, words and tables that the long help ends with.
pub(super) const EXAMPLES: &str = concat!(
    "\
Examples:
  Save what you have, whatever state it is in:
    git checkpoint save -m 'parser done, tests red'
  Put the work aside and resume it, tomorrow or elsewhere:
    git checkpoint pause --next 'make refresh tests green'
    git checkpoint resume
  See what there is:
    git checkpoint list
    git checkpoint log

Terms:
  session     a line of work: one ref, refs/checkpoints/<session>
  checkpoint  one commit of it: a record, and the files as they were
  record      what people and agents wrote: summary, next steps, decisions ...
  draft       changes of the record that are not saved yet
  current     the session that save, pause and finish use in this working tree

Selectors, for sessions and checkpoints:
  @                   the latest checkpoint of the current session
  -                   the session that was current before
  auth                a session, or the beginning of its name
  before-merge        a checkpoint by its name, in the current session
  auth@before-merge   the same in another session
  auth~2              two checkpoints before the latest
  auth@{1}            where the session stood one update ago
  auth@{yesterday}    where it stood then, in any form git reads
  :/parser            the latest checkpoint whose summary holds the text
  7f3ad2e1            the beginning of a commit id or of a digest
  origin/auth         what was fetched of a session from a remote

Environment:
  CHECKPOINT_SESSION  the session to use instead of the current one
  CHECKPOINT_AGENT    the agent that calls

Exit codes:
  0 done, or nothing to do        5 locked or no network: may be tried again
  1 the answer is no              6 the project changed (--fail-on-drift)
  3 not found, or ambiguous       7 saved, but partial
  4 refused, work would be lost   128 fatal, 129 wrong usage

Guides and reference pages:
",
    page_lines!(),
    "
  Read one with: git checkpoint help <name>"
);

/// The commands of the first page.
const FIRST: [&str; 13] = [
    "start", "save", "pause", "resume", "status", "list", "log", "show", "diff", "apply", "restore", "undo", "finish",
];

/// The help that a person sees first: the commands of every day, and where the rest is.
pub(super) fn first_page(program: &Command) -> String {
    let about = |name: &str| {
        let command = program.get_subcommands().find(|sub| sub.get_name() == name);
        let about = command.and_then(Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    };
    let mut text = format!(
        "{}\n\nUsage: git checkpoint [COMMAND] [OPTIONS]\n\n",
        program.get_about().map(ToString::to_string).unwrap_or_default()
    );
    for name in FIRST {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {name:8} {}", about(name));
    }
    text.push_str(
        "\nAll commands:  git checkpoint help
One command:   git checkpoint help <command>
Guides:        git checkpoint help guides   (begin with: help tutorial)
",
    );
    text
}

/// The groups in their order, and the commands of each in theirs. A test holds this against the commands there are.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Everyday",
        &[
            "start", "save", "pause", "resume", "status", "list", "log", "show", "diff", "finish", "switch", "rename",
            "claim", "release",
        ],
    ),
    (
        "Time travel",
        &[
            "restore", "apply", "undo", "redo", "turns", "rewind", "fork", "merge", "compare",
        ],
    ),
    (
        "See and find",
        &["ui", "serve", "search", "blame", "why", "bisect", "stats"],
    ),
    (
        "Record",
        &[
            "task",
            "todo",
            "decision",
            "blocker",
            "question",
            "approval",
            "fork-point",
            "conflict",
            "phase",
            "iteration",
            "delegation",
            "partition",
            "instruction",
            "memory",
            "open-file",
            "note",
            "check",
            "state",
        ],
    ),
    (
        "Agents",
        &[
            "enable", "disable", "agents", "agent", "context", "message", "tokens", "request", "compact", "clear",
            "step", "replay", "hooks", "watch", "mcp", "batch",
        ],
    ),
    (
        "Share",
        &[
            "push", "fetch", "pull", "remote", "bundle", "unbundle", "import", "export",
        ],
    ),
    (
        "Care",
        &[
            "delete", "undelete", "pin", "unpin", "verify", "repair", "prune", "purge", "rekey", "setup", "help",
        ],
    ),
];

/// The group that these words are the title of, in any case and joined by '-' or not.
pub(super) fn of_title(words: &[&str]) -> Option<&'static str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' '], "");
    let wanted = plain(&words.join(" "));
    let mut titles = GROUPS.iter().map(|(title, _)| *title);
    titles.find(|title| plain(title) == wanted)
}

/// The commands of the first page, in their order.
pub(super) fn everyday(program: &Command) -> impl Iterator<Item = &Command> {
    FIRST.iter().filter_map(|name| program.find_subcommand(name))
}

/// The commands of a group under its title, on lines of at most `columns`.
pub(super) fn listed(command: &Command, title: &str, columns: usize) -> String {
    let listed = |name: &str| command.get_subcommands().find(|sub| sub.get_name() == name);
    let longest = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len());
    let indent = longest.max().unwrap_or(0) + 4;
    let mut text = format!("{title}:\n");
    let group = GROUPS.iter().find(|(known, _)| *known == title);
    for sub in group
        .into_iter()
        .flat_map(|(_, names)| *names)
        .filter_map(|name| listed(name))
    {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        let mut line = format!("  {:1$}", sub.get_name(), indent - 2);
        let mut empty = true;
        for word in about.split(' ') {
            if !empty && line.chars().count() + 1 + word.chars().count() > columns {
                text.push_str(line.trim_end());
                text.push('\n');
                line = " ".repeat(indent);
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
            empty = false;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The program with a help that shows its commands by groups, on lines of at most `columns`.
pub(super) fn grouped(command: Command, columns: usize) -> Command {
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (title, _) in GROUPS {
        text.push('\n');
        text.push_str(&listed(&command, title, columns));
    }
    command.help_template(text)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::commands::{Cli, Command as Every};

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::<Every>::command();
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        let mut all: Vec<_> = shown.map(|sub| sub.get_name().to_owned()).collect();
        let mut grouped: Vec<_> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .map(|name| (*name).to_owned())
            .collect();
        all.sort();
        grouped.sort();
        assert_eq!(grouped, all);
    }

    #[test]
    fn a_group_is_found_by_its_title() {
        for (words, title) in [
            (&["everyday"][..], Some("Everyday")),
            (&["time", "travel"], Some("Time travel")),
            (&["time-travel"], Some("Time travel")),
            (&["nosuch"], None),
            (&[], None),
        ] {
            assert_eq!(of_title(words), title, "{words:?}");
        }
    }

    #[test]
    fn the_first_page_fits_a_screen() {
        let text = first_page(&Cli::<Every>::command());
        assert!(text.lines().count() < 24, "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(FIRST.iter().all(|name| text.contains(&format!("\n  {name} "))));
    }

    #[test]
    fn every_page_is_listed_in_order() {
        let listed = crate::commands::help::page_list();
        assert!(format!("{EXAMPLES}\n").ends_with(&format!("\n\n{listed}")), "{listed}");
    }

    #[test]
    fn lines_are_as_long_as_they_may_be() {
        for columns in [40, 80] {
            let list = grouped(Cli::<Every>::command(), columns).render_help().to_string();
            let list = list.split("\nEveryday:").nth(1).expect("the first group");
            assert!(list.lines().all(|line| line.len() <= columns), "{list}");
            assert!(list.contains("\nTime travel:\n  restore "), "{list}");
        }
    }
}
