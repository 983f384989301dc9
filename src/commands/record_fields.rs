//! JSON for the record as users give it: fields that no record has are reported, and next steps replace earlier ones.

use serde_json::{Value, json};

use super::{Context, usage};
use crate::render::schemas;

/// The changes that this JSON asks for. Next steps replace the earlier ones, as those of '--next' do; a list of parts,
/// which change the steps that are there, is merged.
pub(super) fn changes(record: Value) -> Vec<Value> {
    let is_whole = |step: &Value| step.is_string() || step.get("text").is_some_and(Value::is_string);
    let replaces = record
        .get("next_steps")
        .and_then(Value::as_array)
        .is_some_and(|steps| !steps.is_empty() && steps.iter().all(is_whole));
    let before = replaces.then(|| json!({ "next_steps": null }));
    before.into_iter().chain([record]).collect()
}

/// Warns of members of the record and of its items that no record has: they are kept, but nothing acts on them.
pub(super) fn warn_unknown(context: &Context, record: &Value) {
    let known = schemas::record_members();
    let given = record.as_object().into_iter().flatten();
    for (member, value) in given.filter(|(_, value)| !value.is_null()) {
        if !known.contains(member) {
            let other = "use 'state' or 'extra' for your own fields";
            warn(context, member, &known, other);
            continue;
        }
        let Some(known) = schemas::item_members(member) else {
            continue;
        };
        let items = value.as_array().into_iter().flatten().filter_map(Value::as_object);
        let unknown = items
            .flat_map(serde_json::Map::keys)
            .filter(|name| !known.contains(name));
        let unknown: std::collections::BTreeSet<&String> = unknown.collect();
        for name in unknown {
            warn(
                context,
                &format!("{member}[].{name}"),
                &known,
                "see: git checkpoint help record",
            );
        }
    }
}

fn warn(context: &Context, member: &str, known: &[String], other: &str) {
    let name = member.rsplit('.').next().unwrap_or(member);
    let near = usage::similar(name, known.iter().map(String::as_str));
    let near = near.map_or_else(|| other.to_owned(), |near| format!("did you mean '{near}'?"));
    context
        .ui
        .warning(&format!("unknown record field '{member}' is kept as it is; {near}"));
}
