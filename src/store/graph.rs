//! Relation of two commits: what each has that the other lacks, their common ancestor, who contains whom.
//!
//! One walk from all ends at once, latest commit first, that stops where the histories have met, as git's own does. It
//! is bounded: a count that stopped early is marked. Wrong clocks are allowed for as git allows for them. gix counts by
//! two walks of the first of which there is no stopping.

use std::collections::{BinaryHeap, HashMap};

use gix::bstr::ByteSlice;

use super::{Error, ObjectId, Repository, tree};

/// Commits looked at after the walk could stop by date, as many as git takes, to allow for clocks that were wrong.
const SLOP: u32 = 5;
/// How far, in seconds, a commit may be younger than its descendant in [`containing`].
const SKEW: i64 = 86_400;

/// Relation of commit `a` to commit `b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRelation {
    /// Commits of `a` that `b` lacks, latest first.
    pub ahead: Vec<ObjectId>,
    /// Commits of `b` that `a` lacks, latest first.
    pub behind: Vec<ObjectId>,
    /// The best common ancestor, if one was found.
    pub base: Option<ObjectId>,
    /// Whether the walk came to its end; if not, `ahead` and `behind` are what was found within the limit.
    pub complete: bool,
    /// Whether it came to a commit whose parents a shallow clone lacks: then a missing `base` proves nothing.
    pub shallow: bool,
}

/// Walks both histories until they have met, or until `limit` commits were looked at.
pub fn relation(repo: &Repository, a: ObjectId, b: ObjectId, limit: usize) -> Result<CommitRelation, Error> {
    const A: u64 = 1;
    const B: u64 = 2;
    const STALE: u64 = 4;
    const RESULT: u64 = 8;
    let mut walk = GraphWalk::new(repo)?;
    walk.add(a, A, STALE)?;
    walk.add(b, B, STALE)?;
    let mut bases = Vec::new();
    let mut oldest_single = i64::MAX;
    let mut slop = SLOP;
    let mut complete = true;
    while let Some(next) = walk.queue.peek() {
        if walk.open == 0 {
            if next.time < oldest_single {
                slop -= 1;
            }
            if slop == 0 {
                break;
            }
        }
        if walk.order.len() >= limit {
            complete = false;
            break;
        }
        let Some((id, mut flags, time)) = walk.pop(STALE) else {
            break;
        };
        if flags & (A | B) == A | B {
            if flags & RESULT == 0 {
                walk.node(id).flags |= RESULT;
                bases.push(id);
            }
            flags |= STALE;
        } else {
            oldest_single = oldest_single.min(time);
        }
        walk.spread(id, flags & (A | B | STALE), STALE)?;
    }
    let with = |flag: u64| {
        let only = |id: &&ObjectId| walk.nodes[*id].flags & (A | B) == flag;
        walk.order.iter().filter(only).copied().collect()
    };
    Ok(CommitRelation {
        ahead: with(A),
        behind: with(B),
        base: bases.into_iter().find(|id| walk.nodes[id].flags & STALE == 0),
        complete,
        shallow: walk.shallow_seen,
    })
}

/// A commit and its ancestors, latest first, at most `limit`; and whether these are all.
pub fn reachable(repo: &Repository, tip: ObjectId, limit: usize) -> Result<(Vec<ObjectId>, bool), Error> {
    let mut walk = GraphWalk::new(repo)?;
    walk.add(tip, 1, 0)?;
    while walk.order.len() < limit {
        let Some((id, flags, _)) = walk.pop(0) else { break };
        walk.spread(id, flags, 0)?;
    }
    let complete = walk.queue.is_empty();
    Ok((walk.order, complete))
}

/// Which of at most 64 `tips` contain `commit`. `None` where the walk was not finished within `limit` commits.
pub fn containing(
    repo: &Repository,
    commit: ObjectId,
    tips: &[ObjectId],
    limit: usize,
) -> Result<Vec<Option<bool>>, Error> {
    let mut walk = GraphWalk::new(repo)?;
    let tips = &tips[..tips.len().min(64)];
    let all = tips.iter().enumerate().fold(0, |all, (at, _)| all | 1 << at);
    for (at, tip) in tips.iter().enumerate() {
        walk.add(*tip, 1 << at, 0)?;
    }
    let earliest = walk.load(commit)?.time.saturating_sub(SKEW);
    let mut complete = true;
    loop {
        let found = walk.nodes[&commit].flags;
        let Some(next) = walk.queue.peek() else { break };
        if found == all || next.time < earliest {
            break;
        }
        if walk.order.len() >= limit {
            complete = false;
            break;
        }
        let Some((id, flags, _)) = walk.pop(0) else { break };
        if id != commit {
            walk.spread(id, flags, 0)?;
        }
    }
    let found = walk.nodes[&commit].flags;
    Ok((0..tips.len())
        .map(|at| {
            if found & 1 << at != 0 {
                Some(true)
            } else {
                complete.then_some(false)
            }
        })
        .collect())
}

/// Whether `old` is `new` or an ancestor of it; `None` when that was not found out within `limit` commits.
pub fn is_ancestor(repo: &Repository, old: ObjectId, new: ObjectId, limit: usize) -> Result<Option<bool>, Error> {
    if old == new {
        return Ok(Some(true));
    }
    Ok(containing(repo, old, &[new], limit)?[0])
}

/// A commit met on the way.
struct VisitedCommit {
    flags: u64,
    time: i64,
    parents: Vec<ObjectId>,
    /// Number of its entries in the queue.
    queued: u32,
    popped: bool,
}

/// An entry of the queue: the latest comes first, of equally old ones the one that was put in first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct QueueEntry {
    time: i64,
    age: std::cmp::Reverse<u64>,
    id: ObjectId,
}

struct GraphWalk<'repo> {
    repo: &'repo Repository,
    cache: Option<gix::commitgraph::Graph>,
    shallow: Option<gix::shallow::Commits>,
    shallow_seen: bool,
    nodes: HashMap<ObjectId, VisitedCommit>,
    queue: BinaryHeap<QueueEntry>,
    entered: u64,
    /// Entries of the queue that do not carry the flag of those that need no further look.
    open: u64,
    /// Commits in the order in which they were looked at.
    order: Vec<ObjectId>,
}

impl<'repo> GraphWalk<'repo> {
    fn new(repo: &'repo Repository) -> Result<Self, Error> {
        let shallow = repo
            .shallow_commits()
            .map_err(Error::gix("read the shallow boundary"))?;
        // A commit-graph is a copy: one that cannot be read is no reason to fail. git does not use it in shallow clones.
        let cache = if shallow.is_some() {
            None
        } else {
            repo.commit_graph_if_enabled().unwrap_or_default()
        };
        Ok(Self {
            repo,
            cache,
            shallow,
            shallow_seen: false,
            nodes: HashMap::new(),
            queue: BinaryHeap::new(),
            entered: 0,
            open: 0,
            order: Vec::new(),
        })
    }

    fn node(&mut self, id: ObjectId) -> &mut VisitedCommit {
        self.nodes.get_mut(&id).expect("every id in the queue was loaded")
    }

    /// Reads a commit unless it is known.
    fn load(&mut self, id: ObjectId) -> Result<&mut VisitedCommit, Error> {
        if !self.nodes.contains_key(&id) {
            let node = match self.cached(id) {
                Some(node) => node,
                None => self.read(id)?,
            };
            self.nodes.insert(id, node);
        }
        Ok(self.node(id))
    }

    fn cached(&self, id: ObjectId) -> Option<VisitedCommit> {
        let graph = self.cache.as_ref()?;
        let commit = graph.commit_by_id(id)?;
        let mut parents = Vec::new();
        for parent in commit.iter_parents() {
            parents.push(graph.id_at(parent.ok()?).to_owned());
        }
        let time = i64::try_from(commit.committer_timestamp()).ok()?;
        Some(VisitedCommit {
            flags: 0,
            time,
            parents,
            queued: 0,
            popped: false,
        })
    }

    fn read(&mut self, id: ObjectId) -> Result<VisitedCommit, Error> {
        let object = tree::find(self.repo, id)?;
        if object.kind != gix::objs::Kind::Commit {
            return Err(Error::Object {
                id,
                why: format!("it is a {}, not a commit", object.kind),
            });
        }
        let (mut parents, time) = parse(&object.data);
        if self
            .shallow
            .as_ref()
            .is_some_and(|shallow| shallow.binary_search(&id).is_ok())
        {
            self.shallow_seen |= !parents.is_empty();
            parents.clear();
        }
        Ok(VisitedCommit {
            flags: 0,
            time,
            parents,
            queued: 0,
            popped: false,
        })
    }

    /// Puts a commit into the queue if it lacks one of the flags.
    fn add(&mut self, id: ObjectId, flags: u64, done: u64) -> Result<(), Error> {
        let node = self.load(id)?;
        if node.flags & flags == flags {
            return Ok(());
        }
        let closed_before = node.flags & done != 0;
        node.flags |= flags;
        let closed = node.flags & done != 0;
        let (time, queued) = (node.time, u64::from(node.queued));
        node.queued += 1;
        if closed && !closed_before {
            self.open -= queued;
        } else if !closed {
            self.open += 1;
        }
        self.entered += 1;
        self.queue.push(QueueEntry {
            time,
            age: std::cmp::Reverse(self.entered),
            id,
        });
        Ok(())
    }

    /// Takes the latest commit out, with its flags and time.
    fn pop(&mut self, done: u64) -> Option<(ObjectId, u64, i64)> {
        let QueueEntry { id, time, .. } = self.queue.pop()?;
        let node = self.node(id);
        node.queued -= 1;
        let first = !std::mem::replace(&mut node.popped, true);
        let flags = node.flags;
        if flags & done == 0 {
            self.open -= 1;
        }
        if first {
            self.order.push(id);
        }
        Some((id, flags, time))
    }

    /// Hands flags on to the parents.
    fn spread(&mut self, id: ObjectId, flags: u64, done: u64) -> Result<(), Error> {
        let parents = std::mem::take(&mut self.node(id).parents);
        for parent in &parents {
            self.add(*parent, flags, done)?;
        }
        self.node(id).parents = parents;
        Ok(())
    }
}

/// Parents and committer time of a commit; a time that cannot be read is 0, as in git.
fn parse(data: &[u8]) -> (Vec<ObjectId>, i64) {
    let mut parents = Vec::new();
    let mut time = 0;
    for line in data.lines() {
        if let Some(hex) = line.strip_prefix(b"parent ") {
            parents.extend(ObjectId::from_hex(hex));
        } else if let Some(committer) = line.strip_prefix(b"committer ") {
            let date = committer.rsplit_once_str(b">").map_or(&b""[..], |(_, date)| date);
            let seconds = date.trim_start().split_str(b" ").next().unwrap_or_default();
            time = seconds.to_str().ok().and_then(|text| text.parse().ok()).unwrap_or(0);
            break;
        } else if line.is_empty() {
            break;
        }
    }
    (parents, time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_read_leniently() {
        let id = "1".repeat(40);
        let commit = format!(
            "tree {id}\nparent {id}\nparent {id}\nauthor A <a> 1 +0000\ncommitter B <b> 42 +0100\n\nparent {id}\n"
        );
        let (parents, time) = parse(commit.as_bytes());
        assert_eq!((parents.len(), time), (2, 42));
        assert_eq!(parse(b"tree x\ncommitter no date\n\n"), (Vec::new(), 0));
    }
}
