//! Warnings of files that a checkpoint has otherwise than a person expects.

use super::Context;
use crate::{
    model::{document::CheckpointKind, path::RepoPath, step::quoted},
    ops::receipt::CheckpointReceipt,
    render::count::CountedNoun,
    store::checkpoint::oid,
};

/// How many paths the command of a warning has at most.
const TAKEN_BACK: usize = 10;

/// How many paths are named.
const NAMED: usize = 3;

/// The warning of saved changes that a checkpoint is without.
fn unapplied(before: &str, paths: &[RepoPath]) -> String {
    let mut named: Vec<_> = paths.iter().take(NAMED).map(RepoPath::quoted).collect();
    if paths.len() > NAMED {
        named.push(format!("{} more", paths.len() - NAMED));
    }
    let are = if paths.len() == 1 { "is" } else { "are" };
    format!(
        "{} of {before} {are} not in these files ({}), so this checkpoint is without them; bring them back: git checkpoint \
         apply {before} --index",
        CountedNoun::new(paths.len(), "saved change"),
        named.join(", "),
    )
}

/// Warns of paths that a restore refuses, and of pulled changes that are not in the files.
pub(super) fn warn(context: &Context, receipt: &CheckpointReceipt) {
    if let Some((one, other)) = &receipt.alike {
        context.ui.warning(&format!(
            "'{one}' and '{other}' are alike and core.ignoreCase is set, so a restore refuses both; if the file system \
             distinguishes them: git config core.ignoreCase false"
        ));
    }
    let conflicts = receipt.document.record.conflicts.len();
    if conflicts > 0 && receipt.kind() == CheckpointKind::Finish {
        let conflicts = CountedNoun::new(conflicts, "conflict");
        context.ui.warning(&format!(
            "the session ends with {conflicts} of the record; see: git checkpoint conflict --session {}",
            receipt.session
        ));
    }
    if let Some(before) = receipt.parent.filter(|_| !receipt.unapplied.is_empty()) {
        context.ui.warning(&unapplied(oid(before).short(), &receipt.unapplied));
    }
    let Some(pulled) = receipt.parent.filter(|_| !receipt.taken_back.is_empty()) else {
        return;
    };
    let paths = &receipt.taken_back;
    let shown: Vec<_> = paths
        .iter()
        .take(TAKEN_BACK)
        .map(|path| quoted(&path.quoted()))
        .collect();
    let (files, are) = (
        CountedNoun::new(paths.len(), "file"),
        if paths.len() == 1 { "is" } else { "are" },
    );
    let id = oid(pulled);
    let advice = if paths.len() > shown.len() {
        format!("see them: git checkpoint diff --name-status {}", id.short())
    } else {
        let paths = shown.join(" ");
        format!(
            "get them, then save again: git checkpoint restore {} -- {paths}",
            id.short()
        )
    };
    context.ui.warning(&format!(
        "{files} {are} as before the pull, so this checkpoint takes pulled changes back; {advice}"
    ));
}
