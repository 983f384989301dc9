//! Other tools' session files: read into one intermediate value, and written again.
//!
//! Pure functions over bytes: no file is opened here, no repository known, no clock read. A parser takes files as
//! relative paths with their bytes, and gives [`ParseOutcome`]: sessions with their checkpoints in order, and what
//! could not be used. It never fails as a whole, whatever the bytes are: a broken item is a [`Problem`] and the others
//! come in. Nothing of a source is dropped: what has no place in the record is in `extra`. Adding a system takes its
//! folder and its line in [`System`]. What becomes of each field is listed in `FIELDS.md`.

mod ai_agents;
mod claude_flow;
mod claude_mpm;
mod dagent;
mod export;
mod fields;
mod folder;
mod foreign;
mod generic;
mod markdown;
mod notes;
mod omissions;
mod opencastle;
mod outcome;
#[cfg(test)]
mod tests;
mod time;
mod yaml;

pub use claude_flow::sqlite;
pub use export::{ExportFiles, ExportInput};
pub use foreign::{Attachment, File, ForeignCheckpoint, ForeignLogLine, ForeignRepoState, ForeignSession};
pub use omissions::{OmittedContent, UnexportedCounts, left_out};
pub use outcome::{ParseOutcome, Problem, ProblemSeverity};

#[doc = include_str!("FIELDS.md")]
pub mod fields_of_each_system {}

/// The largest file that is read, in bytes: 64 MiB. The largest real one seen is a `hive.db` of a few MiB.
pub const FILE_LIMIT: u64 = 64 << 20;
/// The most bytes taken from one path that is imported: 128 MiB, so that reading stays below 256 MiB of memory.
pub const TOTAL_LIMIT: u64 = 128 << 20;
/// The most values in one file of JSON: 3 million, which take some 200 MiB. A text of any length is one.
pub const VALUES_LIMIT: usize = 3_000_000;
/// The most files taken from one path. The largest real folder seen has 3,715.
pub const FILES_LIMIT: usize = 20_000;

/// A system whose files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum System {
    /// The pause sessions of claude-mpm.
    ClaudeMpm,
    /// `SESSION-CHECKPOINT.md` and the logs of OpenCastle.
    Opencastle,
    /// The hive-mind database and the checkpoint files of claude-flow.
    ClaudeFlow,
    /// The session logs, checkpoints and hand-offs of ai-agents.
    AiAgents,
    /// A session folder: `session.json`, `state.json`, `checkpoints/cp-*.json`.
    Folder,
    /// The sessions of dagent.
    Dagent,
    /// Our own export, or messages as JSON or JSON lines.
    Json,
}

impl System {
    /// Every system, in the order in which files are offered to them.
    pub const ALL: [Self; 7] = [
        Self::ClaudeMpm,
        Self::Opencastle,
        Self::ClaudeFlow,
        Self::AiAgents,
        Self::Dagent,
        Self::Folder,
        Self::Json,
    ];

    /// Its name on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::ClaudeMpm => "claude-mpm",
            Self::Opencastle => "opencastle",
            Self::ClaudeFlow => "claude-flow",
            Self::AiAgents => "ai-agents",
            Self::Folder => "folder",
            Self::Dagent => "dagent",
            Self::Json => "json",
        }
    }

    /// The system of this name; `jsonl` is the same as `json`.
    pub fn named(word: &str) -> Option<Self> {
        let word = if word == "jsonl" { "json" } else { word };
        Self::ALL.into_iter().find(|system| system.word() == word)
    }

    /// Where it leaves its files in a project, relative to the project's folder.
    pub fn places(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeMpm => &[".claude-mpm/sessions"],
            Self::Opencastle => &[
                ".opencastle/SESSION-CHECKPOINT.md",
                "docs/SESSION-CHECKPOINT.md",
                "SESSION-CHECKPOINT.md",
                ".opencastle/logs",
            ],
            Self::ClaudeFlow => &[".hive-mind", ".claude/checkpoints", ".claude-flow/sessions"],
            Self::AiAgents => &[".agents"],
            Self::Folder => &[".sessions"],
            Self::Dagent => &[".dagent", ".dagent-worktrees"],
            Self::Json => &[],
        }
    }

    /// Whether a file is one of this system's: judged by its name first, and by its beginning where names are common.
    pub fn owns(self, file: &File) -> bool {
        match self {
            Self::ClaudeMpm => claude_mpm::owns(file),
            Self::Opencastle => opencastle::owns(file),
            Self::ClaudeFlow => claude_flow::owns(file),
            Self::AiAgents => ai_agents::owns(file),
            Self::Folder => folder::owns(file),
            Self::Dagent => dagent::owns(file),
            Self::Json => generic::owns(file),
        }
    }

    /// Reads files of this system; paths are relative to one place and separated by `/`.
    pub fn parse(self, files: &[File]) -> ParseOutcome {
        let mut parsed = match self {
            Self::ClaudeMpm => claude_mpm::parse(files),
            Self::Opencastle => opencastle::parse(files),
            Self::ClaudeFlow => claude_flow::parse(files),
            Self::AiAgents => ai_agents::parse(files),
            Self::Folder => folder::parse(files),
            Self::Dagent => dagent::parse(files),
            Self::Json => generic::parse(files),
        };
        for session in &mut parsed.sessions {
            session.settle();
        }
        parsed.merge();
        parsed
    }
}

impl System {
    /// Writes a session in this system's form; `None` for a system that is only read. Our own JSON is written by the
    /// export itself.
    pub fn write(self, out: &ExportInput<'_>) -> Option<ExportFiles> {
        match self {
            Self::ClaudeMpm => Some(claude_mpm::write(out)),
            Self::Opencastle => Some(opencastle::write(out)),
            Self::Folder => Some(folder::write(out)),
            Self::Dagent => Some(dagent::write(out)),
            Self::ClaudeFlow | Self::AiAgents | Self::Json => None,
        }
    }
}

impl System {
    /// Whether a file that lies in the folder of an export, under this path, would be read as part of it.
    pub fn joins(self, written: &ExportFiles, path: &str) -> bool {
        if written.0.iter().any(|(own, _)| own == path) {
            return false;
        }
        match self {
            Self::Folder => folder::joins(path),
            Self::Dagent => written.0.iter().any(|(own, _)| dagent::joins(own, path)),
            _ => false,
        }
    }
}

/// Reads a time as other tools write it: text in one of their forms, or a number of seconds or milliseconds since 1970.
pub fn time_of(value: &serde_json::Value) -> Option<crate::model::time::Timestamp> {
    time::of_value(value)
}

/// Which system a file belongs to; `None` when no system knows it.
pub fn detect(file: &File) -> Option<System> {
    System::ALL.into_iter().find(|system| system.owns(file))
}

/// Reads files of any systems, each with the one that knows it. The second value are the files that none knows.
pub fn parse_all(files: Vec<File>) -> (ParseOutcome, Vec<String>) {
    let mut groups: Vec<(System, Vec<File>)> = System::ALL.into_iter().map(|system| (system, Vec::new())).collect();
    let mut unknown = Vec::new();
    for file in files {
        let owner = detect(&file);
        match groups.iter_mut().find(|(system, _)| Some(*system) == owner) {
            Some((_, group)) => group.push(file),
            None => unknown.push(file.path),
        }
    }
    let mut all = ParseOutcome::default();
    for (system, group) in groups {
        if !group.is_empty() {
            all.extend(system.parse(&group));
        }
    }
    (all, unknown)
}
