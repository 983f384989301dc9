//! Each case against its expectation, and no word of a source missing in what came out.

use serde_json::{Value, json};

use git_checkpoint::{
    formats::{ParseOutcome, System, detect, parse_all},
    model::{json as strict, patch::LISTS, record::Record},
};

use super::{Case, all};

fn outcome(case: &Case) -> Value {
    let (parsed, unknown) = parse_all(case.files.clone());
    let owners: Vec<Value> = case
        .files
        .iter()
        .map(|file| json!([file.path, detect(file).map(System::word)]))
        .collect();
    json!({ "detected": owners, "unknown": unknown, "parsed": parsed })
}

#[test]
fn every_case_comes_out_as_expected() {
    let bless = std::env::vars_os().any(|(name, _)| name == "CHECKPOINT_BLESS");
    let mut wrong = Vec::new();
    for case in all() {
        let found = strict::to_bytes(&outcome(&case));
        let path = case.folder.join("expected.json");
        if bless {
            std::fs::write(&path, &found).expect("written");
        } else if std::fs::read(&path).ok().as_deref() != Some(&found) {
            wrong.push(format!("{}/{}", case.system, case.name));
        }
    }
    assert!(
        wrong.is_empty(),
        "these differ; see with CHECKPOINT_BLESS=1 and git diff: {wrong:?}"
    );
}

/// Good, old and odd cases are all detected as their system, and damaged ones say so.
#[test]
fn systems_are_told_apart_and_damage_is_told() {
    for case in all() {
        let name = format!("{}/{}", case.system, case.name);
        let (parsed, _) = parse_all(case.files.clone());
        if !case.name.starts_with("odd-other") && !case.name.starts_with("odd-lost") {
            let owned = case
                .files
                .iter()
                .filter_map(detect)
                .filter(|system| system.word() == case.system);
            assert!(owned.count() > 0, "{name}: no file is detected");
        }
        if case.name.starts_with("good") || case.name.starts_with("old") {
            assert!(!parsed.sessions.is_empty(), "{name}: no session");
        }
        if case.name == "damaged" {
            assert!(!parsed.problems.is_empty(), "{name}: nothing is told");
        }
    }
}

/// Each system has inputs of every kind.
#[test]
fn every_system_has_cases_of_each_kind() {
    for system in System::ALL.iter().copied() {
        for kind in ["good", "old", "odd", "damaged", "hostile"] {
            let has = |case: &Case| case.system == system.word() && case.name.starts_with(kind);
            assert!(all().iter().any(has), "{} has no {kind} input", system.word());
        }
    }
}

/// Whatever a session holds can be stored: its record is one, its members are a session's.
#[test]
fn every_record_can_be_stored() {
    for case in all() {
        let (parsed, _) = parse_all(case.files.clone());
        for session in parsed.sessions {
            assert!(!session.checkpoints.is_empty());
            for checkpoint in session.checkpoints {
                let mut record = Value::Object(checkpoint.record);
                for (list, _) in LISTS {
                    for item in record.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                        let item = item.as_object_mut().expect("an item");
                        item.entry("at").or_insert_with(|| "2026-01-01T00:00:00Z".into());
                        item.entry("by").or_insert_with(|| "x".into());
                    }
                }
                let read = serde_json::from_value::<Record>(record.clone());
                // A hostile export may hold what is no record; then the operation says so and leaves it out.
                let hostile = case.name.starts_with("hostile");
                assert!(
                    read.is_ok() || hostile,
                    "{}/{}: {read:?}\n{record:#}",
                    case.system,
                    case.name
                );
            }
        }
    }
}

#[test]
fn no_word_of_a_source_is_lost() {
    for case in all() {
        if case.name.starts_with("damaged") || case.name.starts_with("hostile") || case.name.starts_with("odd-other") {
            continue;
        }
        let (parsed, _) = parse_all(case.files.clone());
        let text = everything(&parsed);
        for file in &case.files {
            let Ok(value) = file.json() else { continue };
            let mut words = Vec::new();
            leaves(&value, &mut words);
            for word in words {
                assert!(
                    text.contains(&word) || is_resolved(&word),
                    "{}/{}: '{word}' of {} is nowhere",
                    case.system,
                    case.name,
                    file.path
                );
            }
        }
    }
}

/// Everything that comes in, as one text: what is attached, too.
pub(super) fn everything(parsed: &ParseOutcome) -> String {
    let mut out = String::new();
    for session in &parsed.sessions {
        let value = serde_json::to_value(session).expect("plain data");
        let mut words = Vec::new();
        leaves(&value, &mut words);
        out.push_str(&words.join("\n"));
        for checkpoint in &session.checkpoints {
            out.push_str(checkpoint.context.as_deref().unwrap_or_default());
            for attachment in &checkpoint.attachments {
                out.push_str(&String::from_utf8_lossy(&attachment.bytes));
            }
        }
    }
    out
}

/// Texts that come in in another form: times, ids of the file that a session's own is, JSON inside a text, wrappers.
fn is_resolved(word: &str) -> bool {
    // An integrity digest was checked and says nothing more.
    let is_digest = word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let is_number_of_ms = digits >= 10 && digits == word.len();
    let is_time = digits >= 8 && word.contains(['-', ':']) && !word.contains("session");
    // The list that a todo is in says so.
    let is_status = ["pending", "completed"].contains(&word);
    is_status || is_digest || is_time || is_number_of_ms || word.starts_with("__") || word.starts_with(['{', '['])
}

fn leaves(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) if text.chars().any(char::is_alphanumeric) => out.push(text.clone()),
        Value::Number(number) => out.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, out)),
        Value::Object(map) => map.values().for_each(|item| leaves(item, out)),
        _ => {}
    }
}
