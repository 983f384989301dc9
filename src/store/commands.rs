//! Which commands were run here: `<common>/checkpoint/commands`, one digest a line.
//!
//! Steps come with a session that was fetched from elsewhere, commands included. What another person wrote must not run
//! because it lies in a ref of ours, and nothing in a session can prove where it was made; so what may run again
//! without being asked is what ran on this machine in this repository before, or was allowed once.

use std::{collections::HashSet, io::Write as _};

use sha2::Digest as _;

use super::{Error, Repository, private_dir, private_path, sharing};
use crate::{
    model::{json, step::ShellCommand},
    os,
};

/// The digests of the commands that ran here.
#[derive(Debug, Default)]
pub struct CommandHistory(HashSet<String>);

impl CommandHistory {
    /// Whether this command, in this directory, ran here.
    pub fn has(&self, command: &ShellCommand) -> bool {
        self.0.contains(&digest(command))
    }
}

/// Reads them.
pub fn read(repo: &Repository) -> Result<CommandHistory, Error> {
    let path = private_path(repo).join("commands");
    let bytes = os::notices::if_readable(os::read_regular(&path), &path).map_err(Error::io("read", &path))?;
    let bytes = bytes.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    Ok(CommandHistory(text.lines().map(str::to_owned).collect()))
}

/// Notes commands; those that are noted already cost a reading.
pub fn note<'a>(repo: &Repository, commands: impl IntoIterator<Item = &'a ShellCommand>) -> Result<(), Error> {
    let known = read(repo)?;
    let new: Vec<String> = commands.into_iter().filter(|c| !known.has(c)).map(digest).collect();
    if new.is_empty() {
        return Ok(());
    }
    let path = private_dir(repo)?.join("commands");
    let mut file = os::private_file(&path, sharing(repo)).map_err(Error::io("open", &path))?;
    // Two writers at once would write over each other; the lock ends with the file.
    os::lock(&file).map_err(Error::io("lock", &path))?;
    let end = std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).map_err(Error::io("write", &path))?;
    // A line that was torn by a power cut ends here, so that it spoils no other.
    let start = if end == 0 { "" } else { "\n" };
    let text = format!("{start}{}\n", new.join("\n"));
    file.write_all(text.as_bytes()).map_err(Error::io("write", &path))
}

fn digest(command: &ShellCommand) -> String {
    let mut out = String::new();
    for byte in sha2::Sha256::digest(json::to_line(&(&command.argv, &command.directory))) {
        out.push_str(&format!("{byte:02x}"));
    }
    out
}
