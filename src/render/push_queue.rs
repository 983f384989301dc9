//! Automatic sharing: the queue of sessions, and the outcome of pushing it.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View, age,
    count::CountedNoun,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{id::Oid, name::ShortName, time::Timestamp};

/// Outcome of pushing the sessions that waited.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.push-queued/1")]
pub struct QueueView {
    /// The remote of `checkpoint.autoPush`.
    pub remote: Option<String>,
    /// Whether another process pushes the queue at this moment.
    pub busy: bool,
    /// Sessions that the remote has now.
    pub pushed: Vec<PushedRow>,
    /// Sessions that still wait.
    pub waiting: Vec<WaitingRow>,
    /// Sessions that had diverged, and whose record was merged.
    pub merged: Vec<MergedRow>,
    /// Why the remote could not be reached; null where it was.
    pub failure: Option<String>,
}

/// A session that the remote has now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PushedRow {
    /// Its name.
    pub session: ShortName,
    /// Its latest checkpoint.
    pub id: Oid,
    /// The result of its push, in a word.
    pub result: &'static str,
}

/// A session that still waits.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WaitingRow {
    /// Its name.
    pub session: String,
    /// Why it was not pushed.
    pub reason: String,
    /// The command for what a person has to decide; null where there is nothing to decide.
    pub command: Option<String>,
    /// The ways on where there are several, each with its command; for people.
    #[serde(skip)]
    pub ways: Vec<String>,
}

/// A session whose record was merged automatically, without its files.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MergedRow {
    /// Its name.
    pub session: String,
    /// The checkpoint of the remote that was merged.
    pub checkpoint: String,
    /// The command that merges its files; null where that was not looked at.
    pub command: Option<String>,
}

impl View for QueueView {
    // As text for people.
    fn text(&self) -> Text {
        let mut text = Text::new();
        for row in &self.merged {
            let mut line = TextLine::new()
                .with(Slot::Added, "Merged")
                .with(Slot::Plain, " the record of ");
            line.push(Slot::Session, &row.session);
            line.push(Slot::Plain, " with ");
            line.push(Slot::Id, &row.checkpoint);
            if let Some(remote) = &self.remote {
                line.push(Slot::Plain, format!(" of {remote}; no files"));
            }
            text.push(line);
        }
        for row in &self.pushed {
            let mut line = TextLine::new().with(Slot::Added, "Pushed").with(Slot::Plain, " ");
            line.push(Slot::Session, row.session.as_str());
            line.push(Slot::Plain, " ");
            line.push(Slot::Id, row.id.short());
            if let Some(remote) = &self.remote {
                line.push(Slot::Plain, format!(" to {remote}"));
            }
            text.push(line);
        }
        for (at, row) in self.waiting.iter().enumerate() {
            let mut line = TextLine::new().with(Slot::Caution, "Waiting:").with(Slot::Plain, " ");
            line.push(Slot::Session, &row.session);
            // The error that follows has the reason of the first one, or the one of all.
            if at > 0 && self.failure.is_none() {
                line.push(Slot::Plain, format!(": {}", row.reason));
            }
            text.push(line);
        }
        if self.busy {
            text.push(TextLine::plain("Another process pushes the queue."));
        } else if self.pushed.is_empty() && self.waiting.is_empty() {
            text.push(TextLine::plain("No session is queued."));
        }
        text
    }
}

/// Automatic sharing, and how it goes
#[derive(Debug, Serialize, JsonSchema)]
pub struct AutomaticSharing {
    /// The remote of `checkpoint.autoPush`.
    pub push: Option<String>,
    /// The remote of `checkpoint.autoFetch`.
    pub fetch: Option<String>,
    /// Sessions that wait to be pushed.
    pub queued: Vec<ShortName>,
    /// Failed attempts in a row.
    pub failures: u32,
    /// When the last one was.
    pub failed_at: Option<Timestamp>,
    /// Why it failed, where the remote could not be reached.
    pub reason: Option<String>,
    /// Sessions that the remote did not take.
    pub refused: Vec<WaitingRow>,
    /// Sessions whose record was merged with that of the remote, and whose files were not.
    pub merged: Vec<MergedRow>,
    /// When sessions were last fetched.
    pub fetched_at: Option<Timestamp>,
    /// Why the last fetch failed; null where it did not.
    pub fetch_failure: Option<String>,
}

impl AutomaticSharing {
    /// Lines of `status`.
    pub fn lines(&self, now: Timestamp) -> Vec<TextLine> {
        let mut lines = Vec::new();
        let waiting = CountedNoun::new(self.queued.len(), "session");
        match (&self.push, self.queued.is_empty()) {
            (Some(remote), true) => lines.push(TextLine::plain(format!("to {remote}, queue empty"))),
            (Some(remote), false) => {
                let text = format!("to {remote}, {waiting} queued: 'git checkpoint push --queued'");
                lines.push(TextLine::new().with(Slot::Caution, text));
            }
            (None, false) => {
                let text = format!("off, {waiting} queued: checkpoint.autoPush names no remote");
                lines.push(TextLine::new().with(Slot::Caution, text));
            }
            (None, true) => {}
        }
        if !self.queued.is_empty() {
            let at = self.failed_at.map(|at| format!(" {}", age::age(at, now)));
            if let Some(why) = &self.reason {
                let text = format!("failed{}: {why}", at.unwrap_or_default());
                lines.push(TextLine::new().with(Slot::Bad, text).cut(69));
            } else {
                for row in self.refused.iter().take(3) {
                    let text = format!("{}: {}", row.session, row.reason);
                    lines.push(TextLine::new().with(Slot::Bad, text).cut(69));
                    if let Some(command) = &row.command {
                        lines.push(TextLine::plain(format!("merge it: {command}")));
                    }
                    lines.extend(row.ways.iter().map(TextLine::plain));
                }
            }
        }
        for row in self.merged.iter().take(3) {
            lines.push(TextLine::plain(format!("{}: record merged, files not", row.session)));
            if let Some(command) = &row.command {
                lines.push(TextLine::plain(format!("merge them: {command}")));
            }
        }
        if let Some(remote) = &self.fetch {
            let at = self.fetched_at.map(|at| format!(", fetched {}", age::age(at, now)));
            lines.push(TextLine::plain(format!("from {remote}{}", at.unwrap_or_default())));
            if let Some(why) = &self.fetch_failure {
                lines.push(TextLine::new().with(Slot::Bad, format!("failed: {why}")).cut(69));
            }
        }
        lines
    }
}
