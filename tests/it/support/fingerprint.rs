//! Everything of a repository that saving must leave alone, as a list of names and digests: each file of the working tree
//! (bytes, mode, time of change), and each file of the git directory except objects (those of git-lfs too), what lies below `refs/checkpoints*`
//! with its reflogs, and the program's own directory `checkpoint`.
//!
//! It reads files instead of asking git, because git may refresh the index when asked.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};

/// The state of a repository at one moment.
#[derive(Clone, PartialEq, Eq)]
pub struct Fingerprint {
    entries: BTreeMap<String, String>,
}

impl Fingerprint {
    /// Reads the working tree at `repo` with its git directory, which may lie elsewhere (a `.git` file is followed).
    pub fn of(repo: &Path) -> Self {
        let mut entries = BTreeMap::new();
        walk(repo, "", &mut entries, &|name| name == ".git");
        let dot_git = repo.join(".git");
        let git = if dot_git.is_file() {
            let text = fs::read_to_string(&dot_git).unwrap();
            repo.join(text.trim_end().strip_prefix("gitdir: ").unwrap())
        } else {
            dot_git
        };
        if git.exists() {
            walk(&git, "", &mut entries_of_git(&mut entries), &|_| false);
            // A linked working tree shares refs, config and reflogs with the common directory.
            if let Ok(common) = fs::read_to_string(git.join("commondir")) {
                walk(
                    &git.join(common.trim_end()),
                    "",
                    &mut entries_of_git(&mut entries),
                    &|name| name == "worktrees",
                );
            }
        }
        Self { entries }
    }

    /// Fails with the list of differences unless `self` (after) equals `before`.
    #[track_caller]
    pub fn assert_same_as(&self, before: &Self) {
        let differences = self.differences(before);
        assert!(differences.is_empty(), "changed:\n  {}", differences.join("\n  "));
    }

    /// One line for each entry that came, went or changed since `before`.
    pub fn differences(&self, before: &Self) -> Vec<String> {
        let mut out = Vec::new();
        for (name, was) in &before.entries {
            match self.entries.get(name) {
                None => out.push(format!("{name}: gone (was {was})")),
                Some(is) if is != was => out.push(format!("{name}: {was} -> {is}")),
                Some(_) => {}
            }
        }
        for (name, is) in &self.entries {
            if !before.entries.contains_key(name) {
                out.push(format!("{name}: new ({is})"));
            }
        }
        out
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.entries).finish()
    }
}

/// Where entries go, and how their names are written and chosen.
trait Entries {
    /// Whether it is for nothing to read what has this name.
    fn leaves_out(&self, name: &str) -> bool;

    fn add(&mut self, name: &str, value: String);
}

impl Entries for BTreeMap<String, String> {
    fn leaves_out(&self, _: &str) -> bool {
        false
    }

    fn add(&mut self, name: &str, value: String) {
        self.insert(name.to_owned(), value);
    }
}

/// Entries of a git directory: names get a prefix, what the program may write is left out, times do not count (git's own
/// directories change when a lock comes and goes, and equal bytes are what was promised).
struct GitEntries<'a>(&'a mut BTreeMap<String, String>);

fn entries_of_git(entries: &mut BTreeMap<String, String>) -> GitEntries<'_> {
    GitEntries(entries)
}

impl Entries for GitEntries<'_> {
    fn leaves_out(&self, name: &str) -> bool {
        let own = |path: &str| path.starts_with("refs/checkpoints");
        matches!(name, "checkpoint" | "objects" | "lfs/objects")
            || name.starts_with("checkpoint/")
            || name.contains("/checkpoint/")
            || name.starts_with("objects/")
            || name.starts_with("lfs/objects/")
            || own(name)
            || own(name.strip_prefix("logs/").unwrap_or_default())
    }

    fn add(&mut self, name: &str, value: String) {
        if !value.starts_with("folder") {
            let bytes = value.split(" at ").next().unwrap_or_default().to_owned();
            self.0.insert(format!("<git>/{name}"), bytes);
        }
    }
}

fn walk(directory: &Path, prefix: &str, out: &mut impl Entries, skip: &dyn Fn(&str) -> bool) {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
        .map(|e| e.unwrap().file_name())
        .collect();
    names.sort();
    for name in names {
        let shown = format!("{prefix}{}", name.display());
        if skip(&shown) || out.leaves_out(&shown) {
            continue;
        }
        let path = directory.join(&name);
        let data = fs::symlink_metadata(&path).unwrap();
        let mode = mode(&data);
        let changed = data.modified().unwrap().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        if data.is_dir() {
            out.add(&shown, format!("folder {mode} at {changed}"));
            walk(&path, &format!("{shown}/"), out, skip);
        } else if data.is_symlink() {
            out.add(
                &shown,
                format!("link to {} at {changed}", fs::read_link(&path).unwrap().display()),
            );
        } else if data.is_file() {
            let digest = if is_one_hole(&data) {
                "zeros".to_owned()
            } else {
                fs::read(&path).map_or_else(|error| error.to_string(), |bytes| digest(&bytes))
            };
            out.add(
                &shown,
                format!("file {mode} {digest} of {} bytes at {changed}", data.len()),
            );
        } else {
            out.add(&shown, format!("special {mode}"));
        }
    }
}

/// Whether this is a large file without a block on the disk: its bytes are zeros, gigabytes of them.
#[cfg(unix)]
fn is_one_hole(data: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    data.len() > 1 << 20 && data.blocks() == 0
}

#[cfg(not(unix))]
fn is_one_hole(_: &fs::Metadata) -> bool {
    false
}

/// The first 16 hex digits of the SHA-256: enough to see a change.
fn digest(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in &Sha256::digest(bytes)[..8] {
        write!(out, "{byte:02x}").unwrap();
    }
    out
}

#[cfg(unix)]
fn mode(data: &fs::Metadata) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    format!("{:o}", data.permissions().mode())
}

#[cfg(not(unix))]
fn mode(data: &fs::Metadata) -> String {
    if data.permissions().readonly() {
        "readonly".to_owned()
    } else {
        "writable".to_owned()
    }
}
