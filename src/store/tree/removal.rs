//! Trees without some of their paths, for a purge.

use std::collections::HashMap;
use std::rc::Rc;

use gix::objs::{TreeRef, WriteTo as _};

use super::super::objects::Writer;
use super::super::{Error, Kind, ObjectId, Repository, checkpoint, pathspec::PathFilter};
use crate::model::path::RepoPath;

/// Removed paths and their objects.
pub type RemovedPaths = Rc<Vec<(RepoPath, ObjectId)>>;

/// Takes paths out of trees. What was found out about a directory is kept, so that snapshots that share their files cost
/// what differs.
pub struct PathRemover<'a> {
    repo: &'a Repository,
    writer: &'a Writer,
    filter: PathFilter,
    known: HashMap<(ObjectId, Vec<u8>), (Option<ObjectId>, RemovedPaths)>,
}

impl<'a> PathRemover<'a> {
    /// Remover of the paths that `filter` selects.
    pub fn new(repo: &'a Repository, writer: &'a Writer, filter: PathFilter) -> Self {
        Self {
            repo,
            writer,
            filter,
            known: HashMap::new(),
        }
    }

    /// Whether a path is to be taken out.
    pub fn takes(&mut self, path: &RepoPath) -> bool {
        self.filter.keeps(path)
    }

    /// The tree without these paths, written, and what they were; the same tree if it has none of them.
    pub fn tree(&mut self, tree: ObjectId) -> Result<(ObjectId, RemovedPaths), Error> {
        let (left, removed) = self.visit(tree, Vec::new(), 0)?;
        let left = left.map_or_else(|| self.writer.write(Kind::Tree, b""), Ok)?;
        Ok((left, removed))
    }

    fn visit(&mut self, id: ObjectId, path: Vec<u8>, depth: usize) -> Result<(Option<ObjectId>, RemovedPaths), Error> {
        let key = (id, path);
        if let Some((left, removed)) = self.known.get(&key) {
            return Ok((*left, Rc::clone(removed)));
        }
        if depth > super::MAX_DEPTH {
            return Err(super::too_deep(id));
        }
        let failed = |why: String| Error::Object { id, why };
        let data = checkpoint::read(self.repo, id, Kind::Tree, "tree").map_err(|fault| failed(fault.to_string()))?;
        let old = TreeRef::from_bytes(&data, self.repo.object_hash()).map_err(|error| failed(error.to_string()))?;
        let mut new = gix::objs::Tree { entries: Vec::new() };
        let mut removed = Vec::new();
        for entry in &old.entries {
            let mut below = key.1.clone();
            below.extend_from_slice(entry.filename);
            let mut kept = gix::objs::tree::Entry::from(*entry);
            if entry.mode.is_tree() {
                below.push(b'/');
                let (left, gone) = self.visit(kept.oid, below, depth + 1)?;
                removed.extend(gone.iter().cloned());
                let Some(left) = left else { continue };
                kept.oid = left;
            } else {
                let below = RepoPath::new(below);
                if self.filter.keeps(&below) {
                    removed.push((below, kept.oid));
                    continue;
                }
            }
            new.entries.push(kept);
        }
        let left = if removed.is_empty() {
            Some(id)
        } else if new.entries.is_empty() {
            None
        } else {
            let mut bytes = Vec::new();
            new.write_to(&mut bytes).map_err(|error| failed(error.to_string()))?;
            Some(self.writer.write(Kind::Tree, &bytes)?)
        };
        let removed = Rc::new(removed);
        self.known.insert(key, (left, Rc::clone(&removed)));
        Ok((left, removed))
    }
}
