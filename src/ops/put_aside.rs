//! Work that `pause --clean` removed from the working tree and that was not brought back since.
//!
//! The undo list knows both, and what of it is in force: a file that is absent because it was cleaned away is no deletion.
//! Later checkpoints say it as well, for other working trees and machines.

mod whole;

pub(super) use whole::{WholeFiles, with_bytes};

use super::{
    Error, Scene, changes, compose, ids::short, lacking, plan_runner::PlanOperation, session_choice, target_session,
};
use crate::{
    model::{document::WorktreeInfo, id::Digest, outline::PutAside, report::SavedFiles},
    store::{
        self, ObjectId,
        ancestry::{self, MergeEdges},
        checkpoint::{self, Checkpoint, object_id, oid},
        graph,
        merge::Trees,
        objects::Writer,
        restored, tree, undo,
    },
};

/// How many checkpoints are compared with the working tree.
const COMPARED: usize = 20;
/// How many commits are looked through for a branch that was merged.
const WALKED: usize = 10_000;

/// The digests of the checkpoints whose work is put aside, oldest first, for a session with this latest checkpoint.
///
/// What the checkpoint records of other working trees counts until it was brought back in this one.
pub(super) fn digests(scene: &Scene<'_>, tip: &Checkpoint) -> Result<Vec<Digest>, Error> {
    let list = undo::read(scene.repo)?;
    let mut local: Vec<(&undo::CheckpointFiles, bool)> = Vec::new();
    for (entry, _) in list.entries().filter(|(_, in_force)| *in_force) {
        let Some(files) = &entry.files else { continue };
        local.retain(|(other, _)| other.digest != files.digest);
        local.push((files, entry.operation == PlanOperation::Clean.word()));
    }
    let was_brought = |digest: &Digest| local.iter().any(|(files, aside)| files.digest == *digest && !aside);
    let mut out = tip.document.put_aside.clone();
    out.retain(|digest| !was_brought(digest));
    let session = &tip.document.session;
    for (files, _) in local.iter().filter(|(_, aside)| *aside) {
        let is_chain =
            files.session == session.id || session.forked_from.is_some() && find(scene, tip, &files.digest)?.is_some();
        if is_chain && !out.contains(&files.digest) {
            out.push(files.digest.clone());
        }
    }
    Ok(out)
}

/// The same for the document of the next checkpoint. A damaged undo list is reported where it is needed, not by a save.
pub(super) fn for_document(scene: &Scene<'_>, tip: &Checkpoint) -> Vec<Digest> {
    digests(scene, tip).unwrap_or_else(|_| tip.document.put_aside.clone())
}

fn find(scene: &Scene<'_>, tip: &Checkpoint, digest: &Digest) -> Result<Option<ObjectId>, Error> {
    Ok(ancestry::find(scene.repo, tip.entry.id, digest)?)
}

/// The checkpoints of a session's chain whose work is put aside, oldest first.
pub(super) fn checkpoints(scene: &Scene<'_>, tip: &Checkpoint) -> Result<Vec<Checkpoint>, Error> {
    let mut out = Vec::new();
    for digest in digests(scene, tip)? {
        // What was purged since is nothing that could be brought.
        if let Some(id) = find(scene, tip, &digest)? {
            out.push(checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?);
        }
    }
    Ok(out)
}

/// Work of a chain that is put aside, latest first, for showing: not compared with the working tree. `session` is what
/// commands call the chain when this is its latest checkpoint; without it the work is brought back by its id.
///
/// Damage is reported where the chain is needed.
pub(super) fn listed(scene: &Scene<'_>, tip: &Checkpoint, session: Option<&str>) -> Vec<PutAside> {
    let found = checkpoints(scene, tip).unwrap_or_default();
    let mut rows: Vec<PutAside> = found.iter().rev().map(row).collect();
    // Of several, this brings the latest; before it, the latest checkpoint itself, where that was never here.
    let is_first = found.last().is_some_and(|latest| latest.digest == tip.digest);
    if let (Some(session), Some(latest)) = (session, rows.first_mut())
        && (is_first || was_here(scene, tip).unwrap_or(false))
    {
        latest.command = resume_command(session);
    }
    rows
}

fn row(aside: &Checkpoint) -> PutAside {
    let id = oid(aside.entry.id);
    let document = &aside.document;
    PutAside {
        saved_at: document.created_at,
        subject: document.subject().to_owned(),
        branch: document.git.branch.clone(),
        changes: document.git.changes(),
        is_named_by_changes: document.record.auto_summary && document.subject.is_none(),
        missing_changes: None,
        command: format!("git checkpoint apply {} --index", id.short()),
        id,
    }
}

/// The command that brings the latest work back that is missing.
fn resume_command(session: &str) -> String {
    format!("git checkpoint resume {session} --apply")
}

/// The same, without what is in the working tree again.
pub(super) fn missing(
    scene: &Scene<'_>,
    writer: &Writer,
    tip: &Checkpoint,
    session: &str,
    present: &compose::CurrentSnapshot,
) -> Vec<PutAside> {
    let mut rows = listed(scene, tip, None);
    for row in rows.iter_mut().take(COMPARED) {
        let Ok(aside) = checkpoint::load(scene.repo, object_id(&row.id)) else {
            continue;
        };
        row.missing_changes = missing_changes(scene, writer, &aside, present);
        if row.missing_changes != Some(0) && is_committed(scene, writer, &aside) {
            row.missing_changes = Some(0);
        }
    }
    rows.retain(|row| row.missing_changes != Some(0));
    if let Some(latest) = rows.first_mut() {
        // That brings what is missing of the latest checkpoint before any other work.
        let is_first = latest.id == oid(tip.entry.id);
        if is_first || missing_changes(scene, writer, tip, present).unwrap_or(0) == 0 {
            latest.command = resume_command(session);
        }
    }
    for aside in brought_since(scene, tip)
        .unwrap_or_default()
        .iter()
        .rev()
        .take(COMPARED)
    {
        let report = changes::since(scene, &writer.overlay(scene.repo), aside, present, None);
        let lost = report.saved.filter(|saved| is_lost(saved, aside));
        if let Some(saved) = lost.filter(|_| !is_committed(scene, writer, aside)) {
            rows.push(PutAside {
                missing_changes: Some(saved.reverted + saved.missing),
                ..row(aside)
            });
        }
    }
    rows
}

/// How many of the changes of a checkpoint are not in the working tree.
fn missing_changes(
    scene: &Scene<'_>,
    writer: &Writer,
    checkpoint: &Checkpoint,
    present: &compose::CurrentSnapshot,
) -> Option<u64> {
    let report = changes::since(scene, &writer.overlay(scene.repo), checkpoint, present, None);
    // Where the file was changed by others the saved change is missing in it as well.
    let saved = report.saved?;
    Some(saved.missing + saved.reverted + saved.changed + saved.conflict)
}

/// Whether the branch of a checkpoint has all of its changes by now, or more: they are missing only where that is not checked
/// out. Damage is reported where the commit is needed.
fn is_committed(scene: &Scene<'_>, writer: &Writer, checkpoint: &Checkpoint) -> bool {
    try_committed(scene, writer, checkpoint).unwrap_or(false)
}

fn try_committed(scene: &Scene<'_>, writer: &Writer, checkpoint: &Checkpoint) -> Result<bool, Error> {
    let document = &checkpoint.document;
    let (Some(snapshot), Some(branch)) = (&document.snapshot, &document.git.branch) else {
        return Ok(false);
    };
    let Some(tip) = store::branches::resolve(scene.repo, &format!("refs/heads/{branch}"))? else {
        return Ok(false);
    };
    let root = tree::tree_of(scene.repo, Some(tip))?;
    let base = tree::tree_of(scene.repo, document.git.head.as_ref().map(object_id))?;
    let saved = object_id(&snapshot.tree);
    let (mut is_changed, mut edited) = (false, Vec::new());
    for change in tree::diff(scene.repo, Some(base), Some(saved), tree::Renames::Off)? {
        is_changed = true;
        let entry = tree::entry(scene.repo, root, &change.path)?;
        if entry == change.old {
            return Ok(false);
        }
        if entry != change.new {
            edited.push(change.path);
        }
    }
    let trees = Trees {
        base: Some(base),
        ours: Some(root),
        theirs: Some(saved),
    };
    Ok(is_changed && lacking::among(scene.repo, writer, trees, &edited)?.is_empty())
}

/// Saved changes that another branch than the one checked out has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the saved changes are committed on branch '{}' ({})", branch.escape_debug(), short(*commit))]
pub struct CommittedElsewhere {
    /// The branch, on which they were saved.
    pub branch: String,
    /// Its latest commit.
    pub commit: ObjectId,
    /// The checkpoint.
    pub checkpoint: ObjectId,
}

/// Whether the branch of a checkpoint is not the one checked out and has all of its changes: then none of them is missing here.
pub(super) fn committed_elsewhere(
    scene: &Scene<'_>,
    writer: &Writer,
    checkpoint: &Checkpoint,
) -> Result<Option<CommittedElsewhere>, Error> {
    let Some(branch) = &checkpoint.document.git.branch else {
        return Ok(None);
    };
    if store::branches::active(scene.repo)?.as_ref() == Some(branch) || !is_committed(scene, writer, checkpoint) {
        return Ok(None);
    }
    let Some(commit) = store::branches::resolve(scene.repo, &format!("refs/heads/{branch}"))? else {
        return Ok(None);
    };
    // Merged here, they are here; what is missing of them was taken out again.
    let head = scene.repo.head_id().ok();
    let is_merged = |head: ObjectId| graph::is_ancestor(scene.repo, commit, head, WALKED);
    if let Some(head) = head
        && is_merged(head.detach())?.unwrap_or(false)
    {
        return Ok(None);
    }
    Ok(Some(CommittedElsewhere {
        branch: branch.clone(),
        commit,
        checkpoint: checkpoint.entry.id,
    }))
}

/// Whether all changes of a checkpoint are lost in the working tree. A reset takes all but untracked files; a part that
/// went alone is an edit.
fn is_lost(saved: &SavedFiles, checkpoint: &Checkpoint) -> bool {
    saved.reverted + saved.missing > 0
        && saved.committed + saved.included + saved.changed + saved.conflict == 0
        && saved.same <= checkpoint.document.git.untracked.count
}

/// The checkpoints of a chain whose work was put aside, and brought back into this working tree after its latest checkpoint,
/// oldest first.
fn brought_since(scene: &Scene<'_>, tip: &Checkpoint) -> Result<Vec<Checkpoint>, Error> {
    let list = undo::read(scene.repo)?;
    let mut digests: Vec<&Digest> = Vec::new();
    for (entry, _) in list.entries().filter(|(_, in_force)| *in_force) {
        let Some(files) = &entry.files else { continue };
        digests.retain(|known| **known != files.digest);
        let is_brought = [PlanOperation::Apply, PlanOperation::Restore].map(PlanOperation::word);
        if is_brought.contains(&entry.operation.as_str()) && entry.at >= tip.document.created_at {
            digests.push(&files.digest);
        }
    }
    let is_cleaning = |entry: &undo::UndoEntry, digest: &Digest| {
        let files = entry.files.as_ref();
        entry.operation == PlanOperation::Clean.word() && files.is_some_and(|files| files.digest == *digest)
    };
    digests.retain(|digest| {
        let mut entries = list.entries().filter(|(_, in_force)| *in_force);
        entries.any(|(entry, _)| is_cleaning(entry, digest))
    });
    let mut out = Vec::new();
    for digest in digests {
        if let Some(id) = find(scene, tip, digest)? {
            out.push(checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?);
        }
    }
    Ok(out)
}

/// Work that was put aside in this working tree on the branch that is checked out, of other sessions than the one of this
/// identity, and that is missing, latest first.
pub(super) fn of_branch(
    scene: &Scene<'_>,
    writer: &Writer,
    shown: &str,
    present: &compose::CurrentSnapshot,
) -> Result<Vec<PutAside>, Error> {
    let list = undo::read(scene.repo)?;
    let mut sessions: Vec<&str> = Vec::new();
    for (entry, _) in list.entries().filter(|(_, in_force)| *in_force) {
        let cleaned = entry
            .files
            .as_ref()
            .filter(|_| entry.operation == PlanOperation::Clean.word());
        if let Some(files) = cleaned.filter(|files| files.session != shown) {
            sessions.retain(|known| *known != files.session);
            sessions.push(&files.session);
        }
    }
    let branch = store::branches::active(scene.repo).unwrap_or_default();
    let mut rows = Vec::new();
    for id in sessions.into_iter().rev() {
        let Some(chosen) = session_choice::of_identity(scene, id)? else {
            continue;
        };
        let mut missing = missing(scene, writer, &chosen.tip, chosen.name.as_str(), present);
        missing.retain(|row| store::is_branch(scene.repo, row.branch.as_deref(), branch.as_deref()));
        rows.extend(missing);
    }
    Ok(rows)
}

/// Work of a session with this latest checkpoint that is put aside and missing in the working tree, latest first.
pub fn remaining(scene: &Scene<'_>, tip: ObjectId, session: &str) -> Result<Vec<PutAside>, Error> {
    let tip = checkpoint::load(scene.repo, tip).map_err(Error::damaged(short(tip)))?;
    if !store::has_work_tree(scene.repo) || digests(scene, &tip)?.is_empty() {
        return Ok(Vec::new());
    }
    let writer = Writer::memory(scene.repo);
    let present = compose::present(scene, &writer, true, &[])?;
    Ok(missing(scene, &writer, &tip, session, &present))
}

/// The same of the session that a save goes to: the current one, else the one that was paused last on this branch.
pub fn remaining_of_current(scene: &Scene<'_>) -> Result<Vec<PutAside>, Error> {
    match target_session::continued(scene)? {
        Some(chosen) => remaining(scene, chosen.tip.entry.id, chosen.name.as_str()),
        None => Ok(Vec::new()),
    }
}

/// The work that is put aside and is not the latest checkpoint itself, latest first.
pub(super) fn buried(scene: &Scene<'_>, tip: &Checkpoint) -> Result<Vec<Checkpoint>, Error> {
    let mut all = checkpoints(scene, tip)?;
    all.retain(|aside| aside.digest != tip.digest);
    all.reverse();
    Ok(all)
}

/// Work that is not in this working tree and that no person deleted there, and the files of own checkpoints after it.
pub(in crate::ops) struct CleanedFiles {
    /// The files of that work.
    pub(in crate::ops) files: ObjectId,
    /// The commit whose state they have without it.
    pub(in crate::ops) head: Option<ObjectId>,
    /// The files of each checkpoint since that was saved or brought back in this working tree.
    pub(in crate::ops) since: Vec<ObjectId>,
}

/// Work that is not in this working tree and that no person deleted there, latest first: what was put aside, and what a
/// common checkpoint of another working tree holds and was never brought here.
pub(in crate::ops) fn cleaned(
    scene: &Scene<'_>,
    tip: &Checkpoint,
    common: &Checkpoint,
) -> Result<Vec<CleanedFiles>, Error> {
    let brought = BroughtFiles::of(scene)?;
    let mut absent = checkpoints(scene, tip)?;
    if !brought.has(common) && !absent.iter().any(|aside| aside.digest == common.digest) {
        absent.insert(0, common.clone());
    }
    let mut out = Vec::new();
    for aside in absent.iter().rev() {
        let Some(snapshot) = &aside.document.snapshot else {
            continue;
        };
        let mut since = Vec::new();
        let mut at = Some(tip.entry.id).filter(|id| *id != aside.entry.id);
        while let Some(id) = at {
            let later = checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?;
            let files = later
                .document
                .snapshot
                .as_ref()
                .map(|snapshot| object_id(&snapshot.tree));
            since.extend(files.filter(|_| brought.has(&later)));
            let before = ancestry::parents(scene.repo, &later.entry, MergeEdges::All);
            at = before.map_err(Error::damaged(short(id)))?.first().copied();
            at = at.filter(|id| *id != aside.entry.id);
        }
        out.push(CleanedFiles {
            files: object_id(&snapshot.tree),
            head: aside.document.git.head.as_ref().map(object_id),
            since,
        });
    }
    Ok(out)
}

/// Whether all files of a checkpoint were in this working tree, and were not put aside since.
pub(super) enum CheckpointPresence {
    /// They were not.
    No,
    /// They were saved here.
    Saved,
    /// They were brought back; before that, the files were those of this tree, where that is known.
    Brought(Option<ObjectId>),
}

impl CheckpointPresence {
    pub(super) fn of(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<Self, Error> {
        let list = undo::read(scene.repo)?;
        let is_about = |entry: &undo::UndoEntry| {
            let files = entry.files.as_ref();
            files.is_some_and(|files| files.digest == checkpoint.digest)
        };
        let last = list
            .entries()
            .filter(|(entry, in_force)| *in_force && is_about(entry))
            .last();
        let Some((entry, _)) = last else {
            let is_saved = BroughtFiles::of(scene)?.has(checkpoint);
            return Ok(if is_saved { Self::Saved } else { Self::No });
        };
        if entry.operation == PlanOperation::Clean.word() {
            return Ok(Self::No);
        }
        let safety = entry.files_before().map(object_id);
        let before = safety.and_then(|safety| checkpoint::load(scene.repo, safety).ok());
        let snapshot = before.and_then(|before| before.document.snapshot);
        Ok(Self::Brought(snapshot.map(|snapshot| object_id(&snapshot.tree))))
    }
}

/// How many checkpoints are looked through for one that was in this working tree.
pub(super) const LOOKED_THROUGH: usize = 1000;

/// The latest checkpoint before another one of its chain whose files were in this working tree and were not put aside
/// since; `None` where those of that one itself were, which then continue from nothing else.
pub(super) fn present_ancestor(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<Option<Checkpoint>, Error> {
    let brought = BroughtFiles::of(scene)?;
    if brought.has(checkpoint) {
        return Ok(None);
    }
    let mut before = checkpoint.previous();
    for _ in 0..LOOKED_THROUGH {
        let Some(id) = before else { break };
        let earlier = checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?;
        if brought.has(&earlier) {
            let is_here = !matches!(CheckpointPresence::of(scene, &earlier)?, CheckpointPresence::No);
            return Ok(Some(earlier).filter(|earlier| is_here && earlier.document.snapshot.is_some()));
        }
        before = earlier.previous();
    }
    Ok(None)
}

/// Whether the files of a checkpoint were put aside in this working tree: what they are, its user had there.
pub(super) fn was_put_aside(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<bool, Error> {
    let list = undo::read(scene.repo)?;
    Ok(list.entries().any(|(entry, in_force)| {
        let files = entry.files.as_ref();
        in_force
            && entry.operation == PlanOperation::Clean.word()
            && files.is_some_and(|files| files.digest == checkpoint.digest)
    }))
}

/// Whether the files of a checkpoint are or were in this working tree.
pub(super) fn was_here(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<bool, Error> {
    let document = &checkpoint.document;
    let is_saved = (document.host.as_str(), &document.worktree) == (scene.host, &compose::worktree(scene));
    Ok(is_saved || BroughtFiles::of(scene)?.has(checkpoint))
}

/// Checkpoints whose files are or were in this working tree.
pub(super) struct BroughtFiles {
    host: String,
    worktree: WorktreeInfo,
    digests: Vec<Digest>,
}

impl BroughtFiles {
    pub(super) fn of(scene: &Scene<'_>) -> Result<Self, Error> {
        let list = undo::read(scene.repo)?;
        let entries = list.entries().filter(|(_, in_force)| *in_force);
        let mut digests: Vec<_> = entries
            .filter(|(entry, _)| entry.operation != PlanOperation::Clean.word())
            .filter_map(|(entry, _)| Some(entry.files.as_ref()?.digest.clone()))
            .collect();
        digests.extend(restored::read(scene.repo)?);
        Ok(Self {
            host: scene.host.to_owned(),
            worktree: compose::worktree(scene),
            digests,
        })
    }

    pub(super) fn has(&self, checkpoint: &Checkpoint) -> bool {
        let document = &checkpoint.document;
        (&document.host, &document.worktree) == (&self.host, &self.worktree)
            || self.digests.contains(&checkpoint.digest)
    }
}
