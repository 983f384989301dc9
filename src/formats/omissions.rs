//! Content that the format of a system cannot hold.
//!
//! Not a list that is kept by hand: what was written is read again, and what does not come back is reported. So
//! it holds for every form, and for the texts of the very session that is exported.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{ExportFiles, ExportInput, File, ForeignCheckpoint, ForeignSession, System};
use crate::model::{facts::GitFacts, patch::LISTS};

/// One kind of thing that an export does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OmittedContent {
    /// Description for people: `2 fork points`, `the reason of 1 decision`.
    pub what: String,
    /// How many there are of it.
    pub count: usize,
}

impl OmittedContent {
    /// One thing.
    pub fn one(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            count: 1,
        }
    }

    /// So many things: `of` is put before them, as in `the chat of `.
    pub fn several(of: &str, count: usize, noun: &str) -> Self {
        Self {
            what: format!("{of}{}", counted(count, noun)),
            count,
        }
    }
}

/// Counts of omitted content that is not in [`ExportInput`].
#[derive(Clone, Copy, Debug, Default)]
pub struct UnexportedCounts {
    /// How many checkpoints there are before the latest one.
    pub earlier: usize,
    /// How many steps there are.
    pub steps: usize,
    /// How many earlier checkpoints hold work that `pause --clean` removed.
    pub put_aside: usize,
    /// How many checkpoints there are whose record was merged and whose files were not.
    pub unmerged_files: usize,
}

/// Content of a session that the files written for a system do not hold.
pub fn left_out(
    system: System,
    out: &ExportInput<'_>,
    written: &ExportFiles,
    beside: UnexportedCounts,
) -> Vec<OmittedContent> {
    let file = |(path, bytes): &(String, Vec<u8>)| File {
        path: path.clone(),
        bytes: bytes.clone(),
        modified: None,
    };
    let files: Vec<File> = written.0.iter().map(file).collect();
    let sessions = system.parse(&files).sessions;
    let (Some(session), Some(point)) = (
        sessions.first(),
        sessions.first().and_then(|all| all.checkpoints.last()),
    ) else {
        return vec![OmittedContent::one("anything that can be read again")];
    };
    let mut told = Vec::new();
    let document = out.latest();
    let then = object(&document.record);
    record(system, &then, &point.record, &mut told);
    let mut lacking = members(&object(&document.session), session, point);
    if session.created_at.is_none_or(|at| at != document.session.created_at) {
        lacking.push("start time".to_owned());
    }
    if session.id != document.session.id {
        lacking.push("id".to_owned());
    }
    if !lacking.is_empty() {
        told.push(OmittedContent {
            what: format!("{} of the session", joined(&lacking)),
            count: lacking.len(),
        });
    }
    let name = document.name.as_ref().map(ToString::to_string);
    if name.is_some() && name != point.name {
        told.push(OmittedContent::one("the name of the checkpoint"));
    }
    if document.trigger.is_some() && document.trigger != point.trigger {
        told.push(OmittedContent::one("the occasion of the checkpoint"));
    }
    let lacking = facts(&document.git, point);
    if !lacking.is_empty() {
        told.push(OmittedContent {
            what: format!("{} of the repository", joined(&lacking)),
            count: lacking.len(),
        });
    }
    let mut count = |wanted: usize, found: usize, of: &str, noun: &str| {
        if wanted > found {
            told.push(OmittedContent::several(of, wanted - found, noun));
        }
    };
    count(beside.earlier + 1, session.checkpoints.len(), "", "earlier checkpoint");
    let said: usize = session.checkpoints.iter().map(|point| point.messages.len()).sum();
    count(out.messages.len(), said, "the chat of ", "message");
    count(
        usize::from(document.compaction.is_some()),
        usize::from(point.compaction.is_some()),
        "",
        "summary of the chat",
    );
    count(beside.steps, point.steps.len(), "", "step");
    count(
        beside.put_aside,
        0,
        "the work that 'pause --clean' put aside in ",
        "checkpoint",
    );
    count(beside.unmerged_files, 0, "the unmerged files of ", "checkpoint");
    count(out.log.len(), session.log.len(), "", "log line");
    count(
        document.record.attachments.len(),
        point.attachments.len(),
        "",
        "attachment",
    );
    let is_context = point.context.is_some() || out.context.is_none_or(|text| text.trim().is_empty());
    count(1, usize::from(is_context), "", "context of the project");
    let is_agent = point.agent.is_some() || out.agent.is_none_or(|text| text.trim().is_empty());
    count(1, usize::from(is_agent), "", "description of the agent");
    count(usize::from(document.snapshot.is_some()), 0, "", "snapshot of the files");
    let messages = session.checkpoints.iter().flat_map(|point| &point.messages);
    let messages: Vec<Value> = messages.cloned().collect();
    parts(("step", "title"), &values(out.steps), &point.steps, &mut told);
    parts(("log line", "message"), out.log, &values(&session.log), &mut told);
    parts(("message", "content"), out.messages, &messages, &mut told);
    if let (Some(then), Some(now)) = (&document.compaction, &point.compaction) {
        let noun = ("summary of the chat", "");
        parts(noun, std::slice::from_ref(then), std::slice::from_ref(now), &mut told);
    }
    told
}

fn values(items: &[impl Serialize]) -> Vec<Value> {
    items
        .iter()
        .filter_map(|item| serde_json::to_value(item).ok())
        .collect()
}

/// Members of steps, messages and lines of the log that are away although the item itself is there; items are matched by
/// their text. `kind` is the noun for one, and the member with its text.
fn parts(kind: (&str, &str), then: &[Value], now: &[Value], told: &mut Vec<OmittedContent>) {
    let (noun, field) = kind;
    let mut found: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    let text = |item: &Value| item.get(field).map(ToString::to_string).unwrap_or_default();
    for item in now.iter().rev() {
        found.entry(text(item)).or_default().push(item);
    }
    let (mut framed, mut changed) = (0, 0);
    let mut lacking: BTreeMap<&str, usize> = BTreeMap::new();
    // What has another text is compared as well: by its place.
    let pairs = then.iter().enumerate().filter_map(|(at, item)| {
        let same = found.get_mut(&text(item)).and_then(Vec::pop);
        Some((item, same.or_else(|| now.get(at))?))
    });
    for (item, other) in pairs {
        changed += usize::from(text(item) != text(other));
        framed += usize::from(["id", "at", "by"].iter().any(|key| !is_kept(key, item, other)));
        for (key, value) in item.as_object().into_iter().flatten() {
            let is_own = ["id", "at", "by", field].contains(&key.as_str());
            if !is_own && says(value) && !is_kept(key, item, other) {
                *lacking.entry(key).or_default() += 1;
            }
        }
    }
    if changed > 0 {
        told.push(OmittedContent::several(&format!("{field} of "), changed, noun));
    }
    told_members(&lacking, noun, told);
    if framed > 0 {
        told.push(OmittedContent::several("the ids, times or authors of ", framed, noun));
    }
}

/// Reports members that are away, in one line those of as many items.
fn told_members(lacking: &BTreeMap<&str, usize>, noun: &str, told: &mut Vec<OmittedContent>) {
    let mut together: Vec<(usize, Vec<String>)> = Vec::new();
    for (member, count) in lacking {
        match together.iter_mut().find(|(known, _)| known == count) {
            Some((_, members)) => members.push(member_words(member)),
            None => together.push((*count, vec![member_words(member)])),
        }
    }
    for (count, members) in together {
        told.push(OmittedContent::several(
            &format!("{} of ", joined(&members)),
            count,
            noun,
        ));
    }
}

/// A member in the words of people.
pub(crate) fn member_words(member: &str) -> String {
    match member {
        "before" => "files at the start".to_owned(),
        "after" => "files at the end".to_owned(),
        "duration_ms" => "duration".to_owned(),
        "earlier" => "earlier attempts".to_owned(),
        "more_outputs" => "number of further outputs".to_owned(),
        "invalidated" => "reason of the invalid result".to_owned(),
        "answered_by" => "who answered".to_owned(),
        "depends_on" => "dependencies".to_owned(),
        "started_at" => "start time".to_owned(),
        "ended_at" => "end time".to_owned(),
        "asked_at" => "time of the question".to_owned(),
        _ => member.replace('_', " "),
    }
}

/// Whether a member came back; the time of a message has another name in other tools.
fn is_kept(key: &str, item: &Value, other: &Value) -> bool {
    let value = item.get(key);
    let time = |value: Option<&Value>| super::time_of(value?);
    let is_time = || time(value).is_some() && time(value) == time(other.get("at").or_else(|| other.get("timestamp")));
    value == other.get(key) || (key == "at" && is_time())
}

fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn counted(count: usize, noun: &str) -> String {
    let (noun, of) = match noun.split_once(" of ") {
        Some((noun, of)) => (noun, format!(" of {of}")),
        None => (noun, String::new()),
    };
    let noun = match (count, noun.strip_suffix('y')) {
        (1, _) => noun.to_owned(),
        (_, Some(stem)) if !noun.ends_with("ay") => format!("{stem}ies"),
        _ => format!("{noun}s"),
    };
    format!("{count} {noun}{of}")
}

/// The same words, whatever blanks and line ends are between them.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// Whether a value says as much as is lost when it is away: an empty one says nothing.
fn says(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    }
}

fn record(system: System, then: &Map<String, Value>, now: &Map<String, Value>, told: &mut Vec<OmittedContent>) {
    let mut framed = 0;
    let all: BTreeSet<&str> = LISTS
        .iter()
        .flat_map(|(list, field)| items(now, list).filter_map(|item| item.get(*field)?.as_str()))
        .collect();
    for (list, field) in LISTS {
        let noun = list.strip_suffix('s').unwrap_or(list).replace('_', " ");
        let noun = if list == "agent_history" {
            "entry of the agents' history"
        } else {
            noun.as_str()
        };
        let mut found: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for item in items(now, list) {
            found
                .entry(item.get(field).and_then(Value::as_str).unwrap_or_default())
                .or_default()
                .push(item);
        }
        for same in found.values_mut() {
            same.reverse();
        }
        let spelled: BTreeSet<Vec<&str>> = found.keys().map(|text| words(text)).collect();
        let (mut lost, mut moved, mut changed) = (0, 0, 0);
        let mut lacking: BTreeMap<&str, usize> = BTreeMap::new();
        for item in items(then, list) {
            let text = item.get(field).and_then(Value::as_str).unwrap_or_default();
            let Some(other) = found.get_mut(text).and_then(Vec::pop) else {
                match (spelled.contains(&words(text)), all.contains(text)) {
                    (true, _) => changed += 1,
                    (_, true) => moved += 1,
                    _ => lost += 1,
                }
                continue;
            };
            framed += usize::from(["id", "at", "by"].iter().any(|key| item.get(*key) != other.get(*key)));
            for (key, value) in item.as_object().into_iter().flatten() {
                let is_own = ["id", "at", "by", field].contains(&key.as_str());
                if !is_own && says(value) && other.get(key) != Some(value) {
                    *lacking.entry(key).or_default() += 1;
                }
            }
        }
        if lost > 0 {
            told.push(OmittedContent::several("", lost, noun));
        }
        if moved > 0 {
            let mut one = OmittedContent::several("", moved, noun);
            one.what.push_str(" as such: they are in another list");
            told.push(one);
        }
        if changed > 0 {
            told.push(OmittedContent::several("the line ends and blanks of ", changed, noun));
        }
        told_members(&lacking, noun, told);
    }
    if framed > 0 {
        told.push(OmittedContent::several("the ids, times or authors of ", framed, "item"));
    }
    for (key, value) in then.iter().filter(|(_, value)| says(value)) {
        let is_told =
            LISTS.iter().any(|(list, _)| list == key) || ["attachments", "auto_summary"].contains(&key.as_str());
        if is_told || now.get(key) == Some(value) {
            continue;
        }
        if key == "extra" {
            let lacking = extra(system, value, now.get(key));
            if !lacking.is_empty() {
                told.push(OmittedContent {
                    what: format!("fields kept for other tools: {}", lacking.join(", ")),
                    count: lacking.len(),
                });
            }
            continue;
        }
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned).unwrap_or_default();
        let (one, two) = (text(Some(value)), text(now.get(key)));
        if !one.is_empty() && words(&one) == words(&two) {
            told.push(OmittedContent::one(format!(
                "the line ends and blanks of the {}",
                key.replace('_', " ")
            )));
        } else {
            told.push(OmittedContent::one(format!("the {}", key.replace('_', " "))));
        }
    }
}

fn items<'a>(record: &'a Map<String, Value>, list: &str) -> impl Iterator<Item = &'a Value> {
    record.get(list).and_then(Value::as_array).into_iter().flatten()
}

/// The members of `extra` that are away: of the system's own each one, of others their names.
fn extra(system: System, then: &Value, now: Option<&Value>) -> Vec<String> {
    let mut lacking = Vec::new();
    for (name, value) in then.as_object().into_iter().flatten() {
        let other = now.and_then(|now| now.get(name));
        match (value.as_object(), other.and_then(Value::as_object)) {
            (Some(own), Some(found)) if name == system.word() => {
                let away = own
                    .iter()
                    .filter(|(key, value)| says(value) && found.get(*key) != Some(value));
                lacking.extend(away.map(|(key, _)| format!("{name}.{key}")));
            }
            _ if says(value) && other != Some(value) => lacking.push(name.clone()),
            _ => {}
        }
    }
    lacking
}

/// The members of the session that are away.
fn members(then: &Map<String, Value>, session: &ForeignSession, point: &ForeignCheckpoint) -> Vec<String> {
    let identity = ["id", "name", "created_at"];
    let mut lacking = Vec::new();
    for (key, value) in then
        .iter()
        .filter(|(key, value)| !identity.contains(&key.as_str()) && says(value))
    {
        let now = point.members.get(key).or_else(|| session.members.get(key));
        let mut value = value.clone();
        if key == "metadata"
            && let Value::Object(metadata) = &mut value
        {
            // Where it was imported from is not the session's own.
            metadata.shift_remove("imported");
        }
        if says(&value) && now != Some(&value) {
            lacking.push(key.replace('_', " "));
        }
    }
    lacking
}

/// `a`, `a and b`, `a, b and c`.
fn joined(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, first)) => format!("{} and {last}", first.join(", ")),
    }
}

/// Facts of git that the target format drops.
fn facts(git: &GitFacts, point: &ForeignCheckpoint) -> Vec<&'static str> {
    let claimed = &point.git;
    let held: BTreeSet<String> = [&claimed.staged, &claimed.modified, &claimed.untracked]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    let mut changed = git
        .staged
        .first
        .iter()
        .chain(&git.modified.first)
        .chain(&git.untracked.first);
    let mut lacking = Vec::new();
    for (is_away, what) in [
        (git.branch.is_some() && git.branch != claimed.branch, "branch"),
        (git.head.is_some() && claimed.commit.is_none(), "commit"),
        (git.upstream.is_some(), "upstream"),
        (changed.any(|path| !held.contains(&path.quoted())), "changed files"),
        (
            !git.staged.first.is_empty() && claimed.staged.is_empty(),
            "what is staged",
        ),
        (git.operation.is_some(), "the operation in progress"),
        (git.stash_count > 0, "stashes"),
    ] {
        if is_away {
            lacking.push(what);
        }
    }
    lacking
}
