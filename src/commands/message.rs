//! `message`: the chat of a session, message by message.

mod import;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use serde_json::{Map, Value, json};

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    input::read_file,
    opening::{self, IdentityArgs, OpenedRepository},
    redactions,
};
use crate::{
    model::{
        binary_text,
        chat::{Message, Role},
        json as strict,
        turn::{self, TurnGroups},
    },
    ops::{
        Error, Scene,
        chat::{self, NewMessage, SessionChat},
        select,
    },
    render::{
        chat as render,
        messages::{MessageList, MessageView, NumberedMessage, messages},
        slot::Slot,
        text::TextLine,
    },
};

/// Add and list messages of the chat
///
/// Messages are recorded immediately and saved with the next checkpoint. Secrets are replaced before anything is
/// written.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Add messages:
    git checkpoint message add --role user 'make the refresh tests green'
    my-agent | git checkpoint message add --role assistant --agent claude -
  Show all messages, including summarized ones:
    git checkpoint message list --full
    git checkpoint message show 3
  Import the session file of a coding agent; a second time adds nothing:
    git checkpoint message import ~/.claude/projects/my-project/5f1d.jsonl
  List texts only, without tool calls and thoughts:
    git checkpoint message list --texts")]
pub(super) struct Args {
    #[command(subcommand)]
    command: MessageCommand,
}

#[derive(Debug, clap::Subcommand)]
enum MessageCommand {
    /// Add a message
    Add(MessageAddArgs),
    /// List the messages by turns, one per line, with tool calls folded
    List(MessageListArgs),
    /// Show messages in full
    Show(MessageShowArgs),
    /// Add the messages of a coding agent's session file, or of JSONL: {role, content, timestamp}
    Import(import::Args),
}

#[derive(Debug, clap::Args)]
struct MessageAddArgs {
    #[command(flatten)]
    whom: IdentityArgs,
    /// The role of the speaker
    #[arg(long, value_name = "ROLE", value_parser = ["user", "assistant", "system", "tool"])]
    role: String,
    /// Metadata of the message, as a JSON object
    #[arg(long, value_name = "JSON")]
    meta: Option<String>,
    /// Read the content from this file, a JSON list of blocks; '-' is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    blocks: Option<PathBuf>,
    /// An image of the message; repeatable
    #[arg(long = "image", value_name = "FILE")]
    images: Vec<PathBuf>,
    /// The text; '-' or nothing is standard input
    #[arg(value_name = "TEXT")]
    text: Option<OsString>,
}

#[derive(Debug, clap::Args)]
struct MessageListArgs {
    #[command(flatten)]
    whom: IdentityArgs,
    /// Include summarized messages
    #[arg(long)]
    full: bool,
    /// All messages, including tool calls, results and thoughts
    #[arg(long, conflicts_with = "texts")]
    all: bool,
    /// Only texts of the person and the model
    #[arg(long)]
    texts: bool,
    /// Only the latest N
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<u64>,
    /// The chat of this session, with unsaved messages, or of this checkpoint; the current chat by default
    #[arg(value_name = "CHECKPOINT")]
    selector: Option<String>,
}

#[derive(Debug, clap::Args)]
struct MessageShowArgs {
    #[command(flatten)]
    whom: IdentityArgs,
    /// Include summarized messages
    #[arg(long)]
    full: bool,
    /// The chat of this checkpoint
    #[arg(long = "at", value_name = "CHECKPOINT")]
    selector: Option<String>,
    /// The messages, by number or id; all by default
    #[arg(value_name = "MESSAGE")]
    which: Vec<String>,
}

/// The most bytes of one message: 16 MiB, as of any JSON from outside.
const MESSAGE: u64 = strict::INPUT_LIMIT as u64;
/// The longest time that a command waits for the lock of the draft.
pub(super) const DRAFT_WAIT: Duration = Duration::from_secs(2);
pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    match args.command {
        MessageCommand::Add(args) => add(args, context),
        MessageCommand::List(args) => list(args, context),
        MessageCommand::Show(args) => show(args, context),
        MessageCommand::Import(args) => import::run(args, context),
    }
}

/// The scene of a command that only adds to the draft.
pub(super) fn drafting(opened: &OpenedRepository) -> Scene<'_> {
    let scene = opened.scene();
    Scene {
        wait: scene.wait.min(DRAFT_WAIT),
        ..scene
    }
}

fn add(args: MessageAddArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    let role = Role::parse(&args.role).ok_or_else(|| CommandError::new(FailureKind::Usage, "unknown role"))?;
    let meta = match &args.meta {
        None => Map::new(),
        Some(text) => match json_of("--meta", text.as_bytes())? {
            Value::Object(meta) => meta,
            _ => return Err(CommandError::new(FailureKind::Usage, "--meta must be a JSON object")),
        },
    };
    let mut content = match &args.blocks {
        Some(path) => {
            let value = json_of("the blocks", &input(context, path, "the blocks", MESSAGE)?)?;
            if !value.is_array() && !value.is_string() {
                return Err(CommandError::new(
                    FailureKind::Invalid,
                    "the blocks must be a JSON list",
                ));
            }
            value
        }
        None => Value::String(text(context, args.text.as_deref(), "the message")?),
    };
    for path in &args.images {
        content = with_image(content, picture(context, path)?);
    }
    let new = NewMessage {
        role,
        content,
        meta,
        at: None,
    };
    let added = chat::add(&drafting(&opened), new)?;
    redactions::warn(context, &added.redactions);
    context.ui.report(&MessageView {
        session: &added.session,
        id: &added.message.id,
        at: added.message.at,
        role: added.message.role,
        redactions: added.redactions.len(),
    })
}

fn with_image(content: Value, image: Value) -> Value {
    match content {
        Value::Array(mut blocks) => {
            blocks.push(image);
            Value::Array(blocks)
        }
        Value::String(text) if text.is_empty() => json!([image]),
        other => json!([{ "type": "text", "text": other }, image]),
    }
}

fn picture(context: &Context, path: &std::path::Path) -> Result<Value, CommandError> {
    let bytes = read_file(context, path, MESSAGE / 2, "the image")?;
    let media = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => {
            let message = format!("'{}' is not a PNG, JPEG, GIF or WebP image", path.display());
            return Err(CommandError::new(FailureKind::Invalid, message)
                .hint("attach other files with: git checkpoint save --attach"));
        }
    };
    Ok(
        json!({ "type": "image", "source": { "type": "base64", "media_type": media, "data": binary_text::encode(&bytes) } }),
    )
}

/// A text from the command line, or from standard input for `-` and for none. Bytes that are not UTF-8 are replaced,
/// with a warning.
pub(super) fn text(context: &Context, given: Option<&std::ffi::OsStr>, what: &str) -> Result<String, CommandError> {
    let bytes = match given {
        Some(text) if text != "-" => text.as_encoded_bytes().to_vec(),
        _ => context.ui.read_input(what, MESSAGE)?,
    };
    let text = String::from_utf8_lossy(&bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        context
            .ui
            .warning(&format!("{what} has invalid UTF-8, which was replaced"));
    }
    Ok(text.into_owned())
}

/// A file, or standard input for `-`.
pub(super) fn input(
    context: &Context,
    path: &std::path::Path,
    what: &str,
    limit: u64,
) -> Result<Vec<u8>, CommandError> {
    if path.as_os_str() == "-" {
        context.ui.read_input(what, limit)
    } else {
        read_file(context, path, limit, what)
    }
}

fn json_of(what: &str, bytes: &[u8]) -> Result<Value, CommandError> {
    strict::parse_input(bytes).map_err(|source| {
        Error::Json {
            what: what.to_owned(),
            source,
        }
        .into()
    })
}

/// The chat of the session that is meant, or as a checkpoint holds it.
fn chosen<'r>(opened: &'r OpenedRepository, selector: Option<&str>) -> Result<SessionChat<'r>, CommandError> {
    let scene = opened.scene();
    let Some(text) = selector else {
        return Ok(SessionChat::open_to_read(&scene)?);
    };
    let found = select::checkpoint(&scene, &failure::selector(text)?)?;
    let document = found.checkpoint.document;
    let is_session = found.is_tip && found.session.as_ref().is_some_and(|name| name.as_str() == text);
    let name = found.session.unwrap_or_else(|| document.session.name.clone());
    if is_session {
        // A session is more than its latest checkpoint: what waits in its draft belongs to it.
        return Ok(SessionChat::read(&scene, name, document, true)?);
    }
    Ok(SessionChat::at(&scene, name, document)?)
}

fn list(args: MessageListArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    let chat = chosen(&opened, args.selector.as_deref())?;
    let from = if args.full { 0 } else { chat.live() };
    let from = args
        .limit
        .map_or(from, |limit| from.max(chat.len().saturating_sub(limit)));
    if context.ui.options().json {
        let only = if args.texts { Shown::Texts } else { Shown::All };
        return json_list(context, &chat, from, None, only);
    }
    if chat.is_empty() {
        context.ui.status("No messages found.");
        return Ok(());
    }
    context.ui.page();
    let width = context.ui.table_width();
    if from > 0 && !args.full && args.limit.is_none() {
        let line = format!("{} before are summarized; see them with --full", messages(from));
        context.ui.data(TextLine::new().with(Slot::Dim, line));
    }
    let mut rows = Rows::default();
    chat.each(from, |at, message| {
        if args.all || message.turn().is_none() && !args.texts {
            rows.plain(at + 1, &message, width);
        } else {
            rows.folded(at + 1, &message, width, args.texts);
        }
        for line in rows.lines.drain(..) {
            context.ui.data(line);
        }
        Ok(())
    })?;
    rows.close(width, args.all || args.texts);
    for line in rows.lines {
        context.ui.data(line);
    }
    warn_unreadable(context, &chat);
    Ok(())
}

/// The lines of a list, as its messages come.
#[derive(Default)]
struct Rows {
    lines: Vec<TextLine>,
    groups: TurnGroups,
    key: Option<String>,
    turns: usize,
}

impl Rows {
    fn plain(&mut self, number: u64, message: &Message, width: usize) {
        self.close(width, false);
        self.lines.push(render::row(number, message, width));
    }

    /// A message within a turn: only what was said has a line, the rest is in that of the turn.
    fn folded(&mut self, number: u64, message: &Message, width: usize, texts: bool) {
        if self.key.as_deref() != message.turn() {
            self.close(width, texts);
            self.key = message.turn().map(str::to_owned);
        }
        self.groups.push(number, message);
        let is_event =
            message.role == Role::System && message.helper().is_none() && !message.meta.contains_key("turn_usage");
        if turn::spoken(message).is_some() || is_event && !texts {
            self.lines.push(render::row(number, message, width));
        }
    }

    fn close(&mut self, width: usize, silent: bool) {
        self.key = None;
        for group in std::mem::take(&mut self.groups).end() {
            self.turns += 1;
            self.lines
                .extend(render::turn(self.turns, &group, width).filter(|_| !silent));
        }
    }
}

/// The choice of messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    All,
    /// Texts of the person and the model.
    Texts,
}

fn warn_unreadable(context: &Context, chat: &SessionChat<'_>) {
    if !chat.unreadable.is_empty() {
        let lines: Vec<_> = chat.unreadable.iter().map(ToString::to_string).collect();
        context.ui.warning(&format!(
            "the unsaved messages have unreadable lines ({}), which are kept",
            lines.join(", ")
        ));
    }
}

fn json_list(
    context: &Context,
    chat: &SessionChat<'_>,
    from: u64,
    which: Option<&[String]>,
    shown: Shown,
) -> Result<(), CommandError> {
    let mut messages = Vec::new();
    let mut groups = TurnGroups::default();
    chat.each(from, |at, mut message| {
        groups.push(at + 1, &message);
        if shown == Shown::Texts {
            let Some(text) = turn::spoken(&message) else {
                return Ok(());
            };
            message.content = text.into();
        } else if which.is_none_or(|which| is_named(which, at, &message)) {
            chat.saved.attach(&mut message);
        } else {
            return Ok(());
        }
        messages.push(NumberedMessage { message, n: at + 1 });
        Ok(())
    })?;
    missing(which, messages.len())?;
    context.ui.json(&MessageList {
        session: &chat.session,
        total: chat.len(),
        summarised: chat.live(),
        compaction: chat.compaction.as_ref(),
        turns: groups.end().into_iter().filter(|group| group.key.is_some()).collect(),
        messages,
        unreadable: &chat.unreadable,
    })
}

fn is_named(which: &[String], at: u64, message: &Message) -> bool {
    which.is_empty()
        || which
            .iter()
            .any(|name| *name == (at + 1).to_string() || *name == message.id)
}

fn missing(which: Option<&[String]>, found: usize) -> Result<(), CommandError> {
    match which {
        Some(which) if !which.is_empty() && found == 0 => {
            let message = format!("no message '{}'", which.join("', '").escape_debug());
            Err(CommandError::new(FailureKind::NotFound, message)
                .hint("see what there is: git checkpoint message list --full"))
        }
        _ => Ok(()),
    }
}

fn show(args: MessageShowArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    let chat = chosen(&opened, args.selector.as_deref())?;
    // What is named is meant, summarized or not.
    let from = if args.full || !args.which.is_empty() {
        0
    } else {
        chat.live()
    };
    if context.ui.options().json {
        return json_list(context, &chat, from, Some(&args.which), Shown::All);
    }
    context.ui.page();
    let mut found = 0;
    chat.each(from, |at, message| {
        if is_named(&args.which, at, &message) {
            found += 1;
            context.ui.data(render::full(at + 1, &message));
        }
        Ok(())
    })?;
    missing(Some(&args.which), found)?;
    warn_unreadable(context, &chat);
    Ok(())
}
