//! The database of OpenCode, `opencode.db`: its sessions in the form of `opencode export`.
//!
//! Nothing is written, and the program may be at work: the write-ahead log is read with the file.

use std::collections::BTreeMap;

use rusqlite::types::Value as Cell;
use serde_json::{Map, Value, json};

use super::sqlite::{Database, MAGIC};

/// A session of the database.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseSession {
    /// The directory it works in.
    pub directory: String,
    /// When it changed last, in milliseconds since 1970.
    pub updated: i64,
    /// The session as a document: `info`, and `messages` with `info` and `parts`.
    pub document: Value,
}

/// Whether these bytes begin a database.
pub fn is_database(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The sessions of people, the latest last; those of helpers are left out. `log` is the write-ahead log. What could not be
/// read is added to `damage`.
pub fn sessions(bytes: &[u8], log: Option<&[u8]>, damage: &mut Vec<String>) -> Result<Vec<DatabaseSession>, String> {
    let database = Database::open(bytes, log)?;
    damage.extend(database.damage().map(str::to_owned));
    let mut rows = |name: &str| -> Result<Vec<BTreeMap<String, Cell>>, String> {
        if !database.tables().iter().any(|table| table == name) {
            return Err(format!("it has no table '{name}', so it is none of OpenCode"));
        }
        let mut table = database.rows(name);
        damage.extend(table.damage.take().map(|why| format!("'{name}': {why}")));
        let named = |cells: Vec<Cell>| table.columns.iter().cloned().zip(cells).collect();
        Ok(table.rows.into_iter().map(named).collect())
    };
    let mut parts = BTreeMap::<String, Vec<(String, Value)>>::new();
    for row in rows("part")? {
        let id = text(&row, "id");
        let mut part = object(&row, "data");
        part.insert("id".to_owned(), id.as_str().into());
        part.insert("messageID".to_owned(), text(&row, "message_id").into());
        part.insert("sessionID".to_owned(), text(&row, "session_id").into());
        parts
            .entry(text(&row, "message_id"))
            .or_default()
            .push((id, part.into()));
    }
    let mut messages = BTreeMap::<String, Vec<(i64, String, Value)>>::new();
    for row in rows("message")? {
        let id = text(&row, "id");
        let mut info = object(&row, "data");
        info.insert("id".to_owned(), id.as_str().into());
        info.insert("sessionID".to_owned(), text(&row, "session_id").into());
        let mut own = parts.remove(&id).unwrap_or_default();
        own.sort_by(|one, other| one.0.cmp(&other.0));
        let own: Vec<Value> = own.into_iter().map(|(_, part)| part).collect();
        let message = json!({ "info": info, "parts": own });
        let of = messages.entry(text(&row, "session_id")).or_default();
        of.push((integer(&row, "time_created"), id, message));
    }
    let mut sessions = Vec::new();
    for row in rows("session")? {
        if !text(&row, "parent_id").is_empty() {
            continue;
        }
        let id = text(&row, "id");
        let mut own = messages.remove(&id).unwrap_or_default();
        own.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        let own: Vec<Value> = own.into_iter().map(|(_, _, message)| message).collect();
        let mut info = Map::new();
        for (name, column) in [
            ("id", "id"),
            ("slug", "slug"),
            ("projectID", "project_id"),
            ("directory", "directory"),
            ("title", "title"),
            ("version", "version"),
        ] {
            info.insert(name.to_owned(), text(&row, column).into());
        }
        let updated = integer(&row, "time_updated");
        let time = json!({ "created": integer(&row, "time_created"), "updated": updated });
        info.insert("time".to_owned(), time);
        sessions.push(DatabaseSession {
            directory: text(&row, "directory"),
            updated,
            document: json!({ "info": info, "messages": own }),
        });
    }
    sessions.sort_by_key(|session| session.updated);
    Ok(sessions)
}

fn text(row: &BTreeMap<String, Cell>, column: &str) -> String {
    match row.get(column) {
        Some(Cell::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

fn integer(row: &BTreeMap<String, Cell>, column: &str) -> i64 {
    match row.get(column) {
        Some(Cell::Integer(number)) => *number,
        _ => 0,
    }
}

fn object(row: &BTreeMap<String, Cell>, column: &str) -> Map<String, Value> {
    match serde_json::from_str(&text(row, column)) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_of_the_database_reads_as_an_export() {
        let bytes = include_bytes!("../../fixtures/agents/opencode.db");
        assert!(is_database(bytes));
        let sessions = sessions(bytes, None, &mut Vec::new()).expect("a database");
        assert_eq!(sessions.len(), 1, "helpers are left out");
        assert_eq!(sessions[0].directory, "/home/dev/project");
        let document = &sessions[0].document;
        let ids = |of: &Value| -> Vec<String> {
            let of = of.as_array().expect("a list").iter();
            of.map(|one| {
                one.pointer("/info/id")
                    .unwrap_or(&one["id"])
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect()
        };
        assert_eq!(document["info"]["title"], "Greeting");
        assert_eq!(ids(&document["messages"]), ["msg_1", "msg_2"]);
        let answer = &document["messages"][1];
        assert_eq!(ids(&answer["parts"]), ["prt_2", "prt_3"]);
        assert_eq!(answer["info"]["tokens"]["input"], 1200);
        assert_eq!(document["messages"][0]["parts"][0]["text"], "Create hello.txt");
        // Longer than a page: it has overflow pages.
        let text = answer["parts"][1]["text"].as_str().expect("a text");
        assert!(text.starts_with("Done: long answer") && text.len() > 3000);
    }

    #[test]
    fn damage_is_said_and_the_rest_read() {
        let bytes = include_bytes!("../../fixtures/agents/opencode.db").to_vec();
        let mut said = 0;
        for len in [0, 16, 100, 1024, bytes.len() / 2, bytes.len() - 1] {
            let mut damage = Vec::new();
            let read = sessions(&bytes[..len], None, &mut damage);
            assert!(read.is_err() || !damage.is_empty(), "{len}");
            said += damage.len();
        }
        assert!(said > 0);
        assert!(sessions(b"SQLite format 3\0", None, &mut Vec::new()).is_err());
    }
}
