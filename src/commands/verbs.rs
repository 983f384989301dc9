//! Verbs of other tools after a noun, such as `task rm 3`: the answer names the verb that the noun has, and no item with
//! that text is made.

use std::ffi::OsString;

use super::{
    Command,
    error::{CommandError, FailureKind},
    habits, shorthand,
};
use crate::model::{spelling::similar, step::quoted};

/// Commands with commands of their own.
const NOUNS: [&str; 25] = [
    "agent",
    "approval",
    "blocker",
    "check",
    "conflict",
    "context",
    "decision",
    "delegation",
    "fork-point",
    "hooks",
    "instruction",
    "iteration",
    "memory",
    "message",
    "note",
    "open-file",
    "partition",
    "phase",
    "question",
    "remote",
    "request",
    "state",
    "step",
    "task",
    "todo",
];

/// Verbs that mean the same to people, and the verbs of ours that do it, best first.
const VERBS: [(&[&str], &[&str]); 6] = [
    (
        &["rm", "remove", "delete", "del", "erase", "drop"],
        &["remove", "uninstall", "delete"],
    ),
    (&["ls", "list"], &["list", "status", "show", "get"]),
    (&["new", "create", "add"], &["ask", "add", "start", "set", "install"]),
    (&["edit", "change", "modify"], &["edit", "set"]),
    (
        &["done", "close", "complete", "finish", "resolve"],
        &["done", "resolve", "answer", "decide"],
    ),
    (&["show", "view", "get"], &["show", "get", "list"]),
];

/// Nouns with a verb of their own for one of these.
const OWN: [(&str, &str, &str); 2] = [("blocker", "done", "clear"), ("partition", "rm", "clear")];

/// Whether people know a word as a verb, and one for taking something away or ending it.
pub(super) fn meaning(word: &str) -> Option<VerbMeaning> {
    let (same, _) = VERBS.iter().find(|(same, _)| same.contains(&word))?;
    Some(match same.first() {
        Some(&"ls" | &"show") => VerbMeaning::Listing,
        Some(&"rm" | &"done") => VerbMeaning::Ending,
        _ => VerbMeaning::Other,
    })
}

/// Meaning of a verb of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VerbMeaning {
    /// Something is shown.
    Listing,
    /// Something is removed or done.
    Ending,
    /// Something is added or changed.
    Other,
}

/// The error for a verb that the noun does not have.
pub(super) fn mistaken(args: &[OsString]) -> Option<CommandError> {
    if let Some((phrase, line)) = habits::phrase(args) {
        let error = CommandError::new(FailureKind::Usage, format!("unknown command '{phrase}'"));
        return Some(error.hint(format!("did you mean: git checkpoint {line}")));
    }
    let at = shorthand::command_at(args)?;
    let noun = args[at].to_str().filter(|noun| NOUNS.contains(noun))?;
    let verb = shorthand::first_word(&args[at + 1..])?;
    let known = VERBS.iter().find(|(same, _)| same.contains(&verb));
    let definition = Command::definition(noun)?;
    let has = |name: &str| {
        let mut commands = definition.get_subcommands();
        commands.any(|command| command.get_name() == name || command.get_all_aliases().any(|alias| alias == name))
    };
    if !definition.has_subcommands() || has(verb) {
        return None;
    }
    let names = || {
        let listed = definition.get_subcommands().filter(|command| !command.is_hide_set());
        let names: Vec<&str> = listed.map(clap::Command::get_name).collect();
        format!("'{noun}' has the commands: {}", names.join(", "))
    };
    let error = CommandError::new(FailureKind::Usage, format!("unknown command '{noun} {verb}'"));
    let Some((same, ours)) = known else {
        // A word before the number of an item is no text.
        let next = args[at + 1..].iter().skip_while(|arg| *arg != verb).nth(1);
        let is_item = next.is_some_and(|next| next.to_str().is_some_and(shorthand::is_number));
        let is_word = !verb.contains(char::is_whitespace) && definition.get_positionals().count() < 2;
        // For one that is nearly a command the parser names that command.
        let is_near = || similar(verb, definition.get_subcommands().map(clap::Command::get_name)).is_some();
        return (is_item && is_word && !is_near()).then(|| {
            let error = error.hint(names()).hint("or quote a text of several words");
            error.hint(format!("see: git checkpoint help {noun}"))
        });
    };
    let own = OWN
        .iter()
        .find(|(of, meaning, _)| *of == noun && same.contains(meaning));
    let meant = match own {
        Some((_, _, name)) => Some(*name),
        None => ours.iter().copied().find(|name| has(name)),
    };
    let place = at + 1 + args[at + 1..].iter().position(|arg| arg == verb)?;
    // A list takes no item.
    let takes_item = |name: &str| {
        let sub = definition.find_subcommand(name);
        sub.is_some_and(|sub| sub.get_positionals().next().is_some())
    };
    let command = |with: &str| {
        let (before, rest) = (&args[at + 1..place], &args[place + 1..]);
        let is_kept = |arg: &&OsString| takes_item(with) || arg.as_encoded_bytes().starts_with(b"-");
        let words = before.iter().chain(rest.iter().filter(is_kept));
        let words = words.map(|arg| quoted(&arg.to_string_lossy()));
        let mut words: Vec<String> = words.collect();
        words.insert(before.len(), with.to_owned());
        format!("git checkpoint {noun} {}", words.join(" "))
    };
    let error = match meant {
        Some(meant) => error.hint(format!("did you mean: {}", command(meant))),
        None => error.hint(names()),
    };
    Some(error.hint(format!("see: git checkpoint help {noun}")))
}

#[cfg(test)]
mod tests {
    use super::mistaken;

    fn hints(line: &str) -> Option<String> {
        let args = std::iter::once("x").chain(line.split(' ')).map(Into::into);
        mistaken(&args.collect::<Vec<_>>()).map(|error| error.hints().join("\n"))
    }

    #[test]
    fn the_verb_that_the_noun_has_is_named() {
        for (line, meant) in [
            ("task rm 3", "git checkpoint task remove 3"),
            ("task delete 3", "git checkpoint task remove 3"),
            ("todo del 1", "git checkpoint todo remove 1"),
            ("todo close 1", "git checkpoint todo done 1"),
            ("todo ls", "git checkpoint todo list"),
            ("todo show 3 --json", "git checkpoint todo list --json"),
            ("task complete 'a b'", "git checkpoint task done"),
            ("question close 2", "git checkpoint question answer 2"),
            ("blocker done 1", "git checkpoint blocker clear 1"),
            ("decision rm 1", "git checkpoint decision remove 1"),
            ("approval new x", "git checkpoint approval ask x"),
            ("step new x", "git checkpoint step start x"),
            ("hooks rm", "git checkpoint hooks uninstall"),
            ("partition delete ana", "git checkpoint partition clear ana"),
            ("state show", "git checkpoint state get"),
            ("--json todo -q rm 1", "git checkpoint todo -q remove 1"),
        ] {
            let hints = hints(line).unwrap_or_default();
            assert!(hints.contains(meant), "{line}: {hints}");
        }
    }

    #[test]
    fn where_there_is_none_the_commands_are_named() {
        for line in [
            "todo edit 1",
            "decision done 1",
            "context rm x",
            "task set 1 x",
            "todo raise 2",
            "decision -q note 3 'a b'",
        ] {
            let hints = hints(line).unwrap_or_default();
            assert!(hints.contains("has the commands: "), "{line}: {hints}");
        }
    }

    #[test]
    fn real_verbs_and_texts_pass() {
        for line in [
            "task drop 1",
            "task remove 1",
            "task done 1",
            "blocker remove 1",
            "todo tell",
            "todo",
            "todo list",
            "decision x",
            "save rm",
            "approval add x",
            "task 'step 1'",
            "state set a 1",
            "question answer 1 a",
            "task add 1",
        ] {
            assert_eq!(hints(line), None, "{line}");
        }
    }
}
