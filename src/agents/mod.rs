//! Coding agents: their session files read into one form of turns and messages, and their hooks and settings.
//!
//! Readers have a directory an agent and are joined by [`ALL`]; hooks are in [`hooks`]. Pure functions over bytes: no file is opened here, no repository known, no
//! clock read. A reader is a fold: it takes one record after the other, and what it has to remember between them is a
//! plain value ([`State`]) that can be kept, so that a file is read on from where the last reading ended and gives the
//! same messages as the whole. Identity is the agent's own id; a message that comes again is the same message, one that
//! comes again with other content is its newer state. What a reader does not know is counted, never an error.

mod aider;
pub mod blocks;
mod claude_code;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod fold;
mod gemini;
pub mod hooks;
pub mod lines;
mod notification;
mod opencode;
mod pi;
mod qwen;
mod reader;
pub mod session_file;
mod transcript;

#[cfg(test)]
mod tests;

use serde_json::Value;

use session_file::{SessionCopy, SessionFile};

pub use fold::{Fold, MessageUpdate, Reading, State};
pub use reader::{Reader, read};
pub use transcript::{Ending, HelperRun, SessionFacts, TaskItem, TokenUsage, Turn};

/// How a session file is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One JSON record a line; the file grows at its end.
    Lines,
    /// One JSON document, rewritten as a whole.
    Document,
    /// Plain text, handed over as one string.
    Text,
}

/// The beginning of a file of which the agent is not known yet.
#[derive(Debug)]
pub struct Sample<'a> {
    /// The first records, where the file consists of lines; the whole document as the only one otherwise.
    pub records: &'a [Value],
    /// The beginning as text.
    pub text: &'a str,
}

impl Sample<'_> {
    /// Whether any of the records is such a one.
    pub fn any(&self, is: impl Fn(&Value) -> bool) -> bool {
        self.records.iter().any(is)
    }
}

/// A coding agent whose session files are read.
pub trait Agent: Sync + std::fmt::Debug {
    /// Its name on the command line and in what is stored, such as `claude-code`.
    fn name(&self) -> &'static str;

    /// Its name for people, such as `Claude Code`.
    fn title(&self) -> &'static str;

    /// The layout of its session files.
    fn layout(&self, sample: &Sample<'_>) -> Layout {
        let _ = sample;
        Layout::Lines
    }

    /// Whether a file that begins like this is a session of this agent.
    fn knows(&self, sample: &Sample<'_>) -> bool;

    /// Takes one record: a line, or the whole document or text.
    fn take(&self, record: &Value, fold: &mut Fold);

    /// A session file of this agent, written back for another directory or under another id; the error is why not.
    fn session_file(&self, copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
        let _ = copy;
        Err(format!("{} resumes no files", self.title()))
    }

    /// The command by which the agent resumes the session of this id; empty where it cannot.
    fn resume_command<'i>(&self, id: &'i str) -> Vec<&'i str> {
        let _ = id;
        Vec::new()
    }
}

/// Every agent, in the order in which a file is offered to them.
pub const ALL: &[&dyn Agent] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini::Gemini,
    &copilot::Copilot,
    &opencode::OpenCode,
    &qwen::Qwen,
    &pi::Pi,
    &cline::Cline,
    &cursor::Cursor,
    &aider::Aider,
];

/// The agent of this name.
pub fn named(name: &str) -> Option<&'static dyn Agent> {
    ALL.iter().copied().find(|agent| agent.name() == name)
}

/// The bytes of a file that are looked at to find its agent: enough for the first lines of every one of them.
pub const SAMPLE: usize = 1 << 20;

/// The most records that are looked at to find a file's agent.
const SAMPLE_RECORDS: usize = 64;

/// The agent of a session file, by its content alone. `bytes` is its beginning, or all of it.
pub fn detect(bytes: &[u8]) -> Option<(&'static dyn Agent, Layout)> {
    with_sample(bytes, |sample| {
        let agent = ALL.iter().copied().find(|agent| agent.knows(sample))?;
        Some((agent, agent.layout(sample)))
    })
}

/// How a file of this agent is laid out.
pub fn layout(agent: &dyn Agent, bytes: &[u8]) -> Layout {
    with_sample(bytes, |sample| agent.layout(sample))
}

fn with_sample<T>(bytes: &[u8], look: impl FnOnce(&Sample<'_>) -> T) -> T {
    let head = bytes.get(..SAMPLE).unwrap_or(bytes);
    let text = String::from_utf8_lossy(head);
    let document = serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
        .ok()
        .filter(|value: &Value| value.is_object() || value.is_array());
    let records = match document {
        Some(document) => vec![document],
        None => lines::first_records(head, SAMPLE_RECORDS),
    };
    look(&Sample {
        records: &records,
        text: &text,
    })
}

/// The text of a member; empty if there is none.
fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// An id for a record that has none: from all its content, so that a copy of the record has the same.
fn derived_id(record: &Value) -> String {
    use sha2::{Digest as _, Sha256};
    let hash = Sha256::digest(record.to_string());
    crate::model::chat::hex(&hash[..12])
}
