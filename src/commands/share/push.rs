//! `push`: sessions to a remote.

use serde_json::{Value, json};

use super::{automatic, wired};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind},
        failure,
        opening::{self, IdentityArgs, OpenedRepository},
    },
    model::name::ShortName,
    ops::share::push::{self, PushFate, PushOutcome, PushRequest, PushSelection},
    render::{
        count::CountedNoun,
        slot::Slot,
        text::{Text, TextLine},
    },
    store::checkpoint::oid,
};

/// Push sessions to a remote
///
/// Without a remote: the one that 'git push' uses on this branch. Without a session: the current one. A session goes with
/// its files, and with commits of yours that they rest on. It never replaces what others pushed. Your pre-push hooks run;
/// files of git-lfs go first. Secrets in what the remote lacks stop the push.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Hand the current session over:
    git checkpoint push
    (and the other one: git checkpoint pull origin auth && git checkpoint resume auth)
  Two sessions, to a remote that is not the usual one:
    git checkpoint push backup auth parser
  See what would be sent:
    git checkpoint push --all --dry-run
  Push each session by itself, after every save:
    git config checkpoint.autoPush origin")]
pub(in crate::commands) struct Args {
    /// The remote
    #[arg(value_name = "REMOTE")]
    remote: Option<String>,
    /// The sessions
    #[arg(value_name = "SESSION", conflicts_with = "all")]
    sessions: Vec<String>,
    /// Push every session
    #[arg(long)]
    all: bool,
    /// Push their autosaves as well
    #[arg(long)]
    autosaves: bool,
    /// Ask the remote, say what would be sent, and send nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Push what checkpoint.autoPush could not push yet
    #[arg(long, conflicts_with_all = ["remote", "sessions", "all", "autosaves", "dry_run", "allow_secrets"])]
    queued: bool,
    /// Without a terminal, output or failure, in the background
    #[arg(long, hide = true, requires = "queued")]
    unattended: bool,
    /// Push although secrets would be published
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
        unattended: false,
    };
    let pushed = send(context, &opened, &request)?;
    if context.ui.options().json {
        context.ui.json(&json_of(&pushed))?;
    }
    verdict(&pushed)
}

/// Pushes, and reports to people; JSON is left to the caller, and so is the [`verdict`].
pub(in crate::commands) fn send(
    context: &Context,
    opened: &OpenedRepository,
    request: &PushRequest,
) -> Result<PushOutcome, CommandError> {
    let pushed = wired(context, "git checkpoint push", |wire| {
        push::push(&opened.scene(), request, wire)
    })?;
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
        context.ui.data(text_of(&pushed));
    }
    Ok(pushed)
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
        PushFate::Another => (
            FailureKind::Refused,
            format!("remote '{shown}' has another session called '{name}'"),
        ),
        PushFate::Refused { why, namespace: true } => (
            FailureKind::Fatal,
            format!("remote '{shown}' takes no refs like {}{name}: {why}", pushed.namespace),
        ),
        PushFate::Refused { why, .. } if first.fate.is_busy() => (
            FailureKind::Locked,
            format!("another push to session '{name}' of remote '{shown}' is under way: {why}"),
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
            "bring both together, nothing is dropped: git checkpoint pull {remote} {name}"
        )),
        PushFate::Another => error
            .hint(format!("give yours another name: git checkpoint rename {name} <name>"))
            .hint(format!("or take theirs too: git checkpoint pull {remote} {name}")),
        PushFate::Refused { namespace: true, .. } => error
            .hint(format!("let sessions be branches there: {}", as_branches(remote, name)))
            .hint("or its administrator can allow refs/checkpoints/*")
            .hint(format!(
                "or share a file: git bundle create {name}.bundle refs/checkpoints/{name}"
            )),
        fate if fate.is_busy() => error
            .hint(format!("wait for it, and repeat: git checkpoint push {remote} {name}"))
            .hint("if that does not help, a push was killed there, and its administrator has to remove the lock named above"),
        _ if pushed.namespace == crate::store::session::PREFIX => error
            .hint("the remote's message is above; nothing was changed here")
            .hint(format!(
                "if it takes only branches, let sessions be branches there: {}",
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

fn text_of(pushed: &PushOutcome) -> Text {
    let mut text = Text::new();
    let (number, first) = &pushed.commits;
    if *number > 0 {
        let also = if pushed.dry_run {
            "Would also upload"
        } else {
            "Also uploaded"
        };
        text.push(TextLine::plain(format!(
            "{also} {} of your history that '{}' lacked:",
            CountedNoun::new(*number, "commit"),
            pushed.remote
        )));
        for commit in first {
            let mut line = TextLine::plain("  ").with(Slot::Id, commit.id.short());
            line.push(Slot::Plain, format!(" {}", commit.subject));
            text.push(line);
        }
        if *number > first.len() {
            text.push(TextLine::plain(format!("  and {} more", number - first.len())));
        }
    }
    for renamed in &pushed.renamed {
        let word = if pushed.dry_run { "Would rename" } else { "Renamed" };
        let mut line = TextLine::new().with(Slot::Changed, word).with(Slot::Plain, " session ");
        line.push(Slot::Session, renamed.from.as_str());
        line.push(Slot::Plain, " to ");
        line.push(Slot::Session, renamed.to.as_str());
        let why = format!(", as {} has another session of that name", pushed.remote);
        text.push(line.with(Slot::Plain, why));
    }
    for sent in &pushed.sessions {
        let (slot, word) = match (&sent.fate, pushed.dry_run) {
            (PushFate::UpToDate, _) => (Slot::Plain, "Up to date:"),
            (PushFate::Behind(_), _) => (Slot::Caution, "Not pushed:"),
            (fate, _) if !fate.is_good() => (Slot::Bad, "Refused:"),
            (_, true) => (Slot::Added, "Would push"),
            (_, false) => (Slot::Added, "Pushed"),
        };
        let mut line = TextLine::new().with(slot, word).with(Slot::Plain, " ");
        line.push(Slot::Session, sent.name.as_str());
        line.push(Slot::Plain, " ");
        line.push(Slot::Id, oid(sent.id).short());
        line.push(Slot::Plain, format!(" to {}", pushed.remote));
        line.push(
            Slot::Plain,
            match &sent.fate {
                PushFate::New(count) => format!(", new, {}", CountedNoun::new(*count, "checkpoint")),
                PushFate::Forward(count) => format!(", {}", CountedNoun::new(*count, "checkpoint")),
                PushFate::PutBack => ", put back".to_owned(),
                PushFate::Pruned => ", pruned".to_owned(),
                PushFate::Behind(count) => format!(", which has {} more", CountedNoun::new(*count, "checkpoint")),
                PushFate::Diverged { ours, theirs } => format!(", which diverged: {ours} here, {theirs} there"),
                PushFate::Another => ", which has another session of that name".to_owned(),
                PushFate::Refused { why, .. } => format!(": {why}"),
                PushFate::UpToDate => String::new(),
            },
        );
        text.push(line);
    }
    if pushed.lfs > 0 {
        text.push(TextLine::plain(format!(
            "{} of git-lfs sent first",
            CountedNoun::new(pushed.lfs, "file")
        )));
    }
    if pushed.autosaves > 0 {
        text.push(TextLine::plain(format!(
            "{} pushed",
            CountedNoun::new(pushed.autosaves, "autosave")
        )));
    }
    text
}

/// As JSON, `git-checkpoint.push/1`.
pub(in crate::commands) fn json_of(pushed: &PushOutcome) -> Value {
    let session = |sent: &push::PushedSession| {
        let (why, checkpoints) = match &sent.fate {
            PushFate::Refused { why, .. } => (Some(why), None),
            PushFate::New(count) | PushFate::Forward(count) | PushFate::Behind(count) => (None, Some(*count)),
            _ => (None, None),
        };
        json!({
            "session": sent.name,
            "id": oid(sent.id),
            "result": sent.fate.word(),
            "ok": sent.fate.is_good(),
            "checkpoints": checkpoints,
            "reason": why,
        })
    };
    json!({
        "schema": "git-checkpoint.push/1",
        "remote": pushed.remote,
        "url": pushed.url,
        "namespace": pushed.namespace,
        "dry_run": pushed.dry_run,
        "sessions": pushed.sessions.iter().map(session).collect::<Vec<_>>(),
        "renamed": pushed
            .renamed
            .iter()
            .map(|renamed| json!({ "from": renamed.from, "to": renamed.to }))
            .collect::<Vec<_>>(),
        "commits": pushed.commits.0,
        "autosaves": pushed.autosaves,
        "lfs_objects": pushed.lfs,
        "unscanned": pushed.unscanned,
        "secrets_published": pushed.allowed.len(),
    })
}
