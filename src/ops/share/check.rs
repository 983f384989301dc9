//! Verification of fetched checkpoints before they are used.
//!
//! The form, the digests and the order of the chain, the names and sizes in its trees, and that the commit is what the
//! document says. What lies before a checkpoint's HEAD is the project's own history and is git's to check. Nothing is
//! written, and nothing in it is run.

use std::collections::HashSet;

use super::chain;
use crate::{
    model::{
        document::{CheckpointKind, Document, SIZE_LIMIT},
        id::Digest,
    },
    ops::{Scene, ids},
    store::{
        ObjectId,
        checkpoint::{self, Checkpoint, DOCUMENT, object_id},
        incoming::{Checker, TreeLimits},
        signature,
    },
    worktree::snapshot,
};

/// The most files of one snapshot: above any repository we know of.
const MAX_FILES: u64 = 5_000_000;
/// The most checkpoints that are looked at for one session.
const MAX_CHAIN: usize = 200_000;
/// The characters of a session's identity.
const ID_LEN: usize = 26;

/// Checks sessions of one fetch.
pub(super) struct FetchCheck<'a> {
    scene: &'a Scene<'a>,
    checker: Checker<'a>,
    /// Checkpoints that are here already and can be read, or were found good.
    good: HashSet<ObjectId>,
    /// Latest checkpoints of sessions here, which are read when one of them is met: there may be a hundred thousand.
    here: HashSet<ObjectId>,
}

impl<'a> FetchCheck<'a> {
    /// `here` are the latest checkpoints of sessions that are here already.
    pub(super) fn new(scene: &'a Scene<'a>, here: HashSet<ObjectId>) -> Self {
        let limits = TreeLimits {
            files: MAX_FILES,
            bytes: scene.settings.max_fetch_size,
        };
        Self {
            scene,
            checker: Checker::new(scene.repo, limits, snapshot::is_storable),
            good: HashSet::new(),
            here,
        }
    }

    /// Whether a checkpoint was here before and can be read, or was found good.
    fn is_good(&mut self, id: ObjectId) -> bool {
        if self.here.remove(&id) && checkpoint::load(self.scene.repo, id).is_ok() {
            self.good.insert(id);
        }
        self.good.contains(&id)
    }

    /// Checks a session from its latest checkpoint back to what is here already. The error is the reason to refuse it.
    pub(super) fn session(&mut self, tip: ObjectId) -> Result<(), String> {
        let mut found = HashSet::new();
        // The chains that were merged in are checked like the session's own.
        let mut waiting = vec![(tip, None)];
        while let Some((tip, after)) = waiting.pop() {
            self.chain(tip, after, &mut found, &mut waiting)?;
        }
        if self.scene.settings.require_signed {
            let mut new: Vec<_> = found.difference(&self.good).copied().collect();
            new.sort();
            let bad = signature::first_untrusted(self.scene.repo, &new).map_err(|error| error.to_string())?;
            if let Some((id, words)) = bad {
                let id = ids::short(id);
                return Err(format!(
                    "checkpoint {id}: {words}, and checkpoint.requireSigned asks for a trusted one"
                ));
            }
        }
        self.good.extend(found);
        Ok(())
    }

    /// Checks a chain from a checkpoint back to what is here already or was found; what it merged in is left to the caller.
    fn chain(
        &mut self,
        tip: ObjectId,
        mut after: Option<ExpectedParent>,
        found: &mut HashSet<ObjectId>,
        waiting: &mut Vec<(ObjectId, Option<ExpectedParent>)>,
    ) -> Result<(), String> {
        let mut next = Some(tip);
        while let Some(id) = next {
            let known = self.is_good(id) || found.contains(&id);
            if known && after.is_none() {
                break;
            }
            let checkpoint = self
                .load(id)
                .map_err(|why| format!("checkpoint '{}' {why}", ids::short(id)))?;
            let wrong = |why: &str| format!("checkpoint '{}' {why}", ids::short(id));
            if let Some(after) = &after {
                after.check(&checkpoint).map_err(|why| wrong(&why))?;
            }
            if known {
                break;
            }
            self.checkpoint(&checkpoint).map_err(|why| wrong(&why))?;
            found.insert(id);
            if found.len() > MAX_CHAIN {
                return Err(format!("it has more than {MAX_CHAIN} checkpoints"));
            }
            if let Some((merged, expected)) = merged_parent(self.scene, &checkpoint) {
                waiting.push((merged, Some(expected)));
            }
            next = checkpoint.previous();
            after = ExpectedParent::before(self.scene, &checkpoint);
        }
        Ok(())
    }

    fn load(&self, id: ObjectId) -> Result<Checkpoint, String> {
        self.checker.commit(id)?;
        let said = |fault: checkpoint::Fault| format!("cannot be used: {fault}");
        let entry = checkpoint::entry(self.scene.repo, id).map_err(said)?;
        self.checker
            .checkpoint_tree(entry.tree)
            .map_err(|why| format!("cannot be used: {why}"))?;
        let (_, document) = checkpoint::siblings(self.scene.repo, &entry).map_err(said)?;
        self.checker
            .blob(document, SIZE_LIMIT as u64, &format!("the file '{DOCUMENT}'"))?;
        checkpoint::load(self.scene.repo, id).map_err(said)
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), String> {
        let document = &checkpoint.document;
        let start = document.kind == CheckpointKind::Start;
        if Some(document.kind) != checkpoint.entry.trailers.kind {
            return Err("is of another kind than its message says".to_owned());
        }
        if start != checkpoint.entry.parents.is_empty() || start != document.previous.is_none() {
            return Err("does not begin a session, or begins one with something before it".to_owned());
        }
        let is_merge = document.kind == CheckpointKind::Merge;
        // Forks of a merge once took the member over; it means nothing there.
        let may_name_one = is_merge || document.kind == CheckpointKind::Fork;
        if is_merge && document.merged.is_none() || document.merged.is_some() && !may_name_one {
            return Err("is a merge of nothing, or has merged something and is none".to_owned());
        }
        let previous = usize::from(!start);
        let merged = usize::from(is_merge);
        let most = previous + merged + usize::from(document.snapshot.is_some());
        if checkpoint.entry.parents.len() > most || checkpoint.merged().is_some() != is_merge {
            return Err("has other parents than its document describes".to_owned());
        }
        identity(document)?;
        checkpoint::lists(self.scene.repo, checkpoint).map_err(|fault| format!("cannot be used: {fault}"))?;
        self.snapshot(checkpoint)
    }

    fn snapshot(&mut self, checkpoint: &Checkpoint) -> Result<(), String> {
        let other = || "has another snapshot than its document describes".to_owned();
        let (commit, named) = match (checkpoint.snapshot(), &checkpoint.document.snapshot) {
            (None, None) => return Ok(()),
            (Some(commit), Some(named)) => (commit, named),
            _ => return Err(other()),
        };
        if checkpoint.is_rewritten {
            return Err(other());
        }
        let repo = self.scene.repo;
        self.checker.commit(commit)?;
        let said = |fault: checkpoint::Fault| format!("cannot be used: {fault}");
        let (tree, parents) = checkpoint::commit_parts(repo, commit).map_err(said)?;
        let [head, index] = parents.as_slice() else {
            return Err(other());
        };
        self.checker.commit(*head)?;
        self.checker.commit(*index)?;
        let (index_tree, index_parents) = checkpoint::commit_parts(repo, *index).map_err(said)?;
        let of_operation = |id: &ObjectId| checkpoint.document.git.operation_needs(&checkpoint::oid(*id));
        let head_named = checkpoint.document.git.head.as_ref().map(object_id);
        if tree != object_id(&named.tree)
            || index_tree != object_id(&named.index)
            || index_parents.first() != Some(head)
            || !index_parents[1..].iter().all(of_operation)
            || head_named.is_some_and(|named| named != *head)
        {
            return Err(other());
        }
        for further in &index_parents[1..] {
            self.checker.commit(*further)?;
        }
        // A shallow clone may lack the tree of a commit at its border.
        let history = checkpoint::tree_of(repo, *head)
            .ok()
            .filter(|tree| repo.has_object(tree));
        self.checker
            .files(tree, history)
            .map_err(|why| format!("has unsafe files: {why}"))?;
        self.checker
            .files(index_tree, history)
            .map_err(|why| format!("has an unsafe index: {why}"))
    }
}

/// Members that become names of files here.
fn identity(document: &Document) -> Result<(), String> {
    let id = &document.session.id;
    let base32 = |byte: u8| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte);
    if id.len() != ID_LEN || !id.bytes().all(base32) {
        return Err("has an invalid session id".to_owned());
    }
    let worktree = &document.worktree.id;
    let plain = |c: char| !c.is_control() && !matches!(c, '/' | '\\');
    let named = worktree == "main" || worktree.strip_prefix("linked-").is_some_and(|name| !name.is_empty());
    if !named || worktree == "linked-.." || worktree == "linked-." || !worktree.chars().all(plain) {
        return Err("has an invalid working tree".to_owned());
    }
    Ok(())
}

/// Parent that a checkpoint names.
struct ExpectedParent {
    digest: Option<Digest>,
    /// Digests that need not be there any more.
    replaced: Vec<Digest>,
    /// The session it is one of; `None` behind the first checkpoint of a fork.
    session: Option<String>,
}

/// Checkpoint that a merge merged in, and what the document has of it. It may be of any session.
fn merged_parent(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Option<(ObjectId, ExpectedParent)> {
    let merged = checkpoint.document.merged.as_ref()?;
    let expected = ExpectedParent {
        digest: Some(merged.digest.clone()),
        replaced: chain::replaced(scene.repo, &checkpoint.entry),
        session: Some(merged.session_id.clone()),
    };
    Some((checkpoint.merged()?, expected))
}

impl ExpectedParent {
    fn before(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Option<Self> {
        checkpoint.previous()?;
        let document = &checkpoint.document;
        Some(Self {
            digest: document.previous.clone(),
            replaced: chain::replaced(scene.repo, &checkpoint.entry),
            session: (document.kind != CheckpointKind::Fork).then(|| document.session.id.clone()),
        })
    }

    fn check(&self, before: &Checkpoint) -> Result<(), String> {
        if self
            .session
            .as_ref()
            .is_some_and(|id| *id != before.document.session.id)
        {
            return Err("is of another session than the one after it".to_owned());
        }
        match &self.digest {
            Some(digest) if *digest == before.digest || self.replaced.contains(digest) => Ok(()),
            _ => Err("is not the one that its successor names".to_owned()),
        }
    }
}
