//! `remote`: relation of the local sessions to those of the remotes.

use serde_json::{Value, json};

use crate::{
    commands::{
        Context,
        error::CommandError,
        opening::{self, IdentityArgs},
    },
    model::time::Timestamp,
    ops::share::{
        ChainRelation,
        status::{self, RemoteStatus, ShareState, SharedSession},
    },
    render::{
        age,
        count::CountedNoun,
        slot::Slot,
        text::{Text, TextLine},
    },
};

/// Compare local sessions with remotes
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  What is not pushed yet:
    git checkpoint remote status")]
pub(in crate::commands) struct Args {
    #[command(subcommand)]
    what: Option<RemoteAction>,
}

#[derive(Debug, clap::Subcommand)]
enum RemoteAction {
    Status(StatusArgs),
}

/// Sessions that are not pushed, new on the remote, or diverged
///
/// By what was last fetched or pushed; no remote is asked.
#[derive(Debug, Default, clap::Args)]
#[command(after_long_help = "\
Examples:
  What is not pushed yet:
    git checkpoint remote status
  Up to date with the remote:
    git checkpoint fetch && git checkpoint remote status")]
struct StatusArgs {
    /// The remote; all without one
    #[arg(value_name = "REMOTE")]
    remote: Option<String>,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let RemoteAction::Status(args) = args.what.unwrap_or(RemoteAction::Status(StatusArgs::default()));
    let opened = opening::open(context, &IdentityArgs::default())?;
    let scene = opened.scene();
    let remotes = status::status(&scene, args.remote.as_deref())?;
    if context.ui.options().json {
        return context.ui.json(&json!({
            "schema": "git-checkpoint.remote-status/1",
            "remotes": remotes.iter().map(json_of).collect::<Vec<_>>(),
        }));
    }
    if remotes.is_empty() {
        context.ui.status(TextLine::plain("This repository has no remote."));
        context.ui.hint("Remote", "add one: git remote add origin <url>");
        return Ok(());
    }
    let mut text = Text::new();
    for (at, remote) in remotes.iter().enumerate() {
        if at > 0 {
            text.push(TextLine::new());
        }
        text.append(text_of(remote, scene.now));
    }
    context.ui.data(text);
    let unpushed = remotes
        .iter()
        .filter(|remote| remote.usual.1)
        .any(|remote| remote.sessions.iter().any(|row| row.state.is_ahead()));
    if unpushed {
        context.ui.hint("Remote", "send everything: git checkpoint push --all");
    }
    Ok(())
}

impl ShareState {
    fn is_ahead(&self) -> bool {
        matches!(self, Self::Both(ChainRelation::Ahead(_)) | Self::Here(_))
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Both(ChainRelation::Same) => "up to date",
            Self::Both(ChainRelation::Ahead(_)) => "not pushed",
            Self::Both(ChainRelation::Behind(_)) => "behind",
            Self::Both(ChainRelation::Diverged { .. }) => "diverged",
            Self::Both(ChainRelation::Unrelated) => "another session",
            Self::Here(_) => "only here",
            Self::There(_) => "only there",
            Self::Damaged(_) => "damaged",
        }
    }
}

fn text_of(standing: &RemoteStatus, now: Timestamp) -> Text {
    let mut text = Text::new();
    let remote = &standing.remote;
    let mut line = TextLine::new().with(Slot::Heading, &remote.name);
    line.push(Slot::Plain, format!("  {}", remote.url));
    if let Some(url) = &remote.push_url {
        line.push(Slot::Plain, format!(", pushed to {url}"));
    }
    if let Some(seen) = standing.seen {
        line.push(Slot::Plain, ", seen ");
        line.push(Slot::Date, age::age(Timestamp::from_unix(seen, 0), now));
    }
    text.push(line);
    if remote.mirror {
        text.push(TextLine::plain("  ").with(Slot::Caution, "mirror: every 'git push' to it publishes the sessions"));
    }
    if standing.sessions.is_empty() {
        text.push(TextLine::plain("  no sessions"));
    }
    let width = standing.sessions.iter().map(|row| row.name.len()).max().unwrap_or(0);
    for row in &standing.sessions {
        text.push(line_of(row, width));
    }
    text
}

fn line_of(row: &SharedSession, width: usize) -> TextLine {
    let slot = match &row.state {
        ShareState::Both(ChainRelation::Same) => Slot::Good,
        ShareState::Damaged(_) => Slot::Bad,
        ShareState::Both(ChainRelation::Diverged { .. } | ChainRelation::Unrelated) => Slot::Caution,
        _ => Slot::Plain,
    };
    let mut line = TextLine::plain("  ").with(Slot::Session, &row.name);
    line.pad_to(width.min(40) + 4);
    line.push(slot, row.state.word());
    let more = match &row.state {
        ShareState::Both(ChainRelation::Ahead(count) | ChainRelation::Behind(count))
        | ShareState::Here(count)
        | ShareState::There(count) => CountedNoun::new(*count, "checkpoint").to_string(),
        ShareState::Both(ChainRelation::Diverged { ours, theirs }) => format!("{ours} here, {theirs} there"),
        ShareState::Both(ChainRelation::Unrelated) => "of the same name".to_owned(),
        ShareState::Damaged(why) => why.clone(),
        ShareState::Both(ChainRelation::Same) => String::new(),
    };
    if !more.is_empty() {
        line.push(Slot::Plain, format!(", {more}"));
    }
    line
}

/// Relation of a session to a remote, in a sentence about the session; empty where they are the same.
pub(in crate::commands) fn words(remote: &str, state: &ShareState) -> TextLine {
    let count = |n: &usize| CountedNoun::new(*n, "checkpoint");
    let (slot, text) = match state {
        ShareState::Both(ChainRelation::Same) => (Slot::Good, format!("everything is on {remote}, as last seen")),
        ShareState::Both(ChainRelation::Ahead(n)) | ShareState::Here(n) => {
            (Slot::Caution, format!("{} not pushed to {remote}", count(n)))
        }
        ShareState::Both(ChainRelation::Behind(n)) | ShareState::There(n) => (
            Slot::Caution,
            format!("{} more on {remote}: 'git checkpoint pull'", count(n)),
        ),
        ShareState::Both(ChainRelation::Diverged { ours, theirs }) => (
            Slot::Caution,
            format!("{ours} here and {theirs} on {remote} go different ways: 'git checkpoint pull'"),
        ),
        ShareState::Both(ChainRelation::Unrelated) => {
            (Slot::Caution, format!("another session has its name on {remote}"))
        }
        ShareState::Damaged(why) => (Slot::Bad, format!("cannot be compared with {remote}: {why}")),
    };
    TextLine::new().with(slot, text)
}

/// Relation of a session to another side, for programs, with the name given to `key`.
pub(in crate::commands) fn state_json(key: &str, name: &str, state: &ShareState) -> Value {
    let (ours, theirs) = match state {
        ShareState::Both(ChainRelation::Ahead(count)) | ShareState::Here(count) => (*count, 0),
        ShareState::Both(ChainRelation::Behind(count)) | ShareState::There(count) => (0, *count),
        ShareState::Both(ChainRelation::Diverged { ours, theirs }) => (*ours, *theirs),
        _ => (0, 0),
    };
    let why = match state {
        ShareState::Damaged(why) => Some(why),
        _ => None,
    };
    json!({
        key: name,
        "state": state.word().replace(' ', "-"),
        "unpushed": ours,
        "unpulled": theirs,
        "damage": why,
    })
}

fn json_of(standing: &RemoteStatus) -> Value {
    let session = |row: &SharedSession| state_json("session", &row.name, &row.state);
    let remote = &standing.remote;
    json!({
        "name": remote.name,
        "url": remote.url,
        "push_url": remote.push_url,
        "mirror": remote.mirror,
        "fetch_default": standing.usual.0,
        "push_default": standing.usual.1,
        "seen_at": standing.seen.map(|seen| Timestamp::from_unix(seen, 0)),
        "sessions": standing.sessions.iter().map(session).collect::<Vec<_>>(),
    })
}
