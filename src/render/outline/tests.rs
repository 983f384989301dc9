//! Nothing that can be stored is dropped silently: every member of the schemas of a record, a session, a step, a message,
//! a note and a compaction gets a value that is found nowhere else, and each output has to show it or to name it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::*;
use crate::{
    model::{
        document::{Document, tests::sample},
        id::{Digest, Oid},
        outline::Contents,
        report::ChangeReport,
        time::Timestamp,
    },
    render::{
        chat, checkpoint,
        document::{DocumentSource, handoff, markdown},
        prompt, resume,
    },
};

/// Makes a value for every member of a schema; each leaf is another one. `marks` gets them with their places.
struct Marker<'a> {
    root: &'a Value,
    next: u64,
    marks: BTreeMap<String, String>,
}

impl Marker<'_> {
    fn value(&mut self, schema: &Value, place: &str) -> Value {
        if let Some(name) = schema["$ref"]
            .as_str()
            .and_then(|target| target.strip_prefix("#/$defs/"))
        {
            let root = self.root;
            return match name {
                // Stored in a form of their own.
                // Each has a minute of its own: people read no seconds.
                "time" => self.mark(place, |n| {
                    let (hour, minute) = (n / 60 % 24, n % 60);
                    json!(format!("2026-01-02T{hour:02}:{minute:02}:05+00:00"))
                }),
                "oid" => self.mark(place, |n| json!(format!("{n:040x}"))),
                "digest" => self.mark(place, |n| json!(format!("sha256:{n:064x}"))),
                "name" => self.mark(place, |n| json!(format!("name{n}"))),
                "path" => self.mark(place, |n| json!(format!("path/{n}"))),
                _ => self.value(&root["$defs"][name], place),
            };
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            let choice = choices.iter().find(|choice| choice["type"] != "null");
            return self.value(choice.unwrap_or(&Value::Null), place);
        }
        if let Some(words) = schema["enum"].as_array() {
            // The words of all items would be the same: the last is the one that is not a default.
            return words.iter().rfind(|word| word.is_string()).cloned().unwrap_or_default();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null").and_then(Value::as_str),
            kind => kind.as_str(),
        };
        match kind {
            Some("string") => self.mark(place, |n| json!(format!("mark{n}"))),
            // In a byte, and found nowhere else.
            Some("integer") if schema["maximum"] == 255 => self.mark(place, |_| json!(87)),
            Some("integer") => self.mark(place, |n| json!(7000 + n)),
            Some("number") => self.mark(place, |n| json!(7000 + n)),
            Some("boolean") => Value::Bool(true),
            Some("array") => Value::Array(vec![self.value(&schema["items"], place)]),
            Some("object") => {
                let mut out = Map::new();
                for (name, member) in schema["properties"].as_object().into_iter().flatten() {
                    let value = self.value(member, &format!("{place}.{name}"));
                    out.insert(name.clone(), value);
                }
                if out.is_empty() {
                    out.insert("key".to_owned(), self.mark(place, |n| json!(format!("mark{n}"))));
                }
                Value::Object(out)
            }
            _ => self.mark(place, |n| json!(format!("mark{n}"))),
        }
    }

    fn mark(&mut self, place: &str, make: impl Fn(u64) -> Value) -> Value {
        self.next += 1;
        let value = make(self.next);
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.marks.insert(place.to_owned(), text);
        value
    }
}

/// Contents with every member set, and the marks.
pub(crate) fn full() -> (Contents, BTreeMap<String, String>) {
    let mut marks = BTreeMap::new();
    let mut make = |schema: &Value, place: &str| {
        let mut marker = Marker {
            root: schema,
            next: marks.len() as u64 + 100,
            marks: BTreeMap::new(),
        };
        let value = marker.value(schema, place);
        marks.append(&mut marker.marks);
        value
    };
    let schema = crate::render::schemas::schema("document").expect("there is one");
    let defs = &schema["$defs"];
    let of = |name: &str| {
        let mut one = defs[name].clone();
        one["$defs"] = defs.clone();
        one
    };
    let contents_schema = crate::render::schemas::schema("resume").expect("there is one");
    let beside = |name: &str| {
        let mut one = contents_schema["$defs"][name].clone();
        assert!(one.is_object(), "no definition {name}");
        one["$defs"] = contents_schema["$defs"].clone();
        one
    };
    let mut document = sample();
    let mut record = make(&of("record"), "record");
    // Ids of tasks are shown by the titles of the tasks.
    record["tasks"][0]["depends_on"] = json!(["elsewhere"]);
    // An option is chosen by its key.
    record["fork_points"][0]["chosen"] = json!("another");
    // Shown in larger units.
    record["delegations"][0]["duration"] = json!(45);
    // A summary that was made automatically is no part of a request.
    record["auto_summary"] = json!(false);
    record["partitions"] = json!({ "somebody": ["some/where"] });
    document.record = serde_json::from_value(record).expect("a record of the schema");
    let mut session = make(&of("session"), "session");
    session["name"] = json!("auth");
    document.session = serde_json::from_value(session).expect("a session of the schema");
    document.compaction = Some(make(&of("compaction"), "compaction"));
    let mut contents = Contents::new(document);
    let mut step = make(&beside("Step"), "steps");
    step["status"] = json!("failed");
    contents.steps = vec![serde_json::from_value(step).expect("a step of the schema")];
    let note = make(&beside("LogLine"), "log");
    contents.notes = vec![serde_json::from_value(note).expect("a note of the schema")];
    contents.notes_total = 1;
    let message = make(&beside("Message"), "messages");
    contents.messages = vec![serde_json::from_value(message).expect("a message of the schema")];
    contents.messages_total = 1;
    let mut aside = make(&beside("PutAside"), "put_aside");
    aside["saved_at"] = json!("2026-01-02T03:04:05+00:00");
    contents.put_aside = vec![serde_json::from_value(aside).expect("work of the schema")];
    let mut unmerged = make(&beside("UnmergedFiles"), "unmerged_files");
    unmerged["saved_at"] = json!("2026-01-02T03:04:05+00:00");
    contents.unmerged_files = vec![serde_json::from_value(unmerged).expect("a checkpoint of the schema")];
    contents.context = Some("mark-of-context".into());
    contents.agent = Some("mark-of-agent".into());
    marks.insert("context".into(), "mark-of-context".into());
    marks.insert("agent".into(), "mark-of-agent".into());
    for dropped in [
        "record.tasks.depends_on",
        "record.fork_points.chosen",
        "record.partitions",
        "session.name",
    ] {
        marks.remove(dropped);
    }
    marks.insert("record.delegations.duration".into(), "45".into());
    marks.insert("record.tasks.depends_on".into(), "elsewhere".into());
    marks.insert("record.fork_points.chosen".into(), "another".into());
    marks.insert("record.partitions".into(), "some/where".into());
    (contents, marks)
}

fn outputs(contents: &Contents) -> Vec<(&'static str, String)> {
    let document: &Document = &contents.document;
    let id = Oid::new("b".repeat(40)).expect("digits");
    let digest = Digest::of(b"");
    let report = ChangeReport::empty(document.created_at);
    let now = document.created_at;
    let view = resume::Resume {
        session: &document.session.name,
        session_id: "",
        id: id.clone(),
        digest: &digest,
        is_latest: true,
        status_before: "paused",
        interrupted: false,
        fetched_from: &[],
        draft_operations: 0,
        autosave: None,
        recovered: None,
        lost: None,
        last_message: None,
        report: &report,
        put_aside: contents.put_aside.first(),
        document,
        contents,
        files: None,
        author: "ana",
        is_resumed: true,
        now,
    };
    let prompt = prompt::ResumePrompt {
        session: "auth",
        checkpoint: "bbbb",
        foreign: None,
        author: "ana",
        contents,
        selector: "auth",
        notes: &[],
        said: None,
        report: &report,
        now,
        token: "token",
    };
    let shown = checkpoint::CheckpointView {
        staged: Vec::new(),
        id: id.clone(),
        digest: &digest,
        session: Some("auth"),
        selector: "auth",
        fetched_from: None,
        parents: Vec::new(),
        author: checkpoint::Author {
            name: "ana",
            email: "a@b.c",
        },
        signature: None,
        signed: None,
        locked: false,
        partial: false,
        skipped: Vec::new(),
        changes: &[],
        draft_operations: 0,
        document,
        contents,
        lists: &crate::model::list::Lists::default(),
        all: true,
        patch: None,
    };
    let source = DocumentSource {
        id: &id,
        digest: &digest,
        session: "auth",
        selector: "auth",
        document,
        steps: &contents.steps,
        contents,
    };
    let dates = crate::render::age::DateStyle::parse("iso").expect("a style");
    vec![
        // With `--verbose`.
        (
            "resume",
            format!("{}{}", view.text(false, true, 10_000), view.left_out(10_000)),
        ),
        ("resume --format markdown", view.markdown()),
        ("resume --format prompt", prompt.text(100_000)),
        (
            "show",
            format!("{}{}", shown.text(10_000, &dates, now), shown.left_out(10_000)),
        ),
        ("export --format handoff", handoff(&source)),
        ("export --format markdown", markdown(&source)),
        ("request", chat::checkpoint(contents)),
    ]
}

#[test]
fn no_output_drops_a_member_silently() {
    let (contents, marks) = full();
    assert!(marks.len() > 90, "{marks:?}");
    let outline = Outline::of(&contents, "auth");
    let mut bad = Vec::new();
    for (output, text) in outputs(&contents) {
        // Markup characters are escaped in Markdown; marks have none but these.
        let plain = text.replace('\\', "");
        let named = |place: &str| {
            outline.left_out.iter().any(|left| {
                let matches = left.members.iter().any(|member| fits(member, place));
                matches && plain.contains(&left.words) && plain.contains(&left.command)
            })
        };
        // A request has these as parts of their own, or, as the record of a compaction, not at all: it says nothing to a model.
        let own = |place: &str| {
            output == "request"
                && ["context", "agent", "compaction", "messages"]
                    .iter()
                    .any(|part| place.starts_with(part))
        };
        let is_shown = |mark: &str| {
            let minute = Timestamp::parse(mark).map(Timestamp::minute);
            plain.contains(mark) || minute.is_ok_and(|minute| plain.contains(&minute))
        };
        for (place, mark) in &marks {
            if !is_shown(mark) && !named(place) && !own(place) {
                bad.push(format!("{output}: {place} ({mark})"));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Whether a pattern such as `record.*.id` names a place or what it is in.
fn fits(pattern: &str, place: &str) -> bool {
    let (mut pattern, mut place) = (pattern.split('.'), place.split('.'));
    pattern.all(|word| place.next().is_some_and(|part| word == "*" || word == part))
}

#[test]
fn a_long_list_is_cut_with_its_count_open_and_latest_first() {
    let mut document = sample();
    let at = Timestamp::from_unix(1_700_000_000, 0);
    let task = |n: u32, status: &str| json!({ "id": format!("t{n}"), "at": at, "by": "a", "title": format!("task {n}"), "status": status });
    let mut tasks: Vec<Value> = (0..30).map(|n| task(n, "done")).collect();
    tasks.extend((30..34).map(|n| task(n, "todo")));
    tasks.push(task(34, "in_progress"));
    document.record = serde_json::from_value(json!({ "tasks": tasks })).expect("a record");
    let outline = Outline::of(&Contents::new(document), "auth");
    let cut = text(&outline, 80, false).to_string();
    let rows: Vec<&str> = cut.lines().skip_while(|line| !line.starts_with("Tasks (35)")).collect();
    assert_eq!(
        rows,
        [
            "Tasks (35)",
            "  task 34 (in progress)",
            "  task 30 (todo)",
            "  task 31 (todo)",
            "  task 32 (todo)",
            "  task 33 (todo)",
            "  ... 30 more: git checkpoint show auth --all",
        ]
    );
    let all = text(&outline, 80, true).to_string();
    let first_done = all.lines().find(|line| line.ends_with("(done)"));
    assert_eq!(first_done, Some("  task 29 (done)"));
}

#[test]
fn an_unknown_member_is_shown_under_its_own_name() {
    let mut document = sample();
    document.record = serde_json::from_value(json!({
        "of_a_later_version": { "a": 1 },
        "todos": [{ "id": "x", "at": "2026-01-02T03:04:05Z", "by": "a", "text": "docs", "due_in": "may" }],
    }))
    .expect("a record");
    let found = text(&Outline::of(&Contents::new(document), "auth"), 80, false).to_string();
    assert!(found.contains("of a later version (1)\n  a: 1\n"), "{found}");
    assert!(found.contains("  docs (open; due in may)\n"), "{found}");
}
