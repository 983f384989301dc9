//! A session as a folder: every checkpoint a file with its state and the SHA-256 of it, and the record next to that.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::export::{self, ExportFiles, ExportInput};
use crate::model::{id::Digest, json as strict, session::SessionStatus};

/// Writes `session.json`, `state.json`, `checkpoints/cp-<n>.json` for each document, the log, and attachments as
/// artifacts.
pub(in super::super) fn write(out: &ExportInput<'_>) -> ExportFiles {
    let latest = out.latest();
    let session = &latest.session;
    let status = match session.status {
        // The pattern knows no pause; a session that can be taken up again is interrupted in its words.
        SessionStatus::Paused => "interrupted",
        status => status.word(),
    };
    let mut members = serde_json::to_value(session).expect("a session is plain data");
    if let Value::Object(members) = &mut members {
        for own in ["id", "name", "status", "created_at", "forked_from", "metadata"] {
            members.shift_remove(own);
        }
    }
    let head = json!({
        "id": session.name,
        "status": status,
        "createdAt": session.created_at.to_string(),
        "updatedAt": latest.created_at.to_string(),
        "session": members,
    });
    let state = |record: &crate::model::record::Record| record.state.clone().unwrap_or_else(|| json!({}));
    let mut files = vec![
        ("session.json".to_owned(), export::json(&head)),
        ("state.json".to_owned(), export::json(&state(&latest.record))),
    ];
    for (document, n) in out.documents.iter().zip(1..) {
        let record = &document.record;
        let mut kept = serde_json::to_value(record).expect("a record is plain data");
        if let Value::Object(kept) = &mut kept {
            for elsewhere in ["state", "attachments"] {
                kept.shift_remove(elsewhere);
            }
        }
        let state = state(record);
        let integrity = Digest::of(&serde_json::to_vec(&state).expect("JSON is plain data"));
        let mut tree = Map::new();
        tree.insert("id".into(), format!("cp-{n:03}").into());
        tree.insert("version".into(), "1.0.0".into());
        if let Some(name) = &document.name {
            tree.insert("name".into(), name.to_string().into());
        }
        tree.insert("timestamp".into(), document.created_at.to_string().into());
        if let Some(step) = &record.step {
            tree.insert("step".into(), step.n.into());
            tree.insert("totalSteps".into(), step.of.into());
        }
        tree.insert("description".into(), record.summary.clone().unwrap_or_default().into());
        tree.insert("state".into(), state);
        tree.insert("record".into(), kept);
        tree.insert("integrity".into(), integrity.hex().into());
        files.push((
            format!("checkpoints/cp-{n:03}.json"),
            export::json(&Value::Object(tree)),
        ));
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
