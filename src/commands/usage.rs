//! Wrong usage in git's form: what is wrong in one line, then what to do about it as hints. clap words it; its layout of
//! paragraphs and tips is taken apart here.

use std::{error::Error as _, ffi::OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{
    error::{CommandError, FailureKind},
    habits, parse, quoting,
    session_word::RULES,
    shorthand,
};
use crate::{
    model::{
        name::{InvalidName, ShortName},
        spelling::similar,
        step::quoted,
    },
    secrets::{RedactionSettings, Scanner},
    serve::CommandLine,
};

/// The error for arguments that clap refuses; `words` are those of the command they were given to.
pub(super) fn error(error: &clap::Error, program: &clap::Command, words: &str, args: &[OsString]) -> CommandError {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // clap shows the help instead, which begins with what the command is for.
        return lacking(program, words);
    }
    if let Some(refused) = error.source().and_then(|source| source.downcast_ref::<InvalidName>()) {
        return invalid_name(refused, words, args);
    }
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let own = at(program, words).filter(|_| is_unknown && words != "git checkpoint");
    let usage = own.as_ref().map(|command| usage_line(command.clone()));
    let (out, has_usage) = from_text(
        &without_secrets(&error.render().to_string()),
        usage.as_deref(),
        own.as_ref().is_none_or(takes_text),
    );
    let given = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(given)) => without_secrets(given),
        _ => String::new(),
    };
    let is_near = out.hints().iter().any(|hint| hint.contains(" similar "));
    let meant = own.and_then(|command| {
        let elsewhere = || habits::option(program, words.split(' ').nth(2)?, &given).filter(|_| !is_near);
        path_meant(&command, words, &given, args)
            .or_else(|| files_meant(words, &given, args))
            .or_else(|| name_meant(words, &given, args))
            .or_else(|| meant(&command, words, &given))
            .or_else(|| quoting::text_meant(&command, words, &given, args).map(|hint| without_secrets(&hint)))
            .or_else(elsewhere)
            .or_else(|| habits::with_initial(&command, &given).filter(|_| !is_near))
    });
    let meant = meant.or_else(|| value_meant(error, words, args).filter(|_| !is_near));
    let meant = meant.or_else(|| habits::of_git(&given).filter(|_| words == "git checkpoint"));
    // What is meant comes first.
    let out = match meant {
        Some(hint) => {
            let first = CommandError::new(FailureKind::Usage, out.to_string()).hint(hint);
            out.hints().iter().fold(first, CommandError::hint)
        }
        None => out,
    };
    if let (Some(ContextValue::String(word)), "git checkpoint") = (error.get(ContextKind::InvalidSubcommand), words) {
        let page = || super::help::topics().find(|topic| *topic == word.as_str());
        let line = habits::command(word).map(str::to_owned);
        if let Some(line) = line.or_else(|| page().map(|topic| format!("help {topic}"))) {
            let error = CommandError::new(FailureKind::Usage, out.to_string());
            return error.hint(format!("did you mean: git checkpoint {line}"));
        }
    }
    // What is wrong with a value leads clap to show no usage.
    if has_usage {
        return out;
    }
    out.hint(format!("see: {}", help_for(words)))
}

/// The error for an argument of a tool that the options of its command refuse: an argument has a name and no usage.
pub(super) fn of_tool(error: &clap::Error, program: &clap::Command, words: &str, line: &CommandLine) -> CommandError {
    let command = at(program, words);
    let name = |given: &str| {
        let arg = command
            .as_ref()
            .and_then(|command| command.get_arguments().find(|arg| arg.to_string() == given));
        let argument = arg.map(|arg| match arg.get_long() {
            Some(long) => line.argument(long),
            None => Some(arg.get_id().to_string()),
        });
        argument.flatten().unwrap_or_else(|| given.to_owned())
    };
    let texts = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    let names = |kind| -> Vec<String> { texts(kind).iter().map(|given| format!("'{}'", name(given))).collect() };
    let named = names(ContextKind::InvalidArg).join(", ");
    let value = texts(ContextKind::InvalidValue).join(" ");
    let message = match error.kind() {
        ErrorKind::ArgumentConflict => {
            format!(
                "{named} and {} exclude each other",
                names(ContextKind::PriorArg).join(", ")
            )
        }
        ErrorKind::InvalidValue if value.is_empty() => format!("{named} is empty"),
        ErrorKind::InvalidValue => {
            let known = texts(ContextKind::ValidValue).join(", ");
            format!("invalid value '{value}' for {named} [possible values: {known}]")
        }
        ErrorKind::ValueValidation => {
            let why = error.source().map(|why| format!(": {why}")).unwrap_or_default();
            format!("invalid value '{value}' for {named}{why}")
        }
        _ => from_text(&error.render().to_string(), None, false)
            .0
            .message()
            .to_owned(),
    };
    CommandError::new(FailureKind::Usage, without_secrets(&message))
}

/// The error for a name that is refused, with the command as it would be with the valid one.
fn invalid_name(error: &InvalidName, words: &str, args: &[OsString]) -> CommandError {
    let name = ShortName::like(&error.text);
    let typed = |arg: &OsString| {
        let arg = arg.to_string_lossy();
        if *arg == *error.text {
            return name.to_string();
        }
        match arg.split_once('=') {
            Some((option, value)) if option.starts_with("--") && value == error.text => format!("{option}={name}"),
            _ => quoted(&arg),
        }
    };
    let begin = shorthand::command_at(args).map_or(args.len(), |at| at + words.split(' ').count().saturating_sub(2));
    let line: Vec<String> = args.iter().skip(begin).map(typed).collect();
    let meant = format!("did you mean: {words} {}", line.join(" "));
    CommandError::new(FailureKind::Usage, without_secrets(&error.to_string()))
        .hint(without_secrets(meant.trim_end()))
        .hint(RULES)
}

/// Commands that take something away: they are suggested only for what is them with a slip of the finger.
const TAKE_AWAY: [&str; 4] = ["clear", "delete", "prune", "purge"];

/// Whether a word is another one with letters missing, doubled or swapped, rather than another letter in their place.
fn is_slip(word: &str, name: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let holds = |long: &str, short: &str| {
        let mut letters = long.chars();
        short.chars().all(|letter| letters.any(|other| other == letter))
    };
    sorted(word) == sorted(name) || holds(name, word) || holds(word, name)
}

/// The definition of a command, given as it is typed, with its whole usage.
fn at(program: &clap::Command, words: &str) -> Option<clap::Command> {
    let mut words = words.split(' ').skip(2).peekable();
    let program = parse::built(program, words.peek().copied());
    words.try_fold(&program, |at, word| at.find_subcommand(word)).cloned()
}

/// The usage of a command, on one line.
fn usage_line(mut command: clap::Command) -> String {
    let text = command.render_usage().to_string();
    let text = text.trim().strip_prefix("Usage: ").unwrap_or(text.trim());
    text.lines().next().unwrap_or_default().to_owned()
}

/// The command with `--` before paths, which was left out; `None` for a command that takes none.
fn path_meant(command: &clap::Command, words: &str, given: &str, args: &[OsString]) -> Option<String> {
    if given.starts_with('-') || !command.get_positionals().any(|arg| arg.get_id() == "pathspecs") {
        return None;
    }
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let texts: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let begin = shorthand::command_at(args)? + words.split(' ').count().saturating_sub(2);
    let at = begin + texts.get(begin..end)?.iter().position(|arg| arg == given)?;
    let (options, paths): (Vec<&String>, Vec<&String>) = texts[at..end].iter().partition(|arg| arg.starts_with('-'));
    let paths = paths.into_iter().chain(texts.iter().skip(end + 1));
    let before = texts[begin..at].iter().chain(options);
    let line = before
        .map(|arg| quoted(arg))
        .chain([String::from("--")])
        .chain(paths.map(|arg| quoted(arg)));
    Some(format!("did you mean: {words} {}", line.collect::<Vec<_>>().join(" ")))
}

/// The command that is meant by paths behind `--`, given to one that is about all files.
fn files_meant(words: &str, given: &str, args: &[OsString]) -> Option<String> {
    let end = args.iter().position(|arg| arg == "--")?;
    let typed = |args: &[OsString]| -> String {
        let texts = args.iter().map(|arg| format!(" {}", quoted(&arg.to_string_lossy())));
        texts.collect()
    };
    let paths = args[end + 1..]
        .iter()
        .any(|arg| arg == given)
        .then(|| typed(&args[end..]))?;
    match words {
        "git checkpoint resume" => {
            let named = args.get(shorthand::command_at(args)? + 1..end)?;
            let options = named.iter().position(|arg| arg.to_string_lossy().starts_with('-'));
            let named = typed(&named[..options.unwrap_or(named.len())]);
            Some(format!("did you mean: git checkpoint restore{named}{paths}"))
        }
        "git checkpoint show" if end + 2 == args.len() => {
            let named = args.get(shorthand::command_at(args)? + 1..end)?;
            let word = named
                .iter()
                .map(|arg| arg.to_string_lossy())
                .find(|arg| !arg.starts_with('-'));
            let file = format!("{}:{}", word.as_deref().unwrap_or("@"), args[end + 1].to_string_lossy());
            Some(format!("did you mean: git checkpoint show {}", quoted(&file)))
        }
        _ => None,
    }
}

/// The fork with its name as the option that it is.
fn name_meant(words: &str, given: &str, args: &[OsString]) -> Option<String> {
    if words != "git checkpoint fork" || given.starts_with('-') {
        return None;
    }
    let begin = shorthand::command_at(args)? + 1;
    let typed = args.get(begin..)?.iter().map(|arg| arg.to_string_lossy());
    let typed = typed.map(|arg| {
        let is_name = *arg == *given;
        format!("{}{}", if is_name { "--name " } else { "" }, quoted(&arg))
    });
    Some(format!("did you mean: {words} {}", typed.collect::<Vec<_>>().join(" ")))
}

/// The command that most likely was meant by an argument that it does not take: an option whose value was typed as an
/// option, or the session that '--session' takes.
fn meant(command: &clap::Command, words: &str, given: &str) -> Option<String> {
    if let Some(value) = given.strip_prefix("--").filter(|value| !value.is_empty()) {
        let takes = |arg: &&clap::Arg| arg.get_possible_values().iter().any(|known| known.get_name() == value);
        let mut options = command
            .get_arguments()
            .filter(|arg| arg.get_num_args().is_some_and(|n| n.takes_values()));
        let option = options.find(takes)?.get_long()?.to_owned();
        return Some(format!("did you mean: {words} --{option} {value}"));
    }
    // Where a text is taken, another word is a part of it rather than a session.
    if command.get_positionals().next().is_some() {
        return None;
    }
    let takes_session = command
        .get_arguments()
        .any(|arg| arg.get_long() == Some("session") && !arg.is_hide_set());
    let is_name = !given.is_empty() && ShortName::new(given).is_ok();
    (takes_session && is_name).then(|| format!("did you mean: {words} --session {given}"))
}

/// The command with the one value that a refused one is short for: its beginning, or letters of it in order.
fn value_meant(error: &clap::Error, words: &str, args: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidValue) else {
        return None;
    };
    let known: Vec<String> = match (error.get(ContextKind::ValidValue), error.source()) {
        (Some(ContextValue::Strings(known)), _) => known.clone(),
        (_, Some(source)) => source.downcast_ref::<UnknownValue>()?.known.clone(),
        _ => return None,
    };
    let only = |is: &dyn Fn(&str) -> bool| {
        let mut found = known.iter().filter(|name| is(name));
        found.next().filter(|_| found.next().is_none())
    };
    let is_short = |name: &str| {
        let mut letters = name.chars();
        name.chars().next() == given.chars().next() && given.chars().all(|letter| letters.any(|other| other == letter))
    };
    if given.is_empty() {
        return None;
    }
    let value = only(&|name| name.starts_with(given.as_str())).or_else(|| only(&is_short))?;
    let begin = shorthand::command_at(args)? + words.split(' ').count().saturating_sub(2);
    let line: Vec<String> = args
        .get(begin..)?
        .iter()
        .map(|arg| {
            let arg = arg.to_string_lossy();
            match arg.split_once('=') {
                _ if *arg == **given => value.clone(),
                Some((option, of)) if option.starts_with("--") && of == given => format!("{option}={value}"),
                _ => quoted(&arg),
            }
        })
        .collect();
    Some(without_secrets(&format!("did you mean: {words} {}", line.join(" "))))
}

/// A value that a list does not have.
#[derive(Debug)]
pub(super) struct UnknownValue {
    /// The list, for people.
    pub(super) what: &'static str,
    /// What it has.
    pub(super) known: Vec<String>,
}

impl std::fmt::Display for UnknownValue {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}: {}", self.what, self.known.join(", "))
    }
}

impl std::error::Error for UnknownValue {}

/// The error for a command that is given without one of its own commands.
fn lacking(program: &clap::Command, words: &str) -> CommandError {
    let at = words
        .split(' ')
        .skip(2)
        .try_fold(program, |at, word| at.find_subcommand(word));
    let subcommands = at.into_iter().flat_map(clap::Command::get_subcommands);
    let names: Vec<_> = subcommands
        .filter(|sub| !sub.is_hide_set())
        .map(clap::Command::get_name)
        .collect();
    CommandError::new(FailureKind::Usage, format!("a command is needed: {}", names.join(", ")))
        .hint(format!("usage: {words} <COMMAND>"))
        .hint(format!("see: {}", help_for(words)))
}

/// The command that shows the help of another one, given as it is typed.
fn help_for(words: &str) -> String {
    let rest = words.strip_prefix("git checkpoint").unwrap_or_default();
    format!("git checkpoint help{rest}")
}

/// The command that arguments are for, as it is typed.
pub(super) fn command_of(program: &clap::Command, args: &[OsString]) -> String {
    let (mut at, mut out) = (program, "git checkpoint".to_owned());
    for arg in args.iter().skip(1).take_while(|arg| *arg != "--") {
        if let Some(sub) = arg.to_str().and_then(|word| at.find_subcommand(word)) {
            out.push(' ');
            out.push_str(sub.get_name());
            at = sub;
        }
    }
    out
}

/// The words of the standard library for what is no number, as we would say it.
const NUMBERS: [(&str, &str); 5] = [
    ("invalid digit found in string", "it must be a whole number"),
    ("cannot parse integer from empty string", "it must be a whole number"),
    ("number too large to fit in target type", "it is too large"),
    ("number too small to fit in target type", "it is too small"),
    (
        "invalid UTF-8 was found in one or more arguments",
        "an argument is not UTF-8",
    ),
];

/// Arguments without `--end-of-options`, git's way to say in scripts that what follows, up to `--`, is no option. It is
/// left in where something that begins with a dash follows: no session and no checkpoint does, so that is refused.
pub(super) fn without_end_of_options(mut args: Vec<OsString>) -> Vec<OsString> {
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    if let Some(at) = args[..end].iter().position(|arg| arg == "--end-of-options") {
        let is_option = |arg: &OsString| arg.len() > 1 && arg.as_encoded_bytes().starts_with(b"-");
        if !args[at + 1..end].iter().any(is_option) {
            args.remove(at);
        }
    }
    args
}

/// The manual page of a command, given as it is typed. Commands of a command are described on its page.
pub(super) fn page(words: &str) -> String {
    words.split(' ').take(3).collect::<Vec<_>>().join("-")
}

/// An argument that is refused is shown, and may hold what must not be seen on a screen or in a log.
pub(super) fn without_secrets(text: &str) -> String {
    match Scanner::new(&RedactionSettings::default()) {
        Ok(scanner) => scanner.redact_text(text).0.into_owned(),
        Err(_) => text.to_owned(),
    }
}

/// The error in these words of the parser; `own` is the usage of the command, where that of the parser names what was
/// given in part. `takes_text` is whether an argument of the command may begin with a dash. Also whether the usage is among
/// the hints.
fn from_text(text: &str, own: Option<&str>, takes_text: bool) -> (CommandError, bool) {
    let text = text.strip_prefix("error: ").unwrap_or(text).trim_end();
    let text = NUMBERS
        .iter()
        .fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours));
    let text = text
        .replace("unrecognized subcommand", "unknown command")
        .replace("subcommand", "command");
    let text = text.as_str();
    let (first, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    // Missing arguments and possible values are below, indented.
    let message: Vec<&str> = first.lines().map(str::trim).collect();
    let mut out = CommandError::new(FailureKind::Usage, message.join(" "));
    let mut usage = None;
    // A command whose ways to call it exclude each other has a line for each.
    let mut others = Vec::new();
    for line in rest.lines().map(str::trim) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            // No one means an option as a value, except in a text.
            let is_value = tip.starts_with("to pass ") && !takes_text;
            if let Some(tip) = near_only(&message.join(" "), tip).filter(|_| !is_value) {
                out = out.hint(tip);
            }
        } else if let Some(form) = line.strip_prefix("Usage: ") {
            usage = Some(own.unwrap_or(form));
        } else if usage.is_some() && own.is_none() && line.starts_with("git checkpoint ") {
            others.push(line);
        }
    }
    if let Some(form) = usage {
        let command: Vec<&str> = form
            .split(' ')
            .take_while(|w| !w.starts_with(['[', '<', '-']))
            .collect();
        out = out.hint(format!("usage: {form}"));
        out = others.iter().fold(out, |out, other| out.hint(format!("or: {other}")));
        out = out.hint(format!("see: {}", help_for(&command.join(" "))));
    }
    (out, usage.is_some())
}

/// Whether a command takes a text of the caller's own, which may begin with a dash.
fn takes_text(command: &clap::Command) -> bool {
    let mut names = command
        .get_positionals()
        .filter(|arg| !arg.is_hide_set())
        .flat_map(|arg| arg.get_value_names().unwrap_or_default());
    let is_text = |name: &clap::builder::Str| ["TEXT", "QUESTION", "TITLE"].contains(&name.as_str());
    names.any(is_text)
}

/// A tip without the names that are not near what was typed, which the parser's own measure takes for similar; `None`
/// when that leaves none. `message` has what was typed as the first thing in quotes.
fn near_only(message: &str, tip: &str) -> Option<String> {
    if !tip.contains(" similar ") {
        return Some(tip.to_owned());
    }
    let quoted = |text: &str| -> Vec<String> { text.split('\'').skip(1).step_by(2).map(str::to_owned).collect() };
    let word = quoted(message).into_iter().next().unwrap_or_default();
    let bare = |text: &str| text.trim_start_matches('-').to_owned();
    let word = bare(&word);
    let is_near = |name: &String| {
        let name = bare(name);
        let begins = word.chars().count() > 1 && (name.starts_with(&word) || word.starts_with(&name));
        begins || similar(&word, std::iter::once(name.as_str())).is_some()
    };
    let is_harmless = |name: &String| !TAKE_AWAY.contains(&name.as_str()) || is_slip(&word, name);
    let names: Vec<String> = quoted(tip).into_iter().filter(is_near).filter(is_harmless).collect();
    let what = if tip.contains(" command") {
        "command"
    } else if tip.contains("argument") {
        "argument"
    } else {
        "value"
    };
    let list = names
        .iter()
        .map(|name| format!("'{name}'"))
        .collect::<Vec<_>>()
        .join(", ");
    match names.len() {
        0 => None,
        1 => Some(format!("a similar {what} exists: {list}")),
        _ => Some(format!("some similar {what}s exist: {list}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(args: &[&str]) -> String {
        let command = clap::Command::new("git-checkpoint")
            .bin_name("git checkpoint")
            .subcommand(
                clap::Command::new("rename")
                    .arg(clap::Arg::new("to").value_name("TO").required(true))
                    .arg(
                        clap::Arg::new("status")
                            .long("status")
                            .value_parser(["active", "paused"]),
                    ),
            );
        let args = ["git-checkpoint"].iter().chain(args);
        error(
            &command.clone().try_get_matches_from(args).unwrap_err(),
            &command,
            "git checkpoint rename",
            &[],
        )
        .render(true)
        .to_string()
    }

    #[test]
    fn options_end_where_git_says() {
        let without = |line: &str| {
            let args = without_end_of_options(line.split(' ').map(OsString::from).collect());
            args.into_iter()
                .map(|arg| arg.into_string().unwrap())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(without("x log --end-of-options - -- -p"), "x log - -- -p");
        assert_eq!(
            without("x log --end-of-options --json"),
            "x log --end-of-options --json"
        );
        assert_eq!(without("x log -- --end-of-options"), "x log -- --end-of-options");
    }

    #[test]
    fn the_manual_page_of_a_command() {
        assert_eq!(page("git checkpoint save"), "git-checkpoint-save");
        assert_eq!(page("git checkpoint task add"), "git-checkpoint-task");
        assert_eq!(page("git checkpoint"), "git-checkpoint");
    }

    #[test]
    fn nothing_leads_to_what_takes_away() {
        for (word, name) in [
            ("claer", "clear"),
            ("clar", "clear"),
            ("cleaar", "clear"),
            ("deltee", "delete"),
        ] {
            assert!(is_slip(word, name), "{word}");
        }
        for (word, name) in [
            ("clean", "clear"),
            ("cleat", "clear"),
            ("purse", "purge"),
            ("prude", "prune"),
        ] {
            assert!(!is_slip(word, name), "{word}");
        }
    }

    #[test]
    fn the_nearest_name_is_found() {
        let names = ["save", "status", "restore", "maxFileSize"];
        let near = |word| similar(word, names.into_iter());
        assert_eq!(near("svae"), Some("save"));
        assert_eq!(near("statsu"), Some("status"));
        assert_eq!(near("maxfilesiz"), Some("maxFileSize"));
        assert_eq!(near("zzz"), None);
        assert_eq!(near(""), None);
    }

    #[test]
    fn one_line_says_what_is_wrong() {
        assert_eq!(
            shown(&["renam"]),
            "error: unknown command 'renam'\n\
             hint: a similar command exists: 'rename'\n\
             hint: usage: git checkpoint [COMMAND]\n\
             hint: see: git checkpoint help\n"
        );
        assert_eq!(
            shown(&["rename"]),
            "error: the following required arguments were not provided: <TO>\n\
             hint: usage: git checkpoint rename <TO>\n\
             hint: see: git checkpoint help rename\n"
        );
        assert!(
            shown(&["rename", "a", "--status", "x"])
                .starts_with("error: invalid value 'x' for '--status <status>' [possible values: active, paused]\n")
        );
        assert_eq!(
            shown(&["rename", "a", "--paused"]),
            "error: unexpected argument '--paused' found\n\
             hint: did you mean: git checkpoint rename --status paused\n\
             hint: usage: git checkpoint rename [OPTIONS] <TO>\n\
             hint: see: git checkpoint help rename\n"
        );
        assert!(!shown(&["rename", "a", "--sta\x1b[2J\u{9b}"]).contains(['\x1b', '\u{9b}']));
    }
}
