//! The repositories in which sessions were saved: noted when something is saved, and gone through with `--all-repos`.

use std::path::{Path, PathBuf};

use super::{
    Context,
    environment::Environment,
    error::{CommandError, FailureKind},
    opening::{self, IdentityArgs, OpenedRepository},
};
use crate::{
    model::step::quoted,
    ops::{
        list::{self, SessionFilter},
        repositories::{self, RepositoryList},
    },
    store::{self, checkpoint::CheckpointCommit},
};

/// Repositories in which a session is looked for, for a hint.
const PROPOSED: usize = 50;

/// Sessions that a hint proposes.
const SHOWN: usize = 3;

/// The list of this user; `None` without a home.
pub(super) fn of_user(env: &Environment) -> Option<RepositoryList> {
    let state = env
        .variable("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(env.home()?.join(".local/state")))?;
    Some(RepositoryList::below(&state))
}

/// Notes the repository that a command changed. That it cannot be noted is no failure of the command.
pub(super) fn note(context: &Context) {
    let (Some(visited), Some(list)) = (&context.visited, of_user(&context.env)) else {
        return;
    };
    // Files of ours in a repository of the home directory would be the user's changes.
    if list.is_below(&visited.directory) {
        return;
    }
    let noted = if visited.is_listed {
        list.note(&visited.directory)
    } else {
        list.forget(std::slice::from_ref(&visited.directory))
    };
    if let Err(error) = noted {
        context.ui.detail(1, error.to_string());
    }
}

/// Calls a function with every repository of the list that is still there, the one noted last first. What is not there
/// any more is reported and forgotten.
pub(super) fn each(
    context: &mut Context,
    mut each: impl FnMut(&mut Context, &Path, &OpenedRepository) -> Result<bool, CommandError>,
) -> Result<(), CommandError> {
    let Some(list) = of_user(&context.env) else {
        return Ok(());
    };
    let mut gone = Vec::new();
    for directory in list.read()?.into_iter().rev() {
        match open(context, &directory) {
            Ok(Some(opened)) => match each(context, &directory, &opened) {
                Ok(true) => {}
                Ok(false) => break,
                // What is wrong with the call is wrong everywhere.
                Err(error) if matches!(error.kind(), FailureKind::Usage | FailureKind::Interrupted) => {
                    return Err(error);
                }
                Err(error) => context.ui.warning(&format!(
                    "cannot read {}: {error}",
                    quoted(&directory.to_string_lossy())
                )),
            },
            Ok(None) => {
                context.ui.warning(&format!(
                    "{} is no longer a repository and was removed from the list",
                    quoted(&directory.to_string_lossy())
                ));
                gone.push(directory);
            }
            Err(error) => context.ui.warning(&format!(
                "cannot read {}: {error}",
                quoted(&directory.to_string_lossy())
            )),
        }
    }
    Ok(list.forget(&gone)?)
}

/// The repository at a directory; `None` when there is none any more.
fn open(context: &Context, directory: &Path) -> Result<Option<OpenedRepository>, CommandError> {
    if !directory.is_dir() {
        return Ok(None);
    }
    let env = context.env.elsewhere(directory.to_owned());
    if let Err(store::Error::NotARepository { .. } | store::Error::NoHead { .. }) = store::open(&opening::place(&env)) {
        return Ok(None);
    }
    let opened = opening::at(&env, &IdentityArgs::default(), env.now)?;
    // Without its own repository, a directory may lie in another one.
    let is_it = repositories::directory_of(opened.scene().repo) == directory;
    Ok(is_it.then_some(opened))
}

/// Hints where a session of this name is, or without a name where the latest sessions of other repositories are.
pub(super) fn proposals(context: &mut Context, name: Option<&str>) -> Vec<String> {
    let mut found: Vec<(CheckpointCommit, String)> = Vec::new();
    let here = context.visited.as_ref().map(|visited| visited.directory.clone());
    let Some(list) = of_user(&context.env) else {
        return Vec::new();
    };
    let Ok(all) = list.read() else { return Vec::new() };
    for directory in all
        .into_iter()
        .rev()
        .take(PROPOSED)
        .filter(|path| Some(path) != here.as_ref())
    {
        let Ok(Some(opened)) = open(context, &directory) else {
            continue;
        };
        let Ok(rows) = list::sessions(&opened.scene(), &SessionFilter::default()) else {
            continue;
        };
        for row in rows {
            let is_wanted = name.is_none_or(|name| row.name == name);
            if let (true, Ok((tip, standing))) = (is_wanted, row.tip)
                && !(name.is_none() && matches!(standing.word(), "completed" | "failed"))
            {
                let path = quoted(&directory.to_string_lossy());
                found.push((tip, format!("cd {path} && git checkpoint resume {}", row.name)));
            }
        }
    }
    found.sort_by_key(|row| std::cmp::Reverse(row.0.time));
    found.into_iter().take(SHOWN).map(|(_, command)| command).collect()
}
