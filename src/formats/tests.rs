//! What is written in another system's form reads back as what it was, as far as the form can hold it.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Checkpoint, File, Outgoing, Session, System};
use crate::model::{
    document::{Document, tests::sample},
    record::Record,
    time::Timestamp,
};

/// Texts of one line, as people write them; with signs that the forms use themselves.
fn line() -> impl Strategy<Value = String> {
    "[a-zA-Z\u{e9}\u{4e2d}][a-zA-Z0-9 .,:;|\"'\\\\{}\\[\\]*_#&!?()/<>\u{e9}-]{0,30}[a-z0-9]"
        .prop_map(|text| text.trim().to_owned())
}

/// A word without signs: agents, issues, files.
fn word() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9./-]{0,10}[a-z0-9]"
}

fn item(list: &str, n: usize, text: &str) -> Value {
    let field = crate::model::patch::LISTS
        .iter()
        .find(|(name, _)| *name == list)
        .map_or("text", |(_, field)| field);
    json!({ "id": format!("i{n}"), "at": "2026-01-01T00:00:00+00:00", "by": "ana", field: text })
}

fn items(list: &'static str, texts: &[String]) -> Value {
    texts.iter().enumerate().map(|(n, text)| item(list, n, text)).collect()
}

prop_compose! {
    fn task()(title in line(), status in 0..5_usize, agent in proptest::option::of(word()), issue in proptest::option::of(word()),
              files in proptest::collection::vec(word(), 0..3), depends in proptest::collection::vec(word(), 0..3),
              notes in proptest::option::of(line())) -> Value {
        let mut task = item("tasks", 0, &title);
        task["status"] = ["todo", "in_progress", "done", "blocked", "dropped"][status].into();
        for (key, value) in [("agent", agent), ("issue", issue), ("notes", notes)] {
            if let Some(value) = value {
                task[key] = value.into();
            }
        }
        for (key, values) in [("files", files), ("depends_on", depends)] {
            if !values.is_empty() {
                task[key] = json!(values);
            }
        }
        task
    }
}

prop_compose! {
    fn document()(summary in line(), done in proptest::collection::vec(line(), 0..4), next in proptest::collection::vec(line(), 0..4),
                  todos in proptest::collection::vec((line(), any::<bool>()), 0..4), tasks in proptest::collection::vec(task(), 0..5),
                  decisions in proptest::collection::vec((line(), proptest::option::of(line())), 0..3),
                  blockers in proptest::collection::vec(line(), 0..3), questions in proptest::collection::vec(line(), 0..3),
                  resume in proptest::collection::vec(line(), 0..4), open in proptest::collection::vec(word(), 0..3),
                  phase in proptest::option::of((1..9_u32, line())), state in proptest::option::of(line()),
                  seconds in 1_700_000_000..1_800_000_000_i64) -> Document {
        let mut record = json!({
            "summary": summary,
            "accomplishments": items("accomplishments", &done),
            "next_steps": items("next_steps", &next),
            "tasks": tasks,
            "blockers": items("blockers", &blockers),
            "questions": items("questions", &questions),
            "resume_instructions": items("resume_instructions", &resume),
            "open_files": items("open_files", &open),
        });
        record["todos"] = todos.into_iter().map(|(text, done)| {
            let mut todo = item("todos", 0, &text);
            todo["done"] = done.into();
            todo
        }).collect();
        record["decisions"] = decisions.into_iter().map(|(text, reason)| {
            let mut decision = item("decisions", 0, &text);
            if let Some(reason) = reason {
                decision["reason"] = reason.into();
            }
            decision
        }).collect();
        if let Some((n, title)) = phase {
            record["phase"] = json!({ "n": n, "of": 9, "title": title });
        }
        if let Some(state) = state {
            record["state"] = json!({ "said": state });
        }
        let mut document = sample();
        document.record = serde_json::from_value::<Record>(record).expect("a record");
        document.created_at = Timestamp::from_unix(seconds, 0);
        document
    }
}

fn back(system: System, documents: &[Document], messages: &[Value]) -> Session {
    let written = system
        .write(&Outgoing {
            documents,
            messages,
            log: &[],
            attachments: &[],
            context: None,
            agent: None,
        })
        .expect("a system that is written");
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
        // A session folder's files are told apart by their folder, which is the user's.
        assert!(system.owns(file), "{} is not known again", file.path);
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

fn same(document: &Document, point: &Checkpoint, lists: &[(&str, &[&str])]) -> Result<(), TestCaseError> {
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

fn sorted(document: &mut Document, order: &[&str]) {
    let place = |task: &crate::model::record::Task| {
        let status = serde_json::to_value(task.status).expect("a word");
        order.iter().position(|word| status == **word)
    };
    document.record.tasks.sort_by_key(place);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn claude_mpm_reads_back(document in document()) {
        let mut document = document;
        // The form has a list for each status and no place for tasks that are done, beyond their number.
        sorted(&mut document, &["todo", "in_progress"]);
        document.record.tasks.retain(|task| matches!(serde_json::to_value(task.status), Ok(word) if word == "todo" || word == "in_progress"));
        let mut todos = document.record.todos.clone();
        todos.sort_by_key(|todo| todo.done);
        document.record.todos = todos;
        let session = back(System::ClaudeMpm, std::slice::from_ref(&document), &[]);
        same(&document, &session.checkpoints[0], &[
            ("accomplishments", &["text"]), ("next_steps", &["text"]), ("todos", &["text", "done"]),
            ("tasks", &["title", "status", "notes"]), ("questions", &["text"]), ("resume_instructions", &["text"]),
            ("open_files", &["path"]),
        ])?;
    }

    #[test]
    fn opencastle_reads_back(document in document()) {
        let mut document = document;
        document.session.feature = Some("tide search".to_owned());
        document.session.issues = vec!["T-1".to_owned(), "T-2".to_owned()];
        document.record.tasks.sort_by_key(|task| match serde_json::to_value(task.status) {
            Ok(word) if word == "done" => 0,
            Ok(word) if word == "in_progress" || word == "blocked" => 1,
            _ => 2,
        });
        let session = back(System::Opencastle, std::slice::from_ref(&document), &[]);
        prop_assert_eq!(&session.members["issues"], &json!(["T-1", "T-2"]));
        prop_assert_eq!(&session.id, "tide search");
        let point = &session.checkpoints[0];
        prop_assert_eq!(point.attachments.len(), 0, "everything has a place: {:?}", point.record.get("extra"));
        prop_assert_eq!(point.record.get("phase").cloned(), document.record.phase.as_ref().map(|phase| json!(phase)));
        same(&document, point, &[
            ("accomplishments", &["text"]), ("next_steps", &["text"]), ("todos", &["text", "done"]),
            ("tasks", &["title", "status", "agent", "issue", "files", "depends_on", "notes"]),
            ("decisions", &["text", "reason"]), ("blockers", &["text"]), ("questions", &["text"]), ("resume_instructions", &["text"]),
        ])?;
    }

    #[test]
    fn a_folder_reads_back_whole(one in document(), two in document()) {
        let (mut one, mut two) = (one, two);
        two.created_at = Timestamp::from_unix(one.created_at.unix() + 1, 0);
        one.record.step = Some(crate::model::record::Progress { n: 1, of: 2 });
        two.record.state.get_or_insert_with(|| json!({"last": true}));
        let session = back(System::Folder, &[one.clone(), two.clone()], &[]);
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
        let session = back(System::Dagent, std::slice::from_ref(&document), &messages);
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
