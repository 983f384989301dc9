//! Files that another program wrote a short while ago and may not have synced.
//!
//! A kernel writes data back within half a minute of its own accord, so only what is younger matters. Age is measured by the
//! file system's own clock and by the time of the last change of a file or directory (`ctime`), which programs cannot
//! set: files that were unpacked with old dates count as young.

#[cfg(test)]
use std::fs;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::system::{self, touch};
use super::{Sharing, private_file, sync_dir};

/// Twice and more the time that Linux takes to write data back (30 s, and 5 s for the journal of the file system).
const WINDOW: Duration = Duration::from_secs(120);
/// How much the kernel's clock may lag behind from one file to the next.
const SLACK: Duration = Duration::from_millis(50);
/// The same where a file system keeps whole seconds only, or even ones (FAT).
const COARSE_SLACK: Duration = Duration::from_secs(2);

/// A point in time up to which everything is on the disk, kept in a file so that nothing is synced twice.
pub struct Watermark {
    file: Option<File>,
    /// The time of the file system, and the time since which files are young; without a file the system's clock decides.
    times: Option<(SystemTime, SystemTime)>,
}

impl Watermark {
    /// Reads the mark at `path`, a private file that is created when missing. Where it cannot be, all that is young
    /// counts as not synced.
    pub fn open(path: &Path, sharing: Sharing) -> Self {
        let mut file = private_file(path, sharing).ok();
        let clock = file.as_ref().and_then(|file| {
            touch(path).ok()?;
            file.metadata().ok()?.modified().ok()
        });
        let times = clock.map(|now| {
            let window = now.checked_sub(WINDOW).unwrap_or(UNIX_EPOCH);
            let last = file.as_mut().and_then(read_mark).filter(|last| *last <= now);
            let last = last.and_then(|last| last.checked_sub(slack(now)));
            (now, last.map_or(window, |last| last.max(window)))
        });
        Self { file, times }
    }

    /// Whether a file, or the list of entries of a directory, changed since the mark.
    pub fn is_young(&self, metadata: &Metadata) -> bool {
        changed(metadata).is_none_or(|at| match self.times {
            Some((_, floor)) => at >= floor,
            // A time in the future is no age.
            None => at.elapsed().map_or(true, |age| age <= WINDOW),
        })
    }

    /// Moves the mark to the time when it was opened: everything older has been synced.
    pub fn advance(self) {
        if let (Some(mut file), Some((now, _))) = (self.file, self.times)
            && let Ok(since) = now.duration_since(UNIX_EPOCH)
        {
            // A mark that is not written makes the next command sync once more.
            let text = format!("{:>24}\n", since.as_nanos());
            let _ = file.rewind().and_then(|()| file.write_all(text.as_bytes()));
        }
    }
}

fn slack(now: SystemTime) -> Duration {
    match now.duration_since(UNIX_EPOCH) {
        Ok(since) if since.subsec_nanos() != 0 => SLACK,
        _ => COARSE_SLACK,
    }
}

fn read_mark(file: &mut File) -> Option<SystemTime> {
    let mut text = String::new();
    file.take(64).read_to_string(&mut text).ok()?;
    let nanos: u64 = text.trim().parse().ok()?;
    UNIX_EPOCH.checked_add(Duration::from_nanos(nanos))
}

/// The later one of the times of the last change of data and of the entry itself.
fn changed(metadata: &Metadata) -> Option<SystemTime> {
    metadata.modified().ok().max(system::changed(metadata))
}

/// Brings files and then the directories that name them to the disk. What is gone, or belongs to another user who lets
/// no one read it, is passed over: nothing can rely on it.
pub fn sync_all(files: &[PathBuf], directories: &[PathBuf]) -> io::Result<()> {
    for path in files {
        passed_over(super::sync_path(path))?;
    }
    for path in directories {
        passed_over(sync_dir(path))?;
    }
    Ok(())
}

fn passed_over(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => Err(error),
        _ => Ok(()),
    }
}

/// Brings everything of the file systems that hold these directories to the disk; `false` where that cannot be done or
/// failed.
pub fn sync_file_systems(directories: &[PathBuf]) -> bool {
    let mut devices = Vec::new();
    directories.iter().all(|path| {
        let Ok(directory) = File::open(path) else {
            return false;
        };
        let Ok(metadata) = directory.metadata() else {
            return false;
        };
        let device = system::device(&metadata);
        let known = devices.contains(&device);
        devices.push(device);
        known || system::sync_file_system(&directory).is_some_and(|synced| synced.is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_young(mark: &Watermark, path: &Path) -> bool {
        mark.is_young(&fs::metadata(path).expect("there"))
    }

    #[test]
    fn what_came_after_the_mark_is_young() {
        let directory = tempfile::tempdir().expect("a directory");
        let mark = directory.path().join("mark");
        let old = directory.path().join("old");
        fs::write(&old, "x").expect("written");
        let opened = Watermark::open(&mark, Sharing::default());
        assert!(is_young(&opened, &old), "nothing is known yet");
        drop(opened);
        assert!(
            is_young(&Watermark::open(&mark, Sharing::default()), &old),
            "it was not advanced"
        );
        Watermark::open(&mark, Sharing::default()).advance();
        let opened = Watermark::open(&mark, Sharing::default());
        let (now, floor) = opened.times.expect("a mark");
        let times = Some((now + COARSE_SLACK + Duration::from_secs(1), floor));
        Watermark { times, ..opened }.advance();
        // The mark lies in the future: a clock that was set back. Then nothing is believed.
        assert!(is_young(&Watermark::open(&mark, Sharing::default()), &old));
        fs::write(&mark, "no number").expect("written");
        assert!(is_young(&Watermark::open(&mark, Sharing::default()), &old));
    }

    #[test]
    fn an_old_date_does_not_make_a_file_old() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("unpacked");
        fs::write(&path, "x").expect("written");
        let file = File::options().write(true).open(&path).expect("opened");
        file.set_modified(UNIX_EPOCH + Duration::from_secs(86_400))
            .expect("set");
        let mark = Watermark::open(&directory.path().join("mark"), Sharing::default());
        assert_eq!(is_young(&mark, &path), cfg!(unix));
    }

    #[test]
    fn a_mark_that_cannot_be_kept_makes_all_that_is_young_count() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        fs::write(&path, "x").expect("written");
        let nowhere = directory.path().join("missing/mark");
        for _ in 0..2 {
            let mark = Watermark::open(&nowhere, Sharing::default());
            assert!(is_young(&mark, &path));
            mark.advance();
        }
    }

    #[test]
    fn what_is_gone_is_passed_over() {
        let directory = tempfile::tempdir().expect("a directory");
        let files: Vec<_> = (0..5).map(|n| directory.path().join(n.to_string())).collect();
        for path in &files[1..] {
            fs::write(path, "x").expect("written");
        }
        let directories = [directory.path().to_owned(), directory.path().to_owned()];
        sync_all(&files, &directories).expect("synced");
        sync_all(&[], &[directory.path().join("gone")]).expect("a directory that went");
        assert!(
            !sync_file_systems(&[directory.path().join("gone")]),
            "it is not known which"
        );
        assert_eq!(sync_file_systems(&directories), cfg!(target_os = "linux"));
    }
}
