//! Session files for Gemini CLI: `tmp/<slot>/chats/session-<minute>-<beginning of the id>.jsonl`. Which slot a directory
//! has is in `projects.json`; a slot has its directory in `.project_root`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::{
    Layout,
    session_file::{SessionCopy, SessionFile, sha256, slug},
};

pub(super) fn session_file(copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
    let id = copy.id()?;
    let directory = copy.directory();
    let slot = slot(copy, &directory);
    let first = match copy.layout {
        Layout::Document => copy.bytes,
        _ => copy.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default(),
    };
    let header: Value = serde_json::from_slice(first).unwrap_or_default();
    let time = header.get("startTime").and_then(Value::as_str);
    let time = time
        .filter(|time| time.len() >= 16 && time.is_ascii())
        .map_or_else(|| copy.now.to_string(), str::to_owned);
    let minute = time.get(..16).unwrap_or_default().replace(':', "-");
    let end = if copy.layout == Layout::Document {
        "json"
    } else {
        "jsonl"
    };
    let name = format!("session-{minute}-{}.{end}", id.get(..8).unwrap_or(&id));
    let old = copy.facts.directory.as_deref().unwrap_or(copy.from);
    let mut pairs = vec![(sha256(old), sha256(&directory))];
    if let Some(hash) = header.get("projectHash").and_then(Value::as_str) {
        pairs.push((hash.to_owned(), sha256(&directory)));
    }
    let own = PathBuf::from("tmp").join(&slot);
    Ok(SessionFile {
        path: own.join("chats").join(name),
        bytes: copy.relocated(&pairs)?,
        also: vec![(own.join(".project_root"), directory.into_bytes())],
        id,
    })
}

/// The slot that the program has for a directory, or the one that it would choose.
fn slot(copy: &SessionCopy<'_>, directory: &str) -> String {
    let registry = (copy.read)(Path::new("projects.json"));
    let registry: Value = registry
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let known = registry
        .pointer("/projects")
        .and_then(|projects| projects.get(directory));
    if let Some(known) = known.and_then(Value::as_str)
        && !known.contains(['/', '\\'])
        && !known.starts_with('.')
    {
        return known.to_owned();
    }
    let base = Path::new(directory)
        .file_name()
        .map(|name| name.to_string_lossy().to_lowercase());
    let base = base.map_or_else(|| "project".to_owned(), |name| slug(&name));
    let base = base.trim_matches('-');
    let base = if base.is_empty() { "project" } else { base };
    let root_of = |slot: &str| (copy.read)(&Path::new("tmp").join(slot).join(".project_root"));
    let mut names = std::iter::once(base.to_owned()).chain((1..1000).map(|n| format!("{base}-{n}")));
    let is_free = |slot: &String| root_of(slot).is_none_or(|root| root.trim_ascii() == directory.as_bytes());
    names.find(is_free).unwrap_or_else(|| base.to_owned())
}
