//! Warnings of files that a checkpoint has otherwise than a person expects.

use super::Context;
use crate::{model::step::quoted, ops::receipt::CheckpointReceipt, render::count::CountedNoun, store::checkpoint::oid};

/// How many paths the command of a warning has at most.
const TAKEN_BACK: usize = 10;

/// Warns of paths that a restore refuses, and of pulled changes that are not in the files.
pub(super) fn warn(context: &Context, receipt: &CheckpointReceipt) {
    if let Some((one, other)) = &receipt.alike {
        context.ui.warning(&format!(
            "'{one}' and '{other}' are alike and core.ignoreCase is set, so a restore refuses both; if the file system \
             distinguishes them: git config core.ignoreCase false"
        ));
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
