//! Git's own hooks, added by `enable` next to those of agents.

use super::{
    Context,
    error::{CommandError, FailureKind},
    opening::OpenedRepository,
};
use crate::{
    model::hook::Hook,
    os,
    store::hooks::{self, Manager},
};

/// Adds the default hooks, where nothing is against it, and gives their names.
pub(super) fn add_default(
    opened: &OpenedRepository,
    context: &Context,
    dry_run: bool,
) -> Result<Vec<&'static str>, CommandError> {
    let repo = opened.scene().repo;
    crate::store::work_tree(repo)?;
    let directory = hooks::directory(repo);
    let refused = |message: String| Err(CommandError::new(FailureKind::Refused, message));
    if let Some(manager) = hooks::manager(repo).filter(|manager| *manager != Manager::PreCommit) {
        return refused(format!(
            "{} manages them; see: git checkpoint hooks install",
            manager.name()
        ));
    }
    if directory.is_off {
        let directory = directory.path.display();
        return refused(format!("git runs none here: core.hooksPath is '{directory}'"));
    }
    if directory.is_shared || !hooks::tracked(repo, &directory.path)?.is_empty() {
        let directory = directory.path.display();
        return refused(format!("'{directory}' is not of this repository alone, or is tracked"));
    }
    let Some(program) = context.env.program.clone() else {
        return refused("the path of this program is unknown".to_owned());
    };
    if !dry_run {
        hooks::note_program(repo, &program)?;
    }
    for hook in Hook::DEFAULT {
        hooks::install(repo, hook, dry_run)?;
        if !dry_run {
            os::trace::changed();
        }
    }
    Ok(Hook::DEFAULT.iter().map(|hook| hook.name()).collect())
}
