//! Names as git for macOS lists them with `core.precomposeUnicode`, which it sets in a new repository there: accents are
//! part of their letters, however the file system keeps them.

use std::borrow::Cow;

use crate::os::dir::{Dir, DirNames, FileKind};

/// Composes the names of a directory. Where both spellings are names of different files, each keeps its own.
pub(super) fn compose(dir: &Dir, names: &mut DirNames) {
    if (0..names.len()).all(|at| names.name(at).is_ascii()) {
        return;
    }
    let mut composed: Vec<(Vec<u8>, FileKind)> = (0..names.len())
        .map(|at| (name(dir, names, at), names.kind(at)))
        .collect();
    composed.sort_by(|one, other| one.0.cmp(&other.0));
    names.fill(composed.iter().map(|(name, kind)| (name.as_slice(), *kind)));
}

fn name(dir: &Dir, names: &DirNames, at: usize) -> Vec<u8> {
    let listed = names.name(at);
    let Ok(text) = std::str::from_utf8(listed) else {
        return listed.to_vec();
    };
    match gix::utils::str::precompose(text.into()) {
        Cow::Owned(composed) if is_free(dir, names, at, composed.as_bytes()) => composed.into_bytes(),
        _ => listed.to_vec(),
    }
}

/// Whether a listed file is found by another name, which no file is listed by: two names of one file stay two.
fn is_free(dir: &Dir, names: &DirNames, at: usize, other: &[u8]) -> bool {
    if names.find(other).is_some() {
        return false;
    }
    let other = dir.stat(other).ok();
    other.is_some_and(|other| dir.stat_at(names, at).is_ok_and(|meta| meta.is_same(&other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_two_files_stay_two_names() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["a", "e\u{301}", "\u{e9}", "u\u{308}"] {
            std::fs::write(directory.path().join(name), name).expect("written");
        }
        std::fs::write(directory.path().join("o\u{301}"), "o").expect("written");
        std::fs::hard_link(directory.path().join("o\u{301}"), directory.path().join("\u{f3}")).expect("linked");
        let dir = Dir::open(directory.path()).expect("opened");
        let mut names = DirNames::default();
        dir.read(&mut names).expect("listed");
        let listed: Vec<Vec<u8>> = (0..names.len()).map(|at| names.name(at).to_vec()).collect();
        compose(&dir, &mut names);
        let after: Vec<Vec<u8>> = (0..names.len()).map(|at| names.name(at).to_vec()).collect();
        // This file system finds a name by its own bytes alone.
        assert_eq!(after, listed);
    }
}
