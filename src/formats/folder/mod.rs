//! A session directory: `session.json`, `state.json`, `checkpoints/*.json` with a SHA-256 of each, logs, artifacts.
//!
//! A pattern that several tools follow rather than one tool's format. A checkpoint whose integrity field does not match
//! is damaged: it is reported and left out, the others come in. Our own export has the record next to the state.

mod script;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    Attachment, ExportExtent, ExportFiles, ExportInput, File, ForeignCheckpoint, ForeignLogLine, ForeignSession,
    Format, FormatWriter, ParseOutcome, Problem, Recognition, System,
    claude_mpm::has,
    fields::ObjectFields,
    notes::{RecordNotes, put_extra, session_status},
    time,
};
use crate::model::{id::Digest, json as strict, session::SessionStatus};

/// The most lines of a log that are kept, the latest: a few bytes a line would otherwise fill the memory.
const LINES_LIMIT: usize = 100_000;
/// The folders below a session's.
const INNER: [&str; 3] = ["checkpoints", "logs", "artifacts"];

pub(super) const SYSTEM: System = System::of(&Folder);

/// The directory of a session.
struct Folder;

impl Format for Folder {
    fn name(&self) -> &'static str {
        "folder"
    }

    fn places(&self) -> &'static [&'static str] {
        &[".sessions"]
    }

    fn recognize(&self, file: &File) -> Recognition {
        let parent = file.folder().rsplit('/').next().unwrap_or_default();
        let is_point = parent == "checkpoints"
            && file.is("json")
            && (file.name().starts_with("cp-") || has(&file.bytes, "\"integrity\""));
        let is_named = matches!(file.name(), "session.json" | "state.json") || is_point;
        Recognition::Name.when(is_named || parent == "logs" || parent == "artifacts")
    }

    /// The inner directories of every session: a file of another system among its artifacts is an artifact.
    fn directories(&self, files: &[File]) -> Vec<String> {
        let heads = files.iter().filter(|file| {
            let is_head = file.name() == "session.json" && super::detect(file) == Some(SYSTEM);
            is_head && !has(&file.bytes, "\"taskId\"")
        });
        heads
            .flat_map(|head| {
                let root = head.folder();
                INNER.map(|inner| {
                    if root.is_empty() {
                        inner.to_owned()
                    } else {
                        format!("{root}/{inner}")
                    }
                })
            })
            .collect()
    }

    fn parse(&self, files: &[File]) -> ParseOutcome {
        parse(files)
    }

    fn writer(&self) -> Option<&dyn FormatWriter> {
        Some(&Folder)
    }
}

impl FormatWriter for Folder {
    fn about(&self) -> &'static str {
        "a session directory: session.json, checkpoints, artifacts; needs -o DIR"
    }

    fn extent(&self) -> ExportExtent {
        ExportExtent::Chain
    }

    fn write(&self, out: &ExportInput<'_>) -> ExportFiles {
        write::write(out)
    }

    fn joins(&self, written: &ExportFiles, path: &str) -> bool {
        !written.0.iter().any(|(own, _)| own == path) && joins(path)
    }
}

/// Whether a file at this path in a session's folder is read as part of the session.
fn joins(path: &str) -> bool {
    match path.split_once('/') {
        Some(("checkpoints", name)) => name.strip_suffix(".json").is_some(),
        Some((folder, _)) => INNER.contains(&folder),
        None => matches!(path, "session.json" | "state.json"),
    }
}

/// The directory of the session that a file belongs to: that above the first inner directory whose parent has a
/// `session.json` or `state.json`, else the parent of an inner directory, else the file's own.
fn root<'f>(file: &'f File, heads: &BTreeSet<&str>) -> &'f str {
    let folder = file.folder();
    let mut nearest = None;
    let mut start = 0;
    for part in folder.split('/') {
        if INNER.contains(&part) {
            let above = folder[..start].trim_end_matches('/');
            if heads.contains(above) {
                return above;
            }
            nearest = Some(above);
        }
        start += part.len() + 1;
    }
    nearest.unwrap_or(folder)
}

fn parse(files: &[File]) -> ParseOutcome {
    let mut out = ParseOutcome::default();
    let mut groups: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    let heads = files
        .iter()
        .filter(|file| matches!(file.name(), "session.json" | "state.json"));
    let heads: BTreeSet<&str> = heads.map(File::folder).collect();
    for file in files {
        groups.entry(root(file, &heads)).or_default().push(file);
    }
    for (root, files) in groups {
        let is_session = files
            .iter()
            .any(|file| file.is("json") && !is_inner(root, file, "artifacts"));
        if is_session {
            session(root, &files, &mut out);
        } else {
            for file in files {
                out.problems
                    .push(Problem::note(&file.path, "it belongs to no session folder"));
            }
        }
    }
    out
}

/// Whether a file lies in an inner directory of the session at this place.
fn is_inner(root: &str, file: &File, inner: &str) -> bool {
    let below = file
        .path
        .strip_prefix(root)
        .unwrap_or(&file.path)
        .trim_start_matches('/');
    below.split('/').next() == Some(inner)
}

fn object(file: &File, out: &mut ParseOutcome) -> Option<ObjectFields> {
    match file.json().map(ObjectFields::of) {
        Ok(Some(fields)) => Some(fields),
        Ok(None) => {
            out.problems.push(Problem::broken(&file.path, "it is not an object"));
            None
        }
        Err(problem) => {
            out.problems.push(problem);
            None
        }
    }
}

fn session(root: &str, files: &[&File], out: &mut ParseOutcome) {
    let at = |name: &str| {
        files
            .iter()
            .find(|file| file.name() == name && file.folder() == root)
            .copied()
    };
    let mut head = at("session.json")
        .and_then(|file| object(file, out))
        .unwrap_or_default();
    let folder = root.rsplit('/').next().unwrap_or_default();
    let id = head
        .text("id")
        .or_else(|| head.text("sessionId"))
        .unwrap_or_else(|| folder.to_owned());
    let mut session = ForeignSession::new(SYSTEM, id, files[0]);
    for file in &files[1..] {
        session.source(file);
    }
    let word = head.peek_text("status").map(str::to_owned);
    let status = word
        .as_deref()
        .and_then(session_status)
        .unwrap_or(SessionStatus::Active);
    session.status(status);
    if word.as_deref() == Some(status.word()) {
        head.take("status");
    }
    session.created_at = ["createdAt", "created_at", "startedAt"]
        .iter()
        .find_map(|key| head.time(key));
    let updated = ["updatedAt", "updated_at", "lastUpdated"]
        .iter()
        .find_map(|key| head.peek_time(key));
    for (from, to) in [
        ("task", "task"),
        ("title", "title"),
        ("agent", "agent"),
        ("name", "title"),
    ] {
        if !session.members.contains_key(to) {
            session.member(to, head.text(from));
        }
    }
    if let Some(Value::Object(members)) = head.take("session") {
        session.members.extend(members);
    }
    for file in files
        .iter()
        .filter(|file| is_inner(root, file, "checkpoints") && file.is("json"))
    {
        if let Some(fields) = object(file, out)
            && let Some(point) = checkpoint(file, fields, &mut out.problems)
        {
            session.checkpoints.push(point);
        }
    }
    session
        .checkpoints
        .sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.id.cmp(&b.id)));
    let state = at("state.json").and_then(|file| match file.json() {
        Ok(value) => Some(value),
        Err(problem) => {
            out.problems.push(problem);
            None
        }
    });
    // The pattern's own code keeps the state in `session.json`.
    let state = state.or_else(|| head.take("state").filter(|state| !state.is_null()));
    if head
        .get("config")
        .and_then(Value::as_object)
        .is_some_and(serde_json::Map::is_empty)
    {
        head.take("config");
    }
    let artifacts = files.iter().filter(|file| is_inner(root, file, "artifacts"));
    let attachments: Vec<Attachment> = artifacts.map(|file| Attachment::of(file)).collect();
    let mut failure = None;
    for file in files.iter().filter(|file| is_inner(root, file, "logs")) {
        failure = failure.or_else(|| error(file, &mut session));
        log(file, &mut session, &mut out.problems);
    }
    // The present state is a checkpoint of its own where it is not the last one's already.
    let last = session.checkpoints.last();
    let is_new = state
        .as_ref()
        .is_some_and(|state| last.and_then(|point| point.record.get("state")) != Some(state));
    if last.is_none() || is_new || !attachments.is_empty() && last.is_none() {
        let mut point = ForeignCheckpoint::new("state");
        point.at = updated
            .or_else(|| last.and_then(|point| point.at))
            .or(session.created_at);
        let mut notes = RecordNotes::default();
        notes.set("state", state);
        point.record = notes.finish();
        session.checkpoints.push(point);
    }
    if let Some(point) = session.checkpoints.last_mut() {
        if let Some(failure) = failure {
            point.record.entry("error").or_insert(failure);
        }
        point.attachments.extend(attachments);
        let rest = head.rest();
        if !rest.is_empty() {
            put_extra(&mut point.record, SYSTEM, "session", Value::Object(rest));
        }
    }
    out.sessions.push(session);
}

fn checkpoint(file: &File, mut fields: ObjectFields, problems: &mut Vec<Problem>) -> Option<ForeignCheckpoint> {
    if let Some(why) = damaged(&fields) {
        problems.push(Problem::broken(&file.path, why));
        return None;
    }
    let mut point = ForeignCheckpoint::new(fields.text("id").unwrap_or_else(|| file.stem().to_owned()));
    point.at = ["timestamp", "createdAt", "created_at"]
        .iter()
        .find_map(|key| fields.time(key));
    point.name = fields.text("name");
    let mut notes = RecordNotes::default();
    let mut progress = fields.fields("progress");
    let key = if progress.is_some() { "progress" } else { "metadata" };
    progress = progress.or_else(|| fields.fields("metadata"));
    let inner = progress.as_mut().unwrap_or(&mut fields);
    let number = |fields: &ObjectFields, key: &str| {
        fields
            .get(key)
            .and_then(Value::as_u64)
            .filter(|n| u32::try_from(*n).is_ok())
    };
    let (step, of) = (number(inner, "step"), number(inner, "totalSteps"));
    if let (Some(n), Some(of)) = (step, of) {
        inner.take("step");
        inner.take("totalSteps");
        notes.set("step", Some(serde_json::json!({ "n": n, "of": of })));
    }
    notes.set("summary", inner.text("description"));
    if let Some(progress) = progress {
        fields.put_back(key, progress);
    }
    let mut record = fields.fields("record").map(ObjectFields::rest).unwrap_or_default();
    notes.set("state", fields.take("state").filter(|state| !state.is_null()));
    if integrity(&fields).is_some() {
        fields.take("integrity");
    } else if fields.has("integrity") {
        problems.push(Problem::note(
            &file.path,
            "its integrity field is of no known form, so nothing was checked",
        ));
    }
    notes.extra(SYSTEM, fields.rest());
    let own = notes.finish();
    // What the export keeps beside the state is the whole record; its content counts.
    for (key, value) in own {
        if key == "extra"
            && let (Some(Value::Object(known)), Value::Object(more)) = (record.get_mut("extra"), value.clone())
        {
            known.extend(more);
        } else {
            record.entry(key).or_insert(value);
        }
    }
    point.record = record;
    Some(point)
}

/// The digest that a checkpoint gives of itself.
fn integrity(fields: &ObjectFields) -> Option<&str> {
    let given = fields.get("integrity")?;
    let inner = || {
        ["sha256", "hash", "checksum", "value"]
            .iter()
            .find_map(|key| given.get(key)?.as_str())
    };
    given.as_str().or_else(inner)
}

/// Why a checkpoint is damaged, by its integrity field. The pattern's own code takes the digest of the document
/// with the field empty, as JavaScript writes it; other tools that of the state, or of the whole without the field, each
/// as JSON without or with spaces. One that fits is enough.
fn damaged(fields: &ObjectFields) -> Option<String> {
    let given = fields.get("integrity")?;
    let Some(text) = integrity(fields) else {
        return given.is_null().then(|| "its integrity field is empty".to_owned());
    };
    let wanted = text
        .trim()
        .trim_start_matches("sha256:")
        .trim_start_matches("sha256-")
        .to_ascii_lowercase();
    let mut blank = fields.clone();
    blank.put("integrity", "".into());
    let blank = Value::Object(blank.rest());
    let is_own = |text: String| Digest::of(text.as_bytes()).hex() == wanted;
    if is_own(blank.to_string()) || is_own(script::text(&blank)) {
        return None;
    }
    let mut whole = fields.clone();
    whole.take("integrity");
    let whole = Value::Object(whole.rest());
    let state = fields.get("state");
    for value in [state, Some(&whole)].into_iter().flatten() {
        let compact = serde_json::to_vec(value).unwrap_or_default();
        let spaced = serde_json::to_vec_pretty(value).unwrap_or_default();
        let fits = [compact, spaced, script::text(value).into_bytes()]
            .iter()
            .any(|bytes| Digest::of(bytes).hex() == wanted);
        if fits {
            return None;
        }
    }
    let plain = state
        .and_then(Value::as_str)
        .is_some_and(|state| Digest::of(state.as_bytes()).hex() == wanted);
    (!plain).then(|| "its integrity field does not match its content".to_owned())
}

/// The failure that a session ended with: `logs/error.json` with its message and stack, of which the latest counts.
fn error(file: &File, session: &mut ForeignSession) -> Option<Value> {
    if file.name() != "error.json" {
        return None;
    }
    let text = file.text();
    let value = strict::parse_input(text.as_bytes())
        .ok()
        .or_else(|| strict::parse_input(text.lines().rfind(|line| !line.trim().is_empty())?.as_bytes()).ok())?;
    let latest = match value {
        Value::Array(items) => items.last().cloned()?,
        other => other,
    };
    let inner = latest.get("error").filter(|inner| inner.is_object()).unwrap_or(&latest);
    let text = |keys: &[&str]| keys.iter().find_map(|key| inner.get(*key)?.as_str().map(str::to_owned));
    let message = text(&["message", "error", "msg"])?;
    session.status(SessionStatus::Failed);
    let mut out = serde_json::json!({ "message": message });
    if let Some(stack) = text(&["stack", "stackTrace"]) {
        out["stack"] = stack.into();
    }
    Some(out)
}

/// A log: JSON lines, or plain lines.
fn log(file: &File, session: &mut ForeignSession, problems: &mut Vec<Problem>) {
    let mut text = file.text();
    // One document over several lines is one entry.
    if file.is("json")
        && let Ok(whole) = strict::parse_input(text.as_bytes())
    {
        text = match whole {
            Value::Array(items) => items.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"),
            other => other.to_string(),
        };
    }
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let beyond = lines().count().saturating_sub(LINES_LIMIT);
    if beyond > 0 {
        let what = format!("its first {beyond} lines are left out: more than {LINES_LIMIT}");
        problems.push(Problem::broken(&file.path, what));
    }
    for line in lines().skip(beyond) {
        let value = strict::parse_input(line.as_bytes()).ok();
        let of = |keys: &[&str]| {
            keys.iter()
                .find_map(|key| value.as_ref()?.get(key)?.as_str().map(str::to_owned))
        };
        let said = of(&["message", "msg", "error", "event"]);
        let at = value.as_ref().and_then(|value| {
            ["timestamp", "time", "at", "ts"]
                .iter()
                .find_map(|key| time::of_value(value.get(key)?))
        });
        // A plain line often begins with its time.
        let at = at.or_else(|| {
            line.trim_start_matches('[')
                .split([']', ' '])
                .next()
                .and_then(time::parse)
        });
        let level = of(&["level", "severity"])
            .unwrap_or_else(|| if file.name().contains("error") { "error" } else { "info" }.to_owned());
        // A line that has more than a line of the log can is kept as it is.
        let known = [
            &["message", "msg", "error", "event"][..],
            &["timestamp", "time", "at", "ts"],
            &["level", "severity"],
            &["agent"],
        ];
        let whole = value.as_ref().and_then(Value::as_object).is_some_and(|map| {
            let place = |key: &String| known.iter().position(|names| names.contains(&key.as_str()));
            let places: BTreeSet<_> = map.keys().filter_map(place).collect();
            places.len() == map.len()
                && map
                    .iter()
                    .all(|(key, value)| value.is_string() || place(key) == Some(1))
        });
        session.log.push(ForeignLogLine {
            at,
            level,
            message: said.filter(|_| whole).unwrap_or_else(|| line.to_owned()),
            agent: of(&["agent"]),
        });
    }
}
