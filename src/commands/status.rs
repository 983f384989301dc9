//! `status`: state of this working tree.

use serde_json::json;

use super::{
    Context,
    error::{CommandError, FailureKind},
    opening::{self, IdentityArgs},
    share::{
        automatic,
        remote::{state_json, words},
    },
    views,
};
use crate::{
    model::time::Timestamp,
    ops::{
        Error, agent,
        chat::ChatLength,
        events::TRIGGERS,
        status::{self, CurrentSession, StatusReport},
    },
    render::{
        age,
        receipt::{self, SkippedPath},
        slot::Slot,
        text::{Text, TextLine},
    },
    store::{
        checkpoint::oid,
        prompt::{Glance, glance},
        watch::Watcher,
    },
};

/// Show the current session and what is not saved
#[derive(Debug, Default, clap::Args)]
#[command(after_long_help = "\
Examples:
  At a glance:
    git checkpoint
  In a prompt or a script, whether there is something to save:
    git checkpoint status --exit-code --quiet || git checkpoint save")]
pub(super) struct Args {
    /// Exit with 1 when there is something to save, or something on disk that a save leaves out
    #[arg(long)]
    exit_code: bool,
    /// Print the current session for a shell prompt, with '*' where the record has unsaved changes
    ///
    /// Looks at no file of the working tree, and prints nothing where no session is current. For recipes see
    /// 'git checkpoint help scripting'.
    #[arg(long, conflicts_with = "exit_code")]
    prompt: bool,
}

/// Prints the current session for a prompt. What goes wrong is none of a prompt's business.
fn prompt(context: &mut Context) -> Result<(), CommandError> {
    let is_plain = context.env.text("CHECKPOINT_SESSION").is_none()
        && ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_CEILING_DIRECTORIES"]
            .iter()
            .all(|name| context.env.text(name).is_none());
    let seen = match glance(&context.env.cwd) {
        Glance::Seen(seen) if is_plain => seen,
        _ => {
            let opened = opening::open(context, &IdentityArgs::default()).ok();
            opened.and_then(|opened| status::prompt(&opened.scene()).ok().flatten())
        }
    };
    if context.ui.options().json {
        return context.ui.json(&json!({
            "schema": "git-checkpoint.prompt/1",
            "session": seen.as_ref().map(|prompt| &prompt.session),
            "unsaved_record": seen.as_ref().is_some_and(|prompt| prompt.has_draft),
        }));
    }
    if let Some(prompt) = seen {
        let mark = if prompt.has_draft { "*" } else { "" };
        context.ui.data(TextLine::plain(format!("{}{mark}", prompt.session)));
    }
    Ok(())
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    if args.prompt {
        return prompt(context);
    }
    let opened = opening::open(context, &IdentityArgs::default())?;
    let scene = opened.scene();
    let status = {
        let _counting = context.ui.counting("Looking at files");
        status::status(&scene)?
    };
    let dirty = status.session.as_ref().is_none_or(CurrentSession::is_dirty);
    let unknown = crate::store::config::unknown(scene.repo);
    if context.ui.options().json {
        let mut view = json_of(&status, dirty);
        let place = |(key, place): &(String, String)| json!({ "key": key, "place": place });
        view["automatic_sharing"] = json!(automatic::view(&scene));
        view["unknown_settings"] = unknown.iter().map(place).collect();
        context.ui.json(&view)?;
        if let Some(error) = &status.absent {
            context.ui.warning(&error.to_string());
        }
    } else if context.ui.options().quiet == 0 {
        let hooks = super::hooks::summary(&scene);
        let sharing = automatic::view(&scene).map(|view| view.lines(scene.now));
        let further = [("hooks", hooks), ("sharing", sharing.unwrap_or_default())];
        context.ui.data(text(&status, dirty, scene.now, scene.host, &further));
        for line in views::submodule_lines(&status.facts) {
            context.ui.warning(&line);
        }
        for lock in crate::store::refs::left_locks(scene.repo) {
            context.ui.warning(&format!(
                "'{}' is there: a command of git is at work, or was killed; then remove it",
                lock.display()
            ));
        }
        for remote in &status.mirrors {
            context.ui.warning(&format!(
                "remote '{remote}' mirrors every ref: a push there publishes the checkpoints"
            ));
        }
        if let Some(chat) = status
            .session
            .as_ref()
            .map(|current| &current.chat)
            .filter(|chat| chat.is_near())
        {
            context.ui.warning(&format!(
                "the chat has {} of {} tokens; the next save or request compacts it at the limit",
                chat.tokens, chat.limit
            ));
        }
        if let Some(lines) = status
            .session
            .as_ref()
            .map(|current| &current.unreadable)
            .filter(|lines| !lines.is_empty())
        {
            let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
            context.ui.warning(&format!(
                "unreadable lines ({}) of the draft are passed over",
                lines.join(", ")
            ));
        }
        for failed in agent::take_errors(&scene)? {
            if let Some(error) = &failed.error {
                context.ui.warning(&format!(
                    "the hook of {} failed at a {} {}: {}",
                    failed.agent,
                    error.occasion,
                    age::age(error.at, scene.now),
                    error.detail
                ));
                context.ui.hint("Agents", "see all agents: git checkpoint agents");
            }
        }
        for (key, place) in &unknown {
            context
                .ui
                .warning(&format!("unknown setting '{key}' in {place}{}", meant(key)));
        }
        for word in &scene.settings.save_on {
            if !TRIGGERS.contains(&word.as_str()) {
                let known = TRIGGERS.join(", ");
                let warning = format!("unknown event '{word}' in checkpoint.saveOn; available: {known}");
                context.ui.warning(&warning);
            }
        }
    }
    let unsaved = status.left_out.iter().any(|skipped| skipped.reason.is_unsaved());
    if args.exit_code && (dirty || unsaved) {
        Err(CommandError::silent(FailureKind::Negative))
    } else {
        Ok(())
    }
}

/// Which setting may have been meant by an unknown one.
fn meant(key: &str) -> String {
    let names = crate::store::config::SETTINGS.iter().map(|setting| setting.name);
    let name = key.strip_prefix("checkpoint.").unwrap_or(key);
    super::usage::similar(name, names)
        .map(|near| format!("; did you mean 'checkpoint.{near}'?"))
        .unwrap_or_default()
}

fn json_of(status: &StatusReport, dirty: bool) -> serde_json::Value {
    let session = status.session.as_ref().map(|current| {
        json!({
            "session": current.name,
            "session_id": current.document.session.id,
            "status": current.standing.word(),
            "tip": oid(current.tip),
            "saved_at": current.document.created_at,
            "draft_operations": current.draft,
            "draft": current.record,
            "draft_notes": current.notes,
            "draft_steps": current.steps,
            "draft_unreadable": current.unreadable,
            "files_changed": current.changed,
            "remotes": current
                .remotes
                .iter()
                .map(|(remote, state)| state_json("remote", remote, state))
                .collect::<Vec<_>>(),
            "chat": {
                "messages": current.chat.messages,
                "summarised": current.chat.summarized,
                "unsaved": current.chat.waiting,
                "tokens": current.chat.tokens,
                "method": if current.chat.exact { "exact" } else { "estimated" },
                "limit": current.chat.limit,
                "near_limit": current.chat.is_near(),
                "summary_version": current.chat.version,
                "compactions": current.chat.compactions,
            },
        })
    });
    json!({
        "schema": "git-checkpoint.status/1",
        "current": session,
        "damaged": status.damaged.as_ref().map(|(name, fault)| json!({ "session": name, "damage": fault })),
        "interrupted": status.interrupted,
        "watch": status.watcher.as_ref().map(watcher_json),
        "sessions": status.sessions,
        "fetched": status.fetched,
        "something_to_save": dirty,
        "left_out": status.left_out.iter().map(SkippedPath::from).collect::<Vec<_>>(),
        "git": status.facts,
        "mirror_remotes": status.mirrors,
    })
}

/// Lines about the watcher of this working tree.
fn watcher(watcher: &Watcher, now: Timestamp, host: &str) -> Option<TextLine> {
    let (alive, state) = match watcher {
        Watcher::Alive(None) => return Some(TextLine::plain("begins")),
        Watcher::Alive(Some(state)) => (true, state),
        Watcher::Gone(state) => (false, state),
    };
    if alive && let Some(failure) = &state.failure {
        let text = format!("fails since {}: {}", age::age(failure.since, now), failure.message);
        return Some(TextLine::new().with(Slot::Bad, text).cut(69));
    }
    let saved = match &state.saved {
        Some(saved) => format!("last autosave {}", age::age(saved.at, now)),
        None => "no autosave yet".to_owned(),
    };
    if alive {
        return Some(TextLine::plain(format!(
            "every {}, {saved}",
            age::duration(state.real_interval / 1000)
        )));
    }
    watcher.cut_off(host)?;
    let what = match state.ended {
        Some(_) => "the watched process has ended",
        None => "was interrupted",
    };
    Some(TextLine::new().with(Slot::Caution, format!("{what}; {saved}: 'git checkpoint resume'")))
}

fn watcher_json(watcher: &Watcher) -> serde_json::Value {
    let (alive, state) = match watcher {
        Watcher::Alive(state) => (true, state.as_ref()),
        Watcher::Gone(state) => (false, Some(state)),
    };
    json!({ "alive": alive, "state": state })
}

/// The lines about a session that was named and is not there.
fn absent(error: &Error) -> Vec<String> {
    let text = error.to_string();
    // The label says it already.
    let mut lines = vec![text.strip_prefix("session ").unwrap_or(&text).to_owned()];
    if let Error::SessionFromEnvNotFound { candidates, .. } = error
        && !candidates.is_empty()
    {
        let near: Vec<_> = candidates.iter().map(|near| format!("'{}'", near.selector)).collect();
        lines.push(format!("did you mean {}?", near.join(" or ")));
    }
    lines.push("'git checkpoint save' would begin it".to_owned());
    lines
}

fn text(status: &StatusReport, dirty: bool, now: Timestamp, host: &str, further: &[(&str, Vec<TextLine>)]) -> Text {
    let mut text = Text::new();
    let mut row = |label: &str, value: TextLine| {
        let mut line = TextLine::new().with(Slot::Heading, label);
        line.pad_to(11);
        line.append(&value);
        text.push(line);
    };
    match &status.session {
        None if status.damaged.is_some() => {
            let (name, fault) = status.damaged.clone().unwrap_or_default();
            let mut line = TextLine::new().with(Slot::Session, name.as_str());
            line.push(Slot::Bad, ", damaged: ");
            line.push(Slot::Plain, fault);
            row("session", line);
            row("fix", TextLine::plain(format!("git checkpoint repair {name}")));
        }
        None if status.absent.is_some() => {
            for (at, line) in status.absent.iter().flat_map(absent).enumerate() {
                row(if at == 0 { "session" } else { "" }, TextLine::plain(line));
            }
        }
        None if status.sessions == 0 && status.is_bare => row(
            "session",
            TextLine::plain("none; in a bare repository there are no files to save"),
        ),
        None if status.sessions == 0 => row(
            "session",
            TextLine::plain(if status.is_bare {
                "none yet; a bare repository has no files to save, sessions begin in a clone or working tree"
            } else {
                "none yet; 'git checkpoint save' makes the first"
            }),
        ),
        None if status.sessions == status.finished => {
            let others = receipt_count(status.sessions);
            row(
                "session",
                TextLine::plain(format!(
                    "no current session; {others}, finished: 'git checkpoint start' starts one"
                )),
            );
            row("", TextLine::plain("'git checkpoint resume' resumes the latest"));
        }
        None => {
            let others = receipt_count(status.sessions);
            row(
                "session",
                TextLine::plain(format!("no current session; {others}: see 'git checkpoint resume'")),
            );
        }
        Some(current) => {
            let mut line = TextLine::new().with(Slot::Session, current.name.as_str());
            line.push(Slot::Plain, format!(", {}", current.standing.word()));
            row("session", line);
            let start = format!("start {}", current.name);
            let summary = current.document.record.summary.as_deref().unwrap_or(&start);
            let mut line = TextLine::new().with(Slot::Id, oid(current.tip).short());
            line.push(Slot::Plain, "  ");
            line.push(Slot::Date, age::age(current.document.created_at, now));
            line.push(Slot::Plain, format!("  {}", summary.lines().next().unwrap_or_default()));
            row("latest", line.cut(69));
            if let Some(task) = &current.document.session.task {
                row("task", TextLine::plain(task).cut(69));
            }
            if current.chat.messages > 0 || current.chat.waiting {
                row("chat", chat_line(&current.chat));
            }
            if current.draft > 0 {
                row(
                    "draft",
                    TextLine::plain(format!(
                        "{} not saved yet",
                        crate::render::count::CountedNoun::new(current.draft, "change")
                    )),
                );
                for line in changes(current) {
                    row("", line);
                }
            }
        }
    }
    for (remote, state) in status.session.iter().flat_map(|current| &current.remotes) {
        row("remote", words(remote, state).cut(69));
    }
    if let Some(first) = status.fetched.first() {
        let more = match status.fetched.len() {
            1 => String::new(),
            all => format!(" and {} more", all - 1),
        };
        row(
            "fetched",
            TextLine::plain(format!("{first}{more}, not resumed here")).cut(69),
        );
    }
    if status.may_fetch {
        row("", TextLine::plain("sessions of a remote: 'git checkpoint fetch'"));
    }
    if let Some(operation) = &status.interrupted {
        row(
            "pending",
            TextLine::new().with(Slot::Bad, format!("a {operation} was interrupted:")),
        );
        row("", TextLine::plain("git checkpoint restore --continue, or --abort"));
    }
    if let Some(line) = status.watcher.as_ref().and_then(|w| watcher(w, now, host)) {
        row("watch", line);
    }
    for (label, lines) in further {
        for (at, line) in lines.iter().enumerate() {
            row(if at == 0 { label } else { "" }, line.clone());
        }
    }
    if let Some(store) = &status.store {
        row(
            "store",
            TextLine::plain(format!(
                "{}: the repository's own directory cannot be written",
                store.display()
            )),
        );
    }
    row("code", receipt::code(&status.facts));
    if let Some(current) = &status.session {
        let line = match (dirty, current.changed) {
            (false, _) => match receipt::left_out(&status.left_out) {
                None => TextLine::new().with(Slot::Good, "everything is saved"),
                Some(words) => TextLine::new().with(Slot::Caution, format!("everything but {words} is saved")),
            },
            (true, Some(n)) if n > 0 => {
                let files = crate::render::count::CountedNoun::new(n, "file");
                TextLine::new().with(Slot::Caution, format!("{files} changed since the latest checkpoint"))
            }
            // A new fork in its own working tree, or a commit of what was saved already.
            _ if current.changed == Some(0) && current.draft == 0 && !current.chat.waiting => {
                TextLine::plain("all files are saved; branch, HEAD or index moved since")
            }
            _ => TextLine::new().with(Slot::Caution, "there is something to save"),
        };
        row("to save", line);
        if let (true, Some(words)) = (dirty, receipt::left_out(&status.left_out)) {
            row(
                "",
                TextLine::new().with(Slot::Caution, format!("a save would leave out {words}")),
            );
        }
    }
    text
}

/// The chat: how many messages and tokens, and what was summarized.
fn chat_line(chat: &ChatLength) -> TextLine {
    let count =
        |n: u64, one| crate::render::count::CountedNoun::new(usize::try_from(n).unwrap_or(usize::MAX), one).to_string();
    let mut line = TextLine::plain(count(chat.messages, "message"));
    if chat.waiting {
        line.push(Slot::Caution, " and unsaved ones");
    }
    if chat.summarized > 0 {
        line.push(Slot::Plain, format!(", {} summarized", chat.summarized));
    }
    let about = if chat.exact { "" } else { "about " };
    let rest = if chat.summarized > 0 { " in the others" } else { "" };
    line.push(Slot::Plain, format!(", {about}{} tokens{rest}", chat.tokens));
    if !chat.exact {
        line.push(Slot::Dim, " (estimated by size)");
    }
    if chat.compactions > 0 {
        line.push(Slot::Plain, format!(", {}", count(chat.compactions, "compaction")));
    }
    line
}

/// How many changes of the record are shown.
const SHOWN: usize = 10;

/// Differences between the draft and the saved record.
fn changes(current: &CurrentSession) -> Vec<TextLine> {
    let mut lines: Vec<TextLine> = current
        .record
        .iter()
        .take(SHOWN)
        .map(|change| {
            let (sign, slot) = if change.added {
                ("+", Slot::Added)
            } else {
                ("-", Slot::Removed)
            };
            let mut line = TextLine::new().with(slot, format!("{sign} {}", change.item));
            line.pad_to(13);
            line.push(Slot::Plain, format!(" {}", change.text));
            line.cut(69)
        })
        .collect();
    if current.record.len() > SHOWN {
        lines.push(TextLine::new().with(Slot::Dim, format!("... {} more", current.record.len() - SHOWN)));
    }
    if current.notes > 0 {
        let notes = crate::render::count::CountedNoun::new(current.notes, "note");
        lines.push(TextLine::new().with(Slot::Added, format!("+ {notes}")));
    }
    if current.steps > 0 {
        let steps = crate::render::count::CountedNoun::new(current.steps, "step");
        lines.push(TextLine::new().with(Slot::Added, format!("+ {steps}")));
    }
    lines
}

fn receipt_count(sessions: usize) -> String {
    format!(
        "there {} {}",
        if sessions == 1 { "is" } else { "are" },
        crate::render::count::CountedNoun::new(sessions, "session")
    )
}
