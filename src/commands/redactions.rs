//! Warnings about secrets in what is saved.

use super::Context;
use crate::{ops::redact::RedactedSecret, render::count::CountedNoun};

/// Reports the secrets that were found, and that they are gone.
pub(super) fn warn(context: &Context, found: &[RedactedSecret]) {
    let (replaced, noticed): (Vec<_>, Vec<_>) = found.iter().partition(|r| r.replaced);
    let list = |found: &[&RedactedSecret]| {
        found
            .iter()
            .map(|r| format!("{} in {}", r.kind, r.place))
            .collect::<Vec<_>>()
            .join("\n  ")
    };
    if !replaced.is_empty() {
        let what = CountedNoun::new(replaced.len(), "secret");
        let was = if replaced.len() == 1 { "was" } else { "were" };
        context
            .ui
            .warning(&format!("{what} {was} replaced before saving:\n  {}", list(&replaced)));
        if replaced.iter().any(|r| r.place.starts_with("files/")) {
            context.ui.warning(
                "this concerns the attachment; the file in the working tree is saved unchanged unless checkpoint.exclude or .checkpointignore matches it",
            );
        }
    }
    if !noticed.is_empty() {
        context.ui.warning(&format!(
            "this looks like a secret and was saved unchanged:\n  {}",
            list(&noticed)
        ));
        context.ui.hint(
            "Secret",
            "remove it from the record, or add a rule to checkpoint.redactRule",
        );
    }
}
