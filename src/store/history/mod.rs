//! Commits for people, and what happened to them since: moved on, rewritten, merged, deleted.
//!
//! Facts only; what they mean for a checkpoint is decided by its report. All work is bounded by the number of commits
//! looked at, and a count that was cut short is marked.

mod branch;
mod rewrite;

use std::collections::{BTreeSet, HashMap, HashSet};

use gix::bstr::{BStr, ByteSlice};

pub use branch::{Tip, UpstreamState, branch_of, containing, upstream_of};
pub use rewrite::{RewriteLimits, follow};

use super::checkpoint::oid;
use super::{Error, ObjectId, Repository, tree};
use crate::model::path::RepoPath;
use crate::model::report::{BoundedCount, CommitInfo, CommitList};
use crate::model::time::Timestamp;

/// Commits that a list names; further ones are only counted.
pub const LISTED: usize = 20;
/// Commits read to count their authors.
const AUTHORS_OF: usize = 1000;
/// Files of one commit that are compared to find the ones asked for.
const COMPARED: usize = 2000;
/// Characters of a subject that are kept.
const SUBJECT: usize = 500;

/// The parts of a commit that matter here. Read leniently: whatever git accepted must be shown.
#[derive(Clone, Debug)]
pub(crate) struct CommitParts {
    pub(crate) tree: Option<ObjectId>,
    pub(crate) parents: Vec<ObjectId>,
    pub(crate) author: Person,
    pub(crate) committer: Person,
    pub(crate) subject: String,
}

/// Name, address and time in a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Person {
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) seconds: i64,
    pub(crate) offset: i32,
}

impl Person {
    fn at(&self) -> Timestamp {
        Timestamp::from_unix(self.seconds, self.offset)
    }
}

/// Reads a commit.
pub(crate) fn parsed(repo: &Repository, id: ObjectId) -> Result<CommitParts, Error> {
    let object = tree::find(repo, id)?;
    if object.kind != gix::objs::Kind::Commit {
        let why = format!("it is a {}, not a commit", object.kind);
        return Err(Error::Object { id, why });
    }
    Ok(parse(&object.data))
}

fn parse(data: &[u8]) -> CommitParts {
    let mut commit = CommitParts {
        tree: None,
        parents: Vec::new(),
        author: Person::default(),
        committer: Person::default(),
        subject: subject(data),
    };
    let latin = is_latin1(data);
    for line in data.lines().take_while(|line| !line.is_empty()) {
        let Some((key, value)) = line.split_once_str(" ") else {
            continue;
        };
        match key {
            b"tree" => commit.tree = ObjectId::from_hex(value).ok(),
            b"parent" => commit.parents.extend(ObjectId::from_hex(value)),
            b"author" => commit.author = person(value, latin),
            b"committer" => {
                commit.committer = person(value, latin);
                break;
            }
            _ => {}
        }
    }
    commit
}

fn person(text: &[u8], latin: bool) -> Person {
    let (front, date) = text.rsplit_once_str(">").unwrap_or((text, b""));
    let (name, email) = front.split_once_str("<").unwrap_or((front, b""));
    let mut date = date.trim().split_str(" ");
    let number = |text: Option<&[u8]>| text.and_then(|text| text.to_str().ok()?.parse::<i64>().ok());
    let seconds = number(date.next()).unwrap_or(0);
    let zone = number(date.next())
        .and_then(|zone| i32::try_from(zone).ok())
        .unwrap_or(0);
    let offset = (zone.abs() / 100 * 60 + zone.abs() % 100) * 60 * zone.signum();
    Person {
        name: text_of(name.trim(), latin),
        email: text_of(email.trim(), latin),
        seconds,
        offset,
    }
}

/// The first paragraph of a commit's message as one line, as git's `%s`.
pub(crate) fn subject(commit: &[u8]) -> String {
    let message = commit.split_once_str("\n\n").map_or(&b""[..], |(_, message)| message);
    let lines = message
        .lines()
        .map(ByteSlice::trim_end)
        .skip_while(|line| line.is_empty());
    let paragraph: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
    let mut text = text_of(&paragraph.join(&b' '), is_latin1(commit));
    if let Some((cut, _)) = text.char_indices().nth(SUBJECT) {
        text.truncate(cut);
    }
    text
}

/// Whether the commit says that its text is in an encoding whose bytes are the first 256 characters.
fn is_latin1(commit: &[u8]) -> bool {
    let header = commit.lines().take_while(|line| !line.is_empty());
    let mut encodings = header.filter_map(|line| line.strip_prefix(b"encoding "));
    encodings.next().is_some_and(|name| {
        ["ISO-8859-1", "ISO8859-1", "latin1", "latin-1"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
    })
}

fn text_of(bytes: &[u8], latin: bool) -> String {
    if latin {
        bytes.iter().copied().map(char::from).collect()
    } else {
        bytes.to_str_lossy().into_owned()
    }
}

/// The commit that a tag or branch of this name means; the tag where there are both.
pub fn named_commit(repo: &Repository, name: &str) -> Option<ObjectId> {
    let mut names = ["refs/tags", "refs/heads"].into_iter();
    names.find_map(|kind| {
        let mut found = repo.try_find_reference(&format!("{kind}/{name}")).ok()??;
        let id = found.peel_to_id().ok()?.detach();
        parsed(repo, id).is_ok().then_some(id)
    })
}

/// The tree of a commit.
pub fn tree_of(repo: &Repository, id: ObjectId) -> Option<ObjectId> {
    parsed(repo, id).ok()?.tree
}

/// A commit for people.
pub fn commit_info(repo: &Repository, id: ObjectId) -> Result<CommitInfo, Error> {
    Ok(info(id, parsed(repo, id)?))
}

fn info(id: ObjectId, commit: CommitParts) -> CommitInfo {
    CommitInfo {
        id: oid(id),
        authored_at: commit.author.at(),
        committed_at: commit.committer.at(),
        subject: commit.subject,
        author: commit.author.name,
        email: commit.author.email,
    }
}

/// Commits counted and the first [`LISTED`] of them read. `complete` is whether these are all.
pub fn commit_list(repo: &Repository, ids: &[ObjectId], complete: bool) -> Result<CommitList, Error> {
    let first = ids.iter().take(LISTED).map(|id| commit_info(repo, *id));
    Ok(CommitList {
        total: BoundedCount {
            count: ids.len() as u64,
            at_least: !complete,
        },
        first: first.collect::<Result<_, _>>()?,
    })
}

/// How many people wrote these commits, by their addresses; of the first thousand.
pub fn authors(repo: &Repository, ids: &[ObjectId]) -> Result<u64, Error> {
    let mut found = BTreeSet::new();
    for id in ids.iter().take(AUTHORS_OF) {
        let author = parsed(repo, *id)?.author;
        found.insert(if author.email.is_empty() {
            author.name
        } else {
            author.email.to_lowercase()
        });
    }
    Ok(found.len() as u64)
}

/// For each of `paths` the first of `commits` (latest first) that changed it, as far as it is among the first `limit`.
///
/// A merge counts for a path that is in it as in none of its parents.
pub fn last_touched(
    repo: &Repository,
    commits: &[ObjectId],
    paths: &[RepoPath],
    limit: usize,
) -> Result<HashMap<RepoPath, CommitInfo>, Error> {
    let mut wanted: HashSet<&[u8]> = paths.iter().map(RepoPath::as_bytes).collect();
    let mut found = HashMap::new();
    for id in commits.iter().take(limit) {
        if wanted.is_empty() {
            break;
        }
        let commit = parsed(repo, *id)?;
        // At the boundary of a shallow clone it is not known what a commit changed.
        if commit.parents.iter().any(|parent| !repo.has_object(*parent)) {
            continue;
        }
        let mut changed: Option<Vec<Vec<u8>>> = None;
        for parent in parents(&commit) {
            let here = changed_among(repo, parent, commit.tree, &wanted)?;
            changed = Some(match changed {
                None => here,
                Some(before) => before.into_iter().filter(|path| here.contains(path)).collect(),
            });
        }
        for path in changed.unwrap_or_default() {
            wanted.remove(path.as_slice());
            found.insert(RepoPath::new(path), info(*id, commit.clone()));
        }
    }
    Ok(found)
}

/// Which of `wanted` differ between two trees.
fn changed_among(
    repo: &Repository,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    wanted: &HashSet<&[u8]>,
) -> Result<Vec<Vec<u8>>, Error> {
    if let Some(diffs) = tree::raw_up_to(repo, old, new, COMPARED)? {
        let paths = diffs.into_iter().map(|diff| diff.path.to_vec());
        return Ok(paths.filter(|path| wanted.contains(path.as_slice())).collect());
    }
    // So many files that it is faster to look each wanted one up.
    let mut found = Vec::new();
    for path in wanted {
        if tree::side_at(repo, old, path.as_bstr())? != tree::side_at(repo, new, path.as_bstr())? {
            found.push(path.to_vec());
        }
    }
    Ok(found)
}

/// Bases for the diff of a commit: its parents, or for a root the empty tree.
fn parents(commit: &CommitParts) -> Vec<Option<ObjectId>> {
    if commit.parents.is_empty() {
        return vec![None];
    }
    commit.parents.iter().copied().map(Some).collect()
}

/// A ref's name in a reflog message is as git writes it, in full.
pub(super) fn is_rename(message: &BStr, from: &str) -> bool {
    let rest = message.strip_prefix(b"Branch: renamed ").unwrap_or_default();
    rest.strip_prefix(from.as_bytes())
        .is_some_and(|rest| rest.starts_with(b" to "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_commits_are_read() {
        let commit = b"tree 1\nauthor A <b> U <a@e> 12 -0130\ncommitter C\n\n\n  first \nline\t\n\nbody\n";
        let parsed = parse(commit);
        assert_eq!(parsed.subject, "  first line");
        assert_eq!((parsed.author.seconds, parsed.author.offset), (12, -5400));
        assert_eq!(parsed.committer.name, "C");
        assert_eq!(parse(b"").subject, "");
        let latin = parse(b"author \xe9 <e> 1 +0000\ncommitter c <c> 1 +0000\nencoding ISO-8859-1\n\n\xe9t\xe9\n");
        assert_eq!((&*latin.author.name, &*latin.subject), ("\u{e9}", "\u{e9}t\u{e9}"));
    }

    #[test]
    fn renames_of_a_branch_are_told_by_its_whole_name() {
        let message = |text: &str| is_rename(text.into(), "refs/heads/old");
        assert!(message("Branch: renamed refs/heads/old to refs/heads/new"));
        assert!(!message("Branch: renamed refs/heads/older to refs/heads/new"));
        assert!(!message("commit: Branch: renamed refs/heads/old to x"));
    }
}
