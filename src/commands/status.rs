//! `status`: state of this working tree.

use super::{
    Context,
    error::{CommandError, FailureKind},
    opening::{self, IdentityArgs},
    share::{
        automatic,
        remote::{relation, words},
    },
    views,
};
use crate::{
    ops::{
        Error, Scene, agent,
        events::TRIGGERS,
        plan_runner::PlanOperation,
        status::{self, CurrentSession, StatusReport},
    },
    render::{
        age,
        receipt::{self, SkippedPath},
        status::{
            ChatStatus, ConflictsView, CurrentSessionView, DamagedSession, PromptView, RemoteRelation, StatusNotes,
            StatusView, UnknownSetting, WatcherView,
        },
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
  Show the status:
    git checkpoint
  In a script, save if anything changed:
    git checkpoint status --exit-code --quiet || git checkpoint save")]
pub(super) struct Args {
    /// Exit with 1 if there are unsaved changes, or files that a save leaves out
    #[arg(long)]
    exit_code: bool,
    /// Print the current session for a shell prompt, with '*' where the record has unsaved changes
    ///
    /// Reads no file of the working tree, and prints nothing without a current session. Recipes: 'git checkpoint help
    /// scripting'.
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
    context.ui.show(&PromptView {
        unsaved_record: seen.as_ref().is_some_and(|prompt| prompt.has_draft),
        session: seen.map(|prompt| prompt.session),
    })
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    if args.prompt {
        return prompt(context);
    }
    let opened = opening::open(context, &IdentityArgs::default())?;
    opening::warn_of_store(context, &opened)?;
    let scene = opened.scene();
    let status = {
        let _counting = context.ui.counting("Looking at files");
        status::status(&scene)?
    };
    let unknown = crate::store::config::unknown(scene.repo);
    let view = view(&status, &scene, &unknown);
    if context.ui.options().json {
        context.ui.json(&view)?;
        if let Some(error) = &status.absent {
            context.ui.warning(&error.to_string());
        }
    } else if context.ui.options().quiet == 0 {
        context.ui.data(view.text(scene.now, context.ui.table_width()));
        for line in views::submodule_lines(&status.facts) {
            context.ui.warning(&line);
        }
        super::fork_list::warn_unfinished(context, &opened);
        for lock in crate::store::refs::left_locks(scene.repo) {
            context.ui.warning(&format!(
                "'{}' exists: a git command is running, or was killed; then remove it",
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
            // Without a key no line of it can be read, which is reported of the whole record.
            .filter(|current| !current.document.is_locked())
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
    if args.exit_code && (view.something_to_save || status.leaves_out()) {
        Err(CommandError::silent(FailureKind::Negative))
    } else {
        Ok(())
    }
}

/// The setting that an unknown one may mean.
fn meant(key: &str) -> String {
    let names = crate::store::config::SETTINGS.iter().map(|setting| setting.name);
    let name = key.strip_prefix("checkpoint.").unwrap_or(key);
    crate::model::spelling::similar(name, names)
        .map(|near| format!("; did you mean 'checkpoint.{near}'?"))
        .unwrap_or_default()
}

fn view<'a>(status: &'a StatusReport, scene: &Scene<'a>, unknown: &'a [(String, String)]) -> StatusView<'a> {
    StatusView {
        current: status.session.as_ref().map(current),
        damaged: status
            .damaged
            .as_ref()
            .map(|(session, damage)| DamagedSession { session, damage }),
        interrupted: status.interrupted.map(PlanOperation::word),
        in_conflict: status.in_conflict.as_ref().map(|(state, unmerged)| ConflictsView {
            operation: state.operation.word(),
            from: &state.from,
            unmerged: *unmerged,
        }),
        watch: status.watcher.as_ref().map(|watcher| {
            let (alive, state) = match watcher {
                Watcher::Alive(state) => (true, state.as_ref()),
                Watcher::Gone(state) => (false, Some(state)),
            };
            WatcherView {
                alive,
                state,
                host: scene.host,
            }
        }),
        sessions: status.sessions,
        fetched: &status.fetched,
        put_aside: &status.put_aside,
        something_to_save: status.is_unsaved(),
        files_to_save: status.unsaved.files,
        left_out: status.left_out.iter().map(SkippedPath::from).collect(),
        git: &status.facts,
        mirror_remotes: &status.mirrors,
        automatic_sharing: automatic::view(scene),
        unknown_settings: unknown
            .iter()
            .map(|(key, place)| UnknownSetting { key, place })
            .collect(),
        notes: StatusNotes {
            absent: status.absent.iter().flat_map(absent).collect(),
            finished: status.finished,
            finished_by: status.interrupted.map(PlanOperation::command),
            running: status.running.map(PlanOperation::word),
            is_discarded: status.is_discarded,
            is_bare: status.is_bare,
            may_fetch: status.may_fetch,
            left_out: left_out(status),
            store: status.store.as_ref().map(|store| store.display().to_string()),
            hooks: super::hooks::summary(scene),
        },
    }
}

fn current(current: &CurrentSession) -> CurrentSessionView<'_> {
    let document = &current.document;
    CurrentSessionView {
        session: &current.name,
        session_id: &document.session.id,
        saved_elsewhere: current.saved_elsewhere.as_deref(),
        saved_changes_missing: current.unapplied.len(),
        saved_deletions: {
            let deletions = current.unapplied.iter().filter(|unapplied| unapplied.is_deletion);
            deletions.map(|unapplied| &unapplied.path).collect()
        },
        is_finished: current.standing.is_finished(),
        status: current.standing.word(),
        tip: oid(current.tip),
        saved_at: document.created_at,
        subject: &current.subject,
        task: document.session.task.as_deref(),
        claim: document.session.claim.as_ref(),
        draft_operations: current.draft,
        draft: &current.record,
        record_conflicts: current.conflicts,
        draft_notes: current.notes,
        draft_steps: current.steps,
        draft_unreadable: &current.unreadable,
        deferred: current.deferred,
        files_changed: current.changed,
        remotes: current
            .remotes
            .iter()
            .map(|standing| RemoteRelation {
                remote: &standing.remote,
                relation: relation(&standing.state, standing.there.as_ref()),
                words: words(standing),
            })
            .collect(),
        chat: ChatStatus {
            messages: current.chat.messages,
            summarised: current.chat.summarized,
            unsaved: current.chat.waiting,
            tokens: current.chat.tokens,
            method: if current.chat.exact { "exact" } else { "estimated" },
            limit: current.chat.limit,
            near_limit: current.chat.is_near(),
            summary_version: current.chat.version,
            compactions: current.chat.compactions,
        },
    }
}

/// The paths, and the work in submodules, that a save leaves out, in words.
fn left_out(status: &StatusReport) -> Option<String> {
    let changed = &status.facts.submodules_changed;
    let submodules = match (changed.count, changed.first.first()) {
        (0, _) => None,
        (1, Some(path)) => Some(format!("submodule '{}'", path.quoted())),
        (count, _) => Some(format!("{count} submodules")),
    };
    let parts: Vec<_> = receipt::left_out(&status.left_out)
        .into_iter()
        .chain(submodules)
        .collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

/// The lines about a session that was named and is not there.
fn absent(error: &Error) -> Vec<String> {
    let text = error.to_string();
    // The label has it already.
    let mut lines = vec![text.strip_prefix("session ").unwrap_or(&text).to_owned()];
    if let Error::SessionFromEnvNotFound { candidates, .. } = error
        && !candidates.is_empty()
    {
        let near: Vec<_> = candidates.iter().map(|near| format!("'{}'", near.selector)).collect();
        lines.push(format!("did you mean {}?", near.join(" or ")));
    }
    lines.push("'git checkpoint save' would start it".to_owned());
    lines
}
