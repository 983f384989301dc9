//! The submodules of a fork's working tree: populated as they are in the source's, from there and without the network; and
//! the work in them that the removal of the working tree would lose.
//!
//! The layout is git's own: each has its repository below the git directory of the new working tree, as after
//! `git submodule update`. The source's submodules are only read, and nothing that is in the new working tree is replaced.

use std::path::{Path, PathBuf};

use super::{
    super::Error,
    submodule_clone::{SubmoduleClone, why},
};
use crate::{
    git::{self, Git},
    model::{id::Oid, path::RepoPath},
    os, store,
};

/// Submodules of a new working tree.
#[derive(Debug, Default)]
pub(super) struct PopulatedSubmodules {
    /// Those that are as in the source.
    pub(super) populated: Vec<RepoPath>,
    /// Those that could not be populated, with the reason.
    pub(super) failed: Vec<(RepoPath, String)>,
}

/// A submodule as a tree or an index names it.
struct Gitlink {
    path: RepoPath,
    commit: String,
}

impl Gitlink {
    fn below(&self, root: &Path) -> PathBuf {
        root.join(os::os_string(self.path.as_bytes()))
    }
}

/// git in another working tree, with nothing of this one's environment.
fn git_in(root: &Path) -> Git {
    Git::outside().cwd(root).own_settings()
}

/// Lines of `ls-tree -z` and `ls-files -s -z` that are of submodules.
fn gitlinks(output: &[u8]) -> Vec<Gitlink> {
    let lines = output.split(|byte| *byte == 0);
    let links = lines.filter(|line| line.starts_with(b"160000 "));
    links
        .filter_map(|line| {
            let at = line.iter().position(|byte| *byte == b'\t')?;
            let fields = String::from_utf8_lossy(&line[7..at]).into_owned();
            let commit = fields.split(' ').find(|field| Oid::new(*field).is_ok())?.to_owned();
            Some(Gitlink {
                path: RepoPath::from(&line[at + 1..]),
                commit,
            })
        })
        .collect()
}

/// Whether a directory is the root of a working tree that has a commit.
fn is_populated(root: &Path) -> bool {
    root.join(".git").exists()
        && git_in(root)
            .args(["rev-parse", "--verify", "--quiet", "HEAD"])
            .run()
            .is_ok()
}

/// Populates the submodules of the working tree `to`, at the commits that `tree` has, as far as they are in `from`.
pub(super) fn populate(from: &Path, to: &Path, tree: &Oid) -> Result<PopulatedSubmodules, Error> {
    let mut done = PopulatedSubmodules::default();
    below(from, to, tree.as_str(), &mut done).map_err(store::Error::from)?;
    Ok(done)
}

fn below(from: &Path, to: &Path, tree: &str, done: &mut PopulatedSubmodules) -> Result<(), git::Error> {
    let output = git_in(to).args(["ls-tree", "-r", "-z", "--full-tree", tree]).run()?;
    for link in gitlinks(&output.stdout) {
        let (source, target) = (link.below(from), link.below(to));
        if !is_populated(&source) {
            continue;
        }
        if name_of(to, &link.path).is_none() && !is_tracked(to, &link.path)? {
            // A nested repository that is no submodule: it is reported as left out.
            continue;
        }
        if let Err(why) = one(from, to, &link) {
            done.failed.push((link.path, why));
            continue;
        }
        let mut inner = PopulatedSubmodules::default();
        below(&source, &target, &link.commit, &mut inner)?;
        let outer = |path: RepoPath| RepoPath::new([link.path.as_bytes(), b"/", path.as_bytes()].concat());
        done.populated.extend(inner.populated.into_iter().map(outer));
        let failed = inner.failed.into_iter().map(|(path, why)| (outer(path), why));
        done.failed.extend(failed);
        done.populated.push(link.path.clone());
    }
    Ok(())
}

/// Whether the index has an entry at a path.
fn is_tracked(root: &Path, path: &RepoPath) -> Result<bool, git::Error> {
    let git = git_in(root).config("core.quotePath=false");
    let output = git
        .args(["--literal-pathspecs", "ls-files", "-z", "--"])
        .arg(os::os_string(path.as_bytes()));
    Ok(!output.run()?.stdout.is_empty())
}

/// Populates one submodule that is not; else gives the reason why that is not possible.
fn one(from: &Path, to: &Path, link: &Gitlink) -> Result<(), String> {
    let (source, target) = (&link.below(from), &link.below(to));
    let (name, clone) = begun(to, link)?.ok_or("it is not in .gitmodules")?;
    if is_populated(target) {
        // Of a kill after it was put in place there may be something to do.
        clone.settle().map_err(|error| os::reason(&error))?;
    } else {
        let there = git_in(source).args(["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let there = there.text().map_err(why)?;
        let url = git_in(source)
            .accept([1])
            .args(["config", "--get", "remote.origin.url"]);
        clone.populate(&there, &url.text().map_err(why)?, &link.commit)?;
    }
    // In a submodule's own clone git knows its submodules by this setting alone.
    let key = format!("submodule.{name}.url");
    let setting = |root: &Path| git_in(root).accept([1]).args(["config", "--get", &key]).text();
    let url = setting(from).map_err(why)?;
    if setting(to).map_err(why)?.is_empty() && !url.is_empty() {
        git_in(to).args(["config", &key, &url]).run().map_err(why)?;
    }
    Ok(())
}

/// The name of a submodule, and its clone; `None` for one that is not in `.gitmodules`.
fn begun(to: &Path, link: &Gitlink) -> Result<Option<(String, SubmoduleClone)>, String> {
    let Some(name) = name_of(to, &link.path) else {
        return Ok(None);
    };
    let own = git_in(to).args(["rev-parse", "--absolute-git-dir"]);
    let own = PathBuf::from(own.text().map_err(why)?);
    let root = to.canonicalize().map_err(|error| os::reason(&error))?;
    let clone = SubmoduleClone::new(&own, &name, link.below(&root));
    Ok(Some((name, clone)))
}

/// The name that `.gitmodules` gives the submodule at a path; it is a part of settings and directories.
fn name_of(root: &Path, path: &RepoPath) -> Option<String> {
    let git = git_in(root).args(["config", "-z", "--file", ".gitmodules"]);
    let output = git.args(["--get-regexp", r"^submodule\..*\.path$"]).run().ok()?;
    let mut entries = output.stdout.split(|byte| *byte == 0);
    entries.find_map(|entry| {
        let at = entry.iter().position(|byte| *byte == b'\n')?;
        let key = std::str::from_utf8(&entry[..at]).ok()?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        let is_safe = !name.contains(['=', '\n']) && !name.split('/').any(|part| part == "..");
        (entry[at + 1..] == *path.as_bytes() && is_safe && !name.is_empty()).then(|| name.to_owned())
    })
}

/// The submodules of a working tree, populated or not.
pub(super) fn all(root: &Path) -> Result<Vec<RepoPath>, Error> {
    let output = git_in(root).args(["ls-files", "-s", "-z"]);
    let output = output.run().map_err(store::Error::from)?;
    Ok(gitlinks(&output.stdout).into_iter().map(|link| link.path).collect())
}

/// The submodules of a working tree with work that is lost when the working tree is removed: changed and untracked files, and
/// commits that neither a remote nor the same submodule of `kept` has.
pub(super) fn at_risk(root: &Path, kept: &Path) -> Result<Vec<RepoPath>, Error> {
    let mut found = Vec::new();
    risks(root, kept, b"", &mut found).map_err(store::Error::from)?;
    Ok(found)
}

fn risks(root: &Path, kept: &Path, prefix: &[u8], found: &mut Vec<RepoPath>) -> Result<(), git::Error> {
    let output = git_in(root).args(["ls-files", "-s", "-z"]).run()?;
    for link in gitlinks(&output.stdout) {
        let (inner, other) = (link.below(root), link.below(kept));
        if !inner.join(".git").exists() {
            continue;
        }
        let path = [prefix, link.path.as_bytes()].concat();
        // One that cannot be read may hold anything.
        if !is_populated(&inner) || has_changes(&inner, &other)? || has_own_commits(&inner, &other)? {
            found.push(RepoPath::new(path.clone()));
            continue;
        }
        risks(&inner, &other, &[&path[..], b"/"].concat(), found)?;
    }
    Ok(())
}

fn has_changes(root: &Path, kept: &Path) -> Result<bool, git::Error> {
    let status = git_in(root).args([
        "status",
        "--porcelain",
        "-z",
        "--untracked-files=all",
        "--ignored=matching",
    ]);
    let output = status.arg("--ignore-submodules=all").run()?.stdout;
    let entries = output.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    Ok(entries.into_iter().any(|entry| match entry.strip_prefix(b"!! ") {
        Some(ignored) => {
            let name = os::os_string(ignored);
            !os::is_same_content(&root.join(&name), &kept.join(&name)).unwrap_or(false)
        }
        None => true,
    }))
}

fn has_own_commits(root: &Path, kept: &Path) -> Result<bool, git::Error> {
    let stashes = git_in(root)
        .accept([1, 128])
        .args(["log", "-g", "--format=%H", "refs/stash", "--"]);
    let stashes = stashes.run()?.stdout;
    let git = git_in(root).args([
        "rev-list",
        "--stdin",
        "HEAD",
        "--branches",
        "--tags",
        "--not",
        "--remotes",
    ]);
    let commits = git.input(stashes).run()?.stdout;
    if commits.is_empty() {
        return Ok(false);
    }
    if !is_populated(kept) {
        return Ok(true);
    }
    let asked = git_in(kept)
        .args(["cat-file", "--batch-check=%(objecttype)"])
        .input(commits);
    let known = asked.run()?.stdout;
    Ok(String::from_utf8_lossy(&known).lines().any(|line| line != "commit"))
}
