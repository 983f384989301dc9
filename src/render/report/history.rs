//! The rows on branch, commits and upstream.

use super::rows::{ReportRow, usize};
use crate::{
    model::{
        id::Oid,
        report::{
            BoundedCount, Branch, BranchFate, CommitInfo, Commits, History, SavedAndCurrent, Upstream, UpstreamFate,
        },
        step::quoted,
        time::Timestamp,
    },
    render::{
        age,
        count::{self},
        slot::Slot,
        text::TextLine,
    },
};

/// Commits that are named below a row.
const NAMED: usize = 5;
/// Branches that are named as holding a commit.
const BRANCHES: usize = 3;

fn name(branch: Option<&String>) -> TextLine {
    match branch {
        Some(name) => TextLine::new().with(Slot::Branch, name),
        None => TextLine::plain("detached HEAD"),
    }
}

fn id(line: TextLine, id: Option<&Oid>) -> TextLine {
    match id {
        Some(id) => line.with(Slot::Id, id.short()),
        None => line.with(Slot::Plain, "no commit"),
    }
}

/// `then -> now`.
fn arrow(line: TextLine, line_of: &Branch) -> TextLine {
    let line = id(line, line_of.head.then.as_ref()).with(Slot::Plain, " -> ");
    id(line, line_of.head.now.as_ref())
}

/// The row on the branch; `is_here` is whether the commits at save time are.
pub(super) fn branch(line: &Branch, is_here: bool) -> ReportRow {
    let mut row = branch_row(line);
    row.details.extend(way_to_branch(line, is_here));
    row
}

/// The command that checks out a branch that is not here.
fn way_to_branch(line: &Branch, is_here: bool) -> Option<TextLine> {
    let (name, commit) = (line.name.then.as_ref()?, line.head.then.as_ref()?);
    if line.name.is_same() {
        return None;
    }
    let command = match line.fate {
        BranchFate::Remote => format!("to check it out: git switch {}", quoted(name)),
        BranchFate::Deleted | BranchFate::Absent if !is_here => {
            "its commit is not here; to get it: git fetch".to_owned()
        }
        BranchFate::Deleted | BranchFate::Absent if line.merged_into.is_empty() => {
            format!("to have it here: git switch -c {} {}", quoted(name), commit.short())
        }
        _ => return None,
    };
    Some(TextLine::plain(command))
}

fn branch_row(line: &Branch) -> ReportRow {
    let then = name(line.name.then.as_ref());
    let renamed = line.renamed_to.is_some() && line.renamed_to == line.name.now;
    let pieces = if line.name.is_same() || renamed {
        let mut pieces = Vec::new();
        if renamed {
            let to = name(line.name.now.as_ref());
            let mut piece = then.clone().with(Slot::Plain, " was renamed to ");
            piece.append(&to);
            pieces.push(piece);
        }
        let subject = if renamed { TextLine::plain("it") } else { then };
        let same_head = line.head.is_same();
        match line.fate {
            BranchFate::Same | BranchFate::None | BranchFate::Renamed if same_head => {
                if !renamed {
                    pieces.push(id(subject.with(Slot::Plain, " at "), line.head.now.as_ref()));
                }
            }
            BranchFate::Same | BranchFate::None | BranchFate::Renamed | BranchFate::Forward => {
                pieces.push(arrow(subject.with(Slot::Plain, " moved "), line));
            }
            BranchFate::Rewound => pieces.push(arrow(subject.with(Slot::Plain, " went back "), line)),
            BranchFate::Rewritten => pieces.push(arrow(subject.with(Slot::Plain, " was rewritten "), line)),
            BranchFate::Born => pieces.push(subject.with(Slot::Plain, " has its first commits")),
            BranchFate::Untold => pieces.push(id(subject.with(Slot::Plain, " at "), line.head.now.as_ref())),
            BranchFate::Unborn => pieces.push(subject.with(Slot::Plain, " still has no commit")),
            BranchFate::Deleted => pieces.push(subject.with(Slot::Plain, " was deleted")),
            BranchFate::Remote => pieces.push(remote_only(subject, line)),
            BranchFate::Absent => pieces.push(subject.with(Slot::Plain, " does not exist here")),
        }
        pieces
    } else {
        left(line, &then)
    };
    ReportRow::new("branch", line.verdict, pieces)
}

/// A branch that only a remote has: `topic is only on the remote, as origin/topic`.
fn remote_only(subject: TextLine, line: &Branch) -> TextLine {
    let mut piece = subject.with(Slot::Plain, " is only on the remote, as ");
    piece.append(&name(line.renamed_to.as_ref()));
    id(piece.with(Slot::Plain, " at "), line.tip.as_ref())
}

/// The phrases when another branch is checked out.
fn left(line: &Branch, then: &TextLine) -> Vec<TextLine> {
    let mut switched = TextLine::plain("switched from ");
    switched.append(then);
    switched.push(Slot::Plain, " to ");
    switched.append(&name(line.name.now.as_ref()));
    let mut pieces = vec![switched];
    let fate = |words: &str| then.clone().with(Slot::Plain, words);
    match line.fate {
        BranchFate::None | BranchFate::Unborn | BranchFate::Untold => {}
        BranchFate::Same => pieces.push(fate(" is unchanged")),
        BranchFate::Born => pieces.push(fate(" has its first commits")),
        BranchFate::Forward => pieces.push(id(fate(" advanced to "), line.tip.as_ref())),
        BranchFate::Rewound => pieces.push(id(fate(" went back to "), line.tip.as_ref())),
        BranchFate::Rewritten => pieces.push(id(fate(" was rewritten to "), line.tip.as_ref())),
        BranchFate::Deleted => pieces.push(fate(" was deleted")),
        BranchFate::Remote => pieces.push(remote_only(then.clone(), line)),
        BranchFate::Absent => pieces.push(fate(" does not exist here")),
        BranchFate::Renamed => {
            let mut piece = fate(" was renamed to ");
            piece.append(&name(line.renamed_to.as_ref()));
            pieces.push(piece);
        }
    }
    if line.head.then.is_some() && line.fate != BranchFate::None {
        let mut piece = id(TextLine::new(), line.head.then.as_ref());
        if line.merged_into.is_empty() {
            piece.push(Slot::Plain, " is in no other branch");
        } else {
            piece.push(Slot::Plain, " is in ");
            let shown: Vec<_> = line.merged_into.iter().take(BRANCHES).map(String::as_str).collect();
            piece.push(Slot::Branch, shown.join(", "));
            if line.merged_into.len() > BRANCHES {
                piece.push(Slot::Plain, format!(" and {} more", line.merged_into.len() - BRANCHES));
            }
        }
        pieces.push(piece);
    }
    pieces
}

/// `6 commits`, `at least 10000 commits`.
fn words(count: BoundedCount, noun: &str) -> String {
    let at_least = if count.at_least { "at least " } else { "" };
    format!("{at_least}{}", count::CountedNoun::new(usize(count.count), noun))
}

/// The commits since, between the two values of HEAD.
pub(super) fn commits(
    line: &Commits,
    head: Option<&SavedAndCurrent<Option<Oid>>>,
    now: Timestamp,
) -> Option<ReportRow> {
    let again = count::CountedNoun::new(usize(line.matched.count), "commit");
    let are = if line.matched.count == 1 { "is" } else { "are" };
    let first = match line.how {
        History::Same => return None,
        History::Forward | History::Born => None,
        History::Untold => Some("the source names no commit of this repository".to_owned()),
        History::Unborn => Some("HEAD has no commit".to_owned()),
        History::Rewound => Some(format!("went back by {}", words(line.lost.total, "commit"))),
        History::Amended => Some("the last commit was amended".to_owned()),
        History::Rebased => Some(format!("rebased, {again} {are} present")),
        History::CherryPicked => Some(format!("{again} {are} present, cherry-picked")),
        History::Squashed => Some(format!("{again} squashed into one")),
        History::Diverged if line.matched.count > 0 => {
            Some(format!("{again} {are} present, {} not", line.lost.total.count))
        }
        History::Diverged => Some(format!("{} missing", words(line.lost.total, "commit"))),
        History::Unrelated => Some("no common commit".to_owned()),
        History::Unknown if line.shallow => Some("this clone is too shallow to compare".to_owned()),
        History::Unknown => Some("too many commits to compare".to_owned()),
    };
    let mut pieces: Vec<_> = first.map(TextLine::plain).into_iter().collect();
    if line.since.total.count > 0 {
        let new = if pieces.is_empty() { "commit" } else { "new commit" };
        let authors = count::CountedNoun::new(usize(line.authors), "author");
        pieces.push(TextLine::plain(words(line.since.total, new)));
        pieces.push(TextLine::plain(authors.to_string()));
    }
    let mut row = ReportRow::new("commits", line.verdict, pieces);
    for found in line.matched.first.iter().take(NAMED) {
        let then = TextLine::new()
            .with(Slot::Id, found.then.short())
            .with(Slot::Plain, " -> ");
        row.details.push(
            then.with(Slot::Id, found.now.short())
                .with(Slot::Plain, format!("  {}", found.subject)),
        );
    }
    for commit in line.lost.first.iter().take(NAMED) {
        row.details.push(
            TextLine::new()
                .with(Slot::Removed, "- ")
                .with(Slot::Id, commit.id.short())
                .with(Slot::Plain, format!("  {}", commit.subject)),
        );
    }
    for commit in line.since.first.iter().take(NAMED) {
        let mut detail = TextLine::new().with(Slot::Id, commit.id.short());
        detail.push(Slot::Plain, format!("  {} ", commit.subject));
        detail.append(&by(commit, now));
        row.details.push(detail);
    }
    let ids = head.map(|head| (head.then.as_ref(), head.now.as_ref()));
    for (all, words, ids) in [
        (
            line.lost.total.count,
            "more missing",
            ids.map(|(then, now)| (now, then)),
        ),
        (line.since.total.count, "more", ids),
    ] {
        let more = usize(all).saturating_sub(NAMED);
        let range = match ids {
            Some((Some(from), Some(to))) => format!("{}..{}", from.short(), to.short()),
            Some((None, Some(to))) => to.short().to_owned(),
            _ => "HEAD".to_owned(),
        };
        let omitted = (more > 0).then(|| (format!("{more} {words}"), format!("git log --oneline {range}")));
        row.omitted.extend(omitted);
    }
    Some(row)
}

/// `(Tom, 3 hours ago)`.
pub(super) fn by(commit: &CommitInfo, now: Timestamp) -> TextLine {
    let author = if commit.author.is_empty() {
        &commit.email
    } else {
        &commit.author
    };
    TextLine::plain("(")
        .with(Slot::Person, author)
        .with(Slot::Plain, ", ")
        .with(Slot::Date, age::age(commit.committed_at, now))
        .with(Slot::Plain, ")")
}

pub(super) fn upstream(line: &Upstream) -> Option<ReportRow> {
    let of = |name: Option<&String>| TextLine::new().with(Slot::Branch, name.map_or("", String::as_str));
    let then = of(line.name.then.as_ref());
    let mut pieces = match line.fate {
        UpstreamFate::None => return None,
        UpstreamFate::New => Vec::new(),
        UpstreamFate::Same => vec![then.with(Slot::Plain, " unchanged")],
        UpstreamFate::Forward => {
            let gained = words(line.gained.unwrap_or_default(), "commit");
            vec![then.with(Slot::Plain, format!(" has {gained} more"))]
        }
        UpstreamFate::Rewritten => {
            let mut pieces = vec![then.with(Slot::Plain, " was rewritten")];
            if let (Some(dropped), Some(gained)) = (line.dropped, line.gained) {
                pieces.push(TextLine::plain(format!("{} dropped", words(dropped, "commit"))));
                pieces.push(TextLine::plain(format!("{} new", gained.count)));
            }
            pieces
        }
        // Deleted at the remote, never fetched into this clone: which of them is not known.
        UpstreamFate::Gone => vec![then.with(Slot::Plain, " is not in this repository")],
        UpstreamFate::Unknown => vec![then.with(Slot::Plain, " moved, this clone is too shallow to compare")],
    };
    if !line.name.is_same() {
        pieces.push(match &line.name.now {
            Some(_) => {
                let mut piece = TextLine::plain("upstream is now ");
                piece.append(&of(line.name.now.as_ref()));
                piece
            }
            None => TextLine::plain("no upstream now"),
        });
    }
    for (count, word) in [(line.ahead, "ahead"), (line.behind, "behind")] {
        if let Some(count) = count.filter(|count| count.count > 0) {
            let at_least = if count.at_least { "at least " } else { "" };
            pieces.push(TextLine::plain(format!("{at_least}{} {word}", count.count)));
        }
    }
    Some(ReportRow::new("upstream", line.verdict, pieces))
}
