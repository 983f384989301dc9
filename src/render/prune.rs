//! Receipt of `prune`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    age,
    count::{ByteSize, CountedNoun},
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{
    id::{Digest, Oid},
    name::ShortName,
    time::Timestamp,
};

/// How many rows of a kind are listed for people.
const LISTED: usize = 20;

/// Checkpoints and sessions that were pruned.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.prune/1")]
pub struct PruneReceipt<'a> {
    /// `pruned` or `planned`.
    #[schemars(extend("enum" = ["pruned", "planned"]))]
    pub outcome: &'static str,
    /// The removed checkpoints.
    pub checkpoints: Vec<PrunedRow<'a>>,
    /// The checkpoints that a rule would remove, but that stay.
    pub stays: Vec<RetainedRow<'a>>,
    /// The number of checkpoints that stay.
    pub kept: usize,
    /// The removed sessions.
    pub sessions: Vec<PrunedRefRow<'a>>,
    /// The removed autosaves.
    pub autosaves: Vec<PrunedRefRow<'a>>,
    /// The removed entries of the trash.
    pub trash: Vec<PrunedRefRow<'a>>,
    /// Forks whose source was written again.
    pub moved: &'a [ShortName],
    /// Sessions that were left alone.
    pub damaged: &'a [String],
    /// Bytes on disk that only the removed objects take.
    pub frees_bytes: Option<u64>,
    /// Commands that cannot be undone any more, as what they removed left the trash.
    pub not_undoable: &'a [String],
}

/// A removed checkpoint.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PrunedRow<'a> {
    /// Its session.
    pub session: &'a ShortName,
    /// Its commit.
    pub id: Oid,
    /// The digest of its document.
    pub digest: Option<&'a Digest>,
    /// When it was saved.
    pub at: Timestamp,
    /// Its subject.
    pub summary: &'a str,
}

/// A checkpoint that stays although a rule would remove it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RetainedRow<'a> {
    /// Its session.
    pub session: &'a ShortName,
    /// Its commit.
    pub id: Oid,
    /// The digest of its document.
    pub digest: Option<&'a Digest>,
    /// Why it stays.
    #[schemars(extend("enum" = ["named", "pinned", "put aside", "forked from", "merge", "shared", "in use", "claimed"]))]
    pub why: &'static str,
    /// Its subject, for people.
    #[serde(skip)]
    pub summary: &'a str,
}

/// A removed session, autosave or entry of the trash.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PrunedRefRow<'a> {
    /// The name of the session, or the ref.
    pub name: &'a str,
    /// The name of the session that the ref is of.
    pub session: Option<&'a str>,
    /// Its latest checkpoint.
    pub id: Oid,
    /// The number of its checkpoints.
    pub checkpoints: usize,
}

impl PruneReceipt<'_> {
    /// Whether only the trash was emptied.
    pub fn is_trash_only(&self) -> bool {
        self.checkpoints.is_empty() && self.sessions.is_empty() && self.autosaves.is_empty()
    }

    /// Whether there was nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.is_trash_only() && self.trash.is_empty()
    }

    /// The counts in one line.
    pub fn summary(&self) -> TextLine {
        let entries = ("trash entry", "trash entries", self.trash.len());
        let parts: Vec<String> = [
            ("checkpoint", "checkpoints", self.checkpoints.len()),
            ("session", "sessions", self.sessions.len()),
            ("autosave", "autosaves", self.autosaves.len()),
            entries,
        ]
        .into_iter()
        .filter(|(.., n)| *n > 0)
        .map(|(one, many, n)| CountedNoun::irregular(n, one, many).to_string())
        .collect();
        let verb = if self.outcome == "planned" {
            "Would prune "
        } else {
            "Pruned "
        };
        let mut line = TextLine::new().with(Slot::Removed, verb);
        line.push(Slot::Plain, parts.join(", "));
        line.push(
            Slot::Plain,
            format!("; {} kept", CountedNoun::new(self.kept, "checkpoint")),
        );
        if let Some(bytes) = self.frees_bytes.filter(|bytes| *bytes > 0) {
            let when = if self.is_trash_only() {
                "'git gc --prune=now' runs"
            } else {
                "the trash is emptied"
            };
            line.push(Slot::Plain, format!("; frees {} when {when}", ByteSize(bytes)));
        }
        line
    }

    /// The summary, then what goes and what stays; `unruled` is why nothing can go, where no rule removes anything.
    pub fn text(&self, unruled: Option<&str>, now: Timestamp) -> Text {
        let mut text = Text::new();
        text.push(match (self.is_empty(), unruled) {
            (true, Some(why)) => TextLine::plain(format!("Nothing to prune: {why}.")),
            (true, None) => TextLine::plain("Nothing to prune."),
            (false, _) => self.summary(),
        });
        let row = |word: &str, id: &Oid| TextLine::plain(format!("  {word} ")).with(Slot::Id, id.short());
        rows(&mut text, &self.checkpoints, |goes| {
            let mut line = row("remove", &goes.id).with(Slot::Plain, "  ");
            line.push(Slot::Session, goes.session.as_str());
            line.push(Slot::Plain, "  ");
            line.push(Slot::Date, age::age(goes.at, now));
            line.with(Slot::Plain, format!("  {}", goes.summary)).cut(78)
        });
        for (before, after, list) in [
            ("session ", "", &self.sessions),
            ("autosave of ", "", &self.autosaves),
            ("", " in the trash", &self.trash),
        ] {
            rows(&mut text, list, |gone| {
                let mut line = row("remove", &gone.id).with(Slot::Plain, format!("  {before}"));
                line.push(Slot::Session, gone.session.unwrap_or(gone.name));
                let checkpoints = CountedNoun::new(gone.checkpoints, "checkpoint");
                line.with(Slot::Plain, format!("{after}, {checkpoints}")).cut(78)
            });
        }
        rows(&mut text, self.not_undoable, |what| {
            TextLine::new()
                .with(Slot::Caution, "  no undo")
                .with(Slot::Plain, format!("  {what}"))
                .cut(78)
        });
        rows(&mut text, &self.stays, |stays| {
            let mut line = row("keep  ", &stays.id).with(Slot::Plain, "  ");
            line.push(Slot::Session, stays.session.as_str());
            line.push(Slot::Caution, format!("  {}", stays.why));
            line.with(Slot::Plain, format!("  {}", stays.summary)).cut(78)
        });
        if !self.checkpoints.is_empty() {
            text.push(TextLine::plain(
                "  Checkpoints after a removed one get new ids; their old ids still work.",
            ));
        }
        if !self.moved.is_empty() {
            let names: Vec<&str> = self.moved.iter().map(ShortName::as_str).collect();
            let names = names.join(", ");
            text.push(TextLine::plain(format!(
                "  move   forks of what is written again: {names}"
            )));
        }
        text
    }
}

/// The first rows of a list, and how many more there are.
fn rows<T>(text: &mut Text, list: &[T], line: impl Fn(&T) -> TextLine) {
    for row in list.iter().take(LISTED) {
        text.push(line(row));
    }
    if list.len() > LISTED {
        let more = list.len() - LISTED;
        text.push(TextLine::plain(format!("         and {more} more (--json lists all)")));
    }
}
