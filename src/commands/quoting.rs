//! Texts of several words that were not quoted.

use std::{borrow::Cow, ffi::OsString};

use super::shorthand;
use crate::model::step::quoted;

/// The names of arguments that are texts.
const TEXTS: [&str; 3] = ["TEXT", "TITLE", "MESSAGE"];

/// The command with a text of several words as the one argument that it is; `None` for a command that takes none. It
/// may have secrets.
pub(super) fn text_meant(command: &clap::Command, words: &str, given: &str, args: &[OsString]) -> Option<String> {
    let places = command.get_positionals().count();
    let is_text = |arg: &clap::Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        names.iter().any(|name| TEXTS.contains(&name.as_str()))
    };
    if !command.get_positionals().last().is_some_and(is_text) {
        return None;
    }
    let begin = shorthand::command_at(args)? + words.split(' ').count().saturating_sub(2);
    let typed: Vec<_> = args.get(begin..)?.iter().map(|arg| arg.to_string_lossy()).collect();
    let at = typed.iter().position(|arg| *arg == given)?;
    if given.starts_with('-') || at < places || typed.iter().any(|arg| arg.starts_with('-')) {
        return None;
    }
    let (options, typed) = required(command, &typed);
    let (before, text) = typed
        .split_at_checked(places - 1)
        .filter(|(_, text)| !text.is_empty())?;
    let before = before.iter().map(|arg| format!("{} ", quoted(arg)));
    let line = format!(
        "{words} {options}{}{}",
        before.collect::<String>(),
        quoted(&text.join(" "))
    );
    Some(format!("quote a text of several words: {line}"))
}

/// Options that the command must have, as words; the first word that was typed may be the value of one. With the words
/// that are left.
fn required<'a, 'w>(command: &clap::Command, typed: &'w [Cow<'a, str>]) -> (String, &'w [Cow<'a, str>]) {
    let (mut options, mut rest) = (String::new(), typed);
    for arg in command.get_arguments().filter(|arg| arg.is_required_set()) {
        let Some(name) = arg.get_long() else { continue };
        let values = arg.get_possible_values();
        match rest.split_first() {
            Some((word, others)) if values.iter().any(|value| value.matches(word, false)) => {
                options += &format!("--{name} {word} ");
                rest = others;
            }
            _ => options += &format!("--{name} <{name}> "),
        }
    }
    (options, rest)
}
