//! `remote`: relation of the local sessions to those of the remotes.

use crate::{
    commands::{
        Context,
        error::CommandError,
        opening::{self, IdentityArgs},
    },
    model::time::Timestamp,
    ops::share::{
        ChainRelation,
        status::{self, RemoteStatus, ShareState},
    },
    render::{
        count::CountedNoun,
        share::{RemoteRow, RemoteStatusView, SessionRelation, ShareRelation},
        slot::Slot,
        text::TextLine,
    },
};

/// Compare local sessions with remotes
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  List unpushed sessions:
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
/// As of the last fetch or push; no remote is contacted.
#[derive(Debug, Default, clap::Args)]
#[command(after_long_help = "\
Examples:
  List unpushed sessions:
    git checkpoint remote status
  With the latest state of the remote:
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
    let view = RemoteStatusView {
        remotes: remotes.iter().map(row).collect(),
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    if remotes.is_empty() {
        context.ui.status(TextLine::plain("This repository has no remote."));
        context.ui.hint("Remote", "add one: git remote add origin <url>");
        return Ok(());
    }
    context.ui.data(view.text(scene.now));
    let unpushed = remotes
        .iter()
        .filter(|remote| remote.usual.1)
        .any(|remote| remote.sessions.iter().any(|row| row.state.is_ahead()));
    if unpushed {
        context.ui.hint("Remote", "push everything: git checkpoint push --all");
    }
    Ok(())
}

impl ShareState {
    fn is_ahead(&self) -> bool {
        matches!(self, Self::Both(ChainRelation::Ahead(_)) | Self::Here(_))
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Both(ChainRelation::Same) => "up-to-date",
            Self::Both(ChainRelation::Ahead(_)) => "not-pushed",
            Self::Both(ChainRelation::Behind(_)) => "behind",
            Self::Both(ChainRelation::Diverged { .. }) => "diverged",
            Self::Both(ChainRelation::Unrelated) => "another-session",
            Self::Here(_) => "only-here",
            Self::There(_) => "only-there",
            Self::Damaged(_) => "damaged",
        }
    }
}

/// Relation of a session to a remote, in a sentence about the session; empty where they are the same.
pub(in crate::commands) fn words(remote: &str, state: &ShareState) -> TextLine {
    let count = |n: &usize| CountedNoun::new(*n, "checkpoint");
    let (slot, text) = match state {
        ShareState::Both(ChainRelation::Same) => (Slot::Good, format!("up to date with {remote} as of the last fetch")),
        ShareState::Both(ChainRelation::Ahead(n)) | ShareState::Here(n) => {
            (Slot::Caution, format!("{} not pushed to {remote}", count(n)))
        }
        ShareState::Both(ChainRelation::Behind(n)) | ShareState::There(n) => (
            Slot::Caution,
            format!("{} more on {remote}: 'git checkpoint pull'", count(n)),
        ),
        ShareState::Both(ChainRelation::Diverged { ours, theirs }) => (
            Slot::Caution,
            format!("diverged from {remote}: {ours} ahead, {theirs} behind; see 'git checkpoint pull'"),
        ),
        ShareState::Both(ChainRelation::Unrelated) => {
            (Slot::Caution, format!("another session has its name on {remote}"))
        }
        ShareState::Damaged(why) => (Slot::Bad, format!("cannot be compared with {remote}: {why}")),
    };
    TextLine::new().with(slot, text)
}

/// Relation of a session to the one of a remote.
pub(in crate::commands) fn relation(state: &ShareState) -> ShareRelation<'_> {
    let (unpushed, unpulled) = match state {
        ShareState::Both(ChainRelation::Ahead(count)) | ShareState::Here(count) => (*count, 0),
        ShareState::Both(ChainRelation::Behind(count)) | ShareState::There(count) => (0, *count),
        ShareState::Both(ChainRelation::Diverged { ours, theirs }) => (*ours, *theirs),
        _ => (0, 0),
    };
    let damage = match state {
        ShareState::Damaged(why) => Some(why.as_str()),
        _ => None,
    };
    ShareRelation {
        state: state.word().to_owned(),
        unpushed,
        unpulled,
        damage,
    }
}

fn row(standing: &RemoteStatus) -> RemoteRow<'_> {
    let remote = &standing.remote;
    RemoteRow {
        name: &remote.name,
        url: &remote.url,
        push_url: remote.push_url.as_deref(),
        mirror: remote.mirror,
        fetch_default: standing.usual.0,
        push_default: standing.usual.1,
        seen_at: standing.seen.map(|seen| Timestamp::from_unix(seen, 0)),
        sessions: standing
            .sessions
            .iter()
            .map(|row| SessionRelation {
                session: &row.name,
                relation: relation(&row.state),
            })
            .collect(),
    }
}
