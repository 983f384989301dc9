//! claude-flow: the hive-mind database and its files, the metadata of its git checkpoints, and the sessions of version 3.
//!
//! A session of the database becomes a chain: its checkpoints in the order they were made, and last the current
//! session, with the tasks, agents, memory and decisions that belong to it. Files that hold a checkpoint which the
//! database has as well are kept next to that one.

mod checkpoints;
mod files;
mod hive;
mod related_tables;

use super::{File, Format, ParseOutcome, Recognition, System, claude_mpm::has, sqlite, system::is_below};

fn is_log_of_database(file: &File) -> bool {
    file.name().ends_with(".db-wal")
}

fn is_database(file: &File) -> bool {
    file.bytes.starts_with(sqlite::MAGIC) || file.is("db")
}

pub(super) const SYSTEM: System = System::of(&ClaudeFlow);

/// The sessions of claude-flow.
struct ClaudeFlow;

impl Format for ClaudeFlow {
    fn name(&self) -> &'static str {
        "claude-flow"
    }

    fn places(&self) -> &'static [&'static str] {
        &[
            ".hive-mind",
            ".claude/checkpoints",
            ".claude-flow/sessions",
            ".claude-flow/hive-mind",
        ]
    }

    fn homes(&self) -> &'static [&'static str] {
        &[".hive-mind", ".claude-flow", ".claude/checkpoints"]
    }

    fn recognize(&self, file: &File) -> Recognition {
        let is_home = self.homes().iter().any(|home| is_below(file, home));
        let name = file.name();
        let is_known = file.is("json") || (name.starts_with("summary-session-") && file.is("md"));
        let is_tree = file.bytes.trim_ascii_start().starts_with(b"{");
        let is_one = is_tree && (files::looks_like_one(&file.bytes) || checkpoints::looks_like_one(&file.bytes));
        Recognition::Mark
            .when(file.bytes.starts_with(sqlite::MAGIC))
            .max(Recognition::Content.when(is_one))
            .max(Recognition::Name.when((is_home && is_known) || is_database(file) || is_log_of_database(file)))
    }

    fn parse(&self, files: &[File]) -> ParseOutcome {
        parse(files)
    }
}

fn parse(files: &[File]) -> ParseOutcome {
    let mut out = ParseOutcome::default();
    let (mut sessions, mut points) = (Vec::new(), Vec::new());
    for file in files {
        if is_log_of_database(file) {
            continue;
        }
        if is_database(file) {
            let log = files.iter().find(|other| other.path == format!("{}-wal", file.path));
            hive::parse(file, log, &mut out);
        } else if checkpoints::looks_like_one(&file.bytes)
            || is_below(file, ".claude/checkpoints")
            || file.is("md")
            || !(files::looks_like_one(&file.bytes) || is_below(file, ".hive-mind") || is_below(file, ".claude-flow"))
        {
            points.push(file);
        } else {
            sessions.push(file);
        }
    }
    for file in sessions {
        files::parse(file, &mut out);
    }
    checkpoints::parse(&points, &mut out);
    out
}

/// Whether a file holds one of these words in its first 64 KiB.
fn any(bytes: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| has(bytes, word))
}
