//! The repository a command works in, and the scene for its operation.

use std::path::{Path, PathBuf};

use super::{
    Context,
    environment::Environment,
    error::{CommandError, FailureKind},
    session_word::{SessionWord, invalid_name},
    visited::VisitedRepository,
};
use crate::{
    model::{name::ShortName, path::RepoPath, step::quoted, time::Timestamp},
    ops::{CheckpointCache, Scene},
    os,
    render::count::CountedNoun,
    store::{self, HeadlessRepository, Repository, config::Settings},
};

/// An opened repository with everything a scene refers to.
pub(super) struct OpenedRepository {
    /// Always there, but when this is dropped.
    repo: Option<Repository>,
    /// Nothing comes after it, so that the system may take the repository down: gix' many small tables take a tenth of
    /// what a change of the draft takes.
    is_last: bool,
    pub(super) settings: Settings,
    host: String,
    agent: Option<String>,
    session: Option<ShortName>,
    session_is_of_environment: bool,
    home: Option<PathBuf>,
    index: Option<PathBuf>,
    now: Timestamp,
    seen: CheckpointCache,
    /// The path of this program, for work in the background.
    pub(super) program: Option<PathBuf>,
}

/// Warns of sessions that are only in the store of `checkpoint.store`, which is not read while the repository can be written.
pub(super) fn warn_of_store(context: &Context, opened: &OpenedRepository) -> Result<(), CommandError> {
    if store::read_only_directory(opened.repo()).is_some() {
        return Ok(());
    }
    if let Some(store) = store::elsewhere::forgotten(opened.repo())? {
        let path = store.path.display().to_string();
        let what = CountedNoun::new(store.sessions.len(), "session");
        context.ui.warning(&format!(
            "{what} in '{}' with checkpoints that are not here: {}; to take over what is there: git checkpoint unbundle {}",
            path.escape_debug(),
            store.sessions.join(", ").escape_debug(),
            quoted(&path)
        ));
    }
    Ok(())
}

/// Help of the option for a session.
pub(super) const SESSION_HELP: &str = "The session to use instead of the current one";

/// Help of the option for an agent.
pub(super) const AGENT_HELP: &str = "The agent that does the work";

/// Options that name the person, agent and session; the environment supplies the others.
#[derive(Debug, Default, clap::Args)]
pub(super) struct IdentityArgs {
    #[arg(long, value_name = "NAME", help = SESSION_HELP)]
    pub(super) session: Option<SessionWord>,
    #[arg(long, value_name = "NAME", help = AGENT_HELP)]
    pub(super) agent: Option<String>,
}

impl Drop for OpenedRepository {
    fn drop(&mut self) {
        if self.is_last {
            std::mem::forget(self.repo.take());
        }
    }
}

impl OpenedRepository {
    fn repo(&self) -> &Repository {
        self.repo.as_ref().expect("it is taken where this is dropped")
    }

    /// Reads the working tree's own index, whatever `GIT_INDEX_FILE` names.
    pub(super) fn forget_index(&mut self) {
        self.index = None;
    }

    /// Uses this session, whichever was named or is current.
    pub(super) fn use_session(&mut self, session: Option<&ShortName>) {
        if let Some(name) = session {
            self.session = Some(name.clone());
            self.session_is_of_environment = false;
        }
    }

    /// The option that names the session, where it was named, for a command line that means the same.
    pub(super) fn session_option(&self) -> String {
        let named = self.session.as_ref();
        named.map_or_else(String::new, |name| format!(" --session {name}"))
    }

    /// Parameters of operations.
    pub(super) fn scene(&self) -> Scene<'_> {
        Scene {
            repo: self.repo(),
            settings: &self.settings,
            now: self.now,
            host: &self.host,
            agent: self.agent.as_deref(),
            session: self.session.as_ref(),
            session_is_of_environment: self.session_is_of_environment,
            home: self.home.as_deref(),
            index: self.index.as_deref(),
            wait: self.settings.lock_timeout,
            seen: &self.seen,
        }
    }
}

/// Opens the repository that the environment means, and lets the output follow its settings.
pub(super) fn open(context: &mut Context, whom: &IdentityArgs) -> Result<OpenedRepository, CommandError> {
    let mut opened = at(&context.env, whom, context.env.now)?;
    opened.is_last = context.is_last;
    // As the command found it: some open it once more when they are done.
    let scene = opened.scene();
    context.visited.get_or_insert_with(|| VisitedRepository::of(&scene));
    let lookup = store::config::lookup(opened.repo());
    context.ui.remember_hints(store::hints::Hints::of(opened.repo()));
    for problem in context.ui.configure(lookup) {
        context.ui.warning(&problem);
    }
    Ok(opened)
}

/// Opens the repository that the environment means where that has lost its HEAD, to read what was saved in it; `None`
/// where something else is wrong.
pub(super) fn headless(context: &Context) -> Result<Option<(OpenedRepository, HeadlessRepository)>, CommandError> {
    let Some((repo, headless)) = store::open_headless(&place(&context.env))? else {
        return Ok(None);
    };
    let opened = with(repo, &context.env, &IdentityArgs::default(), context.env.now)?;
    Ok(Some((opened, headless)))
}

/// Whether there is no repository at all.
pub(super) fn is_outside(context: &Context) -> bool {
    matches!(
        store::open(&place(&context.env)),
        Err(store::Error::NotARepository { .. })
    )
}

/// The current directory, relative to the root of the working tree; the root if it is outside.
pub(super) fn directory(context: &Context, opened: &OpenedRepository) -> Result<RepoPath, CommandError> {
    let root = store::work_tree(opened.scene().repo)?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let cwd = real(&context.env.cwd);
    let below = cwd.strip_prefix(real(root)).unwrap_or(Path::new(""));
    Ok(RepoPath::new(below.as_os_str().as_encoded_bytes()))
}

/// The directory and the variables that a repository is found by.
pub(super) fn place(env: &Environment) -> store::OpenEnvironment {
    store::OpenEnvironment {
        cwd: env.cwd.clone(),
        is_elsewhere: env.is_elsewhere,
        ignores_index: env.is_within_commit,
        encrypted: env.encrypted.clone(),
        vars: env
            .variables()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
    }
}

/// The repository that the environment means. A front end serves one: should that go away, none around it is taken for it.
fn found(env: &Environment) -> Result<Repository, store::Error> {
    let repo = store::open(&place(env))?;
    match env.served.as_ref().filter(|served| env.cwd.starts_with(served)) {
        Some(served) if top(&repo).as_ref() != Some(served) => {
            Err(store::Error::NotARepository { start: env.cwd.clone() })
        }
        _ => Ok(repo),
    }
}

/// The directory of the working tree, else of the repository.
fn top(repo: &Repository) -> Option<PathBuf> {
    let top = store::work_tree(repo).unwrap_or_else(|_| repo.git_dir());
    os::real_path(top).ok()
}

/// The same surroundings for a front end, which serves the repository that they mean and no other one.
pub(super) fn served(env: &Environment) -> Environment {
    let mut out = env.clone();
    out.served = store::open(&place(env)).ok().and_then(|repo| top(&repo));
    out
}

/// Opens the repository that the environment means, at a time: again, for a command that runs for long.
pub(super) fn at(env: &Environment, whom: &IdentityArgs, now: Timestamp) -> Result<OpenedRepository, CommandError> {
    with(found(env)?, env, whom, now)
}

/// The repository with what the environment and the options say.
fn with(
    repo: Repository,
    env: &Environment,
    whom: &IdentityArgs,
    now: Timestamp,
) -> Result<OpenedRepository, CommandError> {
    let settings = Settings::read(&repo)?;
    let of_environment = env.text("CHECKPOINT_SESSION").filter(|_| whom.session.is_none());
    let in_environment = |error: CommandError| error.hint("it comes from the environment variable CHECKPOINT_SESSION");
    let session = match (&whom.session, &of_environment) {
        (Some(word), _) => Some(word.clone()),
        (None, Some(text)) => Some(
            text.parse::<SessionWord>()
                .map_err(|error| in_environment(invalid_name(&error)))?,
        ),
        (None, None) => None,
    };
    let agent = whom.agent.clone().or_else(|| env.text("CHECKPOINT_AGENT"));
    let index = env.variable("GIT_INDEX_FILE").map(|path| env.cwd.join(path));
    let home = env.home().map(Path::to_owned);
    if let Some(date) = &env.unreadable_date {
        let message = format!("GIT_COMMITTER_DATE '{date}' is not a date");
        return Err(CommandError::new(FailureKind::Usage, message).hint("use a form such as 2026-11-27T12:00:00+01:00"));
    }
    let mut opened = OpenedRepository {
        host: os::host_name(),
        repo: Some(repo),
        is_last: false,
        settings,
        agent,
        session_is_of_environment: of_environment.is_some(),
        session: None,
        home,
        index,
        now,
        seen: CheckpointCache::default(),
        program: env.program.clone(),
    };
    let name = session.map(|word| word.resolved(&opened.scene())).transpose();
    opened.session = name.map_err(|error| {
        if of_environment.is_some() {
            in_environment(error)
        } else {
            error
        }
    })?;
    Ok(opened)
}
