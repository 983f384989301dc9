//! Replacing a small private file in one step: a reader sees the old content or the new one, whichever process is killed when.
//!
//! The new content gets a name of its own first, with an end by which what a killed process left is known. The file is
//! locked while its writer lives, so that a sweep takes nothing from anybody.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::system::{self, links};
use super::{Sharing, lock, open_regular, try_lock};

/// Ends the names of files in the making.
const END: &str = ".new";

/// Puts `bytes` in the place of the file `path`: private; with `sync` durable, content and name, so that what others add
/// to the new file and sync is not lost with the name. On an error the old file stays, unless it is the directory that
/// could not be synced, and nothing else is left.
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
            .and_then(|()| if sync { super::sync(&file) } else { Ok(()) })
            .and_then(|()| fs::rename(&new, path));
        if put.is_err() {
            // What stays is swept.
            let _ = fs::remove_file(&new);
        } else if sync && let Some(directory) = path.parent() {
            return super::sync_dir(directory);
        }
        return put;
    }
}

/// Puts `bytes` in the place of a file of the user's, durable: with the mode that file has, else that of any new file.
/// A symlink's target is replaced.
pub fn replace_users(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let before = match fs::metadata(&path) {
        Ok(metadata) if metadata.is_file() => Some(metadata.permissions()),
        Ok(_) => return Err(io::Error::other("it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.{}{END}", super::random_token()?));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&new)?;
    let put = before
        .map_or(Ok(()), |mode| file.set_permissions(mode))
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| super::sync(&file))
        .and_then(|()| fs::rename(&new, &path));
    if put.is_err() {
        let _ = fs::remove_file(&new);
        return put;
    }
    path.parent().map_or(Ok(()), super::sync_dir)
}

/// Lets everybody execute a file of the user's who may read it. Where a system has no such mode, nothing is done.
pub fn make_executable(path: &Path) -> io::Result<()> {
    match system::mode(&fs::metadata(path)?) {
        Some(mode) => system::set_path_mode(path, mode | (mode & 0o444) >> 2),
        None => Ok(()),
    }
}

/// Creates and locks a file; `None` if it was swept between the two.
fn create(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    system::new_mode(&mut options, 0o600);
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

/// Removes what killed processes left of [`replace`] in a directory, and what versions before it left (`.tmp`). Gives what
/// could not be removed.
pub fn sweep_replacements(directory: &Path) -> Vec<super::CleanupFailure> {
    let mut left = Vec::new();
    let Ok(entries) = fs::read_dir(directory) else {
        return left;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let ours = path.extension().is_some_and(|end| end == "new" || end == "tmp");
        if ours
            && let Ok(file) = open_regular(&path)
            && try_lock(&file).is_ok_and(|locked| locked)
        {
            left.extend(super::CleanupFailure::of(fs::remove_file(&path), &path));
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_and_sweeps() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("current");
        for text in ["one", "two"] {
            replace(&path, text.as_bytes(), Sharing::default(), true).expect("replaced");
            assert_eq!(fs::read_to_string(&path).expect("read"), text);
        }
        let living = create(&directory.path().join("current.a.new"))
            .expect("created")
            .expect("not swept");
        for left in ["current.b.new", "current.tmp"] {
            fs::write(directory.path().join(left), "half").expect("written");
        }
        assert!(sweep_replacements(directory.path()).is_empty());
        let names = || fs::read_dir(directory.path()).expect("listed").count();
        assert_eq!(names(), 2, "the file, and what a living process is writing");
        drop(living);
        sweep_replacements(directory.path());
        assert_eq!(names(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_of_the_users_keeps_its_mode_and_its_link() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().expect("a directory");
        let (path, link) = (directory.path().join("NOTE.md"), directory.path().join("link"));
        fs::write(&path, "one").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
        std::os::unix::fs::symlink("NOTE.md", &link).expect("linked");
        replace_users(&link, b"two").expect("replaced");
        assert_eq!(fs::read(&path).expect("read"), b"two");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        replace_users(&directory.path().join("new"), b"x").expect("created");
        assert!(replace_users(directory.path(), b"x").is_err());
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 3);
    }

    #[test]
    fn an_error_leaves_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("current");
        fs::create_dir(&path).expect("a directory in the way");
        assert!(replace(&path, b"x", Sharing::default(), false).is_err());
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 1);
    }
}
