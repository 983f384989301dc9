//! The commands that write the record between saves: each changes the draft of a session and takes no snapshot.
//!
//! What they have in common is here: where a change goes, items given as JSON, finding items, the receipt, and the
//! checkpoint that an event makes. A command's own file holds its arguments and little more.

mod again;
mod agent;
mod approval;
mod checks;
mod conflict;
mod decisions;
mod delegation;
mod fork_point;
mod lists;
mod note;
mod notice;
mod open_file;
mod partition;
mod path;
mod phase;
mod state;
mod task;

use std::path::PathBuf;

use serde_json::{Map, Value, json};

pub(super) use self::{
    agent::{Args as AgentArgs, run as agent},
    approval::{Args as ApprovalArgs, run as approval},
    checks::{Args as CheckArgs, IterationArgs, iteration, run as check},
    conflict::{Args as ConflictArgs, run as conflict},
    decisions::{BlockerArgs, DecisionArgs, QuestionArgs, blocker, decision, question},
    delegation::{Args as DelegationArgs, run as delegation},
    fork_point::{Args as ForkPointArgs, name_sessions, run as fork_point},
    lists::{InstructionArgs, MemoryArgs, TodoArgs, instruction, memory, todo},
    note::{Args as NoteArgs, run as note},
    open_file::{Args as OpenFileArgs, run as open_file},
    partition::{Args as PartitionArgs, run as partition},
    phase::{Args as PhaseArgs, run as phase},
    state::{Args as StateArgs, run as state},
    task::{Args as TaskArgs, run as task},
};
use self::{
    notice::{ChangeNotice, report},
    path::stored_path,
};
use super::{
    Context,
    error::{CommandError, FailureKind as Failure},
    failure, input,
    opening::{self, IdentityArgs, OpenedRepository},
    record_fields,
    session_word::SessionWord,
};
use crate::{
    model::{
        item::{ItemKind, Totals, id_of},
        json, patch,
        spelling::with_article,
    },
    ops::{
        draft::DraftReceipt,
        items::{self, CurrentRecord},
    },
    render::{draft::ItemList, items as render, slot::Slot, text::TextLine},
};

/// The session a change goes to.
#[derive(Debug, Default, clap::Args)]
struct SessionArg {
    /// The session to use instead of the current one
    #[arg(long, value_name = "NAME")]
    session: Option<SessionWord>,
}

impl SessionArg {
    fn open(&self, context: &mut Context) -> Result<OpenedRepository, CommandError> {
        let whom = IdentityArgs {
            session: self.session.clone(),
            agent: None,
        };
        opening::open(context, &whom)
    }
}

/// Items given as JSON.
#[derive(Debug, Default, clap::Args)]
struct JsonItems {
    /// Read items from a JSON file, one or a list; '-' is standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    json_input: Option<PathBuf>,
}

impl JsonItems {
    /// The items of the file; none when there is no file.
    fn items(&self, context: &Context, kind: &ItemKind) -> Result<Vec<Value>, CommandError> {
        let Some(path) = &self.json_input else {
            return Ok(Vec::new());
        };
        let what = format!("the {}s", kind.word);
        let items = match input::read_json(context, path, &what)? {
            Value::Array(items) => items,
            item => vec![item],
        };
        let record = json!({ kind.list: items });
        record_fields::warn_unknown(context, &record);
        patch::refuse_repeated_ids(&record).map_err(crate::ops::Error::from)?;
        let object = |item| match item {
            Value::String(text) => Ok(json!({ kind.text: text })),
            Value::Object(_) => Ok(item),
            other => Err(CommandError::new(
                Failure::Invalid,
                format!("{} must be a JSON object or text, not {other}", with_article(kind.word)),
            )),
        };
        items.into_iter().map(object).collect()
    }
}

/// The choice of items.
#[derive(Debug, Default, clap::Args)]
struct ItemListArgs {
    /// Only open items
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    whose: SessionArg,
}

impl ItemListArgs {
    /// All items of a session.
    fn all(whose: SessionArg) -> Self {
        Self { open: false, whose }
    }
}

/// Items by id or number.
#[derive(Debug, clap::Args)]
struct ItemArgs {
    /// The items, by id or its prefix, by number in the list, or by text
    #[arg(id = "item", value_name = "ITEM", required = true)]
    items: Vec<String>,
    #[command(flatten)]
    whose: SessionArg,
}

/// Members of an item, gathered from options.
#[derive(Clone, Debug, Default)]
struct ItemFields(Map<String, Value>);

impl ItemFields {
    /// A text; an empty one takes the member away.
    fn text(mut self, member: &str, value: Option<String>) -> Self {
        if let Some(value) = value {
            let value = if value.is_empty() { Value::Null } else { value.into() };
            self.0.insert(member.to_owned(), value);
        }
        self
    }

    /// Any value that was given.
    fn value(mut self, member: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.0.insert(member.to_owned(), value.into());
        }
        self
    }

    /// A list, if anything is in it; a single empty text takes the member away.
    fn list(mut self, member: &str, values: Vec<String>) -> Self {
        match &values[..] {
            [] => {}
            [one] if one.is_empty() => {
                self.0.insert(member.to_owned(), Value::Null);
            }
            _ => {
                self.0.insert(member.to_owned(), values.into());
            }
        }
        self
    }

    /// A yes, where it was given.
    fn flag(self, member: &str, value: bool) -> Self {
        self.value(member, value.then_some(true))
    }
}

/// A text that is not empty.
fn some_text(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Err("the text is empty".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// The kind of a command of this program.
fn kind(command: &str) -> &'static ItemKind {
    ItemKind::of(command).expect("each of these commands has its line in the table")
}

/// Adds the item from the options, and those of the file; at least one.
fn add(
    context: &mut Context,
    whose: &SessionArg,
    given: &JsonItems,
    kind: &'static ItemKind,
    text: Option<String>,
    fields: ItemFields,
    triggers: &[&str],
) -> Result<(), CommandError> {
    let mut all = given.items(context, kind)?;
    if let Some(text) = text {
        let mut item = Map::from_iter([(kind.text.to_owned(), Value::String(text))]);
        item.extend(fields.0);
        all.insert(0, Value::Object(item));
    } else {
        for item in all.iter_mut().filter_map(Value::as_object_mut) {
            for (member, value) in &fields.0 {
                item.entry(member.clone()).or_insert_with(|| value.clone());
            }
        }
    }
    if all.is_empty() {
        return Err(
            CommandError::new(Failure::Usage, format!("the text of the {} is missing", kind.word))
                .hint(format!("git checkpoint {} -h", kind.command)),
        );
    }
    let opened = whose.open(context)?;
    let appended = items::add(&opened.scene(), kind, all)?;
    let patches = appended
        .operations
        .iter()
        .filter_map(|o| o.record.as_ref()?.get(kind.list)?.as_array());
    let added: Vec<Value> = patches.flatten().cloned().collect();
    let told = ChangeNotice::items("added", "Added", kind, added);
    report(context, &opened, &appended, told, triggers)
}

/// The record of the session that a change of an item goes to.
fn to_change(opened: &OpenedRepository) -> Result<CurrentRecord, CommandError> {
    items::to_change(&opened.scene()).map_err(failure::with_session_left)
}

/// Finds items and changes them all alike.
fn change(
    context: &mut Context,
    chosen: &ItemArgs,
    kind: &'static ItemKind,
    told: (&'static str, &'static str),
    fields: &ItemFields,
    triggers: &[&str],
) -> Result<(), CommandError> {
    change_each(context, chosen, kind, told, triggers, |_| Ok(fields.clone()))
}

/// Finds items and changes each as `fields` has it.
fn change_each(
    context: &mut Context,
    chosen: &ItemArgs,
    kind: &'static ItemKind,
    (outcome, word): (&'static str, &'static str),
    triggers: &[&str],
    fields: impl Fn(&Value) -> Result<ItemFields, CommandError>,
) -> Result<(), CommandError> {
    let opened = chosen.whose.open(context)?;
    let now = to_change(&opened)?;
    let mut changes = Vec::new();
    let mut changed = Vec::new();
    for text in &chosen.items {
        let item = now.find(kind, text)?;
        changes.push((id_of(&item).to_owned(), fields(&item)?.0));
        changed.push(item);
    }
    let appended = items::change(&opened.scene(), kind, &changes)?;
    let before = changed.clone();
    let told = ChangeNotice::items(outcome, word, kind, stored(&appended, kind, changed)).replacing(before);
    report(context, &opened, &appended, told, triggers)
}

/// Items as they are after changes, without secrets: what is stored, on top of what was there.
fn stored(appended: &DraftReceipt, kind: &ItemKind, mut before: Vec<Value>) -> Vec<Value> {
    let patches = appended
        .operations
        .iter()
        .filter_map(|o| o.record.as_ref()?.get(kind.list)?.as_array());
    for patch in patches.flatten() {
        if let Some(item) = before.iter_mut().find(|item| id_of(item) == id_of(patch)) {
            json::merge_patch(item, patch.clone());
        } else {
            let mut item = Value::Null;
            json::merge_patch(&mut item, patch.clone());
            before.push(item);
        }
    }
    before
}

/// Finds items and takes them out.
fn remove(
    context: &mut Context,
    chosen: &ItemArgs,
    kind: &'static ItemKind,
    (outcome, word): (&'static str, &'static str),
) -> Result<(), CommandError> {
    let opened = chosen.whose.open(context)?;
    let now = to_change(&opened)?;
    let found: Result<Vec<_>, _> = chosen.items.iter().map(|text| now.find(kind, text)).collect();
    let found = found?;
    let ids: Vec<_> = found.iter().map(|item| id_of(item).to_owned()).collect();
    let appended = items::remove(&opened.scene(), kind, &ids)?;
    let session = opened.session_option();
    let told = ChangeNotice::items(outcome, word, kind, found).with_lines(|item| {
        let command = again::command(kind, item, &session);
        TextLine::plain("  To add it again: ").with(Slot::Plain, command)
    });
    report(context, &opened, &appended, told, &[])
}

/// Shows the items of a kind, with numbers.
fn list(context: &mut Context, args: &ItemListArgs, kind: &'static ItemKind) -> Result<(), CommandError> {
    let opened = args.whose.open(context)?;
    let now = items::now(&opened.scene())?;
    let found = now.items(kind);
    show(context, &now, args, kind, found, Vec::new(), None)
}

/// Shows these items, which are all of their kind, and lines below them.
fn show(
    context: &mut Context,
    now: &CurrentRecord,
    args: &ItemListArgs,
    kind: &'static ItemKind,
    found: Vec<Value>,
    below: Vec<TextLine>,
    totals: Option<Totals>,
) -> Result<(), CommandError> {
    let all = found.len();
    let numbered = found.into_iter().enumerate().map(|(at, item)| (at + 1, item));
    let shown: Vec<_> = numbered.filter(|(_, item)| !args.open || kind.is_open(item)).collect();
    if context.ui.options().json {
        let items = shown.into_iter().map(|(number, item)| {
            let mut out = Map::from_iter([("number".to_owned(), json!(number))]);
            out.extend(item.as_object().cloned().unwrap_or_default());
            Value::Object(out)
        });
        return context.ui.json(&ItemList {
            session: &now.session,
            session_id: &now.tip.document.session.id,
            list: kind.list,
            items: items.collect(),
            totals,
        });
    }
    if shown.is_empty() {
        let none = match all {
            0 => format!("Session {} has no {}s.", now.session, kind.word),
            _ => format!("Session {} has no open {}s.", now.session, kind.word),
        };
        context.ui.status(none);
    } else {
        context.ui.data(render::table(kind, &shown, context.ui.table_width()));
    }
    for line in below {
        context.ui.data(line);
    }
    Ok(())
}
