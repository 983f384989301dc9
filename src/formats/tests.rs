//! Round trips: files written in another system's format read back as the same session, as far as the format can hold
//! it.

mod random;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use self::random::{document, line, text};
use super::{ExportInput, File, ForeignCheckpoint, ForeignSession, Recognition, System};
use crate::model::{document::Document, record::Record, time::Timestamp};

/// A few cases, or as many as `PROPTEST_CASES` asks for.
fn config() -> ProptestConfig {
    let given = ProptestConfig::default();
    // The default of proptest.
    if given.cases == 256 {
        ProptestConfig::with_cases(64)
    } else {
        given
    }
}

fn back(system: System, documents: &[Document], messages: &[Value]) -> ForeignSession {
    let writer = system.writer().expect("a system that is written");
    let written = writer.write(&ExportInput {
        documents,
        messages,
        steps: &[],
        log: &[],
        attachments: &[],
        context: None,
        agent: None,
    });
    let files: Vec<File> = written
        .0
        .into_iter()
        .map(|(path, bytes)| File {
            path,
            bytes,
            modified: None,
        })
        .collect();
    for file in &files {
        // A session folder's files are distinguished by their folder, which is the user's.
        assert!(
            system.recognize(file) > Recognition::No,
            "{} is not known again",
            file.path
        );
    }
    let mut parsed = system.parse(&files);
    assert_eq!(parsed.problems, [], "{}", String::from_utf8_lossy(&files[0].bytes));
    assert_eq!(parsed.sessions.len(), 1);
    parsed.sessions.remove(0)
}

/// The items of a list with these members only.
fn list(record: &Map<String, Value>, list: &str, keys: &[&str]) -> Vec<Vec<Value>> {
    let items = record.get(list).and_then(Value::as_array).cloned().unwrap_or_default();
    let of = |item: &Value, key: &&str| {
        item.get(*key)
            .cloned()
            .filter(|value| *value != Value::Bool(false))
            .unwrap_or_default()
    };
    items
        .iter()
        .map(|item| keys.iter().map(|key| of(item, key)).collect())
        .collect()
}

fn same(document: &Document, point: &ForeignCheckpoint, lists: &[(&str, &[&str])]) -> Result<(), TestCaseError> {
    let Ok(Value::Object(then)) = serde_json::to_value(&document.record) else {
        panic!("a record is an object")
    };
    prop_assert_eq!(then.get("summary"), point.record.get("summary"));
    for (name, keys) in lists {
        prop_assert_eq!(list(&then, name, keys), list(&point.record, name, keys), "{}", name);
    }
    prop_assert_eq!(Some(document.created_at), point.at);
    Ok(())
}

/// Gives items the frame that the operation gives them.
fn complete(record: &mut Map<String, Value>) {
    for (list, _) in crate::model::patch::LISTS {
        for item in record
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            item.entry("at").or_insert_with(|| "2026-01-01T00:00:00+00:00".into());
            item.entry("by").or_insert_with(|| "ana".into());
        }
    }
}

fn sorted(document: &mut Document, order: &[&str]) {
    let place = |task: &crate::model::record::Task| {
        let status = serde_json::to_value(task.status).expect("a word");
        order.iter().position(|word| status == **word)
    };
    document.record.tasks.sort_by_key(place);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn claude_mpm_reads_back(document in document()) {
        let mut document = document;
        // The form has a list for each status and no place for tasks that are done, beyond their number.
        sorted(&mut document, &["todo", "in_progress"]);
        document.record.tasks.retain(|task| matches!(serde_json::to_value(task.status), Ok(word) if word == "todo" || word == "in_progress"));
        let mut todos = document.record.todos.clone();
        todos.sort_by_key(|todo| todo.done);
        document.record.todos = todos;
        let session = back(super::claude_mpm::SYSTEM, std::slice::from_ref(&document), &[]);
        same(&document, &session.checkpoints[0], &[
            ("accomplishments", &["text"]), ("next_steps", &["text"]), ("todos", &["text", "done"]), ("decisions", &["text", "reason"]),
            ("tasks", &["title", "status", "notes"]), ("questions", &["text", "answer"]), ("resume_instructions", &["text"]),
            ("open_files", &["path"]),
        ])?;
    }

    #[test]
    fn opencastle_reads_back(document in document()) {
        let mut document = document;
        document.session.feature = Some("tide search".to_owned());
        document.session.task = Some("a tide table: for ships".to_owned());
        document.session.issues = vec!["T-1".to_owned(), "T-2".to_owned()];
        document.record.tasks.sort_by_key(|task| match serde_json::to_value(task.status) {
            Ok(word) if word == "done" => 0,
            Ok(word) if word == "in_progress" || word == "blocked" => 1,
            _ => 2,
        });
        let session = back(super::opencastle::SYSTEM, std::slice::from_ref(&document), &[]);
        prop_assert_eq!(&session.members["issues"], &json!(["T-1", "T-2"]));
        prop_assert_eq!(&session.id, "tide search");
        prop_assert_eq!(&session.members["task"], "a tide table: for ships");
        let point = &session.checkpoints[0];
        prop_assert_eq!(point.attachments.len(), 0, "everything has a place: {:?}", point.record.get("extra"));
        prop_assert_eq!(point.record.get("phase").cloned(), document.record.phase.as_ref().map(|phase| json!(phase)));
        same(&document, point, &[
            ("accomplishments", &["text"]), ("next_steps", &["text"]), ("todos", &["text", "done"]),
            ("tasks", &["title", "status", "agent", "issue", "files", "depends_on", "notes"]),
            ("decisions", &["text", "reason"]), ("blockers", &["text", "needs"]), ("questions", &["text", "answer"]),
            ("resume_instructions", &["text"]), ("approvals", &["question", "channel"]), ("delegations", &["agent", "tokens", "estimated"]),
        ])?;
        // Whatever came in goes out and comes in again as it was.
        let mut again = document.clone();
        let mut record = point.record.clone();
        complete(&mut record);
        again.record = serde_json::from_value(Value::Object(record)).expect("a record");
        let second = back(super::opencastle::SYSTEM, &[again], &[]);
        prop_assert_eq!(&second.checkpoints[0].record, &point.record);
    }

    #[test]
    fn our_own_export_reads_back_whole(document in document(), said in proptest::collection::vec((text(), any::<bool>()), 0..4)) {
        let messages: Vec<Value> = said.iter().zip(10..).map(|((text, user), n)| json!({
            "id": format!("m{n}"), "at": format!("2026-01-01T00:00:{n}Z"), "role": if *user { "user" } else { "assistant" }, "content": text,
        })).collect();
        let export = json!({ "schema": "git-checkpoint.export/1", "session": "x", "document": document, "messages": messages, "context": "c" });
        let file = File { path: "x.json".to_owned(), bytes: crate::model::json::to_bytes(&export), modified: None };
        prop_assert_eq!(super::detect(&file), Some(super::generic::SYSTEM));
        let parsed = super::generic::SYSTEM.parse(&[file]);
        prop_assert_eq!(&parsed.problems, &[]);
        let point = &parsed.sessions[0].checkpoints[0];
        let mut now: Record = serde_json::from_value(Value::Object(point.record.clone())).expect("a record");
        now.extra.shift_remove("json");
        prop_assert_eq!(&now, &document.record);
        prop_assert_eq!((&point.messages, point.at, point.context.as_deref()), (&messages, Some(document.created_at), Some("c")));
    }

    #[test]
    fn a_folder_reads_back_whole(one in document(), two in document()) {
        let (mut one, mut two) = (one, two);
        two.created_at = Timestamp::from_unix(one.created_at.unix() + 1, 0);
        one.record.step = Some(crate::model::record::StepProgress { n: 1, of: 2 });
        two.record.state.get_or_insert_with(|| json!({"last": true}));
        let session = back(super::folder::SYSTEM, &[one.clone(), two.clone()], &[]);
        prop_assert_eq!(session.checkpoints.len(), 2);
        for (document, point) in [one, two].iter().zip(&session.checkpoints) {
            let mut then = serde_json::to_value(&document.record).expect("a record");
            let mut now = Value::Object(point.record.clone());
            // Without a state the form has an empty one.
            for record in [&mut then, &mut now] {
                if record.get("state") == Some(&json!({})) {
                    record.as_object_mut().expect("an object").shift_remove("state");
                }
            }
            let (then, now): (Record, Record) = (serde_json::from_value(then).expect("one"), serde_json::from_value(now).expect("one"));
            let mut now = now;
            now.extra.shift_remove("folder");
            prop_assert_eq!(then, now);
            prop_assert_eq!(Some(document.created_at), point.at);
        }
    }

    #[test]
    fn dagent_reads_back(document in document(), said in proptest::collection::vec((line(), any::<bool>()), 0..5)) {
        let mut document = document;
        document.session.feature_id = Some("lantern".to_owned());
        // Texts alone: what is done is an accomplishment, what comes next a task to do.
        document.record.tasks.retain(|task| matches!(serde_json::to_value(task.status), Ok(word) if word == "todo" || word == "in_progress"));
        sorted(&mut document, &["in_progress", "todo"]);
        document.record.next_steps.clear();
        let messages: Vec<Value> = said.iter().zip(10..).map(|((text, user), n)| json!({
            "role": if *user { "user" } else { "assistant" }, "content": text, "timestamp": format!("2026-01-01T00:00:{n}Z"), "metadata": {"n": n},
        })).collect();
        let session = back(super::dagent::SYSTEM, std::slice::from_ref(&document), &messages);
        prop_assert_eq!(&session.members["feature_id"], "lantern");
        let point = &session.checkpoints[0];
        prop_assert_eq!(&point.messages, &messages);
        let mut expected = document.clone();
        expected.record.summary = point.record.get("summary").and_then(Value::as_str).map(str::to_owned);
        same(&expected, point, &[
            ("accomplishments", &["text"]), ("tasks", &["title", "status"]), ("decisions", &["text", "reason"]), ("blockers", &["text"]),
        ])?;
    }
}
