//! claude-mpm: pause sessions as JSON, YAML and Markdown, its pointer file, and the log of a pause in progress.
//!
//! A pause is a session with one checkpoint. Files of one stem are one session: the JSON counts, else the YAML, else
//! the Markdown; the others are kept as attachments. The pointer file is never trusted. Known faults of the real files
//! are reported as notes: the first modified path may lack its first character, and check sums are named after a
//! temporary file.

mod json;
mod log;
mod markdown;
mod write;

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Attachment, ExportExtent, ExportFiles, ExportInput, File, Format, FormatWriter, ParseOutcome, Problem, Recognition,
    System,
    notes::{NoteItem, RecordNotes},
    yaml,
};

/// Whether a name is `session-YYYYMMDD-HHMMSS` with anything behind it.
fn is_session(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("session-") else {
        return false;
    };
    let bytes = rest.as_bytes();
    bytes.len() >= 15
        && bytes[8] == b'-'
        && bytes[..15]
            .iter()
            .enumerate()
            .all(|(at, byte)| at == 8 || byte.is_ascii_digit())
        && bytes.get(15).is_none_or(|byte| !byte.is_ascii_digit())
}

fn is_log(file: &File) -> bool {
    let is_lines = |line: &[u8]| has(line, "\"pause_started\"") && has(line, "\"session_id\"");
    file.name() == "ACTIVE-PAUSE.jsonl"
        || file.name().ends_with("-incremental.jsonl")
        || file.bytes.split(|byte| *byte == b'\n').next().is_some_and(is_lines)
}

/// The litter that each pause leaves: `.session-*.tmp.sha256`, named after a file that is gone.
fn is_litter(file: &File) -> bool {
    file.name().starts_with(".session-") && file.name().ends_with(".sha256")
}

pub(super) const SYSTEM: System = System::of(&ClaudeMpm);

/// The pause sessions of claude-mpm.
struct ClaudeMpm;

impl Format for ClaudeMpm {
    fn name(&self) -> &'static str {
        "claude-mpm"
    }

    fn places(&self) -> &'static [&'static str] {
        &[".claude-mpm/sessions"]
    }

    fn homes(&self) -> &'static [&'static str] {
        &[".claude-mpm"]
    }

    fn recognize(&self, file: &File) -> Recognition {
        let content = Recognition::Content.when(is_pause(file));
        content.max(Recognition::Name.when(is_named(file)))
    }

    fn parse(&self, files: &[File]) -> ParseOutcome {
        parse(files)
    }

    fn writer(&self) -> Option<&dyn FormatWriter> {
        Some(&ClaudeMpm)
    }
}

impl FormatWriter for ClaudeMpm {
    fn about(&self) -> &'static str {
        "a pause session that claude-mpm reads: session-<time>.json"
    }

    fn extent(&self) -> ExportExtent {
        ExportExtent::File
    }

    fn write(&self, out: &ExportInput<'_>) -> ExportFiles {
        write::write(out)
    }
}

fn is_named(file: &File) -> bool {
    let name = file.name();
    let known = ["json", "yaml", "yml", "md"].iter().any(|end| file.is(end));
    (is_session(name) && known) || name == "LATEST-SESSION.txt" || is_log(file) || is_litter(file)
}

/// Whether the content is that of a pause, whatever the name: members of the tree that no other system writes together,
/// the title of the document, the first action of a log.
fn is_pause(file: &File) -> bool {
    let start = file.bytes.trim_ascii_start();
    let any = |words: &[&str]| words.iter().any(|word| has(&file.bytes, word));
    if start.starts_with(b"{") {
        let is_tree = has(&file.bytes, "\"session_id\"")
            && any(&["\"paused_at\"", "\"mission_summary\""])
            && any(&[
                "\"conversation\"",
                "\"git_context\"",
                "\"todos\"",
                "\"mission_summary\"",
            ]);
        let is_other = any(&["\"swarm_id\"", "\"__session_meta__\""]);
        let is_lines = any(&["\"pause_started\"", "\"pause_finalized\""]) && has(&file.bytes, "\"session_id\"");
        return (is_tree && !is_other) || is_lines;
    }
    if start.starts_with(b"#") {
        return markdown::is_titled(&file.text_start());
    }
    let at_line = |word: &str| file.bytes.starts_with(word.as_bytes()) || has(&file.bytes, &format!("\n{word}"));
    at_line("session_id:") && at_line("paused_at:")
}

/// A reminder: an instruction for the next resume.
fn reminder(value: Value, notes: &mut RecordNotes) {
    let text = match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    notes.add("resume_instructions", NoteItem::new(text).with("kind", Some(REMINDER)));
}

/// The kind of an instruction that is a reminder here.
const REMINDER: &str = "reminder";

/// The word for a todo that is done or not.
fn todo_status(done: bool) -> &'static str {
    if done { "completed" } else { "pending" }
}

/// Whether a word is in the first 64 KiB.
pub(super) fn has(bytes: &[u8], word: &str) -> bool {
    let start = &bytes[..bytes.len().min(64 << 10)];
    start.windows(word.len()).any(|window| window == word.as_bytes())
}

fn parse(files: &[File]) -> ParseOutcome {
    let mut out = ParseOutcome::default();
    let mut groups: BTreeMap<(String, String), Vec<&File>> = BTreeMap::new();
    let (mut pointers, mut logs) = (Vec::new(), Vec::new());
    let (litter, files): (Vec<&File>, Vec<&File>) = files.iter().partition(|file| is_litter(file));
    if let Some(first) = litter.first() {
        let all = litter.len();
        let what = format!("left out, {all} such in all: the checksum of a missing file checks nothing");
        out.problems.push(Problem::note(&first.path, what));
    }
    for file in files {
        if file.name() == "LATEST-SESSION.txt" {
            pointers.push(file);
        } else if is_log(file) {
            logs.push(file);
        } else {
            let key = (file.folder().to_owned(), file.stem().to_owned());
            groups.entry(key).or_default().push(file);
        }
    }
    for files in groups.values_mut() {
        files.sort_by_key(|file| rank(file));
        group(files, &mut out);
    }
    for file in logs {
        log::parse(file, &mut out);
    }
    for file in pointers {
        pointer(file, &mut out);
    }
    out.sessions.sort_by(|a, b| {
        a.checkpoints[0]
            .at
            .cmp(&b.checkpoints[0].at)
            .then_with(|| a.id.cmp(&b.id))
    });
    out
}

/// The form of a file, by its content where the name leaves it open: 0 for JSON, 1 for YAML, 2 for Markdown.
fn rank(file: &File) -> u8 {
    let start = file.bytes.trim_ascii_start();
    match file.name().rsplit('.').next() {
        Some("json") => 0,
        Some("yaml" | "yml") => 1,
        Some("md") => 2,
        _ if start.starts_with(b"{") => 0,
        _ if start.starts_with(b"#") => 2,
        _ => 1,
    }
}

/// The files of one pause: the first that can be read counts, the others are kept next to it.
fn group(files: &[&File], out: &mut ParseOutcome) {
    let mut session = None;
    let mut beside = Vec::new();
    for file in files {
        if session.is_some() {
            beside.push(*file);
            continue;
        }
        let value = match rank(file) {
            0 => file.json(),
            1 => yaml::parse(&file.text()).map_err(|error| Problem::broken(&file.path, error)),
            _ => {
                session = markdown::parse(file, &mut out.problems);
                continue;
            }
        };
        match value {
            Ok(value) => session = json::parse(value, file, &mut out.problems),
            Err(problem) => out.problems.push(problem),
        }
    }
    let Some(mut session) = session else { return };
    for file in beside {
        session.source(file);
        session.checkpoints[0].attachments.push(Attachment::of(file));
    }
    out.sessions.push(session);
}

/// The pointer file names a session; its content is kept with that session.
fn pointer(file: &File, out: &mut ParseOutcome) {
    let text = file.text();
    let named = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Latest Session:"));
    let named = named.unwrap_or_default().trim();
    if let Some(session) = out.sessions.iter_mut().find(|session| session.id == named) {
        session.source(file);
        session.checkpoints[0].attachments.push(Attachment::of(file));
    } else {
        let what = format!(
            "it points to session '{}', which is not among the files",
            named.escape_debug()
        );
        out.problems.push(Problem::note(&file.path, what));
    }
}

/// Puts what is left of a source into `extra`.
fn rest(notes: &mut RecordNotes, fields: super::fields::ObjectFields) {
    notes.extra(SYSTEM, fields.rest());
}
