//! How much room objects take on disk, as git counts it.

use gix::{
    hashtable::{HashMap, hash_map::Entry},
    objs::{CommitRefIter, TreeRefIter},
};

use super::{Error, Kind, ObjectId, Repository, checkpoint, git, objects::PackReader};

/// The bytes on disk of the objects that these trees and commits lead to and that neither `kept`, the index nor any ref
/// outside of ours does. Rounded by what deltas and packs share; `None` where git does not know (before 2.31).
pub fn only(repo: &Repository, from: &[ObjectId], kept: &[ObjectId]) -> Result<Option<u64>, Error> {
    if from.is_empty() {
        return Ok(Some(0));
    }
    let output = git(repo)
        .args(["rev-list", "--objects", "--disk-usage", "--stdin", "--not"])
        .args(OTHERS)
        .input(listed(from, kept))
        .accept([128, 129])
        .run()
        .map_err(Error::from)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok())
}

/// The same for each of many commits, in their order, with `None` where git cannot read what one leads to.
///
/// git is asked once for all: it reads every ref each time, so that to ask for each of a hundred thousand sessions would
/// take as long as its square.
pub fn each(repo: &Repository, from: &[ObjectId]) -> Result<Vec<Option<u64>>, Error> {
    if from.len() < 2 {
        return from.iter().map(|id| only(repo, &[*id], &[])).collect();
    }
    if let Some(graph) = ObjectGraph::read(repo, from)? {
        return Ok(graph.sizes(from));
    }
    // One of them is damaged.
    let (first, second) = from.split_at(from.len() / 2);
    let mut sizes = each(repo, first)?;
    sizes.extend(each(repo, second)?);
    Ok(sizes)
}

/// The refs and the index whose objects are not counted.
const OTHERS: [&str; 3] = ["--exclude=refs/checkpoints*", "--all", "--indexed-objects"];

/// Input of `rev-list`.
fn listed(from: &[ObjectId], kept: &[ObjectId]) -> String {
    let from = from.iter().map(|id| format!("{id}\n"));
    from.chain(kept.iter().map(|id| format!("^{id}\n"))).collect()
}

/// The objects that only checkpoints lead to, and what each of them leads to among them.
struct ObjectGraph {
    places: HashMap<ObjectId, usize>,
    sizes: Vec<u64>,
    children: Vec<Vec<u32>>,
}

impl ObjectGraph {
    /// `None` where git cannot read an object.
    fn read(repo: &Repository, from: &[ObjectId]) -> Result<Option<Self>, Error> {
        let found = git(repo)
            .args(["rev-list", "--objects", "--stdin", "--not"])
            .args(OTHERS)
            .input(listed(from, &[]))
            .accept([128])
            .run()
            .map_err(Error::from)?;
        if found.code != 0 {
            return Ok(None);
        }
        let width = repo.object_hash().len_in_hex();
        let mut names = Vec::with_capacity(found.stdout.len());
        // Behind an id comes the path of the object.
        for id in found
            .stdout
            .split(|byte| *byte == b'\n')
            .filter_map(|line| line.get(..width))
        {
            names.extend_from_slice(id);
            names.push(b'\n');
        }
        drop(found);
        let described = git(repo)
            .args(["cat-file", "--buffer"])
            .arg("--batch-check=%(objectname) %(objectsize:disk) %(objecttype)")
            .input(names)
            .run()
            .map_err(Error::from)?;
        let (mut commits, mut trees) = (Vec::new(), Vec::new());
        let (mut places, mut sizes) = (HashMap::default(), Vec::new());
        for line in String::from_utf8_lossy(&described.stdout).lines() {
            let mut words = line.split(' ');
            let (Some(id), Some(size), Some(kind)) = (words.next(), words.next(), words.next()) else {
                return Ok(None);
            };
            let (Ok(id), Ok(size)) = (ObjectId::from_hex(id.as_bytes()), size.parse()) else {
                return Ok(None);
            };
            let Entry::Vacant(entry) = places.entry(id) else {
                continue;
            };
            entry.insert(sizes.len());
            match kind {
                "commit" => commits.push((sizes.len(), id)),
                "tree" => trees.push((sizes.len(), id)),
                _ => {}
            }
            sizes.push(size);
        }
        let mut graph = Self {
            children: vec![Vec::new(); sizes.len()],
            places,
            sizes,
        };
        let is_whole = graph.connect(repo, Kind::Commit, &commits) && graph.connect(repo, Kind::Tree, &trees);
        Ok(is_whole.then_some(graph))
    }

    /// Reads what these objects of one kind lead to.
    fn connect(&mut self, repo: &Repository, kind: Kind, objects: &[(usize, ObjectId)]) -> bool {
        let ids: Vec<ObjectId> = objects.iter().map(|(_, id)| *id).collect();
        let hash = repo.object_hash();
        let children = |data: &[u8]| -> Vec<u32> {
            let place = |id: ObjectId| u32::try_from(*self.places.get(&id)?).ok();
            if kind == Kind::Commit {
                let mut commit = CommitRefIter::from_bytes(data, hash);
                let tree = commit.tree_id().ok();
                tree.into_iter().chain(commit.parent_ids()).filter_map(place).collect()
            } else {
                let entries = TreeRefIter::from_bytes(data, hash).filter_map(Result::ok);
                entries.filter_map(|entry| place(entry.oid.to_owned())).collect()
            }
        };
        let packed = PackReader::new(repo).each_of(kind, &ids, |_, data| children(data));
        let mut found = Vec::with_capacity(ids.len());
        for (id, packed) in ids.iter().zip(packed) {
            found.push(match packed {
                Some(packed) => packed,
                None => match checkpoint::read(repo, *id, kind, "object") {
                    Ok(data) => children(&data),
                    Err(_) => return false,
                },
            });
        }
        for ((at, _), found) in objects.iter().zip(found) {
            self.children[*at] = found;
        }
        true
    }

    /// The size of what each of these leads to.
    fn sizes(&self, from: &[ObjectId]) -> Vec<Option<u64>> {
        // The commit for which an object was counted last.
        let mut counted = vec![usize::MAX; self.sizes.len()];
        let mut waiting = Vec::new();
        let size = |(number, id): (usize, &ObjectId)| {
            let mut total = 0_u64;
            waiting.extend(self.places.get(id).copied());
            while let Some(at) = waiting.pop() {
                if std::mem::replace(&mut counted[at], number) != number {
                    total = total.saturating_add(self.sizes[at]);
                    waiting.extend(self.children[at].iter().map(|child| *child as usize));
                }
            }
            Some(total)
        };
        from.iter().enumerate().map(size).collect()
    }
}
