//! Trees without some of their paths, for a purge.

use std::collections::HashMap;
use std::rc::Rc;

use gix::objs::{TreeRef, WriteTo as _, tree::Entry};

use super::objects::Writer;
use super::pathspec::PathFilter;
use super::{Error, Kind, ObjectId, Repository, checkpoint, tree};
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
        let (left, removed) = self.visit(tree)?;
        let left = left.map_or_else(|| self.writer.write(Kind::Tree, b""), Ok)?;
        Ok((left, removed))
    }

    /// Goes through a tree with a stack of its own: its author decided how deep it is.
    fn visit(&mut self, root: ObjectId) -> Result<DirectoryLeft, Error> {
        let mut stack = vec![self.open(root, Vec::new())?];
        let mut done: Option<DirectoryLeft> = None;
        loop {
            let depth = stack.len();
            let Some(frame) = stack.last_mut() else {
                return done.ok_or_else(|| tree::too_deep(root));
            };
            if let (Some((left, gone)), Some(mut kept)) = (done.take(), frame.waiting.take()) {
                frame.removed.extend(gone.iter().cloned());
                if let Some(left) = left {
                    kept.oid = left;
                    frame.new.push(kept);
                }
            }
            let Some(entry) = frame.entries.next() else {
                done = Some(self.close(stack.pop())?);
                continue;
            };
            let mut below = frame.path.clone();
            below.extend_from_slice(&entry.filename);
            if !entry.mode.is_tree() {
                let below = RepoPath::new(below);
                if self.filter.keeps(&below) {
                    frame.removed.push((below, entry.oid));
                } else {
                    frame.new.push(entry);
                }
                continue;
            }
            below.push(b'/');
            let key = (entry.oid, below);
            frame.waiting = Some(entry);
            if let Some((left, removed)) = self.known.get(&key) {
                done = Some((*left, Rc::clone(removed)));
            } else if depth > tree::MAX_DEPTH {
                return Err(tree::too_deep(root));
            } else {
                stack.push(self.open(key.0, key.1)?);
            }
        }
    }

    fn open(&self, id: ObjectId, path: Vec<u8>) -> Result<OpenDirectory, Error> {
        let failed = |why: String| Error::Object { id, why };
        let data = checkpoint::read(self.repo, id, Kind::Tree, "tree").map_err(|fault| failed(fault.to_string()))?;
        let old = TreeRef::from_bytes(&data, self.repo.object_hash()).map_err(|error| failed(error.to_string()))?;
        let entries: Vec<Entry> = old.entries.iter().map(|entry| Entry::from(*entry)).collect();
        Ok(OpenDirectory {
            id,
            path,
            entries: entries.into_iter(),
            new: Vec::new(),
            removed: Vec::new(),
            waiting: None,
        })
    }

    fn close(&mut self, directory: Option<OpenDirectory>) -> Result<DirectoryLeft, Error> {
        let Some(directory) = directory else {
            return Ok((None, Rc::default()));
        };
        let id = directory.id;
        let left = if directory.removed.is_empty() {
            Some(id)
        } else if directory.new.is_empty() {
            None
        } else {
            let mut bytes = Vec::new();
            let new = gix::objs::Tree { entries: directory.new };
            let written = new.write_to(&mut bytes);
            written.map_err(|error| Error::Object {
                id,
                why: error.to_string(),
            })?;
            Some(self.writer.write(Kind::Tree, &bytes)?)
        };
        let removed = Rc::new(directory.removed);
        self.known.insert((id, directory.path), (left, Rc::clone(&removed)));
        Ok((left, removed))
    }
}

/// The tree that is left of a directory, if any, and the removed paths.
type DirectoryLeft = (Option<ObjectId>, RemovedPaths);

/// A directory that is being gone through.
struct OpenDirectory {
    id: ObjectId,
    /// With a slash at the end; empty for the root.
    path: Vec<u8>,
    entries: std::vec::IntoIter<Entry>,
    /// Entries that stay.
    new: Vec<Entry>,
    removed: Vec<(RepoPath, ObjectId)>,
    /// The directory below that is being gone through.
    waiting: Option<Entry>,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store::EncryptedSessions;

    /// Removes a file from a tree with so many directories above it, on a small stack.
    fn removed_at(depth: usize) -> Result<(bool, Vec<String>), Error> {
        let run = move || -> Result<(bool, Vec<String>), Error> {
            let outside = tempfile::tempdir().expect("a directory");
            let repo = Repository::new(
                gix::init(outside.path()).expect("a repository"),
                EncryptedSessions::default(),
            );
            let writer = Writer::durable(&repo)?;
            let blob = writer.write(Kind::Blob, b"secret")?;
            let mut tree = tree_of("gone", "100644", blob, &writer)?;
            for _ in 0..depth {
                tree = tree_of("d", "40000", tree, &writer)?;
            }
            drop(writer.finish()?.release());
            let filter = PathFilter::new(&repo, &["*gone"], Path::new("")).expect("pathspecs");
            let memory = Writer::memory(&repo);
            let (left, removed) = PathRemover::new(&repo, &memory, filter).tree(tree)?;
            let removed = removed.iter().map(|(path, _)| path.to_string()).collect();
            Ok((left == ObjectId::empty_tree(repo.object_hash()), removed))
        };
        let thread = std::thread::Builder::new().stack_size(512 * 1024).spawn(run);
        thread.expect("a thread").join().expect("no overflow")
    }

    fn tree_of(name: &str, mode: &str, id: ObjectId, writer: &Writer) -> Result<ObjectId, Error> {
        let mut bytes = format!("{mode} {name}\0").into_bytes();
        bytes.extend_from_slice(id.as_bytes());
        writer.write(Kind::Tree, &bytes)
    }

    #[test]
    fn the_depth_of_a_tree_costs_no_stack() {
        for depth in [0, 1, 3, 500, 2000] {
            let (is_empty, removed) = removed_at(depth).expect("it is read");
            assert!(is_empty, "{depth}");
            assert_eq!(removed, [format!("{}gone", "d/".repeat(depth))]);
        }
        assert!(removed_at(5000).is_err());
    }
}
