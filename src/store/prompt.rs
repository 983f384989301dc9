//! The current session for a shell prompt, which is printed before every command line: from a few small files, without
//! opening the repository.

use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;

use super::{
    current::{self, BranchPointer},
    draft,
};
use crate::os;

/// Input of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The session's name.
    pub session: String,
    /// Whether the record has changes that are not saved.
    pub has_draft: bool,
}

/// State according to the small files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Glance {
    /// This session is current, or none.
    Seen(Option<Prompt>),
    /// They do not decide it: the repository has to be opened.
    Unclear,
}

/// Looks at the repository that a directory is in.
pub fn glance(directory: &Path) -> Glance {
    let Some(git_dir) = directory.ancestors().find_map(git_dir) else {
        return Glance::Seen(None);
    };
    let current = match os::read_regular(&git_dir.join("checkpoint").join("current")) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Glance::Seen(None),
        Err(_) => return Glance::Unclear,
    };
    let Some(here) = branch(&git_dir) else {
        return Glance::Unclear;
    };
    match current::known(&current, &here) {
        BranchPointer::Session(session) => {
            let common = common_dir(&git_dir);
            let file = common.join("checkpoint/drafts").join(format!("{}.jsonl", session.id));
            Glance::Seen(Some(Prompt {
                session: session.name.to_string(),
                has_draft: os::read_regular(&file).is_ok_and(|lines| draft::says_something(&lines)),
            }))
        }
        BranchPointer::None => Glance::Seen(None),
        BranchPointer::Unclear => Glance::Unclear,
    }
}

/// The repository's own directory, where this is the root of a working tree.
fn git_dir(directory: &Path) -> Option<PathBuf> {
    let path = directory.join(".git");
    if path.join("HEAD").is_file() {
        return Some(path);
    }
    let file = os::read_regular(&path).ok()?;
    let target = file.strip_prefix(b"gitdir: ")?.trim_end().to_path().ok()?.to_owned();
    Some(directory.join(target))
}

/// The directory that working trees share.
fn common_dir(git_dir: &Path) -> PathBuf {
    let file = os::read_regular(&git_dir.join("commondir")).ok();
    let common = file.and_then(|text| Some(git_dir.join(text.trim_end().to_path().ok()?)));
    common.unwrap_or_else(|| git_dir.to_owned())
}

/// The branch that is checked out; `None` on a detached HEAD, and where refs are stored in another way than in files.
fn branch(git_dir: &Path) -> Option<String> {
    let head = os::read_regular(&git_dir.join("HEAD")).ok()?;
    let name = head.trim_end().strip_prefix(b"ref: refs/heads/")?;
    (name != b".invalid").then(|| name.to_str_lossy().into_owned())
}
