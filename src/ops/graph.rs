//! The graph of a session: its checkpoints, those of the source it was forked from, and of the forks that came of it.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::{Error, Scene, select};
use crate::{
    model::{document::CheckpointKind, name::ShortName, selector::Selector},
    store::{
        ObjectId, ancestry,
        checkpoint::{self, CheckpointCommit},
        session,
    },
};

/// A checkpoint in a graph.
#[derive(Debug)]
pub struct GraphCheckpoint {
    /// The checkpoint.
    pub entry: CheckpointCommit,
    /// The session it is a checkpoint of.
    pub session: String,
    /// Whether it is that session's latest.
    pub is_tip: bool,
    /// Of the first checkpoint of a fork: the option of a fork point that it explores.
    pub option: Option<String>,
    /// The checkpoint before it, of this or of the source session, if that is in the graph.
    pub previous: Option<ObjectId>,
    /// Checkpoint that it merged in, if that is in the graph.
    pub merged: Option<ObjectId>,
}

/// The graph around a session, children before parents, latest first; at most `limit` checkpoints.
pub fn graph(
    scene: &Scene<'_>,
    selector: Option<&Selector>,
    limit: Option<usize>,
) -> Result<Vec<GraphCheckpoint>, Error> {
    let current = Selector::current();
    let (wanted, _) = select::session(scene, selector.unwrap_or(&current))?;
    let mut chains = read(scene)?;
    let wanted = related(&chains, wanted.as_str());
    chains.retain(|chain| wanted.contains(&chain.session));
    let tips: BTreeSet<ObjectId> = chains
        .iter()
        .filter_map(|chain| chain.entries.first())
        .map(|e| e.id)
        .collect();
    let mut nodes = BTreeMap::<ObjectId, (String, CheckpointCommit)>::new();
    let mut children = BTreeMap::<ObjectId, usize>::new();
    for chain in chains {
        for entry in chain.entries {
            nodes.insert(entry.id, (chain.session.clone(), entry));
        }
    }
    merged_sides(scene, &mut nodes);
    for (_, entry) in nodes.values() {
        for parent in previous(entry).into_iter().chain(entry.merged_commit()) {
            *children.entry(parent).or_default() += 1;
        }
    }
    let mut out = sorted(nodes, children, &tips, limit.unwrap_or(usize::MAX));
    for node in out.iter_mut().filter(|node| is_fork(&node.entry)) {
        // A damaged one is drawn even so.
        let document = checkpoint::load(scene.repo, node.entry.id)
            .ok()
            .map(|found| found.document);
        node.option = document.and_then(|document| document.session.forked_from?.option);
    }
    Ok(out)
}

/// Adds what was merged in and is in no chain any more: what was only here when a session was brought together.
fn merged_sides(scene: &Scene<'_>, nodes: &mut BTreeMap<ObjectId, (String, CheckpointCommit)>) {
    let mut known: BTreeSet<ObjectId> = nodes.keys().copied().collect();
    let tips: Vec<ObjectId> = nodes.values().filter_map(|(_, entry)| entry.merged_commit()).collect();
    for tip in tips {
        for entry in ancestry::merged_sides(scene.repo, tip, &mut known) {
            let session = entry.trailers.session.clone().unwrap_or_default();
            nodes.insert(entry.id, (session, entry));
        }
    }
}

/// A session's own checkpoints, latest first.
struct GraphChain {
    session: String,
    entries: Vec<CheckpointCommit>,
}

fn read(scene: &Scene<'_>) -> Result<Vec<GraphChain>, Error> {
    let mut chains = Vec::new();
    for session in session::all(scene.repo)? {
        let (Ok(name), Ok(tip)) = (ShortName::new(session.name), session.tip) else {
            continue;
        };
        let entries = session::chain(scene.repo, tip.id).map_while(Result::ok).collect();
        chains.push(GraphChain {
            session: name.to_string(),
            entries,
        });
    }
    Ok(chains)
}

/// The sessions that share checkpoints with one by forking, however far.
fn related(chains: &[GraphChain], wanted: &str) -> BTreeSet<String> {
    let owner: BTreeMap<ObjectId, &str> = chains
        .iter()
        .flat_map(|c| c.entries.iter().map(|e| (e.id, c.session.as_str())))
        .collect();
    let mut edges = Vec::new();
    for chain in chains {
        let source = chain
            .entries
            .last()
            .filter(|e| is_fork(e))
            .and_then(|e| e.parents.first());
        let merged = chain.entries.iter().filter_map(CheckpointCommit::merged_commit);
        let others = source.copied().into_iter().chain(merged);
        for other in others.filter_map(|id| owner.get(&id)) {
            edges.push((chain.session.as_str(), *other));
        }
    }
    let mut found = BTreeSet::from([wanted.to_owned()]);
    loop {
        let before = found.len();
        for (fork, source) in &edges {
            if found.contains(*fork) || found.contains(*source) {
                found.extend([(*fork).to_owned(), (*source).to_owned()]);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

fn is_fork(entry: &CheckpointCommit) -> bool {
    entry.trailers.kind == Some(CheckpointKind::Fork)
}

fn previous(entry: &CheckpointCommit) -> Option<ObjectId> {
    let first = entry.trailers.kind == Some(CheckpointKind::Start);
    entry.parents.first().copied().filter(|_| !first)
}

/// Children before parents; among those that may come next, the latest.
fn sorted(
    mut nodes: BTreeMap<ObjectId, (String, CheckpointCommit)>,
    mut children: BTreeMap<ObjectId, usize>,
    tips: &BTreeSet<ObjectId>,
    limit: usize,
) -> Vec<GraphCheckpoint> {
    let known: BTreeSet<ObjectId> = nodes.keys().copied().collect();
    let free = nodes
        .values()
        .filter(|(_, e)| !children.contains_key(&e.id))
        .map(|(_, e)| (e.time, e.id));
    let mut ready: BinaryHeap<_> = free.collect();
    let mut out = Vec::new();
    while out.len() < limit
        && let Some((_, id)) = ready.pop()
    {
        let Some((session, entry)) = nodes.remove(&id) else {
            continue;
        };
        let previous = previous(&entry).filter(|id| known.contains(id));
        let merged = entry.merged_commit().filter(|id| known.contains(id));
        for parent in previous.into_iter().chain(merged) {
            let Some(count) = children.get_mut(&parent) else {
                continue;
            };
            *count -= 1;
            if *count == 0
                && let Some((_, parent)) = nodes.get(&parent)
            {
                ready.push((parent.time, parent.id));
            }
        }
        out.push(GraphCheckpoint {
            is_tip: tips.contains(&id),
            option: None,
            session,
            entry,
            previous,
            merged,
        });
    }
    out
}
