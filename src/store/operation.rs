//! The operation that git has begun in this working tree and not finished: which one, the commits that it needs, and
//! the small files in which git keeps what it was reported.
//!
//! The commits are recorded because nothing else names them: the other side of a merge may be on no branch any more.
//! The files are kept as they are, bounded, so that the operation can be set up again by hand or by a restore.

mod setup;

use std::path::{Path, PathBuf};

use gix::bstr::{BStr, ByteSlice};

use super::branches::short;
use super::checkpoint::oid;
use super::{Error, Kind, ObjectId, Repository, git, uses_reftable};
use crate::model::facts::{GitOperation, OperationHead, OperationKind};
use crate::os;

pub use setup::{clear, missing, set_up};

/// A file of an operation that is larger is not kept, such as a mail of `git am`.
const MAX_FILE: u64 = 64 << 10;
/// So many files are kept at most.
const MAX_FILES: usize = 64;
/// So many commits of a list of picks are recorded at most.
const MAX_PICKS: usize = 100;

/// An operation and the content of its files, in the order of [`GitOperation::files`].
#[derive(Debug, Clone)]
pub struct Unfinished {
    /// Recorded parts of it.
    pub operation: GitOperation,
    /// The bytes of its files.
    pub contents: Vec<Vec<u8>>,
}

/// Reads the operation in progress. A rebase goes before the picks and merges it is made of.
pub fn unfinished(repo: &Repository) -> Result<Option<Unfinished>, Error> {
    let Some(mut operation) = kind_of(repo)? else {
        return Ok(None);
    };
    let dir = repo.git_dir();
    operation.heads = heads(repo, operation.kind)?;
    if operation.kind == OperationKind::Merge {
        operation.names = line(&dir.join("MERGE_MSG"))
            .filter(|text| text.starts_with("Merge "))
            .map(|text| quoted(&text))
            .unwrap_or_default();
    }
    let mut contents = Vec::new();
    for (name, path) in files(dir, operation.kind) {
        let opened = os::open_regular_sized(&path)
            .ok()
            .filter(|(_, length)| *length <= MAX_FILE);
        if opened.is_some()
            && contents.len() < MAX_FILES
            && let Ok(content) = os::read_regular(&path)
        {
            operation.files.push(name);
            contents.push(content);
        }
    }
    Ok(Some(Unfinished { operation, contents }))
}

/// Which of the commits that an operation needs are here, each once: what a snapshot keeps reachable.
pub fn commits(repo: &Repository, operation: Option<&GitOperation>) -> Vec<ObjectId> {
    let mut commits = Vec::new();
    for head in operation.into_iter().flat_map(|operation| &operation.heads) {
        let id = super::checkpoint::object_id(&head.id);
        let is_commit = repo
            .try_find_header(id)
            .ok()
            .flatten()
            .is_some_and(|header| header.kind() == Kind::Commit);
        if is_commit && !commits.contains(&id) {
            commits.push(id);
        }
    }
    commits
}

fn kind_of(repo: &Repository) -> Result<Option<GitOperation>, Error> {
    let dir = repo.git_dir();
    let sequence = |directory: &Path, kind, step: &str, of: &str| GitOperation {
        branch: line(&directory.join("head-name"))
            .filter(|name| name.starts_with("refs/heads/"))
            .map(|name| short(&name)),
        step: line(&directory.join(step)).and_then(|text| text.parse().ok()),
        of: line(&directory.join(of)).and_then(|text| text.parse().ok()),
        ..GitOperation::new(kind)
    };
    let rebase = dir.join("rebase-merge");
    if rebase.is_dir() {
        return Ok(Some(sequence(&rebase, OperationKind::Rebase, "msgnum", "end")));
    }
    let apply = dir.join("rebase-apply");
    if apply.is_dir() {
        let kind = if apply.join("applying").exists() {
            OperationKind::Am
        } else {
            OperationKind::Rebase
        };
        return Ok(Some(sequence(&apply, kind, "next", "last")));
    }
    if dir.join("MERGE_HEAD").exists() {
        return Ok(Some(GitOperation::new(OperationKind::Merge)));
    }
    // Between two picks of a sequence there is no `CHERRY_PICK_HEAD`, but there is still a list.
    let next = line(&dir.join("sequencer").join("todo")).unwrap_or_default();
    let picks = [
        ("CHERRY_PICK_HEAD", "p", OperationKind::CherryPick),
        ("REVERT_HEAD", "r", OperationKind::Revert),
    ];
    for (name, letter, kind) in picks {
        if next.starts_with(letter) || pseudo_ref(repo, name)?.is_some() {
            return Ok(Some(GitOperation::new(kind)));
        }
    }
    if dir.join("BISECT_LOG").exists() {
        let mut bisect = GitOperation::new(OperationKind::Bisect);
        bisect.branch = line(&dir.join("BISECT_START")).filter(|name| ObjectId::from_hex(name.as_bytes()).is_err());
        return Ok(Some(bisect));
    }
    Ok(None)
}

/// The commits that an operation needs, each by the name of the file or ref that holds it.
fn heads(repo: &Repository, kind: OperationKind) -> Result<Vec<OperationHead>, Error> {
    let dir = repo.git_dir();
    let mut found: Vec<(String, ObjectId)> = Vec::new();
    let mut of_file = |name: &str, path: PathBuf| {
        let text = os::read_regular(&path).unwrap_or_default();
        for line in text.lines() {
            let id = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
            if let Ok(id) = ObjectId::from_hex(id) {
                found.push((name.to_owned(), id));
            }
        }
    };
    of_file("MERGE_HEAD", dir.join("MERGE_HEAD"));
    of_file("MERGE_AUTOSTASH", dir.join("MERGE_AUTOSTASH"));
    for directory in ["rebase-merge", "rebase-apply"] {
        for name in ["onto", "orig-head", "autostash", "stopped-sha", "squash-onto"] {
            of_file(&format!("{directory}/{name}"), dir.join(directory).join(name));
        }
    }
    for name in ["head", "abort-safety"] {
        of_file(&format!("sequencer/{name}"), dir.join("sequencer").join(name));
    }
    for name in ["CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD"] {
        found.extend(pseudo_ref(repo, name)?.map(|id| (name.to_owned(), id)));
    }
    for name in ["sequencer", "rebase-merge"] {
        let text = os::read_regular(&dir.join(name).join("git-rebase-todo"))
            .or_else(|_| os::read_regular(&dir.join(name).join("todo")))
            .unwrap_or_default();
        found.extend(picks(repo, &text).map(|id| (format!("{name}/todo"), id)));
    }
    if kind == OperationKind::Bisect {
        // By git: these refs are of this working tree alone, and a bisection is rare.
        let listed = git(repo).args(["for-each-ref", "--format=%(objectname) %(refname)", "refs/bisect"]);
        let listed = listed.text()?;
        found.extend(listed.lines().filter_map(|line| {
            let (id, name) = line.split_once(' ')?;
            Some((name.to_owned(), ObjectId::from_hex(id.as_bytes()).ok()?))
        }));
        of_bisect(dir, &mut found);
    }
    let mut heads = Vec::<OperationHead>::new();
    for (name, id) in found {
        let head = OperationHead { name, id: oid(id) };
        if !heads.contains(&head) {
            heads.push(head);
        }
    }
    Ok(heads)
}

/// The commit that a bisection tries now.
fn of_bisect(dir: &Path, found: &mut Vec<(String, ObjectId)>) {
    let name = "BISECT_EXPECTED_REV";
    let id = line(&dir.join(name)).and_then(|text| ObjectId::from_hex(text.as_bytes()).ok());
    found.extend(id.map(|id| (name.to_owned(), id)));
}

/// The commits in a list of picks, whose ids may be abbreviated.
fn picks<'a>(repo: &'a Repository, text: &'a [u8]) -> impl Iterator<Item = ObjectId> + 'a {
    let id = |line: &'a [u8]| {
        let word = line
            .split(|byte| *byte == b' ')
            .nth(1)
            .filter(|_| !line.starts_with(b"#"))?;
        let word = std::str::from_utf8(word).ok()?;
        if let Ok(id) = ObjectId::from_hex(word.as_bytes()) {
            return Some(id);
        }
        let prefix = gix::hash::Prefix::from_hex(word).ok()?;
        repo.objects.lookup_prefix(prefix, None).ok()??.ok()
    };
    text.lines().filter_map(id).take(MAX_PICKS)
}

/// The files of an operation that are there, by their names below the git directory.
fn files(dir: &Path, kind: OperationKind) -> Vec<(String, PathBuf)> {
    let mut names: Vec<String> = ["MERGE_MSG", "MERGE_MODE", "SQUASH_MSG"].map(str::to_owned).into();
    let directories: &[&str] = match kind {
        OperationKind::Rebase | OperationKind::Am => &["rebase-merge", "rebase-apply"],
        OperationKind::CherryPick | OperationKind::Revert => &["sequencer"],
        OperationKind::Bisect => {
            let of_bisect = [
                "BISECT_LOG",
                "BISECT_START",
                "BISECT_NAMES",
                "BISECT_TERMS",
                "BISECT_FIRST_PARENT",
            ];
            names.extend(of_bisect.map(str::to_owned));
            &[]
        }
        _ => &[],
    };
    for directory in directories {
        let entries = std::fs::read_dir(dir.join(directory)).into_iter().flatten().flatten();
        let entries = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut entries: Vec<String> = entries.map(|name| format!("{directory}/{name}")).collect();
        entries.sort();
        names.extend(entries);
    }
    names.into_iter().map(|name| (name.clone(), dir.join(&name))).collect()
}

/// A ref next to HEAD. In a reftable repository only git sees it.
fn pseudo_ref(repo: &Repository, name: &str) -> Result<Option<ObjectId>, Error> {
    if !uses_reftable(repo) {
        let text = line(&repo.git_dir().join(name)).unwrap_or_default();
        return Ok(ObjectId::from_hex(text.as_bytes()).ok());
    }
    let asked = git(repo).args(["rev-parse", "--quiet", "--verify", name]).accept([1]);
    Ok(ObjectId::from_hex(asked.text()?.trim().as_bytes()).ok())
}

/// The words in single quotes of a line.
fn quoted(text: &str) -> Vec<String> {
    text.split('\'').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The first line of a small file of git; bytes that are not UTF-8 become U+FFFD.
fn line(path: &Path) -> Option<String> {
    let bytes = os::read_regular(path).ok()?;
    let line: &BStr = bytes.lines().next().unwrap_or_default().as_bstr();
    Some(line.to_str_lossy().trim().to_owned())
}
