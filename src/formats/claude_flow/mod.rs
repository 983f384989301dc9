//! claude-flow: the hive-mind database and its files, the metadata of its git checkpoints, and the sessions of version 3.
//!
//! A session of the database becomes a chain: its checkpoints in the order they were made, and last the current
//! session, with the tasks, agents, memory and decisions that belong to it. The database is read by [`sqlite`]. Files
//! that hold a checkpoint which the database has as well are kept next to that one.

mod checkpoints;
mod files;
mod hive;
mod related_tables;
pub mod sqlite;
mod wrappers;

use super::{File, ParseOutcome, claude_mpm::has};

fn is_log_of_database(file: &File) -> bool {
    file.name().ends_with(".db-wal")
}

fn is_database(file: &File) -> bool {
    file.bytes.starts_with(sqlite::MAGIC) || file.is("db")
}

fn below(file: &File, folder: &str) -> bool {
    format!("/{}", file.path).contains(folder)
}

pub(super) fn owns(file: &File) -> bool {
    if is_database(file) || is_log_of_database(file) {
        return true;
    }
    let name = file.name();
    let places = ["/.hive-mind/", "/.claude/checkpoints/", "/.claude-flow/"];
    let known = file.is("json") || (name.starts_with("summary-session-") && file.is("md"));
    if known && places.iter().any(|place| below(file, place)) {
        return true;
    }
    file.is("json") && (files::looks_like_one(&file.bytes) || checkpoints::looks_like_one(&file.bytes))
}

pub(super) fn parse(files: &[File]) -> ParseOutcome {
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
            || below(file, "/.claude/checkpoints/")
            || file.is("md")
            || !(files::looks_like_one(&file.bytes) || below(file, "/.hive-mind/") || below(file, "/.claude-flow/"))
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
