//! The command line of `git push`, and what git answers to it.

use std::collections::BTreeMap;

use super::{
    super::{Error, Wire, exchange},
    answer::RemoteAnswer,
};
use crate::{
    git::{Exchange, Git},
    store::{self, ObjectId, Repository, remote::Remote, scratch::ChosenRefs},
};

/// A ref as it is given to git.
pub(super) struct PushSpec {
    /// Its new value; `None` deletes it.
    pub(super) id: Option<ObjectId>,
    /// Its name at the remote.
    pub(super) target: String,
    /// Expected remote value; `None` for a fast-forward. No ref moves wherever it is.
    pub(super) lease: Option<ObjectId>,
}

impl PushSpec {
    /// Whether a pattern of the namespace can replace it: it is moved forward, as git does by itself.
    fn is_plain(&self, namespace: &str) -> bool {
        self.id.is_some() && self.lease.is_none() && self.target.starts_with(namespace)
    }

    fn lease_option(&self) -> Option<String> {
        let lease = self.lease?;
        Some(format!("--force-with-lease={}:{lease}", self.target))
    }

    fn argument(&self) -> String {
        // One with a lease must not be forced as well, or the lease would not count.
        let id = self.id.map(|id| id.to_string()).unwrap_or_default();
        format!("{id}:{}", self.target)
    }
}

/// Answers by the refs that they are about, and the end of the child.
#[derive(Default)]
pub(super) struct PushAnswers {
    pub(super) of: BTreeMap<String, RemoteAnswer>,
    pub(super) exchange: Exchange,
}

impl PushAnswers {
    /// Those of a further run as well. Of its end the worse one counts.
    fn and(mut self, more: Self) -> Self {
        self.of.extend(more.of);
        self.exchange.words.push_str(&more.exchange.words);
        if self.exchange.code == Some(0) {
            self.exchange.code = more.exchange.code;
        }
        self
    }
}

/// As many refs are named; more go by a pattern, and of those that cannot, as many at a time.
pub(super) const NAMED: usize = 64;

/// Runs `git push` with exactly these refs, and the user's pre-push hook.
pub(super) fn push_refs(
    repo: &Repository,
    remote: &Remote,
    specs: &[PushSpec],
    dry_run: bool,
    wire: Wire<'_>,
) -> Result<PushAnswers, Error> {
    let (plain, mut named): (Vec<_>, Vec<_>) = specs.iter().partition(|spec| spec.is_plain(&remote.namespace));
    let mut runs = Vec::new();
    let refs = plain
        .iter()
        .filter_map(|spec| Some((&*spec.target, spec.id?)))
        .collect();
    // Where such a directory cannot be had, as below a path that is not UTF-8, it only takes longer.
    let chosen = (plain.len() > NAMED)
        .then(|| ChosenRefs::new(repo, &refs).ok())
        .flatten();
    if let Some(chosen) = chosen {
        let pattern = format!("{0}*:{0}*", remote.namespace);
        runs.push(run(chosen.git(), remote, &[], &[pattern], dry_run, wire)?);
    } else {
        named.extend(plain);
    }
    for some in named.chunks(NAMED) {
        let leases: Vec<_> = some.iter().filter_map(|spec| spec.lease_option()).collect();
        let refs: Vec<_> = some.iter().map(|spec| spec.argument()).collect();
        runs.push(run(store::git(repo), remote, &leases, &refs, dry_run, wire)?);
    }
    Ok(runs.into_iter().reduce(PushAnswers::and).unwrap_or_default())
}

/// Runs `git push` once.
fn run(
    git: Git,
    remote: &Remote,
    leases: &[String],
    refs: &[String],
    dry_run: bool,
    wire: Wire<'_>,
) -> Result<PushAnswers, Error> {
    let git = git
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
        .args(dry_run.then_some("--dry-run"))
        .args(leases)
        .arg("--")
        .arg(&remote.name)
        .args(refs);
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
