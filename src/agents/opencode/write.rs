//! Sessions for OpenCode: the document that `opencode import` reads. The program keeps sessions in a database of its own.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::session_file::{SessionCopy, SessionFile, sha256};

pub(super) fn session_file(copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
    let id = copy.id()?;
    let bytes = copy.relocated(&[])?;
    let mut document: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    if let Some(fresh) = copy.fresh_id {
        rename(&mut document, fresh);
    }
    let Some(info) = document.get_mut("info").and_then(Value::as_object_mut) else {
        return Err("it does not say which session it is".to_owned());
    };
    let now = copy.now.to_chrono().timestamp_millis();
    info.insert("id".to_owned(), id.as_str().into());
    for (name, value) in [
        ("slug", json!("git-checkpoint")),
        ("projectID", json!("global")),
        ("directory", json!(copy.directory())),
        ("title", json!("Resumed by git checkpoint")),
        ("version", json!("1.0.0")),
        ("time", json!({ "created": now, "updated": now })),
    ] {
        info.entry(name).or_insert(value);
    }
    let mut bytes = serde_json::to_vec_pretty(&document).map_err(|error| error.to_string())?;
    bytes.push(b'\n');
    Ok(SessionFile {
        path: PathBuf::from("git-checkpoint").join(format!("{id}.json")),
        bytes,
        also: Vec::new(),
        id,
    })
}

/// Characters of an id that are random; what is before them is the time, by which the program sorts.
const RANDOM: usize = 14;

/// Gives messages and parts ids of their own, since the database has each id once.
fn rename(value: &mut Value, fresh: &str) {
    match value {
        Value::String(text) => {
            let is_id = text.starts_with("msg_") || text.starts_with("prt_");
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if is_id && text.len() > RANDOM + 4 && text.chars().all(plain) {
                let digits = sha256(&format!("{fresh} {text}"));
                let start = text.len() - RANDOM;
                text.replace_range(start.., &digits[..RANDOM]);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, fresh)),
        Value::Object(members) => members.values_mut().for_each(|value| rename(value, fresh)),
        _ => {}
    }
}
