//! The published JSON schemas (JSON Schema 2020-12) of what `--json` prints: one file each, named like the thing in
//! `"schema": "git-checkpoint.<thing>/1"`.
//!
//! Readers should ignore members they do not know: later versions may add some. Definitions that several schemas share
//! are in `common.json`; what is printed holds those it needs, so that each schema is complete by itself. The tests run
//! every command and hold its output against these files.

mod made;

use serde_json::{Map, Value};

use super::{
    agent_servers::AgentServersView,
    agents::{AgentDoctorView, AgentHooksView, AgentsView},
    amend::AmendView,
    batch::BatchAnswer,
    bisect::BisectView,
    blame::{BlameView, WhyView},
    checkpoint::CheckpointView,
    diff::{CheckpointDiff, RangeView},
    draft::{DraftView, ItemList},
    export::{CheckpointExport, ExportReceipt},
    file_log::{AutosaveTable, FileLog},
    help::{FailureView, HelpView, WarningView},
    hooks::HooksView,
    import::ImportReceipt,
    merge::MergeView,
    messages::{ClearReceipt, CompactReceipt, MessageImportReceipt, MessageList, MessageReceipt, SessionText},
    page::PageAddress,
    prune::PruneReceipt,
    purge::PurgeReceipt,
    push_queue::QueueView,
    receipt::SaveReceipt,
    record::{IterationView, PartitionsView, PhaseView, SessionNotes, StateView},
    restore::RestoreReceipt,
    resume::{Resume, ResumePromptView},
    retry::{ReplayRunView, RetryView},
    search::SearchView,
    session_change::{
        DeletionReceipt, PinReceipt, RemovalView, RenameReceipt, RepairReceipt, SwitchReceipt, UndeleteReceipt,
    },
    sessions::{CheckpointLog, SessionTable, TrashTable},
    setup::SetupReceipt,
    share::{BundleReceipt, FetchReceipt, PullReceipt, PushReceipt, RemoteStatusView, UnbundleReceipt},
    stats::StatsView,
    status::{PromptView, StatusView},
    step::{StepList, StepView},
    tokens::{RequestView, TokensView},
    turns::{AgentSessionReport, RewindView, TurnsView},
    verify::VerifyView,
    watch::WatchView,
};
use crate::model::document::Document;
use made::made;

/// Definitions that several schemas use.
const COMMON: &str = include_str!("common.json");

/// Where a schema comes from.
enum Source {
    /// The text of a file, for outputs that are no typed view yet.
    File(&'static str),
    /// The type that is printed.
    Type(fn() -> Value),
}

use Source::{File, Type};

/// The source of each schema, by name.
const SOURCES: &[(&str, Source)] = &[
    ("agent-doctor", Type(made::<AgentDoctorView>)),
    ("agent-hooks", Type(made::<AgentHooksView>)),
    ("agent-servers", Type(made::<AgentServersView>)),
    ("agent-session", Type(made::<AgentSessionReport>)),
    ("agents", Type(made::<AgentsView>)),
    ("amend", Type(made::<AmendView<'_>>)),
    ("autosaves", Type(made::<AutosaveTable>)),
    ("batch", Type(made::<BatchAnswer>)),
    ("bisect", Type(made::<BisectView>)),
    ("blame", Type(made::<BlameView>)),
    ("bundle", Type(made::<BundleReceipt<'_>>)),
    ("clear", Type(made::<ClearReceipt<'_>>)),
    ("compact", Type(made::<CompactReceipt<'_>>)),
    ("compare", File(include_str!("compare.json"))),
    ("delete", Type(made::<DeletionReceipt<'_>>)),
    ("diff", Type(made::<CheckpointDiff<'_>>)),
    ("document", Type(made::<Document>)),
    ("draft", Type(made::<DraftView<'_>>)),
    ("error", Type(made::<FailureView<'_>>)),
    ("export", Type(made::<CheckpointExport<'_>>)),
    ("exported", Type(made::<ExportReceipt<'_>>)),
    ("fetch", Type(made::<FetchReceipt<'_>>)),
    ("file-log", Type(made::<FileLog>)),
    ("fork", File(include_str!("fork.json"))),
    ("help", Type(made::<HelpView>)),
    ("hooks", Type(made::<HooksView>)),
    ("import", Type(made::<ImportReceipt<'_>>)),
    ("items", Type(made::<ItemList<'_>>)),
    ("iteration", Type(made::<IterationView<'_>>)),
    ("list", Type(made::<SessionTable>)),
    ("log", Type(made::<CheckpointLog>)),
    ("merge", Type(made::<MergeView>)),
    ("message", Type(made::<MessageReceipt<'_>>)),
    ("message-import", Type(made::<MessageImportReceipt<'_>>)),
    ("messages", Type(made::<MessageList<'_>>)),
    ("notes", Type(made::<SessionNotes<'_>>)),
    ("partitions", Type(made::<PartitionsView<'_>>)),
    ("phase", Type(made::<PhaseView<'_>>)),
    ("pin", Type(made::<PinReceipt<'_>>)),
    ("prompt", Type(made::<PromptView>)),
    ("prune", Type(made::<PruneReceipt<'_>>)),
    ("pull", Type(made::<PullReceipt<'_>>)),
    ("purge", Type(made::<PurgeReceipt<'_>>)),
    ("push", Type(made::<PushReceipt<'_>>)),
    ("push-queued", Type(made::<QueueView>)),
    ("range", Type(made::<RangeView<'_>>)),
    ("receipt", Type(made::<SaveReceipt<'_>>)),
    ("remote-delete", Type(made::<RemovalView<'_>>)),
    ("remote-status", Type(made::<RemoteStatusView<'_>>)),
    ("rename", Type(made::<RenameReceipt<'_>>)),
    ("repair", Type(made::<RepairReceipt<'_>>)),
    ("replay", Type(made::<RetryView<'_>>)),
    ("replay-run", Type(made::<ReplayRunView<'_>>)),
    ("request", Type(made::<RequestView<'_>>)),
    ("restore", Type(made::<RestoreReceipt<'_>>)),
    ("resume", Type(made::<Resume<'_>>)),
    ("resume-prompt", Type(made::<ResumePromptView<'_>>)),
    ("rewind", Type(made::<RewindView>)),
    ("search", Type(made::<SearchView>)),
    ("serve", Type(made::<PageAddress>)),
    ("setup", Type(made::<SetupReceipt>)),
    ("show", Type(made::<CheckpointView<'_>>)),
    ("state", Type(made::<StateView<'_>>)),
    ("stats", Type(made::<StatsView>)),
    ("status", Type(made::<StatusView<'_>>)),
    ("step", Type(made::<StepView<'_>>)),
    ("steps", Type(made::<StepList<'_>>)),
    ("switch", Type(made::<SwitchReceipt<'_>>)),
    ("text", Type(made::<SessionText<'_>>)),
    ("tokens", Type(made::<TokensView<'_>>)),
    ("trash", Type(made::<TrashTable<'_>>)),
    ("turns", Type(made::<TurnsView>)),
    ("unbundle", Type(made::<UnbundleReceipt<'_>>)),
    ("undelete", Type(made::<UndeleteReceipt<'_>>)),
    ("verify", Type(made::<VerifyView<'_>>)),
    ("warning", Type(made::<WarningView<'_>>)),
    ("watch", Type(made::<WatchView<'_>>)),
    ("why", Type(made::<WhyView>)),
];

/// The names of all schemas, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().map(|(name, _)| *name)
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
    read(name)?["x-lines"].as_str().map(str::to_owned)
}

/// The members of a record that this version knows.
pub fn record_members() -> Vec<String> {
    let record = made::<crate::model::record::Record>();
    let members = record["properties"].as_object();
    members.into_iter().flat_map(Map::keys).cloned().collect()
}

/// The schema of a type, complete with the definitions it uses.
pub fn of_type<T: schemars::JsonSchema>() -> Value {
    made::<T>()
}

/// The schema of the arguments of a request, as a program writes them.
pub fn of_arguments<T: schemars::JsonSchema>() -> Value {
    made::arguments::<T>()
}

/// A schema, complete with the definitions it uses; None when there is none of that name.
pub fn schema(name: &str) -> Option<Value> {
    let mut schema = read(name)?;
    let common = definitions();
    let mut wanted = Vec::new();
    references(&schema, &mut wanted);
    let own = schema.as_object_mut().and_then(|members| members.remove("$defs"));
    let mut defs = match own {
        Some(Value::Object(defs)) => defs,
        _ => Map::new(),
    };
    while let Some(name) = wanted.pop() {
        if let Some(definition) = common.get(&name).filter(|_| !defs.contains_key(&name)) {
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

fn read(name: &str) -> Option<Value> {
    let (_, source) = SOURCES.iter().find(|(known, _)| *known == name)?;
    Some(match source {
        File(text) => parse(text),
        Type(schema) => schema(),
    })
}

/// The definitions that files refer to: those of the stored document from its types, and those written by hand.
fn definitions() -> Map<String, Value> {
    let mut all = Map::new();
    for value in [made::definitions(), parse(COMMON)["$defs"].take()] {
        if let Value::Object(definitions) = value {
            all.extend(definitions);
        }
    }
    all
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
        assert!(SOURCES.is_sorted_by(|one, other| one.0 < other.0));
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
        let of_files = SOURCES.iter().filter(|(_, source)| matches!(source, File(_)));
        assert_eq!(files, of_files.map(|(name, _)| *name).collect::<Vec<_>>());
        let all: Vec<Value> = names().filter_map(schema).collect();
        for name in parse(COMMON)["$defs"].as_object().expect("definitions").keys() {
            let used = all.iter().any(|schema| !schema["$defs"][name].is_null());
            assert!(used, "nothing uses the definition '{name}'");
        }
    }
}
