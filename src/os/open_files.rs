//! Files that processes have open for writing or mapped for it, as far as this user may see: those of other users stay
//! unknown. Linux says so in `/proc`, and in `/sys` which files are loop devices.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The access mode in the flags of an open file; reading alone is zero.
const ACCESS: u32 = 3;
/// The end of the path of a file whose name is gone since it was opened.
const DELETED: &[u8] = b" (deleted)";

/// Files that are open for writing, or mapped for it.
#[derive(Debug, Default)]
pub struct OpenFiles {
    /// The files below the root, under the names by which they were opened.
    pub(super) files: Vec<PathBuf>,
    /// Whether one of them has further names than that one: they may be anywhere.
    pub(super) has_other_names: bool,
}

impl OpenFiles {
    /// Those below `root`.
    pub fn find(root: &Path) -> Self {
        // The system names files by the paths that have no symlink in them.
        let real = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let mut search = Search {
            mounts: mounts_of(&real).unwrap_or_default(),
            found: Vec::new(),
            has_other_names: false,
            root: &real,
        };
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let name = process.file_name();
            if name.as_bytes().iter().all(u8::is_ascii_digit) {
                // One that ended meanwhile has closed all, and that was reported.
                let _ = search.descriptors(&process.path());
                let _ = search.mappings(&process.path());
            }
        }
        search.loop_devices(Path::new("/sys/block"));
        let files = search.found.iter().filter_map(|file| file.strip_prefix(&real).ok());
        Self {
            files: files.map(|file| root.join(file)).collect(),
            has_other_names: search.has_other_names,
        }
    }
}

/// The mounts of one file system: their numbers, and its device as `major:minor`.
#[derive(Debug, Default)]
struct FileSystemMounts {
    ids: HashSet<String>,
    device: (u32, u32),
}

fn mounts_of(root: &Path) -> Option<FileSystemMounts> {
    let open = fs::File::open(root).ok()?;
    let about = fs::read_to_string(format!("/proc/self/fdinfo/{}", open.as_raw_fd())).ok()?;
    let own = member(&about, "mnt_id:")?.to_owned();
    let table = fs::read("/proc/self/mountinfo").ok()?;
    let table = String::from_utf8_lossy(&table);
    let mounts = || {
        table.lines().filter_map(|line| {
            let mut words = line.split(' ');
            let id = words.next()?;
            let (major, minor) = words.nth(1)?.split_once(':')?;
            Some((id, (major.parse().ok()?, minor.parse().ok()?)))
        })
    };
    let (_, device) = mounts().find(|(id, _)| *id == own)?;
    let ids = mounts().filter(|(_, of)| *of == device).map(|(id, _)| id.to_owned());
    Some(FileSystemMounts {
        ids: ids.collect(),
        device,
    })
}

/// The value of a line that begins with this name.
fn member<'a>(about: &'a str, name: &str) -> Option<&'a str> {
    about.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

struct Search<'a> {
    root: &'a Path,
    mounts: FileSystemMounts,
    found: Vec<PathBuf>,
    has_other_names: bool,
}

impl Search<'_> {
    fn descriptors(&mut self, process: &Path) -> io::Result<()> {
        for entry in fs::read_dir(process.join("fd"))? {
            let entry = entry?;
            let Some(file) = fs::read_link(entry.path())
                .ok()
                .filter(|file| file.starts_with(self.root))
            else {
                continue;
            };
            let Ok(about) = fs::read_to_string(process.join("fdinfo").join(entry.file_name())) else {
                continue;
            };
            let flags = member(&about, "flags:").and_then(|flags| u32::from_str_radix(flags, 8).ok());
            if flags.is_some_and(|flags| flags & ACCESS == 0) {
                continue;
            }
            // Another file system is not asked: it may not answer.
            if member(&about, "mnt_id:").is_some_and(|id| self.mounts.ids.contains(id))
                && let Ok(meta) = fs::metadata(entry.path())
            {
                let names = meta.nlink() + u64::from(is_deleted(&file));
                // A file without a name is not in the working tree.
                if meta.nlink() == 0 {
                    continue;
                }
                self.has_other_names |= meta.is_file() && names > 1;
            }
            self.found.push(file);
        }
        Ok(())
    }

    fn mappings(&mut self, process: &Path) -> io::Result<()> {
        let mut maps = BufReader::new(fs::File::open(process.join("maps"))?);
        let mut line = Vec::new();
        while maps.read_until(b'\n', &mut line)? > 0 {
            self.mapping(&line);
            line.clear();
        }
        Ok(())
    }

    fn mapping(&mut self, line: &[u8]) {
        let mut parts = line.trim_ascii_end().splitn(6, |byte| *byte == b' ');
        let (rights, device) = (parts.nth(1).unwrap_or_default(), parts.nth(1).unwrap_or_default());
        // Shared ones that may be written.
        if rights.get(1) != Some(&b'w') || rights.get(3) != Some(&b's') {
            return;
        }
        let path = parts.nth(1).unwrap_or_default().trim_ascii_start();
        let path = PathBuf::from(std::ffi::OsString::from_vec(unescape(path.to_vec())));
        if !path.starts_with(self.root) {
            return;
        }
        let device = str::from_utf8(device).ok().and_then(|device| device.split_once(':'));
        let number = |text| u32::from_str_radix(text, 16).ok();
        let device = device.and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
        if device == Some(self.mounts.device) {
            // Whether one without this name has another one is not to be seen.
            self.has_other_names |=
                is_deleted(&path) || fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file() && meta.nlink() > 1);
        }
        self.found.push(path);
    }

    /// The system itself has the file of a loop device open.
    fn loop_devices(&mut self, devices: &Path) {
        for device in fs::read_dir(devices).into_iter().flatten().flatten() {
            let Ok(file) = fs::read(device.path().join("loop/backing_file")) else {
                continue;
            };
            let file = file.strip_suffix(b"\n").unwrap_or(&file).to_vec();
            let file = PathBuf::from(std::ffi::OsString::from_vec(unescape(file)));
            if file.starts_with(self.root) {
                self.found.push(file);
            }
        }
    }
}

fn is_deleted(file: &Path) -> bool {
    file.as_os_str().as_bytes().ends_with(DELETED)
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

    fn open_for_writing(root: &Path) -> Vec<PathBuf> {
        OpenFiles::find(root).files
    }

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
    fn the_file_of_a_loop_device_is_open() {
        let directory = tempfile::tempdir().expect("a directory");
        let devices = directory.path().join("block");
        for (device, file) in [("loop0", "/tree/disk\\012image\n"), ("loop1", "/other/disk\n")] {
            let device = devices.join(device).join("loop");
            fs::create_dir_all(&device).expect("made");
            fs::write(device.join("backing_file"), file).expect("written");
        }
        fs::create_dir_all(devices.join("sda")).expect("made");
        let mut search = Search {
            root: Path::new("/tree"),
            mounts: FileSystemMounts::default(),
            found: Vec::new(),
            has_other_names: false,
        };
        search.loop_devices(&devices);
        assert_eq!(search.found, [Path::new("/tree/disk\nimage")]);
    }

    #[test]
    fn open_files_with_other_names_are_noticed() {
        let directory = tempfile::tempdir().expect("a directory");
        let (one, other) = (directory.path().join("one"), directory.path().join("other"));
        let has_other_names = || OpenFiles::find(directory.path()).has_other_names;
        let file = fs::File::create(&one).expect("created");
        assert!(!has_other_names(), "one name");
        fs::hard_link(&one, &other).expect("linked");
        assert!(has_other_names(), "two names");
        fs::remove_file(&one).expect("removed");
        assert!(has_other_names(), "the other name");
        fs::remove_file(&other).expect("removed");
        assert!(
            !has_other_names() && open_for_writing(directory.path()).is_empty(),
            "no name"
        );
        drop(file);
    }

    #[test]
    fn the_end_of_a_line_in_a_path_is_read_back() {
        assert_eq!(unescape(b"/a\\012b\\x".to_vec()), b"/a\nb\\x");
    }
}
