//! Output of `watch`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View, age,
    count::CountedNoun,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{id::Oid, watch::WatchAutosave};

/// The work of a watcher.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.watch/1")]
pub struct WatchView<'a> {
    /// Why it ended: `once`, `process-ended`, `vanished`, or the name of a signal.
    pub ended: &'static str,
    /// The session it saved to last.
    pub session: Option<&'a str>,
    /// The number of autosaves.
    pub autosaves: u64,
    /// The number of times that nothing had changed.
    pub unchanged: u64,
    /// The number of times that no session was current.
    pub without_session: u64,
    /// The number of failures.
    pub failures: u64,
    /// The result with `--once`.
    #[serde(flatten)]
    pub once: Option<OnceResult>,
    /// The times of a watcher that ran on.
    #[serde(flatten)]
    pub times: Option<WatchTimes<'a>>,
}

/// The result of `watch --once`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OnceResult {
    /// With `--once`: the outcome.
    #[schemars(extend("enum" = ["saved", "unchanged", "no-session"]))]
    pub outcome: &'static str,
    /// With `--once`: the autosave, or the checkpoint that holds all of it.
    pub id: Option<Oid>,
    /// With `--once`: whether something could not be captured.
    pub partial: bool,
    /// With `--once`: the bytes of new objects on disk.
    pub new_bytes: Option<u64>,
}

/// The times of a watcher.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WatchTimes<'a> {
    /// The interval that was asked for.
    pub interval_ms: u64,
    /// The interval that was kept.
    pub real_interval_ms: u64,
    /// The last autosave.
    pub last: Option<&'a WatchAutosave>,
    /// How long it watched, in seconds; for people.
    #[serde(skip)]
    pub seconds: u64,
}

impl View for WatchView<'_> {
    fn text(&self) -> Text {
        match (&self.once, &self.times) {
            (Some(once), _) => self.once(once).into(),
            (_, times) => self.total(times.as_ref().map_or(0, |times| times.seconds)).into(),
        }
    }
}

impl WatchView<'_> {
    fn once(&self, once: &OnceResult) -> TextLine {
        let (Some(session), Some(id)) = (self.session, &once.id) else {
            return TextLine::plain("No session is current, so nothing was saved");
        };
        let line = if once.outcome == "saved" {
            TextLine::new()
                .with(Slot::Added, "Autosaved")
                .with(Slot::Plain, " session ")
        } else {
            TextLine::plain("Nothing new in session ")
        };
        line.with(Slot::Session, session)
            .with(Slot::Plain, ": ")
            .with(Slot::Id, id.short())
    }

    fn total(&self, seconds: u64) -> TextLine {
        let count =
            |n: u64, noun: &'static str| CountedNoun::new(usize::try_from(n).unwrap_or(usize::MAX), noun).to_string();
        let mut line = TextLine::plain(format!("Watched for {}: ", age::duration(seconds)));
        line.push(Slot::Plain, count(self.autosaves, "autosave"));
        for (count, what) in [(self.unchanged, "nothing new"), (self.without_session, "no session")] {
            let times = match count {
                0 => continue,
                1 => "once".to_owned(),
                2 => "twice".to_owned(),
                count => format!("{count} times"),
            };
            line.push(Slot::Plain, format!(", {what} {times}"));
        }
        if self.failures > 0 {
            line.push(Slot::Bad, format!(", {}", count(self.failures, "failure")));
        }
        line
    }
}
