//! Output of `bundle` and `unbundle`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::{
        View,
        count::CountedNoun,
        slot::Slot,
        text::{Text, TextLine},
    },
    PullReceipt,
};
use crate::model::{id::Oid, name::ShortName};

/// A bundle that was written.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.bundle/1")]
pub struct BundleReceipt<'a> {
    /// Its file.
    pub file: String,
    /// The size of the file; null in a dry run.
    pub bytes: Option<u64>,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The sessions in it.
    pub sessions: Vec<BundledRow<'a>>,
}

/// A session of a bundle.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BundledRow<'a> {
    /// The session.
    pub session: &'a ShortName,
    /// Its latest checkpoint.
    pub id: Oid,
}

impl View for BundleReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn text(&self) -> Text {
        let verb = if self.dry_run { "Would write " } else { "Wrote " };
        let line = TextLine::plain(verb).with(Slot::Path, &self.file);
        let sessions = CountedNoun::new(self.sessions.len(), "session");
        let size = self.bytes.map(|bytes| format!(", {} KiB", bytes.div_ceil(1024)));
        let size = size.unwrap_or_default();
        line.with(Slot::Plain, format!(", {sessions}{size}")).into()
    }
}

/// The sessions that came out of a bundle.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.unbundle/1")]
pub struct UnbundleReceipt<'a> {
    /// The file of the bundle.
    pub file: &'a str,
    /// The sessions, as `pull` prints them.
    pub sessions: Vec<PullReceipt<'a>>,
    /// Sessions that are not safe to use.
    pub refused: Vec<RefusedBundle<'a>>,
}

/// A session of a bundle that is not safe to use.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RefusedBundle<'a> {
    /// Its name.
    pub session: &'a str,
    /// The reason.
    pub why: &'a str,
}

impl View for UnbundleReceipt<'_> {
    fn text(&self) -> Text {
        let mut text = Text::new();
        for pulled in &self.sessions {
            text.append(pulled.text());
        }
        for row in &self.refused {
            let line = TextLine::plain("Refused: ").with(Slot::Session, row.session);
            text.push(line.with(Slot::Plain, format!(", {}", row.why)));
        }
        text
    }
}
