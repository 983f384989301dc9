//! Other tools' session files: read into one intermediate value, and written again.
//!
//! Pure functions over bytes: no file is opened here, no repository known, no clock read. A parser takes files as
//! relative paths with their bytes and gives [`ParseOutcome`]: sessions with their checkpoints in order, and the
//! problems. It never fails as a whole, whatever the bytes are: a broken item is a [`Problem`] and the others come in.
//! Nothing of a source is dropped: what has no place in the record is in `extra` or in an attachment ([`receipt`]
//! counts it).
//!
//! Each system is a [`Format`] in a directory of its own. To add one, add its directory with its `mod` line here, and
//! one line in [`System::ALL`]: names on the command line, usual places, recognition, import, export, completion and
//! help follow from there. `FIELDS.md` lists the place of each field.

mod ai_agents;
mod claude_flow;
mod claude_mpm;
mod continuity;
mod dagent;
mod database_rows;
mod export;
mod fields;
mod folder;
mod foreign;
mod generic;
mod markdown;
mod notes;
mod omissions;
mod opencastle;
pub mod opencode_database;
mod outcome;
pub mod receipt;
pub mod sqlite;
mod system;
#[cfg(test)]
mod tests;
mod time;
mod unpack;
mod wrappers;
mod yaml;

pub use continuity::{is_continued, is_shared};
pub use export::{ExportFiles, ExportInput};
pub use foreign::{Attachment, File, ForeignCheckpoint, ForeignLogLine, ForeignRepoState, ForeignSession};
#[cfg(test)]
pub(crate) use omissions::member_words;
pub use omissions::{OmittedContent, UnexportedCounts, left_out};
pub use outcome::{ParseOutcome, Problem, ProblemSeverity};
pub use system::{ExportExtent, Format, FormatWriter, Recognition, System};

#[doc = include_str!("FIELDS.md")]
pub mod fields_of_each_system {}

/// The largest file that is read, in bytes: 64 MiB. The largest real one seen is a `hive.db` of a few MiB.
pub const FILE_LIMIT: u64 = 64 << 20;
/// The most bytes taken from one path that is imported: 128 MiB, so that reading stays below 256 MiB of memory.
pub const TOTAL_LIMIT: u64 = 128 << 20;
/// The most values in one file of JSON: 3 million, which take some 200 MiB. A text of any length is one.
pub const VALUES_LIMIT: usize = 3_000_000;
/// The most files taken from one path. The largest real directory seen has 3,715.
pub const FILES_LIMIT: usize = 20_000;

impl System {
    /// Every system, in the order in which files are offered to them.
    pub const ALL: &'static [Self] = &[
        claude_mpm::SYSTEM,
        opencastle::SYSTEM,
        claude_flow::SYSTEM,
        ai_agents::SYSTEM,
        dagent::SYSTEM,
        folder::SYSTEM,
        generic::SYSTEM,
    ];
}

/// Reads a time as other tools write it: text in one of their forms, or a number of seconds or milliseconds since 1970.
pub fn time_of(value: &serde_json::Value) -> Option<crate::model::time::Timestamp> {
    time::of_value(value)
}

/// The system that a file belongs to, judged by the file alone; `None` when no system knows it.
pub fn detect(file: &File) -> Option<System> {
    system::owner(file)
}

/// Reads files of any systems, each with the one that knows it. The second value are the files that none knows.
pub fn parse_all(files: Vec<File>) -> (ParseOutcome, Vec<String>) {
    parse_with(files, &|_| None)
}

/// Reader of files that are a session of no system here, such as the session file of a coding agent; with what of one could
/// not be read.
pub type SessionReader<'a> = &'a dyn Fn(&File) -> Option<(ForeignSession, Vec<Problem>)>;

/// Reads files as [`parse_all`] does, and offers to another reader those that no system or only the generic one knows.
pub fn parse_with(files: Vec<File>, other: SessionReader<'_>) -> (ParseOutcome, Vec<String>) {
    let mut all = ParseOutcome::default();
    let files = unpack::all(files, &mut all.problems);
    let directories = system::Directories::of(&files);
    let mut groups: Vec<(System, Vec<File>)> = System::ALL.iter().map(|system| (*system, Vec::new())).collect();
    let (mut unknown, mut others, mut other_files) = (Vec::new(), ParseOutcome::default(), Vec::new());
    for file in files {
        let owner = directories.owner(&file).or_else(|| system::owner(&file));
        let is_offered = match owner {
            Some(system) => system == generic::SYSTEM && system.recognize(&file) < Recognition::Mark,
            None => true,
        };
        if is_offered && let Some((session, problems)) = other(&file) {
            others.sessions.push(session);
            others.problems.extend(problems);
            other_files.push(file);
            continue;
        }
        match groups.iter_mut().find(|(system, _)| Some(*system) == owner) {
            Some((_, group)) => group.push(file),
            None => unknown.push(file.path),
        }
    }
    for (system, group) in groups {
        if !group.is_empty() {
            all.extend(system.parse_unpacked(&group));
        }
    }
    others.merge();
    others.leaves = receipt::count(&other_files, &others);
    all.extend(others);
    (all, unknown)
}
