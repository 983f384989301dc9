//! Rows of a SQLite database as JSON.

use std::collections::BTreeMap;

use rusqlite::types::Value as Cell;
use serde_json::{Map, Value, json};

use super::{
    File,
    sqlite::{Database, TableRows},
    wrappers,
};

/// Columns that hold JSON.
const JSON: [&str; 11] = [
    "checkpoint_data",
    "metadata",
    "data",
    "child_pids",
    "capabilities",
    "votes",
    "value",
    "result",
    "state",
    "stats",
    "context",
];

/// The rows of a database by table.
pub(super) type Rows = BTreeMap<String, Vec<Map<String, Value>>>;

/// The rows of a database, as far as it can be read, without its log.
pub(super) fn rows_of(file: &File) -> Rows {
    let mut out = Rows::new();
    let Ok(database) = Database::open(&file.bytes, None) else {
        return out;
    };
    for table in database.tables() {
        out.insert(table.clone(), objects(database.rows(table)).collect());
    }
    out
}

/// The rows as JSON objects, by the names of their columns.
pub(super) fn objects(table: TableRows) -> impl Iterator<Item = Map<String, Value>> {
    let TableRows { columns, rows, .. } = table;
    rows.into_iter().map(move |cells| {
        let named = columns.iter().zip(cells);
        named
            .filter_map(|(name, cell)| Some((name.clone(), value(name, cell)?)))
            .collect()
    })
}

/// A cell as JSON; `None` for NULL.
fn value(column: &str, cell: Cell) -> Option<Value> {
    Some(match cell {
        Cell::Null => return None,
        Cell::Integer(number) => number.into(),
        Cell::Real(number) => {
            serde_json::Number::from_f64(number).map_or_else(|| number.to_string().into(), Value::Number)
        }
        Cell::Text(text) if JSON.contains(&column) || text.starts_with("__compressed__") => wrappers::inside(&text),
        Cell::Text(text) => text.into(),
        Cell::Blob(bytes) => match String::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(error) => {
                let mut digits = String::new();
                for byte in error.as_bytes() {
                    digits.push_str(&format!("{byte:02x}"));
                }
                json!({ "hex": digits })
            }
        },
    })
}
