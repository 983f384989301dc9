//! The state of a watcher, as it reports it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{id::Oid, session::SessionRef, time::Timestamp};

/// State of a watcher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatcherState {
    /// Its process.
    pub process: u32,
    /// Its machine.
    pub host: String,
    /// When it began.
    pub since: Timestamp,
    /// The interval it was asked for, in milliseconds.
    pub interval: u64,
    /// The interval it keeps, in milliseconds: longer where looking takes long.
    pub real_interval: u64,
    /// The session it last saved, or found nothing new in.
    #[serde(default)]
    pub session: Option<SessionRef>,
    /// That session's latest checkpoint then.
    #[serde(default)]
    pub tip: Option<Oid>,
    /// When it last looked.
    #[serde(default)]
    pub looked: Option<Timestamp>,
    /// The last autosave it made.
    #[serde(default)]
    pub saved: Option<WatchAutosave>,
    /// Why saving fails now.
    #[serde(default)]
    pub failure: Option<WatchFailure>,
    /// How it ended; absent while it runs, and for ever if it was killed.
    #[serde(default)]
    pub ended: Option<WatcherEnd>,
}

impl WatcherState {
    /// Whether the work it watched was cut off: it was killed, with the machine perhaps, or the process ended for which
    /// it watched. One on another machine cannot be judged.
    pub fn is_cut_off(&self, host: &str) -> bool {
        self.host == host && self.ended != Some(WatcherEnd::Asked)
    }
}

/// An autosave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchAutosave {
    /// Its commit.
    pub id: Oid,
    /// When it was made.
    pub at: Timestamp,
}

/// A failure that lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchFailure {
    /// When it first failed.
    pub since: Timestamp,
    /// How often in a row.
    pub times: u64,
    /// Last failure.
    pub message: String,
}

/// How a watcher ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WatcherEnd {
    /// A signal asked it to.
    Asked,
    /// The process it watched had ended.
    Process,
}
