//! A session as a directory in the form of the pattern's own code: every checkpoint a file with its state and a SHA-256
//! of the document, and the record next to that.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    super::export::{self, ExportFiles, ExportInput},
    SYSTEM, script,
};
use crate::model::{id::Digest, json as strict, session::SessionStatus, time::Timestamp};

/// Writes `session.json`, `state.json`, `checkpoints/<session>-<milliseconds>.json` for each document, the log, and attachments as
/// artifacts.
pub(in super::super) fn write(out: &ExportInput<'_>) -> ExportFiles {
    let latest = out.latest();
    let session = &latest.session;
    let status = match session.status {
        // The pattern knows no pause; a session that can be resumed is interrupted in its words.
        SessionStatus::Paused => "interrupted",
        status => status.word(),
    };
    let mut members = serde_json::to_value(session).expect("a session is plain data");
    if let Value::Object(members) = &mut members {
        for own in ["id", "name", "status", "created_at", "forked_from", "metadata"] {
            members.shift_remove(own);
        }
    }
    let state = |record: &crate::model::record::Record| record.state.clone().unwrap_or_default();
    let mut kept = export::object(export::own(&latest.record, SYSTEM).remove("session"));
    let head = json!({
        "id": session.name,
        "version": "1.0.0",
        "createdAt": moment(session.created_at),
        "updatedAt": moment(latest.created_at),
        "status": status,
        "config": kept.remove("config").unwrap_or_else(|| json!({})),
        "state": state(&latest.record),
        "session": members,
    });
    let mut files = vec![("session.json".to_owned(), export::json(&head))];
    if latest.record.state.is_some() {
        files.push(("state.json".to_owned(), export::json(&state(&latest.record))));
    }
    let mut ids = BTreeSet::new();
    for document in out.documents {
        let record = &document.record;
        let mut kept = serde_json::to_value(record).expect("a record is plain data");
        if let Value::Object(kept) = &mut kept {
            for elsewhere in ["state", "attachments"] {
                kept.shift_remove(elsewhere);
            }
        }
        // The pattern's own code finds the checkpoints of a session by its id, and their times by the number.
        let mut ms = document.created_at.to_chrono().timestamp_millis();
        while !ids.insert(ms) {
            ms += 1;
        }
        let id = format!("{}-{ms}", session.name);
        let mut tree = Map::new();
        tree.insert("id".into(), id.clone().into());
        tree.insert("version".into(), "1.0.0".into());
        tree.insert("timestamp".into(), moment(document.created_at).into());
        tree.insert("state".into(), state(record));
        let mut metadata = json!({ "description": record.summary.clone().unwrap_or_default() });
        if let Some(step) = &record.step {
            metadata["step"] = step.n.into();
            metadata["totalSteps"] = step.of.into();
        }
        tree.insert("metadata".into(), metadata);
        tree.insert("integrity".into(), "".into());
        if let Some(name) = &document.name {
            tree.insert("name".into(), name.to_string().into());
        }
        tree.insert("record".into(), kept);
        // The digest of the document with this member empty, as JavaScript writes it.
        let whole = Value::Object(tree.clone());
        tree.insert(
            "integrity".into(),
            Digest::of(script::text(&whole).as_bytes()).hex().into(),
        );
        files.push((format!("checkpoints/{id}.json"), export::json(&Value::Object(tree))));
    }
    if !out.log.is_empty() {
        let lines = out.log.iter().map(|line| {
            let mut line = export::object(Some(line.clone()));
            if let Some(at) = line.shift_remove("at") {
                line.insert("timestamp".into(), at);
            }
            strict::to_line(&Value::Object(line))
        });
        files.push(("logs/session.log".to_owned(), lines.flatten().collect()));
    }
    let mut taken = BTreeSet::new();
    for attachment in out.attachments {
        let name = free(&plain(&attachment.name), &mut taken);
        files.push((format!("artifacts/{name}"), attachment.bytes.clone()));
    }
    ExportFiles(files)
}

/// A time in the form of JavaScript's dates where it has no more than milliseconds.
fn moment(at: Timestamp) -> String {
    let time = at.to_chrono();
    let is_plain = time.offset().local_minus_utc() == 0 && time.timestamp_subsec_nanos().is_multiple_of(1_000_000);
    if is_plain {
        return time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    }
    at.to_string()
}

/// A name that any system takes as that of one file.
fn plain(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept: String = last
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .take(100)
        .collect();
    let kept = kept.trim_start_matches('.').trim_end_matches('.');
    if kept.is_empty() {
        "file".to_owned()
    } else {
        kept.to_owned()
    }
}

fn free(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut n = 1;
    let mut unique = name.to_owned();
    // Some file systems take upper and lower case as the same.
    while !taken.insert(unique.to_lowercase()) {
        n += 1;
        unique = format!("{n}-{name}");
    }
    unique
}
