//! JSON for the record as users give it: fields that no record has are reported, and next steps replace earlier ones.

use serde_json::{Value, json};

use super::Context;
use crate::{model::spelling::similar, render::schemas};

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

/// Warns of members of the record, at any depth, that no record has: nothing acts on them.
pub(super) fn warn_unknown(context: &Context, record: &Value) {
    for member in schemas::unknown_members(record) {
        let path = &member.path;
        let name = path.rsplit('.').next().unwrap_or(path);
        let outcome = if member.is_kept {
            "is kept as it is"
        } else {
            "is not kept"
        };
        let near = similar(name, member.known.iter().map(String::as_str));
        let near = match near {
            Some(near) => format!("did you mean '{near}'?"),
            None if path.contains('.') => "see: git checkpoint help record".to_owned(),
            None => "use 'state' or 'extra' for your own fields".to_owned(),
        };
        context
            .ui
            .warning(&format!("unknown record field '{path}' {outcome}; {near}"));
    }
}
