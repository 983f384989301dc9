//! The published JSON schemas (JSON Schema 2020-12) of what `--json` prints: one file each, named like the thing in
//! `"schema": "git-checkpoint.<thing>/1"`.
//!
//! Readers should ignore members they do not know: later versions may add some. Definitions that several schemas share
//! are in `common.json`; what is printed holds those it needs, so that each schema is complete by itself. The tests run
//! every command and hold its output against these files.

use serde_json::{Map, Value};

/// Definitions that several schemas use.
const COMMON: &str = include_str!("common.json");

/// The name and text of each schema, by name.
const FILES: &[(&str, &str)] = &[
    ("clear", include_str!("clear.json")),
    ("compact", include_str!("compact.json")),
    ("compare", include_str!("compare.json")),
    ("delete", include_str!("delete.json")),
    ("diff", include_str!("diff.json")),
    ("document", include_str!("document.json")),
    ("draft", include_str!("draft.json")),
    ("error", include_str!("error.json")),
    ("export", include_str!("export.json")),
    ("exported", include_str!("exported.json")),
    ("fetch", include_str!("fetch.json")),
    ("fork", include_str!("fork.json")),
    ("help", include_str!("help.json")),
    ("hooks", include_str!("hooks.json")),
    ("import", include_str!("import.json")),
    ("items", include_str!("items.json")),
    ("iteration", include_str!("iteration.json")),
    ("list", include_str!("list.json")),
    ("log", include_str!("log.json")),
    ("message", include_str!("message.json")),
    ("message-import", include_str!("message-import.json")),
    ("messages", include_str!("messages.json")),
    ("notes", include_str!("notes.json")),
    ("partitions", include_str!("partitions.json")),
    ("phase", include_str!("phase.json")),
    ("pin", include_str!("pin.json")),
    ("prune", include_str!("prune.json")),
    ("pull", include_str!("pull.json")),
    ("purge", include_str!("purge.json")),
    ("push", include_str!("push.json")),
    ("range", include_str!("range.json")),
    ("receipt", include_str!("receipt.json")),
    ("remote-status", include_str!("remote-status.json")),
    ("rename", include_str!("rename.json")),
    ("repair", include_str!("repair.json")),
    ("replay", include_str!("replay.json")),
    ("replay-run", include_str!("replay-run.json")),
    ("request", include_str!("request.json")),
    ("restore", include_str!("restore.json")),
    ("resume", include_str!("resume.json")),
    ("setup", include_str!("setup.json")),
    ("show", include_str!("show.json")),
    ("state", include_str!("state.json")),
    ("status", include_str!("status.json")),
    ("step", include_str!("step.json")),
    ("steps", include_str!("steps.json")),
    ("switch", include_str!("switch.json")),
    ("text", include_str!("text.json")),
    ("tokens", include_str!("tokens.json")),
    ("verify", include_str!("verify.json")),
    ("warning", include_str!("warning.json")),
    ("watch", include_str!("watch.json")),
];

/// The names of all schemas, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// Title of a schema.
pub fn title(name: &str) -> Option<String> {
    let schema = schema(name)?;
    schema["title"].as_str().map(str::to_owned)
}

/// The name of the schema in an output's member `schema`: `git-checkpoint.list/1` is `list`.
pub fn of(member: &str) -> Option<&str> {
    member.strip_prefix("git-checkpoint.")?.strip_suffix("/1")
}

/// The member of an output that `--json=lines` prints, an object of it a line; `None` where nothing is listed.
pub fn lines(name: &str) -> Option<String> {
    let (_, text) = FILES.iter().find(|(known, _)| *known == name)?;
    parse(text)["x-lines"].as_str().map(str::to_owned)
}

/// The members of a record that this version knows.
pub fn record_members() -> Vec<String> {
    let common = parse(COMMON);
    let members = common["$defs"]["record"]["properties"].as_object();
    members.into_iter().flat_map(Map::keys).cloned().collect()
}

/// A schema, complete with the definitions it uses; None when there is none of that name.
pub fn schema(name: &str) -> Option<Value> {
    let (_, text) = FILES.iter().find(|(known, _)| *known == name)?;
    let mut schema = parse(text);
    let common = parse(COMMON);
    let mut wanted = Vec::new();
    references(&schema, &mut wanted);
    let mut defs = Map::new();
    while let Some(name) = wanted.pop() {
        if let Some(definition) = common["$defs"].get(&name).filter(|_| !defs.contains_key(&name)) {
            references(definition, &mut wanted);
            defs.insert(name, definition.clone());
        }
    }
    defs.sort_keys();
    if let (Some(members), false) = (schema.as_object_mut(), defs.is_empty()) {
        members.insert("$defs".to_owned(), Value::Object(defs));
    }
    Some(schema)
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("the files are part of the program, and a test reads them all")
}

/// Collects the names after `#/$defs/` of all references.
fn references(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match value.as_str().and_then(|text| text.strip_prefix("#/$defs/")) {
                    Some(name) if key == "$ref" => out.push(name.to_owned()),
                    _ => references(value, out),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_complete_and_says_what_it_is() {
        assert!(FILES.is_sorted_by(|one, other| one.0 < other.0));
        for name in names() {
            let schema = schema(name).expect("it is in the list");
            let mut wanted = Vec::new();
            references(&schema, &mut wanted);
            for wanted in wanted {
                assert!(!schema["$defs"][&wanted].is_null(), "{name} lacks {wanted}");
            }
            assert!(title(name).is_some_and(|title| !title.is_empty()), "{name}");
            let id = &schema["properties"]["schema"]["const"];
            assert!(
                id.is_null() || id == &format!("git-checkpoint.{name}/1"),
                "{name} is called {id}"
            );
        }
        assert!(schema("common").is_none());
    }

    #[test]
    fn all_files_are_listed_and_all_definitions_used() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/src/render/schemas");
        let mut files: Vec<_> = std::fs::read_dir(directory)
            .expect("the sources are here")
            .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".json")?.to_owned()))
            .filter(|name| name != "common")
            .collect();
        files.sort();
        assert_eq!(files, names().collect::<Vec<_>>());
        let all: Vec<Value> = names().filter_map(schema).collect();
        for name in parse(COMMON)["$defs"].as_object().expect("definitions").keys() {
            let used = all.iter().any(|schema| !schema["$defs"][name].is_null());
            assert!(used, "nothing uses the definition '{name}'");
        }
    }
}
