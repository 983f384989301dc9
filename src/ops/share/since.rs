//! Sessions of a remote by the date of their latest checkpoint.
//!
//! A ref has no date. So the latest checkpoints that are not here yet are fetched first, without what came before them and,
//! where the server can leave that out, without their trees: some hundred bytes a session. They go to a repository of
//! their own, which is removed again.

use std::collections::{BTreeMap, BTreeSet};

use super::{Error, Wire, exchange, fetch::WantedRef, unreachable};
use crate::{
    model::name::ShortName,
    ops::Scene,
    store::{self, checkpoint, remote::Remote, scratch::ProbeRepository},
};

/// The namespace in that repository.
const PREFIX: &str = "refs/since/";

/// Leaves out the refs whose latest checkpoint is older than a time, and gives the number of sessions without any other.
/// What has no date is kept: the check refuses it.
pub(super) fn leave_out_older(
    scene: &Scene<'_>,
    remote: &Remote,
    wanted: Vec<WantedRef>,
    since: i64,
    wire: Wire<'_>,
) -> Result<(Vec<WantedRef>, usize), Error> {
    let (here, unknown): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|one| scene.repo.has_object(one.listed.id));
    let mut recent = Vec::new();
    let mut older = BTreeSet::<ShortName>::new();
    let mut sort = |one: WantedRef, at: Option<i64>| match at {
        Some(at) if at < since => drop(older.insert(one.name)),
        _ => recent.push(one),
    };
    for one in here {
        let at = checkpoint::entry(scene.repo, one.listed.id)
            .ok()
            .map(|entry| entry.time.unix());
        sort(one, at);
    }
    let dates = dates(scene, remote, &unknown, wire)?;
    for (number, one) in unknown.into_iter().enumerate() {
        sort(one, dates.get(&number).copied());
    }
    older.retain(|name| recent.iter().all(|one| one.name != *name));
    Ok((recent, older.len()))
}

/// The dates of commits that are not here, by the place of their refs.
fn dates(
    scene: &Scene<'_>,
    remote: &Remote,
    refs: &[WantedRef],
    wire: Wire<'_>,
) -> Result<BTreeMap<usize, i64>, Error> {
    if refs.is_empty() {
        return Ok(BTreeMap::new());
    }
    let probe = ProbeRepository::new(scene.repo, &remote.name)?;
    let lines = refs.iter().enumerate();
    let lines = lines.map(|(number, one)| format!("+{}{}:{PREFIX}{number}\n", one.listed.namespace, one.name));
    let git = probe
        .git()
        .args([
            "fetch",
            "--progress",
            "--depth=1",
            "--filter=tree:0",
            "--no-tags",
            "--no-prune",
        ])
        .args([
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
        ])
        .args(["--no-show-forced-updates", "--refmap=", "--stdin", "--"])
        .arg(&remote.name)
        .input(lines.collect::<String>());
    let exchange = exchange(git, wire, Some(scene.settings.max_fetch_size))?;
    if exchange.code != Some(0) {
        return Err(unreachable(remote, &exchange.words));
    }
    let format = "--format=%(refname:lstrip=2) %(committerdate:unix)";
    let listed = probe
        .git()
        .args(["for-each-ref", format, PREFIX])
        .text()
        .map_err(store::Error::from)?;
    let date = |line: &str| {
        let (number, at) = line.split_once(' ')?;
        Some((number.parse().ok()?, at.parse().ok()?))
    };
    Ok(listed.lines().filter_map(date).collect())
}
