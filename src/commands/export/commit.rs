//! `export --commit`: the files of a checkpoint as a plain commit.

use super::{
    super::{
        Context,
        error::CommandError,
        failure,
        opening::{self, IdentityArgs},
    },
    Args,
};
use crate::{model::step::quoted, ops::export_commit, render::exported_commit::ExportedCommit, store::checkpoint::oid};

/// Makes a plain commit of the checkpoint's files.
pub(super) fn commit(args: &Args, branch: &str, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let selector = failure::selector(&args.selector)?;
    let made = export_commit::commit(&opened.scene(), &selector, branch, args.message.as_deref())?;
    let view = ExportedCommit {
        id: oid(made.id),
        branch: made.branch,
        parent: made.parent,
        checkpoint: oid(made.selected.checkpoint.entry.id),
        session: made.selected.session.map(|session| session.to_string()),
        store: made.store.map(|store| store.display().to_string()),
    };
    if let Some(store) = &view.store {
        let refspec = quoted(&format!("{0}:{0}", view.branch));
        context.ui.warning(&format!(
            "the repository cannot be written, so the branch is only in the store; fetch it where the repository can \
             be written: git fetch {} {refspec}",
            quoted(store)
        ));
    }
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    if context.ui.options().quiet == 0 {
        context.ui.data(view.text());
    }
    Ok(())
}
