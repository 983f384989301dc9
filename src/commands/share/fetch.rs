//! `fetch`: the sessions of a remote, as they are there now.

use super::{pulled, wired};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind},
        opening::{self, IdentityArgs},
        session_word,
    },
    model::{name::ShortName, spelling::similar},
    ops::{
        returned, select,
        share::{
            ChainRelation,
            fetch::{self, FetchOutcome, FetchRequest, RemoteChange},
            status::{self, ShareState},
        },
    },
    render::{
        count::CountedNoun,
        share::{FetchReceipt, FetchRow, RefusedFetch},
    },
    store::{self, checkpoint::oid, session},
};

/// Download sessions from a remote without changing local ones
///
/// A fetched session is called 'origin/auth' in 'show', 'log', 'diff' and 'resume', and listed by 'list -r'. Its
/// format, digests, names and sizes are checked first. Sessions that the remote deleted, rewound or replaced are
/// reported, the first time with exit code 1, and your copy is kept.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  See what others pushed:
    git checkpoint fetch
    git checkpoint list -r
  Only one session, or only those that are here already:
    git checkpoint fetch origin auth
    git checkpoint fetch --mine
  Only those of the last two weeks:
    git checkpoint fetch --since '2 weeks ago'
  Resume one:
    git checkpoint resume origin/auth")]
pub(in crate::commands) struct Args {
    /// The remote; the usual one by default
    #[arg(value_name = "REMOTE")]
    remote: Option<String>,
    /// The sessions; all by default
    #[arg(value_name = "SESSION", conflicts_with = "mine", value_parser = session_word::of_remote)]
    sessions: Vec<ShortName>,
    /// Fetch only sessions that this repository has
    #[arg(long)]
    mine: bool,
    /// Fetch only sessions last saved at or after this date, such as '2 weeks ago'
    ///
    /// The refs of a remote have no dates. The latest checkpoints of all sessions that are not here yet are looked at
    /// first, without their history and, if the server supports filters (uploadpack.allowFilter), without their contents.
    #[arg(long, value_name = "DATE", conflicts_with = "sessions")]
    since: Option<String>,
    /// Accept deleted, rewound or replaced remote sessions
    #[arg(long)]
    follow: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let (mut remote, mut sessions) = (args.remote, args.sessions);
    let mut guessed = None;
    if let Some(text) = &remote
        && store::remote::find(opened.scene().repo, text).is_none()
        && let Ok(name) = session_word::of_remote(text)
    {
        // Sessions alone, of the usual remote.
        sessions.insert(0, name);
        guessed = remote.take();
    }
    if args.since.is_some() && !sessions.is_empty() {
        return Err(CommandError::new(FailureKind::Usage, "'--since' takes no sessions"));
    }
    if args.mine && !sessions.is_empty() {
        return Err(CommandError::new(FailureKind::Usage, "'--mine' takes no sessions"));
    }
    let only = if args.mine {
        let names = session::names(opened.scene().repo)?.into_iter();
        let mut names: Vec<_> = names.filter_map(|name| ShortName::new(name).ok()).collect();
        // Those too that were renamed here or there.
        names.extend(status::names_there(&opened.scene(), remote.as_deref())?);
        names.sort();
        names.dedup();
        Some(names)
    } else {
        Some(sessions).filter(|sessions| !sessions.is_empty())
    };
    let since = args.since.as_deref();
    let since = since.map(|date| select::unix_time(&opened.scene(), date)).transpose()?;
    let request = FetchRequest {
        remote,
        session: None,
        only,
        since,
        accept: args.follow,
        dry_run: args.dry_run,
    };
    let fetched = wired(context, "git checkpoint fetch", |wire| {
        fetch::fetch(&opened.scene(), &request, wire)
    })?;
    if let Some(word) = guessed
        && let Some(absent) = fetched.absent.iter().find(|absent| absent.as_str() == word)
    {
        let remotes = store::remote::all(opened.scene().repo).into_iter();
        let known: Vec<String> = remotes.map(|remote| remote.name).collect();
        let message = format!(
            "no remote '{}', and remote '{}' has no session of that name",
            word.escape_debug(),
            fetched.remote.name.escape_debug()
        );
        let near = similar(absent.as_str(), known.iter().map(String::as_str));
        let error = CommandError::new(FailureKind::NotFound, message);
        return Err(match near {
            Some(near) => error.hint(format!("did you mean '{near}'? git checkpoint fetch {near}")),
            None => error.hint(format!("remotes: {}", known.join(", "))),
        });
    }
    let absent = fetched.absent.first().filter(|_| !args.mine);
    // Nothing was looked at but what the remote lacks.
    if absent.is_none() || fetched.absent.len() < request.only.as_ref().map_or(0, Vec::len) {
        context
            .ui
            .report(&view(&fetched, args.dry_run, waiting(&opened, &fetched)?))?;
    }
    let remote = &fetched.remote.name;
    for found in fetched.sessions.iter().filter(|_| !args.dry_run) {
        if let Some(tip) = found.tip.filter(|_| found.taken) {
            let content = returned::content_fetched(&opened.scene(), tip, found.before)?;
            pulled::warn_purged_there(context, remote, &found.name, &content);
        }
    }
    if let Some(session) = absent {
        return Err(CommandError::new(
            FailureKind::NotFound,
            format!("remote '{}' has no session '{session}'", remote.escape_debug()),
        )
        .hint(format!("see what it has: git checkpoint fetch {remote}")));
    }
    if !fetched.refused.is_empty() {
        let sessions = CountedNoun::new(fetched.refused.len(), "session");
        return Err(CommandError::new(
            FailureKind::Negative,
            format!("{sessions} of remote '{}' refused", remote.escape_debug()),
        )
        .hint("nothing was imported"));
    }
    let lost: Vec<_> = fetched.sessions.iter().filter(|found| !found.taken).collect();
    let accept = format!("to accept it: git checkpoint fetch {remote} --follow");
    // What was reported before is in the rows alone: scripts need not fail for it each time.
    if let Some(first) = lost.iter().find(|found| !found.is_known) {
        let message = format!(
            "session '{}' {} on remote '{}'{}",
            first.name,
            first.change.words(),
            remote.escape_debug(),
            if lost.iter().filter(|found| !found.is_known).count() > 1 {
                ", and more like it"
            } else {
                ""
            }
        );
        return Err(CommandError::new(FailureKind::Negative, message)
            .hint("your copy is kept, and no local session was changed")
            .hint(accept));
    }
    if !lost.is_empty() {
        context.ui.hint("Fetched", &accept);
    }
    if args.dry_run {
        return Ok(());
    }
    let news = fetched
        .sessions
        .iter()
        .find(|found| matches!(found.change, RemoteChange::New { .. } | RemoteChange::Forward { .. }));
    if let Some(found) = news {
        let name = &found.name;
        let mine = session::tip(opened.scene().repo, name)?.is_some()
            || status::names_there(&opened.scene(), Some(remote.as_str()))?.contains(name);
        let next = if mine {
            format!("update yours: git checkpoint pull {remote} {name}")
        } else {
            format!("resume it: git checkpoint resume {remote}/{name}")
        };
        context.ui.hint("Fetched", &next);
    }
    Ok(())
}

/// Fetched checkpoints that are not new and not merged yet: a refused push fetches what it met.
fn waiting(opened: &opening::OpenedRepository, fetched: &FetchOutcome) -> Result<Vec<(String, usize)>, CommandError> {
    let remote = &fetched.remote.name;
    let is_news = |name: &str| fetched.sessions.iter().any(|found| found.name.as_str() == name);
    let mut waiting = Vec::new();
    for standing in status::status(&opened.scene(), Some(remote.as_str()))? {
        for row in &standing.sessions {
            let name = row.there.as_ref().map_or(row.name.as_str(), ShortName::as_str);
            if is_news(name) {
                continue;
            }
            let count = match &row.state {
                ShareState::Both(ChainRelation::Behind(n)) => *n,
                ShareState::Both(ChainRelation::Diverged { theirs, .. }) => *theirs,
                _ => continue,
            };
            waiting.push((name.to_owned(), count));
        }
    }
    Ok(waiting)
}

fn view(fetched: &FetchOutcome, dry_run: bool, waiting: Vec<(String, usize)>) -> FetchReceipt<'_> {
    let sessions = fetched.sessions.iter().map(|found| FetchRow {
        session: &found.name,
        selector: format!("{}/{}", fetched.remote.name, found.name),
        id: found.tip.map(oid),
        before: found.before.map(oid),
        change: found.change.word(),
        renamed: found.renamed.as_ref(),
        checkpoints: match found.change {
            RemoteChange::New { checkpoints }
            | RemoteChange::Forward { checkpoints }
            | RemoteChange::Back { checkpoints } => Some(checkpoints),
            RemoteChange::Rewritten | RemoteChange::Deleted | RemoteChange::Renamed => None,
        },
        followed: found.taken,
    });
    let refused = fetched.refused.iter();
    FetchReceipt {
        dry_run,
        remote: &fetched.remote.name,
        url: &fetched.remote.url,
        sessions: sessions.collect(),
        refused: refused
            .map(|(session, reason)| RefusedFetch { session, reason })
            .collect(),
        unchanged: fetched.unchanged,
        older: fetched.older,
        waiting,
    }
}
