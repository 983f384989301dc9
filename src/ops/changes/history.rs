//! The lines on branch, commits and upstream.

use super::{CurrentState, RecordedState, ReportLimits, id_of, kept};
use crate::{
    model::report::{
        BoundedCount, Branch, BranchFate, Commits, PartFailure, ReportPart, ReportVerdict, SavedAndCurrent, Upstream,
        UpstreamFate,
    },
    store::{
        Error, ObjectId, Repository, branches,
        checkpoint::oid,
        graph,
        history::{self, Tip, UpstreamState},
    },
};

/// Branch and commits, and the new commits, latest first.
pub(super) fn lines(
    repo: &Repository,
    then: RecordedState<'_>,
    now: CurrentState<'_>,
    limits: ReportLimits,
    failed: &mut Vec<PartFailure>,
) -> (Option<Branch>, Option<Commits>, Vec<ObjectId>) {
    let tip = kept(ReportPart::Branch, tip(repo, then, limits), failed);
    let renamed_to = tip
        .as_ref()
        .and_then(|tip| tip.renamed_to.as_deref().map(branches::short));
    let same_branch = then.git.branch == now.git.branch || (renamed_to.is_some() && renamed_to == now.git.branch);
    let (old, new) = (id_of(then.git.head.as_ref()), id_of(now.git.head.as_ref()));
    if then.untold {
        let tip = tip.filter(|_| then.git.reports("branch"));
        let branch = tip.and_then(|tip| {
            let tip = Tip {
                fate: if matches!(tip.fate, BranchFate::Born | BranchFate::Deleted | BranchFate::Absent) {
                    BranchFate::Untold
                } else {
                    tip.fate
                },
                ..tip
            };
            // A branch that another tool reported may never have existed here.
            let branch = branch(repo, then, now, &tip, same_branch, None, limits);
            kept(ReportPart::Branch, branch, failed)
        });
        return (branch, Some(Commits::base_unknown()), Vec::new());
    }
    let followed = history::follow(repo, old, new, same_branch, limits.walks);
    let (commits, since) = kept(ReportPart::Commits, followed, failed).unzip();
    let branch = tip.and_then(|tip| {
        let branch = branch(repo, then, now, &tip, same_branch, commits.as_ref(), limits);
        kept(ReportPart::Branch, branch, failed)
    });
    (branch, commits, since.unwrap_or_default())
}

fn tip(repo: &Repository, then: RecordedState<'_>, limits: ReportLimits) -> Result<Tip, Error> {
    let Some(name) = &then.git.branch else {
        return Ok(Tip {
            fate: BranchFate::None,
            tip: None,
            renamed_to: None,
        });
    };
    let old = id_of(then.git.head.as_ref());
    history::branch_of(repo, &full(name), old, then.at.unix(), limits.walks)
}

/// The full name of a branch from the one in a document.
fn full(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

fn branch(
    repo: &Repository,
    then: RecordedState<'_>,
    now: CurrentState<'_>,
    tip: &Tip,
    same_branch: bool,
    commits: Option<&Commits>,
    limits: ReportLimits,
) -> Result<Branch, Error> {
    let left = !same_branch && then.git.branch.is_some();
    let merged_into = match id_of(then.git.head.as_ref()) {
        Some(old) if left => {
            let upstream = then.git.upstream.as_ref().map(|name| format!("refs/remotes/{name}"));
            let own = then.git.branch.as_deref().map(full);
            history::containing(repo, old, upstream.as_deref(), own.as_deref(), limits.walks)?
        }
        _ => Vec::new(),
    };
    let fine = commits.is_some_and(|commits| matches!(commits.verdict, ReportVerdict::Same | ReportVerdict::Moved));
    let verdict = match tip.fate {
        BranchFate::Deleted | BranchFate::Absent if merged_into.is_empty() && !fine => ReportVerdict::Missing,
        // All of then is in HEAD, in some form.
        _ if !same_branch && fine => ReportVerdict::Moved,
        _ if !same_branch => ReportVerdict::Check,
        BranchFate::None | BranchFate::Unborn | BranchFate::Same => ReportVerdict::Same,
        _ if fine => ReportVerdict::Moved,
        _ => ReportVerdict::Check,
    };
    Ok(Branch {
        verdict,
        name: SavedAndCurrent {
            then: then.git.branch.clone(),
            now: now.git.branch.clone(),
        },
        head: SavedAndCurrent {
            then: then.git.head.clone(),
            now: now.git.head.clone(),
        },
        fate: tip.fate,
        tip: tip.tip.map(oid),
        renamed_to: tip.renamed_to.as_deref().map(branches::short),
        merged_into,
    })
}

/// Fate of the saved upstream, and the relation of HEAD to its current one.
pub(super) fn upstream(
    repo: &Repository,
    then: RecordedState<'_>,
    now: CurrentState<'_>,
    limits: ReportLimits,
) -> Result<Upstream, Error> {
    // Another branch has another upstream, and a clone sets one: neither is a change since.
    let is_same_branch = then.git.branch == now.git.branch;
    let is_clone = (&then.worktree.path, then.host) != (&now.worktree.path, now.host);
    let current = if is_same_branch && !(is_clone && then.git.upstream.is_none()) {
        &now.git.upstream
    } else {
        &then.git.upstream
    };
    let found = match (&then.git.upstream, current) {
        (Some(name), _) => history::upstream_of(repo, name, id_of(then.git.upstream_head.as_ref()), limits.walks)?,
        (None, other) => UpstreamState {
            fate: if other.is_some() {
                UpstreamFate::New
            } else {
                UpstreamFate::None
            },
            tip: id_of(now.git.upstream_head.as_ref()),
            gained: None,
            dropped: None,
        },
    };
    let (ahead, behind) = if is_same_branch && current.is_some() {
        standing(repo, now, limits)?
    } else {
        (None, None)
    };
    let verdict = match found.fate {
        UpstreamFate::None | UpstreamFate::Same => ReportVerdict::Same,
        UpstreamFate::New | UpstreamFate::Forward => ReportVerdict::Moved,
        UpstreamFate::Rewritten => ReportVerdict::Check,
        UpstreamFate::Gone => ReportVerdict::Missing,
        UpstreamFate::Unknown => ReportVerdict::Unknown,
    };
    Ok(Upstream {
        verdict,
        fate: found.fate,
        name: SavedAndCurrent {
            then: then.git.upstream.clone(),
            now: current.clone(),
        },
        head: SavedAndCurrent {
            then: then.git.upstream_head.clone(),
            now: found.tip.map(oid),
        },
        gained: found.gained,
        dropped: found.dropped,
        ahead,
        behind,
    })
}

/// Commits that HEAD and its upstream do not share. The facts count few; here there is time for more.
fn standing(
    repo: &Repository,
    now: CurrentState<'_>,
    limits: ReportLimits,
) -> Result<(Option<BoundedCount>, Option<BoundedCount>), Error> {
    let counted = |count| BoundedCount { count, at_least: false };
    if !now.git.ahead_behind_at_least {
        return Ok((now.git.ahead.map(counted), now.git.behind.map(counted)));
    }
    let (Some(head), Some(upstream)) = (id_of(now.git.head.as_ref()), id_of(now.git.upstream_head.as_ref())) else {
        return Ok((None, None));
    };
    let relation = graph::relation(repo, head, upstream, limits.walks.walked)?;
    let count = |ids: &[ObjectId]| BoundedCount {
        count: ids.len() as u64,
        at_least: !relation.complete,
    };
    Ok((Some(count(&relation.ahead)), Some(count(&relation.behind))))
}
