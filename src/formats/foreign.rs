//! The intermediate value between other tools' files and our sessions.
//!
//! Records are JSON in the stored form of [`Record`](crate::model::record::Record), except that items may lack `at` and
//! `by`: a source that names neither gets the checkpoint's time and the system's name when it is stored, so that the
//! content of a source, and with it [`ForeignCheckpoint::hash`], does not depend on when it was read.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Problem, System, VALUES_LIMIT};
use crate::model::{id::Digest, json, session::SessionStatus, time::Timestamp};

/// A file to be read.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// Its path relative to the place that is imported, separated by `/`. For one file alone, its last folders and
    /// name: detection looks at them.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// When it was changed last: the time of items without one.
    pub modified: Option<Timestamp>,
}

impl File {
    /// Its name without folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Its folder; empty at the top.
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Its name without the last extension.
    pub fn stem(&self) -> &str {
        let name = self.name();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }

    /// Whether its name ends in this extension, in letters of any case.
    pub fn is(&self, extension: &str) -> bool {
        let name = self.name().rsplit_once('.');
        name.is_some_and(|(_, end)| end.eq_ignore_ascii_case(extension))
    }

    /// Its text; bytes that are not UTF-8 become U+FFFD, and line ends LF. A byte order mark is left out.
    pub fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        text.replace("\r\n", "\n").replace('\r', "\n")
    }

    /// The first 4 KiB of its text.
    pub fn text_start(&self) -> String {
        String::from_utf8_lossy(&self.bytes[..self.bytes.len().min(4 << 10)]).into_owned()
    }

    /// Why its JSON, or its lines of JSON, are not read: so many values that they would fill the memory.
    pub fn crowded(&self) -> Option<Problem> {
        if self.bytes.len() <= VALUES_LIMIT {
            return None;
        }
        let (mut count, mut is_text, mut is_escaped) = (0, false, false);
        for byte in &self.bytes {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if is_text => is_escaped = true,
                b'"' => is_text = !is_text,
                // A text ends with its line: lines of JSON may be damaged one by one.
                b'\n' => (count, is_text) = (count + 1, false),
                b',' | b'[' | b'{' if !is_text => count += 1,
                _ => {}
            }
        }
        let what = || format!("it has more than the {VALUES_LIMIT} values allowed");
        (count > VALUES_LIMIT).then(|| Problem::broken(&self.path, what()))
    }

    /// Its JSON, or why it is none.
    pub fn json(&self) -> Result<Value, Problem> {
        if let Some(problem) = self.crowded() {
            return Err(problem);
        }
        let bytes = self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.bytes);
        json::parse_input(bytes).map_err(|error| Problem::broken(&self.path, error.to_string()))
    }
}

/// A session of another system.
#[derive(Clone, Debug, Serialize)]
pub struct ForeignSession {
    /// The system's name.
    pub system: &'static str,
    /// Its id there; with the system the key that shows whether it was imported already.
    pub id: String,
    /// Whether that id is only the name of its file, which files of other sessions may have as well.
    #[serde(skip)]
    pub has_file_name_id: bool,
    /// Text from which the name is derived.
    pub name: String,
    /// Members of the session as a merge patch: `title`, `status`, `agent`, `task`, `issues` and so on.
    pub members: Map<String, Value>,
    /// When it began; `None` when the source does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Its checkpoints in their order; never empty.
    pub checkpoints: Vec<ForeignCheckpoint>,
    /// Lines of its log, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<ForeignLogLine>,
    /// The files it was read from.
    pub sources: Vec<String>,
    /// When the latest of them changed: the time of items without one.
    #[serde(skip)]
    pub modified: Option<Timestamp>,
}

impl ForeignSession {
    /// A session with one checkpoint to be filled in, from one file.
    pub fn new(system: System, id: impl Into<String>, file: &File) -> Self {
        let id = id.into();
        Self {
            system: system.word(),
            has_file_name_id: false,
            name: id.clone(),
            id,
            members: Map::new(),
            created_at: None,
            checkpoints: Vec::new(),
            log: Vec::new(),
            sources: vec![file.path.clone()],
            modified: file.modified,
        }
    }

    /// Sets a member of the session, unless there is nothing to set.
    pub fn member(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.members.insert(key.to_owned(), value.into());
        }
    }

    /// Sets the state of the session.
    pub fn status(&mut self, status: SessionStatus) {
        self.member("status", Some(status.word()));
    }

    /// Adds a file it was read from.
    pub fn source(&mut self, file: &File) {
        self.sources.push(file.path.clone());
        self.modified = self.modified.max(file.modified);
    }

    /// Whether anything of its source has a place of its own: more than a title and a first line, which any text has.
    pub(super) fn is_understood(&self) -> bool {
        const OF_ANY: [&str; 6] = ["status", "title", "agent", "summary", "auto_summary", "extra"];
        let has_more = |members: &Map<String, Value>| members.keys().any(|key| !OF_ANY.contains(&key.as_str()));
        has_more(&self.members)
            || self.log.iter().any(|line| line.at.is_some())
            || self.checkpoints.iter().any(|point| {
                let ForeignCheckpoint {
                    members,
                    record,
                    messages,
                    steps,
                    git,
                    compaction,
                    context,
                    agent,
                    ..
                } = point;
                has_more(members)
                    || has_more(record)
                    || !(messages.is_empty() && steps.is_empty())
                    // Some systems name a checkpoint's tag and its file alike.
                    || git.branch.is_some()
                    || git.commit.is_some()
                    || compaction.is_some()
                    || context.is_some()
                    || agent.is_some()
            })
    }

    /// Gives the session a checkpoint if it has none.
    pub(super) fn settle(&mut self) {
        if self.checkpoints.is_empty() {
            self.checkpoints.push(ForeignCheckpoint::new(self.id.clone()));
        }
    }
}

/// A checkpoint of another system.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ForeignCheckpoint {
    /// Its id there; unique in the session.
    pub id: String,
    /// Its name there; another one may have the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When it was made; `None` when the source does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The occasion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// The digest of its source, once secrets were taken out of it.
    #[serde(skip)]
    pub source: Option<Digest>,
    /// Members of the session at this checkpoint where they differ from [`ForeignSession::members`].
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub members: Map<String, Value>,
    /// The whole record, with what has no other place in `extra`.
    pub record: Map<String, Value>,
    /// Messages of the chat that came since the checkpoint before: `role`, `content`, `timestamp` and more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Value>,
    /// Steps of the work in the stored form of [`Step`](crate::model::step::Step), so far as the checkpoint has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Value>,
    /// Files to keep with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Where the repository was, by its source.
    #[serde(skip_serializing_if = "ForeignRepoState::is_empty")]
    pub git: ForeignRepoState,
    /// The last compaction of the chat, in the stored form of [`Compaction`](crate::model::chat::Compaction).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Value>,
    /// The project's context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The agent's description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl ForeignCheckpoint {
    /// An empty one.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            ..Self::default()
        }
    }

    /// The digest of its content, which distinguishes an imported session from one that changed since.
    pub fn hash(&self) -> Digest {
        self.source.clone().unwrap_or_else(|| Digest::of(&json::to_bytes(self)))
    }
}

/// A file kept with a checkpoint.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Attachment {
    /// The source itself, kept because its form is free.
    pub fn of(file: &File) -> Self {
        Self {
            name: file.name().to_owned(),
            bytes: file.bytes.clone(),
        }
    }
}

impl Serialize for Attachment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = &self.bytes;
        serde_json::json!({ "name": self.name, "size": bytes.len(), "digest": Digest::of(bytes) }).serialize(serializer)
    }
}

/// A line of a session's log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForeignLogLine {
    /// When; `None` when the source does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// `info`, `warn` or `error`.
    pub level: String,
    /// Message of the log line.
    pub message: String,
    /// Whom it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The state of the repository as its source reports it, unchecked; the whole of it is in `extra` as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ForeignRepoState {
    /// The branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit, often only the beginning of its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// A tag or branch that names the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Whether the checkpoint is that commit: its tree has the files.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_files: bool,
    /// Staged paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub staged: Vec<String>,
    /// Modified paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modified: Vec<String>,
    /// Untracked paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untracked: Vec<String>,
    /// Whether nothing was changed, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean: Option<bool>,
    /// Commits ahead of the upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// Commits behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind: Option<u64>,
}

impl ForeignRepoState {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
