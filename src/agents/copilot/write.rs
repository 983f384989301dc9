//! Session files for Copilot CLI: `session-state/<id>/events.jsonl`. What else is in that directory the program makes anew.

use std::path::PathBuf;

use super::super::session_file::{SessionCopy, SessionFile};

pub(super) fn session_file(copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
    let id = copy.id()?;
    Ok(SessionFile {
        path: PathBuf::from("session-state").join(&id).join("events.jsonl"),
        bytes: copy.relocated(&[])?,
        also: Vec::new(),
        id,
    })
}
