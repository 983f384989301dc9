//! `diff --range`: the commits that two forks made since they diverged, matched by what they change.
//!
//! `git range-diff` does the matching. Each side is the commits from where both began to the HEAD its checkpoint was saved
//! at: the HEAD of the checkpoint that both come from if it is still behind both, after a rebase what git finds behind both.

use super::{
    Error, Scene,
    bases::{merge_base, nearest},
    ids::short,
    select,
};
use crate::{
    model::{id::Oid, name::ShortName, selector::Selector},
    store::{
        self, ObjectId,
        ancestry::MergeEdges,
        checkpoint::{self, Checkpoint, object_id, oid},
        graph,
    },
};

/// Commits looked through for the one behind both sides.
const LIMIT: usize = 100_000;

/// Two sides and their commits.
#[derive(Debug)]
pub struct Range {
    /// The older side.
    pub old: RangeSide,
    /// The newer one.
    pub new: RangeSide,
    /// The commit that both began at.
    pub base: Oid,
    /// Their commits, in the order of git.
    pub commits: Vec<MatchedCommit>,
    /// The same as git writes it, with what differs between the patches.
    pub text: Vec<u8>,
}

/// One side.
#[derive(Debug)]
pub struct RangeSide {
    /// The checkpoint.
    pub id: Oid,
    /// Its session.
    pub session: Option<ShortName>,
    /// The commit it was saved at.
    pub head: Oid,
}

/// A commit of one side, with the other side's that changes about the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedCommit {
    /// `same`, `changed`, `removed` (only the old side has it) or `added`.
    pub verdict: &'static str,
    /// The old side's commit.
    pub old: Option<Oid>,
    /// The new side's.
    pub new: Option<Oid>,
    /// Its subject.
    pub subject: String,
}

/// Matches the commits of two checkpoints' sides.
pub fn range(scene: &Scene<'_>, old: &Selector, new: &Selector) -> Result<Range, Error> {
    let [old, new] = [old, new].map(|selector| {
        let selected = select::checkpoint(scene, selector)?;
        let head = selected.checkpoint.document.git.head.clone();
        let head = head.ok_or_else(|| Error::NoCommits {
            id: short(selected.checkpoint.entry.id),
        })?;
        let end = RangeSide {
            id: oid(selected.checkpoint.entry.id),
            session: selected.session,
            head,
        };
        Ok::<_, Error>((end, selected.checkpoint))
    });
    let ((old, old_checkpoint), (new, new_checkpoint)) = (old?, new?);
    let base = base(scene, (&old, &old_checkpoint), (&new, &new_checkpoint))?;
    let (commits, text) = if old.head == base || new.head == base {
        one_side(scene, &base, (&old, &new))?
    } else {
        both_sides(scene, &[&old, &new].map(|end| format!("{base}..{}", end.head)))?
    };
    Ok(Range {
        old,
        new,
        base,
        commits,
        text,
    })
}

/// The commits of both, as git matches them, and as it writes that.
fn both_sides(scene: &Scene<'_>, sides: &[String; 2]) -> Result<(Vec<MatchedCommit>, Vec<u8>), Error> {
    let git = |abbrev: &str| {
        let git = store::git(scene.repo).config(format!("core.abbrev={abbrev}"));
        git.args(["range-diff", "--no-color", "--no-notes"])
    };
    let names = git("no").arg("--no-patch").args(sides);
    let commits = matched(&names.text().map_err(store::Error::from)?);
    let text = git("8").args(sides).run().map_err(store::Error::from)?;
    Ok((commits, text.stdout))
}

/// The same where a side has no commits, for which git has no form.
fn one_side(
    scene: &Scene<'_>,
    base: &Oid,
    (old, new): (&RangeSide, &RangeSide),
) -> Result<(Vec<MatchedCommit>, Vec<u8>), Error> {
    let is_old = new.head == *base;
    let (head, verdict) = if is_old {
        (&old.head, "removed")
    } else {
        (&new.head, "added")
    };
    let range = format!("{base}..{head}");
    let git = store::git(scene.repo).args(["log", "--no-merges", "--reverse", "--format=%H %s", &range, "--"]);
    let (mut commits, mut text) = (Vec::new(), String::new());
    for (line, n) in git.text().map_err(store::Error::from)?.lines().zip(1..) {
        let Some((id, subject)) = line.split_once(' ') else {
            continue;
        };
        let Ok(id) = Oid::new(id) else { continue };
        let short = id.short();
        text.push_str(&if is_old {
            format!("{n}:  {short} < -:  -------- {subject}\n")
        } else {
            format!("-:  -------- > {n}:  {short} {subject}\n")
        });
        let (old, new) = if is_old { (Some(id), None) } else { (None, Some(id)) };
        commits.push(MatchedCommit {
            verdict,
            old,
            new,
            subject: subject.to_owned(),
        });
    }
    Ok((commits, text.into_bytes()))
}

/// The commit both sides began at.
fn base(scene: &Scene<'_>, old: (&RangeSide, &Checkpoint), new: (&RangeSide, &Checkpoint)) -> Result<Oid, Error> {
    let heads = [object_id(&old.0.head), object_id(&new.0.head)];
    if let Some((common, _)) = nearest(scene, old.1.entry.id, new.1.entry.id, MergeEdges::Files)? {
        let common = checkpoint::load(scene.repo, common).map_err(Error::damaged(short(common)))?;
        if let Some(head) = common.document.git.head
            && is_behind(scene, object_id(&head), heads)?
        {
            return Ok(head);
        }
    }
    let found = merge_base(scene, &old.0.head, &new.0.head)?;
    found.ok_or_else(|| Error::Unrelated {
        old: old.0.id.short().to_owned(),
        new: new.0.id.short().to_owned(),
    })
}

fn is_behind(scene: &Scene<'_>, commit: ObjectId, heads: [ObjectId; 2]) -> Result<bool, Error> {
    for head in heads {
        if graph::is_ancestor(scene.repo, commit, head, LIMIT)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads lines such as `1:  <id> ! 2:  <id> subject`; a side that lacks the commit has dashes.
fn matched(text: &str) -> Vec<MatchedCommit> {
    let line = |line: &str| {
        let mut rest = line;
        let mut word = || {
            let (word, after) = rest.trim_start().split_once(' ')?;
            rest = after;
            Some(word)
        };
        let (_, old, sign, _, new) = (word()?, word()?, word()?, word()?, word()?);
        let verdict = match sign {
            "=" => "same",
            "!" => "changed",
            "<" => "removed",
            ">" => "added",
            _ => return None,
        };
        Some(MatchedCommit {
            verdict,
            old: Oid::new(old).ok(),
            new: Oid::new(new).ok(),
            subject: rest.to_owned(),
        })
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_range_diff() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let dashes = "-".repeat(40);
        let text = format!("1:  {a} = 1:  {b} first  one\n-:  {dashes} > 2:  {b} second\n 3:  {a} <  -:  {dashes} x\n");
        let found = matched(&text);
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].verdict, found[0].subject.as_str()), ("same", "first  one"));
        assert_eq!((found[1].verdict, &found[1].old), ("added", &None));
        assert_eq!(found[1].new.as_ref().map(Oid::as_str), Some(b.as_str()));
        assert_eq!((found[2].verdict, &found[2].new), ("removed", &None));
    }
}
