//! `hooks`: a checkpoint for each commit, made by git's own hooks.
//!
//! `hooks run` is what the hooks call. It must not fail, ask, print or take long: it starts itself anew as a worker and
//! waits two seconds for it; a worker that needs longer runs on in the background. What it did is reported by `hooks status`
//! and `status`.

use std::{
    ffi::OsString,
    time::{Duration, Instant},
};

use super::{
    Context,
    error::{CommandError, FailureKind},
    opening::{self, IdentityArgs, OpenedRepository},
};
use crate::{
    model::{
        hook::{Hook, HookRun},
        time::Timestamp,
    },
    ops::{
        Scene,
        hooks::{self as work, HookOutcome},
    },
    os,
    render::{
        age,
        hooks::{HookRow, HooksView},
        slot::Slot,
        text::TextLine,
    },
    store::{
        self,
        checkpoint::oid,
        hooks::{self, HookFileChange, HookState, HooksDirectory, Manager},
    },
};
use clap::Subcommand;

/// The longest time that a commit waits for its checkpoint.
const BUDGET: Duration = Duration::from_secs(2);
/// The variable that is set while a hook of ours is at work; the hooks do nothing while it is set.
const GUARD: &str = "CHECKPOINT_HOOK";

/// Save a checkpoint for each commit, with git hooks
///
/// Existing hooks stay and run after ours; 'uninstall' leaves them byte for byte as they were. Our hooks never fail,
/// ask or print, and delay a commit by two seconds at most. Without a current session they start one,
/// named after the branch. They do nothing if the variable CHECKPOINT_HOOK is set.
///
/// The note of a commit names the checkpoint that was saved for it. The trailer is written before the commit exists, so
/// it names the previous checkpoint.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  A checkpoint for each commit, amended commit, merge and rebase:
    git checkpoint hooks install
  Show which hooks are active:
    git checkpoint hooks status
  Skip the hooks for one commit:
    CHECKPOINT_HOOK=off git commit -m 'no checkpoint'
  Commits that name their checkpoint, in a note or in their message:
    git config checkpoint.commitNotes on
    git log --notes=checkpoints
    git config checkpoint.commitTrailer on
    git checkpoint hooks install")]
pub(super) struct Args {
    #[command(subcommand)]
    command: HooksCommand,
}

#[derive(Debug, Subcommand)]
enum HooksCommand {
    /// Install the hooks
    Install(HookSelection),
    /// Remove the hooks
    Uninstall(HookSelection),
    /// Show which hooks are active
    Status,
    /// Entry point of the hooks
    #[command(hide = true)]
    Run {
        /// The hook
        hook: String,
        /// Arguments from git
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

/// The chosen hooks; without any those that give a checkpoint for each commit: post-commit, post-rewrite, post-merge.
#[derive(Debug, clap::Args)]
struct HookSelection {
    /// After a commit
    #[arg(long)]
    post_commit: bool,
    /// After commits were amended or rebased
    #[arg(long)]
    post_rewrite: bool,
    /// Before a push
    #[arg(long)]
    pre_push: bool,
    /// After another branch was checked out
    #[arg(long)]
    post_checkout: bool,
    /// After a merge or pull
    #[arg(long)]
    post_merge: bool,
    /// Before a commit, for the trailer of checkpoint.commitTrailer
    #[arg(long)]
    commit_msg: bool,
    /// Change hooks that the project tracks as well
    #[arg(long)]
    force: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

impl HookSelection {
    fn hooks(&self, default: &[Hook]) -> Vec<Hook> {
        let given = |hook: &Hook| match hook {
            Hook::PostCommit => self.post_commit,
            Hook::PostRewrite => self.post_rewrite,
            Hook::PostMerge => self.post_merge,
            Hook::PostCheckout => self.post_checkout,
            Hook::PrePush => self.pre_push,
            Hook::CommitMsg => self.commit_msg,
        };
        let given: Vec<Hook> = Hook::ALL.into_iter().filter(given).collect();
        if given.is_empty() { default.to_vec() } else { given }
    }
}

/// The error of hooks that cannot be written. Where the directory that core.hooksPath names cannot be made, that is the cause.
fn without_directory(directory: &HooksDirectory, error: store::Error) -> CommandError {
    if directory.is_own || directory.path.is_dir() {
        return error.into();
    }
    let path = directory.path.display();
    CommandError::new(FailureKind::NotFound, format!("core.hooksPath: no directory '{path}'"))
        .caused_by(Some(&error))
        .hint("make it first, or use hooks of this repository: git config core.hooksPath .git/hooks")
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    match args.command {
        HooksCommand::Install(which) => install(&which, context),
        HooksCommand::Uninstall(which) => uninstall(&which.hooks(&Hook::ALL), which.dry_run, context),
        HooksCommand::Status => status(context),
        HooksCommand::Run { hook, args } => {
            // Whatever goes wrong, the commit is made: a failure here is none of the caller's.
            let _ = call(&hook, &args, context);
            Ok(())
        }
    }
}

fn install(which: &HookSelection, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let mut default = Hook::DEFAULT.to_vec();
    if opened.scene().settings.commit_trailer {
        default.push(Hook::CommitMsg);
    }
    if opened.scene().settings.auto_push.is_some() {
        default.push(Hook::PrePush);
    }
    let wanted = &which.hooks(&default);
    let repo = opened.scene().repo;
    store::work_tree(repo)?;
    let directory = hooks::directory(repo);
    let manager = hooks::manager(repo);
    if let Some(manager) = manager.filter(|manager| *manager != Manager::PreCommit) {
        return show_snippet(context, manager, wanted, repo);
    }
    if directory.is_off {
        return Err(CommandError::new(
            FailureKind::Refused,
            format!(
                "git runs no hooks here: core.hooksPath is '{}'",
                directory.path.display()
            ),
        )
        .hint("use hooks of this repository: git config core.hooksPath .git/hooks"));
    }
    if directory.is_shared {
        return Err(CommandError::new(
            FailureKind::Refused,
            format!(
                "core.hooksPath '{}' is shared: its hooks also run in other repositories",
                directory.path.display()
            ),
        )
        .hint("use hooks of this repository: git config core.hooksPath .git/hooks")
        .hint("or add to your hook yourself: git-checkpoint hooks run post-commit \"$@\" || :"));
    }
    let Some(program) = context.env.program.clone() else {
        return Err(CommandError::new(
            FailureKind::Fatal,
            "cannot find the path of this program",
        ));
    };
    let tracked = hooks::tracked(repo, &directory.path)?;
    if let (Some(first), false) = (tracked.first(), which.force) {
        return Err(CommandError::new(
            FailureKind::Refused,
            format!(
                "the hooks in '{}' are tracked, so the change would be part of the project: '{}'",
                directory.path.display(),
                first.display()
            ),
        )
        .hint("install them there anyway: git checkpoint hooks install --force")
        .hint("or use hooks of this repository: git config core.hooksPath .git/hooks"));
    }
    if !which.dry_run {
        hooks::note_program(repo, &program)?;
    }
    let mut done = Vec::new();
    for hook in wanted {
        let installed = hooks::install(repo, *hook, which.dry_run);
        let installed = installed.map_err(|error| without_directory(&directory, error))?;
        done.push((*hook, installed));
        if !which.dry_run {
            os::trace::changed();
        }
    }
    report(context, "install", &done, which.dry_run)?;
    if which.dry_run {
        return Ok(());
    }
    if wanted.contains(&Hook::CommitMsg) && !opened.scene().settings.commit_trailer {
        context.ui.hint(
            "Hooks",
            "commit-msg does nothing yet; turn it on: git config checkpoint.commitTrailer on",
        );
    }
    if opened.scene().session.is_none() && !work::is_wanted(&opened.scene(), Hook::PostCheckout) {
        context.ui.hint(
            "Hooks",
            "they save to the current session; without one the next commit starts a session named after the branch",
        );
    }
    Ok(())
}

fn uninstall(wanted: &[Hook], dry_run: bool, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let repo = opened.scene().repo;
    let mut done = Vec::new();
    for hook in wanted {
        done.push((*hook, hooks::uninstall(repo, *hook, dry_run)?));
        if !dry_run {
            os::trace::changed();
        }
    }
    report(context, "uninstall", &done, dry_run)?;
    for hook in wanted {
        if let HookState::Managed(manager) = hooks::state(repo, *hook) {
            context.ui.warning(&format!(
                "{} still calls it: remove '{}' from its configuration",
                manager.name(),
                hook.name()
            ));
        }
    }
    Ok(())
}

fn report(
    context: &Context,
    action: &'static str,
    done: &[(Hook, HookFileChange)],
    dry_run: bool,
) -> Result<(), CommandError> {
    let row = |(hook, done): &(Hook, HookFileChange)| HookRow {
        hook: hook.name(),
        outcome: Some(match done {
            HookFileChange::Created => "created",
            HookFileChange::Added => "added",
            HookFileChange::Chained => "chained",
            HookFileChange::Unchanged => "unchanged",
            HookFileChange::Restored => "restored",
            HookFileChange::Removed => "removed",
        }),
        state: None,
        why: None,
    };
    context.ui.report(&HooksView {
        action,
        dry_run: Some(dry_run),
        hooks: Some(done.iter().map(row).collect()),
        ..HooksView::default()
    })
}

/// Hook managers write hook files anew: permanent settings belong in their configuration, which is the project's.
fn show_snippet(
    context: &Context,
    manager: Manager,
    wanted: &[Hook],
    repo: &store::Repository,
) -> Result<(), CommandError> {
    let missing: Vec<Hook> = wanted
        .iter()
        .copied()
        .filter(|hook| !matches!(hooks::state(repo, *hook), HookState::Active | HookState::Managed(_)))
        .collect();
    if missing.is_empty() {
        let done: Vec<_> = wanted.iter().map(|hook| (*hook, HookFileChange::Unchanged)).collect();
        return report(context, "install", &done, false);
    }
    let (place, text) = snippet(manager, &missing);
    context.ui.show(&HooksView {
        action: "install",
        manager: Some(manager.name()),
        place: Some(place.clone()),
        snippet: Some(text),
        ..HooksView::default()
    })?;
    Err(CommandError::new(
        FailureKind::Negative,
        format!("{} manages the hooks here, so none were written", manager.name()),
    )
    .hint(format!("put the lines above into {place}")))
}

/// The file for the lines, and the lines.
fn snippet(manager: Manager, missing: &[Hook]) -> (String, String) {
    let mut text = String::new();
    let names: Vec<&str> = missing.iter().map(|hook| hook.name()).collect();
    match manager {
        Manager::Husky => {
            for name in &names {
                text.push_str(&format!(
                    "# .husky/{name}\ncommand -v git-checkpoint >/dev/null && git-checkpoint hooks run {name} \"$@\" || :\n"
                ));
            }
            let files: Vec<String> = names.iter().map(|name| format!(".husky/{name}")).collect();
            (files.join(", "), text)
        }
        Manager::Lefthook | Manager::PreCommit => {
            for (hook, name) in missing.iter().zip(&names) {
                text.push_str(&format!(
                    "{name}:\n  commands:\n    git-checkpoint:\n      run: git checkpoint hooks run {name} {{0}}\n"
                ));
                if *hook == Hook::PostRewrite {
                    text.push_str("      use_stdin: true\n");
                }
            }
            ("lefthook-local.yml, and run: lefthook install".to_owned(), text)
        }
        Manager::Overcommit => {
            for name in &names {
                let section: String = name
                    .split('-')
                    .map(|part| part[..1].to_uppercase() + &part[1..])
                    .collect();
                text.push_str(&format!(
                    "{section}:\n  GitCheckpoint:\n    enabled: true\n    command: ['git', 'checkpoint', 'hooks', 'run', '{name}']\n"
                ));
            }
            (".overcommit.yml, and run: overcommit --sign".to_owned(), text)
        }
    }
}

fn status(context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let scene = opened.scene();
    let states: Vec<(Hook, HookState)> = Hook::ALL
        .into_iter()
        .map(|hook| (hook, hooks::state(scene.repo, hook)))
        .collect();
    let last = hooks::last(scene.repo);
    let manager = hooks::manager(scene.repo);
    let works = |state: &HookState| matches!(state, HookState::Active | HookState::Managed(_));
    let all = states
        .iter()
        .all(|(hook, state)| works(state) || !Hook::DEFAULT.contains(hook));
    let broken = states.iter().any(|(_, state)| matches!(state, HookState::Broken(_)));
    let row = |(hook, state): &(Hook, HookState)| {
        let (word, why) = match state {
            HookState::Active => ("active", None),
            HookState::Managed(manager) => ("active", Some(format!("through {}", manager.name()))),
            HookState::Absent => ("not installed", None),
            HookState::Broken(why) => ("not working", Some(why.clone())),
        };
        HookRow {
            hook: hook.name(),
            outcome: None,
            state: Some(word),
            why,
        }
    };
    context.ui.report(&HooksView {
        action: "status",
        active: Some(all && !broken),
        directory: Some(hooks::directory(scene.repo).path.display().to_string()),
        manager: manager.map(Manager::name),
        hooks: Some(states.iter().map(row).collect()),
        last_run_line: last.as_ref().map(|last| run_line(last, scene.now)),
        last_run: last,
        ..HooksView::default()
    })?;
    if all && !broken {
        return Ok(());
    }
    context
        .ui
        .hint("Hooks", "install them with: git checkpoint hooks install");
    Err(CommandError::silent(FailureKind::Negative))
}

/// Result of a run, in one line.
fn run_line(run: &HookRun, now: Timestamp) -> TextLine {
    let mut line = TextLine::plain(format!("{} {}: ", run.hook, age::age(run.at, now)));
    match run.outcome.as_str() {
        "saved" => {
            line.push(Slot::Plain, "saved ");
            line.push(Slot::Id, run.what.get(..8).unwrap_or(&run.what));
            line.push(Slot::Plain, format!(" in {} ms", run.took));
        }
        "failed" => line.push(Slot::Bad, format!("failed: {}", run.what)),
        "running" if os::is_running(run.process) == Some(false) => {
            line.push(Slot::Bad, "was killed before it could save");
        }
        "running" => line.push(Slot::Caution, "still running"),
        outcome => line.push(Slot::Plain, format!("{outcome}: {}", run.what)),
    }
    line
}

/// Lines of `status` about the hooks: none unless some are installed or the last run went wrong.
pub(super) fn summary(scene: &Scene<'_>) -> Vec<TextLine> {
    let mut lines = Vec::new();
    let mut active = Vec::new();
    for hook in Hook::ALL {
        match hooks::state(scene.repo, hook) {
            HookState::Active | HookState::Managed(_) => active.push(hook.name()),
            HookState::Absent => {}
            HookState::Broken(why) => {
                lines.push(TextLine::new().with(Slot::Bad, format!("{} does not work: {why}", hook.name())));
            }
        }
    }
    if !active.is_empty() {
        lines.insert(0, TextLine::plain(active.join(", ")));
    }
    if let Some(last) = hooks::last(scene.repo)
        && matches!(last.outcome.as_str(), "failed" | "running")
    {
        lines.push(run_line(&last, scene.now));
    }
    lines
}

/// The call from a hook: a worker is started and waited for, unless nothing is to be done.
fn call(hook: &str, args: &[String], context: &mut Context) -> Result<(), CommandError> {
    let is_worker = context.env.text(GUARD).as_deref() == Some("worker");
    let Some(hook) = Hook::parse(hook) else { return Ok(()) };
    let mut opened = opening::at(&context.env, &IdentityArgs::default(), context.env.now)?;
    // By now the index that a commit was made from is the working tree's, or is gone.
    let temporary = opened
        .scene()
        .index
        .is_some_and(|path| path.extension().is_some_and(|end| end == "lock") || !path.exists());
    if temporary {
        opened.forget_index();
    }
    if hook == Hook::PrePush && !is_worker {
        super::share::automatic::with_push(&opened, args.first().map(String::as_str));
    }
    // A rebase makes hundreds of commits: not even a process for each.
    let ends = hook == Hook::PostRewrite && args.first().is_some_and(|arg| arg == "rebase");
    let wanted = work::is_wanted(&opened.scene(), hook) && (ends || !hooks::is_rebasing(opened.scene().repo));
    let follows = hook == Hook::PostRewrite && opened.scene().settings.commit_notes;
    if !wanted && !follows {
        return Ok(());
    }
    let reads = hook == Hook::PostRewrite;
    let input = if reads && !context.ui.terminals().input {
        context.ui.read_input("the commits", 64 << 20)?
    } else {
        Vec::new()
    };
    if hook == Hook::CommitMsg {
        let Some(file) = args.first() else { return Ok(()) };
        return Ok(crate::ops::link::trailer(&opened.scene(), &context.env.cwd.join(file))?);
    }
    if is_worker {
        return work_on(hook, args, &input, &opened);
    }
    let Some(program) = &context.env.program else {
        return Ok(());
    };
    let mut line: Vec<OsString> = vec!["hooks".into(), "run".into(), hook.name().into(), "--".into()];
    line.extend(args.iter().map(OsString::from));
    let started = os::run_for(program, &line, &[(GUARD, "worker")], input, BUDGET);
    if let Err(error) = started {
        let run = note(hook, opened.scene().now, "failed", os::reason(&error), Instant::now());
        hooks::note(opened.scene().repo, &run)?;
    }
    Ok(())
}

fn note(hook: Hook, at: Timestamp, outcome: &str, what: String, begun: Instant) -> HookRun {
    HookRun {
        hook: hook.name().to_owned(),
        at,
        outcome: outcome.to_owned(),
        what,
        took: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        process: os::own_process(),
    }
}

/// Rewrites the files that `checkpoint.exportTo` names and shares the session, after a hook saved to the current one.
fn kept_up_to_date(opened: &OpenedRepository) {
    let scene = opened.scene();
    let current = store::current::read(scene.repo)
        .ok()
        .and_then(|current| current.session);
    if let Some(name) = scene.session.cloned().or(current.map(|session| session.name)) {
        let _ = super::share::automatic::after_checkpoint(opened, &name);
    }
}

/// The worker: saves, and notes how it went.
fn work_on(hook: Hook, args: &[String], input: &[u8], opened: &OpenedRepository) -> Result<(), CommandError> {
    let begun = Instant::now();
    let scene = opened.scene();
    let scene = Scene {
        wait: scene.wait.min(BUDGET),
        ..scene
    };
    hooks::note(scene.repo, &note(hook, scene.now, "running", String::new(), begun))?;
    let (outcome, what) = match work::run(&scene, hook, args, input) {
        Ok(HookOutcome::Saved(id)) => {
            // A file that could not be written is reported by the next save, too.
            kept_up_to_date(opened);
            ("saved", oid(id).to_string())
        }
        Ok(HookOutcome::SavedOnly(id, why)) => (
            "failed",
            format!(
                "saved {}, but the commit's note of it could not be written: {why}",
                oid(id).short()
            ),
        ),
        Ok(HookOutcome::Unchanged) => ("unchanged", "nothing new".to_owned()),
        Ok(HookOutcome::Skipped(why)) => ("skipped", why.to_owned()),
        Err(error) => ("failed", error.to_string()),
    };
    hooks::note(scene.repo, &note(hook, scene.now, outcome, what, begun))?;
    Ok(())
}
