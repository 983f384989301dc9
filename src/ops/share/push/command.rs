//! The command line of `git push`, and what git answers to it.

use std::collections::BTreeMap;

use super::{
    super::{Error, Wire, exchange},
    answer::RemoteAnswer,
};
use crate::{
    git::Exchange,
    store::{self, ObjectId, Repository, remote::Remote},
};

/// A ref as it is given to git.
pub(super) struct PushSpec {
    /// Its new value; `None` deletes it.
    pub(super) id: Option<ObjectId>,
    /// Its name at the remote.
    pub(super) target: String,
    /// Expected remote value; `None` for a fast-forward.
    pub(super) lease: Option<ObjectId>,
    /// Whether it moves wherever it is.
    pub(super) force: bool,
}

/// Answers by the refs that they are about, and the end of the child.
pub(super) struct PushAnswers {
    pub(super) of: BTreeMap<String, RemoteAnswer>,
    pub(super) exchange: Exchange,
}

/// Runs `git push` with exactly these refs, and the user's pre-push hook.
pub(super) fn push_refs(
    repo: &Repository,
    remote: &Remote,
    specs: &[PushSpec],
    dry_run: bool,
    wire: Wire<'_>,
) -> Result<PushAnswers, Error> {
    let mut git = store::git(repo)
        .user_hooks()
        // Our own hook makes checkpoints of a user's pushes, not of ours.
        .env("CHECKPOINT_HOOK", "off")
        .config("push.useForceIfIncludes=false")
        .args([
            "push",
            "--porcelain",
            "--progress",
            "--no-follow-tags",
            "--recurse-submodules=no",
        ])
        .args(dry_run.then_some("--dry-run"));
    for spec in specs {
        if let Some(lease) = spec.lease {
            git = git.arg(format!("--force-with-lease={}:{lease}", spec.target));
        }
    }
    git = git.arg("--").arg(&remote.name);
    for spec in specs {
        // One with a lease must not be forced as well, or the lease would not count.
        let force = if spec.force && spec.lease.is_none() { "+" } else { "" };
        let id = spec.id.map(|id| id.to_string()).unwrap_or_default();
        git = git.arg(format!("{force}{id}:{}", spec.target));
    }
    let exchange = exchange(git, wire, None)?;
    let mut of = BTreeMap::new();
    for line in String::from_utf8_lossy(&exchange.stdout).lines() {
        let Some((target, answer)) = RemoteAnswer::read(line) else {
            continue;
        };
        // With several URLs a ref has several answers, of which the worst counts.
        of.entry(target)
            .and_modify(|known: &mut RemoteAnswer| {
                if known.is_good() {
                    *known = answer.clone();
                }
            })
            .or_insert(answer);
    }
    Ok(PushAnswers { of, exchange })
}
