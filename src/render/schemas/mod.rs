//! The published JSON schemas (JSON Schema 2020-12) of the outputs of `--json`, made from the types that are printed and
//! named like the output in `"schema": "git-checkpoint.<output>/1"`.
//!
//! Each schema is complete by itself. Readers should ignore members they do not know: later versions may add some. The
//! tests run every command and compare its output with its schema.

mod generate;

use serde_json::Value;

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
    exported_commit::ExportedCommit,
    file_log::{AutosaveTable, FileLog},
    fork::{CompareView, ForkReceipt},
    forks::{ForkRemovalView, ForksView},
    help::{FailureView, HelpView, WarningView},
    hooks::HooksView,
    import::ImportReceipt,
    merge::MergeView,
    messages::{ClearReceipt, CompactReceipt, MessageImportReceipt, MessageList, MessageView, SessionText},
    page_address::PageAddress,
    prune::PruneReceipt,
    purge::PurgeReceipt,
    push_queue::QueueView,
    receipt::SaveReceipt,
    record::{IterationView, PartitionsView, PhaseView, SessionNotes, StateView},
    rekey::RekeyView,
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
use generate::generate;

/// The name of an output and the generator of its schema.
type SchemaSource = (&'static str, fn() -> Value);

/// The schema of each output, by name.
const SOURCES: &[SchemaSource] = &[
    ("agent-doctor", generate::<AgentDoctorView>),
    ("agent-hooks", generate::<AgentHooksView>),
    ("agent-servers", generate::<AgentServersView>),
    ("agent-session", generate::<AgentSessionReport>),
    ("agents", generate::<AgentsView>),
    ("amend", generate::<AmendView<'_>>),
    ("autosaves", generate::<AutosaveTable>),
    ("batch", generate::<BatchAnswer>),
    ("bisect", generate::<BisectView>),
    ("blame", generate::<BlameView>),
    ("bundle", generate::<BundleReceipt<'_>>),
    ("clear", generate::<ClearReceipt<'_>>),
    ("compact", generate::<CompactReceipt<'_>>),
    ("compare", generate::<CompareView<'_>>),
    ("delete", generate::<DeletionReceipt<'_>>),
    ("diff", generate::<CheckpointDiff<'_>>),
    ("document", generate::<Document>),
    ("draft", generate::<DraftView<'_>>),
    ("error", generate::<FailureView<'_>>),
    ("export", generate::<CheckpointExport<'_>>),
    ("exported", generate::<ExportReceipt<'_>>),
    ("exported-commit", generate::<ExportedCommit>),
    ("fetch", generate::<FetchReceipt<'_>>),
    ("file-log", generate::<FileLog>),
    ("fork", generate::<ForkReceipt<'_>>),
    ("fork-removed", generate::<ForkRemovalView>),
    ("forks", generate::<ForksView>),
    ("help", generate::<HelpView>),
    ("hooks", generate::<HooksView>),
    ("import", generate::<ImportReceipt<'_>>),
    ("items", generate::<ItemList<'_>>),
    ("iteration", generate::<IterationView<'_>>),
    ("list", generate::<SessionTable>),
    ("log", generate::<CheckpointLog>),
    ("merge", generate::<MergeView>),
    ("message", generate::<MessageView<'_>>),
    ("message-import", generate::<MessageImportReceipt<'_>>),
    ("messages", generate::<MessageList<'_>>),
    ("notes", generate::<SessionNotes<'_>>),
    ("partitions", generate::<PartitionsView<'_>>),
    ("phase", generate::<PhaseView<'_>>),
    ("pin", generate::<PinReceipt<'_>>),
    ("prompt", generate::<PromptView>),
    ("prune", generate::<PruneReceipt<'_>>),
    ("pull", generate::<PullReceipt<'_>>),
    ("purge", generate::<PurgeReceipt<'_>>),
    ("push", generate::<PushReceipt<'_>>),
    ("push-queued", generate::<QueueView>),
    ("range", generate::<RangeView<'_>>),
    ("receipt", generate::<SaveReceipt<'_>>),
    ("rekey", generate::<RekeyView<'_>>),
    ("remote-delete", generate::<RemovalView<'_>>),
    ("remote-status", generate::<RemoteStatusView<'_>>),
    ("rename", generate::<RenameReceipt<'_>>),
    ("repair", generate::<RepairReceipt<'_>>),
    ("replay", generate::<RetryView<'_>>),
    ("replay-run", generate::<ReplayRunView<'_>>),
    ("request", generate::<RequestView<'_>>),
    ("restore", generate::<RestoreReceipt<'_>>),
    ("resume", generate::<Resume<'_>>),
    ("resume-prompt", generate::<ResumePromptView<'_>>),
    ("rewind", generate::<RewindView>),
    ("search", generate::<SearchView>),
    ("serve", generate::<PageAddress>),
    ("setup", generate::<SetupReceipt>),
    ("show", generate::<CheckpointView<'_>>),
    ("state", generate::<StateView<'_>>),
    ("stats", generate::<StatsView>),
    ("status", generate::<StatusView<'_>>),
    ("step", generate::<StepView<'_>>),
    ("steps", generate::<StepList<'_>>),
    ("switch", generate::<SwitchReceipt<'_>>),
    ("text", generate::<SessionText<'_>>),
    ("tokens", generate::<TokensView<'_>>),
    ("trash", generate::<TrashTable<'_>>),
    ("turns", generate::<TurnsView>),
    ("unbundle", generate::<UnbundleReceipt<'_>>),
    ("undelete", generate::<UndeleteReceipt<'_>>),
    ("verify", generate::<VerifyView<'_>>),
    ("warning", generate::<WarningView<'_>>),
    ("watch", generate::<WatchView<'_>>),
    ("why", generate::<WhyView>),
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
    schema(name)?["x-lines"].as_str().map(str::to_owned)
}

/// A member of given JSON that no record has.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownMember {
    /// Its place: names joined by dots, `[]` behind that of a list.
    pub path: String,
    /// Whether it is kept as it is; else it is dropped.
    pub is_kept: bool,
    /// The names that there are in its place.
    pub known: Vec<String>,
}

/// The members of the JSON of a record that no record has, each place once. What is null is asked to go.
pub fn unknown_members(record: &Value) -> Vec<UnknownMember> {
    let schema = generate::<crate::model::record::Record>();
    let mut found = Vec::new();
    collect_unknown(&schema, &schema, record, "", &mut found);
    found
}

fn collect_unknown(root: &Value, schema: &Value, given: &Value, path: &str, found: &mut Vec<UnknownMember>) {
    let schema = resolved(root, schema);
    match (given, schema["properties"].as_object()) {
        (Value::Array(items), _) if !schema["items"].is_null() => {
            for item in items {
                collect_unknown(root, &schema["items"], item, &format!("{path}[]"), found);
            }
        }
        (Value::Object(members), Some(known)) => {
            for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                if let Some(schema) = known.get(name) {
                    collect_unknown(root, schema, value, &path, found);
                } else if found.iter().all(|other| other.path != path) {
                    found.push(UnknownMember {
                        path,
                        is_kept: schema["additionalProperties"] == true,
                        known: known.keys().cloned().collect(),
                    });
                }
            }
        }
        _ => {}
    }
}

/// A schema behind a reference, and without the alternative null.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return resolved(root, &root["$defs"][name]);
    }
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    let mut present = choices.filter(|choice| choice["type"] != "null");
    match (present.next(), present.next()) {
        (Some(only), None) => resolved(root, only),
        _ => schema,
    }
}

/// The schema of a type, complete with the definitions it uses.
pub fn of_type<T: schemars::JsonSchema>() -> Value {
    generate::<T>()
}

/// The schema of the arguments of a request, as a program writes them.
pub fn of_arguments<T: schemars::JsonSchema>() -> Value {
    generate::arguments::<T>()
}

/// A schema, complete with the definitions it uses; `None` when there is none of that name.
pub fn schema(name: &str) -> Option<Value> {
    let (_, schema) = SOURCES.iter().find(|(known, _)| *known == name)?;
    Some(schema())
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
            let title = title(name).unwrap_or_default();
            assert!(
                title.contains(' ') && !title.ends_with(['.', ',']),
                "{name} has the title '{title}'"
            );
            let id = &schema["properties"]["schema"]["const"];
            assert!(
                id.is_null() || id == &format!("git-checkpoint.{name}/1"),
                "{name} is called {id}"
            );
        }
        assert!(schema("common").is_none());
    }

    #[test]
    fn unknown_members_are_found_at_every_depth() {
        let record = serde_json::json!({
            "sumary": "x",
            "summary": "x",
            "gone": null,
            "step": {"n": 1, "of": 2, "nn": 3},
            "decisions": ["a", {"text": "b", "reson": "c"}, {"text": "d", "reson": "e"}],
            "fork_points": [{"title": "t", "options": [{"key": "a", "title": "t", "pro": ["x"]}]}],
            "tasks": [{"title": "t", "claim": {"by": "ana", "utnil": 1}}],
            "state": {"anything": {"at": "all"}},
            "extra": {"anything": 1},
            "partitions": {"ana": ["src"]},
        });
        let found = unknown_members(&record);
        let places: Vec<_> = found
            .iter()
            .map(|member| (member.path.as_str(), member.is_kept))
            .collect();
        assert_eq!(
            places,
            [
                ("sumary", true),
                ("step.nn", false),
                ("decisions[].reson", true),
                ("fork_points[].options[].pro", true),
                ("tasks[].claim.utnil", false),
            ]
        );
        assert!(found[2].known.contains(&"reason".to_owned()));
        assert!(unknown_members(&"no object".into()).is_empty());
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
}
