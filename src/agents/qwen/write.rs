//! Session files for Qwen Code: `projects/<slug of the directory>/chats/<id>.jsonl`.

use std::path::PathBuf;

use super::super::session_file::{SessionCopy, SessionFile, slug};

pub(super) fn session_file(copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
    let id = copy.id()?;
    let directory = slug(&copy.directory());
    Ok(SessionFile {
        path: PathBuf::from("projects")
            .join(directory)
            .join("chats")
            .join(format!("{id}.jsonl")),
        bytes: copy.relocated(&[])?,
        also: Vec::new(),
        id,
    })
}
