//! `push`: sessions to a remote.

use super::{automatic, wired_or_named};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind},
        failure,
        opening::{self, IdentityArgs, OpenedRepository},
        pending_merge::unmerged_words,
    },
    model::name::ShortName,
    ops::share::{
        automatic as queue,
        push::{self, NamedElsewhere, PushFate, PushOutcome, PushRequest, PushSelection, RefusalCause},
    },
    render::{
        count::CountedNoun,
        share::{PushReceipt, PushRow, RenamedRow},
    },
    store::checkpoint::oid,
};

/// Push sessions to a remote
///
/// Without a remote: the one that 'git push' uses on this branch. A session is pushed with its files and the commits that
/// they depend on. A push never replaces the checkpoints of others. Your pre-push hooks run, and objects of Git LFS are
/// uploaded first. A push that would publish secrets is refused.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Hand the current session over:
    git checkpoint push
  The other person then resumes it:
    git checkpoint pull origin auth && git checkpoint resume auth
  Two sessions, to a remote that is not the usual one:
    git checkpoint push backup auth parser
  Show what would be pushed:
    git checkpoint push --all --dry-run
  Push automatically after every save:
    git config checkpoint.autoPush origin")]
pub(in crate::commands) struct Args {
    /// The remote; the usual one by default
    #[arg(value_name = "REMOTE")]
    remote: Option<String>,
    /// The sessions; the current one by default
    #[arg(value_name = "SESSION", conflicts_with = "all")]
    sessions: Vec<String>,
    /// Push every session
    #[arg(long)]
    all: bool,
    /// Push their autosaves as well
    #[arg(long)]
    autosaves: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Push the sessions that checkpoint.autoPush has queued
    #[arg(long, conflicts_with_all = ["remote", "sessions", "all", "autosaves", "dry_run", "allow_secrets"])]
    queued: bool,
    /// Without a terminal, output or failure, in the background
    #[arg(long, hide = true, requires = "queued")]
    unattended: bool,
    /// Also push sessions that were deleted or pruned on the remote
    #[arg(long, conflicts_with = "queued")]
    force: bool,
    /// Push even if secrets, or what was purged, would be published
    #[arg(long)]
    allow_secrets: bool,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    if args.unattended {
        // There is no reader for the reason.
        let _ = automatic::unattended(context);
        return Ok(());
    }
    if args.queued {
        return automatic::queued(context);
    }
    let opened = opening::open(context, &IdentityArgs::default())?;
    let which = if args.all {
        PushSelection::All
    } else if args.sessions.is_empty() {
        PushSelection::Current
    } else {
        let parsed = args.sessions.iter().map(|session| failure::selector(session));
        PushSelection::Named(parsed.collect::<Result<_, _>>()?)
    };
    let request = PushRequest {
        remote: args.remote,
        which,
        autosaves: args.autosaves,
        dry_run: args.dry_run,
        allow_secrets: args.allow_secrets,
        force: args.force,
        unattended: false,
    };
    let pushed = send(context, &opened, &request)?;
    if context.ui.options().json {
        context.ui.json(&view(&pushed))?;
    }
    verdict(&pushed)
}

/// Pushes, and reports to people; JSON is left to the caller, and so is the [`verdict`].
pub(in crate::commands) fn send(
    context: &Context,
    opened: &OpenedRepository,
    request: &PushRequest,
) -> Result<PushOutcome, CommandError> {
    let named = |remote: &str, session: &str| {
        let remote = request.remote.as_deref().unwrap_or(remote);
        Some(format!("git checkpoint push {remote} {session}"))
    };
    let pushed = wired_or_named(context, "git checkpoint push", &named, |wire| {
        push::push(&opened.scene(), request, wire)
    })?;
    if !request.dry_run {
        // What stays in the queue is looked at once more by the next automatic push.
        let _ = queue::pushed_by_hand(&opened.scene(), &pushed);
    }
    for renamed in &pushed.renamed {
        failure::warn_aftermath(&context.ui, &renamed.aftermath);
    }
    for file in pushed.unscanned.iter().take(10) {
        context
            .ui
            .warning(&format!("too large to be searched for secrets: {file}"));
    }
    if pushed.unscanned.len() > 10 {
        let more = CountedNoun::new(pushed.unscanned.len() - 10, "more file");
        context
            .ui
            .warning(&format!("and {more} too large to be searched for secrets"));
    }
    if !pushed.allowed.is_empty() {
        let secrets = CountedNoun::new(pushed.allowed.len(), "secret");
        context.ui.warning(&format!("{secrets} published, as allowed"));
    }
    if let Some(why) = &pushed.notes_stay {
        context
            .ui
            .warning(&format!("the notes on commits were not pushed: {why}"));
    }
    let options = context.ui.options();
    if !options.json && options.quiet == 0 {
        context.ui.show(&view(&pushed))?;
    }
    for sent in pushed.sessions.iter().filter(|sent| sent.fate.is_good()) {
        if let PushFate::PrunedThere { ours, .. } = sent.fate {
            for way in ways_after_prune(&pushed.remote, &sent.name, ours) {
                context.ui.hint("Pruned", &way);
            }
        }
    }
    for sent in pushed.sessions.iter().filter(|sent| sent.unmerged > 0) {
        let (name, paths) = (&sent.name, unmerged_words(sent.unmerged, sent.marked));
        context
            .ui
            .warning(&format!("the latest checkpoint of '{name}' has {paths}"));
        context
            .ui
            .hint("Conflict", "resolve them, 'git add' them, then save and push again");
    }
    Ok(pushed)
}

/// The ways on where a remote pruned a session that has `ours` new checkpoints here.
fn ways_after_prune(remote: &str, name: &ShortName, ours: usize) -> [String; 2] {
    let remote = crate::model::step::quoted(remote);
    let yours = match ours {
        0 => String::new(),
        ours => format!(", with your {} after it", CountedNoun::new(ours, "new checkpoint")),
    };
    [
        format!("follow that{yours}: git checkpoint pull {remote} {name}"),
        format!("or bring back there what is gone: git checkpoint push {remote} {name} --force"),
    ]
}

/// The error where something was not pushed.
pub(in crate::commands) fn verdict(pushed: &PushOutcome) -> Result<(), CommandError> {
    let remote = &pushed.remote;
    let bad: Vec<_> = pushed.sessions.iter().filter(|sent| !sent.fate.is_good()).collect();
    let Some(first) = bad.first() else { return Ok(()) };
    let name = &first.name;
    let shown = remote.escape_debug();
    let (kind, message) = match &first.fate {
        PushFate::Diverged { ours, theirs } => (
            FailureKind::Refused,
            format!(
                "session '{name}' and remote '{shown}' have diverged: {} ahead, {} behind",
                CountedNoun::new(*ours, "checkpoint"),
                CountedNoun::new(*theirs, "checkpoint")
            ),
        ),
        PushFate::PrunedThere { dropped, .. } => (
            FailureKind::Refused,
            format!(
                "session '{name}' was pruned on remote '{shown}', which dropped {} that {} still here",
                CountedNoun::new(*dropped, "checkpoint"),
                if *dropped == 1 { "is" } else { "are" },
            ),
        ),
        PushFate::Another => (
            FailureKind::Refused,
            format!("remote '{shown}' has another session called '{name}'"),
        ),
        PushFate::Deleted => (
            FailureKind::Refused,
            format!("session '{name}' was deleted on remote '{shown}'"),
        ),
        PushFate::NamedOtherwise(NamedElsewhere { there, .. }) => (
            FailureKind::Refused,
            format!("remote '{shown}' has session '{name}' as '{there}'"),
        ),
        PushFate::Refused {
            why,
            cause: RefusalCause::Shallow,
        } => (
            FailureKind::Fatal,
            format!("this clone is shallow, and remote '{shown}' lacks commits that it lacks: {why}"),
        ),
        PushFate::Refused {
            why,
            cause: RefusalCause::Namespace,
        } => (
            FailureKind::Fatal,
            format!("remote '{shown}' takes no refs like {}{name}: {why}", pushed.namespace),
        ),
        PushFate::Refused { why, .. } if first.fate.is_busy() => (
            FailureKind::Locked,
            format!("another push to session '{name}' of remote '{shown}' is in progress: {why}"),
        ),
        PushFate::Refused { why, .. } => (
            FailureKind::Fatal,
            format!("remote '{shown}' refused session '{name}': {why}"),
        ),
        _ => return Ok(()),
    };
    let message = match bad.len() {
        1 => message,
        more => format!(
            "{message}; and {} of {more} more",
            CountedNoun::new(more - 1, "refusal")
        ),
    };
    let error = CommandError::new(kind, message);
    Err(match &first.fate {
        PushFate::Diverged { .. } => error.hint(format!(
            "merge the two first: git checkpoint pull {remote} {name} --merge"
        )),
        PushFate::PrunedThere { ours, .. } => {
            let ways = ways_after_prune(remote, name, *ours).into_iter();
            ways.fold(error, CommandError::hint)
        }
        PushFate::Deleted => error
            .hint(format!(
                "bring it back there: git checkpoint push {remote} {name} --force"
            ))
            .hint(format!("or delete yours as well: git checkpoint delete {name}"))
            .hint("yours stays here as it is; saving goes on without the remote"),
        PushFate::NamedOtherwise(elsewhere) => {
            let ways = elsewhere.ways(remote, name).into_iter();
            ways.fold(error, CommandError::hint)
        }
        PushFate::Another => error
            .hint(format!("rename yours: git checkpoint rename {name} <name>"))
            .hint(format!("or pull theirs as well: git checkpoint pull {remote} {name}")),
        PushFate::Refused {
            cause: RefusalCause::Shallow,
            ..
        } => error.hint("fetch the missing commits, then push again: git fetch --unshallow"),
        PushFate::Refused {
            cause: RefusalCause::Namespace,
            ..
        } => error
            .hint(format!(
                "store sessions as branches there: {}",
                as_branches(remote, name)
            ))
            .hint("or its administrator can allow refs/checkpoints/*")
            .hint(format!(
                "or share a file: git bundle create {name}.bundle refs/checkpoints/{name}"
            )),
        fate if fate.is_busy() => error
            .hint(format!("wait and repeat: git checkpoint push {remote} {name}"))
            .hint("if that fails, a push was killed there, and its administrator has to remove the lock named above"),
        _ if pushed.namespace == crate::store::session::PREFIX => error
            .hint("the remote's message is above; nothing was changed here")
            .hint(format!(
                "if it accepts only branches, store sessions as branches there: {}",
                as_branches(remote, name)
            )),
        _ => error.hint("the remote's message is above; nothing was changed here"),
    })
}

/// The commands by which sessions become branches of a remote.
fn as_branches(remote: &str, name: &ShortName) -> String {
    let key = crate::model::step::quoted(&format!("remote.{remote}.checkpointNamespace"));
    let remote = crate::model::step::quoted(remote);
    format!(
        "git config {key} {} && git checkpoint push {remote} {name}",
        crate::store::remote::BRANCH_NAMESPACE
    )
}

/// The receipt of a push.
pub(in crate::commands) fn view(pushed: &PushOutcome) -> PushReceipt<'_> {
    let error = pushed.sessions.iter().position(|sent| !sent.fate.is_good());
    let sessions = pushed.sessions.iter().enumerate().map(|(at, sent)| {
        let mut row = PushRow {
            session: &sent.name,
            id: oid(sent.id),
            result: sent.fate.word(),
            ok: sent.fate.is_good(),
            checkpoints: None,
            remote_session: None,
            reason: None,
            unmerged: sent.unmerged,
            diverged: (0, 0),
            is_error: error == Some(at),
        };
        match &sent.fate {
            PushFate::Refused { why, .. } => row.reason = Some(why),
            PushFate::New(count) | PushFate::Forward(count) | PushFate::Behind(count) => row.checkpoints = Some(*count),
            PushFate::Diverged { ours, theirs } => row.diverged = (*ours, *theirs),
            PushFate::PrunedThere { dropped, .. } => row.checkpoints = Some(*dropped),
            PushFate::NamedOtherwise(NamedElsewhere { there, .. }) => row.remote_session = Some(there),
            _ => {}
        }
        row
    });
    PushReceipt {
        remote: &pushed.remote,
        url: &pushed.url,
        namespace: &pushed.namespace,
        dry_run: pushed.dry_run,
        sessions: sessions.collect(),
        renamed: pushed
            .renamed
            .iter()
            .map(|renamed| RenamedRow {
                from: &renamed.from,
                to: &renamed.to,
            })
            .collect(),
        commits: pushed.commits.0,
        first_commits: &pushed.commits.1,
        autosaves: pushed.autosaves,
        lfs_objects: pushed.lfs,
        unscanned: &pushed.unscanned,
        secrets_published: pushed.allowed.len(),
    }
}
