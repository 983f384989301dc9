//! The member `session` of the JSON of `save --record`: what the session is about.

use serde_json::Value;

use super::error::{CommandError, FailureKind};

/// Members of the session that a save may set.
const MEMBERS: [&str; 9] = [
    "title",
    "type",
    "feature",
    "feature_id",
    "task",
    "task_id",
    "task_state",
    "issues",
    "metadata",
];

/// Takes the member out of the JSON. It is a merge patch for the session; null removes a member.
pub(super) fn take(record: &mut Value) -> Result<Option<Value>, CommandError> {
    let Some(session) = record.as_object_mut().and_then(|record| record.shift_remove("session")) else {
        return Ok(None);
    };
    let refuse = |text: String| {
        let error = CommandError::new(FailureKind::Invalid, text);
        Err(error.hint(format!("members of 'session': {}", MEMBERS.join(", "))))
    };
    let Some(members) = session.as_object() else {
        return refuse("'session' must be an object".to_owned());
    };
    if let Some(other) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        return refuse(format!("'session.{}' cannot be set", other.escape_debug()));
    }
    Ok(Some(session))
}

/// The error for an amendment, which changes no session.
pub(super) fn not_amended() -> CommandError {
    CommandError::new(FailureKind::Usage, "--amend does not change the session")
        .hint("save it as another checkpoint: git checkpoint save --record <file>")
}
