//! `fork` and `compare`: a session from any checkpoint, and two checkpoints side by side.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{
    Context,
    agent_session::{self, AgentPlace},
    error::{CommandError, FailureKind},
    failure, fork_list,
    opening::{self, IdentityArgs, OpenedRepository},
    pathspecs::Pathspecs,
    restore_report::with_progress,
    session_word::SessionWord,
};
use crate::{
    model::{document::Document, path::RepoPath, report::MergeVerdict, step::quoted},
    ops::{
        agent::resumption,
        compare::{self, Comparison, SideChanges},
        fork::{self, ForkOutcome, ForkPlan, ForkTarget, ForkWorktree, unfinished},
        plan_runner::PlanOperation,
        status,
    },
    render::{
        View as _,
        count::CountedNoun,
        fork::{
            CommonCommit, CommonOrigin, CompareView, ComparedSide, ContestedFile, ForkFiles, ForkReceipt, ForkRow,
            ForkSideChanges, ForkWorktreeRow, HookExit, SetupExit, UncopiedFile,
        },
        patch,
        receipt::{self, SkippedPath},
        restore::FilteredFile,
        turns::AgentSessionView,
    },
    store::{
        self,
        checkpoint::oid,
        patch::{PatchFormat, PatchOptions},
    },
};

/// Start a new session from any checkpoint
///
/// The fork begins with the content of the checkpoint; the source does not change. With --worktree it gets its own
/// directory with the saved files, staged state and record, and the command of checkpoint.forkSetup runs there; if that fails,
/// the fork is made, and the exit status is 7.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Try something else, and switch back later:
    git checkpoint fork @ --name try-winnow
    git checkpoint switch -
  Next to your current work, in its own directory:
    git checkpoint fork auth~2 --name try-winnow --worktree ../try
  With a copy of the coding agent's session, which continues there:
    git checkpoint fork @ --name try-winnow --worktree ../try --agent-session
  One session for each option of a fork point, each in its directory:
    git checkpoint fork @ --option nom --worktree ../nom \\
      --option winnow --worktree ../winnow
  See the forks, and remove a working tree that is no longer needed:
    git checkpoint fork --list
    git checkpoint fork --remove try-winnow
  Complete one that was cut off:
    git checkpoint fork --continue try-winnow")]
pub(super) struct Args {
    /// The checkpoint, or the session whose latest one is meant; the current session by default
    #[arg(value_name = "CHECKPOINT")]
    selector: Option<String>,
    /// The name of the new session; repeatable, one fork each
    #[arg(long = "name", value_name = "NAME")]
    names: Vec<SessionWord>,
    /// Create a working tree for it in this directory
    #[arg(long = "worktree", value_name = "PATH")]
    worktrees: Vec<PathBuf>,
    /// The option of a fork point that the fork explores, by its key; see 'git checkpoint fork-point'
    #[arg(long = "option", value_name = "KEY")]
    options: Vec<String>,
    /// The new branch in that working tree; 'checkpoint/SESSION' by default
    #[arg(long = "branch", value_name = "BRANCH", requires = "worktrees")]
    branches: Vec<String>,
    /// Give each fork a copy, with a new id, of the session of the latest coding agent, or of this one
    #[arg(long, value_name = "AGENT", num_args = 0..=1, value_parser = agent_session::agent_name)]
    #[expect(clippy::option_option, reason = "clap's form of an option with an optional value")]
    agent_session: Option<Option<String>>,
    /// List the forks: status, working tree, and what each changed
    #[arg(short, long, conflicts_with_all = ["selector", "names", "options", "worktrees", "dry_run"])]
    list: bool,
    /// Complete the working tree of a fork that was cut off, or run its failed set-up command again
    #[arg(long = "continue", value_name = "SESSION", conflicts_with_all = ["selector", "list", "remove", "names", "options", "worktrees", "dry_run"])]
    continued: Option<SessionWord>,
    /// Save and remove the working tree of this fork; its session and branch stay
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["selector", "list", "names", "options", "worktrees", "dry_run"])]
    remove: Option<SessionWord>,
    /// With --remove: also delete files that no checkpoint holds
    #[arg(long, requires = "remove")]
    force: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    whom: IdentityArgs,
}

/// Compare two checkpoints, and for forks what each changed since the fork
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Compare two forks:
    git checkpoint compare try-nom try-winnow
  With the differences in the files:
    git checkpoint compare try-nom try-winnow --patch -- src")]
pub(super) struct CompareArgs {
    /// One checkpoint
    #[arg(value_name = "A")]
    a: String,
    /// The other
    #[arg(value_name = "B")]
    b: String,
    #[command(flatten)]
    pathspecs: Pathspecs,
    /// Show the files as a patch instead of numbers of lines
    #[arg(short, long)]
    patch: bool,
    /// Detect renames; the similarity threshold in percent
    #[arg(short = 'M', long = "find-renames", value_name = "N", num_args = 0..=1, default_missing_value = "50")]
    renames: Option<u8>,
}

impl Args {
    /// One fork for each of these options, in a working tree each.
    pub(super) fn explore(forks: Vec<(String, PathBuf)>, dry_run: bool, whom: IdentityArgs) -> Self {
        let (options, worktrees) = forks.into_iter().unzip();
        Self {
            selector: Some("@".to_owned()),
            list: false,
            remove: None,
            continued: None,
            force: false,
            names: Vec::new(),
            options,
            worktrees,
            branches: Vec::new(),
            agent_session: None,
            dry_run,
            whom,
        }
    }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    if args.list {
        return fork_list::list(context);
    }
    if let Some(name) = &args.remove {
        return fork_list::remove(name, args.force, context);
    }
    let opened = opening::open(context, &args.whom)?;
    if let Some(name) = &args.continued {
        let forked = with_progress(context, |progress| {
            Ok(unfinished::finish(
                &opened.scene(),
                &name.resolved(&opened.scene())?,
                progress,
            )?)
        })?;
        report(context, std::slice::from_ref(&forked), &[])?;
        return failed_setups(&[forked]);
    }
    fork_list::warn_unfinished(context, &opened);
    let count = [
        args.names.len(),
        args.options.len(),
        args.worktrees.len(),
        args.branches.len(),
        1,
    ];
    let count = count.into_iter().max().unwrap_or(1);
    for (given, flag) in [
        (args.names.len(), "--name"),
        (args.options.len(), "--option"),
        (args.worktrees.len(), "--worktree"),
        (args.branches.len(), "--branch"),
    ] {
        if given != 0 && given != count {
            let times = if given == 1 {
                "once".to_owned()
            } else {
                format!("{given} times")
            };
            return Err(CommandError::new(
                FailureKind::Usage,
                format!("{count} forks need {flag} {count} times or not at all; it is given {times}"),
            ));
        }
    }
    let names = args.names.iter().map(|name| name.new_name(&opened.scene()));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    let forks = (0..count)
        .map(|n| ForkTarget {
            name: names.get(n).cloned(),
            option: args.options.get(n).cloned(),
            worktree: args.worktrees.get(n).map(|path| plain(&context.env.cwd.join(path))),
            branch: args.branches.get(n).cloned(),
        })
        .collect();
    let request = fork::ForkRequest {
        selector: failure::selector(args.selector.as_deref().unwrap_or("@"))?,
        forks,
    };
    if args.dry_run {
        return context.ui.report(&plan(&fork::plan(&opened.scene(), &request)?));
    }
    let forks = with_progress(context, |progress| Ok(fork::fork(&opened.scene(), &request, progress)?))?;
    failure::warn_aftermath(&context.ui, &forks.aftermath);
    let made = forks.made;
    let mut sessions = Vec::new();
    if let Some(agent) = &args.agent_session {
        for forked in &made {
            sessions.push(agent_session(context, &opened, forked, agent.as_deref())?);
        }
    }
    report(context, &made, &sessions)?;
    if made.iter().any(|forked| forked.worktree.is_some()) {
        warn_unsaved(context, &opened, &made);
    }
    match made.as_slice() {
        [
            ForkOutcome {
                worktree: Some(made), ..
            },
        ] => {
            let path = made.path.display();
            context
                .ui
                .hint("Fork", &format!("continue there: cd {path} && git checkpoint resume"));
        }
        _ => context
            .ui
            .hint("Fork", "compare forks: git checkpoint compare <one> <other>"),
    }
    failed_setups(&made)
}

/// The error where set-up commands failed: the forks are made, and each can be completed.
fn failed_setups(made: &[ForkOutcome]) -> Result<(), CommandError> {
    let mut failed = Vec::new();
    for forked in made {
        if let Some(worktree) = &forked.worktree
            && let Some(setup) = worktree.setup.as_ref().filter(|setup| setup.code != 0)
        {
            failed.push((&forked.name, setup.code, worktree.path.display()));
        }
    }
    let Some((_, code, path)) = failed.first() else {
        return Ok(());
    };
    let mut message = format!("the command of checkpoint.forkSetup ended with {code} in '{path}'");
    for (_, code, path) in failed.iter().skip(1) {
        message.push_str(&format!(", with {code} in '{path}'"));
    }
    let error = CommandError::new(FailureKind::Partial, message);
    Err(failed.iter().fold(error, |error, (name, ..)| {
        error.hint(format!("run it again: git checkpoint fork --continue {name}"))
    }))
}

/// Warns of changed files that are in no working tree of a fork of the latest checkpoint.
fn warn_unsaved(context: &Context, opened: &OpenedRepository, made: &[ForkOutcome]) {
    // What cannot be read is in no one's way: the forks are made.
    let Ok(status) = status::status(&opened.scene()) else {
        return;
    };
    let Some(current) = status.session else { return };
    let Some(changed) = current.changed.filter(|changed| *changed > 0) else {
        return;
    };
    if made.iter().any(|forked| forked.source == current.tip) {
        let (files, are) = (
            CountedNoun::new(changed, "changed file"),
            if changed == 1 { "is" } else { "are" },
        );
        context.ui.warning(&format!(
            "{files} {are} not in the fork, as not saved; to have them in one, save first: git checkpoint save"
        ));
    }
}

/// Reports forks that were made.
fn report(context: &mut Context, made: &[ForkOutcome], sessions: &[AgentSessionView]) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let current = store::current::read(opened.scene().repo).ok();
    let current = current.and_then(|current| current.session).map(|session| session.name);
    let agents = sessions.iter().map(Some).chain(std::iter::repeat(None));
    context.ui.report(&ForkReceipt {
        dry_run: false,
        forks: made
            .iter()
            .zip(agents)
            .map(|(forked, agent)| ForkRow {
                agent,
                id: Some(oid(forked.id)),
                digest: Some(&forked.digest),
                session: &forked.name,
                session_id: Some(&forked.document.session.id),
                source: oid(forked.source),
                source_session: forked.source_session.as_ref(),
                option: option_of(&forked.document),
                worktree: forked.worktree.as_ref().map(worktree),
                document: &forked.document,
                is_current: current.as_ref() == Some(&forked.name),
            })
            .collect(),
    })?;
    let incomplete = made
        .iter()
        .filter_map(|forked| forked.worktree.as_ref())
        .find(|made| !made.brought.is_done());
    let worktrees = made.iter().filter_map(|forked| forked.worktree.as_ref());
    for made in worktrees {
        if let Some(hook) = &made.hook {
            for line in hook.output.lines() {
                context.ui.say(&format!("post-checkout: {line}"));
            }
            if hook.code != 0 {
                let path = made.path.display();
                let code = hook.code;
                context
                    .ui
                    .warning(&format!("the post-checkout hook ended with {code} in '{path}'"));
            }
        }
        if let Some(setup) = &made.setup {
            for line in setup.output.lines() {
                context.ui.say(&format!("setup: {line}"));
            }
        }
        for (path, why) in &made.not_copied {
            context.ui.warning(&format!("'{path}' was not copied: {why}"));
        }
        for (submodule, why) in &made.not_populated {
            let place = quoted(&made.path.display().to_string());
            context.ui.warning(&format!(
                "submodule '{submodule}' is empty in the fork: {why}; populate it: git -C {place} submodule update --init"
            ));
        }
    }
    // All forks have one source.
    if let Some(forked) = made.iter().find(|forked| forked.worktree.is_some()) {
        for path in &forked.document.git.submodules_changed.first {
            let path = path.quoted();
            context.ui.warning(&format!(
                "uncommitted changes of submodule '{path}' are not in the fork: no checkpoint has them"
            ));
        }
    }
    let is_unfinished = |forked: &&ForkOutcome| forked.worktree.as_ref().is_some_and(|made| made.is_unfinished);
    let unfinished: Vec<_> = made.iter().filter(is_unfinished).collect();
    if !unfinished.is_empty() && incomplete.is_none() {
        let message = "interrupted before the command of checkpoint.forkSetup ended";
        let error = CommandError::new(FailureKind::Interrupted, message);
        let hint = |error: CommandError, forked: &ForkOutcome| {
            error.hint(format!("complete it: git checkpoint fork --continue {}", forked.name))
        };
        return Err(unfinished.into_iter().fold(error, hint));
    }
    if let Some(made) = incomplete.filter(|made| !made.brought.refusals.is_empty()) {
        let path = made.path.display();
        let reasons = made
            .brought
            .refusals
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        let message = format!(
            "the files in '{path}' are those of the commit, not the saved ones: {}",
            reasons.join("; ")
        );
        return Err(CommandError::new(FailureKind::Refused, message)
            .hint(format!("see why: git -C {path} checkpoint restore --dry-run")));
    }
    if let Some(made) = incomplete {
        let path = made.path.display();
        return Err(
            CommandError::new(FailureKind::Fatal, format!("the files in '{path}' are not complete"))
                .hint(format!("finish it: git -C {path} checkpoint restore --continue")),
        );
    }
    Ok(())
}

fn worktree(made: &ForkWorktree) -> ForkWorktreeRow<'_> {
    let refusals = made.brought.refusals.iter();
    let not_copied = made.not_copied.iter();
    let not_populated = made.not_populated.iter();
    ForkWorktreeRow {
        path: made.path.display().to_string(),
        branch: made.branch.as_deref(),
        complete: made.brought.is_done(),
        files: Some(ForkFiles {
            refusals: refusals.map(|refusal| json!(refusal)).collect(),
            copied: &made.copied,
            not_copied: not_copied.map(|(path, why)| UncopiedFile { path, why }).collect(),
            left_out: made
                .left_out
                .iter()
                .chain(&made.outdated)
                .map(SkippedPath::from)
                .collect(),
            left_out_words: receipt::left_out(&made.left_out),
            outdated_words: receipt::left_out(&made.outdated),
            filtered: made
                .brought
                .filtered(PlanOperation::Restore)
                .into_iter()
                .map(|(path, why)| FilteredFile { path, why })
                .collect(),
            submodules: &made.submodules,
            not_populated: not_populated.map(|(path, why)| UncopiedFile { path, why }).collect(),
            hook: made.hook.as_ref().map(|hook| HookExit { exit_status: hook.code }),
            setup: made.setup.as_ref().map(|setup| SetupExit {
                exit_status: setup.code,
                output: &setup.output,
            }),
            written: made.brought.done.written,
        }),
    }
}

/// The receipt of a dry run.
fn plan(planned: &[ForkPlan]) -> ForkReceipt<'_> {
    let forks = planned.iter().map(|planned| ForkRow {
        agent: None,
        id: None,
        digest: None,
        session: &planned.name,
        session_id: None,
        source: oid(planned.source),
        source_session: planned.source_session.as_ref(),
        option: option_of(&planned.document),
        worktree: planned.worktree.as_ref().map(|(path, branch)| ForkWorktreeRow {
            path: path.display().to_string(),
            branch: Some(branch),
            complete: false,
            files: None,
        }),
        document: &planned.document,
        is_current: false,
    });
    ForkReceipt {
        dry_run: true,
        forks: forks.collect(),
    }
}

fn option_of(document: &Document) -> Option<&str> {
    document.session.forked_from.as_ref()?.option.as_deref()
}

/// The path without the `..` of its parents, as far as those are there.
fn plain(path: &Path) -> PathBuf {
    let parts = path.parent().zip(path.file_name());
    let real = parts.and_then(|(parent, name)| Some(parent.canonicalize().ok()?.join(name)));
    real.unwrap_or_else(|| path.to_owned())
}

/// Gives a fork its own session of the coding agent.
fn agent_session(
    context: &Context,
    opened: &OpenedRepository,
    forked: &ForkOutcome,
    agent: Option<&str>,
) -> Result<AgentSessionView, CommandError> {
    let Some(kept) = resumption::resumable(&forked.document, agent) else {
        let message = format!("'{}' was forked, but it has no such agent session", forked.name);
        return Err(CommandError::new(FailureKind::NotFound, message).hint("see the turns: git checkpoint turns"));
    };
    let root = match &forked.worktree {
        Some(made) => made.path.clone(),
        None => store::work_tree(opened.scene().repo)?.to_owned(),
    };
    let place = AgentPlace {
        root: &root,
        is_copy: true,
        dry_run: false,
    };
    let session = agent_session::session_ref(&forked.document, &forked.name);
    let mut view = agent_session::view_of(&agent_session::in_place(
        context,
        opened,
        session,
        &forked.document,
        &kept,
        &place,
    )?);
    if forked.worktree.is_some() {
        let directory = quoted(&root.display().to_string());
        view.command = format!("cd {directory} && {}", view.command);
    }
    Ok(view)
}

pub(super) fn compare(args: CompareArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let format = if args.patch {
        PatchFormat::Patch
    } else {
        PatchFormat::Stat
    };
    let request = compare::CompareRequest {
        a: failure::selector(&args.a)?,
        b: failure::selector(&args.b)?,
        patch: PatchOptions {
            format,
            renames: args.renames,
            width: (!args.patch).then(|| context.ui.width()),
            pathspecs: args.pathspecs.read(context)?,
            directory: Some(context.env.cwd.clone()),
            ..PatchOptions::default()
        },
    };
    let compared = compare::compare(&opened.scene(), &request).map_err(|error| args.pathspecs.as_given(error))?;
    let view = comparison(&compared);
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    context.ui.page();
    context.ui.data(view.text());
    if format == PatchFormat::Patch && context.ui.for_people() {
        context.ui.verbatim(&patch::text(&compared.diff.text));
    } else {
        context.ui.bytes(&compared.diff.text);
    }
    Ok(())
}

fn comparison(compared: &Comparison) -> CompareView<'_> {
    CompareView {
        a: side(&compared.a),
        b: side(&compared.b),
        record: &compared.diff.record,
        files: &compared.diff.files,
        files_compared: !compared.diff.without_files,
        common: compared.common.as_ref().map(|common| CommonOrigin {
            id: oid(common.checkpoint.entry.id),
            digest: &common.checkpoint.digest,
            a: since(&common.a),
            b: since(&common.b),
            both: contested(&common.both),
            subject: &common.checkpoint.entry.subject,
        }),
        common_commit: compared.base.as_ref().map(|base| CommonCommit {
            id: base.commit.clone(),
            a: &base.files.a,
            b: &base.files.b,
            both: contested(&base.files.both),
        }),
    }
}

fn contested(both: &[(RepoPath, MergeVerdict)]) -> Vec<ContestedFile<'_>> {
    both.iter()
        .map(|(path, verdict)| ContestedFile {
            path,
            conflict: verdict.is_conflict(),
            why: verdict.words(),
        })
        .collect()
}

fn side(side: &compare::ComparedCheckpoint) -> ComparedSide<'_> {
    ComparedSide {
        id: oid(side.checkpoint.entry.id),
        digest: &side.checkpoint.digest,
        session: side.session.as_ref(),
        subject: &side.checkpoint.entry.subject,
        has_files: side.checkpoint.document.snapshot.is_some(),
    }
}

fn since(changes: &SideChanges) -> ForkSideChanges<'_> {
    ForkSideChanges {
        checkpoints: changes.steps,
        record: &changes.record,
        files: &changes.files,
    }
}
