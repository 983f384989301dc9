//! Ignored files that a new working tree takes along, because the user named them: local settings, downloaded tools.
//!
//! The patterns are written as in a `.gitignore`, in the setting `checkpoint.forkCopy` and in the file
//! `.worktreeinclude` at the root. Only ignored files are copied: what is not ignored, the checkpoint has.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;

use super::super::{Error, Scene};
use crate::{model::path::RepoPath, os, store, worktree};

/// The file with patterns at the root of the working tree.
const FILE: &str = ".worktreeinclude";

/// The files that were named.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// Those that were copied.
    pub(super) copied: Vec<RepoPath>,
    /// Those that could not be, with the reason.
    pub(super) failed: Vec<(RepoPath, String)>,
}

/// Copies the named files of the present working tree to a new one. Nothing there is replaced, but for the beginning of a copy
/// that was cut off.
pub(super) fn carry(scene: &Scene<'_>, to: &Path) -> Result<Carried, Error> {
    let root = store::work_tree(scene.repo)?;
    let file = os::read_regular(&root.join(FILE)).unwrap_or_default();
    let lines = file.split(|byte| *byte == b'\n');
    let mut patterns: Vec<Vec<u8>> = lines
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec())
        .collect();
    patterns.extend(
        scene
            .settings
            .fork_copy
            .iter()
            .map(|pattern| pattern.clone().into_bytes()),
    );
    patterns.retain(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"));
    if patterns.is_empty() {
        return Ok(Carried::default());
    }
    let named = untracked(scene, &patterns)?;
    let ignored: HashSet<RepoPath> = untracked(scene, &[])?.into_iter().collect();
    let wanted = named.into_iter().filter(|path| ignored.contains(path));
    // git lists a repository below as a directory, and not what is in it.
    let (nested, wanted): (Vec<_>, Vec<_>) = wanted.partition(|path| path.as_bytes().ends_with(b"/"));
    for path in &wanted {
        let name = os::os_string(path.as_bytes());
        if os::begins_with(&root.join(&name), &to.join(&name)).unwrap_or(false) {
            let _ = std::fs::remove_file(to.join(&name));
        }
    }
    let mut carried = Carried::default();
    for path in nested {
        let path = RepoPath::from(path.as_bytes().strip_suffix(b"/").unwrap_or_default());
        let why = "it is a nested repository; only files are copied".to_owned();
        carried.failed.push((path, why));
    }
    for path in patterns.iter().filter_map(|pattern| literal(pattern)) {
        special(root, path, &mut carried.failed);
    }
    for (path, copied) in worktree::copy(root, to, &wanted)? {
        match copied {
            Ok(()) => carried.copied.push(path),
            Err(error) => carried.failed.push((path, os::reason(&error))),
        }
    }
    Ok(carried)
}

/// The path that a pattern names from the root, without any that git matches with others.
fn literal(pattern: &[u8]) -> Option<&[u8]> {
    let path = pattern.trim_ascii();
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let is_literal = !path.iter().any(|byte| b"*?[!\\".contains(byte));
    let is_below = !path
        .split(|byte| *byte == b'/')
        .any(|name| name.is_empty() || name == b"..");
    (is_literal && is_below).then_some(path)
}

/// Notes what git does not list: FIFOs, sockets and devices that are named, or below a directory that is.
fn special(root: &Path, path: &[u8], failed: &mut Vec<(RepoPath, String)>) {
    let full = root.join(os::os_string(path));
    let Ok(meta) = full.symlink_metadata() else { return };
    let kind = meta.file_type();
    if kind.is_dir() {
        // A repository below is reported as a whole.
        let is_nested = full.join(".git").exists();
        let entries = std::fs::read_dir(&full).ok().filter(|_| !is_nested);
        let mut names: Vec<_> = entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        names.sort();
        for name in names {
            special(root, &[path, b"/", name.as_encoded_bytes()].concat(), failed);
        }
    } else if !kind.is_file() && !kind.is_symlink() {
        failed.push((RepoPath::from(path), "it is neither a file nor a symlink".to_owned()));
    }
}

/// The untracked files that patterns choose; without any those that the repository's own rules ignore.
fn untracked(scene: &Scene<'_>, patterns: &[Vec<u8>]) -> Result<Vec<RepoPath>, Error> {
    let git = store::git(scene.repo).args(["ls-files", "-z", "--others", "--ignored"]);
    let output = if patterns.is_empty() {
        git.arg("--exclude-standard").run()
    } else {
        // In a file: the arguments of a program have a limit.
        let token = os::random_token().map_err(Error::Random)?;
        let list = store::worktree_private_dir(scene.repo)?.join(format!("scratch.{token}"));
        std::fs::write(&list, patterns.join(&b'\n')).map_err(store::Error::io("write", &list))?;
        let mut option = OsString::from("--exclude-from=");
        option.push(&list);
        let output = git.arg(option).run();
        let _ = std::fs::remove_file(&list);
        output
    };
    let output = output.map_err(store::Error::from)?;
    let paths = output.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(RepoPath::from).collect())
}
