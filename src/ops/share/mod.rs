//! Sharing: sessions to a remote and from one.
//!
//! git is the child that talks to the other side; what it may do is named here, ref by ref. What comes in waits in a
//! namespace of its own until it has been checked, and no session of this repository moves but in `pull`, which drops
//! nothing. Sessions are compared by their chains of digests, not by commit ids: a prune changes these and keeps those.

mod apart;
pub mod automatic;
pub mod bundle;
mod chain;
mod change;
mod check;
mod error;
pub mod fetch;
mod listing;
mod outgoing;
pub mod pull;
pub mod push;
mod ref_faults;
mod since;
pub mod status;

pub use apart::PrunedSide;
pub use chain::ChainRelation;
pub use error::{Error, Leak, LeakedCommit, PurgeObstacle};

use super::Scene;
use crate::{
    git::{Exchange, Git},
    store::{
        self,
        remote::{self, Remote},
    },
};

/// Progress and interruption of an operation that talks to another repository.
#[derive(Clone, Copy)]
pub struct Wire<'a> {
    /// A line that the other side said, for people.
    pub said: &'a dyn Fn(&str),
    /// Progress callback: label, done, total.
    pub progress: &'a dyn Fn(&str, u64, u64),
    /// Whether the user wants to stop.
    pub stopped: &'a dyn Fn() -> bool,
}

/// The remote of this name, or the one that is meant without a name.
fn find(scene: &Scene<'_>, name: Option<&str>, push: bool) -> Result<Remote, Error> {
    let found = match name {
        Some(name) => remote::find(scene.repo, name),
        None => remote::default(scene.repo, push),
    };
    let found = found.ok_or_else(|| Error::NoRemote {
        name: name.map(str::to_owned),
        known: remote::all(scene.repo).into_iter().map(|remote| remote.name).collect(),
    })?;
    match found.namespace_fault {
        Some(why) => Err(Error::Namespace {
            remote: found.name,
            value: found.namespace,
            why,
        }),
        None => Ok(found),
    }
}

/// Runs a git child that talks to a remote, and passes on its output. `limit` bounds what it may receive, in bytes.
fn exchange(git: Git, wire: Wire<'_>, limit: Option<u64>) -> Result<Exchange, Error> {
    let mut too_much = None;
    let mut said = |line: &str, redrawn: bool| {
        if let Some(words) = line.strip_prefix("remote: ") {
            // Progress of the other side comes this way as well.
            if !redrawn && step(words).is_none() && !is_report(words) {
                (wire.said)(words.trim_end());
            }
        }
        let step = step(line.strip_prefix("remote: ").unwrap_or(line));
        if let Some((title, done, total)) = step {
            (wire.progress)(title, done, total);
        }
        let over = |limit: &u64| received(line).is_some_and(|bytes| bytes > *limit);
        too_much = too_much.or(limit.filter(over));
        too_much.is_none()
    };
    let exchange = git
        .network()
        .exchange(&mut said, wire.stopped)
        .map_err(store::Error::from)?;
    if let Some(limit) = too_much {
        return Err(Error::TooLarge { limit });
    }
    if exchange.stopped {
        return Err(Error::Stopped);
    }
    Ok(exchange)
}

/// Whether the other side's git reports what it packs, which means nothing to people.
fn is_report(words: &str) -> bool {
    [
        "Enumerating objects: ",
        "Counting objects: ",
        "Compressing objects: ",
        "Total ",
        "Resolving deltas: ",
    ]
    .iter()
    .any(|start| words.starts_with(start))
}

/// `Receiving objects:  42% (42/100), 1.20 MiB | ...` as title, done and total.
fn step(line: &str) -> Option<(&str, u64, u64)> {
    let (title, rest) = line.split_once(": ")?;
    let (percent, rest) = rest.split_once('%')?;
    percent.trim().parse::<u8>().ok()?;
    let (done, rest) = rest.trim_start().strip_prefix('(')?.split_once('/')?;
    let (total, _) = rest.split_once(')')?;
    Some((title, done.parse().ok()?, total.parse().ok()?))
}

/// The bytes that were received, by a line of progress.
fn received(line: &str) -> Option<u64> {
    // A small pack is unpacked as it comes.
    let titles = ["Receiving objects: ", "Unpacking objects: "];
    let rest = titles.iter().find_map(|title| line.strip_prefix(title))?;
    let (_, rest) = rest.split_once("), ")?;
    let mut words = rest.split([' ', '|', ',']);
    let number = words.next()?;
    let unit: u64 = match words.next()? {
        "bytes" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    // Two digits behind the point do not matter for a limit.
    number.split('.').next()?.parse::<u64>().ok()?.checked_mul(unit)
}

/// Words of git about its failure, without its general advice.
fn reasons(words: &str) -> Vec<String> {
    let plain = |line: &&str| !line.starts_with("remote: ") && step(line).is_none();
    let why: Vec<String> = words
        .lines()
        .filter(plain)
        .map(|line| {
            let line = line.trim_start_matches("fatal: ").trim_start_matches("error: ");
            remote::without_credentials(line.trim_end_matches('.'))
        })
        .filter(|line| !line.is_empty())
        .collect();
    // Where there is a reason, git's general advice behind it is of no use.
    let general = [
        "Could not read from remote repository",
        "Please make sure you have the correct access",
        "and the repository exists",
    ];
    let is_general = |line: &String| general.iter().any(|start| line.starts_with(start));
    let told = why
        .iter()
        .filter(|line| !is_general(line))
        .take(6)
        .cloned()
        .collect::<Vec<_>>();
    if told.is_empty() { why } else { told }
}

/// Why a child that talked to a remote failed.
fn unreachable(remote: &Remote, words: &str) -> Error {
    let has = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    Error::Unreachable {
        remote: remote.name.clone(),
        denied: has(&[
            "Authentication failed",
            "Permission denied",
            "could not read Username",
            "could not read Password",
            "403",
            "access denied",
        ]),
        missing: has(&["does not appear to be a git repository", "does not exist", "not found"]),
        why: reasons(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read() {
        let line = "Receiving objects:  42% (42/100), 1.20 MiB | 2.00 MiB/s";
        assert_eq!(step(line), Some(("Receiving objects", 42, 100)));
        assert_eq!(received(line), Some(1 << 20));
        assert_eq!(
            received("Receiving objects: 100% (3/3), 512 bytes | 512.00 KiB/s, done."),
            Some(512)
        );
        assert_eq!(step("Total 3 (delta 0), reused 0 (delta 0)"), None);
        assert_eq!(received("Receiving objects: 100% (3/3), done."), None);
    }
}
