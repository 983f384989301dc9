//! The document of a checkpoint, `checkpoint.json`: what the checkpoint records about itself.
//!
//! Its exact bytes are what the digest covers, so the order of members here is part of the storage format
//! (`store/FORMAT.md`). Members of later versions are kept, in their order, after the known ones.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::session::{ForkSource, Session, SessionStatus};
use super::{
    agent_turn::AgentTurn,
    facts::GitFacts,
    id::{Digest, Oid},
    json,
    name::ShortName,
    record::{Record, UnknownMembers},
    time::Timestamp,
    transcript::TranscriptInfo,
};

/// The schema written by this version.
pub const SCHEMA: &str = "git-checkpoint/1";
/// The major version this program reads and writes.
pub const MAJOR: u32 = 1;
/// The largest document that is read: 64 MiB. A bound against bombs; real ones have a few KiB.
pub const SIZE_LIMIT: usize = 64 << 20;

/// Everything a checkpoint records about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "document", title = "The stored document, checkpoint.json")]
pub struct Document {
    /// `git-checkpoint/<major>`.
    #[schemars(regex(pattern = "^git-checkpoint/1$"))]
    pub schema: String,
    /// The session it belongs to, as of this checkpoint.
    pub session: Session,
    /// The checkpoint's own name, unique in the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ShortName>,
    /// Cause of the checkpoint.
    pub kind: CheckpointKind,
    /// The occasion, in the caller's word, such as `before-delegation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// The turn of a coding agent that it was saved for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<AgentTurn>,
    /// The request that it was saved for, where the caller gave a key to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<SaveKey>,
    /// When it was made.
    pub created_at: Timestamp,
    /// The program that made it.
    pub tool: Tool,
    /// The machine it was made on.
    pub host: String,
    /// The working tree it was made in.
    pub worktree: WorktreeInfo,
    /// The subject of this checkpoint, where it is not the session's summary: what an automatic checkpoint was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Record by people and agents.
    pub record: Record,
    /// State of the repository at save time.
    pub git: GitFacts,
    /// The files; absent when they were not saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotRef>,
    /// The id of every sibling of the document in the checkpoint's tree, except `pruned.jsonl`.
    #[serde(default)]
    pub trees: BTreeMap<String, Oid>,
    /// Encryption of the members that are private, which are next to the document then; absent where nothing is encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encrypted: Option<EncryptionInfo>,
    /// The chat, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatInfo>,
    /// Session files of agents that are kept next to the chat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transcripts: Vec<TranscriptInfo>,
    /// Tokens of the session, as counted when this was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Value>,
    /// The last compaction of the chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<super::chat::Compaction>")]
    pub compaction: Option<Value>,
    /// The digest of the previous checkpoint of the chain; null in a session's `start`.
    pub previous: Option<Digest>,
    /// Checkpoint that was merged in; it is the last parent of the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<MergedCheckpoint>,
    /// The checkpoint that was restored last, by digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<Digest>,
    /// Whether only some files of that one were restored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restored_part: bool,
    /// Earlier checkpoints whose work `pause --clean` removed and no command brought back before this one, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub put_aside: Vec<Digest>,
    /// For each draft, the sequence number of the last operation folded in.
    #[serde(default)]
    pub folded: BTreeMap<String, u64>,
    /// In an autosave: what of each draft it already holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub included: Option<BTreeMap<String, u64>>,
    /// Members of a later version.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
}

/// Encryption of a checkpoint, in its document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "encrypted")]
pub struct EncryptionInfo {
    /// The public keys that the private part is encrypted to, as age and ssh write them.
    pub recipients: Vec<String>,
    /// Whether the private part of this document could not be decrypted, so that its members are missing.
    #[serde(skip)]
    pub is_locked: bool,
    /// Whether a key that was found is a recipient's, so that only its passphrase is missing.
    #[serde(skip)]
    pub has_own_key: bool,
}

impl EncryptionInfo {
    /// To how many it is encrypted, and whether it can be read here, in words.
    pub fn words(&self) -> String {
        let noun = if self.recipients.len() == 1 {
            "recipient"
        } else {
            "recipients"
        };
        let locked = if self.is_locked {
            ", and none of your keys opens it"
        } else {
            ""
        };
        format!("to {} {noun}{locked}", self.recipients.len())
    }
}

impl Document {
    /// Whether the record is encrypted and no key opens it here.
    pub fn is_locked(&self) -> bool {
        self.encrypted.as_ref().is_some_and(|info| info.is_locked)
    }

    /// Leaves out what belongs to one checkpoint alone, for another one that begins with all the rest.
    pub fn leave_out_own(&mut self) {
        self.name = None;
        self.trigger = None;
        self.turn = None;
        self.request = None;
        self.merged = None;
        self.included = None;
    }
}

/// Idempotency key of a save: the same request with the same key makes no second checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "request")]
pub struct SaveKey {
    /// Key, as the caller gave it.
    pub key: String,
    /// Digest of the request without the key.
    pub digest: Digest,
}

/// Cause of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "kind")]
pub enum CheckpointKind {
    /// The beginning of a session.
    Start,
    /// `save`.
    Save,
    /// `pause`.
    Pause,
    /// A commit on a branch.
    Commit,
    /// An event the user wants saved.
    Event,
    /// A timer.
    Autosave,
    /// Made by a restore before it changes files.
    Safety,
    /// The beginning of a fork.
    Fork,
    /// `finish`.
    Finish,
    /// An import.
    Import,
    /// A compaction of the chat.
    Compact,
    /// `clear`.
    Clear,
    /// The end of an agent's turn.
    Turn,
    /// Changes that were made between two turns of an agent.
    Edit,
    /// A merge of another session, or of another state of this one.
    Merge,
}

impl CheckpointKind {
    /// Every kind.
    pub const ALL: [Self; 15] = [
        Self::Start,
        Self::Save,
        Self::Pause,
        Self::Commit,
        Self::Event,
        Self::Autosave,
        Self::Safety,
        Self::Fork,
        Self::Finish,
        Self::Import,
        Self::Compact,
        Self::Clear,
        Self::Turn,
        Self::Edit,
        Self::Merge,
    ];

    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Save => "save",
            Self::Pause => "pause",
            Self::Commit => "commit",
            Self::Event => "event",
            Self::Autosave => "autosave",
            Self::Safety => "safety",
            Self::Fork => "fork",
            Self::Finish => "finish",
            Self::Import => "import",
            Self::Compact => "compact",
            Self::Clear => "clear",
            Self::Turn => "turn",
            Self::Edit => "edit",
            Self::Merge => "merge",
        }
    }
}

impl std::str::FromStr for CheckpointKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|k| k.word() == text).ok_or(())
    }
}

/// The other side of a merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "merged")]
pub struct MergedCheckpoint {
    /// The session that was merged in, by its name at that time.
    pub session: ShortName,
    /// That session's identity: of another state of the same session the same one.
    pub session_id: String,
    /// The checkpoint that was merged in, by digest.
    pub digest: Digest,
    /// The checkpoint that both sides come from, by digest; none for unrelated sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Digest>,
    /// Whether the files were merged as well.
    #[serde(default)]
    pub files: bool,
    /// Members of a later version.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
}

/// The program that wrote a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `git-checkpoint`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its build, such as the target it was compiled for.
    pub build: String,
}

/// A working tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeInfo {
    /// `main`, or `linked-` and git's own name for it.
    pub id: String,
    /// Its absolute path on the machine, C-quoted when it must be.
    pub path: String,
}

/// The trees of the snapshot commit, the second parent of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotRef {
    /// The tree of the files on disk.
    pub tree: Oid,
    /// The tree of the index.
    pub index: Oid,
    /// The umask to which `lists/modes` refers, in octal.
    pub umask: String,
    /// Members of a later version.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
}

/// The chat stored next to the document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatInfo {
    /// How many messages.
    pub messages: u64,
    /// Their tokens, as far as they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// How many chunks in `chat/`.
    pub chunks: u64,
}

/// Why bytes are not a document this program can use.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not JSON, or not of the document's form.
    #[error("the document is damaged: {0}")]
    Damaged(String),
    /// Written by a later major version.
    #[error("the document has format version {0}, newer than the version {MAJOR} this program reads")]
    Newer(u32),
}

impl Document {
    /// Subject of this checkpoint: its own subject, else the summary of the session.
    pub fn subject(&self) -> &str {
        let own = self.subject.as_deref().filter(|text| !text.trim().is_empty());
        own.or(self.record.summary.as_deref()).unwrap_or_default()
    }

    /// The occasion in words: how the trigger reads.
    pub fn occasion(&self) -> Option<String> {
        let trigger = self.trigger.as_deref()?;
        let words = match trigger {
            "merge-continue" => "conclusion of a merge",
            "before-merge" => "before a merge",
            "before-clear" => "before a clear",
            "before-removal" => "before the working tree was removed",
            "auto-save" => "automatic save",
            other => return Some(other.replace('-', " ")),
        };
        Some(words.to_owned())
    }

    /// The summary of the session that a person or agent wrote. What an automatic checkpoint of an earlier version put
    /// in its place is none.
    pub fn written_summary(&self) -> Option<&str> {
        let automatic = matches!(
            self.kind,
            CheckpointKind::Commit | CheckpointKind::Event | CheckpointKind::Compact | CheckpointKind::Clear
        );
        let record = &self.record;
        let written = !record.auto_summary && (!automatic || self.subject.is_some());
        record
            .summary
            .as_deref()
            .filter(|text| written && !text.trim().is_empty())
    }

    /// The exact bytes that are stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        json::to_bytes(self)
    }

    /// Reads a document. Checks its form, not its digest: that is for callers that know the digest.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let value = json::parse(bytes, SIZE_LIMIT).map_err(|e| Error::Damaged(e.to_string()))?;
        let schema = value.get("schema").and_then(Value::as_str).unwrap_or_default();
        match schema_major(schema) {
            Some(MAJOR) => json::from_value(value).map_err(|e| Error::Damaged(json::words(&e))),
            Some(major) if major > MAJOR => Err(Error::Newer(major)),
            _ => Err(Error::Damaged(format!(
                "'{}' is not a schema of git-checkpoint",
                schema.escape_debug()
            ))),
        }
    }
}

/// The major version a schema names: `git-checkpoint/N` or `git-checkpoint/N.minor`.
pub fn schema_major(schema: &str) -> Option<u32> {
    let version = schema.strip_prefix("git-checkpoint/")?;
    let major = version.split_once('.').map_or(version, |(major, _)| major);
    major
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| major.parse().ok())
        .flatten()
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use serde_json::Map;

    use super::*;

    /// A document with every member that matters, for tests here and elsewhere.
    pub(crate) fn sample() -> Document {
        let at = Timestamp::from_unix(1_767_323_045, 3600);
        Document {
            schema: SCHEMA.into(),
            session: Session {
                id: "a".repeat(26),
                name: ShortName::new("auth").expect("valid"),
                title: None,
                status: SessionStatus::Active,
                kind: None,
                feature: None,
                feature_id: None,
                task_id: None,
                task_state: None,
                issues: vec![],
                agent: Some("claude".into()),
                task: None,
                created_at: at,
                forked_from: None,
                metadata: Map::new(),
                claim: None,
                unknown: Map::new(),
            },
            name: None,
            kind: CheckpointKind::Start,
            trigger: None,
            turn: None,
            request: None,
            created_at: at,
            tool: Tool {
                name: "git-checkpoint".into(),
                version: "0.1.0".into(),
                build: "test".into(),
            },
            host: "laptop".into(),
            worktree: WorktreeInfo {
                id: "main".into(),
                path: "/home/ana/proj".into(),
            },
            subject: None,
            record: Record::default(),
            git: GitFacts::default(),
            snapshot: None,
            trees: BTreeMap::new(),
            encrypted: None,
            chat: None,
            transcripts: Vec::new(),
            tokens: None,
            compaction: None,
            previous: None,
            merged: None,
            restored_from: None,
            restored_part: false,
            put_aside: Vec::new(),
            folded: BTreeMap::new(),
            included: None,
            unknown: Map::new(),
        }
    }

    #[test]
    fn a_document_comes_back_byte_for_byte() {
        let mut document = sample();
        document.folded.insert("draft".into(), 12);
        document
            .unknown
            .insert("later".into(), serde_json::json!({"n": [1, 2.50]}));
        let bytes = document.to_bytes();
        let back = Document::from_bytes(&bytes).expect("own output");
        assert_eq!(back, document);
        assert_eq!(back.to_bytes(), bytes);
        assert!(bytes.starts_with(b"{\n  \"schema\": \"git-checkpoint/1\",\n  \"session\": {\n    \"id\""));
    }

    #[test]
    fn later_members_are_kept_with_their_digits() {
        let text = String::from_utf8(sample().to_bytes()).expect("UTF-8");
        let text = text.replacen("\"host\"", "\"weight\": 1.000,\n  \"host\"", 1);
        let document = Document::from_bytes(text.as_bytes()).expect("same major");
        assert_eq!(document.unknown["weight"].to_string(), "1.000");
    }

    #[test]
    fn newer_and_damaged_are_told_apart() {
        let text = String::from_utf8(sample().to_bytes()).expect("UTF-8");
        let with = |schema: &str| Document::from_bytes(text.replace("git-checkpoint/1", schema).as_bytes());
        assert!(with("git-checkpoint/1.4").is_ok());
        assert!(matches!(with("git-checkpoint/2"), Err(Error::Newer(2))));
        assert!(matches!(with("git-checkpoint/"), Err(Error::Damaged(_))));
        assert!(matches!(with("other/1"), Err(Error::Damaged(_))));
        assert!(matches!(Document::from_bytes(b"{}"), Err(Error::Damaged(_))));
    }

    proptest! {
        #[test]
        fn mutated_documents_never_panic(at in 0usize..900, byte in any::<u8>()) {
            let mut bytes = sample().to_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = Document::from_bytes(&bytes);
        }
    }
}
