//! `git checkpoint setup`: manual pages next to the program, so that `git checkpoint --help` opens one, and completion
//! for the shells. Nothing else of the machine is touched, and `--uninstall` takes all of it back.
//!
//! Everything is made from the command's own definition, which comes in as an argument: a new command needs no line here.

mod completion;
mod guides;
mod html;
mod install;
mod man;
mod value_source;

use std::ffi::OsString;
use std::path::PathBuf;

use self::completion::{Shell, candidates, lines};
use self::install::{InstallAction, InstallPaths, InstallStep};
use super::Context;
use super::environment::Environment;
use super::error::{CommandError, FailureKind};
use super::ui::Ui;
use crate::os;
use crate::render::count::CountedNoun;
use crate::render::setup::{SetupReceipt, SetupRow};

/// Part of the set-up: manual pages, completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SetupTarget {
    /// manual pages, which `--help` opens
    Man,
    /// completion of `git checkpoint <TAB>`
    Completion,
    /// pages that `git help --web checkpoint` opens, among git's own; only when named
    Html,
}

/// Install manual pages and shell completion
///
/// Writes the manual pages next to the program, where `man` finds them, and the completion of `git checkpoint <TAB>`
/// for bash, zsh and fish into your home. Only files that this command wrote are replaced or removed, so it may be run
/// again after each update.
///
/// zsh looks there after 'fpath=(~/.local/share/zsh/site-functions $fpath)' in ~/.zshrc, before compinit.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Args {
    /// Parts to set up; everything if left out
    #[arg(value_name = "WHAT")]
    what: Vec<SetupTarget>,
    /// Only for this shell; repeatable
    #[arg(long, value_name = "SHELL")]
    shell: Vec<Shell>,
    /// Install below this directory for all users, such as /usr/local
    #[arg(long, value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    prefix: Option<PathBuf>,
    /// Remove what was installed
    #[arg(long)]
    uninstall: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Write the completion of one shell to standard output instead of a file
    #[arg(long, requires = "shell", conflicts_with_all = ["uninstall", "dry_run", "prefix"])]
    print: bool,
    /// Completion for shells: candidates for the word at this place
    #[arg(long, hide = true, value_name = "INDEX", conflicts_with_all = ["uninstall", "dry_run", "prefix", "print", "shell"])]
    candidates: Option<usize>,
    /// The words so far
    #[arg(last = true, hide = true, value_name = "WORD")]
    words: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  git checkpoint setup
  git checkpoint setup man
  sudo git checkpoint setup html
  git checkpoint setup completion --shell zsh
  git checkpoint setup --uninstall --dry-run
  git checkpoint setup completion --shell bash --print \\
    >~/.bash_completion.d/git-checkpoint";

/// Runs it.
///
/// # Errors [`FailureKind::Refused`] when a file is in the way that this program did not write; the others are
/// installed even so.
pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let Context { env, ui, .. } = context;
    let command = super::program(env);
    if let Some(index) = args.candidates {
        let found = candidates(&command, args.words, index, &env.cwd, &value_source::live(env));
        ui.bytes(lines(&found).as_bytes());
        return Ok(());
    }
    if args.print {
        args.shell.iter().for_each(|shell| ui.bytes(shell.script().as_bytes()));
        return Ok(());
    }
    let steps = plan(&args, &command, env)?;
    if !args.dry_run {
        steps.iter().try_for_each(InstallStep::run)?;
        // Directories below a prefix belong to the system, and those of HTML pages to git.
        if args.prefix.is_none() && !args.what.contains(&SetupTarget::Html) {
            install::remove_empty_directories(&steps);
        }
        os::trace::changed();
    }
    let file = |step: &InstallStep| SetupRow {
        path: step.path.display().to_string(),
        action: step.action.word(),
    };
    ui.report(&SetupReceipt {
        dry_run: args.dry_run,
        is_removal: args.uninstall,
        files: steps.iter().map(file).collect(),
    })?;
    let foreign: Vec<&InstallStep> = steps.iter().filter(|s| s.action == InstallAction::Foreign).collect();
    let Some(first) = foreign.first() else {
        hints(&args, &steps, env, ui);
        return Ok(());
    };
    let count = CountedNoun::new(foreign.len(), "file");
    let verb = if args.uninstall { "remove" } else { "replace" };
    Err(CommandError::new(
        FailureKind::Refused,
        format!(
            "will not {verb} {count} that 'git checkpoint setup' did not write, such as '{}'",
            first.path.display()
        ),
    )
    .hint("move it and run the command again"))
}

/// Steps of the set-up, in the order in which they are reported.
fn plan(args: &Args, command: &clap::Command, env: &Environment) -> Result<Vec<InstallStep>, CommandError> {
    let places = InstallPaths::new(env, args.prefix.clone());
    let wanted = |target| args.what.is_empty() && target != SetupTarget::Html || args.what.contains(&target);
    let step = |path, content| {
        if args.uninstall {
            InstallStep::remove(path)
        } else {
            InstallStep::install(path, content)
        }
    };
    let mut out = Vec::new();
    // A shell that is named asks for its completion only.
    if wanted(SetupTarget::Man) && (args.shell.is_empty() || !args.what.is_empty()) {
        let directory = places.man()?;
        let version = command.get_version().unwrap_or(env!("CARGO_PKG_VERSION"));
        for page in man::pages(command).into_iter().chain(guides::pages(version)) {
            let section = page.file.rsplit('.').next().unwrap_or("1");
            out.push(step(
                directory.join(format!("man{section}")).join(&page.file),
                page.text,
            )?);
        }
    }
    if wanted(SetupTarget::Html) {
        let directory = places.html()?;
        for page in html::pages(command) {
            out.push(step(directory.join(&page.file), page.text)?);
        }
    }
    if wanted(SetupTarget::Completion) {
        for shell in Shell::ALL
            .into_iter()
            .filter(|s| args.shell.is_empty() || args.shell.contains(s))
        {
            out.push(step(places.completion(shell)?, shell.script().to_owned())?);
        }
    }
    Ok(out)
}

/// Hints about settings that the user's shell may need to find the files.
fn hints(args: &Args, steps: &[InstallStep], env: &Environment, ui: &Ui) {
    if args.uninstall || args.dry_run {
        return;
    }
    let directories: Vec<PathBuf> = env
        .variable("PATH")
        .map(|p| std::env::split_paths(p).collect())
        .unwrap_or_default();
    let page = steps.iter().find(|s| s.path.extension().is_some_and(|e| e == "1"));
    let beside = page
        .and_then(|s| s.path.ancestors().nth(4))
        .map(|base| base.join("bin"));
    if let Some(beside) = beside
        && args.prefix.is_none()
        && !directories.iter().any(|f| f.parent() == beside.parent())
    {
        ui.warning(&format!(
            "no directory next to '{}' is in PATH, so man does not find the pages",
            beside.display()
        ));
    }
    let zsh = steps
        .iter()
        .find(|s| s.path.ends_with(Shell::Zsh.file()))
        .and_then(|s| s.path.parent());
    if let Some(directory) = zsh
        && args.prefix.is_none()
    {
        ui.hint(
            "Setup",
            &format!(
                "zsh looks there after this line in ~/.zshrc, before compinit:\n  fpath=({} $fpath)",
                directory.display()
            ),
        );
    }
}
