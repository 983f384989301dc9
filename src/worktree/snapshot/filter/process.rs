//! A filter that runs for many files: lines and content in packets, each led by its length in four hexadecimal digits,
//! `0000` ending a list (gitattributes(5), "Long Running Filter Process").

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::os::Program;

/// The content of a packet is at most this long.
const MAX_DATA: usize = 65516;

/// A filter process after the greetings.
pub(super) struct FilterProcess {
    program: Program,
    capabilities: HashSet<String>,
}

impl FilterProcess {
    /// Starts it and agrees on version 2 and what it can do.
    pub(super) fn start(command: &[u8], root: &Path, cleared: &[&str]) -> io::Result<Self> {
        let command = gix::path::from_byte_slice(command).map_err(io::Error::other)?;
        let mut this = Self {
            program: Program::start(command.as_os_str(), root, cleared)?,
            capabilities: HashSet::new(),
        };
        this.lines(&["git-filter-client".to_owned(), "version=2".to_owned()])?;
        let answer = this.list()?;
        if answer != ["git-filter-server", "version=2"] {
            this.kill();
            return Err(io::ErrorKind::InvalidData.into());
        }
        this.lines(&["capability=clean".to_owned(), "capability=smudge".to_owned()])?;
        let can = this.list()?;
        this.capabilities = can
            .iter()
            .filter_map(|line| line.strip_prefix("capability="))
            .map(str::to_owned)
            .collect();
        Ok(this)
    }

    /// Whether it can do that, `clean` or `smudge`.
    pub(super) fn can(&self, operation: &str) -> bool {
        self.capabilities.contains(operation)
    }

    /// Ends it at once.
    pub(super) fn kill(&mut self) {
        self.program.kill();
    }

    /// Passes one file through it. `false` when it reports that it cannot convert this file, or no further ones; an error
    /// when it is of no use any more.
    pub(super) fn convert(
        &mut self,
        operation: &str,
        path: &[u8],
        source: &mut dyn Read,
        sink: &mut dyn Write,
    ) -> io::Result<bool> {
        self.packet(format!("command={operation}\n").as_bytes())?;
        self.packet(&[b"pathname=", path, b"\n"].concat())?;
        self.program.write_all(b"0000")?;
        let mut buffer = vec![0; MAX_DATA];
        loop {
            match source.read(&mut buffer)? {
                0 => break,
                count => self.packet(&buffer[..count])?,
            }
        }
        self.program.write_all(b"0000")?;
        self.program.flush()?;
        let status = self.status(None)?;
        match status.as_deref() {
            Some("success") => {}
            Some("error") => return Ok(false),
            Some("abort") => {
                self.capabilities.remove(operation);
                return Ok(false);
            }
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
        while let Some(data) = self.read_packet()? {
            sink.write_all(&data)?;
        }
        // It may take back its success after the content.
        Ok(self.status(status)?.as_deref() == Some("success"))
    }

    fn status(&mut self, before: Option<String>) -> io::Result<Option<String>> {
        let lines = self.list()?;
        let said = lines
            .iter()
            .rev()
            .find_map(|line| line.strip_prefix("status="))
            .map(str::to_owned);
        Ok(said.or(before))
    }

    fn lines(&mut self, lines: &[String]) -> io::Result<()> {
        for line in lines {
            self.packet(format!("{line}\n").as_bytes())?;
        }
        self.program.write_all(b"0000")?;
        self.program.flush()
    }

    fn packet(&mut self, data: &[u8]) -> io::Result<()> {
        if data.len() > MAX_DATA {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        write!(self.program, "{:04x}", data.len() + 4)?;
        self.program.write_all(data)
    }

    /// Lines up to the end of their list.
    fn list(&mut self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        while let Some(data) = self.read_packet()? {
            let line = data.strip_suffix(b"\n").unwrap_or(&data);
            lines.push(String::from_utf8_lossy(line).into_owned());
        }
        Ok(lines)
    }

    /// The content of a packet; `None` for the end of a list.
    fn read_packet(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut len = [0; 4];
        self.program.read_exact(&mut len)?;
        let len = std::str::from_utf8(&len)
            .ok()
            .and_then(|hex| usize::from_str_radix(hex, 16).ok());
        match len {
            Some(0) => Ok(None),
            Some(len @ 4..) => {
                let mut data = vec![0; len - 4];
                self.program.read_exact(&mut data)?;
                Ok(Some(data))
            }
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}
