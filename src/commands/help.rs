//! `help`: the help of every command, guides, and reference pages that are made from the program itself: exit codes,
//! settings, the schemas of `--json`.
//!
//! Everything comes from one source that the manual pages are made from as well. A command needs no line here; a guide
//! needs its file and its line in [`GUIDES`].

use std::fmt::Write as _;

use clap::Command;

use super::{
    Context,
    environment::Environment,
    error::{CommandError, FailureKind},
    groups::{self, page_lines},
    layout,
    opening::{self, IdentityArgs},
    parse,
    ui::{OutputOptions, Streams, Ui},
};
use crate::{
    os,
    render::{
        guide,
        help::{CommandDescription, HelpView},
        schemas,
        text::{Text, TextLine},
    },
    store::config::{self, SETTINGS},
};

/// Show the help of a command, a guide, or a reference page
///
/// Without a topic: all commands. A terminal opens the manual page if it is installed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = concat!("\
Examples:
  A command:
    git checkpoint help save
  Interfaces for scripts:
    git checkpoint help exit-codes
    git checkpoint help schemas
    git checkpoint help schemas receipt >receipt.schema.json
  All settings, and their values here:
    git checkpoint help settings

Pages besides those of commands:
", page_lines!()))]
pub(super) struct Args {
    /// A command, or the name of a page
    #[arg(value_name = "TOPIC")]
    words: Vec<String>,
    /// List all commands, as without a topic
    #[arg(short, long, conflicts_with = "words")]
    all: bool,
}

/// A page of prose.
pub(super) struct Guide {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// Subject in a few words.
    pub(super) about: &'static str,
    /// The section of the manual it belongs to.
    pub(super) section: u8,
    /// Its text.
    pub(super) source: &'static str,
}

/// The page for coding agents, which is also the text of their skill.
pub(super) const SKILL: &str = "skill";

/// All of them, in the order in which they are listed.
pub(super) const GUIDES: &[Guide] = &[
    Guide {
        name: "tutorial",
        about: "from the first save to two approaches at once",
        section: 7,
        source: include_str!("guides/tutorial.md"),
    },
    Guide {
        name: "record",
        about: "everything that a record can hold, in one JSON",
        section: 7,
        source: include_str!("guides/record.md"),
    },
    Guide {
        name: "finding",
        about: "search, file history, blame, bisect, statistics",
        section: 7,
        source: include_str!("guides/finding.md"),
    },
    Guide {
        name: "sharing",
        about: "hand a session over through a remote",
        section: 7,
        source: include_str!("guides/sharing.md"),
    },
    Guide {
        name: "scripting",
        about: "scripts, agents, JSON, the shell prompt",
        section: 7,
        source: include_str!("guides/scripting.md"),
    },
    Guide {
        name: SKILL,
        about: "for agents: when to save, go back, fork and resume",
        section: 7,
        source: include_str!("guides/skill.md"),
    },
    Guide {
        name: "safety",
        about: "promises, tests, limits, removing everything",
        section: 7,
        source: include_str!("guides/safety.md"),
    },
    Guide {
        name: "plain-git",
        about: "the same with git alone",
        section: 7,
        source: include_str!("guides/plain-git.md"),
    },
    Guide {
        name: "install",
        about: "manual pages, completion, static binaries",
        section: 7,
        source: include_str!("guides/install.md"),
    },
    Guide {
        name: "architecture",
        about: "how it works, and why it can be trusted",
        section: 7,
        source: include_str!("guides/architecture.md"),
    },
    Guide {
        name: "recovery",
        about: "what to do when something went wrong",
        section: 7,
        source: include_str!("guides/recovery.md"),
    },
    Guide {
        name: "compaction",
        about: "long chats, and how they fit",
        section: 7,
        source: include_str!("guides/compaction.md"),
    },
    Guide {
        name: "migration",
        about: "import sessions from other tools",
        section: 7,
        source: include_str!("guides/migration.md"),
    },
    Guide {
        name: "troubleshooting",
        about: "what messages mean, and what to do",
        section: 7,
        source: include_str!("guides/troubleshooting.md"),
    },
    Guide {
        name: "format",
        about: "how sessions are stored",
        section: 5,
        source: include_str!("../store/FORMAT.md"),
    },
];

/// Pages that are made from the program itself.
const REFERENCE: [&str; 5] = ["names", "options", "exit-codes", "settings", "schemas"];

/// The rules for names.
const NAMES: &str = "\
# Names

A session or a checkpoint has a name of 1 to 64 characters: lower-case letters from `a` to `z`, digits, `.`, `_` and \
`-`. The first one is a letter or a digit.

Refused are `..`, a `.` or `.lock` at the end, and reserved names: of git `head` and what ends in `_head`, of Windows \
`con`, `aux`, `nul`, `prn`, `com1` to `com9` and `lpt1` to `lpt9`, also with an extension.

Wherever a session is named (`start`, `rename`, `fork --name`, `pull`, `import --session`, `--session`), the name of a \
branch will do. It is made a valid name, and a note says so: capitals become lower case, accents are removed, other \
characters become one `-`.

| `feature/Login` | `feature-login` |
| `fix_\u{dc}ber` | `fix_uber` |

Everything else is refused, and the error proposes a valid name. A session that is started without a name gets that of \
its branch, with a number if another session has it.
";

/// Runs it.
pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let words = args.words.iter().filter(|_| !args.all);
    let words: Vec<&str> = words.map(String::as_str).collect();
    let command = super::program(&context.env);
    // Pages of prose need no more than the names of the commands.
    let command = match words.first() {
        None | Some(&("commands" | "options")) => parse::built(&command, None),
        Some(name) if find(&command, &words).is_some() => parse::built(&command, Some(name)),
        Some(_) => command,
    };
    if let Some(found) = find(&command, &words) {
        let page = ["git-checkpoint"]
            .iter()
            .chain(words.first())
            .copied()
            .collect::<Vec<_>>();
        let text = layout::page(found, &words, true, context.ui.width().clamp(40, 80));
        let mut text = Text::block(&text);
        // An agent that asks for help as an agent means itself.
        if let (["agent"], Some(skill)) = (&*words, GUIDES.iter().find(|guide| guide.name == SKILL)) {
            text.push(TextLine::new());
            text.append(guide::text(skill.source, context.ui.width().min(80)));
        }
        return show(context, &words, text, Some(found), &page.join("-"));
    }
    let guide = GUIDES.iter().find(|guide| [guide.name] == *words);
    let columns = context.ui.width().min(80);
    match (words.as_slice(), guide) {
        (_, Some(guide)) => {
            let text = guide::text(guide.source, columns);
            show(context, &words, text, None, &manual_name(guide))
        }
        (words, _) if groups::of_title(words).is_some() => {
            let group = groups::of_title(words).into_iter();
            let text: String = group
                .map(|title| groups::listed(&command, title, columns.clamp(40, 80)))
                .collect();
            show(context, words, Text::block(&text), None, "")
        }
        (["guides"], _) => show(context, &words, Text::block(&page_list()), None, ""),
        (["options"], _) => show(
            context,
            &words,
            Text::block(&layout::common_options(&command)),
            None,
            "",
        ),
        (["commands"], _) => {
            let text = layout::page(&command, &[], true, columns.clamp(40, 80));
            show(context, &words, Text::block(&text), None, "")
        }
        (["names"], _) => show(context, &words, guide::text(NAMES, columns), None, ""),
        (["exit-codes"], _) => show(context, &words, guide::text(&exit_codes(), columns), None, ""),
        (["settings"], _) => {
            let text = guide::text(&settings(&context.env), columns);
            show(context, &words, text, None, "")
        }
        (["schemas"], _) => show(context, &words, guide::text(&schema_list(), columns), None, ""),
        (["schemas", name], _) => match schemas::schema(name) {
            Some(schema) => {
                // A file for other programs, hence always on lines of its own.
                let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
                context.ui.bytes((text + "\n").as_bytes());
                Ok(())
            }
            None => Err(CommandError::new(FailureKind::NotFound, format!("no schema '{name}'"))
                .hint("see what there is: git checkpoint help schemas")),
        },
        _ => Err(unknown(&command, &words)),
    }
}

/// The command that these words lead to.
fn find<'c>(command: &'c Command, words: &[&str]) -> Option<&'c Command> {
    let mut found = command;
    for word in words {
        found = found.find_subcommand(word)?;
    }
    Some(found)
}

/// Shows a page: as JSON, through `man` where that has it and a person reads, else as it is.
fn show(
    context: &mut Context,
    words: &[&str],
    text: Text,
    command: Option<&Command>,
    page: &str,
) -> Result<(), CommandError> {
    if context.ui.options().json {
        return context.ui.json(&HelpView {
            topic: (!words.is_empty()).then(|| words.join(" ")),
            text: text.to_string(),
            command: command.map(description),
            topics: topics().collect(),
        });
    }
    if !manual(&context.ui, page) {
        context.ui.page();
        // The pages are made for these columns, and their examples are there to be copied.
        if context.ui.width() < 80 {
            context.ui.data(text);
        } else {
            context.ui.verbatim(&text);
        }
    }
    Ok(())
}

/// Opens the manual page of this name on the terminal, if that is where the output goes, and returns whether it did.
pub(super) fn manual(ui: &Ui, page: &str) -> bool {
    let wanted = ui.terminals().output && !ui.options().no_pager && !page.is_empty();
    wanted && os::has_manual(page) && os::show_manual(page).unwrap_or(false)
}

/// The name under which `man` knows a guide. Those of section 7 are found by 'git help checkpoint-tutorial' as well.
pub(super) fn manual_name(guide: &Guide) -> String {
    let join = if guide.section == 5 {
        "git-checkpoint"
    } else {
        "gitcheckpoint"
    };
    format!("{join}-{}", guide.name)
}

/// All pages that are not of commands, with what they are about.
pub(super) fn pages() -> impl Iterator<Item = (&'static str, &'static str)> {
    let made = [
        "names of sessions and checkpoints",
        "the options of every command",
        "what the exit codes mean",
        "the settings checkpoint.*",
        "the JSON schemas of --json",
    ];
    GUIDES
        .iter()
        .map(|guide| (guide.name, guide.about))
        .chain(REFERENCE.into_iter().zip(made))
}

/// The names of all pages that are not of commands.
pub(super) fn topics() -> impl Iterator<Item = &'static str> {
    GUIDES.iter().map(|guide| guide.name).chain(REFERENCE)
}

/// A command and everything below it, for programs that want to know what there is.
fn description(command: &Command) -> CommandDescription {
    let options = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !arg.is_global_set())
        .filter_map(|arg| arg.get_long().map(|long| format!("--{long}")));
    let usage = command.clone().render_usage().to_string();
    let commands = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    CommandDescription {
        name: command.get_name().to_owned(),
        about: command.get_about().map(ToString::to_string).unwrap_or_default(),
        usage: usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned(),
        aliases: command.get_visible_aliases().map(str::to_owned).collect(),
        options: options.collect(),
        commands: commands.map(description).collect(),
    }
}

fn unknown(command: &Command, words: &[&str]) -> CommandError {
    let word = words.join(" ");
    let error = CommandError::new(FailureKind::NotFound, format!("no command or page '{word}'"));
    let commands = command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set())
        .map(Command::get_name);
    if let Some(line) = super::habits::command(&word) {
        let name = line.split(' ').next().unwrap_or(line);
        return error.hint(format!("the most similar one: git checkpoint help {name}"));
    }
    match crate::model::spelling::similar(&word, commands.chain(topics().map(|topic| topic as &str))) {
        Some(near) => error.hint(format!("the most similar one: git checkpoint help {near}")),
        None => error.hint("see what there is: git checkpoint help"),
    }
}

fn exit_codes() -> String {
    let mut out = String::from(
        "# Exit codes\n\nScripts that need more detail use `error.code` of `--json`.\n\n| code | meaning |\n|---|---|\n",
    );
    for (code, meaning, words) in super::error::exit_codes() {
        let words = if words.is_empty() {
            String::new()
        } else {
            format!(" (`{}`)", words.join("`, `"))
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| `{code}` | {meaning}{words} |");
    }
    out
}

/// The settings, with the values in force inside a repository.
fn settings(env: &Environment) -> String {
    let ui = Ui::new(env, OutputOptions::default(), Streams::captured(b"").0);
    let mut quiet = Context {
        env: env.clone(),
        ui,
        is_last: false,
        visited: None,
    };
    let current = opening::open(&mut quiet, &IdentityArgs::default())
        .ok()
        .and_then(|opened| config::list(opened.scene().repo).ok());
    let mut out = String::from(
        "# Settings\n\nOrdinary configuration of git: `git config checkpoint.redact warn`, `includeIf`, and for one command \
         `git -c checkpoint.redact=warn checkpoint save`.\n\n",
    );
    for setting in SETTINGS {
        let default = if setting.default.is_empty() {
            String::new()
        } else {
            format!("default `{}`", setting.default)
        };
        let place = current
            .iter()
            .flatten()
            .find(|current| current.setting.name == setting.name)
            .and_then(|current| Some((current.values.join(" "), current.place.as_ref()?)))
            .map(|(value, place)| format!("here `{value}`, from {place}"))
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "| `checkpoint.{}` | {} | {default} | {place} |",
            setting.name,
            setting.doc.replace('|', "\\|")
        );
    }
    out
}

/// The pages there are besides those of commands, as the first page of the help ends with them.
pub(super) fn page_list() -> String {
    let mut out = String::from("Guides and reference pages:\n");
    for (name, about) in pages() {
        let _ = writeln!(out, "  {name:15}  {about}");
    }
    out + "  Read one with: git checkpoint help <name>\n"
}

fn schema_list() -> String {
    let mut out = String::from(
        "# Schemas\n\nWhat `--json` prints, as JSON Schema 2020-12; `git checkpoint help schemas receipt` prints one. The member \
         `schema` of each output names its own; errors and warnings have none and go to standard error. Ignore members \
         that you do not know: later versions add some.\n\nWith `--json=lines` what a command lists is printed an object a \
         line: the elements of the member that the schema names in `x-lines`. What else the document holds is left out; \
         where nothing is listed the document is one line.\n\n",
    );
    for name in schemas::names() {
        let title = schemas::title(name).unwrap_or_default();
        let lines = schemas::lines(name)
            .map(|member| format!(" (lines: `{member}`)"))
            .unwrap_or_default();
        let _ = writeln!(out, "| `{name}` | {title}{lines} |");
    }
    out
}
