//! Failures and warnings of commands in the terms of the tools: an agent has arguments, no options and no terminal.
//!
//! What remains of the command line are whole commands, for a person to run.

use serde_json::Value;

use super::{FROM_ROOT, find};
use crate::serve::CommandFailure;

/// Options whose argument has another name: the command, the option, the argument.
const OTHER_NAMES: &[(&str, &str, &str)] = &[
    ("save", "message", "record.summary"),
    ("save", "summary", "record.summary"),
    ("save", "next", "record.next_steps"),
    ("save", "next-step", "record.next_steps"),
    ("save", "accomplishment", "record.accomplishments"),
    ("save", "decision", "record.decisions"),
    ("save", "blocker", "record.blockers"),
    ("save", "todo", "record.todos"),
    ("save", "state", "record.state"),
    ("save", "step", "record.step"),
    ("save", "no-files", "files"),
    ("save", "key", "idempotency_key"),
    ("resume", "max-chars", "max_characters"),
    ("list", "grep", "text"),
    ("list", "all", "remotes"),
    ("search", "max-count", "limit"),
    ("search", "fixed-strings", "regexp"),
    ("search", "extended-regexp", "regexp"),
    ("search", "ignore-case", "match_case"),
    ("search", "in", "parts"),
    ("restore", "plan", "confirm"),
    ("restore", "overlay", "keep_later_files"),
    ("step", "check", "checks"),
    ("step", "correction", "corrections"),
    ("replay", "correction", "corrections"),
    ("task", "agent", "assignee"),
    ("task", "json-input", "id"),
];

/// The tool that runs a command.
fn tool_of(command: &str) -> &str {
    match command {
        "pause" => "save",
        "redo" => "undo",
        "replay" => "step",
        other => other,
    }
}

/// The argument that an option of a command stands for.
fn argument_of(command: &str, option: &str) -> Option<String> {
    let command = if command == "pause" { "save" } else { command };
    let named = OTHER_NAMES
        .iter()
        .find(|(of, name, _)| (*of, *name) == (command, option));
    if let Some((.., argument)) = named {
        return Some((*argument).to_owned());
    }
    let tool = find(&format!("checkpoint_{}", tool_of(command)))?;
    let name = option.replace('-', "_");
    let schema: Value = (tool.input)();
    schema["properties"].get(&name).is_some().then_some(name)
}

/// A failure of a command as that of its tool. Whatever is wrong came as an argument, and so there is one code for it.
pub(super) fn failure(mut failure: CommandFailure, command: &str) -> CommandFailure {
    if failure.code == "invalid" {
        (failure.code, failure.exit_code) = ("usage", 129);
    }
    match failure.code {
        "usage" => failure.meaning = "the arguments are wrong",
        "needs-answer" => failure.meaning = "an answer is needed, and nobody is there to give it",
        "refused" => failure.meaning = "refused because work would be lost; nothing was changed",
        "drift" => failure.meaning = "the project changed",
        _ => {}
    }
    failure.message = text(&failure.message, command);
    let hints = std::mem::take(&mut failure.hints);
    failure.hints = hints.iter().filter_map(|lines| hint(lines, command)).collect();
    failure
}

/// A warning in the terms of the tool.
pub(super) fn warning(warning: &str, command: &str) -> String {
    text(warning, command)
}

/// Words of the command line, and ours for them.
const PHRASES: &[(&str, &str)] = &[
    (FROM_ROOT, ""),
    (" from standard input", ""),
    (" on standard input", ""),
    (" without a terminal", ": nobody is there to answer"),
];

fn text(given: &str, command: &str) -> String {
    let lines = given.split('\n').map(|line| line_of(line, command).0);
    let text = lines.collect::<Vec<_>>().join("\n");
    // Last: a path that looks like an option stays what it is.
    PHRASES
        .iter()
        .fold(text, |text, (theirs, ours)| text.replace(theirs, ours))
}

/// A hint, without the lines that are about the command line alone.
fn hint(given: &str, command: &str) -> Option<String> {
    let lines = given.split('\n').filter_map(|line| {
        let of_usage = ["usage: ", "or: ", "see: git checkpoint help"];
        if of_usage.iter().any(|start| line.starts_with(start)) {
            return None;
        }
        if let Some(own) = own_way(line, command) {
            return Some(own);
        }
        let (line, is_known) = line_of(line, command);
        is_known.then_some(line)
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n").replace(FROM_ROOT, ""))
}

/// The hint to call the command again with an option, where the tool has an argument for it.
fn own_way(line: &str, command: &str) -> Option<String> {
    let (purpose, run) = line.split_once(": git checkpoint ")?;
    let is_same = run.split([' ', '\n']).next() == Some(command);
    let way = |option: &str, argument: &str| {
        let is_given = run.split(' ').any(|word| word == option);
        (is_same && is_given && argument_of(command, argument).is_some()).then(|| argument.to_owned())
    };
    let force = way("--force", "force").filter(|_| !run.contains("--continue") && !run.contains("--abort"));
    if let Some(argument) = force {
        return Some(format!(
            "{purpose}: ask the user, then call again with '{argument}' true"
        ));
    }
    let older = way("--older", "older")?;
    Some(format!("{purpose}: call again with '{older}' true"))
}

/// A line with the names of arguments for options, but for a whole command; and whether all have one.
fn line_of(line: &str, command: &str) -> (String, bool) {
    let mut out = String::new();
    let mut is_known = true;
    let mut rest = line;
    while let Some(at) = next_option(rest) {
        let is_command = out.contains("git ") || rest[..at].contains("git ");
        let name_end = rest[at + 2..]
            .find(|letter: char| !letter.is_ascii_lowercase() && letter != '-' && !letter.is_ascii_digit())
            .map_or(rest.len(), |end| at + 2 + end);
        if is_command {
            out.push_str(&rest[..name_end]);
            rest = &rest[name_end..];
            continue;
        }
        let option = &rest[at + 2..name_end];
        let Some(argument) = argument_of(command, option) else {
            is_known = false;
            out.push_str(&rest[..name_end]);
            rest = &rest[name_end..];
            continue;
        };
        out.push_str(&rest[..at]);
        let quoted = out.ends_with('\'');
        rest = without_value(&rest[name_end..]);
        if quoted {
            out.push_str(&argument);
        } else {
            out.push_str(&format!("'{argument}'"));
        }
    }
    out.push_str(rest);
    (out, is_known)
}

/// Where the next option is: two hyphens and a letter, not within a word.
fn next_option(text: &str) -> Option<usize> {
    text.match_indices("--").map(|(at, _)| at).find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + 2..].chars().next();
        before.is_none_or(|before| before == ' ' || before == '\'' || before == '(' || before == '"')
            && after.is_some_and(|after| after.is_ascii_lowercase())
    })
}

/// A text without the value of an option at its beginning, as usage has it: `=<NAME>` or ` <NAME>...`.
fn without_value(text: &str) -> &str {
    let Some(value) = text.strip_prefix([' ', '=']).filter(|value| value.starts_with('<')) else {
        return text;
    };
    match value.find('>') {
        Some(end) => value[end + 1..].trim_start_matches("..."),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: &'static str, message: &str, hints: &[&str]) -> CommandFailure {
        CommandFailure {
            code,
            exit_code: 128,
            meaning: "wrong usage, or a question without a terminal",
            message: message.to_owned(),
            hints: hints.iter().map(|hint| (*hint).to_owned()).collect(),
        }
    }

    #[test]
    fn options_become_arguments() {
        for (command, given, wanted) in [
            (
                "save",
                "invalid value 'A B' for '--name <NAME>': use letters",
                "invalid value 'A B' for 'name': use letters",
            ),
            (
                "pause",
                "--key and --no-files=<X> exclude",
                "'idempotency_key' and 'files' exclude",
            ),
            ("resume", "'--max-chars <N>' is small", "'max_characters' is small"),
            (
                "task",
                "for example: --title, --agent",
                "for example: 'title', 'assignee'",
            ),
            (
                "save",
                "the record on standard input: not valid JSON",
                "the record: not valid JSON",
            ),
            (
                "save",
                "cannot ask 'Start a session?' without a terminal",
                "cannot ask 'Start a session?': nobody is there to answer",
            ),
            (
                "diff",
                "pathspec ':(top)--patch' did not match",
                "pathspec '--patch' did not match",
            ),
            ("save", "a--b and -- c", "a--b and -- c"),
            (
                "save",
                "see it: git checkpoint verify --all, or git log --all",
                "see it: git checkpoint verify --all, or git log --all",
            ),
        ] {
            assert_eq!(text(given, command), wanted);
        }
    }

    #[test]
    fn hints_are_arguments_or_whole_commands() {
        let given = [
            "usage: git checkpoint restore [OPTIONS]",
            "see: git checkpoint help restore",
            "to proceed anyway: git checkpoint restore 'auth' --force",
            "finish it: git checkpoint restore --continue",
            "allow more with --max-tokens",
            "or omit --index",
        ];
        let hints = failure(failed("refused", "no", &given), "restore").hints;
        assert_eq!(
            hints,
            [
                "to proceed anyway: ask the user, then call again with 'force' true",
                "finish it: git checkpoint restore --continue",
                "or omit 'index'",
            ]
        );
        let older = failure(
            failed("refused", "no", &["undo that one: git checkpoint undo --older"]),
            "undo",
        );
        assert_eq!(older.hints, ["undo that one: call again with 'older' true"]);
        let claim = "take it over: git checkpoint claim auth --force";
        assert_eq!(failure(failed("refused", "no", &[claim]), "save").hints, [claim]);
    }

    #[test]
    fn whatever_is_wrong_with_arguments_has_one_code() {
        for code in ["invalid", "usage"] {
            let found = failure(failed(code, "no", &[]), "save");
            assert_eq!((found.code, found.meaning), ("usage", "the arguments are wrong"));
        }
        assert_eq!(failure(failed("invalid", "no", &[]), "save").exit_code, 129);
    }

    #[test]
    fn every_name_is_an_argument_of_its_tool() {
        for (command, option, argument) in OTHER_NAMES {
            let tool = find(&format!("checkpoint_{}", tool_of(command))).expect("a tool");
            let schema = (tool.input)();
            let mut at = &schema;
            for part in argument.split('.') {
                let next = &at["properties"][part];
                // The record takes members that its schema does not list.
                if next.is_null() && *argument != "record" && argument.starts_with("record.") {
                    break;
                }
                assert!(!next.is_null(), "{command} {option} {argument}");
                at = next;
            }
        }
    }
}
