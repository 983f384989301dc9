//! Receipt of `import`, and its JSON `git-checkpoint.import/1`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View,
    count::CountedNoun,
    receipt::{RedactionRow, UnsearchedRow},
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{id::Oid, time::Timestamp};

/// Sessions that an import brought in, or would bring in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.import/1")]
pub struct ImportReceipt<'a> {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Number of sessions that are new or have grown.
    pub imported: usize,
    /// Whether something of the sources did not come in.
    pub partial: bool,
    /// Every session that was found.
    pub sessions: Vec<ImportRow<'a>>,
    /// The texts, numbers and true values of the sources, and where they are now.
    pub values: ValueCounts<'a>,
    /// Problems of the sources, and remarks about them.
    pub problems: Vec<ProblemRow<'a>>,
    /// Files that no format knows.
    pub unknown: &'a [String],
    /// Secrets that were found and, unless disabled, replaced.
    pub redactions: Vec<RedactionRow>,
    /// Content that could not be searched for secrets, and is stored as it is.
    pub unsearched: Vec<UnsearchedRow<'a>>,
}

/// A session in the sources.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImportRow<'a> {
    /// Its name here.
    pub session: &'a str,
    /// `new`, `grown`, `same` or `refused`.
    pub outcome: &'static str,
    /// Why it was refused.
    pub why: Option<&'a str>,
    /// Its latest checkpoint; null in a dry run and where it was refused.
    pub id: Option<Oid>,
    /// The system that it comes from.
    pub system: &'static str,
    /// Its id there.
    pub foreign_id: &'a str,
    /// The files.
    pub sources: &'a [String],
    /// `active`, `paused`, `completed` or `failed`.
    pub status: &'a str,
    /// Number of checkpoints that come in.
    pub checkpoints: usize,
    /// Number of messages in its chat.
    pub messages: usize,
    /// The summary of its latest checkpoint.
    pub summary: &'a str,
    /// When that was made.
    pub at: Timestamp,
}

/// Values of the sources by where they are now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ValueCounts<'a> {
    /// All of them.
    pub source: usize,
    /// In members of the session, the record, chat, steps or log.
    pub members: usize,
    /// In `extra`.
    pub extra: usize,
    /// In an attachment alone.
    pub attachments: usize,
    /// The places of those that are in the sources alone.
    pub lost: &'a [String],
}

/// A problem of a source.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProblemRow<'a> {
    /// The file, and where in it.
    pub path: &'a str,
    /// Description.
    pub what: &'a str,
    /// `broken` where something did not come in, else `note`.
    pub weight: &'static str,
}

impl View for ImportReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    // The sessions and the counts.
    fn text(&self) -> Text {
        let mut text = Text::new();
        for row in &self.sessions {
            text.append(row.text(self.dry_run));
        }
        if self.sessions.len() > 1 {
            let verb = if self.dry_run { "to import" } else { "imported" };
            let mut words = format!("{} {verb}", CountedNoun::new(self.imported, "session"));
            for (outcome, what) in [("same", "already imported"), ("refused", "refused")] {
                let count = self.sessions.iter().filter(|row| row.outcome == outcome).count();
                if count > 0 {
                    words.push_str(&format!(", {count} {what}"));
                }
            }
            text.push(TextLine::plain(words));
        }
        if !self.values.lost.is_empty() && self.imported > 0 {
            text.push(TextLine::plain(self.values.words()));
        }
        text
    }
}

impl ImportReceipt<'_> {
    /// How many values the sources have and where they are now, for `--verbose`; where some were left out, the text has it.
    pub fn counts(&self) -> Option<TextLine> {
        let is_shown = self.values.source > 0 && self.imported > 0 && self.values.lost.is_empty();
        is_shown.then(|| TextLine::plain(self.values.words()))
    }
}

impl ValueCounts<'_> {
    fn words(&self) -> String {
        let mut words = format!(
            "{}: {} in members, {} in 'extra', {} in attachments",
            CountedNoun::new(self.source, "value"),
            self.members,
            self.extra,
            self.attachments
        );
        if !self.lost.is_empty() {
            words.push_str(&format!(", {} left in the sources alone", self.lost.len()));
        }
        words
    }
}

impl ImportRow<'_> {
    fn text(&self, dry_run: bool) -> Text {
        let mut text = Text::new();
        let (slot, word) = match (self.outcome, dry_run) {
            ("new", false) => (Slot::Good, "Imported"),
            ("new", true) => (Slot::Good, "Would import"),
            ("grown", false) => (Slot::Good, "Added to"),
            ("grown", true) => (Slot::Good, "Would add to"),
            ("same", _) => (Slot::Dim, "Already imported:"),
            _ => (Slot::Warning, "Not imported:"),
        };
        let mut line = TextLine::new().with(slot, word).with(Slot::Plain, " session ");
        line.push(Slot::Session, self.session);
        if let Some(id) = &self.id {
            line.push(Slot::Plain, " at ");
            line.push(Slot::Id, id.short());
        }
        text.push(line);
        let mut detail = |label: &str, value: TextLine| {
            let mut line = TextLine::plain("  ").with(Slot::Heading, label);
            line.pad_to(12);
            line.append(&value);
            text.push(line);
        };
        if let Some(why) = self.why {
            detail("why", TextLine::plain(why));
        }
        let first = self.sources.first().map(String::as_str).unwrap_or_default();
        let mut from = TextLine::plain(format!("{} '{}', ", self.system, self.foreign_id)).with(Slot::Path, first);
        if self.sources.len() > 1 {
            from.push(Slot::Plain, format!(" and {} more", self.sources.len() - 1));
        }
        detail("from", from);
        if matches!(self.outcome, "new" | "grown") {
            let mut words = format!("{}, {}", self.status, CountedNoun::new(self.checkpoints, "checkpoint"));
            if self.messages > 0 {
                words.push_str(&format!(", {}", CountedNoun::new(self.messages, "message")));
            }
            detail("holds", TextLine::plain(words));
            let summary = self.summary.lines().next().unwrap_or_default();
            if !summary.is_empty() {
                detail("summary", TextLine::plain(summary));
            }
        }
        text
    }
}
