//! From one commit to another: what was added, and what became of commits that are not in the new history any more.
//!
//! A commit is recognized in another form by its patch id, several as one by the patch id of their sum, and else by
//! author and time of writing, which amending and rebasing keep.

use std::collections::{HashMap, HashSet};

use super::{CommitParts, authors, commit_list, parents, parsed};
use crate::model::facts::BoundedList;
use crate::model::report::{BoundedCount, CommitMatch, Commits, History, MatchedBy, ReportVerdict};
use crate::store::checkpoint::oid;
use crate::store::graph::{self, CommitRelation};
use crate::store::patch_id::{MAX_FILES, PatchHeader, PatchId, patch_id};
use crate::store::tree::{self, TreeDiff};
use crate::store::{Error, ObjectId, Repository};

/// How much work may be done.
#[derive(Clone, Copy, Debug)]
pub struct RewriteLimits {
    /// Commits looked at in one walk through the history.
    pub walked: usize,
    /// Commits on each side that are compared to find rewritten ones.
    pub matched: usize,
}

/// Relation of the saved commit to the current one; also the new commits, latest first.
///
/// `same_branch` is whether both are of the same branch: then commits that are there again were rebased, else picked.
pub fn follow(
    repo: &Repository,
    then: Option<ObjectId>,
    now: Option<ObjectId>,
    same_branch: bool,
    limits: RewriteLimits,
) -> Result<(Commits, Vec<ObjectId>), Error> {
    let nothing = |how, verdict| Commits {
        verdict,
        how,
        base: None,
        since: super::CommitList::default(),
        authors: 0,
        matched: BoundedList::default(),
        lost: super::CommitList::default(),
        shallow: false,
    };
    let (then, now) = match (then, now) {
        (None, None) => return Ok((nothing(History::Same, ReportVerdict::Same), Vec::new())),
        (Some(then), Some(now)) if then == now => return Ok((nothing(History::Same, ReportVerdict::Same), Vec::new())),
        (None, Some(now)) => {
            let (new, complete) = graph::reachable(repo, now, limits.walked)?;
            let since = commit_list(repo, &new, complete)?;
            let authors = authors(repo, &new)?;
            return Ok((
                Commits {
                    since,
                    authors,
                    ..nothing(History::Born, ReportVerdict::Moved)
                },
                new,
            ));
        }
        (Some(then), None) => {
            let (old, complete) = graph::reachable(repo, then, limits.walked)?;
            let lost = commit_list(repo, &old, complete)?;
            return Ok((
                Commits {
                    lost,
                    ..nothing(History::Unborn, ReportVerdict::Check)
                },
                Vec::new(),
            ));
        }
        (Some(then), Some(now)) => (then, now),
    };
    let relation = graph::relation(repo, then, now, limits.walked)?;
    let how = outline(&relation);
    let found = if how == History::Diverged {
        RewriteSearch::find(repo, &relation, then, same_branch, limits.matched)?
    } else {
        RewriteSearch::default()
    };
    let how = if how == History::Diverged {
        found.how(same_branch)
    } else {
        how
    };
    let matched_now: HashSet<ObjectId> = found.matches.iter().map(|found| found.now).collect();
    let matched_then: HashSet<ObjectId> = found.matches.iter().map(|found| found.then).collect();
    let since: Vec<_> = relation
        .behind
        .iter()
        .copied()
        .filter(|id| !matched_now.contains(id))
        .collect();
    let whole = !matches!(
        how,
        History::Diverged | History::Unknown | History::Rewound | History::Unrelated
    );
    let is_kept = |id: &ObjectId| matched_then.contains(id) || whole && found.merges.contains(id);
    let lost: Vec<_> = relation.ahead.iter().copied().filter(|id| !is_kept(id)).collect();
    let verdict = match how {
        History::Forward | History::Amended | History::Rebased | History::Squashed | History::CherryPicked => {
            ReportVerdict::Moved
        }
        _ => ReportVerdict::Check,
    };
    let matched = found
        .matches
        .iter()
        .map(|found| found.shown(repo))
        .collect::<Result<BoundedList<_>, _>>()?;
    let commits = Commits {
        verdict,
        how,
        base: relation.base.filter(|_| !relation.ahead.is_empty()).map(oid),
        since: commit_list(repo, &since, relation.complete)?,
        authors: authors(repo, &since)?,
        matched,
        lost: commit_list(repo, &lost, relation.complete)?,
        shallow: relation.shallow && relation.base.is_none(),
    };
    Ok((commits, relation.behind))
}

/// Relation by the shape of the history alone.
fn outline(relation: &CommitRelation) -> History {
    match (relation.base, relation.ahead.is_empty(), relation.behind.is_empty()) {
        (Some(_), true, _) => History::Forward,
        (Some(_), _, true) => History::Rewound,
        (Some(_), false, false) => History::Diverged,
        (None, ..) if relation.complete && !relation.shallow => History::Unrelated,
        (None, ..) => History::Unknown,
    }
}

/// A commit of then and its form of now.
struct RewrittenCommit {
    then: ObjectId,
    now: ObjectId,
    by: MatchedBy,
}

impl RewrittenCommit {
    fn shown(&self, repo: &Repository) -> Result<CommitMatch, Error> {
        Ok(CommitMatch {
            then: oid(self.then),
            now: oid(self.now),
            by: self.by,
            subject: parsed(repo, self.now)?.subject,
        })
    }
}

#[derive(Default)]
struct RewriteSearch {
    matches: Vec<RewrittenCommit>,
    /// Merges among the old commits: a rebase drops them.
    merges: HashSet<ObjectId>,
    /// Whether every old commit that is no merge was recognised.
    all: bool,
    /// Whether the only old commit has a form with the same parents.
    amended: bool,
}

/// A commit with what it changes.
struct CommitChange {
    id: ObjectId,
    commit: CommitParts,
    diffs: Vec<TreeDiff>,
    header: Option<PatchHeader>,
    patch: Option<PatchId>,
}

impl CommitChange {
    fn read(repo: &Repository, id: ObjectId) -> Result<Self, Error> {
        let commit = parsed(repo, id)?;
        // A merge has no patch id, nor has a change of very many files.
        let diffs = match parents(&commit).as_slice() {
            [parent] => tree::raw_up_to(repo, *parent, commit.tree, MAX_FILES)?.unwrap_or_default(),
            _ => Vec::new(),
        };
        Ok(Self {
            id,
            header: PatchHeader::of(&diffs),
            commit,
            diffs,
            patch: None,
        })
    }

    fn patch(&mut self, repo: &Repository) -> Result<&PatchId, Error> {
        if self.patch.is_none() {
            self.patch = Some(patch_id(repo, &self.diffs)?);
        }
        Ok(self.patch.as_ref().expect("just set"))
    }

    /// Whether both change one path at least, as far as is known: of a change of very many files nothing was read.
    fn shares_path_with(&self, other: &Self) -> bool {
        if self.diffs.is_empty() || other.diffs.is_empty() {
            return true;
        }
        let paths: HashSet<_> = self.diffs.iter().map(|diff| &diff.path).collect();
        other.diffs.iter().any(|diff| paths.contains(&diff.path))
    }

    fn is_merge(&self) -> bool {
        self.commit.parents.len() > 1
    }
}

impl RewriteSearch {
    fn find(
        repo: &Repository,
        relation: &CommitRelation,
        then: ObjectId,
        same_branch: bool,
        limit: usize,
    ) -> Result<Self, Error> {
        let read = |ids: &[ObjectId]| -> Result<Vec<CommitChange>, Error> {
            ids.iter().take(limit).map(|id| CommitChange::read(repo, *id)).collect()
        };
        let (mut old, mut new) = (read(&relation.ahead)?, read(&relation.behind)?);
        let mut found = Self::default();
        let mut headers: HashMap<PatchHeader, Vec<usize>> = HashMap::new();
        for (at, change) in new.iter().enumerate() {
            if let Some(header) = &change.header {
                headers.entry(header.clone()).or_default().push(at);
            }
        }
        let mut used = vec![false; new.len()];
        for change in old.iter_mut().rev() {
            if change.is_merge() {
                found.merges.insert(change.id);
                continue;
            }
            let Some(candidates) = change.header.as_ref().and_then(|header| headers.get(header)) else {
                continue;
            };
            for at in candidates.iter().copied().rev() {
                if !used[at] && new[at].patch(repo)? == change.patch(repo)? {
                    used[at] = true;
                    found.push(change.id, new[at].id, MatchedBy::Patch);
                    break;
                }
            }
        }
        found.find_squashed(repo, relation, then, &old, &mut new, &headers)?;
        found.find_by_author(&old, &new, &used, same_branch);
        let known: HashSet<_> = found.matches.iter().map(|found| found.then).collect();
        let single = |change: &&CommitChange| !change.is_merge();
        found.all = relation.complete
            && relation.ahead.len() <= limit
            && !found.matches.is_empty()
            && old.iter().filter(single).all(|change| known.contains(&change.id));
        found.amended = match (&old[..], &found.matches[..]) {
            ([only], [only_match]) if only_match.by != MatchedBy::Squash => {
                let form = new.iter().find(|change| change.id == only_match.now);
                form.is_some_and(|form| form.commit.parents == only.commit.parents)
            }
            _ => false,
        };
        Ok(found)
    }

    fn push(&mut self, then: ObjectId, now: ObjectId, by: MatchedBy) {
        self.matches.push(RewrittenCommit { then, now, by });
    }

    /// Whether one new commit makes the change of several old ones: of all, or of a run of those not yet recognised.
    fn find_squashed(
        &mut self,
        repo: &Repository,
        relation: &CommitRelation,
        then: ObjectId,
        old: &[CommitChange],
        new: &mut [CommitChange],
        headers: &HashMap<PatchHeader, Vec<usize>>,
    ) -> Result<(), Error> {
        let known: HashSet<_> = self.matches.iter().map(|found| found.then).collect();
        let open = |change: &CommitChange| !known.contains(&change.id) && !change.is_merge();
        if !old.iter().any(open) {
            return Ok(());
        }
        let by_id: HashMap<ObjectId, &CommitChange> = old.iter().map(|change| (change.id, change)).collect();
        // The old side along first parents, latest first.
        let mut chain = Vec::new();
        let mut at = Some(then);
        while let Some(change) = at.and_then(|id| by_id.get(&id)) {
            chain.push(*change);
            at = change.commit.parents.first().copied();
        }
        let mut runs: Vec<(Option<ObjectId>, &[&CommitChange])> = vec![(relation.base, &chain)];
        for run in chain
            .split(|change| !open(change))
            .filter(|run| run.len() > 1 && run.len() < chain.len())
        {
            runs.push((
                run.last().and_then(|oldest| oldest.commit.parents.first().copied()),
                run,
            ));
        }
        for (before, run) in runs {
            let Some(latest) = run.first().filter(|_| run.len() > 1) else {
                continue;
            };
            let sum = tree::raw_up_to(repo, before, latest.commit.tree, MAX_FILES)?.unwrap_or_default();
            let Some(candidates) = PatchHeader::of(&sum).and_then(|header| headers.get(&header)) else {
                continue;
            };
            let wanted = patch_id(repo, &sum)?;
            for at in candidates {
                if *new[*at].patch(repo)? == wanted {
                    let form = new[*at].id;
                    for change in run.iter().filter(|change| open(change)) {
                        self.push(change.id, form, MatchedBy::Squash);
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn find_by_author(&mut self, old: &[CommitChange], new: &[CommitChange], used: &[bool], same_branch: bool) {
        let known: HashSet<_> = self.matches.iter().flat_map(|found| [found.then, found.now]).collect();
        // Scripts commit several times a second, so the same author and second is not enough: both must also touch a
        // path in common, and have the same subject unless one was amended where it was.
        let mut forms: Vec<&CommitChange> = new
            .iter()
            .zip(used)
            .filter(|(change, used)| !**used && !known.contains(&change.id))
            .map(|(change, _)| change)
            .collect();
        for change in old
            .iter()
            .rev()
            .filter(|change| !known.contains(&change.id) && !change.is_merge())
        {
            let is_form = |form: &&CommitChange| {
                let amended = same_branch && form.commit.parents == change.commit.parents;
                form.commit.author == change.commit.author
                    && (amended || form.commit.subject == change.commit.subject)
                    && form.shares_path_with(change)
            };
            if let Some(at) = forms.iter().position(is_form) {
                self.push(change.id, forms.swap_remove(at).id, MatchedBy::Author);
            }
        }
    }

    fn how(&self, same_branch: bool) -> History {
        if !self.all {
            return History::Diverged;
        }
        if self.matches.iter().all(|found| found.by == MatchedBy::Squash) {
            return History::Squashed;
        }
        match (self.amended, same_branch) {
            (true, true) => History::Amended,
            (_, true) => History::Rebased,
            (_, false) => History::CherryPicked,
        }
    }
}

impl RewriteLimits {
    /// As much as a person waits for: 10,000 commits walked take 0.1 s, comparing 300 with 300 about as long.
    pub const INTERACTIVE: Self = Self {
        walked: 10_000,
        matched: 300,
    };
}

/// The number of a list that the walk may have cut short.
pub(super) fn counted(ids: &[ObjectId], complete: bool) -> BoundedCount {
    BoundedCount {
        count: ids.len() as u64,
        at_least: !complete,
    }
}
