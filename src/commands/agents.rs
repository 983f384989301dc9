//! `enable`, `disable`, `agents`: the hooks of coding agents in the user's settings.

use std::path::{Path, PathBuf};

use super::{
    Context, agent_commands, agent_doctor, agent_git_hooks, agent_servers, agent_session, agent_texts,
    error::{CommandError, FailureKind},
    opening::{self, IdentityArgs, OpenedRepository},
};
use crate::{
    agents::hooks::adapter::{ADAPTERS, Adapter, PROJECT_PROGRAM},
    model::hook::Hook,
    ops::agent::{
        self,
        enrollment::{self, Extent},
        setup::{self, HooksEdit, HooksState},
        trust::{self, TrustPlace},
        version,
    },
    os,
    render::{
        agents::{AgentEventRow, AgentHooksRow, AgentHooksView, AgentRow, AgentTextRow, AgentsView, diff},
        text::TextLine,
    },
    store::{
        self,
        agents::{Binding, LastEvent},
        hooks::{self, HookState},
    },
};

/// Save a checkpoint for each turn of your coding agents
///
/// Adds hooks to the agents' settings in your home directory, after existing hooks, and turns checkpoint.agents on in
/// this repository. In other repositories the hooks do nothing. Without a name, enables every agent that is installed.
///
/// From then on each prompt and each answer is saved with the exact files, and the next session starts with the saved
/// context. A turn without changed files is saved where the agent has a session file, which holds the chat.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Every agent that is installed:
    git checkpoint enable
  One agent, in all your repositories:
    git checkpoint enable claude-code --all-repos
  The tools of 'git checkpoint mcp' for every agent that is installed:
    git checkpoint enable --mcp
  Hooks in files of the project, for agents in the cloud:
    git checkpoint enable claude-code --project
  Show the changes of the settings first:
    git checkpoint enable codex --dry-run")]
pub(super) struct EnableArgs {
    /// The agents: claude-code, codex, copilot, gemini, qwen, opencode, pi, cline, cursor
    #[arg(value_name = "AGENT", value_parser = agent_session::adapter)]
    agents: Vec<&'static Adapter>,
    /// Enable all your repositories, not only this one
    #[arg(long)]
    all_repos: bool,
    /// Only register the tool server with the agents, by their own commands; see 'git checkpoint mcp'
    #[arg(long, conflicts_with = "all_repos")]
    mcp: bool,
    /// Also install a skill for agents: when to save, go back, fork and resume
    #[arg(long)]
    skill: bool,
    /// Also install slash commands: /checkpoint-save, /checkpoint-resume, /checkpoint-rewind
    #[arg(long)]
    slash_commands: bool,
    /// Write the hooks to files of this project, which cloud agents read, instead of your settings
    #[arg(long, conflicts_with_all = ["all_repos", "mcp", "skill", "slash_commands"])]
    project: bool,
    /// Add a marked paragraph to AGENTS.md, and to CLAUDE.md if it exists
    #[arg(long)]
    agents_md: bool,
    /// Do not install git hooks, which save a checkpoint for each commit
    #[arg(long)]
    no_git_hooks: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Stop saving turns here, or remove the hooks of agents
///
/// With a name, removes exactly our hooks from that agent's settings. Without one, only turns checkpoint.agents off
/// here: the hooks stay for your other repositories and do nothing in this one.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Stop saving in this repository:
    git checkpoint disable
  Remove the hooks from an agent's settings:
    git checkpoint disable claude-code
  Remove them from all agents:
    git checkpoint disable --all")]
pub(super) struct DisableArgs {
    /// The agents
    #[arg(value_name = "AGENT", value_parser = agent_session::adapter, conflicts_with = "all")]
    agents: Vec<&'static Adapter>,
    /// Remove the hooks from the settings of all agents
    #[arg(long)]
    all: bool,
    /// Turn checkpoint.agents off for all your repositories
    #[arg(long)]
    all_repos: bool,
    /// Only remove the tool server from the agents' configurations
    #[arg(long, conflicts_with = "all_repos")]
    mcp: bool,
    /// Only remove the hooks from the files of this project
    #[arg(long, conflicts_with_all = ["all_repos", "mcp"])]
    project: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Show the coding agents, their hooks and their last events
///
/// Exits with 1 if agents are enabled here and an installed agent has no working hooks.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Show the hooks and their last events:
    git checkpoint agents
  Test the hooks with the agents themselves:
    git checkpoint agents doctor")]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Doctor(agent_doctor::DoctorArgs),
}

pub(super) fn enable(args: EnableArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let program = program(context)?;
    let chosen: Vec<&'static Adapter> = if args.agents.is_empty() {
        let found = |adapter: &&Adapter| is_found(context, adapter);
        ADAPTERS.iter().filter(found).collect()
    } else {
        args.agents.clone()
    };
    if chosen.is_empty() {
        return Err(
            CommandError::new(FailureKind::NotFound, "no coding agent was found here")
                .hint("name one: git checkpoint enable claude-code"),
        );
    }
    if args.mcp {
        let chosen: Vec<_> = chosen.into_iter().map(|adapter| installed(context, adapter)).collect();
        return agent_servers::enable(context, &chosen, &program, args.dry_run);
    }
    let mut edits = Vec::new();
    let mut texts = Vec::new();
    for adapter in &chosen {
        let (path, program) = if args.project {
            let root = store::work_tree(opened.scene().repo)?;
            (root.join(adapter.project), PROJECT_PROGRAM)
        } else {
            (path(context, adapter)?, program.as_str())
        };
        let files = setup::enable(adapter, &path, program, args.dry_run)?;
        edits.push(AgentEdits { adapter, path, files });
    }
    if args.skill {
        texts.extend(agent_texts::skills(context, &chosen, args.dry_run)?);
    }
    if args.slash_commands {
        texts.extend(agent_commands::write(context, &chosen, args.dry_run)?);
    }
    if args.agents_md {
        texts.extend(agent_texts::paragraphs(&opened, args.dry_run)?);
    }
    let extent = if args.all_repos {
        Extent::User
    } else {
        Extent::Repository
    };
    if !args.dry_run {
        enrollment::set(&opened.scene(), extent, true)?;
    }
    let git_hooks = if args.no_git_hooks {
        None
    } else {
        let done = agent_git_hooks::add_default(&opened, context, args.dry_run);
        if let Err(error) = &done {
            context
                .ui
                .warning(&format!("git hooks were not changed: {}", error.message()));
        }
        done.ok()
    };
    report(
        context,
        "enable",
        Report {
            edits: &edits,
            texts,
            git_hooks,
            extent: Some(extent),
            dry_run: args.dry_run,
        },
    )
}

pub(super) fn disable(args: DisableArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let chosen: Vec<&'static Adapter> = if args.all || ((args.mcp || args.project) && args.agents.is_empty()) {
        ADAPTERS.iter().collect()
    } else {
        args.agents.clone()
    };
    if args.mcp {
        let chosen: Vec<_> = chosen.into_iter().map(|adapter| installed(context, adapter)).collect();
        return agent_servers::disable(context, &chosen, args.dry_run);
    }
    let mut edits = Vec::new();
    for adapter in &chosen {
        let path = if args.project {
            store::work_tree(opened.scene().repo)?.join(adapter.project)
        } else {
            path(context, adapter)?
        };
        let files = setup::disable(adapter, &path, args.dry_run)?;
        edits.push(AgentEdits { adapter, path, files });
    }
    let extent = match (args.all_repos, chosen.is_empty()) {
        (true, _) => Some(Extent::User),
        (false, true) => Some(Extent::Repository),
        (false, false) => None,
    };
    if let (Some(extent), false) = (extent, args.dry_run) {
        enrollment::set(&opened.scene(), extent, false)?;
    }
    let texts = if args.all {
        let mut texts = agent_texts::remove(context, &opened, args.dry_run)?;
        texts.extend(agent_commands::remove(context, args.dry_run)?);
        texts
    } else {
        Vec::new()
    };
    let parts = Report {
        edits: &edits,
        texts,
        git_hooks: None,
        extent,
        dry_run: args.dry_run,
    };
    if edits.is_empty() && args.dry_run {
        context
            .ui
            .receipt(TextLine::plain("Agents would no longer save in this repository."));
    }
    report(context, "disable", parts)?;
    if edits.is_empty() && !args.dry_run {
        context
            .ui
            .receipt(TextLine::plain("Agents no longer save in this repository."));
    }
    if edits.is_empty() && has_hooks(context) {
        context.ui.receipt(TextLine::plain(
            "The hooks stay in the settings of the agents; to remove them: git checkpoint disable --all",
        ));
    }
    let saves = |hook: &Hook| hooks::state(opened.scene().repo, *hook) == HookState::Active;
    if (edits.is_empty() || args.all) && Hook::DEFAULT.iter().any(saves) {
        context.ui.receipt(TextLine::plain(
            "Git hooks still save a checkpoint for each commit: git checkpoint hooks uninstall",
        ));
    }
    Ok(())
}

/// Whether the settings of any agent have hooks of ours.
fn has_hooks(context: &Context) -> bool {
    // Settings that cannot be read are reported by the command that changes them.
    ADAPTERS.iter().any(|adapter| {
        let path = path(context, adapter).ok();
        let edits = path.and_then(|path| setup::disable(adapter, &path, true).ok());
        edits.is_some_and(|edits| edits.iter().any(HooksEdit::changes))
    })
}

/// The edits of the hooks of an agent.
struct AgentEdits<'a> {
    adapter: &'a Adapter,
    /// The file, or the directory of its files.
    path: PathBuf,
    files: Vec<HooksEdit>,
}

/// The changes that `enable` and `disable` made.
struct Report<'a> {
    edits: &'a [AgentEdits<'a>],
    /// Skills and paragraphs.
    texts: Vec<HooksEdit>,
    /// Hooks of git that call this program now.
    git_hooks: Option<Vec<&'static str>>,
    extent: Option<Extent>,
    dry_run: bool,
}

fn report(context: &Context, action: &'static str, parts: Report<'_>) -> Result<(), CommandError> {
    let Report {
        edits,
        texts,
        git_hooks,
        extent,
        dry_run,
    } = parts;
    let row = |edits: &AgentEdits<'_>| {
        let changed = edits.files.iter().filter(|edit| edit.changes());
        let shown = |edit: &HooksEdit| {
            let file = edit.path.display().to_string();
            diff(&file, edit.before.as_deref(), edit.after.as_deref())
        };
        let diffs: Vec<String> = changed.map(shown).collect();
        AgentHooksRow {
            agent: edits.adapter.name,
            title: edits.adapter.title,
            changed: !diffs.is_empty(),
            trust: (action == "enable").then(|| edits.adapter.trust.step()).flatten(),
            diff: (dry_run && !diffs.is_empty()).then(|| diffs.concat()),
            file: edits.path.display().to_string(),
        }
    };
    let view = AgentHooksView {
        action,
        dry_run,
        extent: extent.map(|extent| match extent {
            Extent::Repository => "repository",
            Extent::User => "user",
        }),
        agents: edits.iter().map(row).collect(),
        texts: texts
            .iter()
            .map(|edit| {
                let file = edit.path.display().to_string();
                AgentTextRow {
                    changed: edit.changes(),
                    diff: (dry_run && edit.changes())
                        .then(|| diff(&file, edit.before.as_deref(), edit.after.as_deref())),
                    file,
                }
            })
            .collect(),
        git_hooks,
    };
    context.ui.report(&view)
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    if let Some(Action::Doctor(doctor)) = args.action {
        let all: Vec<&'static Adapter> = ADAPTERS.iter().collect();
        let is_named = !doctor.agents.is_empty();
        let chosen = if is_named { doctor.agents } else { all };
        let mut agents: Vec<_> = chosen.into_iter().map(|adapter| installed(context, adapter)).collect();
        agents.retain(|(_, program)| is_named || program.is_some());
        return agent_doctor::run(context, &agents);
    }
    let opened = opening::open(context, &IdentityArgs::default())?;
    let scene = opened.scene();
    let bindings = agent::bindings(&scene)?;
    let program = program(context)?;
    let mut rows = Vec::new();
    for adapter in ADAPTERS {
        rows.push(row(context, &opened, adapter, &program, &bindings)?);
    }
    let enabled = scene.settings.agents;
    let view = AgentsView {
        enabled: Some(enabled),
        agents: rows,
    };
    let works = |row: &AgentRow| row.program.is_none() || row.hooks == "installed";
    // What is shown here is not said again by 'status'.
    agent::take_errors(&scene)?;
    let is_well = !enabled || view.agents.iter().all(works);
    if context.ui.options().json {
        context.ui.json(&view)?;
    } else if context.ui.options().quiet == 0 {
        context.ui.data(view.text(scene.now));
        if !enabled {
            context.ui.hint("Agents", "turn it on: git checkpoint enable");
        }
    }
    if is_well {
        Ok(())
    } else {
        Err(CommandError::silent(FailureKind::Negative))
    }
}

fn row(
    context: &Context,
    opened: &OpenedRepository,
    adapter: &Adapter,
    program: &str,
    bindings: &[Binding],
) -> Result<AgentRow, CommandError> {
    let path = path(context, adapter)?;
    let (hooks, reason) = match setup::state(adapter, &path, program) {
        HooksState::Installed => ("installed", None),
        HooksState::Incomplete(reason) => ("incomplete", Some(reason)),
        HooksState::Absent => ("absent", None),
        HooksState::Broken(reason) => ("broken", Some(reason)),
    };
    let own = || bindings.iter().filter(|binding| binding.agent == adapter.name);
    let event = |binding: &Binding, event: &LastEvent| AgentEventRow {
        occasion: event.occasion.clone(),
        at: event.at,
        outcome: event.outcome.clone(),
        detail: event.detail.clone(),
        took_ms: event.took,
        session: binding.session.as_ref().map(|session| session.name.to_string()),
    };
    let last = own().find_map(|binding| Some(event(binding, binding.last.as_ref()?)));
    let failed = own().find_map(|binding| Some(event(binding, binding.error.as_ref()?)));
    let installed = find_program(context, adapter.program);
    let place = TrustPlace {
        file: &path,
        directory: path
            .ancestors()
            .nth(Path::new(adapter.file).components().count())
            .unwrap_or(&path),
        root: store::work_tree(opened.scene().repo)?,
        trusts_all: context.env.text("GEMINI_CLI_TRUST_WORKSPACE").as_deref() == Some("true"),
    };
    let trust = (hooks == "installed")
        .then(|| trust::missing(adapter, &place))
        .flatten();
    Ok(AgentRow {
        agent: adapter.name,
        title: adapter.title,
        version: installed.as_deref().and_then(version::of_program),
        program: installed.map(|path| path.display().to_string()),
        file: path.display().to_string(),
        hooks,
        reason,
        trust,
        // The event that is shown as the last one is not said twice.
        error: failed.filter(|failed| last.as_ref().is_none_or(|last| last.at != failed.at)),
        last,
    })
}

/// The agent's file of hooks.
fn path(context: &Context, adapter: &Adapter) -> Result<PathBuf, CommandError> {
    let Some(home) = context.env.home() else {
        return Err(CommandError::new(
            FailureKind::Fatal,
            "HOME is not set, so the agents' settings cannot be found",
        ));
    };
    let moved = adapter.variable.and_then(|name| context.env.text(name));
    Ok(adapter.path(home, moved.as_deref()))
}

/// Whether the agent is there: its program in PATH, or its directory of settings.
fn is_found(context: &Context, adapter: &Adapter) -> bool {
    let directory = || {
        let path = path(context, adapter).ok()?;
        let directory = path.ancestors().nth(Path::new(adapter.file).components().count())?;
        Some(directory.is_dir())
    };
    find_program(context, adapter.program).is_some() || directory() == Some(true)
}

/// An agent with its program.
fn installed(context: &Context, adapter: &'static Adapter) -> agent_servers::InstalledAgent {
    (adapter, find_program(context, adapter.program))
}

fn find_program(context: &Context, name: &str) -> Option<PathBuf> {
    let path = context.env.variable("PATH")?;
    std::env::split_paths(path)
        .flat_map(|directory| os::program_names(name).map(move |name| directory.join(name)))
        .find(|path| path.is_file())
}

/// The path of this program for the hooks: the name in PATH that leads to it, since that one stays when the program is
/// updated; else its own path.
fn program(context: &Context) -> Result<String, CommandError> {
    let Some(own) = context.env.program.clone() else {
        return Err(CommandError::new(
            FailureKind::Fatal,
            "cannot find the path of this program",
        ));
    };
    let own = os::real_path(&own).unwrap_or(own);
    let in_path = find_program(context, "git-checkpoint")
        .filter(|path| path.is_absolute() && os::real_path(path).is_ok_and(|found| found == own));
    let path = in_path.unwrap_or(own);
    path.into_os_string().into_string().map_err(|path| {
        CommandError::new(
            FailureKind::Fatal,
            format!("the path of this program is not UTF-8: {}", path.display()),
        )
    })
}
