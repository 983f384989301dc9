//! `fork-point`: a decision with options, each of which a fork may explore.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, Subcommand};
use serde_json::{Map, Value, json};

use super::{ChangeNotice, ItemArgs, ItemFields, ItemListArgs, JsonItems, SessionArg, some_text};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind as Failure},
        opening::IdentityArgs,
    },
    model::{item::id_of, name::ShortName},
    ops::{fork_points, items, suggestions::distance},
    render::{draft::DraftDetail, slot::Slot, text::TextLine},
};

/// Record a decision with its options
///
/// 'git checkpoint fork --option KEY' starts a session that explores an option; lists show which session that is.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
    git checkpoint fork-point add 'Which parser?' --decider ana \\
      --option nom:'combinators' --pros 'no build step' \\
      --cons 'slow to compile' \\
      --option winnow:'its successor' --files src/parser.rs
    git checkpoint save -m 'two ways to go'
    git checkpoint fork-point explore 1
    git checkpoint fork-point decide 1 winnow --reason 'errors are clearer'")]
pub(in crate::commands) struct Args {
    #[command(subcommand)]
    action: Option<ForkPointAction>,
}

#[derive(Debug, Subcommand)]
enum ForkPointAction {
    /// Record a fork point
    Add(ForkPointAddArgs),
    /// Record the chosen option
    Decide(DecideArgs),
    /// Fork each option into its own working tree
    Explore(ExploreArgs),
    /// Reopen items
    Reopen(ItemArgs),
    /// List fork points, their options and the sessions that explore them
    List(ItemListArgs),
    /// Remove items from the record
    Remove(ItemArgs),
}

#[derive(Debug, clap::Args)]
struct ForkPointAddArgs {
    /// Decision to make
    #[arg(value_name = "TITLE", value_parser = some_text, required_unless_present = "json_input")]
    title: Option<String>,
    #[command(flatten)]
    options: ForkOptionArgs,
    /// Who decides
    #[arg(long, value_name = "WHO")]
    decider: Option<String>,
    #[command(flatten)]
    given: JsonItems,
    #[command(flatten)]
    whose: SessionArg,
}

#[derive(Debug, clap::Args)]
struct DecideArgs {
    /// The item, by id, number or text
    #[arg(id = "item", value_name = "ITEM")]
    point: String,
    /// The key of the option
    #[arg(value_name = "KEY")]
    key: String,
    /// The reason
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    whose: SessionArg,
}

#[derive(Debug, clap::Args)]
struct ExploreArgs {
    /// The item, by id, number or text
    #[arg(id = "item", value_name = "ITEM")]
    point: String,
    /// The parent directory of the working trees, which are named after session and option
    #[arg(long, value_name = "DIR", default_value = "..", value_hint = clap::ValueHint::DirPath)]
    directory: PathBuf,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    whose: SessionArg,
}

/// Options in the order of the command line: what is said of one follows it.
#[derive(Clone, Debug, Default)]
struct ForkOptionArgs(Vec<Value>);

/// Details of an option: the flag and its member.
const DETAILS: [(&str, &str, &str); 3] = [
    ("pros", "TEXT", "An advantage of the preceding option; repeatable"),
    ("cons", "TEXT", "A disadvantage of the preceding option; repeatable"),
    (
        "files",
        "PATH",
        "A file that the preceding option would change; repeatable",
    ),
];

impl clap::Args for ForkOptionArgs {
    fn augment_args(command: Command) -> Command {
        let option = Arg::new("option")
            .long("option")
            .value_name("KEY:TITLE")
            .action(ArgAction::Append)
            .help("An option, as key and title; repeatable");
        DETAILS
            .iter()
            .fold(command.arg(option), |command, (name, value, help)| {
                command.arg(
                    Arg::new(*name)
                        .long(*name)
                        .value_name(*value)
                        .action(ArgAction::Append)
                        .allow_hyphen_values(true)
                        .requires("option")
                        .help(*help),
                )
            })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ForkOptionArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name: &'static str| {
            let places = matches.indices_of(name).into_iter().flatten();
            let values = matches.get_many::<String>(name).into_iter().flatten();
            places
                .zip(values)
                .map(move |(place, value)| (place, name, value.clone()))
        };
        let mut all: Vec<_> = given("option")
            .chain(DETAILS.iter().flat_map(|(name, ..)| given(name)))
            .collect();
        all.sort_by_key(|(place, ..)| *place);
        let wrong = |message: String| clap::Error::raw(clap::error::ErrorKind::ValueValidation, message + "\n");
        let mut options: Vec<Value> = Vec::new();
        for (_, name, value) in all {
            if name == "option" {
                let (key, title) = value.split_once(':').unwrap_or((&value, &value));
                let (key, title) = (key.trim(), title.trim());
                if key.is_empty() || key.contains(char::is_whitespace) {
                    return Err(wrong(format!(
                        "'{value}' is not an option: use KEY:TITLE, such as nom:'use nom'"
                    )));
                }
                if options.iter().any(|known| known["key"] == key) {
                    return Err(wrong(format!("option '{key}' is used twice")));
                }
                options.push(json!({ "key": key, "title": title }));
                continue;
            }
            let Some(Value::Object(option)) = options.last_mut() else {
                return Err(wrong(format!("--{name} must follow its --option")));
            };
            let list = option.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = list {
                list.push(value.into());
            }
        }
        Ok(Self(options))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let kind = super::kind("fork-point");
    match args.action {
        None => list(context, &ItemListArgs::default()),
        Some(ForkPointAction::List(args)) => list(context, &args),
        Some(ForkPointAction::Remove(chosen)) => super::remove(context, &chosen, kind, ("removed", "Removed")),
        Some(ForkPointAction::Reopen(chosen)) => {
            let none = || Some(String::new());
            let fields = ItemFields::default().text("chosen", none()).text("reason", none());
            super::change(context, &chosen, kind, ("reopened", "Reopened"), &fields, &[])
        }
        Some(ForkPointAction::Add(args)) => {
            let mut fields = ItemFields::default().text("decider", args.decider);
            if !args.options.0.is_empty() {
                fields = fields.value("options", Some(args.options.0));
            }
            super::add(context, &args.whose, &args.given, kind, args.title, fields, &[])
        }
        Some(ForkPointAction::Decide(args)) => decide(context, args),
        Some(ForkPointAction::Explore(args)) => explore(context, args),
    }
}

/// Forks every option that no session explores yet.
fn explore(context: &mut Context, args: ExploreArgs) -> Result<(), CommandError> {
    let kind = super::kind("fork-point");
    let opened = args.whose.open(context)?;
    let now = items::now(&opened.scene())?;
    let point = now.find(kind, &args.point)?;
    let explored = fork_points::sessions(&opened.scene())?;
    let options = point["options"].as_array().cloned().unwrap_or_default();
    let keys = options.iter().filter_map(|option| option["key"].as_str());
    let is_new = |key: &&str| {
        let known = |fork: &fork_points::ForkPointSession| fork.point == id_of(&point) && fork.option == **key;
        !explored.iter().any(known)
    };
    let new: Vec<&str> = keys.filter(is_new).collect();
    if new.is_empty() {
        return Err(CommandError::new(
            Failure::NotFound,
            format!(
                "fork point '{}' has no option that is not explored yet",
                kind.text_of(&point)
            ),
        )
        .hint("see which sessions explore them: git checkpoint fork-point list"));
    }
    let directory = |key: &str| args.directory.join(format!("{}-{}", now.session, ShortName::like(key)));
    let forks = new.iter().map(|key| ((*key).to_owned(), directory(key))).collect();
    let whom = IdentityArgs {
        session: Some(now.session.clone().into()),
        agent: None,
    };
    crate::commands::fork::run(crate::commands::fork::Args::explore(forks, args.dry_run, whom), context)
}

fn decide(context: &mut Context, args: DecideArgs) -> Result<(), CommandError> {
    let kind = super::kind("fork-point");
    let opened = args.whose.open(context)?;
    let now = super::to_change(&opened)?;
    let point = now.find(kind, &args.point)?;
    let options = point["options"].as_array().cloned().unwrap_or_default();
    let keys: Vec<&str> = options.iter().filter_map(|option| option["key"].as_str()).collect();
    if !keys.contains(&args.key.as_str()) {
        let error = CommandError::new(
            Failure::NotFound,
            format!("fork point '{}' has no option '{}'", kind.text_of(&point), args.key),
        );
        let near = keys
            .iter()
            .find(|key| distance(&args.key, key) <= key.chars().count().div_ceil(3));
        return Err(match (near, &keys[..]) {
            (Some(near), _) => error.hint(format!("did you mean '{near}'?")),
            (None, []) => error.hint("it has none"),
            (None, keys) => error.hint(format!("it has: {}", keys.join(", "))),
        });
    }
    let fields = ItemFields::default()
        .text("chosen", Some(args.key.clone()))
        .text("reason", args.reason.or_else(|| Some(String::new())));
    let appended = items::change(&opened.scene(), kind, &[(id_of(&point).to_owned(), fields.0)])?;
    let after = super::stored(&appended, kind, vec![point.clone()]).swap_remove(0);
    let line = TextLine::new()
        .with(Slot::Good, "Decided")
        .with(Slot::Plain, " fork point ")
        .with(Slot::Id, id_of(&after))
        .with(Slot::Plain, format!(": {}: ", kind.text_of(&after)))
        .with(Slot::Session, &args.key);
    let told = ChangeNotice {
        outcome: "decided",
        lines: vec![line],
        items: Some((kind, vec![after])),
        former: Vec::new(),
        detail: DraftDetail::default(),
    };
    super::report(context, &opened, &appended, told.replacing(vec![point]), &[])
}

fn list(context: &mut Context, args: &ItemListArgs) -> Result<(), CommandError> {
    let kind = super::kind("fork-point");
    let opened = args.whose.open(context)?;
    let now = items::now(&opened.scene())?;
    let explored = fork_points::sessions(&opened.scene())?;
    let mut found = now.items(kind);
    for point in &mut found {
        name_sessions(point, &explored);
    }
    super::show(context, &now, args, kind, found, Vec::new(), None)
}

/// Adds to each option of a fork point the names of the sessions that explore it.
pub(in crate::commands) fn name_sessions(point: &mut Value, explored: &[fork_points::ForkPointSession]) {
    let id = id_of(point).to_owned();
    let Some(Value::Array(options)) = point
        .as_object_mut()
        .and_then(|point: &mut Map<_, _>| point.get_mut("options"))
    else {
        return;
    };
    for option in options.iter_mut().filter_map(Value::as_object_mut) {
        let key = option.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
        let sessions: Vec<_> = explored
            .iter()
            .filter(|fork| fork.point == id && fork.option == key)
            .map(|fork| fork.session.to_string())
            .collect();
        if !sessions.is_empty() {
            option.insert("sessions".to_owned(), sessions.into());
        }
    }
}
