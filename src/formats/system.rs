//! The interface of a system's format, and the recognition of files.
//!
//! A file belongs to the system that is surest of it. Sure by its own mark comes first, then the system in whose home
//! directory it lies, then its content, then its name. Inside of a home directory nothing is taken for another system's
//! by content or name.

use std::fmt;

use super::{ExportFiles, ExportInput, File, ForeignSession, ParseOutcome, Problem, receipt, unpack};

/// The format of a system: how its files are recognized, read and written.
pub trait Format: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Further names on the command line.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// The places where it leaves its files, relative to the project's directory.
    fn places(&self) -> &'static [&'static str] {
        &[]
    }

    /// The directories whose files are of this system alone, such as `.hive-mind`.
    fn homes(&self) -> &'static [&'static str] {
        &[]
    }

    /// How sure it is that a file is one of its own.
    fn recognize(&self, file: &File) -> Recognition;

    /// The directories among these files that are its own with everything below.
    fn directories(&self, _files: &[File]) -> Vec<String> {
        Vec::new()
    }

    /// Reads its files; paths are relative to one place and separated by `/`.
    fn parse(&self, files: &[File]) -> ParseOutcome;

    /// The writer of a system that is written too.
    fn writer(&self) -> Option<&dyn FormatWriter> {
        None
    }
}

/// The export to a system's form.
pub trait FormatWriter: Sync {
    /// One line of help.
    fn about(&self) -> &'static str;

    /// The parts of a session that the form takes.
    fn extent(&self) -> ExportExtent;

    /// Writes a session.
    fn write(&self, out: &ExportInput<'_>) -> ExportFiles;

    /// Whether a file that is in the directory of an export already, at this path, would be read as part of it.
    fn joins(&self, _written: &ExportFiles, _path: &str) -> bool {
        false
    }
}

/// The parts of a session that a form takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportExtent {
    /// The latest checkpoint, in one file.
    File,
    /// The latest checkpoint, in a directory.
    Directory,
    /// Every checkpoint with the attachments, in a directory.
    Chain,
}

/// How sure a system is of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recognition {
    /// It is none of its own.
    No,
    /// Its name is.
    Name,
    /// Its content is.
    Content,
    /// It has a mark that no other system writes.
    Mark,
}

impl Recognition {
    /// This one if it holds, else no match.
    pub(super) fn when(self, holds: bool) -> Self {
        if holds { self } else { Self::No }
    }
}

/// A system whose files are read.
#[derive(Clone, Copy)]
pub struct System(&'static dyn Format);

impl System {
    /// The system of a format.
    pub(super) const fn of(format: &'static dyn Format) -> Self {
        Self(format)
    }

    /// Its name on the command line.
    pub fn word(self) -> &'static str {
        self.0.name()
    }

    /// Every name on the command line, those of all systems.
    pub fn words() -> Vec<&'static str> {
        let each = Self::ALL.iter();
        each.flat_map(|system| std::iter::once(system.word()).chain(system.0.aliases().iter().copied()))
            .collect()
    }

    /// The system of this name.
    pub fn named(word: &str) -> Option<Self> {
        let mut each = Self::ALL.iter();
        each.find(|system| system.word() == word || system.0.aliases().contains(&word))
            .copied()
    }

    /// Where it leaves its files in a project, relative to the project's directory.
    pub fn places(self) -> &'static [&'static str] {
        self.0.places()
    }

    /// How sure it is that a file is one of its own.
    pub fn recognize(self, file: &File) -> Recognition {
        self.0.recognize(file)
    }

    /// Reads files of this system; paths are relative to one place and separated by `/`.
    pub fn parse(self, files: &[File]) -> ParseOutcome {
        let mut problems = Vec::new();
        let files = unpack::all(files.to_vec(), &mut problems);
        let mut parsed = self.parse_unpacked(&files);
        if parsed.sessions.is_empty() && parsed.problems.is_empty() {
            let others = files.iter().map(|file| self.other(&file.path));
            parsed.problems.extend(others);
        }
        parsed.problems.splice(0..0, problems);
        parsed
    }

    pub(super) fn parse_unpacked(self, files: &[File]) -> ParseOutcome {
        let mut parsed = self.0.parse(files);
        self.refuse_others(files, &mut parsed);
        for session in &mut parsed.sessions {
            session.settle();
        }
        parsed.merge();
        parsed.leaves = receipt::count(files, &parsed);
        parsed
    }

    /// Refuses what was read from files that show no mark of the system, unless something in it was understood: read as they
    /// are, a text or the JSON of another tool would be a session with nothing in it.
    fn refuse_others(self, files: &[File], parsed: &mut ParseOutcome) {
        let is_own = |session: &ForeignSession| {
            let is_source = |file: &&File| session.sources.contains(&file.path);
            let mut sources = files.iter().filter(is_source).peekable();
            sources.peek().is_none() || sources.any(|file| self.recognize(file) > Recognition::No)
        };
        let sessions = std::mem::take(&mut parsed.sessions);
        let (own, others) = sessions
            .into_iter()
            .partition(|session| session.is_understood() || is_own(session));
        parsed.sessions = own;
        let others = others.into_iter().map(|other| self.other(&other.sources.join(", ")));
        parsed.problems.extend(others);
    }

    fn other(self, path: &str) -> Problem {
        let word = self.word();
        let what = format!("nothing in it is of {word}; without --from the system of a file is looked for");
        Problem::broken(path, what)
    }

    /// The writer of a system that is written too. Our own JSON is written by the export itself.
    pub fn writer(self) -> Option<&'static dyn FormatWriter> {
        self.0.writer()
    }

    fn is_home_of(self, file: &File) -> bool {
        self.0.homes().iter().any(|home| is_below(file, home))
    }
}

impl PartialEq for System {
    fn eq(&self, other: &Self) -> bool {
        self.word() == other.word()
    }
}

impl Eq for System {}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Whether a file lies below a directory of this name, or of these names in a row.
pub(super) fn is_below(file: &File, directory: &str) -> bool {
    let mut path = file.path.as_str();
    while let Some(at) = path.find(directory) {
        let end = &path[at + directory.len()..];
        let begins = at == 0 || path.as_bytes()[at - 1] == b'/';
        if begins && end.starts_with('/') {
            return true;
        }
        path = &path[at + 1..];
    }
    false
}

/// The system that is surest of a file.
pub(super) fn owner(file: &File) -> Option<System> {
    let (mut best, mut surest) = (None, Recognition::No);
    for system in System::ALL {
        let found = system.recognize(file);
        if found > surest {
            (best, surest) = (Some(*system), found);
        }
    }
    if surest == Recognition::Mark {
        return best;
    }
    match System::ALL.iter().find(|system| system.is_home_of(file)) {
        Some(home) => (home.recognize(file) > Recognition::No).then_some(*home),
        None => best,
    }
}

/// The directories that are one system's as a whole.
pub(super) struct Directories(Vec<(String, System)>);

impl Directories {
    pub(super) fn of(files: &[File]) -> Self {
        let each = System::ALL.iter();
        Self(
            each.flat_map(|system| system.0.directories(files).into_iter().map(|path| (path, *system)))
                .collect(),
        )
    }

    /// The system of the deepest such directory that a file lies in.
    pub(super) fn owner(&self, file: &File) -> Option<System> {
        let inside = self.0.iter().filter(|(path, _)| {
            path.is_empty()
                || file
                    .path
                    .strip_prefix(path.as_str())
                    .is_some_and(|rest| rest.starts_with('/'))
        });
        inside.max_by_key(|(path, _)| path.len()).map(|(_, system)| *system)
    }
}
