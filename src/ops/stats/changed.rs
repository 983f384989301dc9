//! Lines that a checkpoint changed against the one before, without those that came from elsewhere: from a session that was
//! merged, from commits that a merge, pull or checkout brought, or from a checkpoint that was restored.

use std::collections::{HashMap, HashSet};

use crate::{
    model::{document::CheckpointKind, id::Digest, path::RepoPath, report::Lines},
    ops::{Error, Scene, made_here::LocalCommits},
    store::{
        ObjectId,
        checkpoint::{CheckpointCommit, commit_parts, people},
        lines,
        scan::ObjectReader,
        tree::{self, Renames, TreeReader},
    },
};

/// Commits that are looked at between two checkpoints.
const COMMITS: usize = 1000;

/// Counts the lines of sessions, one after the other.
pub(super) struct LineCounter<'a> {
    scene: &'a Scene<'a>,
    name: &'a str,
    reader: ObjectReader,
    trees: TreeReader<'a>,
    local: LocalCommits,
    /// The checkpoint that was restored before one was saved.
    restored: HashMap<ObjectId, Option<Digest>>,
}

/// A state that lines of a checkpoint may come from.
struct LineSource {
    tree: ObjectId,
    /// Files that it does not count for.
    except: HashSet<RepoPath>,
}

impl<'a> LineCounter<'a> {
    pub(super) fn new(scene: &'a Scene<'a>) -> Self {
        Self {
            scene,
            name: "",
            reader: ObjectReader::of(scene.repo),
            trees: TreeReader::new(scene.repo),
            local: LocalCommits::default(),
            restored: HashMap::new(),
        }
    }

    /// Goes on to the session with this name.
    pub(super) fn begin(&mut self, name: &'a str) {
        self.name = name;
        self.restored.clear();
    }

    fn parts(&mut self, id: ObjectId) -> Result<(ObjectId, Vec<ObjectId>), Error> {
        self.reader.commit_parts(id).map_err(Error::damaged(self.name))
    }

    /// Lines that a checkpoint changed against the one before, the first of `older`, or against HEAD where that has no
    /// files.
    pub(super) fn count(&mut self, entry: &CheckpointCommit, older: &[CheckpointCommit]) -> Result<Lines, Error> {
        let mut total = Lines::default();
        let Some(snapshot) = entry.snapshot_commit() else {
            return Ok(total);
        };
        let before = older.first().and_then(CheckpointCommit::snapshot_commit);
        if before == Some(snapshot) || entry.trailers.kind == Some(CheckpointKind::Fork) {
            return Ok(total);
        }
        let (new, parents) = self.parts(snapshot)?;
        let (old, head_before) = match before {
            Some(before) => {
                let (tree, parents) = self.parts(before)?;
                (tree, parents.first().copied())
            }
            None => (tree::tree_of(self.scene.repo, parents.first().copied())?, None),
        };
        let changes = self.trees.diff(Some(old), Some(new), Renames::Exact)?;
        if changes.is_empty() {
            return Ok(total);
        }
        let mut sources = Vec::new();
        if let Some(merged) = entry.merged_commit() {
            let merged = self.reader.checkpoint(merged).map_err(Error::damaged(self.name))?;
            sources.extend(self.source_of(&merged)?);
        }
        if let (Some(from), Some(to)) = (head_before, parents.first())
            && from != *to
        {
            let since = older.first().map_or(i64::MIN, |before| before.time.unix());
            sources.push(LineSource {
                tree: self.parts(*to)?.0,
                except: self.committed_here((from, *to), since, entry)?,
            });
        }
        if let Some(restored) = self.restored(entry, older)? {
            sources.extend(self.source_of(restored)?);
        }
        for change in changes {
            let sources = sources.iter().filter(|source| !source.except.contains(&change.path));
            let others: Result<Vec<_>, _> = sources
                .map(|source| tree::entry(self.scene.repo, source.tree, &change.path))
                .collect();
            let others = others?;
            let lines = if others.is_empty() {
                lines::count(self.scene.repo, &change)?
            } else {
                lines::count_against(self.scene.repo, &change, &others)?
            };
            if let Some(lines) = lines {
                super::add_lines(&mut total, lines);
            }
        }
        Ok(total)
    }

    fn source_of(&mut self, entry: &CheckpointCommit) -> Result<Option<LineSource>, Error> {
        let Some(snapshot) = entry.snapshot_commit() else {
            return Ok(None);
        };
        Ok(Some(LineSource {
            tree: self.parts(snapshot)?.0,
            except: HashSet::new(),
        }))
    }

    /// The files that were committed here while HEAD went from one commit to another: by commits of that time in the line of
    /// first parents, as in `blame`.
    fn committed_here(
        &self,
        (from, to): (ObjectId, ObjectId),
        since: i64,
        entry: &CheckpointCommit,
    ) -> Result<HashSet<RepoPath>, Error> {
        let damaged = || Error::damaged(self.name);
        let mut paths = HashSet::new();
        let mut next = to;
        for _ in 0..COMMITS {
            if next == from {
                break;
            }
            let people = people(self.scene.repo, next).map_err(damaged())?;
            let at = people.committer.time.seconds;
            if at < since {
                break;
            }
            let (tree, parents) = commit_parts(self.scene.repo, next).map_err(damaged())?;
            let author = people.author.email.to_string();
            if at <= entry.time.unix()
                && parents.len() < 2
                && self.local.has(self.scene, (next, &author), (to, &entry.email))?
            {
                let before = tree::tree_of(self.scene.repo, parents.first().copied())?;
                let changes = self.trees.diff(Some(before), Some(tree), Renames::Off)?;
                paths.extend(changes.into_iter().map(|change| change.path));
            }
            match parents.first() {
                Some(first) => next = *first,
                None => break,
            }
        }
        Ok(paths)
    }

    /// The checkpoint that was restored between one and the one before it.
    fn restored<'e>(
        &mut self,
        entry: &CheckpointCommit,
        older: &'e [CheckpointCommit],
    ) -> Result<Option<&'e CheckpointCommit>, Error> {
        let Some(digest) = self.restored_from(entry)? else {
            return Ok(None);
        };
        let before = match older.first() {
            Some(before) => self.restored_from(before)?,
            None => None,
        };
        if before.as_ref() == Some(&digest) {
            return Ok(None);
        }
        Ok(older
            .iter()
            .find(|entry| entry.trailers.digest.as_ref() == Some(&digest)))
    }

    fn restored_from(&mut self, entry: &CheckpointCommit) -> Result<Option<Digest>, Error> {
        if let Some(known) = self.restored.remove(&entry.id) {
            return Ok(known);
        }
        let digest = self.reader.restored_from(entry).map_err(Error::damaged(self.name))?;
        // It is asked for once more, with the checkpoint itself.
        self.restored.insert(entry.id, digest.clone());
        Ok(digest)
    }
}
