//! Replacing a small private file in one step: a reader sees the old content or the new one, whoever is killed when.
//!
//! The new content gets a name of its own first, with an end by which what a killed process left is known. The file is
//! locked while its writer lives, so that a sweep takes nothing from anybody.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::{Sharing, links, lock, open_regular, try_lock};

/// Ends the names of files in the making.
const END: &str = ".new";

/// Puts `bytes` in the place of the file `path`: private, durable with `sync`. On an error the old file stays, and
/// nothing else is left.
pub fn replace(path: &Path, bytes: &[u8], sharing: Sharing, sync: bool) -> io::Result<()> {
    replace_with(path, sharing, sync, &mut |file| file.write_all(bytes))
}

/// The same with content that is written piece by piece.
pub fn replace_with(
    path: &Path,
    sharing: Sharing,
    sync: bool,
    write: &mut dyn FnMut(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    loop {
        let new = path.with_file_name(format!("{name}.{}{END}", super::random_token()?));
        let Some(mut file) = create(&new)? else { continue };
        let put = super::file::set_private_mode(&file, 0o600, sharing)
            .and_then(|()| write(&mut file))
            .and_then(|()| if sync { file.sync_all() } else { Ok(()) })
            .and_then(|()| fs::rename(&new, path));
        if put.is_err() {
            // What stays is swept.
            let _ = fs::remove_file(&new);
        }
        return put;
    }
}

/// Creates and locks a file; `None` if it was swept between the two.
fn create(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    match lock(&file).and_then(|()| links(&file)) {
        Ok(0) => Ok(None),
        Ok(_) => Ok(Some(file)),
        Err(error) => {
            let _ = fs::remove_file(path);
            Err(error)
        }
    }
}

/// Removes what killed processes left of [`replace`] in a folder, and what versions before it left (`.tmp`). Gives what
/// could not be removed.
pub fn sweep_replacements(folder: &Path) -> Vec<super::Leftover> {
    let mut left = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return left;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let ours = path.extension().is_some_and(|end| end == "new" || end == "tmp");
        if ours
            && let Ok(file) = open_regular(&path)
            && try_lock(&file).is_ok_and(|locked| locked)
        {
            left.extend(super::Leftover::of(fs::remove_file(&path), &path));
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_and_sweeps() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("current");
        for text in ["one", "two"] {
            replace(&path, text.as_bytes(), Sharing::default(), true).expect("replaced");
            assert_eq!(fs::read_to_string(&path).expect("read"), text);
        }
        let living = create(&folder.path().join("current.a.new"))
            .expect("created")
            .expect("not swept");
        for left in ["current.b.new", "current.tmp"] {
            fs::write(folder.path().join(left), "half").expect("written");
        }
        assert!(sweep_replacements(folder.path()).is_empty());
        let names = || fs::read_dir(folder.path()).expect("listed").count();
        assert_eq!(names(), 2, "the file, and what a living process is writing");
        drop(living);
        sweep_replacements(folder.path());
        assert_eq!(names(), 1);
    }

    #[test]
    fn an_error_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("current");
        fs::create_dir(&path).expect("a folder in the way");
        assert!(replace(&path, b"x", Sharing::default(), false).is_err());
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }
}
