//! Chains written again: with trees that lack some files, or without some checkpoints. Each document names its
//! predecessor's new digest, next to the old one.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::follow_up::PurgeFollowUp;
use crate::{
    model::{
        document::{CheckpointKind, Document},
        id::Digest,
        list::{Lists, SkipReason, SkippedEntry},
        path::RepoPath,
        record::Attachment,
    },
    ops::pathspecs,
    store::{
        ObjectId, Repository,
        checkpoint::{self, Checkpoint, Fault, Siblings, object_id, oid},
        objects::Writer,
        path_removal::PathRemover,
        pathspec::UnmatchedPathspecs,
        rewrite::{self, RewriteError, RewriteLine},
    },
};

/// The directory of attachments next to a document.
const ATTACHMENTS: &str = "files";

/// Result of a purge for one checkpoint.
#[derive(Clone)]
struct PurgeResult {
    /// The commit that represents it: itself, written again, or the one before it.
    id: ObjectId,
    digest: Digest,
    /// Checkpoints dropped since that one, oldest first.
    dropped: Vec<RewriteLine>,
    is_dropped: bool,
}

/// Writes chains again.
pub(super) struct Rewriter<'a> {
    repo: &'a Repository,
    writer: &'a Writer,
    without: Option<PathRemover<'a>>,
    drop: &'a HashSet<ObjectId>,
    /// Copies of what is dropped that were written again elsewhere, as they are found.
    copies: HashSet<ObjectId>,
    /// Digests that a checkpoint has or had of which every copy is dropped.
    drop_digests: BTreeSet<Digest>,
    done: HashMap<ObjectId, PurgeResult>,
    /// Latest checkpoints that are dropped, each with what its chain ends in.
    cut: Vec<(ObjectId, ObjectId)>,
    digests: HashMap<Digest, Option<Digest>>,
    /// The files that were taken out, and their contents.
    pub(super) removed: BTreeMap<RepoPath, BTreeSet<ObjectId>>,
    /// Contents that attachments must not have either.
    contents: &'a BTreeSet<ObjectId>,
    /// The contents of all attachments that were seen, with the names that they have.
    pub(super) attached: BTreeMap<ObjectId, BTreeSet<String>>,
    /// The files of the checkpoints that stay, where one is dropped.
    pub(super) stay: Vec<ObjectId>,
    /// The names of attachments that were taken out.
    pub(super) detached: BTreeSet<String>,
    /// Pathspecs that match nothing so far of what is in lists only: what was skipped, or purged before.
    pub(super) unmatched: Option<UnmatchedPathspecs>,
    /// Checkpoints that were written again.
    pub(super) rewritten: usize,
    /// Checkpoints that were dropped.
    pub(super) dropped: usize,
}

/// The files of a checkpoint, as they are to be.
struct CheckpointFiles {
    snapshot: Option<ObjectId>,
    trees: Option<(ObjectId, ObjectId)>,
    is_changed: bool,
}

impl<'a> Rewriter<'a> {
    pub(super) fn new(
        repo: &'a Repository,
        writer: &'a Writer,
        without: Option<PathRemover<'a>>,
        unmatched: Option<UnmatchedPathspecs>,
        contents: &'a BTreeSet<ObjectId>,
        drop: &'a HashSet<ObjectId>,
    ) -> Self {
        Self {
            contents,
            attached: BTreeMap::new(),
            stay: Vec::new(),
            detached: BTreeSet::new(),
            unmatched,
            repo,
            writer,
            without,
            drop,
            copies: HashSet::new(),
            drop_digests: BTreeSet::new(),
            done: HashMap::new(),
            cut: Vec::new(),
            digests: HashMap::new(),
            removed: BTreeMap::new(),
            rewritten: 0,
            dropped: 0,
        }
    }

    /// Drops every checkpoint as well that has or had one of these digests: a copy of one that is dropped, which was written
    /// again elsewhere.
    pub(super) fn drop_copies(&mut self, digests: BTreeSet<Digest>) {
        self.drop_digests = digests;
    }

    /// Whether a checkpoint is dropped. Parents are asked for before their children.
    fn is_dropped(&mut self, checkpoint: &Checkpoint) -> Result<bool, Fault> {
        let id = checkpoint.entry.id;
        if self.drop.contains(&id) {
            return Ok(true);
        }
        if self.drop_digests.is_empty() {
            return Ok(false);
        }
        let digests = rewrite::digests(self.repo, &checkpoint.entry)?;
        let is_copy = !digests.is_disjoint(&self.drop_digests);
        if is_copy {
            self.copies.insert(id);
        }
        Ok(is_copy)
    }

    /// Every checkpoint that was read, with the one that a chain which ended in it ends in now.
    pub(super) fn ends(&self) -> impl Iterator<Item = (ObjectId, ObjectId)> {
        self.done.iter().map(|(old, now)| {
            let cut = self.cut.iter().find(|(tip, _)| tip == old);
            (*old, cut.map_or(now.id, |(_, end)| *end))
        })
    }

    /// Follow-up work for everything that changed.
    pub(super) fn into_rest(self) -> PurgeFollowUp {
        let mut rest = PurgeFollowUp {
            commits: BTreeMap::new(),
            digests: BTreeMap::new(),
            session: None,
            moved: Vec::new(),
            logs: Vec::new(),
        };
        for (old, now) in &self.done {
            // A chain without its latest checkpoints ends in the one before them, under another commit.
            let end = self.cut.iter().find(|(tip, _)| self.done[tip].id == now.id);
            let id = end.map_or(now.id, |(_, end)| *end);
            if now.is_dropped || id != *old {
                rest.commits.insert(oid(*old), (!now.is_dropped).then(|| oid(id)));
            }
        }
        let changed = self.digests.into_iter().filter(|(old, now)| now.as_ref() != Some(old));
        rest.digests.extend(changed);
        // Also what those were before they were written again: other clones may have them so.
        for digest in self.drop_digests {
            rest.digests.entry(digest).or_insert(None);
        }
        rest
    }

    /// Writes a checkpoint and all before it again, as far as that is needed, and returns its replacement.
    pub(super) fn tip(&mut self, tip: ObjectId) -> Result<ObjectId, Fault> {
        // Parents before children; a merge comes after both its sides.
        let mut waiting = vec![(tip, false)];
        while let Some((id, parents_done)) = waiting.pop() {
            if self.done.contains_key(&id) {
                continue;
            }
            if !parents_done {
                let entry = checkpoint::entry(self.repo, id)?;
                waiting.push((id, true));
                // Of a checkpoint without a predecessor the first parent would be a snapshot.
                let is_first = entry.trailers.kind == Some(CheckpointKind::Start);
                let previous = entry.parents.first().copied().filter(|_| !is_first);
                let before = entry.merged_commit().into_iter().chain(previous);
                waiting.extend(before.filter(|id| !self.done.contains_key(id)).map(|id| (id, false)));
                continue;
            }
            let checkpoint = checkpoint::load_compared(self.repo, id)?;
            let now = self.one(&checkpoint)?;
            let digest = (!now.is_dropped).then(|| now.digest.clone());
            self.digests.insert(checkpoint.digest, digest);
            self.done.insert(id, now);
        }
        self.end(tip)
    }

    /// The latest checkpoint of a chain now. Where the latest ones are dropped, none after them can say so: the one before them
    /// does.
    fn end(&mut self, tip: ObjectId) -> Result<ObjectId, Fault> {
        let now = &self.done[&tip];
        if !now.is_dropped {
            return Ok(now.id);
        }
        if let Some((_, end)) = self.cut.iter().find(|(cut, _)| *cut == tip) {
            return Ok(*end);
        }
        let id = now.id;
        let repo = self.writer.overlay(self.repo);
        let entry = checkpoint::entry(&repo, id)?;
        let end = rewrite::with_lines(&repo, self.writer, &entry, now.dropped.clone(), entry.parents.clone())
            .map_err(|error| failed(id, error))?;
        self.cut.push((tip, end));
        Ok(end)
    }

    fn one(&mut self, checkpoint: &Checkpoint) -> Result<PurgeResult, Fault> {
        let entry = &checkpoint.entry;
        let is_first = checkpoint.document.kind == CheckpointKind::Start;
        let before = checkpoint.previous().filter(|_| !is_first);
        let parent = before.and_then(|id| self.done.get(&id)).cloned();
        if let Some(parent) = &parent
            && self.is_dropped(checkpoint)?
        {
            self.dropped += 1;
            let mut now = parent.clone();
            now.is_dropped = true;
            now.dropped.extend(rewrite::lines(self.repo, entry)?);
            now.dropped.push(RewriteLine::purged(entry, checkpoint.digest.clone()));
            return Ok(now);
        }
        let files = self.files(checkpoint)?;
        if let (false, Some((tree, _))) = (self.drop.is_empty(), files.trees) {
            self.stay.push(tree);
        }
        let (mut siblings, _) = checkpoint::siblings(self.repo, entry)?;
        let lists = self.lists(checkpoint, &mut siblings, &files)?;
        let attachments = self.attachments(checkpoint, &mut siblings)?;
        let merged = checkpoint.merged().and_then(|id| self.done.get(&id)).cloned();
        let same_parent =
            parent.as_ref().map(|now| now.id) == before && merged.as_ref().map(|now| now.id) == checkpoint.merged();
        if same_parent && !files.is_changed && !lists && attachments.is_none() {
            return Ok(PurgeResult {
                id: entry.id,
                digest: checkpoint.digest.clone(),
                dropped: Vec::new(),
                is_dropped: false,
            });
        }
        let mut document = checkpoint.document.clone();
        if let (Some(member), Some(now)) = (&mut document.merged, &merged) {
            member.digest = now.digest.clone();
        }
        if let Some(attachments) = attachments {
            document.record.attachments = attachments;
        }
        self.write(checkpoint, document, &siblings, &files, parent)
    }

    fn write(
        &mut self,
        checkpoint: &Checkpoint,
        mut document: Document,
        siblings: &Siblings,
        files: &CheckpointFiles,
        parent: Option<PurgeResult>,
    ) -> Result<PurgeResult, Fault> {
        let entry = &checkpoint.entry;
        self.link(&mut document, parent.as_ref());
        match (&mut document.snapshot, files.trees) {
            (Some(snapshot), Some((tree, index))) => {
                snapshot.tree = oid(tree);
                snapshot.index = oid(index);
            }
            _ => document.snapshot = None,
        }
        // The digest does not cover the record of what it was.
        let stored = checkpoint::stored_form(self.writer, &checkpoint.document, &mut document, siblings)
            .map_err(|error| failed(entry.id, error.into()))?;
        let mut siblings = stored.siblings.clone();
        let digest = stored.digest.clone();
        let mut lines = parent.as_ref().map(|now| now.dropped.clone()).unwrap_or_default();
        lines.push(RewriteLine::of(entry, checkpoint.digest.clone(), Some(digest.clone())));
        rewrite::note(self.repo, self.writer, &mut siblings, &lines).map_err(|error| failed(entry.id, error))?;
        let people = checkpoint::people(self.repo, entry.id)?;
        let merged = checkpoint
            .merged()
            .map(|id| self.done.get(&id).map_or(id, |now| now.id));
        let previous = parent.map(|now| now.id);
        let parents = previous.into_iter().chain(files.snapshot).chain(merged).collect();
        let partial = entry.trailers.partial;
        let written = checkpoint::write_stored(self.writer, &stored, partial, &siblings, parents, &people)
            .map_err(|error| failed(entry.id, error.into()))?;
        self.rewritten += 1;
        Ok(PurgeResult {
            id: written.id,
            digest,
            dropped: Vec::new(),
            is_dropped: false,
        })
    }

    /// Names the new digests of others.
    fn link(&self, document: &mut Document, parent: Option<&PurgeResult>) {
        let now = |old: &Digest| self.digests.get(old).cloned().flatten();
        if let Some(from) = &mut document.session.forked_from {
            if document.previous.as_ref() == Some(&from.digest)
                && let Some(parent) = parent
            {
                from.digest = parent.digest.clone();
            } else if let Some(digest) = now(&from.digest) {
                from.digest = digest;
            }
        }
        if let Some(merged) = &mut document.merged
            && let Some(digest) = merged.base.as_ref().and_then(now)
        {
            merged.base = Some(digest);
        }
        if let Some(digest) = document.restored_from.as_ref().and_then(now) {
            document.restored_from = Some(digest);
        }
        for digest in &mut document.put_aside {
            if let Some(digest_now) = now(digest) {
                *digest = digest_now;
            }
        }
        if let Some(parent) = parent {
            document.previous = Some(parent.digest.clone());
        }
    }

    /// A snapshot commit that another tool rewrote, with HEAD and an index commit as its parents: the tool may have
    /// dropped the latter, which need not change anything.
    fn in_shape(&self, id: ObjectId, snapshot: ObjectId, trees: (ObjectId, ObjectId)) -> Result<ObjectId, Fault> {
        let (_, parents) = checkpoint::commit_parts(self.repo, snapshot)?;
        let head = match parents.first().copied() {
            Some(head) => head,
            None => checkpoint::write_unborn(self.writer).map_err(|error| failed(id, error.into()))?,
        };
        let index = parents.get(1).copied().filter(|index| *index != head);
        let parts = index
            .map(|index| checkpoint::commit_parts(self.repo, index))
            .transpose()?;
        let further = match &parts {
            Some((tree, above)) if *tree == trees.1 && above.first() == Some(&head) => return Ok(snapshot),
            Some((_, above)) => above.iter().skip(1).copied().collect(),
            None => Vec::new(),
        };
        let again = |old, tree, parents| {
            rewrite::commit(self.repo, self.writer, old, tree, parents, None).map_err(|error| failed(id, error))
        };
        let above = std::iter::once(head).chain(further).collect();
        let index = again(index.unwrap_or(snapshot), trees.1, above)?;
        again(snapshot, trees.0, vec![head, index])
    }

    /// The snapshot without the files that go. A fork's own first one is that of its source, and goes with it.
    fn files(&mut self, checkpoint: &Checkpoint) -> Result<CheckpointFiles, Fault> {
        let old = checkpoint.snapshot();
        let (Some(snapshot), Some(named)) = (old, &checkpoint.document.snapshot) else {
            return Ok(CheckpointFiles {
                snapshot: old,
                trees: None,
                is_changed: false,
            });
        };
        let trees = (object_id(&named.tree), object_id(&named.index));
        let is_of_dropped = checkpoint.document.kind == CheckpointKind::Fork
            && checkpoint
                .previous()
                .is_some_and(|source| self.drop.contains(&source) || self.copies.contains(&source));
        if is_of_dropped {
            return Ok(CheckpointFiles {
                snapshot: None,
                trees: None,
                is_changed: true,
            });
        }
        let (repo, writer) = (self.repo, self.writer);
        let id = checkpoint.entry.id;
        let old = match old {
            Some(old) if checkpoint.is_rewritten => Some(self.in_shape(id, old, trees)?),
            old => old,
        };
        let Some(without) = &mut self.without else {
            return Ok(CheckpointFiles {
                snapshot: old,
                trees: Some(trees),
                is_changed: checkpoint.is_rewritten,
            });
        };
        let mut take = |tree| without.tree(tree).map_err(|error| failed(id, error.into()));
        let ((tree, from_files), (index, from_index)) = (take(trees.0)?, take(trees.1)?);
        if (tree, index) == trees {
            return Ok(CheckpointFiles {
                snapshot: old,
                trees: Some(trees),
                is_changed: checkpoint.is_rewritten,
            });
        }
        for (path, blob) in from_files.iter().chain(from_index.iter()) {
            self.removed.entry(path.clone()).or_default().insert(*blob);
        }
        let (_, parents) = checkpoint::commit_parts(repo, snapshot)?;
        let again = |old, tree, parents| {
            rewrite::commit(repo, writer, old, tree, parents, None).map_err(|error| failed(id, error))
        };
        let [head, old_index] = parents[..] else {
            return Err(Fault::Corrupt {
                what: "snapshot commit".to_owned(),
                id: snapshot,
                why: "it has not two parents".to_owned(),
            });
        };
        let (_, mut parents) = checkpoint::commit_parts(repo, old_index)?;
        // The commits of an operation in progress stay: they are the user's own history, as HEAD is.
        parents.splice(..parents.len().min(1), [head]);
        let index_commit = again(old_index, index, parents)?;
        Ok(CheckpointFiles {
            snapshot: Some(again(snapshot, tree, vec![head, index_commit])?),
            trees: Some((tree, index)),
            is_changed: true,
        })
    }

    /// Takes out attachments with a content that goes. Gives those that are left, if any was taken out.
    fn attachments(
        &mut self,
        checkpoint: &Checkpoint,
        siblings: &mut Siblings,
    ) -> Result<Option<Vec<Attachment>>, Fault> {
        let Some(directory) = siblings.get(ATTACHMENTS) else {
            return Ok(None);
        };
        let files: Vec<_> = checkpoint::directory(self.repo, directory, ATTACHMENTS)?
            .into_iter()
            .map(|(name, _, id)| (name, id))
            .collect();
        let all = &checkpoint.document.record.attachments;
        for (number, id) in &files {
            let names = all.iter().filter(|one| *number == one.n.to_string());
            let known = self.attached.entry(*id).or_default();
            known.extend(names.map(|one| one.name.clone()));
        }
        let (gone, left): (Vec<_>, Vec<_>) = files.into_iter().partition(|(_, id)| self.contents.contains(id));
        if gone.is_empty() {
            return Ok(None);
        }
        siblings.remove(ATTACHMENTS);
        siblings
            .files(self.writer, ATTACHMENTS, left)
            .map_err(|error| failed(checkpoint.entry.id, error.into()))?;
        let goes = |attachment: &&Attachment| gone.iter().any(|(name, _)| *name == attachment.n.to_string());
        self.detached
            .extend(all.iter().filter(goes).map(|attachment| attachment.name.clone()));
        Ok(Some(all.iter().filter(|one| !goes(one)).cloned().collect()))
    }

    /// Brings the lists up to date and returns whether they changed.
    fn lists(
        &mut self,
        checkpoint: &Checkpoint,
        siblings: &mut Siblings,
        files: &CheckpointFiles,
    ) -> Result<bool, Fault> {
        let id = checkpoint.entry.id;
        let directories = ["lists", "conflicts", "held"];
        if files.snapshot.is_none() && files.is_changed {
            for name in directories {
                siblings.remove(name);
            }
            return Ok(true);
        }
        let Some(without) = &mut self.without else {
            return Ok(false);
        };
        let old = checkpoint::lists(self.repo, checkpoint)?;
        if let Some(unmatched) = &mut self.unmatched {
            pathspecs::listed(unmatched, &old);
        }
        let numbered = |name: &str| -> Result<Vec<ObjectId>, Fault> {
            let Some(directory) = siblings.get(name) else {
                return Ok(Vec::new());
            };
            let mut entries = checkpoint::directory(self.repo, directory, name)?;
            entries.sort_by_key(|(name, _, _)| name.parse::<u32>().unwrap_or(u32::MAX));
            Ok(entries.into_iter().map(|(_, _, id)| id).collect())
        };
        let (conflicts, held) = (numbered("conflicts")?, numbered("held")?);
        let mut new = old.clone();
        let mut gone: BTreeSet<RepoPath> = BTreeSet::new();
        let mut blobs = NumberedBlobs::default();
        new.conflicts.retain_mut(|conflict| {
            let blob = conflicts.get(conflict.n as usize).copied();
            if without.takes(&conflict.path) {
                gone.insert(conflict.path.clone());
                self.removed.entry(conflict.path.clone()).or_default().extend(blob);
                return false;
            }
            conflict.n = blobs.conflict(blob);
            true
        });
        new.held.retain_mut(|file| {
            let blob = held.get(file.n as usize).copied();
            if without.takes(&file.path) {
                gone.insert(file.path.clone());
                self.removed.entry(file.path.clone()).or_default().extend(blob);
                return false;
            }
            file.n = blobs.held(blob);
            true
        });
        new.modes.retain(|(path, _)| !without.takes(path));
        new.raw.retain(|path| !without.takes(path));
        new.intent_to_add.retain(|path| !without.takes(path));
        new.origin.retain(|origin| !without.takes(&origin.path));
        if let (Some(snapshot), Some(_)) = (&checkpoint.document.snapshot, files.trees) {
            for tree in [&snapshot.tree, &snapshot.index] {
                let (_, removed) = without
                    .tree(object_id(tree))
                    .map_err(|error| failed(id, error.into()))?;
                gone.extend(removed.iter().map(|(path, _)| path.clone()));
            }
        }
        new.skipped.retain(|skipped| !gone.contains(&skipped.path));
        new.skipped
            .extend(gone.into_iter().map(|path| SkippedEntry::new(path, SkipReason::Purged)));
        new.sort();
        if new == old {
            return Ok(false);
        }
        for name in directories {
            siblings.remove(name);
        }
        self.put(siblings, &new, &blobs).map_err(|error| failed(id, error))?;
        Ok(true)
    }

    fn put(&self, siblings: &mut Siblings, lists: &Lists, blobs: &NumberedBlobs) -> Result<(), RewriteError> {
        Ok(siblings.lists(self.writer, lists, &blobs.conflicts, &blobs.held)?)
    }
}

/// Numbered blobs, numbered anew.
#[derive(Default)]
struct NumberedBlobs {
    conflicts: Vec<ObjectId>,
    held: Vec<ObjectId>,
}

impl NumberedBlobs {
    fn conflict(&mut self, blob: Option<ObjectId>) -> u32 {
        number(&mut self.conflicts, blob)
    }

    fn held(&mut self, blob: Option<ObjectId>) -> u32 {
        number(&mut self.held, blob)
    }
}

fn number(list: &mut Vec<ObjectId>, blob: Option<ObjectId>) -> u32 {
    let n = list.len();
    list.extend(blob);
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A failure to write, as one of the checkpoint it concerns.
fn failed(id: ObjectId, error: RewriteError) -> Fault {
    match error {
        RewriteError::Fault(fault) => fault,
        RewriteError::Store(error) => Fault::Corrupt {
            what: "checkpoint".to_owned(),
            id,
            why: format!("it cannot be written again: {error}"),
        },
    }
}
