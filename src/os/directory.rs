//! A directory of files for the user, put in place as a whole.
//!
//! A new directory appears complete or not at all: it is written next to its place, made durable and renamed. Into one that
//! has files already, each file is put by itself, and what else is there stays.

use std::{fs, io, path::Path};

use super::system;
use super::{Sharing, create_dir_durable, random_token, replace_users, sync_dir};

/// Whether a directory may be put at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Nothing is there, or an empty directory.
    Free,
    /// A directory with something in it.
    Taken,
    /// Something that is not a directory.
    Other,
}

/// Looks what is at a path. A link to a directory counts as that directory.
pub fn room(path: &Path) -> io::Result<Room> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(if fs::read_dir(path)?.next().is_some() {
            Room::Taken
        } else {
            Room::Free
        }),
        Ok(_) => Ok(Room::Other),
        // A link that leads nowhere is something.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(if fs::symlink_metadata(path).is_ok() {
            Room::Other
        } else {
            Room::Free
        }),
        Err(error) => Err(error),
    }
}

/// Puts files, named by paths relative to `path` with `/`, where [`Room::Free`] was found.
pub fn publish_directory(path: &Path, files: &[(String, Vec<u8>)]) -> io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    create_dir_durable(parent, Sharing::default())?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = parent.join(format!(".{name}.{}.new", random_token()?));
    let put = fs::create_dir(&new).and_then(|()| fill(&new, files)).and_then(|()| {
        // An empty directory in the place goes only when the new one is whole.
        match fs::remove_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::rename(&new, &path),
        }
    });
    if let Err(error) = put {
        let _ = fs::remove_dir_all(&new);
        return Err(error);
    }
    sync_dir(parent)
}

/// Puts files into a directory that has some; each is replaced as a whole. Links in it are not followed: where one is
/// in the way nothing is written.
pub fn fill(path: &Path, files: &[(String, Vec<u8>)]) -> io::Result<()> {
    for (name, _) in files {
        let mut at = path.to_owned();
        let mut parts = name.split('/').peekable();
        while let Some(part) = parts.next() {
            at.push(part);
            let Ok(found) = fs::symlink_metadata(&at) else { break };
            let (fits, kind) = match parts.peek() {
                Some(_) => (found.is_dir(), "folder"),
                None => (found.is_file(), "file"),
            };
            if !fits {
                return Err(io::Error::other(format!("'{}' is no {kind}", at.display())));
            }
        }
    }
    for (name, bytes) in files {
        let at = path.join(name);
        for directory in name.match_indices('/').map(|(end, _)| path.join(&name[..end])) {
            create_dir_durable(&directory, Sharing::default())?;
        }
        replace_users(&at, bytes)?;
    }
    Ok(())
}

/// The files in a directory and in the directories right below it, relative to it and with `/`, sorted. Links are named, not
/// followed.
pub fn shallow(path: &Path) -> io::Result<Vec<String>> {
    let mut out = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type()?.is_dir() {
            out.push(name);
            continue;
        }
        for below in fs::read_dir(entry.path())? {
            let below = below?;
            if !below.file_type()?.is_dir() {
                out.push(format!("{name}/{}", below.file_name().to_string_lossy()));
            }
        }
    }
    out.sort();
    Ok(out)
}

/// Permission bits of a directory below `root`; `None` where there is none, or where the system has no such bits.
pub fn directory_bits(root: &Path, relative: &[u8]) -> Option<u32> {
    let path = root.join(system::os_string(relative));
    let meta = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir)?;
    system::mode(&meta).map(|mode| mode & 0o777)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_appears_whole_and_what_is_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("a/out");
        let files = vec![("x.json".to_owned(), b"1".to_vec()), ("in/y".to_owned(), b"2".to_vec())];
        assert_eq!(room(&place).unwrap(), Room::Free);
        publish_directory(&place, &files).unwrap();
        assert_eq!(fs::read(place.join("in/y")).unwrap(), b"2");
        assert_eq!(room(&place).unwrap(), Room::Taken);
        assert!(
            publish_directory(&place, &files).is_err(),
            "what is there is not removed"
        );
        fs::write(place.join("own"), "mine").unwrap();
        fill(&place, &[("x.json".to_owned(), b"3".to_vec())]).unwrap();
        assert_eq!(fs::read(place.join("x.json")).unwrap(), b"3");
        assert_eq!(fs::read(place.join("own")).unwrap(), b"mine");
        #[cfg(unix)]
        {
            let outside = dir.path().join("outside");
            fs::write(&outside, "theirs").unwrap();
            let led = dir.path().join("led");
            fs::create_dir(&led).unwrap();
            for (link, target) in [
                ("in", dir.path()),
                ("x.json", outside.as_path()),
                ("x.json", Path::new("nowhere")),
            ] {
                let link = led.join(link);
                std::os::unix::fs::symlink(target, &link).unwrap();
                assert!(fill(&led, &files).is_err(), "{}", link.display());
                fs::remove_file(&link).unwrap();
            }
            assert_eq!(fs::read(&outside).unwrap(), b"theirs");
            assert!(!led.join("nowhere").exists() && !dir.path().join("y").exists());
            fs::remove_dir_all(led).unwrap();
            fs::remove_file(outside).unwrap();
        }
        assert_eq!(shallow(&place).unwrap(), ["in/y", "own", "x.json"]);
        assert_eq!(room(&place.join("own")).unwrap(), Room::Other);
        let empty = dir.path().join("empty");
        fs::create_dir(&empty).unwrap();
        publish_directory(&empty, &files).unwrap();
        let left = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 2, "nothing is left beside");
    }
}
