//! Facts about the machine and the process: host name, creation mask, random names.

use std::io::{self, Read as _};

/// The name of this host as the kernel knows it, or `localhost` when it has none.
pub fn host_name() -> String {
    let name = super::system::host_name();
    if name.is_empty() { "localhost".to_owned() } else { name }
}

/// The file creation mask of this process, without changing it.
///
/// On Linux from `/proc/self/status`, elsewhere unknown: reading it there means setting it, which another thread
/// creating a file at that moment would notice.
pub fn umask() -> Option<u32> {
    // It is the second line, and the whole file takes seven more reads.
    let mut status = [0; 256];
    let length = std::fs::File::open("/proc/self/status").and_then(|mut file| file.read(&mut status));
    let status = std::str::from_utf8(status.get(..length.ok()?)?).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(value.trim(), 8).ok()
}

/// The signals that the parent process set to be ignored (`nohup`, a shell's background job), the first
/// signal as the lowest bit.
///
/// On Linux from `/proc/self/status`, elsewhere unknown and none: asking means setting them.
pub fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    value
        .and_then(|value| u64::from_str_radix(value.trim(), 16).ok())
        .unwrap_or(0)
}

/// Whether there is a process with this number; `None` where that cannot be determined.
pub fn is_running(process: u32) -> Option<bool> {
    let table = std::path::Path::new("/proc");
    // Without the entry of this very process it is another kind of directory.
    table
        .join("self")
        .exists()
        .then(|| table.join(process.to_string()).exists())
}

/// Sixteen random lower-case letters and digits (80 bits) for the name of a temporary file.
pub fn random_token() -> io::Result<String> {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes
        .iter()
        .map(|byte| char::from(ALPHABET[usize::from(byte % 32)]))
        .collect())
}
