//! Files that processes have open for writing or mapped for it, as far as this user may see: those of other users stay
//! unknown. Linux says so in `/proc`.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// The access mode in the flags of an open file; reading alone is zero.
const ACCESS: u32 = 3;

/// The files below `root` that a process has open for writing, or writes through its memory.
pub(super) fn open_for_writing(root: &Path) -> Vec<PathBuf> {
    // The system names files by the paths that have no symlink in them.
    let real = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = process.file_name();
        if name.as_bytes().iter().all(u8::is_ascii_digit) {
            // One that ended meanwhile has closed all, and that was reported.
            let _ = descriptors(&process.path(), &real, &mut found);
            let _ = mappings(&process.path(), &real, &mut found);
        }
    }
    let files = found.iter().filter_map(|file| file.strip_prefix(&real).ok());
    files.map(|file| root.join(file)).collect()
}

fn descriptors(process: &Path, root: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(process.join("fd"))? {
        let entry = entry?;
        let Some(file) = fs::read_link(entry.path()).ok().filter(|file| file.starts_with(root)) else {
            continue;
        };
        let about = fs::read_to_string(process.join("fdinfo").join(entry.file_name()))?;
        let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        if flags.is_none_or(|flags| flags & ACCESS != 0) {
            found.push(file);
        }
    }
    Ok(())
}

fn mappings(process: &Path, root: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut maps = BufReader::new(fs::File::open(process.join("maps"))?);
    let mut line = Vec::new();
    while maps.read_until(b'\n', &mut line)? > 0 {
        let mut parts = line.trim_ascii_end().splitn(3, |byte| *byte == b' ');
        let (rights, rest) = (parts.nth(1).unwrap_or_default(), parts.next().unwrap_or_default());
        // Shared ones that may be written.
        if rights.get(1) == Some(&b'w') && rights.get(3) == Some(&b's') {
            let start = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
            let path = rest[start..].to_vec();
            let path = PathBuf::from(std::ffi::OsString::from_vec(unescape(path)));
            if path.starts_with(root) {
                found.push(path);
            }
        }
        line.clear();
    }
    Ok(())
}

/// The system writes the end of a line in a path as `\012`.
fn unescape(path: Vec<u8>) -> Vec<u8> {
    if !path.contains(&b'\\') {
        return path;
    }
    let mut rest = &path[..];
    let mut out = Vec::with_capacity(path.len());
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"\\012") {
            out.push(b'\n');
            rest = after;
        } else {
            out.push(*first);
            rest = after;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_open_for_writing_are_found() {
        let directory = tempfile::tempdir().expect("a directory");
        let (written, read) = (directory.path().join("a\nb"), directory.path().join("read"));
        fs::write(&read, "x").expect("written");
        let reader = fs::File::open(&read).expect("opened");
        assert!(open_for_writing(directory.path()).is_empty());
        let writer = fs::File::create(&written).expect("created");
        assert_eq!(open_for_writing(directory.path()), [written]);
        drop((writer, reader));
        assert!(open_for_writing(directory.path()).is_empty());
    }

    #[test]
    fn the_end_of_a_line_in_a_path_is_read_back() {
        assert_eq!(unescape(b"/a\\012b\\x".to_vec()), b"/a\nb\\x");
    }
}
