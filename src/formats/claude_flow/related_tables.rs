//! Conversion of the tables around a session: tasks, decisions, memory and others.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    super::{
        fields::ObjectFields,
        notes::{NoteItem, RecordNotes, task_status},
    },
    hive::Tables,
};

/// The tables around a session: tasks, decisions and memory into the record, the rest into `extra`.
pub(super) fn others(tables: Tables, notes: &mut RecordNotes, rest: &mut ObjectFields) {
    let mut agents: BTreeMap<String, String> = BTreeMap::new();
    for row in tables.get("agents").into_iter().flatten() {
        if let (Some(id), Some(name)) = (row.peek_id("id"), row.peek_text("name")) {
            agents.insert(id, name.to_owned());
        }
    }
    for (table, rows) in tables {
        let mut kept = Vec::new();
        for mut row in rows {
            let take = |row: &mut ObjectFields, keys: &[&str]| keys.iter().find_map(|key| row.text(key));
            row.take("swarm_id");
            let item = match table.as_str() {
                "tasks" => take(&mut row, &["description", "title"]).map(|text| {
                    let agent = row.peek_id("agent_id").and_then(|id| agents.get(&id)).cloned();
                    let word = row.peek_text("status").unwrap_or_default().to_owned();
                    let status = task_status(&word);
                    (
                        "tasks",
                        NoteItem::new(text).with("status", Some(status)).with("agent", agent),
                    )
                }),
                "consensus_decisions" => take(&mut row, &["topic"]).map(|topic| {
                    let decision = take(&mut row, &["decision"]);
                    let text = decision.map_or_else(|| topic.clone(), |decision| format!("{topic}: {decision}"));
                    ("decisions", NoteItem::new(text))
                }),
                "collective_memory" => take(&mut row, &["key"]).map(|key| ("memory_refs", NoteItem::new(key))),
                _ => None,
            };
            match item {
                Some((list, item)) => {
                    let item = item.with_id(row.id("id")).at(row.time("created_at"));
                    notes.add(list, item.and(row));
                }
                None => kept.push(Value::Object(row.rest())),
            }
        }
        if !kept.is_empty() {
            rest.put(&table, Value::Array(kept));
        }
    }
}
