//! The count of a source's leaves, and of where each is after the import: in a member, in `extra`, or in an attachment.
//!
//! A leaf is a text, a number or a true value of JSON, YAML or a database, or a line or cell of Markdown that says
//! something. Nothing here knows the mapping of a system: what was read is compared with what came out, so a parser that
//! drops something is noticed. Files that are a problem are not counted.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::{File, ParseOutcome, ProblemSeverity, database_rows::rows_of, markdown as md, time, wrappers::plain, yaml};
use crate::model::json;

/// The leaves of a source by where they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Leaves {
    /// All of them.
    pub source: usize,
    /// Those in a member of the session, its checkpoints, chat, steps or log.
    pub members: usize,
    /// Those in `extra`.
    pub extra: usize,
    /// Those in an attachment alone.
    pub attachment: usize,
    /// Those that are nowhere, with their places.
    pub lost: Vec<String>,
}

impl Leaves {
    pub(super) fn add(&mut self, other: Self) {
        self.source += other.source;
        self.members += other.members;
        self.extra += other.extra;
        self.attachment += other.attachment;
        self.lost.extend(other.lost);
    }
}

/// The most bytes of files that are counted, 32 MiB: beyond that the count would take longer than the import.
const LIMIT: usize = 32 << 20;
/// The most texts that are searched for inside of longer ones.
const SEARCHES: usize = 20_000;

/// A leaf: its place in the file, and its value.
struct Leaf {
    place: String,
    value: Value,
}

/// Counts the leaves of files and finds them in what came out of them. `None` where that would take too long.
pub(super) fn count(files: &[File], parsed: &ParseOutcome) -> Leaves {
    let mut out = Leaves::default();
    if files.iter().map(|file| file.bytes.len()).sum::<usize>() > LIMIT {
        return out;
    }
    let held = Held::of(parsed);
    let mut searches = SEARCHES;
    let broken = parsed
        .problems
        .iter()
        .filter(|problem| problem.weight == ProblemSeverity::Broken);
    let broken: BTreeSet<&str> = broken
        .flat_map(|problem| problem.path.split(", "))
        .map(|path| path.split(['#']).next().unwrap_or(path))
        .map(|path| {
            path.rsplit_once(':')
                .filter(|(_, n)| n.parse::<usize>().is_ok())
                .map_or(path, |(path, _)| path)
        })
        .collect();
    let used: BTreeSet<&str> = parsed
        .sessions
        .iter()
        .flat_map(|session| session.sources.iter().map(String::as_str))
        .collect();
    for file in files {
        if broken.contains(file.path.as_str()) || !used.contains(file.path.as_str()) {
            continue;
        }
        let named: BTreeSet<&str> = parsed
            .problems
            .iter()
            .filter_map(|problem| problem.path.strip_prefix(file.path.as_str())?.strip_prefix('#'))
            .collect();
        let is_attached = held.attached.contains(&file.bytes.as_slice());
        for leaf in leaves(file) {
            out.source += 1;
            match held.find(&leaf, is_attached, &mut searches) {
                Place::Member => out.members += 1,
                Place::Extra => out.extra += 1,
                Place::Attachment => out.attachment += 1,
                // A problem names the table, and reports that some of its rows stay where they are.
                Place::Nowhere if named.iter().any(|table| leaf.place.split('/').next() == Some(table)) => {
                    out.source -= 1;
                }
                Place::Nowhere => out.lost.push(format!("{}#{}", file.path, leaf.place)),
            }
        }
    }
    out
}

enum Place {
    Member,
    Extra,
    Attachment,
    Nowhere,
}

/// Everything that came out.
#[derive(Default)]
struct Held<'a> {
    members: BTreeSet<String>,
    extra: BTreeSet<String>,
    /// The moments that members name, in milliseconds.
    times: BTreeSet<i64>,
    /// The pairs of a name and a true value.
    pairs: BTreeSet<String>,
    member_text: String,
    extra_text: String,
    attached: Vec<&'a [u8]>,
    attached_text: String,
}

impl<'a> Held<'a> {
    fn of(parsed: &'a ParseOutcome) -> Self {
        let mut out = Self::default();
        for session in &parsed.sessions {
            let mut value = serde_json::to_value(session).unwrap_or_default();
            let points = value.get_mut("checkpoints").and_then(Value::as_array_mut);
            for point in points.into_iter().flatten() {
                let extra = point.get_mut("record").and_then(Value::as_object_mut);
                if let Some(extra) = extra.and_then(|record| record.shift_remove("extra")) {
                    out.take(&extra, "", true);
                }
            }
            out.take(&value, "", false);
            for point in &session.checkpoints {
                for attachment in &point.attachments {
                    out.attached.push(&attachment.bytes);
                    out.attached_text.push_str(&String::from_utf8_lossy(&attachment.bytes));
                    out.attached_text.push('\n');
                }
            }
        }
        out
    }

    fn take(&mut self, value: &Value, name: &str, is_extra: bool) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.take(item, name, is_extra)),
            Value::Object(map) => {
                for (key, item) in map {
                    // Names are values too where a source lists things by name.
                    self.say(key, is_extra);
                    self.take(item, key, is_extra);
                }
            }
            Value::String(text) => {
                self.say(text, is_extra);
                if let Some(at) = time::of_value(value) {
                    self.times.insert(at.to_chrono().timestamp_millis());
                }
            }
            Value::Number(number) => {
                self.say(&number.to_string(), is_extra);
            }
            Value::Bool(true) => {
                self.pairs.insert(name.to_owned());
            }
            Value::Bool(false) | Value::Null => {}
        }
    }

    fn say(&mut self, text: &str, is_extra: bool) {
        let (set, blob) = if is_extra {
            (&mut self.extra, &mut self.extra_text)
        } else {
            (&mut self.members, &mut self.member_text)
        };
        if set.insert(text.to_owned()) {
            blob.push_str(text);
            blob.push('\n');
        }
    }

    fn find(&self, leaf: &Leaf, is_attached: bool, searches: &mut usize) -> Place {
        let text = match &leaf.value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            // A true value is named by its member, or became the word of a status.
            _ => {
                let name = leaf.place.rsplit('/').next().unwrap_or_default();
                return match self.pairs.contains(name) || STATUS_MEMBERS.contains(&name) {
                    true => Place::Member,
                    false if is_attached => Place::Attachment,
                    false => Place::Nowhere,
                };
            }
        };
        if self.members.contains(&text) {
            return Place::Member;
        }
        if self.extra.contains(&text) {
            return Place::Extra;
        }
        let at = time::of_value(&leaf.value).or_else(|| time::at_start(&text));
        if at.is_some_and(|at| self.times.contains(&at.to_chrono().timestamp_millis())) {
            return Place::Member;
        }
        let name = leaf.place.rsplit('/').next().unwrap_or_default();
        if is_checked(name, &text) || (STATUS_MEMBERS.contains(&name) && !is_attached) {
            return Place::Member;
        }
        if leaf.place.starts_with("line ") && (is_own_form(&text) || self.has_words(&text)) {
            return Place::Member;
        }
        let short = text.trim();
        if *searches > 0 && !short.is_empty() {
            *searches -= 1;
            for (blob, place) in [
                (&self.member_text, Place::Member),
                (&self.extra_text, Place::Extra),
                (&self.attached_text, Place::Attachment),
            ] {
                if blob.contains(short) {
                    return place;
                }
            }
        }
        if is_attached || *searches == 0 {
            return Place::Attachment;
        }
        Place::Nowhere
    }
}

impl Held<'_> {
    /// Whether every word of a line is somewhere: a line becomes several members. The words that name the members of the
    /// template are names, as those of JSON are.
    fn has_words(&self, text: &str) -> bool {
        const NAMES: [&str; 6] = ["Phase", "of", "Needs", "Reason", "Ref", "Answer"];
        let words = text.split(|c: char| !c.is_alphanumeric());
        let mut words = words
            .filter(|word| !word.is_empty() && !NAMES.contains(word))
            .peekable();
        words.peek().is_some() && words.all(|word| self.member_text.contains(word) || self.extra_text.contains(word))
    }
}

/// Whether a cell of a table is a word or a number that the template's own columns hold: a status, a count of tokens, a
/// duration, the number of a row; or one of the template's sentences.
fn is_own_form(text: &str) -> bool {
    let bare = text.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let status = [
        "done",
        "in progress",
        "blocked",
        "dropped",
        "todo",
        "completed",
        "pending",
        "active",
        "none",
    ];
    let is_measure = bare.starts_with(|c: char| c.is_ascii_digit()) && bare.chars().count() < 12;
    status.contains(&bare.as_str()) || is_measure || super::opencastle::is_own_sentence(text)
}

/// Members whose word becomes a status of ours: `pending` in a list of open todos repeats the name of the list.
const STATUS_MEMBERS: [&str; 8] = [
    "status",
    "complete",
    "Complete",
    "completed",
    "clean",
    "is_clean",
    "done",
    "git_uncommitted",
];

/// Digests that were checked, and the marks of encodings, which say nothing more.
fn is_checked(name: &str, text: &str) -> bool {
    let is_digest = text.len() >= 64
        && text
            .trim_start_matches("sha256")
            .trim_start_matches([':', '-'])
            .bytes()
            .all(|b| b.is_ascii_hexdigit());
    (is_digest && ["integrity", "sha256", "hash", "checksum", "value"].contains(&name)) || name == "__type__"
}

/// The leaves of a file, by its form.
fn leaves(file: &File) -> Vec<Leaf> {
    let mut out = Vec::new();
    if file.bytes.starts_with(super::sqlite::MAGIC) {
        for (table, rows) in rows_of(file) {
            for (n, row) in rows.into_iter().enumerate() {
                walk(&Value::Object(row), &format!("{table}/{n}"), &mut out);
            }
        }
        return out;
    }
    let start = file.bytes.trim_ascii_start();
    if file.is("yaml") || file.is("yml") {
        if let Ok(value) = yaml::parse(&file.text()) {
            walk(&value, "", &mut out);
        }
        return out;
    }
    if start.starts_with(b"{") || start.starts_with(b"[") {
        if let Ok(value) = file.json() {
            walk(&value, "", &mut out);
            return out;
        }
        for (line, n) in file.bytes.split(|byte| *byte == b'\n').zip(1..) {
            if let Ok(value) = json::parse_input(line) {
                walk(&value, &format!("{n}"), &mut out);
            }
        }
        return out;
    }
    if std::str::from_utf8(&file.bytes).is_ok() {
        text(&file.text(), &mut out);
    }
    out
}

fn walk(value: &Value, place: &str, out: &mut Vec<Leaf>) {
    match value {
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                walk(item, &format!("{place}/{n}"), out);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                walk(item, &format!("{place}/{key}"), out);
            }
        }
        Value::String(text) if text.trim().is_empty() => {}
        Value::String(text) => {
            // JSON in a text, and encoded values, are what they hold.
            match inner(text) {
                Some(inner) => walk(&inner, place, out),
                None => out.push(Leaf {
                    place: place.to_owned(),
                    value: value.clone(),
                }),
            }
        }
        Value::Number(_) | Value::Bool(true) => out.push(Leaf {
            place: place.to_owned(),
            value: value.clone(),
        }),
        Value::Bool(false) | Value::Null => {}
    }
}

fn inner(text: &str) -> Option<Value> {
    let opened = plain(Value::String(text.to_owned()));
    if opened.as_str() != Some(text) {
        return Some(opened);
    }
    let is_tree = text.starts_with('{') || text.starts_with('[');
    is_tree.then(|| json::parse_input(text.as_bytes()).ok()).flatten()
}

/// The lines and cells of Markdown without their marks.
fn text(whole: &str, out: &mut Vec<Leaf>) {
    let mut say = |place: usize, text: &str| {
        let text = md::unticked(text.trim().trim_matches('*').trim());
        if text.chars().any(char::is_alphanumeric) {
            out.push(Leaf {
                place: format!("line {place}"),
                value: text.into(),
            });
        }
    };
    let lines: Vec<&str> = whole.lines().collect();
    for (at, (line, n)) in lines.iter().zip(1..).enumerate() {
        let trimmed = line.trim().trim_start_matches('#').trim();
        if line.trim_start().starts_with('#') {
            // A heading names what follows, as a member does; what is behind a colon is a value.
            if let Some((_, value)) = trimmed.split_once(": ") {
                say(n, value);
            }
        } else if trimmed.starts_with('|') {
            let next = lines.get(at + 1).map(|line| line.trim()).unwrap_or_default();
            let is_head = next.starts_with('|') && next.contains('-') && next.chars().all(|c| "|-: ".contains(c));
            if is_head {
                continue;
            }
            for cell in trimmed.trim_matches('|').split('|') {
                say(n, cell);
            }
        } else if let Some((_, value)) = md::pair(trimmed) {
            say(n, value);
        } else {
            let (items, _) = md::bullets(&[trimmed.to_owned()]);
            say(n, items.first().map_or(trimmed, |item| item.text.as_str()));
        }
    }
}
