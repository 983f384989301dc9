//! `decision`, `blocker` and `question`: what was settled, what stops the work, and what is to be asked.

use clap::Subcommand;

use super::{ItemArgs, ItemFields, ItemListArgs, JsonItems, SessionArg, some_text};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind as Failure},
    },
    model::item::ItemKind,
    ops::suggestions::distance,
};

/// Record decisions and their reasons
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = "\
Examples:
    git checkpoint decision 'keep the old wire format' \\
      --reason 'clients of last year still send it'
    git checkpoint decision list"
)]
pub(in crate::commands) struct DecisionArgs {
    #[command(subcommand)]
    action: Option<DecisionAction>,
    #[command(flatten)]
    add: AddDecision,
}

#[derive(Debug, Subcommand)]
enum DecisionAction {
    /// Record a decision; 'add' may be omitted
    Add(AddDecision),
    /// List the items with their numbers
    List(ItemListArgs),
    /// Remove items from the record
    Remove(ItemArgs),
}

#[derive(Debug, clap::Args)]
struct AddDecision {
    /// Text of the decision
    #[arg(value_name = "TEXT", value_parser = some_text)]
    text: Option<String>,
    /// The reason
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    given: JsonItems,
    #[command(flatten)]
    whose: SessionArg,
}

/// Record and clear blockers
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
    git checkpoint blocker add 'no access to staging' --needs 'a key from ops' \\
      --ref OPS-31
    git checkpoint blocker clear staging")]
pub(in crate::commands) struct BlockerArgs {
    #[command(subcommand)]
    action: Option<BlockerAction>,
}

#[derive(Debug, Subcommand)]
enum BlockerAction {
    /// Record a blocker
    Add(AddBlocker),
    /// Clear a blocker
    #[command(visible_alias = "remove")]
    Clear(ItemArgs),
    /// List the items with their numbers
    List(ItemListArgs),
}

#[derive(Debug, clap::Args)]
struct AddBlocker {
    /// Text of the blocker
    #[arg(value_name = "TEXT", value_parser = some_text, required_unless_present = "json_input")]
    text: Option<String>,
    /// Requirement to clear it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    needs: Option<String>,
    /// A reference to more details, such as an issue
    #[arg(long = "ref", value_name = "REF")]
    reference: Option<String>,
    #[command(flatten)]
    given: JsonItems,
    #[command(flatten)]
    whose: SessionArg,
}

/// Record open questions and their answers
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = "\
Examples:
    git checkpoint question 'may we drop Python 3.8?'
    git checkpoint question answer 1 'yes, from the next release on'"
)]
pub(in crate::commands) struct QuestionArgs {
    #[command(subcommand)]
    action: Option<QuestionAction>,
    #[command(flatten)]
    add: AddQuestion,
}

#[derive(Debug, Subcommand)]
enum QuestionAction {
    /// Record a question; 'add' may be omitted
    Add(AddQuestion),
    /// Record an answer
    Answer(AnswerArgs),
    /// Reopen items
    Reopen(ItemArgs),
    /// List the items with their numbers
    List(ItemListArgs),
    /// Remove items from the record
    Remove(ItemArgs),
}

#[derive(Debug, clap::Args)]
struct AddQuestion {
    /// Text of the question
    #[arg(value_name = "TEXT", value_parser = some_text)]
    text: Option<String>,
    #[command(flatten)]
    given: JsonItems,
    #[command(flatten)]
    whose: SessionArg,
}

#[derive(Debug, clap::Args)]
struct AnswerArgs {
    /// The item, by id, number or text
    #[arg(id = "item", value_name = "ITEM")]
    question: String,
    /// The answer
    #[arg(value_name = "TEXT", value_parser = some_text)]
    text: String,
    #[command(flatten)]
    whose: SessionArg,
}

pub(in crate::commands) fn decision(args: DecisionArgs, context: &mut Context) -> Result<(), CommandError> {
    let kind = super::kind("decision");
    let add = match args.action {
        Some(DecisionAction::List(args)) => return super::list(context, &args, kind),
        Some(DecisionAction::Remove(chosen)) => return super::remove(context, &chosen, kind, ("removed", "Removed")),
        Some(DecisionAction::Add(add)) => add,
        None if args.add.text.is_none() && args.add.given.json_input.is_none() => {
            return super::list(context, &ItemListArgs::all(args.add.whose), kind);
        }
        None => {
            refuse_typing_error(kind, args.add.text.as_deref(), &["add", "list", "remove", "help"])?;
            args.add
        }
    };
    let fields = ItemFields::default().text("reason", add.reason);
    super::add(context, &add.whose, &add.given, kind, add.text, fields, &[])
}

pub(in crate::commands) fn blocker(args: BlockerArgs, context: &mut Context) -> Result<(), CommandError> {
    let kind = super::kind("blocker");
    match args.action {
        None => super::list(context, &ItemListArgs::default(), kind),
        Some(BlockerAction::List(args)) => super::list(context, &args, kind),
        Some(BlockerAction::Clear(chosen)) => super::remove(context, &chosen, kind, ("cleared", "Cleared")),
        Some(BlockerAction::Add(add)) => {
            let fields = ItemFields::default()
                .text("needs", add.needs)
                .text("ref", add.reference);
            super::add(context, &add.whose, &add.given, kind, add.text, fields, &[])
        }
    }
}

pub(in crate::commands) fn question(args: QuestionArgs, context: &mut Context) -> Result<(), CommandError> {
    let kind = super::kind("question");
    let add = match args.action {
        Some(QuestionAction::List(args)) => return super::list(context, &args, kind),
        Some(QuestionAction::Remove(chosen)) => return super::remove(context, &chosen, kind, ("removed", "Removed")),
        Some(QuestionAction::Answer(args)) => {
            let chosen = ItemArgs {
                items: vec![args.question],
                whose: args.whose,
            };
            let fields = ItemFields::default().text("answer", Some(args.text));
            return super::change(context, &chosen, kind, ("answered", "Answered"), &fields, &[]);
        }
        Some(QuestionAction::Reopen(chosen)) => {
            let fields = ItemFields::default().text("answer", Some(String::new()));
            return super::change(context, &chosen, kind, ("reopened", "Reopened"), &fields, &[]);
        }
        Some(QuestionAction::Add(add)) => add,
        None if args.add.text.is_none() && args.add.given.json_input.is_none() => {
            return super::list(context, &ItemListArgs::all(args.add.whose), kind);
        }
        None => {
            refuse_typing_error(
                kind,
                args.add.text.as_deref(),
                &["add", "answer", "reopen", "list", "remove", "help"],
            )?;
            args.add
        }
    };
    super::add(
        context,
        &add.whose,
        &add.given,
        kind,
        add.text,
        ItemFields::default(),
        &[],
    )
}

/// Where a text may replace a word, a single word that is nearly one of them is taken for a typing error.
pub(super) fn refuse_typing_error(kind: &ItemKind, text: Option<&str>, words: &[&str]) -> Result<(), CommandError> {
    let Some(text) = text.filter(|text| !text.contains(char::is_whitespace)) else {
        return Ok(());
    };
    let lower = text.to_lowercase();
    let near = words.iter().find(|word| distance(&lower, word) <= word.len() / 3);
    match near {
        None => Ok(()),
        Some(word) => Err(
            CommandError::new(Failure::Usage, format!("'{text}' looks like the command '{word}'"))
                .hint(format!("git checkpoint {} {word} ...", kind.command))
                .hint(format!("to add it as text: git checkpoint {} add {text}", kind.command)),
        ),
    }
}
