//! No export drops a member silently: it is in the files, or the report of omissions names it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::*;
use crate::{
    formats::{Attachment, left_out, member_words},
    model::outline::Contents,
    render::outline::tests::full,
};

fn values<T: serde::Serialize>(items: &[T]) -> Vec<Value> {
    items
        .iter()
        .map(|item| serde_json::to_value(item).expect("plain values"))
        .collect()
}

/// The files of each foreign format as one text, and the report of what is not in them.
fn written(contents: &Contents) -> Vec<(&'static str, String, Vec<OmittedContent>)> {
    let documents = [contents.document.clone()];
    let (messages, log) = (values(&contents.messages), values(&contents.notes));
    let attachments: Vec<Attachment> = Vec::new();
    let input = ExportInput {
        documents: &documents,
        messages: &messages,
        steps: &contents.steps,
        log: &log,
        attachments: &attachments,
        context: contents.context.as_deref(),
        agent: contents.agent.as_deref(),
    };
    let counts = UnexportedCounts {
        earlier: 0,
        steps: contents.steps.len(),
        put_aside: contents.put_aside.len(),
        unmerged_files: contents.unmerged_files.len(),
    };
    let writers = System::ALL.iter().filter_map(|system| Some((system, system.writer()?)));
    writers
        .map(|(system, writer)| {
            let files = writer.write(&input);
            let omitted = left_out(*system, &input, &files, counts);
            let text: Vec<String> = files
                .0
                .iter()
                .map(|(path, bytes)| format!("{path}\n{}", String::from_utf8_lossy(bytes)))
                .collect();
            (system.word(), text.join("\n"), omitted)
        })
        .collect()
}

/// The words that the report has for a member: any one of them is enough.
fn words(place: &str) -> Vec<String> {
    let parts: Vec<&str> = place.split('.').collect();
    let plain = |name: &str| name.replace('_', " ");
    let noun = |list: &str| match list {
        "agent_history" => "entry of the agents' history".to_owned(),
        list => plain(list.strip_suffix('s').unwrap_or(list)),
    };
    // A member of an item that is there, or the item.
    let part = |member: &str, noun: &str| {
        let member = match member {
            "id" | "at" | "by" => "the ids, times or authors".to_owned(),
            member => member_words(member),
        };
        vec![format!(": {member} of {noun}"), format!(": {noun}")]
    };
    match parts.as_slice() {
        ["record", list, "id" | "at" | "by", ..] => {
            vec![
                ": the ids, times or authors of".to_owned(),
                format!(": 1 {}", noun(list)),
            ]
        }
        ["record", "extra", ..] => vec!["fields kept for other tools".to_owned()],
        ["record", list, member, ..] => vec![
            format!(": {} of 1 {}", member_words(member), noun(list)),
            format!(": 1 {}", noun(list)),
            format!(": the {}", plain(list)),
        ],
        ["record", member] => vec![format!(": the {}", plain(member))],
        ["session", "created_at", ..] => vec![", start time,".to_owned()],
        ["session", "id", ..] => vec![", id,".to_owned()],
        ["session", member, ..] => vec![format!(", {},", plain(member))],
        ["steps", member, ..] => part(member, "1 step"),
        ["log", member, ..] => part(member, "1 log line"),
        ["messages", member, ..] => {
            let mut all = part(member, "1 message");
            all.push("the chat of 1 message".to_owned());
            all
        }
        ["compaction", member, ..] => part(member, "1 summary of the chat"),
        ["put_aside", ..] => vec!["put aside in 1 checkpoint".to_owned()],
        ["unmerged_files", ..] => vec!["the unmerged files of 1 checkpoint".to_owned()],
        ["context"] => vec!["context of the project".to_owned()],
        ["agent"] => vec!["description of the agent".to_owned()],
        _ => Vec::new(),
    }
}

/// The forms in which a mark is written: a time also as other tools write it.
fn forms(mark: &str) -> Vec<String> {
    let mut all = vec![mark.to_owned()];
    if let Ok(at) = crate::model::time::Timestamp::parse(mark) {
        all.push(at.to_chrono().timestamp_millis().to_string());
        all.push(mark.replace("+00:00", "Z"));
        all.push(mark.replace("+00:00", ".000Z"));
    }
    all
}

fn missing(text: &str, omitted: &[OmittedContent], marks: &BTreeMap<String, String>) -> Vec<String> {
    // The members of a session are in one line, and those of as many items.
    let lines = |one: &OmittedContent| match (one.what.strip_suffix(" of the session"), one.what.split_once(" of 1 ")) {
        (Some(members), _) => vec![format!(", {},", members.replace(" and ", ", "))],
        (None, Some((members, items))) if !members.starts_with("the ") => {
            let members = members.replace(" and ", ", ");
            members
                .split(", ")
                .map(|member| format!(": {member} of 1 {items}"))
                .collect()
        }
        _ => vec![format!(": {}", one.what)],
    };
    let report: Vec<String> = omitted.iter().flat_map(lines).collect();
    let plain = text.replace('\\', "");
    let is_reported = |place: &str| {
        let words = words(place);
        report
            .iter()
            .any(|line| words.iter().any(|word| line.contains(word.as_str())))
    };
    let is_written = |mark: &str| forms(mark).iter().any(|form| plain.contains(form.as_str()));
    marks
        .iter()
        .filter(|(place, mark)| !is_written(mark) && !is_reported(place))
        .map(|(place, mark)| format!("{place} ({mark})"))
        .collect()
}

#[test]
fn no_export_drops_a_member_silently() {
    let (contents, marks) = full();
    let all = written(&contents);
    assert!(all.len() >= 4, "{} formats", all.len());
    let mut bad = Vec::new();
    for (format, text, omitted) in &all {
        let lost = missing(text, omitted, &marks);
        bad.extend(lost.into_iter().map(|place| format!("{format}: {place}")));
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn nothing_written_and_nothing_reported_is_found() {
    let (_, marks) = full();
    assert_eq!(missing("", &[], &marks).len(), marks.len());
}
