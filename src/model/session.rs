//! A session as its documents know it: its identity and state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{claim::Claim, id::Digest, json, name::ShortName, patch, record::UnknownMembers, time::Timestamp};

/// A session by identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRef {
    /// Its identity.
    pub id: String,
    /// The name it had.
    pub name: ShortName,
}

/// A session, as a checkpoint knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "session")]
pub struct Session {
    /// Its identity: 26 base32 characters, set by its first document and never changed.
    pub id: String,
    /// Its name when this was written; the ref alone gives the current one.
    pub name: ShortName,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// State.
    pub status: SessionStatus,
    /// The caller's type, such as `feature`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The feature it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// The feature's id elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature_id: Option<String>,
    /// The task's id elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The task's state elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_state: Option<String>,
    /// Tracker issues.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<String>,
    /// The agent that works in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The task in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// When it was started.
    pub created_at: Timestamp,
    /// Where a fork came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkSource>,
    /// Who works on it alone for now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Anything else the caller wants kept.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Members of a later version.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
}

impl Session {
    /// Whether a text has the form of an identity: 26 base32 characters.
    pub fn is_identity(text: &str) -> bool {
        text.len() == 26 && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
    }

    /// Whether a JSON merge patch could be applied to a session, which fails with what could not.
    pub fn check(patch: &Value) -> Result<(), patch::Error> {
        let session = Self {
            id: String::new(),
            name: ShortName::slug("x", "x"),
            title: None,
            status: SessionStatus::Active,
            kind: None,
            feature: None,
            feature_id: None,
            task_id: None,
            task_state: None,
            issues: Vec::new(),
            agent: None,
            task: None,
            created_at: Timestamp::from_unix(0, 0),
            forked_from: None,
            claim: None,
            metadata: Map::new(),
            unknown: Map::new(),
        };
        session.patched(patch).map(|_| ())
    }

    /// The session with a JSON merge patch applied. What identifies it (`id`, `name`, `created_at`, `forked_from`)
    /// stays as it is whatever the patch has.
    pub fn patched(&self, patch: &Value) -> Result<Self, patch::Error> {
        let Value::Object(patch) = patch else {
            return Err(patch::Error::NotAnObject);
        };
        let mut patch = patch.clone();
        for fixed in ["id", "name", "created_at", "forked_from"] {
            patch.shift_remove(fixed);
        }
        let mut value = serde_json::to_value(self).expect("a session is plain data");
        json::merge_patch(&mut value, Value::Object(patch));
        json::from_value(value).map_err(|e| patch::Error::Member {
            member: "session".into(),
            reason: json::words(&e),
        })
    }
}

/// State of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "status")]
pub enum SessionStatus {
    /// Being worked on.
    Active,
    /// Put aside.
    Paused,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
}

impl SessionStatus {
    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// Whether the session has ended.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

impl std::str::FromStr for SessionStatus {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Active, Self::Paused, Self::Completed, Self::Failed]
            .into_iter()
            .find(|s| s.word() == text)
            .ok_or(())
    }
}

/// The source of a fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkSource {
    /// The digest of the checkpoint.
    pub digest: Digest,
    /// The name of its session then.
    pub session: ShortName,
    /// The option of a fork point that the fork explores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// The id of that fork point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_point: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::{super::document::tests::sample, *};

    #[test]
    fn a_patch_cannot_change_who_the_session_is() {
        let patch = serde_json::json!({"id": "x", "name": "other", "status": "paused", "issues": ["A-1"]});
        let session = sample().session.patched(&patch).expect("valid");
        assert_eq!((session.id, session.name), (sample().session.id, sample().session.name));
        assert_eq!(
            (session.status, session.issues),
            (SessionStatus::Paused, vec!["A-1".to_owned()])
        );
        assert!(
            sample()
                .session
                .patched(&serde_json::json!({"status": "dancing"}))
                .is_err()
        );
    }
}
