//! Session files for Codex: `sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`.

use std::path::PathBuf;

use serde_json::Value;

use super::super::session_file::{SessionCopy, SessionFile};

pub(super) fn session_file(copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
    let id = copy.id()?;
    let first = copy.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first: Value = serde_json::from_slice(first).unwrap_or_default();
    if first
        .pointer("/payload/history_base")
        .is_some_and(|base| !base.is_null())
    {
        return Err("it is a fork whose history is in the file of another session".to_owned());
    }
    let time = first.pointer("/payload/timestamp").or_else(|| first.get("timestamp"));
    let time = time
        .and_then(Value::as_str)
        .filter(|time| time.len() >= 19 && time.is_ascii())
        .map_or_else(|| copy.now.to_string(), str::to_owned);
    let (day, hour) = time
        .get(..19)
        .and_then(|time| time.split_once('T'))
        .ok_or("its time cannot be read")?;
    let name = format!("rollout-{day}T{}-{id}.jsonl", hour.replace(':', "-"));
    let mut path = PathBuf::from("sessions");
    path.extend(day.split('-'));
    Ok(SessionFile {
        path: path.join(name),
        bytes: copy.relocated(&[])?,
        also: Vec::new(),
        id,
    })
}
