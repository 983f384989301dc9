//! Shorter ways to type a command: what is meant is put into the arguments before they are parsed.

use std::ffi::OsString;

use super::Command;
use crate::model::spelling::similar;

/// Nouns whose text may follow directly, and the command that takes it: `todo 'tell ops'` for `todo add 'tell ops'`.
const NOUNS: [(&str, &str); 7] = [
    ("approval", "ask"),
    ("fork-point", "add"),
    ("todo", "add"),
    ("task", "add"),
    ("blocker", "add"),
    ("instruction", "add"),
    ("memory", "add"),
];

/// Nouns that show what there is when nothing follows them.
const SHOWN: [(&str, &str); 5] = [
    ("state", "get"),
    ("context", "show"),
    ("step", "list"),
    ("message", "list"),
    ("hooks", "status"),
];

/// Commands that take a number of entries as git does: `log -3`.
const COUNTED: [&str; 1] = ["log"];

/// Commands that save, whose `-n` was once followed by the text of a next step.
const SAVING: [&str; 2] = ["save", "pause"];

/// Hidden option of these commands that gets the text after `-n`, so that the answer can show it in the right command.
pub(super) const DRY_RUN_TEXT: &str = "dry-run-text";

/// Options of these commands whose value is the next argument, whatever it begins with.
const TAKES_TEXT: [&str; 16] = [
    "-m",
    "--message",
    "--summary",
    "-s",
    "-F",
    "--file",
    "-a",
    "--accomplishment",
    "-x",
    "--next",
    "--next-step",
    "-d",
    "--decision",
    "-b",
    "--blocker",
    "--todo",
];

/// The arguments with the words that were left out.
pub(super) fn spelled_out(mut args: Vec<OsString>) -> Vec<OsString> {
    let Some(at) = command_at(&args) else { return args };
    let Some(name) = args[at].to_str().map(str::to_owned) else {
        return args;
    };
    if let Some((_, verb)) = NOUNS.iter().find(|(noun, _)| *noun == name) {
        let next = first_word(&args[at + 1..]);
        if next == Some("--open") {
            args.insert(at + 1, "list".into());
        } else if next.is_some_and(|word| is_text(&name, word)) {
            args.insert(at + 1, verb.into());
        }
    } else if let Some((_, verb)) = SHOWN.iter().find(|(noun, _)| *noun == name) {
        if args[at + 1..].iter().all(is_output_option) {
            args.insert(at + 1, verb.into());
        }
    } else if SAVING.contains(&name.as_str()) {
        mark_dry_run_text(&mut args, at + 1);
    } else if COUNTED.contains(&name.as_str()) {
        let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
        for arg in &mut args[at + 1..end] {
            if let Some(count) = arg
                .to_str()
                .and_then(|arg| arg.strip_prefix('-'))
                .filter(|rest| is_number(rest))
            {
                *arg = format!("--max-count={count}").into();
            }
        }
    }
    args
}

/// Marks a word that directly follows `-n`.
fn mark_dry_run_text(args: &mut Vec<OsString>, from: usize) {
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let is_value = |at: usize| TAKES_TEXT.iter().any(|option| args[at - 1] == *option);
    let is_text = |at: usize| !args[at].is_empty() && !args[at].as_encoded_bytes().starts_with(b"-");
    let found = (from..end.saturating_sub(1)).find(|at| args[*at] == "-n" && !is_value(*at) && is_text(*at + 1));
    if let Some(at) = found {
        let text = args.remove(at + 1);
        let mut marked = OsString::from(format!("--{DRY_RUN_TEXT}="));
        marked.push(text);
        args[at] = marked;
    }
}

/// The first word after a noun that is neither an option of every command nor one that names a session or an agent.
pub(super) fn first_word(args: &[OsString]) -> Option<&str> {
    let mut args = args.iter();
    loop {
        let arg = args.next()?;
        match arg.to_str() {
            Some("--session" | "--agent") => drop(args.next()),
            Some(text) if text.starts_with("--session=") || text.starts_with("--agent=") => {}
            _ if is_output_option(arg) => {}
            text => return text,
        }
    }
}

/// Where the name of the command is: the first argument that is no option.
pub(super) fn command_at(args: &[OsString]) -> Option<usize> {
    let at = args
        .iter()
        .skip(1)
        .position(|arg| !arg.as_encoded_bytes().starts_with(b"-"))?
        + 1;
    args[1..at].iter().all(is_output_option).then_some(at)
}

/// Whether an argument is an option of every command that takes no value from the next argument.
fn is_output_option(arg: &OsString) -> bool {
    let arg = arg.as_encoded_bytes();
    let letters = |arg: &[u8]| arg.len() > 1 && arg[1..].iter().all(|letter| b"qv".contains(letter));
    let long = [
        "--json",
        "--color",
        "--no-pager",
        "--verbose",
        "--quiet",
        "--progress",
        "--no-progress",
        "--advice",
    ];
    let long = || {
        let name = arg.split(|byte| *byte == b'=').next().unwrap_or_default();
        name == b"--no-advice" || long.iter().any(|option| option.as_bytes() == name)
    };
    arg.starts_with(b"-") && ((!arg.starts_with(b"--") && letters(arg)) || long())
}

/// Whether a word is the text of an item: no option, no command of the noun, and nothing that looks like a mistyped one.
fn is_text(noun: &str, word: &str) -> bool {
    if word.is_empty() || word.starts_with('-') {
        return false;
    }
    if word.contains(char::is_whitespace) {
        return true;
    }
    let Some(definition) = Command::definition(noun) else {
        return false;
    };
    let mut names: Vec<&str> = Vec::new();
    for sub in definition.get_subcommands() {
        names.push(sub.get_name());
        names.extend(sub.get_all_aliases());
    }
    names.push("help");
    !names.contains(&word) && similar(word, names.into_iter()).is_none()
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(line: &[&str]) -> String {
        let args = std::iter::once("x").chain(line.iter().copied()).map(OsString::from);
        let args = spelled_out(args.collect());
        let words = args.into_iter().skip(1).map(|arg| arg.into_string().unwrap());
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_noun_takes_its_text_directly() {
        for (line, meant) in [
            (&["todo", "tell ops"][..], "todo add tell ops"),
            (&["task", "port", "--agent", "ana"], "task add port --agent ana"),
            (&["--json", "blocker", "no access"], "--json blocker add no access"),
            (&["memory", "notes/auth.md"], "memory add notes/auth.md"),
            (&["approval", "deploy?"], "approval ask deploy?"),
            (&["approval", "answer", "1", "approve"], "approval answer 1 approve"),
            (&["todo", "-q", "tell ops"], "todo add -q tell ops"),
            (
                &["todo", "--session", "list", "tell ops"],
                "todo add --session list tell ops",
            ),
            (
                &["task", "--agent=ana", "--json", "port it"],
                "task add --agent=ana --json port it",
            ),
            (&["todo", "-q", "list"], "todo -q list"),
            (&["todo", "-q"], "todo -q"),
            (&["todo", "add", "x"], "todo add x"),
            (&["todo", "list"], "todo list"),
            (&["todo"], "todo"),
            (&["todo", "--open"], "todo list --open"),
            // A mistyped command is no text.
            (&["todo", "dnoe", "1"], "todo dnoe 1"),
            (&["task", "lst"], "task lst"),
            (&["blocker", "remove", "1"], "blocker remove 1"),
            // The word may be another command's.
            (&["save", "-m", "todo"], "save -m todo"),
        ] {
            assert_eq!(spelled(line), meant);
        }
    }

    #[test]
    fn a_noun_alone_shows_what_there_is() {
        assert_eq!(spelled(&["state"]), "state get");
        assert_eq!(spelled(&["step", "--json"]), "step list --json");
        assert_eq!(spelled(&["hooks", "install"]), "hooks install");
        assert_eq!(spelled(&["hooks", "-h"]), "hooks -h");
    }

    #[test]
    fn a_text_after_the_letter_of_a_dry_run_is_marked() {
        for (line, meant) in [
            (&["save", "-n", "foo"][..], "save --dry-run-text=foo"),
            (
                &["pause", "--clean", "-n", "why it"],
                "pause --clean --dry-run-text=why it",
            ),
            (&["save", "-n"], "save -n"),
            (&["save", "-n", "-m", "foo"], "save -n -m foo"),
            (&["save", "foo bar", "-n"], "save foo bar -n"),
            (&["save", "-m", "-n", "foo"], "save -m -n foo"),
            (&["save", "--", "-n", "foo"], "save -- -n foo"),
            (&["start", "-n", "foo"], "start -n foo"),
        ] {
            assert_eq!(spelled(line), meant);
        }
    }

    #[test]
    fn a_number_counts_as_in_git() {
        assert_eq!(spelled(&["log", "-3", "auth"]), "log --max-count=3 auth");
        assert_eq!(spelled(&["log", "--", "-3"]), "log -- -3");
        assert_eq!(spelled(&["list", "-3"]), "list -3");
    }
}
