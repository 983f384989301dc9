//! Session files for Pi: `sessions/--<slug of the directory>--/<time>_<id>.jsonl`.

use std::path::PathBuf;

use serde_json::Value;

use super::super::session_file::{SessionCopy, SessionFile};

pub(super) fn session_file(copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
    let id = copy.id()?;
    let first = copy.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let header: Value = serde_json::from_slice(first).unwrap_or_default();
    let time = header.get("timestamp").and_then(Value::as_str);
    let time = time.map_or_else(|| copy.now.to_string(), str::to_owned);
    let time: String = time
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let directory = copy.directory();
    let directory = directory.trim_start_matches('/').replace(['/', '\\', ':'], "-");
    Ok(SessionFile {
        path: PathBuf::from("sessions")
            .join(format!("--{directory}--"))
            .join(format!("{time}_{id}.jsonl")),
        bytes: copy.relocated(&[])?,
        also: Vec::new(),
        id,
    })
}
