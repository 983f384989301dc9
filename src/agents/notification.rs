//! The report of a sub-agent that ran in the background, as Claude Code and Qwen Code put it into the conversation.

use super::{Fold, transcript::Ending};

/// Takes the reports in a text: the sub-agent whose call they name ends with the result that they hold.
pub(super) fn take(text: &str, fold: &mut Fold) {
    for report in text.split("<task-notification>").skip(1) {
        let report = report
            .split_once("</task-notification>")
            .map_or(report, |(report, _)| report);
        let part = |tag: &str| {
            let rest = report.split_once(&format!("<{tag}>"))?.1;
            Some(rest.split_once(&format!("</{tag}>"))?.0.trim())
        };
        let Some(call) = part("tool-use-id") else { continue };
        let Some(mut run) = fold.running_helper(call) else {
            continue;
        };
        run.result = part("result").or_else(|| part("summary")).map(str::to_owned);
        run.ending = match part("status") {
            Some("failed") => Ending::Failed,
            Some("killed" | "cancelled" | "stopped") => Ending::Interrupted,
            _ => Ending::Done,
        };
        fold.helper(run);
    }
}
