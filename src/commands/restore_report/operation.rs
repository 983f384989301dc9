//! The operation of git's during which a restored checkpoint was saved.

use crate::{
    commands::{Context, failure, opening::OpenedRepository},
    ops::select,
    store,
};

/// The files whose commit makes the next commit one of a merge, a cherry-pick or a revert.
const HEADS: [&str; 3] = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"];

/// Reports that the checkpoint was saved during an operation that is not in progress now, and the command that sets it up:
/// with the index of a merge alone, `git commit` would record an ordinary commit. The receipt may have reported it already.
pub(in crate::commands) fn report_operation(
    context: &Context,
    opened: &OpenedRepository,
    selector: &str,
    is_reported: bool,
) {
    let scene = opened.scene();
    let found = failure::selector(selector).map(|selector| select::checkpoint(&scene, &selector));
    let Ok(Ok(found)) = found else { return };
    let Some(operation) = found.checkpoint.document.git.operation else {
        return;
    };
    if !matches!(store::operation::unfinished(scene.repo), Ok(None)) {
        return;
    }
    if !is_reported {
        context.ui.warning(&format!(
            "the checkpoint was saved during {}, which is not in progress now",
            operation.kind.with_article()
        ));
    }
    let heads = operation
        .heads
        .iter()
        .filter(|head| HEADS.contains(&head.name.as_str()));
    let ids: Vec<&str> = heads.clone().map(|head| head.id.short()).collect();
    if let Some(head) = heads.into_iter().next() {
        // git refuses to write these files as refs.
        let hint = format!(
            "to commit it as one: git rev-parse {} >\"$(git rev-parse --git-path {})\"",
            ids.join(" "),
            head.name
        );
        context.ui.hint("Operation", &hint);
    }
}
