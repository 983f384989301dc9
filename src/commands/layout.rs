//! The layout of help: the first page, and for each command what it does, its own options, and examples as they are
//! typed, which no terminal's width breaks.

use clap::{
    Arg, Command,
    builder::{Resettable, StyledStr},
};

use super::{groups, opening};
use crate::render::{count::CountedNoun, unbroken};

/// The lines that short help has at most: a screen of 24 with room for the prompt.
const SCREEN: usize = 23;

/// The help of the command that `words` lead to; `command` is that command, built.
pub(super) fn page(command: &Command, words: &[&str], long: bool, columns: usize) -> String {
    match (words.is_empty(), long) {
        (true, false) => groups::first_page(command),
        (_, true) => long_page(command, columns),
        (false, false) => short_page(command, words),
    }
}

/// Everything about a command, its examples last.
fn long_page(command: &Command, columns: usize) -> String {
    let examples = command.get_after_long_help().or_else(|| command.get_after_help());
    let examples = examples.map(ToString::to_string).unwrap_or_default();
    let mut own = own(command);
    let mut text = unbroken::split(own.render_long_help().to_string().trim_end());
    text.push('\n');
    if !examples.is_empty() {
        text.push('\n');
        text.push_str(&wrapped(&examples, columns));
    }
    text.push_str("\nOptions of every command: git checkpoint help options\n");
    text
}

/// Short help that fits on a screen: the options that come first, and where the others are described.
fn short_page(command: &Command, words: &[&str]) -> String {
    let more = format!("git checkpoint help {}", words.join(" "));
    let mut own = own(command);
    let shown = |arg: &&Arg| !arg.is_hide_set() && !arg.is_hide_short_help_set() && !arg.is_positional();
    let (identity, mut optional): (Vec<&Arg>, Vec<&Arg>) =
        own.get_arguments().filter(shown).partition(|arg| is_identity(arg));
    optional.extend(identity);
    let optional: Vec<String> = optional.into_iter().map(|arg| arg.get_id().to_string()).collect();
    let mut left = optional.len();
    loop {
        let text = unbroken::split(&own.render_help().to_string());
        let lines = text.trim_end().lines().count();
        if lines + 2 <= SCREEN || left == 0 {
            let rest = match optional.len() - left {
                0 => String::new(),
                n => format!("{}, ", CountedNoun::new(n, "more option")),
            };
            return format!("{}\n\nFor {rest}examples and details: {more}\n", text.trim_end());
        }
        left -= 1;
        let last = optional[left].clone();
        own = own.mut_arg(last, |arg| arg.hide(true));
    }
}

/// The command with its own options alone, and without what is below them; no line breaks inside a command.
fn own(command: &Command) -> Command {
    let mut out = command
        .clone()
        .after_help(Resettable::Reset)
        .after_long_help(Resettable::Reset)
        .mut_args(|arg| match () {
            () if is_common(&arg) => arg.hide(true),
            () if is_identity(&arg) => arg.display_order(LAST),
            () => arg,
        })
        .mut_args(|arg| {
            let help = arg.get_help().map(joined);
            let long = arg.get_long_help().map(joined);
            arg.help(Resettable::from(help)).long_help(Resettable::from(long))
        })
        .mut_subcommands(unbroken_about);
    out = unbroken_about(out);
    out
}

/// The command whose descriptions are only broken between commands.
fn unbroken_about(command: Command) -> Command {
    let about = command.get_about().map(joined);
    let long = command.get_long_about().map(joined);
    command
        .about(Resettable::from(about))
        .long_about(Resettable::from(long))
}

fn joined(text: &StyledStr) -> StyledStr {
    unbroken::joined(&text.to_string()).into()
}

/// The place of options that follow the command's own.
const LAST: usize = 900;

/// Whether this option names a session or an agent, which most commands have.
fn is_identity(arg: &Arg) -> bool {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    help == opening::SESSION_HELP || help == opening::AGENT_HELP
}

/// Whether every command has this option.
pub(super) fn is_common(arg: &Arg) -> bool {
    arg.is_global_set() || arg.get_id() == "help" || arg.get_id() == "version"
}

/// The options that every command has.
pub(super) fn common_options(program: &Command) -> String {
    let mut command = program
        .clone()
        .help_template("Options of every command:\n\n{options}")
        .mut_args(|arg| {
            if is_common(&arg) {
                arg.help_heading(None::<&str>)
            } else {
                arg.hide(true)
            }
        });
    let text = command.render_long_help().to_string();
    format!("{}\n", text.trim_end())
}

/// The text with its prose wrapped; indented lines are what is typed or a table, and stay as they are.
fn wrapped(text: &str, columns: usize) -> String {
    let mut out = String::new();
    for line in text.trim_end().lines() {
        if line.starts_with("  ") || line.chars().count() <= columns {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let mut width = 0;
        for word in unbroken::words(line) {
            let length = word.chars().count();
            if width > 0 && width + 1 + length > columns {
                out.push('\n');
                width = 0;
            }
            if width > 0 {
                out.push(' ');
                width += 1;
            }
            out.push_str(word);
            width += length;
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::commands::{Cli, Command as Every};

    fn each(command: &Command, words: &[&str], look: &mut dyn FnMut(&Command, &[&str])) {
        look(command, words);
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            each(sub, &[words, &[sub.get_name()]].concat(), look);
        }
    }

    #[test]
    fn every_short_help_fits_a_screen_and_shows_no_common_option() {
        let mut program = Cli::<Every>::command().term_width(80);
        program.build();
        each(&program, &[], &mut |command, words| {
            let text = page(command, words, false, 80);
            assert!(text.lines().count() <= 24, "{words:?}: {text}");
            assert!(!text.contains("--no-pager"), "{text}");
        });
    }

    /// A value is one: `[SESSION]...`, not `[SESSIONS]...`. A short option that works is listed.
    #[test]
    fn values_are_named_in_the_singular_and_short_options_are_listed() {
        let mut program = Cli::<Every>::command();
        program.build();
        each(&program, &[], &mut |command, words| {
            let values = command.get_arguments().filter(|arg| !arg.is_hide_set());
            for arg in values.filter(|arg| arg.get_action().takes_values()) {
                for name in arg.get_value_names().unwrap_or_default() {
                    let is_plural = name.ends_with('S') && !name.ends_with("SS") && !name.ends_with("US");
                    assert!(!is_plural, "{words:?}: {name}");
                }
                let hidden = arg.get_short_and_visible_aliases().is_none() && arg.get_all_short_aliases().is_some();
                assert!(!hidden, "{words:?}: {}", arg.get_id());
            }
        });
    }

    #[test]
    fn no_command_is_broken_at_a_line_end() {
        for columns in [60, 80] {
            let mut program = Cli::<Every>::command().term_width(columns);
            program.build();
            each(&program, &[], &mut |command, words| {
                for long in [false, true] {
                    let text = page(command, words, long, columns);
                    for line in text.lines() {
                        // Without a command it is the status.
                        if line == "    git checkpoint" {
                            continue;
                        }
                        let quotes = line.split('\'').skip(1).step_by(2);
                        let broken = line.trim_end().ends_with("git checkpoint")
                            || line.trim_end().ends_with(" git")
                            || line.trim_end().ends_with("'git")
                            || (line.matches('\'').count() % 2 == 1
                                && quotes.last().is_some_and(|open| open.starts_with("git ")));
                        assert!(!broken, "{words:?}, {columns} columns: {line}");
                    }
                }
            });
        }
    }

    #[test]
    fn no_example_is_broken() {
        let mut program = Cli::<Every>::command().term_width(40);
        program.build();
        let mut examples = 0;
        each(&program, &[], &mut |command, words| {
            let source = command
                .get_after_long_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let text = page(command, words, true, 40);
            for line in source.lines().filter(|line| line.starts_with("    ")) {
                examples += 1;
                assert!(text.lines().any(|shown| shown == line), "{line}\n{text}");
            }
        });
        assert!(examples > 150, "{examples}");
    }

    #[test]
    fn prose_is_wrapped_and_what_is_typed_is_not() {
        let text = "One two three four.\n  Title of an example:\n    a long command line";
        assert_eq!(
            wrapped(text, 10),
            "One two\nthree\nfour.\n  Title of an example:\n    a long command line\n"
        );
    }
}
