//! Checkpoints that a checkpoint comes from: by its own chain, by forks and by merges.
//!
//! A prune writes commits again and leaves digests, so checkpoints are known by their digests here.

use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque, hash_map::Entry as MapEntry};

use super::{
    ObjectId, Repository,
    checkpoint::{self, Checkpoint, CheckpointCommit, Fault},
    rewrite,
};
use crate::model::{document::CheckpointKind, id::Digest};

/// The merges that are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeEdges {
    /// All.
    All,
    /// Those that merged files; of one without files, the side whose files it has.
    Files,
}

/// A checkpoint that could not be read, and why.
#[derive(Debug)]
pub struct AncestryFault {
    /// The checkpoint.
    pub id: ObjectId,
    /// Its fault.
    pub fault: Box<Fault>,
}

/// Relation of two checkpoints.
#[derive(Debug)]
pub struct CheckpointRelation {
    /// The best common ancestors, latest first. Several after merges in both directions.
    pub bases: Vec<ObjectId>,
    /// Checkpoints that the first one alone comes from, itself included.
    pub ahead: usize,
    /// Checkpoints that the second one alone comes from, itself included.
    pub behind: usize,
}

/// The checkpoints right before one.
pub fn parents(repo: &Repository, entry: &CheckpointCommit, edges: MergeEdges) -> Result<Vec<ObjectId>, Fault> {
    let is_start = entry.trailers.kind == Some(CheckpointKind::Start);
    let mut out: Vec<ObjectId> = entry
        .parents
        .first()
        .copied()
        .filter(|_| !is_start)
        .into_iter()
        .collect();
    if entry.merged_commit().is_some() {
        let checkpoint = checkpoint::load(repo, entry.id)?;
        let merged = checkpoint.document.merged.as_ref();
        let is_followed = merged.is_some_and(|merged| edges == MergeEdges::All || merged.files);
        if is_followed {
            out.extend(checkpoint.merged());
        } else if let Some(other) = checkpoint.merged()
            && let Some(previous) = checkpoint.previous()
            && has_files_of(repo, &checkpoint, other)?
            && !has_files_of(repo, &checkpoint, previous)?
        {
            // It continues the chain of a remote, and has the files of the other side.
            out = vec![other];
        }
    }
    Ok(out)
}

/// Whether a checkpoint has the snapshot of another one.
fn has_files_of(repo: &Repository, checkpoint: &Checkpoint, other: ObjectId) -> Result<bool, Fault> {
    Ok(checkpoint::load(repo, other)?.snapshot() == checkpoint.snapshot())
}

/// Relation of two checkpoints by the chains and merges before them.
///
/// A checkpoint that a purge wrote again on one side has another digest there. It counts for the side that has it so, but as
/// a base it is the same as it was before: the base is then what the second one comes from, so that nothing that was purged
/// on one side alone reads as a change of the other. A checkpoint that one side pruned and the other did not is a base, too.
pub fn relation(
    repo: &Repository,
    one: ObjectId,
    other: ObjectId,
    edges: MergeEdges,
) -> Result<CheckpointRelation, AncestryFault> {
    let mut graph = Graph {
        repo,
        edges,
        nodes: HashMap::new(),
    };
    let sides = graph.sides(one, other)?;
    let (ahead, behind) = (sides.ours_alone().count(), sides.theirs_alone().count());
    let mut bases: Vec<ObjectId> = sides.bases.iter().map(|key| sides.ours[key]).collect();
    if ahead > 0 && behind > 0 && graph.follow_rewrites(&sides)? {
        let sides = graph.sides(one, other)?;
        bases = sides.bases.iter().map(|key| sides.theirs[key]).collect();
    }
    bases.sort_by_key(|id| {
        let node = &graph.nodes[id];
        std::cmp::Reverse((node.time, node.key.clone()))
    });
    Ok(CheckpointRelation { bases, ahead, behind })
}

/// The checkpoint with this digest that one is or comes from.
pub fn find(repo: &Repository, tip: ObjectId, digest: &Digest) -> Result<Option<ObjectId>, AncestryFault> {
    let mut seen = HashSet::from([tip]);
    let mut waiting = VecDeque::from([tip]);
    while let Some(id) = waiting.pop_front() {
        let faulty = |fault| AncestryFault {
            id,
            fault: Box::new(fault),
        };
        let entry = checkpoint::entry(repo, id).map_err(faulty)?;
        if entry.trailers.digest.as_ref() == Some(digest) {
            return Ok(Some(id));
        }
        let before = parents(repo, &entry, MergeEdges::All).map_err(faulty)?;
        waiting.extend(before.into_iter().filter(|id| seen.insert(*id)));
    }
    Ok(None)
}

/// The checkpoints of the merged sides that one comes from, besides those that `known` has, which is extended.
pub fn merged_sides(repo: &Repository, tip: ObjectId, known: &mut BTreeSet<ObjectId>) -> Vec<CheckpointCommit> {
    let mut out = Vec::new();
    let mut waiting = vec![tip];
    // An unreadable commit ends the walk: damage is reported where the chain is needed.
    while let Some(id) = waiting.pop() {
        if !known.insert(id) {
            continue;
        }
        let Ok(entry) = checkpoint::entry(repo, id) else {
            continue;
        };
        waiting.extend(parents(repo, &entry, MergeEdges::All).unwrap_or_default());
        out.push(entry);
    }
    out
}

/// The latest checkpoints that one comes from and whose files it does not have: only their records were merged. Latest first.
///
/// `most` checkpoints are looked at, latest first. Of what is before them nothing is known.
pub fn without_files(repo: &Repository, tip: ObjectId, most: usize) -> Result<Vec<Checkpoint>, AncestryFault> {
    let faulty = |id| {
        move |fault| AncestryFault {
            id,
            fault: Box::new(fault),
        }
    };
    let mut files: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
    let mut order = Vec::new();
    let mut is_complete = true;
    let mut entries = HashMap::from([(tip, checkpoint::entry(repo, tip).map_err(faulty(tip))?)]);
    let mut waiting = BinaryHeap::from([(i64::MAX, tip)]);
    while order.len() < most
        && let Some((_, id)) = waiting.pop()
    {
        let Some(entry) = entries.get(&id).cloned() else {
            continue;
        };
        let all = parents(repo, &entry, MergeEdges::All).map_err(faulty(id))?;
        let of_files = match entry.merged_commit() {
            Some(_) => parents(repo, &entry, MergeEdges::Files).map_err(faulty(id))?,
            None => all.clone(),
        };
        is_complete &= of_files == all;
        for parent in all {
            if let MapEntry::Vacant(place) = entries.entry(parent) {
                let entry = place.insert(checkpoint::entry(repo, parent).map_err(faulty(parent))?);
                waiting.push((entry.time.to_chrono().timestamp_millis(), parent));
            }
        }
        order.push(id);
        files.insert(id, of_files);
    }
    let mut out = Vec::new();
    if is_complete {
        return Ok(out);
    }
    let mut covered = HashSet::new();
    let mut cover = |from: ObjectId| {
        let mut waiting = vec![from];
        let is_new = !covered.contains(&from);
        while let Some(id) = waiting.pop() {
            if covered.insert(id) {
                waiting.extend(files.get(&id).into_iter().flatten());
            }
        }
        is_new
    };
    cover(tip);
    for id in order {
        // A merge of records alone has the files of one of its sides, which follows.
        let has_files_of_its_own = |found: &Checkpoint| {
            found.document.snapshot.is_some() && found.document.merged.as_ref().is_none_or(|merged| merged.files)
        };
        let checkpoint = checkpoint::load(repo, id).map_err(faulty(id))?;
        if has_files_of_its_own(&checkpoint) && cover(id) {
            out.push(checkpoint);
        }
    }
    Ok(out)
}

#[derive(Clone)]
struct Node {
    key: String,
    time: i64,
    parents: Vec<ObjectId>,
}

/// Checkpoints that two come from, by key.
struct GraphSides {
    ours: HashMap<String, ObjectId>,
    /// Those before one of ours are left out.
    theirs: HashMap<String, ObjectId>,
    bases: Vec<String>,
    /// The bases and all before them.
    common: HashSet<String>,
}

impl GraphSides {
    fn ours_alone(&self) -> impl Iterator<Item = ObjectId> {
        let alone = self.ours.iter().filter(|(key, _)| !self.common.contains(*key));
        alone.map(|(_, id)| *id)
    }

    fn theirs_alone(&self) -> impl Iterator<Item = ObjectId> {
        let alone = self.theirs.iter().filter(|(key, _)| !self.common.contains(*key));
        alone.map(|(_, id)| *id)
    }
}

struct Graph<'r> {
    repo: &'r Repository,
    edges: MergeEdges,
    nodes: HashMap<ObjectId, Node>,
}

impl Graph<'_> {
    /// Checkpoints that each of two comes from, and the best of those that they have in common.
    fn sides(&mut self, one: ObjectId, other: ObjectId) -> Result<GraphSides, AncestryFault> {
        let ours = self.reachable(one, &HashSet::new())?;
        let known: HashSet<String> = ours.keys().cloned().collect();
        let theirs = self.reachable(other, &known)?;
        let mut bases: Vec<String> = theirs.keys().filter(|key| known.contains(*key)).cloned().collect();
        if bases.len() > 1 {
            let mut earlier = HashSet::new();
            for base in &bases {
                for parent in self.nodes[&ours[base]].parents.clone() {
                    earlier.extend(self.reachable(parent, &HashSet::new())?.into_keys());
                }
            }
            bases.retain(|base| !earlier.contains(base));
        }
        let mut common = HashSet::new();
        for base in &bases {
            common.extend(self.reachable(ours[base], &HashSet::new())?.into_keys());
        }
        Ok(GraphSides {
            ours,
            theirs,
            bases,
            common,
        })
    }

    /// Gives checkpoints that a purge wrote again the key that they had before, and those that a prune wrote again what it
    /// dropped before them, as far as they are of one side alone. Returns whether there are any.
    fn follow_rewrites(&mut self, sides: &GraphSides) -> Result<bool, AncestryFault> {
        let alone: Vec<ObjectId> = sides.ours_alone().chain(sides.theirs_alone()).collect();
        let mut before: HashMap<String, String> = HashMap::new();
        let mut pruned = Vec::new();
        for id in &alone {
            let faulty = |fault| AncestryFault {
                id: *id,
                fault: Box::new(fault),
            };
            let entry = checkpoint::entry(self.repo, *id).map_err(faulty)?;
            let lines = rewrite::lines(self.repo, &entry).map_err(faulty)?;
            let purged = rewrite::purged(&lines);
            for line in lines {
                let key = line.digest.to_string();
                match line.now {
                    Some(now) if now != line.digest => drop(before.insert(now.to_string(), key)),
                    None if !purged.contains(&line.digest) => {
                        let found = sides.ours.get(&key).or_else(|| sides.theirs.get(&key));
                        pruned.extend(found.map(|before| (*id, *before)));
                    }
                    _ => {}
                }
            }
        }
        if before.is_empty() && pruned.is_empty() {
            return Ok(false);
        }
        for (id, before) in pruned {
            if let Some(node) = self.nodes.get_mut(&id).filter(|_| id != before) {
                node.parents.push(before);
            }
        }
        for id in &alone {
            let Some(node) = self.nodes.get_mut(id) else { continue };
            // A list that leads round in circles is none of ours, and is not followed for ever.
            for _ in 0..=before.len() {
                let Some(earlier) = before.get(&node.key) else { break };
                node.key.clone_from(earlier);
            }
        }
        Ok(true)
    }

    fn node(&mut self, id: ObjectId) -> Result<Node, AncestryFault> {
        if let Some(node) = self.nodes.get(&id) {
            return Ok(node.clone());
        }
        let faulty = |fault| AncestryFault {
            id,
            fault: Box::new(fault),
        };
        let entry = checkpoint::entry(self.repo, id).map_err(faulty)?;
        let node = Node {
            key: entry
                .trailers
                .digest
                .as_ref()
                .map_or_else(|| id.to_string(), ToString::to_string),
            time: entry.time.to_chrono().timestamp_millis(),
            parents: parents(self.repo, &entry, self.edges).map_err(faulty)?,
        };
        self.nodes.insert(id, node.clone());
        Ok(node)
    }

    /// The checkpoints that one comes from, itself included, by key; what is before one of `known` is left out.
    fn reachable(
        &mut self,
        from: ObjectId,
        known: &HashSet<String>,
    ) -> Result<HashMap<String, ObjectId>, AncestryFault> {
        let mut out = HashMap::new();
        let mut waiting = vec![from];
        while let Some(id) = waiting.pop() {
            let node = self.node(id)?;
            let is_known = known.contains(&node.key);
            if out.insert(node.key, id).is_none() && !is_known {
                waiting.extend(node.parents);
            }
        }
        Ok(out)
    }
}
