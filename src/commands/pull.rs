//! `pull`: a session brought to what a remote has.

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure, merge,
    opening::{self, IdentityArgs, OpenedRepository},
    session_word,
    share::{pulled, wired},
};
use crate::{
    model::{name::ShortName, step::quoted},
    ops::{
        list::{self, SessionFilter},
        merge::MergeMethod,
        share::{
            fetch,
            pull::{self, LeftOutCheckpoints, PullOutcome, PullRequest, PulledSession},
        },
    },
    render::count::CountedNoun,
    store::remote,
};

/// Fetch a session and fast-forward to it
///
/// Without a session: the current one, or the only one of the remote if none is current. One that was renamed, here or
/// there, keeps the name that it has here. If both sides have diverged, your checkpoints and what is not saved yet move
/// to a separate session, which stays current, and the session itself follows the remote. With --merge both become one
/// session, as by 'git checkpoint merge'; after a pull that separated them, --merge merges the session into yours.
/// What was pruned on the remote goes to the trash here, and checkpoints that are only here come after the rest; what was
/// pruned here stays so.
/// Nothing is dropped, and without --merge no file changes; 'git checkpoint undo' undoes the pull.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Continue a session that somebody else pushed:
    git checkpoint pull origin auth
    git checkpoint resume auth
  Get new checkpoints of your session:
    git checkpoint pull
  Merge diverged sessions into one:
    git checkpoint pull --merge
    git checkpoint push")]
pub(super) struct Args {
    /// The remote; or remote and session as 'origin/auth'
    #[arg(value_name = "REMOTE")]
    remote: Option<String>,
    /// The session; the current one by default
    #[arg(value_name = "SESSION", value_parser = session_word::of_remote)]
    session: Option<ShortName>,
    /// Accept a rewound or replaced remote session
    #[arg(long)]
    follow: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Merge diverged sessions into one
    #[arg(long)]
    merge: bool,
    /// With --merge: leave the files as they are
    #[arg(long, requires = "merge")]
    no_files: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let scene = opened.scene();
    let (mut remote, mut session) = (args.remote, args.session);
    if session.is_none()
        && let Some(text) = &remote
        && remote::find(scene.repo, text).is_none()
        && let Some((named, name, _)) = remote::named_ref(text)
        && remote::find(scene.repo, &named).is_some()
    {
        (remote, session) = (Some(named), Some(name));
    }
    if session.is_none()
        && let Some(text) = &remote
        && remote::find(scene.repo, text).is_none()
        && let Ok(name) = session_word::of_remote(text)
    {
        // A session alone, of the usual remote.
        (remote, session) = (None, Some(name));
    }
    if session.is_none()
        && let Some(name) = offered(context, &opened, remote.as_deref())?
    {
        session = Some(name);
    }
    let request = PullRequest {
        remote,
        session,
        accept: args.follow,
        dry_run: args.dry_run,
        merge: args.merge.then(|| MergeMethod {
            files: args.no_files.then_some(false),
            ..MergeMethod::default()
        }),
    };
    let pulled = wired(context, "git checkpoint pull", |wire| {
        pull::pull(&scene, &request, wire)
    })?;
    if let PullOutcome::Merged { merged, .. } = &pulled.outcome {
        failure::warn_aftermath(&context.ui, &pulled.aftermath);
        let (name, remote) = (&pulled.name, &pulled.remote);
        let force = format!("git checkpoint merge {remote}/{name} --force");
        let left_out = Some(pulled::left_out(&pulled)).filter(|_| pulled.left_out != LeftOutCheckpoints::default());
        let reported = merge::report(context, &opened, merged, (args.dry_run, left_out), &force);
        if !args.dry_run && merged.id.is_some() {
            let push = format!("share it: git checkpoint push {remote} {name}");
            context.ui.hint("Pulled", &push);
            note_left_over(context, &pulled);
        }
        return reported;
    }
    if args.dry_run {
        return context.ui.report(&pulled::receipt(&pulled, true));
    }
    report(context, &pulled)
}

/// The session that a remote offers, where none is current here: the only one it has.
fn offered(
    context: &Context,
    opened: &OpenedRepository,
    remote: Option<&str>,
) -> Result<Option<ShortName>, CommandError> {
    let scene = opened.scene();
    if scene.session.is_some()
        || list::sessions(&scene, &SessionFilter::default())?
            .iter()
            .any(|row| row.current)
    {
        return Ok(None);
    }
    let request = fetch::FetchRequest {
        remote: remote.map(str::to_owned),
        session: None,
        only: None,
        since: None,
        accept: false,
        dry_run: false,
    };
    let fetched = wired(context, "git checkpoint pull", |wire| {
        fetch::fetch(&scene, &request, wire)
    })?;
    let remote = &fetched.remote.name;
    let filter = SessionFilter {
        remote: true,
        ..SessionFilter::default()
    };
    let rows = list::sessions(&scene, &filter)?;
    let names = rows
        .iter()
        .filter_map(|row| row.name.strip_prefix(remote.as_str())?.strip_prefix('/'));
    let names: Vec<&str> = names.collect();
    match names.as_slice() {
        [] if !fetched.refused.is_empty() => {
            let sessions = CountedNoun::new(fetched.refused.len(), "session");
            let message = format!("{sessions} of remote '{}' refused", remote.escape_debug());
            let error = CommandError::new(FailureKind::Negative, message);
            let shown = fetched.refused.iter().take(5);
            Err(shown.fold(error, |error, (name, why)| error.hint(format!("{name}: {why}"))))
        }
        [] => Err(CommandError::new(
            FailureKind::NotFound,
            format!("remote '{}' has no sessions", remote.escape_debug()),
        )),
        [name] => Ok(ShortName::new(*name).ok()),
        several => Err(CommandError::new(
            FailureKind::NotFound,
            format!(
                "remote '{}' has {} sessions: {}",
                remote.escape_debug(),
                several.len(),
                several.join(", ")
            ),
        )
        .hint(format!("specify one: git checkpoint pull {remote} {}", several[0]))),
    }
}

/// Reports what was brought.
pub(super) fn report(context: &Context, pulled: &PulledSession) -> Result<(), CommandError> {
    failure::warn_aftermath(&context.ui, &pulled.aftermath);
    context.ui.report(&pulled::receipt(pulled, false))?;
    if pulled.claims_dropped {
        let name = &pulled.name;
        let now = match &pulled.claim {
            Some(claim) => {
                let until = claim.until.map(|until| format!(" until {}", until.minute()));
                format!("it is claimed by {}{}", claim.by, until.unwrap_or_default())
            }
            None => "it has no claim now".to_owned(),
        };
        context
            .ui
            .warning(&format!("your claim of session '{name}' was dropped: {now}"));
    }
    if pulled.purged_again.is_empty()
        && pulled.current
        && pulled.has_other_files
        && matches!(pulled.outcome, PullOutcome::Forward { .. })
    {
        // The next save has the files of the working tree, and so without these the pulled changes would be gone.
        let apply = format!(
            "Your files stay as they are; to get the pulled changes: git checkpoint resume {} --apply",
            pulled.name
        );
        context.ui.status(apply);
    }
    pulled::warn_purged(context, &pulled.name, &pulled.purged_again, "--remote ");
    hints(context, pulled);
    Ok(())
}

/// Names what remotes still have of a session that is part of another one again: others would go on in it.
fn note_left_over(context: &Context, pulled: &PulledSession) {
    for (remote, session) in &pulled.left_over {
        let (shown, name) = (remote.escape_debug(), &pulled.name);
        let delete = format!("git checkpoint remote delete {}/{session}", quoted(remote));
        context.ui.status(format!(
            "Remote '{shown}' still has {session}; to remove that once {name} is pushed: {delete}"
        ));
    }
}

fn hints(context: &Context, pulled: &PulledSession) {
    let name = &pulled.name;
    if let Some(there) = &pulled.there {
        let rename = format!("to call it so here as well: git checkpoint rename {name} {there}");
        context.ui.hint("Pulled", &rename);
    }
    if matches!(pulled.outcome, PullOutcome::New { .. }) && !pulled.current {
        // Without it, the next save would start another session.
        let next = format!("Not the current session yet; resume it: git checkpoint resume {name}");
        return context.ui.status(next);
    }
    let next = match &pulled.outcome {
        PullOutcome::UpToDate { ahead: 0 } | PullOutcome::Pruned { ours: 0, .. } | PullOutcome::Merged { .. } => return,
        PullOutcome::UpToDate { .. } | PullOutcome::Pruned { .. } => {
            format!("push them: git checkpoint push {} {name}", pulled.remote)
        }
        PullOutcome::New { .. } => format!("resume it: git checkpoint resume {name}"),
        PullOutcome::Forward { .. } => format!("see what is new: git checkpoint resume {name}"),
        PullOutcome::Parted { tail, .. } => {
            format!("compare them: git checkpoint compare {name} {tail}")
        }
    };
    context.ui.hint("Pulled", &next);
}

/// A failure to find a session that was fetched, with what to do.
pub(super) fn not_fetched(remote: &str, session: &str) -> CommandError {
    CommandError::new(
        FailureKind::NotFound,
        format!(
            "session '{session}' of remote '{}' was not fetched yet",
            remote.escape_debug()
        ),
    )
    .hint(format!("fetch it: git checkpoint pull {remote} {session}"))
}
