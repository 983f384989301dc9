//! Which paths may be written at all, whatever a checkpoint has.
//!
//! A checkpoint may come from anybody. The rules of POSIX, HFS+ and NTFS hold together on every system, because a tree
//! that is harmless here would do its harm where it goes next, and are those by which a snapshot skips names, so that
//! what was saved can come back. Two rules hold only where they mean something, since real projects break them: device
//! names and endings of Windows on Windows (`aux.c` is in the Linux kernel), and names that differ in case or Unicode
//! form alone where the file system takes them for one (so is `xt_DSCP.c` next to `xt_dscp.c`).

use std::collections::HashMap;

use gix::bstr::ByteSlice;

use crate::worktree::snapshot::names;

/// The most bytes of a path and the most directories in it: far beyond what any system can address.
const MAX_PATH: usize = 1024 * 1024;
const MAX_DEPTH: usize = 4096;

/// Problem of a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    /// It is empty, or has an empty name in it, as an absolute path has.
    #[error("it has an empty name in it")]
    Empty,
    /// It leads upwards or nowhere: `.` or `..`.
    #[error("it leads out of the working tree")]
    Upwards,
    /// A name holds a slash or a zero byte.
    #[error("it has a name that no file can have")]
    NoName,
    /// A name represents the repository, or a file that git reads, on one file system or another.
    #[error("it names git's own files on some systems")]
    Git,
    /// Windows takes the name for something else.
    #[error("Windows cannot have a file of that name")]
    Windows,
    /// It is longer or deeper than anything can be.
    #[error("it is too long")]
    TooLong,
    /// A directory holds two entries of one name.
    #[error("it is there twice")]
    Twice,
    /// The file system takes another name for this one.
    #[error("the file system takes it for '{0}'")]
    Collides(crate::model::path::RepoPath),
}

/// Name rules of the file system of the working tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::worktree) struct FileSystem {
    /// Names that differ in case or Unicode form alone are one.
    pub folds: bool,
    /// It is one of Windows.
    pub windows: bool,
}

impl FileSystem {
    /// That of a working tree with this `core.ignoreCase`.
    pub(super) fn of(ignore_case: bool) -> Self {
        Self {
            folds: ignore_case || cfg!(any(windows, target_os = "macos")),
            windows: cfg!(windows),
        }
    }

    /// Checks one name in a directory. `is_file` is false for links, directories and repositories.
    pub(super) fn check_name(self, name: &[u8], is_file: bool) -> Result<(), PathProblem> {
        match name {
            b"" => return Err(PathProblem::Empty),
            b"." | b".." => return Err(PathProblem::Upwards),
            _ if name.contains(&b'/') || name.contains(&0) => return Err(PathProblem::NoName),
            _ => {}
        }
        if name.split(|byte| *byte == b'\\').any(|part| part == b"..") {
            return Err(PathProblem::Upwards);
        }
        if !names::is_storable(name, is_file) {
            return Err(PathProblem::Git);
        }
        if self.windows && !is_valid_on_windows(name) {
            return Err(PathProblem::Windows);
        }
        Ok(())
    }

    /// Checks a whole path, as it is in a list. `is_file` is about its last name.
    pub(super) fn check(self, path: &[u8], is_file: bool) -> Result<(), PathProblem> {
        if path.len() > MAX_PATH {
            return Err(PathProblem::TooLong);
        }
        let mut names = path.split(|byte| *byte == b'/').peekable();
        let mut depth = 0;
        while let Some(name) = names.next() {
            depth += 1;
            self.check_name(name, is_file && names.peek().is_none())?;
        }
        if depth > MAX_DEPTH {
            Err(PathProblem::TooLong)
        } else {
            Ok(())
        }
    }

    /// Two of these names, which are those of one directory, that are one to the file system.
    pub(super) fn collision<'a>(self, names: impl Iterator<Item = &'a [u8]>) -> Option<(&'a [u8], &'a [u8])> {
        if !self.folds {
            return None;
        }
        let mut seen = HashMap::new();
        for name in names {
            if let Some(other) = seen.insert(folded(name), name) {
                return Some((other, name));
            }
        }
        None
    }

    /// The form in which paths are compared.
    pub(super) fn key(self, path: &[u8]) -> Vec<u8> {
        if self.folds { folded(path) } else { path.to_vec() }
    }
}

/// A name without what file systems overlook: case, Unicode form, the code points that HFS+ ignores.
fn folded(name: &[u8]) -> Vec<u8> {
    let Ok(text) = name.to_str() else {
        return name.to_ascii_lowercase();
    };
    if text.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let composed = gix::utils::str::precompose(text.into());
    // Both ways, because there are letters with two lower-case forms.
    let upper = composed
        .chars()
        .filter(|c| !is_ignored_by_hfs(*c))
        .flat_map(char::to_uppercase);
    let folded: String = upper.flat_map(char::to_lowercase).collect();
    gix::utils::str::precompose(folded.into()).into_owned().into_bytes()
}

/// Apple's technical note 1150.
fn is_ignored_by_hfs(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// Microsoft, "Naming Files, Paths, and Namespaces".
fn is_valid_on_windows(name: &[u8]) -> bool {
    let reserved = |byte: &u8| *byte < 0x20 || matches!(byte, b'<' | b'>' | b':' | b'"' | b'|' | b'?' | b'*' | b'\\');
    if name.iter().any(reserved) || matches!(name.last(), Some(b' ' | b'.')) {
        return false;
    }
    let stem = name.split(|byte| *byte == b'.').next().unwrap_or_default();
    let stem = stem.trim_ascii_end().to_ascii_lowercase();
    match stem.as_slice() {
        b"con" | b"prn" | b"aux" | b"nul" | b"conin$" | b"conout$" => false,
        [b'c', b'o', b'm', digit] | [b'l', b'p', b't', digit] => !digit.is_ascii_digit(),
        // Superscript digits count as well.
        [b'c', b'o', b'm', 0xc2, digit] | [b'l', b'p', b't', 0xc2, digit] => !matches!(digit, 0xb9 | 0xb2 | 0xb3),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: FileSystem = FileSystem {
        folds: false,
        windows: false,
    };
    const WINDOWS: FileSystem = FileSystem {
        folds: true,
        windows: true,
    };

    #[test]
    fn paths_that_lead_out_are_refused_everywhere() {
        for (path, why) in [
            ("", PathProblem::Empty),
            ("/etc/passwd", PathProblem::Empty),
            ("a//b", PathProblem::Empty),
            ("a/", PathProblem::Empty),
            (".", PathProblem::Upwards),
            ("..", PathProblem::Upwards),
            ("a/../../b", PathProblem::Upwards),
            ("./a", PathProblem::Upwards),
            ("..\\..\\x", PathProblem::Upwards),
            ("a\\..\\b", PathProblem::Upwards),
            ("a\0b", PathProblem::NoName),
            (".git", PathProblem::Git),
            (".GIT/config", PathProblem::Git),
            ("sub/.git/hooks/pre-commit", PathProblem::Git),
            ("sub/.Git/x", PathProblem::Git),
            ("GIT~1/config", PathProblem::Git),
            ("git~1", PathProblem::Git),
            (".git./config", PathProblem::Git),
            (".git /config", PathProblem::Git),
            (".git . ./x", PathProblem::Git),
            (".git::$INDEX_ALLOCATION/config", PathProblem::Git),
            (".git:stream", PathProblem::Git),
            (".\u{200c}git/config", PathProblem::Git),
            (".g\u{200d}it", PathProblem::Git),
            ("\u{feff}.git", PathProblem::Git),
            (".gi\u{206f}t", PathProblem::Git),
            (".git\u{202e}", PathProblem::Git),
            (".git\\config", PathProblem::Git),
            ("a\\.git\\config", PathProblem::Git),
            ("a\\git~1", PathProblem::Git),
        ] {
            for system in [LINUX, WINDOWS] {
                assert_eq!(system.check(path.as_bytes(), true), Err(why.clone()), "{path:?}");
            }
        }
    }

    #[test]
    fn links_may_not_have_the_names_of_files_that_git_reads() {
        for name in [
            ".gitmodules",
            ".GITMODULES",
            "gitmod~1",
            ".gitmodules ",
            ".git\u{200c}modules",
        ] {
            assert_eq!(
                LINUX.check_name(name.as_bytes(), false),
                Err(PathProblem::Git),
                "{name}"
            );
            assert_eq!(LINUX.check_name(name.as_bytes(), true), Ok(()), "{name}");
        }
        // git has these in trees, and does not read through them.
        for name in [".gitattributes", ".gitignore", ".mailmap"] {
            assert_eq!(LINUX.check_name(name.as_bytes(), false), Ok(()), "{name}");
        }
    }

    #[test]
    fn what_people_have_in_their_projects_is_allowed_where_it_can_be() {
        for name in [
            "aux.c", "con", "a:b", "a\\b", "-rf", " x ", "x.", "nl\nname", "\u{7f}", ".gitx", "git", "..a", "a..", "~",
        ] {
            assert_eq!(LINUX.check_name(name.as_bytes(), true), Ok(()), "{name:?}");
        }
        assert_eq!(LINUX.check_name(b"\xff\xfe", true), Ok(()));
        for name in [
            "aux.c",
            "con",
            "COM1.txt",
            "lpt\u{b2}",
            "nul .x",
            "a:b",
            "a\\b",
            "x.",
            "x ",
            "a?",
            "nl\nname",
            "conin$",
        ] {
            assert_eq!(
                WINDOWS.check_name(name.as_bytes(), true),
                Err(PathProblem::Windows),
                "{name:?}"
            );
        }
        for name in ["console", "com", "com10", "lpta", "aux-c", "null"] {
            assert_eq!(WINDOWS.check_name(name.as_bytes(), true), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn names_that_are_one_to_the_file_system_collide() {
        let pairs = [
            ("a", "A"),
            ("Makefile", "makefile"),
            ("\u{e9}", "e\u{301}"),
            ("\u{c9}", "\u{e9}"),
            ("stra\u{df}e", "STRASSE"),
            ("\u{3c3}", "\u{3c2}"),
            ("a\u{200c}b", "ab"),
            ("\u{212b}", "\u{e5}"),
        ];
        for (one, other) in pairs {
            let names = || [one.as_bytes(), b"x", other.as_bytes()].into_iter();
            assert!(WINDOWS.collision(names()).is_some(), "{one:?} {other:?}");
            assert_eq!(LINUX.collision(names()), None, "{one:?} {other:?}");
        }
        assert_eq!(WINDOWS.collision([&b"a"[..], b"b", b"\xff", b"\xfe"].into_iter()), None);
    }

    #[test]
    fn endless_paths_are_refused() {
        let deep = vec!["a"; MAX_DEPTH + 1].join("/");
        assert_eq!(LINUX.check(deep.as_bytes(), true), Err(PathProblem::TooLong));
        assert_eq!(LINUX.check(&vec![b'a'; MAX_PATH + 1], true), Err(PathProblem::TooLong));
    }
}
