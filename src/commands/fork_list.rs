//! `fork --list` and `fork --remove`: the forks of a repository and their working trees.

use std::path::PathBuf;

use super::{
    Context,
    error::{CommandError, FailureKind},
    opening::{self, IdentityArgs, OpenedRepository},
    session_word::SessionWord,
};
use crate::{
    model::path::RepoPath,
    ops::fork::{list as forks, unfinished},
    os,
    render::{
        forks::{ForkListRow, ForkRemovalView, ForksView},
        text::TextLine,
    },
    store::{self, checkpoint::oid},
};

/// Warns of forks that were cut off, and names the command that completes them.
pub(super) fn warn_unfinished(context: &Context, opened: &OpenedRepository) {
    for note in unfinished::all(&opened.scene()).unwrap_or_default() {
        context.ui.warning(&format!(
            "the working tree of fork '{0}' is not complete; finish it: git checkpoint fork --continue {0}",
            note.session
        ));
    }
}

/// Refuses to save this working tree if it is that of a fork that was cut off, and to merge such a fork: files that are not
/// there yet would count as deleted.
pub(super) fn refuse_unfinished(opened: &OpenedRepository, merged: Option<&str>) -> Result<(), CommandError> {
    let scene = opened.scene();
    let here = store::work_tree(scene.repo)
        .ok()
        .and_then(|path| path.canonicalize().ok());
    let is_meant = |note: &unfinished::ForkNote| {
        if let Some(name) = merged {
            return note.session.as_str() == name;
        }
        let path = PathBuf::from(os::os_string(note.path.as_bytes()));
        here.is_some() && path.canonicalize().ok() == here
    };
    let Some(note) = unfinished::all(&scene)?.into_iter().find(is_meant) else {
        return Ok(());
    };
    let name = &note.session;
    let error = CommandError::new(
        FailureKind::Refused,
        format!("the working tree of fork '{name}' is not complete"),
    );
    Err(error.hint(format!("finish it: git checkpoint fork --continue {name}")))
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
        worktree: fork.worktree.as_ref().map(|path| path.display().to_string()),
    };
    let view = ForksView {
        forks: forks.iter().map(row).collect(),
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    if view.forks.is_empty() {
        context.ui.status(TextLine::plain("there are no forks"));
    } else {
        context.ui.data(view.text(context.ui.table_width()));
    }
    Ok(())
}

/// Removes the working tree of a fork.
pub(super) fn remove(session: &SessionWord, force: bool, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let name = session.resolved(&opened.scene())?;
    let removed = forks::remove_worktree(&opened.scene(), &name, force)?;
    let view = ForkRemovalView {
        session: removed.session.to_string(),
        path: removed.path.display().to_string(),
        saved: oid(removed.saved),
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
