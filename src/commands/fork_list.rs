//! `fork --list` and `fork --remove`: the forks of a repository and their working trees.

use super::{
    Context,
    error::CommandError,
    opening::{self, IdentityArgs, OpenedRepository},
    restore_report::with_progress,
    session_word::SessionWord,
};
use crate::{
    model::path::RepoPath,
    ops::{
        fork::{list as forks, remove},
        fork_notes,
    },
    render::forks::{ForkListRow, ForkRemovalView, ForksView},
    store::checkpoint::oid,
};

/// Warns of forks that were cut off, and names the command that completes them.
pub(super) fn warn_unfinished(context: &Context, opened: &OpenedRepository) {
    let notes = fork_notes::all(&opened.scene()).unwrap_or_default();
    for note in notes.iter().filter(|note| note.setup.is_none()) {
        let session = &note.session;
        context.ui.warning(&if note.removal.is_some() {
            format!(
                "the removal of fork '{session}' was cut off; finish it: git checkpoint fork --remove {session}, or bring \
                 its files back: git checkpoint fork --continue {session}"
            )
        } else {
            format!(
                "the working tree of fork '{session}' is not complete; finish it: git checkpoint fork --continue {session}"
            )
        });
    }
}

/// Lists the forks.
pub(super) fn list(context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    warn_unfinished(context, &opened);
    let forks = forks::all(&opened.scene())?;
    let row = |fork: &forks::ForkSummary| ForkListRow {
        session: fork.session.to_string(),
        source: fork.source.to_string(),
        option: fork.option.clone(),
        status: fork.status.word(),
        id: oid(fork.id),
        subject: fork.subject.clone(),
        checkpoints: fork.checkpoints,
        changed: fork.changed.iter().map(RepoPath::quoted).collect(),
        unsaved: fork.unsaved,
        failed_setup: fork.failed_setup,
        worktree: fork.worktree.as_ref().map(|path| path.display().to_string()),
    };
    let view = ForksView {
        forks: forks.iter().map(row).collect(),
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    for fork in forks.iter().filter(|fork| fork.failed_setup.is_some()) {
        context.ui.warning(&format!(
            "the set-up command of fork '{0}' failed; run it again: git checkpoint fork --continue {0}",
            fork.session
        ));
    }
    if view.forks.is_empty() {
        context.ui.status("No forks found.");
    } else {
        context.ui.data(view.text(context.ui.table_width()));
    }
    Ok(())
}

/// Removes the working tree of a fork.
pub(super) fn remove(session: &SessionWord, force: bool, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let name = session.resolved(&opened.scene())?;
    let removed = with_progress(context, |progress| {
        Ok(remove::remove_worktree(&opened.scene(), &name, force, progress)?)
    })?;
    let branch = removed.branch.as_deref();
    let kept = branch.map(|branch| crate::store::branches::deletion(opened.scene().repo, branch));
    let view = ForkRemovalView {
        session: removed.session.to_string(),
        path: removed.path.display().to_string(),
        saved: oid(removed.saved),
        is_unmerged: kept.is_some_and(|kept| kept.is_refused),
        only_there: kept.map_or(0, |kept| kept.only_there),
        branch: removed.branch,
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    if context.ui.options().quiet == 0 {
        context.ui.data(view.text());
    }
    Ok(())
}
