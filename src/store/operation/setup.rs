//! An operation of git that a checkpoint recorded, set up again: the files and refs by which git knows a merge, a
//! cherry-pick or a revert.
//!
//! Only known files are written, and of a list of picks only lines that pick or revert: text of a checkpoint may come
//! from others, and git starts programs that such files name.

use std::fs;
use std::io;
use std::path::Path;

use super::super::checkpoint::object_id;
use super::super::{Error, Repository, git, sharing, uses_reftable, worktree_private_dir};
use super::unfinished;
use crate::model::facts::{GitOperation, OperationHead, OperationKind};
use crate::os;

/// Messages and modes, as they were.
const MESSAGES: [&str; 3] = ["MERGE_MSG", "MERGE_MODE", "SQUASH_MSG"];
/// Files that hold ids alone, a line each, by the names of the recorded heads.
const IDS: [&str; 2] = ["MERGE_AUTOSTASH", "MERGE_HEAD"];
/// The list of picks.
const TODO: &str = "sequencer/todo";
/// Options of a sequence that start no program.
const OPTIONS: [&str; 11] = [
    "no-commit",
    "edit",
    "allow-empty",
    "allow-empty-message",
    "drop-redundant-commits",
    "keep-redundant-commits",
    "signoff",
    "record-origin",
    "allow-ff",
    "mainline",
    "default-msg-cleanup",
];

/// Makes a recorded merge, cherry-pick or revert one that is in progress. What git looks at first is written last.
pub fn set_up(repo: &Repository, operation: &GitOperation, contents: &[Vec<u8>]) -> Result<(), Error> {
    let dir = repo.git_dir();
    let content = |name: &str| {
        let at = operation.files.iter().position(|file| file == name)?;
        contents.get(at)
    };
    if let Some(todo) = content(TODO).and_then(|todo| picks_only(operation.kind, todo)) {
        let sequencer = dir.join("sequencer");
        match fs::create_dir(&sequencer) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Error::io("create", &sequencer)(error));
            }
            _ => {}
        }
        for name in ["head", "abort-safety"] {
            let recorded = format!("sequencer/{name}");
            if let Some(head) = operation.heads.iter().find(|head| head.name == recorded) {
                write(repo, &recorded, format!("{}\n", head.id).as_bytes())?;
            }
        }
        if let Some(options) = content("sequencer/opts") {
            write(repo, "sequencer/opts", &harmless(options))?;
        }
        write(repo, TODO, &todo)?;
    }
    for name in MESSAGES {
        if let Some(text) = content(name) {
            write(repo, name, text)?;
        }
    }
    for name in IDS {
        let heads = operation.heads.iter().filter(|head| head.name == name);
        let ids: Vec<String> = heads.map(|head| head.id.to_string()).collect();
        if !ids.is_empty() {
            write(repo, name, (ids.join("\n") + "\n").as_bytes())?;
        }
    }
    for name in pick_heads(operation.kind) {
        let Some(head) = operation.heads.iter().find(|head| head.name == *name) else {
            continue;
        };
        if uses_reftable(repo) {
            git(repo)
                .args(["update-ref", "--no-deref", name, head.id.as_str()])
                .text()?;
        } else {
            write(repo, name, format!("{}\n", head.id).as_bytes())?;
        }
    }
    os::sync_dir(dir).map_err(Error::io("sync", dir))
}

/// Lets an operation that was set up not be in progress any more, if it still is the one in progress.
pub fn clear(repo: &Repository, operation: &GitOperation) -> Result<bool, Error> {
    let now = unfinished(repo)?.map(|found| found.operation);
    if !now.is_some_and(|now| now.kind == operation.kind && now.heads == operation.heads) {
        return Ok(false);
    }
    for name in pick_heads(operation.kind) {
        if uses_reftable(repo) {
            git(repo).args(["update-ref", "--no-deref", "-d", name]).text()?;
        } else {
            remove(&repo.git_dir().join(name))?;
        }
    }
    let of_list = ["todo", "opts", "abort-safety", "head"].map(|name| format!("sequencer/{name}"));
    let single = IDS.iter().rev().chain(&MESSAGES).map(|name| (*name).to_owned());
    for name in single.chain(of_list) {
        remove(&repo.git_dir().join(name))?;
    }
    // Not empty only if git has put something there.
    let _ = fs::remove_dir(repo.git_dir().join("sequencer"));
    Ok(true)
}

/// Which of the commits that it needs are not in the repository.
pub fn missing<'a>(repo: &Repository, operation: &'a GitOperation) -> Vec<&'a str> {
    let heads = operation.heads.iter();
    let is_missing = |head: &&OperationHead| repo.find_header(object_id(&head.id)).is_err();
    heads.filter(is_missing).map(|head| head.id.short()).collect()
}

fn pick_heads(kind: OperationKind) -> &'static [&'static str] {
    match kind {
        OperationKind::CherryPick => &["CHERRY_PICK_HEAD"],
        OperationKind::Revert => &["REVERT_HEAD"],
        _ => &[],
    }
}

/// The list if all of it picks, or all of it reverts.
fn picks_only(kind: OperationKind, todo: &[u8]) -> Option<Vec<u8>> {
    let words: &[&[u8]] = match kind {
        OperationKind::CherryPick => &[b"pick", b"p"],
        OperationKind::Revert => &[b"revert"],
        _ => return None,
    };
    let is_pick = |line: &[u8]| {
        let mut parts = line.split(|byte| *byte == b' ');
        let is_known = parts.next().is_some_and(|word| words.contains(&word));
        is_known
            && parts
                .next()
                .is_some_and(|id| id.len() >= 4 && id.iter().all(u8::is_ascii_hexdigit))
    };
    let mut lines = todo
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    lines.all(is_pick).then(|| todo.to_vec())
}

/// The lines of a file of options that set known ones.
fn harmless(options: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(options);
    let mut kept = String::from("[options]\n");
    for line in text.lines() {
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        let value = value.trim();
        let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if OPTIONS.contains(&name.trim()) && is_plain {
            kept.push_str(&format!("\t{} = {value}\n", name.trim()));
        }
    }
    kept.into_bytes()
}

/// Writes a file of git's: on the disk before it has its name.
fn write(repo: &Repository, name: &str, bytes: &[u8]) -> Result<(), Error> {
    let new = worktree_private_dir(repo)?.join("operation.new");
    let path = repo.git_dir().join(name);
    let put = os::replace(&new, bytes, sharing(repo), true).and_then(|()| fs::rename(&new, &path));
    put.map_err(Error::io("write", &path))
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_with_a_command_is_no_list_of_picks() {
        let pick = |todo: &str| picks_only(OperationKind::CherryPick, todo.as_bytes()).is_some();
        assert!(pick("pick 1a2b3c4 subject\np 1a2b3c4d5e other\n# comment\n"));
        for todo in [
            "exec rm -rf x\n",
            "pick 1a2b3c4 x\nexec y\n",
            "x touch y\n",
            "revert 1a2b3c4 x\n",
            "pick --upload-pack=x y\n",
            "pick\n",
            "merge -C 1a2b3c4 x\n",
        ] {
            assert!(!pick(todo), "{todo}");
        }
        assert!(picks_only(OperationKind::Revert, b"revert 1a2b3c4 x\n").is_some());
        assert!(picks_only(OperationKind::Rebase, b"pick 1a2b3c4 x\n").is_none());
    }

    #[test]
    fn options_that_name_programs_are_left_out() {
        let kept = harmless(
            b"[options]\n\tsignoff = true\n\tmainline = 1\n\tstrategy = evil\n\tgpg-sign = x\n\tedit = \"; rm\"\n",
        );
        assert_eq!(kept, b"[options]\n\tsignoff = true\n\tmainline = 1\n");
    }
}
