//! `remote`: relation of the local sessions to those of the remotes.

use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind},
        opening::{self, IdentityArgs},
    },
    model::{name::ShortName, time::Timestamp},
    ops::share::{
        ChainRelation, PrunedSide, push,
        status::{self, RemoteStanding, RemoteStatus, ShareState},
    },
    render::{
        count::CountedNoun,
        session_change::{RemovalView, RemovedRow},
        share::{RefusedSession, RemoteRow, RemoteStatusView, SessionRelation, ShareRelation},
        slot::Slot,
        text::TextLine,
    },
    store::checkpoint::oid,
};

use super::{remove, wired};

/// Compare local sessions with remotes
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  List unpushed sessions:
    git checkpoint remote status
  Delete sessions on the remote that were deleted here, or are finished:
    git checkpoint remote prune --finished --dry-run
  Delete one there:
    git checkpoint remote delete auth")]
pub(in crate::commands) struct Args {
    #[command(subcommand)]
    what: Option<RemoteAction>,
}

#[derive(Debug, clap::Subcommand)]
enum RemoteAction {
    Status(StatusArgs),
    Delete(DeleteArgs),
    Prune(PruneArgs),
}

/// Delete sessions on a remote
///
/// As last fetched or pushed: one that somebody added to since is refused. Local sessions stay, and what only the remote
/// had goes to the trash here. The same as 'git checkpoint delete --remote'.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Delete a session on the remote that 'git checkpoint push' uses:
    git checkpoint remote delete auth
  On another one:
    git checkpoint remote delete backup/auth")]
struct DeleteArgs {
    /// The sessions, also as 'origin/auth'
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<String>,
    /// The remote; the one of the session, else the usual one of a push
    #[arg(long, value_name = "REMOTE")]
    remote: Option<String>,
    /// Also delete a session that somebody else has claimed
    #[arg(long)]
    force: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Delete sessions on a remote that were deleted here
///
/// Only sessions of which everything is here, as last fetched or pushed: one that somebody added to is refused, and one that
/// somebody else has claimed stays. To delete single ones, see 'git checkpoint remote delete'.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Show what would be deleted:
    git checkpoint remote prune --dry-run
  Finished sessions of yours as well; your local ones stay:
    git checkpoint remote prune --finished")]
struct PruneArgs {
    /// The remote; the usual one by default
    #[arg(value_name = "REMOTE")]
    remote: Option<String>,
    /// Also finished sessions that you saved last
    #[arg(long)]
    finished: bool,
    /// Also finished sessions of others
    #[arg(long, requires = "finished")]
    others: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
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
    let args = match args.what {
        Some(RemoteAction::Prune(args)) => return prune(&args, context),
        Some(RemoteAction::Delete(args)) => return delete(args, context),
        Some(RemoteAction::Status(args)) => args,
        None => StatusArgs::default(),
    };
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
        context.ui.status("No remotes found.");
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

fn delete(args: DeleteArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let named = || Some(args.sessions.first()?.rsplit_once('/')?.0.to_owned());
    let remote = match args.remote.or_else(named) {
        Some(remote) => remote,
        None => push::usual_remote(&opened.scene())?,
    };
    remove::run(&remote, &args.sessions, (args.force, args.dry_run), context, &opened)
}

/// Shows what goes, asks, and deletes it.
fn prune(args: &PruneArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let request = push::RemotePruneRequest {
        remote: args.remote.clone(),
        finished: args.finished,
        others: args.others,
    };
    let (remote, candidates) = push::candidates(&opened.scene(), &request)?;
    let command = format!("git checkpoint remote prune {remote}");
    if !args.dry_run && !args.yes && !candidates.is_empty() {
        let names: Vec<&str> = candidates.iter().map(|one| one.name.as_str()).collect();
        let sessions = CountedNoun::new(names.len(), "session");
        let question = format!("Delete {sessions} on {remote} ({})?", names.join(", "));
        if !context.ui.confirm(&question, "--yes")? {
            return Err(CommandError::new(FailureKind::Negative, "nothing was deleted"));
        }
    }
    let removed = wired(context, &command, |wire| {
        push::prune(&opened.scene(), &remote, &candidates, args.dry_run, wire)
    })?;
    if removed.is_empty() && !context.ui.options().json {
        context.ui.status(format!("Nothing to delete on {remote}."));
        return Ok(());
    }
    let why = |name: &ShortName| {
        candidates
            .iter()
            .find(|one| one.name == *name)
            .map(|one| one.why.words())
    };
    context.ui.report(&RemovalView {
        remote: &remote,
        dry_run: args.dry_run,
        deleted: removed
            .iter()
            .map(|one| RemovedRow {
                session: one.name.as_str(),
                id: oid(one.tip),
                is_here: one.is_here,
                trash: one.trash.as_deref(),
                why: why(&one.name),
            })
            .collect(),
    })
}

impl ShareState {
    fn is_ahead(&self) -> bool {
        matches!(
            self,
            Self::Both(ChainRelation::Ahead(_)) | Self::Here(_) | Self::Pruned(PrunedSide::Ours)
        )
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
            Self::Deleted => "deleted-there",
            Self::Pruned(PrunedSide::Ours) => "pruned-here",
            Self::Pruned(PrunedSide::Theirs { .. }) => "pruned-there",
            Self::Purged => "purged-here",
            Self::Damaged(_) => "damaged",
        }
    }
}

/// Relation of a session to a remote, in a sentence about the session; empty where they are the same.
pub(in crate::commands) fn words(standing: &RemoteStanding) -> TextLine {
    let remote = &standing.remote;
    let count = |n: &usize| CountedNoun::new(*n, "checkpoint");
    let (slot, text) = match &standing.state {
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
        ShareState::Deleted => (
            Slot::Caution,
            format!("deleted on {remote}: 'git checkpoint push --force' brings it back"),
        ),
        ShareState::Pruned(PrunedSide::Ours) => (
            Slot::Caution,
            format!("pruned here and not on {remote}: 'git checkpoint push'"),
        ),
        ShareState::Pruned(PrunedSide::Theirs { dropped, .. }) => (
            Slot::Caution,
            format!(
                "{} pruned on {remote} and not here: 'git checkpoint pull'",
                count(dropped)
            ),
        ),
        ShareState::Purged => (
            Slot::Caution,
            format!("{remote} still has what was purged here: 'git checkpoint purge --remote'"),
        ),
        ShareState::Damaged(why) => (Slot::Bad, format!("cannot be compared with {remote}: {why}")),
    };
    let otherwise = standing.there.as_ref();
    let otherwise = otherwise.map(|there| format!("as {there} on {remote}, "));
    TextLine::new().with(slot, format!("{}{text}", otherwise.unwrap_or_default()))
}

/// Relation of a session to the one of a remote.
pub(in crate::commands) fn relation<'a>(state: &'a ShareState, there: Option<&'a ShortName>) -> ShareRelation<'a> {
    let (unpushed, unpulled) = match state {
        ShareState::Both(ChainRelation::Ahead(count))
        | ShareState::Here(count)
        | ShareState::Pruned(PrunedSide::Theirs { ours: count, .. }) => (*count, 0),
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
        remote_session: there,
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
                relation: relation(&row.state, row.there.as_ref()),
            })
            .collect(),
        refused: standing
            .refused
            .iter()
            .map(|(session, why)| RefusedSession { session, why })
            .collect(),
    }
}
