//! The user's filter programs, run as `git add` and `git checkout` run them: once a file, or one long-running process
//! for all.
//!
//! Not gix's: it sends the lines of the long-running protocol without the line feeds that git's own library for
//! filters insists on, holds whole files in memory, and leaves `%%` in a command as it is.

mod process;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use gix::filter::plumbing::Driver;

use super::Error;
use crate::os::Program;
use crate::store::{self, Repository};
use process::FilterProcess;

/// The filter gave no content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::worktree) struct FilterFailure;

/// Which way content goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilterOperation {
    Clean,
    Smudge,
}

impl FilterOperation {
    fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Smudge => "smudge",
        }
    }
}

/// Running filters.
pub(in crate::worktree) struct Filters {
    /// Where they run.
    root: PathBuf,
    /// The variables that they must not see.
    cleared: &'static [&'static str],
    /// Long-running ones by their commands; one that failed to start is not tried again.
    processes: HashMap<Vec<u8>, Option<FilterProcess>>,
}

impl Filters {
    pub(in crate::worktree) fn new(repo: &Repository) -> Result<Self, Error> {
        let root = repo.workdir().ok_or_else(|| Error::Bare {
            path: repo.git_dir().to_owned(),
        })?;
        Ok(Self {
            root: root.to_owned(),
            cleared: store::foreign_variables(repo),
            processes: HashMap::new(),
        })
    }

    /// Runs the clean filter on a file's content; `None` if there is no program, so that the content stays.
    ///
    /// A failing filter is [`FilterFailure`] even where git would then store the content as it is: what a filter is there to
    /// hide must not get into a commit because its program is missing.
    pub(in crate::worktree) fn clean(
        &mut self,
        driver: &Driver,
        content: &[u8],
        path: &[u8],
    ) -> Result<Option<Vec<u8>>, FilterFailure> {
        let mut cleaned = Vec::new();
        let ran = self.run(driver, FilterOperation::Clean, &mut &content[..], path, &mut cleaned)?;
        Ok(ran.then_some(cleaned))
    }

    /// [`Self::clean`] for a file that need not be held in memory. Returns whether the filter has a program.
    pub(in crate::worktree) fn clean_stream(
        &mut self,
        driver: &Driver,
        source: &mut (dyn Read + Send),
        path: &[u8],
        sink: &mut dyn Write,
    ) -> Result<bool, FilterFailure> {
        self.run(driver, FilterOperation::Clean, source, path, sink)
    }

    /// Runs the smudge filter on a blob; `None` if there is no program.
    ///
    /// A failing filter is [`FilterFailure`] even where git would then write the blob as it is: the file would not be what
    /// was saved.
    pub(in crate::worktree) fn smudge(
        &mut self,
        driver: &Driver,
        blob: &[u8],
        path: &[u8],
    ) -> Result<Option<Vec<u8>>, FilterFailure> {
        let mut smudged = Vec::new();
        let ran = self.run(driver, FilterOperation::Smudge, &mut &blob[..], path, &mut smudged)?;
        Ok(ran.then_some(smudged))
    }

    fn run(
        &mut self,
        driver: &Driver,
        operation: FilterOperation,
        source: &mut (dyn Read + Send),
        path: &[u8],
        sink: &mut dyn Write,
    ) -> Result<bool, FilterFailure> {
        // An empty command is none.
        let given = |command: &Option<gix::bstr::BString>| command.clone().filter(|command| !command.is_empty());
        if let Some(command) = given(&driver.process) {
            let known = self.processes.entry(command.to_vec());
            let slot = known.or_insert_with(|| FilterProcess::start(&command, &self.root, self.cleared).ok());
            let Some(process) = slot else {
                return Err(FilterFailure);
            };
            if !process.can(operation.name()) {
                return without_program(driver);
            }
            return match process.convert(operation.name(), path, source, sink) {
                Ok(true) => Ok(true),
                Ok(false) => Err(FilterFailure),
                Err(_) => {
                    // What it would answer next is no answer to the next question.
                    process.kill();
                    *slot = None;
                    Err(FilterFailure)
                }
            };
        }
        let command = match operation {
            FilterOperation::Clean => given(&driver.clean),
            FilterOperation::Smudge => given(&driver.smudge),
        };
        let Some(command) = command else {
            return without_program(driver);
        };
        match one_shot(&with_path(&command, path), (&self.root, self.cleared), source, sink) {
            Ok(true) => Ok(true),
            _ => Err(FilterFailure),
        }
    }
}

fn without_program(driver: &Driver) -> Result<bool, FilterFailure> {
    if driver.required { Err(FilterFailure) } else { Ok(false) }
}

fn one_shot(
    command: &[u8],
    (root, cleared): (&Path, &[&str]),
    source: &mut (dyn Read + Send),
    sink: &mut dyn Write,
) -> std::io::Result<bool> {
    let command = gix::path::from_byte_slice(command).map_err(std::io::Error::other)?;
    Program::start(command.as_os_str(), root, cleared)?.pass(source, sink)
}

/// Puts the quoted path in place of `%f`, and a percent sign in place of two.
fn with_path(command: &[u8], path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(command.len() + path.len());
    let mut rest = command;
    while let Some((&byte, tail)) = rest.split_first() {
        match (byte, tail.first()) {
            (b'%', Some(b'f')) => {
                out.push(b'\'');
                for byte in path {
                    match byte {
                        b'\'' | b'!' => out.extend_from_slice(&[b'\'', b'\\', *byte, b'\'']),
                        byte => out.push(*byte),
                    }
                }
                out.push(b'\'');
                rest = &tail[1..];
            }
            (b'%', Some(b'%')) => {
                out.push(b'%');
                rest = &tail[1..];
            }
            _ => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_a_command_is_quoted() {
        let with = |command: &str, path: &str| {
            String::from_utf8(with_path(command.as_bytes(), path.as_bytes())).expect("text")
        };
        assert_eq!(with("clean %f", "a b"), "clean 'a b'");
        assert_eq!(with("x %f %f", "it's"), r"x 'it'\''s' 'it'\''s'");
        assert_eq!(with("printf %%s %d %", "a"), "printf %s %d %");
    }
}
