//! Which sessions a remote has, by its refs in every namespace that may hold sessions.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Error, Wire, exchange, unreachable};
use crate::{
    model::name::ShortName,
    ops::Scene,
    store::{self, ObjectId, checkpoint, graph, remote::Remote},
};

/// The most refs of sessions that a remote may have.
const MAX_SESSIONS: usize = 120_000;
/// The most sessions that are asked for by their names.
const MOST_PATTERNS: usize = 500;
/// Limit of commits that are searched to decide whether one descends from another.
const WALKED: usize = 200_000;

/// A ref of a session over there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedRef {
    /// The beginning of its name, with the slash.
    pub(super) namespace: String,
    /// Its value.
    pub(super) id: ObjectId,
}

/// The refs of sessions that a remote has.
#[derive(Debug, Default)]
pub(super) struct RemoteListing {
    /// Sessions by name, each with its refs; that of the namespace which is pushed to comes first.
    pub(super) sessions: BTreeMap<ShortName, Vec<ListedRef>>,
    /// Names that are no sessions' names, escaped, with the reason.
    pub(super) refused: Vec<(String, String)>,
    /// Of one session: names of others that begin with its name.
    pub(super) alike: Vec<ShortName>,
}

/// Asks a remote for its sessions, or for one and those that are called alike.
pub(super) fn of(
    scene: &Scene<'_>,
    remote: &Remote,
    wanted: Option<&ShortName>,
    wire: Wire<'_>,
) -> Result<RemoteListing, Error> {
    let namespaces = remote.namespaces();
    let name = wanted.map(ShortName::as_str).unwrap_or_default();
    // Those that are called alike as well: a session that has to step aside takes no name of theirs.
    let patterns = namespaces.iter().map(|namespace| format!("{namespace}{name}*"));
    let refs = ask(scene, remote, patterns.collect(), wire)?;
    let mut listing = RemoteListing::default();
    for namespace in namespaces {
        let guess = remote.is_guess(namespace);
        for (full, id) in &refs {
            // The pattern matches the end of a name as well.
            let Some(short) = full.strip_prefix(namespace) else {
                continue;
            };
            if wanted.is_some_and(|wanted| short != wanted.as_str()) {
                listing.alike.extend(ShortName::new(short));
                continue;
            }
            match (ShortName::new(short), ObjectId::from_hex(id.as_bytes())) {
                (Ok(name), Ok(id)) => {
                    let refs = listing.sessions.entry(name).or_default();
                    let is_other = guess && checkpoint::is_other(scene.repo, id);
                    if !is_other && refs.iter().all(|known| known.id != id) {
                        refs.push(ListedRef {
                            namespace: namespace.to_owned(),
                            id,
                        });
                    }
                }
                _ if guess => {}
                (Err(why), _) => {
                    let refused = (short.escape_debug().to_string(), why.reason.to_owned());
                    listing.refused.push(refused);
                }
                (Ok(name), Err(_)) => listing.refused.push((name.to_string(), "its id is invalid".to_owned())),
            }
        }
    }
    listing.sessions.retain(|_, refs| !refs.is_empty());
    listing.alike.sort();
    listing.alike.dedup();
    if listing.sessions.len() + listing.refused.len() + listing.alike.len() > MAX_SESSIONS {
        return Err(too_many(remote));
    }
    Ok(listing)
}

/// Asks a remote for these sessions.
pub(super) fn named(
    scene: &Scene<'_>,
    remote: &Remote,
    names: &[ShortName],
    wire: Wire<'_>,
) -> Result<RemoteListing, Error> {
    let found = exact(scene, remote, &names.iter().collect::<Vec<_>>(), wire)?;
    let mut listing = RemoteListing::default();
    for namespace in remote.namespaces() {
        for (full, id) in &found {
            let name = full
                .strip_prefix(namespace)
                .and_then(|short| ShortName::new(short).ok());
            let is_other = || remote.is_guess(namespace) && checkpoint::is_other(scene.repo, *id);
            let Some(name) = name.filter(|_| !is_other()) else {
                continue;
            };
            let refs = listing.sessions.entry(name).or_default();
            if refs.iter().all(|known| known.id != *id) {
                let namespace = namespace.to_owned();
                refs.push(ListedRef { namespace, id: *id });
            }
        }
    }
    Ok(listing)
}

/// The refs that hold these sessions, with their values.
pub(super) fn exact(
    scene: &Scene<'_>,
    remote: &Remote,
    names: &[&ShortName],
    wire: Wire<'_>,
) -> Result<Vec<(String, ObjectId)>, Error> {
    let namespaces = remote.namespaces();
    let wanted: Vec<String> = names
        .iter()
        .flat_map(|name| namespaces.iter().map(move |namespace| format!("{namespace}{name}")))
        .collect();
    // Very many names are more than a command line takes; git gets the whole list in any case.
    let patterns = if names.len() > MOST_PATTERNS {
        namespaces.iter().map(|namespace| format!("{namespace}*")).collect()
    } else {
        wanted.clone()
    };
    let refs = ask(scene, remote, patterns, wire)?;
    let wanted: HashSet<String> = wanted.into_iter().collect();
    let found = refs.into_iter().filter(|(full, _)| wanted.contains(full));
    Ok(found
        .filter_map(|(full, id)| Some((full, ObjectId::from_hex(id.as_bytes()).ok()?)))
        .collect())
}

/// The refs of a remote that match patterns, with their values.
pub(super) fn refs(
    scene: &Scene<'_>,
    remote: &Remote,
    patterns: Vec<String>,
    wire: Wire<'_>,
) -> Result<HashMap<String, ObjectId>, Error> {
    let refs = ask(scene, remote, patterns, wire)?.into_iter();
    Ok(refs
        .filter_map(|(full, id)| Some((full, ObjectId::from_hex(id.as_bytes()).ok()?)))
        .collect())
}

/// Runs `git ls-remote`; pairs of names and values.
fn ask(
    scene: &Scene<'_>,
    remote: &Remote,
    patterns: Vec<String>,
    wire: Wire<'_>,
) -> Result<Vec<(String, String)>, Error> {
    let git = store::git(scene.repo)
        .args(["ls-remote", "--refs", "--", &remote.name])
        .args(patterns);
    let exchange = exchange(git, wire, None)?;
    if exchange.cut {
        return Err(too_many(remote));
    }
    if exchange.code != Some(0) {
        return Err(unreachable(remote, &exchange.words));
    }
    let text = String::from_utf8_lossy(&exchange.stdout);
    let pair = |line: &str| line.split_once('\t').map(|(id, full)| (full.to_owned(), id.to_owned()));
    Ok(text.lines().filter_map(pair).collect())
}

fn too_many(remote: &Remote) -> Error {
    Error::TooMany {
        remote: remote.name.clone(),
        limit: MAX_SESSIONS,
    }
}

/// Drops the refs of a session that are older states of what is known of it: they were left in another namespace.
pub(super) fn without_old(scene: &Scene<'_>, refs: &mut Vec<ListedRef>, known: Option<ObjectId>) {
    let Some(known) = known.filter(|known| refs.iter().any(|found| found.id == *known)) else {
        return;
    };
    refs.retain(|found| {
        let is_here = scene.repo.has_object(found.id);
        found.id == known
            || !is_here
            || graph::is_ancestor(scene.repo, found.id, known, WALKED).ok() != Some(Some(true))
    });
}
