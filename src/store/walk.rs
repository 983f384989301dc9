//! Every object below a tree, read and hashed.
//!
//! Not git's connectivity check: contents are read strictly, so that a flipped bit is found
//! whether the object is loose or packed, and also one that git alone would stumble over. What was found out about an
//! object is kept, so that checkpoints that share their files are checked at the price of what differs, and damage is
//! reported for each checkpoint that shares it.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use super::{
    Error, Kind, ObjectId, Repository,
    objects::{ObjectProblem, StrictReader},
};
use crate::model::path::RepoPath;

/// Trees nested deeper than this are not read; git's own bound (`core.maxTreeDepth`).
const MAX_DEPTH: usize = 2048;

/// Objects that are damaged, below one tree.
type Damages = Rc<Vec<ObjectDamage>>;

/// A damaged object.
#[derive(Clone, Debug)]
pub struct ObjectDamage {
    /// Location in the tree; empty for the tree itself.
    pub path: RepoPath,
    /// The object.
    pub id: ObjectId,
    /// Problem of the object.
    pub problem: ObjectProblem,
}

/// Cached verdicts about objects from earlier walks.
pub struct ObjectWalk<'r> {
    repo: &'r Repository,
    strict: StrictReader<'r>,
    promisor: bool,
    whole: HashSet<ObjectId>,
    damaged: HashMap<ObjectId, Damages>,
    /// Objects that are not here, and that a partial clone does not have to have.
    promised: HashSet<ObjectId>,
}

impl<'r> ObjectWalk<'r> {
    /// Nothing known yet.
    pub fn new(repo: &'r Repository) -> Result<Self, Error> {
        Ok(Self {
            repo,
            strict: StrictReader::new(repo)?,
            promisor: is_partial_clone(repo),
            whole: HashSet::new(),
            damaged: HashMap::new(),
            promised: HashSet::new(),
        })
    }

    /// Problem of a commit, if any; its tree and parents are not checked.
    pub fn commit(&mut self, id: ObjectId) -> Option<ObjectProblem> {
        self.strict.read(id, Kind::Commit).err()
    }

    /// Problems of the packs that our saves wrote, as files: the file and the problem.
    pub fn packs(&self) -> Vec<(std::path::PathBuf, String)> {
        self.strict.own_packs()
    }

    /// The damaged objects of a tree and everything below it. Gitlinks are left out: their commits are in other
    /// repositories.
    pub fn tree(&mut self, tree: ObjectId) -> Damages {
        self.visit(tree, Kind::Tree, 0)
    }

    /// How many objects were read and found whole.
    pub fn whole(&self) -> usize {
        self.whole.len()
    }

    /// How many objects a partial clone has not fetched.
    pub fn promised(&self) -> usize {
        self.promised.len()
    }

    fn visit(&mut self, id: ObjectId, kind: Kind, depth: usize) -> Damages {
        if self.whole.contains(&id) || self.promised.contains(&id) {
            return Damages::default();
        }
        if let Some(known) = self.damaged.get(&id) {
            return Rc::clone(known);
        }
        let found = match self.strict.check(id, kind) {
            Err(ObjectProblem::Missing) if self.promisor && kind == Kind::Blob => {
                self.promised.insert(id);
                return Damages::default();
            }
            Err(problem) => vec![damage(id, problem)],
            Ok(_) if depth > MAX_DEPTH => vec![damage(id, ObjectProblem::Corrupt("it is nested too deep".to_owned()))],
            Ok(data) if kind == Kind::Tree => self.entries(id, &data, depth),
            Ok(_) => Vec::new(),
        };
        if found.is_empty() {
            self.whole.insert(id);
            return Damages::default();
        }
        let found = Rc::new(found);
        self.damaged.insert(id, Rc::clone(&found));
        found
    }

    fn entries(&mut self, id: ObjectId, data: &[u8], depth: usize) -> Vec<ObjectDamage> {
        let tree = match gix::objs::TreeRef::from_bytes(data, self.repo.object_hash()) {
            Ok(tree) => tree,
            Err(error) => return vec![damage(id, ObjectProblem::Corrupt(error.to_string()))],
        };
        let mut found = Vec::new();
        for entry in &tree.entries {
            if entry.mode.is_commit() {
                continue;
            }
            let kind = if entry.mode.is_tree() { Kind::Tree } else { Kind::Blob };
            for below in self.visit(entry.oid.to_owned(), kind, depth + 1).iter() {
                let mut path = entry.filename.to_vec();
                if !below.path.as_bytes().is_empty() {
                    path.push(b'/');
                    path.extend_from_slice(below.path.as_bytes());
                }
                found.push(ObjectDamage {
                    path: RepoPath::new(path),
                    ..below.clone()
                });
            }
        }
        found
    }
}

fn damage(id: ObjectId, problem: ObjectProblem) -> ObjectDamage {
    ObjectDamage {
        path: RepoPath::default(),
        id,
        problem,
    }
}

/// How many files, links and gitlinks a tree has; counting stops at `enough`, which is then the answer.
///
/// Directories of the same tree are read once.
pub fn count_files(repo: &Repository, tree: ObjectId, enough: usize) -> Result<usize, Error> {
    let mut known = HashMap::new();
    count(repo, tree, enough, &mut known)
}

fn count(repo: &Repository, id: ObjectId, enough: usize, known: &mut HashMap<ObjectId, usize>) -> Result<usize, Error> {
    if let Some(count) = known.get(&id) {
        return Ok(*count);
    }
    if id == ObjectId::empty_tree(repo.object_hash()) {
        return Ok(0);
    }
    let failed = |why: String| Error::Object { id, why };
    let tree = repo.find_object(id).map_err(|error| failed(error.to_string()))?;
    let mut below = Vec::new();
    let mut found = 0_usize;
    for entry in gix::objs::TreeRefIter::from_bytes(&tree.data, repo.object_hash()) {
        let entry = entry.map_err(|error| failed(error.to_string()))?;
        if entry.mode.is_tree() {
            below.push(entry.oid.to_owned());
        } else {
            found += 1;
        }
    }
    for id in below {
        if found >= enough {
            return Ok(enough);
        }
        found += count(repo, id, enough - found, known)?;
    }
    known.insert(id, found);
    Ok(found.min(enough))
}

/// Whether objects may be absent because a remote promised to have them.
pub fn is_partial_clone(repo: &Repository) -> bool {
    let config = repo.config_snapshot();
    config.string("extensions.partialClone").is_some()
        || repo.remote_names().iter().any(|name| {
            config
                .boolean(format!("remote.{name}.promisor").as_str())
                .unwrap_or(false)
        })
}
