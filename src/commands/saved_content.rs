//! Warnings of files that a checkpoint has otherwise than a person expects.

use super::Context;
use crate::{
    model::{document::CheckpointKind, path::RepoPath, step::quoted},
    ops::{
        Scene,
        receipt::{CheckpointReceipt, StalePath},
    },
    render::count::CountedNoun,
    store::{self, checkpoint::oid},
};

/// How many paths the command of a warning has at most.
const TAKEN_BACK: usize = 10;

/// How many paths are named.
pub(super) const NAMED: usize = 3;

/// The warning of saved changes that a checkpoint is without.
fn unapplied(before: &str, paths: &[RepoPath]) -> String {
    let are = if paths.len() == 1 { "is" } else { "are" };
    format!(
        "{} of {before} {are} not in these files ({}), so this checkpoint is without them; bring them back: git checkpoint \
         apply {before} --index",
        CountedNoun::new(paths.len(), "saved change"),
        named(paths),
    )
}

/// Warns of environment files that git tracks: what is untracked would be left out.
pub(super) fn warn_environment(context: &Context, receipt: &CheckpointReceipt) {
    let paths = &receipt.environment;
    if paths.is_empty() {
        return;
    }
    let is_one = paths.len() == 1;
    let (has, is, it) = if is_one {
        ("has", "is", "it")
    } else {
        ("have", "are", "them")
    };
    context.ui.warning(&format!(
        "{} {has} values and {is} tracked by git, so the checkpoint has {it}, and a push publishes {it}",
        named(paths)
    ));
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
            "the session ends with {conflicts} of the record; see: git checkpoint conflict list --session {}",
            receipt.session
        ));
    }
    if let Some(before) = receipt.parent.filter(|_| !receipt.unapplied.is_empty()) {
        context.ui.warning(&unapplied(oid(before).short(), &receipt.unapplied));
    }
    let Some(pulled) = receipt.parent.filter(|_| !receipt.taken_back.is_empty()) else {
        return;
    };
    context
        .ui
        .warning(&taken_back(oid(pulled).short(), &receipt.taken_back));
}

/// The warning of pulled changes that a checkpoint is without.
fn taken_back(pulled: &str, paths: &[StalePath]) -> String {
    let files = CountedNoun::new(paths.len(), "file");
    let is_one = paths.len() == 1;
    if paths.iter().any(|path| path.is_edited) {
        let (are, them) = if is_one { ("is", "it") } else { ("are", "them") };
        let paths: Vec<_> = paths.iter().map(|stale| stale.path.clone()).collect();
        return format!(
            "{files} {are} without the pulled changes ({}), so this checkpoint takes them back; merge {them}, then save \
             again: git checkpoint apply {pulled} --index",
            named(&paths),
        );
    }
    let are = if is_one { "is" } else { "are" };
    let shown: Vec<_> = paths
        .iter()
        .take(TAKEN_BACK)
        .map(|stale| quoted(&stale.path.quoted()))
        .collect();
    let advice = if paths.len() > shown.len() {
        format!("see them: git checkpoint diff --name-status {pulled}")
    } else {
        let paths = shown.join(" ");
        format!("get them, then save again: git checkpoint restore {pulled} -- {paths}")
    };
    format!("{files} {are} as before the pull, so this checkpoint takes pulled changes back; {advice}")
}

/// The first of the paths, and how many more there are.
pub(super) fn named(paths: &[RepoPath]) -> String {
    let mut named: Vec<_> = paths.iter().take(NAMED).map(RepoPath::quoted).collect();
    if paths.len() > NAMED {
        named.push(format!("{} more", paths.len() - NAMED));
    }
    named.join(", ")
}

/// Says how to have an author in checkpoints, where git knows no name.
pub(super) fn hint_identity(context: &Context, scene: &Scene<'_>) {
    if !store::is_named(scene.repo) {
        context.ui.hint(
            "Identity",
            "git has no name of yours, so checkpoints are saved without an author; set it:\n\
             git config --global user.name <name>\n\
             git config --global user.email <address>",
        );
    }
}
