//! `git blame` of a commit, read.
//!
//! git's own program: it follows renames and copies, knows grafts, ignored revisions and every setting of the user.

use std::collections::HashMap;
use std::ops::Range;

use gix::bstr::ByteSlice as _;

use super::{Error, ObjectId, Repository};
use crate::model::{path::RepoPath, time::Timestamp};
use crate::os::os_string;

/// More ranges than this are not handed to git; it then looks at the whole file.
const RANGES: usize = 200;

/// A commit that brought lines in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlamedCommit {
    /// Its author's name.
    pub author: String,
    /// The author's address, without brackets.
    pub email: String,
    /// When it was authored.
    pub authored_at: Option<Timestamp>,
    /// When it was committed, in seconds since 1970.
    pub committed_at: i64,
    /// Its subject.
    pub subject: String,
    /// Whether the history that was asked for ends here, so that the line may be older.
    pub is_boundary: bool,
}

/// The commit of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlamedLine {
    /// The commit.
    pub commit: ObjectId,
    /// The line in that commit's file, from 0.
    pub line: u32,
    /// The path there.
    pub path: RepoPath,
}

/// Lines of a file with their commits.
#[derive(Clone, Debug, Default)]
pub struct Blame {
    /// By the number of the line, from 0.
    pub lines: HashMap<u32, BlamedLine>,
    /// The commits.
    pub commits: HashMap<ObjectId, BlamedCommit>,
}

/// Asks git for the commits of lines of a file at `commit`, back to `since`, if given. All lines, where `lines` is `None`.
pub fn blame(
    repo: &Repository,
    commit: ObjectId,
    since: Option<ObjectId>,
    path: &RepoPath,
    lines: Option<&[Range<u32>]>,
) -> Result<Blame, Error> {
    let mut git = super::git(repo).args(["blame", "--porcelain"]);
    for range in lines.filter(|ranges| ranges.len() <= RANGES).into_iter().flatten() {
        git = git.arg(format!("-L{},{}", range.start + 1, range.end));
    }
    git = git.arg(commit.to_string());
    if let Some(since) = since {
        git = git.arg(format!("^{since}"));
    }
    let output = git.arg("--").arg(os_string(path.as_bytes())).run()?;
    Ok(parse(&output.stdout))
}

/// Reads the porcelain format: a header line for each line, the details of a commit once, and the text behind a tab.
fn parse(output: &[u8]) -> Blame {
    let mut blame = Blame::default();
    let mut paths: HashMap<ObjectId, RepoPath> = HashMap::new();
    let mut now: Option<(ObjectId, u32, u32)> = None;
    for line in output.split(|byte| *byte == b'\n') {
        if line.starts_with(b"\t") {
            if let Some((commit, there, here)) = now.take() {
                let path = paths.get(&commit).cloned().unwrap_or_default();
                blame.lines.insert(
                    here,
                    BlamedLine {
                        commit,
                        line: there,
                        path,
                    },
                );
            }
            continue;
        }
        let (key, value) = line.split_once_str(b" ").unwrap_or((line, b""));
        let Some((commit, ..)) = now else {
            now = header(key, value);
            if let Some((commit, ..)) = now {
                blame.commits.entry(commit).or_default();
            }
            continue;
        };
        let text = || value.to_str_lossy().into_owned();
        let details = blame.commits.entry(commit).or_default();
        match key {
            b"author" => details.author = text(),
            b"author-mail" => text().trim_matches(['<', '>']).clone_into(&mut details.email),
            b"author-time" => details.authored_at = text().parse().ok().map(|at| Timestamp::from_unix(at, 0)),
            b"author-tz" => {
                let offset = offset(value);
                details.authored_at = details.authored_at.map(|at| Timestamp::from_unix(at.unix(), offset));
            }
            b"committer-time" => details.committed_at = text().parse().unwrap_or_default(),
            b"summary" => details.subject = text(),
            b"boundary" => details.is_boundary = true,
            b"filename" => {
                let path = RepoPath::from_quoted(&text()).unwrap_or_else(|| RepoPath::new(value));
                paths.insert(commit, path);
            }
            _ => {}
        }
    }
    blame
}

fn header(key: &[u8], value: &[u8]) -> Option<(ObjectId, u32, u32)> {
    let commit = ObjectId::from_hex(key).ok()?;
    let mut numbers = value
        .split(|byte| *byte == b' ')
        .map(|number| number.to_str().ok()?.parse::<u32>().ok());
    let (there, here) = (numbers.next()??, numbers.next()??);
    Some((commit, there.checked_sub(1)?, here.checked_sub(1)?))
}

/// The offset of `+0130` in seconds.
fn offset(text: &[u8]) -> i32 {
    let number = text
        .to_str()
        .ok()
        .and_then(|text| text.parse::<i32>().ok())
        .unwrap_or_default();
    (number / 100 * 60 + number % 100) * 60
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_porcelain_format_is_read() {
        let a = "a".repeat(40);
        let b = "b".repeat(40);
        let text = format!(
            "{a} 1 1 1\nauthor Ana B\nauthor-mail <ana@e>\nauthor-time 10\nauthor-tz -0130\ncommitter C\n\
             committer-time 20\nsummary first one\nboundary\nfilename \"a\\tb\"\n\tboundary\n{b} 7 2 1\nauthor Bo\n\
             filename c\n\t\n{a} 2 3\n\tlast\n"
        );
        let blame = parse(text.as_bytes());
        let first = &blame.commits[&ObjectId::from_hex(a.as_bytes()).expect("an id")];
        assert_eq!(
            (&*first.author, &*first.email, &*first.subject),
            ("Ana B", "ana@e", "first one")
        );
        assert_eq!(first.authored_at.map(|at| (at.unix(), at.offset())), Some((10, -5400)));
        assert!(first.is_boundary && first.committed_at == 20);
        assert_eq!(blame.lines.len(), 3);
        assert_eq!(
            (blame.lines[&1].line, blame.lines[&1].path.to_string()),
            (6, "c".to_owned())
        );
        assert_eq!(blame.lines[&2].path, RepoPath::from("a\tb"));
    }
}
