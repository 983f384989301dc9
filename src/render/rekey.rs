//! The receipt of `rekey`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{count::CountedNoun, slot::Slot, text::TextLine};
use crate::model::id::{Digest, Oid};

/// A session that was encrypted anew; its JSON is `git-checkpoint.rekey/1`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "A session that was encrypted anew")]
pub struct RekeyView<'a> {
    /// `git-checkpoint.rekey/1`.
    #[schemars(extend("const" = "git-checkpoint.rekey/1"))]
    pub schema: &'static str,
    /// The session.
    pub session: &'a str,
    /// The checkpoint; the latest one there is in a dry run.
    pub id: Oid,
    /// The digest of its document.
    pub digest: &'a Digest,
    /// The public keys that it is encrypted to.
    pub recipients: &'a [String],
    /// Whether nothing was done.
    pub dry_run: bool,
}

impl RekeyView<'_> {
    /// One line for people.
    pub fn line(&self) -> TextLine {
        let word = if self.dry_run { "Would encrypt " } else { "Encrypted " };
        let count = CountedNoun::new(self.recipients.len(), "recipient").to_string();
        TextLine::plain(word)
            .with(Slot::Session, self.session)
            .with(Slot::Plain, " at ")
            .with(Slot::Id, self.id.short())
            .with(Slot::Plain, format!(" to {count}"))
    }
}
