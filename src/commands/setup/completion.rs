//! Completion of the command line, for the shells: sub-commands, options and values from the command's own definition,
//! sessions and checkpoints live from the repository. And the scripts that ask for it.
//!
//! The scripts are thin: they pass the words on and show what comes back, one candidate a line. They register nothing
//! for the command `git`; git's own completion finds them by their names.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use clap::{Command, ValueHint};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};

use crate::commands::help;
use crate::model::item::ItemKind;
use crate::render::{escape, schemas};
use crate::tokens::models;

/// Shells with a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(super) enum Shell {
    /// bash, through git's own completion.
    Bash,
    /// zsh.
    Zsh,
    /// fish.
    Fish,
}

impl Shell {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Bash, Self::Zsh, Self::Fish];

    /// The script.
    pub(super) fn script(self) -> &'static str {
        match self {
            Self::Bash => include_str!("git-checkpoint.bash"),
            Self::Zsh => include_str!("_git-checkpoint"),
            Self::Fish => include_str!("git-checkpoint.fish"),
        }
    }

    /// The file's name, by which the shell or git's completion finds it.
    pub(super) fn file(self) -> &'static str {
        match self {
            Self::Bash => "git-checkpoint",
            Self::Zsh => "_git-checkpoint",
            Self::Fish => "git-checkpoint.fish",
        }
    }
}

/// Kind of a value, found by the argument's name in the command's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// A session's name: an argument called `session`.
    Session,
    /// A deleted session's name: an argument called `session` of `undelete`.
    DeletedSession,
    /// Anything that names a checkpoint: an argument called `selector`, `old`, `new`, `a` or `b`.
    Selector,
    /// An item of the record: an argument called `item` or `depends_on` of the command that deals with such items.
    Item(&'static ItemKind),
    /// A remote's name: an argument called `remote`.
    Remote,
    /// A step of the session that commands mean: an argument called `step`, `from`, `again` or `uses`.
    Step,
    /// An option of a fork point: an argument called `options` of `fork`, or `key` of `fork-point`.
    ForkOption,
    /// A checkpoint, or a file where no checkpoint begins so: an argument called `what` of `tokens`.
    SelectorOrPath,
    /// An agent that sessions have: an argument called `agent` of `list`.
    Agent,
    /// A branch that sessions were saved on: an argument called `branch` of `list`.
    Branch,
    /// Words that are offered but not the only ones: an argument called `style`, `model`, or `status` of `check`.
    Words(&'static [&'static str]),
}

/// Forms of dates.
const DATES: &[&str] = &["relative", "iso", "iso-strict", "short", "unix", "human", "format:"];

impl ValueKind {
    fn of(argument: &str, command: &str) -> Option<Self> {
        match argument {
            "item" | "depends_on" => ItemKind::of(command).map(Self::Item),
            "session" if command == "undelete" => Some(Self::DeletedSession),
            "session" | "sessions" => Some(Self::Session),
            "selectors" if command == "delete" => Some(Self::Session),
            "remote" => Some(Self::Remote),
            "selector" | "selectors" | "old" | "new" | "a" | "b" => Some(Self::Selector),
            "options" if command == "fork" => Some(Self::ForkOption),
            "key" if command == "fork-point" => Some(Self::ForkOption),
            "step" | "from" | "again" | "uses" => Some(Self::Step),
            "what" if command == "tokens" => Some(Self::SelectorOrPath),
            "agent" if command == "list" => Some(Self::Agent),
            "branch" if command == "list" => Some(Self::Branch),
            "status" if command == "check" => Some(Self::Words(&["pass", "fail", "skipped"])),
            "style" => Some(Self::Words(DATES)),
            "model" if matches!(command, "tokens" | "request") => Some(Self::Words(models::KNOWN)),
            _ => None,
        }
    }
}

/// A value and one line about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CompletionValue {
    /// Text that is put on the command line.
    pub(super) value: String,
    /// Description, may be empty.
    pub(super) help: String,
}

impl CompletionValue {
    /// One that needs no words.
    fn plain(value: &str) -> Self {
        Self {
            value: value.to_owned(),
            help: String::new(),
        }
    }
}

/// Gives the values of a kind that there are now, in the order to show, for what was typed so far. They need not begin
/// with it.
pub(super) type ValueSource = Arc<dyn Fn(ValueKind, &str) -> Vec<CompletionValue> + Send + Sync>;

/// In a candidate's value: here the shell completes paths itself, with its own rules for `~`, variables and quotes.
const PATHS: &str = "\u{1}";

/// The candidates for the word at `index` of `words`, of which the first is the program. A value that is empty asks the
/// shell for paths.
pub(super) fn candidates(
    command: &Command,
    mut words: Vec<OsString>,
    index: usize,
    cwd: &Path,
    live: &ValueSource,
) -> Vec<CompletionValue> {
    // The word may not have been begun yet.
    words.resize(words.len().max(index + 1), OsString::new());
    let current = words[index].to_string_lossy().into_owned();
    if let Some(topics) = topics(command, &words[..index]) {
        let begin = |topic: &CompletionValue| topic.value.starts_with(&current);
        return topics.into_iter().filter(begin).collect();
    }
    let mut command = with_values(command.clone(), live, None);
    let Ok(found) = complete(&mut command, words, index, Some(cwd)) else {
        return Vec::new();
    };
    let mut out: Vec<CompletionValue> = found.iter().filter_map(|c| candidate(c, &command)).collect();
    // Like git: options only after a dash, unless there is nothing else.
    if !current.starts_with('-') && out.iter().any(|c| !c.value.starts_with('-')) {
        out.retain(|c| !c.value.starts_with('-'));
    }
    if let Some(paths) = out.iter().position(|c| c.value.is_empty()) {
        out = vec![out.swap_remove(paths)];
    }
    out.retain(|c| c.value.is_empty() || c.value.starts_with(&current));
    out
}

/// Completions of `help`: commands and pages, and behind `schemas` the schemas. `None` for other commands.
fn topics(command: &Command, before: &[OsString]) -> Option<Vec<CompletionValue>> {
    let words: Vec<_> = before.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    let words: Vec<&str> = words
        .iter()
        .map(AsRef::as_ref)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let (first, rest) = words.split_first()?;
    if *first != "help" {
        return None;
    }
    let plain = |value: &str, help: String| CompletionValue {
        value: value.to_owned(),
        help,
    };
    if rest == ["schemas"] {
        return Some(
            schemas::names()
                .map(|name| plain(name, schemas::title(name).unwrap_or_default()))
                .collect(),
        );
    }
    let mut found = command;
    for word in rest {
        found = found.find_subcommand(word)?;
    }
    let commands = found.get_subcommands().filter(|sub| !sub.is_hide_set());
    let about = |sub: &Command| sub.get_about().map(ToString::to_string).unwrap_or_default();
    let mut out: Vec<_> = commands.map(|sub| plain(sub.get_name(), about(sub))).collect();
    if rest.is_empty() {
        out.extend(help::pages().map(|(name, about)| plain(name, about.to_owned())));
    }
    Some(out)
}

/// The candidates as the scripts read them: value, tab, help; one a line.
pub(super) fn lines(candidates: &[CompletionValue]) -> String {
    candidates.iter().fold(String::new(), |out, c| {
        out + &c.value + "\t" + &escape::line(&c.help) + "\n"
    })
}

fn candidate(found: &CompletionCandidate, command: &Command) -> Option<CompletionValue> {
    let value = found.get_value().to_str()?;
    if value.ends_with(PATHS) {
        return Some(CompletionValue {
            value: String::new(),
            help: "paths".to_owned(),
        });
    }
    // A value that a terminal or the protocol would not take as it is cannot be offered.
    if value.is_empty() || value.contains(escape::is_hidden) {
        return None;
    }
    let help = found.get_help().map(ToString::to_string).unwrap_or_default();
    let help = help.lines().next().unwrap_or_default().to_owned();
    // A long option that must have a value is only complete with its equals sign.
    let value = if needs_value(command, value) {
        format!("{value}=")
    } else {
        value.to_owned()
    };
    Some(CompletionValue { value, help })
}

/// Whether every long option of this name, in all commands, takes a value that may not be left out.
fn needs_value(command: &Command, value: &str) -> bool {
    fn collect(command: &Command, long: &str, out: &mut Vec<bool>) {
        out.extend(
            command
                .get_arguments()
                .filter(|a| a.get_long() == Some(long))
                .map(|a| a.get_action().takes_values() && a.get_num_args().is_none_or(|n| n.min_values() > 0)),
        );
        command.get_subcommands().for_each(|sub| collect(sub, long, out));
    }
    let Some(long) = value.strip_prefix("--").filter(|l| !l.contains('=')) else {
        return false;
    };
    let mut all = Vec::new();
    collect(command, long, &mut all);
    !all.is_empty() && all.into_iter().all(|needs| needs)
}

/// The command with live values and the shell's own paths attached to the arguments that take them.
///
/// `of` is the command of the first level that it belongs to.
fn with_values(command: Command, live: &ValueSource, of: Option<&str>) -> Command {
    let top = of.unwrap_or_default().to_owned();
    command
        .mut_args(|arg| {
            // Where the definition has a list of values, that is what is offered.
            let listed = !arg.get_possible_values().is_empty();
            let kind = ValueKind::of(arg.get_id().as_str(), &top).filter(|_| !listed);
            let is_path = matches!(
                arg.get_value_hint(),
                ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath
            );
            if let Some(kind) = kind {
                let live = Arc::clone(live);
                arg.add(ArgValueCompleter::new(move |current: &OsStr| {
                    values(&live, kind, current)
                }))
            } else if is_path {
                arg.add(ArgValueCompleter::new(|_: &OsStr| {
                    vec![CompletionCandidate::new(PATHS)]
                }))
            } else {
                arg
            }
        })
        .mut_subcommands(|sub| {
            let name = of.unwrap_or(sub.get_name()).to_owned();
            with_values(sub, live, Some(&name))
        })
}

fn values(live: &ValueSource, kind: ValueKind, current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let found = match kind {
        ValueKind::Words(words) => words.iter().map(|word| CompletionValue::plain(word)).collect(),
        kind => live(kind, current),
    };
    let found: Vec<_> = found.into_iter().filter(|c| c.value.starts_with(current)).collect();
    if found.is_empty() && kind == ValueKind::SelectorOrPath {
        return vec![CompletionCandidate::new(PATHS)];
    }
    found
        .into_iter()
        .enumerate()
        .map(|(place, c)| {
            CompletionCandidate::new(c.value)
                .help(Some(c.help.into()))
                .display_order(Some(place))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        let session = || clap::Arg::new("session");
        let attach = clap::Arg::new("attach").long("attach").value_hint(ValueHint::FilePath);
        Command::new("git-checkpoint")
            .disable_help_subcommand(true)
            .arg(
                clap::Arg::new("color")
                    .long("color")
                    .num_args(0..=1)
                    .value_parser(["auto", "always"])
                    .global(true),
            )
            .subcommand(
                Command::new("save")
                    .about("save now\x1b")
                    .arg(session().long("session"))
                    .arg(clap::Arg::new("summary").short('s').long("summary"))
                    .arg(attach),
            )
            .subcommand(Command::new("resume").arg(clap::Arg::new("selector")))
            .subcommand(
                Command::new("log")
                    .arg(session())
                    .arg(clap::Arg::new("style").long("date")),
            )
            .subcommand(
                Command::new("import").arg(clap::Arg::new("from").long("from").value_parser(["dagent", "folder"])),
            )
            .subcommand(Command::new("tokens").arg(clap::Arg::new("what")))
            .subcommand(Command::new("help").arg(clap::Arg::new("words").num_args(0..)))
            .subcommand(Command::new("compare").args([clap::Arg::new("a"), clap::Arg::new("b")]))
            .subcommand(Command::new("delete").arg(clap::Arg::new("selectors").num_args(1..)))
            .subcommand(Command::new("undelete").arg(clap::Arg::new("session")))
            .subcommand(
                Command::new("task")
                    .subcommand(Command::new("add"))
                    .subcommand(Command::new("done").arg(clap::Arg::new("item"))),
            )
    }

    fn complete(words: &[&str]) -> Vec<String> {
        let live: ValueSource = Arc::new(|kind, _| {
            let names: &[&str] = match kind {
                ValueKind::Session => &["auth-refactor", "ci-speedup"],
                ValueKind::DeletedSession => &["abandoned"],
                ValueKind::Remote => &["origin"],
                ValueKind::Selector => &["auth-refactor", "@", "7f3ad2e1", "bad\x1bname"],
                ValueKind::Step => &["k3j2abcd"],
                ValueKind::ForkOption => &["nom"],
                ValueKind::Item(kind) if kind.list == "tasks" => &["k3v9x2ab"],
                ValueKind::SelectorOrPath => &["auth-refactor"],
                ValueKind::Agent => &["opus"],
                ValueKind::Branch => &["main"],
                ValueKind::Item(_) | ValueKind::Words(_) => &[],
            };
            names
                .iter()
                .map(|n| CompletionValue {
                    value: (*n).to_owned(),
                    help: format!("about {n}"),
                })
                .collect()
        });
        let words: Vec<OsString> = ["git-checkpoint"].iter().chain(words).map(OsString::from).collect();
        let index = words.len() - 1;
        candidates(&command(), words, index, Path::new("/"), &live)
            .into_iter()
            .map(|c| c.value)
            .collect()
    }

    #[test]
    fn commands_options_and_live_values() {
        let all = [
            "save", "resume", "log", "import", "tokens", "help", "compare", "delete", "undelete", "task",
        ];
        assert_eq!(complete(&[""]), all);
        assert_eq!(complete(&["log", "--date", "iso"]), ["iso", "iso-strict"]);
        // Not a step, though an argument of this name is one elsewhere.
        assert_eq!(complete(&["import", "--from", ""]), ["dagent", "folder"]);
        assert_eq!(complete(&["undelete", ""]), ["abandoned"]);
        assert_eq!(complete(&["tokens", "au"]), ["auth-refactor"]);
        assert_eq!(complete(&["tokens", "no"]), [""]);
        assert_eq!(complete(&["help", "sa"]), ["save", "safety"]);
        assert_eq!(complete(&["help", "exit"]), ["exit-codes"]);
        assert_eq!(complete(&["help", "task", ""]), ["add", "done"]);
        assert_eq!(complete(&["help", "schemas", "verif"]), ["verify"]);
        assert_eq!(complete(&["re"]), ["resume"]);
        assert_eq!(complete(&["task", ""]), ["add", "done"]);
        assert_eq!(complete(&["resume", ""]), ["auth-refactor", "@", "7f3ad2e1"]);
        assert_eq!(complete(&["task", "done", ""]), ["k3v9x2ab"]);
        assert_eq!(complete(&["resume", "7"]), ["7f3ad2e1"]);
        assert_eq!(complete(&["log", "c"]), ["ci-speedup"]);
        assert_eq!(complete(&["compare", "7"]), ["7f3ad2e1"]);
        assert_eq!(complete(&["compare", "auth-refactor", "7"]), ["7f3ad2e1"]);
        assert_eq!(complete(&["delete", ""]), ["auth-refactor", "ci-speedup"]);
        assert_eq!(complete(&["delete", "auth-refactor", "c"]), ["ci-speedup"]);
        assert_eq!(complete(&["save", "--s"]), ["--session=", "--summary="]);
        assert_eq!(complete(&["save", "--session", "a"]), ["auth-refactor"]);
        assert_eq!(complete(&["save", "--session=a"]), ["--session=auth-refactor"]);
        assert_eq!(complete(&["save", "-s", "\"a b\"", "--att"]), ["--attach="]);
        assert_eq!(complete(&["--col"]), ["--color"]);
        assert_eq!(complete(&["save", "--color=al"]), ["--color=always"]);
        assert_eq!(complete(&["nonsense", "x"]), Vec::<String>::new());
    }

    #[test]
    fn paths_are_left_to_the_shell() {
        assert_eq!(complete(&["save", "--attach", "a"]), [""]);
        assert_eq!(complete(&["save", "--attach=a"]), [""]);
    }

    #[test]
    fn a_line_is_value_tab_help() {
        let candidates = [CompletionValue {
            value: "save".into(),
            help: "save now\x1b\n".into(),
        }];
        assert_eq!(lines(&candidates), "save\tsave now\\x1b\\n\n");
    }
}
