//! `fetch`: what a remote's sessions are now.

use serde_json::{Value, json};

use super::wired;
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind},
        opening::{self, IdentityArgs},
    },
    ops::share::{
        ChainRelation,
        fetch::{self, FetchOutcome, FetchRequest, FetchedSession, RemoteChange},
        status::{self, ShareState},
    },
    render::{
        count::CountedNoun,
        slot::Slot,
        text::{Text, TextLine},
    },
    store::{checkpoint::oid, session},
};

/// Download sessions from a remote without changing local ones
///
/// What was fetched is 'origin/auth' for 'show', 'log', 'diff' and 'resume', and is listed by 'list -r'. Each session
/// is checked before it can be seen: form, digests, names and sizes. One that the remote lost, set back or replaced is
/// reported, and your copy is kept.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  See what others pushed:
    git checkpoint fetch
    git checkpoint list -r
  Resume one:
    git checkpoint resume origin/auth")]
pub(in crate::commands) struct Args {
    /// The remote
    #[arg(value_name = "REMOTE")]
    remote: Option<String>,
    /// Follow the remote where it lost, set back or replaced sessions
    #[arg(long)]
    follow: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let request = FetchRequest {
        remote: args.remote,
        session: None,
        accept: args.follow,
        dry_run: args.dry_run,
    };
    let fetched = wired(context, "git checkpoint fetch", |wire| {
        fetch::fetch(&opened.scene(), &request, wire)
    })?;
    if context.ui.options().json {
        let mut value = json_of(&fetched);
        value["dry_run"] = args.dry_run.into();
        context.ui.json(&value)?;
    } else if context.ui.options().quiet == 0 {
        let mut text = text_of(&fetched);
        for line in waiting(&opened, &fetched)? {
            text.push(line);
        }
        context.ui.data(text);
        if args.dry_run {
            context.ui.data(TextLine::plain("Nothing of it was kept."));
        }
    }
    let remote = &fetched.remote.name;
    if !fetched.refused.is_empty() {
        let sessions = CountedNoun::new(fetched.refused.len(), "session");
        return Err(CommandError::new(
            FailureKind::Negative,
            format!("{sessions} of remote '{}' refused", remote.escape_debug()),
        )
        .hint("nothing of them was used"));
    }
    let lost: Vec<_> = fetched.sessions.iter().filter(|found| !found.taken).collect();
    if let Some(first) = lost.first() {
        let message = format!(
            "session '{}' {} on remote '{}'{}",
            first.name,
            first.change.words(),
            remote.escape_debug(),
            if lost.len() > 1 { ", and more like it" } else { "" }
        );
        return Err(CommandError::new(FailureKind::Negative, message)
            .hint("what you know of it stays, and nothing of yours was changed")
            .hint(format!("if that is intended: git checkpoint fetch {remote} --follow")));
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
        let mine = session::tip(opened.scene().repo, name)?.is_some();
        let next = if mine {
            format!("bring yours up: git checkpoint pull {remote} {name}")
        } else {
            format!("resume it: git checkpoint resume {remote}/{name}")
        };
        context.ui.hint("Fetched", &next);
    }
    Ok(())
}

/// Fetched checkpoints that are not new and not merged yet: a refused push fetches what it met.
fn waiting(opened: &opening::OpenedRepository, fetched: &FetchOutcome) -> Result<Vec<TextLine>, CommandError> {
    let remote = &fetched.remote.name;
    let is_news = |name: &str| fetched.sessions.iter().any(|found| found.name.as_str() == name);
    let mut lines = Vec::new();
    for standing in status::status(&opened.scene(), Some(remote.as_str()))? {
        for row in standing.sessions.iter().filter(|row| !is_news(&row.name)) {
            let count = match &row.state {
                ShareState::Both(ChainRelation::Behind(n)) => *n,
                ShareState::Both(ChainRelation::Diverged { theirs, .. }) => *theirs,
                _ => continue,
            };
            let mut line = TextLine::plain("  ").with(Slot::Caution, "waits");
            line.pad_to(12);
            line.push(Slot::Session, &row.name);
            let count = CountedNoun::new(count, "checkpoint");
            let pull = format!("git checkpoint pull {remote} {}", row.name);
            line.push(Slot::Plain, format!("  {count} fetched before, not in yours: '{pull}'"));
            lines.push(line);
        }
    }
    Ok(lines)
}

fn text_of(fetched: &FetchOutcome) -> Text {
    let mut text = Text::new();
    if fetched.sessions.is_empty() && fetched.refused.is_empty() {
        let sessions = CountedNoun::new(fetched.unchanged, "session");
        text.push(TextLine::plain(format!(
            "Nothing new on {}, {sessions}",
            fetched.remote.name
        )));
        return text;
    }
    text.push(TextLine::plain(format!(
        "From {} ({})",
        fetched.remote.name, fetched.remote.url
    )));
    for found in &fetched.sessions {
        text.push(line_of(found));
    }
    for (name, why) in &fetched.refused {
        let mut line = TextLine::plain("  ").with(Slot::Bad, "refused");
        line.pad_to(12);
        line.push(Slot::Session, name);
        line.push(Slot::Plain, format!("  {why}"));
        text.push(line);
    }
    text
}

fn line_of(found: &FetchedSession) -> TextLine {
    let slot = if found.change.is_good() {
        Slot::Added
    } else {
        Slot::Caution
    };
    let mut line = TextLine::plain("  ").with(slot, found.change.word());
    line.pad_to(12);
    line.push(Slot::Session, found.name.as_str());
    line.push(Slot::Plain, "  ");
    if let Some(tip) = found.tip {
        line.push(Slot::Id, oid(tip).short());
    }
    let more = match found.change {
        RemoteChange::New { checkpoints } => format!("  {}", CountedNoun::new(checkpoints, "checkpoint")),
        RemoteChange::Forward { checkpoints: 0 } => "  pruned there".to_owned(),
        RemoteChange::Forward { checkpoints } => format!("  {} more", CountedNoun::new(checkpoints, "checkpoint")),
        RemoteChange::Back { checkpoints } => format!("  {} fewer", CountedNoun::new(checkpoints, "checkpoint")),
        RemoteChange::Rewritten => "  another history than before".to_owned(),
        RemoteChange::Deleted => "missing there".to_owned(),
    };
    line.push(Slot::Plain, more);
    if !found.taken {
        line.push(Slot::Caution, ", not followed");
    }
    line
}

/// As JSON, `git-checkpoint.fetch/1`.
pub(super) fn json_of(fetched: &FetchOutcome) -> Value {
    let session = |found: &FetchedSession| {
        let checkpoints = match found.change {
            RemoteChange::New { checkpoints }
            | RemoteChange::Forward { checkpoints }
            | RemoteChange::Back { checkpoints } => Some(checkpoints),
            RemoteChange::Rewritten | RemoteChange::Deleted => None,
        };
        json!({
            "session": found.name,
            "selector": format!("{}/{}", fetched.remote.name, found.name),
            "id": found.tip.map(oid),
            "before": found.before.map(oid),
            "change": found.change.word(),
            "checkpoints": checkpoints,
            "followed": found.taken,
        })
    };
    let refused = |(name, why): &(String, String)| json!({ "session": name, "reason": why });
    json!({
        "schema": "git-checkpoint.fetch/1",
        "remote": fetched.remote.name,
        "url": fetched.remote.url,
        "sessions": fetched.sessions.iter().map(session).collect::<Vec<_>>(),
        "refused": fetched.refused.iter().map(refused).collect::<Vec<_>>(),
        "unchanged": fetched.unchanged,
    })
}
