//! Fate of a branch and of its upstream since a checkpoint.

use super::rewrite::{RewriteLimits, counted};
use super::{Error, ObjectId, Repository, is_rename};
use crate::model::report::{BoundedCount, BranchFate, UpstreamFate};
use crate::store::{branches, checkpoint, graph, refs};

/// Branches whose reflogs are searched for a rename.
const SEARCHED: usize = 200;

/// A branch of then, now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Fate of the branch.
    pub fate: BranchFate,
    /// The commit it points to; of a renamed branch the commit of the new one.
    pub tip: Option<ObjectId>,
    /// Its new full name, or that of the remote-tracking branch.
    pub renamed_to: Option<String>,
}

/// The remote-tracking branch for a branch with this full name, and its commit.
fn at_remote(repo: &Repository, name: &str) -> Result<Option<(String, ObjectId)>, Error> {
    let Some(branch) = name.strip_prefix("refs/heads/") else {
        return Ok(None);
    };
    for remote in repo.remote_names() {
        let full = format!("refs/remotes/{remote}/{branch}");
        if let Some(tip) = branches::resolve(repo, &full)? {
            return Ok(Some((full, tip)));
        }
    }
    Ok(None)
}

/// Whether the reflog of HEAD knows a branch with this full name.
fn was_checked_out(repo: &Repository, name: &str) -> Result<bool, Error> {
    let branch = branches::short(name);
    let left = format!("checkout: moving from {branch} to ");
    let log = refs::reflog(repo, "HEAD")?;
    Ok(log.iter().any(|entry| entry.message.starts_with(&left)))
}

/// Fate of the branch with this full name, which pointed to `then` at the time `since` (seconds since 1970).
///
/// A rename is found in the reflogs, where they are kept; without them the branch counts as absent.
pub fn branch_of(
    repo: &Repository,
    name: &str,
    then: Option<ObjectId>,
    since: i64,
    limits: RewriteLimits,
) -> Result<Tip, Error> {
    let tip = branches::resolve(repo, name)?;
    let Some(now) = tip else {
        if let Some((renamed_to, tip)) = renamed(repo, name, since)? {
            return Ok(Tip {
                fate: BranchFate::Renamed,
                tip: Some(tip),
                renamed_to: Some(renamed_to),
            });
        }
        if let Some((remote, tip)) = at_remote(repo, name)? {
            return Ok(Tip {
                fate: BranchFate::Remote,
                tip: Some(tip),
                renamed_to: Some(remote),
            });
        }
        let unborn = then.is_none() && refs::head_branch(repo)?.as_deref() == Some(name);
        return Ok(Tip {
            fate: if unborn {
                BranchFate::Unborn
            } else if was_checked_out(repo, name)? {
                BranchFate::Deleted
            } else {
                BranchFate::Absent
            },
            tip: None,
            renamed_to: None,
        });
    };
    let fate = match then {
        None => BranchFate::Born,
        Some(then) if then == now => BranchFate::Same,
        Some(then) => {
            let relation = graph::relation(repo, then, now, limits.walked)?;
            match (relation.ahead.is_empty(), relation.behind.is_empty()) {
                // What lies behind the boundary of a shallow clone may be common.
                _ if relation.shallow && relation.base.is_none() => BranchFate::Untold,
                (true, _) => BranchFate::Forward,
                (_, true) => BranchFate::Rewound,
                _ => BranchFate::Rewritten,
            }
        }
    };
    Ok(Tip {
        fate,
        tip,
        renamed_to: None,
    })
}

/// The branch whose reflog shows that it once had this name.
fn renamed(repo: &Repository, name: &str, since: i64) -> Result<Option<(String, ObjectId)>, Error> {
    let mut branches: Vec<_> = refs::list(repo, "refs/heads/")?
        .into_iter()
        .filter_map(|(name, id)| Some((name, id.ok()?)))
        .collect();
    // The one checked out is the likeliest.
    if let Some(head) = refs::head_branch(repo)? {
        branches.sort_by_key(|(name, _)| *name != head);
    }
    for (branch, tip) in branches.into_iter().take(SEARCHED) {
        let log = refs::reflog(repo, &branch)?;
        if log
            .iter()
            .any(|entry| entry.who.time.seconds >= since && is_rename(entry.message.as_str().into(), name))
            && !is_session(repo, tip)
        {
            return Ok(Some((branch, tip)));
        }
    }
    Ok(None)
}

/// Whether a branch is a session: some servers take sessions only as branches, and a user who fetched one by hand has
/// no branch of the project.
fn is_session(repo: &Repository, tip: ObjectId) -> bool {
    checkpoint::entry(repo, tip).is_ok_and(|entry| entry.trailers.digest.is_some())
}

/// The branches that contain a commit: HEAD's first, then the upstream and the remote's default branch, then the other
/// local ones. At most 64 are asked, and `except` is not.
pub fn containing(
    repo: &Repository,
    commit: ObjectId,
    upstream: Option<&str>,
    except: Option<&str>,
    limits: RewriteLimits,
) -> Result<Vec<String>, Error> {
    let head = refs::head(repo)?;
    let mut tips: Vec<(String, ObjectId)> = Vec::new();
    let mut add = |name: String, id: Option<ObjectId>| {
        if let Some(id) = id
            && Some(&*name) != except
            && tips.len() < 64
            && !tips.iter().any(|(known, _)| *known == name)
        {
            tips.push((name, id));
        }
    };
    add(head.branch.unwrap_or_else(|| "HEAD".to_owned()), head.id);
    for name in upstream
        .into_iter()
        .chain(["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"])
    {
        add(name.to_owned(), branches::resolve(repo, name).ok().flatten());
    }
    for (name, id) in refs::list(repo, "refs/heads/")? {
        add(name, id.ok().filter(|id| !is_session(repo, *id)));
    }
    let ids: Vec<_> = tips.iter().map(|(_, id)| *id).collect();
    let found = graph::containing(repo, commit, &ids, limits.walked)?;
    let names = tips.into_iter().zip(found).filter(|(_, found)| *found == Some(true));
    Ok(names.map(|((name, _), _)| branches::short(&name)).collect())
}

/// An upstream of then, now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamState {
    /// Fate of the upstream.
    pub fate: UpstreamFate,
    /// The commit it points to.
    pub tip: Option<ObjectId>,
    /// Commits gained.
    pub gained: Option<BoundedCount>,
    /// Commits lost.
    pub dropped: Option<BoundedCount>,
}

/// Fate of the upstream with this short name, which pointed to `then`.
pub fn upstream_of(
    repo: &Repository,
    name: &str,
    then: Option<ObjectId>,
    limits: RewriteLimits,
) -> Result<UpstreamState, Error> {
    let mut tip = None;
    for prefix in ["refs/remotes/", "refs/heads/", "refs/"] {
        tip = branches::resolve(repo, &format!("{prefix}{name}"))?;
        if tip.is_some() {
            break;
        }
    }
    let now = |fate, gained, dropped| UpstreamState {
        fate,
        tip,
        gained,
        dropped,
    };
    Ok(match (then, tip) {
        (_, None) => now(UpstreamFate::Gone, None, None),
        (None, Some(_)) => now(UpstreamFate::Same, None, None),
        (Some(then), Some(tip)) if then == tip => now(UpstreamFate::Same, None, None),
        // Nothing keeps the old commit after a force-push was fetched; it may have been collected.
        (Some(then), Some(_)) if !repo.has_object(then) => now(UpstreamFate::Rewritten, None, None),
        (Some(then), Some(tip)) => {
            let relation = graph::relation(repo, then, tip, limits.walked)?;
            let gained = Some(counted(&relation.behind, relation.complete));
            if relation.shallow && relation.base.is_none() {
                now(UpstreamFate::Unknown, None, None)
            } else if relation.ahead.is_empty() {
                now(UpstreamFate::Forward, gained, None)
            } else {
                now(
                    UpstreamFate::Rewritten,
                    gained,
                    Some(counted(&relation.ahead, relation.complete)),
                )
            }
        }
    })
}
