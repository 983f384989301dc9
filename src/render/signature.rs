//! The signature of a checkpoint.

use schemars::JsonSchema;
use serde::Serialize;

use super::{slot::Slot, text::TextLine};
use crate::model::id::Oid;

/// The signature of a checkpoint's commit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SignatureView {
    /// The commit.
    pub id: Oid,
    /// `good`; `untrusted`, `expired`, `expired-key` and `revoked-key` fit the commit as well; `bad`; `unchecked`;
    /// `unsigned`, in lists.
    pub verdict: &'static str,
    /// Who signed, by the key.
    pub signer: String,
    /// The key, or its fingerprint.
    pub key: String,
}

impl SignatureView {
    /// The view of a signature.
    pub fn of(id: Oid, verdict: &'static str, signer: &str, key: &str) -> Self {
        Self {
            id,
            verdict,
            signer: signer.to_owned(),
            key: key.to_owned(),
        }
    }

    /// One short line, for a table.
    pub fn line(&self) -> TextLine {
        let text = match (self.verdict, self.signer.as_str()) {
            (verdict, "") => verdict.to_owned(),
            (verdict, signer) => format!("{verdict}: {signer}"),
        };
        TextLine::new().with(self.slot(), text)
    }

    pub(super) fn slot(&self) -> Slot {
        match self.verdict {
            "good" => Slot::Good,
            "bad" => Slot::Bad,
            _ => Slot::Caution,
        }
    }
}
